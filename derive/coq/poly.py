"""Polynomials over atoms, with rational coefficients and integer exponents: how the exporter plans an equation.

Nothing here is trusted. A wrong plan makes an equation that Coq refuses.
"""

from __future__ import annotations

from contextvars import ContextVar
from fractions import Fraction

from derive.term import ONE, Term, delta, make, mul, neg, num, power

Mono = tuple[tuple[Term, int], ...]
Poly = dict[Mono, Fraction]
UNIT: Mono = ()
bits: ContextVar[frozenset[str]] = ContextVar("bits", default=frozenset())  # variables that are 0 or 1


def key(term: Term) -> str:
    """What atoms are ordered by."""
    return repr(term)


def product(a: Mono, b: Mono) -> Mono:
    powers = dict(a)
    for atom, e in b:
        powers[atom] = powers.get(atom, 0) + e
    for atom in powers:
        if powers[atom] > 1 and (atom.op in ("delta", "where") or atom.op == "var" and atom.value in bits.get()):
            powers[atom] = 1
    return tuple(sorted(((t, e) for t, e in powers.items() if e), key=lambda p: key(p[0])))


def scaled(p: Poly, c: Fraction) -> Poly:
    return {m: c * v for m, v in p.items()} if c else {}


def plus(*polys: Poly) -> Poly:
    found: Poly = {}
    for p in polys:
        for m, c in p.items():
            found[m] = found.get(m, Fraction(0)) + c
            if not found[m]:
                del found[m]
    return found


def times(a: Poly, b: Poly) -> Poly:
    found: Poly = {}
    for m, c in a.items():
        for k, d in b.items():
            mk = product(m, k)
            found[mk] = found.get(mk, Fraction(0)) + c * d
            if not found[mk]:
                del found[mk]
    return found


def to_power(p: Poly, n: int) -> Poly:
    found: Poly = {UNIT: Fraction(1)}
    for _ in range(n):
        found = times(found, p)
    return found


def content(p: Poly) -> tuple[Fraction, Mono]:
    """A coefficient and a monomial that divide all of it, the rest begins with coefficient 1 and no negative power."""
    powers: dict[Term, int] = {}
    atoms = {atom for m in p for atom, _ in m}
    for atom in atoms:
        powers[atom] = min(dict(m).get(atom, 0) for m in p)
    mono = tuple(sorted(((t, e) for t, e in powers.items() if e), key=lambda q: key(q[0])))
    first = min(divided(p, mono), key=lambda m: [key(t) for t, _ in m])
    return divided(p, mono)[first], mono


def divided(p: Poly, mono: Mono) -> Poly:
    other = tuple((t, -e) for t, e in mono)
    return {product(m, other): c for m, c in p.items()}


def inverse(p: Poly) -> Poly:
    """1/p, a sum of several terms as one atom."""
    p = reduced(p)
    if len(p) == 1:
        ((m, c),) = p.items()
        return {tuple((t, -e) for t, e in m): 1 / c}
    if not p:
        return {}
    c, mono = content(p)
    rest = scaled(divided(p, mono), 1 / c)
    atom = power(term_of(rest), num(-1))
    return {product(tuple((t, -e) for t, e in mono), ((atom, 1),)): 1 / c}


def reduced(p: Poly) -> Poly:
    """Partial fractions: of a sum u below the line, u's leading monomial does not stand above it."""
    for _ in range(200):
        hit = next(((m, atom) for m in p for atom, e in m if e > 0 and atom.op == "pow" and _leads(m, atom)), None)
        if hit is None:
            return p
        m, atom = hit
        u = poly_of(atom.args[0])
        lead = _leading(u)
        c, rest = p[m], {k: v for k, v in u.items() if k != lead}
        without = product(m, tuple((t, -e) for t, e in product(lead, ((atom, 1),))))
        # lead * 1/u = (1 - rest * 1/u) / coefficient
        instead = plus(
            {without: Fraction(1)}, scaled(times({product(without, ((atom, 1),)): Fraction(1)}, rest), Fraction(-1))
        )
        p = plus({k: v for k, v in p.items() if k != m}, scaled(instead, c / u[lead]))
    return p


def _leading(u: Poly) -> Mono:
    return max(u, key=lambda m: (sum(e for _, e in m), [key(t) for t, _ in m]))


def _leads(m: Mono, atom: Term) -> bool:
    powers = dict(m)
    return all(powers.get(t, 0) >= e for t, e in _leading(poly_of(atom.args[0])))


def over_line(p: Poly) -> tuple[dict[Term, int], Poly]:
    """A denominator that is a product of atoms, with powers, and the numerator of a polynomial with negative powers."""
    below: dict[Term, int] = {}
    for m in p:
        for atom, e in m:
            if e < 0 and atom.op != "pow":
                below[atom] = max(below.get(atom, 0), -e)
            if e > 0 and atom.op == "pow":
                below[atom] = max(below.get(atom, 0), e)
    above: Poly = {}
    for m, c in p.items():
        part: Poly = {tuple((t, e) for t, e in m if t.op != "pow"): c}
        powers = dict(m)
        for atom, e in below.items():
            if atom.op == "pow":
                part = times(part, to_power(poly_of(atom.args[0]), e - powers.get(atom, 0)))
            else:
                part = {product(k, ((atom, e),)): v for k, v in part.items()}
        for k, v in part.items():
            above[k] = above.get(k, 0) + v
    above = {k: v for k, v in above.items() if v}
    return below, above


def fraction(p: Poly) -> tuple[Term, Term]:
    """The same as terms."""
    below, above = over_line(p)
    return mul(*(power(a.args[0] if a.op == "pow" else a, num(e)) for a, e in below.items())), term_of(above)


def mono_term(mono: Mono) -> Term:
    """A monomial as a term, deltas first."""
    factors = []
    for atom, e in sorted(mono, key=lambda q: (q[0].op != "delta", key(q[0]))):
        if atom.op == "pow" and e == -1:
            factors.append(atom.args[0])
        else:
            factors.append(atom if e == 1 else power(atom, num(e)))
    return mul(*factors)


def term_of(p: Poly) -> Term:
    """The polynomial as a term, always the same for the same polynomial."""
    parts = []
    for m in sorted(p, key=lambda m: [(key(t), e) for t, e in m]):
        c = p[m]
        if m == UNIT:
            parts.append(num(c) if c >= 0 else neg(num(-c)))
            continue
        body = mono_term(m)
        if abs(c) != 1:
            body = mul(num(abs(c)), body)
        parts.append(body if c > 0 else neg(body))
    return make("add", parts) if len(parts) > 1 else parts[0] if parts else num(0)


def poly_of(term: Term) -> Poly:
    """The value of an arithmetic term over its atoms."""
    op, args = term.op, term.args
    if op == "num":
        return {UNIT: term.value} if term.value else {}
    if op == "add":
        return plus(*map(poly_of, args))
    if op == "neg":
        return scaled(poly_of(args[0]), Fraction(-1))
    if op == "mul":
        found: Poly = {UNIT: Fraction(1)}
        for a in args:
            found = times(found, poly_of(a))
        return found
    if op == "div":
        return times(poly_of(args[0]), inverse(poly_of(args[1])))
    if op == "pow" and (n := whole(args[1])) is not None:
        base = poly_of(args[0])
        return to_power(base if n >= 0 else inverse(base), abs(n))
    if op == "delta" and args[0] is args[1]:
        return {UNIT: Fraction(1)}
    if op == "delta" and key(args[0]) > key(args[1]):
        return {((delta(args[1], args[0]), 1),): Fraction(1)}
    return {((term, 1),): Fraction(1)}


def whole(exponent: Term) -> int | None:
    """An exponent that is an integer, as one."""
    if exponent.op == "neg":
        n = whole(exponent.args[0])
        return None if n is None else -n
    return int(exponent.value) if exponent.op == "num" and exponent.value.denominator == 1 else None


ARITHMETIC = frozenset({"num", "add", "neg", "mul", "div"})


def arithmetic(term: Term) -> bool:
    """Whether the term is one of those that `poly_of` takes apart."""
    return term.op in ARITHMETIC or term.op == "pow" and whole(term.args[1]) is not None


__all__ = [
    "ONE",
    "Mono",
    "Poly",
    "arithmetic",
    "content",
    "divided",
    "mono_term",
    "poly_of",
    "scaled",
    "term_of",
    "whole",
]

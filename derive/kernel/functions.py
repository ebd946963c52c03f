"""Functions in normal form: each in terms of exp, log and a few others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from derive.kernel import cases, powers, special
from derive.kernel.poly import (
    CASES,
    UNIT,
    Exponent,
    Mono,
    Poly,
    add_to,
    constant,
    key,
    leading,
    magnitude,
    primes,
    scaled,
)
from derive.kernel.signs import ANY, NEG, POS, ZERO, add_signs, mul_signs, sign
from derive.term import ONE, TWO, Term, add, both, div, fn, mul, neg, num, over, power, size, sub

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

MAX_BOUNDED = 6  # bounded functions in one sum whose range is worked out
MAX_QUADRATIC = 6  # terms of a quadratic form whose sign is judged

# What a function is in terms of the others, so that equal formulas meet.
UNFOLD: dict[str, Callable[..., Term]] = {
    "sqrt": lambda x: power(x, num("1/2")),
    "log1p": lambda x: fn("log", add(ONE, x)),
    "expm1": lambda x: sub(fn("exp", x), ONE),
    "sigmoid": lambda x: div(ONE, add(ONE, fn("exp", neg(x)))),
    "softplus": lambda x: fn("log", add(ONE, fn("exp", x))),
    "sinh": lambda x: div(sub(fn("exp", x), fn("exp", neg(x))), TWO),
    "cosh": lambda x: div(add(fn("exp", x), fn("exp", neg(x))), TWO),
    "tanh": lambda x: sub(ONE, div(TWO, add(ONE, fn("exp", mul(TWO, x))))),
    "tan": lambda x: div(fn("sin", x), fn("cos", x)),
}

# Functions in pieces: what the argument is multiplied by (sign: the value itself; max and min: of the difference).
PIECES: dict[str, Callable[[Normal, Poly], Poly]] = {
    "abs": cases.sided,
    "sign": cases.sided,
    "relu": cases.positive,
    "max": cases.positive,
    "min": lambda nf, u: cases.positive(nf, scaled(u, -1)),
}


def function(nf: Normal, term: Term) -> Poly:
    name, args = term.value, term.args
    if name == "sqrt":
        return nf.factored(term)
    if name == "log":
        return log(nf, args[0])
    if name in UNFOLD:
        return nf.poly(UNFOLD[name](*args))
    if name in PIECES:
        u = nf.poly(args[0] if len(args) == 1 else sub(*args))
        signs = sign(nf, nf.term(u))
        if name != "sign" and not (signs & NEG and signs & POS):  # one of the pieces
            upper = not signs & NEG if name != "min" else not signs & POS
            if name in ("max", "min"):
                return nf.poly(args[0 if upper else 1])
            return u if upper else scaled(u, -1) if name == "abs" else {}
        value = nf.mul(PIECES[name](nf, u), u if name != "sign" else {UNIT: 1})
        return value if len(args) == 1 else add_to(dict(value), nf.poly(args[1]))
    if name == "exp":
        return nf.exp(nf.poly(args[0]))
    u = nf.poly(args[0])
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.poly(fn(name, here.term(part))))
    if name in ("sin", "cos"):
        return special.circular(nf, name, u)
    if name == "atan":
        return special.arctangent(nf, u)
    if name in ("lgamma", "digamma", "trigamma"):
        return special.gamma(nf, name, u)
    if name == "erf" and (not u or leading(u) < 0):
        return scaled(nf.poly(fn(name, nf.term(scaled(u, -1)))), -1) if u else {}
    return nf.atom(fn(name, nf.term(u)))


def exp(nf: Normal, u: Poly) -> Poly:
    """e^u as a product over the terms of u."""
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.exp(part))
    result: Poly = {UNIT: 1}
    factors: dict[Term, Exponent] = {}
    for mono, c in u.items():
        logs = [a for a, e in mono if a.op == "fn" and a.value == "log"]
        if len(logs) == 1 and (logs[0], 1) in mono and sign(nf, logs[0].args[0]) == POS:
            result = nf.mul(result, nf.power(nf.poly(logs[0].args[0]), {mono - {(logs[0], 1)}: c}))
            continue
        found = None if logs else _product(nf, mono)
        if found is not None:
            result = nf.mul(result, nf.power(found[0], {found[1]: c}))
            continue
        factors[fn("exp", nf.term({mono: 1}))] = c
    return nf.mul(result, {frozenset(factors.items()): 1})


def _product(nf: Normal, mono: Mono) -> tuple[Poly, Mono] | None:
    """For a sum of c_k log u_k with u_k > 0, times what is free of k: the product of u_k^c_k, and the rest."""
    for a, e in mono:
        if a.op != "sum" or e != 1:
            continue
        factors = a.args[0].args if a.args[0].op == "mul" else (a.args[0],)
        logs = [t for t in factors if t.op == "fn" and t.value == "log"]
        if len(logs) != 1 or sign(nf, logs[0].args[0]) != POS or any(t.op == "delta" for t in factors):
            continue
        tests = [t.args[0] for t in factors if t.op == "where"]
        weight = mul(*(t for t in factors if t is not logs[0] and t.op != "where"))
        each = over("prod", power(logs[0].args[0], weight), *a.bound, where=both(*tests))
        return nf.poly(each), mono - {(a, e)}
    return None


def log(nf: Normal, term: Term) -> Poly:
    """The logarithm of a product as a sum of logarithms where each factor is positive, or there is one."""
    parts: list[tuple[Poly, Poly, Term]] = []
    nf.factors(term, {UNIT: 1}, parts)
    total: Poly = {}
    for base, e, source in parts:
        signs = sign(nf, source) & sign(nf, nf.term(base))
        k, alone = constant(e), len(parts) == 1
        if source.op == "fn" and source.value == "abs" or (isinstance(k, int) and k % 2 == 0 and signs != POS):
            one = log_abs(nf, base) if alone or not signs & ZERO else None
        else:  # a power of a negative base stays whole
            one = nf.log_of(base) if signs == POS or (alone and (isinstance(k, int) or not signs & NEG)) else None
        if one is None:  # where that factor is not positive, the others would be left over
            return nf.log_of(nf.poly(term))
        add_to(total, nf.mul(e, one))
    return total


def log_of(nf: Normal, u: Poly) -> Poly:
    """log u, its factors taken apart where each is positive, or there is one."""
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.log_of(part))
    if not u:  # the logarithm of what is not positive
        return {}
    scale, content, rest = powers.parts(nf, u)
    parts: list[tuple[Term, Exponent]] = sorted(content, key=lambda p: key(p[0]))
    if len(rest) > 1:
        parts.append((nf.term(scaled(rest, 1 if scale > 0 else -1)), 1))
        scale = magnitude(scale)
    alone = len(parts) == 1 and scale == 1
    total: Poly = {}
    for a, x in parts:
        signs = sign(nf, a)
        if signs != POS and isinstance(x, int) and x % 2 == 0 and (alone or not signs & ZERO):
            one = log_abs(nf, nf.poly(a))
        elif signs == POS or (alone and not (signs & NEG and isinstance(x, Term))):
            one = _log_atom(nf, a)
        else:  # where a factor is not positive, the others would be left over
            return nf.atom(fn("log", nf.term(u)))
        add_to(total, nf.mul(nf.poly(x) if isinstance(x, Term) else {UNIT: x}, one))
    if scale < 0:
        return {}
    return _add_log_number(nf, total, Fraction(scale))


def _log_atom(nf: Normal, a: Term) -> Poly:
    """The logarithm of an atom: that of a power, where its base may be negative, is kept."""
    if a.op == "fn" and a.value == "exp":
        return nf.poly(a.args[0])
    if a.op == "prod" and sign(nf, a.args[0]) == POS:
        return nf.poly(over("sum", fn("log", a.args[0]), *a.bound, where=a.args[1]))
    return nf.atom(fn("log", a))


def log_abs(nf: Normal, u: Poly) -> Poly:
    """log |u|."""
    signs = sign(nf, nf.term(u))
    if signs in (POS, NEG):
        return nf.log_of(scaled(u, 1 if signs == POS else -1))
    return nf.atom(fn("log", fn("abs", nf.term(u if not u or leading(u) > 0 else scaled(u, -1)))))


def _add_log_number(nf: Normal, total: Poly, value: Fraction) -> Poly:
    """total + log value, with one atom for each prime."""
    for part, times in ((value.numerator, 1), (value.denominator, -1)):
        for p in primes(part):
            add_to(total, nf.atom(fn("log", num(p))), times)
    return total


# -- signs of sums that their terms alone do not show ------------------------------------------------------------------


def bounded(nf: Normal, term: Term) -> int:
    """The signs of a canonical sum: by bounds of its functions, exponents of a difference, guards, a discriminant."""
    poly = nf.poly(term)
    if len(poly) < 2:
        return ANY
    if len(poly) == 2:
        gap = _exponents_gap(nf, poly)
        if gap is not None:
            return sign(nf, gap)
        pair = cases.index_pair(nf, poly)
        if pair is not None:
            cells = ((NEG, cases.order(nf, *pair)), (ZERO, nf.delta(*pair)), (POS, cases.order(nf, *pair[::-1])))
            return sum(s for s, chance in cells if chance)
        rest = _rest_of_sum(nf, poly)
        if rest != ANY:
            return rest
    content, inside = nf.content(poly, positive=True)
    if content:
        return sign(nf, nf.term(inside))
    return _by_ranges(nf, poly) & _by_discriminant(nf, poly)


def _exponents_gap(nf: Normal, poly: Poly) -> Term | None:
    """p - q for e^p - e^q."""
    if sorted(poly.values()) != [-1, 1]:
        return None
    gap: Poly = {}
    for mono, c in poly.items():
        for a, e in mono:
            if a.op != "fn" or a.value != "exp" or isinstance(e, Term):
                return None
            add_to(gap, nf.poly(a.args[0]), c * e)
    return nf.term(gap)


def _rest_of_sum(nf: Normal, poly: Poly) -> int:
    """The sum of f(k) over k less its term at one letter, for f >= 0: what the others add up to."""
    for mono, c in poly.items():
        ((other, d),) = ((m, d) for m, d in poly.items() if m is not mono)
        if c + d or len(mono) != 1:
            continue
        ((a, e),) = mono
        if a.op == "sum" and e == 1 and len(a.bound) == 1 and not (signs := sign(nf, a.args[0])) & NEG:
            (k,) = a.bound
            for j in {j for b, _ in other for j in b.letters if j.value[1] == k.value[1]}:
                if nf.rename(a.args[0], {k: j}) == {other: 1}:
                    filled = signs == POS and nf.least(size(k.value[1])) > 1
                    return (POS if filled else POS | ZERO) if c > 0 else (NEG if filled else NEG | ZERO)
    return ANY


def _range(nf: Normal, a: Term, e: Exponent) -> tuple[Fraction, Fraction, bool] | None:
    """Between which numbers a^e lies, and whether both bounds are never taken; None if nothing is known."""
    if a.op == "fn" and isinstance(e, int) and e > 0 and a.value in ("sin", "cos", "erf"):
        return Fraction(-1 if e % 2 else 0), Fraction(1), a.value == "erf" and e % 2 == 1
    if (a.op in CASES or (a.op == "var" and nf.is_bit(a))) and e == 1:
        return Fraction(0), Fraction(1), False
    if a.op == "add" and isinstance(e, int) and e < 0:
        inside = nf.poly(a)
        low = inside.get(UNIT, 0)
        others = [nf.mono_sign(m, c) for m, c in inside.items() if m]
        if low > 0 and not any(s & NEG for s in others):
            return Fraction(0), Fraction(low) ** e, POS in others
    return None


def _by_ranges(nf: Normal, poly: Poly) -> int:
    """Signs by the corners of a box: what is linear in each of its factors is between its values there."""
    groups: dict[Mono, list[tuple[frozenset[tuple[Term, Exponent]], int | Fraction]]] = {}
    ranges: dict[tuple[Term, Exponent], tuple[Fraction, Fraction, bool]] = {}
    for mono, c in poly.items():
        for pair in mono:
            if pair not in ranges and (found := _range(nf, *pair)) is not None:
                ranges[pair] = found
        inside = frozenset(p for p in mono if p in ranges)
        groups.setdefault(mono - inside, []).append((inside, c))
    if not ranges or len(ranges) > MAX_BOUNDED:
        return ANY
    total = ZERO
    for outside, parts in groups.items():
        used = sorted({p for inside, _ in parts for p in inside}, key=lambda p: (key(p[0]), str(p[1])))
        corners = [dict(zip(used, corner, strict=True)) for corner in product(*(ranges[p][:2] for p in used))]
        values = [sum(c * prod(corner[p] for p in inside) for inside, c in parts) for corner in corners]
        low, high = min(values), max(values)
        signs = (POS if high > 0 else 0) | (NEG if low < 0 else 0)
        if low <= 0 <= high and not (low != high and 0 in (low, high) and all(ranges[p][2] for p in used)):
            signs |= ZERO
        total = add_signs(total, mul_signs(signs, nf.mono_sign(outside, 1)))
    return total


def _by_discriminant(nf: Normal, poly: Poly) -> int:
    """Signs of a x^2 + b x + c where 4 a c - b^2 is not negative: those of a."""
    if not 3 <= len(poly) <= MAX_QUADRATIC:
        return ANY
    for x in sorted({a for m in poly for a, e in m if e == 2 and a.op not in CASES}, key=key):
        parts: dict[object, Poly] = {}
        for mono, c in poly.items():
            e = next((e for a, e in mono if a is x), 0)
            parts.setdefault(e, {})[mono - {(x, e)}] = c
        if set(parts) == {0, 1, 2}:
            square, cross, rest = parts[2], parts[1], parts[0]
            first = sign(nf, nf.term(square))
            room = add_to(scaled(nf.mul(square, rest), 4), nf.mul(cross, cross), -1)
            if first in (POS, NEG) and not (signs := sign(nf, nf.term(room))) & NEG:
                return first | (signs & ZERO)
    return ANY

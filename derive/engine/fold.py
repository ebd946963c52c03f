"""Folding: the names a reader knows, put back for their values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from derive.engine.hypotheses import embeddings
from derive.kernel.normal import Normal
from derive.kernel.poly import Mono, Poly, key, mono_key, scaled
from derive.kernel.proof import Rejected
from derive.term import Term, add, defined, div, fn, index, make, mul, neg, num, power, substitute


@dataclass(frozen=True)
class Name:
    """A definition whose value is one monomial: its opened factors and its letters as pattern letters."""

    name: str
    letters: tuple[Term, ...]
    factors: tuple[tuple[Term, object], ...]
    bound: frozenset[Term]
    coefficient: object


def names(nf: Normal) -> list[Name]:
    """The definitions that can be folded, the largest first."""
    found = []
    for definition in nf.context.definitions.values():
        marks = {k: index(f"?{k.value[0]}", k.value[1]) for k in definition.letters}
        try:
            poly = nf.poly(substitute(definition.body, marks))
            if len(poly) != 1:
                continue
            ((mono, c),) = poly.items()
            if not mono or any(a.op in ("num", "size") for a, _ in mono) and len(mono) == 1:
                continue
        except Rejected:
            continue
        letters = tuple(marks[k] for k in definition.letters)
        found.append(Name(definition.name, letters, tuple(sorted(mono, key=lambda p: key(p[0]))), frozenset(), c))
    return sorted(found, key=lambda n: (-len(n.factors), -sum(a.size for a, _ in n.factors)))


def folded(nf: Normal, term: Term) -> Term:
    """A term equal to the given one, with names put in and written as a reader would: quotients, signs in front."""
    return written(nf, nf.poly(term), names(nf))


def written(nf: Normal, poly: Poly, known: list[Name]) -> Term:
    parts = []
    for mono in sorted(poly, key=lambda m: (poly[m] < 0, mono_key(m))):
        parts.append(one(nf, mono, poly[mono], known))
    return add(*parts)


def one(nf: Normal, mono: Mono, c: object, known: list[Name]) -> Term:
    """A monomial as a product or quotient."""
    factors = sorted(mono, key=lambda p: key(p[0]))
    coefficient = Fraction(c)  # type: ignore[arg-type]  # a rational number
    folds: list[Term] = []
    changed = True
    while changed:
        changed = False
        for name in known:
            for mapping, left in embeddings(list(name.factors), factors, {}):
                folds.append(defined(name.name, *(mapping.get(k, k) for k in name.letters)))
                coefficient /= Fraction(name.coefficient)  # type: ignore[arg-type]
                factors, changed = left, True
                break
            if changed:
                break
    top: list[Term] = []
    bottom: list[Term] = []
    for a, e in factors:
        if a.op == "fn" and a.value == "exp" and isinstance(e, Fraction) and e.denominator != 1:
            a, e = fn("exp", nf.term(nf.poly(mul(num(e), a.args[0])))), 1  # no roots of exponentials
        inner = inside(nf, a, known)
        whole = lcm(*(Fraction(d).denominator for d in nf.poly(a).values())) if inner.op == "add" else 1
        if whole > 1 and isinstance(e, int):  # 2 + k, not 2 (1 + k/2)
            inner = written(nf, scaled(nf.poly(a), whole), known)
            coefficient /= Fraction(whole) ** e
        if e > 0:
            top.append(raised(inner, e))
        else:
            bottom.append(raised(inner, -e))
    grouped: list[Term] = []
    for f in dict.fromkeys(folds):
        times = folds.count(f)
        grouped.append(f if times == 1 else power(f, num(times)))
    top = grouped + top
    size = abs(coefficient)
    if size.numerator != 1 or not top:
        top.insert(0, num(size.numerator))
    if size.denominator != 1:
        bottom.insert(0, num(size.denominator))
    result = mul(*top)
    if bottom:
        result = div(result, mul(*bottom))
    return neg(result) if coefficient < 0 else result


def inside(nf: Normal, atom: Term, known: list[Name]) -> Term:
    """An atom as a name, or with names put in beneath it."""
    for name in known:
        if len(name.factors) == 1 and name.coefficient == 1:
            for mapping, _ in embeddings(list(name.factors), [(atom, 1)], {}):
                return defined(name.name, *(mapping.get(k, k) for k in name.letters))
    if not atom.args or atom.op in ("var", "delta", "argmax"):
        return atom
    if atom.bound:
        letters = fresh_letters(atom)
        mapping = dict(zip(atom.bound, letters, strict=True))
        body = substitute(atom.args[0], mapping)
        filter_ = substitute(atom.args[1], mapping)
        return make(atom.op, (written(nf, nf.poly(body), known), filter_), atom.value, letters)
    if atom.op in ("fn", "E") or (atom.op == "cmp" and not nf.index_like(*atom.args)):
        return make(atom.op, [written(nf, nf.poly(a), known) for a in atom.args], atom.value)
    if atom.op == "where":
        return make("where", (inside(nf, atom.args[0], known), *atom.args[1:]))
    if atom.op == "add":
        return written(nf, nf.poly(atom), known)
    return atom


def raised(base: Term, exponent: object) -> Term:
    """The power of a positive exponent as a reader writes it."""
    if exponent == 1:
        return base
    return fn("sqrt", base) if exponent == Fraction(1, 2) else power(base, num(exponent))  # type: ignore[arg-type]


def fresh_letters(atom: Term) -> tuple[Term, ...]:
    """Letters for a canonical binder that are not in use inside it."""
    from derive.term import subterms

    used = {t.value[0] for t in subterms(atom) if t.op == "index"} | {
        k.value[0] for t in subterms(atom) for k in t.bound
    }
    pool = [c for c in "klmpqrstuvw" if c not in used] + [f"k{p}" for p in range(1, 60) if f"k{p}" not in used]
    return tuple(index(pool[p], k.value[1]) for p, k in enumerate(atom.bound))

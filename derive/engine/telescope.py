"""Sums that telescope: which function has the addends of a sum as its increments, so that only its ends are left.

A guess is enough, since the kernel works the increments out: what the claim itself says of its sums, with their end as
the variable; and the addend, which is right up to a factor where the addends are in geometric progression.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb

from derive.engine.fold import written
from derive.engine.lettering import names_of, pool
from derive.kernel.check import Ground, telescoped
from derive.kernel.normal import Normal
from derive.kernel.poly import Mono, Poly, add_to, joined, key, mono_key, scaled, small
from derive.kernel.proof import Line, Rejected, Use
from derive.kernel.sums import unused
from derive.language.places import put, transform
from derive.term import (
    MINUS_ONE,
    ONE,
    TRUE,
    Term,
    add,
    cmp,
    div,
    index,
    make,
    mul,
    neg,
    num,
    power,
    size,
    sub,
    substitute,
    subterms,
)
from derive.term import ZERO as NOUGHT

MAX_SUMS = 4  # that telescope, in one claim
MAX_DEGREE = 6  # of powers of a number that are summed


@dataclass(frozen=True)
class Sum:
    """A sum of numbers f(k) for k below an end, the whole axis or an index, and what stands before it in the gap."""

    atom: Term
    letter: Term
    end: Term
    addend: Poly
    factor: Poly
    square: Poly  # what stands before its square


def close_gap(ground: Ground, gap: Poly) -> tuple[Use, ...] | None:
    """Uses of sums that telescope whose sum is the gap; None where none are found."""
    uses: list[Use] = []
    while len(uses) < MAX_SUMS:
        try:
            found = next(steps(ground, gap), None)
        except Rejected:
            found = None
        if found is None:
            return None
        use, gap = found
        uses.append(use)
        if ground.full.is_zero(gap):
            return tuple(uses)
    return None


def steps(ground: Ground, gap: Poly) -> Iterator[tuple[Use, Poly]]:
    """Uses that take sums out of the gap, each with what is left."""
    name = next(pool(names_of(ground)))
    for use, gone in guesses(ground, gap):
        use = spoken(use, name)
        try:
            left, right = telescoped(ground, use).args
            assert use.multiplier is not None
            rest = add_to(dict(gap), ground.full.poly(mul(use.multiplier, sub(left, right))), -1)
        except Rejected:
            continue
        if gone.isdisjoint(a for m in rest for a, _ in m):
            yield use, rest


def spoken(use: Use, name: str) -> Use:
    """The use with a letter that a reader can say."""
    ((k, end),) = use.letters
    letter = index(name, k.value[1])
    assert use.value is not None
    return replace(use, letters=((letter, end),), value=substitute(use.value, {k: letter}))


def parted(ground: Ground, gap: Poly, side: Term) -> Iterator[tuple[tuple[int, ...], Term]]:
    """Positions of addends in a side of the claim, each with that side where increments stand for the addend.

    1/(k (k + 1)) is 1/k - 1/(k + 1), but no normal form takes it apart.
    """
    nf, letter = ground.full, next(pool(names_of(ground)))
    table = {s.atom: nf.term(s.factor) for s in sums(nf, gap)}
    for use, gone in guesses(ground, gap):
        use = spoken(use, letter)
        ((k, _),), value = use.letters, use.value
        assert value is not None and use.multiplier is not None
        for path, t in places(side):
            if t.op == "sum" and len(t.bound) == 1 and nf.poly(t).keys() == {frozenset({(a, 1)}) for a in gone}:
                shares = {div(num(c), table[a]) for m, c in nf.poly(t).items() for a, _ in m}
                scale, *others = {nf.canonical(mul(share, use.multiplier)) for share in shares}
                if others:
                    continue
                after, before = (nf.poly(mul(scale, substitute(value, {k: place}))) for place in (add(k, ONE), k))
                own = substitute(increment(nf, after, before), {k: t.bound[0]})
                yield (*path, 0), put(side, path, make("sum", (own, t.args[1]), None, t.bound))


def increment(nf: Normal, after: Poly, before: Poly) -> Term:
    """after - before, without the constants of both, each positive where all of it has one sign."""
    first, last = ({m: c for m, c in p.items() if q.get(m) != c} for p, q in ((after, before), (before, after)))
    if all(c < 0 for c in first.values()):
        first, last = scaled(last, -1), scaled(first, -1)
    return sub(written(nf, first, []), written(nf, last, []))


def places(term: Term, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Term]]:
    """Every subterm with its position, but for those under a binder."""
    yield path, term
    for p, a in enumerate(term.args if not term.bound else ()):
        yield from places(a, (*path, p))


def guesses(ground: Ground, gap: Poly) -> Iterator[tuple[Use, frozenset[Term]]]:
    """Sums that may telescope, each with the atoms that it would take out of the gap."""
    nf, right = ground.full, ground.claim.args[1]
    found = list(sums(nf, gap))
    for s in found:
        value = power_sum(s)
        if value is not None:
            last, before = (substitute(value, {s.letter: place}) for place in (s.end, NOUGHT))
            scale = add(nf.term(s.factor), mul(nf.term(s.square), add(s.atom, sub(last, before))))
            yield Use("telescoping", 0, ((s.letter, s.end),), scale, (), value), frozenset({s.atom})
    for first in found:
        alike = [s for s in found if (s.letter, s.end) == (first.letter, first.end)]
        k, atoms = first.letter, frozenset(s.atom for s in alike)
        rest = {m: c for m, c in gap.items() if atoms.isdisjoint(a for a, _ in m) and mentions(m, first.end)}
        wanted: Poly = {}
        for s in alike:
            add_to(wanted, nf.mul(s.factor, s.addend))
        whole = neg(moving(nf, rest, first))
        ways = [(whole, wanted, ONE, atoms)]
        if is_number(first.end, right):  # as written: lgamma(k + 1) is defined at 0, lgamma(k) + log(k) is not
            ways.append((at_letter(right, first), wanted, ONE, atoms))
        if len(alike) == 1:
            ways.append((div(whole, moving(nf, first.factor, first)), first.addend, nf.term(first.factor), atoms))
        total = nf.mul(first.factor, first.addend)
        if all(is_number(k, a) for m in first.addend for a, _ in m):
            ways += [(value, total, ONE, frozenset({first.atom})) for value in progressions(nf, first)]
        else:
            ways = [(value, wanted, ONE, atoms) for value in running(nf, first)]
        for value, total, scale, gone in ways:
            increment = nf.poly(sub(substitute(value, {k: add(k, ONE)}), value))
            for multiplier in multipliers(nf, first, total, increment):
                if nf.is_zero(add_to(nf.mul(nf.poly(multiplier), increment), total, -1)):
                    yield Use("telescoping", 0, ((k, first.end),), mul(scale, multiplier), (), value), gone
                    break


def progressions(nf: Normal, s: Sum) -> Iterator[Term]:
    """The addend, here and one before: its increments are a multiple of it if it is in geometric progression."""
    yield written(nf, s.addend, [])
    yield written(nf, nf.poly(substitute(nf.term(s.addend), {s.letter: add(s.letter, MINUS_ONE)})), [])


def power_sum(s: Sum) -> Term | None:
    """The sum of c j**p over the numbers j below the letter, as a polynomial; None for an addend of another form."""
    (((mono, c),), k) = s.addend.items(), s.letter
    exponents = dict(mono)
    p = exponents.pop(k, 0)
    if exponents or not (isinstance(p, int) and 0 < p <= MAX_DEGREE):
        return None
    rows = [[Fraction(comb(q, r)) for q in range(1, p + 2)] for r in range(p + 1)]  # (k + 1)**q - k**q by powers of k
    found = [Fraction(0)] * (p + 2)
    for q in range(p + 1, 0, -1):
        rest = Fraction(c if q == p + 1 else 0) - sum(rows[q - 1][r - 1] * found[r] for r in range(q + 1, p + 2))
        found[q] = rest / rows[q - 1][q - 1]
    return add(*(mul(num(found[q]), power(k, num(q))) for q in range(p + 1, 0, -1) if found[q]))


def running(nf: Normal, s: Sum) -> Iterator[Term]:
    """The factors of the addend that are sums and products up to the letter, or from it on."""
    ((mono, _),) = s.addend.items()
    whole: Mono = frozenset((a, e) for a, e in mono if up_to(s.letter, a))
    value = nf.term({whole: 1})  # not folded: the orders stay the way they are turned
    yield value
    yield transform(value, lambda t: cmp("<=", *t.args) if from_(s.letter, t) else None)


def up_to(letter: Term, term: Term) -> bool:
    """Whether the letter stands in the term as the end of sums and products, or as a number, alone."""
    places = [t for t in subterms(term) if letter in t.args and t.op in ("var", "def", "delta", "cmp")]
    return bool(places) and all(t.op == "cmp" and t.value == "<" for t in places)


def from_(letter: Term, term: Term) -> bool:
    """Whether the term is an order of indices after the letter."""
    return term.op == "cmp" and term.value == "<" and term.args[0] is letter


def line(ground: Ground, atom: Term) -> Line | None:
    """What a geometric series comes to, as an equation; None where the sum is none."""
    nf, name = ground.full, next(pool(names_of(ground)))
    try:
        for s in sums(nf, {frozenset({(atom, 1)}): 1}):
            for value in progressions(nf, s):
                use = spoken(Use("telescoping", 0, ((s.letter, s.end),), None, (), value), name)
                left, right = telescoped(ground, use).args
                if {a for m in nf.poly(left) for a, _ in m if a.op == "sum"} == {atom}:
                    return Line(cmp("==", left, right), "telescoping", uses=(use,))
    except Rejected:
        return None
    return None


def sums(nf: Normal, gap: Poly) -> Iterator[Sum]:
    """The sums in the gap over one letter, each to the first power alone."""
    every = {a for m in gap for a, _ in m}
    atoms = {a for a in every if a.op == "sum" and len(a.bound) == 1 and a.args[1] is TRUE}
    letters = frozenset().union(*(a.letters for a in every))
    for atom in sorted(atoms, key=key):
        factor, square = ({m - {(atom, e)}: c for m, c in gap.items() if (atom, e) in m} for e in (1, 2))
        if any(a in atoms for m in factor for a, _ in m):
            continue
        (k,) = unused(nf, atom.bound, letters)
        ((body, c),) = nf.poly(substitute(atom.args[0], {atom.bound[0]: k})).items()
        ends = [p for p in body if p[0].op == "where" and p[0].args[0].value == "<" and p[0].args[0].args[0] is k]
        end = ends[0][0].args[0].args[1] if ends else size(k.value[1])
        rest = body - frozenset(ends)
        if len(ends) < 2 and (all(is_number(k, a) for a, _ in rest) or any(up_to(k, a) for a, _ in rest)):
            yield Sum(atom, k, end, {rest: c}, factor, square)


def is_number(letter: Term, term: Term) -> bool:
    """Whether the letter stands in the term as a number alone, so that another number may take its place."""
    return all(letter not in t.args for t in subterms(term) if t.op in ("var", "def", "delta", "cmp"))


def mentions(mono: Mono, end: Term) -> bool:
    """Whether the monomial changes with the end of a sum."""
    return any(end in subterms(a) for a, _ in mono)


def moving(nf: Normal, poly: Poly, s: Sum) -> Term:
    """The polynomial with the letter where the sum ends: a^(n - 1) a, which is a^n where n is at least 1, is a^k."""
    merged: Poly = {}
    for mono, c in poly.items():
        exponents: dict[Term, list[Term]] = {}
        for a, e in mono:
            base, exponent = (a.args[0], a.args[1]) if a.op == "pow" and e == 1 else (a, num(e))
            exponents.setdefault(base, []).append(exponent)
        total = {a: nf.canonical(add(NOUGHT, *e)) for a, e in exponents.items()}
        add_to(
            merged, {frozenset((a, small(e.value)) if e.op == "num" else (power(a, e), 1) for a, e in total.items()): c}
        )
    return at_letter(written(nf, merged, []), s)


def at_letter(term: Term, s: Sum) -> Term:
    """The term with the letter where the sum ends."""
    if s.end.op == "index":
        return substitute(term, {s.end: s.letter})
    return transform(term, lambda t: s.letter if t is s.end else None)


def multipliers(nf: Normal, s: Sum, wanted: Poly, increment: Poly) -> Iterator[Term]:
    """What may turn the increment into what is wanted: 1, a ratio of two of their terms, or of all but the addend."""
    yield ONE
    first = min(increment, key=mono_key, default=None)
    if first is None:
        return
    ((addend, c),) = s.addend.items()
    rate: Poly = {}
    for mono, d in increment.items():
        add_to(rate, {quotient(mono, addend): Fraction(d) / c})
    found = [
        written(nf, {quotient(mono, first): Fraction(wanted[mono]) / increment[first]}, [])
        for mono in sorted(wanted, key=mono_key)
    ]
    if rate:
        found.append(div(written(nf, s.factor, []), written(nf, rate, [])))
    yield from (nf.canonical(m) for m in found if s.letter not in m.letters)


def quotient(mono: Mono, by: Mono) -> Mono:
    """The one over the other, as if nothing were 0: the kernel multiplies it out again."""
    return joined(mono, [(a, -e) for a, e in by])

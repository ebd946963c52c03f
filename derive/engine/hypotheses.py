"""Which equations close a gap: the search for multipliers that the kernel then only has to multiply out.

The gap is a polynomial that should be 0. Sums in it are opened into factors with bound letters; a monomial of a known
equation is matched into the factors, and subtracting the equation times what is left over removes the monomial. The
search is best first on the size of the gap.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count

from derive.kernel.normal import Normal
from derive.kernel.poly import UNIT, Exponent, Mono, Poly, add_to, key, mono_key
from derive.kernel.proof import Rejected, Use
from derive.kernel.signs import NEG, POS
from derive.kernel.sums import unused
from derive.term import Term, add, div, index, make, mul, neg, num, over, power, substitute

MAX_STATES = 250
MAX_FACTORS = 3  # by which a gap is multiplied, one at a time
# A pattern, a term, and what the pattern's letters are so far: what they are then, None where the two do not match.
Match = Callable[[Term, Term, dict[Term, Term]], dict[Term, Term] | None]


@dataclass(frozen=True)
class Equation:
    """A known equation left == right, with the letters that an instance may replace."""

    kind: str
    number: int
    left: Term
    right: Term
    letters: frozenset[Term]


@dataclass
class Opened:
    """A monomial with its sums opened: factors, each atom to a power, and the letters that are summed over."""

    factors: list[tuple[Term, object]]
    bound: frozenset[Term]
    coefficient: int | Fraction


# An equation, pattern letters for its letters, and left - right with them.
Prepared = tuple[Equation, dict[Term, Term], Poly]


def prepared(nf: Normal, equations: list[Equation]) -> list[Prepared]:
    """The equations that say something, made ready to be matched."""
    found = []
    for e in equations:
        marked = {k: index(f"?{k.value[0]}", k.value[1]) for k in e.letters}
        try:
            poly = nf.poly(add(substitute(e.left, marked), neg(substitute(e.right, marked))))
        except Rejected:
            continue
        if poly:
            found.append((e, marked, poly))
    return found


def amount(nf: Normal, e: Equation, use: Use) -> Poly:
    """What a use of the equation stands for: the sum of its multiplier times left - right, at its letters."""
    gone = substitute(add(e.left, neg(e.right)), dict(use.letters))
    return nf.poly(over("sum", mul(use.multiplier or num(1), gone), *use.over))


def removed(nf: Normal, gap: Poly, mono: Mono, use: Use, table: Sequence[Prepared]) -> tuple[Use, Poly] | None:
    """The use, scaled so that it takes the monomial out of the gap, and what is left."""
    e = next(e for e, _, _ in table if (e.kind, e.number) == (use.kind, use.number))
    try:
        added = amount(nf, e, use)
    except Rejected:
        return None
    times = Fraction(gap[mono]) / added.get(mono, gap[mono])
    if times != 1:  # terms of the equation meet there: A[i, j] + A[j, i] at i = j, or under a sum over both
        (use,) = scaled_uses((use,), num(times))
    return use, add_to(dict(gap), added, -times)


def close_gap(nf: Normal, gap: Poly, equations: list[Equation]) -> tuple[Use, ...] | None:
    """Uses of the equations whose sum is the gap, or None."""
    table = prepared(nf, equations)
    if not table:
        return None
    order = count()
    queue: list[tuple[tuple[int, int], int, Poly, tuple[Use, ...]]] = [(weight(gap), next(order), gap, ())]
    seen = {frozenset(gap.items())}
    states = 0
    while queue and states < MAX_STATES:
        _, _, here, uses = heapq.heappop(queue)
        states += 1
        if nf.is_zero(here):
            return uses
        if len(uses) >= 12:
            continue
        for mono, move in moves(nf, here, table):
            taken = removed(nf, here, mono, move, table)
            if taken is None:
                continue
            use, rest = taken
            back = multiple(rest, gap)
            if back not in (None, 1):  # gap - uses = back * gap
                return scaled_uses((*uses, use), num(1 / (1 - back)))
            mark = frozenset(rest.items())
            if mark not in seen:
                seen.add(mark)
                heapq.heappush(queue, (weight(rest), next(order), rest, (*uses, use)))
    return None


def close_multiple(nf: Normal, gap: Poly, equations: list[Equation]) -> tuple[Use, ...] | None:
    """Uses of the equations for a gap that is 0 since its product with something that is known not to be 0 is."""
    for fact in [f for f in nf.raw_facts if f.signs == NEG | POS and not f.letters and not f.guards][:MAX_FACTORS]:
        uses = close_gap(nf, nf.mul(gap, nf.poly(fact.term)), equations)
        if uses is not None:
            return scaled_uses(uses, div(num(1), fact.term))
    return None


def scaled_uses(uses: tuple[Use, ...], factor: Term) -> tuple[Use, ...]:
    return tuple(replace(use, multiplier=mul(factor, use.multiplier or num(1))) for use in uses)


def multiple(poly: Poly, other: Poly) -> Fraction | None:
    """The number by which the other polynomial is multiplied to give this one, if there is one."""
    if poly.keys() != other.keys():
        return None
    ratios = {Fraction(poly[mono]) / other[mono] for mono in other}
    return ratios.pop() if len(ratios) == 1 else None


def weight(gap: Poly) -> tuple[int, int]:
    return len(gap), sum(a.size for m in gap for a, _ in m)


def moves(nf: Normal, gap: Poly, table: Sequence[Prepared]) -> Iterator[tuple[Mono, Use]]:
    """Monomials of the gap, each with an instance of an equation that removes it."""
    for mono in sorted(gap, key=mono_key):
        target = open_mono(nf, mono, gap[mono])
        for equation, marked, poly in table:
            for lead in sorted(poly, key=lambda m: (not any(a.op == "sum" for a, _ in m), mono_key(m))):
                if lead:
                    pattern = open_mono(nf, lead, poly[lead], "?@")
                    yield from ((mono, use) for use in placed(nf, equation, marked, pattern, target))
            rest = poly.get(UNIT)
            if rest is not None:
                yield from ((mono, use) for use in inverted(nf, equation, marked, poly, rest, mono, gap[mono]))


def inverted(
    nf: Normal,
    equation: Equation,
    marked: dict[Term, Term],
    poly: Poly,
    rest: int | Fraction,
    mono: Mono,
    c: int | Fraction,
) -> Iterator[Use]:
    """For an equation c A + rest = 0 and a monomial with A in a denominator: multiply it up."""
    for lead in poly:
        if len(lead) == 1:
            ((a, e),) = lead
            if e == 1 and any(b is a and f < 0 for b, f in mono):
                yield Use(equation.kind, equation.number, (), nf.term({mono: Fraction(c) / rest}), ())


def open_mono(nf: Normal, mono: Mono, c: int | Fraction, prefix: str = "") -> Opened:
    """The monomial with its positive sums opened. With a prefix, the new letters are pattern letters."""
    factors = sorted(mono, key=lambda p: key(p[0]))  # the letters are numbered in the order of the sums
    bound: frozenset[Term] = frozenset()
    while True:
        found = next(((a, e) for a, e in factors if a.op == "sum" and isinstance(e, int) and e > 0), None)
        if found is None:
            return Opened(sorted(factors, key=lambda p: key(p[0])), bound, c)
        a, e = found
        factors.remove(found)
        if e > 1:
            factors.append((a, e - 1))
        taken = frozenset().union(*(p[0].letters for p in factors), a.letters) | bound
        if prefix:
            new = tuple(index(f"{prefix}{len(bound) + p}", k.value[1]) for p, k in enumerate(a.bound))
        else:
            new = unused(nf, a.bound, taken)
        bound |= frozenset(new)
        body = nf.poly(substitute(a.args[0], dict(zip(a.bound, new, strict=True))))
        if len(body) != 1:
            raise Rejected("a sum that does not open into one product")
        ((inner, d),) = body.items()
        c = c * d
        merged = dict(factors)
        for b, f in inner:
            if b in merged:
                merged[b] = merged[b] + f  # type: ignore[operator]
            else:
                merged[b] = f
        factors = list(merged.items())


def placed(nf: Normal, equation: Equation, marked: dict[Term, Term], pattern: Opened, target: Opened) -> Iterator[Use]:
    """Places of the pattern's factors among the target's."""
    back = {v: k for k, v in marked.items()}
    for mapping, left in embeddings(pattern.factors, target.factors, {}):
        bound = {mapping[k] for k in pattern.bound if k in mapping}
        if len(bound) != len(pattern.bound) or not bound <= target.bound:
            continue
        if any(not bound.isdisjoint(p[0].letters) for p in left):
            continue
        if any(not bound.isdisjoint(v.letters) for k, v in mapping.items() if k not in pattern.bound):
            continue
        rest = [a if e == 1 else power(a, num(e)) for a, e in left]
        scale = Fraction(target.coefficient) / pattern.coefficient
        letters = tuple((back[k], v) for k, v in sorted(mapping.items(), key=lambda p: key(p[0])) if k in back)
        outside = tuple(sorted(target.bound - bound, key=key))
        multiplier = mul(num(scale), *rest) if rest or scale != 1 else num(1)
        yield Use(equation.kind, equation.number, letters, multiplier, outside)


def match_letters(pattern: Term, term: Term, mapping: dict[Term, Term]) -> dict[Term, Term] | None:
    """The mapping extended so that the pattern's `?` letters give the term; None where it cannot be."""
    if pattern.op == "index" and pattern.value[0].startswith("?"):
        if pattern in mapping:
            return mapping if mapping[pattern] is term else None
        if term.op != "index" or term.value[1] != pattern.value[1]:
            return None
        return {**mapping, pattern: term}
    if pattern is term:
        return mapping
    if (pattern.op, pattern.value, pattern.bound, len(pattern.args)) != (
        term.op,
        term.value,
        term.bound,
        len(term.args),
    ):
        return None
    found: dict[Term, Term] | None = mapping
    for p, t in zip(pattern.args, term.args, strict=True):
        found = match_letters(p, t, found)  # type: ignore[arg-type]
        if found is None:
            if pattern.op == "delta":
                swapped = make("delta", pattern.args[::-1])
                return match_ordered(swapped, term, mapping)
            return None
    return found


def match_ordered(pattern: Term, term: Term, mapping: dict[Term, Term]) -> dict[Term, Term] | None:
    found: dict[Term, Term] | None = mapping
    for p, t in zip(pattern.args, term.args, strict=True):
        found = match_letters(p, t, found) if found is not None else None
    return found


def embeddings(
    pattern: Sequence[tuple[Term, Exponent]],
    target: Sequence[tuple[Term, Exponent]],
    mapping: dict[Term, Term],
    match: Match = match_letters,
) -> Iterator[tuple[dict[Term, Term], tuple[tuple[Term, Exponent], ...]]]:
    """Ways to find the pattern's factors among the target's by `match`, letter by letter unless another one is given,
    with what is left of the target."""
    if not pattern:
        yield mapping, tuple(target)
        return
    (a, e), rest = pattern[0], pattern[1:]
    for p, (b, f) in enumerate(target):
        left = f - e
        fits = left >= 0 if e > 0 else left <= 0
        extended = match(a, b, mapping) if fits else None
        if extended is not None:
            remaining = (*target[:p], *(((b, left),) if left else ()), *target[p + 1 :])
            yield from embeddings(rest, remaining, extended, match)

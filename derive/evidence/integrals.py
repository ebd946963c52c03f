"""Means under normal and uniform laws that are not polynomial: rigorous integrals over one random entry.

The range is cut into cells; on each the integrand is a Taylor polynomial of degree two plus a remainder enclosed over
the whole cell, and what lies outside, or on a cell where a formula changes, is below a bound c1 exp(b1 |t|) + … that is
read off the term. Only operators that are defined everywhere are admitted, so that the mean exists.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from flint import arb, ctx, fmpq

from derive.evidence.growth import Bound, Bounds, Variable, product_of, up, variable
from derive.evidence.numbers import ONE, ZERO, NotDecided, Number, Poison, Scalar, Series
from derive.evidence.places import Entry, Evaluation, Letters, Limiting, Random
from derive.term import Term

DEPTH = 14  # halvings of a cell
CELL = fmpq(1, 2)
PRECISION = 80  # bits: the cells are what limits the result
TOLERANCE = fmpq(1, 20_000)  # of a cell's enclosure, relative to the cell's probability
CUT = 10  # where the tails of a normal law begin, in standard deviations, beyond the largest exponent
COST = 6  # what a node costs here, where numbers carry three derivatives
BITS = (1, 2, 4)


# -- integrals -------------------------------------------------------------------------------------------------------


def _tail(bound: Bound, cut: fmpq) -> Scalar:
    """The part of the bound's mean that lies beyond the cut, under the standard normal law."""
    total = arb(0)
    for b, c in bound.items():
        total += c * (arb(b) * b / 2).exp() * ((arb(cut) - b) / arb(2).sqrt()).erfc()
    return total


@lru_cache(maxsize=4096)
def _masses(a: fmpq, b: fmpq, normal: bool) -> tuple[Scalar, Scalar, Scalar]:
    """The moments of degree 0, 1 and 2 about the middle of the cell."""
    m, r = (a + b) / 2, (b - a) / 2
    if not normal:
        return arb(r), arb(0), arb(r * r * r / 3)
    low, high = (((-arb(t) * t / 2).exp() / (2 * arb.pi()).sqrt()) for t in (a, b))
    near, far = (a, b) if a >= 0 else (-b, -a)  # cells do not cross 0: the tails keep their relative precision
    mass = ((arb(near) / arb(2).sqrt()).erfc() - (arb(far) / arb(2).sqrt()).erfc()) / 2
    first, second = low - high, mass + a * low - b * high
    return mass, first - m * mass, second - 2 * m * first + m * m * mass


def integral(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    combine: Callable[[list[Number]], Number],
) -> Scalar:
    """The mean, over the one entry that is not drawn, of the product of powers that `combine` makes of the bodies."""
    _require_no_derivative(here)
    here.budget.final = True
    with ctx.workprec(PRECISION):
        return _integral(here, bodies, letters, drawn, entry, combine)


def _integral(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    combine: Callable[[list[Number]], Number],
) -> Scalar:
    of = variable(here.laws[entry])
    bounds = Bounds(Random(here, drawn), entry, of)
    found = [bounds.bound(b, letters) for b in bodies]
    bound = combine_bounds(found, combine)
    if here.budget.rough:
        return _ball(sum((2 * c * (arb(b) * b / 2 + b).exp() for b, c in bound.items()), start=arb(0)))
    cut = fmpq(CUT) + fmpq(int(max(bound).ceil())) if of.normal else ONE
    total = _ball(_tail(bound, cut)) if of.normal else arb(0)
    cells = [(a, a + CELL, 0) for a in (-cut + CELL * k for k in range(int((2 * cut / CELL).p)))]
    while cells:
        a, b, depth = cells.pop()
        part = _cell(here, bodies, letters, drawn, entry, of, (a, b), combine)
        if part is not None:
            total += part
        elif depth < DEPTH:
            middle = (a + b) / 2
            cells += [(a, middle, depth + 1), (middle, b, depth + 1)]
        else:
            furthest = max(abs(a), abs(b))
            most = sum((c * (arb(k) * furthest).exp() for k, c in bound.items()), start=arb(0))
            total += _ball(most * _masses(a, b, of.normal)[0])
    return total


def _ball(most: Scalar) -> Scalar:
    """All numbers of at most this size."""
    return arb(0, up(most))


def combine_bounds(found: list[Bound], combine: Callable[[list[Number]], Number]) -> Bound:
    """The bound of a product of powers: `combine` is told the exponents by random symbols of its own."""
    symbols = [Series({(0, (((str(k), ()), 1),)): ONE}) for k in range(len(found))]
    product = combine(symbols)
    if not isinstance(product, Series):
        return {ZERO: up(product)}
    ((_, monomial),) = product.terms
    return product_of([found[int(name)] for (name, _), power in monomial for _ in range(power)])


def _cell(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    of: Variable,
    cell: tuple[fmpq, fmpq],
    combine: Callable[[list[Number]], Number],
) -> Scalar | None:
    """The integral over one cell, or None where it is not known well enough."""
    a, b = cell
    middle, radius = (a + b) / 2, (b - a) / 2
    try:
        wide = _value(here, bodies, letters, drawn, entry, of, arb(middle, radius), combine)
        sharp = _value(here, bodies, letters, drawn, entry, of, middle, combine)
    except NotDecided:
        return None
    third = wide.get(7, ZERO)
    zeroth, first, second = (sharp.get(mask, ZERO) for mask in (0, 1, 3))
    mass, one, two = _masses(a, b, of.normal)
    rest = arb(0, 1) * third * radius**3 / 6
    part = zeroth * mass + first * one + second * two / 2 + rest * mass
    limit = TOLERANCE * (1 + up(zeroth)) * up(mass)
    return part if part.rad() <= arb(limit) else None


def _value(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    of: Variable,
    t: Scalar,
    combine: Callable[[list[Number]], Number],
) -> dict[int, Scalar]:
    """The value and its derivatives by t, by the mask of their epsilons. Raises NotDecided where a formula changes."""
    terms = {(0, ()): of.centre + of.scale * t, **{(bit, ()): of.scale for bit in BITS}}
    inside = Random(here, {**drawn, entry: Series(terms)})
    inside.active = sum(BITS)
    before = here.budget.left
    value = combine([inside.value(body, letters) for body in bodies])
    here.budget.spend((COST - 1) * (before - here.budget.left))
    found = {mask: c for (mask, _), c in value.terms.items()} if isinstance(value, Series) else {0: value}
    if any(isinstance(c, Poison) for c in found.values()):
        raise NotDecided("a formula that changes in the cell")
    return found


def _require_no_derivative(here: Evaluation) -> None:
    place: Evaluation | None = here
    while place is not None:
        if place.active or isinstance(place, Limiting):
            raise NotDecided("an integral under a derivative or a limit")
        place = place.parent

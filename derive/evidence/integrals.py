"""Means under normal and uniform laws that are not polynomial: rigorous integrals over one random entry.

The range is cut into cells; on each the integrand is a Taylor polynomial of degree two plus a remainder enclosed over
the whole cell, and what lies outside, or on a cell where a formula changes, is below a bound c1 exp(b1 |t|) + … that is
read off the term. Only operators that are defined everywhere are admitted, so that the mean exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from flint import arb, ctx, fmpq

from derive.evidence.laws import Normal, Uniform
from derive.evidence.numbers import (
    ONE,
    ZERO,
    NotDecided,
    NotDefined,
    Number,
    Poison,
    Scalar,
    Series,
    decided_sign,
    standard,
    written_out,
)
from derive.evidence.places import Entry, Evaluation, Letters, Limiting, Random
from derive.term import Term

Bound = dict[fmpq, fmpq]  # exponent b to coefficient c: the sum of c exp(b |t|)
Pair = tuple[fmpq, fmpq]  # (a, b): a + b |t|

DEPTH = 14  # halvings of a cell
CELL = fmpq(1, 2)
PRECISION = 80  # bits: the cells are what limits the result
TOLERANCE = fmpq(1, 20_000)  # of a cell's enclosure, relative to the cell's probability
CUT = 10  # where the tails of a normal law begin, in standard deviations, beyond the largest exponent
COST = 6  # what a node costs here, where numbers carry three derivatives
BITS = (1, 2, 4)


def _up(value: Scalar) -> fmpq:
    """A rational at or above the absolute value."""
    return abs(value) if isinstance(value, fmpq) else written_out(abs(value).upper())


@dataclass(frozen=True)
class Variable:
    """The entry as a function x = centre + scale t of a standard variable."""

    centre: Scalar
    scale: Scalar
    normal: bool


def variable(law: Any) -> Variable:
    """The law's standard variable: standard normal, or uniform between -1 and 1."""
    if isinstance(law, Normal):
        return Variable(law.mean, arb(law.variance).sqrt(), True)
    if isinstance(law, Uniform):
        return Variable((law.low + law.high) / 2, (law.high - law.low) / 2, False)
    raise NotDecided("a mean under a law that is not finite")


# -- bounds ----------------------------------------------------------------------------------------------------------


class Bounds:
    """Bounds of terms for all values of the standard variable."""

    def __init__(self, here: Random, entry: Entry, of: Variable):
        self.here, self.entry, self.of = here, entry, of

    def fixed(self, term: Term, letters: Letters) -> bool:
        return self.here.scope.random.isdisjoint(self.here.scope.names(term))

    def constant(self, term: Term, letters: Letters) -> fmpq:
        return _up(standard(self.here.value(term, letters)))

    def linear(self, term: Term, letters: Letters) -> Pair:
        """A bound a + b |t| of the absolute value."""
        if self.fixed(term, letters):
            return self.constant(term, letters), ZERO
        op, args = term.op, term.args
        if op == "var":
            if (term.value, self.here.subscripts(term, letters)) == self.entry:
                return _up(self.of.centre), _up(self.of.scale)
            return _up(standard(self.here.value(term, letters))), ZERO
        if op == "def":
            return self.linear(*self.unfolded(term, letters))
        if op == "neg":
            return self.linear(args[0], letters)
        if op == "add":
            parts = [self.linear(a, letters) for a in args]
            return sum((p[0] for p in parts), start=ZERO), sum((p[1] for p in parts), start=ZERO)
        if op == "mul" and sum(not self.fixed(a, letters) for a in args) == 1:
            factor, found = ONE, (ZERO, ZERO)
            for a in args:
                if self.fixed(a, letters):
                    factor *= self.constant(a, letters)
                else:
                    found = self.linear(a, letters)
            return factor * found[0], factor * found[1]
        if op == "div" and self.fixed(args[1], letters):
            factor = self.reciprocal(args[1], letters)
            a, b = self.linear(args[0], letters)
            return factor * a, factor * b
        raise NotDecided("a bound of an exponent")

    def reciprocal(self, term: Term, letters: Letters) -> fmpq:
        value = standard(self.here.value(term, letters))
        if decided_sign(value) == 0:
            raise NotDefined("division by zero")
        return _up(1 / value)

    def unfolded(self, term: Term, letters: Letters) -> tuple[Term, Letters]:
        definition = self.here.scope.definitions[term.value]
        own = dict(zip(definition.letters, self.here.subscripts(term, letters), strict=True))
        return definition.body, {**self.here.fixed, **own}

    def bound(self, term: Term, letters: Letters) -> Bound:
        """A bound of the absolute value. Raises NotDecided where the term may be undefined for some t."""
        self.here.budget.spend()
        if self.fixed(term, letters):
            return {ZERO: self.constant(term, letters)}
        rule = _RULES.get(term.op)
        if rule is None:
            raise NotDecided(f"a bound of {term.op}")
        return rule(self, term, letters)


def _plus(parts: list[Bound]) -> Bound:
    total: Bound = {}
    for part in parts:
        for b, c in part.items():
            total[b] = total.get(b, ZERO) + c
    return total


def _times(parts: list[Bound]) -> Bound:
    total: Bound = {ZERO: ONE}
    for part in parts:
        total = _plus([{b + d: c * e} for b, c in total.items() for d, e in part.items()])
    return total


def _var(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    a, b = bounds.linear(term, letters)
    return _plus([{ZERO: a}, {ONE: b}])  # |t| <= exp(|t|)


def _pow(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    base, exponent = term.args
    power = standard(bounds.here.value(exponent, letters)) if bounds.fixed(exponent, letters) else None
    if not isinstance(power, fmpq) or power.q != 1 or not 0 <= power <= 12:
        raise NotDecided("a bound of a power")
    return _times([bounds.bound(base, letters)] * int(power.p))


def _div(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    if not bounds.fixed(term.args[1], letters):
        raise NotDecided("a bound of a quotient")
    return _times([bounds.bound(term.args[0], letters), {ZERO: bounds.reciprocal(term.args[1], letters)}])


def _parts(bounds: Bounds, term: Term, letters: Letters) -> list[Bound]:
    return [bounds.bound(a, letters) for a in term.args]


def _selected(bounds: Bounds, term: Term, letters: Letters) -> list[Bound]:
    return [bounds.bound(term.args[0], k) for k in bounds.here.selected(term, letters)]


def _fn(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    name = term.value
    if name in ("sigmoid", "tanh", "erf", "sin", "cos", "sign", "atan"):
        _parts(bounds, term, letters)  # the argument has to be defined, too
        return {ZERO: fmpq(2)}
    if name in ("abs", "relu", "max", "min"):
        return _plus(_parts(bounds, term, letters))
    if name == "softplus":
        return _plus([*_parts(bounds, term, letters), {ZERO: ONE}])
    if name == "exp":
        a, b = bounds.linear(term.args[0], letters)
        return {b: _up(arb(a).exp())}
    raise NotDecided(f"a bound of {name}")


def _where(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    _condition(bounds, term.args[0], letters)
    return _plus([bounds.bound(a, letters) for a in term.args[1:]])


def _condition(bounds: Bounds, condition: Term, letters: Letters) -> None:
    """Raises NotDecided where the sides of a condition may be undefined."""
    if condition.op == "cmp":
        _parts(bounds, condition, letters)
    elif condition.op in ("and", "or", "not"):
        for part in condition.args:
            _condition(bounds, part, letters)
    elif condition.op not in ("true", "false"):
        raise NotDecided("a bound under a condition")


_RULES: dict[str, Callable[[Bounds, Term, Letters], Bound]] = {
    "var": _var,
    "def": lambda bounds, term, letters: bounds.bound(*bounds.unfolded(term, letters)),
    "add": lambda bounds, term, letters: _plus(_parts(bounds, term, letters)),
    "neg": lambda bounds, term, letters: bounds.bound(term.args[0], letters),
    "mul": lambda bounds, term, letters: _times(_parts(bounds, term, letters)),
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "where": _where,
    "sum": lambda bounds, term, letters: _plus(_selected(bounds, term, letters)),
    "prod": lambda bounds, term, letters: _times(_selected(bounds, term, letters)),
}


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
    return arb(0, _up(most))


def combine_bounds(found: list[Bound], combine: Callable[[list[Number]], Number]) -> Bound:
    """The bound of a product of powers: `combine` is told the exponents by random symbols of its own."""
    symbols = [Series({(0, (((str(k), ()), 1),)): ONE}) for k in range(len(found))]
    product = combine(symbols)
    if not isinstance(product, Series):
        return {ZERO: _up(product)}
    ((_, monomial),) = product.terms
    return _times([found[int(name)] for (name, _), power in monomial for _ in range(power)])


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
    limit = TOLERANCE * (1 + _up(zeroth)) * _up(mass)
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

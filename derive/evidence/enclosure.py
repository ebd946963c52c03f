"""Enclosures of a term at concrete sizes, values and indices: what is said is so, the rest is `Unknown`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from decimal import Context as Decimals
from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb, ctx, fmpq

from derive.evidence import laws
from derive.evidence.numbers import (
    MAX_EXPONENT,
    Imprecise,
    NotDecided,
    NotDefined,
    NotPolynomial,
    Scalar,
    standard,
    written_out,
)
from derive.evidence.operators import scope
from derive.evidence.places import Budget, Entry, Evaluation, Exhausted, Letters, Scope
from derive.kernel.context import Context, Declaration
from derive.term import Term

LADDER = (192, 768, 3072)  # bits of precision, until the answer is known


@dataclass(frozen=True)
class Enclosed:
    """The value lies between the ends; it is exact where they are equal. `ball` is the fmpq or arb it came from."""

    low: Fraction
    high: Fraction
    ball: Any = None

    @property
    def exact(self) -> bool:
        return self.low == self.high


@dataclass(frozen=True)
class Undefined:
    """The value certainly does not exist."""

    reason: str


@dataclass(frozen=True)
class Unknown:
    """It is not known whether the value exists, or what it is."""

    reason: str


Answer = Enclosed | Undefined | Unknown


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def enclosed(value: Scalar) -> Enclosed:
    """The ends of a scalar."""
    if isinstance(value, fmpq):
        return Enclosed(fraction(value), fraction(value), value)
    radius = value.rad()
    if int(radius.man_exp()[1]) < -MAX_EXPONENT:
        radius = arb(2) ** -MAX_EXPONENT
    middle, radius = fraction(written_out(value.mid())), fraction(written_out(radius))
    return Enclosed(middle - radius, middle + radius, value)


def decimals(value: Enclosed, digits: int = 20) -> list[str]:
    """The ends as decimal strings, rounded outwards to so many digits."""
    ends = ((value.low, ROUND_FLOOR), (value.high, ROUND_CEILING))
    return [_decimal(end, digits, rounding) for end, rounding in ends]


def _decimal(value: Fraction, digits: int, rounding: str) -> str:
    rounded = Decimals(prec=digits, rounding=rounding, Emin=-(10**9), Emax=10**9).divide(
        Decimal(value.numerator), Decimal(value.denominator)
    )
    text = format(rounded, "f") if -digits <= rounded.adjusted() < digits else str(rounded)
    return text.rstrip("0").rstrip(".") if "." in text and "E" not in text else text


def accurate(value: Scalar, bits: int) -> bool:
    """Whether the ball's radius is below 2**-bits, relative to the value or absolutely."""
    return isinstance(value, fmpq) or value.rel_accuracy_bits() >= bits or value.rad() < arb(2) ** -bits


# -- points ----------------------------------------------------------------------------------------------------------


def entries_of(name: str, value: Any) -> Iterator[tuple[Entry, Any]]:
    """The entries of a nested list, or of a mapping from subscripts."""
    if isinstance(value, Mapping):
        for place, entry in value.items():
            yield (name, place if isinstance(place, tuple) else (place,)), entry
    else:
        yield from _nested(name, value, ())


def _nested(name: str, value: Any, place: tuple[int, ...]) -> Iterator[tuple[Entry, Any]]:
    if isinstance(value, (list, tuple)):
        for k, entry in enumerate(value):
            yield from _nested(name, entry, (*place, k))
    else:
        yield (name, place), value


def exactly(value: Any) -> fmpq:
    """The rational that an int, Fraction, float or string like "1/2" stands for."""
    if isinstance(value, fmpq):
        return value
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


def _laws_of(declaration: Declaration, value: Any, sizes: Mapping[str, int]) -> Iterator[tuple[Entry, Any]]:
    """One law for all entries, or an array of laws."""
    if laws.is_law(value):
        law = laws.read(value)
        for place in product(*(range(sizes[axis]) for axis in declaration.axes)):
            yield (declaration.name, place), law
    else:
        for k, part in enumerate(value):
            inner = Declaration(declaration.name, declaration.kind, declaration.axes[1:])
            for (name, place), law in _laws_of(inner, part, sizes):
                yield (name, (k, *place)), law


def point(
    context: Context | Scope, sizes: Mapping[str, int], values: Mapping[str, Any], fixed: Letters | None = None
) -> Evaluation:
    """The evaluation at a point: numbers, nested lists or mappings from subscripts; for random names, laws.

    `fixed` are the declared indices that definitions use.
    """
    place = context if isinstance(context, Scope) else scope(context)
    entries: dict[Entry, Scalar] = {}
    chosen: dict[Entry, Any] = {}
    for name, value in values.items():
        if name in place.random:
            chosen.update(_laws_of(place.context.declarations[name], value, sizes))
        else:
            entries.update((entry, exactly(v)) for entry, v in entries_of(name, value))
    return Evaluation(place, dict(sizes), entries, chosen, fixed=fixed)


def again(here: Evaluation, budget: Budget | None = None) -> Evaluation:
    """The same point, with nothing remembered: for another precision."""
    fresh = Evaluation(here.scope, here.sizes, here.entries, here.laws, budget or here.budget, fixed=here.fixed)
    fresh.variants, fresh.roots = here.variants, here.roots
    return fresh


# -- answers ---------------------------------------------------------------------------------------------------------


def enclose(here: Evaluation, term: Term, letters: Letters, bits: int = 64, cap: int = LADDER[-1]) -> Answer:
    """The term's value at the point, to so many correct bits if they are reached below the cap on the precision."""
    answer: Answer = Unknown("the precision does not suffice")
    precision = max(LADDER[0], 2 * bits)
    while precision <= max(cap, 2 * bits):
        with ctx.workprec(precision):
            try:
                value = standard(again(here).value(term, letters))
            except NotDefined as problem:
                return Undefined(str(problem))
            except Imprecise as problem:
                answer = Unknown(str(problem))
            except (NotDecided, NotPolynomial, Exhausted, RecursionError) as problem:
                return Unknown(str(problem) or "too much work")
            else:
                try:
                    answer = enclosed(value)
                except NotDecided as problem:
                    return Unknown(str(problem))
                if isinstance(value, fmpq) or value.rel_accuracy_bits() >= bits:
                    return answer
        precision *= 2
    return answer


def evaluate(
    term: Term,
    context: Context,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    indices: Mapping[Term, int] | None = None,
    bits: int = 64,
) -> Answer:
    """The value of the term at a point: enclosed, certainly undefined, or unknown."""
    letters = dict(indices or {})
    return enclose(point(context, sizes, values, letters), term, letters, bits)


def holds(here: Evaluation, condition: Term, letters: Letters) -> bool | Undefined | Unknown:
    """The truth of the condition at the point, where it is certain."""
    problem: Exception = NotDecided("the precision does not suffice")
    for precision in LADDER:
        with ctx.workprec(precision):
            try:
                return again(here).decide(condition, letters)
            except NotDefined as found:
                return Undefined(str(found))
            except Imprecise as found:
                problem = found
            except (NotDecided, NotPolynomial, Exhausted, RecursionError) as found:
                return Unknown(str(found) or "too much work")
    return Unknown(str(problem))

"""True values of whole arrays, correctly rounded: balls at a precision doubled until each value's rounding is known.

A value is known when its ball is far narrower than an ulp and cannot reach the next midpoint between two numbers of the
format (Ziv's test). What whole arrays do not cover (derivatives, limits, means) is left to `ulp.references`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from derive.evidence.balls import Balls, Uncovered
from derive.evidence.enclosure import fraction
from derive.evidence.inputs import Inputs, place_of
from derive.evidence.numbers import Imprecise
from derive.evidence.ulp import GUARD, PRECISIONS, Format, reference, references
from derive.kernel.context import Context
from derive.term import Term


@dataclass(frozen=True)
class Known:
    """The correctly rounded value, the ball it came from, and the exponent of the format's ulp there."""

    value: float
    ball: Any
    unit: int
    vanishes: bool = False  # far below the format's smallest number

    @property
    def ordinary(self) -> bool:
        """Whether it can be written down as a rational: 0, or of a size that the format holds."""
        return math.isfinite(self.value) and (self.value != 0 or bool(self.ball.is_zero()))

    @property
    def exact(self) -> Fraction:
        """A rational within a small part of an ulp of the true value."""
        return fraction(self.ball.mid().fmpq())

    def error(self, computed: float) -> float:
        """The distance of a computed number from the true value in ulp; infinite for nan and a wrong infinity.

        What is below the accuracy of the reference counts as 0.
        """
        if math.isnan(computed) or math.isinf(computed) or math.isinf(self.value):
            return 0.0 if computed == self.value else math.inf
        found = float(abs(arb(computed) - self.ball) * _power_of_two(-self.unit))
        return found if found > 2.0**-GUARD else 0.0


_POWERS: dict[int, Any] = {}


def _power_of_two(exponent: int) -> Any:
    if exponent not in _POWERS:
        _POWERS[exponent] = arb(2) ** exponent
    return _POWERS[exponent]


def known(ball: Any, guess: float, form: Format) -> Known | None:
    """The value that the ball determines, None where it is too wide. `guess` is its middle, rounded to the format."""
    bottom = form.least - form.precision + 1
    if not ball.is_finite():
        infinite = ball == arb.pos_inf() or ball == arb.neg_inf()
        return Known(float(ball), ball, 0) if infinite else None
    size = abs(ball)
    if size < _power_of_two(bottom - GUARD - 1):
        return Known(0.0, ball, bottom, True)
    if size > _power_of_two(form.greatest + 1):
        return Known(math.copysign(math.inf, guess), ball, form.greatest - form.precision + 1)
    mantissa, exponent = math.frexp(guess)
    if math.isinf(guess) or guess == 0:
        return _slowly(ball, form)
    exponent -= 1
    if abs(mantissa) == 0.5 and size < abs(guess):
        exponent -= 1
    unit = max(exponent, form.least) - form.precision + 1
    if not ball.rad() < _power_of_two(unit - GUARD):
        return None
    if abs(ball - guess) < _power_of_two(unit - 1):
        return Known(guess, ball, unit)
    return _slowly(ball, form)


def _slowly(ball: Any, form: Format) -> Known | None:
    """By exact arithmetic: ties, and values at the ends of the format."""
    found = reference(ball, form)
    if found is None:
        return None
    return Known(found.value, ball, form.exponent(found.exact) - form.precision + 1)


def rounded(values: Sequence[float], form: Format) -> list[float]:
    """The numbers in the format, as Python floats."""
    if form.name == "float64":
        return list(values)
    with np.errstate(all="ignore"):
        return np.asarray(values, np.float64).astype(form.dtype).astype(np.float64).tolist()  # type: ignore[no-any-return]


def truths(
    term: Term,
    context: Context,
    inputs: Inputs,
    letters: tuple[Term, ...],
    places: Sequence[tuple[int, ...]],
    form: Format,
) -> list[Known | None]:
    """The true values of the term at these places of its letters; None where there is none, or none was found."""
    fixed = {k: inputs.indices[k.value[0]] for k in context.letters if k.value[0] in inputs.indices}
    found: list[Known | None] = [None] * len(places)
    left = list(range(len(places)))
    try:
        for precision in PRECISIONS:
            with ctx.workprec(precision):
                try:
                    whole = Balls(context, inputs.sizes, inputs.arrays, fixed).over(term, letters)
                except Imprecise:
                    continue
                balls = [whole[places[k]] for k in left]
                guesses = rounded([float(b) for b in balls], form)
                for k, ball, guess in zip(left, balls, guesses, strict=True):
                    found[k] = known(ball, guess, form)
            left = [k for k in left if found[k] is None]
            if not left:
                return found
    except Uncovered:
        pass
    return _one_by_one(term, context, inputs, letters, places, form, found, left)


def _one_by_one(
    term: Term,
    context: Context,
    inputs: Inputs,
    letters: tuple[Term, ...],
    places: Sequence[tuple[int, ...]],
    form: Format,
    found: list[Known | None],
    left: Sequence[int],
) -> list[Known | None]:
    """The values that are left, each by itself, exact rationals kept as long as they are."""
    if not inputs.finite:
        return found
    here = place_of(context, inputs)
    wanted: list[Mapping[Term, int]] = [{**here.fixed, **dict(zip(letters, places[k], strict=True))} for k in left]
    for k, true in zip(left, references(here, term, wanted, form), strict=True):
        if true is not None:
            exact, unit = true.exact, form.exponent(true.exact) - form.precision + 1
            with ctx.workprec(2 * PRECISIONS[-1]):
                ball = arb(fmpq(exact.numerator, exact.denominator))
            found[k] = Known(true.value, ball, unit)
    return found

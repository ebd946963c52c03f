"""Errors in units of the last place, against references that are known to be correctly rounded.

A reference is the enclosure of the true value, refined until both its ends round to the same number of the format
(Ziv's loop). Inputs are the stored numbers, exactly. An error is the distance to the true value, not the rounded one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from derive.evidence.enclosure import again, fraction
from derive.evidence.numbers import MAX_EXPONENT, Imprecise, NotDecided, NotDefined, NotPolynomial, Scalar, standard
from derive.evidence.places import Evaluation, Exhausted
from derive.term import Term

VANISHING = arb(2) ** -20_000  # 0 in every format, and to a small part of its last place
GUARD = 24  # bits beyond the format's, so that an error is known to a small part of an ulp
PRECISIONS = (128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of the significand, exponents of its smallest and its largest normals."""

    name: str
    precision: int
    least: int
    greatest: int

    @property
    def dtype(self) -> Any:
        """The NumPy dtype."""
        import ml_dtypes
        import numpy as np

        return np.dtype(ml_dtypes.bfloat16 if self.name == "bfloat16" else self.name)

    @property
    def tiny(self) -> Fraction:
        """The smallest subnormal number."""
        return Fraction(2) ** (self.least - self.precision + 1)

    def exponent(self, value: Fraction) -> int:
        """The exponent of the value's binade, but not below that of the smallest normal."""
        return max(binade(value), self.least) if value else self.least

    def ulp(self, value: Fraction) -> Fraction:
        """The spacing of the format at the value."""
        return Fraction(2) ** (self.exponent(value) - self.precision + 1)

    def rounded(self, value: Fraction) -> float:
        """The nearest number of the format, ties to even; infinite beyond the largest."""
        unit = self.ulp(value)
        nearest = round(value / unit) * unit
        if abs(nearest) >= Fraction(2) ** (self.greatest + 1):
            return math.inf if nearest > 0 else -math.inf
        return float(nearest)


def binade(value: Fraction) -> int:
    """The exponent e with 2**e <= abs(value) < 2**(e+1)."""
    top, bottom = abs(value.numerator), value.denominator
    guess = top.bit_length() - bottom.bit_length()
    return guess if top << max(-guess, 0) >= bottom << max(guess, 0) else guess - 1


FORMATS: dict[str, Format] = {
    f.name: f
    for f in (
        Format("float64", 53, -1022, 1023),
        Format("float32", 24, -126, 127),
        Format("float16", 11, -14, 15),
        Format("bfloat16", 8, -126, 127),
    )
}


@dataclass(frozen=True)
class Reference:
    """The correctly rounded value, and a rational within a small part of an ulp of the true one."""

    value: float
    exact: Fraction


def reference(value: Scalar, form: Format) -> Reference | None:
    """The reference that the ball determines, or None where it is too wide."""
    if isinstance(value, fmpq):
        exact = fraction(value)
        return Reference(form.rounded(exact), exact)
    if not value.is_finite():
        return None
    if abs(value) < VANISHING:
        return Reference(0.0, Fraction(0))
    ends = value.lower(), value.upper()
    if any(abs(int(end.man_exp()[1])) > MAX_EXPONENT for end in ends):
        return None  # a rational of that size would not fit into the memory
    low, high = (fraction(end.fmpq()) for end in ends)
    below, above = form.rounded(low), form.rounded(high)
    if below != above or high - low > form.ulp(low) / 2**GUARD:
        return None
    return Reference(below, (low + high) / 2)


def references(
    here: Evaluation, term: Term, places: Iterable[Mapping[Term, int]], form: Format
) -> list[Reference | None]:
    """The references of the term at these letters; None where it has no value or the precision does not suffice."""
    wanted = [dict(p) for p in places]
    found: list[Reference | None] = [None] * len(wanted)
    left = list(range(len(wanted)))
    for precision in PRECISIONS:
        again_left: list[int] = []
        with ctx.workprec(precision):
            place = again(here)
            for k in left:
                try:
                    found[k] = reference(standard(place.value(term, wanted[k])), form)
                except Imprecise:
                    found[k] = None
                except (NotDefined, NotDecided, NotPolynomial, Exhausted, RecursionError):
                    continue
                if found[k] is None:
                    again_left.append(k)
        left = again_left
        if not left:
            break
    return found


def error(value: float, true: Reference, form: Format) -> float:
    """The distance of a computed number from the true value in ulp; infinite for nan and a wrong infinity.

    What is below the accuracy of the reference counts as 0.
    """
    if math.isnan(value) or math.isinf(value):
        return 0.0 if value == true.value else math.inf
    found = abs(Fraction(value) - true.exact) / form.ulp(true.exact)
    if found > Fraction(2) ** 1023:
        return math.inf
    return float(found) if found > Fraction(1, 2**GUARD) else 0.0

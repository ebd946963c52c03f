"""Means under normal and uniform laws in closed form: the integrand is cut into pieces of powers times exponentials.

On a piece of the range, a number is a sum of c x**k exp(b x + a x**2). Where a formula changes inside the piece (the
argument of an `abs` or a comparison changes its sign there), the piece is cut in two. What has no such form is left to
others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from derive.evidence import functions
from derive.evidence.laws import Normal, Uniform
from derive.evidence.numbers import (
    ONE,
    STANDARD,
    ZERO,
    Imprecise,
    NotDecided,
    NotDefined,
    Number,
    Poison,
    Scalar,
    Series,
    add,
    integer_power,
    inverse,
    plain,
    settle,
    sign,
)
from derive.evidence.places import Entry, Evaluation, Letters, Limiting, Random
from derive.term import Term

End = Any  # a scalar, or None for infinity
Origin = tuple[tuple[Scalar, ...], int]  # a polynomial's coefficients, and which of its roots
Key = tuple[int, Any]  # k and the rate of x**k exp(b x + a x**2)

MAX_PIECES = 40
MAX_TERMS = 60


class Cut(Exception):
    """The formula changes inside the piece, at this place."""

    def __init__(self, place: Scalar, origin: Origin):
        super().__init__(place)
        self.place, self.origin = place, origin


@dataclass(frozen=True)
class Piece:
    """An open interval. `origins` are roots that it ends at, for balls do not tell whether they are equal."""

    low: End = None
    high: End = None
    origins: tuple[Origin, ...] = ()

    def cut(self, cut: Cut) -> tuple[Piece, Piece]:
        origins = (*self.origins, cut.origin)
        return Piece(self.low, cut.place, origins), Piece(cut.place, self.high, origins)

    def holds(self, place: Scalar, origin: Origin) -> bool:
        """Whether the root lies strictly inside."""
        if origin in self.origins:
            return False
        after = self.low is None or _certain(place - self.low) > 0
        return after and (self.high is None or _certain(self.high - place) > 0)

    def places(self) -> list[Scalar]:
        """Three places inside."""
        if self.low is not None and self.high is not None:
            return [self.low + (self.high - self.low) * fmpq(k, 4) for k in (1, 2, 3)]
        start, step = (self.low, 1) if self.low is not None else (self.high or ZERO, -1)
        return [start + step * k for k in (1, 2, 3)]


class Rate:
    """The b and a of exp(b x + a x**2). Where one is a ball, it is equal to itself alone."""

    __slots__ = ("a", "b", "exact")

    def __init__(self, b: Scalar, a: Scalar = ZERO):
        self.b, self.a = b, a
        self.exact = isinstance(b, fmpq) and isinstance(a, fmpq)

    def __eq__(self, other: object) -> bool:
        known = isinstance(other, Rate) and self.exact and other.exact
        return self is other or (known and (self.b, self.a) == (other.b, other.a))  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.b, self.a)) if self.exact else id(self)


CONSTANT = Rate(ZERO)


class Form:
    """A sum of c x**k exp(b x + a x**2) for the x of a piece. It does arithmetic with scalars and other forms."""

    __slots__ = ("piece", "terms")

    def __init__(self, terms: dict[Key, Scalar], piece: Piece):
        self.terms = {key: c for key, c in terms.items() if sign(c) != 0}
        self.piece = piece
        if len(self.terms) > MAX_TERMS:
            raise NotDecided("a mean of too many terms")

    def of(self, value: Any) -> Form:
        """The scalar as a form."""
        if isinstance(value, Form):
            return value
        return Form({(0, CONSTANT): fmpq(value) if isinstance(value, int) else value}, self.piece)

    def __add__(self, other: Any) -> Form:
        terms = dict(self.terms)
        for key, c in self.of(other).terms.items():
            terms[key] = terms[key] + c if key in terms else c
        return Form(terms, self.piece)

    __radd__ = __add__

    def __neg__(self) -> Form:
        return Form({key: -c for key, c in self.terms.items()}, self.piece)

    def __sub__(self, other: Any) -> Form:
        return self + -self.of(other)

    def __rsub__(self, other: Any) -> Form:
        return -self + other

    def __mul__(self, other: Any) -> Form:
        terms: dict[Key, Scalar] = {}
        for (k, rate), c in self.terms.items():
            for (j, more), e in self.of(other).terms.items():
                key = (k + j, Rate(rate.b + more.b, rate.a + more.a))
                terms[key] = terms[key] + c * e if key in terms else c * e
        return Form(terms, self.piece)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Form:
        return self * (other.inverse() if isinstance(other, Form) else inverse(other))

    def __rtruediv__(self, other: Any) -> Form:
        return self.inverse() * other

    def __abs__(self) -> Form:
        return self if self.sign() >= 0 else -self

    def single(self) -> tuple[Scalar, Rate]:
        """c and the rate where the form is c exp(b x + a x**2). Raises NotDecided where it is not."""
        if not self.terms:
            return ZERO, CONSTANT
        if len(self.terms) > 1 or next(iter(self.terms))[0] != 0:
            raise NotDecided("a mean with no closed form")
        ((_, rate), c), *_ = self.terms.items()
        return c, rate

    def inverse(self) -> Form:
        c, rate = self.single()
        if sign(c) == 0:
            raise NotDefined("division by zero")
        return Form({(0, Rate(-rate.b, -rate.a)): inverse(c)}, self.piece)

    def power(self, exponent: Scalar) -> Form:
        """The real power."""
        c, rate = self.single()
        if not isinstance(exponent, (fmpq, arb)):
            raise NotDecided("a mean with no closed form")
        return Form({(0, Rate(rate.b * exponent, rate.a * exponent)): functions.power(c, exponent)}, self.piece)

    def polynomial(self) -> list[Scalar]:
        """The coefficients, those of degree 0 to 2."""
        if any(k > 2 or rate != CONSTANT for k, rate in self.terms):
            raise NotDecided("a mean with no closed form")
        return [self.terms.get((k, CONSTANT), ZERO) for k in range(3)]

    def function(self, name: str) -> Form:
        """The elementary function of this form, where it is one again."""
        if name == "exp":
            constant, slope, bend = self.polynomial()
            return Form({(0, Rate(slope, bend)): functions.apply("exp", constant)}, self.piece)
        if name == "expm1":
            return self.function("exp") - 1
        if name in ("sinh", "cosh"):
            up, down = self.function("exp"), (-self).function("exp")
            return (up - down if name == "sinh" else up + down) * fmpq(1, 2)
        if name == "log":
            c, rate = self.single()
            parts = {(0, CONSTANT): functions.apply("log", c), (1, CONSTANT): rate.b, (2, CONSTANT): rate.a}
            return Form(parts, self.piece)
        if set(self.terms) <= {(0, CONSTANT)}:
            return self.of(functions.apply(name, self.terms.get((0, CONSTANT), ZERO)))
        raise NotDecided("a mean with no closed form")

    def sign(self) -> int:
        """The sign all over the piece. Raises Cut at a place where it changes."""
        if len(self.terms) <= 1 and all(k == 0 for k, _ in self.terms):
            return _certain(self.single()[0])
        coefficients = self.polynomial()
        for number, root in enumerate(_roots(*coefficients)):
            origin = (tuple(coefficients), number)
            if self.piece.holds(root, origin):
                raise Cut(root, origin)
        constant, slope, bend = coefficients
        values = (constant + slope * x + bend * x * x for x in self.piece.places())
        return next((side for side in map(_certain, values) if side), 0)  # two of them may be zeros of the polynomial


def _certain(value: Scalar) -> int:
    found = sign(value)
    if found is None:
        raise Imprecise("a sign is not decided at this precision")
    return found


def _roots(c: Scalar, b: Scalar, a: Scalar) -> list[Scalar]:
    """The real roots of a x**2 + b x + c at which it changes its sign, in order."""
    if sign(a) == 0:
        return [] if sign(b) == 0 else [-c * inverse(b)]
    square = b * b - 4 * a * c
    if _certain(square) <= 0:
        return []
    root, half = functions.sqrt(square), inverse(2 * a)
    ends = [(-b - root) * half, (-b + root) * half]
    return ends if _certain(a) > 0 else ends[::-1]


# -- means -------------------------------------------------------------------------------------------------------------


def mean(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    combine: Callable[[list[Number]], Number],
) -> Number:
    """The mean, over the one entry that is not drawn, of what `combine` makes of the bodies.

    Raises NotDecided where there is no closed form, or where pieces meet under a derivative.
    """
    law = here.laws[entry]
    pieces: list[Piece] = [Piece(law.low, law.high) if isinstance(law, Uniform) else Piece()]
    total: Number = ZERO
    for _ in range(MAX_PIECES):
        if not pieces:
            return total
        piece = pieces.pop()
        inside = Random(here, {**drawn, entry: Form({(1, CONSTANT): ONE}, piece)})
        try:
            value = combine([inside.value(body, letters) for body in bodies])
        except Cut as cut:
            _require_no_derivative(here)
            pieces += piece.cut(cut)
            continue
        parts = value.terms if isinstance(value, Series) else {STANDARD: value}
        if any(isinstance(c, Poison) for c in parts.values()):
            raise NotDecided("a formula that changes where a mean is taken")
        total = add(total, plain({key: _integral(c, law, piece) for key, c in parts.items()}))
    raise NotDecided("a mean over too many pieces")


def _require_no_derivative(here: Evaluation) -> None:
    place: Evaluation | None = here
    while place is not None:
        if place.active or isinstance(place, Limiting):
            raise NotDecided("an integral under a derivative or a limit")
        place = place.parent


def _integral(value: Any, law: Normal | Uniform, piece: Piece) -> Scalar:
    """The mean of the form over the piece."""
    terms = value.terms if isinstance(value, Form) else {(0, CONSTANT): value}
    degrees: dict[Rate, int] = {}
    for k, rate in terms:
        degrees[rate] = max(k, degrees.get(rate, 0))
    find = _normal if isinstance(law, Normal) else _uniform
    moments = {rate: find(law, rate, piece, k) for rate, k in degrees.items()}  # type: ignore[operator]
    return sum((c * moments[rate][k] for (k, rate), c in terms.items()), start=ZERO)


def _normal(law: Normal, rate: Rate, piece: Piece, largest: int) -> list[Scalar]:
    """The means over the piece of x**k exp(b x + a x**2): the law with another mean and variance, then by parts."""
    narrow = 1 - 2 * rate.a * law.variance
    if _certain(narrow) <= 0:
        raise NotDecided("a mean that may be infinite")
    moved = law.mean + rate.b * law.variance
    middle, variance = moved * inverse(narrow), law.variance * inverse(narrow)
    height = (moved * middle - law.mean * law.mean) * inverse(2 * law.variance)
    factor = functions.apply("exp", height) * inverse(functions.sqrt(narrow)) if rate != CONSTANT else ONE
    ends = [x for x in (piece.low, piece.high) if x is not None]
    if not ends:
        return [factor * Normal(middle, variance).moment(k) for k in range(largest + 1)]
    scale = functions.sqrt(2 * variance)
    places = [(x - middle) * inverse(scale) for x in ends]
    erf = [functions.apply("erf", t) for t in places]
    low, high = (-ONE if piece.low is None else erf[0], ONE if piece.high is None else erf[-1])
    sides = [-1] * (piece.low is not None) + [1] * (piece.high is not None)
    norm = arb.pi().sqrt() * scale
    density = [side * functions.apply("exp", -t * t) / norm for side, t in zip(sides, places, strict=True)]
    found = [(high - low) / 2]
    for k in range(1, largest + 1):
        edge = sum((integer_power(x, k - 1) * d for x, d in zip(ends, density, strict=True)), start=ZERO)
        found.append(middle * found[-1] + ((k - 1) * found[-2] - edge if k > 1 else -edge) * variance)
    return [factor * settle(f) if isinstance(f, arb) else factor * f for f in found]


def _uniform(law: Uniform, rate: Rate, piece: Piece, largest: int) -> list[Scalar]:
    """The means over the piece of x**k exp(b x), by parts."""
    low, high, b = piece.low, piece.high, rate.b
    if sign(rate.a) != 0:
        raise NotDecided("a mean with no closed form")
    width = inverse(law.high - law.low)
    if sign(b) == 0:
        return [(integer_power(high, k + 1) - integer_power(low, k + 1)) / (k + 1) * width for k in range(largest + 1)]
    top, bottom, over = functions.apply("exp", b * high), functions.apply("exp", b * low), inverse(b)
    found = [(top - bottom) * over]
    for k in range(1, largest + 1):
        found.append((integer_power(high, k) * top - integer_power(low, k) * bottom - k * found[-1]) * over)
    return [f * width for f in found]

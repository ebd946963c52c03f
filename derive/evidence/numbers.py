"""Numbers that never lie: exact rationals, balls around reals, and series over them.

A scalar is an exact `fmpq`, or an `arb` ball that contains the true value. A `Series` is a sum of scalars times
generators of two kinds: nilpotent ones (each derivative brings its own epsilon with epsilon**2 = 0; a set of them is a
bit mask) and random entries (a monomial in them), so that derivatives of any order and moments of any degree are exact.

A coefficient may be a `Poison`: the formula changes at this very point, so that there is no derivative to speak of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from flint import arb, fmpq

Scalar = Any  # fmpq or arb (flint ships no types); inside a limit also a germ, which does the same arithmetic
Monomial = tuple[tuple[Any, int], ...]
Key = tuple[int, Monomial]

ZERO, ONE = fmpq(0), fmpq(1)
STANDARD: Key = (0, ())
MAX_BITS = 20_000  # exact rationals larger than this are rounded to balls
MAX_EXPONENT = 200_000  # of two, in numbers to be written down
MAX_TERMS = 4_000


class NotDefined(Exception):
    """The value certainly does not exist at this point; the argument says why."""


class NotDecided(Exception):
    """Whether the value exists, or what it is, was not decided; the argument says why."""


class Imprecise(NotDecided):
    """Not decided at this precision; a higher one may decide."""


class NotPolynomial(Exception):
    """A random entry stands where only a number may."""


@dataclass(frozen=True)
class Poison:
    """A coefficient that does not exist because the formula changes at the point.

    `jump`: the value itself may jump. `certain`: there certainly is no derivative, whichever way the text is read.
    """

    jump: bool
    certain: bool


class Series:
    """A sum of scalars times generators. `random` says whether a random entry occurs."""

    __slots__ = ("random", "terms")

    def __init__(self, terms: dict[Key, Any]):
        self.terms = terms
        self.random = any(key[1] for key in terms)

    def __repr__(self) -> str:
        return f"Series({self.terms!r})"


Number = Any  # a scalar or a Series


# -- scalars ---------------------------------------------------------------------------------------------------------


def rational(value: Any) -> Scalar:
    """The fmpq of an int, a Fraction or an fmpq."""
    return value if isinstance(value, fmpq) else fmpq(value.numerator, value.denominator)


def settle(ball: Any) -> Scalar:
    """The ball, or the exact rational where its radius is 0. Raises NotDecided where it is not finite."""
    if not ball.is_finite():
        raise Imprecise("the precision does not suffice")
    if ball.is_exact():
        _, exponent = ball.man_exp()
        if abs(int(exponent)) < MAX_BITS:
            return ball.fmpq()
    return ball


def written_out(ball: Any) -> Scalar:
    """The rational that an exact ball is. Raises NotDecided where it is too large, or too near 0, to write down."""
    if abs(int(ball.man_exp()[1])) > MAX_EXPONENT:
        raise NotDecided("a number too large to write down")
    return ball.fmpq()


def sign(value: Scalar) -> int | None:
    """-1, 0 or 1, or None where the ball does not tell."""
    if isinstance(value, fmpq):
        return (value > 0) - (value < 0)
    if isinstance(value, arb):
        return 1 if value > 0 else -1 if value < 0 else 0 if value.is_zero() else None
    return value.sign()  # type: ignore[no-any-return]


def decided_sign(value: Scalar) -> int:
    """The sign. Raises NotDecided where the ball does not tell."""
    found = sign(value)
    if found is None:
        raise Imprecise("a sign is not decided at this precision")
    return found


def tame(value: Scalar) -> Scalar:
    """The product as it is kept: a ball where an exact rational has grown out of hand, and exact where it is 0."""
    if isinstance(value, fmpq):
        return arb(value) if value.height_bits() > MAX_BITS else value
    return ZERO if isinstance(value, arb) and value.is_zero() else value


# -- coefficients ----------------------------------------------------------------------------------------------------


def _plus(a: Any, b: Any) -> Any:
    if isinstance(a, Poison) or isinstance(b, Poison):
        if isinstance(a, Poison) and isinstance(b, Poison):
            return Poison(a.jump or b.jump, False)
        return a if isinstance(a, Poison) else b
    return a + b


def _times(a: Any, b: Any) -> Any:
    if isinstance(a, Poison) or isinstance(b, Poison):
        if isinstance(a, Poison) and isinstance(b, Poison):
            return Poison(a.jump or b.jump, False)
        poison, other = (a, b) if isinstance(a, Poison) else (b, a)
        return poison if sign(other) else Poison(poison.jump, False)
    return tame(a * b)


def _joined(a: Monomial, b: Monomial) -> Monomial:
    if not a or not b:
        return a or b
    powers = dict(a)
    for entry, exponent in b:
        powers[entry] = powers.get(entry, 0) + exponent
    return tuple(sorted(powers.items()))


# -- arithmetic ------------------------------------------------------------------------------------------------------


def terms_of(x: Number) -> dict[Key, Any]:
    return x.terms if isinstance(x, Series) else {STANDARD: x}


def add(x: Number, y: Number) -> Number:
    if not isinstance(x, Series) and not isinstance(y, Series):
        return x + y
    terms = dict(terms_of(x))
    for key, c in terms_of(y).items():
        terms[key] = _plus(terms[key], c) if key in terms else c
    return _bounded(terms)


def neg(x: Number) -> Number:
    if not isinstance(x, Series):
        return -x
    return Series({key: c if isinstance(c, Poison) else -c for key, c in x.terms.items()})


def mul(x: Number, y: Number) -> Number:
    if not isinstance(x, Series) and not isinstance(y, Series):
        return tame(x * y)
    terms: dict[Key, Any] = {}
    for (mask, monomial), c in terms_of(x).items():
        for (other, more), d in terms_of(y).items():
            if not mask & other:
                key = (mask | other, _joined(monomial, more))
                product = _times(c, d)
                terms[key] = _plus(terms[key], product) if key in terms else product
    return _bounded(terms)


def _bounded(terms: dict[Key, Any]) -> Series:
    if len(terms) > MAX_TERMS:
        raise NotDecided("too many terms")
    return Series(terms)


def standard(x: Number) -> Scalar:
    """The value at the point, without its derivatives. Raises NotPolynomial where it is random."""
    if not isinstance(x, Series):
        return x
    if x.random:
        raise NotPolynomial
    return x.terms.get(STANDARD, ZERO)


def epsilons(x: Number) -> int:
    """The mask of all epsilons that occur."""
    mask = 0
    if isinstance(x, Series):
        for key in x.terms:
            mask |= key[0]
    return mask


def jumps(x: Number) -> bool:
    """Whether the value may jump at the point."""
    return isinstance(x, Series) and any(isinstance(c, Poison) and c.jump for c in x.terms.values())


def slope(x: Number, bit: int) -> Any:
    """The coefficient of one epsilon alone."""
    return x.terms.get((bit, ()), ZERO) if isinstance(x, Series) else ZERO


def differ(a: Any, b: Any) -> bool:
    """Whether two coefficients certainly differ."""
    return not isinstance(a, Poison) and not isinstance(b, Poison) and bool(sign(a - b))


def epsilon(x: Number, bit: int) -> Number:
    """x + epsilon."""
    return add(x, Series({(bit, ()): ONE}))


def derivative(x: Number, bit: int) -> Number:
    """The coefficient of the epsilon. Raises NotDefined or NotDecided where the formula changes at the point."""
    if not isinstance(x, Series):
        return ZERO
    terms = {(mask ^ bit, monomial): c for (mask, monomial), c in x.terms.items() if mask & bit}
    for (mask, _), c in terms.items():
        if isinstance(c, Poison) and not mask:
            if c.certain:
                raise NotDefined("the derivative at a point where the formula changes")
            raise NotDecided("whether the formula changes at this point")
    return plain(terms)


def plain(terms: dict[Key, Any]) -> Number:
    """The number with these terms: a scalar where nothing else occurs."""
    if not terms:
        return ZERO
    return terms[STANDARD] if len(terms) == 1 and STANDARD in terms else Series(terms)


def poisoned(value: Scalar, active: int, certain: dict[int, bool], jump: bool) -> Number:
    """The value, without a derivative by the active epsilons; `certain` tells for each single one how sure that is."""
    if not active:
        return value
    terms: dict[Key, Any] = {STANDARD: value}
    mask = active
    while mask:
        terms[(mask, ())] = Poison(jump, certain.get(mask, False))
        mask = (mask - 1) & active
    return Series(terms)


def bits(mask: int) -> list[int]:
    """The single bits of the mask."""
    return [1 << place for place in range(mask.bit_length()) if mask >> place & 1]


def compose(x: Series, coefficients: list[Scalar]) -> Number:
    """f(x) from the Taylor coefficients of f at the standard part of x; enough of them for all epsilons of x."""
    rest = {key: c for key, c in x.terms.items() if key != STANDARD}
    if jumps(x):
        rest = {key: Poison(c.jump, False) if isinstance(c, Poison) else c for key, c in rest.items()}
    step = Series(rest)
    result: Number = coefficients[0]
    power: Number = ONE
    for c in coefficients[1:]:
        power = mul(power, step)
        if not power.terms:
            break
        result = add(result, mul(c, power))
    return result


def order(x: Number) -> int:
    """How many Taylor coefficients beyond the first `compose` needs."""
    return epsilons(x).bit_count()


def inverse(x: Number) -> Number:
    """1/x. Raises NotDefined where x is exactly 0."""
    value = standard(x)
    if isinstance(value, fmpq):
        if value == 0:
            raise NotDefined("division by zero")
        one_over = 1 / value
    elif isinstance(value, arb):
        side = sign(value)
        if not side:
            raise NotDefined("division by zero") if side == 0 else Imprecise("whether a denominator is zero")
        one_over = settle(1 / value)
    else:
        one_over = value.inverse()
    if not isinstance(x, Series):
        return one_over
    coefficients = [one_over]
    for _ in range(order(x)):
        coefficients.append(-coefficients[-1] * one_over)
    return compose(x, coefficients)


def integer_power(x: Number, exponent: int) -> Number:
    """x**exponent for any integer: by squaring, since a ball raised through zero gives nan."""
    if exponent < 0:
        return integer_power(inverse(x), -exponent)
    if isinstance(x, fmpq) and abs(x) <= 1 and x.q == 1:
        return x if exponent % 2 else x * x if exponent else ONE
    if exponent.bit_length() > 30:
        raise NotDecided("an exponent is too large")
    if isinstance(x, fmpq) and x.height_bits() * exponent > MAX_BITS:
        x = arb(x)
    result: Number = ONE
    while exponent:
        if exponent & 1:
            result = mul(result, x)
        exponent >>= 1
        if exponent:
            x = mul(x, x)
    return result


def expected(x: Number, moment: Any) -> Number:
    """The mean of a polynomial in independent random entries, from `moment(entry, k)`, the mean of a k-th power."""
    if not isinstance(x, Series):
        return x
    total: Number = ZERO
    for (mask, monomial), c in x.terms.items():
        mean = reduce(mul, (moment(entry, k) for entry, k in monomial), ONE)
        total = add(total, mul(plain({(mask, ()): c}), mean))
    return total


def all_parts(parts: Iterable[Callable[[], Number]]) -> Iterator[Number]:
    """The values of the parts. One that is certainly undefined outweighs one that is not decided."""
    undecided = None
    for part in parts:
        try:
            value = part()
        except NotDecided as problem:
            undecided = undecided or problem
        else:
            if undecided is None:
                yield value
    if undecided is not None:
        raise undecided

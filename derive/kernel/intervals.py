"""Real numbers enclosed between rationals: every operation rounds outwards, every series carries its proved remainder.

An enclosure whose ends agree is an exact rational and stays one under arithmetic. `Imprecise` asks for more bits; what
certainly has no value is `Rejected`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import ceil, floor, isqrt

from derive.kernel.proof import Rejected

EXACT = 4096  # bits of a numerator or denominator up to which a rational is kept exactly
LARGEST = 200_000  # bits before and after the point up to which a number is written out
TOO_LARGE = "a number is too large to be written out"


class Imprecise(Exception):
    """With this many bits nothing can be said."""


def length(x: Fraction) -> int:
    return x.numerator.bit_length() - x.denominator.bit_length()


def rounded(x: Fraction, bits: int, up: bool) -> Fraction:
    """A rational of so many significant bits that is not below x (`up`) or not above it."""
    sign = -1 if up else 1  # the ceiling is minus the floor of the negative
    shift = min(bits - length(x), 2 * LARGEST)
    top = sign * x.numerator
    return (
        Fraction(sign * ((top << shift) // x.denominator), 1 << shift)
        if shift >= 0
        else Fraction(sign * ((top // (x.denominator << -shift)) << -shift))
    )


@dataclass(frozen=True)
class Interval:
    """The numbers from `low` to `high`. Results keep `bits` significant bits."""

    low: Fraction
    high: Fraction
    bits: int

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def make(self, low: Fraction | int, high: Fraction | int) -> Interval:
        """An interval of the same precision, rounded outwards unless it is a number of moderate length."""
        low, high = Fraction(low), Fraction(high)
        if low == high and max(low.numerator.bit_length(), low.denominator.bit_length()) <= EXACT:
            return Interval(low, high, self.bits)
        if max(length(low), length(high)) > LARGEST:
            raise Rejected(TOO_LARGE)
        return Interval(rounded(low, self.bits, False), rounded(high, self.bits, True), self.bits)

    def point(self, value: Fraction | int) -> Interval:
        return self.make(value, value)

    def times(self, factor: Fraction | int) -> Interval:
        return self * self.point(factor)

    def __add__(self, other: Interval) -> Interval:
        return self.make(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.bits)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return self.make(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0 <= other.high:
            raise Rejected("a denominator is 0") if other.exact else Imprecise
        return self * self.make(1 / other.high, 1 / other.low)

    def __abs__(self) -> Interval:
        ends = abs(self.low), abs(self.high)
        return Interval(Fraction(0) if self.low < 0 < self.high else min(ends), max(ends), self.bits)


def number(value: Fraction, bits: int) -> Interval:
    return Interval(value, value, bits)


def raised(x: Interval, n: int) -> Interval:
    """x to an integer power, by its binary digits."""
    if n < 0:
        return x.point(1) / raised(x, -n)
    if n > LARGEST:
        raise Rejected(TOO_LARGE)
    base, result = abs(x) if n % 2 == 0 else x, x.point(1)
    for digit in f"{n:b}":
        result = result * result * base if digit == "1" else result * result
    return result


def power(base: Interval, exponent: Interval) -> Interval:
    """A power: an integer exponent takes any base, another one what is positive, and 0 if the exponent is positive."""
    e = exponent.low
    if exponent.exact and e.denominator == 1:
        return raised(base, e.numerator)
    if base.low > 0 or (base.exact and base.low < 0):  # the logarithm refuses a negative base
        return exp(exponent * log(base))
    if base.exact and exponent.low > 0:
        return base.point(0)
    raise Rejected("a power of 0 with an exponent that is not above 0") if base.exact and exponent.exact else Imprecise


# -- series --------------------------------------------------------------------------------------------------------


def nested(x: Interval, terms: int, factor: Callable[[int], Fraction]) -> Interval:
    """1 + x f1 (1 + x f2 (1 + …)), cut after so many terms, for positive factors with |x| f <= 1/2 in all later ones.

    The tail that is cut lies between 0 and 2: below 1 + 1/2 + 1/4 + … for x > 0, and for x < 0 it alternates and falls.
    The numbers are integers in units of 2^-bits.
    """
    one = 1 << x.bits
    ends = floor(x.low * one), ceil(x.high * one)
    low, high = 0, 2 * one
    for n in range(terms, 0, -1):
        top, bottom = factor(n).as_integer_ratio()
        products = [a * b * top for a in ends for b in (low, high)]
        low, high = one + (min(products) >> x.bits) // bottom, one - (-max(products) >> x.bits) // bottom
    return x.make(Fraction(low, one), Fraction(high, one))


def monotone(f: Callable[[Interval], Interval]) -> Callable[[Interval], Interval]:
    """A rising function on an interval, from its enclosures at the two ends. Claims on one example share them."""

    @lru_cache(maxsize=4096)
    def on(x: Interval) -> Interval:
        high = f(number(x.high, x.bits))  # refused here, it has no value anywhere on x
        try:
            return high if x.exact else x.make(f(number(x.low, x.bits)).low, high.high)
        except Rejected:
            raise Imprecise from None

    return on


@monotone
def exp(x: Interval) -> Interval:
    """2^k exp(r / 2^m)^(2^m) with x = k log 2 + r, by the series of exp at r / 2^m."""
    if x.low <= 0:
        if x.low < -LARGEST // 2:
            return Interval(Fraction(0), Fraction(1, 1 << LARGEST // 2), x.bits)  # exp(-a) < 2^-a
        return x.point(1) / exp(-x) if x.low else x.point(1)
    if x.low > LARGEST:
        raise Rejected(TOO_LARGE)
    m, bits = isqrt(x.bits), x.bits + 2 * isqrt(x.bits) + LARGEST.bit_length()
    k = int(x.low / log_two(64).high)
    r = (number(x.low, bits) - log_two(bits).times(k)).times(Fraction(1, 1 << m))
    result = nested(r, x.bits // m + 2, lambda n: Fraction(1, n))
    low, high = floor(result.low * (1 << bits)), ceil(result.high * (1 << bits))
    for _ in range(m):  # in units of 2^-bits
        low, high = low * low >> bits, -(-high * high >> bits)
    return x.make(low * Fraction(2) ** (k - bits), high * Fraction(2) ** (k - bits))


def arc(z: Interval, sign: int) -> Interval:
    """artanh z for sign 1, arctan z for sign -1, where |z| <= 1/3."""
    return z * nested((z * z).times(sign), z.bits // 3 + 2, lambda n: Fraction(2 * n - 1, 2 * n + 1))


@lru_cache(maxsize=64)
def log_two(bits: int) -> Interval:
    return arc(number(Fraction(1, 3), bits), 1).times(2)


@lru_cache(maxsize=64)
def pi(bits: int) -> Interval:
    """16 arctan(1/5) - 4 arctan(1/239)."""
    return arc(number(Fraction(1, 5), bits), -1).times(16) - arc(number(Fraction(1, 239), bits), -1).times(4)


@monotone
def log(x: Interval) -> Interval:
    """k log 2 + 2 artanh((m - 1)/(m + 1)) with x = m 2^k, m between 1/2 and 2."""
    if x.low <= 0:
        raise Rejected("a logarithm of what is not positive")
    if x.low == 1:
        return x.point(0)
    k = length(x.low)
    z = (x.low - Fraction(2) ** k) / (x.low + Fraction(2) ** k)
    return arc(number(z, x.bits), 1).times(2) + log_two(x.bits).times(k)


def circular(x: Interval, quarters: int) -> Interval:
    """sin(x + quarters * pi/2): its value at the middle, give or take the radius."""
    if x.exact and x.low == 0:
        return x.point((0, 1, 0, -1)[quarters % 4])
    middle, radius = (x.low + x.high) / 2, (x.high - x.low) / 2
    bits = x.bits + max(0, length(middle)) + 8
    if bits > 2 * EXACT:
        raise Rejected(TOO_LARGE)
    quarter = pi(bits).times(Fraction(1, 2))
    turns = round(middle / quarter.low)
    r = number(middle, bits) - quarter.times(turns)
    if abs(r).high > 1:
        raise Imprecise
    odd = (turns + quarters) % 2
    value = nested(-(r * r), bits // 4 + 2, lambda n: Fraction(1, 2 * n * (2 * n + (-1 if odd else 1))))
    value = value if odd else r * value
    value = -value if (turns + quarters) % 4 > 1 else value
    return x.make(max(value.low - radius, Fraction(-1)), min(value.high + radius, Fraction(1)))


@monotone
def arctan(x: Interval) -> Interval:
    """Halved three times by arctan x = 2 arctan(x / (1 + sqrt(1 + x^2)))."""
    one, z = x.point(1), x
    for _ in range(3):
        z = z / (one + power(one + z * z, x.point(Fraction(1, 2))))
    return arc(z, -1).times(8)


@monotone
def erf(x: Interval) -> Interval:
    """2 x exp(-x^2) / sqrt(pi) times a series of positive terms; far out 1 - exp(-x^2) < erf(x) < 1."""
    square = x * x
    if x.low < 0:
        return -erf(-x)
    if square.low > x.bits:
        return x.make((x.point(1) - exp(-square)).low, 1)
    terms = 8 * int(square.high) + x.bits
    series = nested(square.times(2), terms, lambda n: Fraction(1, 2 * n + 1))
    return x.times(2) * exp(-square) * power(pi(x.bits), x.point(Fraction(-1, 2))) * series


OPERATORS: dict[str, Callable[..., Interval]] = {
    "add": lambda *each: reduce(Interval.__add__, each),
    "mul": lambda *each: reduce(Interval.__mul__, each),
    "neg": Interval.__neg__,
    "div": Interval.__truediv__,
    "pow": power,
}
FUNCTIONS: dict[str, Callable[..., Interval]] = {
    "exp": exp,
    "log": log,
    "sin": lambda x: circular(x, 0),
    "cos": lambda x: circular(x, 1),
    "atan": arctan,
    "erf": erf,
}

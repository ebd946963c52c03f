"""The elementary functions: one row each, giving the value and the Taylor coefficients at a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, isqrt
from typing import Any

from flint import acb, arb, arb_series, fmpq

from derive.evidence.numbers import (
    ONE,
    ZERO,
    Imprecise,
    NotDecided,
    NotDefined,
    Number,
    Scalar,
    Series,
    compose,
    decided_sign,
    epsilons,
    integer_power,
    mul,
    order,
    settle,
    sign,
    standard,
)


@dataclass(frozen=True)
class Function:
    """A function of one number: `value` of a ball, `series` of a power series, and where it is defined.

    `above` is the bound its argument has to exceed. A `pole` refuses what lies on the integers at or below the bound
    only, and leaves the rest below it open.
    """

    value: Callable[[Any], Any]
    series: Callable[[Any], Any]
    above: int | None = None
    pole: bool = False


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + (-x).exp())


def _sinh(x: Any) -> Any:
    return (x.exp() - (-x).exp()) / 2


def _cosh(x: Any) -> Any:
    return (x.exp() + (-x).exp()) / 2


def _polygamma(order: int) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """The polygamma function of the order and its power series, whose coefficients are polygammas again."""

    def value(x: Any, shift: int = 0) -> Any:
        return acb(x).polygamma(acb(order + shift)).real

    def series(s: Any) -> Any:
        x, count = s[0], s.prec
        return arb_series([value(x, k) / factorial(k) for k in range(count)], prec=count)

    return value, series


FUNCTIONS: dict[str, Function] = {
    "exp": Function(lambda x: x.exp(), lambda s: s.exp()),
    "expm1": Function(lambda x: x.expm1(), lambda s: s.exp() - 1),
    "log": Function(lambda x: x.log(), lambda s: s.log(), above=0),
    "log1p": Function(lambda x: x.log1p(), lambda s: (1 + s).log(), above=-1),
    "sin": Function(lambda x: x.sin(), lambda s: s.sin()),
    "cos": Function(lambda x: x.cos(), lambda s: s.cos()),
    "tan": Function(lambda x: x.tan(), lambda s: s.tan()),
    "sinh": Function(lambda x: x.sinh(), _sinh),
    "cosh": Function(lambda x: x.cosh(), _cosh),
    "tanh": Function(lambda x: x.tanh(), lambda s: _sinh(s) / _cosh(s)),
    "atan": Function(lambda x: x.atan(), lambda s: s.atan()),
    "erf": Function(lambda x: x.erf(), lambda s: s.erf()),
    "sigmoid": Function(_sigmoid, _sigmoid),
    "softplus": Function(lambda x: x.exp().log1p(), lambda s: (1 + s.exp()).log()),
    "lgamma": Function(lambda x: x.lgamma(), lambda s: s.lgamma(), above=0, pole=True),
    "digamma": Function(*_polygamma(0), above=0, pole=True),
    "trigamma": Function(*_polygamma(1), above=0, pole=True),
}


def apply(name: str, x: Number) -> Number:
    """The function of the table at x. Raises NotDefined outside its domain."""
    row, at = FUNCTIONS[name], standard(x)
    if not isinstance(at, (fmpq, arb)):
        return _of_germ(name, x, at)
    require(name, row, at)
    ball = arb(at)
    first = settle(row.value(ball))
    if not isinstance(x, Series):
        return first
    return compose(x, [first, *taylor(row.series, ball, order(x))[1:]])


def _of_germ(name: str, x: Number, at: Scalar) -> Number:
    """The function inside a limit, or of what is integrated."""
    first = at.function(name)
    count = order(x)
    if not count:
        return first if not isinstance(x, Series) else compose(x, [first])
    if name not in _SLOPES:
        raise NotDecided(f"a derivative of {name} inside a limit")
    return compose(x, [first, *(c * fmpq(1, k) for k, c in enumerate(_SLOPES[name](at, first, count), 1))])


Slopes = Callable[[Any, Any, int], list[Any]]  # of the argument and the value: Taylor coefficients of the derivative


def _exponential(x: Any, value: Any, count: int) -> list[Any]:
    return [value * fmpq(1, factorial(k)) for k in range(count)]


def _reciprocal(x: Any, value: Any, count: int) -> list[Any]:
    found = [x.inverse()]
    while len(found) < count:
        found.append(-found[-1] * found[0])
    return found


def _turning(sign_of_second: int, other: str, sign_of_first: int) -> Slopes:
    """The derivatives of a function whose second one is itself or its negative, and whose first is `other`."""

    def find(x: Any, value: Any, count: int) -> list[Any]:
        pair = (x.function(other) * fmpq(sign_of_first), value * fmpq(sign_of_second))
        turns = [fmpq(sign_of_second ** (k // 2), factorial(k)) for k in range(count)]
        return [pair[k % 2] * c for k, c in enumerate(turns)]

    return find


def _logistic(x: Any, value: Any, count: int) -> list[Any]:
    """From s' = s - s**2: a derivative is a polynomial in s."""
    return _polynomial(value, [ZERO, ONE, -ONE], [ZERO, ONE, -ONE], count)


def _hyperbolic(x: Any, value: Any, count: int) -> list[Any]:
    """From t' = 1 - t**2."""
    return _polynomial(value, [ONE, ZERO, -ONE], [ONE, ZERO, -ONE], count)


def _polynomial(value: Any, current: list[Scalar], slope: list[Scalar], count: int) -> list[Any]:
    found = []
    for k in range(count):
        total = sum((integer_power(value, j) * c for j, c in enumerate(current)), start=value * ZERO)
        found.append(total * fmpq(1, factorial(k)))
        derived = [j * c for j, c in enumerate(current)][1:] or [ZERO]
        product = [ZERO] * (len(derived) + len(slope) - 1)
        for i, c in enumerate(derived):
            for j, d in enumerate(slope):
                product[i + j] += c * d
        current = product
    return found


def _arc(x: Any, value: Any, count: int) -> list[Any]:
    """The reciprocal of 1 + x**2, from (1 + (x + e)**2) d = 1."""
    over = (x * x + 1).inverse()
    found = [over]
    while len(found) < count:
        found.append(-(found[-1] * x * 2 + (found[-2] if len(found) > 1 else ZERO)) * over)
    return found


def _bell(x: Any, value: Any, count: int) -> list[Any]:
    """2/sqrt(pi) exp(-x**2), from h' = -2 (x + e) h."""
    found = [(-(x * x)).function("exp") * (2 / arb.pi().sqrt())]
    while len(found) < count:
        found.append((found[-1] * x + (found[-2] if len(found) > 1 else ZERO)) * fmpq(-2, len(found)))
    return found


def _soft(x: Any, value: Any, count: int) -> list[Any]:
    logistic = x.function("sigmoid")
    return [logistic, *(c * fmpq(1, k) for k, c in enumerate(_logistic(x, logistic, count - 1), 1))]


_SLOPES: dict[str, Slopes] = {
    "exp": _exponential,
    "expm1": lambda x, value, count: _exponential(x, value + 1, count),
    "log": _reciprocal,
    "log1p": lambda x, value, count: _reciprocal(x + 1, value, count),
    "sin": _turning(-1, "cos", 1),
    "cos": _turning(-1, "sin", -1),
    "sinh": _turning(1, "cosh", 1),
    "cosh": _turning(1, "sinh", 1),
    "tanh": _hyperbolic,
    "atan": _arc,
    "erf": _bell,
    "sigmoid": _logistic,
    "softplus": _soft,
}


def require(name: str, row: Function, at: Scalar) -> None:
    """Raises NotDefined where the function is not defined, NotDecided where that is not known."""
    if row.above is None:
        return
    side = sign(at - row.above)
    if side == 1:
        return
    if side is None or (row.pole and side == -1 and not (isinstance(at, fmpq) and at.q == 1)):
        raise (Imprecise if side is None else NotDecided)(f"whether {name} is defined")
    raise NotDefined(f"{name} of {'a pole' if row.pole else 'a number that is not above ' + str(row.above)}")


def taylor(series: Callable[[Any], Any], at: Any, count: int) -> list[Scalar]:
    """The first Taylor coefficients at the ball, the value first."""
    try:
        result = series(arb_series([at, 1], prec=count + 1))
    except ValueError:  # a quotient whose denominator is not told from 0
        raise Imprecise("the derivative of a quotient") from None
    return [settle(arb(result[k])) for k in range(count + 1)]


# -- roots and powers ------------------------------------------------------------------------------------------------


def sqrt(x: Number) -> Number:
    """The square root; under a derivative its argument has to be above 0."""
    at = standard(x)
    side = decided_sign(at)
    if side < 0:
        raise NotDefined("the square root of a negative number")
    if side == 0:
        if epsilons(x):
            raise NotDefined("the derivative of a square root at 0")
        return ZERO
    first = _exact_root(at) or (settle(arb(at).sqrt()) if isinstance(at, (fmpq, arb)) else at.power(fmpq(1, 2)))
    if not isinstance(x, Series):
        return first
    return compose(x, _binomial(fmpq(1, 2), first, at, order(x)))


def _exact_root(value: Scalar) -> Scalar | None:
    if not isinstance(value, fmpq):
        return None
    p, q = int(value.p), int(value.q)
    root = fmpq(isqrt(p), isqrt(q))
    return root if root * root == value else None


def _binomial(exponent: Scalar, first: Scalar, at: Scalar, count: int) -> list[Scalar]:
    """The Taylor coefficients of x**exponent at a point above 0, from the value there."""
    coefficients = [first]
    for k in range(count):
        coefficients.append(coefficients[-1] * (exponent - k) / (at * (k + 1)))
    return coefficients


def power(x: Number, y: Number) -> Number:
    """x**y: an integer exponent takes any base, not zero if negative; any other a base above 0, or 0 if above 0."""
    exponent = standard(y)
    varies = bool(epsilons(y))
    if isinstance(exponent, fmpq) and exponent.q == 1 and not varies:
        try:
            return integer_power(x, int(exponent.p))
        except NotDefined:
            raise NotDefined("zero to a negative power") from None
    base = standard(x)
    side = decided_sign(base)
    if not isinstance(exponent, (fmpq, arb)) and side <= 0:
        if side == 0 and not epsilons(x) and not varies and decided_sign(exponent) > 0:
            return ZERO
        raise NotDecided("a limit of a power")
    if side > 0:
        return _positive_power(x, y)
    integral = exponent.q == 1 if isinstance(exponent, fmpq) else bool(exponent.contains_integer())
    if varies:
        if side < 0 and not integral:
            raise NotDefined("a real power of a negative number")
        raise NotDecided("a derivative by the exponent of a base that is not above 0")
    if side < 0:
        if integral:
            raise NotDecided("whether an exponent is an integer")
        raise NotDefined("a real power of a negative number")
    if epsilons(x):
        if integral:
            raise NotDecided("whether an exponent is an integer")
        raise NotDefined("the derivative of a real power at 0")
    if decided_sign(exponent) <= 0:  # an exponent of exactly 0 was taken care of above
        raise NotDefined("zero to a negative power")
    return ZERO


def _positive_power(x: Number, y: Number) -> Number:
    """x**y for x above 0."""
    if not isinstance(y, (fmpq, arb)):
        return apply("exp", mul(y, apply("log", x)))
    at = standard(x)
    first = None if isinstance(at, (fmpq, arb)) else at.power(y)
    if isinstance(y, fmpq) and isinstance(at, fmpq) and y.q == 2:
        root = _exact_root(at)
        first = None if root is None else integer_power(root, int(y.p))
    if first is None:
        first = ONE if isinstance(at, fmpq) and at == 1 else settle((arb(at).log() * y).exp())
    if not isinstance(x, Series):
        return first
    return compose(x, _binomial(y, first, at, order(x)))

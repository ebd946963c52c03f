"""Limits: a number as w grows without bound, by its leading terms c w**p exp(q w) and the order of what is left out.

A `Germ` says what holds for all w beyond some point. Terms c w**p exp(q w) log(w)**l are ordered by (q, p, l). `rest`
bounds the remainder by such an order; there is none where the terms are all there is. A sign or a limit is given only
where these decide it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from math import factorial
from typing import Any

from flint import arb, fmpq

from derive.evidence import functions
from derive.evidence.numbers import ONE, ZERO, NotDecided, NotDefined, Scalar, decided_sign, settle, sign

Order = tuple[fmpq, fmpq, fmpq]  # (q, p, l) of w**p exp(q w) log(w)**l

CONSTANT: Order = (ZERO, ZERO, ZERO)
LINEAR: Order = (ZERO, ONE, ZERO)
LOGARITHM: Order = (ZERO, ZERO, ONE)
FAST: Order = (fmpq(-(10**6)), ZERO, ZERO)  # below every exponential that is likely to meet it
SLOW: Order = (ZERO, fmpq(-(10**6)), ZERO)  # below every power that is likely to meet it
TWICE: Order = (ZERO, ZERO, fmpq(1, 1000))  # the logarithm of log w is below every power of log w
DEPTH = 5  # terms of a power series
MAX_TERMS = 200


def _sum(a: Order, b: Order) -> Order:
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def _multiple(a: Order, k: Scalar) -> Order:
    return (a[0] * k, a[1] * k, a[2] * k)


def _greater(a: Order | None, b: Order | None) -> Order | None:
    return b if a is None else a if b is None else max(a, b)


class Germ:
    """A function of w for all w beyond some point. It does arithmetic with scalars and other germs."""

    __slots__ = ("rest", "terms")

    def __init__(self, terms: dict[Order, Scalar], rest: Order | None = None):
        self.rest = rest
        self.terms = {k: c for k, c in terms.items() if sign(c) != 0 and (rest is None or k > rest)}
        if len(self.terms) > MAX_TERMS:
            raise NotDecided("a limit with too many terms")

    # -- arithmetic --

    def __add__(self, other: Any) -> Germ:
        right = germ(other)
        terms = dict(self.terms)
        for k, c in right.terms.items():
            terms[k] = terms[k] + c if k in terms else c
        return self.__class__(terms, _greater(self.rest, right.rest))

    __radd__ = __add__

    def __neg__(self) -> Germ:
        return self.__class__({k: -c for k, c in self.terms.items()}, self.rest)

    def __sub__(self, other: Any) -> Germ:
        return self + -germ(other)

    def __rsub__(self, other: Any) -> Germ:
        return -self + other

    def __mul__(self, other: Any) -> Germ:
        right = germ(other)
        terms: dict[Order, Scalar] = {}
        for k, c in self.terms.items():
            for j, d in right.terms.items():
                key = _sum(k, j)
                terms[key] = terms[key] + c * d if key in terms else c * d
        rest = None
        for a, b in ((self.top, right.rest), (self.rest, right.top), (self.rest, right.rest)):
            if a is not None and b is not None:
                rest = _greater(rest, _sum(a, b))
        return self.__class__(terms, rest)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Germ:
        return self * germ(other).inverse()

    def __rtruediv__(self, other: Any) -> Germ:
        return germ(other) * self.inverse()

    def __abs__(self) -> Germ:
        return self if decided_sign(self) >= 0 else -self

    @property
    def top(self) -> Order | None:
        """The greatest order among the terms."""
        return max(self.terms, default=None)

    def lead(self) -> tuple[Order, Scalar]:
        """The leading term. Raises NotDecided where cancellation hides it."""
        if self.top is None:
            raise NotDecided("the leading term of a limit")
        decided_sign(self.terms[self.top])
        return self.top, self.terms[self.top]

    def sign(self) -> int | None:
        """The sign for all large w, or None."""
        if not self.terms:
            return 0 if self.rest is None else None
        return sign(self.terms[self.top])  # type: ignore[index]

    def scaled(self) -> tuple[Order, Scalar, Germ]:
        """The leading order and coefficient, and the vanishing d with self = c w**p exp(q w) log(w)**l (1 + d)."""
        order, c = self.lead()
        down = self.__class__({_multiple(order, fmpq(-1)): settle(arb(1) / c) if isinstance(c, arb) else 1 / c})
        tail = self.__class__({k: v for k, v in self.terms.items() if k != order}, self.rest)
        return order, c, tail * down

    # -- functions --

    def inverse(self) -> Germ:
        if not self.terms and self.rest is None:
            raise NotDefined("division by zero")
        order, c, small = self.scaled()
        one_over = settle(arb(1) / c) if isinstance(c, arb) else 1 / c
        return self.__class__({_multiple(order, fmpq(-1)): one_over}) * small.series(
            [fmpq((-1) ** k) for k in range(DEPTH)]
        )

    def series(self, coefficients: list[Scalar]) -> Germ:
        """The power series at this germ, which vanishes: a remainder of the first power left out."""
        bound = _greater(self.top, self.rest)
        if bound is None:
            return self.__class__({CONSTANT: coefficients[0]})
        if bound >= CONSTANT:
            raise NotDecided("a limit of a power series")
        result, power = self.__class__({CONSTANT: coefficients[0]}), self.__class__({CONSTANT: ONE})
        for c in coefficients[1:]:
            power = power * self
            result = result + power * c
        return result + self.__class__({}, _multiple(bound, fmpq(len(coefficients))))

    def split(self) -> tuple[Germ, Scalar, Germ]:
        """What grows, the constant, and what vanishes."""
        if self.rest is not None and self.rest >= CONSTANT:
            raise NotDecided("a limit within its remainder")
        grows = self.__class__({k: c for k, c in self.terms.items() if k > CONSTANT})
        vanishes = self.__class__({k: c for k, c in self.terms.items() if k < CONSTANT}, self.rest)
        return grows, self.terms.get(CONSTANT, ZERO), vanishes

    def exp(self) -> Germ:
        grows, constant, vanishes = self.split()
        factor = self.__class__({CONSTANT: functions.apply("exp", constant)})
        if all(k in (LINEAR, LOGARITHM) and isinstance(c, fmpq) for k, c in grows.terms.items()):
            q, p = (grows.terms.get(k, ZERO) for k in (LINEAR, LOGARITHM))
            factor = factor * self.__class__({(q, p, ZERO): ONE})
        else:
            order, c = grows.lead()
            if decided_sign(c) > 0 or order <= LOGARITHM:
                raise NotDecided("a limit that grows too fast")
            return self.__class__({}, FAST if order > LINEAR else SLOW)
        return factor * vanishes.series([fmpq(1, factorial(k)) for k in range(DEPTH)])

    def log(self) -> Germ:
        side = decided_sign(self)
        if side <= 0:
            raise NotDefined("log of a number that is not above 0")
        (q, p, twice), c, small = self.scaled()
        logarithm = functions.apply("log", c)
        taken = self.__class__({LINEAR: q, LOGARITHM: p, CONSTANT: logarithm}, TWICE if twice != 0 else None)
        return taken + small.series([ZERO, *(fmpq((-1) ** (k + 1), k) for k in range(1, DEPTH))])

    def power(self, exponent: Scalar) -> Germ:
        """The real power, for an exponent that is no integer."""
        side = decided_sign(self)
        if side < 0:
            raise NotDefined("a real power of a negative number")
        if side == 0:
            if decided_sign(exponent) < 0:
                raise NotDefined("zero to a negative power")
            return self.__class__({})
        if isinstance(exponent, Germ) or not isinstance(exponent, fmpq):
            return (self.log() * exponent).exp()
        order, c, small = self.scaled()
        coefficients = [ONE]
        for k in range(DEPTH - 1):
            coefficients.append(coefficients[-1] * (exponent - k) / (k + 1))
        return self.__class__({_multiple(order, exponent): functions.power(c, exponent)}) * small.series(coefficients)

    def function(self, name: str) -> Germ:
        """The elementary function of this germ."""
        if name in _BY_EXP:
            return _BY_EXP[name](self)
        grows, constant, vanishes = self.split()
        if grows.terms:
            order, c = grows.lead()
            if name in CIRCULAR:
                return _on_the_circle(name, self)
            if name not in _AT_INFINITY:
                raise NotDecided(f"{name} of what grows")
            end, rest = _AT_INFINITY[name]
            return self.__class__({CONSTANT: end() * decided_sign(c)}, rest(order))
        row = functions.FUNCTIONS[name]
        functions.require(name, row, constant)
        return vanishes.series(functions.taylor(row.series, arb(constant), DEPTH - 1))


# -- oscillation -------------------------------------------------------------------------------------------------------


class Oscillates(NotDecided):
    """A sine, cosine or tangent of what grows without bound: `argument` says of what."""

    def __init__(self, argument: Germ):
        super().__init__("a limit of what oscillates")
        self.argument = argument


@dataclass(frozen=True)
class Phase:
    """Those w only at which an argument that grows is, up to full turns, the angle with this cosine and sine.

    There are such w beyond every bound, since the argument is continuous.
    """

    argument: Germ
    cosine: fmpq
    sine: fmpq
    met: list[Germ] = field(default_factory=list)  # arguments so far: the first one is the argument, rational or not


CIRCULAR = frozenset({"sin", "cos", "tan"})
PHASES = tuple((fmpq(a, c), fmpq(b, c)) for a, b, c in ((1, 0, 1), (3, 4, 5), (-5, 12, 13), (0, -1, 1), (0, 1, 1)))
MAX_TURNS = 12
_phase: ContextVar[Phase | None] = ContextVar("phase", default=None)


def _on_the_circle(name: str, x: Germ) -> Germ:
    """The function of what grows, along the w of the phase. Raises Oscillates where there is none."""
    phase = _phase.get()
    if phase is None:
        raise Oscillates(x)
    times, rest = (ONE, Germ({})) if not phase.met else _turns(x, phase.argument)
    phase.met.append(x)
    grows, constant, vanishes = rest.split()
    if grows.terms:
        raise NotDecided("a limit of what oscillates in two ways")
    cosine, sine = ONE, ZERO
    turn = (phase.cosine, phase.sine if times > 0 else -phase.sine)
    for _ in range(int(abs(times).p)):
        cosine, sine = cosine * turn[0] - sine * turn[1], cosine * turn[1] + sine * turn[0]
    shift = vanishes + constant
    ahead, aside = shift.function("cos"), shift.function("sin")
    new_cosine, new_sine = ahead * cosine - aside * sine, ahead * sine + aside * cosine
    return new_cosine if name == "cos" else new_sine if name == "sin" else new_sine / new_cosine


def _turns(x: Germ, argument: Germ) -> tuple[fmpq, Germ]:
    """The whole number of times that the argument is in x, and what is left."""
    order, c = x.lead()
    first = argument.terms.get(order, ZERO)
    if not isinstance(c, fmpq) or not isinstance(first, fmpq) or first == 0:
        raise NotDecided("a limit of what oscillates in two ways")
    times = c / first
    if times.q != 1 or abs(times) > MAX_TURNS:
        raise NotDecided("a limit of what oscillates in two ways")
    return times, x - argument * times


def along(argument: Germ, number: int, find: Callable[[], Any]) -> Any:
    """What `find` comes to along those w at which the argument has the phase of this number."""
    token = _phase.set(Phase(argument, *PHASES[number]))
    try:
        return find()
    finally:
        _phase.reset(token)


class TwoSided(Germ):
    """A function of w for all w beyond some point and all -w: its expansion is the same power series on both sides."""

    __slots__ = ()

    def sign(self) -> int | None:
        if self.top is not None and (self.top[1].q != 1 or self.top[1].p % 2):
            raise NotDecided("a sign that depends on the side")
        return super().sign()

    def exp(self) -> Germ:
        self._require_bounded()
        return super().exp()

    def log(self) -> Germ:
        self._require_bounded()
        return super().log()

    def power(self, exponent: Scalar) -> Germ:
        if self.top != CONSTANT:
            raise NotDecided("a root that depends on the side")
        return super().power(exponent)

    def function(self, name: str) -> Germ:
        self._require_bounded()
        return super().function(name)

    def _require_bounded(self) -> None:
        if self.top is not None and self.top > CONSTANT:
            raise NotDecided("growth that depends on the side")


def germ(value: Any) -> Germ:
    """The scalar as a germ."""
    if isinstance(value, int):
        value = fmpq(value)
    return value if isinstance(value, Germ) else Germ({CONSTANT: value})


def _tanh(x: Germ) -> Germ:
    if x.sign() == 0:
        return x
    side = decided_sign(x)
    t = (x * fmpq(-2 * side)).exp()
    return (1 - t) / (1 + t) * fmpq(side)


def _sigmoid(x: Germ) -> Germ:
    if x.sign() == 1:
        return 1 / (1 + (-x).exp())
    t = x.exp()
    return t / (1 + t)


def _softplus(x: Germ) -> Germ:
    return x + (1 + (-x).exp()).log() if x.sign() == 1 else (1 + x.exp()).log()


_BY_EXP: dict[str, Callable[[Germ], Germ]] = {
    "exp": lambda x: x.exp(),
    "expm1": lambda x: x.exp() - ONE,
    "log": lambda x: x.log(),
    "log1p": lambda x: (x + ONE).log(),
    "sinh": lambda x: (x.exp() - (-x).exp()) * fmpq(1, 2),
    "cosh": lambda x: (x.exp() + (-x).exp()) * fmpq(1, 2),
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "softplus": _softplus,
}

# The limit at plus infinity of an odd function, and the order of what is left.
_AT_INFINITY: dict[str, tuple[Callable[[], Scalar], Callable[[Order], Order]]] = {
    "atan": (lambda: arb.pi() / 2, lambda order: _multiple(order, fmpq(-1))),
    "erf": (lambda: ONE, lambda order: SLOW),
}


def toward(point: Scalar | None, side: int) -> Germ:
    """The variable of a limit: `side` times w where there is no point, else the point from above (1) or below (-1).

    From both sides at once, as one power series, where `side` is 0.
    """
    if point is None:
        return Germ({LINEAR: fmpq(side)})
    return (Germ if side else TwoSided)({CONSTANT: point, (ZERO, fmpq(-1), ZERO): fmpq(side or 1)})


def limit(value: Any) -> Scalar:
    """The limit of the scalar or germ. Raises NotDefined where it is infinite."""
    if not isinstance(value, Germ):
        return value
    grows, constant, _ = value.split() if value.rest is None or value.rest < CONSTANT else (value, ZERO, None)
    if grows.terms:
        grows.lead()
        raise NotDefined("an infinite limit")
    if grows.rest is not None:
        raise NotDecided("a limit within its remainder")
    return constant

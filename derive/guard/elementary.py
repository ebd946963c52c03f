"""Elementary functions in extended precision, and how an error of their argument goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Wide = np.longdouble
PI = 4 * np.arctan(Wide(1))
ROUNDINGS = 4  # of u, the error that a library's exp or log may have: two units of the last place
BITS = 100

Real = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Function:
    """`bound(x, error)` is the value and how far it moves when x moves by the error, before its own rounding.

    `terms` is for functions that libraries compute as sums of terms of size 1: so many u of error where they vanish.
    """

    bound: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
    roundings: float = ROUNDINGS
    terms: float = 0


def monotone(f: Real, low: float = -np.inf, high: float = np.inf, pole: bool = False) -> Callable[..., Any]:
    """The bound of a monotone function, which is defined from `low` to `high`; at a pole nothing is promised."""

    def bound(x: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        outside = (x < low) | (x > high) | ((x == low) & pole)
        near = (x - error <= low) if pole else np.zeros(x.shape, bool)
        centre = np.where(outside, Wide(1), x)
        reach = np.where(np.isfinite(error), error, Wide(0))
        middle = f(centre)
        ends = [f(np.clip(centre + s * reach, low, high)) for s in (-1, 1)]
        moved = np.maximum(np.abs(ends[0] - middle), np.abs(ends[1] - middle))
        moved = np.where(np.isfinite(error) & ~(near & (error > 0)), moved, np.where(np.isnan(error), error, np.inf))
        moved = np.where(outside, np.where(error > 0, Wide(np.inf), Wide(np.nan)), moved)
        return middle, moved

    return bound


def _exp(x: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    value = np.exp(x)
    far = np.exp(x + np.where(error > 1, error * Wide(1.001), 0))  # value * expm1(error) is 0 * inf, far below 0
    return value, np.where(error > 1, far, value * np.expm1(np.minimum(error, 1)))


def lipschitz(f: Real, slope: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[..., Any]:
    def bound(x: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return f(x), slope(x, error) * error

    return bound


def _sign(x: np.ndarray, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.sign(x), np.where((np.abs(x) <= error) & (error > 0), Wide(np.inf), Wide(0)) + 0 * error


def _sigmoid(x: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, Wide(1), small) / (1 + small)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _by_balls(name: str) -> Real:
    """A function that NumPy does not have, entry by entry from enclosures."""

    def wide(x: Any) -> Any:
        from flint import acb, arb, ctx

        with ctx.workprec(BITS):
            top = float(x)
            at = arb(top) + arb(float(x - Wide(top)))
            ball = acb(at).polygamma(acb(1)).real if name == "trigamma" else getattr(at, name)()
            middle = ball.mid()
            first = float(middle)
            return Wide(first) + Wide(float(middle - arb(first)))

    return lambda x: np.vectorize(wide, otypes=[Wide])(x) if np.size(x) else x


def power(a: np.ndarray, da: np.ndarray, p: np.ndarray, dp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a ** p for a above 0: by its logarithm. At 0 and below nothing is promised."""
    good = a - da > 0
    base = np.where(good, a, Wide(1))
    log = np.log(base)
    log_error = np.where(good, -np.log1p(-np.where(good, da / base, 0)), Wide(np.inf))
    value = np.exp(p * log)
    unsure = np.where((p == 0) & (dp == 0), Wide(0), np.abs(p) * log_error)
    moved = np.expm1(unsure + np.where(log == 0, Wide(0), np.abs(log) * dp))
    zero = (a == 0) & (da == 0) & (p > 0)
    error = np.where((value == 0) & np.isinf(moved), Wide(np.inf), value * moved)
    return np.where(zero, Wide(0), value), np.where(zero, Wide(0), error)


FUNCTIONS: dict[str, Function] = {
    "exp": Function(_exp),
    "log": Function(monotone(np.log, 0, pole=True)),
    "log1p": Function(monotone(np.log1p, -1, pole=True)),
    "expm1": Function(monotone(np.expm1)),
    "sqrt": Function(monotone(np.sqrt, 0), 1),
    "abs": Function(lipschitz(np.abs, lambda x, e: np.ones_like(x)), 0),
    "relu": Function(lipschitz(lambda x: np.maximum(x, 0), lambda x, e: np.ones_like(x)), 0),
    "sign": Function(_sign, 0),
    "sin": Function(lipschitz(np.sin, lambda x, e: np.ones_like(x))),
    "cos": Function(lipschitz(np.cos, lambda x, e: np.ones_like(x))),
    "tan": Function(lipschitz(np.tan, lambda x, e: 1 / np.maximum(np.abs(np.cos(x)) - e, 0) ** 2)),
    "sinh": Function(monotone(np.sinh)),
    "cosh": Function(lipschitz(np.cosh, lambda x, e: np.sinh(np.abs(x) + e))),
    "tanh": Function(monotone(np.tanh)),
    "atan": Function(monotone(np.arctan)),
    "sigmoid": Function(monotone(_sigmoid), 8),
    "softplus": Function(monotone(_softplus), 8),
    "erf": Function(monotone(_by_balls("erf")), 8),
    "lgamma": Function(
        lipschitz(_by_balls("lgamma"), lambda x, e: np.abs(np.log(np.abs(x) + 1)) + 1 / np.abs(x)), 16, 4
    ),
    "digamma": Function(monotone(_by_balls("digamma"), 0, pole=True), 16, 4),
    "trigamma": Function(monotone(_by_balls("trigamma"), 0, pole=True), 16),
}

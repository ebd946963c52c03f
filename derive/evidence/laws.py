"""Laws of random entries at one point: finite ones by their atoms, normal and uniform ones by their moments."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import fmpq

from derive.evidence.functions import sqrt
from derive.evidence.numbers import ONE, ZERO, Scalar, sign

Atoms = tuple[tuple[Scalar, Scalar], ...]  # (probability, value)


@dataclass(frozen=True)
class Finite:
    """Finitely many values with their probabilities."""

    atoms: Atoms

    def moment(self, k: int) -> Scalar:
        return sum((p * v**k for p, v in self.atoms), start=ZERO)


@dataclass(frozen=True)
class Normal:
    mean: Scalar
    variance: Scalar
    atoms = None

    def moment(self, k: int) -> Scalar:
        """E(X**k) by the recursion m(k) = mean m(k-1) + (k-1) variance m(k-2)."""
        before, now = ZERO, ONE
        for j in range(1, k + 1):
            before, now = now, self.mean * now + (j - 1) * self.variance * before
        return now


@dataclass(frozen=True)
class Uniform:
    low: Scalar
    high: Scalar
    atoms = None

    def moment(self, k: int) -> Scalar:
        """The mean of x**k over the interval: the sum of low**j high**(k-j), divided by k + 1."""
        return sum((self.low**j * self.high ** (k - j) for j in range(k + 1)), start=ZERO) / (k + 1)


Law = Any  # Finite, Normal or Uniform


@dataclass(frozen=True)
class Mixture:
    """Two variants of a law mixed, the first with probability `share`: declared moments stay, others vary with it."""

    first: int
    second: int
    share: fmpq


Variant = int | Mixture

# Finite laws with two given moments: two values that are this far above the mean and as far below as that takes, in
# standard deviations; or the mean itself and two values as far away from it on both sides.
SKEWED = (fmpq(1), fmpq(2), fmpq(1, 2))
SPREAD = (2, 3)
MORE_SKEWED = tuple(fmpq(p, q) for p, q in ((3, 1), (1, 3), (5, 1), (1, 5), (20, 1), (1, 20), (10**4, 1), (1, 10**4)))
MORE_SPREAD = (10, 100)
_TWO = (*((False, a) for a in SKEWED), *((True, a) for a in SPREAD), None)
_TWO += (*((False, a) for a in MORE_SKEWED), *((True, a) for a in MORE_SPREAD))

VARIANTS = {"random": len(_TWO), "normal": 1, "bernoulli": 1, "uniform": 1, "rademacher": 1}


def admitted(family: str, parameters: list[Scalar]) -> bool | None:
    """Whether the parameters are those of a law; None where that is not decided."""
    if family == "bernoulli":
        signs = [sign(parameters[0]), sign(1 - parameters[0])]
    elif family in ("random", "normal"):
        signs = [sign(parameters[1])]
        if family == "normal" and signs == [0]:  # whether that is a normal law is a matter of taste
            return None
    elif family == "uniform":
        low, high = parameters
        signs = [-1 if sign(high - low) == 0 else sign(high - low)]
    else:
        signs = []
    return False if -1 in signs else None if None in signs else True


def realise(family: str, parameters: list[Scalar], variant: Variant = 0) -> Law | None:
    """The law with these parameters; None where the variant has none. `random` leaves a choice."""
    if isinstance(variant, Mixture):
        parts = [realise(family, parameters, v) for v in (variant.first, variant.second)]
        return _mixed(parts, (variant.share, 1 - variant.share)) if None not in parts else None
    if family == "rademacher":
        return Finite(((fmpq(1, 2), -ONE), (fmpq(1, 2), ONE)))
    if family == "bernoulli":
        (p,) = parameters
        return Finite(((1 - p, ZERO), (p, ONE)))
    if family == "normal":
        return Normal(*parameters)
    if family == "uniform":
        return Uniform(*parameters)
    return _two_moments(*parameters, variant)


def _mixed(parts: list[Law], shares: tuple[Scalar, Scalar]) -> Finite:
    weights: dict[Scalar, Scalar] = {}
    for part, share in zip(parts, shares, strict=True):
        for p, value in part.atoms:
            weights[value] = weights.get(value, ZERO) + share * p  # balls that overlap stay apart, which does no harm
    return Finite(tuple((p, value) for value, p in weights.items()))


def _two_moments(mean: Scalar, variance: Scalar, variant: int) -> Finite | None:
    """A finite law with this mean and variance: symmetric, skew, or with more points."""
    if sign(variance) == 0:
        return Finite(((ONE, mean),)) if variant == 0 else None
    root = sqrt(variance)
    unit = root if isinstance(root, fmpq) else ONE
    kind = _TWO[variant]
    if kind is not None and not kind[0]:  # mean + a and mean - b have variance a b
        a = kind[1] * unit
        b = variance / a
        return Finite(((b / (a + b), mean + a), (a / (a + b), mean - b)))
    if kind is not None:
        a = kind[1] * unit
        while sign(a * a - variance) != 1:
            a = 2 * a
        p = variance / (2 * a * a)
        return Finite(tuple(_spread(mean, {ZERO: 1 - 2 * p, a: p})))
    if not isinstance(root, fmpq):
        return None
    # The first five moments of a normal law.
    return Finite(tuple(_spread(mean, {ZERO: fmpq(1, 2), root: fmpq(1, 6), 2 * root: fmpq(1, 12)})))


def _spread(mean: Scalar, weights: dict[fmpq, Scalar]) -> Any:
    for distance, p in weights.items():
        if p != 0:
            yield from ((p, mean + d) for d in {distance, -distance})


def written(value: Scalar) -> str:
    """The number as a string: a rational exactly, a ball rounded to twenty digits."""
    return str(value) if isinstance(value, fmpq) else value.str(20, radius=False)  # type: ignore[no-any-return]


def exact(law: Law) -> bool:
    """Whether all numbers of the law are rational."""
    if isinstance(law, Finite):
        return all(isinstance(v, fmpq) for atom in law.atoms for v in atom)
    ends = (law.mean, law.variance) if isinstance(law, Normal) else (law.low, law.high)
    return all(isinstance(v, fmpq) for v in ends)


def shown(law: Law) -> Any:
    """The law as plain data: its atoms, or its family and parameters, numbers as strings."""
    if isinstance(law, Finite):
        atoms = sorted(law.atoms, key=lambda atom: atom[1])
        return [{"value": written(v), "probability": written(p)} for p, v in atoms]
    if isinstance(law, Normal):
        return {"law": "normal", "parameters": [written(law.mean), written(law.variance)]}
    return {"law": "uniform", "parameters": [written(law.low), written(law.high)]}


def read(data: Any) -> Law:
    """The law that `shown` gave, or a list of (probability, value) pairs."""
    if isinstance(data, dict):
        parameters = [_number(p) for p in data["parameters"]]
        return (Normal if data["law"] == "normal" else Uniform)(*parameters)
    pairs = [(a["probability"], a["value"]) if isinstance(a, dict) else a for a in data]
    return Finite(tuple((_number(p), _number(v)) for p, v in pairs))


def _number(value: Any) -> fmpq:
    exact = Fraction(value)
    return fmpq(exact.numerator, exact.denominator)


def is_law(data: Any) -> bool:
    """Whether the data are a law rather than an array of laws."""
    if isinstance(data, dict):
        return "law" in data
    first = data[0]
    return (isinstance(first, dict) and "value" in first) or (
        isinstance(first, tuple) and len(first) == 2 and not isinstance(first[0], (list, tuple, dict))
    )

"""Means under a normal or a uniform law: powers times exponentials, behind indicators of a half-line or an interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from typing import TYPE_CHECKING

from derive.kernel.poly import MAX_EXPONENT, UNIT, Mono, Poly, add_to, scaled
from derive.kernel.signs import NEG, POS, ZERO, sign
from derive.term import PI, Term, add, fn, num, subterms

if TYPE_CHECKING:
    from derive.kernel.normal import Normal


@dataclass(frozen=True)
class Shape:
    """z^power exp(tilt z + square z^2), behind indicators [a z + b > 0] and perhaps of a point."""

    power: int
    tilt: Poly
    square: Poly
    above: tuple[tuple[Poly, Poly], ...]
    point: bool


def shape_of(nf: Normal, group: Mono, z: Term) -> Shape | None:
    powers, above, point = 0, [], False
    exponent: dict[int, Poly] = {1: {}, 2: {}}
    for a, e in group:
        if a is z and isinstance(e, int) and 0 < e <= MAX_EXPONENT:
            powers = e
        elif a.op == "fn" and a.value == "exp":
            parts = by_degree(nf.poly(a.args[0]), z)
            if parts is None or not set(parts) <= {1, 2}:
                return None
            for degree, part in parts.items():
                add_to(exponent[degree], part, e)
        elif a.op == "where" and a.args[0].value in (">", "==") and e == 1:
            parts = by_degree(nf.poly(a.args[0].args[0]), z)
            if parts is None or not set(parts) <= {0, 1} or 1 not in parts:
                return None
            if a.args[0].value == "==":
                point = True
                if sign(nf, nf.term(parts[1])) & ZERO:
                    return None
            else:
                above.append((parts[1], parts.get(0, {})))
        else:
            return None
    return Shape(powers, exponent[1], exponent[2], tuple(above), point)


def by_degree(poly: Poly, z: Term) -> dict[int, Poly] | None:
    """The coefficients of a polynomial in z; None where it is none."""
    parts: dict[int, Poly] = {}
    for mono, c in poly.items():
        degree = dict(mono).get(z, 0)
        rest = frozenset(p for p in mono if p[0] is not z)
        if not isinstance(degree, int) or degree < 0 or any(z in subterms(a) for a, _ in rest):
            return None
        parts.setdefault(degree, {})[rest] = c
    return parts


def _ends(nf: Normal, shape: Shape, low: Term | None = None, high: Term | None = None) -> list[Term | None] | None:
    """What z must be above and below for the indicators to be 1, the second not below the first; None where that is
    not known."""
    for slope, constant in shape.above:
        signs = sign(nf, nf.term(slope))
        if signs not in (POS, NEG):
            return None
        end = nf.term(scaled(nf.mul(constant, nf.power(slope, {UNIT: -1})), -1))
        if signs == POS:
            low = end if low is None else nf.canonical(fn("max", low, end))
        else:
            high = end if high is None else nf.canonical(fn("min", high, end))
    return [low, high if low is None or high is None else nf.canonical(fn("max", low, high))]


def _between(nf: Normal, shape: Shape, ends: list[Term | None], above: Callable[[Term | None], Term]) -> Poly:
    """What lies between the ends, by what lies above each; without one, all does."""
    low, high = ends
    total = {} if shape.point else nf.poly(above(low))
    return total if high is None or shape.point else add_to(dict(total), nf.poly(above(high)), -1)


def normal(nf: Normal, shape: Shape, mean: Term, variance: Term) -> Poly | None:
    """exp(t z + s z^2) moves the mean and scales the variance; an indicator leaves a part of the moments."""
    ends = _ends(nf, shape)
    if ends is None or ((shape.above or shape.point) and sign(nf, variance) != POS):
        return None
    tilt, square = nf.term(shape.tilt), nf.term(shape.square)
    room = 1 - 2 * square * variance
    if sign(nf, room) != POS and sign(nf, nf.canonical(room)) != POS:  # else the mean is infinite
        return None
    exponent = tilt * mean + tilt**2 * variance / 2 + square * mean**2
    factor = nf.mul(nf.poly(fn("exp", exponent / room)), nf.power(nf.poly(room), {UNIT: Fraction(-1, 2)}))
    mean, variance = (mean + tilt * variance) / room, variance / room
    return nf.mul(factor, _between(nf, shape, ends, lambda end: moment(mean, variance, shape.power, end)))


def uniform(nf: Normal, shape: Shape, low: Term, high: Term) -> Poly | None:
    """The integral of a power times an exponential over a part of an interval, by its length."""
    length = nf.canonical(high - low)
    ends = _ends(nf, shape, nf.canonical(low), nf.canonical(high))
    if ends is None or shape.square or sign(nf, length) != POS or (shape.tilt and sign(nf, nf.term(shape.tilt)) & ZERO):
        return None
    return _between(nf, shape, ends, lambda end: -(_primitive(shape.power, nf.term(shape.tilt), end or high) / length))


def scaling(nf: Normal, group: Mono, z: Term, low: Term, high: Term) -> Poly | None:
    """The mean of w^e log(w)^k for a linear w that is not negative: the integral of y^k exp((e + 1) y), y = log(w)."""
    k, c, bases = 0, num(1), set()
    for a, e in group:
        logs = a.op == "fn" and a.value == "log" and e in range(1, MAX_EXPONENT)
        k, c = (k + int(e), c) if logs else (k, c + e * (a.args[1] if a.op == "pow" else num(1)))
        bases.add(a.args[0] if logs or a.op == "pow" else a)
    parts = by_degree(nf.poly(next(iter(bases))), z) if len(bases) == 1 else None
    slope, rest = (nf.term((parts or {}).get(degree, {})) for degree in (1, 0))
    c = nf.canonical(c)
    if max(parts or (0,)) > 1 or z in subterms(c) or sign(nf, slope) & ZERO or (c.op != "num" and sign(nf, c) & ZERO):
        return None
    total = num(0)
    for end, side in ((high, 1), (low, -1)):
        w = nf.canonical(slope * end + rest)
        if sign(nf, w) == POS:
            total += side * _primitive(k, c, fn("log", w))
        elif sign(nf, w) != ZERO or sign(nf, c) != POS:
            return None
    return nf.poly(total / (slope * (high - low)))


def _primitive(k: int, c: Term, z: Term) -> Term:
    """The integral of z^k exp(c z), by parts where c is not 0."""
    if c.op == "num" and c.value == 0:
        return z ** (k + 1) / (k + 1)
    terms = [(-1) ** j * perm(k, j) * z ** (k - j) * c ** (-j - 1) for j in range(k + 1)]
    return fn("exp", c * z) * add(*terms)


def moment(mean: Term, variance: Term, k: int, end: Term | None = None) -> Term:
    """E(u^k), or E(u^k [u > end]), for a normal u: I_k = mu I_(k-1) + (k - 1) v I_(k-2) + v end^(k-1) density(end)."""
    chance, edge = num(1), num(0)  # edge: the variance times the density at the end
    if end is not None:
        gap = mean - end
        chance = (1 + fn("erf", gap / fn("sqrt", 2 * variance))) / 2
        edge = fn("sqrt", variance / (2 * PI)) * fn("exp", -(gap**2 / (2 * variance)))
    rows = [num(0), chance]
    for p in range(k):
        beyond = edge * end**p if end is not None else 0
        rows.append(mean * rows[-1] + p * variance * rows[-2] + beyond)
    return rows[-1]

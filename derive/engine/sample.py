"""Numbers that say at once that a comparison is false, so that no time goes into its proof. They prove nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import product

from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.poly import UNIT
from derive.kernel.proof import Rejected
from derive.kernel.signs import NEG, POS, RELATION, ZERO, Fact
from derive.term import NONLOCAL, Term, substitute, subterms

POINTS = 14  # points that are looked for
TRIES = 120
SIZES = (2, 1, 3, 2, 3)
TIED = 4
TINY = 1e-9
FAR = {"erf": 5.0, "tanh": 15.0, "exp": 30.0}  # where what is left of 1, or adds to it, is rounded away
VALUES = (0.0, 1.0, -1.0, 0.5, 2.0, -0.5, 3.0, -2.0)
Letters = dict[Term, int]


class Unknown(Exception):
    """The value of a term is not worked out here."""


class Point:
    """Sizes of the axes and values of the variables."""

    def __init__(self, sizes: dict[str, int], values: dict[str, object]):
        self.sizes, self.values = sizes, values
        self.rounded = False  # whether a function was met so far out that a value near 0 says nothing

    def value(self, term: Term, letters: Letters) -> float:
        """The term at the point, in total semantics."""
        op, args = term.op, term.args
        if op == "num":
            return float(term.value)
        if op == "const" and term.value == "pi":
            return math.pi
        if op == "size":
            return float(self.sizes[term.value])
        if op == "index":
            return float(letters[term])
        if op == "var":
            entry = self.values[term.value]
            return entry[tuple(int(self.value(a, letters)) for a in args)] if args else entry  # type: ignore[index, return-value]
        if op == "add":
            return math.fsum(self.value(a, letters) for a in args)
        if op == "mul":
            return math.prod(self.value(a, letters) for a in args)
        if op == "neg":
            return -self.value(args[0], letters)
        if op == "div":
            bottom = self.value(args[1], letters)
            return self.value(args[0], letters) / bottom if bottom else 0.0
        if op == "pow":
            return _power(self.value(args[0], letters), self.value(args[1], letters))
        if op == "fn":
            values = [self.value(a, letters) for a in args]
            self.rounded |= abs(values[0]) > FAR.get(term.value, math.inf)
            return _function(term.value, *values)
        if op == "delta":
            return float(self.value(args[0], letters) == self.value(args[1], letters))
        if op == "where":
            return self.value(args[1] if self.holds(args[0], letters) else args[2], letters)
        if op in ("sum", "prod", "max", "min", "argmax"):
            return self._binder(term, letters)
        raise Unknown

    def _binder(self, term: Term, letters: Letters) -> float:
        found = [
            (self.value(term.args[0], here), here[term.bound[0]])
            for here in self.all(term.bound, letters)
            if self.holds(term.args[1], here)
        ]
        values = [v for v, _ in found]
        if term.op == "sum":
            return math.fsum(values)
        if term.op == "prod":
            return math.prod(values)
        if not found:
            raise Unknown
        if term.op == "argmax":
            return float(max(found, key=lambda p: (p[0], -p[1]))[1])
        return max(values) if term.op == "max" else min(values)

    def all(self, bound: tuple[Term, ...], letters: Letters) -> Iterator[Letters]:
        for choice in product(*(range(self.sizes[k.value[1]]) for k in bound)):
            yield {**letters, **dict(zip(bound, choice, strict=True))}

    def holds(self, condition: Term, letters: Letters) -> bool:
        op, args = condition.op, condition.args
        if op in ("true", "false"):
            return op == "true"
        if op in ("and", "or"):
            return (all if op == "and" else any)(self.holds(a, letters) for a in args)
        if op == "not":
            return not self.holds(args[0], letters)
        if op == "holds":
            return self.value(args[0], letters) != 0
        if op == "cmp":
            return bool(
                _signs(self.value(args[0], letters) - self.value(args[1], letters), 0) & RELATION[condition.value]
            )
        if op in ("all", "any"):
            inner = (self.holds(args[0], h) for h in self.all(condition.bound, letters) if self.holds(args[1], h))
            return (all if op == "all" else any)(inner)
        raise Unknown


def _power(base: float, exponent: float) -> float:
    if exponent == 0:
        return 1.0
    if exponent == int(exponent):
        return base ** int(exponent) if base or exponent > 0 else 0.0
    return base**exponent if base > 0 else 0.0


def _function(name: str, x: float, y: float = 0.0) -> float:
    if name == "log":
        return math.log(x) if x > 0 else 0.0
    if name == "sqrt":
        return math.sqrt(x) if x > 0 else 0.0
    if name in ("abs", "relu", "sign"):
        return {"abs": abs(x), "relu": max(x, 0.0), "sign": (x > 0) - (x < 0)}[name]
    if name in ("max", "min"):
        return max(x, y) if name == "max" else min(x, y)
    if name in ("exp", "sin", "cos", "atan", "erf", "tanh", "sinh", "cosh"):
        return float(getattr(math, name)(x))
    raise Unknown


def _signs(value: float, slack: float) -> int:
    return ZERO if abs(value) <= slack else POS if value > 0 else NEG


class Sampler:
    """Points at which everything that the claim starts from holds."""

    def __init__(self, ground: Ground):
        self.ground = ground
        self.bare = Normal(ground.context, tick=ground.tick)  # what is known must not make itself true
        self.random = random.Random(20_240)  # always the same numbers
        self.letters = sorted(ground.claim.letters | ground.context.letters, key=lambda k: str(k.value))
        self.points: list[tuple[Point, Letters]] = []
        for number in range(TRIES):
            if len(self.points) < POINTS:
                self._try(number)

    def _try(self, number: int) -> None:
        sizes = {axis: SIZES[(number + p) % len(SIZES)] for p, axis in enumerate(self.ground.context.axes)}
        values: dict[str, object] = {}
        for d in self.ground.context.declarations.values():
            if d.law is not None:  # its values matter inside a mean only, which is not worked out here
                continue
            size = sizes.get(d.over or "")
            if d.axes:
                one = self._draw(d.kind, size) if number % TIED == 0 else None  # all entries equal, now and then
                places = product(*(range(sizes[a]) for a in d.axes))
                values[d.name] = {place: self._draw(d.kind, size) if one is None else one for place in places}
            else:
                values[d.name] = self._draw(d.kind, size)
        point = Point(sizes, values)
        self._mend(point)
        letters = {k: self.random.randrange(sizes[k.value[1]]) for k in self.letters}
        try:
            known = all(point.holds(g, letters) for g in self.ground.full.guards if g.letters <= set(letters))
            if known and all(self._satisfied(point, letters, f) for f in self.ground.full.raw_facts):
                self.points.append((point, letters))
        except (Unknown, ArithmeticError, Rejected, KeyError, ValueError):
            return

    def _draw(self, kind: str, size: int | None) -> float:
        if kind == "index":
            return float(self.random.randrange(size or 1))
        if kind == "bit":
            return float(self.random.randrange(2))
        if kind == "integer":
            return float(self.random.randrange(-2, 4))
        value = self.random.choice(VALUES) if self.random.random() < 0.5 else self.random.uniform(-2.5, 2.5)
        return abs(value) + (0.25 if kind == "positive" else 0.0) if kind in ("positive", "nonnegative") else value

    def _mend(self, point: Point) -> None:
        """Scale an array whose entries are to add up to a number."""
        for fact in self.ground.full.raw_facts:
            poly = self.bare.poly(fact.term) if fact.signs == ZERO else {}
            for mono in poly if len(poly) == 2 and UNIT in poly else ():
                ((a, e),) = mono if len(mono) == 1 else ((None, 0),)
                if a is not None and a.op == "sum" and a.args[0].op == "var" and e == 1:
                    table = point.values[a.args[0].value]
                    total = sum(table.values()) if isinstance(table, dict) else 0.0
                    if total:
                        goal = -float(poly[UNIT]) / float(poly[mono])
                        point.values[a.args[0].value] = {p: v * goal / total for p, v in table.items()}  # type: ignore[attr-defined]

    def _satisfied(self, point: Point, letters: Letters, fact: Fact) -> bool:
        term = self.bare.canonical(fact.term)
        for here in point.all(tuple(sorted(fact.letters, key=lambda k: str(k.value))), letters):
            free = term.letters.union(*(g.letters for g in fact.guards)) - set(here)
            for choice in point.all(tuple(free), here):
                if all(point.holds(g, choice) for g in fact.guards):
                    value = point.value(term, choice)
                    if not _signs(value, TINY) & fact.signs:
                        return False
        return True

    def judges(self, term: Term) -> bool:
        """Whether points say anything of the term: they have no value for a mean, or for a random name."""
        parts = list(subterms(self.bare.opened(term)))
        known = all(t.value in self.points[0][0].values for t in parts if t.op == "var") if self.points else False
        return known and all(t.op not in NONLOCAL for t in parts)

    def contradicts(self, term: Term, strict: bool, letters: tuple[Term, ...], where: Term) -> bool:
        """Whether the term is plainly below 0 (or not above, where it should be) at a point."""
        for point, fixed in self.points:
            try:
                for here in point.all(letters, fixed):
                    if point.holds(where, here):
                        point.rounded = False
                        value = point.value(term, here)
                        size = _size(point, term, here)
                        if value < -TINY * size or (strict and value <= 1e-14 * size and not point.rounded):
                            return True
            except (Unknown, ArithmeticError, KeyError, ValueError):
                continue
        return False


def _size(point: Point, term: Term, letters: Letters) -> float:
    parts = term.args if term.op == "add" else (term,)
    return 1e-300 + sum(abs(point.value(a, letters)) for a in parts)


__all__ = ["Point", "Sampler", "substitute"]

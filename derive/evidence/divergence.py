"""Means that certainly do not exist: what is averaged is undefined with positive probability, or grows too fast.

One entry whose law has a density runs to a point, or to infinity; the others lie in balls of positive probability. What
is averaged is a germ then, whose leading order tells that its absolute value has no finite integral (Tonelli). Where a
denominator takes both signs on a box it vanishes somewhere in between, however the other entries lie in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from flint import arb, fmpq

from derive.evidence.germs import Germ, Order, toward
from derive.evidence.laws import Normal, Uniform
from derive.evidence.numbers import (
    ONE,
    ZERO,
    NotDecided,
    NotDefined,
    NotPolynomial,
    Number,
    Poison,
    Scalar,
    Series,
    sign,
    standard,
    written_out,
)
from derive.evidence.places import Budget, Entry, Evaluation, Exhausted, Letters, Limiting, NeedsDraw, Random
from derive.language.places import transform
from derive.term import NONLOCAL, Term, fn, substitute, subterms, var

Combine = Callable[[list[Number]], Number]
Drawn = dict[Entry, Scalar]

MAX_ENTRIES = 6
MAX_CENTRES = 10
MAX_TERMS = 12  # denominators that are followed
WORK = 20_000  # nodes visited for one mean
ATTEMPTS = 4  # at different points, before it is given up
# A part of a law in its own unit, from the mean or from the middle, and the same on the other side.
WINDOWS = tuple((fmpq(a, 8), fmpq(b, 8)) for a, b in ((1, 3), (-3, -1), (4, 7), (-7, -4), (-7, 7)))
ROOTS = (fmpq(1, 2), fmpq(1, 3), fmpq(1, 4), fmpq(1, 6))
# How far beyond a window an entry may go in search of a zero, in units of its law, on either side.
REACHES = tuple(
    (fmpq(a, 2), fmpq(b, 2)) for a, b in ((0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (4, 0), (0, 4), (2, 2), (8, 8))
)
VANISHING = "$vanishing"
UNDEFINED = (NotDecided, NotDefined, NotPolynomial, NeedsDraw, RecursionError)


class Divergent(NotDefined):
    """What is averaged has no mean, though it has a value almost everywhere."""


def require_integrable(
    here: Evaluation, bodies: tuple[Term, ...], letters: Letters, powers: tuple[int, ...], combine: Combine
) -> None:
    """Raises NotDefined where the product of the bodies' powers, which `combine` makes, certainly has no mean."""
    place: Evaluation | None = here
    while place is not None:
        if place.active or isinstance(place, Limiting | Random):
            return
        place = place.parent
    key = (bodies, powers)
    if here.scope.means.get(key, 0) >= ATTEMPTS:
        return
    trial = Trial(here, Budget(min(WORK, here.budget.left // 2)))
    found = Averaged(trial, tuple(_unfolded(here, b) for b in bodies), letters, combine)
    start = trial.budget.left
    try:
        boxes = list(found.windows())
        for box in (*boxes[:1], *boxes[1:][-1:]):
            found.look(box)
    except (Exhausted, NotDecided):
        pass
    finally:
        here.budget.left -= start - max(trial.budget.left, 0)
    here.scope.means[key] = here.scope.means.get(key, 0) + 1


class Trial(Evaluation):
    """The same point with work of its own."""

    def __init__(self, parent: Evaluation, budget: Budget):
        super().__init__(parent.scope, parent.sizes, {}, parent.laws, budget, parent)

    def entry(self, entry: Entry) -> Number:
        return self.parent.entry(entry)  # type: ignore[union-attr]


class Averaged:
    """What is averaged, as a function of the random entries."""

    def __init__(self, here: Evaluation, bodies: tuple[Term, ...], letters: Letters, combine: Combine):
        self.here, self.bodies, self.letters, self.combine = here, bodies, letters, combine

    def value(self, drawn: Drawn) -> Scalar:
        inside = Random(self.here, drawn)
        return standard(self.combine([inside.value(body, self.letters) for body in self.bodies]))

    # -- regions of positive probability --

    def windows(self) -> Iterator[dict[Entry, tuple[fmpq, fmpq]]]:
        """Boxes of positive probability, as ends for each entry that is asked for; atoms of finite laws are points."""
        for turn in range(len(WINDOWS)):
            chosen: dict[Entry, tuple[fmpq, fmpq]] = {}
            while len(chosen) <= MAX_ENTRIES:
                try:
                    self.value({entry: _ball(ends) for entry, ends in chosen.items()})
                except NeedsDraw as need:
                    chosen[need.entry] = self.part(need.entry, turn, len(chosen))
                    continue
                except NotDefined as problem:
                    raise NotDefined(f"a mean of what is undefined with positive probability: {problem}") from None
                except (NotDecided, NotPolynomial, RecursionError):
                    pass
                yield chosen
                break

    def part(self, entry: Entry, turn: int, number: int) -> tuple[fmpq, fmpq]:
        """The ends of a part of the entry's law that has positive probability, another one for each entry."""
        law = self.here.laws.get(entry)
        if law is None:
            raise NotDecided(f"no law for {entry[0]}")
        if law.atoms is not None:
            values = [value for p, value in law.atoms if sign(p) == 1]
            value = values[number % len(values)] if values else None
            if not isinstance(value, fmpq):
                raise NotDecided("an atom that is not rational")
            return value, value
        middle, unit = _unit(law)
        low, high = WINDOWS[(turn + number) % len(WINDOWS)]
        if number:
            low, high = low + fmpq(number, 64), low + fmpq(number + 1, 64)
        return middle + low * unit, middle + high * unit

    # -- growth --

    def look(self, ends: dict[Entry, tuple[fmpq, fmpq]]) -> None:
        """Raises Divergent where the mean over one entry is infinite for all others in their balls."""
        balls = {entry: _ball(e) for entry, e in ends.items()}
        for entry in ends:
            law = self.here.laws[entry]
            if law.atoms is not None:
                continue
            for centre, side in self.centres(law, entry, balls):
                self.at_a_point(balls, entry, centre, side)
            if isinstance(law, Normal):
                self.at_infinity(balls, entry, law)
            for term in self.denominators():
                self.across(term, ends, entry)

    def centres(self, law: Normal | Uniform, entry: Entry, balls: Drawn) -> Iterator[tuple[fmpq, int]]:
        """Points where a denominator or the like may vanish, with the side from which the law reaches them."""
        found = dict.fromkeys([ZERO, *self.roots(entry, balls)])
        if isinstance(law, Uniform):
            found.update(dict.fromkeys(e for e in (law.low, law.high) if isinstance(e, fmpq)))
        for centre, side in product(list(found)[:MAX_CENTRES], (1, -1)):
            if isinstance(law, Normal) or _reached(law, centre, side):
                yield centre, side

    def roots(self, entry: Entry, balls: Drawn) -> Iterator[fmpq]:
        """The zeros of denominators that are affine in the entry and rest on no other one."""
        for term in self.denominators():
            try:
                a, b, c = (Random(self.here, {**balls, entry: fmpq(k)}).value(term, self.letters) for k in range(3))
            except UNDEFINED:
                continue
            if all(isinstance(v, fmpq) for v in (a, b, c)) and c - b == b - a != 0:
                yield a / (a - b)

    def at_a_point(self, balls: Drawn, entry: Entry, centre: fmpq, side: int) -> None:
        order = self.order({**balls, entry: toward(centre, side)})
        if order is not None and (order[0] > 0 or (order[0] == 0 and _no_integral(order[1] - 2, order[2]))):
            raise Divergent("a mean that is infinite: what is averaged grows too fast near a point")

    def at_infinity(self, balls: Drawn, entry: Entry, law: Normal) -> None:
        """The entry as ±w**p or ±log w: its density falls like exp(-w**(2 p)/(2 variance)) there."""
        rate = 1 / (2 * law.variance)
        for side in (1, -1):
            order = self.order({**balls, entry: Germ({(ZERO, ROOTS[0], ZERO): fmpq(side)})})
            beyond = None if order is None else sign(order[0] - rate)
            if order is not None and beyond == 0:
                shift = sign(law.mean * side)
                beyond = 1 if shift == 1 or (shift == 0 and _no_integral(order[1] - ROOTS[0], order[2])) else 0
            slower = [Germ({(ZERO, p, ZERO): fmpq(side)}) for p in ROOTS[1:]]
            slower.append(Germ({(ZERO, ZERO, ONE): fmpq(side)}))
            grown = (self.order({**balls, entry: germ}) for germ in slower if beyond != 1)
            if beyond == 1 or any(o is not None and o[0] > 0 for o in grown):
                raise Divergent("a mean that is infinite: what is averaged grows too fast in the tail of a normal law")

    def order(self, drawn: Drawn) -> Order | None:
        """The leading order of what is averaged; None where it is not known."""
        try:
            value = self.value(drawn)
            return value.lead()[0] if isinstance(value, Germ) else None
        except UNDEFINED:
            return None

    # -- denominators that change their sign --

    def denominators(self) -> list[Term]:
        """Denominators and bases of negative powers that speak of random names, with no letter bound around them."""
        found: dict[Term, None] = {}
        bound = {k for body in self.bodies for s in subterms(body) for k in s.bound}
        for term in (s for body in self.bodies for s in subterms(body)):
            negative = term.op == "pow" and term.args[1].op in ("num", "neg") and not _counts(term.args[1])
            part = term.args[1] if term.op == "div" else term.args[0] if negative or term.op == "fn" else None
            if part is None or self.here.scope.random.isdisjoint(part.names):
                continue
            if part.letters <= set(self.letters) - bound and not any(s.op in NONLOCAL for s in subterms(part)):
                found.setdefault(part)
                found.setdefault(part.args[0] if part.op == "pow" else part)
        return list(found)[:MAX_TERMS]

    def across(self, term: Term, ends: dict[Entry, tuple[fmpq, fmpq]], entry: Entry) -> None:
        """Raises Divergent where the term vanishes as the entry crosses an interval, and takes the mean with it.

        It has opposite signs at the ends for all others in their balls, and a bounded derivative in between; the rest
        of what is averaged grows at least like its reciprocal.
        """
        _, unit = _unit(self.here.laws[entry])
        low, high = ends[entry]
        others = {e: _ball(b) for e, b in ends.items() if e != entry}
        for down, up in REACHES if isinstance(self.here.laws[entry], Normal) else REACHES[:1]:
            bounds = (low - down * unit, high + up * unit)
            try:
                sides = [sign(standard(self.inside({**others, entry: x}).value(term, self.letters))) for x in bounds]
                if sides[0] is None or sides[1] is None or sides[0] * sides[1] >= 0:
                    continue
                box = {**others, entry: _ball(bounds)}
                moved = self.inside({**box, entry: Series({(0, ()): box[entry], (1, ()): ONE})}, 1)
                if _smooth(moved.value(term, self.letters)) and self.grows(term, box):
                    raise Divergent("a mean that is infinite: a denominator changes its sign")
            except Divergent:
                raise
            except UNDEFINED:
                continue

    def inside(self, drawn: Drawn, active: int = 0) -> Random:
        found = Random(self.here, drawn)
        found.active = active
        return found

    def grows(self, term: Term, box: Drawn) -> bool:
        """Whether what is averaged grows at least like 1 over the term where that vanishes, all entries in the box."""
        target = var(VANISHING)
        place = Limiting(Random(self.here, box), (VANISHING, ()), toward(ZERO, 1))
        bodies = [transform(body, lambda t: target if t is term else None) for body in self.bodies]
        value = standard(self.combine([place.value(body, self.letters) for body in bodies]))
        if not isinstance(value, Germ):
            return False
        q, p, logs = value.lead()[0]
        return bool(q > 0 or (q == 0 and _no_integral(p - 2, logs)))


def _smooth(value: Number) -> bool:
    """Whether there is a derivative: on a box, which is then bounded."""
    return not (isinstance(value, Series) and any(isinstance(c, Poison) for c in value.terms.values()))


def _reached(law: Uniform, centre: fmpq, side: int) -> bool:
    """Whether the centre is in the support of the law, and numbers on this side of it as well."""
    inside = sign(centre - law.low) in (0, 1) and sign(law.high - centre) in (0, 1)
    return inside and sign((law.high if side == 1 else law.low) - centre) == side


def _no_integral(p: fmpq, logs: fmpq) -> bool:
    """Whether w**p log(w)**logs has no finite integral up to infinity."""
    return bool(p > -1 or (p == -1 and logs >= -1))


def _counts(exponent: Term) -> bool:
    return exponent.op == "num" and exponent.value >= 0


def _ball(ends: tuple[fmpq, fmpq]) -> Scalar:
    low, high = ends
    return low if low == high else arb((low + high) / 2, (high - low) / 2)


def _unit(law: Normal | Uniform) -> tuple[fmpq, fmpq]:
    """A rational number near the middle of the law, and half its width: the part within ±1 is in its support."""
    if isinstance(law, Normal):
        return _near(law.mean), _near(arb(law.variance).sqrt())
    middle, half = (law.low + law.high) / 2, (law.high - law.low) / 2
    if isinstance(middle, fmpq) and isinstance(half, fmpq):
        return middle, half
    return _near(middle), _near(half * fmpq(99, 100))


def _near(value: Scalar) -> fmpq:
    return value if isinstance(value, fmpq) else written_out(arb(value).mid())


def _unfolded(here: Evaluation, term: Term) -> Term:
    """The term with its definitions and tangents written out, so that all denominators can be seen."""

    def unfold(t: Term) -> Term | None:
        if t.op == "fn" and t.value == "tan":
            return fn("sin", t.args[0]) / fn("cos", t.args[0])
        if t.op != "def":
            return None
        definition = here.scope.definitions[t.value]
        return substitute(definition.body, dict(zip(definition.letters, t.args, strict=True)))

    for _ in range(MAX_TERMS):
        new = transform(term, unfold)
        if new is term:
            break
        term = new
    return term

"""Points in the making: every name filled in a style, with corners and ties, or at random."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from random import Random

from flint import fmpq

from derive.evidence.conditions import listed
from derive.evidence.hypotheses import FAILURES, Draft, Requirement, admits, holds, instances, variants
from derive.evidence.numbers import Scalar, standard
from derive.evidence.places import Budget, Entry, Evaluation, Exhausted
from derive.evidence.problem import Problem
from derive.kernel.context import Declaration


def _rationals(*pairs: tuple[int, int]) -> list[fmpq]:
    return [fmpq(p, q) for p, q in pairs]


CORNERS = _rationals((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (-2, 1), (3, 1), (-1, 2))
SIMPLE = _rationals((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (3, 1), (-2, 1), (-1, 2), (1, 3), (3, 2))
LARGER = _rationals((5, 1), (-3, 1), (1, 4), (3, 4), (2, 3), (-7, 2), (10, 1), (3, 5), (4, 5), (7, 1))
EXTREMES = _rationals((40, 1), (-40, 1), (1, 1000), (-1, 1000), (1000, 1), (-1000, 1))
EXTREMES += _rationals((10**6, 1), (-(10**6), 1), (1, 10**6), (10**12, 1), (1, 10**12), (10**50, 1), (1, 10**50))
LARGER += EXTREMES[:2]
RAMP = _rationals((1, 1), (2, 1), (-1, 1), (1, 2), (3, 1), (-2, 1), (3, 2), (1, 3), (5, 1), (-1, 2))
DISTINCT = 3  # values that patterns of arrays are made of
FEW = 3  # entries of an array that take all values of these patterns
NEAR = 2  # how far from the simplest fillings all combinations come before those that are special in one name
COMMON = (0, 1, 3)  # the fillings of the others while one name runs through all of its own
FIT_WORK = 2_000  # nodes visited to see whether one way to fill a name will do
MAX_ENTRIES = 400


@dataclass(frozen=True)
class Style:
    """How a draft is filled: all entries one value, or a list in turn, or at random, up to a scale for generic ones."""

    name: str
    values: tuple[fmpq, ...] = ()
    scale: int = 4


STYLES = (
    Style("zeros", (fmpq(0),)),
    Style("ones", (fmpq(1),)),
    Style("ramp", tuple(RAMP)),
    Style("minus", (fmpq(-1), fmpq(-2), fmpq(1, 2))),
)
RANDOM = Style("random")
GENERIC = Style("generic")  # nothing coincides by chance
SMALL = Style("generic", scale=1)


class Drafts:
    """Drafts of the points of a problem."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @cached_property
    def landmarks(self) -> list[fmpq]:
        return self.problem.landmarks()

    def places(self, declaration: Declaration, sizes: dict[str, int]) -> Iterator[tuple[int, ...]]:
        return product(*(range(sizes[axis]) for axis in declaration.axes))

    def entries(self, sizes: dict[str, int]) -> int:
        """How many entries there are to fill."""
        return sum(prod(sizes[axis] for axis in d.axes) for d in self.problem.free)

    def examples(self, sizes: dict[str, int]) -> dict[Entry, Scalar]:
        """The entries that finite examples give."""
        found: dict[Entry, Scalar] = {}
        for example in self.problem.examples:
            here = Evaluation(self.problem.scope, sizes, {}, {}, Budget(10_000))
            for place, entry in listed(example.args[1]):
                found[example.args[0].value, place] = standard(here.value(entry, {}))
        return found

    # -- in a style --

    def styled(self, sizes: dict[str, int], style: Style, number: int, rng: Random) -> Draft | None:
        """All names filled in the style; None where there is too much to fill, or no index to fix."""
        if self.entries(sizes) > MAX_ENTRIES:
            return None
        choices = self.problem.choices(sizes)
        entries: dict[Entry, Scalar] = {}
        position = 0
        for declaration in self.problem.free:
            for place in self.places(declaration, sizes):
                entries[declaration.name, place] = self.fill(declaration, sizes, style, position, rng)
                position += 1
        chosen = {d.name: (number + k) % variants(d) for k, d in enumerate(self.problem.random)}
        fixed = choices[number % len(choices)] if choices else {}
        return Draft(sizes, {**entries, **self.examples(sizes)}, chosen, fixed)

    def fill(self, declaration: Declaration, sizes: dict[str, int], style: Style, position: int, rng: Random) -> fmpq:
        if not style.values:
            exact = style.name == "random" or declaration.kind in ("integer", "bit", "index")
            return self.pick(declaration, sizes, rng) if exact else _generic(declaration, style.scale, rng)
        value = style.values[position % len(style.values)]
        if declaration.kind in ("bit", "index"):
            value = fmpq(position % 2 if style.name == "ramp" else int(abs(value) >= 1))
        for candidate in (value, abs(value), fmpq(1), fmpq(0)):
            if admits(declaration, candidate, sizes):
                return candidate
        return fmpq(0)

    def pick(self, declaration: Declaration, sizes: dict[str, int], rng: Random) -> fmpq:
        """A value at random, simple ones more often."""
        if declaration.kind == "index":
            return fmpq(rng.randrange(sizes[declaration.over or ""]))
        if declaration.kind == "bit":
            return fmpq(rng.randrange(2))
        pool = rng.choices((SIMPLE, LARGER, self.landmarks or SIMPLE), (6, 2, 2))[0]
        admitted = [v for v in pool if admits(declaration, v, sizes)]
        return rng.choice(admitted or [v for v in SIMPLE if admits(declaration, v, sizes)])

    # -- corners --

    def corners(self, sizes: dict[str, int]) -> Iterator[Draft]:
        """All names at their simplest fillings first, then ever less simple ones in all combinations."""
        if self.entries(sizes) > MAX_ENTRIES:
            return
        shown, background = set(self.problem.shown), self.background(sizes)
        free = [self.fillings(d, sizes) if d.name in shown else [background[d.name]] for d in self.problem.free]
        laws = [range(variants(d) if d.name in shown else 1) for d in self.problem.random]
        choices = self.problem.choices(sizes) or [{}]
        examples = self.examples(sizes)
        places = [[(d.name, p) for p in self.places(d, sizes)] for d in self.problem.free]
        for ranks in by_rank([*map(len, free), *map(len, laws), len(choices)]):
            entries: dict[Entry, Scalar] = {}
            for group, filling, rank in zip(places, free, ranks, strict=False):
                entries.update(zip(group, filling[rank], strict=True))
            names = (d.name for d in self.problem.random)
            chosen = dict(zip(names, ranks[len(free) : -1], strict=True))
            yield Draft(sizes, {**entries, **examples}, chosen, choices[ranks[-1]])

    def background(self, sizes: dict[str, int]) -> dict[str, tuple[Scalar, ...]]:
        """Values for the names that neither claim nor hypotheses speak of: such that the declared laws are laws."""
        names = {d.name for d in self.problem.free} - set(self.problem.shown)
        found: dict[str, tuple[Scalar, ...]] = {}
        for number, style in enumerate((*STYLES[1:], *[SMALL] * 6) if names else ()):
            draft = self.styled(sizes, style, number, Random(f"{sorted(sizes.items())}/{number}"))
            if draft is None:
                break
            found = {n: tuple(v for (name, _), v in draft.entries.items() if name == n) for n in names}
            try:
                if self.problem.needs.build(draft, Budget(10_000)) is not None:
                    break
            except Exhausted:  # laws of many entries: what was chosen stays as it is
                break
        return found

    def fillings(self, declaration: Declaration, sizes: dict[str, int]) -> list[tuple[fmpq, ...]]:
        """Ways to fill the entries of a name, simple ones first: corners, ties, one-hot and identity, ramps.

        Those that meet what the hypotheses say of this name alone, if there are any.
        """
        shape = [sizes[axis] for axis in declaration.axes]
        values = [v for v in self.values(declaration, sizes) if admits(declaration, v, sizes)]
        found: dict[tuple[fmpq, ...], None] = {}
        for filling in _patterns(values, shape, declaration.kind) if prod(shape) > 1 else ((v,) for v in values):
            if all(admits(declaration, v, sizes) for v in filling):
                found.setdefault(filling)
        alone = self.alone.get(declaration.name, ())
        fitting = [filling for filling in found if self.fits(declaration, filling, sizes, alone)] if alone else []
        return fitting or list(found)

    @cached_property
    def alone(self) -> dict[str, list[Requirement]]:
        """The requirements that speak of one name only, by the name."""
        needs, fixed = self.problem.needs, self.problem.context.letters
        found: dict[str, list[Requirement]] = {}
        for requirement in needs.required:
            terms = (requirement.condition, *requirement.filters)
            names = frozenset().union(*(needs.scope.names(t) for t in terms)) - needs.scope.definitions.keys()
            if len(names) == 1 and not any(t.letters & fixed for t in terms):
                found.setdefault(next(iter(names)), []).append(requirement)
        return found

    def fits(
        self, declaration: Declaration, filling: tuple[fmpq, ...], sizes: dict[str, int], alone: Sequence[Requirement]
    ) -> bool:
        """Whether the requirements hold with these entries."""
        entries = {(declaration.name, p): v for p, v in zip(self.places(declaration, sizes), filling, strict=True)}
        here = Evaluation(self.problem.scope, sizes, entries, {}, Budget(FIT_WORK))
        try:
            return all(holds(here, instance) for instance in instances(alone, here))
        except (*FAILURES, Exhausted):
            return False

    def values(self, declaration: Declaration, sizes: dict[str, int]) -> list[fmpq]:
        if declaration.kind == "index":
            return [fmpq(k) for k in range(sizes[declaration.over or ""])]
        if declaration.kind == "bit":
            return [fmpq(1), fmpq(0)]
        return list(dict.fromkeys([*CORNERS, *self.landmarks, *EXTREMES]))


def _patterns(values: Sequence[fmpq], shape: Sequence[int], kind: str) -> Iterator[tuple[fmpq, ...]]:
    count, last = prod(shape), shape[-1]
    zero, one = fmpq(0), fmpq(1)
    few = values[:DISTINCT]
    yield from ((v,) * count for v in few)
    yield tuple(one if k == 0 else zero for k in range(count))
    if len(shape) > 1:
        rows, columns = shape[-2], shape[-1]
        cells = [divmod(k % (rows * columns), columns) for k in range(count)]
        yield tuple(one if i == j else zero for i, j in cells)
        yield tuple(one if i + j == columns - 1 else zero for i, j in cells)
        yield tuple(one if j <= i else zero for i, j in cells)
        yield tuple(_reflection(i, j, columns) for i, j in cells)
    yield tuple(one if k == count - 1 else zero for k in range(count))
    yield tuple(fmpq(k) for k in range(count))
    yield tuple(fmpq(count - 1 - k) for k in range(count))
    if kind == "index":
        yield tuple(values[k % len(values)] for k in range(count))
        yield tuple(values[-1 - k % len(values)] for k in range(count))
        return
    yield tuple(RAMP[k % len(RAMP)] for k in range(count))
    yield tuple(abs(RAMP[k % len(RAMP)]) for k in range(count))
    yield tuple((-1) ** k * one for k in range(count))
    yield tuple(_signs(*divmod(k, last)) for k in range(count))
    yield (fmpq(1, last),) * count
    yield tuple(_reflection(0, k % last, last) for k in range(count))
    yield from (tuple(v if k == 0 else zero for k in range(count)) for v in EXTREMES[:2])
    for a, b in product(few, repeat=2):
        yield tuple(a if k == 0 else b for k in range(count))
        yield tuple(a if k % 2 else b for k in range(count))
    if count <= FEW:
        yield from product(few, repeat=count)


def _signs(i: int, j: int) -> fmpq:
    """An entry 1 or -1 of columns that are orthogonal to each other and to the ones, if there are enough rows."""
    return fmpq((-1) ** (i & (j + 1)).bit_count())


def _reflection(i: int, j: int, size: int) -> fmpq:
    """An entry of the reflection in the direction (1, 2, …): orthogonal, with no entry 0."""
    direction = [k + 1 for k in range(max(size, i + 1))]
    return fmpq(int(i == j)) - fmpq(2 * direction[i] * direction[j], sum(v * v for v in direction))


def by_rank(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of numbers below the lengths: of a small sum first, then those of one number but for one place."""
    if not all(lengths):
        return
    seen = set()
    alike = (tuple(min(k, n - 1) for n in lengths) for k in range(max(lengths, default=0)))
    for ranks in (*_sums(lengths, 0, NEAR), *alike, *(r for common in COMMON for r in _alone(lengths, common))):
        if ranks not in seen:
            seen.add(ranks)
            yield ranks
    yield from (ranks for ranks in _sums(lengths, NEAR + 1, sum(lengths)) if ranks not in seen)


def _alone(lengths: Sequence[int], common: int) -> Iterator[tuple[int, ...]]:
    """Tuples with one number for all, as far as the lengths allow, and any in one place."""
    base = tuple(min(common, n - 1) for n in lengths)
    for place, n in enumerate(lengths):
        yield from ((*base[:place], k, *base[place + 1 :]) for k in range(n))


def _sums(lengths: Sequence[int], first: int, last: int) -> Iterator[tuple[int, ...]]:
    for total in range(first, min(last, sum(lengths) - len(lengths)) + 1):
        yield from _compositions(total, tuple(lengths))


def _compositions(total: int, lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not lengths:
        if total == 0:
            yield ()
        return
    room = sum(n - 1 for n in lengths[1:])
    for first in range(max(0, total - room), min(total, lengths[0] - 1) + 1):
        for rest in _compositions(total - first, lengths[1:]):
            yield (first, *rest)


def _generic(declaration: Declaration, scale: int, rng: Random) -> fmpq:
    """A rational of at most this size that nothing else is likely to equal."""
    value = fmpq(rng.randrange(1, 100 * scale), rng.choice((97, 101, 103, 107, 109, 113)))
    return value if declaration.kind in ("positive", "nonnegative") or rng.random() < 0.5 else -value

"""What a search for points has to know of a claim: its letters, names and axes, its hypotheses by their subject."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise, product

from flint import fmpq

from derive.evidence.enclosure import again
from derive.evidence.hypotheses import FAILURES, Needs, determined, requirements
from derive.evidence.operators import scope
from derive.evidence.places import Budget, Evaluation, Exhausted, Letters, Scope
from derive.kernel.check import pure_index
from derive.kernel.context import Context, Declaration
from derive.kernel.signs import split
from derive.term import Term, subterms

MAX_ASSIGNMENTS = 60
LETTER_WORK = 100_000  # nodes visited to find the values of letters that are admitted
LANDMARKS = 6  # numbers of the claim that are tried
LANDMARK_BITS = 2_000  # of the largest of them
ENOUGH = 5  # sizes that the hypotheses admit, if there are so many
FARTHEST = {1: 130, 2: 40, 3: 20}  # by the number of axes: the largest sum of their sizes
MOST_ENTRIES = 2_000  # along one axis
LADDER = (7, 8, 10, 12, 16, 24, 50, 100)  # sizes that stand for the larger ones
MAX_WRITTEN = 40  # nodes of a number
NUMERIC = frozenset({"num", "add", "mul", "neg", "div", "pow"})


class Problem:
    """What a search needs to know of a claim: its letters, names, axes, and the hypotheses by what they speak of."""

    def __init__(self, context: Context, *conditions: Term):
        self.scope: Scope = scope(context)
        self.context = context
        declared = context.declarations
        terms = [*conditions, *context.hypotheses]
        given = [part for h in context.hypotheses for part in split(h)]
        self.about_sizes = [h for h in given if not h.names and not h.letters]
        # What the kernel takes for a restriction of the claim's own letters: all others are closed, as they are there.
        self.about_letters = [h for h in given if pure_index(h, context)]
        others = [h for h in given if h not in self.about_sizes and h not in self.about_letters]
        needed = [r for h in others for r in requirements(h, context.letters)]
        self.examples = [r.condition for r in needed if _is_example(r.condition)]
        # That a declared law is one at all is a hypothesis, so that every law counts, used or not.
        terms += [p for name in sorted(self.scope.random) for p in _parameters(declared[name])]
        limited = frozenset().union(*(self.scope.names(t) for t in terms))
        reached = frozenset().union(*(self.scope.names(t) for t in [*conditions, *context.hypotheses]))
        self.shown = tuple(sorted(n for n in reached if n in declared))
        names = tuple(sorted(n for n in limited | self.scope.random if n in declared))
        known = determined(needed, self.scope, frozenset(e.args[0].value for e in self.examples))
        required = tuple(r for r in needed if r not in known or known[r].more)
        self.needs = Needs(self.scope, names, required, tuple(known.values()))
        settled = {row.name for row in known.values()}
        self.free = tuple(declared[n] for n in names if declared[n].law is None and n not in settled)
        self.random = tuple(declared[n] for n in names if declared[n].law is not None)
        letters = frozenset().union(*(t.letters for t in [*conditions, *self.about_letters]))
        bodies = [context.definitions[n].body for n in limited if n in context.definitions]
        self.terms = (*terms, *bodies)
        used = frozenset().union(*(t.letters for t in self.terms))
        self.fixed = tuple(sorted(context.letters & used, key=lambda k: k.value))
        self.letters = tuple(sorted(letters - context.letters, key=lambda k: k.value))
        self.axes = tuple(a for a in context.axes if a in self._axes(self.shown))

    def _axes(self, names: tuple[str, ...]) -> set[str]:
        declared = self.context.declarations
        axes = {axis for n in names for axis in (*declared[n].axes, declared[n].over)}
        for term in (s for t in self.terms for s in subterms(t)):
            axes |= {k.value[1] for k in term.bound}
            axes |= {term.value[1]} if term.op == "index" else {term.value} if term.op == "size" else set()
        return {axis for axis in axes if axis is not None}

    def landmarks(self) -> list[fmpq]:
        """Numbers near which the claim may change: those it is written with, their negatives, and what lies between."""
        found = sorted({abs(v) for v in self.written()} - {fmpq(0)})[:LANDMARKS]
        corners = sorted({fmpq(0), *found, *(-v for v in found)})
        between = [(a + b) / 2 for a, b in pairwise(corners)]
        return [*found, *(-v for v in found), *between, *(c for v in found[-1:] for c in (v + 1, -v - 1))]

    def written(self) -> set[fmpq]:
        """The rational numbers that the claim and what it rests on are written with, `10**6` being one of them."""
        here = Evaluation(self.scope, {}, {}, {}, Budget(10_000))
        found: set[fmpq] = set()
        stack = list(self.terms)
        while stack:
            term = stack.pop()
            if term.names or term.size > MAX_WRITTEN or any(s.op not in NUMERIC for s in subterms(term)):
                stack += term.args
                continue
            try:
                value = here.value(term, {})
            except (*FAILURES, Exhausted):
                continue
            if isinstance(value, fmpq) and value.height_bits() <= LANDMARK_BITS:
                found.add(value)
        return found

    def sizes(self, largest: int) -> Iterator[dict[str, int]]:
        """The sizes that the hypotheses admit, smallest first; axes that do not matter have size 1.

        If few of the small ones are admitted, some of the larger ones.
        """
        count = 0
        free = self._free_axes()
        for choice in _size_choices(len(free), largest):
            found = self._admitted(free, choice)
            if found is not None:
                count += 1
                yield found
        if self.about_sizes and count < ENOUGH:
            yield from islice(self.larger_sizes(largest), ENOUGH - count)

    def larger_sizes(self, largest: int, sparse: bool = False) -> Iterator[dict[str, int]]:
        """The sizes that the hypotheses admit beyond those of `sizes`, smallest first; `sparse`: a few of them."""
        free = self._free_axes()
        small = set(_size_choices(len(free), largest))
        for choice in _few_choices(len(free)) if sparse else _far_choices(len(free), self.written()):
            found = self._admitted(free, choice) if choice not in small else None
            if found is not None:
                yield found

    def _free_axes(self) -> list[str]:
        fixed = self._fixed_sizes()
        return [a for a in self.axes if a not in fixed]

    def _admitted(self, free: list[str], choice: tuple[int, ...]) -> dict[str, int] | None:
        """The sizes, if the hypotheses about them certainly hold."""
        chosen = dict(zip(free, choice, strict=True))
        found = {**dict.fromkeys(self.context.axes, 1), **self._fixed_sizes(), **chosen}
        here = Evaluation(self.scope, found, {}, {}, Budget(10_000))
        return found if all(certainly(here, h, {}) for h in self.about_sizes) else None

    def _fixed_sizes(self) -> dict[str, int]:
        """The sizes that a finite example fixes."""
        fixed = {}
        for example in self.examples:
            rows = example.args[1]
            for axis in self.context.declarations[example.args[0].value].axes:
                if rows.op == "list":
                    fixed[axis] = len(rows.args)
                    rows = rows.args[0] if rows.args else rows
        return fixed

    def choices(self, sizes: dict[str, int]) -> list[Letters]:
        """Values of the declared indices that the hypotheses about them alone admit."""
        if not self.fixed:
            return [{}]
        here = Evaluation(self.scope, sizes, {}, {}, Budget(10_000))
        about = [h for h in self.about_letters if not h.names and h.letters <= self.context.letters]
        return [k for k in here.assignments(self.fixed, {}) if all(certainly(here, h, k) for h in about)]

    def assignments(self, here: Evaluation, limit: int = MAX_ASSIGNMENTS) -> list[Letters]:
        """Values of the claim's letters that its hypotheses admit, coinciding ones first."""
        found = list(here.assignments(self.letters, here.fixed))
        if not self.about_letters and len(found) < 2:
            return found
        here = again(here, Budget(LETTER_WORK))
        found.sort(key=lambda letters: (len(set(letters.values())), tuple(letters.values())))
        admitted = []
        for letters in found:
            if len(admitted) < limit and all(certainly(here, h, letters) for h in self.about_letters):
                admitted.append(letters)
        return admitted


def certainly(here: Evaluation, condition: Term, letters: Letters) -> bool:
    """Whether the condition certainly holds at the point."""
    try:
        return here.decide(condition, letters)
    except (*FAILURES, Exhausted):
        return False


def _parameters(declaration: Declaration) -> tuple[Term, ...]:
    return declaration.law.parameters if declaration.law is not None else ()


def _is_example(condition: Term) -> bool:
    return condition.op == "cmp" and condition.value == "==" and condition.args[1].op == "list"


def _few_choices(count: int) -> Iterator[tuple[int, ...]]:
    """Ever larger sizes for so many axes, for one axis after the other and for all."""
    for n in LADDER:
        yield (n,) * count
        for others in (1, 3) if count > 1 else ():
            yield from (tuple(n if k == place else others for k in range(count)) for place in range(count))


def _far_choices(count: int, written: set[fmpq]) -> Iterator[tuple[int, ...]]:
    """Sizes for so many axes by their sum; for a single axis also those near whole numbers that are written."""
    if count > max(FARTHEST):
        yield from _few_choices(count)
    for total in range(count, FARTHEST.get(count, 0) + 1):
        yield from _parts(total, count)
    whole = {int(v.p) for v in written if v.q == 1 and FARTHEST[1] <= v.p <= MOST_ENTRIES}
    near = {n + step for n in whole for step in (-1, 0, 1) if n + step > FARTHEST[1]}
    yield from ((n,) for n in (sorted(near) if count == 1 else ()))


def _parts(total: int, count: int) -> Iterator[tuple[int, ...]]:
    """The ways to write the number as a sum of so many positive ones."""
    if count <= 1:
        yield from ((total,),) if count else ()
        return
    for first in range(1, total - count + 2):
        yield from ((first, *rest) for rest in _parts(total - first, count - 1))


def _size_choices(count: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Sizes for so many axes: all 1, all 2, mixed ones by their sum; a few beyond the largest at the end."""
    if count == 0:
        yield ()
        return
    seen = set()
    diagonal = [(n,) * count for n in (1, 2)]
    mixed = list(product(range(1, largest + 1), repeat=count)) if count <= 6 else []
    mixed.sort(key=lambda c: (sum(c), max(c), c))
    for choice in [*diagonal, *mixed, *((n,) * count for n in range(3, 7))]:
        if choice not in seen:
            seen.add(choice)
            yield choice

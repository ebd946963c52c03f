"""Points inside the hypotheses, smallest sizes and simplest values first; the same ones for the same seed."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from operator import itemgetter
from random import Random
from typing import Any

from flint import ctx, fmpq

from derive.evidence.drafts import GENERIC, RANDOM, SMALL, STYLES, Drafts, Style
from derive.evidence.enclosure import LADDER, again, fraction
from derive.evidence.hypotheses import FAILURES, Draft, Instance, variants
from derive.evidence.laws import exact, shown, written
from derive.evidence.numbers import standard
from derive.evidence.places import Budget, Closed, Entry, Evaluation, Exhausted
from derive.evidence.problem import Problem, certainly
from derive.evidence.repair import repaired
from derive.evidence.solving import Solver
from derive.kernel.context import Declaration

ATTEMPTS = 10  # to meet the hypotheses from one draft
FEW_ENTRIES, MORE = 4, 5  # so many entries take so many times as many combinations
PATIENCE = 4  # drafts that met no hypotheses, before those of the same sizes are given up sooner
POINT_WORK = 30_000  # nodes visited for one draft
SEARCH = (*STYLES, RANDOM, RANDOM, RANDOM, GENERIC)
DRAWN = (RANDOM, SMALL, GENERIC, RANDOM, Style("generic", scale=30))


class Points:
    """A search for points inside the hypotheses, bounded by the work it may do and by the clock."""

    def __init__(self, problem: Problem, seconds: float, seed: int, work: int):
        self.problem, self.seed = problem, seed
        self.work, self.kept = work, 0  # nodes that may be visited, and those of them that are kept for later
        self.deadline = time.monotonic() + seconds
        self.drafts = Drafts(problem)
        self.seen: set[Any] = set()
        self.anchors: dict[Any, Draft] = {}
        self.failed: dict[Any, int] = {}
        self.tried: dict[Any, int] = {}
        self.sharp = 6  # points at which sides that are all but equal are told apart

    def spent(self) -> bool:
        return self.work <= self.kept or time.monotonic() > self.deadline

    def within(self, share: float, points: Iterable[Evaluation]) -> Iterator[Evaluation]:
        """The points, as long as finding and using them takes no more than this share of the work that is left."""
        before, self.kept = self.kept, self.kept + int((self.work - self.kept) * (1 - share))
        yield from points
        self.kept = before

    def at(
        self, sizes: dict[str, int], styles: tuple[Style, ...] = SEARCH, first: int = 0, attempts: int = ATTEMPTS
    ) -> Iterator[Evaluation]:
        """Points of these sizes, one for each style. The same point is given once."""
        for number, style in enumerate(styles, first):
            if self.spent():
                return
            rng = Random(f"{self.seed}/{sorted(sizes.items())}/{number}")
            draft = self.drafts.styled(sizes, style, number, rng)
            here = None if draft is None else self.point(draft, rng, attempts)
            if here is not None and self.new(here):
                yield here

    def corners(self, sizes: dict[str, int], count: int, attempts: int = 1) -> Iterator[Evaluation]:
        """Points of these sizes from the first so many combinations of corners, ties and other simple fillings.

        Without attempts, those where the hypotheses hold as they are.
        """
        rng = Random(f"{self.seed}/{sorted(sizes.items())}/corners")
        count *= MORE if self.drafts.entries(sizes) <= FEW_ENTRIES else 1
        for number, draft in enumerate(self.drafts.corners(sizes)):
            if number >= count or self.spent():
                return
            here = self.point(draft, rng, attempts)
            if here is not None and self.new(here):
                yield here

    def new(self, here: Evaluation) -> bool:
        """Whether the point has not been given before."""
        given = sorted(((e, v) for e, v in here.entries.items() if not isinstance(v, Closed)), key=itemgetter(0))
        entries = tuple((entry, v if isinstance(v, fmpq) else str(v)) for entry, v in given)
        laws = tuple(sorted(here.variants.items(), key=itemgetter(0)))
        key = (tuple(sorted(here.sizes.items())), entries, laws, tuple(here.fixed.items()))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def point(self, draft: Draft, rng: Random, attempts: int) -> Evaluation | None:
        """One point inside the hypotheses, found from the draft by solving and trying again."""
        start = max(min(POINT_WORK if attempts != 1 else POINT_WORK // 2, self.work - self.kept), 0)
        budget = Budget(start)
        try:
            with ctx.workprec(LADDER[0]):
                return self.met(draft, budget, rng, attempts)
        except (*FAILURES, Exhausted):
            return None
        finally:
            self.work -= start - max(budget.left, 0) + len(self.problem.needs.names) + 1

    def met(self, draft: Draft, budget: Budget, rng: Random, attempts: int) -> Evaluation | None:
        """The evaluation where the hypotheses hold: at the draft, or near it, or after other values were tried."""
        solver = Solver(self.problem.needs, budget, rng)
        key = (*sorted(draft.sizes.items()), *draft.fixed.items())
        if not attempts:
            here = self.problem.needs.build(draft, budget)
            return here if here is not None and self.problem.needs.met(here) else None
        here, failing = solver.point(draft)
        if here is not None and not failing:
            self.anchors.setdefault(key, draft)
            return here
        if key not in self.anchors and self.failed.get(key, 0) >= PATIENCE:
            attempts = min(attempts, 2)
        for attempt in range(attempts):
            patient = attempt == 0 and (attempts > 1 or self.tried.get(key, 0) < PATIENCE)
            near = self.near(solver, draft, here, key, patient)
            if near is not None:
                self.anchors.setdefault(key, near[0])
                return near[1]
            if attempt + 1 < attempts:
                draft = self.changed(draft, here, failing, rng)
                here, failing = solver.point(draft)
                if here is not None and not failing:
                    self.anchors.setdefault(key, draft)
                    return here
        self.failed[key] = self.failed.get(key, 0) + (attempts > 1)
        return None

    def near(
        self, solver: Solver, draft: Draft, here: Evaluation | None, key: Any, patient: bool
    ) -> tuple[Draft, Evaluation] | None:
        """A draft near the given one where the hypotheses hold, and its evaluation."""
        self.tried[key] = self.tried.get(key, 0) + patient
        for solved in solver.solutions(draft, patient):
            there, still = solver.point(solved)
            if there is not None and not still:
                return solved, there
            if patient and key in self.anchors:
                for nearer in solver.between(self.anchors[key], solved):
                    there, still = solver.point(nearer)
                    if there is not None and not still:
                        return nearer, there
            if patient and there is not None:
                found = repaired(solver, solved)
                if found is not None:
                    return found
        return repaired(solver, draft) if here is not None and patient else None

    def changed(self, draft: Draft, here: Evaluation | None, failing: list[Instance], rng: Random) -> Draft:
        """The draft with other values where a hypothesis fails; everywhere where the declarations do."""
        touched: set[Entry] = set(draft.entries)
        if here is not None and failing:
            instance = rng.choice(failing)
            fresh = again(here)
            certainly(fresh, instance.requirement.condition, instance.letters)
            touched = fresh.touched
        entries, chosen = dict(draft.entries), dict(draft.variants)
        declared = self.problem.context.declarations
        for entry in sorted(touched):
            if entry in entries:
                entries[entry] = self.drafts.pick(declared[entry[0]], draft.sizes, rng)
            elif declared[entry[0]].law is not None:
                chosen[entry[0]] = rng.randrange(variants(declared[entry[0]]))
        if not touched or here is None:
            chosen = {name: rng.randrange(variants(declared[name])) for name in chosen}
        return Draft(draft.sizes, entries, chosen, draft.fixed)


# -- points as data --------------------------------------------------------------------------------------------------


def as_data(problem: Problem, here: Evaluation) -> dict[str, Any]:
    """Sizes and values of the point, as plain data: numbers as strings, arrays as nested lists, laws by their atoms.

    `rounded` names what is determined as a number that is not rational, by a hypothesis or as the parameter of a law:
    such numbers are given to 20 digits.
    """
    sizes = {axis: here.sizes[axis] for axis in problem.axes}
    values = {n: _array(problem.context.declarations[n], here, ()) for n in problem.shown}
    inexact = {name for name, place in here.entries if not _exact(here, (name, place))}
    inexact |= {name for (name, _), law in here.laws.items() if not exact(law)}
    rounded = sorted(inexact & set(values))
    return {"sizes": sizes, "values": values, **({"rounded": rounded} if rounded else {})}


def _exact(here: Evaluation, entry: Entry) -> bool:
    return isinstance(_value(here, entry), fmpq)


def _value(here: Evaluation, entry: Entry) -> Any:
    with ctx.workprec(LADDER[0]):
        return standard(here.entry(entry))


def _array(declaration: Declaration, here: Evaluation, place: tuple[int, ...]) -> Any:
    entry = (declaration.name, place)
    if declaration.law is not None and not (declaration.letters and any(p.letters for p in declaration.law.parameters)):
        return shown(here.laws[declaration.name, (0,) * len(declaration.axes)])
    if len(place) < len(declaration.axes):
        return [_array(declaration, here, (*place, k)) for k in range(here.sizes[declaration.axes[len(place)]])]
    if declaration.law is not None:
        return shown(here.laws[entry])
    value = _value(here, entry)
    return str(fraction(value)) if isinstance(value, fmpq) else written(value)

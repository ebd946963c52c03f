"""Points inside the hypotheses, smallest sizes and simplest values first; the same ones for the same seed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

from flint import ctx, fmpq

from derive.evidence.conditions import listed
from derive.evidence.enclosure import LADDER, again, fraction
from derive.evidence.hypotheses import (
    FAILURES,
    Draft,
    Instance,
    Solver,
    admits,
    requirements,
    variants,
)
from derive.evidence.laws import shown
from derive.evidence.operators import scope
from derive.evidence.places import Budget, Entry, Evaluation, Exhausted, Letters, Scope
from derive.kernel.context import Context, Declaration
from derive.term import Term, subterms

SIMPLE = [fmpq(p, q) for p, q in ((0, 1), (1, 1), (-1, 1), (2, 1), (1, 2), (3, 1), (-2, 1), (-1, 2), (1, 3), (3, 2))]
LARGER = [fmpq(p, q) for p, q in ((5, 1), (-3, 1), (1, 4), (3, 4), (2, 3), (-7, 2), (10, 1), (3, 5), (4, 5), (7, 1))]
RAMP = [fmpq(p, q) for p, q in ((1, 1), (2, 1), (-1, 1), (1, 2), (3, 1), (-2, 1), (3, 2), (1, 3), (5, 1), (-1, 2))]
ATTEMPTS = 10  # to meet the hypotheses from one draft
POINT_WORK = 40_000  # nodes visited for one draft
MAX_ENTRIES = 400
MAX_ASSIGNMENTS = 60


@dataclass(frozen=True)
class Style:
    """How a draft is filled: all entries one value, or a list in turn, or at random."""

    name: str
    values: tuple[fmpq, ...] = ()


STYLES = (
    Style("zeros", (fmpq(0),)),
    Style("ones", (fmpq(1),)),
    Style("ramp", tuple(RAMP)),
    Style("minus", (fmpq(-1), fmpq(-2), fmpq(1, 2))),
)
RANDOM = Style("random")
GENERIC = Style("generic")  # nothing coincides by chance
SEARCH = (*STYLES, RANDOM, RANDOM, RANDOM, GENERIC)


class Problem:
    """What a search needs to know of a claim: its letters, names, axes, and the hypotheses by what they speak of."""

    def __init__(self, context: Context, *conditions: Term):
        self.scope: Scope = scope(context)
        self.context = context
        terms = [*conditions, *context.hypotheses]
        self.about_sizes = [h for h in context.hypotheses if not h.names and not h.letters]
        self.about_letters = [h for h in context.hypotheses if h.letters and _about_indices(h, context)]
        others = [h for h in context.hypotheses if h not in self.about_sizes and h not in self.about_letters]
        self.needed = [r for h in others for r in requirements(h, context.letters)]
        self.examples = [r.condition for r in self.needed if _is_example(r.condition)]
        # That a declared law is one at all is a hypothesis, so that every law counts, used or not.
        terms += [p for name in sorted(self.scope.random) for p in _parameters(context.declarations[name])]
        limited = frozenset().union(*(self.scope.names(t) for t in terms))
        reached = frozenset().union(*(self.scope.names(t) for t in [*conditions, *context.hypotheses]))
        self.shown = tuple(sorted(n for n in reached if n in context.declarations))
        self.names = tuple(sorted(n for n in limited | self.scope.random if n in context.declarations))
        letters = frozenset().union(*(t.letters for t in [*conditions, *self.about_letters]))
        bodies = [context.definitions[n].body for n in limited if n in context.definitions]
        used = frozenset().union(*(t.letters for t in [*terms, *bodies]))
        self.fixed = tuple(sorted(context.letters & used, key=lambda k: k.value))
        self.letters = tuple(sorted(letters - context.letters, key=lambda k: k.value))
        self.axes = tuple(a for a in context.axes if a in self._axes([*terms, *bodies]))

    def _axes(self, terms: list[Term]) -> set[str]:
        declared = self.context.declarations
        axes = {axis for n in self.names for axis in (*declared[n].axes, declared[n].over)}
        for term in (s for t in terms for s in subterms(t)):
            axes |= {k.value[1] for k in term.bound}
            axes |= {term.value[1]} if term.op == "index" else {term.value} if term.op == "size" else set()
        return {axis for axis in axes if axis is not None}

    def sizes(self, largest: int) -> Iterator[dict[str, int]]:
        """The sizes that the hypotheses admit, smallest first; axes that do not matter have size 1."""
        fixed = self._fixed_sizes()
        free = [a for a in self.axes if a not in fixed]
        for choice in _size_choices(len(free), largest):
            found = {**dict.fromkeys(self.context.axes, 1), **fixed, **dict(zip(free, choice, strict=True))}
            here = Evaluation(self.scope, found, {}, {}, Budget(10_000))
            try:
                if all(here.decide(h, {}) for h in self.about_sizes):
                    yield found
            except (*FAILURES, Exhausted):
                continue

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

    def assignments(self, here: Evaluation, limit: int = MAX_ASSIGNMENTS) -> list[Letters]:
        """Values of the claim's letters that its hypotheses admit, coinciding ones first."""
        found = list(here.assignments(self.letters, here.fixed))
        found.sort(key=lambda letters: (len(set(letters.values())), tuple(letters.values())))
        admitted = []
        for letters in found:
            if len(admitted) < limit and all(_certainly(here, h, letters) for h in self.about_letters):
                admitted.append(letters)
        return admitted


def _about_indices(condition: Term, context: Context) -> bool:
    """Whether the condition speaks of indices and sizes alone."""
    return all(n in context.declarations and context.declarations[n].kind == "index" for n in condition.names)


def _parameters(declaration: Declaration) -> tuple[Term, ...]:
    return declaration.law.parameters if declaration.law is not None else ()


def _certainly(here: Evaluation, condition: Term, letters: Letters) -> bool:
    try:
        return here.decide(condition, letters)
    except FAILURES:
        return False


def _is_example(condition: Term) -> bool:
    return condition.op == "cmp" and condition.value == "==" and condition.args[1].op == "list"


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


# -- drafts ----------------------------------------------------------------------------------------------------------


class Points:
    """A search for points inside the hypotheses, bounded by the work it may do and by the clock."""

    def __init__(self, problem: Problem, seconds: float, seed: int, work: int):
        self.problem, self.seed = problem, seed
        self.work = work
        self.deadline = time.monotonic() + seconds

    def spent(self) -> bool:
        return self.work <= 0 or time.monotonic() > self.deadline

    def at(self, sizes: dict[str, int], styles: tuple[Style, ...] = SEARCH) -> Iterator[Evaluation]:
        """Points of these sizes, one for each style. Same points are given once."""
        seen = set()
        for number, style in enumerate(styles):
            if self.spent():
                return
            rng = Random(f"{self.seed}/{sorted(sizes.items())}/{number}")
            here = self.point(sizes, style, number, rng)
            if here is None:
                continue
            key = (tuple(sorted(here.entries.items())), tuple((entry, here.laws[entry]) for entry in sorted(here.laws)))
            if key not in seen:
                seen.add(key)
                yield here

    def point(self, sizes: dict[str, int], style: Style, number: int, rng: Random) -> Evaluation | None:
        """One point inside the hypotheses, found from a draft in this style by solving and trying again."""
        problem, budget = self.problem, Budget(min(POINT_WORK, self.work))
        try:
            with ctx.workprec(LADDER[0]):
                draft = self.draft(sizes, style, number, rng)
                return None if draft is None else self.met(draft, budget, rng)
        except (*FAILURES, Exhausted):
            return None
        finally:
            self.work -= min(POINT_WORK, self.work) - max(budget.left, 0) + len(problem.names) + 1

    def met(self, draft: Draft, budget: Budget, rng: Random) -> Evaluation | None:
        problem = self.problem
        solver = Solver(problem.scope, problem.needed, problem.names, budget, rng)
        for _ in range(ATTEMPTS):
            here, failing = solver.point(draft)
            if here is not None and not failing:
                return here
            for solved in solver.solutions(draft):
                there, still = solver.point(solved)
                if there is not None and not still:
                    return there
            draft = self.changed(draft, here, failing, rng)
        return None

    def changed(self, draft: Draft, here: Evaluation | None, failing: list[Instance], rng: Random) -> Draft:
        """The draft with other values where a hypothesis fails; everywhere where the declarations do."""
        touched: set[Entry] = set(draft.entries)
        if here is not None and failing:
            instance = rng.choice(failing)
            fresh = again(here)
            _certainly(fresh, instance.requirement.condition, instance.letters)
            touched = fresh.touched
        entries, chosen = dict(draft.entries), dict(draft.variants)
        declared = self.problem.context.declarations
        for entry in sorted(touched):
            if entry in entries:
                entries[entry] = self.pick(declared[entry[0]], draft.sizes, rng)
            elif entry[0] in declared:
                chosen[entry[0]] = rng.randrange(variants(declared[entry[0]]))
        if not touched or here is None:
            chosen = {name: rng.randrange(variants(declared[name])) for name in chosen}
        return Draft(draft.sizes, entries, chosen, draft.fixed)

    def pick(self, declaration: Declaration, sizes: dict[str, int], rng: Random, generic: bool = False) -> fmpq:
        if declaration.kind == "index":
            return fmpq(rng.randrange(sizes[declaration.over or ""]))
        if declaration.kind == "bit":
            return fmpq(rng.randrange(2))
        if generic:
            return abs(_generic(rng)) if declaration.kind in ("positive", "nonnegative") else _generic(rng)
        pool = SIMPLE if rng.random() < 0.7 else LARGER
        return rng.choice([v for v in pool if admits(declaration, v, sizes)])

    def draft(self, sizes: dict[str, int], style: Style, number: int, rng: Random) -> Draft | None:
        """The entries of all names filled in this style; None where there are too many."""
        entries: dict[Entry, Any] = {}
        chosen: dict[str, int] = {}
        position = 0
        for name in self.problem.names:
            declaration = self.problem.context.declarations[name]
            if declaration.kind == "random":
                chosen[name] = (number + len(chosen)) % variants(declaration)
                continue
            for place in product(*(range(sizes[axis]) for axis in declaration.axes)):
                if len(entries) >= MAX_ENTRIES:
                    return None
                entries[name, place] = self.fill(declaration, sizes, style, position, rng)
                position += 1
        for example in self.problem.examples:
            here = Evaluation(self.problem.scope, sizes, {}, {}, Budget(10_000))
            for place, entry in listed(example.args[1]):
                entries[example.args[0].value, place] = here.value(entry, {})
        return Draft(sizes, entries, chosen, self.fixed(sizes, number))

    def fixed(self, sizes: dict[str, int], number: int) -> Letters:
        """Values of the declared indices that the hypotheses about them alone admit."""
        problem = self.problem
        here = Evaluation(problem.scope, sizes, {}, {}, Budget(10_000))
        about = [h for h in problem.about_letters if not h.names and h.letters <= problem.context.letters]
        choices = [k for k in here.assignments(problem.fixed, {}) if all(_certainly(here, h, k) for h in about)]
        return choices[number % len(choices)] if choices else {}

    def fill(self, declaration: Declaration, sizes: dict[str, int], style: Style, position: int, rng: Random) -> fmpq:
        if not style.values:
            return self.pick(declaration, sizes, rng, style is GENERIC and declaration.kind != "integer")
        value = style.values[position % len(style.values)]
        if declaration.kind in ("bit", "index"):
            value = fmpq(position % 2 if style.name == "ramp" else int(abs(value) >= 1))
        for candidate in (value, abs(value), fmpq(1), fmpq(0)):
            if admits(declaration, candidate, sizes):
                return candidate
        return fmpq(0)


def _generic(rng: Random) -> fmpq:
    """A rational of moderate size that nothing else is likely to equal."""
    return fmpq(rng.choice((-1, 1)) * rng.randrange(1, 400), rng.choice((97, 101, 103, 107, 109, 113)))


# -- points as data --------------------------------------------------------------------------------------------------


def as_data(problem: Problem, here: Evaluation) -> dict[str, Any]:
    """Sizes and values of the point, as plain data: numbers as strings, arrays as nested lists, laws by their atoms."""
    sizes = {axis: here.sizes[axis] for axis in problem.axes}
    return {"sizes": sizes, "values": {n: _array(problem.context.declarations[n], here, ()) for n in problem.shown}}


def _array(declaration: Declaration, here: Evaluation, place: tuple[int, ...]) -> Any:
    entry = (declaration.name, place)
    if declaration.law is not None and not (declaration.letters and any(p.letters for p in declaration.law.parameters)):
        return shown(here.laws[declaration.name, (0,) * len(declaration.axes)])
    if len(place) < len(declaration.axes):
        return [_array(declaration, here, (*place, k)) for k in range(here.sizes[declaration.axes[len(place)]])]
    return shown(here.laws[entry]) if declaration.law is not None else str(fraction(here.entries[entry]))


"""Hypotheses as they are met: split into single conditions over their letters, held at a point, solved for entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import isqrt
from random import Random

from flint import fmpq

from derive.evidence.laws import VARIANTS, Mixture, Variant, admitted, realise
from derive.evidence.numbers import NotDecided, NotDefined, NotPolynomial, Scalar, standard
from derive.evidence.places import Budget, Entry, Evaluation, Letters, Scope
from derive.kernel.context import Declaration
from derive.term import Term

FAILURES = (NotDefined, NotDecided, NotPolynomial, RecursionError)
MAX_UNKNOWNS = 24


@dataclass(frozen=True)
class Requirement:
    """A condition that has to hold for all values of its letters that pass the filters."""

    condition: Term
    letters: tuple[Term, ...] = ()
    filters: tuple[Term, ...] = ()

    @property
    def equation(self) -> bool:
        return self.condition.op == "cmp" and self.condition.value == "==" and self.condition.args[1].op != "list"


def requirements(hypothesis: Term, fixed: frozenset[Term] = frozenset()) -> Iterator[Requirement]:
    """The hypothesis closed over its free letters but the fixed ones, conjunctions and `all` taken apart."""
    yield from _split(hypothesis, tuple(sorted(hypothesis.letters - fixed, key=lambda k: k.value)), ())


def _split(condition: Term, letters: tuple[Term, ...], filters: tuple[Term, ...]) -> Iterator[Requirement]:
    if condition.op == "and":
        for part in condition.args:
            yield from _split(part, letters, filters)
    elif condition.op == "all":
        yield from _split(condition.args[0], letters + condition.bound, (*filters, condition.args[1]))
    else:
        yield Requirement(condition, letters, filters)


@dataclass(frozen=True)
class Instance:
    """A requirement with values for its letters."""

    requirement: Requirement
    letters: Letters = field(hash=False)


def instances(needed: Iterable[Requirement], here: Evaluation) -> Iterator[Instance]:
    """All instances of the requirements at the point's sizes."""
    for requirement in needed:
        for letters in here.assignments(requirement.letters, here.fixed):
            if all(here.decide(f, letters) for f in requirement.filters):
                yield Instance(requirement, letters)


@dataclass(frozen=True)
class Draft:
    """A point in the making: sizes, entries, declared indices, and which of its laws each random name takes."""

    sizes: dict[str, int]
    entries: dict[Entry, Scalar]
    variants: dict[str, Variant] = field(default_factory=dict)
    fixed: Letters = field(default_factory=dict)

    def changed(self, new: dict[Entry, Scalar]) -> Draft:
        return replace(self, entries={**self.entries, **new})

    def with_variant(self, name: str, variant: Variant) -> Draft:
        return replace(self, variants={**self.variants, name: variant})


KINDS = {
    "real": lambda v, n: True,
    "positive": lambda v, n: v > 0,
    "nonnegative": lambda v, n: v >= 0,
    "integer": lambda v, n: v.q == 1,
    "bit": lambda v, n: v in (0, 1),
    "index": lambda v, n: v.q == 1 and 0 <= v < n,
}


def admits(declaration: Declaration, value: fmpq, sizes: dict[str, int]) -> bool:
    """Whether the declared kind admits the value."""
    return KINDS[declaration.kind](value, sizes.get(declaration.over or "", 0))


def build(scope: Scope, draft: Draft, names: Iterable[str], budget: Budget) -> Evaluation | None:
    """The evaluation at the draft's point; None where the declarations do not admit it."""
    declared = scope.context.declarations
    if not all(admits(declared[name], value, draft.sizes) for (name, _), value in draft.entries.items()):
        return None
    here = Evaluation(scope, draft.sizes, draft.entries, {}, budget, fixed=draft.fixed)
    for name in names:
        declaration = declared[name]
        if declaration.law is None:
            continue
        for place in product(*(range(draft.sizes[axis]) for axis in declaration.axes)):
            letters = {**draft.fixed, **dict(zip(declaration.letters, place, strict=False))}
            try:
                parameters = [standard(here.value(p, letters)) for p in declaration.law.parameters]
            except FAILURES:
                return None
            family = declaration.law.family
            law = realise(family, parameters, draft.variants.get(name, 0)) if admitted(family, parameters) else None
            if law is None:
                return None
            here.laws[name, place] = law
    return here


def broken(here: Evaluation, needed: Iterable[Requirement]) -> list[Instance]:
    """The instances that do not certainly hold at the point."""
    return [i for i in instances(needed, here) if not _holds(here, i)]


def _holds(here: Evaluation, instance: Instance) -> bool:
    try:
        return here.decide(instance.requirement.condition, instance.letters)
    except FAILURES:
        return False


# -- solving ---------------------------------------------------------------------------------------------------------


class Solver:
    """Solves the equations among the requirements for entries of a draft, by exact arithmetic."""

    def __init__(
        self, scope: Scope, needed: Iterable[Requirement], names: tuple[str, ...], budget: Budget, rng: Random
    ):
        self.scope, self.needed, self.names = scope, tuple(needed), names
        self.equations = tuple(r for r in self.needed if r.equation)
        self.budget, self.rng = budget, rng

    def point(self, draft: Draft) -> tuple[Evaluation | None, list[Instance]]:
        """The evaluation and what fails there; no evaluation where the declarations fail."""
        here = build(self.scope, draft, self.names, self.budget)
        return here, [] if here is None else broken(here, self.needed)

    def solutions(self, draft: Draft) -> Iterator[Draft]:
        """Drafts near the given one in which the equations may hold."""
        if not self.equations:
            return
        for method in (self.jointly, self.scaled, self.one_by_one, self.mixed):
            found = method(draft)
            if found is not None:
                yield found

    def residual(self, draft: Draft, instance: Instance) -> tuple[fmpq, set[Entry]]:
        """Left minus right, and the entries it depends on. Raises one of FAILURES where it is not an exact number."""
        here = build(self.scope, draft, self.names, self.budget)
        if here is None:
            raise NotDecided("the declarations")
        here.touched.clear()
        left, right = instance.requirement.condition.args
        value = standard(here.value(left, instance.letters)) - standard(here.value(right, instance.letters))
        if not isinstance(value, fmpq):
            raise NotDecided("not a rational number")
        return value, {entry for entry in here.touched if entry in draft.entries}

    def all_instances(self, draft: Draft) -> list[Instance]:
        here = build(self.scope, draft, self.names, self.budget)
        return [] if here is None else list(instances(self.equations, here))

    def jointly(self, draft: Draft) -> Draft | None:
        """All equations solved at once as if they were affine."""
        equations = self.all_instances(draft)
        try:
            found = [self.residual(draft, e) for e in equations]
            unknowns = sorted(set().union(*(touched for _, touched in found)))
            if not unknowns or len(unknowns) > MAX_UNKNOWNS:
                return None
            self.rng.shuffle(unknowns)
            rows = []
            for equation, (value, touched) in zip(equations, found, strict=True):
                slopes = [
                    self.residual(self.moved(draft, u, 1), equation)[0] - value if u in touched else fmpq(0)
                    for u in unknowns
                ]
                rows.append([*slopes, -value])
        except FAILURES:
            return None
        steps = _eliminated(rows, len(unknowns))
        if steps is None:
            return None
        return draft.changed({u: draft.entries[u] + s for u, s in zip(unknowns, steps, strict=True)})

    def moved(self, draft: Draft, entry: Entry, step: int) -> Draft:
        return draft.changed({entry: draft.entries[entry] + step})

    def scaled(self, draft: Draft) -> Draft | None:
        """Each equation met by scaling the entries of one name in it."""
        for equation in self.all_instances(draft):
            try:
                one, touched = self.residual(draft, equation)
                if one == 0:
                    continue
                name = max(n for n, _ in touched)
                group = {e: draft.entries[e] for e in touched if e[0] == name}
                twice = self.residual(draft.changed({e: 2 * v for e, v in group.items()}), equation)[0]
            except (*FAILURES, ValueError):
                return None
            if twice == one:
                return None
            factor = 1 - one / (twice - one)
            draft = draft.changed({e: factor * v for e, v in group.items()})
        return draft

    def one_by_one(self, draft: Draft) -> Draft | None:
        """Each equation solved for one entry, which later equations leave alone."""
        locked: set[Entry] = set()
        for equation in self.all_instances(draft):
            try:
                value, touched = self.residual(draft, equation)
            except FAILURES:
                return None
            if value == 0:
                continue
            choices = sorted(touched - locked)
            self.rng.shuffle(choices)
            for entry in choices:
                root = self.root(draft, equation, entry)
                if root is not None:
                    draft = draft.changed({entry: root})
                    locked.add(entry)
                    break
            else:
                return None
        return draft

    def mixed(self, draft: Draft) -> Draft | None:
        """The first equation that fails met by mixing two laws of a random name: means are linear in the share."""
        for equation in self.all_instances(draft):
            try:
                if self.residual(draft, equation)[0] == 0:
                    continue
            except FAILURES:
                return None
            for name in draft.variants:
                sides = []
                for variant in range(variants(self.scope.context.declarations[name])):
                    try:
                        sides.append((variant, self.residual(draft.with_variant(name, variant), equation)[0]))
                    except FAILURES:
                        continue
                self.rng.shuffle(sides)
                for (a, low), (b, high) in product(sides, repeat=2):
                    if low < 0 < high:
                        return draft.with_variant(name, Mixture(a, b, high / (high - low)))
            return None
        return None

    def root(self, draft: Draft, equation: Instance, entry: Entry) -> fmpq | None:
        """An admitted value of the entry at which the equation holds, if it is affine or quadratic in the entry."""
        here = draft.entries[entry]
        try:
            low, mid, high = (self.residual(draft.changed({entry: here + s}), equation)[0] for s in (-1, 0, 1))
        except FAILURES:
            return None
        a, b, c = (high + low) / 2 - mid, (high - low) / 2, mid
        declaration = self.scope.context.declarations[entry[0]]
        for step in _roots(a, b, c):
            value = here + step
            if not admits(declaration, value, draft.sizes):
                continue
            try:
                if self.residual(draft.changed({entry: value}), equation)[0] == 0:
                    return value
            except FAILURES:
                continue
        return None


def _roots(a: fmpq, b: fmpq, c: fmpq) -> list[fmpq]:
    """The rational roots of a x**2 + b x + c."""
    if a == 0:
        return [-c / b] if b != 0 else []
    square = b * b - 4 * a * c
    if square < 0:
        return []
    root = fmpq(isqrt(int(square.p)), isqrt(int(square.q)))
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)] if root * root == square else []


def _eliminated(rows: list[list[fmpq]], count: int) -> list[fmpq] | None:
    """A solution of the linear equations (coefficients, right side), free unknowns 0; None where there is none."""
    pivots: list[int] = []
    done = 0
    for column in range(count):
        row = next((r for r in range(done, len(rows)) if rows[r][column] != 0), None)
        if row is None:
            continue
        rows[done], rows[row] = rows[row], rows[done]
        head = rows[done][column]
        rows[done] = [v / head for v in rows[done]]
        for r in range(len(rows)):
            if r != done and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [v - factor * w for v, w in zip(rows[r], rows[done], strict=True)]
        pivots.append(column)
        done += 1
    if any(row[-1] != 0 for row in rows[done:]):
        return None
    solution = [fmpq(0)] * count
    for row, column in enumerate(pivots):
        solution[column] = rows[row][-1]
    return solution


def variants(declaration: Declaration) -> int:
    """How many laws there are to choose from for a random name."""
    return VARIANTS[declaration.law.family] if declaration.law else 1

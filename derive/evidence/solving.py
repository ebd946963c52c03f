"""Equations among the hypotheses solved for the entries of a point, by exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from math import isqrt
from random import Random

from flint import arb, fmpq

from derive.evidence.hypotheses import FAILURES, Draft, Instance, Needs, admits, instances, variants
from derive.evidence.laws import Mixture
from derive.evidence.newton import common_root
from derive.evidence.numbers import NotDecided, Scalar, sign, standard
from derive.evidence.places import Budget, Entry, Evaluation

MAX_UNKNOWNS = 40
RIGID = ("integer", "bit", "index")  # kinds whose values cannot be moved a little

BISECTIONS = 220
EARLY = 0.4  # how often several equations are solved at once before they are solved one by one
GRID = [fmpq(p, q) for p, q in ((-20, 1), (-5, 1), (-2, 1), (-1, 1), (-1, 3), (-1, 50))]
GRID += [-v for v in reversed(GRID)]
Solve = Callable[[Draft, Instance, Entry], Draft | None]
Row = list[fmpq]  # coefficients of the unknowns, and the right side


class Solver:
    """Finds drafts near a given one in which the equations among the requirements may hold."""

    def __init__(self, needs: Needs, budget: Budget, rng: Random):
        self.needs = needs
        self.equations = tuple(r for r in needs.required if r.equation)
        self.budget, self.rng = budget, rng

    def point(self, draft: Draft) -> tuple[Evaluation | None, list[Instance]]:
        """The evaluation and what fails there; no evaluation where the declarations fail."""
        here = self.needs.build(draft, self.budget)
        return here, [] if here is None else list(self.needs.broken(here))

    def solutions(self, draft: Draft, patient: bool = True) -> Iterator[Draft]:
        """Drafts near the given one in which the equations may hold; with patience, at roots that are not rational."""
        if not self.equations:
            return
        rows = self.affine(draft)
        methods: list[Callable[[], Draft | None]] = []
        if rows is not None:
            methods += [lambda: self.solved(draft, *rows, sparse), lambda: self.solved(draft, *rows, least)]
        methods += [lambda name=name: self.by_name(draft, name) for name in self.several(draft)]
        methods += [lambda: self.scaled(draft), lambda: self.one_by_one(draft, self.root)]
        methods += [lambda: self.mixed(draft)]
        if patient:  # at a root in general position first, now and then: others may be too special to show anything
            early = len(self.equations) > 1 and self.rng.random() < EARLY
            methods.insert(0 if early else len(methods), lambda: common_root(self, draft))
            methods.append(lambda: self.one_by_one(draft, self.bracketed))
        for method in methods:
            found = method()
            if found is not None:
                yield found

    def between(self, anchor: Draft, draft: Draft) -> Iterator[Draft]:
        """Drafts on the way from a point inside the hypotheses to the draft: affine equations hold all along."""
        if anchor.roots or draft.roots:
            return
        declared = self.needs.scope.context.declarations
        for share in (fmpq(1, 2), fmpq(1, 4), fmpq(1, 16)):
            moved = {
                entry: value if declared[entry[0]].kind in RIGID else value + share * (draft.entries[entry] - value)
                for entry, value in anchor.entries.items()
            }
            yield anchor.changed(moved)

    def gap(self, draft: Draft, instance: Instance) -> tuple[Scalar, set[Entry]]:
        """Left minus right of a comparison, and the entries it depends on. Raises one of FAILURES if there is none."""
        scope, condition = self.needs.scope, instance.requirement.condition
        here = self.needs.build(draft, self.budget, strict=False, laws=scope.names(condition) & scope.random)
        if here is None:
            raise NotDecided("the declarations")
        left, right = condition.args
        value = standard(here.value(left, instance.letters)) - standard(here.value(right, instance.letters))
        return value, {entry for entry in here.touched if entry in draft.entries}

    def residual(self, draft: Draft, instance: Instance) -> tuple[fmpq, set[Entry]]:
        """The gap where it is an exact number. Raises one of FAILURES where it is not."""
        value, touched = self.gap(draft, instance)
        if not isinstance(value, fmpq):
            raise NotDecided("not a rational number")
        return value, touched

    def all_instances(self, draft: Draft) -> list[Instance]:
        here = self.needs.build(draft, self.budget, strict=False, laws=frozenset())
        return [] if here is None else list(instances(self.equations, here))

    def movable(self, entry: Entry) -> bool:
        return self.needs.scope.context.declarations[entry[0]].kind not in ("bit", "index")

    # -- all equations at once --

    def several(self, draft: Draft) -> list[str]:
        """The names of arrays among those that are filled, if there are several: equations may be affine in each."""
        names = {name for name, place in draft.entries if place and self.movable((name, place))}
        equations = frozenset().union(*(self.needs.scope.names(r.condition) for r in self.equations))
        return sorted(names & equations) if len(equations) > 1 else []

    def by_name(self, draft: Draft, name: str) -> Draft | None:
        """The draft with the equations solved, as if they were affine, for the entries of one name."""
        rows = self.affine(draft, name)
        return self.solved(draft, *rows, least) if rows is not None else None

    def affine(self, draft: Draft, name: str | None = None) -> tuple[list[Entry], list[Row]] | None:
        """The unknowns in some order, those of the name if one is given; the equations as if affine in them."""
        try:
            equations = self.all_instances(draft)
            found = [self.residual(draft, e) for e in equations]
        except FAILURES:
            return None
        unknowns = sorted({entry for _, touched in found for entry in touched if self.movable(entry)})
        unknowns = [u for u in unknowns if name in (None, u[0])]
        if not unknowns or len(unknowns) > MAX_UNKNOWNS:
            return None
        self.rng.shuffle(unknowns)
        rows = [[*[fmpq(0)] * len(unknowns), -value] for value, _ in found]
        for column, unknown in enumerate(unknowns):
            moved = draft.changed({unknown: draft.entries[unknown] + 1})
            for row, equation, (value, touched) in zip(rows, equations, found, strict=True):
                if unknown in touched:
                    try:
                        row[column] = self.residual(moved, equation)[0] - value
                    except FAILURES:
                        row[column] = fmpq(0)  # it cannot be solved for this unknown
        return unknowns, rows

    def solved(
        self, draft: Draft, unknowns: list[Entry], rows: list[Row], method: Callable[[list[Row], int], Row | None]
    ) -> Draft | None:
        steps = method(rows, len(unknowns))
        if steps is None:
            return None
        return draft.changed({u: draft.entries[u] + s for u, s in zip(unknowns, steps, strict=True)})

    # -- one equation after the other --

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
            if self.residual_at(draft, equation, group, factor) != 0:
                factor = next((r for r in _roots((twice - one) / 3, fmpq(0), one - (twice - one) / 3) if r > 0), factor)
            draft = draft.changed({e: factor * v for e, v in group.items()})
        return draft

    def residual_at(self, draft: Draft, equation: Instance, group: dict[Entry, fmpq], factor: fmpq) -> fmpq | None:
        try:
            return self.residual(draft.changed({e: factor * v for e, v in group.items()}), equation)[0]
        except FAILURES:
            return None

    def one_by_one(self, draft: Draft, solve: Solve) -> Draft | None:
        """Each equation solved for one entry, which later equations leave alone."""
        locked: set[Entry] = set()
        for equation in self.all_instances(draft):
            try:
                value, touched = self.gap(draft, equation)
            except FAILURES:
                return None
            if sign(value) == 0:
                locked |= touched if draft.roots else set()  # what decides where a root lies must not move any more
                continue
            choices = sorted(entry for entry in touched - locked if self.movable(entry))
            self.rng.shuffle(choices)
            for entry in choices:
                solved = solve(draft, equation, entry)
                if solved is not None:
                    draft = solved
                    locked |= touched if solve == self.bracketed else {entry}
                    break
            else:
                return None
        return draft

    def root(self, draft: Draft, equation: Instance, entry: Entry) -> Draft | None:
        """The draft with an entry at which the equation holds, if it is affine or quadratic in the entry."""
        here = draft.entries[entry]
        try:
            low, mid, high = (self.residual(draft.changed({entry: here + s}), equation)[0] for s in (0, 1, 2))
        except FAILURES:
            return None
        a, b, c = (high + low) / 2 - mid, (high - low) / 2, mid
        declaration = self.needs.scope.context.declarations[entry[0]]
        for step in _roots(a, b, c):
            value = here + 1 + step
            if not admits(declaration, value, draft.sizes):
                continue
            try:
                if self.residual(draft.changed({entry: value}), equation)[0] == 0:
                    return draft.changed({entry: value})
            except FAILURES:
                continue
        return None

    def bracketed(self, draft: Draft, equation: Instance, entry: Entry) -> Draft | None:
        """The draft with a root for the entry, or a ball in which it certainly has one.

        Left minus right has opposite signs at two numbers in the ball and is continuous all over it.
        """
        declaration = self.needs.scope.context.declarations[entry[0]]
        if declaration.kind in RIGID:
            return None

        def side(value: fmpq) -> int | None:
            try:
                return sign(self.gap(draft.changed({entry: value}), equation)[0])
            except FAILURES:
                return None

        here = draft.entries[entry]
        known = [(v, s) for v in GRID if admits(declaration, v, draft.sizes) and (s := side(v)) is not None]
        zeros = [v for v, s in known if s == 0]
        if zeros:
            return draft.changed({entry: min(zeros, key=lambda v: abs(v - here))})
        changes = [(a, b) for a, b in pairwise(known) if a[1] != b[1]]
        changes.sort(key=lambda pair: max(pair[0][0] - here, here - pair[1][0], fmpq(0)))
        for (low, below), (high, _) in changes:
            for _ in range(BISECTIONS):
                middle = (low + high) / 2
                found = side(middle)
                if found == 0:
                    return draft.changed({entry: middle})
                if found is None:
                    break
                low, high = (middle, high) if found == below else (low, middle)
            ball = arb((low + high) / 2, (high - low) / 2)
            if self.continuous(draft, equation, entry, ball):
                return draft.rooted(entry, ball, equation)
        return None

    def continuous(self, draft: Draft, equation: Instance, entry: Entry, ball: Scalar) -> bool:
        """Whether both sides of the equation are continuous in the entry all over the ball.

        They are where they have an enclosure: no case distinction and no domain is left open there. The laws of random
        names must not move with the entry.
        """
        scope, condition = self.needs.scope, equation.requirement.condition
        laws = [scope.context.declarations[name].law for name in scope.names(condition) & scope.random]
        if any(entry[0] in scope.names(p) for law in laws if law is not None for p in law.parameters):
            return False
        try:
            self.gap(draft.changed({entry: ball}), equation)
        except FAILURES:
            return False
        return True

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
                for variant in range(variants(self.needs.scope.context.declarations[name])):
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


def _roots(a: fmpq, b: fmpq, c: fmpq) -> list[fmpq]:
    """The rational roots of a x**2 + b x + c."""
    if a == 0:
        return [-c / b] if b != 0 else []
    square = b * b - 4 * a * c
    if square < 0:
        return []
    root = fmpq(isqrt(int(square.p)), isqrt(int(square.q)))
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)] if root * root == square else []


# -- linear equations --------------------------------------------------------------------------------------------------


def sparse(rows: list[Row], count: int) -> Row | None:
    """A solution with as few unknowns as there are independent equations, the others 0; None where there is none."""
    reduced = _eliminated(rows, count)
    if reduced is None:
        return None
    solution = [fmpq(0)] * count
    for column, row in reduced:
        solution[column] = row[-1]
    return solution


def least(rows: list[Row], count: int) -> Row | None:
    """The solution of least norm, which spreads over all unknowns; None where there is no solution."""
    reduced = _eliminated(rows, count)
    if reduced is None:
        return None
    kept = [row for _, row in reduced]
    normal = [[*(_dot(a, b, count) for b in kept), a[-1]] for a in kept]
    weights = sparse(normal, len(kept))
    if weights is None:
        return None
    return [sum((w * row[k] for w, row in zip(weights, kept, strict=True)), start=fmpq(0)) for k in range(count)]


def _dot(a: Row, b: Row, count: int) -> fmpq:
    return sum((a[k] * b[k] for k in range(count) if a[k] != 0 and b[k] != 0), start=fmpq(0))


def _eliminated(rows: list[Row], count: int) -> list[tuple[int, Row]] | None:
    """Independent equations with their pivots, each pivot in one of them only; None where they have no solution."""
    rows = [list(row) for row in rows]
    done: list[tuple[int, Row]] = []
    for column in range(count):
        place = next((r for r, row in enumerate(rows) if row[column] != 0), None)
        if place is None:
            continue
        row = rows.pop(place)
        head = row[column]
        row = [v / head for v in row]
        rows = [_without(other, row, column) for other in rows]
        done = [(c, _without(other, row, column)) for c, other in done]
        done.append((column, row))
    return None if any(row[-1] != 0 for row in rows) else done


def _without(row: Row, pivot: Row, column: int) -> Row:
    factor = row[column]
    return row if factor == 0 else [v - factor * w for v, w in zip(row, pivot, strict=True)]

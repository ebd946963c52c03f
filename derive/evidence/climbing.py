"""Comparisons followed to where they come closest to failing, one entry after the other moved as long as it helps."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import inf, isfinite
from random import Random

from flint import arb, ctx, fmpq

from derive.evidence.drafts import GENERIC, RANDOM, STYLES
from derive.evidence.enclosure import again
from derive.evidence.hypotheses import FAILURES, Draft, admits
from derive.evidence.numbers import standard
from derive.evidence.places import Budget, Evaluation, Exhausted, Letters
from derive.evidence.points import POINT_WORK, Points
from derive.evidence.solving import RIGID, Solver
from derive.term import Term

PRECISION = 64  # bits: the margin only says where to go
STARTS = (STYLES[2], GENERIC, RANDOM)
CHOICES = 3  # values of the claim's letters that are followed
SIZES = 6  # the smallest ones
ENTRIES = 12  # the most that are moved
ROUNDS = 24
FIRST_STEP, LAST_STEP = fmpq(1, 2), fmpq(1, 10**6)
VIOLATED = {"<": 1, "<=": 1, ">": -1, ">=": -1}  # the sign of left - right towards which the claim fails
DENOMINATOR = 10**9


def climbed(condition: Term, points: Points) -> Iterator[Evaluation]:
    """Points at which the sides of an inequality are in the wrong order, or come close to it."""
    if condition.op != "cmp" or condition.value not in VIOLATED:
        return
    for number, style in enumerate(STARTS):
        for sizes in islice(points.problem.sizes(3), SIZES):
            if points.spent():
                return
            rng = Random(f"{points.seed}/{sorted(sizes.items())}/{number}/climb")
            draft = points.drafts.styled(sizes, style, number, rng)
            here = None if draft is None else _inside(points, draft)
            if draft is not None and here is not None:
                for letters in points.problem.assignments(here, CHOICES):
                    yield from _climb(points, condition, draft, letters)


def _climb(points: Points, condition: Term, draft: Draft, letters: Letters) -> Iterator[Evaluation]:
    """The last point of a walk from the draft along which the claim comes ever closer to failing."""
    declared = points.problem.context.declarations
    here = _inside(points, draft)
    best = _margin(points, condition, here, letters)
    moving = [e for e in sorted(draft.entries) if declared[e[0]].kind not in ("bit", "index")][:ENTRIES]
    steps = {e: fmpq(1) if declared[e[0]].kind in RIGID else FIRST_STEP for e in moving}
    for _ in range(ROUNDS):
        improved = False
        for entry in moving:
            for step in (steps[entry], -steps[entry]):
                value = _rounded(draft.entries[entry] + step)
                if points.spent() or not admits(declared[entry[0]], value, draft.sizes):
                    continue
                trial = draft.changed({entry: value})
                there = _inside(points, trial)
                margin = _margin(points, condition, there, letters)
                if margin > best:
                    draft, here, best, improved = trial, there, margin, True
                    steps[entry] = 2 * step
                    break
            else:
                if declared[entry[0]].kind not in RIGID:
                    steps[entry] = steps[entry] / 4
        if best > 0 or points.spent() or (not improved and all(abs(s) < LAST_STEP for s in steps.values())):
            break
    if here is not None:
        yield here


def _rounded(value: fmpq) -> fmpq:
    return value if value.q < DENOMINATOR else fmpq(int((value * DENOMINATOR).floor()), DENOMINATOR)


def _inside(points: Points, draft: Draft) -> Evaluation | None:
    """The point at the draft, or where the hypotheses hold near it: always the same one for the same draft."""
    budget = Budget(max(min(POINT_WORK, points.work - points.kept), 0))
    start = budget.left
    solver = Solver(points.problem.needs, budget, Random(points.seed))
    try:
        with ctx.workprec(PRECISION):
            here, failing = solver.point(draft)
            if here is None or not failing:
                return here
            for solved in solver.solutions(draft):
                there, still = solver.point(solved)
                if there is not None and not still:
                    return there
    except (*FAILURES, Exhausted):
        pass
    finally:
        points.work -= start - max(budget.left, 0) + 1
    return None


def _margin(points: Points, condition: Term, here: Evaluation | None, letters: Letters) -> float:
    """How far the claim is from holding: above 0 where it does not; -inf where that is not known."""
    if here is None:
        return -inf
    budget = Budget(max(min(POINT_WORK, points.work - points.kept), 0))
    start = budget.left
    try:
        with ctx.workprec(PRECISION):
            place = again(here, budget)
            left, right = (standard(place.value(side, letters)) for side in condition.args)
            found = float(arb(left - right).mid()) * VIOLATED[condition.value]
            return found if isfinite(found) else -inf
    except (*FAILURES, Exhausted, OverflowError):
        return -inf
    finally:
        points.work -= start - max(budget.left, 0) + 1

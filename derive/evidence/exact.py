"""Agreement at small sizes: evidence for the verdict `checked`, never a proof."""

from __future__ import annotations

from collections.abc import Iterator

from flint import arb, ctx

from derive.evidence.conditions import HOLDS
from derive.evidence.drafts import GENERIC, RANDOM
from derive.evidence.enclosure import again
from derive.evidence.numbers import Imprecise, NotDecided, NotDefined, NotPolynomial, Scalar, sign, standard
from derive.evidence.places import Budget, Evaluation, Exhausted, Letters
from derive.evidence.points import Points
from derive.evidence.problem import Problem
from derive.kernel.context import Context
from derive.term import Term

WORK = 400_000  # nodes visited
CLAIM_WORK = 60_000  # nodes visited for one instance of the claim at one precision
STYLES = (GENERIC, RANDOM, GENERIC)
LARGEST = 4
CORNERS = 100  # combinations of simple values at each size
CORNER_WORK = 60_000
PRECISIONS = (256, 1024)
AGREEMENT = 133  # bits: closer than 1e-40


def holds_at_small_sizes(condition: Term, context: Context, seconds: float, seed: int = 0) -> bool | None:
    """Whether the claim is found true at points of every size 1 to 4 that the hypotheses admit, corners among them.

    False where a point contradicts it for certain; None where it could not be evaluated, or no point was found, or the
    work allowed did not suffice for all axes at once of sizes 1 to 4.
    """
    problem = Problem(context, condition)
    points = Points(problem, seconds, seed, WORK)
    agreed = 0
    for sizes in _sizes(problem):
        if points.spent():
            if not agreed or len({sizes[a] for a in problem.axes}) <= 1:
                return None
            break
        found = [_agrees(points, condition, here) for here in points.at(sizes, STYLES)]
        if any(False in f for f in found):
            return False
        whole = [f for f in found if True in f and None not in f]  # of a draw at i = j alone it is not exact
        if any(None in f for f in found) and not whole:
            return None
        agreed += len(whole)
    points.work = CORNER_WORK
    corners = (here for sizes in problem.sizes(2) for here in points.corners(sizes, CORNERS))
    if any(False in _agrees(points, condition, here) for here in corners):
        return False
    return True if agreed else None


def _sizes(problem: Problem) -> Iterator[dict[str, int]]:
    """The admitted sizes up to 4: those with all axes alike first."""
    found = [s for s in problem.sizes(LARGEST) if max((s[a] for a in problem.axes), default=1) <= LARGEST]
    found.sort(key=lambda s: len({s[a] for a in problem.axes}) > 1)
    yield from found


class _Outside(Exception):
    """The left side is undefined here: the claim says nothing."""


def _agrees(points: Points, condition: Term, here: Evaluation) -> list[bool | None]:
    """Whether the claim holds at the point, for each value of its letters at which its left side may exist."""
    found: list[bool | None] = []
    budget = Budget(CLAIM_WORK)
    places = {precision: again(here, budget) for precision in PRECISIONS}
    for letters in points.problem.assignments(here, 16):
        budget.left, budget.final = CLAIM_WORK, False
        try:
            found.append(_instance(condition, places, letters))
        except _Outside:
            continue
        finally:
            points.work -= CLAIM_WORK - max(budget.left, 0)
    return found


def _instance(condition: Term, places: dict[int, Evaluation], letters: Letters) -> bool | None:
    for precision, place in places.items():
        with ctx.workprec(precision):
            try:
                return _judged(condition, place, letters)
            except Imprecise:
                if place.budget.final:
                    return None
            except (NotDecided, NotPolynomial, Exhausted, RecursionError):
                return None
    return None


def _judged(condition: Term, here: Evaluation, letters: Letters) -> bool:
    """Whether the condition holds, or its sides agree closely. Raises NotDecided where neither can be told."""
    if condition.op == "and":
        return _every([(part, letters) for part in condition.args], here)
    if condition.op == "all":
        return _every([(condition.args[0], inner) for inner in here.selected(condition, letters)], here)
    if condition.op != "cmp" or condition.args[1].op == "list":
        try:
            return here.decide(condition, letters)
        except NotDefined:
            raise _Outside from None
    try:
        left = standard(here.value(condition.args[0], letters))
    except NotDefined:
        raise _Outside from None
    try:
        right = standard(here.value(condition.args[1], letters))
    except NotDefined:
        return False
    difference = left - right
    side = sign(difference)
    if side is not None:
        return HOLDS[condition.value](side)
    if condition.value in ("<", ">", "!=") or not _tight(difference, left):
        raise Imprecise("the enclosures are too wide")
    return True


def _every(parts: list[tuple[Term, Letters]], here: Evaluation) -> bool:
    found = []
    for part, letters in parts:
        try:
            found.append(_judged(part, here, letters))
        except _Outside:
            continue
    if not found:
        raise _Outside
    return all(found)


def _tight(difference: arb, left: Scalar) -> bool:
    """Whether the difference is enclosed closer than 1e-40, relative to the left side."""
    scale = abs(arb(left)).mid()
    unit = scale if scale > 1 else arb(1)
    return bool(difference.rad() < unit * arb(2) ** -AGREEMENT)

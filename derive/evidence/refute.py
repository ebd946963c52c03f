"""Counterexamples: a point inside the hypotheses where the left side exists and the claim is certainly false."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flint import ctx

from derive.evidence.climbing import climbed
from derive.evidence.conditions import CONDITIONS
from derive.evidence.contradiction import CLAIM_WORK, GIVE_UP, at_point, shown
from derive.evidence.drafts import GENERIC, STYLES
from derive.evidence.enclosure import LADDER, again, decimals, enclosed
from derive.evidence.numbers import NotDefined, standard
from derive.evidence.places import Budget, Evaluation, Exhausted, Letters
from derive.evidence.points import DRAWN, Points, as_data
from derive.evidence.problem import Problem, certainly
from derive.evidence.simpler import Found, close, simpler
from derive.evidence.surfaces import on_and_beside
from derive.kernel.context import Context
from derive.term import Term, negation

WORK = 300_000  # nodes visited in one search: the same points are tried on every machine
WITNESS_WORK = 300_000
LARGEST = 3
CORNERS = 200  # combinations of simple values at each of the sizes
ROUNDS = 40  # of points drawn at random
PLAIN = (*STYLES[:3], GENERIC)  # how entries are filled at larger sizes
ALIKE = 12  # combinations of simple values there
FIRST = 4  # sizes at which a witness is looked for with some care before others are tried
FEW = 60  # combinations of simple values, before any hypothesis is solved for
PLAINER = 8  # points that are tried for one where the sides are further apart


def refute(condition: Term, context: Context, seconds: float, seed: int = 0) -> dict[str, Any] | None:
    """A counterexample to the claim as plain data, or None. The work is bounded; `seconds` can only shorten it."""
    points = Points(Problem(context, condition), seconds, seed, WORK)
    found = _plainest(points, condition)
    if found is None:
        return None
    here, why = simpler(points, condition, LARGEST, found)
    return {**as_data(points.problem, here), **shown(why)}


def refute_as_equal(condition: Term, context: Context, seconds: float, seed: int = 0) -> dict[str, Any] | None:
    """A counterexample to the claim that sides differ which are known to be equal: a point where they are defined."""
    points = Points(Problem(context, condition), seconds, seed, WORK)
    for here in _inside(points):
        for letters in points.problem.assignments(here):
            if points.spent():
                return None
            if all(_defined(points, here, side, letters) for side in condition.args):
                with ctx.workprec(LADDER[0]):
                    both = decimals(
                        enclosed(standard(again(here, Budget(CLAIM_WORK)).value(condition.args[0], letters)))
                    )
                indices = {k.value[0]: n for k, n in sorted(letters.items(), key=lambda pair: pair[0].value)}
                return {**as_data(points.problem, here), "indices": indices, "left": both, "right": both}
    return None


def _plainest(points: Points, condition: Term) -> Found | None:
    """The first counterexample, or one of the next few points if the sides differ too little to be seen there."""
    first: Found | None = None
    later = 0
    for here in _candidates(points, condition):
        why = at_point(points, condition, here)
        if why is not None:
            if not close(why):
                return here, why
            first = first or (here, why)
        later += first is not None
        if later > PLAINER:
            break
    return first


def _candidates(points: Points, condition: Term) -> Iterator[Evaluation]:
    """A few points of every size; then corners, ties and other special points; then points at random."""
    sizes = list(points.problem.sizes(LARGEST))
    # No size takes more than its part: hypotheses may be hard to meet at the first ones.
    yield from points.within(2 / 3, (here for s in sizes for here in points.within(1 / 3, points.at(s))))
    if points.problem.needs.required:
        yield from points.within(1 / 2, (here for s in sizes for here in points.corners(s, CORNERS, attempts=0)))
    yield from points.within(1 / 2, (here for s in sizes for here in points.corners(s, CORNERS)))
    yield from points.within(1 / 3, _far(points))
    yield from points.within(1 / 3, on_and_beside(condition, points))
    yield from points.within(1 / 2, climbed(condition, points))
    for turn in range(ROUNDS):
        for s in sizes:
            yield from points.at(s, DRAWN, 100 + turn * len(DRAWN))


def _far(points: Points) -> Iterator[Evaluation]:
    """Points of larger sizes: all of those where sizes are all there is, a few where there are entries to fill."""
    problem = points.problem
    if problem.free or problem.random:
        for s in problem.larger_sizes(LARGEST, sparse=True):
            yield from points.at(s, PLAIN, attempts=2)
            yield from points.corners(s, ALIKE)
    for s in problem.larger_sizes(LARGEST):
        yield from points.at(s, PLAIN[:1], attempts=2)


# -- hypotheses and domains that leave nothing -------------------------------------------------------------------------


def witness(
    context: Context, condition: Term, seconds: float, domain: Iterable[Term] = (), seed: int = 0
) -> dict[str, Any] | None:
    """A point inside the hypotheses where the claim's left side is defined, or None if none was found.

    A point where that is not decided will do if none is certain: `defined` says which it is. It must not be one where
    a condition of the `domain` is false.
    """
    problem = Problem(context, condition)
    points = Points(problem, seconds, seed, WITNESS_WORK)
    side = condition.args[0] if condition.op == "cmp" else condition
    doubtful: dict[str, Any] | None = None
    for here in _inside(points):
        for letters in problem.assignments(here):
            if points.spent():
                return doubtful
            defined = _defined(points, here, side, letters)
            if defined is False or (defined is None and doubtful is not None):
                continue
            if defined is None and any(_fails(here, needed, letters) for needed in domain):
                continue
            indices = {k.value[0]: n for k, n in sorted(letters.items(), key=lambda pair: pair[0].value)}
            found = {**as_data(problem, here), "indices": indices, "defined": defined is True}
            if defined:
                return found
            doubtful = found
    return doubtful


def _inside(points: Points) -> Iterator[Evaluation]:
    """Points inside the hypotheses, for sizes up to 4 and a few above."""
    sizes = list(points.problem.sizes(4))
    if points.problem.needs.required:
        yield from points.within(1 / 8, (here for s in sizes[:FIRST] for here in points.at(s, STYLES, attempts=1)))
        for count in (FEW, CORNERS):
            yield from points.within(1 / 4, (here for s in sizes for here in points.corners(s, count, attempts=0)))
    yield from points.within(1 / 2, (here for s in sizes for here in points.at(s)))
    for s in sizes:
        yield from points.corners(s, CORNERS)


def _defined(points: Points, here: Evaluation, term: Term, letters: Letters) -> bool | None:
    """Whether the term has a value at the point, or the condition a truth; None where that is not decided."""
    found = None
    for rough in (True, False):
        budget = Budget(CLAIM_WORK, rough)
        try:
            with ctx.workprec(LADDER[0]):
                place = again(here, budget)
                standard(place.value(term, letters)) if term.op not in CONDITIONS else place.decide(term, letters)
            found = True
        except NotDefined:
            found = False
        except (Exhausted, *GIVE_UP):
            pass
        points.work -= CLAIM_WORK - max(budget.left, 0)
        if found is not None or not budget.final:
            break
    return found


def _fails(here: Evaluation, condition: Term, letters: Letters) -> bool:
    """Whether a condition is certainly false at the point."""
    try:
        return condition.op in CONDITIONS and certainly(here, negation(condition), letters)
    except GIVE_UP:
        return False


def vacuous(context: Context, seconds: float, seed: int = 0) -> bool:
    """Whether no point was found, at sizes 1 to 4 or little above, at which all hypotheses hold."""
    points = Points(Problem(context), seconds, seed, WITNESS_WORK)
    return not any(points.problem.assignments(here, 1) for here in _inside(points))

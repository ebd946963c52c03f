"""Counterexamples made simpler: smaller sizes, then smaller numbers, as long as the claim stays false there."""

from __future__ import annotations

from collections.abc import Iterator

from flint import ctx, fmpq

from derive.evidence.contradiction import Contradiction, at_point
from derive.evidence.enclosure import LADDER
from derive.evidence.hypotheses import FAILURES, Draft
from derive.evidence.laws import Variant
from derive.evidence.numbers import Scalar
from derive.evidence.places import Budget, Closed, Entry, Evaluation, Exhausted
from derive.evidence.points import POINT_WORK, Points
from derive.term import Term

WORK = 60_000  # nodes visited
ROUNDS = 4
CANDIDATES = [fmpq(p, q) for p, q in ((0, 1), (1, 1), (-1, 1), (2, 1), (-2, 1), (3, 1), (-3, 1), (1, 2), (-1, 2))]
HALVINGS = 6
SMALL = 3
COMMON = 3  # candidates that whole arrays are filled with
CORNERS = 25  # points of a smaller size that are tried
CLOSE = fmpq(1, 1000)  # sides that differ by less than this part of them do not look different

Found = tuple[Evaluation, Contradiction]


def simpler(points: Points, condition: Term, largest: int, found: Found) -> Found:
    """A counterexample at the smallest sizes and simplest numbers that a short search comes to."""
    points.work, points.kept = WORK, 0
    found = _smaller(points, condition, largest, found)
    for _ in range(0 if found[0].roots else ROUNDS):
        better = _one_step(points, condition, found)
        if better is None:
            break
        found = better
    return found


def _smaller(points: Points, condition: Term, largest: int, found: Found) -> Found:
    """The first counterexample among the corners of smaller sizes, and of its own if the point is involved."""
    most = sum(found[0].sizes.values())
    for sizes in (*points.problem.sizes(largest), *points.problem.larger_sizes(largest)):
        own = sizes == found[0].sizes
        if sum(sizes.values()) > most:
            continue
        if points.work < WORK // 2 or (own and not _involved(found[0])):
            break
        for here in points.corners(sizes, CORNERS):
            why = at_point(points, condition, here)
            if why is not None and not (close(why) and not close(found[1])):
                return here, why
        if own:
            break
    return found


def _involved(here: Evaluation) -> bool:
    """Whether there are entries that are not quite small numbers."""
    given = [v for v in here.entries.values() if not isinstance(v, Closed)]
    return any(not isinstance(v, fmpq) or max(abs(v.p), v.q) > SMALL for v in given)


def _one_step(points: Points, condition: Term, found: Found) -> Found | None:
    """The point after one walk through its entries, each made as simple as it may be; None if none could be."""
    changed = False
    for group in _groups(found[0]):
        for value in _simple(found[0].entries[group[0]]) if len(group) == 1 else CANDIDATES[:COMMON]:
            if points.spent():
                return found if changed else None
            before = [_complexity(found[0].entries[entry]) for entry in group]
            if any(b < _complexity(value) for b in before) or all(b == _complexity(value) for b in before):
                continue
            better = _tried(points, condition, found, dict.fromkeys(group, value))
            if better is not None:
                found, changed = better, True
                break
    for name, variant in found[0].variants.items():
        better = _tried(points, condition, found, {}, {name: 0}) if variant != 0 else None
        if better is not None:
            found, changed = better, True
    return found if changed else None


def _simple(value: Scalar) -> list[fmpq]:
    """Simple numbers, then integers on the way to 0."""
    on_the_way = [(value / 2**k).floor() if value > 0 else (value / 2**k).ceil() for k in range(HALVINGS, -1, -1)]
    return [*CANDIDATES, *(fmpq(int(v)) for v in on_the_way)]


def _groups(here: Evaluation) -> Iterator[list[Entry]]:
    """Whole arrays first, then single entries."""
    entries = [entry for entry in sorted(here.entries) if not isinstance(here.entries[entry], Closed)]
    for name in sorted({name for name, _ in entries}):
        group = [entry for entry in entries if entry[0] == name]
        if len(group) > 1:
            yield group
    yield from ([entry] for entry in entries)


def _complexity(value: Scalar) -> tuple[int, int, bool]:
    return int(value.q), abs(int(value.p)), value < 0


def _tried(
    points: Points, condition: Term, found: Found, new: dict[Entry, Scalar], laws: dict[str, Variant] | None = None
) -> Found | None:
    """The counterexample with other entries or laws, if hypotheses hold there and it is one no less plain to see."""
    here, needs = found[0], points.problem.needs
    entries = {entry: v for entry, v in here.entries.items() if not isinstance(v, Closed)}
    draft = Draft(here.sizes, {**entries, **new}, {**here.variants, **(laws or {})}, here.fixed)
    budget = Budget(min(POINT_WORK, max(points.work, 0)))
    start = budget.left
    try:
        with ctx.workprec(LADDER[0]):
            there = needs.build(draft, budget)
            if there is None or not needs.met(there):
                return None
    except (*FAILURES, Exhausted):
        return None
    finally:
        points.work -= start - max(budget.left, 0) + 1
    why = at_point(points, condition, there)
    if why is None or (close(why) and not close(found[1])):
        return None
    return there, why


def close(found: Contradiction) -> bool:
    """Whether the sides differ so little that the eye may miss it."""
    if found.left is None or found.right is None:
        return False
    gap = abs(found.left - found.right)
    return not gap > CLOSE * (abs(found.left) + abs(found.right))

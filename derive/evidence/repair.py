"""Inequalities among the hypotheses met by moving one entry of a point at a time into the gaps they leave."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from flint import fmpq

from derive.evidence.hypotheses import FAILURES, Draft, Instance, admits, instances
from derive.evidence.places import Entry, Evaluation
from derive.evidence.relax import Met, comparison, middle, relaxed
from derive.evidence.solving import Solver

STEPS = 8  # entries that are moved, one after the other
ENTRIES = 4  # that are tried for one failing condition
LIMITS = 12  # conditions whose limits an entry is fitted between
PLACES = 16  # values that are tried for an entry
FAR = fmpq(1000)  # how far beyond the last limit an entry may go


def repaired(solver: Solver, draft: Draft) -> Met | None:
    """A draft near the given one where all requirements hold, and its evaluation."""
    if draft.roots:
        return None
    here, failing = solver.point(draft)
    if here is None or not any(comparison(i.requirement) for i in failing):
        return None
    return relaxed(solver, draft, here) or _moved(solver, draft, here, failing)


def _moved(solver: Solver, draft: Draft, here: Evaluation | None, failing: list[Instance]) -> Met | None:
    """The draft after moving single entries into the gaps the comparisons leave, as long as fewer fail."""
    for _ in range(STEPS):
        if here is None or not failing:
            break
        best: tuple[Draft, Evaluation, list[Instance]] | None = None
        for trial in _moves(solver, draft, here, failing[0]):
            there, still = solver.point(trial)
            if there is not None and len(still) < (len(failing) if best is None else len(best[2])):
                best = trial, there, still
                if not still:
                    break
        if best is None:
            return None
        draft, here, failing = best
    return (draft, here) if here is not None and not failing else None


def _moves(solver: Solver, draft: Draft, here: Evaluation, failing: Instance) -> Iterator[Draft]:
    """Drafts with one entry of the failing condition moved to where it may hold."""
    if not comparison(failing.requirement):
        return
    try:
        _, touched = solver.gap(draft, failing)
    except FAILURES:
        return
    declared = solver.needs.scope.context.declarations
    comparisons = [r for r in solver.needs.required if comparison(r)]
    about = [failing, *(i for i in instances(comparisons, here) if i is not failing)]
    entries = sorted(touched)
    solver.rng.shuffle(entries)
    for entry in entries[:ENTRIES]:
        if not solver.movable(entry):
            continue
        limits = {v for i in about[:LIMITS] if (v := _limit(solver, draft, i, entry)) is not None}
        limits |= {fmpq(0)} if declared[entry[0]].kind != "real" else set()
        values = [v for v in _gaps(sorted(limits)) if admits(declared[entry[0]], v, draft.sizes)]
        yield from (draft.changed({entry: v}) for v in values[:PLACES])


def _limit(solver: Solver, draft: Draft, instance: Instance, entry: Entry) -> fmpq | None:
    """About where the two sides of the comparison are equal as the entry moves, as if they were affine in it."""
    here = draft.entries[entry]
    try:
        one, touched = solver.gap(draft, instance)
        if entry not in touched:
            return None
        two = solver.gap(draft.changed({entry: here + 1}), instance)[0]
        a, b = middle(one), middle(two)
    except FAILURES:
        return None
    return None if a == b else here - a / (b - a)


def _gaps(limits: list[fmpq]) -> Iterator[fmpq]:
    """Simple numbers between the limits, beyond them, and at them."""
    if not limits:
        return
    for low, high in pairwise(limits):
        yield simplest(low, high)
    for step in (FAR, fmpq(1)):
        yield simplest(limits[-1], limits[-1] + step)
        yield simplest(limits[0] - step, limits[0])
    yield from limits
    for low, high in pairwise(limits):
        yield low + (high - low) / 4
        yield low + 3 * (high - low) / 4


def simplest(low: fmpq, high: fmpq) -> fmpq:
    """The number of least denominator strictly between the two, the one nearest to 0 among integers."""
    whole = fmpq(int(low.floor()))
    if whole + 1 < high:
        last = fmpq(int(high.ceil()) - 1)
        return fmpq(0) if whole + 1 <= 0 <= last else whole + 1 if whole + 1 > 0 else last
    low, high = low - whole, high - whole
    if low == 0:
        return whole + 1 / fmpq(int((1 / high).floor()) + 1)
    return whole + 1 / simplest(1 / high, 1 / low)

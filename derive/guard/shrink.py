"""The smallest input that fails: fewer rows, smaller axes, simpler numbers, as long as it fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from derive.evidence.inputs import Inputs, admitted
from derive.guard.cases import Case
from derive.guard.compare import Finding
from derive.guard.target import Target

TRIES = 150  # calls of the function: a number, not a time, so that the same failure gives the same input
SECONDS = 3.0  # for a function that takes long

Fails = Callable[[Case], "Finding | None"]


def shrunk(finding: Finding, target: Target, fails: Fails) -> Finding:
    """The finding at the simplest case found in so many tries, the given one where there is none simpler."""
    until, left = time.monotonic() + SECONDS, TRIES
    best = finding
    progress = True
    while progress:
        progress = False
        for case in simpler(best.case, target):
            left -= 1
            if left < 0 or time.monotonic() > until:
                return best
            if not target.allows(case.sizes) or not all(admitted(target.quantity.context, row) for row in case.rows):
                continue
            found = fails(case)
            if found is not None and found.kind == finding.kind:
                best, progress = found, True
                break
    return best


def simpler(case: Case, target: Target) -> Iterator[Case]:
    """Cases that are one step simpler, the boldest steps first."""
    if case.layout != "contiguous":
        yield replace(case, layout="contiguous")
    if len(case.rows) > 1:
        yield from (replace(case, rows=(row,)) for row in case.rows)
    for axis in target.axes:
        allowed = dict(target.sizes).get(axis, ())
        known = sorted(allowed) if not isinstance(allowed, str) else []
        for size in known or (1, 2, 3, case.sizes[axis] // 2, case.sizes[axis] - 1):
            if 1 <= size < case.sizes[axis]:
                for start in dict.fromkeys((0, case.sizes[axis] - size)):
                    rows: list[Inputs | None] = list(case.rows)
                    for own in target.together(axis):
                        rows = [row and _cut(row, target, own, start, size) for row in rows]
                    if all(rows) and target.together(axis):
                        yield replace(case, rows=tuple(row for row in rows if row is not None))
    for number, row in enumerate(case.rows):
        for new in _plainer(row):
            yield replace(case, rows=(*case.rows[:number], new, *case.rows[number + 1 :]))


def _cut(row: Inputs, target: Target, axis: str, start: int, size: int) -> Inputs | None:
    """The row with one axis cut down to a stretch of it."""
    arrays, indices = dict(row.arrays), dict(row.indices)
    for a in target.arguments:
        if a.name in arrays:
            for place, own in enumerate(a.axes):
                if own == axis:
                    arrays[a.name] = np.take(arrays[a.name], range(start, start + size), axis=place)
        if a.over == axis:
            shifted = np.asarray(arrays.get(a.name, indices.get(a.name))) - start
            if np.any((shifted < 0) | (shifted >= size)):
                return None
            if a.name in arrays:
                arrays[a.name] = shifted
            else:
                indices[a.name] = int(shifted)
    return replace(row, sizes={**row.sizes, axis: size}, arrays=arrays, indices=indices)


def _plainer(row: Inputs) -> Iterator[Inputs]:
    """The row with simpler numbers in one array, all entries at once, then one by one."""
    for name, array in row.arrays.items():
        if array.dtype.kind in "iub":
            continue
        wide = array.astype(np.float64)
        with np.errstate(all="ignore"):
            choices = (np.zeros_like(wide), np.ones_like(wide), np.round(wide), np.round(wide, 1))
        for choice in choices:
            new = np.asarray(choice).astype(array.dtype)
            if _simpler(new, array):
                yield replace(row, arrays={**row.arrays, name: new})
        if array.size <= 12 and array.ndim:
            for place in np.ndindex(array.shape):
                for value in (0.0, 1.0, float(np.round(wide[place])), float(np.round(wide[place], 1))):
                    new = array.copy()
                    new[place] = value
                    if _simpler(new, array):
                        yield replace(row, arrays={**row.arrays, name: new})


def _simpler(new: np.ndarray, old: np.ndarray) -> bool:
    """Whether the numbers are shorter to write than before, and none longer."""
    return not np.array_equal(new, old) and _cost(new) < _cost(old)


def _cost(array: np.ndarray) -> int:
    return sum(0 if x == 0 else 1 if x == 1 else len(repr(float(np.float32(x)))) for x in array.astype(float).ravel())

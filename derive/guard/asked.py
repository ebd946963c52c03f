"""What is asked of a check: modes that make sense, and one input given as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from derive.evidence.inputs import Inputs
from derive.evidence.ulp import FORMATS
from derive.guard.cases import Case
from derive.guard.expect import REDUCTIONS, UNDEFINED, Modes
from derive.guard.target import Target

MOST_SIZE = 1 << 20  # of an axis
MOST_ROWS = 1024  # of a batch: all rows of all inputs are held at once


def validate(modes: Modes, batch: int | None, seed: int = 0) -> None:
    """Raise ValueError for what is no mode."""
    for what, value, allowed in (
        ("dtype", modes.dtype, tuple(FORMATS)),
        ("inside", modes.inside or modes.dtype, tuple(FORMATS)),
        ("reduction", modes.reduction, REDUCTIONS),
        ("undefined", modes.undefined, UNDEFINED),
    ):
        if value not in allowed:
            raise ValueError(f"{what}={value!r}: choose of {', '.join(allowed)}")
    if not isinstance(modes.flush, bool | np.bool_):
        raise ValueError(f"flush={modes.flush!r}: True or False")
    if modes.ulp is not None and not (_number(modes.ulp) and 0 <= modes.ulp < np.inf):
        raise ValueError(f"ulp={modes.ulp!r}: a number of units, not negative")
    if not _whole(seed) or seed < 0:
        raise ValueError(f"seed={seed!r}: a whole number, not negative")
    if modes.ignore_index is not None and not _whole(modes.ignore_index):
        raise ValueError(f"ignore_index={modes.ignore_index!r}: a whole number")
    if batch is None and (modes.reduction != "none" or modes.ignore_index is not None):
        raise ValueError("a reduction or an ignored label needs rows: give batch=3, say")
    if batch is not None and not (_whole(batch) and 1 <= batch <= MOST_ROWS):
        raise ValueError(f"batch={batch!r}: a number of rows, at least 1 and at most {MOST_ROWS}")


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def sizes_asked(target: Target, asked: str | Mapping[str, Any] | None) -> Target:
    """The target for a function that takes certain sizes only: "n=16,64 e=d", or the same as a mapping."""
    if asked is None:
        return target
    if isinstance(asked, str):
        pairs = [part.partition("=")[::2] for part in asked.split()]
        asked = {axis: value if value in target.context.axes else value.split(",") for axis, value in pairs}
    if not isinstance(asked, Mapping):
        raise ValueError(f"sizes={asked!r}: numbers or another axis for each axis, as in 'n=16,64 e=d'")
    found = {axis: _sizes(target, axis, value) for axis, value in asked.items()}
    for axis, other in found.items():
        if isinstance(other, str) and isinstance(found.get(other), str):
            raise ValueError(f"sizes: {axis} has the size of {other}, which has that of {found[other]}: name the last")
    return replace(target, sizes=tuple(found.items()))


def _sizes(target: Target, axis: str, value: Any) -> tuple[int, ...] | str:
    if axis not in target.axes:
        raise ValueError(f"sizes: {target.name} has no axis {axis!r}; it has {', '.join(target.axes)}")
    if isinstance(value, str):
        if value not in target.axes or value == axis:
            raise ValueError(f"sizes: {axis} can have the size of another axis, which {value!r} is not")
        return value
    try:
        given = value if isinstance(value, list | tuple) else [value]
        found = tuple(int(v) for v in given) if all(isinstance(v, str) or _whole(v) for v in given) else ()
    except ValueError:
        found = ()
    if not found or not all(1 <= size <= MOST_SIZE for size in found):
        raise ValueError(f"sizes: {axis} has whole numbers from 1 to {MOST_SIZE}, not {value!r}")
    return found


# -- one input ---------------------------------------------------------------------------------------------------------


def case_at(target: Target, modes: Modes, at: Mapping[str, Any], batch: int | None) -> Case:
    """The case of an input given as nested lists of numbers, decimal or hexadecimal strings, by name.

    Raises ValueError, with the variable's name, for what is no such input.
    """
    if not isinstance(at, Mapping):
        raise ValueError("the input is a mapping: arrays, as nested lists, by the names of the variables")
    missing = [a.name for a in target.arguments if a.name not in at and a.kind != "size"]
    if missing:
        raise ValueError(f"the input lacks {', '.join(missing)}")
    unknown = [name for name in at if name not in {a.name for a in target.arguments} | set(target.context.axes)]
    if unknown:
        raise ValueError(f"the input has {unknown[0]!r}, which is no variable of {target.name}")
    values = {a.name: _array(a.name, at[a.name]) for a in target.arguments if a.name in at and a.kind != "size"}
    rows = [{name: _row(name, value, k, batch) for name, value in values.items()} for k in range(batch or 1)]
    return Case("the given input", 0, tuple(_inputs(target, modes, at, row) for row in rows), bool(batch))


def _inputs(target: Target, modes: Modes, at: Mapping[str, Any], row: Mapping[str, np.ndarray]) -> Inputs:
    arrays: dict[str, np.ndarray] = {}
    indices: dict[str, int] = {}
    sizes = {axis: _size(axis, at.get(axis, 1)) for axis in target.context.axes}
    fixed: dict[str, str] = {}
    for a in target.arguments:
        if a.kind == "size":
            continue
        value = row[a.name]
        if a.kind == "index" and not np.all(value == np.rint(value)):
            raise ValueError(f"{a.name} is an index, a whole number")
        if value.ndim != len(a.axes):
            raise ValueError(f"{a.name} has {value.ndim} axes, not {len(a.axes)}")
        if a.kind == "index" and a.name not in target.quantity.context.declarations:
            indices[a.name] = int(value)
            continue
        kind = np.dtype(np.intp) if a.kind == "index" else np.dtype(bool) if a.kind == "bit" else modes.form.dtype
        with np.errstate(all="ignore"):
            arrays[a.name] = value.astype(kind)
        for place, axis in enumerate(a.axes):
            size = _size(axis, value.shape[place])
            if fixed.setdefault(axis, a.name) != a.name and sizes[axis] != size:
                raise ValueError(f"{axis} is {sizes[axis]} in {fixed[axis]} but {size} in {a.name}")
            sizes[axis] = size
    for a in target.arguments:
        if a.kind == "index" and a.over is not None:
            labels = np.asarray(indices.get(a.name, arrays.get(a.name)))
            beyond = (labels < 0) | (labels >= sizes[a.over])
            if np.any(beyond & (labels != modes.ignore_index if modes.ignore_index is not None else True)):
                raise ValueError(f"{a.name} is not from 0 to {a.over} - 1 = {sizes[a.over] - 1}")
    return Inputs("given", 0, sizes, indices, arrays)


def _size(axis: str, value: Any) -> int:
    if not _whole(value) or value < 1:
        raise ValueError(f"{axis} is {value!r}: a size is a whole number, at least 1")
    return int(value)


def _row(name: str, value: np.ndarray, k: int, batch: int | None) -> np.ndarray:
    """The variable's value in one row: the same in all where it has no axis for the rows."""
    if batch is None or not value.ndim:
        return value
    if value.shape[0] != batch:
        raise ValueError(f"{name} has {value.shape[0]} rows, not {batch}")
    return np.asarray(value[k])


def _array(name: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(_numbers(value))
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is no array of numbers: nested lists of one shape are expected") from None


def _numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return np.array([_numbers(v) for v in value])
    if isinstance(value, str):
        return float.fromhex(value) if "0x" in value.lower() else float(value)
    if not isinstance(value, np.ndarray) and not _number(value) and not isinstance(value, bool):
        raise TypeError
    return value


def with_ignored(case: Case, target: Target, modes: Modes) -> Case:
    """The case with the label of its first row ignored, where it has rows and labels are ignored at all."""
    labels = [a.name for a in target.arguments if a.kind == "index"]
    if modes.ignore_index is None or not labels or len(case.rows) < 2:
        return case
    row, name = case.rows[0], labels[0]
    if name in row.indices:
        row = replace(row, indices={**row.indices, name: modes.ignore_index})
    else:
        row = replace(row, arrays={**row.arrays, name: np.full_like(row.arrays[name], modes.ignore_index)})
    return replace(case, rows=(row, *case.rows[1:]))

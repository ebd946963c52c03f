"""One call against what is expected: what is wrong with it, worst component first."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, replace

import numpy as np

from derive.guard.calling import MODULES, NO_FLOAT64, Call, as_array, module_of
from derive.guard.cases import Case
from derive.guard.expect import Expected, Modes, expected, given
from derive.guard.running import Wide
from derive.guard.target import Target

MOST = 300  # characters of a message that is passed on
SEPARATE = ("raises", "shape", "dtype")  # there is no component to speak of


@dataclass(frozen=True)
class Finding:
    """What is wrong. `kind` is raises, shape, dtype, nan, infinite, spurious or error; `place` the worst component.

    `over` of `count` components are wrong in that way; `ratio` is the worst one's error over its bound.
    """

    kind: str
    case: Case
    detail: str = ""
    place: tuple[int, ...] = ()
    result: np.ndarray | None = None
    expected: Expected | None = None
    over: int = 0
    count: int = 0
    ratio: float = 0.0


@dataclass(frozen=True)
class Clean:
    """Nothing is wrong: the largest error in parts of the bound, and how many components nothing was promised for."""

    case: Case
    ratio: float
    place: tuple[int, ...]
    count: int
    open: int
    result: np.ndarray
    expected: Expected


def run(call: Call, target: Target, case: Case, modes: Modes) -> Finding | Clean:
    """Call the function on the case and compare."""
    arguments = given(target, case, call.names, modes)
    try:
        returned = call(case, arguments)
    except (Exception, SystemExit) as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        detail = f"{said(problem)} (line {where.lineno} of {where.filename.split('/')[-1]})"
        return Finding("raises", case, detail)
    try:
        array = as_array(returned)
    except Exception as problem:
        return Finding("raises", case, str(problem)[:MOST] if isinstance(problem, TypeError) else said(problem))
    found = compared(array, isinstance(returned, float | int), target, case, modes)
    if isinstance(found, Finding) and found.kind == "shape" and isinstance(returned, tuple):
        return replace(found, detail=f"{found.detail} (it is a tuple of {len(returned)})")
    if isinstance(found, Finding) and found.kind == "dtype" and MODULES.get(module_of(returned).split(".")[0]) == "jax":
        return replace(found, detail=f"{found.detail}: {NO_FLOAT64}" if modes.dtype == "float64" else found.detail)
    return found


def said(problem: BaseException) -> str:
    """The exception's type and message; the type alone where it has none to say."""
    try:
        words = str(problem)[:MOST]
    except Exception:
        words = ""
    return f"{type(problem).__name__}: {words}" if words else type(problem).__name__


def compared(array: np.ndarray, python: bool, target: Target, case: Case, modes: Modes) -> Finding | Clean:
    want = expected(target, case, modes)
    if array.shape != want.value.shape:
        return Finding(
            "shape", case, f"the result has the shape {array.shape}, not {want.value.shape}", (), array, want
        )
    array = np.array(array)  # the function may use its memory again
    if array.dtype != modes.form.dtype and not (python and array.shape == ()):
        return Finding("dtype", case, f"the result is {array.dtype}, not {modes.dtype}", (), array, want)
    return judged(array, want, case, modes)


def allowance(want: Expected, modes: Modes) -> np.ndarray:
    """The error that is allowed: the running bound, or so many ulp of the value."""
    if modes.ulp is None:
        return want.error
    form = modes.form
    exponent = np.maximum(np.frexp(np.abs(want.value))[1] - 1, form.least)
    spacing = np.ldexp(Wide(1), exponent - form.precision + 1)
    return np.where(np.isfinite(want.error), modes.ulp * spacing, want.error)


def judged(array: np.ndarray, want: Expected, case: Case, modes: Modes) -> Finding | Clean:
    got = array.astype(Wide)
    with np.errstate(all="ignore"):
        allowed = allowance(want, modes)
        promised = want.promised
        undefined = np.isnan(want.error)
        masks = {
            "spurious": undefined & ((got != 0) if modes.undefined == "zero" else ~np.isnan(got))
            if modes.undefined != "any"
            else np.zeros(got.shape, bool),
            "nan": promised & np.isnan(got),
            "infinite": promised & np.isinf(got),
        }
        for kind, mask in masks.items():
            if mask.any():
                place = tuple(int(k) for k in np.argwhere(mask)[0])
                return Finding(kind, case, "", place, array, want, int(mask.sum()), got.size)
        off = np.where(promised, np.abs(got - np.where(promised, want.value, 0)), Wide(0))
        safe = np.where(promised & (allowed > 0), allowed, Wide(1))
        ratio = np.where(promised, np.where(allowed > 0, off / safe, np.where(off > 0, np.inf, 0)), 0)
    flat = int(np.argmax(ratio)) if ratio.size else 0
    place = tuple(int(k) for k in np.unravel_index(flat, ratio.shape)) if ratio.size else ()
    worst = float(ratio[place]) if ratio.size else 0.0
    if worst > 1:
        over = int((ratio > 1).sum())
        return Finding("error", case, "", place, array, want, over, got.size, worst)
    return Clean(case, worst, place, got.size, int((~promised).sum()), array, want)

"""The check of one function: every input, the worst finding, what it is due to."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derive.guard.asked import case_at, sizes_asked, validate, with_ignored
from derive.guard.calling import NO_FLOAT64, BadCall, Call, Function, as_array, loaded_libraries, prepare_call
from derive.guard.cases import Case, cases
from derive.guard.causes import Cause, cause
from derive.guard.compare import SEPARATE, Clean, Finding, run
from derive.guard.expect import Exactly, Modes, exactly, expected
from derive.guard.running import Wide
from derive.guard.shrink import shrunk
from derive.guard.target import Target, resolve

SECONDS = 20.0  # for all calls of the function
ENCLOSED = 200_000  # numbers of an input at which enclosures are computed: a few seconds
SECOND_OPINIONS = 3  # cases whose worst component is compared with its enclosure although it is within bounds
HALF = ("float16", "bfloat16")


class Disagreement(AssertionError):
    """The extended-precision value of the formula is not where its enclosure is: a bug of ours."""


@dataclass(frozen=True)
class Outcome:
    """What the check found: nothing (`finding` is None), or the smallest failing input with its cause."""

    target: Target
    modes: Modes
    seed: int
    call: Call
    cases: int
    components: int
    open: int
    closest: float  # of what is within bounds, the largest error in parts of its bound
    finding: Finding | None
    found_in: str = ""
    exact: Exactly | None = None
    baseline: float | None = None
    cause: Cause | None = None
    failing: int = 0
    source: str = ""  # the name as it was given
    batch: int | None = None  # rows of each input
    left_out: int = 0  # inputs for which there was no time
    open_inside: int | None = None  # what would be left open were intermediate results in float32, for a half format
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.finding is None

    @property
    def nothing_checked(self) -> bool:
        """Whether the formula promised nothing at any input."""
        return self.finding is None and self.components == self.open


def check(
    function: Function,
    name: str | Target,
    modes: Modes | None = None,
    seed: int = 0,
    arguments: Any = None,
    arrays: Any = None,
    batch: int | None = None,
    at: Mapping[str, Any] | None = None,
    sizes: str | Mapping[str, Any] | None = None,
    folder: Any = None,
) -> Outcome:
    """Hold the function against the named quantity.

    Raises UnknownTarget, LanguageError, CodegenError for the name, BadCall for the function, ValueError for a mode.
    """
    start = time.monotonic()
    modes = modes or Modes()
    validate(modes, batch, seed)
    target = name if isinstance(name, Target) else resolve(name, folder)
    call = prepare_call(function, target, arguments, arrays)
    target = sizes_asked(target.with_arguments(call.names), sizes)
    call, batch = _fitting(call, target, modes, seed, batch, at)
    _require_dtype(call, modes)
    chosen = _chosen(target, modes, seed, batch, at)
    results: list[Finding | Clean] = []
    for case in chosen:
        results.append(run(call, target, case, modes))
        if time.monotonic() - start > SECONDS:
            break
    found = [r for r in results if isinstance(r, Finding)]
    clean = [r for r in results if isinstance(r, Clean)]
    _second_opinions(clean, target, modes)
    outcome = Outcome(
        target, modes, seed, call, len(results), sum(r.count for r in clean), sum(r.open for r in clean),
        max((r.ratio for r in clean), default=0.0), None, source=name if isinstance(name, str) else "",
        batch=batch, left_out=len(chosen) - len(results),
    )  # fmt: skip
    if found:
        every = len(found) == len(results)
        first = min(found, key=lambda f: f.kind not in SEPARATE) if every else found[0]
        smallest, exact = _confirmed(first, call, target, modes, at is None)
        outcome = replace(
            outcome, finding=smallest, found_in=first.case.family, exact=exact, failing=len(found),
            baseline=_baseline(smallest, exact, target, modes),
            cause=cause(smallest, results, call, target, modes),
        )  # fmt: skip
    elif outcome.open and modes.dtype in HALF and modes.inside is None:
        outcome = replace(outcome, open_inside=_open_inside(clean, target, replace(modes, inside="float32")))
    return replace(outcome, seconds=time.monotonic() - start)


def _chosen(target: Target, modes: Modes, seed: int, batch: int | None, at: Mapping[str, Any] | None) -> list[Case]:
    if at is not None:
        return [case_at(target, modes, at, batch)]
    return [with_ignored(case, target, modes) for case in cases(target, modes.form, seed, batch)]


def _fitting(
    call: Call, target: Target, modes: Modes, seed: int, batch: int | None, at: Mapping[str, Any] | None
) -> tuple[Call, int | None]:
    """The call and the rows that the function takes at the first input: as asked if it takes that, or if nothing fits.

    Tried otherwise are three rows under a leading axis, and the arrays of libraries that are loaded.
    """
    calls = [call, *loaded_libraries(call)]
    for rows in dict.fromkeys((batch, batch if at is not None else batch or 3)):
        if at is None:
            first = next(cases(target, modes.form, seed, rows), None)
        else:
            first = case_at(target, modes, at, rows)
        for tried in calls if first is not None else []:
            found = run(tried, target, first, modes)
            if not (isinstance(found, Finding) and found.kind in SEPARATE):
                return tried, rows
    return call, batch


def _require_dtype(call: Call, modes: Modes) -> None:
    """Raise BadCall where the library's arrays do not hold the dtype, as JAX's do not hold float64 unless told so."""
    try:
        held = as_array(call.arrays(np.ones(1, modes.form.dtype))).dtype
    except Exception:
        return  # an object of the author's own, which the function may know more of
    if held.kind == "f" and held != modes.form.dtype:
        why = f": {NO_FLOAT64}" if call.library == "jax" else ""
        raise BadCall(f"the function's arrays hold {held}, not {modes.dtype}{why}")


def _open_inside(clean: Sequence[Clean], target: Target, modes: Modes) -> int:
    """How many components would be left open in these modes."""
    return sum(int((~expected(target, r.case, modes).promised).sum()) if r.open else 0 for r in clean)


# -- against enclosures ------------------------------------------------------------------------------------------------


def _second_opinions(clean: Sequence[Clean], target: Target, modes: Modes) -> None:
    """Compare the worst components that are within bounds with their enclosures."""
    closest = sorted((r for r in clean if r.count > r.open and r.count <= 64), key=lambda r: -r.ratio)
    for result in closest[:SECOND_OPINIONS]:
        exact = exactly(target, result.case, result.place, modes)
        if exact is not None and np.isfinite(result.expected.error[result.place]):
            agree(exact, result.expected.value[result.place], result.expected.error[result.place])


def agree(exact: Exactly, value: Any, error: Any) -> None:
    """Raise Disagreement where the extended-precision value is not where the enclosure is."""
    top = float(exact.exact)
    gap = abs((Wide(top) - value) + Wide(float(exact.exact - type(exact.exact)(top)) if np.isfinite(top) else 0))
    if gap > error / 2:
        raise Disagreement(f"value {value!r}, enclosure {top!r}: they differ by more than half the bound")


def _confirmed(
    finding: Finding, call: Call, target: Target, modes: Modes, shrink: bool
) -> tuple[Finding, Exactly | None]:
    """The finding at its smallest input, and the enclosure there of what it should be."""

    def fails(case: Case) -> Finding | None:
        found = run(call, target, case, modes)
        return found if isinstance(found, Finding) and telling <= size_of(found) else None

    telling = min(size_of(finding), Wide(2) ** modes.form.least)  # an error beside 0 has no ulp to be counted in
    if shrink:
        finding = shrunk(finding, target, fails)
    if finding.kind in SEPARATE or finding.kind == "spurious":
        return finding, None
    if sum(a.size for row in finding.case.rows for a in row.arrays.values()) > ENCLOSED:
        return finding, None
    exact = exactly(target, finding.case, finding.place, modes)
    if finding.kind == "error" and exact is not None and finding.expected is not None:
        agree(exact, finding.expected.value[finding.place], finding.expected.error[finding.place])
    return finding, exact


def size_of(finding: Finding) -> Any:
    """The size of the value that the worst component should have; infinite where there is no component."""
    if finding.kind != "error" or finding.expected is None:
        return np.inf
    return abs(finding.expected.value[finding.place])


def _baseline(finding: Finding, exact: Exactly | None, target: Target, modes: Modes) -> float | None:
    """The error, in ulp, of plain NumPy code in the same dtype at the same component, where it takes the same input."""
    if exact is None or finding.case.batched:
        return None
    row = finding.case.rows[0]
    values = [
        row.arrays.get(a.name, row.indices.get(a.name, row.sizes.get(a.name))) for a in target.plain_numpy.arguments
    ]
    try:
        with np.errstate(all="ignore"):
            result = np.asarray(target.plain_numpy(*values))
    except Exception:
        return None
    return ulps(float(result[finding.place]), exact, modes)


def ulps(value: float, exact: Exactly, modes: Modes) -> float:
    """The distance from the true value in ulp."""
    from derive.evidence.ulp import Reference, error

    return error(value, Reference(exact.nearest, exact.exact), modes.form)


__all__ = ["Cause", "Clean", "Disagreement", "Finding", "Outcome", "check", "ulps"]

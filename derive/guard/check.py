"""The check of one function: every input, the worst finding, what it is due to."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derive.evidence.inputs import Inputs
from derive.evidence.ulp import FORMATS
from derive.guard.calling import Call, Function, prepare_call
from derive.guard.cases import Case, cases
from derive.guard.compare import SEPARATE, Clean, Finding, compared, judged, run
from derive.guard.expect import REDUCTIONS, UNDEFINED, Exactly, Modes, exactly, expected, in_dtype
from derive.guard.mistakes import Seen, named
from derive.guard.running import Wide
from derive.guard.shrink import shrunk
from derive.guard.target import Target, resolve

SECONDS = 20.0  # for all calls of the function
SECOND_OPINIONS = 3  # cases whose worst component is compared with its enclosure although it is within bounds
WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
NAMING = 8  # cases that are run again in float64 to name a mistake
NARROWER = ("float32", "float16", "bfloat16")


class Disagreement(AssertionError):
    """The extended-precision value of the formula is not where its enclosure is: a bug of ours."""


@dataclass(frozen=True)
class Cause:
    """`kind` is wrong formula, lost precision or unknown; `mistake` names it, `text` says what was measured."""

    kind: str
    text: str
    mistake: str | None = None


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
    at: dict[str, Any] | None = None,
    folder: Any = None,
) -> Outcome:
    """Hold the function against the named quantity.

    Raises UnknownTarget, LanguageError, CodegenError for the name, BadCall for the function, ValueError for a mode.
    """
    start = time.monotonic()
    modes = modes or Modes()
    validate(modes, batch)
    target = name if isinstance(name, Target) else resolve(name, folder)
    call = prepare_call(function, target, arguments, arrays)
    target = target.with_arguments(call.names)
    if at is not None:
        chosen = [case_at(target, modes, at, batch)]
    else:
        chosen = list(cases(target, modes.form, seed, batch or _needed_batch(call, target, modes, seed)))
    results: list[Finding | Clean] = []
    for case in chosen:
        results.append(run(call, target, _with_ignored(case, target, modes), modes))
        if time.monotonic() - start > SECONDS:
            break
    found = [r for r in results if isinstance(r, Finding)]
    clean = [r for r in results if isinstance(r, Clean)]
    _second_opinions(clean, target, modes)
    outcome = Outcome(
        target, modes, seed, call, len(results), sum(r.count for r in clean), sum(r.open for r in clean),
        max((r.ratio for r in clean), default=0.0), None, source=name if isinstance(name, str) else "",
    )  # fmt: skip
    for finding in sorted(found, key=lambda f: f.kind not in SEPARATE) if len(found) == len(results) else found:
        confirmed = _confirmed(finding, call, target, modes, at is None)
        if confirmed is not None:
            smallest, exact = confirmed
            outcome = replace(
                outcome, finding=smallest, found_in=finding.case.family, exact=exact, failing=len(found),
                baseline=_baseline(smallest, exact, target, modes),
                cause=_cause(smallest, results, call, target, modes),
            )  # fmt: skip
            break
    return replace(outcome, seconds=time.monotonic() - start)


def validate(modes: Modes, batch: int | None) -> None:
    """Raise ValueError for what is no mode."""
    for what, value, allowed in (
        ("dtype", modes.dtype, tuple(FORMATS)),
        ("inside", modes.inside or modes.dtype, tuple(FORMATS)),
        ("reduction", modes.reduction, REDUCTIONS),
        ("undefined", modes.undefined, UNDEFINED),
    ):
        if value not in allowed:
            raise ValueError(f"{what}={value!r}: choose of {', '.join(allowed)}")
    if modes.ulp is not None and not modes.ulp >= 0:
        raise ValueError(f"ulp={modes.ulp!r}: a number of units, not negative")
    if batch is None and (modes.reduction != "none" or modes.ignore_index is not None):
        raise ValueError("a reduction or an ignored label needs rows: give batch=3, say")
    if batch is not None and batch < 1:
        raise ValueError(f"batch={batch!r}: at least 1")


def _needed_batch(call: Call, target: Target, modes: Modes, seed: int) -> int | None:
    """3 where the function refuses the formula's own shapes but takes them with a batch axis in front; else None."""
    first = next(cases(target, modes.form, seed), None)
    if first is None or not isinstance(trial := run(call, target, first, modes), Finding) or trial.kind not in SEPARATE:
        return None
    rows = next(cases(target, modes.form, seed, 3), None)
    if rows is None:
        return None
    again = run(call, target, rows, modes)
    return None if isinstance(again, Finding) and again.kind in SEPARATE else 3


def _with_ignored(case: Case, target: Target, modes: Modes) -> Case:
    """The case with the label of its first row ignored."""
    labels = [a.name for a in target.arguments if a.kind == "index"]
    if modes.ignore_index is None or not labels or len(case.rows) < 2:
        return case
    row, name = case.rows[0], labels[0]
    if name in row.indices:
        row = replace(row, indices={**row.indices, name: modes.ignore_index})
    else:
        row = replace(row, arrays={**row.arrays, name: np.full_like(row.arrays[name], modes.ignore_index)})
    return replace(case, rows=(row, *case.rows[1:]))


def case_at(target: Target, modes: Modes, at: dict[str, Any], batch: int | None) -> Case:
    """The case of an input given as nested lists of numbers, decimal or hexadecimal strings, by name."""
    missing = [a.name for a in target.arguments if a.name not in at and a.kind != "size"]
    if missing:
        raise ValueError(f"the input lacks {', '.join(missing)}")
    values = {a.name: _numbers(at[a.name]) for a in target.arguments if a.name in at and a.kind != "size"}
    rows = [{n: v[k] if np.ndim(v) else v for n, v in values.items()} for k in range(batch)] if batch else [values]
    made: list[Inputs] = []
    for row in rows:
        arrays: dict[str, np.ndarray] = {}
        indices: dict[str, int] = {}
        sizes = {axis: int(at.get(axis, 1)) for axis in target.context.axes}
        for a in target.arguments:
            if a.kind == "size":
                continue
            if a.kind == "index" and a.name not in target.quantity.context.declarations:
                indices[a.name] = int(row[a.name])
                continue
            kind = np.dtype(np.intp) if a.kind == "index" else np.dtype(bool) if a.kind == "bit" else modes.form.dtype
            arrays[a.name] = np.asarray(row[a.name]).astype(kind)
            if arrays[a.name].ndim != len(a.axes):
                raise ValueError(f"{a.name} has {arrays[a.name].ndim} axes, not {len(a.axes)}")
            for place, axis in enumerate(a.axes):
                sizes[axis] = arrays[a.name].shape[place]
        made.append(Inputs("given", 0, sizes, indices, arrays))
    return Case("the given input", 0, tuple(made), bool(batch))


def _numbers(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return np.array([_numbers(v) for v in value])
    if isinstance(value, str):
        return float.fromhex(value) if "0x" in value.lower() else float(value)
    return value


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
) -> tuple[Finding, Exactly | None] | None:
    """The finding at its smallest input, confirmed by the enclosure; None where the enclosure says all is well."""

    def fails(case: Case) -> Finding | None:
        found = run(call, target, case, modes)
        return found if isinstance(found, Finding) and telling <= size_of(found) else None

    telling = min(size_of(finding), Wide(2) ** modes.form.least)  # an error beside 0 has no ulp to be counted in
    if shrink:
        finding = shrunk(finding, target, fails)
    if finding.kind in SEPARATE or finding.kind == "spurious":
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


# -- causes ------------------------------------------------------------------------------------------------------------


def _cause(
    finding: Finding, results: Sequence[Finding | Clean], call: Call, target: Target, modes: Modes
) -> Cause | None:
    """A wrong formula, or lost precision; None where there is nothing to say beyond the finding."""
    if finding.case.layout != "contiguous":  # the smallest input that fails would be contiguous if one were
        return Cause("memory layout", "the same numbers in contiguous memory give a result within bounds")
    seen = [
        Seen(r.case, r.result, r.expected)
        for r in results
        if r.result is not None and r.expected is not None and not (isinstance(r, Finding) and r.kind == "dtype")
    ]
    mistake = named(seen, target, modes) if seen else None
    if mistake is None and seen and finding.kind == "error":
        mistake = _named_in_float64(results, call, target, modes)
    if mistake is not None:
        return Cause("wrong formula", mistake, mistake)
    if finding.kind in ("nan", "infinite") and not _promised(finding, target, modes):
        text = "an intermediate result of the formula as it is written overflows or vanishes here"
        return Cause("lost precision", f"{text}; a shift by the maximum avoids it")
    if finding.kind != "error":
        return None
    return _precision(finding, results, call, target, modes)


def _named_in_float64(results: Sequence[Finding | Clean], call: Call, target: Target, modes: Modes) -> str | None:
    """The mistake as the function makes it in float64, at the same stored numbers, where it works there."""
    if modes.dtype == "float64":
        return None
    there = replace(modes, dtype="float64", inside=None, ulp=None)
    seen = []
    for r in results[:NAMING]:
        found = run(call, target, in_dtype(r.case, there.form), there)
        if found.result is None or found.expected is None or found.result.dtype != there.form.dtype:
            return None
        seen.append(Seen(found.case, found.result, found.expected))
    return named(seen, target, there)


def _precision(finding: Finding, results: Sequence[Finding | Clean], call: Call, target: Target, modes: Modes) -> Cause:
    """Whether the error is one of arithmetic: a less stable form, less precise steps; or none of these."""
    if _promised(finding, target, modes) and _explained(results, target, replace(modes, ulp=None), stable=False):
        return Cause("lost precision", "the formula as it is written, without a shift by the maximum, loses as much")
    falls = _falls(finding, call, target, modes)
    if falls is True:
        return Cause("lost precision", "the error falls with the precision of the dtype")
    for dtype in NARROWER:
        inside = replace(modes, inside=dtype, ulp=None)
        narrower = FORMATS[dtype].precision < modes.inner.precision
        if narrower and _promised(finding, target, inside, True) and _explained(results, target, inside, stable=True):
            text = f"intermediate results in {dtype} would explain the error"
            if falls is None:
                return Cause("lost precision", text)
            return Cause("unknown", f"a small mistake in the formula, or a step in less precision: {text}")
    if falls is False:
        return Cause("wrong formula", "the error does not fall with the precision of the dtype; no known mistake fits")
    if finding.ratio * 2.0**-modes.form.precision > 2.0 ** -(modes.form.precision / 2):
        return Cause("wrong formula", "the error is far beyond what rounding explains; no known mistake fits")
    return Cause("unknown", "one dtype alone does not tell a wrong formula from lost precision here")


def _promised(finding: Finding, target: Target, modes: Modes, stable: bool = False) -> bool:
    """Whether that way to compute the formula promises anything for the component in question."""
    return bool(expected(target, finding.case, modes, stable).promised[finding.place])


def _explained(results: Sequence[Finding | Clean], target: Target, modes: Modes, stable: bool) -> bool:
    """Whether all results are within the bounds of another way to compute the formula."""
    for r in results:
        if r.result is None:
            return False
        if not isinstance(judged(r.result, expected(target, r.case, modes, stable), r.case, modes), Clean):
            return False
    return True


def _falls(finding: Finding, call: Call, target: Target, modes: Modes) -> bool | None:
    """Whether the error at the same stored numbers falls in a wider dtype (for float64: rises in float32)."""
    other = WIDER.get(modes.dtype, "float32")
    there = replace(modes, dtype=other, inside=None, ulp=None)
    case = in_dtype(finding.case, there.form)
    found = run(call, target, case, there)
    if isinstance(found, Finding) and found.kind != "error" or found.result is None or found.expected is None:
        return None
    place = finding.place
    here = abs(Wide(finding.result[place]) - finding.expected.value[place])  # type: ignore[index, union-attr]
    gap = abs(Wide(found.result[place]) - found.expected.value[place])
    if modes.dtype == "float64":
        here, gap = gap, here
    if here == 0:
        return None
    return bool(gap < here / 64)


__all__ = ["Cause", "Clean", "Disagreement", "Finding", "Outcome", "check", "compared", "ulps"]

"""What a failure is due to: a wrong formula, lost precision, flushed subnormals, memory layout, chance; or unknown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from derive.evidence.ulp import FORMATS
from derive.guard.calling import Call
from derive.guard.compare import SEPARATE, Clean, Finding, judged, run
from derive.guard.expect import Modes, expected, in_dtype
from derive.guard.mistakes import Seen, named
from derive.guard.running import Wide
from derive.guard.target import Target

WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64"}
NAMING = 8  # cases that are run again in float64 to name a mistake
NARROWER = ("float32", "float16", "bfloat16")


@dataclass(frozen=True)
class Cause:
    """`kind` is one of those of this module; `mistake` names a wrong formula, `text` says what was measured."""

    kind: str
    text: str
    mistake: str | None = None


def cause(
    finding: Finding, results: Sequence[Finding | Clean], call: Call, target: Target, modes: Modes
) -> Cause | None:
    """What the finding is due to; None where there is nothing to say beyond it."""
    if finding.case.layout != "contiguous":  # the smallest input that fails would be contiguous if one were
        return Cause("memory layout", "the same numbers in contiguous memory give a result within bounds")
    if _varies(finding, call, target, modes):
        return Cause("not repeatable", "called twice with the same input, the function gave two results")
    if finding.kind == "error" and not modes.flush and _flushes(results, modes, target):
        words = "all results are within bounds where subnormal numbers may become 0 (flush=True or --flush says so)"
        return Cause("flush to zero", words)
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


def _varies(finding: Finding, call: Call, target: Target, modes: Modes) -> bool:
    """Whether the function gives something else when it is called again."""
    again = run(call, target, finding.case, modes)
    if finding.kind in SEPARATE or finding.result is None or again.result is None:
        return not (isinstance(again, Finding) and again.kind == finding.kind)
    first, second = finding.result, again.result
    return first.shape != second.shape or not np.array_equal(first.astype(Wide), second.astype(Wide), equal_nan=True)


def _flushes(results: Sequence[Finding | Clean], modes: Modes, target: Target) -> bool:
    """Whether subnormal numbers that became 0 explain all results."""
    return _explained(results, target, replace(modes, flush=True), stable=True)


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

"""What is said about a check: a first line that stands alone, then input, values, cause, and how to see it again."""

from __future__ import annotations

import decimal as decimals
import math
import shlex
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from derive.evidence.measure import shortest
from derive.guard.check import Outcome, ulps
from derive.guard.compare import Finding, allowance
from derive.guard.reproduce import at, formula_name, reproduce, sizes_text
from derive.guard.running import Wide
from derive.guard.target import split
from derive.language.errors import printable

MAX_SHOWN = 24  # numbers of one array
SCHEMA = 1


def text(outcome: Outcome) -> str:
    """The whole message, several lines for a failure and one for a success."""
    return failure(outcome) if outcome.finding is not None else success(outcome)


def success(outcome: Outcome) -> str:
    o = outcome
    if o.nothing_checked:
        return f"nothing was checked: the formula `{o.target.name}` promises nothing at any input in {o.modes.dtype}"
    left = f", {o.open} left open{_inside(o)}" if o.open else ""
    closest = f"the largest error is {o.closest:.2g} of what is allowed"
    return (
        f"within bounds: {o.components - o.open} components of {o.cases} inputs in {o.modes.dtype}{left}; {closest}"
        f" (seed {o.seed}){_modes(o)}{_late(o)}{_unproved(o)}"
    )


def _inside(o: Outcome) -> str:
    """How many were left open if intermediate results were held to float32, where that promises more."""
    fewer = o.open_inside is not None and o.open_inside < o.open
    return f' ({o.open_inside} with inside="float32")' if fewer else ""


def _late(o: Outcome) -> str:
    return f"; for {o.left_out} more inputs there was no time" if o.left_out else ""


def failure(outcome: Outcome) -> str:
    o, f = outcome, outcome.finding
    assert f is not None
    lines = [headline(o)]
    if o.cause is not None:
        lines.append(
            f"  {o.cause.kind}: {printable(o.cause.text)}" if o.cause.kind != "unknown" else f"  cause: {o.cause.text}"
        )
    if f.kind not in ("raises", "shape", "dtype"):
        lines += _numbers(o, f)
    lines.append(f"  found in the inputs {o.found_in!r}; {o.failing} of {o.cases} inputs fail")
    lines += _input(o, f)
    lines += [f"  {note}" for note in (_modes(o)[2:], _late(o)[2:], _unproved(o)[2:]) if note]
    lines.append(f"  reproduce: {reproduce(o)}")
    lines.append(
        f"  formula: {printable(o.target.formula)}  sha256:{o.target.digest[:12]}  (derive show {_shown_name(o)})"
    )
    return "\n".join(lines)


def headline(o: Outcome) -> str:
    """The first line: what differs, by how much, in which dtype."""
    f = o.finding
    assert f is not None
    name = f"the {'verified ' if o.target.verdict in (None, 'proved') else ''}formula `{o.target.name}`"
    if f.kind == "raises":
        return f"your function fails where {name} has a value: {printable(f.detail)}"
    if f.kind in ("shape", "dtype"):
        return f"your function disagrees with {name} about the {f.kind}: {f.detail}"
    at = f" at index {f.place}" if f.place else ""
    many = f" ({f.over} of {f.count} components)" if f.count > 1 else ""
    if f.kind == "nan":
        return f"your function gives nan{at}{many} in {o.modes.dtype}, where {name} has a finite value"
    if f.kind == "infinite":
        return f"your function gives an infinity{at}{many} in {o.modes.dtype}, where {name} has a finite value"
    if f.kind == "spurious":
        return f"your function does not give {o.modes.undefined}{at}{many}, where {name} has no value"
    if o.exact is not None and not o.exact.exact:
        assert f.result is not None and f.expected is not None
        got, allowed = float(f.result[f.place]), float(allowance(f.expected, o.modes)[f.place])
        return f"your function gives {got:.3g}{at}, where {name} is 0 (allowed {allowed:.2g}) in {o.modes.dtype}"
    if o.exact is None:
        return f"your function differs from {name} by {f.ratio:.4g} times what is allowed in {o.modes.dtype}"
    off, allowed = _in_ulp(o, f)
    return f"your function differs from {name} by {off} ulp (allowed {allowed}) in {o.modes.dtype}"


def _in_ulp(o: Outcome, f: Finding) -> tuple[str, str]:
    """The error of the worst component, and what is allowed there, in ulp of its true value."""
    assert f.result is not None and f.expected is not None
    assert o.exact is not None
    allowed = float(allowance(f.expected, o.modes)[f.place])
    unit = float(o.modes.form.ulp(o.exact.exact))
    return _short(ulps(float(f.result[f.place]), o.exact, o.modes)), _short(allowed / unit)


def decimal(value: Fraction, digits: int = 20) -> str:
    """The number in decimal, rounded to so many digits."""
    context = decimals.Context(prec=digits, Emin=-(10**9), Emax=10**9)
    return format(
        context.divide(decimals.Decimal(value.numerator), decimals.Decimal(value.denominator)).normalize(context), ""
    )


def _short(value: float) -> str:
    if not math.isfinite(value):
        return "infinitely many"
    return f"{value:.3g}" if value < 100 or value >= 1e7 else f"{value:.0f}"


def _numbers(o: Outcome, f: Finding) -> list[str]:
    """Yours, the nearest number, the exact value with its radius, errors, and what plain NumPy gives."""
    assert f.result is not None and f.expected is not None
    form = o.modes.form
    got = float(f.result[f.place])
    allowed = float(allowance(f.expected, o.modes)[f.place])
    share = 100 * f.over / max(f.count, 1)
    median = f"; median {_short(_median(o, f))} ulp" if f.kind == "error" and f.count > 1 else ""
    lines = [f"  worst at index {f.place}: {f.over} of {f.count} outputs over the limit ({share:.1f}%){median}"]
    if o.exact is None:
        return [*lines, f"  yours    {shortest(got, form)} = {got.hex()}"]
    exact = o.exact
    value = decimal(exact.exact)
    both = f"  yours    {shortest(got, form)}     nearest {shortest(exact.nearest, form)}"
    lines.append(f"{both}     exact {value} (+- {float(exact.radius):.1e})")
    lines.append(f"           hex: {got.hex()}, {exact.nearest.hex()}")
    if math.isfinite(got):
        gap = abs(got - float(exact.exact))
        relative = f"   rel err {gap / abs(float(exact.exact)):.2e}" if exact.exact and float(exact.exact) else ""
        base = (
            ""
            if o.baseline is None
            else f"   |  baseline (plain NumPy {o.modes.dtype}, same input): {_short(o.baseline)} ulp"
        )
        lines.append(f"  abs err {gap:.2e}{relative}{base}")
        unit = float(form.ulp(exact.exact))
        rule = f"ulp={o.modes.ulp:g}" if o.modes.ulp is not None else "from dtype, sizes and condition"
        in_u = float(Fraction(allowed) / abs(exact.exact) * 2**form.precision) if exact.exact else math.inf
        size = f" = {in_u:.3g} u of the exact value" if math.isfinite(in_u) else ""
        lines.append(
            f"  allowed  {allowed:.2e} = {_short(allowed / unit)} ulp{size} ({rule}; u = 2**-{form.precision})"
        )
    return lines


def _median(o: Outcome, f: Finding) -> float:
    """The median error of the components that something is promised for, in ulp of what they should be."""
    assert f.result is not None and f.expected is not None
    want, form = f.expected, o.modes.form
    with np.errstate(all="ignore"):
        exponent = np.maximum(np.frexp(np.abs(want.value))[1] - 1, form.least)
        off = np.ldexp(np.abs(f.result.astype(Wide) - want.value), form.precision - 1 - exponent)
    return float(np.median(off[want.promised]))


def _input(o: Outcome, f: Finding) -> list[str]:
    """The input: sizes, then each array in decimal and exactly."""
    sizes = ", ".join(f"{axis} = {f.case.sizes[axis]}" for axis in o.target.axes)
    lines = [f"  sizes    {sizes}" + (f", batch = {len(f.case.rows)}" if f.case.batched else "")]
    for number, row in enumerate(f.case.rows):
        which = f"[{number}]" if f.case.batched else ""
        for name, index in row.indices.items():
            lines.append(f"  input    {name}{which} = {index}")
        for name, array in row.arrays.items():
            if array.size > MAX_SHOWN:
                lines.append(f"  input    {name}{which}: {array.shape} numbers, see the command below")
                continue
            lines.append(f"  input    {name}{which} = {_listed(array, lambda x: shortest(x, o.modes.form))}")
            if array.dtype.kind not in "iub" and not np.array_equal(array, np.rint(array.astype(float))):
                lines.append(f"           hex: {_listed(array, float.hex)}")
    if f.case.layout != "contiguous":
        lines.append(f"  memory   {f.case.layout}: it does not fail with contiguous arrays")
    return lines


def _listed(array: np.ndarray, show: Any) -> str:
    if array.ndim == 0:
        return str(int(array)) if array.dtype.kind in "iub" else str(show(float(array)))
    return "[" + ", ".join(_listed(part, show) for part in array) + "]"


def _modes(o: Outcome) -> str:
    said = o.modes.spoken() + ([f"sizes {sizes_text(o.target)}"] if o.target.sizes else [])
    return f"; modes: {', '.join(said)}" if said else ""


def _unproved(o: Outcome) -> str:
    return (
        ""
        if o.target.verdict in (None, "proved")
        else f"; beware: the formula itself is {o.target.verdict}, not proved"
    )


def _shown_name(o: Outcome) -> str:
    """What `derive show` takes: the theorem, or the theory of a definition."""
    source, what = split(formula_name(o))
    return shlex.quote(f"{source}.{what}" if o.target.verdict is not None else source)


# -- as data ----------------------------------------------------------------------------------------------------------


def data(o: Outcome) -> dict[str, Any]:
    """The outcome as `derive test --json` prints it."""
    found: dict[str, Any] | None = None
    if o.finding is not None:
        f = o.finding
        got = float(f.result[f.place]) if f.result is not None and f.kind not in ("raises", "shape", "dtype") else None
        off = ulps(got, o.exact, o.modes) if got is not None and o.exact is not None else None
        found = {
            "kind": f.kind, "detail": f.detail, "index": list(f.place), "sizes": f.case.sizes, "input": at(f, o.target),
            "inputs": o.found_in, "over": f.over, "components": f.count,
            "yours": None if got is None else got.hex(), "ulp": off if off is None or math.isfinite(off) else None,
            "exact": None if o.exact is None else decimal(o.exact.exact),
            "radius": None if o.exact is None else float(o.exact.radius),
            "allowed": float(allowance(f.expected, o.modes)[f.place]) if f.kind == "error" and f.expected else None,
            "baseline_ulp": o.baseline if o.baseline is None or math.isfinite(o.baseline) else None,
            "cause": None if o.cause is None else asdict(o.cause),
            "reproduce": reproduce(o),
        }  # fmt: skip
    return {
        "schema": SCHEMA, "formula": o.target.formula, "quantity": o.target.name, "verdict": o.target.verdict,
        "sha256": o.target.digest, "dtype": o.modes.dtype, "modes": o.modes.spoken(), "seed": o.seed,
        "ok": o.ok and not o.nothing_checked, "cases": o.cases, "components": o.components, "open": o.open,
        "closest": o.closest, "failing": o.failing, "finding": found, "message": text(o),
        "seconds": round(o.seconds, 3),
    }  # fmt: skip

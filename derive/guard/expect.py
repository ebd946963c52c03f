"""What a call should return: values with componentwise bounds, and enclosures of single components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any

import numpy as np

from derive.evidence.inputs import Inputs, place_of
from derive.evidence.ulp import FORMATS, Format, references
from derive.guard.cases import Case
from derive.guard.running import Evaluator, Wide
from derive.guard.target import Target
from derive.kernel.context import Context
from derive.term import Term

REDUCTIONS = ("none", "sum", "mean")
UNDEFINED = ("any", "zero", "nan")


@dataclass(frozen=True)
class Modes:
    """What is agreed beyond the formula.

    `inside` is the format that intermediate results are kept in, `flush` allows subnormal numbers to become 0,
    `undefined` says what stands where the formula has no value (an all-masked row), `reduction` what is done with the
    rows of a batch, `ignore_index` which label takes a row out.
    """

    dtype: str = "float64"
    inside: str | None = None
    ulp: float | None = None
    flush: bool = False
    undefined: str = "any"
    reduction: str = "none"
    ignore_index: int | None = None

    @property
    def form(self) -> Format:
        return FORMATS[self.dtype]

    @property
    def inner(self) -> Format:
        return FORMATS[self.inside or self.dtype]

    def spoken(self) -> list[str]:
        """The modes that are not the ordinary ones."""
        said = [f"intermediate results in {self.inside}"] if self.inside and self.inside != self.dtype else []
        said += ["subnormal numbers may become 0"] if self.flush else []
        said += [f"{self.undefined} where the formula has no value"] if self.undefined != "any" else []
        said += [f"reduction {self.reduction}"] if self.reduction != "none" else []
        return said + ([f"rows labelled {self.ignore_index} are ignored"] if self.ignore_index is not None else [])


@dataclass(frozen=True)
class Expected:
    """Values and bounds over the result's axes. Where the bound is infinite or nan nothing is promised."""

    value: np.ndarray
    error: np.ndarray

    @property
    def promised(self) -> np.ndarray:
        return np.isfinite(self.error)


def ignored(inputs: Inputs, target: Target, modes: Modes) -> bool:
    """Whether the row's label takes it out."""
    if modes.ignore_index is None:
        return False
    labels = [inputs.indices.get(a.name, inputs.arrays.get(a.name)) for a in target.arguments if a.kind == "index"]
    return any(np.any(np.asarray(v) == modes.ignore_index) for v in labels if v is not None)


def fixed_letters(context: Context, inputs: Inputs) -> dict[Term, int]:
    return {k: inputs.indices[k.value[0]] for k in context.letters if k.value[0] in inputs.indices}


def evaluator(context: Context, inputs: Inputs, form: Format, flush: bool = False) -> Evaluator:
    """The formula's values at one row of inputs."""
    return Evaluator(context, inputs.sizes, inputs.arrays, fixed_letters(context, inputs), form, flush)


def within(context: Context, inputs: Inputs, target: Target, modes: Modes) -> Evaluator:
    """The same as it is computed in these modes: what the function was given had been rounded to the dtype."""
    here = evaluator(context, inputs, modes.inner, modes.flush)
    if modes.inner is not modes.form:
        unit, least = Wide(2) ** -modes.form.precision, Wide(2) ** (modes.form.least - modes.form.precision)
        here.rounded = dict.fromkeys(target.handed, (unit, least))
    return here


def of_term(
    term: Term,
    context: Context,
    letters: tuple[Term, ...],
    case: Case,
    target: Target,
    modes: Modes,
    bases: Sequence[Evaluator] = (),
) -> Expected:
    """The values and bounds of a term in the place of the target's, reduced over the batch as the modes say.

    `bases` hold the formula's own values for each row, to be taken over where the term's definitions are the same.
    """
    with np.errstate(all="ignore"):
        found = zip_longest(case.rows, bases[: len(case.rows)])
        rows = [_row(term, context, letters, inputs, target, modes, base) for inputs, base in found]
        value, error = rows[0] if not case.batched else (np.stack([r[k] for r in rows]) for k in (0, 1))
        if not case.batched or modes.reduction == "none":
            return Expected(value, error)
        unit, count = Wide(2) ** -modes.form.precision, len(rows)
        kept = sum(not ignored(inputs, target, modes) for inputs in case.rows)
        if not letters:
            error = error.sum(axis=0) + count * unit * np.abs(value).sum(axis=0)
            value = value.sum(axis=0)
        if modes.reduction == "mean":
            value, error = value / max(kept, 1), (error + unit * np.abs(value)) / max(kept, 1)
            error = error + unit * np.abs(value) + Wide(2) ** (modes.form.least - modes.form.precision)
        return Expected(value, error)


def _row(
    term: Term,
    context: Context,
    letters: tuple[Term, ...],
    inputs: Inputs,
    target: Target,
    modes: Modes,
    base: Evaluator | None,
) -> tuple[np.ndarray, np.ndarray]:
    if ignored(inputs, target, modes):
        shape = tuple(inputs.sizes[k.value[1]] for k in letters)
        return np.zeros(shape, Wide), np.zeros(shape, Wide)
    here = within(context, inputs, target, modes)
    if base is not None:
        here.adopt(base)
    value, error = here.over(term, letters)
    if modes.inner is not modes.form:
        error = (
            error
            + Wide(2) ** -modes.form.precision * np.abs(value)
            + Wide(2) ** (modes.form.least if modes.flush else modes.form.least - modes.form.precision)
        )
    top = (2 - Wide(2) ** (1 - modes.form.precision)) * Wide(2) ** modes.form.greatest
    error = np.where(np.abs(value) + error > top, np.where(np.isnan(error), error, Wide(np.inf)), error)
    for condition in _about_letters(target):
        test = here.truth(condition)
        wide = np.broadcast_to(_along(test.value, test.letters, letters), value.shape)
        error = np.where(wide, error, Wide(np.inf))
    return value, error


def _about_letters(target: Target) -> list[Term]:
    """The hypotheses on the result's own letters, such as i != j: elsewhere nothing is claimed."""
    own = set(target.letters)
    return [
        h for h in target.quantity.given if h.letters and not h.names and h.letters <= own | set(target.quantity.fixed)
    ]


def _along(array: np.ndarray, letters: tuple[Term, ...], wanted: tuple[Term, ...]) -> np.ndarray:
    from derive.evidence.balls import spread

    return spread(array, letters, wanted)


def expected(target: Target, case: Case, modes: Modes, stable: bool = True) -> Expected:
    """What the call should return, with the bounds of the stable form, or of the formula as it is written."""
    if stable:
        return of_term(target.stable, target.stable_context, target.letters, case, target, modes)
    return of_term(target.term, target.context, target.letters, case, target, modes)


def bases(target: Target, case: Case, modes: Modes) -> tuple[Evaluator, ...]:
    """The formula's values for each row, all definitions evaluated; none for a row whose label is ignored."""
    made = tuple(within(target.stable_context, inputs, target, modes) for inputs in case.rows)
    with np.errstate(all="ignore"):
        for here, inputs in zip(made, case.rows, strict=True):
            if not ignored(inputs, target, modes):
                here.over(target.stable, target.letters)
    return made


# -- single components -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exactly:
    """A component's true value: an exact rational within `radius` of it, and the nearest number of the format."""

    exact: Fraction
    radius: Fraction
    nearest: float


def exactly(target: Target, case: Case, place: tuple[int, ...], modes: Modes) -> Exactly | None:
    """The enclosure of one component of the result at the stored inputs; None where the formula has no value."""
    form, q = modes.form, target.quantity
    summed = case.batched and modes.reduction != "none" and not target.letters
    rows = case.rows if summed or not case.batched else (case.rows[place[0]],)
    inner = place[1:] if case.batched and not summed else place
    total, radius = Fraction(0), Fraction(0)
    for inputs in rows:
        if ignored(inputs, target, modes):
            continue
        here = place_of(q.context, inputs)
        letters = {**here.fixed, **dict(zip(q.letters, inner, strict=True))}
        (found,) = references(here, q.term, [letters], form)
        if found is None:
            return None
        total, radius = total + found.exact, radius + form.ulp(found.exact) / 2**24
    if case.batched and modes.reduction == "mean":
        kept = max(sum(not ignored(r, target, modes) for r in case.rows), 1)
        total, radius = total / kept, radius / kept
    return Exactly(total, radius, form.rounded(total))


def given(target: Target, case: Case, names: tuple[str, ...], modes: Modes) -> dict[str, Any]:
    """The arguments by name: arrays in the dtype, masks as booleans, definitions correctly rounded."""
    rows = [_given(target, inputs, names, modes) for inputs in case.rows]
    if not case.batched:
        return rows[0]
    sizes = {a.name for a in target.arguments if a.kind == "size"}
    return {n: rows[0][n] if n in sizes else np.stack([np.asarray(r[n]) for r in rows]) for n in names}


def _given(target: Target, inputs: Inputs, names: tuple[str, ...], modes: Modes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    here: Evaluator | None = None
    for name in names:
        if name in inputs.arrays:
            found[name] = inputs.arrays[name]
        elif name in inputs.indices or name in inputs.sizes:
            found[name] = inputs.indices.get(name, inputs.sizes.get(name))
        else:
            here = here or evaluator(target.stable_context, inputs, modes.form)
            with np.errstate(all="ignore"):
                found[name] = here.whole(name).value.astype(modes.form.dtype)
    return found


def in_dtype(case: Case, form: Format) -> Case:
    """The same stored numbers in another dtype; infinite where a narrower one does not hold them."""

    def cast(array: np.ndarray) -> np.ndarray:
        return array if array.dtype.kind in "iub" else array.astype(form.dtype)

    with np.errstate(all="ignore"):
        rows = tuple(replace(r, arrays={n: cast(a) for n, a in r.arrays.items()}) for r in case.rows)
    return replace(case, rows=rows)


__all__ = ["Exactly", "Expected", "Modes", "exactly", "expected", "given", "in_dtype", "of_term"]

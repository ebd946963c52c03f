"""Inputs for an implementation: families by the role of each variable, all sizes different, seeded.

Scores (what stands under an exponential) get the families that break codes: one entry, a confident maximum, an offset,
ties, results below the normal numbers. Everything else is drawn at random, cotangents never as ones. Axes have
different sizes, so that a transpose shows, and one family has them all equal, so that it can be named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np

from derive.evidence.inputs import PLAIN, Inputs, Roles, _roles, _with_sum, admitted
from derive.evidence.ulp import Format
from derive.guard.target import Target

ATTEMPTS = 8
OTHER_SIZES = (3, 2, 4, 5)  # of the axes that are not the scores' own


@dataclass(frozen=True)
class Case:
    """One call: a row of inputs, or several of the same sizes under a leading batch axis."""

    family: str
    seed: int
    rows: tuple[Inputs, ...]
    batched: bool = False
    layout: str = "contiguous"

    @property
    def sizes(self) -> dict[str, int]:
        return self.rows[0].sizes


@dataclass(frozen=True)
class Family:
    """A kind of input. `size` is that of the scores' last axis; None: all axes have the size 3."""

    name: str
    size: int | None
    scores: Any
    layout: str = "contiguous"
    ordinary: bool = True
    others: str = "plain"


def _normal(scale: float = 1.0, offset: float = 0.0) -> Any:
    return lambda rng, shape, form: scale * rng.standard_normal(shape) + offset


def _confident(rng: np.random.Generator, shape: tuple[int, ...], form: Format) -> np.ndarray:
    """One entry of each row so far above the others that they nearly vanish beside it."""
    scores = rng.standard_normal(shape)
    if shape:
        scores[..., rng.integers(shape[-1])] += 0.6 * form.precision
    return scores


def _ties(rng: np.random.Generator, shape: tuple[int, ...], form: Format) -> np.ndarray:
    return rng.integers(-1, 2, shape).astype(float) if shape else np.ones(shape)


def _equal(rng: np.random.Generator, shape: tuple[int, ...], form: Format) -> np.ndarray:
    return np.full(shape, 0.5)


def _below_normal(rng: np.random.Generator, shape: tuple[int, ...], form: Format) -> np.ndarray:
    """One entry of each row so far above the others that their exponentials are subnormal."""
    scores = rng.standard_normal(shape)
    if shape and shape[-1] > 1:
        scores[..., rng.integers(shape[-1])] -= (form.least - form.precision / 2) * np.log(2)
    return scores


def _tiny(rng: np.random.Generator, shape: tuple[int, ...], form: Format) -> np.ndarray:
    return rng.standard_normal(shape) * 2.0 ** (form.least - 2)


FAMILIES: tuple[Family, ...] = (
    Family("small", 4, _normal()),
    Family("two entries", 2, _normal()),
    Family("odd size", 17, _normal()),
    Family("equal sizes", None, _normal()),
    Family("one entry", 1, _normal()),
    Family("every second entry of an array", 6, _normal(2), layout="strided"),
    Family("backwards in memory", 5, _normal(2), layout="reversed"),
    Family("columns first in memory", 7, _normal(2), layout="columns"),
    Family("spread 10", 9, _normal(10), ordinary=False),
    Family("spread 100", 9, _normal(100), ordinary=False),
    Family("offset 80", 5, _normal(1, 80), ordinary=False),
    Family("offset 10000", 5, _normal(1, 10_000), ordinary=False),
    Family("confident", 7, _confident, ordinary=False),
    Family("ties", 6, _ties, ordinary=False),
    Family("all equal", 5, _equal, ordinary=False),
    Family("results below the normal numbers", 4, _below_normal, ordinary=False),
    Family("scores below the normal numbers", 4, _tiny, ordinary=False),
    Family("cotangents below the normal numbers", 4, _normal(), ordinary=False, others="tiny"),
    Family("large", 1025, _normal(), ordinary=False),
)


def cases(
    target: Target, form: Format, seed: int = 0, batch: int | None = None, masked_rows: bool = True
) -> Iterator[Case]:
    """The inputs of all families, the same for the same seed; those that cannot meet the hypotheses are left out."""
    roles = _roles(target.quantity.context, target.arguments, [target.quantity.term])
    bits = any(a.kind == "bit" and a.axes for a in target.arguments)
    for family in FAMILIES:
        case = _case(target, form, roles, family, seed, batch, "random")
        if case is not None:
            yield case
    if bits:
        for mask in ("open", "one row hidden") if masked_rows else ("open",):
            case = _case(target, form, roles, replace(FAMILIES[0], name=f"mask {mask}"), seed, batch, mask)
            if case is not None:
                yield case


def _case(
    target: Target, form: Format, roles: Roles, family: Family, seed: int, batch: int | None, mask: str
) -> Case | None:
    sizes = _sizes(target, roles, family)
    rows = []
    for row in range(batch or 1):
        for attempt in range(ATTEMPTS):
            rng = np.random.default_rng([seed, crc32(family.name.encode()), row, attempt])
            inputs = _draw(target, form, roles, family, rng, sizes, mask)
            if admitted(target.quantity.context, inputs):
                rows.append(inputs)
                break
        else:
            return None
    return Case(family.name, seed, tuple(rows), batch is not None, family.layout)


def _sizes(target: Target, roles: Roles, family: Family) -> dict[str, int]:
    """The family's size for the last axis of the first scores, other ones for the other axes, none equal to another.

    Where the function takes certain sizes only, these in turn.
    """
    sizes = _free_sizes(target, roles, family)
    turn = FAMILIES.index(family) if family in FAMILIES else 0
    for axis, allowed in target.sizes:
        if not isinstance(allowed, str):
            sizes[axis] = max(allowed) if family.name == "large" else allowed[turn % len(allowed)]
    return {**sizes, **{axis: sizes[other] for axis, other in target.sizes if isinstance(other, str)}}


def _free_sizes(target: Target, roles: Roles, family: Family) -> dict[str, int]:
    if family.size is None:
        return dict.fromkeys(target.context.axes, 3)
    main = next((a.axes[-1] for a in target.arguments if a.name in roles.scores), None)
    main = main if main in target.axes else next(iter(target.axes), None)
    alone = len(target.axes) == 1 and len(target.letters) < 2
    size = family.size if family.size < 100 or alone else 65 if len(target.letters) < 2 else 33
    if family.size == 1:
        return {axis: 1 if axis == main else 2 for axis in target.context.axes}
    others = (k for k in OTHER_SIZES if k != size)
    sizes = {main: size} if main else {}
    for axis in (a for a in target.axes if a != main):
        sizes[axis] = next(others, 3)
    return {axis: sizes.get(axis, 2) for axis in target.context.axes}


def _draw(
    target: Target,
    form: Format,
    roles: Roles,
    family: Family,
    rng: np.random.Generator,
    sizes: dict[str, int],
    mask: str,
) -> Inputs:
    arrays: dict[str, np.ndarray] = {}
    indices: dict[str, int] = {}
    for a in target.arguments:
        shape = tuple(sizes[axis] for axis in a.axes)
        if a.kind == "size":
            continue
        if a.kind == "index" and a.name not in target.quantity.context.declarations:
            indices[a.name] = int(rng.integers(sizes[a.over or ""]))
        elif a.kind == "index":
            arrays[a.name] = rng.integers(sizes[a.over or ""], size=shape)
        elif a.kind == "bit":
            arrays[a.name] = _mask(rng, shape, mask)
        elif a.name in roles.sums:
            arrays[a.name] = _with_sum(rng, shape, roles.sums[a.name], a.kind).astype(form.dtype)
        elif a.name in roles.scores:
            arrays[a.name] = family.scores(rng, shape, form).astype(form.dtype)
        else:
            array = PLAIN[a.kind](rng, shape)
            small = 2.0 ** (form.least - 1) if family.others == "tiny" and a.kind in ("real", "random") else 1.0
            arrays[a.name] = np.asarray(array * small).astype(form.dtype)
    return Inputs(family.name, 0, sizes, indices, arrays)


def _mask(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Random bits with one set in every row; all set; or the first row hidden whole."""
    if kind == "open" or not shape:
        return np.ones(shape, bool)
    bits = rng.integers(0, 2, shape).astype(bool)
    np.put_along_axis(bits, rng.integers(0, shape[-1], (*shape[:-1], 1)), True, axis=-1)
    if kind == "one row hidden":
        bits[(0,) * (len(shape) - 1)] = False
    return bits

"""Seeded inputs for measurements: families of arrays for the variables of any theory.

A variable that stands under `exp` (or one of its kin) is a *score*: the families differ in what they do to the
scores, since that is where codes overflow and lose digits. If there is none, every real array is treated as a score.
The other variables are drawn plainly for their kind. Arrays are rounded to the dtype that is measured, and these stored
numbers are the inputs, for the code and for the enclosures alike.

Hypotheses are met exactly by the stored numbers or the draw is dropped: where entries of one array have to sum to a
number, they are drawn as k/256 with integers k, so that every format holds them and their sum exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np

from derive.codegen.source import Argument
from derive.evidence.enclosure import holds, point
from derive.evidence.hypotheses import Requirement, requirements
from derive.evidence.places import Evaluation
from derive.kernel.context import Context, Declaration, Definition
from derive.term import TRUE, Term, subterms

GROWING = frozenset({"exp", "expm1", "sinh", "cosh", "sigmoid", "softplus", "tanh"})
GRID = 256  # entries with a prescribed sum are multiples of 1/256
ATTEMPTS = 8

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Family:
    """A kind of input: the size of the scores' last axis, and how the scores are drawn."""

    name: str
    size: int
    scores: Draw
    draws: int = 3


def _normal(scale: float = 1.0, offset: float = 0.0) -> Draw:
    return lambda rng, shape: scale * rng.standard_normal(shape) + offset


def _dominant(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One entry of each row 30 to 60 above the others."""
    scores = rng.standard_normal(shape)
    if shape:
        scores[..., rng.integers(shape[-1])] += rng.uniform(30, 60)
    return scores


def _sure(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """One entry of each row ahead of the others, by anything from little to more than the digits hold."""
    scores = rng.standard_normal(shape)
    if shape:
        scores[..., rng.integers(shape[-1])] += rng.uniform(3, 40)
    return scores


def _masked(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Some entries of minus infinity, none of them first in its row."""
    scores = 3 * rng.standard_normal(shape)
    if shape:
        scores[..., 1:][rng.random(scores[..., 1:].shape) < 0.4] = -np.inf
    return scores


def _ties(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Few different values, the largest one twice and more."""
    return rng.integers(-1, 2, shape).astype(float) if shape else np.ones(shape)


def _classic(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Rows 1000, 10, 5."""
    return np.broadcast_to(np.resize([1000.0, 10.0, 5.0], shape[-1:] or (1,)), shape).reshape(shape).copy()


FAMILIES: tuple[Family, ...] = (
    Family("one entry", 1, _normal()),
    Family("small", 3, _normal()),
    Family("odd size", 17, _normal()),
    Family("spread 10", 9, _normal(10)),
    Family("spread 100", 9, _normal(100)),
    Family("offset 80", 5, _normal(1, 80)),
    Family("offset 10000", 5, _normal(1, 10_000)),
    Family("one dominant", 7, _dominant),
    Family("one ahead", 9, _sure),
    Family("1000, 10, 5", 3, _classic, 1),
    Family("ties", 6, _ties),
    Family("tiny", 5, _normal(2.0**-30)),
    Family("wide range", 9, lambda rng, shape: rng.uniform(-700, 0, shape)),
    Family("masked", 8, _masked),
    Family("many", 257, _normal(3), 1),
)


@dataclass(frozen=True)
class Inputs:
    """One draw: sizes of the axes, values of the fixed indices, and the arrays in the dtype, by name."""

    family: str
    seed: int
    sizes: dict[str, int]
    indices: dict[str, int]
    arrays: dict[str, np.ndarray]

    def exact(self) -> dict[str, Any]:
        """The stored numbers as nested lists of rationals."""
        return {name: _exact(array) for name, array in self.arrays.items()}

    @property
    def finite(self) -> bool:
        """Whether no stored number is infinite."""
        return all(np.all(np.isfinite(np.asarray(a, np.float64))) for a in self.arrays.values())


def _exact(array: np.ndarray) -> Any:
    if array.ndim == 0:
        return Fraction(float(array))
    return [_exact(part) for part in array]


def draws(
    context: Context, arguments: Iterable[Argument], terms: Iterable[Term], dtype: Any, seed: int = 0
) -> tuple[Inputs, ...]:
    """The inputs of all families, the same for the same seed; those that cannot meet the hypotheses are left out."""
    arguments = tuple(arguments)
    scores = _roles(context, arguments, terms).scores
    tables = tuple(context.declarations.values()), tuple(context.definitions.values())
    return _drawn(context.axes, *tables, context.hypotheses, context.letters, arguments, scores, np.dtype(dtype), seed)


@lru_cache(16)  # the quantities of a theory, one after the other, are measured on a few sets of inputs
def _drawn(
    axes: tuple[str, ...],
    declarations: tuple[Declaration, ...],
    definitions: tuple[Definition, ...],
    hypotheses: tuple[Term, ...],
    letters: frozenset[Term],
    arguments: tuple[Argument, ...],
    scores: frozenset[str],
    dtype: np.dtype,
    seed: int,
) -> tuple[Inputs, ...]:
    """The inputs for a context of these parts, which are all that they depend on."""
    names = {d.name: d for d in declarations}, {d.name: d for d in definitions}
    context = Context(axes, *names, hypotheses, letters=letters)
    roles = Roles(scores, dict(_prescribed(context)))
    found: list[Inputs] = []
    for family in FAMILIES:
        for number in range(family.draws):
            for attempt in range(ATTEMPTS):
                rng = np.random.default_rng([seed, crc32(family.name.encode()), number, attempt])
                inputs = _draw(context, arguments, roles, family, rng, dtype, number)
                if admitted(context, inputs):
                    found.append(inputs)
                    break
    return tuple(found)


# -- roles -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roles:
    """Which variables are scores, and which have to sum to a number along their last axis."""

    scores: frozenset[str]
    sums: dict[str, Fraction]


def _roles(context: Context, arguments: tuple[Argument, ...], terms: Iterable[Term]) -> Roles:
    bodies = list(terms) + [d.body for d in context.definitions.values()]
    growing = [t for b in bodies for t in subterms(b) if t.op == "fn" and t.value in GROWING]
    reached = {name for t in growing for name in _names(t, context)}
    real = {a.name for a in arguments if a.kind in ("real", "random") and a.axes}
    return Roles(frozenset(real & reached) or frozenset(real), dict(_prescribed(context)))


def _names(term: Term, context: Context) -> set[str]:
    seen: set[str] = set()
    waiting = list(term.names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += context.definitions[name].body.names if name in context.definitions else ()
    return seen


def _prescribed(context: Context) -> Iterator[tuple[str, Fraction]]:
    """Names with hypotheses sum(y[…, k] for k in n) == number."""
    for hypothesis in context.hypotheses:
        if hypothesis.op != "cmp" or hypothesis.value != "==":
            continue
        left, right = hypothesis.args
        if left.op != "sum" or left.args[1] is not TRUE or right.op != "num":
            continue
        body = left.args[0]
        if body.op == "var" and len(left.bound) == 1 and body.args[-1:] == left.bound:
            yield body.value, right.value


# -- one draw ----------------------------------------------------------------------------------------------------------


def _draw(
    context: Context,
    arguments: tuple[Argument, ...],
    roles: Roles,
    family: Family,
    rng: np.random.Generator,
    dtype: np.dtype,
    number: int,
) -> Inputs:
    sizes = _sizes(context, arguments, roles, family, number)
    arrays: dict[str, np.ndarray] = {}
    indices: dict[str, int] = {}
    for a in arguments:
        shape = tuple(sizes[axis] for axis in a.axes)
        if a.kind == "size":
            continue
        if a.kind == "index" and a.name not in context.declarations:
            indices[a.name] = int(rng.integers(sizes[a.over or ""]))
        elif a.kind == "index":
            arrays[a.name] = rng.integers(sizes[a.over or ""], size=shape)
        elif a.name in roles.sums:
            arrays[a.name] = _with_sum(rng, shape, roles.sums[a.name], a.kind).astype(dtype)
        elif a.name in roles.scores:
            arrays[a.name] = family.scores(rng, shape).astype(dtype)
        else:
            arrays[a.name] = PLAIN[a.kind](rng, shape).astype(dtype)
    return Inputs(family.name, number, sizes, indices, arrays)


def _sizes(
    context: Context, arguments: tuple[Argument, ...], roles: Roles, family: Family, number: int
) -> dict[str, int]:
    """The family's size for the axes that scores end with, small ones for the others."""
    last = {a.axes[-1] for a in arguments if a.name in roles.scores} or set(context.axes)
    other = min(family.size, 2 + number)
    most = family.size if len(context.axes) == 1 else min(family.size, 17)
    return {axis: most if axis in last else other for axis in context.axes}


PLAIN: dict[str, Draw] = {
    "real": _normal(),
    "random": _normal(),
    "positive": lambda rng, shape: np.exp(rng.standard_normal(shape) / 2),
    "nonnegative": lambda rng, shape: np.abs(rng.standard_normal(shape)),
    "integer": lambda rng, shape: rng.integers(0, 4, shape),
    "bit": lambda rng, shape: rng.integers(0, 2, shape),
}


def _with_sum(rng: np.random.Generator, shape: tuple[int, ...], total: Fraction, kind: str) -> np.ndarray:
    """Entries k/256, positive ones if the kind asks for it, that sum to the number along the last axis."""
    count = shape[-1]
    units = int(total * GRID)
    low = {"positive": 1, "nonnegative": 0}.get(kind, 0)
    rows = np.empty((int(np.prod(shape[:-1])), count))
    for row in rows:
        row[:] = low + rng.multinomial(max(units - low * count, 0), rng.dirichlet(np.ones(count)))
    return rows.reshape(shape) / GRID


# -- hypotheses --------------------------------------------------------------------------------------------------------


def plain(context: Context) -> Context:
    """The context with random names as plain variables: a compiled function takes them as arrays."""
    declarations = {
        name: replace(d, kind="real", law=None) if d.kind == "random" else d for name, d in context.declarations.items()
    }
    return replace(context, declarations=declarations)


def place_of(context: Context, inputs: Inputs) -> Evaluation:
    """The evaluation at the stored numbers."""
    fixed = {k: inputs.indices[k.value[0]] for k in context.letters if k.value[0] in inputs.indices}
    return point(plain(context), inputs.sizes, inputs.exact(), fixed)


def admitted(context: Context, inputs: Inputs) -> bool:
    """Whether the stored numbers are as declared, and the hypotheses hold there, as far as they speak of them alone.

    Conditions on the claim's letters, and on moments, say nothing of an input. Of infinite numbers nothing is known.
    """
    if infinite := _infinite(inputs):
        finite = {name: np.nan_to_num(a.astype(np.float64), neginf=0.0) for name, a in inputs.arrays.items()}
        about = any(not _names(h, context).isdisjoint(infinite) for h in context.hypotheses)
        return not about and admitted(context, replace(inputs, arrays=finite))
    if not all(_as_declared(context, name, array) for name, array in inputs.arrays.items()):
        return False
    here: Evaluation | None = None  # not before a hypothesis needs it: large arrays take long
    known = {*inputs.arrays, *context.definitions}
    for hypothesis in context.hypotheses:
        about_letters = bool(hypothesis.letters) and not hypothesis.names
        about_moments = any(t.op in ("E", "Var", "Cov") for t in subterms(hypothesis))
        if about_letters or about_moments or not _names(hypothesis, context) <= known:
            continue
        here = place_of(context, inputs) if here is None else here
        if not all(_holds(here, r, inputs.sizes) for r in requirements(hypothesis, context.letters)):
            return False
    return True


_SIGNED = {"positive": np.greater, "nonnegative": np.greater_equal}


def _as_declared(context: Context, name: str, array: np.ndarray) -> bool:
    """Whether all entries have the sign that the variable is declared to have."""
    kind = context.declarations[name].kind if name in context.declarations else ""
    return kind not in _SIGNED or bool(np.all(_SIGNED[kind](array, 0)))


def _infinite(inputs: Inputs) -> set[str]:
    return {name for name, a in inputs.arrays.items() if not np.all(np.isfinite(np.asarray(a, np.float64)))}


def _holds(here: Evaluation, requirement: Requirement, sizes: Mapping[str, int]) -> bool:
    for choice in product(*(range(sizes[k.value[1]]) for k in requirement.letters)):
        letters = {**here.fixed, **dict(zip(requirement.letters, choice, strict=True))}
        applies = all(holds(here, f, letters) is True for f in requirement.filters)
        if applies and holds(here, requirement.condition, letters) is not True:
            return False
    return True

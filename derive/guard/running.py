"""Running error bounds: a formula's value, and what an honest computation of it in a format may be off by.

Every operation adds its rounding to what its operands bring along: a sum of N terms, in any order, (N - 1) u times the
sum of sizes, a product or quotient one u, an elementary function a few. So the bound of a quantity is componentwise,
and made of the dtype, the sizes and the condition of the formula at the input: nothing in it is chosen for a quantity.
Values are kept in extended precision, whose own error is the same bound with a smaller u; where NumPy has none, in
float64, whose error is added to what a function of float64 may be off by.

Where a bound is infinite the formula promises nothing (an intermediate result overflows, a denominator is not told from
zero); where it is nan the formula itself has no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.codegen.value import CodegenError
from derive.evidence.balls import spread
from derive.evidence.ulp import Format
from derive.guard import elementary
from derive.kernel.context import Context
from derive.language.printer import to_text
from derive.term import Term

Wide = np.longdouble
LEEWAY = 2  # an equal form may round once more wherever the formula rounds: exp(x - m - log Z) for exp(x - m)/Z, say
OWN = Wide(2) ** -(np.finfo(Wide).nmant + 1)  # the unit roundoff of the values themselves
SPACE = 4_000_000  # entries of one intermediate array


class TooLarge(CodegenError):
    """An intermediate array would not fit."""


@dataclass(frozen=True)
class Running:
    """Values over the index letters, one axis for each, and bounds on the error of computing them."""

    value: np.ndarray
    error: np.ndarray
    letters: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Truth:
    """A condition over the letters, and where rounding cannot change it."""

    value: np.ndarray
    sure: np.ndarray
    letters: tuple[Term, ...] = ()


def times(size: np.ndarray, error: np.ndarray) -> np.ndarray:
    """size * error, 0 where one of them is 0 and the other infinite."""
    nothing = (size == 0) & ~np.isnan(error) | (error == 0) & ~np.isnan(size)
    return np.where(nothing, Wide(0), size * error)


def union(*parts: Running | Truth) -> tuple[Term, ...]:
    return tuple(dict.fromkeys(k for p in parts for k in p.letters))


class Evaluator:
    """The values and bounds of terms at one input."""

    def __init__(
        self,
        context: Context,
        sizes: Mapping[str, int],
        arrays: Mapping[str, np.ndarray],
        fixed: Mapping[Term, int],
        form: Format,
        flush: bool = False,
    ):
        self.context, self.sizes, self.fixed = context, sizes, dict(fixed)
        self.unit = Wide(2) ** -form.precision
        self.normal = Wide(2) ** form.least
        rounding = max(Wide(2) ** (form.least - form.precision), np.finfo(Wide).smallest_subnormal)
        self.least = self.normal if flush else rounding
        self.top = (2 - Wide(2) ** (1 - form.precision)) * Wide(2) ** form.greatest
        self.precision, self.flush = form.precision, flush
        self.arrays = {name: self._stored(array) for name, array in arrays.items()}
        self.wholes: dict[str, Running] = {}
        self.rounded: dict[str, tuple[Any, Any]] = {}  # definitions that are rounded once more: by how much of them
        self.memo: dict[Term, Running | Truth] = {}

    def _stored(self, array: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value = np.asarray(array).astype(Wide) if array.dtype.kind not in "iub" else np.asarray(array, Wide)
        lost = self.flush & (np.abs(value) < self.normal)
        return value, np.where(lost, np.abs(value), Wide(0))

    def adopt(self, other: Evaluator) -> None:
        """Take over the definitions' values from an evaluator at the same input, where they are defined alike."""
        mine, theirs = self.context.definitions, other.context.definitions
        alike: dict[str, bool] = {}

        def same(name: str) -> bool:
            if name not in alike:
                there = theirs.get(name)
                alike[name] = (
                    there is not None and there.body is mine[name].body and there.letters == mine[name].letters
                )
                alike[name] = alike[name] and all(same(n) for n in mine[name].body.names if n in mine)
            return alike[name]

        self.wholes.update((name, whole) for name, whole in other.wholes.items() if name in mine and same(name))

    # -- entry points --

    def number(self, term: Term) -> Running:
        """The values of the term over its free letters."""
        found = self.memo.get(term)
        if found is None:
            row = NUMBERS.get(term.op)
            if row is None:
                raise CodegenError(f"{term.op} has no running error bound: {to_text(term)}")
            found = self.memo[term] = row(self, term)
        return found  # type: ignore[return-value]

    def truth(self, term: Term) -> Truth:
        """The truth of the condition over its free letters."""
        found = self.memo.get(term)
        if found is None:
            found = self.memo[term] = TRUTHS[term.op](self, term)
        return found  # type: ignore[return-value]

    def over(self, term: Term, letters: tuple[Term, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Values and bounds with the letters as axes: leeway for equal forms, and the rounding of the result."""
        found = self.number(term)
        shape = tuple(self.sizes[k.value[1]] for k in letters)
        value, error = (np.broadcast_to(spread(a, found.letters, letters), shape) for a in (found.value, found.error))
        return value, (LEEWAY + OWN / self.unit) * error + self.unit * np.abs(value) + self.least

    # -- what the rows use --

    def made(self, value: np.ndarray, error: np.ndarray, letters: tuple[Term, ...], roundings: float = 1) -> Running:
        """The result of an operation, with so many roundings of its own added to what its operands brought along."""
        error = error + roundings * self.unit * np.abs(value) + (self.least if roundings else 0)
        return self.kept(value, error, letters)

    def kept(self, value: np.ndarray, error: np.ndarray, letters: tuple[Term, ...]) -> Running:
        """The result as it is, nothing promised where it overflows."""
        over = np.abs(value) + error > self.top
        if np.any(over):
            error = np.where(over, Wide(np.inf), error)
            value = np.clip(value, -self.top, self.top)
        return Running(value, error, letters)

    def aligned(self, *parts: Running) -> tuple[list[tuple[np.ndarray, np.ndarray]], tuple[Term, ...]]:
        letters = union(*parts)
        self.fits(letters)
        return [(spread(p.value, p.letters, letters), spread(p.error, p.letters, letters)) for p in parts], letters

    def fits(self, letters: tuple[Term, ...]) -> None:
        space = 1
        for k in letters:
            space *= self.sizes[k.value[1]]
        if space > SPACE:
            raise TooLarge("the intermediate arrays are too large at these sizes")

    def exact(self, value: Any) -> Running:
        """A number of the formula, rounded where the format does not hold it."""
        wide = Wide(value.numerator) / Wide(value.denominator)
        small, shift = value.denominator, abs(value.numerator)
        binary = small & (small - 1) == 0 and shift.bit_length() - (shift & -shift).bit_length() < self.precision
        error = Wide(0) if binary else self.unit * abs(wide) + self.least
        return Running(np.asarray(wide), np.asarray(error))

    def place(self, term: Term) -> tuple[np.ndarray, tuple[Term, ...]]:
        """The integers that a subscript stands for, over its letters."""
        if term.op == "index":
            if term in self.fixed:
                return np.asarray(self.fixed[term]), ()
            return np.arange(self.sizes[term.value[1]]), (term,)
        if term.op == "num":
            return np.asarray(int(term.value)), ()
        if term.op == "shifted":
            value, letters = self.place(term.args[0])
            return (value + term.value) % self.sizes[term.args[0].value[1]], letters
        found = self.number(term)
        return found.value.astype(np.intp), found.letters

    def entry(self, value: np.ndarray, error: np.ndarray, term: Term) -> Running:
        """The entries of an array at the subscripts."""
        if not term.args:
            return Running(value, error)
        places = [self.place(a) for a in term.args]
        letters = tuple(dict.fromkeys(k for _, own in places for k in own))
        self.fits(letters)
        where = tuple(spread(p, own, letters) for p, own in places)
        for axis, at in enumerate(where):
            if np.any(at >= value.shape[axis]):
                raise CodegenError(f"{to_text(term)} is beyond the array")
        return Running(value[where], error[where], letters)

    def whole(self, name: str) -> Running:
        """All values of a definition, an axis for each of its letters."""
        if name not in self.wholes:
            definition = self.context.definitions[name]
            found = self.number(definition.body)
            own = tuple(definition.letters)
            shape = tuple(self.sizes[k.value[1]] for k in own)
            value, error = (np.broadcast_to(spread(a, found.letters, own), shape) for a in (found.value, found.error))
            unit, least = self.rounded.get(name, (0, 0))
            self.wholes[name] = Running(value, error + unit * np.abs(value) + least, own)
        return self.wholes[name]

    def filtered(self, term: Term) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[Term, ...], tuple[int, ...]]:
        """A binder's body over all its letters, which entries count, the letters that stay, the axes that go."""
        body, condition = term.args
        found = self.number(body)
        test = self.truth(condition)
        letters = tuple(dict.fromkeys((*union(found, test), *term.bound)))
        self.fits(letters)
        shape = tuple(self.sizes[k.value[1]] for k in letters)
        value, error = (np.broadcast_to(spread(a, found.letters, letters), shape) for a in (found.value, found.error))
        counts, sure = (np.broadcast_to(spread(a, test.letters, letters), shape) for a in (test.value, test.sure))
        if not np.all(sure):
            error = np.where(sure, error, Wide(np.inf))
            counts = counts | ~sure
        axes = tuple(p for p, k in enumerate(letters) if k in term.bound)
        return value, error, counts, tuple(k for k in letters if k not in term.bound), axes


# -- rows: numbers -----------------------------------------------------------------------------------------------------


def _var(e: Evaluator, term: Term) -> Running:
    return e.entry(*e.arrays[term.value], term)


def _def(e: Evaluator, term: Term) -> Running:
    whole = e.whole(term.value)
    return e.entry(whole.value, whole.error, term)


def _add(e: Evaluator, term: Term) -> Running:
    parts, letters = e.aligned(*(e.number(a) for a in term.args))
    value = sum(v for v, _ in parts)
    size = sum(np.abs(v) for v, _ in parts)
    error = sum(err for _, err in parts)
    counted = not term.names and np.all(error == 0) and np.all(value == np.rint(value))  # whole numbers, such as n - 1
    size = np.abs(value) + error if len(parts) == 2 else size  # of two summands, only the result itself is rounded
    return e.made(value, error + (0 if counted else (len(parts) - 1) * e.unit * size), letters, 0)


def _neg(e: Evaluator, term: Term) -> Running:
    found = e.number(term.args[0])
    return Running(-found.value, found.error, found.letters)


def _mul(e: Evaluator, term: Term) -> Running:
    found = e.number(term.args[0])
    for other in term.args[1:]:
        found = product(e, found, e.number(other))
    return found


def product(e: Evaluator, left: Running, right: Running) -> Running:
    ((a, da), (b, db)), letters = e.aligned(left, right)
    error = times(np.abs(a), db) + times(np.abs(b), da) + times(da, db)
    trivial = left.letters == () and left.error == 0 and abs(left.value) == 1
    return e.made(a * b, error, letters, 0 if trivial else 1)


def _div(e: Evaluator, term: Term) -> Running:
    return quotient(e, e.number(term.args[0]), e.number(term.args[1]))


def quotient(e: Evaluator, left: Running, right: Running) -> Running:
    ((a, da), (b, db)), letters = e.aligned(left, right)
    distance = np.abs(b) - db
    undefined = ((b == 0) & (db == 0)) | np.isnan(db) | np.isnan(da)
    open_ = ~(distance > 0)
    safe = np.where(open_, Wide(1), distance)
    value = a / np.where(b == 0, Wide(1), b)
    error = (da + times(np.abs(value), db)) / safe
    error = np.where(open_, Wide(np.inf), error)
    error = np.where(undefined, Wide(np.nan), error)
    return e.made(value, error, letters)


def _pow(e: Evaluator, term: Term) -> Running:
    base, exponent = e.number(term.args[0]), term.args[1]
    number, sign = (exponent.args[0], -1) if exponent.op == "neg" else (exponent, 1)
    exponent_value = sign * number.value if number.op == "num" else None
    if exponent_value is not None and exponent_value.denominator == 1:
        count = abs(int(exponent_value))
        if not count:
            return Running(np.asarray(Wide(1)), np.asarray(Wide(0)))
        size = np.abs(base.value)
        error = (size + base.error) ** count - size**count
        error = np.where(np.isinf(size**count) & ~np.isnan(base.error), Wide(np.inf), error)
        whole = e.made(base.value**count, error, base.letters, max(count - 1, 0) and max(count - 1, 2))
        return whole if exponent_value > 0 else quotient(e, e.exact(exponent_value / exponent_value), whole)
    ((a, da), (p, dp)), letters = e.aligned(base, e.number(exponent))
    return e.made(*elementary.power(a, da, p, dp), letters, elementary.ROUNDINGS)


def _fn(e: Evaluator, term: Term) -> Running:
    if term.value in ("max", "min"):
        parts, letters = e.aligned(*(e.number(a) for a in term.args))
        choose = np.maximum if term.value == "max" else np.minimum
        return Running(
            choose(parts[0][0], parts[1][0]), np.maximum(parts[0][1], parts[1][1]) + 0 * parts[0][0], letters
        )
    row = elementary.FUNCTIONS.get(term.value)
    if row is None:
        raise CodegenError(f"the function {term.value} has no running error bound")
    x = e.number(term.args[0])
    value, error = row.bound(x.value, x.error)
    return e.made(value, error + row.terms * e.unit, x.letters, row.roundings)


def _sum(e: Evaluator, term: Term) -> Running:
    value, error, counts, letters, axes = e.filtered(term)
    value, error = np.where(counts, value, Wide(0)), np.where(counts, error, Wide(0))
    count = np.maximum(counts.sum(axis=axes) - 1, 0)
    size = np.abs(value).sum(axis=axes)
    error = error.sum(axis=axes) + count * e.unit * size
    error = np.where(size > e.top, Wide(np.inf), error)
    return e.kept(value.sum(axis=axes), error, letters)


def _prod(e: Evaluator, term: Term) -> Running:
    value, error, counts, letters, axes = e.filtered(term)
    rest = tuple(p for p in range(value.ndim) if p not in axes)
    shape = tuple(value.shape[p] for p in rest)

    def flat(array: np.ndarray) -> np.ndarray:
        return np.transpose(array, (*rest, *axes)).reshape(*shape, -1)

    value, error = flat(np.where(counts, value, Wide(1))), flat(np.where(counts, error, Wide(0)))
    total = Running(value[..., 0], error[..., 0], letters)
    for k in range(1, value.shape[-1]):
        total = product(e, total, Running(value[..., k], error[..., k], letters))
    return total


def _extreme(largest: bool) -> Callable[[Evaluator, Term], Running]:
    def row(e: Evaluator, term: Term) -> Running:
        value, error, counts, letters, axes = e.filtered(term)
        sign = 1 if largest else -1
        best = sign * np.where(counts, sign * value, Wide(-np.inf)).max(axis=axes)
        worst = np.where(counts, error, Wide(0)).max(axis=axes)
        empty = ~counts.any(axis=axes)
        return Running(np.where(empty, Wide(0), best), np.where(empty, Wide(np.nan), worst), letters)

    return row


def _argmax(e: Evaluator, term: Term) -> Running:
    value, error, counts, letters, axes = e.filtered(term)
    (axis,) = axes
    seen = np.where(counts, value, Wide(-np.inf))
    first = seen.argmax(axis=axis)
    best, doubt = (np.take_along_axis(a, np.expand_dims(first, axis), axis) for a in (seen, error))
    rivals = counts & (seen + error >= best - doubt) & (error + doubt > 0)
    open_ = rivals.sum(axis=axis) > 1
    return Running(first.astype(Wide), np.where(open_, Wide(np.inf), Wide(0)), letters)


def _delta(e: Evaluator, term: Term) -> Running:
    truth = _same(e, term.args[0], term.args[1], "==")
    return Running(truth.value.astype(Wide), np.zeros(truth.value.shape, Wide), truth.letters)


def _where(e: Evaluator, term: Term) -> Running:
    test, then, other = e.truth(term.args[0]), e.number(term.args[1]), e.number(term.args[2])
    letters = union(test, then, other)
    e.fits(letters)
    holds, sure = (spread(a, test.letters, letters) for a in (test.value, test.sure))
    values = [spread(p.value, p.letters, letters) for p in (then, other)]
    errors = [spread(p.error, p.letters, letters) for p in (then, other)]
    return Running(np.where(holds, *values), np.where(sure, np.where(holds, *errors), Wide(np.inf)), letters)


def _index(e: Evaluator, term: Term) -> Running:
    value, letters = e.place(term)
    return Running(value.astype(Wide), np.zeros(value.shape, Wide), letters)


NUMBERS: dict[str, Callable[[Evaluator, Term], Running]] = {
    "num": lambda e, term: e.exact(term.value),
    "const": lambda e, term: Running(np.asarray(elementary.PI), np.asarray(e.unit * elementary.PI)),
    "size": lambda e, term: Running(np.asarray(Wide(e.sizes[term.value])), np.asarray(Wide(0))),
    "index": _index,
    "shifted": _index,
    "var": _var,
    "def": _def,
    "add": _add,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "sum": _sum,
    "prod": _prod,
    "max": _extreme(True),
    "min": _extreme(False),
    "argmax": _argmax,
    "delta": _delta,
    "where": _where,
}


# -- rows: conditions --------------------------------------------------------------------------------------------------

RELATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _cmp(e: Evaluator, term: Term) -> Truth:
    parts, letters = e.aligned(*(e.number(a) for a in term.args))
    (a, da), (b, db) = parts
    doubt = da + db
    sure = (doubt == 0) | (np.abs(a - b) > doubt)
    return Truth(RELATIONS[term.value](a, b), sure, letters)


def _same(e: Evaluator, left: Term, right: Term, relation: str) -> Truth:
    (a, first), (b, second) = e.place(left), e.place(right)
    letters = tuple(dict.fromkeys((*first, *second)))
    value = RELATIONS[relation](spread(a, first, letters), spread(b, second, letters))
    return Truth(value, np.ones(value.shape, bool), letters)


def _joined(combine: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable[[Evaluator, Term], Truth]:
    def row(e: Evaluator, term: Term) -> Truth:
        parts = [e.truth(a) for a in term.args]
        letters = union(*parts)
        value, sure = np.asarray(combine is np.logical_and), np.asarray(True)
        for p in parts:
            value = combine(value, spread(p.value, p.letters, letters))
            sure = sure & spread(p.sure, p.letters, letters)
        return Truth(value, np.broadcast_to(sure, value.shape), letters)

    return row


def _not(e: Evaluator, term: Term) -> Truth:
    found = e.truth(term.args[0])
    return Truth(~found.value, found.sure, found.letters)


def _holds(e: Evaluator, term: Term) -> Truth:
    found = e.number(term.args[0])
    return Truth(found.value != 0, np.ones(found.value.shape, bool), found.letters)


def _quantified(every: bool) -> Callable[[Evaluator, Term], Truth]:
    def row(e: Evaluator, term: Term) -> Truth:
        body, condition = (e.truth(a) for a in term.args)
        letters = tuple(dict.fromkeys((*union(body, condition), *term.bound)))
        shape = tuple(e.sizes[k.value[1]] for k in letters)
        value, sure = (np.broadcast_to(spread(a, body.letters, letters), shape) for a in (body.value, body.sure))
        counts = np.broadcast_to(spread(condition.value, condition.letters, letters), shape)
        axes = tuple(p for p, k in enumerate(letters) if k in term.bound)
        rest = tuple(k for k in letters if k not in term.bound)
        found = (value | ~counts).all(axis=axes) if every else (value & counts).any(axis=axes)
        return Truth(np.asarray(found), np.asarray((sure | ~counts).all(axis=axes)), rest)

    return row


TRUTHS: dict[str, Callable[[Evaluator, Term], Truth]] = {
    "cmp": _cmp,
    "and": _joined(np.logical_and),
    "or": _joined(np.logical_or),
    "not": _not,
    "holds": _holds,
    "true": lambda e, term: Truth(np.asarray(True), np.asarray(True)),
    "false": lambda e, term: Truth(np.asarray(False), np.asarray(True)),
    "all": _quantified(True),
    "any": _quantified(False),
}

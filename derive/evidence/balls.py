"""Enclosures of a whole array at once: every operator over object arrays of balls, one axis for each index letter.

What is found is what `enclosure` finds component by component, at a hundredth of the cost: a definition is evaluated
once, not once for each entry. It covers terms without derivatives, limits and means; `Uncovered` says so for the rest.
An undefined value is a ball that is not finite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from flint import arb, fmpq

from derive.evidence.functions import FUNCTIONS
from derive.evidence.numbers import Imprecise
from derive.kernel.context import Context
from derive.term import Term, index, rename_bound, substitute

Over = tuple[np.ndarray, tuple[Term, ...]]  # an object array of balls, or a Boolean one, and what its axes stand for
SPACE = 2_000_000  # entries of one intermediate array


class Uncovered(Exception):
    """The term has a form, or the sizes an extent, that is not evaluated by whole arrays."""


def objects(value: Any) -> np.ndarray:
    """An object array of one value."""
    array = np.empty((), object)
    array[()] = value
    return array


def spread(array: np.ndarray, letters: tuple[Term, ...], wanted: tuple[Term, ...]) -> np.ndarray:
    """The array with an axis for each wanted letter, of length 1 where it does not depend on it."""
    order = [letters.index(k) for k in wanted if k in letters]
    shape = [array.shape[letters.index(k)] if k in letters else 1 for k in wanted]
    return np.transpose(array, order).reshape(shape)


def union(*parts: Over) -> tuple[Term, ...]:
    return tuple(dict.fromkeys(k for _, letters in parts for k in letters))


class Balls:
    """The values of terms at one input, at the precision in force."""

    def __init__(
        self, context: Context, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray], fixed: Mapping[Term, int]
    ):
        self.context, self.sizes, self.fixed = context, sizes, dict(fixed)
        self.arrays = {name: np.asarray(_ball(np.asarray(a, np.float64)), object) for name, a in arrays.items()}
        self.wholes: dict[str, Over] = {}
        self.memo: dict[Term, Over] = {}

    def value(self, term: Term) -> Over:
        """The term's values over its free letters. Raises Uncovered, and Imprecise where a condition is not decided."""
        found = self.memo.get(term)
        if found is None:
            row = VALUES.get(term.op)
            if row is None:
                raise Uncovered(term.op)
            found = self.memo[term] = row(self, term)
        return found

    def over(self, term: Term, letters: tuple[Term, ...]) -> np.ndarray:
        """The values with exactly these letters as axes."""
        array, own = self.value(term)
        shape = tuple(self.sizes[k.value[1]] for k in letters)
        return np.broadcast_to(spread(array, own, letters), shape)

    # -- what the rows use --

    def joined(self, *parts: Over) -> tuple[list[np.ndarray], tuple[Term, ...]]:
        letters = union(*parts)
        self.fits(letters)
        return [spread(a, own, letters) for a, own in parts], letters

    def fits(self, letters: tuple[Term, ...]) -> None:
        space = 1
        for k in letters:
            space *= self.sizes[k.value[1]]
        if space > SPACE:
            raise Uncovered("an intermediate array would be too large")

    def place(self, term: Term) -> Over:
        """The integers that a subscript stands for."""
        if term.op == "index":
            if term in self.fixed:
                return np.asarray(self.fixed[term]), ()
            return np.arange(self.sizes[term.value[1]]), (term,)
        if term.op == "num":
            return np.asarray(int(term.value)), ()
        array, letters = self.value(term)
        return np.asarray(np.frompyfunc(lambda x: int(float(x)), 1, 1)(array)).astype(np.intp), letters

    def entry(self, array: np.ndarray, term: Term) -> Over:
        """The entries of an array at the subscripts."""
        if not term.args:
            return array, ()
        places = [self.place(a) for a in term.args]
        letters = union(*places)
        self.fits(letters)
        try:
            return array[tuple(spread(p, own, letters) for p, own in places)], letters
        except IndexError:
            raise Uncovered("a subscript beyond the array") from None

    def whole(self, name: str) -> Over:
        """All values of a definition, an axis for each of its letters."""
        if name not in self.wholes:
            definition = self.context.definitions[name]
            own = tuple(index(f"@{p}", k.value[1]) for p, k in enumerate(definition.letters))  # no fixed index
            body = substitute(definition.body, dict(zip(definition.letters, own, strict=True)))
            self.wholes[name] = self.over(body, own), own
        return self.wholes[name]

    def filtered(self, term: Term) -> tuple[np.ndarray, np.ndarray | None, tuple[Term, ...], tuple[int, ...]]:
        """A binder's body over all its letters, which entries count (None: all), the letters left, the axes that go."""
        term = rename_bound(term, [k for k in term.bound if k in self.fixed])
        body = self.value(term.args[0])
        test = None if term.args[1].op == "true" else self.value(term.args[1])
        letters = tuple(dict.fromkeys((*union(body, *([test] if test else [])), *term.bound)))
        self.fits(letters)
        shape = tuple(self.sizes[k.value[1]] for k in letters)
        array = np.broadcast_to(spread(*body, letters), shape)
        counts = np.broadcast_to(spread(*test, letters), shape) if test else None
        axes = tuple(p for p, k in enumerate(letters) if k in term.bound)
        return array, counts, tuple(k for k in letters if k not in term.bound), axes

    def reduced(self, term: Term, combine: Any, neutral: Any) -> tuple[Over, np.ndarray | None]:
        """The binder's body combined over its letters, and how many entries each result is made of (None: all).

        What a filter leaves out is never looked at.
        """
        array, counts, rest, axes = self.filtered(term)
        if counts is not None:
            array = np.where(counts, array, objects(neutral))
        for axis in reversed(axes):
            array = np.asarray(combine.reduce(array, axis=axis), array.dtype)
        return (array, rest), None if counts is None else counts.sum(axis=axes)


# -- rows --------------------------------------------------------------------------------------------------------------

Row = Callable[[Balls, Term], Over]
NAN = arb.nan()

_ball = np.frompyfunc(arb, 1, 1)
_larger = np.frompyfunc(lambda a, b: a.max(b), 2, 1)
_smaller = np.frompyfunc(lambda a, b: a.min(b), 2, 1)


def _domain(name: str) -> Callable[[Any], Any]:
    """The function of a ball, not finite where its domain does not hold the whole ball."""
    row = FUNCTIONS[name]
    if row.above is None:
        return row.value
    return lambda x: row.value(x) if x > row.above else NAN


def _softplus(x: Any) -> Any:
    return x + (-x).exp().log1p() if x > 0 else x.exp().log1p()


def _sign(x: Any) -> Any:
    if not (x > 0 or x < 0 or x.is_zero()):
        raise Imprecise("a sign is not decided at this precision")
    return x.sgn()


_FUNCTIONS: dict[str, Any] = {
    **{name: np.frompyfunc(_domain(name), 1, 1) for name in FUNCTIONS},
    "softplus": np.frompyfunc(_softplus, 1, 1),
    "sqrt": np.frompyfunc(lambda x: x.sqrt(), 1, 1),
    "abs": np.abs,
    "sign": np.frompyfunc(_sign, 1, 1),
    "relu": np.frompyfunc(lambda x: x.max(arb(0)), 1, 1),
    "max": _larger,
    "min": _smaller,
}


def _fold(combine: Callable[..., Any]) -> Row:
    def row(b: Balls, term: Term) -> Over:
        arrays, letters = b.joined(*(b.value(a) for a in term.args))
        result = arrays[0]
        for other in arrays[1:]:
            result = combine(result, other)
        return np.asarray(result), letters

    return row


def _fn(b: Balls, term: Term) -> Over:
    apply = _FUNCTIONS.get(term.value)
    if apply is None:
        raise Uncovered(term.value)
    arrays, letters = b.joined(*(b.value(a) for a in term.args))
    return np.asarray(apply(*arrays), object), letters


def _power(x: Any, y: Any) -> Any:
    """x**y as the language has it: an integer exponent takes any base, by squaring; any other one a base above 0."""
    if y.is_exact() and y.is_integer():
        count = int(float(y))
        result, base, left = arb(1), x if count >= 0 else 1 / x, abs(count)
        while left:
            result = result * base if left & 1 else result
            base, left = base * base, left >> 1
        return result
    if x.is_zero():
        return arb(0) if y > 0 else NAN
    return (x.log() * y).exp() if x > 0 else NAN


def _sum(b: Balls, term: Term) -> Over:
    return b.reduced(term, np.add, arb(0))[0]


def _product(b: Balls, term: Term) -> Over:
    return b.reduced(term, np.multiply, arb(1))[0]


def _extreme(combine: Any, neutral: Any) -> Row:
    def row(b: Balls, term: Term) -> Over:
        (array, rest), counts = b.reduced(term, combine, neutral)
        return (array if counts is None else np.where(counts > 0, array, objects(NAN))), rest

    return row


def _argmax(b: Balls, term: Term) -> Over:
    array, counts, rest, (axis,) = b.filtered(term)
    rows = np.moveaxis(array, axis, -1)
    kept = np.ones(rows.shape, bool) if counts is None else np.moveaxis(counts, axis, -1)
    result = np.empty(rows.shape[:-1], object)
    for place in np.ndindex(*rows.shape[:-1]):
        result[place] = arb(_first(rows[place], kept[place]))
    return result, rest


def _first(row: np.ndarray, kept: np.ndarray) -> int:
    """The least place of the largest entry."""
    best = -1
    for k in np.flatnonzero(kept).tolist():
        if best < 0 or row[k] > row[best]:
            best = k
        elif not row[k] <= row[best]:
            raise Imprecise("which entry is the largest")
    if best < 0:
        raise Uncovered("an argmax of nothing")
    return best


def _delta(b: Balls, term: Term) -> Over:
    same, letters = _places(b, term.args, "==")
    return np.where(same, objects(arb(1)), objects(arb(0))), letters


def _where(b: Balls, term: Term) -> Over:
    arrays, letters = b.joined(*(b.value(a) for a in term.args))
    return np.where(arrays[0].astype(bool), arrays[1], arrays[2]), letters


# -- conditions --------------------------------------------------------------------------------------------------------

RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def _order(x: Any, y: Any) -> int:
    """The sign of x - y."""
    gap = x - y
    if gap.is_zero() or (x.is_exact() and y.is_exact() and x == y):
        return 0
    if not (gap > 0 or gap < 0):
        raise Imprecise("a comparison is not decided at this precision")
    return 1 if gap > 0 else -1


_ordered = np.frompyfunc(_order, 2, 1)


def _places(b: Balls, args: tuple[Term, ...], relation: str) -> Over:
    arrays, letters = b.joined(*(b.place(a) for a in args))
    return np.asarray(RELATIONS[relation](*arrays)), letters


def _compared(b: Balls, term: Term) -> Over:
    if all(a.op in ("index", "argmax") or (a.op == "var" and _is_index(b, a)) for a in term.args):
        return _places(b, term.args, term.value)
    arrays, letters = b.joined(*(b.value(a) for a in term.args))
    return np.asarray(RELATIONS[term.value](np.asarray(_ordered(*arrays)).astype(int), 0)), letters


def _is_index(b: Balls, term: Term) -> bool:
    declared = b.context.declarations.get(term.value)
    return declared is not None and declared.kind == "index"


def _not(b: Balls, term: Term) -> Over:
    array, letters = b.value(term.args[0])
    return ~array, letters


def _holds(b: Balls, term: Term) -> Over:
    array, letters = b.value(term.args[0])
    return np.asarray(_ordered(array, objects(arb(0)))).astype(bool), letters


def _quantified(combine: Any, neutral: bool) -> Row:
    return lambda b, term: b.reduced(term, combine, neutral)[0]


def _index(b: Balls, term: Term) -> Over:
    array, letters = b.place(term)
    return np.asarray(_ball(array.astype(float)), object), letters


def _whole(b: Balls, term: Term) -> Over:
    array, _ = b.whole(term.value)
    return b.entry(array, term)


VALUES: dict[str, Row] = {
    "num": lambda b, term: (objects(arb(fmpq(term.value.numerator, term.value.denominator))), ()),
    "const": lambda b, term: (objects(arb.pi() if term.value == "pi" else arb.pos_inf()), ()),
    "size": lambda b, term: (objects(arb(b.sizes[term.value])), ()),
    "index": _index,
    "var": lambda b, term: b.entry(b.arrays[term.value], term),
    "def": _whole,
    "add": _fold(np.add),
    "mul": _fold(np.multiply),
    "div": _fold(np.frompyfunc(lambda x, y: x / y, 2, 1)),
    "pow": _fold(np.frompyfunc(_power, 2, 1)),
    "neg": lambda b, term: (-b.value(term.args[0])[0], b.value(term.args[0])[1]),
    "fn": _fn,
    "sum": _sum,
    "prod": _product,
    "max": _extreme(_larger, arb.neg_inf()),
    "min": _extreme(_smaller, arb.pos_inf()),
    "argmax": _argmax,
    "delta": _delta,
    "where": _where,
    "cmp": _compared,
    "and": _fold(np.logical_and),
    "or": _fold(np.logical_or),
    "not": _not,
    "holds": _holds,
    "true": lambda b, term: (np.asarray(True), ()),
    "false": lambda b, term: (np.asarray(False), ()),
    "all": _quantified(np.logical_and, True),
    "any": _quantified(np.logical_or, False),
}

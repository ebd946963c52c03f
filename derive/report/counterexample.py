"""A counterexample as numbers put into the formula: what each side becomes there, and by how much they differ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context as Decimals
from decimal import Decimal
from fractions import Fraction
from typing import Any

from derive.kernel.context import Context
from derive.term import NONLOCAL, TRUE, Term, add, make, mul, num, rebuild, substitute

_LARGEST = 60  # nodes of a formula with its numbers put in; beyond that only the numbers are shown
_DIGITS = 12


class _NotShown(Exception):
    """The formula with its numbers put in is too long to help, or needs a law."""


Value = str | tuple["Value", ...]  # a number or a law in words, or what an array holds


@dataclass(frozen=True)
class Side:
    """One side at the point: with its numbers put in, where that helps, and its value."""

    term: Term | None
    filled: Term | None
    value: str


@dataclass(frozen=True)
class Counterexample:
    """A point at which the claim fails. `difference` is None where a side is undefined; `undefined` says why."""

    point: tuple[tuple[str, Value], ...]
    sides: tuple[Side, ...]
    difference: str | None
    undefined: str | None


def shown(data: Mapping[str, Any], claim: Term, context: Context) -> Counterexample:
    """The counterexample, ready to be printed."""
    point: list[tuple[str, Value]] = [(axis, str(size)) for axis, size in data["sizes"].items()]
    point += [(name, _valued(value)) for name, value in data["values"].items()]
    point += [(letter, str(place)) for letter, place in data["indices"].items()]
    left, right = data.get("left"), data.get("right")
    if claim.op != "cmp" or (left is None and right is None):
        return Counterexample(tuple(point), (), None, data.get("undefined"))
    texts = _apart(left, right)
    sides = tuple(Side(term, _filled(term, data, context), text) for term, text in zip(claim.args, texts, strict=True))
    gap = None if left is None or right is None else _short(_middle(left) - _middle(right), 6)
    return Counterexample(tuple(point), sides, gap, data.get("undefined"))


def _valued(value: Any) -> Value:
    """A number; an array; or a law: its name, or the values it takes with their probabilities."""
    if isinstance(value, list):
        return tuple(map(_valued, value))
    if isinstance(value, dict) and "law" in value:
        return f"{value['law']}({', '.join(map(str, value.get('parameters', ())))})"
    if isinstance(value, dict) and "probability" in value:
        return f"{value['value']} with probability {value['probability']}"
    return str(value)


# -- values -----------------------------------------------------------------------------------------------------------


def _middle(bounds: list[str]) -> Decimal:
    context = Decimals(prec=1200)
    low, high = (_decimal(b) for b in bounds)
    return context.divide(context.add(low, high), Decimal(2))


def _decimal(text: str) -> Decimal:
    if "/" in text:
        top, bottom = text.split("/")
        return Decimals(prec=1200).divide(Decimal(top), Decimal(bottom))
    return Decimal(text)


def _apart(left: list[str] | None, right: list[str] | None) -> tuple[str, str]:
    """Both values with as many digits as it takes to tell them apart."""
    digits = _DIGITS
    while True:
        first, second = ("undefined" if s is None else _short(_middle(s), digits) for s in (left, right))
        if first.removesuffix("…") != second.removesuffix("…") or digits > 1000:
            return first, second
        digits *= 2


def _short(value: Decimal, digits: int) -> str:
    """The value to so many significant digits, `…` where digits were cut."""
    rounded = Decimals(prec=digits).normalize(value)
    text = f"{rounded:f}" if -7 < rounded.adjusted() < 16 else f"{rounded:e}"
    return text + ("…" if rounded != value else "")


# -- formulas with numbers put in --------------------------------------------------------------------------------------


def _filled(term: Term, data: Mapping[str, Any], context: Context) -> Term | None:
    try:
        filled = _Filler(data, context).fill(term, data["indices"], local=True)
        return None if filled is term or filled.op == "num" else filled
    except (_NotShown, KeyError, IndexError, TypeError, ValueError, RecursionError):
        return None


class _Filler:
    """Puts the numbers of a point into a formula: sums written out, definitions unfolded, letters and entries filled.

    What stands under a derivative or mean is kept, since its variables are not at the point there; only letters are.
    """

    def __init__(self, data: Mapping[str, Any], context: Context):
        self.sizes, self.values, self.context = data["sizes"], data["values"], context

    def fill(self, term: Term, letters: Mapping[str, int], local: bool) -> Term:
        result = self._fill(term, dict(letters), local)
        if result.size > _LARGEST:
            raise _NotShown
        return result

    def _fill(self, term: Term, letters: dict[str, int], local: bool) -> Term:
        if term.op == "index":
            return num(letters[term.value[0]]) if term.value[0] in letters else term
        if term.op == "size" and local:
            return num(self.sizes[term.value])
        if term.op in NONLOCAL:
            return rebuild(term, [self._fill(a, self._without(letters, term), False) for a in term.args])
        if term.bound:
            inner = self._without(letters, term)
            if not local:
                return rebuild(term, [self._fill(a, inner, False) for a in term.args])
            return self._written_out(term, inner)
        if term.op == "where" and local and term.args[0].op == "cmp":
            return self._fill(term.args[1 if self._holds(term.args[0], letters) else 2], letters, local)
        args = [self._fill(a, letters, local) for a in term.args]
        if local and term.op == "var":
            return self._entry(term.value, args)
        if local and term.op == "def":
            definition = self.context.definitions[term.value]
            body = substitute(definition.body, dict(zip(definition.letters, args, strict=True)))
            return self.fill(body, letters, local)
        if term.op == "delta" and all(a.op == "num" for a in args):
            return num(int(args[0].value == args[1].value))
        return rebuild(term, args)

    @staticmethod
    def _without(letters: dict[str, int], term: Term) -> dict[str, int]:
        bound = {k.value[0] for k in term.bound}
        return {name: place for name, place in letters.items() if name not in bound}

    def _entry(self, name: str, subscripts: list[Term]) -> Term:
        value = self.values[name]
        for subscript in subscripts:
            value = value[int(subscript.value)]
        if isinstance(value, dict):
            raise _NotShown
        return num(Fraction(value))

    def _written_out(self, term: Term, letters: dict[str, int]) -> Term:
        if term.op not in ("sum", "prod", "max", "min"):
            raise _NotShown
        ranges = [range(self.sizes[k.value[1]]) for k in term.bound]
        parts: list[Term] = []
        for places in itertools.product(*ranges):
            inner = {**letters, **{k.value[0]: place for k, place in zip(term.bound, places, strict=True)}}
            if term.args[1] is TRUE or self._holds(term.args[1], inner):
                parts.append(self.fill(term.args[0], inner, True))
        if term.op == "sum":
            return add(*parts)
        if term.op == "prod":
            return mul(*parts)
        return parts[0] if len(parts) == 1 else make("fn", parts, term.op)

    def _holds(self, condition: Term, letters: dict[str, int]) -> bool:
        """Whether a comparison of indices holds; anything else is not shown."""
        if condition.op == "and":
            return all(self._holds(c, letters) for c in condition.args)
        if condition.op != "cmp":
            raise _NotShown
        left, right = (self._fill(a, letters, True) for a in condition.args)
        if left.op != "num" or right.op != "num":
            raise _NotShown
        a, b = left.value, right.value
        return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[condition.value]

"""Expressions and conditions: from syntax tree to term, with every refusal at its place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise
from typing import Any

from derive.language import calls, refusals
from derive.language.letters import index_axis, subscripts
from derive.language.scope import Scope
from derive.language.source import MAX_DEPTH, WRITTEN_DEPTH, WRITTEN_NODES
from derive.language.words import USAGE
from derive.term import PI, Term, both, cmp, defined, div, index, make, neg, num, power, size, var

Bound = Mapping[str, Term]  # the letters of the binders around a node

RELATIONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
MAX_DIGITS = 1000


class Reader:
    """Translates the expressions of one scope of letters: a definition, an assert, a hypothesis.

    `letters` are the free letters with their axes; `own`, if given, those the expression may use. Random names are
    refused outside E, Var and Cov unless `random`.
    """

    def __init__(
        self, scope: Scope, letters: Mapping[str, str], own: frozenset[str] | None = None, random: bool = False
    ):
        self.scope, self.source, self.error = scope, scope.source, scope.source.error
        self.letters, self.own = letters, own
        self.sheltered = 1 if random else 0  # how many E, Var and Cov stand around
        self.level = 0

    # -- entry points --------------------------------------------------------------------------------------------------

    def expression(self, node: ast.expr) -> Term:
        """The number that the node stands for, within the limits of depth and size."""
        return self._measured(node, self.number(node, {}))

    def statement(self, node: ast.expr) -> Term:
        """The condition that the node stands for, within the limits of depth and size."""
        return self._measured(node, self.condition(node, {}))

    def _measured(self, node: ast.expr, term: Term) -> Term:
        depth, nodes = self.scope.measure(term)
        if term.depth > MAX_DEPTH + 2 or depth > WRITTEN_DEPTH:
            deep = (
                f"{MAX_DEPTH} deep"
                if term.depth > MAX_DEPTH + 2
                else f"{WRITTEN_DEPTH:,} deep, its definitions written out"
            )
            message = f"this is nested more than {deep}"
            raise self.error(node, message, refusals.SPLIT if term.depth > MAX_DEPTH else None)
        if nodes > WRITTEN_NODES:
            raise self.error(node, f"this has more than {WRITTEN_NODES:,} parts, its definitions written out")
        return term

    def _descend(self, node: ast.AST) -> None:
        self.level += 1
        if self.level > MAX_DEPTH:
            raise refusals.too_deep(self.scope, node, MAX_DEPTH)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def number(self, node: ast.AST, bound: Bound) -> Term:
        """The term of a node that must be a number; a letter is its own number."""
        self._descend(node)
        handler = _NUMBERS.get(type(node))
        if handler is None:
            raise refusals.syntax(self.scope, node)
        term = handler(self, node, bound)
        self.level -= 1
        return term

    def _constant(self, node: ast.Constant, bound: Bound) -> Term:
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float, complex)):
            raise refusals.constant(self.scope, node)
        return num(self._exact(node))

    def _exact(self, node: ast.Constant) -> Fraction:
        """The number as it is written: 0.1 is one tenth."""
        written = self.source.spelling(node)
        if isinstance(node.value, complex):
            raise self.error(node, f"{written} is not a real number", "the language has real numbers only")
        found = re.fullmatch(r"([\d_]*)\.?([\d_]*)(?:[eE]([+-]?[\d_]+))?", written)
        if not found:
            raise self.error(node, f"{written} is not a decimal number", "write it in decimal")
        whole, part, exponent = found.group(1), found.group(2), (found.group(3) or "0").replace("_", "")
        if len(exponent) > 6 or len(whole) + len(part) + abs(int(exponent)) > MAX_DIGITS:
            raise self.error(node, f"a number of more than {MAX_DIGITS:,} digits", "write it as a power: 10**2000")
        return Fraction(written.replace("_", ""))

    def _operation(self, node: ast.BinOp, bound: Bound) -> Term:
        operation = _OPERATIONS.get(type(node.op))
        if operation is None:
            raise refusals.operator(self.scope, node)
        if not isinstance(operation, tuple):
            return operation(self.number(node.left, bound), self.number(node.right, bound))
        op, signs = operation
        operands: list[tuple[ast.expr, bool]] = []
        left: ast.expr = node
        while isinstance(left, ast.BinOp) and isinstance(left.op, signs):
            operands.append((left.right, isinstance(left.op, ast.Sub)))
            left = left.left
        parts = [self.number(left, bound)]
        for operand, subtracted in reversed(operands):
            part = self.number(operand, bound)
            parts.append(neg(part) if subtracted else part)
        return make(op, parts)

    def _unary(self, node: ast.UnaryOp, bound: Bound) -> Term:
        if not isinstance(node.op, ast.USub):
            raise refusals.sign(self.scope, node)
        return neg(self.number(node.operand, bound))

    def _name(self, node: ast.Name, bound: Bound) -> Term:
        name, scope = node.id, self.scope
        if name in bound or name in scope.letters:
            return self._letter(node, bound)
        if name in scope.axes:
            return size(name)
        shape = scope.shape(name)
        if shape:
            raise refusals.rank(scope, node, name, shape, 0)
        if shape is not None:
            return self._value(node, name, ())
        if name == "pi":
            return PI
        if name == "oo":
            raise self.error(node, "oo is no number: it stands only where a limit goes", "write limit(e, T, oo)")
        return self._letter(node, bound)

    def _subscript(self, node: ast.Subscript, bound: Bound) -> Term:
        if not isinstance(node.value, ast.Name):
            raise refusals.subscripted(self.scope, node, bound)
        name = node.value.id
        shape = None if name in bound else self.scope.shape(name)
        if shape is None:
            is_letter = name in bound or (name in self.letters and self.scope.planned(name) is None)
            raise refusals.no_entries(self.scope, node, name, is_letter)
        entries = subscripts(node)
        if len(entries) != len(shape):
            raise refusals.rank(self.scope, node, name, shape, len(entries))
        terms = []
        for position, (entry, axis) in enumerate(zip(entries, shape, strict=True), 1):
            where = f"subscript {position} of {name!r}" if len(shape) > 1 else f"the subscript of {name!r}"
            terms.append(self.index(entry, bound, axis, where))
        return self._value(node, name, tuple(terms))

    def _value(self, node: ast.AST, name: str, entries: tuple[Term, ...]) -> Term:
        if self.scope.random.get(name) and not self.sheltered:
            raise refusals.random_outside(self.scope, node, name)
        return defined(name, *entries) if name in self.scope.definitions else var(name, *entries)

    def _letter(self, node: ast.Name, bound: Bound) -> Term:
        """The index term of a letter, bound, declared or free."""
        name = node.id
        if name in bound:
            return bound[name]
        if name in self.scope.letters:
            return self.scope.letters[name]
        if name in self.scope.lines or self.scope.planned(name) is not None or name not in self.letters:
            raise refusals.unknown_value(self.scope, node, name)
        self.scope.check_letter(name, node)
        if self.own is not None and name not in self.own:
            raise refusals.free_letter(self.scope, node, name, self.own)
        return index(name, self.letters[name])

    # -- indices -------------------------------------------------------------------------------------------------------

    def index(self, node: ast.AST, bound: Bound, axis: str | None, where: str) -> Term:
        """The term of a node that must be an index, of the axis if one is given."""
        if isinstance(node, ast.Constant) and type(node.value) is int:
            extent = self.scope.finite.get(axis or "")
            if extent is None or node.value >= extent:
                raise refusals.numbered(self.scope, node, where, axis, extent)
            return num(node.value)
        if isinstance(node, ast.Name):
            known = node.id in self.scope.lines and node.id not in self.scope.letters
            if known and node.id not in bound:
                raise refusals.index_expected(self.scope, node, where)
            term = self._letter(node, bound)
        elif index_axis(self.scope, node, _axes(bound)) is not None:
            term = self.number(node, bound)
        else:
            raise refusals.index_expected(self.scope, node, where)
        found = self.axis_of(term)
        if axis is not None and found != axis:
            message = f"{self.source.spelling(node)} runs over {found!r}, but {where} runs over {axis!r}"
            raise self.error(node, message, f"use a letter that runs over {axis!r}")
        return term

    def axis_of(self, term: Term) -> str | None:
        """The axis that an index term runs over, or None if the term is no index."""
        if term.op == "index":
            return str(term.value[1])
        if term.op == "argmax":
            return str(term.bound[0].value[1])
        known = self.scope.declarations.get(term.value) if term.op == "var" else None
        return known.over if known is not None else None

    # -- binders -------------------------------------------------------------------------------------------------------

    def bind(self, node: ast.GeneratorExp, bound: Bound) -> tuple[tuple[Term, ...], Bound, Term]:
        """The letters of a generator, the bound letters inside it, and its filter."""
        inner, letters, tests = dict(bound), [], []
        for clause in node.generators:
            if clause.is_async:
                raise self.error(clause.target, "`async` is not in the language", "leave it out")
            if not isinstance(clause.target, ast.Name):
                raise self.error(clause.target, "a loop binds one letter", "write sum(… for i in n for j in m)")
            letter = clause.target.id
            self.check_binding(letter, clause.target, inner)
            if not isinstance(clause.iter, ast.Name) or clause.iter.id not in self.scope.axes:
                hint = "write `for k in n` where `n: axis` is declared"
                raise self.error(clause.iter, f"{letter!r} must run over an axis", hint)
            inner[letter] = index(letter, clause.iter.id)
            letters.append(inner[letter])
            for test in clause.ifs:
                tests.append(self.filter(test, dict(inner)))
        return tuple(letters), inner, both(*tests)

    def check_binding(self, letter: str, node: ast.AST, bound: Bound) -> None:
        """Refuse to bind a letter that is bound around here, or is a declared or defined name."""
        if letter in bound:
            raise refusals.bound_again(self.scope, node, letter, {*bound, *self.letters})
        self.scope.check_letter(letter, node)

    def filter(self, node: ast.expr, bound: Bound) -> Term:
        """A condition on indices of one axis, or a bit."""
        self._descend(node)
        term = self._filter(node, bound)
        self.level -= 1
        return term

    def _filter(self, node: ast.expr, bound: Bound) -> Term:
        if isinstance(node, ast.BoolOp):
            return _joined(node, [self.filter(value, bound) for value in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return make("not", (self.filter(node.operand, bound),))
        if isinstance(node, ast.Compare):
            for side in [node.left, *node.comparators]:
                if index_axis(self.scope, side, _axes(bound)) is None:
                    raise refusals.filter_expected(self.scope, side)
            return self._comparison(node, bound)
        if self._is_bit(node, bound):
            return make("holds", (self.number(node, bound),))
        raise refusals.filter_expected(self.scope, node)

    # -- conditions ----------------------------------------------------------------------------------------------------

    def condition(self, node: ast.AST, bound: Bound) -> Term:
        """The term of a node that must be a condition."""
        self._descend(node)
        term = self._condition(node, bound)
        self.level -= 1
        return term

    def _condition(self, node: ast.AST, bound: Bound) -> Term:
        if isinstance(node, ast.Compare):
            return self._comparison(node, bound)
        if isinstance(node, ast.BoolOp):
            return _joined(node, [self.condition(value, bound) for value in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return make("not", (self.condition(node.operand, bound),))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in calls.QUANTIFIED:
            return calls.quantified(self, node, bound)
        if self._is_bit(node, bound):
            return make("holds", (self.number(node, bound),))
        raise self.error(node, "a condition is expected here", "compare two numbers or two indices: a == b, i != j")

    def _comparison(self, node: ast.Compare, bound: Bound) -> Term:
        """The comparisons of a chain, joined."""
        sides = [node.left, *node.comparators]
        terms = []
        for side in sides:
            terms.append(self.number(side, bound))
        axes = _axes(bound)
        links = []
        for op, (left, right), (one, two) in zip(node.ops, pairwise(sides), pairwise(terms), strict=True):
            if type(op) not in RELATIONS:
                raise refusals.comparison(self.scope, right, op)
            are_indices = all(index_axis(self.scope, side, axes) is not None for side in (left, right))
            first, second = self.axis_of(one), self.axis_of(two)
            if are_indices and first != second:
                message = f"an index of {first!r} is compared with an index of {second!r}"
                raise self.error(right, message, "only indices of one axis are compared")
            links.append(cmp(RELATIONS[type(op)], one, two))
        return both(*links)

    def _is_bit(self, node: ast.AST, bound: Bound) -> bool:
        target = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(target, ast.Name) or target.id in bound:
            return False
        known = self.scope.declarations.get(target.id)
        return known is not None and known.kind == "bit"

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, bound: Bound) -> Term:
        if not isinstance(node.func, ast.Name):
            raise refusals.called(self.scope, node.func)
        name = node.func.id
        handler = calls.HANDLERS.get(name)
        if handler is None or name in bound:
            raise refusals.call(self.scope, node, name, bound)
        for keyword in node.keywords:
            raise self.error(keyword, f"{name} takes no named arguments", f"it is used as {USAGE[name]}")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                raise refusals.syntax(self.scope, argument)
        return handler(self, name, node, bound)

    @contextmanager
    def expectation(self) -> Iterator[None]:
        """Inside, random names may stand."""
        self.sheltered += 1
        yield
        self.sheltered -= 1


_NUMBERS: dict[type[ast.AST], Callable[[Reader, Any, Bound], Term]] = {
    ast.Constant: Reader._constant,
    ast.BinOp: Reader._operation,
    ast.UnaryOp: Reader._unary,
    ast.Name: Reader._name,
    ast.Subscript: Reader._subscript,
    ast.Call: Reader._call,
}
# What each sign makes of two terms; for a chain of + and - or of *, the one flat operation.
_OPERATIONS: dict[type[ast.AST], Callable[[Term, Term], Term] | tuple[str, tuple[type[ast.AST], ...]]] = {
    ast.Add: ("add", (ast.Add, ast.Sub)),
    ast.Sub: ("add", (ast.Add, ast.Sub)),
    ast.Mult: ("mul", (ast.Mult,)),
    ast.Div: div,
    ast.Pow: power,
}


def _axes(bound: Bound) -> dict[str, str | None]:
    return {name: letter.value[1] for name, letter in bound.items()}


def _joined(node: ast.BoolOp, parts: list[Term]) -> Term:
    """The conjunction or disjunction of the conditions, nested ones flattened."""
    if isinstance(node.op, ast.And):
        return both(*parts)
    return make("or", [p for part in parts for p in (part.args if part.op == "or" else (part,))])

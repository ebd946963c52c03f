"""The functions of the language: sums and maxima, derivatives, expectations, and the elementary functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from derive.language import refusals
from derive.language.letters import subscripts
from derive.language.words import FUNCTIONS, QUANTIFIERS, REDUCTIONS, SMOOTH, USAGE
from derive.term import OO, Term, delta, diff, fn, index, make, neg, over, subterms, where

if TYPE_CHECKING:
    from derive.language.expressions import Reader

Bound = Mapping[str, Term]
QUANTIFIED = frozenset(QUANTIFIERS)


def _expect(reader: Reader, name: str, node: ast.Call, *counts: int) -> list[ast.expr]:
    """The arguments, if there are as many as there should be."""
    if len(node.args) not in counts:
        wanted = " or ".join(str(c) for c in counts)
        plural = "" if counts == (1,) else "s"
        raise reader.error(
            node, f"{name} takes {wanted} argument{plural}, not {len(node.args)}", f"write {USAGE[name]}"
        )
    return node.args


def elementary(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    (argument,) = _expect(reader, name, node, 1)
    return fn(name, reader.number(argument, bound))


def reduction(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    """sum, prod, max, min, argmax over axes; max and min of two numbers."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        generator = node.args[0]
        letters, inner, test = reader.bind(generator, bound)
        if name == "argmax" and len(letters) != 1:
            raise reader.error(
                node, f"argmax gives one index; here it binds {len(letters)} letters", f"write {USAGE[name]}"
            )
        return over(name, reader.number(generator.elt, inner), *letters, where=test)
    if name in ("max", "min") and len(node.args) == 2:
        return fn(name, reader.number(node.args[0], bound), reader.number(node.args[1], bound))
    if name in ("max", "min") and len(node.args) > 2:
        raise reader.error(node, f"{name} takes two numbers, or runs over an axis", f"nest it: {name}(a, {name}(b, c))")
    raise reader.error(node, f"{name} runs over an axis", f"write {USAGE[name]}")


def quantified(reader: Reader, node: ast.Call, bound: Bound) -> Term:
    """all and any over axes."""
    name = node.func.id  # type: ignore[attr-defined]
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.GeneratorExp):
        raise reader.error(node, f"{name} runs over an axis", f"write {USAGE[name]}")
    letters, inner, test = reader.bind(node.args[0], bound)
    return over(name, reader.condition(node.args[0].elt, inner), *letters, where=test)


def kronecker(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    left, right = _expect(reader, name, node, 2)
    one = reader.index(left, bound, None, "the argument of delta")
    return delta(one, reader.index(right, bound, reader.axis_of(one), "the first argument of delta"))


def cases(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    condition, then, otherwise = _expect(reader, name, node, 3)
    return where(reader.condition(condition, bound), reader.number(then, bound), reader.number(otherwise, bound))


def derivative(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    if len(node.args) < 2:
        raise reader.error(
            node, "diff takes an expression and the variables to differentiate by", f"write {USAGE[name]}"
        )
    body = reader.number(node.args[0], bound)
    return diff(body, *[_variable(reader, target, bound, "differentiate by") for target in node.args[1:]])


def _variable(reader: Reader, node: ast.expr, bound: Bound, purpose: str) -> Term:
    """The entry of a declared variable that takes real values."""
    target = node.value if isinstance(node, ast.Subscript) else node
    name = target.id if isinstance(target, ast.Name) and target.id not in bound else ""
    known = reader.scope.declarations.get(name)
    if known is None:
        written = reader.source.spelling(node)
        if name in reader.scope.definitions:
            raise reader.error(
                node,
                f"{name!r} is defined, not declared: nothing can {purpose} it",
                "name a declared variable, x or z[j]",
            )
        if name and name not in reader.scope.lines and name not in reader.letters:
            raise refusals.unknown(reader.scope, target, name, f"declare it: `{name}: real`")
        raise reader.error(
            node, f"{written} is no declared variable: nothing can {purpose} it", "name a declared variable, x or z[j]"
        )
    if known.kind not in SMOOTH:
        raise reader.error(
            node,
            f"{name!r} is {_article(known.kind)}: nothing can {purpose} it",
            f"declare it as a number: `{name}: real`",
        )
    return reader.number(node, bound)


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def replacement(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    """at(e, z[k], f): the letters of the entry are bound in f alone."""
    body, target, new = _expect(reader, name, node, 3)
    holder = target.value if isinstance(target, ast.Subscript) else target
    variable = holder.id if isinstance(holder, ast.Name) and holder.id not in bound else ""
    known = reader.scope.declarations.get(variable)
    if known is None or known.kind == "index":
        raise reader.error(target, "`at` replaces a declared variable", f"write {USAGE[name]}")
    entries = subscripts(target) if isinstance(target, ast.Subscript) else []
    if len(entries) != len(known.axes):
        raise refusals.rank(reader.scope, target, variable, known.axes, len(entries))
    inner, letters = dict(bound), []
    for entry, axis in zip(entries, known.axes, strict=True):
        if not isinstance(entry, ast.Name):
            raise reader.error(entry, "`at` replaces every entry, so a letter stands here", f"write {USAGE[name]}")
        reader.check_binding(entry.id, entry, inner)
        inner[entry.id] = index(entry.id, axis)
        letters.append(inner[entry.id])
    if reader.scope.random.get(variable) and not reader.sheltered:
        raise refusals.random_outside(reader.scope, target, variable)
    return make("at", (reader.number(body, bound), reader.number(new, inner)), variable, letters)


def limit(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    arguments = _expect(reader, name, node, 3, 4)
    variable = _variable(reader, arguments[1], bound, "take a limit in")
    if variable.args:
        raise reader.error(
            arguments[1], "a limit is taken in a scalar", "declare a scalar and put it in: limit(at(e, z[k], …), T, oo)"
        )
    point = _point(reader, arguments[2], bound)
    if variable.value in point.names:
        raise reader.error(arguments[2], f"the point depends on {variable.value!r} itself", "name a number, oo or -oo")
    infinite = any(t is OO for t in subterms(point))
    side = ""
    if len(arguments) == 4:
        given = arguments[3]
        if not isinstance(given, ast.Constant) or given.value not in ("+", "-"):
            raise reader.error(given, "a limit is taken from above or from below", 'write "+" or "-"')
        if infinite:
            raise reader.error(given, "infinity is approached from one side only", "leave the side out")
        side = str(given.value)
    return make("limit", (reader.number(arguments[0], bound), variable, point), side)


def _point(reader: Reader, node: ast.expr, bound: Bound) -> Term:
    if isinstance(node, ast.Name) and node.id == "oo":
        return OO
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = node.operand
        if isinstance(inner, ast.Name) and inner.id == "oo":
            return neg(OO)
    return reader.number(node, bound)


def expectation(reader: Reader, name: str, node: ast.Call, bound: Bound) -> Term:
    arguments = _expect(reader, name, node, 2 if name == "Cov" else 1)
    for argument in arguments:
        if isinstance(argument, (ast.Compare, ast.BoolOp)):
            raise reader.error(
                argument, "a condition stands where a number is expected", "a probability is E(where(condition, 1, 0))"
            )
    with reader.expectation():
        terms = []
        for argument in arguments:
            terms.append(reader.number(argument, bound))
    return make(name, terms)


Handler = Callable[["Reader", str, ast.Call, Bound], Term]
HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(FUNCTIONS, elementary),
    **dict.fromkeys(REDUCTIONS, reduction),
    "delta": kronecker,
    "where": cases,
    "diff": derivative,
    "at": replacement,
    "limit": limit,
    "E": expectation,
    "Var": expectation,
    "Cov": expectation,
}

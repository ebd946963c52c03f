"""The axis of each free letter, from the places where it stands.

The places are subscripts, both arguments of `delta`, and both sides of a comparison of indices. This pass only looks;
what is not allowed is refused by the translation that follows.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from derive.language.scope import Scope
from derive.language.words import RESERVED

Bound = Mapping[str, str | None]  # letter → axis, of the binders around a node


@dataclass
class Places:
    """What the places imply: an axis and the place that implied it, for each free letter; letters that must agree."""

    axis: dict[str, tuple[str, ast.AST]] = field(default_factory=dict)
    links: list[tuple[str, str, ast.AST]] = field(default_factory=list)


def infer(scope: Scope, nodes: Iterable[ast.AST], extra: Iterable[ast.AST] = ()) -> dict[str, str]:
    """The axis of each free letter of the nodes. The extra nodes speak of the same letters, but only help.

    Raises LanguageError where two places contradict.
    """
    places = Places()
    for node in nodes:
        _look(scope, node, places)
    for node in extra:
        hint = Places()
        _look(scope, node, hint)
        places.links += hint.links
        for letter, found in hint.axis.items():
            places.axis.setdefault(letter, found)
    _spread(scope, places)
    return {letter: axis for letter, (axis, _) in places.axis.items()}


def _look(scope: Scope, root: ast.AST, places: Places) -> None:
    stack: list[tuple[ast.AST, Bound]] = [(root, {})]
    while stack:
        node, bound = stack.pop()
        visit = _VISITS.get(type(node), _visit_children)
        stack += reversed(visit(scope, node, bound, places))


def _visit_children(scope: Scope, node: ast.AST, bound: Bound, places: Places) -> list[tuple[ast.AST, Bound]]:
    return [(child, bound) for child in ast.iter_child_nodes(node)]


def _visit_subscript(scope: Scope, node: ast.Subscript, bound: Bound, places: Places) -> list[tuple[ast.AST, Bound]]:
    entries = subscripts(node)
    axes = (scope.shape(node.value.id) or ()) if isinstance(node.value, ast.Name) else ()
    for entry, axis in zip(entries, axes, strict=False):
        _place(scope, entry, axis, bound, places)
    return [(entry, bound) for entry in entries]


def _visit_call(scope: Scope, node: ast.Call, bound: Bound, places: Places) -> list[tuple[ast.AST, Bound]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "delta" and len(node.args) == 2:
        _same(scope, node.args[0], node.args[1], bound, places)
    if name == "at" and len(node.args) == 3 and isinstance(node.args[1], ast.Subscript):
        target = node.args[1]
        axes = (scope.shape(target.value.id) or ()) if isinstance(target.value, ast.Name) else ()
        letters = [entry.id for entry in subscripts(target) if isinstance(entry, ast.Name)]
        inner = {**bound, **dict(zip(letters, axes, strict=False))}
        return [(node.args[0], bound), (node.args[2], inner)]
    return [(child, bound) for child in node.args]


def _visit_generator(scope: Scope, node: ast.GeneratorExp, bound: Bound, places: Places) -> list[tuple[ast.AST, Bound]]:
    inner = dict(bound)
    for clause in node.generators:
        if isinstance(clause.target, ast.Name):
            inner[clause.target.id] = clause.iter.id if isinstance(clause.iter, ast.Name) else None
    return [(node.elt, inner), *((test, inner) for clause in node.generators for test in clause.ifs)]


def _visit_compare(scope: Scope, node: ast.Compare, bound: Bound, places: Places) -> list[tuple[ast.AST, Bound]]:
    sides = [node.left, *node.comparators]
    for left, right in pairwise(sides):
        _same(scope, left, right, bound, places)
    return [(side, bound) for side in sides]


_VISITS: dict[type[ast.AST], Callable[[Scope, Any, Bound, Places], list[tuple[ast.AST, Bound]]]] = {
    ast.Subscript: _visit_subscript,
    ast.Call: _visit_call,
    ast.GeneratorExp: _visit_generator,
    ast.Compare: _visit_compare,
}


def subscripts(node: ast.Subscript) -> list[ast.expr]:
    """The subscripts as written, one node each."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def index_axis(scope: Scope, node: ast.AST, bound: Bound) -> tuple[str | None, str | None] | None:
    """For a node that is an index: its axis, or the free letter that it is. None if it is not an index."""
    if isinstance(node, ast.Name):
        if node.id in bound:
            return bound[node.id], None
        if node.id in scope.letters:
            return scope.letters[node.id].value[1], None
        return None if node.id in scope.lines or node.id in RESERVED else (None, node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        known = scope.declarations.get(node.value.id)
        return (known.over, None) if known is not None and known.kind == "index" else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "argmax" and node.args:
        first = node.args[0]
        if isinstance(first, ast.GeneratorExp) and isinstance(first.generators[0].iter, ast.Name):
            return first.generators[0].iter.id, None
    return None


def _place(scope: Scope, node: ast.AST, axis: str | None, bound: Bound, places: Places) -> None:
    found = index_axis(scope, node, bound)
    if found is None or found[1] is None or axis is None:
        return
    letter = found[1]
    known = places.axis.setdefault(letter, (axis, node))
    if known[0] != axis:
        _contradiction(scope, letter, known, (axis, node))


def _same(scope: Scope, left: ast.AST, right: ast.AST, bound: Bound, places: Places) -> None:
    one, two = index_axis(scope, left, bound), index_axis(scope, right, bound)
    if one is None or two is None:
        return
    if one[1] is not None and two[1] is not None:
        places.links.append((one[1], two[1], left))
    elif one[1] is not None:
        _place(scope, left, two[0], bound, places)
    elif two[1] is not None:
        _place(scope, right, one[0], bound, places)


def _spread(scope: Scope, places: Places) -> None:
    """Letters that are compared with each other share their axis."""
    neighbours: dict[str, list[tuple[str, ast.AST]]] = {}
    for one, two, node in places.links:
        neighbours.setdefault(one, []).append((two, node))
        neighbours.setdefault(two, []).append((one, node))
    todo = list(places.axis)
    while todo:
        letter = todo.pop()
        axis = places.axis[letter][0]
        for other, node in neighbours.get(letter, ()):
            known = places.axis.get(other)
            if known is None:
                places.axis[other] = (axis, node)
                todo.append(other)
            elif known[0] != axis:
                _contradiction(scope, other, known, (axis, node))


def _contradiction(scope: Scope, letter: str, first: tuple[str, ast.AST], second: tuple[str, ast.AST]) -> None:
    one, two = scope.source.place(first[1]), scope.source.place(second[1])
    there = f"line {one.line}, column {one.column}"
    raise scope.source.error(
        second[1],
        f"the letter {letter!r} runs over {second[0]!r} here, but over {first[0]!r} at {there}",
        f"use two letters, one for each axis; `{letter}: index[{first[0]}]` declares which is meant"
        if (one.line, one.column) != (two.line, two.column)
        else f"{first[0]!r} and {second[0]!r} are different axes; indices of different axes are not compared",
    )

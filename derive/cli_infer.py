"""Declarations inferred from a formula on the command line: an axis for each `for k in n`, real numbers and arrays.

An axis is shared by all places that one letter links: the subscripts where it stands, the letters that it is compared
with. Letters of different binders are different letters, whatever they are called. This only looks; what is not the
language's is refused by the language.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from derive.language.theory import Theory
from derive.language.words import LAWS, RESERVED, SCALARS

_AXES = ("n", "m", "p", "q", "r", "d", *(f"n{k}" for k in range(1, 1000)))
_CLAIM = 0  # the scope of the formula itself, of which conditions on indices alone speak too

Node = tuple[object, ...]  # a letter of a scope or binder, or a place of an array
Bound = Mapping[str, Node]


@dataclass
class _Known:
    """What has been seen: names, the letters that a scope leaves free, and which letters and places share an axis."""

    axes: dict[str, None] = field(default_factory=dict)  # named as axes, in order
    declared: dict[str, None] = field(default_factory=dict)
    ranks: dict[str, int] = field(default_factory=dict)  # of arrays, in order
    scalars: dict[str, None] = field(default_factory=dict)
    indices: dict[str, Node] = field(default_factory=dict)  # arrays of indices, and the place where their values stand
    letters: set[Node] = field(default_factory=set)
    parents: dict[Node, Node] = field(default_factory=dict)
    named: dict[Node, str] = field(default_factory=dict)  # the axis of a class, by its root

    def root(self, node: Node) -> Node:
        while node in self.parents:
            node = self.parents[node]
        return node

    def join(self, one: Node, other: Node) -> None:
        one, other = self.root(one), self.root(other)
        if one != other:
            self.parents[one] = other
            if one in self.named:
                self.named.setdefault(other, self.named[one])

    def name(self, node: Node, axis: str) -> None:
        self.axes.setdefault(axis)
        self.named.setdefault(self.root(node), axis)


def inferred(formulas: Iterable[ast.expr], given: Iterable[ast.stmt], imported: Iterable[Theory] = ()) -> list[str]:
    """The declarations that the formulas and the given statements leave open, axes first.

    `imported` are theories that consist of what the given imports bring.
    """
    formulas, given = list(formulas), list(given)
    known = _Known()
    for theory in imported:
        _take(known, theory)
    for _ in range(3):  # what one pass learns of letters, the next one uses
        known.scalars.clear()
        for number, statement in enumerate(given, 1):
            _statement(known, statement, number)
        for formula in formulas:
            _look(known, formula, {}, _CLAIM)
    return _declarations(known)


def _declarations(known: _Known) -> list[str]:
    taken = {*known.axes, *known.declared, *known.ranks, *known.scalars, *RESERVED}
    taken |= {str(letter[-1]) for letter in known.letters}
    free = (axis for axis in _AXES if axis not in taken)
    arrays = []
    for name, rank in known.ranks.items():
        if name in known.declared or name in RESERVED:
            continue
        axes = [_axis(known, ("place", name, p), free) for p in range(rank)]
        over = _axis(known, known.indices[name], free) if name in known.indices else None
        arrays.append(f"{name}: index[{over}][{', '.join(axes)}]" if over else f"{name}: real[{', '.join(axes)}]")
    axes = [f"{axis}: axis" for axis in known.axes if axis not in known.declared]
    names = {*known.axes, *known.declared, *known.ranks, *RESERVED}
    return [*axes, *arrays, *(f"{name}: real" for name in known.scalars if name not in names)]


def _axis(known: _Known, node: Node, free: Iterator[str]) -> str:
    """The axis of a place; a new one if nothing names it."""
    root = known.root(node)
    if root not in known.named:
        known.name(root, next(free))
    return known.named[root]


def _take(known: _Known, theory: Theory) -> None:
    """Note what an import brings."""
    for axis in theory.axes:
        known.declared[axis] = None
        known.axes.setdefault(axis)
    shapes = {name: d.axes for name, d in theory.declarations.items()}
    shapes |= {name: tuple(k.value[1] for k in d.letters) for name, d in theory.definitions.items()}
    for name, axes in shapes.items():
        known.declared[name] = None
        for place, axis in enumerate(axes):
            known.name(("place", name, place), axis)
    for letter in theory.letters:
        known.declared[letter.value[0]] = None
        _free_letter(known, letter.value[0], _CLAIM)
        known.name(("letter", _CLAIM, letter.value[0]), letter.value[1])


# -- statements --------------------------------------------------------------------------------------------------------


def _statement(known: _Known, node: ast.stmt, scope: int) -> None:
    if isinstance(node, ast.AnnAssign):
        _annotated(known, node, scope)
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        _target(known, node.targets[0], scope)
        _look(known, node.value, {}, scope)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        subscripted = any(isinstance(inner, ast.Subscript) for inner in ast.walk(node.value))
        for argument in node.value.args:  # of `assume`
            _look(known, argument, {}, scope if subscripted else _CLAIM)


def _target(known: _Known, target: ast.expr, scope: int) -> None:
    """The name on the left, with its letters, which are those of the statement alone."""
    if isinstance(target, ast.Name):
        known.declared[target.id] = None
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        known.declared[target.value.id] = None
        for place, entry in enumerate(_entries(target)):
            if isinstance(entry, ast.Name):
                known.join(_free_letter(known, entry.id, scope), ("place", target.value.id, place))


def _annotated(known: _Known, node: ast.AnnAssign, scope: int) -> None:
    """A declaration: kind, axes in brackets, parameters of a law."""
    _target(known, node.target, scope)
    name = node.target.id if isinstance(node.target, ast.Name) else ""
    brackets: list[list[ast.expr]] = []
    kind = node.annotation
    while isinstance(kind, ast.Subscript):
        brackets.insert(0, _entries(kind))
        kind = kind.value
    word = kind.func if isinstance(kind, ast.Call) else kind
    if not isinstance(word, ast.Name) or word.id not in (*SCALARS, *LAWS, "axis", "index"):
        return
    if word.id == "axis" and name:
        known.axes.setdefault(name)
    for entry in itertools.chain(*brackets):
        if isinstance(entry, ast.Name):
            known.axes.setdefault(entry.id)
    if word.id == "index" and len(brackets) == 1 and name:
        letter = _free_letter(known, name, _CLAIM)
        for entry in brackets[0]:
            if isinstance(entry, ast.Name):
                known.name(letter, entry.id)
    elif brackets:
        for place, entry in enumerate(brackets[-1]):
            if isinstance(entry, ast.Name):
                known.name(("place", name, place), entry.id)
    if isinstance(kind, ast.Call):
        for parameter in (*kind.args, *(k.value for k in kind.keywords)):
            _look(known, parameter, {}, scope)


# -- expressions -------------------------------------------------------------------------------------------------------


def _look(known: _Known, node: ast.AST, bound: Bound, scope: int) -> None:
    if isinstance(node, ast.Name):
        if _letter(known, node, bound, scope) is None:
            known.scalars.setdefault(node.id)
    elif isinstance(node, ast.Subscript):
        _subscripted(known, node, bound, scope)
    elif isinstance(node, ast.GeneratorExp):
        _generated(known, node, bound, scope)
    elif isinstance(node, ast.Call):
        _called(known, node, bound, scope)
    else:
        if isinstance(node, ast.Compare):
            for left, right in itertools.pairwise([node.left, *node.comparators]):
                _same(known, left, right, bound, scope)
        for child in ast.iter_child_nodes(node):
            _look(known, child, bound, scope)


def _letter(known: _Known, node: ast.AST, bound: Bound, scope: int) -> Node | None:
    """The letter that a name is, or None."""
    if not isinstance(node, ast.Name):
        return None
    if node.id in bound:
        return bound[node.id]
    letter = ("letter", scope, node.id)
    return letter if letter in known.letters else None


def _free_letter(known: _Known, name: str, scope: int) -> Node:
    letter = ("letter", scope, name)
    known.letters.add(letter)
    return letter


def _bound_letter(known: _Known, node: ast.Name) -> Node:
    letter = ("bound", id(node), node.id)
    known.letters.add(letter)
    return letter


def _index(known: _Known, node: ast.AST, bound: Bound, scope: int) -> Node | None:
    """What is known to be an index: a letter, an entry of an array of indices, an argmax."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in known.indices:
        return known.indices[node.value.id]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "argmax":
        argument = node.args[0] if node.args else None
        if isinstance(argument, ast.GeneratorExp) and isinstance(argument.generators[0].iter, ast.Name):
            axis = argument.generators[0].iter.id
            known.name(("axis", axis), axis)
            return ("axis", axis)
    return _letter(known, node, bound, scope)


def _same(known: _Known, left: ast.AST, right: ast.AST, bound: Bound, scope: int) -> None:
    """Both sides of a comparison run over one axis if one of them is an index."""
    one, other = (_index(known, side, bound, scope) for side in (left, right))
    for found, side in ((one, right), (other, left)):
        if found is not None and isinstance(side, ast.Name) and side.id not in (*known.axes, *bound, *known.declared):
            _free_letter(known, side.id, scope)
    one, other = (_index(known, side, bound, scope) for side in (left, right))
    if one is not None and other is not None:
        known.join(one, other)


def _subscripted(known: _Known, node: ast.Subscript, bound: Bound, scope: int) -> None:
    entries = _entries(node)
    name = node.value.id if isinstance(node.value, ast.Name) else ""
    if name:
        known.ranks.setdefault(name, len(entries))
    else:
        _look(known, node.value, bound, scope)
    for place, entry in enumerate(entries):
        here = ("place", name, place)
        if isinstance(entry, ast.Name):
            if entry.id not in bound:
                _free_letter(known, entry.id, scope)
            known.join(_letter(known, entry, bound, scope) or here, here)
            continue
        if isinstance(entry, ast.Subscript) and isinstance(entry.value, ast.Name):
            known.indices.setdefault(entry.value.id, ("values", entry.value.id))
        found = _index(known, entry, bound, scope)
        if found is not None:
            known.join(found, here)
        _look(known, entry, bound, scope)


def _generated(known: _Known, node: ast.GeneratorExp, bound: Bound, scope: int) -> None:
    inner = dict(bound)
    for clause in node.generators:
        if isinstance(clause.target, ast.Name) and isinstance(clause.iter, ast.Name):
            inner[clause.target.id] = _bound_letter(known, clause.target)
            known.name(inner[clause.target.id], clause.iter.id)
        for test in clause.ifs:
            _look(known, test, inner, scope)
    _look(known, node.elt, inner, scope)


def _called(known: _Known, node: ast.Call, bound: Bound, scope: int) -> None:
    word = node.func.id if isinstance(node.func, ast.Name) else ""
    if word == "delta" and len(node.args) == 2:
        for argument in node.args:
            if isinstance(argument, ast.Name) and argument.id not in bound:
                _free_letter(known, argument.id, scope)
        _same(known, *node.args, bound, scope)
    if word == "at" and len(node.args) == 3 and isinstance(node.args[1], ast.Subscript):
        body, target, new = node.args
        _look(known, body, bound, scope)
        inner = dict(bound)
        for place, entry in enumerate(_entries(target)):
            if isinstance(entry, ast.Name) and isinstance(target.value, ast.Name):
                inner[entry.id] = _bound_letter(known, entry)
                known.join(inner[entry.id], ("place", target.value.id, place))
        _look(known, target, inner, scope)
        _look(known, new, inner, scope)
        return
    for argument in node.args:
        _look(known, argument, bound, scope)


def _entries(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]

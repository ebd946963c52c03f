"""What an import brings: the named definitions and theorems, with all that they rest on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from derive.kernel.context import Declaration, Definition
from derive.language.printer import axes_of
from derive.language.scope import Scope, came_from
from derive.language.theory import Theorem, Theory
from derive.term import Term


class ImportProblem(Exception):
    """An import that cannot be followed: the message and the hint for the place of the import."""

    def __init__(self, message: str, hint: str | None = None):
        self.message, self.hint = message, hint
        super().__init__(message)


@dataclass(frozen=True)
class Part:
    """Some of what a theory declares, defines and assumes, each in its order."""

    axes: tuple[str, ...]
    declarations: tuple[Declaration, ...]
    letters: tuple[Term, ...]
    definitions: tuple[Definition, ...]
    hypotheses: tuple[Term, ...]


def everything(theory: Theory) -> Part:
    """All that the theory declares, defines and assumes at top level."""
    return Part(
        theory.axes,
        tuple(theory.declarations.values()),
        theory.letters,
        tuple(theory.definitions.values()),
        theory.hypotheses,
    )


def rests_on(theory: Theory, wanted: Iterable[str]) -> Part:
    """The declarations and definitions that the named definitions and theorems of the theory rest on, themselves
    included, and those hypotheses that speak of nothing else."""
    names: set[str] = set()
    todo = list(wanted)
    theorems = {t.name: t for t in theory.theorems}
    letters = {k.value[0]: k for k in theory.letters}
    while todo:
        name = todo.pop()
        if name in names:
            continue
        names.add(name)
        if name in theorems:
            todo += _of_theorem(theorems[name], letters)
        elif name in theory.definitions:
            todo += _of_definition(theory.definitions[name], letters)
        elif name in theory.declarations:
            todo += _of_declaration(theory.declarations[name], letters)
        elif name in letters:
            todo.append(letters[name].value[1])
    return Part(
        tuple(a for a in theory.axes if a in names),
        tuple(d for n, d in theory.declarations.items() if n in names),
        tuple(k for n, k in letters.items() if n in names),
        tuple(d for n, d in theory.definitions.items() if n in names),
        tuple(h for h in theory.hypotheses if _of_term(h, letters) <= names),
    )


def _of_term(term: Term, letters: Mapping[str, Term]) -> set[str]:
    """The names, axes and declared indices that occur in a term."""
    return {*term.names, *axes_of(term), *(k.value[0] for k in term.letters if letters.get(k.value[0]) is k)}


def _of_definition(definition: Definition, letters: Mapping[str, Term]) -> set[str]:
    free = {name: k for name, k in letters.items() if k not in definition.letters}
    return _of_term(definition.body, free) | {k.value[1] for k in definition.letters}


def _of_declaration(declaration: Declaration, letters: Mapping[str, Term]) -> set[str]:
    found = {*declaration.axes, *([declaration.over] if declaration.over else [])}
    free = {name: k for name, k in letters.items() if k not in declaration.letters}
    for parameter in declaration.law.parameters if declaration.law else ():
        found |= _of_term(parameter, free)
    return found


def _of_theorem(theorem: Theorem, letters: Mapping[str, Term]) -> set[str]:
    own = {d.name for d in theorem.declarations} | {d.name for d in theorem.definitions}
    own |= {k.value[0] for k in theorem.letters}
    outer = {name: k for name, k in letters.items() if name not in own}
    found = {k.value[1] for k in theorem.letters}
    for term in (*(c.condition for c in theorem.claims), *theorem.hypotheses):
        found |= _of_term(term, outer)
    for definition in theorem.definitions:
        found |= _of_definition(definition, outer)
    for declaration in theorem.declarations:
        found |= _of_declaration(declaration, outer)
    return found - own


def check_conflicts(scope: Scope, node: ast.ImportFrom, part: Part, theorems: Iterable[str]) -> None:
    """Refuse what would then be declared twice; the same thing by two ways is one thing."""
    coming: list[tuple[str, object, object]] = [(a, a, a if a in scope.axes else None) for a in part.axes]
    coming += [(d.name, _placeless(d), _placeless(scope.declarations.get(d.name))) for d in part.declarations]
    coming += [(k.value[0], k, scope.letters.get(k.value[0])) for k in part.letters]
    coming += [(d.name, _placeless(d), _placeless(scope.definitions.get(d.name))) for d in part.definitions]
    coming += [(name, name, None) for name in theorems]
    for name, new, old in coming:
        here = scope.lines.get(name)
        if here is not None and not (here[1] == 0 and new == old):
            message = f"{name!r} comes with this import, but is already the {here[0]} of {came_from(here[1])}"
            raise scope.source.error(node, message, "import first, and declare nothing that comes with it")
        later = scope.upcoming.get(name)
        if later is not None and later > node.lineno:
            message = f"{name!r} comes with this import, but line {later} declares it again"
            raise scope.source.error(node, message, f"delete line {later}, or use another name there")


def _placeless(item: Declaration | Definition | None) -> Declaration | Definition | None:
    """The item without its line, which says nothing about what it is."""
    return replace(item, line=0) if item is not None else None


def enter(scope: Scope, part: Part) -> None:
    """Make known what comes from elsewhere."""
    for axis in part.axes:
        scope.axes[axis] = 0
        scope.lines[axis] = ("axis", 0)
    for declaration in part.declarations:
        scope.declarations[declaration.name] = declaration
        scope.lines[declaration.name] = ("variable", 0)
        if declaration.law is not None:
            scope.random[declaration.name] = True
    for letter in part.letters:
        scope.letters[letter.value[0]] = letter
        scope.lines[letter.value[0]] = ("index", 0)
    for definition in part.definitions:
        scope.add_definition(definition, 0)

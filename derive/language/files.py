"""Whole files: a text, statement by statement, with what it imports, to a theory."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from derive.language.declarations import declare
from derive.language.imports import ImportProblem, Part, check_conflicts, enter, everything, rests_on
from derive.language.scope import Scope
from derive.language.source import Source, clean, parse, prose
from derive.language.statements import (
    assumed,
    claims,
    define,
    docstring,
    example,
    hypothesis,
    is_assume,
    is_example,
    left_side,
    statement_error,
    target_names,
    theorem,
)
from derive.language.theory import Import, Theorem, Theory
from derive.language.translations import parted, titled
from derive.language.words import instead
from derive.term import Term

Importer = Callable[[str], Theory]  # the theory of a name; raises LanguageError


@dataclass
class _File:
    """A file that is being read."""

    source: Source
    scope: Scope
    importer: Importer
    hypotheses: list[Term] = field(default_factory=list)
    theorems: list[Theorem] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)  # theorems that a claim may name

    def add_hypothesis(self, condition: Term | None) -> None:
        if condition is not None and condition not in self.hypotheses:
            self.hypotheses.append(condition)


def read_theory(source: Source, importer: Importer) -> Theory:
    """The theory that the text is. Raises LanguageError where it is none."""
    tree = parse(source)
    statements, title, rest, translations = list(tree.body), "", "", {}
    if (first := docstring(statements)) is not None:
        text, parts = parted(clean(prose(source, first)))
        title, rest = titled(text)
        translations = {code: titled(part) for code, part in parts.items()}
        statements = statements[1:]
    imported = {a.name: s.lineno for s in statements if isinstance(s, ast.ImportFrom) for a in s.names}
    file = _File(source, Scope(source, _top_level_names(statements), imported), importer)
    for node in statements:
        _STATEMENTS.get(type(node), _other)(file, node)
    scope = file.scope
    return Theory(
        source.name,
        source.path,
        source.text,
        title,
        rest,
        tuple(scope.axes),
        dict(scope.declarations),
        tuple(scope.letters.values()),
        dict(scope.definitions),
        tuple(file.hypotheses),
        tuple(file.theorems),
        tuple(file.imports),
        translations,
    )


def scope_of(theory: Theory, source: Source, theorem: Theorem | None = None) -> Scope:
    """The scope of a finished theory, or of one of its theorems, for an expression from elsewhere."""
    scope = Scope(source, {})
    enter(scope, everything(theory))
    if theorem is not None:
        enter(scope, Part((), theorem.declarations, theorem.letters, theorem.definitions, ()))
    return scope


def _top_level_names(statements: list[ast.stmt]) -> dict[str, int]:
    names: dict[str, int] = {}
    for node in statements:
        if isinstance(node, ast.AnnAssign):
            found = target_names([node.target])
        elif isinstance(node, ast.Assign):
            found = target_names(node.targets)
        elif isinstance(node, ast.FunctionDef):
            found = {node.name: node.lineno}
        else:
            found = {}
        for name, line in found.items():
            names.setdefault(name, line)
    return names


def _declaration(file: _File, node: ast.AnnAssign) -> None:
    if node.value is not None:
        raise file.source.error(node.value, "a declaration gives no value", "define it: s = …, or assume(x == 2)")
    name, entries = left_side(file.source, node.target)
    varies = isinstance(node.target, ast.Subscript)
    file.add_hypothesis(declare(file.scope, name, node.target, node.annotation, entries if varies else None))


def _definition(file: _File, node: ast.Assign) -> None:
    define(file.scope, node)


def _claim(file: _File, node: ast.Assert) -> None:
    name = f"line_{node.lineno}"
    if name in file.scope.lines:
        raise file.source.error(node, f"there is already a {name!r}", "write one claim a line")
    found = claims(file.scope, node, file.lemmas, name)
    file.scope.lines[name] = ("theorem", node.lineno)
    file.theorems.append(Theorem(name, node.lineno, found))
    file.lemmas.append(name)


def _theorem(file: _File, node: ast.FunctionDef) -> None:
    file.scope.claim_name(node.name, node, "theorem")
    file.theorems.append(theorem(file.scope, node, file.lemmas))
    file.lemmas.append(node.name)


def _other(file: _File, node: ast.stmt) -> None:
    if not (is_assume(node) and isinstance(node, ast.Expr)):
        raise statement_error(
            file.source, node, "a file holds declarations, definitions, assume(…), theorems, claims and imports"
        )
    condition = assumed(file.source, node)
    if isinstance(condition, ast.Compare) and is_example(condition):
        example(file.scope, condition)  # refused here, with its reason
    file.add_hypothesis(hypothesis(file.scope, condition))


# -- imports ---------------------------------------------------------------------------------------------------------


def _import(file: _File, node: ast.ImportFrom) -> None:
    source = file.source
    if node.level or not node.module or "." in node.module:
        raise source.error(node, "a theory is imported by its name alone", "write `from softmax import s, jacobian`")
    for alias in node.names:
        if alias.name == "*":
            raise source.error(
                alias, "everything at once cannot be imported", "name what you use: `from softmax import s`"
            )
        if alias.asname:
            raise source.error(alias, "an import keeps its names", f"leave out `as {alias.asname}`")
    try:
        theory = file.importer(node.module)
    except ImportProblem as problem:
        raise source.error(node, problem.message, problem.hint) from None
    names = tuple(dict.fromkeys(alias.name for alias in node.names))
    known = [*theory.axes, *theory.declarations, *(k.value[0] for k in theory.letters), *theory.definitions]
    theorems = {t.name for t in theory.theorems}
    known += sorted(theorems)
    for alias in node.names:
        if alias.name not in known:
            offered = [*theory.definitions, *(t.name for t in theory.theorems), *known]
            raise source.error(alias, f"{node.module} has no {alias.name!r}", instead(alias.name, offered))
    part = rests_on(theory, names)
    check_conflicts(file.scope, node, part, [name for name in names if name in theorems])
    enter(file.scope, part)
    for condition in part.hypotheses:
        file.add_hypothesis(condition)
    for name in names:
        if name in theorems:
            file.scope.lines[name] = ("imported theorem", 0)
            file.lemmas.append(name)
    file.imports.append(Import(node.module, names, theory, node.lineno))


_STATEMENTS: dict[type[ast.AST], Callable[[_File, ast.AST], None]] = {
    ast.AnnAssign: _declaration,  # type: ignore[dict-item]
    ast.Assign: _definition,  # type: ignore[dict-item]
    ast.Assert: _claim,  # type: ignore[dict-item]
    ast.FunctionDef: _theorem,  # type: ignore[dict-item]
    ast.ImportFrom: _import,  # type: ignore[dict-item]
}

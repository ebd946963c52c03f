"""Statements: definitions, hypotheses, theorems and claims, in the order of the text."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from derive.kernel.context import Definition
from derive.language.declarations import declare, left_letters
from derive.language.errors import LanguageError
from derive.language.expressions import Reader
from derive.language.letters import index_axis, infer
from derive.language.printer import to_text
from derive.language.scope import Scope, refuse_word
from derive.language.source import Source, clean, prose
from derive.language.theory import Claim, Theorem
from derive.language.translations import parted, parted_line
from derive.language.words import USAGE, similar
from derive.term import Term, cmp, make, var

_STATEMENT_HINT = "a file holds declarations, definitions, assume(…), theorems (def name():), claims and imports"
_BODY_HINT = "a theorem holds assume(…), local definitions and claims"
_OTHERS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Import: ("a plain import", "write `from softmax import s, jacobian`"),
    ast.ClassDef: ("a class", _STATEMENT_HINT),
    ast.AsyncFunctionDef: ("an async function", "a theorem is `def name():`"),
    ast.For: ("a loop", "letters run over their axes by themselves; a sum is sum(x[k] for k in n)"),
    ast.While: ("a loop", "letters run over their axes by themselves"),
    ast.If: ("an if statement", "a case distinction is where(condition, a, b); a hypothesis is assume(condition)"),
    ast.Return: ("a return", "a theorem ends with its claims: assert a == b"),
    ast.AugAssign: ("an update", "a name is defined once: s = …"),
    ast.Pass: ("pass", "a theorem holds at least one claim: assert a == b"),
    ast.Delete: ("del", _STATEMENT_HINT),
    ast.With: ("with", _STATEMENT_HINT),
    ast.Try: ("try", _STATEMENT_HINT),
    ast.Raise: ("raise", _STATEMENT_HINT),
    ast.Global: ("global", _STATEMENT_HINT),
    ast.Nonlocal: ("nonlocal", _STATEMENT_HINT),
    ast.Match: ("match", "a case distinction is where(condition, a, b)"),
}


def statement_error(source: Source, node: ast.stmt, hint: str) -> LanguageError:
    """The refusal of a statement that is none of the language's."""
    if isinstance(node, ast.Expr):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return source.error(
                node, "a text stands only at the beginning of a file or theorem", "write a comment: # …"
            )
        if isinstance(node.value, ast.Lambda):
            return source.error(node, "'lambda' is a word of Python's", "as a name, write lambda_ or λ")
        if isinstance(node.value, ast.Compare):
            return source.error(
                node, "a comparison alone says nothing", "a claim is `assert a == b`, a hypothesis `assume(a == b)`"
            )
        return source.error(node, "an expression alone says nothing", hint)
    what, better = _OTHERS.get(type(node), ("this statement", hint))
    return source.error(node, f"{what} is not in the language", better)


def is_assume(node: ast.stmt) -> bool:
    """Whether the statement is assume(…)."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id == "assume"
    )


def assumed(source: Source, node: ast.Expr) -> ast.expr:
    """The condition of an assume(…)."""
    call = node.value
    assert isinstance(call, ast.Call)
    if len(call.args) != 1 or call.keywords:
        hint = "an equation is x == 1" if call.keywords else "several conditions are several assumes"
        raise source.error(node, "assume takes one condition", f"write assume(x > 0); {hint}")
    return call.args[0]


# -- definitions -----------------------------------------------------------------------------------------------------


def define(scope: Scope, node: ast.Assign) -> Definition:
    """Enter the definition and return it."""
    source = scope.source
    if len(node.targets) != 1:
        raise source.error(node, "one name is defined at a time", "write two definitions")
    target = node.targets[0]
    name, entries = left_side(source, target)
    refuse_word(source, name, target, "defined")
    if isinstance(node.value, (ast.Compare, ast.BoolOp)):
        raise source.error(
            node.value, "a condition cannot be the value of a definition", "define a number: where(condition, 1, 0)"
        )
    _refuse_circle(scope, name, node.value)
    letters, reader = left_letters(scope, entries, [node.value], random=True)
    body = reader.expression(node.value)
    scope.claim_name(name, target, "definition")
    definition = Definition(name, letters, body, node.lineno)
    scope.add_definition(definition, node.lineno)
    return definition


def _refuse_circle(scope: Scope, name: str, body: ast.expr) -> None:
    """Refuse a definition that uses its own name, unless as a letter, which has a reason of its own."""
    letters = {
        n.target.id for n in ast.walk(body) if isinstance(n, ast.comprehension) and isinstance(n.target, ast.Name)
    }
    for node in ast.walk(body):
        if isinstance(node, ast.Name) and node.id == name and name not in letters and name not in scope.lines:
            raise scope.source.error(node, f"{name!r} is defined by itself", "a definition uses earlier names only")


def left_side(source: Source, target: ast.expr) -> tuple[str, list[ast.expr]]:
    """Name and letters on the left of a definition or an entry-wise law."""
    if isinstance(target, ast.Name):
        return target.id, []
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
        entries = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        if not entries:
            raise source.error(target, "the brackets are empty", "write s[i] = …, or s = … for a scalar")
        return target.value.id, list(entries)
    raise source.error(target, "only a name, or a name with letters, is defined", "write s = … or s[i] = …")


# -- hypotheses ------------------------------------------------------------------------------------------------------


def hypothesis(scope: Scope, node: ast.expr, letters: dict[str, str] | None = None) -> Term:
    """The condition of an assume; `letters` are axes of the claims' letters, for a condition on letters alone."""
    found = {**(letters or {}), **infer(scope, [node])} if letters_alone(scope, node) else infer(scope, [node])
    return Reader(scope, found).statement(node)


def letters_alone(scope: Scope, node: ast.AST) -> bool:
    """Whether the condition compares letters only, so that it restricts the claims' own letters."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.BoolOp):
            stack += part.values
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            stack.append(part.operand)
        elif not isinstance(part, ast.Compare):
            return False
        else:
            for side in [part.left, *part.comparators]:
                if not isinstance(side, ast.Name) or index_axis(scope, side, {}) is None:
                    return False
    return True


def is_example(node: ast.expr) -> bool:
    """Whether the condition is a finite example, z == [ … ]."""
    return isinstance(node, ast.Compare) and any(isinstance(s, ast.List) for s in [node.left, *node.comparators])


def example(scope: Scope, node: ast.Compare) -> Term:
    """The hypothesis of a finite example; enters the sizes that it fixes."""
    source, left = scope.source, node.left
    right = node.comparators[0]
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq) or not isinstance(right, ast.List):
        raise source.error(node, "a finite example sets one array to a list", "write assume(z == [2, 1, 0])")
    if scope.parent is None:
        raise source.error(node, "a finite example belongs to a theorem", "move the assume into a `def name():`")
    known = scope.declarations.get(left.id) if isinstance(left, ast.Name) else None
    if known is None or not isinstance(left, ast.Name):
        raise source.error(
            left, "a finite example sets a declared array", "write assume(z == [2, 1, 0]) where z is declared"
        )
    if known.kind == "random":
        raise source.error(left, f"{left.id!r} is random: it has a law, not a value", "set the parameters of its law")
    if not known.axes:
        raise source.error(right, f"{left.id!r} is a scalar", f"write assume({left.id} == 2)")
    return cmp("==", var(left.id), _entries(scope, right, known.axes))


def _entries(scope: Scope, node: ast.expr, axes: tuple[str, ...]) -> Term:
    if not axes:
        if isinstance(node, ast.List):
            raise scope.source.error(
                node, "the lists are nested deeper than the array has axes", "write one pair of brackets for each axis"
            )
        term = Reader(scope, {}, frozenset()).expression(node)
        if not literal_like(term):
            raise scope.source.error(
                node, "the entries of a finite example are numbers", "write numbers such as 1/2 or 0.5"
            )
        return term
    if not isinstance(node, ast.List):
        raise scope.source.error(
            node,
            f"a list over {axes[0]!r} is expected here",
            "write one pair of brackets for each axis: [[1, 2], [3, 4]]",
        )
    if not node.elts:
        raise scope.source.error(node, "an axis has at least one index", "write at least one entry")
    known = scope.finite.setdefault(axes[0], len(node.elts))
    if known != len(node.elts):
        message = f"{axes[0]!r} has size {known} here, but the list has {len(node.elts)} entries"
        raise scope.source.error(node, message, "lists over one axis are equally long")
    return make("list", [_entries(scope, entry, axes[1:]) for entry in node.elts])


def literal_like(term: Term) -> bool:
    """Whether the term is built of numbers alone."""
    if term.op in ("neg", "add", "mul", "div", "pow", "fn"):
        return all(literal_like(a) for a in term.args)
    return term.op in ("num", "const")


# -- claims ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """What an assert says after its comma."""

    caption: str | None = None
    by: tuple[str, ...] = ()
    translations: dict[str, str] = field(default_factory=dict)


def claims(
    scope: Scope, node: ast.Assert, theorems: Iterable[str], here: str, extra: Iterable[ast.expr] = ()
) -> tuple[Claim, ...]:
    """The claims of an assert, one for each link of its chain."""
    message = _message(scope, node.msg, set(theorems), here)
    if isinstance(node.test, ast.Tuple):
        raise scope.source.error(node.test, "a claim in parentheses with its caption", 'write assert a == b, "caption"')
    reader = Reader(scope, infer(scope, [node.test], extra))
    return tuple(
        Claim(condition, node.lineno, to_text(condition), message.caption, message.by, message.translations)
        for condition in _links(reader, node.test)
    )


def _links(reader: Reader, node: ast.expr) -> list[Term]:
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [link for value in node.values for link in _links(reader, value)]
    condition = reader.statement(node)
    if not isinstance(node, ast.Compare):
        return [condition]
    return list(condition.args) if condition.op == "and" else [condition]


def _message(scope: Scope, node: ast.expr | None, theorems: set[str], here: str) -> Message:
    source = scope.source
    if node is None:
        return Message()
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        text, translations = parted_line(prose(source, node))
        return Message(text, translations=translations)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "by"):
        raise source.error(node, "after a claim stands its caption or by(…)", USAGE["by"])
    for keyword in node.keywords:
        raise source.error(keyword, "by takes no named arguments", USAGE["by"])
    names, caption, translations = [], None, {}
    for position, argument in enumerate(node.args):
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str) and position == len(node.args) - 1:
            caption, translations = parted_line(prose(source, argument))
        elif isinstance(argument, ast.Name):
            _check_lemma(scope, argument, theorems, here)
            names.append(argument.id)
        else:
            raise source.error(argument, "by names earlier theorems, and a caption last", USAGE["by"])
    if not names:
        raise source.error(node, "by names at least one earlier theorem", USAGE["by"])
    return Message(caption, tuple(dict.fromkeys(names)), translations)


def _check_lemma(scope: Scope, node: ast.Name, theorems: set[str], here: str) -> None:
    name, source = node.id, scope.source
    if name in theorems:
        return
    if name == here:
        raise source.error(
            node, f"{name!r} leads back to itself", "earlier claims of the same theorem may be used without saying so"
        )
    if name in scope.lines:
        raise source.error(
            node,
            f"{name!r} is the {scope.lines[name][0]} of line {scope.lines[name][1]}, not a theorem",
            "by names earlier theorems",
        )
    if (line := scope.planned(name)) is not None:
        raise source.error(node, f"{name!r} comes later, on line {line}", "by names earlier theorems; move it up")
    meant = similar(name, theorems)
    raise source.error(
        node,
        f"there is no theorem {name!r}",
        f"did you mean {meant!r}?" if meant else "by names earlier theorems of this file or imported ones",
    )


# -- theorems --------------------------------------------------------------------------------------------------------


@dataclass
class _Body:
    hypotheses: list[Term | ast.expr] = field(default_factory=list)  # conditions on letters alone wait for the claims
    definitions: list[Definition] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)


def theorem(scope: Scope, node: ast.FunctionDef, theorems: Iterable[str]) -> Theorem:
    """The theorem of a `def`, with its own scope on top of the file's."""
    source = scope.source
    for decorator in node.decorator_list:
        raise source.error(decorator, "a decorator is not in the language", "leave it out")
    if getattr(node, "type_params", None):
        raise source.error(node, "a theorem has no type parameters", "write def name(g: real[n]):")
    if node.returns is not None:
        raise source.error(node.returns, "a theorem returns nothing", "write def name():")
    statements, doc, translations = list(node.body), "", {}
    if (first := docstring(statements)) is not None:
        (doc, translations), statements = parted(clean(prose(source, first))), statements[1:]
    inner = scope.inner(_local_names(node))
    for argument in _arguments(source, node):
        if argument.annotation is None:
            raise source.error(
                argument, f"the argument {argument.arg!r} needs its kind", f"write {argument.arg}: real[n]"
            )
        declare(inner, argument.arg, argument, argument.annotation)
    body = _Body()
    waiting = [assumed(source, s) for s in statements if is_assume(s) and isinstance(s, ast.Expr)]
    extra = [c for c in waiting if letters_alone(inner, c)]
    for statement in statements:
        _statement(inner, statement, body, theorems, node.name, extra)
    if not body.claims:
        raise source.error(node, f"the theorem {node.name!r} claims nothing", "end it with assert a == b")
    return Theorem(
        node.name,
        node.lineno,
        tuple(body.claims),
        doc,
        declarations=_own(inner.declarations),
        letters=_own(inner.letters),
        hypotheses=_settled(inner, body, statements),
        definitions=tuple(body.definitions),
        translations=translations,
    )


def _own(table: MutableMapping[str, Any]) -> tuple[Any, ...]:
    """What the innermost scope added to the table, in order."""
    assert isinstance(table, ChainMap)
    return tuple(table.maps[0].values())


def docstring(statements: list[ast.stmt]) -> ast.Constant | None:
    """The text that stands first, or None."""
    first = statements[0] if statements else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.value
    return None


def _arguments(source: Source, node: ast.FunctionDef) -> list[ast.arg]:
    a = node.args
    unusual = [*a.posonlyargs, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    for argument in unusual:
        raise source.error(
            argument, "arguments are plain variables with their kind", "write def name(g: real[n], v: real[n]):"
        )
    for default in [*a.defaults, *filter(None, a.kw_defaults)]:
        raise source.error(default, "a default value says nothing here", "a hypothesis on an argument is assume(…)")
    return a.args


def _local_names(node: ast.FunctionDef) -> dict[str, int]:
    names = {argument.arg: argument.lineno for argument in node.args.args}
    for statement in node.body:
        if isinstance(statement, ast.Assign):
            names.update(target_names(statement.targets))
    return names


def target_names(targets: list[ast.expr]) -> dict[str, int]:
    """The names that the targets of an assignment define, with their line."""
    found = {}
    for target in targets:
        head = target.value if isinstance(target, ast.Subscript) else target
        if isinstance(head, ast.Name):
            found[head.id] = head.lineno
    return found


def _statement(
    scope: Scope, node: ast.stmt, body: _Body, theorems: Iterable[str], here: str, extra: list[ast.expr]
) -> None:
    source = scope.source
    if isinstance(node, ast.Assert):
        body.claims += claims(scope, node, theorems, here, extra)
    elif isinstance(node, ast.Assign):
        body.definitions.append(define(scope, node))
    elif is_assume(node) and isinstance(node, ast.Expr):
        if body.claims:
            raise source.error(
                node,
                "a hypothesis after a claim",
                "a hypothesis holds for the whole theorem: put it before the first assert",
            )
        condition = assumed(source, node)
        if isinstance(condition, ast.Compare) and is_example(condition):
            body.hypotheses.append(example(scope, condition))
        else:
            body.hypotheses.append(condition if letters_alone(scope, condition) else hypothesis(scope, condition))
    elif isinstance(node, ast.AnnAssign):
        raise source.error(node, "a theorem's own variables are its arguments", "write def name(g: real[n]):")
    elif isinstance(node, ast.FunctionDef):
        raise source.error(node, "a theorem inside a theorem", "write it at top level")
    elif isinstance(node, ast.ImportFrom):
        raise source.error(node, "an import inside a theorem", "write it at top level")
    else:
        raise statement_error(source, node, _BODY_HINT)


def _settled(scope: Scope, body: _Body, statements: list[ast.stmt]) -> tuple[Term, ...]:
    """The hypotheses; conditions on letters alone take their axes from the claims."""
    waiting = [h for h in body.hypotheses if not isinstance(h, Term)]
    restricted = {name for condition in waiting for name in names(condition)}
    axes: dict[str, str] = {}
    for node in statements if waiting else ():
        if not isinstance(node, ast.Assert):
            continue
        for letter, axis in infer(scope, [node.test], waiting).items():
            if axes.setdefault(letter, axis) != axis and letter in restricted:
                message = f"a hypothesis on {letter!r} means {axes[letter]!r} in one claim, and {axis!r} here"
                raise scope.source.error(node.test, message, "use different letters in the two claims")
    settled = [h if isinstance(h, Term) else hypothesis(scope, h, axes) for h in body.hypotheses]
    return tuple(dict.fromkeys(settled))


def names(node: ast.AST) -> set[str]:
    """The names that occur in a node."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}

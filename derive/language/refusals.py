"""The refusals of expressions: for each mistake, the error that says what, where, and what would be right."""

from __future__ import annotations

import ast
from collections.abc import Container, Mapping

from derive.language.errors import LanguageError
from derive.language.scope import Scope, came_from
from derive.language.words import (
    CALLABLE,
    CONSTANTS,
    ELSEWHERE,
    LAWS,
    NUMBERS_WRITTEN_OUT,
    QUANTIFIERS,
    RESERVED,
    USAGE,
    WRITTEN_OUT,
    similar,
)

SPLIT = "give the inner part a name of its own: part = …"

# What is refused by its syntax, what it is called, and what would be right.
_SYNTAX: dict[type[ast.AST], tuple[str, str]] = {
    ast.Attribute: ("a dotted name", "write exp(x), not np.exp(x)"),
    ast.IfExp: ("a Python conditional", "write where(condition, a, b)"),
    ast.Lambda: ("a function", "write a definition with letters: f[i] = …"),
    ast.ListComp: ("a list", "drop the brackets: sum(x[k] for k in n)"),
    ast.SetComp: ("a set", "drop the braces: sum(x[k] for k in n)"),
    ast.GeneratorExp: ("a loop without its operation", "write sum(x[k] for k in n)"),
    ast.List: ("a list", "a finite example is assume(z == [2, 1]) inside a theorem"),
    ast.Tuple: ("several values", "write one expression; several claims are several asserts"),
    ast.JoinedStr: ("a formatted text", "write an expression"),
    ast.NamedExpr: ("an assignment", "define it on a line of its own"),
    ast.Starred: ("an unpacking", "write the arguments one by one"),
    ast.Dict: ("a dictionary", "write an expression"),
    ast.Set: ("a set", "write an expression"),
    ast.Slice: ("a slice", "entries are taken one by one: z[k]"),
}
_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.MatMult: ("@", "write the sum: sum(A[i, k] * B[k, j] for k in n)"),
    ast.FloorDiv: ("//", "write a / b"),
    ast.Mod: ("%", "the language has no remainder"),
    ast.BitXor: ("^", "a power is a ** b"),
    ast.BitAnd: ("&", "conditions are joined by `and`"),
    ast.BitOr: ("|", "conditions are joined by `or`"),
    ast.LShift: ("<<", "compare with < or <="),
    ast.RShift: (">>", "compare with > or >="),
}
_NO_COMPARISON = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}


def syntax(scope: Scope, node: ast.AST) -> LanguageError:
    """A node that is no expression of the language."""
    if isinstance(node, (ast.Compare, ast.BoolOp)):
        return condition_for_number(scope, node)
    name, hint = _SYNTAX.get(type(node), ("this", "write an expression"))
    return scope.source.error(node, f"{name} cannot stand in an expression", hint)


def condition_for_number(scope: Scope, node: ast.AST) -> LanguageError:
    return scope.source.error(node, "a condition stands where a number is expected", "write where(condition, 1, 0)")


def constant(scope: Scope, node: ast.Constant) -> LanguageError:
    if isinstance(node.value, (str, bytes)):
        return scope.source.error(
            node, "a text stands where a number is expected", "captions stand after an assert only"
        )
    written = scope.source.spelling(node)
    return scope.source.error(node, f"{written} is not a number", "write a number, or a condition such as x > 0")


def operator(scope: Scope, node: ast.BinOp) -> LanguageError:
    sign, hint = _OPERATORS[type(node.op)]
    return scope.source.error(node, f"the operator {sign} is not in the language", hint)


def sign(scope: Scope, node: ast.UnaryOp) -> LanguageError:
    if isinstance(node.op, ast.Not):
        return condition_for_number(scope, node)
    written = "+" if isinstance(node.op, ast.UAdd) else "~"
    return scope.source.error(node, f"the sign {written} before a term is not in the language", "leave it out")


def comparison(scope: Scope, node: ast.AST, op: ast.cmpop) -> LanguageError:
    return scope.source.error(
        node, f"`{_NO_COMPARISON[type(op)]}` compares nothing here", "write ==, !=, <, <=, > or >="
    )


def too_deep(scope: Scope, node: ast.AST, limit: int) -> LanguageError:
    return scope.source.error(node, f"this is nested more than {limit} deep", SPLIT)


def random_outside(scope: Scope, node: ast.AST, name: str) -> LanguageError:
    what = "is random" if name in scope.declarations else "rests on a random name"
    return scope.source.error(
        node, f"{name!r} {what} and stands outside E, Var and Cov", "write E(…), Var(…) or Cov(…, …) around it"
    )


def unknown(scope: Scope, node: ast.AST, name: str, hint: str) -> LanguageError:
    """A name that is nothing that could stand here."""
    if name in RESERVED:
        use = f"it is used as {USAGE.get(name, name)}"
        return scope.source.error(node, f"{name!r} is a word of the language, not a value", use)
    if name in scope.lines:
        return scope.source.error(node, f"{name!r} is the {described(scope, name)}, not a value", hint)
    if (line := scope.planned(name)) is not None:
        return scope.source.error(
            node, f"{name!r} is used before line {line} declares it", "everything is declared before it is used"
        )
    if name in NUMBERS_WRITTEN_OUT:
        hint = f"{NUMBERS_WRITTEN_OUT[name]}. Otherwise, {hint}"
    elif name[0] == "d" and name[1:] in scope.lines:
        hint = f"a derivative is written diff(f, x). Otherwise, {hint}"
    elif meant := similar(name, [*scope.lines, *CALLABLE, *CONSTANTS]):
        hint = f"did you mean {meant!r}? Otherwise, {hint}"
    return scope.source.error(node, f"{name!r} is not declared, and no place says that it is an index letter", hint)


def unknown_value(scope: Scope, node: ast.AST, name: str) -> LanguageError:
    return unknown(scope, node, name, f"a number is declared as `{name}: real`, an index letter as `{name}: index[n]`")


def described(scope: Scope, name: str) -> str:
    """What the name is and where it came from, for the middle of a sentence."""
    what, line = scope.lines[name]
    return f"{what} of {came_from(line)}"


def no_entries(scope: Scope, node: ast.Subscript, name: str, is_letter: bool) -> LanguageError:
    """A name with subscripts that is no array."""
    if is_letter:
        return scope.source.error(node, f"{name!r} is an index letter here and has no entries", "declare another name")
    if name in RESERVED:
        return scope.source.error(node, f"{name!r} takes no subscript", f"it is used as {USAGE.get(name, name)}")
    if name in scope.lines:
        return scope.source.error(node, f"{name!r} is the {described(scope, name)} and has no entries", f"write {name}")
    return unknown(scope, node.value, name, f"declare it: `{name}: real[n]`")


def rank(scope: Scope, node: ast.AST, name: str, shape: tuple[str, ...], given: int) -> LanguageError:
    """An array with too many or too few subscripts."""
    count = "one axis" if len(shape) == 1 else f"{len(shape)} axes" if shape else "no axis: it is a scalar"
    listed = f" ({', '.join(shape)})" if shape else ""
    hint = f"write {name}[{', '.join(scope.spare(len(shape)))}]" if shape else f"write {name}"
    ending = "s" if given != 1 else ""
    return scope.source.error(
        node, f"{name!r} has {count}{listed}; here it has {given or 'no'} subscript{ending}", hint
    )


def free_letter(scope: Scope, node: ast.AST, name: str, own: Container[str]) -> LanguageError:
    return scope.source.error(
        node,
        f"the letter {name!r} is free here",
        f"the left side must carry it, as in s[{name}] = …, or a sum must bind it",
    )


def index_expected(scope: Scope, node: ast.AST, where: str) -> LanguageError:
    """A node that should be an index."""
    if isinstance(node, ast.Name):
        message = f"{where} must be an index, but {node.id!r} is the {described(scope, node.id)}"
        return scope.source.error(node, message, "an index is a letter, or declared as `i: index[n]`")
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        return scope.source.error(node, f"a negative number as {where}", "indices run from 0 to n - 1")
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        hint = "an index is never computed; bind a second letter and compare: sum(z[j] for j in n if j < i)"
        return scope.source.error(node, f"arithmetic as {where}", hint)
    if isinstance(node, ast.Slice):
        return scope.source.error(node, "a slice", "entries are taken one by one: z[k]")
    hint = "an index is a letter, a declared index, an entry t[b] of an index array, or an argmax"
    return scope.source.error(node, f"{where} must be an index", hint)


def numbered(scope: Scope, node: ast.Constant, where: str, axis: str | None, extent: int | None) -> LanguageError:
    """A number as a subscript that is not one of a finite example."""
    if extent is None:
        hint = "numbers are subscripts only in a theorem whose assume(z == [2, 1]) has fixed the size"
        return scope.source.error(node, f"a number as {where}", hint)
    message = f"{node.value!r} is out of range: {axis!r} has size {extent} here"
    return scope.source.error(node, message, f"subscripts run from 0 to {extent - 1}")


def filter_expected(scope: Scope, node: ast.AST) -> LanguageError:
    hint = "write `if k != i`, or `if mask[i, k]` for a bit; other conditions go inside: where(x[k] > 0, x[k], 0)"
    return scope.source.error(node, "a filter compares indices of one axis, or asks for a bit", hint)


def bound_again(scope: Scope, node: ast.AST, letter: str, taken: Container[str]) -> LanguageError:
    other = next(c for c in [*scope.spare(30), "i0"] if c not in taken)
    return scope.source.error(
        node, f"the letter {letter!r} is bound again inside its own scope", f"use another letter, say {other!r}"
    )


def call(scope: Scope, node: ast.Call, name: str, bound: Mapping[str, object]) -> LanguageError:
    """A call of what is no function."""
    error = scope.source.error
    if name in QUANTIFIERS:
        return condition_for_number(scope, node)
    if name in LAWS:
        return error(node, f"{name!r} declares a random name", f"write it at top level: {USAGE[name]}")
    if name in RESERVED:
        return error(node, f"{name!r} is no function", f"it is used as {USAGE.get(name, name)}")
    shape = None if name in bound else scope.shape(name)
    if shape:
        letters = ", ".join(scope.spare(len(shape)))
        return error(node, f"{name!r} is an array, not a function", f"its entries are written {name}[{letters}]")
    if name in bound or name in scope.lines:
        return error(node, f"{name!r} is not a function", "a product is written with *")
    if name in WRITTEN_OUT:
        hint = f"write {WRITTEN_OUT[name]}"
    else:
        meant = similar(name, CALLABLE)
        hint = f"did you mean {meant!r}?" if meant else f"there are {_functions()}"
    return error(node.func, f"there is no function {name!r}", hint)


def called(scope: Scope, node: ast.expr) -> LanguageError:
    """A call of something that is not a name."""
    if isinstance(node, ast.Attribute):
        word = ELSEWHERE.get(node.attr, node.attr)
        hint = f"write {USAGE[word]}" if word in USAGE else f"there are {_functions()}"
        return scope.source.error(node, "a dotted name cannot be called", hint)
    return scope.source.error(node, "only the functions of the language can be called", f"there are {_functions()}")


def subscripted(scope: Scope, node: ast.Subscript, bound: Mapping[str, object]) -> LanguageError:
    """Subscripts of what is not a name."""
    inner = node.value
    if isinstance(inner, ast.Subscript):
        return scope.source.error(node, "two pairs of brackets", "write the subscripts in one pair: W[i, j]")
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id not in CALLABLE:
        return call(scope, inner, inner.func.id, bound)
    return scope.source.error(node, "only a name has subscripts", "give the expression a name: f[i] = …")


def _functions() -> str:
    return ", ".join(sorted(CALLABLE))

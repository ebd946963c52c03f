"""Declarations: axes, numbers, arrays, indices, and random names with their laws."""

from __future__ import annotations

import ast
from fractions import Fraction

from derive.kernel.context import Declaration, Law
from derive.language import refusals
from derive.language.expressions import Reader
from derive.language.letters import infer, subscripts
from derive.language.scope import Scope, came_from
from derive.language.words import ELSEWHERE, LAWS, SCALARS, USAGE, similar
from derive.term import ONE, ZERO, Term, both, cmp, index

_FORMS = "n: axis, x: real, z: real[n], i: index[n], or q: random(mean=0, variance=1)[n]"
_KINDS = (*SCALARS, *LAWS, "index", "axis")


def declare(
    scope: Scope, name: str, node: ast.AST, annotation: ast.expr, entries: list[ast.expr] | None = None
) -> Term | None:
    """Enter the declared name. Returns the hypothesis that its law implies, if there is one.

    `node` is where the name stands; `entries` are its letters where it is declared entry by entry.
    """
    kind, axes, call = _taken_apart(scope, annotation)
    local = scope.parent is not None
    if local and (kind == "axis" or kind in LAWS):
        what = "an axis" if kind == "axis" else "a random name"
        raise scope.source.error(
            node, f"{what} is declared at top level only", "move the declaration above the theorem"
        )
    if entries is not None and (kind not in LAWS or axes):
        where = annotation if kind in LAWS else node
        raise scope.source.error(
            where,
            "letters on the left are for laws that vary: q[i]: random(mean=a[i], variance=v[i])",
            f"write {_FORMS}",
        )
    if kind == "axis":
        scope.claim_name(name, node, "axis")
        scope.axes[name] = getattr(node, "lineno", 0)
        return None
    if kind == "index":
        _declare_index(scope, name, node, annotation, axes)
        return None
    if kind in LAWS:
        return _declare_random(scope, name, node, annotation, kind, axes[0] if axes else (), call, entries)
    if len(axes) > 1:
        raise scope.source.error(annotation, "two pairs of brackets", f"write the axes in one pair: {kind}[m, n]")
    scope.claim_name(name, node, "variable")
    scope.declarations[name] = Declaration(name, kind, axes[0] if axes else (), line=getattr(node, "lineno", 0))
    return None


def _taken_apart(scope: Scope, annotation: ast.expr) -> tuple[str, list[tuple[str, ...]], ast.Call | None]:
    """Kind, axes of each pair of brackets, and the law's call, of an annotation."""
    brackets: list[tuple[str, ...]] = []
    node = annotation
    while isinstance(node, ast.Subscript):
        brackets.insert(0, _axes(scope, node))
        node = node.value
        if len(brackets) > 2:
            raise scope.source.error(annotation, "too many brackets", f"write {_FORMS}")
    call = node if isinstance(node, ast.Call) else None
    head = call.func if call is not None else node
    if not isinstance(head, ast.Name) or head.id not in _KINDS:
        name = head.id if isinstance(head, ast.Name) else ""
        meant = similar(name, _KINDS) or ELSEWHERE.get(name)
        written = f"{name!r} is no kind of declaration" if name else "this is no declaration"
        raise scope.source.error(head, written, f"did you mean {meant!r}?" if meant else f"write {_FORMS}")
    kind = head.id
    if call is not None and (kind not in LAWS or kind == "rademacher"):
        raise scope.source.error(call, f"{kind} takes no parentheses", f"write {USAGE[kind]}")
    if call is None and kind in LAWS and kind != "rademacher":
        raise scope.source.error(head, f"{kind} needs its parameters", f"write {USAGE[kind]}")
    if kind == "axis" and brackets:
        raise scope.source.error(annotation, "an axis has no axes", "write n: axis")
    return kind, brackets, call


def _axes(scope: Scope, node: ast.Subscript) -> tuple[str, ...]:
    axes = []
    for entry in subscripts(node):
        if not isinstance(entry, ast.Name) or entry.id not in scope.axes:
            written = scope.source.spelling(entry) or "this"
            hint = "sizes are symbolic: declare `n: axis` first"
            if isinstance(entry, ast.Constant):
                hint += ", and say `assume(n == 3)` if one size is meant"
            elif isinstance(entry, ast.Name) and entry.id in scope.lines:
                what, line = scope.lines[entry.id]
                hint = f"it is the {what} of {came_from(line)}; declare an axis of another name, `m: axis`"
            raise scope.source.error(entry, f"{written} is not a declared axis", hint)
        axes.append(entry.id)
    return tuple(axes)


def _declare_index(scope: Scope, name: str, node: ast.AST, annotation: ast.expr, axes: list[tuple[str, ...]]) -> None:
    if not axes or len(axes[0]) != 1:
        raise scope.source.error(
            annotation, "an index runs over one axis", "write i: index[n], or t: index[n][B] for an array of indices"
        )
    over = axes[0][0]
    if len(axes) == 1:
        scope.claim_name(name, node, "index")
        scope.letters[name] = index(name, over)
        return
    scope.claim_name(name, node, "index array")
    scope.declarations[name] = Declaration(name, "index", axes[1], over, line=getattr(node, "lineno", 0))


def _declare_random(
    scope: Scope,
    name: str,
    node: ast.AST,
    annotation: ast.expr,
    family: str,
    axes: tuple[str, ...],
    call: ast.Call | None,
    entries: list[ast.expr] | None,
) -> Term | None:
    given = _parameters(scope, family, call)
    if entries is None:
        letters = tuple(index(letter, axis) for letter, axis in zip(_spare(scope, len(axes)), axes, strict=True))
        reader = Reader(scope, {}, frozenset())
    else:
        letters, reader = left_letters(scope, entries, given)
    parameters = tuple(reader.expression(parameter) for parameter in given)
    scope.claim_name(name, node, "random name")
    law = Law(family, parameters)
    scope.declarations[name] = Declaration(
        name, "random", tuple(k.value[1] for k in letters), None, law, letters, getattr(node, "lineno", 0)
    )
    scope.random[name] = True
    return _implied(scope, law, given)


def _spare(scope: Scope, count: int) -> list[str]:
    """Letters for the axes of a law that does not vary; they are bound in its declaration and seen nowhere."""
    return [*"ijkl", *(f"i{n}" for n in range(1, count))][:count]


def left_letters(
    scope: Scope, entries: list[ast.expr], bodies: list[ast.expr], random: bool = False
) -> tuple[tuple[Term, ...], Reader]:
    """The letters on the left, over the axes that the right side implies, and the reader of the right side."""
    names: list[str] = []
    for entry in entries:
        if not isinstance(entry, ast.Name):
            raise scope.source.error(entry, "the left side carries letters", "write s[i] = … for all i at once")
        scope.check_letter(entry.id, entry, declared=True)
        if entry.id in names:
            raise scope.source.error(
                entry, f"the letter {entry.id!r} stands twice on the left", "use two letters; they may coincide"
            )
        names.append(entry.id)
    axes = infer(scope, bodies)
    for name, entry in zip(names, entries, strict=True):
        if name not in axes and name not in scope.letters:
            for node in (node for body in bodies for node in ast.walk(body)):
                if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Name):
                    raise refusals.subscripted(scope, node, {})
            raise scope.source.error(
                entry,
                f"no place says over which axis the letter {name!r} runs",
                f"declare it at top level: `{name}: index[n]`",
            )
    letters = tuple(scope.letters[name] if name in scope.letters else index(name, axes[name]) for name in names)
    return letters, Reader(scope, axes, frozenset(names), random)


def _parameters(scope: Scope, family: str, call: ast.Call | None) -> list[ast.expr]:
    """The parameters of a law in their order."""
    wanted = LAWS[family]
    if call is None:
        return []
    found: dict[str, ast.expr] = {}
    positional = wanted if family != "random" else ()
    if len(call.args) > len(positional):
        raise scope.source.error(
            call.args[len(positional)], f"{family} takes {', '.join(wanted)}", f"write {USAGE[family]}"
        )
    found.update(zip(positional, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg not in wanted or keyword.arg in found:
            what = "given twice" if keyword.arg in found else f"not a parameter of {family}"
            raise scope.source.error(keyword, f"{keyword.arg or '**'} is {what}", f"write {USAGE[family]}")
        found[keyword.arg] = keyword.value
    for name in wanted:
        if name not in found:
            raise scope.source.error(call, f"{family} needs its {name}", f"write {USAGE[family]}")
    return [found[name] for name in wanted]


def law_condition(law: Law) -> Term | None:
    """The condition on its parameters without which there is no such law."""
    if law.family == "bernoulli":
        return both(cmp("<=", ZERO, law.parameters[0]), cmp("<=", law.parameters[0], ONE))
    if law.family == "uniform":
        return cmp("<", *law.parameters)
    return cmp(">=", law.parameters[1], ZERO) if law.family in ("random", "normal") else None


def _implied(scope: Scope, law: Law, given: list[ast.expr]) -> Term | None:
    """The condition without which there is no such law, unless it is plain from the parameters as written."""
    values = [literal(p) for p in law.parameters]
    usage = f"write {USAGE[law.family]}"
    if law.family == "bernoulli" and values[0] is not None:
        if not 0 <= values[0] <= 1:
            message = f"a probability lies between 0 and 1; this is {values[0]}"
            raise scope.source.error(given[0], message, usage)
        return None
    if law.family == "uniform" and values[0] is not None and values[1] is not None:
        if values[0] >= values[1]:
            message = f"the interval is empty: {values[1]} is not above {values[0]}"
            raise scope.source.error(given[1], message, usage)
        return None
    if law.family in ("random", "normal"):
        if values[1] is not None and values[1] < 0:
            raise scope.source.error(given[1], f"a variance is not negative; this is {values[1]}", usage)
        if plainly_nonnegative(scope, law.parameters[1]):
            return None
    return law_condition(law)


def literal(term: Term) -> Fraction | None:
    """The value of a term made of numbers by + - * /, or None."""
    if term.op == "num":
        return Fraction(term.value)
    if term.op not in ("neg", "div", "add", "mul"):
        return None
    values = [literal(a) for a in term.args]
    known = [v for v in values if v is not None]
    if len(known) < len(values):
        return None
    if term.op == "neg":
        return -known[0]
    if term.op == "div":
        return known[0] / known[1] if known[1] else None
    total = known[0]
    for value in known[1:]:
        total = total + value if term.op == "add" else total * value
    return total


def plainly_nonnegative(scope: Scope, term: Term) -> bool:
    """Whether the term cannot be negative, as anyone sees from how it is written."""
    value = literal(term)
    if value is not None:
        return value >= 0
    if term.op in ("size", "index", "delta"):
        return True
    if term.op == "var":
        return scope.declarations[term.value].kind in ("positive", "nonnegative", "bit")
    if term.op == "pow":
        exponent = literal(term.args[1])
        return exponent is not None and exponent.denominator == 1 and exponent % 2 == 0 and exponent >= 0
    if term.op == "fn":
        return term.value in ("exp", "sqrt", "abs", "sigmoid", "softplus", "relu")
    if term.op in ("add", "mul", "div", "sum", "prod"):
        parts = term.args[:1] if term.bound else term.args
        return all(plainly_nonnegative(scope, part) for part in parts)
    return False

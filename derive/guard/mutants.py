"""Mistakes that are made when a formula is turned into code, as formulas: one row of a table for each kind.

A row takes a node of the formula and gives what someone may have written instead, with words for it. Nothing here knows
a particular formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from derive.codegen.prepare import reachable
from derive.guard.target import Target
from derive.kernel.context import Context
from derive.language.places import put
from derive.language.printer import to_text
from derive.term import (
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    alpha,
    both,
    cmp,
    div,
    make,
    mul,
    neg,
    num,
    rebuild,
    size,
    sub,
    substitute,
    where,
)

MAX_MUTANTS = 400
MAX_TEXT = 72

Change = tuple[str, Term]
Row = Callable[[Term, tuple[Term, ...], Context], Iterator[Change]]


@dataclass(frozen=True)
class Mutant:
    """A formula with one mistake in it."""

    text: str
    term: Term
    context: Context


def shown(term: Term) -> str:
    """The term in the formula language, shortened where it is long."""
    text = to_text(term)
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def mutants(target: Target) -> Iterator[Mutant]:
    """All mutants, likelier mistakes first, none twice."""
    seen = {_key(target.term, target.context)}
    count = 0
    for text, term, context in _all(target):
        key = _key(term, context)
        if key not in seen and count < MAX_MUTANTS:
            seen.add(key)
            count += 1
            yield Mutant(text, term, context)


def _key(term: Term, context: Context) -> object:
    return (alpha(term), tuple((d.name, alpha(d.body)) for d in reachable(term, context)))


def _all(target: Target) -> Iterator[tuple[str, Term, Context]]:
    term, context = target.term, target.context
    yield from ((text, new, context) for text, new in _of_result(target))
    bodies = [("", term, target.letters)]
    bodies += [(d.name, d.body, d.letters) for d in reversed(reachable(term, context))]
    for rows in STAGES:
        for name, body, letters in bodies:
            for path, node, scope in nodes(body, letters):
                for row in rows:
                    for text, new in row(node, scope, context):
                        changed = put(body, path, new)
                        if not name:
                            yield text, changed, context
                        elif name not in {d.name for d in reachable(changed, context)}:  # no definition rests on itself
                            definition = replace(context.definitions[name], body=changed)
                            definitions = {**context.definitions, name: definition}
                            yield f"in {name}, {text}", term, replace(context, definitions=definitions)
    yield from _exchanged(target)


def nodes(body: Term, letters: tuple[Term, ...]) -> Iterator[tuple[tuple[int, ...], Term, tuple[Term, ...]]]:
    """Every node with its path and the letters that are in scope there, outer nodes first."""
    waiting: list[tuple[tuple[int, ...], Term, tuple[Term, ...]]] = [((), body, letters)]
    while waiting:
        path, node, scope = waiting.pop(0)
        yield path, node, scope
        inner = (*scope, *node.bound)
        waiting += [((*path, k), a, inner) for k, a in enumerate(node.args)]


# -- the result as a whole ---------------------------------------------------------------------------------------------


def _of_result(target: Target) -> Iterator[Change]:
    letters, term = target.letters, target.term
    for p, i in enumerate(letters):
        for j in letters[p + 1 :]:
            if i.value[1] == j.value[1]:
                same = cmp("==", i, j)
                yield f"the entries with {i.value[0]} != {j.value[0]} are missing", where(same, term, ZERO)
                yield f"the entries with {i.value[0]} == {j.value[0]} are missing", where(same, ZERO, term)
                yield f"{i.value[0]} and {j.value[0]} are exchanged (transposed)", substitute(term, {i: j, j: i})
        for step, word in ((1, "later"), (-1, "earlier")):
            moved = make("shifted", (i,), step)
            yield f"entry {i.value[0]} holds what belongs one place {word} (off by one)", substitute(term, {i: moved})


# -- rows --------------------------------------------------------------------------------------------------------------


def _dropped_term(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "add":
        for k, part in enumerate(node.args):
            yield f"the term {shown(part)} is missing", add(*node.args[:k], *node.args[k + 1 :])


def _flipped_term(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "add":
        for k, part in enumerate(node.args):
            new = part.args[0] if part.op == "neg" else neg(part)
            yield (
                f"the sign of the term {shown(part)} is wrong",
                rebuild(node, (*node.args[:k], new, *node.args[k + 1 :])),
            )


def _dropped_factor(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "mul":
        for k, part in enumerate(node.args):
            yield f"the factor {shown(part)} is missing", mul(*node.args[:k], *node.args[k + 1 :])
    if node.op == "div":
        yield f"the division by {shown(node.args[1])} is missing", node.args[0]
        if node.args[0] is not ONE:
            yield f"the factor {shown(node.args[0])} is missing", div(ONE, node.args[1])


def _part_of_sum(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op != "sum":
        return
    for k in node.bound:
        for j in scope:
            if j.value[1] == k.value[1] and j is not k and len(node.bound) == 1:
                only = where(substitute(node.args[1], {k: j}), substitute(node.args[0], {k: j}), ZERO)
                alone = substitute(node.args[0], {k: j}) if node.args[1] is TRUE else only
                yield f"of {shown(node)} only the term {k.value[0]} = {j.value[0]} is taken", alone
                rest = both(node.args[1], cmp("!=", k, j))
                yield (
                    f"in {shown(node)} the term {k.value[0]} = {j.value[0]} is left out",
                    rebuild(node, (node.args[0], rest)),
                )
        last = cmp("<", k, sub(size(k.value[1]), ONE))
        for words, kept in (("last", last), ("first", cmp(">", k, ZERO))):
            kept_too = both(node.args[1], kept)
            yield f"in {shown(node)} the {words} term is left out (off by one)", rebuild(node, (node.args[0], kept_too))


def _averaged(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "sum":
        for k in node.bound:
            yield f"{shown(node)} is a mean, divided by {k.value[1]}", div(node, size(k.value[1]))


def _transposed(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op in ("var", "def") and len(node.args) == 2 and node.args[0] is not node.args[1]:
        new = rebuild(node, node.args[::-1])
        yield f"{shown(new)} stands for {shown(node)} (transposed)", new


def _off_by_one(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "size":
        yield f"{node.value} - 1 stands for {node.value}", sub(node, ONE)
        yield f"{node.value} + 1 stands for {node.value}", add(node, ONE)
    if node.op in ("var", "def", "delta"):
        for k, a in enumerate(node.args):
            if a.op == "index":
                for step in (1, -1):
                    new = rebuild(node, (*node.args[:k], make("shifted", (a,), step), *node.args[k + 1 :]))
                    letter, sign = a.value[0], "+" if step > 0 else "-"
                    yield f"{letter} {sign} 1 stands for {letter} in {shown(node)} (off by one)", new


def _function(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "fn" and len(node.args) == 1:
        yield f"{shown(node.args[0])} stands for {shown(node)}", node.args[0]
    if node.op == "pow":
        yield f"{shown(node.args[0])} stands for {shown(node)}", node.args[0]


def _twice(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "mul":
        for part in node.args:
            yield f"the factor {shown(part)} stands twice", mul(*node.args, part)
    if node.op == "div":
        below = node.args[1]
        yield f"the division by {shown(below)} stands twice", div(node, below)
        yield f"a product with {shown(below)} stands for the division by it", mul(node.args[0], below)


def _constants(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op == "delta":
        yield f"{shown(node)} is always 0", ZERO
        yield f"{shown(node)} is always 1", ONE
    if node.op == "num" and node.value.denominator == 1 and node.value > 1:
        yield f"{num(1).value} stands for {node.value}", ONE


def _another_name(node: Term, scope: tuple[Term, ...], context: Context) -> Iterator[Change]:
    if node.op not in ("var", "def"):
        return
    own = _axes(node.op, node.value, context)
    others = [("var", n) for n, d in context.declarations.items() if d.kind == "real"]
    others += [("def", n) for n in context.definitions]
    for op, name in others:
        if name != node.value and _axes(op, name, context) == own:
            new = make(op, node.args, name)
            yield f"{shown(new)} stands for {shown(node)}", new


def _axes(op: str, name: str, context: Context) -> tuple[str, ...]:
    if op == "var":
        return context.declarations[name].axes
    return tuple(k.value[1] for k in context.definitions[name].letters)


# What is likely comes first: of two mutants that are the same function, the first gives its name.
STAGES: tuple[tuple[Row, ...], ...] = (
    (_dropped_term,),
    (_flipped_term,),
    (_dropped_factor, _part_of_sum, _averaged),
    (_transposed, _off_by_one),
    (_function, _twice, _constants),
    (_another_name,),
)


def _exchanged(target: Target) -> Iterator[tuple[str, Term, Context]]:
    """Two variables of the same kind and axes, one taken for the other everywhere."""
    arguments = [a for a in target.arguments if a.kind not in ("size", "index")]
    for p, a in enumerate(arguments):
        for b in arguments[p + 1 :]:
            if len(a.axes) == len(b.axes) and a.kind == b.kind:
                names = {a.name: b.name, b.name: a.name}
                definitions = {
                    n: replace(d, body=_renamed(d.body, names)) for n, d in target.context.definitions.items()
                }
                context = replace(target.context, definitions=definitions)
                yield f"{a.name} and {b.name} are exchanged", _renamed(target.term, names), context


def _renamed(term: Term, names: dict[str, str]) -> Term:
    if term.names.isdisjoint(names):
        return term
    new = rebuild(term, [_renamed(a, names) for a in term.args])
    return make("var", new.args, names[term.value]) if term.op == "var" and term.value in names else new

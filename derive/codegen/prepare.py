"""Before code is written: replacements carried out, derivatives replaced by what they are equal to, deltas sifted."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import replace

from derive.codegen.value import CodegenError
from derive.kernel.context import Context, Definition
from derive.kernel.derivative import differentiate
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected
from derive.language.places import transform
from derive.language.printer import to_text
from derive.term import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    both,
    fresh,
    make,
    mul,
    negation,
    over,
    replace_variable,
    substitute,
    subterms,
)

RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def prepared(term: Term, context: Context, fixed: Iterable[Term] = ()) -> tuple[Term, Context]:
    """The term and its context with `at` carried out, derivatives taken and deltas sifted, in every definition too.

    Letters of definitions are renamed where they are the names of fixed indices.
    """
    definitions: dict[str, Definition] = {}
    for definition in reachable(term, context):
        known = replace(context, definitions=definitions)
        body = ready(definition.body, known)
        definitions[definition.name] = _apart(replace(definition, body=body), frozenset(fixed))
    context = replace(context, definitions=definitions)
    return ready(term, context), context


def ready(term: Term, context: Context) -> Term:
    """The term without derivatives and replacements, deltas sifted, what its numbers alone decide put in.

    Bits before exponentials that are summed are filters of the sum.
    """
    return filtered(sifted(decided(without_diff(term, context))), context)


def without_diff(term: Term, context: Context) -> Term:
    """The term with every `diff` and `at` carried out, inner ones first, derivatives by the kernel's table.

    A theorem's right side, which holds none, is the better code: a derivative as it comes is neither short nor stable.
    Raises CodegenError where there is no rule.
    """
    if not any(t.op in ("diff", "at") for t in subterms(term)):
        return term
    normal = Normal(context)

    def rule(part: Term) -> Term | None:
        if part.op == "at":
            body = unfolded(part.args[0], context, part.value)
            return replace_variable(body, part.value, part.bound, part.args[1])
        if part.op != "diff":
            return None
        try:
            return tidied(decided(differentiate(normal, *part.args)))
        except Rejected as problem:
            raise CodegenError(f"{problem.reason}: {to_text(part)}") from None

    return transform(term, rule)


def decided(term: Term) -> Term:
    """The term with every delta and condition of numbers replaced by what it is.

    What they choose between is left: the function's arguments do not depend on it.
    """

    def rule(part: Term) -> Term | None:
        op, args = part.op, part.args
        numbers = [a.value for a in args if a.op == "num"]
        if op == "delta" and (args[0] is args[1] or len(numbers) == 2):
            return ONE if args[0] is args[1] else ZERO
        if (op == "cmp" and len(numbers) == 2) or (op == "holds" and numbers):
            found = RELATIONS[part.value](*numbers) if op == "cmp" else numbers[0] != 0
            return TRUE if found else FALSE
        if op == "not" and args[0] in (TRUE, FALSE):
            return negation(args[0])
        if op in ("and", "or"):
            idle, final = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
            left = [a for a in args if a is not idle]
            return final if final in left else make(op, left) if len(left) > 1 else left[0] if left else idle
        return None

    return transform(term, rule)


def tidied(term: Term) -> Term:
    """The term without the factors 1 and the summands 0 that a table of derivatives leaves."""

    def rule(part: Term) -> Term | None:
        op, args = part.op, part.args
        if op == "mul":
            return ZERO if ZERO in args else mul(*(a for a in args if a is not ONE))
        if op == "add":
            return add(*(a for a in args if a is not ZERO))
        if (op in ("neg", "div", "sum") and args[0] is ZERO) or (op == "delta" and args[0] is args[1]):
            return ZERO if op != "delta" else ONE
        return args[0] if op == "pow" and args[1] is ONE else None

    return transform(term, rule)


def unfolded(term: Term, context: Context, variable: str) -> Term:
    """The term with the definitions unfolded that rest on the variable."""
    for definition in reversed(reachable(term, context)):
        names = {n for d in reachable(definition.body, context) for n in d.body.names} | definition.body.names
        if variable in names:
            term = replace_variable(term, definition.name, definition.letters, definition.body, op="def")
    return term


def filtered(term: Term, context: Context) -> Term:
    """The term with sum(b[k]*exp(u) for k) over a bit b as sum(exp(u) for k if b[k]).

    What a mask hides does not count then in the maximum that is subtracted, beside which all others could vanish.
    """

    def rule(part: Term) -> Term | None:
        if part.op != "sum":
            return None
        body, condition = part.args
        bits = [b for b in masks(body, context) if not b.letters.isdisjoint(part.bound)]
        if not bits:
            return None
        rest = [f for f in body.args if f not in bits]
        return over("sum", mul(*rest), *part.bound, where=both(condition, *(make("holds", (b,)) for b in bits)))

    return transform(term, rule)


def masks(term: Term, context: Context) -> list[Term]:
    """The factors of a product with an exponential that are bits: where one is 0, so is the product."""

    def exponential(factor: Term) -> bool:
        while factor.op == "def":
            factor = context.definitions[factor.value].body
        return factor.op == "fn" and factor.value == "exp"

    def bit(factor: Term) -> bool:
        return factor.op == "var" and context.declarations[factor.value].kind == "bit"

    factors = term.args if term.op == "mul" else ()
    return [f for f in factors if bit(f)] if any(map(exponential, factors)) else []


def sifted(term: Term) -> Term:
    """The term with sum(… delta(k, j) … for k) replaced by the summand at k = j."""

    def rule(part: Term) -> Term | None:
        if part.op != "sum" or part.args[1] is not TRUE or part.args[0].op != "mul":
            return None
        factors = part.args[0].args
        for place, factor in enumerate(factors):
            if factor.op != "delta":
                continue
            for bound, other in (factor.args, factor.args[::-1]):
                if bound in part.bound and other.op in ("index", "num") and other is not bound:
                    rest = mul(*factors[:place], *factors[place + 1 :])
                    letters = [k for k in part.bound if k is not bound]
                    body = substitute(rest, {bound: other})
                    new = over("sum", body, *letters)
                    return rule(new) or new
        return None

    return transform(term, rule)


def _apart(definition: Definition, fixed: frozenset[Term]) -> Definition:
    """The definition with letters that are not those of fixed indices."""
    names = {k.value[0] for k in fixed}
    if not any(k.value[0] in names for k in definition.letters):
        return definition
    taken = {*fixed, *definition.body.letters, *(k for t in subterms(definition.body) for k in t.bound)}
    mapping: dict[Term, Term] = {}
    for letter in definition.letters:
        mapping[letter] = fresh(letter, taken) if letter.value[0] in names else letter
        taken.add(mapping[letter])
    return replace(definition, letters=tuple(mapping.values()), body=substitute(definition.body, mapping))


def reachable(term: Term, context: Context) -> list[Definition]:
    """The definitions the term rests on, each before those that use it."""
    order: dict[str, Definition] = {}

    def visit(names: Iterable[str]) -> None:
        for name in sorted(names):
            definition = context.definitions.get(name)
            if definition is not None and name not in order:
                visit(definition.body.names)
                order[name] = definition

    visit(term.names)
    return list(order.values())

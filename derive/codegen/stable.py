"""Forms equal to what is written that neither overflow nor lose their value: one row each, with the theorem behind it.

A row takes a term and gives an equal term or None. What may be under `exp` is any expression u of any indices, not a
particular variable; definitions are looked through.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from derive.codegen.differences import Definitions, less, opened
from derive.codegen.prepare import reachable
from derive.kernel.context import Context
from derive.term import (
    ONE,
    ZERO,
    Term,
    add,
    both,
    cmp,
    div,
    fn,
    mul,
    neg,
    over,
    rebuild,
    rename_bound,
    sub,
    subterms,
    where,
)

Inner = Callable[[Term], Term]


@dataclass(frozen=True)
class Rewrite:
    """`apply(term, definitions, inner)` is the new term or None; `inner` rewrites the parts that stay as they are."""

    name: str
    formula: str
    theorem: str
    apply: Callable[[Term, Definitions, Inner], Term | None]


@dataclass(frozen=True)
class ExponentialSum:
    """sum(weight * exp(exponent) for letters if filter); no weight is None."""

    term: Term
    exponent: Term

    def peak(self, inner: Inner) -> Term:
        """max(exponent for letters if filter)"""
        return over("max", inner(self.exponent), *self.term.bound, where=self.term.args[1])


def exponential_sum(term: Term, definitions: Definitions) -> ExponentialSum | None:
    """The term read as a sum of exponentials, at most weighted, or None."""
    term = opened(term, definitions)
    if term.op != "sum":
        return None
    body = opened(term.args[0], definitions)
    factors = [opened(a, definitions) for a in body.args] if body.op == "mul" else [body]
    exponentials = [f.args[0] for f in factors if f.op == "fn" and f.value == "exp"]
    if len(exponentials) != 1 or exponentials[0].letters.isdisjoint(term.bound):
        return None
    return ExponentialSum(rebuild(term, (mul(*factors) if len(factors) > 1 else body, term.args[1])), exponentials[0])


def scaled(term: Term, peak: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """The term times exp(-peak), taken into its exponentials, or None where it has none to take it."""
    term = opened(term, definitions)
    if term.op == "fn" and term.value == "exp":
        return fn("exp", less(inner(term.args[0]), peak, definitions))
    if term.op == "neg":
        part = scaled(term.args[0], peak, definitions, inner)
        return neg(part) if part else None
    if term.op == "mul":
        for place, factor in enumerate(term.args):
            part = scaled(factor, peak, definitions, inner)
            if part:
                others = [inner(a) for a in term.args]
                return mul(*others[:place], part, *others[place + 1 :])
        return None
    if term.op == "div":
        part = scaled(term.args[0], peak, definitions, inner)
        return div(part, inner(term.args[1])) if part else None
    if term.op == "add":
        parts = [scaled(a, peak, definitions, inner) for a in term.args]
        return add(*(p for p in parts if p)) if all(parts) else None
    if term.op == "sum":
        term = rename_bound(term, peak.letters)
        part = scaled(term.args[0], peak, definitions, inner)
        return rebuild(term, (part, inner(term.args[1]))) if part else None
    return None


def _ratio(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "div":
        return None
    below = exponential_sum(term.args[1], definitions)
    if below is None:
        return None
    peak = below.peak(inner)
    top, bottom = (scaled(a, peak, definitions, inner) for a in (term.args[0], below.term))
    return div(unmasked(top, below.term.args[1]), bottom) if top and bottom else None


def unmasked(term: Term, condition: Term) -> Term:
    """The product with a bit of the filter's in front of it as a case distinction.

    Where the filter leaves an exponential out, the maximum of the others does not bound it, and 0 times infinity is no
    number.
    """
    bits = {t.args[0].value for t in subterms(condition) if t.op == "holds"}
    if term.op != "mul" or not bits:
        return term
    masks = [a for a in term.args if a.op == "var" and a.value in bits]
    rest = [a for a in term.args if a not in masks]
    if not masks or not rest:
        return term
    return where(both(*(cmp("==", m, ONE) for m in masks)), mul(*rest), ZERO)


def _log_of_sum(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    inside = exponential_sum(term.args[0], definitions)
    if inside is None:
        return None
    peak = inside.peak(inner)
    rest = scaled(inside.term, peak, definitions, inner)
    return add(peak, fn("log", rest)) if rest else None


def _log_of_ratio(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    ratio = opened(term.args[0], definitions)
    if ratio.op != "div":
        return None
    above, below = opened(ratio.args[0], definitions), exponential_sum(ratio.args[1], definitions)
    if below is None or above.op != "fn" or above.value != "exp":
        return None
    peak = below.peak(inner)
    rest = scaled(below.term, peak, definitions, inner)
    return sub(sub(inner(above.args[0]), peak), fn("log", rest)) if rest else None


REWRITES: tuple[Rewrite, ...] = (
    Rewrite(
        "log of a ratio", "log(exp(v)/sum(exp(u))) = (v - m) - log(sum(exp(u - m)))", "softmax.shift", _log_of_ratio
    ),
    Rewrite("log of a sum", "log(sum(exp(u))) = m + log(sum(exp(u - m)))", "softmax.shift", _log_of_sum),
    Rewrite("ratio", "exp(v)/sum(exp(u)) = exp(v - m)/sum(exp(u - m))", "softmax.shift", _ratio),
)


def stabilised(
    term: Term, context: Context, rows: tuple[Rewrite, ...] = REWRITES
) -> tuple[Term, Context, tuple[Rewrite, ...]]:
    """The term and the definitions with every row applied where it fits, and the rows that count in the result."""
    used: dict[str, set[Rewrite]] = {}

    def rewritten(whole: Term, name: str) -> Term:
        here = used.setdefault(name, set())

        def rewrite(part: Term) -> Term:
            for row in rows:
                new = row.apply(part, context.definitions, rewrite)
                if new is not None:
                    here.add(row)
                    return new
            return rebuild(part, [rewrite(a) for a in part.args]) if part.args else part

        return rewrite(whole)

    new = rewritten(term, "")
    definitions = {name: replace(d, body=rewritten(d.body, name)) for name, d in context.definitions.items()}
    context = replace(context, definitions=definitions)
    names = {"", *(d.name for d in reachable(new, context))}
    return new, context, tuple(r for r in rows if any(r in used[n] for n in names))

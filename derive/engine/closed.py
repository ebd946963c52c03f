"""Sides of a claim by their closed forms, for the search for a counterexample: a mean or a limit may be hard to enclose
at a point where what the kernel makes of it is not."""

from __future__ import annotations

from collections.abc import Callable

from derive.engine.fold import written
from derive.kernel.check import Ground, check
from derive.kernel.context import Context
from derive.kernel.proof import Proof, Rejected, Step
from derive.term import Term, cmp, subterms

HARD = frozenset({"E", "Var", "Cov", "limit"})


def restated(condition: Term, context: Context, tick: Callable[[], None] | None = None) -> list[Term]:
    """Comparisons that are false nowhere but where the claim is, or the right side is undefined: a side is replaced by
    a form that is defined nowhere but where the side is, and equal to it there.
    """
    if condition.op != "cmp" or not any(map(hard, condition.args)):
        return []
    try:
        ground = Ground(condition, context, tick)
        left, right = (form(ground, side, context, tick) for side in condition.args)
    except (Rejected, RecursionError):
        return []
    pairs = ((left, condition.args[1]), (left or condition.args[0], right))
    return [cmp(condition.value, a, b) for a, b in pairs if a is not None and b is not None]


def hard(side: Term) -> bool:
    return any(t.op in HARD or t.op == "def" for t in subterms(side))


def form(ground: Ground, side: Term, context: Context, tick: Callable[[], None] | None) -> Term | None:
    """The side without means and limits, where the kernel accepts that it is defined and equal wherever the form is."""
    nf = ground.plain
    if not any(t.op in HARD for t in subterms(nf.opened(side))):
        return None
    found = written(nf, nf.poly(side), [])
    if any(t.op in HARD for t in subterms(found)):
        return None
    try:
        check(Proof(cmp("==", found, side), (Step("algebra", side),)), context, tick)
    except Rejected:
        return None
    return found

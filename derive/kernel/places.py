"""Sums, products and extrema over an axis of a known size, written out at its places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce

from derive.term import TRUE, Term, add, fn, make, mul, num, over, rename_bound, size, substitute, where

# How the parts at the places are put together, and what stands for one that a filter leaves out.
TOGETHER: dict[str, tuple[Callable[..., Term], int | None]] = {
    "sum": (add, 0),
    "prod": (mul, 1),
    "max": (partial(fn, "max"), None),
    "min": (partial(fn, "min"), None),
}


def written_out(term: Term, axis: str, places: tuple[Term, ...]) -> Term:
    """The term with what it takes over the axis written out at the places, which are all that there are."""
    if term is size(axis):
        return num(len(places))
    term = rename_bound(term, places)
    args = [written_out(a, axis, places) for a in term.args]
    k = next((k for k in term.bound if k.value[1] == axis), None)
    join, nothing = TOGETHER.get(term.op, (add, None))
    rest = [b for b in term.bound if b is not k]
    if k is None or term.op not in TOGETHER or (nothing is None and (rest or args[1] is not TRUE)):
        return make(term.op, args, term.value, term.bound) if args else term
    parts = []
    for place in places:
        body, filter_ = (substitute(a, {k: place}) for a in args)
        one = where(filter_, body, nothing or 0) if filter_ is not TRUE and not rest else body
        parts.append(over(term.op, one, *rest, where=filter_))
    whole = reduce(join, parts)
    return written_out(whole, axis, places) if rest else whole

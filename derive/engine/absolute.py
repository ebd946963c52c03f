"""Absolute values in a difference as it is written: below something, or the largest of them above it; and roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from derive.engine.bounds import combination, extremum
from derive.engine.goals import Scope, above, addends_of, strictly
from derive.kernel.proof import Cite, Line, Part
from derive.term import ONE, TWO, Term, add, fn, mul, neg, over, sub, substitute
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.order import Search


def bounded_on_both_sides(search: Search, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
    """A line for U - |V|, by U - V and U + V."""
    here = search.here(scope)
    assert here is not None
    addends = addends_of(here, term)
    for p, a in enumerate(addends):
        if a.op == "neg" and a.args[0].op == "fn" and a.args[0].value == "abs":
            u, v = add(*addends[:p], *addends[p + 1 :]), a.args[0].args[0]
            found = [search.prove(g, strict, scope, depth + 1) for g in (sub(u, v), add(u, v))]
            if None not in found:
                cites = tuple(search.cite(n, scope) for n in found if n is not None)
                rule = strictly("absolute_bound", strict)
                return search.add(Line(above(term, strict), rule, (u, v), (), cites, scope.letters, scope.where))
    return None


def below_the_largest(search: Search, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
    """A line for U + max(|v|), by U + max(v) or U + max(-v)."""
    here = search.here(scope)
    assert here is not None
    addends = addends_of(here, term)
    tops = [a for a in addends if a.op == "max" and len(a.bound) == 1 and a.args[0].op == "fn"]
    for a in tops if len(addends) > 1 else ():
        rest = [b for b in addends if b is not a]
        for side in (a.args[0].args[0], neg(a.args[0].args[0])) if a.args[0].value == "abs" else ():
            top = over("max", here.canonical(side), *a.bound, where=a.args[1])
            number = search.prove(add(*rest, top), strict, scope, depth + 1)
            below = _largest_side(search, a, top) if number is not None else None
            if number is not None and below is not None:
                parts = (Part(ONE, (search.cite(number, scope),)), Part(ONE, (Cite(below),)))
                return search.add(search.line(above(term, strict), scope, parts))
    return None


def _largest_side(search: Search, whole: Term, side: Term) -> int | None:
    """A line that max(|v|) is at least max(v), at whose place |v| is v + 2 relu(-v)."""
    if not (whole.letters | side.letters) <= search.board.fixed:
        return None
    place = search.letter(whole.bound[0].value[1])
    value, filter_ = (substitute(a, {whole.bound[0]: place}) for a in whole.args)
    number = search.add(extremum(whole, value, (), (place,), filter_))
    if number is None:
        return None
    largest = over("argmax", side.args[0], *side.bound, where=side.args[1])
    rest = mul(TWO, fn("relu", neg(substitute(side.args[0], {side.bound[0]: largest}))))
    parts = (Part(ONE, (Cite(number, ((place, largest),)),)), Part(rest))
    return search.add(combination(sub(whole, side), parts, ()))


def root_above_0(search: Search, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
    """A line for a root above 0, of what is above 0."""
    here = search.here(scope)
    assert here is not None
    addends = addends_of(here, term) if strict else []
    if len(addends) != 1 or addends[0].op != "fn" or addends[0].value != "sqrt":
        return None
    (u,) = addends[0].args
    number = search.prove(u, True, scope, depth + 1)
    cites = None if number is None else (search.cite(number, scope), None)
    condition, rule = above(term, strict), strictly("sqrt_increasing", strict)
    return cites and search.add(Line(condition, rule, (u, NOUGHT), (), cites, scope.letters, scope.where))


WAYS = (bounded_on_both_sides, below_the_largest, root_above_0)

"""Two hypotheses on the entries of an axis, multiplied at one letter: (x[k] - lo)*(hi - x[k]), summed with weights."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from derive.engine.pieces import Known, Piece, weighed
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, joined, key, mono_key
from derive.kernel.proof import Cite, Part
from derive.term import ONE, Term, both, mul, substitute

if TYPE_CHECKING:
    from derive.engine.goals import Goal
    from derive.engine.order import Search

MAX_GIVEN = 5


def paired(search: Search, goal: Goal, known: list[Known]) -> Iterator[Piece]:
    """Two hypotheses on the entries of an axis, multiplied at one letter and summed with weights of the goal."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    given = [k for k in known if k.number < 0 and len(k.fact.letters) == 1 and not k.fact.guards][:MAX_GIVEN]
    sums = [(a, m - {(a, 1)}) for m in goal.poly for a, e in m if a.op == "sum" and len(a.bound) == 1 and e == 1]
    yield from _ordered_pairs(search, here, letters, known)
    for p, first in enumerate(given):
        for second in given[p:]:
            (k,), (j,) = first.letters, second.letters
            places = [search.letter(k.value[1])] if k.value[1] == j.value[1] else []
            for place in places:
                product_ = here.poly(
                    mul(substitute(first.fact.term, {k: place}), substitute(second.fact.term, {j: place}))
                )
                for a, outside in dict.fromkeys(s for s in sums if s[0].bound[0].value[1] == k.value[1]):
                    body = here.poly(substitute(a.args[0], {a.bound[0]: place}))
                    cites = tuple(Cite(f.number, ((q, place),)) for f, q in ((first, k), (second, j)))
                    for weight in quotients(here, body, product_):
                        whole = mul(here.term({outside: 1}), weight) if outside else weight
                        piece = weighed(search.board, here, Part(whole, cites, (place,)), letters)
                        if piece is not None:
                            yield piece


def _ordered_pairs(search: Search, here: Normal, letters: frozenset[Term], known: list[Known]) -> Iterator[Piece]:
    """Two hypotheses on two entries each, such as that sequences rise, multiplied at the same places and summed."""
    given = [k for k in known if k.number < 0 and len(k.fact.letters) == 2][:MAX_GIVEN]
    for first, second in combinations(given, 2):
        mine, theirs = (sorted(k.fact.letters, key=key) for k in (first, second))
        places = tuple(search.letter(k.value[1]) for k in mine)
        for order in permutations(theirs):
            if [k.value[1] for k in order] == [k.value[1] for k in mine]:
                maps = (dict(zip(mine, places, strict=True)), dict(zip(order, places, strict=True)))
                cites = tuple(Cite(f.number, tuple(m.items())) for f, m in zip((first, second), maps, strict=True))
                guards = (substitute(g, m) for f, m in zip((first, second), maps, strict=True) for g in f.fact.guards)
                piece = weighed(search.board, here, Part(ONE, cites, places, both(*guards)), letters)
                if piece is not None:
                    yield piece


def quotients(here: Normal, body: Poly, by: Poly) -> Iterator[Term]:
    """What a term of the one is a multiple of a term of the other by, where that has no denominators."""
    found = {joined(m, [(a, -e) for a, e in lead]) for m in body for lead in by if len(m) >= len(lead)}
    for mono in sorted(found, key=mono_key):
        if all(isinstance(e, int) and e > 0 for _, e in mono):
            yield here.term({mono: 1})

"""What is known and what a claim is made of, as pieces by themselves: at the letters that are there, and multiplied."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.engine.pieces import Known, Piece, weighed
from derive.kernel.normal import Normal
from derive.kernel.poly import key, mono_key, scaled
from derive.kernel.proof import Cite, Part
from derive.kernel.signs import difference
from derive.term import ONE, TWO, Term, mul, substitute, subterms

if TYPE_CHECKING:
    from derive.engine.order import Search

MAX_FACTORS = 18
MAX_GIVEN = 5


def guard_pieces(search: Search, here: Normal, letters: frozenset[Term]) -> Iterator[Piece]:
    """What the cases at hand say."""
    for g in here.guards:
        if g.op == "cmp" and not here.index_like(*g.args) and g.letters <= letters:
            piece = weighed(search.board, here, Part(difference(g)), letters)
            if piece is not None:
                yield piece


def plain_pieces(search: Search, here: Normal, letters: frozenset[Term], known: list[Known]) -> list[Piece]:
    """The comparisons that speak of no letters of their own, those that hold from the start first."""
    ordered = sorted((k for k in known if not k.fact.letters), key=lambda k: k.number >= 0)
    cited = [Part(ONE, (Cite(k.number),)) for k in ordered]
    found = [p for part in cited if (p := weighed(search.board, here, part, letters))]
    return distinct([*guard_pieces(search, here, letters), *found])


def placed_pieces(search: Search, here: Normal, letters: frozenset[Term], known: list[Known]) -> Iterator[Piece]:
    """The comparisons that speak of one letter, at each of those that are there."""
    for k in known:
        (own,) = k.fact.letters if len(k.fact.letters) == 1 else (None,)
        for place in sorted(letters, key=key) if own is not None and not k.fact.guards else ():
            if place.value[1] == own.value[1]:
                piece = weighed(search.board, here, Part(ONE, (Cite(k.number, ((own, place),)),)), letters)
                if piece is not None:
                    yield piece


def squares_of_the_claim(search: Search, here: Normal, letters: frozenset[Term]) -> Iterator[Piece]:
    """The squares of sums that the claim holds, at the letters that are there."""
    claim = search.nf.opened(search.ground.claim)
    found = {t for t in subterms(claim) if t.op == "pow" and t.args[1] is TWO and t.args[0].op == "add"}
    for t in sorted(found, key=key)[:MAX_GIVEN]:
        loose = t.letters - letters
        for place in sorted(letters, key=key) if len(loose) == 1 else []:
            (k,) = loose
            piece = weighed(search.board, here, Part(substitute(t, {k: place})), letters)
            if place.value[1] == k.value[1] and piece is not None:
                yield piece


def products(search: Search, here: Normal, letters: frozenset[Term], known: list[Known]) -> Iterator[Piece]:
    """Products of two comparisons that speak of no letters of their own, one of them given from the start."""
    basic = [p.part for p in plain_pieces(search, here, letters, known) if not p.free][:MAX_FACTORS]
    for n, first in enumerate(basic[:MAX_GIVEN]):
        for second in basic[n:]:
            part = Part(mul(first.multiplier, second.multiplier), first.cites + second.cites)
            piece = weighed(search.board, here, part, letters)
            if piece is not None:
                yield piece


def distinct(pieces: Iterable[Piece]) -> list[Piece]:
    """One of the pieces that differ by a positive number, a strict one where there is one."""
    seen: dict[object, Piece] = {}
    for p in pieces:
        lead = abs(p.poly[min(p.poly, key=mono_key)])
        slot = frozenset(scaled(p.poly, Fraction(1) / lead).items())
        if slot not in seen or (p.strict and not seen[slot].strict):
            seen[slot] = p
    return list(seen.values())

"""Products against products, factor by factor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from derive.engine.lettering import names_of, pool
from derive.kernel.normal import Normal
from derive.kernel.poly import key
from derive.kernel.proof import Cite, Line
from derive.kernel.signs import NEG, sign
from derive.term import ONE, Term, cmp, fn, index, over, sub, substitute, subterms, where

if TYPE_CHECKING:
    from derive.engine.order import Search


def factor_by_factor(search: Search, here: Normal, a: Term, letters: tuple[Term, ...]) -> Iterator[Line]:
    """A product against those of other factors: of 1, of one of its own, of exponentials, of another product's."""
    axis = a.bound[0].value[1]
    k = index(next(pool(names_of(search.ground))), axis)  # bound in what is compared, so that a reader sees it
    value, filter_ = (substitute(x, {a.bound[0]: k}) for x in a.args)
    others = [ONE, fn("exp", here.canonical(sub(value, ONE)))]
    others += [where(cmp("==", k, j), value, ONE) for j in sorted(search.board.fixed, key=key) if j.value[1] == axis]
    rivals = (t for t in subterms(search.nf.opened(search.ground.claim)) if t.op == "prod" and len(t.bound) == 1)
    others += [substitute(t.args[0], {t.bound[0]: k}) for t in sorted(rivals, key=key) if t.bound[0].value[1] == axis]
    over_k, seen = (*letters, k), {here.canonical(value)}
    for other in others:
        plain = here.canonical(other)
        for upper, lower in ((other, value), (value, other)) if plain not in seen else ():
            above = search.compare(sub(upper, lower), False, over_k, filter_, 3)
            signed = above is None or not sign(here, lower) & NEG
            least = None if signed else search.compare(lower, False, over_k, filter_, 2)
            if above is not None and (signed or least is not None):
                sides = [over("prod", x, k, where=filter_) for x in (upper, lower)]
                cites = tuple(None if n is None else Cite(n, tuple((j, j) for j in over_k)) for n in (above, least))
                yield Line(cmp(">=", *sides), "product_of_comparisons", tuple(sides), (), cites, letters)
        seen.add(plain)

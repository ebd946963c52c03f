"""Squares whose sum is what a variance is below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from derive.kernel.normal import Normal
from derive.kernel.poly import key
from derive.kernel.proof import Line, Part
from derive.kernel.signs import NEG, sign
from derive.term import ONE, TRUE, TWO, add, cmp, div, mul, over, power, sub, substitute
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.goals import Goal
    from derive.engine.order import Search


def half_of_the_squares(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """For weights w of sum t, sum(w*v**2)/t - (sum(w*v)/t)**2 is at most half of sum(v**2): the difference is a sum of
    the squares v[i]**2*(w[i] - t/2)**2 and, for i != j, w[i]*w[j]*(v[i] + v[j])**2."""
    for whole in sorted({a for m, c in goal.poly.items() if c > 0 for a, e in m if a.op == "sum" and e == 2}, key=key):
        factors = whole.args[0].args if whole.args[0].op == "mul" else ()
        weights = [f for f in factors if not sign(here, f) & NEG]
        if not whole.letters <= search.board.fixed or len(whole.bound) != 1 or whole.args[1] is not TRUE:
            continue
        if 0 < len(weights) < len(factors):
            (k,), w = whole.bound, mul(ONE, *weights)
            v = mul(ONE, *(f for f in factors if f not in weights))
            i, j = (search.letter(k.value[1]) for _ in range(2))
            (w_i, v_i), (w_j, v_j) = ([substitute(x, {k: place}) for x in (w, v)] for place in (i, j))
            one = Part(power(mul(v_i, sub(w_i, div(over("sum", w, k), TWO))), TWO), (), (i,))
            two = Part(mul(w_i, w_j, power(add(v_i, v_j), TWO)), (), (i, j), cmp("!=", i, j))
            for part in (one, two):
                total = over("sum", part.multiplier, *part.over, where=part.where)
                yield Line(cmp(">=", total, NOUGHT), "combination", (), (part,))

"""Comparisons of what a known function is of, by its inverse: x >= y from what is known of exp(x) and exp(y)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from derive.kernel.normal import Normal
from derive.kernel.order import ROWS
from derive.kernel.proof import Line, Part
from derive.kernel.signs import NEG, POS, ZERO, sign
from derive.term import ONE, TWO, Term, cmp, fn, neg, power, sub, subterms
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.goals import Goal
    from derive.engine.order import Search

Way = tuple[Term, str, tuple[Term, ...]]  # what is not negative, the row, its values


def by_inverse(search: Search, goal: Goal) -> list[Part] | None:
    """u >= v by the exponentials, logarithms or roots of u and v, where what is known holds such, or by a square."""
    here = search.here(goal.scope)
    assert here is not None
    if goal.depth or goal.strict:
        return None
    u = here.term({m: c for m, c in goal.poly.items() if c > 0})
    v = here.term({m: -c for m, c in goal.poly.items() if c < 0})
    for below, rule, values in ways(search, here, u, v):
        number = search.prove(below, False, goal.scope, goal.depth + 1)
        if number is not None:
            by_sign = (None,) * (len(ROWS[rule].premises) - 1)
            known = (search.cite(number, goal.scope),)
            cites = by_sign + known if rule == "square_root_order" else known + by_sign
            found = search.add(Line(cmp(">=", u, v), rule, values, (), cites, goal.scope.letters, goal.scope.where))
            if found is not None:
                return [Part(ONE, (search.cite(found, goal.scope),))]
    return None


def ways(search: Search, here: Normal, u: Term, v: Term) -> Iterator[Way]:
    """The functions of u and v that are compared in place of them."""
    facts = [here.poly(fact.term) for fact in search.nf.raw_facts]
    atoms = [(a, e) for poly in facts for mono in poly for a, e in mono]
    held = {t.value for a, _ in atoms for t in subterms(a) if t.op == "fn"}
    signs = sign(here, u) | sign(here, v)
    if "exp" in held:
        values = fn("exp", u), fn("exp", v)
        yield sub(*values), "log_increasing", values
    if "log" in held and signs == POS:
        values = fn("log", u), fn("log", v)
        yield sub(*values), "exp_increasing", values
    if not signs & NEG and any(not isinstance(e, int | Term) for _, e in atoms):
        values = fn("sqrt", u), fn("sqrt", v)
        yield sub(*values), "power_increasing", (*values, TWO)
    if any(fact.signs == ZERO for fact in search.nf.raw_facts):
        yield neg(power(sub(u, v), TWO)), "square_root_order", (NOUGHT, sub(v, u))

"""Hölder's inequality, for powers and logarithms of sums as the claim has them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

from derive.engine.bounds import at, row
from derive.engine.claimed import MAX_PAIRS, as_written
from derive.kernel.poly import Poly, add_to, constant, key, scaled
from derive.kernel.proof import Cite, Line, Part
from derive.kernel.signs import difference
from derive.term import ONE, TRUE, Term, add, cmp, div, fn, mul, over, power, sub, substitute, subterms

if TYPE_CHECKING:
    from derive.engine.order import Search


def of_powers(search: Search) -> Iterator[Line]:
    """Hölder's inequality, for products of powers of sums and for sums under logarithms."""
    nf = search.nf
    for t in sorted(subterms(as_written(search)), key=key):
        powers = [a for a in t.args if a.op == "pow" and a.args[0].op == "sum"] if t.op == "mul" else []
        for a, b in combinations(powers, 2):
            if nf.canonical(add(a.args[1], b.args[1])) is ONE:
                hoelder(search, a.args[0], b.args[0], a.args[1])
    table: dict[Term, Poly] = {}
    for mono, c in nf.poly(difference(search.ground.claim)).items() if search.ground.claim.op == "cmp" else ():
        logs = [a for a, e in mono if e == 1 and a.op == "fn" and a.value == "log" and a.args[0].op == "sum"]
        if len(logs) == 1:
            add_to(table.setdefault(logs[0], {}), {mono - {(logs[0], 1)}: c})
    for (first, p), (second, q) in list(combinations(table.items(), 2))[:MAX_PAIRS]:
        whole = constant(add_to(dict(p), q))
        share = nf.term(scaled(p, 1 / Fraction(whole))) if whole else ONE
        found = hoelder(search, first.args[0], second.args[0], share) if whole else None
        if found is not None:
            number, top, total = found
            condition = cmp(">=", fn("log", top), fn("log", total))
            yield Line(condition, "log_increasing", (top, total), (), (Cite(number), None))


def hoelder(search: Search, s: Term, t: Term, share: Term) -> tuple[int, Term, Term] | None:
    """A line (sum f)**p * (sum g)**(1 - p) >= sum f**p g**(1 - p) with its sides, by the weighted means of f / sum f
    and g / sum g, term by term."""
    if not (s.args[1] is t.args[1] is TRUE and [k.value[1] for k in s.bound] == [k.value[1] for k in t.bound]):
        return None
    places, rest = tuple(search.letter(k.value[1]) for k in s.bound), search.nf.canonical(sub(ONE, share))
    f, g = (substitute(x.args[0], dict(zip(x.bound, places, strict=True))) for x in (s, t))
    u, v = div(f, s), div(g, t)
    upper, lower = add(mul(share, u), mul(rest, v)), mul(power(u, share), power(v, rest))
    number = search.add(row("weighted_means", False, upper, lower, (u, v, share), places))
    if number is None:
        return None
    top, total = mul(power(s, share), power(t, rest)), over("sum", mul(power(f, share), power(g, rest)), *places)
    part = Part(ONE, (Cite(number, at(places)),), places)
    number = search.add(Line(cmp(">=", top, total), "combination", (div(ONE, top),), (part,)))
    if number is None:
        return None
    search.useful.append(number)
    return number, top, total

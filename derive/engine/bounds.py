"""Elementary inequalities worth having as lines, read off the atoms of a difference."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from derive.engine.pieces import Opened, opened, product
from derive.kernel.normal import UNIT, Mono, Normal, Poly, add_to, key, mono_key, scaled
from derive.kernel.proof import Cite, Line, Part, Rejected
from derive.kernel.signs import NEG, POS, sign
from derive.term import (
    ONE,
    PI,
    TRUE,
    TWO,
    Term,
    add,
    cmp,
    div,
    fn,
    mul,
    neg,
    num,
    over,
    power,
    size,
    sub,
    substitute,
    subterms,
)
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.order import Goal, Search


def suggest(search: Search, goal: Goal) -> None:
    """Add lines for the maxima, sums, exponentials, logarithms and 0-1 terms of the goal and of what is known."""
    here = search.here(goal.scope)
    assert here is not None
    polys = [goal.poly, *(here.poly(f.term) for f in search.nf.raw_facts)]
    top = {a for poly in polys for m in poly for a, _ in m}
    for t in sorted({t for a in top for t in subterms(a)}, key=key):
        for line in _about(search, here, t, t in top):
            search.suggest(line)
    for line in (*_exponentials(search, here, goal), *_logarithms(search, here, goal)):
        search.suggest(line)


def general(search: Search, term: Term) -> tuple[dict[Term, Term], tuple[Term, ...]]:
    """New letters for those of the term that the claim does not fix: the mapping, and the letters."""
    loose = sorted(term.letters - search.board.fixed, key=key)
    mapping = {k: search.letter(k.value[1]) for k in loose}
    return mapping, tuple(mapping.values())


def _about(search: Search, here: Normal, t: Term, top: bool) -> Iterator[Line]:
    """Lines about one atom."""
    if t.op == "argmax" and len(t.bound) == 1:
        mapping, letters = general(search, t)
        place = search.letter(t.bound[0].value[1])
        a = substitute(t, mapping)
        whole = over("max", a.args[0], *a.bound, where=a.args[1])
        value, where = (substitute(x, {a.bound[0]: place}) for x in a.args)
        yield Line(cmp(">=", whole, value), "extremum", (whole, place), (), (), (*letters, place), where)
    elif t.op == "sum" and len(t.bound) == 1 and t.args[1] is TRUE and top and not sign(here, t.args[0]) & NEG:
        yield from _entries(search, here, t)
    elif t.op == "delta" or (t.op == "var" and here.is_bit(t)):
        mapping, letters = general(search, t)
        other = sub(ONE, substitute(t, mapping))
        yield Line(cmp(">=", other, NOUGHT), "combination", (), (Part(power(other, TWO)),), (), letters)
    elif t.op == "where" and t.args[0].value == ">":
        mapping, letters = general(search, t)
        u = substitute(t.args[0].args[0], mapping)
        for value in (fn("relu", u), fn("relu", neg(u))):
            yield Line(cmp(">=", value, NOUGHT), "combination", (), (Part(value),), (), letters)
    elif t.op == "index" and top:
        mapping, letters = general(search, t)
        k, place = search.letter(t.value[1]), mapping.get(t, t)
        gap = add(size(t.value[1]), num(-1), neg(place))
        part = Part(ONE, (), (k,), cmp(">", k, place))
        yield Line(cmp(">=", gap, NOUGHT), "combination", (), (part,), (), letters)
    elif t.op == "size":
        yield Line(cmp(">=", t, num(here.least(t))), "combination", (), (Part(sub(t, num(here.least(t)))),))
    elif t.op == "fn" and t.value in ("sin", "cos", "erf", "atan"):
        yield from _bounded(search, t)


def _entries(search: Search, here: Normal, t: Term) -> Iterator[Line]:
    """A sum of terms that are not negative is at least one of them, and at least two different ones."""
    (k,) = t.bound
    mapping, letters = general(search, t)
    t = substitute(t, mapping)
    (k,), body = t.bound, t.args[0]
    axis = k.value[1]
    one, two, inner = search.letter(axis), search.letter(axis), search.letter(axis)
    value = substitute(body, {k: inner})
    at_one, at_two = substitute(body, {k: one}), substitute(body, {k: two})
    many = here.least(size(axis)) > 1 and sign(here, body) == POS
    part = Part(value, (), (inner,), cmp("!=", inner, one))
    yield Line(cmp(">" if many else ">=", sub(t, at_one), NOUGHT), "combination", (), (part,), (), (*letters, one))
    if sum(k.value[1] == axis for k in search.board.fixed) > 1:
        where = cmp("!=", inner, one), cmp("!=", inner, two)
        part = Part(value, (), (inner,), _and(*where))
        gap = sub(t, add(at_one, at_two))
        yield Line(cmp(">=", gap, NOUGHT), "combination", (), (part,), (), (*letters, one, two), cmp("!=", one, two))


def _and(*conditions: Term) -> Term:
    from derive.term import both

    return both(*conditions)


def _bounded(search: Search, t: Term) -> Iterator[Line]:
    """Sine, cosine, error function and arc tangent between their bounds."""
    mapping, letters = general(search, t)
    u = substitute(t.args[0], mapping)
    value = fn(t.value, u)
    if t.value in ("sin", "cos"):
        yield Line(cmp(">=", ONE, value), f"{t.value}_at_most_one", (u,), (), (), letters)
        yield Line(cmp(">=", value, neg(ONE)), f"{t.value}_at_least_minus_one", (u,), (), (), letters)
    else:
        rule, bound = ("erf_below_one", ONE) if t.value == "erf" else ("atan_below_quarter_turn", div(PI, TWO))
        yield Line(cmp(">", bound, value), rule, (u,), (), (), letters)
        yield Line(cmp(">", bound, fn(t.value, neg(u))), rule, (neg(u),), (), (), letters)


def spread(here: Normal, monos: list[Mono]) -> list[Opened]:
    """The monomials with their sums opened."""
    found = []
    for m in monos:
        try:
            found.append(opened(here, m))
        except Rejected:
            continue
    return found


def _exponentials(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """exp(a) >= exp(b) where a >= b is known, and the tangents of exp that the other terms call for."""
    exponents: dict[Term, Poly] = {}
    for o in spread(here, sorted(goal.poly, key=mono_key)):
        u: Poly = {}
        for a, e in o.factors:
            if a.op == "fn" and a.value == "exp" and not isinstance(e, Term):
                add_to(u, here.poly(a.args[0]), e)
        exponents.setdefault(here.term(u), u)
    if len(exponents) > 6:
        return
    for a, u in exponents.items():
        for b, v in exponents.items():
            gap = add_to(dict(u), v, -1)
            if a is b:
                yield from _increments(search, a)
            elif gap:
                mapping, letters = general(search, add(a, b))
                upper, lower = substitute(a, mapping), substitute(b, mapping)
                found = list(_ordered(search, upper, lower, letters, TRUE))
                if not found and goal.scope.where is not TRUE and add(a, b).letters <= search.letters(goal.scope):
                    found = list(_ordered(search, a, b, goal.scope.letters, goal.scope.where))
                yield from found or _tangent(search, goal, upper, lower, letters, gap)


def _increments(search: Search, u: Term) -> Iterator[Line]:
    """(exp(u) - exp(v)) * (u - v) is not negative, for two values of one exponent."""
    mapping, letters = general(search, u)
    again = {k: search.letter(k.value[1]) for k in mapping}
    if mapping:
        p, q = substitute(u, mapping), substitute(u, again)
        gap = mul(sub(fn("exp", p), fn("exp", q)), sub(p, q))
        yield Line(cmp(">=", gap, NOUGHT), "exp_increments", (p, q), (), (), (*letters, *again.values()))


def _ordered(search: Search, upper: Term, lower: Term, letters: tuple[Term, ...], where: Term) -> Iterator[Line]:
    """exp(upper) above exp(lower), where that is known of the exponents."""
    for strict in (True, False):
        number = search.compare(sub(upper, lower), strict, letters, where)
        if number is not None:
            rule = "exp_strictly_increasing" if strict else "exp_increasing"
            condition = cmp(">" if strict else ">=", fn("exp", upper), fn("exp", lower))
            cite = Cite(number, tuple((k, k) for k in letters))
            yield Line(condition, rule, (upper, lower), (), (cite,), letters, where)
            return


def _tangent(
    search: Search, goal: Goal, upper: Term, lower: Term, letters: tuple[Term, ...], gap: Poly
) -> Iterator[Line]:
    """exp(a) above the tangent of exp at b, where the goal has terms of its kind."""
    atoms = {x for m in gap for x, _ in m}
    if any(m in goal.poly for m in gap) or any(x in atoms for m in goal.poly for x, e in m):
        w = sub(upper, lower)
        for strict in (True, False):
            rule = "exp_strictly_above_tangent" if strict else "exp_tangent"
            relation = ">" if strict else ">="
            number = search.add(Line(cmp(relation, fn("exp", w), add(ONE, w)), rule, (w,), (), (), letters))
            if number is not None:
                part = Part(fn("exp", lower), (Cite(number, tuple((k, k) for k in letters)),))
                line = mul(fn("exp", lower), add(ONE, w))
                yield Line(cmp(relation, fn("exp", upper), line), "combination", (), (part,), (), letters)
                return


def _logarithms(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """Tangents of the logarithm: logarithms with one coefficient are joined to the logarithm of one product."""
    groups: dict[frozenset[object], dict[Term, Fraction]] = {}
    opens = [(o, c) for m, c in sorted(goal.poly.items(), key=lambda p: mono_key(p[0])) for o in spread(here, [m])]
    for o, c in opens:
        logs = [a for a, e in o.factors if a.op == "fn" and a.value == "log" and e == 1]
        for a in logs[:1]:
            rest = frozenset(p for p in o.factors if p[0] is not a)
            table = groups.setdefault(rest, {})
            table[a.args[0]] = table.get(a.args[0], Fraction(0)) + c
    exponents = {
        x
        for m in goal.poly
        for a, _ in m
        for t in subterms(a)
        if t.op == "fn" and t.value == "exp"
        for x in [key(t.args[0])[0]]
    }
    for rest, table in list(groups.items()):
        more: dict[Term, Fraction] = {}
        for o, c in opens:
            quotient = dict(o.factors)
            for a, e in rest:  # type: ignore[misc]
                if not isinstance(e, Term) and not isinstance(quotient.get(a), Term):
                    quotient[a] = quotient.get(a, 0) - e
            u = here.canonical(product((a, e) for a, e in quotient.items() if e != 0))
            if key(u)[0] in exponents:
                more[fn("exp", u)] = Fraction(c)
        base = groups.get(frozenset(), {}) if rest else {}
        for entries in (table, {**table, **more}, {**table, **more, **base}) if more or base else (table,):
            yield from _tangents(search, here, entries)


def _tangents(search: Search, here: Normal, entries: dict[Term, Fraction]) -> Iterator[Line]:
    if not entries or not all(entries.values()):
        return
    unit = Fraction(gcd(*(c.numerator for c in entries.values())), gcd(*(c.denominator for c in entries.values())))
    for side in (1, -1):
        u = mul(*(power(a, num(side * c / unit)) for a, c in sorted(entries.items(), key=lambda p: key(p[0]))))
        mapping, letters = general(search, u)
        u = substitute(u, mapping)
        yield Line(cmp(">=", sub(u, ONE), fn("log", u)), "log_tangent", (u,), (), (), letters)


__all__ = ["NOUGHT", "UNIT", "scaled", "suggest"]

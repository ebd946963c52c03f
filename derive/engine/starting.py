"""Lines that every goal of a search may use: earlier claims, and what is known in the forms in which it is of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from derive.engine.goals import LAST, Scope, addends_of, bared
from derive.engine.pieces import Known
from derive.kernel import powers
from derive.kernel.check import pure_index
from derive.kernel.context import Lemma
from derive.kernel.poly import key, scaled
from derive.kernel.proof import Cite, Line, Part, Use
from derive.kernel.signs import NEG, POS, RELATION, ZERO, split
from derive.term import ONE, TRUE, TWO, Term, add, both, cmp, div, fn, mul, neg, num, over, power, sub, substitute
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.order import Search


def start(search: Search) -> None:
    """Suggest them all: what a reader has to be told, earlier claims, then the forms of what can be cited."""
    for k in search.facts[1]:
        restated(search, k)
    for number in search.lemmas:
        cited_lemma(search, number, search.ground.context.lemmas[number])
    for k in (k for k in search.facts[0] if k.fact.signs == NEG | POS):
        away_from_0(search, k)
        from_product(search, k)
    for k in search.known():
        for way in (cleared, loosened, rounded, squared, joined, from_product):
            way(search, k)


def opened(search: Search, known: Known) -> tuple[dict[Term, Term], Scope]:
    """New letters for those of what is known, and what it holds for."""
    mapping = {k: search.letter(k.value[1]) for k in known.letters}
    return mapping, Scope(tuple(mapping.values()), substitute(both(*known.fact.guards), mapping))


def restated(search: Search, known: Known) -> None:
    """What is known, as a line of its own."""
    mapping, scope = opened(search, known)
    relation = next(name for name, signs in RELATION.items() if signs == known.fact.signs)
    part, term = Part(ONE, (Cite(known.number, tuple(mapping.items())),)), substitute(known.fact.term, mapping)
    search.suggest(search.line(cmp(relation, term, NOUGHT), scope, (part,)))


def cleared(search: Search, known: Known) -> None:
    """What is known, without its positive denominators."""
    mapping, scope = opened(search, known)
    here = search.here(scope)
    if here is not None:
        term = substitute(known.fact.term, mapping)
        scale, _, rest = bared(here, here.poly(term), True)
        if scale is not ONE and len(rest) > 1:
            flip = known.fact.signs & NEG
            part = Part(neg(scale) if flip else scale, (Cite(known.number, tuple(mapping.items())),))
            left = here.term(scaled(rest, -1)) if flip else here.term(rest)
            relation = {ZERO: "=="}.get(known.fact.signs, ">=" if known.fact.signs & ZERO else ">")
            search.suggest(search.line(cmp(relation, left, NOUGHT), scope, (part,)))


def loosened(search: Search, known: Known) -> None:
    """What is known where letters differ, as far as it holds where they do not: z[k] < z[t] for k != t gives <=."""
    if known.number < 0 and any(g.op == "cmp" and g.value == "!=" for g in known.fact.guards):
        mapping = {k: search.letter(k.value[1]) for k in known.letters}
        term = substitute(known.fact.term, mapping)
        term = neg(term) if known.fact.signs & NEG else term
        search.suggest(search.line(cmp(">=", term, NOUGHT), Scope(tuple(mapping.values())), (Part(term),)))


def rounded(search: Search, known: Known) -> None:
    """An integer above 0 is at least 1."""
    fact = known.fact
    if known.number < 0 and fact.signs in (POS, NEG) and powers.integral(search.nf, search.nf.poly(fact.term)):
        mapping, scope = opened(search, known)
        gap = sub(substitute(neg(fact.term) if fact.signs == NEG else fact.term, mapping), ONE)
        condition, values = cmp(">=", gap, NOUGHT), (add(gap, ONE), ONE, ONE)
        if not search.suggest(search.line(condition, scope, (Part(gap),))):  # indices are put in order by cases only
            search.suggest(Line(condition, "power_increasing", values, (), (), scope.letters, scope.where))


def away_from_0(search: Search, known: Known) -> None:
    """An integer other than 0 is at least 1 in size, and so is its square."""
    if not powers.integral(search.nf, search.nf.poly(known.fact.term)):
        return
    mapping, scope = opened(search, known)
    size = fn("abs", substitute(known.fact.term, mapping))
    number = search.compare(sub(size, ONE), False, scope.letters, scope.where, 3)
    if number is not None:
        condition, cites = cmp(">=", power(size, TWO), ONE), (search.cite(number, scope), None, None)
        search.suggest(Line(condition, "power_increasing", (size, ONE, TWO), (), cites, scope.letters, scope.where))


def joined(search: Search, known: Known) -> None:
    """Sums over one axis and its size are one sum, which is at least its part at one place if no part is below 0."""
    mapping, scope = opened(search, known)
    here = search.here(scope)
    addends: dict[str, list[tuple[Term, Term]]] = {}
    for mono, c in here.poly(substitute(known.fact.term, mapping)).items() if here is not None else ():
        for a, e in mono if len(mono) == 1 else ():
            if e == 1 and (a.op == "size" or (a.op == "sum" and len(a.bound) == 1 and a.args[1] is TRUE)):
                addends.setdefault(a.value or a.bound[0].value[1], []).append((num(c), a))
    for axis, found in addends.items():
        k, one = search.letter(axis), search.letter(axis)
        inner = Scope((*scope.letters, k), scope.where)
        body = add(*(mul(c, ONE if a.op == "size" else substitute(a.args[0], {a.bound[0]: k})) for c, a in found))
        for side in (body, neg(body)) if len(found) > 1 else ():
            number = search.compare(side, False, inner.letters, inner.where, 2)
            if number is not None:
                gap = sub(over("sum", side, k), substitute(side, {k: one}))
                part = Part(ONE, (search.cite(number, inner),), (k,), cmp("!=", k, one))
                at_one = Scope((*scope.letters, one), scope.where)
                search.suggest(search.line(cmp(">=", gap, NOUGHT), at_one, (part,)))


def from_product(search: Search, known: Known) -> None:
    """Squares of each factor add up to more than 0 where sum(u[k]*w[k]), s, is not 0: of u, to those of u - s*w/(t + 1)
    and s**2*(t + 2)/(t + 1)**2, for the sum t of w**2."""
    mapping, scope = opened(search, known)
    here = search.here(scope)
    poly = here.poly(substitute(known.fact.term, mapping)) if here is not None and not known.fact.signs & ZERO else {}
    whole = next((a for m in poly for a, e in m if len(poly) == len(m) == e == 1), ONE)
    if whole.op != "sum" or len(whole.bound) != 1 or whole.args[1] is not TRUE or whole.args[0].op != "mul":
        return
    (k,), factors = whole.bound, whole.args[0].args
    new = search.letter(k.value[1])
    for u in factors:
        w = mul(*(a for a in factors if a is not u))
        t = over("sum", power(w, TWO), k)
        most = add(t, ONE)
        gap = sub(substitute(u, {k: new}), div(mul(whole, substitute(w, {k: new})), most))
        rest = div(mul(power(whole, TWO), add(t, TWO)), power(most, TWO))
        parts = Part(power(gap, TWO), (), (new,)), Part(rest)
        condition = cmp(">", over("sum", power(u, TWO), k), NOUGHT)
        search.suggest(search.line(condition, scope, parts))


def squared(search: Search, known: Known) -> None:
    """-c <= u <= c, and c**2 >= u**2, where |u| <= c is known: normal forms know no absolute value in a square."""
    mapping, scope = opened(search, known)
    term = substitute(known.fact.term, mapping)
    addends = addends_of(search.nf, neg(term) if known.fact.signs & NEG else term)
    sizes = [a for a in addends if a.op == "neg" and a.args[0].op == "fn" and a.args[0].value == "abs"]
    if len(sizes) != 1 or not known.fact.signs & (NEG | POS):
        return
    top, size = add(*(a for a in addends if a is not sizes[0])), sizes[0].args[0]
    for side in (size.args[0], neg(size.args[0])):
        number = search.prove(sub(top, side), False, scope, LAST - 2)
        search.useful += [number] if number is not None and number not in search.useful else []
    number = search.compare(sub(top, size), False, scope.letters, scope.where)
    if number is not None:
        condition, cites = (
            cmp(">=", power(top, TWO), power(size, TWO)),
            (search.cite(number, scope), None, None),
        )
        search.suggest(Line(condition, "power_increasing", (top, size, TWO), (), cites, scope.letters, scope.where))


def cited_lemma(search: Search, number: int, lemma: Lemma) -> None:
    condition = lemma.condition
    if condition.op != "cmp" or condition.value not in RELATION:
        return
    guards = [h for h in lemma.hypotheses if pure_index(h, search.ground.context)]
    loose = sorted(condition.letters.union(*(g.letters for g in guards)) - search.ground.context.letters, key=key)
    mapping = {k: search.letter(k.value[1]) for k in loose}
    use = Use("lemma", number, tuple(mapping.items()))
    where = both(*(part for g in guards for part in split(substitute(g, mapping))))
    line = substitute(condition, mapping)
    search.leans |= search.suggest(Line(line, "lemma", (), (), (), tuple(mapping.values()), where, (use,)))

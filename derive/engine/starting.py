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
from derive.term import ONE, TWO, Term, add, both, cmp, neg, power, sub, substitute
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.order import Search


def start(search: Search) -> None:
    """Suggest them all: what a reader has to be told, earlier claims, then the forms of what can be cited."""
    for k in search.facts[1]:
        restated(search, k)
    for number in search.lemmas:
        cited_lemma(search, number, search.ground.context.lemmas[number])
    for k in search.known():
        for way in (cleared, loosened, rounded, squared):
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

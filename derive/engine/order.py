"""The search for proofs of claims that are no equations: line by line, each line checked by the kernel as it is made.

A difference is cleared of positive denominators and factors; `strategies` then look for parts that add up to the rest.
Numbers tried first keep the search from what is false anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product as cartesian

from derive.engine import absolute, claimed, lettering, starting, strategies
from derive.engine.fold import written
from derive.engine.goals import LAST, Goal, Scope, above, addends_of, bared, product
from derive.engine.pieces import Known, Piece
from derive.engine.sample import Sampler
from derive.engine.shorter import shorter
from derive.engine.squares import square_root
from derive.kernel import domain
from derive.kernel.cases import ways
from derive.kernel.check import MALFORMED, Ground
from derive.kernel.normal import Normal
from derive.kernel.order import Board
from derive.kernel.poly import Poly, key, mono_key
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.kernel.signs import NEG, POS, RELATION, ZERO, Fact, difference, sign, split
from derive.term import (
    CONDITIONS,
    MINUS_ONE,
    ONE,
    TRUE,
    Term,
    both,
    cmp,
    index,
    neg,
    negation,
    sub,
    substitute,
    subterms,
)
from derive.term import ZERO as NOUGHT

MAX_GOALS = 60
MAX_EFFORT = 1600  # pieces weighed in one search
MAX_LEMMAS = 8  # earlier claims that are tried before all of them are
MAX_ASKED = 3  # signs asked for by what is left of an equation
ORIENTED = {"<": ">", "<=": ">="}


def find(ground: Ground, claim: Term) -> Proof:
    """A candidate proof for the kernel to judge: without lines where nothing was found."""
    count = len(ground.context.lemmas)
    for number in dict.fromkeys((min(count, MAX_LEMMAS), 0, count)):  # many earlier claims exhaust a search
        search = Search(ground, nearest(ground, number))
        found = search.conclude(ground.claim)
        if found is not None or (number == count and not search.leans):
            break
    return Proof(claim, lines=search.result(search.obligations(), found or ()))


def nearest(ground: Ground, count: int) -> list[int]:
    """The numbers of so many earlier claims: of those that share most with the claim."""
    own = set(subterms(ground.full.opened(ground.claim)))
    lemmas = ground.context.lemmas

    def shared(number: int) -> tuple[int, int]:
        return sum(t.size for t in own.intersection(subterms(ground.full.opened(lemmas[number].condition)))), number

    ordered = sorted(range(len(lemmas)), key=shared) if 0 < count < len(lemmas) else range(len(lemmas))
    return sorted(ordered[len(lemmas) - count :])


def premises(ground: Ground, gap: Term | None) -> tuple[Line, ...]:
    """Lines that an equation may lean on: what the right side needs to be defined, and the signs that cases in `gap`,
    which is what is left of left - right, ask for; or that it is neither above 0 nor below."""
    search = Search(ground, nearest(ground, MAX_LEMMAS))
    found = search.obligations()
    if gap is not None:
        found += search.squeezed(gap) or search.asked(gap)
    return search.result(found)


def switches(gap: Poly) -> Iterator[Term]:
    """The terms whose sign decides what the polynomial is: of its cases, absolute values, denominators, real powers."""
    for mono in sorted(gap, key=mono_key):
        for a, e in sorted(mono, key=lambda p: key(p[0])):
            if a.op == "where" and a.args[0].op == "cmp" and a.args[0].args[1] is NOUGHT:
                u = a.args[0].args[0]
                yield u.args[0] if u.op == "pow" else u
            elif a.op == "fn" and a.value in ("abs", "log"):
                yield a.args[0]
            elif a.op == "add" and not (isinstance(e, int) and e > 0):
                yield a
            elif a.op == "pow":
                yield a.args[0]
    inside = {t.args[0] for m in gap for a, _ in m for t in subterms(a) if t.op == "fn" and t.value == "log"}
    yield from (u for u in sorted(inside, key=key) if all(k.value[0][0] not in "$@" for k in u.letters))


class Search:
    """One search: the lines so far, what was tried, and how much may still be tried."""

    def __init__(self, ground: Ground, lemmas: Iterable[int] = ()):
        self.ground, self.nf, self.lemmas = ground, ground.full, lemmas
        self.leans = False  # whether one of the earlier claims can be used
        self.board = Board(ground, ground.claim.letters | spoken_of(ground))
        self.lines: list[Line] = []
        self.tried: dict[object, int | None] = {}
        self.goals = self.effort = 0
        self.names = 0
        self.suggested: set[object] = set()
        self.useful: list[int] = []  # the lines that were suggested, and not made on the way to another
        self.slopes: dict[tuple[str, Term, tuple[Term, ...]], None] = {}  # functions of the claim, at what
        self.curves: dict[tuple[str, Term, tuple[Term, ...]], None] = {}  # those that parabolas touch, and where
        self.started = False
        self._sampler: Sampler | None = None

    # -- lines -------------------------------------------------------------------------------------------------------

    def add(self, line: Line) -> int | None:
        """The number of the line, once the kernel accepts it; None where it does not."""
        line = lettering.spoken(line)
        try:
            self.board.add(line)
        except (Rejected, *MALFORMED):
            return None
        self.lines.append(line)
        return len(self.lines) - 1

    def suggest(self, line: Line) -> bool:
        """Add a line that may be of use, once. Returns whether it is there."""
        try:
            mark = (self.nf.canonical(difference(line.condition)), line.condition.value, line.where)
        except Rejected:
            return False
        if mark not in self.suggested:
            number = self.add(line)
            if number is None:
                return False
            self.suggested.add(mark)
            self.useful.append(number)
        return True

    @cached_property
    def facts(self) -> tuple[list[Known], list[Known]]:
        """What the claim starts from: what can be cited as it stands, and what a reader has to be told first."""
        facts = [Known(-1 - p, f) for p, f in enumerate(self.nf.raw_facts)]
        composed = [k for k in facts if self.composed(k.fact)]
        return [k for k in facts if k not in composed], composed

    def known(self) -> list[Known]:
        """What can be cited and says a sign."""
        lines = [Known(p, self.board.lines[p]) for p in self.useful]
        return [k for k in self.facts[0] + lines if k.fact.signs not in (NEG | POS, NEG | POS | ZERO)]

    def here(self, scope: Scope) -> Normal | None:
        return self.nf.under(scope.where)

    def letters(self, scope: Scope) -> frozenset[Term]:
        return self.board.fixed | frozenset(scope.letters)

    def letter(self, axis: str) -> Term:
        self.names += 1
        return index(f"!{self.names}", axis)

    def counted(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """The pieces, until the effort of this search is spent."""
        for piece in pieces:
            self.effort += 1
            if self.effort > MAX_EFFORT:
                return
            yield piece

    @property
    def sampler(self) -> Sampler:
        if self._sampler is None:
            self._sampler = Sampler(self.ground)
        return self._sampler

    def result(self, needed: Iterable[int], found: Sequence[int] = ()) -> tuple[Line, ...]:
        """The lines that those rest on, with letters for a reader; the found ones end in the claim."""
        last = [*needed, *found]
        for lines in (shorter(self.nf, self.lines, last), lettering.kept(self.lines, last)):
            for shown in (lettering.readable(lines, self.ground), lines):
                again = Search(self.ground)
                if all(again.add(line) is not None for line in shown) and (
                    not found or again.board.follows(self.ground.claim, self.nf)
                ):
                    return shown
        return ()

    # -- the claim ---------------------------------------------------------------------------------------------------

    def conclude(self, claim: Term) -> list[int] | None:
        """Lines that end in the claim; None where none are found."""
        if claim.op != "cmp":
            return self.shown(claim, Scope())
        if self.board.follows(claim, self.nf):
            return []
        for goal, strict, scale in sides(claim):
            found = self.prove(goal, strict, Scope())
            if found is not None:
                same = not scale and claim == self.lines[found].condition and found == len(self.lines) - 1
                return [found] if same else self.ended(claim, scale, found, Scope())
        found_in = (self.by_alternatives(claim, parts) for parts in alternatives(self.ground))
        return next((lines for lines in found_in if lines is not None), None)

    def by_alternatives(self, claim: Term, parts: tuple[Term, ...]) -> list[int] | None:
        """Lines that end in the claim from those for each of several conditions, one of which holds."""
        for goal, strict, scale in sides(claim):
            found = self.in_each(goal, strict, parts, TRUE)
            if found is not None:
                return self.ended(claim, scale, found, Scope())
        return None

    def ended(self, condition: Term, scale: tuple[Term, ...], number: int, scope: Scope) -> list[int] | None:
        """The line of the condition, which the line of that number is turned into."""
        part = Part(ONE, (self.cite(number, scope),))
        line = self.add(Line(condition, "combination", scale, (part,), (), scope.letters, scope.where))
        return None if line is None else [line]

    def in_each(self, goal: Term, strict: bool, parts: tuple[Term, ...], where: Term) -> int | None:
        """A line for the goal from lines where the first part holds, and where it does not, so that another does."""
        if len(parts) == 1 or self.here(Scope((), where)) is None:
            return self.prove(goal, strict, Scope((), where))
        cells = both(where, parts[0]), both(where, negation(parts[0]))
        found = [self.prove(goal, strict, Scope((), cells[0])), self.in_each(goal, strict, parts[1:], cells[1])]
        if any(n is None and self.here(Scope((), c)) is not None for n, c in zip(found, cells, strict=True)):
            return None
        cites = tuple(None if n is None else Cite(n) for n in found)
        return self.add(Line(above(goal, strict), "case_distinction", (parts[0],), (), cites, (), where))

    def obligations(self) -> list[int]:
        """Lines for what the right side needs, where signs alone do not give it."""
        claim, found = self.ground.claim, []
        for need in domain.needs(self.ground.plain, claim.args[1]) if claim.op == "cmp" else ():
            condition = need.condition
            if condition.op not in CONDITIONS or domain.met(self.nf, need, self.ground.known):
                continue
            mapping = {k: self.letter(k.value[1]) for k in need.letters}
            scope = Scope(tuple(mapping.values()), substitute(both(*need.guards), mapping))
            numbers = self.shown(substitute(condition, mapping), scope)
            if numbers is not None:
                found += numbers
            elif condition.op == "cmp" and condition.value == "!=":
                found += self.roots()
        return found

    def shown(self, condition: Term, scope: Scope) -> list[int] | None:
        """Lines from which the condition follows for the scope; None where there are none."""
        here = self.here(scope)
        if here is None or here.holds(condition):
            return []
        if condition.op in ("or", "any"):
            cases = ((c, replace(scope, where=both(scope.where, others))) for c, others in ways(condition))
            return next((found for c, case in cases if (found := self.shown(c, case)) is not None), None)
        if condition.op == "and":
            parts = [self.shown(c, scope) for c in condition.args]
            return None if None in parts else [n for part in parts for n in part or ()]
        if condition.op != "cmp" or condition.value not in RELATION:
            return None
        for goal, strict, scale in sides(condition):
            number = self.prove(goal, strict, scope)
            if number is not None:
                return self.ended(condition, scale, number, scope)
        return self.equal(condition, scope) if condition.value == "==" else None

    def equal(self, condition: Term, scope: Scope) -> list[int] | None:
        """A line for an equation as a sum of known equations, times what they are multiplied by."""
        number = self.prove(difference(condition), False, scope)
        line = None if number is None else self.add(replace(self.lines[number], condition=condition))
        return None if line is None else [line]

    def roots(self) -> list[int]:
        """Lines that what is squared in a known comparison is not 0, where its square is not."""
        found = []
        for fact in self.nf.raw_facts:
            plain = not fact.signs & ZERO and not fact.letters and not fact.guards
            root = square_root(self.nf, self.nf.poly(fact.term)) if plain else None
            if root is not None:
                u = written(self.nf, root[1], [])
                side = cmp(">=", u, NOUGHT)
                above = Line(cmp(">", u, NOUGHT), "strict_square_root_order", (u, NOUGHT), where=side)
                number = self.add(above)
                if number is not None:
                    cites = (Cite(number), None)
                    number = self.add(Line(cmp("!=", u, NOUGHT), "case_distinction", (side,), cites=cites))
                found += [] if number is None else [number]
        return found

    def asked(self, gap: Term) -> list[int]:
        """Lines for the signs on which the atoms of what is left depend."""
        found = []
        asked = dict.fromkeys(t for t in switches(self.nf.poly(gap)) if sign(self.nf, t) & (sign(self.nf, t) - 1))
        for term in list(asked)[:MAX_ASKED]:
            ways = ((term, True), (neg(term), True), (term, False), (neg(term), False))
            number = next((n for t, strict in ways if (n := self.prove(t, strict, Scope())) is not None), None)
            if number is not None:
                found.append(number)
        return found

    def squeezed(self, gap: Term) -> list[int]:
        """Lines that the gap is at least 0 and at most 0, where something is known or attained that may say so."""
        if not self.nf.raw_facts and not any(t.op == "argmax" for t in subterms(gap)):
            return []
        found = []
        for side in (gap, neg(gap)):
            number = self.prove(side, False, Scope())
            if number is None:
                return []
            found.append(number)
        return found

    def cite(self, number: int, scope: Scope) -> Cite:
        """The line at the scope's own letters."""
        return Cite(number, tuple((k, k) for k in scope.letters))

    # -- goals -------------------------------------------------------------------------------------------------------

    def prove(self, term: Term, strict: bool, scope: Scope, depth: int = 0) -> int | None:
        """The number of a line that says `term >= 0`, or `> 0`, for the scope."""
        here = self.here(scope)
        if here is None or depth > LAST or self.goals > MAX_GOALS:
            return None
        try:
            plain = here.canonical(term)
            slot, shallow = (plain, strict, scope, depth == LAST), (plain, strict, scope, True)
            if self.tried.get(shallow) is None and slot not in self.tried:
                self.tried[slot] = None  # what is being tried is not known
                if not self.sampler.contradicts(plain, strict, scope.letters, scope.where):
                    self.tried[slot] = self.attempt(term, strict, scope, depth)
            return self.tried.get(shallow) if self.tried.get(shallow) is not None else self.tried[slot]
        except Rejected:
            return None

    def compare(
        self, term: Term, strict: bool, letters: tuple[Term, ...], where: Term = TRUE, steps: int = 1
    ) -> int | None:
        """A line for `term >= 0` or `> 0` that takes so many steps: a sign, or one combination of what is known."""
        return self.prove(term, strict, Scope(letters, where), LAST + 1 - steps)

    def attempt(self, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
        here = self.here(scope)
        assert here is not None
        condition = above(term, strict)
        for plain in (term, here.canonical(term)):
            if not sign(here, plain) & ~RELATION[condition.value]:
                return self.add(self.line(condition, scope, (Part(plain),)))
        self.goals += 1
        self.begin()
        for way in absolute.WAYS:
            number = way(self, term, strict, scope, depth)
            if number is not None:
                return number
        scale, factor, rest = bared(here, here.poly(term), strict)
        if not rest:  # it is 0
            return None
        addends = [product(scale, a) for a in addends_of(here, term)] if factor is ONE else []
        goal = Goal(rest, strict, scope, depth, tuple(addends))
        for strategy in strategies.ALL if depth < LAST else strategies.ALL[:1]:
            parts = strategy(self, goal)
            if parts is not None:
                parts = [replace(p, multiplier=product(factor, p.multiplier)) for p in parts]
                return self.add(self.line(condition, scope, tuple(parts), () if scale is ONE else (scale,)))
        return None

    def line(self, condition: Term, scope: Scope, parts: tuple[Part, ...], values: tuple[Term, ...] = ()) -> Line:
        return Line(condition, "combination", values, parts, (), scope.letters, scope.where)

    def begin(self) -> None:
        """Lines that every goal may use, once."""
        if not self.started:
            self.started = True
            starting.start(self)
            claimed.from_claim(self)

    def composed(self, fact: Fact) -> bool:
        """Whether the fact is what an `or`, an `any` or a bit says, which a reader has to be told."""
        name, _, number = fact.source.partition(" ")
        hypothesis = self.ground.context.hypotheses[int(number) - 1] if name == "hypothesis" else TRUE
        while hypothesis.op == "all":
            hypothesis = hypothesis.args[0]
        return any(part.op not in ("cmp", "true") for part in split(hypothesis))


def alternatives(ground: Ground) -> Iterator[tuple[Term, ...]]:
    """The parts of hypotheses that one of several conditions holds, at the letters of the claim."""
    for hypothesis in ground.context.hypotheses:
        body = hypothesis
        while body.op == "all" and body.args[1] is TRUE:
            body = body.args[0]
        for part in (p for p in split(body) if p.op == "or"):
            loose = sorted(part.letters - ground.context.letters, key=key)
            own = [sorted((k for k in ground.claim.letters if k.value[1] == p.value[1]), key=key) for p in loose]
            for places in cartesian(*own):
                yield tuple(substitute(c, dict(zip(loose, places, strict=True))) for c in part.args)


def sides(condition: Term) -> Iterator[tuple[Term, bool, tuple[Term, ...]]]:
    """What is to be shown not negative, or positive, for a comparison to hold; and what turns it into left - right."""
    left, right = condition.args
    for relation in {"!=": (">", "<"), "==": ()}.get(condition.value, (condition.value,)):
        if relation in ORIENTED:
            yield sub(right, left), ORIENTED[relation] == ">", (MINUS_ONE,)
        else:
            yield difference(condition), relation == ">", ()


def spoken_of(ground: Ground) -> frozenset[Term]:
    """The declared indices that the claim, a hypothesis or an earlier claim speaks of; the others are no places."""
    context = ground.context
    spoken = (ground.claim, *ground.guards, *context.hypotheses, *(m.condition for m in context.lemmas))
    return context.letters.intersection(frozenset().union(*(ground.plain.opened(t).letters for t in spoken)))

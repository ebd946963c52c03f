"""The search for proofs of claims that are no equations: comparisons line by line, each checked by the kernel as it is made.

A difference is cleared of positive denominators and factors; what is left is to be a nonnegative combination of pieces
of known sign (`pieces`), found by linear programming. Where that fails, logarithms, roots and exponents are compared
instead, squares completed, sums taken term by term, or cases told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import lcm

from derive.engine import bounds
from derive.engine.pieces import Known, Piece, from_comparisons, signed, squares, weighed
from derive.engine.sample import Sampler
from derive.engine.simplex import combine
from derive.kernel.check import Ground
from derive.kernel.normal import CASES, Mono, Normal, Poly, add_to, key, mono_key, scaled
from derive.kernel.order import Board
from derive.kernel.proof import Account, Cite, Line, Part, Proof, Rejected
from derive.kernel.signs import NEG, POS, RELATION, ZERO, difference, sign
from derive.term import (
    MINUS_ONE,
    ONE,
    TRUE,
    TWO,
    Term,
    add,
    both,
    cmp,
    div,
    fn,
    index,
    mul,
    neg,
    negation,
    num,
    power,
    sub,
    substitute,
)
from derive.term import ZERO as NOUGHT

MAX_DEPTH = 6
MAX_GOALS = 60
MAX_PIECES = 80
MAX_MONOS = 48
MAX_FACTORS = 9
MAX_QUOTIENT = 12
MAX_NEW = 3  # monomials that one piece may bring in
ORIENTED = {"<": ">", "<=": ">="}


@dataclass(frozen=True)
class Scope:
    """For all of these letters that satisfy the condition."""

    letters: tuple[Term, ...] = ()
    where: Term = TRUE


def find(ground: Ground, claim: Term) -> Proof:
    """A candidate proof for the kernel to judge: without lines where nothing was found."""
    search = Search(ground)
    search.conclude(ground.claim)
    return Proof(claim, lines=used(search.lines))


def used(lines: list[Line]) -> tuple[Line, ...]:
    """The lines that the last one rests on, renumbered."""
    if not lines:
        return ()
    needed: set[int] = set()
    stack = [len(lines) - 1]
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            stack += [c.line for c in cites_of(lines[number]) if c.line >= 0]
    order = {old: new for new, old in enumerate(sorted(needed))}

    def moved(cite: Cite | None) -> Cite | None:
        return cite if cite is None or cite.line < 0 else replace(cite, line=order[cite.line])

    return tuple(
        replace(
            lines[n],
            parts=tuple(replace(p, cites=tuple(moved(c) for c in p.cites)) for p in lines[n].parts),  # type: ignore[misc]
            cites=tuple(moved(c) for c in lines[n].cites),
        )
        for n in sorted(needed)
    )


def cites_of(line: Line) -> list[Cite]:
    return [c for c in (*line.cites, *(c for p in line.parts for c in p.cites)) if c is not None]


class Search:
    """One search: the lines so far, what was tried, and how much may still be tried."""

    def __init__(self, ground: Ground):
        self.ground, self.nf = ground, ground.full
        self.board = Board(ground, Account(), ground.claim.letters | ground.context.letters)
        self.lines: list[Line] = []
        self.tried: dict[object, int | None] = {}
        self.goals = 0
        self.names = 0
        self.suggested: set[object] = set()
        self.useful: list[int] = []  # the lines that were suggested, and not made on the way to another
        self.sampler = Sampler(ground)

    # -- lines -------------------------------------------------------------------------------------------------------

    def add(self, line: Line) -> int | None:
        """The number of the line, once the kernel accepts it; None where it does not."""
        try:
            self.board.lines.append(self.board.line(line))
        except Rejected:
            return None
        self.lines.append(line)
        return len(self.lines) - 1

    def here(self, scope: Scope) -> Normal | None:
        return self.nf.under(scope.where)

    def letters(self, scope: Scope) -> frozenset[Term]:
        return self.board.fixed | frozenset(scope.letters)

    def cite(self, number: int, scope: Scope) -> Cite:
        """The line at the scope's own letters."""
        return Cite(number, tuple((k, k) for k in scope.letters))

    def known(self) -> list[Known]:
        """What can be cited and says a sign."""
        facts = [Known(-1 - p, f) for p, f in enumerate(self.nf.raw_facts)]
        lines = [Known(p, self.board.lines[p]) for p in self.useful]
        return [k for k in facts + lines if k.fact.signs not in (NEG | POS, NEG | POS | ZERO)]

    def suggest(self, line: Line) -> None:
        """Add a line that may be of use, once."""
        try:
            mark = (self.nf.canonical(difference(line.condition)), line.condition.value, line.where)
        except Rejected:
            return
        if mark not in self.suggested:
            self.suggested.add(mark)
            number = self.add(line)
            if number is not None:
                self.useful.append(number)

    def letter(self, axis: str) -> Term:
        self.names += 1
        return index(f"!{self.names}", axis)

    # -- the claim ---------------------------------------------------------------------------------------------------

    def conclude(self, claim: Term) -> bool:
        """Add the lines that end in the claim."""
        if claim.op in ("and", "or"):
            return any(self.conclude(c) for c in claim.args)
        if claim.op != "cmp" or claim.value not in RELATION:
            return False
        if self.board.follows(self.nf, claim):
            return True
        gap = difference(claim)
        for relation in {"!=": (">", "<"), "==": ()}.get(claim.value, (claim.value,)):
            side = MINUS_ONE if relation in ORIENTED else ONE
            goal = gap if side is ONE else sub(claim.args[1], claim.args[0])
            found = self.prove(goal, ORIENTED.get(relation, relation) == ">", Scope())
            if found is not None:
                part = Part(ONE, (Cite(found),))
                return self.add(Line(claim, "combination", (side,), (part,))) is not None
        return False

    def prove(self, term: Term, strict: bool, scope: Scope, depth: int = 0) -> int | None:
        """The number of a line that says `term >= 0`, or `> 0`, for the scope."""
        here = self.here(scope)
        if here is None or depth > MAX_DEPTH or self.goals > MAX_GOALS:
            return None
        try:
            slot = (here.canonical(term), strict, scope)
            if slot not in self.tried:
                self.tried[slot] = None  # what is being tried is not known
                if self.sampler.contradicts(slot[0], strict, scope.letters, scope.where):
                    return None
                self.goals += 1
                self.tried[slot] = self.attempt(term, strict, scope, depth)
            return self.tried[slot]
        except Rejected:
            return None

    def attempt(self, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
        here = self.here(scope)
        assert here is not None
        condition = compared_to(term, strict)
        for plain in (term, here.canonical(term)):
            if not sign(here, plain) & ~RELATION[condition.value]:
                return self.add(self.line(condition, scope, (Part(plain),)))
        number = self.absolute(term, strict, scope, depth)
        if number is not None:
            return number
        scale, factor, rest = bared(here, here.poly(term), strict)
        addends = [mul(scale, a) for a in addends_of(here, term)] if factor is ONE else []
        parts = self.solve(Goal(rest, strict, scope, depth, tuple(addends)))
        if parts is None:
            return None
        parts = [replace(p, multiplier=mul(factor, p.multiplier)) for p in parts] if factor is not ONE else parts
        return self.add(self.line(condition, scope, tuple(parts), (scale,)))

    def absolute(self, term: Term, strict: bool, scope: Scope, depth: int) -> int | None:
        """U - |V| by U - V and U + V."""
        here = self.here(scope)
        assert here is not None
        addends = addends_of(here, term)
        for p, a in enumerate(addends):
            if a.op == "neg" and a.args[0].op == "fn" and a.args[0].value == "abs":
                u, v = add(*addends[:p], *addends[p + 1 :]), a.args[0].args[0]
                found = [self.prove(g, strict, scope, depth + 1) for g in (sub(u, v), add(u, v))]
                if None not in found:
                    rule = "strict_absolute_bound" if strict else "absolute_bound"
                    cites = tuple(self.cite(n, scope) for n in found if n is not None)
                    return self.add(Line(compared_to(term, strict), rule, (u, v), (), cites, scope.letters, scope.where))
        return None

    def line(self, condition: Term, scope: Scope, parts: tuple[Part, ...], values: tuple[Term, ...] = ()) -> Line:
        return Line(condition, "combination", values, parts, (), scope.letters, scope.where)

    def compare(self, term: Term, strict: bool, letters: tuple[Term, ...], where: Term = TRUE) -> int | None:
        """A line for `term >= 0` or `> 0` that takes one step only: a sign, or one combination of what is known."""
        return self.prove(term, strict, Scope(letters, where), MAX_DEPTH)

    def known_zero(self, here: Normal, term: Term) -> bool:
        return here.is_zero(here.poly(term))

    # -- strategies: each gives parts that add up to the polynomial ---------------------------------------------------

    def solve(self, goal: Goal) -> list[Part] | None:
        strategies = (by_combination, by_cases, by_factor, by_logarithms, by_roots, by_square, by_terms)
        for strategy in strategies if goal.depth < MAX_DEPTH else strategies[:1]:
            found = strategy(self, goal)
            if found is not None:
                return found
        return None


@dataclass(frozen=True)
class Goal:
    """A polynomial that is to be shown not negative, or positive."""

    poly: Poly
    strict: bool
    scope: Scope
    depth: int
    addends: tuple[Term, ...] = ()  # the terms of it as they were written


def bared(here: Normal, poly: Poly, strict: bool) -> tuple[Term, Term, Poly]:
    """(scale, factor, rest) with scale * poly == factor * rest: scale positive, factor of known sign."""
    scale: dict[Term, object] = {}
    for _ in range(3):
        bottoms: dict[Term, object] = {}
        for mono in poly:
            for a, e in mono:
                if not isinstance(e, Term) and e < min(0, bottoms.get(a, 0)) and sign(here, a) == POS:  # type: ignore[operator]
                    bottoms[a] = e
        if not bottoms:
            break
        for a, e in bottoms.items():
            scale[a] = scale.get(a, 0) - e  # type: ignore[operator]
        up: Mono = frozenset((a, -e) for a, e in bottoms.items())  # type: ignore[operator]
        total: Poly = {}
        for mono, c in poly.items():
            add_to(total, here.times(mono, up), c)
        poly = total
    common, rest = here.content(poly)
    factor = []
    for a, e in sorted(common, key=lambda p: key(p[0])):
        signs = sign(here, a)
        if signs == POS:
            scale[a] = scale.get(a, 0) - e  # type: ignore[operator]
        elif not signs & NEG and not strict:
            factor.append(power(a, num(e)))  # type: ignore[arg-type]
        else:
            rest = here.mul(rest, {frozenset({(a, e)}): 1})
    terms = [power(a, num(e)) for a, e in sorted(scale.items(), key=lambda p: key(p[0])) if e]  # type: ignore[arg-type]
    return mul(*terms), mul(*factor), rest


def compared_to(term: Term, strict: bool, other: Term = NOUGHT) -> Term:
    return cmp(">" if strict else ">=", term, other)


def addends_of(here: Normal, term: Term) -> list[Term]:
    """The terms of a sum as written, names unfolded where that shows a sum."""
    if term.op == "def":
        return addends_of(here, here.unfold(term))
    if term.op == "add":
        return [part for a in term.args for part in addends_of(here, a)]
    if term.op == "neg":
        return [neg(a) for a in addends_of(here, term.args[0])]
    return [term]


def by_combination(search: Search, goal: Goal) -> list[Part] | None:
    """A combination of pieces, found by linear programming after each kind of piece that joins."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    if len(goal.poly) > MAX_MONOS:
        return None
    if goal.depth < MAX_DEPTH:
        bounds.suggest(search, goal)
    known = search.known()
    pieces = [p for a in goal.addends if (p := weighed(search.board, here, Part(a), letters)) is not None]
    monos = dict.fromkeys(sorted(goal.poly, key=mono_key))
    kinds: list[Callable[[list[Mono]], Iterable[Piece]]] = [
        lambda targets: (),
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
        lambda targets: guard_pieces(search, here, letters),
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
        lambda targets: products(search, here, letters, known),
        lambda targets: squares(search.board, here, letters, targets, goal.poly),
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
        lambda targets: squares(search.board, here, letters, targets, goal.poly),
    ]
    for kind in kinds if goal.depth < MAX_DEPTH else kinds[:3]:
        count = len(pieces)
        new = (p for p in kind(list(monos)) if sum(m not in monos for m in p.poly) <= MAX_NEW)
        pieces = distinct([*pieces, *islice(new, MAX_PIECES)])
        if len(pieces) == count and count:
            continue
        monos.update(dict.fromkeys(m for p in pieces[count:] for m in p.poly))
        found = mixed(goal, [*pieces, *signed(here, monos)])
        if found is not None:
            return found
        if len(monos) > MAX_MONOS:
            return None
    return None


def guard_pieces(search: Search, here: Normal, letters: frozenset[Term]) -> Iterator[Piece]:
    """What the cases at hand say."""
    for g in here.guards:
        if g.op == "cmp" and not all(here.index_like(a) for a in g.args) and g.letters <= letters:
            piece = weighed(search.board, here, Part(difference(g)), letters)
            if piece is not None:
                yield piece


def products(search: Search, here: Normal, letters: frozenset[Term], known: list[Known]) -> Iterator[Piece]:
    """Products of two comparisons that speak of no letters of their own."""
    plain = [p for k in known if not k.fact.letters and (p := weighed(search.board, here, Part(ONE, (Cite(k.number),)), letters))]
    basic = [p.part for p in distinct([*plain, *guard_pieces(search, here, letters)]) if not p.free][:MAX_FACTORS]
    for n, first in enumerate(basic):
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


def mixed(goal: Goal, pieces: list[Piece]) -> list[Part] | None:
    """The pieces times numbers that add up to the goal."""
    multipliers = combine(
        goal.poly,
        [p.poly for p in pieces],
        [p.free for p in pieces],
        [p.strict for p in pieces] if goal.strict else (),
    )
    if multipliers is None:
        return None
    return [
        p.part if x == 1 else replace(p.part, multiplier=mul(num(x), p.part.multiplier))
        for p, x in zip(pieces, multipliers, strict=True)
        if x
    ]


def by_logarithms(search: Search, goal: Goal) -> list[Part] | None:
    """A difference of logarithms, or of a logarithm and anything else, by what they are logarithms of."""
    here = search.here(goal.scope)
    assert here is not None
    logs = {m: a for m in goal.poly for a, e in m if a.op == "fn" and a.value == "log" and e == 1}
    factors = {m - {(a, 1)} for m, a in logs.items()}
    if len(factors) != 1:
        return None
    (common,) = factors
    if here.mono_sign(common, 1) != POS:
        return None
    scale = lcm(*(Fraction(c).denominator for c in goal.poly.values()))
    ups: list[Term] = []
    downs: list[Term] = []
    for mono, c in goal.poly.items():
        if mono in logs:
            (ups if c > 0 else downs).append(power(logs[mono].args[0], num(abs(c * scale))))
        else:
            rest = here.mul({mono: abs(c * scale)}, {frozenset((a, neg_exponent(e)) for a, e in common): 1})
            (ups if c > 0 else downs).append(fn("exp", here.term(rest)))
    return compared(search, goal, "log", mul(*ups), mul(*downs), mul(num(Fraction(1, scale)), here.term({common: 1})))


def neg_exponent(e: Exponent) -> Exponent:
    return neg(e) if isinstance(e, Term) else -e


def by_factor(search: Search, goal: Goal) -> list[Part] | None:
    """A known comparison times a quotient."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    sources = [(here.poly(k.fact.term), Part(ONE, (Cite(k.number),))) for k in search.known() if not k.fact.letters]
    sources += [(p.poly, p.part) for p in guard_pieces(search, here, letters)]
    for divisor, part in sources:
        quotient = divided(here, goal.poly, divisor) if len(divisor) > 1 else None
        piece = weighed(search.board, here, part, letters) if quotient else None
        if quotient and piece is not None and not piece.free and (piece.strict or not goal.strict):
            side = 1 if piece.part.multiplier == part.multiplier else -1
            number = search.prove(here.term(scaled(quotient, side)), goal.strict, goal.scope, goal.depth + 1)
            if number is not None:
                return [replace(piece.part, cites=(*piece.part.cites, search.cite(number, goal.scope)))]
    return None


def divided(here: Normal, poly: Poly, divisor: Poly) -> Poly | None:
    """The quotient of two polynomials where the division leaves no rest."""
    main = min((a for m in divisor for a, e in m if isinstance(e, int) and e > 0), key=key, default=None)
    top = max(degree(m, main) for m in divisor)
    leads = [m for m in divisor if degree(m, main) == top]
    quotient: Poly = {}
    rest = dict(poly)
    while rest and len(leads) == 1 and len(quotient) < MAX_QUOTIENT:
        mono = max(rest, key=lambda m: (degree(m, main), mono_key(m)))
        step = without(mono, leads[0])
        if step is None:
            return None
        part = {step: Fraction(rest[mono]) / divisor[leads[0]]}
        add_to(quotient, part)
        add_to(rest, here.mul(part, divisor), -1)
    return None if rest else quotient


def degree(mono: Mono, atom: Term | None) -> int:
    e = next((e for a, e in mono if a is atom), 0)
    return e if isinstance(e, int) else -1


def without(mono: Mono, factor: Mono) -> Mono | None:
    """The monomial divided by a factor of it."""
    left = dict(mono)
    for a, e in factor:
        have = left.pop(a, 0)
        if isinstance(e, Term) or isinstance(have, Term) or have < e:
            return None
        if have > e:
            left[a] = have - e
    return frozenset(left.items())


def compared(search: Search, goal: Goal, name: str, upper: Term, lower: Term, scale: Term) -> list[Part] | None:
    """name(upper) - name(lower), where the arguments can be compared."""
    below = search.prove(sub(upper, lower), goal.strict, goal.scope, goal.depth + 1)
    if below is None:
        return None
    rule = f"{name}_strictly_increasing" if goal.strict else f"{name}_increasing"
    condition = compared_to(fn(name, upper), goal.strict, fn(name, lower))
    cites = (search.cite(below, goal.scope), *((None,) if name in ("log", "sqrt") else ()))
    number = search.add(Line(condition, rule, (upper, lower), (), cites, goal.scope.letters, goal.scope.where))
    return None if number is None else [Part(scale, (search.cite(number, goal.scope),))]


def by_roots(search: Search, goal: Goal) -> list[Part] | None:
    """U - V by their squares, one of them the terms that hold a root."""
    here = search.here(goal.scope)
    assert here is not None
    roots = [m for m in sorted(goal.poly, key=mono_key) if any(_is_root(a, e) for a, e in m)]
    if not roots or len(goal.poly) < 2:
        return None
    splits = [
        {m: goal.poly[m] for m in roots if goal.poly[m] < 0},
        {m: goal.poly[m] for m in goal.poly if goal.poly[m] < 0},
    ]
    splits.append({m: c for m, c in goal.poly.items() if not (m in roots and c > 0)})
    for lower in splits:
        upper = {m: c for m, c in goal.poly.items() if m not in lower}
        if not upper or not lower:
            continue
        u, v = here.term(upper), here.term(scaled(lower, -1))
        base = search.prove(u, False, goal.scope, goal.depth + 2)
        gap = sub(power(u, TWO), power(v, TWO))
        above = None if base is None else search.prove(gap, goal.strict, goal.scope, goal.depth + 2)
        if base is None or above is None:
            continue
        rule = "strict_square_root_order" if goal.strict else "square_root_order"
        cites = (search.cite(base, goal.scope), search.cite(above, goal.scope))
        condition = compared_to(u, goal.strict, v)
        number = search.add(Line(condition, rule, (u, v), (), cites, goal.scope.letters, goal.scope.where))
        if number is not None:
            return [Part(ONE, (search.cite(number, goal.scope),))]
    return None


def _is_root(a: Term, e: object) -> bool:
    return (not isinstance(e, (Term, int))) or (a.op == "pow" and a.args[1].op == "num")


def by_square(search: Search, goal: Goal) -> list[Part] | None:
    """a x**2 + b x + c as (a x + b/2)**2 / a and the rest, for a positive a."""
    here = search.here(goal.scope)
    assert here is not None
    for x in sorted({a for m in goal.poly for a, e in m if e == 2}, key=key):
        byte: dict[int, Poly] = {0: {}, 1: {}, 2: {}}
        for m, c in goal.poly.items():
            e = dict(m).get(x, 0)
            if e not in (0, 1, 2):
                break
            byte[e][m - {(x, e)}] = c  # type: ignore[index]
        else:
            a, b, c_ = (here.term(byte[p]) for p in (2, 1, 0))
            if not byte[1] or sign(here, a) != POS:
                continue
            rest = sub(c_, div(power(b, TWO), mul(num(4), a)))
            if search.known_zero(here, rest):
                number = None if goal.strict else -1
            else:
                number = search.prove(rest, goal.strict, goal.scope, goal.depth + 2)
            if number is not None:
                square = Part(div(power(add(mul(a, x), div(b, TWO)), TWO), a))
                return [square] if number == -1 else [square, Part(ONE, (search.cite(number, goal.scope),))]
    return None


def by_terms(search: Search, goal: Goal) -> list[Part] | None:
    """A sum over one letter, term by term."""
    here = search.here(goal.scope)
    assert here is not None
    for axis in sorted({k.value[1] for m in goal.poly for a, e in m if a.op == "sum" and e == 1 for k in a.bound}):
        letter = search.letter(axis)
        body: Poly = {}
        left: Poly = {}
        for m, c in sorted(goal.poly.items(), key=lambda p: mono_key(p[0])):
            choices = [a for a, e in m if a.op == "sum" and e == 1 and [k.value[1] for k in a.bound] == [axis]]
            size_ = next((a for a, e in m if a.op == "size" and a.value == axis and isinstance(e, int) and e > 0), None)
            if choices:
                a = min(choices, key=key)
                inner = here.poly(substitute(a.args[0], {a.bound[0]: letter}))
                add_to(body, here.mul(inner, here.finish(m - {(a, 1)})), c)
            elif size_ is not None:
                add_to(body, here.mul({m: c}, {frozenset({(size_, -1)}): 1}))
            else:
                left[m] = c
        scope = Scope((*goal.scope.letters, letter), goal.scope.where)
        rest = [*signed(here, left)]
        if any(not any(m in p.poly and p.poly[m] * left[m] > 0 for p in rest) for m in left) or not body:
            continue
        number = search.prove(here.term(body), goal.strict, scope, goal.depth + 1)
        if number is not None:
            parts = [
                replace(p.part, multiplier=mul(num(abs(left[m])), p.part.multiplier)) for p in rest for m in p.poly
            ]
            return [Part(ONE, (search.cite(number, scope),), (letter,)), *parts]
    return None


def by_cases(search: Search, goal: Goal) -> list[Part] | None:
    """One of the conditions that the terms hang on, true and false."""
    here = search.here(goal.scope)
    assert here is not None
    letters = search.letters(goal.scope)
    atoms = {a for m in goal.poly for a, _ in m if a.op in CASES and a.letters <= letters}
    term = here.term(goal.poly)
    for atom in sorted(atoms, key=key)[:1]:
        test = cmp("==", *atom.args) if atom.op == "delta" else atom.args[0]
        cites: list[Cite | None] = []
        for cell in (test, negation(test)):
            scope = Scope(goal.scope.letters, both(goal.scope.where, cell))
            inner = search.here(scope)
            if inner is None:
                cites.append(None)
                continue
            number = search.prove(tied(cell, term), goal.strict, scope, goal.depth + 1)
            if number is not None and tied(cell, term) is not term:
                condition = compared_to(term, goal.strict)
                number = search.add(search.line(condition, scope, (Part(ONE, (search.cite(number, scope),)),)))
            if number is None:
                return None
            cites.append(search.cite(number, scope))
        condition = compared_to(term, goal.strict)
        line = Line(condition, "case_distinction", (test,), (), tuple(cites), goal.scope.letters, goal.scope.where)
        number = search.add(line)
        if number is not None:
            return [Part(ONE, (search.cite(number, goal.scope),))]
    return None


def tied(cell: Term, term: Term) -> Term:
    """The term with one letter for two equal ones."""
    if cell.value == "==" and cell.args[0].op == "index" and cell.args[0] not in cell.args[1].letters:
        return substitute(term, {cell.args[0]: cell.args[1]})
    return term


__all__ = ["Goal", "Scope", "Search", "find"]

"""Orders: lines of comparisons, each a row at its values or a combination of known ones, that end in the claim.

Nothing is searched for here. A line says which comparisons it uses, at which letters, with which multipliers; the
kernel multiplies out, compares normal forms and judges the signs of the multipliers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from derive.kernel import domain, moments
from derive.kernel.cases import complement, ways
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, add_to
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.kernel.rules import instantiate, meta
from derive.kernel.signs import NEG, POS, RELATION, ZERO, Fact, add_signs, difference, mul_signs, nonempty, sign, split
from derive.kernel.wellformed import subscript_axis, well_formed
from derive.term import PI, TRUE, Number, Term, cmp, fn, make, mul, negation, num, over, substitute, subterms

if TYPE_CHECKING:
    from derive.kernel.check import Ground


@dataclass(frozen=True)
class Row:
    """`conclusion` holds for all values of the letters U, V, P that satisfy the premises, in total semantics."""

    name: str
    conclusion: Term
    premises: tuple[Term, ...]
    citation: str


HARDY = "Hardy, Littlewood, Polya, Inequalities"
TANGENT = "a convex function lies above its tangents; Boyd and Vandenberghe, Convex Optimization, section 3.1.3"
MONOTONE = "a function with a positive derivative increases; Spivak, Calculus, chapter 11"
TAYLOR = "the remainder of a Taylor polynomial; Spivak, Calculus, chapter 20"
MEAN_VALUE = "the mean value theorem; Spivak, Calculus, chapter 11"
U, V, P = meta("U"), meta("V"), meta("P")


def ge(left: Term | Number, right: Term | Number = 0) -> Term:
    return cmp(">=", left, right)


def gt(left: Term | Number, right: Term | Number = 0) -> Term:
    return cmp(">", left, right)


Premises = tuple[Term, ...]


def _rows(name: str, a: Term, b: Term, loose: Premises | None, tight: Premises | None, cite: str) -> Iterator[Row]:
    """a >= b under the loose premises, a > b under the tight ones."""
    if loose is not None:
        yield Row(name, ge(a, b), loose, cite)
    if tight is not None:
        yield Row(f"strict_{name}", gt(a, b), tight, cite)


# Increasing functions, with what the smaller argument must satisfy.
INCREASING: dict[str, Premises] = {
    **dict.fromkeys(("exp", "sinh", "tanh", "sigmoid", "softplus", "atan", "erf"), ()),
    "log": (gt(V),),
    "sqrt": (ge(V),),
}
# What functions grow by at most: the slope is the greatest at single points only.
STEEPEST = dict.fromkeys(("sin", "cos", "atan", "tanh", "softplus"), U - V)
STEEPEST |= {"sigmoid": (U - V) / 4, "erf": 2 * (U - V) / fn("sqrt", PI)}
# Parabolas below and above functions, which they touch at one point; they cross there where the point is an end.
HALF, CURVE = U**2 / 2, fn("softplus", U) + fn("sigmoid", U) * (V - U) + (V - U) ** 2 / 8
PARABOLAS: dict[str, tuple[Term, Term, Premises, Premises]] = {
    "exp": (fn("exp", U), 1 + U + HALF, (ge(U),), (gt(U),)),
    "falling_exp": (1 - U + HALF, fn("exp", -U), (ge(U),), (gt(U),)),
    "log": (fn("log", 1 + U), U - HALF, (ge(U),), (gt(U),)),
    "cos": (fn("cos", U), 1 - HALF, (), (cmp("!=", U, 0),)),
    "cosh": (fn("cosh", U), 1 + HALF, (), (cmp("!=", U, 0),)),
    "log_cosh": (HALF, fn("log", fn("cosh", U)), (), (cmp("!=", U, 0),)),
    "softplus": (CURVE, fn("softplus", V), (), (cmp("!=", U, V),)),
}
POWERS, SQUARES, FLAT = (U**P, V**P), (U**2, V**2), 1 - P
ROWS: dict[str, Row] = {
    row.name: row
    for rows in (
        _rows("exp_tangent", fn("exp", U), 1 + U, (), (cmp("!=", U, 0),), TANGENT),
        _rows("log_tangent", U - 1, fn("log", U), (gt(U),), (gt(U), cmp("!=", U, 1)), TANGENT),
        _rows("bernoulli", (1 + U) ** P, 1 + P * U, (ge(U, -1), ge(P, 1)), None, TANGENT),
        _rows("weighted_means", P * U + FLAT * V, U**P * V**FLAT, (ge(U), ge(V), ge(P), ge(num(1), P)), None, HARDY),
        *(
            _rows(f"{f}_increasing", fn(f, U), fn(f, V), (ge(U, V), *needs), (gt(U, V), *needs), MONOTONE)
            for f, needs in INCREASING.items()
        ),
        _rows("exp_increments", (fn("exp", U) - fn("exp", V)) * (U - V), num(0), (), None, MONOTONE),
        _rows("power_increasing", *POWERS, (ge(U, V), ge(V), ge(P)), (gt(U, V), ge(V), gt(P)), MONOTONE),
        _rows("square_root_order", U, V, (ge(U), ge(*SQUARES)), (ge(U), gt(*SQUARES)), HARDY),
        _rows("absolute_bound", U, fn("abs", V), (ge(U, V), ge(U, -V)), (gt(U, V), gt(U, -V)), HARDY),
        *(
            _rows(f"{f}_slope_bound", steep, fn(f, U) - fn(f, V), (ge(U, V),), (gt(U, V),), MEAN_VALUE)
            for f, steep in STEEPEST.items()
        ),
        *(_rows(f"{f}_parabola", *sides_and_needs, TAYLOR) for f, sides_and_needs in PARABOLAS.items()),
        _rows("sinh_tangent", fn("sinh", U), U, (ge(U),), (gt(U),), TAYLOR),
        _rows("sin_at_most_one", num(1), fn("sin", U), (), None, MONOTONE),
        _rows("cos_at_most_one", num(1), fn("cos", U), (), None, MONOTONE),
        _rows("cos_at_least_minus_one", fn("cos", U), num(-1), (), None, MONOTONE),
        _rows("erf_below_one", num(1), fn("erf", U), None, (), MONOTONE),
        _rows("atan_below_quarter_turn", PI / 2, fn("atan", U), None, (), MONOTONE),
    )
    for row in rows
}


UNSURE = frozenset({"E", "Var", "Cov", "limit"})  # operators that have a value only where something exists


@dataclass
class Board:
    """The comparisons known so far: the facts that the claim starts from, then the lines."""

    ground: Ground
    fixed: frozenset[Term]  # the letters of the claim and the declared ones: all others are bound or generalised over
    lines: list[Fact] = field(default_factory=list)

    def cited(self, here: Normal, cite: Cite, letters: frozenset[Term]) -> tuple[Term, int]:
        """left - right of a known comparison at the letters given, and its signs."""
        known = self.ground.full.raw_facts if cite.line < 0 else self.lines
        place = -1 - cite.line if cite.line < 0 else cite.line
        if place >= len(known):
            raise Rejected("a comparison is cited before it is known")
        fact, mapping = known[place], dict(cite.letters)
        if set(mapping) != set(fact.letters):
            raise Rejected("a comparison is used without a place for each of its letters")
        self.placed(here, mapping, letters)
        if not all(here.holds(substitute(g, mapping)) for g in fact.guards):
            raise Rejected("a comparison is used where it is not known to hold")
        return substitute(fact.term, mapping), fact.signs

    def placed(self, here: Normal, mapping: dict[Term, Term], letters: frozenset[Term]) -> None:
        """Raise Rejected unless each letter stands for a place on its own axis, in letters that something binds."""
        for k, place in mapping.items():
            self.settled(place)
            if k.value[1] != subscript_axis(place, here.context):
                raise Rejected("a letter is replaced by something of another axis")
            if not place.letters <= letters:
                raise Rejected("a comparison is used at a letter that nothing binds")

    def worth(self, here: Normal, part: Part, letters: frozenset[Term]) -> tuple[Term, int]:
        """The part as a term, and the signs that it can have."""
        new = frozenset(part.over)
        if len(new) != len(part.over) or any(k.op != "index" for k in new) or new & (letters | here.guarded):
            raise Rejected("a sum needs letters of its own")
        if not (part.multiplier.letters | part.where.letters <= letters | new and (new or part.where is TRUE)):
            raise Rejected("a letter that nothing binds, or a condition without a sum")
        inner = here.under(part.where)
        if inner is None:
            return num(0), ZERO
        factors, signs = [part.multiplier], sign(inner, part.multiplier)
        for cite in part.cites:
            term, one = self.cited(inner, cite, letters | new)
            factors.append(term)
            signs = mul_signs(signs, one)
        if new and (signs == NEG | POS or not (part.where is TRUE or nonempty(inner, part.over, part.where))):
            signs |= ZERO
        return over("sum", mul(*factors), *part.over, where=part.where), signs

    def add(self, line: Line) -> None:
        """Take up what the line says, or raise Rejected."""
        self.lines.append(self.line(line))

    def line(self, line: Line) -> Fact:
        """What the line says, checked."""
        ground, letters = self.ground, self.fixed | frozenset(line.letters)
        condition = line.condition
        if condition.op != "cmp" or condition.value not in RELATION:
            raise Rejected("a line is a comparison")
        if len(letters) != len(self.fixed) + len(line.letters) or not ground.free(line.letters):
            raise Rejected("a line needs letters of its own")
        parts = (t for p in line.parts for t in (p.multiplier, p.where))
        for t in (line.where, *condition.args, *line.values, *parts):
            self.settled(t)
        if not frozenset().union(*(t.letters for t in (condition, line.where, *line.values))) <= letters:
            raise Rejected("a letter that nothing binds")
        here, term, wanted = ground.full.under(line.where), difference(condition), RELATION[condition.value]
        if here is not None and PROCEDURES.get(line.rule, _by_row)(self, here, line, term, letters) & ~wanted:
            raise Rejected(f"{line.rule} does not give {condition.value}")
        return Fact(term, wanted, frozenset(line.letters), tuple(split(line.where)), line.rule)

    def settled(self, term: Term) -> None:
        """Raise Rejected for a malformed term, or a mean or limit in it that is not known to exist."""
        well_formed(term, self.ground.context)
        if any(t.op in UNSURE for t in subterms(self.ground.plain.opened(term))):
            for need in domain.needs(self.ground.plain, term):
                if need.condition.op in (*UNSURE, "at") and not domain.met(self.ground.full, need, self.ground.known):
                    raise Rejected("a mean or limit that may not exist")

    def follows(self, claim: Term, nf: Normal | None) -> bool:
        """Whether a condition holds by signs, a line, its parts, one of which may hold where the others do not, or as
        one comparison."""
        if nf is None or nf.holds(claim):
            return True
        if claim.op == "and":
            return all(self.follows(c, nf) for c in claim.args)
        if claim.op in ("or", "any"):
            if claim.op == "or" and nf.is_zero(complement(nf.condition(claim))):  # case by case of its comparisons
                return True
            return any(self.follows(c, nf.under(others)) for c, others in (*ways(claim), *attained(claim)))
        if claim.op != "cmp":
            return False
        wanted, gap = RELATION[claim.value], difference(claim)
        ready = [k for k in self.lines if not k.letters and not k.signs & ~wanted and all(map(nf.holds, k.guards))]
        return any(nf.equal(k.term, gap) for k in reversed(ready))


def attained(claim: Term) -> Iterator[tuple[Term, Term]]:
    """`any(u == v for k in n)` as max(u - v for k in n) == 0: the greatest difference is one of them."""
    if claim.op == "any" and claim.args[1] is TRUE and claim.args[0].value == "==":
        yield cmp("==", over("max", difference(claim.args[0]), *claim.bound), 0), TRUE


def _by_row(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """An elementary inequality at its values, each premise a known comparison or judged by signs."""
    row = ROWS.get(line.rule)
    if row is None:
        raise Rejected(f"there is no rule {line.rule}")
    names = [m for m in (U, V, P) if m in subterms(row.conclusion)]
    cites = line.cites or (None,) * len(row.premises)
    if len(line.values) != len(names) or len(cites) != len(row.premises):
        raise Rejected(f"{line.rule} takes {len(names)} values and {len(row.premises)} premises")
    found: dict[str, object] = dict(zip((m.value for m in names), line.values, strict=True))
    for pattern, cite in zip(row.premises, cites, strict=True):
        premise = instantiate(pattern, found)
        signs = here.compare(premise)
        if cite is not None:
            known, signs = board.cited(here, cite, letters)
            if not here.equal(known, difference(premise)):
                raise Rejected(f"this is no premise of {line.rule}")
        if signs & ~RELATION[premise.value]:
            raise Rejected(f"a premise of {line.rule} is not known to hold")
    conclusion = instantiate(row.conclusion, found)
    if not here.equal(term, difference(conclusion)):
        raise Rejected(f"{line.rule} says something else")
    return RELATION[conclusion.value]


def _combination(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """left - right, times a value of one sign where one is given, as a sum of parts."""
    scale = line.values[0] if line.values else num(1)
    side, signs = sign(here, scale), ZERO
    if side not in (POS, NEG):
        raise Rejected("the sign of a factor is not known")
    gap: Poly = dict(here.poly(scale * term))
    for part in line.parts:
        value, one = board.worth(here, part, letters)
        gap, signs = add_to(gap, here.poly(value), -1), add_signs(signs, one)
    rest = here.term(gap)
    for g in here.guards:  # equal letters are one letter
        if g.op == "cmp" and g.value == "==" and g.args[0].op == "index" and g.args[0] not in g.args[1].letters:
            rest = substitute(rest, {g.args[0]: g.args[1]})
    if not here.is_zero(here.poly(rest)):
        raise Rejected("the parts do not add up")
    return mul_signs(signs, side)


def _extremum(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """A maximum is at least each of the values, a minimum at most."""
    top, places = line.values[0] if line.values else num(0), line.values[1:]
    if top.op not in ("max", "min") or len(places) != len(top.bound):
        raise Rejected("extremum takes a maximum or minimum and a place for each letter")
    mapping = dict(zip(top.bound, places, strict=True))
    board.placed(here, mapping, letters)
    if not here.holds(substitute(top.args[1], mapping)):
        raise Rejected("the place is none of those that the extremum is over")
    value = substitute(top.args[0], mapping)
    if not here.equal(term, top - value if top.op == "max" else value - top):
        raise Rejected("extremum says something else")
    return POS | ZERO


def _cases(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """The comparison holds where a condition does, and where it does not."""
    if len(line.values) != 1 or len(line.cites) != 2:
        raise Rejected("case_distinction takes a condition and two comparisons")
    signs = 0
    for cell, cite in zip((line.values[0], negation(line.values[0])), line.cites, strict=True):
        inner = here.under(cell)
        if inner is not None and cite is not None:
            known, one = board.cited(inner, cite, letters)
            if not inner.equal(known, term):
                raise Rejected("the case is about something else")
            signs |= one
        elif inner is not None:
            signs |= sign(inner, term) & sign(inner, inner.canonical(term))
    return signs


def _stated(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """What an earlier claim says at the letters given, or a sum that telescopes, as it stands."""
    from derive.kernel.check import stated

    if [(u.kind, u.multiplier, u.over) for u in line.uses] != [(line.rule, None, ())]:
        raise Rejected(f"{line.rule} takes one claim or sum, as it stands")
    (use,) = line.uses
    if use.kind == "lemma":
        board.placed(here, dict(use.letters), letters)
    condition = stated(board.ground, use, here)
    if not condition.letters <= letters or not here.equal(term, difference(condition)):
        raise Rejected(f"{line.rule} says something else")
    return RELATION[condition.value]


def _averaged(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """The mean of what is known, whatever random names are, to be at least 0, or at most."""
    if len(line.values) != 1 or len(line.cites) != 1 or moments.random_names(here, line.where):
        raise Rejected("a mean takes one comparison, in no case of random names")
    (body,), (cite,), mean = line.values, line.cites, make("E", line.values)
    board.settled(mean)
    known, signs = (body, sign(here, body)) if cite is None else board.cited(here, cite, letters)
    if not here.equal(known, body) or not here.equal(term, mean):
        raise Rejected("the mean is of something else")
    return signs if signs != NEG | POS else NEG | ZERO | POS


def _multiplied(board: Board, here: Normal, line: Line, term: Term, letters: frozenset[Term]) -> int:
    """A product is at least that over the same letters of factors that are not negative, and none of them larger."""
    if len(line.values) != 2 or len(line.cites) != 2 or any(p.op != "prod" for p in line.values):
        raise Rejected("products are compared by their factors, and the smaller ones with 0")
    upper, lower = line.values
    inner, new = here.under(upper.args[1]), frozenset(upper.bound)
    if new & (letters | here.guarded) or upper.bound != lower.bound or upper.args[1] is not lower.args[1]:
        raise Rejected("products are compared over the same letters, which are their own")
    for cite, wanted in zip(line.cites, (upper.args[0] - lower.args[0], lower.args[0]), strict=True):
        if inner is not None:
            known, signs = (wanted, sign(inner, wanted)) if cite is None else board.cited(inner, cite, letters | new)
            if signs & NEG or not inner.equal(known, wanted):
                raise Rejected("the factors are not known to be in that order")
    if not here.equal(term, upper - lower):
        raise Rejected(f"{line.rule} says something else")
    return POS | ZERO


PROCEDURES = {
    "combination": _combination,
    "product_of_comparisons": _multiplied,
    "mean_of_a_comparison": _averaged,
    "extremum": _extremum,
    "case_distinction": _cases,
    "lemma": _stated,
    "telescoping": _stated,
}


def established(ground: Ground, proof: Proof) -> Board:
    """The lines of the proof, checked one after the other."""
    board = Board(ground, ground.claim.letters | ground.context.letters)
    for number, line in enumerate(proof.lines, len(proof.steps) + 1):
        try:
            board.add(line)
        except Rejected as why:
            raise Rejected(why.reason, number) from None
    return board


def judge(ground: Ground, proof: Proof, current: Term) -> None:
    """Raise Rejected unless the claim `current relation right` follows; `current` equals the claim's left side."""
    claim = cmp(ground.claim.value, current, ground.claim.args[1])
    board = established(ground, proof)
    if not claim.letters <= board.fixed or not board.follows(claim, ground.full):
        raise Rejected(f"the sign of the difference is not known to make the two sides {claim.value}")

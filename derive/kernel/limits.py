"""Limits: an expression is expanded in h, the distance to the point (1/h the way to infinity), as h falls to 0.

A germ is exp(growth) * (terms + error). Growth and terms are powers of h with coefficients that do not depend on h but
through log h; growth has negative powers only, and the error is smaller than any power of h below `order`. Every
operation asks for what makes it defined near the point: a leading coefficient known not to be 0 under a fraction, to be
positive under a logarithm. So a limit that is found exists; where a sign is not known, none is found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from math import factorial, inf

from derive.kernel import domain, moments, sums
from derive.kernel.derivative import depends, differentiate
from derive.kernel.functions import BY_CASES, UNFOLD
from derive.kernel.normal import Normal
from derive.kernel.poly import PIECEWISE, UNIT, Poly, add_to, key, mono_key, scaled, small
from derive.kernel.poly import constant as value_of
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, FLIP, NEG, POS, RELATION, ZERO, add_signs, difference, sign
from derive.kernel.wellformed import axes_of
from derive.term import (
    CONDITIONS,
    NONLOCAL,
    OO,
    PI,
    TRUE,
    Term,
    cmp,
    fn,
    make,
    negation,
    num,
    over,
    replace_variable,
    substitute,
    subterms,
    var,
    where,
)

LENGTHS = (3, 6, 10)  # of expansions, in turn
FLAT = Fraction(1000)  # an order that any exponentially small error has
MAX_POWER = 60  # that is multiplied out
MAX_SPLITS = 2  # signs that are told apart, one in the cases of the other
H = var("$h")  # the distance; coefficients hold it as log h alone
LOG_H: Poly = {frozenset({(fn("log", H), 1)}): 1}
KINDS = ("real", "positive", "nonnegative")  # of a variable that tends to a point
SWITCHES = frozenset({"where", "argmax", "max"})  # where they do, a derivative is not that of one of the formulas
SIDES = {"+": (1,), "-": (-1,), "": (1, -1)}
# Functions with a Taylor series where the argument has one of these signs.
SMOOTH = {"sin": ANY, "cos": ANY, "atan": ANY, "erf": ANY, "lgamma": POS, "digamma": POS, "trigamma": POS}


class Unknown(Exception):
    """No rule gives the limit."""


class Short(Unknown):
    """The expansion is too short to tell."""


class Unclear(Unknown):
    """The sign of a coefficient decides, and is not known."""

    def __init__(self, coefficient: Term):
        self.coefficient = coefficient


Powers = dict[Fraction, Poly]


@dataclass(frozen=True)
class Germ:
    growth: Powers = field(default_factory=dict)
    terms: Powers = field(default_factory=dict)
    order: Fraction | float = inf

    @property
    def low(self) -> Fraction | float:
        """The power of h that bounds the terms and the error."""
        return min(self.terms, default=self.order)


def normal(nf: Normal, term: Term) -> Poly:
    """The limit where it is known to exist; else an atom that stands for it."""
    body, variable, point = term.args
    try:
        sides = (1,) if point in (OO, -OO) else SIDES[term.value]
        first, *rest = [limit(nf, body, variable, point, side) for side in sides]
        if all(nf.is_zero(add_to(dict(first), other, -1)) for other in rest) and (
            nf.steady or not any(t.op in SWITCHES or t.value in PIECEWISE for t in subterms(nf.term(first)))
        ):
            return first
    except (Unknown, Rejected, KeyError):
        pass
    inner = nf.anywhere(variable.value)
    return nf.atom(make("limit", (inner.canonical(body), variable, nf.canonical(point)), term.value))


def limit(nf: Normal, body: Term, variable: Term, point: Term, side: int, depth: int = 0) -> Poly:
    """The limit from one side: the variable is the point + side * h. Raises Unknown where no rule gives it.

    Where the sign of something that does not move decides, each of its cases has its own.
    """
    declaration = nf.context.declarations.get(variable.value)
    if declaration is None or declaration.kind not in KINDS or variable.args or depends(nf, point, variable.value):
        raise Unknown
    for length in LENGTHS:
        try:
            return Expansion(nf, variable, point, side, length).limit(body)
        except Short:
            continue
        except Unclear as unclear:
            if depth == MAX_SPLITS or not unclear.coefficient.letters <= body.letters:
                raise
            total: Poly = {}
            for test in (cmp(relation, unclear.coefficient, 0) for relation in (">", "==", "<")):
                here = nf.under(test)
                if here is not None:
                    add_to(total, nf.mul(nf.condition(test), limit(here, body, variable, point, side, depth + 1)))
            return total
    raise Unknown


def number(value: int | Fraction) -> Poly:
    return {UNIT: small(value)} if value else {}


def combined(left: Powers, right: Powers, factor: int | Fraction = 1) -> Powers:
    """left + factor * right, power by power."""
    total = dict(left)
    for e, c in right.items():
        total[e] = add_to(dict(total.get(e, {})), c, factor)
    return {e: c for e, c in total.items() if c}


def germ_of(growth: Powers, terms: Powers, order: Fraction | float = inf) -> Germ:
    """The germ without terms that its error hides; 0 has no growth."""
    kept = {e: c for e, c in terms.items() if c and e < order}
    return Germ(growth if kept or order != inf else {}, kept, order)


def constant(poly: Poly) -> Germ:
    return germ_of({}, {Fraction(0): poly})


def rising(powers: Powers) -> Powers:
    return {e: c for e, c in powers.items() if e > 0}


def pairs(term: Term) -> Iterator[tuple[Term, Term]]:
    """A free letter and another letter or argmax of its axis, which may be the same index."""
    found = {t for t in subterms(term) if t.op in ("index", "argmax") and t.letters <= term.letters}
    ordered = sorted(found, key=lambda t: (t.op != "index", key(t)))
    for p, i in enumerate(ordered):
        for j in ordered[p + 1 :]:
            if i.op == "index" and i.value[1] == (j if j.op == "index" else j.bound[0]).value[1]:
                yield i, j


class Expansion:
    """Germs of terms as one variable tends to its point from one side."""

    def __init__(self, nf: Normal, variable: Term, point: Term, side: int, length: int):
        self.nf, self.variable, self.length = nf, variable, length
        self.place = (variable, point, side, length)
        if point in (OO, -OO):
            start = Germ({}, {Fraction(-1): number(1 if point is OO else -1)})
        else:
            start = germ_of({}, {Fraction(0): nf.poly(point), Fraction(1): number(side)})
        self.memo = {variable: start}

    def limit(self, body: Term) -> Poly:
        """The value that the body tends to."""
        germ = self.settled(self.germ(body))  # so the body is defined near the point
        if germ.growth or germ.low < 0:  # what grows may cancel when it is multiplied out
            germ = self.settled(self.germ(self.nf.anywhere(self.variable.value).canonical(body)))
        germ = self.trimmed(germ)
        if germ.order <= 0:
            raise Short
        if germ.growth or germ.low < 0:
            raise self.unclear((germ.growth or germ.terms)[min(germ.growth or germ.terms)])
        return self.plain(germ.terms.get(Fraction(0), {}))

    def plain(self, poly: Poly) -> Poly:
        """The polynomial; refused if it holds log h."""
        if any(H.value in a.names for mono in poly for a, _ in mono):
            raise Unknown
        return poly

    def unclear(self, poly: Poly) -> Unknown:
        """What to raise where the sign of the polynomial decides."""
        switches = [  # |x| by the sign of x
            a.args[0].args[0]
            for a in (a for mono in sorted(poly, key=mono_key) for a, _ in mono)
            if a.op == "where" and a.args[0].op == "cmp" and a.args[0].args[1] is num(0)
        ]
        for term in (*switches, self.nf.term(poly)):
            signs = self.sign(self.nf.poly(term))
            if signs & (signs - 1) and H.value not in term.names:
                return Unclear(term)
        return Unknown()

    def trimmed(self, germ: Germ) -> Germ:
        """The germ without leading terms that are known to be 0."""
        while germ.terms and self.sign(germ.terms[min(germ.terms)]) == ZERO:
            germ = germ_of(germ.growth, {e: c for e, c in germ.terms.items() if e > min(germ.terms)}, germ.order)
        return germ

    # -- signs, which also see which entry is the largest --------------------------------------------------------------

    def sign(self, poly: Poly) -> int:
        """The signs that the polynomial can have."""
        nf, term = self.nf, self.nf.term(poly)
        if H.value in term.names:
            return ANY
        signs = sign(nf, term)
        places = {p for t in subterms(term) if t.op == "var" for p in zip(t.args, axes_of(t, nf.context), strict=True)}
        for top in (t for t in subterms(term) if t.op == "argmax" and t.args[1] is TRUE and len(t.bound) == 1):
            for k in (k for k, axis in places if axis == top.bound[0].value[1] and k.letters <= term.letters):
                signs &= self.below(poly, *(substitute(top.args[0], {top.bound[0]: t}) for t in (top, k)))
        return signs

    def below(self, poly: Poly, largest: Term, other: Term) -> int:
        """The signs of a multiple of (the largest of some values - another of them); ANY if it is none."""
        gap = self.nf.poly(largest - other)
        for mono, c in gap.items():
            ratio = Fraction(poly.get(mono, 0)) / c
            if ratio and not add_to(dict(poly), gap, -ratio):
                return POS | ZERO if ratio > 0 else NEG | ZERO
        return ANY

    def sense(self, germ: Germ) -> int:
        """The signs that the germ has near the point."""
        signs = [self.sign(germ.terms[e]) for e in sorted(germ.terms)]
        if signs and signs[0] in (NEG, POS):
            return signs[0]
        return reduce(add_signs, signs, ZERO) if germ.order == inf else ANY

    def vanishes(self, poly: Poly) -> Poly:
        """[poly = 0], letters that may be one told apart."""
        term = self.nf.term(self.plain(poly))
        test = where(cmp("==", term, 0), 1, 0)
        for i, j in pairs(term):
            test = where(cmp("==", i, j), test, test)
        return self.nf.poly(test)

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def times(self, left: Germ, right: Germ) -> Germ:
        terms: Powers = {}
        for e, c in left.terms.items():
            for f, d in right.terms.items():
                terms = combined(terms, {e + f: self.nf.mul(c, d)})
        order = min(left.order + right.low, right.order + left.low)
        return germ_of(combined(left.growth, right.growth), terms, order)

    def scaled(self, germ: Germ, factor: int) -> Germ:
        return self.times(constant(number(factor)), germ)

    def plus(self, left: Germ, right: Germ) -> Germ:
        """The sum; what grows less is smaller than any power of h beside the other."""
        if constant({}) in (left, right):
            return right if left == constant({}) else left
        for one, other in ((left, right), (right, left)):
            beside = self.settled(Germ(combined(other.growth, one.growth, -1), other.terms, other.order))
            if not beside.growth:
                return germ_of(one.growth, combined(one.terms, beside.terms), min(one.order, beside.order))
        raise self.unclear(beside.growth[min(beside.growth)])

    def settled(self, germ: Germ) -> Germ:
        """The germ without its growth where that falls: exp(-c/h) is [c = 0] but for what is smaller than any power."""
        if not germ.growth:
            return germ
        signs = self.sign(germ.growth[min(germ.growth)])
        if signs == NEG:
            return Germ({}, {}, FLAT)
        if not signs & POS and len(germ.growth) == 1:
            (c,) = germ.growth.values()
            return self.times(constant(self.vanishes(c)), Germ({}, germ.terms, min(germ.order, FLAT)))
        return germ

    def split(self, germ: Germ) -> tuple[Fraction, Poly, Germ]:
        """The leading power, its coefficient c, and u where the germ is c h^e (1 + u) times its growth."""
        germ = self.trimmed(germ)
        if not germ.terms:
            raise Short if germ.order != inf else Unknown
        first = min(germ.terms)
        lead = self.plain(germ.terms[first])
        under = self.nf.power(lead, number(-1))
        rest = {e - first: self.nf.mul(c, under) for e, c in germ.terms.items() if e != first}
        return first, lead, germ_of({}, rest, germ.order - first)

    def series(self, u: Germ, coefficients: list[Poly]) -> Germ:
        """The sum of coefficients[k] u^k for u that tends to 0, cut where they end."""
        if u.growth or u.low <= 0:
            raise Short if u.order <= 0 else Unknown
        total, power = constant(coefficients[0]), constant(number(1))
        for c in coefficients[1:] if u.low < inf else []:
            power = self.times(power, u)
            total = self.plus(total, self.times(constant(c), power))
        return germ_of({}, total.terms, min(total.order, u.order, len(coefficients) * u.low))

    def power(self, base: Germ, exponent: Fraction) -> Germ:
        """A power with a rational exponent."""
        if exponent.denominator == 1 and 0 <= exponent <= MAX_POWER:
            return reduce(self.times, [base] * int(exponent), constant(number(1)))
        first, lead, u = self.split(base)
        signs = self.sign(lead)
        alone = base.order == inf and len(base.terms) == 1 and exponent > 0 and not signs & NEG
        if not alone and (signs & ZERO or (signs != POS and exponent.denominator != 1)):
            raise self.unclear(lead)
        binomials = [Fraction(1)]
        for k in range(self.length):
            binomials.append(binomials[-1] * (exponent - k) / (k + 1))
        growth = {e: scaled(c, exponent) for e, c in base.growth.items()}
        front = germ_of(growth, {first * exponent: self.nf.power(lead, number(exponent))})
        return self.times(front, self.series(u, [number(b) for b in binomials]))

    def log(self, u: Germ) -> Germ:
        first, lead, rest = self.split(u)
        if self.sign(lead) != POS:
            raise self.unclear(lead)
        start = combined({Fraction(0): self.nf.poly(fn("log", self.nf.term(lead)))}, {Fraction(0): LOG_H}, first)
        tail = self.series(rest, [{}] + [number(Fraction((-1) ** (k + 1), k)) for k in range(1, self.length + 1)])
        return self.plus(germ_of({}, combined(start, u.growth)), tail)

    def exp(self, u: Germ) -> Germ:
        u = self.settled(u)
        if u.growth and self.sign(u.growth[min(u.growth)]) == POS and self.sense(u) == NEG:
            return Germ({}, {}, FLAT)  # exp(-exp(1/h))
        if u.growth or u.order <= 0:
            raise self.unclear(u.growth[min(u.growth)]) if u.growth else Short()
        level = dict(u.terms.get(Fraction(0), {}))
        power = Fraction(level.pop(next(iter(LOG_H)), 0))  # exp(c log h) is h^c
        start = self.nf.exp(self.plain(level))
        front = germ_of({e: c for e, c in u.terms.items() if e < 0}, {power: start})
        factors = [number(Fraction(1, factorial(k))) for k in range(self.length + 1)]
        return self.times(front, self.series(germ_of({}, rising(u.terms), u.order), factors))

    def smooth(self, name: str, u: Germ) -> Germ:
        """A function by its Taylor series where its argument has a limit."""
        u = self.trimmed(self.settled(u))
        if u.growth or u.low < 0 or u.order <= 0:
            return self.far(name, u)
        start = self.plain(u.terms.get(Fraction(0), {}))
        if self.sign(start) & ~SMOOTH[name]:
            raise Unknown
        slope, coefficients = fn(name, H), []
        for k in range(self.length + 1):
            here = replace_variable(slope, H.value, (), self.nf.term(start))
            coefficients.append(scaled(self.nf.poly(here), Fraction(1, factorial(k))))
            try:
                slope = self.nf.canonical(differentiate(self.nf, slope, H))
            except Rejected:
                break
        return self.series(germ_of({}, rising(u.terms), u.order), coefficients)

    def far(self, name: str, u: Germ) -> Germ:
        """Far out atan and erf tend to their bounds, at the speed of 1/u; where nothing is known they stay bounded."""
        side = self.sense(u)
        large = u.terms and (self.sign(u.growth[min(u.growth)]) == POS if u.growth else u.low < 0)
        if name in ("atan", "erf") and large and side in (NEG, POS):
            bound = constant(self.nf.poly(num(1 if side == POS else -1) * (num(1) if name == "erf" else PI / 2)))
            if name == "erf":
                return germ_of({}, bound.terms, FLAT)
            return self.plus(bound, self.scaled(self.smooth("atan", self.power(u, Fraction(-1))), -1))
        if name in ("atan", "erf") and large:
            raise self.unclear(u.terms[min(u.terms)])
        if SMOOTH[name] != ANY:
            raise Unknown
        return Germ({}, {}, Fraction(0))

    # -- terms ---------------------------------------------------------------------------------------------------------

    def germ(self, term: Term) -> Germ:
        if term not in self.memo:
            moves = depends(self.nf, term, self.variable.value)
            self.memo[term] = self.expand(term) if moves else constant(self.known(term))
        return self.memo[term]

    def known(self, term: Term) -> Poly:
        """The normal form of a term that does not move; what its form says of its sign is kept."""
        poly = self.nf.poly(term)
        signs = self.sign(poly) & sign(self.nf, term) or ANY
        for side, seen in ((1, signs), (-1, FLIP[signs])):
            self.nf.signs[self.nf.term(scaled(poly, side))] = seen
        return poly

    def expand(self, term: Term) -> Germ:
        op, args = term.op, term.args
        if op == "def":
            return self.germ(self.nf.unfold(term))
        if op in ("add", "mul"):
            return reduce(self.plus if op == "add" else self.times, [self.germ(a) for a in args])
        if op == "neg":
            return self.scaled(self.germ(args[0]), -1)
        if op == "div":
            return self.times(self.germ(args[0]), self.power(self.germ(args[1]), Fraction(-1)))
        if op == "pow":
            value = None if depends(self.nf, args[1], self.variable.value) else value_of(self.nf.poly(args[1]))
            if value is not None:
                return self.power(self.germ(args[0]), Fraction(value))
            base, exponent = map(self.germ, args)
            if not self.trimmed(base).terms and base.order == inf and self.sense(exponent) == POS:
                return constant({})
            return self.exp(self.times(exponent, self.log(base)))
        if op == "fn":
            return self.function(term.value, args)
        if op == "where":
            return self.cases(*args)
        if op == "prod":
            return self.germ(fn("exp", over("sum", fn("log", args[0]), *term.bound, where=args[1])))
        if op in ("sum", "max", "min"):
            return self.quantified(term)
        if op in NONLOCAL:
            return self.formal(term)
        raise Unknown

    def function(self, name: str, args: tuple[Term, ...]) -> Germ:
        if name in ("sigmoid", "tanh"):  # where the argument grows like exp(1/h) they are as good as there
            u = self.settled(self.germ(args[0]))
            if u.growth and self.sign(u.growth[min(u.growth)]) == POS and self.sense(u) in (NEG, POS):
                low = num(0) if name == "sigmoid" else num(-1)
                return germ_of({}, constant(self.nf.poly(low if self.sense(u) == NEG else num(1))).terms, FLAT)
        for table in (UNFOLD, BY_CASES):
            if name in table:
                return self.germ(table[name](*args))
        u = self.germ(args[0])
        return self.exp(u) if name == "exp" else self.log(u) if name == "log" else self.smooth(name, u)

    def cases(self, condition: Term, then: Term, other: Term) -> Germ:
        """The part that is taken near the point; under a condition that does not move, both."""
        if depends(self.nf, condition, self.variable.value):
            return self.germ(then if self.settles(condition) else other)
        parts = [constant({})]
        for test, part in ((condition, then), (negation(condition), other)):
            here = self.under(test)
            if here is not None:
                parts.append(self.times(constant(self.nf.condition(test)), here.settled(here.germ(part))))
        return reduce(self.plus, parts)

    def settles(self, condition: Term) -> bool:
        """Whether a condition holds near the point; raises Unknown where that is not known either way."""
        if condition.op in ("and", "or"):
            found = [self.settles(a) for a in condition.args]
            return all(found) if condition.op == "and" else any(found)
        if condition.op != "cmp":
            raise Unknown
        signs, wanted = self.sense(self.germ(difference(condition))), RELATION[condition.value]
        if signs & wanted and signs & ~wanted:
            raise Unknown
        return bool(signs & wanted)

    def under(self, condition: Term) -> Expansion | None:
        """This expansion with a further fact; None where that cannot hold."""
        nf = self.nf.under(condition)
        return self if nf is self.nf else Expansion(nf, *self.place) if nf is not None else None

    def quantified(self, term: Term) -> Germ:
        """A sum or extremum over an axis, coefficient by coefficient."""
        letters, body, filter_ = sums.opened(self.nf, term)
        if depends(self.nf, filter_, self.variable.value):
            raise Unknown
        here = self.under(filter_)
        try:
            germ = here.settled(here.germ(body)) if here is not None else constant({})
        except Unclear as unclear:
            if here is None or unclear.coefficient.letters.isdisjoint(letters):
                raise
            c = unclear.coefficient
            germ = here.cases(cmp(">", c, 0), body, where(cmp("==", c, 0), body, body))
        moving = [e for e, c in germ.growth.items() if not self.nf.term(c).letters.isdisjoint(letters)]
        if term.op == "sum" and moving:
            if len(moving) > 1 or len(letters) > 1 or filter_ is not TRUE:
                raise Unknown
            germ = self.dominated(germ, letters[0], moving[0])
        elif term.op != "sum" and (germ.growth or germ.order != inf or len(germ.terms) > 1):
            raise Unknown
        closed = {e: over(term.op, self.nf.term(c), *letters, where=filter_) for e, c in germ.terms.items()}
        return germ_of(germ.growth, {e: self.nf.poly(t) for e, t in closed.items()}, germ.order)

    def dominated(self, germ: Germ, k: Term, e: Fraction) -> Germ:
        """Summands exp(c_k h^e) (...) beside the largest of them, exp(c_m h^e): each is behind [c_k = c_m]."""
        place = self.largest(germ.growth[e], k)
        top = self.nf.poly(substitute(self.nf.term(germ.growth[e]), {k: place}))
        behind = self.vanishes(add_to(dict(germ.growth[e]), top, -1))
        terms = {f: self.nf.mul(behind, c) for f, c in germ.terms.items()}
        first = germ.terms.get(min(germ.terms, default=Fraction(0)), {})
        there = self.nf.poly(substitute(self.nf.term(first), {k: place}))
        if not self.sign(first) & NEG and self.sign(there) == POS:  # the summand at m makes the sum positive
            total = self.nf.canonical(over("sum", self.nf.term(self.nf.mul(behind, first)), k))
            self.nf.signs[total] = POS
        return germ_of({**germ.growth, e: top}, terms, min(germ.order, FLAT))

    def largest(self, values: Poly, k: Term) -> Term:
        """The k at which the values are largest: an index that facts speak of, if known to be that; else the argmax."""
        term = self.nf.term(values)
        spoken = {t for f in self.nf.raw_facts for part in (f.term, *f.guards) for t in part.letters - f.letters}
        for m in sorted((t for t in spoken if t.value[1] == k.value[1]), key=key):
            gap = add_to(dict(self.nf.poly(substitute(term, {k: m}))), values, -1)
            if not self.sign(gap) & NEG:
                return m
        return self.nf.subscript(make("argmax", (term, TRUE), None, (k,)))

    def formal(self, term: Term) -> Germ:
        """A derivative, replacement, mean or limit by its closed form, where all that it needs holds near the point."""
        nf = self.nf.anywhere(self.variable.value)
        form = nf.canonical(term)
        laws = moments.lawful(nf, term, self.variable.value)
        if any(t.op in NONLOCAL for t in subterms(form)) or not all(map(self.settles, laws)):
            raise Unknown
        for need in domain.needs(nf, term):
            moves = depends(nf, make("and", (need.condition, *need.guards)), self.variable.value)
            if moves and (need.guards or not self.met(nf, need)):
                raise Unknown
        return self.germ(form)

    def met(self, nf: Normal, need: domain.Need) -> bool:
        if need.condition.op in CONDITIONS:
            return self.settles(need.condition)
        return domain.met(nf, need, ())

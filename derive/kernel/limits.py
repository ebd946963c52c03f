"""Limits: an expression is expanded in h, the distance to the point (1/h the way to infinity), as h falls to 0.

A germ is exp(growth) * (terms + error): `growth` holds negative powers of h, `terms` powers of h, both with coefficients
that do not depend on h, and the error is below every power of h lower than `order`. Every operation asks for what makes
it defined near the point: a leading coefficient known not to be 0 under a fraction, positive under a logarithm. So a
limit that is found exists; where a sign is not known, the limit is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING

from derive.kernel.derivative import depends
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, NEG, POS, ZERO, add_signs, sign
from derive.term import (
    ONE,
    OO,
    TRUE,
    Term,
    cmp,
    make,
    neg,
    num,
    sub,
    substitute,
    subterms,
    var,
    where,
)
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.kernel.normal import Normal, Poly

LENGTHS = (3, 6, 10)  # of expansions, in turn
H = var("$h")  # the distance; it occurs in coefficients as log h alone
AXES = frozenset({"index", "argmax"})
# Functions in cases, as `where`.
CASES: dict[str, Callable[..., Term]] = {
    "abs": lambda u: where(cmp(">=", u, NOUGHT), u, neg(u)),
    "relu": lambda u: where(cmp(">", u, NOUGHT), u, NOUGHT),
    "sign": lambda u: where(cmp(">", u, NOUGHT), ONE, where(cmp("<", u, NOUGHT), num(-1), NOUGHT)),
    "max": lambda u, v: where(cmp(">=", u, v), u, v),
    "min": lambda u, v: where(cmp("<=", u, v), u, v),
}
SMOOTH = {"sin": ANY, "cos": ANY, "atan": ANY, "erf": ANY, "lgamma": POS, "digamma": POS, "trigamma": POS}


class Unknown(Exception):
    """No rule gives the limit."""


class Short(Unknown):
    """The expansion is too short to tell."""


@dataclass(frozen=True)
class Germ:
    growth: dict[Fraction, Poly] = field(default_factory=dict)
    terms: dict[Fraction, Poly] = field(default_factory=dict)
    order: Fraction | float = inf

    @property
    def low(self) -> Fraction | float:
        """The power of h that bounds the terms and the error."""
        return min(self.terms, default=self.order)


def normal(nf: Normal, term: Term) -> Poly:
    """The limit where it is known to exist; else an atom that stands for it."""
    body, variable, point = term.args
    try:
        first, *rest = [found(nf, body, variable, point, side) for side in SIDES[term.value, point in (OO, neg(OO))]]
        if all(nf.is_zero(added(first, other, -1)) for other in rest):
            return first
    except (Unknown, Rejected):
        pass
    inner = nf.anywhere(variable.value)
    return nf.atom(make("limit", (inner.canonical(body), variable, nf.canonical(point)), term.value))


def exists(nf: Normal, term: Term) -> bool:
    """Whether the limit is known to exist."""
    return not any(t.op == "limit" for mono in nf.poly(term) for a, _ in mono for t in subterms(a))


def found(nf: Normal, body: Term, variable: Term, point: Term, side: int) -> Poly:
    """The limit from one side, `side` * h being the way to the point. Raises Unknown where no rule gives it."""
    if variable.args or depends(nf, point, variable.value) or nf.steady_kind(variable.value):
        raise Unknown
    for length in LENGTHS:
        try:
            return Expansion(nf, variable, point, side, length).limit(body)
        except Short:
            continue
    raise Unknown


def added(left: Poly, right: Poly, factor: int = 1) -> Poly:
    from derive.kernel.normal import add_to

    return add_to(dict(left), right, factor)


class Expansion:
    """Germs of terms as one variable tends to its point from one side."""

    def __init__(self, nf: Normal, variable: Term, point: Term, side: int, length: int):
        self.nf, self.variable, self.length = nf, variable, length
        self.place = (variable, point, side, length)
        self.memo: dict[Term, Germ] = {}
        if point is OO or point is neg(OO):
            self.memo[variable] = Germ({}, {Fraction(-1): self.poly(num(1 if point is OO else -1))})
        else:
            self.memo[variable] = self.plus(
                self.constant(self.poly(point)), Germ({}, {Fraction(1): self.poly(num(side))})
            )

    def poly(self, term: Term) -> Poly:
        return self.nf.poly(term)

    def limit(self, body: Term) -> Poly:
        germ = self.settled(self.germ(body))
        if any(e < 0 for e in germ.terms) or germ.growth:
            raise Unknown
        if germ.order <= 0:
            raise Short
        return self.plain(germ.terms.get(Fraction(0), {}))

    def plain(self, poly: Poly) -> Poly:
        """The polynomial, refused if it holds log h."""
        if any(H.value in a.names for mono in poly for a, _ in mono):
            raise Unknown
        return poly

    # -- signs that also see that two letters may be one, and which entry is the largest -------------------------------

    def sign(self, poly: Poly) -> int:
        """The signs that the polynomial can have."""
        nf, term = self.nf, self.nf.term(poly)
        if H.value in term.names:
            return ANY
        signs = sign(nf, term)
        for i, j in pairs(term):
            apart = nf.under(cmp("!=", i, j))
            signs &= sign(nf, nf.canonical(substitute(term, {i: j}))) | (sign(apart, term) if apart else 0)
        for top in (t for t in subterms(term) if t.op == "argmax" and t.args[1] is TRUE):
            for k in term.letters:
                body, (bound,) = top.args[0], top.bound
                gap = self.poly(sub(substitute(body, {bound: top}), substitute(body, {bound: k})))
                for mono, c in gap.items():  # the largest value minus another one, times a number
                    ratio = Fraction(poly.get(mono, 0)) / c
                    if ratio and not added(poly, gap, -ratio):
                        signs &= POS | ZERO if ratio > 0 else NEG | ZERO
        return signs

    def vanishes(self, poly: Poly) -> Poly:
        """[poly = 0], letters that may be one told apart."""
        term = self.nf.term(self.plain(poly))
        test = where(cmp("==", term, NOUGHT), ONE, NOUGHT)
        for i, j in pairs(term):
            test = where(cmp("==", i, j), test, test)
        return self.poly(test)

    def sense(self, germ: Germ) -> int:
        """The signs that the germ can have near the point."""
        first = min(germ.terms, default=None)
        lead = self.sign(germ.terms[first]) if first is not None else ZERO
        if lead in (NEG, POS) or germ.order != inf:
            return lead if lead in (NEG, POS) else ANY
        total = ZERO
        for c in germ.terms.values():
            total = add_signs(total, self.sign(c))
        return total

    # -- arithmetic --------------------------------------------------------------------------------------------------

    def constant(self, poly: Poly) -> Germ:
        return self.make({}, {Fraction(0): poly}, inf)

    def make(self, growth: dict[Fraction, Poly], terms: dict[Fraction, Poly], order: Fraction | float) -> Germ:
        kept = {e: c for e, c in terms.items() if c and e < order}
        return Germ({e: c for e, c in growth.items() if c} if kept or order != inf else {}, kept, order)

    def times(self, left: Germ, right: Germ) -> Germ:
        terms: dict[Fraction, Poly] = {}
        for e, c in left.terms.items():
            for f, d in right.terms.items():
                terms[e + f] = added(terms.get(e + f, {}), self.nf.mul(c, d))
        order = min(left.order + right.low, right.order + left.low)
        return self.make(combined(left.growth, right.growth, 1), terms, order)

    def scaled(self, germ: Germ, factor: int) -> Germ:
        return self.times(self.constant(self.poly(num(factor))), germ)

    def plus(self, left: Germ, right: Germ) -> Germ:
        """The sum: what grows less is smaller than any power of h beside the other."""
        for one, other in ((left, right), (right, left)):
            if not other.terms and other.order == inf:
                return one
        for one, other in ((left, right), (right, left)):
            beside = self.settled(Germ(combined(other.growth, one.growth, -1), other.terms, other.order))
            if not beside.growth:
                return make(one.growth, combined(one.terms, beside.terms), min(one.order, beside.order))
        raise Unknown

    def settled(self, germ: Germ) -> Germ:
        """The germ without its growth where that falls: exp(-c/h) is [c = 0], give or take what no power of h bounds."""
        if not germ.growth:
            return germ
        signs = self.sign(germ.growth[min(germ.growth)])
        if signs == NEG:
            return Germ({}, {}, FLAT)
        if not signs & POS and len(germ.growth) == 1:
            (c,) = germ.growth.values()
            flat = Germ({}, germ.terms, min(germ.order, FLAT))
            return self.times(constant(self.vanishes(c)), flat)
        return germ

    def split(self, germ: Germ) -> tuple[Fraction, Poly, Germ]:
        """The leading power and coefficient c, and u where the germ is c h^e (1 + u) up to its growth."""
        if not germ.terms:
            raise Short if germ.order != inf else Unknown
        first = min(germ.terms)
        lead = self.plain(germ.terms[first])
        over_lead = self.nf.power(lead, number(-1))
        rest = {e - first: self.nf.mul(c, over_lead) for e, c in germ.terms.items() if e != first}
        return first, lead, make({}, rest, germ.order - first)

    def series(self, u: Germ, coefficient: Callable[[int], Poly]) -> Germ:
        """The sum of coefficient(k) u^k for u that tends to 0."""
        if u.low <= 0 or u.growth:
            raise Short if u.order <= 0 else Unknown
        total, power = constant(coefficient(0)), constant(number(1))
        for k in range(1, self.length if u.low < inf else 1):
            power = self.times(power, u)
            part = self.times(constant(coefficient(k)), power)
            total = make({}, combined(total.terms, part.terms), min(total.order, part.order))
        return make({}, total.terms, min(total.order, u.order, self.length * u.low))

    def power(self, base: Germ, exponent: Fraction) -> Germ:
        """A power with a rational exponent."""
        if exponent.denominator == 1 and exponent >= 0:
            return reduce(self.times, [base] * exponent.numerator, constant(number(1)))
        first, lead, u = self.split(base)
        signs = self.sign(lead)
        alone = base.order == inf and len(base.terms) == 1 and exponent > 0 and not signs & NEG
        if not alone and (signs & ZERO or (signs != POS and exponent.denominator != 1)):
            raise Unknown
        binomials = [Fraction(1)]
        for k in range(self.length):
            binomials.append(binomials[-1] * (exponent - k) / (k + 1))
        germ = self.times(
            self.series(u, lambda k: number(binomials[k])), constant(self.nf.power(lead, number(exponent)))
        )
        growth = {e: scaled(c, exponent) for e, c in base.growth.items()}
        return self.times(germ, make(growth, {first * exponent: number(1)}, inf))

    def log(self, u: Germ) -> Germ:
        first, lead, rest = self.split(u)
        if self.sign(lead) != POS:
            raise Unknown
        start = combined({Fraction(0): self.poly(fn("log", self.nf.term(lead)))}, {Fraction(0): scaled(LOG_H, first)})
        tail = self.series(rest, lambda k: number(Fraction((-1) ** (k + 1), k) if k else 0))
        return self.plus(make({}, combined(start, u.growth), inf), tail)

    def exp(self, u: Germ) -> Germ:
        u = self.settled(u)
        if u.growth or u.order <= 0:
            raise Unknown if u.growth else Short
        start = self.nf.exp(self.plain(u.terms.get(Fraction(0), {})))
        small = make({}, {e: c for e, c in u.terms.items() if e > 0}, u.order)
        growth = {e: c for e, c in u.terms.items() if e < 0}
        return self.times(
            make(growth, {Fraction(0): start}, inf), self.series(small, lambda k: number(Fraction(1, factorial(k))))
        )

    def smooth(self, name: str, u: Germ) -> Germ:
        """A function with a Taylor series; far out atan and erf tend to their bounds, sin and cos stay bounded."""
        u = self.settled(u)
        if u.growth or u.low < 0:
            side = self.sense(u)
            if name in ("sin", "cos"):
                return Germ({}, {}, Fraction(0))
            if side not in (NEG, POS) or name not in ("atan", "erf"):
                raise Unknown
            bound = constant(self.poly(mul(num(1 if side == POS else -1), ONE if name == "erf" else div(PI, TWO))))
            if name == "erf":
                return make({}, bound.terms, FLAT)
            return self.plus(bound, self.times(constant(number(-1)), self.smooth("atan", self.power(u, Fraction(-1)))))
        start = self.plain(u.terms.get(Fraction(0), {}))
        if self.sign(start) & ~SMOOTH[name]:
            raise Unknown
        slopes: list[Term] = [fn(name, H)]
        for _ in range(self.length):
            slopes.append(differentiate(self.nf, slopes[-1], H))
        at = self.nf.term(start)
        small = make({}, {e: c for e, c in u.terms.items() if e > 0}, u.order)
        return self.series(
            small, lambda k: scaled(self.poly(replace_variable(slopes[k], "$h", (), at)), Fraction(1, factorial(k)))
        )

    # -- terms ---------------------------------------------------------------------------------------------------------

    def germ(self, term: Term) -> Germ:
        if term not in self.memo:
            free = not depends(self.nf, term, self.variable.value)
            self.memo[term] = constant(self.known(term)) if free else self.expand(term)
        return self.memo[term]

    def known(self, term: Term) -> Poly:
        """The normal form of a term that does not move; what its form says of its sign is kept."""
        poly = self.poly(term)
        canonical = self.nf.term(poly)
        self.nf.signs[canonical] = sign(self.nf, canonical) & sign(self.nf, term) or ANY
        return poly

    def expand(self, term: Term) -> Germ:
        op, args = term.op, term.args
        if op == "def":
            return self.germ(self.nf.unfold(term))
        if op == "add":
            return reduce(self.plus, map(self.germ, args))
        if op == "mul":
            return reduce(self.times, map(self.germ, args))
        if op == "neg":
            return self.times(constant(number(-1)), self.germ(args[0]))
        if op == "div":
            return self.times(self.germ(args[0]), self.power(self.germ(args[1]), Fraction(-1)))
        if op == "pow":
            value = None if args[1].names else constant_of(self.poly(args[1]))
            if value is not None:
                return self.power(self.germ(args[0]), Fraction(value))
            return self.exp(self.times(self.germ(args[1]), self.log(self.germ(args[0]))))
        if op == "fn":
            return self.function(term.value, args)
        if op == "where":
            return self.cases(*args)
        if op == "sum":
            return self.total(term)
        if op == "prod":
            return self.germ(fn("exp", over("sum", fn("log", args[0]), *term.bound, where=args[1])))
        if op in ("max", "min"):
            return self.extremum(term)
        if op in NONLOCAL:
            return self.formal(term)
        raise Unknown

    def function(self, name: str, args: tuple[Term, ...]) -> Germ:
        if name in UNFOLD:
            return self.germ(UNFOLD[name](*args))
        if name in CASES:
            return self.germ(CASES[name](*args))
        u = self.germ(args[0])
        return self.exp(u) if name == "exp" else self.log(u) if name == "log" else self.smooth(name, u)

    def cases(self, condition: Term, then: Term, other: Term) -> Germ:
        """The part that is taken near the point; under a condition that does not move, both."""
        if depends(self.nf, condition, self.variable.value):
            return self.germ(then if self.settles(condition) else other)
        parts = []
        for test, part in ((condition, then), (negation(condition), other)):
            here = self.under(test)
            if here is not None:
                parts.append(self.times(constant(self.nf.condition(test)), here.germ(part)))
        return reduce(self.plus, parts)

    def settles(self, condition: Term) -> bool:
        """Whether a condition holds near the point, or does not."""
        if condition.op in ("and", "or"):
            both = [self.settles(a) for a in condition.args]
            return all(both) if condition.op == "and" else any(both)
        if condition.op == "not":
            return not self.settles(condition.args[0])
        if condition.op != "cmp":
            raise Unknown
        signs = self.sense(self.germ(difference(condition)))
        if signs & RELATION[condition.value] and signs & ~RELATION[condition.value]:
            raise Unknown
        return bool(signs & RELATION[condition.value])

    def under(self, condition: Term) -> Expansion | None:
        """This expansion with a further fact; None where that cannot hold."""
        here = self if condition is TRUE else None
        nf = self.nf.under(condition)
        return here or (Expansion(nf, *self.place) if nf is not None else None)

    def total(self, term: Term) -> Germ:
        """A sum over an axis, term by term; of exponentials that grow apart the largest stays."""
        letters, body, filter_ = sums.opened(self.nf, term)
        here = self.under(filter_) if not depends(self.nf, filter_, self.variable.value) else None
        if here is None:
            raise Unknown
        germ = here.germ(body)
        growth = germ.growth
        terms = germ.terms
        order = germ.order
        moving = [e for e, c in growth.items() if any(not a.letters.isdisjoint(letters) for m in c for a, _ in m)]
        if moving:
            if len(moving) > 1 or len(letters) > 1 or filter_ is not TRUE:
                raise Unknown
            (k,), (e,) = letters, moving
            top = self.largest(growth[e], k)
            gap = added(growth[e], top, -1)
            ...

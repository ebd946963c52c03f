"""Products, quotients and powers in normal form: factors read before expansion, common factors, denominators.

Methods of `Normal`.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import exponents, special
from derive.kernel.poly import (
    CASES,
    UNIT,
    Exponent,
    Mono,
    Poly,
    add_to,
    constant,
    divides,
    joined,
    key,
    leading,
    magnitude,
    primes,
    reversed_key,
    scaled,
    small,
)
from derive.kernel.signs import NEG, POS, mul_signs, sign, sign_of
from derive.term import MINUS_ONE, Term, fn, num, power

if TYPE_CHECKING:
    from derive.kernel.normal import Normal


def factors(self: Normal, term: Term, exponent: Poly, out: list[tuple[Poly, Poly, Term]]) -> None:
    """The factors of a product, quotient or power with their exponents, read through names before expansion."""
    op, args = term.op, term.args
    whole = constant(exponent)
    integral = whole is not None and whole.denominator == 1
    if op == "def" and not self.closed:
        self.factors(self.unfold(term), exponent, out)
    elif op == "mul" and integral:
        for a in args:
            self.factors(a, exponent, out)
    elif op == "neg" and integral:
        out.append(({UNIT: -1}, exponent, MINUS_ONE))
        self.factors(args[0], exponent, out)
    elif op == "div" and integral:
        self.factors(args[0], exponent, out)
        self.factors(args[1], scaled(exponent, -1), out)
    elif op == "pow" and integral and (whole == 1 or _powers_join(self, args[0], self.poly(args[1]))):
        self.factors(args[0], self.mul(self.poly(args[1]), exponent), out)
    elif op == "fn" and term.value == "sqrt" and integral and (whole == 1 or not sign(self, args[0]) & NEG):
        self.factors(args[0], scaled(exponent, Fraction(1, 2)), out)
    elif op == "pow" and integral or op == "fn" and term.value == "sqrt" and integral:
        out.append((self.poly(term), exponent, term))
    elif op in ("mul", "div", "pow", "neg") or (op == "fn" and term.value == "sqrt"):
        inner: list[tuple[Poly, Poly, Term]] = []
        self.factors(term, {UNIT: 1}, inner)
        out.extend(self.power_of_product(inner, exponent))
    else:
        out.append((self.poly(term), exponent, term))


def _powers_join(self: Normal, base: Term, exponent: Poly) -> bool:
    """Whether (b^p)^k is b^(p k) for integers k: not so where b is negative, b^p is 0 and b^(p k) is not."""
    return exponents.integral(self, exponent) or not sign(self, base) & NEG


def power_of_product(
    self: Normal, factors: list[tuple[Poly, Poly, Term]], exponent: Poly
) -> list[tuple[Poly, Poly, Term]]:
    """(a b)^e as a^e b^e where all but one factor are known to be positive; else the product stays whole."""
    unknown: list[tuple[Poly, Poly, Term]] = []
    known: list[tuple[Poly, Poly, Term]] = []
    for base, e, term in factors:
        (known if sign(self, term) == POS or sign(self, self.term(base)) == POS else unknown).append((base, e, term))
    result = [(base, self.mul(e, exponent), term) for base, e, term in known]
    rest: Poly = {UNIT: 1}
    for base, e, term in unknown:
        rest = self.mul(rest, factor_power(self, base, e, term))
    if unknown:
        even = len(unknown) == 1 and isinstance(constant(unknown[0][1]), int) and constant(unknown[0][1]) or 0
        if even and even > 0 and even % 2 == 0:
            result.append((unknown[0][0], self.mul({UNIT: even}, exponent), fn("abs", unknown[0][2])))
        else:
            result.append((rest, exponent, self.term(rest)))
    return result


def factored(self: Normal, term: Term) -> Poly:
    """A product, quotient or power, read as a list of factors before anything is multiplied out."""
    parts: list[tuple[Poly, Poly, Term]] = []
    self.factors(term, {UNIT: 1}, parts)
    result: Poly = {UNIT: 1}
    for base, e, source in sorted(parts, key=lambda p: len(p[0])):
        if not result:
            return {}
        result = self.mul(result, factor_power(self, base, e, source))
    return result


def same_factors(self: Normal, left: Term, right: Term) -> bool:
    """Whether the two are products of the same factors, which are not multiplied out."""
    if not all(t.op in ("mul", "div", "pow", "neg") for t in (left, right)):
        return False
    lists = []
    for term in (left, right):
        parts: list[tuple[Poly, Poly, Term]] = []
        self.factors(term, {UNIT: 1}, parts)
        scale, found = Fraction(1), Counter[tuple[frozenset[tuple[Mono, int | Fraction]], object]]()
        for base, e, source in parts:
            k = constant(e)
            if not base or not isinstance(k, int) or (source.op == "fn" and source.value == "abs"):
                return False
            lead = leading(base)
            scale *= Fraction(lead) ** k
            rest = frozenset(scaled(base, Fraction(1) / lead).items())
            if rest != frozenset({(UNIT, 1)}):
                found[rest, k > 0] += abs(k)
        lists.append((scale, found))
    return lists[0] == lists[1]


def factor_power(self: Normal, base: Poly, exponent: Poly, source: Term) -> Poly:
    """A factor of a product to its power; one that stands for |u| is read from its source."""
    if source.op != "fn" or source.value != "abs":
        return self.power(base, exponent)
    e = constant(exponent)
    if e is None or e.denominator != 1:
        return self.absolute_power(source.args[0], exponent)
    return self.power(self.poly(source), exponent)


def absolute_power(self: Normal, inner: Term, exponent: Poly) -> Poly:
    """|u|^p for p that is no integer: an atom |u| that is not split into cases."""
    u = self.poly(inner)
    signs = sign(self, inner) & sign(self, self.term(u))
    if not signs & NEG:
        return self.power(u, exponent)
    lead = leading(u) if u else Fraction(1)
    base: Term = fn("abs", self.term(scaled(u, Fraction(1) / lead)))
    scale = self.power({UNIT: magnitude(lead)}, exponent)
    return self.mul(scale, {frozenset({(base, self.as_exponent(exponent))}): 1})


def as_exponent(self: Normal, poly: Poly) -> Exponent:
    value = constant(poly)
    return value if value is not None else self.term(poly)


def to_power(self: Normal, base: Poly, exponent: Poly) -> Poly:
    """base^exponent in total semantics."""
    e = constant(exponent)
    if e is not None and e == 0:
        return {UNIT: 1}
    if not base:
        return (
            {} if e is not None or sign(self, self.term(exponent)) in (POS, NEG) else self.opaque_power(base, exponent)
        )
    if base == {UNIT: 1}:
        return base
    if isinstance(e, int) and e > 0:
        result = base
        for _ in range(e - 1):
            result = self.mul(result, base)
        return result
    if len(base) > 1 and self.cases(base) is not None:
        return self.by_cases(base, lambda here, part: here.power(part, exponent))
    if e is None and exponents.integral(self, exponent):
        return exponents.integer_power(self, base, exponent)
    if isinstance(e, int):
        content, rest = self.content(base, e)
        scale: int | Fraction = 1
        if len(rest) == 1:
            content, scale, rest = joined(content, rest)
        result = {frozenset((a, self.times_exponent(x, e)) for a, x in content): Fraction(scale) ** e}
        result = {m: small(c) for m, c in result.items()}
        first = self.finish(next(iter(result)))
        result = scaled(first, next(iter(result.values())))
        if len(rest) > 1:
            lead = leading(rest)
            whole = self.term(scaled(rest, Fraction(1) / lead))
            result = self.mul(result, self.finish(frozenset({(whole, e)})))
            result = scaled(result, Fraction(lead) ** e)
        return result
    return exponents.real_power(self, base, exponent)


opaque_power = exponents.opaque


def one_power(self: Normal, a: Term, x: Exponent, exponent: Poly) -> Poly:
    """(a^x)^exponent for an atom that is positive, or not negative where the exponents are numbers."""
    total = self.mul(self.poly(x) if isinstance(x, Term) else {UNIT: x}, exponent)
    return exponents.spread(self, a, total)


def times_exponent(self: Normal, x: Exponent, e: int) -> Exponent:
    return small(x * e) if not isinstance(x, Term) else self.as_exponent(scaled(self.poly(x), e))


def number_power(self: Normal, value: Fraction, exponent: Poly) -> Poly:
    """value^exponent for a positive rational: a product of powers of primes."""
    powers: dict[int, int] = {}
    for part, times in ((value.numerator, 1), (value.denominator, -1)):
        for p in primes(part):
            powers[p] = powers.get(p, 0) + times
    result: Poly = {UNIT: 1}
    for p, k in powers.items():
        if k:
            result = self.mul(result, self.one_power(num(p), k, exponent))
    return result


def content(self: Normal, poly: Poly, integral: int | None = 1) -> tuple[Mono, Poly]:
    """The common monomial of a sum and the sum without it: 1 + e^-x is e^-x times 1 + e^x.

    A denominator is common where it is not 0, or where it stands in every term (0 = 0^-1 * 0 in that case). Without
    `integral` only positive factors are taken.
    """
    if len(poly) < 2:
        return UNIT, poly
    tables = [dict(mono) for mono in poly]
    kept: dict[Term, int | Fraction] = {}
    for a in dict.fromkeys(a for table in tables for a in table):
        found = [table.get(a, 0) for table in tables]
        if a.op in CASES or any(isinstance(e, Term) for e in found):
            continue
        low = min(found)  # type: ignore[type-var]  # numbers, as just seen
        if not low:
            continue
        if sign(self, a) == POS or (integral is not None and (low > 0 or all(found) or self.certain(a))):  # type: ignore[operator]
            kept[a] = low  # type: ignore[assignment]
    if not kept:
        return UNIT, poly
    factor: Mono = frozenset((a, -e) for a, e in kept.items())
    rest: Poly = {}
    for mono, c in poly.items():
        merged = dict(mono)
        for a, e in factor:
            joint = merged.get(a, 0) + e  # type: ignore[operator]
            if joint:
                merged[a] = small(joint)
            else:
                merged.pop(a, None)
        add_to(rest, self.finish(frozenset(merged.items())), c)
    return frozenset(kept.items()), rest


def mono_sign(self: Normal, mono: Mono, c: int | Fraction) -> int:
    result = sign_of(c)
    for a, e in mono:
        result = mul_signs(result, sign(self, a if e == 1 else power(a, e if isinstance(e, Term) else num(e))))
    return result


def lead(self: Normal, atom: Term) -> tuple[Mono, int | Fraction] | None:
    """The leading monomial of a sum under a power: the only one of highest degree in its main atom.

    The main atom is one with letters where there is one: a factor without letters leaves the sums it stands in.
    """
    if atom not in self.leads:
        self.leads[atom] = self._lead(atom)
    return self.leads[atom]


def _lead(self: Normal, atom: Term) -> tuple[Mono, int | Fraction] | None:
    poly = self.poly(atom)
    found = []
    for main in {a for m in poly for a, e in m if isinstance(e, int) and e > 0}:
        degrees = {m: next((e for a, e in m if a is main), 0) for m in poly}
        if any(isinstance(d, Term) for d in degrees.values()):
            continue
        top = max(degrees.values())  # type: ignore[type-var]
        mono = next(m for m, d in degrees.items() if d == top)
        if list(degrees.values()).count(top) == 1 and all(isinstance(e, int) and e > 0 for _, e in mono):
            bare = sum(not a.letters for a, _ in mono) if atom.letters else 0
            found.append((bare, tuple(reversed_key(key(main))), mono))
    if not found:
        return None
    mono = min(found, key=lambda f: f[:2])[2]
    return mono, poly[mono]


def tail(self: Normal, atom: Term) -> tuple[Mono, int | Fraction, Term] | None:
    """For partial fractions in an exponential: the only monomial free of it, where the rest is one monomial."""
    poly = self.poly(atom)
    if len(poly) != 2:
        return None
    for main in sorted({a for m in poly for a, _ in m if a.op == "fn" and a.value == "exp"}, key=key, reverse=True):
        free = [m for m in poly if not any(a is main for a, _ in m)]
        if len(free) == 1:
            return free[0], poly[free[0]], main
    return None


def reduce(self: Normal, mono: Mono) -> Poly:
    """u^e times the leading monomial of u is u^(e+1) minus the rest, for e < 0: numerators below denominators."""
    for a, e in mono:
        parity = a.op == "pow" and a.args[0] is MINUS_ONE and e != 1
        if parity and isinstance(e, int) and exponents.integral(self, self.poly(a.args[1])):
            return self.finish(frozenset(mono - {(a, e)} | ({(a, 1)} if e % 2 else set())))
    halved = special.halves(self, mono)
    if halved is not None:
        return halved
    bottoms = [(a, e) for a, e in mono if a.op == "add" and (self.whole_part(e) < 0 if isinstance(e, Term) else e < 0)]
    for a, e in sorted(bottoms, key=lambda p: key(p[0])):
        if not self.certain(a):
            continue
        found = self.lead(a)
        if found is not None and divides(found[0], mono):
            return self.lowered(mono, a, e, found[0], found[1])
        last = self.tail(a)
        if last is not None:
            free, c, main = last
            degree = next((e for b, e in mono if b is main), 0)
            if not isinstance(degree, Term) and degree < 0 and not free:
                return self.lowered(mono, a, e, free, c)
    return {mono: 1}


def lowered(self: Normal, mono: Mono, a: Term, e: Exponent, lead: Mono, c: int | Fraction) -> Poly:
    quotient = dict(mono)
    del quotient[a]
    for b, f in lead:
        left = quotient[b] - f  # type: ignore[operator]  # `divides` saw numbers
        if left:
            quotient[b] = left
        else:
            del quotient[b]
    rest = {m: v for m, v in self.poly(a).items() if m != lead}
    base = frozenset(quotient.items())
    more = self.add_exponents(e, 1)
    up: Mono = frozenset({(a, more)}) if more else UNIT
    total = dict(self.times(base, up))
    # The rest is multiplied in first: base times u^e alone may be the monomial that we started from.
    total = add_to(total, self.mul(self.mul({base: 1}, rest), {frozenset({(a, e)}): 1}), -1)
    return scaled(total, Fraction(1) / c)

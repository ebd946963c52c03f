"""Products, quotients and powers in normal form: factors read before expansion, common factors, denominators."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import exponents, special
from derive.kernel.poly import (
    CASES,
    MAX_EXPONENT,
    UNIT,
    Exponent,
    Mono,
    Poly,
    TooLarge,
    add_to,
    constant,
    divides,
    joined,
    key,
    leading,
    primes,
    raised,
    scaled,
    small,
)
from derive.kernel.proof import Rejected
from derive.kernel.signs import NEG, POS, mul_signs, sign, sign_of
from derive.term import MINUS_ONE, Term, fn, num

if TYPE_CHECKING:
    from derive.kernel.normal import Normal


Factor = tuple[Poly, Poly, Term]  # base, exponent, and the base as it was written


def factors(nf: Normal, term: Term, exponent: Poly) -> list[Factor]:
    """The factors of a product, quotient or power with their exponents, read through names before expansion."""
    op, args = term.op, term.args
    if op == "fn" and term.value == "sqrt":
        op, args = "pow", (args[0], num("1/2"))
    whole = constant(exponent)
    if op == "def":
        return factors(nf, nf.unfold(term), exponent)
    if op not in ("mul", "neg", "div", "pow"):
        return [(nf.poly(term), exponent, term)]
    if whole is None or whole.denominator != 1:
        return power_of_product(nf, factors(nf, term, {UNIT: 1}), exponent)
    if op == "mul":
        return [f for a in args for f in factors(nf, a, exponent)]
    if op == "neg":
        return [({UNIT: -1}, exponent, MINUS_ONE), *factors(nf, args[0], exponent)]
    if op == "div":
        return [*factors(nf, args[0], exponent), *factors(nf, args[1], scaled(exponent, -1))]
    if whole == 1 or not sign(nf, args[0]) & NEG or exponents.integral(nf, nf.poly(args[1])):
        return factors(nf, args[0], nf.mul(nf.poly(args[1]), exponent))
    return [(nf.poly(term), exponent, term)]  # (b^p)^k is not b^(p k) where b is negative, b^p is 0 and b^(p k) is not


def power_of_product(nf: Normal, factors: list[Factor], exponent: Poly) -> list[Factor]:
    """(a b)^e as a^e b^e where all but one factor are known to be positive; else the product stays whole."""
    unknown: list[Factor] = []
    known: list[Factor] = []
    for base, e, term in factors:
        (known if sign(nf, term) == POS or sign(nf, nf.term(base)) == POS else unknown).append((base, e, term))
    result = [(base, nf.mul(e, exponent), term) for base, e, term in known]
    if len(unknown) == 1:
        base, e, term = unknown[0]
        k = constant(e)
        if isinstance(k, int) and k > 0 and k % 2 == 0:
            magnitude = fn("abs", term)
            return [*result, (nf.poly(magnitude), nf.mul(e, exponent), magnitude)]
    rest: Poly = {UNIT: 1}
    for base, e, _ in unknown:
        rest = nf.mul(rest, nf.power(base, e))
    return [*result, (rest, exponent, nf.term(rest))] if unknown else result


def factored(nf: Normal, term: Term) -> Poly:
    """A product, quotient or power, read as a list of factors before anything is multiplied out."""
    result: Poly = {UNIT: 1}
    for base, e, _ in sorted(factors(nf, term, {UNIT: 1}), key=lambda p: len(p[0])):
        if not result:
            return {}
        result = nf.mul(result, nf.power(base, e))
    return result


def to_power(nf: Normal, base: Poly, exponent: Poly) -> Poly:
    """base^exponent in total semantics."""
    e = constant(exponent)
    if e is not None and e == 0:
        return {UNIT: 1}
    if not base:
        known = e is not None or sign(nf, nf.term(exponent)) in (POS, NEG)
        return {} if known else exponents.opaque(nf, base, exponent)
    if base == {UNIT: 1}:
        return base
    if isinstance(e, int) and e > 0 and len(base) > 1:
        if e > MAX_EXPONENT:
            raise TooLarge("a sum to a power that is too large to be multiplied out")
        result = base
        for _ in range(e - 1):
            result = nf.mul(result, base)
        return result
    if len(base) > 1 and nf.cases(base) is not None:
        return nf.by_cases(base, lambda here, part: here.power(part, exponent))
    if e is None and exponents.integral(nf, exponent):
        return exponents.integer_power(nf, base, exponent)
    if isinstance(e, int):
        scale, common, rest = parts(nf, base)
        result = nf.finish(frozenset((a, small(x * e)) for a, x in common))
        if len(rest) > 1:
            result = nf.mul(result, nf.finish(frozenset({(nf.term(rest), e)})))
        return scaled(result, raised(scale, e))
    return exponents.real_power(nf, base, exponent)


def number_power(nf: Normal, value: Fraction, exponent: Poly) -> Poly:
    """value^exponent for a positive rational: a product of powers of primes."""
    result: Poly = {UNIT: 1}
    for p, k in primes(value).items():
        result = nf.mul(result, exponents.spread(nf, num(p), scaled(exponent, k)))
    return result


class Vanishes(Rejected):
    """A sum is 0 whose own normal form does not show it."""


def parts(nf: Normal, poly: Poly, positive: bool = False) -> tuple[int | Fraction, Mono, Poly]:
    """The polynomial as number * monomial * rest, where the rest is 1 or a sum that begins with 1 times a monomial."""
    common, rest = content(nf, poly, positive)
    if not rest:
        raise Vanishes("a sum is 0, as only its terms over their common factor show")
    scale = leading(rest)
    if len(rest) > 1:
        return scale, common, scaled(rest, Fraction(1) / scale)
    return scale, joined(common, next(iter(rest))), {UNIT: 1}


def content(nf: Normal, poly: Poly, positive: bool = False) -> tuple[Mono, Poly]:
    """The common monomial of a sum and the sum without it: 1 + e^-x is e^-x times 1 + e^x.

    A denominator is common where it is not 0, or where it stands in every term (0 = 0^-1 * 0 in that case). With
    `positive` only positive factors are taken.
    """
    if len(poly) < 2:
        return UNIT, poly
    tables = [dict(mono) for mono in poly]
    kept: dict[Term, int | Fraction] = {}
    for a in dict.fromkeys(a for table in tables for a in table):
        found = [table.get(a, 0) for table in tables]
        if a.op in CASES:
            continue
        low = min(found)
        if not low:
            continue
        if sign(nf, a) == POS or (not positive and (low > 0 or all(found) or nf.certain(a))):
            kept[a] = low
    if not kept:
        return UNIT, poly
    factor = [(a, -e) for a, e in kept.items()]
    rest: Poly = {}
    for mono, c in poly.items():
        add_to(rest, nf.finish(joined(mono, factor)), c)
    return frozenset(kept.items()), rest


def mono_sign(nf: Normal, mono: Mono, c: int | Fraction) -> int:
    result = sign_of(c)
    for a, e in mono:
        result = mul_signs(result, sign(nf, a if e == 1 else a**e))
    return result


def lead(nf: Normal, atom: Term) -> tuple[Mono, int | Fraction] | None:
    """The leading monomial of a sum under a power: the only one of highest degree in its main atom.

    The main atom is one with letters where there is one: a factor without letters leaves the sums it stands in.
    """
    poly = nf.poly(atom)
    found = []
    for main in {a for m in poly for a, e in m if isinstance(e, int) and e > 0}:
        degrees = {m: next((e for a, e in m if a is main), 0) for m in poly}
        top = max(degrees.values())
        mono = next(m for m, d in degrees.items() if d == top)
        if list(degrees.values()).count(top) == 1 and all(isinstance(e, int) and e > 0 for _, e in mono):
            bare = sum(not a.letters for a, _ in mono) if atom.letters else 0
            found.append((-bare, key(main), mono))
    if not found:
        return None
    mono = max(found, key=lambda f: f[:2])[2]
    return mono, poly[mono]


def of_one_atom(nf: Normal, a: Term, e: Exponent) -> tuple[Exponent, Poly] | None:
    """The law of an atom to a power by itself: the exponent t of the part that it replaces, and what a^t is."""
    whole = e.numerator // e.denominator
    if a.op in CASES or (a.op == "var" and nf.is_bit(a)):  # 0 or 1 to any power but 0
        return e, nf.atom(a)
    if a.op == "num":
        return (whole, {UNIT: raised(a.value, whole)}) if whole else None
    if a.op == "add":
        return (whole, nf.power(nf.poly(a), {UNIT: whole})) if whole > 0 else None
    if a.op == "pow" and a.args[0] is MINUS_ONE and whole == e != 1 and exponents.integral(nf, nf.poly(a.args[1])):
        return e - e % 2, {UNIT: 1}
    if a.op == "pow" and a.args[1].op == "num" and (a.args[1].value * e).denominator == 1:
        base = nf.poly(a.args[0])  # (u^p)^e is u^(pe) where u > 0 and 0 elsewhere
        return e, nf.mul(nf.power(base, {UNIT: small(a.args[1].value * e)}), nf.positive(base))
    if a.op == "fn" and a.value == "sin" and isinstance(e, int) and e >= 2:
        # cos(x)**2 by its own laws: where it is written with cos(2x), so is sin(x)**2.
        return 2, add_to({UNIT: 1}, nf.finish(frozenset({(fn("cos", a.args[0]), 2)})), -1)
    return None


def reduce(nf: Normal, mono: Mono) -> Poly:
    """u^e times the leading monomial of u is u^(e+1) minus the rest, for e < 0: numerators below denominators."""
    halved = special.halves(nf, mono)
    if halved is not None:
        return halved
    bottoms = [(a, e) for a, e in mono if a.op == "add" and e < 0]
    for a, e in sorted(bottoms, key=lambda p: key(p[0])):
        if not nf.certain(a):
            continue
        found = lead(nf, a)
        if found is not None and divides(found[0], mono):
            return lowered(nf, mono, a, e, *found)
    return {mono: 1}


def lowered(nf: Normal, mono: Mono, a: Term, e: Exponent, lead: Mono, c: int | Fraction) -> Poly:
    base = joined(mono, [(a, -e), *((b, -f) for b, f in lead)])
    rest = {m: v for m, v in nf.poly(a).items() if m != lead}
    total = dict(nf.times(base, joined(UNIT, {(a, e + 1)})))
    # The rest is multiplied in first: base times u^e alone may be the monomial that we started from.
    total = add_to(total, nf.mul(nf.mul({base: 1}, rest), {frozenset({(a, e)}): 1}), -1)
    return scaled(total, Fraction(1) / c)

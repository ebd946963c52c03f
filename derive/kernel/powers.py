"""Products, quotients and powers in normal form: factors read before expansion, common factors, denominators.

Where an exponent is not a fixed integer, a positive base is split over its terms, b^(c m + k) as (b^m)^c b^k, so that
what is free of a bound letter leaves a sum; the atoms are b^m. So is every base where the exponent is a sum of integers
that are not negative, and one that is not 0 where they are integers. Elsewhere only factors of known sign come out.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from derive.kernel import special
from derive.kernel.poly import (
    CASES,
    INDICES,
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
from derive.kernel.signs import NEG, POS, ZERO, mul_signs, sign, sign_of
from derive.term import MINUS_ONE, Term, fn, num, over

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
    if whole == 1 or not sign(nf, args[0]) & NEG or integral(nf, nf.poly(args[1])):
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
        return {} if known else opaque(nf, base, exponent)
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
    if e is None and integral(nf, exponent):
        return integer_power(nf, base, exponent)
    if isinstance(e, int):
        scale, common, rest = parts(nf, base)
        result = nf.finish(frozenset((a, small(x * e)) for a, x in common))
        if len(rest) > 1:
            result = nf.mul(result, nf.finish(frozenset({(nf.term(rest), e)})))
        return scaled(result, raised(scale, e))
    return real_power(nf, base, exponent)


def number_power(nf: Normal, value: Fraction, exponent: Poly) -> Poly:
    """value^exponent for a positive rational: a product of powers of primes."""
    result: Poly = {UNIT: 1}
    for p, k in primes(value).items():
        result = nf.mul(result, spread(nf, num(p), scaled(exponent, k)))
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
    if a.op == "pow" and a.args[0] is MINUS_ONE and whole == e != 1 and integral(nf, nf.poly(a.args[1])):
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


# -- exponents that are no fixed integers ------------------------------------------------------------------------------


def integral(nf: Normal, exponent: Poly) -> bool:
    """Whether the exponent is an integer for all values of its letters and variables."""
    return all(
        c.denominator == 1 and all(isinstance(e, int) and e > 0 and _whole(nf, a) for a, e in m)
        for m, c in exponent.items()
    )


def _whole(nf: Normal, atom: Term) -> bool:
    if atom.op in INDICES or atom.op in ("size", "delta", "where"):
        return True  # a `where` that is an atom is 0 or 1
    if atom.op == "sum":
        return integral(nf, nf.poly(atom.args[0]))
    declaration = nf.context.declarations.get(atom.value) if atom.op == "var" else None
    if declaration is None or atom.value in nf.loose:
        return False
    return declaration.kind in ("integer", "bit", "index") or nf.is_bit(atom)


def opaque(nf: Normal, base: Poly, exponent: Poly) -> Poly:
    """A power without a law: an atom. b^-p is 1 / b^p, also where b is not positive and the power is 0."""
    turned = leading(exponent) < 0
    atom = nf.term(base) ** nf.term(scaled(exponent, -1) if turned else exponent)
    return {frozenset({(atom, -1 if turned else 1)}): 1}


def spread(nf: Normal, a: Term, exponent: Poly) -> Poly:
    """A positive atom to an exponent, term by term."""
    if a.op == "fn" and a.value == "exp":
        return nf.exp(nf.mul(nf.poly(a.args[0]), exponent))
    inverse = (fn("log", a), -1)
    if a.op == "num" and any(inverse in m for m in exponent):  # 2^(x / log 2) is e^x
        turned = {m - {inverse}: c for m, c in exponent.items() if inverse in m}
        return nf.mul(nf.exp(turned), spread(nf, a, {m: c for m, c in exponent.items() if inverse not in m}))
    result: Poly = {UNIT: 1}
    parts: dict[Term, Exponent] = {}
    inside = a.op == "prod" and sign(nf, a.args[0]) == POS
    for mono, c in exponent.items():
        if mono and inside:  # a power of a product of positive factors is that of the powers
            each = over("prod", a.args[0] ** nf.term({mono: 1}), *a.bound, where=a.args[1])
            result = nf.mul(result, nf.power(nf.poly(each), {UNIT: c}))
        else:
            parts[a ** nf.term({mono: 1}) if mono else a] = c
    return nf.mul(result, nf.finish(frozenset(parts.items()))) if parts else result


def integer_power(nf: Normal, base: Poly, exponent: Poly) -> Poly:
    """base^exponent for an exponent that is an integer but no number: a product to the power is that of the"""
    scale, content, rest = parts(nf, base)
    if len(rest) > 1 and sign(nf, nf.term(rest)) == NEG:
        scale, rest = -scale, scaled(rest, -1)
    result = number_power(nf, abs(Fraction(scale)), exponent)
    if scale < 0:
        result = nf.mul(result, _integer_atom(nf, MINUS_ONE, exponent))
    for a, x in sorted(content, key=lambda p: key(p[0])):
        if isinstance(x, int) or sign(nf, a) == POS:
            result = nf.mul(result, _integer_atom(nf, a, scaled(exponent, x)))
        else:
            result = nf.mul(result, opaque(nf, {frozenset({(a, x)}): 1}, exponent))
    return nf.mul(result, _integer_atom(nf, nf.term(rest), exponent)) if len(rest) > 1 else result


def _integer_atom(nf: Normal, a: Term, exponent: Poly) -> Poly:
    """An atom or a sum to an integer exponent: split where no part can be negative, or the base is not 0."""
    if sign(nf, a) == POS:
        return spread(nf, a, exponent)
    moving = {m: c for m, c in exponent.items() if m}
    free = exponent.get(UNIT, 0)
    if not sign(nf, a) & ZERO:
        parts = [(a ** nf.term({m: 1}), c) for m, c in moving.items()]
    elif all(c > 0 and not nf.mono_sign(m, 1) & NEG for m, c in moving.items()):
        # Each part less its least value, so that a power of n and one of n - 1 are told by one atom.
        lows = {m: int(nf.mono_sign(m, 1) == POS) for m in moving}
        parts = [(a ** nf.term(add_to({m: 1}, {UNIT: 1}, -lows[m])), c) for m, c in moving.items()]
        free += sum(c * lows[m] for m, c in moving.items())
    else:
        return opaque(nf, nf.poly(a), exponent)
    if free < 0 and sign(nf, a) & ZERO:
        return opaque(nf, nf.poly(a), exponent)
    result: Poly = {UNIT: 1}
    for atom, c in parts:
        result = nf.mul(result, nf.finish(frozenset({(atom, small(c))})))
    return nf.mul(result, nf.power(nf.poly(a), {UNIT: free})) if free else result


def real_power(nf: Normal, base: Poly, exponent: Poly) -> Poly:
    """base^exponent for an exponent that may be no integer: factors of known sign and even powers come out."""
    # A sum of positive exponents splits over 0 too: each power of it is 0.
    splits = constant(exponent) is not None or all(c > 0 and nf.mono_sign(m, 1) == POS for m, c in exponent.items())
    scale, content, rest = parts(nf, base)
    result: Poly = {UNIT: 1}
    left: list[tuple[Term, Exponent]] = []
    for a, x in sorted(content, key=lambda p: key(p[0])):
        signs = sign(nf, a)
        if signs == POS or (not signs & NEG and splits and x > 0):
            result = nf.mul(result, spread(nf, a, scaled(exponent, x)))
        else:
            left.append((a, x))
    known = POS | ZERO if splits else POS
    result = nf.mul(result, number_power(nf, abs(Fraction(scale)), exponent))
    whole = scaled(nf.mul(rest, {frozenset(left): 1}), 1 if scale > 0 else -1)
    if whole == {UNIT: 1}:
        return result
    atom = nf.term(whole)
    if not sign(nf, atom) & ~known and (len(whole) > 1 or (len(left) == 1 and left[0][1] == 1 and scale > 0)):
        return nf.mul(result, spread(nf, atom, exponent))
    return nf.mul(result, opaque(nf, whole, exponent))


def sides(poly: Poly) -> tuple[Poly, Poly] | None:
    """a + b and a - b for a positive multiple of a**2 - b**2, both single terms; None for what is none."""
    (m, c), (n, d) = sorted(poly.items(), key=lambda p: -p[1]) if len(poly) == 2 else ((UNIT, 1), (UNIT, 1))
    ratio = Fraction(-d) / c
    root = Fraction(isqrt(abs(ratio.numerator)), isqrt(ratio.denominator))
    if root**2 != ratio or not all(isinstance(e, int) and e % 2 == 0 for _, e in (*m, *n)):
        return None
    a: Poly = {frozenset((t, e // 2) for t, e in m): 1}
    b: Poly = {frozenset((t, e // 2) for t, e in n): small(root)}
    return add_to(dict(a), b), add_to(a, b, -1)

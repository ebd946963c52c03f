"""Powers with an exponent that is not a fixed integer, in normal form.

A positive base is split over the terms of its exponent, b^(c m + k) as (b^m)^c b^k, so that what is free of a bound
letter leaves a sum; the atoms are b^m. So is every base where the exponent is a sum of integers that are not negative,
and one that is not 0 where they are integers. Elsewhere only factors of known sign come out.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import powers
from derive.kernel.poly import INDICES, UNIT, Exponent, Poly, add_to, constant, key, leading, scaled, small
from derive.kernel.signs import NEG, POS, ZERO, sign
from derive.term import MINUS_ONE, Term, fn, over

if TYPE_CHECKING:
    from derive.kernel.normal import Normal


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
    """base^exponent for an exponent that is an integer but no number: a product to the power is that of the powers."""
    scale, content, rest = powers.parts(nf, base)
    if len(rest) > 1 and sign(nf, nf.term(rest)) == NEG:
        scale, rest = -scale, scaled(rest, -1)
    result = powers.number_power(nf, abs(Fraction(scale)), exponent)
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
    e = constant(exponent)
    scale, content, rest = powers.parts(nf, base)
    result: Poly = {UNIT: 1}
    left: list[tuple[Term, Exponent]] = []
    for a, x in sorted(content, key=lambda p: key(p[0])):
        signs = sign(nf, a)
        if signs == POS or (not signs & NEG and e is not None and x > 0):
            result = nf.mul(result, spread(nf, a, scaled(exponent, x)))
        else:
            left.append((a, x))
    known = POS | ZERO if e is not None else POS
    result = nf.mul(result, powers.number_power(nf, abs(Fraction(scale)), exponent))
    whole = scaled(nf.mul(rest, {frozenset(left): 1}), 1 if scale > 0 else -1)
    if whole == {UNIT: 1}:
        return result
    atom = nf.term(whole)
    if not sign(nf, atom) & ~known and (len(whole) > 1 or (len(left) == 1 and left[0][1] == 1 and scale > 0)):
        return nf.mul(result, spread(nf, atom, exponent))
    return nf.mul(result, opaque(nf, whole, exponent))

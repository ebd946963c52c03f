"""Sine, cosine, arctangent and the gamma functions in normal form.

Angles are taken apart term by term, so that the atoms are the sine and cosine of one term each; sin^2 is 1 - cos^2, and
squares at half an angle are those of the whole. The gamma functions are moved down by whole steps as long as their
argument is known to stay positive.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import powers
from derive.kernel.poly import UNIT, Mono, Poly, add_to, constant, joined, leading, scaled
from derive.kernel.signs import POS, sign
from derive.term import PI, Term, fn, num

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

MAX_ANGLES = 4  # terms of an angle that is taken apart
MAX_MULTIPLE = 6
MAX_STEPS = 8
MAX_NUMBER = 30  # up to which the gamma functions are worked out
ROOT_3, HALF = num(3) ** Fraction(1, 2), num("1/2")
ODD = frozenset({"atan", "erf"})
# f(u + 1) - f(u), for u above 0.
STEPS: dict[str, Callable[[Term], Term]] = {
    "lgamma": lambda u: fn("log", u),
    "digamma": lambda u: 1 / u,
    "trigamma": lambda u: -(u**-2),
}
# Where a function is known, and its value there.
VALUES: dict[str, tuple[tuple[Term, Term], ...]] = {
    "atan": ((num(1), PI / 4), (ROOT_3, PI / 3), (1 / ROOT_3, PI / 6)),
    "lgamma": ((num(1), num(0)), (HALF, fn("log", PI) / 2)),
    "digamma": ((HALF, fn("digamma", 1) - 2 * fn("log", 2)),),
    "trigamma": ((num(1), PI**2 / 6),),
}
# cos and sin at an eighth of a turn and below, as (coefficient, number under the root).
EXACT: dict[Fraction, tuple[tuple[Fraction, int], tuple[Fraction, int]]] = {
    Fraction(0): ((Fraction(1), 1), (Fraction(0), 1)),
    Fraction(1, 6): ((Fraction(1, 2), 3), (Fraction(1, 2), 1)),
    Fraction(1, 4): ((Fraction(1, 2), 2), (Fraction(1, 2), 2)),
}
Pair = tuple[Poly, Poly]


def circular(nf: Normal, name: str, u: Poly) -> Poly:
    """sin or cos of u."""
    if len(u) > MAX_ANGLES:
        turned = leading(u) < 0
        return scaled(nf.atom(fn(name, nf.term(scaled(u, -1) if turned else u))), -1 if turned and name == "sin" else 1)
    found: Pair = ({UNIT: 1}, {})
    for mono, c in u.items():
        found = _joined(nf, found, _angle(nf, mono, Fraction(c)))
    return found[0] if name == "cos" else found[1]


def _joined(nf: Normal, left: Pair, right: Pair) -> Pair:
    """cos and sin of the sum of two angles."""
    return (
        add_to(dict(nf.mul(left[0], right[0])), nf.mul(left[1], right[1]), -1),
        add_to(dict(nf.mul(left[1], right[0])), nf.mul(left[0], right[1])),
    )


def _angle(nf: Normal, mono: Mono, c: Fraction) -> Pair:
    """cos and sin of one term."""
    if mono == frozenset({(PI, 1)}):
        return _turned(nf, c)
    rest = mono - {(PI, 1)}
    if rest != mono and c.denominator == 1 and powers.integral(nf, {rest: 1}):
        return nf.power({UNIT: -1}, {rest: c.numerator}), {}
    if c < 0:
        cosine, sine = _angle(nf, mono, -c)
        return cosine, scaled(sine, -1)
    times = c.numerator if mono and c.numerator <= MAX_MULTIPLE else 1
    unit = nf.term({mono: c / times})
    one = nf.atom(fn("cos", unit)), nf.atom(fn("sin", unit))
    found = one
    for _ in range(times - 1):
        found = _joined(nf, found, one)
    return found


def _turned(nf: Normal, c: Fraction) -> Pair:
    """cos and sin of c pi: exact at multiples of pi / 4 and pi / 6, elsewhere those of an angle below pi / 4."""
    quarters, left = divmod(2 * c, 1)
    left = left / 2
    mirrored = left > Fraction(1, 4)
    if mirrored:
        left = Fraction(1, 2) - left
    if left in EXACT:
        cosine, sine = (scaled(nf.power({UNIT: n}, {UNIT: Fraction(1, 2)}), factor) for factor, n in EXACT[left])
    else:
        angle = nf.term({frozenset({(PI, 1)}): left})
        cosine, sine = nf.atom(fn("cos", angle)), nf.atom(fn("sin", angle))
    if mirrored:
        cosine, sine = sine, cosine
    for _ in range(int(quarters) % 4):
        cosine, sine = scaled(sine, -1), cosine
    return cosine, sine


def halves(nf: Normal, mono: Mono) -> Poly | None:
    """The monomial with cos^2 and sin cos at half of an angle as cos and sin of the angle; None where there is none."""
    for a, e in mono:
        if a.op != "fn" or a.value != "cos" or not isinstance(e, int) or e < 1:
            continue
        sine = (fn("sin", a.args[0]), 1)
        if (e >= 2 or sine in mono) and _halved(nf, a.args[0]):
            double = scaled(nf.poly(a.args[0]), 2)
            if sine in mono:
                taken, found = [(a, -1), (sine[0], -1)], circular(nf, "sin", double)
            else:
                taken, found = [(a, -2)], add_to({UNIT: 1}, circular(nf, "cos", double))
            return nf.mul(nf.finish(joined(mono, taken)), scaled(found, Fraction(1, 2)))
    return None


def _halved(nf: Normal, angle: Term) -> bool:
    poly = nf.poly(angle)
    return len(poly) == 1 and next(iter(poly.values())).denominator % 2 == 0


def special(nf: Normal, name: str, u: Poly) -> Poly:
    """A function by its symmetry, by steps down to an argument that may not be positive, and by its known values."""
    if name in ODD and (not u or leading(u) < 0):
        return scaled(special(nf, name, scaled(u, -1)), -1) if u else {}
    total: Poly = {}
    value = constant(u)
    left = 0 if name not in STEPS else MAX_STEPS if value is None else MAX_NUMBER if value <= MAX_NUMBER else 0
    below = add_to(dict(u), {UNIT: 1}, -1)
    while left and sign(nf, nf.term(below)) == POS:
        add_to(total, nf.poly(STEPS[name](nf.term(below))))
        u, below, left = below, add_to(dict(below), {UNIT: 1}, -1), left - 1
    known = (result for argument, result in VALUES.get(name, ()) if nf.poly(argument) == u)
    result = next(known, None)
    return add_to(total, nf.poly(result) if result is not None else nf.atom(fn(name, nf.term(u))))

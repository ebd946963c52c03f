"""What is to be shown: a polynomial not negative, or positive, for a scope; and how it is cleared."""

from __future__ import annotations

from dataclasses import dataclass

from derive.kernel import powers
from derive.kernel.normal import Normal
from derive.kernel.poly import Exponent, Mono, Poly, add_to, key, scaled
from derive.kernel.signs import NEG, POS, sign
from derive.term import ONE, TRUE, Term, cmp, mul, neg, num, power
from derive.term import ZERO as NOUGHT

LAST = 6  # the depth at which only one combination is tried


@dataclass(frozen=True)
class Scope:
    """For all of these letters that satisfy the condition."""

    letters: tuple[Term, ...] = ()
    where: Term = TRUE


@dataclass(frozen=True)
class Goal:
    """A polynomial that is to be shown not negative, or positive."""

    poly: Poly
    strict: bool
    scope: Scope
    depth: int
    addends: tuple[Term, ...] = ()  # the terms of it as they were written


def above(left: Term, strict: bool, right: Term = NOUGHT) -> Term:
    """The comparison left > right, or left >= right."""
    return cmp(">" if strict else ">=", left, right)


def strictly(rule: str, strict: bool) -> str:
    """The name of the row, or of its strict twin."""
    return f"strict_{rule}" if strict else rule


def addends_of(here: Normal, term: Term) -> list[Term]:
    """The terms of a sum as written, names unfolded where that shows a sum."""
    if term.op == "def":
        return addends_of(here, here.unfold(term))
    if term.op == "add":
        return [part for a in term.args for part in addends_of(here, a)]
    if term.op == "neg":
        return [a.args[0] if a.op == "neg" else neg(a) for a in addends_of(here, term.args[0])]
    return [term]


def product(*terms: Term) -> Term:
    """The product without factors 1."""
    return mul(*(t for t in terms if t is not ONE))


def bared(here: Normal, poly: Poly, strict: bool) -> tuple[Term, Term, Poly]:
    """(scale, factor, rest) with scale * poly == factor * rest: scale positive, factor not negative (1 if strict)."""
    turned: list[Term] = []
    scale: dict[Term, Exponent] = {}
    for _ in range(3):
        bottoms: dict[Term, Exponent] = {}
        for mono in poly:
            for a, e in mono:
                if e < min(0, bottoms.get(a, 0)) and sign(here, a) == POS:
                    bottoms[a] = e
        if not bottoms:
            break
        for a, e in bottoms.items():
            scale[a] = scale.get(a, 0) - e  # type: ignore[operator]  # numbers, as just seen
        up: Mono = frozenset((a, -e) for a, e in bottoms.items())  # type: ignore[operator]
        total: Poly = {}
        for mono, c in poly.items():
            add_to(total, here.times(mono, up), c)
        poly = total
    common, rest = powers.content(here, poly)
    factor = []
    for a, e in sorted(common, key=lambda p: key(p[0])):
        signs = sign(here, a)
        if signs == POS:
            scale[a] = scale.get(a, 0) - e
        elif signs == NEG and isinstance(e, int):
            turned.append(power(neg(a), num(-e)))
            rest = scaled(rest, -1) if e % 2 else rest
        elif not signs & NEG and not strict:
            factor.append(power(a, num(e)) if e != 1 else a)
        else:
            rest = here.mul(rest, {frozenset({(a, e)}): 1})
    terms = [a if e == 1 else power(a, num(e)) for a, e in sorted(scale.items(), key=lambda p: key(p[0])) if e]  # type: ignore[arg-type]
    return mul(*terms, *turned), mul(*factor), rest

"""Differences of numbers that the code holds without rounding, alone or over a common factor.

An exponent (x - y)/f, where x and y are stored numbers, is known to far more digits than a quotient less a quotient:
what the difference and the quotient are rounded by can be put back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from derive.kernel.context import Definition
from derive.term import ZERO, Term, alike, div, mul, sub, substitute

Definitions = Mapping[str, Definition]


def opened(term: Term, definitions: Definitions) -> Term:
    """The term itself, or what it stands for if it is a definition's name."""
    while term.op == "def" and term.value in definitions:
        definition = definitions[term.value]
        term = substitute(definition.body, dict(zip(definition.letters, term.args, strict=True)))
    return term


def exact(term: Term, definitions: Definitions) -> bool:
    """Whether the code holds the term's value without any rounding: stored numbers, and what selects among them."""
    term = opened(term, definitions)
    if term.op in ("var", "index", "size", "delta", "argmax"):
        return True
    if term.op == "num":
        return bool(term.value.denominator == 1)
    if term.op == "neg":
        return exact(term.args[0], definitions)
    if term.op in ("max", "min"):
        return exact(term.args[0], definitions)
    if term.op == "where":
        return all(exact(a, definitions) for a in term.args[1:])
    return (
        term.op == "fn"
        and term.value in ("max", "min", "abs", "relu", "sign")
        and all(exact(a, definitions) for a in term.args)
    )


def exact_difference(term: Term, definitions: Definitions) -> tuple[Term, Term] | None:
    """x and y where the term is x - y and the code holds both without any rounding."""
    if term.op != "add" or len(term.args) != 2 or (term.args[0].op == "neg") == (term.args[1].op == "neg"):
        return None
    x, y = term.args if term.args[1].op == "neg" else term.args[::-1]
    pair = (x, y.args[0])
    stored = all(exact(t, definitions) and not _small(t, definitions) for t in pair)
    return pair if stored else None


def _small(term: Term, definitions: Definitions) -> bool:
    """Whether it is a number of the formula or a count, so that the difference is not worth a correction."""
    return opened(term, definitions).op in ("num", "size", "index", "delta", "argmax")


def present(term: Term) -> tuple[Term, Term] | None:
    """y and x where the term is 0 at y = 0 and y*x elsewhere."""
    if term.op != "where" or term.args[1] is not ZERO or term.args[2].op != "mul" or len(term.args[2].args) < 2:
        return None
    test, (*factors, x) = term.args[0], term.args[2].args
    y = mul(*factors) if len(factors) > 1 else factors[0]
    return (y, x) if test.op == "cmp" and test.value == "==" and test.args == (y, ZERO) else None


@dataclass(frozen=True)
class Scaled:
    """x/factor, or x*factor, for an x that is held without rounding."""

    x: Term
    factor: Term
    divided: bool

    def by(self, x: Term) -> Term:
        """Another number over the same factor."""
        return div(x, self.factor) if self.divided else mul(x, self.factor)


def scaled_number(term: Term, definitions: Definitions) -> Scaled | None:
    """The term read as a stored number over a factor that has none of its letters, or times one."""
    term = opened(term, definitions)
    if term.op == "div":
        pairs = [term.args]
    elif term.op == "mul" and len(term.args) == 2:
        pairs = [term.args, term.args[::-1]]
    else:
        return None
    for x, factor in pairs:
        fits = exact(x, definitions) and not _small(x, definitions) and (term.op == "div" or x.args)
        if fits and x.letters.isdisjoint(factor.letters):
            return Scaled(x, factor, term.op == "div")
    return None


def less(u: Term, v: Term, definitions: Definitions) -> Term:
    """u - v, with a factor that both have taken out of the difference of stored numbers."""
    one, other = scaled_number(u, definitions), scaled_number(v, definitions)
    if one and other and one.divided == other.divided and alike(one.factor, other.factor):
        return one.by(sub(one.x, other.x))
    return sub(u, v)


@dataclass(frozen=True)
class Difference:
    """(x - y)/factor or (x - y)*factor, with x and y held without rounding; no factor is None."""

    x: Term
    y: Term
    factor: Term | None = None
    divided: bool = True


def scaled_difference(term: Term, definitions: Definitions) -> Difference | None:
    """The term read as an exact difference, alone, over a factor, or times one."""
    if pair := exact_difference(term, definitions):
        return Difference(*pair)
    if term.op not in ("div", "mul") or len(term.args) != 2:
        return None
    for gap, factor in (term.args, term.args[::-1]) if term.op == "mul" else (term.args,):
        if pair := exact_difference(gap, definitions):
            return Difference(*pair, factor, term.op == "div")
    return None

"""How elementary functions round, and how they pass on what their arguments are off by: their conditions.

Each row gives the bound of a function's value from that of its argument and the roundings of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from derive.codegen.counts import Bound, Count, NoBound
from derive.kernel.signs import NEG
from derive.language.printer import to_text
from derive.term import ONE, TWO, Term, add, div, fn, mul, neg

if TYPE_CHECKING:
    from derive.codegen.bounds import Analysis

# Roundings of a function, an ulp being two: what NumPy's functions and our snippets stay within in float64.
FUNCTIONS = {"exp": 2, "log": 2, "log1p": 2, "expm1": 2, "sqrt": 1, "abs": 0, "sign": 0, "relu": 0, "sigmoid": 5}
FUNCTIONS |= {"softplus": 6, "sin": 4, "cos": 4, "tan": 4, "sinh": 4, "cosh": 4, "tanh": 4, "atan": 4, "erf": 12}
FUNCTIONS |= {"lgamma": 64, "digamma": 32, "trigamma": 32, "pow": 2}

NARROW_FUNCTIONS = 4  # NumPy's functions of float32 are within four ulp

Condition = Callable[["Analysis", Term, Bound, Count], Bound]


def _with(share: Callable[[Term, Term], Term]) -> Condition:
    """A function whose value moves by `share(x, size)` for each unit of its argument's bound."""

    def row(a: Analysis, term: Term, found: Bound, own: Count) -> Bound:
        moved = share(term.args[0], found.size)
        return Bound(found.count.most(own), add(a.positive(term), moved), False)

    return row


def _log(a: Analysis, term: Term, found: Bound, own: Count) -> Bound:
    x = term.args[0]
    moved = ONE if found.own else div(found.size, x)
    return Bound(found.count.most(own), add(a.positive(term), moved), False)


def _log1p(a: Analysis, term: Term, found: Bound, own: Count) -> Bound:
    x = term.args[0]
    if found.own and not a.signs(x) & NEG:
        return a.relative(term, found.count + own)  # x/((1 + x) log1p(x)) is at most 1
    return Bound(found.count.most(own), add(a.positive(term), div(found.size, add(ONE, x))), False)


def _linear(a: Analysis, term: Term, found: Bound, own: Count) -> Bound:
    return a.relative(term, found.count) if found.own else Bound(found.count, found.size, False)


def root(a: Analysis, term: Term, found: Bound) -> Bound:
    if not found.own:
        raise NoBound(f"no bound is stated for a root of a sum that cancels: {to_text(term)}")
    return a.relative(term, found.count + 1)


def _opposite(term: Term) -> Term:
    return term.args[0] if term.op == "neg" else neg(term)


CONDITIONS: dict[str, Condition] = {
    "exp": lambda a, term, found, own: Bound(found.count.most(own), mul(term, add(ONE, found.size)), False),
    "expm1": _with(lambda x, size: mul(fn("exp", x), size)),
    "log": _log,
    "log1p": _log1p,
    "sqrt": lambda a, term, found, own: root(a, term, found),
    "abs": _linear,
    "relu": _linear,
    "sigmoid": lambda a, term, found, own: Bound(
        found.count.most(own), mul(term, add(ONE, mul(fn("sigmoid", _opposite(term.args[0])), found.size))), False
    ),
    "softplus": _with(lambda x, size: mul(fn("sigmoid", x), size)),
    "tanh": _with(lambda x, size: size),
    "sin": _with(lambda x, size: size),
    "cos": _with(lambda x, size: size),
    "atan": _with(lambda x, size: size),
    "erf": _with(lambda x, size: mul(TWO, size)),
}

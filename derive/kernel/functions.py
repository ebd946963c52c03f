"""Functions in normal form: each in terms of exp, log and a few others.

Methods of `Normal`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import cases
from derive.kernel.poly import (
    UNIT,
    Exponent,
    Poly,
    add_to,
    constant,
    joined,
    leading,
    magnitude,
    primes,
    scaled,
)
from derive.kernel.signs import (
    POS,
    sign,
)
from derive.term import (
    ONE,
    TWO,
    Term,
    add,
    div,
    fn,
    mul,
    neg,
    num,
    over,
    power,
    sub,
)

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

# What a function is in terms of the others, so that equal formulas meet.
UNFOLD: dict[str, Callable[..., Term]] = {
    "sqrt": lambda x: power(x, num("1/2")),
    "log1p": lambda x: fn("log", add(ONE, x)),
    "expm1": lambda x: sub(fn("exp", x), ONE),
    "sigmoid": lambda x: div(ONE, add(ONE, fn("exp", neg(x)))),
    "softplus": lambda x: fn("log", add(ONE, fn("exp", x))),
    "sinh": lambda x: div(sub(fn("exp", x), fn("exp", neg(x))), TWO),
    "cosh": lambda x: div(add(fn("exp", x), fn("exp", neg(x))), TWO),
    "tanh": lambda x: sub(ONE, div(TWO, add(ONE, fn("exp", mul(TWO, x))))),
    "tan": lambda x: div(fn("sin", x), fn("cos", x)),
}

# Functions in pieces: what the argument is multiplied by (sign: the value itself; max and min: of the difference).
PIECES: dict[str, Callable[[Normal, Poly], Poly]] = {
    "abs": cases.sided,
    "sign": cases.sided,
    "relu": cases.positive,
    "max": cases.positive,
    "min": lambda nf, u: cases.positive(nf, scaled(u, -1)),
}


def function(self: Normal, term: Term) -> Poly:
    name, args = term.value, term.args
    if name == "sqrt":
        return self.factored(term)
    if name == "log":
        return self.log(args[0])
    if name in UNFOLD:
        return self.poly(UNFOLD[name](*args))
    if name in PIECES:
        u = self.poly(args[0] if len(args) == 1 else sub(*args))
        value = self.mul(PIECES[name](self, u), u if name != "sign" else {UNIT: 1})
        return value if len(args) == 1 else add_to(dict(value), self.poly(args[1]))
    if name == "exp":
        return self.exp(self.poly(args[0]))
    u = self.poly(args[0])
    if self.cases(u) is not None:
        return self.by_cases(u, lambda here, part: here.poly(fn(name, here.term(part))))
    if name in ("sin", "atan", "erf", "cos"):
        even = name == "cos"
        if not u:
            return {UNIT: 1} if even else {}
        if leading(u) < 0:
            return scaled(self.atom(fn(name, self.term(scaled(u, -1)))), 1 if even else -1)
    return self.atom(fn(name, self.term(u)))


def exp(self: Normal, u: Poly) -> Poly:
    """e^u as a product over the terms of u."""
    if self.cases(u) is not None:
        return self.by_cases(u, lambda here, part: here.exp(part))
    result: Poly = {UNIT: 1}
    factors: dict[Term, Exponent] = {}
    for mono, c in u.items():
        logs = [a for a, e in mono if e == 1 and a.op == "fn" and a.value == "log"]
        if len(logs) == 1:
            rest = mono - {(logs[0], 1)}
            inner = self.poly(logs[0].args[0])
            if sign(self, logs[0].args[0]) == POS and (not rest or all(a.op != "fn" for a, _ in rest)):
                result = self.mul(result, self.power(inner, {frozenset(rest): c}))
                continue
        factors[fn("exp", self.term({mono: 1}))] = c
    return self.mul(result, {frozenset(factors.items()): 1})


def log(self: Normal, term: Term) -> Poly:
    """The logarithm of a product as a sum, where every factor is known to be positive."""
    parts: list[tuple[Poly, Poly, Term]] = []
    self.factors(term, {UNIT: 1}, parts)
    if any(sign(self, t) != POS and sign(self, self.term(p)) != POS for p, _, t in parts):
        whole = self.poly(term)
        return self.log_of(whole)
    total: Poly = {}
    for base, e, _ in parts:
        add_to(total, self.mul(e, self.log_of(base)))
    return total


def log_of(self: Normal, u: Poly) -> Poly:
    if not u:
        return {}
    if self.cases(u) is not None:
        return self.by_cases(u, lambda here, part: here.log_of(part))
    mono, rest = self.content(u, None)
    scale: int | Fraction = 1
    if len(rest) == 1:
        mono, scale, rest = joined(mono, rest)
    else:
        scale = magnitude(leading(rest))
        rest = scaled(rest, Fraction(1) / scale)
    total: Poly = {}
    left: Poly = dict(rest)
    for a, e in mono:
        if sign(self, a) == POS:
            one = self.poly(a.args[0]) if a.op == "fn" and a.value == "exp" else self.atom(fn("log", a))
            if a.op == "num":
                one = self.atom(fn("log", a))
            if a.op == "prod" and sign(self, a.args[0]) == POS:
                one = self.poly(over("sum", fn("log", a.args[0]), *a.bound, where=a.args[1]))
            add_to(total, self.mul(self.poly(e) if isinstance(e, Term) else {UNIT: e}, one))
        elif isinstance(e, int) and e % 2 == 0 and self.certain(a):
            add_to(total, self.atom(fn("log", fn("abs", a))), e)
        else:
            left = self.mul(left, self.power(self.poly(a), self.poly(e) if isinstance(e, Term) else {UNIT: e}))
    if scale < 0:
        left, scale = scaled(left, -1), -scale
    for part, times in ((Fraction(scale).numerator, 1), (Fraction(scale).denominator, -1)):
        for p in primes(part):
            add_to(total, self.atom(fn("log", num(p))), times)
    if left != {UNIT: 1}:
        if constant(left) is not None:  # the logarithm of a negative number
            return {}
        add_to(total, self.atom(fn("log", self.term(left))))
    return total

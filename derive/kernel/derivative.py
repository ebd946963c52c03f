"""Partial derivatives of terms: one table for the functions, one line for each way of putting terms together.

The derivative is formal: it is the true one at the points where the language says that `diff` is defined (each `where`,
`abs`, `max` inside one of its regions, the chain rule's conditions met), and `domain` judges where that is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from derive.kernel.proof import Rejected
from derive.term import PI, Term, add, both, cmp, delta, fn, fresh, mul, num, over, rename_bound, substitute, where

if TYPE_CHECKING:
    from derive.kernel.normal import Normal
    from derive.kernel.poly import Poly

# The derivative of f(u) by u.
SLOPES: dict[str, Callable[[Term], Term]] = {
    "exp": lambda u: fn("exp", u),
    "log": lambda u: 1 / u,
    "log1p": lambda u: 1 / (1 + u),
    "expm1": lambda u: fn("exp", u),
    "sqrt": lambda u: 1 / (2 * fn("sqrt", u)),
    "sin": lambda u: fn("cos", u),
    "cos": lambda u: -fn("sin", u),
    "tan": lambda u: 1 / fn("cos", u) ** 2,
    "sinh": lambda u: fn("cosh", u),
    "cosh": lambda u: fn("sinh", u),
    "tanh": lambda u: 1 - fn("tanh", u) ** 2,
    "atan": lambda u: 1 / (1 + u**2),
    "erf": lambda u: 2 / fn("sqrt", PI) * fn("exp", -(u**2)),
    "sigmoid": lambda u: fn("sigmoid", u) * (1 - fn("sigmoid", u)),
    "softplus": lambda u: fn("sigmoid", u),
    "lgamma": lambda u: fn("digamma", u),
    "digamma": lambda u: fn("trigamma", u),
    "abs": lambda u: fn("sign", u),
    "sign": lambda u: num(0),
    "relu": lambda u: where(cmp(">", u, 0), 1, 0),
}


def normal(nf: Normal, term: Term) -> Poly:
    """The normal form of `diff(body, entry)`."""
    body, entry = term.args
    here = nf.around(entry.value)
    return nf.poly(differentiate(nf, here.canonical(body), entry))


def differentiate(nf: Normal, term: Term, entry: Term) -> Term:
    """The formal derivative of the term by a variable entry. Raises Rejected where there is no rule."""
    memo: dict[Term, Term] = {}

    def d(t: Term) -> Term:
        if t not in memo:
            memo[t] = one(t) if depends(nf, t, entry.value) else num(0)
        return memo[t]

    def one(t: Term) -> Term:
        op, args = t.op, t.args
        if op == "var":
            return mul(*map(delta, args, entry.args)) if t.value == entry.value else num(0)
        if op == "def":
            return d(nf.unfold(t))
        if op == "add":
            return add(*(x for a in args if (x := d(a)) is not num(0)))
        if op == "neg":
            return -d(args[0])
        if op == "mul":
            slopes = [(p, x) for p, a in enumerate(args) if (x := d(a)) is not num(0)]
            return add(*(mul(*args[:p], x, *args[p + 1 :]) for p, x in slopes))
        if op == "div":
            top, bottom = d(args[0]), d(args[1])
            if bottom is num(0):
                return top / args[1]
            return (top * args[1] - args[0] * bottom) / args[1] ** 2
        if op == "pow":
            base, e = args
            if base.op == "pow" and base.args[1].op != "num" and e.op == "num" and e.value.denominator == 1:
                t = base.args[0] ** (e * base.args[1])  # x**k written as 1/x**-k, which has no slope at 0
            return power_slope(t, *map(d, t.args))
        if op == "fn":
            if t.value in ("max", "min"):
                first, second = args if t.value == "max" else args[::-1]
                return where(cmp(">", first, second), d(args[0]), d(args[1]))
            if t.value not in SLOPES:
                raise Rejected(f"there is no rule for the derivative of {t.value}")
            return SLOPES[t.value](args[0]) * d(args[0])
        if op == "where":
            return where(args[0], d(args[1]), d(args[2]))
        if op == "delta":
            return num(0)
        if t.bound and op != "at" and not {k.value[0] for k in t.bound}.isdisjoint(k.value[0] for k in entry.letters):
            return one(rename_bound(t, entry.letters))
        if op == "sum":
            return over("sum", d(args[0]), *t.bound, where=args[1])
        if op == "prod":
            if len(t.bound) > 1:  # one product inside the other
                return one(over("prod", over("prod", args[0], *t.bound[1:], where=args[1]), t.bound[0]))
            (k,) = t.bound
            other = fresh(k, t.letters | args[0].letters | args[1].letters | entry.letters)
            rest, chosen = (substitute(a, {k: other}) for a in args)
            left_out = over("prod", rest, other, where=both(chosen, cmp("!=", other, k)))
            return over("sum", d(args[0]) * left_out, k, where=args[1])
        if op in ("max", "min") and len(t.bound) == 1:
            body = args[0] if op == "max" else -args[0]
            return substitute(d(args[0]), {t.bound[0]: over("argmax", body, *t.bound, where=args[1])})
        if op == "diff":
            return d(differentiate(nf, args[0], args[1]))
        raise Rejected(f"there is no rule for the derivative of {op}")

    return d(term)


def power_slope(term: Term, base_slope: Term, exponent_slope: Term) -> Term:
    base, exponent = term.args
    less = num(exponent.value - 1) if exponent.op == "num" else exponent - 1
    parts = [exponent * base**less * base_slope] if base_slope is not num(0) else []
    if exponent_slope is not num(0):
        parts.append(term * fn("log", base) * exponent_slope)
    return add(*parts)


def depends(nf: Normal, term: Term, name: str) -> bool:
    """Whether the term can depend on the variable: by itself, through definitions or the law of a random name."""
    return name in nf.context.reached(term.names)

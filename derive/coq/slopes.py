"""Formal derivatives, in the very form in which the tactic `diff` of coq/Derive.v finds them."""

from __future__ import annotations

from derive.coq.names import NotExported
from derive.coq.poly import whole
from derive.kernel.context import Context
from derive.term import (
    MINUS_ONE,
    ONE,
    TWO,
    ZERO,
    Term,
    add,
    delta,
    div,
    fn,
    make,
    mul,
    neg,
    num,
    power,
    rename_bound,
    sub,
)


def slope(term: Term, entry: Term, context: Context) -> Term:
    """The derivative of a term without defined names by an entry of a variable."""
    name = entry.value

    def d(t: Term) -> Term:
        op, args = t.op, t.args
        if name not in t.names:
            return ZERO
        if op == "var":
            if any(name in a.names for a in args):
                raise NotExported("an index depends on the variable of a derivative")
            return mul(*(delta(a, b) for a, b in zip(args, entry.args, strict=True)))
        if op == "add":
            found = d(args[0])
            for a in args[1:]:
                step = d(a.args[0]) if a.op == "neg" else d(a)
                found = make("add", (found, neg(step) if a.op == "neg" else step))
            return found
        if op == "neg":
            return neg(d(args[0]))
        if op == "mul":
            found, value = d(args[0]), args[0]
            for a in args[1:]:
                if name not in value.names:
                    found = make("mul", (value, d(a)))
                elif name not in a.names:
                    found = make("mul", (found, a))
                else:
                    found = make("add", (make("mul", (found, a)), make("mul", (value, d(a)))))
                value = mul(value, a)
            return found
        if op == "div":
            a, b = args
            if name not in b.names:
                return div(d(a), b)
            top = sub(make("mul", (d(a), b)), make("mul", (a, d(b))))
            return div(top, power(b, TWO))
        if op == "pow":
            n = whole(args[1])
            if n is None:
                if name in args[0].names:
                    raise NotExported("a derivative by the base of a real power stands in it")
                return make("mul", (t, make("mul", (d(args[1]), fn("log", args[0])))))
            if n >= 0:
                return make("mul", (num(n), power(args[0], num(max(n - 1, 0))), d(args[0])))
            inner = args[0] if n == -1 else power(args[0], num(-n))
            return div(neg(d(inner)), power(inner, TWO))
        if op == "fn" and t.value in SLOPES:
            return make("mul", (SLOPES[t.value](args[0]), d(args[0])))
        if op == "sum":
            clash = {k.value[0] for k in t.bound} & {k.value[0] for k in entry.letters}
            t = rename_bound(t, entry.letters) if clash else t
            return make("sum", (d(t.args[0]), t.args[1]), None, t.bound)
        if op == "diff":
            return d(slope(*args, context))
        raise NotExported(f"a derivative through {t.value if op == 'fn' else op} stands in it")

    return d(term)


SLOPES = {
    "exp": lambda u: fn("exp", u),
    "log": lambda u: power(u, MINUS_ONE),
    "sqrt": lambda u: power(make("mul", (TWO, fn("sqrt", u))), MINUS_ONE),
    "sigmoid": lambda u: make("mul", (fn("sigmoid", u), sub(ONE, fn("sigmoid", u)))),
    "softplus": lambda u: fn("sigmoid", u),
}

__all__ = ["add", "slope"]

"""Terms as SymPy expressions of symbolic size, for users: Sum, Product, KroneckerDelta, Piecewise, Derivative, Indexed.

No text is ever parsed, so that a variable may be called I, S or lambda_. Every bound letter gets a symbol whose name
nothing visible shares, because SymPy's `subs` and `diff` take equal names for the same letter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from derive.kernel.context import Context
from derive.sympy_bridge.explicit import ASSUMPTIONS
from derive.term import TRUE, Term, replace_variable, subterms

S = sympy.S
ASSUMED: dict[str, dict[str, bool]] = {
    **ASSUMPTIONS,
    "bit": {"integer": True, "nonnegative": True},
    "index": {"integer": True, "nonnegative": True},
}
FUNCTIONS: dict[str, Callable[..., sympy.Expr]] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "log1p": lambda x: sympy.log(1 + x),
    "expm1": lambda x: sympy.exp(x) - 1,
    "sqrt": sympy.sqrt,
    "abs": sympy.Abs,
    "sign": sympy.sign,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": sympy.tan,
    "sinh": sympy.sinh,
    "cosh": sympy.cosh,
    "tanh": sympy.tanh,
    "atan": sympy.atan,
    "erf": sympy.erf,
    "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
    "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
    "relu": lambda x: sympy.Max(x, 0),
    "lgamma": sympy.loggamma,
    "digamma": lambda x: sympy.polygamma(0, x),
    "trigamma": lambda x: sympy.polygamma(1, x),
    "max": sympy.Max,
    "min": sympy.Min,
}
RELATIONS: dict[str, Any] = {
    "==": sympy.Eq,
    "!=": sympy.Ne,
    "<": sympy.StrictLessThan,
    "<=": sympy.LessThan,
    ">": sympy.StrictGreaterThan,
    ">=": sympy.GreaterThan,
}


def to_sympy(term: Term, context: Context, unfold: bool = True) -> sympy.Basic:
    """The term as a SymPy expression; with `unfold`, definitions are written out, else they stand as (indexed) names.

    Indices run from 0 to n - 1. Derivatives and limits are left unevaluated; E, Var, Cov and extremes over an axis are
    undefined functions of what they are taken of.
    """
    names = {k.value[0] for t in _reached(term, context) for k in t.letters | set(t.bound)} & {
        k.value[0] for k in term.letters
    }
    taken = names | set(context.axes) | set(context.declarations) | set(context.definitions)
    letters = {k: sympy.Symbol(k.value[0], **ASSUMED["index"]) for k in term.letters}
    return _Symbolic(context, unfold, frozenset(taken), letters).value(term)


def _reached(term: Term, context: Context) -> list[Term]:
    return [term, *(d.body for d in context.definitions.values())]


class Where(sympy.Function):
    """Where(condition, a, b): a where the condition holds, else b.

    It stands for Piecewise under a Sum or Product, which SymPy would move out of inner sums, letters and all.
    """

    nargs = (3,)

    @classmethod
    def eval(cls, condition: sympy.Basic, then: sympy.Expr, other: sympy.Expr) -> sympy.Expr | None:
        return then if condition == S.true else other if condition == S.false else None

    def _eval_derivative(self, symbol: sympy.Basic) -> sympy.Expr:
        condition, then, other = self.args
        return Where(condition, then.diff(symbol), other.diff(symbol))

    def _eval_rewrite_as_Piecewise(self, condition: Any, then: Any, other: Any, **kwargs: Any) -> sympy.Expr:
        return sympy.Piecewise((then, condition), (other, True))

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return printer._print(self.rewrite(sympy.Piecewise)) + (f"^{{{exp}}}" if exp else "")

    def _numpycode(self, printer: Any) -> str:
        condition, then, other = (printer._print(a) for a in self.args)
        return f"{printer._module_format('numpy.where')}({condition}, {then}, {other})"

    def _pythoncode(self, printer: Any) -> str:
        condition, then, other = (printer._print(a) for a in self.args)
        return f"({then} if {condition} else {other})"


@dataclass(frozen=True)
class _Symbolic:
    """Translates terms; `summed` says whether they stand under a sum or product.

    `letters` are the index letters in sight, `taken` names that a bound letter must not have.
    """

    context: Context
    unfold: bool
    taken: frozenset[str]
    letters: Mapping[Term, sympy.Expr]
    summed: bool = False

    def value(self, term: Term) -> sympy.Basic:
        return ROWS[term.op](self, term)

    def values(self, terms: Iterable[Term]) -> list[sympy.Basic]:
        return [self.value(t) for t in terms]

    def size(self, axis: str) -> sympy.Symbol:
        return sympy.Symbol(axis, integer=True, positive=True)

    def binding(self, letters: tuple[Term, ...]) -> tuple[_Symbolic, list[sympy.Symbol]]:
        """The translation inside a binder, and the symbols of its letters."""
        taken, symbols = set(self.taken), []
        for letter in letters:
            stem = name = letter.value[0]
            number = 0
            while name in taken:
                number += 1
                name = f"{stem}{number}"
            taken.add(name)
            symbols.append(sympy.Symbol(name, **ASSUMED["index"]))
        inner = {**self.letters, **dict(zip(letters, symbols, strict=True))}
        return replace(self, taken=frozenset(taken), letters=inner), symbols

    def ranges(self, letters: tuple[Term, ...], symbols: list[sympy.Symbol]) -> list[tuple[sympy.Expr, ...]]:
        return [(s, 0, self.size(k.value[1]) - 1) for k, s in zip(letters, symbols, strict=True)]

    def named(self, name: str, subscripts: tuple[Term, ...], **assumptions: bool) -> sympy.Expr:
        if not subscripts:
            return sympy.Symbol(name, **assumptions)
        return sympy.IndexedBase(name, **assumptions)[tuple(self.values(subscripts))]


Row = Callable[[_Symbolic, Term], sympy.Basic]


def _var(x: _Symbolic, term: Term) -> sympy.Expr:
    return x.named(term.value, term.args, **ASSUMED[x.context.declarations[term.value].kind])


def _def(x: _Symbolic, term: Term) -> sympy.Basic:
    if not x.unfold:
        return x.named(term.value, term.args, real=True)
    definition = x.context.definitions[term.value]
    inner = {**x.letters, **dict(zip(definition.letters, x.values(term.args), strict=True))}
    return replace(x, letters=inner).value(definition.body)


def _reduction(kind: Any, neutral: sympy.Expr) -> Row:
    def row(x: _Symbolic, term: Term) -> sympy.Expr:
        inner, symbols = x.binding(term.bound)
        inner = replace(inner, summed=True)
        body = inner.value(term.args[0])
        if term.args[1] is not TRUE:
            body = Where(inner.value(term.args[1]), body, neutral)
        return kind(body, *x.ranges(term.bound, symbols))

    return row


def _binder(name: str) -> Row:
    """An undefined function of a Lambda (which binds the letters) and the sizes."""

    def row(x: _Symbolic, term: Term) -> sympy.Expr:
        inner, symbols = x.binding(term.bound)
        parts = [sympy.Lambda(tuple(symbols), inner.value(term.args[0]))]
        if term.args[1] is not TRUE:
            parts.append(sympy.Lambda(tuple(symbols), inner.value(term.args[1])))
        return sympy.Function(name)(*parts, *(x.size(k.value[1]) for k in term.bound))

    return row


def _quantifier(name: str) -> Row:
    """The same as a condition."""
    row = _binder(name)
    return lambda x, term: sympy.Ne(row(x, term), 0)


def _delta(x: _Symbolic, term: Term) -> sympy.Expr:
    return sympy.KroneckerDelta(*x.values(term.args))  # with a range, `lambdify` could not print it


def _where(x: _Symbolic, term: Term) -> sympy.Expr:
    condition, then, other = x.values(term.args)
    return Where(condition, then, other) if x.summed else sympy.Piecewise((then, condition), (other, True))


def _diff(x: _Symbolic, term: Term) -> sympy.Expr:
    body, entry = x.values(term.args)
    return sympy.Derivative(body, entry)


def _at(x: _Symbolic, term: Term) -> sympy.Basic:
    body = term.args[0]
    for definition in reversed(list(x.context.definitions.values())):
        if any(t.op == "def" and t.value == definition.name for t in subterms(body)):
            body = replace_variable(body, definition.name, definition.letters, definition.body, op="def")
    if any(t.op == "diff" and t.args[1].value == term.value for t in subterms(body)):
        inner, symbols = x.binding(term.bound)
        variable = sympy.Symbol(term.value, **ASSUMED[x.context.declarations[term.value].kind])
        return sympy.Function("at")(x.value(body), variable, sympy.Lambda(tuple(symbols), inner.value(term.args[1])))
    return x.value(replace_variable(body, term.value, term.bound, term.args[1]))


def _limit(x: _Symbolic, term: Term) -> sympy.Expr:
    body, variable, point = x.values(term.args)
    return sympy.Limit(body, variable, point, term.value or "+-")


def _function(name: str) -> Row:
    return lambda x, term: sympy.Function(name)(*x.values(term.args))


ROWS: dict[str, Row] = {
    "num": lambda x, t: sympy.Rational(t.value.numerator, t.value.denominator),
    "const": lambda x, t: sympy.pi if t.value == "pi" else sympy.oo,
    "size": lambda x, t: x.size(t.value),
    "index": lambda x, t: x.letters[t] if t in x.letters else sympy.Symbol(t.value[0], **ASSUMED["index"]),
    "var": _var,
    "def": _def,
    "add": lambda x, t: sympy.Add(*x.values(t.args)),
    "mul": lambda x, t: sympy.Mul(*x.values(t.args)),
    "neg": lambda x, t: -x.value(t.args[0]),
    "div": lambda x, t: x.value(t.args[0]) / x.value(t.args[1]),
    "pow": lambda x, t: sympy.Pow(*x.values(t.args)),
    "fn": lambda x, t: FUNCTIONS[t.value](*x.values(t.args)),
    "sum": _reduction(sympy.Sum, S.Zero),
    "prod": _reduction(sympy.Product, S.One),
    "max": _binder("maximum"),
    "min": _binder("minimum"),
    "argmax": _binder("argmax"),
    "all": _quantifier("forall"),
    "any": _quantifier("exists"),
    "delta": _delta,
    "where": _where,
    "diff": _diff,
    "at": _at,
    "limit": _limit,
    "E": _function("E"),
    "Var": _function("Var"),
    "Cov": _function("Cov"),
    "cmp": lambda x, t: RELATIONS[t.value](*x.values(t.args), evaluate=False),
    "and": lambda x, t: sympy.And(*x.values(t.args)),
    "or": lambda x, t: sympy.Or(*x.values(t.args)),
    "not": lambda x, t: sympy.Not(x.value(t.args[0])),
    "true": lambda x, t: S.true,
    "false": lambda x, t: S.false,
    "holds": lambda x, t: sympy.Ne(x.value(t.args[0]), 0),
    "list": lambda x, t: sympy.Tuple(*x.values(t.args)),
}

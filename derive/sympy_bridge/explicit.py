"""Terms at concrete sizes: each component a SymPy symbol of its own, each sum written out, each derivative by `diff`.

Where a formula switches (abs, max, where, …) the way taken is decided by a `Path`: a run of the evaluation follows one
way, and the caller tries all of them. What a run assumed is kept as signs of expressions, so no Piecewise, Heaviside or
Max of SymPy takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from derive.kernel.context import Context
from derive.sympy_bridge.cancel import Bit
from derive.sympy_bridge.means import mean
from derive.sympy_bridge.paths import PARTIAL, RANDOM, NeedsOutcome, Path, Undefined, Unsupported, is_random
from derive.term import TRUE, Term, mul

Env = Mapping[Term, int]
S = sympy.S


ASSUMPTIONS: dict[str, dict[str, bool]] = {
    "real": {"real": True},
    "positive": {"positive": True},
    "nonnegative": {"nonnegative": True},
    "integer": {"integer": True},
    "random": {"real": True},
}

FUNCTIONS: dict[str, Callable[[sympy.Expr], sympy.Expr]] = {
    "exp": sympy.exp,
    "log": sympy.log,
    "log1p": lambda x: sympy.log(1 + x),
    "expm1": lambda x: sympy.exp(x) - 1,
    "sqrt": sympy.sqrt,
    "sin": sympy.sin,
    "cos": sympy.cos,
    "tan": lambda x: sympy.sin(x) / sympy.cos(x),
    "sinh": lambda x: (sympy.exp(x) - sympy.exp(-x)) / 2,
    "cosh": lambda x: (sympy.exp(x) + sympy.exp(-x)) / 2,
    "tanh": lambda x: 1 - 2 / (sympy.exp(2 * x) + 1),
    "atan": sympy.atan,
    "erf": sympy.erf,
    "sigmoid": lambda x: 1 / (1 + sympy.exp(-x)),
    "softplus": lambda x: sympy.log(1 + sympy.exp(x)),
    "lgamma": sympy.loggamma,
    "digamma": lambda x: sympy.polygamma(0, x),
    "trigamma": lambda x: sympy.polygamma(1, x),
}


# -- evaluation --------------------------------------------------------------------------------------------------------


@dataclass
class Explicit:
    """Evaluates terms of a context at given sizes along one path.

    `shift` is the replacement, by `at` or by an outcome, under which signs are to be decided.
    """

    context: Context
    sizes: Mapping[str, int]
    path: Path = field(default_factory=Path)
    shift: tuple[dict[sympy.Expr, sympy.Expr], ...] = ()
    inside_diff: bool = False
    random: bool = False  # inside E: random components are symbols
    memo: dict[Any, sympy.Expr] = field(default_factory=dict)
    children: dict[str, Explicit] = field(default_factory=dict)

    def value(self, term: Term, env: Env) -> sympy.Expr:
        """The term's value. Raises Undefined and Unsupported."""
        key = (term, tuple(env[k] for k in sorted(term.letters, key=lambda k: k.value)))
        found = self.memo.get(key)
        if found is None:
            found = VALUES.get(term.op, _unknown)(self, term, env)
            if term.op in PARTIAL:
                found = self._checked(found)
            self.memo[key] = found
        return found

    def _checked(self, e: sympy.Expr) -> sympy.Expr:
        """The value; Undefined where SymPy left the reals, and its Abs replaced by the way taken."""
        if e.has(S.ComplexInfinity, S.NaN, S.ImaginaryUnit, S.Infinity, S.NegativeInfinity):
            raise Undefined("not a real number")
        if e.has(sympy.Abs, sympy.sign):
            e = e.xreplace({a: a.args[0] * self.sign(a.args[0]) for a in e.atoms(sympy.Abs)})
            e = e.xreplace({a: sympy.Integer(self.sign(a.args[0])) for a in e.atoms(sympy.sign)})
        return e

    def differentiating(self) -> Explicit:
        """The same inside a derivative."""
        return self if self.inside_diff else self._kept("diff", inside_diff=True)

    def averaging(self) -> Explicit:
        """The same inside a mean."""
        return self if self.random else self._kept("mean", random=True)

    def _kept(self, key: str, **changes: Any) -> Explicit:
        if key not in self.children:
            self.children[key] = self.child(**changes)
        return self.children[key]

    def child(self, **changes: Any) -> Explicit:
        """The same with changes and a memory of its own."""
        settings = {
            "shift": self.shift,
            "inside_diff": self.inside_diff,
            "random": self.random,
            **changes,
        }
        return Explicit(self.context, self.sizes, self.path, memo={}, **settings)

    def sign(self, e: sympy.Expr) -> int:
        """The sign of a value at the point."""
        if e.is_Rational:  # of indices, mostly; the path has no say in it
            return (e.p > 0) - (e.p < 0)
        for change in reversed(self.shift):
            e = e.xreplace(change)
        if self.random and any(is_random(s) for s in e.free_symbols):
            raise NeedsOutcome
        result = self.path.sign(e, inside_diff=self.inside_diff)
        assert result is not None
        if result == 0 and self.inside_diff and not e.is_zero:
            raise Undefined("the formula switches here")
        return result

    def symbol(self, name: str, place: tuple[int, ...]) -> sympy.Expr:
        """The component of a variable."""
        declaration = self.context.declarations[name]
        text = f"{name}{list(place) if place else ''}".replace(" ", "")
        if declaration.kind == "index":
            return sympy.Integer(self.path.choose(text, tuple(range(self.sizes[declaration.over or ""]))))
        if declaration.kind == "bit":
            return Bit(text, integer=True, nonnegative=True)
        if declaration.kind == "random":
            return sympy.Symbol(RANDOM + text, real=True)
        return sympy.Symbol(text, **ASSUMPTIONS[declaration.kind])

    def holds(self, condition: Term, env: Env) -> bool:
        """The truth of the condition on this path."""
        return CONDITIONS[condition.op](self, condition, env)

    def environments(self, term: Term, env: Env) -> Iterator[Env]:
        """The values of a binder's letters that pass its filter."""
        for choice in product(*(range(self.sizes[k.value[1]]) for k in term.bound)):
            inner = {**env, **dict(zip(term.bound, choice, strict=True))}
            if term.args[1] is TRUE or self.holds(term.args[1], inner):
                yield inner

    def place(self, term: Term, env: Env) -> int:
        """The value of a subscript."""
        if term.op == "index":
            return env[term]
        if term.op == "argmax":
            return _argmax(self, term, env)
        value = self.value(term, env)
        if not value.is_Integer:
            raise Unsupported("a subscript")
        return int(value)


def _unknown(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    raise Unsupported(term.op)


def _rational(value: Fraction) -> sympy.Expr:
    return sympy.Rational(value.numerator, value.denominator)


def _var(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    return x.symbol(term.value, tuple(x.place(a, env) for a in term.args))


def _def(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    definition = x.context.definitions[term.value]
    inner = dict(zip(definition.letters, (x.place(a, env) for a in term.args), strict=True))
    meant = definition.body.letters | x.context.letters  # fixed ones may stand in definitions that it names
    fixed = {k: v for k, v in env.items() if k in meant and k not in inner}
    return x.value(definition.body, {**fixed, **inner})


def _div(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    top, bottom = (x.value(a, env) for a in term.args)
    if bottom.is_zero:
        raise Undefined("division by zero")
    x.path.bottoms.append(bottom)  # SymPy cancels z/z before a hypothesis says that z is 0
    return top / bottom


def _pow(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    base, exponent = (x.value(a, env) for a in term.args)
    if exponent.is_zero:
        return S.One
    if base.is_zero:
        if exponent.is_positive:
            return S.Zero
        raise Undefined("a power of 0") if exponent.is_negative else Unsupported("a power of 0")
    if not exponent.is_integer and base.is_negative:
        raise Undefined("a real power of a negative number")
    return base**exponent


def _fn(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    values = [x.value(a, env) for a in term.args]
    if term.value in SWITCHES:
        return SWITCHES[term.value](x, *values)
    (value,) = values
    if term.value == "log" and (value.is_zero or value.is_negative):
        raise Undefined("the logarithm of 0 or less")
    if term.value == "sqrt" and value.is_negative:
        raise Undefined("the root of a negative number")
    if term.value not in FUNCTIONS:
        raise Unsupported(term.value)
    return FUNCTIONS[term.value](value)


SWITCHES: dict[str, Callable[..., sympy.Expr]] = {
    "abs": lambda x, u: u * x.sign(u),
    "sign": lambda x, u: sympy.Integer(x.sign(u)),
    "relu": lambda x, u: u if x.sign(u) > 0 else S.Zero,
    "max": lambda x, u, v: u if x.sign(u - v) >= 0 else v,
    "min": lambda x, u, v: u if x.sign(u - v) <= 0 else v,
}


def _extreme(direction: int) -> Callable[[Explicit, Term, Env], sympy.Expr]:
    def row(x: Explicit, term: Term, env: Env) -> sympy.Expr:
        values = [x.value(term.args[0], inner) for inner in x.environments(term, env)]
        if not values:
            raise Undefined("an empty extreme")
        best = values[0]
        for value in values[1:]:
            best = value if x.sign(value - best) == direction else best
        return best

    return row


def _argmax(x: Explicit, term: Term, env: Env) -> int:
    best: tuple[int, sympy.Expr] | None = None
    for inner in x.environments(term, env):
        value = x.value(term.args[0], inner)
        if best is None or x.sign(value - best[1]) > 0:
            best = inner[term.bound[0]], value
    if best is None:
        raise Undefined("an empty argmax")
    return best[0]


def _sum(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    return sympy.Add(*(x.value(term.args[0], inner) for inner in x.environments(term, env)))


def _prod(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    return sympy.Mul(*(x.value(term.args[0], inner) for inner in x.environments(term, env)))


def _diff(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    body, entry = term.args
    symbol = x.symbol(entry.value, tuple(x.place(a, env) for a in entry.args))
    return sympy.diff(x.differentiating().value(body, env), symbol)


def _at(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    body, replacement = term.args
    axes = x.context.declarations[term.value].axes
    change = {}
    for place in product(*(range(x.sizes[a]) for a in axes)):
        inner = {**env, **dict(zip(term.bound, place, strict=True))}
        change[x.symbol(term.value, place)] = x.value(replacement, inner)
    return x.child(shift=(*x.shift, change)).value(body, env).xreplace(change)


def _where(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    condition, then, other = term.args
    return x.value(then if x.holds(condition, env) else other, env)


def _mean(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    return mean(x, term.args[0], env)


def _covariance(x: Explicit, term: Term, env: Env) -> sympy.Expr:
    left, right = term.args[0], term.args[-1]
    return mean(x, mul(left, right), env) - mean(x, left, env) * mean(x, right, env)


VALUES: dict[str, Callable[[Explicit, Term, Env], sympy.Expr]] = {
    "num": lambda x, t, env: _rational(t.value),
    "const": lambda x, t, env: sympy.pi if t.value == "pi" else _unknown(x, t, env),
    "size": lambda x, t, env: sympy.Integer(x.sizes[t.value]),
    "index": lambda x, t, env: sympy.Integer(env[t]),
    "var": _var,
    "def": _def,
    "add": lambda x, t, env: sympy.Add(*(x.value(a, env) for a in t.args)),
    "mul": lambda x, t, env: sympy.Mul(*(x.value(a, env) for a in t.args)),
    "neg": lambda x, t, env: -x.value(t.args[0], env),
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "sum": _sum,
    "prod": _prod,
    "max": _extreme(1),
    "min": _extreme(-1),
    "argmax": lambda x, t, env: sympy.Integer(_argmax(x, t, env)),
    "delta": lambda x, t, env: sympy.Integer(x.place(t.args[0], env) == x.place(t.args[1], env)),
    "where": _where,
    "diff": _diff,
    "at": _at,
    "E": _mean,
    "Var": _covariance,
    "Cov": _covariance,
}


# -- conditions --------------------------------------------------------------------------------------------------------

RELATIONS: dict[str, Callable[[int], bool]] = {
    "==": lambda s: s == 0,
    "!=": lambda s: s != 0,
    "<": lambda s: s < 0,
    "<=": lambda s: s <= 0,
    ">": lambda s: s > 0,
    ">=": lambda s: s >= 0,
}


def _cmp(x: Explicit, term: Term, env: Env) -> bool:
    left, right = (x.value(a, env) for a in term.args)
    return RELATIONS[term.value](x.sign(left - right))


def _holds(x: Explicit, term: Term, env: Env) -> bool:
    bit = x.value(term.args[0], env)
    for change in reversed(x.shift):  # the bit that stands there once the entries are replaced, from the inside out
        bit = bit.xreplace(change)
    return x.path.bit(bit) if isinstance(bit, Bit) else x.sign(bit) != 0


CONDITIONS: dict[str, Callable[[Explicit, Term, Env], bool]] = {
    "cmp": _cmp,
    "and": lambda x, t, env: all(x.holds(a, env) for a in t.args),
    "or": lambda x, t, env: any(x.holds(a, env) for a in t.args),
    "not": lambda x, t, env: not x.holds(t.args[0], env),
    "true": lambda x, t, env: True,
    "false": lambda x, t, env: False,
    "all": lambda x, t, env: all(x.holds(t.args[0], inner) for inner in x.environments(t, env)),
    "any": lambda x, t, env: any(x.holds(t.args[0], inner) for inner in x.environments(t, env)),
    "holds": _holds,
}


def explicit(
    term: Term, context: Context, sizes: Mapping[str, int], indices: Env | None = None, path: Path | None = None
) -> sympy.Expr:
    """The term at these sizes and indices, every component a symbol: exact, derivatives by `sympy.diff`.

    Where the formula has cases, the branches taken are the path's (by default the first: everything positive). Raises
    Undefined and Unsupported.
    """
    return Explicit(context, sizes, path or Path()).value(term, dict(indices or {}))

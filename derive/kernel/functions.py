"""Functions in normal form: each in terms of exp, log and a few others."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import cases, powers, special
from derive.kernel.poly import PIECEWISE, UNIT, Exponent, Mono, Poly, add_to, constant, key, leading, primes, scaled
from derive.kernel.signs import ANY, NEG, POS, ZERO, sign
from derive.term import Term, both, cmp, fn, mul, num, over, sub, where

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

# What a function is in terms of the others, so that equal formulas meet.
UNFOLD: dict[str, Callable[..., Term]] = {
    "sqrt": lambda x: x ** Fraction(1, 2),
    "log1p": lambda x: fn("log", 1 + x),
    "expm1": lambda x: fn("exp", x) - 1,
    "sigmoid": lambda x: 1 / (1 + fn("exp", -x)),
    "softplus": lambda x: fn("log", 1 + fn("exp", x)),
    "sinh": lambda x: (fn("exp", x) - fn("exp", -x)) / 2,
    "cosh": lambda x: (fn("exp", x) + fn("exp", -x)) / 2,
    "tanh": lambda x: 1 - 2 / (1 + fn("exp", 2 * x)),
    "tan": lambda x: fn("sin", x) / fn("cos", x),
}

# Functions in pieces, written in cases.
BY_CASES: dict[str, Callable[..., Term]] = {
    "abs": lambda u: where(cmp(">=", u, 0), u, -u),
    "relu": lambda u: where(cmp(">", u, 0), u, 0),
    "sign": lambda u: where(cmp(">", u, 0), 1, where(cmp("<", u, 0), -1, 0)),
    "max": lambda u, v: where(cmp(">=", u, v), u, v),
    "min": lambda u, v: where(cmp("<=", u, v), u, v),
}


def function(nf: Normal, term: Term) -> Poly:
    name, args = term.value, term.args
    if name == "sqrt":
        return powers.factored(nf, term)
    if name == "log":
        return log(nf, args[0])
    if name in UNFOLD:
        return nf.poly(UNFOLD[name](*args))
    if name in ("max", "min"):
        u, v = map(nf.poly, args)
        side = 1 if name == "max" else -1
        written = sign(nf, sub(*args[::side]))
        return add_to(dict(v), piece(nf, "relu", scaled(add_to(dict(u), v, -1), side), written), side)
    if name in PIECEWISE:
        return piece(nf, name, nf.poly(args[0]), sign(nf, args[0]))
    if name == "exp":
        return nf.exp(nf.poly(args[0]))
    u = nf.poly(args[0])
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.poly(fn(name, here.term(part))))
    if name in ("sin", "cos"):
        return special.circular(nf, name, u)
    return special.special(nf, name, u)


def piece(nf: Normal, name: str, u: Poly, written: int = ANY) -> Poly:
    """abs, sign or relu of a polynomial, in each of its cases by itself; as `written` it may have one sign plainly."""
    if name == "sign":
        return cases.sided(nf, u)
    if written & NEG and written & POS and nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: piece(here, name, part))
    signs = written & sign(nf, nf.term(u))
    if not signs & NEG:
        return u
    if not signs & POS:
        return scaled(u, -1) if name == "abs" else {}
    return nf.mul(cases.sided(nf, u) if name == "abs" else nf.positive(u), u)


def exp(nf: Normal, u: Poly) -> Poly:
    """e^u as a product over the terms of u."""
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.exp(part))
    result: Poly = {UNIT: 1}
    factors: dict[Term, Exponent] = {}
    for mono, c in add_to({}, u).items():  # whole coefficients become integers, as exponents must be
        logs = [a for a, e in mono if a.op == "fn" and a.value == "log"]
        if len(logs) == 1 and (logs[0], 1) in mono and sign(nf, logs[0].args[0]) == POS:
            result = nf.mul(result, nf.power(nf.poly(logs[0].args[0]), {mono - {(logs[0], 1)}: c}))
            continue
        found = None if logs else _product(nf, mono)
        if found is not None:
            result = nf.mul(result, nf.power(found[0], {found[1]: c}))
            continue
        factors[fn("exp", nf.term({mono: 1}))] = c
    return nf.mul(result, {frozenset(factors.items()): 1})


def _product(nf: Normal, mono: Mono) -> tuple[Poly, Mono] | None:
    """For a sum of c_k log u_k with u_k > 0, times what is free of k: the product of u_k^c_k, and the rest."""
    for a, e in mono:
        if a.op != "sum" or e != 1:
            continue
        factors = a.args[0].args if a.args[0].op == "mul" else (a.args[0],)
        logs = [t for t in factors if t.op == "fn" and t.value == "log"]
        if len(logs) != 1 or sign(nf, logs[0].args[0]) != POS or any(t.op == "delta" for t in factors):
            continue
        tests = [t.args[0] for t in factors if t.op == "where"]
        weight = mul(*(t for t in factors if t is not logs[0] and t.op != "where"))
        each = over("prod", logs[0].args[0] ** weight, *a.bound, where=both(*tests))
        return nf.poly(each), mono - {(a, e)}
    return None


def log(nf: Normal, term: Term) -> Poly:
    """The logarithm of a term, its factors read as they are written."""
    parts = powers.factors(nf, term, {UNIT: 1})
    found = _log_product(nf, parts, len(parts) == 1)
    return log_of(nf, nf.poly(term)) if found is None else found


def log_of(nf: Normal, u: Poly) -> Poly:
    """log u, its factors taken apart."""
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: log_of(here, part))
    if not u:  # the logarithm of what is not positive
        return {}
    scale, content, rest = powers.parts(nf, u)
    parts = [(nf.poly(a), {UNIT: x}, a) for a, x in sorted(content, key=lambda p: key(p[0]))]
    if len(rest) > 1:
        side = 1 if scale > 0 else -1
        parts.append((scaled(rest, side), {UNIT: 1}, nf.term(scaled(rest, side))))
        scale = scale * side
    alone = len(parts) == 1 and scale == 1
    if alone and constant(parts[0][1]) == 1:
        return _log_atom(nf, parts[0][2])
    total = _log_product(nf, parts, alone)
    if total is None:
        return nf.atom(fn("log", nf.term(u)))
    for p, k in primes(Fraction(scale)).items() if scale > 0 else ():
        add_to(total, nf.atom(fn("log", num(p))), k)
    return total if scale > 0 else {}


def _log_product(nf: Normal, parts: list[powers.Factor], alone: bool) -> Poly | None:
    """The logarithm of a product as a sum of logarithms where each factor is positive, or stands alone; else None:
    where a factor is not positive the others would be left over."""
    total: Poly = {}
    for base, e, source in parts:
        signs = sign(nf, source) & sign(nf, nf.term(base))
        k = constant(e)
        if source.op == "fn" and source.value == "abs" or (isinstance(k, int) and k % 2 == 0 and signs != POS):
            one = log_abs(nf, base) if alone or not signs & ZERO else None
        else:  # a power of a negative base stays whole
            one = log_of(nf, base) if signs == POS or (alone and (k is not None or not signs & NEG)) else None
        if one is None:
            return None
        add_to(total, nf.mul(e, one))
    return total


def _log_atom(nf: Normal, a: Term) -> Poly:
    """The logarithm of an atom: that of a power, where its base may be negative, is kept."""
    if a.op == "fn" and a.value == "exp":
        return nf.poly(a.args[0])
    if a.op == "pow" and sign(nf, a.args[0]) == POS:
        return nf.mul(nf.poly(a.args[1]), log_of(nf, nf.poly(a.args[0])))
    if a.op == "prod" and sign(nf, a.args[0]) == POS:
        return nf.poly(over("sum", fn("log", a.args[0]), *a.bound, where=a.args[1]))
    return nf.atom(fn("log", a))


def log_abs(nf: Normal, u: Poly) -> Poly:
    """log |u|."""
    signs = sign(nf, nf.term(u))
    if signs in (POS, NEG):
        return log_of(nf, scaled(u, 1 if signs == POS else -1))
    return nf.atom(fn("log", fn("abs", nf.term(u if not u or leading(u) > 0 else scaled(u, -1)))))

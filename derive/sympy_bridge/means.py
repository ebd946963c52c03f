"""Means of explicit expressions: by linearity and independence from moments, or by going through all outcomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

import sympy

from derive.kernel.context import Declaration
from derive.sympy_bridge.paths import MOMENT, NeedsOutcome, Unsupported, is_random
from derive.term import Term

if TYPE_CHECKING:
    from derive.sympy_bridge.explicit import Env, Explicit

MAX_OUTCOMES = 512
S = sympy.S


def mean(x: Explicit, body: Term, env: Env) -> sympy.Expr:
    """E(body). Raises Unsupported where it does not follow from moments or finitely many outcomes."""
    try:
        expression = x.averaging().value(body, env)
    except NeedsOutcome:
        return _over_outcomes(x, body, env)
    symbols = sorted((s for s in expression.free_symbols if is_random(s)), key=str)
    if not symbols:
        return expression
    try:
        polynomial = sympy.Poly(sympy.expand(expression), *symbols)
    except sympy.PolynomialError:
        return _over_outcomes(x, body, env)
    if any(is_random(s) for s in polynomial.free_symbols - set(symbols)) or any(
        is_random(s) for c in polynomial.coeffs() for s in c.free_symbols
    ):
        return _over_outcomes(x, body, env)
    places = {_text(name, place): (name, place) for name, place in _components(x, _random_names(x, body))}
    total = S.Zero
    for powers, coefficient in polynomial.terms():
        moments = [_moment(x, *places[s.name], k) for s, k in zip(symbols, powers, strict=True) if k]
        total += coefficient * sympy.Mul(*moments)
    return total


def _text(name: str, place: tuple[int, ...]) -> str:
    return f"~{name}{list(place) if place else ''}".replace(" ", "")


def _random_names(x: Explicit, body: Term) -> list[str]:
    """The random names that the body rests on, through definitions."""
    seen: set[str] = set()
    waiting = list(body.names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            waiting += x.context.definitions[name].body.names if name in x.context.definitions else ()
    return [n for n, d in x.context.declarations.items() if n in seen and d.kind == "random"]


def _components(x: Explicit, names: list[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name in names:
        for place in product(*(range(x.sizes[a]) for a in x.context.declarations[name].axes)):
            yield name, place


# -- moments -----------------------------------------------------------------------------------------------------------


def _parameters(x: Explicit, declaration: Declaration, place: tuple[int, ...]) -> list[sympy.Expr]:
    assert declaration.law is not None
    env = dict(zip(declaration.letters, place, strict=False))
    return [x.value(p, env) for p in declaration.law.parameters]


def _moment(x: Explicit, name: str, place: tuple[int, ...], k: int) -> sympy.Expr:
    """E(name[place]**k)"""
    declaration = x.context.declarations[name]
    if declaration.law is None:
        raise Unsupported(f"the law of {name}")
    parameters = _parameters(x, declaration, place)
    if declaration.law.family == "random":
        mean, variance = parameters
        if k <= 2:
            return mean if k == 1 else variance + mean**2
        alike = all(p.letters.isdisjoint(declaration.letters) for p in declaration.law.parameters)
        return sympy.Symbol(f"{MOMENT}{name if alike else _text(name, place)}^{k}", real=True)
    return MOMENTS[declaration.law.family](k, *parameters)


def _normal(k: int, mean: sympy.Expr, variance: sympy.Expr) -> sympy.Expr:
    """By the recursion m(k) = mean m(k-1) + (k-1) variance m(k-2)."""
    before, now = S.Zero, S.One
    for j in range(1, k + 1):
        before, now = now, mean * now + (j - 1) * variance * before
    return now


MOMENTS: dict[str, Callable[..., sympy.Expr]] = {
    "normal": _normal,
    "bernoulli": lambda k, p: p,
    "uniform": lambda k, a, b: sympy.Add(*(a**j * b ** (k - j) for j in range(k + 1))) / (k + 1),
    "rademacher": lambda k: S.One if k % 2 == 0 else S.Zero,
}


# -- outcomes ----------------------------------------------------------------------------------------------------------


def _over_outcomes(x: Explicit, body: Term, env: Env) -> sympy.Expr:
    """The mean as a sum over all outcomes, where every law has two values."""
    components = list(_components(x, _random_names(x, body)))
    if 2 ** len(components) > MAX_OUTCOMES:
        raise Unsupported("too many outcomes")
    atoms = [_atoms(x, *c) for c in components]
    total = S.Zero
    for outcome in product(*atoms):
        change: dict[Any, Any] = {x.symbol(*c): v for c, (_, v) in zip(components, outcome, strict=True)}
        inner = x.child(shift=(*x.shift, change), random=True)
        total += sympy.Mul(*(p for p, _ in outcome)) * inner.value(body, env).xreplace(change)
    return total


def _atoms(x: Explicit, name: str, place: tuple[int, ...]) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """The values of a component with their probabilities."""
    declaration = x.context.declarations[name]
    family = declaration.law.family if declaration.law else ""
    if family == "bernoulli":
        (p,) = _parameters(x, declaration, place)
        return [(1 - p, S.Zero), (p, S.One)]
    if family == "rademacher":
        return [(S.Half, S.NegativeOne), (S.Half, S.One)]
    raise Unsupported(f"a mean that the moments of {name} do not give")

"""Whether signs contradict one another, by eliminating variables from those that are linear."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import sympy

Linear = tuple[tuple[tuple[sympy.Symbol, Fraction], ...], Fraction]  # coefficients and constant
LIMIT = 200  # inequalities


def infeasible(signs: Iterable[tuple[sympy.Expr, int]]) -> bool:
    """Whether no point gives all these signs: True only if the linear ones among them contradict one another.

    Each inequality is strict, as signs are: e > 0 or e < 0. Equations are left out, which only hides contradictions.
    """
    rows = []
    for expression, sign in signs:
        row = linear(sign * expression) if sign else None
        if row is not None:
            rows.append(row)
    return _contradictory(set(rows))


def linear(e: sympy.Expr) -> Linear | None:
    """The coefficients of an expression that is linear with rational coefficients, or None."""
    coefficients: dict[sympy.Symbol, Fraction] = {}
    constant = Fraction(0)
    for term, c in sympy.expand(e).as_coefficients_dict().items():
        if not c.is_Rational:
            return None
        if term == 1:
            constant += Fraction(int(c.p), int(c.q))
        elif term.is_Symbol:
            coefficients[term] = Fraction(int(c.p), int(c.q))
        else:
            return None
    return tuple(sorted(coefficients.items(), key=lambda p: p[0].name)), constant


def _contradictory(rows: set[Linear]) -> bool:
    """Whether row > 0 for all rows is impossible: Fourier and Motzkin's elimination."""
    while True:
        if any(not coefficients and constant <= 0 for coefficients, constant in rows):
            return True
        symbols = sorted({s for coefficients, _ in rows for s, _ in coefficients}, key=lambda s: s.name)
        if not symbols or len(rows) > LIMIT:
            return False
        symbol = symbols[0]
        up, down, rest = [], [], set()
        for row in rows:
            slope = dict(row[0]).get(symbol, Fraction(0))
            if slope:
                (up if slope > 0 else down).append(row)
            else:
                rest.add(row)
        rows = rest | {_combined(a, b, symbol) for a in up for b in down}


def _combined(a: Linear, b: Linear, symbol: sympy.Symbol) -> Linear:
    """The positive combination of two rows that is free of the symbol."""
    left, right = dict(a[0]), dict(b[0])
    p, q = -right[symbol], left[symbol]
    total = {s: p * left.get(s, Fraction(0)) + q * right.get(s, Fraction(0)) for s in {*left, *right}}
    kept = tuple(sorted(((s, c) for s, c in total.items() if c), key=lambda p: p[0].name))
    return kept, p * a[1] + q * b[1]

"""Several equations among the hypotheses solved at once: a box in which they certainly have a common root.

Newton's method in floating point leads to a root; as many entries as there are equations stay unknown, all others are
made rational. Krawczyk's test then shows that there is exactly one root in a box around it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from flint import arb, arb_mat, fmpq

from derive.evidence.enclosure import again
from derive.evidence.hypotheses import FAILURES, Draft, Instance
from derive.evidence.numbers import NotDecided, Poison, Scalar, Series, standard, written_out
from derive.evidence.places import Entry

MAX_EQUATIONS, MAX_UNKNOWNS = 12, 24
ROUNDS = 30
CLOSE = 1e-12
DENOMINATORS = (2, 5, 12, 60, 1000)
RADIUS = fmpq(1, 2**60)  # of the box
POLISHED = 5  # steps of Newton's method in full precision


def common_root(solver: Any, draft: Draft) -> Draft | None:
    """The draft with balls for some of its entries in which all equations certainly have a common root."""
    if solver.needs.determined or draft.roots:
        return None
    try:
        equations = solver.all_instances(draft)
        if not 2 <= len(equations) <= MAX_EQUATIONS:
            return None
        near = _descended(solver, draft, equations)
        if near is None:
            return None
        found, pivots = near
        for number in range(len(DENOMINATORS)):
            plain = {e: _plain(found[e], DENOMINATORS[number:]) for e in found if e not in pivots}
            start = {e: fmpq(Fraction(found[e]).numerator, Fraction(found[e]).denominator) for e in pivots}
            shown = _proved(solver, draft.changed({**plain, **start}), equations, pivots)
            if shown is not None:
                return shown
    except (*FAILURES, OverflowError, ZeroDivisionError, ValueError):
        pass
    return None


def _plain(value: float, denominators: tuple[int, ...]) -> fmpq:
    """A simple number near the value, but no integer that it is not: nothing shows where entries are 0 or alike."""
    near = (Fraction(value).limit_denominator(d) for d in denominators)
    simple = next(
        (s for s in near if s.denominator > 1 or abs(value - s) < CLOSE), Fraction(value).limit_denominator(10**6)
    )
    return fmpq(simple.numerator, simple.denominator)


def _linear(solver: Any, draft: Draft, equation: Instance) -> tuple[Scalar, dict[Entry, Scalar]]:
    """Left minus right of the equation, and its derivatives by the entries it depends on."""
    value, touched = solver.gap(draft, equation)
    here = solver.needs.build(draft, solver.budget, strict=False, laws=frozenset())
    if here is None:
        raise NotDecided("the declarations")
    slopes = {}
    left, right = equation.requirement.condition.args
    for entry in sorted(touched):
        if solver.movable(entry):
            place = again(here, solver.budget).differentiating(entry)
            slopes[entry] = _slope(place.value(left, equation.letters), place.bit) - _slope(
                place.value(right, equation.letters), place.bit
            )
    return standard(value), slopes


def _slope(value: Any, bit: int) -> Scalar:
    if not isinstance(value, Series):
        return fmpq(0)
    found = value.terms.get((bit, ()), fmpq(0))
    if isinstance(found, Poison):
        raise NotDecided("a derivative where a formula changes")
    return found


def _descended(solver: Any, draft: Draft, equations: list[Instance]) -> tuple[dict[Entry, float], list[Entry]] | None:
    """An approximate common root near the draft, and entries by which the equations can be solved."""
    current = dict[Entry, float]()
    for _ in range(ROUNDS):
        moved = draft.changed({e: fmpq(*Fraction(v).as_integer_ratio()) for e, v in current.items()})
        found = [_linear(solver, moved, e) for e in equations]
        unknowns = sorted({e for _, slopes in found for e in slopes})
        if not len(equations) <= len(unknowns) <= MAX_UNKNOWNS:
            return None
        rows = [[_float(slopes.get(u, fmpq(0))) for u in unknowns] for _, slopes in found]
        gaps = [_float(value) for value, _ in found]
        values = {u: _float(moved.entries[u]) for u in unknowns}
        pivots = _pivots(rows)
        if pivots is None:
            return None
        if max(map(abs, gaps)) < CLOSE:
            return values, [unknowns[p] for p in pivots]
        step = _least(rows, gaps)
        if step is None or max(map(abs, step)) > 1e6:
            return None
        current = {u: values[u] - s for u, s in zip(unknowns, step, strict=True)}
    return None


def _float(value: Scalar) -> float:
    exact = value if isinstance(value, fmpq) else written_out(value.mid())
    return float(Fraction(int(exact.p), int(exact.q)))


def _least(rows: list[list[float]], gaps: list[float]) -> list[float] | None:
    """The shortest step by which the linear forms change by the gaps."""
    square = [[sum(a * b for a, b in zip(r, s, strict=True)) for s in rows] for r in rows]
    weights = _solved(square, gaps)
    if weights is None:
        return None
    return [sum(w * row[k] for w, row in zip(weights, rows, strict=True)) for k in range(len(rows[0]))]


def _solved(square: list[list[float]], right: list[float]) -> list[float] | None:
    rows = [[*row, g] for row, g in zip(square, right, strict=True)]
    count = len(rows)
    for k in range(count):
        best = max(range(k, count), key=lambda r: abs(rows[r][k]))
        if abs(rows[best][k]) < 1e-12:
            return None
        rows[k], rows[best] = rows[best], rows[k]
        for r in range(count):
            if r != k:
                factor = rows[r][k] / rows[k][k]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


def _pivots(rows: list[list[float]]) -> list[int] | None:
    """Columns of a square part that is not singular, the largest pivots first; None where there is none."""
    left = [list(row) for row in rows]
    found: list[int] = []
    for _ in rows:
        size, r, c = max((abs(v), r, c) for r, row in enumerate(left) for c, v in enumerate(row))
        if size < 1e-9:
            return None
        pivot = left.pop(r)
        found.append(c)
        left = [[v - row[c] / pivot[c] * p for v, p in zip(row, pivot, strict=True)] for row in left]
    return found


def _proved(solver: Any, draft: Draft, equations: list[Instance], pivots: list[Entry]) -> Draft | None:
    """The draft with a ball for each pivot in which the equations certainly have a common root."""
    count = len(pivots)
    for _ in range(POLISHED):
        found = [_linear(solver, draft, e) for e in equations]
        slopes = arb_mat(count, count, [arb(s.get(p, 0)) for _, s in found for p in pivots])
        gaps = arb_mat(count, 1, [arb(value) for value, _ in found])
        try:
            step = slopes.solve(gaps)
        except ZeroDivisionError:
            return None
        draft = draft.changed({p: _rounded(draft.entries[p] - step[k, 0]) for k, p in enumerate(pivots)})
    found = [_linear(solver, draft, e) for e in equations]
    middle = arb_mat(count, count, [arb(arb(s.get(p, 0)).mid()) for _, s in found for p in pivots])
    inverse = middle.inv()
    gaps = arb_mat(count, 1, [arb(value) for value, _ in found])
    box = {p: arb(draft.entries[p], RADIUS) for p in pivots}
    wide = [_linear(solver, draft.changed(box), e)[1] for e in equations]
    spread = arb_mat(count, count, [arb(s.get(p, 0)) for s in wide for p in pivots])
    identity = arb_mat(count, count, [int(a == b) for a, b in product(range(count), repeat=2)])
    shift = (identity - inverse * spread) * arb_mat(count, 1, [arb(0, RADIUS)] * count) - inverse * gaps
    if not all(abs(shift[k, 0]) < arb(RADIUS) for k in range(count)):
        return None
    balls = {p: arb(draft.entries[p]) + shift[k, 0] for k, p in enumerate(pivots)}
    return Draft(draft.sizes, {**draft.entries, **balls}, draft.variants, draft.fixed, (*draft.roots, *equations))


def _rounded(value: Scalar) -> fmpq:
    return value if isinstance(value, fmpq) else written_out(arb(value).mid())

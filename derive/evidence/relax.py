"""Comparisons among the hypotheses met all at once, as if they were affine: a point inside of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from derive.evidence.hypotheses import FAILURES, Draft, Instance, Requirement, instances
from derive.evidence.numbers import Scalar, written_out
from derive.evidence.places import Entry, Evaluation
from derive.evidence.solving import Solver, least

MAX_ROWS, MAX_UNKNOWNS = 80, 30
MARGINS = (1.0, 0.2, 0.03, 1e-3)  # how far inside of the inequalities
SWEEPS = 120  # through all of them, for one margin
CLOSE, FAR = 1e-9, 1e12
INFINITE = float("inf")
DENOMINATORS = (1, 2, 6, 30, 1000, 100_000)

Met = tuple[Draft, Evaluation]


@dataclass(frozen=True)
class Bound:
    """What a linear form in the unknowns has to come to at least, and at most."""

    row: list[float]
    low: float
    high: float


@dataclass(frozen=True)
class Forms:
    """Comparisons as linear forms in unknown entries: `form relation edge`; and which entries have to be above 0."""

    unknowns: list[Entry]
    start: list[float]
    rows: list[list[float]]
    edges: list[float]
    relations: list[str]
    kinds: list[str]

    def bounds(self, margin: float) -> Iterator[Bound]:
        """The bounds, kept at this distance where the comparison is no equation."""
        for row, edge, relation in zip(self.rows, self.edges, self.relations, strict=True):
            away = 0.0 if relation == "==" else margin
            low = edge + away if relation in ("==", ">", ">=") else -INFINITE
            yield Bound(row, low, edge - away if relation in ("==", "<", "<=") else INFINITE)
        for place, kind in enumerate(self.kinds):
            if kind in ("positive", "nonnegative"):
                row = [float(p == place) for p in range(len(self.kinds))]
                yield Bound(row, margin if kind == "positive" else 0.0, INFINITE)


def comparison(requirement: Requirement) -> bool:
    """Whether the requirement compares two numbers."""
    return requirement.condition.op == "cmp" and requirement.condition.args[1].op != "list"


def middle(value: Scalar) -> fmpq:
    """A rational number in the ball. Raises NotDecided where it is too large to write down."""
    return value if isinstance(value, fmpq) else written_out(value.mid())


def _float(value: Scalar) -> float:
    exact = middle(value)
    return float(Fraction(int(exact.p), int(exact.q)))


def relaxed(solver: Solver, draft: Draft, here: Evaluation) -> Met | None:
    """The draft projected onto one violated comparison after the other until it is inside of all, then rounded."""
    known = [i for i in instances(solver.needs.required, here) if comparison(i.requirement)]
    if len(known) > MAX_ROWS or any(i.requirement.condition.value == "!=" for i in known):
        return None
    try:
        forms = _forms(solver, draft, known)
    except (*FAILURES, OverflowError):
        return None
    if forms is None:
        return None
    for margin in MARGINS:
        inside = _projected(list(forms.bounds(margin)), forms.start)
        for denominator in DENOMINATORS if inside is not None else ():
            most = [1 if kind == "integer" else denominator for kind in forms.kinds]
            rounded = [Fraction(x).limit_denominator(d) for x, d in zip(inside or (), most, strict=True)]
            values = [fmpq(x.numerator, x.denominator) for x in rounded]
            found = _checked(solver, draft.changed(dict(zip(forms.unknowns, values, strict=True))))
            if found is not None:
                return found
    return None


def _checked(solver: Solver, trial: Draft) -> Met | None:
    """The trial, or the nearest draft where its affine equations hold, if all requirements do."""
    here, failing = solver.point(trial)
    if here is not None and not failing:
        return trial, here
    affine = solver.affine(trial) if solver.equations else None
    exact = solver.solved(trial, *affine, least) if affine is not None else None
    if exact is None:
        return None
    here, failing = solver.point(exact)
    return (exact, here) if here is not None and not failing else None


def _forms(solver: Solver, draft: Draft, known: list[Instance]) -> Forms | None:
    """The comparisons as linear forms by differences; None where there is too much. Raises what a gap raises."""
    declared = solver.needs.scope.context.declarations
    found = [solver.gap(draft, i) for i in known]
    unknowns = sorted({e for _, touched in found for e in touched if solver.movable(e)})
    if not 0 < len(unknowns) <= MAX_UNKNOWNS:
        return None
    start = [_float(draft.entries[u]) for u in unknowns]
    rows = [[0.0] * len(unknowns) for _ in known]
    for column, unknown in enumerate(unknowns):
        moved = draft.changed({unknown: draft.entries[unknown] + 1})
        for instance, (gap, touched), row in zip(known, found, rows, strict=True):
            if unknown in touched:
                row[column] = _float(solver.gap(moved, instance)[0] - gap)
    edges = [_dot(row, start) - _float(gap) for row, (gap, _) in zip(rows, found, strict=True)]
    relations = [i.requirement.condition.value for i in known]
    return Forms(unknowns, start, rows, edges, relations, [declared[name].kind for name, _ in unknowns])


def _dot(row: list[float], x: list[float]) -> float:
    return sum(c * v for c, v in zip(row, x, strict=True))


def _projected(bounds: list[Bound], start: list[float]) -> list[float] | None:
    """A point between all bounds, found by projecting onto one that is violated after the other."""
    x = list(start)
    norms = [_dot(bound.row, bound.row) for bound in bounds]
    for _ in range(SWEEPS):
        worst = 0.0
        for bound, norm in zip(bounds, norms, strict=True):
            value = _dot(bound.row, x)
            miss = bound.low - value if value < bound.low else bound.high - value if value > bound.high else 0.0
            worst = max(worst, abs(miss))
            if miss and norm:
                x = [v + miss * c / norm for c, v in zip(bound.row, x, strict=True)]
            elif abs(miss) > CLOSE:
                return None
        if not worst < FAR:
            return None
        if worst < CLOSE:
            return x
    return None

"""Points where a claim may change: where a denominator vanishes, a root or logarithm ends, two cases meet, and nearby.

Each term that must not be 0, or whose sign decides, is followed along one entry of a draft: a root that is a rational
number is given as it is, any other by rational numbers on both sides of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, pairwise, product
from random import Random

from flint import ctx, fmpq

from derive.evidence.drafts import GENERIC, STYLES
from derive.evidence.enclosure import LADDER
from derive.evidence.hypotheses import FAILURES, Draft, Instance, Requirement, admits
from derive.evidence.numbers import sign
from derive.evidence.places import Budget, Entry, Evaluation, Exhausted
from derive.evidence.points import Points
from derive.evidence.repair import simplest
from derive.evidence.solving import RIGID, Solver
from derive.term import NONLOCAL, ZERO, Term, cmp, subterms

SURFACES = 24  # terms that are followed
INSTANCES = 3  # of one term, by the values of its letters
ENTRIES = 3  # along which one instance is followed
WORK = 20_000  # nodes visited for one draft
POWERS = range(-15, 16, 3)
STEPS = tuple(sorted({s * fmpq(10) ** k for k in POWERS for s in (1, -1)} | {fmpq(k, 2) for k in range(-8, 9)}))
WIDTHS = (fmpq(1, 100), fmpq(1, 10**7), fmpq(1, 10**16))  # between the numbers on both sides of a root
Side = Callable[[fmpq], int | None]  # of the surface, by the value of the entry
BASES = (STYLES[0], STYLES[2], GENERIC)


def surfaces(condition: Term, points: Points) -> list[Term]:
    """The terms whose zeros matter for the claim, its own difference first."""
    found: dict[Term, None] = {}
    own = subterms(condition)
    bodies = [s for t in points.problem.terms if t is not condition for s in subterms(t)]
    for term in (*own, *bodies):
        for part in _deciding(term):
            local = not any(s.op in NONLOCAL for s in subterms(part))
            if local and part.names and points.problem.scope.random.isdisjoint(points.problem.scope.names(part)):
                found.setdefault(part)
    return list(found)[:SURFACES]


def _deciding(term: Term) -> Iterator[Term]:
    """The terms whose sign decides whether the term is defined, or which of its formulas holds."""
    op, args = term.op, term.args
    if op == "cmp" and args[1].op != "list":
        yield args[0] - args[1]
    elif op == "div":
        yield args[1]
    elif op == "pow":
        natural = args[1].op == "num" and args[1].value.denominator == 1 and args[1].value > 0
        yield from () if natural else args[:1]
    elif op == "fn" and term.value in ("log", "sqrt", "abs", "sign", "relu"):
        yield args[0]
    elif op == "fn" and term.value == "log1p":
        yield args[0] + 1
    elif op == "fn" and term.value in ("max", "min"):
        yield args[0] - args[1]


def on_and_beside(condition: Term, points: Points) -> Iterator[Evaluation]:
    """Points on the surfaces of the claim and on both sides of them, for small sizes."""
    found = surfaces(condition, points)
    for sizes in islice(points.problem.sizes(2), 4) if found else ():
        rng = Random(f"{points.seed}/{sorted(sizes.items())}/surfaces")
        for number, style in enumerate(BASES):
            draft = points.drafts.styled(sizes, style, number, rng)
            for surface in found if draft is not None else ():
                for moved in _crossings(points, draft, surface, rng):
                    here = points.point(moved, rng, 2)
                    if here is not None and points.new(here):
                        yield here
                    if points.spent():
                        return


def _crossings(points: Points, draft: Draft, surface: Term, rng: Random) -> Iterator[Draft]:
    """Drafts with one entry moved to where the surface is met, or to either side."""
    budget = Budget(max(min(WORK, points.work - points.kept), 0))
    start = budget.left
    found: list[Draft] = []
    try:
        with ctx.workprec(LADDER[0]):
            solver = Solver(points.problem.needs, budget, rng)
            for instance in _instances(points, draft, surface):
                _, touched = solver.gap(draft, instance)
                movable = sorted(e for e in touched if e in draft.entries and solver.movable(e))
                for entry in movable[:ENTRIES]:
                    found += _along(solver, draft, instance, entry)
    except (*FAILURES, Exhausted):
        pass
    points.work -= start - max(budget.left, 0)
    yield from found


def _instances(points: Points, draft: Draft, surface: Term) -> Iterator[Instance]:
    letters = tuple(sorted(surface.letters - points.problem.context.letters, key=lambda k: k.value))
    requirement = Requirement(cmp("==", surface, ZERO), letters)
    for choice in islice(product(*(range(draft.sizes[k.value[1]]) for k in letters)), INSTANCES):
        yield Instance(requirement, {**draft.fixed, **dict(zip(letters, choice, strict=True))})


def _along(solver: Solver, draft: Draft, instance: Instance, entry: Entry) -> Iterator[Draft]:
    """The draft with the entry at a root, or at numbers close to one on both sides."""
    solved = solver.root(draft, instance, entry)
    if solved is not None:
        yield solved
    declaration = solver.needs.scope.context.declarations[entry[0]]

    def side(value: fmpq) -> int | None:
        try:
            return sign(solver.gap(draft.changed({entry: value}), instance)[0])
        except FAILURES:
            return None

    known = [(v, s) for v in STEPS if admits(declaration, v, draft.sizes) and (s := side(v)) is not None]
    yield from (draft.changed({entry: v}) for v, s in known if s == 0)
    for (low, below), (high, above) in pairwise(known):
        if below * above < 0:
            yield from _narrowed(draft, entry, (low, high), below, side, declaration.kind in RIGID)


def _narrowed(
    draft: Draft, entry: Entry, ends: tuple[fmpq, fmpq], below: int, side: Side, whole: bool
) -> Iterator[Draft]:
    low, high = ends
    widths = [fmpq(1)] if whole else [w * max(1, abs(low)) for w in WIDTHS]
    for width in widths:
        while high - low > width:
            middle = fmpq(int(((low + high) / 2).floor())) if whole else (low + high) / 2
            found = side(middle)
            if found is None:
                return
            if found == 0:
                yield draft.changed({entry: middle})
                return
            low, high = (middle, high) if found == below else (low, middle)
        if whole:
            yield from (draft.changed({entry: v}) for v in (low, high))
        else:
            yield draft.changed({entry: simplest(low - width, low)})
            yield draft.changed({entry: simplest(high, high + width)})

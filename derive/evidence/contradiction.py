"""Where a claim is certainly false: a point at which the left side exists and two enclosures exclude the relation."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from flint import ctx

from derive.evidence.conditions import HOLDS
from derive.evidence.enclosure import LADDER, Enclosed, accurate, again, decimals, enclosed
from derive.evidence.numbers import Imprecise, NotDecided, NotDefined, NotPolynomial, Scalar, sign, standard
from derive.evidence.places import Budget, Evaluation, Exhausted, Letters
from derive.evidence.points import Points
from derive.term import Term

CLAIM_WORK = 60_000  # nodes visited for one claim at one point and one precision
SAME, SHARP = 64, 2800  # bits to which sides agree that are taken for equal
DIGITS = 20  # of the sides, or as many more as it takes to tell them apart
TINY = 10**100
GIVE_UP = (NotDecided, NotPolynomial, RecursionError)


@dataclass(frozen=True)
class Contradiction:
    """Why the claim is false at a point: its sides, or the side that is undefined. Letters include those of `all`."""

    letters: Letters
    left: Scalar | None = None
    right: Scalar | None = None
    undefined: str | None = None


def at_point(points: Points, condition: Term, here: Evaluation) -> Contradiction | None:
    """A contradiction at the point, for some values of the claim's letters; its work is taken from the search's.

    At the first few points sides that are all but equal are told apart at the highest precision.
    """
    budget = Budget(CLAIM_WORK)
    bits, points.sharp = (SHARP if points.sharp > 0 else SAME), points.sharp - 1
    places = {precision: again(here, budget) for precision in LADDER}
    for letters in points.problem.assignments(here):
        if points.spent():
            return None
        budget.left, budget.final = CLAIM_WORK, False
        try:
            found = _climbed(condition, places, letters, bits)
        except Exhausted:
            found = None
        finally:
            points.work -= CLAIM_WORK - max(budget.left, 0)
        if found is not None:
            return found
    return None


def _climbed(
    condition: Term, places: dict[int, Evaluation], letters: Letters, bits: int = SAME
) -> Contradiction | None:
    """The contradiction at the lowest precision that tells; None where the claim is not contradicted."""
    for precision, place in places.items():
        with ctx.workprec(precision):
            try:
                return contradiction(condition, place, letters, bits)
            except Imprecise:
                if place.budget.final:
                    return None
            except (NotDefined, *GIVE_UP):
                return None
    return None


def contradiction(condition: Term, here: Evaluation, letters: Letters, bits: int = SAME) -> Contradiction | None:
    """Why the claim is certainly false at the point, or None. A conjunction is false where one of its parts is.

    Sides that agree to so many bits are taken for equal.

    Raises NotDefined where the left side is undefined, NotDecided where nothing is certain.
    """
    if condition.op == "cmp" and condition.args[1].op != "list":
        return _comparison(condition, here, letters, bits)
    if condition.op == "and":
        return _any_part([(part, letters) for part in condition.args], here, bits)
    if condition.op == "all":
        return _any_part([(condition.args[0], k) for k in here.selected(condition, letters)], here, bits)
    return None if here.decide(condition, letters) else Contradiction(letters)


def _any_part(parts: list[tuple[Term, Letters]], here: Evaluation, bits: int) -> Contradiction | None:
    problem: Exception | None = None
    for part, letters in parts:
        try:
            found = contradiction(part, here, letters, bits)
        except (NotDefined, NotDecided) as failure:
            problem = failure if problem is None or isinstance(failure, Imprecise) else problem
        else:
            if found is not None:
                return found
    if problem is not None:
        raise problem
    return None


def _comparison(condition: Term, here: Evaluation, letters: Letters, bits: int) -> Contradiction | None:
    left = standard(here.value(condition.args[0], letters))
    try:
        right = standard(here.value(condition.args[1], letters))
    except NotDefined as problem:
        enclosed(left)
        return Contradiction(letters, left, None, f"the right side ({problem})")
    difference = left - right
    side = sign(difference)
    if side is not None:
        if HOLDS[condition.value](side):
            return None
        enclosed(left), enclosed(right)  # numbers too large to be shown are no counterexample
        return Contradiction(letters, left, right)
    if not accurate(difference, bits):
        raise Imprecise("the enclosures are too wide")
    return None


# -- as data -----------------------------------------------------------------------------------------------------------


def shown(found: Contradiction) -> dict[str, Any]:
    """Indices and sides as plain data, with as many digits as it takes to tell the sides apart."""
    letters = sorted(found.letters.items(), key=lambda pair: pair[0].value)
    data: dict[str, Any] = {"indices": {k.value[0]: n for k, n in letters}}
    left = None if found.left is None else enclosed(found.left)
    right = None if found.right is None else enclosed(found.right)
    if left is not None and right is not None:
        left, right = _coarser(left, right), _coarser(right, left)
    digits = DIGITS
    while left is not None and right is not None and digits < 1000 and not _apart(left, right, digits):
        digits *= 2
    data["left"] = None if left is None else decimals(left, digits)
    data["right"] = None if right is None else decimals(right, digits)
    if found.undefined is not None:
        data["undefined"] = found.undefined
    return data


def _coarser(value: Enclosed, other: Enclosed) -> Enclosed:
    """An enclosure of about 0 as wide as the last digit that the other side is shown with: the eye sees a 0."""
    size = min(abs(other.low), abs(other.high))
    if not (value.low < 0 < value.high and Fraction(1, TINY) < size < TINY):
        return value
    unit = Fraction(10) ** (Decimal(float(size)).adjusted() - DIGITS + 1)
    return Enclosed(-unit, unit) if -unit <= value.low and value.high <= unit else value


def _apart(left: Enclosed, right: Enclosed, digits: int) -> bool:
    """Whether the printed enclosures are as far apart as the sides are."""
    (a, b), (c, d) = ([Fraction(e) for e in decimals(side, digits)] for side in (left, right))
    return b < c or d < a or (left.exact and right.exact and left.low == right.low)

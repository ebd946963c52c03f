"""What each condition says at a point, and whether it says the same around it: one function a row of `CONDITIONS`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from derive.evidence.numbers import (
    Imprecise,
    NotDecided,
    NotDefined,
    Number,
    bits,
    differ,
    jumps,
    sign,
    slope,
    standard,
)
from derive.evidence.places import Evaluation, Judge, Judged, Letters
from derive.evidence.sameness import same
from derive.term import Term

HOLDS: dict[str, Callable[[int], bool]] = {
    "==": lambda side: side == 0,
    "!=": lambda side: side != 0,
    "<": lambda side: side < 0,
    "<=": lambda side: side <= 0,
    ">": lambda side: side > 0,
    ">=": lambda side: side >= 0,
}


def side(left: Number, right: Number) -> int:
    """The sign of left - right. Raises NotDecided where it is not known."""
    found = sign(standard(left) - standard(right))
    if found is None:
        raise Imprecise("a comparison is not decided at this precision")
    return found


def _cmp(here: Evaluation, term: Term, letters: Letters) -> Judged:
    left, right = term.args
    if right.op == "list":
        return Judged(_is_array(here, left, right, letters) is (term.value == "=="))
    holds = HOLDS[term.value]
    if not here.active or not here.scope.varies(term):
        a, b = here.value(left, letters), here.value(right, letters)
        return Judged(holds(0 if left is right else side(a, b)))
    try:
        a, b = here.value(left, letters), here.value(right, letters)
    except NotDefined as problem:
        raise NotDecided(f"a condition around the point: {problem}") from None
    equal = same(here, left, right, letters)
    found = 0 if equal else side(a, b)
    if found or equal:
        return Judged(holds(found), stable=not jumps(a) and not jumps(b))
    crossing = {bit: differ(slope(a, bit), slope(b, bit)) for bit in bits(here.active)}
    return Judged(holds(0), False, crossing, term.value)


def _is_array(here: Evaluation, array: Term, rows: Term, letters: Letters) -> bool:
    """Whether the array has these entries."""
    axes = here.scope.context.declarations[array.value].axes
    entries = dict(listed(rows))
    sizes = [here.sizes[axis] for axis in axes]
    if set(entries) != set(product(*(range(n) for n in sizes))):
        return False
    return all(side(here.entry((array.value, k)), here.value(e, letters)) == 0 for k, e in entries.items())


def listed(rows: Term, place: tuple[int, ...] = ()) -> Iterable[tuple[tuple[int, ...], Term]]:
    """The entries of a nested list with their subscripts."""
    if rows.op != "list":
        yield place, rows
    else:
        for number, row in enumerate(rows.args):
            yield from listed(row, (*place, number))


def _joined(parts: Iterable[Callable[[], Judged]], until: bool) -> Judged:
    """The conjunction (`until` False) or disjunction (True) of the parts."""
    found: list[Judged] = []
    for part in parts:
        try:
            found.append(part())
        except NotDefined as problem:
            if found:  # whether a later part has to be defined once an earlier one decides
                raise NotDecided(str(problem)) from None
            raise
    if any(f.truth is until and f.stable for f in found):
        return Judged(until)
    moving = [f for f in found if not f.stable]
    truth = until if any(f.truth is until for f in found) else not until
    if not moving:
        return Judged(truth)
    return Judged(truth, False, moving[0].crossing, moving[0].relation) if len(moving) == 1 else Judged(truth, False)


def _connective(until: bool) -> Judge:
    return lambda here, term, letters: _joined((lambda a=a: here.judge(a, letters) for a in term.args), until)


def _quantifier(until: bool) -> Judge:
    return lambda here, term, letters: _joined(
        (lambda k=k: here.judge(term.args[0], k) for k in here.selected(term, letters)), until
    )


def _not(here: Evaluation, term: Term, letters: Letters) -> Judged:
    found = here.judge(term.args[0], letters)
    return Judged(not found.truth, found.stable, found.crossing, found.relation)


def _holds(here: Evaluation, term: Term, letters: Letters) -> Judged:
    return Judged(side(here.value(term.args[0], letters), 0) != 0)


CONDITIONS: dict[str, Judge] = {
    "cmp": _cmp,
    "and": _connective(False),
    "or": _connective(True),
    "not": _not,
    "true": lambda here, term, letters: Judged(True),
    "false": lambda here, term, letters: Judged(False),
    "all": _quantifier(False),
    "any": _quantifier(True),
    "holds": _holds,
}

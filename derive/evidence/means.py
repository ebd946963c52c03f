"""Means, variances and covariances under explicit laws: exact, by moments or over all outcomes."""

from __future__ import annotations

from collections.abc import Callable

from derive.evidence.integrals import integral
from derive.evidence.numbers import (
    ONE,
    ZERO,
    NotDecided,
    NotPolynomial,
    Number,
    Scalar,
    add,
    expected,
    integer_power,
    inverse,
    mul,
    neg,
    sign,
)
from derive.evidence.places import Entry, Evaluation, Letters, NeedsDraw, Random
from derive.term import Term

MAX_DEGREE = 200


def _mean(here: Evaluation, bodies: tuple[Term, ...], letters: Letters, moments: list[tuple[int, ...]]) -> list[Number]:
    """The means of products of the bodies' powers, exactly: as polynomials in the moments, or over all outcomes."""
    place = here
    while isinstance(place, Random):  # what is drawn outside means nothing to an inner mean
        place = place.parent  # type: ignore[assignment]
    _require_fixed_laws(place, bodies)
    try:
        inside = Random(place, None)
        values = [inside.value(b, letters) for b in bodies]
        return [expected(_product(values, powers), lambda e, k: _moment(place, e, k)) for powers in moments]
    except NotPolynomial:
        return [_drawn(place, bodies, letters, {}, lambda values, k=powers: _product(values, k)) for powers in moments]


def _product(values: list[Number], powers: tuple[int, ...]) -> Number:
    result: Number = ONE
    for value, k in zip(values, powers, strict=True):
        result = mul(result, integer_power(value, k)) if k else result
    return result


def _moment(here: Evaluation, entry: Entry, k: int) -> Scalar:
    if k > MAX_DEGREE:
        raise NotDecided("a moment of too high a degree")
    if entry not in here.laws:
        raise NotDecided(f"no law for {entry[0]}")
    return here.laws[entry].moment(k)


def _require_fixed_laws(here: Evaluation, bodies: tuple[Term, ...]) -> None:
    """Raises NotDecided where a law in use depends on something a derivative or a replacement has changed."""
    place: Evaluation | None = here
    names = frozenset().union(*(here.scope.names(b) for b in bodies))
    while place is not None and place.parent is not None:
        if isinstance(place, Random):
            raise NotDecided("a mean inside a replacement inside a mean")
        for name in names & here.scope.random:
            law = here.scope.context.declarations[name].law
            if law is not None and any(not place.changed.isdisjoint(here.scope.names(p)) for p in law.parameters):
                raise NotDecided("a law that depends on what is changed")
        place = place.parent


def _drawn(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    combine: Callable[[list[Number]], Number],
) -> Number:
    """The mean over the entries not drawn yet: one is drawn when it is first asked for."""
    inside = Random(here, drawn)
    try:
        return combine([inside.value(b, letters) for b in bodies])
    except NeedsDraw as need:
        entry = need.entry
    law = here.laws.get(entry)
    if law is None:
        raise NotDecided(f"no law for {entry[0]}")
    if law.atoms is None:
        try:
            return integral(here, bodies, letters, drawn, entry, combine)
        except NotPolynomial:
            raise NotDecided("a mean of a mean") from None
        except NeedsDraw as need:
            entry = need.entry
            law = here.laws.get(entry)
            if law is None or law.atoms is None:
                raise NotDecided("a mean over two entries whose laws are not finite") from None
    total: Number = ZERO
    for p, value in law.atoms:
        if sign(p) != 0:
            total = add(total, mul(p, _drawn(here, bodies, letters, {**drawn, entry: value}, combine)))
    return total


def expectation(here: Evaluation, term: Term, letters: Letters) -> Number:
    return _expected(here, term.args[0], letters)


def _expected(here: Evaluation, body: Term, letters: Letters) -> Number:
    """The mean of the body, or the sum of the means of its summands where those are known and it is not."""
    try:
        return _mean(here, (body,), letters, [(1,)])[0]
    except NotDecided:
        summands = _summands(here, body, letters)
        if summands is None:
            raise
    total: Number = ZERO
    for factor, part, inner in summands:
        total = add(total, mul(factor, _expected(here, part, inner)))
    return total


def _summands(here: Evaluation, term: Term, letters: Letters) -> list[tuple[Number, Term, Letters]] | None:
    """The summands of the term, each with a factor that is not random; None where it is not a sum."""
    op, args = term.op, term.args
    fixed = [here.scope.random.isdisjoint(here.scope.names(a)) for a in args]
    if op == "add":
        return [(ONE, a, letters) for a in args]
    if op == "neg":
        return [(-ONE, args[0], letters)]
    if op == "sum" and fixed[1]:
        return [(ONE, args[0], inner) for inner in here.selected(term, letters)]
    if op == "def" and all(fixed):
        definition = here.scope.definitions[term.value]
        own = dict(zip(definition.letters, here.subscripts(term, letters), strict=True))
        return [(ONE, definition.body, {**here.fixed, **own})]
    if op == "div" and fixed[1]:
        return [(inverse(here.value(args[1], letters)), args[0], letters)]
    if op == "mul" and fixed.count(False) == 1:
        factor: Number = ONE
        for a, known in zip(args, fixed, strict=True):
            factor = mul(factor, here.value(a, letters)) if known else factor
        return [(factor, args[fixed.index(False)], letters)]
    return None


def variance(here: Evaluation, term: Term, letters: Letters) -> Number:
    second, first = _mean(here, term.args, letters, [(2,), (1,)])
    return add(second, neg(mul(first, first)))


def covariance(here: Evaluation, term: Term, letters: Letters) -> Number:
    both, left, right = _mean(here, term.args, letters, [(1, 1), (1, 0), (0, 1)])
    return add(both, neg(mul(left, right)))

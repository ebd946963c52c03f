"""Means, variances and covariances under explicit laws: exact, by moments or over all outcomes."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from flint import fmpq

from derive.evidence import functions, pieces
from derive.evidence.divergence import Divergent, require_integrable
from derive.evidence.integrals import integral
from derive.evidence.numbers import (
    ONE,
    ZERO,
    NotDecided,
    NotPolynomial,
    Number,
    Scalar,
    add,
    all_parts,
    expected,
    integer_power,
    inverse,
    mul,
    neg,
    sign,
    standard,
)
from derive.evidence.places import Entry, Evaluation, Letters, NeedsDraw, Random
from derive.term import Term

MAX_DEGREE = 200
MAX_PARTS = 40

Part = tuple[Number, Term, Letters]  # a summand: a factor that is not random, a term, and the term's letters
Combine = Callable[[list[Number]], Number]


def _mean(here: Evaluation, bodies: tuple[Term, ...], letters: Letters, moments: list[tuple[int, ...]]) -> list[Number]:
    """The means of products of the bodies' powers, exactly: as polynomials in the moments, or over all outcomes."""
    place = _outside(here)
    moving = _moving_laws(place, bodies)
    try:
        inside = Random(place, None)
        values = [inside.value(b, letters) for b in bodies]
        return [expected(_product(values, powers), lambda e, k: _moment(place, e, k, moving)) for powers in moments]
    except NotPolynomial:
        _require_fixed_laws(place, bodies)
        return list(all_parts(lambda k=powers: _by_law(place, bodies, letters, k) for powers in moments))


def _by_law(here: Evaluation, bodies: tuple[Term, ...], letters: Letters, powers: tuple[int, ...]) -> Number:
    """The mean of the product of the bodies' powers, over all outcomes. Raises NotDefined where it is infinite."""

    def combine(values: list[Number]) -> Number:
        return _product(values, powers)

    try:
        return _drawn(here, bodies, letters, {}, combine)
    except NotDecided:
        require_integrable(here, bodies, letters, powers, combine)
        raise


def _outside(here: Evaluation) -> Evaluation:
    """The evaluation outside of means: what is drawn there means nothing to an inner one."""
    while isinstance(here, Random):
        here = here.parent  # type: ignore[assignment]
    return here


def _product(values: list[Number], powers: tuple[int, ...]) -> Number:
    result: Number = ONE
    for value, k in zip(values, powers, strict=True):
        result = mul(result, integer_power(value, k)) if k else result
    return result


def _moment(here: Evaluation, entry: Entry, k: int, moving: frozenset[str] = frozenset()) -> Number:
    if k > MAX_DEGREE:
        raise NotDecided("a moment of too high a degree")
    if entry[0] in moving:
        return _moving_moment(here, entry, k)
    if entry not in here.laws:
        raise NotDecided(f"no law for {entry[0]}")
    return here.laws[entry].moment(k)


def _moving_moment(here: Evaluation, entry: Entry, k: int) -> Number:
    """The moment as a function of the law's parameters, of which it may take no other."""
    declaration = here.scope.context.declarations[entry[0]]
    law, letters = declaration.law, {**here.fixed, **dict(zip(declaration.letters, entry[1], strict=False))}
    parameters = [here.value(p, letters) for p in law.parameters] if law is not None else []
    family = law.family if law is not None else ""
    if not all(sign(standard(edge)) == 1 for edge in _within(family, parameters)):
        raise NotDecided("a law at the edge of what its parameters may be, or beyond")
    if family == "bernoulli":
        return parameters[0]
    if family == "uniform":
        low, high = parameters
        total = reduce(add, (mul(integer_power(low, j), integer_power(high, k - j)) for j in range(k + 1)), ZERO)
        return mul(total, fmpq(1, k + 1))
    if family == "normal" or (family == "random" and k <= 2):
        before, now = ZERO, ONE
        for j in range(1, k + 1):
            before, now = now, add(mul(parameters[0], now), mul(mul(fmpq(j - 1), parameters[1]), before))
        return now
    raise NotDecided("a moment that the parameters of a law do not tell")


def _within(family: str, parameters: list[Number]) -> list[Number]:
    """What has to be above 0 for the parameters to be those of a law, and to stay so around the point."""
    if family == "bernoulli":
        return [parameters[0], add(ONE, neg(parameters[0]))]
    if family == "uniform":
        return [add(parameters[1], neg(parameters[0]))]
    return parameters[1:]  # a variance


def _moving_laws(here: Evaluation, bodies: tuple[Term, ...]) -> frozenset[str]:
    """The random names whose laws depend on something a derivative, a limit or a replacement has changed."""
    place: Evaluation | None = here
    names = frozenset().union(*(here.scope.names(b) for b in bodies)) & here.scope.random
    found: set[str] = set()
    while place is not None and place.parent is not None:
        if isinstance(place, Random):
            raise NotDecided("a mean inside a replacement inside a mean")
        for name in names:
            law = here.scope.context.declarations[name].law
            if law is not None and any(not place.changed.isdisjoint(here.scope.names(p)) for p in law.parameters):
                found.add(name)
        place = place.parent
    return frozenset(found)


def _require_fixed_laws(here: Evaluation, bodies: tuple[Term, ...]) -> None:
    """Raises NotDecided where a law in use depends on something a derivative or a replacement has changed."""
    if _moving_laws(here, bodies):
        raise NotDecided("a law that depends on what is changed")


def _drawn(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    combine: Combine,
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
            return _continuous(here, bodies, letters, drawn, entry, combine)
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


def _continuous(
    here: Evaluation,
    bodies: tuple[Term, ...],
    letters: Letters,
    drawn: dict[Entry, Scalar],
    entry: Entry,
    combine: Combine,
) -> Number:
    """The mean over one entry whose law is not finite: in closed form, or enclosed cell by cell."""
    try:
        return pieces.mean(here, bodies, letters, drawn, entry, combine)
    except NotDecided:
        return integral(here, bodies, letters, drawn, entry, combine)


def expectation(here: Evaluation, term: Term, letters: Letters) -> Number:
    return _expected(here, term.args[0], letters)


def _expected(here: Evaluation, body: Term, letters: Letters) -> Number:
    """The mean of the body, or what it comes to by those of its summands or of its independent factors."""
    try:
        return _mean(here, (body,), letters, [(1,)])[0]
    except NotDecided:
        summands = _summands(here, body, letters)
        factors = _factors(here, body, letters) if summands is None or len(summands) == 1 else None
        if summands is None and factors is None:
            raise
    if factors is not None:
        _require_fixed_laws(_outside(here), (body,))
        return reduce(mul, (_drawn(_outside(here), (part,), inner, {}, of) for part, inner, of in factors), ONE)
    total: Number = ZERO
    try:
        for factor, part, inner in summands or ():
            total = add(total, mul(factor, _expected(here, part, inner)))
    except Divergent as problem:  # of one summand, which another may make good
        raise NotDecided(str(problem)) from None
    return total


def _summands(here: Evaluation, term: Term, letters: Letters) -> list[Part] | None:
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


def _flat(here: Evaluation, term: Term, letters: Letters) -> list[Part]:
    """The summands of the term's summands, down to what is no sum."""
    found = _summands(here, term, letters)
    if found is None:
        return [(ONE, term, letters)]
    parts = [(mul(factor, f), t, k) for factor, part, inner in found for f, t, k in _flat(here, part, inner)]
    if len(parts) > MAX_PARTS:
        raise NotDecided("a mean of too many summands")
    return parts


def _factors(here: Evaluation, term: Term, letters: Letters) -> list[tuple[Term, Letters, Combine]] | None:
    """Independent factors of the term, each a function of a part; None where it is no product of such."""
    found: list[tuple[Term, Letters, Combine]]
    if term.op == "def":
        definition = here.scope.definitions[term.value]
        own = dict(zip(definition.letters, here.subscripts(term, letters), strict=True))
        return _factors(here, definition.body, {**here.fixed, **own})
    if term.op == "mul":
        found = [(a, letters, _itself) for a in term.args]
    elif term.op == "prod":
        found = [(term.args[0], inner, _itself) for inner in here.selected(term, letters)]
    elif term.op == "fn" and term.value == "exp":
        found = [(part, inner, _exponential(f)) for f, part, inner in _flat(here, term.args[0], letters)]
    else:
        return None
    entries = [_entries(here, part, inner) for part, inner, _ in found]
    apart = sum(map(len, entries)) == len(frozenset().union(*entries))
    return found if apart and len(found) > 1 else None


def _itself(values: list[Number]) -> Number:
    return values[0]


def _exponential(factor: Number) -> Combine:
    return lambda values: functions.apply("exp", mul(factor, values[0]))


def _entries(here: Evaluation, term: Term, letters: Letters) -> frozenset[Entry]:
    """The random entries that the term may depend on. Raises NotDecided where that is not plain to see."""
    if here.scope.random.isdisjoint(here.scope.names(term)):
        return frozenset()
    if term.op == "var":
        return frozenset({(term.value, here.subscripts(term, letters))})
    if term.op == "def":
        definition = here.scope.definitions[term.value]
        own = dict(zip(definition.letters, here.subscripts(term, letters), strict=True))
        return _entries(here, definition.body, {**here.fixed, **own})
    if term.op in ("at", "diff", "limit", "E", "Var", "Cov"):
        raise NotDecided("a mean over entries that depend on each other")
    inside = here.selected(term, letters) if term.bound else [letters]
    return frozenset().union(*(_entries(here, a, inner) for inner in inside for a in term.args))


def variance(here: Evaluation, term: Term, letters: Letters) -> Number:
    try:
        second, first = _mean(here, term.args, letters, [(2,), (1,)])
        return add(second, neg(mul(first, first)))
    except NotDecided:
        return _by_summands(here, term.args[0], term.args[0], letters)


def covariance(here: Evaluation, term: Term, letters: Letters) -> Number:
    try:
        both, left, right = _mean(here, term.args, letters, [(1, 1), (1, 0), (0, 1)])
        return add(both, neg(mul(left, right)))
    except NotDecided:
        return _by_summands(here, *term.args, letters)


def _by_summands(here: Evaluation, left: Term, right: Term, letters: Letters) -> Number:
    """The covariance by those of the summands, 0 for independent ones."""
    rows, columns = _flat(here, left, letters), _flat(here, right, letters)
    total: Number = ZERO
    for f, a, k in rows:
        for g, b, j in columns:
            if not _entries(here, a, k).isdisjoint(_entries(here, b, j)):
                if a is left and b is right:
                    raise NotDecided("a covariance with no closed form")
                try:
                    total = add(total, mul(mul(f, g), _pair(here, a, k, b, j)))
                except Divergent as problem:
                    raise NotDecided(str(problem)) from None
    return total


def _pair(here: Evaluation, a: Term, k: Letters, b: Term, j: Letters) -> Number:
    """The covariance of two terms, each with its own letters."""
    if a is b and k == j:
        second, first = _mean(here, (a,), k, [(2,), (1,)])
        return add(second, neg(mul(first, first)))
    shared = all(k[letter] == j[letter] for letter in k.keys() & j.keys())
    if not shared:
        raise NotDecided("a covariance of summands that depend on each other")
    both, left, right = _mean(here, (a, b), {**k, **j}, [(1, 1), (1, 0), (0, 1)])
    return add(both, neg(mul(left, right)))

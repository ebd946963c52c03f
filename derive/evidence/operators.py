"""What each operator means at a point: one function a row of `VALUES`."""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, fmpq

from derive.evidence import functions, germs, means
from derive.evidence.conditions import CONDITIONS
from derive.evidence.numbers import (
    ONE,
    ZERO,
    Imprecise,
    NotDecided,
    NotDefined,
    NotPolynomial,
    Number,
    Scalar,
    Series,
    add,
    all_parts,
    bits,
    decided_sign,
    derivative,
    differ,
    epsilons,
    integer_power,
    inverse,
    jumps,
    mul,
    neg,
    poisoned,
    rational,
    sign,
    slope,
    standard,
)
from derive.evidence.places import Entry, Evaluation, Letters, Limiting, Operator, Random, Replaced, Scope
from derive.evidence.sameness import one_function, zero
from derive.kernel.context import Context
from derive.term import Term

Piecewise = Callable[[Evaluation, Term, list[Number], Letters], Number]
Alike = Callable[[list[int]], bool]


def scope(context: Context) -> Scope:
    """The context, with the meaning of all operators."""
    return Scope(context, VALUES, CONDITIONS)


def _fold(combine: Callable[[Number, Number], Number], start: Number) -> Operator:
    def find(here: Evaluation, term: Term, letters: Letters) -> Number:
        total = start
        for value in all_parts(lambda a=a: here.value(a, letters) for a in term.args):
            total = combine(total, value)
        return total

    return find


def _const(here: Evaluation, term: Term, letters: Letters) -> Number:
    if term.value != "pi":
        raise NotDefined("infinity is not a number")
    return arb.pi()


def _var(here: Evaluation, term: Term, letters: Letters) -> Number:
    return here.entry((term.value, here.subscripts(term, letters)))


def _def(here: Evaluation, term: Term, letters: Letters) -> Number:
    subscripts = here.subscripts(term, letters)
    definition = here.scope.definitions[term.value]

    def find(place: Evaluation) -> Number:
        return place.value(definition.body, {**here.fixed, **dict(zip(definition.letters, subscripts, strict=True))})

    return here.remembered((term.value, subscripts), term, find)


def _div(here: Evaluation, term: Term, letters: Letters) -> Number:
    top, bottom = all_parts(lambda a=a: here.value(a, letters) for a in term.args)
    return mul(top, inverse(bottom))


def _at_edge(here: Evaluation, term: Term, value: Number) -> bool:
    """Whether a root leaves its domain around the point, though not in the direction of a derivative."""
    return bool(here.active) and not isinstance(value, Series) and sign(value) == 0 and here.scope.varies(term)


def _pow(here: Evaluation, term: Term, letters: Letters) -> Number:
    base, exponent = all_parts(lambda a=a: here.value(a, letters) for a in term.args)
    if isinstance(exponent, Series) and exponent.random:
        raise NotPolynomial
    if here.active and here.scope.varies(term.args[1]) and sign(standard(base)) != 1:
        fixed = not isinstance(exponent, Series) and not here.scope.varies(
            term.args[0]
        )  # a slope asks for a base above 0
        if fixed and isinstance(base, fmpq) and base == 0 and sign(exponent) == 1:
            return ZERO  # and so it is for all exponents around this one
        raise NotDecided("whether a real power is given by one formula around the point")
    if isinstance(exponent, fmpq) and exponent.q == 1 and exponent >= 0:
        return integer_power(base, int(exponent.p))
    if _at_edge(here, term.args[0], base):
        raise NotDecided("whether a power is defined around the point")
    return functions.power(base, exponent)


def _fn(here: Evaluation, term: Term, letters: Letters) -> Number:
    values = list(all_parts(lambda a=a: here.value(a, letters) for a in term.args))
    name = term.value
    if name in functions.FUNCTIONS:
        return functions.apply(name, values[0])
    if name == "sqrt" and _at_edge(here, term.args[0], values[0]):
        raise NotDecided("whether a square root is defined around the point")
    return PIECEWISE[name](here, term, values, letters)


def _abs(here: Evaluation, term: Term, values: list[Number], letters: Letters) -> Number:
    (x,) = values
    at = standard(x)
    if not here.active:
        return abs(at)
    discrete = not here.scope.varies(term)
    return _greatest(here, [x, neg(x)], lambda _: zero(here, term.args[0], letters), discrete)


def _sign(here: Evaluation, term: Term, values: list[Number], letters: Letters) -> Number:
    (x,) = values
    found = decided_sign(standard(x))
    if not here.active or not here.scope.varies(term) or (found and not jumps(x)):
        return fmpq(found)
    if zero(here, term.args[0], letters):
        return ZERO
    certain = {} if found else {bit: bool(_slope_sign(x, bit)) for bit in bits(here.active & ~here.edge)}
    return poisoned(fmpq(found), here.active, certain, jump=True)


def _slope_sign(x: Number, bit: int) -> int | None:
    found = slope(x, bit)
    return sign(found) if isinstance(found, (fmpq, arb)) else None


def _greatest(here: Evaluation, values: list[Number], alike: Alike, discrete: bool) -> Number:
    """The greatest value. `alike`: whether those at these places are one function, so that nothing switches;
    `discrete`: none varies."""
    places = [standard(v) for v in values]
    if len(values) == 1:
        return values[0]
    if not here.active or discrete:
        top = places[0]
        for place in places[1:]:
            top = _greater(top, place)
        return top
    some = places[0]
    for place in places[1:]:
        some = place if sign(place - some) == 1 else some
    # What is below it need not be compared, nor what is equal to it: many may be.
    left = [k for k, p in enumerate(places) if sign(some - p) != 1]
    rivals = [places[k] for k in left if sign(some - places[k]) is None]
    highest = [k for k in left if not any(sign(q - places[k]) == 1 for q in rivals)]
    first = [values[k] for k in highest]
    jump = any(jumps(v) for v in values)
    if len(first) == 1 and not jump:
        return first[0]
    if alike(highest if not jump else list(range(len(values)))):
        return first[0]
    top = standard(first[0])
    if not all(isinstance(standard(v), fmpq) and standard(v) == top for v in first):
        raise Imprecise("which of several values is the greatest")
    certain = {
        bit: not jump and any(differ(slope(v, bit), slope(first[0], bit)) for v in first)
        for bit in bits(here.active & ~here.edge)
    }
    return poisoned(top, here.active, certain, jump)


def _extremum(
    here: Evaluation, largest: bool, values: list[Number], terms: list[tuple[Term, Letters]], discrete: bool
) -> Number:
    """The greatest of the values of these terms at their letters, or the least."""
    found = _greatest(
        here,
        values if largest else [neg(v) for v in values],
        lambda places: one_function(here, [terms[k] for k in places]),
        discrete,
    )
    return found if largest else neg(found)


def _greater(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, (fmpq, arb)) and isinstance(b, (fmpq, arb)):
        exact = isinstance(a, fmpq) and isinstance(b, fmpq)
        return max(a, b) if exact else arb(a).max(arb(b))
    return a if decided_sign(a - b) >= 0 else b


def _two(largest: bool) -> Piecewise:
    def find(here: Evaluation, term: Term, values: list[Number], letters: Letters) -> Number:
        sides = [(a, letters) for a in term.args]
        return _extremum(here, largest, values, sides, not here.scope.varies(term))

    return find


def _relu(here: Evaluation, term: Term, values: list[Number], letters: Letters) -> Number:
    discrete = not here.scope.varies(term)
    return _greatest(here, [*values, ZERO], lambda _: zero(here, term.args[0], letters), discrete)


PIECEWISE: dict[str, Piecewise] = {
    "sqrt": lambda here, term, values, letters: functions.sqrt(values[0]),
    "abs": _abs,
    "sign": _sign,
    "relu": _relu,
    "max": _two(True),
    "min": _two(False),
}


def _memoised(find: Operator) -> Operator:
    def operator(here: Evaluation, term: Term, letters: Letters) -> Number:
        key = (term, tuple(here.letter(k, letters) for k in sorted(term.letters, key=lambda k: k.value)))
        return here.remembered(key, term, lambda place: find(place, term, letters))

    return operator


def _binder(combine: Callable[[Number, Number], Number], start: Number) -> Operator:
    def find(here: Evaluation, term: Term, letters: Letters) -> Number:
        body, total = term.args[0], start
        for value in all_parts(lambda k=k: here.value(body, k) for k in here.selected(term, letters)):
            total = combine(total, value)
        return total

    return find


def _candidates(here: Evaluation, term: Term, letters: Letters) -> tuple[list[Letters], list[Number]]:
    chosen = list(here.selected(term, letters))
    if not chosen:
        raise NotDefined(f"an empty {term.op}")
    return chosen, list(all_parts(lambda k=k: here.value(term.args[0], k) for k in chosen))


def _extreme(largest: bool) -> Operator:
    def find(here: Evaluation, term: Term, letters: Letters) -> Number:
        chosen, values = _candidates(here, term, letters)
        sides = [(term.args[0], k) for k in chosen]
        return _extremum(here, largest, values, sides, not here.scope.varies(term.args[0]))

    return find


def _argmax(here: Evaluation, term: Term, letters: Letters) -> Number:
    chosen, values = _candidates(here, term, letters)
    places = [standard(v) for v in values]
    if here.active and any(jumps(v) for v in values):
        raise NotDecided("where the maximum is attained around the point")
    best = 0
    for j, place in enumerate(places[1:], 1):
        side = decided_sign(place - places[best])
        if side == 0 and here.active and here.scope.varies(term.args[0]):
            raise NotDecided("where the maximum is attained around the point")
        best = j if side > 0 else best
    return fmpq(chosen[best][term.bound[0]])


def _delta(here: Evaluation, term: Term, letters: Letters) -> Number:
    i, j = here.subscripts(term, letters)
    return ONE if i == j else ZERO


def _where(here: Evaluation, term: Term, letters: Letters) -> Number:
    condition, then, otherwise = term.args
    found = here.judge(condition, letters)
    value = here.value(then if found.truth else otherwise, letters)
    if not here.active or found.stable or then is otherwise:
        return value
    at = standard(value)
    try:
        other = here.value(otherwise if found.truth else then, letters)
    except (NotDefined, NotDecided):
        return poisoned(at, here.active, {}, jump=True)
    apart = differ(at, standard(other))
    # A point taken out of a smooth function is no corner of it: an equality tells by a jump only.
    corner = found.relation not in ("==", "!=")
    certain = {
        bit: found.crossing.get(bit, False) and (apart or (corner and differ(slope(value, bit), slope(other, bit))))
        for bit in bits(here.active & ~here.edge)
    }
    equal = isinstance(at, fmpq) and isinstance(standard(other), fmpq) and not apart
    return poisoned(at, here.active, certain, jump=not equal)


def _diff(here: Evaluation, term: Term, letters: Letters) -> Number:
    body, by = term.args
    child = here.differentiating((by.value, here.subscripts(by, letters)))
    return derivative(child.value(body, letters), child.bit)


def _at(here: Evaluation, term: Term, letters: Letters) -> Number:
    return Replaced(here, term, letters).value(term.args[0], letters)


def _limit(here: Evaluation, term: Term, letters: Letters) -> Number:
    body, by, point = term.args
    place: Evaluation | None = here
    while place is not None:
        if isinstance(place, Limiting):
            raise NotDecided("a limit of a limit")
        if isinstance(place, Random) and not all(isinstance(v, fmpq | arb) for v in (place.drawn or {}).values()):
            raise NotDecided("the mean of a limit")
        place = place.parent
    if point.op == "const" or (point.op == "neg" and point.args[0].op == "const" and point.args[0].value == "oo"):
        at, sides = None, (1 if point.op == "const" else -1,)
    else:
        at, sides = here.value(point, letters), SIDES[term.value]
    if isinstance(at, Series):
        raise NotDecided("a limit at a point that varies")
    if here.scope.context.declarations[by.value].kind != "real" and (at is None or sign(at) != 1) and -1 in sides:
        raise NotDecided("a limit from outside what is declared")
    entry = (by.value, here.subscripts(by, letters))
    if len(sides) == 2:
        try:
            return _one_sided(here, body, entry, germs.toward(at, 0), letters)
        except NotDecided:
            pass  # each side on its own, then
    found = [_one_sided(here, body, entry, germs.toward(at, side), letters) for side in sides]
    if len(found) == 2:
        gap = sign(found[0] - found[1])
        if gap:
            raise NotDefined("a limit that differs from the two sides")
        if gap is None:
            raise Imprecise("whether the two one-sided limits agree")
    return found[0]


SIDES = {"+": (1,), "-": (-1,), "": (1, -1)}


def _one_sided(here: Evaluation, body: Term, entry: Entry, value: germs.Germ, letters: Letters) -> Scalar:
    try:
        found = Limiting(here, entry, value).value(body, letters)
    except germs.Oscillates as wave:
        _require_one_limit(here, body, entry, value, letters, wave.argument)
        raise
    if isinstance(found, Series) and epsilons(found):
        raise NotDecided("the derivative of a limit")
    return germs.limit(standard(found))


def _require_one_limit(
    here: Evaluation, body: Term, entry: Entry, value: germs.Germ, letters: Letters, argument: germs.Germ
) -> None:
    """Raises NotDefined where an oscillating body certainly has two limits along two sequences, or an infinite one."""
    known: list[Scalar] = []
    for number in range(len(germs.PHASES)):
        try:
            found = germs.along(argument, number, lambda: Limiting(here, entry, value).value(body, letters))
        except (NotDefined, NotDecided):
            continue
        if isinstance(found, Series) and epsilons(found):
            return
        try:
            known.append(germs.limit(standard(found)))
        except NotDecided:
            continue
        except NotDefined:
            raise NotDefined("a limit of what oscillates without bound") from None
    if any(sign(known[0] - other) in (1, -1) for other in known[1:]):
        raise NotDefined("a limit of what oscillates")


VALUES: dict[str, Operator] = {
    "num": lambda here, term, letters: rational(term.value),
    "const": _const,
    "size": lambda here, term, letters: fmpq(here.sizes[term.value]),
    "index": lambda here, term, letters: fmpq(here.letter(term, letters)),
    "var": _var,
    "def": _def,
    "add": _fold(add, ZERO),
    "mul": _fold(mul, ONE),
    "neg": lambda here, term, letters: neg(here.value(term.args[0], letters)),
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "sum": _memoised(_binder(add, ZERO)),
    "prod": _memoised(_binder(mul, ONE)),
    "max": _memoised(_extreme(True)),
    "min": _memoised(_extreme(False)),
    "argmax": _memoised(_argmax),
    "delta": _delta,
    "where": _where,
    "diff": _memoised(_diff),
    "at": _memoised(_at),
    "limit": _memoised(_limit),
    "E": _memoised(means.expectation),
    "Var": _memoised(means.variance),
    "Cov": _memoised(means.covariance),
}

"""A second opinion on an enclosure: mpmath at 50 and 100 digits, plain loops, derivatives by difference quotients.

It shares no code with the enclosures but the term type. Where its two precisions differ, so much of it is noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
from mpmath import mp, mpf

from derive.evidence.enclosure import Enclosed, evaluate
from derive.kernel.context import Context
from derive.term import Term

DIGITS = (50, 100)


class Disagreement(Exception):
    """The enclosure does not contain what mpmath finds."""


class NoOpinion(Exception):
    """mpmath is not asked about this operator, or finds the value undefined."""


@dataclass
class _Floats:
    """A point in floating point: entries by name and subscripts, laws of the random names by name."""

    context: Context
    sizes: Mapping[str, int]
    entries: dict[tuple[str, tuple[int, ...]], Any]
    laws: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[Term, int] = field(default_factory=dict)
    known: dict[tuple[str, tuple[int, ...]], Any] = field(default_factory=dict)  # values of definitions

    def value(self, term: Term, letters: dict[Term, int]) -> Any:
        rule = _VALUES.get(term.op)
        if rule is None:
            raise NoOpinion(term.op)
        return rule(self, term, letters)

    def place(self, term: Term, letters: dict[Term, int]) -> tuple[int, ...]:
        return tuple(int(self.value(a, letters)) for a in term.args)

    def ranges(self, term: Term, letters: dict[Term, int]) -> Iterator[dict[Term, int]]:
        for choice in product(*(range(self.sizes[k.value[1]]) for k in term.bound)):
            inner = {**letters, **dict(zip(term.bound, choice, strict=True))}
            if self.truth(term.args[1], inner):
                yield inner

    def with_entries(self, entries: dict[tuple[str, tuple[int, ...]], Any]) -> _Floats:
        return replace(self, entries={**self.entries, **entries}, known={})

    def truth(self, term: Term, letters: dict[Term, int]) -> bool:
        op, args = term.op, term.args
        if op == "cmp":
            return _RELATIONS[term.value](self.difference(args, letters))
        if op in ("and", "or"):
            return (all if op == "and" else any)([self.truth(a, letters) for a in args])
        if op in ("all", "any"):
            return (all if op == "all" else any)([self.truth(args[0], k) for k in self.ranges(term, letters)])
        if op == "not":
            return not self.truth(args[0], letters)
        return op == "true" or (op == "holds" and self.value(args[0], letters) != 0)

    def difference(self, args: tuple[Term, ...], letters: dict[Term, int]) -> Any:
        """Left minus right, or 0 where it is below the noise."""
        left, right = (self.value(a, letters) for a in args)
        gap = left - right
        return mpf(0) if abs(gap) <= (1 + abs(left)) * mpf(10) ** (10 - mp.dps) else gap


_RELATIONS: dict[str, Callable[[Any], bool]] = {
    "==": lambda gap: gap == 0,
    "!=": lambda gap: gap != 0,
    "<": lambda gap: gap < 0,
    "<=": lambda gap: gap <= 0,
    ">": lambda gap: gap > 0,
    ">=": lambda gap: gap >= 0,
}

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "exp": mpmath.exp,
    "log": mpmath.log,
    "log1p": lambda x: mpmath.log(1 + x),
    "expm1": lambda x: mpmath.exp(x) - 1,
    "sqrt": mpmath.sqrt,
    "abs": abs,
    "sign": mpmath.sign,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "sinh": mpmath.sinh,
    "cosh": mpmath.cosh,
    "tanh": mpmath.tanh,
    "atan": mpmath.atan,
    "erf": mpmath.erf,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log(1 + mpmath.exp(x)),
    "relu": lambda x: max(x, mpf(0)),
    "lgamma": mpmath.loggamma,
    "digamma": mpmath.digamma,
    "trigamma": lambda x: mpmath.polygamma(1, x),
    "max": max,
    "min": min,
}


def _definition(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    definition, place = here.context.definitions[term.value], here.place(term, letters)
    if (term.value, place) not in here.known:
        own = dict(zip(definition.letters, place, strict=True))
        here.known[term.value, place] = here.value(definition.body, {**here.fixed, **own})
    return here.known[term.value, place]


def _power(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    base, exponent = (here.value(a, letters) for a in term.args)
    return base ** int(exponent) if exponent == int(exponent) else base**exponent


def _argmax(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    values = [(here.value(term.args[0], k), -k[term.bound[0]]) for k in here.ranges(term, letters)]
    return mpf(-max(values)[1])


def _require_fixed_laws(here: _Floats, body: Term, changed: str) -> None:
    """Raises NoOpinion where a law in use has a parameter that is changed: only its values at the point are known."""
    reached = here.context.reached(body.names)
    laws = (here.context.declarations[n].law for n in reached if n in here.context.declarations)
    if any(changed in here.context.reached(p.names) for law in laws if law is not None for p in law.parameters):
        raise NoOpinion("a law that depends on what is changed")


def _derivative(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    _require_fixed_laws(here, term.args[0], term.args[1].value)
    entry = (term.args[1].value, here.place(term.args[1], letters))
    return mpmath.diff(lambda x: here.with_entries({entry: x}).value(term.args[0], letters), here.entries[entry])


def _replaced(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    _require_fixed_laws(here, term.args[0], term.value)
    ranges = [range(here.sizes[k.value[1]]) for k in term.bound]
    new = {
        (term.value, place): here.value(term.args[1], {**letters, **dict(zip(term.bound, place, strict=True))})
        for place in product(*ranges)
    }
    return here.with_entries(new).value(term.args[0], letters)


def _outcomes(here: _Floats) -> Iterator[tuple[Any, _Floats]]:
    """All outcomes of all random entries, with their probabilities."""
    names = [n for n, d in here.context.declarations.items() if d.kind == "random" and n in here.laws]
    entries = []
    for name in names:
        axes = here.context.declarations[name].axes
        entries += [(name, place) for place in product(*(range(here.sizes[a]) for a in axes))]
    for drawn in product(*(_atoms(here.laws[name], place) for name, place in entries)):
        p = mpf(1)
        for q, _ in drawn:
            p *= q
        yield p, here.with_entries(dict(zip(entries, (v for _, v in drawn), strict=True)))


def _atoms(law: Any, place: tuple[int, ...]) -> list[tuple[Any, Any]]:
    while place and isinstance(law, list) and isinstance(law[0], list):
        law, place = law[place[0]], place[1:]
    if isinstance(law, dict):
        raise NoOpinion("a law that is not finite")
    return [(_float(a["probability"]), _float(a["value"])) for a in law]


def _moments(here: _Floats, term: Term, letters: dict[Term, int]) -> Any:
    found = [(p, [place.value(a, letters) for a in term.args]) for p, place in _outcomes(here)]
    if term.op == "E":
        return sum(p * v[0] for p, v in found)
    means = [sum(p * v[k] for p, v in found) for k in (0, -1)]
    return sum(p * (v[0] - means[0]) * (v[-1] - means[1]) for p, v in found)


_VALUES: dict[str, Callable[[_Floats, Term, dict[Term, int]], Any]] = {
    "num": lambda h, t, k: _float(t.value),
    "const": lambda h, t, k: +mp.pi if t.value == "pi" else mp.inf,
    "size": lambda h, t, k: mpf(h.sizes[t.value]),
    "index": lambda h, t, k: mpf(k[t]),
    "var": lambda h, t, k: h.entries[t.value, h.place(t, k)],
    "def": _definition,
    "add": lambda h, t, k: mpmath.fsum(h.value(a, k) for a in t.args),
    "mul": lambda h, t, k: mpmath.fprod(h.value(a, k) for a in t.args),
    "neg": lambda h, t, k: -h.value(t.args[0], k),
    "div": lambda h, t, k: h.value(t.args[0], k) / h.value(t.args[1], k),
    "pow": _power,
    "fn": lambda h, t, k: _FUNCTIONS[t.value](*(h.value(a, k) for a in t.args)),
    "sum": lambda h, t, k: mpmath.fsum(h.value(t.args[0], j) for j in h.ranges(t, k)),
    "prod": lambda h, t, k: mpmath.fprod(h.value(t.args[0], j) for j in h.ranges(t, k)),
    "max": lambda h, t, k: max(h.value(t.args[0], j) for j in h.ranges(t, k)),
    "min": lambda h, t, k: min(h.value(t.args[0], j) for j in h.ranges(t, k)),
    "argmax": _argmax,
    "delta": lambda h, t, k: mpf(len(set(h.place(t, k))) == 1),
    "where": lambda h, t, k: h.value(t.args[1] if h.truth(t.args[0], k) else t.args[2], k),
    "diff": _derivative,
    "at": _replaced,
    "E": _moments,
    "Var": _moments,
    "Cov": _moments,
}


def _float(value: Any) -> Any:
    exact = Fraction(value)
    return mpf(exact.numerator) / exact.denominator


def _entries(name: str, value: Any, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[str, tuple[int, ...]], Any]]:
    if isinstance(value, (list, tuple)):
        for k, part in enumerate(value):
            yield from _entries(name, part, (*place, k))
    else:
        yield (name, place), value


def opinion(
    term: Term,
    context: Context,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    indices: Mapping[Term, int] | None = None,
    digits: int = 50,
) -> Any:
    """The term's value as mpmath finds it at so many digits. Raises NoOpinion where it finds none."""
    random = {n for n, d in context.declarations.items() if d.kind == "random"}
    with mp.workdps(digits):
        flat = [pair for n, v in values.items() if n not in random for pair in _entries(n, v)]
        entries = {entry: _float(v) for entry, v in flat}
        here = _Floats(context, sizes, entries, {n: v for n, v in values.items() if n in random}, dict(indices or {}))
        try:
            found = here.value(term, dict(indices or {}))
        except (ZeroDivisionError, ValueError, KeyError, TypeError, OverflowError) as problem:
            raise NoOpinion(str(problem)) from None
        if isinstance(found, mpmath.mpc) or not mpmath.isfinite(found):
            raise NoOpinion("no real number")
        return +found


def cross_check(
    term: Term,
    context: Context,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    indices: Mapping[Term, int] | None = None,
) -> bool:
    """Whether mpmath confirms the enclosure to at least 20 digits. Raises Disagreement where it contradicts it."""
    found = evaluate(term, context, sizes, values, indices, bits=200)
    if not isinstance(found, Enclosed):
        return False
    return _agrees(found.low, found.high, term, context, sizes, values, indices)


def confirmed(
    true: Fraction,
    room: Fraction,
    term: Term,
    context: Context,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    indices: Mapping[Term, int] | None = None,
) -> bool:
    """Whether mpmath finds this value, of which less than `room` is open, to 20 digits. Raises Disagreement if not."""
    return _agrees(true - room, true + room, term, context, sizes, values, indices)


def _agrees(
    least: Fraction,
    most: Fraction,
    term: Term,
    context: Context,
    sizes: Mapping[str, int],
    values: Mapping[str, Any],
    indices: Mapping[Term, int] | None,
) -> bool:
    try:
        rough, fine = (opinion(term, context, sizes, values, indices, digits) for digits in DIGITS)
    except NoOpinion:
        return False
    with mp.workdps(2 * DIGITS[-1]):
        # Half the digits may be lost to a difference quotient; what the two precisions differ by is noise as well.
        noise = 10 * abs(rough - fine) + (1 + abs(fine)) * mpf(10) ** (-DIGITS[0] // 2)
        low, high = _float(least), _float(most)
        if fine < low - noise or fine > high + noise:
            raise Disagreement(f"enclosed in [{low}, {high}], but mpmath finds {fine}")
        return noise < (1 + abs(fine)) * mpf(10) ** -20

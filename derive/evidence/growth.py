"""Bounds of what is averaged, for all values of a random entry: how fast it may grow, and how near to 0 it may come.

A bound is a sum of c exp(b |t|) in the standard variable t of the entry's law. Only operators that are certainly
defined everywhere have one, so that a mean exists where there is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flint import arb, fmpq

from derive.evidence.laws import Normal, Uniform
from derive.evidence.numbers import ONE, ZERO, NotDecided, NotDefined, Scalar, decided_sign, sign, standard, written_out
from derive.evidence.places import Entry, Letters, Random
from derive.term import Term

Bound = dict[fmpq, fmpq]  # exponent b to coefficient c: the sum of c exp(b |t|)
Pair = tuple[fmpq, fmpq]  # (a, b): a + b |t|
Floor = tuple[fmpq, fmpq]  # (c, b): at least c exp(-b |t|), and c is above 0

MAX_POWER = 12


def up(value: Scalar) -> fmpq:
    """A rational at or above the absolute value."""
    return abs(value) if isinstance(value, fmpq) else written_out(abs(value).upper())


@dataclass(frozen=True)
class Variable:
    """The entry as a function x = centre + scale t of a standard variable."""

    centre: Scalar
    scale: Scalar
    normal: bool


def variable(law: Any) -> Variable:
    """The law's standard variable: standard normal, or uniform between -1 and 1."""
    if isinstance(law, Normal):
        return Variable(law.mean, arb(law.variance).sqrt(), True)
    if isinstance(law, Uniform):
        return Variable((law.low + law.high) / 2, (law.high - law.low) / 2, False)
    raise NotDecided("a mean under a law that is not finite")


class Bounds:
    """Bounds of terms for all values of the standard variable."""

    def __init__(self, here: Random, entry: Entry, of: Variable):
        self.here, self.entry, self.of = here, entry, of

    def fixed(self, term: Term, letters: Letters) -> bool:
        return self.here.scope.random.isdisjoint(self.here.scope.names(term))

    def constant(self, term: Term, letters: Letters) -> fmpq:
        return up(standard(self.here.value(term, letters)))

    def linear(self, term: Term, letters: Letters) -> Pair:
        """A bound a + b |t| of the absolute value."""
        if self.fixed(term, letters):
            return self.constant(term, letters), ZERO
        op, args = term.op, term.args
        if op == "var":
            if (term.value, self.here.subscripts(term, letters)) == self.entry:
                return up(self.of.centre), up(self.of.scale)
            return up(standard(self.here.value(term, letters))), ZERO
        if op == "def":
            return self.linear(*self.unfolded(term, letters))
        if op == "neg":
            return self.linear(args[0], letters)
        if op == "add":
            parts = [self.linear(a, letters) for a in args]
            return sum((p[0] for p in parts), start=ZERO), sum((p[1] for p in parts), start=ZERO)
        if op == "mul" and sum(not self.fixed(a, letters) for a in args) == 1:
            factor, found = ONE, (ZERO, ZERO)
            for a in args:
                if self.fixed(a, letters):
                    factor *= self.constant(a, letters)
                else:
                    found = self.linear(a, letters)
            return factor * found[0], factor * found[1]
        if op == "div" and self.fixed(args[1], letters):
            factor = self.reciprocal(args[1], letters)
            a, b = self.linear(args[0], letters)
            return factor * a, factor * b
        raise NotDecided("a bound of an exponent")

    def reciprocal(self, term: Term, letters: Letters) -> fmpq:
        value = standard(self.here.value(term, letters))
        if decided_sign(value) == 0:
            raise NotDefined("division by zero")
        return up(1 / value)

    def unfolded(self, term: Term, letters: Letters) -> tuple[Term, Letters]:
        definition = self.here.scope.definitions[term.value]
        own = dict(zip(definition.letters, self.here.subscripts(term, letters), strict=True))
        return definition.body, {**self.here.fixed, **own}

    def floor(self, term: Term, letters: Letters) -> Floor:
        """A function c exp(-b |t|) that the term is never below. Raises NotDecided where none is known."""
        self.here.budget.spend()
        if self.fixed(term, letters):
            value = standard(self.here.value(term, letters))
            if decided_sign(value) <= 0:
                raise NotDecided("a lower bound above 0")
            return 1 / up(1 / value), ZERO
        rule = _FLOORS.get(term.op)
        if rule is None:
            raise NotDecided(f"a lower bound of {term.op}")
        return rule(self, term, letters)

    def nonnegative(self, term: Term, letters: Letters) -> bool:
        """Whether the term is certainly not below 0, for any t."""
        op, args = term.op, term.args
        if self.fixed(term, letters):
            return decided_sign(standard(self.here.value(term, letters))) >= 0
        if op == "def":
            return self.nonnegative(*self.unfolded(term, letters))
        if op == "var":
            return not self.of.normal and sign(self.of.centre - abs(self.of.scale)) in (0, 1)
        if op in ("add", "mul", "div"):
            return all(self.nonnegative(a, letters) for a in args)
        if op in ("sum", "prod"):
            return all(self.nonnegative(args[0], k) for k in self.here.selected(term, letters))
        if op == "pow":
            even = args[1].op == "num" and args[1].value.denominator == 1 and args[1].value % 2 == 0
            return even or self.nonnegative(args[0], letters)
        return op == "fn" and term.value in ("exp", "sigmoid", "abs", "relu", "softplus", "cosh", "sqrt")

    def reciprocal_bound(self, term: Term, letters: Letters) -> Bound:
        """A bound of 1 over the term, which is above 0 or below 0 for all t."""
        try:
            c, b = self.floor(term, letters)
        except NotDecided:
            c, b = self.floor(-term, letters)
        return {b: 1 / c}

    def bound(self, term: Term, letters: Letters) -> Bound:
        """A bound of the absolute value. Raises NotDecided where the term may be undefined for some t."""
        self.here.budget.spend()
        if self.fixed(term, letters):
            return {ZERO: self.constant(term, letters)}
        rule = _RULES.get(term.op)
        if rule is None:
            raise NotDecided(f"a bound of {term.op}")
        return rule(self, term, letters)


def sum_of(parts: list[Bound]) -> Bound:
    total: Bound = {}
    for part in parts:
        for b, c in part.items():
            total[b] = total.get(b, ZERO) + c
    return total


def product_of(parts: list[Bound]) -> Bound:
    total: Bound = {ZERO: ONE}
    for part in parts:
        total = sum_of([{b + d: c * e} for b, c in total.items() for d, e in part.items()])
    return total


def _var(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    a, b = bounds.linear(term, letters)
    return sum_of([{ZERO: a}, {ONE: b}])  # |t| <= exp(|t|)


def _pow(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    base, exponent = term.args
    power = standard(bounds.here.value(exponent, letters)) if bounds.fixed(exponent, letters) else None
    if not isinstance(power, fmpq) or abs(power) > MAX_POWER:
        raise NotDecided("a bound of a power")
    if power < 0:  # at most 1 + (1/base)**k for the next integer k
        one = {} if power.q == 1 else {ZERO: ONE}
        return sum_of([one, product_of([bounds.reciprocal_bound(base, letters)] * int((-power).ceil()))])
    if power.q == 1:
        return product_of([bounds.bound(base, letters)] * int(power.p))
    if not bounds.nonnegative(base, letters):
        raise NotDecided("a bound of a power")
    return sum_of([{ZERO: ONE}, product_of([bounds.bound(base, letters)] * int(power.ceil()))])


def _div(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    if not bounds.fixed(term.args[1], letters):
        return product_of([bounds.bound(term.args[0], letters), bounds.reciprocal_bound(term.args[1], letters)])
    return product_of([bounds.bound(term.args[0], letters), {ZERO: bounds.reciprocal(term.args[1], letters)}])


def _parts(bounds: Bounds, term: Term, letters: Letters) -> list[Bound]:
    return [bounds.bound(a, letters) for a in term.args]


def _selected(bounds: Bounds, term: Term, letters: Letters) -> list[Bound]:
    return [bounds.bound(term.args[0], k) for k in bounds.here.selected(term, letters)]


def _fn(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    name = term.value
    if name in ("sigmoid", "tanh", "erf", "sin", "cos", "sign", "atan"):
        _parts(bounds, term, letters)  # the argument has to be defined, too
        return {ZERO: fmpq(2)}
    if name in ("abs", "relu", "max", "min"):
        return sum_of(_parts(bounds, term, letters))
    if name == "softplus":
        return sum_of([*_parts(bounds, term, letters), {ZERO: ONE}])
    if name in ("exp", "expm1", "sinh", "cosh"):
        a, b = bounds.linear(term.args[0], letters)
        return sum_of([{b: up(arb(a).exp())}, {ZERO: ONE} if name == "expm1" else {}])
    argument = term.args[0]
    if name in ("sqrt", "log1p") and bounds.nonnegative(argument, letters):
        return sum_of([{ZERO: ONE}, bounds.bound(argument, letters)])
    if name == "log":  # |log y| is below y + 1/y
        c, b = bounds.floor(argument, letters)
        return sum_of([bounds.bound(argument, letters), {b: 1 / c}])
    raise NotDecided(f"a bound of {name}")


def _where(bounds: Bounds, term: Term, letters: Letters) -> Bound:
    _condition(bounds, term.args[0], letters)
    return sum_of([bounds.bound(a, letters) for a in term.args[1:]])


def _condition(bounds: Bounds, condition: Term, letters: Letters) -> None:
    """Raises NotDecided where the sides of a condition may be undefined."""
    if condition.op == "cmp":
        _parts(bounds, condition, letters)
    elif condition.op in ("and", "or", "not"):
        for part in condition.args:
            _condition(bounds, part, letters)
    elif condition.op not in ("true", "false"):
        raise NotDecided("a bound under a condition")


_RULES: dict[str, Callable[[Bounds, Term, Letters], Bound]] = {
    "var": _var,
    "def": lambda bounds, term, letters: bounds.bound(*bounds.unfolded(term, letters)),
    "add": lambda bounds, term, letters: sum_of(_parts(bounds, term, letters)),
    "neg": lambda bounds, term, letters: bounds.bound(term.args[0], letters),
    "mul": lambda bounds, term, letters: product_of(_parts(bounds, term, letters)),
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "where": _where,
    "sum": lambda bounds, term, letters: sum_of(_selected(bounds, term, letters)),
    "prod": lambda bounds, term, letters: product_of(_selected(bounds, term, letters)),
}


# -- lower bounds ------------------------------------------------------------------------------------------------------


def _floor_of_sum(bounds: Bounds, parts: list[tuple[Term, Letters]]) -> Floor:
    """Of terms that are not negative, one that has a lower bound of its own: a constant one if there is one."""
    if not all(bounds.nonnegative(t, k) for t, k in parts):
        raise NotDecided("a lower bound of a sum")
    found = []
    for term, letters in parts:
        try:
            found.append(bounds.floor(term, letters))
        except NotDecided:
            continue
    if not found:
        raise NotDecided("a lower bound of a sum")
    return min(found, key=lambda floor: (floor[1], -floor[0]))


def _floor_of_product(floors: list[Floor]) -> Floor:
    c, b = ONE, ZERO
    for factor, rate in floors:
        c, b = c * factor, b + rate
    return c, b


def _floor_of_quotient(bounds: Bounds, term: Term, letters: Letters) -> Floor:
    c, b = bounds.floor(term.args[0], letters)
    if not bounds.nonnegative(term.args[1], letters):
        raise NotDecided("a lower bound of a quotient")
    above = bounds.bound(term.args[1], letters)
    return c / sum(above.values(), start=ZERO), b + max(above)


def _floor_of_power(bounds: Bounds, term: Term, letters: Letters) -> Floor:
    exponent = term.args[1]
    if exponent.op != "num" or exponent.value.denominator != 1 or not 0 < exponent.value <= MAX_POWER:
        raise NotDecided("a lower bound of a power")
    return _floor_of_product([bounds.floor(term.args[0], letters)] * int(exponent.value))


def _floor_of_function(bounds: Bounds, term: Term, letters: Letters) -> Floor:
    name = term.value
    if name == "cosh":
        bounds.bound(term, letters)
        return ONE, ZERO
    if name in ("exp", "sigmoid", "softplus"):  # the last two are at least exp(-|x|)/2
        a, b = bounds.linear(term.args[0], letters)
        return (ONE if name == "exp" else fmpq(1, 2)) / up(arb(a).exp()), b
    if name == "sqrt":
        c, b = bounds.floor(term.args[0], letters)
        return 1 / up(1 / arb(c).sqrt()), b / 2
    if name == "abs":
        return bounds.floor(term.args[0], letters)
    raise NotDecided(f"a lower bound of {name}")


def _floor_of_variable(bounds: Bounds, term: Term, letters: Letters) -> Floor:
    least = bounds.of.centre - abs(bounds.of.scale)
    if bounds.of.normal or sign(least) != 1:
        raise NotDecided("a lower bound of a variable")
    return 1 / up(1 / least), ZERO


_FLOORS: dict[str, Callable[[Bounds, Term, Letters], Floor]] = {
    "var": _floor_of_variable,
    "def": lambda bounds, term, letters: bounds.floor(*bounds.unfolded(term, letters)),
    "add": lambda bounds, term, letters: _floor_of_sum(bounds, [(a, letters) for a in term.args]),
    "sum": lambda bounds, term, letters: _floor_of_sum(
        bounds, [(term.args[0], k) for k in bounds.here.selected(term, letters)]
    ),
    "mul": lambda bounds, term, letters: _floor_of_product([bounds.floor(a, letters) for a in term.args]),
    "prod": lambda bounds, term, letters: _floor_of_product(
        [bounds.floor(term.args[0], k) for k in bounds.here.selected(term, letters)]
    ),
    "div": _floor_of_quotient,
    "pow": _floor_of_power,
    "fn": _floor_of_function,
}

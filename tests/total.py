"""Values in the kernel's total reading, where 1/0, logarithms, roots and real powers of what is not positive are 0.

An evaluator of its own, and a source of random terms to evaluate: what the normal form claims of a term is compared
with plain arithmetic at explicit sizes, entries and places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from random import Random

import mpmath
from mpmath import mpf

from derive.kernel.context import Context, Declaration, Definition
from derive.term import (
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    both,
    cmp,
    defined,
    delta,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    power,
    size,
    var,
    where,
)

DIGITS = 60
SMALL = mpf(10) ** -38  # below it a number counts as 0
DOUBTFUL = mpf(10) ** -25  # between the two nothing is said
LARGE = mpf(10) ** 300


class Skip(Exception):
    """A value that is too large, or too close to 0, to be judged by its digits."""


@dataclass(frozen=True)
class Point:
    """Sizes of the axes, entries of the variables, places of the letters."""

    sizes: Mapping[str, int]
    values: Mapping[str, Mapping[tuple[int, ...], mpf]]
    letters: Mapping[Term, int]
    definitions: Mapping[str, Definition] = field(default_factory=dict)

    def at(self, letters: Mapping[Term, int]) -> Point:
        return replace(self, letters={**self.letters, **letters})


def _settled(value: mpf) -> mpf:
    if abs(value) > LARGE or SMALL < abs(value) < DOUBTFUL:
        raise Skip
    return mpf(0) if abs(value) <= SMALL else value


def _small(value: mpf) -> mpf:
    """The value of what has no rounded 0 in it: that it is small is no sign that it is 0."""
    if 0 < abs(value) < DOUBTFUL:
        raise Skip
    return value


def _exp(u: mpf) -> mpf:
    if abs(u) > 400:
        raise Skip
    return _small(mpmath.exp(u))


def _log(u: mpf) -> mpf:
    return mpmath.log(u) if u > 0 else mpf(0)


def _over(top: mpf, bottom: mpf) -> mpf:
    return _small(top / bottom) if bottom else mpf(0)


def _power(base: mpf, exponent: mpf) -> mpf:
    whole = mpmath.nint(exponent)
    if abs(whole) > 60:
        raise Skip
    if abs(exponent - whole) > SMALL:
        return _small(base**exponent) if base > 0 else mpf(0)
    return _small(base ** int(whole)) if base or whole >= 0 else mpf(0)


FUNCTIONS: dict[str, Callable[..., mpf]] = {
    "exp": _exp,
    "log": _log,
    "log1p": lambda u: _log(_settled(1 + u)),
    "expm1": lambda u: _exp(u) - 1,
    "sqrt": lambda u: mpmath.sqrt(u) if u > 0 else mpf(0),
    "abs": abs,
    "sign": lambda u: mpf((u > 0) - (u < 0)),
    "relu": lambda u: max(u, mpf(0)),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": lambda u: _over(mpmath.sin(u), _settled(mpmath.cos(u))),
    "sinh": lambda u: (_exp(u) - _exp(-u)) / 2,
    "cosh": lambda u: (_exp(u) + _exp(-u)) / 2,
    "tanh": mpmath.tanh,
    "atan": mpmath.atan,
    "erf": mpmath.erf,
    "sigmoid": lambda u: 1 / (1 + _exp(-u)),
    "softplus": lambda u: mpmath.log(1 + _exp(u)),
    "max": max,
    "min": min,
}
RELATIONS: dict[str, Callable[[mpf], bool]] = {
    "==": lambda gap: gap == 0,
    "!=": lambda gap: gap != 0,
    "<": lambda gap: gap < 0,
    "<=": lambda gap: gap <= 0,
    ">": lambda gap: gap > 0,
    ">=": lambda gap: gap >= 0,
}


def value(term: Term, here: Point) -> mpf:
    """The value of the term. Raises Skip where its digits do not decide."""
    with mpmath.workdps(DIGITS):
        return _settled(_value(term, here))


def _value(term: Term, here: Point) -> mpf:
    op, args = term.op, term.args
    if op == "num":
        return mpf(term.value.numerator) / term.value.denominator
    if op == "size":
        return mpf(here.sizes[term.value])
    if op == "const":
        return +mpmath.pi
    if op == "index":
        return mpf(here.letters[term])
    if op == "var":
        return here.values[term.value][tuple(int(value(a, here)) for a in args)]
    if op == "def":
        known = here.definitions[term.value]
        places = [int(value(a, here)) for a in args]
        return value(known.body, here.at(dict(zip(known.letters, places, strict=True))))
    if op == "where":
        return value(args[1] if truth(args[0], here) else args[2], here)
    if op == "delta":
        return mpf(value(args[0], here) == value(args[1], here))
    if op in ("sum", "prod", "max", "min", "argmax"):
        return _over_axis(op, [(value(args[0], inner), inner) for inner in chosen(term, here)], term)
    if op == "at":
        old = here.values[term.value]
        new = {p: value(args[1], here.at(dict(zip(term.bound, p, strict=True)))) for p in old}
        return value(args[0], replace(here, values={**here.values, term.value: new}))
    parts = [value(a, here) for a in args]
    if op == "add":
        return mpmath.fsum(parts)
    if op == "mul":
        return _small(mpmath.fprod(parts))
    if op == "neg":
        return -parts[0]
    if op == "div":
        return _over(*parts)
    if op == "pow":
        return _power(*parts)
    return FUNCTIONS[term.value](*parts)


def chosen(term: Term, here: Point) -> Iterator[Point]:
    """The point at each value of the bound letters that passes the filter."""
    for places in product(*(range(here.sizes[k.value[1]]) for k in term.bound)):
        inner = here.at(dict(zip(term.bound, places, strict=True)))
        if truth(term.args[1], inner):
            yield inner


def _over_axis(op: str, found: list[tuple[mpf, Point]], term: Term) -> mpf:
    values = [v for v, _ in found]
    if op == "sum":
        return mpmath.fsum(values)
    if op == "prod":
        return mpmath.fprod(values)
    if not values:
        raise Skip
    if op == "argmax":
        return mpf(next(here.letters[term.bound[0]] for v, here in found if max(values) - v <= SMALL))
    return max(values) if op == "max" else min(values)


def truth(condition: Term, here: Point) -> bool:
    op, args = condition.op, condition.args
    if op in ("true", "false"):
        return op == "true"
    if op == "cmp":
        return RELATIONS[condition.value](_settled(value(args[0], here) - value(args[1], here)))
    if op == "and":
        return all(truth(a, here) for a in args)
    if op == "or":
        return any(truth(a, here) for a in args)
    if op == "not":
        return not truth(args[0], here)
    if op in ("any", "all"):
        return (any if op == "any" else all)(truth(args[0], inner) for inner in chosen(condition, here))
    assert op == "holds", op
    return value(args[0], here) != 0


def close(left: mpf, right: mpf) -> bool:
    return bool(abs(left - right) <= mpf(10) ** -30 * max(1, abs(left), abs(right)))


# -- random terms and points -----------------------------------------------------------------------------------------

I, J, A = index("i", "n"), index("j", "n"), index("a", "m")  # noqa: E741  # free letters of the random terms
FREE = (I, J, A)
_k = index("k", "n")
CONTEXT = Context(
    ("n", "m"),
    {
        d.name: d
        for d in (
            *(
                Declaration(name, kind)
                for name, kind in zip("srucd", "real positive nonnegative integer bit".split(), strict=True)
            ),
            *(
                Declaration(name, kind, ("n",))
                for name, kind in zip("xpgh", "real positive nonnegative bit".split(), strict=True)
            ),
            Declaration("W", "real", ("n", "n")),
            Declaration("V", "real", ("n", "m")),
            Declaration("M", "bit", ("n", "n")),
            Declaration("t", "index", ("n",), "n"),
        )
    },
    {
        "Z": Definition("Z", (), make("sum", (fn("exp", var("x", _k)), TRUE), None, (_k,))),
        "S": Definition("S", (I,), div(fn("exp", var("x", I)), defined("Z"))),
    },
)
ENTRIES = {
    "real": "0 0 1 -1 2 -2 1/2 -3/2 3",
    "positive": "1 2 1/2 3 2/3",
    "nonnegative": "0 0 1 2 1/2",
    "integer": "0 1 2 -1 -2 3",
    "bit": "0 1",
}
EXPONENTS = "2 3 -1 1/2 3/2 -1/2 1/3 -2".split()
NAMES = (
    "exp exp log log log1p expm1 sqrt sqrt abs abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu"
).split()


def random_point(random: Random) -> Point:
    """A small point, zeros and ties included."""
    sizes = {"n": random.choice([1, 1, 2, 2, 3]), "m": random.choice([1, 2])}
    values = {
        d.name: {place: _entry(d, random, sizes) for place in product(*(range(sizes[axis]) for axis in d.axes))}
        for d in CONTEXT.declarations.values()
    }
    letters = {k: random.randrange(sizes[k.value[1]]) for k in FREE}
    return Point(sizes, values, letters, CONTEXT.definitions)


def _entry(declaration: Declaration, random: Random, sizes: dict[str, int]) -> mpf:
    if declaration.over is not None:
        return mpf(random.randrange(sizes[declaration.over]))
    exact = Fraction(random.choice(ENTRIES[declaration.kind].split()))
    with mpmath.workdps(DIGITS):
        return mpf(exact.numerator) / exact.denominator


class Terms:
    """A source of random terms in the names of CONTEXT, binders, filters, cases and replacements included."""

    def __init__(self, random: Random):
        self.random = random

    def letter(self, letters: tuple[Term, ...], axis: str) -> Term:
        found = self.random.choice([k for k in letters if k.value[1] == axis])
        return var("t", found) if axis == "n" and self.random.random() < 0.06 else found

    def leaf(self, letters: tuple[Term, ...]) -> Term:
        i, j, a = (self.letter(letters, axis) for axis in ("n", "n", "m"))
        numbers = [num(v) for v in ("0", "1", "2", "-1", "3", "1/2", "-2")]
        scalars = [var(name) for name in "srucd"]
        arrays = [var("x", i), var("x", i), var("p", i), var("g", i), var("h", i), var("W", i, j), var("V", i, a)]
        others = [size("n"), size("m"), i, defined("Z"), defined("S", i), delta(i, j), var("M", i, j)]
        return self.random.choice(self.random.choice([numbers, scalars, arrays, arrays, others]))

    def term(self, depth: int, letters: tuple[Term, ...] = FREE) -> Term:
        if depth <= 0 or self.random.random() < 0.08:
            return self.leaf(letters)
        first, second = self.term(depth - 1, letters), self.term(depth - 1, letters)
        exponents = [*map(num, EXPONENTS), var("c"), var("s"), var("r"), size("n"), second]
        choices: list[Callable[[], Term]] = [
            lambda: add(first, second),
            lambda: add(first, neg(second)),
            lambda: mul(first, second),
            lambda: mul(first, second),
            lambda: div(first, second),
            lambda: div(first, second),
            lambda: power(first, self.random.choice(exponents)),
            lambda: power(first, self.random.choice(exponents)),
            lambda: fn(self.random.choice(NAMES), first),
            lambda: fn(self.random.choice(NAMES), first),
            lambda: fn(self.random.choice(NAMES), first),
            lambda: fn(self.random.choice(("max", "min")), first, second),
            lambda: where(self.condition(depth - 1, letters), first, second),
            lambda: where(self.condition(depth - 1, letters), ONE, ZERO),
            *([lambda: self.binder(depth, letters)] * 5),
            lambda: self.replaced(first, depth, letters),
        ]
        return self.random.choice(choices)()

    def binder(self, depth: int, letters: tuple[Term, ...]) -> Term:
        free = [name for name in ("k", "l", "k2", "l2") if all(name != k.value[0] for k in letters)]
        if not free:
            return self.leaf(letters)
        new = index(free[0], self.random.choice("nnnm"))
        op = self.random.choice(("sum", "sum", "sum", "prod", "max", "min"))
        return make(op, (self.term(depth - 1, (*letters, new)), self.filter(new, letters)), None, (new,))

    def filter(self, new: Term, letters: tuple[Term, ...]) -> Term:
        if self.random.random() < 0.6 or new.value[1] != "n":
            return TRUE
        first, second = (
            cmp(self.random.choice("!= < <= > >= ==".split()), new, self.letter(letters, "n")) for _ in range(2)
        )
        bit = self.random.choice([var("h", new), var("M", new, self.letter(letters, "n"))])
        return self.random.choice([first, first, both(first, second), make("holds", (bit,))])

    def replaced(self, body: Term, depth: int, letters: tuple[Term, ...]) -> Term:
        new = index("e", "n")
        return body if new in letters else make("at", (body, self.term(depth - 1, (*letters, new))), "x", (new,))

    def condition(self, depth: int, letters: tuple[Term, ...]) -> Term:
        relation = self.random.choice(list(RELATIONS))
        values = cmp(
            relation, self.term(depth - 1, letters), self.random.choice([ZERO, ZERO, self.term(depth - 1, letters)])
        )
        indices = cmp(relation, self.letter(letters, "n"), self.letter(letters, "n"))
        bit = make("holds", (var("h", self.letter(letters, "n")),))
        plain = self.random.choice([values, values, indices, indices, bit])
        if depth <= 0 or self.random.random() < 0.7:
            return plain
        other = self.condition(depth - 1, letters)
        return self.random.choice([make("and", (plain, other)), make("or", (plain, other)), make("not", (other,))])

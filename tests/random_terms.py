"""Random terms of every operator, for tests of printers."""

from __future__ import annotations

import random
from collections.abc import Sequence

from derive.term import (
    ONE,
    OO,
    PI,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    cmp,
    defined,
    delta,
    diff,
    div,
    fn,
    index,
    make,
    neg,
    num,
    power,
    size,
    var,
    where,
)

VARIABLES = {
    "z": ("n",), "W": ("n", "d"), "T": (), "c": (), "mu": ("n",), "log_x": ("d",), "dO": ("n", "d"), "m4": (),
    "sigma": (), "x_max": (), "λ": (), "alpha": (), "α": (), "m": ("n",), "lambda_": (), "eps": (), "Γ": (),
}  # fmt: skip
DEFINITIONS = {"s": ("n",), "Z": (), "P": ("n", "d")}
AXES = {"n": "ijk", "d": "abk"}
FREE = (index("i", "n"), index("j", "n"), index("a", "d"))
NUMBERS = (0, 1, 2, 3, 10, -1, -2, "1/2", "-3/4", "0.1", "1e-12", "1.702", 10**12, "1/3", "123456789/1000000")
FUNCTIONS = (
    "exp exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu "
    "lgamma digamma trigamma"
).split()
OPERATORS = (
    "add add mul mul mul neg div div pow fn fn fn extremum sum sum prod max min argmax delta where where indicator "
    "diff mixed at limit E Var Cov"
).split()
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


class Terms:
    """A source of random terms; the same seed gives the same terms."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def term(self, depth: int, letters: Sequence[Term] = FREE) -> Term:
        """A term of at most this depth, its free letters among the given ones."""
        if depth == 0 or self.random.random() < 0.12:
            return self.leaf(letters)
        return getattr(self, "_" + self.random.choice(OPERATORS), self._binder)(depth - 1, letters)

    def condition(self, depth: int, letters: Sequence[Term] = FREE) -> Term:
        choice = self.random.randrange(9)
        if depth == 0 or choice < 4:
            relation = self.random.choice(RELATIONS)
            return cmp(relation, self.term(depth, letters), self.term(depth, letters))
        if choice == 4:
            return make("and", [self.condition(depth - 1, letters), self.condition(depth - 1, letters)])
        if choice == 5:
            low, middle, high = (self.term(depth, letters) for _ in range(3))
            chain = make("and", [cmp("<", low, middle), cmp("<=", middle, high)])
            return make("or", [chain, self.condition(depth - 1, letters)])
        if choice == 6:
            return make("not", (self.condition(depth - 1, letters),))
        if choice == 7:
            return make("holds", (self.entry("W", VARIABLES["W"], letters),))
        new = self.fresh("l", letters)
        if new is None:
            return TRUE
        test = self.random.choice([TRUE, cmp("!=", new, letters[0])])
        return make(self.random.choice(["all", "any"]), (self.condition(depth - 1, [*letters, new]), test), None, [new])

    def leaf(self, letters: Sequence[Term]) -> Term:
        kind = self.random.randrange(6)
        if kind == 0:
            return num(self.random.choice(NUMBERS))
        if kind == 1:
            return self.random.choice([size("n"), size("d"), PI, OO, ONE, TWO])
        if kind == 2:
            return self.random.choice(list(letters))
        if kind == 3:
            name = self.random.choice(list(DEFINITIONS))
            return defined(name, *self.entry(name, DEFINITIONS[name], letters).args)
        name = self.random.choice(list(VARIABLES))
        return self.entry(name, VARIABLES[name], letters)

    def entry(self, name: str, axes: Sequence[str], letters: Sequence[Term]) -> Term:
        return var(name, *(self.random.choice([k for k in letters if k.value[1] == axis]) for axis in axes))

    def fresh(self, name: str, letters: Sequence[Term], axis: str | None = None) -> Term | None:
        taken = any(k.value[0] == name for k in letters)
        return None if taken else index(name, axis or self.random.choice(list(AXES)))

    def _add(self, depth: int, letters: Sequence[Term]) -> Term:
        return make("add", [self.term(depth, letters) for _ in range(self.random.choice([2, 2, 3]))])

    def _mul(self, depth: int, letters: Sequence[Term]) -> Term:
        return make("mul", [self.term(depth, letters) for _ in range(self.random.choice([2, 2, 3]))])

    def _neg(self, depth: int, letters: Sequence[Term]) -> Term:
        return neg(self.term(depth, letters))

    def _div(self, depth: int, letters: Sequence[Term]) -> Term:
        return div(self.term(depth, letters), self.term(depth, letters))

    def _pow(self, depth: int, letters: Sequence[Term]) -> Term:
        return power(self.term(depth, letters), self.random.choice([TWO, self.term(depth, letters)]))

    def _fn(self, depth: int, letters: Sequence[Term]) -> Term:
        return fn(self.random.choice(FUNCTIONS), self.term(depth, letters))

    def _extremum(self, depth: int, letters: Sequence[Term]) -> Term:
        return fn(self.random.choice(["max", "min"]), self.term(depth, letters), self.term(depth, letters))

    def _binder(self, depth: int, letters: Sequence[Term]) -> Term:
        op = self.random.choice(["sum", "prod", "max", "min", "argmax"])
        bound: list[Term] = []
        for _ in range(self.random.choice([1, 1, 2])):
            axis = self.random.choice(list(AXES))
            new = self.fresh(self.random.choice(AXES[axis]), [*letters, *bound], axis)
            bound += [new] if new is not None else []
        if not bound:
            return self.term(depth, letters)
        inner = [*letters, *bound]
        test = TRUE if self.random.random() < 0.5 else self.condition(1, inner)
        return make(op, (self.term(depth, inner), test), None, bound)

    def _delta(self, depth: int, letters: Sequence[Term]) -> Term:
        return delta(self.random.choice(list(letters)), self.random.choice(list(letters)))

    def _where(self, depth: int, letters: Sequence[Term]) -> Term:
        return where(self.condition(1, letters), self.term(depth, letters), self.term(depth, letters))

    def _indicator(self, depth: int, letters: Sequence[Term]) -> Term:
        return where(self.condition(1, letters), ONE, ZERO)

    def _diff(self, depth: int, letters: Sequence[Term]) -> Term:
        return diff(self.term(depth, letters), self.entry("z", ("n",), letters))

    def _mixed(self, depth: int, letters: Sequence[Term]) -> Term:
        body = self.random.choice([self.term(depth, letters), defined("Z")])
        return diff(body, self.entry("z", ("n",), letters), var("T"))

    def _at(self, depth: int, letters: Sequence[Term]) -> Term:
        new = self.fresh("l", letters, "n")
        if new is None:
            return self.term(depth, letters)
        return make("at", (self.term(depth, letters), self.term(depth, [*letters, new])), "z", (new,))

    def _limit(self, depth: int, letters: Sequence[Term]) -> Term:
        points = [OO, neg(OO), ZERO, var("c"), num("1/2"), add(var("c"), ONE)]
        parts = (self.term(depth, letters), var("T"), self.random.choice(points))
        return make("limit", parts, self.random.choice(["", "+", "-"]))

    def _E(self, depth: int, letters: Sequence[Term]) -> Term:
        return make("E", (self.term(depth, letters),))

    def _Var(self, depth: int, letters: Sequence[Term]) -> Term:
        return make("Var", (self.term(depth, letters),))

    def _Cov(self, depth: int, letters: Sequence[Term]) -> Term:
        return make("Cov", (self.term(depth, letters), self.term(depth, letters)))

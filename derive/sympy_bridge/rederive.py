"""Each claim derived again by SymPy at explicit sizes: an opinion that shares nothing with the engine but the terms."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random
from typing import Any

import sympy
from sympy.polys.polyerrors import BasePolynomialError

from derive.kernel.context import Context
from derive.sympy_bridge.cancel import Bit, Vanishing, is_zero, numerator
from derive.sympy_bridge.explicit import Env, Explicit
from derive.sympy_bridge.feasible import infeasible
from derive.sympy_bridge.paths import MOMENT, Path, Undefined, Unsupported, every_path, known_sign, solved
from derive.term import TRUE, Term, subterms

SIGNS: dict[str, tuple[int, ...]] = {"==": (0,), "!=": (1, -1), "<": (-1,), "<=": (-1, 0), ">": (1,), ">=": (1, 0)}
ATTEMPTS = 12  # random points, to find one that meets the hypotheses
POINTS = 6
DIGITS = 40
# What SymPy raises on expressions that it cannot handle; an opinion that was not formed is none.
SYMPY_TROUBLE = (
    ArithmeticError,
    AttributeError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
    BasePolynomialError,
)
SMALL = sympy.Float("1e-25", DIGITS)


@dataclass(frozen=True)
class Rederivation:
    """What SymPy finds: `agrees` at all of `sizes_checked`, disagrees at the last of them, or cannot tell (None)."""

    sizes_checked: tuple[dict[str, int], ...]
    agrees: bool | None
    reason: str = ""


class OutOfTime(Exception):
    """The seconds allowed are used up."""


def rederive(
    condition: Term, context: Context, sizes: Sequence[int] = (1, 2, 3, 4), seconds: float = 10.0
) -> Rederivation:
    """The claim decided at these sizes by differentiating explicit components and cancelling exactly.

    `agrees` is True only if both sides are equal, at every checked size that the hypotheses admit, for all values of
    all letters, as an identity in the components wherever the left side is defined: off the points where a formula
    under `diff` switches. It is False where they differ at a point, and None where neither was shown. Where time runs
    out the sizes done so far count, if a size above 1 is among them.
    """
    clock = time.monotonic() + seconds
    done: list[dict[str, int]] = []
    try:
        for choice in size_choices(condition, context, sizes):
            verdict = _Trial(condition, context, choice, clock).verdict()
            if verdict.agrees is False:
                return Rederivation((*done, choice), False, verdict.reason)
            if verdict.agrees is None:
                if _enough(done):
                    return Rederivation(tuple(done), True, f"beyond these sizes: {verdict.reason}")
                return Rederivation(tuple(done), None, verdict.reason)
            if verdict.reason != "not admitted":
                done.append(choice)
    except OutOfTime:
        return Rederivation(tuple(done), True if _enough(done) else None, "time ran out")
    if not done:
        return Rederivation((), None, "no size is admitted")
    return Rederivation(tuple(done), True)


def equivalent_at_small_sizes(
    condition: Term, context: Context, sizes: Sequence[int] = (1, 2, 3), seconds: float = 5.0
) -> bool | None:
    """Whether the claim is an identity at all these sizes: True, False (a point contradicts it), or None (not told)."""
    found = rederive(condition, context, sizes, seconds)
    return None if found.reason and found.agrees else found.agrees


def _enough(done: list[dict[str, int]]) -> bool:
    return any(n > 1 for sizes in done for n in sizes.values())


# -- sizes -------------------------------------------------------------------------------------------------------------


def axes_of(condition: Term, context: Context) -> list[str]:
    """The axes that the claim and its hypotheses speak of."""
    seen: set[str] = set()
    axes: set[str] = {k.value[1] for k in context.letters}
    waiting = [condition, *context.hypotheses]
    while waiting:
        term = waiting.pop()
        for part in subterms(term):
            axes |= {k.value[1] for k in part.bound}
            axes |= {part.value} if part.op == "size" else {part.value[1]} if part.op == "index" else set()
        for name in term.names - seen:
            seen.add(name)
            if name in context.definitions:
                waiting.append(context.definitions[name].body)
            elif name in context.declarations:
                declaration = context.declarations[name]
                axes |= {*declaration.axes} | ({declaration.over} if declaration.over else set())
                waiting += declaration.law.parameters if declaration.law else ()
    return [a for a in context.axes if a in axes]


def size_choices(condition: Term, context: Context, sizes: Sequence[int]) -> Iterator[dict[str, int]]:
    """The sizes to try, small ones first: every combination for one axis or two, few of those above 2 for more."""
    axes = axes_of(condition, context)
    fixed = _example_sizes(context)
    free = [a for a in axes if a not in fixed]
    every = list(product(sizes, repeat=len(free))) if len(free) <= 2 else _sparse(len(free), sizes)
    for choice in sorted(every, key=lambda c: (sum(c), c)):
        yield {**dict.fromkeys(context.axes, 1), **fixed, **dict(zip(free, choice, strict=True))}


def _sparse(count: int, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """All combinations of the two smallest sizes, and one axis at a time at each larger size, the others at 2."""
    small, large = list(sizes[:2]), sizes[2:]
    found = set(product(small, repeat=count))
    for n in large:
        found |= {tuple(n if p == place else small[-1] for p in range(count)) for place in range(count)}
    return list(found)


def _examples(context: Context) -> Iterator[tuple[str, Term]]:
    """The arrays that a finite example fixes, with their lists."""
    for hypothesis in context.hypotheses:
        if hypothesis.op == "cmp" and hypothesis.args[1].op == "list":
            yield hypothesis.args[0].value, hypothesis.args[1]


def _example_sizes(context: Context) -> dict[str, int]:
    fixed: dict[str, int] = {}
    for name, rows in _examples(context):
        for axis in context.declarations[name].axes:
            fixed[axis] = len(rows.args)
            rows = rows.args[0]
    return fixed


# -- one size ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    agrees: bool | None
    reason: str = ""


@dataclass
class Sides:
    """What one run of the evaluation found: left minus right, with what the path fixed put in, or None for a side."""

    left: sympy.Expr
    right: sympy.Expr | None
    equal: Mapping[Any, Any]
    signs: list[tuple[sympy.Expr, int]]
    unsolved: list[sympy.Expr] = field(default_factory=list)  # zero by hypothesis, but not solved for anything
    laws: list[sympy.Expr] = field(default_factory=list)  # not negative, for the laws to exist
    bottoms: list[sympy.Expr] = field(default_factory=list)  # not zero, for the quotients to exist

    @property
    def difference(self) -> sympy.Expr:
        assert self.right is not None
        return (self.left - self.right).xreplace(self.equal)


class _Trial:
    """The claim at one choice of sizes."""

    def __init__(self, condition: Term, context: Context, sizes: dict[str, int], clock: float):
        self.condition, self.context, self.sizes, self.clock = condition, context, sizes, clock
        self.about_letters = [h for h in context.hypotheses if not h.names and h.letters]
        self.others = [h for h in context.hypotheses if h.names or not h.letters]
        free = set(condition.letters).union(context.letters, *(h.letters for h in self.about_letters))
        self.letters = sorted(free, key=lambda k: k.value)
        self.admitted = False

    def verdict(self) -> Verdict:
        """True where every instance is an identity, False where one is not."""
        unknown = ""
        for choice in product(*(range(self.sizes[k.value[1]]) for k in self.letters)):
            found = self._instance(dict(zip(self.letters, choice, strict=True)))
            if found.agrees is False:
                return found
            unknown = unknown or ("" if found.agrees else found.reason)
        if unknown:
            return Verdict(None, unknown)
        return Verdict(True, "" if self.admitted else "not admitted")

    def _instance(self, env: Env) -> Verdict:
        unknown = ""
        try:
            for _, sides in every_path(lambda path: self._run(path, env)):
                if time.monotonic() > self.clock:
                    raise OutOfTime
                if sides is None:
                    continue
                self.admitted = True
                found = self._judged(sides)
                if found.agrees is False:
                    return found
                unknown = unknown or ("" if found.agrees else found.reason)
        except Unsupported as problem:
            return Verdict(None, str(problem))
        except SYMPY_TROUBLE as problem:
            return Verdict(None, f"SymPy gives up: {type(problem).__name__}")
        return Verdict(None, unknown) if unknown else Verdict(True)

    # -- evaluation --

    def _run(self, path: Path, env: Env) -> Sides:
        """Both sides on this path. Raises Undefined where a hypothesis fails or the left side is undefined."""
        x = Explicit(self.context, self.sizes, path)
        unsolved: list[sympy.Expr] = []
        for hypothesis in self.about_letters:
            if not x.holds(hypothesis, env):
                raise Undefined("letters")
        fixed = {k: v for k, v in env.items() if k in self.context.letters}
        for hypothesis in self.others:
            self._assume(x, hypothesis, fixed, unsolved)
        condition = self.condition
        if condition.op != "cmp":
            return Sides(sympy.S.One, sympy.Integer(x.holds(condition, env)), path.equal, path.signs, unsolved)
        left = x.value(condition.args[0], env)
        try:
            right: sympy.Expr | None = x.value(condition.args[1], env)
        except Undefined:
            right = None
        return Sides(left, right, dict(path.equal), list(path.signs), unsolved, list(laws_exist(x)), list(path.bottoms))

    def _assume(self, x: Explicit, hypothesis: Term, fixed: Env, unsolved: list[sympy.Expr]) -> None:
        """Make the path one on which the hypothesis holds, for all values of its letters but the fixed ones."""
        if hypothesis.op == "and":
            for part in hypothesis.args:
                self._assume(x, part, fixed, unsolved)
        elif hypothesis.op == "cmp" and hypothesis.args[1].op == "list":
            self._fix_entries(x, hypothesis.args[0].value, hypothesis.args[1], ())
        else:
            for env, condition in self._instances(x, hypothesis, fixed):
                self._assume_instance(x, condition, env, unsolved)

    def _instances(self, x: Explicit, hypothesis: Term, fixed: Env) -> Iterator[tuple[Env, Term]]:
        letters = sorted(hypothesis.letters - fixed.keys(), key=lambda k: k.value)
        for choice in product(*(range(self.sizes[k.value[1]]) for k in letters)):
            yield from self._opened(x, hypothesis, {**fixed, **dict(zip(letters, choice, strict=True))})

    def _opened(self, x: Explicit, condition: Term, env: Env) -> Iterator[tuple[Env, Term]]:
        if condition.op == "all":
            for inner in x.environments(condition, env):
                yield from self._opened(x, condition.args[0], inner)
        elif condition.op == "and":
            for part in condition.args:
                yield from self._opened(x, part, env)
        elif condition is not TRUE:
            yield env, condition

    def _assume_instance(self, x: Explicit, condition: Term, env: Env, unsolved: list[sympy.Expr]) -> None:
        if condition.op != "cmp":
            if not x.holds(condition, env):
                raise Undefined("a hypothesis")
            return
        left, right = (x.value(a, env) for a in condition.args)
        difference = x.path.settled(left - right)
        if condition.value != "==":
            if x.path.sign(difference, SIGNS[condition.value]) is None:
                raise Undefined("a hypothesis")
            return
        known = known_sign(sympy.expand(difference))
        if known is not None and known != 0:
            raise Undefined("a hypothesis")
        try:
            if known == 0 or is_zero(difference):
                return
        except Vanishing:
            raise Undefined("a hypothesis") from None
        solution = solved(difference) or solved(numerator(difference) or difference)
        if solution is None:
            unsolved.append(difference)
        else:
            x.path.fix(*solution)

    def _fix_entries(self, x: Explicit, name: str, rows: Term, place: tuple[int, ...]) -> None:
        if rows.op == "list":
            for k, row in enumerate(rows.args):
                self._fix_entries(x, name, row, (*place, k))
        else:
            x.path.fix(x.symbol(name, place), x.value(rows, {}))

    # -- judgement --

    def _judged(self, sides: Sides) -> Verdict:
        if sides.right is None:
            found = self._refuted(sides, "the right side is undefined")
            return found or (Verdict(True) if infeasible(_signs(sides)) else Verdict(None, "a side is undefined"))
        relation = self.condition.value if self.condition.op == "cmp" else "=="
        if relation == "==" and self._zero(sides):
            return Verdict(True)  # an identity needs no point to be tried
        refuted = self._refuted(sides, "the sides differ", relation)
        if refuted is not None:
            return refuted
        difference = sides.difference
        if relation != "==":
            known = known_sign(difference)
            if known is None:
                known = known_sign(sympy.factor(difference)) if len(difference.free_symbols) < 6 else None
            if known is not None and known in SIGNS[relation]:
                return Verdict(True)
            if difference.is_nonnegative if relation == ">=" else relation == "<=" and difference.is_nonpositive:
                return Verdict(True)
            return Verdict(True) if relation in (">=", "<=") and self._zero(sides) else Verdict(None, "an order")
        return Verdict(True) if infeasible(_signs(sides)) else Verdict(None, "the difference does not cancel")

    def _zero(self, sides: Sides) -> bool:
        try:
            if is_zero(sides.left.xreplace(sides.equal), -sides.right.xreplace(sides.equal)):  # type: ignore[union-attr]
                return True
        except Vanishing:
            return False
        return bool(sides.unsolved) and _in_ideal(sides.difference, sides.unsolved)

    def _refuted(self, sides: Sides, reason: str, relation: str = "==") -> Verdict | None:
        """A verdict that the claim fails, at a random point that meets what the path assumes, or None."""
        if sides.unsolved or (
            relation != "==" and any(s.name.startswith(MOMENT) for s in sides.difference.free_symbols)
        ):
            return None  # moments that are not known obey inequalities of their own
        left = sides.left.xreplace(sides.equal)
        right = sides.right.xreplace(sides.equal) if sides.right is not None else None
        symbols = set(left.free_symbols) | (right.free_symbols if right is not None else set())
        symbols |= {s for v in sides.equal.values() for s in v.free_symbols} | {
            s for e, _ in sides.signs for s in e.free_symbols
        }
        symbols |= {s for e in (*sides.laws, *sides.bottoms) for s in e.free_symbols}
        symbols -= set(sides.equal)
        rng = Random(len(symbols))
        wanted = POINTS if any(s.is_integer for s in symbols) else 1  # numbers from a few may coincide by chance
        for _ in range(ATTEMPTS):
            point = {s: _random_value(s, rng) for s in sorted(symbols, key=str)}
            if not _meets(sides, point):
                continue
            values = [_number(e, point) for e in (left, right) if e is not None]
            if any(v is None for v in values):
                continue
            if right is None:
                return Verdict(False, reason)
            gap, scale = values[0] - values[1], 1 + abs(values[0]) + abs(values[1])  # type: ignore[operator,arg-type]
            side = 0 if abs(gap) < SMALL * scale else 1 if gap > 0 else -1
            if side == 0 and relation != "==" and not self._zero(sides):
                return None  # too close to call
            if side not in SIGNS[relation]:
                return Verdict(False, f"{reason} at {_shown(point)}" if point else reason)
            wanted -= 1
            if not wanted:
                return None
        return None


def laws_exist(x: Explicit) -> Iterator[sympy.Expr]:
    """What must not be negative for the laws of all random names: variances, probabilities, lengths of intervals."""
    for declaration in x.context.declarations.values():
        if declaration.law is None:
            continue
        for place in product(*(range(x.sizes[a]) for a in declaration.axes)):
            env = dict(zip(declaration.letters, place, strict=False))
            yield from ADMITTED[declaration.law.family](*(x.value(p, env) for p in declaration.law.parameters))


ADMITTED: dict[str, Callable[..., tuple[sympy.Expr, ...]]] = {
    "random": lambda mean, variance: (variance,),
    "normal": lambda mean, variance: (variance,),
    "bernoulli": lambda p: (p, 1 - p),
    "uniform": lambda low, high: (high - low,),
    "rademacher": lambda: (),
}


def _signs(sides: Sides) -> list[tuple[sympy.Expr, int]]:
    """The signs that the path assumed, with what it fixed put in, and those of the symbols by their kinds."""
    signs = [(e.xreplace(dict(sides.equal)), s) for e, s in sides.signs]
    symbols = {s for e, _ in signs for s in e.free_symbols}
    kinds = [(s, s) for s in symbols] + [(s, v) for s, v in sides.equal.items()]
    signs += [(v, 1) for s, v in kinds if s.is_positive]
    return signs


def _random_value(symbol: sympy.Symbol, rng: Random) -> sympy.Expr:
    """A small rational that the symbol's assumptions admit."""
    if isinstance(symbol, Bit):
        return sympy.Integer(rng.randint(0, 1))
    if symbol.is_integer:
        return sympy.Integer(rng.randint(0, 3))
    value = sympy.Rational(rng.randint(1, 23), rng.choice((7, 11, 13)))
    return value if symbol.is_nonnegative or rng.random() < 0.5 else -value


def _meets(sides: Sides, point: Mapping[sympy.Symbol, sympy.Expr]) -> bool:
    """Whether the point meets the signs that the path assumed and the kinds of the symbols that it fixed."""
    for symbol, value in sides.equal.items():
        number = _number(value, point)
        if number is None or (symbol.is_positive and number <= 0) or (symbol.is_nonnegative and number < 0):
            return False
        if symbol.is_integer and abs(number - round(number)) > SMALL:
            return False
    for expression, sign in sides.signs:  # these first: they exclude most points
        number = _number(expression.xreplace(dict(sides.equal)), point)
        if number is None or (0 if abs(number) < SMALL else 1 if number > 0 else -1) != sign:
            return False
    for expression in sides.bottoms:
        number = _number(expression.xreplace(dict(sides.equal)), point)
        if number is None or abs(number) < SMALL:
            return False
    for expression in sides.laws:
        number = _number(expression.xreplace(dict(sides.equal)), point)
        if number is None or number < 0:
            return False
    return True


def _number(expression: sympy.Expr, point: Mapping[sympy.Symbol, sympy.Expr]) -> sympy.Float | None:
    """The expression at the point, to 40 digits; None where it is not a real number there."""
    value = expression.xreplace(dict(point))
    if not value.is_Rational:
        value = value.evalf(DIGITS)
    return value if value.is_Float or value.is_Rational else None


def _shown(point: Mapping[sympy.Symbol, sympy.Expr]) -> str:
    return ", ".join(f"{s} = {v}" for s, v in point.items())


def _in_ideal(difference: sympy.Expr, unsolved: list[sympy.Expr]) -> bool:
    """Whether the difference is a combination of what is zero by hypothesis, as polynomials in its atoms."""
    top = numerator(difference)
    others = [numerator(u) for u in unsolved]
    if top is None or None in others:
        return False
    try:
        _, rest = sympy.reduced(sympy.expand(top), [sympy.expand(o) for o in others])
    except (sympy.PolynomialError, sympy.CoercionFailed, ValueError):
        return False
    return bool(rest == 0)

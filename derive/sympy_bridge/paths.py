"""One way through a formula with cases: which branch was taken at each switch, and what that assumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

from derive.sympy_bridge.cancel import Bit, numerator

MOMENT = "E "  # begins the names of moments that are not known
RANDOM = "~"  # begins the names of random components
MEMORY = 10_000  # answers on expressions that are kept: many paths ask of the same
PARTIAL = frozenset({"div", "pow", "fn", "diff"})  # what SymPy may take out of the reals, or write with Abs


def is_random(symbol: sympy.Symbol) -> bool:
    return symbol.name.startswith(RANDOM)


class Undefined(Exception):
    """The expression has no value here, whatever the components are, or not on this path."""


class Unsupported(Exception):
    """This module does not know the value."""


class NeedsOutcome(Exception):
    """The sign of a random value is asked for."""


# -- paths -------------------------------------------------------------------------------------------------------------


@dataclass
class Path:
    """The choices of one run: those of `prefix`, then the first of each."""

    prefix: tuple[int, ...] = ()
    trail: list[tuple[int, int]] = field(default_factory=list)  # (choice, number of options)
    chosen: dict[Any, Any] = field(default_factory=dict)
    signs: list[tuple[sympy.Expr, int]] = field(default_factory=list)  # what the run assumed
    bottoms: list[Any] = field(default_factory=list)  # what has been divided by
    equal: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)  # symbols that it fixed

    def choose(self, key: Any, options: tuple[Any, ...]) -> Any:
        """One of the options, the same whenever the key is the same."""
        if key not in self.chosen:
            place = len(self.trail)
            pick = self.prefix[place] if place < len(self.prefix) else 0
            self.trail.append((pick, len(options)))
            self.chosen[key] = options[pick]
        return self.chosen[key]

    def next(self) -> tuple[int, ...] | None:
        """The prefix of the next run, or None after the last."""
        trail = list(self.trail)
        while trail:
            pick, count = trail.pop()
            if pick + 1 < count:
                return (*(p for p, _ in trail), pick + 1)
        return None

    def sign(self, e: sympy.Expr, options: tuple[int, ...] = (1, -1, 0), inside_diff: bool = False) -> int | None:
        """The sign of the expression on this path, one of the options; None where it has to be another.

        Inside a derivative the sign holds around the point: Undefined where it is chosen to be 0.
        """
        e = self.settled(e)
        if e.has(sympy.zoo, sympy.nan):  # what is 0 on this path is divided by
            raise Undefined("a denominator is 0")
        known = known_sign(e)
        if known is None:
            e = sympy.expand(e)
            known = known_sign(e)
        if known is not None:
            return known if known in options else None
        flip = -1 if e.could_extract_minus_sign() else 1
        e = sympy.expand(flip * e)
        allowed = tuple(o for o in (1, -1, 0) if flip * o in options and not _excluded(e, o))
        if ("sign", e) in self.chosen:
            found = flip * self.chosen["sign", e]
            return found if found in options else None
        if not allowed:
            return None
        result = self.choose(("sign", e), allowed)
        if result == 0 and inside_diff:
            raise Undefined("the formula switches here")
        self._assume(e, result)
        return flip * result

    def settled(self, e: sympy.Expr) -> sympy.Expr:
        """The expression with what the path has fixed put in, and all its bits chosen."""
        e = e.xreplace(self.equal) if self.equal else e
        bits = sorted(e.atoms(Bit), key=str)
        for bit in bits:
            self.bit(bit)
        return e.xreplace(self.equal) if bits else e

    def bit(self, bit: Bit) -> bool:
        """The bit's value on this path."""
        if bit not in self.equal:
            self.fix(bit, sympy.Integer(self.choose(("bit", bit), (1, 0))))
        return bool(self.equal[bit])

    def _assume(self, e: sympy.Expr, sign: int) -> None:
        self.signs.append((e, sign))
        if sign == 0:
            factors = zero_factors(e)
            solutions = tuple(filter(None, map(solved, factors)))
            if not solutions or len(solutions) < len(factors):
                raise Unsupported(f"where {e} is 0")
            self.fix(*self.choose(("zero of", e), solutions))

    def fix(self, symbol: sympy.Symbol, value: sympy.Expr) -> None:
        """Put a value in place of a symbol from here on."""
        change = {symbol: value}
        self.equal = {s: v.xreplace(change) for s, v in self.equal.items()} | change


def _excluded(e: sympy.Expr, sign: int) -> bool:
    """Whether SymPy's assumptions exclude the sign."""
    return bool(e.is_nonpositive if sign == 1 else e.is_nonnegative if sign == -1 else e.is_nonzero)


def known_sign(e: sympy.Expr) -> int | None:
    """The sign, where SymPy's assumptions or a number tell it."""
    if e.is_positive:
        return 1
    if e.is_negative:
        return -1
    if e.is_zero:
        return 0
    return None


@lru_cache(MEMORY)
def zero_factors(e: sympy.Expr) -> tuple[sympy.Expr, ...]:
    """Expressions of which one is 0 where e is."""
    top = numerator(e)
    factors = [e] if top is None else [f for f, _ in sympy.factor_list(top)[1]]
    return tuple(f for f in factors if not f.is_nonzero) or (e,)


@lru_cache(MEMORY)
def solved(e: sympy.Expr) -> tuple[sympy.Symbol, sympy.Expr] | None:
    """A symbol in which e is linear with a coefficient that is never 0, and its value where e is 0."""
    expanded = sympy.expand(e)
    for symbol in sorted(expanded.free_symbols, key=lambda s: (not s.name.startswith(MOMENT), s.name)):
        if isinstance(symbol, Bit):
            continue
        slope = sympy.diff(expanded, symbol)
        if slope.is_nonzero and symbol not in slope.free_symbols:
            return symbol, sympy.expand(symbol - expanded / slope)
    return None


def every_path(run: Callable[[Path], Any], limit: int = 2000) -> Iterator[tuple[Path, Any]]:
    """The path and result of each run; a run that raises Undefined has the result None. Raises Unsupported."""
    prefix: tuple[int, ...] | None = ()
    count = 0
    while prefix is not None:
        path = Path(prefix)
        try:
            result = run(path)
        except Undefined:
            result = None
        yield path, result
        prefix = path.next()
        count += 1
        if count > limit:
            raise Unsupported("too many cases")

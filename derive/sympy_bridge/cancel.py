"""Whether a SymPy expression is identically zero, decided by exact polynomial arithmetic.

The expression is read as a fraction of polynomials over the rationals in *atoms*: symbols, exponentials, logarithms,
roots and other functions. Atoms obey no law here but those listed (a root's power, a sine's and a bit's square), each
of which is true, so that "zero" is never wrong. They may be related in ways not listed, so that "not zero" only means
"not shown to be zero".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import sympy
from sympy.polys.rings import PolyElement, ring

LIMIT = 300_000  # products of terms in one multiplication
SQUARE_FREE = 200  # terms of a polynomial whose multiple factors are looked for
ROUNDS = 8  # how often a root's power may bring up another root's
MEMORY = 10_000  # answers that are kept: many paths and instances of a claim ask of the same expressions


class TooBig(Exception):
    """The polynomials grow beyond what is worth waiting for."""


class Vanishing(Exception):
    """A denominator is identically zero: the expression is defined nowhere."""


@lru_cache(MEMORY)
def is_zero(*parts: sympy.Expr) -> bool | None:
    """Whether the sum of the parts is identically zero: True, or None where it was not shown. Raises Vanishing."""
    try:
        flat = Flattener()
        flat.prepare(parts)
        terms = [flat.rational(p) for p in parts]
        fractions = Fractions(flat, terms)
        total = fractions.read(sympy.S.Zero)
        for term in terms:
            total = fractions.plus(total, fractions.read(term))
        return True if not fractions.reduced(total.top) else None
    except TooBig:
        return None


def numerator(expression: sympy.Expr) -> sympy.Expr | None:
    """A polynomial in atoms that is zero exactly where the expression is, with the atoms put back."""
    try:
        flat = Flattener()
        flat.prepare([expression])
        term = flat.rational(expression)
        fractions = Fractions(flat, [term])
        return fractions.reduced(fractions.read(term).top).as_expr().xreplace(flat.meaning())
    except (TooBig, Vanishing):
        return None


# -- to rational expressions in symbols --------------------------------------------------------------------------------


@dataclass
class Flattener:
    """Replaces everything that is not rational arithmetic by symbols, the same for what is the same."""

    atoms: dict[Any, sympy.Symbol] = field(default_factory=dict)
    roots: dict[sympy.Symbol, tuple[int, sympy.Expr]] = field(default_factory=dict)  # symbol**degree == expression
    steps: dict[sympy.Expr, int] = field(default_factory=dict)  # the common denominator of an exponent's coefficients
    _memo: dict[sympy.Expr, sympy.Expr] = field(default_factory=dict)

    def prepare(self, expressions: Any) -> None:
        """Learn the common denominators of all exponents, so that exp(x/2) and exp(x/3) become powers of one atom."""
        for expression in expressions:
            for part in sympy.preorder_traversal(expression):
                for exponent in _exponents(part):
                    for term, coefficient in _linear(exponent):
                        self.steps[term] = lcm(self.steps.get(term, 1), coefficient.denominator)

    def meaning(self) -> dict[sympy.Symbol, sympy.Expr]:
        """What each symbol stands for."""
        return {symbol: key for key, symbol in self.atoms.items() if isinstance(key, sympy.Basic)}

    def rational(self, e: sympy.Expr) -> sympy.Expr:
        """The expression in symbols, as sums, products and integer powers."""
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._rational(e)
        return found

    def _rational(self, e: sympy.Expr) -> sympy.Expr:
        if e.is_Rational or e.is_Symbol:
            return e
        if e.is_Add or e.is_Mul:
            return e.func(*(self.rational(a) for a in e.args), evaluate=False)
        if isinstance(e, sympy.exp):
            return self._exponential(e.exp)
        if e.is_Pow:
            base, exponent = e.as_base_exp() if e.base is not sympy.E else (e.base, e.exp)
            if base is sympy.E:
                return self._exponential(exponent)
            if exponent.is_Integer:
                return sympy.Pow(self.rational(base), exponent, evaluate=False)
            return self._power(base, exponent)
        if isinstance(e, sympy.log):
            return self._logarithm(e.args[0])
        if isinstance(e, sympy.sin):  # sin**2 = 1 - cos**2
            inside = self.canonical(e.args[0])
            symbol = self.atom(sympy.sin(inside))
            self.roots[symbol] = (2, 1 - self.atom(sympy.cos(inside)) ** 2)
            return symbol
        if e.is_Function:
            return self.atom(e.func(*(self.canonical(a) for a in e.args)))
        return self.atom(e)

    def atom(self, key: Any, positive: bool = False) -> sympy.Symbol:
        if key not in self.atoms:
            self.atoms[key] = sympy.Dummy(f"~{len(self.atoms):05d}", positive=True if positive else None)
        return self.atoms[key]

    def _exponential(self, exponent: sympy.Expr) -> sympy.Expr:
        factors = []
        for term, coefficient in _linear(exponent):
            step = self._step(term, coefficient)
            factors.append(self.atom(sympy.exp(term / step), True) ** int(coefficient * step))
        return sympy.Mul(*factors, evaluate=False)

    def _step(self, term: sympy.Expr, coefficient: Fraction) -> int:
        step = self.steps.setdefault(term, coefficient.denominator)
        if step % coefficient.denominator:
            raise TooBig  # an exponent that came up on the way
        return step

    def _power(self, base: sympy.Expr, exponent: sympy.Expr) -> sympy.Expr:
        """base**exponent for a base above 0, the exponent split into its terms."""
        base = self.canonical(base)
        factors = []
        for term, coefficient in _linear(exponent):
            if term == 1 and coefficient.denominator == 1:
                factors.append(self.rational(base) ** coefficient.numerator)
            elif term == 1:
                outside, inside = self._root(base, coefficient.denominator)
                factors.append((outside * inside) ** coefficient.numerator)
            else:
                step = self._step(term, coefficient)
                symbol = self.atom(("power", base, term / step), bool(base.is_positive))
                factors.append(symbol ** int(coefficient * step))
        return sympy.Mul(*factors, evaluate=False)

    def _root(self, base: sympy.Expr, degree: int) -> tuple[sympy.Expr, sympy.Expr]:
        """The root of a canonical base above 0: what comes out of it, and the symbol for the rest of it."""
        term = self.rational(base)
        fractions = Fractions(self, [term])
        value = fractions.read(term)
        outside = sympy.S.One
        for p, sign in ((value.top, 1), (fractions.product(value.bottom), -1)):
            for factor, power in _multiple_factors(p):
                if power >= degree and _positive(factor):
                    outside *= factor.as_expr() ** (sign * (power // degree))
        meaning = self.meaning()
        rest = self.canonical(base / outside.xreplace(meaning) ** degree) if outside != 1 else base
        symbol = self.atom(rest ** sympy.Rational(1, degree), bool(rest.is_positive))
        self.roots[symbol] = (degree, self.rational(rest))
        return outside, symbol

    def _logarithm(self, inside: sympy.Expr) -> sympy.Expr:
        """log, of a product of positive atoms and of a positive polynomial taken apart."""
        term = self.rational(inside)
        fractions = Fractions(self, [term])
        value = fractions.read(term)
        top, bottom = value.top.cancel(fractions.product(value.bottom))
        if not top or not (_positive(top) and _positive(bottom)):
            return self.atom(sympy.log(self.canonical(inside)))
        return sympy.Add(*self._log_parts(top, 1), *self._log_parts(bottom, -1))

    def _log_parts(self, p: PolyElement, sign: int) -> Iterator[sympy.Expr]:
        """The terms of sign * log(p) for a polynomial with positive coefficients in positive symbols."""
        meaning = self.meaning()
        content, p = p.primitive()
        for prime, power in sympy.factorint(sympy.Rational(content)).items() if content != 1 else ():
            yield sign * power * self.atom(sympy.log(prime))
        monomial = [min(column) for column in zip(*p.monoms(), strict=True)]
        for symbol, power in zip(p.ring.symbols, monomial, strict=True):
            if power:
                inner = sympy.log(meaning.get(symbol, symbol))
                exact = inner.args[0] if isinstance(inner, sympy.log) else None
                yield sign * power * (self.atom(inner) if exact is not None else self.rational(sympy.expand(inner)))
        rest = p.quo(p.ring.from_dict({tuple(monomial): p.ring.domain.one}))
        if rest != 1:
            yield sign * self.atom(("log", rest.as_expr()))

    def canonical(self, e: sympy.Expr) -> sympy.Expr:
        """The expression as a quotient of coprime polynomials in atoms: equal ones become the same."""
        if e.is_Rational or e.is_Symbol:
            return e
        term = self.rational(e)
        fractions = Fractions(self, [term])
        value = fractions.read(term)
        top, bottom = value.top.cancel(fractions.product(value.bottom))
        quotient = top.as_expr() / bottom.as_expr()
        return quotient.xreplace(self.meaning())


def _multiple_factors(p: PolyElement) -> Iterator[tuple[PolyElement, int]]:
    """Factors of the polynomial with their multiplicity: its symbols, and what is left in square-free parts."""
    exponents = tuple(min(column) for column in zip(*p.monoms(), strict=True)) if p else ()
    yield from zip(p.ring.gens, exponents, strict=False)
    if p and len(p) < SQUARE_FREE:
        yield from p.quo(p.ring.from_dict({exponents: p.ring.domain.one})).sqf_list()[1]


def _exponents(part: sympy.Expr) -> list[sympy.Expr]:
    if isinstance(part, sympy.exp):
        return [part.exp]
    return [part.exp] if isinstance(part, sympy.Pow) and not part.exp.is_Integer else []


def _linear(exponent: sympy.Expr) -> list[tuple[sympy.Expr, Fraction]]:
    """The exponent as a sum of rational multiples of terms."""
    expanded = sympy.expand(exponent)
    return [(t, Fraction(int(c.p), int(c.q))) for t, c in expanded.as_coefficients_dict().items() if c]


def _positive(p: PolyElement) -> bool:
    symbols = [s for s, column in zip(p.ring.symbols, zip(*p.monoms(), strict=True), strict=True) if any(column)]
    return all(c > 0 for c in p.coeffs()) and all(s.is_positive for s in symbols)


# -- fractions of polynomials ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Frac:
    """top / product(factor**power): the denominator is kept in factors, so that common ones are found without a gcd."""

    top: PolyElement
    bottom: dict[PolyElement, int]


class Fractions:
    """Arithmetic on fractions over the symbols of some terms."""

    def __init__(self, flat: Flattener, terms: list[sympy.Expr]):
        symbols = set().union(*(t.free_symbols for t in terms))
        while extra := set().union(*(flat.roots[s][1].free_symbols for s in symbols if s in flat.roots)) - symbols:
            symbols |= extra
        ordered = sorted(symbols, key=lambda s: s.name)
        self.ring = ring(ordered, sympy.QQ)[0] if ordered else ring([sympy.Dummy("none")], sympy.QQ)[0]
        self.generators = dict(zip(self.ring.symbols, self.ring.gens, strict=True))
        self.flat = flat
        self.bits = [g for s, g in self.generators.items() if is_bit(s)]
        self._memo: dict[sympy.Expr, Frac] = {}

    def read(self, e: sympy.Expr) -> Frac:
        """The rational expression as a fraction. Raises Vanishing and TooBig."""
        found = self._memo.get(e)
        if found is None:
            found = self._memo[e] = self._read(e)
        return found

    def _read(self, e: sympy.Expr) -> Frac:
        if e.is_Rational:
            return Frac(self.ring(sympy.QQ(int(e.p), int(e.q))), {})
        if e.is_Symbol:
            return Frac(self.generators[e], {})
        parts = [self.read(a) for a in e.args] if not e.is_Pow else []
        if e.is_Add:
            total = parts[0]
            for part in parts[1:]:
                total = self.plus(total, part)
            return total
        if e.is_Mul:
            total = parts[0]
            for part in parts[1:]:
                total = self.times(total, part)
            return total
        return self.power(self.read(e.base), int(e.exp))

    def plus(self, a: Frac, b: Frac) -> Frac:
        bottom = {f: max(a.bottom.get(f, 0), b.bottom.get(f, 0)) for f in {**a.bottom, **b.bottom}}
        return Frac(self._raised(a, bottom) + self._raised(b, bottom), bottom)

    def _raised(self, a: Frac, bottom: dict[PolyElement, int]) -> PolyElement:
        top = a.top
        for factor, power in bottom.items():
            for _ in range(power - a.bottom.get(factor, 0)):
                top = multiplied(top, factor)
        return top

    def times(self, a: Frac, b: Frac) -> Frac:
        bottom = {f: a.bottom.get(f, 0) + b.bottom.get(f, 0) for f in {**a.bottom, **b.bottom}}
        return Frac(multiplied(a.top, b.top), bottom)

    def power(self, a: Frac, exponent: int) -> Frac:
        if exponent < 0:
            a, exponent = self.inverse(a), -exponent
        result = Frac(self.ring.one, {})
        for _ in range(exponent):
            result = self.times(result, a)
        return result

    def inverse(self, a: Frac) -> Frac:
        top = a.top
        if not self.reduced(top):
            raise Vanishing
        leading = top.LC
        result = Frac(self.product(a.bottom) * (1 / leading), {})
        monic = top.monic()
        if len(monic) > 1:
            return Frac(result.top, {monic: 1})
        (exponents,) = monic.monoms()  # one monomial: its symbols are factors of their own
        return Frac(result.top, {g: e for g, e in zip(self.ring.gens, exponents, strict=True) if e})

    def product(self, bottom: dict[PolyElement, int]) -> PolyElement:
        return self._raised(Frac(self.ring.one, {}), bottom)

    def reduced(self, p: PolyElement) -> PolyElement:
        """A polynomial that is zero where p is: high powers of roots and bits taken out, denominators cleared."""
        for _ in range(ROUNDS):
            before = p
            for generator in self.bits:
                p = _lowered_bit(p, self.ring.gens.index(generator))
            for symbol, (degree, base) in self.flat.roots.items():
                if symbol in self.generators:
                    p = self._lowered(p, self.ring.symbols.index(symbol), degree, self.read(base))
            if p == before:
                return p
        raise TooBig

    def _lowered(self, p: PolyElement, place: int, degree: int, base: Frac) -> PolyElement:
        highest = max((m[place] for m in p.monoms()), default=0) // degree
        if not highest:
            return p
        bottom = self.product(base.bottom)
        powers: dict[int, dict[tuple[int, ...], Any]] = {}
        for monomial, coefficient in p.terms():
            count, rest = divmod(monomial[place], degree)
            powers.setdefault(count, {})[(*monomial[:place], rest, *monomial[place + 1 :])] = coefficient
        total = self.ring.zero
        for count, part in powers.items():
            term = self.ring.from_dict(part)
            for factor, times in ((base.top, count), (bottom, highest - count)):
                for _ in range(times):
                    term = multiplied(term, factor)
            total += term
        return total


def multiplied(a: PolyElement, b: PolyElement) -> PolyElement:
    if len(a) * len(b) > LIMIT:
        raise TooBig
    return a * b


def _lowered_bit(p: PolyElement, place: int) -> PolyElement:
    if not any(m[place] > 1 for m in p.monoms()):
        return p
    total: dict[tuple[int, ...], Any] = {}
    for monomial, coefficient in p.terms():
        lowered = (*monomial[:place], min(monomial[place], 1), *monomial[place + 1 :])
        total[lowered] = total.get(lowered, p.ring.domain.zero) + coefficient
    return p.ring.from_dict({m: c for m, c in total.items() if c})


class Bit(sympy.Symbol):
    """A symbol that is 0 or 1."""


def is_bit(symbol: sympy.Symbol) -> bool:
    return isinstance(symbol, Bit)

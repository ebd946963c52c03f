"""Polynomials over atoms as data: their arithmetic, and an order on terms that does not depend on addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

from derive.kernel.proof import Rejected
from derive.term import Term

Exponent = int | Fraction
Mono = frozenset[tuple[Term, Exponent]]
Poly = dict[Mono, int | Fraction]
T = TypeVar("T")
UNIT: Mono = frozenset()
INDICES = frozenset({"index", "argmax"})
CASES = frozenset({"where", "delta"})  # atoms whose value is 0 or 1; bits are the third kind
PIECEWISE = frozenset({"abs", "sign", "relu", "max", "min"})  # functions in pieces
MAX_TERMS = 4000  # of a polynomial, before it is refused as too large
MAX_EXPONENT = 100  # of a sum that is multiplied out
MAX_BITS = 200_000  # of a number raised to a power


class TooLarge(Rejected):
    """The normal form grows beyond what is worth computing."""


_keys: dict[Term, tuple[str, str]] = {}


def small(value: int | Fraction) -> int | Fraction:
    return value.numerator if type(value) is Fraction and value.denominator == 1 else value


def raised(value: int | Fraction, exponent: int) -> int | Fraction:
    """A number to an integer power."""
    if value == 1 or exponent == 1:
        return value
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits * abs(exponent) > MAX_BITS and value != -1:
        raise TooLarge("a number has too many digits")
    return small(Fraction(value) ** exponent)


def add_to(total: Poly, poly: Poly, factor: int | Fraction = 1) -> Poly:
    for mono, c in (poly if factor == 1 else scaled(poly, factor)).items():
        value = total.get(mono, 0) + c
        if value:
            total[mono] = small(value)
        else:
            total.pop(mono, None)
    if len(total) > MAX_TERMS:
        raise TooLarge("the normal form has too many terms")
    return total


def constant(poly: Poly) -> int | Fraction | None:
    """The polynomial's value where it is a number."""
    if not poly:
        return 0
    return poly[UNIT] if len(poly) == 1 and UNIT in poly else None


def scaled(poly: Poly, factor: int | Fraction) -> Poly:
    factor = small(factor)  # integers are multiplied faster
    if factor == 1:
        return dict(poly)
    return {m: small(c * factor) for m, c in poly.items()} if factor else {}


def key(term: Term) -> tuple[str, str]:
    """A digest blind to index names, and one that sees them."""
    found = _keys.get(term)
    if found is None:
        blind = shown = f"{term.op}|{term.value}"
        if term.op == "index":
            blind = f"index|{term.value[1]}"
        for a in (*term.bound, *term.args):
            b, s = key(a)
            blind, shown = f"{blind}|{b}", f"{shown}|{s}"
        found = (_digest(blind), _digest(shown))
        _keys[term] = found
    return found


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest() if len(text) > 40 else text


@lru_cache(maxsize=1 << 16)
def mono_key(mono: Mono) -> tuple[Any, ...]:
    parts = sorted((key(a), f"{float(e):+030.9f}") for a, e in mono)
    return tuple(blind for (blind, _), _ in parts), tuple(parts)


def leading(poly: Poly) -> int | Fraction:
    """The coefficient that sets scale and sign of a polynomial: that of the first monomial in the order of terms."""
    return poly[min(poly, key=mono_key)]


def threshold(poly: Poly) -> int | Fraction:
    """The coefficient that sets scale and sign of a bound: the same for x - a and x - b."""
    return poly[min((m for m in poly if m), key=mono_key)] if any(poly) else leading(poly)


def joined(left: Mono, right: Iterable[tuple[Term, Exponent]]) -> Mono:
    """The product of two monomials by exponents alone: no law of an atom is applied."""
    total = dict(left)
    for a, e in right:
        total[a] = small(total.get(a, 0) + e)
        if not total[a]:
            del total[a]
    return frozenset(total.items())


def components(mono: Mono, tags: Callable[[Term], frozenset[T]]) -> list[tuple[frozenset[T], Mono]]:
    """The factors in groups that share no tag, with the tags of each group; those without a tag stand alone."""
    groups: list[tuple[frozenset[T], Mono]] = []
    for a, e in sorted(mono, key=lambda p: key(p[0])):
        shared, group, others = tags(a), frozenset({(a, e)}), []
        for there, members in groups:
            if shared & there:
                shared, group = shared | there, group | members
            else:
                others.append((there, members))
        groups = [*others, (shared, group)]
    return groups


def divides(small_mono: Mono, large: Mono) -> bool:
    """Whether the large monomial holds the small one, by exponents that are numbers."""
    table = dict(large)
    return bool(small_mono) and all(table.get(a, 0) >= e for a, e in small_mono)


def primes(value: Fraction) -> dict[int, int]:
    """The primes of a positive rational with their exponents; those above a thousand are left together."""
    found: dict[int, int] = {}
    for part, side in ((value.numerator, 1), (value.denominator, -1)):
        p = 2
        while part > 1:
            if part % p == 0:
                found[p] = found.get(p, 0) + side
                part //= p
            else:
                p = p + 1 if p * p <= part and p < 1000 else part
    return found


def letter_key(term: Term) -> tuple[str, str]:
    """The order of letters: bound ones first, the one opened last before all others, then by name."""
    if term.op != "index":
        return key(term)
    name = term.value[0]
    return ("", f"@{999_999 - int(name[1:]):06d}" if name[0] == "@" else name)

"""Terms of known sign that may add up to a difference: known comparisons times what matches, and squares."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from itertools import product as cartesian
from math import isqrt, prod

from derive.engine.hypotheses import embeddings
from derive.engine.lettering import spoken_part
from derive.kernel.normal import Normal
from derive.kernel.order import Board
from derive.kernel.poly import Exponent, Mono, Poly, add_to, key, mono_key
from derive.kernel.proof import Cite, Part, Rejected
from derive.kernel.signs import NEG, POS, ZERO, Fact, sign
from derive.kernel.wellformed import subscript_axis
from derive.term import (
    TRUE,
    TWO,
    Term,
    add,
    both,
    cmp,
    fn,
    index,
    mul,
    neg,
    num,
    over,
    power,
    sub,
    substitute,
    subterms,
)

Factors = tuple[tuple[Term, Exponent], ...]
ONE_SIDED = frozenset({POS, POS | ZERO, ZERO})
MAX_LETTERS = 4
MAX_PLACES = 4  # of maxima, at which what is known is tried
MAX_QUOTIENT = 12  # terms of a quotient
SMALL = 4  # monomials of a goal for which squares with new cross terms are tried


@dataclass(frozen=True)
class Piece:
    """A part with its normal form. It is not negative; `strict`: it is positive; `free`: it is 0."""

    part: Part
    poly: Poly
    strict: bool = False
    free: bool = False


@dataclass(frozen=True)
class Opened:
    """A monomial with its sums opened: factors, and the letters that are summed over."""

    factors: Factors
    bound: tuple[Term, ...]


@dataclass(frozen=True)
class Known:
    """A comparison that can be cited, by its number."""

    number: int
    fact: Fact

    @property
    def letters(self) -> list[Term]:
        return sorted(self.fact.letters, key=key)


def product(factors: Iterable[tuple[Term, Exponent]]) -> Term:
    """The product of atoms to powers, as a term."""
    ordered = sorted(factors, key=lambda p: key(p[0]))
    return mul(*(a if e == 1 else power(a, num(e)) for a, e in ordered))


def opened(nf: Normal, mono: Mono, prefix: str = "!a", sizes: bool = False) -> Opened:
    """The monomial with its positive sums opened, and with a letter for each factor n where `sizes` is set."""
    factors, bound = dict(mono), []
    while True:
        found = next(
            (
                a
                for a in sorted(factors, key=key)
                if isinstance(factors[a], int) and factors[a] > 0 and (a.op == "sum" or (sizes and a.op == "size"))  # type: ignore[operator]
            ),
            None,
        )
        if found is None or len(bound) > MAX_LETTERS:
            return Opened(tuple(sorted(factors.items(), key=lambda p: key(p[0]))), tuple(bound))
        e = factors.pop(found)
        if e > 1:  # type: ignore[operator]
            factors[found] = e - 1  # type: ignore[operator]
        axes = [k.value[1] for k in found.bound] if found.op == "sum" else [found.value]
        new = [index(f"{prefix}{len(bound) + p}", axis) for p, axis in enumerate(axes)]
        bound += new
        if found.op == "sum":
            body = nf.poly(substitute(found.args[0], dict(zip(found.bound, new, strict=True))))
            if len(body) != 1 or found.args[1] is not TRUE:
                raise Rejected("a sum that does not open into one product")
            for a, f in next(iter(body)):
                total = factors.get(a, 0) + f  # type: ignore[operator]
                if total == 0:
                    del factors[a]
                else:
                    factors[a] = total


# -- known comparisons, multiplied and summed so that a monomial is met ----------------------------------------------


def from_comparisons(
    board: Board, here: Normal, letters: frozenset[Term], known: list[Known], targets: list[Mono]
) -> Iterator[Piece]:
    """Known comparisons times multipliers of known sign, each meeting one of the monomials."""
    seen: set[object] = set()
    spread = [t for m in targets if (t := _opened(here, m, "!a"))]
    inside = {t for m in targets for a, _ in m for t in subterms(a) if t.op != "index" and t.letters <= letters}
    places = {t for t in inside if here.index_like(t)}  # where a maximum is attained, entries of an array of indices
    pool = [*sorted(letters, key=key), *(sorted(places, key=key) if len(places) <= MAX_PLACES else ())]
    for k in known:
        marked = {letter: index(f"?{p}", letter.value[1]) for p, letter in enumerate(k.letters)}
        for lead in sorted(here.poly(substitute(k.fact.term, marked)), key=mono_key):
            pattern = _opened(here, lead, "?@")
            for target in spread if pattern else ():
                assert pattern is not None
                for part in _placed(here, k, marked, pattern, target, pool):
                    if part not in seen:
                        seen.add(part)
                        piece = weighed(board, here, part, letters)
                        if piece is not None:
                            yield piece


def with_coefficients(
    board: Board, here: Normal, letters: frozenset[Term], known: list[Known], poly: Poly
) -> Iterator[Piece]:
    """Known comparisons that meet an atom of the polynomial, times all that stands before it, if that has one sign."""
    for atom in sorted({a for m in poly for a, e in m if a.op in ("sum", "var") and e == 1}, key=key):
        lead: Mono = frozenset({(atom, 1)})
        before = here.term({m - lead: c for m, c in poly.items() if lead <= m})
        if before.op == "add" and sign(here, before) & (NEG | POS) in (NEG, POS):
            for piece in from_comparisons(board, here, letters, known, [lead]):
                part = replace(piece.part, multiplier=mul(before, piece.part.multiplier))
                whole = weighed(board, here, part, letters)
                if whole is not None:
                    yield whole


def _opened(here: Normal, mono: Mono, prefix: str, sizes: bool = False) -> Opened | None:
    try:
        return opened(here, mono, prefix, sizes)
    except Rejected:
        return None


def weighed(board: Board, here: Normal, part: Part, letters: frozenset[Term]) -> Piece | None:
    """The part as a piece, negated if it is not positive; None where its sign is not known."""
    part = spoken_part(part)
    try:
        value, signs = board.worth(here, part, letters)
        if not signs & POS and signs & NEG:
            part = Part(neg(part.multiplier), part.cites, part.over, part.where)
            value, signs = board.worth(here, part, letters)
        poly = here.poly(value)
    except Rejected:
        return None
    return Piece(part, poly, signs == POS, signs == ZERO) if signs in ONE_SIDED and poly else None


def _placed(
    here: Normal, k: Known, marked: dict[Term, Term], pattern: Opened, target: Opened, pool: list[Term]
) -> Iterator[Part]:
    met = {a for a, _ in target.factors}
    divided = tuple((a, e) for a, e in pattern.factors if k.fact.signs == ZERO and a.op == "size" and a not in met)
    factors = [p for p in pattern.factors if p not in divided]
    for mapping, rest in embeddings(factors, target.factors, {}, partial(unified, here)):
        left = (*rest, *((a, -e) for a, e in divided))  # an equation may be divided by a size
        bound = {mapping[b] for b in pattern.bound if b in mapping}
        if len(bound) < len(pattern.bound) or not bound <= set(target.bound):
            continue
        if any(not bound.isdisjoint(p[0].letters) for p in left):
            continue
        chosen = {letter: mapping.get(mark) for letter, mark in marked.items()}
        if any(v is not None and not bound.isdisjoint(v.letters) for v in chosen.values()):
            continue
        outside = tuple(b for b in target.bound if b not in bound)
        for complete in _completed(here, chosen, [*pool, *outside]):
            guards = [substitute(g, complete) for g in k.fact.guards]
            summed = both(*(g for g in guards if not g.letters.isdisjoint(outside)))
            cite = Cite(k.number, tuple(sorted(complete.items(), key=lambda p: key(p[0]))))
            yield Part(product(left), (cite,), outside, summed)


def _completed(here: Normal, chosen: dict[Term, Term | None], pool: list[Term]) -> Iterator[dict[Term, Term]]:
    """The mapping with the letters that no match gave taken from the pool, which holds subscripts."""
    missing = next((k for k, v in chosen.items() if v is None), None)
    if missing is None:
        yield {k: v for k, v in chosen.items() if v is not None}
        return
    for subscript in pool:
        if subscript_axis(subscript, here.context) == missing.value[1]:
            yield from _completed(here, {**chosen, missing: subscript}, pool)


def unified(here: Normal, pattern: Term, term: Term, mapping: dict[Term, Term]) -> dict[Term, Term] | None:
    """The mapping extended so that the pattern's `?` letters give the term; None where it cannot be."""
    if pattern.op == "index" and pattern.value[0].startswith("?"):
        old = mapping.get(pattern)
        if old is not None:
            return mapping if old is term else None
        fits = here.index_like(term) and subscript_axis(term, here.context) == pattern.value[1]
        return {**mapping, pattern: term} if fits else None
    if pattern is term:
        return mapping
    shape = (pattern.op, pattern.value, pattern.bound, len(pattern.args))
    if shape != (term.op, term.value, term.bound, len(term.args)):
        return None
    orders = permutations(term.args) if term.op in ("add", "mul", "delta") and len(term.args) <= 3 else [term.args]
    for order in orders:
        found: dict[Term, Term] | None = mapping
        for a, b in zip(pattern.args, order, strict=True):
            found = unified(here, a, b, found) if found is not None else None
        if found is not None:
            return found
    return None


# -- squares ---------------------------------------------------------------------------------------------------------


def squares(
    board: Board, here: Normal, letters: frozenset[Term], targets: list[Mono], core: Collection[Mono]
) -> Iterator[Piece]:
    """Squares of sums, and of differences of two terms that share monomials with the targets or are in a small core."""
    wanted = set(targets)
    free = {o for m in core if len(core) <= SMALL and (o := _opened(here, m, "!a", sizes=True))}
    seen: set[frozenset[object]] = set()
    spread = [t for m in targets if (t := _opened(here, m, "!a", sizes=True)) and len(t.bound) <= MAX_LETTERS]
    roots = [r for t in targets if (o := _opened(here, t, "!a")) for r in folded(o)]
    for weight, root, outer in roots:
        part = Part(mul(*weight, power(root, TWO)), (), outer)
        piece = weighed(board, here, part, letters)
        if piece is not None and frozenset(piece.poly.items()) not in seen:
            seen.add(frozenset(piece.poly.items()))
            yield piece
    for p, first in enumerate(spread):
        for second in spread[p:]:
            for weight_, a, b in _halves(here, first, second):
                cross = here.poly(over("sum", mul(product(weight_), product(a), product(b)), *first.bound))
                if not (first in free and second in free) and not any(m in wanted for m in cross):
                    continue
                for side in (1, -1):
                    base = (add if side == 1 else sub)(product(a), product(b))
                    part = Part(mul(product(weight_), power(base, TWO)), (), first.bound)
                    piece = weighed(board, here, part, letters)
                    if piece is not None and frozenset(piece.poly.items()) not in seen:
                        seen.add(frozenset(piece.poly.items()))
                        yield piece


def with_numbers(here: Normal, poly: Poly, equal: list[Known]) -> Poly:
    """The polynomial with the number that an equation gives an atom in place of it: weights that sum to 1."""
    values: dict[Term, Fraction] = {}
    for k in equal:
        left = {m: c for m, c in here.poly(k.fact.term).items() if m}
        ((m, c),) = left.items() if len(left) == 1 else ((frozenset(), 1),)
        if len(m) == 1 and not k.fact.letters | k.fact.term.letters and not k.fact.guards and all(e == 1 for _, e in m):
            values[next(iter(m))[0]] = -Fraction(here.poly(k.fact.term).get(frozenset(), 0)) / c
    total: Poly = {}
    for m, c in poly.items():
        gone = [p for p in m if p[0] in values and isinstance(p[1], int) and p[1] > 0]
        add_to(total, {m - frozenset(gone): c * prod(values[a] ** e for a, e in gone)})
    return total


def whole_squares(board: Board, here: Normal, letters: frozenset[Term], poly: Poly) -> Iterator[Piece]:
    """Squares of the sums and differences of the three or four terms whose squares the polynomial holds."""
    roots = []
    for m in sorted(poly, key=mono_key):
        c = Fraction(poly[m])
        side = Fraction(isqrt(max(c.numerator, 0)), isqrt(c.denominator))
        if m and side * side == c and all(isinstance(e, int) and e % 2 == 0 for _, e in m):
            roots.append(mul(num(side), product((a, Fraction(e, 2)) for a, e in m)))
    for signs in cartesian((1, -1), repeat=len(roots) - 1) if 2 < len(roots) < 5 else ():
        base = add(roots[0], *(r if s == 1 else neg(r) for s, r in zip(signs, roots[1:], strict=True)))
        piece = weighed(board, here, Part(power(base, TWO)), letters)
        if piece is not None:
            yield piece


def _halves(here: Normal, first: Opened, second: Opened) -> Iterator[tuple[Factors, Factors, Factors]]:
    """Weight, p and q with first = weight * p**2 and second = weight * q**2, the letters of the second renamed."""
    if sorted(k.value[1] for k in first.bound) != sorted(k.value[1] for k in second.bound):
        return
    for order in permutations(first.bound):
        if any(a.value[1] != b.value[1] for a, b in zip(order, second.bound, strict=True)):
            continue
        mapping = dict(zip(second.bound, order, strict=True))
        renamed = {here.canonical(substitute(a, mapping)): e for a, e in second.factors}
        mine = dict(first.factors)
        if renamed == mine:
            continue
        weight: dict[Term, Exponent] = {}
        sides: tuple[dict[Term, Exponent], dict[Term, Exponent]] = ({}, {})
        for a in {**mine, **renamed}:
            low = min(mine.get(a, 0), renamed.get(a, 0))
            if low:
                weight[a] = low
            for table, side in zip((mine, renamed), sides, strict=True):
                rest = Fraction(table.get(a, 0) - low)  # type: ignore[operator]
                if rest:
                    half = rest / 2
                    side[a] = half.numerator if half.denominator == 1 else half
                    if half.denominator != 1 and sign(here, a) & NEG:
                        break
            else:
                continue
            break
        else:
            yield tuple(weight.items()), tuple(sides[0].items()), tuple(sides[1].items())


def folded(mono: Opened) -> Iterator[tuple[list[Term], Term, tuple[Term, ...]]]:
    """Weight, root and outer letters where the monomial is sum(weight * root**2 for outer) with a sum as its root."""
    for pairs in pairings(list(mono.bound)):
        swap = {**dict(pairs), **{b: a for a, b in pairs}}
        left, right = {a for a, _ in pairs}, {b for _, b in pairs}
        here, there, weight = [], [], []
        for a, e in mono.factors:
            used = a.letters
            if used & left and used & right:
                break
            (here if used & left else there if used & right else weight).append((a, e))
        else:
            mirrored = {(substitute(a, swap), e) for a, e in here}
            if pairs and mirrored == set(there) and len(mirrored) == len(here):
                outer = tuple(k for k in mono.bound if k not in swap)
                root = over("sum", product(here), *(a for a, _ in pairs))
                yield ([product(weight)] if weight else []), root, outer


def weights(here: Normal, poly: Poly) -> Iterator[tuple[Poly, Term, tuple[Term, ...]]]:
    """Weight, root and outer letters for the terms that are a weight of many terms times one square of a sum."""
    found: dict[tuple[Term, tuple[Term, ...]], Poly] = {}
    for m in sorted(poly, key=mono_key):
        o = _opened(here, m, "!a")
        for weight, root, outer in folded(o) if o else ():
            if outer or weight:
                add_to(found.setdefault((here.canonical(root), outer), {}), here.poly(mul(*weight)), poly[m])
    for (root, outer), weight_ in found.items():
        if len(weight_) > 1:
            yield weight_, root, outer


def absolute_pairs(board: Board, here: Normal, letters: frozenset[Term], poly: Poly) -> Iterator[Piece]:
    """Squares of differences and products of the sizes |u| of terms that are summed over, products of the terms of a
    sum that is squared."""
    switches = {t.args[0].args[0] for m in poly for a, _ in m for t in subterms(a) if t.op == "where"}
    for u in sorted(switches, key=key):
        loose = sorted(u.letters - letters, key=key)
        if len(loose) == 1:
            i, j = (index(f"!a{p}", loose[0].value[1]) for p in (0, 1))
            first, second = (fn("abs", substitute(u, {loose[0]: k})) for k in (i, j))
            parts = [
                Part(power(sub(first, second), TWO), (), (i, j)),
                Part(mul(first, second), (), (i, j), cmp("!=", i, j)),
            ]
            yield from (p for part in parts if (p := weighed(board, here, part, letters)))
    for t in sorted({a for m in poly for a, e in m if e == 2 and a.op == "sum" and len(a.bound) == 1}, key=key):
        i, j = (index(f"!a{p}", t.bound[0].value[1]) for p in (0, 1))
        first, second = (substitute(t.args[0], {t.bound[0]: k}) for k in (i, j))
        piece = weighed(board, here, Part(mul(first, second), (), (i, j), cmp("!=", i, j)), letters)
        if piece is not None:
            yield piece


def pairings(letters: list[Term]) -> Iterator[list[tuple[Term, Term]]]:
    """All ways to put some of the letters into pairs of one axis."""
    if not letters:
        yield []
        return
    first, rest = letters[0], letters[1:]
    yield from pairings(rest)
    for p, other in enumerate(rest):
        if other.value[1] == first.value[1]:
            for more in pairings(rest[:p] + rest[p + 1 :]):
                yield [(first, other), *more]


def signed(here: Normal, monos: Iterable[Mono]) -> Iterator[Piece]:
    """The monomials of known sign."""
    for m in monos:
        signs = here.mono_sign(m, 1)
        if signs == ZERO or not signs & NEG:
            yield Piece(Part(here.term({m: 1})), {m: 1}, signs == POS, signs == ZERO)
        elif not signs & POS:
            yield Piece(Part(here.term({m: -1})), {m: -1}, signs == NEG)


# -- division --------------------------------------------------------------------------------------------------------


def divided(here: Normal, poly: Poly, divisor: Poly) -> Poly | None:
    """The quotient of two polynomials where the division leaves no rest."""
    main = min((a for m in divisor for a, e in m if isinstance(e, int) and e > 0), key=key, default=None)
    top = max(degree(m, main) for m in divisor)
    leads = [m for m in divisor if degree(m, main) == top]
    quotient: Poly = {}
    rest = dict(poly)
    for _ in range(MAX_QUOTIENT if len(leads) == 1 else 0):
        mono = max(rest, key=lambda m: (degree(m, main), mono_key(m)))
        step = without(mono, leads[0])
        if step is None:
            return None
        part: Poly = {step: Fraction(rest[mono]) / divisor[leads[0]]}
        add_to(quotient, part)
        add_to(rest, here.mul(part, divisor), -1)
        if not rest:
            return quotient
    return None


def degree(mono: Mono, atom: Term | None) -> int:
    e = next((e for a, e in mono if a is atom), 0)
    return e if isinstance(e, int) else -1


def without(mono: Mono, factor: Mono) -> Mono | None:
    """The monomial divided by a factor of it."""
    left = dict(mono)
    for a, e in factor:
        have = left.pop(a, 0)
        if have < e:
            return None
        if have > e:
            left[a] = have - e
    return frozenset(left.items())

"""Ways to show a polynomial not negative: each gives parts that add up to it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from math import lcm
from typing import TYPE_CHECKING

from derive.engine import bounds, means
from derive.engine.given import distinct, guard_pieces, placed_pieces, plain_pieces, products, squares_of_the_claim
from derive.engine.goals import LAST, Goal, Scope, above, strictly
from derive.engine.hoelder import of_powers
from derive.engine.inverse import by_inverse
from derive.engine.pairs import paired
from derive.engine.pieces import (
    Known,
    Piece,
    absolute_pairs,
    divided,
    from_comparisons,
    signed,
    squares,
    weighed,
    weights,
    whole_squares,
    with_coefficients,
    with_numbers,
)
from derive.engine.simplex import combine
from derive.kernel import moments
from derive.kernel.normal import Normal
from derive.kernel.poly import CASES, Mono, Poly, add_to, key, mono_key, scaled
from derive.kernel.proof import Cite, Line, Part
from derive.kernel.signs import NEG, POS, ZERO, sign
from derive.term import (
    ONE,
    TWO,
    Term,
    add,
    both,
    cmp,
    div,
    fn,
    make,
    mul,
    negation,
    num,
    power,
    size,
    sub,
    substitute,
    subterms,
)

if TYPE_CHECKING:
    from derive.engine.order import Search

MAX_PIECES = 80
MAX_MONOS = 48
MAX_NEW = 3  # monomials that one piece may bring in
MAX_WEIGHTS = 3
MAX_SCALE = 12
MAX_ADDENDS = 4
MAX_SQUARED = 8  # terms of what is squared


# -- one combination -------------------------------------------------------------------------------------------------


def by_combination(search: Search, goal: Goal) -> list[Part] | None:
    """A combination of pieces, found by linear programming after each kind of piece that joins."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    if len(goal.poly) > MAX_MONOS:
        return None
    if goal.depth < LAST:
        bounds.suggest(search, goal)
    known = ranked(here, goal.poly, search.known())
    equal = [k for k in known if k.fact.signs == ZERO]
    pieces = [p for a in goal.addends if (p := weighed(search.board, here, Part(a), letters)) is not None]
    monos = dict.fromkeys(sorted(goal.poly, key=mono_key))
    kinds: list[Callable[[list[Mono]], Iterable[Piece]]] = [
        lambda targets: (),
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
        lambda targets: guard_pieces(search, here, letters),
        lambda targets: with_coefficients(search.board, here, letters, known, goal.poly),
        lambda targets: from_comparisons(search.board, here, letters, equal, targets),
        lambda targets: [*products(search, here, letters, known), *paired(search, goal, known)],
        lambda targets: squares(search.board, here, letters, [*goal.poly], goal.poly),
        lambda targets: whole_squares(search.board, here, letters, with_numbers(here, goal.poly, equal)),
        lambda targets: [*weighted(search, goal), *absolute_pairs(search.board, here, letters, goal.poly)],
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
        lambda targets: squares(search.board, here, letters, targets, goal.poly),
        lambda targets: from_comparisons(search.board, here, letters, known, targets),
    ]
    few = 3 if goal.depth >= LAST else 6 if switches(goal, letters) else len(kinds)  # cases come before squares
    for number, kind in enumerate(kinds[:few]):
        count = len(pieces)
        new = (p for p in search.counted(kind(list(monos))) if sum(m not in monos for m in p.poly) <= MAX_NEW)
        pieces = distinct([*pieces, *islice(new, MAX_PIECES)])
        if number and len(pieces) == count:
            continue
        grown = dict.fromkeys([*monos, *(m for p in pieces[count:] for m in p.poly)])
        found = mixed(goal, [*pieces, *signed(here, grown)])
        if found is not None:
            return found
        if len(grown) > MAX_MONOS:  # these are too many: go on without them
            pieces = pieces[:count]
        else:
            monos = grown
    return None


def ranked(here: Normal, poly: Poly, known: list[Known]) -> list[Known]:
    """The comparisons, those first that share functions with the polynomial and speak of few letters."""
    shapes = functions_in(poly)

    def rank(k: Known) -> tuple[int, int]:
        own = functions_in(here.poly(k.fact.term))
        return len(k.fact.letters), len(own - shapes) - len(own & shapes)

    return sorted(known, key=rank)


def functions_in(poly: Poly) -> set[str]:
    """The functions and extrema in the polynomial, letters left aside."""
    return {key(t)[0] for m in poly for a, _ in m for t in subterms(a) if t.op in ("fn", "argmax", "where")}


def weighted(search: Search, goal: Goal) -> Iterator[Piece]:
    """Sums of squares with weights that have to be shown not negative themselves."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    for weight, root, outer in islice(weights(here, goal.poly), MAX_WEIGHTS):
        mapping = {k: search.letter(k.value[1]) for k in outer}
        scope = Scope((*goal.scope.letters, *mapping.values()), goal.scope.where)
        number = search.prove(substitute(here.term(weight), mapping), False, scope, goal.depth + 1)
        if number is not None:
            back = tuple((k, k) for k in goal.scope.letters) + tuple((v, k) for k, v in mapping.items())
            piece = weighed(search.board, here, Part(power(root, TWO), (Cite(number, back),), outer), letters)
            if piece is not None:
                yield piece


def mixed(goal: Goal, pieces: list[Piece]) -> list[Part] | None:
    """The pieces times numbers that add up to the goal."""
    multipliers = combine(
        goal.poly,
        [p.poly for p in pieces],
        [p.free for p in pieces],
        [p.strict for p in pieces] if goal.strict else (),
    )
    if multipliers is None:
        return None
    return [times(x, p.part) for p, x in zip(pieces, multipliers, strict=True) if x]


def times(number: Fraction, part: Part) -> Part:
    if number == 1:
        return part
    return replace(part, multiplier=num(number) if part.multiplier is ONE else mul(num(number), part.multiplier))


# -- other ways ------------------------------------------------------------------------------------------------------


def by_cases(search: Search, goal: Goal) -> list[Part] | None:
    """One of the conditions that the terms hang on, true and false."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    term = here.term(goal.poly)
    for atom in switches(goal, letters)[:1]:
        test = cmp("==", *atom.args) if atom.op == "delta" else atom.args[0]
        cites: list[Cite | None] = []
        for cell in (test, negation(test)):
            scope = Scope(goal.scope.letters, both(goal.scope.where, cell))
            inner = search.here(scope)
            if inner is None:
                cites.append(None)
                continue
            one = tied(cell, term)
            number = search.prove(one, goal.strict, scope, goal.depth + 1)
            if number is not None and one is not term:
                part = Part(ONE, (search.cite(number, scope),))
                number = search.add(search.line(above(term, goal.strict), scope, (part,)))
            if number is None:
                return None
            cites.append(search.cite(number, scope))
        line = Line(
            above(term, goal.strict),
            "case_distinction",
            (test,),
            (),
            tuple(cites),
            goal.scope.letters,
            goal.scope.where,
        )
        number = search.add(line)
        if number is not None:
            return [Part(ONE, (search.cite(number, goal.scope),))]
    return None


def switches(goal: Goal, letters: frozenset[Term]) -> list[Term]:
    """The 0-1 atoms of the goal that can be told apart."""
    return sorted({a for m in goal.poly for a, _ in m if a.op in CASES and a.letters <= letters}, key=key)


def tied(cell: Term, term: Term) -> Term:
    """The term with one letter for two equal ones."""
    if cell.value == "==" and cell.args[0].op == "index" and cell.args[0] not in cell.args[1].letters:
        return substitute(term, {cell.args[0]: cell.args[1]})
    return term


def by_factor(search: Search, goal: Goal) -> list[Part] | None:
    """A known comparison times a quotient, or over one that is positive."""
    here, letters = search.here(goal.scope), search.letters(goal.scope)
    assert here is not None
    known = search.known()
    pieces = (*plain_pieces(search, here, letters, known), *placed_pieces(search, here, letters, known))
    for piece in (*pieces, *squares_of_the_claim(search, here, letters)):
        quotient = divided(here, goal.poly, piece.poly) if len(piece.poly) > 1 else None
        if quotient and not piece.free and (piece.strict or not goal.strict):
            number = search.prove(here.term(quotient), goal.strict, goal.scope, goal.depth + 1)
            if number is not None:
                return [replace(piece.part, cites=(*piece.part.cites, search.cite(number, goal.scope)))]
        inverse = here.term(divided(here, piece.poly, goal.poly) or {})
        if sign(here, inverse) == POS and (piece.strict or not goal.strict):
            return [replace(piece.part, multiplier=div(piece.part.multiplier, inverse))]
    return None


def by_addends(search: Search, goal: Goal) -> list[Part] | None:
    """A sum as it was written, each of its terms by itself, where numbers tell at once that this is hopeless."""
    here, parts = search.here(goal.scope), []
    assert here is not None
    if not 1 < len(goal.addends) <= MAX_ADDENDS or not all(map(search.sampler.judges, goal.addends)):
        return None
    signs = [sign(here, a) for a in goal.addends]
    strict = goal.strict and POS not in signs  # one term that is positive is enough
    for a, known in zip(goal.addends, signs, strict=True):
        number = search.prove(a, strict, goal.scope, goal.depth + 2) if known & NEG else None
        if known & NEG and number is None:
            return None
        parts.append(Part(a) if number is None else Part(ONE, (search.cite(number, goal.scope),)))
        strict = strict and number is None
    return parts


def by_logarithms(search: Search, goal: Goal) -> list[Part] | None:
    """A difference of logarithms, or of a logarithm and anything else, by what they are logarithms of."""
    here = search.here(goal.scope)
    assert here is not None
    logs = {m: a for m in goal.poly for a, e in m if a.op == "fn" and a.value == "log" and e == 1}
    commons = sorted({m - {(a, 1)} for m, a in logs.items()}, key=lambda m: (len(m), mono_key(m)))
    common = next((m for m in commons if here.mono_sign(m, 1) == POS), None)
    if common is None:
        return None
    scale = lcm(*(Fraction(c).denominator for c in goal.poly.values()))
    if any(abs(c * scale) > MAX_SCALE for m, c in goal.poly.items() if m in logs):
        return None
    sides: tuple[list[Term], list[Term]] = ([], [])
    for mono, c in sorted(goal.poly.items(), key=lambda p: mono_key(p[0])):
        side = sides[0 if c > 0 else 1]
        if mono in logs and mono - {(logs[mono], 1)} == common:
            e = abs(c * scale)
            side.append(logs[mono].args[0] if e == 1 else power(logs[mono].args[0], num(e)))
        else:
            down: Mono = frozenset((a, -e) for a, e in common)
            side.append(fn("exp", here.term(here.mul({mono: abs(c * scale)}, {down: 1}))))
    factors = [t for t in (num(Fraction(1, scale)), here.term({common: 1})) if t is not ONE]
    return compared(search, goal, "log", mul(*sides[0]), mul(*sides[1]), mul(*factors))


def compared(search: Search, goal: Goal, name: str, upper: Term, lower: Term, scale: Term) -> list[Part] | None:
    """scale * (name(upper) - name(lower)), where the arguments can be compared."""
    below = search.prove(sub(upper, lower), goal.strict, goal.scope, goal.depth + 1)
    if below is None:
        return None
    condition = above(fn(name, upper), goal.strict, fn(name, lower))
    cites = (search.cite(below, goal.scope), *((None,) if name in ("log", "sqrt") else ()))
    rule = strictly(f"{name}_increasing", goal.strict)
    number = search.add(Line(condition, rule, (upper, lower), (), cites, goal.scope.letters, goal.scope.where))
    return None if number is None else [Part(scale, (search.cite(number, goal.scope),))]


def by_exponents(search: Search, goal: Goal) -> list[Part] | None:
    """U - V for positive U and V by their logarithms, where V is an exponential or a power of symbolic exponent, or U
    is one and no sum; V may be a sum where U is the exponential of a square."""
    here = search.here(goal.scope)
    assert here is not None
    lower = {m: c for m, c in goal.poly.items() if c < 0}
    upper = {m: c for m, c in goal.poly.items() if c > 0}
    sides = (upper, lower) if len(upper) == 1 else (lower,)
    steep = len(upper) == 1 and any(_of_square(a) for m in upper for a, _ in m)
    grows = _rises if len(upper) == len(lower) == 1 else _grows
    if not lower or not upper or not any(grows(a) for side in sides for m in side for a, _ in m):
        return None
    if len(lower) > 1 and not steep:
        return None
    u, v = here.term(upper), here.term(scaled(lower, -1))
    if sign(here, u) != POS or sign(here, v) != POS:
        return None
    return compared(search, goal, "exp", fn("log", u), fn("log", v), ONE)


def _of_square(a: Term) -> bool:
    return a.op == "fn" and a.value == "exp" and any(t.op == "pow" for t in subterms(a.args[0]))


def _rises(a: Term) -> bool:
    return a.op in ("prod", "pow") or (a.op == "fn" and a.value == "exp" and a.args[0].op != "num")


def _grows(a: Term) -> bool:
    return _rises(a) and not (a.op == "fn" and a.args[0].op == "var")


def by_roots(search: Search, goal: Goal) -> list[Part] | None:
    """U - V by their squares, one of them the terms that hold a root."""
    here = search.here(goal.scope)
    assert here is not None
    poly = goal.poly
    if len(poly) > MAX_SQUARED or goal.depth > LAST // 2:  # squares of squares grow beyond use
        return None
    roots = [m for m in sorted(poly, key=mono_key) if any(_is_root(a, e) for a, e in m)]
    falling = {m: c for m, c in poly.items() if c < 0}
    splits = [{m: poly[m] for m in roots if poly[m] < 0}, falling]
    splits.append({m: c for m, c in poly.items() if not (m in roots and c > 0)})
    unsure = {m: c for m, c in poly.items() if here.mono_sign(m, c) & NEG}
    splits += [unsure] if unsure not in splits else []
    plain = [falling] if unsure == falling else [falling, unsure]
    squared = any(e == 2 for k in search.known() for m in here.poly(k.fact.term) for _, e in m)
    ways = []
    for lower in splits if roots else plain if squared and len(poly) == 2 else []:
        upper = {m: c for m, c in poly.items() if m not in lower}
        if upper and lower:
            ways.append((here.term(upper), here.term(scaled(lower, -1))))
    risen = [a for a in goal.addends if a.op != "neg"]
    if roots and 0 < len(risen) < len(goal.addends):  # an absolute value is one term as it was written only
        ways.append((add(*risen), add(*(a.args[0] for a in goal.addends if a.op == "neg"))))
    for u, v in ways:
        base = search.prove(u, False, goal.scope, goal.depth + 2)
        gap = sub(power(u, TWO), power(v, TWO))
        larger = None if base is None else search.prove(gap, goal.strict, goal.scope, goal.depth + 2)
        if base is None or larger is None:
            continue
        cites = (search.cite(base, goal.scope), search.cite(larger, goal.scope))
        rule = strictly("square_root_order", goal.strict)
        condition = above(u, goal.strict, v)
        number = search.add(Line(condition, rule, (u, v), (), cites, goal.scope.letters, goal.scope.where))
        if number is not None:
            return [Part(ONE, (search.cite(number, goal.scope),))]
    return None


def _is_root(a: Term, e: object) -> bool:
    return (not isinstance(e, Term | int)) or (a.op == "pow" and a.args[1].op == "num")


def by_square(search: Search, goal: Goal) -> list[Part] | None:
    """a x**2 + b x + c as (a x + b/2)**2 / a and the rest, for a positive a."""
    here = search.here(goal.scope)
    assert here is not None
    for x in sorted({a for m in goal.poly for a, e in m if e == 2}, key=key):
        by: tuple[Poly, Poly, Poly] = ({}, {}, {})
        for m, c in goal.poly.items():
            e = dict(m).get(x, 0)
            if e not in (0, 1, 2):
                break
            by[e][m - {(x, e)}] = c  # type: ignore[index]  # one of 0, 1, 2
        else:
            c_, b, a = (here.term(p) for p in by)
            if not by[1] or sign(here, a) != POS:
                continue
            rest = sub(c_, div(power(b, TWO), mul(num(4), a)))
            square = Part(div(power(add(mul(a, x), div(b, TWO)), TWO), a))
            if here.is_zero(here.poly(rest)):
                return None if goal.strict else [square]
            number = search.prove(rest, goal.strict, goal.scope, goal.depth + 2)
            if number is not None:
                return [square, Part(ONE, (search.cite(number, goal.scope),))]
    return None


def by_terms(search: Search, goal: Goal) -> list[Part] | None:
    """A sum over one letter, term by term."""
    here = search.here(goal.scope)
    assert here is not None
    axes = {k.value[1] for m in goal.poly for a, e in m if a.op == "sum" and e == 1 for k in a.bound}
    for axis in sorted(axes):
        letter = search.letter(axis)
        body: Poly = {}
        left: Poly = {}
        for m, c in sorted(goal.poly.items(), key=lambda p: mono_key(p[0])):
            sums = [a for a, e in m if a.op == "sum" and e == 1 and [k.value[1] for k in a.bound] == [axis]]
            size = next((a for a, e in m if a.op == "size" and a.value == axis and isinstance(e, int) and e > 0), None)
            if sums:
                a = min(sums, key=key)
                inner = here.poly(substitute(a.args[0], {a.bound[0]: letter}))
                add_to(body, here.mul(inner, here.finish(m - {(a, 1)})), c)
            elif size is not None:
                add_to(body, here.mul({m: c}, {frozenset({(size, -1)}): 1}))
            else:
                left[m] = c
        rest = [
            times(Fraction(abs(left[m])), p.part) for p in signed(here, left) for m in p.poly if p.poly[m] * left[m] > 0
        ]
        if len(rest) < len(left) or not body:
            continue
        scope = Scope((*goal.scope.letters, letter), goal.scope.where)
        number = search.prove(here.term(body), goal.strict, scope, goal.depth + 1)
        if number is not None:
            return [Part(ONE, (search.cite(number, scope),), (letter,)), *rest]
    return None


def by_mean(search: Search, goal: Goal) -> list[Part] | None:
    """The mean of a comparison that holds whatever the random names are."""
    here = search.here(goal.scope)
    assert here is not None
    if moments.random_names(here, goal.scope.where):
        return None
    for body in means.bodies(here, goal.poly, goal.addends):
        for tangent in means.logarithms(here, body):
            search.suggest(tangent)
        number = search.prove(body, goal.strict, goal.scope, goal.depth + 1)
        if number is not None:
            condition = above(make("E", (body,)), goal.strict)
            cites = (search.cite(number, goal.scope),)
            line = Line(condition, "mean_of_a_comparison", (body,), (), cites, goal.scope.letters, goal.scope.where)
            found = search.add(line)
            if found is not None:
                return [Part(ONE, (search.cite(found, goal.scope),))]
    return None


def by_hoelder(search: Search, goal: Goal) -> list[Part] | None:
    """One combination with Hölder's inequality."""
    before = len(search.useful)
    for line in () if goal.depth else of_powers(search):
        search.suggest(line)
    return by_combination(search, goal) if len(search.useful) > before else None


def by_place(search: Search, goal: Goal) -> list[Part] | None:
    """What follows from what is known at a place of an axis of which the claim has none: there is one."""
    here = search.here(goal.scope)
    assert here is not None
    if goal.depth:
        return None
    taken = {k.value[1] for k in search.letters(goal.scope)}
    for axis in sorted({k.value[1] for known in search.known() for k in known.letters} - taken):
        letter = search.letter(axis)
        scope = Scope((*goal.scope.letters, letter), goal.scope.where)
        number = search.prove(here.term(goal.poly), goal.strict, scope, goal.depth + 1)
        if number is not None:
            return [Part(div(ONE, size(axis)), (search.cite(number, scope),), (letter,))]
    return None


Strategy = Callable[["Search", Goal], list[Part] | None]
ALL: tuple[Strategy, ...] = (
    by_combination,
    by_cases,
    by_factor,
    by_addends,
    by_logarithms,
    by_hoelder,
    by_exponents,
    by_roots,
    by_square,
    by_terms,
    by_mean,
    by_inverse,
    by_place,
)

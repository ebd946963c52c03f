"""Elementary inequalities worth having as lines, read off the atoms of a difference and the functions of a claim."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import TYPE_CHECKING

from derive.engine import curves, spreads, telescope
from derive.engine.factors import factor_by_factor
from derive.engine.pieces import Factors, Opened, opened, product
from derive.kernel.normal import Normal
from derive.kernel.poly import Mono, Poly, add_to, key, mono_key
from derive.kernel.proof import Cite, Line, Part, Rejected
from derive.kernel.signs import NEG, POS, sign
from derive.term import (
    ONE,
    PI,
    TRUE,
    TWO,
    Term,
    add,
    both,
    cmp,
    delta,
    div,
    fn,
    make,
    mul,
    neg,
    num,
    over,
    power,
    size,
    sub,
    substitute,
    subterms,
    where,
)
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.goals import Goal
    from derive.engine.order import Search

MAX_SIZE = 8  # that a size is known to have
MAX_EXPONENTS = 6
MAX_POWER = 12  # of what stands under a logarithm


def combination(
    term: Term, parts: tuple[Part, ...], letters: Iterable[Term], guard: Term = TRUE, strict: bool = False
) -> Line:
    condition = cmp(">" if strict else ">=", term, NOUGHT)
    return Line(condition, "combination", (), parts, (), tuple(letters), guard)


def row(rule: str, strict: bool, left: Term, right: Term, values: tuple[Term, ...], letters: Iterable[Term]) -> Line:
    name = f"strict_{rule}" if strict else rule
    return Line(cmp(">" if strict else ">=", left, right), name, values, (), (), tuple(letters))


def extremum(whole: Term, entry: Term, letters: tuple[Term, ...], places: tuple[Term, ...], guard: Term = TRUE) -> Line:
    """A maximum is at least its entry at the places, and a minimum at most."""
    condition = cmp(">=", entry, whole) if whole.op == "min" else cmp(">=", whole, entry)
    return Line(condition, "extremum", (whole, *places), (), (), (*letters, *places), guard)


def at(letters: Iterable[Term]) -> tuple[tuple[Term, Term], ...]:
    return tuple((k, k) for k in letters)


def general(search: Search, term: Term) -> tuple[dict[Term, Term], tuple[Term, ...]]:
    """New letters for those of the term that the claim does not fix: the mapping, and the letters."""
    loose = sorted(term.letters - search.board.fixed, key=key)
    mapping = {k: search.letter(k.value[1]) for k in loose}
    return mapping, tuple(mapping.values())


def suggest(search: Search, goal: Goal) -> None:
    """Add lines for the maxima, sums, exponentials, logarithms and 0-1 terms of the goal and of what is known."""
    here = search.here(goal.scope)
    assert here is not None
    polys = [goal.poly, *(here.poly(f.term) for f in search.nf.raw_facts)]
    top = {a for poly in polys for m in poly for a, _ in m}
    for t in sorted({t for a in top for t in subterms(a)}, key=key):
        if (t, t in top) not in search.suggested:
            search.suggested.add((t, t in top))
            for line in _about(search, here, t, t in top):
                search.suggest(line)
    if goal.strict:
        for line in _least(search, here, goal):
            search.suggest(line)
    for line in curves.slopes(search, here, goal):
        search.suggest(line)
    curves.parabolas(search, goal)
    for makers in (_exponentials, _logarithms, _powers, spreads.half_of_the_squares):
        for line in makers(search, here, goal):
            search.suggest(line)


# -- one atom --------------------------------------------------------------------------------------------------------


def _about(search: Search, here: Normal, t: Term, top: bool) -> Iterator[Line]:
    """Lines about one atom."""
    mapping, letters = general(search, t)
    a = substitute(t, mapping)
    if t.op == "argmax" and len(t.bound) == 1:
        place = search.letter(t.bound[0].value[1])
        whole = over("max", a.args[0], *a.bound, where=a.args[1])
        value, filter_ = (substitute(x, {a.bound[0]: place}) for x in a.args)
        yield extremum(whole, value, letters, (place,), filter_)
        if filter_ is TRUE:
            yield from _above_mean(search, here, whole, letters)
        if filter_ is TRUE and here.canonical(value) in (place, here.canonical(neg(place))):
            yield from _outermost(search, a, place, here.canonical(value) is place)
    elif t.op == "sum" and t.args[1] is TRUE and top:
        if not sign(here, t.args[0]) & NEG:
            yield from entries(search, here, t)
        yield from _series(search, here, t)
    elif t.op == "delta" or (t.op == "var" and here.is_bit(t)):
        yield combination(sub(ONE, a), (Part(power(sub(ONE, a), TWO)),), letters)
    elif t.op == "where" and t.args[0].value == "<":
        rest = where(cmp(">", *a.args[0].args), ONE, NOUGHT)
        yield combination(sub(ONE, a), (Part(power(sub(ONE, a), TWO)),), letters)
        yield combination(add(ONE, neg(a), neg(delta(*a.args[0].args))), (Part(rest),), letters)
    elif t.op == "where" and t.args[0].value == ">":
        yield from _switched(search, here, t.args[0].args[0])
    elif t.op == "prod" and len(t.bound) == 1:
        yield from factor_by_factor(search, here, a, letters)
    elif t.op == "index" and top:
        k = search.letter(t.value[1])
        gap = add(size(t.value[1]), num(-1), neg(a))
        yield combination(gap, (Part(ONE, (), (k,), cmp(">", k, a)),), letters)
    elif t.op == "size":
        known = (c for c in range(MAX_SIZE, 1, -1) if not sign(here, t - c) & NEG)
        gap = sub(t, num(next(known, 1)))
        yield combination(gap, (Part(gap),), ())
    elif t.op == "fn" and t.value in ("sin", "cos", "erf", "atan"):
        yield from bounded(t.value, a.args[0], letters)


def _above_mean(search: Search, here: Normal, whole: Term, letters: tuple[Term, ...]) -> Iterator[Line]:
    """A maximum is at least the mean, where something is known of the sum."""
    (k,), total = whole.bound, over("sum", whole.args[0], *whole.bound)
    said = {a for f in search.nf.raw_facts for m in here.poly(f.term) for a, _ in m}
    if not said.isdisjoint(a for m in here.poly(total) for a, _ in m if a.op == "sum"):
        place = search.letter(k.value[1])
        number = search.add(extremum(whole, substitute(whole.args[0], {k: place}), letters, (place,)))
        if number is not None:
            share = div(ONE, size(k.value[1]))
            part = Part(share, (Cite(number, at((*letters, place))),), (place,))
            yield combination(sub(whole, mul(share, total)), (part,), letters)


def _outermost(search: Search, a: Term, k: Term, last: bool) -> Iterator[Line]:
    """The largest index is the last and the smallest the first: no k lies beyond, as k - a - 1 and a - k would show."""
    number = search.add(extremum(over("max", a.args[0], *a.bound), k if last else neg(k), (), (k,)))
    beyond, gap = cmp(">" if last else "<", k, a), sub(k, a) if last else sub(a, k)
    if number is not None:
        parts = (Part(sub(gap, ONE), (), (k,), beyond), Part(ONE, (Cite(number, at((k,))),), (k,), beyond))
        left = sub(size(k.value[1]), add(a, ONE)) if last else a
        yield combination(neg(left), parts, ())
        yield combination(left, (Part(ONE, (), (k,), beyond),), ())


def _series(search: Search, here: Normal, t: Term) -> Iterator[Line]:
    """What the sum comes to without the entries that its terms are multiples of, if that is known."""
    monos = here.poly(t.args[0])
    if len(t.bound) > 1 or len(monos) != 1 or not t.letters <= search.board.fixed:
        return
    (k,), (mono,) = t.bound, monos
    numbers = {(a, e) for a, e in mono if a.op == "where" or telescope.is_number(k, a)}
    atom = here.canonical(over("sum", product(sorted(numbers, key=lambda p: key(p[0]))), k)) if numbers else t
    series = telescope.line(search.ground, atom) if atom.op == "sum" else None
    if series is not None:
        yield series


def entries(search: Search, here: Normal, t: Term) -> Iterator[Line]:
    """A sum of what is not negative is at least its part at one place, at two different ones, and on the diagonal."""
    mapping, letters = general(search, t)
    t = substitute(t, mapping)
    inner = {k: search.letter(k.value[1]) for k in t.bound}
    value, summed = substitute(t.args[0], inner), tuple(inner.values())
    strict = sign(here, t.args[0]) == POS
    for k in t.bound:
        axis = k.value[1]
        one, two = search.letter(axis), search.letter(axis)
        rest = [b for b in t.bound if b is not k]
        at_one, at_two = (over("sum", substitute(t.args[0], {k: p}), *rest) for p in (one, two))
        part = Part(value, (), summed, cmp("!=", inner[k], one))
        many = strict and sign(here, size(axis) - 1) == POS
        yield combination(sub(t, at_one), (part,), (*letters, one), strict=many)
        if sum(b.value[1] == axis for b in search.board.fixed) > 1:
            part = Part(value, (), summed, both(cmp("!=", inner[k], one), cmp("!=", inner[k], two)))
            gap = sub(t, add(at_one, at_two))
            yield combination(gap, (part,), (*letters, one, two), cmp("!=", one, two))
    for first, second in combinations(t.bound, 2):  # the diagonal, and the part at one place of each
        j, k = inner[first], inner[second]
        if first.value[1] == second.value[1]:
            equal = over("sum", substitute(t.args[0], {second: first}), *(b for b in t.bound if b is not second))
            yield combination(sub(t, equal), (Part(value, (), summed, cmp("!=", j, k)),), letters)
        places = {first: search.letter(first.value[1]), second: search.letter(second.value[1])}
        at_places = over("sum", substitute(t.args[0], places), *(b for b in t.bound if b not in places))
        elsewhere = make("or", (cmp("!=", j, places[first]), cmp("!=", k, places[second])))
        part = Part(value, (), summed, elsewhere)
        yield combination(sub(t, at_places), (part,), (*letters, *places.values()))


def _least(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """Positive factors of the terms of a sum are at least the least of them."""
    for t in sorted({a for m in goal.poly for a, e in m if a.op == "sum" and len(a.bound) == 1 and e == 1}, key=key):
        (k,), body = t.bound, t.args[0]
        for a in body.args if body.op == "mul" else ():
            if a.op == "var" and k in a.letters and sign(here, a) == POS:
                mapping, letters = general(search, over("sum", a, k))
                place, value = search.letter(k.value[1]), substitute(a, mapping)
                least, entry = over("min", value, k), substitute(value, {k: place})
                yield extremum(least, entry, letters, (place,))


def _switched(search: Search, here: Normal, u: Term) -> Iterator[Line]:
    """relu(u) and relu(-u) are not negative, are at most the positive part of the sum u, and entries of their sums."""
    mapping, letters = general(search, u)
    u = substitute(u, mapping)
    for v in (u, neg(u)):
        value = fn("relu", v)
        yield combination(value, (Part(value),), letters)
        if len(letters) == 1:
            k = search.letter(letters[0].value[1])
            yield from entries(search, here, over("sum", substitute(value, {letters[0]: k}), k))
        poly = here.poly(v)
        falls = {m: c for m, c in poly.items() if not here.mono_sign(m, c) & POS}
        rises = {m: c for m, c in poly.items() if m not in falls}
        if falls and rises and not any(here.mono_sign(m, c) & NEG for m, c in rises.items()):
            yield from _capped(search, here.term(rises), v, letters)


def _capped(search: Search, top: Term, u: Term, letters: tuple[Term, ...]) -> Iterator[Line]:
    """relu(u) <= top in the two cases of the sign of u."""
    gap, test = sub(top, fn("relu", u)), cmp(">", u, NOUGHT)
    cites = []
    for cell, plain in ((test, sub(top, u)), (cmp("<=", u, NOUGHT), top)):
        inner = search.nf.canonical(plain)
        number = search.add(combination(gap, (Part(inner),), letters, cell))
        cites.append(None if number is None else Cite(number, at(letters)))
    yield Line(cmp(">=", gap, NOUGHT), "case_distinction", (test,), (), tuple(cites), letters)


def bounded(name: str, u: Term, letters: tuple[Term, ...]) -> Iterator[Line]:
    """Sine, cosine, error function and arc tangent between their bounds."""
    value = fn(name, u)
    if name == "cos":
        yield row("cos_at_most_one", False, ONE, value, (u,), letters)
        yield row("cos_at_least_minus_one", False, value, neg(ONE), (u,), letters)
        return
    rules = {"sin": ("sin_at_most_one", ONE), "erf": ("erf_below_one", ONE)}
    rule, bound = rules.get(name, ("atan_below_quarter_turn", div(PI, TWO)))
    for v in (u, neg(u)):
        yield row(rule, name != "sin", bound, fn(name, v), (v,), letters)


# -- terms of one kind, compared with each other ---------------------------------------------------------------------


def spread(here: Normal, monos: Iterable[Mono]) -> list[Opened]:
    """The monomials with their sums opened."""
    found = []
    for m in monos:
        try:
            found.append(opened(here, m))
        except Rejected:
            continue
    return found


def _exponent(here: Normal, factors: Factors) -> Poly:
    """The logarithm of the exponentials among the factors."""
    u: Poly = {}
    for a, e in factors:
        if a.op == "fn" and a.value == "exp":
            add_to(u, here.poly(a.args[0]), e)
    return u


def _exponentials(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """exp(a) against exp(b): what is known of a - b, the tangent of exp at b, and chords."""
    exponents: dict[Term, Poly] = {}
    for o in spread(here, sorted(goal.poly, key=mono_key)):
        u = _exponent(here, o.factors)
        exponents.setdefault(here.term(u), u)
    if len(exponents) > MAX_EXPONENTS:
        return
    for a, u in exponents.items():
        for b, v in exponents.items():
            if a is b:
                yield from _increments(search, a)
                continue
            gap = add_to(dict(u), v, -1)
            mapping, letters = general(search, add(a, b))
            upper, lower = substitute(a, mapping), substitute(b, mapping)
            found = list(_ordered(search, "exp", upper, lower, letters, TRUE))
            if not found and goal.scope.where is not TRUE and add(a, b).letters <= search.letters(goal.scope):
                found = list(_ordered(search, "exp", a, b, goal.scope.letters, goal.scope.where))
            yield from found
            yield from _tangent(search, upper, lower, letters)
            yield from _chords(search, here, gap, mapping, lower, letters)


def _ordered(
    search: Search, name: str, upper: Term, lower: Term, letters: tuple[Term, ...], guard: Term
) -> Iterator[Line]:
    """name(upper) above name(lower), where that is known of the arguments."""
    for strict in (True, False):
        number = search.compare(sub(upper, lower), strict, letters, guard)
        if number is not None:
            cites = (Cite(number, at(letters)), *((None,) if name in ("log", "sqrt") else ()))
            rule = f"strict_{name}_increasing" if strict else f"{name}_increasing"
            condition = cmp(">" if strict else ">=", fn(name, upper), fn(name, lower))
            yield Line(condition, rule, (upper, lower), (), cites, letters, guard)
            return


def _increments(search: Search, u: Term) -> Iterator[Line]:
    """(exp(u) - exp(v)) * (u - v) is not negative, for two values of one exponent."""
    mapping, letters = general(search, u)
    again = {k: search.letter(k.value[1]) for k in mapping}
    if mapping:
        p, q = substitute(u, mapping), substitute(u, again)
        gap = mul(sub(fn("exp", p), fn("exp", q)), sub(p, q))
        yield row("exp_increments", False, gap, NOUGHT, (p, q), (*letters, *again.values()))


def _tangent(search: Search, upper: Term, lower: Term, letters: tuple[Term, ...]) -> Iterator[Line]:
    """exp(a) above the tangent of exp at b."""
    w = sub(upper, lower)
    for strict in (True, False):
        number = search.add(row("exp_tangent", strict, fn("exp", w), add(ONE, w), (w,), letters))
        if number is not None:
            gap = sub(fn("exp", upper), mul(fn("exp", lower), add(ONE, w)))
            yield combination(gap, (Part(fn("exp", lower), (Cite(number, at(letters)),)),), letters, strict=strict)
            return


def _chords(
    search: Search, here: Normal, gap: Poly, mapping: dict[Term, Term], lower: Term, letters: tuple[Term, ...]
) -> Iterator[Line]:
    """exp(b + g) below the chord of exp between t = 0 and t = 1, for an exponent g that is linear in a t of [0, 1]."""
    for t in sorted({a for m in gap for a, e in m if a.op == "var" and not a.letters and e == 1}, key=key):
        if sign(here, t) & NEG or sign(here, here.canonical(sub(ONE, t))) & NEG:
            continue
        slope = {m - {(t, 1)}: c for m, c in gap.items() if (t, 1) in m}
        start = {m: c for m, c in gap.items() if (t, 1) not in m}
        if any(t in subterms(a) for part in (slope, start) for m in part for a, _ in m):
            continue
        q = substitute(here.term(start), mapping)
        p = add(q, substitute(here.term(slope), mapping))
        upper, other = fn("exp", p), fn("exp", q)
        line = add(mul(t, upper), mul(sub(ONE, t), other))
        bent = mul(power(upper, t), power(other, sub(ONE, t)))
        number = search.add(row("weighted_means", False, line, bent, (upper, other, t), letters))
        if number is not None:
            factor = fn("exp", lower)
            yield combination(mul(factor, sub(line, bent)), (Part(factor, (Cite(number, at(letters)),)),), letters)


def _powers(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """a**e above b**e where a is above b, and (1 + u)**e above 1 + e u."""
    atoms = {
        (a.args[0], a.args[1]) if a.op == "pow" and e == 1 else (a, num(e))
        for o in spread(here, sorted(goal.poly, key=mono_key))
        for a, e in o.factors
        if not isinstance(e, int) or a.op == "pow"
    }
    ordered = sorted(atoms, key=lambda p: (key(p[0]), str(p[1])))
    for a, exponent in ordered[:MAX_EXPONENTS]:
        mapping, letters = general(search, add(a, exponent))
        base, p = substitute(a, mapping), substitute(exponent, mapping)
        u = search.nf.canonical(sub(base, ONE))
        yield row("bernoulli", False, power(add(ONE, u), p), add(ONE, mul(p, u)), (u, p), letters)
        for b, f in ordered[:MAX_EXPONENTS]:
            if f is exponent and a is not b and add(a, b, exponent).letters <= search.board.fixed:
                for strict in (True, False):
                    number = search.compare(sub(a, b), strict, ())
                    if number is not None:
                        cites = (Cite(number), None, None)
                        rule = "strict_power_increasing" if strict else "power_increasing"
                        condition = cmp(">" if strict else ">=", power(a, exponent), power(b, exponent))
                        yield Line(condition, rule, (a, b, exponent), (), cites)
                        break


# -- logarithms ------------------------------------------------------------------------------------------------------


def _logarithms(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """Tangents of the logarithm at products of what stands under logarithms, and logarithms that can be compared."""
    opens = [
        (o, Fraction(c)) for m, c in sorted(goal.poly.items(), key=lambda p: mono_key(p[0])) for o in spread(here, [m])
    ]
    groups = _grouped(opens)
    plain = {a for table in groups.values() for a in table}
    for entries in _joined(here, goal, opens, groups):
        _tangents(search, entries)
    numbers = {a: Fraction(1) for a in plain if a.op == "num"}
    for a in sorted(plain, key=key)[:MAX_EXPONENTS]:
        if a.op != "num":
            _tangents(search, {a: Fraction(1)})
            if numbers:
                _tangents(search, {a: Fraction(1), **numbers})
            for b in sorted(plain - {a}, key=key)[:MAX_EXPONENTS]:
                mapping, letters = general(search, add(a, b))
                yield from _ordered(search, "log", substitute(a, mapping), substitute(b, mapping), letters, TRUE)


Table = dict[Term, Fraction]


def _grouped(opens: list[tuple[Opened, Fraction]]) -> dict[frozenset[tuple[Term, object]], Table]:
    """What stands under the logarithms, by their coefficients."""
    groups: dict[frozenset[tuple[Term, object]], Table] = {}
    for o, c in opens:
        logs = [a for a, e in o.factors if a.op == "fn" and a.value == "log" and e == 1]
        for a in logs[:1]:
            table = groups.setdefault(frozenset(p for p in o.factors if p[0] is not a), {})
            table[a.args[0]] = table.get(a.args[0], Fraction(0)) + c
    return groups


def _joined(
    here: Normal,
    goal: Goal,
    opens: list[tuple[Opened, Fraction]],
    groups: dict[frozenset[tuple[Term, object]], Table],
) -> Iterator[Table]:
    """Logarithms of one coefficient together; with the exponents that have it too; with those of a part of it."""
    exponents = {
        key(t.args[0])[0] for m in goal.poly for a, _ in m for t in subterms(a) if t.op == "fn" and t.value == "exp"
    }
    for rest, table in groups.items():
        more: Table = {}
        for o, c in opens:
            quotient = dict(o.factors)
            for a, e in rest:
                if isinstance(e, int | Fraction) and not isinstance(quotient.get(a), Term):
                    quotient[a] = quotient.get(a, 0) - e  # type: ignore[operator]
            u = here.canonical(product((a, e) for a, e in quotient.items() if e != 0))
            if key(u)[0] in exponents:
                more[fn("exp", u)] = c
        base = next((groups[part] for part in sorted(groups, key=len) if part < rest), {})
        yield table
        yield from ({u: Fraction(1)} for u in _ratios(here, goal, rest, table))
        if more:
            yield {**table, **more}
        if base:
            whole = {a: table.get(a, 0) + more.get(a, 0) + base.get(a, 0) for a in {**table, **more, **base}}
            yield {a: c for a, c in whole.items() if c}


def _ratios(here: Normal, goal: Goal, rest: frozenset[tuple[Term, object]], table: Table) -> Iterator[Term]:
    """Where the goal may touch 0: c v + d log(a), each times `rest`, does at a multiple of v, log(v) = p log(a) + ...

    The tangent of log at k v there, k v - 1 >= log(k) + log(v), is met l times with l k = c and l p = -d.
    """
    down: Mono = frozenset((a, -e) for a, e in rest)  # type: ignore[operator, misc]  # exponents of monomials
    plain = [m for m in sorted(goal.poly, key=mono_key) if not any(a.op == "fn" and a.value == "log" for a, _ in m)]
    for mono in plain[:MAX_EXPONENTS]:
        v = here.term(here.mul({mono: 1}, {down: 1}))
        inside = here.poly(fn("log", v)) if v.op != "num" and sign(here, v) == POS else {}
        for a, d in table.items():
            p = inside.get(frozenset({(fn("log", a), 1)}), 0)
            k = -Fraction(goal.poly[mono]) * Fraction(p) / d if d else 0
            if k > 0:
                yield here.canonical(mul(num(k), v))


def _tangents(search: Search, entries: Table) -> None:
    """Lines for log(u) below u - 1, for the product u of the entries to their powers and for its inverse."""
    if not entries or not all(entries.values()):
        return
    unit = Fraction(gcd(*(c.numerator for c in entries.values())), lcm(*(c.denominator for c in entries.values())))
    if any(abs(c / unit) > MAX_POWER for c in entries.values()):
        return
    for side in (1, -1):
        ordered = sorted(entries.items(), key=lambda p: key(p[0]))
        u = product_of((a, side * c / unit) for a, c in ordered)
        mapping, letters = general(search, u)
        u = substitute(u, mapping)
        for strict in (True, False):
            if search.suggest(row("log_tangent", strict, sub(u, ONE), fn("log", u), (u,), letters)):
                break


def product_of(entries: Iterable[tuple[Term, Fraction]]) -> Term:
    return mul(*(a if e == 1 else power(a, num(e)) for a, e in entries))

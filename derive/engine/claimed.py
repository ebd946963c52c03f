"""Elementary inequalities read off a claim as it is written, before sums are multiplied out and names are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING

from derive.engine.bounds import at, bounded, combination, entries, extremum, general, row
from derive.engine.curves import touching
from derive.kernel import moments
from derive.kernel.normal import Normal
from derive.kernel.order import STEEPEST
from derive.kernel.poly import key
from derive.kernel.proof import Cite, Line, Part, Rejected
from derive.kernel.signs import NEG, sign
from derive.language.places import transform
from derive.term import ONE, TRUE, TWO, Term, add, both, cmp, fn, make, mul, num, over, power, sub, substitute, subterms
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.order import Search

MAX_PAIRS = 3  # of sums of squares whose product is compared


def as_written(search: Search) -> Term:
    """The claim with names and replacements worked out, and nothing else."""
    nf = search.nf

    def worked_out(t: Term) -> Term | None:
        try:
            return nf.opened(t) if t.op == "def" else nf.term(nf.poly(t)) if t.op == "at" else None
        except Rejected:
            return None

    return transform(search.ground.claim, worked_out)


def from_claim(search: Search) -> None:
    """Lines for the functions and sums of the claim as it is written, names and replacements worked out."""
    nf = search.nf
    known = (t for h in search.ground.context.hypotheses for t in subterms(h) if t.op == "E")
    parts = sorted({*subterms(as_written(search)), *known}, key=key)
    with suppress(Rejected):
        for line in _products_of_sums(
            search, nf, [_under_root(t.args[0]) for t in parts if t.op == "fn" and t.value == "sqrt"]
        ):
            search.suggest(line)
    sums = [t for t in parts if t.op == "sum" and any(a.op == "sum" for a in subterms(t.args[0]))]
    with suppress(Rejected):
        for line in (*_sums_together(search, nf, sums), *_mixtures(search, nf, parts)):
            search.suggest(line)
    for t in parts:
        try:
            for line in _squared_form(search, t) if t.op == "sum" and len(t.bound) == 2 else ():
                search.suggest(line)
            if t.op == "sum" and not sign(nf, t.args[0]) & NEG and t.args[1] is TRUE:
                for line in (*entries(search, nf, t), *_spread(search, nf, t)):
                    search.suggest(line)
            elif t.op == "max" and t.args[0].op == "fn" and t.args[0].value == "abs" and t.args[1] is TRUE:
                for line in _squares(search, t):
                    search.suggest(line)
            elif t.op == "E" and moments.random_names(nf, t.args[0]):
                for line in _variances(search, t):
                    search.suggest(line)
            elif t.op == "fn":
                mapping, letters = general(search, t)
                if t.value in STEEPEST:
                    search.slopes[t.value, substitute(t.args[0], mapping), letters] = None
                for name, u in touching(nf, t):
                    search.curves[name, substitute(u, mapping), letters] = None
                if t.value in ("sin", "cos"):  # in normal form the angle is taken apart
                    for line in bounded(t.value, substitute(t.args[0], mapping), letters):
                        search.suggest(line)
            elif t.op == "pow" and t.args[1].op != "num":
                for line in _growth(search, t):
                    search.suggest(line)
            elif t.op == "mul":
                for line in (*_means(search, nf, t), *_products_of_sums(search, nf, [_under_root(a) for a in t.args])):
                    search.suggest(line)
        except Rejected:
            continue


def _variances(search: Search, t: Term) -> Iterator[Line]:
    """E(f)**2 is at most E(f**2), for what E is taken of, and for its root where it is a square."""
    mapping, letters = general(search, t)
    (f,) = (substitute(a, mapping) for a in t.args)
    even = f.op == "pow" and f.args[1].op == "num" and f.args[1].value % 2 == 0
    root = [power(f.args[0], num(f.args[1].value / 2))] if even else []
    for g in (f, *root):
        spread = make("Var", (g,))
        yield Line(cmp(">=", spread, NOUGHT), "combination", (), (Part(spread),), (), letters)


def _growth(search: Search, t: Term) -> Iterator[Line]:
    """(1 + u)**p is at least 1 + p u and at most exp(p u): in normal form factors 1 + u are multiplied out."""
    mapping, letters = general(search, t)
    base, p = (substitute(a, mapping) for a in t.args)
    u = search.nf.canonical(sub(base, ONE))
    one = add(ONE, u)
    yield row("bernoulli", False, power(one, p), add(ONE, mul(p, u)), (u, p), letters)
    least = search.compare(one, False, letters)
    number = search.add(row("exp_tangent", False, fn("exp", u), one, (u,), letters)) if least is not None else None
    if number is not None and least is not None:
        condition = cmp(">=", power(fn("exp", u), p), power(one, p))
        cites = (Cite(number, at(letters)), Cite(least, at(letters)), None)
        yield Line(condition, "power_increasing", (fn("exp", u), one, p), (), cites, letters)


def _means(search: Search, nf: Normal, t: Term) -> Iterator[Line]:
    """The arithmetic mean above the geometric one, u**p * v**(1 - p)."""
    factors = [a for a in t.args if a.op == "pow"]
    for a, b in combinations(factors, 2):
        if nf.canonical(add(a.args[1], b.args[1])) is ONE:
            mapping, letters = general(search, t)
            (u, p), v = (substitute(x, mapping) for x in a.args), substitute(b.args[0], mapping)
            rest = sub(ONE, p)
            yield row(
                "weighted_means",
                False,
                add(mul(p, u), mul(rest, v)),
                mul(power(u, p), power(v, rest)),
                (u, v, p),
                letters,
            )


def _under_root(term: Term) -> Term:
    """What a root or a mean is taken of."""
    return _under_root(term.args[0]) if term.op == "div" or (term.op == "fn" and term.value == "sqrt") else term


def _products_of_sums(search: Search, nf: Normal, terms: Iterable[Term]) -> Iterator[Line]:
    """Lagrange's identity for sums of squares as written: sum(w[i]*w[j]*(u[i]*v[j] - u[j]*v[i])**2) is not negative."""
    found = [a for a in terms if a.op == "sum" and len(a.bound) == 1 and a.args[1] is TRUE]
    for first, second in list(combinations(found, 2))[:MAX_PAIRS]:
        if first.bound[0].value[1] != second.bound[0].value[1]:
            continue
        mapping, letters = general(search, mul(first, second))
        i, j = (search.letter(first.bound[0].value[1]) for _ in range(2))
        sides = [_weighed_square(substitute(a, mapping), k) for a in (first, second) for k in (i, j)]
        if None in sides:
            continue
        (w, u), (again, _), (other, _), (_, v) = (s for s in sides if s is not None)
        (_, u_j), (_, v_i) = (s for s in (sides[1], sides[2]) if s is not None)
        if nf.canonical(w) is nf.canonical(other) and not sign(nf, w) & NEG:
            part = Part(mul(w, again, power(sub(mul(u, v), mul(u_j, v_i)), TWO)), (), (i, j))
            yield combination(over("sum", part.multiplier, i, j), (part,), letters)


def _spread(search: Search, nf: Normal, t: Term) -> Iterator[Line]:
    """The mean square is at least the squared mean, of terms that are sums themselves; so it is without one term."""
    mapping, letters = general(search, t)
    i, j = (search.letter(k.value[1]) for k in (*t.bound, *t.bound)[:2])
    sides = [_weighed_square(substitute(t, mapping), k) for k in (i, j)] if len(t.bound) == 1 else []
    found = [s for s in sides if s is not None]
    if len(found) == 2 and any(a.op == "sum" for m in nf.poly(found[0][1]) for a, _ in m):
        (w, u), (again, v) = found
        others = (k for k in sorted(search.ground.claim.letters, key=key) if k.value[1] == i.value[1])
        for where in (TRUE, *(both(cmp("!=", i, k), cmp("!=", j, k)) for k in others)):
            part = Part(mul(w, again, power(sub(u, v), TWO)), (), (i, j), where)
            yield combination(over("sum", part.multiplier, i, j, where=where), (part,), letters)


def _mixtures(search: Search, nf: Normal, parts: list[Term]) -> Iterator[Line]:
    """The logarithm of p u + (1 - p) v is at least p log(u) + (1 - p) log(v), by the weighted means."""
    weighted = [
        (mul(ONE, *(b for b in t.args if b is not a)), a.args[0])
        for t in parts
        for a in (t.args if t.op == "mul" else ())
        if a.op == "fn" and a.value == "log"
    ]
    for (p, u), (q, v) in list(combinations(weighted, 2))[:MAX_PAIRS]:
        if nf.canonical(add(p, q)) is ONE:
            mapping, letters = general(search, add(p, u, v))
            p, u, v = (substitute(x, mapping) for x in (p, u, v))
            rest = sub(ONE, p)
            upper, lower = add(mul(p, u), mul(rest, v)), mul(power(u, p), power(v, rest))
            number = search.add(row("weighted_means", False, upper, lower, (u, v, p), letters))
            if number is not None:
                cites = (Cite(number, at(letters)), None)
                condition = cmp(">=", fn("log", upper), fn("log", lower))
                yield Line(condition, "log_increasing", (upper, lower), (), cites, letters)


def _sums_together(search: Search, nf: Normal, squares: list[Term]) -> Iterator[Line]:
    """Two sums of squares as written with the same weights: sum(w[k]*(u[k] + v[k])**2) and that of u[k] - v[k]."""
    found = [t for t in squares if len(t.bound) == 1 and t.args[1] is TRUE]
    for first, second in list(combinations(found, 2))[:MAX_PAIRS]:
        k = search.letter(first.bound[0].value[1])
        mapping, letters = general(search, add(first, second))
        same = first.bound[0].value[1] == second.bound[0].value[1]
        sides = [_weighed_square(substitute(t, mapping), k) for t in (first, second)] if same else []
        roots = [s for s in sides if s is not None]
        if len(roots) == 2 and nf.canonical(roots[0][0]) is nf.canonical(roots[1][0]):
            (w, u), (_, v) = roots
            for side in (add(u, v), sub(u, v)):
                part = Part(mul(w, power(side, TWO)), (), (k,))
                yield combination(over("sum", part.multiplier, k), (part,), letters)


def _squared_form(search: Search, t: Term) -> Iterator[Line]:
    """sum(v[k]*v[l]*sum(f(i, k)*f(i, l))) is the sum of the squares of sum(v[k]*f(i, k) for k), as for a covariance."""
    k, j = t.bound
    for inner in (a for a in _factors(t.args[0]) if a.op == "sum" and len(a.bound) == 1 and a.args[1] is TRUE):
        outer = [a for a in _factors(t.args[0]) if a is not inner]
        own, other = ([a for a in (*outer, *_factors(inner.args[0])) if a.letters & {k, j} == {x}] for x in (k, j))
        turned = sorted((search.nf.canonical(substitute(a, {j: k})) for a in other), key=key)
        if own and turned == sorted((search.nf.canonical(a) for a in own), key=key) and t.args[1] is TRUE:
            mapping, letters = general(search, t)
            i, new = search.letter(inner.bound[0].value[1]), search.letter(k.value[1])
            root = substitute(mul(ONE, *own), {**mapping, inner.bound[0]: i, k: new})
            part = Part(power(over("sum", root, new), TWO), (), (i,))
            yield combination(over("sum", part.multiplier, i), (part,), letters)


def _factors(term: Term) -> list[Term]:
    """The factors of a product or quotient as written, but for what it is divided by."""
    if term.op in ("mul", "div"):
        return [f for a in (term.args if term.op == "mul" else term.args[:1]) for f in _factors(a)]
    return [term]


def _weighed_square(total: Term, place: Term) -> tuple[Term, Term] | None:
    """The weight and the root of the addend w*u**2 of a sum, at a place."""
    body = substitute(total.args[0], {total.bound[0]: place})
    factors = list(body.args if body.op == "mul" else (body,))
    twice = next((a for a in factors if factors.count(a) == 2), None)
    if twice is not None:  # u*u is u**2
        factors = [*(a for a in factors if a is not twice), power(twice, TWO)]
    roots = [a.args[0] for a in factors if a.op == "pow" and a.args[1] is TWO]
    rest = [a for a in factors if not (a.op == "pow" and a.args[1] is TWO)]
    return (mul(ONE, *rest) if rest else ONE, roots[0]) if len(roots) == 1 else None


def _squares(search: Search, t: Term) -> Iterator[Line]:
    """The square of the largest absolute value is at least that of each, whose normal form knows no absolute value."""
    mapping, letters = general(search, t)
    whole = substitute(t, mapping)
    places = {k: search.letter(k.value[1]) for k in t.bound}
    value = substitute(whole.args[0], places)
    line = extremum(whole, value, letters, tuple(places.values()))
    number = search.add(line)
    if number is not None:
        condition = cmp(">=", power(whole, TWO), power(value, TWO))
        cites = (Cite(number, at(line.letters)), None, None)
        yield Line(condition, "power_increasing", (whole, value, TWO), (), cites, line.letters)

"""What has a given mean and may have one sign whatever the random names are: convex functions less their tangents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction

from derive.engine.pieces import divided
from derive.kernel import moments
from derive.kernel.derivative import SLOPES
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, add_to, constant, joined, key, scaled
from derive.kernel.proof import Line, Rejected
from derive.term import (
    ONE,
    TWO,
    Term,
    add,
    cmp,
    div,
    fn,
    index,
    make,
    mul,
    over,
    power,
    rebuild,
    replace_variable,
    sub,
    subterms,
    var,
)

CURVED = frozenset({"exp", "log"})  # functions with atoms of their own in normal form


def bodies(nf: Normal, poly: Poly, addends: tuple[Term, ...]) -> Iterator[Term]:
    """Terms of which the polynomial is the mean: itself without its E, and that less its tangents at the means.

    `addends` are its terms as they were written, perhaps none.
    """
    written = [add(*map(bare, addends))] if addends else []
    yield from same_mean(nf, poly, written, lambda term: term)
    for mono, c in poly.items():
        for a, e in mono:
            if a.op == "E" and e == 2 and c < 0:  # E(f)**2 is at most E(f**2)
                spread = mul(nf.term({mono - {(a, e)}: -c}), power(sub(a.args[0], a), TWO))
                yield from same_mean(nf, poly, [add(spread, nf.term(add_to(dict(poly), mean(nf, spread), -1)))])
    plain, found = without_means(nf, poly)
    if found:
        body = nf.term(plain)
        yield from same_mean(nf, poly, [body, *(sub(body, t) for t in tangents(nf, body))])
        yield from same_mean(nf, poly, by_moments(nf, poly, body, addends))
    for body in written:  # a mean with a closed form has lost its E in normal form
        yield from same_mean(nf, poly, (sub(body, t) for t in tangents(nf, body)), lambda term: term)


def by_moments(nf: Normal, poly: Poly, body: Term, addends: tuple[Term, ...]) -> Iterator[Term]:
    """The body with r q in place of r E(q), for a q that the events in the means are about (Markov, Chebyshev)."""
    certain = {m: c for m, c in poly.items() if c > 0 and not any(a.op == "E" for a, _ in m)}
    events = {t.args[0] for a in addends for t in subterms(nf.opened(a)) if t.op == "where" and t.args[0].op == "cmp"}
    sides = {side for event in events for side in event.args if moments.random_names(nf, side)}
    for side in sorted(sides, key=key) if certain else ():
        q = power(side.args[0], TWO) if side.op == "fn" and side.value == "abs" else side
        whole = mean(nf, q)
        number = constant(whole)
        r = scaled(certain, 1 / Fraction(number)) if number else divided(nf, certain, whole) if whole else None
        if r and not any(t.op == "E" for t in subterms(nf.term(whole))):
            yield add(body, mul(nf.term(r), sub(q, nf.term(whole))))


def bare(addend: Term) -> Term:
    """A term c E(f), as it is written, without the E."""
    if addend.op == "E":
        return addend.args[0]
    if addend.op in ("neg", "div"):
        return rebuild(addend, [bare(addend.args[0]), *addend.args[1:]])
    if addend.op == "mul":
        place = next((p for p, a in enumerate(addend.args) if a.op == "E"), None)
        return rebuild(addend, [bare(a) if p == place else a for p, a in enumerate(addend.args)])
    return addend


def logarithms(nf: Normal, body: Term) -> Iterator[Line]:
    """log(u) is at most its tangent at E(u), for the logarithms of random names."""
    for t in sorted({t for t in subterms(body) if t.op == "fn" and t.value == "log"}, key=key):
        if moments.random_names(nf, t):
            u = nf.canonical(div(t.args[0], make("E", t.args)))
            yield Line(cmp(">=", sub(u, ONE), fn("log", u)), "log_tangent", (u,))


def same_mean(
    nf: Normal, poly: Poly, terms: Iterable[Term], form: Callable[[Term], Term] | None = None
) -> Iterator[Term]:
    """Those of the terms that have the polynomial for their mean, each once, in canonical form or another."""
    seen: set[Term] = set()
    for term in terms:
        try:
            body = (form or nf.canonical)(term)
            same = body not in seen and nf.is_zero(add_to(dict(mean(nf, body)), poly, -1))
        except Rejected:
            continue
        seen.add(body)
        if same and moments.random_names(nf, body):
            yield body


def mean(nf: Normal, term: Term) -> Poly:
    return nf.poly(make("E", (term,)))


def without_means(nf: Normal, poly: Poly) -> tuple[Poly, bool]:
    """The polynomial with what one mean of each term is of in place of it; and whether there is one."""
    total: Poly = {}
    found = False
    for mono, c in poly.items():
        mean = min((a for a, e in mono if a.op == "E" and e == 1), key=key, default=None)
        found = found or mean is not None
        part = {mono: c} if mean is None else nf.mul({joined(mono, {(mean, -1)}): c}, nf.poly(mean.args[0]))
        add_to(total, part)
    return total, found


def tangents(nf: Normal, body: Term) -> Iterator[Term]:
    """Linear functions with mean 0: the slopes at the means, in the random entries or in what functions are of."""
    yield in_entries(nf, body)
    for t in sorted({t for t in subterms(body) if inner(nf, t)}, key=key):
        (u,) = t.args
        value = make("E", (u,))
        factor = nf.term({m - {(t, 1)}: c for m, c in nf.poly(body).items() if (t, 1) in m})
        yield mul(factor, SLOPES[t.value](value), sub(u, value))


def inner(nf: Normal, t: Term) -> bool:
    return t.op == "fn" and t.value in CURVED and bool(moments.random_names(nf, t.args[0]))


def in_entries(nf: Normal, body: Term) -> Term:
    """The tangent in the random entries at their means, derivatives by the formal rules."""
    total = []
    for name in sorted(moments.random_names(nf, body)):
        axes = nf.context.declarations[name].axes
        letters = tuple(index(f"!{name}{p}", axis) for p, axis in enumerate(axes))
        entry = var(name, *letters)
        slope = at_means(nf, nf.canonical(make("diff", (body, entry))))
        total.append(over("sum", mul(slope, sub(entry, mean_of(nf, entry))), *letters))
    return add(*total)


def mean_of(nf: Normal, entry: Term) -> Term:
    return nf.canonical(make("E", (entry,)))


def at_means(nf: Normal, term: Term) -> Term:
    """The term with the mean of each random entry in place of it."""
    for name in sorted(moments.random_names(nf, term)):
        axes = nf.context.declarations[name].axes
        letters = tuple(index(f"~{p}", axis) for p, axis in enumerate(axes))
        term = replace_variable(term, name, letters, mean_of(nf, var(name, *letters)))
    return term

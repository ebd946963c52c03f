"""Rows for what is summed against the weights of a softmax: means, variances, entropies, and labels that are 0.

What is summed against weights that sum to 1 may have any number subtracted first: a mean, or what weighs most.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from derive.codegen.accurate import Apply, Shift, Weight, apart, at_place, by_maximum, difference, weight
from derive.codegen.differences import Definitions, less, opened
from derive.codegen.stable import Inner
from derive.term import (
    ONE,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    cmp,
    div,
    fn,
    mul,
    neg,
    num,
    over,
    power,
    rename_bound,
    sub,
    substitute,
    where,
)

Centre = Callable[[Term, Term, Weight], Term]  # of the mean, x, and the weight
SURE = 1024  # where the other weights together are below one part in so many, the heaviest one is the centre


def by_mean(mean: Term, x: Term, entry: Weight) -> Term:
    """The weighted mean itself, as it comes out of a first pass."""
    return mean


def steady(mean: Term, x: Term, entry: Weight) -> Term:
    """The weighted mean, but x where the weight is largest once that has nearly all of it.

    There the mean is that x but for a rounding, which would hide what the others add.
    """
    assert entry.place is not None
    nearly = mul(num(1 - Fraction(1, SURE)), entry.apart.total)
    return where(cmp(">", entry.apart.lead, nearly), substitute(x, {entry.place: entry.apart.place}), mean)


def heaviest(mean: Term, x: Term, entry: Weight) -> Term:
    """x where the weight is largest: a stored number, which costs no pass."""
    assert entry.place is not None
    return substitute(x, {entry.place: entry.apart.place})


def centred(centre: Centre, shift: Shift = by_maximum, by_weights: bool = False) -> Apply:
    """x[j] - sum(s[i]*x[i]) with a number subtracted from every x first.

    What is left to subtract is added up over the exponentials, or, `by_weights`, over the weights themselves.
    """

    def row(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
        if term.op != "add" or len(term.args) != 2:
            return None
        for one, other in (term.args, term.args[::-1]):
            if (one.op == "neg") == (other.op == "neg"):
                continue
            total = opened(one.args[0] if one.op == "neg" else one, definitions)
            read = weighted_mean(total, definitions, inner, shift)
            if read is None:
                continue
            entry, s, x = read
            value = other.args[0] if other.op == "neg" else other
            if at_place(opened(x, definitions), opened(value, definitions), total.bound[0]) is None:
                continue
            mean = div(over("sum", mul(entry.above, inner(x)), *total.bound), entry.apart.total)
            c = centre(mean, inner(x), entry)
            gap = sub(inner(value), c)
            share = inner(s) if by_weights else entry.above
            apart_from_it = rename_bound(over("sum", mul(share, sub(inner(x), c)), *total.bound), c.letters)
            spread = apart_from_it if by_weights else div(apart_from_it, entry.apart.total)
            return sub(gap, spread) if one.op == "neg" else sub(spread, gap)
        return None

    return row


def weighted_mean(
    term: Term, definitions: Definitions, inner: Inner, shift: Shift = by_maximum
) -> tuple[Weight, Term, Term] | None:
    """sum(s[i]*x[i] for i in n) with s an entry of a softmax over i: the entry as read, as it stands, and x."""
    if term.op != "sum" or len(term.bound) != 1 or term.args[1] is not TRUE or term.args[0].op != "mul":
        return None
    factors = term.args[0].args
    for at, factor in enumerate(factors):
        entry = weight(factor, definitions, inner, shift)
        if entry and entry.place is term.bound[0] and entry.place not in entry.apart.rest.letters:
            rest = [f for p, f in enumerate(factors) if p != at]
            return entry, factor, mul(*rest) if len(rest) > 1 else rest[0]
    return None


def variance(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """mean(x**2) - mean(x)**2 in two passes, for a mean over n equal weights or over those of a softmax."""
    if term.op != "add" or len(term.args) != 2 or term.args[1].op != "neg":
        return None
    square, mean = opened(term.args[0], definitions), term.args[1].args[0]
    if not _is_square(mean):
        return None
    mean = opened(mean.args[0], definitions)
    total, of_squares = (t.args[0] if t.op == "div" else t for t in (mean, square))
    total, of_squares = opened(total, definitions), opened(of_squares, definitions)
    if (
        total.op != "sum"
        or of_squares.op != "sum"
        or total.bound != of_squares.bound
        or total.args[1] is not of_squares.args[1]
    ):
        return None
    if mean.op == "div":
        count = mean.args[1]
        equal = len(total.bound) == 1 and count.op == "size" and count.value == total.bound[0].value[1]
        if not equal or total.args[1] is not TRUE or square.op != "div" or square.args[1] is not count:
            return None
        x, squared = total.args[0], of_squares.args[0]
        weights: list[Term] = []
    else:
        read = weighted_mean(total, definitions, inner)
        if read is None or of_squares.args[0].op != "mul":
            return None
        _, s, x = read
        rest = [f for f in of_squares.args[0].args if f is not s]
        if len(rest) != 1:
            return None
        squared, weights = rest[0], [inner(s)]
    if not _is_square(squared) or squared.args[0] is not x:
        return None
    body = (sub(inner(x), inner(mean)), squared.args[1])
    spread = over("sum", mul(*weights, power(*body)) if weights else power(*body), *total.bound)
    return div(spread, mean.args[1]) if mean.op == "div" else spread


def _is_square(term: Term) -> bool:
    return term.op == "pow" and term.args[1] is TWO


def squares(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """1 - sum(s**2), or that negated: the sum of s*(1 - s), in which nothing cancels."""
    if term.op != "add" or len(term.args) != 2:
        return None
    for one, other in (term.args, term.args[::-1]):
        minus = other.op == "neg"
        total = opened(other.args[0] if minus else other, definitions)
        if (one is not ONE if minus else one is not neg(ONE)) or total.op != "sum" or total.args[1] is not TRUE:
            continue
        body = total.args[0]
        if not _is_square(body) or len(total.bound) != 1:
            continue
        entry = weight(body.args[0], definitions, inner)
        if entry and entry.place is total.bound[0] and entry.place not in entry.apart.rest.letters:
            spread = over("sum", mul(inner(body.args[0]), inner(sub(ONE, body.args[0]))), *total.bound)
            return spread if minus else neg(spread)
    return None


def log_less_mean(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """log(sum(exp(u))) - sum(s*u), or that negated, an entropy: log1p(rest) + sum(s*(m - u)), of parts from 0 up."""
    if term.op != "add" or len(term.args) != 2:
        return None
    for one, other in (term.args, term.args[::-1]):
        lead, mean = (opened(t.args[0] if t.op == "neg" else t, definitions) for t in (one, other))
        if (one.op == "neg") == (other.op == "neg") or lead.op != "fn" or lead.value != "log":
            continue
        inside = apart(lead.args[0], definitions, inner)
        divided = mean.op == "div"
        total = opened(mean.args[0], definitions) if divided else mean
        read = weighted_mean(total, definitions, inner)
        if inside is None or read is None or not alike(read[0].apart.rest, inside.rest):
            continue
        (_, s, x), (letter,) = read, total.bound
        u = substitute(inside.exponent, {inside.letter: letter})
        if not alike(inner(div(x, mean.args[1]) if divided else x), u):
            continue
        spread = over("sum", mul(inner(s), less(inside.peak, u, definitions)), letter)
        found = add(fn("log1p", inside.rest), spread)
        return neg(found) if one.op == "neg" else found
    return None


def absent(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """y*log(x), entry by entry, with a case of its own for y = 0: the logarithm is infinite at a masked score."""
    if term.op != "mul":
        return None
    logs = [t for t in term.args if _is_logarithm(t, definitions, inner)]
    others = [t for t in term.args if t not in logs]
    if len(logs) != 1 or not others or mul(*others).letters.isdisjoint(logs[0].letters):
        return None
    y = inner(mul(*others) if len(others) > 1 else others[0])
    return where(cmp("==", y, ZERO), ZERO, mul(y, inner(logs[0])))


def _is_logarithm(term: Term, definitions: Definitions, inner: Inner) -> bool:
    term = opened(term, definitions)
    return (term.op == "fn" and term.value == "log") or difference(term, definitions, inner) is not None

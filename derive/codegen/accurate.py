"""Forms equal to what is written that keep their digits where terms cancel: one row each, with its theorem.

The largest term of a sum of exponentials is exactly 1 once it is shifted by the maximum; here it is left out, so that
the rest of the sum keeps its digits when it is small: log1p(rest) for a logarithm, the sum of the others for 1 - s.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from derive.codegen.differences import Definitions, exact, less, opened, scaled_difference, scaled_number
from derive.codegen.stable import (
    ExponentialSum,
    Inner,
    exponential_sum,
    scaled,
    unmasked,
)
from derive.term import (
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    alike,
    both,
    cmp,
    div,
    fn,
    mul,
    neg,
    num,
    over,
    rebuild,
    rename_bound,
    sub,
    substitute,
    where,
)

Apply = Callable[[Term, Definitions, Inner], Term | None]
Shift = Callable[[Term], Term]


@dataclass(frozen=True)
class Apart:
    """sum(exp(u) for l in n if filter), with its largest term apart: its place, the maximum m, and what is left.

    `rest` is the sum of exp(u - c) over the others, so the whole is exp(c)*(exp(m - c) + rest), for the shift c; mostly
    c is m.
    """

    peak: Term
    shift: Term
    place: Term
    rest: Term
    exponent: Term
    letter: Term
    lead: Term

    @property
    def total(self) -> Term:
        return add(self.lead, self.rest)


ROOM = 177  # a quarter of the exponents of double precision: sums of very many such exponentials are finite


def by_maximum(peak: Term) -> Term:
    return peak


def free(peak: Term) -> Term:
    """0 where the exponentials neither overflow nor come out smaller than their shares, else the maximum.

    Nothing is rounded when 0 is subtracted. Where the maximum is negative the exponentials could vanish before the
    shares do, which are larger.
    """
    return where(both(cmp(">=", peak, ZERO), cmp("<=", peak, num(ROOM))), ZERO, peak)


def apart(term: Term, definitions: Definitions, inner: Inner, shift: Shift = by_maximum) -> Apart | None:
    """The term read as a sum of exponentials over one letter, none of them weighted, or None.

    Another shift than the maximum is taken where it saves a rounding: where the exponents are stored numbers, or such
    numbers over a factor. Then the maximum is the exponent at its place.
    """
    found = exponential_sum(term, definitions)
    if found is None or len(found.term.bound) != 1 or found.term.args[0].op != "fn":
        return None
    found = ExponentialSum(found.term, inner(found.exponent))
    peak = found.peak(lambda t: t)
    largest = over("argmax", found.exponent, *found.term.bound, where=found.term.args[1])
    whole = rename_bound(over("sum", found.exponent, *found.term.bound, where=found.term.args[1]), peak.letters)
    (letter,), (exponent, condition) = whole.bound, whole.args
    others = cmp("!=", letter, largest)
    number = scaled_number(exponent, definitions)
    if number and letter in number.x.letters:
        peak = substitute(exponent, {letter: largest})
        top = substitute(number.x, {letter: largest})
        chosen = shift(peak)
        away = peak if chosen is peak else number.by(rebuild(chosen, (*chosen.args[:2], top)))
    else:
        away = shift(peak) if scaled_difference(sub(exponent, peak), definitions) else peak
    lead = ONE if away is peak else fn("exp", less(peak, away, definitions))
    body, left_out = fn("exp", less(exponent, away, definitions)), condition is TRUE
    rest = over("sum", body, letter, where=others if left_out else both(condition, others))
    return Apart(peak, away, largest, rest, exponent, letter, lead)


def at_place(u: Term, v: Term, letter: Term) -> Term | None:
    """What stands in v for the letter in u, where v is u with the letter replaced by a subscript; else None."""
    found: list[Term] = []

    def same(a: Term, b: Term) -> bool:
        if a is letter:
            found.append(b)
            return b is found[0]
        if letter not in a.letters:
            return a is b
        if a.op != b.op or a.value != b.value or a.bound != b.bound or len(a.args) != len(b.args):
            return False
        return all(same(x, y) for x, y in zip(a.args, b.args, strict=True))

    return found[0] if same(u, v) and found else None


@dataclass(frozen=True)
class Weight:
    """exp(v)/sum(exp(u)): one entry of a softmax, the sum read apart. `place` is where v is u, if it is."""

    apart: Apart
    above: Term
    place: Term | None

    def others(self) -> Term:
        """The sum of all terms but that at the place, divided by exp(c)."""
        a = self.apart
        assert self.place is not None
        return where(cmp("==", self.place, a.place), a.rest, sub(a.total, self.above))


def weight(term: Term, definitions: Definitions, inner: Inner, shift: Shift = by_maximum) -> Weight | None:
    """The term read as an entry of a softmax, or None."""
    term = opened(term, definitions)
    if term.op != "div":
        return None
    below, above = apart(term.args[1], definitions, inner, shift), opened(term.args[0], definitions)
    if below is None or above.op != "fn" or above.value != "exp":
        return None
    v = inner(above.args[0])
    above_it = fn("exp", less(v, below.shift, definitions))
    return Weight(below, above_it, at_place(below.exponent, v, below.letter))


# -- rows: sums of exponentials ----------------------------------------------------------------------------------------


def log_of_sum(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    inside = apart(term.args[0], definitions, inner)
    return add(inside.peak, fn("log1p", inside.rest)) if inside else None


def log_of_ratio(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    entry = weight(term.args[0], definitions, inner)
    return sub(entry.above.args[0], fn("log1p", entry.apart.rest)) if entry else None


def difference(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """v - log(sum(exp(u))) and log(sum(exp(u))) - v: the maximum is subtracted from v first."""
    if term.op != "add" or len(term.args) != 2:
        return None
    for one, other in (term.args, term.args[::-1]):
        lead = opened(one.args[0] if one.op == "neg" else one, definitions)
        if (one.op == "neg") == (other.op == "neg") or lead.op != "fn" or lead.value != "log":
            continue
        inside = apart(lead.args[0], definitions, inner)
        if inside and one.op == "neg":
            return sub(less(inner(other), inside.peak, definitions), fn("log1p", inside.rest))
        if inside:
            return add(fn("log1p", inside.rest), less(inside.peak, inner(other.args[0]), definitions))
    return None


def ratio(shift: Shift) -> Apply:
    def row(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
        if term.op != "div":
            return None
        below = apart(term.args[1], definitions, inner, shift)
        if below and not _among(term.args[0], below, definitions, inner):
            below = apart(term.args[1], definitions, inner)
        if below is None or not scaled_difference(less(below.exponent, below.peak, definitions), definitions):
            return None  # where the exponents are rounded there is no digit to keep
        top = scaled(term.args[0], below.shift, definitions, inner)
        return div(unmasked(top, below.rest.args[1]), below.total) if top else None

    return row


def quotient(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """An entry of a softmax over another one of the same: the sum cancels, and neither can vanish."""
    below = weight(term.args[1], definitions, inner) if term.op == "div" else None
    if below is None:
        return None
    top = opened(term.args[0], definitions)
    factors = (term.args[0],) if top.op == "div" else top.args if top.op == "mul" else ()
    for at, factor in enumerate(factors):
        above = weight(factor, definitions, inner)
        if above and alike(above.apart.rest, below.apart.rest):
            v, w = (inner(opened(opened(t, definitions).args[0], definitions).args[0]) for t in (factor, term.args[1]))
            rest = [inner(f) for p, f in enumerate(factors) if p != at]
            ratio = fn("exp", less(v, w, definitions))
            return mul(*rest, ratio) if rest else ratio
    return None


def _among(term: Term, below: Apart, definitions: Definitions, inner: Inner) -> bool:
    """Whether each exponential of the term is one of the sum's: none is larger than the largest of those."""
    term = opened(term, definitions)
    if term.op == "fn" and term.value == "exp":
        return at_place(below.exponent, inner(term.args[0]), below.letter) is not None
    return all(_among(a, below, definitions, inner) for a in term.args)


def remainder(shift: Shift) -> Apply:
    """a*s - b and b - a*s, for an entry s of a softmax and exact a and b: over the terms of the sum itself."""

    def row(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
        if term.op != "add" or len(term.args) != 2:
            return None
        for one, other in (term.args, term.args[::-1]):
            positive = one.op != "neg"
            if positive == (other.op != "neg"):
                continue
            found = _scaled_weight(one if positive else one.args[0], definitions, inner, shift)
            b = other.args[0] if other.op == "neg" else other
            if found is None or not exact(b, definitions):
                continue
            entry, a = found
            gap = sub(a, b)
            kept = None if gap.args[0] is b else mul(entry.above, gap)
            lost = entry.others() if b is ONE else mul(b, entry.others())
            top = sub(kept, lost) if kept else neg(lost)
            top = top if positive else (sub(lost, kept) if kept else lost)
            return div(top, entry.apart.total)
        return None

    return row


def _scaled_weight(term: Term, definitions: Definitions, inner: Inner, shift: Shift) -> tuple[Weight, Term] | None:
    """The term read as an entry of a softmax times a factor."""
    factors = term.args if term.op == "mul" else (term,)
    for at, factor in enumerate(factors):
        entry = weight(factor, definitions, inner, shift)
        if entry and entry.place is not None:
            rest = [inner(f) for p, f in enumerate(factors) if p != at]
            return entry, mul(*rest) if rest else ONE
    return None

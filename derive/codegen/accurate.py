"""Forms equal to what is written that keep their digits where terms cancel: one row each, with its theorem.

The largest term of a sum of exponentials is exactly 1 once it is shifted by the maximum; here it is left out, so that
the rest of the sum keeps its digits when it is small: log1p(rest) for a logarithm, the sum of the others for 1 - s.
What is summed against weights that sum to 1 may have any number subtracted first: a mean, or what weighs most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from derive.codegen.differences import Definitions, exact, less, opened, scaled_difference, scaled_number
from derive.codegen.scalar import SCALARS
from derive.codegen.stable import (
    REWRITES,
    ExponentialSum,
    Inner,
    Rewrite,
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
    power,
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


def _log_of_sum(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    inside = apart(term.args[0], definitions, inner)
    return add(inside.peak, fn("log1p", inside.rest)) if inside else None


def _log_of_ratio(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    if term.op != "fn" or term.value != "log":
        return None
    entry = weight(term.args[0], definitions, inner)
    return sub(entry.above.args[0], fn("log1p", entry.apart.rest)) if entry else None


def _difference(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
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


def _ratio(shift: Shift) -> Apply:
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


def _quotient(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
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


def _remainder(shift: Shift) -> Apply:
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


# -- rows: what is summed against weights ------------------------------------------------------------------------------

Centre = Callable[[Term, Term, Weight], Term]  # of the mean, x, and the weight
SURE = 1024  # where the other weights together are below one part in so many, the heaviest one is the centre


def _mean(mean: Term, x: Term, entry: Weight) -> Term:
    """The weighted mean itself, as it comes out of a first pass."""
    return mean


def _steady(mean: Term, x: Term, entry: Weight) -> Term:
    """The weighted mean, but x where the weight is largest once that has nearly all of it.

    There the mean is that x but for a rounding, which would hide what the others add.
    """
    assert entry.place is not None
    nearly = mul(num(1 - Fraction(1, SURE)), entry.apart.total)
    return where(cmp(">", entry.apart.lead, nearly), substitute(x, {entry.place: entry.apart.place}), mean)


def _heaviest(mean: Term, x: Term, entry: Weight) -> Term:
    """x where the weight is largest: a stored number, which costs no pass."""
    assert entry.place is not None
    return substitute(x, {entry.place: entry.apart.place})


def _centred(centre: Centre, shift: Shift = by_maximum, by_weights: bool = False) -> Apply:
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


def _variance(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
    """mean(x**2) - mean(x)**2 in two passes, for a mean over n equal weights or over those of a softmax."""
    if term.op != "add" or len(term.args) != 2 or term.args[1].op != "neg":
        return None
    square, mean = opened(term.args[0], definitions), term.args[1].args[0]
    if mean.op != "pow" or mean.args[1].op != "num" or mean.args[1].value != 2:
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
    if squared.op != "pow" or squared.args[0] is not x or squared.args[1].op != "num" or squared.args[1].value != 2:
        return None
    body = (sub(inner(x), inner(mean)), squared.args[1])
    spread = over("sum", mul(*weights, power(*body)) if weights else power(*body), *total.bound)
    return div(spread, mean.args[1]) if mean.op == "div" else spread


def _row(name: str, formula: str, theorem: str, apply: Apply) -> Rewrite:
    return Rewrite(name, formula, f"stable_forms.{theorem}", apply)


QUOTIENT = _row("quotient", "(exp(v)/sum(exp(u)))/(exp(w)/sum(exp(u))) = exp(v - w)", "quotient", _quotient)
LOGARITHMS: tuple[Rewrite, ...] = (
    _row("log of a ratio", "log(exp(v)/sum(exp(u))) = (v - m) - log1p(rest)", "log_of_ratio", _log_of_ratio),
    _row("difference", "v - log(sum(exp(u))) = (v - m) - log1p(rest)", "difference_from_log_of_sum", _difference),
    _row("log of a sum", "log(sum(exp(u))) = m + log1p(rest)", "log_of_sum", _log_of_sum),
)
TWO_PASSES = _row("variance", "mean(x**2) - mean(x)**2 = mean((x - mean(x))**2)", "two_passes", _variance)
CENTRED = "x - mean = (x - c) - sum(s*(x - c))"
REMAINDER, RATIO = "s - y = (exp(v - m)*(1 - y) - y*others)/(1 + rest)", "exp(v)/sum(exp(u)) = exp(v - m)/(1 + rest)"
REMAINDERS = _row("remainder", REMAINDER, "remainder", _remainder(by_maximum))
BY_MEAN = _row("centred", f"{CENTRED}, c = mean", "centred", _centred(_mean))
STEADY = _row("centred", f"{CENTRED}, c = mean, or x where s is largest and nearly 1", "centred", _centred(_steady))
AT_LARGEST = _row("centred", f"{CENTRED}, c = x where s is largest", "mean_less", _centred(_heaviest, by_weights=True))
UNSHIFTED = f"(exp(m - b) + rest), b = 0 where 0 <= m <= {ROOM}, else m"


def _unshifted(formula: str) -> str:
    return formula.replace("v - m", "v - b").replace("(1 + rest)", UNSHIFTED)


def free_rows(centre: Rewrite) -> tuple[Rewrite, ...]:
    """All rows, for double precision: sums of exponentials are shifted only where they must be."""
    by = _centred(_mean if centre is BY_MEAN else _steady, free)
    return (
        TWO_PASSES,
        replace(centre, theorem="stable_forms.centred_at_any_shift", apply=by),
        QUOTIENT,
        _row("remainder", _unshifted(REMAINDER), "remainder_at_any_shift", _remainder(free)),
        *LOGARITHMS,
        _row("ratio", _unshifted(RATIO), "any_shift", _ratio(free)),
        *SCALARS,
        *REWRITES,
    )


def rows(centre: Rewrite) -> tuple[Rewrite, ...]:
    """All rows that shift by the maximum, the more particular ones first."""
    return (
        TWO_PASSES,
        centre,
        QUOTIENT,
        REMAINDERS,
        *LOGARITHMS,
        _row("ratio", RATIO, "ratio", _ratio(by_maximum)),
        *SCALARS,
        *REWRITES,
    )


def rounded_rows() -> tuple[Rewrite, ...]:
    """All rows that matter to what is rounded to a narrower dtype afterwards: plain sums are exact enough there."""
    return (TWO_PASSES, AT_LARGEST, QUOTIENT, REMAINDERS, *LOGARITHMS, *SCALARS, *REWRITES)


__all__ = ["STEADY", "BY_MEAN", "free_rows", "rounded_rows", "rows"]

"""Terms carried as unevaluated sums of two numbers (double-double), where one rounding of a part would show.

x - sum(s*x), a number less its weighted mean, is small where the weights gather on it; what the exponentials, their
sum and the mean were rounded by does not get smaller with it. So the exponentials and the differences to a centre c are
made with about twice the digits, their sums of products too, and s*(x - mean) is rounded where it is put together. The
formula is that of the row `centred` of `averages`: this is another way to compute it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from derive.codegen.accurate import at_place
from derive.codegen.differences import Definitions, exact, exact_difference, opened
from derive.codegen.value import Value, aligned, transposed, union
from derive.term import TRUE, Term, alike, cmp, div, fn, fresh, mul, over, sub, substitute

if TYPE_CHECKING:
    from derive.codegen.emit import Emitter


ROUNDINGS = 4  # that a result is off by at most: of the quotient, the difference and the product, and one for the rest


@dataclass(frozen=True)
class Centred:
    """(x - c) - sum(e*(x' - c))/total, or that negated, where e are exponentials and total is their sum."""

    x: Term
    centre: Term
    exponential: Term
    inner: Term  # x'
    letter: Term
    total: Term
    negated: bool


def centred(term: Term, definitions: Definitions) -> Centred | None:
    """The term read as what the row `centred` writes, for numbers x without roundings."""
    parts = _signed(term)
    for at, (spread, sign) in enumerate(parts if len(parts) == 3 else ()):
        rest = [parts[p] for p in range(3) if p != at]
        for (x, plus), (c, minus) in (rest, rest[::-1]):
            if plus != sign and minus == sign and (found := _centred(x, c, spread, sign, definitions)):
                return found
    return None


def _signed(term: Term, sign: int = 1) -> list[tuple[Term, int]]:
    """The summands of the term, each with its sign."""
    if term.op == "neg":
        return _signed(term.args[0], -sign)
    return [part for a in term.args for part in _signed(a, sign)] if term.op == "add" else [(term, sign)]


def _centred(x: Term, c: Term, spread: Term, sign: int, definitions: Definitions) -> Centred | None:
    if spread.op != "div" or not exact(x, definitions):
        return None
    summed, total = spread.args
    if summed.op != "sum" or len(summed.bound) != 1 or summed.args[1] is not TRUE or summed.args[0].op != "mul":
        return None
    if len(summed.args[0].args) != 2:
        return None
    e, gap = summed.args[0].args
    inside = gap.op == "add" and len(gap.args) == 2 and gap.args[1].op == "neg" and alike(gap.args[1].args[0], c)
    scores = exact_difference(e.args[0], definitions) if inside and is_exponential(e, definitions) else None
    score = opened(scores[0], definitions) if scores else None
    if score is None or score.op != "var" or summed.bound[0] not in score.args or not _whole(total, definitions):
        return None
    return Centred(x, c, e, gap.args[0], summed.bound[0], total, sign > 0)


def is_exponential(term: Term, definitions: Definitions) -> bool:
    """Whether it is the exponential of a difference of numbers without roundings."""
    return term.op == "fn" and term.value == "exp" and exact_difference(term.args[0], definitions) is not None


Product = tuple[Centred, Term | None, tuple[Term, ...]]


def product(factors: tuple[Term, ...], definitions: Definitions) -> Product | None:
    """A difference from a mean among the factors, a share e/total of the same sum, if there is one, and the others."""
    for at, factor in enumerate(factors):
        found = centred(factor, definitions)
        if found is None:
            continue
        rest = (*factors[:at], *factors[at + 1 :])
        for other, share in enumerate(rest):
            ratio = opened(share, definitions)
            same = ratio.op == "div" and alike(ratio.args[1], found.total)
            if same and is_exponential(ratio.args[0], definitions):
                return found, share, (*rest[:other], *rest[other + 1 :])
        return found, None, rest
    return None


def condition(found: Centred, share: Term | None, definitions: Definitions) -> list[Term]:
    """The factors of what a result is off in proportion to: the share, and the mean distance from x."""
    letter = fresh(found.letter, found.x.letters)  # the mean's own may be the name of one of x's
    inner, weight = (substitute(t, {found.letter: letter}) for t in (found.inner, _weight(found, share, definitions)))
    spread = over("sum", mul(weight, fn("abs", sub(found.x, inner))), letter)
    return [spread] if share is None else [share, spread]


def _weight(found: Centred, share: Term | None, definitions: Definitions) -> Term:
    """What the numbers are averaged by: the share at the letter of the mean, where that is what it is."""
    ratio = opened(share, definitions) if share else None
    place = at_place(found.exponential, ratio.args[0], found.letter) if ratio else None
    if share is None or place is None or place.op != "index":
        return div(found.exponential, found.total)
    return substitute(share, {place: found.letter})


def share_times_difference(emitter: Emitter, term: Term) -> Value | None:
    """s*(x - mean) for a share s = e/total of the same sum, doubled; None where the product is something else."""
    from derive.codegen import ops

    definitions = emitter.context.definitions
    found, share, others = product(term.args, definitions) or (None, None, ())
    if found is None or share is None:
        return None
    e, parts = doubled(emitter, opened(share, definitions).args[0]), _parts(emitter, found)
    if e is None or parts is None:
        return None
    whole = _call(emitter, "_share_times_difference", e, parts.total, *parts.pair, takes_out=True)
    return ops.product(emitter, [whole, *(emitter.value(t) for t in others)]) if others else whole


def difference(emitter: Emitter, term: Term) -> Value | None:
    """x - mean alone, doubled and then rounded; None where the sum is something else."""
    found = centred(term, emitter.context.definitions)
    parts = _parts(emitter, found) if found else None
    return _call(emitter, "_less", *parts.pair) if parts else None


@dataclass(frozen=True)
class _Parts:
    """A difference from a mean, doubled: what is subtracted from what, and the sum of the exponentials."""

    pair: tuple[Value, Value]
    total: Value


def _parts(emitter: Emitter, found: Centred) -> _Parts | None:
    total, e = doubled(emitter, found.total), doubled(emitter, found.exponential)
    if total is None or e is None or found.letter not in e.letters:
        return None
    with emitter.roughly():
        centre = emitter.named(emitter.value(found.centre), "centre")
    averaged = emitter.value(found.inner)
    rest = tuple(k for k in union([averaged, centre], emitter.rank) if k is not found.letter)
    both = (aligned(v, (*rest, found.letter)) for v in (centre, averaged))
    centre = replace(_once(emitter, "centre", "_within", *both), letters=rest)
    gap, inner = (
        _once(emitter, "gap", "_doubled_difference", emitter.value(x), centre) for x in (found.x, found.inner)
    )
    letters = (*(k for k in union([inner, e], emitter.rank) if k is not found.letter), found.letter)
    dot = _once(emitter, "dot", "_doubled_dot", aligned(e, letters), aligned(inner, letters))
    spread = _once(emitter, "spread", "_doubled_quotient", replace(dot, letters=letters[:-1]), total)
    return _Parts((spread, gap) if found.negated else (gap, spread), total)


def doubled(emitter: Emitter, term: Term, made: bool = False) -> Value | None:
    """The exponential, or the sum of exponentials, as an array with head and tail along its first axis, made once.

    None where it is something else, or where it has yet to be made though it should have been.
    """
    definitions = emitter.context.definitions
    term = opened(term, definitions)
    emitter.order(term)
    if term.op == "fn" and (pair := exact_difference(term.args[0], definitions)) and term.value == "exp":
        value = _call(emitter, "_doubled_exp", *(emitter.value(t) for t in pair))
    elif whole := _whole(term, definitions):
        e, (letter,) = doubled(emitter, whole.args[0], made), whole.bound
        if e is None or letter not in e.letters:
            return None
        rest = tuple(k for k in e.letters if k is not letter)
        value = replace(_call(emitter, "_doubled_sum", transposed(e, (*rest, letter))), letters=rest)
    else:
        return None
    return _named(emitter, "e" if term.op == "fn" else "total", value, made)


def _whole(term: Term, definitions: Definitions) -> Term | None:
    """The sum of exponentials that is written with its largest one apart, exp(max(u) - c) and the others; or None."""
    if term.op != "add" or len(term.args) != 2 or term.args[1].op != "sum":
        return None
    lead, rest = term.args
    if not is_exponential(lead, definitions) or not is_exponential(rest.args[0], definitions):
        return None
    (peak, c), (u, c_inside) = (exact_difference(t.args[0], definitions) or (t, t) for t in (lead, rest.args[0]))
    others = over("sum", rest.args[0], *rest.bound, where=cmp("!=", rest.bound[0], over("argmax", u, *rest.bound)))
    if alike(c, c_inside) and alike(peak, over("max", u, *rest.bound)) and alike(rest, others):
        return over("sum", rest.args[0], *rest.bound)
    return None


def head(emitter: Emitter, term: Term) -> Value | None:
    """The first of the two numbers that stand for the term, where they have been made."""
    value = doubled(emitter, term, made=True)
    return replace(value, text=f"{value.text}[0]") if value else None


def _once(emitter: Emitter, stem: str, helper: str, *values: Value) -> Value:
    """What a helper makes of the values, under a name of its own; the same call is made once."""
    value = _named(emitter, stem, _call(emitter, helper, *values))
    assert value is not None
    return value


def _named(emitter: Emitter, stem: str, value: Value, made: bool = False) -> Value | None:
    if made and not emitter.is_written(value):
        return None
    emitter.doubled = True
    return emitter.named(value, stem)


def _call(emitter: Emitter, helper: str, *values: Value, takes_out: bool = False) -> Value:
    letters = union(values, emitter.rank)
    emitter.spans.add(letters)
    texts = ", ".join(aligned(v, letters).text for v in values)
    text = f"{emitter.helper(helper)}({texts}"
    return Value(f"{text})", letters, into=text if takes_out else "")

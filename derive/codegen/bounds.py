"""How far generated code can be off: a rounding-error analysis of the operations that are written, to first order.

Each part of a formula gets a number of roundings k and a size M, a formula itself, with |computed - true| <= k u M,
where u is the unit roundoff and nothing underflows. An operation adds its own roundings to those of what it is made of.
Where the size is the part's own, the bound is relative; where parts of either sign are added, it is the sum of their
sizes, which is what cancels. Sums of N terms count N - 1 roundings, in whatever order they are added.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.codegen import doubled
from derive.codegen.accurate import at_place
from derive.codegen.conditioning import CONDITIONS, FUNCTIONS, NARROW_FUNCTIONS, root
from derive.codegen.counts import NONE, Bound, Count, NoBound
from derive.codegen.differences import present, scaled_difference
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, FLIP, NEG, POS, ZERO, sign
from derive.language.printer import to_text
from derive.term import (
    ONE,
    TRUE,
    TWO,
    Term,
    add,
    alike,
    div,
    fn,
    mul,
    neg,
    over,
    power,
    substitute,
    where,
)

if TYPE_CHECKING:
    from derive.codegen.source import Plan


@dataclass
class Analysis:
    """The bounds of the parts of one plan; `stored` are parts that count as numbers that are given."""

    plan: Plan
    corrected: bool
    narrow: bool = False
    doubled: bool = False
    normal: Normal = field(init=False)
    known: dict[Term, Bound] = field(default_factory=dict)
    stored: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        self.normal = Normal(self.plan.context)

    def bound(self, term: Term) -> Bound:
        """The bound of a part. Raises NoBound."""
        if any(alike(term, c) for c in self.stored):
            return Bound(NONE, self.positive(term))
        if term not in self.known:
            row = ROWS.get(term.op)
            if row is None:
                raise NoBound(f"no bound is stated for {term.op}")
            self.known[term] = row(self, term)
        return self.known[term]

    def signs(self, term: Term) -> int:
        """Which signs the term can have."""
        if _below_maximum(term):
            return NEG | ZERO
        if term.op == "neg":
            return FLIP[self.signs(term.args[0])]
        if term.op == "fn" and term.value == "log1p" and not self.signs(term.args[0]) & NEG:
            return ZERO | POS
        with suppress(Rejected, RecursionError):  # beyond what the kernel brings to a normal form
            return sign(self.normal, term)
        return ANY

    def positive(self, term: Term) -> Term:
        """The size of the term: itself, negated, or its absolute value, as its sign is known."""
        if term.op == "neg":
            return self.positive(term.args[0])
        signs = self.signs(term)
        if not signs & NEG:
            return term
        return neg(term) if not signs & POS else fn("abs", term)

    def relative(self, term: Term, count: Count) -> Bound:
        return Bound(count, self.positive(term))


def _below_maximum(term: Term) -> bool:
    """Whether it is one of several numbers less the largest of them."""
    if term.op != "add" or len(term.args) != 2 or term.args[1].op != "neg" or term.args[1].args[0].op != "max":
        return False
    largest = term.args[1].args[0]
    plain = largest.args[1] is TRUE and len(largest.bound) == 1
    return plain and at_place(largest.args[0], term.args[0], largest.bound[0]) is not None


def bound_of(plan: Plan, corrected: bool = True, narrow: bool = False) -> Bound:
    """The bound of what a plan computes. Raises NoBound where a part is not covered.

    `narrow` is for code that computes in a narrower dtype than float64: there elementary functions are less exact, and
    no sum is added up exactly.
    """
    if plan.term.op == "list":
        raise NoBound("no bound is stated for several results at once")
    doubles = corrected and plan.form.doubled and not narrow
    found = Analysis(plan, corrected and plan.form.corrected, narrow, doubles).bound(plan.term)
    return Bound(found.count + 1, found.size, found.own) if found.exact and not found.own else found


# -- rows --------------------------------------------------------------------------------------------------------------

Row = Callable[[Analysis, Term], Bound]


def _given(a: Analysis, term: Term) -> Bound:
    return a.relative(term, NONE)


def _num(a: Analysis, term: Term) -> Bound:
    value: Fraction = abs(term.value)
    top, bottom = value.numerator, value.denominator
    odd = top // (top & -top) if top else 0
    stored = bottom & (bottom - 1) == 0 and odd.bit_length() <= 8  # in every format
    return a.relative(term, NONE if stored else Count(1))


def _def(a: Analysis, term: Term) -> Bound:
    definition = a.plan.context.definitions[term.value]
    found = a.bound(definition.body)
    if found.own:
        return a.relative(term, found.count)
    return Bound(found.count, substitute(found.size, dict(zip(definition.letters, term.args, strict=True))), False)


def _doubled(a: Analysis, factors: tuple[Term, ...]) -> Bound | None:
    """The bound of a product, or of a sum alone, that is carried as two numbers; None where it is not."""
    definitions = a.plan.context.definitions
    read = doubled.product(factors, definitions) if a.doubled else None
    others = [a.bound(t) for t in read[2]] if read else []
    if read is None or any(not p.own for p in others):
        return None
    size = [*doubled.condition(read[0], read[1], definitions), *(a.positive(t) for t in read[2])]
    count = sum((p.count for p in others), Count(doubled.ROUNDINGS + len(others)))
    return Bound(count, mul(*size) if len(size) > 1 else size[0], False)


def _add(a: Analysis, term: Term) -> Bound:
    if found := _doubled(a, (term,)):
        return found
    centre = _centre(term)
    return _summed(replace(a, stored=(*a.stored, centre), known={}) if centre else a, term.args)


def _summed(a: Analysis, parts: tuple[Term, ...]) -> Bound:
    """A sum from left to right: an exact difference has one rounding, parts of one sign cancel nothing."""
    whole, found = parts[0], a.bound(parts[0])
    for part in parts[1:]:
        before, new, whole = whole, a.bound(part), add(whole, part)
        count = found.count.most(new.count) + 1
        signs = (a.signs(before), a.signs(part))
        together = all(not s & NEG for s in signs) or all(not s & POS for s in signs)
        if (found.exact and new.exact) or (together and found.own and new.own):
            found = a.relative(whole, count)
        else:
            found = Bound(count, add(found.size, new.size), False)
    return found


def _centre(term: Term) -> Term | None:
    """c in x - c - sum(w*(y - c))/Z: the same number both times, so that it does not matter how it was computed."""
    taken = [t.args[0] for t in term.args if t.op == "neg"]
    for c in taken:
        for total in taken:
            total = total.args[0] if total.op == "div" else total
            body = total.args[0] if total.op == "sum" else total
            gaps = [f for f in (body.args if body.op == "mul" else (body,)) if f.op == "add"]
            if total.op == "sum" and any(t.op == "neg" and alike(t.args[0], c) for f in gaps for t in f.args):
                return c
    return None


def _neg(a: Analysis, term: Term) -> Bound:
    found = a.bound(term.args[0])
    return a.relative(term, found.count) if found.own else found


def _mul(a: Analysis, term: Term) -> Bound:
    if found := _doubled(a, term.args):
        return found
    parts = [a.bound(t) for t in term.args]
    own = sum(t is not ONE for t in term.args) - 1
    return _product(a, term, list(term.args), parts, own)


def _product(a: Analysis, term: Term, factors: list[Term], parts: list[Bound], roundings: int) -> Bound:
    """The bound of a product of these factors: the size of each that cancels, times the others themselves."""
    count = Count(roundings)
    for part in parts:
        count = count + (part.count if part.own else NONE)
    loose = [p for p, part in enumerate(parts) if not part.own]
    if not loose:
        return a.relative(term, count)
    most = parts[loose[0]].count
    for p in loose[1:]:
        most = most.most(parts[p].count)
    sizes = [mul(*(parts[q].size if q == p else a.positive(f) for q, f in enumerate(factors))) for p in loose]
    return Bound(count + most, add(*sizes) if len(sizes) > 1 else sizes[0], False)


def _div(a: Analysis, term: Term) -> Bound:
    top, bottom = term.args
    above, below = a.bound(top), a.bound(bottom)
    if a.plan.form.reciprocal:
        below = Bound(below.count + 1, below.size, below.own)
    if above.own and below.own:
        return a.relative(term, above.count + below.count + 1)
    if below.own:
        return Bound(above.count + below.count + 1, div(above.size, below.size), False)
    moved = div(mul(a.positive(top), below.size), power(bottom, TWO))
    if above.own:
        return Bound(above.count + below.count + 1, moved, False)
    return Bound(above.count.most(below.count) + 1, add(div(above.size, a.positive(bottom)), moved), False)


def _pow(a: Analysis, term: Term) -> Bound:
    base, exponent = term.args
    value = -exponent.args[0].value if exponent.op == "neg" and exponent.args[0].op == "num" else exponent.value
    found = a.bound(base)
    if exponent.op not in ("num", "neg") or not isinstance(value, Fraction):
        return _varying(a, term, found, a.bound(exponent))
    if value == Fraction(1, 2):
        return root(a, term, found)
    times = max(1, -(-abs(value.numerator) // value.denominator))
    own = 2 * times if value.denominator == 1 else 4
    if found.own:
        return a.relative(term, found.count.times(times) + own)
    if value.denominator != 1 or value < 0:
        raise NoBound(f"no bound is stated for a power of a sum that cancels: {to_text(term)}")
    return Bound(found.count.times(times) + own, power(found.size, exponent), False)


def _varying(a: Analysis, term: Term, base: Bound, exponent: Bound) -> Bound:
    """x**y moves by y times what x does relative to itself, and by log(x) times what y does."""
    own = Count(FUNCTIONS["pow"] * (NARROW_FUNCTIONS if a.narrow else 1))
    whole = a.positive(term)
    if base.exact and exponent.exact:
        return a.relative(term, own)
    if not base.own:
        raise NoBound(f"no bound is stated for a power of a sum that cancels: {to_text(term)}")
    moved = [] if base.exact else [mul(a.positive(term.args[1]), whole)]
    moved += [] if exponent.exact else [mul(whole, a.positive(fn("log", term.args[0])), exponent.size)]
    return Bound(base.count.most(exponent.count).most(own), add(whole, *moved), False)


def _fn(a: Analysis, term: Term) -> Bound:
    name, x = term.value, term.args[0]
    if name in ("max", "min"):
        parts = [a.bound(t) for t in term.args]
        if all(p.exact for p in parts):
            return a.relative(term, NONE)
        return Bound(parts[0].count.most(parts[1].count), add(*(p.size for p in parts)), False)
    gap = scaled_difference(x, a.plan.context.definitions) if name == "exp" and a.corrected else None
    exact = 1 + FUNCTIONS[name] * (NARROW_FUNCTIONS if a.narrow else 1)
    if gap and (gap.factor is None or not a.narrow and a.bound(gap.factor).exact):
        return a.relative(term, Count(exact))
    if gap and gap.factor and (factor := a.bound(gap.factor)).own:  # whatever is subtracted, it is exact
        return Bound(factor.count + exact + 1, mul(term, add(ONE, fn("abs", x))), False)
    found, own = a.bound(x), Count(FUNCTIONS[name] * (NARROW_FUNCTIONS if a.narrow else 1))
    if found.exact:
        return a.relative(term, own)
    row = CONDITIONS.get(name)
    if row is None:
        raise NoBound(f"no bound is stated for {name} of what is rounded: {to_text(term)}")
    return row(a, term, found, own)


def _sum(a: Analysis, term: Term) -> Bound:
    found = a.bound(term.args[0])
    if term.args[1] is not TRUE:
        _sure(a, term.args[1])
    axes = [k.value[1] for k in term.bound]
    if sum_of_others(term) and a.corrected and not a.narrow and found.own:
        return a.relative(term, found.count + 2)
    along = tuple(sorted((axis, axes.count(axis)) for axis in set(axes)))
    # N M - 1 roundings are at most those of both axes where it is summed axis by axis
    added = Count(len(axes) if len(axes) > 1 else 0, along)
    if found.own and not a.signs(term.args[0]) & NEG:
        return a.relative(term, found.count + added)
    return Bound(found.count + added, over("sum", found.size, *term.bound, where=term.args[1]), False)


def sum_of_others(term: Term) -> bool:
    """Whether it is a sum of shifted exponentials without the largest, which is added up exactly."""
    body, condition = term.args
    if condition.op != "cmp" or condition.value != "!=" or condition.args[1].op != "argmax":
        return False
    if body.op != "fn" or body.value != "exp" or len(term.bound) != 1:
        return False
    gap = body.args[0].args[0] if body.args[0].op in ("div", "mul") else body.args[0]
    return not any(t.op == "neg" and t.args[0].op == "where" for t in gap.args)


def _prod(a: Analysis, term: Term) -> Bound:
    found = a.bound(term.args[0])
    if term.args[1] is not TRUE:
        _sure(a, term.args[1])
    if not found.own or found.count.along or len(term.bound) != 1:
        raise NoBound(f"no bound is stated for this product: {to_text(term)}")
    return a.relative(term, Count(found.count.fixed, ((term.bound[0].value[1], found.count.fixed + 1),)))


def _extreme(a: Analysis, term: Term) -> Bound:
    found = a.bound(term.args[0])
    if term.args[1] is not TRUE:
        _sure(a, term.args[1])
    if found.exact:
        return a.relative(term, NONE)
    return Bound(found.count, over("max", found.size, *term.bound, where=term.args[1]), False)


def _argmax(a: Analysis, term: Term) -> Bound:
    if not a.bound(term.args[0]).exact:
        raise NoBound(f"which entry is largest depends on rounding: {to_text(term)}")
    return _given(a, term)


def _where(a: Analysis, term: Term) -> Bound:
    if present(term):  # the same number in either case, where it is one
        return a.bound(term.args[2])
    _sure(a, term.args[0])
    then, other = (a.bound(t) for t in term.args[1:])
    count = then.count.most(other.count)
    if then.own and other.own:
        return a.relative(term, count)
    return Bound(count, where(term.args[0], then.size, other.size), False)


def _sure(a: Analysis, condition: Term) -> None:
    """Raises NoBound where rounding can change the condition."""
    if condition.op == "cmp" and all(t.op in ("index", "argmax") for t in condition.args):
        return
    for part in condition.args:
        if part.op in ("cmp", "and", "or", "not", "all", "any", "holds", "true", "false"):
            _sure(a, part)
        elif not a.bound(part).exact:
            raise NoBound(f"a condition depends on rounding: {to_text(condition)}")


ROWS: dict[str, Row] = {
    "num": _num,
    "const": lambda a, term: a.relative(term, Count(1)),
    "size": _given,
    "index": _given,
    "var": _given,
    "delta": _given,
    "def": _def,
    "add": _add,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "sum": _sum,
    "prod": _prod,
    "max": _extreme,
    "min": _extreme,
    "argmax": _argmax,
    "where": _where,
}

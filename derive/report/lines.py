"""The comparisons of the proof of an order, ready to be printed: plain letters and powers, and what each rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from derive.kernel.check import Ground
from derive.kernel.context import Context
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected, Use
from derive.language.places import transform
from derive.report import words
from derive.report.printer import positive_part
from derive.term import (
    MINUS_ONE,
    ONE,
    TRUE,
    Term,
    add,
    alike,
    defined,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    power,
    rebuild,
    substitute,
    subterms,
)
from derive.term import ZERO as NOUGHT

HALF = Fraction(1, 2)
_POOL = ("k", "p", "q", "r", "t", "u", "v", "w", *(f"k{n}" for n in range(1, 1000)))


@dataclass(frozen=True)
class Reference:
    """A comparison that is used: its name in words, and what stands for its letters."""

    words: str
    at: tuple[tuple[Term, Term], ...] = ()


@dataclass(frozen=True)
class Summand:
    """A product of known comparisons and a factor, summed over letters; without a comparison, its sign is plain."""

    references: tuple[Reference, ...]
    factor: Term | None
    over: tuple[Term, ...]
    where: Term | None


@dataclass(frozen=True)
class LineView:
    """A comparison that holds for all `letters` that satisfy `where`, and the summands or premises it comes from.

    `scale` is what it is multiplied by before the summands add up to it.
    """

    number: int
    rule: str
    source: str  # where the rule comes from
    condition: Term
    letters: tuple[Term, ...]
    where: Term | None
    scale: Term | None
    summands: tuple[Summand, ...]


def line_views(proof: Proof, context: Context) -> tuple[LineView, ...]:
    """The comparisons of the proof in their order, but for a last one that repeats the claim."""
    lines = proof.lines
    if lines and _repeats(lines[-1], len(lines)):
        lines = lines[:-1]
    if not lines:
        return ()
    try:
        sources = [f.source for f in Ground(proof.claim, context).full.raw_facts]
    except Rejected:
        sources = []
    page = _Page(context, proof, sources)
    views = [page.line(number, line) for number, line in enumerate(lines, 1)]
    while len(views) > 1 and _says_again(views[-1], views[-2]):
        views.pop()
    return tuple(views)


def line_terms(line: LineView) -> Iterator[Term]:
    """Every term that is printed of the line."""
    yield from (t for t in (line.condition, *line.letters, line.where, line.scale) if t is not None)
    for summand in line.summands:
        yield from (t for t in (summand.factor, *summand.over, summand.where) if t is not None)
        yield from chain.from_iterable(chain.from_iterable(r.at for r in summand.references))


def told_use(use: Use, context: Context) -> str:
    """What a use puts in, in words."""
    if use.kind in ("hypothesis", "size"):
        return f"hypothesis {use.number + 1}"
    if use.kind == "telescoping":
        return "a sum that telescopes"
    if use.kind == "symmetry":
        return "a symmetry of the law"
    if 0 <= use.number < len(context.lemmas):
        name = context.lemmas[use.number].name
        return f"theorem {name}" if name.isidentifier() else name
    return "an earlier theorem"


def _repeats(line: Line, count: int) -> bool:
    """Whether the line says no more than the one before it."""
    unit = Part(ONE, (Cite(count - 2),))
    return count > 1 and line.rule == "combination" and line.parts == (unit,) and line.values in ((ONE,), (MINUS_ONE,))


def _says_again(line: LineView, before: LineView) -> bool:
    """Whether a line, as it is shown, follows from the one before it alone and is the same."""
    alone = [r.words for s in line.summands for r in s.references] == [f"({before.number})"]
    shown = (line.condition, line.letters, line.where)
    return alone and line.scale is None and shown == (before.condition, before.letters, before.where)


class _Page:
    """Gives letters names, the same ones for a line wherever it is referred to."""

    def __init__(self, context: Context, proof: Proof, sources: Sequence[str]):
        self.context, self.sources = context, sources
        self.taken = {*context.axes, *context.declarations, *context.definitions}
        self.taken |= {k.value[0] for t in (proof.claim, *context.hypotheses) for k in _letters(t) if _is_plain(k)}
        self.names: list[Mapping[Term, Term]] = []
        self.short = [(d.name, d.body) for d in context.definitions.values() if not d.letters]

    def line(self, number: int, line: Line) -> LineView:
        names = self.named(line.letters, {})
        self.names.append(names)
        over = _dropped(line.where)
        return LineView(
            number=number,
            rule=words.rule_words(line.rule),
            source=words.rule_source(line.rule),
            condition=by_sides(self.clean(line.condition, names)),
            letters=tuple(names.get(k, k) for k in line.letters),
            where=self.clean(over, names) if over is not None else None,
            scale=self.scale(line, names),
            summands=tuple(self.summands(line, names)),
        )

    def scale(self, line: Line, names: Mapping[Term, Term]) -> Term | None:
        if line.rule != "combination" or not line.values or line.values[0] in (ONE, MINUS_ONE):
            return None
        return self.clean(line.values[0], names)

    def summands(self, line: Line, names: Mapping[Term, Term]) -> Iterator[Summand]:
        for part in line.parts:
            inner = {**names, **self.named(part.over, names)}
            over = _dropped(part.where)
            factor = self.clean(part.multiplier, inner)
            yield Summand(
                references=tuple(self.reference(cite, inner) for cite in part.cites),
                factor=None if factor is ONE and part.cites else factor,
                over=tuple(inner[k] for k in part.over),
                where=self.clean(over, inner) if over is not None else None,
            )
        found = [self.reference(cite, names) for cite in line.cites if cite is not None]
        found += [self.lemma(use, names) for use in line.uses if use.kind == "lemma"]
        for reference in found:
            yield Summand((reference,), None, (), None)

    def reference(self, cite: Cite, names: Mapping[Term, Term]) -> Reference:
        if cite.line >= 0:
            letters, told = self.names[cite.line], f"({cite.line + 1})"
        else:
            place = -1 - cite.line
            letters, told = {}, self.sources[place] if place < len(self.sources) else "what is known"
        pairs = [(letters.get(k, k), self.clean(v, names, letters.values())) for k, v in cite.letters]
        return Reference(told, tuple((k, v) for k, v in pairs if k is not v and _is_plain(k)))

    def lemma(self, use: Use, names: Mapping[Term, Term]) -> Reference:
        return Reference(told_use(use, self.context), tuple((k, self.clean(v, names)) for k, v in use.letters))

    def named(self, letters: Iterable[Term], around: Mapping[Term, Term]) -> dict[Term, Term]:
        """Plain names for the letters, none of them in sight; those that are plain keep theirs where they can."""
        near = {k.value[0] for k in around.values()}
        mapping: dict[Term, Term] = {}
        for letter in letters:
            name = letter.value[0]
            if not _is_plain(letter) or name in near:
                name = next(c for c in _POOL if c not in near | self.taken)
            near |= {name}
            mapping[letter] = index(name, letter.value[1])
        return mapping

    def clean(self, term: Term, names: Mapping[Term, Term], avoid: Iterable[Term] = ()) -> Term:
        """The term in plain letters, with plain powers and signs, and the names of what is defined."""
        around = {k: k for k in (*term.letters, *names.values(), *avoid) if _is_plain(k)}
        return transform(transform(self.bound(substitute(term, names), around), _plain), self._named)

    def bound(self, term: Term, around: Mapping[Term, Term]) -> Term:
        if not term.args:
            return term
        if not term.bound:
            return rebuild(term, [self.bound(a, around) for a in term.args])
        mapping = self.named(term.bound, around)
        inner = {**around, **mapping}
        first = 1 if term.op == "at" else 0
        args = [self.bound(a, around) for a in term.args[:first]]
        args += [self.bound(substitute(a, mapping), inner) for a in term.args[first:]]
        return make(term.op, args, term.value, [mapping[k] for k in term.bound])

    def _named(self, term: Term) -> Term | None:
        for name, body in self.short:
            if term.op != "num" and alike(transform(body, _plain), term):
                return defined(name)
        return None


_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def by_sides(condition: Term) -> Term:
    """The comparison with a sum split to both of its sides, so that nothing is subtracted from the left."""
    if condition.op != "cmp" or condition.args[0].op not in ("add", "neg") or condition.args[1] is not NOUGHT:
        return condition
    left: list[Term] = []
    right: list[Term] = []
    for part in condition.args[0].args if condition.args[0].op == "add" else condition.args:
        positive = positive_part(part)
        if NOUGHT not in (part, positive):
            (left if positive is None else right).append(part if positive is None else positive)
    if not left and right:
        return make("cmp", (add(*right), NOUGHT), _TURNED.get(condition.value, condition.value))
    return make("cmp", (add(*left), add(*right)), condition.value) if right else condition


def _plain(term: Term) -> Term | None:
    """The term without factors and powers of one, with minus signs and fraction bars: x**-1*y*1 is y/x."""
    if term.op == "pow" and term.args[1].op == "num":
        return _power(term.args[0], term)
    if term.op == "mul":
        return _product(term.args)
    if term.op == "add":
        return add(*(part for part in term.args if part is not NOUGHT and positive_part(part) is not NOUGHT))
    if term.op == "neg" and term.args[0].op == "add" and any(map(positive_part, term.args[0].args)):
        more = [less for part in term.args[0].args if (less := positive_part(part)) is not None]
        return add(*more, *(neg(part) for part in term.args[0].args if positive_part(part) is None))
    return None


def _power(base: Term, term: Term) -> Term:
    exponent = term.args[1].value
    if exponent < 0:
        return div(ONE, _power(base, power(base, num(-exponent))))
    return base if exponent == 1 else fn("sqrt", base) if exponent == HALF else term


def _product(factors: Sequence[Term]) -> Term:
    top: list[Term] = []
    bottom: list[Term] = []
    minus = False
    for factor in factors:
        if factor.op == "neg":
            factor, minus = factor.args[0], not minus
        if factor.op == "num" and factor.value < 0:
            factor, minus = num(-factor.value), not minus
        if factor.op == "div" and factor.args[0] is ONE:
            bottom.append(factor.args[1])
        elif factor is not ONE:
            top.append(factor)
    whole = mul(*top) if not bottom else div(mul(*top), mul(*bottom))
    return neg(whole) if minus else whole


def _dropped(condition: Term) -> Term | None:
    return None if condition is TRUE else condition


def _letters(term: Term) -> Iterator[Term]:
    for part in subterms(term):
        yield from part.bound
        if part.op == "index":
            yield part


def _is_plain(letter: Term) -> bool:
    return re.fullmatch(r"\w+", letter.value[0]) is not None

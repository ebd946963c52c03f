"""The lines of an order proof without those that say again what another one says, up to a number as a factor."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from derive.engine.lettering import kept
from derive.kernel.normal import Normal
from derive.kernel.proof import Cite, Line, Part
from derive.term import ONE, TRUE, ZERO, Term, mul, substitute


@dataclass(frozen=True)
class Multiple:
    """What left - right of a line is: that of another one, times a factor."""

    cite: Cite
    factor: Term

    def at(self, places: dict[Term, Term]) -> Multiple:
        letters = tuple((k, substitute(place, places)) for k, place in self.cite.letters)
        return Multiple(replace(self.cite, letters=letters), substitute(self.factor, places))


def shorter(nf: Normal, lines: list[Line], last: Iterable[int]) -> tuple[Line, ...]:
    """The lines that the last ones rest on, each cited where it is said first. It is for the kernel to accept them."""
    found = _Shorter(nf)
    for line in lines:
        found.add(line)
    return kept(found.lines, [found.first(n) for n in last])


class _Shorter:
    def __init__(self, nf: Normal):
        self.nf = nf
        self.lines: list[Line] = []
        self.multiples: dict[int, list[Multiple]] = {}  # of which lines a line is a multiple, the nearest first
        self.instead: dict[int, Multiple] = {}  # the line of which it is a number times, the farthest of them

    def add(self, line: Line) -> None:
        """Take up the line with others cited, where they may be, and without parts that are 0."""
        plain = replace(line, parts=tuple(p for p in line.parts if p.cites or not self.is_zero(p.multiplier)))
        number = len(self.lines)
        self.multiples[number] = [replace(m, factor=self.nf.canonical(m.factor)) for m in self.found(plain)]
        numbers = [m for m in self.multiples[number] if m.factor.op == "num" and m.factor is not ZERO]
        parts, cites = map(self.part, plain.parts), (c and self.premise(c) for c in plain.cites)
        self.lines.append(replace(plain, parts=tuple(parts), cites=tuple(cites)))
        if numbers:
            self.instead[number] = numbers[-1]

    def is_zero(self, term: Term) -> bool:
        return self.nf.canonical(term) is ZERO

    def found(self, line: Line) -> list[Multiple]:
        if line.rule != "combination" or len(line.parts) != 1:
            return []
        (part,) = line.parts
        if part.over or part.where is not TRUE or len(part.cites) != 1 or part.cites[0].line < 0:
            return []
        (cite,), factor = part.cites, part.multiplier / line.values[0] if line.values else part.multiplier
        farther = [m.at(dict(cite.letters)) for m in self.multiples[cite.line]]
        return [Multiple(cite, factor), *(Multiple(m.cite, factor * m.factor) for m in farther)]

    def first(self, number: int) -> int:
        """The line that says the same for the same indices, under letters of its own."""
        if number not in self.instead:
            return number
        other = self.instead[number]
        places = [place for _, place in other.cite.letters]
        plain = all(place.op == "index" for place in places) and len(set(places)) == len(places)
        return other.cite.line if other.factor is ONE and plain else number

    def part(self, part: Part) -> Part:
        others = [self.placed(cite) for cite in part.cites]
        factors = [t for t in (*(m.factor for m in others), part.multiplier) if t is not ONE]
        return replace(part, multiplier=mul(*factors), cites=tuple(m.cite for m in others))

    def premise(self, cite: Cite) -> Cite:
        """A premise of a row is what the row says, and no multiple of it."""
        other = self.placed(cite)
        return other.cite if other.factor is ONE else cite

    def placed(self, cite: Cite) -> Multiple:
        found = self.instead.get(cite.line)
        return Multiple(cite, ONE) if found is None else found.at(dict(cite.letters))

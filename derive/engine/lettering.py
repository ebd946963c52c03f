"""The lines of an order proof for a reader: those that are needed, with letters that the formula language has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from functools import lru_cache

from derive.kernel.check import Ground
from derive.kernel.proof import Cite, Line, Part
from derive.kernel.wellformed import OURS
from derive.term import Term, index, make, rebuild, substitute, subterms

NAMES = "klmpqrstuvw"


def kept(lines: list[Line], last: Iterable[int]) -> tuple[Line, ...]:
    """The lines that the last ones rest on, renumbered."""
    needed: set[int] = set()
    stack = list(last)
    while stack:
        number = stack.pop()
        if number not in needed:
            needed.add(number)
            stack += [c.line for c in cites_of(lines[number]) if c.line >= 0]
    order = {old: new for new, old in enumerate(sorted(needed))}

    def moved(cite: Cite) -> Cite:
        return cite if cite.line < 0 else replace(cite, line=order[cite.line])

    return tuple(
        replace(
            lines[n],
            parts=tuple(replace(p, cites=tuple(map(moved, p.cites))) for p in lines[n].parts),
            cites=tuple(c and moved(c) for c in lines[n].cites),
        )
        for n in sorted(needed)
    )


def cites_of(line: Line) -> list[Cite]:
    return [c for c in (*line.cites, *(c for p in line.parts for c in p.cites)) if c is not None]


def spoken(line: Line) -> Line:
    """The line without the letters that the kernel keeps to itself."""
    return replace(
        line,
        condition=own(line.condition),
        values=tuple(map(own, line.values)),
        parts=tuple(map(spoken_part, line.parts)),
        cites=tuple(c and _spoken_cite(c) for c in line.cites),
        where=own(line.where),
        uses=tuple(replace(u, letters=tuple((a, own(b)) for a, b in u.letters)) for u in line.uses),
    )


def spoken_part(part: Part) -> Part:
    """The part without the letters that the kernel keeps to itself."""
    return Part(own(part.multiplier), tuple(map(_spoken_cite, part.cites)), part.over, own(part.where))


def _spoken_cite(cite: Cite) -> Cite:
    return Cite(cite.line, tuple((a, own(b)) for a, b in cite.letters))


@lru_cache(maxsize=20_000)
def own(term: Term) -> Term:
    """The term with `!` before each letter of the kernel's own, bound ones included: as different as they were."""
    if term.op == "index":
        return index(f"!{term.value[0]}", term.value[1]) if term.value[0][0] in OURS else term
    if not term.args:
        return term
    return make(term.op, map(own, term.args), term.value, map(own, term.bound))


def readable(lines: tuple[Line, ...], ground: Ground) -> tuple[Line, ...]:
    """The lines with letters k, l, … for those that the search made up. What is proved stays the same."""
    fixed = set(names_of(ground))
    done: list[dict[Term, Term]] = []
    shown: list[Line] = []
    for line in lines:
        taken = fixed | {k.value[0] for t in _terms(line) for k in letters_in(t)}
        names = pool(taken)
        mapping = {k: index(next(names), k.value[1]) if odd(k) else k for k in line.letters}
        done.append(mapping)
        shown.append(_relettered(line, mapping, taken | {k.value[0] for k in mapping.values()}, done))
    return tuple(shown)


def _terms(line: Line) -> list[Term]:
    return [line.condition, line.where, *line.values, *(t for p in line.parts for t in (p.multiplier, p.where))]


def names_of(ground: Ground) -> frozenset[str]:
    """The names that no new letter may have: those of the claim's letters and of everything declared."""
    context = ground.context
    letters = {k for t in (ground.claim, *context.hypotheses) for k in letters_in(t)} | context.letters
    names = (*context.declarations, *context.definitions, *context.axes, *(k.value[0] for k in letters))
    return frozenset(names)


def _relettered(line: Line, mapping: dict[Term, Term], taken: set[str], done: list[dict[Term, Term]]) -> Line:
    return replace(
        line,
        condition=renamed(line.condition, mapping, taken),
        values=tuple(renamed(v, mapping, taken) for v in line.values),
        parts=tuple(_part(p, mapping, taken, done) for p in line.parts),
        cites=tuple(c and _cite(c, mapping, taken, done) for c in line.cites),
        letters=tuple(mapping.get(k, k) for k in line.letters),
        where=renamed(line.where, mapping, taken),
        uses=tuple(replace(u, letters=tuple((a, renamed(b, mapping, taken)) for a, b in u.letters)) for u in line.uses),
    )


def _part(part: Part, mapping: dict[Term, Term], taken: set[str], done: list[dict[Term, Term]]) -> Part:
    names = pool(taken)
    inner = {**mapping, **{k: index(next(names), k.value[1]) for k in part.over}}
    here = taken | {inner[k].value[0] for k in part.over}
    return Part(
        renamed(part.multiplier, inner, here),
        tuple(_cite(c, inner, here, done) for c in part.cites),
        tuple(inner[k] for k in part.over),
        renamed(part.where, inner, here),
    )


def _cite(cite: Cite, mapping: dict[Term, Term], taken: set[str], done: list[dict[Term, Term]]) -> Cite:
    theirs = done[cite.line] if cite.line >= 0 else {}
    return Cite(cite.line, tuple((theirs.get(a, a), renamed(b, mapping, taken)) for a, b in cite.letters))


def renamed(term: Term, mapping: dict[Term, Term], taken: set[str]) -> Term:
    """The term with free letters replaced, and bound letters that a reader can say."""
    return _bound(substitute(term, mapping), taken)


def _bound(term: Term, taken: set[str]) -> Term:
    if not term.args or not any(odd(k) for t in subterms(term) for k in t.bound):
        return term
    bound, args, inner = term.bound, term.args, taken
    if any(map(odd, bound)):
        names = pool(taken | {k.value[0] for k in term.letters})
        bound = tuple(index(next(names), k.value[1]) if odd(k) else k for k in term.bound)
        mapping = dict(zip(term.bound, bound, strict=True))
        args = tuple(substitute(a, mapping) for a in args)
    inner = taken | {k.value[0] for k in bound}
    made = make(term.op, args, term.value, bound)
    return rebuild(made, [_bound(a, inner) for a in args])


def odd(letter: Term) -> bool:
    return not letter.value[0].isidentifier()


def pool(taken: Set[str]) -> Iterator[str]:
    """Names for letters, none of those taken."""
    yield from (c for c in NAMES if c not in taken)
    number = 1
    while True:
        if f"k{number}" not in taken:
            yield f"k{number}"
        number += 1


def letters_in(term: Term) -> set[Term]:
    return {t for t in subterms(term) if t.op == "index"} | {k for t in subterms(term) for k in t.bound}

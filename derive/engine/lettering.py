"""The lines of an order proof for a reader: those that are needed, with letters that the formula language has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from derive.kernel.check import Ground
from derive.kernel.proof import Cite, Line, Part
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


def spoken(line: Line, taken: frozenset[str]) -> Line:
    """The line with bound letters that the language has: the kernel keeps those of its normal form to itself."""
    return _relettered(line, {}, set(taken), [])


def readable(lines: tuple[Line, ...], ground: Ground) -> tuple[Line, ...]:
    """The lines with letters k, l, … for those that the search made up. What is proved stays the same."""
    fixed = set(names_of(ground))
    own: list[dict[Term, Term]] = []
    shown: list[Line] = []
    for line in lines:
        taken = fixed | {k.value[0] for t in _terms(line) for k in letters_in(t)}
        names = pool(taken)
        mapping = {k: index(next(names), k.value[1]) if odd(k) else k for k in line.letters}
        own.append(mapping)
        shown.append(_relettered(line, mapping, taken | {k.value[0] for k in mapping.values()}, own))
    return tuple(shown)


def _terms(line: Line) -> list[Term]:
    return [line.condition, line.where, *line.values, *(t for p in line.parts for t in (p.multiplier, p.where))]


def names_of(ground: Ground) -> frozenset[str]:
    """The names that no new letter may have: those of the claim's letters and of everything declared."""
    context = ground.context
    letters = {k for t in (ground.claim, *context.hypotheses) for k in letters_in(t)} | context.letters
    return frozenset(k.value[0] for k in letters) | set(context.declarations) | set(context.definitions) | set(context.axes)


def _relettered(line: Line, mapping: dict[Term, Term], taken: set[str], own: list[dict[Term, Term]]) -> Line:
    return replace(
        line,
        condition=renamed(line.condition, mapping, taken),
        values=tuple(renamed(v, mapping, taken) for v in line.values),
        parts=tuple(_part(p, mapping, taken, own) for p in line.parts),
        cites=tuple(c and _cite(c, mapping, taken, own) for c in line.cites),
        letters=tuple(mapping.get(k, k) for k in line.letters),
        where=renamed(line.where, mapping, taken),
        uses=tuple(replace(u, letters=tuple((a, renamed(b, mapping, taken)) for a, b in u.letters)) for u in line.uses),
    )


def _part(part: Part, mapping: dict[Term, Term], taken: set[str], own: list[dict[Term, Term]]) -> Part:
    names = pool(taken)
    inner = {**mapping, **{k: index(next(names), k.value[1]) for k in part.over}} if own else mapping
    here = taken | {inner.get(k, k).value[0] for k in part.over}
    return Part(
        renamed(part.multiplier, inner, here),
        tuple(_cite(c, inner, here, own) for c in part.cites),
        tuple(inner.get(k, k) for k in part.over),
        renamed(part.where, inner, here),
    )


def _cite(cite: Cite, mapping: dict[Term, Term], taken: set[str], own: list[dict[Term, Term]]) -> Cite:
    theirs = own[cite.line] if own and cite.line >= 0 else {}
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


def pool(taken: set[str]) -> Iterator[str]:
    """Names for letters, none of those taken."""
    yield from (c for c in NAMES if c not in taken)
    number = 1
    while True:
        if f"k{number}" not in taken:
            yield f"k{number}"
        number += 1


def letters_in(term: Term) -> set[Term]:
    return {t for t in subterms(term) if t.op == "index"} | {k for t in subterms(term) for k in t.bound}

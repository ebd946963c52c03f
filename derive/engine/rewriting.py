"""Known equations put in where no multiple of them closes a gap: in arguments of functions, denominators and powers.

Each argument is brought to the least form that the equations give it, on both sides of the claim, so that what is
equal by them meets. Of two forms the one with fewer and smaller terms is less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from derive.engine import telescope
from derive.engine.derivation import Derivation, TooLong, backwards
from derive.engine.fold import names, written
from derive.engine.hypotheses import Equation, Prepared, close_gap, match_letters, moves, prepared, removed, weight
from derive.engine.steps import work
from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, add_to, mono_key
from derive.kernel.proof import Proof, Rejected, Step, Use
from derive.kernel.signs import NONLOCAL
from derive.language.places import Path
from derive.term import ONE, Term, substitute

MOST = 24  # lines on each side
MOST_USES = 8  # equations put in at one place


def rewritten(ground: Ground, claim: Term, equations: list[Equation]) -> Proof | None:
    """The equation by way of its sides with the known equations put in; None where that does not close it."""
    table = prepared(ground.full, equations)
    if not table:
        return None
    try:
        left, right = (reduced_side(ground, side, table) for side in ground.claim.args)
        if not any(s.uses for s in (*left.steps, *right.steps)):
            return None
        gap = add_to(dict(ground.full.poly(left.now)), ground.full.poly(right.now), -1)
        uses = () if ground.full.is_zero(gap) else telescope.close_gap(ground, gap)
        uses = uses if uses is not None else close_gap(ground.full, gap, equations)
    except (TooLong, Rejected, RecursionError, IndexError):
        return None
    if uses is None:
        return None
    return Proof(claim, (*left.steps, Step("algebra", right.now, uses=uses), *backwards(right.steps, right.start)))


def reduced_side(ground: Ground, side: Term, table: Sequence[Prepared]) -> Derivation:
    """The side worked out, its names unfolded, and each argument in it in its least form."""
    d = Derivation(ground, side, MOST)
    d.step("rename", (), d.apart(side, ONE))
    if side is ground.claim.args[0]:
        work(d)
    opened = ground.full.opened(d.now)
    if opened is not d.now:
        d.step("algebra", (), d.apart(opened, ONE))
    put_everywhere(d, table)
    done: set[Path] = set()
    while (path := next((p for p in arguments(d.now) if p not in done), None)) is not None:
        done.add(path)
        found = least(ground.full, d.at(path), table)
        if found is not None:
            new, uses = found
            d.step("algebra", path, d.apart(new), uses=uses)
    return d


def put_everywhere(d: Derivation, table: Sequence[Prepared]) -> None:
    """Entries that an equation gives outright, `g[k] == c` for all k, replaced by what they are."""
    while (found := next(known_entries(d.now, table), None)) is not None:
        path, new, use = found
        d.step("hypothesis", path, d.apart(new), uses=(use,))


def known_entries(term: Term, table: Sequence[Prepared], path: Path = ()) -> Iterator[tuple[Path, Term, Use]]:
    """Places of entries that are known, where the point is, with their values."""
    if term.op in NONLOCAL:
        return
    for e, marked, _ in table:
        left, right = e.left, e.right
        if e.kind != "hypothesis" or left.op != "var" or left.value in right.names or right.letters - left.letters:
            continue
        found = match_letters(substitute(left, marked), term, {})
        if found is not None and set(left.args) == e.letters and len(left.args) == len(e.letters):
            letters = tuple((k, found[m]) for k, m in marked.items())
            yield path, substitute(right, dict(letters)), Use(e.kind, e.number, letters)
    for p, a in enumerate(term.args):
        yield from known_entries(a, table, (*path, p))


def arguments(term: Term, path: Path = ()) -> Iterator[Path]:
    """The places of arguments of functions, powers, denominators and extrema, inner ones first, where the point is."""
    if term.op in NONLOCAL:
        return
    for p, a in enumerate(term.args):
        yield from arguments(a, (*path, p))
        first = term.op in ("prod", "max", "min") or (term.op == "pow" and not multiplied_out(term))
        if term.op == "fn" or (term.op in ("div", "pow") and p == 1) or (first and p == 0):
            yield (*path, p)


def multiplied_out(power: Term) -> bool:
    """Whether the power is a product of its base."""
    exponent = power.args[1]
    return exponent.op == "num" and exponent.value > 0 and exponent.value.denominator == 1


def least(nf: Normal, term: Term, table: Sequence[Prepared]) -> tuple[Term, tuple[Use, ...]] | None:
    """The term in its least form with the equations used; None where they make it no less."""
    now, uses = dict(nf.poly(term)), []
    while len(uses) < MOST_USES:
        forms = (removed(nf, now, mono, use, table) for mono, use in moves(nf, now, table))
        best = min((f for f in forms if f is not None), key=lambda f: rank(f[1]), default=None)
        if best is None or not rank(best[1]) < rank(now):
            break
        uses.append(best[0])
        now = best[1]
    return (written(nf, now, names(nf)), tuple(uses)) if uses else None


def rank(poly: Poly) -> tuple[object, ...]:
    return (*weight(poly), sorted(mono_key(m) for m in poly))

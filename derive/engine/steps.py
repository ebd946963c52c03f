"""Derivations as a textbook shows them: rule by rule from the left side, then one identity to the right side.

Only the way is chosen here; each line is checked by the kernel, and a way that does not get through is given up for
the plain identity that the search for a proof has found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from derive.engine.derivation import MAX_STEPS, Derivation, TooLong, first, identity, positions
from derive.engine.expectations import expectations
from derive.engine.fold import folded, names, written
from derive.kernel.check import Ground, stated
from derive.kernel.derivative import SLOPES, depends
from derive.kernel.normal import Normal
from derive.kernel.poly import add_to
from derive.kernel.proof import Proof, Rejected, Step, Use
from derive.language.places import Path
from derive.term import (
    ONE,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    make,
    mul,
    neg,
    over,
    substitute,
    subterms,
    where,
)

# -- derivatives -----------------------------------------------------------------------------------------------------


def differentiate(d: Derivation, path: Path) -> None:
    """Work out the derivative at the path, and those that come of it."""
    term = d.at(path)
    body, entry = term.args
    nf = d.nf
    if not depends(nf, body, entry.value):
        d.row("constant_rule", path)
        return
    op, args = body.op, body.args
    if stays(d, term, path):
        return
    if op == "def":
        d.unfold((*path, 0))
        differentiate(d, path)
        if path and d.at(path).op != "diff":
            sift(d, path)
            settle(d, path, nf, SHORTER)
    elif op == "var":
        entries = [(a, b) for a, b in zip(body.args, entry.args, strict=True) if a is not b]
        d.step("variable_rule", path, mul(*(make("delta", pair) for pair in entries)))
    elif op == "add":
        d.row("sum_rule", path)
        for p in range(len(args)):
            inner(d, (*path, p))
    elif op == "neg":
        d.row("negation_rule", path)
        inner(d, (*path, 0))
    elif op == "mul":
        product(d, path, args, entry)
    elif op == "div":
        if not depends(nf, args[1], entry.value):
            d.row("constant_divisor", path)
            inner(d, (*path, 0))
        elif not depends(nf, args[0], entry.value):
            d.row("constant_numerator", path)
            everywhere(d, path)
        else:
            d.row("quotient_rule", path)
            everywhere(d, path)
    elif op == "pow" and args[1] is TWO:
        d.row("square_rule", path)
        everywhere(d, path)
    elif op == "pow" and not depends(nf, args[1], entry.value):
        d.row("power_rule", path)
        everywhere(d, path)
    elif op == "fn" and body.value in SLOPES:
        d.row(f"chain_rule_{body.value}", path)
        everywhere(d, path)
    elif op == "sum":
        d.row("derivative_of_a_sum", path)
        inner(d, (*path, 0))
    elif op == "where":
        d.row("derivative_by_cases", path)
        inner(d, (*path, 1))
        inner(d, (*path, 2))
    elif op == "diff":
        differentiate(d, (*path, 0))
        sift(d, (*path, 0))
        settle(d, (*path, 0), nf.around(entry.value))
        differentiate(d, path)
    else:
        raise TooLong


def settle(d: Derivation, path: Path, nf: Normal, most: float = inf) -> None:
    """Bring an inner derivative to a short form, if that is shorter than a part of what stands there."""
    now = d.at(path)
    if any(t.op == "diff" for t in subterms(now)) or (most < 1 and now.size > SETTLED):
        return
    poly = nf.poly(now)
    if len(poly) > WRITTEN:
        return
    short = d.apart(written(nf, poly, names(nf)))
    if short.size < most * now.size and not alike(short, now) and not any(t.op == "diff" for t in subterms(short)):
        d.step(identity(nf, now, short), path, short)


def product(d: Derivation, path: Path, args: tuple[Term, ...], entry: Term) -> None:
    if not depends(d.nf, args[0], entry.value):
        d.row("constant_factor", path)
    elif not any(depends(d.nf, a, entry.value) for a in args[1:]):
        d.row("constant_factor_last", path)
    else:
        d.row("product_rule", path)
    everywhere(d, path)


def inner(d: Derivation, path: Path) -> None:
    if d.at(path).op == "diff":
        differentiate(d, path)
    else:
        everywhere(d, path)


def everywhere(d: Derivation, path: Path) -> None:
    """Work out all derivatives below the path, left to right."""
    while True:
        found = first(d, path, lambda t: t.op == "diff" and not stays(d, t, path))
        if found is None:
            return
        before = d.now
        differentiate(d, found)
        if d.now is before:
            return


def stays(d: Derivation, term: Term, path: Path) -> bool:
    """Whether the right side has this derivative too, so that it is left as it is."""
    body = term.args[0]
    return bool(path) and body.op == "def" and body.value in d.kept


# -- sums ------------------------------------------------------------------------------------------------------------


def sift(d: Derivation, path: Path = ()) -> None:
    """Carry out sums over deltas."""
    for _ in range(20):
        found = first(d, path, lambda t: sifted(t) is not None or splits(t))
        if found is None:
            return
        term = d.at(found)
        new = sifted(term)
        if new is not None:
            d.step("kronecker_sifting", found, new)
        elif term.args[0].op == "neg":
            d.row("negation_of_summation", found)
        else:
            d.row("linearity_of_summation", found)


def splits(term: Term) -> bool:
    """A sum over terms of which some hold a delta with the bound letter."""
    if term.op != "sum" or len(term.bound) != 1:
        return False
    body = term.args[0]
    parts = body.args if body.op in ("add", "neg") else ()
    return any(sifted(over("sum", p, *term.bound, where=term.args[1])) is not None for p in parts)


def sifted(term: Term) -> Term | None:
    """The sum without its delta, where one of its factors is a delta with the bound letter."""
    if term.op != "sum" or len(term.bound) != 1:
        return None
    (k,), (body, filter_) = term.bound, term.args
    factors = list(body.args) if body.op == "mul" else [body]
    for p, f in enumerate(factors):
        if f.op == "delta" and k in f.args:
            j = f.args[1] if f.args[0] is k else f.args[0]
            if k in j.letters:
                return None
            rest = substitute(mul(*factors[:p], *factors[p + 1 :]), {k: j})
            return rest if filter_ is TRUE else make("where", (substitute(filter_, {k: j}), rest, ZERO))
    return None


def tidy(d: Derivation, path: Path) -> None:
    """Drop factors 1 and terms 0 that the rules have left."""
    cleaned = clean(d.at(path))
    if cleaned is not d.at(path):
        d.step("field_identity", path, cleaned)


def clean(term: Term) -> Term:
    if not term.args:
        return term
    args = [clean(a) for a in term.args]
    op = term.op
    if op == "mul":
        if any(a is ZERO for a in args):
            return ZERO
        return joined("mul", [a for a in args if a is not ONE], ONE)
    if op == "add":
        return joined("add", [a for a in args if a is not ZERO], ZERO)
    if op == "div" and args[0] is ZERO:
        return ZERO
    if op == "neg" and args[0] is ZERO:
        return ZERO
    if op == "sum" and args[0] is ZERO:
        return ZERO
    if op == "pow" and args[1] is ONE:
        return args[0]
    return make(op, args, term.value, term.bound)


def joined(op: str, args: list[Term], empty: Term) -> Term:
    return make(op, args) if len(args) > 1 else args[0] if args else empty


# -- the whole derivation --------------------------------------------------------------------------------------------


def derive(ground: Ground, claim: Term, uses: tuple[Use, ...], most: int = MAX_STEPS) -> Proof | None:
    """A step-by-step proof of an equation of which the difference is known to be the uses' sum; None if it fails."""
    left, right = ground.claim.args
    d = Derivation(ground, left, most)
    try:
        start = d.apart(left, ONE)
        d.step("rename", (), start)
        expand(d)
        finish(d, right, uses)
    except (TooLong, Rejected, RecursionError, IndexError, KeyError, ValueError, StopIteration):
        return None
    return Proof(claim, tuple(until(d.steps, right)))


def until(steps: Sequence[Step], right: Term) -> Sequence[Step]:
    """The steps as far as the right side first stands there; what is worked out after it would lead back to it."""
    count = next((n for n, step in enumerate(steps, 1) if alike(step.after, right)), len(steps))
    found = steps[:count]
    return found if not found or found[-1].after is right else [*found, Step("rename", right)]


def work(d: Derivation) -> None:
    """Expand the left side by rules, without what they leave over."""
    expand(d)
    tidy(d, ())


def expand(d: Derivation) -> None:
    """Expand the left side by rules."""
    if any(t.op == "diff" for t in subterms(d.now)):
        everywhere(d, ())
        sift(d)
    if any(t.op in ("E", "Var", "Cov") for t in subterms(d.now)):
        tidy(d, ())
        expectations(d, ())
    elif not any(t.op == "diff" for t in subterms(d.start)):
        names = positions(d.now, (), lambda t: t.op == "def")
        for path in names[:4]:
            d.unfold(path)
        while (found := first(d, (), comes_out)) is not None:
            name = "divisor_out_of_a_sum" if d.at(found).args[0].op == "div" else "constant_out_of_a_sum"
            if not d.row(name, found):
                return


def comes_out(t: Term) -> bool:
    """A sum with a factor or divisor that is free of its letters."""
    if t.op != "sum":
        return False
    body = t.args[0]
    if body.op == "div":
        return body.args[1].letters.isdisjoint(t.bound)
    return body.op == "mul" and body.args[0].letters.isdisjoint(t.bound)


WRITTEN = 24  # terms of one that is written
SETTLED = 60  # nodes of an inner derivative that is written anew, which means to multiply it out
SHORTER = 0.9  # a derivative of a name is written anew where that makes it shorter by a tenth


def finish(d: Derivation, right: Term, uses: tuple[Use, ...]) -> None:
    """The last lines: known equations put in, then one identity to the right side."""
    nf = d.nf
    if alike(clean(d.now), right):
        tidy(d, ())
    if alike(d.now, right):
        d.step("rename", (), right)
        return
    if uses:
        put_in(d, right, uses)
    elif right.op == "where" and any(t.op == "delta" for t in subterms(d.now)) and right.args[0].op == "cmp":
        tidy(d, ())
        by_cases(d, right)
    if d.now is not right:
        d.step(identity(nf, d.now, right), (), right)


def by_cases(d: Derivation, right: Term) -> None:
    """Tell i = j from i != j, as the right side does."""
    condition = right.args[0]
    if all(a.op == "index" for a in condition.args):
        both = d.now
        d.step("case_distinction", (), where(condition, both, d.apart(both)))
        d.step(identity(d.nf, both, right.args[1]), (1,), right.args[1])
        d.step(identity(d.nf, both, right.args[2]), (2,), right.args[2])


def put_in(d: Derivation, right: Term, uses: tuple[Use, ...]) -> None:
    """Write the expression so that each known equation's left side stands in it, and replace it."""
    nf = d.nf
    if any(use.over for use in uses) or len(uses) > 3:
        d.step("algebra", (), right, uses=uses)
        return
    rest = dict(nf.poly(right))
    parts: list[tuple[Use, Term, Term, Term]] = []
    for use, factor in gathered(uses):
        left, side = stated(d.ground, use, nf).args
        add_to(rest, nf.poly(mul(factor, side)), -1)
        parts.append((use, folded(nf, factor), left, side))
    remainder = folded(nf, nf.term(rest))
    pieces = [
        neg(make("mul", (m.args[0], left))) if m.op == "neg" else left if m is ONE else make("mul", (m, left))
        for m, left in ((m, d.apart(left)) for _, m, left, _ in parts)
    ]
    whole = joined("add", [*pieces, *(() if remainder is ZERO else (remainder,))], ZERO)
    if any(
        len(positions(whole, (), alike_to(left))) > 1 for _, _, left, _ in parts
    ):  # the equation's left side stands in what it is multiplied by
        whole = folded(nf, d.now)
    d.step(identity(nf, d.now, whole), (), d.apart(whole))
    for use, _, left, side in parts:
        places = positions(d.now, (), alike_to(left))
        if not places:
            raise TooLong
        for place in places:
            d.step(use.kind, place, side, uses=(use,))


def gathered(uses: Sequence[Use]) -> list[tuple[Use, Term]]:
    """Each instance of an equation once, with what it is multiplied by in all."""
    found: dict[Use, list[Term]] = {}
    for use in uses:
        found.setdefault(replace(use, multiplier=None), []).append(use.multiplier or ONE)
    return [(use, add(*factors)) for use, factors in found.items()]


def alike_to(wanted: Term) -> Callable[[Term], bool]:
    return lambda term: alike(term, wanted)

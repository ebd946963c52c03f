"""The search for a proof of one claim. Nothing here is trusted: what it finds is replayed by the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

from derive.engine import order, steps, telescope
from derive.engine.derivation import worked_out
from derive.engine.fold import names, written
from derive.engine.hints import missing_hypothesis
from derive.engine.hypotheses import Equation, close_gap, close_multiple
from derive.engine.insertion import inserted
from derive.engine.reasons import lettered
from derive.engine.rewriting import rewritten
from derive.engine.squares import rooted
from derive.engine.symmetry import by_symmetry
from derive.kernel.check import Ground, Undefined, check, pure_index, shared
from derive.kernel.context import Context, Lemma
from derive.kernel.order import established
from derive.kernel.poly import Poly, add_to, key, mono_key
from derive.kernel.proof import Account, Line, Proof, Rejected, Step, Use
from derive.kernel.rules import RULES
from derive.kernel.signs import ZERO, sign
from derive.term import Term, fn, subterms


@dataclass(frozen=True)
class Attempt:
    """What a search came to: a proof with the kernel's account of it, or why there is none."""

    proof: Proof | None = None
    account: Account | None = None
    reason: str | None = None
    gap: Term | None = None  # what is left of left - right
    apart: tuple[Term, Term] | None = None  # the simplest term that the two normal forms have in different numbers
    missing: Term | None = None  # a condition that would close the claim, as a hypothesis


def prove(claim: Term, context: Context, tick: Callable[[], None] | None = None) -> Attempt:
    """Try to prove the claim in its context."""
    try:
        ground = Ground(claim, context, tick)
        body = ground.claim
        if body.op != "cmp" or body.value != "==":
            plain = order.find(ground, claim)
            return Attempt(plain, check(plain, context, tick))
    except Rejected as why:
        return refused(why, claim)
    attempt = equation(ground, claim, ())
    if attempt.proof is None and (attempt.gap is not None or attempt.missing is not None):
        lines = order.premises(ground, attempt.gap)
        if lines:  # comparisons that the equation can lean on
            board = established(ground, Proof(claim, lines=lines))
            ground.learn(board.lines)
            again = equation(ground, claim, lines)
            return again if again.proof is not None else attempt
    return attempt


def equation(ground: Ground, claim: Term, lines: tuple[Line, ...]) -> Attempt:
    """Try to prove an equation from what is known and the comparisons of the lines."""
    plain, gap, reason = identity(ground, claim, False)
    if plain is None and ground.context.lemmas:  # earlier claims only where they are needed
        plain, gap, reason = identity(ground, claim, True)
    uses = plain.steps[0].uses if plain is not None else ()
    shown = steps.derive(ground, claim, uses)
    if shown is not None and told(shown):  # the textbook's way, if it gets through; it may do so alone
        found = replayed(ground, replace(shown, lines=lines), Effort(ground.tick, MANY))
        if found is not None:
            return found
    ways = (rooted, put_in, by_symmetry, by_places, by_insertion, by_logarithms) if plain is None else ()
    for way in ways:
        other = way(ground, claim)
        found = replayed(ground, replace(other, lines=lines), Effort(ground.tick, MANY)) if other is not None else None
        if found is not None:
            return found
    if plain is None:
        missing = missing_hypothesis(ground.full, gap, ground.claim) if gap is not None else None
        return Attempt(reason=reason, gap=gap, missing=missing, apart=apart(ground) if gap is not None else None)
    try:  # else the identity by itself
        whole = replace(plain, lines=lines)
        return Attempt(whole, check(whole, ground.context, ground.tick))
    except Rejected as why:
        return refused(why, claim)


def told(proof: Proof) -> bool:
    """Whether the derivation tells more than that the sides are equal: several steps, or a rule of the table."""
    return len(proof.steps) > 1 or any(step.rule in RULES for step in proof.steps)


def put_in(ground: Ground, claim: Term) -> Proof | None:
    """The equation by way of its sides with hypotheses and lemmas put in."""
    return rewritten(ground, claim, equations(ground, True))


def by_insertion(ground: Ground, claim: Term) -> Proof | None:
    """The equation with a product that is known to be 1 put in."""
    return inserted(ground, claim, equations(ground, True))


def by_logarithms(ground: Ground, claim: Term) -> Proof | None:
    """An equation of products of positive factors by their logarithms, which are sums that may telescope."""
    left, right = ground.claim.args
    if not any(t.op == "prod" for side in (left, right) for t in subterms(ground.full.opened(side))):
        return None
    before, after = fn("log", left), fn("log", right)
    try:
        uses = closing(ground, difference(ground, before, after))
    except Rejected:
        return None
    middle = Step("algebra", fn("exp", before)), Step("algebra", fn("exp", after), (0,), uses=uses or ())
    return Proof(claim, (*middle, Step("algebra", right))) if uses is not None else None


def by_places(ground: Ground, claim: Term) -> Proof | None:
    """The equation with sums over an axis of a known size written out at letters of the claim, if there are as many."""
    for number, (axis, count) in ground.equations.items():
        letters = [k for k in ground.claim.letters | ground.context.letters if k.value[1] == axis.value]
        if axis.op == "size" and count.op == "num" and 0 < count.value <= len(letters) <= MAX_PLACES:
            for places in combinations(sorted(letters, key=key), int(count.value)):
                use = Use("size", number, tuple((k, k) for k in places))
                proof = Proof(claim, (Step("sum_normal_form", ground.claim.args[1], uses=(use,)),))
                if replayed(ground, proof, Effort(ground.tick, MANY)) is not None:
                    return proof
    return None


MAX_PLACES = 4  # letters of one axis
MANY = 40_000  # terms and monomials that a derivation may take to be replayed


class Effort:
    """A tick that gives up after so many calls: the same on each machine."""

    def __init__(self, tick: Callable[[], None] | None, most: int):
        self.tick, self.left = tick, most

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Rejected("the derivation takes too long to replay")
        if self.tick is not None:
            self.tick()


def replayed(ground: Ground, proof: Proof, effort: Effort) -> Attempt | None:
    """The proof with the kernel's account; None where the kernel refuses it, or would take too long."""
    try:
        return Attempt(proof, check(proof, ground.context, effort))
    except Rejected:
        return None


def refused(why: Rejected, claim: Term) -> Attempt:
    """The attempt that the kernel refused, with the condition that it misses."""
    missing = lettered(why.condition, claim) if isinstance(why, Undefined) else None
    return Attempt(reason=why.reason, missing=missing)


def identity(ground: Ground, claim: Term, lemmas: bool) -> tuple[Proof | None, Term | None, str]:
    """The equation as one step of algebra; where there is none, what is left of left - right, and why."""
    left, right = ground.claim.args
    try:
        uses = known_sum(ground, lemmas)
        if uses is not None:
            rule = worked_out(ground.full.opened(left), ground.full.opened(right)) or "algebra"
            return Proof(claim, (Step(rule, right, uses=uses),)), None, ""
        gap = difference(ground, left, right)
        parted = None if lemmas else by_parts(ground, claim, gap)
        return parted, None if parted else ground.full.term(gap), "" if parted else "no derivation was found"
    except Rejected as why:
        return None, None, str(why)


def by_parts(ground: Ground, claim: Term, gap: Poly) -> Proof | None:
    """The equation in two steps, one of which takes an addend of a side apart, so that its sum telescopes."""
    left, right = ground.claim.args
    for path, middle in telescope.parted(ground, gap, left):
        uses = closing(ground, difference(ground, middle, right))
        if uses is not None:
            return Proof(claim, (Step("algebra", middle, path), Step("algebra", right, uses=uses)))
    for path, middle in telescope.parted(ground, gap, right):
        uses = closing(ground, difference(ground, left, middle))
        if uses is not None:
            return Proof(claim, (Step("algebra", middle, uses=uses), Step("algebra", right, path)))
    return None


def closing(ground: Ground, gap: Poly) -> tuple[Use, ...] | None:
    """Uses of sums that telescope whose sum is the gap: none where it is 0 by itself, None where none are found."""
    return () if ground.full.is_zero(gap) else telescope.close_gap(ground, gap)


def difference(ground: Ground, left: Term, right: Term) -> Poly:
    return add_to(dict(ground.full.poly(left)), ground.full.poly(right), -1)


def apart(ground: Ground) -> tuple[Term, Term] | None:
    """What the left and the right side have of the simplest term in which their normal forms differ."""
    nf, sides = ground.full, []
    polys = [nf.poly(side) for side in ground.claim.args]
    gap = add_to(dict(polys[0]), polys[1], -1)
    mono = min(gap, key=lambda m: (nf.term({m: 1}).size, mono_key(m)), default=None)
    for poly in polys if mono is not None else ():
        sides.append(written(nf, {mono: poly[mono]} if mono in poly else {}, names(nf)))
    return (sides[0], sides[1]) if sides else None


def known_sum(ground: Ground, lemmas: bool) -> tuple[Use, ...] | None:
    """The uses of known equations that add up to left - right: none where it is 0 by itself, None if there are none."""
    nf = ground.full
    left, right = ground.claim.args
    gap = difference(ground, left, right)
    if nf.is_zero(gap):
        return ()
    found = None if lemmas else telescope.close_gap(ground, gap)  # lemmas are tried after it
    if found is not None:
        return found
    known = equations(ground, lemmas)
    found = close_gap(nf, gap, known)
    found = found if found is not None else close_multiple(nf, gap, known)
    return () if found is None and sign(nf, nf.term(gap)) == ZERO else found


def ours(ground: Ground, hypothesis: Term, lemma: Lemma) -> bool:
    """Whether a hypothesis of the lemma is the claim's too; those that restrict letters are not tried."""
    return shared(ground.plain, hypothesis, lemma, ground.context) and not pure_index(hypothesis, ground.context)


def equations(ground: Ground, lemmas: bool) -> list[Equation]:
    """The hypotheses and lemmas that are equations."""
    found = []
    fixed = ground.context.letters
    for number, (left, right) in ground.equations.items():
        found.append(Equation("hypothesis", number, left, right, (left.letters | right.letters) - fixed))
    for number, lemma in enumerate(ground.context.lemmas if lemmas else ()):
        equation = lemma.condition.op == "cmp" and lemma.condition.value == "==" and not lemma.variables
        if equation and all(ours(ground, h, lemma) for h in lemma.hypotheses):
            left, right = lemma.condition.args
            found.append(Equation("lemma", number, left, right, (left.letters | right.letters) - fixed))
    return found

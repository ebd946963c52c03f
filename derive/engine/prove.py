"""The search for a proof of one claim. Nothing here is trusted: what it finds is replayed by the kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from derive.engine.hypotheses import Equation, close_gap
from derive.kernel.check import Ground, check
from derive.kernel.context import Context
from derive.kernel.normal import Poly, add_to
from derive.kernel.proof import Account, Proof, Rejected, Step
from derive.kernel.signs import RELATION, difference, sign
from derive.term import Term, cmp


@dataclass(frozen=True)
class Attempt:
    """What a search came to: a proof with the kernel's account of it, or why there is none."""

    proof: Proof | None = None
    account: Account | None = None
    reason: str | None = None
    gap: Term | None = None  # what is left of left - right


def prove(claim: Term, context: Context, tick: Callable[[], None] | None = None) -> Attempt:
    """Try to prove the claim in its context."""
    ground = Ground(claim, context, tick)
    try:
        proof, gap = find(ground, claim)
        if proof is None:
            left = ground.full.term(gap) if gap is not None else None
            return Attempt(reason="no derivation was found", gap=left)
        return Attempt(proof, check(proof, context, tick))
    except Rejected as why:
        return Attempt(reason=str(why))


def find(ground: Ground, claim: Term) -> tuple[Proof | None, Poly | None]:
    """A candidate proof, or the gap that is left."""
    body, nf = ground.claim, ground.full
    if body.op != "cmp":
        return Proof(claim), None
    left, right = body.args
    if body.value != "==":
        return Proof(claim), None
    gap = add_to(dict(nf.poly(left)), nf.poly(right), -1)
    if nf.is_zero(gap):
        return Proof(claim, (Step(name_of(left, right), right),)), None
    uses = close_gap(nf, gap, equations(ground))
    if uses is not None:
        return Proof(claim, (Step("algebra", right, uses=uses),)), None
    return None, gap


def name_of(left: Term, right: Term) -> str:
    return "algebra"


def equations(ground: Ground) -> list[Equation]:
    """The hypotheses and lemmas that are equations."""
    found = []
    fixed = ground.context.letters
    for number, (left, right) in ground.equations.items():
        found.append(Equation("hypothesis", number, left, right, (left.letters | right.letters) - fixed))
    for number, lemma in enumerate(ground.context.lemmas):
        if (
            lemma.condition.op == "cmp"
            and lemma.condition.value == "=="
            and not lemma.hypotheses
            and not lemma.variables
        ):
            left, right = lemma.condition.args
            found.append(Equation("lemma", number, left, right, (left.letters | right.letters) - fixed))
    return found


__all__ = ["Attempt", "RELATION", "cmp", "difference", "prove", "sign"]

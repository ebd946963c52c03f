"""Claims that are no equations: orders and logical conditions, judged by signs under the known facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from derive.kernel.normal import UNIT, add_to
from derive.kernel.proof import Account, Proof, Rejected
from derive.kernel.signs import RELATION, difference, sign
from derive.term import Term, cmp

if TYPE_CHECKING:
    from derive.kernel.check import Ground


def judge(ground: Ground, proof: Proof, current: Term, account: Account) -> None:
    """Raise Rejected unless the claim `current relation right` follows; `current` equals the claim's left side."""
    from derive.kernel.check import add_uses

    claim, nf = ground.claim, ground.full
    right = claim.args[1]
    signs = sign(nf, gap := difference(cmp(claim.value, current, right)))
    if signs & ~RELATION[claim.value]:
        signs &= sign(nf, nf.canonical(gap))
    for use in proof.uses:
        shifted = add_to(dict(nf.poly(gap)), add_uses(ground, account, [use]), -1)  # type: ignore[arg-type]
        signs &= sign(nf, nf.term(shifted))
    if signs & ~RELATION[claim.value]:
        raise Rejected(f"the sign of the difference is not known to make the two sides {claim.value}")


def judge_condition(ground: Ground, claim: Term) -> None:
    """Raise Rejected unless a logical combination of conditions follows."""
    if ground.full.condition(claim) != {UNIT: 1}:
        raise Rejected("the condition does not follow")

"""The catalogue: every theorem is proved, by steps that lead from the left side to the right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from derive.engine.verdict import ClaimResult, TheoryResult
from derive.kernel.check import check, strip
from derive.kernel.examples import decide
from derive.language.loader import catalogue, load
from derive.term import alike

Checked = Callable[[str], TheoryResult]


def claims(result: TheoryResult) -> list[ClaimResult]:
    return [c for theorem in result.theorems for c in theorem.claims]


def test_the_subjects_are_there() -> None:
    assert {"softmax", "cross_entropy", "dot_product"} <= set(catalogue())


@pytest.mark.parametrize("name", catalogue())
def test_every_theorem_is_proved(name: str, checked: Checked) -> None:
    open_ = [(c.claim.statement, c.verdict, c.reason) for c in claims(checked(name)) if c.verdict != "proved"]

    assert not open_
    assert len(checked(name).theorems) == len(load(name).theorems) > 0


@pytest.mark.parametrize("name", catalogue())
def test_steps_lead_from_the_left_side_to_the_right(name: str, checked: Checked) -> None:
    """The first step rewrites the left side at its place and nothing else; the last gives the right side."""
    for c in claims(checked(name)):
        if c.proof is None or not c.proof.steps:
            continue
        claim, _ = strip(c.proof.claim, c.context)  # type: ignore[arg-type]
        left, right = claim.args
        first, last = c.proof.steps[0].after, c.proof.steps[-1].after

        assert c.proof.claim is c.claim.condition
        assert first is not left or len(c.proof.steps) == 1, c.claim.statement
        if claim.value == "==":
            assert alike(last, right), c.claim.statement


@pytest.mark.parametrize("name", catalogue())
def test_no_step_stands_still(name: str, checked: Checked) -> None:
    """Each line of a derivation differs from the one before."""
    for c in claims(checked(name)):
        if c.proof is not None:
            chain = [c.proof.claim, *(s.after for s in c.proof.steps)]
            assert all(a is not b for a, b in pairwise(chain)), c.claim.statement


@pytest.mark.parametrize("name", catalogue())
def test_verdict_is_a_replay_of_the_kernel(name: str, checked: Checked) -> None:
    """What is proved has a proof that the kernel accepts now, with the account that is reported; or is an example."""
    for c in claims(checked(name)):
        assert c.account is not None
        assert c.context is not None
        if c.proof is not None:
            again = check(c.proof, c.context)
            assert (again.rules, again.hypotheses) == (c.account.rules, c.account.hypotheses)
            assert len(again.domain) == len(c.account.domain)
            assert all(map(alike, again.domain, c.account.domain))
        else:
            assert decide(c.claim.condition, c.context).hypotheses == c.account.hypotheses


def test_quotient_rule_is_shown_before_it_is_simplified(checked: Checked) -> None:
    """(e^{z_i} delta_ij Z - e^{z_i} e^{z_j}) / Z^2 is a line of the Jacobian's derivation."""
    (jacobian,) = checked("softmax")["jacobian"].claims
    assert jacobian.proof is not None
    rules = [s.rule for s in jacobian.proof.steps]

    assert rules.index("quotient_rule") < rules.index("field_identity")
    assert any(s.after.op == "div" and s.after.args[1].op == "pow" for s in jacobian.proof.steps)

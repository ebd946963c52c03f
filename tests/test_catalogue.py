"""The catalogue: every theorem is proved, by steps that lead from the left side to the right."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from derive.engine.check import check_theory
from derive.engine.verdict import ClaimResult, TheoryResult
from derive.kernel.check import Ground, check, descend, strip
from derive.kernel.context import Context
from derive.kernel.examples import decide
from derive.kernel.poly import add_to
from derive.kernel.rules import RULES
from derive.language.loader import catalogue, load, loads
from derive.term import alike, subterms

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
def test_no_identity_leans_on_an_equation_that_it_does_not_name(name: str, checked: Checked) -> None:
    """A line of a derivation is an identity of normal forms; what is known only settles it where the step says so."""
    for c in claims(checked(name)):
        if c.proof is None or c.proof.claim.op != "cmp" or len(c.proof.steps) < 2:
            continue
        ground = Ground(c.proof.claim, c.context or Context())
        now = ground.claim.args[0]
        for step in c.proof.steps:
            here, old, new, _ = descend(ground, now, step)
            if step.rule not in RULES and not step.uses:
                assert here.is_zero(add_to(dict(here.poly(old)), here.poly(new), -1)), (c.claim.statement, step)
            now = step.after


def test_known_equation_is_put_in_at_each_of_its_places() -> None:
    """A square in what the equation is multiplied by left one of them standing, to be judged by signs in the end."""
    source = "x: real\ny: real\nf = x - x**2\ndef t():\n    assume(x == 1/2)\n    assert f*y == y/4\n"
    (claim,) = check_theory(loads(source)).theorems[0].claims
    assert claim.proof is not None
    held = [any(t.op == "var" and t.value == "x" for t in subterms(s.after)) for s in claim.proof.steps]
    assert held == sorted(held, reverse=True)
    assert [s.rule for s in claim.proof.steps].count("hypothesis") == 2
    assert not held[-2]


@pytest.mark.parametrize("name", catalogue())
def test_verdict_is_a_replay_of_the_kernel(name: str, checked: Checked) -> None:
    """What is proved has a proof that the kernel accepts now, with the account that is reported; or is an example."""
    for c in claims(checked(name)):
        assert c.account is not None
        assert c.context is not None
        if c.proof is not None:
            again = check(c.proof, c.context)
            assert len(again.domain) == len(c.account.domain)
            assert all(map(alike, again.domain, c.account.domain))
        else:
            used = decide(c.claim.condition, c.context)
            assert tuple(h for n, h in enumerate(c.context.hypotheses) if n in used) == c.hypotheses


def test_quotient_rule_is_shown_before_it_is_simplified(checked: Checked) -> None:
    """(e^{z_i} delta_ij Z - e^{z_i} e^{z_j}) / Z^2 is a line of the Jacobian's derivation."""
    (jacobian,) = checked("softmax")["jacobian"].claims
    assert jacobian.proof is not None
    rules = [s.rule for s in jacobian.proof.steps]

    assert rules.index("quotient_rule") < rules.index("field_identity")
    assert any(s.after.op == "div" and s.after.args[1].op == "pow" for s in jacobian.proof.steps)

"""Derivations that a reader follows: they end where the right side stands, and no line is there for nothing."""

from __future__ import annotations

import pytest

from derive.engine.check import check_theory
from derive.language import catalogue, load, loads
from derive.term import alike

HEAD = """
n: axis
x: real
z: real[n]
c: real
q: random(mean=0, variance=1)[n]
k: random(mean=0, variance=1)[n]
Z = sum(exp(z[j]) for j in n)
s[i] = exp(z[i])/Z
score = sum(q[i]*k[i] for i in n)
"""


def rules(claim: str) -> list[str]:
    """The rules of the proof of a claim, in their order."""
    (theorem,) = check_theory(loads(f"{HEAD}assert {claim}\n")).theorems
    (claimed,) = theorem.claims
    assert claimed.proof is not None, claimed.reason
    return [step.rule for step in claimed.proof.steps]


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("E(q[i]*k[i]) == E(q[i])*E(k[i])", ["independence"]),
        ("E(q[i]*k[i]) == 0", ["independence", "moment", "moment", "field_identity"]),
        ("Var(c*score) == c**2*Var(score)", ["variance_scaling"]),
        ("Var(score) == E(score**2) - E(score)**2", ["definition_of_variance"]),
        ("Var(score) == sum(Var(q[i]*k[i]) for i in n)", ["definition", "variance_of_a_sum_of_independent"]),
        ("x == x", ["algebra"]),
        ("limit((exp(x) - 1)/x, x, 0) == 1", ["limit_by_expansion"]),
        ("diff(x*c, x) == c", ["constant_factor_last", "variable_rule", "field_identity"]),
    ],
)
def test_derivation_ends_where_the_right_side_stands(claim: str, expected: list[str]) -> None:
    assert rules(claim) == expected


def test_mean_of_the_right_side_is_not_worked_out() -> None:
    """E(q**2) E(k**2) is what is to be shown; that it is 1 is not."""
    found = rules("E((q[i]*k[i])**2) - E(q[i]*k[i])**2 == E(q[i]**2)*E(k[i]**2)")
    assert found.count("moment") == 2  # of E(q) and E(k)
    assert rules("E((q[i]*k[i])**2) - E(q[i]*k[i])**2 == 1").count("moment") == 4


def test_what_rules_leave_over_goes_with_the_last_identity() -> None:
    """Dropping a 0 is no line of its own where a line follows that simplifies anyway."""
    assert rules("diff(s[i] + c, z[j]) == s[i]*(delta(i, j) - s[j])")[-2:] != ["field_identity", "field_identity"]


@pytest.mark.parametrize("name", catalogue())
def test_no_line_of_the_catalogue_leads_back(name: str) -> None:
    """No expression stands twice in a derivation, the first one included."""
    for theorem in check_theory(load(name)).theorems:
        for claim in theorem.claims:
            if claim.proof is None or not claim.proof.steps or claim.proof.claim.op != "cmp":
                continue
            lines = [claim.proof.claim.args[0], *(step.after for step in claim.proof.steps)]
            lines = lines[1:] if alike(lines[0], lines[1]) else lines  # bound letters renamed apart
            assert not [
                (theorem.theorem.name, n) for n, line in enumerate(lines) for other in lines[:n] if alike(line, other)
            ]

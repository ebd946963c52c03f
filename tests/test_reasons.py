"""What is said of a claim that is not proved: how far it got, and where the two sides come apart."""

from __future__ import annotations

import pytest

from derive.engine.check import explain
from derive.engine.prove import prove
from derive.language import loads

HEAD = "n: axis\nx: real[n]\nz: real[n]\nm = sum(x[k] for k in n)/n\nv = sum((x[k] - m)**2 for k in n)/n\n"


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("diff(x[i]**3, x[i]) == 3*x[i]**2 + x[i]", "left - right comes down to -1*x[i]"),
        ("sum(x[k] for k in n) == 1", "it would follow with assume(sum(x[k] for k in n) == 1)"),
        ("1 == x[i]/x[i]", "it would follow with assume(x[i] != 0)"),
        (
            "diff((x[i] - m)/sqrt(v), x[j]) == (delta(i, j) - 1/n - (x[i] - m)*(x[j] - m)/v)/sqrt(v)",
            "in normal form the left side has 0, the right side -(1/sqrt(",
        ),
    ],
)
def test_reason_says_where_the_sides_come_apart(claim: str, said: str) -> None:
    theory = loads(f"{HEAD}def claim():\n    assert {claim}\n")
    attempt = prove(theory["claim"].claims[0].condition, theory.context(theory["claim"]))

    assert attempt.proof is None
    assert said in explain(attempt)

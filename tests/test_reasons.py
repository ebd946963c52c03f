"""What is said of a claim that is not proved: how far it got, and where the two sides come apart."""

from __future__ import annotations

import pytest

from derive.engine.check import explain
from derive.engine.prove import prove
from derive.engine.reasons import sign_parts
from derive.kernel.check import Ground
from derive.language import loads
from derive.language.printer import to_text

HEAD = (
    "n: axis\nu: uniform(0, 1)\nx: real[n]\nz: real[n]\n"
    "m = sum(x[k] for k in n)/n\nv = sum((x[k] - m)**2 for k in n)/n\n"
)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("diff(x[i]**3, x[i]) == 3*x[i]**2 + x[i]", "left - right comes down to -1*x[i]"),
        ("sum(x[k] for k in n) == 1", "it would follow with assume(sum(x[k] for k in n) == 1)"),
        ("E(exp(u**2)) == 1/2", "left - right comes down to -0.5 + E(exp(u**2))"),
        ("1 == x[i]/x[i]", "it would follow with assume(x[i] != 0)"),
        ("0 == sum(0*E(1/(u - x[k])) for k in n)", "the left side is not: E(1/(u - x["),
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


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ("s[i] > 0", ["exp(z[i]) > 0: an exponential is positive", "Z > 0: a sum of positive terms"]),
        ("-v/T**2 <= 0", ["v >= 0: a sum of terms that are not negative", "T**2 > 0: T is declared positive"]),
        ("sum(b[k] for k in n) >= 0", ["sum(b[k] for k in n) >= 0: a sum of terms that are not negative"]),
        (
            "(a - 1)**4*abs(a) >= 0",
            ["(a - 1)**4 >= 0: an even power is not negative", "abs(a) >= 0: abs is not negative"],
        ),
        ("2**a > 0", ["2**a > 0: a power of a positive number"]),
        (
            "softplus(a)*sqrt(T) > 0",
            ["softplus(a) > 0: softplus is positive everywhere", "sqrt(T) > 0: T is declared positive"],
        ),
        ("a*T >= 0", ["a >= 0: hypothesis 1", "T > 0: T is declared positive"]),
        ("exp(-T) < 1", []),  # by its normal form, not by the signs of exp(-T) and -1
        ("s[i] < 2", []),
    ],
)
def test_signs_of_parts_are_told_where_they_give_the_claim(claim: str, said: list[str]) -> None:
    head = "n: axis\nz: real[n]\nb: bit[n]\na: real\nT: positive\nZ = sum(exp(z[k]) for k in n)\ns[i] = exp(z[i])/Z\n"
    head += "v = sum((z[k] - a)**2 for k in n)\n"
    theory = loads(f"{head}def claim():\n    assume(a >= 0)\n    assert {claim}\n")
    ground = Ground(theory["claim"].claims[0].condition, theory.context(theory["claim"]))

    assert [f"{to_text(c.condition)}: {c.reason}" for c in sign_parts(ground.full, ground.claim)] == said

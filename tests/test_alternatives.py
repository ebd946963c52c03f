"""Conditions with `or`, `any`, `all`, `not` and bits, as hypotheses and claims: what is proved holds at all points."""

from __future__ import annotations

from random import Random

import pytest
from orders import counterexample, theory

from derive.engine.prove import prove
from derive.language.errors import LanguageError

VALUES = "a b c t e 0 1 -1 2 a*b a**2 abs(a) max(a,b) x[i] x[j] x[k] w[l]".split()
VALUES += ["sum(x[p] for p in n)", "max(x[p] for p in n)", "prod(x[p] for p in n)", "sum(x[p]**2 for p in n)"]
RELATIONS = "== != < <= > >=".split()


def condition(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if kind < 0.4 and depth < 2:
        joined = " or " if kind < 0.32 else " and "
        return f"({condition(random, depth + 1)}{joined}{condition(random, depth + 1)})"
    if kind < 0.48:
        return f"not ({condition(random, depth + 1)})"
    if kind < 0.54:
        return "flag[i]"
    if kind < 0.74:
        some, filter_ = random.choice(["any", "any", "all"]), random.choice(["", "", "", " if flag[p]", " if p != i"])
        return f"{some}(x[p] {random.choice(RELATIONS)} {random.choice(['0', '1', 'a', 'y[p]'])} for p in n{filter_})"
    return f"{random.choice(VALUES)} {random.choice(RELATIONS)} {random.choice(VALUES)}"


def fuzz(seed: int, count: int) -> int:
    """How many of so many random claims were proved; none of them is false at a point tried."""
    random, proved = Random(seed), 0
    for _ in range(count):
        known = [f"assume({condition(random)})" for _ in range(random.choice([0, 1, 1, 2]))]
        body = "; ".join([*known, condition(random)])
        try:
            claim, context = theory(body)
        except LanguageError:
            continue
        if prove(claim, context).proof is not None:
            proved += 1
            assert counterexample(claim, context, random, 60) is None, body
    return proved


@pytest.mark.parametrize(
    "hypothesis",
    [
        "max(abs(x[p] - a) for p in n) > 0",
        "any(x[p] != a for p in n)",
        "any(x[p] == a for p in n if p != i) or 0 == x[k]",
        "not (not (flag[i]))",
        "not (not (not (any(x[p] < 1 for p in n))))",
    ],
)
def test_conditions_in_conditions_come_to_an_end(hypothesis: str) -> None:
    assert prove(*theory(f"assume({hypothesis}); b**2 >= 0")).proof is not None


def test_no_false_claim_of_several_conditions_is_proved() -> None:
    assert fuzz(1, 60) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_false_claim_of_several_conditions_is_proved_in_a_longer_run(seed: int) -> None:
    assert fuzz(seed, 120) >= 5

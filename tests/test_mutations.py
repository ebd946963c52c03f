"""No damaged proof of the catalogue is accepted for a false statement, and no damaged claim is proved.

A bounded share of what `make mutants` makes; the counts are printed (pytest -s, or -rP).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import mutants
import pytest

from derive.engine.prove import prove
from derive.kernel.check import check
from derive.kernel.proof import Proof, Rejected
from derive.language import loads
from derive.term import ONE, TWO, Term, add, cmp, delta, index, mul, neg, over, power, var

THEORIES = ("softmax", "cross_entropy", "dot_product")
GOOD = {"rejected", "same statements", "true"}
K = index("k", "n")


@pytest.fixture(autouse=True, scope="module")
def _deep_recursion() -> Iterator[None]:
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(mutants.DEPTH)
    yield
    sys.setrecursionlimit(old)


def outcomes(fates: list[mutants.Fate]) -> Counter[str]:
    return mutants.table("mutants", fates)


@pytest.mark.parametrize("theory", THEORIES)
def test_damaged_proofs_are_rejected_or_true_all_the_same(theory: str) -> None:
    found = outcomes(list(mutants.mutate_proofs([theory], share=0.004, seed=1)))

    assert set(found) <= GOOD, found
    assert found["rejected"] >= 60


@pytest.mark.slow
@pytest.mark.parametrize("theory", THEORIES)
def test_many_damaged_proofs_are_rejected_or_true_all_the_same(theory: str) -> None:
    found = outcomes(list(mutants.mutate_proofs([theory], share=0.03, seed=2)))

    assert set(found) <= GOOD, found
    assert found["rejected"] >= 500


@pytest.mark.parametrize("theory", THEORIES)
def test_damaged_claims_are_not_proved(theory: str) -> None:
    found = outcomes(list(mutants.mutate_claims([theory], share=0.01, seed=3)))

    assert set(found) <= {"not proved", "true", "untold"}
    assert found["not proved"] >= 1


@pytest.mark.slow
def test_hundreds_of_damaged_claims_are_not_proved() -> None:
    """Every claim of the three theories with one sign, index, exponent, delta or factor changed: a share of them."""
    found = outcomes(list(mutants.mutate_claims(THEORIES, share=0.2, seed=4)))

    assert set(found) <= {"not proved", "true", "untold"}
    assert found["not proved"] >= 200


def test_prediction_minus_label_needs_labels_that_sum_to_one() -> None:
    """Without sum(y) == 1 the gradient s - y is not proved; with it, it is."""
    claims = [c for c in mutants.proved("cross_entropy") if c.claim.statement == "diff(loss, z[i]) == s[i] - y[i]"]
    assert claims
    for claim in claims:
        assert claim.context is not None
        lone = replace(claim.context, hypotheses=(), lemmas=tuple(m for m in claim.context.lemmas if not m.hypotheses))

        assert prove(claim.claim.condition, claim.context).proof is not None
        assert prove(claim.claim.condition, lone).proof is None
        assert claim.proof is not None
        with pytest.raises(Rejected):
            check(claim.proof, lone)


# -- the mutants themselves ------------------------------------------------------------------------------------------


def kinds(term: Term) -> set[str]:
    return {kind for kind, _ in mutants.changed(term)}


def test_every_kind_of_change_is_made() -> None:
    z, w = (var(name, K) for name in "zw")
    body = mul(power(z, TWO), add(w, neg(z)), delta(K, index("i", "n")))

    assert {"sign", "index", "exponent", "term", "factor", "delta", "capture"} <= kinds(over("sum", body, K))


def test_changes_change_something() -> None:
    term = over("sum", mul(power(var("z", K), TWO), var("w", index("i", "n"))), K)

    assert all(new is not term for _, new in mutants.changed(term))
    assert len({new for _, new in mutants.changed(term)}) >= 12


def test_a_false_statement_would_be_noticed() -> None:
    """The judge of mutants is not blind: a proof accepted for x + 1 == x would be called FALSE."""
    theory = loads("x: real\nassert x + 0 == x")
    claim = theory.theorems[0].claims[0]
    context = theory.context(theory.theorems[0])
    x = var("x")

    assert mutants.holds_at_small_sizes(cmp("==", add(x, ONE), x), context, 1.0) is False
    assert mutants.holds_at_small_sizes(claim.condition, context, 1.0) is True


def test_a_crash_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    proof = Proof(cmp("==", var("x"), var("x")))

    def crash(*_: object) -> None:
        raise IndexError

    monkeypatch.setattr(mutants, "check", crash)

    assert mutants.fate(mutants.Mutant("any", proof), proof, loads("x: real\nassert x == x").context).startswith(
        "CRASHED"
    )  # type: ignore[arg-type]

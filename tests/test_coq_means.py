"""Means before Coq: an abstract linear functional, with independence and moments as stated hypotheses."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from derive.coq.export import export
from derive.coq.run import Library, check
from derive.engine.certify import certificate_of
from derive.engine.check import check_theory
from derive.language import loads

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

TEXT = '''"""Means of polynomials."""
d: axis
q: random(mean=0, variance=1)[d]
k: random(mean=0, variance=1)[d]
m: real
v: nonnegative
X: random(mean=m, variance=v)
x: normal(0, 1)[d]
c: real
w: uniform(0, 1)

score = sum(q[i] * k[i] for i in d)

def mean():
    assert E(score) == 0

def variance():
    assert Var(score) == d

def square():
    assert E(X**2) == v + m**2

def scaled():
    assert Var(c*X) == c**2*Var(X)

def fourth():
    assert E(x[i]**4) == 3

def half():
    assert E(w) == 1/2
'''


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    return json.loads(json.dumps(certificate_of(check_theory(loads(TEXT), 30.0))))


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    with Library() as found:
        yield found


@pytest.mark.parametrize(
    "said",
    [
        "(Omega : Type) (M : expectation Omega)",
        "(Hu_q : forall i_i, (i_i < n_d)%nat -> moments M (u_q i_i) 0 1)",
        "(Hind : independent M ((n_d, u_q) :: (n_d, u_k) :: nil))",
        "(Hu_X : moments M u_X u_m u_v)",
        "(Hu_x : forall i_i, (i_i < n_d)%nat -> normally M (u_x i_i) 0 1)",
        "Mean M (fun om : Omega => u_score M n_d u_q u_k om) = 0.",
        "Var M (fun om : Omega => u_c * u_X om) =",
        "(integrable M (fun om : Omega => u_score M n_d u_q u_k om ^ 2))",
    ],
)
def test_statement_says(certificate: dict[str, Any], said: str) -> None:
    assert said in " ".join(export(certificate).text().split())


def test_another_law_is_named(certificate: dict[str, Any]) -> None:
    reasons = {c.theorem: c.reason for c in export(certificate).claims if c.reason}

    assert reasons == {"half": "it speaks of a random variable of the law uniform"}


@needs_coq
@pytest.mark.slow
def test_coq_accepts_the_means(certificate: dict[str, Any], library: Library) -> None:
    outcome = check(export(certificate), library)

    assert outcome.refused == ()
    assert outcome.foreign == frozenset()


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("q: random(mean=0, variance=1)[d]", "q: random(mean=1, variance=1)[d]", "variance"),
        ("X: random(mean=m, variance=v)", "X: random(mean=0, variance=v)", "square"),
        ("x: normal(0, 1)[d]", "x: normal(0, 2)[d]", "fourth"),
    ],
)
def test_coq_refuses_a_claim_under_other_moments(
    certificate: dict[str, Any], library: Library, old: str, new: str, lost: str
) -> None:
    """The text declares another law than the one that the proof is of."""
    forged = copy.deepcopy(certificate)
    assert old in forged["text"]
    forged["text"] = forged["text"].replace(old, new)

    exported = export(forged, None, frozenset({lost}))
    outcome = check(exported, library)

    assert {r.theorem for r in outcome.refused} == {lost} or exported.claims[0].reason is not None


@needs_coq
@pytest.mark.slow
def test_coq_refuses_a_variance_without_independence(certificate: dict[str, Any], library: Library) -> None:
    """Each array by itself: nothing says that q and k have to do with each other."""
    exported = export(certificate, None, frozenset({"variance"}))
    (claim,) = exported.claims
    assert "independent M ((n_d, u_q) :: (n_d, u_k) :: nil)" in claim.text
    apart = "independent M ((n_d, u_q) :: nil) /\\ independent M ((n_d, u_k) :: nil)"
    text = claim.text.replace("independent M ((n_d, u_q) :: (n_d, u_k) :: nil)", apart)

    outcome = check(replace(exported, claims=(replace(claim, text=text),)), library)

    assert [r.theorem for r in outcome.refused] == ["variance"]

"""Lemmas: a claim leans on an earlier theorem as it was proved, under all of its hypotheses, by its own names."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from derive.engine.check import _doubt, check_theory, lemmas_of
from derive.kernel.check import check
from derive.kernel.proof import Account, Line, Proof, Rejected, Use
from derive.language import load, loads
from derive.language.printer import to_text

HEAD = "n: axis\nx: real\nz: real[n]\nt: index[n][n]\n"


def verdicts(text: str) -> dict[str, str]:
    return {t.theorem.name: t.verdict for t in check_theory(loads(HEAD + text), timeout=10).theorems}


def test_hypothesis_of_all_letters_is_not_that_of_one_of_the_same_name() -> None:
    """z[c] == 1 is about every c, but where a theorem has an index of this name, about that one alone."""
    found = verdicts(
        "assume(z[c] == 1)\n"
        "def total():\n    assert sum(z[k] for k in n) == n\n"
        "def all_of_them():\n    assert 2*sum(z[k] for k in n) == 2*n, by(total)\n"
        "def one_of_them(c: index[n]):\n    assert 2*sum(z[k] for k in n) == 2*n, by(total)\n"
    )

    assert found == {"total": "proved", "all_of_them": "proved", "one_of_them": "refuted"}


def test_lemma_about_a_restricted_letter_says_nothing_of_others() -> None:
    """A hypothesis on indices of the whole file restricts the letter of its name in each claim, and no other."""
    found = verdicts(
        "assume(t[i] != i)\n"
        "def restricted():\n    assert delta(t[i], i)*z[i] == 0\n"
        "def another_letter():\n    assert delta(t[k], k)*z[k] == 0, by(restricted)\n"
        "def all_letters():\n    assert sum(delta(t[k], k)*z[k] for k in n) == 0, by(restricted)\n"
    )

    assert found == {"restricted": "proved", "another_letter": "refuted", "all_letters": "refuted"}


def test_hypothesis_speaks_of_the_definitions_of_its_own_theorem() -> None:
    """m is another number in each theorem; that both are positive is not the same hypothesis."""
    theory = loads(
        HEAD + "def first():\n    m = sum(z[k] for k in n)\n    assume(m > 0)\n    assert sum(z[k] for k in n) >= 0\n"
        "def second():\n    m = x\n    assume(m > 0)\n    assert sum(z[k] for k in n) >= 0, by(first)\n"
    )
    first, second = theory.theorems
    claim = second.claims[0].condition
    proof = Proof(claim, lines=(Line(claim, "lemma", uses=(Use("lemma", 0),)),))

    with pytest.raises(Rejected, match="hypothesis of lemma first is not met"):
        check(proof, theory.context(second, tuple(lemmas_of(theory, first))))


def test_imported_theorem_is_not_proved_by_one_of_its_name_elsewhere(tmp_path: Path) -> None:
    """`slip` is imported from the theory where it is false; another theory has a true one, on which `fine` leans."""
    texts = {
        "wrong": "x: real\ndef slip():\n    assert sin(x)**2 == 2*x\n",
        "right": "y: real\ndef slip():\n    assert y + y == 2*y\ndef fine():\n    assert 3*(y + y) == 6*y, by(slip)\n",
        "user": "from wrong import x, slip\nfrom right import y, fine\ndef claim():\n"
        "    assert 2*sin(x)**2 == 4*x, by(slip)\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.derive").write_text(text, encoding="utf-8")

    assert check_theory(load(tmp_path / "user.derive"), timeout=10)["claim"].verdict == "refuted"


# -- hypotheses that are named ----------------------------------------------------------------------------------------


def used(text: str) -> list[str]:
    """The hypotheses of the last claim that its proof is said to use, in the formula language."""
    claim = check_theory(loads(text), timeout=10).theorems[-1].claims[-1]
    assert claim.verdict == "proved"
    return [to_text(h) for h in claim.hypotheses]


def test_one_of_two_hypotheses_that_are_enough_is_named() -> None:
    """Without either the proof holds, and without both it does not."""
    assert used("x: real\ndef claim():\n    assume(x >= 1)\n    assume(x >= 2)\n    assert abs(x) == x\n") == ["x >= 2"]


def test_what_makes_a_law_one_is_named_wherever_the_law_is_met() -> None:
    law = "p: real\nv: real\nq: bernoulli(p)\nr: random(mean=0, variance=v)\n"

    assert used(f"{law}def claim():\n    assert Var(q) == p*(1 - p)\n") == ["0 <= p <= 1"]
    assert used(f"{law}def claim():\n    assert Var(r) >= 0\n") == ["v >= 0"]
    assert used(f"{law}def claim():\n    assert p + p == 2*p\n") == []


def test_late_proof_from_hypotheses_that_nothing_satisfies_is_doubted_all_the_same() -> None:
    theory = loads("x: real\ny: real\ndef claim():\n    assume(x > 0)\n    assume(x < 0)\n    assert x == y\n")
    (theorem,) = theory.theorems

    assert _doubt(theorem.claims[0], theory.context(theorem), Account(), time.monotonic() - 1) is not None

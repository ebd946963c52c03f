"""Certificates as Coq files: what is stated, what is not exported, what Coq accepts and what it refuses."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from derive import cli_recheck
from derive.cli import derive as command
from derive.coq import record
from derive.coq.export import export
from derive.coq.run import ALLOWED, FORBIDDEN, Library, Refused, axioms, check, strip_comments
from derive.engine.certify import certificate_of
from derive.engine.check import check_theory
from derive.language import loads
from derive.report.document import document
from derive.report.languages import language
from derive.report.render import render

ROOT = Path(__file__).resolve().parent.parent
needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

TEXT = '''"""A small theory."""
n: axis
z: real[n]
y: real[n]
fun: real
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z

def normalised():
    assert sum(s[i] for i in n) == 1

def jacobian():
    assert diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])

def keyword():
    assert diff(fun*fun, fun) == 2*fun

def weighted():
    assume(sum(y[k] for k in n) == 1)
    assert sum(y[k]*Z for k in n) == Z

def gamma():
    assert lgamma(1 + exp(fun)) == lgamma(exp(fun)) + log(exp(fun))
'''


def certificate_for(text: str) -> dict[str, Any]:
    return json.loads(json.dumps(certificate_of(check_theory(loads(text), 30.0))))


@pytest.fixture(scope="module")
def certificate() -> dict[str, Any]:
    return certificate_for(TEXT)


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    with Library() as found:
        yield found


def claims(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return next(t["claims"] for t in data["theorems"] if t["name"] == name)


def test_statement_is_printed_from_the_theorys_text(certificate: dict[str, Any]) -> None:
    text = " ".join(export(certificate).text().split())

    assert "Definition u_s (n_n : nat) (u_z : nat -> R) (i_i : nat) : R := exp (u_z i_i) / u_Z n_n u_z." in text
    assert (
        "Theorem t_jacobian_1 (n_n : nat) (Hn_n : (0 < n_n)%nat) (u_z : nat -> R) (i_i : nat) (Hi_i : (i_i < n_n)%nat) "
        "(i_j : nat) (Hi_j : (i_j < n_n)%nat) : pd1 (fun u_z : nat -> R => u_s n_n u_z i_i) u_z i_j = "
        "u_s n_n u_z i_i * (delta i_i i_j - u_s n_n u_z i_j)." in text
    )


def test_a_claim_that_the_text_does_not_make_is_not_exported(certificate: dict[str, Any]) -> None:
    forged = copy.deepcopy(certificate)
    claims(forged, "normalised")[0]["claim"][3] = ["num", "2"]

    (reason,) = [c.reason for c in export(forged).claims if c.theorem == "normalised"]

    assert reason == "the certificate proves another claim than the text states"


def test_the_derivatives_existence_and_denominators_are_stated(certificate: dict[str, Any]) -> None:
    text = " ".join(export(certificate).text().split())
    stated = text.split("Theorem t_jacobian_1_defined")[1].split("Proof.")[0]

    assert "(ex1 (fun u_z : nat -> R => u_s n_n u_z i_i) u_z i_j)" in stated
    assert "(u_Z n_n u_z <> 0)" in stated


def test_hypotheses_stand_in_the_statement(certificate: dict[str, Any]) -> None:
    assert "(Hyp1 : Sum n_n (fun i_k : nat => u_y i_k) = 1)" in export(certificate).text()


def test_names_that_mean_something_in_coq_are_prefixed(certificate: dict[str, Any]) -> None:
    assert "(u_fun : R)" in export(certificate).text()


def test_what_coq_does_not_know_is_named_with_the_reason(certificate: dict[str, Any]) -> None:
    exported = export(certificate)

    assert {c.theorem: c.reason for c in exported.claims}["gamma"] == "Coq's libraries have no lgamma"
    assert "(* not exported: gamma, claim 1: Coq's libraries have no lgamma *)" in exported.text()


@pytest.mark.parametrize("hypothesis", ["x <= -1 or x >= 1", "b or x > 2"])
def test_what_one_of_several_says_is_not_exported(hypothesis: str) -> None:
    text = f"x: real\nb: bit\n\ndef claim():\n    assume({hypothesis})\n    assume(b == 0)\n"
    text += "    assert x**2 >= 1\n"
    (claim,) = export(certificate_for(text)).claims

    assert claim.reason == "one of several conditions is used as a comparison"


def test_nothing_is_assumed_or_admitted(certificate: dict[str, Any]) -> None:
    assert FORBIDDEN.search(strip_comments(export(certificate).text())) is None
    assert FORBIDDEN.search("Lemma x : False. Admitted.")


def test_axioms_are_read_from_coqs_answer() -> None:
    answer = "Axioms:\nMy.cheat : False\nClassicalDedekindReals.sig_not_dec\n  : forall P : Prop, {~ ~ P} + {~ P}\n"

    assert axioms(answer) == {"My.cheat", "ClassicalDedekindReals.sig_not_dec"}
    assert axioms(answer) - ALLOWED == {"My.cheat"}


def test_export_writes_the_file_and_names_what_it_leaves_out(tmp_path: Any) -> None:
    (tmp_path / "small.derive").write_text(TEXT, encoding="utf-8")
    result = CliRunner().invoke(
        command,
        ["export", "--coq", str(tmp_path / "small.derive"), "--out", str(tmp_path / "out")],
        standalone_mode=False,
    )

    assert result.return_value == 4
    assert "not exported: small.gamma, claim 1: Coq's libraries have no lgamma" in result.output
    assert "t_jacobian_1" in (tmp_path / "out" / "small.v").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "Derive.v").exists()


@pytest.mark.parametrize("content", ["{}", "[]", "no JSON", None])
def test_export_refuses_what_is_no_certificate(tmp_path: Any, content: str | None) -> None:
    if content is not None:
        (tmp_path / "x.json").write_text(content, encoding="utf-8")
    result = CliRunner().invoke(command, ["export", "--coq", str(tmp_path / "x.json")], standalone_mode=False)

    assert result.return_value == 3
    assert "x.json is no certificate that can be exported" in result.output


def test_export_refuses_a_claim_that_the_text_has_lost(certificate: dict[str, Any], tmp_path: Any) -> None:
    forged = copy.deepcopy(certificate)
    claims(forged, "normalised")[0]["statement"] = "1 == 2"
    (tmp_path / "x.json").write_text(json.dumps(forged), encoding="utf-8")
    result = CliRunner().invoke(command, ["export", "--coq", str(tmp_path / "x.json")], standalone_mode=False)

    assert result.return_value == 3
    assert "normalised does not claim 1 == 2" in result.output


@needs_coq
@pytest.mark.slow
def test_coq_accepts_the_proofs(certificate: dict[str, Any], library: Library) -> None:
    outcome = check(export(certificate), library)

    assert outcome.refused == ()
    assert {name for name, _ in outcome.accepted} == {"normalised", "jacobian", "keyword", "weighted"}
    assert outcome.foreign == frozenset()
    assert outcome.kilobytes < 1_000_000


@needs_coq
@pytest.mark.slow
def test_coq_refuses_a_damaged_step(certificate: dict[str, Any], library: Library) -> None:
    damaged = copy.deepcopy(certificate)
    step = claims(damaged, "jacobian")[0]["proof"]["steps"][1]
    step["after"] = json.loads(re.sub(r'"exp"', '"log"', json.dumps(step["after"]), count=1))

    outcome = check(export(damaged), library)

    assert [r.theorem for r in outcome.refused] == ["jacobian"]
    assert "normalised" in {name for name, _ in outcome.accepted}


@needs_coq
@pytest.mark.slow
def test_coq_refuses_a_statement_without_its_hypothesis(library: Library) -> None:
    """The text assumes something else than what the steps use."""
    data = certificate_for(TEXT)
    data["text"] = data["text"].replace("sum(y[k] for k in n) == 1", "sum(y[k] for k in n) == 2")

    outcome = check(export(data), library)

    assert "weighted" in {r.theorem for r in outcome.refused}


# -- the record --------------------------------------------------------------------------------------------------------


def test_a_record_is_of_statement_hypotheses_and_steps(certificate: dict[str, Any]) -> None:
    claim = claims(certificate, "jacobian")[0]
    moved, damaged = copy.deepcopy(claim), copy.deepcopy(claim)
    moved["line"] += 1
    damaged["proof"]["steps"][0]["rule"] = "algebra"

    assert record.fingerprint(moved) == record.fingerprint(claim)
    assert record.fingerprint(damaged) != record.fingerprint(claim)


def reported(monkeypatch: pytest.MonkeyPatch, code: str) -> dict[str, str]:
    """The reports of the small theory, of whose claims one is re-checked, one not exported and one refused."""
    result = check_theory(loads(TEXT), 30.0)
    data = json.loads(json.dumps(certificate_of(result)))
    known = {
        record.fingerprint(claims(data, "jacobian")[0]): record.Said("re-checked", None, "t_jacobian_1", "small.v"),
        record.fingerprint(claims(data, "gamma")[0]): record.Said("not exported", "Coq's libraries have no lgamma"),
        record.fingerprint(claims(data, "keyword")[0]): record.Said(
            "refused", "Coq's tactics find no proof of step 1", "t_keyword_1", "small.v"
        ),
    }
    monkeypatch.setattr(record, "_read", lambda: {digest: [said] for digest, said in known.items()})

    return {form: render(document(result, None, code), form) for form in ("md", "tex", "html")}


def test_reports_say_what_a_recorded_run_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = reported(monkeypatch, "en")

    assert text["md"].count("Re-checked by Coq: `t_jacobian_1` in `small.v`.") == 1
    assert text["md"].count("Not exported to Coq: Coq's libraries have no lgamma.") == 1
    refused = (
        "Not re-checked by Coq, though exported as `t_keyword_1` in `small.v`: Coq's tactics find no proof of step 1."
    )
    assert text["md"].count(refused) == 1
    assert "On record for 3 claims: Coq has re-checked 1. `derive export --coq" in text["md"]
    for form in ("tex", "html"):
        assert "find no proof of step 1" in text[form]
        assert "Coq has re-checked 1" in text[form]


def test_reports_say_it_in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    text = reported(monkeypatch, "zh")

    for form in ("md", "tex", "html"):
        plain = text[form].replace("\\allowbreak{}", "")
        assert "未由 Coq 重新检验：Coq 的策略没有找到第 1 步的证明。" in plain
        assert "Coq 的库中没有 lgamma" in plain


@pytest.mark.parametrize(
    ("part", "words", "reason"),
    [
        ("s11", "No applicable tactic.", "Coq's tactics find no proof of step 11"),
        ("l0", "No applicable tactic.", "Coq's tactics find no proof of line 1"),
        ("", "Timeout!", "Coq's tactics run out of time at the claim itself"),
        ("defined", "", "Coq's tactics find no proof of what it needs to be defined"),
    ],
)
def test_a_refusal_is_told_by_its_place(part: str, words: str, reason: str) -> None:
    assert Refused("x", 1, part, words).reason == reason


def test_every_claim_on_record_that_is_not_rechecked_has_a_reason() -> None:
    theories = json.loads(record.path().read_text(encoding="utf-8"))["theories"]

    open_ = [e for entries in theories.values() for e in entries if e["result"] != record.RECHECKED]

    assert [e["theorem"] for e in open_ if not e["reason"]] == []
    english, chinese = ({e["reason"]: language(code).told(e["reason"]) for e in open_} for code in ("en", "zh"))
    assert [reason for reason in english if chinese[reason] == reason] == []


def test_a_claim_that_several_theorems_make_is_named_by_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = (record.Said("re-checked", None, "t_claim_1", file) for file in ("own.v", "other.v"))
    monkeypatch.setattr(record, "_read", lambda: {"digest": [own, other]})

    assert record.said("digest", "own", "t_claim_1") is own
    assert record.said("digest", "own", "t_claim_2") is other
    assert record.said("digest") is other
    assert record.said("another", "own", "t_claim_1") is None


def test_the_committed_record_is_read_and_written_alike() -> None:
    data = json.loads(record.path().read_text(encoding="utf-8"))

    assert record.written(data["coq"], data["theories"], data["rounding"]) == record.path().read_text(encoding="utf-8")
    assert {e["result"] for entries in data["theories"].values() for e in entries} <= {
        record.RECHECKED,
        record.NOT_EXPORTED,
        record.REFUSED,
    }


def test_at_least_sixty_theorems_of_the_catalogue_are_recorded_as_rechecked() -> None:
    """Among them all of softmax, cross_entropy and log_sum_exp, and attention's gradients."""
    theories = json.loads(record.path().read_text(encoding="utf-8"))["theories"]
    whole = {
        (theory, name)
        for theory, entries in theories.items()
        for name in {e["theorem"] for e in entries}
        if all(e["result"] == record.RECHECKED for e in entries if e["theorem"] == name)
    }

    assert len(whole) >= 60
    for theory in ("softmax", "cross_entropy", "log_sum_exp"):
        assert {e["theorem"] for e in theories[theory]} <= {name for t, name in whole if t == theory}
    assert {("attention", "dQ"), ("attention", "dK"), ("attention", "dV")} <= whole


# -- statements --------------------------------------------------------------------------------------------------------

MEANING = '''"""What statements look like."""
n: axis
B: axis
z: real[n]
b: bit[n]
t: index[n][B]
p: positive
T: positive

def entries():
    assert sum(z[t[k]] for k in B) + sum(z[i] for i in n if i != j) == (
        sum(z[t[k]] for k in B) + sum(z[k] for k in n) - z[j]
    )

def replaced():
    assert at(sum(z[k] for k in n), z[k], z[k] + p) == sum(z[k] for k in n) + n*p

def bits():
    assert sum(b[k]*b[k] for k in n) == sum(b[k] for k in n)

def cold():
    assert limit(T*log(sum(exp(z[k]/T) for k in n)), T, 0, "+") == max(z[k] for k in n)

def order(x: real, y: real):
    assume(x <= y)
    assert exp(x) <= exp(y)

def needed():
    assert sum(z[i]/sum(z[k] for k in n) for i in n) == 1
'''


@pytest.fixture(scope="module")
def meaning() -> dict[str, Any]:
    return certificate_for(MEANING)


@pytest.mark.parametrize(
    "said",
    [
        "(u_t : nat -> nat) (Hu_t : forall i_0, (i_0 < n_B)%nat -> (u_t i_0 < n_n)%nat)",
        "Sum n_n (fun i_i : nat => (1 - delta i_i i_j) * u_z i_i)",
        "(Hu_b : forall i_0, (i_0 < n_n)%nat -> u_b i_0 = 0 \\/ u_b i_0 = 1)",
        "(fun u_z : nat -> R => Sum n_n (fun i_k : nat => u_z i_k)) (fun i_k : nat => u_z i_k + u_p)",
        "(fun u_T : R => u_T * ln (Sum n_n (fun i_k : nat => exp (u_z i_k / u_T)))) (at_right 0) (locally (Max n_n ",
        "(Hyp1 : u_x <= u_y) : exp u_x <= exp u_y",
        "(Dom1 : Sum n_n (fun i_k : nat => u_z i_k) <> 0)",
    ],
)
def test_statement_says(meaning: dict[str, Any], said: str) -> None:
    assert said in " ".join(export(meaning).text().split())


@needs_coq
@pytest.mark.slow
def test_coq_accepts_what_they_say(meaning: dict[str, Any], library: Library) -> None:
    exported = export(meaning)

    assert [c.reason for c in exported.claims if c.reason] == []
    assert check(exported, library).refused == ()


def test_the_guide_says_how_much_is_on_record() -> None:
    theories = json.loads(record.path().read_text(encoding="utf-8"))["theories"]
    entries = [(theory, e) for theory, listed in theories.items() for e in listed]
    done = [(theory, e["theorem"]) for theory, e in entries if e["result"] == record.RECHECKED]
    open_ = {(theory, e["theorem"]) for theory, e in entries if e["result"] != record.RECHECKED}
    guide = " ".join((ROOT / "docs" / "coq.md").read_text(encoding="utf-8").split())

    assert f"On record: {len(done)} of {len(entries)} claims, {len(set(done) - open_)} whole theorems" in guide


# -- where Coq is missing ----------------------------------------------------------------------------------------------


def test_verify_says_that_coq_is_missing(
    certificate: dict[str, Any], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.json").write_text(json.dumps(certificate), encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(command, ["verify", "--coq", str(tmp_path / "x.json")])

    assert result.exit_code == 5
    assert "coqc not found" in result.output


def test_make_coq_skips_where_coq_is_missing(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert cli_recheck.main() == 0
    assert capsys.readouterr().out == "skipped: coqc not found\n"

"""A certificate says what its text says: what the kernel cannot see, since it reads no formulas, `verify` compares.

The digests are made anew after each edit, as a forger would.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import _checked
from test_certificate import claim_of, damaged, sealed, spots

from derive.cli_limit import limited
from derive.engine.certify import certificate_of
from derive.engine.check import check_theory
from derive.kernel.certificate import verify
from derive.kernel.proof import Rejected
from derive.language import load, loads
from derive.language.certified import unlike
from derive.language.loader import catalogue

TEXT = """
n: axis
x: real
v: real
z: real[n]
q: random(mean=0, variance=v)

double[i] = 2*z[i]


def total():
    assert sum(double[k] for k in n) == 2*sum(z[k] for k in n)


def spread():
    assert Var(q) == v


def size():
    assume(x >= 1)
    assert abs(x) == x


def slip():
    assert x + x == 2*x
    assert x + x == 3*x
"""


@cache
def made() -> str:
    return json.dumps(certificate_of(check_theory(loads(TEXT))))


def statement(c: Any) -> None:
    claim_of(c, "total")["statement"] = "sum(double[k] for k in n) == 3*sum(z[k] for k in n)"


def condition_of_a_law(c: Any) -> None:
    claim_of(c, "spread")["context"]["hypotheses"] = []


def contradiction(c: Any) -> None:
    claim_of(c, "spread")["context"]["hypotheses"].append(["false"])


def definition(c: Any) -> None:
    """Another function of which the same is true."""
    (double,) = claim_of(c, "total")["context"]["definitions"]
    double["body"] = ["add", double["body"], ["num", "0"]]


def names_of_a_definition(c: Any) -> None:
    """What a second checker may go by."""
    (double,) = claim_of(c, "total")["context"]["definitions"]
    double["rests_on"] = []


def line(c: Any) -> None:
    claim_of(c, "total")["line"] += 1


def kind(c: Any) -> None:
    claim_of(c, "slip")["context"]["declarations"][0]["kind"] = "positive"


def index(c: Any) -> None:
    claim_of(c, "size")["context"]["letters"] = [["c", "n"]]


def claim_that_is_open(c: Any) -> None:
    """The claim that is refuted is left out, and its theorem called proved."""
    next(t for t in c["theorems"] if t["name"] == "slip").update(open=[], verdict="proved")


def theorem(c: Any) -> None:
    c["theorems"][0]["name"] = "fundamental"


def text(c: Any) -> None:
    c["text"] = c["text"].replace("2*sum(z[k]", "3*sum(z[k]")


def no_text(c: Any) -> None:
    c["text"] = "("


def circle(c: Any) -> None:
    c["text"] = f"from {c['theory']} import x\n" + c["text"]
    c["imports"].append({"theory": c["theory"], "text": c["text"], "theorems": []})


FORGERIES = (
    *(statement, condition_of_a_law, contradiction, definition, kind, index, claim_that_is_open, theorem, text),
    *(no_text, circle, names_of_a_definition, line),
)


def test_certificate_as_it_was_made_says_what_its_text_says() -> None:
    assert unlike(json.loads(made())) == {}


@pytest.mark.parametrize("name", catalogue())
def test_certificates_of_the_catalogue_say_what_their_texts_say(name: str) -> None:
    assert unlike(json.loads(json.dumps(certificate_of(_checked(name))))) == {}


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda f: f.__name__)
def test_certificate_that_says_something_else_is_rejected(forgery: Callable[[Any], None], tmp_path: Path) -> None:
    """The kernel accepts every claim: each is true as a term."""
    certificate = json.loads(made())
    forgery(certificate)
    sealed(certificate)
    with limited(20):
        assert all(r.ok for r in verify(certificate))
        assert unlike(certificate)


def test_verify_tells_what_a_forged_certificate_does_not_say(derive: Callable[..., Any], tmp_path: Path) -> None:
    certificate = json.loads(made())
    statement(certificate)
    (tmp_path / "forged.json").write_text(json.dumps(sealed(certificate)), encoding="utf-8")
    run = derive("verify", tmp_path / "forged.json")

    assert run.status == 1
    assert "total, claim 1: rejected: the text has other claims in this theorem" in run.out
    assert "size, claim 1: accepted" in run.out


def test_texts_that_are_imported_come_with_the_certificate(tmp_path: Path) -> None:
    """Those outside of the catalogue, also where no theorem of theirs is used; else nobody could compare."""
    texts = {
        "first": "n: axis\nu: real[n]\nhalf[i] = u[i]/2\n",
        "second": "from first import n, u, half\nwhole[i] = half[i] + half[i]\n",
        "third": "from second import n, u, whole\ndef same():\n    assert whole[i] == u[i]\n",
    }
    for name, content in texts.items():
        (tmp_path / f"{name}.derive").write_text(content, encoding="utf-8")
    certificate = json.loads(json.dumps(certificate_of(check_theory(load(tmp_path / "third.derive")))))

    assert [(i["theory"], i["theorems"]) for i in certificate["imports"]] == [("first", []), ("second", [])]
    assert unlike(certificate) == {}
    certificate["imports"][0]["text"] = texts["first"].replace("/2", "/3")
    assert unlike(certificate) == {("same", 1): "its definitions are not those of the text"}


@pytest.mark.parametrize("seed", range(3))
def test_damaged_certificate_is_compared_without_a_crash(seed: int) -> None:
    """Whatever the kernel has told of it; only what is no certificate at all is not compared."""
    random = Random(seed)
    whole = json.loads(made())
    where = list(spots(whole))
    compared = 0
    for _ in range(150):
        certificate = damaged(whole, random, where)
        with suppress(Exception):
            sealed(certificate)
        with suppress(Rejected):
            verify(certificate)
            unlike(certificate)
            compared += 1
    assert compared > 20

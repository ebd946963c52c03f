"""Rounding errors before Coq: the bound that is printed is the one that is proved, and a smaller one is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest

from derive.codegen import quantity
from derive.codegen.bounds import bound_of
from derive.codegen.counts import Count
from derive.codegen.forms import ACCURATE
from derive.codegen.rounding_theorem import RoundingFile, Statement, fingerprint, rounding_file, theorem_of
from derive.codegen.value import CodegenError
from derive.coq import record
from derive.coq.run import ROUNDING, Library, accepts
from derive.language import load, loads
from derive.report.numbers import _stated

needs_coq = pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")

PRINTED = [("softmax", "s", "n + 7"), ("softmax", "Z", "n + 1"), ("log_sum_exp", "lse", "8")]

TEXT = '''"""Sums of exponentials over two axes."""
n: axis
m: axis
z: real[m, n]
v: real[m]

Z[a] = sum(exp(z[a, k]) for k in n)
share[a] = exp(v[a]) / Z[a]
'''


@pytest.mark.parametrize(("theory", "name", "count"), PRINTED)
def test_the_count_that_the_report_prints_stands_in_the_theorem(theory: str, name: str, count: str) -> None:
    stated = _stated(load(theory), name)
    proved = theorem_of(quantity(load(theory), name))

    assert stated is not None and stated.count == proved.count == count
    assert f"(Htheta : ({count.replace('n', 'INR n_n')}) * u p" in proved.text


@pytest.mark.parametrize(("theory", "name", "count"), PRINTED)
def test_the_record_holds_the_bound_that_the_report_prints(theory: str, name: str, count: str) -> None:
    stated = _stated(load(theory), name)

    assert stated is not None and stated.coq is not None
    assert (stated.coq.lemma, stated.coq.file) == (f"{name}_error", f"{theory}_rounding.v")


def test_entries_of_the_record_are_of_the_code_as_it_is() -> None:
    data = json.loads(record.path().read_text(encoding="utf-8"))["rounding"]

    for theory, entries in data.items():
        file = rounding_file(load(theory))
        assert file is not None
        assert [e["digest"] for e in entries] == [t.digest for t in file.theorems]
        assert {e["result"] for e in entries} == {record.RECHECKED}


def test_another_bound_or_form_is_another_entry() -> None:
    q = quantity(load("softmax"), "s")
    plan = q.plan(ACCURATE)
    bound = bound_of(plan)

    assert fingerprint(plan, bound, False) != fingerprint(plan, replace(bound, count=bound.count + 1), False)
    assert fingerprint(plan, bound, False) != fingerprint(plan, bound, True)


def test_operations_stand_as_the_code_has_them() -> None:
    """A difference under exp with its error put back, a sum in any order, the largest term apart, one quotient."""
    text = theorem_of(quantity(load("softmax"), "s")).text

    code = text.split("Definition code_s")[1].split("Theorem")[0]
    assert code.count("exp_difference p fexp") == 3
    assert "rounded p t1" in code and "left_out (Argmax n_n" in code
    assert code.count("rnd p") == 2
    assert "(Ht1 : adds n_n t1)" in text and "(Hexp : exp_within p 2 fexp)" in text


def test_both_formats_are_stated() -> None:
    found = theorem_of(quantity(load("softmax"), "s"))
    narrow = theorem_of(quantity(load("softmax"), "s"), narrow=True)

    assert found.names == ("s_error", "s_float64", "s_float32")
    assert narrow.names == ("s_in_float32_error", "s_in_float32_float32")
    assert "exp_within 24 8 fexp" in narrow.text


@pytest.mark.parametrize(
    ("theory", "name"), [("attention", "P"), ("dot_product", "score"), ("temperature", "p"), ("log_sum_exp", "top")]
)
def test_what_has_no_lemma_has_no_theorem(theory: str, name: str) -> None:
    with pytest.raises(CodegenError):
        theorem_of(quantity(load(theory), name))


@pytest.fixture(scope="module")
def library() -> Iterator[Library]:
    with Library() as found:
        found.add(ROUNDING, "Flocq")
        yield found


@needs_coq
@pytest.mark.slow
def test_coq_accepts_the_bounds_of_softmax_and_log_sum_exp(library: Library) -> None:
    for name in ("softmax", "log_sum_exp"):
        file = rounding_file(load(name))
        assert file is not None
        assert accepts(file.text(), library)[0] is None


@needs_coq
@pytest.mark.slow
def test_coq_accepts_bounds_over_several_axes(library: Library) -> None:
    file = rounding_file(loads(TEXT))

    assert file is not None and {"Z", "share"} <= {t.quantity for t in file.theorems}
    assert accepts(file.text(), library)[0] is None


@needs_coq
@pytest.mark.slow
@pytest.mark.parametrize(("theory", "name", "count"), PRINTED)
def test_coq_refuses_a_count_that_is_one_too_small(theory: str, name: str, count: str, library: Library) -> None:
    q = quantity(load(theory), name)
    plan = q.plan(ACCURATE)
    bound = bound_of(plan)
    less = replace(bound, count=Count(bound.count.fixed - 1, bound.count.along))

    proved = Statement(q, plan, less, False).proved()

    assert accepts(RoundingFile(theory, (proved,)).text(), library)[0] is not None

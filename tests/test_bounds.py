"""Stated bounds of generated code: never exceeded, not empty, and refused by name where there is none."""

from __future__ import annotations

import pytest

from derive.codegen import CodegenError, quantity
from derive.codegen.bounds import Count, NoBound, bound_of
from derive.codegen.forms import ROUNDED
from derive.evidence import bounded
from derive.evidence.bounded import SLACK, share
from derive.language import catalogue, load, loads

UNBOUNDED = {"normalisers.binary"}


@pytest.mark.parametrize("source", catalogue())
def test_no_definition_of_the_catalogue_exceeds_its_bound(source: str) -> None:
    theory = load(source)
    for name in theory.definitions:
        try:
            found = share(quantity(theory, name))
        except NoBound:
            assert f"{source}.{name}" in UNBOUNDED
            continue
        except CodegenError:
            continue
        assert found.kept, (name, found)
        found = share(quantity(theory, name), written=ROUNDED)
        assert found.kept, (name, "to be rounded", found)


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("softmax.s", "(n + 7) u relative to each entry"),
        ("log_sum_exp.log_softmax", "8 u relative to each entry"),
        ("dot_product.score", "d u sum(abs(q[i]*k[i]) for i in d)"),
        ("softmax.shift", "(n + 7) u relative to each entry"),
        ("softmax.vjp", "4 u s[j]*sum(s[i]*abs(g[j] - g[i]) for i in n)"),
    ],
)
def test_bound_in_words(name: str, spoken: str) -> None:
    source, what = name.split(".")
    assert bound_of(quantity(load(source), what).plan()).spoken() == spoken


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["softmax.s", "softmax.vjp", "log_sum_exp.log_softmax", "cross_entropy.gradient", "attention.O"]
)
def test_code_in_its_own_dtype_keeps_its_bound(name: str, dtype: str) -> None:
    source, what = name.split(".")
    found = share(quantity(load(source), what), dtype=dtype)
    assert found.kept and found.components >= 15
    assert found.most > 0.001


def test_reverse_mode_of_softmax_keeps_its_bound() -> None:
    found = share(quantity(load("softmax"), "vjp"), draws=3)
    assert found.kept and found.most > 0.3 and found.components > 200


def test_bounds_are_used_not_empty() -> None:
    found = share(quantity(load("softmax"), "s"), draws=3)
    assert 0.1 < found.most < 1 and found.components > 200


def test_code_that_is_worse_than_it_says_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "_watched", lambda q, wide, written: q.compile("shifted").function)
    assert share(quantity(load("softmax"), "s"), draws=3).most > SLACK


THEORY = loads(
    '''"""Parts with and without a bound."""
n: axis
x: real[n]
a: real
b: real
p: positive
e: real

total = sum(x[k] for k in n)
product = a * b * p
quotient = a / p
gap = a - b
mixed = a * b - p
twice = total ** 2
root = sqrt(total)
kink = where(total > 0, total, 0)
power = p ** e
root_of_sum = sqrt(p + exp(e))
tenth = a / 10 + 0.1
'''
)


@pytest.mark.parametrize(
    ("name", "spoken"),
    [
        ("total", "(n - 1) u sum(abs(x[k]) for k in n)"),
        ("product", "2 u relative to each entry"),
        ("quotient", "1 u relative to each entry"),
        ("gap", "1 u relative to each entry"),
        ("mixed", "2 u (abs(a*b) + p)"),
        ("twice", "(2*n + 2) u sum(abs(x[k]) for k in n)**2"),
        ("root_of_sum", "4 u relative to each entry"),
        ("tenth", "2 u (abs(a/10) + 0.1)"),
    ],
)
def test_each_operation_adds_its_roundings(name: str, spoken: str) -> None:
    assert bound_of(quantity(THEORY, name).plan()).spoken() == spoken
    assert share(quantity(THEORY, name)).kept


@pytest.mark.parametrize(
    ("name", "why"),
    [("root", "a root of a sum that cancels"), ("kink", "a condition depends on rounding"), ("power", "varies")],
)
def test_what_has_no_bound_is_refused_by_name(name: str, why: str) -> None:
    with pytest.raises(NoBound, match=why):
        bound_of(quantity(THEORY, name).plan())


def test_counts_add_and_are_evaluated() -> None:
    count = Count(3, (("n", 2),)) + Count(1, (("m", 1), ("n", 1)))
    assert count.at({"n": 5, "m": 2}) == 4 + 3 * 4 + 1
    assert str(count) == "m + 3*n"
    assert str(Count(2, (("n", 1),)).most(Count(5))) == "n + 4"

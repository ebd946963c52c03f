"""Stated bounds of generated code: never exceeded, not empty, and refused by name where there is none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from derive.codegen import CodegenError, Quantity, quantity, reverse_mode
from derive.codegen.bounds import bound_of
from derive.codegen.counts import Count, NoBound
from derive.codegen.forms import ACCURATE, ROUNDED
from derive.codegen.quantities import variables_of
from derive.evidence import bounded
from derive.evidence.bounded import SLACK, share
from derive.language import catalogue, load, loads
from derive.language.theory import Theory

UNBOUNDED = {
    "saturation.jacobian_size",
    "temperature.derivative_by_temperature",
    "temperature.root_of_dimension_is_a_temperature",
    *(f"worked_examples.{name} by {wrt}" for name in "ph" for wrt in "zT"),
}


def functions(theory: Theory) -> Iterator[tuple[str, Quantity]]:
    """The definitions and right sides of theorems, and of the definitions every reverse mode."""
    for name in [*theory.definitions, *(t.name for t in theory.theorems)]:
        q = quantity(theory, name)
        try:
            q.compile(brief=True)
        except CodegenError:  # a mean
            continue
        yield name, q
        for wrt in variables_of(q.term, q.context) if name in theory.definitions else ():
            with contextlib.suppress(CodegenError):
                yield f"{name} by {wrt}", reverse_mode(theory, name, wrt)


@pytest.mark.parametrize("source", catalogue())
def test_no_function_of_the_catalogue_exceeds_its_bound(source: str) -> None:
    for name, q in functions(load(source)):
        for form in (ACCURATE, ROUNDED):
            try:
                found = share(q, written=form)
            except NoBound:
                assert f"{source}.{name}" in UNBOUNDED
                continue
            except CodegenError:
                continue
            assert found.kept, (name, form.name, found)


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


@pytest.mark.parametrize("name", ["range", "np", "__init__"])
def test_names_that_mean_something_in_the_code_keep_their_bound(name: str) -> None:
    theory = loads(f'"""t"""\n\nn: axis\nz: real[n]\n\n{name}[i] = exp(z[i])\n')
    assert share(quantity(theory, name)).kept


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
power_of_product = (p * p) ** e
power_of_two = 2 ** (a * b)
power_of_sum = total ** e
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
        ("power", "2 u relative to each entry"),
        ("power_of_product", "2 u ((p*p)**e + abs(e)*(p*p)**e)"),
        ("power_of_two", "2 u (2**(a*b) + 2**(a*b)*log(2)*abs(a*b))"),
    ],
)
def test_each_operation_adds_its_roundings(name: str, spoken: str) -> None:
    assert bound_of(quantity(THEORY, name).plan()).spoken() == spoken
    assert share(quantity(THEORY, name)).kept


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("root", "a root of a sum that cancels"),
        ("kink", "a condition depends on rounding"),
        ("power_of_sum", "a power of a sum that cancels"),
    ],
)
def test_what_has_no_bound_is_refused_by_name(name: str, why: str) -> None:
    with pytest.raises(NoBound, match=why):
        bound_of(quantity(THEORY, name).plan())


def test_signs_that_the_kernel_cannot_tell_in_time_are_any() -> None:
    theory = loads(
        '"""T."""\nn: axis\na: real\nT: positive\nu: real[n]\n'
        "f = log(exp(log(sum(exp(where(T > u[i], 1, 1/2)) for i in n))) + exp(exp(a + T) - 1))\n"
    )
    assert quantity(theory, "f").compile()(a=0.0, T=1.0, u=[0.0, 2.0]) > 0


def test_counts_add_and_are_evaluated() -> None:
    count = Count(3, (("n", 2),)) + Count(1, (("m", 1), ("n", 1)))
    assert count.at({"n": 5, "m": 2}) == 4 + 3 * 4 + 1
    assert str(count) == "m + 3*n"
    assert str(Count(2, (("n", 1),)).most(Count(5))) == "n + 4"

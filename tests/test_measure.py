"""Measurements: errors in ulp against references that are right, on inputs that meet the hypotheses."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from derive.codegen import Compiled, quantity
from derive.evidence import measure as measuring
from derive.evidence.inputs import FAMILIES, admitted, draws
from derive.evidence.measure import Measurement, Row, compiled_variants, hexadecimal, inputs_of, measure
from derive.evidence.peers import peer
from derive.evidence.second import Disagreement
from derive.evidence.ulp import FORMATS, Reference, binade, error, reference
from derive.language import load, loads

SOFTMAX, CROSS_ENTROPY, DOT_PRODUCT = load("softmax"), load("cross_entropy"), load("dot_product")
DOUBLE, SINGLE, HALF, BRAIN = (FORMATS[name] for name in ("float64", "float32", "float16", "bfloat16"))


@pytest.fixture(scope="module")
def softmax() -> Measurement:
    return measure(SOFTMAX, "s")


def row(found: Measurement, variant: str, dtype: str, family: str) -> Row:
    (one,) = [r for r in found.rows if (r.variant, r.dtype, r.family) == (variant, dtype, family)]
    return one


# -- rounding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMATS.values(), ids=str)
def test_rounding_agrees_with_the_dtype(form: object) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal(300) * 2.0 ** rng.integers(-40, 20, 300)
    with np.errstate(over="ignore"):
        expected = values.astype(form.dtype).astype(np.float64)
    assert [form.rounded(Fraction(float(v))) for v in values] == expected.tolist()


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (Fraction(1) + Fraction(1, 2**24), 1.0),  # a tie goes to the even neighbour
        (Fraction(1) + Fraction(3, 2**24), 1.0 + 2**-22),
        (Fraction(2) ** 128 - 2**103, math.inf),
        (Fraction(2) ** 128 - 2**103 - 1, 2.0**128 - 2.0**104),
        (-(Fraction(2) ** 200), -math.inf),
        (Fraction(1, 2**150), 0.0),
        (Fraction(3, 2**150), 2.0**-148),
        (Fraction(0), 0.0),
    ],
)
def test_rounding_to_single_at_ties_overflow_and_underflow(value: Fraction, rounded: float) -> None:
    assert SINGLE.rounded(value) == rounded


def test_ulp_is_the_spacing_of_the_format() -> None:
    for value in (1.0, 1.5, 2.0, 1e300, 1e-310, 0.1):
        assert float(DOUBLE.ulp(Fraction(value))) == np.spacing(value)
    assert binade(Fraction(1, 3)) == -2
    assert binade(Fraction(-8)) == 3


def test_errors_are_counted_from_the_true_value() -> None:
    true = Reference(1.0, Fraction(1) + Fraction(1, 2**54))
    assert error(1.0, true, DOUBLE) == 0.25
    assert error(1.0 + 2**-52, true, DOUBLE) == 0.75
    assert error(math.nan, true, DOUBLE) == math.inf
    assert error(math.inf, true, DOUBLE) == math.inf
    assert error(math.inf, Reference(math.inf, Fraction(2) ** 1024), DOUBLE) == 0


def test_wide_ball_is_no_reference() -> None:
    with ctx.workprec(200):
        third = arb(1) / 3
        assert reference(third, DOUBLE) == Reference(1 / 3, reference(third, DOUBLE).exact)
        assert reference(arb(1, arb(2) ** -53), DOUBLE) is None  # the ends round apart
        assert reference(arb(1, arb(2) ** -60), DOUBLE) is None  # they round alike, but the error would be vague
        assert reference(fmpq(1, 10), HALF).value == float(np.float16(0.1))


# -- inputs ------------------------------------------------------------------------------------------------------------


def families_of(name: str, theory: object = SOFTMAX, form: object = DOUBLE) -> list:
    q = quantity(theory, name)
    return list(inputs_of(q, compiled_variants(q), form, 0))


def test_families_hold_the_cases_that_break_codes() -> None:
    inputs = families_of("s")
    assert {i.family for i in inputs} == {f.name for f in FAMILIES}
    scores = [i.arrays["z"] for i in inputs]
    assert any(len(z) == 1 for z in scores)
    assert any(len(z) % 2 and len(z) > 10 for z in scores)
    assert any(z.min() > 9_000 for z in scores)
    assert any(z.tolist() == [1000, 10, 5] for z in scores)
    assert any(np.sort(z)[-1] - np.sort(z)[-2] > 25 for z in scores if len(z) > 3)
    assert any(np.sort(z)[-1] == np.sort(z)[-2] for z in scores if len(z) > 1)
    assert any(np.ptp(z) > 200 for z in scores)


def test_same_seed_gives_same_inputs_and_another_seed_others() -> None:
    q = quantity(SOFTMAX, "s")
    arguments = q.compile().arguments
    first, again, other = (
        [i.arrays["z"].tolist() for i in draws(q.context, arguments, [q.term], "float64", seed)] for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("form", [DOUBLE, SINGLE, HALF, BRAIN], ids=lambda f: f.name)
def test_prescribed_sums_hold_exactly_for_the_stored_numbers(form: object) -> None:
    inputs = families_of("gradient", CROSS_ENTROPY, form)
    assert inputs
    for i in inputs:
        assert i.arrays["y"].dtype == form.dtype
        assert sum(Fraction(float(v)) for v in i.arrays["y"]) == 1


def test_only_scores_are_stretched() -> None:
    for i in families_of("vjp"):
        assert np.abs(i.arrays["g"]).max() < 10


HYPOTHESES = loads(
    '''"""T."""
n: axis
x: real
p: positive
W: real[n, n]
b: bit
t: index[n]
z: real[n]
f = x * p + z[t] * b + sum(W[i, i] for i in n)
def bounded():
    assume(n >= 2)
    assume(0 < x < 1)
    assert f == x * p + z[t] * b + sum(W[i, i] for i in n)
def impossible():
    assume(x < p)
    assume(p < x)
    assert f == x * p
'''
)


def test_draws_meet_the_hypotheses() -> None:
    inputs = families_of("bounded", HYPOTHESES)
    assert inputs
    for i in inputs:
        assert 0 < i.arrays["x"] < 1
        assert i.arrays["p"] > 0
        assert i.arrays["b"] in (0, 1)
        assert 0 <= i.indices["t"] < i.sizes["n"]
        assert i.sizes["n"] >= 2
    context = quantity(HYPOTHESES, "bounded").context
    outside = replace(inputs[0], arrays={**inputs[0].arrays, "x": np.array(2.0)})
    assert admitted(context, inputs[0])
    assert not admitted(context, outside)


def test_impossible_hypotheses_leave_no_input() -> None:
    assert families_of("impossible", HYPOTHESES) == []
    assert measure(HYPOTHESES, "impossible").rows == ()


# -- measurements ------------------------------------------------------------------------------------------------------


def test_overflow_of_the_naive_form_is_shown_as_overflow(softmax: Measurement) -> None:
    for dtype in ("float64", "float32"):
        naive, shifted = (row(softmax, v, dtype, "1000, 10, 5") for v in ("naive", "shifted"))
        assert naive.overflow
        assert naive.nan == 1
        assert not shifted.overflow
        assert softmax.worst("naive", dtype).overflow
        assert not softmax.worst("shifted", dtype).overflow


def test_shift_loses_accuracy_where_scores_are_spread(softmax: Measurement) -> None:
    """The rounded difference z - m, multiplied by exp: hundreds of ulp at a spread of 100, a few without the shift."""
    naive, shifted = (row(softmax, v, "float64", "spread 100") for v in ("naive", "shifted"))
    assert naive.max_ulp < 5
    assert 20 < shifted.max_ulp < 1000


def test_plain_inputs_lose_a_few_ulp(softmax: Measurement) -> None:
    for variant in ("naive", "shifted"):
        for family in ("one entry", "small", "odd size"):
            assert row(softmax, variant, "float64", family).max_ulp < 8
    assert row(softmax, "shifted", "float64", "one entry").max_ulp == 0


def test_lost_digits_of_a_dominant_score_are_counted_as_lost() -> None:
    found = row(measure(SOFTMAX, "diagonal", ("float64",)), "shifted", "float64", "one dominant")
    assert found.lost > 0
    assert found.max_ulp > 1e10


@pytest.mark.parametrize(("value", "text"), [
    (1.5, "0x1.8p+0"), (4.0, "0x1p+2"), (0.0, "0x0p+0"), (-0.1, "-0x1.999999999999ap-4"),
    (5e-324, "0x0.0000000000001p-1022"), (math.inf, "inf"),
])  # fmt: skip
def test_hexadecimal_is_exact_and_ends_in_no_zeros(value: float, text: str) -> None:
    assert hexadecimal(value) == text
    assert float.fromhex(text) == value


def test_worst_input_reproduces_its_error(softmax: Measurement) -> None:
    worst = row(softmax, "shifted", "float64", "spread 100").worst
    assert worst is not None
    z = np.array([float.fromhex(text) for text in worst.inputs_hex["z"]])
    assert z.tolist() == [float(text) for text in worst.inputs["z"]]
    computed = quantity(SOFTMAX, "s").compile("shifted")(z)[worst.place]
    assert float(computed) == float.fromhex(worst.computed_hex)
    assert worst.computed == repr(float(computed))
    assert abs(Fraction(float(computed)) - Fraction(float.fromhex(worst.true_hex))) / DOUBLE.ulp(
        Fraction(float.fromhex(worst.true_hex))
    ) == pytest.approx(worst.ulp, abs=0.51)


def test_measurement_is_the_same_each_time_and_plain_data(softmax: Measurement) -> None:
    assert measure(SOFTMAX, "s") == softmax
    assert json.loads(json.dumps(asdict(softmax)))["rows"]


def test_mpmath_confirms_a_sample(softmax: Measurement) -> None:
    assert softmax.opinions > 0
    assert softmax.undefined == 0


def test_disagreement_of_the_second_opinion_stops_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def contradict(*_: object) -> bool:
        raise Disagreement("enclosed elsewhere")

    monkeypatch.setattr(measuring, "confirmed", contradict)
    with pytest.raises(Disagreement):
        measure(SOFTMAX, "s", ("float64",))


def test_true_values_that_are_off_stop_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the enclosures themselves, of one part in 2**60, is seen by mpmath."""
    right = measuring.truths

    def off(*arguments: Any) -> list[Any]:
        return [t and replace(t, ball=t.ball * (1 + arb(2) ** -60)) for t in right(*arguments)]

    measure(SOFTMAX, "s", ("float64",))
    monkeypatch.setattr(measuring, "truths", off)
    with pytest.raises(Disagreement, match="but mpmath finds"):
        measure(SOFTMAX, "s", ("float64",))


def test_wrong_code_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """One part in a thousand million is nothing to a tolerance, and four million ulp."""
    right = Compiled.__call__
    monkeypatch.setattr(Compiled, "__call__", lambda self, *a, **k: right(self, *a, **k) * (1 + 1e-9))
    found = measure(SOFTMAX, "s", ("float64",))
    assert row(found, "naive", "float64", "small").max_ulp > 1e6


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_formats_are_measured_in_their_own_ulp(dtype: str) -> None:
    found = measure(SOFTMAX, "s", (dtype,))
    assert 0 < row(found, "shifted", dtype, "small").max_ulp < 8


@pytest.mark.parametrize(
    ("theory", "name", "variants"),
    [
        (CROSS_ENTROPY, "loss", ("naive", "shifted", "corrected", "accurate")),
        (CROSS_ENTROPY, "gradient", ("naive", "shifted", "corrected", "accurate")),
        (SOFTMAX, "vjp", ("naive", "shifted", "corrected", "mean", "steady", "accurate")),
        (DOT_PRODUCT, "score", ("naive",)),
        (DOT_PRODUCT, "general_variance", ("naive",)),
        (DOT_PRODUCT, "standard_deviation", ("naive",)),
    ],
)
def test_any_quantity_is_measured(theory: object, name: str, variants: tuple[str, ...]) -> None:
    found = measure(theory, name, ("float64",))
    assert found.variants == variants
    assert len(found.rows) == len(FAMILIES) * len(variants)
    assert sum(r.components for r in found.rows) > 0
    assert found.opinions > 0


# -- peers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theory", "name", "function"),
    [
        ("softmax", "s", "softmax"),
        ("softmax", "shift_by_maximum", "softmax"),
        ("log_sum_exp", "log_softmax", "log_softmax"),
        ("log_sum_exp", "log_of_softmax", "log_softmax"),
        ("log_sum_exp", "lse", "logsumexp"),
        ("softmax", "Z", None),
        ("softmax", "diagonal", None),
        ("softmax", "vjp", None),
        ("cross_entropy", "loss", None),
        ("temperature", "p", None),
        ("sigmoid", "value", "expit"),
    ],
)
def test_scipy_is_found_by_the_formula(theory: str, name: str, function: str | None) -> None:
    pytest.importorskip("scipy")
    found = peer(quantity(load(theory), name))
    assert (found and found.name) == function


@pytest.mark.parametrize(
    ("formula", "function"),
    [
        ("log(1/(1 + exp(-x)))", "log_expit"),
        ("log(x) - log(1 - x)", None),
        ("log(x/(1 - x))", "logit"),
        ("erf(x)", "erf"),
        ("x", None),
    ],
)
def test_scipy_has_functions_of_one_number(formula: str, function: str | None) -> None:
    pytest.importorskip("scipy")
    theory = loads(f'"""T."""\nx: real\nf = {formula}\n')
    found = peer(quantity(theory, "f"))
    assert (found and found.name) == function


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_of_scipy_are_rounded_to_the_dtype(dtype: str) -> None:
    """Some of its functions take narrow numbers and give wide ones, which are no results in the dtype."""
    pytest.importorskip("scipy")
    found = measure(loads('"""T."""\nx: real\nf = sigmoid(x)\n'), "f", (dtype,))
    assert 0.3 < found.worst("scipy", dtype).max_ulp <= 0.51


def test_scipy_loses_the_digits_of_a_confident_output() -> None:
    pytest.importorskip("scipy")
    found = measure(load("log_sum_exp"), "log_softmax", ("float64",))
    assert found.variants[-2:] == ("scipy", "accurate")
    assert row(found, "scipy", "float64", "one dominant").lost > 0
    assert row(found, "accurate", "float64", "one dominant").max_ulp < 2

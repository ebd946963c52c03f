"""Forms that keep their digits: their errors in ulp, and proofs that they are equal to what is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from derive.codegen import Compiled, Quantity, compile_quantity, quantity, reverse_mode
from derive.codegen.forms import FORMS, ROUNDED, form_of
from derive.codegen.prepare import prepared
from derive.codegen.rows import STEADY, free_rows, rounded_rows, rows
from derive.codegen.scalar import SCALARS, TEXTS
from derive.codegen.stable import stabilised
from derive.engine.check import check_theory
from derive.engine.prove import prove
from derive.evidence.inputs import Inputs, plain
from derive.evidence.measure import measure
from derive.evidence.oracle import truths
from derive.evidence.ulp import FORMATS
from derive.kernel.context import Declaration
from derive.language import catalogue, load, loads
from derive.language.places import transform
from derive.term import cmp, var

SOFTMAX, LOGS, CROSS = load("softmax"), load("log_sum_exp"), load("cross_entropy")
Draw = Callable[[np.random.Generator], np.ndarray]


def ahead(rng: np.random.Generator, by: float) -> np.ndarray:
    z = rng.standard_normal(20)
    z[rng.integers(20)] += by
    return z


def masked(rng: np.random.Generator) -> np.ndarray:
    z = 3 * rng.standard_normal(12)
    z[1:][rng.random(11) < 0.4] = -np.inf
    return z


SCORES: dict[str, Draw] = {
    "normal": lambda rng: rng.standard_normal(17),
    "few": lambda rng: rng.standard_normal(3),
    "many": lambda rng: rng.standard_normal(1000),
    "spread 10": lambda rng: 10 * rng.standard_normal(100),
    "spread 100": lambda rng: 100 * rng.standard_normal(100),
    "spread 1000": lambda rng: 1000 * rng.standard_normal(20),
    "offset 10000": lambda rng: 1e4 + rng.standard_normal(50),
    "one ahead": lambda rng: ahead(rng, rng.uniform(3, 40)),
    "dominant": lambda rng: ahead(rng, rng.uniform(40, 90)),
    "gap 50": lambda rng: np.concatenate([[0.0], -50 + rng.standard_normal(20)]),
    "ties": lambda rng: rng.integers(-1, 2, 6).astype(float),
    "tiny": lambda rng: 2.0**-30 * rng.standard_normal(5),
    "wide range": lambda rng: rng.uniform(-700, 0, 30),
    "masked": masked,
    "one": lambda rng: rng.standard_normal(1),
}


def errors(q: Quantity, code: Compiled, scores: Draw, dtype: str, draws: int = 6) -> float:
    """The largest error in ulp of normal results, and of all that vanish, that the code makes on these scores."""
    form, worst = FORMATS[dtype], 0.0
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        z = scores(rng).astype(form.dtype)
        n, order = len(z), np.argsort(z.astype(float))
        y = np.zeros(n)
        y[order[-1] if seed % 2 else order[0]] = 1  # the label is the best score, or the worst
        arrays = {"z": z, "y": y.astype(form.dtype), "g": rng.standard_normal(n).astype(form.dtype)}
        inputs = Inputs("drawn", seed, {"n": n}, {}, {k: v for k, v in arrays.items() if k in q.context.declarations})
        places = [tuple(p) for p in np.ndindex(*[n] * len(q.letters))]
        true = truths(q.term, plain(q.context), inputs, q.letters, places, form)
        with np.errstate(all="raise"):  # no warning either
            found = np.asarray(code(**{a.name: arrays[a.name] for a in code.arguments}))
        assert found.dtype == form.dtype
        for place, value in zip(places, true, strict=True):
            if value is not None and (value.value == 0 or abs(value.value) >= 2.0**form.least):
                worst = max(worst, value.error(float(found[place])))
    return worst


QUANTITIES: dict[str, tuple[Quantity, float]] = {
    "softmax": (quantity(SOFTMAX, "s"), 3.5),
    "log_softmax": (quantity(LOGS, "log_softmax"), 2),
    "logsumexp": (quantity(LOGS, "lse"), 2),
    "loss": (quantity(CROSS, "loss"), 2),
    "gradient": (quantity(CROSS, "gradient"), 3.5),
}


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("name", QUANTITIES)
def test_results_are_right_to_a_few_units_of_the_last_place(name: str, scores: str) -> None:
    q, bound = QUANTITIES[name]
    if name == "logsumexp" and scores in ("few", "one"):
        bound = math.inf  # near 0 the maximum and the logarithm cancel: ill conditioned, whatever the form
    if name == "loss" and scores == "masked":
        pytest.skip("a label of 0 at a score of minus infinity: 0 times infinity, which the formula leaves open")
    assert errors(q, q.compile(), SCORES[scores], "float64") <= bound


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", QUANTITIES)
def test_narrow_results_are_rounded_once(name: str, dtype: str) -> None:
    q, _ = QUANTITIES[name]
    for scores in ("normal", "few", "spread 10", "one ahead", "ties"):
        if (name, scores) != ("logsumexp", "few"):
            assert errors(q, q.compile(), SCORES[scores], dtype) <= 0.501


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_narrow_reverse_mode_is_rounded_once(dtype: str) -> None:
    """Computed in the cheap form for what is rounded, whatever dominates; a constant cotangent gives nothing at all."""
    q = reverse_mode(SOFTMAX, "s", "z")
    for scores in ("normal", "many", "few", "spread 10", "one ahead", "dominant", "ties"):
        assert errors(q, q.compile(), SCORES[scores], dtype, 3) <= 0.501, scores
    z = SCORES["normal"](np.random.default_rng(0)).astype(np.float32)
    np.testing.assert_array_equal(q.compile()(np.full_like(z, 0.1), z), 0)


SCALED = loads(
    '"""T."""\nn: axis\nz: real[n]\ny: real[n]\nT: positive\nc: real\nW = sum(exp(z[k]/T) for k in n)\n'
    "quotient[i] = exp(z[i]/T)/W\nproduct[i] = exp(c*z[i])/sum(exp(z[k]*c) for k in n)\n"
    "logarithm[i] = log(quotient[i])\nlse = log(W)\ndifference[i] = z[i]/T - lse\ngradient[i] = quotient[i] - y[i]\n"
)


@pytest.mark.parametrize("name", ["quotient", "product", "logarithm", "lse", "difference", "gradient"])
def test_scores_over_a_factor_keep_their_digits(name: str) -> None:
    """A temperature is divided by after the scores are subtracted, and what the quotient loses is put back."""
    q, bound = quantity(SCALED, name), 3.5 if name in ("quotient", "product", "gradient") else 2
    code, shifted = q.compile(brief=True), q.compile("shifted", brief=True)
    found: dict[Compiled, list[float]] = {code: [], shifted: []}
    for family, draw in SCORES.items():
        if name == "lse" and family in ("few", "one"):
            continue  # near 0 the maximum and the logarithm cancel
        for seed in range(3):
            rng = np.random.default_rng(seed)
            z, y = draw(rng), np.zeros(1)
            y = np.where(np.arange(len(z)) == np.argmax(z), 1.0, 0.0)
            scale = {"T": np.array(rng.choice([0.1, 0.3, 1.3, 7.7])), "c": np.array(rng.choice([0.1, -0.7, 1.3, 7.7]))}
            if name == "product" and family == "masked":
                scale["c"] = np.abs(scale["c"])
            arrays = {k: v for k, v in {"z": z, "y": y, **scale}.items() if k in {a.name for a in code.arguments}}
            inputs = Inputs("drawn", seed, {"n": len(z)}, {}, arrays)
            places = [tuple(p) for p in np.ndindex(*[len(z)] * len(q.letters))]
            true = truths(q.term, q.context, inputs, q.letters, places, FORMATS["float64"])
            for which, errors_of in found.items():
                result = np.asarray(which(**arrays))
                errors_of += [
                    t.error(float(result[place]))
                    for place, t in zip(places, true, strict=True)
                    if t is not None and abs(t.value) >= 2.0**-1022
                ]
    assert max(found[code]) <= bound
    assert name == "lse" or max(found[shifted]) > 100


def test_shifted_code_loses_what_these_forms_keep() -> None:
    """The measurement can fail: of a confident output, the shifted form keeps no digit of the gradient."""
    q, _ = QUANTITIES["gradient"]
    assert errors(q, q.compile("shifted"), SCORES["dominant"], "float64") > 1e10
    assert errors(q, q.compile("shifted", wide=False), SCORES["one ahead"], "float32") > 100


def test_reverse_mode_is_within_its_condition() -> None:
    """Componentwise 4u s_i sum(s_j abs(g_i - g_j)), by enclosures; what is not carried as two numbers is not."""
    q = reverse_mode(SOFTMAX, "s", "z")
    theory = loads(
        '"""T."""\nfrom softmax import n, z, s\ng: real[n]\nb[i] = s[i]*sum(s[j]*abs(g[i] - g[j]) for j in n)\n'
    )
    size = quantity(theory, "b")
    ratios: dict[str, list[float]] = {"accurate": [], "steady": [], "shifted": []}
    codes = {form: q.compile(form, brief=True) for form in ratios}
    for draw in SCORES.values():
        for seed in range(4):
            rng = np.random.default_rng(seed)
            z = draw(rng)[:100]
            g = rng.standard_normal(len(z)) + (1000 if seed == 3 else 0)
            inputs = Inputs("drawn", seed, {"n": len(z)}, {}, {"z": z, "g": g})
            places = [(i,) for i in range(len(z))]
            true = truths(q.term, q.context, inputs, q.letters, places, FORMATS["float64"])
            scale = truths(size.term, size.context, inputs, size.letters, places, FORMATS["float64"])
            told, of = with_condition(z[None], g[None])
            for form, found in ratios.items():
                result = codes[form](g, z)
                for i, (t, s) in enumerate(zip(true, scale, strict=True)):
                    if t is not None and s is not None and s.value > 1e-290:
                        assert abs(told[0, i] - t.value) <= 1.1 * 2.0**-53 * s.value  # the other reference agrees
                        assert of[0, i] == pytest.approx(s.value, rel=1e-15)
                        off = abs(t.error(float(result[i]))) * 2.0**t.unit
                        found.append(off / (s.value * 2.0**-53))
    assert max(ratios["accurate"]) <= 4
    assert max(ratios["steady"]) <= 8
    assert max(ratios["shifted"]) > 1e10


def with_condition(z: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s_i sum(s_j (g_i - g_j)) and s_i sum(s_j abs(g_i - g_j)) of each row, in extended precision.

    Neighbours in the order of g differ by steps, which are added up from both sides: nothing cancels but the last two.
    """
    wide = np.longdouble
    m = np.max(z, axis=-1, keepdims=True)
    with np.errstate(all="ignore"):
        d = z - m
        b = d - z
        e = np.nan_to_num((z - (d - b)) - (m + b))
    share = np.exp(wide(d)) * (1 + wide(e))
    share /= np.sum(share, axis=-1, keepdims=True)
    order = np.argsort(g, axis=-1)
    s, x = (np.take_along_axis(a, order, axis=-1) for a in (share, wide(g)))
    steps = np.diff(x, axis=-1)
    below, above = np.zeros_like(s), np.zeros_like(s)
    below[:, 1:] = np.cumsum(steps * np.cumsum(s, axis=-1)[:, :-1], axis=-1)
    after = np.cumsum(s[:, ::-1], axis=-1)[:, ::-1][:, 1:]
    above[:, :-1] = np.cumsum((steps * after)[:, ::-1], axis=-1)[:, ::-1]
    value, size = np.empty_like(s), np.empty_like(s)
    np.put_along_axis(value, order, s * (below - above), axis=-1)
    np.put_along_axis(size, order, s * (below + above), axis=-1)
    return value, size


Pairs = Iterator[tuple[str, np.ndarray, np.ndarray]]


def many(rng: np.random.Generator, rows: int, n: int) -> Pairs:
    """Scores and cotangents: of all families, so many rows each."""

    def normal() -> np.ndarray:
        return rng.standard_normal((rows, n))

    def ahead_by(low: float, high: float) -> np.ndarray:
        z = normal()
        z[np.arange(rows), rng.integers(n, size=rows)] += rng.uniform(low, high, rows)
        return z

    for spread in (1, 10, 100, 1000):
        yield f"spread {spread}", spread * normal(), normal()
    yield "offset", 1e4 + normal(), 1000 + normal()
    yield "ties", rng.integers(-1, 2, (rows, n)).astype(float), normal()
    yield "tiny", 2.0**-30 * normal(), normal()
    yield "wide range", rng.uniform(-700, 0, (rows, n)), normal()
    yield "a little ahead", ahead_by(3, 12), normal()
    yield "ahead", ahead_by(3, 40), normal()
    yield "dominant", ahead_by(40, 90), 1000 + normal()
    masked = 3 * normal()
    masked[:, 1:][rng.random((rows, n - 1)) < 0.4] = -np.inf
    yield "masked", masked, normal()
    g = normal()
    g[:, n // 2 :] = g[:, : n - n // 2] + 1e-3 * rng.standard_normal((rows, n - n // 2))
    yield "two of a kind", normal(), g
    yield "signs", normal(), rng.choice([-1.0, 1.0], (rows, n))
    yield "wide cotangents", 3 * normal(), normal() * 10.0 ** rng.uniform(-8, 8, (rows, n))
    yield "opposed", 5 * (z := normal()), normal() * np.exp(-5 * z)
    yield "few values", rng.integers(-8, 9, (rows, n)) / 2, rng.integers(-3, 4, (rows, n)).astype(float)


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no extended precision here to compare with")
@pytest.mark.parametrize("n", [2, 3, 17, 100, 1000, 20000])
def test_reverse_mode_keeps_its_bound_on_many_components(n: int) -> None:
    code = reverse_mode(SOFTMAX, "s", "z").compile()
    seen = 0
    for family, z, g in many(np.random.default_rng(n), max(2, 40_000 // n), n):
        value, size = with_condition(z, g)
        ordinary = size > 1e-290
        off = np.abs(code(g, z) - value)[ordinary] / (size[ordinary] * 2.0**-53)
        assert np.max(off, initial=0) <= 4, family
        seen += off.size
    assert seen > 300_000


@pytest.mark.parametrize("wide", [np.float64, np.longdouble])
def test_doubled_numbers_are_what_they_say(wide: type) -> None:
    """Each snippet against extended precision; in a wider dtype it still gives the value."""
    source = reverse_mode(SOFTMAX, "s", "z").compile().source
    space: dict[str, Any] = {}
    exec(compile(source, "<test>", "exec"), space)  # our own source
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-50, 50, (3, 40)).astype(wide), rng.uniform(-50, 50, (3, 1)).astype(wide)
    e = space["_doubled_exp"](x, y)
    with np.errstate(all="ignore"):
        edges = space["_doubled_exp"](np.array([-np.inf, np.inf, np.nan, -745.0, -800.0, 0.0], wide), np.zeros(1, wide))
    np.testing.assert_array_equal(edges[0], np.exp(np.array([-np.inf, np.inf, np.nan, -745.0, -800.0, 0.0], wide)))
    assert not edges[1, [0, 3, 4, 5]].any()
    if wide is np.float64:
        true = np.exp(np.longdouble(x) - np.longdouble(y))
        assert np.max(np.abs(np.sum(np.longdouble(e), axis=0) / true - 1)) < 0.3 * 2.0**-53
        assert np.all(e[0].view(np.int64) % 2**27 == 0)
    else:
        np.testing.assert_allclose(e[0] + e[1], np.exp(x - y), rtol=1e-17)
    gap = space["_doubled_difference"](x, y)
    np.testing.assert_array_equal(np.longdouble(gap[0]) + gap[1], np.longdouble(x) - y)
    whole, dot = space["_doubled_sum"](e), space["_doubled_dot"](e, gap)
    terms = (np.longdouble(e[0]) + e[1]) * (np.longdouble(gap[0]) + gap[1])
    ratio = space["_doubled_quotient"](dot, whole)
    for found, expected in (
        (whole, np.sum(np.longdouble(e[0]) + e[1], axis=-1)),
        (dot, np.sum(terms, axis=-1)),
        (ratio, (np.longdouble(dot[0]) + dot[1]) / (np.longdouble(whole[0]) + whole[1])),
    ):
        np.testing.assert_allclose(np.longdouble(found[0]) + found[1], expected, rtol=1e-17)


SPREADS = loads(
    '"""T."""\nfrom softmax import n, z, s, Z\nT: positive\nc: real\np[i] = exp(z[i]/T)/sum(exp(z[k]/T) for k in n)\n'
    "trace = 1 - sum(s[i]**2 for i in n)\nless = sum(s[i]**2 for i in n) - 1\n"
    "entropy = log(Z) - sum(s[i]*z[i] for i in n)\nnegative = sum(z[k]*s[k] for k in n) - log(Z)\n"
    "warm = log(sum(exp(z[k]/T) for k in n)) - sum(p[k]*z[k] for k in n)/T\nplain = -sum(s[k]*log(s[k]) for k in n)\n"
    "other = log(Z) - sum(p[k]*z[k] for k in n)\nfree = T*log(Z)\nsquares = 2 - sum(s[i]**2 for i in n)\n"
)


@pytest.mark.parametrize("name", ["trace", "less", "entropy", "negative", "warm", "plain"])
def test_spreads_keep_their_digits_at_a_confident_maximum(name: str) -> None:
    q = quantity(SPREADS, name)
    code, shifted = q.compile(brief=True), q.compile("shifted", brief=True)
    found: dict[Compiled, list[float]] = {code: [], shifted: []}
    for family, draw in SCORES.items():
        for seed in range(0 if family in ("masked", "spread 1000") else 3):
            z = draw(np.random.default_rng(seed))
            arrays = {"z": z, "T": np.array(0.7)} if name == "warm" else {"z": z}
            inputs = Inputs("drawn", seed, {"n": len(z)}, {}, arrays)
            (true,) = truths(q.term, q.context, inputs, (), [()], FORMATS["float64"])
            for which, off in found.items():
                off.append(true.error(float(which(**arrays))) if true and true.value else 0)
    assert max(found[code]) <= 3.5
    assert max(found[shifted]) > 1e10


def test_spreads_of_other_sums_are_left_alone() -> None:
    """Weights of one softmax with the sum of another, another number than 1, and a factor that is no entry."""
    applied = {n: {r.name for r in quantity(SPREADS, n).compile(brief=True).rewrites} for n in SPREADS.definitions}
    assert "squares" in applied["trace"] and "entropy" in applied["warm"] and "absent" in applied["plain"]
    for name in ("other", "free", "squares"):
        assert applied[name].isdisjoint({"squares", "entropy", "absent"})


# -- conventions -------------------------------------------------------------------------------------------------------


def test_masked_scores_give_exact_zeros() -> None:
    z = np.array([1.0, -np.inf, 2.0, -np.inf])
    s = quantity(SOFTMAX, "s").compile()(z)
    assert s[1] == s[3] == 0 and s.sum() == pytest.approx(1)
    np.testing.assert_array_equal(quantity(LOGS, "log_softmax").compile()(z)[[1, 3]], -np.inf)
    np.testing.assert_array_equal(quantity(CROSS, "gradient").compile()(z, [1.0, 0, 0, 0])[[1, 3]], 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_of_zero_at_masked_scores_do_not_count(dtype: type) -> None:
    """0 times the logarithm of 0 is 0; another label there costs infinity; nothing hides what is no number."""
    loss, entropy = quantity(CROSS, "loss").compile(), quantity(SPREADS, "plain").compile()
    z, y = np.array([1.0, -np.inf, 2.0, -np.inf], dtype), np.array([0.25, 0, 0.75, 0], dtype)
    assert loss(z, y) == loss(z[[0, 2]], y[[0, 2]])
    assert entropy(z) == pytest.approx(entropy(z[[0, 2]]))
    batch = loss(np.array([z, z, [np.nan, 0, 0, 0]], dtype), np.array([y, [0, 1, 0, 0], y], dtype))
    assert batch[0] == loss(z, y) and batch[1] == np.inf and np.isnan(batch[2])
    with np.errstate(all="ignore"):
        assert np.isnan(quantity(CROSS, "loss").compile("shifted")(z, y))


@pytest.mark.parametrize("row", [[-np.inf, -np.inf], [np.inf, 0.0], [np.nan, 0.0]])
def test_rows_without_a_value_are_nan_and_leave_the_others_alone(row: list[float]) -> None:
    s = quantity(SOFTMAX, "s").compile()([row, [0.0, 0.0]])
    assert np.isnan(s[0]).any()
    np.testing.assert_array_equal(s[1], [0.5, 0.5])


FILTERED, MULTIPLIED = "sum(exp(z[k]) for k in n if mask[k])", "sum(mask[k]*exp(z[k]) for k in n)"


@pytest.mark.parametrize("visible", [FILTERED, MULTIPLIED])
def test_masked_weights_do_not_depend_on_what_is_masked(visible: str) -> None:
    theory = loads(f"n: axis\nz: real[n]\nmask: bit[n]\ns = {visible}\nlse = log(s)\np[i] = mask[i]*exp(z[i])/s\n")
    z, mask = np.array([0.0, 1.0, 5000.0]), np.array([[1, 1, 0], [0, 0, 0]])
    expected = np.exp([0.0, 1.0]) / np.exp([0.0, 1.0]).sum()
    weights = quantity(theory, "p").compile()(z, mask)
    np.testing.assert_allclose(weights[0], [*expected, 0], rtol=1e-15)
    assert np.isnan(weights[1]).all()
    assert quantity(theory, "lse").compile()(z, mask[0]) == pytest.approx(np.log(1 + np.e))


@pytest.mark.parametrize("visible", [FILTERED, MULTIPLIED])
def test_nothing_is_carried_back_through_what_is_hidden(visible: str) -> None:
    theory = loads(f"n: axis\nz: real[n]\nmask: bit[n]\ns = {visible}\np[i] = mask[i]*exp(z[i])/s\n")
    vjp = reverse_mode(theory, "p", "z").compile()
    g, mask = np.array([1.0, 2.0, 3.0]), np.array([[1, 1, 0], [0, 0, 0]])
    near, far = (vjp(g, np.array([0.0, 1.0, last]), mask) for last in (2.0, 5000.0))
    slope = 1 / (1 + np.e) * np.e / (1 + np.e)
    np.testing.assert_allclose(far, [[-slope, slope, 0], [0, 0, 0]], rtol=1e-14)
    np.testing.assert_array_equal(near, far)


def test_bit_before_an_exponential_that_is_summed_is_a_filter() -> None:
    """The two sums are one by a proof; bits of other letters, and numbers that are no bits, stay factors."""
    head = "n: axis\nz: real[n]\nmask: bit[n]\nw: real[n]\n"
    (theorem,) = check_theory(loads(f"{head}assert {MULTIPLIED} == {FILTERED}\n")).theorems
    assert theorem.verdict == "proved"
    theory = loads(
        f"{head}a[i] = sum(mask[i]*exp(z[k]) for k in n)\nb = sum(w[k]*exp(z[k]) for k in n)\nc = {MULTIPLIED}\n"
    )
    quantities = {name: quantity(theory, name) for name in "abc"}
    found = {name: prepared(q.term, q.context)[1].definitions[name].body.args[1].op for name, q in quantities.items()}
    assert found == {"a": "true", "b": "true", "c": "holds"}


def test_own_dtype_is_kept_throughout_on_request() -> None:
    z = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    wide, narrow = (quantity(SOFTMAX, "s").compile(wide=w) for w in (True, False))
    assert "np.float64)" in wide.source.split("def s(")[1] and "promote" not in narrow.source
    assert wide(z).dtype == narrow(z).dtype == np.float32
    assert 0 < np.abs(wide(z) - narrow(z)).max() < 4 * 2.0**-24 * wide(z).max()


# -- proofs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row", dict.fromkeys([*rows(STEADY), *free_rows(STEADY), *rounded_rows()]), ids=lambda r: r.name
)
def test_every_row_names_a_proved_theorem(row: Any) -> None:
    theory, theorem = row.theorem.split(".")
    assert check_theory(load(theory), only=theorem)[theorem].verdict == "proved"


@pytest.mark.parametrize(
    "name", ["softmax.s", "softmax.vjp", "softmax.jacobian", "softmax.diagonal", "log_sum_exp.lse",
             "log_sum_exp.log_softmax", "cross_entropy.loss", "cross_entropy.gradient", "cross_entropy.hessian",
             "cross_entropy.mean_over_a_batch", "sigmoid.loss", "temperature.p", "attention.P"]
)  # fmt: skip
def test_candidates_are_proved_equal_to_the_definition(name: str) -> None:
    source, what = name.split(".")
    q = quantity(load(source), what)
    term, context = prepared(q.term, q.context, q.fixed)
    seen = 0
    for form in (*FORMS, ROUNDED):
        new, rewritten, applied = stabilised(term, context, form.rows)
        claim = cmp("==", unfold(term, context), any_centre(unfold(new, rewritten)))
        seen += bool(applied)
        known = q.context.declarations | {name: Declaration(name, "real") for name in ("centre", "shift")}
        assert prove(claim, replace(q.context, declarations=known)).account is not None, form.name
    assert seen >= 2


def any_centre(term: Any) -> Any:
    """The term with what is subtracted from averaged numbers, and from scores, replaced by letters.

    What holds for any number holds for the one that is chosen.
    """

    def rule(part: Any) -> Any:
        if part.op != "where" or part.letters:
            return None
        if part.args[0].op == "and":
            return var("shift")
        return var("centre") if part.args[0].op == "cmp" and part.args[0].value == "<" else None

    return transform(term, rule)


def unfold(term: Any, context: Any) -> Any:
    """The term with every definition written out."""
    from derive.codegen.prepare import reachable
    from derive.term import replace_variable

    for d in reversed(reachable(term, context)):
        term = replace_variable(term, d.name, d.letters, d.body, op="def")
    return term


def test_scalar_rows_match_in_either_order_and_nothing_else() -> None:
    theory = loads(
        '"""T."""\nx: real\ny: real\na = exp(-x) + 1\nb = 1 - sigmoid(2 * x)\nc = log(exp(x * y) + 1)\n'
        "d = 1 - tanh(x) * tanh(y)\ne = 2 - exp(x)\nf = log(2 + 1)\ng = 1 - tanh(x * y) ** 2\nh = 1 / a\n"
    )
    applied = {name: [r.formula for r in quantity(theory, name).compile().rewrites] for name in theory.definitions}
    assert applied["h"] == ["1/(1 + exp(-x)) = sigmoid(x)"]
    assert applied["b"] == ["1 - sigmoid(x) = sigmoid(-x)"]
    assert applied["c"] == ["log(1 + exp(x)) = softplus(x)"]
    assert applied["g"] == ["1 - tanh(x)**2 = 1/cosh(x)**2"]
    assert applied["d"] == applied["e"] == applied["f"] == []
    assert len(SCALARS) > 10


@pytest.mark.parametrize("names", ["xab", "bxa", "abx", "bab"])
@pytest.mark.parametrize("row", TEXTS, ids=lambda row: row[0])
def test_letters_of_scalar_rows_are_no_variables(row: tuple[str, str, str], names: str) -> None:
    """A formula in variables of the same names as the row's letters, each in the place of another."""
    renamed = re.sub(r"\b[xab]\b", lambda m: names["xab".index(m[0])], row[0])
    theory = loads(f'"""T."""\nx: real\na: real\nb: real\nf = {renamed}\n')
    stable, plain = (compile_quantity(theory, "f", form) for form in (True, False))
    given = {"x": 0.25, "a": 0.5, "b": -1.5}
    if "x - " not in renamed and "log(1 + " in renamed and "exp" not in renamed:
        given = {name: abs(value) for name, value in given.items()}
    assert {a.name for a in stable.arguments} == {a.name for a in plain.arguments}
    given = {a.name: given[a.name] for a in plain.arguments}
    assert stable(**given) == pytest.approx(float(plain(**given)), rel=1e-12)


def test_variance_takes_two_passes() -> None:
    theory = loads(
        '"""T."""\nn: axis\nx: real[n]\nz: real[n]\ns[i] = exp(z[i])/sum(exp(z[k]) for k in n)\n'
        "v = sum(x[k]**2 for k in n)/n - (sum(x[k] for k in n)/n)**2\n"
        "w = sum(s[k]*x[k]**2 for k in n) - sum(s[k]*x[k] for k in n)**2\n"
        "u = sum(x[k]**2 for k in n)/n - (sum(z[k] for k in n)/n)**2\n"
    )
    x = 1e6 + np.random.default_rng(0).standard_normal(50)
    v, w, u = (quantity(theory, name).compile() for name in "vwu")
    assert abs(v(x) / np.var(x) - 1) < 1e-14 < abs(quantity(theory, "v").compile(False)(x) / np.var(x) - 1)
    assert w(x, np.zeros(50)) == pytest.approx(np.var(x), rel=1e-12)
    assert u.rewrites == ()


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="there is no form 'best'; there are naive, shifted"):
        form_of("best")


# -- the choice --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", catalogue())
def test_default_form_is_the_one_with_the_least_measured_error(source: str) -> None:
    """Of every definition; up to a factor of 2, by which errors of cancelled sums differ from draw to draw.

    Where they differ by more, another draw is pooled with the first.
    """
    theory = load(source)
    for name in theory.definitions:
        found = measure(theory, name, ("float64",))
        if not found.rows:
            continue
        chosen, default = found.chosen, found.variants[-1]
        seeds = [found]
        if not _as_good(seeds, default, chosen):
            seeds.append(measure(theory, name, ("float64",), 1))
        assert _as_good(seeds, default, chosen), (name, chosen)


def _as_good(seeds: list[Any], one: str, other: str) -> bool:
    ours, theirs = ([m.worst(v, "float64") for m in seeds] for v in (one, other))
    overflow, limit = any(r.overflow for r in theirs), 2 * max(r.max_ulp for r in theirs) + 1
    return (any(r.overflow for r in ours), max(r.max_ulp for r in ours)) <= (overflow, limit)

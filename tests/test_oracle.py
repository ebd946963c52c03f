"""True values of whole arrays: what they find is what the enclosures find one by one, and what mpmath finds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

from derive.codegen import CodegenError, quantity
from derive.evidence.balls import Balls, Uncovered
from derive.evidence.inputs import Inputs, place_of, plain
from derive.evidence.measure import compiled_variants, inputs_of
from derive.evidence.oracle import known, truths
from derive.evidence.second import Disagreement, confirmed
from derive.evidence.ulp import FORMATS, error, references
from derive.language import catalogue, load, loads

DOUBLE, SINGLE = FORMATS["float64"], FORMATS["float32"]

FORMS = loads(
    '''"""One definition for each form that is evaluated by whole arrays."""
n: axis
m: axis
z: real[n]
W: real[m, n]
p: positive[n]
mask: bit[n]
t: index[n][m]
c: index[n]
e: integer

s[i] = exp(z[i]) / sum(exp(z[k]) for k in n)
fixed = s[c]
both[i] = s[i] - delta(i, c) + z[c]
picked[a] = W[a, t[a]] + W[a, argmax(W[a, k] for k in n)]
masked = sum(z[k] for k in n if mask[k]) + prod(p[k] for k in n if k != c)
pieces[i] = where(z[i] > 0 and not i == c, z[i], -z[i]) + sign(z[i]) + relu(z[i]) + abs(z[i]) + max(z[i], p[i])
powers[i] = z[i] ** e + p[i] ** (1 / 3) + p[i] ** z[i] + sqrt(p[i]) + 2 ** -2
named[i] = sigmoid(z[i]) + softplus(z[i]) + erf(z[i]) + lgamma(p[i]) + digamma(p[i]) + trigamma(p[i])
count[i] = i * sum(1 for k in n if k <= i) + where(all(z[k] < 9 for k in n) or any(z[k] > 0 for k in n), n, pi)
low[i] = min(W[a, k] for a in m for k in n if k != i)
'''
)


def inputs_at(n: int, m: int, seed: int) -> Inputs:
    rng = np.random.default_rng(seed)
    arrays = {
        "z": rng.integers(-3, 4, n) / 2.0,
        "W": rng.standard_normal((m, n)),
        "p": np.exp(rng.standard_normal(n)),
        "mask": rng.integers(0, 2, n),
        "t": rng.integers(0, n, m),
        "e": np.asarray(3),
    }
    return Inputs("drawn", seed, {"n": n, "m": m}, {"c": int(rng.integers(n))}, arrays)


@pytest.mark.parametrize("name", FORMS.definitions)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_whole_arrays_find_what_enclosures_find_one_by_one(name: str, size: int) -> None:
    q, inputs = quantity(FORMS, name), inputs_at(size, 3, size)
    places = list(itertools.product(*(range(inputs.sizes[k.value[1]]) for k in q.letters)))
    with ctx.workprec(200):
        fixed = dict.fromkeys(q.context.letters, inputs.indices["c"])
        Balls(q.context, inputs.sizes, inputs.arrays, fixed).value(q.term)  # it is covered
    here = place_of(q.context, inputs)
    letters = [{**here.fixed, **dict(zip(q.letters, p, strict=True))} for p in places]
    for fast, slow in zip(
        truths(q.term, plain(q.context), inputs, q.letters, places, DOUBLE),
        references(here, q.term, letters, DOUBLE),
        strict=True,
    ):
        assert (fast is None) == (slow is None)
        if fast is not None:
            assert fast.value == slow.value
            assert fast.error(1.25) == pytest.approx(error(1.25, slow, DOUBLE), rel=1e-6)


@pytest.mark.parametrize("source", catalogue())
def test_catalogue_is_confirmed_one_by_one(source: str) -> None:
    theory = load(source)
    for name in theory.definitions:
        try:
            q = quantity(theory, name)
            variants = compiled_variants(q)
        except CodegenError:
            continue
        for inputs in itertools.islice(inputs_of(q, variants, SINGLE, 3), 2, 6, 2):
            place = tuple(0 for _ in q.letters)
            here = place_of(q.context, inputs)
            (fast,) = truths(q.term, plain(q.context), inputs, q.letters, [place], SINGLE)
            (slow,) = references(here, q.term, [{**here.fixed, **dict.fromkeys(q.letters, 0)}], SINGLE)
            assert (fast and fast.value) == (slow and slow.value)


def test_derivatives_are_left_to_the_enclosures() -> None:
    q = quantity(load("softmax"), "symmetry")
    inputs = Inputs("drawn", 0, {"n": 3}, {}, {"z": np.array([0.5, 1.0, -1.0])})
    with pytest.raises(Uncovered):
        Balls(q.context, inputs.sizes, inputs.arrays, {}).value(q.term)
    assert all(truths(q.term, q.context, inputs, q.letters, [(0, 1), (2, 2)], DOUBLE))


def test_masked_scores_have_exact_zeros_and_rows_of_nothing_no_value() -> None:
    q = quantity(load("softmax"), "s")
    for z, expected in (([0.0, -math.inf], [1.0, 0.0]), ([-math.inf, -math.inf], [None, None])):
        inputs = Inputs("masked", 0, {"n": 2}, {}, {"z": np.array(z)})
        found = truths(q.term, q.context, inputs, q.letters, [(0,), (1,)], DOUBLE)
        assert [t and t.value for t in found] == expected


@pytest.mark.parametrize(
    ("middle", "radius", "form", "value"),
    [
        ("1/3", "0", DOUBLE, 1 / 3),
        ("1", "1e-40", DOUBLE, 1.0),  # on both sides of a power of two
        ("1", "1e-17", DOUBLE, None),
        ("1/10", "1e-12", SINGLE, None),  # the ends round alike, but the error would be vague
        ("1e-400", "0", DOUBLE, 0.0),
        ("1e400", "0", DOUBLE, math.inf),
        ("-1e39", "0", SINGLE, -math.inf),
        ("340282356779733661637539395458142568447", "0", SINGLE, 2.0**128 - 2.0**104),  # below the last midpoint
    ],
)
def test_value_is_known_where_the_ball_determines_it(middle: str, radius: str, form: object, value: object) -> None:
    with ctx.workprec(300):
        exact = Fraction(middle)
        ball = arb(arb(exact.numerator) / exact.denominator, float(radius))
        with np.errstate(over="ignore"):
            guess = float(np.asarray(float(ball)).astype(form.dtype))
        found = known(ball, guess, form)
    assert (found and found.value) == value


def test_second_opinion_contradicts_a_wrong_value() -> None:
    q = quantity(load("softmax"), "s")
    at = (q.term, q.context, {"n": 2}, {"z": [Fraction(0), Fraction(0)]}, {q.letters[0]: 0})
    assert confirmed(Fraction(1, 2), Fraction(1, 2**76), *at)
    with pytest.raises(Disagreement):
        confirmed(Fraction(1, 2) + Fraction(1, 2**60), Fraction(1, 2**76), *at)

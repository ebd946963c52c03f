"""Enclosures: what is said of a value at a point is so, and undefined is told from undecided."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from derive.evidence.enclosure import Enclosed, Undefined, Unknown, decimals, evaluate, holds, point
from derive.evidence.second import Disagreement, NoOpinion, cross_check, opinion
from derive.language import condition, expression, loads
from derive.term import index

THEORY = loads('''"""Points to evaluate at."""
n: axis
m: axis
x: real
y: real
u: positive
v: nonnegative
c: bit
z: real[n]
A: real[n, n]
mask: bit[n]
t: index[n][m]
q: random(mean=0, variance=1)[n]
g: normal(x, u)
U: uniform(0, u)
own: index[n]

Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
top = max(z[k] for k in n)
loss = -log(s[own])
''')

VALUES = {"x": 0, "y": 2, "u": 1, "v": 0, "c": 1, "z": ["0", "1", "-1"], "mask": [1, 0, 1], "t": [2, 0], "m": 2}
SIZES = {"n": 3, "m": 2}
COIN = [{"value": "-1", "probability": "1/2"}, {"value": "1", "probability": "1/2"}]
SKEW = [{"value": "2", "probability": "1/5"}, {"value": "-1/2", "probability": "4/5"}]


def at(text, sizes=SIZES, indices=None, bits=64, **values):
    letters = {index(name, "n"): place for name, place in (indices or {}).items()}
    return evaluate(expression(text, THEORY), THEORY_CONTEXT, sizes, {**VALUES, **values}, letters, bits)


class _Plain:
    declarations = ()
    definitions = ()
    hypotheses = ()
    letters = ()


THEORY_CONTEXT = THEORY.context(_Plain())  # type: ignore[arg-type]


def truth(text, indices=None, **values):
    letters = {index(name, "n"): place for name, place in (indices or {}).items()}
    here = point(THEORY_CONTEXT, SIZES, {**VALUES, **values}, letters)
    return holds(here, condition(text, THEORY), letters)


def is_exactly(answer, value):
    return isinstance(answer, Enclosed) and answer.low == answer.high == Fraction(value)


def is_near(answer, value):
    return isinstance(answer, Enclosed) and abs(float(answer.low) - value) <= 1e-14 * (1 + abs(value))


# -- functions -------------------------------------------------------------------------------------------------------

VALUES_OF = [
    ("exp(x)", "1/2", math.exp(0.5)),
    ("log(x)", 3, math.log(3)),
    ("log1p(x)", "1/2", math.log(1.5)),
    ("expm1(x)", "1/2", math.expm1(0.5)),
    ("sqrt(x)", 2, math.sqrt(2)),
    ("abs(x)", "-3/2", 1.5),
    ("sign(x)", "-3/2", -1.0),
    ("sin(x)", 2, math.sin(2)),
    ("cos(x)", 2, math.cos(2)),
    ("tan(x)", 2, math.tan(2)),
    ("sinh(x)", 2, math.sinh(2)),
    ("cosh(x)", 2, math.cosh(2)),
    ("tanh(x)", 2, math.tanh(2)),
    ("atan(x)", 2, math.atan(2)),
    ("erf(x)", "1/2", math.erf(0.5)),
    ("sigmoid(x)", 2, 1 / (1 + math.exp(-2))),
    ("softplus(x)", 2, math.log1p(math.exp(2))),
    ("relu(x)", -2, 0.0),
    ("lgamma(x)", "5/2", math.lgamma(2.5)),
    ("digamma(x)", 1, -0.5772156649015329),
    ("trigamma(x)", 1, math.pi**2 / 6),
    ("max(x, 1)", "1/2", 1.0),
    ("min(x, 1)", "1/2", 0.5),
    ("x**(1/3)", 2, 2 ** (1 / 3)),
    ("x**pi", 2, 2**math.pi),
]


@pytest.mark.parametrize(("text", "x", "value"), VALUES_OF)
def test_each_function_is_enclosed_where_it_is_known(text, x, value):
    assert is_near(at(text, x=x), value)
    assert not is_near(at(text, x=x), value + 1e-9)


@pytest.mark.parametrize(
    ("text", "x", "value"),
    [
        ("exp(x)", 0, 1),
        ("log(x)", 1, 0),
        ("sqrt(x)", "4/9", "2/3"),
        ("cos(x)", 0, 1),
        ("sigmoid(x)", 0, "1/2"),
        ("erf(x)", 0, 0),
        ("x**(1/2)", "9/4", "3/2"),
        ("x**(-3/2)", 4, "1/8"),
        ("x**0", 0, 1),
        ("x**3", -2, -8),
        ("x**-2", -2, "1/4"),
        ("lgamma(x)", 2, 0),
        ("tanh(x)", 0, 0),
        ("0**x", 2, 0),
        ("x**(1/2)", 0, 0),
    ],
)
def test_values_that_are_rational_stay_exact(text, x, value):
    assert is_exactly(at(text, x=x), value)
    assert not is_exactly(at(text, x=x), Fraction(value) + Fraction(1, 10**30))


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("1/x", 0),
        ("log(x)", 0),
        ("log(x)", -1),
        ("log1p(x)", -1),
        ("sqrt(x)", -1),
        ("x**-1", 0),
        ("x**(1/2)", -1),
        ("x**(-1/2)", 0),
        ("lgamma(x)", 0),
        ("digamma(x)", -2),
        ("trigamma(x)", 0),
        ("x**pi", -1),
        ("x/x", 0),
        ("0*(1/x)", 0),
        ("log(x) + 1/(exp(1) - exp(y/2))", 0),
    ],
)
def test_outside_the_domain_is_undefined(text, x):
    assert isinstance(at(text, x=x), Undefined)
    assert isinstance(at(text, x="1/2"), Enclosed | Unknown)


def test_a_product_with_an_exact_zero_is_zero():
    assert is_exactly(at("0*sqrt(y)"), 0)
    assert isinstance(at("1/(0*sqrt(y))"), Undefined)


def test_a_zero_that_is_not_seen_to_be_one_is_unknown():
    assert isinstance(at("1/(exp(x)**2 - exp(2*x))", x=1), Unknown)
    assert isinstance(at("1/(exp(x)**2 - exp(2*x))", x=0), Undefined)


def test_precision_grows_until_cancellation_is_overcome():
    assert is_near(at("(exp(x) - 1)*10**60", x=Fraction(1, 10**60)), 1.0)
    found = at("log(exp(x) + 1) - x", x=400, bits=100)
    assert found.low > 0
    assert (found.high - found.low) / found.low < Fraction(1, 2**90)


# -- binders and conditions ------------------------------------------------------------------------------------------


def test_sums_products_and_extremes_over_an_axis():
    assert is_exactly(at("sum(z[k] for k in n)"), 0)
    assert is_exactly(at("sum(z[j]*z[k] for j in n for k in n if j < k)"), -1)
    assert is_exactly(at("prod(z[k] + 2 for k in n)"), 6)
    assert is_exactly(at("max(z[k] for k in n) - min(z[k] for k in n)"), 2)
    assert is_exactly(at("sum(z[k] for k in n if mask[k])"), -1)
    assert is_exactly(at("sum(z[t[b]] for b in m)"), -1)
    assert not is_exactly(at("sum(z[t[b]] for b in m)"), 1)


def test_empty_sums_are_defined_and_empty_maxima_are_not():
    one = {"n": 1, "m": 1}
    assert is_exactly(at("sum(z[k] for k in n if k != i)", one, {"i": 0}), 0)
    assert is_exactly(at("prod(z[k] for k in n if k != i)", one, {"i": 0}), 1)
    for op in ("max", "min", "argmax"):
        assert isinstance(at(f"{op}(z[k] for k in n if k != i)", one, {"i": 0}), Undefined)


def test_argmax_is_the_least_index_that_attains_the_maximum():
    assert is_exactly(at("argmax(z[k] for k in n)", z=[0, 1, 1]), 1)
    assert is_exactly(at("argmax(exp(z[k]) for k in n)", z=[0, 1, -1]), 1)
    assert isinstance(at("argmax(exp(z[k])**2 for k in n)", z=[0, 1, 1]), Unknown)


def test_where_needs_only_the_branch_taken():
    assert is_exactly(at("where(x == 0, 1, 1/x)"), 1)
    assert isinstance(at("where(x != 0, 1, 1/x)"), Undefined)


def test_definitions_see_the_declared_index():
    assert is_near(at("loss", indices={"own": 1}), math.log(1 + math.exp(-1) + math.exp(-2)))
    assert isinstance(at("loss"), Unknown)


def test_conditions_are_certain_or_not_said():
    assert truth("exp(x) > 1", x="1/1000") is True
    assert truth("exp(x) > 1", x=0) is False
    assert truth("all(z[k] <= top for k in n) and any(z[k] == top for k in n)") is True
    assert truth("all(z[k] < top for k in n if k != i)", {"i": 0}) is False
    assert truth("not x == 0 or y < 1") is False
    assert isinstance(truth("1/x > 0"), Undefined)
    assert isinstance(truth("exp(y)**2 == exp(2*y)"), Unknown)
    assert truth("exp(y) == exp(y)") is True


# -- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "derivative"),
    [
        ("exp(2*x)", "2*exp(2*x)"),
        ("log(x)", "1/x"),
        ("log1p(x)", "1/(1 + x)"),
        ("expm1(x)", "exp(x)"),
        ("sqrt(x)", "1/(2*sqrt(x))"),
        ("sin(x)", "cos(x)"),
        ("cos(x)", "-sin(x)"),
        ("tan(x)", "1 + tan(x)**2"),
        ("sinh(x)", "cosh(x)"),
        ("cosh(x)", "sinh(x)"),
        ("tanh(x)", "1 - tanh(x)**2"),
        ("atan(x)", "1/(1 + x**2)"),
        ("erf(x)", "2/sqrt(pi)*exp(-x**2)"),
        ("sigmoid(x)", "sigmoid(x)*(1 - sigmoid(x))"),
        ("softplus(x)", "sigmoid(x)"),
        ("lgamma(x)", "digamma(x)"),
        ("digamma(x)", "trigamma(x)"),
        ("abs(x)", "sign(x)"),
        ("relu(x)", "1"),
        ("x**y", "y*x**(y - 1)"),
        ("y**x", "log(y)*y**x"),
        ("1/x**3", "-3/x**4"),
        ("x**(3/2)", "3/2*sqrt(x)"),
        ("max(x, x**2)", "2*x"),
        ("min(x, x**2)", "1"),
    ],
)
def test_each_function_is_differentiated(text, derivative):
    gap = at(f"diff({text}, x) - ({derivative})", x="7/3", y="5/2")
    assert isinstance(gap, Enclosed)
    assert gap.low <= 0 <= gap.high
    assert gap.high - gap.low < Fraction(1, 10**40)
    second = at(f"diff({text}, x, x) - diff({derivative}, x)", x="7/3", y="5/2")
    assert second.low <= 0 <= second.high
    wrong = at(f"diff({text}, x) - ({derivative}) - 1/10**30", x="7/3", y="5/2")
    assert wrong.high < 0


def test_derivatives_nest_and_mix():
    assert is_exactly(at("diff(x**5, x, x, x)", x=2), 240)
    assert is_exactly(at("diff(x**2*y**3, x, y, y)", x=5), 120)
    assert is_exactly(at("diff(diff(x*y, x)*x, x)", y=7), 7)
    assert is_exactly(at("diff(s[i], z[j])", indices={"i": 0, "j": 1}, z=[0, 0, 0]), Fraction(-1, 9))
    assert is_exactly(
        at(
            "diff(sum(A[i, j]*A[j, i] for i in n for j in n), A[a, b])",
            indices={"a": 0, "b": 1},
            A=[[0, 1, 0], [5, 0, 0], [0, 0, 0]],
        ),
        10,
    )


@pytest.mark.parametrize(
    "text",
    [
        "abs(x)",
        "relu(x)",
        "sign(x)",
        "max(x, 0)",
        "min(2*x, x)",
        "where(x > 0, 1, 0)",
        "where(x >= 0, x, -x)",
        "sqrt(x**2)",
        "sqrt(x)",
        "x**(3/2)",
        "exp(abs(x))",
        "abs(x) + x**2",
        "sum(abs(x - z[k]) for k in n)",
    ],
)
def test_no_derivative_where_the_formula_changes(text):
    assert isinstance(at(f"diff({text}, x)", x=0), Undefined)
    assert isinstance(at(f"diff({text}, x)", x=5), Enclosed)


def test_nothing_switches_away_from_a_boundary_or_between_equal_formulas():
    assert is_exactly(at("diff(where(abs(x) <= 1, x**2, 1), x)"), 0)
    assert is_exactly(at("diff(min(x, x), x)"), 1)
    assert is_exactly(at("diff(abs(z[i] - z[j]) + relu(2*z[i] - z[j] - z[i]), z[i])", indices={"i": 0, "j": 0}), 0)
    assert isinstance(at("diff(abs(z[i] - z[j]), z[i])", indices={"i": 0, "j": 1}, z=[1, 1, 0]), Undefined)
    assert is_exactly(at("diff(where(x > 0, x, x), x)"), 1)
    assert is_exactly(at("diff(where(x < 1, x, abs(x - 1)), x)", x=0), 1)
    assert isinstance(at("diff(where(sign(x) > -1/2, x, 0), x)"), Undefined | Unknown)


def test_what_only_may_be_a_corner_is_unknown():
    for text in ("x*abs(x)", "abs(x)**2", "abs(x) - abs(x)", "where(x > 0, x**2, 0)", "max(y - 2, 0)*x"):
        assert isinstance(at(f"diff({text}, x)"), Unknown), text


def test_ties_of_a_maximum_have_no_derivative():
    assert isinstance(at("diff(top, z[i])", indices={"i": 0}, z=[1, 1, 0]), Undefined)
    assert is_exactly(at("diff(top, z[i])", indices={"i": 0}, z=[2, 1, 0]), 1)
    assert isinstance(at("diff(z[i]*argmax(z[k] for k in n), z[i])", indices={"i": 0}, z=[1, 1, 0]), Unknown)


# -- replacement -----------------------------------------------------------------------------------------------------


def test_replacement_happens_all_at_once():
    assert is_exactly(at("at(sum(z[k] for k in n), z[k], z[k] - top)"), -3)
    assert is_exactly(at("at(x + 10*y, x, y)", x=1, y=2), 22)
    assert is_exactly(at("at(at(x*y, x, y + 1), y, 5)", x=1, y=2), 30)


def test_replacement_and_derivative_do_not_commute():
    assert is_exactly(at("at(diff(x**3, x), x, x**2)", x=2), 48)
    assert is_exactly(at("diff(at(x**3, x, x**2), x)", x=2), 192)


# -- means -----------------------------------------------------------------------------------------------------------


def test_means_under_finite_laws_are_exact():
    assert is_exactly(at("E(q[i]**4)", indices={"i": 0}, q=SKEW), "13/4")
    assert is_exactly(at("Var(sum(q[i]*z[i] for i in n))", q=SKEW), 2)
    assert is_exactly(at("Cov(q[i], q[i]*q[j])", indices={"i": 0, "j": 1}, q=SKEW), 0)
    assert is_exactly(at("E(abs(q[i]))", indices={"i": 0}, q=SKEW), "4/5")
    assert is_exactly(at("E(max(q[i] for i in n))", q=COIN), "3/4")
    assert is_near(at("E(exp(q[i]))", indices={"i": 0}, q=COIN), math.cosh(1))


NORMAL = {"g": {"law": "normal", "parameters": ["1", "4"]}, "U": {"law": "uniform", "parameters": ["0", "3"]}}


def test_means_under_normal_and_uniform_laws_are_exact_for_polynomials():
    assert is_exactly(at("E((g - 1)**4)", **NORMAL), 48)
    assert is_exactly(at("Var(U)", **NORMAL), "3/4")


RECTIFIED = 0.5 * (1 + math.erf(0.5 / math.sqrt(2))) + 2 * math.exp(-0.125) / math.sqrt(2 * math.pi)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("E(relu(g))", RECTIFIED),
        ("E(exp(g/2))", math.exp(1)),
        ("E(where(g > 1, 1, 0))", 0.5),
        ("E(abs(g - 1))", 2 * math.sqrt(2 / math.pi)),
        ("E(max((g - 1)**2, 4))", 4 + 8 * math.exp(-0.5) / math.sqrt(2 * math.pi)),
        ("E(where((g - 1)**2 > 0, 1, 0))", 1),
        ("E(relu(4 - (g - 1)**2))", 8 * math.exp(-0.5) / math.sqrt(2 * math.pi)),
        ("E(exp(-U))", (1 - math.exp(-3)) / 3),
        ("E(exp(-(g - 1)**2/8))", math.sqrt(1 / 2)),
        ("E(relu(g - 1)*exp(-(g - 1)**2/8))", 1 / math.sqrt(2 * math.pi)),
        ("E(U*exp(U))", (2 * math.exp(3) + 1) / 3),
        ("E(relu(U - 1))", 2 / 3),
        ("E(relu(g)*relu(U - 1))", RECTIFIED * 2 / 3),
        ("E(exp(g/2 + U))", math.exp(1) * (math.exp(3) - 1) / 3),
        ("E(prod(exp(q[i]) for i in n))", math.cosh(1) ** 3),
        ("Var(abs(g - 1) + relu(U))", 4 - 8 / math.pi + 3 / 4),
        ("Cov(relu(g), relu(U))", 0),
        ("diff(E(exp(g*y)), y)", 9 * math.exp(10)),
        ("E(diff(relu(g*(x + 1)), x))", RECTIFIED),
    ],
)
def test_means_of_powers_and_exponentials_are_enclosed_tightly(text, value):
    found = at(text, q=COIN, **NORMAL)
    assert is_near(found, value)
    assert found.high - found.low < Fraction(1, 10**40)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("E(cos(g - 1))", math.exp(-2)),
        ("E(sigmoid(g - 1))", 0.5),
        ("E(tanh(g - 1)*(g - 1)*q[i]*q[i])", 1.4589550630),
        ("E(abs(sin(U)))", (1 - math.cos(3)) / 3),
        ("Var(tanh(g - 1) + relu(U - 3))", 0.6352612343),
        ("E(exp(g**2) - exp(g**2))", 0),
        ("E(1/(1 + (g - 1)**2/4))", 0.6556795424),
        ("E(sqrt(abs((g - 1)/2)))", 0.8221789587),
        ("E(log(1 + exp((g - 1)/2)))", 0.8060591833),
        ("E(sqrt(1 + (g - 1)**2/4))", 1.3545308065),
        ("E(1/(1 + U))", math.log(4) / 3),
        ("E(sqrt(U))", 2 * 3**0.5 / 3),
        ("E(log(U + 1))", 4 * math.log(4) / 3 - 1),
        ("E((U + 1)**(-3/2))", 1 / 3),
    ],
)
def test_means_of_one_normal_or_uniform_entry_are_integrated(text, value):
    found = at(text, indices={"i": 0}, q=COIN, **NORMAL)
    assert isinstance(found, Enclosed)
    assert found.low <= Fraction(value) + Fraction(1, 10**6)
    assert Fraction(value) - Fraction(1, 10**6) <= found.high
    assert found.high - found.low < Fraction(1, 200)


@pytest.mark.parametrize(
    "text",
    [
        "E(1/(2 + sin(g)))",
        "E(log(abs(g)))",
        "E(relu(g*U))",
        "diff(E(relu(g*y)), y)",
    ],
)
def test_means_that_are_not_integrated_are_unknown(text):
    assert isinstance(at(text, **NORMAL), Unknown)


def test_a_mean_needs_its_argument_almost_surely():
    assert isinstance(at("E(1/(q[i] - 2))", indices={"i": 0}, q=SKEW), Undefined)
    assert is_near(at("E(1/(q[i] - 3))", indices={"i": 0}, q=SKEW), -0.2 - 0.8 / 3.5)
    assert isinstance(at("q[i]", indices={"i": 0}, q=SKEW), Unknown)


def test_moments_move_with_the_parameters_of_a_law_and_other_means_are_unknown():
    laws = {"g": {"law": "normal", "parameters": ["0", "1"]}}
    assert is_exactly(at("diff(E(g), x)", **laws), 1)
    assert isinstance(at("diff(E(exp(g)), x)", **laws), Unknown)
    assert is_exactly(at("diff(E(y*g**2), y)", **laws), 1)


# -- limits ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("limit(sin(x)/x, x, 0)", 1),
        ("limit((exp(x) - 1 - x)/x**2, x, 0)", 0.5),
        ("limit((1 + y/x)**x, x, oo)", math.exp(2)),
        ("limit(x**2*exp(-x), x, oo)", 0),
        ("limit(exp(-x**2)*x, x, oo)", 0),
        ("limit(x**x, x, 0, '+')", 1),
        ("limit(tanh(x) + erf(x) + sigmoid(x), x, -oo)", -2),
        ("limit(atan(x), x, oo)", math.pi / 2),
        ("limit(abs(x)/x, x, 0, '-')", -1),
        ("limit((x**2 - y**2)/(x - y), x, y)", 4),
        ("limit(where(x > 3, 1, 0), x, oo)", 1),
        ("limit(softplus(y*u)/u, u, oo)", 2),
        ("limit(u*log(sum(exp(z[k]/u) for k in n)), u, 0, '+')", 1),
        ("limit(exp(z[i]/u)/sum(exp(z[k]/u) for k in n), u, oo)", 1 / 3),
        ("limit(x/sqrt(x**2 + 1), x, -oo)", -1),
        ("limit(diff(x*exp(-x), x), x, oo)", 0),
        ("limit(diff(log(1 + x), x)*x, x, oo)", 1),
        ("limit(diff(sigmoid(x), x)*exp(x), x, oo)", 1),
        ("limit(diff(softplus(x), x, x)*exp(x), x, oo)", 1),
        ("limit(diff(atan(x), x)*x**2, x, oo)", 1),
        ("limit(log(log(x))/log(x), x, oo)", 0),
        ("limit((y/x)**x, x, oo)", 0),
        ("limit(log(x)**3/sqrt(x), x, oo)", 0),
        ("limit((y**x - 1)/x, x, 0)", math.log(2)),
        ("limit(where(x**2 > 0, y, 0), x, 0)", 2),
    ],
)
def test_limits_are_exact_where_leading_terms_decide_them(text, value):
    assert is_near(at(text, indices={"i": 0}), value)
    assert not is_near(at(text, indices={"i": 0}), value + 1e-9)


@pytest.mark.parametrize(
    "text",
    ["limit(1/x, x, 0)", "limit(x, x, oo)", "limit(abs(x)/x, x, 0)", "limit(log(-x), x, oo)", "limit(atan(1/x), x, 0)"],
)
def test_a_limit_that_does_not_exist_is_undefined(text):
    assert isinstance(at(text), Undefined)


@pytest.mark.parametrize(
    "text",
    [
        "limit(sin(x)*sin(pi*x), x, oo)",
        "limit(limit(x/(x + y), x, oo), y, oo)",
        "diff(limit(exp(-x*u), u, oo), x)",
        "limit(exp(x**2)*exp(-x**2), x, oo)",
        "limit(log(log(x)) - log(log(x)), x, oo)",
        "limit((1 + x)**x, x, oo)",
        "limit(u, u, 0)",
    ],
)
def test_a_limit_that_leading_terms_do_not_decide_is_unknown(text):
    assert isinstance(at(text), Unknown)


# -- shown numbers and the second opinion ----------------------------------------------------------------------------


def test_decimals_are_rounded_outwards():
    low, high = decimals(at("x", x="1/3"), 10)
    assert (low, high) == ("0.3333333333", "0.3333333334")
    assert decimals(at("x", x="-5/4"), 10) == ["-1.25", "-1.25"]
    assert decimals(at("x", x=1200), 10) == ["1200", "1200"]
    assert Fraction(decimals(at("exp(x)", x=-200))[0]) < Fraction(decimals(at("exp(x)", x=-200))[1])


SAMPLES = [
    "diff(s[i], z[j])",
    "diff(s[i], z[j], z[j])",
    "sum(s[k]*log(s[k]) for k in n)",
    "at(s[i], z[k], z[k] - top)",
    "E(exp(q[i]))",
    "Var(q[i]*z[j] + q[i]**2)",
    "digamma(u + 1) + lgamma(u + 1/2)",
    "erf(x)*atan(y) + trigamma(u)",
    "softplus(y)**(3/2)",
    "loss",
    "where(x < y, x**2, 1/x)",
    "prod(1 + z[k]**2 for k in n if k != i)",
    "diff(sqrt(1 + y**2)*tanh(y), y)",
    "z[argmax(z[k] for k in n)]",
]


@pytest.mark.parametrize("text", SAMPLES)
def test_mpmath_confirms_the_enclosures(text):
    term = expression(text, THEORY)
    letters = {index("i", "n"): 0, index("j", "n"): 1, index("own", "n"): 2}
    values = {**VALUES, "q": SKEW, "z": ["1/3", "-2", "5/7"]}
    assert cross_check(term, THEORY_CONTEXT, SIZES, values, letters)


def test_mpmath_would_notice_a_wrong_enclosure(monkeypatch):
    def wrong(*arguments, **options):
        return Enclosed(Fraction(27, 10), Fraction(271, 100))

    monkeypatch.setattr("derive.evidence.second.evaluate", wrong)
    with pytest.raises(Disagreement):
        cross_check(expression("exp(u)", THEORY), THEORY_CONTEXT, SIZES, VALUES)


def test_mpmath_has_no_opinion_where_it_finds_no_number():
    for text in ("1/x", "log(x - 1)", "limit(1/u, u, 2)"):
        with pytest.raises(NoOpinion):
            opinion(expression(text, THEORY), THEORY_CONTEXT, SIZES, VALUES)
        assert cross_check(expression(text, THEORY), THEORY_CONTEXT, SIZES, VALUES) is False

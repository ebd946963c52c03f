"""SymPy: terms as its expressions, and claims derived again by it at explicit sizes, never fooled into agreement."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy

from derive.kernel.context import Context
from derive.language import catalogue, expression, load, loads
from derive.language.places import put, subterm
from derive.language.theory import Theory
from derive.sympy_bridge import (
    Path,
    Rederivation,
    Undefined,
    Unsupported,
    equivalent_at_small_sizes,
    explicit,
    rederive,
    to_sympy,
)
from derive.sympy_bridge.cancel import Vanishing, is_zero
from derive.sympy_bridge.feasible import infeasible
from derive.term import Term, defined, index, mul, neg, num, sub

SOFTMAX, CROSS_ENTROPY, DOT_PRODUCT = load("softmax"), load("cross_entropy"), load("dot_product")
LETTER_I, LETTER_J = index("i", "n"), index("j", "n")


def claims(theory: Theory) -> list[Any]:
    return [
        pytest.param(theory, theorem.name, number, id=f"{theory.name}.{theorem.name}.{number}")
        for theorem in theory.theorems
        for number in range(len(theorem.claims))
    ]


def claim(text: str, head: str = "", sizes: tuple[int, ...] = (1, 2, 3)) -> Rederivation:
    """What is found of the last claim of the theorem with this body."""
    body = "\n".join(f"    {line}" for line in text.strip().splitlines())
    theory = loads(f'"""T."""\n{HEAD}{head}\ndef claim():\n{body}\n')
    theorem = theory["claim"]
    return rederive(theorem.claims[-1].condition, theory.context(theorem), sizes, seconds=20)


HEAD = """n: axis
m: axis
x: real
a: real
p: positive
q: positive
z: real[n]
y: real[n]
w: positive[n]
W: real[n, n]
b: bit
c: bit
mask: bit[n]
t: index[n]
labels: index[n][m]
X: real[m, n]
r: random(mean=0, variance=1)[n]
g: normal(a, p)
coin: bernoulli(1/2)[n]
sign_: rademacher
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
"""


# -- agreement ---------------------------------------------------------------------------------------------------------


def test_fixed_letter_stands_in_a_definition_within_a_definition() -> None:
    text = "n: axis\nz: real[n]\nc: index[n]\nw[j] = z[j]*delta(j, c)\nv[j] = w[j] + 0\n"
    for right, agrees in (("delta(c, j)", True), ("1", False)):
        theory = loads(f'"""T."""\n\n{text}\nassert diff(v[c], z[j]) == {right}\n')
        (theorem,) = theory.theorems
        found = rederive(theorem.claims[0].condition, theory.context(theorem), (1, 2), seconds=20)
        assert found.agrees is agrees


def test_reason_names_a_point_only_where_there_is_one() -> None:
    def reason(text: str) -> str:
        theory = loads(f'"""T."""\n\nn: axis\nx: real\n\nassert {text}\n')
        (theorem,) = theory.theorems
        return rederive(theorem.claims[0].condition, theory.context(theorem), (1, 2), seconds=20).reason

    assert re.fullmatch(r"the sides differ at x = \S+", reason("sum(x for k in n) == x"))
    assert reason("sum(1 for k in n) == 1") == "the sides differ"


@pytest.mark.slow
@pytest.mark.parametrize(("theory", "theorem", "number"), [p for name in catalogue() for p in claims(load(name))])
def test_catalogue_is_never_contradicted(theory: Theory, theorem: str, number: int) -> None:
    found = theory[theorem]
    result = rederive(found.claims[number].condition, theory.context(found), (1, 2), seconds=2)
    assert result.agrees is not False, result.reason


FIRST = {
    "softmax": "normalised shift jacobian diagonal off_diagonal cases symmetry rows_sum_to_zero vjp",
    "cross_entropy": "any_labels gradient log_sum_exp_form gradient_sums_to_zero hessian",
    "dot_product": "mean product_variance variance standard_deviation scaling scaled_variance",
}


@pytest.mark.parametrize(
    ("theory", "theorem", "number"),
    [p for t in (SOFTMAX, CROSS_ENTROPY, DOT_PRODUCT) for p in claims(t) if p.values[1] in FIRST[t.name].split()],
)
def test_first_subjects_agree_at_sizes_one_to_four(theory: Theory, theorem: str, number: int) -> None:
    found = theory[theorem]
    context = theory.context(found)
    result = rederive(found.claims[number].condition, context, seconds=30)
    assert result.agrees is True
    assert result.reason == ""
    largest = {"off_diagonal": 3}.get(theorem, 1 if theorem == "scaling" else 4)
    assert len(result.sizes_checked) == largest


AGREE = [
    "assert sqrt(p / q) == sqrt(p) / sqrt(q)",
    "assert 1 / (sqrt(p) - sqrt(q)) == (sqrt(p) + sqrt(q)) / (p - q)",
    "assert sqrt(p**2 * q + p**2) == p * sqrt(q + 1)",
    "assert exp(p / 2) * exp(q / 3) * exp(p / 3) == exp(5 * p / 6 + q / 3)",
    "assert log(p * q / (p + q)) == log(p) + log(q) - log(p + q)",
    "assert log(exp(x) + exp(a)) == x + log(1 + exp(a - x))",
    "assert log(6 * p) == log(2) + log(3) + log(p)",
    "assert p ** (q + 2) == p * p * p ** q",
    "assert sin(x) ** 2 + cos(x) ** 2 == 1",
    "assert tanh(x) == (exp(x) - exp(-x)) / (exp(x) + exp(-x))",
    "assert sigmoid(x) == 1 - sigmoid(-x)",
    "assert abs(x - a) == max(x, a) - min(x, a)",
    "assert sqrt(x**2) == abs(x)",
    "assert relu(x) - relu(-x) == x",
    "assert diff(abs(x) * x, x) == 2 * abs(x)",
    "assert diff(softplus(x), x, x) == sigmoid(x) * sigmoid(-x)",
    "assert diff(erf(x), x) == 2 / sqrt(pi) * exp(-x**2)",
    "assert diff(lgamma(p), p) == digamma(p)",
    "assert b * b == b",
    "assert max(b, c) == b + c - b * c",
    "assert sum(mask[k] * z[k] for k in n) == sum(z[k] for k in n if mask[k])",
    "assert diff(max(z[k] for k in n), z[i]) == where(i == argmax(z[k] for k in n), 1, 0)",
    "assert sum(delta(i, k) * z[k] for k in n) == z[i]",
    "assert sum(X[u, labels[u]] for u in m) == sum(X[u, k] * delta(k, labels[u]) for u in m for k in n)",
    "assert at(diff(x**2, x), x, a) == 2 * a",
    "assert diff(at(x**2, x, a), a) == 2 * a",
    "assert at(s[i], z[k], z[k] - max(z[l] for l in n)) == s[i]",
    "assume(W[i, j] == W[j, i])\nassert sum(W[i, k] * z[k] for k in n) == sum(W[k, i] * z[k] for k in n)",
    "assume(p + q == 1)\nassert p * q == p - p**2",
    "assume(x**2 == 2)\nassert x**4 == 4",
    "assume(x > 0)\nassert abs(x) == x",
    "assume(y[t] == 1)\nassume(all(y[k] == 0 for k in n if k != t))\nassert sum(y[k] * z[k] for k in n) == z[t]",
    "assume(z == [1, 2, 3])\nassert s[0] == 1 / (1 + exp(1) + exp(2))",
    "assume(z == [1, 2, 3])\nassert s[0] < s[1]",
    "assert E(g**4) == a**4 + 6 * a**2 * p + 3 * p**2",
    "assert E(exp(x * sign_)) == cosh(x)",
    "assert Var(sum(coin[k] * z[k] for k in n)) == sum(z[k] ** 2 for k in n) / 4",
    "assert Cov(r[i], sum(r[k] for k in n)) == 1",
    "assert E(where(coin[i] * x > a, 1, 0)) == (where(0 > a, 1, 0) + where(x > a, 1, 0)) / 2",
    "assume(E(r[i] ** 4) == p)\nassert Var(r[i] ** 2) == p - 1",
    "assert s[i] > 0",
]


@pytest.mark.parametrize("text", AGREE)
def test_true_claim_agrees(text: str) -> None:
    found = claim(text)
    assert found.agrees is True, found.reason


DISAGREE = [
    "assert sqrt(x**2) == x",
    "assert diff(x**2, x) == 2.000000000001 * x",
    "assert log(p + q) == log(p) + log(q)",
    "assert relu(x) == x",
    "assert where(x > 0, 1, 0) == where(x >= 0, 1, 0)",
    "assert max(b, c) == b + c",
    "assert b == c",
    "assert sum(z[k] for k in n if k < i) == sum(z[k] for k in n if k <= i)",
    "assert sum(z[k] for k in n) / n == z[t]",
    "assert diff(s[i], z[j]) == delta(i, j) * s[i] * (1 - s[i])",
    "assert diff(sum(y[k] for k in n), y[i]) == 0",
    "assert 1 == sum(z[k] for k in n if k != i) / sum(z[k] for k in n if k != i)",
    "assume(y[t] == 1)\nassert sum(y[k] * z[k] for k in n) == z[t]",
    "assume(sum(y[k] for k in n) == 1)\nassert y[i] == 1 / n",
    "assert prod(s[k] for k in n) == s[i] * (1 - s[i])",
    "assert Var(r[i] + sum(r[k] for k in n)) == n + 1",
    "assert Var(sum(coin[k] for k in n)) == n",
    "assert E(r[i] * r[j]) == delta(i, j) - 1",
    "assert E(g**4) == 3 * p**2",
    "assert at(x + a, x, a) == x + a",
    "assert s[i] < s[j]",
    "assume(z == [1, 2, 3])\nassert s[0] > s[1]",
]


@pytest.mark.parametrize("text", DISAGREE)
def test_false_claim_disagrees(text: str) -> None:
    found = claim(text)
    assert found.agrees is False, found.reason


UNKNOWN = [
    "assert log(x**2) == 2 * log(x)",  # true where SymPy looks, above 0
    "assert limit(exp(-x), x, oo) == 0",  # limits are not SymPy's strength
    "assert E(relu(g)) == 0",
    "assert E(abs(r[i])) == 1",
    "assume(x**5 + x == 3)\nassert sin(x) == 1",
    "assume(n >= 5)\nassert sum(z[k] for k in n) == 0",
    "assert Var(r[i] ** 2) >= 0",
]


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_is_not_decided_is_unknown(text: str) -> None:
    found = claim(text)
    assert found.agrees is None
    assert found.reason


def test_sizes_that_hypotheses_exclude_are_not_counted() -> None:
    found = claim("assume(n >= 2)\nassert sum(1 for k in n) == n")
    assert [sizes["n"] for sizes in found.sizes_checked] == [2, 3]


def test_disagreement_names_the_size_and_a_point() -> None:
    found = claim("assert prod(s[k] for k in n) == s[i] * (1 - s[i])", sizes=(2, 3))
    assert found.agrees is False
    assert [sizes["n"] for sizes in found.sizes_checked] == [2, 3]
    assert "z[0] = " in found.reason


def test_no_time_is_unknown() -> None:
    theorem = SOFTMAX["jacobian"]
    found = rederive(theorem.claims[0].condition, SOFTMAX.context(theorem), seconds=0)
    assert found == Rederivation((), None, "time ran out")


# -- damaged claims ----------------------------------------------------------------------------------------------------


def damaged(condition: Term) -> list[Term]:
    """The claim with one part of its right side changed: a sign, a factor, a summand, a delta."""
    found = []
    squared = [(*p, 0) for p in paths(condition.args[1], (1,)) if subterm(condition, p).op == "pow"]
    for path in paths(condition.args[1], (1,)):
        old = subterm(condition, path)
        if old.op in ("def", "var", "delta", "num", "fn", "sum"):
            found.append(put(condition, path, mul(num(2), old)))
            found += [put(condition, path, neg(old))] if path not in squared else []
        if old.op in ("add", "mul"):
            found += [put(condition, path, old.args[0]), put(condition, path, old.args[-1])]
        if old.op == "delta":
            found.append(put(condition, path, sub(num(1), old)))
    return found


def paths(term: Term, start: tuple[int, ...]) -> list[tuple[int, ...]]:
    inner = [p for k, a in enumerate(term.args) if not (term.bound and k) for p in paths(a, (*start, k))]
    return [start, *inner]


@pytest.mark.parametrize(
    ("theory", "theorem"),
    [
        (SOFTMAX, "jacobian"),
        (SOFTMAX, "vjp"),
        (CROSS_ENTROPY, "gradient"),
        (DOT_PRODUCT, "general_mean"),
        (DOT_PRODUCT, "general_variance"),
    ],
)
def test_every_damage_is_found(theory: Theory, theorem: str) -> None:
    found = theory[theorem]
    context = theory.context(found)
    mutants = damaged(found.claims[-1].condition)
    assert len(mutants) >= 6
    assert [m for m in mutants if equivalent_at_small_sizes(m, context) is not False] == []


def test_gradient_needs_its_hypothesis() -> None:
    theorem = CROSS_ENTROPY["gradient"]
    context = CROSS_ENTROPY.context(theorem)
    without = Context(context.axes, context.declarations, context.definitions)
    condition = theorem.claims[0].condition
    assert equivalent_at_small_sizes(condition, context) is True
    assert equivalent_at_small_sizes(condition, without) is False


def test_hypothesis_is_not_used_under_a_derivative() -> None:
    head = "assume(sum(y[k] for k in n) == 1)"
    assert claim(f"{head}\nassert diff(sum(y[k] for k in n), y[i]) == 0").agrees is False
    assert claim(f"{head}\nassert diff(sum(y[k] for k in n), y[i]) == 1").agrees is True


# -- explicit components -----------------------------------------------------------------------------------------------


def test_explicit_differentiates_components() -> None:
    context = SOFTMAX.context(SOFTMAX["jacobian"])
    left, right = SOFTMAX["jacobian"].claims[0].condition.args
    z0, z1 = sympy.Symbol("z[0]", real=True), sympy.Symbol("z[1]", real=True)
    s0 = sympy.exp(z0) / (sympy.exp(z0) + sympy.exp(z1))
    for side in (left, right):
        value = explicit(side, context, {"n": 2}, {LETTER_I: 0, LETTER_J: 1})
        assert sympy.simplify(value - sympy.diff(s0, z1)) == 0


def test_explicit_takes_one_branch_and_says_which() -> None:
    theory = loads('"""T."""\nx: real\na = abs(x)\n')
    context = Context(theory.axes, theory.declarations, theory.definitions)
    x = sympy.Symbol("x", real=True)
    path = Path()
    assert explicit(defined("a"), context, {}, path=path) == x
    assert path.signs == [(x, 1)]
    assert explicit(defined("a"), context, {}, path=Path(path.next() or ())) == -x


def test_explicit_division_by_zero_is_undefined() -> None:
    theory = loads('"""T."""\nn: axis\nz: real[n]\na = 1 / sum(z[k] for k in n if k != k)\n')
    context = Context(theory.axes, theory.declarations, theory.definitions)
    with pytest.raises(Undefined):
        explicit(defined("a"), context, {"n": 2})


def test_explicit_refuses_what_it_does_not_know() -> None:
    theory = loads('"""T."""\nx: positive\na = limit(1 / x, x, oo)\n')
    with pytest.raises(Unsupported, match="limit"):
        explicit(defined("a"), Context(theory.axes, theory.declarations, theory.definitions), {})


# -- exact cancellation ------------------------------------------------------------------------------------------------

x, y = sympy.symbols("x y", real=True)
u, v = sympy.symbols("u v", positive=True)


@pytest.mark.parametrize(
    "zero",
    [
        (x + y) ** 3 - x**3 - 3 * x**2 * y - 3 * x * y**2 - y**3,
        1 / (1 + sympy.exp(x)) + 1 / (1 + sympy.exp(-x)) - 1,
        x / (x + y) + y / (x + y) - 1,
        sympy.sqrt(u) ** 3 - u * sympy.sqrt(u),
        sympy.sqrt(u / (u + v)) - sympy.sqrt(u * (u + v)) / (u + v),
        sympy.log(u * v + u) - sympy.log(u) - sympy.log(1 + v),
        sympy.log(sympy.exp(x) + sympy.exp(y)) - x - sympy.log(1 + sympy.exp(y - x)),
        sympy.exp(2 * sympy.log(u + 1)) - (u + 1) ** 2,
        sympy.tanh(x + y) - sympy.tanh(y + x),
    ],
    ids=str,
)
def test_identity_cancels(zero: sympy.Expr) -> None:
    assert is_zero(zero) is True


@pytest.mark.parametrize(
    "other",
    [
        x - y,
        sympy.sqrt(x**2 + 1) - x,
        sympy.exp(x) - 1,
        sympy.log(x**2) - 2 * sympy.log(x),
        sympy.sqrt((x - y) ** 2) - (x - y),
        x + sympy.Rational(1, 10**30) - x,
        sympy.exp(x / 2) ** 2 - sympy.exp(x) + u - v,
    ],
    ids=str,
)
def test_what_is_not_an_identity_does_not_cancel(other: sympy.Expr) -> None:
    assert is_zero(other) is None


def test_hidden_zero_in_a_denominator_is_seen() -> None:
    with pytest.raises(Vanishing):
        is_zero(x / ((x + y) ** 2 - x**2 - 2 * x * y - y**2))


def test_contradicting_signs_are_infeasible() -> None:
    assert infeasible([(x - y, 1), (y - 2, 1), (x - 1, -1)])
    assert not infeasible([(x - y, 1), (y - 2, 1), (x - 1, 1)])
    assert not infeasible([(x * y, 1), (x, 1), (y, -1)])  # only linear ones are looked at


# -- expressions for users ---------------------------------------------------------------------------------------------


def test_definitions_are_written_out_or_named() -> None:
    right = SOFTMAX["jacobian"].claims[0].condition.args[1]
    context = SOFTMAX.context(SOFTMAX["jacobian"])
    assert str(to_sympy(right, context, unfold=False)) == "(KroneckerDelta(i, j) - s[j])*s[i]"
    assert "Sum(exp(z[k]), (k, 0, n - 1))" in str(to_sympy(right, context))


def test_expression_lambdifies_to_the_same_numbers() -> None:
    context = SOFTMAX.context(SOFTMAX["jacobian"])
    value = to_sympy(SOFTMAX["jacobian"].claims[0].condition.args[1], context)
    letters = [sympy.Symbol(k, integer=True, nonnegative=True) for k in "ij"]
    size = sympy.Symbol("n", integer=True, positive=True)
    function = sympy.lambdify([sympy.IndexedBase("z", real=True), *letters, size], value, "numpy")
    z = np.array([1.0, 2.0, 0.5])
    s = np.exp(z) / np.exp(z).sum()
    for i, j in np.ndindex(3, 3):
        assert function(z, i, j, 3) == pytest.approx(s[i] * ((i == j) - s[j]))


FILTERED = (
    '"""T."""\nn: axis\nz: real[n]\nf = sum(z[k] * sum(where(z[l] > 0, z[l], 1) for l in n if l < k) for k in n)\n'
)


def test_filters_of_inner_sums_stay_inside() -> None:
    """SymPy moves a Piecewise out of nested sums, letters and all; the value must not change."""
    theory = loads(FILTERED)
    value = to_sympy(defined("f"), Context(theory.axes, theory.declarations, theory.definitions))
    size = sympy.Symbol("n", integer=True, positive=True)
    z = np.array([1.0, -2.0, 3.0])
    true = sum(z[k] * sum(z[m] if z[m] > 0 else 1 for m in range(k)) for k in range(3))
    for module in ("numpy", "math"):
        assert sympy.lambdify([sympy.IndexedBase("z", real=True), size], value, module)(z, 3) == true
    assert value.subs(size, 1).doit() == 0
    assert value.free_symbols & set(sympy.symbols("k l", integer=True, nonnegative=True)) == set()


def test_bound_letters_share_no_name_with_free_ones() -> None:
    theory = loads(
        '"""T."""\nn: axis\nz: real[n]\nZ[i] = z[i] * sum(z[k] for k in n)\nd[k] = Z[k] + sum(Z[i] for i in n)\n'
    )
    context = Context(theory.axes, theory.declarations, theory.definitions)
    k = index("k", "n")
    value = to_sympy(defined("d", k), context)
    free = sympy.Symbol("k", integer=True, nonnegative=True)
    bound = {limit[0] for s in value.atoms(sympy.Sum) for limit in s.limits}
    assert free not in bound
    assert (
        value.subs(free, 0).subs(sympy.Symbol("n", integer=True, positive=True), 1).doit()
        == 2 * sympy.IndexedBase("z", real=True)[0] ** 2
    )


def test_names_that_mean_something_to_sympy_are_ordinary() -> None:
    theory = loads(
        '"""T."""\nI: real\nS: real\nN: axis\nQ: real[N]\nbeta: real\nf = I * S + beta * sum(Q[k] for k in N)\n'
    )
    value = to_sympy(defined("f"), Context(theory.axes, theory.declarations, theory.definitions))
    assert {s.name for s in value.free_symbols if isinstance(s, sympy.Symbol)} >= {"I", "S", "N", "beta"}
    assert sympy.I not in value.atoms()


@pytest.mark.parametrize("unfold", [True, False])
@pytest.mark.parametrize("source", catalogue())
def test_every_claim_of_the_catalogue_has_an_expression(source: str, unfold: bool) -> None:
    theory = load(source)
    for theorem in theory.theorems:
        for c in theorem.claims:
            value = to_sympy(c.condition, theory.context(theorem), unfold)
            assert sympy.latex(value)
            assert not value.has(sympy.nan, sympy.zoo)


def test_derivatives_are_left_as_they_are() -> None:
    value = to_sympy(expression("diff(s[i], z[j])", SOFTMAX), SOFTMAX.context(SOFTMAX["jacobian"]), unfold=False)
    assert isinstance(value, sympy.Derivative)


def test_quotient_whose_denominator_the_path_makes_0_has_no_sign() -> None:
    path, symbol = Path(()), sympy.Symbol("N", real=True)
    path.fix(symbol, sympy.S.Zero)
    with pytest.raises(Undefined):
        path.sign(1 / symbol)
    assert path.sign(1 + symbol) == 1

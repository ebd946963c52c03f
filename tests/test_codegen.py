"""Generated NumPy code: what it computes, at any size, with batch axes, in any dtype, and what it refuses."""

from __future__ import annotations

import ast
import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from derive.codegen import (
    CodegenError,
    Compiled,
    Quantity,
    compile_quantity,
    compile_side,
    compile_term,
    quantity,
    vjp,
)
from derive.codegen.helpers import SNIPPETS
from derive.codegen.stable import REWRITES
from derive.codegen.writer import docstring
from derive.evidence.enclosure import Enclosed, evaluate
from derive.evidence.inputs import plain
from derive.kernel.context import Context
from derive.language import catalogue, expression, load, loads
from derive.language.theory import Theory
from derive.term import defined, index

SOFTMAX, CROSS_ENTROPY, DOT_PRODUCT = load("softmax"), load("cross_entropy"), load("dot_product")

EVERYTHING = loads(
    '''"""One definition for each form of the language that has NumPy code."""
n: axis
m: axis
B: axis
z: real[n]
W: real[n, n]
X: real[B, n]
Q: real[m, n]
K: real[m, n]
V: real[m, n, B]
p: positive[n]
mask: bit[n, n]
t: index[n][B]
c: index[n]
T: positive
e: integer

trace = sum(W[i, i] for i in n)
diagonal[i] = W[i, i]
transposed[i, j] = W[j, i]
permuted[b, a, i] = V[a, i, b] * Q[a, i]
picked[b] = X[b, t[b]]
tokens[b, i] = W[t[b], i]
target = z[c]
one_hot[i] = delta(i, c)
class_loss[b] = log(sum(exp(X[b, k]) for k in n)) - X[b, t[b]]
causal[i, j] = where(j <= i, exp(W[i, j]) / sum(exp(W[i, k]) for k in n if k <= i), 0)
masked[i] = sum(W[i, k] * z[k] for k in n if mask[i, k])
masked_product[i, a] = sum(W[i, k] * Q[a, k] for k in n if k <= i)
three[a, j] = sum(Q[a, i] * W[i, j] * K[a, j] for i in n)
quadratic = sum(Q[a, i] * W[i, j] * K[b, j] for a in m for b in m for i in n for j in n)
cube[i, b] = sum(V[a, i, b] * Q[a, j] * X[b, j] / T for a in m for j in n)
count[i] = sum(1 for k in n if k < i)
distance[i, j] = abs(i - j) * z[i] * W[i, j]
best = z[argmax(z[k] for k in n)]
place = argmax(z[k] for k in n)
special[i] = erf(z[i]) + lgamma(p[i]) + digamma(p[i]) + trigamma(p[i]) + sigmoid(z[i]) + softplus(z[i])
elementary[i] = sin(z[i]) + cos(z[i]) + tan(z[i]) + sinh(z[i]) + cosh(z[i]) + tanh(z[i]) + atan(z[i])
pieces[i] = sign(z[i]) + relu(z[i]) + log1p(p[i]) + expm1(z[i]) + sqrt(p[i]) + abs(z[i])
powers[i] = p[i] ** T + p[i] ** -2 + z[i] ** e + p[i] ** (1 / 3) + 2 ** z[i] + n ** 2 + n ** (1 / 2) + 1 / n
extremes[i] = max(z[i], W[i, i]) + min(z[i], 0) + max(W[i, k] for k in n) - min(W[k, i] for k in n)
products[i] = prod(1 + p[k] for k in n if k != i) * prod(2 for k in n)
constant = sum(n for k in n) + prod(n for i in n for k in m) + max(3 for k in n)
logic[i] = where(all(W[i, k] > 0 for k in n if k != i) or any(z[k] < 0 and not z[k] == -1 for k in n), 1, z[i])
replaced[i] = at(sum(z[k] * W[k, i] for k in n), z[k], W[i, k])
tempered[i] = at(exp(z[i]) / sum(exp(z[k]) for k in n), z[k], z[k] * T)
sifted[i] = sum(W[i, k] * delta(k, i) * z[k] for k in n) + sum(delta(k, l) * z[k] for k in n for l in n)
slope[i, j] = diff(z[i] ** 2 / sum(z[k] ** 2 + 1 for k in n), z[j])
weighted = log(sum(p[k] * exp(z[k]) for k in n))
average = sum(exp(z[k]) * p[k] for k in n) / sum(exp(z[k]) for k in n)
nested[i] = sum(exp(W[i, k]) * sum(exp(W[k, l]) for l in n) for k in n) / sum(exp(W[i, k]) for k in n)
chain = T - (T - (T - 1)) - T / (T / 2) * 3 ** -T - -T - 1 / 3 * T
large = 100000000000000000000000 * T + pi
numbers = T * ((n - 3) / (n + 1) - (n + 1) ** (1 / 3) - 2 ** (1 / 2) - 1 / (1 + pi / n) + (2 - n) ** -(n + 1))
'''
)


def context_of(theory: Theory) -> Context:
    return Context(theory.axes, theory.declarations, theory.definitions, letters=frozenset(theory.letters))


def draw(rng: np.random.Generator, kind: str, over: int, shape: tuple[int, ...]) -> Any:
    """Entries that every dtype holds exactly."""
    if kind == "index":
        return rng.integers(0, over, shape)
    if kind in ("bit", "integer"):
        return rng.integers(0, 2 if kind == "bit" else 4, shape)
    entries = np.round(rng.standard_normal(shape) * 8) / 8
    return np.abs(entries) + 0.125 if kind in ("positive", "nonnegative") else entries


def exact(array: Any) -> Any:
    return [exact(part) for part in array] if np.ndim(array) else Fraction(float(array))


def assert_agrees(q: Quantity, code: Compiled, seed: int, batch: tuple[int, ...] = ()) -> int:
    """How many entries of the result, on random arrays, some with batch axes, were compared with enclosures."""
    rng = np.random.default_rng(seed)
    context = plain(q.context)
    sizes = {axis: int(rng.integers(1, 5)) for axis in context.axes}
    arguments, leading = {}, {}
    for a in code.arguments:
        leading[a.name] = batch if a.kind != "size" and rng.random() < 0.6 else ()
        shape = leading[a.name] + tuple(sizes[axis] for axis in a.axes)
        over = sizes.get(a.over or "", 0)
        arguments[a.name] = sizes[a.name] if a.kind == "size" else draw(rng, a.kind, over, shape)
    with np.errstate(all="ignore"):
        result = code(**arguments)
    full = np.broadcast_shapes(*leading.values())
    assert np.shape(result) == full + tuple(sizes[k.value[1]] for k in q.letters)
    compared = 0
    for entry in np.ndindex(*full):
        values, fixed = {}, {}
        for a in code.arguments:
            own = np.shape(arguments[a.name])[len(leading[a.name]) :]
            array = np.broadcast_to(arguments[a.name], full + own)[entry] if a.kind != "size" else None
            if a.kind == "index" and not a.axes:
                fixed[index(a.name, a.over or "")] = int(array)
            elif array is not None:
                values[a.name] = exact(array)
        for place in itertools.product(*(range(sizes[k.value[1]]) for k in q.letters)):
            letters = {**dict(zip(q.letters, place, strict=True)), **fixed}
            true = evaluate(q.term, context, sizes, values, letters)
            if isinstance(true, Enclosed):
                compared += 1
                assert float(np.asarray(result)[entry + place]) == pytest.approx(float(true.low), rel=1e-9, abs=1e-9)
    return compared


# -- agreement with enclosures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "naive"])
@pytest.mark.parametrize("name", EVERYTHING.definitions)
def test_code_agrees_with_enclosures(name: str, stable: bool) -> None:
    q = quantity(EVERYTHING, name)
    code = q.compile(stable)
    assert assert_agrees(q, code, 1) + assert_agrees(q, code, 2, (2,)) > 0


@pytest.mark.parametrize("source", catalogue())
def test_catalogue_compiles_and_agrees_with_enclosures(source: str) -> None:
    theory = load(source)
    for name in [*theory.definitions, *(t.name for t in theory.theorems)]:
        try:
            q = quantity(theory, name)
            code = q.compile()
        except CodegenError:
            continue
        assert_agrees(q, code, 3, (2,))


def test_left_sides_with_derivatives_agree_with_right_sides() -> None:
    rng = np.random.default_rng(0)
    g, z, v = rng.standard_normal((3, 5))
    for name in ("jacobian", "diagonal", "off_diagonal", "cases", "vjp"):
        theorem = SOFTMAX[name]
        sides = [compile_side(SOFTMAX, theorem, theorem.claims[-1], side) for side in ("left", "right")]
        values = {"z": z, "g": g, "v": v}
        left, right = (code(**{a.name: values[a.name] for a in code.arguments}) for code in sides)
        if name == "off_diagonal":
            np.fill_diagonal(left, 0)
            np.fill_diagonal(right, 0)
        np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-15)


# -- agreement with loops ----------------------------------------------------------------------------------------------


def loop_softmax(z: np.ndarray) -> list[float]:
    total = sum(math.exp(z[k]) for k in range(len(z)))
    return [math.exp(z[i]) / total for i in range(len(z))]


@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (3, 4), (2, 1, 5), (0, 3)])
def test_softmax_agrees_with_loops_for_leading_batch_axes(shape: tuple[int, ...]) -> None:
    z = np.random.default_rng(1).standard_normal(shape)
    expected = np.array([loop_softmax(row) for row in z.reshape(-1, shape[-1])]).reshape(shape)
    np.testing.assert_allclose(compile_quantity(SOFTMAX, "s")(z), expected, rtol=1e-14)


def test_jacobian_and_vjp_agree_with_loops() -> None:
    rng = np.random.default_rng(2)
    z, g = rng.standard_normal((2, 3, 4))
    jacobian, product = compile_quantity(SOFTMAX, "jacobian")(z), vjp(SOFTMAX, "s", "z")(g, z)
    for b in range(3):
        s = loop_softmax(z[b])
        for j in range(4):
            for i in range(4):
                assert jacobian[b, i, j] == pytest.approx(s[i] * ((i == j) - s[j]), abs=1e-15)
            assert product[b, j] == pytest.approx(sum(g[b, i] * jacobian[b, i, j] for i in range(4)), abs=1e-15)


ATTENTION = loads(
    '''"""Attention."""
m: axis
n: axis
d: axis
e: axis
Q: real[m, d]
K: real[n, d]
V: real[n, e]
S[i, j] = sum(Q[i, a] * K[j, a] for a in d) / sqrt(d)
P[i, j] = exp(S[i, j]) / sum(exp(S[i, k]) for k in n)
O[i, c] = sum(P[i, j] * V[j, c] for j in n)
'''
)


def test_attention_agrees_with_loops_and_multiplies_matrices() -> None:
    rng = np.random.default_rng(3)
    q, k, v = rng.standard_normal((4, 2, 5)), rng.standard_normal((3, 5)), rng.standard_normal((4, 3, 6))
    code = compile_quantity(ATTENTION, "O")
    result = code(K=k, Q=q, V=v)
    assert result.shape == (4, 2, 6)
    for b, i, c in np.ndindex(4, 2, 6):
        p = loop_softmax(np.array([sum(q[b, i, a] * k[j, a] for a in range(5)) / math.sqrt(5) for j in range(3)]))
        assert result[b, i, c] == pytest.approx(sum(p[j] * v[b, j, c] for j in range(3)))
    assert code.source.count(" @ ") + code.source.count("np.matmul(") == 2
    assert "einsum" not in code.source


# -- the source --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERYTHING.definitions)
def test_source_loops_over_blocks_alone_and_imports_only_numpy(name: str) -> None:
    tree = ast.parse(compile_quantity(EVERYTHING, name).source)
    function = tree.body[-1]
    loops = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
    found = [node for node in ast.walk(function) if isinstance(node, loops)]
    assert [ast.unparse(node.iter.func) for node in found] in ([], ["_blocks"], ["_blocks"] * 2)  # type: ignore[union-attr]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]


def test_source_runs_by_itself_and_is_the_same_each_time() -> None:
    code = compile_quantity(SOFTMAX, "jacobian")
    namespace: dict[str, Any] = {}
    exec(code.source, namespace)
    z = np.array([1.0, 2.0])
    np.testing.assert_array_equal(namespace["jacobian"](z), code(z))
    assert code.source == compile_quantity(load("softmax"), "jacobian").source


def test_docstring_holds_formula_definitions_and_hypotheses() -> None:
    text = ast.get_docstring(ast.parse(compile_quantity(CROSS_ENTROPY, "gradient").source).body[-1])
    assert text is not None
    for part in (
        "cross_entropy.gradient[i] = s[i] - y[i]",
        "s[i] = exp(z[i])/Z",
        "sum(y[k] for k in n) == 1",
        "z: real[n]",
    ):
        assert part in text


def test_shared_subexpressions_are_computed_once() -> None:
    assert compile_quantity(SOFTMAX, "jacobian").source.count("= _exp_difference(z, ") == 1
    assert compile_quantity(SOFTMAX, "positive_semidefinite", stable=False).source.count("np.exp(") == 1


def test_vjp_builds_no_matrix() -> None:
    code = vjp(SOFTMAX, "s", "z")
    assert "np.eye" not in code.source
    g, z = np.random.default_rng(4).standard_normal((2, 300_000))  # a matrix would be 720 gigabytes
    assert code(g, z).shape == (300_000,)


@pytest.mark.parametrize("text", ['"""', '\\"""', 'x"; import os; "', "a\nb\u202ec\x1b[0m", "end\\", '"'])
def test_docstring_cannot_be_left(text: str) -> None:
    source = "def f():\n    " + "\n    ".join(docstring([text])) + "\n    return 1"
    (function,) = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 2
    assert "\u202e" not in source
    assert "\x1b" not in source


def test_theory_name_cannot_inject_code() -> None:
    theory = replace(SOFTMAX, name='a"""\nraise SystemExit\n"""')
    assert compile_quantity(theory, "s")([0.0]) == 1


@pytest.mark.parametrize("names", [("np", "np_", "np__"), ("max_", "filter", "filter_"), ("None_", "None__", "x")])
def test_names_that_differ_in_underscores_stay_apart(names: tuple[str, ...]) -> None:
    declared = "".join(f"{name}: real[n]\n" for name in names)
    total = " + ".join(f"{k}*{name}[i]" for k, name in enumerate(names, 2))
    code = compile_quantity(loads(f'"""Names."""\nn: axis\n{declared}total[i] = {total}\n'), "total")
    assert code([1.0], [10.0], [100.0]) == 432


# -- stable forms ------------------------------------------------------------------------------------------------------


def test_shift_survives_scores_at_which_the_naive_form_overflows() -> None:
    z = np.array([1000.0, 10.0, 5.0])
    with np.errstate(over="ignore", invalid="ignore"):
        naive = compile_quantity(SOFTMAX, "s", stable=False)(z)
    assert np.isnan(naive[0])
    np.testing.assert_array_equal(compile_quantity(SOFTMAX, "s")(z), [1, 0, 0])
    loss = compile_quantity(CROSS_ENTROPY, "loss")
    assert loss(z, [0.0, 1.0, 0.0]) == 990


def test_naive_form_is_what_is_written() -> None:
    assert "np.max" not in compile_quantity(SOFTMAX, "s", stable=False).source
    assert compile_quantity(SOFTMAX, "s", stable=False).rewrites == ()
    assert [r.name for r in compile_quantity(SOFTMAX, "s").rewrites] == ["ratio", "ratio"]


def test_every_rewrite_names_a_theorem_of_the_catalogue() -> None:
    for row in REWRITES:
        theory, theorem = row.theorem.split(".")
        assert load(theory)[theorem]


@pytest.mark.parametrize("name", ["weighted", "average", "causal", "class_loss", "tempered", "nested"])
def test_rewrites_apply_to_any_exponent(name: str) -> None:
    assert compile_quantity(EVERYTHING, name).rewrites


@pytest.mark.parametrize("name", ["powers", "chain", "quadratic", "count"])
def test_rewrites_leave_other_formulas_alone(name: str) -> None:
    naive, stable = (quantity(EVERYTHING, name).compile(s, brief=True) for s in (False, True))
    assert naive.source == stable.source


def test_shift_under_a_binder_captures_no_letter() -> None:
    """The maximum over k of W[i, k] goes under a sum whose own letter is i."""
    theory = loads(
        '"""T."""\nn: axis\nW: real[n, n]\nr[i] = sum(exp(W[k, i]) for k in n) / sum(exp(W[i, k]) for k in n)\n'
        "t = sum(sum(exp(W[i, k]) for i in n) / sum(exp(W[k, i]) for i in n) for k in n)\n"
    )
    for name in ("r", "t"):
        q = quantity(theory, name)
        assert q.compile().rewrites
        assert assert_agrees(q, q.compile(), 5) > 0


# -- arguments ---------------------------------------------------------------------------------------------------------


def test_arguments_go_by_name_or_in_order_of_declaration() -> None:
    code = compile_quantity(CROSS_ENTROPY, "loss")
    z, y = np.array([0.0, 1.0]), np.array([0.25, 0.75])
    assert [a.name for a in code.arguments] == ["z", "y"]
    assert code(z, y) == code(y=y, z=z) == code(z, y=y)
    assert [a.name for a in vjp(SOFTMAX, "s", "z").arguments] == ["g", "z"]


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((2, 3), (4, 5), (4, 6)), ("axis d", "5", "3")),
        (((2, 3), (4, 3), (5, 6)), ("axis n", "5", "4")),
        (((3,), (4, 3), (4, 6)), ("axis m", "Q", "(3,)")),
        (((2, 3), (0, 3), (0, 6)), ("axis n", "size 0")),
    ],
)
def test_wrong_shapes_are_refused_with_axis_and_sizes(
    shapes: tuple[tuple[int, ...], ...], words: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match="axis") as caught:
        compile_quantity(ATTENTION, "O")(*(np.zeros(shape) for shape in shapes))
    for word in words:
        assert word in str(caught.value)


def test_named_entries_must_be_there() -> None:
    theory = loads(
        '"""T."""\nn: axis\nz: real[n]\ns = sum(z[k] for k in n)\n'
        "def example():\n    assume(z == [1, 2, 3])\n    assert s == z[0] + z[1] + z[2]\n"
    )
    code = compile_quantity(theory, "example")
    assert code([1, 2, 3]) == 6
    with pytest.raises(ValueError, match="axis n: size 2, but the formula names entry 2"):
        code([1, 2])


def test_square_arrays_must_be_square() -> None:
    with pytest.raises(ValueError, match="axis n: size 4 in W, expected 3"):
        compile_quantity(EVERYTHING, "trace")(np.zeros((3, 4)))


def test_axis_of_size_one_is_not_broadcast() -> None:
    with pytest.raises(ValueError, match="axis n: size 1 in y, expected 3"):
        compile_quantity(CROSS_ENTROPY, "loss")(np.zeros(3), np.zeros(1))


@pytest.mark.parametrize("bad", [[3], [-1], [0.5], [True]])
def test_indices_must_be_integers_of_their_axis(bad: list[Any]) -> None:
    with pytest.raises(ValueError, match="axis n: t must hold integers from 0 to 2"):
        compile_quantity(EVERYTHING, "picked")(X=np.zeros((1, 3)), t=bad)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", ["s", "jacobian", "vjp", "positive_semidefinite"])
def test_dtype_is_kept(name: str, dtype: Any) -> None:
    code = compile_quantity(SOFTMAX, name)
    result = code(**{a.name: np.array([0.5, 1.0, -1.0], dtype) for a in code.arguments})
    assert result.dtype == dtype


def test_python_numbers_and_integers_follow_the_arrays() -> None:
    tempered = compile_quantity(EVERYTHING, "tempered")
    assert tempered(np.zeros(3, np.float32), 2.0).dtype == np.float32
    assert tempered([1, 2, 3], 2).dtype == np.float64
    assert compile_quantity(SOFTMAX, "s")(np.array([1, 2])).dtype == np.float64


def test_sizes_that_no_array_shows_are_arguments() -> None:
    assert compile_quantity(DOT_PRODUCT, "variance")(d=64) == 64
    assert compile_quantity(DOT_PRODUCT, "standard_deviation")(16) == 4
    assert compile_quantity(DOT_PRODUCT, "mean")() == 0


def test_result_is_no_view_of_an_argument() -> None:
    w = np.arange(4.0).reshape(2, 2)
    for name in ("transposed", "diagonal"):
        result = compile_quantity(EVERYTHING, name)(w)
        result[0] = -1
    np.testing.assert_array_equal(w, np.arange(4.0).reshape(2, 2))


def test_constant_right_sides_have_the_shape_of_their_letters_and_batch() -> None:
    theory = loads(
        '"""T."""\nn: axis\nx: real[n]\nL = sum(x[k] for k in n)\ndef gradient():\n    assert diff(L, x[i]) == 1\n'
    )
    np.testing.assert_array_equal(compile_quantity(theory, "gradient")(3), np.ones(3))
    np.testing.assert_array_equal(vjp(theory, "L", "x")([2.0, 3.0], np.zeros((2, 3))), [[2, 2, 2], [3, 3, 3]])


def test_names_that_python_needs_are_ordinary_variables() -> None:
    text = '"""T."""\nn: axis\nnp: real[n]\nint: real\ndtype: real[n]\nf[i] = np[i] * int + sum(dtype[k] for k in n)\n'
    code = compile_quantity(loads(text), "f")
    np.testing.assert_array_equal(code(np=[1.0, 2.0], int=3, dtype=[1.0, 1.0]), [5, 8])


# -- refusals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["E(score)", "Var(score)", "limit(1 / d, d, oo)"])
def test_what_has_no_code_is_refused_by_name(text: str) -> None:
    if text.startswith("limit"):
        theory = loads('"""T."""\nx: positive\ny = limit(1 / x, x, oo)\n')
        with pytest.raises(CodegenError, match="limit has no NumPy form"):
            compile_quantity(theory, "y")
        return
    with pytest.raises(CodegenError, match=rf"{text.split('(')[0]} has no NumPy form"):
        compile_term(expression(text, DOT_PRODUCT), context_of(DOT_PRODUCT))


def test_vjp_does_not_ask_for_what_at_replaces() -> None:
    theory = loads(
        '"""Replaced."""\nn: axis\nx: real[n]\ny: real[n]\nT: real\nf[i] = at(x[i] ** 2 * T, x[k], 3 * y[k])\n'
        "def back(g: real[n]):\n    assert sum(g[i] * diff(f[i], y[j]) for i in n) == 18 * T * g[j] * y[j]\n"
        "h[i] = at(x[i] * y[i], x[k], x[k] + T)\n"
        "def kept(g: real[n]):\n    assert sum(g[i] * diff(h[i], y[j]) for i in n) == g[j] * (x[j] + T)\n"
    )
    code = vjp(theory, "f", "y")
    assert [a.name for a in code.arguments] == ["g", "y", "T"]
    np.testing.assert_array_equal(code([1.0, 2.0], [1.0, 1.0], 0.5), [9, 18])
    assert [a.name for a in vjp(theory, "h", "y").arguments] == ["g", "x", "y", "T"]


def test_conditions_of_sizes_and_numbers_have_all_axes() -> None:
    theory = loads(
        '"""T."""\nn: axis\nz: real[n]\nmask: bit[n]\nf[i] = where(n >= 2 and z[i] > 0, z[i], -1)\n'
        "g[i] = where(n >= 3, z[i], -1)\nh[i] = where(not 2 > 3 or z[i] > 0, z[i], 0)\n"
        "Z = sum(exp(z[k]) for k in n if mask[k])\nopen_[i] = at(exp(z[i]) / Z, mask[k], 1)\nshut = at(Z, mask[k], 0)\n"
    )
    z = np.array([[1.0, -1.0], [0.5, 0.25]])
    np.testing.assert_array_equal(compile_quantity(theory, "f")(z), np.where(z > 0, z, -1))
    np.testing.assert_array_equal(compile_quantity(theory, "g")(z), -np.ones((2, 2)))
    np.testing.assert_array_equal(compile_quantity(theory, "h")(z), z)
    np.testing.assert_allclose(np.sum(compile_quantity(theory, "open_")(z), axis=-1), 1, rtol=1e-15)
    assert compile_quantity(theory, "shut")(z).tolist() == [0, 0]


def test_size_that_only_indices_run_over_is_an_argument() -> None:
    theory = loads(
        '"""T."""\nn: axis\nm: axis\nx: real[n]\nh: index[m][n]\nf[i] = sum(x[j] for j in n if h[j] == h[i])\n'
    )
    f = compile_quantity(theory, "f")
    assert [a.name for a in f.arguments] == ["x", "h", "m"]
    assert f([1.0, 2.0, 4.0], [0, 1, 0], 2).tolist() == [5, 2, 5]
    with pytest.raises(ValueError, match="h must hold integers from 0 to 0"):
        f([1.0, 2.0, 4.0], [0, 1, 0], 1)


@pytest.mark.parametrize(
    "name", ["np", "int", "tuple", "filter", "hasattr", "zip", "len", "slice", "out", "_dtype", "_size"]
)
def test_quantities_may_have_the_names_that_the_module_uses(name: str) -> None:
    theory = loads(f'"""T."""\nn: axis\nz: real[n]\nm: integer\n{name}[i] = z[i] * 2 + m\n')
    code = compile_quantity(theory, name)
    assert code(np.ones((2, 3), np.float32), [1, 2]).tolist() == [[3] * 3, [4] * 3]
    assert vjp(theory, name, "z")(np.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("bad", [np.array([1j, 0]), np.array([1, None]), np.array(["1", "2"]), np.array([1], "M8[D]")])
def test_arrays_of_other_things_than_real_numbers_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected real numbers"):
        compile_quantity(SOFTMAX, "s")(bad)


def test_arrays_of_any_layout_give_the_same() -> None:
    s = compile_quantity(SOFTMAX, "s")
    z = np.random.default_rng(0).standard_normal((4, 3, 6))
    expected, wide, fixed = s(z), np.zeros((4, 3, 12)), z.copy()
    wide[..., ::2], fixed.flags.writeable = z, False
    for same in (wide[..., ::2], np.asfortranarray(z), fixed, z.tolist(), z.astype(">f8"), z[..., ::-1][..., ::-1]):
        np.testing.assert_array_equal(s(same), expected)
    for out in (np.asfortranarray(np.empty_like(z)), wide[..., ::2], fixed.copy()):
        assert s(z, out=out) is out
        np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(s(np.broadcast_to(z[0, 0], z.shape)), np.broadcast_to(expected[0, 0], z.shape))


def test_unknown_names_and_missing_derivatives_are_refused() -> None:
    with pytest.raises(KeyError, match="no definition or theorem"):
        compile_quantity(SOFTMAX, "nothing")
    with pytest.raises(CodegenError, match="s does not depend on y"):
        vjp(CROSS_ENTROPY, "s", "y")


def test_letter_without_an_axis_is_refused() -> None:
    with pytest.raises(CodegenError, match="no axis for the letter i"):
        compile_term(defined("s", index("i", "n")), context_of(SOFTMAX), letters=())


def test_function_name_must_be_an_identifier() -> None:
    with pytest.raises(CodegenError, match="cannot be called"):
        compile_term(defined("Z"), context_of(SOFTMAX), "f(): pass\nimport os\ndef g")


# -- special functions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "bound"), [("_erf", 3), ("_lgamma", 20), ("_digamma", 15), ("_trigamma", 6), ("_sigmoid", 3)]
)
def test_special_functions_are_accurate(name: str, bound: float) -> None:
    import mpmath

    exactly = {
        "_erf": mpmath.erf,
        "_lgamma": mpmath.loggamma,
        "_digamma": mpmath.digamma,
        "_trigamma": lambda x: mpmath.polygamma(1, x),
        "_sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    }[name]
    namespace: dict[str, Any] = {"np": np}
    exec(SNIPPETS[name], namespace)
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.uniform(0.01, 6, 150), rng.uniform(0.01, 60, 50), [0.5, 1.5, 2.5, 3.5, 10.0, 1e-6, 1e6]])
    x = np.concatenate([x, -x]) if name in ("_erf", "_sigmoid") else x
    with np.errstate(all="ignore"):
        values = namespace[name](x)
    with mpmath.workdps(40):
        for value, argument in zip(values, x, strict=True):
            true = exactly(mpmath.mpf(float(argument)))
            assert abs(mpmath.mpf(float(value)) - true) <= bound * np.spacing(abs(float(true))) + 1e-308


def test_long_statement_is_broken_as_the_formatter_does() -> None:
    from derive.codegen.writer import _broken

    names = ", ".join(f"np.add(first, number_{k})" for k in range(6))
    assert _broken("    t = np.subtract(z, p)") == ["    t = np.subtract(z, p)"]
    assert _broken(f"    t = f(z)[{names}]") == [f"    t = f(z)[{names}]"], "it does not end in a call"
    wide = "x" * 100
    assert _broken(f"    t = np.subtract({wide}, y)") == ["    t = np.subtract(", f"        {wide}, y", "    )"]
    long = _broken(f"    t = np.where({names})")
    assert long == ["    t = np.where(", *(f"        np.add(first, number_{k})," for k in range(6)), "    )"]

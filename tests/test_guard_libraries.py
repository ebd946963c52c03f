"""Right functions of PyTorch, JAX and SciPy are never rejected at the mode that is stated; wrong ones always are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_rules import NORMS, softmax

from derive.guard.calling import BadCall
from derive.testing import assert_implements, examine

DTYPES = ("float64", "float32", "float16", "bfloat16")
HALF = ("float16", "bfloat16")
TARGET = '''"""One class."""
from softmax import n, z, s
t: index[n]
loss = -log(s[t])
smooth = -sum((delta(k, t) * (1 - 0.1) + 0.1 / n) * log(s[k]) for k in n)
grad[i] = s[i] - delta(i, t)
'''


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formulas")
    (folder / "norms.derive").write_text(NORMS)
    (folder / "one.derive").write_text(TARGET)
    return folder


# -- PyTorch -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed")


def gradient(loss: Callable[[Any], Any], x: Any, seed: Any = None) -> Any:
    x = x.clone().requires_grad_()
    loss(x).backward(seed)
    return x.grad


def of_torch(torch: Any) -> list[tuple[str, Callable[..., Any]]]:
    """Formula and function."""
    F = torch.nn.functional

    def attention(which: str) -> Callable[..., Any]:
        def backward(Q: Any, K: Any, V: Any, dO: Any) -> Any:
            leaves = [x.clone().requires_grad_() for x in (Q, K, V)]
            F.scaled_dot_product_attention(*(x[None] for x in leaves))[0].backward(dO)
            return leaves["QKV".index(which)].grad

        return backward

    return [
        ("softmax.s", lambda z: torch.softmax(z, -1)),
        ("softmax.vjp", lambda z, g: gradient(lambda x: torch.softmax(x, -1), z, g)),
        ("softmax.vjp", lambda s, g: torch._softmax_backward_data(g, s, -1, s.dtype)),
        ("log_sum_exp.lse", lambda z: torch.logsumexp(z, -1)),
        ("log_sum_exp.log_softmax", lambda z: torch.log_softmax(z, -1)),
        ("log_sum_exp.log_softmax_vjp", lambda z, g: gradient(lambda x: torch.log_softmax(x, -1), z, g)),
        ("cross_entropy.loss", lambda z, y: F.cross_entropy(z, y)),
        ("cross_entropy.gradient", lambda z, y: gradient(lambda x: F.cross_entropy(x, y), z)),
        ("cross_entropy.mean_over_a_batch", lambda X, target: gradient(lambda x: F.cross_entropy(x, target), X)),
        ("attention.O", lambda Q, K, V: F.scaled_dot_product_attention(Q[None], K[None], V[None])[0]),
        ("attention.dQ", attention("Q")),
        ("attention.dK", attention("K")),
        ("attention.dV", attention("V")),
        ("norms.derive:layer_norm", lambda x, w, eps: F.layer_norm(x, x.shape[-1:], w, None, float(eps))),
        ("norms.derive:layer_norm_dx", lambda x, w, g, eps: gradient(
            lambda a: F.layer_norm(a, a.shape[-1:], w, None, float(eps)), x, g)),
        ("norms.derive:rms_norm", lambda x, w, eps: F.rms_norm(x, x.shape[-1:], w, float(eps))),
        ("norms.derive:rms_norm_dx", lambda x, w, g, eps: gradient(
            lambda a: F.rms_norm(a, a.shape[-1:], w, float(eps)), x, g)),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_torch_are_within_bounds(torch: Any, files: Path, dtype: str) -> None:
    for formula, function in of_torch(torch):
        name = f"{files}/{formula}" if ":" in formula else formula
        outcome = examine(function, name, dtype=dtype)
        assert outcome.ok, f"{formula}: {outcome.finding}"
        assert outcome.components > outcome.open, formula


@pytest.mark.parametrize("dtype", HALF)
def test_half_precision_of_torch_computes_in_float32(torch: Any, dtype: str) -> None:
    """Forward, and backward from what forward saved; log-softmax rounds in between, and so does the whole way."""
    chosen = [(f, k) for f, k in of_torch(torch) if f in ("softmax.s", "attention.O")]
    for formula, function in chosen:
        assert_implements(function, formula, dtype=dtype, inside="float32")
    backward = lambda s, g: torch._softmax_backward_data(g, s, -1, s.dtype)  # noqa: E731
    assert_implements(backward, "softmax.vjp", dtype=dtype, inside="float32")
    through = lambda z, g: gradient(lambda x: torch.softmax(x, -1), z, g)  # noqa: E731
    assert not examine(through, "softmax.vjp", dtype=dtype, inside="float32").ok
    assert not examine(lambda z: torch.log_softmax(z, -1), "log_sum_exp.log_softmax", dtype=dtype, inside="float32").ok


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_and_ignored_labels_of_torch(torch: Any, files: Path, dtype: str) -> None:
    entropy = torch.nn.functional.cross_entropy
    for reduction in ("none", "sum", "mean"):
        for ignored in (None, -100) if dtype == "float32" else (-100,):
            modes = {"dtype": dtype, "batch": 3, "reduction": reduction, "ignore_index": ignored}
            loss = lambda z, t: entropy(z, t, reduction=reduction)  # noqa: B023, E731
            assert_implements(loss, f"{files}/one.derive:loss", **modes)
            if reduction != "none":
                back = lambda z, t: gradient(lambda x: entropy(x, t, reduction=reduction), z)  # noqa: B023, E731
                assert_implements(back, f"{files}/one.derive:grad", **modes)
    smoothed = lambda z, t: entropy(z, t, label_smoothing=0.1, reduction="none")  # noqa: E731
    assert_implements(smoothed, f"{files}/one.derive:smooth", dtype=dtype, batch=3)
    summed = lambda z, t: gradient(lambda x: entropy(x, t, reduction="sum"), z)  # noqa: E731
    wrong = examine(summed, f"{files}/one.derive:grad", dtype=dtype, batch=3, reduction="mean")
    assert wrong.cause is not None and wrong.cause.mistake is not None and "times the formula" in wrong.cause.mistake


def rows(z: Any) -> Any:
    """A function of tensors with rows."""
    assert z.dim() == 2
    return z.softmax(1)


def test_tensors_are_tried_where_a_function_refuses_arrays(torch: Any) -> None:
    outcome = assert_implements(lambda z: torch.softmax(z, -1), "softmax.s")
    assert outcome.call.library == "torch"
    assert assert_implements(softmax, "softmax.s").call.library == "numpy"
    assert assert_implements(torch.nn.Softmax(-1), "softmax.s", dtype="bfloat16").call.library == "torch"
    outcome = assert_implements(rows, "softmax.s")
    assert outcome.call.library == "torch" and outcome.batch == 3
    asked = examine(lambda z: torch.softmax(z, -1), "softmax.s", arrays="numpy")
    assert asked.finding is not None and asked.finding.kind == "raises"


def test_tensors_are_not_contiguous_where_the_arrays_are_not(torch: Any) -> None:
    seen: set[bool] = set()

    def noted(z: Any) -> Any:
        seen.add(z.is_contiguous())
        return torch.softmax(z, -1)

    assert_implements(noted, "softmax.s", dtype="bfloat16", arrays="torch")
    assert seen == {True, False}


def test_wrong_functions_of_torch_are_named(torch: Any) -> None:
    outcome = examine(lambda z, g: torch.softmax(z, -1) * g, "softmax.vjp", dtype="float32")
    assert outcome.cause is not None and outcome.cause.mistake == "the term -sum(g[i]*s[i] for i in n) is missing"


# -- JAX ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
def jax() -> Any:
    """JAX with float64, which it has to be told of."""
    module = pytest.importorskip("jax", reason="jax is not installed")
    before = module.config.jax_enable_x64
    module.config.update("jax_enable_x64", True)
    yield module
    module.config.update("jax_enable_x64", before)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_jax_are_within_bounds_where_subnormals_may_be_flushed(jax: Any, dtype: str) -> None:
    nn = jax.nn
    loss = lambda z, y: -(y * nn.log_softmax(z)).sum(-1)  # noqa: E731
    for formula, function in [
        ("softmax.s", jax.jit(nn.softmax)),
        ("softmax.vjp", jax.jit(lambda z, g: jax.vjp(nn.softmax, z)[1](g)[0])),
        ("log_sum_exp.lse", jax.jit(nn.logsumexp)),
        ("log_sum_exp.log_softmax", jax.jit(nn.log_softmax)),
        ("log_sum_exp.log_softmax_vjp", jax.jit(lambda z, g: jax.vjp(nn.log_softmax, z)[1](g)[0])),
        ("cross_entropy.loss", jax.jit(loss)),
        ("cross_entropy.gradient", jax.jit(jax.grad(loss))),
    ]:
        outcome = examine(function, formula, dtype=dtype, arrays="jax", flush=True)
        assert outcome.ok, f"{formula}: {outcome.finding}"
        assert outcome.components > outcome.open, formula


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_flushed_subnormals_of_jax_are_called_so(jax: Any, dtype: str) -> None:
    outcome = examine(jax.jit(lambda z, g: jax.vjp(jax.nn.softmax, z)[1](g)[0]), "softmax.vjp", dtype=dtype)
    assert outcome.cause is not None and outcome.cause.kind == "flush to zero" and outcome.cause.mistake is None


def test_float64_that_jax_does_not_hold_is_told() -> None:
    jax = pytest.importorskip("jax", reason="jax is not installed")
    if jax.config.jax_enable_x64:
        pytest.skip("float64 is enabled in this environment")
    with pytest.raises(BadCall, match="hold float32, not float64: JAX holds no float64 until"):
        assert_implements(jax.nn.softmax, "softmax.s", arrays="jax")
    inner = examine(lambda z: jax.nn.softmax(np.asarray(z)), "softmax.s", arrays="numpy")
    assert inner.finding is not None and "jax_enable_x64" in inner.finding.detail


# -- SciPy -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_scipy_are_within_bounds(dtype: str) -> None:
    special = pytest.importorskip("scipy.special", reason="scipy is not installed")
    for formula, function in [
        ("softmax.s", special.softmax),
        ("log_sum_exp.log_softmax", special.log_softmax),
        ("log_sum_exp.lse", lambda z: special.logsumexp(z).astype(z.dtype)),  # of bfloat16 it gives float64
    ]:
        outcome = examine(function, formula, dtype=dtype, arguments="z")
        assert outcome.ok, f"{formula}: {outcome.finding}"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_elementary_functions_of_scipy_are_within_bounds(theory: Callable[..., Path], dtype: str) -> None:
    special = pytest.importorskip("scipy.special", reason="scipy is not installed")
    path = theory(
        '"""Elementary functions."""\nn: axis\nx: real[n]\ny: positive[n]\n'
        "e[i] = erf(x[i])\nf[i] = sigmoid(x[i])\nm[i] = expm1(x[i])\nl[i] = log1p(y[i])\n"
        "d[i] = digamma(y[i])\ng[i] = lgamma(y[i])\nc[i] = y[i] * log(y[i])\n"
    )
    for name, function in [
        ("e", special.erf), ("f", special.expit), ("m", special.expm1), ("l", special.log1p),
        ("d", special.digamma), ("g", special.gammaln), ("c", lambda y: special.xlogy(y, y)),
    ]:  # fmt: skip
        outcome = examine(function, f"{path}:{name}", dtype=dtype, arguments="x" if name in "efm" else "y")
        assert outcome.ok, f"{name}: {outcome.finding}"
        wrong = lambda v: function(v) * v.dtype.type(1.001)  # noqa: B023, E731
        assert not examine(wrong, f"{path}:{name}", dtype=dtype, arguments="x" if name in "efm" else "y").ok

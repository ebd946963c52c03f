"""Generated NumPy code goes through large batches by blocks, writes where it is told, and returns several results."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from test_codegen import EVERYTHING, draw

from derive.codegen import CodegenError, Quantity, compile_quantity, quantity, vjp
from derive.language import load, loads

SOFTMAX, ATTENTION = load("softmax"), load("attention")


def in_small_blocks(q: Quantity, entries: int) -> Any:
    """The function with room for so few entries in a block."""
    source = q.compile().source
    assert source.count("2**17") == 1
    namespace: dict[str, Any] = {}
    exec(source.replace("2**17", str(entries)), namespace)
    return namespace[q.name]


@pytest.mark.parametrize("batch", [(7,), (2, 5)])
@pytest.mark.parametrize("name", EVERYTHING.definitions)
def test_blocks_give_what_the_whole_gives(name: str, batch: tuple[int, ...]) -> None:
    q = quantity(EVERYTHING, name)
    code, rng = q.compile(), np.random.default_rng(0)
    if all(a.kind == "size" for a in code.arguments):
        pytest.skip("depends on sizes alone")
    given = []
    for a in code.arguments:
        lead = () if a.name == "T" else batch
        given.append(3 if a.kind == "size" else draw(rng, a.kind, 3, lead + (3,) * len(a.axes)))
    with np.errstate(all="ignore"):
        whole, parts = code(*given), in_small_blocks(q, 1)(*given)
    np.testing.assert_allclose(parts, whole, rtol=1e-13, atol=1e-13, equal_nan=True)


def test_a_large_batch_is_computed_by_blocks() -> None:
    """The temporaries of one block are small; those of the whole batch would be as large as the scores."""
    z = np.zeros((4096, 500))
    code, out = compile_quantity(SOFTMAX, "s"), np.empty_like(z)
    tracemalloc.start()
    try:
        code(z, out=out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < z.nbytes / 2
    assert np.all(out == out[0])


def test_vjp_of_a_large_vector_builds_no_matrix() -> None:
    z = np.zeros(100_000)
    assert vjp(SOFTMAX, "s", "z")(z + 1, z).shape == z.shape


def test_arguments_that_broadcast_are_not_repeated() -> None:
    """They are there for every entry of the batch, so the batch stays whole; a scalar may have any batch."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((40, 3))
    q = quantity(EVERYTHING, "weighted")
    np.testing.assert_array_equal(in_small_blocks(q, 6)(z, [1.0, 2.0, 3.0]), q.compile()(z, [1.0, 2.0, 3.0]))
    q = quantity(EVERYTHING, "tempered")
    for T in (np.linspace(1, 2, 40), 2.0):
        np.testing.assert_array_equal(in_small_blocks(q, 6)(z, T), q.compile()(z, T))


# -- out ---------------------------------------------------------------------------------------------------------------


def test_result_is_written_where_it_is_wanted() -> None:
    z = np.random.default_rng(0).standard_normal((5, 3))
    code, out = compile_quantity(SOFTMAX, "s"), np.full((5, 3), np.nan)
    assert code(z, out=out) is out
    np.testing.assert_array_equal(out, code(z))
    wide = np.full((5, 6), np.nan)
    code(z, out=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], code(z))
    assert np.all(np.isnan(wide[:, 1::2]))


def test_result_may_overwrite_an_argument() -> None:
    z, g = np.random.default_rng(0).standard_normal((2, 60, 3))
    q, back = quantity(SOFTMAX, "s"), vjp(SOFTMAX, "s", "z")
    small, expected, same = in_small_blocks(q, 6), q.compile()(z), z.copy()
    np.testing.assert_array_equal(small(same, out=same), expected)
    shifted = np.concatenate([z, z])
    np.testing.assert_array_equal(small(shifted[:60], out=shifted[1:61]), expected)
    same, expected = z.copy(), back(g, z)
    np.testing.assert_array_equal(back(g, same, out=same), expected)


@pytest.mark.parametrize(
    ("out", "told"),
    [
        (np.empty(3), r"out: float64 of the shape \(3,\), expected float64 of the shape \(2,\)"),
        (np.empty(2, np.float32), "out: float32 of the shape .*expected float64"),
    ],
)
def test_result_that_does_not_fit_is_refused(out: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        compile_quantity(SOFTMAX, "s")([1.0, 2.0], out=out)


# -- several results ---------------------------------------------------------------------------------------------------


def test_several_results_share_what_they_have_in_common() -> None:
    names = ["O", "dQ", "dK", "dV"]
    joint = compile_quantity(ATTENTION, ", ".join(names))
    assert joint.source.count("np.exp(") == 1
    assert joint.source.count(" @ ") + joint.source.count("np.matmul(") == 6
    rng = np.random.default_rng(0)
    given = {"Q": rng.standard_normal((9, 4, 3)), "K": rng.standard_normal((9, 5, 3))}
    given |= {"V": rng.standard_normal((9, 5, 2)), "dO": rng.standard_normal((9, 4, 2))}
    separate = []
    for name in names:
        code = compile_quantity(ATTENTION, name)
        separate.append(code(**{a.name: given[a.name] for a in code.arguments}))
    out = tuple(np.empty_like(a) for a in separate)
    found = joint(**given, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    small = in_small_blocks(quantity(ATTENTION, "O,dQ,dK,dV"), 1)(**given)
    for a, b, c in zip(separate, found, small, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(a, c, rtol=1e-13, atol=1e-15)


def test_results_that_are_the_same_array_are_two() -> None:
    theory = loads('"""Twice."""\nn: axis\nz: real[n]\na[i] = exp(z[i])\nb[j] = a[j]\nc = sum(z[k] for k in n)\n')
    a, b, c = compile_quantity(theory, "a, b, c")([0.0, 1.0])
    np.testing.assert_array_equal(a, b)
    assert not np.shares_memory(a, b)
    assert c == 1


def test_results_in_which_a_name_means_two_things_are_refused() -> None:
    text = '"""Two."""\nx: real\ny = x * x\ndef a(v: real):\n    assert y * v == v * x**2\n'
    theory = loads(text + "def b(v: positive):\n    assert y * v == v * x * x\n")
    with pytest.raises(CodegenError, match="v means different things in a and b"):
        quantity(theory, "a, b")


def test_products_of_several_letters_are_matrix_products() -> None:
    theory = loads(
        '"""Layers."""\nB: axis\nC: axis\nm: axis\nn: axis\nd: axis\nX: real[B, m, d]\nW: real[d, n]\n'
        "Y: real[C, d, n]\nU: real[B, m, n]\n"
        "layer[b, i, j] = sum(X[b, i, a] * W[a, j] for a in d)\n"
        "slope[a, j] = sum(X[b, i, a] * U[b, i, j] for b in B for i in m)\n"
        "every[b, i, c, j] = sum(X[b, i, a] * Y[c, a, j] for a in d)\n"
    )
    rng = np.random.default_rng(0)
    given = {"X": rng.standard_normal((6, 2, 3, 4)), "W": rng.standard_normal((6, 4, 5))}
    given |= {"Y": rng.standard_normal((6, 2, 4, 5)), "U": rng.standard_normal((6, 2, 3, 5))}
    sums = {"layer": "zbia,zaj->zbij", "slope": "zbia,zbij->zaj", "every": "zbia,zcaj->zbicj"}
    for name, spec in sums.items():
        code = compile_quantity(theory, name)
        assert " @ " in code.source or "np.matmul(" in code.source
        assert "einsum" not in code.source
        arrays = [given[a.name] for a in code.arguments]
        np.testing.assert_allclose(code(*arrays), np.einsum(spec, *arrays), rtol=1e-12, atol=1e-13)


@pytest.mark.slow
def test_benchmarks_run() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.run", "softmax"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert "| derive |" in run.stdout
    assert "| NumPy by hand |" in run.stdout

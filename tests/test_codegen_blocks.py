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

from derive.codegen import CodegenError, Quantity, compile_quantity, quantity, reverse_mode, vjp
from derive.codegen.placing import Made, early, placed
from derive.language import load, loads
from derive.term import index

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
    """They are there for every block; a scalar, and any axis of the batch, may be of length one."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((40, 3))
    q = quantity(EVERYTHING, "weighted")
    np.testing.assert_array_equal(in_small_blocks(q, 6)(z, [1.0, 2.0, 3.0]), q.compile()(z, [1.0, 2.0, 3.0]))
    q = quantity(EVERYTHING, "tempered")
    for T in (np.linspace(1, 2, 40), 2.0):
        np.testing.assert_array_equal(in_small_blocks(q, 6)(z, T), q.compile()(z, T))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("entries", [1, 5, 40, 10**6])
def test_blocks_of_batches_that_broadcast(entries: int, dtype: Any) -> None:
    """Whatever lacks a part of the batch is computed as if it were repeated, and nothing that is given is changed."""
    rng, q = np.random.default_rng(0), reverse_mode(SOFTMAX, "s", "z")
    g, z = (rng.standard_normal(shape).astype(dtype) for shape in ((2, 1, 5, 4), (3, 1, 4)))
    kept = g.copy(), z.copy()
    found = in_small_blocks(q, entries)(g, z)
    whole = [np.ascontiguousarray(np.broadcast_to(a, (2, 3, 5, 4))) for a in (g, z)]
    np.testing.assert_array_equal(found, q.compile()(*whole))
    np.testing.assert_array_equal(g, kept[0])
    np.testing.assert_array_equal(z, kept[1])
    assert in_small_blocks(q, entries)(g[:0], z).shape == (0, 3, 5, 4)


def test_a_shared_argument_does_not_keep_a_batch_whole() -> None:
    z, g = np.zeros((4096, 500)), np.ones(500)
    code, out = vjp(SOFTMAX, "s", "z"), np.empty_like(z)
    tracemalloc.start()
    try:
        code(g, z, out=out)
        assert tracemalloc.get_traced_memory()[1] < z.nbytes / 2
    finally:
        tracemalloc.stop()


def test_what_does_not_change_with_the_block_is_made_once() -> None:
    lines = compile_quantity(SOFTMAX, "jacobian").source.splitlines()
    eye = [p for p, line in enumerate(lines) if "= np.eye(" in line]
    loops = [p for p, line in enumerate(lines) if " in _blocks(" in line]
    assert len(eye) == len(loops) > 0 and all(p < q for p, q in zip(eye, loops, strict=True))


def test_the_size_of_buffers_is_put_back() -> None:
    before, z = np.getbufsize(), np.zeros((3, 1000), np.float32)
    compile_quantity(SOFTMAX, "s")(z)
    vjp(SOFTMAX, "s", "z")(z, z)
    assert np.getbufsize() == before


def test_matrices_are_multiplied_in_the_dtype_that_they_are_given_in() -> None:
    """In float32 at least; `wide` asks for float64."""
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((4, 3)).astype(np.float32) for _ in range(3)]
    default, own, wide = (compile_quantity(ATTENTION, "O", wide=w) for w in (None, False, True))
    np.testing.assert_array_equal(default(*given), own(*given))
    assert np.any(default(*given) != wide(*given))
    narrow = [a.astype(np.float16) for a in given]
    np.testing.assert_array_equal(default(*narrow), own(*(a.astype(np.float32) for a in narrow)).astype(np.float16))


# -- where arrays are put ----------------------------------------------------------------------------------------------

LETTERS = (index("i", "n"),)
LARGE = frozenset({("n",)})


def test_an_array_is_written_over_after_its_last_use_alone() -> None:
    lines = ["a = x + 1", "b = a * a", "c = a - b", "d = np.sum(c, axis=-1)"]
    made = {"a": "np.add(x, 1", "b": "np.multiply(a, a", "c": "np.subtract(a, b"}
    found = placed(lines, {k: Made(v, LETTERS) for k, v in made.items()}, LARGE, {}, "room")
    assert found.lines[:3] == [
        "a = np.add(x, 1, out=room)",
        "b = np.multiply(a, a, out=room2)",
        "c = np.subtract(a, b, out=a)",
    ]
    assert list(found.room) == ["room", "room2"]


def test_an_array_that_a_view_shows_is_not_written_over() -> None:
    lines = ["a = x + 1", "v = a[..., ::-1]", "b = a * 2", "c = v + b"]
    made = {"a": "np.add(x, 1", "b": "np.multiply(a, 2", "c": "np.add(v, b"}
    found = placed(lines, {k: Made(v, LETTERS) for k, v in made.items()}, LARGE, {}, "room")
    assert "out=a" not in found.lines[2]


def test_a_product_of_matrices_is_not_written_over_its_factors() -> None:
    lines = ["a = x + 1", "b = a @ a", "c = b + 1"]
    made = {"a": "np.add(x, 1", "b": "np.matmul(a, a", "c": "np.add(b, 1"}
    found = placed(lines, {k: Made(v, LETTERS) for k, v in made.items()}, LARGE, {}, "room")
    assert found.lines[1] == "b = np.matmul(a, a, out=room2)"


def test_arguments_are_written_over_only_where_they_are_owned() -> None:
    lines, made = ["a = x + 1"], {"a": Made("np.add(x, 1", LETTERS)}
    assert placed(lines, made, LARGE, {}, "room").lines == ["a = np.add(x, 1, out=room)"]
    found = placed(lines, made, LARGE, {"x": ("n",)}, "room")
    assert found.lines == ["a = np.add(x, 1, out=x)"] and found.written == {"x"}


def test_reductions_move_up_to_what_they_reduce() -> None:
    lines = ["a = x + 1", "b = a * 2", "m = np.max(x, axis=-1)", "s = np.sum(b, axis=-1)"]
    assert early(lines) == ["m = np.max(x, axis=-1)", "a = x + 1", "b = a * 2", "s = np.sum(b, axis=-1)"]


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
        ([0.0, 0.0], "out: list, expected float64"),
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

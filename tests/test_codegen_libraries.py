"""Code for PyTorch and JAX agrees with NumPy's, keeps dtypes, and goes through their transformations."""

from __future__ import annotations

import contextlib
import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_codegen import EVERYTHING, draw
from test_codegen_js import assert_same, every_quantity

from derive.codegen import CodegenError, Quantity, quantity, reverse_mode, source
from derive.codegen.backends import BACKENDS
from derive.codegen.dialect import Dialect
from derive.codegen.jax_dialect import JAX
from derive.codegen.torch_dialect import TORCH
from derive.language import catalogue, load, loads

DIALECTS = [TORCH, JAX]
# The libraries' own gamma functions; a sum that cancels.
LOOSE = {"special": 1e-13, "merge_normalised_outputs": 1e-14}


@pytest.fixture(params=DIALECTS, ids=lambda d: d.name)
def dialect(request: pytest.FixtureRequest) -> Any:
    """A dialect whose library is installed, in double precision."""
    name = {"PyTorch": "torch", "JAX": "jax"}[request.param.name]
    installed = pytest.importorskip(name, reason=f"{name} is not installed")
    if name == "jax":
        with installed.enable_x64(True):
            yield request.param
    else:
        yield request.param


def array(dialect: Dialect, value: Any) -> Any:
    if dialect is TORCH:
        return importlib.import_module("torch").as_tensor(value)
    return importlib.import_module("jax.numpy").asarray(value)


def library(dialect: Dialect) -> Any:
    return importlib.import_module({"PyTorch": "torch", "JAX": "jax"}[dialect.name])


def function(q: Quantity, dialect: Dialect, stable: bool = True) -> Any:
    namespace: dict[str, Any] = {}
    exec(compile(q.source(dialect, stable), q.name, "exec"), namespace)
    return namespace[q.name]


def compare(q: Quantity, dialect: Dialect, seed: int, batch: tuple[int, ...] = (), stable: bool = True) -> bool:
    """Whether there is a form, which then gives what NumPy's gives."""
    try:
        code = q.compile(stable)
    except CodegenError:
        with pytest.raises(CodegenError):
            q.source(dialect, stable)
        return False
    rng = np.random.default_rng(seed)
    sizes = {axis: int(rng.integers(3, 6)) for axis in q.context.axes}
    given = []
    for a in code.arguments:
        shape = batch + tuple(sizes[axis] for axis in a.axes)
        entries = draw(rng, a.kind, sizes.get(a.over or "", 0), shape)
        near = a.axes and a.kind in ("real", "positive", "nonnegative")
        given.append(sizes[a.name] if a.kind == "size" else entries / 8 if near else entries)
    with np.errstate(all="ignore"):
        expected = code(*given)
    found = function(q, dialect, stable)(*(g if np.ndim(g) == 0 else array(dialect, g) for g in given))
    assert_same(np.asarray(found).tolist(), expected, q.title or q.name, LOOSE.get(q.name, 8e-15))
    return True


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "naive"])
def test_every_form_of_the_language_agrees_with_numpy(dialect: Dialect, stable: bool) -> None:
    for name in EVERYTHING.definitions:
        assert compare(quantity(EVERYTHING, name), dialect, 1, (2,), stable)


@pytest.mark.slow
def test_catalogue_agrees_with_numpy(dialect: Dialect) -> None:
    done = [compare(q, dialect, 2) for source in catalogue() for q in every_quantity(load(source))]
    assert sum(done) > 100


SOFTMAX = load("softmax")


def test_single_precision_is_kept_and_numbers_are_double(dialect: Dialect) -> None:
    s = function(quantity(SOFTMAX, "s"), dialect)
    assert "float32" in str(s(array(dialect, np.zeros((2, 3), np.float32))).dtype)
    assert "float64" in str(s([1000, 0]).dtype)
    assert np.asarray(s([1000, 0])).tolist() == [1, 0]


def test_reverse_mode_is_what_the_library_derives(dialect: Dialect) -> None:
    """The function of a proved theorem against the library's own differentiation of the generated definition."""
    s, vjp = function(quantity(SOFTMAX, "s"), dialect), function(reverse_mode(SOFTMAX, "s", "z"), dialect)
    z, g = np.random.default_rng(0).standard_normal((2, 4, 5))
    if dialect is TORCH:
        leaf = array(dialect, z).requires_grad_()
        s(leaf).backward(array(dialect, g))
        own = leaf.grad
    else:
        (own,) = library(dialect).vjp(s, z)[1](array(dialect, g))
    np.testing.assert_allclose(np.asarray(vjp(array(dialect, g), array(dialect, z))), np.asarray(own), atol=1e-16)


def test_jax_compiles_and_maps_it(dialect: Dialect) -> None:
    if dialect is not JAX:
        pytest.skip("jit and vmap are JAX's")
    jax = library(dialect)
    z = np.random.default_rng(0).standard_normal((4, 5))
    for name in ("picked", "tokens", "target"):
        q = quantity(EVERYTHING, name)
        given = {"z": z[0], "X": z, "W": z[:, :4], "t": np.array([3, 0, 1, 2]), "c": 2}
        values = [given[a.name] for a in q.compile().arguments]
        np.testing.assert_array_equal(jax.jit(function(q, dialect))(*values), q.compile()(*values))
    s = function(quantity(SOFTMAX, "s"), dialect)
    np.testing.assert_allclose(jax.vmap(s)(z), s(z), atol=1e-16)


def test_shapes_that_disagree_and_places_outside_are_refused(dialect: Dialect) -> None:
    vjp = function(reverse_mode(SOFTMAX, "s", "z"), dialect)
    with pytest.raises(ValueError, match="axis n: size 3 in z, expected 2"):
        vjp([1.0, 0.0], [1.0, 2.0, 3.0])
    picked = function(quantity(EVERYTHING, "picked"), dialect)
    for bad in ([2], [-1], [0.5]):
        with pytest.raises(ValueError, match="axis n: t must hold integers from 0 to 1"):
            picked([[5.0, 7.0]], bad)


@pytest.mark.parametrize("dialect_alone", DIALECTS, ids=lambda d: d.name)
def test_source_imports_its_library_alone(dialect_alone: Dialect) -> None:
    for name in EVERYTHING.definitions:
        source = quantity(EVERYTHING, name).source(dialect_alone)
        imported = {line for line in source.splitlines() if "import" in line}
        assert imported <= set(dialect_alone.imports)
        assert "np." not in source.replace("jnp.", "")
        assert source == quantity(EVERYTHING, name).source(dialect_alone)
        compile(source, name, "exec")


@pytest.mark.parametrize("dialect_alone", DIALECTS, ids=lambda d: d.name)
def test_what_has_no_code_is_refused_by_name(dialect_alone: Dialect) -> None:
    theory = loads('"""Refused."""\nq: random(mean=0, variance=1)\nf = E(q)\n')
    with pytest.raises(CodegenError, match=f"E has no {dialect_alone.name} form"):
        quantity(theory, "f").source(dialect_alone)


def test_sources_are_formatted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed is as a formatter leaves it, tables of coefficients excepted."""
    for stated in ("accuracy", "stated_bounds"):  # text of a docstring, which takes longer than all else
        monkeypatch.setattr(source, stated, lambda *_, **__: [])
    numbers = loads(
        '"""T."""\nn: axis\nx: real\nX: real[n, n]\nf = exp(-(x/2)**2)*-x**2/sqrt(2*pi)*(2/sqrt(pi))\n'
        "P[i, j] = where(j <= i, exp(X[i, j])/sum(exp(X[i, k]) for k in n if k <= i), 0)\n"
    )
    quantities = [quantity(numbers, "f"), reverse_mode(numbers, "f", "x"), reverse_mode(numbers, "P", "X")]
    quantities += [q for name in catalogue() for q in every_quantity(load(name))]
    for place, q in enumerate([*quantities, quantity(load("attention"), "O, dQ, dK, dV")]):
        for name in ("numpy", "torch", "jax"):
            with contextlib.suppress(CodegenError):
                (tmp_path / f"f{place}_{name}.py").write_text(BACKENDS[name](q), encoding="utf-8")
    assert len([*tmp_path.iterdir()]) > 100
    run = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "120", "--diff", tmp_path],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout

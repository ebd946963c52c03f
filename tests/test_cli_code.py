"""`derive code`: source that runs by itself, with NumPy and nothing else, and says what it rests on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

Derive = Callable[..., Run]
Write = Callable[..., Path]

WRONG = '''"""A slip."""
n: axis
z: real[n]
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i])/Z
def vjp(g: real[n]):
    assert sum(g[i]*diff(s[i], z[j]) for i in n) == s[j]*(g[j] + sum(g[i]*s[i] for i in n))
def open_():
    assume(Z**5 + Z == 3)
    assert sin(Z) == Z - Z/7
'''


def alone(source: str, call: str, folder: Path) -> str:
    """What the call prints in a Python that has the source, NumPy and the standard library."""
    script = folder / "pasted.py"
    blocked = "import sys\nfor name in ('derive', 'sympy', 'scipy', 'flint', 'mpmath'): sys.modules[name] = None\n"
    script.write_text(f"{blocked}{source}\nprint({call})\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, cwd=folder, check=True
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("arguments", "call", "printed"),
    [
        (["softmax.s"], "s([1000.0, 0.0])", "[1. 0.]"),
        (["softmax.s"], "s(np.zeros((2, 2), np.float32)).dtype, s(np.zeros((2, 3, 4))).shape", "float32 (2, 3, 4)"),
        (["softmax.jacobian"], "jacobian([0.0, 0.0])", "[[ 0.25 -0.25]\n [-0.25  0.25]]"),
        (["softmax.s", "--vjp", "z"], "s_vjp([1.0, 0.0], [0.0, 0.0])", "[ 0.25 -0.25]"),
        (["cross_entropy.loss", "--vjp", "z"], "loss_vjp(1.0, [0.0, 0.0], [1.0, 0.0])", "[-0.5  0.5]"),
        (["softmax.jacobian", "--vjp", "z"], "jacobian_vjp(np.eye(3), np.zeros(3))", "[0. 0. 0.]"),
        (["softmax.positive_semidefinite.mean", "--vjp", "v"], "mean_vjp(1.0, [0.0, 0.0])", "[0.5 0.5]"),
        (["softmax.positive_semidefinite.mean"], "mean([0.0, 0.0], [1.0, 3.0])", "2.0"),
    ],
)
def test_printed_source_runs_with_numpy_alone(
    derive: Derive, tmp_path: Path, arguments: list[str], call: str, printed: str
) -> None:
    run = derive("code", *arguments)
    assert (run.status, run.err) == (0, "")
    assert run.out.count("\nimport ") + run.out.startswith("import ") == 1
    assert alone(run.out, call, tmp_path).replace("(dtype('float32'), (2, 3, 4))", "float32 (2, 3, 4)") == printed


def test_source_is_the_same_each_time_and_names_its_theorem(derive: Derive) -> None:
    first = derive("code", "softmax.s", "--vjp", "z").out
    assert derive("code", "softmax.s", "--vjp", "z").out == first
    assert "softmax.vjp[j] = s[j]*(g[j] - sum(g[i]*s[i] for i in n))" in first


def test_code_of_a_quantity_in_a_file(derive: Derive, theory: Write) -> None:
    run = derive("code", f"{theory(WRONG)}.s")
    assert (run.status, run.err) == (0, "")
    assert "def s(z, out=None):" in run.out


def test_code_that_rests_on_a_theorem_which_is_not_proved_says_so(derive: Derive, theory: Write) -> None:
    run = derive("code", f"{theory(WRONG)}.vjp", "--timeout", 5)
    assert run.status == 1
    assert "rests on mine.vjp, which is refuted" in run.err
    assert "def vjp(z, g, out=None):" in run.out
    assert derive("code", f"{theory(WRONG)}.open_", "--timeout", 3).status in (1, 4)


@pytest.mark.parametrize("backend", ["numpy", "js"])
def test_heading_holds_the_digests_of_the_certificate(derive: Derive, tmp_path: Path, backend: str) -> None:
    source = derive("code", "softmax.s", "--vjp", "z", "--backend", backend).out
    assert derive("check", "softmax", "stable_forms", "--certificate", tmp_path).status == 0
    for file, name in (("softmax", "vjp"), ("stable_forms", "centred_at_any_shift"), ("stable_forms", "any_shift")):
        certificate = json.loads((tmp_path / f"{file}.json").read_text(encoding="utf-8"))
        assert f"Theorem {file}.{name}: proved, certificate" in source
        (theorem,) = (t for t in certificate["theorems"] if t["name"] == name)
        assert all(f"sha256 {claim['digest']}" in source for claim in theorem["claims"])
    assert source.count("sha256") == 3


def test_heading_of_what_is_not_proved_holds_no_digest(derive: Derive, theory: Write) -> None:
    run = derive("code", f"{theory(WRONG)}.vjp", "--timeout", 5)
    assert "Theorem mine.vjp: refuted\n" in run.out
    assert run.out.count("sha256") == 1  # of stable_forms.any_shift


def test_reverse_mode_does_not_rest_on_what_is_refuted(derive: Derive, theory: Write, tmp_path: Path) -> None:
    run = derive("code", f"{theory(WRONG)}.s", "--vjp", "z", "--timeout", 5)
    assert (run.status, run.err) == (0, "")
    assert "mine.s, backwards by z" in run.out
    assert alone(run.out, "s_vjp([1.0, 0.0], [0.0, 0.0])", tmp_path) == "[ 0.25 -0.25]"


def test_js_is_one_module_without_imports(derive: Derive) -> None:
    run = derive("code", "attention.dQ", "--backend", "js")
    assert (run.status, run.err) == (0, "")
    assert run.out.count("export function") == 1
    assert "export function dQ(Q, K, V, dO) {" in run.out
    assert not re.search(r"\bimport\b|\brequire\b|\beval\b", run.out)


@pytest.mark.parametrize("backend", ["fortran", "cobol"])
def test_other_backends_are_missing_tools(derive: Derive, backend: str) -> None:
    run = derive("code", "softmax.s", "--backend", backend)
    assert (run.status, run.out) == (5, "")
    assert f"no backend '{backend}'" in run.err
    assert "numpy, torch, jax, js" in run.err


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["softmax"], 2, "name a quantity of it"),
        (["softmax.q"], 2, "no quantity 'q'; it has Z, s"),
        (["softmax.s", "--vjp", "q"], 2, "no variable 'q'; it has z"),
        (["softmax.jacobi", "--vjp", "z"], 2, "no quantity 'jacobi'; did you mean 'jacobian'"),
        (["attention.O,dQ", "--vjp", "Q"], 4, "a reverse mode is that of one quantity"),
        (["softmaks.s"], 3, "softmaks.s"),
        (["cross_entropy.batch_loss", "--vjp", "target"], 4, "nothing is differentiated by target"),
    ],
)
def test_what_has_no_code_is_told(derive: Derive, arguments: list[str], status: int, told: str) -> None:
    run = derive("code", *arguments)
    assert (run.status, run.out) == (status, "")
    assert told in run.err


@pytest.mark.parametrize("backend", ["numpy", "torch", "jax", "js"])
def test_what_cannot_be_vectorised_is_refused_by_name(derive: Derive, theory: Write, backend: str) -> None:
    path = theory(
        '"""A limit."""\nx: real\nf = limit(exp(-x*x/T)/T, T, 0, "+")\n'.replace("x: real", "x: real\nT: real")
    )
    run = derive("code", f"{path}.f", "--backend", backend)
    assert (run.status, run.out) == (4, "")
    assert "limit" in run.err


def test_a_quantity_of_a_file_stands_after_a_dot_or_a_colon(derive: Derive, tmp_path: Path) -> None:
    (tmp_path / "mine.derive").write_text("x: real\ntwice = 2*x\ndef same():\n    assert twice == x + x\n")

    for mark in ".:":
        code, show = (
            derive(c, f"{tmp_path / 'mine.derive'}{mark}{q}") for c, q in [("code", "twice"), ("show", "same")]
        )
        assert (code.status, show.status) == (0, 0)
        assert "def twice(x" in code.out
        assert "mine.same" in show.out

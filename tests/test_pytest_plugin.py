"""The pytest plugin, each time in a pytest of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from derive import pytest_plugin

GOOD = "from softmax import n, z, s\n\n\ndef jacobian():\n    assert diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])\n"
BAD = "\n\ndef diagonal_only():\n    assert diff(s[i], z[j]) == s[i] * delta(i, j)\n"
KERNEL = """
import numpy as np
import pytest


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def test_right(assert_implements):
    assert assert_implements(softmax, "softmax.s", dtype="float32").ok


@pytest.mark.implements("softmax.s", dtype="float32")
def test_marked(implements):
    assert implements(softmax).modes.dtype == "float32"


def test_wrong(assert_implements):
    assert_implements(lambda z: softmax(z) * z.size, "softmax.s")


def test_unmarked(implements):
    implements(softmax)
"""
PLAIN = """
from derive.testing import assert_implements
from test_kernel import softmax


def test_called_directly():
    assert_implements(softmax, "softmax.s", dtype="float16")
"""


def run(folder: Path, *arguments: str, installed: bool = False) -> subprocess.CompletedProcess[str]:
    """A run of pytest in the folder, with our plugin alone, or with all that are installed."""
    alone = {} if installed else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    plugin = [] if installed else ["-p", "derive.pytest_plugin"]
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(folder), *plugin, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ, **alone})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.derive").write_text(GOOD + BAD)
    (tmp_path / "other.derive").write_text(GOOD + BAD)
    return tmp_path


def test_each_theorem_is_a_test_and_a_failure_shows_claim_verdict_and_counterexample(folder: Path) -> None:
    found = run(folder, "-v", "--junitxml", "out.xml")
    assert found.returncode == 1
    assert "test_mine.derive::jacobian PASSED" in found.stdout
    assert "test_mine.derive::diagonal_only FAILED" in found.stdout
    assert "other.derive" not in found.stdout
    assert "refuted: diff(s[i], z[j]) == s[i]*delta(i, j)" in found.stdout
    assert "counterexample" in found.stdout.lower() or " n = " in found.stdout
    xml = (folder / "out.xml").read_text()
    assert 'tests="2"' in xml and 'failures="1"' in xml and "refuted: diff" in xml


def test_k_and_lf_choose_theorems(folder: Path) -> None:
    assert "1 passed, 1 deselected" in run(folder, "-k", "jacobian").stdout
    run(folder)
    assert "1 failed" in run(folder, "--lf").stdout


def test_a_theorem_and_a_file_of_any_name_are_chosen_by_their_paths(folder: Path) -> None:
    assert "1 passed" in run(folder, "test_mine.derive::jacobian").stdout
    assert "1 failed, 1 passed" in run(folder, "other.derive").stdout


def test_what_the_options_cannot_be_is_an_error_of_usage(folder: Path) -> None:
    for options in (["--derive-timeout", "-1"], ["--derive-timeout", "nan"], ["--derive-report", "test_mine.derive"]):
        found = run(folder, *options)
        assert found.returncode == 4 and options[0] in found.stderr and "Traceback" not in found.stderr


def test_bad_file_is_an_error_of_collection_with_its_place(folder: Path) -> None:
    (folder / "test_bad.derive").write_text("n: axis\nx = y + 1\n")
    found = run(folder, "test_bad.derive")
    assert found.returncode == 2 and "test_bad.derive" in found.stdout and "y" in found.stdout
    assert "1 error" in found.stdout


def test_fixture_and_marker(tmp_path: Path) -> None:
    (tmp_path / "test_kernel.py").write_text(KERNEL)
    found = run(tmp_path, "--strict-markers", "-W", "error")
    assert "2 failed, 2 passed" in found.stdout
    assert "your result is n times the formula's, in every entry" in found.stdout
    assert "mark the test" in found.stdout
    assert "guard/check.py" not in found.stdout, "the message is not buried in our own frames"


def test_reports_are_written_of_what_ran(folder: Path) -> None:
    (folder / "test_kernel.py").write_text(KERNEL)
    run(folder, "--derive-report", "out", "-k", "jacobian or right or wrong")
    report = (folder / "out" / "test_mine.md").read_text()
    assert "jacobian" in report and "diagonal_only" not in report
    checks = json.loads((folder / "out" / "implementations.json").read_text())
    assert [c["ok"] for c in checks] == [True, False]
    assert "1 of 2 are within bounds" in (folder / "out" / "implementations.md").read_text()
    assert "diagonal_only" not in (folder / "out" / "test_mine.md").read_text()


def test_nothing_is_written_without_the_option(folder: Path) -> None:
    run(folder)
    assert not list(folder.glob("*/test_mine.md")) and not (folder / "implementations.md").exists()


def test_works_with_xdist(folder: Path) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    (folder / "test_kernel.py").write_text(KERNEL)
    (folder / "test_plain.py").write_text(PLAIN)
    found = run(folder, "-p", "xdist", "-n", "2", "--derive-report", "out", "--junitxml", "out.xml")
    assert "3 failed, 4 passed" in found.stdout
    assert "diagonal_only" in (folder / "out" / "test_mine.md").read_text()
    checks = json.loads((folder / "out" / "implementations.json").read_text())
    assert [(c["test"].split("::")[1], c["ok"]) for c in checks] == [
        ("test_marked", True), ("test_right", True), ("test_wrong", False), ("test_called_directly", True)
    ]  # fmt: skip
    assert (folder / "out.xml").read_text().count('name="derive_implements"') == 4


def test_plugin_loads_nothing_before_it_is_used() -> None:
    code = (
        "import sys, pytest; import derive.pytest_plugin; "
        "print([m for m in sys.modules if m.startswith('derive.') and m != 'derive.pytest_plugin'"
        " or m in ('numpy', 'sympy', 'flint', 'click')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_unused_plugin_adds_less_than_20_milliseconds() -> None:
    """The time of its hooks and its import, in this process: what a run that does not use it pays."""
    code = "import time, pytest; a = time.process_time(); import derive.pytest_plugin; print(time.process_time() - a)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    start = time.process_time()
    for k in range(1000):
        assert pytest_plugin.pytest_collect_file(Path(f"test_{k}.py"), None) is None  # type: ignore[arg-type]
    assert min(times) + (time.process_time() - start) < 0.02


def test_example_project_passes(tmp_path: Path) -> None:
    import shutil

    source = Path(__file__).resolve().parent.parent / "examples" / "softmax_kernel"
    shutil.copytree(source, tmp_path / "example", ignore=shutil.ignore_patterns("__pycache__"))
    installed = any(e.value == "derive.pytest_plugin" for e in entry_points(group="pytest11"))
    found = run(tmp_path / "example", "-q", "-W", "error", installed=installed)
    assert found.returncode == 0 and "12 passed" in found.stdout, found.stdout

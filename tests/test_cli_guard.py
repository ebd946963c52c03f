"""`derive test`: what it prints and the status it leaves."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KERNELS = """
import numpy as np


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum()


def wrong(z):
    return softmax(z) * z.size


value = 3
"""


@pytest.fixture
def kernels(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of kernels in the current folder."""
    (elsewhere / "own_kernels.py").write_text(KERNELS)
    (elsewhere / "broken_kernels.py").write_text("import a_library_that_is_not_there\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_kernels", "broken_kernels"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return elsewhere


def test_command_says_within_bounds(derive: Callable[..., Any], kernels: Path) -> None:
    run = derive("test", "own_kernels:softmax", "softmax.s", "--dtype", "float32")
    assert run.status == 0 and run.out.startswith("within bounds: 1128 components of 19 inputs in float32")
    assert derive("test", "own_kernels.py:softmax", "softmax.s").status == 0


def test_command_fails_and_its_own_reproduction_does_too(derive: Callable[..., Any], kernels: Path) -> None:
    run = derive("test", "own_kernels:wrong", "softmax.s", "--seed", "4")
    assert run.status == 1 and "your result is n times the formula's" in run.out
    command = re.search(r"reproduce: (derive test .*)", run.out)
    assert command is not None
    again = derive(*shlex.split(command[1])[1:])
    assert again.status == 1 and again.out.splitlines()[0] == run.out.splitlines()[0]


def test_command_prints_json(derive: Callable[..., Any], kernels: Path) -> None:
    run = derive("test", "own_kernels:wrong", "softmax.s", "--json")
    found = json.loads(run.out)
    assert (
        run.status == 1 and found["schema"] == 1 and found["finding"]["cause"]["mistake"].startswith("your result is n")
    )


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("own_kernels", "softmax.s"), 2, "write MODULE:FUNCTION"),
        (("own_kernels:nothing", "softmax.s"), 2, "has no 'nothing'"),
        (("own_kernels:value", "softmax.s"), 2, "is not a function"),
        (("no_such_kernels:f", "softmax.s"), 2, "there is no module"),
        (("own_kernels:softmax", "softmax.nothing"), 2, "no definition or theorem"),
        (("own_kernels:softmax", "softmax.s", "--at", "[1"), 2, "Error"),
        (("own_kernels:softmax", "softmaxx.s"), 3, "did you mean 'softmax'?"),
        (("broken_kernels:f", "softmax.s"), 5, "a_library_that_is_not_there"),
    ],
)
def test_command_tells_usage_from_bad_files_and_missing_libraries(
    derive: Callable[..., Any], kernels: Path, arguments: tuple[str, ...], status: int, words: str
) -> None:
    run = derive("test", *arguments)
    assert run.status == status and words in run.err


def test_command_does_not_call_an_unproved_formula_passed(
    derive: Callable[..., Any], kernels: Path, theory: Callable[..., Path]
) -> None:
    path = theory("from softmax import n, z, s\n\n\ndef wrong():\n    assert s[i] == s[i] * n / n + delta(i, i) - 1\n")
    run = derive("test", "own_kernels:softmax", f"{path}:wrong")
    assert run.status in (0, 4)
    path = theory("from softmax import n, z, s\n\n\ndef false():\n    assert s[i] * n == s[i]\n", "second")
    assert derive("test", "own_kernels:softmax", f"{path}:false").status == 1


def test_what_a_function_prints_is_no_part_of_the_answer(derive: Callable[..., Any], kernels: Path) -> None:
    (kernels / "own_kernels.py").write_text(KERNELS.replace("    e =", "    print('hello')\n    e ="))
    run = derive("test", "own_kernels:softmax", "softmax.s", "--json")
    assert json.loads(run.out)["ok"] and "hello" in run.err


def test_function_that_leaves_does_not_choose_the_status(derive: Callable[..., Any], kernels: Path) -> None:
    (kernels / "own_kernels.py").write_text("import sys\n\n\ndef softmax(z):\n    sys.exit(0)\n")
    run = derive("test", "own_kernels:softmax", "softmax.s")
    assert run.status == 1 and "SystemExit" in run.out

"""What a failure prints to see it again is that: a command, or a call, which fails in the same way."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_rules import ATTENTION, CROSS_ENTROPY, LOG_SOFTMAX, SOFTMAX, Wrong, softmax

from derive.cli_guard import load_function
from derive.guard.message import headline
from derive.guard.reproduce import at, function_name, reproduce
from derive.testing import ImplementationError, assert_implements, examine

SAMPLE = [*SOFTMAX[:4], *CROSS_ENTROPY[-2:], *LOG_SOFTMAX[:2], ATTENTION[0], ATTENTION[7]]
TARGET = '''"""One class."""
from softmax import n, z, s
t: index[n]
grad[i] = s[i] - delta(i, t)
'''
MODULE = """
import numpy as np


def wrong(z, g):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) * g


class Layer:
    def backward(self, z, g):
        return wrong(z, g)


backward = Layer().backward


def replaced(z, g):
    return wrong(z, g)


kept, replaced = replaced, lambda z, g: g
"""


def again(text: str, function: Callable[..., Any], **more: Any) -> str:
    """The first line of the message of a printed call."""
    words = {"assert_implements": assert_implements, "your_function": function, **more}
    with pytest.raises(ImplementationError) as caught:
        eval(text, {"__builtins__": {}}, words)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize("wrong", SAMPLE, ids=lambda w: f"{w.formula}: {w.name}")
def test_printed_call_fails_in_the_same_way(wrong: Wrong) -> None:
    outcome = examine(wrong.kernel, wrong.formula, dtype="float32")
    text = reproduce(outcome)
    assert text.startswith("assert_implements(your_function, ") and "at={" in text
    assert again(text, wrong.kernel) == headline(outcome)


def label_off(z: np.ndarray, t: np.ndarray) -> np.ndarray:
    found = softmax(z)
    found[np.arange(len(z)), t % z.shape[1] - 1] -= 1
    return found / np.float32(len(z))


def test_all_modes_are_repeated(theory: Callable[..., Path]) -> None:
    formula = f"{theory(TARGET)}:grad"
    modes = {"dtype": "float16", "inside": "float32", "ulp": 3.0, "undefined": "zero", "flush": True,
             "batch": 3, "reduction": "mean", "ignore_index": -100, "seed": 5, "arguments": "z, t"}  # fmt: skip
    kernel = lambda a, b: label_off(a, b).astype(a.dtype)  # noqa: E731
    outcome = examine(kernel, formula, **modes)
    text = reproduce(outcome)
    for word in ('dtype="float16"', 'inside="float32"', "ulp=3.0", 'undefined="zero"', "flush=True", "batch=",
                 'reduction="mean"', "ignore_index=-100", "seed=5"):  # fmt: skip
        assert word in text, word
    assert again(text, kernel) == headline(outcome)
    outcome = examine(lambda z: 2 * softmax(z), "softmax.s", sizes={"n": [8, 16]})
    assert 'sizes="n=8,16"' in reproduce(outcome)


def test_conversion_of_the_authors_own_is_asked_for() -> None:
    wrong = lambda z: softmax(z[0]) * 2  # noqa: E731
    text = reproduce(examine(wrong, "softmax.s", arrays=lambda a: [a]))
    assert "arrays=your_conversion" in text
    assert "twice" in str(examine(wrong, "softmax.s", arrays=lambda a: [a]).cause)
    assert again(text, wrong, your_conversion=lambda a: [a]).startswith("your function differs")


def test_large_and_strided_inputs_are_made_again_from_the_seed() -> None:
    large = lambda z: softmax(z) * (2 if z.size > 200 else 1)  # noqa: E731
    careless = lambda z: softmax(z if z.flags.contiguous else z[::-1])  # noqa: E731
    for kernel in (large, careless):
        outcome = examine(kernel, "softmax.s", seed=3)
        text = reproduce(outcome)
        assert "at=" not in text and "seed=3" in text
        assert again(text, kernel) == headline(outcome)


def test_signed_zeros_and_large_numbers_are_written_exactly() -> None:
    wrong = examine(lambda z: 2 * softmax(z), "softmax.s", at={"z": [-0.0, 1e300]})
    assert wrong.finding is not None and at(wrong.finding)["z"] == ["-0x0.0p+0", (1e300).hex()]


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module, and one with the same in a folder for tests."""
    (elsewhere / "tests").mkdir()
    (elsewhere / "own_backward.py").write_text(MODULE)
    (elsewhere / "tests" / "test_own.py").write_text("from helper_of_mine import wrong as inner\n" + MODULE)
    (elsewhere / "tests" / "helper_of_mine.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_backward", "test_own", "helper_of_mine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return elsewhere


@pytest.mark.parametrize(
    ("given", "printed"),
    [("own_backward:wrong", "own_backward:wrong"), ("tests/test_own.py:wrong", "tests/test_own.py:wrong")],
)
def test_printed_command_finds_the_function_and_fails_in_the_same_way(
    derive: Callable[..., Any], project: Path, given: str, printed: str
) -> None:
    outcome = examine(load_function(given), "softmax.vjp", dtype="float32", batch=2)
    command = shlex.split(reproduce(outcome))
    assert command[:4] == ["derive", "test", printed, "softmax.vjp"]
    run = derive(*command[1:])
    assert run.status == 1 and run.out.splitlines()[0] == headline(outcome)


def test_file_of_a_formula_is_named_from_here(project: Path) -> None:
    (project / "mine.derive").write_text('"""Softmax."""\nfrom softmax import n, z, s\nhalf[i] = s[i] / 2\n')
    outcome = examine(load_function("own_backward:wrong"), f"{project / 'mine.derive'}:half", arguments="z, z")
    assert " mine.derive:half " in reproduce(outcome)


@pytest.mark.parametrize("name", ["backward", "kept", "Layer.backward"])
def test_function_that_its_name_does_not_give_is_not_named(project: Path, name: str) -> None:
    module = load_function("own_backward:wrong").__globals__
    found = module["Layer"]().backward if "." in name else module[name]
    assert function_name(found) is None


def test_objects_without_names_are_not_named() -> None:
    import functools

    assert function_name(functools.partial(softmax)) is None
    assert function_name(lambda z: z) is None
    assert function_name(print) == "builtins:print"

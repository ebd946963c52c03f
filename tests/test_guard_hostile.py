"""Functions that misbehave: each gets a verdict or one clear error, and none spoils the check or the process."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_rules import softmax

from derive.guard.calling import BadCall
from derive.guard.message import text
from derive.testing import ImplementationError, assert_implements, examine


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Anonymous:
    """A function whose module cannot be asked for."""

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return softmax(z)

    @property
    def __module__(self) -> str:  # type: ignore[override]
        raise RuntimeError


class Unconvertible:
    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise ValueError("not today")


class Undetachable:
    def detach(self) -> None:
        raise RuntimeError("held fast")


def generated(z: np.ndarray) -> Iterator[float]:
    yield from softmax(z)


def speechless(z: np.ndarray) -> None:
    raise Unspeakable


def leaving(z: np.ndarray) -> None:
    sys.exit(3)


def endless(z: np.ndarray) -> np.ndarray:
    return endless(z)


BUFFERS: dict[Any, np.ndarray] = {}


def reused(z: np.ndarray) -> np.ndarray:
    """Gives its one buffer of a shape each time, and doubles what it should give."""
    buffer = BUFFERS.setdefault(z.size, np.empty_like(z))
    np.multiply(softmax(z), 2, out=buffer)
    return buffer


def read_only(z: np.ndarray) -> np.ndarray:
    found = softmax(z)
    found.flags.writeable = False
    return found


def in_place(z: np.ndarray) -> np.ndarray:
    z[...] = softmax(z)
    return z[:]


def by_thread(z: np.ndarray) -> np.ndarray:
    found = np.empty_like(z)
    other = threading.Thread(target=lambda: found.__setitem__(..., softmax(z)))
    other.start()
    other.join()
    return found


def any_names(**given: np.ndarray) -> np.ndarray:
    return softmax(given["z"])


RIGHT = [
    lambda z: softmax(z).tolist(), lambda z: memoryview(softmax(z)), lambda *args: softmax(args[0]), any_names,
    lambda z: np.broadcast_to(softmax(z), z.shape), read_only, in_place, by_thread, Anonymous(),
    lambda z: np.concatenate([np.zeros(1, z.dtype), softmax(z)])[1:],
]  # fmt: skip


@pytest.mark.parametrize("function", RIGHT, ids=range(len(RIGHT)))
def test_odd_but_right_functions_pass(function: Callable[..., Any]) -> None:
    assert assert_implements(function, "softmax.s").ok


WRONG: list[tuple[Any, str]] = [
    (generated, "the function returned generator, not an array"),
    (speechless, "has a value: Unspeakable (line"),
    (leaving, "SystemExit: 3 (line"),
    (endless, "RecursionError"),
    (lambda z: None, "returned NoneType"),
    (lambda z: "softmax", "returned str"),
    (lambda z: {"s": softmax(z)}, "returned dict"),
    (lambda z: [[1.0], [1.0, 2.0]], "returned list"),
    (lambda z: softmax(z).astype(object), "returned ndarray of object"),
    (lambda z: softmax(z).astype(complex), "returned ndarray of complex128"),
    (lambda z: Unconvertible(), "returned Unconvertible"),
    (lambda z: Undetachable(), "RuntimeError: held fast"),
    (lambda z: (softmax(z), z), "(it is a tuple of 2)"),
    (lambda z: np.zeros(0), "about the shape"),
    (lambda z: np.broadcast_to(np.float64(0), (10**9, 10**3)), "about the shape"),
    (lambda z: softmax(z).astype(">f8"), "about the dtype: the result is >f8"),
    (lambda z: np.zeros(z.shape, [("s", float)]), "about the dtype"),
    (lambda z: softmax(z) > 0.5, "about the dtype: the result is bool"),
]


@pytest.mark.parametrize(("function", "words"), WRONG, ids=[words for _, words in WRONG])
def test_what_is_no_array_of_the_right_kind_is_said_in_one_line(function: Any, words: str) -> None:
    with pytest.raises(ImplementationError) as caught:
        assert_implements(function, "softmax.s")
    assert words in str(caught.value).splitlines()[0]


def test_interrupt_is_not_swallowed() -> None:
    def interrupted(z: np.ndarray) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        examine(interrupted, "softmax.s")


def test_results_in_memory_that_is_used_again_are_kept() -> None:
    outcome = examine(reused, "softmax.s")
    assert outcome.cause is not None and outcome.cause.mistake is not None and "twice" in outcome.cause.mistake


def test_function_that_gives_something_else_each_time_is_told() -> None:
    rng = np.random.default_rng(0)
    outcome = examine(lambda z: softmax(z) * (1 + rng.random()), "softmax.s")
    assert outcome.cause is not None and outcome.cause.kind == "not repeatable" and outcome.cause.mistake is None
    outcome = examine(lambda z: softmax(z) * 2, "softmax.s")
    assert outcome.cause is not None and outcome.cause.kind == "wrong formula"


def test_state_of_the_process_is_left_alone() -> None:
    before = np.geterr()
    assert_implements(softmax, "softmax.s")
    assert np.geterr() == before


def test_slow_function_is_checked_on_as_many_inputs_as_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derive.guard.check.SECONDS", 0.1)

    def slow(z: np.ndarray) -> np.ndarray:
        time.sleep(0.06)
        return softmax(z)

    outcome = examine(slow, "softmax.s")
    assert outcome.ok and outcome.cases + outcome.left_out == 19 and outcome.left_out > 10
    assert f"for {outcome.left_out} more inputs there was no time" in text(outcome)


def test_checks_in_several_threads_do_not_disturb_each_other() -> None:
    found: list[bool] = []

    def work() -> None:
        found.append(examine(softmax, "softmax.s").ok and not examine(lambda z: 2 * softmax(z), "softmax.s").ok)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@pytest.mark.parametrize("function", [3, None, "softmax"])
def test_what_is_no_function_is_refused(function: Any) -> None:
    with pytest.raises(BadCall, match="a function is expected"):
        assert_implements(function, "softmax.s")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at": {"z": []}}, "n is 0: a size is a whole number, at least 1"),
        ({"at": {"z": None}}, "z is no array of numbers"),
        ({"at": {"z": [[1], [2, 3]]}}, "z is no array of numbers"),
        ({"at": {"z": [1, "x"]}}, "z is no array of numbers"),
        ({"at": {"z": [{}]}}, "z is no array of numbers"),
        ({"at": {"z": [1], "w": [1]}}, "'w', which is no variable"),
        ({"at": {"z": 3}}, "z has 0 axes, not 1"),
        ({"at": [1]}, "the input is a mapping"),
        ({"at": {"z": [1.0]}, "batch": 2}, "z has 1 rows, not 2"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": 1.5}, "seed=1.5"),
        ({"batch": 10**6}, "at most 1024"),
        ({"batch": "3"}, "batch='3'"),
        ({"ulp": float("nan")}, "ulp=nan"),
        ({"ulp": "3"}, "ulp='3'"),
        ({"dtype": 3}, "dtype=3"),
        ({"dtype": None}, "dtype=None"),
        ({"flush": "yes"}, "flush='yes'"),
        ({"arguments": 3}, "arguments=3"),
        ({"ignore_index": 1.5, "batch": 3}, "ignore_index=1.5"),
    ],
)
def test_malformed_requests_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        assert_implements(softmax, "softmax.s", **options)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"X": [[1, 2]], "target": [0, 1]}, "B is 1 in X but 2 in target"),
        ({"X": [[1, 2]], "target": [2]}, "target is not from 0 to n - 1 = 1"),
        ({"X": [[1, 2]], "target": [0.5]}, "target is an index"),
    ],
)
def test_inputs_that_contradict_themselves_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        assert_implements(lambda X, target: X, "cross_entropy.mean_over_a_batch", at=given)


def test_numbers_that_the_dtype_does_not_hold_promise_nothing() -> None:
    for z in ([float("nan")], [float("inf"), 0], ["inf"], [1e39, 0]):
        assert examine(softmax, "softmax.s", dtype="float32", at={"z": z}).nothing_checked


def test_error_of_an_exponential_far_below_zero_is_no_error() -> None:
    """exp(-1e300) is 0 however inexact the exponent, so that the other entries are known."""
    assert not examine(lambda z: 2 * softmax(z), "softmax.s", at={"z": [0.0, 1e300]}).ok
    assert examine(softmax, "softmax.s", at={"z": [0.0, 1e300]}).open == 0


PLAIN = """
import sys
import numpy as np

np.longdouble = np.float64  # as on Windows and on processors by ARM
sys.path.insert(0, sys.argv[1])
from guard_rules import SOFTMAX, NORMS, right
from derive.testing import examine

open("norms.derive", "w").write(NORMS)
for name, formula, kernel in right("norms.derive"):
    outcome = examine(kernel, formula)
    assert outcome.ok and outcome.components > outcome.open, (name, outcome.finding)
for wrong in SOFTMAX[::3]:
    outcome = examine(wrong.kernel, wrong.formula)
    assert not outcome.ok, wrong.name
print(outcome.finding.expected.value.dtype)
"""


def test_without_extended_precision_right_functions_pass_and_wrong_ones_do_not(tmp_path: Path) -> None:
    tests = str(Path(__file__).parent)
    command = [sys.executable, "-W", "error", "-c", PLAIN, tests]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stdout.strip()) == (0, "float64"), run.stderr

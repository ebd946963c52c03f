"""Functions that take certain sizes only, or what a forward pass saved."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_rules import softmax

from derive.guard.message import text
from derive.testing import assert_implements, examine

MODES = [{"dtype": "float32"}, {"dtype": "float16"}, {"dtype": "bfloat16", "inside": "float32"}]


@pytest.mark.parametrize("modes", MODES)
def test_what_was_saved_is_handed_over_and_its_rounding_allowed(
    theory: Callable[..., Path], modes: dict[str, str]
) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "testing.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if b.startswith('"""')]
    path = theory(block)

    def backward(lse: Any, z: Any, g: Any, wide: Any = np.float32) -> Any:
        found = g.astype(wide) - np.exp(z.astype(wide) - lse.astype(wide)) * g.astype(wide).sum()
        return found.astype(z.dtype)

    assert_implements(backward, f"{path}:backward", **modes)
    wrong = examine(lambda lse, z, g: backward(lse, z, g) * 2, f"{path}:backward", **modes)
    assert wrong.cause is not None and wrong.cause.mistake is not None and "twice" in wrong.cause.mistake


def blocked(z: np.ndarray) -> np.ndarray:
    """A function that takes multiples of 16 only."""
    if z.shape[-1] % 16:
        raise ValueError("n % 16")
    return softmax(z)


def test_functions_of_certain_sizes_are_given_these() -> None:
    assert "ValueError: n % 16" in text(examine(blocked, "softmax.s"))
    for sizes in ("n=16,64", {"n": [16, 64]}, {"n": 32}):
        assert_implements(blocked, "softmax.s", sizes=sizes)
    late = lambda z: blocked(z) * (2 if z.size > 16 else 1)  # noqa: E731
    outcome = examine(late, "softmax.s", sizes="n=64,16,48")
    assert outcome.finding is not None and outcome.finding.case.sizes == {"n": 48}
    assert "sizes n=64,16,48" in text(outcome)


def test_axes_may_have_one_size() -> None:
    def square(Q: Any, K: Any, V: Any) -> Any:
        assert V.shape[1] == Q.shape[1]
        return softmax(Q @ K.T / np.sqrt(Q.dtype.type(Q.shape[-1]))) @ V

    assert not examine(square, "attention.O").ok
    assert_implements(square, "attention.O", sizes="e=d")
    finding = examine(lambda Q, K, V: 2 * square(Q, K, V), "attention.O", sizes="e=d n=8,16 m=n").finding
    assert finding is not None and finding.case.sizes["e"] == finding.case.sizes["d"] == 1
    assert finding.case.sizes["m"] == finding.case.sizes["n"] == 8


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ("q=3", "has no axis 'q'; it has m, n, d, e"),
        ("n=0", "n has whole numbers from 1"),
        ("n=a", "n has whole numbers from 1"),
        ("n", "n has whole numbers from 1"),
        ({"n": []}, "n has whole numbers from 1"),
        ({"n": 2.5}, "n has whole numbers from 1"),
        ("n=99999999", "n has whole numbers from 1"),
        ("e=e", "which 'e' is not"),
        ("e=d d=n", "name the last"),
        (3, "sizes=3"),
    ],
)
def test_sizes_that_mean_nothing_are_refused(sizes: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        assert_implements(lambda Q, K, V: V, "attention.O", sizes=sizes)


def test_large_arrays_are_checked_and_those_beyond_enclosures_too(monkeypatch: pytest.MonkeyPatch) -> None:
    assert assert_implements(softmax, "softmax.s", dtype="float32", sizes="n=20000").left_out == 0
    monkeypatch.setattr("derive.guard.check.ENCLOSED", 10)
    words = text(examine(lambda z: softmax(z) * 2, "softmax.s", sizes="n=64"))
    assert re.match(r"your function differs from the verified formula `softmax.s` by \S+ times what is allowed", words)
    assert "twice the formula's" in words

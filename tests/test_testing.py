"""`assert_implements`: what passes, what does not, and what the messages say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from guard_rules import NORMS, attention, log_softmax, right, softmax, total

from derive.codegen import CodegenError
from derive.evidence.ulp import FORMATS
from derive.guard.asked import case_at
from derive.guard.calling import BadCall, as_array, laid_out
from derive.guard.cases import cases
from derive.guard.check import Disagreement, agree
from derive.guard.expect import Exactly, Modes, expected
from derive.guard.message import data, failure
from derive.guard.reproduce import at
from derive.guard.target import UnknownTarget, resolve, split
from derive.language import LanguageError
from derive.testing import ImplementationError, assert_implements, examine

DISAGREES = "your function disagrees with the verified formula `softmax.s`"
DTYPES = ("float64", "float32", "float16", "bfloat16")


def vjp(z: Any, g: Any) -> Any:
    s = softmax(z)
    return s * (g - total(s * g))


def forgotten(z: Any, g: Any) -> Any:
    return softmax(z) * g


def message(function: Callable[..., Any], formula: str, **options: Any) -> str:
    with pytest.raises(ImplementationError) as caught:
        assert_implements(function, formula, **options)
    return str(caught.value)


@pytest.fixture(scope="module")
def norms(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("norms") / "norms.derive"
    path.write_text(NORMS)
    return str(path)


# -- what passes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_right_implementations_are_within_bounds(norms: str, dtype: str) -> None:
    for name, formula, kernel in right(norms):
        outcome = examine(kernel, formula, dtype=dtype)
        assert outcome.ok, f"{name}: {outcome.finding}"
        assert outcome.components > outcome.open, name


def test_bound_is_not_so_loose_that_honest_code_uses_little_of_it() -> None:
    assert examine(softmax, "softmax.s").closest > 0.1


def test_same_seed_gives_the_same_inputs_and_another_one_others() -> None:
    target, form = resolve("softmax.vjp"), FORMATS["float32"]
    first, again, other = (next(cases(target, form, seed)).rows[0].arrays["z"] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_cotangents_are_never_ones() -> None:
    for case in cases(resolve("softmax.vjp"), FORMATS["float64"]):
        assert not np.all(case.rows[0].arrays["g"] == 1)


def test_inputs_hold_one_entry_odd_sizes_large_ones_and_views() -> None:
    found = list(cases(resolve("softmax.s"), FORMATS["float32"]))
    assert {1, 2, 17, 1025} <= {c.sizes["n"] for c in found}
    assert {"strided", "reversed", "columns"} <= {c.layout for c in found}


def test_axes_have_different_sizes_but_in_one_family() -> None:
    for case in cases(resolve("attention.dQ"), FORMATS["float64"]):
        different = len(set(case.sizes.values())) == len(case.sizes)
        assert different or case.family in ("equal sizes", "one entry")


@pytest.mark.parametrize("layout", ["contiguous", "strided", "reversed", "columns"])
def test_layouts_hold_the_same_numbers(layout: str) -> None:
    for array in (np.arange(5.0), np.arange(6.0).reshape(2, 3)):
        assert np.array_equal(laid_out(array, layout), array)


def test_function_may_take_a_definition_instead_of_what_it_is_computed_from() -> None:
    assert_implements(lambda s, g: s * (g - total(s * g)), "softmax.vjp", dtype="float32")


def test_arguments_may_be_named_in_the_functions_order() -> None:
    assert_implements(lambda a, b: vjp(b, a), "softmax.vjp", arguments="g, z")
    assert not examine(lambda a, b: vjp(b, a), "softmax.vjp", arguments="z, g").ok


def test_function_that_takes_rows_only_is_called_with_rows() -> None:
    def rows(z: np.ndarray) -> np.ndarray:
        assert z.ndim == 2
        return softmax(z)

    outcome = assert_implements(rows, "softmax.s")
    assert outcome.components == 3 * examine(softmax, "softmax.s").components


def test_rows_that_are_mixed_up_are_noticed() -> None:
    assert examine(lambda z: softmax(z)[::-1], "softmax.s", batch=3).finding is not None
    assert_implements(softmax, "softmax.s", batch=3)


def test_inputs_are_the_functions_own_to_change() -> None:
    def greedy(z: np.ndarray) -> np.ndarray:
        z -= z.max()
        np.exp(z, out=z)
        z /= z.sum()
        return z

    assert_implements(greedy, "softmax.s")


class Wrapped:
    """An array of some other library."""

    def __init__(self, array: np.ndarray):
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_results_and_arguments_of_another_library_are_taken() -> None:
    assert_implements(lambda z: Wrapped(softmax(z)), "softmax.s")
    assert_implements(lambda z: softmax(z.array), "softmax.s", arrays=Wrapped)
    with pytest.raises(TypeError, match="not an array of real numbers"):
        as_array("softmax")


# -- modes -------------------------------------------------------------------------------------------------------------


def test_ulp_replaces_the_bound() -> None:
    assert examine(softmax, "softmax.s", ulp=0).finding is not None
    assert examine(lambda z: softmax(z) * (1 + 1e-12), "softmax.s").finding is not None
    assert_implements(lambda z: softmax(z) * (1 + 1e-12), "softmax.s", ulp=20_000)


def test_intermediate_results_in_float32_are_held_to_float32() -> None:
    wide = lambda z: softmax(z.astype(np.float32)).astype(z.dtype)  # noqa: E731
    assert_implements(wide, "softmax.s", dtype="bfloat16", inside="float32")
    assert not examine(softmax, "softmax.s", dtype="bfloat16", inside="float32").ok
    assert_implements(softmax, "softmax.s", dtype="bfloat16")


def flushed(z: np.ndarray) -> np.ndarray:
    s = softmax(z)
    return np.where(np.abs(s) < np.finfo(s.dtype).tiny, 0, s).astype(s.dtype)


def test_flush_to_zero_is_a_mode_and_not_right_without_it() -> None:
    assert not examine(flushed, "softmax.s", dtype="float32").ok
    assert_implements(flushed, "softmax.s", dtype="float32", flush=True)


def masked(fill: float) -> Callable[..., Any]:
    def kernel(Q: Any, K: Any, b: Any, mask: Any) -> Any:
        scores = np.where(mask, Q @ K.T / np.sqrt(Q.dtype.type(Q.shape[-1])) + b, -np.inf).astype(Q.dtype)
        top = np.maximum(scores.max(-1, keepdims=True), np.finfo(Q.dtype).min)
        e = np.exp(scores - top)
        below = total(e)
        return np.where(below > 0, e / np.where(below > 0, below, 1), Q.dtype.type(fill)).astype(Q.dtype)

    return kernel


def test_all_masked_rows_are_what_was_agreed() -> None:
    for fill, agreed in ((0.0, "zero"), (np.nan, "nan")):
        assert_implements(masked(fill), "attention.M")
        assert_implements(masked(fill), "attention.M", undefined=agreed)
    text = message(masked(np.nan), "attention.M", undefined="zero")
    assert text.startswith("your function does not give zero at index")
    assert not examine(masked(0), "attention.M", undefined="nan").ok


def test_an_all_masked_row_must_not_spoil_the_others() -> None:
    def poisoned(Q: Any, K: Any, b: Any, mask: Any) -> Any:
        found = masked(np.nan)(Q, K, b, mask)
        return found + 0 * found.sum()

    assert message(poisoned, "attention.M").startswith("your function gives nan")


WRITTEN_OUT = '''"""Masked attention, unshifted."""
from attention import m, n, d, e, Q, K, V, mask
T[i, j] = sum(Q[i, a] * K[j, a] for a in d) / sqrt(d)
W[i, j] = where(mask[i, j], exp(T[i, j]), 0) / sum(exp(T[i, k]) for k in n if mask[i, k])
Y[i, c] = sum(W[i, j] * V[j, c] for j in n)
'''


def test_what_overflows_is_open_and_not_without_a_value(theory: Callable[..., Path]) -> None:
    path = theory(WRITTEN_OUT)
    for fill, agreed, other in ((0.0, "zero", "nan"), (np.nan, "nan", "zero")):
        output = lambda Q, K, V, mask: masked(fill)(Q, K, Q.dtype.type(0), mask) @ V  # noqa: B023, E731
        assert_implements(output, f"{path}:Y", dtype="float32", undefined=agreed)
        assert examine(output, f"{path}:Y", dtype="float32", undefined=other).finding is not None


def one_hot(z: Any, t: Any) -> Any:
    found = softmax(z)
    found[np.arange(len(z)), t] -= 1
    return found


TARGETS = '''"""One class."""
from softmax import n, z, s
t: index[n]
loss = -log(s[t])
grad[i] = s[i] - delta(i, t)
'''


def test_reductions_and_ignored_labels(theory: Callable[..., Path]) -> None:
    path = theory(TARGETS)
    loss = lambda z, t: -log_softmax(z)[np.arange(len(z)), t]  # noqa: E731
    assert_implements(loss, f"{path}:loss", batch=3)
    assert_implements(lambda z, t: loss(z, t).sum(), f"{path}:loss", batch=3, reduction="sum")
    assert_implements(lambda z, t: loss(z, t).mean(), f"{path}:loss", batch=3, reduction="mean")
    assert_implements(lambda z, t: one_hot(z, t) / len(z), f"{path}:grad", batch=3, reduction="mean")
    text = message(one_hot, f"{path}:grad", batch=3, reduction="mean")
    assert "your result is B (the size of the batch) times the formula's" in text
    text = message(lambda z, t: one_hot(z, t) / len(z), f"{path}:grad", batch=3)
    assert "1/B (the size of the batch) times" in text

    def ignoring(z: Any, t: Any) -> Any:
        kept = t != -100
        return one_hot(z, np.where(kept, t, 0)) * kept[:, None] / kept.sum()

    assert_implements(ignoring, f"{path}:grad", batch=3, reduction="mean", ignore_index=-100)
    kept_all = lambda z, t: ignoring(z, t) * (t != -100).sum() / len(t)  # noqa: E731
    assert not examine(kept_all, f"{path}:grad", batch=3, reduction="mean", ignore_index=-100).ok


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "float8"}, "dtype='float8': choose of float64"),
        ({"reduction": "max"}, "reduction='max'"),
        ({"reduction": "mean"}, "needs rows"),
        ({"undefined": "one"}, "undefined='one'"),
        ({"ulp": -1}, "not negative"),
        ({"batch": 0}, "at least 1"),
        ({"arguments": "z, w"}, "has no variable 'w'"),
        ({"arrays": "cupy"}, "choose of numpy"),
        ({"at": {"g": [1]}}, "lacks z"),
        ({"at": {"z": [[1.0]]}}, "z has 2 axes, not 1"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        assert_implements(softmax, "softmax.s", **options)


@pytest.mark.parametrize("name", ["softmax", "softmax.", ".s", "softmax.nothing"])
def test_names_without_a_quantity_are_refused(name: str) -> None:
    with pytest.raises(UnknownTarget):
        assert_implements(softmax, name)


def test_files_are_named_with_a_colon() -> None:
    assert split("a/b.derive:f") == ("a/b.derive", "f")
    assert split("softmax.vjp") == ("softmax", "vjp")


def test_unknown_theories_and_what_has_no_code_are_refused(theory: Callable[..., Path]) -> None:
    with pytest.raises(LanguageError):
        assert_implements(softmax, "softmaxx.s")
    path = theory("n: axis\nq: random(mean=0, variance=1)[n]\nf = E(sum(q[i] for i in n))\n")
    with pytest.raises(CodegenError):
        assert_implements(softmax, f"{path}:f")


def test_functions_whose_parameters_fit_nothing_are_refused() -> None:
    with pytest.raises(BadCall, match="takes a, b, c"):
        assert_implements(lambda a, b, c: a, "softmax.s")


# -- messages ----------------------------------------------------------------------------------------------------------


def test_message_has_all_that_the_author_needs() -> None:
    text = message(forgotten, "softmax.vjp", dtype="float32")
    lines = text.splitlines()
    assert re.match(
        r"your function differs from the verified formula `softmax.vjp` by \d+ ulp \(allowed \S+\)", lines[0]
    )
    assert "wrong formula: the term -sum(g[i]*s[i] for i in n) is missing" in lines[1]
    for words in ("worst at index", "outputs over the limit", "yours", "nearest", "exact", "(+- ", "hex:",
                  "abs err",
                  "baseline (plain NumPy float32, same input)", "allowed", "u of the exact value", "u = 2**-24",
                  "sizes", "input    z", "reproduce: derive test", "--seed 0", "formula: softmax.vjp[j]",
                  "sha256:"):  # fmt: skip
        assert words in text, words


def test_failing_input_is_shrunk() -> None:
    finding = examine(forgotten, "softmax.vjp").finding
    assert finding is not None and finding.case.sizes == {"n": 2}
    assert all(x in (0, 1) for x in finding.case.rows[0].arrays["z"])
    deep = examine(lambda z: softmax(z) if z.size < 17 else softmax(z) * 2, "softmax.s").finding
    assert deep is not None and deep.case.sizes == {"n": 17}


def test_failing_input_stays_as_its_variables_are_declared(theory: Callable[..., Path]) -> None:
    """A positive number is shrunk to 1, not to 0, where the formula has no value; and the theory is found again."""
    path = theory("n: axis\nx: real[n]\neps: positive\nr = 1/sqrt(sum(x[k]**2 for k in n) + eps)\n")
    outcome = examine(lambda x, eps: x[[]][3], f"{path}:r")
    assert outcome.finding is not None
    assert outcome.finding.case.rows[0].arrays["eps"] == 1
    assert outcome.finding.case.rows[0].arrays["x"].tolist() == [0]
    shown = re.search(r"\(derive show (.*)\)", failure(outcome))
    assert shown is not None and Path(shown[1]).resolve() == path.resolve()


def test_a_given_input_fails_again() -> None:
    outcome = examine(forgotten, "softmax.vjp", dtype="float32")
    assert outcome.finding is not None
    again = examine(forgotten, "softmax.vjp", dtype="float32", at=json.loads(json.dumps(at(outcome.finding))))
    assert again.finding is not None and again.finding.place == outcome.finding.place
    assert again.finding.ratio == outcome.finding.ratio
    assert_implements(vjp, "softmax.vjp", dtype="float32", at=at(outcome.finding))


@pytest.mark.parametrize(
    ("kernel", "first"),
    [
        (lambda z: np.where(z.size > 3, np.nan, softmax(z)), "your function gives nan at index (0,)"),
        (lambda z: softmax(z) / 0, "your function gives an infinity at index"),
        (lambda z: softmax(z)[None], f"{DISAGREES} about the shape"),
        (lambda z: softmax(z).astype(np.float32), f"{DISAGREES} about the dtype"),
        (lambda z: z[[]][3], "your function fails where the verified formula `softmax.s` has a value: IndexError"),
    ],
)  # fmt: skip
def test_other_disagreements_have_messages_of_their_own(kernel: Any, first: str) -> None:
    with np.errstate(all="ignore"):
        assert message(kernel, "softmax.s").startswith(first)


def test_lost_precision_is_told_from_a_wrong_formula() -> None:
    def by_difference(z: Any) -> Any:
        s = softmax(z)
        return s + 64 * s.dtype.type(1) - 64 * s.dtype.type(1)

    text = message(by_difference, "softmax.s", dtype="float32")
    assert "lost precision: the error falls with the precision of the dtype" in text
    text = message(lambda z: softmax(z) ** 2, "softmax.s", dtype="float32")
    assert "wrong formula: the error does not fall" in text


def test_overflow_of_the_unshifted_form_is_named() -> None:
    text = message(lambda z: np.exp(z) / np.exp(z).sum(), "softmax.s", dtype="float32")
    assert text.startswith("your function gives nan")
    assert "overflows or vanishes here; a shift by the maximum avoids it" in text


def test_no_mistake_is_named_where_none_fits() -> None:
    outcome = examine(lambda z, g: np.sin(z) * g, "softmax.vjp")
    assert outcome.cause is not None and outcome.cause.mistake is None


def test_fault_in_one_memory_layout_is_told() -> None:
    def careless(z: np.ndarray) -> np.ndarray:
        return softmax(z if z.flags.contiguous else np.sort(z))

    assert "memory layout: the same numbers in contiguous memory" in message(careless, "softmax.s")


def test_formula_that_is_not_proved_is_told(theory: Callable[..., Path]) -> None:
    path = theory("from softmax import n, z, s\n\n\ndef wrong():\n    assert diff(s[i], z[j]) == s[i] * delta(i, j)\n")
    outcome = examine(lambda z: np.diag(softmax(z)), f"{path}:wrong")
    assert outcome.ok and outcome.target.verdict == "refuted"


def test_outcome_is_plain_data() -> None:
    found = json.loads(json.dumps(data(examine(forgotten, "softmax.vjp"))))
    assert found["schema"] == 1 and found["ok"] is False
    assert found["finding"]["cause"]["mistake"] == "the term -sum(g[i]*s[i] for i in n) is missing"
    assert json.loads(json.dumps(data(examine(vjp, "softmax.vjp"))))["finding"] is None


# -- bounds ------------------------------------------------------------------------------------------------------------


def test_bound_of_the_softmax_grows_with_size_and_distance_and_not_with_the_offset() -> None:
    def bound(scores: list[float]) -> float:
        target = resolve("softmax.s")
        made = expected(target, case_at(target, Modes(), {"z": scores}, None), Modes())
        return float((made.error / made.value)[0])

    assert bound([0.0, 0.0]) < bound([0.0] * 40)
    assert bound([0.0, 0.0]) < bound([-40.0, 0.0])
    assert bound([1e6, 1e6]) == bound([0.0, 0.0])


def test_nothing_is_promised_where_the_formula_overflows(theory: Callable[..., Path]) -> None:
    path = theory("x: real\nf = exp(exp(x)) - exp(exp(x))\n")
    outcome = examine(lambda x: np.float64(np.nan), f"{path}:f", at={"x": 100.0})
    assert outcome.nothing_checked
    with pytest.raises(ImplementationError, match="nothing was checked"):
        assert_implements(lambda x: np.float64(np.nan), f"{path}:f", at={"x": 100.0})


def test_value_that_is_not_in_its_enclosure_is_a_bug_of_ours() -> None:
    from fractions import Fraction

    agree(Exactly(Fraction(1, 3), Fraction(0), 1 / 3), np.longdouble(1) / 3, np.longdouble(1e-16))
    with pytest.raises(Disagreement):
        agree(Exactly(Fraction(1, 3), Fraction(0), 1 / 3), np.longdouble(0.34), np.longdouble(1e-16))


@pytest.mark.parametrize("which", ["dQ", "dK", "dV"])
def test_attention_is_within_bounds_and_one_check_is_quick(which: str) -> None:
    outcome = assert_implements(attention(which), f"attention.{which}")
    assert outcome.components > 150 and outcome.open == 0


def test_importing_derive_testing_loads_nothing_heavy() -> None:
    code = "import derive.testing, sys; print([m for m in ('sympy', 'numpy', 'flint') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_torch_results_are_taken_over_by_their_own_way() -> None:
    class Tensor:
        """As much of a tensor as is asked for."""

        dtype = "torch.float64"

        def __init__(self, array: np.ndarray):
            self.array = array

        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
            return self.array

    assert_implements(lambda z: Tensor(softmax(z)), "softmax.s")

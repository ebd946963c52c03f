"""Wrong rules are caught, and their mistakes named where one fits; right ones have no mistake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from guard_rules import NORMS, SOFTMAX, Wrong, rules, softmax, total

from derive.evidence.ulp import FORMATS
from derive.guard.cases import cases
from derive.guard.check import Outcome
from derive.guard.expect import Modes, expected
from derive.guard.mistakes import Seen, named
from derive.guard.mutants import mutants
from derive.guard.target import resolve
from derive.testing import examine


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> list[Wrong]:
    path = tmp_path_factory.mktemp("norms") / "norms.derive"
    path.write_text(NORMS)
    return rules(str(path))


@pytest.fixture(scope="module")
def outcomes(wrong: list[Wrong]) -> dict[str, list[tuple[Wrong, Outcome]]]:
    """Half of the rules in float64, some of them in float32; the slow test takes all."""
    chosen = {"float64": [*SOFTMAX, *wrong[len(SOFTMAX) :: 2]], "float32": wrong[::6]}
    return {dtype: examined(rules, dtype) for dtype, rules in chosen.items()}


def examined(rules: list[Wrong], dtype: str) -> list[tuple[Wrong, Outcome]]:
    with np.errstate(all="ignore"):
        return [(w, examine(w.kernel, w.formula, dtype=dtype)) for w in rules]


def mistakes(found: list[tuple[Wrong, Outcome]]) -> Iterator[tuple[Wrong, str]]:
    for wrong, outcome in found:
        if outcome.cause is not None and outcome.cause.mistake is not None:
            yield wrong, outcome.cause.mistake


def test_there_are_the_twelve_rules_and_a_hundred_more(wrong: list[Wrong]) -> None:
    assert len(SOFTMAX) == 12 and len(wrong) >= 112
    assert len({w.name + w.formula for w in wrong}) == len(wrong)


def caught_and_named_rightly(found: list[tuple[Wrong, Outcome]], at_least: float) -> None:
    """No rule passes at ordinary inputs, so large a part of them is named, and none wrongly."""
    ordinary = {"small", "two entries", "odd size", "equal sizes"}
    for one, outcome in found:
        assert not outcome.ok, one.name
        assert outcome.found_in in ordinary, one.name
    names = list(mistakes(found))
    assert len(names) >= at_least * len(found)
    for one, words in names:
        assert one.named is not None, f"{one.name} is none of the known mistakes, and was called: {words}"
        assert one.named in words, f"{one.name} was called: {words}"


def test_wrong_rules_are_caught_in_float64_and_none_is_named_wrongly(
    outcomes: dict[str, list[tuple[Wrong, Outcome]]],
) -> None:
    caught_and_named_rightly(outcomes["float64"], 0.7)


def test_wrong_rules_are_caught_in_float32_and_none_is_named_wrongly(
    outcomes: dict[str, list[tuple[Wrong, Outcome]]],
) -> None:
    caught_and_named_rightly(outcomes["float32"], 0.6)


@pytest.mark.slow
def test_all_wrong_rules_are_caught_and_none_is_named_wrongly(wrong: list[Wrong]) -> None:
    """Float32 passes one: a part in a million is 8 ulp, which the sum and the exponentials may be off by."""
    caught_and_named_rightly(examined(wrong, "float64"), 0.7)
    narrow = examined(wrong, "float32")
    assert [w.name for w, outcome in narrow if outcome.ok] == [w.name for w in wrong if w.tiny] == ["1e-6"]
    caught_and_named_rightly([(w, outcome) for w, outcome in narrow if not w.tiny], 0.7)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_wrong_formula_is_caught_in_half_precision(dtype: str) -> None:
    small = {"one percent", "1e-4", "1e-6", "bfloat16 dot"}  # less than what rounding may do there
    for wrong in SOFTMAX:
        assert examine(wrong.kernel, wrong.formula, dtype=dtype).ok == (wrong.name in small), wrong.name


def test_nothing_is_named_where_two_different_mistakes_fit() -> None:
    """With one entry, a missing dot product and one without its last term are told apart by nothing."""
    target, modes = resolve("softmax.vjp"), Modes()
    one = next(c for c in cases(target, FORMATS["float64"]) if c.family == "one entry")
    g = one.rows[0].arrays["g"]
    want = expected(target, one, modes)
    assert named([Seen(one, g, want)], target, modes) is None


def test_nothing_is_named_where_the_formula_is_hardly_missed() -> None:
    target, modes = resolve("softmax.vjp"), Modes()
    found = list(cases(target, FORMATS["float64"]))[:3]
    wanted = [expected(target, c, modes) for c in found]
    near = [Seen(c, (w.value + 3 * w.error).astype(float), w) for c, w in zip(found, wanted, strict=True)]
    assert named(near, target, modes) is None


def test_mutants_are_all_different_and_none_is_the_formula() -> None:
    for name in ("softmax.vjp", "softmax.jacobian", "attention.dQ", "cross_entropy.gradient"):
        target = resolve(name)
        made = list(mutants(target))
        assert len(made) >= 10
        assert len({m.text for m in made}) == len(made)
        assert all(m.term is not target.term or m.context is not target.context for m in made)


def test_each_mutant_is_recognised_as_itself_or_as_the_same_function() -> None:
    """What a mutant gives is given back its name, or that of an earlier one that says the same."""
    from derive.codegen.stable import stabilised
    from derive.codegen.value import CodegenError
    from derive.guard.expect import of_term
    from derive.guard.mistakes import fits

    target, modes = resolve("softmax.vjp"), Modes()
    chosen = [c for c in cases(target, FORMATS["float64"]) if c.family in ("small", "odd size", "equal sizes")]
    wanted = [expected(target, c, modes) for c in chosen]
    recognised = 0
    for mutant in mutants(target):
        term, context, _ = stabilised(mutant.term, mutant.context)
        try:
            made = [of_term(term, context, target.letters, c, target, modes) for c in chosen]
        except CodegenError:
            continue
        seen = [Seen(c, m.value.astype(float), w) for c, m, w in zip(chosen, made, wanted, strict=True)]
        if all(s.missed <= 1 for s in seen):  # the same function as the formula: a sum over shifted indices
            continue
        assert fits(mutant, seen, target, modes), mutant.text
        recognised += named(seen, target, modes, seconds=5) is not None
    assert recognised >= 30


def test_missing_off_diagonal_of_a_jacobian_is_named() -> None:
    outcome = examine(lambda z: np.diag(softmax(z) * (1 - softmax(z))), "softmax.jacobian")
    assert outcome.cause is not None and outcome.cause.mistake == "the entries with i != j are missing"


def test_transposed_result_is_named() -> None:
    def turned(Q: np.ndarray, K: np.ndarray) -> np.ndarray:
        scores = Q @ K.T / np.sqrt(Q.shape[-1])
        return softmax(scores).T

    outcome = examine(turned, "attention.P")
    assert outcome.finding is not None and outcome.finding.kind == "shape"
    assert outcome.cause is not None and outcome.cause.mistake == "the result is transposed"


def test_exchanged_arguments_are_named() -> None:
    outcome = examine(lambda a, b: softmax(b) * (a - total(softmax(b) * a)), "softmax.vjp", arguments="z, g")
    assert outcome.cause is not None and outcome.cause.mistake == "z and g are exchanged"


def test_factor_of_a_scalar_variable_is_named(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("scaled") / "scaled.derive"
    path.write_text(
        "n: axis\nz: real[n]\nT: positive\ns[i] = exp(z[i] / T) / sum(exp(z[k] / T) for k in n)\n\n\n"
        "def vjp(g: real[n]):\n"
        "    assert sum(g[i] * diff(s[i], z[j]) for i in n) == s[j] * (g[j] - sum(g[i] * s[i] for i in n)) / T\n"
    )

    def unscaled(z: np.ndarray, T: np.ndarray, g: np.ndarray) -> np.ndarray:
        s = softmax(z / T)
        return s * (g - total(s * g))

    outcome = examine(unscaled, f"{path}:vjp")
    assert outcome.cause is not None and outcome.cause.mistake == "your result is T times the formula's, in every entry"


def test_naming_needs_the_same_mistake_at_every_input() -> None:
    def sometimes(z: np.ndarray, g: np.ndarray) -> np.ndarray:
        s = softmax(z)
        return s * g if z.size > 4 else s * (g - total(s * g))

    outcome = examine(sometimes, "softmax.vjp")
    assert outcome.finding is not None and outcome.cause is not None and outcome.cause.mistake is None
    assert replace(outcome, finding=None).ok

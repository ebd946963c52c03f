"""Generated JavaScript: run under node, it agrees with NumPy's function; what has no form is refused by name."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_codegen import EVERYTHING, draw

from derive.codegen import CodegenError, Quantity, javascript, quantity, reverse_mode
from derive.codegen.bounds import bound_of
from derive.codegen.js.text import WIDTH, wrapped
from derive.evidence import bounded
from derive.language import catalogue, load, loads
from derive.language.theory import Theory

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
RUNNER = """
import { readFileSync } from "node:fs";
const special = (key, value) =>
  typeof value !== "number" || Number.isFinite(value) ? value : String(value);
const lists = (value) => (value?.length === undefined ? value : Array.from(value, lists));
const answers = [];
for (const [file, name, calls] of JSON.parse(readFileSync(0, "utf8"))) {
  const f = (await import(file))[name];
  answers.push(calls.map((given) => {
    try { return lists(f(...given)); } catch (problem) { return `${problem.name}: ${problem.message}`; }
  }));
}
console.log(JSON.stringify(answers, special));
"""


def run(jobs: list[tuple[str, str, list[list[Any]]]], folder: Path) -> list[list[Any]]:
    """What node returns: a source, the name of its function and the arguments of some calls, each."""
    assert NODE
    (folder / "run.mjs").write_text(RUNNER, encoding="utf-8")
    orders = []
    for place, (source, name, calls) in enumerate(jobs):
        (folder / f"f{place}.mjs").write_text(source, encoding="utf-8")
        orders.append((f"./f{place}.mjs", name, calls))
    answer = subprocess.run(
        [NODE, "run.mjs"], input=json.dumps(orders), capture_output=True, text=True, cwd=folder, check=True
    )
    return list(json.loads(answer.stdout))


def every_quantity(theory: Theory) -> list[Quantity]:
    """The definitions and theorems of a theory, and of each definition a reverse mode, if there is one."""
    found: list[Quantity] = []
    for name in [*theory.definitions, *(t.name for t in theory.theorems)]:
        found.append(quantity(theory, name))
        if name in theory.definitions:
            for wrt in theory.declarations:
                try:
                    found.append(reverse_mode(theory, name, wrt))
                    break
                except CodegenError:
                    continue
    return found


def job(
    q: Quantity, seed: int, largest: int, stable: bool = True, batch: tuple[int, ...] = ()
) -> tuple[tuple[str, str, list[list[Any]]], Any] | None:
    """What node is asked, and what NumPy's function gives; None where neither language has a form.

    Arguments have the last ones of the batch axes, more or fewer of them, some of length 1.
    """
    try:
        code = q.compile(stable)
    except CodegenError:
        with pytest.raises(CodegenError):
            javascript(q, stable)
        return None
    rng = np.random.default_rng(seed)
    sizes = {axis: int(rng.integers(1, largest)) for axis in q.context.axes}
    given = []
    for a in code.arguments:
        lead = tuple(1 if rng.random() < 0.2 else length for length in batch[rng.integers(len(batch) + 1) :])
        shape = lead + tuple(sizes[axis] for axis in a.axes)
        entries = draw(rng, a.kind, sizes.get(a.over or "", 0), shape)
        if a.axes and a.kind in ("real", "positive", "nonnegative"):
            entries = entries / 8  # near each other: nothing cancels but for a few units
        given.append(sizes[a.name] if a.kind == "size" else entries)
    try:
        with np.errstate(all="ignore"):
            expected = code(*given)
    except ValueError as problem:  # an axis that lacks an entry which the formula names
        expected = f"RangeError: {problem}"
    return (javascript(q, stable), q.name, [[np.asarray(v).tolist() for v in given]]), expected


def assert_same(answer: Any, expected: Any, name: str, bound: float = 1e-15) -> None:
    """Agreement to the bound, relative to the largest component."""
    if isinstance(expected, str):
        assert answer == expected
        return
    expected = np.asarray(expected, float)
    got = np.asarray(answer, dtype=object)
    assert got.shape == expected.shape, f"{name}: {answer}"
    got = got.astype(float)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(got[~finite], expected[~finite], err_msg=name)
    scale = np.max(np.abs(expected[finite]), initial=0.0)
    assert np.max(np.abs(got[finite] - expected[finite]), initial=0.0) <= bound * scale, f"{name}: {answer} {expected}"


@needs_node
def test_catalogue_agrees_with_numpy(tmp_path: Path) -> None:
    quantities = [q for source in catalogue() for q in every_quantity(load(source))]
    found = [(q.title or q.name, job(q, *((1, 3), (2, 12))[place % 2])) for place, q in enumerate(quantities)]
    done = [(name, pair) for name, pair in found if pair]
    answers = run([pair[0] for _, pair in done], tmp_path)
    for (name, (_, expected)), (answer,) in zip(done, answers, strict=True):
        assert_same(answer, expected, name)
    assert len(done) > 100


@needs_node
@pytest.mark.parametrize("stable", [True, False], ids=["stable", "naive"])
def test_every_form_of_the_language_agrees_with_numpy(tmp_path: Path, stable: bool) -> None:
    found = [(name, job(quantity(EVERYTHING, name), 3, 12, stable)) for name in EVERYTHING.definitions]
    done = [(name, pair) for name, pair in found if pair]
    assert len(done) == len(found)
    for (name, (_, expected)), (answer,) in zip(done, run([pair[0] for _, pair in done], tmp_path), strict=True):
        assert_same(answer, expected, name)


@needs_node
@pytest.mark.parametrize("batch", [(3,), (2, 1, 3)], ids=["one batch axis", "several"])
def test_batch_axes_broadcast_as_in_numpy(tmp_path: Path, batch: tuple[int, ...]) -> None:
    quantities = [quantity(EVERYTHING, name) for name in EVERYTHING.definitions]
    quantities += [q for source in ("softmax", "attention") for q in every_quantity(load(source))]
    found = [(q.title or q.name, job(q, 4, 4, batch=batch)) for q in quantities]
    done = [(name, pair) for name, pair in found if pair]
    assert len(done) > 40
    for (name, (_, expected)), (answer,) in zip(done, run([pair[0] for _, pair in done], tmp_path), strict=True):
        assert_same(answer, expected, name)


@needs_node
def test_several_results_have_each_their_batch_axes(tmp_path: Path) -> None:
    theory = loads('"""Two."""\nn: axis\nx: real[n]\nT: positive\na[i] = x[i] / T\nb = sum(x[i] for i in n)\n')
    source = javascript(quantity(theory, "a, b"))
    calls = [[[1, 3], 2], [[[1, 3], [5, 7]], 2], [[1, 3], [2, 4]], [[], 2], [[[1], [2]], [1, 2, 3]], [[[1]], []]]
    ((plain, rows, scales, empty, apart, nothing),) = run([(source, "a_b", calls)], tmp_path)
    assert plain == [[0.5, 1.5], 4]
    assert rows == [[[0.5, 1.5], [2.5, 3.5]], [4, 12]]
    assert scales == [[[0.5, 1.5], [0.25, 0.75]], [4, 4]]
    assert empty == "RangeError: axis n: size 0 in x, expected at least 1"
    assert apart == "RangeError: batch axes of the sizes 2 and 3 do not broadcast"
    assert nothing == [[], []]


def test_a_wrong_answer_would_be_seen() -> None:
    with pytest.raises(AssertionError):
        assert_same([0.5, 0.5 + 1e-14], np.array([0.5, 0.5]), "s")
    with pytest.raises(AssertionError):
        assert_same([0.5], np.array([0.5, 0.5]), "s")
    with pytest.raises(AssertionError):
        assert_same(["NaN"], np.array([np.inf]), "s")


SOFTMAX = load("softmax")


@needs_node
@pytest.mark.parametrize("name", ["softmax.vjp", "log_sum_exp.lse"])
def test_bound_in_the_heading_is_kept(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, what = name.split(".")
    q = quantity(load(source), what)
    text = javascript(q)
    assert " * Off by at most (" in text
    assert "u = 2**-53, where nothing underflows" in " ".join(text.replace(" *", " ").split())

    def called(**given: Any) -> Any:
        values = [np.asarray(v).tolist() for v in given.values()]
        if not all(np.all(np.isfinite(v)) for v in values):  # no numbers of JSON
            raise FloatingPointError
        ((answer,),) = run([(text, q.name, [values])], tmp_path)
        return np.asarray(answer, dtype=object).astype(float)

    monkeypatch.setattr(bounded, "_watched", lambda q, wide, written: called)
    monkeypatch.setattr(bounded, "bound_of", lambda plan, narrow: bound_of(plan, corrected=False))
    found = bounded.share(q)
    assert found.kept
    assert found.components > 10 and found.most > 0.01


@needs_node
def test_scores_at_the_ends_and_shapes_that_disagree(tmp_path: Path) -> None:
    s = (javascript(quantity(SOFTMAX, "s")), "s", [[[1000, 0]], [[0] * 1000], [[]]])
    vjp = (javascript(quantity(SOFTMAX, "vjp")), "vjp", [[[0, 0], [1, 0]], [[0, 0, 0], [1, 2]]])
    picked = (
        javascript(quantity(EVERYTHING, "picked")),
        "picked",
        [[[[5, 7]], [1]], [[[5, 7]], [2]], [[[5, 7]], [0.5]]],
    )
    ends, products, picks = run([s, vjp, picked], tmp_path)
    assert ends == [[1, 0], [0.001] * 1000, "RangeError: axis n: size 0 in z, expected at least 1"]
    assert products == [[0.25, -0.25], "RangeError: axis n: size 2 in g, expected 3"]
    assert picks == [[7], *2 * ["RangeError: axis n: t must hold integers from 0 to 1"]]


@needs_node
def test_words_of_javascript_are_ordinary_variables(tmp_path: Path) -> None:
    theory = loads(
        '"""Words."""\nn: axis\nnew: real[n]\n_sum: real\nMath: real\n'
        "delete[var] = exp(new[var]) * sum(new[let] for let in n) + _sum * Math\n"
    )
    source = javascript(quantity(theory, "delete"), module=False)
    assert "export" not in source
    source += "\nexport { delete_ as f };"
    assert run([(source, "f", [[[0, 0.5], 2, 3]])], tmp_path) == [[[6.5, float(0.5 * np.exp(0.5) + 6)]]]


@needs_node
def test_words_with_an_underscore_behind_them_stay_apart(tmp_path: Path) -> None:
    theory = loads('"""Words."""\nNaN: real\nNaN_: real\nnull: real\nnull_ = NaN + 2*NaN_\nvoid_ = null + 10*null_\n')
    source = javascript(quantity(theory, "void_"))
    assert run([(source, "void__", [[1, 10, 100]])], tmp_path) == [[310]]


def test_comment_cannot_be_left() -> None:
    theory = loads('"""A title."""\nx: real\nf = x * x\n', name="x*/ alert(1) </script><!--")
    source = javascript(quantity(theory, "f"))
    assert source.count("*/") == source.count("/**")
    assert "</script" not in source
    assert "<!--" not in source


@pytest.mark.parametrize("text", ["E(q)", "limit(1 / T, T, oo)"])
def test_what_has_no_code_is_refused_by_name(text: str) -> None:
    theory = loads(f'"""Refused."""\nd: axis\nq: random(mean=0, variance=1)\nT: positive\nf = {text}\n')
    with pytest.raises(CodegenError, match=text.split("(")[0]):
        javascript(quantity(theory, "f"))


def test_source_is_stable_and_narrow() -> None:
    for name in EVERYTHING.definitions:
        source = javascript(quantity(EVERYTHING, name))
        assert source == javascript(quantity(EVERYTHING, name))
        assert all(len(line) <= 120 for line in source.splitlines()), name


def test_products_are_summed_letter_by_letter() -> None:
    """A sum over pairs of a product takes two loops one after the other, not one inside the other."""
    theory = loads('"""Pairs."""\nn: axis\nx: real[n]\nf = sum(x[i] * x[j] ** 3 for i in n for j in n)\n')
    assert "= _sum(n, (i) => x[i]) * _sum(n, (j) => x[j] ** 3);" in javascript(quantity(theory, "f"))


def test_lines_break_only_where_a_statement_goes_on() -> None:
    line = "const value = f(" + " + ".join(f"array{k}[i]" for k in range(20)) + ");"
    lines = wrapped(line)
    assert all(len(part) <= WIDTH for part in lines)
    assert all(part.endswith((" +", "=")) for part in lines[:-1])
    assert " ".join(part.strip() for part in lines) == line

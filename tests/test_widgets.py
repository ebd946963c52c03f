"""Widgets: what they compute is code generated from the catalogue, and the page shows what NumPy gives."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_html import assert_self_contained, browsed, elements, needs_browser, page_of, parsed
from test_report import checked_text

from derive.engine.verdict import TheoryResult
from derive.language import catalogue, load
from derive.paths import template_dir
from derive.report.document import document
from derive.report.languages import LANGUAGES, table
from derive.report.render import render
from derive.report.widgets import Widget, draws, quantiles, specs, view, widget, widgets_of

Checked = Callable[[str], TheoryResult]
PAGES = sorted({page for spec in specs().values() for page in spec["pages"]})
NAMES = sorted(specs())


def cells(page: str, name: str) -> dict[str, tuple[str, str]]:
    """What a widget shows in the page: for each cell its value and its text."""
    (section,) = re.findall(rf'(?s)<section class="?widget"? id="?widget-{name}\b.*?</section>', page)
    found = re.findall(r'<data value="?([^" ]*)"? data-cell="?([^" >]*)[^>]*>([^<]*)</data>', section)
    return {path: (value, text) for value, path, text in found}


def expected(one: Widget, inputs: dict[str, Any] | None = None) -> dict[str, float]:
    """Every number of a widget at these inputs, by its NumPy functions."""
    return {path: value for name, found in one.values(inputs).items() for path, value in flat(name, found)}


def flat(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, list):
        for k, part in enumerate(value):
            yield from flat(f"{path}.{k}", part)
    elif isinstance(value, int | float):
        yield path, float(value)


def number(text: str) -> float:
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}.get(text) or float(text)


def close(one: float, other: float) -> bool:
    """Equal to 1e-12, or both the same that is no number."""
    return one == other or (one != one and other != other) or math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15)


# -- data -------------------------------------------------------------------------------------------------------------


def test_widgets_stand_on_pages_of_the_catalogue() -> None:
    assert set(PAGES) <= set(catalogue())
    assert {w.name for page in PAGES for w in widgets_of(page)} == set(NAMES)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_widget_and_label_has_words(code: str) -> None:
    words = table(code)
    for name, spec in specs().items():
        assert {name, f"{name}_about"} <= set(words["widget"])
        shown = [*spec["columns"], *spec.get("facts", ()), *spec.get("controls", ()), *spec.get("strips", ())]
        labels = {item["label"] for item in shown} | {spec.get("row", "position")}
        labels |= {spec["heat"]["rows"], spec["heat"]["columns"]} if "heat" in spec else set()
        assert labels <= set(words["label"])


def test_theorems_that_widgets_compute_are_proved(checked: Checked) -> None:
    """The right sides that are shown, and the theorems behind stable forms."""
    used = {(c.theory, c.theorem) for name in NAMES for c in widget(name).computed.values() if c.theorem}
    for name in NAMES:
        for value in widget(name).computed.values():
            forms = value.quantity.plan(value.stable).rewrites
            used |= {tuple(form.theorem.rsplit(".", 1)) for form in forms}  # type: ignore[arg-type]
    assert {("softmax", "jacobian"), ("softmax", "shift")} <= used
    for theory, theorem in used:
        verdicts = {t.theorem.name: t.verdict for t in checked(theory).theorems}
        assert verdicts[str(theorem)] == "proved"


def test_page_script_computes_nothing_itself() -> None:
    """No function of mathematics but those that place bars and read a slider."""
    code = (template_dir() / "widgets.js").read_text(encoding="utf-8")
    assert set(re.findall(r"Math\.(\w+)", code)) <= {"min", "max", "abs", "imul"}
    assert "**" not in code.replace("2 ** size", "")


def test_numbers_of_the_articles() -> None:
    steps = expected(widget("steps"))
    assert [round(steps[f"e.{k}"], 3) for k in range(4)] == [7.389, 2.718, 1.649, 0.368]
    assert [round(steps[f"s.{k}"], 3) for k in range(4)] == [0.609, 0.224, 0.136, 0.03]
    normal = expected(widget("normalisers"), {"z": [3.0, -1.0, 2.0]})
    assert normal["linear.1"] == -0.25 and normal["hardmax.0"] == 1 and normal["rectified.1"] == 0


def test_naive_form_overflows_and_shifted_does_not() -> None:
    found = expected(widget("overflow"), {"c": 1000.0})
    assert found["e.0"] == math.inf and math.isnan(found["naive.0"])
    assert found["shifted.0"] == 1
    calm = expected(widget("overflow"), {"c": 1.0})
    assert all(close(calm[f"naive.{k}"], calm[f"shifted.{k}"]) for k in range(4))


@given(st.lists(st.floats(-3, 3), min_size=1, max_size=5))
def test_support_that_is_taken_makes_sparsemax_the_projection(z: list[float]) -> None:
    """Beside the usual algorithm, which sorts."""
    found = expected(widget("normalisers"), {"z": z})
    down = sorted(z, reverse=True)
    size = max(k for k in range(1, len(z) + 1) if 1 + k * down[k - 1] > sum(down[:k]))
    tau = (sum(down[:size]) - 1) / size
    for k, score in enumerate(z):
        assert found[f"sparsemax.{k}"] == pytest.approx(max(score - tau, 0), abs=1e-12)


def test_draws_have_mean_0_and_variance_1() -> None:
    assert sum(quantiles()) == pytest.approx(0, abs=1e-14)
    assert sum(x * x for x in quantiles()) / 16 == pytest.approx(1, abs=1e-14)
    assert draws(3, 5, 7) == [row[:5] for row in draws(4, 9, 7)[:3]], "more of them do not change the first"
    found = expected(widget("growth"), {"d": 512})
    assert found["deviation"] == pytest.approx(22.6, abs=0.05)
    assert found["spread"] == pytest.approx(found["deviation"], rel=0.2)
    assert found["scaled_spread"] == pytest.approx(1, rel=0.2)


# -- in the page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["temperature", "log_sum_exp"])
def test_page_with_widgets_is_one_file_and_holds_their_numbers_as_text(name: str) -> None:
    page = page_of(name)
    assert_self_contained(page)
    for one in widgets_of(name):
        values, found = expected(one), cells(page, one.name)
        assert found
        for path, (value, text) in found.items():
            assert close(number(value), values[path])
            assert text == view.shown(values[path])


def test_theory_that_is_called_like_one_of_the_catalogue_gets_no_widgets() -> None:
    text = load("temperature").text
    page = render(document(checked_text(text.split("def ")[0] + "assert 1 == 1\n")), "html")
    assert not re.search('class="?widget', page)


def test_controls_are_hidden_until_a_script_runs_and_have_labels() -> None:
    tree = parsed(page_of("temperature"))
    inside = [e for s in elements(tree, "section") if s.get("class") == "widget" for e in s.iter()]
    controls = [e for e in inside if e.get("class") == "controls"]
    assert controls and all("hidden" in e.attrib for e in controls)
    for box in (e for e in inside if e.get("data-edit")):
        assert "hidden" in box.attrib and box.get("aria-label")
    labels = [e for e in inside if e.tag.endswith("}label")]
    assert [e for label in labels for e in label.iter() if e.get("data-input")]


# -- in a JavaScript engine -------------------------------------------------------------------------------------------

AS_DATA = "(k, v) => ArrayBuffer.isView(v) ? [...v] : typeof v == 'number' && !Number.isFinite(v) ? String(v) : v"


def engine() -> Any:
    return pytest.importorskip("quickjs", reason="quickjs-ng is not installed").Context()


@pytest.mark.parametrize("name", NAMES)
def test_generated_javascript_gives_what_numpy_gives(name: str) -> None:
    one, context = widget(name), engine()
    context.eval(view.script([one]) + "globalThis.derived = derived;")
    known = one.values()
    known |= {
        k: draws(5, known.get(v.get("columns"), 16), v["seed"]) for k, v in one.inputs().items() if type(v) is dict
    }
    for value in one.computed.values():
        given_ = [known[a][0] if value.each and isinstance(known[a], list) else known[a] for a in value.arguments]
        call = f"derived[{json.dumps(f'{name}.{value.name}')}](...{json.dumps(given_)})"
        found = dict(flat_text(value.name, json.loads(context.eval(f"JSON.stringify({call}, {AS_DATA})"))))
        truth = known[value.name][0] if value.each else known[value.name]
        if "least" in next(v for v in one.spec["values"] if v["name"] == value.name):
            continue  # it is called with each choice of bits, and the best one is shown
        for path, wanted in flat(value.name, truth):
            assert close(found[path], wanted), path


def test_wrong_javascript_is_noticed() -> None:
    one, context = widget("steps"), engine()
    script = view.script([one])
    damaged = re.sub(r"Math\.exp\(z\[i\] - (\w+)\)", r"Math.exp((z[i] - \1) * (1 + 1e-11))", script)
    assert damaged != script
    context.eval(damaged + "globalThis.derived = derived;")
    found = json.loads(context.eval(f"JSON.stringify(derived['steps.s']([2, 1, 0.5, -1]), {AS_DATA})"))
    assert not all(close(a, b) for a, b in zip(found, one.values()["s"], strict=True))


def flat_text(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, list):
        for k, part in enumerate(value):
            yield from flat_text(f"{path}.{k}", part)
    else:
        yield path, number(str(value))


@given(st.floats())
def test_numbers_are_written_as_javascript_writes_them(value: float) -> None:
    if value == 0 or not math.isfinite(value):
        assert view.shown(value) in ("0", "NaN", "∞", "−∞")
        return
    wanted = engine().eval(f"({value!r}).toPrecision(4)")
    assert view.shown(value) == wanted.replace("-", "−")


# -- in a browser -----------------------------------------------------------------------------------------------------

# What a reader does, and the inputs that the widget then has.
ACTIONS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "steps": [
        ("type('[data-edit=\"z.0\"]', '3.7')", {"z": [3.7, 1.0, 0.5, -1.0]}),
        ("type('[data-edit=\"z.3\"]', '700')", {"z": [3.7, 1.0, 0.5, 700.0]}),
        ("type('[data-edit=\"z.3\"]', '')", {"z": [3.7, 1.0, 0.5, 700.0]}),
        ("click('[data-reset]')", {}),
    ],
    "gap": [("slide('z', 4.2)", {"z": [4.2, 0.0, -0.5, -1.0]}), ("slide('z', 0)", {"z": [0.0, 0.0, -0.5, -1.0]})],
    "jacobian": [
        ("click('[data-pick=\"2\"]')", {"i": 2}),
        ("type('[data-edit=\"z.2\"]', '1.25')", {"i": 2, "z": [2.0, 1.0, 1.25, -1.0]}),
    ],
    "temperature": [
        ("slide('T', 0)", {"T": 0.05}),
        ("slide('T', 14)", {"T": 100.0}),
        ("type('[data-edit=\"z.1\"]', '-3')", {"T": 100.0, "z": [2.0, -3.0, 0.5, -1.0]}),
    ],
    "normalisers": [
        ("type('[data-edit=\"z.0\"]', '1.2')", {"z": [1.2, 1.0, 0.5, -1.0]}),
        ("type('[data-edit=\"z.1\"]', '-1.2')", {"z": [1.2, -1.2, 0.5, -1.0]}),
        ("type('[data-edit=\"z.2\"]', '0')", {"z": [1.2, -1.2, 0.0, -1.0]}),
    ],
    "overflow": [("slide('c', 0)", {"c": 1.0}), ("slide('c', 9)", {"c": 355.0}), ("slide('c', 11)", {"c": 1000.0})],
    "attention": [
        ("click('[data-pick=\"3\"]')", {"i": 3}),
        ("click('[data-input=\"scaled\"]')", {"i": 3, "scaled": False}),
    ],
    "growth": [("slide('d', 0)", {"d": 1}), ("slide('d', 9)", {"d": 512}), ("slide('d', 10)", {"d": 1024})],
}
DRIVER = """
const log = { steps: [], errors: [], resources: [] };
addEventListener("error", (e) => log.errors.push(e.message));
const act = (name, action) => {
  const section = document.getElementById("widget-" + name);
  const one = (selector) => section.querySelector(selector);
  const changed = (box, value) => { box.value = value; box.dispatchEvent(new Event("input", { bubbles: true })); };
  const type = (selector, value) => changed(one(selector), value);
  const slide = (input, value) => changed(one(`[data-input="${input}"]`), value);
  const click = (selector) => one(selector).click();
  new Function("type", "slide", "click", action)(type, slide, click);
  const cells = [...section.querySelectorAll("[data-cell]")].map((c) => [c.dataset.cell, c.value, c.textContent]);
  log.steps.push([name, cells]);
};
addEventListener("load", () => {
  for (const [name, action] of ACTIONS) act(name, action);
  log.resources = performance.getEntriesByType("resource").map((r) => r.name).filter((n) => !n.startsWith("data:"));
  document.body.innerHTML = "";
  const written = document.createElement("pre");
  written.id = "log";
  written.textContent = JSON.stringify(log);
  document.body.append(written);
});
"""


def test_actions_are_for_every_widget() -> None:
    assert sorted(ACTIONS) == NAMES


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_a_reader_changes_changes_the_numbers_to_what_numpy_gives(page: str, tmp_path: Path) -> None:
    actions = [(one.name, action, inputs) for one in widgets_of(page) for action, inputs in ACTIONS[one.name]]
    script = f"const ACTIONS = {json.dumps([pair[:2] for pair in actions])};\n{DRIVER}"
    shown, console = browsed(page_of(page), tmp_path, script)
    assert console == []
    log = json.loads(unescaped(re.findall(r'<pre id="log"[^>]*>(.*?)</pre>', shown, re.DOTALL)[0]))
    assert log["errors"] == [] and log["resources"] == []
    assert len(log["steps"]) == len(actions)
    for (name, found), (_, action, inputs) in zip(log["steps"], actions, strict=True):
        truth = expected(widget(name), inputs)
        assert found
        for path, value, text in found:
            assert close(number(value), truth[path]), (name, action, path)
            assert text == view.shown(number(value))


def unescaped(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_its_widgets_under_its_own_policy(page: str, tmp_path: Path) -> None:
    shown, console = browsed(page_of(page), tmp_path)
    assert console == []
    assert not re.search(r'class="?controls"?[^>]* hidden', shown)
    for one in widgets_of(page):
        before, after = cells(page_of(page), one.name), cells(shown, one.name)
        assert {path: text for path, (_, text) in after.items()} == {path: text for path, (_, text) in before.items()}

"""Pages of HTML: one file each that needs nothing else, lets nothing in, and shows every formula."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import html5lib
import pytest
from conftest import ROOT, Run
from test_layouts import unpacked as unpacked_layouts
from test_report import HOSTILE, ROOT_OF_SQUARE, checked_text, hostile_result

from derive.engine.verdict import TheoryResult
from derive.language import catalogue
from derive.report import escape, katex, prose, words
from derive.report.document import document
from derive.report.entry import entry
from derive.report.page import LARGEST, Page
from derive.report.printer import Printer
from derive.report.render import _environment as environments
from derive.report.render import render, render_index

Derive = Callable[..., Run]
Checked = Callable[[str], TheoryResult]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
needs_engine = pytest.mark.skipif(katex._engine() is None, reason="quickjs-ng is not installed")
XHTML = "{http://www.w3.org/1999/xhtml}"
MATHML = "{http://www.w3.org/1998/Math/MathML}"


def parsed(page: str) -> Element:
    """The page's tree; a parse error of HTML 5 is an error here."""
    tree = html5lib.HTMLParser(html5lib.getTreeBuilder("etree"), strict=True).parse(page)
    assert isinstance(tree, Element)
    return tree


def elements(tree: Element, name: str) -> list[Element]:
    return list(tree.iter(XHTML + name))


@cache
def page_of(name: str, engine: bool = True) -> str:
    """The page of a catalogue theory, with or without an engine at build time."""
    from conftest import _checked

    with pytest.MonkeyPatch.context() as patch:
        if not engine:
            patch.setattr(katex, "_engine", lambda: None)
        return render(document(_checked(name)), "html")


def unpacked(tree: Element, name: str) -> str:
    (script,) = [e for e in elements(tree, "script") if e.get("id") == name]
    return gzip.decompress(base64.b64decode(script.text or "")).decode()


# -- one file ---------------------------------------------------------------------------------------------------------


def assert_self_contained(page: str) -> Element:
    """Parses, holds all that it uses, and its policy admits what it holds and nothing else."""
    tree = parsed(page)
    names = {e.tag.removeprefix(XHTML) for e in tree.iter() if isinstance(e.tag, str)}
    assert not names & {"link", "img", "iframe", "object", "embed", "base", "video", "audio", "source", "form"} - {
        "form"
    }
    for element in tree.iter():
        assert not {"src", "srcset", "style", "background", "action"} & set(element.attrib)
        assert not [a for a in element.attrib if a.startswith("on")]
    styles = [e.text or "" for e in elements(tree, "style")]
    assert all(
        address.startswith("data:font/woff2;base64,") for s in styles for address in re.findall(r"url\((.*?)\)", s)
    )
    (policy,) = [e.get("content") or "" for e in elements(tree, "meta") if e.get("http-equiv")]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    scripts = [e.text or "" for e in elements(tree, "script") if e.get("type") is None]
    if any(e.get("id") == "katex" for e in elements(tree, "script")):
        scripts.append(unpacked(tree, "katex"))
    for held, admitted in ((styles, rules["style-src"]), (scripts, rules["script-src"])):
        assert {sha256(text) for text in held} == set(admitted.split())
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    for link in elements(tree, "a"):
        target = link.get("href") or ""
        assert target.startswith(("#", "https://", "http://")) or re.fullmatch(r"[\w%.-]+\.html(#[\w-]+)?", target)
        assert not target.startswith("#") or target[1:] in ids
    return tree


def sha256(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@pytest.mark.slow
@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize("name", catalogue())
def test_page_of_the_catalogue_is_one_small_file_that_needs_nothing(name: str, engine: bool) -> None:
    page = page_of(name, engine)
    tree = assert_self_contained(page)
    assert len(page.encode()) <= LARGEST
    if engine and katex._engine():
        places, layouts = layouts_of(tree)
        assert len(maths(tree)) == len(places)
        assert set(places) == set(range(len(layouts)))  # nothing is left for the browser to lay out


@pytest.mark.parametrize("engine", [True, False])
def test_page_is_one_file_that_needs_nothing(engine: bool) -> None:
    assert_self_contained(page_of("saturation", engine))


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["attention", "cross_entropy", "softmax"])
def test_written_page_with_its_numbers_is_under_the_limit(
    name: str, language: str, derive: Derive, elsewhere: Path
) -> None:
    assert derive("report", name, "--format", "html", "--lang", language).status == 0
    (file,) = (elsewhere / "reports").iterdir()
    page = file.read_text(encoding="utf-8")
    assert len(page.encode()) <= LARGEST
    tree = assert_self_contained(page)
    assert [e for e in elements(tree, "section") if e.get("id") == "numbers"]
    places, layouts = layouts_of(tree)
    assert len(maths(tree)) == len(places)
    assert set(places) == set(range(len(layouts)))


def maths(tree: Element) -> list[Element]:
    return list(tree.iter(MATHML + "math"))


@needs_engine
def test_page_too_large_for_any_layout_has_all_mathml(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = maths(parsed(page_of("saturation")))
    monkeypatch.setattr("derive.report.page.LARGEST", 1)
    tree = assert_self_contained(render(document(checked("saturation")), "html"))
    assert len(maths(tree)) == len(whole)
    assert not [e for e in elements(tree, "script") if e.get("id") == "layouts"]


@needs_engine
def test_page_too_large_for_all_layouts_has_those_of_what_is_not_folded(
    checked: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = document(checked("saturation"))
    most = len(render(shown, "html").encode()) - 2_000
    monkeypatch.setattr("derive.report.page.LARGEST", most)
    page = render(shown, "html")
    tree = assert_self_contained(page)
    places, layouts = layouts_of(tree)
    assert len(set(places)) / 2 < len(layouts) < len(set(places))
    assert most - 200 < len(page.encode()) <= most
    numbers = dict(zip(map(id, maths(tree)), places, strict=True))
    folded = {numbers[id(e)] for d in elements(tree, "details") for e in d.iter() if id(e) in numbers}
    assert set(places) - set(range(len(layouts))) <= folded


def layouts_of(tree: Element) -> tuple[list[int], list[str]]:
    (script,) = [e for e in elements(tree, "script") if e.get("id") == "layouts"]
    return unpacked_layouts(script.text or "")


def test_style_keeps_the_rules_that_can_be_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(katex, "style", lambda: ".a{x:1}.a .b,.a>.c:before{x:2}.d{x:3}p{x:4}")
    assert katex.style_for(frozenset("ac")) == ".a{x:1}.a>.c:before{x:2}p{x:4}"


def test_page_is_the_same_bytes_each_time(checked: Checked) -> None:
    shown = document(checked("worked_examples"))
    assert render(shown, "html") == render(shown, "html")


# -- what it shows ----------------------------------------------------------------------------------------------------


@needs_engine
def test_every_formula_has_its_mathml_and_its_layout(checked: Checked) -> None:
    shown = document(checked("saturation"))
    tree = parsed(page_of("saturation"))
    places, layouts = layouts_of(tree)
    assert len(maths(tree)) == len(places)
    assert set(places) == set(range(len(layouts)))
    assert all(ElementTree.fromstring(layout).get("class") in ("katex", "katex-display") for layout in layouts)
    statements = sum(len(t.claims) for t in shown.theorems)
    assert len([e for e in tree.iter(XHTML + "div") if e.get("class") == "statement"]) == statements


def test_without_an_engine_the_formula_language_stands_in_the_page_and_the_latex_beside_it(checked: Checked) -> None:
    shown = document(checked("saturation"))
    tree = parsed(page_of("saturation", engine=False))
    texts = ["".join(e.itertext()) for e in tree.iter(XHTML + "span") if e.get("data-math")]
    (script,) = [e for e in elements(tree, "script") if e.get("id") == "formulas"]
    formulas = json.loads(script.text or "")
    printer = Printer(shown.notation)
    for theorem in shown.theorems:
        for claim in theorem.claims:
            assert claim.source in texts
            assert [printer.display(claim.statement), True] in formulas


def test_banner_counts_verdicts_and_every_theorem_has_its_place(checked: Checked) -> None:
    shown = document(checked("saturation"))
    tree = parsed(page_of("saturation"))
    text = " ".join("".join(elements(tree, "header")[0].itertext()).split())
    for verdict, count in shown.counts:
        assert f"{words.counted(count, 'theorem')} {verdict}" in text
    assert f"{shown.claims} claims" in text
    ids = {e.get("id") for e in elements(tree, "section")}
    assert {f"theorem-{t.name}" for t in shown.theorems} <= ids
    steps = [e for e in elements(tree, "details") if e.get("class") == "step"]
    assert len(steps) == sum(len(c.steps) + len(c.lines) for t in shown.theorems for c in t.claims)


def test_each_step_unfolds_to_its_rule_its_place_and_its_source(checked: Checked) -> None:
    shown = document(checked("saturation"))
    tree = parsed(page_of("saturation"))
    texts = [" ".join("".join(e.itertext()).split()) for e in elements(tree, "details") if e.get("class") == "step"]
    steps = [s for t in shown.theorems for c in t.claims for s in (*c.steps, *c.lines)]
    for step, text in zip(steps, texts, strict=True):
        assert step.rule in text
        assert step.source in text


NOT_KNOWN = '"""O."""\nx: real\ndef t():\n    assume(x**5 + x == 3)\n    assert sin(x) < 93/100\n'


@pytest.mark.parametrize("text", [ROOT_OF_SQUARE, NOT_KNOWN])
def test_what_is_not_proved_is_not_shown_as_proved(text: str) -> None:
    result = checked_text(text)
    verdict = result.theorems[0].verdict
    assert verdict != "proved"
    tree = parsed(render(document(result), "html"))
    shown = "".join(elements(tree, "body")[0].itertext())
    assert elements(tree, "header")[0].get("class") == f"banner {verdict}"
    assert f"1 theorem {verdict}" in shown
    assert "theorem proved" not in shown
    assert ("Counterexample:" in shown) == (verdict == "refuted")


def test_page_does_not_depend_on_what_was_written_before_it(checked: Checked) -> None:
    """Templates that both use, translated for the index, lacked the filters of a document."""
    shown = document(checked("sigmoid"))
    page, index = render(shown, "html"), render_index((entry(shown),), "html")
    environments.cache_clear()
    assert render_index((entry(shown),), "html") == index
    assert render(shown, "html") == page


def test_index_lists_every_theorem_with_its_statement_and_a_link(checked: Checked) -> None:
    documents = tuple(document(checked(name)) for name in ("saturation", "worked_examples"))
    tree = assert_self_contained(render_index(tuple(map(entry, documents)), "html"))
    links = {e.get("href") for e in elements(tree, "a")}
    text = "".join(tree.itertext())
    for shown in documents:
        assert f"{shown.name}.html" in links
        for theorem in shown.theorems:
            assert f"{shown.name}.html#theorem-{theorem.name}" in links
            assert all(claim.source in text for claim in theorem.claims)


def test_report_of_one_theory_links_no_index_that_is_not_there(derive: Derive, elsewhere: Path) -> None:
    (elsewhere / "mine.derive").write_text('"""One."""\nx: real\ndef one():\n    assert x + x == 2*x\n')
    derive("report", "mine.derive", "--format", "html")
    assert [p.name for p in (elsewhere / "reports").iterdir()] == ["mine.html"]
    assert "index.html" not in (elsewhere / "reports" / "mine.html").read_text()


# -- formulas ---------------------------------------------------------------------------------------------------------


@needs_engine
def test_cases_are_displayed_in_a_display_and_tall_rows_stand_apart() -> None:
    lines = r"\begin{aligned} & a \\ & b \end{aligned}"
    inline = rf"\begin{{cases}} {lines} & \text{{if }} c \\ \frac{{a}}{{b}} & d \end{{cases}}"

    shown = katex.displayed(inline)

    assert shown == rf"\begin{{dcases}} {lines} & \text{{if }} c \\[0.8em] \frac{{a}}{{b}} & d \end{{dcases}}"
    assert katex.displayed(r"\begin{cases} a & b \\ c & d \end{cases}") == r"\begin{dcases} a & b \\ c & d \end{dcases}"
    assert katex.displayed(r"\text{cases}") == r"\text{cases}"
    assert katex.rendered([(shown, True)])


@needs_engine
@pytest.mark.parametrize(
    "bad", [r"\frac{", r"\nonsense", r"\href{javascript:alert(1)}{x}", r"\includegraphics{x}", r"x^2^3"]
)
def test_what_katex_does_not_read_stops_the_build(bad: str) -> None:
    with pytest.raises(katex.BadFormula):
        katex.rendered([(bad, True)])


@needs_engine
@pytest.mark.parametrize("text", [
    r"$\mathbb{E}[q] \le \hbar$", r"$\begin{pmatrix} a & b \\ c & d \end{pmatrix}$", r"$\left\lVert x \right\rVert$",
    r"$\operatorname{tr} A^{\top}$", r"$x'' + \text{if } y$", r"$\widehat{\theta}_{k} \mapsto \binom{n}{k}$",
    "$α ≤ ∑ x$",
    r"$\mathcal{L} \perp \mathbf{1}$", r"$\underline{a} \simeq \vec{b}$", r"$\begin{cases} 1 & x > 0 \\ 0 \end{cases}$",
])  # fmt: skip
def test_what_the_grammar_of_formulas_accepts_katex_reads(text: str) -> None:
    page = Page()
    page.blocks(text)
    assert page.texts, text
    assert katex.rendered(list(page.texts))


@needs_engine
def test_lines_beside_a_relation_are_set_by_what_katex_knows(checked: Checked) -> None:
    shown = document(checked("saturation"))
    printer = Printer(shown.notation)
    steps = [s for t in shown.theorems for c in t.claims for s in c.steps]
    texts = {printer.display(step.after, "==", 12) for step in steps}
    hung = [text for text in texts if text.startswith(r"\begin{aligned} = {} & ")]
    assert hung
    for laid_out in katex.rendered([(text, True) for text in hung]) or ():
        shown_signs = re.sub(r"<[^>]*>", "", laid_out.mathml)
        assert shown_signs.startswith("=")
        assert "[t]" not in shown_signs  # the place of the lines, which KaTeX takes for mathematics


# -- hostile text -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    tree = parsed(f'<!DOCTYPE html><title>t</title><p title="{escape.html(text)}">{escape.html(text)}</p>')
    (paragraph,) = elements(tree, "p")
    assert list(paragraph) == []
    assert paragraph.text == paragraph.get("title") == escape.visible(text)


@pytest.mark.parametrize("text", HOSTILE)
def test_prose_makes_no_element_of_its_own(text: str) -> None:
    written = prose.html(text, lambda latex, display: escape.html(latex))
    tree = parsed(f"<!DOCTYPE html><title>t</title><div>{written}</div>")
    inside = [e for e in elements(tree, "div")[0].iter() if e is not elements(tree, "div")[0]]
    assert {str(e.tag).removeprefix(XHTML) for e in inside} <= {
        "p",
        "em",
        "strong",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "a",
    }
    assert {a for e in inside for a in e.attrib} <= {"href", "rel", "value"}
    assert all((e.get("href") or "https://").startswith(("https://", "http://")) for e in inside)
    assert not set(written) & set("\x1b\x00\u202e\u202c\u2028\u200b")


@pytest.mark.parametrize("engine", [True, False])
def test_hostile_theory_injects_nothing(checked: Checked, engine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not engine:
        monkeypatch.setattr(katex, "_engine", lambda: None)
    plain = assert_self_contained(render(document(checked("softmax")), "html"))
    shown = document(hostile_result(checked))
    tree = assert_self_contained(render(shown, "html"))
    assert len(elements(tree, "script")) == len(elements(plain, "script"))
    text = "".join(elements(tree, "body")[0].itertext())
    assert "<script>alert(1)</script>" in text
    assert "{{ 7*7 }}" in text
    assert "49" not in {e.text for e in elements(tree, "p")}
    assert not set(text) & set("\x1b\x00\u202e\u202c\u2028\u200b")
    assert_self_contained(render_index((entry(shown),), "html"))


# -- in a browser -----------------------------------------------------------------------------------------------------


def browsed(page: str, folder: Path, extra: str = "") -> tuple[str, list[str]]:
    """The document after its scripts have run, and what it wrote to the console. `extra` is a script of the test's."""
    if extra:
        page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
        page = page.replace("</body>", f"<script>{extra}</script></body>")
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--enable-logging=stderr"]
    command = [str(CHROMIUM), *options, f"--user-data-dir={folder / 'profile'}", "--dump-dom", path.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("engine", [True, False])
def test_browser_lays_out_every_formula_without_a_word_on_the_console(engine: bool, tmp_path: Path) -> None:
    shown, console = browsed(page_of("saturation", engine), tmp_path)
    assert console == []
    places = re.findall("<math[ >]" if engine else r"data-math=\d+", page_of("saturation", engine))
    assert len(re.findall(r'class="katex-html"', shown)) == len(places)
    assert 'class="katex-error"' not in shown
    assert re.search(r'<html[^>]* class="js"', shown)


@needs_browser
@pytest.mark.slow
def test_browser_reports_what_the_policy_refuses(tmp_path: Path) -> None:
    page = page_of("saturation").replace("</body>", "<script>document.title = 'owned'</script></body>")
    shown, console = browsed(page, tmp_path)
    assert any("Content Security Policy" in line for line in console)
    assert "<title>owned</title>" not in shown


@needs_browser
@pytest.mark.slow
def test_search_of_the_index_hides_what_is_not_meant(checked: Checked, tmp_path: Path) -> None:
    documents = tuple(document(checked(name)) for name in ("saturation", "worked_examples"))
    typed = (
        "const box = document.getElementById('search'); box.value = 'Saturation trace';"
        "box.dispatchEvent(new Event('input'));"
    )
    shown, console = browsed(render_index(tuple(map(entry, documents)), "html"), tmp_path, typed)
    assert console == []
    assert "1 theorem found" in shown
    visible = [part for part in re.findall(r"<li[^>]*>", shown) if "hidden" not in part]
    assert len(visible) == 1


@needs_browser
@pytest.mark.slow
def test_buttons_unfold_and_fold(tmp_path: Path) -> None:
    click = "addEventListener('load', () => setTimeout(() => document.querySelector('[data-fold={}]').click(), 3000));"
    opened, _ = browsed(page_of("saturation"), tmp_path, click.format("open"))
    total = page_of("saturation").count("class=derivation")
    assert len(re.findall(r'<details class="derivation" open', opened)) == total
    closed, _ = browsed(opened.replace('<p class="tools">', '<p class="tools">'), tmp_path, click.format("close"))
    assert '<details class="derivation" open' not in closed


ORPHANS = """
addEventListener("load", () => setTimeout(() => {
  const main = document.querySelector("main");
  let seen = 0, orphans = 0;
  for (let width = 180; width < 420; width += 5) {
    main.style.width = width + "px";
    for (const formula of document.querySelectorAll("main .katex")) {
      let place = formula;
      while (!place.nextSibling && place !== main) place = place.parentElement;
      const after = place.nextSibling, bases = formula.querySelectorAll(".katex-base");
      if (!after || after.nodeType !== 3 || !/^[.,;:)]/.test(after.data) || !bases.length) continue;
      const sign = document.createRange();
      sign.setStart(after, 0);
      sign.setEnd(after, 1);
      const here = sign.getBoundingClientRect(), base = bases[bases.length - 1].getBoundingClientRect();
      seen += here.width > 0;
      orphans += here.width > 0 && here.left < base.left - 1;
    }
  }
  const result = document.createElement("output");
  result.id = "orphans";
  result.textContent = `${seen} ${orphans}`;
  document.body.append(result);
}, 3000));
"""


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False])
def test_no_line_begins_with_the_stop_after_a_formula(kept: bool, tmp_path: Path) -> None:
    page = page_of("saturation")
    if not kept:  # the check can fail
        page = page.replace(".katex-base:last-child { display: inline; }", ".katex-base:last-child { }")
    text, _ = browsed(page, tmp_path, ORPHANS)
    (result,) = re.findall(r'<output id="orphans">(\d+ \d+)</output>', text)
    seen, orphans = map(int, result.split())
    assert seen > 1000
    assert (orphans == 0) is kept


# -- for everybody ----------------------------------------------------------------------------------------------------

AXE = next(
    (p for p in (ROOT / "node_modules/axe-core/axe.min.js", Path(os.environ.get("AXE", "-"))) if p.is_file()), None
)
ASKED = """
addEventListener("load", () => setTimeout(async () => {
  document.querySelectorAll("details").forEach((e) => { e.open = true; });
  const found = await axe.run(document, {resultTypes: ["violations"]});
  const told = found.violations.filter((v) => ["serious", "critical"].includes(v.impact));
  const result = document.createElement("output");
  result.id = "axe";
  result.textContent = JSON.stringify(told.map((v) => [v.id, v.nodes[0].html]));
  document.body.append(result);
}, 500));
"""


@needs_browser
@pytest.mark.slow
@pytest.mark.skipif(AXE is None, reason="axe-core is not installed: npm install --no-save axe-core")
@pytest.mark.parametrize("name", ["saturation", "index", "bad"])
def test_axe_has_nothing_serious_to_say(name: str, checked: Checked, tmp_path: Path) -> None:
    assert AXE is not None
    shown = document(checked("saturation"))
    page = render_index((entry(shown),), "html") if name == "index" else render(shown, "html")
    if name == "bad":  # the check can fail
        page = page.replace("<main", '<img src="data:,"><main')
    text, _ = browsed(page, tmp_path, f"{AXE.read_text(encoding='utf-8')};{ASKED}")
    (result,) = re.findall(r'<output id="axe">(.*?)</output>', text, re.DOTALL)
    assert [rule for rule, _ in json.loads(html.unescape(result))] == (["image-alt"] if name == "bad" else [])

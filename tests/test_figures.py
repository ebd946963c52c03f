"""Figures: asked for by a text file, computed by code of what is proved, drawn the same each time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import ROOT, Run

from derive.codegen import compile_quantity
from derive.engine.check import check_theory
from derive.engine.verdict import TheoryResult
from derive.language import LanguageError, catalogue, load
from derive.report import figures, plots
from derive.report.document import document
from derive.report.figures import Curve, Figure, Panel, wanted
from derive.report.numbers import Evidence, gather
from derive.report.render import render

Derive = Callable[..., Run]
Checked = Callable[[str], TheoryResult]
needs_matplotlib = pytest.mark.skipif(not plots.can_draw(), reason="matplotlib is not installed")

THEORY = '''"""A square."""
n: axis
x: real
z: real[n]
e: random(mean=0, variance=1)[n]
square = x**2
shifted = x + 1
total = sum(e[i] for i in n)


def slope():
    assert diff(square, x) == 2 * x


def wrong():
    assert diff(square, x) == 3 * x


def deviation():
    assert sqrt(Var(total)) == sqrt(n)
'''
CURVES = """
[[figure]]
name = "slope"
kind = "curves"
title = "The slope"
y = ["slope"]
x = "x"
from = -1
to = 1
[[figure.curve]]
"""
SPREAD = """
[[figure]]
name = "spread"
kind = "spread"
title = "The spread"
y = "total"
deviation = "deviation"
axis = "n"
sizes = [1, 4, 16]
"""


def made(tmp_path: Path, toml: str, text: str = THEORY) -> tuple[tuple[Figure, ...], tuple[tuple[str, str], ...]]:
    path = tmp_path / "mine.derive"
    path.write_text(text, encoding="utf-8")
    path.with_name("mine.figures.toml").write_text(toml, encoding="utf-8")
    return figures.figures(check_theory(load(path)), (), 0)


# -- what is asked for ------------------------------------------------------------------------------------------------


def test_every_file_of_the_catalogue_stands_beside_a_theory_and_is_read() -> None:
    files = sorted((ROOT / "derive" / "theories").glob("*.figures.toml"))
    assert files
    assert {f.name.removesuffix(".figures.toml") for f in files} <= set(catalogue())
    assert all(wanted(load(f.name.removesuffix(".figures.toml"))) for f in files)


def test_theory_without_a_file_has_no_figures(tmp_path: Path) -> None:
    (tmp_path / "mine.derive").write_text(THEORY)
    assert wanted(load(tmp_path / "mine.derive")) == ()


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("figure = 1", "only"),
        ("x = 1", "not x"),
        ("[[figure", "no TOML"),
        ("figure = [1]", "is a table"),
        (CURVES.replace('"slope"\nkind', '"Slope 1"\nkind'), "needs a name"),
        (CURVES.replace('"slope"\nkind', '"../slope"\nkind'), "needs a name"),
        (CURVES.replace('"curves"', '"pie"'), "kind is one of"),
        (CURVES.replace("to = 1", ""), "to is missing"),
        (CURVES.replace("to = 1", "to = 1\ncolour = 1"), "'colour' is unknown"),
        (CURVES.replace("to = 1", 'to = "1"'), "to is no float"),
        (CURVES.replace("to = 1", "to = true"), "to is no float"),
        (CURVES.replace("to = 1", "to = -3"), "from is below to"),
        (CURVES.replace("to = 1", "to = inf"), "from is below to"),
        (CURVES.replace("to = 1", 'to = 1\nscale = "log"'), "from is above 0"),
        (CURVES.replace("to = 1", 'to = 1\nscale = "cubic"'), "linear or log"),
        (CURVES.replace("[[figure.curve]]", ""), "curve is missing"),
        (CURVES + 'z = "exp(1)"', "number or a list"),
        (CURVES + "z = [nan]", "number or a list"),
        (CURVES + CURVES, "the same name"),
        (SPREAD.replace("[1, 4, 16]", "[4, 1]"), "increasing integers"),
        (SPREAD.replace("[1, 4, 16]", "[1, 100000000]"), "increasing integers"),
        (SPREAD + 'draw = "cauchy"', "draw is one of"),
        ('[[figure]]\nname = "a"\nkind = "errors"\ntitle = "t"\ny = "s"\ndtype = "int8"', "float64 or float32"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_figures_is_refused(toml: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(LanguageError, match=re.escape(said)) as refused:
        made(tmp_path, toml)
    assert "mine.figures.toml" in str(refused.value)


def test_refused_file_leaves_with_three(derive: Derive, elsewhere: Path) -> None:
    (elsewhere / "mine.derive").write_text(THEORY)
    (elsewhere / "mine.figures.toml").write_text("figure = 1")
    run = derive("report", "mine.derive", "--format", "md")
    assert (run.status, "mine.figures.toml" in run.err) == (3, True)


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_curve_is_what_the_code_of_the_proved_side_gives(tmp_path: Path) -> None:
    ((figure,), left_out) = made(tmp_path, CURVES)
    assert left_out == ()
    (curve,) = figure.panels[0].curves
    assert curve.x == tuple(float(f"{x:.5g}") for x in np.linspace(-1, 1, figures.POINTS))
    assert all(y == pytest.approx(2 * x, abs=1e-4) for x, y in zip(curve.x, curve.y, strict=True))
    assert figure.rows[0] == ("−1", "−2")
    assert "from −2 at −1 to 2 at 1" in figure.alt


@pytest.mark.parametrize(
    ("toml", "why"),
    [
        (CURVES.replace('["slope"]', '["wrong"]'), "wrong is refuted"),
        (CURVES.replace('["slope"]', '["nothing"]'), "no definition or theorem named nothing"),
        (CURVES.replace('["slope"]', '["total"]'), "needs a value of e"),
        (SPREAD.replace('"total"', '"square"'), "x is not random"),
        (SPREAD.replace('"deviation"\naxis', '"wrong"\naxis'), "wrong is refuted"),
        ('[[figure]]\nname = "a"\nkind = "errors"\ntitle = "t"\ny = "square"', "no error of square"),
    ],
)  # fmt: skip
def test_what_rests_on_nothing_proved_is_not_drawn(toml: str, why: str, tmp_path: Path) -> None:
    drawn, ((_, reason),) = made(tmp_path, toml)
    assert drawn == ()
    assert why in reason


@pytest.mark.parametrize("law", ["normal", "uniform", "rademacher"])
def test_draws_have_the_derived_deviation(law: str, tmp_path: Path) -> None:
    ((figure,), _) = made(tmp_path, SPREAD + f'draw = "{law}"')
    theory = load(tmp_path / "mine.derive")
    random = np.random.Generator(np.random.PCG64(1))
    code = compile_quantity(theory, "total")
    for size, row in zip((1, 4, 16), figure.rows, strict=True):
        found = code(e=figures._drawn(theory, "e", [size], law, random))
        assert float(row[-1]) == math.sqrt(size)
        assert np.std(found) == pytest.approx(math.sqrt(size), rel=0.05)
    assert f"where the theory names no law, {law}" in figure.source


def test_declared_law_is_the_one_that_is_drawn() -> None:
    theory = load("dot_product")
    random = np.random.Generator(np.random.PCG64(1))
    kurtosis = np.mean(figures._drawn(theory, "x", [64], "rademacher", random) ** 4)
    assert kurtosis == pytest.approx(3, rel=0.05)  # declared normal
    assert np.mean(figures._drawn(theory, "q", [64], "rademacher", random) ** 4) == pytest.approx(1)


# -- drawings ---------------------------------------------------------------------------------------------------------

HOSTILE = "x</text><script>alert(1)</script> $\\\\frac{ & 'quoted' \\u202e"


@pytest.fixture
def figure(tmp_path: Path) -> Figure:
    return made(tmp_path, CURVES.replace("The slope", HOSTILE))[0][0]


@needs_matplotlib
def test_drawing_is_the_same_bytes_each_time(figure: Figure) -> None:
    for form in ("svg", "pdf"):
        first = plots.drawn(figure, form)
        plots.drawn.cache_clear()
        assert plots.drawn(figure, form) == first
        assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", first)


@needs_matplotlib
def test_drawing_within_a_page_brings_no_style_script_or_name_of_its_own(figure: Figure) -> None:
    text = plots.within(figure, "figure-slope", "seen — \u202e")
    tree = ElementTree.fromstring(text)
    assert {e.tag for e in tree.iter()} <= {"svg", "g", "defs", "path", "use", "text", "clipPath", "rect"}
    for element in tree.iter():
        assert not [a for a in element.attrib if a == "style" or a.startswith("on")]
    names = [e.attrib["id"] for e in tree.iter() if "id" in e.attrib]
    assert len(names) == len(set(names))
    assert all(name.startswith("figure-slope-") for name in names)
    targets = re.findall(r'url\(#([^)]*)\)|href="#([^"]*)"', text)
    assert targets
    assert {a or b for a, b in targets} == set(names)
    assert tree.attrib["role"] == "img"
    assert tree.attrib["aria-label"] == "seen — [U+202E]"


def errors_figure() -> Figure:
    """A figure with words in it."""
    curves = (Curve("as written", (0.0, 1.0), (1.0, None)), Curve("SciPy", (0.0, 1.0), (2.0, 3.0)))
    return Figure(
        "errors", "errors", "Errors", (), "error in ulp", "", "log", "linear", (Panel("", curves),),
        ("one entry", "wide range"), "", "", (), (),
    )  # fmt: skip


@needs_matplotlib
def test_words_in_a_drawing_are_in_the_language_of_its_report() -> None:
    english, chinese = (plots.drawn(errors_figure(), "svg", code).decode() for code in ("en", "zh"))
    for words, own in (
        ("error in ulp", "误差（ulp）"),
        ("as written", "按原式"),
        ("one entry", "单个分量"),
        ("overflow", "溢出"),
    ):
        assert f">{words}<" in english and own not in english
        assert f">{own}<" in chinese and words not in chinese
    assert ">SciPy<" in chinese
    assert not [c for c in chinese if ord(c) in plots._SIGNS], "what was measured instead is put back"
    assert chinese.count("<text") == english.count("<text")
    assert plots.drawn.__wrapped__(errors_figure(), "svg", "zh").decode() == chinese


@needs_matplotlib
def test_without_chinese_type_a_pdf_keeps_english_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plots.drawn.cache_clear()
    monkeypatch.setattr(plots, "_chinese_type", lambda: ())
    assert plots.drawn(errors_figure(), "pdf", "zh") == plots.drawn(errors_figure(), "pdf")
    plots.drawn.cache_clear()


@needs_matplotlib
def test_chinese_pdf_has_the_type_it_needs() -> None:
    if not plots._chinese_type():
        pytest.skip("no Chinese type is installed")
    made = plots.drawn(errors_figure(), "pdf", "zh")
    assert made != plots.drawn(errors_figure(), "pdf") and made == plots.drawn.__wrapped__(errors_figure(), "pdf", "zh")


@needs_matplotlib
def test_drawings_of_both_languages_lie_beside_each_other(tmp_path: Path) -> None:
    made(tmp_path, CURVES)
    result = check_theory(load(tmp_path / "mine.derive"))
    shown = [document(result, gather(result), code) for code in ("en", "zh")]
    assert [list(plots.drawings(s, "svg")) for s in shown] == [
        ["figures/mine-slope.svg"],
        ["figures/mine-slope.zh.svg"],
    ]


@needs_matplotlib
def test_curves_are_told_apart_without_colour(tmp_path: Path) -> None:
    toml = CURVES.replace('["slope"]', '["slope", "square", "shifted"]')
    text = plots.drawn(made(tmp_path, toml)[0][0], "svg").decode()
    legend = text[text.index('id="legend_1"') :]
    assert len(set(re.findall(r"stroke-dasharray: ([\d., ]+)", legend))) == 2  # and one without
    assert len(set(re.findall(r'xlink:href="#(\w+)"', legend))) == 3  # marks


@needs_matplotlib
@pytest.mark.parametrize("form", ["md", "html", "tex"])
def test_report_shows_the_figure_and_its_hostile_title_as_text(form: str, figure: Figure, tmp_path: Path) -> None:
    result = check_theory(load(tmp_path / "mine.derive"))
    text = render(document(result, Evidence(figures=(figure,))), form)
    place = {"md": "](figures/mine-slope.svg)", "html": "role=img", "tex": "{figures/mine-slope.pdf}"}[form]
    assert place in text
    assert "<script>alert" not in text
    assert "\u202e" not in text
    assert form == "html" or "\\frac{ &" not in text


@pytest.mark.parametrize("form", ["md", "html"])
def test_without_matplotlib_the_numbers_stand_in_a_table(
    form: str, figure: Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plots, "can_draw", lambda: False)
    shown = document(check_theory(load(tmp_path / "mine.derive")), Evidence(figures=(figure,)))
    text = render(shown, form)
    assert plots.drawings(shown, "svg") == {}
    assert "role=img" not in text.replace('"', "")
    assert "mine-slope.svg" not in text
    assert ("| −1 | −2 |" if form == "md" else ">−1<td>−2") in text


@needs_matplotlib
def test_files_of_figures_are_written_beside_the_report(derive: Derive, elsewhere: Path) -> None:
    (elsewhere / "mine.derive").write_text(THEORY)
    (elsewhere / "mine.figures.toml").write_text(CURVES)
    assert derive("report", "mine.derive", "--format", "md,tex", "--out", "out").status == 1
    first = {p.relative_to(elsewhere): p.read_bytes() for p in (elsewhere / "out").rglob("*") if p.is_file()}
    assert {p.name for p in first} == {"mine.md", "mine.tex", "mine-slope.svg", "mine-slope.pdf"}
    (elsewhere / "mine.figures.toml").write_text(CURVES.replace("to = 1", "to = 2"))
    derive("report", "mine.derive", "--format", "md,tex", "--out", "out")
    assert (elsewhere / "out" / "figures" / "mine-slope.svg").read_bytes() != first[Path("out/figures/mine-slope.svg")]

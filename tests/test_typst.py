"""Reports in Typst: every formula compiles, text is never markup, and it stands in where pdflatex is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from conftest import Run
from random_terms import Terms
from test_latex import noted
from test_report import HOSTILE, hostile_result

from derive.engine.verdict import TheoryResult
from derive.language import catalogue
from derive.paths import template_dir
from derive.report import escape, formula, pdf, plots, prose
from derive.report.document import document
from derive.report.formula import safe_formula
from derive.report.notation import notation
from derive.report.pdf import MissingTool, by_typst
from derive.report.printer import ROWS, Printer
from derive.report.render import render
from derive.report.typeset import LATEX, Math, sign
from derive.report.typst import TYPST
from derive.term import subterms

pytest.importorskip("typst", reason="typst is not installed")
Derive = Callable[..., Run]
Checked = Callable[[str], TheoryResult]


def page(body: str) -> str:
    """A document with the functions of the template."""
    template = (template_dir() / "report.typ.j2").read_text(encoding="utf-8")
    functions = re.search(r"(?s)^#let rows\(.*?(?=^#let needs)", template, re.MULTILINE)
    assert functions is not None
    return f"{functions[0]}\n{body}\n"


def shown(made: bytes, tmp_path: Path) -> str:
    """The text of a PDF, without its blanks."""
    if (program := shutil.which("pdftotext")) is None:
        pytest.skip("pdftotext is not installed")
    path = tmp_path / "made.pdf"
    path.write_bytes(made)
    text = subprocess.run([program, "-raw", str(path), "-"], capture_output=True, check=True).stdout.decode()
    return re.sub(r"[\s\u200b]", "", text)


def assert_compiles(formulas: Iterable[str]) -> None:
    made = by_typst(page("\n\n".join(f"${text}$\n$ {text} $" for text in formulas)))
    assert made.startswith(b"%PDF")


# -- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", [None, 22.0, 12.0])
def test_random_terms_compile(room: float | None) -> None:
    source = Terms(7)
    texts, seen = [], set()
    for _ in range(300):
        term = source.condition(2) if source.random.random() < 0.2 else source.term(source.random.choice([1, 2, 3, 4]))
        printer = Printer(noted(term)[0], dialect=TYPST)
        texts.append(printer.inline(term) if room is None else printer.display(term, "==", room))
        seen |= {part.op for part in subterms(term)}
    assert set(ROWS) - seen <= {"list", "false", "true"}
    assert_compiles(texts)


def test_both_dialects_are_written_of_the_same_tree() -> None:
    math = safe_formula(r"\frac{\partial s_i}{\partial z_j} \leq \alpha e^{-x/2}")
    assert math is not None
    assert LATEX.write(math) == r"\frac{\partial s_{i}}{\partial z_{j}} \leq \alpha e^{- x / 2}"
    assert TYPST.write(math) == "frac(∂ s_(i), ∂ z_(j)) ≤ α e^(- x slash 2)"


def test_names_with_something_above_them_compile() -> None:
    names = ["xhat", "mu_bar", "alpha_tilde", "what", "x_hat"]
    symbols = [sign(notation([name]).symbol(name).text()) for name in names]
    assert [TYPST.write(symbol) for symbol in symbols[:2]] == ["hat(x)", "macron(μ)"]
    assert_compiles(map(TYPST.write, symbols))


def test_every_sign_of_prose_compiles() -> None:
    signs = [f"\\{name}" for name in sorted(formula._SYMBOLS)] + [*formula._PUNCTUATION]
    accents = [rf"\{name}{{x}}" for name in sorted(formula._ONE)]
    fences = [rf"\left{d} \frac{{a}}{{b}} \right{d}" for d in formula._DELIMITERS]
    grids = [rf"\begin{{{name}}} a, b & c; d \\ e & f \end{{{name}}}" for name in sorted(formula._GRIDS)]
    characters = [*formula._CHARACTERS, *formula.GREEK, *formula.SIGNS, "a", "Z", "7", "1.5"]
    more = [
        r"\binom n k",
        r"\tfrac12",
        r"\sqrt{}",
        "{}^2",
        "{a b}_2",
        "f''_k",
        r"\text{if }x",
        r"\mathrm{d}x",
        r"\frac{}{}",
    ]
    read = [safe_formula(text) for text in (*signs, *accents, *fences, *grids, *characters, *more)]
    assert None not in read
    assert_compiles(TYPST.write(math) for math in read if math is not None)


def test_sign_without_a_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        TYPST.write(sign(r"\unheard"))
    with pytest.raises(KeyError):
        TYPST.write(Math("unheard"))


def test_commas_stay_within_a_part() -> None:
    """A bare comma or semicolon would part the arguments of a function."""
    math = safe_formula(r"\frac{f(a, b; c: d)}{2}")
    assert math is not None
    assert TYPST.write(math).count(", ") == 1
    assert not set(";:") & set(TYPST.write(math))


# -- text -------------------------------------------------------------------------------------------------------------

MARKUP = (
    '#read("/etc/passwd")', '"];#import "@preview/x:1.0.0"', "#{ while true {} }", '")#panic("x")', "$x$", "<label>",
    "@label", "= head", "- item", "+ item", "/ term: x", "https://x.y", "*b* _e_ `r`", "\\", '\\"', '"', "//", "/*",
    "*/", "#", "~", "--", "...", "1.", "]", "[", "#show: none", "#set page(width: 0pt)",
)  # fmt: skip


@pytest.mark.parametrize("write", [escape.typst, escape.typst_code, escape.typst_listing, prose.typst])
def test_text_is_shown_as_it_is(write: Callable[[str], str], tmp_path: Path) -> None:
    plain = write is not prose.typst
    texts = [text for text in MARKUP if plain or not re.search(r"[\\*$`_+-]|https|1\.", text)]
    found = shown(by_typst("\n\n".join(f"{write(text)}(x)[y].z" for text in texts)), tmp_path)
    for text in texts:
        assert f"{re.sub(' ', '', text)}(x)[y].z" in found


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_unseen_stays_in_typst(text: str) -> None:
    for written in (prose.typst(text), escape.typst(text), escape.typst_code(text)):
        assert not set(written) & set("\x1b\x00\u202e\u202c\u2028\u200b")


def test_hostile_text_can_neither_break_nor_command_typst(checked: Checked) -> None:
    typ = render(document(hostile_result(checked)), "typ")
    plain = render(document(checked("softmax")), "typ")
    outside = re.compile(r'"(?:[^"\\]|\\.)*"')
    called = [set(re.findall(r"#\w[\w.]*\w", outside.sub('""', text))) for text in (typ, plain)]
    assert called[0] <= called[1] | {"#enum.item", "#link"}
    try:
        assert by_typst(typ).startswith(b"%PDF")
    except MissingTool:  # there is Chinese in it
        assert by_typst(re.sub("[一-龥]", "", typ)).startswith(b"%PDF")


def test_typst_reads_nothing_outside_and_loads_no_package() -> None:
    for text in ('#read("/etc/passwd")', '#read("../../etc/passwd")', '#import "@preview/cetz:0.3.0"'):
        with pytest.raises(subprocess.CalledProcessError) as caught:
            by_typst(text)
        assert caught.value.__notes__[0].startswith("error: ")


def test_typst_is_stopped_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "_PDF_SECONDS", 0.5)
    with pytest.raises(subprocess.TimeoutExpired):
        by_typst("#for i in range(9999) { for j in range(99999) { let x = i * j } }")


# -- reports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["saturation", "worked_examples"])
def test_report_is_the_same_bytes_each_time(name: str, checked: Checked, tmp_path: Path) -> None:
    made = document(checked(name))
    first = by_typst(render(made, "typ"), plots.drawings(made, "pdf"))
    assert by_typst(render(made, "typ"), plots.drawings(made, "pdf")) == first
    text = shown(first, tmp_path)
    for theorem in made.theorems:
        assert theorem.name in text


@pytest.mark.slow
@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", catalogue())
def test_every_report_compiles(name: str, code: str, checked: Checked) -> None:
    try:
        assert by_typst(render(document(checked(name), language=code), "typ")).startswith(b"%PDF")
    except MissingTool as problem:
        pytest.skip(str(problem))


def without(monkeypatch: pytest.MonkeyPatch, *, typst: bool) -> None:
    """A machine without pdflatex, and without Typst where that is asked for."""
    monkeypatch.setattr(shutil, "which", lambda name: None)
    if typst:
        monkeypatch.setattr(pdf, "find_spec", lambda name: None)


def test_typst_stands_in_for_pdflatex(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, typst=False)
    assert pdf.pdf({"tex": "no LaTeX", "typ": "#strong[x]"}.__getitem__).startswith(b"%PDF")


def test_without_either_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, typst=True)
    with pytest.raises(
        MissingTool, match=r"texlive-latex-base and lmodern.*typst.*extra `pdf`.*\.tex file needs nothing"
    ):
        pdf.pdf({"tex": "x", "typ": "x"}.__getitem__)


def test_chinese_without_type_for_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "CHINESE_TYPE", ("No Such Type",))
    with pytest.raises(MissingTool, match="fonts-noto-cjk"):
        by_typst(escape.typst("中文"))
    assert by_typst(escape.typst("English")).startswith(b"%PDF")

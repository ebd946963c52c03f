"""House styles: templates of one's own stand for the package's, and what they ask for must be there."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Run
from jinja2.defaults import DEFAULT_FILTERS, DEFAULT_NAMESPACE

from derive.engine.verdict import TheoryResult
from derive.report import counterexample, figures, lines, numbers
from derive.report import document as documents
from derive.report.document import document
from derive.report.page import BadTemplate
from derive.report.render import _environment, render

Derive = Callable[..., Run]
Checked = Callable[[str], TheoryResult]
GUIDE = (ROOT / "docs" / "templates.md").read_text(encoding="utf-8")
TEXT = '"""Mine."""\nx: real\n\n\ndef slope():\n    """A slope."""\n    assert diff(x**2, x) == 2 * x\n'


@pytest.fixture
def house(tmp_path: Path) -> Callable[..., Path]:
    """A folder with these files."""

    def make(**files: str) -> Path:
        folder = tmp_path / "house"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            stem, _, rest = name.partition("_")
            (folder / f"{stem}.{rest.replace('_', '.')}").write_text(text, encoding="utf-8")
        return folder

    return make


def test_file_of_the_house_stands_for_the_package_s_and_the_others_stay(
    checked: Checked, house: Callable[..., Path]
) -> None:
    shown = document(checked("saturation"))
    folder = house(report_md_j2="House of {{ document.title }}: {{ document.theorems|length|counted('theorem') }}\n")
    assert render(shown, "md", house=folder) == "House of Saturation: 17 theorems\n"
    assert render(shown, "tex", house=folder) == render(shown, "tex")


def test_style_of_the_house_is_in_the_page_and_admitted(checked: Checked, house: Callable[..., Path]) -> None:
    from test_html import assert_self_contained

    page = render(document(checked("saturation")), "html", house=house(report_css="body { color: teal }"))
    assert "body { color: teal }" in page
    assert_self_contained(page)


def test_what_a_house_prints_is_made_safe_like_everything(checked: Checked, house: Callable[..., Path]) -> None:
    shown = dataclasses.replace(document(checked("saturation")), name="<b>&")
    folder = house(report_html_j2="<p>{{ document.name }}{{ '<i>' }}</p>")
    assert "<p>&lt;b&gt;&amp;&lt;i&gt;</p>" in render(shown, "html", house=folder)
    for name in ("safe", "e", "escape", "tojson", "urlize"):
        with pytest.raises(BadTemplate, match="No filter"):
            render(shown, "tex", house=house(report_tex_j2=rf"\VAR{{document.name|{name}}}"))


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("a\n{{ nothing }}", r"report\.md\.j2, line 2: 'nothing' is undefined"),
        ("{{ document.nothing }}", r"report\.md\.j2, line 1: .*no attribute 'nothing'"),
        ("{% for t in document.theorems %}{{ t.nothing }}{% endfor %}", "no attribute 'nothing'"),
        ("{{ t('page.nothing') }}", "nothing"),
        ("{{ document.title|nothing }}", "No filter named 'nothing'"),
        ("{% for %}", r"report\.md\.j2, line 1"),
        ("{% include 'nothing.j2' %}", "nothing"),
        ("{{ cycler.__init__.__globals__ }}", "unsafe|undefined"),
        ("{{ inline(1) }}", "report"),
    ],
)
def test_what_is_not_there_is_an_error(template: str, said: str, checked: Checked, house: Callable[..., Path]) -> None:
    with pytest.raises(BadTemplate, match=said):
        render(document(checked("saturation")), "md", house=house(report_md_j2=template))


def test_command_uses_the_house_notices_its_changes_and_says_what_is_wrong(
    derive: Derive, house: Callable[..., Path], elsewhere: Path
) -> None:
    (elsewhere / "mine.derive").write_text(TEXT)
    plain = ("report", "mine.derive", "--format", "md")
    for text in ("one", "two"):
        assert derive(*plain, "--template", house(report_md_j2=text)).status == 0
        assert (elsewhere / "reports" / "mine.md").read_text() == text + "\n"
    run = derive(*plain, "--template", house(report_md_j2="{{ nothing }}"))
    assert run.status == 2
    assert "report.md.j2, line 1" in run.err
    assert derive(*plain, "--template", elsewhere / "nowhere").status == 2
    assert derive(*plain).status == 0
    assert "# Mine" in (elsewhere / "reports" / "mine.md").read_text()


# -- the guide --------------------------------------------------------------------------------------------------------

RECORDS = (
    documents.Document, documents.TheoremView, documents.ClaimView, documents.StepView, documents.Account,
    lines.LineView, lines.Summand, lines.Reference, counterexample.Counterexample, counterexample.Side,
    numbers.Evidence, numbers.Measured, numbers.Worst, numbers.Point, numbers.Again, figures.Figure,
)  # fmt: skip


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: r.__name__)
def test_guide_names_every_field(record: type) -> None:
    (row,) = [line for line in GUIDE.split("\n") if f"(`{record.__name__}`)" in line]
    said = {name.split("(")[0] for name in re.findall(r"`([\w()]+)`", row)} - {record.__name__}
    fields = {f.name for f in dataclasses.fields(record)}  # type: ignore[arg-type]
    assert not fields - said
    parts = {"condition", "reason", "words", "count", "source", "title", "curves", "label", "x", "y", "low", "derived"}
    assert all(hasattr(record, name) for name in said - fields - parts)


def test_guide_names_every_variable_function_and_filter(checked: Checked, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    monkeypatch.setattr("derive.report.render._laid_out", lambda _, __, data, ___: given.update(data) or "")
    render(document(checked("saturation")), "md")
    environment = _environment("md", "en", None, frozenset())
    own = environment.globals.keys() - DEFAULT_NAMESPACE.keys()
    for name in {*given, *own}:
        assert re.search(rf"`{name}[(`]", GUIDE), name
    for name in environment.filters.keys() - DEFAULT_FILTERS.keys():
        assert re.search(rf"`{name}[(`]", GUIDE), name

"""Documents through templates: one environment a format, everything escaped unless a printer wrote it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import (
    BytecodeCache,
    Environment,
    FileSystemLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
    pass_context,
)
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from derive import __version__
from derive.engine.verdict import ORDER
from derive.paths import template_dir
from derive.report import escape, plots, prose, words
from derive.report.document import Document
from derive.report.entry import Entry
from derive.report.figures import Figure
from derive.report.graph import graph_of, graph_of_theories
from derive.report.languages import Language, file_name, language, translations, within_formulas
from derive.report.page import BadTemplate, Page, asset
from derive.report.printer import ROOM, Printer
from derive.report.sentences import Sentences
from derive.report.typeset import LATEX, Dialect, sign
from derive.report.typst import TYPST
from derive.report.widgets import view, widgets_of
from derive.term import ONE, Term, cmp, defined, size, sub

_INLINE_ROOM = 24.0  # em; what is wider is displayed on a line of its own


@dataclass(frozen=True)
class Format:
    """How one kind of file is written: its templates, its delimiters, and how each kind of thing is made safe."""

    suffix: str
    escape: Callable[[str], str]
    code: Callable[[str], str]
    listing: Callable[[str], str]
    signs: bool = False  # whether the mark of a verdict is a formula
    line: Callable[[str], str] = str  # a line of prose; for HTML, the page writes it
    blocks: Callable[[str], str] = str  # a docstring; likewise
    inline: str = "%s"  # around a formula in a line; likewise
    display: str = "%s"  # around a formula on lines of its own; likewise
    noted: str = ""  # around such a formula and the words beside it
    dialect: Dialect = LATEX  # of formulas
    strong: str = "%s"
    emph: str = "%s"
    syntax: Mapping[str, str] = field(default_factory=dict)

    def mark(self, verdict: str) -> Markup:
        """The mark of a verdict within a line."""
        plain, latex = words.MARKS[verdict]
        return Markup(self.inline % self.dialect.write(sign(latex)) if self.signs else plain)


FORMATS = {
    "md": Format(
        suffix="md",
        escape=escape.markdown_inside,
        line=lambda text: escape.markdown_start(prose.markdown_line(prose.inlines(text))),
        blocks=prose.markdown,
        code=escape.markdown_code,
        listing=partial(escape.markdown_fence, language="python"),
        inline="$`%s`$",
        display="```math\n%s\n```",
        strong="**%s**",
        emph="*%s*",
    ),
    "html": Format(
        suffix="html",
        escape=escape.html,
        code=escape.html_code,
        listing=escape.html_listing,
        strong="<strong>%s</strong>",
        emph="<em>%s</em>",
    ),
    "tex": Format(
        suffix="tex",
        escape=escape.tex,
        line=lambda text: prose.tex_line(prose.inlines(text)),
        blocks=prose.tex,
        code=escape.tex_code,
        listing=prose.tex_listing,
        inline=r"\(%s\)",
        display="\\[\n%s\n\\]",
        signs=True,
        noted="\\[\n%s \\tag*{%s}\n\\]",
        strong=r"\textbf{%s}",
        emph=r"\emph{%s}",
        syntax={
            "block_start_string": r"\BLOCK{",
            "block_end_string": "}",
            "variable_start_string": r"\VAR{",
            "variable_end_string": "}",
            "comment_start_string": r"\#{",
            "comment_end_string": "}",
            "line_comment_prefix": "%#",
        },
    ),
    "typ": Format(
        suffix="typ",
        escape=escape.typst,
        line=lambda text: prose.typst_line(prose.inlines(text)),
        blocks=prose.typst,
        code=escape.typst_code,
        listing=escape.typst_listing,
        inline="$%s$",
        signs=True,
        display="#shown[$ %s $]\n",
        noted="#shown[$ %s $][%s]\n",
        strong="#strong[%s]",
        emph="#emph[%s]",
        dialect=TYPST,
    ),
}


@dataclass(frozen=True)
class Safe:
    """How one format makes text safe, and marks it. What is safe already is kept as it is."""

    form: Format

    def escape(self, text: Any) -> Markup:
        return text if isinstance(text, Markup) else Markup(self.form.escape(str(text)))

    def code(self, text: str) -> Markup:
        return Markup(self.form.code(text))

    def strong(self, text: Any) -> Markup:
        return Markup(self.form.strong % self.escape(text))

    def emph(self, text: Any) -> Markup:
        return Markup(self.form.emph % self.escape(text))


class _Translated(BytecodeCache):
    """Templates as translated once for an environment: each document has an overlay of it, which starts without any."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.kept:
            bucket.bytecode_from_string(self.kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.kept[bucket.key] = bucket.bytecode_to_string()


def _of_document(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a filter that is not applied, even to a constant, while a template is translated."""
    return pass_context(lambda _, *given: function(*given))


@cache
def _environment(name: str, code: str, house: Path | None, given: frozenset[str]) -> Environment:
    """The environment of a format and language, for overlays with the filters of the given names.

    A template is translated for the filters that it finds: what was translated without those of a document, for the
    index, would call the wrong ones.
    """
    form = FORMATS[name]
    safe, words_ = Safe(form), _words(name, code)
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader([house, template_dir()] if house else [template_dir()]),
        autoescape=True,  # what `finalize` made safe, and what macros return, is kept as it is
        finalize=safe.escape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=_Translated(),
        **form.syntax,  # type: ignore[arg-type]
    )
    for unsafe in ("e", "escape", "forceescape", "safe", "tojson", "urlize", "xmlattr"):
        del environment.filters[unsafe]  # each would call something safe that is not so in every format
    environment.filters.update(
        line=lambda text: Markup(form.line(text)),
        blocks=lambda text: Markup(form.blocks(text)),
        code=safe.code,
        strong=safe.strong,
        emph=safe.emph,
        mermaid=lambda text: Markup(escape.mermaid(text)),
        listing=lambda text: Markup(form.listing(text)),
        counted=words_.count,
        told=words_.told,
        broken=lambda text: Markup(form.escape(text).replace("_", "_<wbr>")),
        bare=lambda number: Markup(f"{float(number):g}"),
        sentence=words_.opening,
        verdict=lambda verdict: words_.say(f"verdict.{verdict}"),
        mark=form.mark,
        marked=lambda verdict: words_.say(
            "page.told", mark=form.mark(verdict), verdict=words_.say(f"verdict.{verdict}")
        ),
        promise=lambda verdict: words_.say(f"promise.{verdict}"),
    )
    environment.globals.update(
        t=words_.say,
        listed=lambda parts: words_.listed(list(parts)),
        address=lambda stem, suffix: Markup(quote(file_name(stem, suffix, code))),
        version=__version__,
    )
    return environment


def _words(name: str, code: str) -> Language:
    return language(code, Safe(FORMATS[name]).escape)


def _command(codes: Sequence[str], *rest: str) -> str:
    """What writes the report anew, with those in the other languages."""
    return " ".join(["derive report", *rest, *(() if codes == ("en",) else (f"--lang {','.join(codes)}",))])


def _rechecking(document: Document) -> str:
    """What writes the file for Coq, where a run of Coq is on record for a claim."""
    recorded = any(c.coq is not None for t in document.theorems for c in t.claims)
    return f"derive export --coq {document.source}" if recorded else ""


def _formulas(form: Format, printer: Printer) -> dict[str, Callable[..., Any]]:
    """What a template of plain text prints terms with."""

    def display(term: Term, relation: str | None = None, words: str = "", room: float = ROOM) -> Markup:
        formula = printer.display(term, relation, room)
        return Markup(form.noted % (formula, words) if words else form.display % formula)

    return {
        "inline": lambda term: Markup(form.inline % printer.inline(term)),
        "display": display,
        "letters": lambda terms: Markup(form.inline % printer.letters(terms)),
        "entry": lambda name, letters=(): Markup(form.inline % printer.name_of(name, letters)),
        "equality": lambda left, right: Markup(form.inline % f"{printer.inline(left)} = {printer.inline(right)}"),
    }


def _overlay(name: str, code: str, house: Path | None, filters: dict[str, Callable[..., Any]]) -> Environment:
    """The environment with filters of one document, or of the index."""
    environment = _environment(name, code, house, frozenset(filters)).overlay()
    environment.filters = environment.filters | {key: _of_document(f) for key, f in filters.items()}
    return environment


def render(
    document: Document, form: str, index: bool = False, house: Path | None = None, beside: Sequence[str] = ()
) -> str:
    """The document as the text of one file. `index` says that the list of all reports lies beside it, `beside` in which
    other languages the report does.

    Templates, style sheets and scripts in the folder `house` stand for those of the package. Raises BadTemplate for one
    that asks for what is not there.
    """
    printer = Printer(document.notation, within_formulas(document.language), FORMATS[form].dialect)
    page = Page(document.language, house) if form == "html" else None
    formulas = page.formulas(printer) if page else _formulas(FORMATS[form], printer)
    safe = Safe(FORMATS[form])
    filters = {name: formulas[name] for name in ("inline", "entry")}
    if page is not None:
        filters |= {"line": page.line, "blocks": page.blocks}
    environment = _overlay(form, document.language, house, filters)
    data = {
        "document": document,
        "evidence": document.evidence,
        "defined_names": {d.name for d in document.definitions},
        "say": Sentences(_words(form, document.language), formulas, safe.code, safe.strong),
        "command": _command((document.language, *beside), document.source),
        "certifying": (f"derive check {document.source} --certificate .", f"derive verify {document.name}.json"),
        "rechecked": _rechecking(document),
        "room": ROOM,
        "index": index,
        "translations": translations(document.name, form, beside),
        "drawing": _drawing(document, form),
        "graph": graph_of(document),
        "widgets": view.views(document.name, page.formula) if page and document.listed else (),
        "wide": lambda term, room=_INLINE_ROOM: printer.width(term) > room,
        "last": lambda axis: formulas["inline"](sub(size(axis), ONE)),
        "equation": lambda item: cmp("==", defined(item.name, *item.letters), item.body),
        **formulas,
    }
    name = f"report.{form}.j2"
    text = _laid_out(environment, name, data | {"chinese": False}, house)
    if page is not None:
        shown = widgets_of(document.name) if document.listed else ()
        assets = (asset(n, house) for n in ("report.css", "report.js"))
        return page.finished(text, document.title, *assets, widgets=shown)
    if form in ("tex", "typ") and any(map(escape.is_chinese, text)):
        text = _laid_out(environment, name, data | {"chinese": True}, house)
    text = _tidy(text)
    # An empty line before a displayed formula is an empty paragraph.
    return re.sub(r"\n+(?=\n\\\[\n)", "", text) if form == "tex" else text


def _laid_out(environment: Environment, name: str, data: Mapping[str, Any], house: Path | None) -> str:
    """What the template makes of the data."""
    try:
        return environment.get_template(name).render(data)
    except (TemplateError, LookupError, TypeError, ValueError, AttributeError) as problem:
        if house is None:
            raise  # a fault of the package's own
        raise BadTemplate(f"{_place(problem, name)}: {problem or type(problem).__name__}") from problem


def _place(problem: Exception, name: str) -> str:
    """The template and line where it happened, as far as they are known."""
    if isinstance(problem, TemplateSyntaxError):
        return f"{problem.name or name}, line {problem.lineno}"
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if f.filename.endswith(".j2")]
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else name


def _drawing(document: Document, form: str) -> Callable[[Figure], Markup] | None:
    """What shows a figure: within the page, or as the place of its file; None where nothing can be drawn."""
    if not plots.can_draw():
        return None
    if form == "html":
        words = language(document.language, Markup)  # escaped where it is put in
        return lambda figure: Markup(
            plots.within(figure, f"figure-{figure.name}", _spoken(words, figure), document.language)
        )
    suffix = "svg" if form == "md" else "pdf"
    if form == "typ":
        words = language(document.language, Markup)  # escaped where it is put in
        return lambda figure: Markup(
            f"image({escape.typst_string(plots.place_of(document, figure, suffix))}, "
            f"alt: {escape.typst_string(_spoken(words, figure))})"
        )
    return lambda figure: Markup(quote(plots.place_of(document, figure, suffix)))


def _spoken(words: Language, figure: Figure) -> str:
    """What a figure shows, for those who do not see it."""
    return str(words.say("figures.described", title=figure.title_in(words.code), alt=words.told(figure.alt)))


def render_index(
    documents: tuple[Entry, ...],
    form: str = "md",
    code: str = "en",
    house: Path | None = None,
    beside: Sequence[str] = (),
) -> str:
    """The list of all reports."""
    page = Page(code, house)
    environment = _overlay(form, code, house, {"label": page.label} if form == "html" else {})
    data = {
        "documents": documents,
        "translations": translations("index", form, beside),
        "graph": graph_of_theories(documents, {d.name: quote(file_name(d.name, form, code)) for d in documents}),
        "verdict": min((d.verdict for d in documents), key=ORDER.index, default="undecided"),
        "theorems": sum(len(d.theorems) for d in documents),
        "command": _command((code, *beside)),
    }
    text = _laid_out(environment, f"index.{form}.j2", data, house)
    if form != "html":
        return _tidy(text)
    title = str(_words(form, code).say("page.catalogue"))
    files = (asset(name, house) for name in ("report.css", "report.js", "index.js"))
    return page.finished(text, title, *files)


def _tidy(text: str) -> str:
    """The text without blanks at ends of lines and, but in code, without runs of empty lines."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        line = line.rstrip()
        if line.startswith("```"):
            ticks = line[: len(line) - len(line.lstrip("`"))]
            fence = ticks if not fence else "" if line == fence else fence
        if line or fence or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip("\n") + "\n"


def typeset(term: Term, document: Document) -> str:
    """One term as LaTeX in the notation of a document."""
    return Printer(document.notation).inline(term)

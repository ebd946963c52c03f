"""Documents through templates: one environment a format, everything escaped unless a printer wrote it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from derive import __version__
from derive.engine.verdict import ORDER
from derive.paths import template_dir
from derive.report import escape, prose, words
from derive.report.document import Document
from derive.report.entry import Entry
from derive.report.latex import ROOM, Printer
from derive.report.page import Page, asset
from derive.term import ONE, Term, cmp, defined, size, sub

_INLINE_ROOM = 24.0  # em; what is wider is displayed on a line of its own


@dataclass(frozen=True)
class Format:
    """How one kind of file is written: its templates, its delimiters, and how each kind of thing is made safe."""

    suffix: str
    escape: Callable[[str], str]
    code: Callable[[str], str]
    listing: Callable[[str], str]
    mark: int = 0  # which mark of a verdict
    line: Callable[[str], str] = str  # a line of prose; for HTML, the page writes it
    blocks: Callable[[str], str] = str  # a docstring; likewise
    inline: str = "%s"  # around a formula in a line; likewise
    display: str = "%s"  # around a formula on lines of its own; likewise
    note: str = "%s"  # words beside a displayed formula
    syntax: Mapping[str, str] = field(default_factory=dict)


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
    ),
    "html": Format(suffix="html", escape=escape.html, code=escape.html_code, listing=escape.html_listing),
    "tex": Format(
        suffix="tex",
        escape=escape.tex,
        line=lambda text: prose.tex_line(prose.inlines(text)),
        blocks=prose.tex,
        code=escape.tex_code,
        listing=prose.tex_listing,
        inline=r"\(%s\)",
        display="\\[\n%s\n\\]",
        mark=1,
        note=r" \tag*{%s}",
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
}


@cache
def _environment(name: str) -> Environment:
    form = FORMATS[name]

    def finalize(value: Any) -> Any:
        return value if isinstance(value, Markup) else Markup(form.escape(str(value)))

    environment = Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,  # what `finalize` made safe, and what macros return, is kept as it is
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **form.syntax,  # type: ignore[arg-type]
    )
    environment.filters.update(
        line=lambda text: Markup(form.line(text)),
        blocks=lambda text: Markup(form.blocks(text)),
        code=lambda text: Markup(form.code(text)),
        listing=lambda text: Markup(form.listing(text)),
        address=lambda text: Markup(quote(text)),
        counted=words.counted,
        broken=lambda text: Markup(form.escape(text).replace("_", "_<wbr>")),
        sentence=lambda text: text[:1].upper() + text[1:],
        mark=lambda verdict: Markup(words.MARKS[verdict][form.mark]),
        promise=lambda verdict: words.PROMISES[verdict],
    )
    return environment


def _formulas(form: Format, printer: Printer) -> dict[str, Callable[..., Any]]:
    """What a template of plain text prints terms with."""
    return {
        "inline": lambda term: Markup(form.inline % printer.inline(term)),
        "display": lambda term, relation=None, words="": Markup(
            form.display % (printer.display(term, relation) + (form.note % words if words else ""))
        ),
        "letters": lambda terms: Markup(form.inline % printer.letters(terms)),
        "entry": lambda name, letters=(): Markup(form.inline % printer.name_of(name, letters)),
        "equality": lambda left, right: Markup(form.inline % f"{printer.inline(left)} = {printer.inline(right)}"),
    }


def render(document: Document, form: str, index: bool = False) -> str:
    """The document as the text of one file. `index` says that the list of all reports lies beside it."""
    printer = Printer(document.notation)
    page = Page() if form == "html" else None
    formulas = page.formulas(printer) if page else _formulas(FORMATS[form], printer)
    filters = {name: formulas[name] for name in ("inline", "entry")}
    if page is not None:
        filters |= {"line": page.line, "blocks": page.blocks}
    environment = _environment(form).overlay()
    environment.filters = environment.filters | filters
    text = environment.get_template(f"report.{form}.j2").render(
        document=document,
        evidence=document.evidence,
        defined_names={d.name for d in document.definitions},
        kinds=words.KINDS,
        laws=words.LAWS,
        parameters=words.LAW_PARAMETERS,
        opinions=words.OPINIONS,
        version=__version__,
        room=ROOM,
        index=index,
        wide=lambda term, room=_INLINE_ROOM: printer.width(term) > room,
        last=lambda axis: formulas["inline"](sub(size(axis), ONE)),
        equation=lambda item: cmp("==", defined(item.name, *item.letters), item.body),
        **formulas,
    )
    if page is None:
        return _tidy(text)
    return page.finished(_closer(text), document.title, asset("report.css"), asset("report.js"))


def render_index(documents: tuple[Entry, ...], form: str = "md") -> str:
    """The list of all reports."""
    page = Page()
    environment = _environment(form).overlay()
    if form == "html":
        environment.filters = environment.filters | {"label": page.label}
    text = environment.get_template(f"index.{form}.j2").render(
        documents=documents,
        verdict=min((d.verdict for d in documents), key=ORDER.index, default="undecided"),
        theorems=sum(len(d.theorems) for d in documents),
        version=__version__,
    )
    if form != "html":
        return _tidy(text)
    return page.finished(_closer(text), "The catalogue", asset("report.css"), asset("report.js"), asset("index.js"))


def _closer(text: str) -> str:
    """HTML without blanks at the ends of its lines and without empty lines, but as it is in blocks of code."""
    parts = re.split(r"(<pre>.*?</pre>)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("<pre>") else re.sub(r"[ \t]*\n\s*", "\n", part) for part in parts)


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

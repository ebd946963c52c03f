"""A page of HTML that needs nothing else: formulas, fonts, style and script inside, and a policy that lets nothing in.

A formula stands in the page as MathML, and a script puts KaTeX's layout in its place, which was made when the page was
built and lies in it compressed. Where no engine was there to do so, KaTeX itself lies in the page, and the formula
stands there in the formula language until it has run.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from markupsafe import Markup

from derive.language.printer import to_text
from derive.paths import template_dir
from derive.report import escape, katex, layouts, prose
from derive.report.languages import tag
from derive.report.printer import ROOM, Printer
from derive.report.widgets import Widget, view
from derive.term import Term

LARGEST = 600_000  # bytes of a page
_IMPLIED = re.compile(r"</(?:li|dt|dd|td|th|tr|thead|tbody)>\n?")  # what begins or ends after them says that they end
_QUOTED = re.compile(r'="([\w.#%+-]+)"(?=[\s>])', re.ASCII)  # a value that needs no quotes
_SLOT = re.compile("\0(\\d+)\0")  # no text of a user holds a zero byte here: `escape.visible` has shown it


class BadTemplate(Exception):
    """A template of a house style asks for what is not there, or is none; the message says which and where."""


@dataclass
class Page:
    """The formulas of a page, in the order in which they were first written. Equal ones are kept once."""

    language: str = "en"
    house: Path | None = None  # templates that stand for those of the package
    # By LaTeX and whether displayed: what it says in text.
    texts: dict[tuple[str, bool], str] = field(default_factory=dict)
    numbers: dict[tuple[str, bool], int] = field(default_factory=dict)

    def formula(self, latex: str, display: bool, text: str) -> Markup:
        """The place of a formula. `latex` is trusted: it comes from a printer or from the grammar of formulas."""
        if display:
            latex = katex.displayed(latex)
        self.texts.setdefault((latex, display), text)
        return Markup(f"\0{self.numbers.setdefault((latex, display), len(self.numbers))}\0")

    def formulas(self, printer: Printer) -> dict[str, Callable[..., Any]]:
        """What a template prints terms with."""

        def display(term: Term, relation: str | None = None, room: float = ROOM) -> Markup:
            before = f"{relation} " if relation else ""
            return self.formula(printer.display(term, relation, room), True, before + to_text(term))

        def entry(name: str, letters: Sequence[Term] = ()) -> Markup:
            text = f"{name}[{', '.join(to_text(k) for k in letters)}]" if letters else name
            return self.formula(printer.name_of(name, letters), False, text)

        return {
            "inline": lambda term: self.formula(printer.inline(term), False, to_text(term)),
            "display": display,
            "letters": lambda terms: self.formula(printer.letters(terms), False, ", ".join(map(to_text, terms))),
            "entry": entry,
            "equality": lambda left, right: self.formula(
                f"{printer.inline(left)} = {printer.inline(right)}", False, f"{to_text(left)} = {to_text(right)}"
            ),
        }

    def line(self, text: str) -> Markup:
        """A line of prose."""
        return Markup(prose.html_line(prose.inlines(text), self._prose))

    def label(self, text: str) -> Markup:
        """A line of prose that is itself a link: none of its parts is."""
        return Markup(prose.html_line(prose.inlines(text, prose.PLAIN), self._prose))

    def blocks(self, text: str) -> Markup:
        """A docstring."""
        return Markup(prose.html(text, self._prose))

    def _prose(self, latex: str, display: bool) -> str:
        return self.formula(latex, display, f"${latex}$")

    def finished(self, body: str, title: str, style: str, *scripts: str, widgets: Sequence[Widget] = ()) -> str:
        """The whole page. Raises BadFormula for a formula that KaTeX does not read."""
        formulas = list(self.texts)
        body, more = _terse(body), ""
        if widgets:
            style += asset("widgets.css", self.house)
            scripts = (*scripts, view.script(widgets), asset("widgets.js", self.house))
            more = _data("widget-data", view.data(widgets))
        if not formulas:
            return _assembled(self.language, body, title, style, scripts, more)
        laid_out = katex.rendered(formulas)
        if laid_out is None:
            sheet = katex.fonts(katex.macros_of(formulas)) + katex.style() + style
            data = more + _data("formulas", json.dumps(formulas)) + _data("katex", _packed(katex.script()))
            return _assembled(self.language, self._as_text(body), title, sheet, scripts, data, katex.script())
        used = katex.classes_of(laid_out)
        sheet = katex.fonts(used) + katex.style_for(used | {"katex-mathml"}) + style
        filled = _filled(
            body, [_displayed(r.mathml) if d else r.mathml for r, (_, d) in zip(laid_out, formulas, strict=True)]
        )
        page = partial(_assembled, self.language, filled, title, sheet, scripts)
        order = _shown_first(body)
        numbers = {formula: number for number, formula in enumerate(order)}
        places = [numbers[formula] for formula in _slots(body)]
        room = LARGEST - len(page(more + _data("layouts", "")).encode())
        packed = layouts.packed(places, [laid_out[formula].html for formula in order], room)
        return page(more + _data("layouts", packed) if packed else more)

    def _as_text(self, body: str) -> str:
        """The body with formulas in the formula language, each in the place where KaTeX lays it out."""
        kinds = ["math display" if display else "math" for _, display in self.texts]
        return _filled(body, [
            f'<span class="{kind}" data-math={number}><code>{escape.html(text)}</code></span>'
            for number, (kind, text) in enumerate(zip(kinds, self.texts.values(), strict=True))
        ])  # fmt: skip


def _terse(body: str) -> str:
    """The body without what browsers do without: blanks around lines, ends that are implied, quotes around plain words.

    Code is kept line by line.
    """
    parts = re.split(r"(<pre>.*?</pre>)", body, flags=re.DOTALL)
    closer = [part if part.startswith("<pre>") else re.sub(r"[ \t]*\n\s*", "\n", part) for part in parts]
    unquoted = {"&quot;": '"', "&#x27;": "'"}  # in text; within a tag they stay
    return re.sub(
        "<[^<>]*>|&quot;|&#x27;",
        lambda found: unquoted.get(found[0]) or _QUOTED.sub(r"=\1", found[0]),
        _IMPLIED.sub("", "".join(closer)),
    )


def _displayed(mathml: str) -> str:
    """A formula on lines of its own, which scrolls where it is too wide."""
    return f'<span class="math display">{mathml}</span>'


def _slots(body: str) -> list[int]:
    """The formulas in the order of their places."""
    return [int(number) for number in _SLOT.findall(body)]


def _shown_first(body: str) -> list[int]:
    """The formulas of the body, those first that stand in what is not folded, and each once."""
    depth = 0
    shown: dict[int, None] = {}
    folded: dict[int, None] = {}
    for found in re.finditer(f"<(/?)details|{_SLOT.pattern}", body):
        if found[2] is None:
            depth += -1 if found[1] else 1
        else:
            (folded if depth else shown)[int(found[2])] = None
    return list(shown | folded)


def asset(name: str, house: Path | None = None) -> str:
    """A style sheet or script of the templates, those of a house style first."""
    own = house / name if house else None
    return (own if own is not None and own.is_file() else template_dir() / name).read_text(encoding="utf-8")


def _filled(body: str, formulas: Sequence[str]) -> str:
    return _SLOT.sub(lambda found: formulas[int(found[1])], body)


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _data(name: str, content: str) -> str:
    content = content.replace("<", "\\u003c")
    return f'<script type="application/octet-stream" id="{name}">{content}</script>\n'


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _assembled(
    language: str, body: str, title: str, style: str, scripts: Sequence[str], data: str, packed: str = ""
) -> str:
    """The page. `packed` is a script that one of the scripts unpacks."""
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": " ".join(_hash(s) for s in (*scripts, packed) if s),
        "font-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    rules = "; ".join(f"{name} {value}" for name, value in policy.items())
    head = [
        "<!DOCTYPE html>",
        f'<html lang="{tag(language)}">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{rules}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escape.html(title)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
    ]
    tail = [data + "".join(f"<script>{s}</script>\n" for s in scripts) + "</body>", "</html>", ""]
    return "\n".join([*head, body.strip("\n"), *tail])

"""A page of HTML that needs nothing else: formulas, fonts, style and script inside, and a policy that lets nothing in.

A formula stands in the page as MathML (or, where that would be too much, as text) and is laid out by KaTeX as soon as
a script runs: either it was laid out when the page was built, and lies in the page compressed, or KaTeX lies there.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from derive.language.printer import to_text
from derive.paths import template_dir
from derive.report import escape, katex, prose
from derive.report.printer import ROOM, Printer
from derive.report.widgets import Widget, view
from derive.term import Term

LARGEST = 600_000  # bytes of a page
_TAGS = {"zh": "zh-Hans"}  # what a language is called in HTML, where that is not its code
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
        self.texts.setdefault((latex, display), text)
        number = self.numbers.setdefault((latex, display), len(self.numbers))
        kind = "math display" if display else "math"
        return Markup(f'<span class="{kind}" data-math="{number}">\0{number}\0</span>')

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
        more = ""
        if widgets:
            style += asset("widgets.css", self.house)
            scripts = (*scripts, view.script(widgets), asset("widgets.js", self.house))
            more = _data("widget-data", view.data(widgets))
        if not formulas:
            return _assembled(self.language, body, title, style, scripts, more)
        laid_out = katex.rendered(formulas)
        text = [f"<code>{escape.html(text)}</code>" for text in self.texts.values()]
        if laid_out is None:
            sheet = katex.fonts(katex.macros_of(formulas)) + katex.style() + style
            data = more + _data("formulas", json.dumps(formulas)) + _data("katex", _packed(katex.script()))
            return _assembled(self.language, _filled(body, text), title, sheet, scripts, data, katex.script())
        used = katex.classes_of(laid_out)
        sheet = katex.fonts(used) + katex.style_for(used | {"katex-mathml"}) + style

        def page(shown: frozenset[int]) -> str:
            """The page with these formulas as MathML, and the others as text: their MathML lies with their layouts."""
            here = [r.mathml if k in shown else text[k] for k, r in enumerate(laid_out)]
            layouts = [_without_styles(r.html) if k in shown else _spoken(r) for k, r in enumerate(laid_out)]
            data = more + _data("layouts", _packed(json.dumps(layouts)))
            return _assembled(self.language, _filled(body, here), title, sheet, scripts, data)

        hidden = _folded(body)
        return _largest(page, sorted(range(len(laid_out)), key=lambda k: (k in hidden, len(laid_out[k].mathml), k)))


def _folded(body: str) -> frozenset[int]:
    """The formulas that stand only in what is folded at first."""
    depth, shown, hidden = 0, set(), set()
    for found in re.finditer(f"<(/?)details|{_SLOT.pattern}", body):
        if found[2] is None:
            depth += -1 if found[1] else 1
        else:
            (hidden if depth else shown).add(int(found[2]))
    return frozenset(hidden - shown)


def _largest(page: Callable[[frozenset[int]], str], order: Sequence[int]) -> str:
    """The page with as many formulas as MathML, in this order, as its size allows."""
    whole = page(frozenset(order))
    if len(whole.encode()) <= LARGEST:
        return whole
    best, few, many = page(frozenset()), 0, len(order)
    while many - few > 1:
        middle = (few + many) // 2
        tried = page(frozenset(order[:middle]))
        if len(tried.encode()) <= LARGEST:
            best, few = tried, middle
        else:
            many = middle
    return best


def asset(name: str, house: Path | None = None) -> str:
    """A style sheet or script of the templates, those of a house style first."""
    own = house / name if house else None
    return (own if own is not None and own.is_file() else template_dir() / name).read_text(encoding="utf-8")


def _filled(body: str, formulas: Sequence[str]) -> str:
    return _SLOT.sub(lambda found: formulas[int(found[1])], body)


def _without_styles(html: str) -> str:
    """The layout with its style attributes set aside: the page's policy takes none, its script sets them one by one."""
    return html.replace(' style="', ' data-style="')


def _spoken(rendered: katex.Rendered) -> str:
    """The layout with the MathML that screen readers speak."""
    start = '<span class="katex">'
    spoken = f'{start}<span class="katex-mathml">{rendered.mathml}</span>'
    return _without_styles(rendered.html).replace(start, spoken, 1)


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
        f'<html lang="{_TAGS.get(language, language)}">',
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

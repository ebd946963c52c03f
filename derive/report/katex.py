"""KaTeX, as it lies in the templates: formulas laid out when a page is built; fonts, style and script for the page."""

from __future__ import annotations

import base64
import importlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from derive.paths import template_dir
from derive.report.mathml import lean

# An unknown macro, a formula that does not end or one that asks for a link stops the build instead of reaching a page.
_REFUSED = "#abad1d"  # the colour of what KaTeX only marks
_OPTIONS = {
    "strict": "error",
    "throwOnError": True,
    "errorColor": _REFUSED,
    "trust": False,
    "maxExpand": 1000,
    "maxSize": 50,
}
# Fonts by name, with family, weight and style; the first ones every page needs.
_ALWAYS = ("Main-Regular", "Math-Italic", "Size1-Regular", "Size2-Regular", "Size3-Regular", "Size4-Regular")
_SOMETIMES = {
    "AMS-Regular": ("amsrm", "hbar"),
    "AMS-Letters": ("mathbb",),
    "Main-Bold": ("textbf",),
    "Main-BoldLetters": ("mathbf",),
    "Main-Italic": ("mathit", "textit"),
    "Caligraphic-Regular": ("mathcal",),
}
_PARTS = {"AMS-Letters": "AMS-Regular", "Main-BoldLetters": "Main-Bold"}  # of a font, where its letters are enough
_CUT = frozenset({*_ALWAYS, *_PARTS})  # which lie in the templates without the characters that no formula has


class BadFormula(Exception):
    """KaTeX refuses a formula: a fault of the printer or of the grammar of formulas."""


@dataclass(frozen=True)
class Rendered:
    """A formula as KaTeX lays it out, and as MathML, which browsers show and screen readers speak by themselves."""

    html: str
    mathml: str


def folder() -> Path:
    """Where the vendored files are."""
    return template_dir() / "vendor" / "katex"


@cache
def script() -> str:
    """KaTeX itself."""
    return (folder() / "katex.min.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """KaTeX's style sheet without its fonts."""
    return re.sub(r"@font-face\{.*?\}", "", (folder() / "katex.min.css").read_text(encoding="utf-8"))


def style_for(used: frozenset[str]) -> str:
    """The rules of that style sheet that these classes can meet."""
    return re.sub(r"([^{}]*)(\{[^{}]*\})", lambda rule: _met(rule[1].split(","), rule[2], used), style())


def _met(selectors: Sequence[str], body: str, used: frozenset[str]) -> str:
    """The rule for those of its selectors that name no other class."""
    kept = [selector for selector in selectors if used.issuperset(re.findall(r"\.([A-Za-z][\w-]*)", selector))]
    return ",".join(kept) + body if kept else ""


def fonts(used: frozenset[str]) -> str:
    """Style rules with the fonts inside that these classes of KaTeX's, or macros, need."""
    names = [*_ALWAYS, *(name for name, wanted in _SOMETIMES.items() if not used.isdisjoint(wanted))]
    return "".join(_face(name) for name in names if _PARTS.get(name) not in names)


@cache
def _face(name: str) -> str:
    family, _, kind = name.partition("-")
    place = folder().parent / "letters" if name in _CUT else folder() / "fonts"
    data = base64.b64encode((place / f"KaTeX_{name}.woff2").read_bytes()).decode()
    weight, slope = (700 if "Bold" in kind else 400), ("italic" if "Italic" in kind else "normal")
    return (
        f'@font-face{{font-family:KaTeX_{family};font-style:{slope};font-weight:{weight};font-display:block;'
        f'src:url(data:font/woff2;base64,{data}) format("woff2")}}'
    )  # fmt: skip


def classes_of(rendered: Iterable[Rendered]) -> frozenset[str]:
    """The classes that rendered formulas use."""
    return frozenset(c for r in rendered for group in re.findall(r'class="([^"]*)"', r.html) for c in group.split())


def macros_of(formulas: Iterable[tuple[str, bool]]) -> frozenset[str]:
    """The macros that formulas use."""
    return frozenset(macro for tex, _ in formulas for macro in re.findall(r"\\([A-Za-z]+)", tex))


@cache
def _engine() -> Any:
    """KaTeX in a JavaScript engine; None where there is none."""
    try:
        quickjs = importlib.import_module("quickjs")  # of the optional package quickjs-ng
    except ImportError:
        return None
    context = quickjs.Context()
    context.set_memory_limit(1 << 28)
    context.eval(f"var self = this;{script()}")
    # The engine loses a string that was put together piece by piece; what JSON.stringify returns is whole.
    context.eval(
        "function render(tex, display, options) {"
        "  const all = Object.assign(JSON.parse(options), {displayMode: display, output: 'htmlAndMathml'});"
        "  try { return JSON.stringify([katex.renderToString(tex, all), null]); }"
        "  catch (problem) { return JSON.stringify([null, String(problem.message)]); } }"
    )
    return context.get("render")


def displayed(latex: str) -> str:
    """The formula with its cases displayed as well: fractions in them stay legible, and tall rows stand apart."""
    inside: list[str] = []
    parts = re.split(r"(\\(?:begin|end)\{\w+\}| \\\\ )", latex)
    gap = r" \\[0.8em] " if r"\frac" in latex else r" \\ "
    for place, part in enumerate(parts):
        if part.startswith(r"\begin{"):
            inside.append(part)
        if part == r" \\ " and inside[-1:] == [r"\begin{cases}"]:
            parts[place] = gap
        if part in (r"\begin{cases}", r"\end{cases}"):
            parts[place] = part.replace("{", "{d")
        if part.startswith(r"\end{"):
            inside.pop()
    return "".join(parts)


def rendered(formulas: Sequence[tuple[str, bool]]) -> list[Rendered] | None:
    """The formulas, each LaTeX and whether it is displayed, laid out; None where no JavaScript engine is installed.

    Raises BadFormula for what KaTeX does not read.
    """
    if _engine() is None:
        return None
    return [_rendered(tex, display) for tex, display in formulas]


@cache
def _rendered(tex: str, display: bool) -> Rendered:
    """One formula laid out. Many pages hold the same."""
    html, problem = json.loads(_engine()(tex, display, json.dumps(_OPTIONS)))
    if problem is not None or _REFUSED in html:
        raise BadFormula(f"{problem or 'KaTeX refuses a part of it'}: {tex}")
    return _apart(html)


def _apart(html: str) -> Rendered:
    """The layout and the MathML of what KaTeX wrote."""
    found = re.search(r'<span class="katex-mathml">(<math .*?</math>)</span>', html, re.DOTALL)
    if found is None:
        raise BadFormula("KaTeX wrote no MathML")
    return Rendered(html[: found.start()] + html[found.end() :], lean(found[1]))

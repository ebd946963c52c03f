"""Figures drawn by matplotlib: the same bytes each time, told apart without colour, in files and within pages.

Words in SVG are text in the reader's own type. Chinese ones are measured by signs that are about as wide, which stand
for them while the figure is laid out, so that the same is drawn whatever type a machine has. PDF needs the type itself.
"""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree

from derive.report.document import Document
from derive.report.escape import is_chinese, visible
from derive.report.figures import Curve, Figure
from derive.report.languages import file_name, language
from derive.report.pdf import CHINESE_TYPE

SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Colours that are told apart by people who see red and green alike (Okabe and Ito), each with a dash and a mark.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (8, 3)), (0, (1, 1)))
_MARKS = "osD^vX"
_INK = "#1b1d21"
_POINTED = re.compile(r"(?<=url\(#)[\w.-]+")  # how one part of a drawing names another, besides a link
_LATIN = "DejaVu Sans"  # comes with matplotlib
_STYLE: dict[str, Any] = {
    "font.sans-serif": [_LATIN],
    "font.size": 9.5,
    "text.parse_math": False,
    "text.color": _INK,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.7,
    "path.simplify": True,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


_SIGNS = range(0x2600, 0x26B8)  # of that type, each about as wide as a Chinese character


def can_draw() -> bool:
    """Whether matplotlib, of the optional extra `plots`, is there."""
    return find_spec("matplotlib") is not None


@cache
def drawn(figure: Figure, form: str, code: str = "en") -> bytes:
    """The figure as "svg" or "pdf", its words in this language if there is type for them, else in English."""
    told = language(code, str).told
    shown = _told(figure, told)
    chinese = {c for text in (*_texts(shown), told("overflow")) for c in text if is_chinese(c)}
    if not chinese:
        return _drawn(figure if code == "en" else shown, form, told, ())
    if form == "pdf":
        families = _chinese_type()
        return _drawn(shown, form, told, families) if families else drawn(figure, form)
    signs = dict(zip(sorted(map(ord, chinese)), _SIGNS, strict=False))
    back = {sign: character for character, sign in signs.items()}
    made = _drawn(_told(shown, lambda text: text.translate(signs)), form, lambda text: told(text).translate(signs), ())
    return made.decode().translate(back).encode()


def _told(figure: Figure, told: Callable[[str], str]) -> Figure:
    """The figure with what `told` makes of its words."""
    return replace(
        figure,
        x_label=told(figure.x_label),
        y_label=told(figure.y_label),
        categories=tuple(map(told, figure.categories)),
        panels=tuple(
            replace(p, title=told(p.title), curves=tuple(replace(c, label=told(c.label)) for c in p.curves))
            for p in figure.panels
        ),
    )


def _texts(figure: Figure) -> list[str]:
    """The words that are drawn."""
    panels = [text for p in figure.panels for text in (p.title, *(c.label for c in p.curves))]
    return [figure.x_label, figure.y_label, *figure.categories, *panels]


@cache
def _chinese_type() -> tuple[str, ...]:
    """The family of type with Chinese characters that matplotlib finds, if there is one."""
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    return tuple(name for name in CHINESE_TYPE if name in there)[:1]


def _drawn(figure: Figure, form: str, told: Callable[[str], str], families: tuple[str, ...]) -> bytes:
    """The figure in the type that comes with matplotlib and, for what that lacks, in these families."""
    import matplotlib

    logging.getLogger("fontTools").setLevel(logging.ERROR)  # tables of a type that a PDF does not need
    style = {**_STYLE, "font.family": ["sans-serif", *families], "svg.hashsalt": figure.name}
    with matplotlib.rc_context(style):
        from matplotlib.backends.backend_pdf import FigureCanvasPdf
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Sheet

        sheet = Sheet(figsize=_size(figure), layout="constrained")
        places = sheet.subplots(len(figure.panels), 1, squeeze=False)[:, 0]
        for place, panel in zip(places, figure.panels, strict=True):
            place.set_title(visible(panel.title))
            _PAINTERS[figure.kind](place, figure, panel.curves, told)
            place.grid(True, color="#8a8f98", alpha=0.35, linewidth=0.6)
        handles, labels = places[0].get_legend_handles_labels()
        if len(labels) > 1:
            columns = 1 if max(map(len, labels)) > 44 else 2
            sheet.legend(handles, labels, loc="outside lower left", ncols=columns, handlelength=3.2)
        canvas = (FigureCanvasSVG if form == "svg" else FigureCanvasPdf)(sheet)
        if form == "svg":  # what lies in a file may be shown on any ground
            sheet.patch.set_facecolor("white")
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"CreationDate": None, "Producer": None}
        target = io.BytesIO()
        getattr(canvas, f"print_{form}")(target, metadata=metadata)
    return target.getvalue()


def place_of(document: Document, figure: Figure, form: str) -> str:
    """Where the drawing lies, seen from the report."""
    return f"figures/{file_name(f'{document.name}-{figure.name}', form, document.language)}"


def drawings(document: Document, form: str) -> dict[str, bytes]:
    """The drawings of a document by their places; none where nothing can be drawn."""
    if not can_draw():
        return {}
    code = document.language
    return {place_of(document, figure, form): drawn(figure, form, code) for figure in document.evidence.figures}


def _size(figure: Figure) -> tuple[float, float]:
    """Width and height in inches."""
    if figure.kind == "errors":
        return 5.2, 1.3 + 0.3 * len(figure.categories)
    return 5.2, 1.0 + 2.6 * len(figure.panels)


def _paint_curves(place: Any, figure: Figure, curves: tuple[Curve, ...], told: Callable[[str], str]) -> None:
    place.set_xscale(figure.x_scale)
    place.set_yscale(figure.y_scale)
    for k, curve in enumerate(curves):
        known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
        if figure.y_scale == "log":
            known = [(x, y) for x, y in known if y > 0]
        x, y = [p[0] for p in known], [p[1] for p in known]
        step = max(1, len(x) // 8)
        colour, dash, mark = (cycle[k % 6] for cycle in (_COLOURS, _DASHES, _MARKS))
        place.plot(
            x, y, color=colour, linestyle=dash, marker=mark, markersize=4.5, markevery=(k * step // 3 % step, step),
            label=visible(curve.label),
        )  # fmt: skip
    place.set_xlabel(visible(figure.x_label))
    place.set_ylabel(visible(figure.y_label))
    _plain_ticks(place, figure.x_scale, figure.y_scale)


def _paint_spread(place: Any, figure: Figure, curves: tuple[Curve, ...], told: Callable[[str], str]) -> None:
    place.set_xscale("log", base=2)
    for k, curve in enumerate(curves):
        label = visible(curve.label)
        if curve.derived:
            place.plot(curve.x, curve.y, color=_COLOURS[1], linestyle=_DASHES[1], label=label)
            place.plot(curve.x, curve.low, color=_COLOURS[1], linestyle=_DASHES[1])
        elif curve.low:
            place.fill_between(
                curve.x, curve.low, curve.y, color=_COLOURS[0], alpha=(0.22, 0.42)[k % 2], linewidth=0, label=label
            )
        else:
            place.plot(curve.x, curve.y, color=_COLOURS[0], marker="o", markersize=3.5, label=label)
    shown = curves[0].x[:: 1 + len(curves[0].x) // 8]
    place.set_xticks(shown, [f"{x:g}" for x in shown])
    place.minorticks_off()
    place.set_xlabel(visible(figure.x_label))


def _paint_errors(place: Any, figure: Figure, curves: tuple[Curve, ...], told: Callable[[str], str]) -> None:
    values = [y for c in curves for y in c.y if y is not None]
    least, most = 0.1, max(10.0, *values) * 3
    overflow = most * 4
    place.set_xscale("log")
    place.set_xlim(least / 1.6, overflow * 3)
    for k, curve in enumerate(curves):
        offset = 0.16 * (k - (len(curves) - 1) / 2)
        style = {"color": _COLOURS[k % 6], "marker": _MARKS[k % 6], "linestyle": "none", "markersize": 6}
        points = [
            (max(y, least) if y is not None else overflow, x + offset) for x, y in zip(curve.x, curve.y, strict=True)
        ]
        place.plot([p[0] for p in points], [p[1] for p in points], label=visible(curve.label), **style)
    place.set_yticks(range(len(figure.categories)), [visible(c) for c in figure.categories])
    place.set_ylim(len(figure.categories) - 0.5, -0.5)
    place.axvline(most * 1.6, color=_INK, linewidth=0.8)
    decades = [d for d in range(-1, 40) if 10.0**d <= most]
    shown = decades[:: 1 + len(decades) // 7]
    ticks = [10.0**d for d in shown]
    words = ["≤ 0.1" if d == -1 else str(10**d) if d < 5 else f"1e{d}" for d in shown]
    place.set_xticks([*ticks, overflow], [*words, told("overflow")])
    place.minorticks_off()
    place.set_xlabel(visible(figure.x_label))


_PAINTERS = {"curves": _paint_curves, "spread": _paint_spread, "errors": _paint_errors}


def _plain_ticks(place: Any, x_scale: str, y_scale: str) -> None:
    """Ticks of a log scale as plain numbers: no formula is laid out."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis, scale in ((place.xaxis, x_scale), (place.yaxis, y_scale)):
        if scale == "log":
            axis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}".replace("e-", "e−")))
            axis.set_minor_formatter(NullFormatter())


# -- within a page ----------------------------------------------------------------------------------------------------


def within(figure: Figure, identity: str, spoken: str, code: str = "en") -> str:
    """The drawing as part of a page, with what is said to those who do not see it.

    It has no style sheet or attribute, which the page's policy refuses, the page's own ink, and no name that something
    else there has.
    """
    root = ElementTree.fromstring(drawn(figure, "svg", code))
    used = {name for e in root.iter() for value in e.attrib.values() for name in _POINTED.findall(value)}
    used |= {e.attrib[_LINK].removeprefix("#") for e in root.iter() if _LINK in e.attrib}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style"):
                parent.remove(child)
        for child in list(parent):
            if child.tag == f"{{{SVG}}}defs" and not len(child):
                parent.remove(child)
    for element in root.iter():
        _bare(element, used, identity)
    root.attrib = {"viewBox": root.get("viewBox", ""), "role": "img", "aria-label": visible(spoken)}
    root.attrib |= {"stroke-linejoin": "round", "stroke-linecap": "butt"}
    for element in root.iter():
        element.text, element.tail = (None if not (t or "").strip() else t for t in (element.text, element.tail))
    text = ElementTree.tostring(root, encoding="unicode", default_namespace=None)
    text = re.sub(r"</?(?:ns\d+:)", lambda m: "</" if m[0].startswith("</") else "<", text)
    return re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)


def _bare(element: ElementTree.Element, used: set[str], identity: str) -> None:
    """Styles as attributes, colours of ink as the page's, names only where something points at them."""
    attributes: dict[str, str] = {}
    for name, value in [*element.attrib.items(), *_declarations(element.attrib.get("style", ""))]:
        if name == "style":
            continue
        if name == "id":
            if value not in used:
                continue
            value = f"{identity}-{value}"
        if name == "font":
            size = re.search(r"([\d.]+)px", value)
            attributes["font-size"] = size[1] if size else "10"
            continue
        if name == _LINK:
            name, value = "href", f"#{identity}-{value.removeprefix('#')}"
        value = _POINTED.sub(lambda m: f"{identity}-{m[0]}", value)
        if name in ("d", "x", "y", "points"):
            value = " ".join(
                re.sub(r"-?\d+\.\d+", lambda m: f"{float(m[0]):.2f}".rstrip("0").rstrip("."), value).split()
            )
        if value in (_INK, "#000000") and name in ("fill", "stroke"):
            value = "currentColor"
        if name == "fill" and value == "#ffffff":
            value = "none"
        attributes[name] = value
    if element.tag == f"{{{SVG}}}text":
        attributes.setdefault("fill", "currentColor")
    element.attrib = attributes


def _declarations(style: str) -> list[tuple[str, str]]:
    """The declarations of a style attribute."""
    pairs = [part.partition(":") for part in style.split(";") if part.strip()]
    return [(name.strip(), value.strip()) for name, _, value in pairs]

"""MathML that says what a formula is and leaves out what browsers do by themselves or the page's style sheet says.

KaTeX writes MathML for programs of another time: attributes that repeat what an operator does anyway, letters of one
word apart, spaces and alignment of rows as attributes that browsers have given up. Here it is brought to what the
specification MathML Core has; `templates/report.css` lays out its tables by their classes.
"""

from __future__ import annotations

import re
import unicodedata
from html import escape
from itertools import pairwise
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

_ROWS = ("math", "mrow", "mstyle", "msqrt", "mtd")  # what lays out its parts as a row by itself
_FENCES = frozenset("()[]{}⟨⟩⌊⌋⌈⌉")  # which grow with what they hold
_BARS = {"∣": "|", "∥": "‖"}  # signs of a relation, which do not grow, and those of a fence
_CLOSING = frozenset(")]}⟩⌋⌉!")
_SCRIPTED = frozenset(("munder", "mover", "munderover", "msub", "msup", "msubsup"))
_APPLIED = "\u2061"
_BOTH = frozenset("+−±∓")  # operators between two operands or before one
_BACK = "\u2009\u2063"  # how KaTeX writes a small step back
_ALPHABETS = {"bold": "BOLD", "double-struck": "DOUBLE-STRUCK", "script": "SCRIPT"}  # as Unicode calls them
_PLAIN = re.compile(r"[\w.+%-]+", re.ASCII)  # a value that needs no quotes in HTML


def lean(mathml: str) -> str:
    """The MathML of KaTeX as HTML, without its LaTeX, rows that group nothing, and attributes that change nothing."""
    bare = re.sub(r"<annotation [^>]*>.*?</annotation>|</?semantics>", "", mathml, flags=re.DOTALL)
    root = ElementTree.fromstring(bare.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', ""))
    _tidy(root)
    return _written(root)


def _tidy(element: Element) -> None:
    """The elements within, each as plain as it can be."""
    if element.tag == "mrow":
        _join(element)
    for child in element:
        _tidy(child)
    _ungroup(element)
    if element.tag == "mtable":
        _table(element)
    elif element.tag in ("mi", "mn", "mo"):
        _sign(element)
    _space(element)
    if element.tag in _ROWS:
        _apply(element)
        _unary(element)


def _ungroup(element: Element) -> None:
    """Take out rows that group nothing: those of one element, and that of a whole formula."""
    for place, child in enumerate(list(element)):
        if child.tag == "mrow" and not child.attrib and len(child) == 1:
            element[place] = child[0]
    if element.tag in _ROWS and len(element) == 1 and element[0].tag == "mrow" and not element[0].attrib:
        element[:] = list(element[0])


def _join(row: Element) -> None:
    """A row of upright letters is one name."""
    if len(row) > 1 and all(e.tag == "mn" or (e.tag == "mi" and e.get("mathvariant") == "normal") for e in row):
        name = "".join(e.text or "" for e in row)
        if name.isascii():
            row[:] = [_element("mi", name)]


def _table(table: Element) -> None:
    """A table by its class; without one, lines that start below each other. Its cells need no style of their own."""
    columns = table.get("columnalign", "").split()
    for cell in [cell for row in table for cell in row if len(cell) == 1 and cell[0].tag == "mstyle"]:
        inside = list(cell[0])
        cell[:] = [e for e in inside if e.tag != "mrow" or len(e)]
        if [e.tag for e in cell] == ["mo"]:
            cell[:] = inside  # a sign has space only beside something
        if len(cell) > 1 and inside[0] is not cell[0] and cell[0].text in _BOTH:
            cell[0].set("form", "infix")  # it follows an operand that is not written
    table.attrib.clear()
    if columns == ["right", "left"] and all(len(row) == 2 and not len(row[0]) for row in table):
        for row in table:
            del row[0]
    elif columns[:1] != ["left"]:
        table.set("class", "pairs" if columns[:1] == ["right"] else "grid")
    else:
        table.set("class", "cases")


def _sign(sign: Element) -> None:
    """A sign without what it does by itself; a letter of another alphabet is the character that it is."""
    text, alphabet = sign.text or "", _ALPHABETS.get(sign.get("mathvariant", ""))
    if alphabet and len(text) == 1 and (letter := _letter(text, alphabet)):
        sign.text = letter
        del sign.attrib["mathvariant"]
    elif sign.tag == "mo" or len(text) > 1 or not (text.isalpha() or text == "∇"):
        sign.attrib.pop("mathvariant", None)  # only single letters are slanted, and TeX's ∂, which KaTeX calls upright
    if text in _FENCES or text in _BARS:
        if sign.attrib.pop("fence", None):
            sign.text = _BARS.get(text, text)
    elif text in (",", ";"):
        sign.attrib.pop("separator", None)


def _letter(text: str, alphabet: str) -> str:
    """The character for that letter or digit in that alphabet; nothing where Unicode has none."""
    name = re.sub(r"^(LATIN|GREEK) |LETTER ", "", unicodedata.name(text, ""))
    for prefix in ("MATHEMATICAL ", ""):  # a few had names of their own before the alphabets came
        try:
            return unicodedata.lookup(f"{prefix}{alphabet} {name}")
        except KeyError:
            continue
    return ""


def _space(row: Element) -> None:
    """Spaces beside an operator that has none are its own; those of no width, and operators without a sign, go."""
    kept: list[Element] = []
    taking = False  # whether the last element is an operator that takes the space after it
    for child in row:
        if child.tag == "mspace" and "width" not in child.attrib or child.tag == "mo" and not child.text:
            continue
        if child.tag == "mtext" and child.text == _BACK:
            continue
        if taking and child.tag == "mspace":
            kept[-1].set("rspace", child.get("width", ""))
            taking = False
            continue
        taking = child.tag == "mo" and child.get("lspace") == child.get("rspace") == "0em"
        if taking and kept and kept[-1].tag == "mspace":
            child.set("lspace", kept.pop().get("width", ""))
        kept.append(child)
    row[:] = kept


def _apply(row: Element) -> None:
    """The sign that a function is applied comes after all that stands beside its name, with a space before a letter."""
    parts: list[Element] = []
    for child in row:
        parts.append(child)
        if child.tag in _SCRIPTED and [e.text for e in child[0]][-1:] == [_APPLIED] and len(child[0]) == 2:
            parts.append(child[0][1])
            child[0] = child[0][0]
    row[:] = parts
    for sign, after in pairwise(parts):
        first = after[0] if after.tag == "mrow" and len(after) else after
        if sign.text == _APPLIED and not (first.tag == "mo" and first.text in _FENCES):
            sign.set("rspace", "0.1667em")


def _unary(row: Element) -> None:
    """Say of a sign after another one that it stands before its operand: it is between two unless that is said."""
    for place, (before, sign) in enumerate(pairwise(row)):
        closes = before.tag != "mo" or before.text in _CLOSING or (place and before.text in _BARS.values())
        if sign.tag == "mo" and sign.text in _BOTH and not closes:
            sign.set("form", "prefix")


def _element(tag: str, text: str) -> Element:
    made = Element(tag)
    made.text = text
    return made


def _written(element: Element) -> str:
    """The element in HTML, where quotes are needed only around some values."""
    attributes = "".join(f" {name}={_value(value)}" for name, value in element.attrib.items())
    inside = escape(element.text or "", quote=False) + "".join(map(_written, element))
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>"


def _value(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else f'"{escape(value)}"'

"""Fonts of pages: those that are used, with every character that a formula can have."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from derive.report import escape, formula, katex, notation

# Which font a layout takes its characters from, by the classes around them.
FONTS = {
    "mathnormal": "Math-Italic", "mathit": "Main-Italic", "textit": "Main-Italic", "mathbf": "Main-Bold",
    "textbf": "Main-Bold", "mathcal": "Caligraphic-Regular", "mathbb": "AMS-Regular", "amsrm": "AMS-Regular",
    **dict.fromkeys(("delimsizing", "delim-size1", "delim-size4", "op-symbol"), "Size1 to Size4"),
}  # fmt: skip


def test_fonts_are_those_that_are_used() -> None:
    plain, black = katex.fonts(frozenset()), katex.fonts(frozenset({"mathbb"}))
    assert "KaTeX_AMS" in black
    assert "KaTeX_AMS" not in plain
    assert plain.count("@font-face") == 6
    whole = katex.fonts(frozenset({"mathbb", "amsrm"}))
    assert whole.count("KaTeX_AMS") == 1
    assert len(whole) > len(black)


def written(element: Element, font: str, found: dict[str, set[str]]) -> None:
    """Put down which characters a layout writes in each font."""
    for name in (element.get("class") or "").split():
        font = FONTS.get(name, font)
    found[font].update(element.text or "")
    for child in element:
        written(child, font, found)
        found[font].update(child.tail or "")


def cut() -> dict[str, set[str]]:
    """The characters of the fonts that were cut, as the note beside them has it."""
    note = (katex.folder().parent / "README.md").read_text(encoding="utf-8")
    held = {}
    for font, ranges in re.findall(r"\| ([\w -]+) \| U\+([\w, -]+) \|", note):
        ends = [part.split("-") for part in ranges.split(", ")]
        held[font] = {chr(c) for end in ends for c in range(int(end[0], 16), int(end[-1], 16) + 1)}
    return held


def all_that_is_admitted() -> list[str]:
    """Formulas with every sign, accent and bracket of the grammar, brackets around ever taller things."""
    signs = [*formula._PUNCTUATION.values(), *formula._CHARACTERS.values(), *escape.SIGNS.values()]
    signs += [f"\\{name}" for name in (*formula._SYMBOLS, *notation.GREEK.values())]
    signs += [chr(c) for c in range(128) if chr(c).isalnum()]
    plain = "".join(chr(c) for c in range(32, 127) if formula._PLAIN.fullmatch(chr(c)))
    found = [*signs, *(f"x_{{{sign}}}" for sign in signs), rf"\text{{{plain}}}", rf"\mathrm{{{plain}}}", "x''"]
    found += [rf"\{accent}{{{inside}}}" for accent in formula._ONE for inside in ("x", "xxxxxx")]
    low = tall = "x"
    for _ in range(8):
        for inside in (low, tall):
            found += [rf"\left{end} {inside} \right{end}" for end in formula._DELIMITERS.values()]
            found += [rf"\begin{{{name}}} {inside} \end{{{name}}}" for name in formula._GRIDS]
            found += [rf"\sqrt{{{inside}}}", rf"\binom{{{inside}}}{{x}}"]
        low, tall = rf"{{{low}}}^{{x}}", rf"\begin{{matrix}} {tall} \\ x \end{{matrix}}"
    return found


@pytest.mark.skipif(katex._engine() is None, reason="quickjs-ng is not installed")
def test_fonts_that_were_cut_have_every_character_that_a_formula_can_have() -> None:
    found: dict[str, set[str]] = defaultdict(set)
    for laid_out in katex.rendered([(tex, big) for tex in all_that_is_admitted() for big in (True, False)]) or ():
        written(ElementTree.fromstring(laid_out.html), "Main-Regular", found)
    assert {"Main-Regular", "Math-Italic", "Size1 to Size4"} <= set(found)
    for font, held in cut().items():
        visible = {c for c in found[font] if unicodedata.category(c) not in ("Cf", "Zs")}
        assert visible <= held, font
        assert font != "Math-Italic" or held <= visible | {chr(0x3C2)}

"""Formulas in Typst: the dialect, and what each sign of LaTeX is called there.

The function `rows` that it calls is defined by the template, `report.typ.j2`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from derive.report.escape import SIGNS, typst_string
from derive.report.notation import GREEK
from derive.report.typeset import Dialect

# Operators and spaces by the name they have in both languages, or by that of Typst.
_NAMED = {f"\\{name}": name for name in (
    "log ln exp sin cos tan sinh cosh tanh arctan max min sup inf lim det dim ker Pr arg deg quad".split()
)}  # fmt: skip
_NAMED |= {r"\,": "thin", r"\:": "med", r"\;": "thick", r"\!": "#h(-0.167em) ", r"\ ": "space", r"\qquad": "wide"}
_CHARACTERS = {f"\\{name}": character for character, name in GREEK.items()}
_CHARACTERS |= {macro: character for character, macro in SIGNS.items()}
_MORE = r"""
    \int ∫  \mp ∓  \ast ∗  \star ⋆  \bullet ∙  \oplus ⊕  \le ≤  \ge ≥  \ne ≠  \simeq ≃  \ll ≪  \gg ≫  \rightarrow →
    \Leftarrow ⇐  \Leftrightarrow ⇔  \iff ⟺  \implies ⟹  \ni ∋  \subset ⊂  \subseteq ⊆  \cup ∪  \cap ∩  \setminus ∖
    \emptyset ∅  \land ∧  \lor ∨  \vee ∨  \ldots …  \cdots ⋯  \vdots ⋮  \ddots ⋱  \dots …  \mid ∣  \parallel ∥  \bot ⊥
    \top ⊤  \hbar ℏ  \Re ℜ  \Im ℑ  \prime ′  \lvert |  \rvert |  \lVert ‖  \rVert ‖  \vert |  \lfloor ⌊  \rfloor ⌋
    \lceil ⌈  \rceil ⌉  \checkmark ✓
""".split()
_CHARACTERS |= dict(zip(_MORE[::2], _MORE[1::2], strict=True))
_TAKEN = frozenset("⟨⟩⌊⌋⌈⌉√")  # which Typst reads as more than a sign
_CHARACTERS = {macro: f"\\{c}" if c in _TAKEN else c for macro, c in _CHARACTERS.items()}
_SIGNS = _NAMED | _CHARACTERS | {
    r"\mathbb{E}": "bb(E)", r"\mathbf{1}": "bold(1)", r"\colon": "colon", r"\{": "brace.l", r"\}": "brace.r",
    r"\%": "%", "'": "'", "(": "paren.l", ")": "paren.r", "[": "bracket.l", "]": "bracket.r", ",": "comma",
    ";": "semi", ":": "colon", "/": "slash", "!": "excl", "*": "ast.op", **{c: c for c in "+-=<>.?"},
}  # fmt: skip
_ACCENTS = {
    "mathbf": "bold(upright(%s))", "mathbb": "bb(%s)", "mathcal": "cal(%s)", "mathit": "italic(%s)", "hat": "hat(%s)",
    "bar": "macron(%s)", "tilde": "tilde(%s)", "vec": "arrow(%s)", "dot": "dot(%s)", "ddot": "dot.double(%s)",
    "overline": "overline(%s)", "underline": "underline(%s)", "widehat": "hat(%s)", "widetilde": "tilde(%s)",
}  # fmt: skip
# Brackets that Typst matches, and lets grow, by themselves. Escaped they are signs like others.
_PAIRS = {
    "( )": "(%s)",
    "[ ]": "[%s]",
    r"\langle \rangle": "⟨%s⟩",
    r"\lfloor \rfloor": "⌊%s⌋",
    r"\lceil \rceil": "⌈%s⌉",
}
_GRIDS = {"matrix": "#none", "pmatrix": '"("', "bmatrix": '"["', "vmatrix": '"|"'}
_TOKEN = re.compile(
    r"\\mathrm\{(?P<upright>(?:[^{}\\]|\\_)*)\}|\\math(?:bb|bf)\{.\}|\\(?P<accent>hat|bar|tilde)\{(?P<under>[^{}]*)\}"
    r"|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|\{\}|\s+|."
)


@cache
def _sign(name: str) -> str:
    """A run of signs. One that is not in the tables is an error, which names it."""
    return " ".join(_one(found) for found in _TOKEN.finditer(name) if found[0].strip() not in ("", "{}"))


def _one(found: re.Match[str]) -> str:
    if (word := found["upright"]) is not None:
        return _upright(word.replace(r"\_", "_"))
    if (accent := found["accent"]) is not None:
        return _ACCENTS[accent] % _sign(found["under"])
    token = found[0]
    return token if token.isascii() and (token.isalpha() or token[0].isdigit()) else _SIGNS[token]


def _upright(word: str) -> str:
    return f"upright({word})" if len(word) == 1 and word.isalpha() else typst_string(word)


def _fence(parts: Sequence[str], value: str) -> str:
    if value in _PAIRS:
        return _PAIRS[value] % parts[0]
    left, right = ("zws" if end == "." else _sign(end) for end in value.split())
    return f"lr({left} {parts[0]} {right})"


def _lines(parts: Sequence[str]) -> list[str]:
    """Lines, of which a later one begins with a sign between two operands, not with that of a number."""
    return [f'"" {part}' if place and part[:1] in ("+", "-") else part for place, part in enumerate(parts)]


def _run(parts: Sequence[str], sep: str) -> str:
    """Brackets that Typst matches are written as such; between all else stands a blank."""
    if len(parts) == 3 and (parts[0], parts[2]) in (("paren.l", "paren.r"), ("bracket.l", "bracket.r")) and not sep:
        return f"({parts[1]})" if parts[0] == "paren.l" else f"[{parts[1]}]"
    if not parts:
        return "zws"  # what has nothing in it takes scripts and is an argument all the same
    between = _sign(sep)
    return (f" {between} " if between else " " if sep else "").join(parts)


def _grid(parts: Sequence[str], name: str) -> str:
    if name == "cases":
        return f"cases({', '.join(parts)})"
    if name == "aligned":
        return f"rows({', '.join(parts)})"
    return f"mat(delim: {_GRIDS[name]}, {'; '.join(parts)})"


TYPST = Dialect(
    {
        "sign": lambda _, name: _sign(name),
        "words": lambda _, text: typst_string(text.strip()),
        "upright": lambda _, text: _upright(text),
        "run": _run,
        "group": lambda parts, _: f'class("normal", {parts[0]})',
        "below": lambda parts, _: f"{parts[0]}_({parts[1]})",
        "above": lambda parts, _: f"{parts[0]}^({parts[1]})",
        "fraction": lambda parts, kind: f"{'binom' if kind == 'binom' else 'frac'}({parts[0]}, {parts[1]})",
        "root": lambda parts, _: f"sqrt({parts[0]})",
        "accent": lambda parts, name: _ACCENTS[name] % parts[0],
        "fence": _fence,
        "lines": lambda parts, _: f"rows({', '.join(_lines(parts))})",
        "hung": lambda parts, _: f"{parts[0]} & " + " \\\n& ".join(_lines(parts[1:])),
        "cells": lambda parts, name: (", " if name in _GRIDS else " & ").join(parts),
        "grid": _grid,
    }
)

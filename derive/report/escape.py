"""Plain text made safe for each output format. User text goes through here and nowhere else."""

from __future__ import annotations

import re
import unicodedata
from html import escape as escaped

from derive.report.notation import GREEK

# Categories of characters that do not show or that reorder what stands around them.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def visible(text: str) -> str:
    """The text with what cannot be seen written as `[U+202E]`, and runs of white space as one blank."""
    text = re.sub(r"[\t\n\r\f\v ]+", " ", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _UNSEEN else c for c in text)


def visible_lines(text: str) -> list[str]:
    """The lines of the text, each with what cannot be seen made visible and its blanks kept."""
    return [
        "".join(f"[U+{ord(c):04X}]" if unicodedata.category(c) in _UNSEEN else c for c in line.expandtabs(4))
        for line in re.split(r"\r\n|\r|\n", text)
    ]


# -- Markdown ---------------------------------------------------------------------------------------------------------

_MD_SPECIAL = re.compile(r"[\\`*_\[\]<>|$~&{}]|:(?=[\w+-]+:)|@(?=\w)|!(?=\[|$)")
_MD_START = re.compile(r"^([#+\-=:]|\d+(?=[.)](?:\s|$)))")


def markdown(text: str) -> str:
    """The text as Markdown that shows it, on one line of its own."""
    return markdown_start(markdown_inside(text))


def markdown_inside(text: str) -> str:
    """The text as Markdown that shows it, where something stands before it on its line."""
    return _MD_SPECIAL.sub(r"\\\g<0>", visible(text))


def markdown_start(line: str) -> str:
    """The line of Markdown, with what would make a heading, list or rule of it escaped."""
    start = _MD_START.match(line)
    if start is None:
        return line
    head, rest = start[1], line[start.end() :]
    return f"{head}\\{rest}" if head.isdigit() else f"\\{head}{rest}"


def markdown_math(latex: str) -> str:
    """A displayed formula. `latex` is trusted: it comes from a printer or from the grammar of formulas."""
    return f"```math\n{latex}\n```"


def markdown_code(text: str) -> str:
    """The text as a code span."""
    text = visible(text)
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def markdown_fence(text: str, language: str = "") -> str:
    """The text as a block of code."""
    text = "\n".join(visible_lines(text.rstrip("\n")))
    ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{language}\n{text}\n{ticks}"


def mermaid(text: str) -> str:
    """The text as a label within quotes of a mermaid drawing."""
    return "".join(c if c.isalnum() or c in " ._" else f"#{ord(c)};" for c in visible(text))


# -- HTML -------------------------------------------------------------------------------------------------------------


def html(text: str) -> str:
    """The text as HTML that shows it, in an element or between the quotes of an attribute."""
    return escaped(visible(text))


def html_code(text: str) -> str:
    """The text as code within a line."""
    return f"<code>{html(text)}</code>"


def html_listing(text: str) -> str:
    """The text as a block of code."""
    lines = "\n".join(visible_lines(text.rstrip("\n")))
    return f"<pre><code>{escaped(lines)}</code></pre>"


# -- LaTeX ------------------------------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "\u2013": "--",
    "\u2014": "---",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": r"\ldots{}",
    "\u00a0": "~",
    "\u2212": r"\ensuremath{-}",
}
# Signs of mathematics that people type in prose.
SIGNS = {
    "≤": r"\leq",
    "≥": r"\geq",
    "≠": r"\neq",
    "≈": r"\approx",
    "≡": r"\equiv",
    "∞": r"\infty",
    "∑": r"\sum",
    "∏": r"\prod",
    "∂": r"\partial",
    "∇": r"\nabla",
    "∈": r"\in",
    "∉": r"\notin",
    "∀": r"\forall",
    "∃": r"\exists",
    "√": r"\surd",
    "→": r"\to",
    "←": r"\leftarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto",
    "⋅": r"\cdot",
    "·": r"\cdot",
    "×": r"\times",
    "÷": r"\div",
    "±": r"\pm",
    "∘": r"\circ",
    "⊤": r"\top",
    "⊥": r"\perp",
    "‖": r"\Vert",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "∼": r"\sim",
    "∝": r"\propto",
    "∧": r"\wedge",
    "∨": r"\vee",
    "¬": r"\neg",
    "⊙": r"\odot",
    "⊗": r"\otimes",
    "ℓ": r"\ell",
}
# Letters outside ASCII that the font encoding of the reports has.
_T1 = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
                "ĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž§£¡¿")  # fmt: skip
_TYPEWRITER = {"'": r"\textquotesingle{}", "-": "-{}", ",": ",{}", "?": "?{}", "!": "!{}"}
_CHINESE_STOPS = frozenset("，。；：、）")  # after which a line may be broken before what is not Chinese
_BREAK_AFTER = 24  # characters without a blank or a sign that joins words, after which a line may be broken


def tex(text: str) -> str:
    """The text as LaTeX that shows it, on one line."""
    return _tex(visible(text), {})


def tex_code(text: str, breaks: bool = True) -> str:
    """The text in typewriter type, its blanks kept; `breaks` allows a new line at them and within what is long."""
    blank = "{} " if breaks else "~"
    return rf"\texttt{{{_tex(text, _TYPEWRITER | {' ': blank}, breaks)}}}" if text else ""


def _tex(text: str, more: dict[str, str], breaks: bool = True) -> str:
    parts: list[str] = []
    run = 0
    for place, character in enumerate(text):
        run = 0 if character in " _/" else run + 1
        parts.append(more.get(character) or _tex_character(character))
        if character in _CHINESE_STOPS and not is_chinese(text[place + 1 : place + 2] or "x"):
            parts.append(r"\allowbreak{}")
        if breaks and (character in "_/" or (run and run % _BREAK_AFTER == 0)):
            parts.append(r"\allowbreak{}")
    # No ligature may join what was written apart.
    return re.sub(r"([-,'!?])(?=[-,'`])", r"\1{}", "".join(parts)) if not more else "".join(parts)


def is_chinese(character: str) -> bool:
    """Whether it is a Chinese character, or a sign written between them, that the font of Chinese reports has."""
    if not (
        "\u3001" <= character <= "\u3011" or "\u4e00" <= character <= "\u9fa5" or "\uff01" <= character <= "\uff5e"
    ):
        return False
    try:
        return len(character.encode("gb2312")) == 2
    except UnicodeEncodeError:
        return False


# -- Typst ------------------------------------------------------------------------------------------------------------


def typst(text: str) -> str:
    """The text as Typst that shows it, on one line: a string, in which nothing is markup."""
    return f"#{typst_string(visible(text))};" if text else ""


def typst_string(text: str) -> str:
    """The text as a string of Typst, in mathematics or in code. What the fonts of reports lack is named."""
    shown = (c if c == "\n" or has_type(c) else f"[U+{ord(c):04X}]" for c in text)
    return '"' + "".join(f"\\{c}" if c in '\\"' else c for c in shown) + '"'


def typst_code(text: str) -> str:
    """The text in typewriter type within a line."""
    return f"#raw({typst_string(visible(text))});" if text else ""


def typst_listing(text: str) -> str:
    """The text as a block of code."""
    lines = "\n".join(visible_lines(text.rstrip("\n")))
    return f"#raw(block: true, {typst_string(lines)});"


def has_type(character: str) -> bool:
    """Whether the fonts of printed reports have the character."""
    return not _tex_character(character).startswith(r"\texttt{[U+")


def _tex_character(character: str) -> str:
    if character in _TEX:
        return _TEX[character]
    if (character.isascii() and character.isprintable()) or character in _T1:
        return character
    if character in GREEK:
        return rf"\ensuremath{{\{GREEK[character]}}}"
    if character in SIGNS:
        return rf"\ensuremath{{{SIGNS[character]}}}"
    if is_chinese(character):
        return character
    return rf"\texttt{{[U+{ord(character):04X}]}}"

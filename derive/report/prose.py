"""The prose of docstrings: a subset of Markdown, read into blocks and written in each format, everything escaped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from derive.report import escape
from derive.report.formula import safe_formula
from derive.report.typeset import LATEX, Math
from derive.report.typst import TYPST

PLAIN = 4  # how deep nothing is emphasised or linked any more
_WINDOW = 2500  # characters in which a mark must be closed


@dataclass(frozen=True)
class Words:
    text: str


@dataclass(frozen=True)
class Code:
    text: str


@dataclass(frozen=True)
class Formula:
    """Mathematics that passed the grammar of formulas."""

    math: Math

    @property
    def latex(self) -> str:
        return LATEX.write(self.math)


@dataclass(frozen=True)
class Marked:
    """Emphasis (`strong` for two stars) or, with an address, a link."""

    parts: tuple[Inline, ...]
    strong: bool = False
    address: str | None = None


Inline = Words | Code | Formula | Marked


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, item of a list (bullet or number), displayed formula or block of code."""

    kind: str
    parts: tuple[Inline, ...] = ()
    text: str = ""


_ITEM = re.compile(r"(?:[-*+]|(\d{1,9})[.)])\s+")
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\-]+(?::\d+)?(?:/[A-Za-z0-9\-._~/?=&%#+,;:@!]*)?")
_CHINESE_BREAK = re.compile(
    r"(?<=[\u3001-\u9fff\uff01-\uff5e])\n(?=[\u3001-\u9fff\uff01-\uff5e])|(?<=[，。；：、）])\n"
)  # no blank
_MARKS = re.compile(r"[`$*\\\[]")


def blocks(text: str) -> tuple[Block, ...]:
    """The blocks of a docstring."""
    found: list[Block] = []
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    place = 0
    while place < len(lines):
        line = lines[place].strip()
        if not line:
            place += 1
        elif line.startswith("```"):
            end = next((n for n in range(place + 1, len(lines)) if lines[n].strip() == "```"), len(lines))
            found.append(Block("code", text="\n".join(lines[place + 1 : end])))
            place = end + 1
        elif line.startswith("$$"):
            end = next((n for n in range(place, len(lines)) if _ends_formula(lines[n].strip(), n == place)), place)
            found.append(_paragraph([part.strip() for part in lines[place : end + 1]]))
            place = end + 1
        else:
            end = place + 1
            while end < len(lines) and lines[end].strip() and not _begins_block(lines[end].strip()):
                end += 1
            found.append(_paragraph([part.strip() for part in lines[place:end]]))
            place = end
    return tuple(found)


def _begins_block(line: str) -> bool:
    return bool(_ITEM.match(line)) or line.startswith(("```", "# ", "## ", "### ", "$$"))


def _ends_formula(line: str, first: bool) -> bool:
    return line.endswith("$$") and (len(line) > 3 or not first)


def _paragraph(lines: Sequence[str]) -> Block:
    text = _CHINESE_BREAK.sub("", "\n".join(lines)).replace("\n", " ")
    if heading := re.fullmatch(r"#{1,6} +(.*?)[ #]*", text):
        return Block("heading", inlines(heading[1]))
    if text.startswith("$$") and text.endswith("$$") and (math := safe_formula(text[2:-2])):
        return Block("formula", (Formula(math),))
    if item := _ITEM.match(text):
        return Block("number" if item[1] else "bullet", inlines(text[item.end() :]), item[1] or "")
    return Block("paragraph", inlines(text))


def inlines(text: str, deep: int = 0) -> tuple[Inline, ...]:
    """The parts of a line of prose."""
    parts: list[Inline] = []
    plain: list[str] = []
    place = 0
    while place < len(text):
        mark = _MARKS.search(text, place)
        if mark is None:
            plain.append(text[place:])
            break
        plain.append(text[place : mark.start()])
        found = _INLINE[mark[0]](text, mark.start(), deep)
        if found is None:
            plain.append(mark[0])
            place = mark.end()
            continue
        part, place = found
        if isinstance(part, str):
            plain.append(part)
            continue
        if any(plain):
            parts.append(Words("".join(plain)))
        plain = []
        parts.append(part)
    if any(plain):
        parts.append(Words("".join(plain)))
    return tuple(parts)


_Found = tuple["Inline | str", int] | None


def _escaped(text: str, place: int, deep: int) -> _Found:
    following = text[place + 1 : place + 2]
    return (following, place + 2) if following and following in r"\`*_{}[]()#+-.!|$~<>&" else None


def _code(text: str, place: int, deep: int) -> _Found:
    ticks = re.compile("`+").match(text, place)
    assert ticks is not None
    end = text.find(ticks[0], ticks.end(), ticks.end() + _WINDOW)
    inside = text[ticks.end() : end].strip()
    return (Code(inside), end + len(ticks[0])) if end > 0 and inside else None


def _math(text: str, place: int, deep: int) -> _Found:
    """A formula between dollar signs, as code where it is not in the grammar."""
    fence = "$$" if text.startswith("$$", place) else "$"
    start = place + len(fence)
    end = text.find(fence, start, start + _WINDOW)
    inside = text[start:end]
    after = text[end + len(fence) : end + len(fence) + 1]
    if end < 0 or not inside.strip() or inside[0].isspace() or inside[-1].isspace() or after.isdigit():
        return None
    math = safe_formula(inside)
    return (Formula(math) if math else Code(f"{fence}{inside}{fence}")), end + len(fence)


def _emphasis(text: str, place: int, deep: int) -> _Found:
    mark = "**" if text.startswith("**", place) else "*"
    start = place + len(mark)
    end = text.find(mark, start, start + _WINDOW)
    inside = text[start:end]
    if end < 0 or deep >= PLAIN or not inside or inside[0].isspace() or inside[-1].isspace():
        return None
    return Marked(inlines(inside, deep + 1), strong=mark == "**"), end + len(mark)


def _link(text: str, place: int, deep: int) -> _Found:
    middle = text.find("](", place, place + _WINDOW)
    end = text.find(")", middle, middle + _WINDOW) if middle > 0 else -1
    if end < 0 or deep >= PLAIN or "[" in text[place + 1 : middle]:
        return None
    address = text[middle + 2 : end]
    if not _ADDRESS.fullmatch(address):
        return None
    return Marked(inlines(text[place + 1 : middle], deep + PLAIN), address=address), end + 1


_INLINE: dict[str, Callable[[str, int, int], _Found]] = {
    "\\": _escaped,
    "`": _code,
    "$": _math,
    "*": _emphasis,
    "[": _link,
}

# -- writing ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Writer:
    """How a format writes the parts of a line: words, code, formulas, links by address and what they show, stress."""

    words: Callable[[str], str]
    code: Callable[[str], str]
    formula: Callable[[Formula], str]
    link: Callable[[str, str], str]
    strong: str
    emph: str

    def line(self, parts: Sequence[Inline]) -> str:
        """The parts on one line."""
        return "".join(map(self._part, parts))

    def _part(self, part: Inline) -> str:
        if isinstance(part, Words):
            return self.words(part.text)
        if isinstance(part, Code):
            return self.code(part.text)
        if isinstance(part, Formula):
            return self.formula(part)
        inner = self.line(part.parts)
        if part.address is not None:
            return self.link(part.address, inner)
        return (self.strong if part.strong else self.emph) % inner


def _tex_link(address: str, inner: str) -> str:
    address = re.sub(r"[%#&_]", r"\\\g<0>", address).replace("~", r"\string~")
    return rf"\href{{{address}}}{{{inner}}}"


_MARKDOWN = _Writer(
    words=escape.markdown_inside,
    code=escape.markdown_code,
    formula=lambda part: f"$`{part.latex}`$",
    link=lambda address, inner: f"[{inner}]({address})",
    strong="**%s**",
    emph="*%s*",
)
_TEX = _Writer(
    words=escape.tex,
    code=lambda text: escape.tex_code(escape.visible(text)),
    formula=lambda part: rf"\({part.latex}\)",
    link=_tex_link,
    strong=r"\textbf{%s}",
    emph=r"\emph{%s}",
)
_TYPST = _Writer(
    words=escape.typst,
    code=escape.typst_code,
    formula=lambda part: f"${TYPST.write(part.math)}$",
    link=lambda address, inner: f"#link({escape.typst_string(address)})[{inner}]",
    strong="#strong[%s]",
    emph="#emph[%s]",
)
markdown_line, tex_line, typst_line = _MARKDOWN.line, _TEX.line, _TYPST.line

# What writes a formula on a page, given its LaTeX and whether it is displayed.
_Math = Callable[[str, bool], str]


def html_line(parts: Sequence[Inline], math: _Math) -> str:
    """The parts as HTML within a line."""
    return _Writer(
        words=escape.html,
        code=escape.html_code,
        formula=lambda part: math(part.latex, False),
        link=lambda address, inner: f'<a href="{escape.html(address)}" rel="noreferrer">{inner}</a>',
        strong="<strong>%s</strong>",
        emph="<em>%s</em>",
    ).line(parts)


def markdown(text: str) -> str:
    """A docstring as Markdown."""
    written = ""
    before = ""
    for block in blocks(text):
        same_list = block.kind == before and before in ("bullet", "number")
        written += ("\n" if same_list else "\n\n") * bool(written) + _markdown_block(block)
        before = block.kind
    return written


def _markdown_block(block: Block) -> str:
    if block.kind == "code":
        return escape.markdown_fence(block.text)
    if block.kind == "formula":
        return escape.markdown_math(block.parts[0].latex)  # type: ignore[union-attr]
    line = escape.markdown_start(markdown_line(block.parts))
    if block.kind == "heading":
        return f"**{line}**" if line else ""
    return {"bullet": "- ", "number": f"{block.text}. "}.get(block.kind, "") + line


def tex(text: str) -> str:
    """A docstring as LaTeX."""
    return "\n\n".join(_tex_block(block) for block in blocks(text))


def _tex_block(block: Block) -> str:
    if block.kind == "code":
        return tex_listing(block.text)
    if block.kind == "formula":
        return rf"\[ {tex_line(block.parts)[2:-2]} \]"
    line = tex_line(block.parts)
    if block.kind == "heading":
        return rf"\textbf{{{line}}}"
    sign = {"bullet": r"\textbullet", "number": f"{block.text}."}.get(block.kind)
    return rf"\hangindent=1.5em\noindent\makebox[1.5em][l]{{{sign}}}{line}" if sign else line


_LINE = 120  # characters of code on a line of a page


def tex_listing(text: str) -> str:
    """A block of code: each line escaped by itself, long ones continued on the next."""
    lines: list[str] = []
    for line in escape.visible_lines(text.rstrip("\n")):
        pieces = [line[start : start + _LINE] for start in range(0, max(len(line), 1), _LINE)]
        lines += [escape.tex_code(piece, breaks=False) or r"\strut" for piece in pieces]
    return "\\begin{listing}\n" + "\\\\\n".join(lines) + "\n\\end{listing}"


def typst(text: str) -> str:
    """A docstring as Typst."""
    return "\n\n".join(_typst_block(block) for block in blocks(text))


def _typst_block(block: Block) -> str:
    if block.kind == "code":
        return escape.typst_listing(block.text)
    line = typst_line(block.parts)
    if block.kind == "formula":
        return f"#shown[$ {line[1:-1]} $]"
    if block.kind == "heading":
        return f"#strong[{line}]"
    if block.kind == "number":
        return f"#enum.item({int(block.text)})[{line}]"
    return f"#list.item[{line}]" if block.kind == "bullet" else line


_HTML_LISTS = {"bullet": "ul", "number": "ol"}


def html(text: str, math: _Math) -> str:
    """A docstring as HTML."""
    written: list[str] = []
    open_list = ""
    for block in blocks(text):
        wanted = _HTML_LISTS.get(block.kind, "")
        if wanted != open_list:
            written += [f"</{open_list}>"] * bool(open_list) + [f"<{wanted}>"] * bool(wanted)
            open_list = wanted
        written.append(_html_block(block, math))
    written += [f"</{open_list}>"] * bool(open_list)
    return "\n".join(written)


def _html_block(block: Block, math: _Math) -> str:
    if block.kind == "code":
        return escape.html_listing(block.text)
    if block.kind == "formula":
        return f"<p>{math(block.parts[0].latex, True)}</p>"  # type: ignore[union-attr]
    line = html_line(block.parts, math)
    if block.kind == "heading":
        return f"<p><strong>{line}</strong></p>" if line else ""
    if block.kind == "number":
        return f'<li value="{block.text}">{line}</li>'
    return f"<li>{line}</li>" if block.kind == "bullet" else f"<p>{line}</p>"

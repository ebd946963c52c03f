"""JavaScript as text: expressions with their precedence, comments, lines of limited width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from derive.codegen.heading import printable

# Words of the language, and the globals that the code uses: a variable of such a name has an underscore behind it.
RESERVED = frozenset(
    "abstract arguments async await boolean break byte case catch char class const continue debugger default delete do "
    "double else enum eval export extends false final finally float for function goto if implements import in "
    "instanceof int interface let long native new null package private protected public return short static super "
    "switch synchronized this throw throws transient true try typeof undefined var void volatile while with yield "
    "Array Float64Array Infinity Map Math NaN Number Object RangeError of".split()
)
WIDTH = 100
# How tightly a text binds, loosest first.
CHOICE, EITHER, BOTH, EQUAL, COMPARE, ADD, MUL, UNARY, POWER, ATOM = range(10)
BREAKS = frozenset({",", "=>", "=", "+", "-", "*", "/", "&&", "||", "?", ":"})  # a line may end with these


@dataclass(frozen=True)
class Text:
    """A JavaScript expression and how tightly it binds."""

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"


def commented(lines: list[str]) -> list[str]:
    """A comment with exactly this text, in which nothing ends the comment, or the script of a page."""
    safe = (printable(line).replace("*/", "*\\/").replace("</", "<\\/").replace("<!--", "<\\!--") for line in lines)
    return ["/**", *(f" * {line}".rstrip() for line in safe), " */"]


def wrapped(line: str, indent: str = "  ", further: str = "    ") -> list[str]:
    """The statement indented, in lines of at most the width where it has places to break, the outermost first.

    Lines after the first are indented `further`.
    """
    line = indent + line
    places = [p for p in _places(line) if p[1] <= WIDTH]
    if len(line) <= WIDTH or not places:
        return [line]
    depth = min(d for d, _ in places)
    place = max(p for d, p in places if d == depth)
    return [line[:place], *wrapped(line[place + 1 :], indent + further, "")]


def _places(line: str) -> Iterator[tuple[int, int]]:
    """How deep in brackets and where a line may end."""
    depth, quoted = 0, False
    for p, c in enumerate(line):
        quoted ^= c == '"'
        depth += (c in "([{") - (c in ")]}")
        if c == " " and not quoted and line[:p].strip() and _ends(line[:p]):  # last of all after the name
            yield depth + 2 * line[:p].endswith("="), p


def _ends(line: str) -> bool:
    return line.endswith(",") or line.rsplit(" ", 1)[-1] in BREAKS

"""What is said of a file that cannot be accepted: what, where, and what would be right there."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path

LONGEST = 600  # characters of a message
WINDOW = 100  # columns of a source line that are shown around the place

# Characters that reorder or hide what a reader sees: bidirectional controls, separators, a stray byte order mark.
UNSEEN = frozenset("\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


@dataclass(frozen=True)
class Place:
    """Where in a text: line and column from 1 (0: the file as a whole), and how many characters are meant."""

    line: int = 0
    column: int = 0
    width: int = 1


def printable(text: str) -> str:
    """The text with every character that could drive a terminal or reorder a line shown as U+FFFD, tabs as a blank."""
    return "".join(" " if c == "\t" else "\ufffd" if is_control(c) else c for c in text)


def shortened(text: str) -> str:
    """The text, without its middle where a name of absurd length would fill the screen."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def is_control(character: str) -> bool:
    """Whether the character is a control, a surrogate, or changes the order or the seams of what is shown."""
    return character in UNSEEN or unicodedata.category(character) in ("Cc", "Cs")


def display_width(text: str) -> int:
    """How many terminal columns the text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class LanguageError(Exception):
    """A text is not a theory. `line` and `column` count from 1; both are 0 where the file as a whole is meant.

    `hint` says what would be right there, or is None. `path` and `source` (the text) are known where the text was read
    from a file; `render()` gives all of it for people.
    """

    def __init__(
        self,
        message: str,
        line: int = 0,
        column: int = 0,
        hint: str | None = None,
        *,
        width: int = 1,
        path: Path | str | None = None,
        source: str | None = None,
    ):
        self.message, self.line, self.column = shortened(printable(message)), line, column
        self.hint = None if hint is None else shortened(printable(hint))
        self.width, self.path, self.source = max(width, 1), path, source
        super().__init__(self.message)

    def __str__(self) -> str:
        """`file:line:column: message`, on one line."""
        return f"{self.where}: {self.message}" if self.where else self.message

    @property
    def where(self) -> str:
        """`file:line:column`, as far as each is known."""
        file = printable(str(self.path)) if self.path is not None else "theory" if self.line else ""
        return f"{file}:{self.line}:{self.column}" if self.line else file

    def render(self) -> str:
        """File, line and column with the message; the source line with a caret under the place; the hint."""
        parts = [str(self)]
        lines = (self.source or "").split("\n")
        if 0 < self.line <= len(lines):
            parts += _excerpt(lines[self.line - 1].rstrip("\r"), self.column, self.width)
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


def _excerpt(line: str, column: int, width: int) -> list[str]:
    """The source line, cut to a window around the column, and the line of carets beneath."""
    at = max(column - 1, 0)
    first = max(0, at - WINDOW // 2) if len(line) > WINDOW else 0
    shown = printable(line[first : first + WINDOW])
    before, meant = shown[: at - first], shown[at - first : at - first + width]
    left = "…" if first else ""
    right = "…" if first + WINDOW < len(line) else ""
    carets = " " * display_width(left + before) + "^" * max(display_width(meant), 1)
    return [f"  {left}{shown}{right}", f"  {carets}"]

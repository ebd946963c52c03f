"""Prose in several languages: the text as it is written first, then parts that begin with `[zh]`."""

from __future__ import annotations

import re
from collections.abc import Mapping

CODES = ("zh",)
_PART = re.compile(rf"^[ \t]*\[({'|'.join(CODES)})\](?:[ \t]+|$)", re.MULTILINE)
_BREAK = re.compile(rf"\s+\[({'|'.join(CODES)})\]\s+")


def parted(text: str) -> tuple[str, dict[str, str]]:
    """A docstring without its translations, and those by language. A part begins with a line that starts `[zh]`."""
    return _parts(_PART.split(text))


def parted_line(text: str) -> tuple[str, dict[str, str]]:
    """The same of a caption, where a part may begin anywhere but at the start."""
    return _parts(_BREAK.split(text))


def _parts(pieces: list[str]) -> tuple[str, dict[str, str]]:
    first, *rest = pieces
    found: dict[str, str] = {}
    for code, part in zip(rest[::2], rest[1::2], strict=True):
        found.setdefault(code, part.strip())
    return (first.strip() if rest else first), found


def together(text: str, translations: Mapping[str, str], between: str = "\n\n") -> str:
    """The text with its translations behind it, as `parted` and `parted_line` read it."""
    return between.join([text, *(f"[{code}] {part}" for code, part in translations.items())])


def titled(text: str) -> tuple[str, str]:
    """The title of a file, which is its docstring's first line, and the rest."""
    title, _, rest = text.partition("\n")
    return title, rest.strip("\n")

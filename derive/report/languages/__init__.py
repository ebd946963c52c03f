"""The fixed words of reports: a table a language, and how a message is made of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup

LANGUAGES = ("en", "zh")
_SLOT = re.compile(r"\{(\w+)\}")
# The sections of what the program says by itself in English: each text there is found by what it says.
_SAID = ("rule", "procedure", "phrase", "coq")

Table = dict[str, dict[str, str | list[str]]]


@dataclass(frozen=True)
class Language:
    """The words of one language. `escape` makes plain text safe for the format that is written."""

    code: str
    table: Table
    escape: Callable[[str], Markup] = field(default=Markup.escape)

    def say(self, key: str, number: int = 1, /, **parts: Any) -> Markup:
        """The message with its parts filled in. `number` chooses between the forms for one and for several."""
        section, _, name = key.partition(".")
        text = self.table[section][name]
        if isinstance(text, list):
            text = text[0 if number == 1 else -1]
        pieces = _SLOT.split(text)  # what stands between the slots, and their names at the odd places
        return Markup("").join(
            self._filled(parts[piece]) if place % 2 else self.escape(piece) for place, piece in enumerate(pieces)
        )

    def _filled(self, part: Any) -> Markup:
        return part if isinstance(part, Markup) else self.escape(str(part))

    def count(self, number: int, key: str, **parts: Any) -> Markup:
        """`1 claim`, `2 claims`."""
        return self.say(f"count.{key}", number, n=number, **parts)

    def listed(self, parts: Sequence[Any]) -> Markup:
        """`a, b and c`."""
        text = Markup("")
        for place, part in enumerate(parts):
            before = "" if not place else "list.and" if place == len(parts) - 1 else "list.comma"
            text += (self.say(before) if before else Markup("")) + self._filled(part)
        return text

    def joined(self, parts: Sequence[Any], key: str = "list.comma") -> Markup:
        """The parts with the same sign between all of them."""
        return self.say(key).join(self._filled(part) for part in parts)

    def told(self, text: str) -> str:
        """What the program said in English, in this language; what is not in the tables stays as it is."""
        return text if self.code == "en" else _translated(text, self.code)


@cache
def table(code: str) -> Table:
    """The words of a language."""
    found: Table = tomllib.loads((files(__name__) / f"{code}.toml").read_text(encoding="utf-8"))
    return found


def language(code: str, escape: Callable[[str], Markup] = Markup.escape) -> Language:
    """The language of that code."""
    return Language(code, table(code), escape)


def within_formulas(code: str) -> dict[str, str]:
    """The words within formulas, by what they are in English."""
    pairs = zip(table("en")["formula"].values(), table(code)["formula"].values(), strict=True)
    return {str(english): str(own) for english, own in pairs}


def file_name(stem: str, suffix: str, code: str = "en") -> str:
    """The name of a report's file: `softmax.html`, and `softmax.zh.html` in Chinese."""
    return f"{stem}.{suffix}" if code == "en" else f"{stem}.{code}.{suffix}"


# -- what the program says by itself ----------------------------------------------------------------------------------


@cache
def _texts() -> dict[str, tuple[str, str]]:
    """Where each whole text stands in the tables."""
    english = table("en")
    return {
        text: (section, name)
        for section in _SAID
        for name, text in english[section].items()
        if isinstance(text, str) and not _SLOT.search(text)
    }


@cache
def _patterns() -> list[tuple[re.Pattern[str], tuple[str, str]]]:
    """The texts with slots as patterns, those with the most words of their own first."""
    english = table("en")
    found = [
        (text, (section, name))
        for section in _SAID
        for name, text in english[section].items()
        if isinstance(text, str) and _SLOT.search(text)
    ]
    found.sort(key=lambda pair: -len(_SLOT.sub("", pair[0])))
    return [(re.compile("".join(_pattern(text)), re.DOTALL), place) for text, place in found]


def _pattern(text: str) -> Iterator[str]:
    for place, piece in enumerate(_SLOT.split(text)):
        yield rf"(?P<{piece}>.+?)" if place % 2 else re.escape(piece)


def _translated(text: str, code: str) -> str:
    words = table(code)
    if text in _texts():
        section, name = _texts()[text]
        return str(words[section][name])
    parts = text.split("; ")
    said = [_translated(part, code) for part in parts] if len(parts) > 1 else []
    if said and all(own != part for own, part in zip(said, parts, strict=True)):
        return str(words["list"]["semicolon"]).join(said)
    for pattern, (section, name) in _patterns():
        if found := pattern.fullmatch(text):
            slots = {slot: _translated(part, code) for slot, part in found.groupdict().items()}
            return _filled(str(words[section][name]), slots)
    return text


def _filled(text: str, parts: dict[str, str]) -> str:
    return _SLOT.sub(lambda slot: parts[slot[1]], text)

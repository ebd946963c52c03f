"""The fixed words of reports: a table a language, and how a message is made of it.

What the program says by itself, in its own places and in English (why a claim is not proved, why a condition is met),
is put into another language by what it says: `messages.CODE.toml` has a row for each such text.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

LANGUAGES = ("en", "zh")
_TAGS = {"zh": "zh-Hans"}  # what a language is called in HTML, where that is not its code
_SLOT = re.compile(r"\{(\w+)\}")
# What is put into a message of the program: a name, number or formula, or with a star another message.
_PART = re.compile(r"\{(\*?)(\w+)\}")
_NAMED = ("rule", "procedure")  # the sections whose English texts the program says as well
_CHAIN = "chain_rule_"
_MESSAGE = ".{1,400}"  # as much as may be of a message within another

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

    def opening(self, text: str) -> str:
        """The text as the beginning of a sentence. Chinese has no capitals; a name at its beginning keeps its own."""
        return text[:1].upper() + text[1:] if self.code == "en" else text

    def joined(self, parts: Sequence[Any], key: str = "list.comma") -> Markup:
        """The parts with the same sign between all of them."""
        return self.say(key).join(self._filled(part) for part in parts)

    def told(self, text: str) -> str:
        """What the program said in English, in this language; what is not in the tables stays as it is."""
        if self.code == "en":
            return text
        own = _translated(text, self.code)
        return text if own is None else own


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


@dataclass(frozen=True)
class Translation:
    """The same report in another language: what that is called in HTML and by itself, and where the file lies."""

    tag: str
    name: str
    address: Markup


def translations(stem: str, suffix: str, codes: Sequence[str]) -> tuple[Translation, ...]:
    """The files of a report in these languages, which lie beside each other."""
    return tuple(
        Translation(tag(code), str(table(code)["page"]["language"]), Markup(quote(file_name(stem, suffix, code))))
        for code in codes
    )


def tag(code: str) -> str:
    """What a language is called in HTML."""
    return _TAGS.get(code, code)


def rule_words(rule: str) -> str:
    """A rule's name in English words."""
    names = table("en")["rule"]
    if rule in names:
        return str(names[rule])
    if rule.startswith(_CHAIN):
        return f"chain rule ({rule.removeprefix(_CHAIN)})"
    return rule.replace("_", " ")


# -- what the program says by itself ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A message of the program with places, and how it is said in another language."""

    pieces: tuple[str, ...]  # what stands between the places
    pattern: re.Pattern[str]
    parts: tuple[tuple[str, bool], ...]  # the names of the places, and whether another message stands there
    own: str

    def told(self, text: str, code: str) -> str | None:
        """The text in the other language; None where it is not this message, or holds an unknown one."""
        found = self.pattern.fullmatch(text) if all(piece in text for piece in self.pieces) else None
        if found is None:
            return None
        said: dict[str, str] = {}
        for name, message in self.parts:
            part = _translated(found[name], code) if message else found[name]
            if part is None:
                return None
            said[name] = part
        return _PART.sub(lambda place: said[place[2]], self.own)


@cache
def messages(code: str) -> dict[str, str]:
    """What the program says by itself, as it says it, with how the language says that."""
    text = (files(__name__) / f"messages.{code}.toml").read_text(encoding="utf-8")
    sections: list[dict[str, str]] = [*tomllib.loads(text).values(), *(dict(_pairs(name, code)) for name in _NAMED)]
    return {english: own for section in sections for english, own in section.items()}


def _pairs(section: str, code: str) -> Iterator[tuple[str, str]]:
    for name, english in table("en")[section].items():
        yield str(english), str(table(code)[section][name])


@cache
def _rows(code: str) -> tuple[Row, ...]:
    """The messages with places: first those made of messages alone, then those with the most words of their own."""
    rows = [(_row(english, own), english) for english, own in messages(code).items() if _PART.search(english)]
    rows.sort(key=lambda pair: (not all(message for _, message in pair[0].parts), -len(_PART.sub("", pair[1]))))
    return tuple(row for row, _ in rows)


def _row(english: str, own: str) -> Row:
    split = _PART.split(english)  # what stands between the places, and at each its star and its name
    pieces, stars, names = split[::3], split[1::3], split[2::3]
    pattern = re.escape(pieces[0])
    for star, name, piece in zip(stars, names, pieces[1:], strict=True):
        pattern += f"(?P<{name}>{_MESSAGE if star else '.+?'}){re.escape(piece)}"
    parts = tuple((name, bool(star)) for name, star in zip(names, stars, strict=True))
    return Row(tuple(filter(None, pieces)), re.compile(pattern, re.DOTALL), parts, own)


def _translated(text: str, code: str) -> str | None:
    """What the program said in English, in the language; None for what is no message of it."""
    if text in messages(code):
        return messages(code)[text]
    if not any(c.isalpha() for c in text):
        return text
    if text.isidentifier() and rule_words(text) != text:  # a rule, by what the kernel calls it
        return _translated(rule_words(text), code)
    if "; " in text and (said := _all_translated(text.split("; "), code)):
        return str(table(code)["list"]["semicolon"]).join(said)
    return next((own for row in _rows(code) if (own := row.told(text, code)) is not None), None)


def _all_translated(texts: Sequence[str], code: str) -> list[str]:
    """The texts in the language; none if one of them is no message."""
    found = []
    for text in texts:
        own = _translated(text, code)
        if own is None:
            return []
        found.append(own)
    return found

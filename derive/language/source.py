"""Text: reading it safely, turning it into a syntax tree that is never executed, and naming places in it."""

from __future__ import annotations

import ast
import io
import keyword
import os
import re
import stat
import tokenize
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from derive.language.errors import LanguageError, Place, is_control
from derive.language.words import is_greek, other_name

MAX_BYTES = 1 << 20  # of a file
MAX_NODES = 100_000  # of its syntax tree
MAX_DEPTH = 200  # of nesting, as written
WRITTEN_NODES = 1_000_000  # of an expression with its definitions written out
WRITTEN_DEPTH = 2_000  # likewise

_FIXES = {
    "−": "-",
    "–": "-",
    "—": "-",
    "×": "*",
    "·": "*",
    "⋅": "*",
    "÷": "/",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∞": "oo",
}
_FIXES |= {
    "²": "**2",
    "³": "**3",
    "½": "1/2",
    "∂": "diff(…)",
    "∑": "sum(…)",
    "∏": "prod(…)",
    "√": "sqrt(…)",
    "“": '"',
    "”": '"',
}
# What is written elsewhere and is no syntax here: how it looks, and what would be right.
_SPELT = [
    (r"=>", "write >="),
    (r"=<", "write <="),
    (r"<>", "write !="),
    (r"&&", "conditions are joined by `and`"),
    (r"\|\|", "conditions are joined by `or`"),
    (r"!(?!=)", "a condition is denied by `not`"),
    (r"\|", "an absolute value is abs(x)"),
    (r"(?<![=<>!])=(?!=)", "a claim compares by ==: assert a == b"),
    (r"\b\d[\d.]*(?=[^\W\d])|\w+ +\w", "a product is written 2*x; what a function is of, in parentheses: exp(x)"),
]
_OUR_KEYWORDS = frozenset({"for", "in", "if", "and", "or", "not", "assert", "def", "from", "import"})
_SILENT_ESCAPES = re.compile(r"\\[abfnrtvxuUN0-7]")


@dataclass(frozen=True)
class Source:
    """A text and where it came from. `path` is None for a text that is no file."""

    text: str
    name: str
    path: Path | None = None

    @cached_property
    def lines(self) -> list[str]:
        return self.text.replace("\r\n", "\n").split("\n")

    def place(self, node: ast.AST) -> Place:
        """The place of a node; of its first line where it spans several."""
        line: int = getattr(node, "lineno", 0)
        if not line:
            return Place()
        encoded = self.lines[line - 1].encode()
        start = len(encoded[: node.col_offset].decode(errors="replace"))  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef):
            return Place(line, self.lines[line - 1].index(node.name, start + 3) + 1, len(node.name))
        if getattr(node, "end_lineno", None) != line:
            return Place(line, start + 1)
        stop = len(encoded[: node.end_col_offset].decode(errors="replace"))  # type: ignore[attr-defined]
        return Place(line, start + 1, max(stop - start, 1))

    def spelling(self, node: ast.AST) -> str:
        """The node as it is written, if that is on one line."""
        place = self.place(node)
        return self.lines[place.line - 1][place.column - 1 : place.column - 1 + place.width]

    def error(self, at: ast.AST | Place, message: str, hint: str | None = None) -> LanguageError:
        """The error at a node or place, ready to raise."""
        place = at if isinstance(at, Place) else self.place(at)
        return LanguageError(
            message, place.line, place.column, hint, width=place.width, path=self.path or self.name, source=self.text
        )


def read(path: Path) -> Source:
    """The text of a regular file of at most 1 MiB of UTF-8. Nothing else is opened for long, or waited for."""

    def error(message: str, hint: str | None = None, line: int = 0, column: int = 0) -> LanguageError:
        return LanguageError(message, line, column, hint, path=path)

    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))
    except FileNotFoundError:
        hint = "give the path of a .derive file, or a name that `derive list` shows"
        raise error("there is no such file", hint) from None
    except (OSError, ValueError) as problem:
        raise error(f"the file cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    kind = os.fstat(handle).st_mode
    if not stat.S_ISREG(kind):
        os.close(handle)
        if stat.S_ISDIR(kind):
            raise error("this is a folder, not a theory", "give the path of a .derive file")
        raise error("this is not a regular file", "a theory is read from a regular file only")
    try:
        with open(handle, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as problem:
        raise error(f"the file cannot be read: {problem.strerror}") from None
    if len(data) > MAX_BYTES:
        raise error("the file is larger than 1 MiB", "a theory holds one subject; split it and import")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line, column = before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8")) + 1
        raise error(
            f"the file is not UTF-8: byte 0x{data[problem.start]:02x}", "save it as UTF-8", line, column
        ) from None
    return Source(text, path.stem, path)


def parse(source: Source) -> ast.Module:
    """The syntax tree of the text, within the limits. Raises LanguageError for whatever Python cannot read."""
    if len(source.text) > MAX_BYTES or len(source.text.encode(errors="replace")) > MAX_BYTES:
        raise source.error(Place(), "the text is larger than 1 MiB", "a theory holds one subject; split it and import")
    _check_characters(source)
    try:
        tree = _tree(source.text)
    except SyntaxError as problem:
        raise _syntax_error(source, problem) from None
    except (RecursionError, MemoryError):
        raise source.error(
            _too_deep(source),
            f"this is nested more than {MAX_DEPTH} deep, or a chain of thousands of terms",
            "give the parts names of their own: part = …",
        ) from None
    except (ValueError, UnicodeError) as problem:
        raise source.error(Place(1, 1), f"this cannot be read: {problem}") from None
    _check_names(source)
    if 2 * len(source.text) <= MAX_NODES:  # a part has a character of its own, unless it is a statement around one
        return tree
    count = 0
    for node in ast.walk(tree):
        count += hasattr(node, "lineno") or isinstance(node, ast.comprehension)
        if count > MAX_NODES:
            raise source.error(node, f"the file has more than {MAX_NODES:,} parts", "split it and import")
    return tree


def _tree(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unknown escape in prose such as "$\sum$" stands as it is written
        return ast.parse(text)


def _check_characters(source: Source) -> None:
    """Refuse characters that hide or reorder what a reader sees, anywhere in the text."""
    if source.text.isascii() and source.text.isprintable():
        return
    for number, line in enumerate(source.lines, 1):
        if line.isprintable():
            continue
        for column, c in enumerate(line, 1):
            if c != "\t" and is_control(c):
                kind = "a control character" if ord(c) < 0xA0 else "an invisible character that reorders or hides text"
                raise source.error(Place(number, column), f"{kind}, U+{ord(c):04X}", "delete it")


def _check_names(source: Source) -> None:
    """Refuse names that are neither ASCII nor Greek as they are written: Python would fold look-alikes silently."""
    if source.text.isascii():
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.NAME and not token.string.isascii():
            for offset, c in enumerate(token.string):
                if not (c.isascii() or is_greek(c)):
                    raise source.error(
                        Place(token.start[0], token.start[1] + offset + 1),
                        f"{c!r} (U+{ord(c):04X}) cannot stand in a name",
                        "names are made of ASCII or Greek letters, digits and underscores",
                    )


def _syntax_error(source: Source, problem: SyntaxError) -> LanguageError:
    line = min(max(problem.lineno or 1, 1), len(source.lines))
    text = source.lines[line - 1]
    column = min(max(problem.offset or 1, 1), len(text) + 1)
    message, hint = problem.msg.partition(" (")[0] if "nested" in problem.msg else problem.msg, None
    if "integer string conversion" in message:
        found = re.search(r"[\d_]{1000,}", text)
        place = Place(line, found.start() + 1 if found else column, 40)
        return source.error(place, "a number of more than 1,000 digits", "write it as a power: 10**2000")
    if "invalid syntax" in message and (found := _keyword_near(text, column)):
        word, column = found.group(), found.start() + 1
        message = f"{word!r} cannot stand here"
        hint = f"it is a word of Python's; as a name, write {other_name(word, ())!r} or {word + '_'!r}"
        if word in _OUR_KEYWORDS:
            hint = "loops and their filters stand inside sum(…), prod(…), max(…), all(…) and the like"
    elif "invalid" in message:
        message = message.partition(". Perhaps")[0]
        hint = _spelt_near(text, column)
    for c in text[column - 1 : column]:
        hint = f"write {_FIXES[c]}" if c in _FIXES else hint
    if "positional argument follows keyword" in message:
        hint = "arguments without a name come first"
    elif "Generator expression must be parenthesized" in message:
        hint = "sum(e for k in n) takes nothing else; a filter is sum(e for k in n if k != i)"
    elif "assign to function call" in message:
        message = message.partition(" here")[0]
        hint = "a definition has no arguments: write f = x**2 of a declared x, and at(f, x, 3) for its value elsewhere"
    elif "assignment" in message or "annotation" in message or "annotated" in message:
        hint = "a definition is `s[i] = …`, a claim `assert a == b`, a declaration `z: real[n]`"
    elif "nested parentheses" in message:
        message, hint = f"this is nested more than {MAX_DEPTH} deep", "give the inner part a name of its own: part = …"
    return source.error(Place(line, column), f"this is not the language's syntax: {message}", hint)


def _keyword_near(text: str, column: int) -> re.Match[str] | None:
    """The Python keyword at the column, or else right before it where the language has no use for it."""
    before = [m for m in re.finditer(r"\w+", text) if m.start() < column]
    if not before or not keyword.iskeyword(before[-1].group()):
        return None
    found = before[-1]
    return found if found.end() >= column or found.group() not in _OUR_KEYWORDS else None


def _spelt_near(text: str, column: int) -> str | None:
    """What would be right for what another notation has at the column, if it is known."""
    return next(
        (hint for sign, hint in _SPELT if any(m.start() < column <= m.end() for m in re.finditer(sign, text))),
        None,
    )


def _too_deep(source: Source) -> Place:
    """The first line of the top-level statement that Python cannot read for its depth."""
    starts = [n for n, line in enumerate(source.lines) if line[:1].strip() and line[0] not in ")]}#"]
    for start, stop in zip(starts, [*starts[1:], len(source.lines)], strict=True):
        try:
            _tree("\n".join(source.lines[start:stop]))
        except (RecursionError, MemoryError):
            return Place(start + 1, 1, min(len(source.lines[start]), 40))
        except (SyntaxError, ValueError):
            continue
    return Place(1, 1)


def prose(source: Source, node: ast.Constant) -> str:
    """The text of a string that is prose: a docstring or a caption.

    An escape that would silently turn LaTeX into control characters (`\\frac` into a form feed) is refused.
    """
    written = "\n".join(source.lines[node.lineno - 1 : node.end_lineno])
    opening = source.lines[node.lineno - 1].encode()[node.col_offset :][:2].lower()
    if not opening.startswith(b"r") and "\\" in written:
        _check_escapes(source, node)
    return str(node.value)


def _check_escapes(source: Source, node: ast.Constant) -> None:
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        line = source.lines[number - 1]
        start = source.place(node).column - 1 if number == node.lineno else 0
        for found in _SILENT_ESCAPES.finditer(line.replace("\\\\", "  "), start):
            raise source.error(
                Place(number, found.start() + 1, 2),
                f"{found.group()} in prose would become another character",
                'put an r before the quotes, r"""…""", so that a backslash stays a backslash',
            )


def clean(text: str) -> str:
    """The text of a docstring without the common indentation of its lines but the first."""
    lines = text.expandtabs().strip("\n").split("\n")
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return "\n".join([lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]).strip("\n")

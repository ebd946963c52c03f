"""A theory as the text of a file that is read back as the same theory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby

from derive.kernel.context import Declaration, Definition
from derive.language.imports import rests_on
from derive.language.printer import to_text
from derive.language.theory import Claim, Theorem, Theory
from derive.language.translations import together
from derive.language.words import LAWS
from derive.term import Term, both


def theory_to_text(theory: Theory) -> str:
    """The theory as text: imports, declarations and definitions in their order, hypotheses, theorems.

    A claim at top level is called after its line, so it may be called otherwise in the text.
    """
    blocks = [block for block in _head(theory) if block.strip()]
    text = "\n\n".join(blocks) + "\n" if blocks else ""
    names: dict[str, str] = {}  # of claims at top level, as they were and as they are in the text
    for theorem in theory.theorems:
        text += "\n"
        if theorem.name == f"line_{theorem.line}":
            names[theorem.name] = f"line_{text.count(chr(10)) + 1}"
            text += "\n".join(_claims(theorem.claims, names)) + "\n"
        else:
            text += "\n" + _theorem(theorem, names) + "\n"
    return text


def _head(theory: Theory) -> list[str]:
    """All but the theorems, in blocks."""
    parts = [rests_on(i.theory, i.names) for i in theory.imports]
    axes = {a for part in parts for a in part.axes}
    names = {d.name for part in parts for d in part.declarations}
    names |= {d.name for part in parts for d in part.definitions}
    letters = {k for part in parts for k in part.letters}
    every: list[Declaration | Definition] = [*theory.declarations.values(), *theory.definitions.values()]
    own = sorted([d for d in every if d.name not in names], key=lambda d: d.line)
    indices = [_index(k) for k in theory.letters if k not in letters]
    return [
        _docstring(_prose(theory)) if theory.title or theory.prose or theory.translations else "",
        "\n".join(f"from {i.source} import {', '.join(i.names)}" for i in theory.imports),
        "\n".join([*(f"{a}: axis" for a in theory.axes if a not in axes), *indices]),
        "\n".join(_statement(d) for d in own),
        "\n".join(f"assume({to_text(h)})" for h in theory.hypotheses),
    ]


def _prose(theory: Theory) -> str:
    """Title and prose in all languages."""
    parts = {code: f"{title}\n\n{rest}".strip("\n") for code, (title, rest) in theory.translations.items()}
    return together(f"{theory.title}\n\n{theory.prose}".strip("\n"), parts)


def _docstring(text: str, margin: str = "") -> str:
    """The text as a docstring; raw where it has backslashes, as prose with LaTeX is written."""
    lines = text.split("\n")
    text = "\n".join([lines[0], *(margin + line if line else "" for line in lines[1:])])
    raw = "\\" in text and '"""' not in text
    if not raw:
        text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    ending = f"\n{margin}" if len(lines) > 1 or text.endswith(('"', "\\")) else ""
    return f'{"r" if raw else ""}"""{text}{ending}"""'


def _index(letter: Term) -> str:
    name, axis = letter.value
    return f"{name}: index[{axis}]"


def _statement(item: Declaration | Definition) -> str:
    if isinstance(item, Definition):
        return f"{item.name}{_bracketed(k.value[0] for k in item.letters)} = {to_text(item.body)}"
    if item.law is None:
        return f"{item.name}: {_kind(item)}"
    letters = frozenset(item.letters)
    law = _law(item)
    if any(letters & p.letters for p in item.law.parameters):
        return f"{item.name}{_bracketed(k.value[0] for k in item.letters)}: {law}"
    return f"{item.name}: {law}{_bracketed(item.axes)}"


def _bracketed(names: Iterable[str]) -> str:
    listed = ", ".join(names)
    return f"[{listed}]" if listed else ""


def _kind(item: Declaration) -> str:
    return (
        f"index[{item.over}]{_bracketed(item.axes)}" if item.kind == "index" else f"{item.kind}{_bracketed(item.axes)}"
    )


def _law(item: Declaration) -> str:
    assert item.law is not None
    texts = [to_text(p) for p in item.law.parameters]
    if item.law.family == "random":
        texts = [f"{name}={text}" for name, text in zip(LAWS["random"], texts, strict=True)]
    return f"{item.law.family}({', '.join(texts)})" if texts else item.law.family


def _theorem(theorem: Theorem, names: Mapping[str, str]) -> str:
    arguments = [f"{d.name}: {_kind(d)}" for d in theorem.declarations] + [_index(k) for k in theorem.letters]
    lines = (
        [_docstring(together(theorem.doc, theorem.translations, "\n"), "    ")]
        if theorem.doc or theorem.translations
        else []
    )
    own = {d.name for d in theorem.definitions}
    lines += [f"assume({to_text(h)})" for h in theorem.hypotheses if not h.names & own]
    lines += [_statement(d) for d in theorem.definitions]
    lines += [f"assume({to_text(h)})" for h in theorem.hypotheses if h.names & own]
    lines += _claims(theorem.claims, names)
    return f"def {theorem.name}({', '.join(arguments)}):\n" + "\n".join(f"    {line}" for line in lines)


def _claims(claims: Iterable[Claim], names: Mapping[str, str]) -> list[str]:
    """The asserts of the claims; the links of one assert are put together again."""
    groups = groupby(claims, key=lambda c: (c.line, _caption(c), c.by))
    return [
        f"assert {to_text(both(*(c.condition for c in links)))}{_message(caption, by, names)}"
        for (_, caption, by), links in groups
    ]


def _caption(claim: Claim) -> str | None:
    return None if claim.caption is None else together(claim.caption, claim.translations, " ")


def _message(caption: str | None, by: tuple[str, ...], names: Mapping[str, str]) -> str:
    quoted = [_quoted(caption)] if caption is not None else []
    if by:
        return f", by({', '.join([*(names.get(name, name) for name in by), *quoted])})"
    return f", {quoted[0]}" if quoted else ""


def _quoted(text: str) -> str:
    """The caption between quotes; a line break in it needs three."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""' if "\n" in text else f'"{escaped}"'

"""Whether a certificate says what its text says: the kernel replays terms, and does not read the formula language."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Any

from derive.kernel.certificate import Limit, Replay, decode, decode_context, verify
from derive.kernel.check import MALFORMED
from derive.kernel.context import Context
from derive.kernel.proof import Rejected
from derive.language.errors import LanguageError
from derive.language.files import read_theory
from derive.language.imports import ImportProblem
from derive.language.loader import MAX_CHAIN, catalogue, load
from derive.language.source import Source
from derive.language.theory import Theorem, Theory

Unlike = dict[tuple[str, int], str]  # by the theorem's name, as `verify` tells it, and the number of the claim


def read(path: str | Path) -> Any:
    """The data that the file of a certificate holds. Raises Rejected for what is no regular file of JSON."""
    try:
        kind = Path(path).stat().st_mode
        if not S_ISREG(kind):  # a pipe would be waited for
            what = (
                f"a folder: name the files in it, {path}/NAME.json"
                if S_ISDIR(kind)
                else "not a certificate: it is not a regular file"
            )
            raise Rejected(f"{path} is {what}")
        data = Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        raise Rejected(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as why:
        made = "what `derive check --certificate DIR` writes is one"
        raise Rejected(f"{path} is not a certificate: it is no JSON ({why}); {made}") from None


def replayed(path: str | Path, limit: Limit) -> list[Replay]:
    """What the kernel says of each claim of a certificate; one that is not what the text says is rejected.

    Raises Rejected for what is no certificate as a whole.
    """
    data = read(path)
    try:
        found = verify(data, limit)
    except (ValueError, RecursionError) as why:
        raise Rejected(f"{path} is not a certificate: {why}") from None
    with limit():
        others = unlike(data)
    reasons = [others.get((r.theorem, r.number)) for r in found]
    return [replace(r, ok=False, reason=why) if r.ok and why else r for r, why in zip(found, reasons, strict=True)]


def unlike(certificate: Mapping[str, Any]) -> Unlike:
    """Why claims of a certificate, in which the kernel found all that it asks for, are not those of its text."""
    texts = {part["theory"]: part["text"] for part in certificate["imports"]}
    found: Unlike = {}
    for part, prefix in (*((i, f"{i['theory']}.") for i in certificate["imports"]), (certificate, "")):
        try:
            theory = _read(part["theory"], part["text"], texts, ())
        except (LanguageError, ImportProblem, RecursionError, MemoryError) as problem:
            why = f"the text cannot be read: {getattr(problem, 'message', 'it is nested too deeply')}"
            found |= {(prefix + t["name"], n): why for t in part["theorems"] for n, _ in enumerate(t["claims"], 1)}
        else:
            for theorem in part["theorems"]:
                found |= {(prefix + theorem["name"], n): why for n, why in _of_theorem(theory, theorem)}
    return found


def _read(name: str, text: str, texts: Mapping[str, str], chain: tuple[str, ...]) -> Theory:
    """The theory of a text, its imports from the texts of the certificate, else from the catalogue."""

    def importer(source: str) -> Theory:
        if source in chain or len(chain) >= MAX_CHAIN:
            raise ImportProblem(f"the imports lead back to {source!r}")
        if source in texts:
            return _read(source, texts[source], texts, (*chain, source))
        if source in catalogue():
            return load(source)
        raise ImportProblem(f"the text of {source!r} is not there")

    if name in catalogue() and load(name).text == text:  # its imports are the catalogue's, whatever else is called so
        return load(name)
    return read_theory(Source(text, name), importer)


def _of_theorem(theory: Theory, told: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Why claims of a theorem are not those of the text, with their numbers."""
    theorem = next((t for t in theory.theorems if t.name == told["name"]), None)
    listed = Counter(str(c.get("statement")) for c in (*told["claims"], *told["open"]))
    for number, claim in enumerate(told["claims"], 1):
        if theorem is None:
            yield number, "the text has no theorem of this name"
        elif listed != Counter(c.statement for c in theorem.claims):
            yield number, "the text has other claims in this theorem"
        elif (why := _of_claim(theory, theorem, claim)) is not None:
            yield number, why


def _of_claim(theory: Theory, theorem: Theorem, told: Mapping[str, Any]) -> str | None:
    """Why a claim is not that of the text."""
    try:
        condition, mine, full = decode(told["claim"]), decode_context(told["context"]), theory.context(theorem)
    except (Rejected, *MALFORMED):  # which the kernel has told
        return "it is malformed"
    stated = (told["statement"], told.get("line"), condition)
    if stated not in [(c.statement, c.line, c.condition) for c in theorem.claims]:
        return "the claim is not what the text says, or not where it says it"
    for what, same in _compared(mine, full).items():
        if not same:
            return f"{what} are not those of the text"
    for d, listed in zip(mine.definitions.values(), told["context"]["definitions"], strict=True):
        if listed.get("rests_on") != sorted(mine.reached(d.body.names)):
            return f"{d.name} rests on other names"
    return None


def _compared(mine: Context, full: Context) -> dict[str, bool]:
    """What a claim rests on, and whether it is what the text has; of the names those that it reaches."""
    return {
        "its axes": mine.axes == full.axes,
        "its indices": mine.letters == full.letters,
        "its hypotheses": mine.hypotheses == full.hypotheses,
        "its variables": mine.declarations.items() <= full.declarations.items(),
        "its definitions": mine.definitions.items() <= full.definitions.items(),
    }

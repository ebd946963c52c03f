"""What a list of reports says of each: little, and all of it such as JSON holds."""

from __future__ import annotations

from dataclasses import dataclass

from derive.report.document import Document
from derive.report.escape import has_type


@dataclass(frozen=True)
class TheoremEntry:
    name: str
    verdict: str
    statements: tuple[str, ...]  # in the formula language
    rests_on: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One theory in a list of reports."""

    name: str
    title: str
    verdict: str
    counts: tuple[tuple[str, int], ...]  # theorems by verdict
    theorems: tuple[TheoremEntry, ...]
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    unprinted: str = ""  # characters of the author's which the fonts of LaTeX lack, so that their numbers are printed


def entry(document: Document) -> Entry:
    """The entry of a document."""
    theorems = tuple(
        TheoremEntry(t.name, t.verdict, tuple(c.source for c in t.claims), t.rests_on) for t in document.theorems
    )
    return Entry(
        document.name,
        document.title,
        document.verdict,
        document.counts,
        theorems,
        document.imports,
        _unprinted(document),
    )


def _unprinted(document: Document) -> str:
    """Characters that are seen elsewhere and not in print, each once, in order."""
    texts = [document.title, document.prose, *(t.doc for t in document.theorems)]
    texts += [claim.caption or "" for theorem in document.theorems for claim in theorem.claims]
    return "".join(c for c in dict.fromkeys("".join(texts)) if c.isprintable() and not has_type(c))

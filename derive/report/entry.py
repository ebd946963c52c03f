"""What a list of reports says of each: little, and all of it such as JSON holds."""

from __future__ import annotations

from dataclasses import dataclass

from derive.report.document import Document


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


def entry(document: Document) -> Entry:
    """The entry of a document."""
    theorems = tuple(
        TheoremEntry(t.name, t.verdict, tuple(c.source for c in t.claims), t.rests_on) for t in document.theorems
    )
    return Entry(document.name, document.title, document.verdict, document.counts, theorems, document.imports)

"""A theory as data: what the parser makes of a file, and all that later layers know of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from derive.kernel.context import Context, Declaration, Definition, Lemma
from derive.term import Term


@dataclass(frozen=True)
class Claim:
    """One link of an assert: a condition that must hold.

    `statement` is the link printed in the formula language on one line. Links of one assert share `line` and `caption`.
    """

    condition: Term
    line: int
    statement: str
    caption: str | None = None
    by: tuple[str, ...] = ()
    translations: dict[str, str] = field(default_factory=dict, hash=False)  # the caption in other languages


@dataclass(frozen=True)
class Theorem:
    """A theorem: its own variables, hypotheses and definitions, and its claims in order."""

    name: str
    line: int
    claims: tuple[Claim, ...]
    doc: str = ""
    declarations: tuple[Declaration, ...] = ()
    letters: tuple[Term, ...] = ()  # index arguments (`i: index[n]`), as index terms
    hypotheses: tuple[Term, ...] = ()
    definitions: tuple[Definition, ...] = ()
    translations: dict[str, str] = field(default_factory=dict, hash=False)  # the docstring in other languages


@dataclass(frozen=True)
class Import:
    """`from source import names`: the imported theory and what was taken from it."""

    source: str
    names: tuple[str, ...]
    theory: Theory
    line: int = 0


@dataclass(frozen=True)
class Theory:
    """One file. Top-level declarations, definitions and hypotheses hold in all its theorems, imported ones included."""

    name: str
    path: Path | None
    text: str
    title: str = ""
    prose: str = ""
    axes: tuple[str, ...] = ()
    declarations: dict[str, Declaration] = field(default_factory=dict)
    letters: tuple[Term, ...] = ()  # top-level `i: index[n]`, as index terms
    definitions: dict[str, Definition] = field(default_factory=dict)
    hypotheses: tuple[Term, ...] = ()
    theorems: tuple[Theorem, ...] = ()
    imports: tuple[Import, ...] = ()
    translations: dict[str, tuple[str, str]] = field(default_factory=dict)  # title and prose in other languages

    def __getitem__(self, name: str) -> Theorem:
        for theorem in self.theorems:
            if theorem.name == name:
                return theorem
        raise KeyError(name)

    def context(self, theorem: Theorem, lemmas: tuple[Lemma, ...] = ()) -> Context:
        """What the theorem's claims may use."""
        return Context(
            axes=self.axes,
            declarations={**self.declarations, **{d.name: d for d in theorem.declarations}},
            definitions={**self.definitions, **{d.name: d for d in theorem.definitions}},
            hypotheses=self.hypotheses + theorem.hypotheses,
            lemmas=lemmas,
            letters=frozenset(self.letters + theorem.letters),
        )

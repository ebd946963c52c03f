"""Formulas as trees of what stands beside, above and within what, and a language that writes them: LaTeX here.

A printer of terms and the grammar of mathematics in prose make the same trees, so that a language of formulas is one
table of rows. Signs are named in LaTeX, as `\\alpha`, whatever the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, eq=False, slots=True)
class Math:
    """A piece of a formula: what it is, the pieces it is made of, and its sign, words or name."""

    kind: str
    parts: tuple[Math, ...] = ()
    value: str = ""


Row = Callable[[Sequence[str], str], str]


@dataclass(frozen=True)
class Dialect:
    """A language of formulas: for each kind of piece, how it is written given its parts, written, and its value."""

    rows: Mapping[str, Row]

    def write(self, math: Math) -> str:
        """The formula in this language. No depth is too much."""
        written: dict[int, str] = {}
        waiting = [math]
        while waiting:
            piece = waiting[-1]
            missing = [part for part in piece.parts if id(part) not in written]
            if missing:
                waiting += missing
                continue
            written[id(piece)] = self.rows[piece.kind]([written[id(part)] for part in piece.parts], piece.value)
            waiting.pop()
        return written[id(math)]


# -- pieces -----------------------------------------------------------------------------------------------------------


def sign(name: str) -> Math:
    """A sign or a run of signs: letters, digits, `\\alpha`, `\\mathrm{loss}`."""
    return Math("sign", (), name)


def words(text: str) -> Math:
    """Upright words, with the blanks that belong to them."""
    return Math("words", (), text)


def run(*parts: Math, sep: str = " ") -> Math:
    """Pieces after one another."""
    return parts[0] if len(parts) == 1 else Math("run", parts, sep)


def below(base: Math, script: Math) -> Math:
    return Math("below", (base, script))


def above(base: Math, script: Math) -> Math:
    return Math("above", (base, script))


def fraction(top: Math, bottom: Math, kind: str = "frac") -> Math:
    return Math("fraction", (top, bottom), kind)


def root(inner: Math) -> Math:
    return Math("root", (inner,))


def fenced(inner: Math, left: str, right: str) -> Math:
    """Brackets that are as high as what they hold. `.` is none."""
    return Math("fence", (inner,), f"{left} {right}")


def lines(*parts: Math) -> Math:
    """Lines below each other."""
    return Math("lines", parts)


def hung(head: Math, body: Math) -> Math:
    """What comes before the body, beside its first line where it has several."""
    return Math("hung", (head, *body.parts)) if body.kind == "lines" else run(head, body)


def grid(name: str, rows: Sequence[Sequence[Math]]) -> Math:
    """A matrix or cases, named as in LaTeX."""
    return Math("grid", tuple(Math("cells", tuple(row), name) for row in rows), name)


# -- LaTeX ------------------------------------------------------------------------------------------------------------


def _aligned(parts: Sequence[str], head: str = "") -> str:
    """Lines that start below each other. An empty group has the sign at the end of the head keep its space."""
    before = f"{head} {{}} " if head else ""
    return rf"\begin{{aligned}} {before}& " + r" \\ & ".join(parts) + r" \end{aligned}"


def _fence(parts: Sequence[str], value: str) -> str:
    left, right = value.split()
    return rf"\left{left} {parts[0]} \right{right}"


LATEX = Dialect(
    {
        "sign": lambda _, name: name,
        "words": lambda _, text: rf"\text{{{text}}}",
        "upright": lambda _, text: rf"\mathrm{{{text}}}",
        "run": lambda parts, sep: sep.join(parts),
        "group": lambda parts, _: f"{{{parts[0]}}}",
        "below": lambda parts, _: f"{parts[0]}_{{{parts[1]}}}",
        "above": lambda parts, _: f"{parts[0]}^{{{parts[1]}}}",
        "fraction": lambda parts, kind: rf"\{kind}{{{parts[0]}}}{{{parts[1]}}}",
        "root": lambda parts, _: rf"\sqrt{{{parts[0]}}}",
        "accent": lambda parts, name: rf"\{name}{{{parts[0]}}}",
        "fence": _fence,
        "lines": lambda parts, _: _aligned(parts),
        "hung": lambda parts, _: _aligned(parts[1:], parts[0]),
        "cells": lambda parts, _: " & ".join(parts),
        "grid": lambda parts, name: rf"\begin{{{name}}} " + r" \\ ".join(parts) + rf" \end{{{name}}}",
    }
)

"""Proofs as data: what the engine hands to the kernel, and what the kernel hands back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from derive.term import TRUE, Letter, Term
from derive.term import Rejected as Rejected


@dataclass(frozen=True)
class Use:
    """An equation `left == right` that is known, put to use.

    It is instance `letters` of hypothesis or lemma `number`; or the sum of the increments of `value`, a function of the
    one letter in `letters`, up to the end that is named with it; or what a symmetry says of the mean of `value`. In an
    algebra step it stands for the term sum(multiplier * (left - right) for over), which is 0. Of the kind "size", and
    the first of the step, it says that the letters are all indices of an axis, by hypothesis `number`.
    """

    kind: str  # "hypothesis", "lemma", "telescoping", "symmetry" or "size"
    number: int
    letters: tuple[tuple[Term, Term], ...] = ()
    multiplier: Term | None = None
    over: tuple[Letter, ...] = ()
    value: Term | None = None


@dataclass(frozen=True)
class Step:
    """One line of a derivation: `rule` at `path` turns the expression before into `after`, the whole expression.

    `rule` names a row of `kernel.rules` (used right to left if `reverse`), or one of the procedures `algebra`,
    `definition`, `hypothesis`, `lemma`, `telescoping`, `rename`.
    """

    rule: str
    after: Term
    path: tuple[int, ...] = ()
    reverse: bool = False
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Cite:
    """A comparison that is known, put to use: `line` of the proof, its letters replaced.

    Lines count from 0; -1, -2, … are the facts that the claim starts from, the first one first.
    """

    line: int
    letters: tuple[tuple[Term, Term], ...] = ()


@dataclass(frozen=True)
class Part:
    """The term sum(multiplier * (left - right of each cited comparison) for over if where), whose sign is known."""

    multiplier: Term
    cites: tuple[Cite, ...] = ()
    over: tuple[Letter, ...] = ()
    where: Term = TRUE


@dataclass(frozen=True)
class Line:
    """A comparison on the way to an order: `condition` holds for all `letters` that satisfy `where`.

    `rule` names a row of `kernel.order.ROWS`, with `values` for its letters and a cite (or None: judged by signs) for
    each premise; or one of the procedures `combination`, `extremum`, `case_distinction`, `lemma`, `telescoping`.
    """

    condition: Term
    rule: str
    values: tuple[Term, ...] = ()
    parts: tuple[Part, ...] = ()
    cites: tuple[Cite | None, ...] = ()
    letters: tuple[Letter, ...] = ()
    where: Term = TRUE
    uses: tuple[Use, ...] = ()


@dataclass(frozen=True)
class Proof:
    """A derivation of a claim: from its left side, step by step, to its right side.

    For an order (`a >= b`) or a logical claim `steps` is the chain from the left side as far as it goes; the rest is
    the last of the `lines`, or judged by the kernel's sign rules alone.
    """

    claim: Term
    steps: tuple[Step, ...] = ()
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class Condition:
    """A condition that was met: what had to hold, and by which facts and lines it does.

    The kernel does not put its reason in words.
    """

    condition: Term
    need: Any = None
    here: Any = None
    known: Any = ()  # needs that are known to be met
    reason: str = ""


@dataclass
class Account:
    """What the kernel found while replaying a proof: all that a report says of it comes from here."""

    conditions: list[tuple[Condition, ...]] = field(default_factory=list)  # for each step
    domain: list[Term] = field(default_factory=list)  # where the left side is defined, beyond what is declared
    obligations: list[Condition] = field(default_factory=list)  # what the right side needs

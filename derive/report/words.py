"""What reports and the terminal say in English of verdicts, rules and reasons; the words are in `languages`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from derive.kernel.order import ROWS
from derive.kernel.rules import RULES
from derive.report.languages import rule_words, table

__all__ = ["rule_words"]

# For each verdict: its mark in Markdown and terminals, and as a sign of formulas.
MARKS = {
    "proved": ("✔", r"\checkmark"),
    "checked": ("≈", r"\approx"),
    "undecided": ("?", "?"),
    "refuted": ("✘", r"\times"),
}
ENGLISH = table("en")
PROCEDURES = ENGLISH["procedure"]  # what the steps that are no rows of the kernel's table do
OPINIONS = {True: "agrees", False: "disagrees", None: "cannot tell"}
_NOTHING = "no derivation was found"
_HINT = re.compile(r"it would follow with assume\(.*", re.DOTALL)


def rule_source(rule: str) -> str:
    """Where a rule comes from, or what a procedure does."""
    if rule in RULES:
        return RULES[rule].citation
    if rule in ROWS:
        return ROWS[rule].citation
    return str(PROCEDURES.get(rule, ""))


def as_before(first: int, last: int) -> str:
    """What stands for lines that say again, of other letters, what these lines said."""
    return f"as in steps {first} to {last}"


def spoken_reason(reason: str | None, refuted: bool) -> str | None:
    """Why a claim is not proved, as readers are told: beside a counterexample nothing but what would close it."""
    if reason is None:
        return None
    hint = _HINT.search(reason)
    if refuted:
        return hint[0] if hint else None
    return reason.removeprefix(f"{_NOTHING}: ")


def sizes(choices: Sequence[Mapping[str, int]]) -> str:
    """Choices of sizes in few words: `n = 1, 2, 3`, or how many choices there are of several sizes."""
    known = list(choices[0]) if choices else []
    axes = [axis for axis in known if any(c[axis] != 1 for c in choices)] or known[:1]
    if not axes:
        return ""
    if len(axes) == 1:
        return f"{axes[0]} = {', '.join(str(c[axes[0]]) for c in choices)}"
    return f"{len(choices)} choices of {', '.join(axes)} from 1 to {max(max(c.values()) for c in choices)}"


def counted(number: int, word: str, plural: str | None = None) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {word if number == 1 else plural or word + 's'}"

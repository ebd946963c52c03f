"""What an emitted expression is: its text, and which index letters its trailing axes stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from derive.term import Term

# How tightly a text binds, loosest first; a text stands bare where at least its level is asked for.
COMPARE, ADD, MUL, UNARY, POWER, ATOM = range(6)


class CodegenError(Exception):
    """A term has no form in the language of the code; the message names the part and says why."""


@dataclass(frozen=True)
class Value:
    """A Python expression for an array whose last axes stand for `letters`, in that order, after any batch axes.

    `kind` is "array", "truth" (a Boolean array), "index" (an integer array) or "number": a Python number made of
    literals and sizes alone, which takes the dtype of whatever it meets. `into` is the same as the beginning of a call
    that takes `out`, where there is one.
    """

    text: str
    letters: tuple[Term, ...] = ()
    level: int = ATOM
    kind: str = "array"
    into: str = ""

    def at(self, level: int) -> str:
        """The text, in parentheses where the place needs a tighter one."""
        return self.text if self.level >= level else f"({self.text})"

    def relabelled(self, mapping: Mapping[Term, Term]) -> Value:
        """The same array with its axes standing for other letters."""
        return replace(self, letters=tuple(mapping.get(k, k) for k in self.letters))


def aligned(value: Value, letters: tuple[Term, ...]) -> Value:
    """The value with exactly these letters as its last axes, of length 1 where it does not depend on the letter."""
    if value.kind == "number" or value.letters == letters:
        return value
    ordered = transposed(value, tuple(k for k in letters if k in value.letters))
    places = [":" if k in ordered.letters else "None" for k in letters]
    while places and places[0] == ":":
        places.pop(0)
    text = f"{ordered.at(ATOM)}[..., {', '.join(places)}]" if places else ordered.text
    return replace(ordered, text=text, letters=letters, level=ATOM if places else ordered.level, into="")


def transposed(value: Value, letters: tuple[Term, ...]) -> Value:
    """The value with its letters in another order."""
    if value.letters == letters:
        return value
    rank = len(letters)
    if rank == 2:
        return Value(f"{value.at(ATOM)}.swapaxes(-1, -2)", letters, ATOM, value.kind)
    source = ", ".join(str(value.letters.index(k) - rank) for k in letters)
    target = ", ".join(str(p - rank) for p in range(rank))
    return Value(f"np.moveaxis({value.text}, ({source}), ({target}))", letters, ATOM, value.kind)


def union(values: Iterable[Value], rank: Mapping[Term, int]) -> tuple[Term, ...]:
    """The letters of all the values: in the order of one that has them all, or else by rank."""
    values = list(values)
    every = {k for v in values for k in v.letters}
    for value in values:
        if len(value.letters) == len(every):
            return value.letters
    return tuple(sorted(every, key=lambda k: rank[k]))

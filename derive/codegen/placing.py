"""Where the statements of a loop put their arrays: over one that is no longer needed, or into one made before the loop.

An array that is made anew for each block of a batch costs more than the arithmetic on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from derive.term import Term

# Calls whose result shares no memory with an argument.
FRESH = re.compile(r"(np\.(sum|max|min|prod|vecdot|argmax|all|any|where)|_\w+)\(")
Axes = tuple[str, ...]


def axes_of(letters: tuple[Term, ...]) -> Axes:
    """The axes that the letters run over."""
    return tuple(k.value[1] for k in letters)


@dataclass(frozen=True)
class Made:
    """A value that a call can write to a given array: the call's beginning, the letters of the value."""

    into: str
    letters: tuple[Term, ...] = ()

    @property
    def axes(self) -> Axes:
        return axes_of(self.letters)


@dataclass
class Placed:
    """The statements, the arrays they need, by name with their letters, and the arguments that they write over."""

    lines: list[str]
    room: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)


def target_of(line: str) -> str:
    """The name that a statement gives to its value, "" where it gives none."""
    name, equals, _ = line.partition(" = ")
    return name if equals and name.isidentifier() else ""


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def placed(
    lines: Sequence[str], made: Mapping[str, Made], large: frozenset[Axes], owned: Mapping[str, Axes], prefix: str
) -> Placed:
    """The statements with the large arrays that they make put somewhere.

    `large` are the sorted axes of arrays worth it, `owned` arguments that may be written over, `prefix` begins the
    names of arrays.
    """
    found = Placed(list(lines))
    at = {place: (name, made[name]) for place, name in enumerate(map(target_of, lines)) if name in made}
    last = _last_uses(lines, frozenset(at))
    holds = dict(owned)  # the axes of the arrays that hold something
    array_of = {name: name for name in owned}
    free: dict[Axes, list[str]] = {}
    for place in range(len(lines)):
        name, m = at.get(place, ("", None))
        if m is not None and m.letters and tuple(sorted(m.axes)) in large:
            alike = [x for x in operands(m.into) if holds.get(x) == m.axes and last[x] == place]
            if alike and m.into.startswith("np.") and not m.into.startswith("np.matmul("):
                target, array = alike[0], array_of.pop(alike[0])
                del holds[alike[0]]
            elif free.get(m.axes):
                target = array = free[m.axes].pop()
            else:
                target = array = f"{prefix}{len(found.room) + 1}" if found.room else prefix
                found.room[array] = m.letters
            found.lines[place] = f"{name} = {m.into}, out={target})"
            found.written |= {array} & {*owned}
            holds[name], array_of[name] = m.axes, array
        for done in [x for x in holds if last.get(x, -1) <= place]:
            free.setdefault(holds.pop(done), []).append(array_of.pop(done))
    return found


def _last_uses(lines: Sequence[str], apart: frozenset[int]) -> dict[str, int]:
    """The last statement that needs what a name holds, through views of it too; those at `apart` make no views."""
    last: dict[str, int] = {}
    for place in range(len(lines) - 1, -1, -1):
        target, until = target_of(lines[place]), place
        if target and place not in apart and not FRESH.match(lines[place].removeprefix(f"{target} = ")):
            until = max(place, last.get(target, place))
        for word in words(lines[place]):
            last[word] = max(last.get(word, until), until)
    return last


def operands(into: str) -> list[str]:
    """The arguments of a call that lacks its end."""
    parts, depth = [""], 0
    for c in into.partition("(")[2]:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts]


def hoisted(lines: Sequence[str], moving: set[str]) -> tuple[list[str], list[str]]:
    """Statements that are the same for every block, and the others; `moving` are the names that change with it."""
    moving = set(moving)
    before, inside = [], []
    for line in lines:
        target = target_of(line)
        if target and moving.isdisjoint(words(line.removeprefix(f"{target} = "))):
            before.append(line)
        else:
            inside.append(line)
            moving.add(target)
    return before, inside


def early(lines: Sequence[str]) -> list[str]:
    """The statements with those that reduce an array moved up to where it is made, so that it is needed no longer."""
    ordered: list[str] = []
    for line in lines:
        target, place = target_of(line), len(ordered)
        if target and FRESH.match(line.removeprefix(f"{target} = ")):
            needed = words(line.removeprefix(f"{target} = "))
            while place and target_of(ordered[place - 1]) not in needed | {""}:
                place -= 1
        ordered.insert(place, line)
    return ordered

"""What stands above a function: its formula, what it rests on, its arguments. The same text in each language."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from derive.codegen.prepare import reachable
from derive.kernel.context import Definition
from derive.language.printer import to_text

if TYPE_CHECKING:
    from derive.codegen.source import Argument, Plan


def heading(plan: Plan, batch: bool = True) -> list[str]:
    """The lines, not escaped for any language; `batch` says that leading axes of the arguments broadcast."""
    q = plan.quantity
    axes = f"[{', '.join(k.value[0] for k in q.letters)}]" if q.letters else ""
    own = q.term.value if q.term.op == "def" else None
    shown = [d for d in reachable(q.term, q.context) if d.name != own]
    where = [line for d in reversed(shown) for line in _wrapped(f"    {_equation(d)}", 8)]
    arrays = [a for a in plan.arguments if a.kind not in ("size", "index")]
    parts = [
        _wrapped(f"{q.title or q.name}{axes} = {plan.formula}"),
        ["where", *where] if where else [],
        [line for h in q.given for line in _wrapped(f"Holds where {to_text(h)}.")],
        [f"{a.parameter}: {_described(a)}" for a in plan.arguments]
        + (["Leading axes of the arguments are batch axes and broadcast."] if arrays and batch else []),
        [f"Stable form: {r.formula}" for r in plan.rewrites],
        [line for note in q.notes for line in _wrapped(note)],
    ]
    return [line for part in parts if part for line in ("", *part)][1:]


def printable(line: str) -> str:
    """The line with a backslash and what cannot be seen written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.replace("\\", "\\\\"))


def _equation(definition: Definition) -> str:
    letters = ", ".join(k.value[0] for k in definition.letters)
    return f"{definition.name}{f'[{letters}]' if letters else ''} = {to_text(definition.body)}"


def _wrapped(text: str, indent: int = 4) -> list[str]:
    """The text in lines, the later ones indented."""
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _described(a: Argument) -> str:
    axes = f"[{', '.join(a.axes)}]" if a.axes else ""
    if a.kind == "size":
        return "the size of the axis"
    return f"index[{a.over}]{axes}" if a.kind == "index" else f"{a.kind}{axes}"

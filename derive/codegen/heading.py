"""What stands above a function: its formula, what it rests on, its arguments. The same text in each language."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from derive.codegen.prepare import reachable
from derive.kernel.context import Definition
from derive.language.printer import to_text
from derive.term import Term

if TYPE_CHECKING:
    from derive.codegen.source import Argument, Plan


def heading(plans: tuple[Plan, ...], batch: bool = True, stated: Iterable[str] = ()) -> list[str]:
    """The lines, not escaped for any language; `stated` are more of them.

    `batch` says that leading axes of the arguments broadcast.
    """
    plan = plans[0]
    q, forms = plan.quantity, [[r.formula for r in p.rewrites] for p in plans]
    rounded = [f"Stable form, to be rounded: {formula}" for formula in forms[-1]] if forms[-1] != forms[0] else []
    own = {t.value for t in (q.term.args if q.parts else (q.term,)) if t.op == "def"}
    shown = [d for d in reachable(q.term, q.context) if d.name not in own]
    where = [line for d in reversed(shown) for line in _wrapped(f"    {_equation(d)}", 8)]
    arrays = [a for a in plan.arguments if a.kind not in ("size", "index")]
    parts = [
        _equations(plan),
        ["where", *where] if where else [],
        [line for h in q.given for line in _wrapped(f"Holds where {to_text(h)}.")],
        [f"{a.parameter}: {_described(a)}" for a in plan.arguments]
        + (["Leading axes of the arguments are batch axes and broadcast."] if arrays and batch else []),
        [*(f"Stable form: {formula}" for formula in forms[0]), *rounded],
        list(stated),
        [line for note in q.notes for line in _wrapped(note)],
    ]
    return [line for part in parts if part for line in ("", *part)][1:]


def _equations(plan: Plan) -> list[str]:
    """What is computed: one line, or one for each of several results."""
    q = plan.quantity
    if not q.parts:
        return _wrapped(f"{q.title or q.name}{_subscripts(q.letters)} = {plan.formula}")
    lines = [_wrapped(f"    {p.title}{_subscripts(p.letters)} = {p.formula}", 8) for p in q.parts]
    return [f"{', '.join(p.name for p in q.parts)}:", *(line for part in lines for line in part)]


def printable(line: str) -> str:
    """The line with a backslash and what cannot be seen written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.replace("\\", "\\\\"))


def _equation(definition: Definition) -> str:
    return f"{definition.name}{_subscripts(definition.letters)} = {to_text(definition.body)}"


def _subscripts(letters: tuple[Term, ...]) -> str:
    return f"[{', '.join(k.value[0] for k in letters)}]" if letters else ""


def _wrapped(text: str, indent: int = 4) -> list[str]:
    """The text in lines, the later ones indented."""
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _described(a: Argument) -> str:
    axes = f"[{', '.join(a.axes)}]" if a.axes else ""
    if a.kind == "size":
        return "the size of the axis"
    return f"index[{a.over}]{axes}" if a.kind == "index" else f"{a.kind}{axes}"


OWN = "where nothing underflows, with u = 2**-53, 2**-24, 2**-11 or 2**-8, half an ulp of 1 in the dtype"
NARROW = "u = 2**-53; then they are rounded once"
DOUBLE = "u = 2**-53, where nothing underflows"
LIBRARY = f"{OWN}, as far as the library's functions are right to a unit"


def stated_bounds(plans: tuple[Plan, ...], work: str) -> list[str]:
    """The bounds of code that computes in the dtype `work` at least, "" for any; the last plan: of what is rounded."""
    if work != "float64":
        return accuracy(plans[0], OWN, narrow=True)
    rounded = accuracy(plans[-1], NARROW, before="Narrower dtypes are computed in float64, off there by at most")
    return accuracy(plans[0], DOUBLE) + rounded


def accuracy(
    plan: Plan,
    unit: str = DOUBLE,
    corrected: bool = True,
    narrow: bool = False,
    before: str = "Off by at most",
) -> list[str]:
    """The stated bound of the plan's code in lines; none where the analysis does not cover it.

    `unit` says what u is and when it holds; `corrected` whether the code puts the rounding of exponents back,
    `narrow` whether it computes in dtypes narrower than float64.
    """
    from derive.codegen.bounds import bound_of
    from derive.codegen.counts import NoBound

    try:
        bound = bound_of(plan, corrected, narrow)
    except NoBound:
        return []
    if bound.exact:
        return []
    shown = bound.spoken()
    if len(shown) > 300:
        shown = f"({bound.count}) u times the formula with the sizes of all terms added"
    return _wrapped(f"{before} {shown}, {unit}.")

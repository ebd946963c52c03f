"""Which of the conditions that were met are worth saying."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from derive.kernel.proof import Condition
from derive.term import Term


def telling(met: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions, each once: neither those that numbers settle, nor "for all letters" what is said of none."""
    kept: dict[Term, Condition] = {}
    for condition in met:
        if not _settled(condition.condition):
            kept.setdefault(condition.condition, condition)
    return tuple(c for c in kept.values() if not (c.condition.op == "all" and _body(c.condition) in kept))


def _body(condition: Term) -> Term | None:
    """What is said for all letters, if none of them stands in it."""
    body = condition.args[0]
    return None if not body.letters.isdisjoint(condition.bound) else body


def _settled(condition: Term) -> bool:
    """Whether the condition holds whatever the names in it are: by its numbers alone."""
    op, args = condition.op, condition.args
    if op == "cmp":
        return args[0].op == args[1].op == "num" and _compared(args[0].value, condition.value, args[1].value)
    if op in ("or", "and"):
        return (any if op == "or" else all)(map(_settled, args))
    return op == "true" or (op == "all" and _settled(args[0]))


def _compared(left: Fraction, relation: str, right: Fraction) -> bool:
    held = {"==": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
    return held[relation] if relation in held else not held["<=" if relation == ">" else "<"]

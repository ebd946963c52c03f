"""Which of the conditions that were met are worth saying, and what a hypothesis says in full."""

from __future__ import annotations

from collections.abc import Iterable

from derive.kernel.check import pure_index
from derive.kernel.context import Context
from derive.kernel.proof import Condition
from derive.kernel.signs import RELATION, sign_of
from derive.term import Term, over


def telling(met: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions, each once: neither those that numbers settle, nor "for all letters" what is said of none."""
    kept: dict[Term, Condition] = {}
    for condition in met:
        if not _settled(condition.condition):
            kept.setdefault(condition.condition, condition)
    return tuple(c for c in kept.values() if not (c.condition.op == "all" and _body(c.condition) in kept))


def as_meant(hypothesis: Term, context: Context) -> Term:
    """The hypothesis with what is left unsaid: it holds for all its letters, but those that are declared.

    One that speaks of indices alone is about the claim's own letters.
    """
    free = sorted(hypothesis.letters - context.letters, key=lambda k: k.value)
    return hypothesis if pure_index(hypothesis, context) else over("all", hypothesis, *free)


def _body(condition: Term) -> Term | None:
    """What is said for all letters, if none of them stands in it."""
    body = condition.args[0]
    return None if not body.letters.isdisjoint(condition.bound) else body


def _settled(condition: Term) -> bool:
    """Whether the condition holds whatever the names in it are: by its numbers alone."""
    op, args = condition.op, condition.args
    if op == "cmp":
        numbers = args[0].op == args[1].op == "num"
        return numbers and bool(sign_of(args[0].value - args[1].value) & RELATION[condition.value])
    if op in ("or", "and"):
        return (any if op == "or" else all)(map(_settled, args))
    return op == "true" or (op == "all" and _settled(args[0]))

"""What a term needs to be defined, as propositions in Coq.

Coq's functions are total (1/0 is 0, Derive of anything is a number), so an equation says less there than in the
formula language. What is missing is stated beside it: denominators, logarithms, roots, derivatives that exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from derive.coq.names import Scope, variable
from derive.coq.poly import whole
from derive.coq.printer import Printer
from derive.term import TRUE, Term, substitute


class Domain:
    """Collects the conditions of terms in one scope."""

    def __init__(self, scope: Scope, printer: Printer):
        self.scope, self.printer = scope, printer

    def conditions(self, term: Term, front: str = "") -> Iterator[str]:
        """Each need of the term, for all indices bound on the way to it."""
        op, args, text = term.op, term.args, self.printer
        if op == "div":
            yield f"{front}{text.value(args[1], 69)} <> 0"
        if op == "pow":
            n = whole(args[1])
            if n is None:
                yield f"{front}0 < {text.value(args[0], 69)}"
            elif n < 0:
                yield f"{front}{text.value(args[0], 69)} <> 0"
        if op == "fn" and term.value == "log":
            yield f"{front}0 < {text.value(args[0], 69)}"
        if op == "fn" and term.value == "log1p":
            yield f"{front}0 < 1 + {text.value(args[0], 49)}"
        if op == "fn" and term.value == "sqrt":
            yield f"{front}0 <= {text.value(args[0], 69)}"
        if op == "diff":
            rank = len(args[1].args)
            at = " ".join([variable(args[1].value), *map(text.place, args[1].args)])
            yield f"{front}ex{rank} ({text.function(args[0], args[1].value)}) {at}"
            yield from self.conditions(args[0], front)
            return
        if op == "at":
            by = text.value(args[1])
            if term.bound:
                by = f"fun {' '.join(f'i_{k.value[0]}' for k in term.bound)} => {by}"
            name = variable(term.value)
            yield from self.conditions(args[1], front + text.over(term.bound))
            for need in self.conditions(args[0]):
                yield f"{front}let {name} := {by} in {need}"
            return
        if op == "def":
            body = self.scope.defined[term.value].definition
            yield from self.conditions(substitute(body.body, dict(zip(body.letters, args, strict=True))), front)
        if term.bound:
            front += text.over(term.bound)
            if args[1] is not TRUE:
                front += f"{text.condition(args[1])} -> "
                yield from self.conditions(args[1], front)
            yield from self.conditions(args[0], front)
            return
        if op == "where":
            yield from self.conditions(args[1], f"{front}{text.condition(args[0])} -> ")
            yield from self.conditions(args[2], f"{front}~ ({text.condition(args[0])}) -> ")
            return
        for a in args:
            yield from self.conditions(a, front)

"""What a term needs to be defined, as propositions in Coq.

Coq's functions are total (1/0 is 0, Derive of anything is a number), so an equation says less there than in the
formula language. What is missing is stated beside it: denominators, logarithms, roots, derivatives that exist.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from derive.coq.names import MEANS, Scope, averaged, kind_type, letter, variable
from derive.coq.poly import whole
from derive.coq.printer import Printer
from derive.term import ONE, TRUE, ZERO, Term, add, cmp, negation, rename_bound, substitute


@dataclass(frozen=True)
class Front:
    """What a need is said for: indices and conditions on the way to it."""

    text: str = ""
    intros: str = ""
    letters: tuple[Term, ...] = ()
    plain: bool = True  # no variable is replaced on the way

    def over(self, printer: Printer, letters: tuple[Term, ...]) -> Front:
        intros = "".join(f"intros {letter(k)} H{letter(k)}. " for k in letters)
        return replace(
            self, text=self.text + printer.over(letters), intros=self.intros + intros, letters=self.letters + letters
        )

    def given(self, printer: Printer, condition: Term) -> Front:
        text = f"{self.text}({printer.condition(condition)}) -> "
        return replace(self, text=text, intros=f"{self.intros}intros W. split_all. ")


@dataclass(frozen=True)
class Need:
    """One condition: its text in Coq, and what a proof of it needs to know."""

    text: str
    front: Front
    condition: Term | None = None
    mean: Term | None = None  # the function of the sample point that has to be integrable


class Domain:
    """Collects the conditions of terms in one scope."""

    def __init__(self, scope: Scope, printer: Printer):
        self.scope, self.printer = scope, printer
        self.taken: set[Term] = set()  # letters that the claim itself speaks of

    def needs(self, term: Term, front: Front = Front()) -> Iterator[Need]:
        """Each need of the term, for all indices bound on the way to it."""
        op, args, text = term.op, term.args, self.printer

        def need(condition: Term) -> Need:
            return Need(front.text + text.condition(condition), front, condition)

        if op == "div":
            yield need(cmp("!=", args[1], ZERO))
        if op == "pow":
            n = whole(args[1])
            if n is None:
                yield need(cmp("<", ZERO, args[0]))
            elif n < 0:
                yield need(cmp("!=", args[0], ZERO))
        if op == "fn" and term.value in ("log", "log1p"):
            yield need(cmp("<", ZERO, args[0] if term.value == "log" else add(ONE, args[0])))
        if op == "fn" and term.value == "sqrt":
            yield need(cmp("<=", ZERO, args[0]))
        if op in MEANS:
            for body in averaged(term):
                yield Need(f"{front.text}integrable M (fun om : Omega => {text.value(body)})", front, mean=body)
            return
        if op == "diff":
            rank = len(args[1].args)
            at = " ".join([variable(args[1].value), *map(text.place, args[1].args)])
            yield Need(f"{front.text}ex{rank} ({text.function(args[0], args[1].value)}) {at}", front)
            yield from self.needs(args[0], front)
            return
        if op == "limit":  # what holds near the point, not at it
            where = f"{text.filter(term)} (fun {variable(args[1].value)} : R => "
            for inner in self.needs(args[0]):
                yield Need(f"{front.text}({where}{inner.text}))", front)
            return
        if op == "at":
            d = self.scope.context.declarations[term.value]
            name = f"{variable(term.value)} : {kind_type(d)}"
            yield from self.needs(args[1], front.over(text, term.bound))
            for inner in self.needs(args[0]):
                yield Need(f"{front.text}let {name} := {text.replacement(term)} in {inner.text}", front)
            return
        if op == "def":
            body = self.scope.defined[term.value].definition
            yield from self.needs(substitute(body.body, dict(zip(body.letters, args, strict=True))), front)
        if term.bound:
            term = rename_bound(term, {*self.taken, *front.letters})
            args = term.args
            front = front.over(text, term.bound)
            if args[1] is not TRUE:
                yield from self.needs(args[1], front)
                front = front.given(text, args[1])
            yield from self.needs(args[0], front)
            return
        if op == "where":
            yield from self.needs(args[0], front)
            yield from self.needs(args[1], front.given(text, args[0]))
            yield from self.needs(args[2], front.given(text, negation(args[0])))
            return
        for a in args:
            yield from self.needs(a, front)

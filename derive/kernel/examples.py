"""Finite examples: hypotheses such as `z == [2, 1]` give sizes and entries, and a claim is decided on those numbers.

Expressions are written out over the sizes, then enclosed between rationals at growing precision. A relation is shown by
enclosures that exclude each other, by exact rationals or, for equality, by one normal form. Whatever has no value there,
or cannot be told, is `Rejected`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product

from derive.kernel import domain, intervals
from derive.kernel.check import axes_of, note, pure_index, well_formed
from derive.kernel.context import Context
from derive.kernel.intervals import Imprecise, Interval
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Rejected
from derive.kernel.signs import split
from derive.term import NONLOCAL, ONE, ZERO, Term, add, fn, make, mul, num, over, rebuild, substitute, subterms

LADDER = (64, 128, 256, 512, 1024, 2048, 4096)  # bits, in turn
HOLDS: dict[str, Callable[[int], bool]] = {  # a relation, by the sign of left - right
    "==": lambda s: s == 0,
    "!=": lambda s: s != 0,
    "<": lambda s: s < 0,
    "<=": lambda s: s <= 0,
    ">": lambda s: s > 0,
    ">=": lambda s: s >= 0,
}
WRITTEN: dict[str, Callable[[list[Term]], Term]] = {  # what a binder comes to on its instances
    "sum": lambda each: add(*each),
    "prod": lambda each: mul(*each),
    "max": lambda each: each[0] if len(each) == 1 else fn("max", each[0], WRITTEN["max"](each[1:])),
    "min": lambda each: each[0] if len(each) == 1 else fn("min", each[0], WRITTEN["min"](each[1:])),
}


class NoValue(Rejected):
    """An expression holds a variable or a size that no hypothesis fixes."""


def decide(condition: Term, context: Context, tick: Callable[[], None] = lambda: None) -> Account:
    """The account of a claim on the numbers that the hypotheses give; raises Rejected unless it is shown to hold."""
    well_formed(condition, context)
    parts = [(number, part) for number, h in enumerate(context.hypotheses) for part in split(h)]
    own = [p for _, p in parts if pure_index(p, context) or not p.letters.isdisjoint(context.letters)]
    example, account = Example(context, tick), Account()
    account.hypotheses = example.fix([p for p in parts if p[1] not in own])
    letters = condition.letters.union(*(p.letters if pure_index(p, context) else p.letters & context.letters for p in own))
    cases = 0
    for case in example.choices(letters):
        if all(example.met(substitute(p, case)) is not False for p in own):
            cases += 1
            if not example.truth(substitute(condition, case)):
                raise Rejected("the claim is false on these numbers")
    if not cases:
        raise Rejected("no index satisfies the hypotheses")
    account.hypotheses |= {number for number, p in parts if p in own}
    note(account, "enclosure")
    return account


class Example:
    """The sizes and entries that the hypotheses fix, and the values of expressions in them."""

    def __init__(self, context: Context, tick: Callable[[], None]):
        self.context, self.nf, self.tick = context, Normal(context, tick=tick), tick
        self.sizes: dict[str, int] = {}
        self.entries: dict[Term, Term] = {}
        self.memo: dict[Term, Term] = {}
        self.enclosures: dict[tuple[Term, int], Interval] = {}

    # -- what the hypotheses fix -------------------------------------------------------------------------------------

    def fix(self, parts: list[tuple[int, Term]]) -> set[int]:
        """Take sizes and entries from the equations, then check every hypothesis; the numbers of those that were met."""
        equations = [p.args for _, p in parts if p.op == "cmp" and p.value == "=="]
        before = -1
        while before < len(self.sizes) + len(self.entries):
            before = len(self.sizes) + len(self.entries)
            for left, right in equations:
                self.take(left, right)
                self.take(right, left)
        for entry, value in self.entries.items():
            if not self.admits(entry, value):
                raise Rejected(f"a value of {entry.value} is not of its declared kind")
        verdicts = [(number, self.met(p)) for number, p in parts]
        if any(v is False for _, v in verdicts):
            raise Rejected("the hypotheses contradict each other")
        return {number for number, v in verdicts if v}

    def take(self, target: Term, value: Term) -> None:
        """Let the equation fix its left side, where that is a size or a variable and the right side has a value."""
        if value.op == "list" and target.op == "var":
            for axis in axes_of(target, self.context):
                self.sizes.setdefault(axis, len(value.args))
                value = value.args[0] if value.args and value.args[0].op == "list" else value
        elif target.op == "size" and value.op == "num" and value.value >= 1 and value.value.denominator == 1:
            self.sizes.setdefault(target.value, int(value.value))
        elif target.op == "var":
            self.take_entries(target, value)

    def take_entries(self, target: Term, value: Term) -> None:
        try:
            for case in self.choices(target.letters | value.letters):
                entry = rebuild(target, [self.write(substitute(a, case)) for a in target.args])
                if entry not in self.entries:
                    self.entries[entry] = self.write(substitute(value, case))
        except NoValue:
            return

    def admits(self, entry: Term, value: Term) -> bool:
        """Whether the value is one that the declaration of the entry admits."""
        declaration = self.context.declarations[entry.value]
        if declaration.kind in ("real", "positive", "nonnegative"):
            return declaration.kind == "real" or HOLDS[">" if declaration.kind == "positive" else ">="](self.sign(value))
        number = self.enclose(value, LADDER[0])
        top = {"bit": 2, "index": self.sizes.get(declaration.over or "", 0), "integer": number.low + 1}
        whole = number.exact and number.low.denominator == 1
        return whole and (0 <= number.low or declaration.kind == "integer") and number.low < top.get(declaration.kind, 0)

    def met(self, condition: Term) -> bool | None:
        """Whether a hypothesis holds for all values of its letters; None where it speaks of what is not fixed."""
        try:
            return self.truth(over("all", condition, *condition.letters))
        except NoValue:
            return None

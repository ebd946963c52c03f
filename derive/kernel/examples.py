"""Finite examples: hypotheses such as `z == [2, 1]` give sizes and entries, and a claim is decided on those numbers.

Expressions are written out over the sizes. What is left are numbers; their normal form is that of all terms, its sign
is told by enclosures between rationals at growing precision. What has no value there, or cannot be told, is `Rejected`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from derive.kernel import domain
from derive.kernel.check import Names, pure_index
from derive.kernel.context import Context
from derive.kernel.facts import number_signs
from derive.kernel.normal import Normal
from derive.kernel.poly import constant
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, KIND, sign, split
from derive.kernel.wellformed import axes_of, subscript_axis, well_formed
from derive.term import CONDITIONS, NONLOCAL, Term, add, cmp, make, mul, num, over, rebuild, substitute, subterms

LADDER = (64, 128, 256, 512, 1024, 2048, 4096)  # bits, in turn


class NoValue(Rejected):
    """An expression holds a variable or a size that no hypothesis fixes."""


def decide(
    condition: Term, context: Context, tick: Callable[[], None] = lambda: None, names: Names | None = None
) -> set[int]:
    """The numbers of the hypotheses that a claim on the numbers that they give rests on: one that speaks of what is
    not fixed is not used. Raises Rejected unless the claim is shown to hold.
    """
    lists = (t for h in context.hypotheses for t in subterms(h) if t.op == "list")
    for term in (condition, *(e for t in lists for e in t.args if e.op != "list")):
        well_formed(term, context)
    parts = [(number, part) for number, h in enumerate(context.hypotheses) for part in split(h)]
    own = {p for _, p in parts if pure_index(p, context) or not p.letters.isdisjoint(context.letters)}
    made, slot = {} if names is None else names.made, (context.hypotheses, context.letters)
    example = made.get(slot)
    if not isinstance(example, Example):
        example = Example(context if names is None else names.context, tick)
        example.fix([(number, p) for number, p in parts if p not in own])
        made[slot] = example
    for term in (condition, *(d.body for d in context.definitions.values())):
        example.within(term)
    letters = condition.letters.union(
        *(p.letters if pure_index(p, context) else p.letters & context.letters for p in own)
    )
    cases = [c for c in example.choices(letters) if all(example.met(substitute(p, c)) is not False for p in own)]
    if not cases:
        raise Rejected("no index satisfies the hypotheses")
    if not all(example.truth(substitute(condition, case)) for case in cases):
        raise Rejected("the claim is false on these numbers")
    return example.held | {number for number, p in parts if p in own}


class Example(Normal):
    """The sizes and entries that the hypotheses fix, and the normal form of what is written out in them."""

    def __init__(self, context: Context, tick: Callable[[], None]):
        super().__init__(context, tick=tick)
        self.plain = Normal(context, tick=tick)
        self.sizes: dict[str, int] = {}
        self.entries: dict[Term, Term] = {}
        self.written: dict[Term, Term] = {}
        self.held: set[int] = set()  # the numbers of the hypotheses that hold

    # -- what the hypotheses fix -------------------------------------------------------------------------------------

    def fix(self, parts: list[tuple[int, Term]]) -> None:
        """Take sizes and entries from the equations, then check all hypotheses."""
        parts = [(number, each) for number, p in parts for each in self.spread(p)]
        equations = [p.args for _, p in parts if p.op == "cmp" and p.value == "=="]
        known = -1
        while known < (known := len(self.sizes) + len(self.entries)):
            for left, right in equations:
                self.take(left, right)
                self.take(right, left)
        self.forget()  # what was asked before all was known
        if min(self.sizes.values(), default=1) < 1:
            raise Rejected("an axis has at least one index")
        for entry, value in self.entries.items():
            self.admit(entry, value)
        met = [(number, self.met(p)) for number, p in parts]
        if any(m is False for _, m in met):
            raise Rejected("the hypotheses contradict each other")
        self.held = {number for number, _ in met} - {number for number, m in met if m is None}

    def spread(self, part: Term) -> list[Term]:
        """`z == [a, b]` as z[0] == a and z[1] == b, the list giving the axis its size."""
        if part.op != "cmp" or part.args[1].op != "list":
            return [part]
        entry, values = part.args
        axes = axes_of(entry, self.context)[len(entry.args) :] if entry.op == "var" else ()
        if part.value != "==" or not axes or self.sizes.setdefault(axes[0], len(values.args)) != len(values.args):
            raise Rejected("a list does not fit the axes of its variable, or is not equal to it")
        entries = [make("var", (*entry.args, num(p)), entry.value) for p in range(len(values.args))]
        return [each for e, v in zip(entries, values.args, strict=True) for each in self.spread(cmp("==", e, v))]

    def take(self, target: Term, value: Term) -> None:
        """Let the equation fix its left side, where that is a size or entries and the right side has a value."""
        try:
            if target.op == "size":
                self.sizes.setdefault(target.value, int(self.whole(value, None).value))
            elif target.op == "var":
                for case in self.choices(target.letters | value.letters):
                    entry = rebuild(target, [self.write(substitute(a, case)) for a in target.args])
                    if entry not in self.entries:
                        self.entries[entry] = self.write(substitute(value, case))
        except NoValue:
            return

    def admit(self, entry: Term, value: Term) -> None:
        """Raise Rejected unless the value is one that the declaration of the entry admits."""
        declaration = self.context.declarations[entry.value]
        if declaration.kind in KIND and sign(self, value) & ~KIND[declaration.kind]:
            raise Rejected(f"{entry.value} is declared {declaration.kind}")
        if declaration.kind in ("bit", "index", "integer"):
            self.whole(value, {"bit": 2, "integer": None}.get(declaration.kind, self.sizes.get(declaration.over or "")))
        elif declaration.kind == "random":
            raise Rejected(f"{entry.value} is random and has no value")

    def whole(self, term: Term, below: int | None) -> Term:
        """The value as a whole number, from 0 up to `below` where that is given."""
        value = constant(self.poly(self.write(term)))
        if value is None or value.denominator != 1 or not (below is None or 0 <= value < below):
            raise Rejected("a number is not whole or out of its range")
        return num(value)

    def met(self, condition: Term) -> bool | None:
        """Whether a hypothesis holds for all values of its letters; None where it speaks of what is not fixed."""
        try:
            return self.truth(over("all", condition, *condition.letters))
        except NoValue:
            return None

    def within(self, term: Term) -> None:
        """Raise Rejected for an index by a number that its axis does not have: a normal form would not see it."""
        for t in subterms(term):
            axes = axes_of(t, self.context) if t.op in ("var", "def") else ()
            if t.op == "delta":
                axes = 2 * tuple(subscript_axis(a, self.context) for a in t.args if a.op != "num")
            for a, axis in zip(t.args, axes, strict=False):
                if a.op == "num" and a is not num(0):
                    self.whole(a, self.size(axis))

    # -- writing out -------------------------------------------------------------------------------------------------

    def choices(self, letters: Iterable[Term]) -> Iterator[dict[Term, Term]]:
        """Every way to give the letters values."""
        ordered = sorted(letters, key=lambda k: str(k.value))
        ranges = [range(self.size(k.value[1])) for k in ordered]
        return (dict(zip(ordered, map(num, values), strict=True)) for values in product(*ranges))

    def size(self, axis: str) -> int:
        if axis not in self.sizes:
            raise NoValue(f"nothing fixes the size of {axis}")
        return self.sizes[axis]

    def instances(self, term: Term) -> list[tuple[dict[Term, Term], Term]]:
        """The bodies of a binder, written out, at the letters that its filter admits."""
        cases = [c for c in self.choices(term.bound) if self.value(substitute(term.args[1], c))]
        return [(c, self.write(substitute(term.args[0], c))) for c in cases]

    def write(self, term: Term) -> Term:
        """The term without letters, binders and names: arithmetic and functions of numbers."""
        if term not in self.written:
            self.written[term] = self.write_out(term)
        return self.written[term]

    def write_out(self, term: Term) -> Term:
        op, args = term.op, term.args
        if op == "size":
            return num(self.size(term.value))
        if op in ("var", "def"):
            axes = axes_of(term, self.context)
            entry = rebuild(term, [self.whole(a, self.size(axis)) for a, axis in zip(args, axes, strict=True)])
            if op == "def":
                return self.write(self.unfold(entry))
            if entry not in self.entries:
                raise NoValue(f"nothing fixes {term.value}")
            return self.entries[entry]
        if op == "where":
            return self.write(args[1] if self.value(args[0]) else args[2])
        if op in NONLOCAL:  # by its closed form
            form = self.plain.canonical(term)
            if any(t.op in NONLOCAL for t in subterms(form)):
                raise Rejected(f"there is no closed form of this {op}")
            return self.write(form)
        if not term.bound:
            return rebuild(term, [self.write(a) for a in args])
        cases = self.instances(term)
        if op in ("sum", "prod"):
            return (add if op == "sum" else mul)(*(value for _, value in cases))
        if op in ("all", "any"):
            return make("and" if op == "all" else "or", [value for _, value in cases])
        if not cases:
            raise Rejected(f"{op} over nothing")
        case, value = cases[0]
        for other in cases[1:]:
            if self.value(cmp("<" if op == "min" else ">", other[1], value)):
                case, value = other
        return case[term.bound[0]] if op == "argmax" else value

    # -- values ------------------------------------------------------------------------------------------------------

    def truth(self, condition: Term) -> bool:
        """Whether a condition without free letters holds. All its parts must be defined."""
        for need in domain.needs(self.plain, condition):
            for case in self.choices(need.letters):
                if all(self.value(substitute(g, case)) for g in need.guards):
                    self.require(substitute(need.condition, case))
        return self.value(condition)

    def require(self, condition: Term) -> None:
        """Raise Rejected unless a need is met."""
        if condition.op in ("max", "min", "argmax"):  # a derivative needs one place where it is attained
            top = make("min" if condition.op == "min" else "max", condition.args, None, condition.bound)
            met = sum(self.value(cmp("==", value, top)) for _, value in self.instances(condition)) == 1
        elif condition.op in CONDITIONS:
            met = self.value(condition)
        else:
            met = domain.met(self.plain, domain.Need(condition), ())
        if not met:
            raise Rejected("it is not known to have a value there")

    def value(self, condition: Term) -> bool:
        """Whether a condition without free letters holds, in total semantics."""
        found = constant(self.condition(self.write(condition)))
        if found is None:
            raise Rejected("two numbers are too close to be told apart")
        return found == 1

    def extended(self, guards: tuple[Term, ...]) -> Normal | None:
        """The example, where the conditions hold in it."""
        return self if all(map(self.value, guards)) else None

    def facts_about(self, term: Term, strict: bool = False) -> int:
        """The sign of a number in normal form."""
        found = number_signs(self, term, LADDER)
        if found == ANY:
            raise Rejected("two numbers are too close to be told apart")
        return found

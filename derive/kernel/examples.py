"""Finite examples: hypotheses such as `z == [2, 1]` give sizes and entries, and a claim is decided on those numbers.

Expressions are written out over the sizes, then enclosed between rationals at growing precision. A relation is shown by
enclosures that exclude each other, by exact rationals or, for equality, by one normal form. What has no value there, or
cannot be told, is `Rejected`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from derive.kernel import domain, intervals
from derive.kernel.check import pure_index
from derive.kernel.context import Context
from derive.kernel.functions import BY_CASES, UNFOLD
from derive.kernel.intervals import FUNCTIONS, OPERATORS, Imprecise, Interval
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected
from derive.kernel.signs import KIND, NEG, POS, RELATION, ZERO, split
from derive.kernel.wellformed import axes_of, subscript_axis, well_formed
from derive.term import CONDITIONS, NONLOCAL, PI, Term, add, cmp, make, mul, num, over, rebuild, substitute, subterms

LADDER = (64, 128, 256, 512, 1024, 2048, 4096)  # bits, in turn
REWRITTEN = UNFOLD | BY_CASES  # functions in terms of those that are enclosed


class NoValue(Rejected):
    """An expression holds a variable or a size that no hypothesis fixes."""


def decide(condition: Term, context: Context, tick: Callable[[], None] = lambda: None) -> set[int]:
    """The numbers of the hypotheses that a claim on the numbers that they give rests on: one that speaks of what is
    not fixed is not used. Raises Rejected unless the claim is shown to hold.
    """
    well_formed(condition, context)
    parts = [(number, part) for number, h in enumerate(context.hypotheses) for part in split(h)]
    own = {p for _, p in parts if pure_index(p, context) or not p.letters.isdisjoint(context.letters)}
    example = Example(context, tick)
    met = example.fix([(number, p) for number, p in parts if p not in own])
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
    return met | {number for number, p in parts if p in own}


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
        """Take sizes and entries from the equations, then check all hypotheses; the numbers of those that hold."""
        parts = [(number, each) for number, p in parts for each in self.spread(p)]
        equations = [p.args for _, p in parts if p.op == "cmp" and p.value == "=="]
        known = -1
        while known < (known := len(self.sizes) + len(self.entries)):
            for left, right in equations:
                self.take(left, right)
                self.take(right, left)
        if min(self.sizes.values(), default=1) < 1:
            raise Rejected("an axis has at least one index")
        for entry, value in self.entries.items():
            self.admit(entry, value)
        met = [(number, self.met(p)) for number, p in parts]
        if any(m is False for _, m in met):
            raise Rejected("the hypotheses contradict each other")
        return {number for number, _ in met} - {number for number, m in met if m is None}

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
        if declaration.kind in KIND and not self.compare(value, num(0)) & KIND[declaration.kind]:
            raise Rejected(f"{entry.value} is declared {declaration.kind}")
        if declaration.kind in ("bit", "index", "integer"):
            self.whole(value, {"bit": 2, "integer": None}.get(declaration.kind, self.sizes.get(declaration.over or "")))
        elif declaration.kind == "random":
            raise Rejected(f"{entry.value} is random and has no value")

    def whole(self, term: Term, below: int | None) -> Term:
        """The value as a whole number, from 0 up to `below` where that is given."""
        x = self.enclose(self.write(term), LADDER[0])
        if not x.exact or x.low.denominator != 1 or not (below is None or 0 <= x.low < below):
            raise Rejected("a number is not whole or out of its range")
        return num(x.low)

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
        """The bodies of a binder at the letters that its filter admits."""
        cases = [c for c in self.choices(term.bound) if self.truth(substitute(term.args[1], c))]
        return [(c, substitute(term.args[0], c)) for c in cases]

    def write(self, term: Term) -> Term:
        """The term without letters, binders and names: arithmetic and functions of numbers."""
        if term not in self.memo:
            self.tick()
            self.memo[term] = self.written(term)
        return self.memo[term]

    def written(self, term: Term) -> Term:
        op, args = term.op, term.args
        if op in ("num", "const"):
            return term
        if op == "size":
            return num(self.size(term.value))
        if op in ("var", "def"):
            axes = axes_of(term, self.context)
            entry = rebuild(term, [self.whole(a, self.size(axis)) for a, axis in zip(args, axes, strict=True)])
            if op == "def":
                return self.write(self.nf.unfold(entry))
            if entry not in self.entries:
                raise NoValue(f"nothing fixes {term.value}")
            return self.entries[entry]
        if op == "delta":
            return num(1) if self.compare(*map(self.write, args)) == ZERO else num(0)
        if op == "where":
            return self.write(args[1] if self.truth(args[0]) else args[2])
        if op in NONLOCAL:
            return self.formal(term)
        if term.bound:
            return self.quantified(term)
        if op == "fn" and term.value in REWRITTEN:
            return self.write(REWRITTEN[term.value](*args))
        if op in OPERATORS or op == "fn":
            return rebuild(term, [self.write(a) for a in args])
        raise Rejected(f"{op} has no value in an example")

    def quantified(self, term: Term) -> Term:
        cases = [(c, self.write(body)) for c, body in self.instances(term)]
        if not cases and term.op not in ("sum", "prod"):
            raise Rejected(f"{term.op} over nothing")
        if term.op in ("sum", "prod"):
            return (add if term.op == "sum" else mul)(*(value for _, value in cases))
        case, value = cases[0]
        for other in cases[1:]:
            if self.compare(other[1], value) == (NEG if term.op == "min" else POS):
                case, value = other
        return case[term.bound[0]] if term.op == "argmax" else value

    def formal(self, term: Term) -> Term:
        """A derivative, replacement, limit or mean by its closed form, at a point where all that it needs holds."""
        for need in domain.needs(self.nf, term):
            for case in self.choices(need.letters):
                if all(self.truth(substitute(g, case)) for g in need.guards):
                    self.require(substitute(need.condition, case))
        form = self.nf.canonical(term)
        if any(t.op in NONLOCAL for t in subterms(form)):
            raise Rejected(f"there is no closed form of this {term.op}")
        return self.write(form)

    def require(self, condition: Term) -> None:
        """Raise Rejected unless a need is met."""
        if condition.op in ("max", "min", "argmax"):  # a derivative needs one place where it is attained
            top = self.write(make("min" if condition.op == "min" else "max", condition.args, None, condition.bound))
            met = sum(self.compare(self.write(body), top) == ZERO for _, body in self.instances(condition)) == 1
        elif condition.op in CONDITIONS:
            met = self.truth(condition)
        else:
            met = domain.met(self.nf, domain.Need(condition), ())
        if not met:
            raise Rejected("a derivative, limit or mean is not known to exist there")

    # -- values ------------------------------------------------------------------------------------------------------

    def truth(self, condition: Term) -> bool:
        """Whether a condition without free letters holds. All its parts must have values."""
        op, args = condition.op, condition.args
        if op in ("true", "false"):
            return op == "true"
        if op == "cmp":
            return bool(self.compare(*map(self.write, args)) & RELATION[condition.value])
        if op == "holds":
            return self.compare(self.write(args[0]), num(0)) != ZERO
        if op == "not":
            return not self.truth(args[0])
        if op in ("and", "or", "all", "any"):
            parts = args if op in ("and", "or") else [body for _, body in self.instances(condition)]
            found = [self.truth(part) for part in parts]
            return all(found) if op in ("and", "all") else any(found)
        raise Rejected(f"{op} is not a condition")

    def compare(self, left: Term, right: Term) -> int:
        """The sign of left - right for written out terms."""
        form = False
        for bits in LADDER:
            try:
                a, b = self.enclose(left, bits), self.enclose(right, bits)
            except Imprecise:
                continue
            if a.high < b.low or b.high < a.low:
                return POS if a.low > b.high else NEG
            if left is right or (a.exact and b.exact):
                return ZERO
            if not form and self.same(left, right):
                return ZERO
            form = True
        raise Rejected("two numbers are too close to be told apart")

    def same(self, left: Term, right: Term) -> bool:
        try:
            return self.nf.equal(left, right)
        except Rejected:
            return False

    def enclose(self, term: Term, bits: int) -> Interval:
        """An enclosure of a written out term; raises Rejected where it has no value."""
        slot = (term, bits)
        if slot not in self.enclosures:
            self.tick()
            self.enclosures[slot] = self.enclosed(term, bits)
        return self.enclosures[slot]

    def enclosed(self, term: Term, bits: int) -> Interval:
        if term.op == "num":
            return intervals.number(term.value, bits)
        if term is PI:
            return intervals.pi(bits)
        f = OPERATORS.get(term.op) or FUNCTIONS.get(term.value if term.op == "fn" else "")
        if f is None:
            raise Rejected(f"there is no enclosure of {term.value or term.op}")
        return f(*(self.enclose(a, bits) for a in term.args))

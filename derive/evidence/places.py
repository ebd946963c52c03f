"""Where a term is evaluated: sizes, values of the entries, laws of the random ones.

An `Evaluation` is a place to look entries up. `at`, `diff` and `E` evaluate their body in a child that changes some
entries: all at once to given values, one of them by a nilpotent epsilon, the random ones to symbols or drawn values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from flint import fmpq

from derive.evidence.laws import Law
from derive.evidence.numbers import ONE, NotDecided, Number, Scalar, Series, epsilon, sign, standard
from derive.kernel.context import Context
from derive.term import Term

Letters = dict[Term, int]
Entry = tuple[str, tuple[int, ...]]
Operator = Callable[["Evaluation", Term, Letters], Number]
Judge = Callable[["Evaluation", Term, Letters], "Judged"]
LIMIT_COST = 60  # what a node costs inside a limit, where numbers are power series
CONTINUOUS = frozenset({"real", "positive", "nonnegative", "random"})


class Exhausted(Exception):
    """The work allowed for an evaluation is used up."""


class NeedsDraw(Exception):
    """A random entry is asked for that has not been drawn yet."""

    def __init__(self, entry: Entry):
        super().__init__(entry)
        self.entry = entry


@dataclass(frozen=True)
class Closed:
    """An entry that is what a term says at the point itself: a hypothesis gives it so."""

    term: Term
    letters: Letters = field(hash=False)


class Budget:
    """How many nodes may still be visited; `rough` where wide enclosures will do.

    `final`: what was found is no better at a higher precision.
    """

    def __init__(self, left: int, rough: bool = False):
        self.left, self.rough, self.final = left, rough, False

    def spend(self, nodes: int = 1) -> None:
        self.left -= nodes
        if self.left < 0:
            raise Exhausted


class Scope:
    """What the names of a context rest on, and the meaning of the operators: a function for each."""

    def __init__(self, context: Context, values: Mapping[str, Operator], conditions: Mapping[str, Judge]):
        self.context, self.values, self.conditions = context, values, conditions
        self.definitions = context.definitions
        self.continuous = frozenset(n for n, d in context.declarations.items() if d.kind in CONTINUOUS)
        self.random = frozenset(n for n, d in context.declarations.items() if d.kind == "random")
        self.means: dict[Any, int] = {}  # how often it was asked in vain whether a mean is infinite
        self._names: dict[Term, frozenset[str]] = {}
        self._closed: dict[str, frozenset[str]] = {}

    def names(self, term: Term) -> frozenset[str]:
        """All names the term's value may depend on, through definitions and the parameters of laws."""
        found = self._names.get(term)
        if found is None:
            found = frozenset().union(*(self._closure(n) for n in term.names)) if term.names else frozenset()
            self._names[term] = found
        return found

    def _closure(self, name: str) -> frozenset[str]:
        if name not in self._closed:
            reached, stack = set(), [name]
            while stack:
                top = stack.pop()
                if top not in reached:
                    reached.add(top)
                    stack.extend(n for term in self._rests_on(top) for n in term.names)
            self._closed[name] = frozenset(reached)
        return self._closed[name]

    def _rests_on(self, name: str) -> tuple[Term, ...]:
        if name in self.definitions:
            return (self.definitions[name].body,)
        declaration = self.context.declarations.get(name)
        return declaration.law.parameters if declaration is not None and declaration.law is not None else ()

    def varies(self, term: Term) -> bool:
        """Whether the term depends on a continuous variable."""
        return not self.continuous.isdisjoint(self.names(term))


@dataclass(frozen=True)
class Judged:
    """A condition's truth at the point. `stable`: it holds around the point as well.

    If it is one comparison that is not stable, `crossing` tells by which epsilons it certainly changes sides, and
    `relation` is the comparison.
    """

    truth: bool
    stable: bool = True
    crossing: Mapping[int, bool] = field(default_factory=dict)
    relation: str = ""


class Evaluation:
    """The point itself: values of the entries, laws of the random ones."""

    def __init__(
        self,
        scope: Scope,
        sizes: dict[str, int],
        entries: dict[Entry, Scalar | Closed],
        laws: dict[Entry, Law] | None = None,
        budget: Budget | None = None,
        parent: Evaluation | None = None,
        changed: frozenset[str] = frozenset(),
        fixed: Letters | None = None,
    ):
        self.scope, self.sizes, self.entries, self.laws = scope, sizes, entries, laws or {}
        self.budget = budget or Budget(10_000_000)
        self.parent, self.changed = parent, changed
        self.fixed: Letters = parent.fixed if parent else fixed or {}  # the declared indices, which definitions may use
        self.active: int = parent.active if parent else 0  # the epsilons of the derivatives we are inside
        self.edge: int = parent.edge if parent else 0  # those of them at the end of what is declared
        self.memo: dict[Any, Number] = {}
        self.children: dict[Any, Evaluation] = {}
        self.touched: set[Entry] = parent.touched if parent else set()
        self.variants: Mapping[str, Any] = {}  # which of the laws that a declaration leaves open each random name has
        self.roots: tuple[Any, ...] = ()  # equations that hold for some number in the ball which an entry is

    def entry(self, entry: Entry) -> Number:
        """The value of one entry."""
        self.touched.add(entry)
        try:
            value = self.entries[entry]
        except KeyError:
            raise NotDecided(f"no value for {entry[0]}") from None
        if not isinstance(value, Closed):
            return value
        if entry not in self.memo:
            self.memo[entry] = standard(self.value(value.term, value.letters))
        return self.memo[entry]

    # -- values --

    def value(self, term: Term, letters: Letters) -> Number:
        """The value of the term. Raises NotDefined, NotDecided or Exhausted."""
        self.budget.spend()
        return self.scope.values[term.op](self, term, letters)

    def number(self, term: Term, letters: Letters) -> int:
        """The value of a subscript."""
        if term.op == "index":
            return self.letter(term, letters)
        found = standard(self.value(term, letters))
        if not isinstance(found, fmpq) or found.q != 1:
            raise NotDecided("a subscript")
        return int(found.p)

    def letter(self, term: Term, letters: Letters) -> int:
        """The value of a letter."""
        if term not in letters:
            raise NotDecided(f"no value for {term.value[0]}")
        return letters[term]

    def subscripts(self, term: Term, letters: Letters) -> tuple[int, ...]:
        return tuple(self.number(a, letters) for a in term.args)

    def assignments(self, bound: Iterable[Term], letters: Letters) -> Iterator[Letters]:
        """The letters with all values of the bound ones."""
        bound = tuple(bound)
        for choice in product(*(range(self.sizes[k.value[1]]) for k in bound)):
            yield {**letters, **dict(zip(bound, choice, strict=True))}

    def selected(self, term: Term, letters: Letters) -> Iterator[Letters]:
        """The assignments of a binder's letters that pass its filter."""
        condition = term.args[1]
        for inner in self.assignments(term.bound, letters):
            if condition.op == "true" or self.decide(condition, inner):
                yield inner

    def home(self, term: Term) -> Evaluation:
        """The outermost evaluation in which the term has the same value, so that its value is found once."""
        names, here = self.scope.names(term), self
        while here.parent is not None and here.changed.isdisjoint(names):
            if here.active != here.parent.active and not self.scope.continuous.isdisjoint(names):
                break
            here = here.parent
        return here

    def remembered(self, key: Any, term: Term, find: Callable[[Evaluation], Number]) -> Number:
        here = self.home(term)
        if key not in here.memo:
            here.memo[key] = find(here)
        return here.memo[key]

    # -- conditions --

    def decide(self, condition: Term, letters: Letters) -> bool:
        """The truth of a condition that must not change around the point."""
        found = self.judge(condition, letters)
        if self.active and not found.stable:
            raise NotDecided("whether a condition changes at this point")
        return found.truth

    def judge(self, condition: Term, letters: Letters) -> Judged:
        """The truth of the condition, and whether it changes around the point."""
        self.budget.spend()
        return self.scope.conditions[condition.op](self, condition, letters)

    # -- children --

    def differentiating(self, entry: Entry) -> Derivative:
        """This evaluation with an epsilon added to the entry."""
        key = ("diff", entry)
        if key not in self.children:
            self.children[key] = Derivative(self, entry)
        return self.children[key]  # type: ignore[return-value]


class Derivative(Evaluation):
    """The parent with an epsilon added to one entry."""

    def __init__(self, parent: Evaluation, entry: Entry):
        super().__init__(parent.scope, parent.sizes, {}, parent.laws, parent.budget, parent, frozenset({entry[0]}))
        self.target = entry
        self.bit = 1 << parent.active.bit_count()
        self.active = parent.active | self.bit
        if self.scope.context.declarations[entry[0]].kind == "nonnegative" and sign(standard(parent.entry(entry))) != 1:
            self.edge = parent.edge | self.bit

    def entry(self, entry: Entry) -> Number:
        value = self.parent.entry(entry)  # type: ignore[union-attr]
        return epsilon(value, self.bit) if entry == self.target else value


class Replaced(Evaluation):
    """The parent with every entry of one name replaced by a term, which is evaluated in the parent."""

    def __init__(self, parent: Evaluation, term: Term, letters: Letters):
        super().__init__(parent.scope, parent.sizes, {}, parent.laws, parent.budget, parent, frozenset({term.value}))
        self.term, self.letters = term, letters

    def entry(self, entry: Entry) -> Number:
        parent = self.parent
        assert parent is not None
        if entry[0] != self.term.value:
            return parent.entry(entry)
        if entry not in self.memo:
            bound = dict(zip(self.term.bound, entry[1], strict=True))
            self.memo[entry] = parent.value(self.term.args[1], {**self.letters, **bound})
        return self.memo[entry]


class Limiting(Evaluation):
    """The parent with one entry on its way to a limit."""

    def __init__(self, parent: Evaluation, target: Entry, value: Number):
        super().__init__(parent.scope, parent.sizes, {}, parent.laws, parent.budget, parent, frozenset({target[0]}))
        self.target, self.limit = target, value

    def value(self, term: Term, letters: Letters) -> Number:
        self.budget.spend(LIMIT_COST)
        return super().value(term, letters)

    def entry(self, entry: Entry) -> Number:
        return self.limit if entry == self.target else self.parent.entry(entry)  # type: ignore[union-attr]


class Random(Evaluation):
    """The parent with the random entries drawn; those not drawn are symbols, or asked for, if `drawn` is given."""

    def __init__(self, parent: Evaluation, drawn: dict[Entry, Scalar] | None):
        super().__init__(parent.scope, parent.sizes, {}, parent.laws, parent.budget, parent, parent.scope.random)
        self.drawn = drawn

    def entry(self, entry: Entry) -> Number:
        if entry[0] not in self.changed:
            return self.parent.entry(entry)  # type: ignore[union-attr]
        self.touched.add(entry)
        if self.drawn is None:
            return Series({(0, ((entry, 1),)): ONE})
        if entry not in self.drawn:
            raise NeedsDraw(entry)
        return self.drawn[entry]

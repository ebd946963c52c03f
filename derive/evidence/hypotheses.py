"""Hypotheses as they are met: split into single conditions over their letters, built into a point and held there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product

from flint import fmpq

from derive.evidence.laws import VARIANTS, Variant, admitted, realise
from derive.evidence.numbers import NotDecided, NotDefined, NotPolynomial, Scalar, sign, standard
from derive.evidence.places import Budget, Closed, Entry, Evaluation, Letters, Scope
from derive.kernel.context import Declaration
from derive.term import Term

LAW_COST = 3  # what a law costs, in nodes visited
FAILURES = (NotDefined, NotDecided, NotPolynomial, RecursionError)


@dataclass(frozen=True)
class Requirement:
    """A condition that has to hold for all values of its letters that pass the filters."""

    condition: Term
    letters: tuple[Term, ...] = ()
    filters: tuple[Term, ...] = ()

    @property
    def equation(self) -> bool:
        return self.condition.op == "cmp" and self.condition.value == "==" and self.condition.args[1].op != "list"


def requirements(hypothesis: Term, fixed: frozenset[Term] = frozenset()) -> Iterator[Requirement]:
    """The hypothesis closed over its free letters but the fixed ones, conjunctions and `all` taken apart."""
    yield from _split(hypothesis, tuple(sorted(hypothesis.letters - fixed, key=lambda k: k.value)), ())


def _split(condition: Term, letters: tuple[Term, ...], filters: tuple[Term, ...]) -> Iterator[Requirement]:
    if condition.op == "and":
        for part in condition.args:
            yield from _split(part, letters, filters)
    elif condition.op == "all":
        yield from _split(condition.args[0], letters + condition.bound, (*filters, condition.args[1]))
    else:
        yield Requirement(condition, letters, filters)


@dataclass(frozen=True)
class Instance:
    """A requirement with values for its letters."""

    requirement: Requirement
    letters: Letters = field(hash=False)


def instances(needed: Iterable[Requirement], here: Evaluation) -> Iterator[Instance]:
    """All instances of the requirements at the point's sizes."""
    for requirement in needed:
        for letters in here.assignments(requirement.letters, here.fixed):
            if all(here.decide(f, letters) for f in requirement.filters):
                yield Instance(requirement, letters)


# -- equations that say what a name is ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Determined:
    """A hypothesis that gives every entry of a name by a term in other names.

    It is met by construction, unless it has more letters than the name: the term is then taken at their first values.
    """

    name: str
    letters: tuple[Term, ...]
    value: Term
    more: tuple[Term, ...] = ()


def determined(needed: Iterable[Requirement], scope: Scope, apart: frozenset[str]) -> dict[Requirement, Determined]:
    """The requirements that say what a name is, none of them resting on itself, names in `apart` left alone."""
    found: dict[Requirement, Determined] = {}
    rests: dict[str, frozenset[str]] = {}
    for requirement, side in product(needed, (0, 1)):
        row = _determination(requirement, side, scope) if requirement not in found else None
        if row is None or row.name in apart or row.name in rests:
            continue
        if row.name not in _reached(scope.names(row.value), rests):
            found[requirement] = row
            rests[row.name] = scope.names(row.value)
    return found


def _determination(requirement: Requirement, side: int, scope: Scope) -> Determined | None:
    if not requirement.equation or requirement.filters:
        return None
    entry, value = requirement.condition.args[side], requirement.condition.args[1 - side]
    declaration = scope.context.declarations.get(entry.value) if entry.op == "var" else None
    if declaration is None or declaration.kind in ("random", "index"):
        return None
    letters = entry.args
    if not set(letters) <= set(requirement.letters) or len(set(letters)) < len(letters):
        return None
    return Determined(entry.value, letters, value, tuple(k for k in requirement.letters if k not in letters))


def _reached(names: frozenset[str], rests: Mapping[str, frozenset[str]]) -> set[str]:
    reached, stack = set(), list(names)
    while stack:
        top = stack.pop()
        if top not in reached:
            reached.add(top)
            stack.extend(rests.get(top, ()))
    return reached


# -- points in the making ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Draft:
    """A point in the making: sizes, entries, declared indices, and which of its laws each random name takes."""

    sizes: dict[str, int]
    entries: dict[Entry, Scalar]
    variants: dict[str, Variant] = field(default_factory=dict)
    fixed: Letters = field(default_factory=dict)
    roots: tuple[Instance, ...] = ()  # equations that hold for some number in the ball which an entry is

    def rooted(self, entry: Entry, ball: Scalar, equation: Instance) -> Draft:
        """The draft with a ball for the entry in which the equation certainly has a root."""
        return replace(self, entries={**self.entries, entry: ball}, roots=(*self.roots, equation))

    def changed(self, new: dict[Entry, Scalar]) -> Draft:
        return replace(self, entries={**self.entries, **new})

    def with_variant(self, name: str, variant: Variant) -> Draft:
        return replace(self, variants={**self.variants, name: variant})


KINDS = {
    "real": lambda v, n: True,
    "positive": lambda v, n: v > 0,
    "nonnegative": lambda v, n: v >= 0,
    "integer": lambda v, n: v.q == 1,
    "bit": lambda v, n: v in (0, 1),
    "index": lambda v, n: v.q == 1 and 0 <= v < n,
}


def admits(declaration: Declaration, value: fmpq, sizes: Mapping[str, int]) -> bool:
    """Whether the declared kind admits the value."""
    return KINDS[declaration.kind](value, sizes.get(declaration.over or "", 0))


def _certainly_admits(declaration: Declaration, value: Scalar, sizes: Mapping[str, int]) -> bool:
    """Whether the kind admits the value, which may be a ball."""
    if isinstance(value, fmpq):
        return admits(declaration, value, sizes)
    return declaration.kind == "real" or (declaration.kind in ("positive", "nonnegative") and sign(value) == 1)


@dataclass(frozen=True)
class Needs:
    """What a point has to meet: the names it gives values, what other hypotheses say of them, what they determine."""

    scope: Scope
    names: tuple[str, ...]
    required: tuple[Requirement, ...] = ()
    determined: tuple[Determined, ...] = ()

    def build(
        self, draft: Draft, budget: Budget, strict: bool = True, laws: frozenset[str] | None = None
    ) -> Evaluation | None:
        """The evaluation at the draft's point; None where the declarations do not admit it.

        Without `strict`, entries may be outside of what is declared: to see how an equation changes with them.
        `laws` are the random names that matter, if not all.
        """
        declared = self.scope.context.declarations
        given = draft.entries.items()
        if strict and not all(_certainly_admits(declared[name], v, draft.sizes) for (name, _), v in given):
            return None
        here = Evaluation(self.scope, draft.sizes, dict(draft.entries), {}, budget, fixed=draft.fixed)
        here.variants, here.roots = draft.variants, draft.roots
        budget.spend(len(draft.entries))
        for row in self.determined:
            for place in product(*(range(draft.sizes[axis]) for axis in declared[row.name].axes)):
                letters = {**draft.fixed, **dict.fromkeys(row.more, 0), **dict(zip(row.letters, place, strict=True))}
                here.entries[row.name, place] = Closed(row.value, letters)
        try:
            wanted = [n for n in self.names if declared[n].law is not None and (laws is None or n in laws)]
            settled = {row.name for row in self.determined}
            wanted.sort(key=lambda n: not settled.isdisjoint(self.parameters(n)))  # a mean may be what a law rests on
            if not all(_realised(here, declared[name], draft) for name in wanted):
                return None
            for entry in [e for e, value in here.entries.items() if isinstance(value, Closed)]:
                if strict and not _certainly_admits(declared[entry[0]], standard(here.entry(entry)), draft.sizes):
                    return None
        except FAILURES:
            return None
        return here

    def parameters(self, name: str) -> frozenset[str]:
        """The names that the parameters of the random name's law rest on."""
        law = self.scope.context.declarations[name].law
        return frozenset().union(*(self.scope.names(p) for p in law.parameters)) if law is not None else frozenset()

    def broken(self, here: Evaluation) -> Iterator[Instance]:
        """The instances that do not certainly hold at the point."""
        return (i for i in instances(self.required, here) if i not in here.roots and not holds(here, i))

    def met(self, here: Evaluation) -> bool:
        """Whether all requirements certainly hold at the point."""
        return next(self.broken(here), None) is None


def _realised(here: Evaluation, declaration: Declaration, draft: Draft) -> bool:
    """Whether all entries of the random name have laws, which are then known at the point."""
    law = declaration.law
    assert law is not None
    fixed = None
    varies = bool(declaration.letters) and any(p.letters & set(declaration.letters) for p in law.parameters)
    for place in product(*(range(draft.sizes[axis]) for axis in declaration.axes)):
        found = fixed
        if found is None:
            letters = {**draft.fixed, **dict(zip(declaration.letters, place, strict=False))}
            parameters = [standard(here.value(p, letters)) for p in law.parameters]
            if not admitted(law.family, parameters):
                return False
            found = realise(law.family, parameters, draft.variants.get(declaration.name, 0))
            fixed = None if varies else found
        if found is None:
            return False
        here.laws[declaration.name, place] = found
        here.budget.spend(LAW_COST)
    return True


def holds(here: Evaluation, instance: Instance) -> bool:
    """Whether the instance certainly holds at the point."""
    try:
        return here.decide(instance.requirement.condition, instance.letters)
    except FAILURES:
        return False


def variants(declaration: Declaration) -> int:
    """How many laws there are to choose from for a random name."""
    return VARIANTS[declaration.law.family] if declaration.law else 1

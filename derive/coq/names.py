"""What a theory's names are called in Coq, and what a definition is applied to.

Every name of the user's gets a prefix, so that none can hide one of Coq's: `u_z` a variable or definition, `n_m` the
size of an axis, `i_k` an index, `H…` what is known of one, `t_name_1` the first claim of a theorem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from derive.kernel.context import Context, Declaration, Definition, Law
from derive.term import TWO, Term, make, power, subterms


class NotExported(Exception):
    """What Coq cannot be told yet; the message is the reason, for the reader."""


def variable(name: str) -> str:
    return f"u_{name}"


def axis(name: str) -> str:
    return f"n_{name}"


def letter(term: Term) -> str:
    return "i_" + re.sub(r"\W", "'", term.value[0])  # the kernel's own letters have signs in them


def theorem(name: str, number: int) -> str:
    return f"t_{name}_{number}"


TYPES = {"index": "nat"}


def kind_type(declaration: Declaration) -> str:
    """The Coq type of a declared name."""
    if len(declaration.axes) > 2:
        raise NotExported(f"{declaration.name} has more than two axes")
    value = "Omega -> R" if declaration.law is not None else TYPES.get(declaration.kind, "R")
    return " -> ".join(["nat"] * len(declaration.axes) + [value])


LAWS = {"random": "moments", "normal": "normally"}  # what coq/Moments.v calls them


def law_of(context: Context, term: Term) -> Law | None:
    """The law of a random entry; None where it is none."""
    declaration = context.declarations.get(term.value) if term.op == "var" else None
    if declaration is None or declaration.law is None:
        return None
    if declaration.law.family not in LAWS:
        raise NotExported(f"it speaks of a random variable of the law {declaration.law.family}")
    return declaration.law


def outside_means(term: Term) -> Iterator[Term]:
    """The parts of a term that are not averaged out."""
    stack = [term]
    while stack:
        t = stack.pop()
        if t.op not in MEANS:
            yield t
            stack.extend(t.args)


MEANS = frozenset({"E", "Var", "Cov"})


def averaged(term: Term) -> tuple[Term, ...]:
    """All that a mean, variance or covariance takes the mean of."""
    if term.op == "E":
        return term.args
    if term.op == "Var":
        return (*term.args, power(term.args[0], TWO))
    return (*term.args, make("mul", term.args))


def axes_of(term: Term) -> set[str]:
    """The axes that occur in a term."""
    found: set[str] = set()
    for t in subterms(term):
        found |= {k.value[1] for k in (*t.bound, *t.letters)}
        if t.op == "size":
            found.add(t.value)
    return found


@dataclass(frozen=True)
class Applied:
    """A definition in Coq: its name, and the axes, variables and fixed letters it is applied to before subscripts."""

    name: str
    axes: tuple[str, ...]
    variables: tuple[str, ...]
    fixed: tuple[Term, ...]
    definition: Definition
    random: bool = False  # whether it speaks of random variables
    sample: bool = False  # whether it is a function of the sample point


@dataclass
class Scope:
    """The names of one claim: what is declared, what is defined, and in which order Coq is told."""

    context: Context
    prefix: Mapping[str, str] = field(default_factory=dict)  # of a theorem's own definitions
    defined: dict[str, Applied] = field(default_factory=dict)
    random: tuple[str, ...] = ()  # the random names of the claim, in the order in which they are told

    def __post_init__(self) -> None:
        for d in self.context.definitions.values():
            axes, variables, fixed = self.needs((d.body,), d.letters)
            name = f"u_{self.prefix.get(d.name, '')}{d.name}"
            random = any(
                self.context.declarations[v].law is not None for v in variables if v in self.context.declarations
            )
            self.defined[d.name] = Applied(name, axes, variables, fixed, d, random, random and self.sample(d.body))

    def sample(self, term: Term) -> bool:
        """Whether the term's value depends on the sample point."""
        return any(
            law_of(self.context, t) is not None
            or t.op == "def"
            and t.value in self.defined
            and self.defined[t.value].sample
            for t in outside_means(term)
        )

    def of_law(self, name: str) -> set[str]:
        """The names in the parameters of a random name's law."""
        d = self.context.declarations.get(name)
        return set() if d is None or d.law is None else {n for p in d.law.parameters for n in p.names}

    def needs(
        self, terms: Iterable[Term], own: Iterable[Term] = (), laws: bool = False
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Term, ...]]:
        """The axes, variables and fixed letters that the terms rest on, with those of their laws if asked for."""
        axes: set[str] = set()
        variables: set[str] = set()
        fixed: set[Term] = set()
        for term in terms:
            axes |= axes_of(term)
            fixed |= term.letters & self.context.letters
            for name in term.names:
                if name in self.defined:
                    part = self.defined[name]
                    axes |= set(part.axes)
                    variables |= set(part.variables)
                    fixed |= set(part.fixed)
                else:
                    variables.add(name)
        for name in variables:
            d = self.context.declarations.get(name)
            if d is not None:
                axes |= {*d.axes, *(() if d.over is None else (d.over,))}
        axes |= {k.value[1] for k in fixed}
        variables |= {n for v in variables for n in self.of_law(v) if laws}
        return (
            tuple(a for a in self.context.axes if a in axes),
            tuple(n for n in self.context.declarations if n in variables),
            tuple(sorted(fixed - set(own), key=lambda k: str(k.value))),
        )

"""What a theory's names are called in Coq, and what a definition is applied to.

Every name of the user's gets a prefix, so that none can hide one of Coq's: `u_z` a variable or definition, `n_m` the
size of an axis, `i_k` an index, `H…` what is known of one, `t_name_1` the first claim of a theorem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from derive.kernel.context import Context, Declaration, Definition
from derive.term import Term, subterms


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
    if declaration.kind == "random":
        raise NotExported("it speaks of random variables")
    if len(declaration.axes) > 2:
        raise NotExported(f"{declaration.name} has more than two axes")
    return " -> ".join(["nat"] * len(declaration.axes) + [TYPES.get(declaration.kind, "R")])


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


@dataclass
class Scope:
    """The names of one claim: what is declared, what is defined, and in which order Coq is told."""

    context: Context
    prefix: Mapping[str, str] = field(default_factory=dict)  # of a theorem's own definitions
    defined: dict[str, Applied] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for d in self.context.definitions.values():
            axes, variables, fixed = self.needs((d.body,), d.letters)
            self.defined[d.name] = Applied(f"u_{self.prefix.get(d.name, '')}{d.name}", axes, variables, fixed, d)

    def needs(
        self, terms: Iterable[Term], own: Iterable[Term] = ()
    ) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Term, ...]]:
        """The axes, variables and fixed letters that the terms rest on, each in the order of the declarations."""
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
        return (
            tuple(a for a in self.context.axes if a in axes),
            tuple(n for n in self.context.declarations if n in variables),
            tuple(sorted(fixed - set(own), key=lambda k: str(k.value))),
        )

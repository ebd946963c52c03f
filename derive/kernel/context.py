"""What a claim rests on: declarations, definitions, hypotheses, lemmas. Plain data, checked where it is used."""

from __future__ import annotations

from dataclasses import dataclass, field

from derive.term import Letter, Term


@dataclass(frozen=True)
class Law:
    """The law of a random name: its family and parameters.

    `family` is random (mean, variance), normal (mu, var), bernoulli (p), uniform (a, b) or rademacher (); the
    parameters are terms in the declaration's letters.
    """

    family: str
    parameters: tuple[Term, ...] = ()


@dataclass(frozen=True)
class Declaration:
    """A declared name: kind real, positive, nonnegative, integer, bit, index or random, and its axes, outermost first.

    `z: real[n]` has axes ("n",). `t: index[n][B]` has kind index, axes ("B",) and its values range over "n"; a scalar
    `i: index[n]` that stands for a letter is not declared here but is the index term itself.
    """

    name: str
    kind: str
    axes: tuple[str, ...] = ()
    over: str | None = None
    law: Law | None = None
    letters: tuple[Letter, ...] = ()  # one for each axis; the law's parameters may use them
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Definition:
    """`name[letters] = body`."""

    name: str
    letters: tuple[Letter, ...]
    body: Term
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Lemma:
    """A claim proved before: claim `number` of `theorem`. It holds for all its free letters and all its `variables`.

    `hypotheses` are its own: what speaks of indices alone must hold for the letters of an instance, the others must be
    hypotheses of the theorem that uses it. Its theorem's own definitions are unfolded in the condition. What it rests
    on is that claim's, and stands in no certificate twice.
    """

    name: str
    condition: Term
    hypotheses: tuple[Term, ...] = field(default=(), compare=False)
    variables: tuple[Declaration, ...] = field(default=(), compare=False)
    theorem: str = ""
    number: int = 0
    letters: frozenset[Term] = field(default=frozenset(), compare=False)  # the fixed indices of its own context


@dataclass(frozen=True)
class Context:
    """Everything a claim may use."""

    axes: tuple[str, ...] = ()
    declarations: dict[str, Declaration] = field(default_factory=dict)
    definitions: dict[str, Definition] = field(default_factory=dict)
    hypotheses: tuple[Term, ...] = ()
    lemmas: tuple[Lemma, ...] = ()
    letters: frozenset[Term] = frozenset()  # declared fixed indices, `i: index[n]`
    _reached: dict[frozenset[str], frozenset[str]] = field(default_factory=dict, init=False, compare=False, repr=False)
    formed: dict[str, set[Term]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @property
    def example(self) -> bool:
        """Whether the hypotheses give the entries of an array as numbers."""
        return any(a.op == "list" for h in self.hypotheses for a in h.args)

    def reached(self, names: frozenset[str]) -> frozenset[str]:
        """All names that a term with these can depend on: by itself, through definitions or laws of random names."""
        known = self._reached.get(names)
        if known is None:
            found: set[str] = set()
            stack = list(names)
            while stack:
                name = stack.pop()
                if name not in found:
                    found.add(name)
                    stack += self.definitions[name].body.names if name in self.definitions else ()
                    law = self.declarations[name].law if name in self.declarations else None
                    stack += [n for p in law.parameters for n in p.names] if law else ()
            known = self._reached[names] = frozenset(found)
        return known

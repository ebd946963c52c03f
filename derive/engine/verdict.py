"""Verdicts as data: what checking a theory gives, for the command line, Python and reports alike."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from derive.kernel.context import Context
from derive.kernel.proof import Account, Line, Proof, Step
from derive.language.theory import Claim, Theorem, Theory
from derive.term import Term

ORDER = ("refuted", "undecided", "checked", "proved")  # a theorem's verdict is the weakest of its claims'


@dataclass(frozen=True)
class ClaimResult:
    """What is known of one claim. `proof` and `account` are there exactly when the verdict is proved."""

    claim: Claim
    verdict: str
    reason: str | None = None
    proof: Proof | None = None
    account: Account | None = None
    counterexample: dict[str, Any] | None = None
    hypotheses: tuple[Term, ...] = ()  # those the proof used
    seconds: float = 0.0
    context: Context | None = None  # what the proof rests on, for the certificate

    @property
    def rules(self) -> Counter[str]:
        """How often the proof uses each rule."""
        if self.proof is None:
            return Counter(["enclosure"] if self.account is not None else [])
        body = self.proof.claim
        while body.op == "all":
            body = body.args[0]
        judged = [] if (body.op, body.value) == ("cmp", "==") else ["sign judgement"]
        return Counter([*(part.rule for part in (*self.proof.steps, *self.proof.lines)), *judged])

    @property
    def lemmas(self) -> set[str]:
        """The names of the lemmas that the proof uses."""
        parts: tuple[Step | Line, ...] = (*self.proof.steps, *self.proof.lines) if self.proof is not None else ()
        numbers = {use.number for part in parts for use in part.uses if use.kind == "lemma"}
        return {self.context.lemmas[number].name for number in numbers} if self.context is not None else set()


@dataclass(frozen=True)
class TheoremResult:
    theorem: Theorem
    claims: tuple[ClaimResult, ...]
    unused: tuple[Term, ...] = ()  # hypotheses of the theorem that no proof needed
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        return min((c.verdict for c in self.claims), key=ORDER.index, default="undecided")


@dataclass(frozen=True)
class TheoryResult:
    theory: Theory
    theorems: tuple[TheoremResult, ...] = field(default_factory=tuple)
    imports: tuple[TheoryResult, ...] = ()  # the imported theorems, and those that they lean on

    def __getitem__(self, name: str) -> TheoremResult:
        for result in self.theorems:
            if result.theorem.name == name:
                return result
        raise KeyError(name)

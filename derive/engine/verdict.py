"""Verdicts as data: what checking a theory gives, for the command line, Python and reports alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from derive.kernel.context import Context
from derive.kernel.proof import Account, Proof
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

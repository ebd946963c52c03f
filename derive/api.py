"""Theories for Python: verdicts, both sides as SymPy expressions, steps, and vectorised functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive.language import LanguageError
from derive.language import load as _load
from derive.language import loads as _loads
from derive.language.places import subterm
from derive.language.printer import need_text, to_text
from derive.language.theory import Theorem as Statement
from derive.language.theory import Theory as Text
from derive.language.words import instead
from derive.term import Term

if TYPE_CHECKING:
    import sympy

    from derive.codegen import Compiled
    from derive.engine.verdict import ClaimResult, TheoremResult

TIMEOUT = 30.0


@dataclass(frozen=True)
class Step:
    """One step of a derivation: the rule, and the whole expression before and after it, in the formula language."""

    rule: str
    before: str
    after: str
    place: str  # the part that the rule was applied to
    backwards: bool
    conditions: tuple[str, ...]  # what had to hold
    term: Term = field(repr=False)  # the expression after it


@dataclass(frozen=True)
class Claim:
    """One claim of a theorem with its verdict."""

    statement: str
    result: ClaimResult = field(repr=False)

    @property
    def verdict(self) -> str:
        return self.result.verdict

    @property
    def reason(self) -> str | None:
        """Why it is not proved, or what would make it so."""
        from derive.report.words import spoken_reason

        return spoken_reason(self.result.reason, self.result.counterexample is not None)

    @property
    def counterexample(self) -> dict[str, Any] | None:
        return self.result.counterexample

    @property
    def domain(self) -> tuple[str, ...]:
        """Where the left side is defined, beyond what is declared and assumed."""
        return tuple(map(need_text, self.result.account.domain)) if self.result.account else ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The derivation, from the left side on; empty where there is none."""
        return tuple(_steps(self.result))


def _steps(result: ClaimResult) -> Iterator[Step]:
    if result.proof is None or result.proof.claim.op != "cmp":
        return
    before = result.proof.claim.args[0]
    account = result.account
    for number, step in enumerate(result.proof.steps):
        met = account.conditions[number] if account and number < len(account.conditions) else ()
        yield Step(
            rule=step.rule,
            before=to_text(before),
            after=to_text(step.after),
            place=to_text(subterm(before, step.path)),
            backwards=step.reverse,
            conditions=tuple(to_text(c.condition) for c in met if c.condition.op != "true"),
            term=step.after,
        )
        before = step.after


class Theorem:
    """A theorem of a theory. It is proved when its verdict is first asked for.

    `lhs`, `rhs` and `steps` are those of its last equation, or of its last claim where none is an equation.
    """

    def __init__(self, text: Text, name: str, timeout: float):
        self._text, self.name, self._timeout = text, name, timeout

    def __repr__(self) -> str:
        return f"<theorem {self._text.name}.{self.name}>"

    @property
    def doc(self) -> str:
        return self._text[self.name].doc

    @cached_property
    def result(self) -> TheoremResult:
        """All that checking found."""
        from derive.engine.check import check_theory

        return check_theory(self._text, self._timeout, only=self.name)[self.name]

    @property
    def verdict(self) -> str:
        """proved, checked, refuted or undecided: the weakest of its claims'."""
        return self.result.verdict

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(Claim(c.claim.statement, c) for c in self.result.claims)

    @property
    def statement(self) -> str:
        return self._text[self.name].claims[self._main].statement

    @property
    def lhs(self) -> sympy.Basic:
        """The left side as a SymPy expression, definitions written out."""
        return self._side(0)

    @property
    def rhs(self) -> sympy.Basic:
        """The right side as a SymPy expression, definitions written out."""
        return self._side(1)

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.claims[self._main].steps

    @property
    def _main(self) -> int:
        conditions = [c.condition for c in self._text[self.name].claims]
        equations = [n for n, c in enumerate(conditions) if c.op == "cmp" and c.value == "=="]
        return (equations or range(len(conditions)))[-1]

    def _side(self, side: int) -> sympy.Basic:
        from derive.sympy_bridge import to_sympy

        theorem = self._text[self.name]
        condition = theorem.claims[self._main].condition
        if condition.op != "cmp":
            raise ValueError(f"{self.name} has no sides: {self.statement}")
        return to_sympy(condition.args[side], self._text.context(theorem))


class Theory:
    """A theory: its theorems by name, and its quantities as functions."""

    def __init__(self, text: Text, timeout: float = TIMEOUT):
        self.text, self._timeout = text, timeout
        self._theorems = {t.name: Theorem(text, t.name, timeout) for t in text.theorems}

    def __repr__(self) -> str:
        return f"<theory {self.name}: {', '.join(self._theorems)}>"

    def __getitem__(self, name: str) -> Theorem:
        if name not in self._theorems:
            raise KeyError(f"{self.name} has no theorem {name!r}; {instead(name, self._theorems)}")
        return self._theorems[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._theorems)

    def __len__(self) -> int:
        return len(self._theorems)

    @property
    def name(self) -> str:
        return self.text.name

    @property
    def title(self) -> str:
        return self.text.title

    def function(self, name: str, stable: bool | str = True, wide: bool | None = None) -> Compiled:
        """A definition, or a theorem's right side, as a vectorised NumPy function; `.source` is its code.

        `stable=False` keeps to the formula as it is written, without shifting by the maximum and the like. Narrow
        dtypes are computed in float64 and rounded once, but where matrices are multiplied; `wide=True` does so there
        too, `wide=False` keeps to the arguments' own dtype throughout.
        """
        from derive.codegen import compile_quantity

        return compile_quantity(self.text, name, stable, wide)

    def vjp(self, name: str, wrt: str, stable: bool | str = True, wide: bool | None = None) -> Compiled:
        """A cotangent times the derivative of a quantity, as a function of the cotangent and its variables.

        It is what a theorem says of it, if that is proved, or else made from the definitions.
        """
        from derive.codegen import vjp
        from derive.engine.check import check_theory

        def proved(owner: Text, theorem: Statement) -> bool:
            return check_theory(owner, self._timeout, only=theorem.name)[theorem.name].verdict == "proved"

        return vjp(self.text, name, wrt, stable, wide, proved)


def load(source: str | Path, timeout: float = TIMEOUT) -> Theory:
    """The theory of a catalogue name or of a file. `timeout` is in seconds for each claim. Raises LanguageError."""
    return Theory(_load(source), timeout)


def loads(text: str, name: str = "theory", folder: str | Path | None = None, timeout: float = TIMEOUT) -> Theory:
    """The theory of a text; its imports are looked up in the folder, then in the catalogue. Raises LanguageError."""
    return Theory(_loads(text, name, folder), timeout)


def check(*sources: str | Path, timeout: float = TIMEOUT) -> dict[str, Any]:
    """What `derive check --json` prints for these catalogue names and files, as data."""
    from derive.cli_data import check_data
    from derive.engine.check import check_theory

    found: list[tuple[str, Any]] = []
    for source in sources:
        try:
            found.append((str(source), check_theory(_load(source), timeout)))
        except LanguageError as problem:
            found.append((str(source), problem))
    return check_data(found)

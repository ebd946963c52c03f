"""The sentences of a report, in its language: fixed words, and the formulas, names and numbers that they speak of.

Every method returns text that is safe in the format that is written. Templates put the sentences in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from derive.coq.record import NOT_EXPORTED, RECHECKED, REFUSED, Said
from derive.kernel.context import Declaration
from derive.kernel.proof import Condition
from derive.report.counterexample import Counterexample, Value
from derive.report.document import Again, ClaimView, Document, StepView, TheoremView
from derive.report.languages import Language
from derive.report.lines import LineView, Summand
from derive.report.numbers import Measured, Worst
from derive.report.printer import EXISTING
from derive.term import Term

Printed = Callable[..., Markup]
_RECORDED = {RECHECKED: "rechecked", NOT_EXPORTED: "not_exported", REFUSED: "refused"}
_OPINIONS = {True: "claim.agrees", False: "claim.disagrees", None: "claim.cannot_tell"}


@dataclass(frozen=True)
class Sentences:
    """What is said of each part of a document. `formulas` prints terms; `code` and `strong` mark text."""

    words: Language
    formulas: Mapping[str, Printed]
    code: Printed
    strong: Printed

    def _inline(self, terms: Iterable[Term]) -> Markup:
        return self.words.listed([self._held(term) for term in terms])

    def _held(self, condition: Term) -> Markup:
        """A condition that holds: a mean or a limit as one says that it exists."""
        formula = self.formulas["inline"](condition)
        return self.words.say("step.exists", formula=formula) if condition.op in EXISTING else formula

    def _told(self, text: str) -> Markup:
        return self.words.escape(self.words.told(text))

    # -- setting ------------------------------------------------------------------------------------------------------

    def declaration(self, item: Declaration) -> Markup:
        """What a declared name is."""
        say, entry = self.words.say, self.formulas["entry"]
        several = 2 if item.axes else 1
        if item.law is not None:
            parameters = [self.formulas["inline"](p) for p in item.law.parameters]
            parts = dict(zip(("first", "second"), parameters, strict=False))
            law = say(f"law.{item.law.family}", **parts)
            return say("setting.random", several, entry=entry(item.name, item.letters), law=law)
        key = "setting.declared" + ("_below" if item.over else "") + ("_each" if item.axes else "")
        return say(
            key,
            entry=entry(item.name),
            kind=say(f"kind.{item.kind}", several),
            over=entry(item.over) if item.over else "",
            axes=self.words.listed([entry(axis) for axis in item.axes]),
        )

    # -- derivations --------------------------------------------------------------------------------------------------

    def closing(self, item: ClaimView) -> Markup:
        """How the last line gives the claim, or the signs of its parts do; only of one that says so."""
        if item.signs:
            return self.words.say("claim.signs", reasons=self.reasons(item.signs))
        return self.words.say("claim.sentence", text=self.words.opening(self.words.told(item.closing or "")))

    def basis(self, item: ClaimView) -> Markup | None:
        """The hypotheses that a proof uses, or that a claim was evaluated with its numbers; None for neither."""
        key = "evaluated" if item.example else "uses"
        if item.hypotheses:
            return self.words.say(f"claim.{key}", hypotheses=self._inline(item.hypotheses))
        return self.words.say("claim.evaluated_plain") if item.example else None

    def scope(self, item: ClaimView) -> Markup:
        """For which letters and where a claim is made; only of one that has either."""
        letters = self.formulas["letters"](item.letters) if item.letters else ""
        key = "for_all_wherever" if item.letters and item.domain else "for_all" if item.letters else "wherever"
        return self.words.say(f"claim.{key}", letters=letters, domain=self._inline(item.domain))

    def reasons(self, conditions: Sequence[Condition]) -> Markup:
        """Conditions that were met, each with why it is."""
        return self.words.joined([self._reason(c) for c in conditions], "list.semicolon")

    def _reason(self, item: Condition) -> Markup:
        condition = self._held(item.condition)
        return (
            self.words.say("step.reason", condition=condition, reason=self._told(item.reason))
            if item.reason
            else condition
        )

    def grounds(self, item: StepView) -> Markup:
        """The hypotheses and theorems that a step rests on."""
        return self.words.joined([self._told(ground) for ground in item.rests_on], "list.and")

    def rule(self, item: StepView) -> Markup:
        """The rule of a step."""
        say, text = self.words.say, self._told(item.rule)
        if item.name:
            text = say("step.of", rule=text, name=self.formulas["entry"](item.name))
        return say("step.backwards", rule=text) if item.backwards else text

    def step(self, item: StepView, place: str | None = None, needs: bool = True) -> Markup:
        """A step in one phrase: its rule, what it rests on; where, said by the message `place`; and what it needs."""
        say, text = self.words.say, self.rule(item)
        if item.rests_on:
            text = say("step.by", rule=text, grounds=self.grounds(item))
        if place is not None and item.place is not None:
            text = say(place, rule=text, place=self.formulas["inline"](item.place))
        return say("step.with_needs", rule=text, needs=self.needs(item)) if needs and item.conditions else text

    def needs(self, item: StepView) -> Markup:
        """What a step needs."""
        return self.words.say("step.needs", conditions=self.reasons(item.conditions))

    def comparison(self, item: LineView) -> Markup:
        """Where a line of an order comes from."""
        say, rule = self.words.say, self._told(item.rule)
        summands = self.words.joined([self.summand(part) for part in item.summands], "list.semicolon")
        if item.scale is not None:
            scale = self.formulas["inline"](item.scale)
            return say("comparison.sum", len(item.summands), rule=rule, scale=scale, summands=summands)
        return say("comparison.from" if item.summands else "comparison.plain", rule=rule, summands=summands)

    def summand(self, item: Summand) -> Markup:
        """One of the known comparisons that a line is the sum of, and what it is multiplied by."""
        say, inline = self.words.say, self.formulas["inline"]
        factors = []
        for reference in item.references:
            pairs = self.words.joined([self.formulas["equality"](k, v) for k, v in reference.at])
            name = self._told(reference.words)
            factors.append(say("comparison.at", reference=name, places=pairs) if reference.at else name)
        if item.factor is not None:
            factors.append(inline(item.factor))
        text = self.words.joined(factors, "list.times")
        if item.over:
            text = say("comparison.over", summand=text, letters=self.formulas["letters"](item.over))
        if item.where is not None:
            text = say("comparison.where", summand=text, condition=inline(item.where))
        return text if item.references else say("comparison.sign", summand=text)

    def range(self, item: LineView) -> Markup:
        """For which letters a line holds; only of one that has any, or a condition."""
        say = self.words.say
        condition = self.formulas["inline"](item.where) if item.where is not None else ""
        letters = self.formulas["letters"](item.letters) if item.letters else ""
        if item.letters and item.where is not None:
            return say("comparison.for_all_with", letters=letters, condition=condition)
        return (
            say("claim.for_all", letters=letters) if item.letters else say("comparison.only_where", condition=condition)
        )

    def counterexample(self, point: Counterexample) -> Markup:
        """The sizes, values and letters of a counterexample."""
        entry = self.formulas["entry"]
        values = [entry(name) + Markup(" = ") + self._valued(value) for name, value in point.point]
        title = self.strong(self.words.say("counterexample.title"))
        return self.words.say("counterexample.point", title=title, point=self.words.joined(values))

    def _valued(self, value: Value) -> Markup:
        if isinstance(value, str):
            return self._told(value)
        bracket = self.words.escape
        return bracket("[") + bracket(", ").join(map(self._valued, value)) + bracket("]")

    def sympy(self, again: Again) -> Markup:
        """What SymPy finds."""
        say = self.words.say
        opinion = say(_OPINIONS[again.agrees])
        if again.reason:
            opinion = say("claim.because", opinion=opinion, reason=self._told(again.reason))
        return say("claim.sympy_at" if again.sizes else "claim.sympy", sizes=self._told(again.sizes), opinion=opinion)

    def coq(self, said: Said) -> Markup:
        """What a recorded run of Coq says of a claim, and which lemma states it there."""
        lemma, file = self.code(said.lemma), self.code(said.file)
        return self.words.say(
            f"claim.coq_{_RECORDED[said.result]}", reason=self._told(said.reason or ""), lemma=lemma, file=file
        )

    def coq_account(self, item: Document, command: str) -> Markup:
        """How many claims Coq has checked again, and how to see what it was told."""
        said = [c.coq for t in item.theorems for c in t.claims if c.coq is not None]
        done = sum(s.result == RECHECKED for s in said)
        asked, guide = self.words.count(len(said), "claim"), self.code("docs/coq.md")
        if all(s.result == NOT_EXPORTED for s in said):
            return self.words.say("account.coq_none", asked=asked, guide=guide)
        return self.words.say("account.coq", asked=asked, done=done, command=self.code(command), guide=guide)

    def checked_again(self, item: Document) -> Markup | None:
        """How many claims other programs have checked again, None where none did."""
        coq = [c.coq.result for t in item.theorems for c in t.claims if c.coq is not None]
        done = {"page.again_sympy": item.evidence.asked[1], "page.again_coq": coq.count(RECHECKED)}
        claims = self.words.count(item.claims, "claim")
        parts = [self.words.say(key, done=count, claims=claims) for key, count in done.items() if count]
        return self.words.say("page.checked_again", parts=self.words.joined(parts, "list.semicolon")) if parts else None

    # -- numbers and account ------------------------------------------------------------------------------------------

    def worst(self, item: Measured, worst: Worst) -> Markup:
        """The input on which a quantity is computed worst."""
        say, entry = self.words.say, self.formulas["entry"]
        text = say(
            "numbers.error_at" if worst.place else "numbers.error",
            name=self.code(item.name),
            dtype=worst.dtype,
            variant=self._told(worst.variant),
            error=self._told(worst.error),
            place=worst.place,
            computed=worst.computed,
            true=worst.true,
        )
        shown = [(name, value) for name, value in worst.inputs if value]
        inputs = [entry(name) + Markup(" = ") + self.words.escape(value) for name, value in shown]
        return say("numbers.error_for" if inputs else "numbers.error_end", error=text, inputs=self.words.joined(inputs))

    def stated(self, item: Measured) -> Markup:
        """The bound of a quantity's code, and what of it was met."""
        say, bound = self.words.say, item.stated
        assert bound is not None
        if bound.count == "0":
            return say("numbers.exact", name=self.code(item.name))
        key = "bound_own" if bound.own else "bound_of" if bound.size else "bound_long"
        size = {"size": self.code(bound.size)} if key == "bound_of" else {}
        text = say(f"numbers.{key}", name=self.code(item.name), count=self.code(bound.count), **size)
        met = say("numbers.met", bound=text, share=self.words.told(bound.met))
        if bound.coq is None:
            return met
        return say("numbers.proved", bound=met, lemma=self.code(bound.coq.lemma), file=self.code(bound.coq.file))

    def footing(self, item: TheoremView) -> Markup:
        """What a theorem assumes, where it holds and what it rests on."""
        parts = {
            "assumes": {"hypotheses": self._inline(h for _, h in item.hypotheses)} if item.hypotheses else None,
            "holds": {"domain": self._inline(item.domain)} if item.domain else None,
            "spare": {"hypotheses": self._inline(item.unused)} if item.unused else None,
            "rests_on": {"names": self.words.listed([self.code(n) for n in item.rests_on])} if item.rests_on else None,
        }
        said = [self.words.say(f"account.{key}", **part) for key, part in parts.items() if part is not None]
        return self.words.joined(said, "list.semicolon")

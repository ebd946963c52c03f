"""A certificate as a Coq file: for each claim one lemma a step, the equation, and what it needs to be defined.

The statement is printed from the theory's own text, read again by the language's reader; the certificate gives the
steps. Nothing here is trusted: Coq refuses a file that is wrong. What a reader must believe is the text of the
statements and the definitions at the top of coq/Derive.v.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from derive.coq.domain import Domain
from derive.coq.names import NotExported, Scope, axis, kind_type, letter, theorem, variable
from derive.coq.normal import Equation
from derive.coq.printer import Printer
from derive.coq.steps import Way, opened
from derive.kernel.certificate import decode, decode_proof
from derive.kernel.check import pure_index
from derive.kernel.context import Context, Declaration
from derive.kernel.proof import Proof
from derive.language import loads
from derive.language.theory import Claim, Theorem, Theory
from derive.term import TRUE, Term, alike, subterms

HEAD = """(* {title}: generated from the certificate of the theory {theory} (SHA-256 of its text {sha}).
   Each claim stands as written in the theory's text, above its theorem; see docs/coq.md. *)
From Coq Require Import Reals Lra Lia Arith List.
From Coquelicot Require Import Coquelicot.
From DeriveCoq Require Import Derive.
Open Scope R_scope.
"""


@dataclass(frozen=True)
class Exported:
    """One claim: its text in Coq, or the reason why it has none."""

    theorem: str
    number: int  # among all claims of its theorem, from 1
    statement: str
    digest: str
    text: str = ""
    names: tuple[str, ...] = ()  # of the theorems in the text, for Print Assumptions
    reason: str | None = None


@dataclass(frozen=True)
class Export:
    """A theory's file, in parts."""

    theory: str
    head: str
    claims: tuple[Exported, ...]

    def text(self, skip: frozenset[tuple[str, int]] = frozenset()) -> str:
        """The file; claims that are not exported, or skipped, leave their name and reason."""
        parts, names = [self.head], []
        for c in self.claims:
            if c.reason is not None:
                parts.append(f"(* not exported: {c.theorem}, claim {c.number}: {_comment(c.reason)} *)\n")
            elif (c.theorem, c.number) not in skip:
                parts.append(c.text)
                names += c.names
        if names:
            listed = ", ".join(f"@{name}" for name in names)
            parts.append(f"Definition everything := ({listed}).\nPrint Assumptions everything.\n")
        return "\n".join(parts)


def _comment(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )")


def export(certificate: dict[str, Any], folder: str | None = None, only: frozenset[str] | None = None) -> Export:
    """The certificate as Coq text. Raises NotExported, Rejected or LanguageError where it is none."""
    theory = loads(certificate["text"], certificate["theory"], folder)
    head = HEAD.format(title=_comment(theory.title or theory.name), theory=theory.name, sha=certificate["sha256"])
    done: list[Exported] = []
    written: set[str] = set()
    for data in certificate["theorems"]:
        if only is not None and data["name"] not in only:
            continue
        source = theory[data["name"]]
        taken: set[int] = set()
        for claim in data["claims"]:
            number = _number(source, claim, taken)
            taken.add(number)
            words = (source.name, number, claim["statement"], claim["digest"])
            try:
                maker = ClaimExport(theory, source, number, claim, done)
                text = "\n".join(maker.lines(written))
                done.append(Exported(*words, text, tuple(maker.names)))
                written |= maker.definitions
            except NotExported as why:
                done.append(Exported(*words, reason=str(why)))
    return Export(theory.name, head, tuple(done))


def _number(source: Theorem, claim: dict[str, Any], taken: set[int]) -> int:
    """Which claim of the text it is."""
    for number, own in enumerate(source.claims, 1):
        if number not in taken and own.statement == claim["statement"] and own.line == claim["line"]:
            return number
    raise NotExported(f"{source.name} does not claim {claim['statement']}")


@dataclass
class Telescope:
    """What a claim is said for: names in order, each with its type, and the words that apply a lemma to them."""

    binders: list[tuple[str, str]] = field(default_factory=list)

    def add(self, name: str, text: str) -> None:
        self.binders.append((name, text))

    def __str__(self) -> str:
        return " ".join(f"({name} : {text})" for name, text in self.binders)

    @property
    def words(self) -> str:
        return " ".join(name for name, _ in self.binders)


class ClaimExport:
    """One claim on its way to Coq."""

    def __init__(self, theory: Theory, source: Theorem, number: int, data: dict[str, Any], before: list[Exported]):
        self.theory, self.source, self.number, self.data = theory, source, number, data
        self.claim: Claim = source.claims[number - 1]
        self.context: Context = theory.context(source)
        self.scope = Scope(self.context, {d.name: f"{source.name}_" for d in source.definitions})
        self.printer = Printer(self.scope)
        self.domain = Domain(self.scope, self.printer)
        self.before = before
        self.name = theorem(source.name, number)
        self.names: list[str] = []
        self.definitions: set[str] = set()
        self.hypotheses: dict[int, str] = {}
        self.letters: set[Term] = set()

    def lines(self, written: set[str]) -> Iterator[str]:
        """The text, with definitions that are not written yet."""
        condition = self.claim.condition
        if self.data["kind"] == "example":
            raise NotExported("a claim about a finite example, decided by enclosures")
        proof = decode_proof(self.data["proof"])
        if not alike(decode(self.data["claim"]), condition):
            raise NotExported("the certificate proves another claim than the text states")
        if condition.op != "cmp":
            raise NotExported("a claim that combines conditions")
        domain = [decode(c) for c in self.data["proof"]["domain"]]
        terms = [condition, *self.context.hypotheses, *domain]
        terms += [s.after for s in proof.steps] + [m.condition for m in proof.lines]
        telescope = self.telescope(terms, condition, domain)
        yield (
            f"(* claim {self.number} of {self.source.name}, line {self.claim.line}: {_comment(self.claim.statement)} *)"
        )
        yield from self.defined_names(terms, written)
        if condition.value != "==" or proof.lines:
            raise NotExported("a comparison")
        yield from self.equation(proof, telescope)
        yield from self.definedness(condition, telescope)

    # -- what the claim is about --------------------------------------------------------------------------------------

    def telescope(self, terms: list[Term], condition: Term, domain: list[Term]) -> Telescope:
        axes, variables, fixed = self.scope.needs(terms)
        free = sorted((condition.letters | fixed_letters(terms, self.context)) - set(fixed), key=lambda k: str(k.value))
        axes = tuple(a for a in self.context.axes if a in {*axes, *(k.value[1] for k in free)})
        found = Telescope()
        for a in axes:
            found.add(axis(a), "nat")
            found.add(f"H{axis(a)}", f"(0 < {axis(a)})%nat")
        for name in variables:
            d = self.context.declarations[name]
            found.add(variable(name), kind_type(d))
            fact = self.fact(d)
            if fact:
                found.add(f"H{variable(name)}", fact)
        for k in (*fixed, *free):
            found.add(letter(k), "nat")
            found.add(f"H{letter(k)}", f"({letter(k)} < {axis(k.value[1])})%nat")
        letters = self.letters = {*fixed, *free}
        for n, h in enumerate(self.context.hypotheses):
            if pure_index(h, self.context):
                if h.letters <= letters:
                    found.add(f"Hyp{n + 1}", self.printer.condition(h))
                continue
            closed = sorted(h.letters - self.context.letters, key=lambda k: str(k.value))
            found.add(f"Hyp{n + 1}", self.printer.over(tuple(closed)) + self.printer.condition(h))
            self.hypotheses[n] = f"Hyp{n + 1}"
        for n, c in enumerate(domain, 1):
            found.add(f"Dom{n}", self.printer.condition(c))
        return found

    def fact(self, d: Declaration) -> str | None:
        """What the declaration says of the values, beyond their type."""
        letters = [f"i_{n}" for n in range(len(d.axes))]
        front = "".join(f"forall {i}, ({i} < {axis(a)})%nat -> " for i, a in zip(letters, d.axes, strict=True))
        value = " ".join([variable(d.name), *letters])
        says = {
            "positive": f"0 < {value}",
            "nonnegative": f"0 <= {value}",
            "bit": f"{value} = 0 \\/ {value} = 1",
            "integer": f"exists m : Z, {value} = IZR m",
            "index": f"({value} < {axis(d.over or '')})%nat",
        }.get(d.kind)
        return None if says is None else front + says

    def defined_names(self, terms: list[Term], written: set[str]) -> Iterator[str]:
        """The definitions that the terms reach, each after those it rests on."""
        reached: set[str] = set()
        stack = [n for t in terms for n in t.names]
        while stack:
            name = stack.pop()
            if name in self.scope.defined and name not in reached:
                reached.add(name)
                stack += self.scope.defined[name].definition.body.names
        for name, part in self.scope.defined.items():
            if name not in reached:
                continue
            words = [f"({axis(a)} : nat)" for a in part.axes]
            words += [f"({variable(v)} : {kind_type(self.context.declarations[v])})" for v in part.variables]
            words += [f"({letter(k)} : nat)" for k in (*part.fixed, *part.definition.letters)]
            text = f"Definition {part.name} {' '.join(words)} : R := {self.printer.value(part.definition.body)}."
            self.definitions.add(part.name)
            if part.name not in written:
                yield f"{text}\n#[local] Hint Unfold {part.name} : user."

    # -- equations ----------------------------------------------------------------------------------------------------

    def equation(self, proof: Proof, telescope: Telescope) -> Iterator[str]:
        left, right = self.claim.condition.args
        value = self.printer.value
        way = Way(self.printer, self.context, self.hypotheses, self.letters)
        before, chain = left, []
        for number, step in enumerate(proof.steps, 1):
            name = f"{self.name}_s{number}"
            script = way.proof(before, step.after, step)
            yield (
                f"(* {number}. {step.rule} *)\nLemma {name} {telescope} :\n  {value(before)} =\n  {value(step.after)}."
                f"\nProof. {script} Qed."
            )
            chain.append(f"({name} {telescope.words})")
            before = step.after
        if not alike(before, right):
            equation = Equation(self.printer, self.letters)
            term = equation.equal(opened(before, self.context), opened(right, self.context))
            script = "\n".join([*equation.lines, f"exact {term}."])
            name = f"{self.name}_end"
            yield f"Lemma {name} {telescope} :\n  {value(before)} =\n  {value(right)}.\nProof. {script} Qed."
            chain.append(f"({name} {telescope.words})")
        yield f"Theorem {self.name} {telescope} :\n  {value(left)} =\n  {value(right)}."
        yield f"Proof. exact {Equation.chain(*chain) or 'eq_refl'}. Qed."
        self.names.append(self.name)

    def definedness(self, condition: Term, telescope: Telescope) -> Iterator[str]:
        """All that both sides need to be defined."""
        needs = list(dict.fromkeys(c for side in condition.args for c in self.domain.conditions(side)))
        if needs:
            listed = " /\\\n  ".join(f"({c})" for c in needs)
            yield f"Theorem {self.name}_defined {telescope} :\n  {listed}.\nProof. defined. Qed."
            self.names.append(f"{self.name}_defined")


def fixed_letters(terms: list[Term], context: Context) -> set[Term]:
    return {t for term in terms for t in subterms(term) if t in context.letters}


__all__ = ["TRUE", "Export", "Exported", "export"]

"""A certificate as a Coq file: for each claim one lemma a step, the equation, and what it needs to be defined.

The statement is printed from the theory's own text, read again by the language's reader; the certificate gives the
steps. Nothing here is trusted: Coq refuses a file that is wrong. What a reader must believe is the text of the
statements and the definitions at the top of coq/Derive.v.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from derive.coq.domain import Domain, Front, Need
from derive.coq.names import LAWS, NotExported, Scope, axis, kind_type, law_of, letter, theorem, variable
from derive.coq.normal import STEP_LIMIT, Equation
from derive.coq.orders import Order
from derive.coq.poly import bits, whole
from derive.coq.printer import Printer
from derive.coq.prover import Before, Prover, Telescope, closed_letters, opened
from derive.coq.slopes import slope
from derive.coq.steps import Way
from derive.kernel.certificate import decode, decode_context, decode_proof
from derive.kernel.check import pure_index
from derive.kernel.context import Context, Declaration
from derive.kernel.proof import Proof, Step
from derive.language import loads
from derive.language.places import transform
from derive.language.theory import Claim, Theorem, Theory
from derive.term import TRUE, Term, alike, num, power, subterms, var

HEAD = """(* {title}: generated from the certificate of the theory {theory} (SHA-256 of its text {sha}).
   Each claim stands as written in the theory's text, above its theorem; see docs/coq.md. *)
From Coq Require Import Reals Lra Lia Arith List.
From Coquelicot Require Import Coquelicot.
From DeriveCoq Require Import Derive Limits Moments.
Open Scope R_scope.
"""


@dataclass(frozen=True)
class Exported:
    """One claim: its text in Coq, or the reason why it has none."""

    theorem: str
    number: int  # among all claims of its theorem, from 1
    statement: str
    certificate: Mapping[str, Any]  # of the claim
    text: str = ""
    definitions: tuple[tuple[str, str], ...] = ()  # that the text rests on, by name, in order
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
        written: set[str] = set()
        for c in self.claims:
            if c.reason is not None:
                parts.append(f"(* not exported: {c.theorem}, claim {c.number}: {_comment(c.reason)} *)\n")
            elif (c.theorem, c.number) not in skip:
                parts += [text for name, text in c.definitions if name not in written]
                written |= {name for name, _ in c.definitions}
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
    before: dict[tuple[str, int], Before] = {}
    for data in certificate["theorems"]:
        if only is not None and data["name"] not in only:
            continue
        source = theory[data["name"]]
        taken: set[int] = set()
        for claim in data["claims"]:
            number = _number(source, claim, taken)
            taken.add(number)
            words = (source.name, number, claim["statement"], claim)
            try:
                maker = ClaimExport(theory, source, number, claim, before)
                text = "\n".join(maker.lines())
                done.append(Exported(*words, text, tuple(maker.definitions), tuple(maker.names)))
                before[source.name, number] = maker.as_lemma()
            except NotExported as why:
                done.append(Exported(*words, reason=str(why)))
    return Export(theory.name, head, tuple(done))


def _number(source: Theorem, claim: dict[str, Any], taken: set[int]) -> int:
    """Which claim of the text it is."""
    for number, own in enumerate(source.claims, 1):
        if number not in taken and own.statement == claim["statement"] and own.line == claim["line"]:
            return number
    raise NotExported(f"{source.name} does not claim {claim['statement']}")


class ClaimExport:
    """One claim on its way to Coq."""

    def __init__(
        self, theory: Theory, source: Theorem, number: int, data: dict[str, Any], before: dict[tuple[str, int], Before]
    ):
        self.theory, self.source, self.number, self.data = theory, source, number, data
        self.claim: Claim = source.claims[number - 1]
        self.context: Context = theory.context(source)
        self.scope = Scope(self.context, {d.name: f"{source.name}_" for d in source.definitions})
        self.printer = Printer(self.scope)
        self.domain = Domain(self.scope, self.printer)
        self.before = before
        self.name = theorem(source.name, number)
        self.names: list[str] = []
        self.definitions: list[tuple[str, str]] = []
        self.hypotheses: dict[int, str] = {}
        self.letters: set[Term] = set()

    def prepare(self, proof: Proof | None = None) -> Proof:
        """Settle all that comes before the first line; the proof is the certificate's unless another is given."""
        condition = self.claim.condition
        if self.data["kind"] == "example":
            raise NotExported("a claim about a finite example, decided by enclosures")
        proof = replace(proof or decode_proof(self.data["proof"]), claim=condition)
        if not alike(decode(self.data["claim"]), condition):
            raise NotExported("the certificate proves another claim than the text states")
        if condition.op != "cmp":
            raise NotExported("a claim that combines conditions")
        domain = [decode(c) for c in self.data["proof"]["domain"]]
        terms = [condition, *self.context.hypotheses, *domain, *terms_of(proof)]
        if any(self.scope.sample(t) for t in (condition, *self.context.hypotheses)):
            raise NotExported("a random variable stands outside of a mean")
        self.telescope = self.made_telescope(terms, condition, domain)
        self.definitions += self.defined_names(terms)
        self.planned = decode_context(self.data["context"])
        bits.set(frozenset(d.name for d in self.context.declarations.values() if d.kind == "bit"))
        self.prover = Prover(
            self.printer, self.context, self.telescope, self.letters, self.hypotheses, self.planned.lemmas, self.before
        )
        self.prover.nonzero(domain)
        if self.scope.random:
            self.prover.known_means()
        self.proof = proof
        return proof

    def lines(self) -> Iterator[str]:
        """The text of the claim."""
        condition, proof = self.claim.condition, self.prepare()
        yield (
            f"(* claim {self.number} of {self.source.name}, line {self.claim.line}: {_comment(self.claim.statement)} *)"
        )
        if condition.args[0].op == "limit" and condition.value == "==":
            yield from self.limit(condition)
            yield from self.definedness(condition)
            return
        chain, last = yield from self.steps(proof)
        if condition.value == "==":
            yield from self.equation(chain, last)
        else:
            yield from Order(self.prover, self.name, proof, self.planned).lines(chain, last)
            self.names.append(self.name)
        yield from self.definedness(condition)

    def as_lemma(self) -> Before:
        """The claim, for those that rest on it."""
        return Before(self.name, self.telescope, tuple(self.letters), self.claim.condition)

    # -- what the claim is about --------------------------------------------------------------------------------------

    def made_telescope(self, terms: list[Term], condition: Term, domain: list[Term]) -> Telescope:
        axes, variables, fixed = self.scope.needs(terms, laws=True)
        free = sorted((condition.letters | fixed_letters(terms, self.context)) - set(fixed), key=lambda k: str(k.value))
        axes = tuple(a for a in self.context.axes if a in {*axes, *(k.value[1] for k in free)})
        found = Telescope()
        for a in axes:
            found.add(axis(a), "nat")
            found.add(f"H{axis(a)}", f"(0 < {axis(a)})%nat")
        self.scope.random = tuple(v for v in variables if self.context.declarations[v].law is not None)
        if self.scope.random:
            found.add("Omega", "Type")
            found.add("M", "expectation Omega")
        for name in variables:
            d = self.context.declarations[name]
            found.add(variable(name), kind_type(d))
            fact = self.fact(d)
            if fact:
                found.add(f"H{variable(name)}", fact)
        if self.scope.random:
            found.add("Hind", f"independent M ({' :: '.join(map(self.array, self.scope.random))} :: nil)")
        for k in (*fixed, *free):
            found.add(letter(k), "nat")
            found.add(f"H{letter(k)}", f"({letter(k)} < {axis(k.value[1])})%nat")
        letters = self.letters = {*fixed, *free}
        for n, h in enumerate(self.context.hypotheses):
            if pure_index(h, self.context):
                if h.letters <= letters:
                    found.add(f"Hyp{n + 1}", self.printer.condition(h))
                continue
            closed = closed_letters(h, self.context)
            found.add(f"Hyp{n + 1}", self.printer.over(tuple(closed)) + self.printer.condition(h))
            self.hypotheses[n] = f"Hyp{n + 1}"
            for e, body in enumerate(unknown_moments(h), 3):
                text = f"integrable M (fun om : Omega => {self.printer.value(body)})"
                found.add(f"Int{n + 1}_{e}", self.printer.over(tuple(closed)) + text)
        for n, c in enumerate(domain, 1):
            found.add(f"Dom{n}", self.printer.condition(c))
        return found

    def array(self, name: str) -> str:
        """A random name as an array with its size."""
        d = self.context.declarations[name]
        if len(d.axes) > 1:
            raise NotExported("it holds random variables of more than one axis")
        return f"({axis(d.axes[0])}, {variable(name)})" if d.axes else f"(1%nat, fun _ => {variable(name)})"

    def fact(self, d: Declaration) -> str | None:
        """What the declaration says of the values, beyond their type."""
        if d.law is not None:
            law_of(self.context, var(d.name, *d.letters))
            front = "".join(f"forall {letter(k)}, ({letter(k)} < {axis(k.value[1])})%nat -> " for k in d.letters)
            entry = " ".join([variable(d.name), *map(letter, d.letters)])
            parts = " ".join(self.printer.value(p, 9) for p in d.law.parameters)
            return f"{front}{LAWS[d.law.family]} M {f'({entry})' if d.letters else entry} {parts}"
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

    def defined_names(self, terms: list[Term]) -> Iterator[tuple[str, str]]:
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
            words = ["{Omega : Type} (M : expectation Omega)"] if part.random else []
            words += [f"({axis(a)} : nat)" for a in part.axes]
            words += [f"({variable(v)} : {kind_type(self.context.declarations[v])})" for v in part.variables]
            words += [f"({letter(k)} : nat)" for k in (*part.fixed, *part.definition.letters)]
            words += ["(om : Omega)"] if part.sample else []
            text = f"Definition {part.name} {' '.join(words)} : R := {self.printer.value(part.definition.body)}."
            yield part.name, f"{text}\n#[local] Hint Unfold {part.name} : user."

    # -- equations ----------------------------------------------------------------------------------------------------

    def steps(self, proof: Proof) -> Iterator[str]:
        """One lemma a step. Returns the proofs of the steps and the term that they lead to."""
        before, chain = self.claim.condition.args[0], []
        for number, step in enumerate(proof.steps, 1):
            if self.scope.random and not step.after.letters <= self.letters:
                raise NotExported("its proof uses that all entries of a random array have the same law")
            yield self.step(number, before, step)
            chain.append(f"({self.name}_s{number} {self.telescope.words})")
            before = step.after
        return chain, before

    def step(self, number: int, before: Term, step: Step) -> str:
        """One step as a lemma."""
        value = self.printer.value
        script = Way(self.prover).proof(before, step.after, step)
        return (
            f"(* {number}. {step.rule} *)\nLemma {self.name}_s{number} {self.telescope} :\n  {value(before)} =\n"
            f"  {value(step.after)}.\nProof. {script} Qed."
        )

    def equation(self, chain: list[str], last: Term) -> Iterator[str]:
        left, right = self.claim.condition.args
        value = self.printer.value
        if not alike(last, right):
            name = f"{self.name}_end"
            script = self.prover.equal(last, right)
            yield f"Lemma {name} {self.telescope} :\n  {value(last)} =\n  {value(right)}.\nProof. {script} Qed."
            chain.append(f"({name} {self.telescope.words})")
        yield f"Theorem {self.name} {self.telescope} :\n  {value(left)} =\n  {value(right)}."
        yield f"Proof. exact {Equation.chain(*chain) or 'eq_refl'}. Qed."
        self.names.append(self.name)

    def limit(self, condition: Term) -> Iterator[str]:
        """A limit, found by a tactic: the steps of the proof are not needed."""
        left, right = condition.args
        body, variable_, _ = left.args
        f = self.printer.function(body, variable_.value)
        text = f"filterlim ({f}) ({self.printer.filter(left)}) (locally {self.printer.value(right, 9)})"
        first = ""
        if any(t.op == "diff" for t in subterms(opened(body, self.context))):
            first = self.without_derivatives(opened(body, self.context), variable_.value)
        yield f"Theorem {self.name} {self.telescope} :\n  {text}.\nProof. {first}timeout {STEP_LIMIT} limit. Qed."
        self.names.append(self.name)

    def without_derivatives(self, body: Term, name: str) -> str:
        """The start of a proof in which the function's derivatives are replaced by what they are."""
        closed = transform(body, lambda t: slope(*t.args, self.context) if t.op == "diff" else None)
        equation = Equation(self.printer, self.letters)
        equation.scope = (equation.under_variable(name),)
        proof = equation.equal(closed, body)
        u = f"{variable(name)} : R"
        lines = "\n".join(equation.lines)
        return f"{lines}\napply (filterlim_ext (fun {u} => {self.printer.value(closed)}) _ (fun {u} => {proof})). "

    def definedness(self, condition: Term) -> Iterator[str]:
        """All that both sides need to be defined."""
        found: dict[str, Need] = {}
        self.domain.taken = self.letters
        for side in condition.args:
            for need in self.domain.needs(side):
                found.setdefault(need.text, need)
        if not found:
            return
        listed = " /\\\n  ".join(f"({text})" for text in found)
        order = Order(self.prover, self.name, self.proof, self.planned)
        proofs = []
        for need in found.values():
            script = None if need.condition is None else order.need(need.condition, need.front.letters)
            if need.mean is not None:
                script = self.integrable(need.mean, need.front)
            tactic = "defined." if script is None else f"{need.front.intros}{script}"
            proofs.append(f"{{ {tactic} }}")
        text = f"Theorem {self.name}_defined {self.telescope} :\n  {listed}.\nProof. "
        split = "repeat match goal with |- _ /\\ _ => split end.\n" if len(found) > 1 else ""
        yield f"{text}{split}{chr(10).join(proofs)} Qed."
        self.names.append(f"{self.name}_defined")

    def integrable(self, body: Term, front: Front) -> str:
        """The script that a function of the sample point has a mean."""
        p = self.prover
        return p.script(lambda e: e.integrable(p.open(body)), front.letters)


def unknown_moments(h: Term) -> list[Term]:
    """What a hypothesis says has a mean: powers of one entry above the second, and with each those below it."""
    found = []
    for body in (t.args[0] for t in subterms(h) if t.op == "E"):
        k = whole(body.args[1]) if body.op == "pow" and body.args[0].op == "var" else None
        found += [power(body.args[0], num(e)) for e in range(3, (k or 0) + 1)]
    return found


def terms_of(proof: Proof) -> list[Term]:
    """The terms that a proof speaks of."""
    found = [s.after for s in proof.steps]
    for m in proof.lines:
        found += [m.condition, *m.values, *(p.multiplier for p in m.parts)]
    return found


def fixed_letters(terms: list[Term], context: Context) -> set[Term]:
    return {t for term in terms for t in subterms(term) if t in context.letters}


__all__ = ["TRUE", "Export", "Exported", "export"]

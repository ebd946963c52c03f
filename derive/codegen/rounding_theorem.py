"""The stated bound of generated code as a theorem for Coq.

`bounds` counts roundings to first order. The theorem says of the same plan that its result is off by no more than that
count and what is of second order, for every size, precision and range of the arguments. Nothing here is trusted: Coq
refuses a count that is too small.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from derive.codegen.bounds import bound_of
from derive.codegen.counts import Bound, NoBound
from derive.codegen.forms import ACCURATE, narrowed
from derive.codegen.quantities import quantity
from derive.codegen.rounding import Part, Writer
from derive.codegen.source import Plan, Quantity
from derive.codegen.value import CodegenError
from derive.coq.names import NotExported, axis, letter, variable
from derive.coq.normal import Equation
from derive.coq.pieces import Split
from derive.coq.prover import opened
from derive.kernel.certificate import digest
from derive.language.printer import to_text
from derive.language.theory import Theory
from derive.term import alike

HEAD = """(* Rounding errors of the code for the theory {theory}: for each quantity what the code computes, and how far
   it can be off, by the count of roundings that its report states. See docs/coq.md. *)
From Coq Require Import Reals Lra Lia Arith.
From Coquelicot Require Import Coquelicot.
From Flocq Require Import Core.
From DeriveCoq Require Import Derive Rounding Errors.
Open Scope R_scope.
"""
# Exponents at whose distance exponentials underflow, and the precision, of what code computes in.
FORMATS = {"float64": (53, 746), "float32": (24, 104)}


@dataclass(frozen=True)
class Proved:
    """The theorems on one quantity in one form: their text and names, and what identifies the code and the bound."""

    quantity: str
    name: str  # of the theorem for every precision
    count: str
    text: str
    names: tuple[str, ...]
    digest: str


@dataclass(frozen=True)
class RoundingFile:
    """A theory's file."""

    theory: str
    theorems: tuple[Proved, ...]

    @property
    def name(self) -> str:
        return f"{self.theory}_rounding.v"

    def text(self) -> str:
        listed = ", ".join(f"@{name}" for t in self.theorems for name in t.names)
        ending = f"Definition everything := ({listed}).\nPrint Assumptions everything.\n"
        return "\n".join([HEAD.format(theory=self.theory), *(t.text for t in self.theorems), ending])


def rounding_file(theory: Theory) -> RoundingFile | None:
    """The theorems on the theory's own definitions; None where there are none."""
    taken = {name for part in theory.imports for name in part.theory.definitions}
    found = []
    for name in theory.definitions:
        for narrow in (False, True) if name not in taken else ():
            try:
                found.append(theorem_of(quantity(theory, name), narrow))
            except (CodegenError, NotExported, Split):
                continue
    return RoundingFile(theory.name, tuple(found)) if found else None


def fingerprint(plan: Plan, bound: Bound, narrow: bool) -> str:
    """What identifies the code's operations and the stated bound."""
    told = [to_text(opened(plan.term, plan.context)), str(bound.count), to_text(bound.size)]
    return digest([*told, bound.own, narrow, plan.form.corrected])


def theorem_of(q: Quantity, narrow: bool = False) -> Proved:
    """The theorem on the quantity's code, for the code that computes in float32 if `narrow`.

    Raises CodegenError or NotExported where there is none.
    """
    plan = q.plan(narrowed(ACCURATE) if narrow else ACCURATE)
    return Statement(q, plan, bound_of(plan, narrow=narrow), narrow).proved()


@dataclass
class Statement:
    """One quantity on its way to Coq."""

    q: Quantity
    plan: Plan
    bound: Bound
    narrow: bool
    writer: Writer = field(init=False)
    part: Part = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        w = self.writer = Writer(self.plan, self.narrow)
        self.term = w.shifts(opened(self.plan.term, self.plan.context))
        part = self.part = w.part(self.term)
        if not part.count.along and not part.count.fixed:
            raise NoBound("nothing is rounded")
        stated = w.shifts(opened(self.bound.size, self.plan.context))
        if (part.size is None) != self.bound.own or part.size is not None and not alike(part.size, stated):
            raise NoBound("the bound is stated of another size")
        self.name = f"{self.q.name}_in_float32" if self.narrow else self.q.name
        self.wanted = opened(self.q.term, self.q.context)
        self.telescope()

    def telescope(self) -> None:
        """The words that the theorems begin with: functions of the library, data, and what is assumed of each."""
        w = self.writer
        axes, variables, _ = w.printer.scope.needs([self.term, self.wanted])
        self.letters = sorted(self.term.letters | self.wanted.letters, key=lambda k: str(k.value))
        self.library = list(w.given)
        self.data = [f"{axis(a)} : nat" for a in axes]
        self.ranges = [f"H{axis(a)} : (0 < {axis(a)})%nat" for a in axes]
        self.stored: list[str] = []
        for v in variables:
            d = w.context.declarations[v]
            if d.kind not in ("real", "positive", "nonnegative", "random") or len(d.axes) > 2:
                raise NotExported(f"{v} holds no numbers of one format")
            self.data.append(f"{variable(v)} : {' -> '.join(['nat'] * len(d.axes) + ['R'])}")
            front = "".join(f"forall j{n}, (j{n} < {axis(a)})%nat -> " for n, a in enumerate(d.axes))
            entry = " ".join([variable(v), *(f"j{n}" for n in range(len(d.axes)))])
            self.stored.append(f"H{variable(v)} : {front}is_float PRECISION ({entry})")
        self.data += [f"{letter(k)} : nat" for k in self.letters]
        self.ranges += [f"H{letter(k)} : ({letter(k)} < {axis(k.value[1])})%nat" for k in self.letters]
        self.assumed = list(w.given.values())
        self.gaps = [f"{name} : {says}" for says, name in w.facts.items()]

    # -- texts ---------------------------------------------------------------------------------------------------------

    def at(self, precision: str) -> str:
        """What stands before each theorem, at a precision."""
        words = [*self.library, *self.data, *self.assumed, *self.ranges, *self.stored]
        return (
            " ".join(f"({w})" for w in words)
            .replace("within p ", f"within {precision} ")
            .replace("PRECISION", precision)
        )

    def words(self, *lists: list[str]) -> str:
        return " ".join(x.split(" : ")[0] for part in lists for x in part)

    def code(self, precision: str) -> str:
        return " ".join([f"code_{self.name}", precision, self.words(self.library, self.data)])

    @property
    def true(self) -> str:
        return self.writer.printer.value(self.wanted, 9)

    @property
    def size(self) -> str:
        return self.true if self.part.size is None else self.writer.printer.value(self.part.size, 9)

    @property
    def count(self) -> str:
        """The count that the report states, as a real number."""
        count = self.bound.count
        parts = [f"{times} * INR {axis(a)}" if times > 1 else f"INR {axis(a)}" for a, times in count.along]
        fixed = count.fixed - sum(times for _, times in count.along)
        text = " + ".join(parts)
        return text + (f" {'+' if fixed > 0 else '-'} {abs(fixed)}" if fixed else "") if text else str(fixed)

    @property
    def natural(self) -> str:
        """The same as a natural number."""
        count = self.bound.count
        return " + ".join([str(count.fixed), *(f"{times} * ({axis(a)} - 1)" for a, times in count.along)])

    @property
    def same(self) -> str:
        """The tactic that goes from the theory's formula to the code's."""
        return "" if self.term is self.wanted else f"rewrite <- ({self.name}_same {self.words(self.data, self.ranges)})"

    def proved(self) -> Proved:
        dtypes = ("float32",) if self.narrow else ("float64", "float32")
        names = (f"{self.name}_error", *(f"{self.name}_{dtype}" for dtype in dtypes))
        parts = [self.definition(), self.equality(), self.general(), *(self.in_format(d) for d in dtypes)]
        text = "\n".join(p for p in parts if p) + "\n"
        done = fingerprint(self.plan, self.bound, self.narrow)
        return Proved(self.q.name, names[0], str(self.bound.count), text, names, done)

    def definition(self) -> str:
        q, of = self.q, "of the result itself" if self.part.size is None else f"of {_plain(to_text(self.part.size))}"
        return (
            f"(* {q.title or q.name} = {_plain(q.formula)}: the code{' for float32' if self.narrow else ''} computes\n"
            f"   {_plain(to_text(self.term))}\n   by at most {self.bound.count} roundings {of}. *)\n"
            f"Definition code_{self.name} (p : Z) {' '.join(f'({x})' for x in (*self.library, *self.data))} : R :=\n"
            f"  {self.part.text}."
        )

    def equality(self) -> str:
        """That the code's formula is the theory's."""
        if not self.same:
            return ""
        equation = Equation(self.writer.printer, self.letters)
        proof = equation.equal(self.term, self.wanted)
        front = " ".join(f"({x})" for x in (*self.data, *self.ranges))
        return "\n".join(
            [
                f"Lemma {self.name}_same {front} :",
                f"  {self.writer.printer.value(self.term)} = {self.true}.",
                "Proof.",
                *equation.lines,
                f"exact {proof}. Qed.",
            ]
        )

    def general(self) -> str:
        """The theorem for every precision."""
        second = f"{self.part.second} * second p gap" if self.part.second else "0"
        gap = ["(gap : R)", *(f"({g})" for g in self.gaps), "(Hsmall : u p * gap <= / 4)"] if self.part.second else []
        judged, sized = ("good", "") if self.part.size is None else ("off", f" {self.size}")
        plan = self.writer.printer.value(self.term, 9)
        lines = [
            f"Theorem {self.name}_error (p : Z) (Hp : (1 < p)%Z) {self.at('p')} {' '.join(gap)}",
            f"  (theta : R) (Htheta : ({self.count}) * u p + {second} <= theta) (Hone : theta < 1) :",
            f"  Rabs ({self.code('p')} - {self.true}) <= theta / (1 - theta) * {self.size}.",
            "Proof.",
            f"{self.same}." if self.same else "",
            "assert (W : 0 <= second p gap) by (apply (second_pos p gap Hp); gap_pos)." if self.part.second else "",
            f"assert (G : {judged} p ({self.natural}) ({second}) ({self.code('p')}) {plan}{sized}).",
            f"{{ unfold code_{self.name}. eapply ({judged}_le p Hp); [{self.part.script} | lia | second_order]. }}",
            f"apply ({judged}_bound p Hp _ _ _ _{' _' if sized else ''} theta G); [counted | exact Hone].",
            "Qed.",
        ]
        return "\n".join(x for x in lines if x)

    def in_format(self, dtype: str) -> str:
        """The theorem in one format: what is of second order is less than a hundredth of a rounding there.

        Numbers narrower than float64 are computed in it and rounded once, but by code that keeps to their own dtype.
        """
        once = dtype == "float32" and not self.narrow
        precision, gap = FORMATS["float64" if once else dtype]
        p, second = str(precision), self.part.second
        theta = f"(({self.count} + / 100) * u {p})"
        share = f"{theta} / (1 - {theta})"
        gaps = [g.replace("<= gap", f"<= {gap}") for g in self.gaps] if second else []
        front = " ".join([f"Theorem {self.name}_{dtype}", self.at(p), *(f"({g})" for g in gaps)])
        given = self.words(self.library, self.data, self.assumed, self.ranges, self.stored)
        lines = [f"{front} (Hone : {theta} < 1) :"]
        if once:
            use = f"{self.name}_float64 {given} {self.words(gaps)} Hone"
            lines += [
                f"  Rabs (rnd 24 ({self.code(p)}) - {self.true}) <= (u 24 + (1 + u 24) * ({share})) * {self.size}.",
                f"Proof. apply rounded_once; [{self.same + '; ' if self.same else ''}size | exact ({use})]. Qed.",
            ]
            return "\n".join(lines)
        more = f"{gap} {self.words(gaps)} small_{p}" if second else ""
        closing = f"pose proof second_{p}; pose proof (u_pos {p} ltac:(lia)); lra."
        lines += [
            f"  Rabs ({self.code(p)} - {self.true}) <= {share} * {self.size}.",
            f"Proof. apply ({self.name}_error {p} ltac:(lia) {given} {more}); [|exact Hone]. {closing} Qed.",
        ]
        return "\n".join(lines)


def _plain(text: str) -> str:
    return text.replace("(*", "( *").replace("*)", "* )")


__all__ = ["Proved", "RoundingFile", "fingerprint", "rounding_file", "theorem_of"]

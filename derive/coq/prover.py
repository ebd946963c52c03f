"""What the proofs of one claim share: its telescope, its hypotheses, the claims before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from derive.coq.names import MEANS, NotExported, axis, letter
from derive.coq.normal import Equation
from derive.coq.pieces import Split
from derive.coq.poly import content, divided, fraction, mono_term, poly_of, scaled, term_of
from derive.coq.printer import Printer
from derive.coq.sums import index_bound
from derive.kernel.check import pure_index
from derive.kernel.context import Context, Lemma
from derive.kernel.proof import Use
from derive.kernel.signs import split
from derive.term import TRUE, Term, add, make, mul, neg, num, over, replace_variable, substitute, subterms
from derive.term import rebuild as rebuilt

MOST_CASES = 6  # nested case distinctions on numbers


def opened(term: Term, context: Context) -> Term:
    """The term without defined names and replacements."""
    memo: dict[Term, Term] = {}

    def walk(t: Term) -> Term:
        if t not in memo:
            memo[t] = one(t)
        return memo[t]

    def one(t: Term) -> Term:
        if not t.args and t.op != "def":
            return t
        args = [walk(a) for a in t.args]
        if t.op == "def":
            d = context.definitions[t.value]
            return substitute(walk(d.body), dict(zip(d.letters, args, strict=True)))
        if t.op == "at":
            return replace_variable(args[0], t.value, t.bound, args[1])
        return rebuilt(t, args)

    return walk(term)


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


@dataclass(frozen=True)
class Before:
    """A claim that stands earlier in the file."""

    name: str
    telescope: Telescope
    letters: tuple[Term, ...]
    condition: Term


# Uses that have no proof term.
UNSAID = {
    "telescoping": "a sum that telescopes",
    "symmetry": "a symmetry of the law",
    "size": "sums written out over an axis of a known size",
}


class Prover:
    """Proof scripts in the context of one claim."""

    def __init__(
        self,
        printer: Printer,
        context: Context,
        telescope: Telescope,
        letters: Iterable[Term],
        hypotheses: Mapping[int, str],
        lemmas: Sequence[Lemma],
        before: Mapping[tuple[str, int], Before],
    ):
        self.printer, self.context, self.telescope = printer, context, telescope
        self.letters = frozenset(letters)
        self.hypotheses, self.lemmas, self.before = hypotheses, lemmas, before
        self.prelude: list[str] = []
        self.times = 0
        self.unequal = frozenset(
            frozenset(part.args)
            for h in context.hypotheses
            if pure_index(h, context) and h.letters <= self.letters
            for part in (h.args if h.op == "and" else (h,))
            if part.op == "cmp" and part.value == "!="
        )

    def open(self, term: Term) -> Term:
        return opened(term, self.context)

    def text(self, term: Term) -> str:
        return self.printer.value(term)

    def script(
        self,
        made: Callable[[Equation], str],
        letters: Iterable[Term] = (),
        known: Mapping[tuple[Term, Term], tuple[str, bool]] | None = None,
        unequal: Iterable[frozenset[Term]] = (),
    ) -> str:
        """The script that ends in the proof term that `made` gives, cases apart where it must be."""
        known = dict(known or {})
        equation = Equation(self.printer, self.letters | set(letters), self.unequal | set(unequal), known)
        try:
            term = made(equation)
        except Split as case:
            if len(known) >= MOST_CASES:
                raise NotExported("too many cases") from None
            name, a, b = f"C{len(known)}", case.left, case.right
            first = self.script(made, letters, {**known, (a, b): (name, False)}, unequal)
            second = self.script(made, letters, {**known, (b, a): (name, True)}, unequal)
            return (
                f"destruct (Rle_dec ({self.text(a)}) ({self.text(b)})) as [{name}|{name}].\n{{ {first} }}\n"
                f"{{ apply Rnot_le_lt in {name}. {second} }}"
            )
        return "\n".join([*self.told(), *equation.lines, f"exact {term}."])

    def told(self) -> list[str]:
        """The prelude, under names that are not used yet."""
        self.times += 1
        return [re.sub(r"\bN(\d+)\b", rf"N\1_{self.times}", line) for line in self.prelude]

    def nonzero(self, domain: Iterable[Term]) -> None:
        """Say of each sum or difference that is assumed not to be 0 the same in its normal form."""
        given = [(f"Hyp{n + 1}", h, closed_letters(h, self.context)) for n, h in enumerate(self.context.hypotheses)]
        given = [g for n, g in enumerate(given) if n in self.hypotheses]
        given += [(f"Dom{n}", c, []) for n, c in enumerate(domain, 1)]
        for name, condition, closed in given:
            while condition.op == "all" and condition.args[1] is TRUE:
                closed = [*closed, *condition.bound]
                condition = condition.args[0]
            zero = condition.op == "cmp" and condition.args[1].op == "num" and condition.args[1].value == 0
            if (
                not zero
                or condition.value not in ("!=", ">")
                or "sum" not in {t.op for t in subterms(self.open(condition))}
            ):
                continue
            equation = Equation(self.printer, self.letters, self.unequal)
            equation.scope = tuple(map(index_bound, closed))
            try:
                best, proof = equation.canonical(self.open(condition.args[0]))
            except (Split, NotExported):
                continue
            p = poly_of(best)
            c, mono = content(p) if len(p) > 1 else (Fraction(1), next(iter(p)))
            parts = [t for t, e in mono if e > 0]
            if len(p) > 1:
                parts.append(term_of(scaled(divided(p, mono), 1 / c)))
            intros = "".join(f"{b.intro}. " for b in equation.scope)
            if len(p) > 1:
                split = make("mul", (mul(num(c), mono_term(mono)), parts[-1]))
                proof = equation.chain(proof, equation.say(self.text(best), self.text(split), "leaf"))
            for part in parts:
                if part.op not in ("sum", "add"):
                    continue
                target = f"N{len(self.prelude)}"
                why = "" if proof is None else f"refine (eq_trans {proof} _). "
                self.prelude.append(
                    f"assert ({target} : {self.printer.over(tuple(closed))}{self.printer.value(part, 69)} <> 0). {{ "
                    + "".join(equation.lines)
                    + f" {intros}assert (X : {self.text(self.open(condition.args[0]))} <> 0) by (open_all; "
                    + f"first [apply {name} | apply Rgt_not_eq, {name}]; places). intros Z. apply X. {why}"
                    + "timeout 20 (vanish Z). }"
                )

    def known_means(self) -> None:
        """Say of each equation that is assumed of means the same without them, over a common denominator."""
        for n in self.hypotheses:
            h = self.context.hypotheses[n]
            if h.op != "cmp" or h.value != "==" or closed_letters(h, self.context):
                continue
            if not any(t.op in MEANS for t in subterms(self.open(h))):
                continue
            gap = add(self.open(h.args[0]), neg(self.open(h.args[1])))
            equation = Equation(self.printer, self.letters, self.unequal)
            try:
                below, above = fraction(poly_of(equation.norm(gap)[0]))
                scaled_gap = make("mul", (below, gap))
                proof = equation.equal(scaled_gap, above)
            except (Split, NotExported):
                continue
            whole = self.printer.value(above, 69)
            self.prelude.append(
                f"assert (N{len(self.prelude)} : {whole} = 0). {{ {''.join(equation.lines)} "
                f"assert (Y : {self.text(scaled_gap)} = {whole}). {{ exact {proof}. }} "
                "rewrite <- Y. apply mult_null. open_all. lra. }"
            )

    def equal(self, left: Term, right: Term, letters: Iterable[Term] = ()) -> str:
        """The script of left = right."""
        return self.script(lambda e: e.equal(self.open(left), self.open(right)), letters)

    # -- what is put in ------------------------------------------------------------------------------------------------

    def hypothesis(self, number: int, mapping: Mapping[Term, Term]) -> str:
        """The proof term of a hypothesis at letters."""
        name = self.hypotheses.get(number)
        if name is None:
            raise NotExported("a hypothesis on indices is used as an equation")
        h = self.context.hypotheses[number]
        words = [name]
        for k in closed_letters(h, self.context):
            words += [self.printer.place(mapping.get(k, k)), "ltac:(places)"]
        while h.op == "all":
            for k in h.bound:
                words += [self.printer.place(mapping.get(k, k)), "ltac:(places)"]
            words += [] if h.args[1] is TRUE else ["ltac:(places)"]
            h = h.args[0]
        if any(part.op != "cmp" for part in split(h)):
            raise NotExported("one of several conditions is used as a comparison")
        return f"({' '.join(words)})" if len(words) > 1 else name

    def lemma(self, number: int, mapping: Mapping[Term, Term]) -> tuple[str, Term]:
        """The proof term of an earlier claim at letters, and what it says."""
        lemma = self.lemmas[number]
        found = self.before.get((lemma.theorem, lemma.number))
        if found is None:
            raise NotExported(f"it rests on {lemma.theorem}, claim {lemma.number}, which is not exported")
        own = {k.value: v for k, v in mapping.items()}
        places = {letter(k): self.printer.place(own.get(k.value, k)) for k in found.letters}
        here = {name for name, _ in self.telescope.binders}
        words = [found.name]
        for name, text in found.telescope.binders:
            if name in places:
                words.append(places[name])
            elif text.endswith("%nat") and name[0] == "H" and name[1:] in places:
                words.append("ltac:(places)")
            elif name.startswith(("Hyp", "Dom")) or name not in here:
                words.append("ltac:(given)")
            else:
                words.append(name)
        return f"({' '.join(words)})", substitute(found.condition, {k: own.get(k.value, k) for k in found.letters})

    def used(self, use: Use) -> tuple[str, Term]:
        """The proof term of what a step puts in, and what it says."""
        mapping = dict(use.letters)
        if use.kind == "hypothesis":
            h = self.context.hypotheses[use.number]
            while h.op == "all":
                h = h.args[0]
            return self.hypothesis(use.number, mapping), substitute(h, mapping)
        if use.kind in UNSAID:
            raise NotExported(UNSAID[use.kind])
        return self.lemma(use.number, mapping)

    def null(self, equation: Equation, use: Use) -> tuple[Term, str]:
        """A sum that is 0 by what is put in, multiplier * (left - right) over the letters, and why."""
        proof, says = self.used(use)
        if says.op != "cmp" or says.value != "==" or use.multiplier is None:
            raise NotExported("a step that uses something else than an equation")
        multiplier = self.open(use.multiplier)
        left, right = (self.open(a) for a in says.args)
        term = mul(multiplier, add(left, neg(right)))
        whole = over("sum", term, *use.over)
        intros = "".join(f"apply Sum_null; intros {letter(k)} H{letter(k)}; " for k in use.over)
        tactic = f"{intros}let H := fresh in assert (H := {proof}); open_all; apply mult_null; lra"
        return whole, equation.say(self.text(whole), "0", tactic)


def closed_letters(h: Term, context: Context) -> list[Term]:
    """The letters that a hypothesis is closed over, in the order in which Coq is told."""
    return sorted(h.letters - context.letters, key=lambda k: str(k.value))


__all__ = ["Before", "Prover", "Telescope", "axis", "closed_letters", "opened"]

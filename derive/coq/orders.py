"""Comparisons: each line of a proof as a Coq lemma, and the claim from the last of them or by signs.

A combination is an identity whose parts have known signs; a row is a lemma of coq/Derive.v; what the kernel judges by
signs alone is brought to a common denominator, and Coq's own procedures for order decide the numerator.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from derive.coq.names import NotExported, axis, letter
from derive.coq.normal import Equation
from derive.coq.poly import fraction, poly_of
from derive.coq.prover import Prover
from derive.kernel.check import Ground
from derive.kernel.context import Context
from derive.kernel.order import PROCEDURES, ROWS, Board
from derive.kernel.order import P as EXPONENT
from derive.kernel.order import U as FIRST
from derive.kernel.order import V as SECOND
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.kernel.rules import instantiate
from derive.kernel.signs import FLIP, NEG, POS, RELATION, ZERO, difference, sign
from derive.term import ONE, TRUE, Term, add, cmp, make, mul, neg, negation, num, over, substitute, subterms
from derive.term import ZERO as NOUGHT

SIGNS = {
    POS: "0 < {}",
    POS | ZERO: "0 <= {}",
    NEG: "{} < 0",
    NEG | ZERO: "{} <= 0",
    ZERO: "{} = 0",
    NEG | POS: "{} <> 0",
}
SUM_LEMMAS = {
    POS: "Sum_pos; [ix|]",
    POS | ZERO: "Sum_nonneg",
    NEG: "Sum_neg; [ix|]",
    NEG | ZERO: "Sum_nonpos",
    ZERO: "Sum_null",
}
ROW_LEMMAS = frozenset(
    f"{strict}{name}"
    for strict in ("", "strict_")
    for name in (
        "exp_tangent",
        "log_tangent",
        "exp_increasing",
        "log_increasing",
        "sqrt_increasing",
        "sigmoid_increasing",
        "softplus_increasing",
        "tanh_increasing",
        "exp_increments",
        "square_root_order",
        "absolute_bound",
    )
) | {"weighted_means"}


STRICT = frozenset({"weighted_means"})


class Order:
    """The comparisons of one claim."""

    def __init__(self, prover: Prover, name: str, proof: Proof, planned: Context):
        self.prover, self.name, self.proof = prover, name, proof
        self.printer = prover.printer
        self.ground = Ground(proof.claim, planned)
        self.board = Board(self.ground, self.ground.claim.letters | planned.letters)

    def text(self, term: Term, level: int = 200) -> str:
        return self.printer.value(term, level)

    def says(self, signs: int, term: Term) -> str:
        if signs not in SIGNS:
            raise NotExported("a part of an order has no sign")
        return SIGNS[signs].format(f"({self.text(term)})")

    def lines(self, chain: Sequence[str], last: Term) -> Iterator[str]:
        """One lemma a line, and the theorem."""
        try:
            for number, line in enumerate(self.proof.lines):
                yield self.line(number, line)
                self.board.add(line)
            yield self.theorem(chain, last)
        except Rejected as why:
            raise NotExported(f"the kernel rejects the proof: {why.reason}") from None

    # -- lines --------------------------------------------------------------------------------------------------------

    def line(self, number: int, line: Line) -> str:
        front = self.printer.over(line.letters)
        where = "" if line.where is TRUE else f"{self.printer.condition(line.where)} -> "
        intros = "".join(f"intros {letter(k)} H{letter(k)}. " for k in line.letters)
        intros += "" if line.where is TRUE else "intros W. split_all. "
        here = self.ground.full.under(line.where)
        script = "exfalso; lia." if here is None else self.script(here, line)
        return (
            f"(* ({number + 1}) {line.rule} *)\nLemma {self.name}_l{number} {self.prover.telescope} :\n  {front}{where}"
            f"{self.printer.condition(line.condition)}.\nProof. {intros}{script} Qed."
        )

    def script(self, here, line: Line) -> str:  # type: ignore[no-untyped-def]
        letters = self.board.fixed | frozenset(line.letters)
        if line.rule == "combination":
            return self.combination(here, line, letters)
        if line.rule == "extremum":
            return self.extremum(line)
        if line.rule == "case_distinction":
            return self.cases(here, line, letters)
        if line.rule == "mean_of_a_comparison":
            raise NotExported("the mean of a comparison")
        if line.rule == "product_of_comparisons":
            raise NotExported("a product of comparisons")
        if line.rule in ("lemma", "telescoping"):
            call, says = self.prover.used(line.uses[0])
            return f"assert (C := {call}).\n{self.same(line, difference(says))}"
        return self.row(here, line, letters)

    def same(self, line: Line, other: Term) -> str:
        """The line's condition from C, whose difference is the line's in another form."""
        gap = difference(line.condition)
        equal = self.equal(gap, other, line)
        return f"assert (E : {self.text(gap)} = {self.text(other)}). {{ {equal} }}\nlra."

    def equal(self, left: Term, right: Term, line: Line | None, cell: Term = TRUE) -> str:
        """The script of an equation at a line."""
        letters = line.letters if line else ()
        unequal = _unequal(cell) | (_unequal(line.where) if line else frozenset())
        known = {**(_known(line.where) if line else {}), **_known(cell)}
        p = self.prover
        return p.script(lambda e: e.equal(p.open(left), p.open(right)), letters, known, unequal)

    def combination(self, here, line: Line, letters: frozenset[Term]) -> str:  # type: ignore[no-untyped-def]
        """scale * (left - right) is a sum of parts of known sign."""
        scale = line.values[0] if line.values else ONE
        side = sign(here, scale)
        parts, out, total = [], [], 0
        for n, part in enumerate(line.parts):
            term, signs, script = self.part(here, part, letters)
            if term is None:
                continue
            parts.append(term)
            out.append(f"assert (P{n} : {self.says(signs, term)}).\n{{ {script} }}")
            total = _added(total, signs) if parts[1:] else signs
        gap = difference(line.condition)
        whole = add(*parts) if parts else num(0)
        total = total or ZERO
        scaled = make("mul", (scale, gap)) if scale is not ONE else gap
        out.append(f"assert (I : {self.text(scaled)} = {self.text(whole)}).\n{{ {self.equal(scaled, whole, line)} }}")
        if scale is ONE:
            return "\n".join([*out, "lra."])
        out.append(f"assert (HS : {self.says(side, scale)}). {{ sgn. }}")
        out.append(f"assert (T : {self.says(total, scaled)}). {{ rewrite I; lra. }}")
        out.append(f"assert (G : {self.says(total if side == POS else FLIP[total], gap)}). {{ unscale HS T. }}")
        return "\n".join([*out, "lra."])

    def part(self, here, part: Part, letters: frozenset[Term]) -> tuple[Term | None, int, str]:  # type: ignore[no-untyped-def]
        """A part as a term, its signs, and the script that shows them."""
        inner = here.under(part.where)
        if inner is None:
            return None, ZERO, ""
        _, signs = self.board.worth(here, part, letters)
        bound = letters | frozenset(part.over)
        factors, facts, product_signs = [part.multiplier], [], [sign(inner, part.multiplier)]
        scripts = ["sgn."]
        for cite in part.cites:
            term, one = self.board.cited(inner, cite, bound)
            term = _plain(term)
            factors.append(term)
            product_signs.append(one)
            scripts.append(self.cite(cite))
        for n, (f, s, script) in enumerate(zip(factors, product_signs, scripts, strict=True)):
            if f.op == "num" or signs == ZERO and s not in SIGNS:
                continue
            facts.append(f"assert (F{n} : {self.says(s, f)}). {{ {script} }}")
        body = mul(*factors)
        each = "\n".join(facts) + "\nprod."
        if not part.over:
            return body, signs, each
        term = over("sum", body, *part.over, where=part.where)
        out = "".join(f"apply {SUM_LEMMAS[signs]}; intros {letter(k)} H{letter(k)}. " for k in part.over)
        w = part.where
        if signs == POS and len(part.over) == 1 and w.op == "cmp" and w.value == "!=" and part.over[0] in w.args:
            k = part.over[0]
            front = f"apply Sum_others; [size_two {axis(k.value[1])} | places | intros {letter(k)} H{letter(k)} W0]. "
            return term, signs, front + each
        if part.where is not TRUE:
            inside = self.says(signs, body)
            where = self.printer.condition(part.where)
            out += f"assert (X : {where} -> {inside}). {{ intros W0. split_all. {each} }} filtered X."
            return term, signs, out
        return term, signs, out + each

    def cite(self, cite: Cite) -> str:
        """The script for the sign of a known comparison at its letters."""
        mapping = dict(cite.letters)
        if cite.line >= 0:
            return f"assert (C := {self.call(cite.line, mapping)}). split_all. lra."
        fact = self.ground.full.raw_facts[-1 - cite.line]
        if not fact.source.startswith("hypothesis "):
            return "sgn."
        number = int(fact.source.split()[1]) - 1
        own = {}
        for k, v in mapping.items():
            plain = k.value[0].removeprefix("^")
            own[_index(plain, k.value[1])] = v
        return f"assert (C := {self.prover.hypothesis(number, own)}). split_all. lra."

    def call(self, number: int, mapping: dict[Term, Term]) -> str:
        line = self.proof.lines[number]
        words = [f"{self.name}_l{number}", self.prover.telescope.words]
        for k in line.letters:
            words += [self.printer.place(mapping[k]), "ltac:(places)"]
        if line.where is not TRUE:
            words.append("ltac:(holds)")
        return f"({' '.join(w for w in words if w)})"

    def row(self, here, line: Line, letters: frozenset[Term]) -> str:  # type: ignore[no-untyped-def]
        """An elementary inequality at its values."""
        if line.rule not in ROW_LEMMAS:
            raise NotExported(f"the inequality {line.rule} has no lemma in coq/Derive.v")
        row = ROWS[line.rule]
        names = [m for m in (FIRST, SECOND, EXPONENT) if m in subterms(row.conclusion)]
        found: dict[str, object] = dict(zip((m.value for m in names), line.values, strict=True))
        out = []
        for n, (pattern, cite) in enumerate(zip(row.premises, line.cites or (None,) * len(row.premises), strict=True)):
            premise = instantiate(pattern, found)
            if line.rule in STRICT and pattern.args[0] is not EXPONENT and pattern.args[0] is not ONE:
                premise = cmp(">", *premise.args)  # Coq's real powers are of positive numbers
            if cite is None:
                script = self.signs(difference(premise), RELATION[premise.value], line.letters, _unequal(line.where))
            else:
                term = _plain(self.board.cited(here, cite, letters)[0])
                gap = difference(premise)
                _, signs = self.board.cited(here, cite, letters)
                script = (
                    f"assert (F : {self.says(signs, term)}). {{ {self.cite(cite)} }}\n"
                    f"assert (E : {self.text(gap)} = {self.text(term)}). {{ {self.equal(gap, term, line)} }}\nlra."
                )
            out.append(f"assert (R{n} : {self.printer.condition(premise)}). {{ {script} }}")
        values = " ".join(self.text(v, 9) for v in line.values)
        conclusion = instantiate(row.conclusion, found)
        given = " ".join(f"R{n}" for n in range(len(row.premises)))
        out.append(f"assert (C := row_{line.rule} {values} {given}).")
        return "\n".join([*out, self.same(line, difference(conclusion))])

    def extremum(self, line: Line) -> str:
        top, places = line.values[0], line.values[1:]
        if len(places) != 1 or top.args[1] is not TRUE:
            raise NotExported("it holds an extremum over several axes or with a condition")
        (k,) = top.bound
        value = substitute(top.args[0], {k: places[0]})
        name = "Max_ge" if top.op == "max" else "Min_le"
        inside = f"(fun {letter(k)} : nat => {self.text(top.args[0])})"
        place = self.printer.place(places[0])
        out = f"assert (C := {name} {axis(k.value[1])} {inside} {place} ltac:(places)). cbv beta in C.\n"
        gap = add(top, neg(value)) if top.op == "max" else add(value, neg(top))
        return out + self.same(line, gap)

    def cases(self, here, line: Line, letters: frozenset[Term]) -> str:  # type: ignore[no-untyped-def]
        """A condition, and its negation."""
        condition = line.values[0]
        cells = list(zip((condition, negation(condition)), line.cites, strict=True))
        if condition.op == "cmp" and condition.value == "!=":
            cells.reverse()
        test = self.printer.test(cells[0][0])
        says = self.printer.condition(cells[0][0])
        out = [
            f"assert (W1 : ({says}) \\/ ~ ({says})) by (destruct ({test}); [left | right]; assumption).",
            "destruct W1 as [W1|W1].",
        ]
        gap = difference(line.condition)
        for cell, cite in cells:
            inner = here.under(cell)
            if inner is None:
                out.append("{ exfalso; first [lia | lra]. }")
                continue
            extra = _unequal(cell)
            if cite is None:
                out.append(f"{{ {self.signs(gap, RELATION[line.condition.value], line.letters, extra)} }}")
                continue
            term, signs = self.board.cited(inner, cite, letters)
            term = _plain(term)
            equal = self.equal(gap, term, line, cell)
            out.append(
                f"{{ assert (F : {self.says(signs, term)}). {{ {self.cite(cite)} }}\n"
                f"assert (E : {self.text(gap)} = {self.text(term)}). {{ {equal} }}\nlra. }}"
            )
        return "\n".join(out)

    def need(self, condition: Term, letters: Sequence[Term]) -> str | None:
        """A script for what a term needs to be defined, where it is not plain; None where it is."""
        plain = self.prover.open(next(a for a in condition.args if a is not NOUGHT))
        if Equation(self.printer, self.prover.letters).positive(plain):
            return None
        try:
            return self.signs(difference(condition), RELATION[condition.value], letters, ())
        except NotExported:
            return None

    # -- the claim ----------------------------------------------------------------------------------------------------

    def theorem(self, chain: Sequence[str], last: Term) -> str:
        claim = self.proof.claim
        now = cmp(claim.value, last, claim.args[1])
        wanted, gap = RELATION[claim.value], difference(now)
        script = None
        if not self.ground.full.compare(now) & ~wanted:
            script = self.signs(gap, wanted, (), ())
        else:
            for number, known in reversed(list(enumerate(self.board.lines))):
                line = self.proof.lines[number]
                if line.letters or line.where is not TRUE or known.signs & ~wanted:
                    continue
                if self.ground.full.equal(known.term, gap):
                    script = f"assert (C := {self.call(number, {})}).\n"
                    other = difference(line.condition)
                    if other is gap:
                        script += "lra."
                    else:
                        equal = self.equal(gap, other, None)
                        script += f"assert (E : {self.text(gap)} = {self.text(other)}). {{ {equal} }}\nlra."
                    break
        if script is None:
            raise NotExported("the last comparison is not the claim")
        first = ""
        if chain:
            first = f"rewrite {Equation.chain(*chain)}. "
        says = f"Theorem {self.name} {self.prover.telescope} :\n  {self.printer.condition(claim)}."
        return f"{says}\nProof. {first}{script} Qed."

    def signs(self, gap: Term, wanted: int, letters: Sequence[Term], unequal) -> str:  # type: ignore[no-untyped-def]
        """What the kernel judges by signs alone: the difference over a common denominator."""
        if wanted & NEG and not wanted & POS:
            return self.signs(_turned(gap), FLIP[wanted], letters, unequal)
        p = self.prover
        found: list[tuple[Term, Term]] = []

        def made(equation: Equation) -> str:
            below, above = fraction(poly_of(equation.norm(p.open(gap))[0]))
            found[:] = [(below, above)]
            return equation.equal(p.open(make("mul", (below, gap))), above)

        script = p.script(made, letters, None, unequal)
        if script.startswith("destruct"):  # another numerator in each case
            return self.split_signs(gap, wanted, letters, unequal, {})
        below, above = found[0]
        return self.numerator(below, above, gap, wanted, script)

    def numerator(self, below: Term, above: Term, gap: Term, wanted: int, script: str) -> str:
        scaled = make("mul", (below, gap))
        return (
            f"{chr(10).join(self.prover.told())}\n"
            f"assert (I : {self.text(scaled)} = {self.text(above)}).\n{{ {script} }}\n"
            f"assert (HS : 0 < {self.text(below, 69)}). {{ sgn. }}\n"
            f"assert (G : {self.says(wanted, gap)}).\n{{ "
            f"first [solve [clear I HS; sgn] | "
            f"assert (T : {self.says(wanted, scaled)}) by (rewrite I; clear I HS; order); unscale HS T]. }}\n"
            "from_gap G."
        )

    def split_signs(self, gap: Term, wanted: int, letters, unequal, known) -> str:  # type: ignore[no-untyped-def]
        """The same, where a function in pieces asks for cases."""
        from derive.coq.pieces import Split

        p = self.prover
        equation = Equation(self.printer, p.letters | set(letters), p.unequal | set(unequal), known)
        try:
            below, above = fraction(poly_of(equation.norm(p.open(gap))[0]))
        except Split as case:
            if len(known) > 4:
                raise NotExported("too many cases") from None
            name, a, b = f"C{len(known)}", case.left, case.right
            first = self.split_signs(gap, wanted, letters, unequal, {**known, (a, b): (name, False)})
            second = self.split_signs(gap, wanted, letters, unequal, {**known, (b, a): (name, True)})
            return (
                f"destruct (Rle_dec ({self.text(a)}) ({self.text(b)})) as [{name}|{name}].\n{{ {first} }}\n"
                f"{{ apply Rnot_le_lt in {name}. {second} }}"
            )
        script = p.script(lambda e: e.equal(p.open(make("mul", (below, gap))), above), letters, known, unequal)
        return self.numerator(below, above, gap, wanted, script)


def _turned(gap: Term) -> Term:
    """The negated difference, as short as it can be said."""
    if gap.op == "neg":
        return gap.args[0]
    if gap.op == "add" and len(gap.args) == 2 and gap.args[1].op == "neg":
        left, right = gap.args[0], gap.args[1].args[0]
        return right if left.op == "num" and left.value == 0 else add(right, neg(left))
    return neg(gap)


def _unequal(where: Term) -> frozenset[frozenset[Term]]:
    parts = where.args if where.op == "and" else (where,)
    return frozenset(frozenset(c.args) for c in parts if c.op == "cmp" and c.value == "!=")


def _added(a: int, b: int) -> int:
    from derive.kernel.signs import add_signs

    return add_signs(a, b)


def _known(where: Term) -> dict[tuple[Term, Term], tuple[str, bool]]:
    """What a condition says of the order of numbers: (a, b) for a <= b, and whether a < b."""
    found = {}
    for c in where.args if where.op == "and" else (where,):
        if c.op == "cmp" and c.value in ("<", "<=", ">", ">="):
            a, b = c.args if c.value in ("<", "<=") else c.args[::-1]
            found[a, b] = ("W", c.value in ("<", ">"))
    return found


def _index(name: str, over_axis: str) -> Term:
    from derive.term import index

    return index(name, over_axis)


def _plain(term: Term) -> Term:
    """The term of a fact, its letters without the mark that keeps them apart."""
    mapping = {k: _index(k.value[0].removeprefix("^"), k.value[1]) for k in term.letters if k.value[0].startswith("^")}
    return substitute(term, mapping)


__all__ = ["PROCEDURES", "Order"]

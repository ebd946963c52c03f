"""Means, variances and covariances of polynomials in random entries. A part of `Equation`.

A mean is taken term by term: what is under it is written as sums of products of entries, and each product has a mean by
independence, cases of equal indices apart. The values are planned with the kernel's normal form; Coq checks them.
"""

from __future__ import annotations

from dataclasses import dataclass

from derive.coq.names import NotExported, axis, law_of, letter, variable
from derive.coq.poly import Mono, mono_term, poly_of, reduced, whole
from derive.coq.sums import Bound, Proof
from derive.kernel.moments import raw_moment
from derive.kernel.normal import Normal
from derive.language.places import transform
from derive.term import ONE, TRUE, TWO, ZERO, Term, add, fresh, index, make, mul, neg, num, power, substitute, subterms

SAMPLE = Bound("forall om : Omega, ", "om", "intros om")


@dataclass(frozen=True)
class Piece:
    """factor * sum(inner * entries for letters): the entries of a product, each with its power."""

    factor: Term
    letters: tuple[Term, ...]
    inner: Term
    entries: Mono

    def term(self, last: Term) -> Term:
        """The piece with something in the place of its entries; in one form, whatever the parts are."""
        body = make("mul", (self.inner, last))
        for k in reversed(self.letters):
            body = make("sum", (body, TRUE), None, (k,))
        return make("mul", (self.factor, body))


class Means:
    """What `normal.Equation` does with means."""

    def _Var(self, term: Term) -> tuple[Term, Proof]:
        e = term.args[0]
        return self.by_definition(add(make("E", (power(e, TWO),)), neg(power(make("E", (e,)), TWO))))

    def _Cov(self, term: Term) -> tuple[Term, Proof]:
        e, f = term.args
        means = mul(make("E", (e,)), make("E", (f,)))
        return self.by_definition(add(make("E", (make("mul", (e, f)),)), neg(means)))

    def _E(self, term: Term) -> tuple[Term, Proof]:
        if self.unknown(term.args[0]):
            return term, None
        flat, value, same, has = self.mean(term.args[0])
        functions = " ".join(f"(fun om : Omega => {self.text(t)})" for t in (term.args[0], flat))
        return self.again(value, f"(eq_trans (mean_ext M {functions} (fun om => {same})) (mean_is M _ _ {has}))")

    def integrable(self, body: Term) -> str:
        """A proof term: the function of the sample point has a mean."""
        flat, _, same, has = self.mean(body)
        function = f"(fun om : Omega => {self.text(body)})"
        return f"(proj1 (mean_same M {function} (fun om : Omega => {self.text(flat)}) _ (fun om => {same}) {has}))"

    def unknown(self, body: Term) -> bool:
        """Whether it is a power of one entry of which the law says nothing."""
        base, k = (body.args[0], whole(body.args[1])) if body.op == "pow" else (body, 1)
        law = law_of(self.printer.scope.context, base)
        return law is not None and law.family == "random" and k is not None and k > 2

    def mean(self, body: Term) -> tuple[Term, Term, str, str]:
        """The body as sums of products, its mean, why the two are the same at each point, and why it has that mean."""
        if not any(law_of(self.printer.scope.context, t) for t in subterms(body)):
            raise NotExported("a mean of what is certain")
        outer = self.scope
        self.scope = (*outer, SAMPLE)
        pieces = [self.piece(m, num(c)) for m, c in reduced(poly_of(self.norm(body)[0])).items()]
        flat: Term = make("add", [p.term(mono_term(p.entries)) for p in pieces]) if pieces else ZERO
        if len(pieces) == 1:
            flat = flat.args[0]
        same = self.equal(body, flat)
        self.scope = outer
        values = [self.product(p) for p in pieces]
        value: Term = make("add", [p.term(v) for p, (v, _) in zip(pieces, values, strict=True)]) if pieces else ZERO
        if len(pieces) == 1:
            value = value.args[0]
        scripts = [self.followed(p, why) for p, (_, why) in zip(pieces, values, strict=True)]
        script = scripts[0] if scripts else "apply mean_of_constant"
        for s in scripts[1:]:
            script = f"apply mean_of_plus; [{script} | {s}]"
        self.count += 1
        name = f"E{self.count}"
        foralls, intros = "".join(b.text for b in outer), "".join(f"{b.intro}. " for b in outer)
        self.lines.append(
            f"assert ({name} : {foralls}has_mean M (fun om : Omega => {self.text(flat)}) ({self.text(value)})). "
            f"{{ {intros}timeout 120 ({script}). }}"
        )
        called = f"({' '.join([name, *(b.names for b in outer)])})" if outer else name
        return flat, value, same, called

    # -- products ------------------------------------------------------------------------------------------------------

    def random(self, term: Term) -> bool:
        return any(law_of(self.printer.scope.context, t) for t in subterms(term))

    def piece(self, mono: Mono, factor: Term) -> Piece:
        """A monomial with its sums over random entries in front of everything."""
        taken = {*self.letters, *(b.letter for b in self.scope if b.letter is not None)}
        taken |= {k for a, _ in mono for t in subterms(a) for k in (*t.bound, *t.letters)}
        certain: list[Term] = [factor]
        inner: list[Term] = []
        letters: list[Term] = []
        todo = [(a, e, False) for a, e in mono]
        while todo:
            a, e, deep = todo.pop(0)
            if not self.random(a):
                (inner if deep and a.letters & set(letters) else certain).append(power(a, num(e)) if e != 1 else a)
            elif law_of(self.printer.scope.context, a) is not None and e > 0:
                inner.append(power(a, num(e)) if e != 1 else a)
            elif a.op == "sum" and a.args[1] is TRUE and e > 0:
                for _ in range(e):
                    mapping = {}
                    for b in a.bound:
                        mapping[b] = fresh(b, taken)
                        taken.add(mapping[b])
                    letters += mapping.values()
                    p = poly_of(substitute(a.args[0], mapping))
                    if len(p) != 1:
                        raise NotExported("a mean of a sum that is not in normal form")
                    ((m, c),) = p.items()
                    certain.append(num(c))
                    todo += [(t, n, True) for t, n in m]
            else:
                raise NotExported("it holds a mean of a function that is no polynomial in random entries")
        p = poly_of(mul(*inner))
        ((m, c),) = p.items()
        entries = tuple((t, n) for t, n in m if law_of(self.printer.scope.context, t) is not None)
        rest = tuple((t, n) for t, n in m if (t, n) not in entries)
        return Piece(mul(num(c), *certain), tuple(letters), mono_term(rest), entries)

    def followed(self, piece: Piece, why: str) -> str:
        """The script that takes the mean of a piece, sum by sum."""
        sums = "".join(f"apply (mean_of_sum M); intros {letter(k)} H{letter(k)}; " for k in piece.letters)
        return f"apply mean_of_multiple; {sums}apply mean_of_multiple; {why}"

    def product(self, piece: Piece) -> tuple[Term, str]:
        """The mean of a product of entries, and the script that shows it where their letters are bound."""
        if not piece.entries:
            return ONE, "apply mean_of_constant"
        context = self.printer.scope.context
        places = [a for t, _ in piece.entries for a in t.args]
        if any(a.op != "index" for a in places) or any(len(t.args) > 1 for t, _ in piece.entries):
            raise NotExported("it holds a mean of entries of more than one axis or at no letter")
        letters = list(dict.fromkeys(places))
        own = {k: index(f"l{n}", k.value[1]) for n, k in enumerate(letters)}
        entries = tuple((substitute(t, own), e) for t, e in piece.entries)
        nf = Normal(context)
        product = mul(*(power(t, num(e)) if e != 1 else t for t, e in entries))
        value = self.at_entries(nf.term(nf.poly(make("E", (product,)))), entries)
        text = f"has_mean M (fun om : Omega => {self.text(product)}) ({self.text(value)})"
        front = "".join(f"forall {letter(k)}, ({letter(k)} < {axis(k.value[1])})%nat -> " for k in own.values())
        intros = "".join(f"intros {letter(k)} H{letter(k)}. " for k in own.values())
        key = front + text
        if key not in self.products:
            self.products[key] = f"PM{len(self.products) + 1}"
            script = self.branch(nf, entries, list(own.values()), [], {})
            self.lines.append(f"assert ({self.products[key]} : {key}). {{ {intros}timeout 120 ({script}). }}")
        words = " ".join([self.products[key], *(f"{letter(k)} ltac:(places)" for k in letters)])
        back = {v: k for k, v in own.items()}
        return substitute(value, back), f"exact ({words})"

    def at_entries(self, value: Term, entries: Mono) -> Term:
        """The value with moments of no particular entry at the first one of the name."""
        firsts = {t.value: t for t, _ in reversed(entries)}

        def plain(t: Term) -> Term | None:
            if t.op == "var" and t.value in firsts and any(a.op == "num" for a in t.args):
                return firsts[t.value]
            return None

        return transform(value, plain)

    def branch(self, nf: Normal, entries: Mono, todo: list[Term], apart: list[Term], same: dict[Term, Term]) -> str:
        """The cases of equal and unequal indices, and in each the independent powers."""
        if not todo:
            return self.independent(nf, entries, same)
        k, rest = todo[0], todo[1:]
        script = self.branch(nf, entries, rest, [*apart, k], {**same, k: k})
        for other in reversed([a for a in apart if a.value[1] == k.value[1]]):
            equal = self.branch(nf, entries, rest, apart, {**same, k: other})
            script = (
                f"destruct (Nat.eq_dec {letter(k)} {letter(other)}) as [Q|?]; [subst {letter(k)}; {equal} | {script}]"
            )
        return script

    def independent(self, nf: Normal, entries: Mono, same: dict[Term, Term]) -> str:
        names = self.printer.scope.random
        powers: dict[Term, int] = {}
        for t, e in entries:
            entry = substitute(t, same)
            powers[entry] = powers.get(entry, 0) + e
        listed, facts = [], []
        for entry, e in powers.items():
            place = letter(entry.args[0]) if entry.args else "0%nat"
            law = law_of(nf.context, entry)
            assert law is not None
            at = f"(H{variable(entry.value)} {place} ltac:(ix))" if entry.args else f"H{variable(entry.value)}"
            if law.family == "random" and e > 2:
                value = make("E", (power(entry, num(e)),))
                why = "split; [integrable_power | reflexivity]"
            else:
                value = self.at_entries(nf.term(raw_moment(nf, entry, e)), entries)
                why = f"apply (moments_{e} M _ _ _ {at})"
                if law.family == "normal":
                    why = f"eapply mean_eq; [apply ({at} {e}%nat) | cbn [INR normal_moment]; ring]"
                else:
                    why = f"eapply mean_eq; [{why} | ring]"
            listed.append(f"(({names.index(entry.value)}%nat, {place}), {e}%nat, {self.text(value)})")
            facts.append(f"refine (conj _ (conj _ _)); [unfold among; cbn; ix | cbn; {why} | ")
        known = "".join(facts) + "exact I" + "]" * len(facts)
        return (
            f"apply (independent_product M _ ({' :: '.join(listed)} :: nil) _ _ Hind); "
            f"[cbn; different | {known} | intros om; cbn; ring | worth_it]"
        )


__all__ = ["Means"]

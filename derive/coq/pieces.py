"""What is given in pieces: extrema, arguments of the maximum, absolute values, cases. A part of `Equation`."""

from __future__ import annotations

from derive.coq.names import NotExported, axis, letter, variable
from derive.coq.poly import poly_of, term_of
from derive.coq.printer import indicator
from derive.coq.sums import Proof, height, index_bound
from derive.term import ONE, TRUE, ZERO, Term, add, cmp, fn, index, make, mul, neg, substitute, var, where


class Split(Exception):
    """An equation that has to be shown for a <= b and for b <= a on their own."""

    def __init__(self, left: Term, right: Term):
        super().__init__("cases")
        self.left, self.right = left, right


class Pieces:
    """What `normal.Equation` does with functions in pieces."""

    def _where(self, term: Term) -> tuple[Term, Proof]:
        """A case distinction, on indices by deltas, on numbers in each case."""
        condition, then, other = term.args
        if condition.op == "cmp" and not any(map(self.printer.is_place, condition.args)):
            return self._case(term)
        if then is ONE and other is ZERO and indicator(condition) is term:
            return term, None
        one = indicator(condition)
        new = add(mul(one, then), mul(add(ONE, neg(one)), other))
        return self.again(new, self.say(self.text(term), self.text(new), "by_cases"))

    def _case(self, term: Term) -> tuple[Term, Proof]:
        """A case distinction on numbers, where it is known which case it is."""
        condition, then, other = term.args
        a, b = (term_of(poly_of(self.norm(t)[0])) for t in condition.args)
        relation = condition.value
        if relation in (">", ">="):
            a, b, relation = b, a, {">": "<", ">=": "<="}[relation]
        if relation not in ("<", "<="):
            raise NotExported("it holds a case distinction by an equation of numbers")
        # a < b fails where b <= a; a <= b fails where b < a.
        strict = relation == "<"
        holds = self.ordered_pair(a, b, strict)
        fails = self.ordered_pair(b, a, not strict)
        if holds is None and fails is None:
            if self.closed(a, b):
                raise Split(*((b, a) if strict else (a, b)))
            raise NotExported("it holds a case distinction on numbers under a sum")
        chosen = then if holds is not None else other
        branches = "reflexivity | exfalso; lra" if holds is not None else "exfalso; lra | reflexivity"
        tactic = f"unfold cases; destruct ({self.printer.test(condition)}); [{branches}]"
        return self.again(chosen, self.say(self.text(term), self.text(chosen), tactic))

    def closed(self, *terms: Term) -> bool:
        """Whether nothing that is bound here stands in the terms."""
        bound = {b.letter for b in self.scope}
        return not any(b.letter is None for b in self.scope) and not any(t.letters & bound for t in terms)

    def ordered_pair(self, a: Term, b: Term, strict: bool = False) -> str | None:
        """The name of a <= b, or a < b, in Coq's context."""
        if a.op == "num" and b.op == "num":
            return "" if a.value < b.value or a.value == b.value and not strict else None
        name, is_strict = self.known.get((a, b), (None, False))
        return name if is_strict or not strict else None

    def _piece(self, term: Term) -> tuple[Term, Proof]:
        """abs, max and min, where it is known which piece it is."""
        parts = [self.canonical(a) for a in term.args]
        proof = self.congruence(term, [p for _, p in parts])
        values = [t for t, _ in parts]
        new = fn(term.value, *values)
        if term.value == "sign":
            raise NotExported("Coq's libraries have no sign")
        a, b = (values[0], ZERO) if term.value == "abs" else values
        if term.value == "abs" and self.positive(a):
            return self.again(a, self.chain(proof, self.say(self.text(new), self.text(a), "apply Rabs_pos_eq; nneg")))
        if term.value == "abs" and a.op == "neg" and self.positive(a.args[0]):
            found = self.say(self.text(new), self.text(a.args[0]), "rewrite Rabs_Ropp; apply Rabs_pos_eq; nneg")
            return self.again(a.args[0], self.chain(proof, found))
        if a is b:
            tactic = "unfold Rmax, Rmin; destruct (Rle_dec _ _); reflexivity"
            return a, self.chain(proof, self.say(self.text(new), self.text(a), tactic))
        low, high = self.ordered_pair(a, b), self.ordered_pair(b, a)
        if low is None and high is None:
            if self.closed(a, b):
                raise Split(a, b)
            return new, proof
        if term.value == "abs":
            chosen, lemma = (neg(a), "Rabs_left1") if low is not None else (a, "Rabs_pos_eq")
        elif term.value == "max":
            chosen, lemma = (b, "Rmax_right") if low is not None else (a, "Rmax_left")
        else:
            chosen, lemma = (a, "Rmin_left") if low is not None else (b, "Rmin_right")
        return self.again(chosen, self.chain(proof, self.say(self.text(new), self.text(chosen), f"apply {lemma}; lra")))

    # -- extrema over an axis ------------------------------------------------------------------------------------------

    def _max(self, term: Term) -> tuple[Term, Proof]:
        """A maximum is its body at the argmax."""
        if len(term.bound) > 1 or term.args[1] is not TRUE:
            raise NotExported("it holds an extremum over several axes or with a condition")
        (k,) = term.bound
        body = term.args[0] if term.op == "max" else neg(term.args[0])
        place = make("argmax", (body, TRUE), None, (k,))
        value = substitute(term.args[0], {k: place})
        lemma = "Max_Argmax" if term.op == "max" else "Min_Argmax"
        return self.again(value, self.say(self.text(term), self.text(value), f"apply {lemma}; ix"))

    _min = _max

    def _argmax(self, term: Term) -> tuple[Term, str | None]:
        """An argmax in the form that its equals share, and why the two are the same index."""
        if len(term.bound) > 1 or term.args[1] is not TRUE:
            raise NotExported("it holds an argmax with a condition")
        k, inside = self.apart(term.bound[0], term.args[0])
        outer = self.scope
        self.scope = (*outer, index_bound(k))
        body, proof = self.canonical(inside)
        self.scope = outer
        p = poly_of(body)
        rest = {m: c for m, c in p.items() if any(k in t.letters for t, _ in m)}
        constant = term_of({m: c for m, c in p.items() if m not in rest})
        other = index(f"_{height(body, (k,))}", k.value[1])
        new = make("argmax", (substitute(term_of(rest), {k: other}), TRUE), None, (other,))
        if new is term:
            return term, None
        i = letter(k)
        start = "" if proof is None else f"refine (eq_trans {proof} _); "
        tactic = f"apply (Argmax_shift {axis(k.value[1])} _ _ ({self.text(constant)})); intros {i} H{i}; {start}leaf"
        return new, self.say_index(self.printer.place(term), self.printer.place(new), tactic)

    def _var(self, term: Term) -> tuple[Term, Proof]:
        """An entry; its subscripts may be arguments of a maximum."""
        if all(a.op != "argmax" for a in term.args):
            return term, None
        found = [self._argmax(a) if a.op == "argmax" else (a, None) for a in term.args]
        new = var(term.value, *(t for t, _ in found))
        if all(p is None for _, p in found):
            return new, None
        proof = f"(eq_refl {variable(term.value)})"
        for _, p in found:
            proof = f"(f_equal2 (fun f x => f x) {proof} {p or 'eq_refl'})"
        return new, proof


__all__ = ["Pieces", "Split", "cmp", "where"]

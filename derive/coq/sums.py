"""Sums over axes in one form: distributed, sifted, flattened, their letters in one order. A part of `Equation`."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from derive.coq.names import axis, letter
from derive.coq.poly import Mono, Poly, arithmetic, key, mono_term, poly_of, reduced, term_of, whole
from derive.coq.printer import indicator
from derive.term import (
    ONE,
    TRUE,
    ZERO,
    Term,
    fresh,
    index,
    make,
    mul,
    over,
    size,
    substitute,
    subterms,
)

OWN = re.compile(r"_(\d+)")  # the letters of sums in canonical form


Proof = str | None  # None: both sides are the same text


def height(term: Term, but: tuple[Term, ...] = ()) -> int:
    """A number that is greater than those of all letters in canonical form, bound ones and free ones but some."""
    own = {t for s in subterms(term) for t in s.bound} | (term.letters - set(but))
    return 1 + max((int(m[1]) for t in own if (m := OWN.fullmatch(t.value[0]))), default=0)


@dataclass(frozen=True)
class Bound:
    """What is bound on the way down: an index, or a variable that a derivative is taken by."""

    text: str  # in a forall
    names: str  # what is applied
    intro: str  # the tactic that introduces it; an outer variable of the same name makes room
    letter: Term | None = None


def index_bound(k: Term) -> Bound:
    i = letter(k)
    return Bound(f"forall {i}, ({i} < {axis(k.value[1])})%nat -> ", f"{i} H{i}", f"intros {i} H{i}", k)


class Sums:
    """What `normal.Equation` does with sums."""

    def _sum(self, term: Term) -> tuple[Term, Proof]:
        body, condition = term.args
        if condition is not TRUE:  # what is printed for a filter is a factor
            body = make("mul", (indicator(condition), body))
        if len(term.bound) > 1:
            inner = over("sum", body, *term.bound[1:])
            return self._one(term.bound[0], inner)
        return self._one(term.bound[0], body)

    def _one(self, k: Term, body: Term) -> tuple[Term, Proof]:
        """The sum of the body over one letter."""
        k, body = self.apart(k, body)
        n, i = axis(k.value[1]), letter(k)
        outer = self.scope
        self.scope = (*outer, index_bound(k))
        new, inside = self.norm(body)
        p = reduced(poly_of(new))
        self.scope = outer
        groups: dict[Mono, Poly] = {}
        for m, c in p.items():
            dependent = tuple((t, e) for t, e in m if k in t.letters)
            constant = tuple((t, e) for t, e in m if k not in t.letters)
            groups.setdefault(dependent, {})[constant] = c
        pairs = [(term_of(c), mono_term(d)) for d, c in sorted(groups.items(), key=lambda g: [key(t) for t, _ in g[0]])]
        listed = " :: ".join(
            [*(f"({self.text(c)}, fun {i} : nat => {self.text(d)})" for c, d in pairs), "@nil (R * (nat -> R))"]
        )
        sums = [over("sum", d, k) for _, d in pairs]
        combined: Term = ZERO
        for (c, _), s in zip(reversed(pairs), reversed(sums), strict=True):
            combined = make("add", (make("mul", (c, s)), combined))
        whole_sum = over("sum", body, k)
        if inside is None and pairs == [(ONE, body)]:
            return self._monomial(k, body)
        start = "" if inside is None else f"refine (eq_trans {inside} _); "
        first = self.say(
            self.text(whole_sum),
            self.text(combined),
            f"refine (eq_trans (Sum_list {n} (fun {i} => {self.text(body)}) ({listed}) _) _); "
            f"[intros {i} H{i}; {start}parts | reflexivity]",
        )
        done = {s: self._monomial(k, d) for s, (_, d) in zip(sums, pairs, strict=True)}
        new, more = self.replaced(combined, done)
        return new, self.chain(first, more)

    def apart(self, k: Term, body: Term) -> tuple[Term, Term]:
        """The letter and its scope, renamed where something around has that name."""
        taken = {*self.letters, *(b.letter for b in self.scope if b.letter is not None)}
        if k.value[0] not in {t.value[0] for t in taken}:
            return k, body
        new = fresh(k, taken | {t for s in subterms(body) for t in (*s.bound, *s.letters)})
        return new, substitute(body, {k: new})

    def replaced(self, term: Term, done: dict[Term, tuple[Term, Proof]]) -> tuple[Term, Proof]:
        """The arithmetic term with atoms replaced by what they equal."""
        if term in done:
            return done[term]
        if not arithmetic(term) or term.op == "num":
            return term, None
        parts = [self.replaced(a, done) if n == 0 or term.op != "pow" else (a, None) for n, a in enumerate(term.args)]
        return make(term.op, [t for t, _ in parts]), self.congruence(term, [p for _, p in parts])

    def _monomial(self, k: Term, d: Term) -> tuple[Term, Proof]:
        """The sum of a product, each factor with the letter: sifted, or in canonical form."""
        n, i = axis(k.value[1]), letter(k)
        term = over("sum", d, k)
        factors = d.args if d.op == "mul" else (d,)
        if d is ONE:
            return size(k.value[1]), f"(Sum_one {n})"
        for f in factors:
            if f.op == "delta" and k in f.args and f.args[0] is not f.args[1]:
                j = f.args[1] if f.args[0] is k else f.args[0]
                rest = mul(*(g for g in factors if g is not f))
                r = f"(fun {i} : nat => {self.text(rest)})"
                at_j = substitute(rest, {k: j})
                turn = "" if f.args[0] is k else f"rewrite (delta_sym {self.printer.place(j)} {i}); "
                proof = self.say(
                    self.text(term),
                    self.text(at_j),
                    f"apply (Sum_sift {n} _ {self.printer.place(j)} {r}); [places | intros {i} H{i}; {turn}leaf]",
                )
                return self.again(at_j, proof)
        flat, proof = self.flattened(k, factors)
        best, order = self.ordered(flat)
        return best, self.chain(proof, order)

    def flattened(self, k: Term, factors: tuple[Term, ...]) -> tuple[Term, Proof]:
        """The sum with all sums inside of its body as one sum over several letters."""
        letters, plain = [k], []
        groups: list[tuple[tuple[Term, ...], Term]] = []
        taken = {k, *(t for f in factors for t in f.letters)}
        for f in factors:
            base, times = (f, 1)
            if f.op == "pow" and f.args[0].op == "sum" and (whole(f.args[1]) or 0) > 1:
                base, times = f.args[0], whole(f.args[1]) or 1
            if base.op != "sum":
                plain.append(f)
                continue
            for _ in range(times):
                mapping = {}
                for b in base.bound:
                    new = fresh(b, taken)
                    taken.add(new)
                    mapping[b] = new
                letters += mapping.values()
                groups.append((tuple(mapping.values()), substitute(base.args[0], mapping)))
        term = over("sum", mul(*factors), k)
        if not groups:
            return term, None
        rest = [*plain, *(b for _, b in groups)]
        flat = over("sum", mul(*rest), *letters)
        tactic = f"apply Sum_ext; intros {letter(k)} H{letter(k)}; "
        for place, (inside, body) in enumerate(groups):
            others = [*plain, *(b for _, b in groups[:place]), *(over("sum", b, *ks) for ks, b in groups[place + 1 :])]
            front, last = mul(*others), over("sum", body, *inside)
            tactic += f"transitivity ({self.text(make('mul', (front, last)))}); [leaf|]; "
            tactic += "".join(f"apply Sum_spread; intros {letter(b)} H{letter(b)}; " for b in inside)
        return flat, self.say(self.text(term), self.text(flat), tactic + "leaf")

    def ordered(self, term: Term) -> tuple[Term, Proof]:
        """The sum with its letters renamed and in the order that all its equals share."""
        letters, body = term.bound, term.args[0]
        first = height(body, letters)
        found: list[tuple[str, tuple[Term, ...], Term]] = []
        places = itertools.permutations(letters) if len(letters) < 6 else [letters]
        for order in places:
            mapping = {k: index(f"_{first + p}", k.value[1]) for p, k in enumerate(order)}
            new = over("sum", term_of(poly_of(substitute(body, mapping))), *mapping.values())
            found.append((key(new), tuple(order), new))
        _, order, best = min(found, key=lambda f: f[0])
        if best is term:
            return term, None
        swaps = []
        current = list(letters)
        for place, wanted in enumerate(order):
            at = current.index(wanted)
            while at > place:
                current[at - 1], current[at] = current[at], current[at - 1]
                at -= 1
                swaps.append(at)
        tactic = "".join(f"swap_sums {at}%nat; " for at in swaps)
        return best, self.say(self.text(term), self.text(best), f"{tactic}same_sums")

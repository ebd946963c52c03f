"""The normal form: a polynomial with rational coefficients over atoms, by which the kernel decides equality.

A polynomial is {monomial: coefficient}, a monomial a frozenset of (atom, exponent), an atom a canonical term. Algebra
is total: 1/0, the logarithm and real powers of what is not positive are 0. In that reading every law holds without
conditions; those that need a sign ask `signs`, and what is unknown is left alone. A choice made here (an order, a
pivot) can fail to find an equality, it cannot create one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from fractions import Fraction
from functools import reduce
from typing import Any

from derive.kernel import cases as by_case
from derive.kernel import derivative, functions, moments, powers, sums
from derive.kernel import facts as known
from derive.kernel.context import Context
from derive.kernel.integrable import Profile
from derive.kernel.intervals import Interval
from derive.kernel.poly import (
    CASES,
    MAX_TERMS,
    UNIT,
    Mono,
    Poly,
    TooLarge,
    add_to,
    constant,
    joined,
    key,
    letter_key,
    mono_key,
    scaled,
    small,
)
from derive.kernel.proof import Rejected
from derive.kernel.signs import RELATION, ZERO, Fact, difference, sign, split
from derive.kernel.wellformed import is_index, subscript_axis
from derive.term import FALSE, Term, cmp, make, num, replace_variable, substitute, subterms


class Normal:
    """The normal form of terms under one set of facts.

    `steady` is False under a derivative, where what holds at the point only (a nonstrict fact, a variable equal to a
    value) must not be used. `loose` names variables whose declared kind is not assumed. `tick` is called now and then
    and may raise to stop the work.
    """

    def __init__(
        self,
        context: Context,
        *,
        facts: Iterable[Fact] = (),
        guards: tuple[Term, ...] = (),
        steady: bool = True,
        loose: frozenset[str] = frozenset(),
        tick: Callable[[], None] | None = None,
    ):
        self.context, self.guards, self.steady, self.loose, self.tick = context, guards, steady, loose, tick
        self.guarded = frozenset().union(*(g.letters for g in guards)) if guards else frozenset()
        self.raw_facts = tuple(facts)
        self.facts: dict[str, list[Fact]] = {}
        self.orders: list[tuple[Poly, int]] = []  # unconditional comparisons with 0
        self.asked: set[int] = set()  # facts whose guards are being judged, in all cases of this normal form
        self.unfolded: dict[Term, Term] = {}
        self.ties: dict[Term, Term] = {}
        self.after: dict[Term, Term] = {}  # letters known to follow another one
        self.single: frozenset[str] = frozenset()  # axes of one index, the number 0
        self.above: Normal | None = None  # that of which this is a case
        self.depth = 0
        self.forget()
        self.tie(guards)
        self.install()

    def forget(self) -> None:
        """Begin anew: nothing that was found under other facts is kept."""
        self.signs: dict[Term, int] = {}
        self.memo: dict[Term, Poly] = {}
        self.products: dict[tuple[Mono, Mono], Poly] = {}
        self.finished: dict[Mono, Poly] = {}
        self.renamed: dict[tuple[Term, tuple[tuple[Term, Term], ...]], Poly] = {}
        self.sums: dict[tuple[frozenset[Term], Mono], Poly] = {}
        self.cumulants: dict[tuple[Term, int], Poly] = {}
        self.partitions: dict[tuple[Term, ...], Poly] = {}
        self.inner: dict[object, Normal | None] = {}
        self.needs: dict[object, dict[Any, None]] = {}  # what parts need to be defined
        self.profiles: dict[object, Profile] = {}  # the moments that means need
        self.enclosures: dict[tuple[Term, int], Interval] = {}

    def under(self, condition: Term) -> Normal | None:
        """This normal form with the condition as a further fact; None where it cannot hold."""
        return self.extended(tuple(split(condition)))

    def extended(self, guards: tuple[Term, ...]) -> Normal | None:
        new = tuple(g for g in guards if g not in self.guards)
        if not new:
            return self
        if new not in self.inner:
            made: Normal | None = self
            for g in new:
                made = None if made is None or constant(made.condition(g)) == 0 else made.child((g,))
            self.inner[new] = made
        return self.inner[new]

    def child(self, guards: tuple[Term, ...]) -> Normal:
        """A normal form with further guards; the facts known so far stay as they are, being true all the same."""
        facts = [
            Fact(difference(g), RELATION[g.value], frozenset(), (), "the case at hand")
            for g in guards
            if g.op == "cmp"
            and (g.value != "!=" or not self.index_like(*g.args))  # that is told by case
            # Under a derivative only what holds around the point; indices do not move.
            and (self.steady or g.value in ("<", ">", "!=") or self.index_like(*g.args))
        ]
        made = copy(self)
        made.above, made.guards = self, self.guards + guards
        made.guarded = self.guarded.union(*(g.letters for g in guards))
        made.raw_facts = self.raw_facts + tuple(facts)
        made.facts = {k: list(v) for k, v in self.facts.items()}
        made.orders, made.depth = list(self.orders), 0
        made.forget()
        made.tie(guards)
        for fact in facts:
            made.record(fact)
        made.forget()
        return made

    def tie(self, guards: Iterable[Term]) -> None:
        """Where letters are known to be equal, one stands for both."""
        for g in guards:
            if g.op == "cmp" and g.value == "==" and all(a.op == "index" for a in g.args):
                new, old = sorted((self.ties.get(a, a) for a in g.args), key=letter_key)
                if new is not old:
                    self.ties = {k: new if v is old else v for k, v in self.ties.items()} | {old: new}

    def averaged(self) -> Normal:
        """The normal form for what stands in a mean, which takes all values: a case outside speaks of one of them."""
        if self.above is None:
            return self
        above, own = self.above.averaged(), self.guards[len(self.above.guards) :]
        kept = tuple(g for g in own if not moments.random_names(self, g))
        return self if above is self.above and kept == own else above.extended(kept) or above

    def around(self, name: str | None) -> Normal:
        """The normal form for what stands under a derivative, where what holds at the point only must not be used.

        `name` is the variable that moves: its declared kind is kept only where it is an open set.
        """
        kind = self.context.declarations[name].kind if name in self.context.declarations else "real"
        loose = self.loose | ({name} if name and kind != "positive" else frozenset())
        return self.bare(frozenset(loose), False)

    def anywhere(self, name: str) -> Normal:
        """The normal form that assumes nothing of the variable, whose entries are about to be replaced."""
        return self.bare(self.loose | {name}, True)

    def bare(self, loose: frozenset[str], steady: bool) -> Normal:
        """The normal form without facts, or with those that hold around the point."""
        if not self.raw_facts and not self.guards and (self.loose, self.steady) == (loose, steady):
            return self
        if (found := self.inner.get((loose, steady))) is None:
            facts = known.open_facts(self, steady)
            found = Normal(self.context, facts=facts, steady=steady, loose=loose, tick=self.tick)
            found.guarded = self.guarded  # facts that are kept speak of them
            found.forget()
            self.inner[loose, steady] = found
        return found

    # -- from terms to polynomials and back --------------------------------------------------------------------------

    def poly(self, term: Term) -> Poly:
        """The normal form of the term."""
        found = self.memo.get(term)
        if found is None:
            if self.tick is not None:
                self.tick()
            tied = substitute(term, self.ties) if self.ties else term
            found = self.evaluate(term) if tied is term else self.poly(tied)
            self.memo[term] = found
        return found

    def canonical(self, term: Term) -> Term:
        return self.term(self.poly(term))

    def equal(self, left: Term, right: Term) -> bool:
        return self.is_zero(add_to(dict(self.poly(left)), self.poly(right), -1))

    def is_zero(self, poly: Poly, depth: int = 5) -> bool:
        """Whether the polynomial is 0: denominators known not to vanish are cleared, cases are told apart."""
        for _ in range(4):
            if not poly:
                return True
            bottoms: dict[Term, int | Fraction] = {}
            for mono in poly:
                for a, e in mono:
                    if a.op == "add" and e < min(0, bottoms.get(a, 0)):
                        bottoms[a] = e
            bottoms = {a: e for a, e in bottoms.items() if not sign(self, a) & ZERO}
            if not bottoms:
                break
            factor: Mono = frozenset((a, -e) for a, e in bottoms.items())
            total: Poly = {}
            for mono, c in poly.items():  # the product of a term with the factor cancels before it is expanded
                add_to(total, self.times(mono, factor), c)
            if total == poly:
                break
            poly = total
        if not poly or depth <= 0 or not self.steady:
            return not poly
        if self.zero_by_cases(poly, depth):
            return True
        apart = by_case.told_apart(self, poly)
        return apart is not None and self.is_zero(apart, depth - 1)

    def zero_by_cases(self, poly: Poly, depth: int) -> bool:
        """Whether the polynomial is 0 in each case of one of its 0-1 atoms."""
        found = {a for m in poly for a, _ in m if a.op in CASES or (a.op == "var" and self.is_bit(a))}
        if not found or len(found) > 2 * by_case.MAX_CASES:
            return False
        atom = min(found, key=lambda a: (a.op != "delta", key(a)))
        if atom.op == "var":
            cells = [cmp("==", atom, 1), cmp("==", atom, 0)]
        else:
            test = cmp("==", *atom.args) if atom.op == "delta" else atom.args[0]
            relations = ("==", "!=") if test.value == "==" else (test.value, "==", "<" if test.value == ">" else ">")
            cells = [cmp(relation, *test.args) for relation in relations]
        for cell in cells:
            here = self.under(cell)
            if here is not None and not known.contradicted(here):  # what holds in the case is put in by its indicator
                term = self.term(self.mul(self.condition(cell), poly))
                part = here.poly(sums.swap_entry(term, atom, cell.args[1]) if atom.op == "var" else term)
                if part == poly or not here.is_zero(part, depth - 1):
                    return False
        return True

    def term(self, poly: Poly) -> Term:
        """The canonical term of a polynomial; its own normal form is the polynomial again."""
        parts = []
        for mono in sorted(poly, key=mono_key) if len(poly) > 1 else poly:
            c = poly[mono]
            factors = [
                a if e == 1 else a**e for a, e in (sorted(mono, key=lambda p: key(p[0])) if len(mono) > 1 else mono)
            ]
            if c != 1 or not factors:
                factors.insert(0, num(c))
            parts.append(make("mul", factors) if len(factors) > 1 else factors[0])
        result = make("add", parts) if len(parts) > 1 else parts[0] if parts else num(0)
        self.memo.setdefault(result, poly)
        return result

    def atom(self, term: Term) -> Poly:
        """The polynomial that is just this atom."""
        poly: Poly = {frozenset({(term, 1)}): 1}
        self.memo[term] = poly
        return poly

    def rename(self, term: Term, mapping: dict[Term, Term]) -> Poly:
        """The normal form after letters are replaced."""
        if term.letters.isdisjoint(mapping):
            return self.poly(term)
        slot = (term, tuple(sorted(mapping.items(), key=lambda p: key(p[0]))))
        if slot not in self.renamed:
            self.renamed[slot] = self.poly(substitute(term, mapping))
        return self.renamed[slot]

    def rename_mono(self, mono: Mono, mapping: dict[Term, Term]) -> Poly:
        result: Poly = {UNIT: 1}
        for a, e in mono:
            part = self.rename(a, mapping)
            result = self.mul(result, part if e == 1 else self.power(part, {UNIT: e}))
        return result

    def index_like(self, *terms: Term) -> bool:
        """Whether all of them are indices."""
        return all(is_index(t, self.context) for t in terms)

    def unfold(self, term: Term) -> Term:
        """A definition's body at its subscripts. Raises Rejected for a name that is not defined."""
        if term not in self.unfolded:
            definition = self.context.definitions.get(term.value)
            if definition is None or len(definition.letters) != len(term.args):
                raise Rejected(f"{term.value} is not defined with {len(term.args)} subscripts")
            self.unfolded[term] = substitute(definition.body, dict(zip(definition.letters, term.args, strict=True)))
        return self.unfolded[term]

    def opened(self, term: Term) -> Term:
        """The term with its definitions unfolded."""
        while not term.names.isdisjoint(self.context.definitions):  # the last one first, since it rests on the others
            last = [d for d in self.context.definitions.values() if d.name in term.names][-1]
            term = replace_variable(term, last.name, last.letters, last.body, "def")
        return term

    def evaluate(self, term: Term) -> Poly:
        if term.op not in VALUES:
            raise Rejected(f"{term.op} has no value")
        return VALUES[term.op](self, term)

    def subscript(self, term: Term) -> Term:
        """A subscript in canonical form."""
        if self.single and self.index_like(term) and subscript_axis(term, self.context) in self.single:
            return num(0)
        if term.op in ("index", "num"):
            return term
        if term.op == "var":
            return make("var", [self.subscript(a) for a in term.args], term.value)
        if term.op == "argmax":
            return sums.argmax(self, term)
        raise Rejected(f"{term.op} is not a subscript")

    def quantified(self, term: Term, close: Callable[[Normal, tuple[Term, ...], Poly, Term], Poly]) -> Poly:
        """The body under its filter, brought to normal form with letters that nothing outside uses, then closed."""
        letters, body, filter_ = sums.opened(self, term)
        here = self.under(filter_)
        # What was simplified under the filter stays right where the filter is not 0.
        return close(self, letters, here.poly(body) if here else {}, filter_ if here else FALSE)

    def replaced(self, term: Term) -> Term:
        """`at`: the body with all entries of the variable replaced at once, derivatives inside taken first."""
        body, by = self.anywhere(term.value).canonical(term.args[0]), term.args[1]
        if any(t.op in ("diff", "limit", "at") for t in subterms(body)) or moments.hides(self, body, term.value, by):
            raise Rejected("`at` around an expression that cannot be evaluated first")
        return replace_variable(body, term.value, term.bound, by)

    # -- products and powers -----------------------------------------------------------------------------------------

    def mul(self, left: Poly, right: Poly) -> Poly:
        if len(left) == 1 and UNIT in left:
            return scaled(right, left[UNIT])
        if len(right) == 1 and UNIT in right:
            return scaled(left, right[UNIT])
        if len(left) * len(right) > 20 * MAX_TERMS:
            raise TooLarge("the normal form has too many terms")
        total: Poly = {}
        for m, c in left.items():
            for n, d in right.items():
                add_to(total, self.times(m, n), c * d)
        return total

    def times(self, left: Mono, right: Mono) -> Poly:
        """The product of two monomials."""
        if not left or not right:
            return self.finish(left or right)
        slot = (left, right)
        found = self.products.get(slot)
        if found is None:
            if self.tick is not None:
                self.tick()
            merged = dict(left)
            extra: list[Poly] = []
            for a, e in right:
                if a in merged:
                    merged[a] = small(merged[a] + e)
                    if merged[a] == 0:
                        del merged[a]
                        if not self.certain(a):  # x / x is 1 except at 0
                            zero = self.zero(self.atom(a) if a.op != "add" else self.poly(a))
                            extra.append(add_to({UNIT: 1}, zero, -1))
                else:
                    merged[a] = e
            found = self.finish(frozenset(merged.items()))
            for factor in extra:
                found = self.mul(found, factor)
            self.products[slot] = found
        return found

    def certain(self, atom: Term) -> bool:
        """Whether the atom is known not to be 0."""
        return not sign(self, atom) & ZERO

    def finish(self, mono: Mono) -> Poly:
        """A monomial under the laws of its special atoms."""
        found = self.finished.get(mono)
        if found is None:
            found = self._finish(mono)
            self.finished[mono] = found
        return found

    def _finish(self, mono: Mono) -> Poly:
        for a, e in mono:
            found = powers.of_one_atom(self, a, e) if e != 1 or a.op in ("num", "add", "fn") else None
            if found is not None:
                taken, value = found
                return self.mul(self.finish(joined(mono, {(a, -taken)})), value)
        cases = [a for a, _ in mono if a.op in CASES]
        if cases:
            reduced = by_case.case_laws(self, mono, sorted(cases, key=key))
            if reduced is not None:
                return reduced
        return powers.reduce(self, mono)

    # -- the laws, by subject ----------------------------------------------------------------------------------------

    install = known.install
    record = known.record
    facts_about = known.facts_about
    instance = known.instance
    holds = by_case.holds
    compare = by_case.compare
    kind_sign = known.kind_sign
    power = powers.to_power
    mono_sign = powers.mono_sign
    cases = by_case.cases
    by_cases = by_case.by_cases
    condition = by_case.condition
    delta = by_case.delta_of
    positive = by_case.positive
    zero = by_case.zero
    sided = by_case.sided
    in_order = by_case.in_order
    tidied = by_case.tidied
    unless = by_case.unless
    is_bit = by_case.is_bit
    exp = functions.exp


def _entry(nf: Normal, term: Term) -> Poly:
    place = nf.subscript(term)
    if place in nf.after:
        return nf.poly(nf.after[place] + 1)
    return nf.poly(place) if place.op == "num" else nf.atom(place)


def _limit(nf: Normal, term: Term) -> Poly:
    from derive.kernel import limits

    return limits.normal(nf, term)


VALUES: dict[str, Callable[[Normal, Term], Poly]] = {
    "num": lambda nf, t: {UNIT: small(t.value)} if t.value else {},
    "add": lambda nf, t: reduce(add_to, map(nf.poly, t.args), {}),
    "neg": lambda nf, t: scaled(nf.poly(t.args[0]), -1),
    **dict.fromkeys(("mul", "div", "pow"), powers.factored),
    "def": lambda nf, t: nf.poly(nf.unfold(t)),
    "size": lambda nf, t: {UNIT: 1} if t.value in nf.single else nf.atom(t),
    "const": Normal.atom,
    **dict.fromkeys(("index", "var", "argmax"), _entry),
    "delta": lambda nf, t: nf.delta(*t.args),
    "where": by_case.branches,
    "fn": functions.function,
    "sum": lambda nf, t: nf.quantified(t, sums.filtered_sum),
    "prod": lambda nf, t: nf.quantified(t, sums.product_over),
    **dict.fromkeys(("max", "min"), sums.extremum),
    "diff": derivative.normal,
    "at": lambda nf, t: nf.poly(nf.replaced(t)),
    **dict.fromkeys(("E", "Var", "Cov"), lambda nf, t: moments.normal(nf.averaged(), t)),
    "limit": _limit,
}

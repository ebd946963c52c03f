"""Facts in normal form: what the hypotheses, the left side and the case at hand say of the signs of atoms.

Methods of `Normal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from itertools import product as cartesian
from typing import TYPE_CHECKING

from derive.kernel import intervals, moments, powers
from derive.kernel.intervals import FUNCTIONS, OPERATORS, Imprecise, Interval
from derive.kernel.poly import PIECEWISE, UNIT, Poly, add_to, constant, key, leading, scaled, threshold
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, KIND, NEG, POS, ZERO, Fact, add_signs, mul_signs, nonempty, sign, sign_of
from derive.term import PI, TRUE, Term, both, cmp, size, substitute, subterms

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

POLYNOMIAL = frozenset({"num", "size", "const", "index", "add", "mul", "neg"})  # operators of polynomials


def install(self: Normal) -> None:
    """Bring the facts to normal form."""
    self.raw_facts += tuple(more for fact in self.raw_facts for more in exclude_one(self, fact))
    # Two rounds: the first facts may change the normal form of the later ones, and theirs of the first.
    for _ in range(2):
        self.forget()
        for fact in self.raw_facts:
            self.record(fact)
    self.forget()


def open_facts(self: Normal, steady: bool) -> tuple[Fact, ...]:
    """The facts about sizes and letters, which do not move; unless `steady` also those that hold around the point:
    strict ones about polynomials of real variables."""
    kinds = {d.name: d.kind for d in self.context.declarations.values()}

    def polynomial(t: Term) -> bool:
        if t.op == "pow":
            return t.args[1].op == "num" and t.args[1].value.denominator == 1 and t.args[1].value > 0
        return t.op in POLYNOMIAL or (t.op == "var" and kinds.get(t.value) in ("real", "positive", "nonnegative"))

    def kept(f: Fact) -> bool:
        strict = not steady and not f.signs & ZERO
        return not f.guards and (not f.term.names or (strict and all(map(polynomial, subterms(self.opened(f.term))))))

    return tuple(filter(kept, self.raw_facts))


def exclude_one(self: Normal, fact: Fact) -> Iterator[Fact]:
    """That a size is above 1 where the fact cannot hold for one index: a sum over i != j that is 1 is not empty."""
    axes = {k.value[1] for t in subterms(self.opened(fact.term)) if t.bound and t.args[1] is not TRUE for k in t.bound}
    for axis in sorted(axes) if not fact.guards else ():
        one, more = self.under(cmp("==", size(axis), 1)), size(axis) - 1
        try:
            if one is not None and not sign(one, fact.term) & sign(one, one.canonical(fact.term)) & fact.signs:
                yield Fact(more, POS, frozenset(), (), fact.source)
        except Rejected:
            continue


def contradicted(self: Normal) -> bool:
    """Whether two of the facts that hold here exclude each other, what is not 0 at a letter of the case at hand too."""
    own = sorted(self.guards[-1].letters, key=key) if self.guards else []
    for fact in self.raw_facts:
        places = ({k: p} for k in fact.letters for p in own if p.value[1] == k.value[1])
        one = len(fact.letters) == 1 and fact.signs == NEG | POS
        for mapping in places if one else () if fact.letters else ({},):
            if allowed(self, fact, mapping):
                poly = self.rename(fact.term, mapping)
                signs = reduce(add_signs, (self.mono_sign(m, c) for m, c in poly.items()), ZERO)
                signs |= ANY if poly and fact.signs == ZERO else 0  # an equation is to be told where it is used
                if not signs & fact.signs & self.facts_about(self.term(poly), strict=True):
                    return True
    return False


def record(self: Normal, fact: Fact) -> None:
    """Note the fact for its normal form, and what it says of the factors of a monomial."""
    poly = self.poly(fact.term)
    if not poly:
        return
    if fact.signs == ZERO and not fact.guards:
        self.single |= {n.value for n in fact.term.args if n.op == "size" and fact.term is n - 1}
    if fact.signs == ZERO and not fact.guards and not fact.letters:
        follow(self, poly)
    signs = fact.signs & sign(self, fact.term)
    if signs:  # else it is contradicted
        fact = Fact(fact.term, signs, fact.letters, fact.guards, fact.source)
    for g in fact.guards:  # at k = j, which a guard k != j leaves out, the term has a sign of its own
        if g.op == "cmp" and g.value == "!=" and g.args[0] in fact.letters and g.args[0] not in g.args[1].letters:
            either = fact.signs | sign(self, self.term(self.rename(fact.term, {g.args[0]: g.args[1]})))
            if either != ANY:
                without = tuple(h for h in fact.guards if h is not g)
                self.record(Fact(fact.term, either, fact.letters, without, fact.source))
    for other in told(self, fact, poly):
        self.record(other)
    scales = {Fraction(1), 1 / Fraction(leading(poly)), 1 / Fraction(threshold(poly))}
    for scale in sorted(scales | {-scale for scale in scales}):
        seen = fact.signs if scale > 0 else mul_signs(fact.signs, NEG)
        note(self, Fact(self.term(scaled(poly, scale)), seen, fact.letters, fact.guards, fact.source))


def follow(self: Normal, poly: Poly) -> None:
    """Note that one letter follows another where i - j - 1 is 0: as a number i is j + 1, and k < i where k <= j."""
    letters = {c: a for m, c in poly.items() if len(m) == 1 for a, e in m if a.op == "index" and e == 1}
    c = poly.get(UNIT)
    if len(poly) == 3 and c in (1, -1) and letters.keys() == {1, -1} and letters[1].value[1] == letters[-1].value[1]:
        self.after = {**self.after, letters[-c]: letters[c]}


def told(self: Normal, fact: Fact, poly: Poly) -> Iterator[Fact]:
    """What the fact says without a guard that something satisfies, of sizes, places, and the factors of a product."""
    about = frozenset().union(*(g.letters for g in fact.guards)) & fact.letters
    if about and about.isdisjoint(fact.term.letters) and nonempty(self, tuple(about), both(*fact.guards)):
        yield Fact(fact.term, fact.signs, fact.letters - about, (), fact.source)
    fixed = not fact.term.letters or any(t.op == "argmax" for t in subterms(fact.term))
    if fact.signs in (POS, NEG) and fixed and powers.integral(self, poly):
        less = fact.term - 1 if fact.signs == POS else fact.term + 1
        yield Fact(less, fact.signs | ZERO, fact.letters, fact.guards, fact.source)
    scale, content, rest = powers.parts(self, poly)
    products = [(scale, [(e, a) for a, e in content] + [(1, self.term(rest))] * (len(rest) > 1))]
    if fact.term.op in ("def", "mul", "div", "neg") and not fact.signs & ZERO:
        written = powers.factors(self, fact.term, {UNIT: 1})
        products.append((1, [(constant(e) or 0, source) for _, e, source in written] if len(written) > 1 else []))
    if not fact.signs & ZERO and fact.term.op == "fn" and fact.term.value == "abs":
        products.append((1, [(2, fact.term.args[0])]))
    products.append((1, [(1, self.term(side)) for side in powers.sides(poly) or ()]))
    for side, parts in products:
        for p, (e, source) in enumerate(parts):
            whole = e % 2 == 1 and all(sign(self, other) == POS for q, (_, other) in enumerate(parts) if q != p)
            signs = mul_signs(fact.signs, sign_of(side)) if whole else NEG | POS if e and not fact.signs & ZERO else ANY
            if signs != ANY and source is not fact.term and source.op != "num":  # 0 to a power that may be 0 is 1
                yield Fact(source, signs, fact.letters, fact.guards, fact.source)


def note(self: Normal, fact: Fact) -> None:
    same = self.facts.setdefault(key(fact.term)[0], [])
    if any((f.term, f.signs, f.letters, f.guards) == (fact.term, fact.signs, fact.letters, fact.guards) for f in same):
        return
    same.append(fact)
    plain = not fact.letters and not fact.guards and fact.term.op in ("add", "var", "sum") and fact.signs != NEG | POS
    # Of a sum or the greatest of what has cases each entry would ask for those of all others.
    if plain and not any(t.bound and any(s.op == "where" for s in subterms(t)) for t in subterms(fact.term)):
        self.orders.append((self.poly(fact.term), fact.signs))
    self.signs.clear()


def facts_about(self: Normal, term: Term, strict: bool = False) -> int:
    """The signs that the facts leave to the term; if they contradict each other, none (`strict`) or any."""
    result = ANY
    for fact in self.facts.get(key(term)[0], ()):
        mapping = self.instance(fact, term)
        if mapping is not None and allowed(self, fact, mapping):
            result &= fact.signs
    if result & (result - 1):
        result &= beyond_known(self, self.poly(term))
    if result & (result - 1) and not term.names | term.letters:
        with suppress(Rejected):  # of what is no number
            result &= number_signs(self, term, (64, 256))
    return result if strict else result or ANY


def number_signs(self: Normal, term: Term, ladder: tuple[int, ...]) -> int:
    """The sign of a number in normal form, by enclosures of so many bits in turn; any where none tells."""
    for bits in ladder:
        try:
            x = enclosed(self, term, bits)
        except Imprecise:
            continue
        if x.low > 0 or x.high < 0 or x.exact:
            return sign_of(x.low)
        if bits == ladder[0] and self.is_zero(self.poly(term)):
            return ZERO
    return ANY


def enclosed(self: Normal, term: Term, bits: int) -> Interval:
    """An enclosure of a number in normal form."""
    slot = (term, bits)
    if slot not in self.enclosures:
        if self.tick is not None:
            self.tick()
        if term.op == "num":
            return intervals.number(term.value, bits)
        if term is PI:
            return intervals.pi(bits)
        if term.op == "pow" and term.args[0].op == "fn" and term.args[0].value == "exp":
            (inside,) = term.args[0].args
            return intervals.exp(enclosed(self, self.canonical(inside * term.args[1]), bits))
        f = OPERATORS.get(term.op) or FUNCTIONS.get(term.value if term.op == "fn" else "")
        if f is None:
            raise Rejected(f"there is no enclosure of {term.value or term.op}")
        self.enclosures[slot] = f(*(enclosed(self, a, bits) for a in term.args))
    return self.enclosures[slot]


def beyond_known(self: Normal, poly: Poly, orders: list[tuple[Poly, int]] | None = None) -> int:
    """The signs of c f + rest, f known by a comparison or the ends of a size or a law, by those of both.

    The rest of what holds indices alone is judged by further comparisons: i < j and j < k give i < k.
    """
    result = ANY
    if orders is None:
        sizes = (self.poly(a - 1) for m in poly for a, e in m if a.op == "size" and e == 1)
        orders = self.orders + [(end, POS | ZERO) for end in (*sizes, *moments.ends(self, poly))]
    for place, (known, signs) in enumerate(orders):
        for mono in [m for m in known if m and m in poly]:
            c = Fraction(poly[mono]) / known[mono]
            rest = add_to(dict(poly), known, -c)
            found = reduce(add_signs, (self.mono_sign(m, d) for m, d in rest.items()), ZERO)
            if found == ANY and all(self.index_like(*dict(m)) for m in rest):
                found = beyond_known(self, rest, orders[:place] + orders[place + 1 :])
            result &= add_signs(mul_signs(signs, sign_of(c)), found)
    return result


def instance(self: Normal, fact: Fact, term: Term) -> dict[Term, Term] | None:
    """Letters for which the fact speaks of the term, checked by substitution."""
    if fact.term is term:
        return {}
    free = sorted(fact.letters & fact.term.letters, key=key)
    if not free or len(free) > 3 or fact.term.names != term.names:
        return None
    pools = [[t for t in sorted(term.letters, key=key) if t.value[1] == k.value[1]] for k in free]
    for choice in cartesian(*pools):
        mapping = dict(zip(free, choice, strict=True))
        if self.term(self.rename(fact.term, mapping)) is term:
            return mapping
    return None


def allowed(self: Normal, fact: Fact, mapping: dict[Term, Term]) -> bool:
    """Whether the guards of the fact hold here; one that would open a case in each case is not judged, nor are those of
    a fact while they are: in the case that a sum opens they would be asked again, without end."""
    if id(fact) in self.asked:
        return False
    self.asked.add(id(fact))
    try:
        guards = [substitute(g, mapping) for g in fact.guards]
        return all(g in self.guards or (not opens_cases(self, g) and self.holds(g)) for g in guards)
    finally:
        self.asked.remove(id(fact))


def opens_cases(self: Normal, term: Term) -> bool:
    """Whether the term has pieces of which more than one may be meant here."""
    for t in subterms(term):
        if t.op in ("where", "all", "any"):
            return True
        if t.op == "fn" and t.value in PIECEWISE:
            signs = sign(self, t.args[0] if len(t.args) == 1 else t.args[0] - t.args[1])
            if signs & NEG and signs & POS:
                return True
    return False


def kind_sign(self: Normal, entry: Term) -> int:
    declaration = self.context.declarations.get(entry.value)
    if declaration is None or entry.value in self.loose:
        return ANY
    if declaration.kind == "random" and declaration.law is not None:
        return moments.support(self, entry)
    return KIND.get(declaration.kind, ANY)

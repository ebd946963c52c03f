"""The normal form: a polynomial with rational coefficients over atoms, by which the kernel decides equality.

A polynomial is {monomial: coefficient}, a monomial a frozenset of (atom, exponent), an atom a canonical term. Algebra is
total: 1/0, the logarithm and real powers of what is not positive are 0. In that reading every law below holds without
conditions; those that need a sign ask `signs`, and what is unknown is left alone. A choice made here (an order, a
pivot) can fail to find an equality, it cannot create one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product as cartesian

from derive.kernel import derivative, moments, sums
from derive.kernel.context import Context
from derive.kernel.proof import Rejected
from derive.kernel.signs import (
    ANY,
    KIND,
    NEG,
    POS,
    RELATION,
    ZERO,
    Fact,
    add_signs,
    difference,
    mul_signs,
    order_part,
    shifted_sizes,
    sign,
    sign_of,
    split,
)
from derive.term import (
    FALSE,
    MINUS_ONE,
    ONE,
    TRUE,
    TWO,
    Term,
    add,
    both,
    cmp,
    delta,
    div,
    fn,
    make,
    mul,
    neg,
    negation,
    num,
    over,
    power,
    replace_variable,
    sub,
    substitute,
    subterms,
    transform,
    where,
)
from derive.term import ZERO as NOUGHT

Exponent = int | Fraction | Term
Mono = frozenset[tuple[Term, Exponent]]
Poly = dict[Mono, int | Fraction]
UNIT: Mono = frozenset()
INDICES = frozenset({"index", "argmax"})
CASES = frozenset({"where", "delta"})  # atoms whose value is 0 or 1; bits are the third kind
MAX_CASES = 6  # 0-1 atoms of one expression that are told apart
MAX_TERMS = 4000  # of a polynomial, before it is refused as too large

# What a function is in terms of the others, so that equal formulas meet.
UNFOLD: dict[str, Callable[..., Term]] = {
    "sqrt": lambda x: power(x, num("1/2")),
    "log1p": lambda x: fn("log", add(ONE, x)),
    "expm1": lambda x: sub(fn("exp", x), ONE),
    "sigmoid": lambda x: div(ONE, add(ONE, fn("exp", neg(x)))),
    "softplus": lambda x: fn("log", add(ONE, fn("exp", x))),
    "sinh": lambda x: div(sub(fn("exp", x), fn("exp", neg(x))), TWO),
    "cosh": lambda x: div(add(fn("exp", x), fn("exp", neg(x))), TWO),
    "tanh": lambda x: sub(ONE, div(TWO, add(ONE, fn("exp", mul(TWO, x))))),
    "tan": lambda x: div(fn("sin", x), fn("cos", x)),
}


class TooLarge(Rejected):
    """The normal form grows beyond what is worth computing."""


def small(value: int | Fraction) -> int | Fraction:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def add_to(total: Poly, poly: Poly, factor: int | Fraction = 1) -> Poly:
    for mono, c in poly.items():
        value = total.get(mono, 0) + c * factor
        if value:
            total[mono] = small(value)
        else:
            total.pop(mono, None)
    if len(total) > MAX_TERMS:
        raise TooLarge("the normal form has too many terms")
    return total


def constant(poly: Poly) -> int | Fraction | None:
    """The polynomial's value where it is a number."""
    if not poly:
        return 0
    return poly[UNIT] if len(poly) == 1 and UNIT in poly else None


def scaled(poly: Poly, factor: int | Fraction) -> Poly:
    return {m: small(c * factor) for m, c in poly.items()} if factor else {}


# -- an order on terms that does not depend on addresses: first blind to letters, then by them -----------------------

_keys: dict[Term, tuple[str, str]] = {}


def key(term: Term) -> tuple[str, str]:
    """A digest blind to index names, and one that sees them."""
    found = _keys.get(term)
    if found is None:
        blind = shown = f"{term.op}|{term.value}"
        if term.op == "index":
            blind = f"index|{term.value[1]}"
        for a in (*term.bound, *term.args):
            b, s = key(a)
            blind, shown = f"{blind}|{b}", f"{shown}|{s}"
        found = (_digest(blind), _digest(shown))
        _keys[term] = found
    return found


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=9).hexdigest() if len(text) > 40 else text


def exponent_key(e: Exponent) -> tuple[str, str]:
    return key(e) if isinstance(e, Term) else ("", f"{float(e):+030.9f}")


def mono_key(mono: Mono) -> tuple[object, ...]:
    parts = sorted((key(a), exponent_key(e)) for a, e in mono)
    return tuple(p[0][0] + p[1][0] for p in parts), tuple(parts)


class Normal:
    """The normal form of terms under one set of facts.

    `closed` leaves definitions as they are. `steady` is False under a derivative, where what holds at the point only
    (a nonstrict fact, a variable equal to a value) must not be used. `loose` names variables whose declared kind is
    not assumed. `tick` is called now and then and may raise to stop the work.
    """

    def __init__(
        self,
        context: Context,
        *,
        facts: Iterable[Fact] = (),
        guards: tuple[Term, ...] = (),
        steady: bool = True,
        loose: frozenset[str] = frozenset(),
        closed: bool = False,
        tick: Callable[[], None] | None = None,
    ):
        self.closed = closed
        self.context, self.guards, self.steady, self.loose, self.tick = context, guards, steady, loose, tick
        self.guarded = frozenset().union(*(g.letters for g in guards)) if guards else frozenset()
        self.raw_facts = tuple(facts)
        self.facts: dict[str, list[Fact]] = {}
        self.orders: list[Fact] = []
        self.signs: dict[Term, int] = {}
        self.memo: dict[Term, Poly] = {}
        self.products: dict[tuple[Mono, Mono], Poly] = {}
        self.finished: dict[Mono, Poly] = {}
        self.renamed: dict[tuple[Term, tuple[tuple[Term, Term], ...]], Poly] = {}
        self.unfolded: dict[Term, Term] = {}
        self.lows: dict[Term, int] = {}
        self.sums: dict[tuple[frozenset[Term], Mono], Poly] = {}
        self.cumulants: dict[tuple[Term, int], Poly] = {}
        self.partitions: dict[tuple[Term, ...], Poly] = {}
        self.leads: dict[Term, tuple[Mono, int | Fraction] | None] = {}
        self.inner: dict[object, Normal | None] = {}
        self.depth = 0
        self.refreshed = False
        self.ties: dict[Term, Term] = {}
        self.install()

    # -- facts -------------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Bring the facts to normal form, the sizes' bounds first since they change the form of the rest."""
        for fact in self.raw_facts:
            self.bound_size(fact)
        # Two rounds: the first facts may change the normal form of the later ones, and theirs of the first.
        for _ in range(2):
            self.forget()
            for fact in self.raw_facts:
                self.record(fact)
        self.forget()

    def refresh(self) -> None:
        """Bring facts about functions in pieces to the form that they have in the case at hand."""
        if not self.refreshed:
            self.refreshed = True
            for fact in self.raw_facts:
                if any(
                    t.op == "where" or (t.op == "fn" and t.value in PIECES) for t in subterms(self.opened(fact.term))
                ):
                    self.record(fact)
            self.forget()

    def opened(self, term: Term) -> Term:
        """The term with its definitions unfolded."""
        while any(t.op == "def" for t in subterms(term)):
            term = transform(term, lambda t: self.unfold(t) if t.op == "def" else None)
        return term

    def bound_size(self, fact: Fact) -> None:
        """Take a lower bound of a size from a fact such as n - 2 >= 0."""
        poly = self.poly(fact.term) if fact.term.names == frozenset() else {}
        sizes = [a for m in poly for a, _ in m if a.op == "size"]
        if len(sizes) == 1 and len(poly) <= 2 and fact.signs in (POS, POS | ZERO) and not fact.guards:
            c, low = poly.get(frozenset({(sizes[0], 1)}), 0), -poly.get(UNIT, 0)
            if c > 0:
                bound = -(-low // c) if fact.signs & ZERO else low // c + 1
                self.lows[sizes[0]] = max(self.lows.get(sizes[0], 1), int(bound))
                self.memo.clear()
                self.signs.clear()

    def forget(self) -> None:
        for table in (self.signs, self.memo, self.products, self.finished, self.renamed, self.inner, self.sums):
            table.clear()  # type: ignore[attr-defined]  # all of them are dictionaries
        self.leads.clear()
        self.cumulants.clear()
        self.partitions.clear()

    def record(self, fact: Fact) -> None:
        """Note the fact for its normal form, and what it says of the factors of a monomial."""
        poly = self.poly(fact.term)
        if not poly:
            return
        for g in fact.guards:  # a guard k != j is not needed where the fact holds at k = j by itself
            if g.op == "cmp" and g.value == "!=" and g.args[0] in fact.letters and g.args[0] not in g.args[1].letters:
                there = self.rename(fact.term, {g.args[0]: g.args[1]})
                if not sign(self, self.term(there)) & ~fact.signs:
                    fact = Fact(
                        fact.term, fact.signs, fact.letters, tuple(h for h in fact.guards if h is not g), fact.source
                    )
        content, rest = self.content(poly)
        signs = fact.signs
        for a, e in content:
            signs = signs if sign(self, a) == POS else signs & ~ZERO and (NEG | POS if not signs & ZERO else ANY)
        for form, known in ((poly, fact.signs), (rest, signs)):
            lead = form[min(form, key=mono_key)]
            for factor in {1, Fraction(1) / lead, Fraction(1) / abs(lead)}:
                seen = known if factor > 0 else mul_signs(known, NEG)
                self.note(Fact(self.term(scaled(form, factor)), seen, fact.letters, fact.guards, fact.source))
        if len(poly) == 1 and not fact.signs & ZERO:
            mono = next(iter(poly))
            for a, e in mono:
                alone = len(mono) == 1 and isinstance(e, int) and e % 2 and poly[mono] > 0
                self.note(Fact(a, fact.signs if alone else NEG | POS, fact.letters, fact.guards, fact.source))

    def note(self, fact: Fact) -> None:
        same = self.facts.setdefault(key(fact.term)[0], [])
        if any(
            (f.term, f.signs, f.letters, f.guards) == (fact.term, fact.signs, fact.letters, fact.guards) for f in same
        ):
            return
        same.append(fact)
        if not fact.letters and fact.term.op in ("add", "var", "sum") and fact.signs != NEG | POS:
            self.orders.append(fact)
        self.signs.clear()

    def order_facts(self) -> list[Fact]:
        return [f for f in self.orders if self.allowed(f, {})]

    def least(self, size: Term) -> int:
        return self.lows.get(size, 1)

    def facts_about(self, term: Term) -> int:
        """The signs that the facts leave to the term."""
        result = ANY
        for fact in self.facts.get(key(term)[0], ()):
            mapping = self.instance(fact, term)
            if mapping is not None and self.allowed(fact, mapping):
                result &= fact.signs
        if result & (result - 1):
            if self.orders:
                result &= order_part(self, term)
            if term.op in ("add", "mul") and any(a.op == "size" for m in self.poly(term) for a, _ in m):
                result &= shifted_sizes(self, term)
        return result or ANY

    def instance(self, fact: Fact, term: Term) -> dict[Term, Term] | None:
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

    def allowed(self, fact: Fact, mapping: dict[Term, Term]) -> bool:
        """Whether the guards of the fact hold here."""
        return all(self.holds(substitute(g, mapping)) for g in fact.guards)

    def holds(self, condition: Term) -> bool:
        """Whether the condition is known: among the guards, or by signs."""
        for part in split(condition):
            if part in self.guards:
                continue
            if part.op == "cmp":
                if part.value in RELATION and not self.compare(part) & ~RELATION[part.value]:
                    continue
                if (
                    part.value in ("!=", ">", "<")
                    and cmp({"!=": "!=", ">": "<", "<": ">"}[part.value], *part.args[::-1]) in self.guards
                ):
                    continue
            elif constant(self.condition(part)) == 1:
                continue
            return False
        return True

    def compare(self, condition: Term) -> int:
        """The signs that left - right can have."""
        left, right = condition.args
        if left.op in INDICES and right.op in INDICES and (left is right):
            return ZERO
        if constant(self.condition(condition)) == 1:
            return RELATION[condition.value]
        gap = difference(condition)
        return sign(self, gap) & sign(self, self.canonical(gap))

    def kind_sign(self, entry: Term) -> int:
        declaration = self.context.declarations.get(entry.value)
        if declaration is None or entry.value in self.loose:
            return ANY
        if declaration.kind == "random" and declaration.law is not None:
            return moments.support(self, declaration, entry)
        return KIND.get(declaration.kind, ANY)

    def under(self, condition: Term) -> Normal | None:
        """This normal form with the condition as a further fact; None where it cannot hold."""
        return self.extended(tuple(split(condition)))

    def extended(self, guards: tuple[Term, ...]) -> Normal | None:
        new = tuple(g for g in guards if g not in self.guards)
        if not new:
            return self
        if new not in self.inner:
            dead = any(constant(self.condition(g)) == 0 for g in new)
            self.inner[new] = None if dead else self.child(new)
        return self.inner[new]

    def child(self, guards: tuple[Term, ...]) -> Normal:
        """A normal form with further guards; the facts known so far stay as they are, being true all the same."""
        facts = [
            Fact(difference(g), RELATION[g.value], frozenset(), (), "the case at hand")
            for g in guards
            if g.op == "cmp"
            and not (self.index_like(g.args[0]) and self.index_like(g.args[1]))
            and (self.steady or g.value in ("<", ">", "!="))  # under a derivative only what holds around the point
        ]
        made = Normal(
            self.context,
            guards=self.guards + guards,
            steady=self.steady,
            loose=self.loose,
            closed=self.closed,
            tick=self.tick,
        )
        made.raw_facts = self.raw_facts + tuple(facts)
        made.ties = dict(self.ties)
        for g in guards:  # in a case i = j one letter stands for both
            if g.op == "cmp" and g.value == "==" and all(a.op == "index" for a in g.args):
                new, old = sorted((made.ties.get(a, a) for a in g.args), key=letter_key)
                if new is not old:
                    made.ties = {k: new if v is old else v for k, v in made.ties.items()} | {old: new}
        made.facts = {k: list(v) for k, v in self.facts.items()}
        made.orders, made.lows = list(self.orders), dict(self.lows)
        for fact in facts:
            made.bound_size(fact)
            made.record(fact)
        made.forget()
        return made

    def around(self, name: str | None) -> Normal:
        """The normal form for what stands under a derivative, limit or `at`: only what holds around the point.

        `name` is the variable that moves: its declared kind is kept only where it is an open set.
        """
        kind = self.context.declarations[name].kind if name in self.context.declarations else "real"
        loose = self.loose | ({name} if name and kind != "positive" else frozenset())
        return self._bare("around", frozenset(loose), False)

    def anywhere(self, name: str) -> Normal:
        """The normal form that assumes nothing of the variable, whose entries are about to be replaced."""
        return self._bare("anywhere", self.loose | {name}, True)

    def with_names(self) -> Normal:
        """The normal form in which definitions stay closed; it knows no facts."""
        return self._bare("closed", self.loose, self.steady)

    def _bare(self, label: str, loose: frozenset[str], steady: bool) -> Normal:
        slot = (label, loose)
        if (
            label != "closed"
            and not self.raw_facts
            and not self.guards
            and (self.loose, self.steady) == (loose, steady)
        ):
            return self
        if slot not in self.inner:
            closed = label == "closed" or self.closed
            self.inner[slot] = Normal(self.context, steady=steady, loose=loose, closed=closed, tick=self.tick)
        found = self.inner[slot]
        assert found is not None
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
            bottoms: dict[Term, Exponent] = {}
            for mono in poly:
                for a, e in mono:
                    if a.op == "add" and not isinstance(e, Term) and e < min(0, bottoms.get(a, 0)):  # type: ignore[operator]
                        bottoms[a] = e
            bottoms = {a: e for a, e in bottoms.items() if not sign(self, a) & ZERO}
            if not bottoms:
                break
            factor: Mono = frozenset((a, -e) for a, e in bottoms.items())  # type: ignore[operator]
            total: Poly = {}
            for mono, c in poly.items():  # the product of a term with the factor cancels before it is expanded
                add_to(total, self.times(mono, factor), c)
            if total == poly:
                break
            poly = total
        return not poly or (depth > 0 and self.steady and self.zero_by_cases(poly, depth))

    def zero_by_cases(self, poly: Poly, depth: int) -> bool:
        """Whether the polynomial is 0 in each case of one of its 0-1 atoms."""
        found = {a for m in poly for a, _ in m if a.op in CASES or (a.op == "var" and self.is_bit(a))}
        if not found or len(found) > 2 * MAX_CASES:
            return False
        atom = min(found, key=lambda a: (a.op != "delta", key(a)))
        if atom.op == "var":
            cells = [cmp("==", atom, ONE), cmp("==", atom, NOUGHT)]
        else:
            test = cmp("==", *atom.args) if atom.op == "delta" else atom.args[0]
            relations = ("==", "!=") if test.value == "==" else (test.value, "==", "<" if test.value == ">" else ">")
            cells = [cmp(relation, *test.args) for relation in relations]
        source = self.term(poly)
        for cell in cells:
            here = self.under(cell)
            if here is None:
                continue
            term = source
            if atom.op == "var":
                term = sums.swap_entry(term, atom, cell.args[1])
            elif cell.value == "==" and self.index_like(cell.args[0]):
                new, old = sorted(cell.args, key=letter_key)
                if old.op != "index" or old in new.letters:
                    new, old = old, new
                term = substitute(term, {old: new})
            elif cell.value == "==" and (entry := self.solved(cell.args[0])) is not None:
                term = sums.swap_entry(term, *entry)
            here.refresh()
            part = here.poly(term)
            if part == poly or not here.is_zero(part, depth - 1):
                return False
        return True

    def term(self, poly: Poly) -> Term:
        """The canonical term of a polynomial; its own normal form is the polynomial again."""
        parts = []
        for mono in sorted(poly, key=mono_key) if len(poly) > 1 else poly:
            c = poly[mono]
            factors = [
                a if isinstance(e, int) and e == 1 else power(a, e if isinstance(e, Term) else num(e))
                for a, e in (sorted(mono, key=lambda p: (key(p[0]), exponent_key(p[1]))) if len(mono) > 1 else mono)
            ]
            if c != 1 or not factors:
                factors.insert(0, num(c))
            parts.append(make("mul", factors) if len(factors) > 1 else factors[0])
        result = make("add", parts) if len(parts) > 1 else parts[0] if parts else NOUGHT
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
            if a.op == "fn" and a.value == "abs":  # not split into its two cases
                whole = power(a, e if isinstance(e, Term) else num(e))
                result = self.mul(result, self.rename(whole, mapping))
                continue
            part = self.rename(a, mapping)
            if isinstance(e, Term):
                result = self.mul(result, self.power(part, self.poly(substitute(e, mapping))))
            else:
                result = self.mul(result, part if e == 1 else self.power(part, {UNIT: e}))
        return result

    def unfold(self, term: Term) -> Term:
        """A definition's body at its subscripts. Raises Rejected for a name that is not defined."""
        if term not in self.unfolded:
            definition = self.context.definitions.get(term.value)
            if definition is None or len(definition.letters) != len(term.args):
                raise Rejected(f"{term.value} is not defined with {len(term.args)} subscripts")
            self.unfolded[term] = substitute(definition.body, dict(zip(definition.letters, term.args, strict=True)))
        return self.unfolded[term]

    def evaluate(self, term: Term) -> Poly:
        op, args = term.op, term.args
        if op == "num":
            return {UNIT: small(term.value)} if term.value else {}
        if op == "add":
            total: Poly = {}
            for a in args:
                add_to(total, self.poly(a))
            return total
        if op == "neg":
            return scaled(self.poly(args[0]), -1)
        if op in ("mul", "div", "pow"):
            return self.factored(term)
        if op == "def":
            if self.closed:  # an identity that holds whatever the names stand for
                return self.atom(make("def", [self.subscript(a) for a in args], term.value))
            return self.poly(self.unfold(term))
        if op == "var":
            return self.atom(make("var", [self.subscript(a) for a in args], term.value))
        if op in ("size", "const", "index"):
            return self.atom(term)
        if op == "argmax":
            return self.atom(self.subscript(term))
        if op == "delta":
            return self.delta(*args)
        if op == "where":
            return self.branches(term)
        if op == "fn":
            return self.function(term)
        if op == "sum":
            return self.quantified(term, sums.filtered_sum)
        if op == "prod":
            return self.quantified(term, sums.product_over)
        if op in ("max", "min"):
            return sums.extremum(self, term)
        if op == "diff":
            if self.closed and args[0].op == "def":
                return self.atom(term) if derivative.depends(self, args[0], args[1].value) else {}
            return derivative.normal(self, term)
        if self.closed and op in ("at", "limit", "E", "Var", "Cov"):
            raise Rejected(f"{op} looks into the definitions")  # what is random or replaced there must be seen
        if op == "at":
            return self.poly(self.replaced(term))
        if op in ("E", "Var", "Cov"):
            return moments.normal(self, term)
        if op == "limit":
            inner = self.anywhere(args[1].value)
            return self.atom(make("limit", (inner.canonical(args[0]), args[1], self.canonical(args[2])), term.value))
        raise Rejected(f"{op} has no value")

    def subscript(self, term: Term) -> Term:
        """A subscript in canonical form."""
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
        here = self if filter_ is TRUE else self.under(filter_)
        # What was simplified under the filter stays right where the filter is not 0.
        return close(self, letters, here.poly(body) if here else {}, filter_ if here else FALSE)

    def replaced(self, term: Term) -> Term:
        """`at`: the body with all entries of the variable replaced at once, derivatives inside taken first."""
        body = self.anywhere(term.value).canonical(term.args[0])
        if any(t.op in ("diff", "limit", "at") for t in subterms(body)) or moments.hides(self, body, term.value):
            raise Rejected("`at` around an expression that cannot be evaluated first")
        return replace_variable(body, term.value, term.bound, term.args[1])

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
                    joint = self.add_exponents(merged[a], e)
                    symbolic = isinstance(merged[a], Term) or isinstance(e, Term)
                    if symbolic and sign(self, a) != POS:  # at base 0 the law fails where the sum of exponents is 0
                        extra.append({frozenset({(power(a, e if isinstance(e, Term) else num(e)), 1)}): 1})
                    elif joint == 0:
                        del merged[a]
                        if not self.certain(a):  # x / x is 1 except at 0
                            zero = self.zero(self.atom(a) if a.op != "add" else self.poly(a))
                            extra.append(add_to({UNIT: 1}, zero, -1))
                    else:
                        merged[a] = joint
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

    def add_exponents(self, left: Exponent, right: Exponent) -> Exponent:
        if not isinstance(left, Term) and not isinstance(right, Term):
            return small(left + right)
        terms = [e if isinstance(e, Term) else num(e) for e in (left, right)]
        total = self.poly(add(*terms))
        value = constant(total)
        return value if value is not None else self.term(total)

    def finish(self, mono: Mono) -> Poly:
        """A monomial under the laws of its special atoms."""
        found = self.finished.get(mono)
        if found is None:
            found = self._finish(mono)
            self.finished[mono] = found
        return found

    def _finish(self, mono: Mono) -> Poly:
        for a, e in mono:
            if a.op in CASES or (a.op == "var" and self.is_bit(a)):
                if e != 1:  # 0 or 1 to any power but 0
                    rest = mono - {(a, e)} | {(a, 1)}
                    return self.finish(frozenset(rest)) if not isinstance(e, Term) else {mono: 1}
            elif a.op == "num" and not isinstance(e, Term) and not 0 < e < 1:
                whole = e.numerator // e.denominator
                rest = mono - {(a, e)} | ({(a, e - whole)} if e != whole else set())
                return scaled(self.finish(frozenset(rest)), Fraction(a.value) ** whole)
            elif a.op == "add" and not isinstance(e, Term) and e >= 1:
                whole = e.numerator // e.denominator
                rest = frozenset(mono - {(a, e)} | ({(a, e - whole)} if e != whole else set()))
                result = self.finish(rest)
                for _ in range(whole):
                    result = self.mul(result, self.poly(a))
                return result
            elif a.op == "add" and isinstance(e, Term) and (whole := self.whole_part(e)) > 0:
                left = self.poly(add(e, num(-whole)))
                result = self.finish(frozenset(mono - {(a, e)} | {(a, self.as_exponent(left))}))
                for _ in range(whole):
                    result = self.mul(result, self.poly(a))
                return result
            elif a.op == "fn" and a.value == "sin" and isinstance(e, int) and e >= 2:
                rest = frozenset(mono - {(a, e)} | ({(a, e - 2)} if e > 2 else set()))
                cos2: Poly = {UNIT: 1, frozenset({(fn("cos", a.args[0]), 2)}): -1}
                return self.mul(self.finish(rest), cos2)
            elif a.op == "fn" and a.value == "abs" and isinstance(e, int):
                base = self.power(self.poly(a.args[0]), {UNIT: e - e % 2})
                flat = base if e % 2 == 0 else self.mul(base, self.sided(self.poly(a.args[0])))
                return self.mul(self.finish(frozenset(mono - {(a, e)})), flat)
            elif a.op == "pow" and not isinstance(e, Term) and a.args[1].op == "num":
                whole = a.args[1].value * e
                if whole.denominator == 1:  # (u^p)^e is u^(pe) where u > 0 and 0 elsewhere
                    base = self.poly(a.args[0])
                    flat = self.mul(self.power(base, {UNIT: small(whole)}), self.positive(base))
                    return self.mul(self.finish(frozenset(mono - {(a, e)})), flat)
        cases = [a for a, _ in mono if a.op in CASES]
        if cases:
            reduced = self.case_laws(mono, sorted(cases, key=key))
            if reduced is not None:
                return reduced
        return self.reduce(mono)

    def whole_part(self, exponent: Term) -> int:
        """The integer part of the number in a symbolic exponent."""
        c = self.poly(exponent).get(UNIT, 0)
        return c.numerator // c.denominator

    def is_bit(self, atom: Term) -> bool:
        declaration = self.context.declarations.get(atom.value)
        if declaration is None or atom.value in self.loose:
            return False
        return declaration.kind == "bit" or bool(declaration.law and declaration.law.family == "bernoulli")

    def case_laws(self, mono: Mono, cases: list[Term]) -> Poly | None:
        """What deltas and indicators do to the other factors of a monomial."""
        for a in cases:
            rest = mono - {(a, 1)}
            if a.op == "delta":
                i, j = a.args
                old, new = (j, i) if j.op == "index" else (i, j)
                if old.op == "index" and any(
                    old in b.letters or isinstance(e, Term) and old in e.letters for b, e in rest
                ):
                    return self.mul(self.atom(a), self.rename_mono(frozenset(rest), {old: new}))
                continue
            relation, u = a.args[0].value, a.args[0].args[0]
            if relation == "<":
                i, j = a.args[0].args
                if (where(cmp("<", j, i), ONE, NOUGHT), 1) in mono or (self.delta_atom(i, j), 1) in mono:
                    return {}
            elif relation == ">" and any(self.excludes(u, b.args[0]) for b in cases if b is not a and b.op == "where"):
                return {}
            elif relation == ">" and any(self.implies(b.args[0], u) for b in cases if b is not a and b.op == "where"):
                return self.finish(frozenset(rest))
            elif relation == "==":
                if (where(cmp(">", u, NOUGHT), ONE, NOUGHT), 1) in mono or any(b is u for b, _ in rest):
                    if self.steady or not any(b is u for b, _ in rest):
                        return {}
                if self.steady:
                    entry = self.solved(u)
                    if entry is not None and any(entry[0] in sums.atoms_inside(b) for b, _ in rest):
                        replaced = {b: sums.swap_entry(b, *entry) for b, _ in rest}
                        result = self.atom(a)
                        for b, e in rest:
                            part = self.poly(replaced[b])
                            exponent = self.poly(sums.swap_entry(e, *entry)) if isinstance(e, Term) else {UNIT: e}
                            result = self.mul(result, self.power(part, exponent))
                        return result
        return None

    def excludes(self, u: Term, other: Term) -> bool:
        """Whether u > 0 and the other condition, v > 0, cannot hold together: u + c v <= 0 for some c > 0."""
        return other.value == ">" and any(not s & POS for s in self.combined(u, other.args[0], 1))

    def implies(self, other: Term, u: Term) -> bool:
        """Whether v > 0 makes u > 0: u - c v >= 0 for some c > 0."""
        return other.value == ">" and any(not s & NEG for s in self.combined(u, other.args[0], -1))

    def combined(self, u: Term, v: Term, side: int) -> list[int]:
        """The signs of u + side * c * v for the factors c > 0 that cancel a term."""
        first, second = self.poly(u), self.poly(v)
        found = []
        for mono in sorted(set(first) & set(second), key=mono_key):
            c = -Fraction(first[mono]) / second[mono] * side
            if c > 0 and mono:
                signs = ZERO
                for m, value in add_to(dict(first), second, c * side).items():
                    signs = add_signs(signs, self.mono_sign(m, value))
                found.append(signs)
        return found

    def solved(self, u: Term) -> tuple[Term, Term] | None:
        """An entry and the term it equals where u is 0: u = c * entry + rest, the entry not in the rest."""
        poly = self.poly(u)
        for mono in sorted(poly, key=mono_key):
            if len(mono) == 1:
                ((a, e),) = mono
                if e == 1 and a.op == "var" and not self.is_bit(a):
                    rest = {m: -Fraction(c) / poly[mono] for m, c in poly.items() if m is not mono}
                    if not any(a in sums.atoms_inside(b) for m in rest for b, _ in m):
                        return a, self.term({m: small(c) for m, c in rest.items()})
        return None

    def lead(self, atom: Term) -> tuple[Mono, int | Fraction] | None:
        """The leading monomial of a sum under a power: the only one of highest degree in its main atom.

        The main atom is one with letters where there is one: a factor without letters leaves the sums it stands in.
        """
        if atom not in self.leads:
            self.leads[atom] = self._lead(atom)
        return self.leads[atom]

    def _lead(self, atom: Term) -> tuple[Mono, int | Fraction] | None:
        poly = self.poly(atom)
        found = []
        for main in {a for m in poly for a, e in m if isinstance(e, int) and e > 0}:
            degrees = {m: next((e for a, e in m if a is main), 0) for m in poly}
            if any(isinstance(d, Term) for d in degrees.values()):
                continue
            top = max(degrees.values())  # type: ignore[type-var]
            mono = next(m for m, d in degrees.items() if d == top)
            if list(degrees.values()).count(top) == 1 and all(isinstance(e, int) and e > 0 for _, e in mono):
                bare = sum(not a.letters for a, _ in mono) if atom.letters else 0
                found.append((bare, tuple(reversed_key(key(main))), mono))
        if not found:
            return None
        mono = min(found, key=lambda f: f[:2])[2]
        return mono, poly[mono]

    def tail(self, atom: Term) -> tuple[Mono, int | Fraction, Term] | None:
        """For partial fractions in an exponential: the only monomial free of it, where the rest is one monomial."""
        poly = self.poly(atom)
        if len(poly) != 2:
            return None
        for main in sorted({a for m in poly for a, _ in m if a.op == "fn" and a.value == "exp"}, key=key, reverse=True):
            free = [m for m in poly if not any(a is main for a, _ in m)]
            if len(free) == 1:
                return free[0], poly[free[0]], main
        return None

    def reduce(self, mono: Mono) -> Poly:
        """u^e times the leading monomial of u is u^(e+1) minus the rest, for e < 0: numerators below denominators."""
        bottoms = [
            (a, e) for a, e in mono if a.op == "add" and (self.whole_part(e) < 0 if isinstance(e, Term) else e < 0)
        ]
        for a, e in sorted(bottoms, key=lambda p: key(p[0])):
            if not self.certain(a):
                continue
            found = self.lead(a)
            if found is not None and divides(found[0], mono):
                return self.lowered(mono, a, e, found[0], found[1])
            last = self.tail(a)
            if last is not None:
                free, c, main = last
                degree = next((e for b, e in mono if b is main), 0)
                if not isinstance(degree, Term) and degree < 0 and not free:
                    return self.lowered(mono, a, e, free, c)
        return {mono: 1}

    def lowered(self, mono: Mono, a: Term, e: Exponent, lead: Mono, c: int | Fraction) -> Poly:
        quotient = dict(mono)
        del quotient[a]
        for b, f in lead:
            left = quotient[b] - f  # type: ignore[operator]  # `divides` saw numbers
            if left:
                quotient[b] = left
            else:
                del quotient[b]
        rest = {m: v for m, v in self.poly(a).items() if m != lead}
        base = frozenset(quotient.items())
        more = self.add_exponents(e, 1)
        up: Mono = frozenset({(a, more)}) if more else UNIT
        total = dict(self.times(base, up))
        # The rest is multiplied in first: base times u^e alone may be the monomial that we started from.
        total = add_to(total, self.mul(self.mul({base: 1}, rest), {frozenset({(a, e)}): 1}), -1)
        return scaled(total, Fraction(1) / c)

    def factors(self, term: Term, exponent: Poly, out: list[tuple[Poly, Poly, Term]]) -> None:
        """The factors of a product, quotient or power with their exponents, read through names before expansion."""
        op, args = term.op, term.args
        whole = constant(exponent)
        integral = whole is not None and whole.denominator == 1
        if op == "def" and not self.closed:
            self.factors(self.unfold(term), exponent, out)
        elif op == "mul" and integral:
            for a in args:
                self.factors(a, exponent, out)
        elif op == "neg" and integral:
            out.append(({UNIT: -1}, exponent, MINUS_ONE))
            self.factors(args[0], exponent, out)
        elif op == "div" and integral:
            self.factors(args[0], exponent, out)
            self.factors(args[1], scaled(exponent, -1), out)
        elif op == "pow" and integral:
            self.factors(args[0], self.mul(self.poly(args[1]), exponent), out)
        elif op == "fn" and term.value == "sqrt" and integral:
            self.factors(args[0], scaled(exponent, Fraction(1, 2)), out)
        elif op in ("mul", "div", "pow", "neg") or (op == "fn" and term.value == "sqrt"):
            inner: list[tuple[Poly, Poly, Term]] = []
            self.factors(term, {UNIT: 1}, inner)
            out.extend(self.power_of_product(inner, exponent))
        else:
            out.append((self.poly(term), exponent, term))

    def power_of_product(self, factors: list[tuple[Poly, Poly, Term]], exponent: Poly) -> list[tuple[Poly, Poly, Term]]:
        """(a b)^e as a^e b^e where all but one factor are known to be positive; else the product stays whole."""
        unknown, known = [], []
        for base, e, term in factors:
            (known if sign(self, term) == POS or sign(self, self.term(base)) == POS else unknown).append(
                (base, e, term)
            )
        result = [(base, self.mul(e, exponent), term) for base, e, term in known]
        rest: Poly = {UNIT: 1}
        for base, e, _ in unknown:
            rest = self.mul(rest, self.power(base, e))
        if unknown:
            even = len(unknown) == 1 and isinstance(constant(unknown[0][1]), int) and constant(unknown[0][1]) or 0
            if even and even > 0 and even % 2 == 0:
                result.append((unknown[0][0], self.mul({UNIT: even}, exponent), fn("abs", unknown[0][2])))
            else:
                result.append((rest, exponent, self.term(rest)))
        return result

    def factored(self, term: Term) -> Poly:
        """A product, quotient or power, read as a list of factors before anything is multiplied out."""
        parts: list[tuple[Poly, Poly, Term]] = []
        self.factors(term, {UNIT: 1}, parts)
        result: Poly = {UNIT: 1}
        for base, e, source in sorted(parts, key=lambda p: len(p[0])):
            if not result:
                return {}
            fraction = constant(e) is None or constant(e).denominator != 1  # type: ignore[union-attr]
            if source.op == "fn" and source.value == "abs" and fraction:
                result = self.mul(result, self.absolute_power(source.args[0], e))
            elif source.op == "fn" and source.value == "abs" and source.args[0].op != "fn":
                result = self.mul(result, self.power(self.poly(source), e))
            else:
                result = self.mul(result, self.power(base, e))
        return result

    def absolute_power(self, inner: Term, exponent: Poly) -> Poly:
        """|u|^p for p that is no integer: an atom |u| that is not split into cases."""
        u = self.poly(inner)
        signs = sign(self, inner) & sign(self, self.term(u))
        if not signs & NEG:
            return self.power(u, exponent)
        lead = u[min(u, key=mono_key)] if u else 1
        base: Term = fn("abs", self.term(scaled(u, Fraction(1) / lead)))
        scale = self.power({UNIT: abs(lead)}, exponent)
        return self.mul(scale, {frozenset({(base, self.as_exponent(exponent))}): 1})

    def as_exponent(self, poly: Poly) -> Exponent:
        value = constant(poly)
        return value if value is not None else self.term(poly)

    def power(self, base: Poly, exponent: Poly) -> Poly:
        """base^exponent in total semantics."""
        e = constant(exponent)
        if e is not None and e == 0:
            return {UNIT: 1}
        if not base:
            return (
                {}
                if e is not None or sign(self, self.term(exponent)) in (POS, NEG)
                else self.opaque_power(base, exponent)
            )
        if base == {UNIT: 1}:
            return base
        if isinstance(e, int) and e > 0:
            result = base
            for _ in range(e - 1):
                result = self.mul(result, base)
            return result
        if len(base) > 1 and self.cases(base) is not None:
            return self.by_cases(base, lambda here, part: here.power(part, exponent))
        content, rest = self.content(base, e if isinstance(e, int) else None)
        scale: int | Fraction = 1
        if len(rest) == 1:
            content, scale, rest = joined(content, rest)
        if isinstance(e, int):
            result = {frozenset((a, self.times_exponent(x, e)) for a, x in content): Fraction(scale) ** e}
            result = {m: small(c) for m, c in result.items()}
            first = self.finish(next(iter(result)))
            result = scaled(first, next(iter(result.values())))
            if len(rest) > 1:
                lead = rest[min(rest, key=mono_key)]
                whole = self.term(scaled(rest, Fraction(1) / lead))
                if sign(self, whole) == NEG:
                    lead, whole = -lead, self.term(scaled(rest, -Fraction(1) / lead))
                result = self.mul(result, self.finish(frozenset({(whole, e)})))
                result = scaled(result, Fraction(lead) ** e)
            return result
        # A power that is no integer: only positive factors come out.
        result = {UNIT: 1}
        left: list[tuple[Term, Exponent]] = []
        for a, x in content:
            signs = sign(self, a)
            if signs == POS or (not signs & NEG and e is not None and not isinstance(x, Term) and x > 0):
                result = self.mul(result, self.one_power(a, x, exponent))
            elif not isinstance(x, Term) and x.denominator == 1 and x % 2 == 0 and e is not None and x > 0:
                whole = small(e * x)
                if whole.denominator == 1:
                    part = self.power(self.poly(a), {UNIT: whole})
                    result = self.mul(result, part if whole % 2 == 0 else self.mul(part, self.sided(self.poly(a))))
                else:
                    result = self.mul(result, self.absolute_power(a, {UNIT: whole}))
            else:
                left.append((a, x))
        if len(rest) > 1:
            lead = abs(rest[min(rest, key=mono_key)])
            rest, scale = scaled(rest, Fraction(1) / lead), scale * lead
        elif not left and scale < 0 and e is not None:  # a real power of a negative number
            return {}
        if scale < 0:
            rest, scale = scaled(rest, -1), -scale
        result = self.mul(result, self.number_power(Fraction(scale), exponent))
        whole_rest = self.mul(rest, {frozenset(left): 1})
        if whole_rest != {UNIT: 1}:
            atom = self.term(whole_rest)
            known = POS | ZERO if e is not None else POS
            if len(whole_rest) == 1 and len(left) == 1 and left[0][1] == 1 and not sign(self, atom) & ~known:
                result = self.mul(result, {frozenset({(left[0][0], self.as_exponent(exponent))}): 1})
            elif len(whole_rest) > 1 and not sign(self, atom) & ~known:
                result = self.mul(result, self.finish(frozenset({(atom, self.as_exponent(exponent))})))
            else:
                result = self.mul(result, self.opaque_power(whole_rest, exponent))
        return result

    def opaque_power(self, base: Poly, exponent: Poly) -> Poly:
        """A power of a base of unknown sign: an atom of its own."""
        e = constant(exponent)
        if e is not None and e < 0:
            return {frozenset({(power(self.term(base), num(-e)), -1)}): 1}
        return {frozenset({(power(self.term(base), self.term(exponent)), 1)}): 1}

    def one_power(self, a: Term, x: Exponent, exponent: Poly) -> Poly:
        inner = self.poly(x) if isinstance(x, Term) else {UNIT: x}
        return (
            self.finish(frozenset({(a, e)})) if (e := self.as_exponent(self.mul(inner, exponent))) != 0 else {UNIT: 1}
        )

    def times_exponent(self, x: Exponent, e: int) -> Exponent:
        return small(x * e) if not isinstance(x, Term) else self.as_exponent(scaled(self.poly(x), e))

    def number_power(self, value: Fraction, exponent: Poly) -> Poly:
        """value^exponent for a positive rational: a product of powers of primes."""
        e = self.as_exponent(exponent)
        powers: dict[int, int] = {}
        for part, times in ((value.numerator, 1), (value.denominator, -1)):
            for p in primes(part):
                powers[p] = powers.get(p, 0) + times
        result: Poly = {UNIT: 1}
        for p, k in powers.items():
            if k:
                result = self.mul(result, self.finish(frozenset({(num(p), self.times_exponent(e, k))})))
        return result

    def content(self, poly: Poly, integral: int | None = 1) -> tuple[Mono, Poly]:
        """The common monomial of a sum and the sum without it: 1 + e^-x is e^-x times 1 + e^x."""
        if len(poly) < 2:
            return UNIT, poly
        common: dict[Term, Exponent] | None = None
        for mono in poly:
            here = dict(mono)
            if common is None:
                common = {a: e for a, e in here.items() if not isinstance(e, Term)}
            else:
                for a in list(common):
                    e = here.get(a, 0)
                    if isinstance(e, Term):
                        del common[a]
                    elif e < common[a]:  # type: ignore[operator]
                        common[a] = e
                for a, e in here.items():
                    if (
                        a not in common
                        and not isinstance(e, Term)
                        and e < 0
                        and not any(a in dict(m) and isinstance(dict(m)[a], Term) for m in poly)
                    ):
                        common[a] = e
        assert common is not None
        for a in list(common):
            if a in common and any(a not in dict(m) and common[a] > 0 for m in poly):  # type: ignore[operator]
                del common[a]
        kept = {
            a: e
            for a, e in common.items()
            if e and a.op not in CASES and (sign(self, a) == POS or (e > 0 and integral is not None))  # type: ignore[operator]
        }
        if not kept:
            return UNIT, poly
        factor: Mono = frozenset((a, -e) for a, e in kept.items())  # type: ignore[operator]
        rest: Poly = {}
        for mono, c in poly.items():
            merged = dict(mono)
            for a, e in factor:
                joint = merged.get(a, 0) + e  # type: ignore[operator]
                if joint:
                    merged[a] = small(joint)
                else:
                    merged.pop(a, None)
            add_to(rest, self.finish(frozenset(merged.items())), c)
        return frozenset(kept.items()), rest

    def mono_sign(self, mono: Mono, c: int | Fraction) -> int:
        result = sign_of(c)
        for a, e in mono:
            result = mul_signs(result, sign(self, a if e == 1 else power(a, e if isinstance(e, Term) else num(e))))
        return result

    # -- functions and cases -----------------------------------------------------------------------------------------

    def function(self, term: Term) -> Poly:
        name, args = term.value, term.args
        if name == "sqrt":
            return self.factored(term)
        if name == "log":
            return self.log(args[0])
        if name in UNFOLD:
            return self.poly(UNFOLD[name](*args))
        if name in PIECES:
            u = self.poly(args[0] if len(args) == 1 else sub(*args))
            value = self.mul(PIECES[name](self, u), u if name != "sign" else {UNIT: 1})
            return value if len(args) == 1 else add_to(dict(value), self.poly(args[1]))
        if name == "exp":
            return self.exp(self.poly(args[0]))
        u = self.poly(args[0])
        if self.cases(u) is not None:
            return self.by_cases(u, lambda here, part: here.poly(fn(name, here.term(part))))
        if name in ("sin", "atan", "erf", "cos"):
            even = name == "cos"
            if not u:
                return {UNIT: 1} if even else {}
            if u[min(u, key=mono_key)] < 0:
                return scaled(self.atom(fn(name, self.term(scaled(u, -1)))), 1 if even else -1)
        return self.atom(fn(name, self.term(u)))

    def exp(self, u: Poly) -> Poly:
        """e^u as a product over the terms of u."""
        if self.cases(u) is not None:
            return self.by_cases(u, lambda here, part: here.exp(part))
        result: Poly = {UNIT: 1}
        factors: dict[Term, Exponent] = {}
        for mono, c in u.items():
            logs = [a for a, e in mono if e == 1 and a.op == "fn" and a.value == "log"]
            if len(logs) == 1:
                rest = mono - {(logs[0], 1)}
                inner = self.poly(logs[0].args[0])
                if sign(self, logs[0].args[0]) == POS and (not rest or all(a.op != "fn" for a, _ in rest)):
                    result = self.mul(result, self.power(inner, {frozenset(rest): c}))
                    continue
            factors[fn("exp", self.term({mono: 1}))] = c
        return self.mul(result, {frozenset(factors.items()): 1})

    def log(self, term: Term) -> Poly:
        """The logarithm of a product as a sum, where every factor is known to be positive."""
        parts: list[tuple[Poly, Poly, Term]] = []
        self.factors(term, {UNIT: 1}, parts)
        if any(sign(self, t) != POS and sign(self, self.term(p)) != POS for p, _, t in parts):
            whole = self.poly(term)
            return self.log_of(whole)
        total: Poly = {}
        for base, e, _ in parts:
            add_to(total, self.mul(e, self.log_of(base)))
        return total

    def log_of(self, u: Poly) -> Poly:
        if not u:
            return {}
        if self.cases(u) is not None:
            return self.by_cases(u, lambda here, part: here.log_of(part))
        mono, rest = self.content(u, None)
        scale: int | Fraction = 1
        if len(rest) == 1:
            mono, scale, rest = joined(mono, rest)
        else:
            scale = abs(rest[min(rest, key=mono_key)])
            rest = scaled(rest, Fraction(1) / scale)
        total: Poly = {}
        left: Poly = dict(rest)
        for a, e in mono:
            if sign(self, a) == POS:
                one = self.poly(a.args[0]) if a.op == "fn" and a.value == "exp" else self.atom(fn("log", a))
                if a.op == "num":
                    one = self.atom(fn("log", a))
                if a.op == "prod" and sign(self, a.args[0]) == POS:
                    one = self.poly(over("sum", fn("log", a.args[0]), *a.bound, where=a.args[1]))
                add_to(total, self.mul(self.poly(e) if isinstance(e, Term) else {UNIT: e}, one))
            elif isinstance(e, int) and e % 2 == 0 and self.certain(a):
                add_to(total, self.atom(fn("log", fn("abs", a))), e)
            else:
                left = self.mul(left, self.power(self.poly(a), self.poly(e) if isinstance(e, Term) else {UNIT: e}))
        if scale < 0:
            left, scale = scaled(left, -1), -scale
        for part, times in ((Fraction(scale).numerator, 1), (Fraction(scale).denominator, -1)):
            for p in primes(part):
                add_to(total, self.atom(fn("log", num(p))), times)
        if left != {UNIT: 1}:
            if constant(left) is not None:  # the logarithm of a negative number
                return {}
            add_to(total, self.atom(fn("log", self.term(left))))
        return total

    def cases(self, poly: Poly) -> Term | None:
        """An indicator, delta or bit on which the polynomial depends outside of other atoms; None if there are many."""
        found = {a for m in poly for a, _ in m if a.op in CASES or (a.op == "var" and self.is_bit(a))}
        return min(found, key=key) if 0 < len(found) <= MAX_CASES else None

    def by_cases(self, poly: Poly, f: Callable[[Normal, Poly], Poly]) -> Poly:
        """f of a polynomial in 0-1 atoms, as the sum over their values: each value of f behind its indicator."""
        atom = self.cases(poly)
        assert atom is not None
        cells: list[tuple[Poly, dict[Term, int], Term]] = []
        if atom.op == "where" and atom.args[0].value != "<":
            u = atom.args[0].args[0]
            up, at = where(cmp(">", u, NOUGHT), ONE, NOUGHT), where(cmp("==", u, NOUGHT), ONE, NOUGHT)
            if any(a is at for m in poly for a, _ in m):
                below = add_to(add_to({UNIT: 1}, self.poly(up), -1), self.poly(at), -1)
                cells = [
                    (self.poly(up), {up: 1, at: 0}, cmp(">", u, NOUGHT)),
                    (self.poly(at), {up: 0, at: 1}, cmp("==", u, NOUGHT)),
                    (below, {up: 0, at: 0}, cmp("<", u, NOUGHT)),
                ]
            else:
                below = add_to({UNIT: 1}, self.poly(up), -1)
                cells = [(self.poly(up), {up: 1}, cmp(">", u, NOUGHT)), (below, {up: 0}, cmp("<=", u, NOUGHT))]
        else:
            rest = add_to({UNIT: 1}, self.poly(atom), -1)
            cells = [(self.poly(atom), {atom: 1}, TRUE), (rest, {atom: 0}, TRUE)]
        total: Poly = {}
        for indicator, values, condition in cells:
            here = self.under(condition)
            if here is not None and indicator:
                part: Poly = {}
                for mono, c in poly.items():
                    if all(values.get(a, 1) for a, _ in mono):
                        add_to(part, {frozenset((a, e) for a, e in mono if a not in values): c})
                add_to(total, self.mul(indicator, f(here, part)))
        return total

    def branches(self, term: Term) -> Poly:
        """`where` as [condition] * then + (1 - [condition]) * else, each part simplified where it is taken."""
        condition, then, other = term.args
        chosen = self.condition(condition)
        value = constant(chosen)
        if value is not None:
            return self.poly(then if value else other)
        yes, no = self.under(condition), self.under(negation(condition))
        total = self.mul(chosen, yes.poly(then)) if yes else {}
        return add_to(dict(total), self.mul(add_to({UNIT: 1}, chosen, -1), no.poly(other)) if no else {})

    def condition(self, term: Term) -> Poly:
        """The condition's indicator: 1 where it holds, else 0."""
        op, args = term.op, term.args
        if op in ("true", "false"):
            return {UNIT: 1} if op == "true" else {}
        if op == "cmp":
            return self.comparison(term)
        if op in ("and", "or"):
            result: Poly = {UNIT: 1}
            for a in args:
                one = self.condition(a)
                result = self.mul(result, one if op == "and" else add_to({UNIT: 1}, one, -1))
            return result if op == "and" else add_to({UNIT: 1}, result, -1)
        if op == "not":
            return add_to({UNIT: 1}, self.condition(args[0]), -1)
        if op == "holds":
            return add_to({UNIT: 1}, self.zero(self.poly(args[0])), -1)
        if op in ("all", "any"):
            inner = where(both(args[1], args[0] if op == "any" else negation(args[0])), NOUGHT, ONE)
            none = self.poly(over("prod", inner, *term.bound))
            return none if op == "all" else add_to({UNIT: 1}, none, -1)
        raise Rejected(f"{op} is not a condition")

    def comparison(self, term: Term) -> Poly:
        relation = term.value
        left, right = term.args
        indices = self.index_like(left) and self.index_like(right)
        if relation in ("==", "!="):
            one = self.delta(left, right) if indices else self.zero(self.poly(difference(term)))
            return one if relation == "==" else add_to({UNIT: 1}, one, -1)
        if relation in ("<", "<="):
            left, right = right, left
        if indices:
            above = self.order(right, left)
            return add_to(dict(above), self.delta(left, right)) if relation in ("<=", ">=") else above
        gap = self.poly(sub(left, right))
        above = self.positive(gap)
        return add_to(dict(above), self.zero(gap)) if relation in ("<=", ">=") else above

    def index_like(self, term: Term) -> bool:
        if term.op == "var":
            declaration = self.context.declarations.get(term.value)
            return declaration is not None and declaration.kind == "index"
        return term.op in INDICES

    def delta(self, i: Term, j: Term) -> Poly:
        i, j = self.subscript(i), self.subscript(j)
        if i is j:
            return {UNIT: 1}
        if i.op == "num" and j.op == "num":
            return {}
        if "num" not in (i.op, j.op) and self.axis_of(i) != self.axis_of(j):
            raise Rejected("delta of indices of different axes")
        for g in self.guards:
            if g.op == "cmp" and {g.args[0], g.args[1]} == {i, j} and g.value in ("!=", "<", ">"):
                return {}
        return self.atom(self.delta_atom(i, j))

    def axis_of(self, subscript: Term) -> str:
        """The axis that a subscript runs over."""
        if subscript.op == "index":
            return str(subscript.value[1])
        if subscript.op == "argmax" and len(subscript.bound) == 1:
            return str(subscript.bound[0].value[1])
        declaration = self.context.declarations.get(subscript.value) if subscript.op == "var" else None
        if declaration is None or declaration.over is None:
            raise Rejected("a subscript without an axis")
        return declaration.over

    def delta_atom(self, i: Term, j: Term) -> Term:
        return delta(*sorted((i, j), key=letter_key))

    def order(self, i: Term, j: Term) -> Poly:
        """[i < j], turned so that the letter that comes first stands at the left."""
        i, j = self.subscript(i), self.subscript(j)
        if i is j:
            return {}
        if i.op == "num" and j.op == "num":
            return {UNIT: 1} if i.value < j.value else {}
        for g in self.guards:
            if g.op == "cmp" and {g.args[0], g.args[1]} == {i, j} and g.value != "!=":
                relation = (
                    g.value if g.args[0] is i else {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(g.value, g.value)
                )
                if relation == "<":
                    return {UNIT: 1}
                if relation in (">", ">=", "=="):
                    return {}
        if letter_key(i) < letter_key(j):
            return self.atom(where(cmp("<", i, j), ONE, NOUGHT))
        return add_to(add_to({UNIT: 1}, self.order(j, i), -1), self.delta(i, j), -1)

    def positive(self, u: Poly) -> Poly:
        """[u > 0]."""
        value = constant(u)
        if value is not None:
            return {UNIT: 1} if value > 0 else {}
        if self.cases(u) is not None:
            return self.by_cases(u, lambda here, part: here.positive(part))
        signs = sign(self, self.term(u))
        if signs == POS:
            return {UNIT: 1}
        if not signs & POS:
            return {}
        pair = self.index_pair(u)
        if pair is not None:
            return self.order(pair[1], pair[0])
        u = self.bare(u)
        if not signs & NEG:  # u >= 0
            return add_to({UNIT: 1}, self.zero(u), -1)
        content, rest = self.content(u, 1)
        if content or len(rest) == 1:
            return self.positive_product(content, rest)
        if u[min(u, key=mono_key)] < 0:
            return add_to(add_to({UNIT: 1}, self.positive(scaled(u, -1)), -1), self.zero(u), -1)
        return self.atom(where(cmp(">", self.term(u), NOUGHT), ONE, NOUGHT))

    def positive_product(self, content: Mono, rest: Poly) -> Poly:
        """[c a b … (rest) > 0] by the signs of the factors."""
        scale: int | Fraction = 1
        if len(rest) == 1:
            content, scale, rest = joined(content, rest)
        factors = [
            (self.poly(a) if a.op == "add" else self.atom(a), a, e) for a, e in sorted(content, key=lambda p: key(p[0]))
        ]
        if rest != {UNIT: 1}:
            factors.append((rest, self.term(rest), 1))
        plus: Poly = {UNIT: 1} if scale > 0 else {}  # the indicators that the product so far is positive, negative
        minus: Poly = {UNIT: 1} if scale < 0 else {}
        for base, a, e in factors:
            if not isinstance(e, int):  # a real power: positive or 0
                whole = a if e == 1 else power(a, e if isinstance(e, Term) else num(e))
                up, down = self.atom(where(cmp(">", whole, NOUGHT), ONE, NOUGHT)), {}
            elif len(factors) == 1 and e == 1:
                up = self.atom(where(cmp(">", a, NOUGHT), ONE, NOUGHT))
                down = add_to(add_to({UNIT: 1}, up, -1), self.zero(base), -1) if scale < 0 else {}
            else:
                up, down = self.positive(base), self.positive(scaled(base, -1))
                if e % 2 == 0:
                    up, down = add_to(dict(up), down), {}
            plus, minus = (
                add_to(self.mul(plus, up), self.mul(minus, down)),
                add_to(self.mul(plus, down), self.mul(minus, up)),
            )
        return plus

    def zero(self, u: Poly) -> Poly:
        """[u = 0]."""
        value = constant(u)
        if value is not None:
            return {} if value else {UNIT: 1}
        if self.cases(u) is not None:
            return self.by_cases(u, lambda here, part: here.zero(part))
        signs = sign(self, self.term(u))
        if not signs & ZERO:
            return {}
        if signs == ZERO and self.steady:
            return {UNIT: 1}
        pair = self.index_pair(u)
        if pair is not None:
            return self.delta(*pair)
        u = self.bare(u, integral=1)
        if len(u) == 1:
            ((mono, _),) = u.items()
            none: Poly = {UNIT: 1}
            for a, _ in sorted(mono, key=lambda p: key(p[0])):
                if self.certain(a):
                    continue
                one = self.atom(where(cmp("==", a, NOUGHT), ONE, NOUGHT)) if a.op != "add" else self.zero(self.poly(a))
                none = self.mul(none, add_to({UNIT: 1}, one, -1))
            return add_to({UNIT: 1}, none, -1)
        u = scaled(u, Fraction(1) / u[min(u, key=mono_key)])
        return self.atom(where(cmp("==", self.term(u), NOUGHT), ONE, NOUGHT))

    def bare(self, u: Poly, integral: int | None = None) -> Poly:
        """u without positive factors; a difference of exponentials becomes that of the exponents."""
        if len(u) == 1:
            ((mono, c),) = u.items()
            kept = frozenset((a, e) for a, e in mono if sign(self, a) != POS)
            return {kept: 1 if c > 0 else -1}
        mono, rest = self.content(u, integral)
        if len(rest) == 1:
            mono, c, rest = joined(mono, rest)
            return self.bare({mono: c}, integral)
        u = rest
        lead = abs(u[min(u, key=mono_key)])
        u = scaled(u, Fraction(1) / lead)
        if len(u) == 2 and sorted(u.values()) == [-1, 1]:
            plus, minus = sorted(u, key=lambda m: -u[m])
            if all(a.op == "fn" and a.value == "exp" and not isinstance(e, Term) for a, e in plus | minus):
                gap: Poly = {}
                for mono, side in ((plus, 1), (minus, -1)):
                    for a, e in mono:
                        add_to(gap, self.poly(a.args[0]), e * side)  # type: ignore[operator]  # numbers, as just seen
                return self.bare(gap, integral) if len(gap) > 1 else gap
        return u

    def index_pair(self, u: Poly) -> tuple[Term, Term] | None:
        """(i, j) where u is i - j for two indices of one axis."""
        if len(u) == 2 and sorted(u.values()) == [-1, 1] and all(len(m) == 1 for m in u):
            plus, minus = sorted(u, key=lambda m: -u[m])
            ((a, e),), ((b, f),) = plus, minus
            if e == f == 1 and a.op == b.op == "index" and a.value[1] == b.value[1]:
                return a, b
        return None

    def sided(self, u: Poly) -> Poly:
        """sign(u)."""
        return add_to(dict(self.positive(u)), self.positive(scaled(u, -1)), -1)


# Functions in pieces: what the argument is multiplied by (sign: the value itself; max and min: of the difference).
PIECES: dict[str, Callable[[Normal, Poly], Poly]] = {
    "abs": Normal.sided,
    "sign": Normal.sided,
    "relu": Normal.positive,
    "max": Normal.positive,
    "min": lambda nf, u: nf.positive(scaled(u, -1)),
}


def divides(small_mono: Mono, large: Mono) -> bool:
    table = dict(large)
    return bool(small_mono) and all(
        not isinstance(table.get(a, 0), Term) and table.get(a, 0) >= e for a, e in small_mono
    )  # type: ignore[operator]


def primes(value: int) -> list[int]:
    """The prime factors of a positive integer, those above a thousand left together."""
    result, p = [], 2
    while p * p <= value and p < 1000:
        while value % p == 0:
            result.append(p)
            value //= p
        p += 1
    return result + [value] * (value > 1)


def joined(content: Mono, rest: Poly) -> tuple[Mono, int | Fraction, Poly]:
    """The monomial content * rest, for a rest of one term, with its coefficient; kept as factors, not multiplied out."""
    ((mono, c),) = rest.items()
    merged = dict(content)
    for a, e in mono:
        total = merged.get(a, 0) + e if not isinstance(e, Term) else e  # type: ignore[operator]
        if isinstance(total, Term) or total:
            merged[a] = total
        else:
            del merged[a]
    return frozenset(merged.items()), c, {UNIT: 1}


def reversed_key(digest: tuple[str, str]) -> tuple[int, ...]:
    """A key that puts the largest digest first."""
    return tuple(-ord(c) for part in digest for c in part)


def letter_key(term: Term) -> tuple[str, str]:
    """The order of letters: bound ones first, the one opened last before all others, then by name."""
    if term.op != "index":
        return key(term)
    name = term.value[0]
    return ("", f"@{999_999 - int(name[1:]):06d}" if name[0] == "@" else name)

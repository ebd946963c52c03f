"""Equations between two terms, as Coq proofs: both sides are brought to one form, one small equation at a time.

`Equation` plans with polynomials and writes, for each sum, exponential, logarithm and derivative inside of a term, an
equation that Coq proves by one directed tactic, and a proof term that puts them together. Nothing here is trusted.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from derive.coq.names import NotExported, axis, kind_type, letter, variable
from derive.coq.poly import (
    UNIT,
    Mono,
    Poly,
    arithmetic,
    content,
    divided,
    key,
    mono_term,
    poly_of,
    scaled,
    term_of,
    whole,
)
from derive.coq.printer import FUNCTIONS, MINUS, Printer, indicator
from derive.coq.slopes import slope
from derive.term import (
    MINUS_ONE,
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    delta,
    div,
    fn,
    fresh,
    index,
    make,
    mul,
    neg,
    num,
    over,
    power,
    rebuild,
    size,
    sub,
    substitute,
    subterms,
    where,
)

Proof = str | None  # None: both sides are the same text
STEP_LIMIT = 20  # seconds a tactic may take
OWN = re.compile(r"_(\d+)")  # the letters of sums in canonical form


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


class Equation:
    """Collects the equations that one proof needs."""

    def __init__(self, printer: Printer, letters: Iterable[Term] = ()):
        self.printer = printer
        self.letters = frozenset(letters)  # that are free in the whole
        self.lines: list[str] = []
        self.count = 0
        self.scope: tuple[Bound, ...] = ()
        self.memo: dict[tuple[Term, tuple[Bound, ...]], tuple[Term, Proof]] = {}

    # -- the text of proofs ------------------------------------------------------------------------------------------

    def say(self, left: str, right: str, tactic: str) -> str:
        """An equation under what is bound here, proved by the tactic; how it is called here."""
        self.count += 1
        name = f"E{self.count}"
        foralls = "".join(b.text for b in self.scope)
        intros = "".join(f"{b.intro}. " for b in self.scope)
        self.lines.append(
            f"assert ({name} : {foralls}@eq R ({left}) ({right})). {{ {intros}timeout {STEP_LIMIT} ({tactic}). }}"
        )
        return f"({' '.join([name, *(b.names for b in self.scope)])})" if self.scope else name

    def text(self, term: Term) -> str:
        return self.printer.value(term)

    @staticmethod
    def chain(*proofs: Proof) -> Proof:
        """One proof after the other."""
        parts = [p for p in proofs if p is not None]
        if not parts:
            return None
        found = parts[-1]
        for p in reversed(parts[:-1]):
            found = f"(eq_trans {p} {found})"
        return found

    def congruence(self, term: Term, proofs: Sequence[Proof]) -> Proof:
        """The term's equation from those of its arguments, for an operator without letters."""
        if all(p is None for p in proofs):
            return None
        given = [p or "eq_refl" for p in proofs]
        op = term.op
        if op in ("add", "mul"):
            found = given[0]
            for p in given[1:]:
                found = f"(f_equal2 R{'plus' if op == 'add' else 'mult'} {found} {p})"
            return found
        if op == "neg":
            return f"(f_equal Ropp {given[0]})"
        if op == "div":
            return f"(f_equal2 Rdiv {given[0]} {given[1]})"
        if op == "pow":
            n = whole(term.args[1])
            if n is None:
                return f"(f_equal2 Rpower {given[0]} {given[1]})"
            inner = given[0] if abs(n) == 1 and n < 0 else f"(f_equal (fun x : R => x ^ {abs(n)}) {given[0]})"
            return f"(f_equal Rinv {inner})" if n < 0 else inner
        if op == "fn":
            name = FUNCTIONS[term.value]
            return f"(f_equal{'2' if len(given) > 1 else ''} {name} {' '.join(given)})"
        if op == "where":
            return f"(f_equal2 (cases ({self.printer.test(term.args[0])})) {given[1]} {given[2]})"
        raise NotExported(f"no step inside of {op}")

    # -- both sides ---------------------------------------------------------------------------------------------------

    def equal(self, left: Term, right: Term) -> str:
        """A proof term of left = right."""
        a, p = self.norm(left)
        b, q = self.norm(right)
        middle = None if a is b else self.say(self.text(a), self.text(b), "leaf")
        return self.chain(p, middle, None if q is None else f"(eq_sym {q})") or "eq_refl"

    def norm(self, term: Term) -> tuple[Term, Proof]:
        """An arithmetic term over atoms that equals the term, and why."""
        found = self.memo.get((term, self.scope))
        if found is None:
            found = self.memo[term, self.scope] = self._norm(term)
        return found

    def _norm(self, term: Term) -> tuple[Term, Proof]:
        op, args = term.op, term.args
        if op == "num":
            return term, None
        if arithmetic(term):
            parts = [self.norm(a) if n == 0 or op != "pow" else (a, None) for n, a in enumerate(args)]
            new = make(op, [t for t, _ in parts], term.value)
            return new, self.congruence(term, [p for _, p in parts])
        method = getattr(self, f"_{op}", None)
        if method is not None:
            found: tuple[Term, Proof] = method(term)
            return found
        if op in ("var", "size", "index", "const"):
            return term, None
        raise NotExported(f"no normal form of {op}")

    def again(self, term: Term, proof: Proof) -> tuple[Term, Proof]:
        """The normal form of what the proof led to."""
        new, more = self.norm(term)
        return new, self.chain(proof, more)

    def canonical(self, term: Term) -> tuple[Term, Proof]:
        """The normal form, as the term that all its equals share."""
        new, proof = self.norm(term)
        best = term_of(poly_of(new))
        if best is new:
            return new, proof
        return best, self.chain(proof, self.say(self.text(new), self.text(best), "leaf"))

    # -- functions ----------------------------------------------------------------------------------------------------

    def _delta(self, term: Term) -> tuple[Term, Proof]:
        i, j = term.args
        if i is j:
            return ONE, f"(delta_same {self.printer.place(i)})"
        if key(i) > key(j):
            return delta(j, i), f"(delta_sym {self.printer.place(i)} {self.printer.place(j)})"
        return term, None

    def _pow(self, term: Term) -> tuple[Term, Proof]:
        """A real power is an exponential, by definition."""
        base, exponent = term.args
        if self.printer.is_place(exponent):
            raise NotExported("it holds a power with an index as its exponent")
        return self.again(fn("exp", mul(exponent, fn("log", base))), "eq_refl")

    def _fn(self, term: Term) -> tuple[Term, Proof]:
        name, args = term.value, term.args
        if name in OPENED:
            return self.again(OPENED[name](*args), "eq_refl")
        parts = [self.canonical(a) for a in args]
        new = fn(name, *(t for t, _ in parts))
        proof = self.congruence(term, [p for _, p in parts])
        if name == "exp":
            return self._exp(new, proof)
        if name == "log":
            return self._log(new, proof)
        return new, proof

    def _exp(self, term: Term, proof: Proof) -> tuple[Term, Proof]:
        """exp of a sum as a product of powers of exponentials."""
        p = poly_of(term.args[0])
        if len(p) == 1 and set(p.values()) == {1} and not log_of(next(iter(p))):
            return term, proof
        units, factors = [], []
        for m, c in p.items():
            times = abs(c.numerator)
            if times > 8:
                return term, proof
            unit = mono_term(m) if c.denominator == 1 else div(mono_term(m), num(c.denominator))
            units += [unit if c > 0 else neg(unit)] * times
            inside = log_of(m) if c.denominator == 1 else None
            atom = inside if inside is not None else fn("exp", unit)
            factors.append(power(atom, num(times if c > 0 else -times)) if c != 1 else atom)
        new = mul(*factors)
        return self.again_known(
            new, self.chain(proof, self.say(self.text(term), self.text(new), f"exps ({self.text(add(*units))})"))
        )

    def again_known(self, term: Term, proof: Proof) -> tuple[Term, Proof]:
        return term, proof

    def _log(self, term: Term, proof: Proof) -> tuple[Term, Proof]:
        """log of a product of what is positive as a sum."""
        p = poly_of(term.args[0])
        if not p:
            return term, proof
        c, mono = content(p) if len(p) > 1 else (next(iter(p.values())), next(iter(p)))
        rest = scaled(divided(p, mono), 1 / c)
        if c <= 0 or not all(self.positive(t) for t, _ in mono):
            mono, c, rest = UNIT, Fraction(1), p
        factors: list[Term] = []
        parts: list[Term] = []
        if c != 1:
            factors.append(num(c))
            parts.append(fn("log", num(c)))
        for atom, e in mono:
            base, n = (atom.args[0], -e) if atom.op == "pow" else (atom, e)
            factors += [base if n > 0 else power(base, MINUS_ONE)] * abs(n)
            inner = base.args[0] if base.op == "fn" and base.value == "exp" else fn("log", base)
            parts.append(inner if n == 1 else mul(num(n), inner) if n > 0 else neg(mul(num(-n), inner)))
        if term_of(rest) is not ONE:
            factors.append(term_of(rest))
            parts.append(fn("log", term_of(rest)))
        new = add(*parts) if parts else ZERO
        if new is term:
            return term, proof
        u = make("mul", factors) if len(factors) > 1 else factors[0] if factors else ONE
        return new, self.chain(proof, self.say(self.text(term), self.text(new), f"lns ({self.text(u)})"))

    def positive(self, term: Term) -> bool:
        """Whether the term is plainly positive; Coq decides."""
        op, args = term.op, term.args
        if op == "num":
            return bool(term.value > 0)
        if op == "var":
            d = self.printer.scope.context.declarations.get(term.value)
            return d is not None and d.kind == "positive"
        if op == "fn":
            return term.value in ("exp", "sigmoid", "softplus") or term.value == "sqrt" and self.positive(args[0])
        if op in ("add", "mul", "div"):
            return all(map(self.positive, args))
        if op == "pow":
            return self.positive(args[0])
        if op == "sum":
            return args[1] is TRUE and self.positive(args[0])
        return op == "size" or op == "const"

    def _where(self, term: Term) -> tuple[Term, Proof]:
        """A case distinction on indices, by deltas."""
        condition, then, other = term.args
        if then is ONE and other is ZERO and indicator(condition) is term:
            return term, None
        one = indicator(condition)
        new = add(mul(one, then), mul(add(ONE, neg(one)), other))
        return self.again(new, self.say(self.text(term), self.text(new), "by_cases"))

    # -- sums ---------------------------------------------------------------------------------------------------------

    def _sum(self, term: Term) -> tuple[Term, Proof]:
        body, condition = term.args
        if condition is not TRUE:  # what is printed for a filter is a factor
            body = mul(indicator(condition), body)
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
        p = poly_of(new)
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
        height = 1 + max(
            (int(m[1]) for s in subterms(body) for t in s.bound if (m := OWN.fullmatch(t.value[0]))), default=0
        )
        found: list[tuple[str, tuple[Term, ...], Term]] = []
        places = itertools.permutations(letters) if len(letters) < 6 else [letters]
        for order in places:
            mapping = {k: index(f"_{height + p}", k.value[1]) for p, k in enumerate(order)}
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
        tactic = "".join(f"swap {at}%nat; " for at in swaps)
        return best, self.say(self.text(term), self.text(best), f"{tactic}same_sums")

    # -- extrema ------------------------------------------------------------------------------------------------------

    def _max(self, term: Term) -> tuple[Term, Proof]:
        if len(term.bound) > 1 or term.args[1] is not TRUE:
            raise NotExported("it holds an extremum with a condition")
        k, inside = self.apart(term.bound[0], term.args[0])
        outer = self.scope
        self.scope = (*outer, index_bound(k))
        body, proof = self.canonical(inside)
        self.scope = outer
        height = 1 + max(
            (int(m[1]) for s in subterms(body) for t in s.bound if (m := OWN.fullmatch(t.value[0]))), default=0
        )
        other = index(f"_{height}", k.value[1])
        p = poly_of(body)
        constant = {m: c for m, c in p.items() if all(k not in t.letters for t, _ in m)}
        rest = {m: c for m, c in p.items() if m not in constant}
        i = letter(k)
        best = over(term.op, substitute(term_of(rest), {k: other}), other)
        new = add(best, term_of(constant)) if constant else best
        start = "" if proof is None else f"refine (eq_trans {proof} _); "
        name = "Max" if term.op == "max" else "Min"
        if constant:
            tactic = f"apply {name}_shift; [ix | intros {i} H{i}; {start}leaf]"
        else:
            tactic = f"apply {name}_ext; intros {i} H{i}; {start}leaf"
        return new, self.say(self.text(term), self.text(new), tactic)

    _min = _max

    # -- derivatives --------------------------------------------------------------------------------------------------

    def _diff(self, term: Term) -> tuple[Term, Proof]:
        """A derivative, by its formal rules."""
        body, entry = term.args
        new = slope(body, entry, self.printer.scope.context)
        proof = self.say(self.text(term), self.text(new), "derivative")
        return self.again(new, proof)

    def under_variable(self, name: str) -> Bound:
        d = self.printer.scope.context.declarations[name]
        u, room = variable(name), f"o{len(self.scope)}_{name}"
        return Bound(f"forall {u} : {kind_type(d)}, ", u, f"rename {u} into {room}; intros {u}")


def log_of(mono: Mono) -> Term | None:
    """x for the monomial log(x)."""
    if len(mono) == 1 and mono[0][1] == 1 and mono[0][0].op == "fn" and mono[0][0].value == "log":
        return mono[0][0].args[0]
    return None


# Functions that are others by definition, as coq/Derive.v has it.
OPENED = {
    "sigmoid": lambda x: power(add(ONE, fn("exp", neg(x))), MINUS_ONE),
    "softplus": lambda x: fn("log", add(ONE, fn("exp", x))),
    "relu": lambda x: fn("max", x, ZERO),
    "log1p": lambda x: fn("log", add(ONE, x)),
    "expm1": lambda x: sub(fn("exp", x), ONE),
    "tanh": lambda x: div(fn("sinh", x), fn("cosh", x)),
    "sinh": lambda x: div(sub(fn("exp", x), fn("exp", neg(x))), num(2)),
    "cosh": lambda x: div(add(fn("exp", x), fn("exp", neg(x))), num(2)),
}

__all__ = ["Bound", "Equation", "index_bound", "MINUS", "rebuild", "where"]

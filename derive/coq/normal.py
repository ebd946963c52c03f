"""Equations between two terms, as Coq proofs: both sides are brought to one form, one small equation at a time.

`Equation` plans with polynomials and writes, for each sum, exponential, logarithm and derivative inside of a term, an
equation that Coq proves by one directed tactic, and a proof term that puts them together. Nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from derive.coq.means import Means
from derive.coq.names import NotExported, kind_type, variable
from derive.coq.pieces import Pieces
from derive.coq.poly import (
    UNIT,
    Mono,
    arithmetic,
    content,
    divided,
    key,
    mono_term,
    over_line,
    poly_of,
    product,
    reduced,
    scaled,
    term_of,
    whole,
)
from derive.coq.printer import FUNCTIONS, Printer
from derive.coq.slopes import slope
from derive.coq.sums import Bound, Proof, Sums
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
    make,
    mul,
    neg,
    num,
    power,
    sub,
    subterms,
)

STEP_LIMIT = 120  # seconds a tactic may take


class Equation(Sums, Pieces, Means):
    """Collects the equations that one proof needs."""

    def __init__(
        self,
        printer: Printer,
        letters: Iterable[Term] = (),
        unequal: Iterable[frozenset[Term]] = (),
        known: Mapping[tuple[Term, Term], tuple[str, bool]] | None = None,
    ):
        self.printer = printer
        self.unequal = frozenset(unequal)  # indices that a hypothesis in Coq's context tells apart
        self.known = dict(known or {})  # (a, b): the name of a <= b in Coq's context, and whether a < b
        self.letters = frozenset(letters)  # that are free in the whole
        self.lines: list[str] = []
        self.count = 0
        self.products: dict[str, str] = {}  # products of random entries whose means are shown, and their names
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

    def say_index(self, left: str, right: str, tactic: str) -> str:
        """The same for two indices."""
        found = self.say(left, right, tactic)
        self.lines[-1] = self.lines[-1].replace("@eq R", "@eq nat", 1)
        return found

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
        middle = None
        if a is not b:
            p_, q_ = reduced(poly_of(a)), reduced(poly_of(b))
            apart = p_ != q_ and any(t.op == "delta" for t in (*subterms(a), *subterms(b)))
            middle = self.say(self.text(a), self.text(b), "leaf_by_index" if apart else "leaf")
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
            below = op == "div" or op == "pow" and (whole(args[1]) or 0) < 0
            parts = [self.norm(a) if n == 0 or op != "pow" else (a, None) for n, a in enumerate(args)]
            if below:  # simple denominators make simple side conditions
                place = 1 if op == "div" else 0
                parts[place] = self.canonical(args[place])
            new = make(op, [t for t, _ in parts], term.value)
            return new, self.congruence(term, [p for _, p in parts])
        method = getattr(self, f"_{op}", None)
        if method is not None:
            found: tuple[Term, Proof] = method(term)
            return found
        if op in ("size", "index", "const"):
            return term, None
        raise NotExported(f"no normal form of {op}")

    def again(self, term: Term, proof: Proof) -> tuple[Term, Proof]:
        """The normal form of what the proof led to."""
        new, more = self.norm(term)
        return new, self.chain(proof, more)

    def by_definition(self, term: Term) -> tuple[Term, Proof]:
        """The normal form of what Coq takes for the same by unfolding."""
        return self.again(term, f"(@eq_refl R ({self.text(term)}))")

    def canonical(self, term: Term) -> tuple[Term, Proof]:
        """The normal form, as the term that all its equals share."""
        new, proof = self.norm(term)
        best = term_of(reduced(poly_of(new)))
        if best is new:
            return new, proof
        return best, self.chain(proof, self.say(self.text(new), self.text(best), "leaf"))

    # -- functions ----------------------------------------------------------------------------------------------------

    def _delta(self, term: Term) -> tuple[Term, Proof]:
        i, j = term.args
        if i is j:
            return ONE, f"(delta_same {self.printer.place(i)})"
        if frozenset((i, j)) in self.unequal:
            return ZERO, f"(delta_diff {self.printer.place(i)} {self.printer.place(j)} ltac:(lia))"
        if key(i) > key(j):
            return delta(j, i), f"(delta_sym {self.printer.place(i)} {self.printer.place(j)})"
        return term, None

    def _pow(self, term: Term) -> tuple[Term, Proof]:
        """A real power is an exponential, by definition."""
        base, exponent = term.args
        if self.printer.is_place(exponent):
            raise NotExported("it holds a power with an index as its exponent")
        if exponent.op == "num" and abs(exponent.value) == Fraction(1, 2) and self.positive(base):
            root = fn("sqrt", base)
            new = root if exponent.value > 0 else power(root, MINUS_ONE)
            return self.again(new, self.say(self.text(term), self.text(new), "half_power"))
        return self.by_definition(fn("exp", mul(exponent, fn("log", base))))

    def _fn(self, term: Term) -> tuple[Term, Proof]:
        name, args = term.value, term.args
        if name in OPENED:
            return self.by_definition(OPENED[name](*args))
        if name in ("abs", "max", "min", "sign"):
            return self._piece(term)
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
        below, above = over_line(p)
        c, mono = content(above) if len(above) > 1 else (next(iter(above.values())), next(iter(above)))
        rest = scaled(divided(above, mono), 1 / c)
        for atom, e in below.items():
            mono = product(mono, ((atom, e if atom.op == "pow" else -e),))
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
            if term.value == "log" and args[0].op == "add":  # log(1 + something positive)
                rest = [a for a in args[0].args if a is not ONE]
                return len(rest) < len(args[0].args) and all(map(self.positive, rest))
            return term.value in ("exp", "sigmoid", "softplus") or term.value == "sqrt" and self.positive(args[0])
        if op in ("add", "mul", "div"):
            return all(map(self.positive, args))
        if op == "pow":
            return self.positive(args[0])
        if op == "sum":
            return args[1] is TRUE and self.positive(args[0])
        return op == "size" or op == "const"

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

__all__ = ["Bound", "Equation"]

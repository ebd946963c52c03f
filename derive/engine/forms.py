"""The ways to write a derivative: as the rules give it, in sigmoids and tanhs, factored, folded into names.

Each is equal to the normal form that it was made from, which is checked again before it is shown. Which one is the
shortest is a matter of counting; nothing here is trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import product as cartesian

from derive.engine.fold import Name, names, written
from derive.engine.steps import clean, sifted
from derive.kernel.derivative import differentiate
from derive.kernel.normal import Normal
from derive.kernel.poly import Mono, Poly, add_to, key
from derive.kernel.proof import Rejected
from derive.language.places import transform
from derive.term import (
    MINUS_ONE,
    ONE,
    Term,
    add,
    alike,
    defined,
    div,
    fn,
    make,
    mul,
    neg,
    num,
    power,
    rebuild,
    sub,
    substitute,
    subterms,
    where,
)
from derive.term import ZERO as NOUGHT

MAX_SWITCHED = 2  # exponential denominators that are written with a function
FOLDED = frozenset({"sigmoid", "tanh", "softplus", "exp"})  # functions that a name may stand for
MAX_DEGREE = 8  # of a polynomial in one function


def forms(nf: Normal, term: Term) -> list[Term]:
    """Ways to write the term, the shortest first: by the number of nodes, among equals without sign or quotient."""
    found: dict[Term, None] = {}
    for form in candidates(nf, term):
        for one in (form, tidied(form)):
            found.setdefault(one)
            for shorter in (shortened(nf, one), gathered(one), gathered(shortened(nf, one))):
                found.setdefault(shorter)
    plain = [f for f in found if not has_reserved(f)]
    return sorted(plain, key=lambda f: (f.size, f.op == "neg", any(t.op == "div" for t in subterms(f))))


def has_reserved(term: Term) -> bool:
    """Whether a letter of a normal form is left in it, which no reader could write."""
    return any(k.value[0][0] in "$@^?!" for t in subterms(term) for k in (*t.bound, *t.letters))


def candidates(nf: Normal, term: Term) -> Iterator[Term]:
    poly, known = nf.poly(term), names(nf)
    for one in (poly, *switched(nf, poly)):
        yield written(nf, one, known)
        yield from factored(nf, one, known)
    worked = formal(nf, term)
    if worked is not None:
        yield worked


def formal(nf: Normal, term: Term) -> Term | None:
    """The derivative as the rules give it, names unfolded only where they are differentiated."""
    if term.op != "diff":
        return term
    try:
        body = formal(nf, term.args[0])
        return None if body is None else tidied(differentiate(nf, body, term.args[1]))
    except Rejected:
        return None


# -- polynomials -----------------------------------------------------------------------------------------------------


def factored(nf: Normal, poly: Poly, known: list[Name]) -> Iterator[Term]:
    """The common factor in front of a shorter sum."""
    if len(poly) < 2:
        return
    shared = {a: e for a, e in frozenset.intersection(*poly) if isinstance(e, int)}
    for a in {a for m in poly for a, _ in m}:
        exponents = [dict(m).get(a, 0) for m in poly]
        if all(isinstance(e, int) and e > 0 for e in exponents):
            shared[a] = min(exponents)  # type: ignore[type-var]
        elif all(isinstance(e, int) and e < 0 for e in exponents):
            shared[a] = max(exponents)  # type: ignore[type-var]
    if not shared:
        return
    front = frozenset(shared.items())
    rest = divided(poly, front)
    for sign in (1, -1):
        outer = written(nf, {front: sign}, known)
        inner = written(nf, {m: c * sign for m, c in rest.items()}, known)
        yield mul(outer, inner) if inner is not ONE else outer


def divided(poly: Poly, front: Mono) -> Poly:
    """The polynomial with a common monomial taken out of each term, no law applied."""
    rest: Poly = {}
    for mono, c in poly.items():
        left = dict(mono)
        for a, e in front:
            left[a] = left.get(a, 0) - e  # type: ignore[operator]
        add_to(rest, {frozenset((a, e) for a, e in left.items() if e != 0): c})
    return rest


def switched(nf: Normal, poly: Poly) -> Iterator[Poly]:
    """The polynomial with sigmoid(u) or tanh(u/2) for 1/(1 + exp(u)), in which it is a polynomial."""
    bottoms = sorted({a for m in poly for a, e in m if a.op == "add" and isinstance(e, int) and e < 0}, key=key)
    found = [(a, u) for a in bottoms if (u := exponential(nf, a)) is not None][:MAX_SWITCHED]
    for choice in cartesian(("sigmoid", "tanh"), repeat=len(found)):
        one: Poly | None = poly
        for name, (a, u) in zip(choice, found, strict=True):
            one = None if one is None else rewritten(nf, one, a, name, u)
        if one is not None and found:
            yield one


def exponential(nf: Normal, atom: Term) -> Term | None:
    """u of a sum 1 + exp(u)."""
    poly = dict(nf.poly(atom))
    if len(poly) != 2 or poly.pop(frozenset(), 0) != 1 or set(poly.values()) != {1}:
        return None
    (mono,) = poly
    if not all(a.op == "fn" and a.value == "exp" for a, _ in mono):
        return None
    return written(nf, nf.poly(add(*(mul(num(e), a.args[0]) for a, e in mono))), [])


def rewritten(nf: Normal, poly: Poly, atom: Term, name: str, u: Term) -> Poly | None:
    """1/(1 + exp(u)) as 1 - sigmoid(u), or (1 - tanh(u/2))/2, factors that vanish with them in front."""
    half = written(nf, nf.poly(div(u, num(2))), [])
    f, low, slope = (
        (fn("sigmoid", u), 0, Fraction(-1)) if name == "sigmoid" else (fn("tanh", half), -1, Fraction(-1, 2))
    )
    rows: dict[int, Poly] = {}
    for mono, c in poly.items():  # in the powers of f, f - 1 being slope * t
        e = dict(mono).get(atom, 0)
        if e > 0 or e.denominator != 1 or -e > MAX_DEGREE:
            return None
        rest = {frozenset(p for p in mono if p[0] is not atom): c}
        start = {0: Fraction(1)}
        for _ in range(-e):  # times -slope * (1 - f)
            grown: dict[int, Fraction] = {}
            for k, v in start.items():
                grown[k] = grown.get(k, Fraction(0)) - slope * v
                grown[k + 1] = grown.get(k + 1, Fraction(0)) + slope * v
            start = grown
        for k, v in start.items():
            rows[k] = add_to(rows.get(k, {}), rest, v)
    front: dict[Term, int] = {}
    for value in (1, low):  # f - 1, and f or f + 1
        factor = f if value == 0 else add(ONE, f) if value == -1 else sub(ONE, f)
        while (lower := deflated(rows, value)) is not None:
            rows = lower if value != 1 else {k: {m: -c for m, c in row.items()} for k, row in lower.items()}
            front[factor] = front.get(factor, 0) + 1
    both, ends = sub(ONE, power(f, num(2))), (sub(ONE, f), add(ONE, f))
    pairs = min(front.get(end, 0) for end in ends)
    if pairs:
        front = {a: e - pairs * (a in ends) for a, e in front.items()} | {both: pairs}
    total: Poly = {}
    for k, row in rows.items():
        extra = {**front, f: k + front.get(f, 0)}
        for mono, c in row.items():
            add_to(total, {mono | frozenset((a, e) for a, e in extra.items() if e): c})
    return total


def deflated(rows: dict[int, Poly], value: int) -> dict[int, Poly] | None:
    """The polynomial divided by f - value, where that leaves no rest."""
    top = max((k for k, row in rows.items() if row), default=0)
    if top == 0:
        return None
    lower: dict[int, Poly] = {}
    carry: Poly = {}
    for k in range(top, 0, -1):
        carry = add_to(dict(rows.get(k, {})), carry, value)
        lower[k - 1] = carry
    return None if add_to(dict(rows.get(0, {})), carry, value) else lower


# -- terms -----------------------------------------------------------------------------------------------------------


def tidied(term: Term) -> Term:
    """The term without what the rules leave over: sums over a delta, factors 1, signs and numbers inside products."""

    def rule(t: Term) -> Term | None:
        if t.op == "sum":
            once = sifted(t)
            return tidied(once) if once is not None else number_out(t)
        if t.op == "mul":
            return multiplied(t.args)
        if t.op == "div":
            return multiplied((t,))
        if t.op == "add":
            return added(t.args)
        if t.op == "neg" and t.args[0].op == "neg":
            return t.args[0].args[0]
        if t.op == "where" and t.args[1] is t.args[2]:
            return t.args[1]
        return delta_out(t) if t.op == "where" else None

    return transform(clean(term), rule)


def added(terms: Iterable[Term]) -> Term:
    """A sum with terms that differ by a number put together."""
    values: dict[Term, Fraction] = {}
    for t in terms:
        value, core = Fraction(1), t
        if core.op == "neg":
            value, core = -value, core.args[0]
        if core.op == "num":
            value, core = value * core.value, ONE
        elif core.op == "mul" and core.args[0].op == "num":
            value, core = value * core.args[0].value, multiplied(core.args[1:])
        values[core] = values.get(core, Fraction(0)) + value
    return add(*(multiplied((num(v), core)) for core, v in values.items() if v))


def number_out(t: Term) -> Term | None:
    """A sum with the number that stands before its terms in front."""
    body, sign = t.args[0], 1
    if body.op == "neg":
        body, sign = body.args[0], -1
    if body.op == "mul" and body.args[0].op == "num":
        rest = make("sum", (multiplied(body.args[1:]), t.args[1]), None, t.bound)
        return multiplied([body.args[0], rest] if sign > 0 else [MINUS_ONE, body.args[0], rest])
    return neg(make("sum", (body, t.args[1]), None, t.bound)) if sign < 0 else None


def delta_out(t: Term) -> Term | None:
    """A case distinction with a delta that all its parts have in front."""
    condition, *parts = t.args
    rows = [factors_of(p) for p in parts if p is not NOUGHT]
    shared = [f for f in rows[0] if f.op == "delta" and all(f in row for row in rows)] if rows else []
    if not shared:
        return None
    left = [NOUGHT if p is NOUGHT else without(p, shared[0]) for p in parts]
    return mul(shared[0], where(condition, *left))


def without(term: Term, factor: Term) -> Term:
    row = factors_of(term)
    return multiplied([f for f, e in row.items() for _ in range(e - (f is factor))])


def multiplied(factors: Iterable[Term]) -> Term:
    """A product with one number and one sign in front, one fraction, and a case that is 0 elsewhere around the rest."""
    value, top, bottom, case = Fraction(1), [], [], None
    stack = list(factors)[::-1]
    while stack:
        f = stack.pop()
        if f.op == "mul":
            stack += f.args[::-1]
        elif f.op == "num":
            value *= f.value
        elif f.op == "neg":
            value = -value
            stack.append(f.args[0])
        elif f.op == "div":
            stack.append(f.args[0])
            for g in f.args[1].args if f.args[1].op == "mul" else (f.args[1],):
                if g.op == "num" and g.value:
                    value /= g.value
                else:
                    bottom.append(g)
        elif f.op == "where" and f.args[1:] == (ONE, NOUGHT) and case is None:
            case = f.args[0]
        else:
            top.append(f)
    if value == 0:
        return NOUGHT
    for f in [f for f in top if f.op == "fn" and f.value == "sign" and f.args[0] in top]:  # x sign(x) is |x|
        if f in top and f.args[0] in top:
            top[top.index(f.args[0])] = fn("abs", f.args[0])
            top.remove(f)
    size = abs(value)
    if size.numerator != 1 or not top:
        top.insert(0, num(size.numerator))
    if size.denominator != 1:
        bottom.insert(0, num(size.denominator))
    result = mul(*powers(top))
    result = div(result, mul(*powers(bottom))) if bottom else result
    result = neg(result) if value < 0 else result
    return result if case is None else where(case, result, NOUGHT)


def powers(factors: list[Term]) -> list[Term]:
    """Equal factors as powers."""
    counts: dict[Term, int] = {}
    for f in factors:
        counts[f] = counts.get(f, 0) + 1
    found: list[Term] = []
    for f, e in counts.items():
        found += [f] * e if f.op == "num" else [f if e == 1 else power(f, num(e))]
    return found


def gathered(term: Term) -> Term:
    """A sum with the factors that all its terms share in front."""
    if term.op != "add":
        return term
    rows = [factors_of(a) for a in term.args]
    shared = dict(rows[0])
    for row in rows[1:]:
        shared = {f: min(e, row[f]) for f, e in shared.items() if f in row}
    shared = {f: e for f, e in shared.items() if f is not MINUS_ONE}
    if not shared:
        return term
    left = []
    for row in rows:
        rest = [f for f, e in row.items() for _ in range(e - shared.get(f, 0))]
        left.append(multiplied(rest))
    return multiplied([*(f for f, e in shared.items() for _ in range(e)), add(*left)])


def factors_of(term: Term) -> dict[Term, int]:
    """The factors of a product with their multiplicities; a divisor as one over it."""
    found: dict[Term, int] = {}
    stack = [term]
    while stack:
        t = stack.pop()
        if t.op == "mul":
            stack += t.args
        elif t.op == "neg":
            stack += [MINUS_ONE, t.args[0]]
        elif t.op == "div":
            stack.append(t.args[0])
            found_bottom = factors_of(t.args[1])
            for f, e in found_bottom.items():
                one = div(ONE, f)
                found[one] = found.get(one, 0) + e
        elif t.op == "pow" and t.args[1].op == "num" and t.args[1].value.denominator == 1 and t.args[1].value > 0:
            found[t.args[0]] = found.get(t.args[0], 0) + int(t.args[1].value)
        elif t is not ONE:
            found[t] = found.get(t, 0) + 1
    return found


def shortened(nf: Normal, term: Term) -> Term:
    """The term with functions for their values, and the user's names for theirs."""
    definitions = sorted(nf.context.definitions.values(), key=lambda d: -d.body.size)

    def rule(t: Term) -> Term | None:
        for d in definitions:
            if t.op == d.body.op and t.value == d.body.value and t.size == d.body.size:
                pools = [[k for k in t.letters if k.value[1] == letter.value[1]] for letter in d.letters]
                for choice in cartesian(*pools):
                    if alike(substitute(d.body, dict(zip(d.letters, choice, strict=True))), t):
                        return defined(d.name, *choice)
            elif t.op == "fn" and not d.letters and t.value in FOLDED and same(nf, d.body, t):
                return defined(d.name)
        return function_for(t)

    def walk(t: Term) -> Term:  # from the outside in, so that the largest name is found first
        new = rule(t)
        if new is not None:
            return new
        return rebuild(t, [walk(a) for a in t.args]) if t.args and t.op != "def" else t

    return walk(term)


def same(nf: Normal, left: Term, right: Term) -> bool:
    try:
        return nf.poly(left) == nf.poly(right)
    except Rejected:
        return False


def function_for(t: Term) -> Term | None:
    """sigmoid and softplus for what they stand for."""
    if t.op == "div":
        top, bottom = t.args
        u = one_plus_exp(bottom)
        if u is not None and top is ONE:
            return fn("sigmoid", u.args[0] if u.op == "neg" else neg(u))
        if u is not None and top is fn("exp", u):
            return fn("sigmoid", u)
    if t.op == "fn" and t.value == "log":
        u = one_plus_exp(t.args[0])
        return None if u is None else fn("softplus", u)
    return None


def one_plus_exp(t: Term) -> Term | None:
    """u of 1 + exp(u) as it is written."""
    if t.op == "add" and len(t.args) == 2 and ONE in t.args:
        other = t.args[1] if t.args[0] is ONE else t.args[0]
        if other.op == "fn" and other.value == "exp":
            return other.args[0]
    return None

"""Conditions, deltas and pieces in normal form: 0-1 atoms, what they do to the other factors, and case by case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial, reduce
from typing import TYPE_CHECKING

from derive.kernel import powers, sums
from derive.kernel.poly import CASES, UNIT, Mono, Poly, add_to, constant, key, letter_key, mono_key, scaled, threshold
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, NEG, POS, RELATION, ZERO, difference, nonempty, numbers, sign, split
from derive.kernel.wellformed import subscript_axis
from derive.term import FALSE, TRUE, Term, add, both, cmp, delta, fn, mul, negation, over, substitute, subterms, where

if TYPE_CHECKING:
    from derive.kernel.normal import Normal


MAX_CASES = 6  # 0-1 atoms of one expression that are told apart


def complement(indicator: Poly) -> Poly:
    """1 where the indicator is 0, and 0 where it is 1."""
    return add_to({UNIT: 1}, indicator, -1)


def cases(nf: Normal, poly: Poly) -> Term | None:
    """An indicator, delta or bit on which the polynomial depends outside of other atoms; None if there are many."""
    found = {a for m in poly for a, _ in m if a.op in CASES or (a.op == "var" and nf.is_bit(a))}
    return min(found, key=key) if 0 < len(found) <= MAX_CASES else None


def told_apart(nf: Normal, poly: Poly) -> Poly | None:
    """The polynomial with [t = argmax f] as the product over k != t of [f(k) < f(t)], where the maximum is known to be
    attained once; None where there is no such case."""
    for atom in sorted({a for m in poly for a, _ in m if a.op == "delta"}, key=key):
        for best, t in (atom.args, atom.args[::-1]):
            if best.op != "argmax" or best.args[1] is not TRUE or len(best.bound) != 1:
                continue
            (k,) = sums.unused(nf, best.bound, atom.letters.union(*(p[0].letters for m in poly for p in m)))
            at_k, at_t, at_best = (substitute(best.args[0], {best.bound[0]: place}) for place in (k, t, best))
            others = nf.under(cmp("!=", k, best))
            if others is not None and not others.compare(cmp("<", at_k, at_best)) & ~NEG:
                lower = nf.poly(over("prod", where(cmp("<", at_k, at_t), 1, 0), k, where=cmp("!=", k, t)))
                total: Poly = {}
                for mono, c in poly.items():
                    rest = nf.finish(mono - {(atom, 1)})
                    add_to(total, nf.mul(rest, lower) if (atom, 1) in mono else rest, c)
                return total
    return None


def by_cases(nf: Normal, poly: Poly, f: Callable[[Normal, Poly], Poly]) -> Poly:
    """f of a polynomial in 0-1 atoms, as the sum over their values: each value of f behind its indicator."""
    atom = nf.cases(poly)
    assert atom is not None
    indices = atom.op != "where" or atom.args[0].value == "<"
    test = TRUE if indices else atom.args[0]
    chosen = nf.poly(atom)
    total: Poly = {}
    for value, indicator in ((1, chosen), (0, complement(chosen))):
        here = nf.under(test if value or indices else negation(test))
        if here is not None and indicator:
            part: Poly = {}
            for mono, c in poly.items():
                if value or (atom, 1) not in mono:
                    add_to(part, {mono - {(atom, 1)}: c})
            add_to(total, nf.mul(indicator, f(here, part)))
    return total


def branches(nf: Normal, term: Term) -> Poly:
    """`where` as [condition] * then + (1 - [condition]) * else, each part simplified where it is taken."""
    condition, then, other = term.args
    chosen = nf.condition(condition)
    value = constant(chosen)
    if value is not None:
        return nf.poly(then if value else other)
    yes, no = nf.under(condition), nf.under(negation(condition))
    total = nf.mul(chosen, yes.poly(then)) if yes else {}
    return add_to(dict(total), nf.mul(complement(chosen), no.poly(other)) if no else {})


def condition(nf: Normal, term: Term) -> Poly:
    """The condition's indicator: 1 where it holds, else 0."""
    op, args = term.op, term.args
    if op == "true":
        return {UNIT: 1}
    if op == "cmp":
        return comparison(nf, term)
    if op == "holds":
        return complement(nf.zero(nf.poly(args[0])))
    if op == "and":
        return reduce(nf.mul, map(nf.condition, args))
    if op == "all":
        return nf.poly(over("prod", where(both(args[1], negation(args[0])), 0, 1), *term.bound))
    if op in ("false", "not", "or", "any"):
        return complement(nf.condition(negation(term)))
    raise Rejected(f"{op} is not a condition")


def comparison(nf: Normal, term: Term) -> Poly:
    relation = term.value
    left, right = term.args
    indices = nf.index_like(left, right)
    if relation in ("==", "!="):
        one = nf.delta(left, right) if indices else nf.zero(nf.poly(difference(term)))
        return one if relation == "==" else complement(one)
    if relation in ("<", "<="):
        left, right = right, left
    if indices:
        above = order(nf, right, left)
        return add_to(dict(above), nf.delta(left, right)) if relation in ("<=", ">=") else above
    gap = nf.poly(left - right)
    return complement(nf.positive(scaled(gap, -1))) if relation in ("<=", ">=") else nf.positive(gap)


def in_order(nf: Normal, u: Poly) -> Term | None:
    """u > 0 as a condition on indices where it is one: j + 1 - k > 0 is k <= j, and n - k > 0 is true."""
    places = {c: a for m, c in u.items() if len(m) == 1 for a, e in m if e == 1}
    if places.keys() != {1, -1} or len(u) != 2 + (UNIT in u):
        return None
    (low, from_), (high, to) = (
        (t, t.value if t.op == "size" else subscript_axis(t, nf.context) if nf.index_like(t) else t)
        for t in (places[-1], places[1])
    )
    count = u.get(UNIT, 0)
    if from_ != to:
        return None
    if low.op == "size":
        return FALSE if count <= 1 else None
    if high.op == "size":
        return TRUE if count >= 0 else None
    return cmp("<" if count == 0 else "<=", low, high) if count in (0, 1) else None


def tidied(nf: Normal, part: Term) -> Term:
    """A part of a filter with indices compared where it compares numbers, and nothing where it is certain."""
    if part.op != "cmp" or part.value in ("==", "!=") or nf.index_like(*part.args):
        return part
    strict, u = len(part.value) == 1, nf.poly(difference(part))
    one = scaled(u, 1 if strict == (part.value[0] == ">") else -1)  # `a <= b` where not a > b
    value = constant(nf.positive(one))
    found = nf.in_order(one) if value is None else TRUE if value else FALSE
    return part if found is None else found if strict else negation(found)


def delta_of(nf: Normal, i: Term, j: Term) -> Poly:
    i, j = nf.subscript(i), nf.subscript(j)
    if i is j:
        return {UNIT: 1}
    if i.op == "num" and j.op == "num":
        return {}
    if "num" not in (i.op, j.op) and subscript_axis(i, nf.context) != subscript_axis(j, nf.context):
        raise Rejected("delta of indices of different axes")
    for g in nf.guards:
        if g.op == "cmp" and {g.args[0], g.args[1]} == {i, j} and g.value in ("==", "!=", "<", ">"):
            return {UNIT: 1} if g.value == "==" else {}
    if nf.after.get(i) is j or nf.after.get(j) is i:
        return {}
    return nf.atom(delta(*sorted((i, j), key=letter_key)))


def order(nf: Normal, i: Term, j: Term) -> Poly:
    """[i < j], turned so that the letter that comes first stands at the left."""
    i, j = nf.subscript(i), nf.subscript(j)
    if i is j:
        return {}
    if j in nf.after:  # i < p + 1
        return add_to(dict(order(nf, i, nf.after[j])), nf.delta(i, nf.after[j]))
    if i in nf.after:  # p + 1 < j
        return add_to(dict(order(nf, nf.after[i], j)), nf.delta(i, j), -1)
    signs = sign(nf, j - i)
    if signs == POS or not signs & POS:
        return {UNIT: 1} if signs == POS else {}
    if letter_key(i) < letter_key(j):
        return nf.atom(where(cmp("<", i, j), 1, 0))
    return add_to(complement(order(nf, j, i)), nf.delta(i, j), -1)


def unless(nf: Normal, u: Poly) -> tuple[Poly, int]:
    """The indicator that two letters are equal, where u is 0, and by a fact the signs of u where they are not."""
    term = nf.term(u)
    for fact in nf.facts.get(key(term)[0], ()):
        mapping = nf.instance(fact, term) if len(fact.guards) == 1 else None
        guard = substitute(fact.guards[0], mapping) if mapping is not None else TRUE
        if guard.op == "cmp" and guard.value == "!=" and all(t.op == "index" for t in guard.args):
            one, other = guard.args
            if guard.letters <= term.letters and one is not other and not nf.rename(term, {one: other}):
                return nf.delta(one, other), fact.signs
    return {}, ANY


def positive(nf: Normal, u: Poly) -> Poly:
    """[u > 0]."""
    value = constant(u)
    if value is not None:
        return {UNIT: 1} if value > 0 else {}
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.positive(part))
    signs = sign(nf, nf.term(u))
    if signs == POS:
        return {UNIT: 1}
    if not signs & POS:
        return {}
    if (found := in_order(nf, u)) is not None:
        return nf.condition(found)
    same, above = nf.unless(u)
    if not above & ~POS:
        return complement(same)
    u = bare(nf, u)
    if not signs & NEG:  # u >= 0
        return complement(nf.zero(u))
    scale, content, rest = powers.parts(nf, u)
    for a, e in sorted(content, key=lambda p: key(p[0])):
        if e == 1 and len(content) == len(rest) == 1:
            break
        if isinstance(e, int):  # a product is positive where both factors are, or the negatives of both
            up, down = nf.positive(nf.poly(a)), nf.positive(scaled(nf.poly(a), -1))
            up, down = (up, down) if e % 2 else (add_to(dict(up), down), {})
        else:  # a real power: positive or 0
            up, down = nf.atom(where(cmp(">", a**e, 0), 1, 0)), {}
        others = scaled(nf.mul({content - {(a, e)}: 1}, rest), scale)
        below = nf.mul(down, nf.positive(scaled(others, -1))) if down else {}
        return add_to(dict(nf.mul(up, nf.positive(others))), below)
    lead = threshold(u)
    if lead < 0:
        return add_to(complement(nf.positive(scaled(u, -1))), nf.zero(u), -1)
    return nf.atom(where(cmp(">", nf.term(scaled(u, Fraction(1) / lead)), 0), 1, 0))


def zero(nf: Normal, u: Poly) -> Poly:
    """[u = 0]."""
    value = constant(u)
    if value is not None:
        return {} if value else {UNIT: 1}
    if nf.cases(u) is not None:
        return nf.by_cases(u, lambda here, part: here.zero(part))
    signs = sign(nf, nf.term(u))
    if not signs & ZERO:
        return {}
    if signs == ZERO and nf.steady:
        return {UNIT: 1}
    if (found := in_order(nf, u)) is not None and found.value == "<":
        return nf.delta(*found.args)
    same, apart = nf.unless(u)
    if not apart & ZERO:
        return same
    u = bare(nf, u)
    _, content, rest = powers.parts(nf, u)
    factors = [a for a, _ in sorted(content, key=lambda p: key(p[0]))] + [nf.term(rest)] * (len(rest) > 1)
    if len(factors) == 1 and all(e == 1 for _, e in content):
        return nf.atom(where(cmp("==", nf.term(scaled(u, Fraction(1) / threshold(u))), 0), 1, 0))
    return complement(reduce(nf.mul, (complement(nf.zero(nf.poly(a))) for a in factors), {UNIT: 1}))


def bare(nf: Normal, u: Poly) -> Poly:
    """u without positive factors; a difference of exponentials becomes that of the exponents."""
    try:
        scale, mono, rest = powers.parts(nf, u, positive=True)
    except powers.Vanishes:
        return {}
    side = 1 if scale > 0 else -1
    if rest == {UNIT: 1}:
        return {frozenset((a, e) for a, e in mono if sign(nf, a) != POS): side}
    u = scaled(rest, side)
    gap = exponents_gap(nf, u)
    return u if gap is None else bare(nf, gap) if len(gap) > 1 else gap


def exponents_gap(nf: Normal, u: Poly) -> Poly | None:
    """p - q where u is e^p - e^q."""
    if sorted(u.values()) != [-1, 1] or not all(a.op == "fn" and a.value == "exp" for m in u for a, _ in m):
        return None
    gap: Poly = {}
    for mono, c in u.items():
        for a, e in mono:
            add_to(gap, nf.poly(a.args[0]), c * e)
    return gap


def sided(nf: Normal, u: Poly) -> Poly:
    """sign(u)."""
    return add_to(dict(nf.positive(u)), nf.positive(scaled(u, -1)), -1)


def case_laws(nf: Normal, mono: Mono, cases: list[Term]) -> Poly | None:
    """What deltas and indicators do to the other factors of a monomial; None where nothing is to be done."""
    for a in cases:
        law = delta_law if a.op == "delta" else zero_law if a.args[0].value == "==" else None
        result = law and law(nf, a, mono - {(a, 1)})
        if result is not None:
            return result
    return None


def delta_law(nf: Normal, a: Term, rest: Mono) -> Poly | None:
    """delta(i, j) f(j) is delta(i, j) f(i); an entry of an index array gives way to a letter."""
    old, new = a.args[::-1] if a.args[1].op == "index" else a.args
    if new.op == "var" or old.op == "var":
        old, new = (new, old) if new.op == "var" else (old, new)
        return exchanged(nf, a, rest, old, new) if new.op == "index" else None
    return exchanged(nf, a, rest, old, new) if old.op == "index" and old not in new.letters else None


def zero_law(nf: Normal, a: Term, rest: Mono) -> Poly | None:
    """[u = 0] f is [u = 0] f at u = 0. Under a derivative only what needs no look at f."""
    u = a.args[0].args[0]
    if not nf.steady:
        return None
    if any(b is u for b, _ in rest):
        return {}
    entry = solved(nf, u)
    return None if entry is None else exchanged(nf, a, rest, *entry)


def exchanged(nf: Normal, a: Term, rest: Mono, old: Term, new: Term) -> Poly | None:
    """The monomial, beside the indicator a, with a letter or an entry written exactly so replaced by an equal term;
    None where it holds none. Nothing is put into a mean."""

    def put(b: Term) -> Term:
        return substitute(b, {old: new}) if old.op == "index" else sums.swap_entry(b, old, new)

    if all(put(b) is b for b, _ in rest):
        return None
    powered = (nf.power(nf.poly(put(b)), {UNIT: e}) for b, e in rest)
    return nf.mul(nf.atom(a), reduce(nf.mul, powered, {UNIT: 1}))


def solved(nf: Normal, u: Term) -> tuple[Term, Term] | None:
    """An entry and the term it equals where u is 0: u = c * entry + rest, the entry not in the rest."""
    poly = nf.poly(u)
    for mono in sorted(poly, key=lambda m: (any(t.op == "argmax" for a, _ in m for t in a.args), mono_key(m))):
        if len(mono) == 1:
            ((a, e),) = mono
            if e == 1 and a.op == "var" and not nf.is_bit(a):
                rest = scaled({m: c for m, c in poly.items() if m is not mono}, -1 / Fraction(poly[mono]))
                if not any(a in subterms(b) for m in rest for b, _ in m):
                    return a, nf.term(rest)
    return None


def is_bit(nf: Normal, atom: Term) -> bool:
    declaration = nf.context.declarations.get(atom.value)
    if declaration is None or atom.value in nf.loose:
        return False
    return declaration.kind == "bit" or bool(declaration.law and declaration.law.family == "bernoulli")


# -- what is known -----------------------------------------------------------------------------------------------------


def holds(nf: Normal, condition: Term) -> bool:
    """Whether the condition is known: among the guards, by signs, by its indicator, or `a or b` as a where b is not."""
    return all(part in nf.guards or part_holds(nf, part) for part in split(condition))


def part_holds(nf: Normal, part: Term) -> bool:
    part = numbers(part)
    if part.op == "cmp":
        return part.value in RELATION and not nf.compare(part) & ~RELATION[part.value]
    if part.op == "or" and any((here := nf.under(others)) is None or here.holds(c) for c, others in ways(part)):
        return True
    some = part.op == "any" and nonempty(nf, part.bound, both(*part.args))
    return some or constant(nf.condition(part)) == 1


def ways(some: Term) -> Iterator[tuple[Term, Term]]:
    """Conditions that say what an `or` or `any` does, each where another one holds; those of an `or` are all its parts.

    Comparisons of one kind are one: a product is 0, squares add up to more than 0, the greatest difference is at least
    0, or above it. Of other conditions those that hold are more than none.
    """
    tests, filter_ = (some.args, TRUE) if some.op == "or" else (some.args[:1], some.args[1])
    for c in tests if some.op == "or" else ():
        yield c, both(*(negation(d) for d in tests if d is not c))
    kinds = {t.value.replace("<", ">") if t.op == "cmp" else "" for t in tests}
    kind = min(kinds) if len(kinds) == 1 and (filter_ is TRUE or not kinds & {">", ">="}) else ""
    if kind:
        gaps = [-difference(t) if "<" in t.value else difference(t) for t in tests]
        gaps = [gap**2 for gap in gaps] if kind == "!=" else gaps
        op, joined = {"==": ("prod", mul), "!=": ("sum", add)}.get(kind, ("max", partial(fn, "max")))
        whole = reduce(joined, gaps) if some.op == "or" else over(op, *gaps, *some.bound, where=filter_)
        yield cmp(kind.replace("!=", ">"), whole, 0), TRUE
    if some.op == "any" and filter_ is TRUE and kind == "!=":
        yield cmp(">", over("max", fn("abs", difference(tests[0])), *some.bound), 0), TRUE
    if some.op == "any" and kind in ("", "=="):
        yield cmp(">", over("sum", 1, *some.bound, where=both(filter_, *tests)), 0), TRUE


def compare(nf: Normal, condition: Term) -> int:
    """The signs that left - right can have."""
    left, right = condition.args
    if left is right:
        return ZERO
    gap = difference(condition)
    if not (nf.index_like(left) and nf.index_like(right)):
        signs = sign(nf, gap)
        if not signs & ~RELATION[condition.value]:  # by its form, before anything is multiplied out
            return signs
    if constant(nf.condition(condition)) == 1:
        return RELATION[condition.value]
    return sign(nf, gap) & sign(nf, nf.canonical(gap))

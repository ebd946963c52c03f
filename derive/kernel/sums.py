"""Sums, products and extrema over axes, in normal form.

A sum atom holds one connected component: factors that share bound letters. Its letters are named after its height, so
that substitution never captures and inner binders are never renumbered. Which of several letters comes first is told
by their places; a bad choice misses an equality and cannot make one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.kernel import powers
from derive.kernel.poly import UNIT, Exponent, Mono, Poly, add_to, components, joined, key, leading, letter_key, scaled
from derive.kernel.proof import Rejected
from derive.kernel.signs import NEG, POS, ZERO, sign, split
from derive.term import FALSE, TRUE, Term, both, cmp, fn, index, make, num, over, rebuild, size, substitute, subterms

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

MAX_DEPTH = 60  # of sums opened inside sums

_heights: dict[Term, int] = {}


def height(term: Term) -> int:
    """A number above those of all canonical binders in the term."""
    found = _heights.get(term)
    if found is None:
        inner = max((height(a) for a in term.args), default=0)
        found = _heights[term] = max([inner + bool(term.bound), *(n + 1 for n in numbers(term.bound))])
    return found


def numbers(letters: Iterable[Term]) -> set[int]:
    """The numbers of those letters that canonical binders bind."""
    return {int(k.value[0][1:].split(".")[0]) for k in letters if k.value[0][0] == "$"}


def opened(nf: Normal, term: Term) -> tuple[tuple[Term, ...], Term, Term]:
    """The letters, body and filter of a binder, with letters `@0`, `@1`, … free neither in it nor in a known fact."""
    letters = unused(nf, term.bound, term.letters)
    mapping = dict(zip(term.bound, letters, strict=True))
    body, filter_ = (substitute(a, mapping) for a in term.args)
    return letters, body, both(*(nf.tidied(p) for p in split(filter_)))


def unused(nf: Normal, bound: tuple[Term, ...], taken: frozenset[Term]) -> tuple[Term, ...]:
    """New letters for the bound ones. A letter that a guard speaks of is never used again: it is another letter."""
    first = max((int(t.value[0][1:]) + 1 for t in taken | nf.guarded if t.value[0][0] == "@"), default=0)
    return tuple(index(f"@{first + p}", k.value[1]) for p, k in enumerate(bound))


def level_above(nf: Normal, *terms: Term) -> int:
    """The number of a canonical binder around the terms, above any that a guard speaks of, and of no letter in them."""
    first = max([*map(height, terms), *(n + 1 for n in numbers(nf.guarded))], default=0)
    outside = numbers(frozenset().union(*(t.letters for t in terms)))
    return min(set(range(first, first + len(outside) + 1)) - outside)


def filtered_sum(nf: Normal, letters: tuple[Term, ...], body: Poly, filter_: Term) -> Poly:
    return sum_over(nf, letters, nf.mul(nf.condition(filter_), body))


def sum_over(nf: Normal, letters: tuple[Term, ...] | frozenset[Term], poly: Poly) -> Poly:
    """The sum of the polynomial over the letters."""
    total: Poly = {}
    for mono, c in poly.items():
        add_to(total, _sum_mono(nf, frozenset(letters), mono), c)
    return total


def _sum_mono(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly:
    if not letters:
        return nf.finish(mono)
    slot = (letters, mono)
    found = nf.sums.get(slot)
    if found is None:
        if nf.tick is not None:
            nf.tick()
        nf.depth += 1
        try:
            if nf.depth > MAX_DEPTH:
                raise Rejected("sums fall apart and together without end")
            found = nf.sums[slot] = _sum_one(nf, letters, mono)
        finally:
            nf.depth -= 1
    return found


def _sum_one(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly:
    ordered = sorted(mono, key=lambda p: key(p[0])) if len(mono) > 1 else list(mono)
    for a, e in ordered:  # sift: a sum over k of delta(k, j) f(k) is f(j)
        if a.op == "delta" and e == 1:
            for old, new in (a.args[::-1], a.args):
                if old in letters and old not in new.letters:
                    return sum_over(nf, letters - {old}, nf.rename_mono(mono - {(a, e)}, {old: new}))
    # A product of sums that share a letter is one sum over all their letters.
    addends = with_addend(nf, letters, mono, lambda a: not a.letters.isdisjoint(letters))
    if addends is not None:
        return sum_over(nf, letters | set(addends[0]), addends[1])
    for a, e in ordered:  # a letter that stands in one order only is counted, in two by the nearer end
        if a.op == "where" and a.args[0].value == "<" and e == 1:
            for k, end in (a.args[0].args, a.args[0].args[::-1]):
                beside = [p for p in mono if p[0] is not a and k in p[0].letters]
                if k not in letters or not _place(end, k):
                    continue
                other = _same_side(beside[0], a, k) if len(beside) == 1 else None
                if other is not None:
                    nearer = nf.condition(cmp("<", *((end, other) if k is a.args[0].args[0] else (other, end))))
                    first = sum_over(nf, letters, nf.mul(nf.finish(mono - {beside[0]}), nearer))
                    rest = add_to({UNIT: 1}, nearer, -1)
                    return add_to(dict(first), sum_over(nf, letters, nf.mul(nf.finish(mono - {(a, e)}), rest)))
                if not beside:
                    count = nf.poly(end)
                    if k is a.args[0].args[1]:  # those after the end
                        count = add_to(add_to(dict(nf.poly(size(k.value[1]))), count, -1), {UNIT: -1})
                    return sum_over(nf, letters - {k}, nf.mul(nf.finish(mono - {(a, e)}), count))
    outside = frozenset(p for p in mono if letters.isdisjoint(p[0].letters))
    result = nf.finish(outside)
    for k in letters.difference(*(a.letters for a, _ in mono)):
        result = nf.mul(result, nf.poly(size(k.value[1])))
    for reached, part in components(mono - outside, lambda a: letters & a.letters):
        result = nf.mul(result, _close(nf, reached, part))
    return result


def _same_side(factor: tuple[Term, Exponent], order: Term, k: Term) -> Term | None:
    """The end of a second order on the same side of k as the first one, if the factor is one."""
    (a, e), place = factor, 0 if order.args[0].args[0] is k else 1
    if a.op != "where" or e != 1 or a.args[0].value != "<" or a.args[0].args[place] is not k:
        return None
    end = a.args[0].args[1 - place]
    return end if _place(end, k) else None


def _place(end: Term, k: Term) -> bool:
    """Whether the term is one place on the axis for all k: a number may lie beyond, and some move with k."""
    return end.op in ("index", "argmax") and k not in end.letters


def with_addend(
    nf: Normal, letters: frozenset[Term], mono: Mono, chosen: Callable[[Term], bool]
) -> tuple[tuple[Term, ...], Poly] | None:
    """The monomial with the addend of a chosen sum in place of it, at new letters; None where there is none."""
    for a, e in sorted(mono, key=lambda p: key(p[0])):
        if a.op == "sum" and isinstance(e, int) and e > 0 and chosen(a):
            new = unused(nf, a.bound, letters.union(*(b.letters for b, _ in mono)))
            body = nf.poly(substitute(a.args[0], dict(zip(a.bound, new, strict=True))))
            return new, nf.mul(nf.finish(joined(mono, {(a, -1)})), body)
    return None


def _close(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly:
    """One connected component as a sum atom with canonical letters."""
    for found in (_halved(nf, letters, mono), _cancelled(nf, letters, mono), _mean_of_a_sum(nf, letters, mono)):
        if found is not None:
            return found
    level = level_above(nf, *(a for a, _ in mono))
    order, twins = _labelling(nf, letters, mono)
    new = tuple(index(f"${level}.{p}", k.value[1]) for p, k in enumerate(order))
    naming = dict(zip(order, new, strict=True))
    poly = nf.rename_mono(mono, naming)
    if twins is not None:
        i, j = twins
        if nf.rename_mono(mono, naming | {i: naming[j], j: naming[i]}) == scaled(poly, -1):  # the sum is minus itself
            return {}
    total: Poly = {}
    for m, c in poly.items():
        if connected(m, frozenset(new)):
            add_to(total, {frozenset({(make("sum", (nf.term({m: 1}), TRUE), None, new), 1)}): c})
        else:  # the renaming brought a delta
            add_to(total, _again(nf, new, m), c)
    return total


def _again(nf: Normal, letters: tuple[Term, ...], mono: Mono) -> Poly:
    """The sum of a monomial with canonical letters that falls apart: opened anew, so that inner letters come first."""
    taken = frozenset().union(*(p[0].letters for p in mono)) | frozenset(letters)
    new = unused(nf, letters, taken)
    return sum_over(nf, new, nf.rename_mono(mono, dict(zip(letters, new, strict=True))))


def connected(mono: Mono, letters: frozenset[Term]) -> bool:
    """Whether the factors hang together by the letters, all of them used and none tied by a delta."""
    ties = [p for a, _ in mono if a.op == "delta" for p in (a.args, a.args[::-1])]
    if any(old in letters and old not in new.letters for old, new in ties):
        return False
    return [reached for reached, _ in components(mono, lambda a: letters & a.letters)] == [letters]


def _halved(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly | None:
    """A sum over i < j of what is symmetric in i and j is half of the sum over i != j."""
    for a, e in mono:
        if a.op == "where" and a.args[0].value == "<" and e == 1:
            i, j = a.args[0].args
            if i in letters and j in letters:
                rest = frozenset(mono - {(a, e)})
                if nf.rename_mono(rest, {i: j, j: i}) == nf.finish(rest):
                    apart = add_to({UNIT: 1}, nf.delta(i, j), -1)
                    return scaled(sum_over(nf, letters, nf.mul(apart, nf.finish(rest))), Fraction(1, 2))
    return None


def _cancelled(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly | None:
    """With a sum in a denominator, what that is free of is summed first if it gives the same sum: x_ij / sum_k x_ik."""
    for a, e in mono:
        last = letters & a.letters
        if a.op == "sum" and e < 0 and last != letters:
            moving = frozenset(p for p in mono if not (letters - last).isdisjoint(p[0].letters))
            inner = sum_over(nf, letters - last, {moving: 1})
            if inner and all(any(b is a and x > 0 for b, x in m) for m in inner):
                return sum_over(nf, last, nf.mul(inner, nf.finish(mono - moving)))
    return None


def _mean_of_a_sum(nf: Normal, letters: frozenset[Term], mono: Mono) -> Poly | None:
    """Means that are summed, where the sum of what they are of is certain: weights that sum to 1."""
    from derive.kernel import moments

    if [(a.op, e) for a, e in mono] != [("E", 1)]:
        return None
    # A mean takes all values of its names, also in a case of them.
    total = sum_over(nf.averaged(), letters, nf.averaged().poly(next(iter(mono))[0].args[0]))
    return None if moments.random_names(nf, nf.term(total)) else total


def _labelling(nf: Normal, letters: frozenset[Term], mono: Mono) -> tuple[tuple[Term, ...], tuple[Term, Term] | None]:
    """The letters in an order that does not depend on their names, and two between which their names decided.

    One letter is put after the other: one that stands beside those put before, told apart by its places in the factors.
    """
    # Where sums over an order stand inside, the left letter of [i < j] comes first, so that renaming does not turn it
    # round: turned, it would bring back the inner sums without end. Elsewhere the other factors decide.
    orders = [a.args[0].args for a, _ in mono if a.op == "where" and a.args[0].value == "<"]
    if not any(t.op == "where" for a, _ in mono if a.op != "where" for t in subterms(a)):
        orders = []
    order: list[Term] = []
    left, twins = sorted(letters, key=lambda k: k.value[0]), None

    def shape(k: Term) -> tuple[int, int, list[str]]:
        place = sum(b is k for _, b in orders) - sum(a is k for a, _ in orders)
        beside = sum(k in a.letters and not a.letters.isdisjoint(order) for a, _ in mono)
        named = {**dict.fromkeys(letters, "."), **{j: str(p) for p, j in enumerate(order)}, k: "*"}
        return place, -beside, sorted(f"{k.value[1]}{_shaped(a, named)}^{e}" for a, e in mono)

    while len(left) > 1:
        shapes = {k: shape(k) for k in left}
        first, second, *_ = sorted(left, key=lambda k: shapes[k])
        if twins is None and shapes[first] == shapes[second]:
            twins = (first, second)
        order.append(first)
        left.remove(first)
    return (*order, *left), twins


def _shaped(term: Term, named: dict[Term, str]) -> str:
    """The term with these names for its letters, the order of commuting parts ignored."""
    if term.op == "index":
        return named.get(term, str(term.value[0]))
    if term.letters.isdisjoint(named):
        return key(term)[1]
    parts = [_shaped(a, named) for a in term.args]
    if term.op in ("add", "mul", "delta"):
        parts.sort()
    return f"{term.op}{term.value}({','.join(parts)})"


def product_over(nf: Normal, letters: tuple[Term, ...], body: Poly, filter_: Term) -> Poly:
    """The product of the body over the letters that satisfy the filter."""
    if filter_ is FALSE or body == {UNIT: 1}:
        return {UNIT: 1}
    if not body and filter_ is TRUE:
        return {}
    if len(letters) > 1:
        return _product_of_products(nf, letters, body, filter_)
    (k,) = letters
    how_many = nf.poly(over("sum", 1, k, where=filter_))
    if len(body) == 1:
        ((mono, c),) = body.items()
        result = _equal_factors(nf, k, {UNIT: c}, how_many, filter_)
        for a, e in mono:
            result = nf.mul(result, _power_product(nf, k, a, e, how_many, filter_))
        return result
    if not any(k in p[0].letters for m in body for p in m):
        return _equal_factors(nf, k, body, how_many, filter_)
    alone = next((a for m in body for a, _ in m if a.op == "delta" and k in a.args), None)
    if alone is not None:  # the factor at one place, and the others
        j = alone.args[1] if alone.args[0] is k else alone.args[0]
        if k not in j.letters:
            return _apart(nf, k, j, body, filter_)
    content, rest = powers.content(nf, body)
    scale = abs(Fraction(leading(rest))) if rest else Fraction(1)
    if content or scale != 1:  # the factor that all terms have
        rest = scaled(rest, 1 / scale)
        return nf.mul(product_over(nf, letters, {content: scale}, filter_), product_over(nf, letters, rest, filter_))
    return _product_atom(nf, k, nf.term(body), filter_)


def _product_of_products(nf: Normal, letters: tuple[Term, ...], body: Poly, filter_: Term) -> Poly:
    """A product over several letters, one inside the other."""
    (k, *rest), parts = letters, filter_.args if filter_.op == "and" else (filter_,)
    outside = both(*(p for p in parts if p.letters.isdisjoint(rest)))
    inside = both(*(p for p in parts if not p.letters.isdisjoint(rest)))
    return product_over(nf, (k,), product_over(nf, tuple(rest), body, inside), outside)


def _apart(nf: Normal, k: Term, j: Term, body: Poly, filter_: Term) -> Poly:
    """A product over k as the factor at j, where the filter lets it, times the product over the others."""

    term, others = nf.term(body), nf.under(cmp("!=", k, j))
    taken = nf.condition(substitute(filter_, {k: j}))
    once = add_to(add_to({UNIT: 1}, taken, -1), nf.mul(taken, nf.poly(substitute(term, {k: j}))))
    rest: Poly = others.poly(term) if others is not None else {UNIT: 1}
    return nf.mul(once, product_over(nf, (k,), rest, both(filter_, cmp("!=", k, j))))


def _equal_factors(nf: Normal, k: Term, factor: Poly, how_many: Poly, filter_: Term) -> Poly:
    """The product of a factor free of the letter: a power, if no count that is not seen to be an integer is odd."""
    if factor == {UNIT: 1} or powers.integral(nf, how_many) or sign(nf, term := nf.term(factor)) == POS:
        return nf.power(factor, how_many)
    return _product_atom(nf, k, term, filter_)


def _power_product(nf: Normal, k: Term, a: Term, e: Exponent, how_many: Poly, filter_: Term) -> Poly:
    """The product of a^e, its exponent free of the letter."""
    exponent: Poly = {UNIT: e}
    whole = isinstance(e, int)
    powered = a.op == "pow" and k not in a.args[1].letters and sign(nf, a.args[0]) != POS
    if whole and powered and powers.integral(nf, power := nf.poly(a.args[1])):
        a, exponent = a.args[0], nf.mul(power, exponent)
    if k not in a.letters:
        if (whole and powers.integral(nf, how_many)) or sign(nf, a) == POS:
            return nf.power(nf.poly(a), nf.mul(exponent, how_many))
    elif a.op == "fn" and a.value == "exp":
        return nf.power(nf.exp(nf.poly(over("sum", a.args[0], k, where=filter_))), exponent)
    elif a.op == "pow" and k not in a.args[0].letters and sign(nf, a.args[0]) == POS:
        return nf.power(nf.poly(a.args[0]), nf.mul(exponent, nf.poly(over("sum", a.args[1], k, where=filter_))))
    elif whole or not sign(nf, a) & NEG:  # sqrt(a) sqrt(b) is not sqrt(a b) below 0
        return nf.power(_product_atom(nf, k, a, filter_), exponent)
    return _product_atom(nf, k, nf.term({frozenset({(a, e)}): 1}), filter_)


def _product_atom(nf: Normal, k: Term, factor: Term, filter_: Term) -> Poly:
    """The product of one factor; a filter k != j is a division where the factor at j is known not to be 0."""
    parts = list(filter_.args) if filter_.op == "and" else [] if filter_ is TRUE else [filter_]
    for part in parts:
        shorter, last = until(nf, k, part)
        if shorter is not part and last is None:
            return _product_atom(nf, k, factor, both(*(shorter if p is part else p for p in parts)))
        if part.op != "cmp" or k not in part.args or part.value not in ("!=", "<=", ">="):
            continue
        j = part.args[1] if part.args[0] is k else part.args[0]
        there = substitute(factor, {k: j})
        if j.op != "index" or j is k or (part.value == "!=" and not nf.certain(nf.canonical(there))):
            continue
        strict = [] if part.value == "!=" else [cmp(part.value[0], *part.args)]
        left = [p for p in parts if p is not part]
        taken = nf.condition(both(*(substitute(p, {k: j}) for p in left)))
        # The factor at k = j, put in or taken out, where the rest of the filter lets it.
        once = nf.mul(taken, nf.power(nf.poly(there), {UNIT: -1 if part.value == "!=" else 1}))
        change = add_to(add_to(dict(once), {UNIT: 1}), taken, -1)
        return nf.mul(_product_atom(nf, k, factor, both(*left, *strict)), change)
    one = _closed_product(nf, k, factor, filter_)
    if factor.op != "prod" or len(factor.bound) > 1:
        return nf.atom(one)
    # Of two products, the one that comes first in the order of terms stands inside.
    (j,) = unused(nf, factor.bound, factor.letters | filter_.letters | {k})
    body, condition = (substitute(a, {factor.bound[0]: j}) for a in factor.args)
    parts = [p for f in (filter_, condition) for p in (f.args if f.op == "and" else (f,))]
    outside = both(*(p for p in parts if k not in p.letters))
    inside = both(*(p for p in parts if k in p.letters))
    within = nf.poly(_closed_product(nf, k, body, inside))
    turned = nf.term(within)
    if turned.op != "prod":  # its body is free of the letter
        return product_over(nf, (j,), within, outside)
    return nf.atom(min(one, _closed_product(nf, j, turned, outside), key=key))


def until(nf: Normal, k: Term, filter_: Term) -> tuple[Term, Term | None]:
    """A filter k < i or k <= i where i follows j as k <= j, k > j and k >= j as k >= i; what the second ones lose."""
    if filter_.op == "cmp" and filter_.value[0] in "<>":
        low, high = filter_.args if filter_.value[0] == "<" else filter_.args[::-1]
        if low is k and high in nf.after:
            return cmp("<=", k, nf.after[high]), high if filter_.value[1:] else None
        following = next((i for i, j in nf.after.items() if j is low and high is k), None)
        if following is not None:
            return cmp("<=", following, k), low if filter_.value[1:] else None
    return filter_, None


def _closed_product(nf: Normal, k: Term, factor: Term, filter_: Term) -> Term:
    bound, inner, condition = _canonical_binder(nf, (k,), factor, filter_)
    return make("prod", (inner, condition), None, bound)


def _canonical_binder(
    nf: Normal, letters: tuple[Term, ...], body: Term, filter_: Term
) -> tuple[tuple[Term, ...], Term, Term]:
    body = nf.canonical(body)
    level = level_above(nf, body, filter_)
    bound = tuple(index(f"${level}.{p}", k.value[1]) for p, k in enumerate(letters))
    mapping = dict(zip(letters, bound, strict=True))
    condition = substitute(filter_, mapping)
    if condition.op == "cmp" and condition.value == "!=":
        condition = cmp("!=", *sorted(condition.args, key=letter_key))
    elif condition.op == "cmp" and condition.value in (">", ">=") and nf.index_like(*condition.args):
        condition = cmp(condition.value.replace(">", "<"), *reversed(condition.args))
    elif condition.op in ("and", "or") or (condition.op == "cmp" and condition.value not in ("<", "<=")):
        # Filters that mean the same meet in the polynomial of their indicator.
        condition = cmp(">", nf.term(nf.condition(condition)), 0)
    return bound, nf.canonical(substitute(body, mapping)), condition


def extremum(nf: Normal, term: Term) -> Poly:
    """A maximum over an axis (a minimum is minus the maximum of the negative): what is free of the letter comes out."""
    flip = -1 if term.op == "min" else 1
    (k, *more), body, filter_ = opened(nf, term)
    shorter, last = until(nf, k, filter_)
    if shorter is not filter_ and not more:
        before = over(term.op, body, k, where=shorter)
        return nf.poly(before if last is None else fn(term.op, before, substitute(body, {k: last})))
    outside, factor, (bound, inner, condition) = _taken_out(nf, term, flip, POS | ZERO)
    if len(bound) == 1:  # the value at the least index that attains it
        atom = nf.rename(inner, {bound[0]: make("argmax", (inner, condition), None, bound)})
    else:
        atom = nf.atom(make("max", (inner, condition), None, bound)) if inner is not num(0) else {}
    return scaled(add_to(nf.mul(factor, atom), outside), flip)


def argmax(nf: Normal, term: Term) -> Term:
    """The canonical argmax: what is free of the letter, positive factors and functions that rise make no difference.

    An index at which the body is known to be above all others is the argmax itself.
    """
    bound, inner, condition = _taken_out(nf, term, 1, POS)[2]
    here = nf.under(condition) or nf
    while (below := risen(here, inner)) is not None:
        bound, inner, condition = _taken_out(nf, make("argmax", (below, condition), None, bound), 1, POS)[2]
    places = {k for f in nf.raw_facts for g in f.guards for k in g.args if k.op == "index" and k not in f.letters}
    for t in sorted(places, key=letter_key) if condition is TRUE else ():
        if t.value[1] == bound[0].value[1]:
            same, signs = nf.unless(nf.poly(inner - substitute(inner, {bound[0]: t})))
            if signs == NEG and same == nf.delta(bound[0], t):
                return t
    return make("argmax", (inner, condition), None, bound)


def risen(nf: Normal, body: Term) -> Term | None:
    """What the body is a rising function of: u or -u, for c e^u, c log(u) and c u^p, the last two for a positive u."""
    poly = nf.poly(body)
    if len(poly) != 1 or len(next(iter(poly))) != 1:
        return None
    (((a, e),), c) = next(iter(poly.items()))
    if e == 1 and a.op == "fn" and (a.value == "exp" or (a.value == "log" and sign(nf, a.args[0]) == POS)):
        return a.args[0] if c > 0 else -a.args[0]
    if e == 1 or not isinstance(e, int | Fraction) or sign(nf, a) != POS:
        return None
    return a if c * e > 0 else -a


def _taken_out(nf: Normal, term: Term, flip: int, signs: int) -> tuple[Poly, Poly, tuple[tuple[Term, ...], Term, Term]]:
    """What is free of the letters in an extremum's body, a factor of the rest with these signs, and the rest bound."""
    letters, body, filter_ = opened(nf, term)
    poly = scaled((nf.under(filter_) or nf).poly(body), flip)
    outside: Poly = {}
    factor: Poly = {UNIT: 1}
    if filter_ is TRUE:
        outside = {m: c for m, c in poly.items() if all(frozenset(letters).isdisjoint(p[0].letters) for p in m)}
        poly = {m: c for m, c in poly.items() if m not in outside}
    if filter_ is TRUE and poly:
        free, poly = without_factors(nf, letters, poly, signs)
        lead = abs(Fraction(leading(poly)))
        poly, factor = scaled(poly, 1 / lead), scaled({free: 1}, lead)
    return outside, factor, _canonical_binder(nf, letters, nf.term(poly), filter_)


def without_factors(nf: Normal, letters: tuple[Term, ...], poly: Poly, signs: int) -> tuple[Mono, Poly]:
    """The factors common to all terms that are free of the letters and have these signs, and the polynomial without."""
    common = frozenset.intersection(*poly)
    free = frozenset(p for p in common if set(letters).isdisjoint(p[0].letters) and not sign(nf, p[0]) & ~signs)
    return free, {m - free: c for m, c in poly.items()}


def swap_entry(term: Term, entry: Term, by: Term) -> Term:
    """The term with one entry, written exactly so, replaced by an equal term. No bound letter stands in the entry."""
    if term is entry:
        return by
    if not term.args or entry.value not in term.names:
        return term
    if term.bound and (not entry.letters.isdisjoint(term.bound) or not by.letters.isdisjoint(term.bound)):
        return term
    if term.op in ("diff", "at", "limit", "E", "Var", "Cov"):
        return term
    return rebuild(term, [swap_entry(a, entry, by) for a in term.args])

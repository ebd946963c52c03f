"""Expectation in normal form: linearity, independence by name, joint cumulants, and a few exact laws.

Two random names are independent; so are the entries of one name at different subscripts. E of a product of entries is
the sum over all partitions of its factors into blocks of (cumulant) x (all subscripts of the block equal), so that no
case has to be told apart by hand. What has no rule stays an atom E(...).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import product
from math import comb
from operator import or_
from typing import TYPE_CHECKING

from derive.kernel import densities, sums
from derive.kernel.context import Declaration, Law
from derive.kernel.poly import UNIT, Mono, Poly, add_to, components, key, scaled
from derive.kernel.proof import Rejected
from derive.kernel.signs import ANY, NEG, POS, ZERO, sign
from derive.term import PI, TRUE, Term, add, cmp, fn, make, mul, num, over, substitute, subterms, var

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

MAX_DEGREE = 9  # of the entries of one name in one product; beyond, partitions are too many


# The values that a random name can have and how likely each is, where they are finitely many.
POINTS: dict[str, Callable[..., tuple[tuple[Term, Term], ...]]] = {
    "bernoulli": lambda p: ((num(1), p), (num(0), 1 - p)),
    "rademacher": lambda: ((num(1), num("1/2")), (num(-1), num("1/2"))),
}


def normal(nf: Normal, term: Term) -> Poly:
    """The normal form of E, Var or Cov."""
    e = term.args[0]
    if term.op == "E":
        return expectation(nf, nf.poly(e))
    f = term.args[-1]
    joint = expectation(nf, nf.mul(nf.poly(e), nf.poly(f)))
    means = nf.mul(expectation(nf, nf.poly(e)), expectation(nf, nf.poly(f)))
    return add_to(dict(joint), means, -1)


def is_random(nf: Normal, name: str) -> bool:
    declaration = nf.context.declarations.get(name)
    return declaration is not None and declaration.law is not None


def law_of(nf: Normal, name: str) -> tuple[Declaration, Law]:
    """The declaration of a random name, and its law."""
    declaration = nf.context.declarations[name]
    assert declaration.law is not None
    return declaration, declaration.law


def varies(nf: Normal, name: str) -> bool:
    """Whether the entries of a random name have different laws."""
    declaration, law = law_of(nf, name)
    return any(p.letters & set(declaration.letters) for p in law.parameters)


def law_at(nf: Normal, entry: Term) -> tuple[str, tuple[Term, ...]]:
    """The family of the law of an entry, and its parameters there; none of what is not random, be its place random."""
    if not is_random(nf, entry.value):
        return "", ()
    declaration, law = law_of(nf, entry.value)
    mapping = dict(zip(declaration.letters, entry.args, strict=False))
    return law.family, tuple(substitute(p, mapping) for p in law.parameters)


def random_names(nf: Normal, term: Term) -> frozenset[str]:
    """The random names that the term's value depends on; those under an inner E are averaged out already."""
    return frozenset(t.value for t in _outside_means(nf.opened(term)) if t.op == "var" and is_random(nf, t.value))


def _outside_means(term: Term) -> Iterator[Term]:
    stack, seen = [term], set()
    while stack:
        t = stack.pop()
        if t not in seen and t.op not in ("E", "Var", "Cov"):
            seen.add(t)
            yield t
            stack.extend(t.args)


def hides(nf: Normal, term: Term, name: str, by: Term) -> bool:
    """Whether an E inside the term averages the variable or `by`, or depends on it through the law of a random name."""
    shown = frozenset({name} if not is_random(nf, name) and not random_names(nf, by) else ())
    means = (t for t in subterms(term) if t.op in ("E", "Var", "Cov"))
    return any(name in nf.context.reached(t.names - shown) for t in means)


def ends(nf: Normal, poly: Poly) -> Iterator[Poly]:
    """What is never negative: how far the uniform entries in the polynomial lie from the ends of their law.

    Nothing where they, or names in their law, may be replaced or move: the entries lie between the ends at the point.
    """
    for entry in sorted({a for m in poly for a, _ in m if nf.steady and a.op == "var"}, key=key):
        family, given = law_at(nf, entry)
        if family == "uniform" and nf.loose.isdisjoint(nf.context.reached(entry.names)):
            yield nf.poly(entry - given[0])
            yield nf.poly(given[1] - entry)


# What must be above 0 where the parameters of a law move.
POSITIVE: dict[str, Callable[..., tuple[Term, ...]]] = {
    **dict.fromkeys(("random", "normal"), lambda mean, variance: (variance,)),
    "bernoulli": lambda p: (p, 1 - p),
    "uniform": lambda low, high: (high - low,),
    "rademacher": lambda: (),
}


def lawful(nf: Normal, term: Term, name: str) -> Iterator[Term]:
    """The conditions on the variable under which the random names in the term have laws around it."""
    for random in sorted({t.value for t in subterms(nf.opened(term)) if t.op == "var" and is_random(nf, t.value)}):
        declaration, law = law_of(nf, random)
        for t in POSITIVE[law.family](*law.parameters):
            if name in nf.context.reached(t.names):
                yield over("all", cmp(">", t, 0), *(k for k in declaration.letters if k in t.letters))


def support(nf: Normal, entry: Term) -> int:
    """The signs that the random entry can have."""
    family, given = law_at(nf, entry)
    if family in POINTS:
        return reduce(or_, (sign(nf, value) for value, _ in POINTS[family](*given)))
    if family == "uniform":
        low = sign(nf, given[0])
        return POS if low == POS else POS | ZERO if not low & NEG else ANY
    return ANY


def expectation(nf: Normal, poly: Poly, seen: list[Poly] | None = None) -> Poly:
    """E of the polynomial; `seen` takes the means of factors: one may be 0 where another does not exist."""
    total: Poly = {}
    seen = [] if seen is None else seen
    for mono, c in poly.items():
        add_to(total, _expect(nf, frozenset(), mono, seen), c)
    return total


def _expect(nf: Normal, letters: frozenset[Term], mono: Mono, seen: list[Poly]) -> Poly:
    """E of the sum of a monomial over the letters."""
    addends = with_addend(nf, letters, mono)
    if addends is not None:
        total: Poly = {}
        for m, c in addends[1].items():
            add_to(total, _expect(nf, letters | set(addends[0]), m, seen), c)
        return total
    certain = frozenset((a, e) for a, e in mono if not random_names(nf, a))
    result = nf.finish(certain)
    for _, group in components(mono - certain, lambda a: random_names(nf, a)):
        seen.append(_group(nf, group, seen))
        result = nf.mul(result, seen[-1])
    return sums.sum_over(nf, letters, result)


def with_addend(nf: Normal, letters: frozenset[Term], mono: Mono) -> tuple[tuple[Term, ...], Poly] | None:
    """The monomial with the addend of one of its random sums in place of it, at new letters; None where it has none."""
    return sums.with_addend(nf, letters, mono, lambda a: bool(random_names(nf, a)))


def _group(nf: Normal, group: Mono, seen: list[Poly]) -> Poly:
    """E of factors that share random names."""
    entries = {t for a, _ in group for t in _outside_means(a) if t.op == "var" and is_random(nf, t.value)}
    pure = all(
        a.op == "var" and isinstance(e, int) and e > 0 and not any(random_names(nf, s) for s in a.args)
        for a, e in group  # the entry at a random place, such as the largest, has another law
    )
    if any(
        a.op == "where" and a.args[0].value == "==" and negligible(nf, nf.poly(a.args[0].args[0])) for a, _ in group
    ):
        return {}
    degree = sum(e for _, e in group if isinstance(e, int))
    if pure and len({a.value for a, _ in group}) == 1 and degree <= MAX_DEGREE:
        return _entries(nf, group)
    found = _over_axis(nf, group, seen)
    if found is not None:
        return found
    bound = {k for a, _ in group for t in subterms(a) for k in t.bound}
    if len(entries) == 1 and bound.isdisjoint(next(iter(entries)).letters):
        found = _single(nf, group, next(iter(entries)))
        if found is not None:
            return found
    for way in (_step, _wave):
        found = way(nf, group)
        if found is not None:
            return found
    if len(entries) == len({t.value for t in entries}) == 2 and not any(bound & t.letters for t in entries):
        found = _iterated(nf, group, entries)
        if found is not None:
            seen.append(_opaque(nf, group))  # which does not tell that it exists
            return found
    return _opaque(nf, group)


def _step(nf: Normal, group: Mono) -> Poly | None:
    """E of f = [u > 0] or erf(u) for a sum u of normal entries, perhaps times one, q: E(q) E(f) + Cov(q, u) E(f')."""
    steps = [a for a, _ in group if a.op == "where" or a.value == "erf"]
    q, *more = [a for a, _ in group if a not in steps] or [num(1)]
    if len(steps) != 1 or more or any(e != 1 for _, e in group) or not _linear(nf, q):
        return None
    half = steps[0].op == "where"
    test = steps[0].args[0]
    u = test.args[0] if half else test
    if (half and test.value != ">") or not _linear(nf, u):
        return None
    mean, variance = make("E", (u,)), make("Var", (u,))
    # [u > 0] is 0 where u is 0: where u may be certain, its mean must be 0, and that of q.
    if half and sign(nf, nf.canonical(variance)) & ZERO and any(map(nf.poly, (mean, make("E", (q,))))):
        return None
    room = 2 * variance if half else 1 + 2 * variance
    level, slope = fn("erf", mean / fn("sqrt", room)), fn("exp", -(mean**2) / room) / fn("sqrt", PI * room)
    value = (1 + level) / 2 if half else level
    return nf.poly(make("E", (q,)) * value + make("Cov", (q, u)) * slope * (1 if half else 2))


def _wave(nf: Normal, group: Mono) -> Poly | None:
    """E of sines and cosines of sums of normal entries and a uniform one, times e^v and q for normal sums v and q."""
    waves = {a: int(e) for a, e in group if a.op == "fn" and a.value in ("sin", "cos") and e in range(1, MAX_DEGREE)}
    tilts = {a: e for a, e in group if a.op == "fn" and a.value == "exp"}
    (q, power), *more = [p for p in group if p[0] not in {**waves, **tilts}] or [(num(1), 1)]
    v = add(num(0), *(e * a.args[0] for a, e in sorted(tilts.items(), key=lambda p: key(p[0]))))
    many = more or power != 1 or sum(waves.values()) >= MAX_DEGREE
    if many or not (waves or tilts) or not (_linear(nf, q) and _linear(nf, v)):
        return None
    angles = [num(0)]  # cos(u) cos(w) is half of cos(u + w) + cos(u - w)
    for a in sorted(waves, key=key):
        for _ in range(waves[a]):
            u = a.args[0] - (PI / 2 if a.value == "sin" else 0)
            angles = [side for w in angles for side in (w + u, w - u)]
    means = [mean for u in angles if (mean := _cosine(nf, q, v, u)) is not None]
    return scaled(nf.poly(add(*means)), Fraction(1, len(means))) if len(means) == len(angles) else None


def _cosine(nf: Normal, q: Term, v: Term, u: Term) -> Term | None:
    """E(q e^v cos(u)) by the law of u: what is uniform between -x and x brings sin(x) / x, what is normal e^(-Var / 2).

    The factor e^v moves the mean of what is normal by its covariance with v.
    """
    poly, damping = nf.poly(u), num(1)
    for b in {a for m in poly for a, _ in m if a.op == "var" and law_at(nf, a)[0] == "uniform"}:
        parts, (low, high) = densities.by_degree(poly, b) or {}, law_at(nf, b)[1]
        slope = nf.term(parts.get(1, {}))
        x = nf.canonical(slope * (high - low) / 2)
        single = damping is num(1) and max(parts, default=0) == 1 and not random_names(nf, mul(x, *b.args))
        if not single or sign(nf, x) & ZERO:
            return None
        u, damping = nf.canonical(u + slope * ((low + high) / 2 - b)), fn("sin", x) / x
    if not _linear(nf, u):
        return None
    mean, moved = make("E", (u,)) + make("Cov", (u, v)), make("E", (q,)) + make("Cov", (q, v))
    damping *= fn("exp", make("E", (v,)) + (make("Var", (v,)) - make("Var", (u,))) / 2)
    return damping * (moved * fn("cos", mean) - make("Cov", (q, u)) * fn("sin", mean))


def _linear(nf: Normal, term: Term) -> bool:
    """Whether the term is linear in normal entries."""
    for mono in nf.poly(term):
        random = [(a, e) for a, e in mono if random_names(nf, a)]
        if len(random) > 1 or any(e != 1 for _, e in random):
            return False
        for a, _ in random:
            if a.op == "sum":
                if not _linear(nf, sums.opened(nf, a)[1]):
                    return False
            elif a.op != "var" or law_at(nf, a)[0] != "normal" or random_names(nf, mul(*a.args)):
                return False
    return True


def _iterated(nf: Normal, group: Mono, entries: set[Term]) -> Poly | None:
    """E over one of two independent entries at fixed values of the other, then over that one (Fubini)."""
    for entry in sorted(entries, key=key):
        moving = frozenset(p for p in group if entry in subterms(p[0]))
        inner = _single(nf, moving, entry) if not random_names(nf, mul(*entry.args)) else None
        outer = expectation(nf, nf.mul({group - moving: 1}, inner)) if inner is not None else None
        if outer is not None and not any(t.op == "E" for t in subterms(nf.term(outer))):
            return outer
    return None


def negligible(nf: Normal, poly: Poly) -> bool:
    """Whether a polynomial in entries with a density is 0 with probability 0.

    It is if it has a degree in one of the entries whose coefficient is not 0: be it in the addend of a sum over letters
    that tell its entries apart, beside which the name does not stand.
    """
    for atom in sorted({a for m in poly for a, e in m if a.op in ("var", "sum") and random_names(nf, a)}, key=key):
        parts = densities.by_degree(poly, atom)
        if parts is None or max(parts) < 1:
            continue
        top, body = parts[max(parts)], atom
        rest = frozenset().union(*(random_names(nf, a) for part in parts.values() for m in part for a, _ in m))
        if atom.op == "sum":
            letters, body, filter_ = sums.opened(nf, atom)
            if filter_ is not TRUE or not apart(nf, body, letters):
                continue
        if not rest.isdisjoint(random_names(nf, atom)):
            continue
        known = nf.certain(nf.term(top)) if not random_names(nf, nf.term(top)) else negligible(nf, top)
        if known and (negligible(nf, nf.poly(body)) if body is not atom else spread(nf, atom)):
            return True
    return False


def spread(nf: Normal, entry: Term) -> bool:
    """Whether the law of the entry has a density."""
    family, given = law_at(nf, entry)
    width = given[-1] - given[0] if family == "uniform" else given[-1] if family == "normal" else num(0)
    return sign(nf, nf.canonical(width)) == POS


def _over_axis(nf: Normal, group: Mono, seen: list[Poly]) -> Poly | None:
    """E of a product over k of factors with different entries, exp of sums included, is the product of the means."""
    found = _one_product(nf, group)
    if found is None:
        return None
    factor, k, filter_ = found
    inside = (t for t in _outside_means(factor) if t.bound)
    if not apart(nf, factor, (k,)) or any(random_names(nf, t) for t in (filter_, *inside)):
        return None
    mean = expectation(nf, nf.poly(factor), seen)
    if any(k in letters for m in mean for letters in (a.letters for a, _ in m)):
        return nf.poly(over("prod", nf.term(mean), k, where=filter_))
    return nf.power(mean, nf.poly(over("sum", 1, k, where=filter_)))


def _one_product(nf: Normal, group: Mono) -> tuple[Term, Term, Term] | None:
    """The factors as one product over a letter: its factor, the letter and the filter."""
    k = _letter(nf, group)
    total: list[Term] = []
    if k is None:
        return None
    for a, e in group:
        if a.op == "prod" and len(group) == 1:
            mapping = {a.bound[0]: k}
            return substitute(a.args[0], mapping) ** e, k, substitute(a.args[1], mapping)
        if a.op != "fn" or a.value != "exp":
            return None
        for mono, c in nf.poly(a.args[0]).items():
            moving = [b for b, x in mono if random_names(nf, b)]
            if len(moving) != 1 or (moving[0], 1) not in mono or moving[0].op != "sum":
                return None
            scale = nf.term({mono - {(moving[0], 1)}: c * e})
            total.append(scale * substitute(moving[0].args[0], {moving[0].bound[0]: k}))
    return fn("exp", add(*total)), k, TRUE


def _letter(nf: Normal, group: Mono) -> Term | None:
    """A new letter for the axis that all random sums and products in the group run over; None where they differ."""
    binders = [t for a, _ in group for t in _outside_means(a) if t.bound and random_names(nf, t)]
    if len({k.value[1] for t in binders for k in t.bound}) != 1 or any(len(t.bound) != 1 for t in binders):
        return None
    (k,) = sums.unused(nf, binders[0].bound, frozenset().union(*(p[0].letters for p in group)))
    return k


def apart(nf: Normal, body: Term, letters: tuple[Term, ...]) -> bool:
    """Whether the body at different values of the letters uses different entries of every random name.

    Each letter must stand at one and the same place in all entries of a name: Q[k, i] at k = j and Q[j, k] at k = i are
    the same entry.
    """
    places: dict[tuple[str, Term], set[int]] = {}
    stack: list[tuple[Term, frozenset[Term]]] = [(body, frozenset(letters))]
    while stack:
        t, seen = stack.pop()  # `seen`: the letters that no binder around has taken for its own
        if t.op == "var" and is_random(nf, t.value):
            for k in letters:
                here = {p for p, a in enumerate(t.args) if a is k and k in seen}
                places[t.value, k] = places.get((t.value, k), here) & here
        if t.op not in ("E", "Var", "Cov"):
            stack += [(a, seen - frozenset(t.bound)) for a in t.args]
    return all(places.values())


def _opaque(nf: Normal, group: Mono) -> Poly:
    return nf.atom(make("E", (nf.term({group: 1}),)))


def _single(nf: Normal, group: Mono, entry: Term) -> Poly | None:
    """E of a function of one entry: an average over two values, or a row of the normal law."""
    family, parts = law_at(nf, entry)
    if family in POINTS:
        whole = nf.term({group: 1})
        total: Poly = {}
        for value, chance in POINTS[family](*parts):
            here = sums.swap_entry(whole, entry, value)
            if entry in subterms(here):
                return None
            total = add_to(total, nf.mul(nf.poly(chance), nf.poly(here)))
        return total
    law = {"normal": densities.normal, "uniform": densities.uniform}.get(family)
    shape = densities.shape_of(nf, group, entry) if law is not None else None
    if family == "uniform" and shape is None:
        return densities.scaling(nf, group, entry, *parts)
    return law(nf, shape, *parts) if law is not None and shape is not None else None


def raw_moment(nf: Normal, entry: Term, k: int) -> Poly:
    """E(entry^k) under its law; an atom where the law does not say."""
    family, parts = law_at(nf, entry)
    if family in POINTS:
        return nf.poly(add(*(chance * value**k for value, chance in POINTS[family](*parts))))
    if family == "uniform":
        return nf.poly(add(*(parts[0] ** p * parts[1] ** (k - p) for p in range(k + 1))) / (k + 1))
    if family == "normal":
        return nf.poly(densities.moment(parts[0], parts[1], k))
    if k == 1:
        return nf.poly(parts[0])
    if k == 2:
        return add_to(dict(nf.poly(parts[1])), nf.poly(parts[0] ** 2))
    if family != "random":
        raise Rejected(f"unknown law {family}")
    plain = entry if varies(nf, entry.value) else var(entry.value, *(num(0) for _ in entry.args))
    return nf.atom(make("E", (plain**k,)))


def cumulant(nf: Normal, entry: Term, k: int) -> Poly:
    """The k-th cumulant: mu_k minus the sum over r < k of C(k-1, r-1) kappa_r mu_(k-r)."""
    slot = (entry, k)
    if slot not in nf.cumulants:
        total = dict(raw_moment(nf, entry, k))
        for r in range(1, k):
            part = nf.mul(cumulant(nf, entry, r), raw_moment(nf, entry, k - r))
            add_to(total, part, -comb(k - 1, r - 1))
        nf.cumulants[slot] = total
    return nf.cumulants[slot]


def _entries(nf: Normal, group: Mono) -> Poly:
    """E of a product of powers of entries of one name."""
    elements = [a for a, e in sorted(group, key=lambda p: key(p[0])) if isinstance(e, int) for _ in range(e)]
    return _partitions(nf, tuple(elements))


def _partitions(nf: Normal, elements: tuple[Term, ...]) -> Poly:
    """The sum over set partitions, the block of the first element chosen first; equal blocks are counted once."""
    if not elements:
        return {UNIT: 1}
    found = nf.partitions.get(elements)
    if found is None:
        first, rest = elements[0], elements[1:]
        total: Poly = {}
        for (block, left), times in _blocks(rest).items():
            weight = cumulant(nf, first, len(block) + 1)
            for other in dict.fromkeys(block):
                if not weight:
                    break
                for a, b in zip(first.args, other.args, strict=True):
                    weight = nf.mul(nf.delta(a, b), weight)
            if weight:
                add_to(total, nf.mul(weight, _partitions(nf, left)), times)
        found = nf.partitions[elements] = scaled(total, 1)
    return found


def _blocks(rest: tuple[Term, ...]) -> Counter[tuple[tuple[Term, ...], tuple[Term, ...]]]:
    """Every choice from `rest` with what is left, and in how many ways it can be made; equal terms stand together."""
    ways: Counter[tuple[tuple[Term, ...], tuple[Term, ...]]] = Counter()
    for taken in product((True, False), repeat=len(rest)):
        block, left = (tuple(a for a, t in zip(rest, taken, strict=True) if t is side) for side in (True, False))
        ways[block, left] += 1
    return ways

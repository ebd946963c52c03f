"""Whether a mean exists: by the moments that laws have, and by those that the left side or a hypothesis needs too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from derive.kernel import moments, sums
from derive.kernel.poly import CASES, Exponent, Mono, Poly, key
from derive.kernel.signs import NEG, POS, sign
from derive.term import TRUE, Term, make, substitute, subterms, var

if TYPE_CHECKING:
    from derive.kernel.domain import Need
    from derive.kernel.normal import Normal

MEANS = frozenset({"E", "Var", "Cov"})
FINITE = frozenset({"sin", "cos", "erf", "atan"})  # functions between two numbers
BOUNDED = frozenset({"bernoulli", "rademacher"})  # laws under which every function of finitely many entries has a mean


def integrable(nf: Normal, term: Term, known: Iterable[Need]) -> bool:
    """Whether the mean exists: by moments that the laws have, or that the left side or a hypothesis needs too."""
    have: dict[str | Term, int] = {}
    others: set[Term] = set()
    for other in known:
        if other.condition.op in MEANS and other.sure and all(map(nf.holds, other.guards)):
            more, groups = profile(nf, other.condition, other)
            others |= groups
            have |= {who: max(have.get(who, 0), degree) for who, degree in more.items()}
    degrees, opaque = profile(nf, term)
    for who, degree in degrees.items():
        name = who if isinstance(who, str) else who.value
        if moments.law_of(nf, name)[1].family == "random" and degree > max(2, have.get(name, 0), have.get(who, 0)):
            return False
    for group in opaque - others:
        families = {moments.law_of(nf, name)[1].family for name in moments.random_names(nf, group)}
        power = growth(nf, nf.poly(group))
        bounded = families <= BOUNDED or (power is not None and (power <= 2 or "random" not in families))
        seen: list[Poly] = []
        moments.expectation(nf.averaged(), nf.averaged().poly(group), seen)
        if not bounded and any(t.op in MEANS for mean in seen for t in subterms(nf.term(mean))):
            return False
    return True


def growth(nf: Normal, poly: Poly) -> Exponent | None:
    """A power p with |poly| <= C (1 + |x|^p) for the largest random entry x; None where none is found."""
    powers = [_growth(nf, mono) for mono in poly]
    return None if None in powers else max((p for p in powers if p is not None), default=0)


def _growth(nf: Normal, mono: Mono) -> Exponent | None:
    """The same for a monomial: what stands below holds parts of what stands above, or is at least a constant."""
    addends = moments.with_addend(nf, frozenset(), mono)
    if addends is not None:
        return growth(nf, addends[1])
    random = {a: e for a, e in mono if moments.random_names(nf, a)}
    above = {a: e for a, e in random.items() if e > 0 or (a.op == "fn" and a.value == "exp")}
    if not all(_below(nf, a, e, above) for a, e in random.items() if a not in above):
        return None
    powers = [_power(nf, a, e) for a, e in above.items() if e]
    return None if None in powers else sum(p for p in powers if p is not None)


def _below(nf: Normal, atom: Term, exponent: Exponent, above: dict[Term, Exponent]) -> bool:
    """Whether the atom to a negative power is bounded, with what it takes away of the factors above.

    A sum of what is never negative is at least each of its addends, so that sqrt(addend / sum) is at most 1.
    """
    if atom.op == "add":
        return _at_least(nf, nf.poly(atom))
    if atom.op != "sum" or len(atom.bound) != 1 or (-2 * exponent) % 1:
        return False
    (k,), body, filter_ = sums.opened(nf, atom)
    if filter_ is not TRUE or sign(nf, body) & NEG:
        return False
    places = sorted({c for a in above for c in a.letters if c.value[1] == k.value[1]}, key=key)
    for _ in range(int(-2 * exponent)):
        halves = (_half(nf, nf.poly(substitute(body, {k: c}))) for c in places)
        whole = (h for h in halves if h and all(above.get(a) and 0 < e / above[a] <= 1 for a, e in h.items()))
        found = next(whole, None)
        if found is None:
            return False
        above.update({a: above[a] - e for a, e in found.items()})
    return True


def _at_least(nf: Normal, poly: Poly) -> bool:
    """Whether the polynomial is at least a positive constant, all its terms being never negative."""
    parts = [(m, nf.mono_sign(m, c)) for m, c in poly.items()]
    fixed = any(s == POS and not moments.random_names(nf, nf.term({m: 1})) for m, s in parts)
    return fixed and not any(s & NEG for _, s in parts)


def _half(nf: Normal, poly: Poly) -> dict[Term, Fraction]:
    """The random factors of the square root of a product, if the others are not 0."""
    factors = next(iter(poly)) if len(poly) == 1 else frozenset()
    random = {a: Fraction(e) / 2 for a, e in factors if moments.random_names(nf, a)}
    return random if all(a in random or nf.certain(a) for a, _ in factors) else {}


def _power(nf: Normal, atom: Term, exponent: Exponent) -> Exponent | None:
    """The power for a factor above."""
    if atom.op in (*CASES, "argmax") or (atom.op == "fn" and atom.value in FINITE):
        return 0
    if atom.op == "fn" and atom.value == "exp":
        return None if sign(nf, atom.args[0]) & (POS if exponent > 0 else NEG) else 0
    if atom.op == "fn" and atom.value == "log" and _at_least(nf, nf.poly(atom.args[0])) and exponent > 0:
        power = growth(nf, nf.poly(atom.args[0]))
        return None if power is None else power * exponent
    inside = sums.opened(nf, atom)[1] if atom.op in ("sum", "max", "min") else atom
    power = 1 if atom.op == "var" else growth(nf, nf.poly(inside)) if inside is not atom or atom.op == "add" else None
    return None if power is None else power * exponent


Profile = tuple[dict[str | Term, int], set[Term]]


def profile(nf: Normal, term: Term, known: Need | None = None) -> Profile:
    """What `moments_of` finds, found once."""
    slot = (term, known and (known.letters, not known.guards))
    if slot not in nf.profiles:
        nf.profiles[slot] = moments_of(nf, term, known)
    return nf.profiles[slot]


def moments_of(nf: Normal, term: Term, known: Need | None) -> Profile:
    """The moments that the means in the term need: the degree for each random name, and the groups without a rule.

    For a mean that is `known` to exist, the degree that this implies: entries that may differ count one by one, sums
    reach every entry. Else the highest that may be needed: all entries of a name may be one. A name whose entries have
    different laws counts by the entry where there is one.
    """
    degrees: dict[str | Term, int] = {}
    opaque: set[Term] = set()
    inside = [term.args[0]] if term.op == "E" else [make("mul", (a, b)) for a in term.args for b in term.args]
    if term.op == "Cov" and known:  # the product is integrable; the squares need not be
        inside = [make("mul", term.args)]
    for e in inside:
        poly = nf.poly(e)
        for mono in telling(nf, poly) if known else poly:
            for name in names_in(nf, mono):
                degree, who = degree_in(nf, mono, name, known is not None), name_or_entry(nf, mono, name, known)
                if degree is None:
                    opaque.add(nf.term({mono: 1}))
                elif who and not (known and any(may_vanish(nf, mono, o, known) for o in names_in(nf, mono) - {name})):
                    degrees[who] = max(degrees.get(who, 0), degree)
    return degrees, opaque


def may_vanish(nf: Normal, mono: Mono, name: str, known: Need) -> bool:
    """Whether what entries of the name put into a product may be 0 almost surely, which tells nothing of the others.

    An entry is not if its second moment is not 0, nor is a sum of entries of one law; functions of them may be.
    """
    entry = var(name, *sums.unused(nf, moments.law_of(nf, name)[0].letters, frozenset()))  # any one, at no known letter
    told = name_or_entry(nf, mono, name, known), degree_in(nf, mono, name, True)
    return None in told or not nf.certain(nf.term(moments.raw_moment(nf, entry, 2)))


def name_or_entry(nf: Normal, mono: Mono, name: str, known: Need | None) -> str | Term | None:
    """Of what a moment is told: of all entries, or of the only one; None where it is of some."""
    entries = [a for a, _ in mono if name in moments.random_names(nf, a)]
    if not moments.varies(nf, name):
        return name
    if len(entries) > 1 or entries[0].value != name:
        return None if known else name
    general = set(known.letters) if known and not known.guards else set()
    return name if len(set(entries[0].args) & general) == len(entries[0].args) else entries[0]


def names_in(nf: Normal, mono: Mono) -> frozenset[str]:
    return frozenset().union(*(moments.random_names(nf, a) for a, _ in mono))


def telling(nf: Normal, poly: Poly) -> Iterator[Mono]:
    """The monomials that are integrable if the sum is: they do not vanish, and no other makes up for them."""
    random = {mono: names for mono in poly if (names := names_in(nf, mono))}
    for mono, names in random.items():
        rivals = {r: other & names for r, other in random.items() if r is not mono}
        if present(nf, mono) and all(
            one_sided(nf, poly, mono, r) or all(lower(nf, r, mono, name) for name in shared)
            for r, shared in rivals.items()
        ):
            yield mono


def present(nf: Normal, mono: Mono, one_sign: bool = False) -> bool:
    """Whether no coefficient in the monomial can be 0, and those within a sum have one sign: they do not cancel."""
    fixed = frozenset(p for p in mono if not moments.random_names(nf, p[0]))
    sums = (m for a, _ in mono - fixed if a.op == "sum" for m in nf.poly(a.args[0]))
    signs = nf.mono_sign(fixed, 1)
    return signs in (NEG, POS, 0 if one_sign else NEG | POS) and all(present(nf, m, True) for m in sums)


def one_sided(nf: Normal, poly: Poly, *monos: Mono) -> bool:
    """Whether the terms never have different signs, so that none makes up for another."""
    signs = reduce(or_, (nf.mono_sign(m, poly[m]) for m in monos))
    return not signs & NEG or not signs & POS


def lower(nf: Normal, rival: Mono, mono: Mono, name: str) -> bool:
    """Whether the rival is a polynomial of a lower degree, wherever entries are one."""
    less, degree = degree_in(nf, rival, name, False), degree_in(nf, mono, name, True)
    return less is not None and degree is not None and less < degree


def degree_in(nf: Normal, mono: Mono, name: str, single: bool) -> int | None:
    """The degree in the entries of a name: if `single` in one of them at least, else where all may be one.

    None where the monomial is no polynomial in them; the entry at a random place, such as the largest, tells nothing.
    """
    total, alone = 0, {}
    for a, e in mono:
        if name in moments.random_names(nf, a):
            # A sum over all subscripts reaches every entry; beside a fixed one, q[k, i] is never q[k, j].
            here = {t for t in subterms(a) if t.op == "var" and t.value == name}
            apart = single and not all(p.op == "index" and p not in a.letters for t in here for p in t.args)
            placed = None if single and here != {a} else 1  # the largest has another law, and none is that of its place
            inside = [degree_in(nf, m, name, apart) for m in nf.poly(a.args[0])] if a.op == "sum" else [placed]
            if a.op not in ("var", "sum") or None in inside or not isinstance(e, int) or e < 0:
                return None
            degree = max(d for d in inside if d is not None) * e
            if a.op == "var" or apart:
                alone[a] = degree
            else:
                total += degree
    if single:
        return max(total, *alone.values(), 0)
    return total + (max if _all_apart(nf, list(alone)) else sum)([0, *alone.values()])


def _all_apart(nf: Normal, entries: list[Term]) -> bool:
    """Whether the entries are known to be different ones."""
    pairs = [(a, b) for p, a in enumerate(entries) for b in entries[:p]]
    # Beside an entry may stand one of another name, at a place that the first name decides.
    same = all(a.value == b.value for a, b in pairs)
    return same and all(any(not nf.delta(i, j) for i, j in zip(a.args, b.args, strict=True)) for a, b in pairs)

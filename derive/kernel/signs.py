"""Which signs a term can have: a set of NEG, ZERO, POS, from its form, the declarations and known facts.

Judged on terms as written, since |x| + c or 1 + (x - y)**2 are plainly positive before they are multiplied out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

from derive.kernel.poly import key
from derive.term import NONLOCAL, TRUE, Term, cmp, negation, over, replace_variable, size, subterms

if TYPE_CHECKING:
    from derive.kernel.normal import Normal

NEG, ZERO, POS = 1, 2, 4
ANY = NEG | ZERO | POS
RELATION = {"==": ZERO, "!=": NEG | POS, "<": NEG, "<=": NEG | ZERO, ">": POS, ">=": POS | ZERO}  # of left - right
KIND = {"positive": POS, "nonnegative": POS | ZERO, "bit": POS | ZERO, "index": POS | ZERO}
FLIP = {0: 0, 1: 4, 2: 2, 3: 6, 4: 1, 5: 5, 6: 3, 7: 7}
# Functions whose value has the sign of their argument, and those of one sign everywhere.
ODD = frozenset({"sinh", "tanh", "atan", "erf", "sign", "expm1"})
POSITIVE = frozenset({"exp", "cosh", "sigmoid", "softplus"})


def sign_of(value: int | Fraction) -> int:
    return POS if value > 0 else NEG if value < 0 else ZERO


def add_signs(left: int, right: int) -> int:
    """The signs a sum can have."""
    if left == ZERO:
        return right
    if right == ZERO:
        return left
    result = (left | right) & ~ZERO
    if left & right & ZERO or (left & POS and right & NEG) or (left & NEG and right & POS):
        result |= ZERO
    return result


def mul_signs(left: int, right: int) -> int:
    """The signs a product can have."""
    result = ZERO if (left | right) & ZERO else 0
    if left & POS:
        result |= right & (NEG | POS)
    if left & NEG:
        result |= FLIP[right] & (NEG | POS)
    return result


def sign(nf: Normal, term: Term) -> int:
    """The signs the term can have under the facts of `nf`, in total semantics (1/0 and log of nonpositive are 0)."""
    found = nf.signs.get(term)
    if found is None:
        nf.signs[term] = ANY  # a term that is asked about while it is being judged: nothing known
        found = FORMS[term.op](nf, term) if term.op in FORMS else ANY
        if found & (found - 1) and term.op != "num":  # more than one sign left
            for fact in nf.facts.get(key(term)[0], ()):  # what is said of it outright, before anything asks again
                found &= fact.signs if fact.term is term and not fact.guards else ANY
            nf.signs[term] = found or ANY
            plain = nf.canonical(term)
            found &= nf.facts_about(term) if plain is term else sign(nf, plain)
            if plain is term and term.op == "add" and found & (found - 1):
                from derive.kernel import cases, powers

                core = cases.bare(nf, nf.poly(term))
                found &= sign(nf, nf.term(core)) if core.keys() != nf.poly(term).keys() else ANY
                factors = powers.sides(nf.poly(term))
                found &= reduce(mul_signs, [sign(nf, nf.term(u)) for u in factors]) if factors else ANY
            found = found or ANY
        nf.signs[term] = found
    return found


def _where(nf: Normal, term: Term) -> int:
    condition, then, other = term.args
    yes, no = nf.under(condition), nf.under(negation(condition))
    return (sign(yes, then) if yes else 0) | (sign(no, other) if no else 0) or ANY


def _mean(nf: Normal, term: Term) -> int:
    """The signs of E: what is never 0 but takes both signs may have any mean."""
    inner = sign(nf.averaged(), term.args[0])
    return ANY if inner & NEG and inner & POS else inner


def _replaced(nf: Normal, term: Term) -> int:
    """The signs of `at`: those of the body as written, where entries can be replaced in it."""
    plain = nf.opened(term.args[0])
    if any(t.op in NONLOCAL for t in subterms(plain)):
        return ANY
    return sign(nf.anywhere(term.value), replace_variable(plain, term.value, term.bound, term.args[1]))


def _binder(nf: Normal, term: Term) -> int:
    """The signs of a sum, product or extremum: what is known of a fixed letter says nothing of a bound one."""
    from derive.kernel import cases, sums

    letters, body, filter_ = sums.opened(nf, term)
    here = nf.under(filter_)
    filled = here is not None and nonempty(here, letters, filter_)
    signs = sign(here, body) if here is not None else ZERO
    if term.op == "sum":
        signs = signs if filled and signs != NEG | POS else signs | ZERO
        if signs == POS | ZERO and here is not None:  # as positive as the sum without its positive factors
            core = here.term(cases.bare(here, here.poly(body)))
            if core is not body and not sign(nf, over("sum", core, *letters, where=filter_)) & ZERO:
                return POS
        return signs
    if term.op == "prod":
        return ANY if signs & NEG and signs & ZERO else signs | POS  # an empty product is 1
    return signs if filled else ANY


def nonempty(nf: Normal, letters: tuple[Term, ...], filter_: Term) -> bool:
    """Whether a filter leaves something: `k <= i` at k = i, `k != i` on an axis of more than one."""
    parts = split(filter_)
    if any(p.op != "cmp" or set(letters).isdisjoint(p.args) or p.args[0] is p.args[1] for p in parts):
        return False  # `k != k` leaves nothing
    if any(a not in letters and not a.letters.isdisjoint(letters) for p in parts for a in p.args):
        return False  # `k != t[k]` may leave nothing
    if all(p.value == "!=" for p in parts):
        return all(sign(nf, size(k.value[1]) - sum(k in p.args for p in parts)) == POS for k in letters)
    others = {a for p in parts for a in p.args} - set(letters)
    places = [a for a in others if a.op == "index" and a.value[1] == letters[0].value[1]]
    return len(letters) == len(others) == len(places) == 1 and all(p.value in ("<=", ">=", "==") for p in parts)


def _power(nf: Normal, term: Term) -> int:
    from derive.kernel import powers

    base, exponent = term.args
    signs = sign(nf, base)
    if signs == POS:
        return POS
    value = exponent.value if exponent.op == "num" else None
    if value is None:
        if not signs & ZERO and powers.integral(nf, nf.poly(exponent)):
            return NEG | POS
        return POS | ZERO if not signs & NEG else ANY
    if value.denominator != 1:
        return POS | ZERO
    if value % 2 == 0:
        return POS if not signs & ZERO else POS | ZERO
    return signs


# The signs of a function by those of its argument.
FUNCTIONS: dict[str, Callable[[int], int]] = {
    **dict.fromkeys(ODD, lambda signs: signs),
    **dict.fromkeys(("sqrt", "relu"), lambda signs: signs & POS | (ZERO if signs & (ZERO | NEG) else 0)),
    "abs": lambda signs: (POS if signs & (NEG | POS) else 0) | signs & ZERO,
    "trigamma": lambda signs: POS if signs == POS else POS | ZERO,  # 0 at its poles
}


def _function(nf: Normal, term: Term) -> int:
    name, u = term.value, term.args[0]
    if name in POSITIVE:
        return POS
    if name == "log" and sign(nf, u) == POS:
        return sign(nf, nf.canonical(u - 1))
    return FUNCTIONS[name](sign(nf, u)) if name in FUNCTIONS else ANY


# The signs of a term by its form; of what stands in no row nothing is known.
FORMS: dict[str, Callable[[Normal, Term], int]] = {
    "num": lambda nf, t: sign_of(t.value),
    **dict.fromkeys(("size", "const"), lambda nf, t: POS),
    **dict.fromkeys(("index", "delta", "argmax", "Var"), lambda nf, t: POS | ZERO),
    "var": lambda nf, t: nf.kind_sign(t),  # type: ignore[has-type]  # a method that is defined beside
    "def": lambda nf, t: sign(nf, nf.unfold(t)),
    "neg": lambda nf, t: FLIP[sign(nf, t.args[0])],
    "add": lambda nf, t: reduce(add_signs, [sign(nf, a) for a in t.args]),
    **dict.fromkeys(("mul", "div"), lambda nf, t: reduce(mul_signs, [sign(nf, a) for a in t.args])),
    "pow": _power,
    "fn": _function,
    "where": _where,
    **dict.fromkeys(("sum", "prod", "max", "min"), _binder),
    "E": _mean,
    "at": _replaced,
}


# -- facts: what the hypotheses, the left side and the guards on the way down say -------------------------------------


class Fact:
    """`term` has one of `signs`, for all values of `letters` that satisfy `guards`."""

    __slots__ = ("guards", "letters", "signs", "source", "term")

    def __init__(self, term: Term, signs: int, letters: frozenset[Term], guards: tuple[Term, ...], source: str):
        self.term, self.signs, self.letters, self.guards, self.source = term, signs, letters, guards, source


def split(condition: Term) -> list[Term]:
    """The conjuncts of a condition, `all` and `not` taken apart. Letters bound by `all` are left free in the parts."""
    if condition.op == "and":
        return [part for c in condition.args for part in split(c)]
    if condition.op == "not" and (inner := negation(condition.args[0])) is not condition:
        return split(inner)
    return [condition] if condition is not TRUE else []


def numbers(condition: Term) -> Term:
    """A comparison of numbers for one; that a bit holds as that it is 1, that it does not as that it is 0."""
    if condition.op == "not" and condition.args[0].op == "holds":
        return cmp("==", condition.args[0].args[0], 0)
    return cmp("==", condition.args[0], 1) if condition.op == "holds" else condition


def difference(condition: Term) -> Term:
    """left - right of a comparison."""
    left, right = condition.args
    return left - right if not (right.op == "num" and right.value == 0) else left

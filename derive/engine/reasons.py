"""In words, why what had to hold for a step or a right side does hold: for the reader, nothing rests on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, repeat

from derive.kernel import domain
from derive.kernel.cases import ways
from derive.kernel.domain import Need
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Condition
from derive.kernel.signs import (
    ANY,
    FLIP,
    NEG,
    POS,
    POSITIVE,
    RELATION,
    ZERO,
    Fact,
    add_signs,
    difference,
    mul_signs,
    sign,
    sign_of,
    split,
)
from derive.term import NONLOCAL, TRUE, Term, cmp, fresh, index, make, replace_variable, substitute, subterms
from derive.term import ZERO as NOUGHT


def explained(account: Account, claim: Term) -> Account:
    """The account with a reason for each condition that was met, in letters for a reader of the claim."""

    def told(c: Condition) -> Condition:
        return Condition(lettered(c.condition, claim), reason=_words(c.need, c.here, c.known))

    return replace(
        account,
        conditions=[tuple(map(told, met)) for met in account.conditions],
        obligations=[told(c) for c in account.obligations],
        domain=[lettered(c, claim) for c in account.domain],
    )


def lettered(condition: Term, claim: Term) -> Term:
    """What the kernel found to hold for all letters, with letters k, l, … that the claim does not have."""
    if condition.op != "all":
        return condition
    taken = {t for t in subterms(claim) if t.op == "index"} | condition.letters
    mapping: dict[Term, Term] = {}
    for k, name in zip(condition.bound, chain("klmpqrstuv", repeat("k")), strict=False):
        mapping[k] = fresh(index(name, k.value[1]), taken | set(mapping.values()))
    return make("all", [substitute(a, mapping) for a in condition.args], None, mapping.values())


def _words(need: Need, nf: Normal, known: Sequence[Need]) -> str:
    here = nf.extended(need.guards)
    if here is None:
        return "its case cannot occur"
    condition, op = need.condition, need.condition.op
    if op in ("or", "and"):
        pairs = ways(condition) if op == "or" else ((c, TRUE) for c in condition.args)
        parts = [Need(c, need.letters, (*need.guards, *split(others))) for c, others in pairs]
        return next(_words(part, nf, known) for part in parts if domain.met(nf, part, known))
    if op == "cmp":
        return sign_words(here, difference(condition))
    if op in ("E", "Var", "Cov"):
        shown = domain.integrable(here, condition, known)
        return "by what is declared and assumed" if shown else "the left side needs it too"
    if op == "limit" and domain.has_limit(here, condition):
        return "by its expansion"
    return "the filter leaves something" if op == "any" else "the left side needs it too"


def sign_words(nf: Normal, term: Term) -> str:
    """What makes the sign of the term known."""
    op = term.op
    if op == "def":
        return sign_words(nf, nf.unfold(term))
    if op == "num":
        return "a number"
    if op == "size":
        return "a size is at least 1"
    if op == "var":
        declaration = nf.context.declarations.get(term.value)
        if declaration is not None and declaration.kind in ("positive", "nonnegative"):
            return f"{term.value} is declared {declaration.kind}"
    if op in ("delta", "holds", "Var", "fn", "pow", "at"):
        return _operator_words(nf, term) or _fact_words(nf, term)
    if op == "sum" and sign(nf, term.args[0]) == POS:
        return "a sum of positive terms"
    if op == "sum" and not sign(nf, term.args[0]) & NEG:
        return "a sum of terms that are not negative"
    if op in ("add", "mul", "div") and all(sign(nf, a) != ANY for a in term.args):
        return _parts_words(op, all(sign(nf, a) == POS for a in term.args))
    return _fact_words(nf, term)


def _parts_words(op: str, positive: bool) -> str:
    """How the parts of a sum, product or quotient decide its sign, knowing whether all of them are positive."""
    if not positive:
        return f"the signs of its {'terms' if op == 'add' else 'factors'}"
    if op == "add":
        return "a sum of positive terms"
    return "a product of positive factors" if op == "mul" else "a quotient of positive numbers"


def _operator_words(nf: Normal, term: Term) -> str | None:
    """What makes the sign of a function, power or the like known, where its form does."""
    op, first = term.op, term.args[0]
    if op in ("delta", "holds"):
        return "it is 0 or 1"
    if op == "Var":
        return "a variance is not negative"
    if op == "at":  # judged as written, with the entries replaced
        plain = nf.opened(first)
        local = not any(t.op in NONLOCAL for t in subterms(plain))
        filled = replace_variable(plain, term.value, term.bound, term.args[1]) if local else None
        return sign_words(nf.anywhere(term.value), filled) if filled is not None else None
    if op == "fn" and term.value == "exp":
        return "an exponential is positive"
    if op == "fn" and term.value in POSITIVE:
        return f"{term.value} is positive everywhere"
    if op == "fn" and term.value == "sqrt":
        return sign_words(nf, first) if sign(nf, first) == POS else "a square root is not negative"
    if op == "fn" and term.value in ("abs", "relu") and sign(nf, first) & ZERO:
        return f"{term.value} is not negative"
    if op == "pow" and term.args[1].op != "num":
        return "a power of a positive number" if sign(nf, first) == POS else None
    if op == "pow" and not sign(nf, first) & ZERO and sign(nf, first) != ANY:
        return sign_words(nf, first)
    return "an even power is not negative" if op == "pow" and term.args[1].value % 2 == 0 else None


def _fact_words(nf: Normal, term: Term) -> str:
    """The hypothesis or the like that says the sign of the term."""
    for fact in nf.raw_facts:
        if nf.instance(Fact(nf.canonical(fact.term), fact.signs, fact.letters, (), ""), nf.canonical(term)) is not None:
            return fact.source
    return "the signs of its normal form"


VAGUE = frozenset({"the signs of its normal form", "the signs of its factors", "the signs of its terms"})
_LARGEST_LIST = 4  # signs of parts that are worth a sentence


def sign_parts(nf: Normal, claim: Term) -> tuple[Condition, ...]:
    """The signs of the parts of left - right, each with its reason, that make a comparison hold.

    Nothing where the sum or product of those signs does not say so, or where one has no reason of its own.
    """
    signs, parts = _signed(nf, difference(claim))
    parts = tuple(dict.fromkeys(parts))
    reasons = [sign_words(nf, part) for part in parts]
    if signs & ~RELATION[claim.value] or not VAGUE.isdisjoint(reasons) or not 0 < len(parts) <= _LARGEST_LIST:
        return ()
    relations = {signs: relation for relation, signs in RELATION.items()}
    return tuple(
        Condition(cmp(relations[sign(nf, part)], part, NOUGHT), reason=reason)
        for part, reason in zip(parts, reasons, strict=True)
    )


def _signed(nf: Normal, term: Term) -> tuple[int, tuple[Term, ...]]:
    """The signs that a term has by those of its parts, and these parts: what has a reason of its own is one."""
    op = term.op
    if op == "num":
        return sign_of(term.value), ()
    if op == "neg":
        signs, parts = _signed(nf, term.args[0])
        return FLIP[signs], parts
    if op in ("add", "mul", "div"):
        combined = add_signs if op == "add" else mul_signs
        found = [_signed(nf, a) for a in term.args]
        return reduce(combined, (signs for signs, _ in found)), tuple(p for _, parts in found for p in parts)
    signs = sign(nf, term)
    if op == "def" and signs != ANY and (sign_words(nf, term) in VAGUE or nf.unfold(term).op in ("add", "mul", "div")):
        return _signed(nf, nf.unfold(term))
    return signs, (term,)

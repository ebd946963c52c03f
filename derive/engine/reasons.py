"""In words, why what had to hold for a step or a right side does hold: for the reader, nothing rests on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from derive.kernel import domain, limits
from derive.kernel.domain import Need
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Condition
from derive.kernel.signs import ANY, NEG, POS, Fact, difference, sign
from derive.term import Term


def explained(account: Account) -> Account:
    """The account with a reason for each condition that was met."""
    steps = [tuple(map(_told, met)) for met in account.conditions]
    return replace(account, conditions=steps, obligations=[_told(c) for c in account.obligations])


def _told(condition: Condition) -> Condition:
    return Condition(condition.condition, reason=_words(condition.need, condition.here, condition.known))


def _words(need: Need, nf: Normal, known: Sequence[Need]) -> str:
    here = nf.extended(need.guards)
    if here is None:
        return "its case cannot occur"
    condition, op = need.condition, need.condition.op
    if op in ("or", "and"):
        parts = [Need(c, need.letters, need.guards) for c in condition.args]
        return next(_words(part, nf, known) for part in parts if domain.met(nf, part, known))
    if op == "cmp":
        return sign_words(here, difference(condition))
    if op in ("E", "Var", "Cov"):
        return "the moments exist"
    if op == "limit" and limits.exists(here, condition):
        return "the limit exists"
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
    if op == "fn" and term.value == "exp":
        return "an exponential is positive"
    if op == "sum" and sign(nf, term.args[0]) == POS:
        return "a sum of positive terms"
    if op == "sum" and not sign(nf, term.args[0]) & NEG:
        return "a sum of terms that are not negative"
    if op in ("add", "mul", "div", "pow") and all(sign(nf, a) != ANY for a in term.args):
        return f"the signs of its {'terms' if op == 'add' else 'factors'}"
    for fact in nf.raw_facts:
        if nf.instance(Fact(nf.canonical(fact.term), fact.signs, fact.letters, (), ""), nf.canonical(term)) is not None:
            return fact.source
    return "the signs of its normal form"

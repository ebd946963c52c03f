"""The answer of `derive diff`: the shortest (in nodes) of the forms that the engine knows how to write."""

from __future__ import annotations

from derive.engine.forms import forms
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected
from derive.term import Term


def shortest(nf: Normal, term: Term) -> Term:
    """The shortest form that is known of the term and equal to it, by its number of nodes."""
    return next((f for f in forms(nf, term) if equal(nf, f, term)), term)


def equal(nf: Normal, form: Term, term: Term) -> bool:
    try:
        return nf.equal(form, term)
    except Rejected:
        return False

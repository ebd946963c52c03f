"""Equations that hold once a 1 is put in: B = B*(A*C) = (B*A)*C = C, where B*A = 1 and A*C = 1 are known.

What stands at a letter of the claim is summed over another one times delta, for which the known product is put in; the
other equations must close what is left.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from derive.engine.hypotheses import Equation, amount, close_gap
from derive.engine.lettering import names_of, pool
from derive.kernel.check import Ground
from derive.kernel.poly import Poly, add_to, key, mono_key
from derive.kernel.proof import Proof, Rejected, Step, Use
from derive.term import Term, index, mul, num, substitute

MAX_TRIES = 24


def inserted(ground: Ground, claim: Term, equations: list[Equation]) -> Proof | None:
    """The equation with a product that is known to be 1 put in at one place; None where that does not close it."""
    nf = ground.full
    try:
        left, right = ground.claim.args
        gap = add_to(dict(nf.poly(left)), nf.poly(right), -1)
        for e, use in islice(insertions(ground, gap, equations), MAX_TRIES):
            uses = close_gap(nf, add_to(dict(gap), amount(nf, e, use), -1), equations)
            if uses is not None:
                return Proof(claim, (Step("algebra", right, uses=(use, *uses)),))
    except (Rejected, RecursionError):
        return None
    return None


def insertions(ground: Ground, gap: Poly, equations: list[Equation]) -> Iterator[tuple[Equation, Use]]:
    """Equations to delta(p, q), with uses that put their left side into a term of the gap, at one of its letters."""
    nf, name = ground.full, next(pool(names_of(ground)))
    units = [e for e in equations if e.right.op == "delta" and set(e.right.args) <= e.letters]
    for mono in sorted(gap, key=lambda m: (len(m), mono_key(m))):
        term = nf.term({mono: gap[mono]})
        for i in sorted(term.letters & ground.claim.letters, key=key):
            for e in units:
                for p, q in (e.right.args, e.right.args[::-1]):
                    if p.value[1] == i.value[1]:
                        other = index(name, i.value[1])
                        multiplier = mul(num(-1), substitute(term, {i: other}))
                        yield e, Use(e.kind, e.number, ((p, i), (q, other)), multiplier, (other,))

"""Squares that are written out: x**2 + 2*x + 1 is (x + 1)**2, so that its root is |x + 1|, and it is 0 where x + 1 is.

The kernel multiplies out again.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from derive.engine.fold import names, written
from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, key, scaled, small
from derive.kernel.proof import Proof, Rejected, Step
from derive.language.places import put
from derive.term import TWO, Term, mul, num, power

MAX_ROOT = 6  # terms of a sum that is recognised by its square


def square_root(nf: Normal, poly: Poly) -> tuple[int | Fraction, Poly] | None:
    """(c, u) where the polynomial is c u^2, for a sum u; None where it is no such square."""
    if not 3 <= len(poly) <= MAX_ROOT * (MAX_ROOT + 1) // 2:
        return None
    atoms = sorted({a for m in poly for a, _ in m}, key=key)
    places: dict[tuple[int, ...], int | Fraction] = {}
    for mono, c in poly.items():
        if any(not isinstance(e, int) or e < 0 for _, e in mono):
            return None
        here = dict(mono)
        places[tuple(here.get(a, 0) for a in atoms)] = c  # type: ignore[misc]  # integers, as just seen
    top = max(places)
    if any(e % 2 for e in top) or any(e % 2 for e in min(places)):
        return None
    lead, scale = tuple(e // 2 for e in top), places[top]
    root: dict[tuple[int, ...], int | Fraction] = {lead: 1}
    for _ in range(MAX_ROOT):
        left = {p: Fraction(c) / scale for p, c in places.items()}
        for p, c in root.items():
            for q, d in root.items():
                joint = tuple(e + f for e, f in zip(p, q, strict=True))
                left[joint] = left.get(joint, Fraction(0)) - c * d
        left = {p: c for p, c in left.items() if c}
        if not left:
            found: Poly = {
                frozenset((a, e) for a, e in zip(atoms, p, strict=True) if e): small(c) for p, c in root.items()
            }
            return (scale, found) if scaled(nf.mul(found, found), scale) == poly else None
        highest = max(left)
        step = tuple(e - f for e, f in zip(highest, lead, strict=True))
        if any(e < 0 for e in step) or step in root:
            return None
        root[step] = left[highest] / 2
    return None


def takes_root(term: Term) -> bool:
    """Whether the term is a root, or a power that is not known to be an integer."""
    if term.op == "pow":
        return term.args[1].op != "num" or term.args[1].value.denominator != 1
    return term.op == "fn" and term.value == "sqrt"


def squares(nf: Normal, term: Term, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Term]]:
    """The places of squares under a root or a real power, each with the square as one."""
    found = None
    if takes_root(term):
        try:
            found = square_root(nf, nf.poly(term.args[0]))
        except Rejected:
            found = None
    if found is not None:
        square = power(written(nf, found[1], names(nf)), TWO)
        yield (*path, 0), square if found[0] == 1 else mul(num(found[0]), square)
        return
    for p, a in enumerate(term.args):
        yield from squares(nf, a, (*path, p))


def rooted(ground: Ground, claim: Term) -> Proof | None:
    """The equation by way of its sides with squares as such; None where they have none."""
    left, right = ground.claim.args
    nf, steps = ground.full, []
    for path, square in squares(nf, left):
        left = put(left, path, square)
        steps.append(Step("field_identity", left, path))
    back = []
    for path, square in squares(nf, right):
        back.append(Step("field_identity", right, path))
        right = put(right, path, square)
    if not steps and not back:
        return None
    return Proof(claim, (*steps, Step("algebra", right), *reversed(back)))

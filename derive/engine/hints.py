"""What would close a claim that is open: a hypothesis under which the rest of left - right is 0."""

from __future__ import annotations

from fractions import Fraction

from derive.engine.fold import names, written
from derive.kernel.normal import Normal
from derive.kernel.poly import Poly, add_to, key, small
from derive.kernel.proof import Rejected
from derive.term import ZERO, Term, cmp, num


def missing_hypothesis(nf: Normal, gap: Term, claim: Term) -> Term | None:
    """An equation `atom == number` of whose left - right the gap is a multiple; None if there is none.

    That a mean has the value that is claimed is no hypothesis to suggest.
    """
    try:
        poly = nf.poly(gap)
    except Rejected:
        return None
    shared = frozenset.intersection(*poly) if poly else frozenset()
    for a, _ in sorted(shared, key=lambda p: key(p[0])):  # all that is left is left where a denominator is 0
        if a.op == "where" and a.args[0].op == "cmp" and a.args[0].value == "==" and a.args[0].args[1] is ZERO:
            return cmp("!=", written(nf, nf.poly(a.args[0].args[0]), names(nf)), ZERO)
    atoms = {a for m in poly for a, e in m if e == 1 and a.op in ("sum", "var", "E", "prod") and not a.letters}
    for atom in sorted(atoms, key=lambda a: (a.op != "sum", key(a))):
        value = root(poly, atom)
        own = {frozenset({(atom, 1)}): 1}
        claimed = atom.op == "E" and own in [nf.poly(side) for side in claim.args]
        if value is not None and not claimed:
            return cmp("==", written(nf, own, names(nf)), num(value))
    return None


def root(poly: Poly, atom: Term) -> Fraction | None:
    """The number c for which poly = P * (atom - c), with P free of the atom."""
    slope: Poly = {}
    rest: Poly = {}
    for mono, c in poly.items():
        here = {e for a, e in mono if a is atom}
        if here == {1}:
            slope[frozenset(p for p in mono if p[0] is not atom)] = c
        elif not here:
            rest[mono] = c
        else:
            return None
    if not slope or not rest:
        return None
    mono = min(slope, key=lambda m: sorted(key(a) for a, _ in m))
    if mono not in rest:
        return None
    ratio = Fraction(rest[mono]) / slope[mono]
    return None if add_to(dict(rest), {m: small(c * ratio) for m, c in slope.items()}, -1) else -ratio

"""Where a term changes its sign: at a zero with both signs beside it, which is a boundary between two formulas."""

from __future__ import annotations

from collections.abc import Iterable

from derive.kernel.derivative import differentiate
from derive.kernel.normal import Normal
from derive.kernel.poly import Exponent, Mono, Poly, key
from derive.kernel.proof import Rejected
from derive.kernel.signs import NEG, POS, ZERO, sign
from derive.term import NONLOCAL, Term, cmp, subterms


def changes_sign(nf: Normal, u: Term, written: Term) -> tuple[bool, bool]:
    """Whether every zero of u has both signs beside it unless u is 0 all around, and whether it has them in any case.

    By a slope that never vanishes, or a form linear in each entry. A polynomial in which no entry meets itself is
    harmonic, so that no zero of it is an extremum.
    """
    tests = {a.args[0] for m in nf.poly(u) for a, _ in m if a.op == "where" and a.args[0].value in (">", "==")}
    if tests:
        return _in_each_case(nf, u, min(tests, key=key))
    names = sorted(nf.context.reached(u.names))
    kinds = {n: nf.context.declarations[n].kind for n in names if n in nf.context.declarations}
    for name in names:
        if kinds.get(name) in ("real", "positive"):
            for entry in {t for t in subterms(u) if t.op == "var" and t.value == name and t.letters <= u.letters}:
                for form in (u, nf.opened(written)):  # as written it may be plain that a slope is positive
                    try:
                        slope = differentiate(nf, form, entry)
                        if {sign(nf, slope), sign(nf, nf.canonical(slope))} & {POS, NEG}:
                            return True, True
                    except Rejected:
                        continue
    linear = all(kind in ("real", "positive") for kind in kinds.values()) and all(_linear(m) for m in nf.poly(u))
    return linear, linear and lasting(nf, nf.poly(u))


def _in_each_case(nf: Normal, u: Term, test: Term) -> tuple[bool, bool]:
    """The same of a u in pieces, told apart by a continuous v > 0, where u has no zero at v = 0."""
    border, *sides = (nf.under(cmp(relation, *test.args)) for relation in ("==", ">", "<"))
    jumps = test.value != ">" or any(t.op in NONLOCAL | {"where", "argmax", "delta"} for t in subterms(test))
    if jumps or (border is not None and sign(border, border.canonical(u)) & ZERO):
        return False, False
    forms = [(here, here.canonical(u)) for here in sides if here is not None]
    found = [changes_sign(here, form, form) for here, form in forms if sign(here, form) & ZERO]
    return all(each for each, _ in found), all(certain for _, certain in found)


def lasting(nf: Normal, poly: Poly) -> bool:
    """Whether the polynomial is not 0 for all values of its variables, whatever its letters and sizes are: no
    coefficient of some term can be 0, and no other term is in the same variables."""

    def stays(a: Term) -> bool:
        inner = a.args[0].args if a.op == "sum" and a.args[0].op == "mul" else a.args[:1] if a.op == "sum" else (a,)
        return all(t.op == "var" or nf.certain(t) for t in inner)

    return any(all(stays(a) for a, _ in m) and all(_apart(nf, m, n) for n in poly if n is not m) for m in poly)


def _apart(nf: Normal, mono: Mono, other: Mono) -> bool:
    """Whether two terms are in different variables, whatever the letters and sizes are."""
    first, second = _variables(mono), _variables(other)
    if first is None or second is None or first != second:
        return first is not None and second is not None
    for name in first[1]:
        x, y = ({t for a, _ in m for t in subterms(a) if t.op == "var" and t.value == name} for m in (mono, other))
        places = zip(x.pop().args, y.pop().args, strict=True) if len(x) == len(y) == 1 else ()
        if any(not nf.delta(i, j) for i, j in places):
            return True
    return False


ENTRIES = frozenset({"var", "mul", "sum", "index", "argmax", "delta", "where", "cmp", "num", "true"})


def _variables(mono: Mono) -> tuple[set[tuple[Term, Exponent]], frozenset[str]] | None:
    """The scalars with their powers, exponentials of them included, and the arrays, entries of which may be one; None
    for what else there is, which may be anything."""
    scalars, arrays = set[tuple[Term, Exponent]](), frozenset[str]()
    for a, e in mono:
        inside = list(subterms(a))
        if not any(t.args for t in inside if t.op == "var") and {t.op for t in inside} <= {"var", "mul", "fn"}:
            if any(t.op == "fn" and t.value != "exp" for t in inside):
                return None
            scalars.add((a, e))
        elif {t.op for t in inside} <= ENTRIES:
            arrays |= a.names
        elif a.names:
            return None
    return scalars, arrays


def _linear(mono: Iterable[tuple[Term, object]]) -> bool:
    names: set[str] = set()
    for a, e in mono:
        if not a.names:
            continue
        parts = [a]
        if a.op == "sum":
            parts = list(a.args[0].args) if a.args[0].op == "mul" else [a.args[0]]
        for p in parts:
            if not p.names:
                continue
            if p.op != "var" or e != 1 or p.value in names:
                return False
            names.add(p.value)
    return True

"""Terms that are one and the same function by their form alone, where numbers at a point could not tell."""

from __future__ import annotations

from flint import fmpq

from derive.evidence.numbers import ONE, ZERO, NotDecided, NotDefined, rational
from derive.evidence.places import Entry, Evaluation, Letters
from derive.term import Term

Form = dict[Entry | None, fmpq]  # coefficients of the entries, and the constant under None


def same(here: Evaluation, left: Term, right: Term, letters: Letters) -> bool:
    """Whether the two are the same linear combination of entries, so that no comparison of them ever changes."""
    if left is right:
        return True
    a, b = _found(here, left, letters), _found(here, right, letters)
    return a is not None and b is not None and not _sum([(a, ONE), (b, -ONE)])


def zero(here: Evaluation, term: Term, letters: Letters) -> bool:
    """Whether the term is 0 as a linear combination of entries."""
    found = _found(here, term, letters)
    return found is not None and not found


def _found(here: Evaluation, term: Term, letters: Letters) -> Form | None:
    try:
        return _form(here, term, letters)
    except (NotDecided, NotDefined):  # a subscript that is not known
        return None


def _sum(parts: list[tuple[Form, fmpq]]) -> Form:
    total: Form = {}
    for form, factor in parts:
        for entry, c in form.items():
            total[entry] = total.get(entry, ZERO) + factor * c
    return {entry: c for entry, c in total.items() if c != 0}


def _form(here: Evaluation, term: Term, letters: Letters) -> Form | None:
    """The linear combination that the term is, or None where it is none to see."""
    op, args = term.op, term.args
    if op == "var":
        return {(term.value, here.subscripts(term, letters)): ONE}
    if op == "num":
        return _sum([({None: rational(term.value)}, ONE)])
    if op in ("size", "index"):
        return _sum([({None: fmpq(here.sizes[term.value] if op == "size" else here.letter(term, letters))}, ONE)])
    if op == "def":
        definition = here.scope.definitions[term.value]
        own = dict(zip(definition.letters, here.subscripts(term, letters), strict=True))
        return _form(here, definition.body, {**here.fixed, **own})
    if op in ("add", "neg"):
        parts = [_form(here, a, letters) for a in args]
        known = [(p, ONE if op == "add" else -ONE) for p in parts if p is not None]
        return _sum(known) if len(known) == len(parts) else None
    if op == "mul":
        found: Form | None = {None: ONE}
        for a in args:
            found = _product(found, _form(here, a, letters))
        return found
    if op == "div":
        bottom = _form(here, args[1], letters)
        fixed = bottom is not None and set(bottom) == {None}
        return _product(_form(here, args[0], letters), {None: 1 / bottom[None]}) if fixed and bottom else None
    return None


def _product(a: Form | None, b: Form | None) -> Form | None:
    if a is None or b is None or (set(a) - {None} and set(b) - {None}):
        return None
    fixed, other = (a, b) if not set(a) - {None} else (b, a)
    return _sum([(other, fixed.get(None, ZERO))])

"""Terms that are one and the same function around the point, where numbers at the point could not tell.

A term is seen as a polynomial in entries and in what is no polynomial, each such part taken for a variable of its own.
A function in pieces is the piece that it is at the point, where that is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flint import fmpq

from derive.evidence.numbers import ONE, ZERO, NotDecided, NotDefined, jumps, rational, sign, standard
from derive.evidence.places import Evaluation, Letters
from derive.kernel.poly import key
from derive.term import Term

Form = dict[tuple[Any, ...], fmpq]  # {variables of a product, in order: its coefficient}
MAX_TERMS, MAX_DEGREE = 40, 6
PIECES = frozenset({"abs", "relu", "sign", "max", "min"})


def same(here: Evaluation, left: Term, right: Term, letters: Letters) -> bool:
    """Whether the two are the same function around the point, so that no comparison of them ever changes."""
    return left is right or one_function(here, [(left, letters), (right, letters)])


def zero(here: Evaluation, term: Term, letters: Letters) -> bool:
    """Whether the term is 0 around the point."""
    return _found(here, term, letters) == {}


def one_function(here: Evaluation, terms: list[tuple[Term, Letters]]) -> bool:
    """Whether all of the terms, each at its letters, are the same function around the point."""
    first, *others = (_found(here, term, letters) for term, letters in terms)
    return first is not None and all(other == first for other in others)


def _found(here: Evaluation, term: Term, letters: Letters) -> Form | None:
    try:
        return _form(here, term, letters)
    except (NotDecided, NotDefined):  # a subscript that is not known, a polynomial that is too large
        return None


def _form(here: Evaluation, term: Term, letters: Letters) -> Form:
    op, args = term.op, term.args
    if op == "var":
        return {((0, term.value, here.subscripts(term, letters)),): ONE}
    if op in ("num", "size", "index"):
        return _number(rational(term.value) if op == "num" else here.value(term, letters))
    if op == "def":
        definition = here.scope.definitions[term.value]
        own = dict(zip(definition.letters, here.subscripts(term, letters), strict=True))
        return _form(here, definition.body, {**here.fixed, **own})
    if op in ("add", "neg"):
        return _sum([(_form(here, a, letters), ONE if op == "add" else -ONE) for a in args])
    if op == "sum":
        return _sum([(_form(here, args[0], k), ONE) for k in here.selected(term, letters)])
    if op == "mul":
        return _product([_form(here, a, letters) for a in args])
    if op == "pow" and args[1].op == "num" and args[1].value in range(MAX_DEGREE + 1):
        return _product([_form(here, args[0], letters)] * int(args[1].value))
    if op == "div":
        bottom = _form(here, args[1], letters)
        if set(bottom) == {()}:
            return _sum([(_form(here, args[0], letters), 1 / bottom[()])])
    if op == "where":
        found = here.judge(args[0], letters)
        if found.stable or same(here, *args[1:], letters):
            return _form(here, args[1] if found.truth else args[2], letters)
    if op == "fn" and term.value in PIECES:
        piece = _piece(here, term, letters)
        if piece is not None:
            return piece
    shown = sorted((k.value, here.letter(k, letters)) for k in term.letters)
    return {((1, key(term)[1], tuple(shown)),): ONE}


def _piece(here: Evaluation, term: Term, letters: Letters) -> Form | None:
    """A function in pieces as the one of them that it is around the point."""
    forms = [_form(here, a, letters) for a in term.args]
    first, second = forms if len(forms) == 2 else (*forms, {})
    side = 0
    if first != second:
        values = [here.value(a, letters) for a in term.args]
        gap = standard(values[0]) - (standard(values[1]) if len(values) == 2 else ZERO)
        side = 0 if any(map(jumps, values)) else sign(gap) or 0
        if not side:
            return None
    return PIECE[term.value](first, second, side)


PIECE: dict[str, Callable[[Form, Form, int], Form]] = {
    "abs": lambda u, _, side: _sum([(u, fmpq(side))]),
    "relu": lambda u, _, side: u if side > 0 else {},
    "sign": lambda _, __, side: _number(fmpq(side)),
    "max": lambda u, v, side: u if side >= 0 else v,
    "min": lambda u, v, side: u if side <= 0 else v,
}


def _number(value: fmpq) -> Form:
    return {(): value} if value else {}


def _sum(parts: list[tuple[Form, fmpq]]) -> Form:
    total: Form = {}
    for form, factor in parts:
        for variables, c in form.items():
            total[variables] = total.get(variables, ZERO) + factor * c
    return _bounded({variables: c for variables, c in total.items() if c})


def _product(forms: list[Form]) -> Form:
    total: Form = {(): ONE}
    for form in forms:
        pairs = [(tuple(sorted(a + b)), c * d) for a, c in total.items() for b, d in form.items()]
        total = _sum([({variables: c}, ONE) for variables, c in pairs])
    return total


def _bounded(form: Form) -> Form:
    if len(form) > MAX_TERMS or any(len(variables) > MAX_DEGREE for variables in form):
        raise NotDecided("a polynomial that is too large")
    return form

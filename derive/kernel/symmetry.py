"""Symmetries of laws: a mean is that of the average over what may change places, or over both sides of a centre."""

from __future__ import annotations

from collections.abc import Callable

from derive.kernel import domain, moments
from derive.kernel.context import Context
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected, Use
from derive.kernel.wellformed import well_formed
from derive.term import (
    NONLOCAL,
    TRUE,
    Term,
    both,
    cmp,
    index,
    make,
    over,
    replace_variable,
    size,
    substitute,
    subterms,
    var,
    where,
)

# What has the same law as x: it lies as far on the other side of the centre.
MIRRORED: dict[str, Callable[..., Term]] = {
    "normal": lambda x, mean, variance: 2 * mean - x,
    "uniform": lambda x, low, high: low + high - x,
    "rademacher": lambda x: -x,
}


def equation(nf: Normal, context: Context, use: Use) -> Term:
    """E(f) and the mean of the average of f that is named; E(f) must exist.

    With one pair of letters k, i: the average of what f is at k in place of i, over the axis. With a list of f and a
    random entry: that of f and of what it is where such entries lie on the other side of the centre of their law, at
    the entry's letters that f has too, at all others.
    """
    body, *entries = use.value.args if use.value is not None and use.value.op == "list" else (use.value,)
    if body is None or len(entries) + len(use.letters) != 1:
        raise Rejected("a symmetry takes a value, and a letter or an entry")
    for part in (make("E", (body,)), *entries):
        well_formed(part, context, reserved="")
    mean, body = make("E", (body,)), nf.opened(body)
    if any(t.op in NONLOCAL for t in subterms(body)) or not domain.met(nf, domain.Need(mean), ()):
        raise Rejected("the mean is not known to exist, or holds a derivative, limit or mean")
    average = _mirrored(nf, body, entries[0]) if entries else _exchanged(nf, body, *use.letters[0])
    return cmp("==", mean, make("E", (average,)))


def _exchanged(nf: Normal, body: Term, k: Term, i: Term) -> Term:
    """The average over k, which replaces i: in another order of the axis, the entries have the same law."""
    if i.op != "index" or k.value[1] != i.value[1] or k in body.letters or not _even(nf, body, i):
        raise Rejected("the entries do not all play the same part")
    return over("sum", substitute(body, {i: k}) / size(i.value[1]), k)


def _even(nf: Normal, body: Term, letter: Term) -> bool:
    """Whether a new order of the letter's axis makes of the body what it is at another letter, under the same law."""
    axis = letter.value[1]
    for t in subterms(body):
        letters = [a for a in t.args if a.op == "index" and a.value[1] == axis]
        compared = (t.op == "delta" or t.value in ("==", "!=")) and len(letters) == 2
        declared = nf.context.declarations.get(t.value) if t.op == "var" else None
        if declared is not None and axis in declared.axes:
            if declared.law is None or moments.varies(nf, t.value) or len(letters) != declared.axes.count(axis):
                return False
        elif t.op == "argmax" or (letters and not compared) or (declared is not None and declared.over == axis):
            return False
    return body.op != "index" and {k for k in body.letters if k.value[1] == axis} <= {letter}


def _mirrored(nf: Normal, body: Term, entry: Term) -> Term:
    """The average of the body and of its value where the entry, or each one, lies on the other side of the centre."""
    if entry.op != "var" or any(a.op != "index" for a in entry.args):
        raise Rejected("what is mirrored is an entry, at letters")
    letters = tuple(index(f"&{p}", k.value[1]) for p, k in enumerate(entry.args))
    here = var(entry.value, *letters)
    at = both(*(cmp("==", k, a) for k, a in zip(letters, entry.args, strict=True) if a in body.letters))
    there = image(nf, here) if at is TRUE else where(at, image(nf, here), here)
    return (body + replace_variable(body, entry.value, letters, there)) / 2


def image(nf: Normal, entry: Term) -> Term:
    """What lies on the other side of the centre of the entry's law."""
    family, parameters = moments.law_at(nf, entry)
    if family not in MIRRORED:
        raise Rejected("the law is not symmetric")
    return MIRRORED[family](entry, *parameters)

"""What SciPy has for a quantity, measured beside the generated code: found by its formula, not its name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module, util
from typing import Any

import numpy as np

from derive.codegen import Argument, CodegenError, Quantity
from derive.codegen.prepare import prepared, reachable
from derive.evidence.inputs import plain
from derive.kernel.context import Context
from derive.kernel.normal import Normal
from derive.term import ONE, Term, add, div, fn, index, neg, over, replace_variable, var

KINDS = ("real", "random", "positive", "nonnegative")


@dataclass(frozen=True)
class Peer:
    """A function of another library that takes the same one array; what it gives in a wider dtype is rounded."""

    name: str
    arguments: tuple[Argument, ...]
    function: Callable[..., Any]

    def __call__(self, **arrays: Any) -> Any:
        (given,) = arrays.values()
        array = np.asarray(given)
        return np.asarray(self.function(array)).astype(array.dtype)


def _entry(name: str, letter: Term) -> Term:
    return fn("exp", var(name, letter))


def _total(name: str, axis: str) -> Term:
    k = index("k_", axis)
    return over("sum", _entry(name, k), k)


# The function of scipy.special, and what it is of a vector z: given z's name, its axis, and the letter of the result.
ROWS: tuple[tuple[str, Callable[[str, str, Term], Term]], ...] = (
    ("softmax", lambda z, n, i: div(_entry(z, i), _total(z, n))),
    ("log_softmax", lambda z, n, i: fn("log", div(_entry(z, i), _total(z, n)))),
    ("logsumexp", lambda z, n, i: fn("log", _total(z, n))),
)
# The same for functions of one number, or of every entry of an array.
SCALARS: tuple[tuple[str, Callable[[Term], Term]], ...] = (
    ("expit", lambda x: fn("sigmoid", x)),
    ("log_expit", lambda x: fn("log", fn("sigmoid", x))),
    ("logit", lambda x: fn("log", div(x, add(ONE, neg(x))))),
    ("erf", lambda x: fn("erf", x)),
    ("gammaln", lambda x: fn("lgamma", x)),
    ("digamma", lambda x: fn("digamma", x)),
)


def peer(q: Quantity) -> Peer | None:
    """SciPy's function for the quantity; None where there is none, or no SciPy."""
    if util.find_spec("scipy") is None or len(q.letters) > 1:
        return None
    try:
        arguments = q.plan("naive").arguments
        term, context = prepared(q.term, plain(q.context), q.fixed)
    except CodegenError:
        return None
    if len(arguments) != 1 or len(arguments[0].axes) > 1 or arguments[0].kind not in KINDS:
        return None
    (argument,) = arguments
    written = _unfolded(term, context)
    for name, wanted in _candidates(argument, q.letters):
        if Normal(context).equal(written, wanted):
            return Peer(name, arguments, getattr(import_module("scipy.special"), name))
    return None


def _candidates(argument: Argument, letters: tuple[Term, ...]) -> Iterator[tuple[str, Term]]:
    """What SciPy has of this one argument, with the axes of the result."""
    if len(argument.axes) == len(letters):
        yield from ((name, formula(var(argument.name, *letters))) for name, formula in SCALARS)
    if argument.axes:
        letter = letters[0] if letters else index("i_", argument.axes[0])
        for name, formula in ROWS:
            wanted = formula(argument.name, argument.axes[0], letter)
            if (letter in wanted.letters) == bool(letters):
                yield name, wanted


def _unfolded(term: Term, context: Context) -> Term:
    for d in reversed(reachable(term, context)):
        term = replace_variable(term, d.name, d.letters, d.body, op="def")
    return term

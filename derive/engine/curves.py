"""Lines for functions of a claim: how fast they grow at most, and the parabolas that they touch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from derive.engine.forms import one_plus_exp
from derive.kernel.normal import Normal
from derive.kernel.order import INCREASING, ROWS, U, V
from derive.kernel.proof import Line
from derive.kernel.rules import instantiate
from derive.kernel.signs import NEG, ZERO, sign
from derive.term import ONE, PI, Term, add, fn, neg, sub
from derive.term import ZERO as NOUGHT

if TYPE_CHECKING:
    from derive.engine.goals import Goal
    from derive.engine.order import Search

MAX_SLOPES = 6


def slopes(search: Search, here: Normal, goal: Goal) -> Iterator[Line]:
    """No function of the claim grows by more than its greatest slope, between its arguments and from 0.

    Those that are nothing but themselves in normal form are said to increase, if they do.
    """
    found = list(search.slopes)[:MAX_SLOPES]
    for name, u, letters in found:
        others = () if letters else [v for f, v, more in found if f == name and v is not u and not more]
        # The other way round each two meet at the turn of the other one.
        pairs = [*((u, v) for v in others), (u, NOUGHT), (NOUGHT, u)]
        if name in ("sin", "cos"):  # half a turn on they fall by as much as they rise
            pairs += [(add(a, PI), add(b, PI)) for a, b in pairs]
        own = any(a.op == "fn" and a.value == name for m in here.poly(fn(name, u)) for a, _ in m)
        rows = [f"{name}_slope_bound", *([f"{name}_increasing"] if own and name in INCREASING else ())]
        for upper, lower in pairs:
            signs = sign(here, sub(upper, lower))
            for row in rows if not signs & NEG else ():
                rule = row if signs & ZERO else f"strict_{row}"
                condition = instantiate(ROWS[rule].conclusion, {U.value: upper, V.value: lower})
                yield Line(condition, rule, (upper, lower), (), (), letters, goal.scope.where)


def parabolas(search: Search, goal: Goal) -> None:
    """Suggest the parabolas that functions of the claim touch, where the goal has squares or is about sinh."""
    squared = any(isinstance(e, int) and e > 1 for m in goal.poly for _, e in m)
    found = list(search.curves)[:MAX_SLOPES]
    for name, u, letters in found:
        rule = "sinh_tangent" if name == "sinh" else f"{name}_parabola"
        points = [(u,)]
        if name == "softplus":
            others = [NOUGHT, *(v for f, v, more in found if f == name and v is not u and not (letters or more))]
            points = [pair for v in others for pair in ((u, v), (v, u))]
        for values in points if squared or name == "sinh" else ():
            for one in (f"strict_{rule}", rule):
                metas = dict(zip((U.value, V.value), values, strict=False))
                condition = instantiate(ROWS[one].conclusion, metas)
                if search.suggest(Line(condition, one, values, (), (), letters, goal.scope.where)):
                    break


def touching(nf: Normal, t: Term) -> Iterator[tuple[str, Term]]:
    """The functions and the values at which parabolas may touch the term."""
    if t.op != "fn" or t.value not in ("exp", "log", "log1p", "cos", "cosh", "sinh", "softplus"):
        return
    (u,) = t.args
    grown = one_plus_exp(u) if t.value == "log" else None
    if t.value == "log1p" and u.op == "fn" and u.value == "exp":
        grown = u.args[0]
    if t.value == "cosh":
        yield "log_cosh", u
    if t.value == "exp":
        yield "falling_exp", neg(u)
    if grown is not None:
        yield "softplus", grown
    elif t.value in ("log", "log1p"):
        yield "log", u if t.value == "log1p" else nf.canonical(sub(u, ONE))
    else:
        yield t.value, u

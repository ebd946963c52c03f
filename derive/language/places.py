"""Places in a term, as paths of argument numbers, and something else in their place, here or everywhere."""

from __future__ import annotations

from collections.abc import Callable

from derive.term import Term, rebuild

Path = tuple[int, ...]


def subterm(term: Term, path: Path) -> Term:
    """The subterm at the path of argument numbers. Raises IndexError where there is none."""
    for step in path:
        if not 0 <= step < len(term.args):
            raise IndexError(step)
        term = term.args[step]
    return term


def put(term: Term, path: Path, new: Term) -> Term:
    """The term with the subterm at the path replaced, bound letters left as they are: it stands in their scope."""
    if not path:
        return new
    here = path[0]
    return rebuild(term, [*term.args[:here], put(term.args[here], path[1:], new), *term.args[here + 1 :]])


def transform(term: Term, rule: Callable[[Term], Term | None]) -> Term:
    """The term rewritten from the inside out: `rule` gives a replacement or None. Binders are not renamed."""
    memo: dict[Term, Term] = {}

    def walk(t: Term) -> Term:
        if t not in memo:
            new = rebuild(t, [walk(a) for a in t.args]) if t.args else t
            memo[t] = rule(new) or new
        return memo[t]

    return walk(term)

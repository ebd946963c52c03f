"""Equal forms of scalar functions: two sides in the formula language, x, a and b standing for any expression."""

from __future__ import annotations

from functools import cache

from derive.codegen.differences import Definitions, opened
from derive.codegen.stable import Inner, Rewrite
from derive.language import expression, loads
from derive.language.theory import Theory
from derive.term import Term, replace_variable, var

# left, right, and the theorem of `stable_forms` that says so; the more particular ones first
TEXTS: tuple[tuple[str, str, str], ...] = (
    ("1/(1 + exp(-x))", "sigmoid(x)", "logistic"),
    ("1/(1 + exp(x))", "sigmoid(-x)", "logistic"),
    ("exp(x)/(1 + exp(x))", "sigmoid(x)", "logistic"),
    ("exp(a)/(exp(a) + exp(b))", "sigmoid(a - b)", "logistic"),
    ("exp(a)/exp(b)", "exp(a - b)", "quotient"),
    ("1 - sigmoid(x)", "sigmoid(-x)", "logistic"),
    ("log(sigmoid(x))", "-softplus(-x)", "soft_plus"),
    ("log(1 - sigmoid(x))", "-softplus(x)", "soft_plus"),
    ("log(1 + exp(x))", "softplus(x)", "soft_plus"),
    ("log(exp(a) + exp(b))", "max(a, b) + log1p(exp(-abs(a - b)))", "soft_plus"),
    ("log(1 + x)", "log1p(x)", "near_one"),
    ("exp(x) - 1", "expm1(x)", "near_one"),
    ("1 - exp(x)", "-expm1(x)", "near_one"),
    ("1 - tanh(x)**2", "1/cosh(x)**2", "near_one"),
)
LETTERS = ("x", "a", "b")


@cache
def _theory() -> Theory:
    return loads('"""Letters of the rows."""\n' + "".join(f"{name}: real\n" for name in LETTERS))


@cache
def _side(text: str) -> Term:
    """The text read, its letters under names that no theory can have: what replaces one is not replaced again."""
    term = expression(text, _theory())
    for name in LETTERS:
        term = replace_variable(term, name, (), var(f"?{name}"))
    return term


def matched(pattern: Term, term: Term, definitions: Definitions) -> dict[str, Term] | None:
    """What the pattern's letters stand for in the term, or None; sums and products of two in either order."""

    def match(pattern: Term, term: Term, known: dict[str, Term]) -> dict[str, Term] | None:
        if pattern.op == "var":
            if pattern.value in known:
                return known if known[pattern.value] is term else None
            return {**known, pattern.value: term} if term.op != "num" else None
        term = opened(term, definitions)
        if pattern.op != term.op or pattern.value != term.value or len(pattern.args) != len(term.args):
            return None
        orders = [term.args]
        if pattern.op in ("add", "mul") and len(term.args) == 2:
            orders.append(term.args[::-1])
        for args in orders:
            found: dict[str, Term] | None = known
            for p, t in zip(pattern.args, args, strict=True):
                found = match(p, t, found) if found is not None else None
            if found is not None:
                return found
        return None

    return match(pattern, term, {})


def _row(left: str, right: str, theorem: str) -> Rewrite:
    def apply(term: Term, definitions: Definitions, inner: Inner) -> Term | None:
        found = matched(_side(left), term, definitions)
        if found is None:
            return None
        new = _side(right)
        for name, value in found.items():
            new = replace_variable(new, name, (), inner(value))
        return new

    return Rewrite(f"{left} as {right}", f"{left} = {right}", f"stable_forms.{theorem}", apply)


SCALARS: tuple[Rewrite, ...] = tuple(_row(*text) for text in TEXTS)

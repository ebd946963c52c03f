"""The rule rows: name, left, right, side conditions, citation. The checker matches a row at a position and compares.

A row's letters are metavariables: A, B, F stand for terms, X for a variable entry, k for the letters of a binder,
`each` for all terms of a sum. A row may be used right to left where its right side matches.
"""

from __future__ import annotations

from dataclasses import dataclass

from derive.kernel.derivative import SLOPES
from derive.term import ZERO, Term, alike, diff, fn, index, make, mul, num, over, size, where

LEIBNIZ = "Leibniz 1684, Nova Methodus"
SPIVAK = "Spivak, Calculus, chapter 10"
KNUTH = "Graham, Knuth, Patashnik, Concrete Mathematics, section 2.4"
FELLER = "Feller, An Introduction to Probability Theory and Its Applications I, chapter IX"


def meta(name: str) -> Term:
    """A metavariable of a row."""
    return make("meta", (), name)


def each(template: Term) -> Term:
    """Stands for all terms of a sum; the template is repeated for each."""
    return make("each", (template,))


@dataclass(frozen=True)
class Rule:
    """`left == right`, where every condition holds.

    A condition is ("nonzero", B), ("positive", B), ("constant", A, X): A does not depend on the entry X,
    ("free", A, k): the letters k do not occur in A, ("certain", A): no random name occurs in A, ("independent", A, B):
    no random name occurs in both, or ("separate", F, k): F at different k uses different random entries.
    """

    name: str
    left: Term
    right: Term
    conditions: tuple[tuple[object, ...], ...] = ()
    citation: str = ""


A, B, C, F, X = (meta(m) for m in "ABCFX")
K = index("?k", "?n")  # the letters of a binder


def MEAN(t: Term) -> Term:  # the notation of the rows below
    return make("E", (t,))


def VARIANCE(t: Term) -> Term:  # likewise
    return make("Var", (t,))


def some(body: Term, filter_: Term = C) -> Term:
    return over("sum", body, K, where=filter_)


def _row(name: str, left: Term, right: Term, *conditions: tuple[object, ...], cite: str) -> Rule:
    return Rule(name, left, right, conditions, cite)


CALCULUS = (
    _row("constant_rule", diff(A, X), ZERO, ("constant", A, X), cite=SPIVAK),
    _row("sum_rule", diff(make("add", (each(A),)), X), make("add", (each(diff(A, X)),)), cite=LEIBNIZ),
    _row("negation_rule", diff(-A, X), -diff(A, X), cite=LEIBNIZ),
    _row("constant_factor", diff(A * B, X), A * diff(B, X), ("constant", A, X), cite=LEIBNIZ),
    _row("constant_factor_last", diff(A * B, X), diff(A, X) * B, ("constant", B, X), cite=LEIBNIZ),
    _row("product_rule", diff(A * B, X), diff(A, X) * B + A * diff(B, X), cite=LEIBNIZ),
    _row("constant_divisor", diff(A / B, X), diff(A, X) / B, ("constant", B, X), cite=LEIBNIZ),
    _row(
        "constant_numerator", diff(A / B, X), -(A * diff(B, X) / B**2), ("constant", A, X), ("nonzero", B), cite=LEIBNIZ
    ),
    _row("quotient_rule", diff(A / B, X), (diff(A, X) * B - A * diff(B, X)) / B**2, ("nonzero", B), cite=LEIBNIZ),
    _row("square_rule", diff(A**2, X), 2 * A * diff(A, X), cite=LEIBNIZ),
    _row("power_rule", diff(A**B, X), B * A ** (B - 1) * diff(A, X), ("constant", B, X), cite=SPIVAK),
    _row("derivative_of_a_sum", diff(some(F), X), some(diff(F, X)), ("free", X, K), ("constant", C, X), cite=SPIVAK),
    _row("derivative_by_cases", diff(where(C, A, B), X), where(C, diff(A, X), diff(B, X)), cite=SPIVAK),
    *(
        _row(f"chain_rule_{name}", diff(fn(name, A), X), slope(A) * diff(A, X), cite=f"{SPIVAK}; d/du {name}(u)")
        for name, slope in SLOPES.items()
    ),
)
SUMMATION = (
    _row("linearity_of_summation", some(make("add", (each(F),))), make("add", (each(some(F)),)), cite=KNUTH),
    _row("negation_of_summation", some(-F), -some(F), cite=KNUTH),
    _row("constant_out_of_a_sum", some(A * F), A * some(F), ("free", A, K), cite=KNUTH),
    _row("divisor_out_of_a_sum", some(F / A), some(F) / A, ("free", A, K), cite=KNUTH),
    _row("sum_of_a_constant", over("sum", A, K), size("?n") * A, ("free", A, K), cite=KNUTH),
)
PROBABILITY = (
    _row("definition_of_variance", VARIANCE(A), MEAN(A**2) - MEAN(A) ** 2, cite=FELLER),
    _row("definition_of_covariance", make("Cov", (A, B)), MEAN(A * B) - MEAN(A) * MEAN(B), cite=FELLER),
    _row("linearity_of_expectation", MEAN(make("add", (each(A),))), make("add", (each(MEAN(A)),)), cite=FELLER),
    _row("linearity_of_expectation_negation", MEAN(-A), -MEAN(A), cite=FELLER),
    _row("linearity_of_expectation_sum", MEAN(some(F)), some(MEAN(F)), ("certain", C), cite=FELLER),
    _row("linearity_of_expectation_factor", MEAN(A * B), A * MEAN(B), ("certain", A), cite=FELLER),
    _row("linearity_of_expectation_divisor", MEAN(A / B), MEAN(A) / B, ("certain", B), cite=FELLER),
    _row("expectation_of_a_constant", MEAN(A), A, ("certain", A), cite=FELLER),
    _row("independence", MEAN(A * B), MEAN(A) * MEAN(B), ("independent", A, B), cite=FELLER),
    _row(
        "variance_of_a_sum_of_independent",
        VARIANCE(over("sum", F, K)),
        over("sum", VARIANCE(F), K),
        ("separate", F, K),
        cite=FELLER,
    ),
    _row("variance_scaling", VARIANCE(A * B), A**2 * VARIANCE(B), ("certain", A), cite=FELLER),
    _row("variance_scaling_divisor", VARIANCE(A / B), VARIANCE(A) / B**2, ("certain", B), cite=FELLER),
)
RULES: dict[str, Rule] = {rule.name: rule for rule in (*CALCULUS, *SUMMATION, *PROBABILITY)}

Binding = dict[str, object]


def match(pattern: Term, term: Term, found: Binding) -> bool:
    """Whether the term is an instance of the pattern; the metavariables' values are added to `found`."""
    if pattern.op == "meta":
        old = found.setdefault(pattern.value, term)
        return old is term or isinstance(old, Term) and alike(old, term)
    if pattern.op != term.op:
        return False
    if pattern.op == "size" and pattern.value == "?n":
        return bool(found.setdefault("?n", term.value) == term.value)
    if pattern.value != term.value:
        return False
    if pattern.bound:
        if pattern.op != "sum" or not term.bound:
            return False
        if found.setdefault("?k", term.bound) != term.bound:
            return False
        if len(term.bound) == 1:
            found["?n"] = term.bound[0].value[1]
    args = pattern.args
    if len(args) == 1 and args[0].op == "each":
        found["each"] = term.args
        return args[0].args[0].op == "meta" and found.setdefault("each of", args[0].args[0].value) is not None
    if pattern.op in ("add", "mul") and len(args) < len(term.args):
        split = len(args) - 1  # the last metavariable takes all that is left
        return all(match(p, t, found) for p, t in zip(args[:split], term.args, strict=False)) and match(
            args[split], make(term.op, term.args[split:]), found
        )
    return len(args) == len(term.args) and all(match(p, t, found) for p, t in zip(args, term.args, strict=True))


def instantiate(pattern: Term, found: Binding) -> Term:
    """The pattern with its metavariables replaced. Raises KeyError for one that has no value."""
    if pattern.op == "meta":
        value = found[pattern.value]
        assert isinstance(value, Term)
        return value
    if pattern.op == "size" and pattern.value == "?n":
        return size(str(found["?n"]))
    if len(pattern.args) == 1 and pattern.args[0].op == "each":
        template, name = pattern.args[0].args[0], found["each of"]
        parts = found["each"]
        assert isinstance(parts, tuple) and isinstance(name, str)
        return make(pattern.op, [instantiate(template, {**found, name: part}) for part in parts])
    args = [instantiate(a, found) for a in pattern.args]
    if pattern.op == "mul":
        return mul(*(a for a in args if a is not num(1))) if len(args) > 1 else args[0]
    if pattern is B - 1 and args[0].op == "num":  # the exponent of the power rule
        return num(args[0].value - 1)
    bound = found["?k"] if pattern.bound else ()
    assert isinstance(bound, tuple)
    return make(pattern.op, args, pattern.value, bound)

"""The words of reports and of the terminal, in one place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from derive.kernel.order import ROWS
from derive.kernel.rules import RULES

# For each verdict: its mark in Markdown and terminals, its mark in LaTeX, and what it promises.
MARKS = {
    "proved": ("✔", r"\checkmark"),
    "checked": ("≈", r"\approx"),
    "undecided": ("?", "?"),
    "refuted": ("✘", r"\times"),
}
PROMISES = {
    "proved": "holds for all sizes: every step was accepted by the kernel, from the listed hypotheses alone",
    "checked": "no general proof was found; exact at the sizes 1 to 4 that the hypotheses admit, and no point tried "
    "contradicts it",
    "undecided": "neither proved nor refuted",
    "refuted": "does not hold: there is a counterexample",
}
# What the steps that are no rows of the kernel's table do.
PROCEDURES = {
    "algebra": (
        "algebra",
        "both sides have the same exact normal form: rational functions of sums, products and powers",
    ),
    "field_identity": ("field identity", "both sides are the same rational function of their parts"),
    "sum_normal_form": ("normal form of sums", "sums distributed, sifted, renamed and factored on both sides agree"),
    "definition": ("definition", "a defined name is replaced by what it stands for, or the other way round"),
    "rename": ("renaming", "bound letters are renamed"),
    "hypothesis": ("hypothesis", "one side of a hypothesis is replaced by the other"),
    "lemma": ("earlier theorem", "one side of a proved equation is replaced by the other"),
    "variable_rule": ("derivative of a variable", "an entry by itself is 1, by another entry 0"),
    "kronecker_sifting": ("sifting", "a sum over k of delta(k, j) f(k) is f(j)"),
    "square_of_a_sum": ("square of a sum", "the terms with equal letters, and those with different ones"),
    "moment": ("moment", "what the declared law gives"),
    "case_distinction": ("case distinction", "the same expression in both cases"),
    "combination": (
        "combination",
        "known comparisons times factors of one sign add up to left minus right, times a factor of one sign",
    ),
    "extremum": ("extremum", "a maximum is at least each of its values, a minimum at most"),
    "enclosure": ("enclosure", "rational bounds on both sides that exclude everything else"),
    "sign judgement": ("sign", "the sign of the difference follows from the signs of its parts"),
}
_NOTHING = "no derivation was found"
_HINT = re.compile(r"it would follow with assume\(.*", re.DOTALL)
_FAMILIES = ("chain_rule", "linearity_of_expectation", "variance_scaling")
# A declared name of each kind: one number, and an array of them.
KINDS = {
    "real": ("a real number", "an array of real numbers"),
    "positive": ("a positive number", "an array of positive numbers"),
    "nonnegative": ("a number not below 0", "an array of numbers not below 0"),
    "integer": ("an integer", "an array of integers"),
    "bit": ("0 or 1", "an array of zeros and ones"),
    "index": ("an index", "an array of indices"),
}
LAWS = {
    "random": "of which nothing else is known, with",
    "normal": "normally distributed with",
    "bernoulli": "0 or 1, with",
    "uniform": "uniformly distributed",
    "rademacher": "1 or −1 with equal chance",
}
LAW_PARAMETERS = {
    "random": ("mean", "variance"),
    "normal": ("mean", "variance"),
    "bernoulli": ("chance of 1",),
    "uniform": ("from", "to"),
    "rademacher": (),
}


OPINIONS = {True: "agrees", False: "disagrees", None: "cannot tell"}


def rule_words(rule: str) -> str:
    """A rule's name in words."""
    if rule in PROCEDURES:
        return PROCEDURES[rule][0]
    for family in _FAMILIES:
        if rule.startswith(family + "_"):
            return f"{family.replace('_', ' ')} ({rule.removeprefix(family + '_').replace('_', ' ')})"
    return rule.replace("_", " ")


def rule_source(rule: str) -> str:
    """Where a rule comes from, or what a procedure does."""
    if rule in RULES:
        return RULES[rule].citation
    if rule in ROWS:
        return ROWS[rule].citation
    return PROCEDURES[rule][1] if rule in PROCEDURES else ""


def spoken_reason(reason: str | None, refuted: bool) -> str | None:
    """Why a claim is not proved, as readers are told: beside a counterexample nothing but what would close it."""
    if reason is None:
        return None
    hint = _HINT.search(reason)
    if refuted:
        return hint[0] if hint else None
    return reason.removeprefix(f"{_NOTHING}: ")


def sizes(choices: Sequence[Mapping[str, int]]) -> str:
    """Choices of sizes in few words: `n = 1, 2, 3`, or how many choices there are of several sizes."""
    known = list(choices[0]) if choices else []
    axes = [axis for axis in known if any(c[axis] != 1 for c in choices)] or known[:1]
    if not axes:
        return ""
    if len(axes) == 1:
        return f"{axes[0]} = {', '.join(str(c[axes[0]]) for c in choices)}"
    return f"{len(choices)} choices of {', '.join(axes)} from 1 to {max(max(c.values()) for c in choices)}"


def counted(number: int, word: str, plural: str | None = None) -> str:
    """`1 claim`, `2 claims`."""
    return f"{number} {word if number == 1 else plural or word + 's'}"

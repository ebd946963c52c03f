"""The product of comparisons: what holds of factors that are not negative holds of products, and nothing else does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from derive.kernel.check import check
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.language import expression, loads
from derive.term import ONE, TRUE, Term, cmp, index, over, sub

HEAD = """
n: axis
p: real[n]
q: real[n]
assume(all(p[k] >= 0 for k in n))
assume(all(p[k] <= q[k] for k in n))
"""
THEORY = loads(HEAD + "def claim():\n    assert prod(q[i] for i in n) >= prod(p[i] for i in n)\n")
THEOREM = THEORY["claim"]
CONTEXT = THEORY.context(THEOREM)
CLAIM = THEOREM.claims[0].condition
K = index("k", "n")


def read(text: str) -> Term:
    return expression(text, THEORY, THEOREM)


def compared(upper: str, lower: str, where: Term = TRUE) -> Line:
    sides = tuple(over("prod", read(text), K, where=where) for text in (upper, lower))
    return Line(cmp(">=", *sides), "product_of_comparisons", sides, (), (None, None))


def accepted(*lines: Line, claim: Term = CLAIM) -> bool:
    last = Line(claim, "combination", (), (Part(ONE, (Cite(len(lines) - 1),)),))
    try:
        check(Proof(claim, (), (*lines, last)), CONTEXT)
    except Rejected:
        return False
    return True


def test_products_of_larger_factors_are_larger() -> None:
    assert accepted(compared("q[k]", "p[k]"))


def test_factors_in_the_other_order_are_refused() -> None:
    claim = cmp(">=", *reversed(CLAIM.args))

    assert not accepted(compared("p[k]", "q[k]"), claim=claim)


@pytest.mark.parametrize(("upper", "lower"), [("p[k] - 1", "p[k] - 2"), ("q[k] + 1", "-p[k]")])
def test_factors_that_may_be_negative_are_refused(upper: str, lower: str) -> None:
    line = compared(upper, lower)

    assert not accepted(line, claim=line.condition)


def test_products_with_different_filters_are_refused() -> None:
    line = compared("q[k]", "p[k]")
    shorter = over("prod", read("p[k]"), K, where=cmp("!=", K, index("i", "n")))
    other = replace(line, condition=cmp(">=", line.values[0], shorter), values=(line.values[0], shorter))

    assert not accepted(other)


def test_a_product_that_the_line_does_not_speak_of_is_refused() -> None:
    line = compared("q[k]", "p[k]")

    assert not accepted(replace(line, condition=cmp(">=", line.values[0], read("2*prod(p[i] for i in n)"))))


def test_a_letter_of_the_line_is_not_bound_again() -> None:
    """What is known of k = j only, j a letter of the line, is not known of all factors."""
    gap = sub(read("q[k]"), read("p[k]"))
    line = Line(cmp(">=", gap, 0), "combination", (), (Part(gap),), (), (K,))
    product = compared("q[k]", "p[k]")

    assert accepted(line, replace(product, cites=(Cite(0, ((K, K),)), None)))
    assert not accepted(line, replace(product, cites=(Cite(0, ((K, K),)), None), letters=(K,)))


def test_a_comparison_of_something_else_is_refused() -> None:
    gap = read("p[k]")
    line = Line(cmp(">=", gap, 0), "combination", (), (Part(gap),), (), (K,))
    product = compared("q[k]", "p[k]")

    assert not accepted(line, replace(product, cites=(Cite(0, ((K, K),)), None)))
    assert accepted(line, replace(product, cites=(None, Cite(0, ((K, K),)))))


@pytest.mark.parametrize("change", [{"values": ()}, {"cites": (None,)}, {"cites": ()}])
def test_malformed_lines_are_refused(change: dict[str, tuple[object, ...]]) -> None:
    assert not accepted(replace(compared("q[k]", "p[k]"), **change))  # type: ignore[arg-type]

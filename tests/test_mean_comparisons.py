"""The mean of a comparison: what holds whatever the random names are holds of the means, and nothing else does."""

from __future__ import annotations

import pytest

from derive.engine.check import check_theory
from derive.kernel.check import check
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.language import condition, expression, loads
from derive.term import ONE, TRUE, Term, cmp, make

HEAD = """
n: axis
a: real
v: nonnegative
q: random(mean=a, variance=v)
g: normal(0, 1)[n]
u: uniform(0, 1)
r: rademacher
"""


class Case:
    """A claim of the theory above, with what else is read in it."""

    def __init__(self, claim: str):
        self.theory = loads(HEAD + f"def claim():\n    assert {claim}\n")
        self.theorem = self.theory["claim"]
        self.claim = self.theorem.claims[0].condition
        self.context = self.theory.context(self.theorem)

    def read(self, text: str) -> Term:
        return expression(text, self.theory, self.theorem)

    def line(self, text: str, where: str | None = None) -> Line:
        """left >= 0 by its sign."""
        body = self.read(text)
        guard = TRUE if where is None else condition(where, self.theory, self.theorem)
        return Line(cmp(">=", body, 0), "combination", (), (Part(body),), (), (), guard)

    def mean(self, text: str, of: str, cite: int | None, relation: str = ">=", where: Term = TRUE) -> Line:
        cites = (None if cite is None else Cite(cite),)
        whole = cmp(relation, self.read(text), 0)
        return Line(whole, "mean_of_a_comparison", (self.read(of),), (), cites, (), where)

    def accepted(self, *lines: Line) -> bool:
        last = Line(self.claim, "combination", (), (Part(ONE, (Cite(len(lines) - 1),)),))
        try:
            check(Proof(self.claim, (), (*lines, last)), self.context)
        except Rejected:
            return False
        return True


def test_mean_of_what_is_never_negative() -> None:
    case = Case("E(abs(q)) >= 0")

    assert case.accepted(case.line("abs(q)"), case.mean("E(abs(q))", "abs(q)", 0))
    assert case.accepted(case.mean("E(abs(q))", "abs(q)", None))


def test_mean_of_something_else_is_refused() -> None:
    case = Case("E(abs(q)) >= 0")

    assert not case.accepted(case.line("abs(q)"), case.mean("E(abs(q))", "q**2", 0))
    assert not case.accepted(case.line("q**2"), case.mean("E(abs(q))", "abs(q)", 0))
    assert not case.accepted(case.line("abs(q)"), case.mean("E(abs(q)) - 1", "abs(q)", 0))


def test_what_holds_in_a_case_of_random_names_says_nothing_of_means() -> None:
    case = Case("E(q) >= 0")
    where = condition("q >= 0", case.theory, case.theorem)

    assert not case.accepted(case.line("q", "q >= 0"), case.mean("E(q)", "q", 0))
    assert not case.accepted(case.line("q", "q >= 0"), case.mean("E(q)", "q", 0, where=where))
    assert not case.accepted(case.mean("E(q)", "q", None, where=where))


def test_a_mean_that_may_not_exist_is_refused() -> None:
    case = Case("0*a <= 1")
    body = case.read("exp(g[i]**2)")
    line = Line(cmp(">=", make("E", (body,)), 0), "mean_of_a_comparison", (body,), (), (None,))

    with pytest.raises(Rejected):
        check(Proof(case.claim, (), (line,)), case.context)


def test_means_are_as_strict_as_what_they_are_of() -> None:
    assert Case("E(exp(-abs(q))) > 0").accepted(Case("a == a").mean("E(exp(-abs(q)))", "exp(-abs(q))", None, ">"))
    assert not Case("E(abs(q)) > 0").accepted(Case("a == a").mean("E(abs(q))", "abs(q)", None, ">"))
    assert not Case("E(r) != 0").accepted(Case("a == a").mean("E(r)", "r", None, "!="))  # r is 1 or -1


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("E(exp(q)) >= exp(a)", "proved"),
        ("E(exp(q)) <= exp(a)", "refuted"),
        ("E(exp(q)) > exp(a)", "refuted"),  # where the variance is 0
        ("E(abs(q)) >= abs(a)", "proved"),
        ("E(abs(q)) <= abs(a)", "refuted"),
        ("E(max(g[k] for k in n)) >= 0", "proved"),
        ("E(max(g[k] for k in n)) > 0", "refuted"),  # at n = 1
        ("E(sqrt(u)) <= sqrt(1/2)", "proved"),
        ("E(log(1 + u)) <= log(3/2)", "proved"),
        ("E(log(sum(exp(g[k]) for k in n))) <= log(n) + 1/2", "proved"),
        ("E(abs(q))**2 <= a**2 + v", "proved"),
        ("E(abs(q))**2 >= a**2 + v", "refuted"),
        ("E(relu(q)) >= relu(a)", "proved"),
        ("E(relu(q)) <= relu(a)", "refuted"),
        ("E(1/g[i]) >= 0", "undecided"),
        ("E(exp(g[i]**2)) >= 1", "undecided"),
    ],
)
def test_comparisons_of_means(claim: str, verdict: str) -> None:
    ((found,),) = (t.claims for t in check_theory(Case(claim).theory).theorems)

    assert found.verdict == verdict

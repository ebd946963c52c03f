"""Symmetries of laws: the kernel's equation E(f) == E(average of f), which means have it, and which have not."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from flint import fmpq

from derive.engine.certify import certificate_of
from derive.engine.check import check_theory
from derive.engine.verdict import ClaimResult
from derive.evidence.enclosure import Enclosed, evaluate
from derive.kernel.certificate import verify
from derive.kernel.context import Context
from derive.kernel.integrable import growth
from derive.kernel.moments import negligible
from derive.kernel.normal import Normal
from derive.kernel.proof import Rejected, Use
from derive.kernel.symmetry import equation
from derive.language import expression, loads
from derive.term import Term, index, make, num, substitute, var

HEAD = """
n: axis
m: axis
a: real
p: positive
c: real[n]
t: index[n]
r: rademacher[n]
b: bernoulli(1/3)[n]
W: rademacher[n, m]
g: normal(a, p)[n]
h: normal(0, 1)[n]
u: uniform(1, 2)[n]
q: random(mean=0, variance=1)[n]
v[i]: normal(c[i], 1)
e: rademacher
s[i] = exp(r[i]) / sum(exp(r[k]) for k in n)
"""
THEORY = loads(HEAD + "def claim():\n    assert a == a\n")
CONTEXT: Context = THEORY.context(THEORY["claim"])
NF = Normal(CONTEXT)
I, J, K = (index(name, "n") for name in "ijk")  # noqa: E741  # the letter that is written i
B = index("y", "m")


def read(text: str) -> Term:
    return expression(text, THEORY, THEORY["claim"])


def exchange(text: str, letter: Term = I, by: Term = K) -> Use:
    return Use("symmetry", 0, ((by, letter),), value=read(text))


def mirror(text: str, entry: Term) -> Use:
    return Use("symmetry", 0, value=make("list", (read(text), entry)))


SIGN = [("1/2", "-1"), ("1/2", "1")]  # probability, value
FLIP = [("2/3", "0"), ("1/3", "1")]
TRUE_ONES = {  # under laws with finitely many values, so that both means are enclosed
    "a fraction": exchange("exp(r[i]) / sum(exp(r[k]) for k in n)"),
    "a definition": exchange("s[i]**2"),
    "two names": exchange("r[i]*b[i] / (1 + sum(b[l] for l in n))"),
    "all but one": exchange("max(max(r[k] for k in n), 2*r[i]) * prod(2 + r[k] for k in n if k != i)"),
    "two axes": exchange("sum(W[i, l] for l in m)**2 * exp(sum(W[k, y] for k in n))"),
    "along the other axis": exchange("c[j]*exp(W[j, y]*sum(W[j, l] for l in m))", B, index("k", "m")),
    "mirrored everywhere": mirror("exp(sum(c[k]*r[k] for k in n))", var("r", K)),
    "mirrored at one entry": mirror("r[i]*r[j]*exp(r[i]) + c[i]*r[j]**3", var("r", I)),
    "mirrored row": mirror("exp(W[i, y]) * sum(W[k, l]**3 for k in n for l in m)", var("W", I, index("z", "m"))),
    "a scalar": mirror("exp(a*e)", var("e")),
}


@pytest.mark.parametrize("name", TRUE_ONES)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_both_means_are_the_same(name: str, size: int) -> None:
    left, right = equation(NF, CONTEXT, TRUE_ONES[name]).args
    values = {"a": 1, "p": 2, "c": [1, -2, 3][:size], "t": 0, "b": FLIP, "r": SIGN, "W": SIGN, "e": SIGN}
    at = {I: 0, J: size - 1, B: 0}

    answers = [evaluate(side, CONTEXT, {"n": size, "m": 2}, values, at) for side in (left, right)]

    assert all(isinstance(x, Enclosed) for x in answers), answers
    gap = answers[0].ball - answers[1].ball  # type: ignore[union-attr]  # both are enclosed
    assert gap == 0 if isinstance(gap, fmpq) else gap.contains(0)


FALSE_ONES = {
    "beside what is not random": exchange("c[i]*r[i]"),
    "laws that differ": exchange("v[i]**2"),
    "another letter": exchange("r[i]*r[j]"),
    "a declared index": exchange("r[i]*r[t]"),
    "an entry by its number": Use("symmetry", 0, ((K, I),), value=substitute(read("exp(r[i] + r[j])"), {J: num(0)})),
    "an order of indices": exchange("exp(sum(r[k] for k in n if k <= i))"),
    "the place of the largest": exchange("r[i]*r[argmax(r[k] for k in n)]"),
    "an index as a number": exchange("r[i]*i"),
    "the index itself": Use("symmetry", 0, ((K, I),), value=I),
    "a letter of another axis": exchange("r[i]**3", I, B),
    "a letter that stands there": exchange("r[i]**2", I, I),
    "a mean inside": exchange("r[i]*E(r[i]*r[j])"),
    "a derivative inside": exchange("diff(exp(a*r[i]), a)"),
    "a mean that may not exist": exchange("exp(g[i]**2)"),
    "a fourth moment": exchange("q[i]**4"),
    "mirrored at nothing": mirror("b[i]**3", var("b", K)),
    "mirrored with two moments": mirror("q[i]", var("q", K)),
    "mirrored at the largest": mirror("r[i]", var("r", make("argmax", (var("c", K), make("true")), None, (K,)))),
    "mirrored at a number": mirror("r[i]", var("r", num(0))),
    "mirrored, what is not random": mirror("a*e", var("a")),
    "mirrored, no entry": mirror("e**3", num(1)),
    "mirrored, without a mean": mirror("1/h[i]", var("h", I)),
    "mirrored, an infinite mean": mirror("h[i]*exp(h[i]**2)", var("h", I)),
    "no value": Use("symmetry", 0, ((K, I),)),
    "neither letter nor entry": Use("symmetry", 0, value=read("r[i]")),
    "a letter and an entry": Use("symmetry", 0, ((K, I),), value=make("list", (read("e"), var("e")))),
    "a condition": Use("symmetry", 0, ((K, I),), value=make("true")),
}


@pytest.mark.parametrize("why", FALSE_ONES)
def test_what_is_no_symmetry_is_refused(why: str) -> None:
    with pytest.raises(Rejected):
        equation(NF, CONTEXT, FALSE_ONES[why])


@pytest.mark.parametrize(
    ("text", "power"),
    [
        ("1/(1 + exp(h[i]))", 0),
        ("exp(h[i])/sum(exp(h[k]) for k in n)", 0),
        ("h[i]**2/sum(h[k]**2 for k in n)", 0),
        ("h[i]*h[j]/sum(h[k]**2 for k in n)", 0),
        ("h[i]**3/sum(h[k]**2 for k in n)", 1),
        ("relu(h[i])**2*sin(h[j])", 2),
        ("sqrt(1 + h[i]**2)", 1),
        ("max(h[k] for k in n)*sum(h[k] for k in n)", 2),
        ("exp(-u[i])", 0),
        ("exp(-(h[i]**2))*h[i]", 1),
        ("exp(-h[i])/sum(exp(-h[k]) for k in n)", 0),
        ("exp(2*h[i])/sum(exp(h[k]) for k in n)**2", 0),
        ("1/h[i]", None),
        ("h[i]/sum(h[k] for k in n)", None),
        ("h[i]/sum(h[k]**2 for k in n)", None),
        ("h[i]**2/sum(h[k]**2 for k in n if k != i)", None),
        ("h[i]**2/(1 - exp(h[i]))", None),
        ("1/(p - 1 + exp(h[i]))", None),
        ("exp(h[i])", None),
        ("exp(-h[i])", None),
        ("exp(2*h[i])/sum(exp(h[k]) for k in n)", None),
        ("exp(-h[i])/sum(exp(h[k]) for k in n)", None),
        ("h[i]/sum(c[k]*h[k]**2 for k in n)", None),
        ("log(1 + h[i]**2)", 2),
        ("log(h[i]**2)", None),
    ],
)
def test_growth_in_the_entries(text: str, power: int | None) -> None:
    assert growth(NF, NF.poly(read(text))) == power


def test_exponents_that_are_integers_are_of_the_type_of_integers() -> None:
    h = read("h[i]")

    (mono,) = NF.exp({frozenset({(h, 1)}): Fraction(2)})

    assert [type(e) for _, e in mono] == [int]


def claims(body: str) -> list[ClaimResult]:
    (theorem,) = check_theory(loads(HEAD + "\ndef claim():\n" + body)).theorems
    return list(theorem.claims)


@pytest.mark.parametrize(
    "claim",
    [
        "E(s[i]) == 1/n",
        "E(exp(g[i])/sum(exp(g[k]) for k in n)) == 1/n",
        "E(sigmoid(h[i])) == 1/2",
        "E(tanh(h[i])) == 0",
        "E(tanh(u[i] - 3/2)) == 0",
        "E(sigmoid(g[i] - a)) == 1/2",
        "E(relu(sum(c[k]*h[k] for k in n))**2) == sum(c[k]**2 for k in n)/2",
        "E(relu(sum(c[k]*r[k] for k in n))**2) == sum(c[k]**2 for k in n)/2",
        "n*E(s[j]) - E(sigmoid(h[i])) == 1/2",
        "1/n == E(s[i])",
        "E(s[i]) == E(s[j])",
        "E(tanh(h[i])*exp(-(h[i]**2))) == a - a",
        "E(h[i]**2/sum(h[k]**2 for k in n)) == 1/n",
        "E(h[i]*h[j]/sum(h[k]**2 for k in n)) == delta(i, j)/n",
        "E(h[i]/sqrt(sum(h[k]**2 for k in n))) == 0",
        "E(sum(c[k]*h[k] for k in n)**2/sum(h[k]**2 for k in n)) == sum(c[k]**2 for k in n)/n",
        "E(h[i]**2/(1 + sum(h[k]**2 for k in n))) == E(h[j]**2/(1 + sum(h[k]**2 for k in n)))",
    ],
)
def test_mean_is_proved_by_symmetry(claim: str) -> None:
    result = check_theory(loads(HEAD + f"\ndef claim():\n    assert {claim}\n"))
    ((found,),) = (t.claims for t in result.theorems)

    assert found.verdict == "proved"
    assert [r.reason for r in verify(json.loads(json.dumps(certificate_of(result))))] == [None]
    assert found.proof is not None
    assert "symmetry" in {s.rule for s in found.proof.steps}


@pytest.mark.parametrize(
    "claim",
    [
        "E(exp(v[i])/sum(exp(v[k]) for k in n)) == 1/n",
        "E(sigmoid(g[i])) == 1/2",
        "E(sin(u[i])) == 0",
        "E(1/h[i]) == 0",
        "E(h[i]*exp(h[i]**2)) == 0",
        "E(relu(sum(c[k]*b[k] for k in n))**2) == sum(c[k]**2 for k in n)/2",
        "E(c[i]*s[i]) == 1/n",
        "E(s[i]) == 1/(n + 1)",
        "E(s[i]*s[j]) == 1/n**2",
        "E(g[i]*W[argmax(g[k] for k in n), y]) == 1",
        "E(sin(c[argmax(h[k] for k in n)])) == 0",
    ],
)
def test_mean_without_the_symmetry_is_not_proved(claim: str) -> None:
    (found,) = claims(f"    assert {claim}\n")

    assert found.verdict != "proved"


@pytest.mark.parametrize(
    ("text", "null"),
    [
        ("h[i]", True),
        ("h[i] - g[i] + 3", True),
        ("sum(h[k]**2 for k in n)", True),
        ("sum(g[k] for k in n) - sum(h[k] for k in n)", True),
        ("(1 + a**2)*h[i]**2 - u[i]", True),
        ("h[i]*u[j]", True),
        ("h[i] - h[j]", False),  # at i = j
        ("a*h[i]", False),
        ("sum(c[k]*h[k] for k in n)", False),
        ("sum(h[k]**2 for k in n if k != i)", False),  # nothing, where n is 1
        ("sum(h[k] for k in n) - h[i]", False),  # the same
        ("b[i]", False),
        ("b[i]*h[i]", False),
        ("r[i] - 1", False),
        ("q[i]", False),
        ("h[argmax(h[k] for k in n)]", True),
        ("c[argmax(h[k] for k in n)]", False),  # not random itself
        ("v[i] - v[i]", False),
        ("exp(h[i]) - 1", False),  # not a polynomial
    ],
)
def test_polynomial_with_probability_0(text: str, null: bool) -> None:
    assert negligible(NF, NF.poly(read(text))) is null


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        ("E(h[i]/h[i]) == 1", "proved"),
        ("E(sqrt(u[i] - 1)**2) == 1/2", "proved"),
        ("E(where(h[i] > 0, h[i]/h[i], 1)) == 1", "proved"),
        ("E(2*r[i]/r[i]) == 2", "proved"),
        ("E(b[i]/b[i]) >= 0", "undecided"),  # 0/0 with probability 2/3
        ("E(exp(log(h[i]))) >= 0", "undecided"),
        ("E(where(h[i] > -1, sqrt(h[i])**2, 1)) >= 0", "undecided"),
        ("E((h[i] - h[j])/(h[i] - h[j])) == 1", "undecided"),
    ],
)
def test_mean_asks_for_what_holds_almost_surely(claim: str, verdict: str) -> None:
    (found,) = claims(f"    assert {claim}\n")

    assert found.verdict == verdict
    assert found.account is None or found.account.domain == []

"""Closed forms of means over two entries, and of waves, against sums over a fine grid; and what has none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from derive.engine.check import check_theory
from derive.evidence.enclosure import Enclosed, evaluate
from derive.kernel.check import check
from derive.kernel.context import Law
from derive.kernel.moments import expectation
from derive.kernel.normal import Normal
from derive.kernel.proof import Proof, Rejected, Step
from derive.language import expression, loads
from derive.term import ONE, subterms, var

HEAD = """
n: axis
c: real
g: normal(0, 1)
h: normal(1, 2)
u: uniform(0, 1)
w: uniform(0, 2)
b: bernoulli(1/3)
q: random(mean=0, variance=1)
z: normal(0, 1)[n]
"""
THEORY = loads(HEAD + "def claim():\n    assert c == c\n")
CONTEXT = THEORY.context(THEORY["claim"])
NF = Normal(CONTEXT)
POINTS = 800


def normal(mean: float, variance: float) -> list[tuple[float, float]]:
    """Points with their weights: the midpoint rule, which is very accurate for what falls off like this."""
    spread, step = math.sqrt(variance), 18 / POINTS
    places = [-9 + (k + 0.5) * step for k in range(POINTS)]
    return [(mean + spread * x, step * math.exp(-x * x / 2) / math.sqrt(2 * math.pi)) for x in places]


def uniform(low: float, high: float) -> list[tuple[float, float]]:
    return [(low + (high - low) * (k + 0.5) / POINTS, 1 / POINTS) for k in range(POINTS)]


LAWS = {
    "g": normal(0, 1),
    "h": normal(1, 2),
    "u": uniform(0, 1),
    "w": uniform(0, 2),
    "b": [(0.0, 2 / 3), (1.0, 1 / 3)],
}


@pytest.mark.parametrize(
    ("text", "names", "value"),
    [
        ("max(u, w)", "uw", max),
        ("abs(u - w)", "uw", lambda u, w: abs(u - w)),
        ("relu(w - u)**2", "uw", lambda u, w: max(w - u, 0) ** 2),
        ("max(b, u)", "bu", max),
        ("u*where(u < w, 1, 0)", "uw", lambda u, w: u * (u < w)),
        ("relu(g*h)", "gh", lambda g, h: max(g * h, 0)),
        ("h*where(g > 0, 1, 0)*where(h > 0, 1, 0)", "gh", lambda g, h: h * (g > 0) * (h > 0)),
        ("abs(g - u)", "gu", lambda g, u: abs(g - u)),
        ("cos(c*g)", "g", lambda g: math.cos(0.7 * g)),
        ("sin(h)", "h", math.sin),
        ("cos(g)*sin(g + c)", "g", lambda g: math.cos(g) * math.sin(g + 0.7)),
        ("sin(g)*sin(g + c)", "g", lambda g: math.sin(g) * math.sin(g + 0.7)),
        ("sin(g)*cos(g + h)", "gh", lambda g, h: math.sin(g) * math.cos(g + h)),
        ("cos(h)**2", "h", lambda h: math.cos(h) ** 2),
        ("cos(g)**3*sin(h)", "gh", lambda g, h: math.cos(g) ** 3 * math.sin(h)),
        ("h*sin(c*h + g)", "gh", lambda g, h: h * math.sin(0.7 * h + g)),
        ("cos(3*w + 1)", "w", lambda w: math.cos(3 * w + 1)),
        ("sin(2*u)**2*cos(u)", "u", lambda u: math.sin(2 * u) ** 2 * math.cos(u)),
        ("cos(u + w)", "uw", lambda u, w: math.cos(u + w)),
        ("g*sin(g + w)", "gw", lambda g, w: g * math.sin(g + w)),
        ("exp(c*g)*cos(2*g)", "g", lambda g: math.exp(0.7 * g) * math.cos(2 * g)),
        ("g*exp(g - h)*sin(h)", "gh", lambda g, h: g * math.exp(g - h) * math.sin(h)),
        ("exp(g)*cos(g + w)", "gw", lambda g, w: math.exp(g) * math.cos(g + w)),
        ("log(u)", "u", math.log),
        ("log(1 + w)**2", "w", lambda w: math.log(1 + w) ** 2),
        ("sqrt(1 - u)", "u", lambda u: math.sqrt(1 - u)),
        ("w**(3/2)*log(w)", "w", lambda w: w**1.5 * math.log(w)),
        ("1/(3 - w)", "w", lambda w: 1 / (3 - w)),
        ("u**sqrt(2)", "u", lambda u: u ** math.sqrt(2)),
    ],
)
def test_mean_is_that_of_a_fine_grid(text: str, names: str, value: Callable[..., float]) -> None:
    term = NF.term(expectation(NF, NF.poly(expression(text, THEORY, THEORY["claim"]))))
    answer = evaluate(term, CONTEXT, {"n": 1}, {"c": 0.7})

    if len(names) == 1:
        wanted = math.fsum(p * value(x) for x, p in LAWS[names])
    else:
        wanted = math.fsum(p * r * value(x, y) for x, p in LAWS[names[0]] for y, r in LAWS[names[1]])
    assert isinstance(answer, Enclosed)
    assert abs(float(answer.ball) - wanted) < 2e-3


@pytest.mark.parametrize(
    "text",
    [
        "max(g, h)*max(u, w)*max(q, u)",
        "max(q, u)",  # of a random law two moments are known
        "cos(c*u)",  # c may be 0
        "u*cos(u)",
        "cos(q)",
        "cos(g**2)",
        "cos(g*h)",
        "g**2*cos(g)",
        "u*cos(g)*sin(g + u)",
        "1/u",
        "u**(-3/2)",
        "u**c",
        "log(u - 1/2)",
        "sqrt(w - 1)",
        "1/(1 + c*u)",
        "log(q)",
        "1/cos(g)",
        "exp(g*h)*cos(g)",
        "exp(u)*cos(u)",
        "cos(z[argmax(z[k] for k in n)])",
    ],
)
def test_what_has_no_closed_form_stays_a_mean(text: str) -> None:
    term = NF.term(expectation(NF, NF.poly(expression(text, THEORY, THEORY["claim"]))))

    assert any(t.op == "E" for t in subterms(term))


@pytest.mark.parametrize(
    "claim",
    [
        "E(at(max(v, p), p, 1)) == 1",
        "E(at(relu(v - p), p, 1)) == 0",
        "E(at(where(v <= 2*p, 1, 0), p, -1)) == 1",
    ],
)
def test_entries_lie_between_the_ends_of_their_law_at_the_point_only(claim: str) -> None:
    theory = loads(f"p: positive\nv: uniform(0, p)\ndef claim():\n    assert E(max(v, p)) == p\n    assert {claim}\n")
    ((plain, moved),) = (t.claims for t in check_theory(theory).theorems)

    assert plain.verdict == "proved"
    assert moved.verdict != "proved"


def test_law_that_depends_on_a_random_name_is_refused() -> None:
    theory = loads("a: real\ng: normal(0, 1)\nv: normal(a, 1)\ndef claim():\n    assert E(v*g) == 0\n")
    context, claim = theory.context(theory["claim"]), theory["claim"].claims[0].condition
    proof = Proof(claim, (Step("moment", claim.args[1]),))
    shifted = replace(context.declarations["v"], law=Law("normal", (var("g"), ONE)))

    check(proof, context)
    with pytest.raises(Rejected, match="outside of a mean"):
        check(proof, replace(context, declarations={**context.declarations, "v": shifted}))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("at(E(tanh(v*p)), p, 2)", "E(tanh(2*v))", False),  # on the left v has the mean 2
        ("at(E(tanh(g*p)), p, 2)", "E(tanh(2*g))", True),
        ("at(E(tanh(v*a)), a, 2)", "E(tanh(2*v))", True),
        ("at(E(v*p), p, 2)", "4", True),
    ],
)
def test_what_is_put_into_a_mean_is_put_into_its_laws(left: str, right: str, same: bool) -> None:
    theory = loads(f"p: real\na: real\ng: normal(0, 1)\nv: normal(p, 1)\ndef claim():\n    assert {left} == {right}\n")
    context, claim = theory.context(theory["claim"]), theory["claim"].claims[0].condition
    proof = Proof(claim, (Step("replacement", claim.args[1]),))

    if same:
        check(proof, context)
    else:
        with pytest.raises(Rejected, match="cannot be evaluated"):
            check(proof, context)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ('0 == limit(E(b), p, 0, "+")', "0 == limit(E(b), p, 0)"),
        ('1 == limit(E(b), p, 1, "-")', "2 == limit(E(b), p, 2)"),
        ('a**2 == limit(E(v**2), w, 0, "+")', "a**2 == limit(E(v**2), w, 0)"),
        ("4 + w == limit(E(v**2), a, 2)", "0 == limit(E(exp(v)), w, -oo)"),
        ('a == limit(E(u), c, a, "+")', "a == limit(E(u), c, a)"),
        ("2*a == diff(E(v**2), a)", "1 == diff(E(v**2), w)"),
        ("1/2 == diff(E(u), c)", "1 == diff(E(b), p)"),
    ],
)
def test_there_is_a_law_around_the_point_of_a_limit_or_slope(true: str, false: str) -> None:
    head = "a: real\nc: real\np: real\nw: nonnegative\nv: normal(a, w)\nb: bernoulli(p)\nu: uniform(a, c)\n"
    theory = loads(f"{head}def holds():\n    assert {true}\ndef fails():\n    assert {false}\n")
    holds, fails = check_theory(theory).theorems

    assert (holds.verdict, fails.verdict == "proved") == ("proved", False)

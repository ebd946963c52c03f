"""Means and limits that do not exist: said so where that is certain, and never where they do."""

from __future__ import annotations

import pytest

from derive.evidence.enclosure import Undefined, enclose
from derive.evidence.refute import refute
from derive.language import loads

HEAD = '''"""Whether a mean or a limit exists."""
n: axis
x: real
y: real
u: positive
a: normal(0, 1)
c: normal(1, 2)
b: normal(y, u)[n]
f: uniform(0, 1)
g: uniform(0, 1)
h: uniform(-1, 1)
'''

INFINITE = [
    "E(1/a)",
    "E(1/b[i])",
    "E(1/a**2)",
    "E(1/h)",
    "E(1/f)",
    "E(f**(-3/2))",
    "E(1/(1 - f**2))",
    "E(1/(f*log(f)))",
    "E(exp(1/f))",
    "E(tan(a))",
    "E(1/(a - y))",
    "E(exp(a**2))",
    "E(exp(a**2/2))",
    "E(exp(exp(a)))",
    "E(exp(a**4))",
    "E(exp(a**2 + c))",
    "E(a/c)",
    "E(1/(a - c))",
    "E(1/(a - c)**2)",
    "E(1/(a*c))",
    "E(1/(f - g))",
    "E(1/sum(b[k] for k in n))",
    "E(b[i]/sum(b[k]**2 for k in n)**2)",
    "E(relu(a)) - E(1/abs(a))",
    "Var(1/a)",
    "Var(exp(a**2/4))",
    "Var(f**(-1/2))",
    "Cov(a, 1/a)",
    "Cov(1/f, f)",
]

UNDEFINED_AT_TIMES = ["E(log(a))", "E(sqrt(a))", "E(log(h))", "E(sqrt(f - 1/2))", "E(log(f - g))", "E(sqrt(a + c))"]

OSCILLATING = [
    "limit(sin(x), x, oo)",
    "limit(cos(x**2), x, -oo)",
    "limit(x*sin(x), x, oo)",
    "limit(sin(1/x), x, 0)",
    'limit(sin(1/x), x, 0, "+")',
    "limit(sin(log(x)), x, oo)",
    "limit(sin(x)*sin(2*x), x, oo)",
    "limit(sin(pi*x), x, oo)",
    "limit(1/(2 + sin(x)), x, oo)",
    "limit(max(sin(x), 1/2), x, oo)",
    "limit(sin(x)/x + sin(x), x, oo)",
    "limit(tan(x), x, oo)",
]

EXISTING = [
    "E(log(abs(a)))",
    "E(1/sqrt(abs(a)))",
    "E(f**(-99/100))",
    "E(log(f)**10)",
    "E(1/a - 1/a)",
    "E(sin(a)/a)",
    "E((exp(a) - 1)/a)",
    "E(exp(49/100*a**2))",
    "E(exp(a**2/2 - abs(a)))",
    "E(exp(a**3)*exp(-a**4))",
    "E(where(a > 0, log(a), 0))",
    "E(where(a > 1, 1/a, 0))",
    "E(1/(f + g))",
    "E(1/sqrt(f*g))",
    "E(log(abs(f - g)))",
    "E(1/sqrt(abs(f - g)))",
    "E(b[i]/sum(abs(b[k]) for k in n))",
    "E((a**2 - c**2)/(a - c))",
    "E(1/sign(a))",
    "E(1/(sign(a - c) + 3))",
    "E(sigmoid(1/a))",
    "E(exp(-1/a**2))",
    "E(log(1 + 1/abs(a)))",
    "Var(abs(a)**(-1/3))",
    "Cov(log(f), f)",
    "limit(sin(x)/x, x, oo)",
    "limit(sin(x)**2 + cos(x)**2, x, oo)",
    "limit(sin(2*x) - 2*sin(x)*cos(x), x, oo)",
    "limit(x*(sin(x + 1/x**2) - sin(x)), x, oo)",
    "limit(x*sin(1/x), x, 0)",
    "limit(exp(-x)*sin(exp(x)), x, oo)",
    "limit(sin(pi*x) - sin(pi*x), x, oo)",
    "limit(max(sin(x), 1), x, oo)",
    "limit(tan(x)*cos(x) - sin(x), x, oo)",
    "limit(sin(x - pi) + sin(x), x, oo)",
]


def claim(text):
    theory = loads(f"{HEAD}\n\ndef claim():\n    assert 0 == 0*({text})\n")
    return theory["claim"].claims[-1].condition, theory.context(theory["claim"])


@pytest.mark.parametrize("text", INFINITE + UNDEFINED_AT_TIMES + OSCILLATING)
def test_a_right_side_that_does_not_exist_refutes_a_claim(text):
    found = refute(*claim(text), 10.0)

    assert found is not None
    assert found["left"] == ["0", "0"]
    assert found["right"] is None
    assert found["undefined"].startswith("the right side (a ")


@pytest.mark.parametrize("text", EXISTING)
def test_a_mean_or_limit_that_exists_is_never_called_undefined(text):
    assert refute(*claim(text), 10.0) is None


@pytest.mark.parametrize("count", [2, 3])
def test_a_denominator_of_several_squares_vanishes_at_a_point_only(count):
    assert refute(*claim("E(1/sum(b[k]**2 for k in n)**(1/4))"), 5.0) is None
    condition, context = claim("E(b[i]/sum(b[k]**2 for k in n))")
    from derive.evidence.enclosure import point

    law = {"law": "normal", "parameters": ["0", "1"]}
    here = point(context, {"n": count}, {"b": law})
    (letter,) = condition.letters
    assert not isinstance(enclose(here, condition.args[1], {letter: 0}), Undefined)

"""Agreement at sizes 1 to 4: true, contradicted, or not told."""

from __future__ import annotations

import pytest

from derive.evidence.exact import holds_at_small_sizes
from derive.language import loads

HEAD = '''"""Claims to check at small sizes."""
n: axis
m: axis
x: real
u: positive
z: real[n]
w: nonnegative[n]
X: real[n, m]
q: random(mean=0, variance=u)[n]
g: normal(0, 1)
h: normal(0, 1)[n]
s[i] = exp(z[i]) / sum(exp(z[k]) for k in n)
'''


def verdict(text, *given):
    body = "".join(f"    assume({g})\n" for g in given) + f"    assert {text}\n"
    theory = loads(f"{HEAD}\n\ndef claim():\n{body}")
    theorem = theory["claim"]
    return holds_at_small_sizes(theorem.claims[-1].condition, theory.context(theorem), 20.0)


@pytest.mark.parametrize(
    "text",
    [
        ("diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])",),
        ("sum(s[i] for i in n) == 1",),
        ("s[i] > 0",),
        ("sum(w[k] for k in n) == 1", "sum(w[k] for k in n) == 1"),
        ("Var(sum(q[i] for i in n)) == n*u",),
        ("diff(sum(X[i, j]**2 for i in n for j in m), X[a, b]) == 2*X[a, b]",),
        ("sqrt(x**2) == abs(x)",),
        ("log(x**2) == 2*log(abs(x))",),
        ("z[i] == z[i] and x == x",),
        ("all(w[k] >= 0 for k in n)",),
        ("z[i] - z[j] == -(z[j] - z[i])", "i != j"),
        ("1/(n - 1)*(n - 1) == 1",),
        ("exp(z[i])**2 >= exp(2*z[i])",),
        ("limit(exp(-u), u, oo) == 0",),
        ("x**2/x**2 == 1",),
        ("u**(x + 1) == u**x*u",),
        ("sum(where(z[k] == max(z[l] for l in n), 1, 0) for k in n) >= 1",),
        ("E(abs(g)) == sqrt(2/pi)",),
        ("Var(sum(abs(h[i]) for i in n)) == n*(1 - 2/pi)",),
        ("x**2 == u", "u == 2", "x**2 == 2"),
        ("X[i, j]**2 <= 1", "sum(X[i, j]**2 for i in n for j in m) == 1"),
    ],
    ids=lambda t: t[0],
)
def test_true_claims_agree(text):
    assert verdict(*text) is True


@pytest.mark.parametrize(
    "text",
    [
        ("diff(s[i], z[j]) == s[i]*(delta(i, j) + s[j])",),
        ("sum(s[i] for i in n) == 1 + 1/10**35",),
        ("Var(sum(q[i] for i in n)) == n**2*u",),
        ("sqrt(x**2) == x",),
        ("s[i] == 1/n", "n >= 2"),
        ("sum(z[k] for k in n) == z[i] + z[j]", "i != j"),
        ("z[i] == z[i] and x == x + 1",),
        ("all(w[k] == 0 for k in n)",),
        ("u == sqrt(-u)**2 + 2*u",),
        ("n <= 3",),
        ("limit(exp(-u), u, oo) == u",),
        ("1 == x**2/x**2",),
        ("sign(x**2) == 1",),
        ("x**2/(x**2 + u - 1) == 1/(1 + (u - 1)/x**2)",),
        ("abs(x)**u == abs(x)**(u - 1)*abs(x)",),
        ("sum(where(z[k] == max(z[l] for l in n), 1, 0) for k in n) == 1",),
        ("z[argmax(w[k]*z[k] for k in n)] == max(z[k] for k in n)", "w[i] == 0"),
        ("where(x < 3, 0, 1) == where(x < 4, 0, 1)",),
        ("Var(sum(abs(h[i]) for i in n)) == 1 - 2/pi",),
        ("s[i] >= 1/10**9",),
        ("z[i] == z[j]", "sum(X[a, b]*X[a, c] for a in n) == delta(b, c)", "n >= 2"),
    ],
    ids=lambda t: t[0],
)
def test_false_claims_are_contradicted(text):
    assert verdict(*text) is False


@pytest.mark.parametrize(
    "text",
    [
        ("limit(sin(u), u, oo) == 0",),
        ("E(lgamma(1 + g**2)) == 1",),
        ("x == x", "x > 0", "x < 0"),
        ("log(-u) == 1",),
        ("exp(z[i])**2 > exp(2*z[i])",),
        ("n == n", "n > 4"),
    ],
    ids=lambda t: t[0],
)
def test_what_cannot_be_evaluated_is_not_told(text):
    assert verdict(*text) is None


def test_a_claim_that_is_judged_at_equal_letters_only_is_not_found_true():
    """The larger of two normal entries has the mean 1/sqrt(pi); at i = j it has the mean 0."""
    assert verdict("E(max(h[i], h[j])) == 0") is None
    assert verdict("E(where(h[i] > h[j], E(max(h[i], h[j])), 0)) == E(where(h[i] > h[j], E(h[i]), 0))") is None

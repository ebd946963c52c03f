"""Laws of powers, logarithms, angles, gamma functions, products and means: each with the near miss that is not one."""

from __future__ import annotations

import pytest

from derive.engine.prove import prove
from derive.language import loads

# (declarations, claim): true wherever the left side is defined.
TRUE = {
    "the mean of a product over an axis": (
        "n: axis; x: real[n]; q: random(mean=0, variance=1)[n]",
        "E(prod(1 + x[k]*q[k] for k in n)) == 1",
    ),
    "a common positive denominator leaves a logarithm": (
        "a: real; b: real; assume(a < 0)",
        "log(1/(1 - exp(a)) + exp(b)/(1 - exp(a))) == log(1 + exp(b)) - log(1 - exp(a))",
    ),
    "a common positive denominator leaves a root": (
        "a: real; assume(a < 0)",
        "sqrt(exp(a)/(1 - exp(a))) == exp(a/2)/sqrt(1 - exp(a))",
    ),
    "a ratio of odds": ("s: positive; t: positive", "sigmoid(log(s/t)) == s/(s + t)"),
    "the log-odds of a softmax": (
        "n: axis; z: real[n]; c: index[n]; assume(n >= 2); Z = sum(exp(z[k]) for k in n); p[i] = exp(z[i])/Z",
        "log(p[c]/(1 - p[c])) == z[c] - log(sum(exp(z[k]) for k in n if k != c))",
    ),
    "the logarithm of a reciprocal": ("x: real; y: real", "log(1/(x + y)) == -log(x + y)"),
    "the root of a reciprocal": ("x: real; y: real", "1/sqrt(x + y) == sqrt(1/(x + y))"),
    "a real power of a quotient of positives": (
        "x: positive; y: positive; a: real",
        "(x/(x + y))**a == x**a*(x + y)**(-a)",
    ),
    "a power of a letter leaves a sum": (
        "n: axis; x: real[n]; r: positive",
        "sum(r**(i - j)*x[j] for j in n if j <= i) == r**i*sum(x[j]/r**j for j in n if j <= i)",
    ),
    "one factor of a power of a size": ("n: axis; g: real", "g**n == g*g**(n - 1)"),
    "one factor of a number's power": ("n: axis", "2**n == 2*2**(n - 1)"),
    "one factor of a power of a letter": (
        "n: axis; x: real[n]; g: real",
        "sum(x[i]*g**(i + 1) for i in n) == g*sum(x[i]*g**i for i in n)",
    ),
    "exponents add over a positive base": ("a: real; b: real; x: positive", "x**(a + b) == x**a*x**b"),
    "exponents multiply over a positive base": ("a: real; b: real; x: positive", "x**(a*b) == (x**a)**b"),
    "letters as exponents of any base": ("n: axis; r: real; i: index[n]; j: index[n]", "r**(i + j) == r**i*r**j"),
    "positive exponents add over a base that may be 0": (
        "p: positive; g: positive; a: positive; assume(p <= 1)",
        "(1 - p)**g*(1 - p)**(a + 1) == (1 - p)**(g + a + 1)",
    ),
    "a product that may be 0 to a positive power": (
        "x: nonnegative; y: nonnegative; g: positive",
        "(x*y)**g == x**g*y**g",
    ),
    "a power of two of a binary logarithm": ("x: positive", "2**(log(x)/log(2)) == x"),
    "an even power of minus one": ("n: axis; i: index[n]", "(-1)**(2*i) == 1"),
    "a product to a letter": ("n: axis; r: real; i: index[n]", "(-r)**i == (-1)**i*r**i"),
    "sine of a sum": ("x: real; y: real", "sin(x + y) == sin(x)*cos(y) + cos(x)*sin(y)"),
    "cosine of a difference": ("x: real; y: real", "cos(x)*cos(y) + sin(x)*sin(y) == cos(y - x)"),
    "six times an angle": ("x: real", "cos(6*x) == 2*cos(3*x)**2 - 1"),
    "half an angle": ("x: real", "cos(x/2)**2 == (1 + cos(x))/2"),
    "twice half an angle": ("x: real", "2*sin(x/2)*cos(x/2) == sin(x)"),
    "a quarter turn": ("x: real", "sin(x + pi/2) == cos(x)"),
    "exact sines": ("x: real", "sin(pi/4) + cos(5*pi/6) + tan(pi/3) == sqrt(2)/2 + sqrt(3)/2"),
    "half turns by a letter": ("n: axis; i: index[n]", "cos(pi*i) == (-1)**i"),
    "exact arctangents": ("x: real", "atan(1) + atan(-sqrt(3)) + atan(1/sqrt(3)) == pi/12"),
    "the slope of a squared sine": ("x: real", "diff(sin(x)**2, x) == sin(2*x)"),
    "lgamma one step down": ("p: positive", "lgamma(p + 1) == lgamma(p) + log(p)"),
    "digamma one step down": ("p: positive", "digamma(p + 1) == digamma(p) + 1/p"),
    "trigamma one step down": ("p: positive", "trigamma(p + 1) == trigamma(p) - 1/p**2"),
    "a factorial": ("n: axis; i: index[n]", "lgamma(i + 2) == lgamma(i + 1) + log(i + 1)"),
    "gamma functions of numbers": ("p: positive", "lgamma(5) + lgamma(1/2) == log(24) + log(pi)/2"),
    "a beta function": (
        "a: positive; b: positive",
        "exp(lgamma(a + 1) + lgamma(b) - lgamma(a + b + 1)) == a/(a + b)*exp(lgamma(a) + lgamma(b) - lgamma(a + b))",
    ),
    "a product by logarithms": (
        "n: axis; x: positive[n]",
        "prod(x[k] for k in n) == exp(sum(log(x[k]) for k in n))",
    ),
    "a geometric mean": (
        "n: axis; x: positive[n]",
        "prod(x[k] for k in n)**(1/n) == exp(sum(log(x[k]) for k in n)/n)",
    ),
    "a weighted product by logarithms": (
        "n: axis; p: positive[n]; y: real[n]",
        "prod(p[k]**y[k] for k in n) == exp(sum(y[k]*log(p[k]) for k in n))",
    ),
    "a product up to a letter": (
        "n: axis; x: positive[n]; i: index[n]",
        "prod(x[k] for k in n if k <= i) == exp(sum(log(x[k]) for k in n if k <= i))",
    ),
    "a power of a product": (
        "n: axis; x: positive[n]; g: real",
        "prod(x[k]**g for k in n) == prod(x[k] for k in n)**g",
    ),
    "the root of a perfect square": ("x: real; y: real", "sqrt(x**2 - 2*x*y + y**2) == abs(x - y)"),
    "a real power of a square": ("x: real; a: real; assume(x != 0)", "(x**2)**a == abs(x)**(2*a)"),
    "a negative discriminant": ("x: real", "abs(x**2 + x + 1) == x**2 + x + 1"),
    "a form that is not negative": ("x: real; y: real", "abs(x**2 + x*y + y**2) == x**2 + x*y + y**2"),
    "a sine is bounded": ("y: real", "abs(2 + sin(y)) == 2 + sin(y)"),
    "an erf never attains its bound": ("y: real", "sqrt((1 - erf(y))**2) == 1 - erf(y)"),
    "a product of tanh is bounded": ("x: real; y: real", "abs(1 + tanh(x)*tanh(y)) == 1 + tanh(x)*tanh(y)"),
    "exponentials compare as their exponents": (
        "a: real; b: real; assume(a < b)",
        "abs(exp(a) - exp(b)) == exp(b) - exp(a)",
    ),
    "the exponential of a scaled count": (
        "n: axis; p: real; assume(0 <= p); assume(p <= 1); t: real; b: bernoulli(p)[n]",
        "E(exp(t*sum(b[i] for i in n))) == (1 - p + p*exp(t))**n",
    ),
    "the exponential of signs": (
        "n: axis; a: real[n]; t: real; e: rademacher[n]",
        "E(exp(t*sum(a[i]*e[i] for i in n))) == prod(cosh(t*a[i]) for i in n)",
    ),
    "the exponential of a normal mean": (
        "n: axis; mu: real; v: positive; t: real; z: normal(mu, v)[n]",
        "E(exp(t*sum(z[i] for i in n)/n)) == exp(t*mu + t**2*v/(2*n))",
    ),
    "a normal tail": ("t: real; z: normal(0, 1)", "E(where(z > t, 1, 0)) == (1 - erf(t/sqrt(2)))/2"),
    "a normal interval": (
        "s: real; t: real; assume(s < t); z: normal(0, 1)",
        "E(where(z > s, where(z < t, 1, 0), 0)) == (erf(t/sqrt(2)) - erf(s/sqrt(2)))/2",
    ),
    "the mean of a normal within an interval": (
        "s: real; t: real; assume(s < t); z: normal(0, 1)",
        "E(where(z > s, where(z < t, z, 0), 0)) == (exp(-s**2/2) - exp(-t**2/2))/sqrt(2*pi)",
    ),
    "the larger of a normal and a number": (
        "t: real; z: normal(0, 1)",
        "E(max(z, t)) == t*(1 + erf(t/sqrt(2)))/2 + exp(-t**2/2)/sqrt(2*pi)",
    ),
    "the exponential of a normal square": (
        "t: real; m: real; assume(t < 1/2); z: normal(m, 1)",
        "E(exp(t*z**2)) == exp(t*m**2/(1 - 2*t))/sqrt(1 - 2*t)",
    ),
    "the exponential of a uniform": (
        "a: real; b: real; c: real; assume(c != 0); u: uniform(a, b)",
        "E(exp(c*u)) == (exp(c*b) - exp(c*a))/(c*(b - a))",
    ),
    "the distance of a uniform from a point inside": (
        "a: real; b: real; c: real; assume(a <= c); assume(c <= b); u: uniform(a, b)",
        "E(abs(u - c)) == ((c - a)**2 + (b - c)**2)/(2*(b - a))",
    ),
    "a part of a uniform": (
        "c: real; assume(0 < c); assume(c < 1); u: uniform(0, 1)",
        "E(where(u < c, u, 0)) == c**2/2",
    ),
}

# (declarations, claim): the same without the condition, or one place off.
FALSE = {
    "exponents of any sign over a base that may be 0": ("x: nonnegative; g: real", "x**2 == x**g*x**(2 - g)"),
    "an exponent that may be 0 over a base that may be": ("x: nonnegative; g: nonnegative", "0**g*x == 0"),
    "a power of two of a ternary logarithm": ("x: positive", "2**(log(x)/log(3)) == x"),
    "the mean of a product of one entry": (
        "n: axis; i: index[n]; x: real[n]; q: random(mean=0, variance=1)[n]",
        "E(prod(1 + x[k]*q[i] for k in n)) == 1",
    ),
    "the logarithm of a product of unknown signs": ("x: real; y: real", "log(x*y) == log(x) + log(y)"),
    "the logarithm of a square": ("x: real", "log(x**2) == 2*log(x)"),
    "a denominator of unknown sign": (
        "x: real; y: real; z: real",
        "log(1/(x + y) + z/(x + y)) == log(1 + z) - log(x + y)",
    ),
    "a root with a denominator of unknown sign": (
        "x: real; y: real; z: real",
        "sqrt(1/(x + y) + z/(x + y)) == sqrt(1 + z)/sqrt(x + y)",
    ),
    "a denominator that may be 0": ("x: real", "1/x - 1/x + 1 == (x/x)**2 + 0*log(x)"),
    "the rest of a sum of one": (
        "n: axis; z: real[n]; c: index[n]; Z = sum(exp(z[k]) for k in n)",
        "log(Z) == log(Z) + 0*log(Z - exp(z[c]))",
    ),
    "exponents add over any base": ("a: real; b: real; x: nonnegative", "x**(a + b) == x**a*x**b"),
    "exponents multiply over any base": ("a: real; x: real", "x**(2*a) == (x**a)**2"),
    "a difference of letters over any base": ("n: axis; r: real; i: index[n]; j: index[n]", "r**(i - j) == r**i/r**j"),
    "an integer that may be negative": ("g: real; m: integer", "g**(m + 1) == g*g**m"),
    "one factor too few": ("n: axis; g: real; i: index[n]", "g**i == g*g**(i - 1)"),
    "an odd power of minus one": ("n: axis; i: index[n]", "(-1)**(2*i + 1) == 1"),
    "minus one to a real power": ("a: real", "(-1)**(2*a) == ((-1)**a)**2"),
    "an even exponent hides a sign": ("a: real; x: real", "((x**2)**(1/3))**a == (x**(2/3))**a"),
    "sine of a difference": ("x: real; y: real", "cos(x + y) == cos(x)*cos(y) + sin(x)*sin(y)"),
    "a quarter turn the other way": ("x: real", "sin(x + pi/2) == -cos(x)"),
    "half turns by a letter are not all even": ("n: axis; i: index[n]", "cos(pi*i) == 1"),
    "half an angle without the root": ("x: real", "cos(x/2) == (1 + cos(x))/2"),
    "a wrong exact value": ("x: real", "cos(pi/3) == sqrt(3)/2"),
    "lgamma below 1": ("p: nonnegative", "lgamma(p + 1) == lgamma(p) + log(p)"),
    "digamma below 1": ("p: nonnegative", "digamma(p + 1) == digamma(p) + 1/p"),
    "trigamma with the wrong sign": ("p: positive", "trigamma(p + 1) == trigamma(p) + 1/p**2"),
    "a factorial at 0": ("n: axis; i: index[n]", "lgamma(i + 1) == lgamma(i) + log(i)"),
    "a wrong factorial": ("p: positive", "lgamma(4) == log(24)"),
    "a product by logarithms of what may be 0": (
        "n: axis; x: nonnegative[n]",
        "prod(x[k] for k in n) == exp(sum(log(x[k]) for k in n))",
    ),
    "a mean that is no geometric one": (
        "n: axis; x: positive[n]",
        "prod(x[k] for k in n) == exp(sum(log(x[k]) for k in n)/n)",
    ),
    "a power of a product of negatives": (
        "n: axis; x: real[n]",
        "prod(x[k] for k in n)**(1/2) == prod(x[k]**(1/2) for k in n)",
    ),
    "the root of a square without its sign": ("x: real", "sqrt(x**2 + 2*x + 1) == x + 1"),
    "no perfect square": ("x: real", "sqrt(x**2 + 2*x + 2) == abs(x + 1)"),
    "a positive discriminant": ("x: real", "abs(x**2 + 2*x + 1/2) == x**2 + 2*x + 1/2"),
    "a form with a zero": ("x: real; y: real", "1 == (x**2 + x*y + y**2)/(x**2 + x*y + y**2)"),
    "a sine attains its bound": ("y: real", "1 == (1 + sin(y))/(1 + sin(y))"),
    "a bound too low": ("x: real; y: real", "1 == (1/2 + tanh(x)*tanh(y))/(1/2 + tanh(x)*tanh(y))"),
    "exponentials of unknown order": ("a: real; b: real", "abs(exp(a) - exp(b)) == exp(b) - exp(a)"),
    "a count of dependent terms": (
        "n: axis; p: real; assume(0 <= p); assume(p <= 1); t: real; b: bernoulli(p); x: real[n]",
        "E(exp(t*sum(b for i in n))) == (1 - p + p*exp(t))**n",
    ),
    "the wrong normal tail": ("t: real; z: normal(0, 1)", "E(where(z > t, 1, 0)) == (1 + erf(t/sqrt(2)))/2"),
    "a normal that may be constant": (
        "v: nonnegative; t: real; z: normal(0, v)",
        "E(where(z > t, 1, 0)) == (1 - erf(t/sqrt(2*v)))/2",
    ),
    "an interval of unknown order": (
        "s: real; t: real; z: normal(0, 1)",
        "E(where(z > s, where(z < t, 1, 0), 0)) == (erf(t/sqrt(2)) - erf(s/sqrt(2)))/2",
    ),
    "a mean within an interval of unknown order": (
        "s: real; t: real; z: normal(0, 1)",
        "E(where(z > s, where(z < t, z, 0), 0)) == (exp(-s**2/2) - exp(-t**2/2))/sqrt(2*pi)",
    ),
    "a mean that may be infinite": ("t: real; assume(t < 1); z: normal(0, 1)", "E(exp(t*z**2)) == 1/sqrt(1 - 2*t)"),
    "an exponent that may be 0": ("c: real; u: uniform(0, 1)", "E(exp(c*u)) == (exp(c) - 1)/c"),
    "a point that may be outside": ("c: real; u: uniform(0, 1)", "E(where(u < c, 1, 0)) == c"),
    "the distance from a point that may be outside": (
        "c: real; assume(c <= 1); u: uniform(0, 1)",
        "E(abs(u - c)) == (c**2 + (1 - c)**2)/2",
    ),
}


def is_proved(declarations: str, claim: str) -> bool:
    head = "\n".join(line.strip() for line in declarations.split(";"))
    theory = loads(f"{head}\n\n\ndef claim():\n    assert {claim}\n")
    theorem = theory["claim"]
    return prove(theorem.claims[0].condition, theory.context(theorem)).proof is not None


@pytest.mark.parametrize("law", TRUE)
def test_law_is_proved(law: str) -> None:
    assert is_proved(*TRUE[law])


@pytest.mark.parametrize("miss", FALSE)
def test_near_miss_is_not_proved(miss: str) -> None:
    assert not is_proved(*FALSE[miss])

"""Orders: the kernel's rows are true and tight, its lines refuse what does not follow, the search finds what does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import mpmath
import pytest
from total import DIGITS, Point, Skip, truth

from derive.engine.prove import Attempt, prove
from derive.engine.simplex import combine
from derive.kernel.check import Ground, check
from derive.kernel.context import Context
from derive.kernel.order import ROWS, Row
from derive.kernel.proof import Account, Cite, Line, Part, Proof, Rejected
from derive.kernel.rules import instantiate
from derive.language import condition, expression, loads
from derive.language.printer import to_text
from derive.term import (
    NEGATED,
    ONE,
    TRUE,
    Term,
    cmp,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    put,
    sub,
    substitute,
    subterm,
    var,
)

VALUES = "-3 -2 -3/2 -1 -1/2 -1/3 0 0 1/4 1/3 1/2 2/3 1 1 3/2 2 5/2 3 5".split()
METAS = "UVP"


# -- rows ------------------------------------------------------------------------------------------------------------


def instances(row: Row, seed: int) -> Iterator[tuple[dict[str, object], Point]]:
    """The row's letters as variables, at points of all signs and sizes."""
    random = Random(seed)
    found: dict[str, object] = {m: var(m) for m in METAS}
    for _ in range(1500):
        with mpmath.workdps(DIGITS):
            values = {m: {(): _number(random)} for m in METAS}
        if random.random() < 0.15:
            values["V"] = values["U"]
        yield found, Point({}, values, {})


def _number(random: Random) -> mpmath.mpf:
    exact = Fraction(random.choice(VALUES)) if random.random() < 0.7 else Fraction(random.randint(-60, 60), 13)
    return mpmath.mpf(exact.numerator) / exact.denominator


def holds(pattern: Term, found: dict[str, object], here: Point) -> bool | None:
    try:
        return truth(instantiate(pattern, found), here)
    except Skip:
        return None


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_row_is_true_wherever_its_premises_are(row: Row) -> None:
    seen = 0
    for found, here in instances(row, 1):
        if all(holds(p, found, here) for p in row.premises):
            assert holds(row.conclusion, found, here) is not False, here
            seen += 1
    assert seen > 50


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_row_turned_round_is_false_somewhere(row: Row) -> None:
    turned = cmp(row.conclusion.value, *row.conclusion.args[::-1])
    assert any(
        all(holds(p, found, here) for p in row.premises) and holds(turned, found, here) is False
        for found, here in instances(row, 2)
    )


@pytest.mark.parametrize(
    ("row", "dropped"),
    [
        pytest.param(row, n, id=f"{row.name} without {to_text(instantiate(p, {m: var(m) for m in METAS}))}")
        for row in ROWS.values()
        for n, p in enumerate(row.premises)
        if (row.name, n) != ("sqrt_increasing", 1)  # the root of what is negative is 0: it increases there too
    ],
)
def test_row_needs_each_of_its_premises(row: Row, dropped: int) -> None:
    kept = [p for n, p in enumerate(row.premises) if n != dropped]
    assert any(
        all(holds(p, found, here) for p in kept) and holds(row.conclusion, found, here) is False
        for found, here in instances(row, 3)
    )


@pytest.mark.parametrize("row", [r for r in ROWS.values() if r.conclusion.value == ">="], ids=lambda row: row.name)
def test_row_that_allows_equality_attains_it(row: Row) -> None:
    equal = cmp("==", *row.conclusion.args)
    assert any(
        all(holds(p, found, here) for p in row.premises) and holds(equal, found, here)
        for found, here in instances(row, 4)
    )


# -- the kernel's refusals -------------------------------------------------------------------------------------------

HEAD = """
n: axis
m: axis
x: real[n]
y: real[n]
u: positive[n]
w: nonnegative[n]
A: real[m, n]
a: real
b: real
c: real
t: positive
r: positive
e: nonnegative
f: nonnegative
flag: bit[n]
z: real[n]
i: index[n]
j: index[n]
q: random(mean=a, variance=e)[n]
h: bernoulli(1/3)
Z = sum(exp(z[k]) for k in n)
s[l] = exp(z[l]) / Z
lse = log(Z)
M = max(z[k] for k in n)
S = sum(a * q[k] for k in n)
"""
WORDS = loads(HEAD)
K, L, I, J = index("k", "n"), index("l", "n"), index("i", "n"), index("j", "n")  # noqa: E741  # index letters


@cache
def theory(body: str) -> tuple[Term, Context]:
    lines = body.split("; ")
    claims = [line if line.startswith(("assume", "assert")) else f"assert {line}" for line in lines]
    found = loads(HEAD + "\ndef claim():\n" + "".join(f"    {line}\n" for line in claims))
    theorem = found.theorems[0]
    return theorem.claims[-1].condition, found.context(theorem)


def attempt(body: str) -> Attempt:
    return prove(*theory(body))


def term(text: str) -> Term:
    return expression(text, WORDS)


def refused(body: str, *lines: Line) -> str:
    """Why the kernel refuses these lines for the claim."""
    claim, context = theory(body)
    with pytest.raises(Rejected) as why:
        check(Proof(claim, lines=lines), context)
    return why.value.reason


def accepted(body: str, *lines: Line) -> Account:
    claim, context = theory(body)
    return check(Proof(claim, lines=lines), context)


def line(text: str, rule: str, *values: Term, **more: object) -> Line:
    return Line(condition(text, WORDS), rule, values, **more)  # type: ignore[arg-type]


ENTRY = Part(fn("exp", var("z", K)), (), (K,), cmp("!=", K, I))  # the sum of the other exponentials
LEAST = "Z - exp(z[i])"


def test_sum_of_the_others_is_not_negative_and_positive_where_there_are_others() -> None:
    accepted("Z >= exp(z[i])", line("Z >= exp(z[i])", "combination", parts=(ENTRY,)))
    accepted("assume(n >= 2); Z > exp(z[i])", line("Z > exp(z[i])", "combination", parts=(ENTRY,)))
    assert (
        refused("Z > exp(z[i])", line("Z > exp(z[i])", "combination", parts=(ENTRY,))) == "combination does not give >"
    )


NONNEGATIVE = "assume(b >= 0); "
REFUSALS = {
    "parts that do not add up": ("Z >= exp(z[j])", line("Z >= exp(z[j])", "combination", parts=(ENTRY,))),
    "a sign turned round": (
        "Z >= exp(z[i])",
        line("Z <= exp(z[i])", "combination", parts=(ENTRY,)),
    ),
    "a multiplier of unknown sign": (
        NONNEGATIVE + "a*b >= 0",
        line("a*b >= 0", "combination", parts=(Part(var("a"), (Cite(-1),)),)),
    ),
    "a negative multiplier": (
        NONNEGATIVE + "-b >= 0",
        line("-b >= 0", "combination", parts=(Part(num(-1), (Cite(-1),)),)),
    ),
    "a factor of unknown sign": (
        "a >= 0",
        line("a >= 0", "combination", var("a"), parts=(Part(term("a**2")),)),
    ),
    "a strict comparison from one that is not": (
        NONNEGATIVE + "b > 0",
        line("b > 0", "combination", parts=(Part(ONE, (Cite(-1),)),)),
    ),
    "a sum over a letter of the claim": (
        "Z >= exp(z[i])",
        line("Z >= exp(z[i])", "combination", parts=(Part(term("exp(z[i])"), (), (I,)),)),
    ),
    "a letter summed over twice": (
        "sum(u[k] for k in n) >= 0",
        line("sum(u[k] for k in n) >= 0", "combination", parts=(Part(term("u[k]"), (), (K, K)),)),
    ),
    "a condition without a sum": (
        "a**2 >= 0",
        line("a**2 >= 0", "combination", parts=(Part(term("a**2"), (), (), cmp("==", I, J)),)),
    ),
    "a letter that nothing binds": (
        "Z >= 0",
        line("Z >= exp(z[k])", "combination", parts=(replace(ENTRY, over=(L,), where=TRUE),)),
    ),
    "a multiplier with a loose letter": (
        "Z >= 0",
        line("Z >= 0", "combination", parts=(Part(term("exp(z[k])")),)),
    ),
    "letters of the claim as letters of a line": (
        "Z >= exp(z[i])",
        line("Z >= exp(z[i])", "combination", parts=(ENTRY,), letters=(I,)),
    ),
    "a line that cites itself": ("a >= b", line("a >= b", "combination", parts=(Part(ONE, (Cite(0),)),))),
    "a fact that is not there": ("a >= b", line("a >= b", "combination", parts=(Part(ONE, (Cite(-9),)),))),
    "a fact without a place for its letter": (
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1),)),)),
    ),
    "a fact at a place of another axis": (
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((K, index("i", "m")),)),)),)),
    ),
    "a fact where its filter fails": (
        "assume(all(x[k] >= 0 for k in n if k != i)); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((K, I),)),)),)),
    ),
    "a fact where its filter is not known to hold": (
        "assume(all(x[k] >= 0 for k in n if k != i)); x[j] >= 0",
        line("x[j] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((K, J),)),)),)),
    ),
    "a rule that does not exist": ("a >= b", line("a >= b", "wishful_thinking", var("a"), var("b"))),
    "a row with too few values": ("exp(a) >= 1 + a", line("exp(a) >= 1 + a", "exp_tangent")),
    "a row at other values": ("exp(a) >= 1 + a", line("exp(a) >= 1 + a", "exp_tangent", var("b"))),
    "a premise that is not known": ("a - 1 >= log(a)", line("a - 1 >= log(a)", "log_tangent", var("a"))),
    "a strict tangent at the point of contact": (
        "exp(a) > 1 + a",
        line("exp(a) > 1 + a", "strict_exp_tangent", var("a")),
    ),
    "a premise that says something else": (
        "assume(a >= c); exp(a) >= exp(b)",
        line("exp(a) >= exp(b)", "exp_increasing", var("a"), var("b"), cites=(Cite(-1),)),
    ),
    "a premise that is not strict": (
        "assume(a >= b); exp(a) > exp(b)",
        line("exp(a) > exp(b)", "strict_exp_increasing", var("a"), var("b"), cites=(Cite(-1),)),
    ),
    "a root that may be negative": (
        "assume(a**2 >= b**2); a >= b",
        line("a >= b", "square_root_order", var("a"), var("b"), cites=(None, Cite(-1))),
    ),
    "a maximum at a place that the filter leaves out": (
        "max(x[k] for k in n if k != i) >= x[i]",
        line("max(x[k] for k in n if k != i) >= x[i]", "extremum", term("max(x[k] for k in n if k != i)"), I),
    ),
    "a maximum of something else": (
        "max(x[k] for k in n) >= y[i]",
        line("max(x[k] for k in n) >= y[i]", "extremum", term("max(x[k] for k in n)"), I),
    ),
    "a maximum below its values": (
        "max(x[k] for k in n) <= x[i]",
        line("max(x[k] for k in n) <= x[i]", "extremum", term("max(x[k] for k in n)"), I),
    ),
    "a maximum at a place of another axis": (
        "max(x[k] for k in n) >= x[i]",
        line("max(x[k] for k in n) >= x[i]", "extremum", term("max(x[k] for k in n)"), index("i", "m")),
    ),
    "an extremum of nothing": ("a >= b", line("a >= b", "extremum", var("a"))),
    "one case of two": (
        "abs(a) >= b",
        line("abs(a) >= b", "combination", parts=(Part(term("a - b")),), where=condition("a > b", WORDS)),
        line("abs(a) >= b", "case_distinction", term("a"), cites=(Cite(0), None)),
    ),
    "cases without a condition": ("a >= b", line("a >= b", "case_distinction", cites=(None, None))),
    "a case used outside": (
        "a >= b",
        line("a >= b", "combination", parts=(Part(term("a - b")),), where=condition("a > b", WORDS)),
        line("a >= b", "combination", parts=(Part(ONE, (Cite(0),)),)),
    ),
    "a lemma that is not there": ("a >= b", line("a >= b", "lemma")),
    "a mean that may not exist": (
        "E(q[i]**2) >= 0",
        line("E(q[i]**2) >= -1", "combination", parts=(Part(term("Var(q[i]**4)")),)),
    ),
    "a line that is no comparison": ("a >= b", Line(TRUE, "combination")),
    "a malformed line": ("a >= b", Line(cmp(">=", var("nothing"), num(0)), "combination")),
    "a malformed place": (
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((K, var("nothing")),)),)),)),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_kernel_refuses(name: str) -> None:
    body, *lines = REFUSALS[name]
    assert refused(body, *lines)  # type: ignore[arg-type]


def test_letter_that_only_a_hypothesis_restricts_is_not_borrowed() -> None:
    """From k != l alone a sum over one entry would be at least 2: the claim has neither letter, so n may be 1."""
    claim, context = theory("assume(all(u[l] >= 1 for l in n)); sum(u[k] for k in n) >= 2")
    context = replace(context, hypotheses=(cmp("!=", K, L), *context.hypotheses))
    others = Part(term("u[i]"), (), (index("p", "n"),), make("and", (cmp("!=", index("p", "n"), K),) * 2))
    entries = sub(sub(term("sum(u[p] for p in n)"), term("u[k]")), term("u[l]"))
    with pytest.raises(Rejected, match="nothing binds"):
        check(Proof(claim, lines=(Line(cmp(">=", entries, num(0)), "combination", parts=(others,)),)), context)
    with pytest.raises(Rejected, match="nothing binds"):
        check(Proof(claim, lines=(line("n >= 1", "combination", parts=(Part(ONE, (Cite(-1, ((L, K),)),)),)),)), context)


def test_what_is_known_of_a_fixed_letter_says_nothing_of_a_bound_one() -> None:
    body = "sum(x[k] for k in n) * log(x[k])**2 >= 0"
    assert attempt(body).proof is None
    assert attempt("sum(u[k] for k in n) * log(x[k])**2 >= 0").proof is not None


# -- what the search finds, and beside it what is false --------------------------------------------------------------

ONE_WEIGHTS = "assume(sum(w[k] for k in n) == 1); "
PAIRS = (
    # softmax
    ("assume(z[i] > z[j]); s[i] > s[j]", "assume(z[i] >= z[j]); s[i] > s[j]"),
    ("assume(n >= 2); s[i] < 1", "s[i] < 1"),
    ("s[i] <= 1", "s[i] <= 1/2"),
    ("0 < s[i]", "0 > s[i]"),
    ("assume(n >= 2); diff(s[i], z[i]) > 0", "diff(s[i], z[i]) > 0"),
    ("assume(i != j); diff(s[i], z[j]) < 0", "diff(s[i], z[j]) < 0"),
    ("abs(diff(s[i], z[j])) <= 1/4", "abs(diff(s[i], z[j])) <= 6/25"),
    ("abs(diff(s[i], z[j])) <= 1 - s[i]", "abs(diff(s[i], z[j])) < 1 - s[i]"),
    ("assume(i != j); s[i] + s[j] <= 1", "s[i] + s[j] <= 1"),
    ("max(s[k] for k in n) >= 1/n", "max(s[k] for k in n) > 1/n"),
    ("sum(s[k]**2 for k in n) >= 1/n", "sum(s[k]**2 for k in n) > 1/n"),
    ("-sum(s[k]*log(s[k]) for k in n) <= log(n)", "-sum(s[k]*log(s[k]) for k in n) < log(n)"),
    ("0 <= -sum(s[k]*log(s[k]) for k in n)", "0 < -sum(s[k]*log(s[k]) for k in n)"),
    # log-sum-exp
    ("M <= lse", "M < lse"),
    ("assume(n >= 2); M < lse", "assume(n >= 2); M + 1 < lse"),
    ("lse <= M + log(n)", "lse < M + log(n)"),
    ("sum(exp(z[k] - M) for k in n) >= 1", "sum(exp(z[k] - M) for k in n) > 1"),
    ("lse >= sum(z[k] for k in n)/n + log(n)", "lse > sum(z[k] for k in n)/n + log(n)"),
    ("sum(s[k]*z[k] for k in n) <= M", "sum(s[k]*z[k] for k in n) < M"),
    (
        "sum(x[l]*diff(lse, z[l], z[k])*x[k] for l in n for k in n) >= 0",
        "sum(x[l]*diff(lse, z[l], z[k])*x[k] for l in n for k in n) > 0",
    ),
    # weights that add up to one
    (ONE_WEIGHTS + "w[i] <= 1", "w[i] <= 1"),
    (
        ONE_WEIGHTS + "sum(w[k]*x[k] for k in n) <= max(x[k] for k in n)",
        "sum(w[k]*x[k] for k in n) <= max(x[k] for k in n)",
    ),
    (
        ONE_WEIGHTS + "sum(w[k]*x[k] for k in n)**2 <= sum(w[k]*x[k]**2 for k in n)",
        "sum(w[k]*x[k] for k in n)**2 <= sum(w[k]*x[k]**2 for k in n)",
    ),
    (
        ONE_WEIGHTS + "exp(sum(w[k]*x[k] for k in n)) <= sum(w[k]*exp(x[k]) for k in n)",
        ONE_WEIGHTS + "exp(sum(w[k]*x[k] for k in n)) >= sum(w[k]*exp(x[k]) for k in n)",
    ),
    (
        "assume(sum(u[k] for k in n) == 1); -sum(u[k]*log(u[k]) for k in n) <= log(n)",
        "-sum(u[k]*log(u[k]) for k in n) <= log(n)",
    ),
    # sums and squares
    (
        "sum(x[k]*y[k] for k in n)**2 <= sum(x[k]**2 for k in n)*sum(y[k]**2 for k in n)",
        "sum(x[k]*y[k] for k in n)**2 < sum(x[k]**2 for k in n)*sum(y[k]**2 for k in n)",
    ),
    (
        "abs(sum(x[k] for k in n)) <= sum(abs(x[k]) for k in n)",
        "abs(sum(x[k] for k in n)) >= sum(abs(x[k]) for k in n)",
    ),
    (
        "sqrt(sum((x[k] + y[k])**2 for k in n)) <= sqrt(sum(x[k]**2 for k in n)) + sqrt(sum(y[k]**2 for k in n))",
        "sqrt(sum((x[k] + y[k])**2 for k in n)) <= sqrt(sum(x[k]**2 for k in n))",
    ),
    ("sum(u[k] for k in n)*sum(1/u[k] for k in n) >= n**2", "sum(u[k] for k in n)*sum(1/u[k] for k in n) > n**2"),
    (
        "(sum(x[k] for k in n)/n)**2 <= sum(x[k]**2 for k in n)/n",
        "(sum(x[k] for k in n)/n)**2 >= sum(x[k]**2 for k in n)/n",
    ),
    (
        "sum(A[p, k]*x[k]*A[p, l]*x[l] for p in m for k in n for l in n) >= 0",
        "sum(A[p, k]*x[k]*A[p, l]*y[l] for p in m for k in n for l in n) >= 0",
    ),
    ("sum(flag[k]*w[k] for k in n) <= sum(w[k] for k in n)", "sum(flag[k]*x[k] for k in n) <= sum(x[k] for k in n)"),
    (
        "sum(w[k] for k in n if k <= i) <= sum(w[k] for k in n)",
        "sum(x[k] for k in n if k <= i) <= sum(x[k] for k in n)",
    ),
    ("sum(exp(x[k]) for k in n if k <= i) > 0", "sum(exp(x[k]) for k in n if k < i) > 0"),
    ("w[i] <= sum(w[k] for k in n)", "x[i] <= sum(x[k] for k in n)"),
    ("sum(x[k] for k in n) <= n*max(x[k] for k in n)", "sum(x[k] for k in n) >= n*max(x[k] for k in n)"),
    (
        "assume(x[k] <= y[k]); max(x[k] for k in n) <= max(y[k] for k in n)",
        "assume(x[k] <= y[k]); max(x[k] for k in n) < max(y[k] for k in n)",
    ),
    (
        "prod(u[k] for k in n)**(1/n) <= sum(u[k] for k in n)/n",
        "prod(u[k] for k in n)**(1/n) >= sum(u[k] for k in n)/n",
    ),
    # numbers
    ("a**2 + b**2 + c**2 >= a*b + b*c + a*c", "a**2 + b**2 + c**2 > a*b + b*c + a*c"),
    ("t/r + r/t >= 2", "t/r + r/t > 2"),
    ("sqrt(e*f) <= (e + f)/2", "sqrt(e*f) < (e + f)/2"),
    ("sqrt(e + f) <= sqrt(e) + sqrt(f)", "sqrt(e + f) >= sqrt(e) + sqrt(f)"),
    ("a**2 - a + 1 > 0", "a**2 - 2*a + 1 > 0"),
    ("t**3 - 3*t + 2 >= 0", "t**3 - 3*t + 1 >= 0"),
    ("assume(a >= b); a**3 >= b**3", "assume(a >= b); a**4 >= b**4"),
    ("assume(0 <= a <= 1); a**2 <= a", "a**2 <= a"),
    ("assume(0 <= a <= 1); assume(0 <= b <= 1); a + b - a*b <= 1", "assume(0 <= a <= 1); a + b - a*b <= 1"),
    ("assume(a**2 < t**2); a < t", "assume(a**2 <= t**2); a < t"),
    ("assume(0 < a < b); 1/b < 1/a", "assume(a < b); 1/b < 1/a"),
    ("(1 + t)**n >= 1 + n*t", "(1 + t)**n > 1 + n*t"),
    # exponentials and logarithms
    ("exp(a) >= 1 + a", "exp(a) > 1 + a"),
    ("exp(t) > 1 + t", "exp(t) > 1 + 2*t"),
    ("log(t) <= t - 1", "log(t) < t - 1"),
    ("1 - exp(-t) <= t", "1 - exp(-t) <= t/2"),
    ("exp((a + b)/2) <= (exp(a) + exp(b))/2", "exp((a + b)/2) < (exp(a) + exp(b))/2"),
    (
        "assume(0 <= a <= 1); exp(a*b + (1 - a)*c) <= a*exp(b) + (1 - a)*exp(c)",
        "exp(a*b + (1 - a)*c) <= a*exp(b) + (1 - a)*exp(c)",
    ),
    (
        "assume(0 < a < 1); -a*log(a) - (1 - a)*log(1 - a) <= log(2)",
        "assume(0 < a < 1); -a*log(a) - (1 - a)*log(1 - a) < log(2)",
    ),
    ("assume(a >= b); softplus(a) >= softplus(b)", "softplus(a) >= softplus(b)"),
    ("sigmoid(a)*(1 - sigmoid(a)) <= 1/4", "sigmoid(a)*(1 - sigmoid(a)) < 1/4"),
    ("-1 < tanh(a) < 1", "-1 < tanh(a) < 1/2"),
    ("assume(a > b); tanh(a) > tanh(b)", "assume(a >= b); tanh(a) > tanh(b)"),
    ("tanh(t) < t", "tanh(a) < a"),
    ("log(cosh(a)) <= abs(a)", "log(cosh(a)) < abs(a)"),
    # cases
    ("abs(a + b) <= abs(a) + abs(b)", "abs(a + b) < abs(a) + abs(b)"),
    ("abs(abs(a) - abs(b)) <= abs(a - b)", "abs(abs(a) - abs(b)) >= abs(a - b)"),
    ("max(a, b) >= (a + b)/2", "min(a, b) >= (a + b)/2"),
    ("relu(a + b) <= relu(a) + relu(b)", "relu(a + b) >= relu(a) + relu(b)"),
    ("assume(abs(a) <= t); a <= t", "assume(abs(a) >= t); a <= t"),
    ("softplus(a) >= relu(a)", "softplus(a) <= relu(a)"),
    ("where(abs(a) <= t, a**2/2, t*(abs(a) - t/2)) <= a**2/2", "where(abs(a) <= t, a**2/2, t*(abs(a) - t/2)) < a**2/2"),
    # means, conditions, indices
    ("E(q[i]**2) >= E(q[i])**2", None),
    ("Var(S) >= 0", None),
    ("Var(h) <= 1/4", None),
    ("i <= n - 1", "i <= n - 2"),
    ("n*(n - 1) >= 0", "n*(n - 1) > 0"),
    ("a >= 0 or a < 1", "a > 0 or a < 0"),
    ("a**2 >= 0 and exp(a) > 0", "a**2 > 0 and exp(a) > 0"),
    ("all(x[k]**2 <= sum(x[l]**2 for l in n) for k in n)", "all(x[k] <= sum(x[l] for l in n) for k in n)"),
    ("exp(a) + 1 != 0", "exp(a) - 1 != 0"),
)


@pytest.mark.parametrize("body", [yes for yes, _ in PAIRS])
def test_order_is_proved(body: str) -> None:
    found = attempt(body)
    assert found.proof is not None, found.reason


@pytest.mark.parametrize("body", [no for _, no in PAIRS if no])
def test_false_order_is_not_proved(body: str) -> None:
    claim, context = theory(body)
    assert counterexample(claim, context, Random(5), 400) is not None, "the twin is meant to be false"
    assert attempt(body).proof is None


def test_earlier_claims_serve_as_lines() -> None:
    from derive.engine.check import check_theory

    text = HEAD + "\ndef claim():\n    assert sum((x[k] - a)**2 for k in n) >= 0\n"
    result = check_theory(loads(text + "    assert sum((x[k] - a)**2 for k in n) + t > 0\n"))
    assert [c.verdict for c in result.theorems[0].claims] == ["proved", "proved"]


def test_lines_are_written_with_letters_of_the_language() -> None:
    found = attempt("sum(s[k]*x[k] for k in n) <= max(x[k] for k in n)")
    assert found.proof is not None
    for one in found.proof.lines:
        for t in (one.condition, one.where, *one.values, *(p.multiplier for p in one.parts)):
            assert "$" not in to_text(t)
            assert "!" not in to_text(t).replace("!=", "")


def test_lines_that_nothing_rests_on_are_left_out() -> None:
    found = attempt("lse <= M + log(n)")
    assert found.proof is not None
    cited = {c.line for one in found.proof.lines for c in (*one.cites, *(c for p in one.parts for c in p.cites)) if c}
    assert cited >= set(range(len(found.proof.lines) - 1))


# -- damage ----------------------------------------------------------------------------------------------------------


def test_damaged_lines_never_prove_the_false_twin() -> None:
    """The lines of a true claim, offered for its false twin as they are and with the last one changed to say it."""
    tried = 0
    for yes, no in PAIRS:
        found = attempt(yes)
        if no is None or found.proof is None or not found.proof.lines:
            continue
        claim, context = theory(no)
        lines = found.proof.lines
        for changed in (lines, (*lines[:-1], replace(lines[-1], condition=Ground(claim, context).claim)), lines[:-1]):
            tried += 1
            with pytest.raises(Rejected):
                check(Proof(claim, lines=changed), context)
    assert tried > 150


@pytest.mark.parametrize(
    "body", ["lse <= M + log(n)", "abs(diff(s[i], z[j])) <= 1/4", "assume(z[i] > z[j]); s[i] > s[j]"]
)
def test_each_line_and_part_is_needed(body: str) -> None:
    _, context = theory(body)
    proof = attempt(body).proof
    assert proof is not None
    check(proof, context)
    for n, one in enumerate(proof.lines):
        cut = [replace(one, parts=one.parts[:p] + one.parts[p + 1 :]) for p in range(len(one.parts))]
        cut += (
            [replace(one, parts=tuple(replace(p, multiplier=mul(num(2), p.multiplier)) for p in one.parts))]
            if one.parts
            else []
        )
        cut += [replace(one, condition=cmp(NEGATED[one.condition.value], *one.condition.args))]
        cut += [replace(one, rule="exp_tangent")]
        for other in cut:
            with pytest.raises(Rejected):
                check(replace(proof, lines=(*proof.lines[:n], other, *proof.lines[n + 1 :])), context)


# -- random claims ---------------------------------------------------------------------------------------------------


def counterexample(claim: Term, context: Context, random: Random, tries: int) -> Point | None:
    """A point that satisfies the hypotheses, where the claim is false and its left side is defined."""
    for _ in range(tries):
        here = _point(claim, context, random)
        try:
            met = all(_closed(h, context, here) for h in context.hypotheses)
            if met and not _truth(claim, here) and (claim.op != "cmp" or _defined(claim.args[0], here)):
                return here
        except Skip:
            continue
    return None


def _point(claim: Term, context: Context, random: Random) -> Point:
    sizes = {axis: random.choice([1, 1, 2, 2, 3]) for axis in context.axes}
    values = {}
    for d in context.declarations.values():
        places = list(product(*(range(sizes[a]) for a in d.axes)))
        values[d.name] = {place: _drawn(d.kind, random) for place in places}
    for h in context.hypotheses:  # weights that are to add up to one
        if h.op == "cmp" and h.value == "==" and h.args[0].op == "sum" and h.args[0].args[0].op == "var":
            table = values[h.args[0].args[0].value]
            total = sum(table.values())
            with mpmath.workdps(DIGITS):
                values[h.args[0].args[0].value] = {p: v / total for p, v in table.items()} if total else table
    letters = claim.letters | context.letters | frozenset().union(*(h.letters for h in context.hypotheses), frozenset())
    return Point(sizes, values, {k: random.randrange(sizes[k.value[1]]) for k in letters}, context.definitions)


def _drawn(kind: str, random: Random) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        value = _number(random)
    if kind == "bit":
        return mpmath.mpf(random.randrange(2))
    return abs(value) or mpmath.mpf(1) if kind == "positive" else abs(value) if kind == "nonnegative" else value


def _closed(hypothesis: Term, context: Context, here: Point) -> bool:
    """Whether a hypothesis holds for all its letters but the declared ones."""
    loose = sorted(hypothesis.letters - context.letters, key=lambda k: str(k.value))
    return all(
        _truth(hypothesis, here.at(dict(zip(loose, places, strict=True))))
        for places in product(*(range(here.sizes[k.value[1]]) for k in loose))
    )


def _truth(claim: Term, here: Point) -> bool:
    if claim.op == "all":
        choices = product(*(range(here.sizes[k.value[1]]) for k in claim.bound))
        inner = (here.at(dict(zip(claim.bound, places, strict=True))) for places in choices)
        return all(_truth(claim.args[0], p) for p in inner if truth(claim.args[1], p))
    if claim.op in ("and", "or"):
        return (all if claim.op == "and" else any)(_truth(a, here) for a in claim.args)
    return truth(without_derivatives(claim), here)


@cache
def without_derivatives(claim: Term) -> Term:
    """The claim with its derivatives taken."""
    from derive.kernel.normal import Normal
    from derive.term import subterms

    if not any(t.op == "diff" for t in subterms(claim)):
        return claim
    _, context = theory("a >= b")
    return cmp(claim.value, *(Normal(context).canonical(a) for a in claim.args))


def _defined(term_: Term, here: Point) -> bool:
    """Whether no denominator is 0 and no logarithm or root is of something that is not positive."""
    if term_.op in ("sum", "prod", "max", "min", "argmax"):
        choices = product(*(range(here.sizes[k.value[1]]) for k in term_.bound))
        inner = [here.at(dict(zip(term_.bound, places, strict=True))) for places in choices]
        return all(_defined(term_.args[0], p) for p in inner if truth(term_.args[1], p))
    if term_.op == "def":
        known = here.definitions[term_.value]
        return _defined(substitute(known.body, dict(zip(known.letters, term_.args, strict=True))), here)
    if term_.op == "where":
        return _defined(term_.args[1 if truth(term_.args[0], here) else 2], here)
    if term_.op in ("diff", "delta", "index", "var"):
        return True
    test = {"div": ("!=", 1), "log": (">", 0), "sqrt": (">=", 0)}.get(term_.value if term_.op == "fn" else term_.op)
    if test and not truth(cmp(test[0], term_.args[test[1]], num(0)), here):
        return False
    if term_.op == "pow" and not truth(cmp(">", term_.args[0], num(0)), here) and term_.args[1].op != "num":
        return False
    return all(_defined(a, here) for a in term_.args)


def mutant(claim: Term, context: Context, random: Random) -> Term:
    """The claim with one place changed."""
    paths = [()]
    for path in paths:
        paths += [(*path, n) for n in range(len(subterm(claim, path).args))]
    path = random.choice(paths)
    t = subterm(claim, path)
    if t.op == "cmp":
        return put(claim, path, cmp(random.choice(["<", "<=", ">", ">=", "!="]), *t.args))
    if t.op == "num":
        return put(claim, path, num(t.value + random.choice([1, -1, Fraction(1, 2), Fraction(-1, 1000)])))
    if t.op == "var":
        kinds = {"real", "positive", "nonnegative"}
        axes = context.declarations[t.value].axes
        same = [d.name for d in context.declarations.values() if d.axes == axes and d.kind in kinds]
        return put(claim, path, var(random.choice(same), *t.args)) if same else claim
    if t.op in ("add", "mul"):
        n = random.randrange(len(t.args))
        kept = [neg(a) if n == p else a for p, a in enumerate(t.args)]
        return put(claim, path, make(t.op, kept))
    if t.op in ("neg", "fn", "pow"):
        return put(claim, path, t.args[0])
    if t.op == "div":
        return put(claim, path, make("div", t.args[::-1]))
    if t.op in ("max", "min") and t.bound:
        return put(claim, path, make("min" if t.op == "max" else "max", t.args, None, t.bound))
    return claim


def fuzz(seed: int, rounds: int) -> tuple[int, int]:
    """How many mutants were false, and how many were proved. None may be both."""
    random = Random(seed)
    bodies = [yes for yes, _ in PAIRS if not any(name in yes for name in ("E(", "Var("))]
    wrong = right = 0
    for _ in range(rounds):
        claim, context = theory(random.choice(bodies))
        claim = mutant(claim, context, random)
        if random.random() < 0.2:
            context = replace(context, hypotheses=context.hypotheses[1:])
        false = counterexample(claim, context, random, 25)
        found = prove(claim, context)
        assert false is None or found.proof is None, (to_text(claim), [to_text(h) for h in context.hypotheses], false)
        wrong += false is not None
        right += found.proof is not None
    return wrong, right


def test_no_false_mutant_of_a_true_order_is_proved() -> None:
    wrong, right = fuzz(1, 120)
    assert wrong > 40
    assert right > 20


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_false_mutant_is_proved_in_a_longer_run(seed: int) -> None:
    fuzz(seed, 400)


# -- the pieces of the search ----------------------------------------------------------------------------------------


def test_combination_of_columns_is_exact() -> None:
    random = Random(3)
    for _ in range(300):
        rows, count = random.randint(1, 6), random.randint(1, 8)
        columns = [
            {r: random.choice([-2, -1, 1, 2]) for r in range(rows) if random.random() < 0.6} for _ in range(count)
        ]
        free = [random.random() < 0.2 for _ in columns]
        hidden = [random.choice([0, 0, 1, Fraction(2, 3), 3]) for _ in columns]
        target: dict[int, Fraction] = {}
        for c, x in zip(columns, hidden, strict=True):
            for r, v in c.items():
                target[r] = target.get(r, Fraction(0)) + v * x
        target = {r: v for r, v in target.items() if v}
        found = combine(target, columns, free)
        assert found is not None
        assert all(x >= 0 or loose for x, loose in zip(found, free, strict=True))
        total: dict[int, Fraction] = {}
        for c, x in zip(columns, found, strict=True):
            for r, v in c.items():
                total[r] = total.get(r, Fraction(0)) + v * x
        assert {r: v for r, v in total.items() if v} == target


def test_combination_that_needs_a_negative_multiplier_is_none() -> None:
    assert combine({"x": -1}, [{"x": 1}], [False]) is None
    assert combine({"x": -1}, [{"x": 1}], [True]) == [-1]
    assert combine({"x": 1}, [{"x": 1}, {"x": 2}], [False, False], [False, True]) == [0, Fraction(1, 2)]
    assert combine({"x": 1}, [{"x": 1}, {"y": 2}], [False, False], [False, True]) is None

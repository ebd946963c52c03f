"""The search for orders: what it finds, beside it what is false, and random mutants of both."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from orders import HEAD, attempt, counterexample, mutant, theory

from derive.engine.check import check_theory
from derive.engine.prove import prove
from derive.engine.shorter import shorter
from derive.engine.simplex import combine
from derive.kernel.check import Ground, check
from derive.kernel.order import Board
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.language import loads
from derive.language.printer import to_text
from derive.term import (
    NEGATED,
    ONE,
    cmp,
    fn,
    index,
    mul,
    num,
    var,
)

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
    ("assume(i < j); j >= 1", "assume(i <= j); j >= 1"),
    ("assume(i < j); i <= n - 2", "assume(i <= j); i <= n - 2"),
    ("assume(i != j); n >= 2", "assume(i != j); n >= 3"),
    ("assume(i != j); s[i] < 1", "s[i] < 1"),
    ("n*(n - 1) >= 0", "n*(n - 1) > 0"),
    ("a >= 0 or a < 1", "a > 0 or a < 0"),
    ("exp(a) > 0 and a**2 >= 0", "exp(a) > 0 and a**2 > 0"),
    ("all(x[k]**2 <= sum(x[l]**2 for l in n) for k in n)", "all(x[k] <= sum(x[l] for l in n) for k in n)"),
    ("exp(a) + 1 != 0", "exp(a) - 1 != 0"),
    # one of several, some entry
    ("assume(a <= -1 or a >= 1); a**2 >= 1", "assume(a <= -1 or a >= 0); a**2 >= 1"),
    ("assume(a > 0 or b > 0); max(a, b) > 0", "assume(a > 0 or b > 0); min(a, b) > 0"),
    ("assume(a >= b or a >= c); a >= min(b, c)", "assume(a >= b or a >= c); a >= max(b, c)"),
    ("assume(a < 0 or a > 1); a*(a - 1) > 0", "assume(a < 1 or a > 1); a*(a - 1) > 0"),
    ("assume(a != 0 or b != 0); a**2 + b**2 > 0", "assume(a != 0 or b == 0); a**2 + b**2 > 0"),
    ("assume(a**2 >= 1); a >= 1 or a <= -1", "assume(a**2 >= 1); a >= 1 or a <= -2"),
    ("assume(a*b >= 0); a >= 0 or b <= 0", "assume(a*b >= 0); a >= 0 or b > 0"),
    ("assume(a*b == 0); a == 0 or b == 0", "assume(a*b == 0); a == 0 or b == 1"),
    ("assume(abs(a) == abs(b)); a == b or a == -b", "assume(abs(a) == abs(b)); a == b or a == 0"),
    ("assume(a > 0 or flag[i]); assume(not flag[i]); a > 0", "assume(a > 0 or flag[i]); a > 0"),
    (
        "assume(sum(x[k] for k in n) == 0); any(x[k] >= 0 for k in n)",
        "assume(sum(x[k] for k in n) >= 0); any(x[k] > 0 for k in n)",
    ),
    (
        "assume(sum(x[k] for k in n) == 1); any(x[k] > 0 for k in n)",
        "assume(sum(x[k] for k in n) == 1); any(x[k] < 0 for k in n)",
    ),
    (
        "assume(sum(x[k] for k in n) > 0); not all(x[k] <= 0 for k in n)",
        "assume(sum(x[k] for k in n) > 0); not all(x[k] <= 1 for k in n)",
    ),
    ("any(x[l] == max(x[k] for k in n) for l in n)", "any(x[l] == max(x[k] for k in n) for l in n if flag[l])"),
    (
        "assume(any(x[k] != 0 for k in n)); sum(x[k]**2 for k in n) > 0",
        "assume(any(x[k] != 0 for k in n)); sum(x[k] for k in n) != 0",
    ),
    (
        "assume(any(x[k] > 0 for k in n)); max(x[k] for k in n) > 0",
        "assume(any(x[k] > 0 for k in n)); min(x[k] for k in n) > 0",
    ),
    (
        "assume(prod(x[k] for k in n) == 0); any(x[k] == 0 for k in n)",
        "assume(prod(x[k] for k in n) == 0); any(x[k] > 0 for k in n)",
    ),
    (
        "assume(any(x[k] == 0 for k in n if flag[k])); prod(x[k] for k in n if flag[k]) <= 0",
        "assume(any(x[k] == 0 for k in n)); prod(x[k] for k in n if flag[k]) <= 0",
    ),
    (
        "assume(all(x[k] != 0 for k in n)); prod(x[k] for k in n) != 0",
        "assume(any(x[k] != 0 for k in n)); prod(x[k] for k in n) != 0",
    ),
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
    text = HEAD + "\ndef claim():\n    assert sum((x[k] - a)**2 for k in n) >= 0\n"
    result = check_theory(loads(text + "    assert sum((x[k] - a)**2 for k in n) + t > 0\n"))
    assert [c.verdict for c in result.theorems[0].claims] == ["proved", "proved"]


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("exp(x[i]) >= 1 + x[i]", ["exp_tangent"]),
        ("t - 1 >= log(t)", ["log_tangent"]),
        ("log(t) <= t - 1", ["log_tangent", "combination"]),  # turned around
        ("2*log(t) <= 2*t - 2", ["log_tangent", "combination"]),
        ("sum(s[k]**2 for k in n) >= 1/n", ["combination", "combination"]),
    ],
)
def test_no_line_says_what_another_one_says(body: str, rules: list[str]) -> None:
    found = attempt(body)
    assert found.proof is not None
    assert [line.rule for line in found.proof.lines] == rules


def test_a_line_is_cited_where_it_is_said_first() -> None:
    """The second line is the first one times 2; half of it at another index is the first again, there."""
    claim, context = theory("exp(t) >= 1 + t")
    k, m = index("k", "n"), index("l", "n")
    exp_, plus = fn("exp", var("x", k)), 1 + var("x", k)
    first = Line(cmp(">=", exp_, plus), "exp_tangent", (var("x", k),), letters=(k,))
    second = Line(
        cmp(">=", 2 * exp_, 2 * plus), "combination", parts=(Part(num(2), (Cite(0, ((k, k),)),)),), letters=(k,)
    )
    there = cmp(">=", fn("exp", var("x", m)), 1 + var("x", m))
    half = Part(num(Fraction(1, 2)), (Cite(1, ((k, m),)),))
    third = Line(there, "combination", parts=(half,), letters=(m,))
    board = [first, second, third]
    nf = Ground(claim, context).full
    assert shorter(nf, board, [2]) == (first,)
    sum_of_two = Line(
        cmp(">=", 2 * exp_ + exp_, 3 * plus),
        "combination",
        parts=(Part(ONE, (Cite(1, ((k, k),)),)), Part(ONE, (Cite(0, ((k, k),)),))),
        letters=(k,),
    )
    cited = shorter(nf, [first, second, sum_of_two], [2])[1]
    assert [(p.multiplier, p.cites) for p in cited.parts] == [(t, (Cite(0, ((k, k),)),)) for t in (num(2), ONE)]
    # A premise is what the row asks for, and no multiple of it.
    row = Line(
        cmp(">=", fn("exp", 2 * exp_), fn("exp", 2 * plus)),
        "exp_increasing",
        (2 * exp_, 2 * plus),
        cites=(Cite(1, ((k, k),)),),
        letters=(k,),
    )
    assert len(shorter(nf, [first, second, row], [2])) == 3
    for lines in ([first, cited], [first, second, row]):
        known = Board(Ground(claim, context), frozenset())
        for line in lines:
            known.add(line)


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
    assert tried > 140


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


# -- random claims -----------------------------------------------------------------------------------------------------


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
        false = counterexample(claim, context, random, 15)
        found = prove(claim, context)
        assert false is None or found.proof is None, (to_text(claim), [to_text(h) for h in context.hypotheses], false)
        wrong += false is not None
        right += found.proof is not None
    return wrong, right


def test_no_false_mutant_of_a_true_order_is_proved() -> None:
    wrong, right = fuzz(1, 100)
    assert wrong > 30
    assert right > 15


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

"""`derive diff`: one derivative of what is typed, read back as it was found, and errors about what was typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from conftest import Run

from derive.cli_diff import answer
from derive.engine.forms import formal
from derive.kernel.normal import Normal
from derive.language import condition
from derive.language.printer import to_text
from derive.term import alike, cmp, num

Derive = Callable[..., Run]

SOFTMAX = ("Z = sum(exp(z[k]) for k in n)", "s[i] = exp(z[i])/Z")


def given(*lines: str) -> list[str]:
    return [part for line in lines for part in ("--given", line)]


@pytest.mark.parametrize(
    ("asked", "by", "lines", "found"),
    [
        ("log(sum(exp(z[k]) for k in n))", ["z[j]"], (), "exp(z[j])/sum(exp(z[k]) for k in n)"),
        ("s[i]", ["z[j]"], SOFTMAX, "s[i]*(delta(i, j) - s[j])"),
        ("s[i]", ["z[j]"], ("from softmax import s",), "s[i]*(delta(i, j) - s[j])"),
        ("sum(x[a]*W[a, b]*y[b] for a in n for b in m)", ["W[i, j]"], (), "x[i]*y[j]"),
        ("x**2*y", ["x", "y"], (), "2*x"),
        ("-cos(x)", ["x"], (), "sin(x)"),
        ("y", ["x"], (), "0"),
        ("  x  # with a comment", ["x"], (), "1"),
        ("sum(\n  x[k]\n  for k in n)/n", ["x[j]"], (), "1/n"),
        ("E((q[i]*x)**2)", ["x"], ("q: random(mean=0, variance=1)[n]",), "2*x"),
        ("abs(x)", ["x"], (), "sign(x)"),
        ("x*abs(x)", ["x"], (), "2*abs(x)"),
        ("where(x > 0, x**2, -x)", ["x"], (), "where(x > 0, 2*x, -1)"),
        (
            "sum(where(abs(x[k]) < c, x[k]**2/2, c*abs(x[k])) for k in n)",
            ["x[i]"],
            (),
            "where(abs(x[i]) < c, x[i], sign(x[i])*c)",
        ),
        ("log(1 + exp(x))", ["x"], (), "sigmoid(x)"),
        ("log(sigmoid(x))", ["x"], (), "sigmoid(-x)"),
        ("sigmoid(x)*tanh(x)", ["x"], (), "sigmoid(x)*(1 + tanh(x) - tanh(x)**2 - tanh(x)*sigmoid(x))"),
        ("x*sigmoid(x)", ["x"], (), "sigmoid(x)*(1 + x - x*sigmoid(x))"),
        ("f", ["x"], ("s = 1/(1 + exp(-x))", "f = x*s"), "s*(1 + x - x*s)"),
        ("tanh(x)", ["x", "x"], (), "-(2*tanh(x)*(1 - tanh(x)**2))"),
        ("exp(-x**2/2)", ["x"], (), "-(exp(-(x**2/2))*x)"),
        (
            "sum((sum(A[i, j]*x[j] for j in n) - b[i])**2 for i in m)",
            ["x[k]"],
            (),
            "2*sum((sum(A[i, j]*x[j] for j in n) - b[i])*A[i, k] for i in m)",
        ),
    ],
)
def test_derivative_stands_alone_on_stdout(
    derive: Derive, asked: str, by: list[str], lines: tuple[str, ...], found: str
) -> None:
    run = derive("diff", asked, *by, *given(*lines))
    assert (run.status, run.out) == (0, found + "\n")


@pytest.mark.parametrize(
    ("asked", "by", "lines"),
    [
        ("log(sum(exp(z[k]) for k in n))", ["z[j]", "z[k]"], ()),
        ("sum(A[i] for i in n)*sum(B[i] for i in m)", ["A[k]"], ()),
        ("s[i]", ["z[j]", "z[k]"], SOFTMAX),
        ("sum(k[a]*exp(k[a]*k1) for a in n)", ["k1"], ()),
        ("x**x", ["x"], ()),
        ("tanh(x)/x", ["x"], ()),
        ("z[b, t[b]]", ["z[c, k]"], ()),
        ("sum(x[a]*W[a, b]*x[b] for a in n for b in n)", ["x[k]"], ()),
    ],
)
def test_answer_is_read_back_as_the_same_term(asked: str, by: list[str], lines: tuple[str, ...]) -> None:
    found = answer(asked, by, lines, 10.0)
    theory = found.result.theory
    claimed = condition(f"{to_text(found.left)} == {found.text(found.right)}", theory, theory.theorems[0])
    assert alike(claimed, cmp("==", found.left, found.right))


SAMPLES = [
    "{f}(x)*{g}(x)", "{f}(a*x + b)", "{f}(x)**2/{g}(x)", "log(1 + {f}(x)**2)*{g}(x)", "sum({f}(y[k]*x) for k in n)",
    "where(x > a, {f}(x), {g}(x)*x)", "x*{f}({g}(x))",
]  # fmt: skip
PAIRS = [
    ("sigmoid", "tanh"),
    ("exp", "cosh"),
    ("softplus", "sigmoid"),
    ("atan", "exp"),
    ("erf", "sin"),
    ("tanh", "exp"),
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_no_form_is_longer_than_the_one_the_rules_give_and_all_are_equal(sample: str) -> None:
    """Whatever is shown is proved to be the derivative, and counts no more nodes than the formal one."""
    for f, g in PAIRS:
        found = answer(sample.format(f=f, g=g), ["x"], [], 20)
        nf = Normal(found.claim.context)
        worked = formal(nf, found.left)

        assert found.verdict == "proved", (sample, f, g)
        assert worked is not None and found.right.size <= worked.size, to_text(found.right)


def test_form_that_is_not_equal_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("derive.engine.differentiate.forms", lambda nf, term: [num(1), num(2)])

    assert to_text(answer("x**2", ["x"], [], 20).right) == "diff(x**2, x)"
    assert to_text(answer("2*x", ["x"], [], 20).right) == "2"


def test_of_forms_of_one_length_the_one_without_a_quotient_is_taken() -> None:
    assert to_text(answer("x**y", ["x"], [], 20).right) == "y*x**(y - 1)"


def test_domain_and_what_was_inferred_go_to_stderr(derive: Derive) -> None:
    run = derive("diff", "sqrt(x)*y", "x")
    assert run.out == "y/(2*sqrt(x))\n"
    assert "wherever x > 0" in run.err
    assert "x: real, y: real" in run.err
    assert derive("diff", "sqrt(x)", "x", "--given", "x: positive").err == ""


@pytest.mark.parametrize(
    ("asked", "by", "lines", "declared"),
    [
        ("sum(A[i] for i in n)*sum(B[i] for i in m)", "A[k]", (), "n: axis, m: axis, A: real[n], B: real[m]"),
        ("W[a, b]*x[b]", "x[c]", (), "n: axis, m: axis, W: real[n, m], x: real[m]"),
        ("W[a, b] + W[b, a]", "W[c, d]", (), "n: axis, W: real[n, n]"),
        ("z[b, t[b]]", "z[c, k]", (), "n: axis, m: axis, z: real[n, m], t: index[m][n]"),
        ("sum(z[k] for k in n if k <= i)", "z[j]", (), "n: axis, z: real[n]"),
        ("f", "x", ("f = c*x",), "c: real, x: real"),
        ("x*y[i]", "x", ("y: positive[m]",), "m: axis, x: real"),
        ("delta(i, j)*z[i]", "z[k]", (), "n: axis, z: real[n]"),
        ("at(sum(z[k]*w[k] for k in n), z[k], c*z[k])", "c", (), "n: axis, z: real[n], w: real[n], c: real"),
        ("n*x", "x", (), "n: real, x: real"),
    ],
)
def test_declarations_are_inferred(derive: Derive, asked: str, by: str, lines: tuple[str, ...], declared: str) -> None:
    run = derive("diff", asked, by, *given(*lines))
    assert run.status == 0
    assert f"with {declared}\n" in run.err


def test_steps_lead_from_the_question_to_the_answer(derive: Derive) -> None:
    first, blank, *steps = derive("diff", "s[i]", "z[j]", *given(*SOFTMAX), "--steps").out.splitlines()
    assert (first, blank) == ("s[i]*(delta(i, j) - s[j])", "")
    assert steps[0].strip() == "diff(s[i], z[j])"
    assert steps[-1].endswith(f"= {first}")
    assert any("quotient rule" in line for line in steps)
    assert any("needs Z != 0" in line for line in steps)


def test_latex_is_printed_with_and_without_steps(derive: Derive) -> None:
    run = derive("diff", "log(sum(exp(z[k]) for k in n))", "z[j]", "--latex")
    assert run.out == r"\frac{e^{z_{j}}}{\sum_{k} e^{z_{k}}}" + "\n"
    steps = derive("diff", "log(sum(exp(z[k]) for k in n))", "z[j]", "--latex", "--steps").out
    assert steps.startswith(run.out)
    assert steps.count(r"\begin{aligned}") == steps.count(r"\end{aligned}") == 1
    assert r"\text{sifting}" in steps


def told(run: Run) -> Any:
    parsed = json.loads(run.out)
    assert parsed["schema"] == 1
    return parsed


def test_answer_as_data(derive: Derive) -> None:
    data = told(derive("diff", "sqrt(x)", "x", "--json"))
    assert (data["asked"], data["derivative"], data["verdict"]) == ("diff(sqrt(x), x)", "1/(2*sqrt(x))", "proved")
    assert (data["domain"], data["declared"], data["error"], data["reason"]) == (["x > 0"], ["x: real"], None, None)
    assert data["latex"] == r"\frac{1}{2 \sqrt{x}}"
    assert len(data["derivation"]) == data["steps"] > 0
    assert data["derivation"][-1]["after"] == data["derivative"]


@pytest.mark.parametrize(
    ("arguments", "argument", "column", "message"),
    [
        (["foo(x) + y", "x"], "EXPR", 1, "there is no function 'foo'"),
        (["y + foo(x)", "x"], "EXPR", 5, "there is no function 'foo'"),
        (["  y + foo(x)", "x"], "EXPR", 5, "there is no function 'foo'"),
        (["x +", "x"], "EXPR", 4, "not the language's syntax"),
        (["x + y) + (z", "x"], "EXPR", 6, "not the language's syntax"),
        (["", "x"], "EXPR", 0, "one expression is expected"),
        (["x, y", "x"], "EXPR", 1, "one expression is expected"),
        (["x = y", "x"], "EXPR", 1, "one expression is expected"),
        (["x < y", "x"], "EXPR", 1, "a condition stands where a number is expected"),
        (["x", "2"], "WRT", 1, "nothing can differentiate by it"),
        (["x", "x)"], "WRT", 2, "not the language's syntax"),
        (["z[i]", "z"], "WRT", 1, "has one axis"),
        (["z[i]*x", "x", "z[i, j]"], "WRT", 1, "has one axis"),
        (["x", ""], "WRT", 0, "one expression is expected"),
        (["x", "Z", *given("Z = x")], "WRT", 1, "is defined, not declared"),
        (["x", "x", *given("y: real", "x: reel")], "--given", 4, "'reel' is no kind of declaration"),
        (["x", "x", *given("def f(): pass")], "--given", 5, "one declaration or definition is expected"),
        (["x", "x", *given("from softmaks import s")], "--given", 1, "there is no theory 'softmaks'"),
        (["s", "z[j]", *given("s = exp(Z)", "Z = sum(z[k] for k in n)")], "--given", 9, "'Z' is used before `Z = "),
        (["__import__('os')", "x"], "EXPR", 1, "there is no function"),
    ],
)
def test_error_names_what_was_typed_and_where(
    derive: Derive, arguments: list[str], argument: str, column: int, message: str
) -> None:
    run = derive("diff", *arguments)
    assert (run.status, run.out) == (3, "")
    where = f"{argument}:1:{column}: " if column else f"{argument}: "
    assert run.err.startswith(where)
    assert message in run.err
    assert "line " not in run.err.split("\n")[0]
    assert "assert" not in run.err
    error = told(derive("diff", *arguments, "--json"))["error"]
    assert (error["argument"], error["column"]) == (argument, column)


def test_caret_stands_under_the_place(derive: Derive) -> None:
    _, source, carets, *_ = derive("diff", "y + foo(x)", "x").err.split("\n")
    assert source == "  y + foo(x)"
    assert carets == "      ^^^"


def test_what_has_no_rule_or_no_closed_form_is_open(derive: Derive) -> None:
    run = derive("diff", "trigamma(x)", "x")
    assert (run.status, run.out) == (4, "")
    assert "trigamma" in run.err
    data = told(derive("diff", "trigamma(x)", "x", "--json"))
    assert (data["derivative"], data["verdict"]) == (None, "undecided")
    assert "trigamma" in data["reason"]


def test_nothing_is_proved_where_the_hypotheses_leave_no_point(derive: Derive) -> None:
    run = derive("diff", "log(x)", "x", *given("assume(x < 0)"))
    assert run.status == 4
    assert "not proved" in run.err


def test_time_is_limited(derive: Derive) -> None:
    big = "*".join(f"(1 + x{k} + x**{k})" for k in range(1, 13))
    run = derive("diff", big, "x", "--timeout", "0.01")
    assert run.status == 4
    assert "time limit" in run.err


@pytest.mark.parametrize("arguments", [(), ("x",), ("x", "x", "--step"), ("x", "x", "--timeout", "0")])
def test_usage_errors_leave_with_two(derive: Derive, arguments: tuple[str, ...]) -> None:
    assert derive("diff", *arguments).status == 2


def test_no_text_of_an_argument_reaches_the_terminal_raw(derive: Derive) -> None:
    for arguments in (["x\x1b[31m", "x"], ["x", "x\u202e"], ["x", "x", *given("y: real # \x1b]0;t\x07")]):
        run = derive("diff", *arguments)
        assert run.status == 3
        assert not set(run.out + run.err) & {"\x1b", "\x07", "\u202e"}

"""The kernel's orders: the rows are true and tight, and lines that do not follow are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import mpmath
import pytest
from orders import OWN, WORDS, I, J, K, L, accepted, attempt, line, number, refused, term, theory
from total import DIGITS, Point, Skip, truth

from derive.kernel.check import Ground, check
from derive.kernel.order import ROWS, Row
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected
from derive.kernel.rules import instantiate
from derive.language import condition
from derive.language.printer import to_text
from derive.term import (
    ONE,
    TRUE,
    Term,
    cmp,
    fn,
    index,
    make,
    num,
    sub,
    var,
)

METAS = "UVP"


# -- rows ------------------------------------------------------------------------------------------------------------


def instances(row: Row, seed: int) -> Iterator[tuple[dict[str, object], Point]]:
    """The row's letters as variables, at points of all signs and sizes."""
    random = Random(seed)
    found: dict[str, object] = {m: var(m) for m in METAS}
    for _ in range(1500):
        with mpmath.workdps(DIGITS):
            values = {m: {(): number(random)} for m in METAS}
        if random.random() < 0.15:
            values["V"] = values["U"]
        yield found, Point({}, values, {})


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


TIGHT = [
    r
    for r in ROWS.values()
    if r.conclusion.value == ">=" and r.name not in ("sin_at_most_one", "cos_at_least_minus_one")
]


@pytest.mark.parametrize("row", TIGHT, ids=lambda row: row.name)
def test_row_that_allows_equality_attains_it(row: Row) -> None:
    equal = cmp("==", *row.conclusion.args)
    assert any(
        all(holds(p, found, here) for p in row.premises) and holds(equal, found, here)
        for found, here in instances(row, 4)
    )


# -- lines that are refused -------------------------------------------------------------------------------------------

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
    "parts that do not add up": (
        "the parts do not add up",
        "Z >= exp(z[j])",
        line("Z >= exp(z[j])", "combination", parts=(ENTRY,)),
    ),
    "a sign turned round": (
        "combination does not give <=",
        "Z >= exp(z[i])",
        line("Z <= exp(z[i])", "combination", parts=(ENTRY,)),
    ),
    "a multiplier of unknown sign": (
        "combination does not give >=",
        NONNEGATIVE + "a*b >= 0",
        line("a*b >= 0", "combination", parts=(Part(var("a"), (Cite(-1),)),)),
    ),
    "a negative multiplier": (
        "combination does not give >=",
        NONNEGATIVE + "-b >= 0",
        line("-b >= 0", "combination", parts=(Part(num(-1), (Cite(-1),)),)),
    ),
    "a factor of unknown sign": (
        "the sign of a factor is not known",
        "a >= 0",
        line("a >= 0", "combination", var("a"), parts=(Part(term("a**2")),)),
    ),
    "a strict comparison from one that is not": (
        "combination does not give >",
        NONNEGATIVE + "b > 0",
        line("b > 0", "combination", parts=(Part(ONE, (Cite(-1),)),)),
    ),
    "a sum over a letter of the claim": (
        "a sum needs letters of its own",
        "Z >= exp(z[i])",
        line("Z >= exp(z[i])", "combination", parts=(Part(term("exp(z[i])"), (), (I,)),)),
    ),
    "a letter summed over twice": (
        "a sum needs letters of its own",
        "sum(u[k] for k in n) >= 0",
        line("sum(u[k] for k in n) >= 0", "combination", parts=(Part(term("u[k]"), (), (K, K)),)),
    ),
    "a condition without a sum": (
        "a letter that nothing binds, or a condition without a sum",
        "a**2 >= 0",
        line("a**2 >= 0", "combination", parts=(Part(term("a**2"), (), (), cmp("==", I, J)),)),
    ),
    "a letter that nothing binds": (
        "a letter that nothing binds",
        "Z >= 0",
        line("Z >= exp(z[k])", "combination", parts=(replace(ENTRY, over=(L,), where=TRUE),)),
    ),
    "a multiplier with a loose letter": (
        "a letter that nothing binds, or a condition without a sum",
        "Z >= 0",
        line("Z >= 0", "combination", parts=(Part(term("exp(z[k])")),)),
    ),
    "letters of the claim as letters of a line": (
        "a line needs letters of its own",
        "Z >= exp(z[i])",
        line("Z >= exp(z[i])", "combination", parts=(ENTRY,), letters=(I,)),
    ),
    "a line that cites itself": (
        "a comparison is cited before it is known",
        "a >= b",
        line("a >= b", "combination", parts=(Part(ONE, (Cite(0),)),)),
    ),
    "a fact that is not there": (
        "a comparison is cited before it is known",
        "a >= b",
        line("a >= b", "combination", parts=(Part(ONE, (Cite(-9),)),)),
    ),
    "a fact without a place for its letter": (
        "a comparison is used without a place for each of its letters",
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1),)),)),
    ),
    "a fact at a place of another axis": (
        "a letter is replaced by something of another axis",
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((OWN, index("i", "m")),)),)),)),
    ),
    "a fact where its filter fails": (
        "a comparison is used where it is not known to hold",
        "assume(all(x[k] >= 0 for k in n if k != i)); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((OWN, I),)),)),)),
    ),
    "a fact where its filter is not known to hold": (
        "a comparison is used where it is not known to hold",
        "assume(all(x[k] >= 0 for k in n if k != i)); x[j] >= 0",
        line("x[j] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((OWN, J),)),)),)),
    ),
    "a rule that does not exist": (
        "there is no rule wishful_thinking",
        "a >= b",
        line("a >= b", "wishful_thinking", var("a"), var("b")),
    ),
    "a row with too few values": (
        "exp_tangent takes 1 values and 0 premises",
        "exp(a) >= 1 + a",
        line("exp(a) >= 1 + a", "exp_tangent"),
    ),
    "a row at other values": (
        "exp_tangent says something else",
        "exp(a) >= 1 + a",
        line("exp(a) >= 1 + a", "exp_tangent", var("b")),
    ),
    "a premise that is not known": (
        "a premise of log_tangent is not known to hold",
        "a - 1 >= log(a)",
        line("a - 1 >= log(a)", "log_tangent", var("a")),
    ),
    "a strict tangent at the point of contact": (
        "a premise of strict_exp_tangent is not known to hold",
        "exp(a) > 1 + a",
        line("exp(a) > 1 + a", "strict_exp_tangent", var("a")),
    ),
    "a premise that says something else": (
        "this is no premise of exp_increasing",
        "assume(a >= c); exp(a) >= exp(b)",
        line("exp(a) >= exp(b)", "exp_increasing", var("a"), var("b"), cites=(Cite(-1),)),
    ),
    "a premise that is not strict": (
        "a premise of strict_exp_increasing is not known to hold",
        "assume(a >= b); exp(a) > exp(b)",
        line("exp(a) > exp(b)", "strict_exp_increasing", var("a"), var("b"), cites=(Cite(-1),)),
    ),
    "a root that may be negative": (
        "a premise of square_root_order is not known to hold",
        "assume(a**2 >= b**2); a >= b",
        line("a >= b", "square_root_order", var("a"), var("b"), cites=(None, Cite(-1))),
    ),
    "a maximum at a place that the filter leaves out": (
        "the place is none of those that the extremum is over",
        "max(x[k] for k in n if k != i) >= x[i]",
        line("max(x[k] for k in n if k != i) >= x[i]", "extremum", term("max(x[k] for k in n if k != i)"), I),
    ),
    "a maximum of something else": (
        "extremum says something else",
        "max(x[k] for k in n) >= y[i]",
        line("max(x[k] for k in n) >= y[i]", "extremum", term("max(x[k] for k in n)"), I),
    ),
    "a maximum below its values": (
        "extremum does not give <=",
        "max(x[k] for k in n) <= x[i]",
        line("max(x[k] for k in n) <= x[i]", "extremum", term("max(x[k] for k in n)"), I),
    ),
    "a maximum at a place of another axis": (
        "a letter that nothing binds",
        "max(x[k] for k in n) >= x[i]",
        line("max(x[k] for k in n) >= x[i]", "extremum", term("max(x[k] for k in n)"), index("i", "m")),
    ),
    "an extremum of nothing": (
        "extremum takes a maximum or minimum and a place for each letter",
        "a >= b",
        line("a >= b", "extremum", var("a")),
    ),
    "one case of two": (
        "case_distinction does not give >=",
        "where(a > b, a - b, c) >= 0",
        line(
            "where(a > b, a - b, c) >= 0",
            "combination",
            parts=(Part(term("a - b")),),
            where=condition("a > b", WORDS),
        ),
        line("where(a > b, a - b, c) >= 0", "case_distinction", condition("a > b", WORDS), cites=(Cite(0), None)),
    ),
    "cases without a condition": (
        "case_distinction takes a condition and two comparisons",
        "a >= b",
        line("a >= b", "case_distinction", cites=(None, None)),
    ),
    "a case used outside": (
        "a comparison is used where it is not known to hold",
        "a >= b",
        line("a >= b", "combination", parts=(Part(term("a - b")),), where=condition("a > b", WORDS)),
        line("a >= b", "combination", parts=(Part(ONE, (Cite(0),)),)),
    ),
    "a lemma that is not there": ("lemma takes one claim or sum, as it stands", "a >= b", line("a >= b", "lemma")),
    "a mean that may not exist": (
        "a mean or limit that may not exist",
        "E(q[i]**2) >= 0",
        line("E(q[i]**2) >= -1", "combination", parts=(Part(term("Var(q[i]**4)")),)),
    ),
    "a line that is no comparison": ("a line is a comparison", "a >= b", Line(TRUE, "combination")),
    "a malformed line": ("nothing is not declared", "a >= b", Line(cmp(">=", var("nothing"), num(0)), "combination")),
    "a malformed place": (
        "nothing is not declared",
        "assume(x[k] >= 0); x[i] >= 0",
        line("x[i] >= 0", "combination", parts=(Part(ONE, (Cite(-1, ((OWN, var("nothing")),)),)),)),
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_kernel_refuses(name: str) -> None:
    reason, body, *lines = REFUSALS[name]
    assert refused(body, *lines) == reason  # type: ignore[arg-type]


def test_letter_that_only_a_hypothesis_restricts_is_not_borrowed() -> None:
    """From k != l alone a sum over one entry would be at least 2: the claim has neither letter, so n may be 1."""
    claim, context = theory("assume(all(u[l] >= 1 for l in n)); sum(u[k] for k in n) >= 2")
    context = replace(context, hypotheses=(cmp("!=", K, L), *context.hypotheses))
    own = index("p", "n")
    others = Part(var("u", own), (), (own,), make("and", (cmp("!=", own, K), cmp("!=", own, L))))
    entries = sub(sub(term("sum(u[p] for p in n)"), term("u[k]")), term("u[l]"))
    (fact,) = Ground(claim, context).full.raw_facts
    (letter,) = fact.letters
    for one in (
        Line(cmp(">=", entries, num(0)), "combination", parts=(others,)),
        line("n >= 1", "combination", parts=(Part(ONE, (Cite(-1, ((letter, K),)),)),)),
    ):
        with pytest.raises(Rejected, match="nothing binds"):
            check(Proof(claim, lines=(one,)), context)


def test_what_is_known_of_a_fixed_letter_says_nothing_of_a_bound_one() -> None:
    body = "sum(x[k] for k in n) * log(x[k])**2 >= 0"
    assert attempt(body).proof is None
    assert attempt("sum(u[k] for k in n) * log(x[k])**2 >= 0").proof is not None

"""The kernel accepts what is right: every row and procedure at work, and a normal form that keeps values and signs.

The other half, all that must be refused, is in test_kernel_rejects.
"""

from __future__ import annotations

import ast
import io
import sys
import time
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest
import reach
from mpmath import mpf
from test_rules import CONTEXT as ROWS_CONTEXT
from test_rules import LEFT_LOSES, RANDOM, Source, instance, point
from total import CONTEXT, Point, Skip, Terms, chosen, close, random_point, truth, value

from derive.engine.reasons import explained
from derive.evidence.enclosure import Enclosed, Undefined, Unknown, evaluate
from derive.evidence.enclosure import holds as enclosed_truth
from derive.evidence.enclosure import point as evaluation
from derive.kernel import domain
from derive.kernel.check import check
from derive.kernel.context import Context, Lemma
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Proof, Rejected, Step, Use
from derive.kernel.rules import RULES, instantiate
from derive.kernel.signs import NEG, POS, RELATION, ZERO, Fact, difference, sign
from derive.language import condition, expression, loads
from derive.language.places import transform
from derive.language.printer import to_text
from derive.term import (
    CONDITIONS,
    TRUE,
    Term,
    add,
    both,
    cmp,
    diff,
    fn,
    index,
    make,
    mul,
    negation,
    num,
    over,
    power,
    size,
    sub,
    var,
)

PACKAGE = Path(__file__).resolve().parent.parent / "derive"
HEAD = """
n: axis
m: axis
x: real
y: real
p: positive
u: nonnegative
c: integer
z: real[n]
w: real[n]
g: positive[n]
W: real[n, n]
V: real[m, n]
bit_: bit[n]
t: index[n][n]
q: random(mean=0, variance=1)[n]
r: random(mean=2, variance=3)[n]
X: random(mean=x, variance=p)
flip: bernoulli(1/3)[n]
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
score = sum(q[k] * r[k] for k in n)
"""


@dataclass(frozen=True)
class Claimed:
    """A claim in words, with what it stands on."""

    claim: Term
    context: Context
    read: Callable[[str], Term]

    def step(self, rule: str, after: str, *path: int, reverse: bool = False, uses: tuple[Use, ...] = ()) -> Step:
        return Step(rule, self.read(after), path, reverse, uses)


def claimed(claim: str, *assumed: str, lemmas: tuple[str, ...] = (), arguments: str = "") -> Claimed:
    """A claim of the theory above; lemmas are given as conditions, taken to be proved."""
    lines = [f"    assume({a})" for a in assumed] + [f"    assert {claim}"]
    theory = loads(HEAD + f"def claim({arguments}):\n" + "\n".join(lines))
    theorem = theory["claim"]
    known = tuple(Lemma(f"lemma {n}", condition(text, theory, theorem)) for n, text in enumerate(lemmas))
    return Claimed(
        theorem.claims[0].condition, theory.context(theorem, known), lambda t: expression(t, theory, theorem)
    )


def accepted(case: Claimed, *steps: Step) -> Account:
    return check(Proof(case.claim, steps), case.context)


def refused(case: Claimed, *steps: Step) -> Rejected:
    with pytest.raises(Rejected) as found:
        check(Proof(case.claim, steps), case.context)
    return found.value


def first_use(
    *letters: tuple[str, str], multiplier: Term | None = None, over_: tuple[Term, ...] = (), kind: str = "hypothesis"
) -> Use:
    pairs = tuple((index(a, "n"), index(b, "n")) for a, b in letters)
    return Use(kind, 0, pairs, multiplier, over_)


# -- procedures ------------------------------------------------------------------------------------------------------

# A claim, and the place of the one step that proves it.
ONE_STEP = {
    "field_identity": ("(x + 1)**2 / p == (x**2 + 2*x + 1) / p", ()),
    "sum_normal_form": ("sum(z[k]*delta(k, i) for k in n) == z[i]", ()),
    "algebra": ("x - x == 0", ()),
    "limit_by_expansion": ("limit(x/p, x, 0) == 0", ()),
    "laws_of_means": ("E(q[i]*q[i]) - Var(q[i]) == 0", ()),
    "replacement": ("at(z[i] + x, x, p) == z[i] + p", ()),
    "definition": ("Z == sum(exp(z[l]) for l in n)", ()),
    "definition folded": ("exp(z[i]) / Z == s[i]", ()),
    "definition inside": ("log(Z) == log(sum(exp(z[k]) for k in n))", (0,)),
    "rename": ("sum(z[k] for k in n) == sum(z[l] for l in n)", ()),
    "variable_rule": ("diff(z[i], z[j]) == delta(i, j)", ()),
    "variable_rule scalar": ("diff(x, x) == 1", ()),
    "variable_rule matrix": ("diff(W[i, j], W[k, j]) == delta(i, k)", ()),
    "kronecker_sifting": ("sum(delta(k, i)*z[k]*w[k] for k in n) == z[i]*w[i]", ()),
    "kronecker_sifting filter": ("sum(delta(k, i)*z[k] for k in n if k != j) == where(i != j, z[i], 0)", ()),
    "square_of_a_sum": (
        "sum(z[k] for k in n)**2 == sum(z[k]**2 for k in n) + sum(z[k]*z[l] for k in n for l in n if k != l)", ()),
    "moment": ("E(q[i]) == 0", ()),
    "moment square": ("E(r[i]**2) == 7", ()),
    "moment variance": ("Var(X) == p", ()),
    "case_distinction": ("z[i] == where(i == j, z[i], z[i])", ()),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_STEP)
def test_procedure_is_accepted(name: str) -> None:
    claim, path = ONE_STEP[name]
    case, rule = claimed(claim), name.split()[0]

    assert accepted(case, Step(rule, case.claim.args[1], path, name.endswith("folded")))


GROWTH = "x**(j + 1) - x**j"  # the increments of x**j


@pytest.mark.parametrize(
    ("claim", "end"),
    [
        (f"sum({GROWTH} for j in n) == x**n - 1", size("n")),
        (f"sum({GROWTH} for j in n if j < i) == x**i - 1", index("i", "n")),
    ],
)
def test_sum_of_increments_telescopes(claim: str, end: Term) -> None:
    case, k = claimed(claim), index("k", "n")
    use = Use("telescoping", 0, ((k, end),), value=power(var("x"), k))
    whole = replace(use, multiplier=num(1))

    assert accepted(case, Step("algebra", case.claim.args[1], uses=(whole,)))
    ends = sub(power(var("x"), end), power(var("x"), num(0)))
    steps = (Step("telescoping", ends, uses=(use,)), Step("algebra", case.claim.args[1]))
    assert accepted(case, *steps)


def instances(name: str, count: int) -> Iterator[tuple[Term, Term]]:
    """Both sides of the row at random instances; a first factor that is itself a product would be read another way."""
    random = Random(name)
    while count:
        found = instance(RULES[name], random)
        if all(found[k].op != "mul" for k in "AB" if k in found):  # type: ignore[attr-defined]
            count -= 1
            yield instantiate(RULES[name].left, found), instantiate(RULES[name].right, found)


@pytest.mark.parametrize("name", RULES)
def test_row_is_accepted_at_random_instances(name: str) -> None:
    """The step of a row is taken wherever the row's conditions hold; what the claim then still needs is its domain."""
    taken, faults = 0, []
    for left, right in instances(name, 12):
        try:
            check(Proof(cmp("==", left, right), (Step(name, right),)), ROWS_CONTEXT)
        except Rejected as why:
            faults += [(to_text(left), to_text(right), str(why))] if why.step is not None else []
        else:
            taken += 1

    assert not faults
    assert taken >= 4


@pytest.mark.parametrize("name", RULES)
def test_row_is_accepted_from_right_to_left(name: str) -> None:
    taken, faults = 0, []
    for left, right in instances(name, 12):
        try:
            check(Proof(cmp("==", right, left), (Step(name, left, (), True),)), ROWS_CONTEXT)
        except Rejected as why:
            faults += [(to_text(left), to_text(right), str(why))] if why.step is not None else []
        else:
            taken += 1

    assert not faults
    assert taken >= 3 or name in LEFT_LOSES


def test_hypothesis_is_put_in_at_any_instance() -> None:
    case = claimed("w[j] + 1 == z[j] + 1", "w[i] == z[i]")

    assert accepted(case, case.step("hypothesis", "z[j] + 1", 0, uses=(first_use(("i", "j")),)))


def test_hypothesis_is_read_from_right_to_left() -> None:
    case = claimed("z[j] == w[j]", "w[i] == z[i]")

    assert accepted(case, case.step("hypothesis", "w[j]", reverse=True, uses=(first_use(("i", "j")),)))


def test_hypothesis_closes_a_gap_with_a_multiplier() -> None:
    case = claimed("s[i]*sum(w[k] for k in n) == s[i]", "sum(w[k] for k in n) == 1")
    use = first_use(multiplier=case.read("s[i]"))

    assert accepted(case, case.step("sum_normal_form", "s[i]", uses=(use,)))


def test_hypothesis_is_summed_over_its_letter() -> None:
    case = claimed("sum(x*w[k] for k in n) == sum(x*z[k] for k in n)", "w[i] == z[i]")
    k = index("k", "n")
    use = first_use(("i", "k"), multiplier=var("x"), over_=(k,))

    assert accepted(case, case.step("sum_normal_form", "sum(x*z[k] for k in n)", uses=(use,)))


def test_lemma_is_put_in() -> None:
    case = claimed("2*sum(s[k] for k in n) == 2*1", lemmas=("sum(s[i] for i in n) == 1",))

    assert accepted(case, case.step("lemma", "2*1", 1, uses=(first_use(kind="lemma"),)))


def test_steps_are_chained_from_left_to_right() -> None:
    case = claimed("diff(x*p, x) == p")
    steps = (
        case.step("product_rule", "diff(x, x)*p + x*diff(p, x)"),
        case.step("variable_rule", "1*p + x*diff(p, x)", 0, 0),
        case.step("constant_rule", "1*p + x*0", 1, 1),
        case.step("field_identity", "p"),
    )

    assert accepted(case, *steps)


def test_domain_of_the_left_side_is_accounted_for() -> None:
    case = claimed("x/x == 1")

    assert accepted(case, case.step("field_identity", "1")).domain == [cmp("!=", var("x"), case.read("0"))]


def test_needs_of_the_right_side_are_met_by_the_left_side() -> None:
    case = claimed("1/x == x/x**2")

    account = explained(accepted(case, case.step("field_identity", "x/x**2")), case.claim)
    assert [o.reason for o in account.obligations] == ["the left side is defined"]


def test_case_i_equals_j_ties_the_letters() -> None:
    case = claimed("where(i == j, z[i], x) == where(i == j, z[j], x)")

    assert accepted(case, case.step("field_identity", "where(i == j, z[j], x)"))


# -- the normal form keeps the value ---------------------------------------------------------------------------------

SEEDS = range(24)  # of some sixty terms each
UV = loads("u: real\nv: real\nassert u == u")


def normal(facts: list[Fact], guards: tuple[Term, ...] = ()) -> Normal:
    """A normal form that gives up after two seconds."""
    end = time.monotonic() + 2

    def tick() -> None:
        if time.monotonic() > end:
            raise Skip

    return Normal(CONTEXT, facts=facts, guards=guards, tick=tick)


def side(number: mpf) -> int:
    return POS if number > 0 else NEG if number < 0 else ZERO


@pytest.fixture(autouse=True, scope="module")
def _deep_recursion() -> Iterator[None]:
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(old)


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_form_keeps_the_value_in_total_semantics(seed: int) -> None:
    """Random terms and their normal forms agree at small points, zeros and ties included, and have the judged sign."""
    random = Random(seed)
    for _ in range(60):
        term = Terms(random).term(random.choice((2, 3, 3)))
        nf = normal([])
        try:
            canonical = nf.canonical(term)
            signs = sign(nf, term) & sign(nf, canonical)
        except (Rejected, Skip):
            continue
        for _ in range(5):
            here = random_point(random)
            try:
                exact, found = value(term, here), value(canonical, here)
            except Skip:
                continue
            assert close(exact, found), (to_text(term), to_text(canonical), here)
            assert side(exact) & signs, (to_text(term), signs, here)


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_form_keeps_the_value_where_its_facts_hold(seed: int) -> None:
    """The same under random facts that hold at the point, some for all letters, and guards on indices."""
    random = Random(1000 + seed)
    for _ in range(80):
        source, here = Terms(random), random_point(random)
        facts, guards = known_at(source, here, random)
        term = source.term(2)
        if facts:
            fact = random.choice(facts).term
            shapes = ["sqrt(u*v)", "abs(u*v)", "log(u + v)", "v/u", "u**(1/2)", "sqrt(u - v)", "sign(u*v)", "relu(u)*v"]
            term = shaped(random.choice(shapes), fact, term)
        try:
            nf = normal(facts, guards)
            canonical = nf.canonical(term)
            signs = sign(nf, term) & sign(nf, canonical)
            exact, found = value(term, here), value(canonical, here)
        except (Rejected, Skip):
            continue
        assert close(exact, found), (to_text(term), to_text(canonical), [to_text(f.term) for f in facts], here)
        assert side(exact) & signs, (to_text(term), signs, [to_text(f.term) for f in facts], here)


def shaped(pattern: str, first: Term, second: Term) -> Term:
    """The pattern in u and v with these terms put in for them."""
    put = {"u": first, "v": second}
    return transform(expression(pattern, UV), lambda t: put.get(t.value) if t.op == "var" else None)


def known_at(source: Terms, here: Point, random: Random) -> tuple[list[Fact], tuple[Term, ...]]:
    """Facts and guards that hold at the point, some of the facts for all letters."""
    facts, letters = [], tuple(here.letters)
    for _ in range(random.choice((1, 1, 2, 3))):
        test = source.condition(random.choice((1, 2)), letters)
        while test.op != "cmp":
            test = source.condition(1, letters)
        free = frozenset(test.letters) if random.random() < 0.4 else frozenset()
        everywhere = over("all", test, *sorted(free, key=repr))
        try:
            if all(truth(test, there) for there in (chosen(everywhere, here) if free else (here,))):
                facts.append(Fact(difference(test), RELATION[test.value], free, (), "given"))
        except Skip:
            continue
    guard = cmp(random.choice(list(RELATION)), *letters[:2])
    return facts, (guard,) if random.random() < 0.4 and truth(guard, here) else ()


@pytest.mark.parametrize(
    "counted",
    [
        "k < argmax(x[k, j] for j in n)",
        "k > argmax(x[j, k] for j in n)",
        "k < i and k < argmax(x[k, j] for j in n)",
        "k < argmax(x[k, j] for j in n) and k < argmax(x[j, k] for j in n)",
    ],
)
def test_letter_below_a_place_that_moves_with_it_is_not_counted(counted: str) -> None:
    theory = loads("n: axis\nx: real[n, n]\ni: index[n]\ndef claim():\n    assert n == n\n")
    term = expression(f"sum(1 for k in n if {counted})", theory)
    nf = Normal(theory.context(theory["claim"]))

    assert nf.canonical(term).letters <= term.letters  # none of those that it binds is left over


@pytest.mark.parametrize("seed", range(4))
def test_normal_form_of_a_normal_form_is_itself(seed: int) -> None:
    random = Random(2000 + seed)
    for _ in range(60):
        term = Terms(random).term(2)
        try:
            nf = normal([])
            assert nf.canonical(nf.canonical(term)) is nf.canonical(term)
        except (Rejected, Skip):
            continue


@pytest.mark.parametrize("seed", range(6))
def test_derivative_of_the_kernel_is_the_derivative(seed: int) -> None:
    """The formal derivative agrees with the enclosure by forward differentiation, wherever there is one."""
    random, compared = Random(3000 + seed), 0
    for _ in range(150):
        term = Terms(random).term(2)
        whole = diff(term, random.choice([var("x", index("i", "n")), var("s"), var("r")]))
        try:
            formal = normal([]).canonical(whole)
        except (Rejected, Skip):
            continue
        here = random_point(random)
        values = {name: {k: str(v) for k, v in entries.items()} for name, entries in here.values.items()}
        sides = [evaluate(t, CONTEXT, here.sizes, values, here.letters) for t in (whole, formal)]
        if all(isinstance(found, Enclosed) for found in sides):
            compared += 1
            assert compared_as(*sides), (to_text(whole), to_text(formal), here)

    assert compared >= 40


def compared_as(left: Enclosed, right: Enclosed) -> bool:
    """Whether the enclosures may hold the same number."""
    return left.low <= right.high and right.low <= left.high


# -- means -----------------------------------------------------------------------------------------------------------


def random_mean(source: Source, depth: int, letters: tuple[Term, ...]) -> Term:
    """A random expression in random names, their sums and products over an axis, and means inside of it."""
    if depth <= 0:
        return source.about(set(RANDOM), ("x", "u", *RANDOM), letters)
    k = index("kl"[depth % 2], "n")
    first, second = (random_mean(source, depth - 1, letters) for _ in range(2))
    inner = random_mean(source, depth - 1, (*letters, k))
    filter_ = source.random.choice([TRUE, TRUE, cmp("!=", k, letters[0]), cmp("<", k, letters[1])])
    choices = [
        mul(first, second),
        mul(first, second),
        add(first, second),
        power(first, num(source.random.choice((2, 3)))),
        fn(source.random.choice(("exp", "abs", "sign", "relu")), first),
        make("E", (first,)),
        *([over(source.random.choice(("sum", "sum", "prod")), inner, k, where=filter_)] * 3),
    ]
    return source.random.choice(choices)


@pytest.mark.parametrize("seed", range(6))
def test_mean_of_the_kernel_is_the_mean(seed: int) -> None:
    """E, Var and Cov in normal form agree with explicit finite laws that have the declared moments."""
    random, agreed = Random(4000 + seed), 0
    for _ in range(40):
        body = random_mean(Source(random), random.choice((1, 2, 2)), (index("i", "n"), index("j", "n")))
        whole = make("Cov", (body, var("q", index("i", "n")))) if random.random() < 0.2 else make("Var", (body,))
        term = whole if random.random() < 0.4 else make("E", (body,))
        try:
            formal = Normal(ROWS_CONTEXT).canonical(term)
        except Rejected:
            continue
        sizes, values, places = point(random, True)
        sides = [evaluate(t, ROWS_CONTEXT, sizes, values, places) for t in (term, formal)]
        if all(isinstance(found, Enclosed) for found in sides):
            agreed += 1
            assert compared_as(*sides), (to_text(term), to_text(formal), values)

    assert agreed >= 20


# -- domains ---------------------------------------------------------------------------------------------------------


def said(need: domain.Need) -> Term:
    """The need as one condition."""
    if need.letters:
        return over("all", need.condition, *need.letters, where=both(*need.guards))
    return make("or", (negation(both(*need.guards)), need.condition)) if need.guards else need.condition


@pytest.mark.parametrize("seed", range(10))
def test_needs_say_where_a_term_is_defined(seed: int) -> None:
    """A term with all its needs met has a value; where a need fails that is taken for a fact, it has none."""
    random, judged = Random(5000 + seed), 0
    for _ in range(80):
        term = Terms(random).term(2)
        if random.random() < 0.6:
            term = diff(term, random.choice([var("x", index("i", "n")), var("s"), var("r"), var("u")]))
        try:
            needs = domain.needs(normal([]), term)
        except (Rejected, Skip):
            continue
        here = random_point(random)
        values = {name: {k: str(v) for k, v in entries.items()} for name, entries in here.values.items()}
        answer = evaluate(term, CONTEXT, here.sizes, values, here.letters)
        if isinstance(answer, Unknown):
            continue
        there = evaluation(CONTEXT, here.sizes, values)
        met = [enclosed_truth(there, said(n), here.letters) if n.condition.op in CONDITIONS else None for n in needs]
        judged += 1
        if isinstance(answer, Undefined):
            assert not all(m is True for m in met), (to_text(term), answer.reason, here)
        else:
            wrong = [n for n, m in zip(needs, met, strict=True) if m is False and n.implied]
            assert not wrong, (to_text(term), wrong, here)

    assert judged >= 40


# -- the trusted base ------------------------------------------------------------------------------------------------

MOST = 5_592  # lines of code; the aim is 1,200


def code_lines(path: Path) -> int:
    """Lines of the file that hold code: no blanks, no comments, no docstrings."""
    text = path.read_text(encoding="utf-8")
    prose: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            prose |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return len({n for t in tokens if t.type not in blank for n in range(t.start[0], t.end[0] + 1)} - prose)


def test_trusted_base_does_not_grow() -> None:
    files = [PACKAGE / "term.py", *sorted((PACKAGE / "kernel").glob("*.py"))]
    lines = {path.name: code_lines(path) for path in files}

    assert sum(lines.values()) <= MOST, lines


def test_one_proof_runs_through_what_the_documentation_says() -> None:
    told = reach.documented()
    assert len(told) >= 8

    for theorem, count in reach.measured():
        assert count == pytest.approx(told[theorem], rel=0.05), theorem

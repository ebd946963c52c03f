"""Conditions with `or`, `any`, `all`, `not` and bits, as hypotheses and claims: what is proved holds at all points."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from random import Random

import mpmath
import pytest
from orders import counterexample, theory
from total import CONTEXT, DIGITS, A, I, J, Point, Skip, Terms, close, random_point, truth, value

from derive.engine.prove import prove
from derive.kernel.check import Ground
from derive.kernel.proof import Rejected
from derive.kernel.signs import NEG, POS, sign
from derive.kernel.signs import ZERO as NOUGHT
from derive.language.errors import LanguageError
from derive.language.printer import to_text
from derive.term import ONE, TRUE, ZERO, Term, add, cmp, index, make, mul, num, rebuild, sub, substitute, subterms, var

LARGE_VALUE = 1e30  # differences of larger numbers are not judged by their digits

VALUES = "a b c t e 0 1 -1 2 a*b a**2 abs(a) max(a,b) x[i] x[j] x[k] w[l]".split()
VALUES += ["sum(x[p] for p in n)", "max(x[p] for p in n)", "prod(x[p] for p in n)", "sum(x[p]**2 for p in n)"]
RELATIONS = "== != < <= > >=".split()


def condition(random: Random, depth: int = 0) -> str:
    kind = random.random()
    if kind < 0.4 and depth < 2:
        joined = " or " if kind < 0.32 else " and "
        return f"({condition(random, depth + 1)}{joined}{condition(random, depth + 1)})"
    if kind < 0.48:
        return f"not ({condition(random, depth + 1)})"
    if kind < 0.54:
        return "flag[i]"
    if kind < 0.74:
        some, filter_ = random.choice(["any", "any", "all"]), random.choice(["", "", "", " if flag[p]", " if p != i"])
        return f"{some}(x[p] {random.choice(RELATIONS)} {random.choice(['0', '1', 'a', 'y[p]'])} for p in n{filter_})"
    return f"{random.choice(VALUES)} {random.choice(RELATIONS)} {random.choice(VALUES)}"


def fuzz(seed: int, count: int) -> int:
    """How many of so many random claims were proved; none of them is false at a point tried."""
    random, proved = Random(seed), 0
    for _ in range(count):
        known = [f"assume({condition(random)})" for _ in range(random.choice([0, 1, 1, 2]))]
        body = "; ".join([*known, condition(random)])
        try:
            claim, context = theory(body)
        except LanguageError:
            continue
        if prove(claim, context).proof is not None:
            proved += 1
            assert counterexample(claim, context, random, 60) is None, body
    return proved


@pytest.mark.parametrize(
    "hypothesis",
    [
        "max(abs(x[p] - a) for p in n) > 0",
        "any(x[p] != a for p in n)",
        "any(x[p] == a for p in n if p != i) or 0 == x[k]",
        "not (not (flag[i]))",
        "not (not (not (any(x[p] < 1 for p in n))))",
        "any(x[p] <= 1 for p in n if p <= i)",
        "any(x[p]*a > 0 for p in n if p != i)",
        "not all(x[p] >= x[i] for p in n if flag[p])",
        "any(x[p] <= 0 for p in n if p > i)",
        "any(not flag[p] for p in n if p < i)",
        "sum(1 - w[p] for p in n if p < i) > 0",
        "any(any(a <= 0 for l in n if l > i) for p in n if p <= i)",
        "sum(a for p in n) < a or sum(b for p in n if flag[p]) > 0",
        "x[i] != a or (a < b/c or sum(2 for p in n if p != i) <= 0)",
    ],
)
def test_conditions_in_conditions_come_to_an_end(hypothesis: str) -> None:
    assert prove(*theory(f"assume({hypothesis}); b**2 >= 0")).proof is not None


@pytest.mark.parametrize(
    "body",
    [
        "assume(any(x[p] <= 0 for p in n if p > i)); sum(where(x[p] <= 0, 1, 0) for p in n if p > i) > 0",
        "assume(any(not flag[p] for p in n if p < i)); i > 0",
        "assume(sum(1 - w[p] for p in n if p < i) > 0); i > sum(w[p] for p in n if p < i)",
        "assume(sum(1 - w[p] for p in n if p < i) > 0); i > 0",
        "assume(i - sum(w[p] for p in n if p < i) > a); assume(a > 0); i > a",
    ],
)
def test_comparisons_of_sums_in_an_order_still_tell(body: str) -> None:
    assert prove(*theory(body)).proof is not None


@pytest.mark.parametrize(
    "body",
    [
        "assume(any(not flag[p] for p in n if p < i)); i > 1",
        "assume(any(x[p] <= 0 for p in n if p > i)); x[i] <= 0",
        "assume(sum(1 - w[p] for p in n if p < i) > 0); w[i] < 1",
        "assume(sum(a for p in n) < a or sum(b for p in n if flag[p]) > 0); a*b < 0",
    ],
)
def test_comparisons_of_sums_in_an_order_tell_no_more(body: str) -> None:
    claim, context = theory(body)
    assert prove(claim, context).proof is None
    assert counterexample(claim, context, Random(1), 400) is not None


def test_no_false_claim_of_several_conditions_is_proved() -> None:
    assert fuzz(1, 60) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
def test_no_false_claim_of_several_conditions_is_proved_in_a_longer_run(seed: int) -> None:
    assert fuzz(seed, 120) >= 5


# -- the same of normal forms and signs -------------------------------------------------------------------------------


def given(random: Random) -> Term:
    """A condition in the names and free letters of `total`."""
    k, relation = index("k", "n"), random.choice(RELATIONS)
    s, r, c = map(var, "src")
    numbers = (ZERO, ZERO, ONE, num(-1), s, var("x", J))
    values = (s, r, c, var("x", I), var("p", J), var("W", I, J), var("V", J, A), add(s, r), mul(s, var("x", I)))
    many = (var("x", k), var("p", k), var("W", I, k), mul(s, var("x", k)), sub(var("x", k), var("x", I)))
    kind = random.random()
    if kind < 0.35:
        return cmp(relation, random.choice(values), random.choice(numbers))
    if kind < 0.5:
        return cmp(relation, I, random.choice((J, add(J, ONE))))
    if kind < 0.6:
        return make("holds", (random.choice((var("h", I), var("d"), var("M", I, J))),))
    if kind < 0.8:
        return make("or", (given(random), given(random)))
    if kind < 0.85:
        return make("not", (given(random),))
    test = make("holds", (var("h", k),)) if kind > 0.97 else cmp(relation, random.choice(many), random.choice(numbers))
    filter_ = random.choice((TRUE, TRUE, cmp(random.choice(RELATIONS), k, random.choice((I, J)))))
    return make(random.choice(("any", "all")), (test, filter_), None, (k,))


def renamed(term: Term, random: Random) -> Term:
    """The term with bound letters called like free ones that do not stand below them."""
    term = rebuild(term, [renamed(a, random) for a in term.args]) if term.args else term
    if len(term.bound) != 1 or term.op == "at" or random.random() < 0.5:
        return term
    inside = {t for a in term.args for s in subterms(a) for t in (s, *s.bound)}
    (k,) = term.bound
    new = random.choice([t for t in (I, J, A) if t.value[1] == k.value[1]])
    return term if new in inside else make(term.op, [substitute(a, {k: new}) for a in term.args], term.value, (new,))


def points(hypotheses: tuple[Term, ...], random: Random) -> Iterator[Point]:
    for _ in range(60):
        here = random_point(random)
        with suppress(Skip), mpmath.workdps(DIGITS):
            if all(truth(h, here) for h in hypotheses):
                yield here


def kept(seed: int, count: int) -> int:
    """How many random terms kept value and sign at points where random hypotheses hold."""
    random, judged = Random(seed), 0
    for _ in range(count):
        hypotheses = tuple(given(random) for _ in range(random.choice((1, 1, 2, 3))))
        known = replace(CONTEXT, hypotheses=hypotheses, letters=frozenset((I, J, A)))
        nf, places = Ground(cmp("==", ZERO, ZERO), known).full, list(islice(points(hypotheses, random), 5))
        for term in (renamed(Terms(random).term(random.choice((1, 2, 3))), random) for _ in range(6) if places):
            try:
                canonical = nf.canonical(term)
                signs = sign(nf, term) & sign(nf, canonical)
            except Rejected:
                continue
            for here in places:
                with suppress(Skip), mpmath.workdps(DIGITS):
                    exact, found = value(term, here), value(canonical, here)
                    if abs(exact) < LARGE_VALUE:
                        assert close(exact, found), (list(map(to_text, hypotheses)), to_text(term), to_text(canonical))
                    assert signs & (POS if exact > 0 else NEG if exact < 0 else NOUGHT), (hypotheses, to_text(term))
                    judged += 1
    return judged


def test_normal_form_keeps_the_value_where_hypotheses_hold() -> None:
    assert kept(1, 60) > 500


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 16))
def test_normal_form_keeps_the_value_where_hypotheses_hold_in_a_longer_run(seed: int) -> None:
    assert kept(seed, 300) > 5000

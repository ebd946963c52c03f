"""The kernel refuses what is wrong, with the step and the reason, and never by an accident of Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from test_kernel import ONE_STEP, RULES, accepted, claimed, first_use, instances, refused
from test_rules import CONTEXT as ROWS_CONTEXT

from derive.kernel.check import PROCEDURES, Names, check
from derive.kernel.context import Context, Declaration, Definition, Law, Lemma
from derive.kernel.normal import Normal
from derive.kernel.proof import Cite, Line, Part, Proof, Rejected, Step, Use
from derive.kernel.wellformed import well_formed
from derive.term import (
    FALSE,
    ONE,
    OO,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    cmp,
    defined,
    delta,
    diff,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    over,
    power,
    size,
    sub,
    var,
    where,
)

I, J, K, L = (index(name, "n") for name in "ijkl")  # noqa: E741
B = index("b", "m")

# -- steps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ONE_STEP)
def test_damaged_result_is_refused(name: str) -> None:
    claim, path = ONE_STEP[name]
    case, rule = claimed(claim), name.split()[0]
    right = case.claim.args[1]
    for wrong in (neg(right), add(right, ONE), mul(TWO, right), diff(right, var("x")) if right.op == "num" else ZERO):
        if wrong is right or (right is ZERO and wrong.op in ("neg", "mul", "diff")):
            continue
        step = Step(rule, make("fn", (wrong,), "log") if path else wrong, path, name.endswith("folded"))
        case_ = Proof(cmp("==", case.claim.args[0], step.after), (step,))
        with pytest.raises(Rejected) as found:
            check(case_, case.context)

        assert found.value.step == 1


@pytest.mark.parametrize("name", RULES)
def test_damaged_result_of_a_row_is_refused(name: str) -> None:
    for left, right in instances(name, 6):
        for wrong in (neg(right), add(right, ONE), mul(num(3), right)):
            with pytest.raises(Rejected) as found:
                check(Proof(cmp("==", left, wrong), (Step(name, wrong),)), ROWS_CONTEXT)
            assert found.value.step == 1


@pytest.mark.parametrize("name", RULES)
def test_result_of_a_row_is_refused_under_another_name(name: str) -> None:
    """A step of one row is no step of another, unless both say the same here."""
    random, others = Random(name), [n for n in RULES if n != name]
    same = {
        frozenset({"constant_factor", "product_rule"}), frozenset({"square_rule", "power_rule"}),
        frozenset({"independence", "linearity_of_expectation_factor"}),
    }  # fmt: skip
    for left, right in instances(name, 3):
        for other in random.sample(others, 12):
            try:
                check(Proof(cmp("==", left, right), (Step(other, right),)), ROWS_CONTEXT)
            except Rejected:
                continue
            assert frozenset({name, other}) in same, (name, other)


def test_chain_ends_at_the_right_side() -> None:
    case = claimed("diff(x*p, x) == p")
    found = refused(case, case.step("product_rule", "diff(x, x)*p + x*diff(p, x)"))

    assert found.step is None
    assert "right side" in found.reason


def test_proof_without_steps_proves_nothing() -> None:
    assert refused(claimed("x == y"))
    assert refused(claimed("x - x == 0"))


def test_unknown_rule_is_refused_with_its_step() -> None:
    case = claimed("x - x == 0")

    assert "no rule" in refused(case, case.step("magic", "0")).reason


@pytest.mark.parametrize("path", [(7,), (0, 0, 0), (-1,), (0, 5)])
def test_position_that_does_not_exist_is_refused(path: tuple[int, ...]) -> None:
    case = claimed("x*p == p*x")

    assert refused(case, Step("field_identity", case.claim.args[1], path)).step == 1


def test_change_beside_the_position_is_refused() -> None:
    case = claimed("(x - x)*p == 0*x")

    assert "outside" in refused(case, case.step("field_identity", "0*x", 0)).reason


# -- conditions of rows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "claim"),
    [
        ("constant_rule", "diff(x, x) == 0"),
        ("constant_rule", "diff(Z, z[i]) == 0"),
        ("constant_factor", "diff(x*x, x) == x*diff(x, x)"),
        ("constant_divisor", "diff(p/x, x) == diff(p, x)/x"),
        ("power_rule", "diff(p**x, x) == x*p**(x - 1)*diff(p, x)"),
        ("expectation_of_a_constant", "E(q[i]) == 0"),
        ("independence", "E(q[i]*q[j]) == E(q[i])*E(q[j])"),
        ("independence", "E(score*q[i]) == E(score)*E(q[i])"),
        ("variance_of_a_sum_of_independent", "Var(sum(q[i] for k in n)) == sum(Var(q[i]) for k in n)"),
        ("variance_of_a_sum_of_independent", "Var(sum(q[k]*score for k in n)) == sum(Var(q[k]*score) for k in n)"),
        ("linearity_of_expectation", "E(q[i] + r[i]) == E(q[i]) - E(r[i])"),
    ],
)
def test_side_condition_of_a_row_is_asked(rule: str, claim: str) -> None:
    case = claimed(claim)

    assert refused(case, Step(rule, case.claim.args[1])).step == 1


def test_denominator_known_by_the_left_side_is_accepted() -> None:
    """The counterpart: where the left side is defined, the denominator is not 0."""
    case = claimed("diff(x/y, x) + 0/y == (diff(x, x)*y - x*diff(y, x))/y**2 + 0/y")

    assert accepted(case, Step("quotient_rule", case.claim.args[1], (0,)))


def test_denominator_known_at_the_point_only_is_refused() -> None:
    """Under a derivative y == 1 is not known, at the point only; y > 0, which holds around it, is."""
    for assumed, known in (("y == 1", False), ("y >= 1", False), ("y**2 > 0", True), ("y > 0", True)):
        case = claimed("diff(x, x) == diff(x*y/y, x)", assumed)
        step = Step("field_identity", case.claim.args[1], (0,))
        if known:
            assert accepted(case, step)
        else:
            assert refused(case, step).step == 1


def test_step_in_the_sign_at_the_point_is_not_taken_for_its_surroundings() -> None:
    """sign(y) > -1 holds at 0, and not beside it."""
    case = claimed("diff(y, y) == diff(y*(1 + sign(y))/(1 + sign(y)), y)", "sign(y) > -1")

    assert refused(case, Step("field_identity", case.claim.args[1], (0,))).step == 1


def test_factor_taken_out_of_a_sum_does_not_hold_its_letter() -> None:
    left = over("sum", mul(var("z", K), var("w", K)), K)
    right = mul(var("z", K), over("sum", var("w", K), K))

    assert refused_term(cmp("==", left, right), Step("constant_out_of_a_sum", right)).step == 1


# -- binders ---------------------------------------------------------------------------------------------------------


def context() -> Context:
    return claimed("x == x").context


def given(*hypotheses: Term) -> Context:
    return replace(context(), hypotheses=hypotheses)


def refused_term(claim: Term, *steps: Step, where_: Context | None = None) -> Rejected:
    with pytest.raises(Rejected) as found:
        check(Proof(claim, steps), where_ or context())
    return found.value


def total(body: Term, *letters: Term, where_: Term = TRUE) -> Term:
    return over("sum", body, *letters, where=where_)


def z(k: Term) -> Term:
    return var("z", k)


CAPTURES = {
    "a sum's letter renamed to a free one": (total(mul(z(K), z(I)), K), total(mul(z(I), z(I)), I), "rename"),
    "a free letter renamed to a sum's": (total(mul(z(K), z(I)), K), total(mul(z(K), z(K)), K), "rename"),
    "two letters of one sum": (total(mul(z(K), z(L)), K, L), total(mul(z(K), z(K)), K, L), "rename"),
    "a definition unfolded into a scope": (
        total(mul(z(K), defined("Z")), K), total(mul(z(K), total(fn("exp", z(K)), L)), K), "definition"),
    "the square of a sum with one letter twice": (
        power(total(z(K), K), TWO),
        add(total(power(z(K), TWO), K), total(mul(z(K), z(K)), K, L, where_=cmp("!=", K, L))), "square_of_a_sum"),
}  # fmt: skip


@pytest.mark.parametrize("name", CAPTURES)
def test_capture_is_refused(name: str) -> None:
    left, right, rule = CAPTURES[name]

    assert refused_term(cmp("==", left, right), Step(rule, right)).step == 1
    assert refused_term(cmp("==", left, right), Step("sum_normal_form", right)).step == 1


def some(condition: Term, filter_: Term) -> Term:
    return make("any", (condition, filter_), None, (K,))


def test_that_a_filter_leaves_something_is_told_of_filter_and_condition_together() -> None:
    """Some k is at most i, and some k is above it, but none is both."""
    low, above = cmp("<=", K, I), cmp(">", K, I)
    for claim in (some(low, above), some(above, low), some(cmp("!=", K, I), cmp("==", K, I)), some(above, TRUE)):
        assert "does not follow" in refused_term(claim).reason
        either = make("or", (cmp(">", x, ZERO), claim))
        assert "does not follow" in refused_term(either).reason
    for claim in (some(low, TRUE), some(cmp(">=", K, I), cmp("==", K, I))):
        assert check(Proof(claim), context())
        assert check(Proof(make("or", (cmp(">", x, ZERO), claim))), context())


def test_bound_letter_that_also_stands_outside_is_no_place_to_rewrite() -> None:
    """What holds of the free letter would seem to hold of the bound one."""
    left = add(z(I), total(where(cmp("==", I, J), z(I), ZERO), I))
    right = add(z(I), total(where(cmp("==", I, J), z(J), ZERO), I))

    assert "outside of its binder" in refused_term(cmp("==", left, right), Step("field_identity", right, (1, 0))).reason


def test_derivative_under_a_sum_over_its_own_letter_is_refused() -> None:
    """d/dz_k of sum over k is not the sum of the derivatives d/dz_k."""
    left, right = diff(total(z(K), K), z(K)), total(diff(z(K), z(K)), K)

    assert refused_term(cmp("==", left, right), Step("derivative_of_a_sum", right)).step == 1


def test_variance_of_a_sum_whose_letter_is_bound_again_is_refused() -> None:
    inner = total(var("q", K), K)
    left, right = make("Var", (total(inner, K),)), total(make("Var", (inner,)), K)

    assert refused_term(cmp("==", left, right), Step("variance_of_a_sum_of_independent", right)).step == 1


def test_variance_of_a_sum_of_a_defined_sum_is_refused() -> None:
    case = claimed("Var(sum(score for k in n)) == sum(Var(score) for k in n)")

    assert refused(case, Step("variance_of_a_sum_of_independent", case.claim.args[1])).step == 1


@pytest.mark.parametrize(("op", "value"), [("max", "<="), ("min", "<="), ("prod", "<"), ("sum", "<=")])
@pytest.mark.parametrize("letter", [I, J])
def test_place_that_follows_another_is_no_bound_letter_of_its_name(op: str, value: str, letter: Term) -> None:
    """i == j + 1 says nothing of the i, or the j, over which a maximum is taken."""
    known = replace(context(), hypotheses=(cmp("==", I, add(J, ONE)),), letters=frozenset({I, J}))
    plain = over(op, z(K), K, where=cmp(value, K, I))
    inside = over(op, z(letter), letter, where=cmp(value, letter, I))
    whole = over(op, z(K), K, where=cmp(value, K, K))
    if letter is I:  # the filter compares the bound letter with itself
        assert refused_term(cmp("==", inside, plain), Step("algebra", plain), where_=known)
        assert check(Proof(cmp("==", inside, whole), (Step("algebra", whole),)), known)
    else:
        assert check(Proof(cmp("==", inside, plain), (Step("algebra", plain),)), known)
        assert refused_term(cmp("==", inside, whole), Step("algebra", whole), where_=known)


def test_place_that_follows_another_is_put_into_a_maximum_over_one_letter() -> None:
    known = replace(context(), hypotheses=(cmp("==", I, add(J, ONE)),), letters=frozenset({I, J}))
    pairs = over("max", mul(z(K), z(L)), K, L, where=cmp("<=", K, I))
    for place in (J, L):
        shorter = over("max", mul(z(K), z(L)), K, L, where=cmp("<=", K, J))
        right = fn("max", shorter, mul(z(I), z(place)))
        assert refused_term(cmp("==", pairs, right), Step("algebra", right), where_=known)


@pytest.mark.parametrize("name", ["$0.0", "$1.0", "@0", "@1", "&1", "%1", "~1", "!a", "", "2", "a b"])
def test_letters_with_the_names_of_the_kernel_are_refused(name: str) -> None:
    """A letter called as the kernel calls its own bound ones would be captured."""
    free = index(name, "n")
    left, right = total(fn("exp", mul(z(K), var("g", free))), K), total(fn("exp", mul(z(K), var("g", K))), K)

    assert refused_term(cmp("==", left, right), Step("sum_normal_form", right))


# -- hypotheses, lemmas ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "around", ["diff(1*x, x) == diff(1*y, x)", "at(x, y, 2) == at(y, y, 2)", "E(x*q[i]) == E(y*q[i])"]
)
def test_hypothesis_is_not_used_beneath_what_looks_around(around: str) -> None:
    case = claimed(around, "x == y")
    path = (0, 1) if around.startswith("diff") else (0,) if around.startswith("at") else (0, 0)
    found = refused(case, Step("hypothesis", case.claim.args[1], path, False, (first_use(),)))

    assert found.step == 1
    assert refused(case, Step("field_identity", case.claim.args[1], path[:1], False, (first_use(),))).step == 1


def test_hypothesis_about_other_letters_does_not_help() -> None:
    case = claimed("w[j] == z[j]", "w[i] == z[i] + 1")

    assert refused(case, case.step("hypothesis", "z[j]", uses=(first_use(("i", "j")),))).step == 1


@pytest.mark.parametrize("number", [1, 7, -1, 10**30])
def test_hypothesis_that_does_not_exist_is_refused(number: int) -> None:
    case = claimed("w[j] == z[j]", "w[i] == z[i]")
    use = Use("hypothesis", number, ((I, J),))

    assert refused(case, case.step("hypothesis", "z[j]", uses=(use,))).step == 1
    assert refused(case, case.step("sum_normal_form", "z[j]", uses=(use,))).step == 1


def test_hypothesis_that_is_no_equation_is_not_put_in() -> None:
    case = claimed("w[j] == z[j]", "w[i] >= z[i]")

    assert refused(case, case.step("hypothesis", "z[j]", uses=(first_use(("i", "j")),))).step == 1


def test_hypothesis_at_a_declared_index_is_about_no_other() -> None:
    case = claimed("z[j]**2 == 0", "z[i] == 0", arguments="i: index[n]")

    assert refused(case, case.step("hypothesis", "0**2", 0, uses=(first_use(("i", "j")),))).step == 1


def test_letter_of_a_hypothesis_keeps_its_axis() -> None:
    case = claimed("x == x", "w[i] == z[i]")
    proof = Proof(cmp("==", ONE, ONE), (Step("algebra", ONE, (), False, (Use("hypothesis", 0, ((I, B),)),)),))
    with pytest.raises(Rejected):
        check(proof, case.context)


def test_filter_of_the_claim_is_no_hypothesis_about_all() -> None:
    """all(c for k in n if z[k] > 0) knows z[k] > 0 of its own k alone."""
    claim = make("all", (cmp(">", total(z(J), J), ZERO), cmp(">", z(K), ZERO)), None, (K,))
    zero = make("all", (cmp("==", z(J), ZERO), cmp("==", z(K), ZERO)), None, (K,))

    assert refused_term(claim)
    assert refused_term(zero, Step("hypothesis", ZERO, (), False, (Use("hypothesis", 0, ((K, J),)),)))


def test_claim_for_all_letters_restricts_them_by_indices_and_bits_only() -> None:
    same = cmp("==", z(K), z(K))
    for restriction in (cmp("!=", K, I), make("holds", (var("b", K),))):
        check(Proof(make("all", (same, restriction), None, (K,)), (Step("algebra", z(K)),)), context_with_bits())
    for restriction in (cmp(">", z(K), ZERO), make("or", (cmp("!=", K, I), cmp("==", z(K), ONE)))):
        with pytest.raises(Rejected, match="indices and bits"):
            check(Proof(make("all", (same, restriction), None, (K,)), (Step("algebra", z(K)),)), context_with_bits())


def context_with_bits() -> Context:
    base = context()
    return Context(base.axes, {**base.declarations, "b": Declaration("b", "bit", ("n",))}, base.definitions)


def test_letter_that_only_a_hypothesis_restricts_is_not_borrowed_by_a_step() -> None:
    """k != l says that the axis has two entries; the claim, which has neither letter, may be about one."""
    base = context()
    restricted = Context(base.axes, base.declarations, base.definitions, (cmp("!=", K, L),))
    one = cmp("==", ONE, ONE)
    borrowed = (Step("algebra", add(ONE, neg(delta(K, L)))), Step("algebra", ONE))
    used = (Step("algebra", ONE, (), False, (Use("hypothesis", 1, multiplier=delta(K, L)),)),)

    for steps in (borrowed, used):
        with pytest.raises(Rejected, match="only a hypothesis restricts"):
            check(Proof(one, steps), restricted)
    own = Proof(cmp("==", delta(K, L), ZERO), (Step("algebra", ZERO),))  # the claim's own letters are restricted
    assert check(own, restricted)


def test_equation_leans_on_the_lines_of_its_proof_and_no_others() -> None:
    """exp(x) - x is positive by a line, which the logarithm of its square needs."""
    gap = sub(fn("exp", var("x")), var("x"))
    claim = cmp("==", fn("log", power(gap, TWO)), mul(TWO, fn("log", gap)))
    step = (Step("algebra", claim.args[1]),)
    tangent = Line(cmp(">=", fn("exp", var("x")), add(ONE, var("x"))), "exp_tangent", (var("x"),))
    positive = Line(cmp(">", gap, ZERO), "combination", (), (Part(ONE, (Cite(0),)), Part(ONE)))
    false = Line(cmp(">", sub(gap, TWO), ZERO), "combination", (), (Part(ONE, (Cite(0),)), Part(ONE)))

    assert check(Proof(claim, step, (tangent, positive)), context())
    for lines in ((), (positive,), (tangent, false)):
        with pytest.raises(Rejected):
            check(Proof(claim, step, lines), context())


def test_line_about_all_letters_is_not_taken_for_the_letter_of_the_claim_alone() -> None:
    """A line for all k with k != i says nothing of the claim's own i."""
    others = Line(cmp("!=", delta(K, I), ONE), "combination", (), (Part(neg(ONE)),), (), (K,), cmp("!=", K, I))
    claim = cmp("==", ONE, mul(sub(ONE, delta(J, I)), power(sub(ONE, delta(J, I)), neg(ONE))))

    with pytest.raises(Rejected):
        check(Proof(claim, (Step("algebra", claim.args[1]),), (others,)), context())


def lemma_context(lemma: Lemma, *hypotheses: Term, letters: frozenset[Term] = frozenset()) -> Context:
    base = context()
    return Context(base.axes, base.declarations, base.definitions, hypotheses, (lemma,), letters)


LEMMA_STEP = Step("lemma", ZERO, (), False, (Use("lemma", 0, ((I, J),)),))


def test_lemma_needs_its_hypotheses() -> None:
    condition, needed = cmp("==", power(z(I), TWO), ZERO), cmp("==", z(I), ZERO)
    claim = cmp("==", power(z(J), TWO), ZERO)

    assert refused_term(claim, LEMMA_STEP, where_=lemma_context(Lemma("l", condition, (needed,))))
    assert check(Proof(claim, (LEMMA_STEP,)), lemma_context(Lemma("l", condition, (needed,)), needed))


def test_lemma_is_named_as_one() -> None:
    """What is no lemma is not looked for among those that are proved: a line may not borrow one under another kind."""
    known = lemma_context(Lemma("l", cmp(">=", x, ZERO)))
    for kind in ("hypothesis", "telescoping", ""):
        line = Line(cmp(">=", x, ZERO), "lemma", uses=(Use(kind, 0),))
        with pytest.raises(Rejected):
            check(Proof(cmp(">=", x, ZERO), (), (line,)), known)


ADDEND = index("k", "n")
TELESCOPES = {  # a value and an end that do not give what the sum of its increments is said to be
    "a subscript is no number": (z(ADDEND), size("n")),
    "a delta is of indices": (delta(ADDEND, I), size("n")),
    "the end depends on the letter": (ADDEND, make("argmax", (mul(z(L), ADDEND), TRUE), None, (L,))),
    "the end is the letter": (ADDEND, ADDEND),
    "the end is of another axis": (ADDEND, B),
    "the end is a size of another axis": (ADDEND, size("m")),
    "the end is no index": (ADDEND, num(3)),
    "the value may not exist": (mul(ADDEND, make("E", (fn("exp", power(var("q", I), TWO)),))), size("n")),
    "there is no value": (None, size("n")),
}


@pytest.mark.parametrize("why", TELESCOPES)
def test_telescoping_needs_a_function_of_a_number_and_an_end(why: str) -> None:
    value, end = TELESCOPES[why]
    use = Use("telescoping", 0, ((ADDEND, end),), ONE, value=value)

    assert refused_term(cmp("==", x, ZERO), Step("algebra", ZERO, uses=(use,)))
    line = Line(cmp("==", x, ZERO), "telescoping", uses=(replace(use, multiplier=None),))
    with pytest.raises(Rejected):
        check(Proof(cmp("==", x, ZERO), (), (line,)), context())


def test_telescoping_says_nothing_else() -> None:
    """One more or one less, another end, another factor: what does not follow from the increments is refused."""
    power_, addends = power(x, ADDEND), sub(power(x, add(ADDEND, ONE)), power(x, ADDEND))
    use = Use("telescoping", 0, ((ADDEND, size("n")),), ONE, value=power_)
    right = sub(power(x, size("n")), ONE)

    assert check(
        Proof(cmp("==", over("sum", addends, ADDEND), right), (Step("algebra", right, uses=(use,)),)), context()
    )
    for wrong in (add(right, ONE), neg(right), power(x, size("n")), sub(power(x, sub(size("n"), ONE)), ONE), ZERO):
        assert refused_term(cmp("==", over("sum", addends, ADDEND), wrong), Step("algebra", wrong, uses=(use,)))
    cut = over("sum", addends, ADDEND, where=cmp("<=", ADDEND, I))
    before = Use("telescoping", 0, ((ADDEND, I),), ONE, value=power_)
    wrong = sub(power(x, I), ONE)
    assert refused_term(cmp("==", cut, wrong), Step("algebra", wrong, uses=(before,)))


def test_lemma_needs_its_letters_to_differ() -> None:
    condition = cmp("==", delta(I, J), ZERO)
    lemma = lemma_context(Lemma("l", condition, (cmp("!=", I, J),)))
    same = Step("lemma", ZERO, (), False, (Use("lemma", 0, ((J, I),)),))

    assert refused_term(cmp("==", delta(I, I), ZERO), same, where_=lemma)


def test_lemma_at_a_declared_index_is_about_no_other() -> None:
    fixed = frozenset({I})
    lemma = lemma_context(Lemma("l", cmp("==", power(z(I), TWO), ZERO)), cmp("==", z(I), ZERO), letters=fixed)

    assert refused_term(cmp("==", power(z(J), TWO), ZERO), LEMMA_STEP, where_=lemma)


def test_hypothesis_of_a_lemma_for_all_letters_is_not_met_at_a_declared_index() -> None:
    needed, claim = cmp("==", z(I), ZERO), cmp("==", total(z(K), K), ZERO)
    lemma = lemma_context(Lemma("l", claim, (needed,)), needed, letters=frozenset({I}))

    assert refused_term(claim, Step("lemma", ZERO, (), False, (Use("lemma", 0),)), where_=lemma)


def test_lemma_about_another_variable_is_refused() -> None:
    lemma = Lemma("l", cmp("==", fn("abs", var("x")), var("x")), (), (Declaration("x", "positive"),))
    step = Step("lemma", var("x"), (), False, (Use("lemma", 0),))

    assert refused_term(cmp("==", fn("abs", var("x")), var("x")), step, where_=lemma_context(lemma))


def test_lemma_about_an_index_of_another_axis_is_refused() -> None:
    """That t[k] is below n is true of an index of n."""
    below = cmp(">", sub(size("n"), var("t", K)), ZERO)
    other = Lemma("l", below, (), (Declaration("t", "index", ("n",), "m"),))
    same = Lemma("l", below, (), (Declaration("t", "index", ("n",), "n"),))
    line = Line(below, "lemma", uses=(Use("lemma", 0),))

    assert check(Proof(below, lines=(line,)), lemma_context(same))
    with pytest.raises(Rejected, match="another t"):
        check(Proof(below, lines=(line,)), lemma_context(other))


def test_lemma_is_not_used_where_its_left_side_is_undefined() -> None:
    lemma = Lemma("l", cmp("==", make("div", (var("x"), var("x"))), ONE))
    step = Step("lemma", make("div", (var("x"), var("x"))), (), True, (Use("lemma", 0),))

    assert refused_term(cmp("==", ONE, make("div", (var("x"), var("x")))), step, where_=lemma_context(lemma))


# -- what the language's reader would see ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "assumed"),
    [
        ("1 == x/x", ()),
        ("x == sqrt(x)**2", ()),
        ("log(x*y) - log(x*y) == log(x) - log(x)", ()),
        ("(-1)**n == 0", ()),
        ("sqrt(-x)*sqrt(-x) == x", ("x <= 0",)),
        ("where(x*y + x*p == 0, 1, 0) == where(y + p == 0, 1, 0)", ()),
        ("sign(x) == diff(abs(x), x)", ("x >= 0",)),
        ("where(x > 0, 1, 0) == diff(relu(x), x)", ("x >= 0",)),
        ("where(x > y, 1, 0) == diff(max(x, y), x)", ("x == y",)),
        ("0 == at(diff(abs(p), p), p, 0)", ()),
        ("0 == at((-1)**c, c, 1/2)", ()),
        ("0 == 0*at(where(x > 0, 1/y, 1), x, 1)", ("x <= 0",)),
        ("0 == log(m*c) - log(m) - log(c)", ("c == -2",)),
        ("sqrt(x**2) == x", ()),
        ("diff(max(abs(x), 1), x) == diff(max(abs(x), 1), x) + 0/x", ()),
        ("diff(relu(relu(x) - 1), x) == diff(relu(relu(x) - 1), x) + 0/x", ()),
        ("diff(max(relu(x) + z[k] for k in n), x) == diff(max(relu(x) + z[k] for k in n), x) + 0/x", ()),
        ("abs(x)/x == sign(x) + 0/x + delta(i, i) - 1 + x - x + 1/(z[i] - z[i])", ()),
    ],
)
def test_false_equation_is_no_identity(claim: str, assumed: tuple[str, ...]) -> None:
    case = claimed(claim, *assumed)

    assert refused(case, Step("algebra", case.claim.args[1]))


@pytest.mark.parametrize(
    ("claim", "assumed"),
    [
        ("sum(exp(z[k]) for k in n if k != t[k]) > 0", ("n >= 2",)),
        ("sum(exp(z[k]) for k in n if k != i and k != j) > 0", ("n >= 2",)),
        ("prod(z[k] for k in n) >= 0", ("all(z[k] <= 0 for k in n)",)),
        ("(-2)**n + 2**n > 0", ()),
        ("max(z[k] for k in n) > z[i]", ()),
        ("x**2 > 0", ()),
        ("exp(x) > 1 + x", ()),
        ("lgamma(p) >= 0", ()),
    ],
)
def test_false_order_is_not_judged_by_signs(claim: str, assumed: tuple[str, ...]) -> None:
    assert refused(claimed(claim, *assumed))


@pytest.mark.parametrize(
    ("claim", "assumed"),
    [
        ("sum(exp(z[k]) for k in n if k != i) > 0", ("n >= 2",)),
        ("x**2 + 1 > 0", ()),
        ("2**n > 0", ()),
    ],
)
def test_true_order_is_judged_by_signs(claim: str, assumed: tuple[str, ...]) -> None:
    assert accepted(claimed(claim, *assumed))


# -- malformed data --------------------------------------------------------------------------------------------------

x = var("x")
deep = x
for _ in range(4000):
    deep = neg(deep)

MALFORMED: dict[str, Term] = {
    "no operator": make("nonsense", (x,)),
    "metavariable": make("meta", (), "A"),
    "empty sum of terms": make("add", ()),
    "product of one": make("mul", (x,)),
    "negation of nothing": make("neg", ()),
    "negation of two": make("neg", (x, x)),
    "quotient of one": make("div", (x,)),
    "power of three": make("pow", (x, x, x)),
    "function without argument": make("fn", (), "exp"),
    "function of two": make("fn", (x, x), "exp"),
    "maximum of one": make("fn", (x,), "max"),
    "unknown function": make("fn", (x,), "gamma"),
    "function without name": make("fn", (x,)),
    "undeclared variable": var("nobody"),
    "undefined name": defined("nobody"),
    "too few subscripts": var("z"),
    "too many subscripts": var("x", I),
    "subscript of another axis": var("z", B),
    "subscript that is no index": var("z", x),
    "definition without subscripts": defined("s"),
    "number that is none": make("num", (), "1"),
    "number with arguments": make("num", (x,), Fraction(1)),
    "constant of another name": make("const", (), "e"),
    "size of no axis": size("nowhere"),
    "letter of no axis": index("i", "nowhere"),
    "letter without name": index("", "n"),
    "infinity as a number": OO,
    "infinity minus infinity": add(OO, neg(OO)),
    "infinity in a product": mul(ZERO, OO),
    "delta of one": make("delta", (I,)),
    "delta of two axes": delta(I, B),
    "delta of values": delta(x, x),
    "case distinction of two": make("where", (TRUE, x)),
    "case distinction on a value": where(x, x, x),
    "comparison of one": where(make("cmp", (x,), "<"), x, x),
    "comparison of three": where(make("cmp", (x, x, x), "<"), x, x),
    "unknown relation": where(cmp("~", x, x), x, x),
    "indices of two axes compared": where(cmp("<", I, B), x, x),
    "not of nothing": where(make("not", ()), x, x),
    "bit of nothing": where(make("holds", ()), x, x),
    "and of one": where(make("and", (TRUE,)), x, x),
    "condition as a value": add(cmp("<", x, x), x),
    "list as a value": add(make("list", (x,)), x),
    "sum without letters": make("sum", (x, TRUE)),
    "sum without filter": make("sum", (x,), None, (K,)),
    "sum over a letter twice": make("sum", (x, TRUE), None, (K, K)),
    "sum over a variable": make("sum", (x, TRUE), None, (x,)),
    "sum with a value as its filter": make("sum", (x, x), None, (K,)),
    "letters on a product": make("mul", (x, x), None, (K,)),
    "derivative by a number": make("diff", (x, ONE)),
    "derivative by a definition": diff(x, defined("Z")),
    "derivative by an undeclared name": diff(x, var("nobody")),
    "derivative by an index": diff(x, var("t", I)),
    "derivative by a bit": diff(x, var("bit_", I)),
    "derivative without variable": make("diff", (x,)),
    "derivative by an entry of another axis": diff(x, var("z", B)),
    "replacement with too many letters": make("at", (x, x), "z", (K, L)),
    "replacement without letters": make("at", (x, x), "z"),
    "replacement over another axis": make("at", (x, x), "z", (B,)),
    "replacement of nothing": make("at", (x, x), "nobody"),
    "replacement of a definition": make("at", (x, x), "Z"),
    "limit in an array": make("limit", (x, var("z", I), ZERO), ""),
    "limit from beyond": make("limit", (x, x, ZERO), "*"),
    "limit of two": make("limit", (x, x), ""),
    "mean of two": make("E", (x, x)),
    "covariance of one": make("Cov", (x,)),
    "nested too deeply": deep,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_term_is_refused(name: str) -> None:
    """As a side, inside of a side, in a step, and as what a hypothesis is multiplied by."""
    bad = MALFORMED[name]
    known = lemma_context(Lemma("l", cmp("==", x, x)), cmp("==", x, ZERO))
    for claim in (
        cmp("==", bad, bad),
        cmp("==", ONE, bad),
        cmp(">=", power(bad, TWO), ZERO),
        cmp("==", make("add", (x, bad)), x),
    ):
        assert refused_term(claim, Step("algebra", claim.args[1]), where_=known)
        assert refused_term(claim, where_=known)
    one = cmp("==", ONE, ONE)
    inside = make("add", (ONE, make("mul", (ZERO, bad))))
    assert refused_term(one, Step("algebra", inside), Step("algebra", ONE), where_=known)
    for use in (Use("hypothesis", 0, (), bad), Use("hypothesis", 0, ((I, bad),))):
        assert refused_term(one, Step("algebra", ONE, (), False, (use,)), where_=known)


@pytest.mark.parametrize(
    "claim",
    [ONE, x, OO, TRUE, FALSE, make("cmp", (x,), "=="), make("cmp", (x, x, x), "=="), cmp("~", x, x), make("and", ()),
     make("all", (cmp("==", x, x),), None, (K,)), make("all", (cmp("==", x, x), TRUE)), make("not", (x,)),
     make("holds", (x, x)), cmp("==", x, make("list", (ONE,))), make("any", (x, TRUE), None, (K,)), make("list", ()),
     make("all", (x, TRUE), None, (K,)), make("cmp", (x, x), None)],
    ids=repr,
)  # fmt: skip
def test_what_is_no_claim_is_refused(claim: Term) -> None:
    if claim is TRUE:
        assert check(Proof(claim), context())
    else:
        assert refused_term(claim, Step("algebra", ONE))


BAD_LETTERS: list[Callable[[], Use]] = [
    lambda: Use("hypothesis", 0, ((x, I),)),
    lambda: Use("hypothesis", 0, ((I, x),)),
    lambda: Use("hypothesis", 0, ((I, B),)),
    lambda: Use("hypothesis", 0, ((K, I), (L, I))),
    lambda: Use("hypothesis", 0, (), None, (x,)),
    lambda: Use("hypothesis", 0, (), None, (K, K)),
    lambda: Use("hypothesis", 0, (), None, (index("$0.0", "n"),)),
    lambda: Use("lemma", 0, ((x, I),)),
    lambda: Use("lemma", 0, ((I, B),)),
    lambda: Use("lemma", 5),
    lambda: Use("lemma", -1),
    lambda: Use("", 0, ((x, x),)),
]


@pytest.mark.parametrize("number", range(len(BAD_LETTERS)))
def test_malformed_use_is_refused(number: int) -> None:
    known = lemma_context(Lemma("l", cmp("==", z(I), ZERO)), cmp("==", z(I), ZERO))
    claim = cmp("==", z(J), ZERO)
    for rule in ("hypothesis", "lemma", "sum_normal_form"):
        assert refused_term(claim, Step(rule, ZERO, (), False, (BAD_LETTERS[number](),)), where_=known)


@pytest.mark.parametrize("rule", [*PROCEDURES, *RULES])
def test_any_rule_at_any_place_is_refused_or_accepted(rule: str) -> None:
    """Rules meet terms of every kind, as they are and turned round; only Rejected comes out."""
    mean, random = make("E", (var("q", I),)), Random(rule)
    terms = [
        x, ONE, I, z(I), total(z(K), K), total(z(K), K, L), diff(z(I), z(J)), mean, delta(I, J), make("Var", mean.args),
        where(cmp("==", I, J), x, x), make("at", (x, ONE), "x"), power(x, TWO), neg(x), make("limit", (x, x, ZERO), ""),
        make("max", (z(K), TRUE), None, (K,)), diff(total(z(K), K, L), z(J)), power(total(z(K), K), TWO), defined("Z"),
        fn("exp", x), make("div", (x, x)), mul(x, x, x), add(x, x), make("div", (mean, x)), diff(power(x, x), x),
    ]  # fmt: skip
    known = lemma_context(Lemma("l", cmp("==", x, x)), cmp("==", x, x))
    uses = (Use("hypothesis", 0),) if rule in ("hypothesis", "lemma") else ()
    for _ in range(60):
        left, right = random.choice(terms), random.choice(terms)
        step = Step(rule, right, (), random.random() < 0.5, uses)
        try:
            check(Proof(cmp("==", left, right), (step,)), known)
        except Rejected:
            continue


LINES = [
    Line(cmp(">=", x, ZERO), "nothing"),
    Line(cmp(">=", x, ZERO), "exp_tangent"),
    Line(cmp(">=", x, ZERO), "exp_tangent", (x, x, x)),
    Line(cmp("~", x, ZERO), "combination"),
    Line(ONE, "combination"),
    Line(TRUE, "combination"),
    Line(make("cmp", (x,), ">="), "combination"),
    Line(cmp(">=", x, ZERO), "combination", (), (Part(ONE, (Cite(5),)),)),
    Line(cmp(">=", x, ZERO), "combination", (), (Part(ONE, (Cite(-99),)),)),
    Line(cmp(">=", x, ZERO), "combination", (), (Part(make("pow", (x,))),)),
    Line(cmp(">=", x, ZERO), "combination", (), (Part(ONE, (), (x,)),)),
    Line(cmp(">=", x, ZERO), "combination", (), (Part(ONE, (), (), x),)),
    Line(cmp(">=", x, ZERO), "combination", (ZERO,)),
    Line(cmp(">=", x, ZERO), "combination", (make("fn", (), "exp"),)),
    Line(cmp(">=", x, ZERO), "extremum"),
    Line(cmp(">=", x, ZERO), "extremum", (x, I)),
    Line(cmp(">=", x, ZERO), "extremum", (make("max", (z(K), TRUE), None, (K,)), B)),
    Line(cmp(">=", x, ZERO), "case_distinction", (x,), (), (None, None)),
    Line(cmp(">=", x, ZERO), "case_distinction", (cmp("<", x, ZERO),)),
    Line(cmp(">=", x, ZERO), "lemma"),
    Line(cmp(">=", x, ZERO), "lemma", uses=(Use("lemma", 3),)),
    Line(cmp(">=", x, ZERO), "combination", letters=(x,)),
    Line(cmp(">=", x, ZERO), "combination", letters=(K, K)),
    Line(cmp(">=", z(K), ZERO), "combination"),
    Line(cmp(">=", x, ZERO), "combination", where=x),
    Line(cmp(">=", x, ZERO), "log_tangent", (x,), (), (Cite(0), Cite(1), Cite(2))),
    Line(cmp(">=", x, ZERO), "log_increasing", (x, x), (), (Cite(0, ((I, x),)), None)),
    Line(cmp(">=", deep, ZERO), "combination"),
]


@pytest.mark.parametrize("number", range(len(LINES)))
def test_malformed_line_of_an_order_is_refused(number: int) -> None:
    with pytest.raises(Rejected):
        check(Proof(cmp(">=", x, ZERO), (), (LINES[number],)), context())


@pytest.mark.parametrize(
    "law",
    [Law("random", (ZERO,)), Law("random", ()), Law("normal", (ONE,)), Law("bernoulli", ()), Law("strange", (ONE,))],
)
def test_law_without_its_parameters_is_refused(law: Law) -> None:
    base = context()
    odd = Declaration("odd", "random", ("n",), None, law, (K,))
    known = Context(base.axes, {**base.declarations, "odd": odd}, base.definitions)
    for moment in (
        make("E", (var("odd", I),)),
        make("Var", (var("odd", I),)),
        make("E", (power(var("odd", I), num(3)),)),
    ):
        with pytest.raises(Rejected):
            check(Proof(cmp("==", moment, ZERO), (Step("moment", ZERO),)), known)


def test_definition_that_rests_on_itself_is_refused() -> None:
    base = context()
    circle = {"C": Definition("C", (), add(defined("D"), ONE)), "D": Definition("D", (), defined("C"))}
    known = Context(base.axes, base.declarations, circle)
    with pytest.raises(Rejected):
        check(Proof(cmp("==", defined("C"), ZERO), (Step("algebra", ZERO),)), known)


def test_what_was_refused_once_is_refused_again() -> None:
    """What the kernel remembers of well-formed terms holds nothing of a term that was none."""
    where_ = context()
    term = make("add", (var("x"), make("add", (var("x"), var("nobody")))))
    for part in (term, term, term.args[1]):
        with pytest.raises(Rejected, match="nobody is not declared"):
            well_formed(part, where_)


# -- forged proofs: letters, numbers and names that stand for more than is known of them -------------------------------


def test_line_does_not_speak_of_all_values_of_a_letter_that_a_hypothesis_restricts() -> None:
    """delta(i, j) <= 0 for i != j; put in at j = i it would make 1 <= 0."""
    case = claimed("w[i] <= w[i] - 1", "i != j")
    apart = Line(cmp("<=", delta(I, J), ZERO), "combination", letters=(J,))
    last = Line(case.claim, "combination", parts=(Part(ONE, (Cite(0, ((J, I),)),)),))
    with pytest.raises(Rejected, match="letters of its own") as found:
        check(Proof(case.claim, (), (apart, last)), case.context)

    assert found.value.step == 1


SUMMED: dict[str, tuple[tuple[Term, ...], frozenset[Term], tuple[Lemma, ...], Term, Use]] = {
    "what is known of one declared letter": (
        (cmp("==", z(I), ONE),), frozenset({I}), (),
        cmp("==", total(z(K), K), size("n")), Use("hypothesis", 0, (), None, (I,)),
    ),
    "what is known of a restricted letter": (
        (cmp("!=", I, J),), frozenset(), (Lemma("l", cmp("==", delta(I, J), ZERO), (cmp("!=", I, J),)),),
        cmp("==", mul(x, delta(I, J)), neg(x)), Use("lemma", 0, (), x, (I,)),
    ),
    "what is defined for the claim's letter": (
        (), frozenset(), (Lemma("l", cmp("==", div(z(I), z(I)), ONE)),),
        cmp("==", add(total(div(z(K), z(K)), K), mul(ZERO, div(z(I), z(I)))), size("n")),
        Use("lemma", 0, (), None, (I,)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMMED)
def test_equation_is_not_summed_over_a_letter_of_which_more_is_known(name: str) -> None:
    hypotheses, letters, lemmas, claim, use = SUMMED[name]
    where_ = replace(given(*hypotheses), letters=letters, lemmas=lemmas)
    step = Step("algebra", claim.args[1], uses=(use,))
    with pytest.raises(Rejected, match="of which more is known"):
        check(Proof(claim, (step,)), where_)


@pytest.mark.parametrize("place", [num(5), num(1), num(-1), num("1/2")], ids=str)
def test_number_is_no_index_of_an_axis_that_may_be_shorter(place: Term) -> None:
    """sum(delta(k, 5) for k in n) is 1 for more than five indices only; 0 is an index of each axis."""
    one = cmp("==", total(delta(K, place), K), ONE)
    assert "a subscript is" in refused_term(one, Step("kronecker_sifting", ONE)).reason
    assert refused_term(cmp("==", sub(z(place), z(place)), ZERO), Step("algebra", ZERO))
    assert refused_term(cmp("==", ONE, ONE), Step("algebra", add(ONE, sub(z(place), z(place)))), Step("algebra", ONE))
    entries = cmp("==", var("z"), make("list", (ONE, ONE)))
    assert "decided on its numbers" in refused_term(one, Step("algebra", ONE), where_=given(entries)).reason
    zero = cmp("==", total(delta(K, ZERO), K), ONE)

    assert check(Proof(zero, (Step("kronecker_sifting", ONE),)), context())


def test_letter_of_a_definition_is_not_bound_by_a_sum_around_it() -> None:
    """s is z[i] for a declared i; sum(s w[i] for i in n) is z[i] sum(w[k] for k in n)."""
    base = context()
    known = replace(base, definitions={"s": Definition("s", (), z(I))}, letters=frozenset({I}))
    term = total(mul(defined("s"), var("w", I)), I)

    assert alike(Normal(known).opened(term), total(mul(z(I), var("w", K)), K))


@pytest.mark.parametrize("exponent", ["10000", "10000000", "1" + 400 * "0"])
def test_power_too_large_to_be_written_out_is_refused(exponent: str) -> None:
    e, right = num(exponent), num(7)
    for base in (TWO, num("-3/2"), add(x, ONE), total(z(K), K), I, var("q", I), add(TWO, power(TWO, num("1/2")))):
        for power_ in (e, neg(e), num(Fraction(int(exponent), 3))):
            left = power(base, power_)
            for term in (left, make("E", (left,)), fn("log", left), total(mul(left, z(K)), K)):
                assert refused_term(cmp("==", term, right), Step("algebra", right))


@pytest.mark.parametrize(
    ("hypotheses", "claim"),
    [
        ((cmp(">", var("q", I), ZERO),), cmp("==", make("E", (fn("abs", var("q", I)),)), ZERO)),
        ((), cmp(">=", power(var("q", I), TWO), ZERO)),
        ((), cmp("==", var("q", I), var("q", I))),
    ],
)
def test_random_name_outside_of_a_mean_is_refused(hypotheses: tuple[Term, ...], claim: Term) -> None:
    found = refused_term(claim, Step("algebra", claim.args[1]), where_=given(*hypotheses))

    assert found.reason == "a random name outside of a mean"


def test_mean_does_not_average_what_is_put_into_it() -> None:
    """E(exp(x q)) at x = q is a function of q that a second mean averages; it is not E(exp(q^2))."""
    q = var("q", I)
    inner = make("at", (make("E", (fn("exp", mul(x, q)),)), q), "x")
    known = given(cmp(">", make("E", (fn("exp", power(q, TWO)),)), ZERO))
    claim = cmp("==", make("E", (inner,)), make("E", (fn("exp", power(q, TWO)),)))

    assert "cannot be evaluated" in refused_term(claim, Step("algebra", claim.args[1]), where_=known).reason


def test_what_a_mean_averages_is_not_replaced_in_it() -> None:
    """E(exp(q)) has no q that x could be put in for."""
    q = var("q", I)
    left = make("at", (make("E", (fn("exp", q),)), x), "q", (J,))
    known = given(cmp(">", make("E", (fn("exp", q),)), ZERO))
    claim = cmp("==", make("E", (left,)), fn("exp", x))

    assert "cannot be evaluated" in refused_term(claim, Step("algebra", claim.args[1]), where_=known).reason


def test_product_over_a_random_filter_is_no_power_of_a_mean() -> None:
    """E(prod(r[k] for k in n if flip[k])) is not 2**sum(flip[k] for k in n), which a mean around it would square."""
    r, chosen = var("r", K), make("holds", (var("flip", K),))
    once, twice = (make("E", (over("prod", body, K, where=chosen),)) for body in (r, mul(TWO, r)))

    assert refused_term(cmp("==", power(once, TWO), twice), Step("algebra", twice))


@pytest.mark.parametrize("by", [num("1/2"), num(5), x, size("n"), B, add(K, ONE)], ids=str)
def test_index_is_replaced_by_an_index_of_its_axis_alone(by: Term) -> None:
    """sum(delta(j, t[i]) for j in n) is 1, since t[i] is one of the j."""
    t = var("t", I)
    one = total(make("at", (delta(J, t), by), "t", (K,)), J)

    assert refused_term(cmp("==", one, ONE), Step("algebra", ONE))
    assert check(
        Proof(cmp("==", total(make("at", (delta(J, t), I), "t", (K,)), J), ONE), (Step("algebra", ONE),)), context()
    )


def test_name_that_the_kernel_keeps_for_itself_is_refused() -> None:
    """The distance to the point of a limit is $h: with a variable of this name log(T) - log($h) would stay."""
    base, p, h = context(), var("p"), var("$h")
    known = replace(base, declarations={**base.declarations, "$h": Declaration("$h", "positive")})
    gap = make("limit", (sub(fn("log", p), fn("log", h)), p, ZERO), "+")

    assert refused_term(cmp("==", gap, ZERO), Step("limit_by_expansion", ZERO), where_=known).reason == "$h is no word"


def test_what_holds_of_a_letter_of_the_claim_is_not_said_of_a_bound_one() -> None:
    """0/z[i] says that z[i] is not 0; a line without i may bind it anew, for all places of the sum."""
    nought = total(where(cmp("==", z(K), ZERO), ONE, ZERO), K)
    same = total(where(cmp("==", z(I), ZERO), ONE, ZERO), I)
    claim = cmp("==", add(div(ZERO, z(I)), nought), ZERO)
    steps = Step("algebra", nought), Step("rename", same), Step("algebra", total(ZERO, I), (0,)), Step("algebra", ZERO)
    found = refused_term(claim, *steps)

    assert (found.step, "outside of its binder" in found.reason) == (3, True)


@pytest.mark.parametrize("name", ["$0.0", "$1.0", "@0", "@1", "&1", "^j"])
def test_letter_that_a_normal_form_binds_is_not_put_into_an_equation(name: str) -> None:
    """sum(W[k, j] for k in n) is 1 for each j; the trace is no such sum."""
    bound, place = over("sum", var("W", K, J), K), index(name, "n")
    trace = cmp("==", total(var("W", K, K), K), ONE)
    use = Use("hypothesis", 0, ((J, place),), ONE)

    assert refused_term(trace, Step("algebra", ONE, uses=(use,)), where_=given(cmp("==", bound, ONE))).step == 1


@pytest.mark.parametrize("name", ["flip", "r"])
def test_case_beside_a_mean_of_its_own_names_comes_to_an_end(name: str) -> None:
    """Where q[i] = r[j], one is put in for the other, but not into a mean, which takes all values."""
    q, r = var("q", I), var(name, J)
    inner = make("E", (fn("max", q, r),))
    left = make("E", (where(cmp(">", q, r), inner, where(cmp("==", q, r), mul(q, inner), ZERO)),))

    assert "normal forms differ" in refused_term(cmp("==", left, ONE), Step("laws_of_means", ONE)).reason


@pytest.mark.parametrize("name", ["$0.0", "$1.0", "@0", "&1", "^j"])
def test_letter_that_a_normal_form_binds_is_no_letter_of_a_line(name: str) -> None:
    """The columns whose sum is positive have one; that the trace is positive says so of no column."""
    free, column = index(name, "n"), total(var("W", K, J), K)
    trace, all_ = total(var("W", K, K), K), total(var("W", K, J), K, J)
    positive = cmp(">", column, ZERO)
    chosen = Line(positive, "case_distinction", (positive,), cites=(None, None), letters=(J,), where=positive)
    known = given(cmp(">", trace, ZERO))
    for parts, letters in (
        ((Part(ONE, (Cite(0, ((J, free),)),), (free,)),), ()),
        ((Part(ONE, (Cite(0, ((J, free),)),)),), (free,)),
    ):
        wanted = cmp(">", trace if letters else all_, ZERO)
        line = Line(wanted, "combination", parts=parts, letters=letters)
        with pytest.raises(Rejected) as found:
            check(Proof(cmp(">", all_, ZERO), lines=(chosen, line)), known)

        assert found.value.step == 2


@pytest.mark.parametrize("name", ["q", "r"])
def test_line_holds_no_mean_that_a_replacement_may_leave_without_a_value(name: str) -> None:
    """E(exp(x q[i])) may exist at x = 0 and nowhere else."""
    mean = make("E", (fn("exp", mul(x, var(name, I))),))
    for term in (mean, make("at", (mean, ONE), "x")):
        line = Line(cmp(">=", sub(term, term), ZERO), "combination")
        with pytest.raises(Rejected, match="may not exist"):
            check(Proof(cmp(">=", power(x, TWO), ZERO), lines=(line,)), context())


@pytest.mark.parametrize("op", ["sum", "prod"])
def test_filter_that_asks_for_a_number_changes_where_that_number_does(op: str) -> None:
    """sum(2 for k in n if z[k] > 0) jumps where an entry is 0; the language has no such filter, a certificate may."""
    chosen = over(op, TWO, K, where=cmp(">", z(K), ZERO))
    claim = cmp("==", mul(ZERO, x), diff(chosen, z(J)))

    assert refused_term(claim, Step("algebra", claim.args[1])).reason.startswith("the right side may be undefined")


PLACES = {  # a hypothesis on the size and places that are not known to be all of the axis
    "one of two": ("n == 2", (I,)),
    "the same twice": ("n == 2", (I, I)),
    "more than there are": ("n == 1", (I, J)),
    "of another axis": ("n == 2", (I, B)),
    "no indices": ("n == 2", (ZERO, ONE)),
    "not known to be different": ("n == 2", (I, L)),
    "a size from below": ("n >= 2", (I, J)),
    "no size": ("z[i] == 2", (I, J)),
    "none": ("n == 2", ()),
}


@pytest.mark.parametrize("why", PLACES)
def test_sums_are_written_out_at_all_places_of_the_axis(why: str) -> None:
    """At two places that are known to be different, by a hypothesis that there are two."""
    claim = "sum(z[k] for k in n) + 0*z[l] == z[i] + z[j]"
    hypothesis, places = PLACES[why]

    def step(at: tuple[Term, ...]) -> Step:
        return Step("algebra", case.claim.args[1], uses=(Use("size", 0, tuple((k, k) for k in at)),))

    case = claimed(claim, hypothesis, "i != j")
    assert refused(case, step(places))
    case = claimed(claim, "n == 2", "i != j")
    assert accepted(case, step((I, J)))


def test_place_of_a_use_is_well_formed_and_leaves_nothing_to_later_claims() -> None:
    """A name that is declared by a later claim only would be taken there for what it was when it meant nothing."""
    here, later = (
        given(cmp("==", z(K), z(K))),
        replace(context(), definitions={"late": Definition("late", (), TWO * x)}),
    )
    names = Names()
    assert names.take(here)
    place = make("argmax", (diff(var("late"), x), TRUE), None, (L,))
    step = Step("algebra", x, uses=(Use("hypothesis", 0, ((K, place),), ZERO),))
    with pytest.raises(Rejected) as found:
        check(Proof(cmp("==", x, x), (step,)), here, names=names)
    assert found.value.step == 1
    assert names.take(later)
    with pytest.raises(Rejected):
        check(Proof(cmp("==", diff(defined("late"), x), ZERO), (Step("constant_rule", ZERO),)), later, names=names)

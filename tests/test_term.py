"""Terms with binders: capture, alpha-equivalence, scope."""

from __future__ import annotations

import pickle

import pytest

from derive.language.places import put, subterm
from derive.term import (
    ONE,
    TRUE,
    Term,
    add,
    alike,
    cmp,
    defined,
    delta,
    diff,
    div,
    fn,
    fresh,
    index,
    make,
    mul,
    negation,
    num,
    over,
    rename_bound,
    replace_variable,
    substitute,
    var,
)

I, J, K = (index(letter, "n") for letter in "ijk")  # noqa: E741  # the letter i of the formulas
KM = index("k", "m")


def z(letter: Term) -> Term:
    return var("z", letter)


def x(letter: Term) -> Term:
    return var("x", letter)


def exp(term: Term) -> Term:
    return fn("exp", term)


def total(body: Term, *letters: Term, where: Term = TRUE) -> Term:
    return over("sum", body, *letters, where=where)


def at(body: Term, replacement: Term, *letters: Term) -> Term:
    return make("at", (body, replacement), "z", letters)


# -- one object for one term ------------------------------------------------------------------------------------------


def test_equal_parts_are_one_object():
    assert add(z(I), ONE) is add(z(I), num("1"))


def test_terms_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot be changed"):
        z(I).op = "def"


def test_pickling_gives_the_same_object():
    term = total(exp(z(K)), K)

    assert pickle.loads(pickle.dumps(term)) is term


# -- free letters -----------------------------------------------------------------------------------------------------


def test_one_index_softmax_keeps_its_outer_letter_free():
    softmax = div(exp(z(I)), total(exp(z(I)), I))

    assert softmax.letters == {I}


def test_a_filter_is_inside_the_scope_of_its_binder():
    assert total(z(K), K, where=cmp("!=", K, I)).letters == {I}


def test_the_letter_of_at_is_bound_in_the_replacement_alone():
    assert at(z(K), x(K), K).letters == {K}
    assert at(z(I), x(K), K).letters == {I}


def test_letters_of_different_axes_are_different():
    assert total(mul(z(K), var("y", KM)), KM).letters == {K}


# -- substitution -----------------------------------------------------------------------------------------------------


def test_substitution_changes_the_free_letter_of_the_one_index_softmax_only():
    inner = total(exp(z(I)), I)

    assert substitute(div(exp(z(I)), inner), {I: J}) is div(exp(z(J)), inner)


def test_substitution_renames_a_binder_that_would_capture():
    result = substitute(total(mul(z(K), x(J)), K), {J: K})

    assert alike(result, total(mul(z(I), x(K)), I))
    assert not alike(result, total(mul(z(K), x(K)), K))


def test_substitution_renames_a_binder_of_another_axis_with_the_same_name():
    result = substitute(total(mul(var("y", KM), x(J)), KM), {J: K})

    assert result.bound[0].value[0] != "k"


def test_substitution_avoids_names_bound_inside():
    k1 = index("k1", "n")
    result = substitute(total(total(mul(z(K), z(k1), x(J)), k1), K), {J: K})

    assert alike(result, total(total(mul(z(I), z(J), x(K)), J), I))


def test_substitution_is_simultaneous():
    assert substitute(delta(I, J), {I: J, J: I}) is delta(J, I)


def test_substitution_leaves_a_bound_letter_alone():
    term = total(z(K), K)

    assert substitute(term, {K: I}) is term


def test_coinciding_indices_stay_written_as_they_are():
    assert substitute(delta(I, J), {J: I}) is delta(I, I)


def test_substitution_into_at_reaches_the_body_but_not_its_letter():
    assert substitute(at(z(K), x(K), K), {K: I}) is at(z(I), x(K), K)


def test_substitution_into_at_does_not_capture():
    result = substitute(at(z(I), mul(x(K), x(J)), K), {J: K})

    assert alike(result, at(z(I), mul(x(I), x(K)), I))
    assert not alike(result, at(z(I), mul(x(K), x(K)), K))


# -- unfolding: a name replaced by its body ---------------------------------------------------------------------------


def test_a_definition_that_uses_inside_the_letter_the_claim_uses_outside():
    body = div(exp(z(I)), total(exp(z(K)), K))
    claim = total(mul(x(K), defined("s", K)), K)
    result = replace_variable(claim, "s", (I,), body, op="def")

    assert alike(result, total(mul(x(J), div(exp(z(J)), total(exp(z(K)), K))), J))


def test_unfolding_does_not_let_a_binder_capture_a_free_letter_of_the_body():
    result = replace_variable(total(z(K), K), "z", (I,), mul(x(K), z(I)))

    assert result.letters == {K}
    assert alike(result, total(mul(x(K), z(J)), J))


def test_unfolding_reaches_subscripts_inside_subscripts():
    chosen = var("t", I)
    result = replace_variable(var("z", chosen), "t", (J,), J, op="var")

    assert result is z(I)


def test_unfolding_does_not_look_into_another_z():
    inner = at(z(I), mul(z(K), x(K)), K)
    result = replace_variable(inner, "z", (J,), x(J))

    assert result is at(z(I), mul(x(K), x(K)), K)


@pytest.mark.parametrize("taken", [[K], [K, index("k1", "n")], [KM]])
def test_renaming_leaves_none_of_the_taken_names(taken):
    result = rename_bound(total(mul(z(K), x(J)), K), taken)

    assert result.bound[0].value[0] not in {t.value[0] for t in taken}
    assert alike(result, total(mul(z(K), x(J)), K))


def test_renaming_does_not_meet_a_letter_that_is_free_inside():
    result = rename_bound(total(mul(z(K), x(index("k1", "n"))), K), [K])

    assert alike(result, total(mul(z(K), x(index("k1", "n"))), K))


def test_renaming_two_letters_keeps_them_apart():
    term = total(mul(z(K), x(J)), K, J)
    result = rename_bound(term, [K, J])

    assert len(set(result.bound)) == 2
    assert alike(result, term)


def test_renaming_at_touches_its_replacement_alone():
    result = rename_bound(at(z(K), x(K), K), [K])

    assert result.args[0] is z(K)
    assert alike(result, at(z(K), x(K), K))


def test_a_fresh_letter_counts_on():
    assert fresh(K, [K, index("k1", "n")]) is index("k2", "n")
    assert fresh(K, [J]) is K


# -- equality up to bound names ---------------------------------------------------------------------------------------


def test_sums_are_alike_up_to_names():
    assert alike(total(z(K), K), total(z(J), J))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (total(z(K), K), total(x(K), K)),
        (total(z(I), K), total(z(J), K)),
        (total(z(K), K), total(var("z", KM), KM)),
        (total(mul(z(K), x(J)), K, J), total(mul(z(J), x(K)), K, J)),
        (total(total(z(K), J), K), total(total(z(J), J), K)),
        (total(z(K), K, where=cmp("<", K, I)), total(z(K), K, where=cmp("<", I, K))),
        (at(z(K), x(K), K), at(z(J), x(K), K)),
        (at(z(I), x(K), K), at(z(I), x(I), K)),
        (total(z(K), K), over("prod", z(K), K)),
        (delta(I, J), delta(J, I)),
    ],
)
def test_different_terms_are_not_alike(left, right):
    assert not alike(left, right)


def test_a_closed_part_is_not_mistaken_for_one_that_speaks_of_an_outer_letter():
    apart = total(mul(x(K), exp(total(z(J), J))), K)
    tied = total(mul(x(K), exp(total(z(K), J))), K)

    assert not alike(apart, tied)


@pytest.mark.parametrize("wrap", [exp, lambda t: add(t, ONE), lambda t: diff(t, var("w")), lambda t: at(t, x(K), K)])
def test_nested_binders_are_told_apart_at_every_depth(wrap):
    apart = total(mul(x(K), total(mul(x(J), wrap(total(z(I), I))), J)), K)
    tied = [total(mul(x(K), total(mul(x(J), wrap(total(z(outer), I))), J)), K) for outer in (J, K)]

    assert not any(alike(apart, other) for other in tied)
    assert not alike(*tied)


def test_alike_terms_share_their_free_letters():
    assert not alike(exp(z(I)), exp(z(J)))


# -- the rest ---------------------------------------------------------------------------------------------------------


def test_nested_sums_are_flattened_by_the_constructors_only():
    assert add(add(z(I), z(J)), ONE) is add(z(I), z(J), ONE)
    assert make("add", (add(z(I), z(J)), ONE)) is not add(z(I), z(J), ONE)


def test_negating_twice_gives_the_condition_back():
    condition = make("and", (cmp("<", I, J), cmp("!=", z(I), ONE)))

    assert negation(negation(condition)) is condition


def test_negating_all_gives_any_under_the_same_filter():
    condition = make("all", (cmp(">", z(K), ONE), cmp("!=", K, I)), None, (K,))

    assert negation(condition) is make("any", (cmp("<=", z(K), ONE), cmp("!=", K, I)), None, (K,))


def test_a_path_outside_the_term_is_an_index_error():
    with pytest.raises(IndexError):
        subterm(add(z(I), ONE), (2,))
    with pytest.raises(IndexError):
        subterm(add(z(I), ONE), (-1,))


def test_putting_a_part_back_changes_nothing():
    term = total(mul(z(K), x(I)), K)

    assert put(term, (0, 1), subterm(term, (0, 1))) is term


def test_formulas_are_written_with_operators() -> None:
    x, y = var("x"), var("y")

    assert x + y - 1 is add(x, y, make("neg", (num(1),)))
    assert 2 * x * y is mul(num(2), x, y)
    assert 1 - x / y is add(num(1), make("neg", (div(x, y),)))
    assert 1 / x is div(num(1), x)
    assert 3 + x is add(num(3), x)
    assert -(x**2) is make("neg", (make("pow", (x, num(2))),))
    assert cmp(">", x, 0) is cmp(">", x, num(0))
    assert fn("exp", 1) is fn("exp", num(1))

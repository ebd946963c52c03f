"""The catalogue: every theorem it promises is proved, and what the articles say wrongly is refuted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from conftest import ROOT

from derive.engine.check import check_theory
from derive.engine.verdict import TheoryResult
from derive.language import catalogue, load, loads

# What each theory promises, in its own order.
THEOREMS = {
    "attention": """
        weights_positive rows_sum_to_one weights_are_a_softmax output_between_values equal_values_pass
        query_of_zero_averages equal_keys_average shift_of_keys value_jacobian row_identity
        score_gradient_sums_to_zero weight_gradient softmax_gradient score_gradient dV dQ dK bias_constant_along_a_row
        bias_gradient masked_rows_sum_to_one masked_weight_is_zero masked_gradient open_mask causal_rows_sum_to_one
        best_value_has_no_gradient
    """,
    "cross_entropy": """
        derivative_by_output any_labels gradient labels_must_sum_to_one confident_scores_go_down log_sum_exp_form
        gradient_sums_to_zero hessian convex not_negative equal_scores one_hot temperature label_smoothing
        class_weights divergence mean_over_a_batch
    """,
    "dot_product": """
        product_mean mean product_variance expansion expected_square square_terms cross_terms variance
        variance_by_definition standard_deviation scaling scaled_mean scaled_variance divided_by_temperature
        only_the_root smaller_divisors_leave_more larger_divisors_leave_less centred_product_of_variances general_mean
        general_variance fourth_moment kurtosis shared_query shared_query_squares copied_components
        one_component_shared
    """,
    "log_sum_exp": """
        gradient lse_hessian shift_of_scores shifted_form shifted_by_the_maximum shifted_exponents
        largest_shifted_exponential shifted_sum shifted_softmax shift_leaves_the_gradient above_every_score
        smooth_maximum convex tangent_lies_below midpoint_convex convex_combination at_least_mean_plus_entropy
        attained_by_the_softmax log_of_softmax log_softmax_at_most_zero softmax_from_its_logarithm
        log_softmax_jacobian log_softmax_vjp temperature_form
    """,
    "normalisers": """
        linear_sums_to_one linear_can_be_negative linear_can_fail linear_can_reverse_the_order linear_jacobian
        linear_ignores_scale linear_keeps_no_zero rectified_sums_to_one rectified_not_negative
        rectified_loses_low_scores rectified_loses_gradients rectified_depends_on_the_origin rectified_can_fail
        hardmax_sums_to_one hardmax_loses_low_scores hardmax_jumps_at_a_tie hardmax_has_no_gradient
        best_value_has_no_gradient sparsemax_sums_to_one sparsemax_is_a_threshold sparsemax_projects
        sparsemax_loses_low_scores sparsemax_jacobian sparsemax_vjp sparsemax_of_two_has_a_kink
        softplus_weights_are_positive softplus_weights_sum_to_one softplus_weights_keep_order
        softplus_weights_have_a_jacobian binary_weights_share_all_properties
    """,
    "online_softmax": """
        rescale_one_block merge_sums merge_outputs merge_log_sum_exp merge_normalised_outputs factors_at_most_one
        merged_sum_bounds merge_is_commutative merge_is_associative one_more_score split_a_row
        weights_from_saved_log_sum_exp backward_from_saved_log_sum_exp
    """,
    "saturation": """
        bounded_by_output bounded_by_other_output bounded_by_rest row_size trace diagonal_at_most_a_quarter
        largest_at_one_half smaller_towards_the_ends slope_vanishes_at_both_ends scaled_jacobian jacobian_size saturates
        jacobian_vanishes gradient_vanishes scaled_down ties_do_not_saturate leader_takes_all
    """,
    "sigmoid": """
        value between_zero_and_one reflection derivative slope_bounds curvature increasing hyperbolic_tangent far_out
        log_odds softplus_slope softplus_parts softplus_stable softplus_above_rectifier softplus_of_negative_numbers
        softplus_of_positive_numbers binary_cross_entropy binary_cross_entropy_gradient binary_cross_entropy_curvature
        softmax_of_two odds_of_an_output one_against_many one_over_one_plus_the_others any_two_scores
    """,
    "softmax": """
        positivity normalised at_most_one below_one never_zero shift shift_by_maximum ratio gap_of_one_is_a_factor_e
        one_more_is_a_factor_e log_ratio gap_is_amplified order_kept order_kept_at_ties equal_scores two_scores
        jacobian diagonal off_diagonal cases own_score_raises other_scores_lower symmetry rows_sum_to_zero
        at_most_a_quarter entropy_bounds vjp jvp sizes_off_the_diagonal positive_semidefinite second_derivative
    """,
    "temperature": """
        scores_over_temperature temperature_one weights_are_a_distribution ratio_of_weights temperature_jacobian
        derivative_by_temperature top_weight_falls bottom_weight_grows mean_score_falls high_temperature
        low_temperature low_temperature_at_ties entropy entropy_grows entropy_bounds entropy_at_high_temperature
        entropy_at_low_temperature dividing_flattens dividing_narrows_gaps root_of_dimension_is_a_temperature
    """,
    "stable_forms": """
        largest_apart ratio any_shift remainder_at_any_shift centred_at_any_shift log_of_sum log_of_ratio
        difference_from_log_of_sum quotient others one_less_an_output remainder masked absent one_less_squares
        log_of_sum_less_mean centred mean_less two_passes
        logistic
        soft_plus near_one
    """,
    "worked_examples": """
        softmax_of_one_and_two exponentials_of_four_scores softmax_of_four_scores rounded_weights_do_not_sum_to_one
        softmax_of_three_scores order_of_four_weights slopes_of_the_first_weight weights_at_five_temperatures
        entropies_at_five_temperatures factor_of_a_unit_gap exponential_beyond_double_precision
        weights_below_double_precision shifted_scores_of_1000 root_of_512 one_dominant_score scaled_dominant_score
        ties_keep_large_scores_even not_always_sharper_than_division division_can_be_negative division_can_fail
    """,
}

# What the names say that others build on.
STATEMENTS = {
    "softmax.normalised": "sum(s[i] for i in n) == 1",
    "softmax.shift": "at(s[i], z[k], z[k] + c) == s[i]",
    "softmax.order_kept": "s[i] > s[j]",
    "softmax.jacobian": "diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])",
    "softmax.vjp": "sum(g[i]*diff(s[i], z[j]) for i in n) == s[j]*(g[j] - sum(g[i]*s[i] for i in n))",
    "temperature.high_temperature": "limit(p[i], T, oo) == 1/n",
    "temperature.low_temperature": 'limit(p[i], T, 0, "+") == delta(i, t)',
    "log_sum_exp.gradient": "diff(lse, z[i]) == s[i]",
    "log_sum_exp.smooth_maximum": "lse <= top + log(n)",
    "cross_entropy.gradient": "diff(loss, z[i]) == s[i] - y[i]",
    "dot_product.mean": "sum(E(q[i]*k[i]) for i in d) == 0",
    "dot_product.variance": "sum(Var(q[i]*k[i]) for i in d) == d",
    "dot_product.scaled_variance": "Var(score/sqrt(d)) == 1",
    "attention.rows_sum_to_one": "sum(P[i, j] for j in n) == 1",
    "attention.dQ": (
        "sum(dO[r, c]*diff(O[r, c], Q[i, a]) for r in m for c in e) == sum(dS[i, j]*K[j, a] for j in n)/sqrt(d)"
    ),
    "attention.dK": (
        "sum(dO[i, c]*diff(O[i, c], K[j, a]) for i in m for c in e) == sum(dS[i, j]*Q[i, a] for i in m)/sqrt(d)"
    ),
    "attention.dV": ("sum(dO[i, c]*diff(O[i, c], V[j, l]) for i in m for c in e) == sum(P[i, j]*dO[i, l] for i in m)"),
    "attention.row_identity": "D[i] == sum(P[i, j]*dP[i, j] for j in n)",
    "worked_examples.rounded_weights_do_not_sum_to_one": "0.609 + 0.224 + 0.136 + 0.03 == 0.999",
}

# Statements of the articles that are false as they stand, or without a condition, each with a counterexample's values.
FALSE = {
    "rounded_weights_sum_to_one": """
assert 0.609 + 0.224 + 0.136 + 0.030 == 1.000
""",
    "softmax_is_the_only_such_map": """
from normalisers import n, z, smooth
from softmax import Z, s

assert smooth[i] == s[i]
""",
    "other_shifted_exponentials_are_below_one": """
from softmax import n, z


def claim():
    assume(z == [1, 1])
    assert exp(z[1] - max(z[k] for k in n)) < 1
""",
    "large_scores_saturate": """
from softmax import n, z, Z, s

assert at(s[i] * (1 - s[i]), z[k], z[k] + 1000) <= 1 / 100
""",
    "low_temperature_is_always_one_hot": """
from temperature import n, z, T, W, p

assert limit(p[i], T, 0, "+") == delta(i, argmax(z[k] for k in n))
""",
    "division_by_the_sum_is_always_defined": """
from softmax import n, z

assert sum(z[k] for k in n) != 0
""",
    "division_by_the_sum_keeps_every_score": """
from normalisers import n, z, linear

assert linear[i] != 0
""",
    "division_by_the_sum_is_never_negative": """
from normalisers import n, z, linear

assert linear[i] >= 0
""",
    "rectified_scores_always_have_a_sum": """
from softmax import n, z

assert sum(relu(z[k]) for k in n) != 0
""",
    "rectified_scores_keep_every_score": """
from normalisers import n, z, rectified

assert rectified[i] > 0
""",
    "hardmax_keeps_every_score": """
from normalisers import n, z, hardmax

assert hardmax[i] > 0
""",
    "sparsemax_has_one_slope_everywhere": """
x: real

f = min(max((1 + x) / 2, 0), 1)

assert limit((at(f, x, 1 + x) - 1) / x, x, 0, "+") == 1 / 2
""",
    "softmax_is_sharper_than_division": """
from softmax import n, z, Z, s


def claim():
    assume(all(z[k] > 0 for k in n))
    assert max(s[k] for k in n) >= max(z[k] for k in n) / sum(z[k] for k in n)
""",
    "differences_are_amplified": """
from softmax import n, z, Z, s


def claim(i: index[n], j: index[n]):
    assume(z[i] > z[j])
    assert s[i] - s[j] >= z[i] - z[j]
""",
    "root_of_dimension_prevents_uniform_weights": """
from temperature import n, z, Z, s, T, W, p


def claim(i: index[n], j: index[n]):
    assume(T > 1)
    assume(z[i] > z[j])
    assert p[i] / p[j] >= s[i] / s[j]
""",
    "raising_a_score_always_raises_its_output": """
from softmax import n, z, Z, s

assert diff(s[i], z[i]) > 0
""",
    "prediction_minus_label_for_any_labels": """
from cross_entropy import n, z, y, Z, s, loss

assert diff(loss, z[i]) == s[i] - y[i]
""",
    "independence_of_query_and_key_suffices": """
from dot_product import d, u, w

assert Var(sum(u * w for i in d)) == d
""",
    "variance_of_every_product_is_the_product": """
a: real
b: real
X: random(mean=a, variance=1)
Y: random(mean=b, variance=1)

assert Var(X * Y) == Var(X) * Var(Y)
""",
    "variance_is_the_dimension_for_any_means": """
d: axis
a: real
X: random(mean=a, variance=1)[d]
Y: random(mean=a, variance=1)[d]

assert Var(sum(X[i] * Y[i] for i in d)) == d
""",
}

ARTICLES = (ROOT / "docs" / "articles.md").read_text(encoding="utf-8")
MENTIONED = re.findall(r"`(\w+)\.(\w+)`", ARTICLES)
REFUTED = re.findall(r"refuted: `(\w+)`", ARTICLES)


def test_catalogue_is_what_is_promised() -> None:
    assert sorted(catalogue()) == sorted(THEOREMS)
    assert sum(map(len, THEOREMS.values())) >= 75


@pytest.mark.parametrize("name", THEOREMS)
def test_theory_proves_each_theorem_it_promises(name: str, checked: Callable[[str], TheoryResult]) -> None:
    result = checked(name)
    assert [r.theorem.name for r in result.theorems] == THEOREMS[name].split()
    assert {r.theorem.name: [c.reason for c in r.claims] for r in result.theorems if r.verdict != "proved"} == {}


@pytest.mark.parametrize("name", STATEMENTS)
def test_name_says_what_others_build_on(name: str) -> None:
    theory, theorem = name.split(".")
    assert load(theory)[theorem].claims[-1].statement == STATEMENTS[name]


@pytest.mark.parametrize("name", THEOREMS)
def test_theorem_needs_all_its_hypotheses(name: str, checked: Callable[[str], TheoryResult]) -> None:
    assert {r.theorem.name: r.unused for r in checked(name).theorems if r.unused} == {}


@pytest.mark.parametrize("name", THEOREMS)
def test_theory_says_what_it_is_about(name: str) -> None:
    theory = load(name)
    assert theory.title.endswith(".")
    assert "$" in theory.prose
    assert not [t.name for t in theory.theorems if not t.doc.strip().endswith(".") or "\n" in t.doc.strip()]


@pytest.mark.parametrize("name", THEOREMS)
def test_theory_names_no_lemma_that_the_engine_does_without(name: str) -> None:
    assert [t.name for t in load(name).theorems for claim in t.claims if claim.by] == []


@pytest.mark.parametrize("name", FALSE)
def test_false_statement_is_refuted(name: str) -> None:
    result = check_theory(loads(f'"""{name}."""\n{FALSE[name]}', name=name), timeout=10)
    (claim,) = [c for r in result.theorems for c in r.claims]
    assert (claim.verdict, claim.reason) == ("refuted", claim.reason)
    assert claim.counterexample is not None


def test_articles_mention_only_theorems_that_exist() -> None:
    assert MENTIONED
    assert [f"{a}.{b}" for a, b in MENTIONED if b not in THEOREMS.get(a, "").split()] == []


def test_articles_use_every_theory() -> None:
    assert {a for a, _ in MENTIONED} == set(THEOREMS)


def test_articles_name_each_false_statement() -> None:
    assert sorted(REFUTED) == sorted(FALSE)

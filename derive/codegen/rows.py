"""The rows that lead from a formula to one that keeps its digits, with their theorems, in the order they are tried."""

from __future__ import annotations

from dataclasses import replace

from derive.codegen import accurate, averages
from derive.codegen.scalar import SCALARS
from derive.codegen.stable import REWRITES, Rewrite


def _row(name: str, formula: str, theorem: str, apply: accurate.Apply) -> Rewrite:
    return Rewrite(name, formula, f"stable_forms.{theorem}", apply)


QUOTIENT = _row("quotient", "(exp(v)/sum(exp(u)))/(exp(w)/sum(exp(u))) = exp(v - w)", "quotient", accurate.quotient)
LOGARITHMS: tuple[Rewrite, ...] = (
    _row("log of a ratio", "log(exp(v)/sum(exp(u))) = (v - m) - log1p(rest)", "log_of_ratio", accurate.log_of_ratio),
    _row(
        "difference", "v - log(sum(exp(u))) = (v - m) - log1p(rest)", "difference_from_log_of_sum", accurate.difference
    ),
    _row("log of a sum", "log(sum(exp(u))) = m + log1p(rest)", "log_of_sum", accurate.log_of_sum),
)
ABSENT = _row("absent", "y*log(x) = 0 where y = 0, whatever x", "absent", averages.absent)
SPREADS: tuple[Rewrite, ...] = (
    _row("squares", "1 - sum(s**2) = sum(s*(1 - s))", "one_less_squares", averages.squares),
    _row(
        "entropy",
        "log(sum(exp(u))) - sum(s*u) = log1p(rest) + sum(s*(m - u))",
        "log_of_sum_less_mean",
        averages.log_less_mean,
    ),
)
TWO_PASSES = _row("variance", "mean(x**2) - mean(x)**2 = mean((x - mean(x))**2)", "two_passes", averages.variance)
CENTRED = "x - mean = (x - c) - sum(s*(x - c))"
REMAINDER, RATIO = "s - y = (exp(v - m)*(1 - y) - y*others)/(1 + rest)", "exp(v)/sum(exp(u)) = exp(v - m)/(1 + rest)"
REMAINDERS = _row("remainder", REMAINDER, "remainder", accurate.remainder(accurate.by_maximum))
BY_MEAN = _row("centred", f"{CENTRED}, c = mean", "centred", averages.centred(averages.by_mean))
STEADY = _row(
    "centred",
    f"{CENTRED}, c = mean, or x where s is largest and nearly 1",
    "centred",
    averages.centred(averages.steady),
)
AT_LARGEST = _row(
    "centred", f"{CENTRED}, c = x where s is largest", "mean_less", averages.centred(averages.heaviest, by_weights=True)
)
UNSHIFTED = f"(exp(m - b) + rest), b = 0 where 0 <= m <= {accurate.ROOM}, else m"


def _unshifted(formula: str) -> str:
    return formula.replace("v - m", "v - b").replace("(1 + rest)", UNSHIFTED)


def free_rows(centre: Rewrite) -> tuple[Rewrite, ...]:
    """All rows, for double precision: sums of exponentials are shifted only where they must be."""
    by = averages.centred(averages.by_mean if centre is BY_MEAN else averages.steady, accurate.free)
    return (
        ABSENT,
        TWO_PASSES,
        *SPREADS,
        replace(centre, theorem="stable_forms.centred_at_any_shift", apply=by),
        QUOTIENT,
        _row("remainder", _unshifted(REMAINDER), "remainder_at_any_shift", accurate.remainder(accurate.free)),
        *LOGARITHMS,
        _row("ratio", _unshifted(RATIO), "any_shift", accurate.ratio(accurate.free)),
        *SCALARS,
        *REWRITES,
    )


def rows(centre: Rewrite) -> tuple[Rewrite, ...]:
    """All rows that shift by the maximum, the more particular ones first."""
    return (
        ABSENT,
        TWO_PASSES,
        *SPREADS,
        centre,
        QUOTIENT,
        REMAINDERS,
        *LOGARITHMS,
        _row("ratio", RATIO, "ratio", accurate.ratio(accurate.by_maximum)),
        *SCALARS,
        *REWRITES,
    )


def rounded_rows() -> tuple[Rewrite, ...]:
    """All rows that matter to what is rounded to a narrower dtype afterwards: plain sums are exact enough there."""
    return (ABSENT, TWO_PASSES, *SPREADS, AT_LARGEST, QUOTIENT, REMAINDERS, *LOGARITHMS, *SCALARS, *REWRITES)

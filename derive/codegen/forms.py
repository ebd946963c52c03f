"""The forms that code is written in, from what is written to the one that keeps most digits.

Every form is the quantity with `rows` applied; `corrected` ones also put the rounding of an
exponent x - m back, which is no other formula but another way to compute it.
"""

from __future__ import annotations

from dataclasses import dataclass

from derive.codegen.rows import BY_MEAN, STEADY, free_rows, rounded_rows, rows
from derive.codegen.stable import REWRITES, Rewrite


@dataclass(frozen=True)
class Form:
    """A way to write code: the rows that are applied, and whether roundings of exponents are put back.

    With `reciprocal`, whole rows are multiplied by 1/x and not divided by x, which takes half as long. With `doubled`,
    differences from a mean are carried as two numbers in float64.
    """

    name: str
    rows: tuple[Rewrite, ...] = ()
    corrected: bool = False
    reciprocal: bool = False
    doubled: bool = False


NAIVE = Form("naive")
SHIFTED = Form("shifted", REWRITES)
CORRECTED = Form("corrected", REWRITES, True)
BY_ITS_MEAN = Form("mean", free_rows(BY_MEAN), True)
STEADILY = Form("steady", free_rows(STEADY), True)
ACCURATE = Form("accurate", free_rows(STEADY), True, doubled=True)
# What is computed in double precision and rounded to less: there the rounding of an exponent does not show.
ROUNDED = Form("rounded", rounded_rows(), reciprocal=True)
# The same where exponentials overflow early: not in double precision.
NARROW = {
    "mean": Form("mean", rows(BY_MEAN), True),
    **{name: Form(name, rows(STEADY), True) for name in ("steady", "accurate")},
}
FORMS: tuple[Form, ...] = (NAIVE, SHIFTED, CORRECTED, BY_ITS_MEAN, STEADILY, ACCURATE)  # the cheaper ones first


def form_of(stable: bool | str | Form) -> Form:
    """The form that is meant: the best one, none at all, or the one of that name. Raises ValueError for another."""
    if isinstance(stable, Form):
        return stable
    if isinstance(stable, str):
        named = {f.name: f for f in FORMS}
        if stable not in named:
            raise ValueError(f"there is no form {stable!r}; there are {', '.join(named)}")
        return named[stable]
    return ACCURATE if stable else NAIVE


def narrowed(form: Form) -> Form:
    """The form for code that computes in the dtype of its arguments."""
    return NARROW.get(form.name, form)

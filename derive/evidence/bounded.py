"""The stated bound of generated code beside what it gets wrong: the largest share of the bound that is met."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from flint import arb, ctx

from derive.codegen import Compiled, Quantity
from derive.codegen.bounds import bound_of
from derive.codegen.counts import Bound
from derive.codegen.dialect import RESERVED, function_name
from derive.codegen.forms import ACCURATE, Form, narrowed
from derive.evidence.balls import Balls, Uncovered
from derive.evidence.inputs import Inputs, plain
from derive.evidence.measure import inputs_of
from derive.evidence.numbers import Imprecise
from derive.evidence.oracle import truths
from derive.evidence.ulp import FORMATS, Format

PRECISION = 120  # of sizes, in which nothing cancels
SLACK = 1.01  # for what is beyond first order


@dataclass(frozen=True)
class Share:
    """The bound, the largest share of it that was met, and how many components were compared."""

    bound: Bound
    most: float
    components: int
    family: str = ""

    @property
    def kept(self) -> bool:
        return self.most <= SLACK


def share(q: Quantity, seed: int = 0, draws: int = 1, dtype: str = "float64", written: Form = ACCURATE) -> Share:
    """How much of its stated bound the code uses, where nothing underflows, on so many inputs of each family.

    It is code in the form `written`. In a narrower dtype than float64 it is the code that computes in that dtype.
    Raises NoBound and CodegenError.
    """
    wide, form = dtype == "float64", FORMATS[dtype]
    plan = q.plan(written if wide else narrowed(written))
    bound, code = bound_of(plan, narrow=not wide), _watched(q, wide, written)
    compiled = q.compile(written, wide, brief=True)
    most, count, family = 0.0, 0, ""
    for inputs in inputs_of(q, {written.name: compiled}, form, seed):
        computed = _results(code, compiled, inputs) if inputs.seed < draws else None
        if computed is None:
            continue
        for met in _shares(q, plan.context, bound, inputs, computed, form):
            count += 1
            if met > most:
                most, family = met, inputs.family
    return Share(bound, most, count, family)


def _shares(q: Quantity, context: Any, bound: Bound, inputs: Inputs, computed: np.ndarray, form: Format) -> list[float]:
    places = list(product(*(range(inputs.sizes[k.value[1]]) for k in q.letters)))
    if len(places) > 300:
        places = places[:: len(places) // 300]
    fixed = {k: inputs.indices[k.value[0]] for k in q.context.letters if k.value[0] in inputs.indices}
    true = truths(q.term, plain(q.context), inputs, q.letters, places, form)
    found: list[float] = []
    with ctx.workprec(PRECISION):
        try:
            sizes = Balls(plain(context), inputs.sizes, inputs.arrays, fixed).over(bound.size, q.letters)
        except (Imprecise, Uncovered):
            return []
        count = bound.count.at(inputs.sizes)
        if count >= 2 ** (form.precision - 2):
            return []  # not of first order
        unit = arb(2) ** -form.precision * count / (1 - arb(2) ** -form.precision * count)
        for place, value in zip(places, true, strict=True):
            result = float(computed[place])
            if value is None or not math.isfinite(value.value) or not sizes[place].is_finite():
                continue
            if not math.isfinite(result):  # an overflow on the way, which no bound is about
                continue
            off, room = abs(arb(result) - value.ball), unit * sizes[place]
            least = arb(2) ** (form.least - form.precision + 4)
            found.append(0.0 if off < least else float(off / room) if room > 0 else math.inf)
    return found


def _watched(q: Quantity, wide: bool, written: Form) -> Any:
    """The code, which raises FloatingPointError where something underflows."""
    source = q.compile(written, wide, brief=True).source.replace(
        'errstate(all="ignore")', 'errstate(all="ignore", under="raise")'
    )
    space: dict[str, Any] = {}
    exec(compile(source, f"<derive {q.name}>", "exec"), space)  # our own source, of which one option is changed
    return space[function_name(q.name, RESERVED)]


def _results(code: Any, compiled: Compiled, inputs: Inputs) -> np.ndarray | None:
    arguments = {**inputs.arrays, **inputs.indices}
    given = {a.parameter: arguments.get(a.name, inputs.sizes.get(a.name)) for a in compiled.arguments}
    try:
        with np.errstate(all="ignore", under="raise"):
            return np.asarray(code(**given))
    except FloatingPointError:
        return None

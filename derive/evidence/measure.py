"""What compiled code gets wrong: each variant of a quantity against enclosures of the true value, family by family."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import numpy as np

from derive.codegen import Argument, Compiled, Quantity, quantity
from derive.codegen.forms import ACCURATE, FORMS
from derive.codegen.quantities import variables_of
from derive.evidence.inputs import Inputs, draws, plain
from derive.evidence.oracle import Known, truths
from derive.evidence.peers import Peer, peer
from derive.evidence.second import confirmed
from derive.evidence.ulp import FORMATS, GUARD, Format
from derive.language.printer import to_text
from derive.language.theory import Theory

MAX_COMPONENTS = 256  # of one result that are compared; more are sampled
FEWER = 64  # in the dtypes after the first: where they are computed in float64, all that differs is one rounding
OPINION_SIZE = 32  # mpmath takes one component at a time, and loops over all it rests on
MAX_ENTRIES = 100_000  # of a result: larger ones take too long to enclose
BY_HAND = ("naive", "shifted")
OPINIONS = 6  # components that mpmath is asked about, of each quantity


@dataclass(frozen=True)
class Worst:
    """The component with the largest error: where, from which inputs, what was computed and what is true.

    `inputs` are the stored numbers as shortest decimals, `inputs_hex` the same numbers exactly, by name.
    """

    place: tuple[int, ...]
    sizes: dict[str, int]
    indices: dict[str, int]
    inputs: dict[str, Any]
    inputs_hex: dict[str, Any]
    computed: str
    computed_hex: str
    true: str
    true_hex: str
    ulp: float


@dataclass(frozen=True)
class Row:
    """One variant in one dtype on one family of inputs.

    Errors are in ulp of the true value, over the components that came out finite and whose true value is a finite
    number other than 0. `nan` and `infinite` count results that are not numbers or infinite though the true value is
    neither (an overflow on the way), `lost` those that are 0 though the true value does not round to 0, `spurious`
    those that are not 0 though it is.
    """

    variant: str
    dtype: str
    family: str
    components: int
    max_ulp: float
    mean_ulp: float
    nan: int = 0
    infinite: int = 0
    lost: int = 0
    spurious: int = 0
    worst: Worst | None = None

    @property
    def overflow(self) -> bool:
        """Whether a result was lost to an overflow."""
        return self.nan + self.infinite > 0


@dataclass(frozen=True)
class Measurement:
    """All rows of one quantity. `variants` are the forms that were compared, and "scipy" where it has the quantity.

    `undefined` counts components without a true value at the input, `opinions` those of which mpmath, at 50 and at 100
    digits, was asked and confirmed the enclosure (it raises Disagreement otherwise).
    """

    name: str
    formula: str
    variants: tuple[str, ...]
    rows: tuple[Row, ...]
    undefined: int
    opinions: int
    seed: int

    def worst(self, variant: str, dtype: str) -> Row:
        """The row with the largest error, overflows above all."""
        rows = [r for r in self.rows if r.variant == variant and r.dtype == dtype]
        return max(rows, key=lambda r: (r.overflow, r.max_ulp))

    @property
    def chosen(self) -> str:
        """The variant with the least errors in float64; of those that are about as good, the cheapest, which is first.

        About as good is half an ulp or a tenth more than the best, in its worst family.
        """
        found = {v: self.worst(v, self.rows[0].dtype) for v in self.variants if v != "scipy"}
        best = min((r.overflow, r.max_ulp) for r in found.values())
        good = (best[0], best[1] + max(0.5, best[1] / 10))
        return next(v for v, r in found.items() if (r.overflow, r.max_ulp) <= good)


def measure(theory: Theory, name: str, dtypes: Sequence[str] = ("float64", "float32"), seed: int = 0) -> Measurement:
    """The errors of a definition or of a theorem's right side.

    Raises KeyError and CodegenError as `compile_quantity`, and Disagreement where mpmath contradicts an enclosure.
    """
    return measure_quantity(quantity(theory, name), dtypes, seed)


def measure_quantity(q: Quantity, dtypes: Sequence[str] = ("float64", "float32"), seed: int = 0) -> Measurement:
    """The errors of a quantity in each dtype and variant, on the same inputs."""
    variants: dict[str, Compiled | Peer] = dict(compiled_variants(q))
    if other := peer(q):
        *names, best = variants
        variants = {**{n: variants[n] for n in names}, "scipy": other, best: variants[best]}
    if not any(a.axes or a.kind not in ("size", "index") for a in next(iter(variants.values())).arguments):
        dtypes = dtypes[:1]  # without arrays there is no dtype to keep
    rows: list[Row] = []
    undefined = opinions = 0
    for dtype in dtypes:
        form = FORMATS[dtype]
        most = MAX_COMPONENTS if dtype == dtypes[0] else FEWER
        cases = [_Case(q, inputs, form, seed, most) for inputs in inputs_of(q, variants, form, seed)]
        undefined += sum(r is None for c in cases for r in c.true)
        opinions += _second_opinions(q, cases, OPINIONS) if dtype == dtypes[0] else 0
        for family in dict.fromkeys(c.inputs.family for c in cases):
            here = [c for c in cases if c.inputs.family == family]
            rows += [_row(variant, code, form, family, here) for variant, code in variants.items()]
    formula = q.formula or to_text(q.term)
    return Measurement(q.title or q.name, formula, tuple(variants), tuple(rows), undefined, opinions, seed)


def compiled_variants(q: Quantity) -> dict[str, Compiled]:
    """The code in each of the forms that differ, the best one last.

    As written and shifted it is what one writes by hand, in the dtype of the arguments; the others, and whatever is
    best, compute in float64.
    """
    codes: dict[str, Compiled] = {}
    for form in FORMS:
        code = q.compile(replace(form, name="of one form"), brief=True)  # for every dtype
        same = [name for name, other in codes.items() if code.source == other.source]
        if not same:
            codes[form.name] = code
        elif form is ACCURATE and same[0] not in BY_HAND:
            codes[form.name] = codes.pop(same[0])  # nothing is centred in it, or nothing doubled
    *others, best = codes
    codes[best] = q.compile(ACCURATE, brief=True)
    return codes | {name: q.compile(name, wide=False, brief=True) for name in others if name in BY_HAND}


def inputs_of(q: Quantity, variants: Mapping[str, Compiled | Peer], form: Format, seed: int) -> Iterator[Inputs]:
    """The inputs that the variants are measured on, for every variable that the quantity's term rests on."""
    declared = [q.context.declarations[name] for name in variables_of(q.term, q.context)]
    arguments = {d.name: Argument(d.name, d.name, d.kind, d.axes, d.over) for d in declared}
    arguments |= {a.name: a for code in variants.values() for a in code.arguments}
    for inputs in draws(q.context, arguments.values(), [q.term], form.dtype, seed):
        if math.prod(inputs.sizes[k.value[1]] for k in q.letters) <= MAX_ENTRIES:
            yield inputs


class _Case:
    """One input with the references of the components that are compared."""

    def __init__(self, q: Quantity, inputs: Inputs, form: Format, seed: int, most: int):
        self.inputs = inputs
        every = list(product(*(range(inputs.sizes[k.value[1]]) for k in q.letters)))
        if len(every) > most:
            every = sorted(Random(seed).sample(every, most))
        self.places: list[tuple[int, ...]] = every
        self.true: list[Known | None] = truths(q.term, plain(q.context), inputs, q.letters, every, form)

    def results(self, code: Compiled | Peer) -> list[float]:
        """What the code computes for the components."""
        arguments = {**self.inputs.arrays, **self.inputs.indices}
        arguments = {a.name: arguments.get(a.name, self.inputs.sizes.get(a.name)) for a in code.arguments}
        with np.errstate(all="ignore"):
            result = np.asarray(code(**arguments))
        return [float(result[place]) for place in self.places]


def _row(variant: str, code: Compiled | Peer, form: Format, family: str, cases: Iterable[_Case]) -> Row:
    errors: list[tuple[float, _Case, int, float]] = []
    counts = dict.fromkeys(("nan", "infinite", "lost", "spurious"), 0)
    components = 0
    for case in cases:
        for k, (value, true) in enumerate(zip(case.results(code), case.true, strict=True)):
            if true is None:
                continue
            components += 1
            kind = _kind(value, true, form)
            if kind in counts:
                counts[kind] += 1
            if kind in ("", "lost"):
                errors.append((true.error(value), case, k, value))
    worst = max(errors, key=lambda e: e[0], default=None)
    mean = math.fsum(e[0] for e in errors) / len(errors) if errors else 0.0
    return Row(
        variant,
        form.name,
        family,
        components,
        worst[0] if worst else 0.0,
        mean,
        worst=_worst(worst[1], worst[2], worst[3], worst[0], form) if worst and worst[0] > 0 else None,
        **counts,
    )


def _kind(value: float, true: Known, form: Format) -> str:
    """What is wrong with a result other than its digits; "exact" where nothing is and there is no ulp to count in."""
    if math.isinf(true.value):
        return "exact" if value == true.value else "infinite"
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "infinite"
    if true.vanishes:
        return "spurious" if value else ""
    return "lost" if value == 0 and true.value != 0 else ""


def _worst(case: _Case, k: int, value: float, ulp: float, form: Format) -> Worst:
    true = case.true[k]
    assert true is not None
    arrays = case.inputs.arrays
    return Worst(
        case.places[k],
        case.inputs.sizes,
        case.inputs.indices,
        {name: _texts(array, lambda x: shortest(x, form)) for name, array in arrays.items()},
        {name: _texts(array, hexadecimal) for name, array in arrays.items()},
        shortest(value, form),
        hexadecimal(value),
        shortest(true.value, form),
        hexadecimal(true.value),
        ulp,
    )


def shortest(value: float, form: Format) -> str:
    """The shortest decimal that is read back as the same number of the format."""
    if form.name == "float64":
        return repr(float(value))
    return str(np.asarray(value).astype(form.dtype)[()])


def hexadecimal(value: float) -> str:
    """The number, exact, in hexadecimal without zeros at the end; `float.fromhex` reads it."""
    return re.sub(r"\.?0+p", "p", value.hex())


def _texts(array: np.ndarray, show: Any) -> Any:
    if array.ndim == 0:
        return str(int(array)) if array.dtype.kind in "iub" else show(float(array))
    return [_texts(part, show) for part in array]


def _second_opinions(q: Quantity, cases: Sequence[_Case], count: int) -> int:
    """How many of some sampled components mpmath confirms. Raises Disagreement where it contradicts one."""
    small = [c for c in cases if c.inputs.finite and max(c.inputs.sizes.values(), default=1) <= OPINION_SIZE]
    known = [(case, k) for case in small for k, true in enumerate(case.true) if true is not None and true.ordinary]
    sample = Random(0).sample(known, min(count, len(known)))
    return sum(_confirmed(q, case, k) for case, k in sample)


def _confirmed(q: Quantity, case: _Case, k: int) -> bool:
    """Whether mpmath finds the component's true value too, at both of its precisions, to 20 digits."""
    true, inputs = case.true[k], case.inputs
    assert true is not None
    fixed = {
        letter: inputs.indices[letter.value[0]] for letter in q.context.letters if letter.value[0] in inputs.indices
    }
    letters = {**fixed, **dict(zip(q.letters, case.places[k], strict=True))}
    room = Fraction(2) ** (true.unit - GUARD)
    return confirmed(true.exact, room, q.term, plain(q.context), inputs.sizes, inputs.exact(), letters)

"""Evidence beside the proofs: each claim derived again at small sizes, and the generated code measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_UP
from decimal import Context as Decimals
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from derive.coq.record import Said  # at run time: what is kept is read back by the types of its fields
from derive.engine.verdict import TheoryResult
from derive.language.theory import Theory
from derive.report import words
from derive.report.figures import Figure, figures

if TYPE_CHECKING:
    from derive.codegen import Compiled
    from derive.evidence.measure import Measurement, Row
    from derive.sympy_bridge import Rederivation

SECONDS = 60.0  # for each claim, many times what the catalogue needs, so that no report depends on the machine's speed
SEED = 0
DTYPES = ("float64", "float32", "float16", "bfloat16")
PACKAGES = ("numpy", "python-flint", "mpmath", "sympy")  # whose versions evidence depends on
PEERS = ("scipy",)  # measured beside it where they are installed
VARIANTS = {
    "naive": "as written",
    "shifted": "shifted",
    "corrected": "exponents corrected",
    "mean": "centred on the mean",
    "scipy": "SciPy",
    "steady": "centred steadily",
    "accurate": "digits kept",
}
LONGEST_SIZE = 160  # of the formula that a bound is proportional to, if it is to be shown
MOST_ENTRIES = 12  # of an input that is shown
_PLAIN = ("def", "num", "size", "var", "const", "index")  # right sides that are no formula of their own


@dataclass(frozen=True)
class Again:
    """What SymPy finds by differentiating explicit components at some sizes."""

    agrees: bool | None
    sizes: str
    reason: str


@dataclass(frozen=True)
class Worst:
    """The input on which a variant is worst, what was computed there and what is true."""

    variant: str
    dtype: str
    error: str
    inputs: tuple[tuple[str, str], ...]
    place: str
    computed: str
    true: str


@dataclass(frozen=True)
class Point:
    """The largest error of a variant on a family of inputs in ulp; None where it overflows."""

    variant: str
    dtype: str
    family: str
    ulp: float | None


@dataclass(frozen=True)
class Stated:
    """A bound as text: so many roundings of a size, which is None where it is too long; and the share met of it."""

    count: str
    size: str | None
    own: bool
    met: str
    coq: Said | None = None  # what a recorded run of Coq says of it


@dataclass(frozen=True)
class Measured:
    """The errors of one quantity: the worst of each form in each dtype, and of each form by inputs, side by side."""

    name: str
    formula: str
    variants: tuple[str, ...]
    dtypes: tuple[str, ...]
    summary: tuple[tuple[str, ...], ...]  # a row for each form: quantity, form, and in each dtype its worst error
    families: tuple[tuple[str, ...], ...]  # a row for each kind of inputs: its name, and the error in each column
    columns: tuple[str, ...]  # of the errors by inputs: forms in float64, and the last one in the other dtypes
    worst: tuple[Worst, ...]
    points: tuple[Point, ...] = ()
    stated: Stated | None = None

    def headings(self) -> tuple[str, ...]:
        return tuple(VARIANTS[variant] for variant in self.variants)


@dataclass(frozen=True)
class Evidence:
    """All evidence on a theory. `agreement` is by theorem and number of the claim, from 0."""

    agreement: Mapping[tuple[str, int], Again] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()  # quantities without numbers, and why
    opinions: int = 0
    code: str = ""
    seed: int = SEED
    figures: tuple[Figure, ...] = ()
    versions: tuple[tuple[str, str], ...] = ()  # of the packages that took part
    missing: tuple[str, ...] = ()  # of those that would have been measured beside the code

    @property
    def asked(self) -> tuple[int, int]:
        """How many claims SymPy derived again, and how many it confirmed."""
        return len(self.agreement), sum(a.agrees is True for a in self.agreement.values())

    def by_dtypes(self) -> list[list[Measured]]:
        """The measured quantities, those in the same dtypes together."""
        groups: dict[tuple[str, ...], list[Measured]] = {}
        for item in self.measured:
            groups.setdefault(item.dtypes, []).append(item)
        return [groups[key] for key in sorted(groups, key=len, reverse=True)]


UNASKED = ("more than two axes", "only equations are derived again")  # why SymPy was not asked of a claim
# The explicit sizes that SymPy is asked for, by the number of axes: the work grows with their product.
SIZES = {0: (1,), 1: (1, 2, 3, 4), 2: (1, 2)}


def agreement(theory: Theory, seconds: float = SECONDS) -> dict[tuple[str, int], Rederivation]:
    """What SymPy finds of each claim at explicit sizes 1 to 4, by theorem and number of the claim from 0."""
    from derive.sympy_bridge import Rederivation, rederive

    axes = len(theory.axes)
    sizes = SIZES.get(axes)
    found = {}
    for theorem in theory.theorems:
        for number, claim in enumerate(theorem.claims):
            equation = claim.condition.op == "cmp" and claim.condition.value == "=="
            if sizes is None or not equation:  # SymPy takes minutes there, or decides no order
                why = UNASKED[0] if equation else UNASKED[1]
                found[theorem.name, number] = Rederivation((), None, why)
            else:
                found[theorem.name, number] = rederive(claim.condition, theory.context(theorem), sizes, seconds=seconds)
    return found


def gather(result: TheoryResult, tell: Callable[[str], None] = lambda _: None) -> Evidence:
    """The evidence on a checked theory: SymPy's opinion, errors of the code, the code."""
    from derive.codegen import compile_quantity
    from derive.evidence.measure import measure
    from derive.evidence.second import Disagreement

    theory = result.theory
    tell(f"{theory.name}: again with SymPy")
    agreed = {
        place: Again(found.agrees, words.sizes(found.sizes_checked), found.reason)
        for place, found in agreement(theory).items()
        if found.reason not in UNASKED
    }
    measured: list[Measured] = []
    skipped: list[tuple[str, str]] = []
    codes: list[Compiled] = []
    opinions = 0
    for name in quantities(result):
        tell(f"{theory.name}: measuring {name}")
        try:
            codes.append(compile_quantity(theory, name))
            found = measure(theory, name, DTYPES, SEED)
        except Disagreement:
            raise
        except Exception as problem:  # whatever a quantity has no numbers for is said, and stops no report
            skipped.append((name, str(problem) or type(problem).__name__))
            continue
        opinions += found.opinions
        if found.rows:
            measured.append(_measured(name, found, _stated(theory, name)))
    tell(f"{theory.name}: figures")
    drawn, left_out = figures(result, measured, SEED)
    here = [p for p in PEERS if find_spec(p)]
    return Evidence(
        agreed, tuple(measured), (*skipped, *left_out), opinions, module(codes), SEED, drawn,
        tuple((name, version(name)) for name in (*PACKAGES, *here)),
        tuple(p for p in PEERS if p not in here),
    )  # fmt: skip


def quantities(result: TheoryResult) -> list[str]:
    """What is worth measuring: the definitions, and the right sides of proved equations that are more than a name."""
    names = list(result.theory.definitions)
    for theorem in result.theorems:
        sides = [
            c.claim.condition.args[1]
            for c in theorem.claims
            if c.claim.condition.op == "cmp" and c.claim.condition.value == "=="
        ]
        if theorem.verdict == "proved" and sides and sides[-1].op not in _PLAIN:
            names.append(theorem.theorem.name)
    return names


def module(codes: Iterable[Compiled]) -> str:
    """The functions as one module, what they share written once."""
    blocks: dict[str, None] = {}
    for code in codes:
        blocks.update(dict.fromkeys(re.split(r"\n{3,}(?=\S)", code.source.strip("\n"))))
    return "\n\n\n".join(blocks) + "\n" if blocks else ""


# -- measurements -----------------------------------------------------------------------------------------------------


def _measured(name: str, found: Measurement, stated: Stated | None) -> Measured:
    dtypes = tuple(dict.fromkeys(row.dtype for row in found.rows))
    families = dict.fromkeys(row.family for row in found.rows)
    by_place = {(row.variant, row.dtype, row.family): row for row in found.rows}
    best = found.variants[-1]
    columns = [*((v, dtypes[0]) for v in found.variants), *((best, dtype) for dtype in dtypes[1:])]
    return Measured(
        name=name,
        formula=found.formula,
        variants=found.variants,
        dtypes=dtypes,
        summary=tuple((name, VARIANTS[v], *(_summary(found.worst(v, d)) for d in dtypes)) for v in found.variants),
        families=tuple((family, *(_cell(by_place.get((v, d, family))) for v, d in columns)) for family in families),
        columns=tuple(f"{dtype}, {VARIANTS[variant]}" for variant, dtype in columns),
        worst=tuple(worst for dtype in dtypes for worst in _worst(found.worst(best, dtype))),
        stated=stated,
        points=tuple(
            Point(VARIANTS[r.variant], r.dtype, r.family, None if r.overflow else float(f"{r.max_ulp:.4g}"))
            for r in found.rows
        ),
    )


def _stated(theory: Theory, name: str) -> Stated | None:
    """The bound of the code, None where the analysis does not cover it."""
    from derive.codegen import CodegenError, quantity
    from derive.codegen.forms import ACCURATE
    from derive.codegen.rounding_theorem import fingerprint
    from derive.coq import record
    from derive.evidence.bounded import share
    from derive.language.printer import to_text

    try:
        q = quantity(theory, name)
        found = share(q)
    except CodegenError:
        return None
    size = to_text(found.bound.size)
    met = f"{100 * found.most:.0f}\N{NO-BREAK SPACE}%" if found.most >= 0.01 else "under 1\N{NO-BREAK SPACE}%"
    said = record.said(fingerprint(q.plan(ACCURATE), found.bound, False))
    coq = said if said is not None and said.result == record.RECHECKED else None
    return Stated(str(found.bound.count), size if len(size) <= LONGEST_SIZE else None, found.bound.own, met, coq)


def _summary(row: Row) -> str:
    return f"{_cell(row)}, on inputs “{row.family}”" if row.overflow or row.max_ulp else _cell(row)


def _cell(row: Row | None) -> str:
    """What a variant gets wrong on a family of inputs."""
    if row is None:
        return ""
    if row.overflow:
        return f"overflow ({row.nan + row.infinite} of {row.components})"
    lost = f", {row.lost} of {row.components} reduced to 0" if row.lost else ""
    spurious = f", {row.spurious} should be 0" if row.spurious else ""
    return f"{ulps(row.max_ulp)} ulp{lost}{spurious}"


def ulps(error: float) -> str:
    """An error in ulp, rounded up to two digits, so that it is never said to be smaller than it is."""
    if error == 0:
        return "0"
    if error < 0.01:
        return "under 0.01"
    upwards = Decimals(prec=2, rounding=ROUND_UP).create_decimal_from_float(error)
    return f"{upwards:.1e}".replace("e+", "e") if upwards >= 10**5 else f"{upwards:f}"


def _worst(row: Row) -> Iterable[Worst]:
    if row.worst is None or row.overflow:
        return
    worst = row.worst
    yield Worst(
        variant=VARIANTS[row.variant],
        dtype=row.dtype,
        error=ulps(row.max_ulp),
        inputs=tuple(
            (name, f"{_listed(value)} = {_listed(worst.inputs_hex[name])}" if _small(value) else "")
            for name, value in worst.inputs.items()
        ),
        place=", ".join(str(p) for p in worst.place),
        computed=f"{worst.computed} = {worst.computed_hex}",
        true=f"{worst.true} = {worst.true_hex}",
    )


def _small(value: object) -> bool:
    """Whether an input is short enough to be read."""
    return _entries(value) <= MOST_ENTRIES


def _entries(value: object) -> int:
    return sum(map(_entries, value)) if isinstance(value, list) else 1


def _listed(value: object) -> str:
    return f"[{', '.join(_listed(v) for v in value)}]" if isinstance(value, list) else str(value)

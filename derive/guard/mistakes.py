"""Which mistake it is: the one mutant of the formula that gives what the function gave, at every input tried."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from derive.codegen.stable import stabilised
from derive.codegen.value import CodegenError
from derive.guard.cases import Case, cases
from derive.guard.expect import Expected, Modes, bases, of_term
from derive.guard.mutants import Mutant, mutants
from derive.guard.running import Evaluator, Wide
from derive.guard.target import Target

CLEAR = 8  # how far beyond the bound the formula has to be missed before a mistake is looked for
SECONDS = 0.8  # of computing, whatever else the machine does
ZERO = "0 times"
TELLING = 4  # cases on which mutants that fit are told apart
SHARP = Wide(2) ** -30  # two mutants that differ by less than this, relatively, are the same function


@dataclass(frozen=True)
class Seen:
    """What the function gave for a case, and what it should have given."""

    case: Case
    result: np.ndarray
    expected: Expected

    @property
    def missed(self) -> float:
        """The largest error in parts of the bound."""
        with np.errstate(all="ignore"):
            off = np.abs(self.result.astype(Wide) - self.expected.value)
            good = self.expected.promised & np.isfinite(off) & (self.expected.error > 0)
            return float(np.max(np.where(good, off / np.where(good, self.expected.error, 1), 0), initial=0))


def named(seen: Sequence[Seen], target: Target, modes: Modes, seconds: float = SECONDS) -> str | None:
    """Words for the mistake, or None where none fits, or several that are different."""
    usable = [s for s in seen if s.result.shape == s.expected.value.shape]
    turned = _transposed_result(seen)
    if turned is not None:
        return turned
    if max((s.missed for s in usable), default=0) < CLEAR:
        return None
    return ratio(usable, target) or _mutant(usable, target, modes, seconds)


# -- mutants -----------------------------------------------------------------------------------------------------------


def _mutant(seen: Sequence[Seen], target: Target, modes: Modes, seconds: float) -> str | None:
    until = time.process_time() + seconds
    order = sorted(seen, key=lambda s: (s.missed < CLEAR, s.result.size))
    known = [bases(target, s.case, modes) for s in order]
    fitting: list[Mutant] = []
    for mutant in mutants(target):
        if time.process_time() > until:
            break
        if fits(mutant, order, target, modes, known):
            fitting.append(mutant)
    if not fitting:
        return None
    telling = [*cases(target, modes.form)][:TELLING]  # where different mistakes differ, whatever was seen
    values = [_values(mutant, telling, target, modes) for mutant in fitting]
    return fitting[0].text if all(same(values[0], other) for other in values[1:]) else None


def _values(mutant: Mutant, chosen: Sequence[Case], target: Target, modes: Modes) -> list[Expected | None]:
    """The mutant's values, None where it has none."""
    term, context, _ = stabilised(mutant.term, mutant.context)
    found: list[Expected | None] = []
    for case in chosen:
        try:
            found.append(of_term(term, context, target.letters, case, target, modes))
        except (CodegenError, IndexError, KeyError, ValueError):
            found.append(None)
    return found


def fits(
    mutant: Mutant, seen: Sequence[Seen], target: Target, modes: Modes, known: Sequence[Sequence[Evaluator]] = ()
) -> bool:
    """Whether the mutant gives what the function gave, in every case and to the mutant's own bounds."""
    term, context, _ = stabilised(mutant.term, mutant.context)
    told, told_of, promised = False, 0, 0
    for s, base in zip_longest(seen, known, fillvalue=()):
        try:
            value = of_term(term, context, target.letters, s.case, target, modes, base)
        except (CodegenError, IndexError, KeyError, ValueError):
            return False
        with np.errstate(all="ignore"):
            got = s.result.astype(Wide)
            told_here = value.promised & np.isfinite(got)
            off = np.where(told_here, np.abs(got - value.value), 0)
            if np.any(off > np.where(told_here, value.error, np.inf)) or np.any(value.promised & ~np.isfinite(got)):
                return False
            told_of, promised = told_of + int(told_here.sum()), promised + int(s.expected.promised.sum())
            truth = np.abs(got - s.expected.value)
            told |= bool(
                np.any(told_here & s.expected.promised & (truth > CLEAR * s.expected.error) & (truth > CLEAR * off))
            )
    return told and 2 * told_of >= promised


def same(some: Sequence[Expected | None], others: Sequence[Expected | None]) -> bool:
    """Whether the values agree far beyond what the dtype could tell."""
    for a, b in zip(some, others, strict=True):
        if a is None or b is None:
            if a is not b:
                return False
            continue
        known = a.promised & b.promised
        gap = np.abs(a.value - b.value)[known]
        if np.any(gap > SHARP * (np.abs(a.value) + np.abs(b.value))[known] + (a.error + b.error)[known] * SHARP):
            return False
    return True


def _transposed_result(seen: Sequence[Seen]) -> str | None:
    """Whether every result is the transpose of what it should be."""
    square = [s for s in seen if s.result.ndim >= 2 and s.result.shape != s.expected.value.shape]
    if not square:
        return None
    for s in square:
        turned = np.swapaxes(s.result, -1, -2)
        if turned.shape != s.expected.value.shape:
            return None
        off = np.abs(turned.astype(Wide) - s.expected.value)
        if np.any(off > np.where(s.expected.promised, s.expected.error, np.inf)):
            return None
    return "the result is transposed"


# -- a constant ratio --------------------------------------------------------------------------------------------------


def ratio(seen: Sequence[Seen], target: Target) -> str | None:
    """Words for a factor that every entry of every result is too large by: a number, a size or a variable."""
    spans = [_span(s) for s in seen]
    told = [(s, span) for s, span in zip(seen, spans, strict=True) if span is not None]
    if any(span is False for span in spans) or not told:
        return None
    apart = [(s, span) for s, span in told if not span[0] <= 1 <= span[1]]
    if not apart:
        return None
    fitting = [
        words
        for words, factor in _factors(target)
        if all((value := factor(s.case)) is not None and span[0] <= value <= span[1] for s, span in told)
    ]
    if len(fitting) == 1:
        return (
            "your result is 0 in every entry"
            if fitting == [ZERO]
            else f"your result is {fitting[0]} the formula's, in every entry"
        )
    if fitting:
        return None
    low, high = max(span[0] for _, span in told), min(span[1] for _, span in told)
    middle = (low + high) / 2
    if low <= high and abs(high - low) * CLEAR < abs(middle - 1):
        return f"your result is {float(middle):.7g} times the formula's, in every entry"
    return None


def _span(s: Seen) -> tuple[float, float] | bool | None:
    """The ratios that all entries allow; None where no entry tells, False where they contradict each other."""
    with np.errstate(all="ignore"):
        got, want = s.result.astype(Wide), s.expected
        size = np.abs(want.value)
        clear = want.promised & np.isfinite(got) & (size > 4 * want.error)
        if np.any(want.promised & ~np.isfinite(got)):
            return False
        quotient, width = got[clear] / want.value[clear], want.error[clear] / size[clear]
        width = width * (1 + np.abs(quotient))
        vague = want.promised & ~clear
    if not clear.any():
        return None
    low, high = np.max(quotient - width), np.min(quotient + width)
    if low > high:
        return False
    reach = np.maximum(np.abs(low), np.abs(high))
    off = np.maximum(np.abs(got - low * want.value), np.abs(got - high * want.value))
    if np.any(vague & (off > 2 * (1 + reach) * want.error)):
        return False
    return float(low), float(high)


def _factors(target: Target) -> Iterator[tuple[str, object]]:
    """Numbers, sizes and scalar variables that a result is often too large or too small by."""
    yield "minus", lambda case: -1.0
    for word, number in (("twice", 2.0), ("half", 0.5), (ZERO, 0.0), ("minus twice", -2.0), ("minus half", -0.5)):
        yield word, lambda case, number=number: number
    names = [(axis, lambda case, axis=axis: float(case.sizes[axis])) for axis in target.axes]
    names.append(("B (the size of the batch)", lambda case: float(len(case.rows)) if case.batched else None))
    names += [
        (a.name, lambda case, name=a.name: float(case.rows[0].arrays[name]) if len(case.rows) == 1 else None)
        for a in target.arguments
        if not a.axes and a.kind in ("real", "positive", "nonnegative")
    ]
    for name, value in names:
        for word, exponent in ((name, 1.0), (f"1/{name}", -1.0), (f"sqrt({name})", 0.5), (f"1/sqrt({name})", -0.5)):
            for sign, prefix in ((1, ""), (-1, "minus ")):
                yield f"{prefix}{word} times", _power(value, exponent, sign)


def _power(value: object, exponent: float, sign: int) -> object:
    def factor(case: Case) -> float | None:
        found = value(case)  # type: ignore[operator]
        if found is None or (found <= 0 and exponent != 1):
            return None
        return sign * found**exponent

    return factor

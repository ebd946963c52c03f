"""Pieces of formulas, with what is needed to set them beside each other: width, binding, reach."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from derive.report.typeset import Math, above, fenced, fraction, lines, run, sign

# How tightly a formula binds, loosest first. TERM is what a sum takes and a product does not: `a / b` on one line.
CONDITION, RELATION, SUM, TERM, PRODUCT, PREFIX, POWER, ATOM = range(8)
# How far the last operand of a formula reaches to the right.
CLOSED, OVER_PRODUCTS, OVER_SUMS = range(3)

_OPERATORS = {"\\mathbb": 0.0, "\\arg": 1.6, "\\max": 1.9, "\\min": 1.8}  # widths
_FUNCTION_WORDS = frozenset({r"\log", r"\sin", r"\cos", r"\tan", r"\sinh", r"\cosh", r"\tanh", r"\arctan", r"\exp"})


@dataclass(frozen=True)
class Box:
    """A formula to be printed: what it is, its width in em, how tightly it binds and how far it reaches.

    `tall` says that parentheses around it must grow; `first` and `last` are "digit" or "word" where that matters to the
    spacing between it and a neighbour.
    """

    math: Math
    width: float
    level: int = ATOM
    reach: int = CLOSED
    tall: bool = False
    first: str = ""
    last: str = ""


_WIDE = re.compile(r"\\(?:mathrm|text)\{((?:[^{}\\]|\\_)*)\}|\\[A-Za-z]+|[A-Z]|[a-z0-9]|[-+=<>]|\S")


def width(text: str) -> float:
    """About how wide a run of plain symbols is."""
    total = 0.0
    for match in _WIDE.finditer(text):
        piece = match[0]
        if match[1] is not None:
            total += 0.53 * len(match[1].replace("\\_", "_"))
        elif piece.startswith("\\"):
            total += _OPERATORS.get(piece, 0.68 if len(piece) < 9 else 0.0)
            total += 1.0 if piece in _FUNCTION_WORDS else 0.0
        else:
            total += 0.78 if piece.isupper() else 0.55 if piece.isalnum() else 1.3 if piece in "-+=<>" else 0.35
    return total


def fence(box: Box, left: str = "(", right: str = ")") -> Box:
    """The box in brackets that are as high as it is."""
    if box.tall or left.startswith("\\"):
        return Box(fenced(box.math, left, right), box.width + 1.0, ATOM, tall=box.tall)
    return Box(run(sign(left), box.math, sign(right), sep=""), box.width + 1.0, ATOM)


def at_least(box: Box, level: int) -> Box:
    """The box, in parentheses if it binds more loosely than the level."""
    return box if box.level >= level else fence(box)


def followed(box: Box, level: int) -> Box:
    """The box as an operand of the level that more will follow."""
    reaches = box.reach > (CLOSED if level >= PRODUCT else OVER_PRODUCTS)
    return fence(box) if reaches or box.level < level else box


def listed(boxes: Sequence[Box], sep: str = ", ", gap: float = 0.45) -> Box:
    """The boxes in a row with a separator between, as something loose."""
    return Box(
        run(*(b.math for b in boxes), sep=sep),
        sum(b.width for b in boxes) + gap * (len(boxes) - 1),
        CONDITION,
        tall=any(b.tall for b in boxes),
    )


def stacked(rows: Sequence[Box]) -> Box:
    """Several lines, the first operand and its followers, as one formula."""
    if len(rows) == 1:
        return rows[0]
    return Box(lines(*(r.math for r in rows)), max(r.width for r in rows) + 0.4, SUM, OVER_SUMS, tall=True)


def filled(boxes: Sequence[Box], room: float) -> list[list[Box]]:
    """The boxes in lines, each as full as the room allows."""
    lines: list[list[Box]] = []
    used = 0.0
    for box in boxes:
        if not lines or used + box.width > room:
            lines.append([])
            used = 0.0
        lines[-1].append(box)
        used += box.width
    return lines


def row(boxes: Sequence[Box], level: int) -> Box:
    """The boxes after one another."""
    return Box(
        run(*(b.math for b in boxes)),
        sum(b.width for b in boxes),
        level,
        boxes[-1].reach,
        any(b.tall for b in boxes),
        boxes[0].first,
        boxes[-1].last,
    )


def number(value: Fraction) -> Box:
    """A number that is not negative: digits, a decimal, a fraction, or a power of ten for what would be long."""
    if value.denominator == 1 and value < 10**9:
        return _digits(str(value))
    twos = value.denominator & -value.denominator
    rest = value.denominator // twos
    if value.denominator == 1 or (rest > 1 and 5 ** round(math.log(rest, 5)) == rest):
        mantissa, exponent = _decimal(value)
        if -exponent <= 6 and exponent <= 0:
            return _digits(f"{float(value):.{-exponent}f}" if mantissa < 10**12 else str(value))
        if mantissa < 10**9:
            power = Box(above(sign("10"), sign(str(exponent))), 2.2, POWER, first="digit")
            return power if mantissa == 1 else row([_digits(str(mantissa)), Box(sign(r"\cdot"), 0.7), power], TERM)
    if value.denominator == 1:
        return _digits(str(value))
    top, bottom = str(value.numerator), str(value.denominator)
    wide = 0.55 * max(len(top), len(bottom))
    return Box(fraction(sign(top), sign(bottom)), wide + 0.3, PREFIX, tall=True, first="digit", last="digit")


def _digits(text: str) -> Box:
    return Box(sign(text), 0.55 * len(text), first="digit", last="digit")


def _decimal(value: Fraction) -> tuple[int, int]:
    """Integers m, e with value = m·10^e and m not divisible by ten."""
    exponent = 0
    while value.denominator > 1:
        value, exponent = value * 10, exponent - 1
    mantissa = value.numerator
    while mantissa and mantissa % 10 == 0:
        mantissa, exponent = mantissa // 10, exponent + 1
    return mantissa, exponent

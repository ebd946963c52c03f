"""Widgets as templates show them: every number as text, and the scripts and data by which a page computes them anew."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from markupsafe import Markup

from derive.language.printer import to_text
from derive.report.notation import names_in, notation
from derive.report.printer import Printer
from derive.report.widgets import Computed, Widget, quantiles, widgets_of
from derive.term import Term, cmp

_DIGITS = 4
_HEADING = re.compile(r"/\*\*.*?\*/\n", re.DOTALL)
Formula = Callable[[str, bool, str], Markup]  # LaTeX, whether displayed, and the same as text


@dataclass(frozen=True)
class Cell:
    """A number in the page: where it is found among the values, itself, as text, and its bar from `start` on."""

    path: str
    value: str
    text: str
    bar: tuple[float, float] | None = None
    below: bool = False  # whether the bar stands for a number below 0


@dataclass(frozen=True)
class Column:
    label: str
    formula: Markup | None
    edit: bool
    full: float  # the number whose bar is full; 0 for no bars
    signed: bool


@dataclass(frozen=True)
class Control:
    """What the reader may move: a switch, or a range over options or numbers, at the place where it starts."""

    name: str
    entry: int | None
    label: str
    options: tuple[float, ...]
    low: float
    high: float
    step: float
    start: float
    text: str
    switch: bool


@dataclass(frozen=True)
class Heat:
    rows: str
    columns: str
    cells: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Strip:
    label: str
    value: str
    reach: float
    ticks: tuple[float, ...]


@dataclass(frozen=True)
class View:
    """One widget on a page."""

    name: str
    row: str  # the label of a row of its table
    pick: bool  # whether a row is chosen
    controls: tuple[Control, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    facts: tuple[tuple[str, Markup | None, Cell], ...]
    heat: Heat | None
    strips: tuple[Strip, ...]
    sources: tuple[str, ...]  # the formulas that are computed, each with its theory


def views(page: str, formula: Formula) -> tuple[View, ...]:
    """The widgets on the page of a theory. `formula` puts a formula into the page."""
    return tuple(_view(one, formula) for one in widgets_of(page))


def shown(value: float) -> str:
    """A number as text, to four digits, the way JavaScript's toPrecision writes it."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:.{_DIGITS - 1}e}".partition("e")
    power = int(exponent)
    if power < -6 or power >= _DIGITS:
        text = f"{mantissa}e{power:+d}"
    else:
        text = f"{Decimal(mantissa).scaleb(power):.{_DIGITS - 1 - power}f}"
    return text.replace("-", "−")


def plain(value: float) -> str:
    """A number with all its digits, as JavaScript's String writes one of moderate size."""
    return repr(value).removesuffix(".0").replace("-", "−")


def _exact(value: float) -> str:
    """The value as JavaScript's String and Number have it, where it is no moderate number."""
    special = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return special.get(repr(value), repr(value))


def _view(one: Widget, formula: Formula) -> View:
    spec, known = one.spec, one.values()
    heads = _Heads(one, formula)
    columns = tuple(
        Column(
            c["label"], heads.formula(c["value"], 8), c.get("edit", False), c.get("bar", 0.0), c.get("signed", False)
        )
        for c in spec["columns"]
    )
    count = len(known[spec["columns"][0]["value"]])
    return View(
        name=one.name,
        row=spec.get("row", "position"),
        pick="pick" in spec,
        controls=tuple(_control(c, known) for c in spec.get("controls", ())),
        columns=columns,
        rows=tuple(
            tuple(
                _cell(f"{c['value']}.{row}", known[c["value"]][row], column.full, column.signed)
                for c, column in zip(spec["columns"], columns, strict=True)
            )
            for row in range(count)
        ),
        facts=tuple(
            (fact["label"], heads.formula(fact["value"], 4), _cell(fact["value"], known[fact["value"]]))
            for fact in spec.get("facts", ())
        ),
        heat=_heat(spec["heat"], known) if "heat" in spec else None,
        strips=tuple(
            Strip(s["label"], s["value"], s["reach"], tuple(_place(v, s["reach"]) for v in known[s["value"]]))
            for s in spec.get("strips", ())
        ),
        sources=tuple(dict.fromkeys(_source(c) for c in one.computed.values())),
    )


def _source(one: Computed) -> str:
    return f"{one.theory}.{one.theorem}: {one.formula}" if one.theorem else f"{one.theory}: {one.formula}"


def _cell(path: str, value: Any, full: float = 0.0, signed: bool = False) -> Cell:
    number = float(value)
    return Cell(path, _exact(number), shown(number), _bar(number, full, signed) if full else None, number < 0)


def _bar(value: float, full: float, signed: bool) -> tuple[float, float]:
    """Where the bar of a number begins and how long it is, in hundredths; one with a sign begins in the middle."""
    size = min(abs(value) / full, 1.0) if abs(value) < float("inf") else 0.0
    length = round(100 * size / (2 if signed else 1), 2)
    return (50 - length if value < 0 else 50.0, length) if signed else (0.0, length if value > 0 else 0.0)


def _place(value: float, reach: float) -> float:
    """Where a number stands on a strip from -reach to reach, in hundredths."""
    return round(50 + 50 * max(-1.0, min(1.0, value / reach)), 2)


def _control(item: dict[str, Any], known: dict[str, Any]) -> Control:
    entry = item.get("entry")
    value = known[item["input"]] if entry is None else known[item["input"]][entry]
    options = tuple(item.get("options", ()))
    switch = isinstance(value, bool)
    return Control(
        name=item["input"],
        entry=entry,
        label=item["label"],
        options=options,
        low=0 if options else item.get("min", 0),
        high=len(options) - 1 if options else item.get("max", 0),
        step=1 if options else item.get("step", 1),
        start=options.index(value) if options else float(value),
        text="" if switch else plain(float(value)),
        switch=switch,
    )


def _heat(item: dict[str, Any], known: dict[str, Any]) -> Heat:
    cells = tuple(
        tuple(_cell(f"{item['value']}.{i}.{j}", v, 1.0) for j, v in enumerate(row))
        for i, row in enumerate(known[item["value"]])
    )
    return Heat(item["rows"], item["columns"], cells)


class _Heads:
    """The formulas over the columns of one widget, in a notation of their own."""

    def __init__(self, one: Widget, formula: Formula):
        self.formula_of = formula
        self.terms: dict[str, Term] = {}
        for name, value in one.computed.items():
            self.terms[name] = value.quantity.term
        for value in one.spec["values"]:
            if "take" in value and value["take"] in self.terms and value["at"] == ["i"]:
                self.terms[value["name"]] = self.terms[value["take"]]
        names, letters = names_in([cmp("==", t, t) for t in self.terms.values()])
        self.printer = Printer(notation(names, letters))

    def formula(self, name: str, room: float) -> Markup | None:
        """The formula of a value, where one short formula gives it."""
        term = self.terms.get(name)
        named = term is not None and term.op == "def" and len(term.value) > 1
        if term is None or named or self.printer.width(term) > room:
            return None
        return self.formula_of(self.printer.inline(term), False, to_text(term))


# -- scripts ----------------------------------------------------------------------------------------------------------


def script(widgets: Sequence[Widget]) -> str:
    """The generated functions of these widgets, as one script that gives them names; what they share is there once.

    Their headings are left out: the page says beside each widget which formulas it computes.
    """
    shared: dict[str, str] = {}
    functions: list[str] = []
    for one in widgets:
        for value in one.computed.values():
            *helpers, own = _HEADING.sub("", value.javascript()).strip().split("\n\n")
            inside = [h for h in helpers if shared.setdefault(_name(h), h) != h]  # another one of that name
            body = "\n".join([*inside, own, f"return {_name(own)};"])
            functions.append(f'derived["{one.name}.{value.name}"] = (() => {{\n{body}\n}})();')
    return "\n".join(['"use strict";', *shared.values(), "const derived = {};", *functions, ""])


def _name(function: str) -> str:
    """The name of a function, from its text."""
    return function.split("function ", 1)[1].split("(", 1)[0]


def data(widgets: Sequence[Widget]) -> str:
    """What the page's script has to know of these widgets, as JSON."""
    found = {
        one.name: {
            "inputs": one.inputs(),
            **{
                key: one.spec[key]
                for key in ("sizes", "pick", "controls", "columns", "heat", "strips")
                if key in one.spec
            },
            "values": [
                {**value, "arguments": one.computed[value["name"]].arguments}
                if value["name"] in one.computed
                else value
                for value in one.spec["values"]
            ],
        }
        for one in widgets
    }
    return json.dumps({"quantiles": quantiles(), "widgets": found}, separators=(",", ":"))

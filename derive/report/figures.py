"""Figures: what a text file beside a theory asks to be drawn, computed by code generated from what is proved.

`NAME.figures.toml` beside `NAME.derive` holds a table for each figure (docs/figures.md). It names definitions and
theorems, ranges and sizes; it holds no number that is drawn, and nothing of it is executed.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive.engine.verdict import TheoryResult
from derive.language.errors import LanguageError
from derive.language.theory import Theory
from derive.language.translations import parted_line

if TYPE_CHECKING:
    from derive.report.numbers import Measured

SUFFIX = ".figures.toml"
POINTS = 161  # of a curve
DRAWS = 4000  # of a random quantity, at each size
LARGEST_SIZE = 4096
LARGEST_FILE = 100_000  # bytes
DIGITS = 5  # significant ones that are kept: what is drawn is the same on every machine
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True)
class Curve:
    """One line of a plot, or a band where `low` is not empty; None where there is no finite value."""

    label: str
    x: tuple[float, ...]
    y: tuple[float | None, ...]
    low: tuple[float, ...] = ()
    derived: bool = False  # from a theorem, beside what was drawn at random


@dataclass(frozen=True)
class Panel:
    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Figure:
    """What is drawn and said. `kind` is "curves", "spread" or "errors"; the latter's curves run over `categories`."""

    name: str
    kind: str
    title: str
    translations: tuple[tuple[str, str], ...]  # of the title, by language
    x_label: str
    y_label: str
    x_scale: str
    y_scale: str
    panels: tuple[Panel, ...]
    categories: tuple[str, ...]
    source: str  # where the numbers come from
    alt: str
    head: tuple[str, ...]  # the same as a table
    rows: tuple[tuple[str, ...], ...]

    def title_in(self, language: str) -> str:
        """The title in this language, where there is one."""
        return dict(self.translations).get(language, self.title)


class CannotDraw(Exception):
    """A figure has no numbers, and why."""


# -- what is asked for ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wanted:
    """One table of the file, its entries of the right types."""

    name: str
    kind: str
    title: str
    translations: tuple[tuple[str, str], ...]
    options: Mapping[str, Any]


_COMMON = {"name": str, "kind": str, "title": str}
_KINDS: dict[str, dict[str, Any]] = {
    "curves": {"y": list, "x": str, "from": float, "to": float, "scale": str, "y_scale": str, "curve": list},
    "spread": {"y": str, "deviation": str, "axis": str, "sizes": list, "draw": str},
    "errors": {"y": str, "dtype": str},
}
_OPTIONAL = {"scale", "y_scale", "draw", "dtype"}
_LAWS = ("normal", "uniform", "rademacher")


def figures_path(theory: Theory) -> Path | None:
    """The file that says what to draw of a theory, where there is one."""
    if theory.path is None:
        return None
    path = theory.path.with_name(theory.path.name.removesuffix(".derive") + SUFFIX)
    return path if path.is_file() else None


def figures_text(theory: Theory) -> str:
    """What that file holds; "" where there is none. Raises LanguageError where it cannot be read."""
    path = figures_path(theory)
    if path is None:
        return ""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise LanguageError(f"the file is larger than {LARGEST_FILE} bytes", path=path)
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise LanguageError(f"the file cannot be read: {problem}", path=path) from None


def wanted(theory: Theory) -> tuple[Wanted, ...]:
    """The figures that are asked for. Raises LanguageError for what is no such file."""
    text, path = figures_text(theory), figures_path(theory)
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise LanguageError(f"this is no TOML: {problem}", path=path) from None
    try:
        entries = tables.pop("figure", [])
        _need(not tables and isinstance(entries, list), f"only [[figure]] stands here, not {', '.join(tables)}")
        found = tuple(map(_wanted, entries))
        names = [item.name for item in found]
        _need(len(names) == len(set(names)), "two figures have the same name")
    except _Wrong as problem:
        raise LanguageError(str(problem), path=path, hint="docs/figures.md lists what a figure holds") from None
    return found


class _Wrong(Exception):
    """What is wrong with a file of figures."""


def _need(holds: Any, message: str) -> None:
    if not holds:
        raise _Wrong(message)


def _wanted(entry: Any) -> Wanted:
    _need(isinstance(entry, dict), "a figure is a table: [[figure]]")
    name, kind = entry.get("name"), entry.get("kind")
    _need(
        isinstance(name, str) and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name), "a figure needs a name, as `my-plot`"
    )
    _need(kind in _KINDS, f"{name}: the kind is one of {', '.join(_KINDS)}")
    types = _COMMON | _KINDS[kind]
    for key, value in entry.items():
        _need(key in types, f"{name}: {key!r} is unknown here; a figure of this kind has {', '.join(types)}")
        kinds = (int, float) if types[key] is float else types[key]
        _need(isinstance(value, kinds) and not isinstance(value, bool), f"{name}: {key} is no {types[key].__name__}")
    for key in types.keys() - entry.keys() - _OPTIONAL:
        _need(False, f"{name}: {key} is missing")
    options = {key: value for key, value in entry.items() if key not in _COMMON}
    _CHECKS[kind](name, options)
    title, translations = parted_line(entry["title"])
    return Wanted(name, kind, title, tuple(translations.items()), options)


def _check_curves(name: str, options: dict[str, Any]) -> None:
    for key in ("scale", "y_scale"):
        _need(options.setdefault(key, "linear") in ("linear", "log"), f"{name}: {key} is linear or log")
    low, high = options["from"], options["to"]
    _need(math.isfinite(low) and math.isfinite(high) and low < high, f"{name}: from is below to")
    _need(options["scale"] == "linear" or low > 0, f"{name}: on a log scale from is above 0")
    _need(options["y"] and all(isinstance(y, str) for y in options["y"]), f"{name}: y lists names")
    _need(
        options["curve"] and all(isinstance(c, dict) for c in options["curve"]), f"{name}: [[figure.curve]] are tables"
    )
    for values in options["curve"]:
        for key, value in values.items():
            _need(_numbers(value), f"{name}: {key} of a curve is a number or a list of numbers")


def _check_spread(name: str, options: dict[str, Any]) -> None:
    sizes = options["sizes"]
    fine = sizes and all(type(n) is int and 1 <= n <= LARGEST_SIZE for n in sizes) and sizes == sorted(set(sizes))
    _need(fine, f"{name}: sizes are increasing integers from 1 to {LARGEST_SIZE}")
    _need(options.setdefault("draw", "normal") in _LAWS, f"{name}: draw is one of {', '.join(_LAWS)}")


def _check_errors(name: str, options: dict[str, Any]) -> None:
    _need(options.setdefault("dtype", "float64") in ("float64", "float32"), f"{name}: dtype is float64 or float32")


_CHECKS = {"curves": _check_curves, "spread": _check_spread, "errors": _check_errors}


def _numbers(value: Any) -> bool:
    if isinstance(value, list):
        return 0 < len(value) <= LARGEST_SIZE and all(map(_numbers, value))
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# -- what is drawn ----------------------------------------------------------------------------------------------------


def figures(
    result: TheoryResult, measured: Sequence[Measured], seed: int
) -> tuple[tuple[Figure, ...], tuple[tuple[str, str], ...]]:
    """The figures that are asked for of a checked theory; and those that cannot be drawn, with the reason."""
    made: list[Figure] = []
    left_out: list[tuple[str, str]] = []
    for item in wanted(result.theory):
        try:
            made.append(_MAKERS[item.kind](item, result, measured, seed))
        except CannotDraw as problem:
            left_out.append((f"figure {item.name}", str(problem)))
    return tuple(made), tuple(left_out)


def _compiled(result: TheoryResult, name: str) -> Any:
    """The generated code of a definition, or of a theorem's right side if it is proved."""
    from derive.codegen import CodegenError, compile_quantity

    verdicts = {t.theorem.name: t.verdict for t in result.theorems}
    if verdicts.get(name, "proved") != "proved":
        raise CannotDraw(f"the theorem {name} is {verdicts[name]}, so nothing is drawn of it")
    try:
        return compile_quantity(result.theory, name)
    except (KeyError, CodegenError) as problem:
        raise CannotDraw(str(problem.args[0] if problem.args else problem)) from None


def _called(code: Any, arguments: Mapping[str, Any]) -> Any:
    import numpy as np

    known = {a.name for a in code.arguments}
    missing = known - arguments.keys()
    if missing:
        raise CannotDraw(f"{code.name} needs a value of {', '.join(sorted(missing))}")
    try:
        with np.errstate(all="ignore"):
            return np.asarray(code(**{name: value for name, value in arguments.items() if name in known}))
    except (ValueError, TypeError, IndexError) as problem:
        raise CannotDraw(str(problem)) from None


def _curves(item: Wanted, result: TheoryResult, _: Sequence[Measured], __: int) -> Figure:
    import numpy as np

    options = item.options
    place = np.geomspace if options["scale"] == "log" else np.linspace
    x = place(options["from"], options["to"], POINTS)
    curves = []
    for name in options["y"]:
        code = _compiled(result, name)
        for values in options["curve"]:
            arrays = {key: np.asarray(value, float) for key, value in values.items()}
            y = _called(code, {**arrays, options["x"]: x})
            if y.shape != x.shape:
                raise CannotDraw(f"{name} is no number at each {options['x']}, but has the shape {y.shape[1:]}")
            said = [name] if len(options["y"]) > 1 else []
            if len(options["curve"]) > 1 or not said:
                said += [f"{key} = {_shown(value)}" for key, value in values.items()]
            curves.append(Curve(", ".join(said), _rounded(x), _rounded(y)))
    names = ", ".join(options["y"])
    rows = _rows(curves, range(0, POINTS, (POINTS - 1) // 8))
    return Figure(
        item.name, "curves", item.title, item.translations, options["x"],
        names if len(options["y"]) == 1 else "", options["scale"],
        options["y_scale"], (Panel("", tuple(curves)),), (), f"generated code of {names}",
        "; ".join(map(_spoken, curves)), (options["x"], *(c.label for c in curves)), rows,
    )  # fmt: skip


def _spread(item: Wanted, result: TheoryResult, _: Sequence[Measured], seed: int) -> Figure:
    import numpy as np

    options = item.options
    code, deviation = _compiled(result, options["y"]), _compiled(result, options["deviation"])
    sizes: list[int] = options["sizes"]
    if any(set(a.axes) - {options["axis"]} for a in code.arguments):
        raise CannotDraw(f"{options['y']} has other axes than {options['axis']}")
    random = np.random.Generator(np.random.PCG64(seed))
    quantiles, derived = [], []
    for size in sizes:
        draws = {
            a.name: _drawn(result.theory, a.name, [size] * len(a.axes), options["draw"], random) for a in code.arguments
        }
        quantiles.append(np.quantile(_called(code, draws), _QUANTILES))
        derived.append(float(_called(deviation, {options["axis"]: size})))
    table, sigma = np.asarray(quantiles), np.asarray(derived)
    x = tuple(map(float, sizes))
    name = options["y"]
    panels = (
        Panel(name, _bands(x, table, sigma, options["deviation"])),
        Panel(f"{name} / {options['deviation']}", _bands(x, table / sigma[:, None], sigma / sigma, "1")),
    )
    head = (options["axis"], *(f"{round(100 * q)} %" for q in _QUANTILES), f"{options['deviation']} (derived)")
    rows = tuple(
        (str(n), *(_number(v) for v in row), _number(s)) for n, row, s in zip(sizes, table, sigma, strict=True)
    )
    first, last = ([_number(table[k][end] / sigma[k]) for end in (0, -1)] for k in (0, -1))
    smallest, largest = (f"{options['axis']} = {sizes[k]}" for k in (0, -1))
    return Figure(
        item.name, "spread", item.title, item.translations, options["axis"], "", "log", "linear", panels, (),
        f"{DRAWS} draws at each {options['axis']} (seed {seed}; where the theory names no law, {options['draw']}), "
        f"put into the generated code of {name}; {options['deviation']} is the right side of a theorem",
        f"nine tenths of the draws lie between {rows[-1][1]} and {rows[-1][5]} at {largest}, where the derived "
        f"deviation is {rows[-1][6]}; divided by the derived deviation, between {first[0]} and {first[1]} at "
        f"{smallest} and between {last[0]} and {last[1]} at {largest}",
        head, rows,
    )  # fmt: skip


def _bands(x: tuple[float, ...], table: Any, sigma: Any, deviation: str) -> tuple[Curve, ...]:
    low, first, middle, third, high = (_rounded(column) for column in table.T)
    plus, minus = _rounded(sigma), _rounded(-sigma)
    return (
        Curve("5 % to 95 % of the draws", x, high, low),  # type: ignore[arg-type]
        Curve("25 % to 75 %", x, third, first),  # type: ignore[arg-type]
        Curve("half of the draws are below", x, middle),
        Curve(f"± {deviation}, derived", x, plus, minus, derived=True),  # type: ignore[arg-type]
    )


def _drawn(theory: Theory, name: str, shape: list[int], law: str, random: Any) -> Any:
    """Draws of a random name, from its law, or from this one with its mean and variance where it declares no more."""
    declaration = theory.declarations.get(name)
    if declaration is None or declaration.law is None:
        raise CannotDraw(f"{name} is not random")
    family, parameters = declaration.law.family, declaration.law.parameters
    if any(p.op != "num" for p in parameters):
        raise CannotDraw(f"the law of {name} has parameters that are no numbers")
    values = [float(p.value) for p in parameters]
    if family == "uniform":
        return random.uniform(*values, (DRAWS, *shape))
    if family == "bernoulli":
        return (random.random((DRAWS, *shape)) < values[0]).astype(float)
    mean, variance = values or [0.0, 1.0]
    kind = law if family == "random" else family
    if kind == "uniform":
        unit = random.uniform(-math.sqrt(3), math.sqrt(3), (DRAWS, *shape))
    elif kind == "rademacher":
        unit = random.choice([-1.0, 1.0], (DRAWS, *shape))
    else:
        unit = random.standard_normal((DRAWS, *shape))
    return mean + math.sqrt(variance) * unit


def _errors(item: Wanted, _: TheoryResult, measured: Sequence[Measured], seed: int) -> Figure:
    name, dtype = item.options["y"], item.options["dtype"]
    found = next((m for m in measured if m.name == name), None)
    points = [p for p in found.points if p.dtype == dtype] if found else []
    if not points:
        raise CannotDraw(f"no error of {name} was measured in {dtype}")
    families = tuple(dict.fromkeys(p.family for p in points))
    variants = tuple(dict.fromkeys(p.variant for p in points))
    by_place = {(p.variant, p.family): p.ulp for p in points}
    curves = tuple(
        Curve(v, tuple(map(float, range(len(families)))), tuple(by_place.get((v, f)) for f in families))
        for v in variants
    )
    rows = tuple((f, *(_ulp(by_place.get((v, f))) for v in variants)) for f in families)
    worst = [f"{v}: {_worst([by_place.get((v, f)) for f in families])}" for v in variants]
    return Figure(
        item.name, "errors", item.title, item.translations,
        "error in ulp", "", "log", "linear", (Panel("", curves),), families,
        f"generated code of {name} in {dtype} against enclosures (seed {seed})",
        "; ".join(worst), ("inputs", *variants), rows,
    )  # fmt: skip


_MAKERS: dict[str, Callable[[Wanted, TheoryResult, Sequence[Measured], int], Figure]] = {
    "curves": _curves,
    "spread": _spread,
    "errors": _errors,
}


# -- numbers as words -------------------------------------------------------------------------------------------------


def _rounded(values: Any) -> tuple[float | None, ...]:
    return tuple(float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in map(float, values))


def _number(value: float | None) -> str:
    return "none" if value is None or not math.isfinite(value) else _three(value)


def _three(value: float) -> str:
    """Three digits, as they are printed elsewhere: 5300 and 1.2e7, not 5.3e+03 and 1.2e+07."""
    text = f"{value:.3g}"
    if "e+" in text and abs(value) < 1e5:
        return f"{float(text):.0f}".replace("-", "−")
    return re.sub(r"e\+?(-?)0*", r"e\1", text).replace("-", "−")


def _ulp(value: float | None) -> str:
    return "overflow" if value is None else _three(value)


def _worst(values: Iterable[float | None]) -> str:
    every = list(values)
    lost = sum(v is None for v in every)
    most = f"at most {_three(max((v for v in every if v is not None), default=0.0))} ulp"
    return f"{most}, overflow on {lost} of {len(every)} families" if lost else most


def _shown(value: Any) -> str:
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else f"{value:g}".replace("-", "−")


def _spoken(curve: Curve) -> str:
    known = [(x, y) for x, y in zip(curve.x, curve.y, strict=True) if y is not None]
    if not known:
        return f"{curve.label} has no finite value"
    low, high = min(known, key=lambda p: p[1]), max(known, key=lambda p: p[1])
    ends = (
        f"from {_number(known[0][1])} at {_number(known[0][0])} to {_number(known[-1][1])} at {_number(known[-1][0])}"
    )
    return f"{curve.label}: {ends}, least {_number(low[1])}, largest {_number(high[1])} at {_number(high[0])}"


def _rows(curves: Sequence[Curve], places: Iterable[int]) -> tuple[tuple[str, ...], ...]:
    return tuple((_number(curves[0].x[k]), *(_number(c.y[k]) for c in curves)) for k in places)

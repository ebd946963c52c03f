"""How a failure is seen again: a command, or a call where no command can name the function; the input as plain data."""

from __future__ import annotations

import json
import math
import shlex
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np

from derive.guard.calling import Function, module_of
from derive.guard.check import Outcome
from derive.guard.compare import Finding
from derive.guard.target import Target

MOST_NUMBERS = 96  # of an input that is written into a command; larger ones are made again from the seed


def at(finding: Finding, target: Target | None = None) -> dict[str, Any]:
    """The input of a finding as plain data, exactly: what `at=` and `--at` take."""
    rows = [_data(row) for row in finding.case.rows]
    sizes = {a.name: finding.case.sizes[a.name] for a in (target.arguments if target else ()) if a.kind == "size"}
    if not finding.case.batched:
        return {**rows[0], **sizes}
    return {**{name: [row[name] for row in rows] for name in rows[0]}, **sizes}


def _data(row: Any) -> dict[str, Any]:
    def nested(array: np.ndarray) -> Any:
        if array.ndim == 0:
            return int(array) if array.dtype.kind in "iub" else _exact(float(array))
        return [nested(part) for part in array]

    return {**{n: nested(a) for n, a in row.arrays.items()}, **row.indices}


def _exact(value: float) -> Any:
    whole = math.isfinite(value) and value == int(value) and abs(value) < 2**31
    return int(value) if whole and math.copysign(1, value) == math.copysign(1, int(value)) else value.hex()


# -- the function's name -----------------------------------------------------------------------------------------------


def function_name(function: Function) -> str | None:
    """MODULE:FUNCTION or FILE:FUNCTION, as `derive test` finds this very function; None where it would not."""
    module, name = module_of(function), getattr(function, "__qualname__", None)
    if not module or not isinstance(name, str):
        return None
    loaded = sys.modules.get(module)
    found: Any = loaded
    for part in name.split("."):
        found = getattr(found, part, None)
    if loaded is None or found is not function:
        return None
    file = getattr(loaded, "__file__", None)
    if module == "__main__" or (file and "." not in module and not _on_the_path(Path(file))):
        return f"{_from_here(Path(file))}:{name}" if file else None
    return f"{module}:{name}"


def _on_the_path(file: Path) -> bool:
    """Whether a command that is run in this folder imports the module by its name."""
    folder = file.parent.parent if file.name == "__init__.py" else file.parent
    places = {Path.cwd(), *(Path(sysconfig.get_path(p)) for p in ("purelib", "platlib", "stdlib", "platstdlib"))}
    return folder.resolve() in {p.resolve() for p in places}


def _from_here(path: Path) -> Path:
    """The path as it is written in this folder."""
    path = path.resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


# -- the command -------------------------------------------------------------------------------------------------------


def reproduce(o: Outcome) -> str:
    """A command, or for a function without an importable name a call, that runs the same check again."""
    options = _options(o)
    name, formula = function_name(o.call.function), formula_name(o)
    if name is None or options.get("arrays") is ...:
        words = [f"{k}={'your_conversion' if v is ... else _literal(v)}" for k, v in options.items()]
        return f"assert_implements(your_function, {', '.join([_literal(formula), *words])})"
    command = ["derive", "test", name, formula]
    for option, value in options.items():
        word = "--" + option.replace("_", "-")
        command += [word] if value is True else [word, json.dumps(value) if option == "at" else f"{value}"]
    return " ".join(shlex.quote(w) for w in command)


def _literal(value: Any) -> str:
    return repr(value) if isinstance(value, bool) else json.dumps(value)


def formula_name(o: Outcome) -> str:
    """The formula's name as it was given, a file of it as it is written in this folder."""
    name = o.source or o.target.name
    file, separator, what = name.partition(".derive")
    if separator and Path(file).is_absolute():
        return f"{_from_here(Path(file + separator))}{what}"
    return name


def sizes_text(target: Target) -> str:
    """The sizes that the function takes, as they are asked for."""
    return " ".join(
        f"{axis}={allowed if isinstance(allowed, str) else ','.join(map(str, allowed))}"
        for axis, allowed in target.sizes
    )


def _options(o: Outcome) -> dict[str, Any]:
    """The options of the check that are not the ordinary ones, by the names they have in Python."""
    m, finding, call = o.modes, o.finding, o.call
    assert finding is not None
    case = finding.case
    large = sum(a.size for row in case.rows for a in row.arrays.values()) > MOST_NUMBERS
    given = None if large or case.layout != "contiguous" else at(finding, o.target)
    rows = (len(case.rows) if given else o.batch) if case.batched else None
    declared = tuple(a.name for a in o.target.arguments)
    arrays = call.library if call.library != "numpy" else None
    found = {
        "dtype": m.dtype, "seed": o.seed, "ulp": m.ulp, "inside": m.inside, "batch": rows,
        "sizes": sizes_text(o.target) or None,
        "reduction": m.reduction if m.reduction != "none" else None, "ignore_index": m.ignore_index,
        "undefined": m.undefined if m.undefined != "any" else None, "flush": m.flush or None,
        "arguments": ", ".join(call.names) if not call.by_name and call.names != declared else None,
        "arrays": ... if call.asked and call.library is None else arrays, "at": given,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value is not None}

"""What a reader of a page can change and see computed: widgets, as data, with the code that computes them.

All mathematics of a widget is formulas of the catalogue. Code generation makes NumPy functions of them, for the numbers
that stand in the page, and JavaScript functions, for those that follow the reader. The rest is here and, in the same
words, in `templates/widgets.js`: which function is called with what.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from derive.codegen import Compiled, Quantity

Spec = Mapping[str, Any]
Values = dict[str, Any]
_WORD = 0xFFFFFFFF  # of 32 bits


@dataclass(frozen=True)
class Computed:
    """One value of a widget that is computed: its quantity, and what stands for each argument of its functions."""

    name: str
    theory: str
    formula: str
    theorem: str | None  # whose right side it is
    stable: bool
    each: bool
    quantity: Quantity
    arguments: tuple[str, ...]
    function: Compiled

    def javascript(self) -> str:
        """Its JavaScript, the helpers before it."""
        from derive.codegen import javascript

        return javascript(self.quantity, self.stable, module=False, batch=False)


@dataclass(frozen=True)
class Widget:
    """A widget: its data, and the values that formulas give, by name."""

    name: str
    spec: Spec
    computed: Mapping[str, Computed]

    def inputs(self) -> Values:
        """What it starts from."""
        return dict(self.spec["inputs"]) | ({self.spec["pick"]["name"]: 0} if "pick" in self.spec else {})

    def values(self, inputs: Spec | None = None) -> Values:
        """All its values at these inputs, as lists and numbers, by NumPy."""
        import numpy as np

        known = _started({**self.inputs(), **(inputs or {})})
        known |= {name: len(known[array]) for name, array in self.spec.get("sizes", {}).items()}
        with np.errstate(all="ignore"):  # what overflows is shown
            for value in self.spec["values"]:
                known[value["name"]] = self._value(value, known)
        return {name: v.tolist() if hasattr(v, "tolist") else v for name, v in known.items()}

    def _value(self, value: Spec, known: Values) -> Any:
        if "take" in value:
            found = known[value["take"]]
            for place in value["at"]:
                found = found[known[place] if isinstance(place, str) else place]
            return found
        if "first" in value:
            return known[value["of"]][: value["first"]]
        if "choose" in value:
            return known[value["choose"][int(known[value["by"]])]]
        one = self.computed[value["name"]]
        if "least" in value:
            return _least(value, one, known)
        arguments = [known[name] for name in one.arguments]
        if not one.each:
            return one.function(*arguments)
        import numpy as np

        size = max(len(a) for a in arguments if np.ndim(a) == 2)
        return np.array([one.function(*(a[row] if np.ndim(a) == 2 else a for a in arguments)) for row in range(size)])


def _least(value: Spec, one: Computed, known: Values) -> list[int]:
    """The bits, not all 0, for which the formula is least."""
    size = len(known[value["rows"]])
    choices = [[(number >> k) & 1 for k in range(size)] for number in range(1, 2**size)]

    def worth(bits: list[int]) -> float:
        return float(one.function(*(bits if name == value["bits"] else known[name] for name in one.arguments)))

    return min(choices, key=worth)


def _started(inputs: Values) -> Values:
    """The inputs with the random ones drawn."""
    import numpy as np

    known: Values = {}
    for name, value in inputs.items():
        if isinstance(value, dict):
            rows, columns = value["random"]
            known[name] = np.array(draws(rows, inputs.get(value.get("columns"), columns), value["seed"]))
        else:
            known[name] = np.array(value, float) if isinstance(value, list) else value
    return known


@cache
def quantiles() -> tuple[float, ...]:
    """Sixteen numbers of mean 0 and variance 1, spread as a normal variable is."""
    raw = [NormalDist().inv_cdf((k + 0.5) / 16) for k in range(16)]
    size = (sum(x * x for x in raw) / 16) ** 0.5
    return tuple(x / size for x in raw)


def draws(rows: int, columns: int, seed: int) -> list[list[float]]:
    """Rows of independent draws from those numbers, each as likely: by xorshift, so that a page draws the same."""
    table = quantiles()
    return [[table[word >> 28] for word in _words(seed, row, columns)] for row in range(rows)]


def _words(seed: int, row: int, count: int) -> Iterator[int]:
    word = (seed * 0x9E3779B1 + row * 0x85EBCA6B + 1) & _WORD or 1
    for number in range(-8, count):  # the first ones are alike for rows that are near
        word ^= (word << 13) & _WORD
        word ^= word >> 17
        word ^= (word << 5) & _WORD
        if number >= 0:
            yield word


# -- the table of widgets ---------------------------------------------------------------------------------------------


@cache
def specs() -> dict[str, Spec]:
    """The table of widgets."""
    return tomllib.loads((files(__name__) / "widgets.toml").read_text(encoding="utf-8"))


@cache
def widget(name: str) -> Widget:
    """The widget of that name."""
    spec = specs()[name]
    return Widget(name, spec, {v["name"]: _computed(v) for v in spec["values"] if "formula" in v or "theorem" in v})


def widgets_of(page: str) -> tuple[Widget, ...]:
    """The widgets on the page of a theory."""
    return tuple(widget(name) for name, spec in specs().items() if page in spec["pages"])


def _computed(value: Spec) -> Computed:
    source = value.get("theory") or value["least"]
    quantity = _quantity(value, source)
    stable = value.get("stable", True)
    function = quantity.compile(stable)
    renamed = value.get("with", {})
    arguments = tuple(renamed.get(a.name, a.name) for a in function.arguments)
    return Computed(
        value["name"],
        source,
        function.formula,
        value.get("theorem"),
        stable,
        value.get("each", False),
        quantity,
        arguments,
        function,
    )


def _quantity(value: Spec, source: str) -> Quantity:
    from derive.codegen import Quantity, quantity
    from derive.codegen.quantities import in_order
    from derive.kernel.context import Context
    from derive.language import load
    from derive.language.loader import expression

    theory = load(source)
    if "theorem" in value:
        return replace(quantity(theory, value["theorem"]), name=value["name"])
    term = expression(value["formula"], theory)
    context = Context(theory.axes, theory.declarations, theory.definitions, letters=frozenset(theory.letters))
    letters = tuple(k for k in in_order(term) if k not in theory.letters)
    return Quantity(value["name"], term, context, letters, title=f"{source}: {value['name']}")

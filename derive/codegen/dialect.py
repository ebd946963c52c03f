"""How array code is written with one library or another: what differs from NumPy, a row each.

Texts are written with NumPy's name, `np.`, and the name of the library is put in when the module is put together.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from dataclasses import dataclass, field

from derive.codegen.helpers import SNIPPETS


@dataclass(frozen=True)
class Function:
    """`text` with {0}, {1} for the arguments; `helper` names the snippet that the text calls."""

    text: str
    helper: str | None = None


FUNCTIONS: dict[str, Function] = {
    "exp": Function("np.exp({0})"),
    "log": Function("np.log({0})"),
    "log1p": Function("np.log1p({0})"),
    "expm1": Function("np.expm1({0})"),
    "sqrt": Function("np.sqrt({0})"),
    "abs": Function("np.abs({0})"),
    "sign": Function("np.sign({0})"),
    "sin": Function("np.sin({0})"),
    "cos": Function("np.cos({0})"),
    "tan": Function("np.tan({0})"),
    "sinh": Function("np.sinh({0})"),
    "cosh": Function("np.cosh({0})"),
    "tanh": Function("np.tanh({0})"),
    "atan": Function("np.arctan({0})"),
    "relu": Function("np.maximum({0}, 0.0)"),
    "softplus": Function("np.logaddexp({0}, 0.0)"),
    "max": Function("np.maximum({0}, {1})"),
    "min": Function("np.minimum({0}, {1})"),
    "sigmoid": Function("_sigmoid({0})", "_sigmoid"),
    "erf": Function("_erf({0})", "_erf"),
    "lgamma": Function("_lgamma({0})", "_lgamma"),
    "digamma": Function("_digamma({0})", "_digamma"),
    "trigamma": Function("_trigamma({0})", "_trigamma"),
}
RESERVED = frozenset({"np", "int", "max", "isinstance", "hasattr", "filter", "ValueError", "None", "True", "False"})


@dataclass(frozen=True)
class Dialect:
    """The rows of one library. {0}, {1}, … are the parts, {dtype} and {device} the names of the code's own."""

    name: str
    module: str  # what stands for `np`
    imports: tuple[str, ...]
    reserved: frozenset[str]  # what the sources use of Python: a variable of such a name gets an underscore behind it
    blocks: bool = False  # whether the code takes `out` and goes through a large batch by blocks
    functions: Mapping[str, Function] = field(default_factory=lambda: FUNCTIONS)
    snippets: Mapping[str, str] = field(default_factory=lambda: SNIPPETS)
    reductions: Mapping[str, str] = field(
        default_factory=lambda: {k: f"np.{k}({{0}}, axis={{1}})" for k in ("sum", "prod", "max", "min", "all", "any")}
    )
    one_axis: frozenset[str] = frozenset()  # reductions that take a single axis
    dot: str = ""  # the sum of products along the last axis, where there is a call for it
    arange: str = "np.arange({0})"
    eye: str = "np.eye({0}, dtype={dtype})"
    cast: str = "{0}.astype({dtype})"
    zero_place: str = "np.intp(0)"
    diagonal: str = "np.diagonal({0}, axis1={1}, axis2={2})"
    power: str = "np.power({0}, {1})"  # of a number
    # Python numbers: how a function takes one beside arrays or alone, what gives a number again, a test of numbers
    operand: str = "{0}"
    alone: str = "{0}"
    item: str = "{0}.item()"
    root: str = "np.sqrt({0}).item()"  # of a size, which is positive
    number_module: str = "np."
    # The divisor and the exponent stand as {1} in a call, as {2} after an operator
    divide: str = "np.divide({0}, {1}).item()"
    float_power: str = "np.float_power({0}, {1}).item()"
    truth: str = "np.bool_({0})"
    both_numbers: str = "np.where({0}, {1}, {2}).astype({dtype})"
    # Arguments and results
    no_dtype: str = "np.dtype(np.float64)"
    wide: str = "np.promote_types({0}, np.{1})"  # what is computed in, "" for the dtype itself
    array: str = "np.asarray({0}, {dtype})"
    stored: str = "np.asarray({0}, {dtype})"  # the same in the dtype of the result
    places: str = "np.asarray({0})"
    result: str = "np.asarray({0}, {dtype})[()]"
    copied: str = "np.array({0}, {dtype})[()]"
    spread: str = "np.array(np.broadcast_to({0}, {1}), {dtype})[()]"
    in_place: bool = True  # whether arrays can be written into
    quiet: str = 'with np.errstate(all="ignore"):'  # round parts that are not taken


def function_name(name: str, reserved: frozenset[str]) -> str:
    """The quantity's name, with an underscore behind it where the module means something else by it."""
    return f"{name}_" if name in reserved or hasattr(builtins, name) else name


NUMPY = Dialect("NumPy", "np", ("import numpy as np",), RESERVED, blocks=True, dot="np.vecdot({0}, {1})")

"""The languages that a quantity is written in, by the name that the command line takes."""

from __future__ import annotations

from collections.abc import Callable

from derive.codegen.jax_dialect import JAX
from derive.codegen.js import javascript
from derive.codegen.source import Quantity
from derive.codegen.torch_dialect import TORCH

BACKENDS: dict[str, Callable[[Quantity], str]] = {
    "numpy": lambda quantity: quantity.compile().source,
    "torch": lambda quantity: quantity.source(TORCH),
    "jax": lambda quantity: quantity.source(JAX),
    "js": javascript,
}

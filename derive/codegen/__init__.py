"""Terms to vectorised NumPy functions, and to the same for other backends."""

from derive.codegen.js import javascript
from derive.codegen.quantities import compile_quantity, compile_side, quantity, reverse_mode, side_of, vjp
from derive.codegen.source import Argument, Compiled, Quantity, compile_term
from derive.codegen.value import CodegenError

__all__ = [
    "Argument",
    "CodegenError",
    "Compiled",
    "Quantity",
    "compile_quantity",
    "compile_side",
    "compile_term",
    "javascript",
    "quantity",
    "reverse_mode",
    "side_of",
    "vjp",
]

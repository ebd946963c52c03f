"""Terms to SymPy: expressions for users, explicit components at small sizes, and claims derived again from those."""

from derive.sympy_bridge.explicit import Explicit, explicit
from derive.sympy_bridge.paths import Path, Undefined, Unsupported
from derive.sympy_bridge.rederive import Rederivation, equivalent_at_small_sizes, rederive
from derive.sympy_bridge.symbolic import to_sympy

__all__ = [
    "Explicit",
    "Path",
    "Rederivation",
    "Undefined",
    "Unsupported",
    "equivalent_at_small_sizes",
    "explicit",
    "rederive",
    "to_sympy",
]

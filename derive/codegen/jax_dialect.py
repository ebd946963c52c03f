"""Code for JAX: pure, of static shapes, so that `jax.jit`, `jax.vmap` and `jax.grad` take it."""

from __future__ import annotations

from derive.codegen.dialect import FUNCTIONS, RESERVED, Dialect, Function
from derive.codegen.helpers import SNIPPETS

OWN = {
    "_dtype": '''
def _dtype(*arguments):
    """The common dtype of the arrays; Python numbers follow, integers become JAX's default float, others an error."""
    arrays = tuple(filter(lambda a: hasattr(a, "dtype"), arguments))
    for array in arrays:
        if np.issubdtype(array.dtype, np.complexfloating):
            raise ValueError(f"an array of {array.dtype}, expected real numbers")
    dtype = np.result_type(*arrays) if arrays else np.result_type(float)
    return dtype if np.issubdtype(dtype, np.floating) else np.result_type(float)
''',
    "_check_index": '''
def _check_index(name, array, axis, size):
    """ValueError where the array does not hold indices of the axis; while JAX traces, only its dtype is known."""
    known = not isinstance(array, jax.core.Tracer)
    if not np.issubdtype(array.dtype, np.integer) or known and np.any((array < 0) | (array >= size)):
        raise ValueError(f"axis {axis}: {name} must hold integers from 0 to {size - 1}")
''',
}
SPECIAL = {"erf": "erf({0})", "lgamma": "gammaln({0})", "digamma": "digamma({0})", "trigamma": "polygamma(1, {0})"}

JAX = Dialect(
    "JAX",
    "jnp",
    ("import math", "import jax", "import jax.numpy as jnp", "import numpy"),
    RESERVED | {"math", "jax", "jnp", "numpy", "float"},
    functions=FUNCTIONS | {k: Function(f"jax.scipy.special.{text}") for k, text in SPECIAL.items()},
    snippets=SNIPPETS | OWN,
    zero_place="np.asarray(0)",
    number_module="numpy.",
    divide="numpy.divide({0}, {1}).item()",
    float_power="numpy.float_power({0}, {1}).item()",
    no_dtype="np.result_type(float)",
    result="np.asarray({0}, {dtype})",
    copied="np.asarray({0}, {dtype})",
    spread="np.broadcast_to(np.asarray({0}, {dtype}), {1})",
    root="math.sqrt({0})",
    quiet="",
    wide="",
    in_place=False,
)

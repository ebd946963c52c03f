"""For tests of kernels: someone's function against a verified formula, with no tolerance to choose.

>>> from derive.testing import assert_implements
>>> assert_implements(my_softmax_backward, "softmax.vjp", dtype="float32")  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from derive.guard.check import Outcome

LISTENERS: list[Callable[[Outcome], None]] = []  # told of each outcome of assert_implements: by the pytest plugin

__all__ = ["ImplementationError", "assert_implements", "examine"]


class ImplementationError(AssertionError):
    """The function does not compute the formula; `outcome` holds what was measured."""

    def __init__(self, message: str, outcome: Outcome):
        super().__init__(message)
        self.outcome = outcome


def assert_implements(
    function: Callable[..., Any],
    formula: str | Path,
    *,
    dtype: str | np.dtype | type = "float64",
    ulp: float | None = None,
    arguments: str | Iterable[str] | None = None,
    seed: int = 0,
    batch: int | None = None,
    at: Mapping[str, Any] | None = None,
    sizes: str | Mapping[str, Any] | None = None,
    inside: str | None = None,
    flush: bool = False,
    undefined: str = "any",
    reduction: str = "none",
    ignore_index: int | None = None,
    arrays: str | Callable[[np.ndarray], Any] | None = None,
) -> Outcome:
    """Assert that the function computes the formula within the error that its dtype and the input's condition explain.

    `formula` is "softmax.s", "attention.dQ", or "path/to/file.derive:name": a definition, or a theorem's right side.
    The function gets the formula's variables by name where its parameters are called so, else in the order in which
    they are declared; `arguments="s, g"` says otherwise, and may name definitions, which are handed over correctly
    rounded.

    The allowed error is componentwise; `ulp` replaces it. `inside="float32"` says that a narrower dtype is only that
    of arguments and result. `batch=3` calls with three rows at once; without it that is done only where the function
    refuses the formula's own shapes. `reduction` and `ignore_index` say what becomes of the rows; `flush` allows
    subnormal numbers to become 0; `undefined` is what has to stand where the formula has no value: any, zero or nan.
    `at` is one input, as the message prints it. `sizes` are those that the function takes, where it does not take all:
    "n=16,64 e=d", or {"n": [16, 64], "e": "d"}. `arrays` is numpy, torch, jax or a conversion of NumPy arrays; by
    default the function's module decides.

    Returns the outcome. Raises ImplementationError, an AssertionError, with the whole account; ValueError for what
    cannot be asked.
    """
    __tracebackhide__ = True
    outcome = examine(
        function, formula, dtype=dtype, ulp=ulp, arguments=arguments, seed=seed, batch=batch, at=at, sizes=sizes,
        inside=inside, flush=flush, undefined=undefined, reduction=reduction, ignore_index=ignore_index, arrays=arrays,
    )  # fmt: skip
    for listener in LISTENERS:
        listener(outcome)
    if not outcome.ok or outcome.nothing_checked:
        from derive.guard.message import text

        raise ImplementationError(text(outcome), outcome)
    return outcome


def examine(
    function: Callable[..., Any],
    formula: str | Path,
    *,
    dtype: str | np.dtype | type = "float64",
    ulp: float | None = None,
    arguments: str | Iterable[str] | None = None,
    seed: int = 0,
    batch: int | None = None,
    at: Mapping[str, Any] | None = None,
    sizes: str | Mapping[str, Any] | None = None,
    inside: str | None = None,
    flush: bool = False,
    undefined: str = "any",
    reduction: str = "none",
    ignore_index: int | None = None,
    arrays: str | Callable[[np.ndarray], Any] | None = None,
) -> Outcome:
    """What `assert_implements` finds, as data, whatever it is."""
    import numpy as np

    from derive.guard.check import check
    from derive.guard.expect import Modes

    name = dtype if isinstance(dtype, str) else np.dtype(dtype).name if isinstance(dtype, np.dtype | type) else dtype
    modes = Modes(name, inside, ulp, flush, undefined, reduction, ignore_index)
    return check(function, str(formula), modes, seed, arguments, arrays, batch, at, sizes)

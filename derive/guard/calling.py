"""Calling someone's function: arguments by name or place, arrays of its library in, NumPy arrays out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from derive.guard.cases import Case
from derive.guard.target import Target

Function = Callable[..., Any]


class BadCall(ValueError):
    """The function's parameters do not fit the formula's variables."""


@dataclass(frozen=True)
class Call:
    """How the function is called: the names it is given, in order; by keyword or not; in which library's arrays."""

    function: Function
    names: tuple[str, ...]
    by_name: bool
    arrays: Callable[[np.ndarray], Any]

    def __call__(self, case: Case, given: dict[str, np.ndarray]) -> Any:
        """What the function returns for these arguments, each of them a copy in the case's memory layout."""
        values = {
            n: self.arrays(laid_out(given[n], case.layout)) if _is_array(given[n]) else given[n] for n in self.names
        }
        with np.errstate(all="ignore"):
            return self.function(**values) if self.by_name else self.function(*values.values())


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def prepare_call(function: Function, target: Target, names: Iterable[str] | str | None, arrays: Any) -> Call:
    """The way to call the function. Raises BadCall where its parameters fit no choice of the formula's names."""
    known = [a.name for a in target.arguments]
    more = {*target.definitions, *target.quantity.context.declarations}  # what a function may also ask for by name
    convert = converter(function, arrays)
    if names is not None:
        wanted = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else tuple(names)
        unknown = [n for n in wanted if n not in known and n not in more]
        if unknown:
            raise BadCall(f"{target.name} has no variable {unknown[0]!r}; it has {_listed(target)}")
        return Call(function, wanted, False, convert)
    parameters = _parameters(function)
    if parameters is None:
        return Call(function, tuple(known), False, convert)
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    named = [p.name for p in parameters if p.name in known or (p.name in required and p.name in more)]
    if required and set(required) <= {*known, *more}:
        return Call(function, tuple(named), all(p.kind is not p.POSITIONAL_ONLY for p in parameters), convert)
    room = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if len(required) <= len(known) and (room or places >= len(known)):
        return Call(function, tuple(known), False, convert)
    raise BadCall(
        f"the function takes {', '.join(required) or 'nothing'}, but {target.name} has {_listed(target)}; "
        "say which with arguments="
    )


def _listed(target: Target) -> str:
    known = ", ".join(a.name for a in target.arguments)
    more = ", ".join(target.definitions)
    return f"the variables {known}" + (f" (and {more} computed from them)" if more else "")


def _parameters(function: Function) -> list[inspect.Parameter] | None:
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return None
    return [
        p for p in found if p.kind is not p.VAR_KEYWORD and not (p.kind is p.KEYWORD_ONLY and p.default is not p.empty)
    ]


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """A copy of the array with its entries that way in memory."""
    if layout == "contiguous" or array.ndim == 0:
        return array.copy()
    if layout == "columns":
        return np.array(array, order="F") if array.ndim > 1 else np.repeat(array, 3)[1::3]
    if layout == "reversed":
        return array[..., ::-1].copy()[..., ::-1]
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


# -- libraries ---------------------------------------------------------------------------------------------------------


def _torch(array: np.ndarray) -> Any:
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.array(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def _jax(array: np.ndarray) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(array)


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {"numpy": lambda a: a, "torch": _torch, "jax": _jax, "jaxlib": _jax}


def converter(function: Function, arrays: Any) -> Callable[[np.ndarray], Any]:
    """From NumPy to what the function takes: a library by name, a conversion, or by the function's own module."""
    if callable(arrays):
        return arrays  # type: ignore[no-any-return]
    if arrays is None:
        module = (getattr(function, "__module__", None) or type(function).__module__ or "").split(".")[0]
        return LIBRARIES.get(module, LIBRARIES["numpy"])
    if arrays not in LIBRARIES:
        raise BadCall(f"arrays={arrays!r}: choose of {', '.join(LIBRARIES)}, or give a function of a NumPy array")
    return LIBRARIES[arrays]


def as_array(result: Any) -> np.ndarray:
    """The result as a NumPy array, from anything with `__array__` or DLPack. Raises TypeError for what is none."""
    if hasattr(result, "detach"):
        result = result.detach().cpu()
        if str(getattr(result, "dtype", "")) == "torch.bfloat16":
            import ml_dtypes
            import torch

            return result.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    if not hasattr(result, "__array__") and hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    array = np.asarray(result)
    if array.dtype == object or array.dtype.kind not in "fiubV":
        raise TypeError(f"the function returned {type(result).__name__}, not an array of real numbers")
    return array

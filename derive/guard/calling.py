"""Calling someone's function: arguments by name or place, arrays of its library in, NumPy arrays out."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from derive.guard.cases import Case
from derive.guard.target import Target

Function = Callable[..., Any]


class BadCall(ValueError):
    """The function's parameters do not fit the formula's variables."""


@dataclass(frozen=True)
class Call:
    """How the function is called: the names it is given, in order; in which library's arrays.

    `by_name` says whether its parameters are called so, `by_keyword` whether they are given by keyword, which some
    functions refuse; `asked` whether the library was asked for rather than guessed.
    """

    function: Function
    names: tuple[str, ...]
    by_name: bool
    arrays: Callable[[np.ndarray], Any]
    library: str | None = None
    asked: bool = False
    by_keyword: bool = False

    def __call__(self, case: Case, given: dict[str, np.ndarray]) -> Any:
        """What the function returns for these arguments, each of them a copy in the case's memory layout."""
        values = {
            n: self.arrays(laid_out(given[n], case.layout)) if _is_array(given[n]) else given[n] for n in self.names
        }
        with np.errstate(all="ignore"):
            return self.function(**values) if self.by_keyword else self.function(*values.values())


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def prepare_call(function: Function, target: Target, names: Iterable[str] | str | None, arrays: Any) -> Call:
    """The way to call the function. Raises BadCall where its parameters fit no choice of the formula's names."""
    if not callable(function):
        raise BadCall(f"a function is expected, not {type(function).__name__}")
    known = [a.name for a in target.arguments]
    more = {*target.definitions, *target.quantity.context.declarations}  # what a function may also ask for by name
    convert, library = converter(function, arrays)
    how = (convert, library, arrays is not None)
    if names is not None:
        if not isinstance(names, Iterable):
            raise BadCall(f"arguments={names!r}: names, as in 's, g'")
        wanted = tuple(part.strip() for part in names.split(",")) if isinstance(names, str) else tuple(names)
        unknown = [n for n in wanted if n not in known and n not in more]
        if unknown:
            raise BadCall(f"{target.name} has no variable {unknown[0]!r}; it has {_listed(target)}")
        return Call(function, wanted, False, *how)
    parameters = _parameters(function)
    if parameters is None:
        return Call(function, tuple(known), False, *how)
    if [p.kind for p in parameters] == [inspect.Parameter.VAR_KEYWORD]:
        return Call(function, tuple(known), True, *how, by_keyword=True)
    parameters = [p for p in parameters if p.kind is not p.VAR_KEYWORD]
    required = [p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    named = [p.name for p in parameters if p.name in known or (p.name in required and p.name in more)]
    if required and set(required) <= {*known, *more}:
        first = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][: len(named)]
        return Call(function, tuple(named), True, *how, by_keyword=first != named)
    room = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    if len(required) <= len(known) and (room or places >= len(known)):
        return Call(function, tuple(known), False, *how)
    raise BadCall(
        f"the function takes {', '.join(required) or 'nothing'}, but {target.name} has {_listed(target)}; "
        "say which: arguments='…', or --arguments on the command line"
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
    return [p for p in found if not (p.kind is p.KEYWORD_ONLY and p.default is not p.empty)]


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

    if any(step < 0 for step in array.strides):  # which tensors cannot have
        array = array.copy()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _jax(array: np.ndarray) -> Any:
    import jax.numpy as jnp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a dtype is not enabled, which is an error of ours, not a warning
        return jnp.asarray(array)


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {"numpy": lambda a: a, "torch": _torch, "jax": _jax}
MODULES = {"torch": "torch", "jax": "jax", "jaxlib": "jax"}


def converter(function: Function, arrays: Any) -> tuple[Callable[[np.ndarray], Any], str | None]:
    """From NumPy to what the function takes: a library by name, a conversion, or by the function's own module."""
    if callable(arrays):
        return arrays, None
    if arrays is None:
        library = MODULES.get(module_of(function).split(".")[0], "numpy")
        return LIBRARIES[library], library
    if arrays not in LIBRARIES:
        raise BadCall(f"arrays={arrays!r}: choose of {', '.join(LIBRARIES)}, or give a function of a NumPy array")
    return LIBRARIES[arrays], arrays


def module_of(function: Function) -> str:
    """The name of the module that the function, or its type, says it is from; empty where it says nothing."""
    for thing in (function, type(function)):
        try:
            name = getattr(thing, "__module__", None)
        except Exception:  # of an object that computes it
            continue
        if isinstance(name, str):
            return name
    return ""


def loaded_libraries(call: Call) -> Iterator[Call]:
    """The same call in the arrays of each library that is loaded, where none was asked for."""
    for library in ("torch", "jax"):
        if not call.asked and library in sys.modules and call.library == "numpy":
            yield replace(call, arrays=LIBRARIES[library], library=library)


NO_FLOAT64 = 'JAX holds no float64 until jax.config.update("jax_enable_x64", True)'


def as_array(result: Any) -> np.ndarray:
    """The result as a NumPy array, from anything with `__array__` or DLPack. Raises TypeError for what is none."""
    if hasattr(result, "detach"):
        result = result.detach().cpu()
        if str(getattr(result, "dtype", "")) == "torch.bfloat16":
            import ml_dtypes
            import torch

            return result.contiguous().view(torch.int16).numpy().view(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
    if not hasattr(result, "__array__") and hasattr(result, "__dlpack__"):
        return np.from_dlpack(result)
    try:
        array = np.asarray(result)
    except ValueError:  # lists of different lengths
        array = np.asarray(None)
    if array.dtype == object or array.dtype.kind not in "fiubV":
        what = type(result).__name__
        kind = f"{what} of {array.dtype}" if isinstance(result, np.ndarray | np.generic) else what
        raise TypeError(f"the function returned {kind}, not an array of real numbers")
    return array

"""Records as data for JSON, and back: frozen dataclasses of words, numbers, tuples and mappings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def plain(value: Any) -> Any:
    """The record as lists, dictionaries, words and numbers."""
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return [[plain(key), plain(item)] for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    assert value is None or isinstance(value, str | int | float), f"{value!r} is no data"
    return value


def restored(kind: Any, data: Any) -> Any:
    """The record of this type that `plain` made the data of. Raises TypeError or ValueError where it is none."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        if not isinstance(data, dict) or set(data) != {f.name for f in fields(kind)}:
            raise ValueError(f"no {kind}")
        return kind(**{name: restored(hints[name], item) for name, item in data.items()})  # type: ignore[operator]
    if origin is tuple and isinstance(data, list):
        if arguments[-1] is Ellipsis:
            return tuple(restored(arguments[0], item) for item in data)
        return tuple(restored(one, item) for one, item in zip(arguments, data, strict=True))
    if origin is Mapping and isinstance(data, list):
        return {restored(arguments[0], key): restored(arguments[1], item) for key, item in data}
    if origin in (Union, UnionType):
        inner = next(one for one in arguments if (one is type(None)) == (data is None))
        return restored(inner, data)
    if kind is type(None) and data is None:
        return None
    if isinstance(kind, type) and isinstance(data, kind):
        return data
    raise TypeError(f"{data!r} is no {kind}")

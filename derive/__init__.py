"""Derivations found, checked and explained. The names below are loaded when first used: importing derive is light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["LanguageError", "Theorem", "Theory", "__version__", "check", "load", "loads"]

if TYPE_CHECKING:
    from derive.api import Theorem, Theory, check, load, loads
    from derive.language.errors import LanguageError

_HOMES = dict.fromkeys(("Theorem", "Theory", "check", "load", "loads"), "derive.api")
_HOMES["LanguageError"] = "derive.language.errors"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'derive' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

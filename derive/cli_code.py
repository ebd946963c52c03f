"""`derive code`: the source of a quantity, and the theorem that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from derive.language.theory import Theory

if TYPE_CHECKING:
    from derive.codegen import Quantity

BACKENDS = ("numpy",)


class Refused(Exception):
    """There is no code for it, and the message says why."""


@dataclass(frozen=True)
class Code:
    """Source code; `theorem` of `owner` is what must be proved for it to be right, None for a plain definition."""

    source: str
    owner: Theory
    theorem: str | None


def code_of(theory: Theory, name: str | None, wrt: str | None = None) -> Code:
    """The code of a named quantity, or of its reverse mode by a variable. KeyError where there is no such name."""
    from derive.codegen import CodegenError, quantity, reverse_mode

    if wrt is not None and wrt not in theory.declarations:
        raise KeyError(f"{theory.name} has no variable {wrt!r}; there are {', '.join(theory.declarations)}")
    try:
        found = quantity(theory, name or "") if wrt is None else reverse_mode(theory, _definition(theory, name), wrt)
        owner, theorem = _behind(theory, found)
        return Code(found.compile().source, owner, theorem)
    except CodegenError as why:
        raise Refused(str(why)) from None
    except KeyError:
        wrong = f"has no quantity {name!r}" if name else f"is a theory: name a quantity of it, {theory.name}.QUANTITY"
        names = [*theory.definitions, *(t.name for t in theory.theorems if wrt is None)]
        raise KeyError(f"{theory.name} {wrong}; there are {', '.join(names)}") from None


def _definition(theory: Theory, name: str | None) -> str:
    if name not in theory.definitions:
        raise KeyError(name)
    return name


def _behind(theory: Theory, found: Quantity) -> tuple[Theory, str | None]:
    """The theorem that the quantity is taken from."""
    from derive.codegen.quantities import theorems

    for owner, theorem in theorems(theory):
        if found.title == f"{owner.name}.{theorem.name}":
            return owner, theorem.name
    return theory, None

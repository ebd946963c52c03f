"""`derive code`: the source of a quantity, and the theorems that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from derive.language import load
from derive.language.theory import Theory
from derive.language.words import instead

if TYPE_CHECKING:
    from derive.codegen import Quantity
    from derive.engine.verdict import TheoryResult


BACKENDS = ("numpy", "torch", "jax", "js")  # the keys of codegen.backends, which is not imported to name them


class Refused(Exception):
    """There is no code for it, and the message says why."""


@dataclass(frozen=True)
class Code:
    """What is to be written; `rests_on` are the theorems that must be proved for it to be right: of it, of its form."""

    quantity: Quantity
    backend: str
    rests_on: tuple[tuple[Theory, str], ...]

    def source(self, results: Sequence[TheoryResult] = ()) -> str:
        """The source, with what was found of the theorems in its heading."""
        from derive.codegen import backends

        notes = tuple(line for result in results for line in _notes(result))
        return backends.BACKENDS[self.backend](replace(self.quantity, notes=notes))


def code_of(
    theory: Theory,
    name: str | None,
    wrt: str | None,
    backend: str,
    proved: Callable[[Theory, str], bool],
) -> Code:
    """The code of a named quantity, or of its reverse mode by a variable. KeyError where there is no such name.

    A theorem says what the reverse mode is if it is `proved`.
    """
    from derive.codegen import CodegenError, quantity, reverse_mode

    try:
        found = quantity(theory, name or "")
    except KeyError:
        wrong = f"has no quantity {name!r}" if name else f"is a theory: name a quantity of it, {theory.name}.QUANTITY"
        names = [*theory.definitions, *(t.name for t in theory.theorems)]
        raise KeyError(f"{theory.name} {wrong}; {instead(name or '', names)}") from None
    except CodegenError as why:
        raise Refused(str(why)) from None
    variables = found.context.declarations
    if wrt is not None and wrt not in variables:
        raise KeyError(f"{theory.name} has no variable {wrt!r}; {instead(wrt, variables)}")
    try:
        if wrt is not None:
            found = reverse_mode(theory, name or "", wrt, lambda owner, theorem: proved(owner, theorem.name))
        code = Code(found, backend, _behind(theory, found))
        code.source()
        return code
    except CodegenError as why:
        raise Refused(str(why)) from None


def _behind(theory: Theory, found: Quantity) -> tuple[tuple[Theory, str], ...]:
    """The theorems that the quantity, or each part of it, is taken from, and those of its stable form."""
    from derive.codegen.quantities import theorems

    titles = {found.title, *(p.title for p in found.parts)}
    own = {f"{owner.name}.{t.name}": (owner, t.name) for owner, t in reversed([*theorems(theory)])}
    own = {title: place for title, place in reversed(own.items()) if title in titles}
    forms = dict.fromkeys(r.theorem for r in found.plan().rewrites)
    others = [form.rpartition(".") for form in forms if form not in own]
    return (*own.values(), *((load(source), name) for source, _, name in others))


def _notes(result: TheoryResult) -> list[str]:
    """Lines that name a theorem, its verdict, and the digests that its claims have in a certificate."""
    from derive.engine.certify import certificate_of

    (checked,) = result.theorems
    (theorem,) = certificate_of(result)["theorems"]
    digests = [f"    sha256 {claim['digest']}" for claim in theorem["claims"]]
    about = f"Theorem {result.theory.name}.{checked.theorem.name}: {checked.verdict}"
    return [f"{about}, certificate", *digests] if digests else [about]

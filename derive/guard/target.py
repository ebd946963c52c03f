"""What an implementation is held against: a named quantity, proved, ready to be evaluated."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from derive.codegen import Argument, Compiled, Quantity, quantity
from derive.codegen.prepare import prepared, reachable
from derive.codegen.quantities import found, last_equation, theorems
from derive.codegen.stable import stabilised
from derive.evidence.inputs import plain
from derive.kernel.context import Context
from derive.language import load
from derive.language.printer import to_text
from derive.language.theory import Theorem, Theory
from derive.language.words import instead
from derive.term import Term


class UnknownTarget(ValueError):
    """The name means no quantity."""


@dataclass(frozen=True)
class Target:
    """The formula, as it is written (`term`) and in its stable form (`stable`), each with its definitions.

    `verdict` is that of the theorem whose right side it is, None for a definition, which claims nothing.
    """

    name: str
    quantity: Quantity
    arguments: tuple[Argument, ...]
    term: Term
    context: Context
    stable: Term
    stable_context: Context
    verdict: str | None
    plain_numpy: Compiled
    handed: tuple[str, ...] = ()  # definitions that the function is given, rounded to the dtype
    sizes: tuple[tuple[str, tuple[int, ...] | str], ...] = ()  # that axes may have, or another axis that has the same

    @property
    def letters(self) -> tuple[Term, ...]:
        return self.quantity.letters

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes whose sizes matter, in order of declaration."""
        used = {axis for a in self.arguments for axis in (*a.axes, a.over) if axis}
        used |= {k.value[1] for k in self.letters} | {a.name for a in self.arguments if a.kind == "size"}
        return tuple(axis for axis in self.context.axes if axis in used)

    @property
    def formula(self) -> str:
        letters = ", ".join(k.value[0] for k in self.letters)
        return f"{self.name}{f'[{letters}]' if letters else ''} = {self.plain_numpy.formula}"

    @property
    def digest(self) -> str:
        """A hash of the formula and of the definitions that it rests on."""
        parts = [self.formula, *(f"{d.name} = {to_text(d.body)}" for d in reachable(self.term, self.context))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def with_arguments(self, names: Iterable[str]) -> Target:
        """The target for a function that is given these: declared variables that its formula ignores, definitions."""
        names = tuple(names)
        own = {a.name for a in self.arguments}
        declared = self.quantity.context.declarations
        more = [declared[n] for n in names if n in declared and n not in own]
        extra = tuple(Argument(d.name, d.name, d.kind, d.axes, d.over) for d in more)
        handed = tuple(n for n in names if n in self.context.definitions)
        return replace(self, arguments=self.arguments + extra, handed=handed) if extra or handed else self

    def allows(self, sizes: Mapping[str, int]) -> bool:
        """Whether the function takes these sizes of the axes."""
        return all(
            sizes[axis] == sizes[allowed] if isinstance(allowed, str) else sizes[axis] in allowed
            for axis, allowed in self.sizes
            if axis in sizes
        )

    def together(self, axis: str) -> tuple[str, ...]:
        """The axis and those that have its size; none where it has that of another one."""
        if any(a == axis and isinstance(allowed, str) for a, allowed in self.sizes):
            return ()
        return (axis, *(a for a, allowed in self.sizes if allowed == axis))

    @property
    def definitions(self) -> tuple[str, ...]:
        return tuple(d.name for d in reachable(self.term, self.context))


def split(name: str) -> tuple[str, str]:
    """The theory, a catalogue name or a file, and the quantity: "softmax.vjp", "path/to/mine.derive:gelu"."""
    file = re.fullmatch(r"(.*\.derive)[:.]([^:/\\]+)", name)
    source, _, what = (file[1], ".", file[2]) if file else name.partition(".")
    if not source or not what:
        raise UnknownTarget(f"{name!r} names no quantity: write softmax.vjp or path/to/file.derive:name")
    return source, what


def resolve(name: str, folder: Path | None = None) -> Target:
    """The quantity of that name, files from the folder. Raises UnknownTarget, LanguageError, CodegenError."""
    source, what = split(name)
    path = Path(source)
    if source.endswith(".derive"):
        path = path if path.is_absolute() or folder is None else folder / path
        return _resolved(str(path), what, path.stat().st_mtime_ns if path.exists() else 0)
    return _resolved(source, what, 0)


@lru_cache(maxsize=64)
def _resolved(source: str, what: str, stamp: int) -> Target:
    theory = load(source)
    try:
        q = quantity(theory, what)
        owner, place, _, _ = found(theory, what)
    except KeyError as problem:
        known = [*theory.definitions, *(t.name for _, t in theorems(theory))]
        raise UnknownTarget(f"{problem.args[0]}; {instead(what.strip(), known)}") from None
    return target_of(q, f"{theory.name}.{what}", _verdict(owner, place) if isinstance(place, Theorem) else None)


def target_of(q: Quantity, name: str, verdict: str | None = None) -> Target:
    """The target that a quantity is. Raises CodegenError for what cannot be vectorised."""
    term, context = prepared(q.term, plain(q.context), q.fixed)
    stable, stable_context, _ = stabilised(term, context)
    code = q.compile(stable=True)
    return Target(name, q, code.arguments, term, context, stable, stable_context, verdict, code)


def _verdict(theory: Theory, theorem: Theorem) -> str:
    """The verdict on the equation whose right side is taken."""
    from derive.engine.check import check_theory

    claim = last_equation(theorem)
    result = check_theory(theory, only=theorem.name)[theorem.name]
    return next(c.verdict for c in result.claims if c.claim is claim)

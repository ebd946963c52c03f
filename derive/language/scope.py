"""What the names of a theory mean at a point of its text."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from derive.kernel.context import Declaration, Definition
from derive.language.source import Source
from derive.language.words import RESERVED, USAGE, is_name, other_name
from derive.term import Term, subterms


def _chain() -> MutableMapping[str, Any]:
    return ChainMap()


@dataclass
class Scope:
    """The names known so far: of the file, or of one theorem on top of the file's.

    `upcoming` holds every name the text declares at this level, with its line, whether or not it has been reached: a
    letter or a local name may be none of them. `finite` holds the sizes that a finite example fixes.
    """

    source: Source
    upcoming: dict[str, int]
    imports: dict[str, int] = field(default_factory=dict)  # names that the text imports, likewise
    parent: Scope | None = None
    axes: MutableMapping[str, int] = field(default_factory=_chain)  # with the line
    declarations: MutableMapping[str, Declaration] = field(default_factory=_chain)
    letters: MutableMapping[str, Term] = field(default_factory=_chain)  # declared indices
    definitions: MutableMapping[str, Definition] = field(default_factory=_chain)
    random: MutableMapping[str, bool] = field(default_factory=_chain)  # random names, and definitions that rest on them
    depths: MutableMapping[str, int] = field(default_factory=_chain)  # of definitions, written out
    sizes: MutableMapping[str, int] = field(default_factory=_chain)  # likewise
    lines: MutableMapping[str, tuple[str, int]] = field(default_factory=_chain)  # what each name is, and where
    finite: dict[str, int] = field(default_factory=dict)

    def inner(self, upcoming: dict[str, int]) -> Scope:
        """An empty scope on top of this one."""
        tables = ("axes", "declarations", "letters", "definitions", "random", "depths", "sizes", "lines")
        return Scope(self.source, upcoming, {}, self, **{t: getattr(self, t).new_child() for t in tables})

    def names(self) -> Iterator[str]:
        """Every name known here."""
        yield from self.lines

    def shape(self, name: str) -> tuple[str, ...] | None:
        """The axes of a declared or defined name, outermost first, or None if it is neither."""
        if name in self.declarations:
            return self.declarations[name].axes
        if name in self.definitions:
            return tuple(k.value[1] for k in self.definitions[name].letters)
        return None

    def planned(self, name: str) -> int | None:
        """The line on which the name is declared or defined at top level or in this theorem, sooner or later."""
        for table in (self.upcoming, self.imports):
            if name in table:
                return table[name]
        return self.parent.planned(name) if self.parent else None

    def claim_name(self, name: str, node: ast.AST, what: str) -> None:
        """Enter a name that is declared or defined here. Refuses reserved, repeated and hiding names."""
        refuse_word(self.source, name, node, "declared")
        known = self.lines.get(name)
        if known and self.parent is not None and name in self.parent.lines:
            raise self.source.error(
                node,
                f"{name!r} would hide the {known[0]} of {came_from(known[1])}",
                "local names differ from those of the file",
            )
        if known:
            hint = "it came with an import and need not be declared again" if known[1] == 0 else "use another name"
            raise self.source.error(node, f"{name!r} is already the {known[0]} of {came_from(known[1])}", hint)
        if self.parent is not None and (later := self.parent.planned(name)) is not None:
            raise self.source.error(
                node, f"{name!r} would hide the name of line {later}", "local names differ from those of the file"
            )
        self.lines[name] = (what, getattr(node, "lineno", 0))

    def check_letter(self, name: str, node: ast.AST, declared: bool = False) -> None:
        """Refuse a letter that is a word of the language, or a declared or defined name.

        With `declared`, a declared index is welcome: it gives the letter its axis.
        """
        refuse_word(self.source, name, node, "an index letter")
        if declared and name in self.letters:
            return
        if name in self.lines:
            what, line = self.lines[name]
            raise self.source.error(
                node,
                f"{name!r} cannot be a letter: it is the {what} of {came_from(line)}",
                f"use another letter, say {self.spare(1)[0]!r}",
            )
        if (later := self.planned(name)) is not None:
            raise self.source.error(
                node,
                f"{name!r} cannot be a letter: line {later} declares it",
                f"use another letter, say {self.spare(1)[0]!r}",
            )

    def spare(self, count: int) -> list[str]:
        """Letters that are no declared names, for examples in hints."""
        letters = [*"ijklmpqrtuvw", *(f"i{n}" for n in range(1, count + 1))]
        return [c for c in letters if c not in self.lines and self.planned(c) is None][:count]

    def measure(self, term: Term) -> tuple[int, int]:
        """Depth and size of the term with all definitions written out."""
        depth: dict[Term, int] = {}
        size: dict[Term, int] = {}
        for t in reversed(_ordered(term)):
            here = 1 + max((depth[a] for a in t.args), default=0)
            depth[t] = here + (self.depths[t.value] if t.op == "def" else 0)
            size[t] = 1 + sum(size[a] for a in t.args) + (self.sizes[t.value] if t.op == "def" else 0)
        return depth[term], size[term]

    def add_definition(self, definition: Definition, line: int) -> None:
        """Enter a definition with what is known of it; `line` is 0 for one that comes from elsewhere."""
        name = definition.name
        self.depths[name], self.sizes[name] = self.measure(definition.body)
        self.definitions[name] = definition
        self.lines[name] = ("definition", line)
        if self.is_random(definition.body):
            self.random[name] = True

    def is_random(self, term: Term) -> bool:
        """Whether a random name occurs outside every E, Var and Cov."""
        stack, seen = [term], set()
        while stack:
            t = stack.pop()
            if t in seen or t.op in ("E", "Var", "Cov"):
                continue
            seen.add(t)
            if t.op in ("var", "def") and self.random.get(t.value):
                return True
            stack.extend(t.args)
        return False


def _ordered(term: Term) -> list[Term]:
    """The subterms, each before its own subterms."""
    return sorted(subterms(term), key=lambda t: -t.depth)


def came_from(line: int) -> str:
    """Where a name was declared: its line, 0 for an import."""
    return f"line {line}" if line else "an import"


def refuse_word(source: Source, name: str, node: ast.AST, what: str) -> None:
    """Refuse a name that is a word of the language or no proper identifier."""
    if name in RESERVED:
        use = f"; it is used as {USAGE[name]}" if name in USAGE else ""
        other = f"{name}_" if isinstance(node, ast.FunctionDef) else other_name(name, ())  # a theorem is no letter
        raise source.error(
            node,
            f"{name!r} is a word of the language and cannot be {what}{use}",
            f"call it {other!r}, for example",
        )
    if not is_name(name):
        raise source.error(
            node, f"{name!r} is not a name", "names are made of ASCII or Greek letters, digits and underscores"
        )

"""JavaScript from the same plan as NumPy's code: arrays as functions of their letters, without imports.

The code is for one point, which is taken at each place of leading batch axes. A vector is a Float64Array or an array of
numbers, a matrix an array of rows, and so on. Every definition, every subexpression used twice, and every reduction
that does not depend on the letters around it becomes a statement of its own, so nothing is computed twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from derive.codegen.emit import COSTLY, STEMS, canonical, repeated
from derive.codegen.heading import DOUBLE, accuracy, heading
from derive.codegen.js.helpers import needed, snippet
from derive.codegen.js.rows import ROWS
from derive.codegen.js.text import RESERVED, Text, commented, wrapped
from derive.codegen.source import Argument, Plan, Quantity, parameter
from derive.codegen.value import CodegenError
from derive.language.printer import to_text
from derive.term import Term, alpha, subterms

HOISTED = frozenset({"sum", "prod", "max", "min", "argmax"})
SHARED = COSTLY - {"delta", "cmp"}  # cheap, or a condition


def javascript(quantity: Quantity, stable: bool = True, module: bool = True, batch: bool = True) -> str:
    """The source of the quantity as one JavaScript function, with the helpers that it calls before it.

    `module` puts `export` before it; `batch` has it take leading batch axes. Raises CodegenError, by name, for what has
    no form.
    """
    return Writer(quantity.plan(stable, RESERVED)).source(module, batch)


class Writer:
    """Collects the statements of one function."""

    def __init__(self, plan: Plan):
        self.plan, self.context, self.fixed = plan, plan.context, frozenset(plan.quantity.fixed)
        self.names = plan.parameters()
        letters = {k.value[0] for b in plan.bodies for t in subterms(b) for k in (*t.bound, *t.letters)}
        letters |= {k.value[0] for k in plan.quantity.letters}
        self.taken = {*self.names.values(), *RESERVED, *letters}
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}
        self.least: dict[str, int] = {}
        self.scope: dict[Term, str] = {}
        self.known: dict[object, str] = {}  # the names of subexpressions, whose letters are numbered
        self.definitions: dict[str, tuple[bool, ...]] = {}  # which letters of it are axes of its array
        self.shared = repeated(plan.bodies, self.fixed)
        self.sizes: set[str] = set()

    def source(self, module: bool, batch: bool) -> str:
        q = self.plan.quantity
        body = self._body()
        head = self._head()
        name = parameter(q.name, RESERVED)
        arguments = ", ".join(a.parameter for a in self.plan.arguments)
        spread = [a for a in self.plan.arguments if a.kind != "size"] if batch else []
        about = heading((self.plan,), bool(spread), stated=accuracy(self.plan, DOUBLE, corrected=False))
        function = f"{'export ' * module}function {name}({arguments}) {{"
        statements = [*head, *self.lines, f"return {body};"]
        inside = [line for s in self._at_each_place(statements, spread) for line in s]
        own = "\n".join([*commented(about), function, *inside, "}"])
        every = sorted({k for name in self.helpers for k in needed(name)})
        return "\n\n".join([*(self._renamed(snippet(name), every) for name in every), own]) + "\n"

    def _at_each_place(self, statements: list[str], spread: list[Argument]) -> Iterator[list[str]]:
        """The lines of the statements, which are carried out at each place of batch axes of the arguments, if any."""
        if not spread:
            yield from map(wrapped, statements)
            return
        given = ", ".join(f"[{a.parameter}, {len(a.axes)}]" for a in spread)
        inner = ", ".join(a.parameter for a in spread)
        results = len(self.plan.results)
        yield wrapped(f"return {self.helper('_batched')}({results}, [{given}], ({inner}) => {{")
        for statement in statements:
            yield wrapped(statement, "    ")
        yield ["  });"]

    def _renamed(self, text: str, every: list[str]) -> str:
        for name in every:
            text = re.sub(rf"\b{name}\b", self.helper(name), text)
        return text

    def _head(self) -> list[str]:
        """Statements that read the sizes and check the arguments."""
        arguments, lines = self.plan.arguments, []
        arrays = [a for a in arguments if a.axes]
        read_off = list(dict.fromkeys(axis for a in arrays for axis in a.axes))
        self.sizes |= {a.over for a in arguments if a.kind == "index" and a.over}
        used = [axis for axis in read_off if axis in self.sizes or axis in self.least]
        if arrays:
            shapes = ", ".join(
                f"[{a.parameter}, {', '.join(json.dumps(word) for word in (a.name, *a.axes))}]" for a in arrays
            )
            known = [a for a in arguments if a.kind == "size" and any(a.name in b.axes for b in arrays)]
            assert not known, "a size is an argument where no array shows it"
            call = f"{self.helper('_sizes')}([{', '.join(map(json.dumps, used))}], [{shapes}])"
            left = f"const [{', '.join(self.names[axis] for axis in used)}] = " if used else ""
            lines.append(f"{left}{call};")
        for axis, least in sorted(self.least.items()):
            lines.append(f"{self.helper('_atLeast')}({json.dumps(axis)}, {self.names[axis]}, {least});")
        for a in arguments:
            if a.kind == "index" and a.over:
                words = f"{json.dumps(a.name)}, {a.parameter}, {json.dumps(a.over)}, {self.names[a.over]}"
                lines.append(f"{self.helper('_checkIndex')}({words});")
        return lines

    def _body(self) -> str:
        found = [self._result(term, letters) for term, letters in self.plan.results]
        return f"[{', '.join(found)}]" if self.plan.quantity.parts else found[0]

    def _result(self, term: Term, letters: tuple[Term, ...]) -> str:
        if term.op in ("cmp", "and", "or", "not", "true", "false", "all", "any", "holds"):
            raise CodegenError(f"a condition is not a quantity: {to_text(term)}")
        if term.op == "def" and term.args == letters and all(self.definition(term.value)):
            return self.names[term.value]
        return self.array(letters, lambda: self.value(term))

    # -- statements --

    def array(self, letters: tuple[Term, ...], entry: Callable[[], Text]) -> str:
        """The expression for the array over the letters of the entries, outside any other letter."""
        own: dict[Term, str] = {}
        for letter in letters:
            own[letter] = self.letter(letter, own)
        with self.inside(own):
            text = entry().text
        for place, letter in reversed(list(enumerate(letters))):
            helper = self.helper("_array" if place == len(letters) - 1 else "_rows")
            text = f"{helper}({self.size(letter.value[1])}, ({own[letter]}) => {text})"
        return text

    def assign(self, name: str, text: str) -> None:
        self.lines.append(f"const {name} = {text};")

    def definition(self, name: str) -> tuple[bool, ...]:
        """Emits the array of the definition's values where it is first used; which letters are axes of it."""
        if name not in self.definitions:
            definition = self.context.definitions[name]
            body = definition.body
            letters = tuple(k for k in definition.letters if k in body.letters)
            form, order = canonical(body, self.fixed)
            key = alpha(form)
            if body.op in SHARED and key not in self.known:
                self.assign(self.names[name], self.array(letters, lambda: ROWS[body.op](self, body)))
                if order == letters:
                    self.known[key] = self.names[name]
            else:
                self.assign(self.names[name], self.array(letters, lambda: self.value(body)))
            self.definitions[name] = tuple(k in letters for k in definition.letters)
        return self.definitions[name]

    @contextmanager
    def inside(self, scope: dict[Term, str]) -> Iterator[None]:
        outer, self.scope = self.scope, scope
        yield
        self.scope = outer

    def letter(self, letter: Term, others: Mapping[Term, str]) -> str:
        """The name of a loop's letter: its own, unless something else has it."""
        name = letter.value[0]
        clash = name in self.names.values() or name in RESERVED or not name.isidentifier()
        taken = {n for k, n in others.items() if k is not letter}
        return self.fresh("i") if clash or name in taken else name

    def fresh(self, stem: str) -> str:
        name, number = stem, 1
        while name in self.taken:
            number += 1
            name = f"{stem}{number}"
        self.taken.add(name)
        return name

    def helper(self, name: str) -> str:
        if name not in self.helpers:
            self.helpers[name] = self.fresh(name)
        return self.helpers[name]

    def size(self, axis: str) -> str:
        self.sizes.add(axis)
        return self.names.get(axis, axis)

    # -- expressions --

    def value(self, term: Term) -> Text:
        """The expression for the term where its free letters are those of the scope."""
        row = ROWS.get(term.op)
        if row is None:
            raise CodegenError(f"{term.op} has no JavaScript form: {to_text(term)}")
        if term.op not in SHARED:
            return row(self, term)
        form, letters = canonical(term, self.fixed)
        key = alpha(form)
        if key not in self.known:
            loose = term.op in HOISTED and not set(self.scope) <= set(letters)
            if key not in self.shared and not loose:
                return row(self, term)
            text = self.array(letters, lambda: row(self, term))
            name = self.fresh(STEMS.get(term.op) or STEMS.get(term.value) or "t")
            self.assign(name, text)
            self.known[key] = name
        return Text(self.known[key] + "".join(f"[{self.scope[k]}]" for k in letters))

    def place(self, term: Term) -> str:
        """The expression for something that stands as a subscript."""
        if term.op == "index":
            return self.names[term.value[0]] if term in self.fixed else self.scope[term]
        declared = self.context.declarations.get(term.value) if term.op == "var" else None
        if term.op == "argmax" or (declared is not None and declared.kind == "index"):
            return self.value(term).text
        if term.op == "num":
            return str(term.value)
        raise CodegenError(f"a subscript is a letter, an index or an argmax, not {to_text(term)}")

    def is_place(self, term: Term) -> bool:
        return term.op in ("index", "argmax")

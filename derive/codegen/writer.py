"""Writes the module of a function: imports, helpers, signature, checks of the shapes, body."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from derive.codegen.dialect import Dialect, function_name
from derive.codegen.emit import Emitter
from derive.codegen.heading import printable
from derive.codegen.ops import NARROW
from derive.codegen.placing import Axes, Made, early, hoisted, operands, placed, target_of, words
from derive.codegen.value import CodegenError, Value, aligned
from derive.language.printer import to_text
from derive.term import Term, subterms

if TYPE_CHECKING:
    from derive.codegen.source import Argument, Plan

Results = list[tuple[Value, tuple[Term, ...]]]


class Writer:
    """Writes the module for one term."""

    def __init__(self, plans: tuple[Plan, ...], dialect: Dialect, work: str = "float64"):
        """The first of the `plans` is for the dtype that is computed in, a second one for what is rounded from it.

        `work` is the least dtype to compute in, "" for that of the arguments, whatever it is.
        """
        self.plans, self.dialect, self.work = plans, dialect, work
        plan = plans[0]
        self.quantity, self.term, self.context = plan.quantity, plan.term, plan.context
        self.bodies, arguments = plan.bodies, plan.arguments
        self.arrays = [a for a in arguments if a.kind not in ("size", "index")]
        self.indices = [a for a in arguments if a.kind == "index"]
        self.sizes = [a for a in arguments if a.kind == "size"]
        self.arguments = arguments
        self.helpers: dict[str, str] = {}
        self.used_sizes: set[str] = set()
        self.least: dict[str, int] = {}
        self.emitter = self._emitter(plan)

    def _emitter(self, plan: Plan, large: frozenset[Axes] = frozenset()) -> Emitter:
        """A new one; what it notes of helpers and sizes is for the whole module."""
        names = {*plan.parameters().values(), *plan.reserved}
        emitter = Emitter(plan.context, plan.quantity.fixed, plan.parameters(), names, self.dialect)
        emitter.reciprocal = plan.form.reciprocal
        emitter.corrected, emitter.large = plan.form.corrected and self.dialect.in_place, large
        emitter.doubles = plan.form.doubled and self.work == "float64" and self.dialect.blocks
        if self.work and self.dialect.wide and any(a.kind not in ("bit", "integer") for a in self.arrays):
            emitter.dtype = emitter.fresh("wide")
        emitter.helpers, emitter.sizes, emitter.least = self.helpers, self.used_sizes, self.least
        self.out = emitter.fresh("out") if self.dialect.blocks else ""
        for letter in plan.quantity.letters:
            emitter.rank.setdefault(letter, len(emitter.rank))
        emitter.share(plan.bodies)
        return emitter

    def module(self, text: list[str]) -> str:
        """The source of the module; `text` is its docstring."""
        body = self._body()
        parameters = [a.parameter for a in self.arguments]
        out = [f"{self.out}=None"] if self.blocked else []
        name = function_name(self.quantity.name, self.dialect.reserved)
        signature = f"def {name}({', '.join(parameters + out)}):"
        statements = self._in_library([*self._head(body), *body])
        inside = [part for line in _indented(statements) for part in _broken(line)]
        function = "\n".join([signature, *_indented(docstring(text)), *inside])
        helpers = sorted(self.emitter.helpers.items())
        own = dict(helpers)
        texts = [re.sub(r"\b_\w+", lambda m: own.get(m[0], m[0]), self.dialect.snippets[key]) for key, _ in helpers]
        snippets = self._in_library([text.strip() for text in texts])
        code = "\n".join([*snippets, *statements])
        imports = [line for line in self.dialect.imports if re.search(rf"\b{line.split()[-1]}\.", code)]
        return "\n\n\n".join(filter(None, ["\n".join(imports), *snippets, function])) + "\n"

    @property
    def blocked(self) -> bool:
        """Whether the results are written to arrays, some batch entries at a time."""
        return self.dialect.blocks and bool(self.arrays or self.indices)

    def _in_library(self, lines: list[str]) -> list[str]:
        return [re.sub(r"(?<![\w.])np\.", f"{self.dialect.module}.", line) for line in lines]

    def _head(self, body: list[str]) -> list[str]:
        """Statements that make arrays of the arguments and read the sizes off their shapes."""
        e = self.emitter
        lines = [f"{a.parameter} = int({a.parameter})" for a in self.sizes]
        leading = [a for a in self.arrays if a.kind not in ("bit", "integer")] or []
        if leading:
            lines.append(f"{e.result} = {e.helper('_dtype')}({', '.join(a.parameter for a in leading)})")
        else:
            lines.append(f"{e.result} = {self.dialect.no_dtype}")
        if e.dtype != e.result:
            lines.append(f"{e.dtype} = {self.dialect.wide.format(e.result, self.work)}")
        known: set[str] = {a.name for a in self.sizes}
        for a in self.arrays:
            kept = self.blocked and a.kind not in ("bit", "integer")  # made wide block by block
            lines.append(f"{a.parameter} = {e.written('stored' if kept else 'array', a.parameter)}")
        for a in self.indices:
            lines.append(f"{a.parameter} = {e.written('places', a.parameter)}")
        if any(re.search(rf"\bdevice={e.device}\b", line) for line in body):
            first = next((a.parameter for a in (*self.arrays, *self.indices)), None)
            lines.append(f"{e.device} = {f'{first}.device' if first else None}")
        axes = [axis for a in (*self.arrays, *self.indices) for axis in a.axes]
        axes += [a.over for a in self.indices if a.over]
        for a in (*self.arrays, *self.indices):
            for place, axis in enumerate(a.axes, start=-len(a.axes)):
                size = e.parameter(axis)
                call = f'{e.helper("_size")}("{axis}", "{a.name}", {a.parameter}, {place}'
                use = f"{size} = " if axis in e.sizes or axes.count(axis) > 1 else ""
                lines.append(f"{call}, {size})" if axis in known else f"{use}{call})")
                known.add(axis)
        for axis, least in sorted(e.least.items()):
            lines.append(f'{e.helper("_at_least")}("{axis}", {e.parameter(axis)}, {least})')
        for a in self.indices:
            lines.append(
                f'{e.helper("_check_index")}("{a.name}", {a.parameter}, "{a.over}", {e.parameter(a.over or "")})'
            )
        return lines

    def _body(self) -> list[str]:
        e = self.emitter
        if self.blocked:
            return self._blocked()
        values = self._values(e, self.plans[0])
        fitted = [e.fitted([v], NARROW)[0] for v, _ in values]
        found = [self._result(v, k) for v, (_, k) in zip(fitted, values, strict=True)]
        lines = [*e.lines, *_spread("return ", found, "")] if len(found) > 1 else [*e.lines, f"return {found[0]}"]
        return self._quietly(lines, e.guarded)

    def _values(self, e: Emitter, plan: Plan) -> Results:
        """The results with the letters of their axes; the emitter has the statements."""
        values = []
        for term, letters in plan.results:
            value = e.value(term)
            if value.kind == "truth":
                raise CodegenError(f"a condition is not a quantity: {to_text(term)}")
            values.append((value, letters))
        return values

    def multiplies_matrices(self) -> bool:
        """Whether there is a product of two matrices in it, which costs more than all else."""
        e = self._emitter(self.plans[0])
        self._values(e, self.plans[0])
        return e.multiplies

    def _quietly(self, lines: list[str], guarded: bool) -> list[str]:
        """The statements, without warnings of parts that are not taken."""
        quiet = self.dialect.quiet if guarded else ""
        return [quiet, *_indented(lines)] if quiet else lines

    def _blocked(self) -> list[str]:
        """The statements for some batch entries at a time, the last ones writing to the results."""
        e, several = self.emitter, len(self.plans[0].results) > 1
        letters = [k for _, k in self.plans[0].results]
        batch = self._shape(())
        made = []
        if "(" in batch and (several or len(batch) > 75):
            name = e.fresh("batch")
            made, batch = [f"{name} = {batch}"], name
            if len(made[0]) > 116:
                call, inside = made[0].removesuffix(")").split("(", 1)
                made = [f"{call}(", f"    {inside}", ")"]
        shapes = [self._shape(k, batch) for k in letters]
        if several:
            places = [f"{self.out}[{p}]" for p in range(len(letters))]
            made.append(f"{self.out} = {self.out} or (None,) * {len(letters)}")
            calls = [f"{e.helper('_out')}({p}, {s}, {e.result})" for p, s in zip(places, shapes, strict=True)]
            made += _spread(f"{self.out} = ", calls, "")
        else:
            places = [self.out]
            made += [f"{self.out} = {e.helper('_out')}({self.out}, {shapes[0]}, {e.result})"]
        lines, guarded = self._loop(self.plans[0], places)
        if len(self.plans) > 1 and self._loop(self.plans[1], places) != (lines, guarded):
            rounded, warns = self._loop(self.plans[1], places, rounded=True)
            guarded = guarded or warns
            test, note = f"if {e.result} == {e.dtype}:", f"else:  # computed in {self.work} and rounded"
            lines = [test, *_indented(lines), note, *_indented(rounded)]
        scalar = not several and not letters[0]
        lines = self._quietly(lines, guarded)
        return [*made, *lines, f"return {self.out}{'[()]' if scalar else ''}"]

    def _loop(self, plan: Plan, places: list[str], rounded: bool = False) -> tuple[list[str], bool]:
        """The statements that fill the results at these places by one plan, and whether they may warn in vain.

        Where what is computed is `rounded` afterwards, the arguments are copies, which may be written over.
        """
        learning = self._emitter(plan)
        letters = [k for _, k in self._values(learning, plan)]
        spans = _largest({*learning.spans, *letters})
        e = self._emitter(plan, frozenset(spans) - {()})
        values = self._values(e, plan)
        prefix = f"{e.fresh('room')}"
        names = [e.fresh(f"{p.name}_out" if len(values) > 1 else "result") for p in plan.quantity.parts or (0,)]
        values = [(v if v.letters == k else e.fitted([v], NARROW)[0], k) for v, k in values]
        values = [(e.alone(v), k) for v, k in values] if rounded else values
        lines = early(e.lines)
        for (value, k), target in zip(values, names, strict=True):
            if rounded and value.letters == k:
                lines.append(f"{target}[...] = {value.text}")
            else:
                _store(e, lines, value, k, target)
        given = [a for a in (*self.arrays, *self.indices) if self._is_used(a)] or [*self.arrays, *self.indices][:1]
        owned = {
            a.parameter: a.axes for a in given if rounded and a in self.arrays and a.kind not in ("bit", "integer")
        }
        found = placed(lines, e.made, e.large, owned, prefix)
        targets = [*(a.parameter for a in given), *names, *found.room]
        before, inside = hoisted(found.lines, {*targets})
        copied = {a.parameter: ", True" if a.parameter in found.written else "" for a in given}
        arguments = ", ".join(f"({a.parameter}, {len(a.axes)}{copied[a.parameter]})" for a in given)
        as_it_is = ", True" if rounded else ""
        results = ", ".join(f"({p}, {len(k)}{as_it_is})" for p, (_, k) in zip(places, values, strict=True))
        sizes = [f"2 * {e.size_of(span)}" if e.doubled else e.size_of(span) for span in spans]
        of = [f"max({', '.join(sizes)})" if len(sizes) > 1 else sizes[0], e.dtype, f"[{arguments}]", f"[{results}]"]
        if found.room:
            of.append(f"[{', '.join(self._own_shape(k) for k in found.room.values())}]")
        loop = [f"for {', '.join(targets)} in {e.helper('_blocks')}({', '.join(of)}):"]
        if len(loop[0]) > 108:
            loop = _spread(f"for {', '.join(targets)} in {e.helper('_blocks')}", of, ":")
        return [*before, *loop, *_indented(inside)], e.guarded

    def _result(self, value: Value, letters: tuple[Term, ...]) -> str:
        """The value with the result's axes, in the arguments' dtype, a scalar where there are no axes."""
        arranged = aligned(value, letters)
        unused = [a for a in (*self.arrays, *self.indices) if not self._is_used(a)]
        if set(value.letters) == set(letters) and not unused and not (value.kind == "number" and self.arrays):
            return self.emitter.written("copied" if self._is_view() else "result", arranged.text)
        shape = self.emitter.fresh("shape")
        self.emitter.lines.append(f"{shape} = {self._shape(letters)}")
        return self.emitter.written("spread", arranged.text, shape)

    def _is_view(self) -> bool:
        """Whether the result is entries of an argument, which the caller must not find changed through it."""
        term = self.term
        while term.op == "def":
            term = self.context.definitions[term.value].body
        return term.op == "var"

    def _shape(self, letters: tuple[Term, ...], batch: str | None = None) -> str:
        """The shape of a result: the batch axes of all arguments, by name where they have one, then its own."""
        batches = [
            f"{a.parameter}.shape[:-{len(a.axes)}]" if a.axes else f"{a.parameter}.shape"
            for a in (*self.arrays, *self.indices)
        ]
        if batch is None:
            batch = batches[0] if len(batches) == 1 else f"np.broadcast_shapes({', '.join(batches)})" if batches else ""
        own = self._own_shape(letters) if letters else ""
        return " + ".join(filter(None, (batch, own))) or "()"

    def _own_shape(self, letters: tuple[Term, ...]) -> str:
        sizes = [self.emitter.size_name(k.value[1]) for k in letters]
        return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"

    def _is_used(self, argument: Argument) -> bool:
        letters = {k.value[0] for b in self.bodies for t in subterms(b) for k in t.letters}
        return argument.name in letters | {n for b in self.bodies for n in b.names}


def _store(e: Emitter, lines: list[str], value: Value, letters: tuple[Term, ...], target: str) -> None:
    """Have the value written to the target: by the operation that makes it where that is one."""
    made = e.made.get(value.text, Made(value.into))
    if value.kind != "array" or value.letters != letters or not made.into:
        lines.append(f"{target}[...] = {aligned(value, letters).text}")
    elif value.text not in e.made:
        lines.append(f"{made.into}, out={target})")
    else:
        place = next(p for p, line in enumerate(lines) if target_of(line) == value.text)
        used = any(value.text in words(line) for line in lines[place + 1 :])
        lines[place] = f"{f'{value.text} = ' if used else ''}{made.into}, out={target})"
        e.made[value.text] = Made("")  # another result that is the same is copied


def _spread(before: str, parts: list[str], after: str) -> list[str]:
    """The parts in parentheses, one a line."""
    return [f"{before}(", *(f"    {part}," for part in parts), f"){after}"]


def _largest(spans: set[tuple[Term, ...]]) -> list[tuple[str, ...]]:
    """The axes of those arrays that no other array has, and more."""
    axes = {tuple(sorted(k.value[1] for k in span)) for span in spans}
    inside = {a for a in axes for b in axes if a != b and not Counter(a) - Counter(b)}
    return sorted(axes - inside)


def docstring(text: list[str]) -> list[str]:
    """The lines of a docstring literal that holds exactly this text."""
    safe = [_escaped(line) for line in text]
    return [f'"""{safe[0]}"""'] if len(safe) == 1 else [f'"""{safe[0]}', *safe[1:], '"""']


def _escaped(line: str) -> str:
    return printable(line).replace('"', '\\"')


LINE = 120  # characters


def _broken(line: str) -> list[str]:
    """A statement that ends in a call, with its arguments on lines of their own where it is too long for one."""
    before, _, inside = line.partition("(")
    call = inside.removesuffix(")")
    if len(line) <= LINE or call == inside or not _is_closed(call):
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    if len(indent) + 4 + len(call) <= LINE:
        return [f"{before}(", f"{indent}    {call}", f"{indent})"]
    first, *parts, last = _spread(before, operands(line[:-1]), "")
    return [first, *(indent + part for part in parts), indent + last]


def _is_closed(text: str) -> bool:
    """Whether every parenthesis that closes in the text was opened in it, and the other way round."""
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]

"""A whole module of source for one function: imports, helpers, signature, checks of the shapes, body."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from derive.codegen.dialect import NUMPY, RESERVED, Dialect
from derive.codegen.emit import Emitter
from derive.codegen.forms import Form, form_of, narrowed
from derive.codegen.heading import LIBRARY, OWN, accuracy, heading, printable
from derive.codegen.ops import NARROW
from derive.codegen.prepare import prepared, reachable
from derive.codegen.stable import Rewrite, stabilised
from derive.codegen.value import CodegenError, Value, aligned
from derive.kernel.context import Context
from derive.language.printer import to_text
from derive.term import Term, subterms


@dataclass(frozen=True)
class Argument:
    """One argument: its name, kind and axes. A size has kind "size", an index kind "index" and its axis in `over`."""

    name: str
    parameter: str
    kind: str
    axes: tuple[str, ...] = ()
    over: str | None = None


@dataclass(frozen=True)
class Compiled:
    """A quantity as NumPy source, and the function that it defines.

    `formula` is the quantity in the formula language, `letters` the index letters of the result's last axes, `rewrites`
    the stable forms that were put in.
    """

    name: str
    formula: str
    source: str
    arguments: tuple[Argument, ...]
    letters: tuple[Term, ...]
    rewrites: tuple[Rewrite, ...]

    @cached_property
    def function(self) -> Any:
        """The function itself. Most code is written to be read or compared, and never run."""
        return _function(self.source, self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The quantity at these arrays, given by name or in the order of `arguments`."""
        names = {a.name: a.parameter for a in self.arguments}
        return self.function(*args, **{names.get(k, k): v for k, v in kwargs.items()})


@dataclass(frozen=True)
class Part:
    """One of several results of a function."""

    name: str
    letters: tuple[Term, ...]
    title: str
    formula: str


@dataclass(frozen=True)
class Quantity:
    """What is compiled: a term, its context, the letters that become the result's axes, the fixed indices.

    `letters` are the axes of the result, in that order; `fixed` letters become integer arguments. Variables named in
    `first` come first, those in `also` are arguments even where the term does not hold them. `formula` is what the
    docstring shows, by default the term; `given` are hypotheses that the docstring names; `notes` are lines at its end.
    Where there are `parts`, the term is the list of them, and the function returns them all.
    """

    name: str
    term: Term
    context: Context
    letters: tuple[Term, ...] = ()
    fixed: tuple[Term, ...] = ()
    first: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    title: str = ""
    formula: str = ""
    given: tuple[Term, ...] = ()
    notes: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    def plan(self, stable: bool | str | Form = True, reserved: frozenset[str] = RESERVED) -> Plan:
        """What any language's code is written from. Raises CodegenError for what has no array form."""
        form = form_of(stable)
        if not self.name.isidentifier():
            raise CodegenError(f"a function cannot be called {self.name!r}")
        formula = self.formula or to_text(self.term)
        term, context = prepared(self.term, self.context, self.fixed)
        term, context, rewrites = stabilised(term, context, form.rows)
        missing = term.letters - set(self.letters) - set(self.fixed)
        if missing:
            raise CodegenError(f"no axis for the letter {sorted(k.value[0] for k in missing)[0]} in {formula}")
        arguments = _arguments(self, term, context, reserved)
        return Plan(self, formula, term, context, rewrites, arguments, reserved, form)

    def compile(self, stable: bool | str | Form = True, wide: bool = True, brief: bool = False) -> Compiled:
        """The quantity as a vectorised NumPy function. Raises CodegenError, by name, for what cannot be vectorised.

        `stable` says in which of the `forms`: the best one, none at all, or that one. Dtypes narrower than float64 are
        computed in float64 and rounded once, or, where not `wide`, in themselves. A `brief` docstring states no bound.
        """
        plan = self.plan(stable if wide else narrowed(form_of(stable)))
        stated = () if brief else accuracy(plan) if wide else accuracy(plan, OWN, narrow=True)
        source = _Writer(plan, NUMPY, wide).module(heading(plan, stated=stated))
        return Compiled(self.name, plan.formula, source, plan.arguments, self.letters, plan.rewrites)

    def source(self, dialect: Dialect, stable: bool = True) -> str:
        """The same function as source for another array library."""
        plan = self.plan(narrowed(form_of(stable)), dialect.reserved)
        return _Writer(plan, dialect).module(
            heading(plan, stated=accuracy(plan, LIBRARY, corrected=False, narrow=True))
        )


@dataclass(frozen=True)
class Plan:
    """A quantity made ready for code: stable forms put in, derivatives carried out, the arguments known."""

    quantity: Quantity
    formula: str
    term: Term
    context: Context
    rewrites: tuple[Rewrite, ...]
    arguments: tuple[Argument, ...]
    reserved: frozenset[str]  # names that mean something in the language of the code
    form: Form

    @property
    def bodies(self) -> list[Term]:
        """The term and the bodies of the definitions that it rests on."""
        return [self.term, *(d.body for d in reachable(self.term, self.context))]

    @property
    def results(self) -> tuple[tuple[Term, tuple[Term, ...]], ...]:
        """What the function returns: each term with the letters of its axes."""
        parts = self.quantity.parts
        if not parts:
            return ((self.term, self.quantity.letters),)
        return tuple((term, part.letters) for term, part in zip(self.term.args, parts, strict=True))

    def parameters(self) -> dict[str, str]:
        """The name in the code of each name of the theory."""
        context = self.context
        known = {*context.declarations, *context.definitions, *context.axes}
        known |= {k.value[0] for k in self.quantity.fixed}
        return {n: parameter(n, known, self.reserved) for n in known}


def compile_term(
    term: Term,
    context: Context,
    name: str = "function",
    letters: tuple[Term, ...] | None = None,
    fixed: tuple[Term, ...] = (),
    stable: bool = True,
) -> Compiled:
    """The term as a vectorised NumPy function.

    `letters` are the free letters that become the result's axes, in that order (default: all that are not `fixed`, by
    name); `fixed` letters become integer arguments. `stable=False` keeps to what is written. Raises CodegenError, by
    name, for what cannot be vectorised.
    """
    letters = tuple(sorted(term.letters - set(fixed), key=lambda k: k.value)) if letters is None else letters
    return Quantity(name, term, context, letters, fixed).compile(stable)


def _function(source: str, name: str) -> Any:
    """The function that the source defines. The source is ours: of a user's text it holds names and numbers only."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<derive {name}>", "exec"), namespace)
    return namespace[name]


def _arguments(q: Quantity, term: Term, context: Context, reserved: frozenset[str]) -> tuple[Argument, ...]:
    """The arrays in order of declaration, then the fixed indices, then the sizes that no array shows."""
    bodies = [term, *(d.body for d in reachable(term, context))]
    parts = {t for b in bodies for t in subterms(b)}
    names = {n for b in bodies for n in b.names} | set(q.also)
    order = [*q.first, *(n for n in context.declarations if n in names and n not in q.first)]
    known = {*context.declarations, *context.definitions, *context.axes}

    def argument(name: str, kind: str, axes: tuple[str, ...] = (), over: str | None = None) -> Argument:
        return Argument(name, parameter(name, known, reserved), kind, axes, over)

    declared = [context.declarations[n] for n in order]
    arrays = [argument(d.name, d.kind, d.axes, d.over) for d in declared]
    indices = [argument(k.value[0], "index", (), k.value[1]) for k in q.fixed if k in parts]
    needed = {k.value[1] for t in parts for k in (*t.bound, *t.letters) if k not in q.fixed}
    needed |= {t.value for t in parts if t.op == "size"} | {k.value[1] for k in q.letters} | {a.over for a in indices}
    read = {axis for a in arrays for axis in a.axes}
    sizes = [argument(axis, "size") for axis in context.axes if axis in needed - read]
    return (*arrays, *indices, *sizes)


def parameter(name: str, known: set[str], reserved: frozenset[str] = RESERVED) -> str:
    """The name, with an underscore behind it where it is reserved."""
    while name in reserved or (name.endswith("_") and name in known and name.rstrip("_") in reserved):
        name += "_"
    return name


class _Writer:
    """Writes the module for one term."""

    def __init__(self, plan: Plan, dialect: Dialect, wide: bool = True):
        self.dialect = dialect
        self.quantity, self.term, self.context = plan.quantity, plan.term, plan.context
        self.bodies, self.arguments, parameters = plan.bodies, plan.arguments, plan.parameters()
        arguments, names = plan.arguments, {*parameters.values(), *plan.reserved}
        self.emitter = Emitter(self.context, plan.quantity.fixed, parameters, names, dialect)
        self.emitter.corrected = plan.form.corrected and dialect.in_place
        if wide and dialect.wide and any(a.kind not in ("bit", "integer", "index", "size") for a in arguments):
            self.emitter.dtype = self.emitter.fresh("wide")
        self.arrays = [a for a in arguments if a.kind not in ("size", "index")]
        self.indices = [a for a in arguments if a.kind == "index"]
        self.sizes = [a for a in arguments if a.kind == "size"]
        self.results = plan.results
        self.out = self.emitter.fresh("out") if dialect.blocks else ""

    def module(self, text: list[str]) -> str:
        """The source of the module; `text` is its docstring."""
        body = self._body()
        parameters = [a.parameter for a in self.arguments]
        out = [f"{self.out}=None"] if self.blocked else []
        signature = f"def {self.quantity.name}({', '.join(parameters + out)}):"
        statements = self._in_library([*self._head(body), *body])
        function = "\n".join([signature, *_indented([*docstring(text), *statements])])
        helpers = sorted(self.emitter.helpers.items())
        snippets = self._in_library([self.dialect.snippets[key].strip().replace(key, own) for key, own in helpers])
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
            lines.append(f"{e.dtype} = {self.dialect.wide.format(e.result)}")
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
        for letter in self.quantity.letters:
            e.rank.setdefault(letter, len(e.rank))
        e.share(self.bodies)
        values = []
        for term, letters in self.results:
            value = e.value(term)
            if value.kind == "truth":
                raise CodegenError(f"a condition is not a quantity: {to_text(term)}")
            values.append((value, letters))
        if self.blocked:
            return self._blocked(values)
        else:
            fitted = [e.fitted([v], NARROW)[0] for v, _ in values]
            found = [self._result(v, k) for v, (_, k) in zip(fitted, values, strict=True)]
            lines = [*e.lines, *_spread("return ", found if len(found) > 1 else [], "")] if len(found) > 1 else []
            lines = lines or [*e.lines, f"return {found[0]}"]
        return self._quietly(lines)

    def _quietly(self, lines: list[str]) -> list[str]:
        """The statements, without warnings of parts that are not taken."""
        quiet = self.dialect.quiet if self.emitter.guarded else ""
        return [quiet, *_indented(lines)] if quiet else lines

    def _blocked(self, values: list[tuple[Value, tuple[Term, ...]]]) -> list[str]:
        """The statements for some batch entries at a time, the last ones writing to the results."""
        e, several = self.emitter, len(values) > 1
        batch = self._shape(())
        made = []
        if "(" in batch and (several or len(batch) > 75):
            name = e.fresh("batch")
            made, batch = [f"{name} = {batch}"], name
            if len(made[0]) > 116:
                call, inside = made[0].removesuffix(")").split("(", 1)
                made = [f"{call}(", f"    {inside}", ")"]
        shapes = [self._shape(letters, batch) for _, letters in values]
        names = [e.fresh(f"{p.name}_out" if several else "result") for p in self.quantity.parts or (self.quantity,)]
        values = [(v if v.letters == k else e.fitted([v], NARROW)[0], k) for v, k in values]
        lines = list(e.lines)
        for (value, letters), target in zip(values, names, strict=True):
            self._store(lines, value, letters, target)
        spans = [e.size_of(span) for span in _largest({*e.spans, *(k for _, k in values)})]
        size = f"max({', '.join(spans)})" if len(spans) > 1 else spans[0]
        given = [a for a in (*self.arrays, *self.indices) if self._is_used(a)] or [*self.arrays, *self.indices][:1]
        arguments = f"[{', '.join(f'({a.parameter}, {len(a.axes)})' for a in given)}]"
        if several:
            places = [f"{self.out}[{p}]" for p in range(len(values))]
            made.append(f"{self.out} = {self.out} or (None,) * {len(values)}")
            calls = [f"{e.helper('_out')}({p}, {s}, {e.result})" for p, s in zip(places, shapes, strict=True)]
            made += _spread(f"{self.out} = ", calls, "")
        else:
            places = [self.out]
            made += [f"{self.out} = {e.helper('_out')}({self.out}, {shapes[0]}, {e.result})"]
        results = f"[{', '.join(f'({p}, {len(k)})' for p, (_, k) in zip(places, values, strict=True))}]"
        targets = ", ".join([*(a.parameter for a in given), *names])
        of = [size, arguments, results, *([e.dtype] if e.dtype != e.result else [])]
        loop = [f"for {targets} in {e.helper('_blocks')}({', '.join(of)}):"]
        if len(loop[0]) > 110:
            loop = _spread(f"for {targets} in {e.helper('_blocks')}", of, ":")
        scalar = not several and not values[0][1]
        return [*made, *self._quietly([*loop, *_indented(lines)]), f"return {self.out}{'[()]' if scalar else ''}"]

    def _store(self, lines: list[str], value: Value, letters: tuple[Term, ...], target: str) -> None:
        """Have the value written to the target: by the operation that makes it where that is one."""
        place, into = self.emitter.into.get(value.text, (None, value.into))
        if value.kind != "array" or value.letters != letters or not into:
            lines.append(f"{target}[...] = {aligned(value, letters).text}")
        elif place is None:
            lines.append(f"{into}, out={target})")
        else:
            used = any(re.search(rf"\b{value.text}\b", line) for line in lines[place + 1 :])
            lines[place] = f"{f'{value.text} = ' if used else ''}{into}, out={target})"
            self.emitter.into[value.text] = (None, "")  # another result that is the same is copied
            if not used:
                self.emitter.into[target] = (None, "")

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
        sizes = [self.emitter.size_name(k.value[1]) for k in letters]
        own = f"({', '.join(sizes)}{',' * (len(sizes) == 1)})" if sizes else ""
        return " + ".join(filter(None, (batch, own))) or "()"

    def _is_used(self, argument: Argument) -> bool:
        letters = {k.value[0] for b in self.bodies for t in subterms(b) for k in t.letters}
        return argument.name in letters | {n for b in self.bodies for n in b.names}


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


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]

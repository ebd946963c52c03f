"""A whole module of source for one function: imports, helpers, signature, checks of the shapes, body."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

from derive.codegen.emit import Emitter
from derive.codegen.helpers import SNIPPETS
from derive.codegen.prepare import prepared, reachable
from derive.codegen.stable import Rewrite, stabilised
from derive.codegen.value import CodegenError, Value, aligned
from derive.kernel.context import Context, Declaration, Definition
from derive.language.printer import to_text
from derive.term import Term, subterms

# What the sources use of Python; a variable of such a name becomes a parameter with an underscore behind it.
RESERVED = frozenset({"np", "int", "isinstance", "hasattr", "filter", "ValueError", "None", "True", "False"})


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
    function: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The quantity at these arrays, given by name or in the order of `arguments`."""
        names = {a.name: a.parameter for a in self.arguments}
        return self.function(*args, **{names.get(k, k): v for k, v in kwargs.items()})


@dataclass(frozen=True)
class Quantity:
    """What is compiled: a term, its context, the letters that become the result's axes, the fixed indices.

    `letters` are the axes of the result, in that order; `fixed` letters become integer arguments. Variables named in
    `first` come first, those in `also` are arguments even where the term does not hold them. `formula` is what the
    docstring shows, by default the term; `given` are hypotheses that the docstring names.
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

    def compile(self, stable: bool = True) -> Compiled:
        """The quantity as a vectorised NumPy function. Raises CodegenError, by name, for what cannot be vectorised."""
        if not self.name.isidentifier():
            raise CodegenError(f"a function cannot be called {self.name!r}")
        formula = self.formula or to_text(self.term)
        term, context = prepared(self.term, self.context, self.fixed)
        term, context, rewrites = stabilised(term, context) if stable else (term, context, ())
        missing = term.letters - set(self.letters) - set(self.fixed)
        if missing:
            raise CodegenError(f"no axis for the letter {sorted(k.value[0] for k in missing)[0]} in {formula}")
        arguments = _arguments(self, term, context)
        source = _Writer(self, term, context, arguments).module(formula, rewrites)
        return Compiled(self.name, formula, source, arguments, self.letters, rewrites, _function(source, self.name))


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


def _equation(definition: Definition) -> str:
    letters = ", ".join(k.value[0] for k in definition.letters)
    return f"{definition.name}{f'[{letters}]' if letters else ''} = {to_text(definition.body)}"


def _function(source: str, name: str) -> Any:
    """The function that the source defines. The source is ours: of a user's text it holds names and numbers only."""
    namespace: dict[str, Any] = {}
    exec(compile(source, f"<derive {name}>", "exec"), namespace)
    return namespace[name]


def _arguments(q: Quantity, term: Term, context: Context) -> tuple[Argument, ...]:
    """The arrays in order of declaration, then the fixed indices, then the sizes that no array shows."""
    bodies = [term, *(d.body for d in reachable(term, context))]
    parts = {t for b in bodies for t in subterms(b)}
    names = {n for b in bodies for n in b.names} | set(q.also)
    order = [*q.first, *(n for n in context.declarations if n in names and n not in q.first)]
    known = {*context.declarations, *context.definitions, *context.axes}
    arrays = [_argument(context.declarations[n], known) for n in order]
    indices = [
        Argument(k.value[0], _parameter(k.value[0], known), "index", (), k.value[1]) for k in q.fixed if k in parts
    ]
    needed = {k.value[1] for t in parts for k in (*t.bound, *t.letters) if k not in q.fixed}
    needed |= {t.value for t in parts if t.op == "size"} | {k.value[1] for k in q.letters} | {a.over for a in indices}
    read = {axis for a in arrays for axis in a.axes}
    sizes = [Argument(axis, _parameter(axis, known), "size") for axis in context.axes if axis in needed - read]
    return (*arrays, *indices, *sizes)


def _argument(declaration: Declaration, known: set[str]) -> Argument:
    d = declaration
    return Argument(d.name, _parameter(d.name, known), d.kind, d.axes, d.over)


def _parameter(name: str, known: set[str]) -> str:
    while name in RESERVED or (name.endswith("_") and name in known and name.rstrip("_") in RESERVED):
        name += "_"
    return name


class _Writer:
    """Writes the module for one term."""

    def __init__(self, q: Quantity, term: Term, context: Context, arguments: tuple[Argument, ...]):
        self.quantity, self.term, self.context, self.arguments = q, term, context, arguments
        self.bodies = [term, *(d.body for d in reachable(term, context))]
        known = {*context.declarations, *context.definitions, *context.axes, *(k.value[0] for k in q.fixed)}
        parameters = {n: _parameter(n, known) for n in known}
        self.emitter = Emitter(context, q.fixed, parameters, {*parameters.values(), *RESERVED})
        self.arrays = [a for a in arguments if a.kind not in ("size", "index")]
        self.indices = [a for a in arguments if a.kind == "index"]
        self.sizes = [a for a in arguments if a.kind == "size"]

    def module(self, formula: str, rewrites: tuple[Rewrite, ...]) -> str:
        """The source of the module."""
        body = self._body()
        signature = f"def {self.quantity.name}({', '.join(a.parameter for a in self.arguments)}):"
        function = "\n".join([signature, *_indented([*self._docstring(formula, rewrites), *self._head(), *body])])
        snippets = [SNIPPETS[key].strip().replace(key, own) for key, own in sorted(self.emitter.helpers.items())]
        return "\n\n\n".join(["import numpy as np", *snippets, function]) + "\n"

    def _head(self) -> list[str]:
        """Statements that make arrays of the arguments and read the sizes off their shapes."""
        e = self.emitter
        lines = [f"{a.parameter} = int({a.parameter})" for a in self.sizes]
        leading = [a for a in self.arrays if a.kind not in ("bit", "integer")] or []
        if leading:
            lines.append(f"{e.dtype} = {e.helper('_dtype')}({', '.join(a.parameter for a in leading)})")
        else:
            lines.append(f"{e.dtype} = np.dtype(np.float64)")
        known: set[str] = {a.name for a in self.sizes}
        for a in self.arrays:
            lines.append(f"{a.parameter} = np.asarray({a.parameter}, {e.dtype})")
        for a in self.indices:
            lines.append(f"{a.parameter} = np.asarray({a.parameter})")
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
        (value,) = e.fitted([e.value(self.term)])
        if value.kind == "truth":
            raise CodegenError(f"a condition is not a quantity: {to_text(self.term)}")
        result = self._result(value)
        lines = [*e.lines, f"return {result}"]
        return ['with np.errstate(all="ignore"):', *_indented(lines)] if e.guarded else lines

    def _result(self, value: Value) -> str:
        """The value with the result's axes, in the arguments' dtype, a scalar where there are no axes."""
        whole = set(value.letters) == set(self.quantity.letters)
        arranged = aligned(value, self.quantity.letters)
        unused = [a for a in (*self.arrays, *self.indices) if a.name not in self._occurring()]
        if whole and not unused and not (value.kind == "number" and self.arrays):
            copy = "np.array" if self._is_view() else "np.asarray"
            return f"{copy}({arranged.text}, {self.emitter.dtype})[()]"
        shape = self.emitter.fresh("shape")
        self.emitter.lines.append(f"{shape} = {self._shape()}")
        return f"np.array(np.broadcast_to({arranged.text}, {shape}), {self.emitter.dtype})[()]"

    def _is_view(self) -> bool:
        """Whether the result is entries of an argument, which the caller must not find changed through it."""
        term = self.term
        while term.op == "def":
            term = self.context.definitions[term.value].body
        return term.op == "var"

    def _shape(self) -> str:
        """The result's shape: the batch axes of all arguments, then the result's own."""
        batches = [
            f"{a.parameter}.shape[:-{len(a.axes)}]" if a.axes else f"{a.parameter}.shape"
            for a in (*self.arrays, *self.indices)
        ]
        batch = batches[0] if len(batches) == 1 else f"np.broadcast_shapes({', '.join(batches)})" if batches else ""
        own = (
            f"({', '.join(self.emitter.size_name(k.value[1]) for k in self.quantity.letters)},)"
            if self.quantity.letters
            else ""
        )
        return " + ".join(filter(None, (batch, own))) or "()"

    def _occurring(self) -> set[str]:
        letters = {k.value[0] for b in self.bodies for t in subterms(b) for k in t.letters}
        return letters | {n for b in self.bodies for n in b.names}

    def _docstring(self, formula: str, rewrites: tuple[Rewrite, ...]) -> list[str]:
        q = self.quantity
        axes = f"[{', '.join(k.value[0] for k in q.letters)}]" if q.letters else ""
        shown = [d for d in reachable(q.term, q.context) if not (q.term.op == "def" and d.name == q.term.value)]
        where = [line for d in reversed(shown) for line in _wrapped(f"    {_equation(d)}", 8)]
        parts = [
            _wrapped(f"{q.title or q.name}{axes} = {formula}"),
            ["where", *where] if where else [],
            [line for h in q.given for line in _wrapped(f"Holds where {to_text(h)}.")],
            [f"{a.parameter}: {_described(a)}" for a in self.arguments]
            + (["Leading axes of the arguments are batch axes and broadcast."] if self.arrays else []),
            [f"Stable form: {r.formula}" for r in rewrites],
        ]
        return docstring([line for part in parts if part for line in ("", *part)][1:])


def _wrapped(text: str, indent: int = 4) -> list[str]:
    """The text in lines, the later ones indented."""
    return textwrap.wrap(text, 100, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False)


def _described(a: Argument) -> str:
    axes = f"[{', '.join(a.axes)}]" if a.axes else ""
    if a.kind == "size":
        return "the size of the axis"
    return f"index[{a.over}]{axes}" if a.kind == "index" else f"{a.kind}{axes}"


def docstring(text: list[str]) -> list[str]:
    """The lines of a docstring literal that holds exactly this text."""
    safe = [_escaped(line) for line in text]
    return [f'"""{safe[0]}"""'] if len(safe) == 1 else [f'"""{safe[0]}', *safe[1:], '"""']


def _escaped(line: str) -> str:
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line.replace("\\", "\\\\"))
    return shown.replace('"', '\\"')


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]

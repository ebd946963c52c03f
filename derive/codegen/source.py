"""A whole module of source for one function: imports, helpers, signature, checks of the shapes, body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from derive.codegen.dialect import NUMPY, RESERVED, Dialect, function_name
from derive.codegen.forms import ACCURATE, ROUNDED, Form, form_of, narrowed
from derive.codegen.heading import LIBRARY, accuracy, heading, stated_bounds
from derive.codegen.prepare import prepared, reachable
from derive.codegen.stable import Rewrite, stabilised
from derive.codegen.value import CodegenError
from derive.codegen.writer import Writer
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
        return _function(self.source, function_name(self.name, RESERVED))

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

    def compile(self, stable: bool | str | Form = True, wide: bool | None = None, brief: bool = False) -> Compiled:
        """The quantity as a vectorised NumPy function. Raises CodegenError, by name, for what cannot be vectorised.

        `stable` says in which of the `forms`: the best one, none at all, or that one. `wide` says whether dtypes
        narrower than float64 are computed in float64 and rounded once, or else in themselves. By default they are
        computed wide but where matrices are multiplied: that takes longer than all else and twice as long in float64,
        so it is done in the arguments' dtype, or in float32 if that is narrower. A `brief` docstring states no bound.
        """
        form = form_of(stable)
        plan = self.plan(form)
        work = "float64" if wide else ""
        if wide is None:
            work = "float32" if Writer((plan,), NUMPY).multiplies_matrices() else "float64"
        if work == "float64":
            plans = (plan, self.plan(ROUNDED)) if form is ACCURATE else (plan,)
        else:
            plans = (self.plan(narrowed(form)),)
        stated = [] if brief else stated_bounds(plans, work)
        source = Writer(plans, NUMPY, work).module(heading(plans, stated=stated))
        rewrites = tuple(dict.fromkeys(r for p in plans for r in p.rewrites))
        return Compiled(self.name, plan.formula, source, plan.arguments, self.letters, rewrites)

    def source(self, dialect: Dialect, stable: bool = True) -> str:
        """The same function as source for another array library."""
        plan = self.plan(narrowed(form_of(stable)), dialect.reserved)
        stated = accuracy(plan, LIBRARY, corrected=False, narrow=True)
        return Writer((plan,), dialect).module(heading((plan,), stated=stated))


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
        return {n: parameter(n, self.reserved) for n in known}


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

    def argument(name: str, kind: str, axes: tuple[str, ...] = (), over: str | None = None) -> Argument:
        return Argument(name, parameter(name, reserved), kind, axes, over)

    declared = [context.declarations[n] for n in order]
    arrays = [argument(d.name, d.kind, d.axes, d.over) for d in declared]
    indices = [argument(k.value[0], "index", (), k.value[1]) for k in q.fixed if k in parts]
    needed = {k.value[1] for t in parts for k in (*t.bound, *t.letters) if k not in q.fixed}
    needed |= {t.value for t in parts if t.op == "size"} | {k.value[1] for k in q.letters}
    needed |= {a.over for a in (*arrays, *indices) if a.over}
    read = {axis for a in arrays for axis in a.axes}
    sizes = [argument(axis, "size") for axis in context.axes if axis in needed - read]
    return (*arrays, *indices, *sizes)


def parameter(name: str, reserved: frozenset[str] = RESERVED) -> str:
    """The name, with an underscore behind it where it is reserved but for underscores that it ends with already."""
    return f"{name}_" if name.rstrip("_") in reserved else name

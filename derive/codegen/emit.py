"""Terms to straight-line array code: a statement for each definition and for each subexpression used twice."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import replace

from derive.codegen.dialect import NUMPY, Dialect
from derive.codegen.ops import OPS, WIDTH, place_of_maximum
from derive.codegen.placing import Axes, Made, axes_of
from derive.codegen.value import ATOM, CodegenError, Value
from derive.kernel.context import Context
from derive.language.printer import to_text
from derive.term import TRUE, Term, alpha, index, make, substitute, subterms

# Worth a name when used twice: what costs a pass over an array.
COSTLY = frozenset({"fn", "pow", "div", "mul", "add", "sum", "prod", "max", "min", "argmax", "delta", "where", "cmp"})
STEMS = {
    "max": "peak",
    "min": "low",
    "sum": "total",
    "prod": "product",
    "argmax": "place",
    "delta": "eye",
    "exp": "e",
    "cmp": "test",
}


def canonical(term: Term, fixed: frozenset[Term]) -> tuple[Term, tuple[Term, ...]]:
    """The term with its free letters, but for the fixed ones, numbered in order of appearance; and those letters."""
    letters: list[Term] = []
    seen: set[Term] = set()

    def walk(t: Term) -> None:
        if t in seen or t.letters.isdisjoint(term.letters):
            return
        seen.add(t)
        if t.op == "index":
            letters.append(t)
        for a in t.args:
            walk(a)

    walk(term)
    free = tuple(k for k in letters if k in term.letters and k not in fixed)
    return substitute(term, {k: index(f"#{p}", k.value[1]) for p, k in enumerate(free)}), free


def repeated(terms: Iterable[Term], fixed: frozenset[Term]) -> frozenset[object]:
    """The subexpressions of the terms, up to the names of letters, that are costly and occur more than once."""
    seen: set[object] = set()
    twice: set[object] = set()
    stack = list(terms)
    while stack:
        term = stack.pop()
        if term.op in COSTLY:
            key = alpha(canonical(term, fixed)[0])
            if key in seen:
                twice.add(key)
                continue
            seen.add(key)
        stack.extend(a for a in term.args if a is not TRUE)
    return frozenset(twice)


class Emitter:
    """Collects the statements of one function body.

    Every value is an array over the letters it depends on, whole, so a subexpression has the same value wherever it
    stands and needs computing once, whatever its letters are called.
    """

    def __init__(
        self,
        context: Context,
        fixed: Iterable[Term],
        parameters: Mapping[str, str],
        names: Iterable[str],
        dialect: Dialect = NUMPY,
    ):
        self.context, self.dialect = context, dialect
        self.fixed = frozenset(fixed)  # index letters that are arguments, not axes
        self.lines: list[str] = []
        self.helpers: dict[str, str] = {}  # snippet name -> its name in this source
        self.rank: dict[Term, int] = {}
        self.sizes: set[str] = set()  # the axes whose size the statements use
        self.least: dict[str, int] = {}  # the sizes that integer subscripts need
        self.guarded = False
        self.spans: set[tuple[Term, ...]] = set()  # the letters of what is computed
        self.made: dict[str, Made] = {}  # by name, what a call that takes `out` makes
        self._written: dict[tuple[str, Axes], str] = {}  # the names of what has been written
        self.large: frozenset[Axes] = frozenset()  # the axes, sorted, of arrays that get a statement each
        self.multiplies = False  # whether matrices are multiplied
        self.corrected = False  # whether the rounding of an exponent is put back
        self.doubles = False  # whether differences from a mean are carried as two numbers
        self.rough = False  # whether a head alone stands for a doubled number
        self.doubled = False  # whether something is carried as two numbers
        self._taken = set(names)
        self._parameters = dict(parameters)
        self._definitions: MutableMapping[str, Value] = {}
        self._memo: MutableMapping[object, Value] = {}
        self._shared: frozenset[object] = frozenset()
        self._places: set[object] = set()
        self.reciprocal = False  # whether a division of a whole array by fewer numbers is a product
        self._passing: set[str] = set()  # names that are not the theory's
        self.dtype = self.result = self.fresh("dtype")  # of the body, and of what is returned
        self.device = self.fresh("device") if "{device}" in dialect.arange else ""

    # -- what rows ask for --

    def written(self, row: str, *parts: object) -> str:
        """The text of one of the dialect's rows with its parts filled in."""
        dtype = self.result if row in ("result", "copied", "spread", "stored") else self.dtype
        return str(getattr(self.dialect, row)).format(*parts, dtype=dtype, device=self.device)

    def cast(self, value: Value) -> Value:
        """A place or a test as numbers of the code's dtype."""
        return Value(self.written("cast", value.at(ATOM)), value.letters)

    def value(self, term: Term) -> Value:
        """The array for the term; emits the statements it needs."""
        row = OPS.get(term.op)
        if row is None:
            raise CodegenError(f"{term.op} has no {self.dialect.name} form: {to_text(term)}")
        self.order(term)
        if term.op not in COSTLY:
            return row(self, term)
        form, letters = canonical(term, self.fixed)
        key = alpha(form)
        found = self._memo.get(key)
        numbered = {index(f"#{p}", k.value[1]): k for p, k in enumerate(letters)}
        if found is None:
            value = row(self, term)
            if key in self._shared and value.kind != "number":
                value = self.named(value, STEMS.get(term.op) or STEMS.get(term.value) or "t")
            found = value.relabelled({k: n for n, k in numbered.items()})
            self._memo[key] = found
        return found.relabelled(numbered)

    def place(self, term: Term) -> Value:
        """The integer array for something that stands as a subscript."""
        if term.op == "index" and term in self.fixed:
            return Value(self._parameters[term.value[0]], kind="index")
        if term.op == "index":
            self.order(term)
            return Value(self.written("arange", self.size_name(term.value[1])), (term,), ATOM, "index")
        if term.op == "argmax":
            return self._place_of_maximum(term)
        if term.op == "num":
            return Value(str(term.value), kind="number")
        if self.is_place(term):
            value = self.value(term)
            return Value(value.text, value.letters, value.level, "index")
        raise CodegenError(f"a subscript is a letter, an index or an argmax, not {to_text(term)}")

    def _place_of_maximum(self, term: Term) -> Value:
        """The integer array of an argmax, computed once."""
        form, letters = canonical(term, self.fixed)
        key = ("place", alpha(form))
        numbered = {index(f"#{p}", k.value[1]): k for p, k in enumerate(letters)}
        if key not in self._memo:
            value = self.named(place_of_maximum(self, term), "place")
            self._memo[key] = value.relabelled({k: n for n, k in numbered.items()})
        return self._memo[key].relabelled(numbered)

    def is_place(self, term: Term) -> bool:
        """Whether the term is an index, not a number."""
        declared = self.context.declarations.get(term.value) if term.op == "var" else None
        return term.op in ("index", "argmax") or (declared is not None and declared.kind == "index")

    def variable(self, name: str) -> Value:
        declared = self.context.declarations.get(name)
        if declared is None:
            raise CodegenError(f"{name} is not declared")
        return Value(self._parameters[name], self.own_letters(name, len(declared.axes)))

    def definition(self, name: str) -> Value:
        """The array of a definition's values, computed where it is first used."""
        if name not in self._definitions:
            definition, written = self.context.definitions[name], len(self.lines)
            value = self.value(definition.body)
            value = self._titled(value, self._parameters[name], written) if value.kind != "number" else value
            own = self.own_letters(name, len(definition.letters))
            self._definitions[name] = value.relabelled(dict(zip(definition.letters, own, strict=True)))
        return self._definitions[name]

    @contextmanager
    def roughly(self) -> Iterator[None]:
        """Within it heads stand for doubled numbers; nothing that is made of them is used elsewhere."""
        before = self._memo, self._definitions, self.rough
        self._memo, self._definitions = ChainMap({}, self._memo), ChainMap({}, self._definitions)
        self.rough = True
        yield
        self._memo, self._definitions, self.rough = before

    def own_letters(self, name: str, rank: int) -> tuple[Term, ...]:
        """Letters for the axes of a named array that nothing else uses."""
        declared = self.context.declarations.get(name)
        axes = declared.axes if declared else tuple(k.value[1] for k in self.context.definitions[name].letters)
        if len(axes) != rank:
            raise CodegenError(f"{name} has {len(axes)} axes, not {rank}")
        letters = tuple(index(f"@{p}", axis) for p, axis in enumerate(axes))
        for letter in letters:
            self.rank.setdefault(letter, len(self.rank))
        return letters

    def size_name(self, axis: str) -> str:
        self.sizes.add(axis)
        return self.parameter(axis)

    def size_of(self, axes: Iterable[str]) -> str:
        """The number of entries of an array over the axes."""
        return " * ".join(self.size_name(axis) for axis in axes) or "1"

    def require(self, axis: str, size: int) -> None:
        """Note that the axis must have at least this size."""
        self.sizes.add(axis)
        self.least[axis] = max(size, self.least.get(axis, 1))

    def parameter(self, axis: str) -> str:
        return self._parameters.get(axis, axis)

    def helper(self, name: str) -> str:
        """The name under which the source holds a snippet of `helpers`, and those that it calls."""
        if name not in self.helpers:
            self.helpers[name] = self.fresh(name)
            for called in set(re.findall(r"\b_\w+(?=\()", self.dialect.snippets[name])) & {*self.dialect.snippets}:
                self.helper(called)
        return self.helpers[name]

    def guard(self) -> None:
        """Remember that parts which are not taken may be undefined, so that NumPy must not warn of them."""
        self.guarded = True

    def is_large(self, value: Value) -> bool:
        """Whether it is worth knowing where the array is put."""
        return bool(value.letters) and tuple(sorted(axes_of(value.letters))) in self.large

    def alone(self, value: Value) -> Value:
        """The value, under a name of its own if it is a large array that a call makes."""
        return self.named(value, "t") if value.into and self.is_large(value) else value

    # -- statements --

    def order(self, term: Term) -> None:
        """Give the term's letters a rank, free ones before bound ones, outer ones first."""
        for letter in sorted(term.letters, key=lambda k: k.value):
            self.rank.setdefault(letter, len(self.rank))
        for letter in term.bound:
            self.rank.setdefault(letter, len(self.rank))

    def kept(self, value: Value) -> Value:
        """The value, under a name of its own if its text is long."""
        return self.named(value, "t") if len(value.text) > WIDTH else value

    def is_written(self, value: Value) -> bool:
        """Whether there is a statement that makes the value."""
        return (value.text, axes_of(value.letters)) in self._written

    def named(self, value: Value, stem: str) -> Value:
        if value.text.isidentifier():
            return value
        same = self._written.get((value.text, axes_of(value.letters)))
        if same:  # the same statement again
            return replace(value, text=same, level=ATOM, into="")
        name = self.fresh(stem)
        self._passing.add(name)
        return self._assigned(value, name)

    def fresh(self, stem: str) -> str:
        """A name that nothing in the source has."""
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}{number}"
        self._taken.add(name)
        return name

    def share(self, terms: Iterable[Term]) -> None:
        """Note which subexpressions of the terms get a name, and of which maxima the place is needed too."""
        terms = list(terms)
        self._shared = repeated(terms, self.fixed)
        self._places = {self._key(t) for term in terms for t in subterms(term) if t.op == "argmax"}

    def _key(self, term: Term) -> object:
        return alpha(canonical(term, self.fixed)[0])

    def largest(self, term: Term) -> Term | None:
        """The entry that is the maximum, where its place is needed anyway: reading it there saves a pass."""
        body, condition = term.args
        if not self.dialect.blocks or len(term.bound) != 1 or condition is not TRUE or body.op not in ("var", "def"):
            return None
        place = make("argmax", term.args, None, term.bound)
        return substitute(body, {term.bound[0]: place}) if self._key(place) in self._places else None

    def fitted(self, values: list[Value], width: int = WIDTH) -> list[Value]:
        """The values, the longest under names of their own until the texts together are short enough for a line."""
        values = list(values)
        while sum(len(v.text) + 3 for v in values) > width:
            longest = max(range(len(values)), key=lambda p: len(values[p].text))
            if values[longest].text.isidentifier():
                break
            values[longest] = self.named(values[longest], "t")
        return values

    def _titled(self, value: Value, name: str, written: int) -> Value:
        """The value under the name; where a new statement made it last, under a passing name, that is replaced.

        The first `written` statements are older, and what they made has been handed out.
        """
        new = len(self.lines) > written and self.lines[-1].startswith(f"{value.text} = ")
        if value.text in self._passing and new:
            old = value.text
            self.lines[-1] = name + self.lines[-1].removeprefix(old)
            if old in self.made:
                self.made[name] = self.made.pop(old)
            self._written = {k: name if v == old else v for k, v in self._written.items()}
            self._memo = {k: replace(v, text=name) if v.text == old else v for k, v in self._memo.items()}
            return replace(value, text=name)
        return self._assigned(value, name)

    def sized(self, value: Value) -> Value:
        self.spans.add(value.letters)
        return value

    def _assigned(self, value: Value, name: str) -> Value:
        self.spans.add(value.letters)
        if value.into:
            self.made[name] = Made(value.into, value.letters)
        self._written[value.text, axes_of(value.letters)] = name
        self.lines.append(f"{name} = {value.text}")
        return Value(name, value.letters, ATOM, value.kind)

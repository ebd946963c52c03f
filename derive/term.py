"""The one expression type: frozen, interned terms with binders.

A term is an operator, a payload, the letters it binds and its arguments. Every index letter carries its axis, so a
range stands at every index. Binders are named, as they were written; substitution renames them where a letter would be
captured, and `alike` compares up to the names of bound letters. Nothing is evaluated here: `x - x` stays `x - x`.

| op | value | bound | args |
| --- | --- | --- | --- |
| num | Fraction | | |
| const | "pi" or "oo" | | |
| size | axis | | |
| index | (letter, axis) | | |
| var, def | name | | subscripts |
| add, mul | | | two or more |
| neg; div, pow | | | one; two |
| fn | function name | | its arguments |
| sum, prod, max, min, argmax | | letters | (body, filter) |
| delta | | | (i, j) |
| where | | | (condition, then, else) |
| diff | | | (body, variable entry) |
| at | variable name | letters, in the last argument only | (body, replacement) |
| limit | "+", "-" or "" | | (body, variable, point) |
| E, Var; Cov | | | one; two |
| cmp | "==", "!=", "<", "<=", ">", ">=" | | (left, right) |
| and, or; not; true, false | | | |
| all, any | | letters | (condition, filter) |
| holds | | | (bit,) |
| list | | | entries |
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Annotated, Any

Number = int | Fraction
BINDERS = frozenset({"sum", "prod", "max", "min", "argmax", "all", "any", "at"})
CONDITIONS = frozenset({"cmp", "and", "or", "not", "true", "false", "all", "any", "holds"})
# Operators whose argument is not a value at the point: a hypothesis must not be used beneath them.
NONLOCAL = frozenset({"diff", "at", "limit", "E", "Var", "Cov"})


class Rejected(Exception):
    """The kernel refuses a proof. `step` is the number of the step, from 1, or None for the proof as a whole."""

    def __init__(self, reason: str, step: int | None = None):
        self.reason, self.step = reason, step
        super().__init__(reason if step is None else f"step {step}: {reason}")


class Parts:
    """What a term is made of, before it becomes one and can no longer be changed."""

    __slots__ = ("op", "value", "bound", "args", "letters", "names", "size", "depth", "_alpha", "__weakref__")

    op: str
    value: Any
    bound: tuple[Term, ...]
    args: tuple[Term, ...]
    letters: frozenset[Term]  # the free index letters
    names: frozenset[str]  # the variables and definitions that occur
    size: int  # nodes, as a tree
    depth: int
    _alpha: Any


class Term(Parts):
    """An immutable expression. Equal terms are one object, so `is` and `==` agree and hashing is by identity."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Term cannot be changed")

    def __repr__(self) -> str:
        parts = [repr(self.value)] if self.value is not None else []
        parts += ["/".join(f"{k.value[0]}:{k.value[1]}" for k in self.bound)] if self.bound else []
        return f"{self.op}({', '.join(parts + [repr(a) for a in self.args])})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (make, (self.op, self.args, self.value, self.bound))

    # Formulas are written as such; numbers in them are terms.

    def __add__(self, other: Term | Number) -> Term:
        return add(self, lifted(other))

    def __radd__(self, other: Number) -> Term:
        return add(num(other), self)

    def __sub__(self, other: Term | Number) -> Term:
        return sub(self, lifted(other))

    def __rsub__(self, other: Number) -> Term:
        return sub(num(other), self)

    def __mul__(self, other: Term | Number) -> Term:
        return mul(self, lifted(other))

    def __rmul__(self, other: Number) -> Term:
        return mul(num(other), self)

    def __truediv__(self, other: Term | Number) -> Term:
        return div(self, lifted(other))

    def __rtruediv__(self, other: Number) -> Term:
        return div(num(other), self)

    def __pow__(self, other: Term | Number) -> Term:
        return power(self, lifted(other))

    def __neg__(self) -> Term:
        return neg(self)


Letter = Annotated[Term, "index"]  # where nothing but an index letter can stand

_pool: dict[tuple[Any, ...], Term] = {}


def make(op: str, args: Iterable[Term] = (), value: Any = None, bound: Iterable[Term] = ()) -> Term:
    """The term with these parts, always the same object for the same parts."""
    args, bound = tuple(args), tuple(bound)
    key = (op, value, bound, args)
    found = _pool.get(key)
    if found is not None:
        return found
    new: Any = Parts()
    new.op, new.value, new.bound, new.args, new._alpha = op, value, bound, args, None
    new.letters, new.names, new.size, new.depth = free(args), union([a.names for a in args]), 1, 1
    for a in args:
        new.size += a.size
        new.depth = max(new.depth, a.depth + 1)
    if op == "index":
        new.letters = frozenset({new})
    elif bound:
        outside, inside = scopes(op, args)
        new.letters = free(outside) | (free(inside) - frozenset(bound))
    if op in ("var", "def", "at"):
        new.names |= {value}
    new.__class__ = Term
    return _pool.setdefault(key, new)


def free(terms: Iterable[Term]) -> frozenset[Term]:
    """The letters that are free in any of the terms."""
    return union([t.letters for t in terms])


def union(sets: Iterable[frozenset[Any]]) -> frozenset[Any]:
    """The union; one of the sets itself where it holds the others, as it often does."""
    found: frozenset[Any] = frozenset()
    for s in sets:
        if not s <= found:
            found = s | found if found else s
    return found


def scopes(op: str, args: tuple[Term, ...]) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The arguments outside and inside of the scope of the operator's bound letters."""
    return (args[:1], args[1:]) if op == "at" else ((), args)


# -- constructors: no evaluation, only nesting of + and * is flattened where asked for ---------------------------------


@cache
def num(value: int | str | Fraction) -> Term:
    return make("num", (), Fraction(value))


def lifted(value: Term | Number) -> Term:
    """The term itself, or the number as a term."""
    return value if isinstance(value, Term) else num(value)


ZERO, ONE, TWO, MINUS_ONE = num(0), num(1), num(2), num(-1)
TRUE, FALSE = make("true"), make("false")
PI, OO = make("const", (), "pi"), make("const", (), "oo")


def index(letter: str, axis: str) -> Term:
    return make("index", (), (letter, axis))


def size(axis: str) -> Term:
    return make("size", (), axis)


def var(name: str, *subscripts: Term) -> Term:
    return make("var", subscripts, name)


def defined(name: str, *subscripts: Term) -> Term:
    return make("def", subscripts, name)


def add(*terms: Term) -> Term:
    """The sum of the terms; one term is itself, none is 0. Nested sums are flattened."""
    flat = [t for term in terms for t in (term.args if term.op == "add" else (term,))]
    return make("add", flat) if len(flat) > 1 else flat[0] if flat else ZERO


def mul(*terms: Term) -> Term:
    """The product of the terms; one term is itself, none is 1. Nested products are flattened."""
    flat = [t for term in terms for t in (term.args if term.op == "mul" else (term,))]
    return make("mul", flat) if len(flat) > 1 else flat[0] if flat else ONE


def neg(term: Term) -> Term:
    return make("neg", (term,))


def sub(left: Term, right: Term) -> Term:
    return add(left, neg(right))


def div(left: Term, right: Term) -> Term:
    return make("div", (left, right))


def power(base: Term, exponent: Term) -> Term:
    return make("pow", (base, exponent))


def fn(name: str, *args: Term | Number) -> Term:
    return make("fn", map(lifted, args), name)


def over(op: str, body: Term | Number, *letters: Term, where: Term = TRUE) -> Term:
    """A binder: `over("sum", body, k, where=condition)`."""
    return make(op, (lifted(body), where), None, letters) if letters else lifted(body)


def delta(i: Term, j: Term) -> Term:
    return make("delta", (i, j))


def where(condition: Term, then: Term | Number, otherwise: Term | Number) -> Term:
    return make("where", (condition, lifted(then), lifted(otherwise)))


def diff(body: Term, *entries: Term) -> Term:
    """The partial derivative of the body by the entries, in that order."""
    for entry in entries:
        body = make("diff", (body, entry))
    return body


def cmp(relation: str, left: Term | Number, right: Term | Number) -> Term:
    return make("cmp", (lifted(left), lifted(right)), relation)


def both(*conditions: Term) -> Term:
    parts = [p for c in conditions for p in (c.args if c.op == "and" else (c,)) if p is not TRUE]
    return make("and", parts) if len(parts) > 1 else parts[0] if parts else TRUE


NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negation(condition: Term) -> Term:
    """The negated condition, pushed inwards as far as it goes."""
    op, args = condition.op, condition.args
    if op == "cmp":
        return cmp(NEGATED[condition.value], *args)
    if op == "not":
        return args[0]
    if op in ("and", "or"):
        return make("or" if op == "and" else "and", [negation(a) for a in args])
    if op in ("true", "false"):
        return FALSE if op == "true" else TRUE
    if op in ("all", "any"):
        return make("any" if op == "all" else "all", (negation(args[0]), args[1]), None, condition.bound)
    return make("not", (condition,))


# -- walking, substitution, equality up to bound names ---------------------------------------------------------------


def rebuild(term: Term, args: Iterable[Term]) -> Term:
    return make(term.op, args, term.value, term.bound)


def subterms(term: Term) -> Iterator[Term]:
    """Every subterm once, the term itself first."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        top = stack.pop()
        if top not in seen:
            seen.add(top)
            yield top
            stack.extend(reversed(top.args))


def fresh(letter: Term, taken: Iterable[Term]) -> Term:
    """A letter of the same axis whose name is none of the taken ones: k, then k1, k2, …"""
    name, axis = letter.value
    used = {t.value[0] for t in taken}
    if name not in used:
        return letter
    stem = name.rstrip("0123456789") or name
    number = 1
    while f"{stem}{number}" in used:
        number += 1
    return index(f"{stem}{number}", axis)


def substitute(term: Term, mapping: Mapping[Term, Term]) -> Term:
    """The term with free index letters replaced, all at once, bound letters renamed where they would capture."""
    if not mapping:
        return term
    return _substitute(term, dict(mapping), {})


def _substitute(term: Term, mapping: dict[Term, Term], memo: dict[Term, Term]) -> Term:
    if term.letters.isdisjoint(mapping):
        return term
    if term.op == "index":
        return mapping[term]
    if term not in memo:
        if term.op in NONLOCAL and any(k in mapping and _moves(term, mapping[k]) for k in term.letters):
            raise Rejected("an index is put in where the variables that it depends on are others")
        renamed, inner = term, mapping
        if term.bound:
            inside = free(scopes(term.op, term.args)[1]).difference(term.bound)
            inner = {k: v for k, v in mapping.items() if k in inside}
            renamed = rename_bound(term, free(inner.values()))
            outside, scoped = scopes(term.op, renamed.args)
            args = [_substitute(a, mapping, memo) for a in outside]
            own: dict[Term, Term] = {}
            args += [_substitute(a, inner, own) for a in scoped]
        else:
            args = [a if a.letters.isdisjoint(mapping) else _substitute(a, mapping, memo) for a in term.args]
        memo[term] = make(term.op, args, term.value, renamed.bound)
    return memo[term]


def _moves(term: Term, place: Term) -> bool:
    """Whether a place may depend on the variable of a derivative, `at` or limit, or on what a mean averages."""
    if term.op in ("E", "Var", "Cov"):
        return any(t.op == "argmax" for t in subterms(place))
    name = term.value if term.op == "at" else term.args[1].value
    return name in place.names or any(t.op == "def" for t in subterms(place))


def replace_variable(term: Term, name: str, letters: tuple[Term, ...], body: Term, op: str = "var") -> Term:
    """The term with every entry `name[subscripts]` replaced by the body at those subscripts, without capture.

    The letters stand for the subscripts in the body. No free letter of the body is captured by a binder of the term.
    """
    outside = body.letters - frozenset(letters)

    @cache
    def walk(t: Term) -> Term:
        if name not in t.names:
            return t
        if t.op == op and t.value == name:
            return substitute(body, dict(zip(letters, [walk(a) for a in t.args], strict=True)))
        if t.bound:
            t = rename_bound(t, outside)
        if t.op == "at" and t.value == name:
            return make("at", (t.args[0], walk(t.args[1])), t.value, t.bound)  # its own body speaks of another z
        return rebuild(t, [walk(a) for a in t.args])

    return walk(term)


def rename_bound(term: Term, taken: Collection[Term]) -> Term:
    """The same binder with bound letters whose names are none of the taken ones."""
    names = {letter.value[0] for letter in taken}
    if names.isdisjoint(k.value[0] for k in term.bound):
        return term
    outside, scoped = scopes(term.op, term.args)
    avoid = {*taken, *free(scoped).difference(term.bound)}
    mapping: dict[Term, Term] = {}
    for letter in term.bound:
        new = fresh(letter, avoid)
        if new is not letter:
            new = fresh(new, avoid | set(term.bound))
        avoid.add(new)
        mapping[letter] = new
    args = [*outside, *(substitute(a, mapping) for a in scoped)]
    return make(term.op, args, term.value, mapping.values())


def alpha(term: Term) -> Any:
    """A key that two terms share exactly when they are equal up to the names of bound letters."""
    if term._alpha is None:
        object.__setattr__(term, "_alpha", _alpha_key(term, {}, 0))
    return term._alpha


def _alpha_key(term: Term, env: dict[Term, int], level: int) -> Any:
    if term.op == "index":
        return ("#", level - env[term], term.value[1]) if term in env else ("index", term.value)
    if not term.bound:
        if env and term.letters.isdisjoint(env):
            return alpha(term)
        return (term.op, term.value, *(_alpha_key(a, env, level) for a in term.args))
    inner = {**env, **{k: level + p for p, k in enumerate(term.bound)}}
    deep = level + len(term.bound)
    axes = tuple(k.value[1] for k in term.bound)
    outside, scoped = scopes(term.op, term.args)
    args = [*(_alpha_key(a, env, level) for a in outside), *(_alpha_key(a, inner, deep) for a in scoped)]
    return (term.op, term.value, axes, *args)


def alike(left: Term, right: Term) -> bool:
    """Whether the terms are equal up to the names of bound letters."""
    return left is right or (left.letters == right.letters and left.size == right.size and alpha(left) == alpha(right))

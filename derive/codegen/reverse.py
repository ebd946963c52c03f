"""Reverse mode of any definition: a cotangent carried back through the operators, definition by definition.

Where a theorem states the product of a cotangent with a derivative, `quantities.reverse_mode` takes that; this is for
the rest. An adjoint is a new definition with the letters of its own: what is added to it for a use of the name at other
letters is sifted there. Nothing is larger than what the formula itself holds. Shares and logarithms of sums of
exponentials are carried back as wholes, by their outputs, so that nothing overflows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from derive.codegen.accurate import Apart, apart
from derive.codegen.accurate import weight as share
from derive.codegen.differences import opened
from derive.codegen.prepare import masks, prepared, reachable
from derive.codegen.value import CodegenError
from derive.kernel.context import Context, Declaration, Definition
from derive.kernel.derivative import SLOPES
from derive.language.printer import to_text
from derive.term import (
    ONE,
    TRUE,
    ZERO,
    Term,
    add,
    both,
    cmp,
    delta,
    div,
    fn,
    fresh,
    index,
    make,
    mul,
    neg,
    negation,
    num,
    over,
    power,
    rename_bound,
    sub,
    substitute,
    var,
    where,
)

STEPS = frozenset({"delta", "argmax", "cmp", "holds"})  # they change by steps: their derivative is 0, or there is none


@dataclass(frozen=True)
class Part:
    """What is added to an adjoint at these subscripts: the weight, summed over the letters where the filter holds."""

    subscripts: tuple[Term, ...]
    weight: Term
    letters: tuple[Term, ...]
    filter: Term


@dataclass
class Carried:
    """Adjoints on their way back: parts by name, and which names matter."""

    context: Context
    wrt: str
    parts: dict[str, list[Part]] = field(default_factory=dict)
    reached: dict[str, bool] = field(default_factory=dict)

    def matters(self, term: Term) -> bool:
        """Whether the term depends on the variable."""
        return any(self._name(n) for n in term.names)

    def _name(self, name: str) -> bool:
        if name not in self.reached:
            self.reached[name] = name == self.wrt
            if name in self.context.definitions:
                self.reached[name] = self.matters(self.context.definitions[name].body)
        return self.reached[name]

    def definition(self, name: str, letters: tuple[Term, ...], weight: Term) -> None:
        """Carry a definition's adjoint back to what it is made of."""
        own = make("def", letters, name)
        if not self._exponentials(own, weight, letters, TRUE):
            body = self.context.definitions[name].body
            given = dict(zip(self.context.definitions[name].letters, letters, strict=True))
            self.back(substitute(body, given), weight, letters, TRUE)

    # -- one term --

    def back(self, term: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> None:
        """Carry the weight back to the term, summed over the letters where the filter holds."""
        if not self.matters(term) or weight is ZERO or term.op in STEPS:
            return
        op, args = term.op, term.args
        product = args[0] if op == "div" else term
        if bits := masks(product, self.context):
            seen = mul(*(f for f in product.args if f not in bits))
            shown = conjoined(where_, *(cmp("==", b, ONE) for b in bits))
            self.back(div(seen, args[1]) if op == "div" else seen, weight, letters, shown)
            return
        if op != "def" and self._exponentials(term, weight, letters, where_):
            return
        if op in ("var", "def"):
            self.parts.setdefault(term.value, []).append(Part(args, weight, letters, where_))
        elif op == "add":
            for a in args:
                self.back(a, weight, letters, where_)
        elif op == "neg":
            self.back(args[0], negative(weight), letters, where_)
        elif op == "mul":
            for at, a in enumerate(args):
                self.back(a, times(weight, *args[:at], *args[at + 1 :]), letters, where_)
        elif op == "div":
            self.back(args[0], div(weight, args[1]), letters, where_)
            self.back(args[1], negative(div(times(weight, term), args[1])), letters, where_)
        elif op == "pow":
            self._power(term, weight, letters, where_)
        elif op == "fn":
            self._function(term, weight, letters, where_)
        elif op == "where":
            self._cases(args[0], args[1:], weight, letters, where_)
        elif op in ("sum", "prod", "max", "min"):
            self._binder(term, weight, letters, where_)
        else:
            raise CodegenError(f"nothing is carried back through {op}: {to_text(term)}")

    def _cases(
        self, condition: Term, parts: Iterable[Term], weight: Term, letters: tuple[Term, ...], where_: Term
    ) -> None:
        """Each of two parts where it is the one: what the other place holds may be infinite, and is not multiplied."""
        for part, held in zip(parts, (condition, negation(condition)), strict=True):
            self.back(part, weight, letters, conjoined(where_, held))

    def _power(self, term: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> None:
        base, exponent = term.args
        less = num(exponent.value - 1) if exponent.op == "num" else sub(exponent, ONE)
        slope = times(exponent, base if less is ONE else power(base, less))
        self.back(base, times(weight, slope), letters, where_)
        self.back(exponent, times(weight, term, fn("log", base)), letters, where_)

    def _function(self, term: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> None:
        name, args = term.value, term.args
        if name in ("max", "min"):
            self._cases(cmp(">=" if name == "max" else "<=", *args), args, weight, letters, where_)
        elif name not in SLOPES:
            raise CodegenError(f"{name} has no derivative in the language: {to_text(term)}")
        elif (slope := SLOPES[name](args[0])) is not ZERO:
            self.back(args[0], times(weight, slope), letters, where_)

    def _binder(self, term: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> None:
        if term.op == "prod" and len(term.bound) > 1:
            inner = over("prod", term.args[0], *term.bound[1:], where=term.args[1])
            return self._binder(over("prod", inner, term.bound[0]), weight, letters, where_)
        term = rename_bound(term, {*letters, *weight.letters, *where_.letters, *term.letters})
        body, condition = term.args
        inside, held = (*letters, *term.bound), conjoined(where_, condition)
        if term.op == "sum":
            return self.back(body, weight, inside, held)
        (k,) = term.bound if len(term.bound) == 1 else (None,)
        if k is None:
            raise CodegenError(f"nothing is carried back through a {term.op} over several letters: {to_text(term)}")
        if term.op == "prod":
            other = fresh(k, {*inside, *body.letters, *condition.letters, *weight.letters})
            rest, chosen = (substitute(a, {k: other}) for a in (body, condition))
            left = over("prod", rest, other, where=conjoined(chosen, cmp("!=", other, k)))
            return self.back(body, times(weight, left), inside, held)
        sought = body if term.op == "max" else neg(body)
        self.back(substitute(body, {k: make("argmax", (sought, condition), None, (k,))}), weight, letters, where_)
        return None

    # -- sums of exponentials --

    def _exponentials(self, term: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> bool:
        """Carry the weight back through exp(v)/sum(exp(u)), its logarithm, or log(sum(exp(u))), where it is one."""
        if term.op == "def" and opened(term, self.context.definitions).op == "div":
            return self._share(term, weight, letters, where_, False)
        if term.op == "fn" and term.value == "log":
            if self._sum(term.args[0]) is not None:
                self._spread(term.args[0], weight, letters, where_)
                return True
            return self._share(term.args[0], weight, letters, where_, True)
        return term.op == "div" and self._share(term, weight, letters, where_, False)

    def _sum(self, term: Term) -> Apart | None:
        return apart(term, self.context.definitions, lambda t: t)

    def _share(self, value: Term, weight: Term, letters: tuple[Term, ...], where_: Term, logarithm: bool) -> bool:
        """Through a share, or its logarithm, by the share itself: s*(w - sum(w*s)), or w - s*sum(w)."""
        entry = share(value, self.context.definitions, lambda t: t)
        if entry is None:
            return False
        ratio = opened(value, self.context.definitions)
        above, below = (opened(t, self.context.definitions) for t in ratio.args)
        place = entry.place
        alone = place in letters and place not in entry.apart.rest.letters  # of one sum, not a diagonal
        if alone and below.args[1] is TRUE:
            weight = weight if where_ is TRUE else where(where_, weight, ZERO)
            other = fresh(place, {*letters, *weight.letters, *value.letters})
            there, share_there = (substitute(t, {place: other}) for t in (weight, value))
            if logarithm:
                carried = sub(weight, times(value, over("sum", there, other)))
            else:
                carried = times(value, sub(weight, over("sum", times(share_there, there), other)))
            self.back(above.args[0], carried, letters, TRUE)
            return True
        weight = weight if logarithm else times(weight, value)
        self.back(above.args[0], weight, letters, where_)
        self._spread(ratio.args[1], negative(weight), letters, where_)
        return True

    def _spread(self, total: Term, weight: Term, letters: tuple[Term, ...], where_: Term) -> None:
        """The weight shared out to the exponents of a sum of exponentials, each by its part in the sum."""
        below = opened(total, self.context.definitions)
        inner = rename_bound(below, {*letters, *weight.letters, *where_.letters, *total.letters})
        body = opened(inner.args[0], self.context.definitions)
        held = conjoined(where_, inner.args[1])
        self.back(body.args[0], times(weight, div(body, total)), (*letters, *inner.bound), held)

    # -- an adjoint --

    def total(self, name: str, letters: tuple[Term, ...]) -> Term:
        """All that was added to the adjoint of the name, at these letters."""
        return add(*(self._at(part, letters) for part in self.parts[name])) if self.parts.get(name) else ZERO

    def _at(self, part: Part, letters: tuple[Term, ...]) -> Term:
        """One part at the letters: subscripts that are letters of its sum are sifted, the others are compared."""
        weight, held, subscripts = part.weight, part.filter, list(part.subscripts)
        apart_from = {k: fresh(k, {*letters, *weight.letters, *held.letters}) for k in part.letters if k in letters}
        left = [apart_from.get(k, k) for k in part.letters]
        weight, held = substitute(weight, apart_from), substitute(held, apart_from)
        subscripts = [substitute(s, apart_from) for s in subscripts]
        for at, letter in enumerate(letters):
            subscript = subscripts[at]
            if subscript in left:
                left.remove(subscript)
                move = {subscript: letter}
                weight, held = substitute(weight, move), substitute(held, move)
                subscripts = [substitute(s, move) for s in subscripts]
        for letter, subscript in zip(letters, subscripts, strict=True):
            if subscript is not letter:
                weight = self._where_same(letter, subscript, weight)
        parts = held.args if held.op == "and" else (held,)
        inner = conjoined(*(c for c in parts if not c.letters.isdisjoint(left)))
        outer = conjoined(*(c for c in parts if c.letters.isdisjoint(left)))
        weight = summed(weight, tuple(left), inner) if left else weight
        return weight if outer is TRUE else where(outer, weight, ZERO)

    def _where_same(self, letter: Term, subscript: Term, weight: Term) -> Term:
        if subscript.op in ("index", "num"):
            return times(weight, delta(letter, subscript))
        return where(cmp("==", letter, subscript), weight, ZERO)


def times(*factors: Term) -> Term:
    """The product without factors 1."""
    kept = [f for f in factors if f is not ONE]
    return mul(*kept) if kept else ONE


def summed(term: Term, letters: tuple[Term, ...], held: Term) -> Term:
    """The sum of the term over the letters where the filter holds, what is constant in a filtered sum before it."""
    factors, minus = _factors(term)
    inner = [t for t in factors if not t.letters.isdisjoint(letters)]
    outer = [t for t in factors if t.letters.isdisjoint(letters)]
    if held is TRUE or not inner or not outer:
        return over("sum", term, *letters, where=held)
    result = times(*outer, over("sum", times(*inner), *letters, where=held))
    return neg(result) if minus else result


def _factors(term: Term) -> tuple[list[Term], bool]:
    """The factors of a product, quotients whole, and whether a minus sign stands before it."""
    if term.op == "neg":
        factors, minus = _factors(term.args[0])
        return factors, not minus
    if term.op == "mul":
        parts = [_factors(a) for a in term.args]
        return [t for factors, _ in parts for t in factors], sum(minus for _, minus in parts) % 2 == 1
    return [term], False


def negative(term: Term) -> Term:
    return term.args[0] if term.op == "neg" else neg(term)


def conjoined(*conditions: Term) -> Term:
    kept = [c for c in conditions if c is not TRUE]
    return both(*kept) if kept else TRUE


def accumulated(
    name: str, letters: tuple[Term, ...], context: Context, wrt: str, cotangent: str, fixed: Iterable[Term]
) -> tuple[Term, tuple[Term, ...], Context]:
    """The adjoint of a variable, its letters, and the context with the adjoints of definitions on the way.

    The cotangent is declared as an array over the definition's letters. Raises CodegenError, by name, for what has no
    derivative.
    """
    axes = tuple(k.value[1] for k in letters)
    declarations = {**context.declarations, cotangent: Declaration(cotangent, "real", axes)}
    term, context = prepared(make("def", letters, name), replace(context, declarations=declarations), fixed)
    carried = Carried(context, wrt)
    definitions = dict(context.definitions)
    bars: dict[str, Definition] = {}
    order = [d for d in reversed(reachable(term, context)) if carried.matters(d.body)]
    if not order:
        raise CodegenError(f"{name} does not depend on {wrt}")
    own = {d.name: _letters(d, context, fixed) for d in order}
    carried.definition(name, own[name], var(cotangent, *own[name]))
    for definition in order[1:]:
        if not carried.parts.get(definition.name):
            continue
        bar, places = _unused(f"{definition.name}_bar", {**definitions, **declarations}), own[definition.name]
        bars[bar] = Definition(bar, places, carried.total(definition.name, places))
        definitions[bar] = bars[bar]
        carried.definition(definition.name, places, make("def", places, bar))
    taken = {*context.declarations, *context.definitions, *context.axes, *definitions}
    taken |= {k.value[0] for k in (*letters, *fixed)}
    names = (name for name in "jklmpqrstuvwabcdefhino" if name not in taken)
    place = tuple(index(name, axis) for name, axis in zip(names, context.declarations[wrt].axes, strict=False))
    result = carried.total(wrt, place)
    return result, place, replace(context, definitions=definitions)


def _letters(definition: Definition, context: Context, fixed: Iterable[Term]) -> tuple[Term, ...]:
    taken = set(fixed)
    found = []
    for k in definition.letters:
        letter = fresh(k, taken)
        taken.add(letter)
        found.append(letter)
    return tuple(found)


def _unused(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name += "_"
    return name

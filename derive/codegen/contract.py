"""Sums of products: matrix products where something grows, plain sums where nothing does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from derive.codegen.value import ATOM, MUL, UNARY, Value, aligned, union
from derive.term import TRUE, Term

if TYPE_CHECKING:
    from derive.codegen.emit import Emitter


@dataclass(frozen=True)
class Factors:
    """A product read apart: numerator and denominator, and whether a minus sign stands before it."""

    above: tuple[Term, ...]
    below: tuple[Term, ...]
    negative: bool


def read(term: Term) -> Factors:
    """The factors of a term; one that is no product is its own factor."""
    if term.op == "neg":
        inner = read(term.args[0])
        return Factors(inner.above, inner.below, not inner.negative)
    if term.op == "mul":
        parts = [read(a) for a in term.args]
        above = tuple(t for p in parts for t in p.above)
        below = tuple(t for p in parts for t in p.below)
        return Factors(above, below, sum(p.negative for p in parts) % 2 == 1)
    if term.op == "div":
        inner = read(term.args[0])
        return Factors(inner.above, (*inner.below, term.args[1]), inner.negative)
    return Factors((term,), (), False)


def factors_of(body: Term, bound: tuple[Term, ...], condition: Term) -> Factors | None:
    """The factors of a summand where summing factor by factor saves work, else None.

    It saves work where a factor does not depend on a bound letter, or where the factors together have more letters than
    any one of them.
    """
    factors = read(body)
    inside = [t for t in factors.above if not t.letters.isdisjoint(bound)]
    below = [t for t in factors.below if not t.letters.isdisjoint(bound)]
    letters = [t.letters for t in inside + below] + ([condition.letters] if condition is not TRUE else [])
    outside = len(inside) < len(factors.above) or len(below) < len(factors.below)
    every = frozenset().union(*letters)
    grows = len(inside) > 1 and all(len(k) < len(every) for k in letters)
    return factors if grows or (outside and inside and condition is TRUE) else None


def summed_product(emitter: Emitter, term: Term) -> Value:
    """sum(f1 * f2 * … for the bound letters): factors free of them outside, the others contracted letter by letter."""
    from derive.codegen import ops

    factors = read(term.args[0])
    condition, bound = term.args[1], frozenset(term.bound)
    inner = [t for t in factors.above if not t.letters.isdisjoint(bound)]
    outer = [t for t in factors.above if t.letters.isdisjoint(bound)]
    divided = [t for t in factors.below if not t.letters.isdisjoint(bound)]
    below = [t for t in factors.below if t.letters.isdisjoint(bound)]
    values = [emitter.value(t) for t in inner] + [_reciprocal(emitter, t) for t in divided]
    if condition is not TRUE:
        at = _place_of_mask(inner, condition)
        if at is None:
            whole = ops.masked(emitter, ops.product(emitter, values), condition, "0")
            values = [whole]
        else:
            values[at] = ops.masked(emitter, values[at], condition, "0")
    result = contracted(emitter, values, term.bound)
    result = ops.product(emitter, [*(emitter.value(t) for t in outer), result]) if outer else result
    for t in below:
        result = _quotient(emitter, result, emitter.value(t))
    return Value(f"-{result.at(ATOM)}", result.letters, UNARY, result.kind) if factors.negative else result


def _reciprocal(emitter: Emitter, term: Term) -> Value:
    value = emitter.value(term)
    return Value(f"1 / {value.at(UNARY)}", value.letters, MUL, value.kind)


def _quotient(emitter: Emitter, left: Value, right: Value) -> Value:
    letters = union([left, right], emitter.rank)
    left, right = emitter.fitted([aligned(left, letters), aligned(right, letters)])
    return emitter.kept(Value(f"{left.at(MUL)} / {right.at(UNARY)}", letters, MUL))


def _place_of_mask(inner: list[Term], condition: Term) -> int | None:
    """Which factor can carry the filter: one with all its letters, where the others are finite by declaration.

    A factor that could overflow where the filter excludes it must not be multiplied by 0.
    """
    for place, term in enumerate(inner):
        others = inner[:place] + inner[place + 1 :]
        if condition.letters <= term.letters and all(t.op == "var" for t in others):
            return place
    return None


def contracted(emitter: Emitter, values: list[Value], bound: tuple[Term, ...]) -> Value:
    """The product of the values summed over the bound letters, the cheapest letter first."""
    from derive.codegen import ops

    left = [k for k in bound if any(k in v.letters for v in values)]
    for letter in bound:
        if letter not in left:
            values = [
                ops.product(emitter, [Value(emitter.size_name(letter.value[1]), kind="number"), values[0]]),
                *values[1:],
            ]
    while left:
        letter = min(left, key=lambda k: (_cost(values, k), emitter.rank[k]))
        involved = [v for v in values if letter in v.letters]
        rest = [v for v in values if letter not in v.letters]
        here = tuple(
            k for k in left if k in {x for v in involved for x in v.letters} and not any(k in v.letters for v in rest)
        )
        values = [*rest, _contraction(emitter, involved, here)]
        left = [k for k in left if k not in here]
    return ops.product(emitter, values) if len(values) > 1 else values[0]


def _cost(values: list[Value], letter: Term) -> int:
    return len({k for v in values if letter in v.letters for k in v.letters})


def _contraction(emitter: Emitter, values: list[Value], bound: tuple[Term, ...]) -> Value:
    """The product of the values summed over the letters: of two by a matrix product, of more two by two."""
    from derive.codegen import ops

    values = emitter.fitted(_merged(emitter, values))
    while len(values) > 2 and not _spans(emitter, values):
        pairs = [(p, q) for q in range(len(values)) for p in range(q)]
        first, second = min(pairs, key=lambda pq: len({*values[pq[0]].letters, *values[pq[1]].letters}))
        pair = ops.product(emitter, [values[first], values[second]])
        rest = [v for place, v in enumerate(values) if place not in (first, second)]
        values = emitter.fitted(_merged(emitter, [*rest, pair]))
    if len(values) == 2:
        return _matrix_product(emitter, *values, bound)
    return ops.reduced(emitter, ops.product(emitter, values) if len(values) > 1 else values[0], bound)


def _spans(emitter: Emitter, values: list[Value]) -> bool:
    """Whether one of the values has the letters of all."""
    return any(len(v.letters) == len(union(values, emitter.rank)) for v in values)


def _merged(emitter: Emitter, values: list[Value]) -> list[Value]:
    """Values with the same letters multiplied together first: nothing grows by that."""
    from derive.codegen import ops

    groups: dict[frozenset[Term], list[Value]] = {}
    for value in values:
        groups.setdefault(frozenset(value.letters), []).append(value)
    return [ops.product(emitter, group) if len(group) > 1 else group[0] for group in groups.values()]


def _matrix_product(emitter: Emitter, left: Value, right: Value, bound: tuple[Term, ...]) -> Value:
    """`left @ right`: the letters that both have and that stay, and all but one of each side's own, are batch axes."""
    from derive.codegen import ops

    shared = [k for k in left.letters if k in right.letters]
    left, right = (
        ops.reduced(emitter, v, tuple(k for k in bound if k in v.letters and k not in shared)) for v in (left, right)
    )
    summed = tuple(k for k in shared if k in bound)
    kept = tuple(k for k in shared if k not in bound)
    rows = tuple(k for k in left.letters if k not in shared)
    columns = tuple(k for k in right.letters if k not in shared)
    if not rows:  # a vector times a matrix
        left, right, rows, columns = right, left, columns, rows
    if not rows or not summed:
        return ops.reduced(emitter, ops.product(emitter, [left, right]), summed)
    batch = (*kept, *rows[:-1], *columns[:-1])
    first = _flat(emitter, aligned(left, (*batch, rows[-1], *summed)), summed)
    if columns:
        second = _flat(emitter, aligned(right, (*batch, *summed, columns[-1])), summed, columns[-1])
        first, second = emitter.fitted([first, second])
        emitter.multiplies = True
        into = f"np.matmul({first.text}, {second.text}"
        text, letters = f"{first.at(MUL)} @ {second.at(UNARY)}", (*batch, rows[-1], columns[-1])
        return emitter.kept(emitter.sized(Value(text, letters, MUL, into=into)))
    second = _flat(emitter, aligned(right, (*batch, *summed)), summed)
    first, second = emitter.fitted([first, second])
    text = f"({first.at(MUL)} @ {second.at(ATOM)}[..., None])[..., 0]"
    return emitter.kept(emitter.sized(Value(text, (*batch, rows[-1]))))


def _flat(emitter: Emitter, value: Value, summed: tuple[Term, ...], last: Term | None = None) -> Value:
    """The value with the summed letters, which stand together, as one axis."""
    if len(summed) == 1:
        return value
    value = emitter.named(value, "t")
    sizes = [" * ".join(emitter.size_name(k.value[1]) for k in summed)]
    sizes += [emitter.size_name(last.value[1])] if last else []
    own = len(summed) + (last is not None)
    text = f"{value.text}.reshape({value.text}.shape[:-{own}] + ({', '.join(sizes)},))"
    return Value(text, value.letters)

"""From operator to JavaScript text: one row for each operator. What has no row is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.codegen.contract import read
from derive.codegen.js.helpers import SNIPPETS, SPECIAL
from derive.codegen.js.text import ADD, ATOM, BOTH, CHOICE, COMPARE, EITHER, EQUAL, MUL, POWER, UNARY, Text
from derive.codegen.value import CodegenError
from derive.language.printer import to_text
from derive.term import ONE, TRUE, Term, div, mul, neg, over, rename_bound, size

if TYPE_CHECKING:
    from derive.codegen.js.writer import Writer

FUNCTIONS: dict[str, str] = {
    **{name: f"Math.{name}({{0}})" for name in "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh".split()},
    "atan": "Math.atan({0})",
    "relu": "Math.max({0}, 0)",
    "max": "Math.max({0}, {1})",
    "min": "Math.min({0}, {1})",
    "softplus": "_softplus({0})",
    "sigmoid": "_sigmoid({0})",
    "erf": "_erf({0})",
    "lgamma": "_lgamma({0})",
    "digamma": "_digamma({0})",
    "trigamma": "_trigamma({0})",
}
REDUCTIONS: dict[str, tuple[str, str]] = {  # helper, and what stands for an entry that a filter excludes
    "sum": ("_sum", "0"),
    "prod": ("_prod", "1"),
    "max": ("_max", "-Infinity"),
    "min": ("_min", "Infinity"),
    "argmax": ("_argmax", "-Infinity"),
    "all": ("_all", "true"),
    "any": ("_any", "false"),
}
RELATIONS = {"==": ("===", EQUAL), "!=": ("!==", EQUAL)}


def _num(w: Writer, term: Term) -> Text:
    value: Fraction = term.value
    if value.denominator == 1 and abs(value) < 2**53:
        text = str(value.numerator)
    else:
        try:
            text = repr(float(value))  # correctly rounded
        except OverflowError:
            raise CodegenError(f"the number {value} is too large for a float") from None
    return Text(text, UNARY if value < 0 else ATOM)


def _var(w: Writer, term: Term) -> Text:
    if term.value not in w.context.declarations:
        raise CodegenError(f"{term.value} is not declared")
    axes = w.context.declarations[term.value].axes
    if len(axes) != len(term.args):
        raise CodegenError(f"{term.value} has {len(axes)} axes, not {len(term.args)}")
    for axis, subscript in zip(axes, term.args, strict=True):
        _require(w, axis, subscript)
    return Text(w.names[term.value] + "".join(f"[{w.place(a)}]" for a in term.args))


def _def(w: Writer, term: Term) -> Text:
    axes = w.definition(term.value)
    letters = w.context.definitions[term.value].letters
    used = [(k, a) for k, a, axis in zip(letters, term.args, axes, strict=True) if axis]
    for letter, subscript in used:
        _require(w, letter.value[1], subscript)
    return Text(w.names[term.value] + "".join(f"[{w.place(a)}]" for _, a in used))


def _require(w: Writer, axis: str, subscript: Term) -> None:
    """Note the size that an integer subscript needs."""
    if subscript.op == "num":
        w.least[axis] = max(int(subscript.value) + 1, w.least.get(axis, 1))


def _add(w: Writer, term: Term) -> Text:
    first, *others = term.args
    text = w.value(first).at(ADD)
    for a in others:
        sign, part = ("-", a.args[0]) if a.op == "neg" else ("+", a)
        text += f" {sign} {w.value(part).at(MUL)}"
    return Text(text, ADD)


def _neg(w: Writer, term: Term) -> Text:
    return Text(f"-{w.value(term.args[0]).at(ATOM)}", UNARY)


def _mul(w: Writer, term: Term) -> Text:
    first, *others = (w.value(a) for a in term.args)
    return Text(" * ".join([first.at(MUL), *(v.at(UNARY) for v in others)]), MUL)


def _div(w: Writer, term: Term) -> Text:
    above, below = (w.value(a) for a in term.args)
    return Text(f"{above.at(MUL)} / {below.at(UNARY)}", MUL)


def _pow(w: Writer, term: Term) -> Text:
    base, exponent = term.args
    if exponent.op == "num" and exponent.value == Fraction(1, 2):
        return Text(f"Math.sqrt({w.value(base).text})")
    left, right = w.value(base), w.value(exponent)
    if exponent.op == "num" and exponent.value == 2 and left.level == ATOM and "(" not in left.text:
        return Text(f"{left.text} * {left.text}", MUL)
    return Text(f"{left.at(ATOM)} ** {right.at(UNARY)}", POWER)


def _fn(w: Writer, term: Term) -> Text:
    if term.value not in FUNCTIONS:
        raise CodegenError(f"the function {term.value} has no JavaScript form: {to_text(term)}")
    text, name = FUNCTIONS[term.value], f"_{term.value}"
    text = text.replace(name, w.helper(name)) if name in SNIPPETS or name in SPECIAL else text
    return Text(text.format(*(w.value(a).text for a in term.args)))


def _delta(w: Writer, term: Term) -> Text:
    left, right = term.args
    return Text("1") if left is right else Text(f"{w.place(left)} === {w.place(right)} ? 1 : 0", CHOICE)


def _where(w: Writer, term: Term) -> Text:
    condition, then, other = (w.value(a) for a in term.args)
    return Text(f"{condition.at(EITHER)} ? {then.at(EITHER)} : {other.at(EITHER)}", CHOICE)


def _cmp(w: Writer, term: Term) -> Text:
    left, right = (Text(w.place(a)) if a.op == "index" else w.value(a) for a in term.args)
    relation, level = RELATIONS.get(term.value, (term.value, COMPARE))
    return Text(f"{left.at(ADD)} {relation} {right.at(ADD)}", level)


def _and(w: Writer, term: Term) -> Text:
    return Text(" && ".join(w.value(a).at(EQUAL) for a in term.args), BOTH)


def _or(w: Writer, term: Term) -> Text:
    return Text(" || ".join(w.value(a).at(EQUAL) for a in term.args), EITHER)


def _not(w: Writer, term: Term) -> Text:
    return Text(f"!{w.value(term.args[0]).at(ATOM)}", UNARY)


def _holds(w: Writer, term: Term) -> Text:
    return Text(f"{w.value(term.args[0]).at(ADD)} !== 0", EQUAL)


def _reduction(w: Writer, term: Term) -> Text:
    taken = [k for k in term.bound if k in w.fixed]
    term = rename_bound(term, taken) if taken else term
    if term.op == "sum" and (simpler := regrouped(term)):
        return w.value(simpler)
    name, neutral = REDUCTIONS[term.op]
    body, condition = term.args
    own: dict[Term, str] = {}
    for letter in term.bound:
        own[letter] = w.letter(letter, {**w.scope, **own})
    with w.inside({**w.scope, **own}):
        value = w.value(body)
        text = value.text if condition is TRUE else f"{w.value(condition).at(EITHER)} ? {value.at(EITHER)} : {neutral}"
    for letter in reversed(term.bound):
        text = f"{w.helper(name)}({w.size(letter.value[1])}, ({own[letter]}) => {text})"
    return Text(text)


def regrouped(term: Term) -> Term | None:
    """An equal term that takes less work: what is constant in a sum before it, a sum of a product by single sums."""
    body, condition = term.args
    if condition is not TRUE:
        return None
    bound = frozenset(term.bound)
    factors = read(body)
    idle = [k for k in term.bound if k not in body.letters]
    inner = [t for t in factors.above if not t.letters.isdisjoint(bound)]
    outer = [t for t in factors.above if t.letters.isdisjoint(bound) and t is not ONE]
    divided = [t for t in factors.below if not t.letters.isdisjoint(bound)]
    below = [t for t in factors.below if t.letters.isdisjoint(bound)]
    letters = [k for k in term.bound if k not in idle]
    if idle or outer or below or factors.negative:
        inside = _product(inner)
        if divided:
            inside = div(inside, _product(divided))
        whole = over("sum", inside, *letters) if letters else inside
        result = _product([*(size(k.value[1]) for k in idle), *outer, *([whole] if whole is not ONE else [])])
        for t in below:
            result = div(result, t)
        return neg(result) if factors.negative else result
    parts = [*inner, *(div(ONE, t) for t in divided)]
    every = frozenset().union(*(t.letters for t in parts))
    for letter in letters if len(letters) > 1 else ():
        involved = [t for t in parts if letter in t.letters]
        if frozenset().union(*(t.letters for t in involved)) != every:
            rest = [t for t in parts if letter not in t.letters]
            summed = over("sum", _product(involved), letter)
            return over("sum", _product([*rest, summed]), *(k for k in letters if k is not letter))
    return None


def _product(terms: list[Term]) -> Term:
    return mul(*terms) if len(terms) > 1 else terms[0] if terms else ONE


Row = Callable[["Writer", Term], Text]
ROWS: dict[str, Row] = {
    "num": _num,
    "const": lambda w, term: Text("Math.PI" if term.value == "pi" else "Infinity"),
    "size": lambda w, term: Text(w.size(term.value)),
    "index": lambda w, term: Text(w.place(term)),
    "var": _var,
    "def": _def,
    "add": _add,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "delta": _delta,
    "where": _where,
    "cmp": _cmp,
    "and": _and,
    "or": _or,
    "not": _not,
    "true": lambda w, term: Text("true"),
    "false": lambda w, term: Text("false"),
    "holds": _holds,
    **dict.fromkeys(REDUCTIONS, _reduction),
}

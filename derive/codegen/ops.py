"""From operator to array code: one row for each operator. What has no row is refused by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from derive.codegen import doubled
from derive.codegen.contract import factors_of, summed_product
from derive.codegen.dialect import Function
from derive.codegen.differences import present, scaled_difference
from derive.codegen.value import ADD, ATOM, COMPARE, MUL, POWER, UNARY, CodegenError, Value, aligned, transposed, union
from derive.term import TRUE, Term, fn, rename_bound

if TYPE_CHECKING:
    from derive.codegen.emit import Emitter

EXP_DIFFERENCE = Function("_exp_difference({0}, {1})", "_exp_difference")
EXP_QUOTIENT = Function("_exp_quotient({0}, {1}, {2})", "_exp_quotient")
EXP_PRODUCT = Function("_exp_product({0}, {1}, {2})", "_exp_product")
WIDTH, NARROW = 84, 50  # of parts of a statement together, in a longer one
Row = Callable[["Emitter", Term], Value]


# -- numbers and names -------------------------------------------------------------------------------------------------


def _num(emitter: Emitter, term: Term) -> Value:
    value: Fraction = term.value
    if value.denominator == 1 and abs(value) < 2**53:
        text = str(value.numerator)
    else:
        try:
            text = repr(float(value)).replace("e+", "e")  # correctly rounded
        except OverflowError:
            raise CodegenError(f"the number {value} is too large for a float") from None
    return Value(text, level=UNARY if value < 0 else ATOM, kind="number")


def _const(emitter: Emitter, term: Term) -> Value:
    return Value("np.pi" if term.value == "pi" else "np.inf", kind="number")


def _size(emitter: Emitter, term: Term) -> Value:
    return Value(emitter.size_name(term.value), kind="number")


def _index(emitter: Emitter, term: Term) -> Value:
    """An index as a number, 0 to n - 1."""
    place = emitter.place(term)
    return emitter.cast(place)


def _var(emitter: Emitter, term: Term) -> Value:
    return _entry(emitter, emitter.variable(term.value), term)


def _def(emitter: Emitter, term: Term) -> Value:
    return _entry(emitter, emitter.definition(term.value), term)


def _entry(emitter: Emitter, whole: Value, term: Term) -> Value:
    """The entries of a named array at the subscripts: its axes renamed, its diagonal, or a gather."""
    own = emitter.own_letters(term.value, len(term.args))
    # A definition may be constant in a letter: then it has no axis for it, whatever the subscript.
    places = {k: subscript for k, subscript in zip(own, term.args, strict=True) if k in whole.letters}
    loose = {k: s for k, s in places.items() if s.op == "index" and s not in emitter.fixed}
    whole = _diagonal(emitter, whole.relabelled(loose))
    for letter, subscript in places.items():
        if letter not in loose:
            take = _taken if subscript.op == "num" else _gathered
            whole = take(emitter, whole, letter, subscript)
    return whole


def _taken(emitter: Emitter, whole: Value, letter: Term, number: Term) -> Value:
    rest = tuple(k for k in whole.letters if k != letter)
    emitter.require(letter.value[1], int(number.value) + 1)
    return Value(f"{transposed(whole, (*rest, letter)).at(ATOM)}[..., {number.value}]", rest, ATOM, whole.kind)


def _gathered(emitter: Emitter, whole: Value, letter: Term, subscript: Term) -> Value:
    """Entries picked by an integer array: `z[t[b]]`, `z[argmax(…)]`, a fixed index."""
    place = emitter.place(subscript)
    rest = tuple(k for k in whole.letters if k != letter)
    letters = union([Value("", rest), place], emitter.rank)
    array = aligned(whole, (*letters, letter))
    return Value(f"{emitter.helper('_pick')}({array.text}, {aligned(place, letters).text})", letters, ATOM, whole.kind)


def _diagonal(emitter: Emitter, value: Value) -> Value:
    """The value with each letter once: where one stands twice, the entries on the diagonal."""
    for letter in value.letters:
        if value.letters.count(letter) > 1:
            first, second = [p - len(value.letters) for p, k in enumerate(value.letters) if k == letter][:2]
            rest = tuple(k for p, k in enumerate(value.letters) if p - len(value.letters) not in (first, second))
            text = emitter.written("diagonal", value.text, first, second)
            return _diagonal(emitter, Value(text, (*rest, letter), ATOM, value.kind))
    return value


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _joined(emitter: Emitter, values: list[Value]) -> tuple[list[Value], tuple[Term, ...], str]:
    """The values brought to common letters, those letters, and the kind of what is made of them."""
    letters = union(values, emitter.rank)
    kind = "number" if all(v.kind == "number" for v in values) else "array"
    emitter.spans.add(letters)
    width = NARROW if kind == "number" and emitter.dialect.alone != "{0}" else WIDTH  # there each becomes much longer
    return emitter.fitted([aligned(emitter.alone(v), letters) for v in values], width), letters, kind


def _spread_so_far(values: list[Value]) -> list[bool]:
    """For each of the values, whether it and those before it have the letters of all."""
    every = {k for v in values for k in v.letters}
    return [{k for v in values[: p + 1] for k in v.letters} == every for p in range(len(values))]


def _add(emitter: Emitter, term: Term) -> Value:
    if emitter.rough and (head := doubled.head(emitter, term)):
        return head
    if emitter.doubles and (whole := doubled.difference(emitter, term)):
        return whole
    signs = ["-" if a.op == "neg" else "+" for a in term.args]
    values = [emitter.value(a.args[0] if a.op == "neg" else a) for a in term.args]
    spread = _spread_so_far(values)
    values, letters, kind = _joined(emitter, values)
    whole = values[0]
    if signs[0] == "-":
        whole = Value(f"-{whole.at(ATOM)}", letters, UNARY, kind, f"np.negative({whole.text}")
    for sign, value, spans in zip(signs[1:], values[1:], spread, strict=False):
        whole = emitter.alone(whole) if spans else whole
        into = f"np.{'add' if sign == '+' else 'subtract'}({whole.text}, {value.text}"
        whole = Value(f"{whole.at(ADD)} {sign} {value.at(MUL)}", letters, ADD, kind, into)
    return emitter.kept(whole)


def _neg(emitter: Emitter, term: Term) -> Value:
    value = emitter.value(term.args[0])
    return Value(f"-{value.at(ATOM)}", value.letters, UNARY, value.kind)


def _mul(emitter: Emitter, term: Term) -> Value:
    if emitter.doubles and (whole := doubled.share_times_difference(emitter, term)):
        return whole
    return product(emitter, [emitter.value(a) for a in term.args])


def product(emitter: Emitter, values: list[Value]) -> Value:
    """The product of the values, in the order given."""
    spread = _spread_so_far(values)
    values, letters, kind = _joined(emitter, values)
    whole = values[0]
    for value, spans in zip(values[1:], spread, strict=False):
        whole = emitter.alone(whole) if spans else whole
        into = f"np.multiply({whole.text}, {value.text}"
        whole = Value(f"{whole.at(MUL)} * {value.at(UNARY)}", letters, MUL, kind, into)
    return emitter.kept(whole)


def _div(emitter: Emitter, term: Term) -> Value:
    left, right = [emitter.value(a) for a in term.args]
    if emitter.reciprocal and set(right.letters) < set(left.letters) and right.kind == "array":
        return product(emitter, [left, Value(f"1 / {right.at(UNARY)}", right.letters, MUL)])
    (left, right), letters, kind = _joined(emitter, [left, right])
    if kind == "number" and term.args[1].op not in ("num", "size"):  # Python raises where NumPy gives inf or nan
        return Value(emitter.written("divide", left.text, right.text, right.at(ATOM)), kind=kind)
    into = f"np.divide({left.text}, {right.text}"
    return emitter.kept(Value(f"{left.at(MUL)} / {right.at(UNARY)}", letters, MUL, kind, into))


def _pow(emitter: Emitter, term: Term) -> Value:
    base, exponent = term.args
    if exponent.op == "num" and exponent.value == Fraction(1, 2):
        return _fn(emitter, fn("sqrt", base))
    (left, right), letters, kind = _joined(emitter, [emitter.value(a) for a in term.args])
    if kind == "number" and base.op == "size" and exponent.op == "num" and exponent.value in (2, 3):
        return Value(raised(left, right), level=POWER, kind=kind)
    if kind == "number":
        return Value(emitter.written("float_power", left.text, right.text, right.at(ATOM)), kind=kind)
    if left.kind == "number":
        return emitter.kept(Value(emitter.written("power", left.text, right.text), letters, ATOM, kind))
    return emitter.kept(Value(raised(left, right), letters, POWER, kind))


def raised(left: Value, right: Value) -> str:
    """The power, without spaces where both parts are simple, as formatters have it."""
    base, exponent = left.at(ATOM), right.at(POWER)
    simple = all(re.fullmatch(r"\w+|\d+\.\d+", text) for text in (base, exponent))
    return f"{base}**{exponent}" if simple else f"{base} ** {exponent}"


def _fn(emitter: Emitter, term: Term) -> Value:
    row = emitter.dialect.functions.get(term.value)
    if term.value == "sqrt" and term.args[0].op == "size":
        return Value(emitter.written("root", emitter.size_name(term.args[0].value)), kind="number")
    if row is None:
        raise CodegenError(f"the function {term.value} has no {emitter.dialect.name} form")
    if (
        term.value == "exp"
        and emitter.corrected
        and (gap := scaled_difference(term.args[0], emitter.context.definitions))
    ):
        emitter.guard()  # a score of -inf
        if emitter.rough and (head := doubled.head(emitter, term)):
            return head
        parts = [emitter.value(a) for a in (gap.x, gap.y, gap.factor) if a is not None]
        scaled = EXP_QUOTIENT if gap.divided else EXP_PRODUCT
        return _call(emitter, scaled if gap.factor else EXP_DIFFERENCE, parts)
    return _call(emitter, row, [emitter.value(a) for a in term.args])


def _call(emitter: Emitter, row: Function, values: list[Value]) -> Value:
    values, letters, kind = _joined(emitter, values)
    text = row.text.replace(row.helper, emitter.helper(row.helper)) if row.helper else row.text
    if kind == "number":
        text = text.replace("np.", emitter.dialect.number_module)
        text = text.format(*(emitter.written("alone", v.text) for v in values))
        return emitter.kept(Value(emitter.written("item", text), letters, ATOM, kind))
    operands = [emitter.written("operand", v.text) if v.kind == "number" else v.text for v in values]
    text = text.format(*operands)
    into = text.removesuffix(")") if not row.helper or row is EXP_DIFFERENCE else ""
    return emitter.kept(Value(text, letters, ATOM, kind, into))


def _delta(emitter: Emitter, term: Term) -> Value:
    left, right = term.args
    loose = [a.op == "index" and a not in emitter.fixed for a in term.args]
    if left is right:
        return Value("1", kind="number")
    if all(loose):
        value = Value(emitter.written("eye", emitter.size_name(left.value[1])), (left, right))
        return emitter.named(value, "eye") if emitter.large else emitter.kept(value)
    equal = _compared(emitter, "==", emitter.place(left), emitter.place(right))
    return emitter.cast(equal)


# -- conditions --------------------------------------------------------------------------------------------------------


def _compared(emitter: Emitter, relation: str, left: Value, right: Value) -> Value:
    letters = union([left, right], emitter.rank)
    left, right = aligned(left, letters), aligned(right, letters)
    text = f"{left.at(ADD)} {relation} {right.at(ADD)}"
    if left.kind == right.kind == "number" and (alone := emitter.written("truth", text)) != text:
        return Value(alone, letters, ATOM, "truth")
    return Value(text, letters, COMPARE, "truth")


def _cmp(emitter: Emitter, term: Term) -> Value:
    both = [emitter.place(a) if emitter.is_place(a) else emitter.value(a) for a in term.args]
    return _compared(emitter, term.value, *both)


def _joined_by(symbol: str) -> Row:
    def row(emitter: Emitter, term: Term) -> Value:
        values = [emitter.value(a) for a in term.args]
        letters = union(values, emitter.rank)
        text = f" {symbol} ".join(v.at(ATOM) for v in emitter.fitted([aligned(v, letters) for v in values]))
        return Value(text, letters, COMPARE, "truth")

    return row


def _not(emitter: Emitter, term: Term) -> Value:
    value = emitter.value(term.args[0])
    return Value(f"np.logical_not({value.text})", value.letters, ATOM, "truth")


def _holds(emitter: Emitter, term: Term) -> Value:
    return _compared(emitter, "!=", emitter.value(term.args[0]), Value("0", kind="number"))


def _where(emitter: Emitter, term: Term) -> Value:
    emitter.guard()
    condition, *branches = [emitter.value(a) for a in term.args]
    letters = union([condition, *branches], emitter.rank)
    width = NARROW if all(v.kind == "number" for v in branches) else WIDTH
    condition, then, other = emitter.fitted([aligned(v, letters) for v in (condition, *branches)], width)
    return emitter.kept(Value(_chosen(emitter, condition, then, other), letters))


def _chosen(emitter: Emitter, test: Value, then: Value, other: Value) -> str:
    if then.kind == other.kind == "number":  # two Python numbers would choose their own dtype
        return emitter.written("both_numbers", test.text, then.text, other.text)
    return f"np.where({test.text}, {then.text}, {other.text})"


# -- reductions --------------------------------------------------------------------------------------------------------


def apart(emitter: Emitter, term: Term) -> Term:
    """The binder with letters that stand for nothing else here: not for a fixed index."""
    taken = [k for k in term.bound if k in emitter.fixed]
    return rename_bound(term, taken) if taken else term


def _sum(emitter: Emitter, term: Term) -> Value:
    term = apart(emitter, term)
    body, condition = term.args
    if others := _sum_of_others(emitter, term):
        return others
    if factors_of(body, term.bound, condition):
        return summed_product(emitter, term)
    if dot := _dot(emitter, term):
        return dot
    return _reduced(emitter, term, "sum", "0", _times_size)


def _dot(emitter: Emitter, term: Term) -> Value | None:
    """A sum of products over the last axis of all factors, as one call that keeps no product; else None."""
    body, condition = term.args
    counted = present(body)
    factors = counted or (body.args if body.op == "mul" else ())
    if not emitter.dialect.dot or not factors or condition is not TRUE or len(term.bound) != 1:
        return None
    *first, last = [emitter.value(a) for a in factors]
    left = product(emitter, first) if len(first) > 1 else first[0]
    if left.kind != "array" or last.kind != "array" or left.letters != last.letters or term.bound != left.letters[-1:]:
        return None
    left, last = emitter.fitted([emitter.alone(left), emitter.alone(last)])
    text = emitter.written("dot", left.text, last.text)
    if counted:
        emitter.guard()
        text = f"{emitter.helper('_dot_of_present')}({left.text}, {last.text})"
    return emitter.kept(Value(text, left.letters[:-1]))


def _prod(emitter: Emitter, term: Term) -> Value:
    return _reduced(emitter, apart(emitter, term), "prod", "1", _to_the_size)


def _max(emitter: Emitter, term: Term) -> Value:
    if entry := emitter.largest(term):
        return emitter.value(entry)
    return _reduced(emitter, apart(emitter, term), "max", "-np.inf", lambda emitter, value, letter: value)


def _min(emitter: Emitter, term: Term) -> Value:
    return _reduced(emitter, apart(emitter, term), "min", "np.inf", lambda emitter, value, letter: value)


def _times_size(emitter: Emitter, value: Value, letter: Term) -> Value:
    size = Value(emitter.size_name(letter.value[1]), kind="number")
    return size if value.text == "1" else product(emitter, [size, value])


def _to_the_size(emitter: Emitter, value: Value, letter: Term) -> Value:
    size = emitter.size_name(letter.value[1])
    if value.kind == "number":
        return Value(emitter.written("float_power", value.text, size, size), kind="number")
    return Value(raised(value, Value(size)), value.letters, POWER)


def masked(emitter: Emitter, value: Value, condition: Term, neutral: str) -> Value:
    """The value where the condition holds, the neutral element elsewhere."""
    if condition is TRUE:
        return value
    emitter.guard()
    test = emitter.value(condition)
    letters = union([value, test], emitter.rank)
    test, value = emitter.fitted([aligned(test, letters), aligned(value, letters)], NARROW)
    return Value(_chosen(emitter, test, value, Value(neutral, kind="number")), letters)


def _sum_of_others(emitter: Emitter, term: Term) -> Value | None:
    """A sum of exponentials without the largest one, None where it is something else."""
    body, condition = term.args
    if body.op != "fn" or body.value != "exp" or len(term.bound) != 1 or not emitter.dialect.in_place:
        return None
    if condition.op != "cmp" or condition.value != "!=" or condition.args[1].op != "argmax":
        return None
    value, place = emitter.value(body), emitter.place(condition.args[1])
    rest = tuple(k for k in value.letters if k is not term.bound[0])
    if condition.args[0] is not term.bound[0] or len(rest) == len(value.letters) or not set(place.letters) <= set(rest):
        return None
    last = transposed(value, (*rest, *term.bound))
    # A quotient does not need the last digit of the sum under it; a logarithm does, and there the shift is the maximum.
    gap = scaled_difference(body.args[0], emitter.context.definitions)
    exactly = emitter.corrected and not (gap and gap.y.op == "where")
    helper = emitter.helper("_exact_sum_of_others" if exactly else "_sum_of_others")
    return emitter.kept(Value(f"{helper}({last.text}, {aligned(place, rest).text})", rest))


def _reduced(
    emitter: Emitter, term: Term, method: str, neutral: str, idle: Callable[[Emitter, Value, Term], Value]
) -> Value:
    """A reduction over the bound letters; `idle` gives it where nothing depends on the letter."""
    value = masked(emitter, emitter.value(term.args[0]), term.args[1], neutral)
    return reduced(emitter, value, term.bound, method, idle)


def reduced(
    emitter: Emitter,
    value: Value,
    bound: tuple[Term, ...],
    method: str = "sum",
    idle: Callable[[Emitter, Value, Term], Value] = _times_size,
) -> Value:
    """The array reduced along the axes of the bound letters."""
    for letter in bound:
        if letter not in value.letters:
            value = idle(emitter, value, letter)
    rank = len(value.letters)
    axes = sorted((p - rank for p, k in enumerate(value.letters) if k in bound), reverse=True)
    if not axes:
        return value
    value = emitter.alone(value)
    rest = tuple(k for k in value.letters if k not in bound)
    row = emitter.dialect.reductions[method]
    if method in emitter.dialect.one_axis:
        text = value.text
        for axis in sorted(axes):  # the first axes first: the others keep their places from the end
            text = row.format(text, axis)
        return emitter.kept(Value(text, rest))
    return emitter.kept(Value(row.format(value.text, axes[0] if len(axes) == 1 else tuple(axes)), rest))


def _argmax(emitter: Emitter, term: Term) -> Value:
    """The place of the maximum as a number."""
    place = emitter.place(term)
    return emitter.cast(place)


def place_of_maximum(emitter: Emitter, term: Term) -> Value:
    """The least index that attains the maximum, as an integer array."""
    term = apart(emitter, term)
    (letter,) = term.bound
    value = masked(emitter, emitter.value(term.args[0]), term.args[1], "-np.inf")
    if letter not in value.letters:
        return Value(emitter.written("zero_place"), kind="index")
    axis = value.letters.index(letter) - len(value.letters)
    rest = tuple(k for k in value.letters if k != letter)
    return Value(f"np.argmax({value.text}, axis={axis})", rest, ATOM, "index")


def _all(emitter: Emitter, term: Term) -> Value:
    return _quantified(emitter, apart(emitter, term), "all")


def _any(emitter: Emitter, term: Term) -> Value:
    return _quantified(emitter, apart(emitter, term), "any")


def _quantified(emitter: Emitter, term: Term, method: str) -> Value:
    value = emitter.value(term.args[0])
    if term.args[1] is not TRUE:
        test = emitter.value(term.args[1])
        letters = union([value, test], emitter.rank)
        test, value = emitter.fitted([aligned(test, letters), aligned(value, letters)])
        outside = f"np.logical_not({test.text})" if method == "all" else test.text
        joined = (
            f"np.logical_or({outside}, {value.text})" if method == "all" else f"np.logical_and({outside}, {value.text})"
        )
        value = Value(joined, letters, ATOM, "truth")
    result = reduced(emitter, value, term.bound, method, lambda emitter, value, letter: value)
    return Value(result.text, result.letters, result.level, "truth")


OPS: dict[str, Row] = {
    "num": _num,
    "const": _const,
    "size": _size,
    "index": _index,
    "var": _var,
    "def": _def,
    "add": _add,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "pow": _pow,
    "fn": _fn,
    "sum": _sum,
    "prod": _prod,
    "max": _max,
    "min": _min,
    "argmax": _argmax,
    "delta": _delta,
    "where": _where,
    "cmp": _cmp,
    "and": _joined_by("&"),
    "or": _joined_by("|"),
    "not": _not,
    "true": lambda emitter, term: Value(emitter.written("truth", "True"), kind="truth"),
    "false": lambda emitter, term: Value(emitter.written("truth", "False"), kind="truth"),
    "all": _all,
    "any": _any,
    "holds": _holds,
}

"""Printing is the inverse of reading: no printed formula loses or moves a term."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from derive.language import catalogue, condition, expression, load, loads
from derive.language.layout import theory_to_text
from derive.language.printer import decimal, to_text
from derive.language.theory import Theory
from derive.term import (
    FALSE,
    ONE,
    TRUE,
    TWO,
    Term,
    add,
    alike,
    both,
    cmp,
    defined,
    delta,
    diff,
    div,
    fn,
    index,
    make,
    mul,
    neg,
    num,
    over,
    power,
    size,
    sub,
    var,
    where,
)

THEORY = loads(
    "n: axis\nm: axis\nx: real\nT: positive\nz: real[n]\nW: real[m, n]\nmask: bit[n, n]\nt: index[n][m]\n"
    "q: random(mean=0, variance=1)[n]\nZ = sum(exp(z[k]) for k in n)\ns[r] = exp(z[r]) / Z\n"
)
I, J, K = (index(letter, "n") for letter in "ijk")  # noqa: E741  # the letter i of the formulas
B, KM = index("b", "m"), index("k", "m")
X, T = var("x"), var("T")


def z(letter: Term) -> Term:
    return var("z", letter)


PRINTED = {
    "-x**2": neg(power(X, TWO)),
    "(-x)**2": power(neg(X), TWO),
    "x**-2": power(X, neg(TWO)),
    "2**-x**2": power(TWO, neg(power(X, TWO))),
    "(x**T)**2": power(power(X, T), TWO),
    "x**T**2": power(X, power(T, TWO)),
    "(x/T)**2": power(div(X, T), TWO),
    "x - (T + 1)": sub(X, add(T, ONE)),
    "x - (T - 1)": sub(X, sub(T, ONE)),
    "x + (T + 1)": make("add", (X, add(T, ONE))),
    "x - T*2": sub(X, mul(T, TWO)),
    "x - (-T)": sub(X, neg(T)),
    "x + (-T*2)": add(X, mul(neg(T), TWO)),
    "-x + T": add(neg(X), T),
    "-(x + T)": neg(add(X, T)),
    "-(x*T)": neg(mul(X, T)),
    "-x*T": mul(neg(X), T),
    "-(-x)": neg(neg(X)),
    "x*(-T)": mul(X, neg(T)),
    "x/(-T)": div(X, neg(T)),
    "x/(T*2)": div(X, mul(T, TWO)),
    "x/T*2": mul(div(X, T), TWO),
    "x*(T/2)": mul(X, div(T, TWO)),
    "x*T/2": div(mul(X, T), TWO),
    "x/T/2": div(div(X, T), TWO),
    "x/(T/2)": div(X, div(T, TWO)),
    "x*(T*2)": make("mul", (X, mul(T, TWO))),
    "(x + T)*2": mul(add(X, T), TWO),
    "0.1*x": mul(num(Fraction(1, 10)), X),
    "1/3*x": mul(div(ONE, num(3)), X),
    "2.000000000001": num(Fraction("2.000000000001")),
    "1e-30": num(Fraction(1, 10**30)),
    "sum(z[k] for k in n)/n": div(over("sum", z(K), K), size("n")),
    "sum(W[k, i]*z[j] for k in m for i in n if i != j)": over(
        "sum", mul(var("W", KM, I), z(J)), KM, I, where=cmp("!=", I, J)
    ),
    "exp(sum(z[k] for k in n))": fn("exp", over("sum", z(K), K)),
    "max(x, T)": fn("max", X, T),
    "max(z[k] for k in n)": over("max", z(K), K),
    "diff(x*T, x, T)": diff(mul(X, T), X, T),
    "diff(x*T, x)*T": mul(diff(mul(X, T), X), T),
    "at(s[i], z[k], z[k] - x)": make("at", (defined("s", I), sub(z(K), X)), "z", (K,)),
    "at(x**2, x, T)": make("at", (power(X, TWO), T), "x"),
    'limit(x/T, T, 0, "+")': make("limit", (div(X, T), T, num(0)), "+"),
    "limit(x/T, T, -oo)": make("limit", (div(X, T), T, neg(make("const", (), "oo"))), ""),
    "where(0 < x < 1, x, -x)": where(both(cmp("<", num(0), X), cmp("<", X, ONE)), X, neg(X)),
    "where(x < 1 and (x > 0 or T == 1), 1, 2)": where(
        both(cmp("<", X, ONE), make("or", (cmp(">", X, num(0)), cmp("==", T, ONE)))), ONE, TWO
    ),
    "where(not (x < 1 or x > 2), 1, 2)": where(
        make("not", (make("or", (cmp("<", X, ONE), cmp(">", X, TWO))),)), ONE, TWO
    ),
    "where(not mask[i, j], 1, 2)": where(make("not", (make("holds", (var("mask", I, J),)),)), ONE, TWO),
    "z[argmax(z[k] for k in n)]": z(over("argmax", z(K), K)),
    "delta(t[b], i)": delta(var("t", B), I),
    "E(q[i]**2) - E(q[i])**2": sub(make("E", (power(var("q", I), TWO),)), power(make("E", (var("q", I),)), TWO)),
    "Cov(q[i], q[j])": make("Cov", (var("q", I), var("q", J))),
}


@pytest.mark.parametrize("text", PRINTED)
def test_a_term_is_printed_with_as_few_parentheses_as_it_takes(text):
    assert to_text(PRINTED[text]) == text


@pytest.mark.parametrize("text", PRINTED)
def test_what_is_printed_is_read_back(text):
    assert alike(expression(text, THEORY), PRINTED[text])


@pytest.mark.parametrize(
    ("value", "text"),
    [("0", "0"), ("12", "12"), ("1/8", "0.125"), ("1/3", None), ("1/10000000000", "1e-10"), ("-0", "0")],
)
def test_a_value_is_printed_exactly_or_not_as_a_decimal(value, text):
    assert decimal(Fraction(value)) == text


@pytest.mark.parametrize("value", ["-2", "-1/3", "7/3", "-0.5"])
@pytest.mark.parametrize(
    "around", [lambda t: power(t, TWO), lambda t: mul(X, t), lambda t: sub(X, t), lambda t: div(X, t)]
)
def test_numbers_that_only_computation_makes_keep_their_value(value, around):
    number = num(Fraction(value))
    top, bottom = num(abs(number.value).numerator), num(number.value.denominator)
    literal = num(abs(number.value)) if decimal(abs(number.value)) is not None else div(top, bottom)
    read = expression(to_text(around(number)), THEORY)

    assert alike(read, around(neg(literal) if number.value < 0 else literal)) or (
        number.value < 0 and alike(read, around(div(neg(top), bottom)))
    )


@pytest.mark.parametrize("term", [TRUE, FALSE])
def test_truth_is_printed_as_a_condition(term):
    assert condition(to_text(term), THEORY).op == "cmp"


# -- names of bound letters -------------------------------------------------------------------------------------------


def test_a_bound_letter_called_as_a_variable_is_renamed():
    v = index("x", "n")

    assert to_text(mul(X, over("sum", z(v), v))) == "x*sum(z[x1] for x1 in n)"


def test_a_bound_letter_called_as_a_word_is_renamed():
    letter = index("E", "n")

    assert to_text(over("sum", z(letter), letter)) == "sum(z[E1] for E1 in n)"


def test_a_bound_letter_called_as_an_axis_is_renamed():
    letter = index("m", "n")

    assert to_text(over("sum", mul(z(letter), size("m")), letter)) == "sum(z[m1]*m for m1 in n)"


def test_letters_of_two_axes_are_printed_apart():
    term = over("sum", mul(var("w", KM), z(K)), KM)

    assert to_text(term) == "sum(w[k1]*z[k] for k1 in m)"


def test_a_letter_bound_inside_its_own_name_is_renamed():
    term = over("sum", mul(z(K), over("sum", z(K), K)), K)

    assert to_text(term) == "sum(z[k]*sum(z[k1] for k1 in n) for k in n)"


def test_separate_sums_keep_their_letter():
    assert to_text(add(over("sum", z(K), K), over("sum", z(K), K))) == "sum(z[k] for k in n) + sum(z[k] for k in n)"


def test_names_to_avoid_are_avoided():
    assert to_text(over("sum", z(K), K), avoid=["k"]) == "sum(z[k1] for k1 in n)"


# -- random terms -----------------------------------------------------------------------------------------------------

_LETTERS = [I, J, index("k", "n"), index("l", "n")]
_entries = st.sampled_from([*_LETTERS, var("t", B)])
_relations = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
_leaves = st.one_of(
    st.fractions(min_value=0, max_value=100, max_denominator=8).filter(lambda f: decimal(f) is not None).map(num),
    st.sampled_from([X, T, size("n"), make("const", (), "pi"), defined("Z"), I, J, mul(B, TWO)]),
    _entries.map(z),
    _entries.map(lambda e: defined("s", e)),
    st.tuples(_entries, _entries).map(lambda pair: delta(*pair)),
)


def _flat(op: str, parts: list[Term]) -> Term:
    """The operation as the parser makes it: a leading part of the same kind is one chain with the rest."""
    head = parts[0].args if parts[0].op == op else (parts[0],)
    return make(op, (*head, *parts[1:]))


def _bind(op: str, body: Term, letter: Term, condition: Term) -> Term:
    return over(op, body, letter, where=condition)


def _conditions(numbers: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    comparisons = st.tuples(_relations, numbers, numbers).map(lambda c: cmp(*c))
    bits = st.tuples(_entries, _entries).map(lambda e: make("holds", (var("mask", *e),)))
    simple = comparisons | bits
    nested = st.one_of(
        st.lists(simple, min_size=2, max_size=3).map(lambda cs: both(*cs)),
        st.lists(simple, min_size=2, max_size=3).map(lambda cs: make("or", cs)),
        simple.map(lambda c: make("not", (c,))),
    )
    return simple | nested | nested.map(lambda c: make("not", (c,)))


_filters = st.one_of(
    st.just(TRUE),
    st.tuples(_relations, _entries, _entries).map(lambda c: cmp(*c)),
    st.tuples(_entries, _entries).map(lambda e: make("holds", (var("mask", *e),))),
)


def _grow(numbers: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    several = st.lists(numbers, min_size=2, max_size=4)
    return st.one_of(
        several.map(lambda parts: _flat("add", parts)),
        several.map(lambda parts: _flat("mul", parts)),
        numbers.map(neg),
        st.tuples(numbers, numbers).map(lambda p: div(*p)),
        st.tuples(numbers, numbers).map(lambda p: power(*p)),
        st.tuples(st.sampled_from(["exp", "log", "sign", "relu"]), numbers).map(lambda p: fn(*p)),
        st.tuples(numbers, numbers).map(lambda p: fn("max", *p)),
        st.tuples(
            st.sampled_from(["sum", "prod", "max", "min", "argmax"]), numbers, st.sampled_from(_LETTERS), _filters
        ).map(lambda p: _bind(*p)),
        st.tuples(_conditions(numbers), numbers, numbers).map(lambda p: where(*p)),
        st.tuples(numbers, st.sampled_from([X, T, z(I), z(J)])).map(lambda p: diff(*p)),
        st.tuples(numbers, numbers, st.sampled_from(_LETTERS)).map(lambda p: make("at", p[:2], "z", p[2:])),
        st.tuples(numbers, numbers).map(lambda p: make("at", p, "x")),
        st.tuples(st.sampled_from(["E", "Var"]), numbers).map(lambda p: make(p[0], (p[1],))),
    )


numbers = st.recursive(_leaves, _grow, max_leaves=12)


def _closed(term: Term) -> Term:
    """The term with every letter bound, since a letter alone does not say over which axis it runs."""
    for letter in [*_LETTERS, B]:
        term = over("sum", term, letter)
    return term


@settings(max_examples=300, deadline=None)
@given(numbers)
def test_every_term_is_read_back_as_it_was(term):
    assert alike(expression(to_text(_closed(term)), THEORY), _closed(term))


@settings(max_examples=100, deadline=None)
@given(numbers)
def test_printing_what_was_read_changes_nothing(term):
    text = to_text(_closed(term))

    assert to_text(expression(text, THEORY)) == text


# -- theories ---------------------------------------------------------------------------------------------------------


def same(one: Theory, two: Theory) -> bool:
    """Whether the theories say the same, whatever their lines and letters."""

    def shown(theory: Theory) -> list[object]:
        return [
            theory.title,
            theory.prose,
            theory.axes,
            sorted((d.name, d.kind, d.axes, d.over, d.law and d.law.family) for d in theory.declarations.values()),
            sorted((d.name, to_text(d.body)) for d in theory.definitions.values()),
            sorted(map(to_text, theory.hypotheses)),
            [
                (
                    "claim" if t.name.startswith("line_") else t.name,
                    t.doc,
                    [(d.name, d.kind, d.axes, d.over) for d in t.declarations],
                    t.letters,
                    sorted(map(to_text, t.hypotheses)),
                    [(d.name, to_text(d.body)) for d in t.definitions],
                    [
                        (c.statement, c.caption, [name for name in c.by if not name.startswith("line_")])
                        for c in t.claims
                    ],
                )
                for t in theory.theorems
            ],
        ]

    return shown(one) == shown(two)


@pytest.mark.parametrize("name", catalogue())
def test_a_catalogue_theory_is_read_back_from_what_is_printed(name):
    theory = load(name)

    assert same(loads(theory_to_text(theory)), theory)


def test_a_theory_with_everything_is_read_back_from_what_is_printed():
    theory = loads(
        'r"""A "title" with \\alpha.\n\nProse.\n\n    indented\n"""\n'
        "n: axis\nm: axis\ni: index[n]\nt: index[n][m]\np: real\nv: nonnegative[n]\nz: real[n]\n"
        "Z = sum(exp(z[k]) for k in n)\n"
        "c: bernoulli(p)[n]\nr: rademacher\nu: uniform(0, 1)[n, m]\ng[j]: normal(z[j] / Z, v[j])\n"
        "square[i] = i**2\n"
        "assume(Z > 2)\nassume(z[i] == 0)\n"
        'assert Z == Z + 0 > -1 and (Z > 2 or Z < 1), "top level \\\\alpha"\n'
        'def f(w: real[n, m], h: index[n], a: index[n][m]):\n    """Only "quoted\\\\" words"""\n'
        "    assume(h != i)\n    top = max(z[k] for k in n)\n    assume(top > 1)\n"
        '    assert top >= z[h] == z[h], by(line_22, "be\\\\cause\\"")\n'
        "    assert square[h] == h * h\n"
        "def example():\n    assume(z == [1, 2])\n    assert z[0] == 1\n"
    )

    assert [t.name for t in theory.theorems] == ["line_22", "f", "example"]
    assert same(loads(theory_to_text(theory)), theory)


@pytest.mark.parametrize(
    "text",
    ['"""A back\\\\slash and \\"\\"\\" quotes."""\n', 'r"""Ends with \\x """\n', '"""\n\nLate title.\n"""\n', ""],
)
def test_prose_is_read_back(text):
    theory = loads(text + "x: real\n")

    assert same(loads(theory_to_text(theory)), theory)

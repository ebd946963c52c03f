"""What the formula language accepts, and the terms it makes of it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from derive.language import catalogue, condition, expression, load, loads
from derive.language.printer import to_text
from derive.term import (
    ONE,
    OO,
    TRUE,
    TWO,
    add,
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
    var,
    where,
)

DECLARATIONS = """
n: axis
m: axis
x: real
T: positive
e: nonnegative
count: integer
on: bit
z: real[n]
W: real[m, n]
mask: bit[n, n]
label: index[n]
t: index[n][m]
q: random(mean=0, variance=1)[n]
Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
"""
THEORY = loads(DECLARATIONS)
I, J, K = (index(letter, "n") for letter in "ijk")  # noqa: E741  # the letter i of the formulas
B = index("b", "m")
X, T = var("x"), var("T")


def z(letter):
    return var("z", letter)


EXPRESSIONS = {
    "1/2": div(ONE, TWO),
    "0.1": num(Fraction(1, 10)),
    "1_000.50": num(Fraction(2001, 2)),
    ".5e-3": num(Fraction(1, 2000)),
    "2.": TWO,
    "-1": neg(ONE),
    "pi": make("const", (), "pi"),
    "n": size("n"),
    "x + T + 1": add(X, T, ONE),
    "x - T - 1": add(X, neg(T), neg(ONE)),
    "x + (T - 1)": make("add", (X, add(T, neg(ONE)))),
    "x - (T + 1)": add(X, neg(add(T, ONE))),
    "x * T * 2": mul(X, T, TWO),
    "x * (T * 2)": make("mul", (X, mul(T, TWO))),
    "x / T * 2": mul(div(X, T), TWO),
    "x * T / 2": div(mul(X, T), TWO),
    "-x ** 2": neg(power(X, TWO)),
    "(-x) ** 2": power(neg(X), TWO),
    "x ** -2": power(X, neg(TWO)),
    "x ** T ** 2": power(X, power(T, TWO)),
    "-x * T": mul(neg(X), T),
    "Z": defined("Z"),
    "s[i]": defined("s", I),
    "z[label]": z(index("label", "n")),
    "z[t[b]]": z(var("t", B)),
    "W[b, i]": var("W", B, I),
    "z[argmax(z[k] for k in n)]": z(over("argmax", z(K), K)),
    "delta(i, label)": delta(I, index("label", "n")),
    "delta(t[b], label)": delta(var("t", B), index("label", "n")),
    "where(x > 0, x, 0)": where(cmp(">", X, num(0)), X, num(0)),
    "where(0 < x < 1, x, 0)": where(both(cmp("<", num(0), X), cmp("<", X, ONE)), X, num(0)),
    "where(mask[i, j], z[i], 0)": where(make("holds", (var("mask", I, J),)), z(I), num(0)),
    "where(on, 1, 2)": where(make("holds", (var("on"),)), ONE, TWO),
    "mask[i, j] * on": mul(var("mask", I, J), var("on")),
    "max(x, T)": fn("max", X, T),
    "min(x, 0)": fn("min", X, num(0)),
    "max(z[k] for k in n)": over("max", z(K), K),
    "max(z[k] for k in n if k != i) * z[i]": mul(over("max", z(K), K, where=cmp("!=", K, I)), z(I)),
    "sum(W[b, k] for b in m for k in n)": over("sum", var("W", B, K), B, K),
    "sum(z[k] for k in n if mask[k, i])": over("sum", z(K), K, where=make("holds", (var("mask", K, I),))),
    "sum(z[k] for k in n if not mask[k, i])": over(
        "sum", z(K), K, where=make("not", (make("holds", (var("mask", K, I),)),))
    ),
    "sum(z[k] * z[i] for k in n if i <= k if k != j)": over(
        "sum", mul(z(K), z(I)), K, where=both(cmp("<=", I, K), cmp("!=", K, J))
    ),
    "prod(z[k] for k in n if k == t[b] or k < label)": over(
        "prod", z(K), K, where=make("or", (cmp("==", K, var("t", B)), cmp("<", K, index("label", "n"))))
    ),
    "sum(1 for k in n if k < label)": over("sum", ONE, K, where=cmp("<", K, index("label", "n"))),
    "abs(i - j) * z[i] * z[j]": mul(fn("abs", add(I, neg(J))), z(I), z(J)),
    "z[i] * x ** (i - label)": mul(z(I), power(X, add(I, neg(index("label", "n"))))),
    "diff(x ** 2, x)": diff(power(X, TWO), X),
    "diff(s[i], z[j], z[k])": diff(defined("s", I), z(J), z(K)),
    "diff(W[b, i], W[b, j])": diff(var("W", B, I), var("W", B, J)),
    "at(s[i], z[k], z[k] + x)": make("at", (defined("s", I), add(z(K), X)), "z", (K,)),
    "at(s[k], z[k], z[k])": make("at", (defined("s", K), z(K)), "z", (K,)),
    "at(x ** 2, x, T)": make("at", (power(X, TWO), T), "x"),
    "at(W[b, i], W[c, k], x)": make("at", (var("W", B, I), X), "W", (index("c", "m"), K)),
    "limit(x / T, T, oo)": make("limit", (div(X, T), T, OO), ""),
    "limit(x / T, T, -oo)": make("limit", (div(X, T), T, neg(OO)), ""),
    'limit(x / T, T, 0, "+")': make("limit", (div(X, T), T, num(0)), "+"),
    "limit(x / T, T, x)": make("limit", (div(X, T), T, X), ""),
    "E(q[i] ** 2)": make("E", (power(var("q", I), TWO),)),
    "Cov(q[i], q[j])": make("Cov", (var("q", I), var("q", J))),
    "Var(x)": make("Var", (X,)),
    "sum(z[k] for k in n) + sum(z[k] for k in n)": add(over("sum", z(K), K), over("sum", z(K), K)),
    "z[k] + sum(z[k] for k in n)": add(z(K), over("sum", z(K), K)),
    "digamma(x) + trigamma(T) + lgamma(e)": add(fn("digamma", X), fn("trigamma", T), fn("lgamma", var("e"))),
}
CONDITIONS = {
    "x == 1": cmp("==", X, ONE),
    "0 < x <= T": both(cmp("<", num(0), X), cmp("<=", X, T)),
    "z[i] == z[j] and i != j": both(cmp("==", z(I), z(J)), cmp("!=", I, J)),
    "not x > 0": make("not", (cmp(">", X, num(0)),)),
    "x > 0 or x < 1 or x == T": make("or", (cmp(">", X, num(0)), cmp("<", X, ONE), cmp("==", X, T))),
    "all(z[k] > 0 for k in n)": over("all", cmp(">", z(K), num(0)), K),
    "any(z[i] == z[j] for i in n for j in n if i != j)": over(
        "any", cmp("==", z(I), z(J)), I, J, where=cmp("!=", I, J)
    ),
    "mask[i, j]": make("holds", (var("mask", I, J),)),
    "i < 3 and z[i] > 0": both(cmp("<", I, num(3)), cmp(">", z(I), num(0))),
    "t[b] == argmax(z[k] for k in n)": cmp("==", var("t", B), over("argmax", z(K), K)),
    "i < pi and z[i] > pi": both(cmp("<", I, make("const", (), "pi")), cmp(">", z(I), make("const", (), "pi"))),
    "n >= 2": cmp(">=", size("n"), TWO),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_becomes_its_term(text):
    assert expression(text, THEORY) is EXPRESSIONS[text]


@pytest.mark.parametrize("text", CONDITIONS)
def test_a_condition_becomes_its_term(text):
    assert condition(text, THEORY) is CONDITIONS[text]


@pytest.mark.parametrize(
    "name", "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu".split()
)
def test_elementary_functions_take_one_number(name):
    assert expression(f"{name}(x)", THEORY) is fn(name, X)


def test_a_long_chain_of_terms_is_one_flat_sum():
    assert len(expression(" + ".join(["x"] * 2000), THEORY).args) == 2000


# -- declarations -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["real", "positive", "nonnegative", "integer", "bit"])
def test_every_kind_is_declared_as_scalar_and_as_array(kind):
    theory = loads(f"n: axis\nm: axis\na: {kind}\nb: {kind}[m, n]\n")

    assert [(d.kind, d.axes) for d in theory.declarations.values()] == [(kind, ()), (kind, ("m", "n"))]


def test_a_declared_index_is_its_letter():
    theory = loads("n: axis\nz: real[n]\ni: index[n]\nassert z[i] == z[i]\n")

    assert theory.letters == (I,)
    assert theory["line_4"].claims[0].condition is cmp("==", z(I), z(I))


def test_a_declared_index_gives_a_definition_its_axis():
    theory = loads("n: axis\ni: index[n]\nsquare[i] = i ** 2\nassert square[k] == k * k\n")

    assert theory.definitions["square"].letters == (I,)
    assert theory["line_4"].claims[0].condition.letters == {K}


def test_index_arrays_have_axes_and_a_range():
    declaration = loads("n: axis\nB: axis\nH: axis\nt: index[n][B, H]\n").declarations["t"]

    assert (declaration.kind, declaration.axes, declaration.over) == ("index", ("B", "H"), "n")


LAWS = {
    "random(mean=a, variance=2)": ("random", (var("a"), TWO)),
    "random(variance=2, mean=a)": ("random", (var("a"), TWO)),
    "normal(a, 2)": ("normal", (var("a"), TWO)),
    "normal(mu=a, var=2)": ("normal", (var("a"), TWO)),
    "bernoulli(1/2)": ("bernoulli", (div(ONE, TWO),)),
    "uniform(0, 1)": ("uniform", (num(0), ONE)),
    "rademacher": ("rademacher", ()),
}


@pytest.mark.parametrize("text", LAWS)
@pytest.mark.parametrize("axes", ["", "[n]", "[n, m]"])
def test_every_law_is_declared_with_and_without_axes(text, axes):
    theory = loads(f"n: axis\nm: axis\na: real\nq: {text}{axes}\n")
    declaration = theory.declarations["q"]

    assert (declaration.law.family, declaration.law.parameters) == LAWS[text]
    assert declaration.axes == tuple(axes.strip("[]").split(", ")) if axes else declaration.axes == ()
    assert tuple(k.value[1] for k in declaration.letters) == declaration.axes
    assert theory.hypotheses == ()


def test_a_law_may_vary_with_its_entry():
    theory = loads("n: axis\na: real[n]\nv: nonnegative[n]\nq[i]: random(mean=a[i], variance=v[i])\n")
    declaration = theory.declarations["q"]

    assert declaration.axes == ("n",)
    assert declaration.letters == (I,)
    assert declaration.law.parameters == (var("a", I), var("v", I))


IMPLIED = {
    "p: real\nq: bernoulli(p)": ["0 <= p <= 1"],
    "p: real\nq: bernoulli(1 - p)": ["0 <= 1 - p <= 1"],
    "q: bernoulli(0.25)": [],
    "p: real\nq: uniform(0, p)": ["0 < p"],
    "p: real\nq: random(mean=0, variance=p)": ["p >= 0"],
    "p: nonnegative\nq: random(mean=0, variance=p)": [],
    "p: real\nq: normal(0, p**2)": [],
    "n: axis\np: real[n]\nq[i]: bernoulli(p[i])": ["0 <= p[i] <= 1"],
    "p: real\nassume(0 <= p <= 1)\nq: bernoulli(p)": ["0 <= p <= 1"],
}


@pytest.mark.parametrize("text", IMPLIED)
def test_a_law_implies_that_there_is_such_a_law(text):
    assert [to_text(h) for h in loads(text).hypotheses] == IMPLIED[text]


@pytest.mark.parametrize(
    "name", ["I", "S", "N", "Q", "O", "C", "beta", "lambda_", "mean", "θ", "λ1", "Δx", "match", "_"]
)
def test_names_that_mean_nothing_to_the_language_are_ordinary(name):
    assert name in loads(f"{name}: real\nassert {name} == {name}\n").declarations


# -- letters ----------------------------------------------------------------------------------------------------------

INFERRED = {
    "assert W[i, j] == W[i, j]": {("i", "m"), ("j", "n")},
    "assert delta(i, j) * z[j] == delta(i, j) * z[i]": {("i", "n"), ("j", "n")},
    "assert sum(1 for k in n if k < i) == i": {("i", "n")},
    "assert z[i] * where(i == j, 1, 2) == z[i]": {("i", "n"), ("j", "n")},
    "assert where(i == j, 1, 2) * where(j == k, 1, 2) * z[k] == 1": {("i", "n"), ("j", "n"), ("k", "n")},
    "assert z[t[b]] == 0": {("b", "m")},
    "assert sum(where(i == argmax(z[j] for j in n), 1, 0) for k in n) == n": {("i", "n")},
    "assert where(i == t[b], 1, 0) == 1": {("i", "n"), ("b", "m")},
    "assert at(z[i], z[k], z[k] + z[j]) == z[i] + z[j]": {("i", "n"), ("j", "n")},
    "assert sum(W[i, j] for j in n) == sum(W[i, k] for k in n)": {("i", "m")},
}


@pytest.mark.parametrize("text", INFERRED)
def test_letters_run_over_the_axis_that_their_places_imply(text):
    theory = loads(DECLARATIONS + text)
    letters = frozenset().union(*(c.condition.letters for c in theory.theorems[0].claims))

    assert {k.value for k in letters} == INFERRED[text]


def test_a_restriction_takes_its_axes_from_the_claims():
    theory = loads("n: axis\nW: real[n, n]\ndef f():\n    assume(i != j)\n    assert W[i, j] == 0\n")

    assert theory["f"].hypotheses == (cmp("!=", I, J),)


def test_a_claim_takes_an_axis_from_a_restriction():
    theory = loads("n: axis\nz: real[n]\ndef f():\n    assume(i < j)\n    assert z[i] * abs(i - j) == 0\n")

    assert theory["f"].claims[0].condition.letters == {I, J}


def test_letters_of_one_name_over_two_axes_are_kept_apart_by_their_binders():
    claim = loads(DECLARATIONS + "assert z[k] == sum(W[k, j] for k in m for j in n)").theorems[0].claims[0]

    assert claim.condition.letters == {K}
    assert claim.condition.args[1].bound == (index("k", "m"), J)


# -- theorems and claims ----------------------------------------------------------------------------------------------


def test_a_chain_makes_one_claim_for_each_link():
    claims = loads('x: real\nassert x == x + 0 >= x - 1 != 7, "three links"\n').theorems[0].claims

    assert [c.statement for c in claims] == ["x == x + 0", "x + 0 >= x - 1", "x - 1 != 7"]
    assert {(c.caption, c.line) for c in claims} == {("three links", 2)}


def test_claims_joined_by_and_are_proved_one_by_one():
    claims = loads("x: real\nassert x == x and 0 <= x**2 < x**2 + 1\n").theorems[0].claims

    assert [c.statement for c in claims] == ["x == x", "0 <= x**2", "x**2 < x**2 + 1"]


def test_a_claim_at_top_level_is_a_theorem_named_after_its_line():
    theory = loads("x: real\n\nassert x == x\ndef f():\n    assert x == x, by(line_3)\n")

    assert [(t.name, t.line) for t in theory.theorems] == [("line_3", 3), ("f", 4)]
    assert theory["f"].claims[0].by == ("line_3",)


def test_by_names_theorems_and_a_caption():
    theory = loads('x: real\nassert x == x\nassert x == x\nassert x == x, by(line_3, line_2, "why")\n')

    assert theory.theorems[-1].claims[0].by == ("line_3", "line_2")
    assert theory.theorems[-1].claims[0].caption == "why"


def test_a_theorem_has_arguments_hypotheses_and_definitions_of_its_own():
    text = (
        "n: axis\nz: real[n]\n"
        'def f(g: real[n], c: positive, i: index[n], u: index[n][n]):\n    """A title.\n\n    More.\n    """\n'
        "    assume(c < 1)\n    top = max(z[k] for k in n)\n    assert top >= z[i]\n"
        "    low = -top\n    assert low == -top\n"
    )
    theorem = loads(text)["f"]

    assert theorem.doc == "A title.\n\nMore."
    assert [(d.name, d.kind, d.axes) for d in theorem.declarations] == [
        ("g", "real", ("n",)),
        ("c", "positive", ()),
        ("u", "index", ("n",)),
    ]
    assert theorem.letters == (I,)
    assert [to_text(h) for h in theorem.hypotheses] == ["c < 1"]
    assert [d.name for d in theorem.definitions] == ["top", "low"]
    assert [c.statement for c in theorem.claims] == ["top >= z[i]", "low == -top"]


def test_local_names_of_different_theorems_may_coincide():
    theory = loads("x: real\ndef f(g: real):\n    assert g == g\ndef h(g: positive):\n    assert g > 0\n")

    assert [t.declarations[0].kind for t in theory.theorems] == ["real", "positive"]


def test_a_finite_example_allows_numbers_as_subscripts():
    theory = loads(
        "n: axis\nz: real[n]\nx: real\ndef f():\n    assume(z == [2, -3, 0.5])\n    assert z[0] == 4 * z[2]\n"
    )
    theorem = theory["f"]

    assert theorem.hypotheses == (cmp("==", var("z"), make("list", (TWO, neg(num(3)), num("1/2")))),)
    assert theorem.claims[0].condition is cmp("==", z(num(0)), mul(num(4), z(TWO)))


def test_a_finite_example_of_a_matrix_is_nested_lists():
    text = "m: axis\nn: axis\nW: real[m, n]\ndef f():\n    assume(W == [[1, 2, 3], [4, 5, sqrt(2)]])\n"
    text += "    assert W[1, 2] > 1\n"

    assert to_text(loads(text)["f"].hypotheses[0]) == "W == [[1, 2, 3], [4, 5, sqrt(2)]]"


def test_random_names_may_stand_in_definitions_and_inside_expectations():
    theory = loads(DECLARATIONS + "score = sum(q[i] for i in n)\nassume(E(q[i] ** 4) == 3)\nassert Var(score) == n\n")

    assert theory.theorems[0].claims[0].statement == "Var(score) == n"


# -- prose ------------------------------------------------------------------------------------------------------------


def test_title_and_prose_come_from_the_docstring():
    theory = loads('r"""A title.\n\nProse with $\\frac{1}{2}$.\n\n    indented\n"""\nx: real\n')

    assert theory.title == "A title."
    assert theory.prose == "Prose with $\\frac{1}{2}$.\n\n    indented"


def test_an_unknown_escape_in_prose_stands_as_written():
    assert loads('"""$\\sum$ and $\\\\frac$."""\n').title == "$\\sum$ and $\\frac$."


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", '"""Only a title."""', "x: real"])
def test_a_file_may_hold_little(text):
    assert loads(text).theorems == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_lines_may_end_either_way(ending):
    theory = loads(ending.join(["x: real", "", "assert x == x", ""]))

    assert theory["line_3"].claims[0].statement == "x == x"


# -- the catalogue ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("softmax", ["s", "jacobian", "vjp"]),
        ("cross_entropy", ["loss", "gradient", "hessian"]),
        ("dot_product", ["mean", "variance", "scaled_variance"]),
    ],
)
def test_the_catalogue_has_the_names_others_build_on(name, words):
    theory = load(name)

    assert name in catalogue()
    assert set(words) <= set(theory.definitions) | {t.name for t in theory.theorems}
    assert theory.title
    assert theory.prose
    assert all(t.doc for t in theory.theorems)


def test_a_filter_left_out_is_true():
    assert expression("sum(z[k] for k in n)", THEORY).args[1] is TRUE

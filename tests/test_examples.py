"""Finite examples: enclosures are true, claims on given numbers are decided, nothing undefined is shown."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction

import pytest

from derive.kernel import intervals
from derive.kernel.context import Context
from derive.kernel.examples import Example, NoValue, decide
from derive.kernel.facts import enclosed
from derive.kernel.functions import BY_CASES, UNFOLD
from derive.kernel.intervals import FUNCTIONS, Imprecise, Interval
from derive.kernel.proof import Rejected
from derive.language import loads
from derive.term import cmp, delta, diff, fn, index, mul, num, over, var

HEAD = """
n: axis
m: axis
z: real[n]
y: real[n]
W: real[m, n]
b: bit[n]
t: index[n][m]
T: positive
c: integer
x: real

Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z
"""


def first_claim(assumptions: list[str], claim: str, arguments: str = ""):
    lines = [f"    assume({a})" for a in assumptions] + [f"    assert {claim}"]
    theory = loads(HEAD + f"\ndef claim({arguments}):\n" + "\n".join(lines) + "\n")
    theorem = theory["claim"]
    return theorem.claims[0].condition, theory.context(theorem)


def holds(assumptions: list[str], claim: str, arguments: str = "") -> bool:
    try:
        decide(*first_claim(assumptions, claim, arguments))
    except Rejected:
        return False
    return True


# -- enclosures ----------------------------------------------------------------------------------------------------


def reference(name: str, x: Fraction):
    """The value by another library, at a precision far above that of the test."""
    from flint import arb, fmpq

    ball = arb(fmpq(x.numerator, x.denominator))
    table = {
        "sigmoid": lambda u: 1 / (1 + (-u).exp()),
        "softplus": lambda u: (1 + u.exp()).log(),
        "relu": lambda u: u if x > 0 else arb(0),
        "abs": abs,
        "sign": lambda u: arb((x > 0) - (x < 0)),
    }
    return table[name](ball) if name in table else getattr(arb, name)(ball)


DOMAIN = {"log": lambda x: x > 0, "sqrt": lambda x: x >= 0, "log1p": lambda x: x > -1}


def points(seed: str, count: int) -> list[Fraction]:
    chance = random.Random(seed)
    sizes = [Fraction(1, 10**9), Fraction(1, 100), Fraction(1), Fraction(20), Fraction(700)]
    drawn = [Fraction(chance.randint(-(10**6), 10**6), 10**6) * chance.choice(sizes) for _ in range(count)]
    return [*drawn, Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 3)]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("bits", [64, 300])
def test_an_enclosure_holds_the_value_at_every_point_of_its_argument(name, bits):
    from flint import arb, ctx, fmpq

    for x in points(name, 40):
        width = Fraction(1, 2 ** (bits + 3)) * (1 + abs(x))
        if not DOMAIN.get(name, lambda x: True)(x - width):
            continue
        found = FUNCTIONS[name](Interval(x - width, x + width, bits))
        with ctx.workprec(2500):
            ends = [arb(fmpq(e.numerator, e.denominator)) for e in (found.low, found.high)]
            for inside in (x - width, x, x + width):
                assert not ends[0] > reference(name, inside)
                assert not ends[1] < reference(name, inside)
        assert found.high - found.low <= (abs(found.high) + 1) * Fraction(1, 2 ** (bits - 40))


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *UNFOLD, *BY_CASES} - {"max", "min"}))
def test_a_function_of_a_number_is_enclosed_within_1e30(name):
    from flint import arb, ctx, fmpq

    example = Example(Context(), lambda: None)
    for x in points("number" + name, 12):
        if not DOMAIN.get(name, lambda x: True)(x) or abs(x) > 25:
            continue
        found = enclosed(example, example.canonical(fn(name, num(x))), 200)
        with ctx.workprec(2500):
            value, step = reference(name, x), arb(fmpq(1, 10**30))
            low, high = (arb(fmpq(e.numerator, e.denominator)) for e in (found.low, found.high))
            assert value - step < low
            assert not low > value
            assert not high < value
            assert high < value + step


def test_random_arithmetic_is_enclosed():
    chance = random.Random(7)
    for _ in range(300):
        a, b = (Fraction(chance.randint(-50, 50), chance.randint(1, 30)) for _ in range(2))
        bits = chance.choice([4, 10, 40])
        around = [Interval(v - Fraction(1, 97), v + Fraction(1, 89), bits) for v in (a, b)]
        results = [(around[0] + around[1], a + b), (around[0] - around[1], a - b), (around[0] * around[1], a * b)]
        results += [(intervals.raised(around[0], k), a**k) for k in (0, 1, 2, 3, 6)]
        if abs(b) > Fraction(1, 80):
            results.append((around[0] / around[1], a / b))
        assert all(found.low <= value <= found.high for found, value in results)


def test_division_by_an_interval_around_zero_asks_for_more_bits_and_by_zero_is_refused():
    one, zero = (Interval(Fraction(v), Fraction(v), 64) for v in (1, 0))
    with pytest.raises(Imprecise):
        one / Interval(Fraction(-1), Fraction(1), 64)
    with pytest.raises(Rejected):
        one / zero


@pytest.mark.parametrize(
    ("base", "exponent", "value"),
    [
        (0, 0, 1),
        (-2, 3, -8),
        (-2, -2, Fraction(1, 4)),
        (0, Fraction(1, 2), 0),
    ],
)
def test_powers_are_the_exact_ones_of_the_language(base, exponent, value):
    found = intervals.power(*(Interval(Fraction(v), Fraction(v), 64) for v in (base, exponent)))
    assert found.exact
    assert found.low == value


@pytest.mark.parametrize(
    ("base", "exponent"), [(0, -1), (0, Fraction(-1, 2)), (-2, Fraction(1, 2)), (-2, Fraction(1, 3))]
)
def test_powers_without_a_value_are_refused(base, exponent):
    with pytest.raises(Rejected):
        intervals.power(*(Interval(Fraction(v), Fraction(v), 64) for v in (base, exponent)))


# -- claims ----------------------------------------------------------------------------------------------------------

SCORES = ["z == [2, 1, 0.5, -1]"]

TRUE_CLAIMS = [
    "abs(s[0] - 0.609) < 0.0005",
    "0.030 < s[3] < 0.031",
    "0.609 + 0.224 + 0.136 + 0.030 == 0.999",
    "sum(s[i] for i in n) == 1",
    "s[0] / s[1] == exp(1)",
    "s[i] > 0",
    "diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])",
    "0.238 < diff(s[0], z[0]) < 0.239",
    "diff(max(z[k] for k in n), z[0]) == 1",
    "argmax(z[k] for k in n) == 0",
    "min(z[k] for k in n) == -1",
    "n == 4",
    "all(s[i] < s[j] for i in n for j in n if i > j)",
    "any(s[i] < 0.05 for i in n)",
    "not s[0] < s[1]",
    "sqrt(512) == 16 * sqrt(2)",
    "2.25 ** 1.5 == 3.375",
    "abs(sqrt(512) - 22.627) < 0.001",
    "exp(1000) > 1.8e308",
    "exp(-1000) > 0",
    "2 ** (1/2) * 2 ** (1/2) <= 2",
    "log(2) + log(3) == log(6)",
    "at(s[i], z[k], z[k] + 5) == s[i]",
    "sum(where(z[i] > 0, z[i], 0) for i in n) == 3.5",
    "where(z[0] > 0, 1, 1 / (z[0] - 2)) == 1",
    "prod(z[i] for i in n) == -1",
    "pi != 3.141592653589793",
    "exp(pi) - pi < 20",
    "limit(exp(x * z[i]) / sum(exp(x * z[k]) for k in n), x, oo) == delta(i, 0)",
    "erf(z[0]) + tanh(z[1]) + atan(z[2]) + sigmoid(z[3]) > 2.4",
]


@pytest.mark.parametrize("claim", TRUE_CLAIMS)
def test_a_true_claim_about_four_scores_is_shown(claim):
    assert holds(SCORES, claim)


FALSE_CLAIMS = [
    "0.609 + 0.224 + 0.136 + 0.030 == 1.000",
    "abs(s[0] - 0.609) < 1e-30",
    "sum(s[i] for i in n) == 1 + 1e-30",
    "s[0] / s[1] != exp(1)",
    "exp(1) == 2.718281828459045235360287471352662497757247093699959574966967",
    "s[0] < s[1]",
    "s[i] > 0.1",
    "diff(s[i], z[j]) == s[i] * (delta(i, j) + s[j])",
    "argmax(z[k] for k in n) == 1",
    "n == 5",
    "all(s[i] < 0.6 for i in n)",
    "exp(1000) > 1.98e434",
    "sqrt(2) ** 2 < 2",
    "sqrt(2) ** 2 != 2",
    "pi == 22/7",
    "limit(exp(x * z[i]) / sum(exp(x * z[k]) for k in n), x, oo) == delta(i, 1)",
    "limit(exp(x * z[0]), x, oo) == limit(exp(x * z[0]), x, oo)",
]


@pytest.mark.parametrize("claim", FALSE_CLAIMS)
def test_a_false_claim_about_four_scores_is_refused(claim):
    assert not holds(SCORES, claim)


UNDEFINED = [
    "1 / (z[0] - 2) == 1 / (z[0] - 2)",
    "0 == 0 * log(z[3])",
    "sqrt(z[3]) == sqrt(z[3])",
    "log(z[3]) != 0",
    "0 ** (z[3]) == 0",
    "max(z[k] for k in n if k < j) >= -1",
    "diff(abs(z[0] - 2), z[0]) == diff(abs(z[0] - 2), z[0])",
    "diff(max(-((z[k] ** 2 - 1) ** 2) for k in n), z[1]) == 0",
    "x ** 2 >= 0",
    "T > 0",
    "sum(y[i] ** 2 for i in n) >= 0",
    "m >= 1",
]


@pytest.mark.parametrize("claim", UNDEFINED)
def test_what_has_no_value_on_these_numbers_is_never_shown(claim):
    assert not holds(SCORES, claim)


def test_several_arrays_scalars_and_index_arrays_are_fixed_together():
    given = ["z == [1, 0]", "W == [[1, 2], [3, 4], [5, 6]]", "T == sqrt(2)", "b == [1, 0]", "t == [1, 0, 1]", "c == -3"]
    assert holds(given, "sum(W[i, j] * z[j] for i in m for j in n) == 9")
    assert holds(given, "T ** 2 + c == -1")
    assert holds(given, "sum(W[a, t[a]] for a in m) == 11")
    assert holds(given, "sum(z[i] for i in n if b[i]) == 1")
    assert not holds(given, "sum(W[i, j] * z[j] for i in m for j in n) == 10")


@pytest.mark.parametrize(
    "given",
    [
        ["z == [1, 0]", "y == [1, 2, 3]"],
        ["z == [1, 0]", "z == [1, 1]"],
        ["z == [1, 0]", "z[0] < z[1]"],
        ["z == [1, 0]", "n == 3"],
        ["z == [1, 0]", "T == -1"],
        ["z == [1, 0]", "c == 1/2"],
        ["z == [1, 0]", "b == [1, 2]"],
        ["z == [1, 0]", "T == T + 1", "T == 2"],
        ["z == [1, 0]", "i != i"],
    ],
)
def test_hypotheses_that_contradict_each_other_show_nothing(given):
    from derive.language.errors import LanguageError

    try:
        claim, context = first_claim(given, "1 == 1")
    except LanguageError:
        return
    with pytest.raises(Rejected):
        decide(claim, context)


def test_a_hypothesis_on_a_declared_index_restricts_it():
    given = ["z == [1, 5, 1]", "z[i] > 1"]
    assert holds(given, "i == 1", "i: index[n]")
    assert not holds(given[:1], "i == 1", "i: index[n]")


def test_a_hypothesis_on_letters_restricts_the_claim():
    assert holds(["z == [1, 5, 1]", "i != j"], "z[i] * z[j] <= 5")
    assert not holds(["z == [1, 5, 1]"], "z[i] * z[j] <= 5")


def test_the_hypotheses_are_named_that_hold_and_leaves_out_those_it_cannot_judge():
    assert decide(*first_claim(["x > 1", "z == [1, 5]", "z[1] > 4"], "s[1] > 0.9")) == {1, 2}


def test_an_array_that_nothing_fixes_is_named():
    with pytest.raises(NoValue, match="y"):
        decide(*first_claim(SCORES, "y[0] == y[0]"))


def test_bounds_next_to_the_value_are_told_apart():
    """Random softmax weights against bounds at a distance of 1e-40 on either side, by mpmath at 60 digits."""
    import mpmath

    chance = random.Random(3)
    for _ in range(8):
        scores = [Fraction(chance.randint(-40, 40), 8) for _ in range(3)]
        with mpmath.workdps(80):
            weights = [mpmath.exp(mpmath.mpf(v.numerator) / v.denominator) for v in scores]
            near = Fraction(int(mpmath.floor(weights[0] / sum(weights) * mpmath.mpf(10) ** 60)), 10**60)
        below, above = near - Fraction(1, 10**40), near + Fraction(1, 10**40)
        given = [f"z == [{', '.join(str(v) for v in scores)}]"]
        assert holds(given, f"s[0] > {below}")
        assert holds(given, f"s[0] < {above}")
        assert not holds(given, f"s[0] < {below}")
        assert not holds(given, f"s[0] > {above}")
        assert not holds(given, f"s[0] == {near}")


@pytest.mark.parametrize(("place", "value"), [(1, 1), (0, 1), (2, 0), (5, 0), (-1, 0)])
def test_a_number_that_is_no_index_of_its_axis_is_refused(place, value):
    """sum(delta(k, 5) x for k in n) is no x where n has two indices only, whatever a normal form makes of it."""
    _, context = first_claim(["z == [1, 2]", "x == 3"], "x == 3")
    k, x = index("k", "n"), var("x")
    slope = diff(over("sum", mul(delta(k, num(place)), x), k), x)
    if value:
        assert decide(cmp("==", slope, num(value)), context) == {0, 1}
        return
    for wrong in (0, 1):
        with pytest.raises(Rejected):
            decide(cmp("==", slope, num(wrong)), context)


@pytest.mark.parametrize("relation", ["!=", "<", "<=", ">", ">="])
def test_a_list_that_the_array_is_not_equal_to_gives_no_entries(relation):
    """That z is not [1, 2] does not make z[0] 1."""
    claim, context = first_claim(["z == [1, 2]"], "z[0] == 1")
    (equal,) = context.hypotheses

    assert decide(claim, context) == {0}
    with pytest.raises(Rejected):
        decide(claim, replace(context, hypotheses=(cmp(relation, *equal.args),)))

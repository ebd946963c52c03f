"""Limits: those that exist are found, and nothing is said of those that do not."""

from __future__ import annotations

import random

import pytest

from derive.engine.prove import prove
from derive.engine.reasons import explained
from derive.kernel import domain
from derive.kernel.context import Context, Declaration
from derive.kernel.normal import Normal
from derive.language import loads
from derive.term import OO, Term, add, cmp, div, fn, make, mul, neg, num, power, var, where

HEAD = """
n: axis
z: real[n]
v: real[n]
y: positive[n]
T: positive
c: real
h: real
x: real
u: real
p: positive
q: nonnegative

s[i] = exp(z[i] / T) / sum(exp(z[k] / T) for k in n)
r[i] = exp(c * z[i]) / sum(exp(c * z[k]) for k in n)
M = max(z[k] for k in n)
lse = log(sum(exp(z[k] / T) for k in n))
"""
UNIQUE = ["all(z[k] < z[m] for k in n if k != m)"]


def attempt(claim: str, given: list[str], arguments: str):
    body = [f"    assume({g})" for g in given] + [f"    assert {claim}"]
    theory = loads(HEAD + f"\n\ndef claim({arguments}):\n" + "\n".join(body) + "\n")
    theorem = theory["claim"]
    return [prove(each.condition, theory.context(theorem)) for each in theorem.claims]


def proved(claim: str, given: list[str] | None = None, arguments: str = "") -> bool:
    return all(a.proof is not None and a.account is not None for a in attempt(claim, given or [], arguments))


# -- limits that exist -----------------------------------------------------------------------------------------------

SCALAR = [
    ('limit(x * log(x), x, 0, "+")', "0"),
    ('limit(x ** x, x, 0, "+")', "1"),
    ("limit(log(T) / T, T, oo)", "0"),
    ("limit(T ** 2 * exp(-T), T, oo)", "0"),
    ("limit(atan(x), x, oo)", "pi / 2"),
    ("limit(atan(x), x, -oo)", "-pi / 2"),
    ("limit(erf(x), x, -oo)", "-1"),
    ("limit(x * sin(1 / x), x, 0)", "0"),
    ("limit(sin(T) / T, T, oo)", "0"),
    ("limit(abs(x), x, 0)", "0"),
    ('limit(abs(x) / x, x, 0, "-")', "-1"),
    ("limit((exp(x + h) - exp(x)) / h, h, 0)", "exp(x)"),
    ("limit((log(p + h) - log(p)) / h, h, 0)", "1 / p"),
    ("limit((sin(x + h) - sin(x)) / h, h, 0)", "cos(x)"),
    ("limit((lgamma(p + h) - lgamma(p)) / h, h, 0)", "digamma(p)"),
    ("limit((sqrt(p + h) - sqrt(p)) / h, h, 0)", "1 / (2 * sqrt(p))"),
    ("limit(tan(x) / x, x, 0)", "1"),
    ("limit((x - sin(x)) / x ** 3, x, 0)", "1 / 6"),
    ("limit((x ** 2 - 1) / (x - 1), x, 1)", "2"),
    ("limit(sqrt(T ** 2 + T) - T, T, oo)", "1 / 2"),
    ("limit((1 + c / T) ** (2 * T), T, oo)", "exp(2 * c)"),
    ("limit(softplus(x) - x, x, oo)", "0"),
    ("limit(max(x, u), x, -oo)", "u"),
    ("limit((p ** x - 1) / x, x, 0)", "log(p)"),
    ("limit(where(x > 0, x, 1 - exp(x)), x, 0)", "0"),
    ("limit(where(u > 0, u * x + 1, 1), x, 0)", "1"),
    ("limit(limit(x * u / (1 + x * u), x, 0), u, 0)", "0"),
    ("limit(diff(x ** 3 * u, x), x, 2)", "12 * u"),
    ("limit(at(sin(x) / x, x, u ** 2), u, 0)", "1"),
    ('limit(exp(-q / T), T, 0, "+")', "where(q == 0, 1, 0)"),
    ('limit(sqrt(q * T) / sqrt(T), T, 0, "+")', "sqrt(q)"),
]
INDEXED = [
    ("limit(s[i], T, oo)", "1 / n", []),
    ("limit(T * (s[i] - 1 / n), T, oo)", "(z[i] - sum(z[k] for k in n) / n) / n", []),
    ("limit(-sum(s[i] * log(s[i]) for i in n), T, oo)", "log(n)", []),
    ("limit(T * (prod(1 + z[k] / T for k in n) - 1), T, oo)", "sum(z[k] for k in n)", []),
    ('limit(T * lse, T, 0, "+")', "M", []),
    ("limit(log(sum(exp(c * z[k]) for k in n)) / c, c, oo)", "M", []),
    ('limit(T * max(z[k] / T for k in n), T, 0, "+")', "M", []),
    ('limit(s[i], T, 0, "+")', "where(z[i] == M, 1, 0) / sum(where(z[k] == M, 1, 0) for k in n)", []),
    ("limit(sum(y[k] ** c for k in n), c, 0)", "n", []),
    ('limit(s[i], T, 0, "+")', "delta(i, m)", UNIQUE),
    ('limit(T * lse, T, 0, "+")', "z[m]", UNIQUE),
    ('limit(sum(s[i] * v[i] for i in n), T, 0, "+")', "v[m]", UNIQUE),
    ('limit(-sum(s[i] * log(s[i]) for i in n), T, 0, "+")', "0", UNIQUE),
    ("limit(c * diff(r[i], z[j]), c, oo)", "0", UNIQUE),
    ('limit(diff(s[i], z[j]), T, 0, "+")', "0", UNIQUE),
    ('limit(at(r[i], c, 1 / T), T, 0, "+")', "delta(i, m)", UNIQUE),
]


@pytest.mark.parametrize(("left", "right"), SCALAR)
def test_a_limit_that_exists_is_found(left, right):
    assert proved(f"{left} == {right}")


@pytest.mark.parametrize(("left", "right", "given"), INDEXED)
def test_a_limit_with_sums_is_found_for_all_sizes(left, right, given):
    assert proved(f"{left} == {right}", given, "m: index[n]")


@pytest.mark.parametrize(("left", "right"), SCALAR)
@pytest.mark.parametrize("damage", ["{} + 1/1000", "-({}) - 1", "2 * ({}) + 1e-9"])
def test_a_damaged_limit_is_not_proved(left, right, damage):
    assert not proved(f"{left} == {damage.format(right)}")


@pytest.mark.parametrize(("left", "right", "given"), INDEXED)
@pytest.mark.parametrize("damage", ["{} + 1/1000", "-({}) - 1"])
def test_a_damaged_limit_with_sums_is_not_proved(left, right, given, damage):
    assert not proved(f"{left} == {damage.format(right)}", given, "m: index[n]")


@pytest.mark.parametrize(("left", "right", "given"), [case for case in INDEXED if case[2]])
def test_a_cold_limit_needs_its_maximum_to_be_unique(left, right, given):
    if right != "0" or "log" in left:
        assert not proved(f"{left} == {right}", [], "m: index[n]")


# -- limits that a sign decides --------------------------------------------------------------------------------------

SIGNS = [
    ("limit(erf(T * x), T, oo)", "sign(x)"),
    ("limit(atan(T * x), T, oo)", "sign(x) * pi / 2"),
    ("limit(x * sigmoid(T * x), T, oo)", "relu(x)"),
    ("limit(softplus(T * x) / T, T, oo)", "relu(x)"),
    ("limit(log(cosh(T * x)) / T, T, oo)", "abs(x)"),
    ('limit(sqrt(x ** 2 + T ** 2), T, 0, "+")', "abs(x)"),
    ('limit(x / (abs(x) + T), T, 0, "+")', "sign(x)"),
    ('limit(abs(x) ** T, T, 0, "+")', "where(x == 0, 0, 1)"),
    ("limit(log(exp(T * x) + exp(T * u)) / T, T, oo)", "max(x, u)"),
    ("limit((exp(T * x) - exp(T * u)) / (exp(T * x) + exp(T * u)), T, oo)", "sign(x - u)"),
    ("limit(x / (x + u), x, 0)", "where(u == 0, 1, 0)"),
    ("limit(1 / (1 + T * x ** 2), T, oo)", "where(x == 0, 1, 0)"),
    ("limit(sum(tanh(T * z[k]) for k in n), T, oo)", "sum(sign(z[k]) for k in n)"),
    ("limit(sum(exp(-T * abs(z[k] - x)) for k in n), T, oo)", "sum(where(z[k] == x, 1, 0) for k in n)"),
    ("limit(exp(T) * sigmoid(T) * (1 - sigmoid(T)), T, oo)", "1"),
    ("limit(exp(2 * T) * (1 - tanh(T)), T, oo)", "2"),
]


@pytest.mark.parametrize(("left", "right"), SIGNS)
def test_a_sign_that_decides_is_told_apart(left, right):
    assert proved(f"{left} == {right}")


@pytest.mark.parametrize(("left", "right"), SIGNS)
@pytest.mark.parametrize("damage", ["{} + 1/1000", "2 * ({})", "({}) * where(x == 0, 2, 1)"])
def test_a_damaged_limit_by_signs_is_not_proved(left, right, damage):
    if "x" in left or "where" not in damage:
        assert proved(f"{left} == {damage.format(right)}") is (damage.format(right) in TRUE_ALL_THE_SAME)


TRUE_ALL_THE_SAME = {  # 0 times anything
    f"({right}) * where(x == 0, 2, 1)"
    for right in ("sign(x)", "sign(x) * pi / 2", "relu(x)", "abs(x)", "where(x == 0, 0, 1)")
}


def test_what_is_decided_at_a_point_does_not_hold_around_it():
    assert not proved("diff(limit(tanh(T * x), T, oo), x) == 0")
    assert not proved("limit(limit(tanh(T * x), T, oo), x, 0) == 0")
    assert proved('limit(limit(tanh(T * x), T, oo), x, 0, "-") == -1')
    assert not proved("limit(limit(T * tanh(x * T), x, 0), T, oo) == limit(limit(T * tanh(x * T), T, oo), x, 0)")


# -- limits that do not exist, or of which nothing is known ----------------------------------------------------------

ABSENT = [
    ("limit(1 / x, x, 0)", "0"),
    ('limit(1 / x, x, 0, "+")', "0"),
    ("limit(sign(x), x, 0)", "0"),
    ("limit(abs(x) / x, x, 0)", "1"),
    ("limit(sin(1 / x), x, 0)", "0"),
    ("limit(sin(x), x, oo)", "0"),
    ("limit(x - x ** 2, x, oo)", "0"),
    ("limit(x - x / 2, x, oo)", "0"),
    ("limit(exp(x), x, oo)", "0"),
    ("limit(exp(1 / x), x, 0)", "0"),
    ("limit(x / x ** 2, x, 0)", "1"),
    ("limit(u * x, x, oo)", "0"),
    ("limit(exp(u * x), x, oo)", "0"),
    ("limit(u * x / (u * x), x, 0)", "1"),
    ("limit((x ** 2 + u) / x, x, 0)", "0"),
    ("limit(log(x), x, 0)", "0"),
    ("limit(x * log(x), x, 0)", "0"),
    ("limit(sqrt(x), x, 0)", "0"),
    ("limit(x ** x, x, 0)", "1"),
    ("limit(where(x > u, 1, 0), x, u)", "1"),
    ("limit(log(log(x) / x), x, 0)", "0"),
    ("limit(1 / (x - x), x, 0)", "0"),
    ("limit(atan(exp(u * T)), T, oo)", "pi / 2"),
    ("limit(diff(abs(x), x), x, 0)", "0"),
    ("limit(exp(z[i] * T) / sum(exp(z[k]) for k in n), T, oo)", "0"),
]


@pytest.mark.parametrize(("left", "right"), ABSENT)
def test_a_limit_that_need_not_exist_is_not_proved(left, right):
    assert not proved(f"{left} == {right}")


@pytest.mark.parametrize(("left", "right"), ABSENT)
def test_nothing_equals_a_limit_that_need_not_exist_on_the_right(left, right):
    assert not proved(f"{right} == {left}")
    assert not proved(f"0 == 0 * {left}")


@pytest.mark.parametrize(
    "claim",
    [
        "limit(where(x == u, 1, 0), x, u) == 1",
        'limit(T * lse, T, 0, "+") == lse',
        'limit(s[i], T, 0, "+") == delta(i, argmax(z[k] for k in n))',
        "limit(log(u) * x, x, 0) + 0 * x == 0 * log(u) + 0 / x",
        "limit(sqrt(x ** 2), x, u) == u",
        "limit(exp(-u / T), T, oo) == 0",
        'limit(exp(-q / T), T, 0, "+") == 0',
    ],
)
def test_another_value_of_a_limit_is_not_proved(claim):
    assert not proved(claim)


@pytest.mark.parametrize(
    ("claim", "given"),
    [
        ("limit(x / T, T, oo) == x / 2", ["T == 2"]),
        ("0 == 0 * limit(where(x > 0, x, 1 / x ** 2), x, 0)", ["x > 0"]),
        ("limit(1 / x, x, oo) == limit(1 / x, x, oo) + 0 * limit(where(x > 0, x, 1 / x), x, oo)", ["x < 0"]),
        ("limit(at(1 / x, x, c), c, oo) + 0 * c == c / c - 1", []),
        ("0 == 0 * at(limit(exp(-p / T), T, 0), p, x)", []),
        ("0 == 0 * diff(limit(exp(-(x ** 2) / T), T, 0), x)", []),
        ("limit(1 / x, x, oo) == limit(1 / x + 0 * log(u), x, oo)", []),
        ("limit(1 / x, x, oo) == limit(1 / x + 0 * log(-x), x, oo)", []),
        ("limit(x * u, x, 0) == limit(where(x > 5, 1 / u, x), x, 0)", []),
    ],
)
def test_what_holds_at_the_point_or_elsewhere_says_nothing_of_the_way_there(claim, given):
    assert not proved(claim, given)


def test_a_hypothesis_on_another_variable_is_used():
    assert proved("limit(exp(-u * T), T, oo) == 0", ["u > 0"])
    assert not proved("limit(exp(-u * T), T, oo) == 0", ["u >= 0"])
    assert proved("limit(u * x / (u * x), x, 0) == 1", ["u != 0"])


def test_the_right_side_is_defined_where_its_limit_exists():
    (found,) = attempt("exp(u) == limit((1 + u / T) ** T, T, oo)", [], "")
    assert found.account is not None
    assert [o.reason for o in explained(found.account, found.proof.claim).obligations if o.condition.op == "limit"] == [
        "by its expansion"
    ]
    assert found.account.domain == []


def test_a_limit_without_a_rule_stays_in_the_domain():
    (found,) = attempt("limit(exp(u * T), T, oo) == limit(exp(u * T), T, oo)", [], "")
    assert found.account is not None
    assert [d.op for d in found.account.domain] == ["limit"]


# -- random expressions against numbers ------------------------------------------------------------------------------

UNARY = "exp log log1p expm1 sqrt abs sign sin cos tan sinh cosh tanh atan erf sigmoid softplus relu".split()


class Undefined(Exception):
    pass


def drawn(chance: random.Random, depth: int) -> Term:
    x = var("x")
    if depth == 0 or chance.random() < 0.15:
        return chance.choice([x, x, x, var("p"), var("u"), var("q"), num(1), num(2), num(-1), num("1/2")])
    a, b, c = (drawn(chance, depth - 1) for _ in range(3))
    shapes = [
        lambda: add(a, b),
        lambda: add(a, neg(b)),
        lambda: mul(a, b),
        lambda: div(a, b),
        lambda: power(a, chance.choice([num(2), num(-1), num("1/2"), b])),
        lambda: fn(chance.choice(UNARY), a),
        lambda: fn(chance.choice(UNARY), a),
        lambda: where(cmp(chance.choice(["<", ">="]), a, c), b, a),
    ]
    return chance.choice(shapes)()


def number(t: Term, values: dict) -> object:
    """The value of a scalar term by mpmath."""
    import mpmath

    op = t.op
    if op == "where":
        left, right = (number(a, values) for a in t.args[0].args)
        holds = {"<": left < right, ">=": left >= right, ">": left > right, "==": left == right}[t.args[0].value]
        return number(t.args[1 if holds else 2], values)
    if op == "num":
        return mpmath.mpf(t.value.numerator) / t.value.denominator
    if op == "const":
        return +mpmath.pi
    if op == "var":
        return values[t.value]
    args = [number(a, values) for a in t.args]
    if op in ("add", "mul"):
        return mpmath.fsum(args) if op == "add" else mpmath.fprod(args)
    if op == "neg":
        return -args[0]
    if op == "div":
        if args[1] == 0:
            raise Undefined
        return args[0] / args[1]
    if op == "pow":
        base, e = args
        whole = e == int(e) if abs(e) < 1000 else False
        if (base == 0 and e <= 0 and e != 0) or (base < 0 and not whole):
            raise Undefined
        return base ** int(e) if whole else mpmath.mpf(0) if base == 0 else base**e
    u, name = args[0], t.value
    if (name == "log" and u <= 0) or (name == "log1p" and u <= -1) or (name == "sqrt" and u < 0) or abs(u) > 10**8:
        raise Undefined
    table = {
        "abs": abs,
        "sign": mpmath.sign,
        "relu": lambda a: max(a, mpmath.mpf(0)),
        "sigmoid": lambda a: 1 / (1 + mpmath.exp(-a)),
        "softplus": lambda a: mpmath.log1p(mpmath.exp(a)),
    }
    return table.get(name, getattr(mpmath, name, None))(u)


@pytest.mark.parametrize("seed", range(6))
def test_limits_of_random_expressions_agree_with_numbers_near_the_point(seed):
    import mpmath

    chance = random.Random(seed)
    kinds = {"x": "real", "p": "positive", "u": "real", "q": "nonnegative"}
    context = Context(declarations={name: Declaration(name, kind) for name, kind in kinds.items()})
    found = 0
    for _ in range(60):
        body, (point, side) = drawn(chance, 3), chance.choice([(OO, ""), (neg(OO), ""), (num(0), "+"), (num(0), "")])
        if "x" not in body.names:
            continue
        nf = Normal(context)
        limit = make("limit", (body, var("x"), point), side)
        if not domain.has_limit(nf, limit):
            continue
        for p, u, q in [(2, -1.5, 0), (0.5, 0.25, 3)]:
            with mpmath.workdps(150):
                values = {"p": mpmath.mpf(p), "u": mpmath.mpf(u), "q": mpmath.mpf(q)}
                try:
                    limit_value = number(nf.canonical(limit), values)
                    near = [number(body, {**values, "x": x}) for x in places(point, side)]
                except Undefined:
                    continue
                found += 1
                scale = 1 + abs(limit_value)
                assert all(abs(value - limit_value) < scale / 50 for value in near), (body, values)
    assert found > 10


def places(point: Term, side: str) -> list:
    import mpmath

    step = mpmath.mpf(10) ** -30
    if point is not num(0):
        return [1 / step if point is OO else -1 / step]
    return [step] if side == "+" else [step, -step]

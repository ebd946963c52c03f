"""Reverse mode of any definition, against enclosures of the sum of cotangents and derivatives that it stands for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_codegen import draw, exact

import derive
from derive.codegen import CodegenError, Quantity, compile_side, quantity, reverse_mode, vjp
from derive.codegen.quantities import carried_back, variables_of
from derive.evidence.enclosure import Enclosed, evaluate
from derive.evidence.inputs import plain
from derive.kernel.context import Context, Declaration
from derive.language import catalogue, load, loads
from derive.language.theory import Theory
from derive.term import defined, diff, mul, over, var

CASES = sorted((Path(__file__).parent / "cases").rglob("*.derive"))
# What has a derivative but no value at the points drawn: filters that leave nothing, places at an edge.
REFUSED = ("nothing is carried back through E", "nothing is carried back through Var")


def pairs(theory: Theory) -> Iterator[tuple[str, str]]:
    """The definitions, and for each the real variables that it rests on."""
    context = Context(theory.axes, theory.declarations, theory.definitions)
    for name, definition in theory.definitions.items():
        for wrt in variables_of(definition.body, context):
            if theory.declarations[wrt].kind in ("real", "positive", "nonnegative", "random"):
                yield name, wrt


def compared(theory: Theory, name: str, wrt: str, q: Quantity, draws: int = 2) -> int:
    """How many entries of the reverse mode were compared with enclosures of what it is, and agreed."""
    code, letters, cotangent = q.compile(), theory.definitions[name].letters, q.first[0]
    context = Context(theory.axes, theory.declarations, theory.definitions, letters=frozenset(theory.letters))
    given = Declaration(cotangent, "real", tuple(k.value[1] for k in letters))
    context = plain(replace(context, declarations={**context.declarations, cotangent: given}))
    slope = diff(defined(name, *letters), var(wrt, *q.letters))
    told = mul(var(cotangent, *letters), slope)
    told = over("sum", told, *letters) if letters else told
    rng, count = np.random.default_rng(1), 0
    for _ in range(draws):
        sizes = {axis: int(rng.integers(1, 4)) for axis in context.axes}
        arrays: dict[str, Any] = {a.name: sizes.get(a.name) for a in code.arguments}
        values: dict[str, Any] = {}
        for d in context.declarations.values():
            arrays[d.name] = draw(rng, d.kind, sizes.get(d.over or "", 0), tuple(sizes[axis] for axis in d.axes))
            values[d.name] = exact(arrays[d.name])
        fixed = {k: int(rng.integers(sizes[k.value[1]])) for k in theory.letters}
        arrays |= {k.value[0]: np.asarray(place) for k, place in fixed.items()}
        with np.errstate(all="ignore"):
            result = np.asarray(code(**{a.name: arrays[a.name] for a in code.arguments}))
        for place in itertools.product(*(range(sizes[k.value[1]]) for k in q.letters)):
            true = evaluate(told, context, sizes, values, {**dict(zip(q.letters, place, strict=True)), **fixed})
            if isinstance(true, Enclosed):
                count += 1
                assert float(result[place]) == pytest.approx(float(true.low), rel=1e-9, abs=1e-9), (name, wrt, place)
    return count


@pytest.mark.parametrize("source", catalogue())
def test_every_definition_of_the_catalogue_has_a_reverse_mode(source: str) -> None:
    theory = load(source)
    counts = {(n, w): compared(theory, n, w, carried_back(theory, n, w), 1) for n, w in pairs(theory)}
    assert sum(c > 0 for c in counts.values()) >= 0.6 * len(counts), counts


@pytest.mark.slow
def test_every_definition_of_the_cases_has_a_reverse_mode_or_is_refused_by_name() -> None:
    done, refused = 0, []
    for path in CASES:
        theory = load(path)
        for name, wrt in pairs(theory):
            try:
                q = carried_back(theory, name, wrt)
            except CodegenError as why:
                refused.append(str(why))
                continue
            done += compared(theory, name, wrt, q) > 0
    assert done > 1000
    assert [why for why in refused if not why.startswith(REFUSED)] == []


@pytest.mark.slow
def test_every_claim_of_the_cases_has_code_or_is_refused_by_name() -> None:
    done, refused = 0, []
    for path in CASES:
        theory = load(path)
        for theorem in theory.theorems:
            for claim in theorem.claims:
                if claim.condition.op != "cmp" or claim.condition.args[1].op == "list":
                    continue
                for side in ("left", "right"):
                    try:
                        done += bool(compile_side(theory, theorem, claim, side).source)
                    except CodegenError as why:
                        refused.append(str(why))
    assert done > 500
    named = ("E has", "Var has", "Cov has", "limit has", "there is no rule for the derivative of ")
    assert [why for why in refused if not why.startswith(named)] == []


@pytest.mark.parametrize(("name", "wrt"), [("s", "z")])
def test_theorem_and_accumulation_are_the_same_code(name: str, wrt: str) -> None:
    theory = load("softmax")
    stated, carried = reverse_mode(theory, name, wrt).compile(), carried_back(theory, name, wrt).compile()
    g, z = np.random.default_rng(0).standard_normal((2, 5, 7))
    np.testing.assert_array_equal(stated(g, z), carried(g, z))
    assert stated.source.split('"""')[-1] == carried.source.split('"""')[-1]


THEORY = loads(
    '''"""What is hard to carry back."""
n: axis
m: axis
X: real[n, n]
z: real[n]
W: real[n, m]
x: real
b: real
p: positive
t: index[n][m]
c: index[n]
mask: bit[n, n]

P[i, j] = exp(X[i, j]) / sum(exp(X[i, k]) for k in n)
diagonal = sum(log(P[i, i]) * z[i] for i in n)
weighed = z[c] - sum(P[i, i] * z[i] for i in n)
transposed[i, j] = P[j, i] * X[i, j]
picked[a] = X[t[a], t[a]] + W[t[a], a]
twice = sum(X[i, j] * X[j, i] for i in n for j in n)
causal[i, j] = where(j <= i, exp(X[i, j]) / sum(exp(X[i, k]) for k in n if k <= i), 0)
masked[i] = sum(X[i, k] ** 2 for k in n if mask[i, k])
product = prod(1 + z[k] ** 2 for k in n if k != c)
largest[i] = max(X[i, k] for k in n) - min(X[k, i] for k in n)
shared = x / 2 + sqrt(x ** 2 + b ** 2 + 1) / 2
powers = p ** x + x ** 3 + p ** (1 / 3) + max(x, b) + abs(x) + relu(b)
replaced = at(sum(z[k] * exp(z[k]) for k in n), z[k], X[k, k])
lse = log(sum(exp(z[k]) for k in n))
nested = log(sum(exp(z[k]) for k in n)) ** 2 + lse * z[c]
slope[i] = diff(lse, z[i]) * x
'''
)


@pytest.mark.parametrize(("name", "wrt"), list(pairs(THEORY)))
def test_hard_forms_agree_with_enclosures(name: str, wrt: str) -> None:
    assert compared(THEORY, name, wrt, reverse_mode(THEORY, name, wrt), draws=4) > 0


def test_replaced_variable_is_no_argument() -> None:
    code = vjp(THEORY, "replaced", "X")
    assert [a.name for a in code.arguments] == ["g", "X"]


def test_weights_on_a_diagonal_are_no_softmax() -> None:
    """They do not sum to one, so nothing may be centred."""
    code = quantity(THEORY, "weighed").compile()
    assert "centred" not in {r.name for r in code.rewrites}
    X, z = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([1.0, 5.0])
    P = np.exp(X) / np.exp(X).sum(axis=1, keepdims=True)
    assert code(X, z, 0) == pytest.approx(z[0] - np.diagonal(P) @ z)


def test_nothing_larger_than_the_formula_is_made() -> None:
    theory = loads(
        '"""T."""\nn: axis\nz: real[n]\ny: real[n]\n'
        "s[i] = exp(z[i]) / sum(exp(z[k]) for k in n)\nloss = sum((s[k] - y[k]) ** 2 for k in n)\n"
    )
    code = vjp(theory, "loss", "z")
    z = np.random.default_rng(0).standard_normal(200_000)  # a matrix would be 320 gigabytes
    assert code(1.0, z, z).shape == z.shape
    assert "eye" not in code.source


@pytest.mark.parametrize(
    ("text", "wrt", "why"),
    [
        ("q: random(mean=0, variance=1)\nf = E(q * x)", "x", "nothing is carried back through E"),
        ("f = trigamma(x)", "x", "trigamma has no derivative in the language"),
        ("n: axis\ni: index[n]\nz: real[n]\nf = x + sum(z[k] for k in n if k == i)", "i", "theory.f has no variable i"),
        ("e: integer\nf = x ** e", "e", "which is no real number"),
    ],
)
def test_what_has_no_derivative_is_refused_by_name(text: str, wrt: str, why: str) -> None:
    theory = loads(f'"""T."""\nx: real\n{text}\n')
    with pytest.raises(CodegenError, match=why):
        vjp(theory, "f", wrt)


STATED = loads(
    '''"""Theorems that are not the reverse mode of f, or not everywhere."""
n: axis
z: real[n]
A: real[n, n]
t: index[n]
f = sum(z[k] ** 2 for k in n) + sum(z[i] * A[i, j] * z[j] for i in n for j in n)
def one_entry():
    assert diff(f, z[t]) == 2 * z[t] + sum((A[t, k] + A[k, t]) * z[k] for k in n)
def symmetric():
    assume(A[i, j] == A[j, i])
    assert diff(f, z[i]) == 2 * z[i] + 2 * sum(A[i, k] * z[k] for k in n)
def diagonal():
    assert diff(f, A[i, i]) == z[i] ** 2
def wrong():
    assert diff(f, z[i]) == 2 * z[i]
def twice(b: real[n]):
    y[i] = b[i] * z[i] ** 3
    assert sum(y[i] for i in n) == sum(z[i] ** 3 * b[i] for i in n)
'''
)


def test_theorems_about_some_entries_or_some_values_are_no_reverse_mode() -> None:
    rng = np.random.default_rng(0)
    z, A, g = rng.standard_normal(3), rng.standard_normal((3, 3)), 2.0
    by_z = vjp(STATED, "f", "z", trusted=lambda owner, theorem: theorem.name != "wrong")
    np.testing.assert_allclose(by_z(g=g, z=z, A=A), g * (2 * z + (A + A.T) @ z), rtol=1e-14)
    np.testing.assert_allclose(vjp(STATED, "f", "A")(g=g, z=z), g * np.outer(z, z), rtol=1e-14)


def test_reverse_mode_rests_on_proved_theorems_alone() -> None:
    wrong, right = vjp(STATED, "f", "z"), derive.loads(STATED.text).vjp("f", "z")
    assert [a.name for a in wrong.arguments] == ["g", "z", "A"]
    assert wrong(1.0, [1.0], [[1.0]]).tolist() == [2]
    assert right(1.0, [1.0], [[1.0]]).tolist() == [4]


def test_theorem_about_another_definition_of_the_name_is_no_reverse_mode() -> None:
    theory = loads('"""T."""\nfrom softmax import Z, z, n\ns[i] = exp(2 * z[i]) / Z\n')
    q = reverse_mode(theory, "s", "z")
    assert q.title == "theory.s, backwards by z"
    assert reverse_mode(load("softmax"), "s", "z").title == "softmax.vjp"


@pytest.mark.parametrize(("name", "wrt"), [("twice.y", "z"), ("twice.y", "b"), ("twice", "z"), ("one_entry", "A")])
def test_local_definitions_and_right_sides_have_a_reverse_mode(name: str, wrt: str) -> None:
    code = vjp(STATED, name, wrt)
    rng = np.random.default_rng(0)
    z, b, A, t = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal((3, 3)), 1
    g = rng.standard_normal(3) if name == "twice.y" else 2.0
    row, one = 2 * np.eye(3)[t][:, None] * z, 2 * z * np.eye(3)[t][:, None]
    expected = {
        ("twice.y", "z"): 3 * g * b * z**2,
        ("twice.y", "b"): g * z**3,
        ("twice", "z"): 6 * b * z**2,
        ("one_entry", "A"): row + one.T,
    }
    given = {"z": z, "b": b, "A": A, "t": t, "g": g, "n": 3}
    found = code(**{a.name: given[a.name] for a in code.arguments})
    np.testing.assert_allclose(found, expected[name, wrt], rtol=1e-14)


def test_reverse_mode_reaches_named_entries() -> None:
    theory = loads(
        '"""T."""\nn: axis\nz: real[n]\ndef e():\n    assume(z == [1, 2])\n    assert 5 < exp(z[0]) * z[1]\n'
    )
    code = vjp(theory, "e", "z")
    assert code(1.0, [0.0, 3.0, 5.0]).tolist() == [3, 1, 0]


def test_filters_of_other_letters_stand_outside_of_a_sum() -> None:
    """The reverse mode of a causal share takes no array of three axes, and no number from outside the filter."""
    theory = loads(
        '"""T."""\nn: axis\nX: real[n, n]\nZ[i] = sum(exp(X[i, k]) for k in n if k <= i)\n'
        "P[i, j] = where(j <= i, exp(X[i, j]) / Z[i], 0)\n"
    )
    code = vjp(theory, "P", "X")
    assert "_blocks(n * n," in " ".join(code.source.split()).replace("( n", "(n")
    X, g = np.random.default_rng(0).standard_normal((2, 4, 4))
    expected = np.tril(code(g, X))
    X[np.triu_indices(4, 1)] = 1e5
    np.testing.assert_allclose(code(g, X), expected, rtol=1e-14)


def test_wrong_adjoint_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    theory = load("log_sum_exp")
    q = carried_back(theory, "lse", "z")
    with pytest.raises(AssertionError):
        compared(theory, "lse", "z", replace(q, term=mul(q.term, q.term)))
    assert compared(theory, "lse", "z", q) > 0

"""Nothing false is proved: random claims, and true ones changed in one place, against exact evaluation at small sizes.

A claim that the engine proves is handed to the search for counterexamples, which shares no code with the kernel's
algebra. One contradiction is a fault of the kernel, whatever else passes. `DERIVE_FUZZ` multiplies the number of claims
(default 1) and `DERIVE_FUZZ_SEED` chooses others.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from derive.engine.prove import prove
from derive.evidence.refute import refute
from derive.kernel.context import Context
from derive.language import loads
from derive.language.errors import LanguageError
from derive.language.places import put, subterm
from derive.language.printer import to_text
from derive.term import (
    CONDITIONS,
    MINUS_ONE,
    ONE,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    cmp,
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
    substitute,
    var,
    where,
)

HERE = Path(__file__).parent
TIMES = int(os.environ.get("DERIVE_FUZZ", "1"))
SEED = int(os.environ.get("DERIVE_FUZZ_SEED", "1"))
CLAIMS, MUTANTS = 300 * TIMES, 120 * TIMES
CPU_SECONDS = 7 * TIMES  # for each of the two searches; a slow machine tries fewer claims
PROVE_SECONDS, REFUTE_SECONDS = 0.5, 0.3
WORLD = loads(
    '''"""The names that random claims speak of."""

n: axis
x: real
y: real
p: positive
w: nonnegative
m: integer
b: bit
z: real[n]
c: positive[n]
A: real[n, n]
mask: bit[n]
r: rademacher
q: bernoulli(1/3)[n]
g: normal(0, 1)


def claim():
    assert x == x
'''
)
N = size("n")
I0, J0, K0 = (index(letter, "n") for letter in "ijk")
X, Y, P, W, M, B, R, G = (var(name) for name in "xypwmbrg")
HALF = num("1/2")
RELATIONS = ("==", "!=", "<", "<=", ">", ">=")


class Late(Exception):
    """A proof takes longer than it is worth here."""


def proved(claim: Term, context: Context) -> bool:
    """Whether the engine proves the claim, within a time that leaves room for others."""
    end = time.process_time() + PROVE_SECONDS

    def tick() -> None:
        if time.process_time() > end:
            raise Late

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return prove(claim, context, tick).proof is not None
    except (Late, RecursionError):
        return False
    finally:
        sys.setrecursionlimit(limit)


def contradicted(claim: Term, context: Context, seeds: int = 2) -> object:
    """A counterexample to the claim, or None."""
    return next((f for seed in range(seeds) if (f := refute(claim, context, REFUTE_SECONDS, seed))), None)


# -- random terms and the laws, true and false, that turn one into another ---------------------------------------------


class Source:
    """Random terms over the names of WORLD; the same seed gives the same."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def pick(self, *choices: object) -> object:
        return self.random.choice(choices)

    def entry(self, letters: tuple[Term, ...]) -> Term:
        """A variable, an entry at one of the letters, or a small number."""
        plain = (X, X, Y, Y, P, W, M, B, N, num(self.random.randint(-2, 3)), HALF)
        if not letters or self.random.random() < 0.35:
            return self.random.choice(plain)
        i, j = self.random.choice(letters), self.random.choice(letters)
        return self.random.choice((var("z", i), var("z", i), var("c", i), var("A", i, j), var("mask", i), delta(i, j)))

    def term(self, depth: int, letters: tuple[Term, ...]) -> Term:
        """A term of at most this depth in these letters."""
        if depth <= 0 or self.random.random() < 0.15:
            return self.entry(letters)
        a, b = self.term(depth - 1, letters), self.term(depth - 1, letters)
        kind = self.random.choice("add sub mul mul div neg pow root fn fn where sum prod max diff at max2".split())
        if kind in ("sum", "prod", "max"):
            return self.over(kind, depth - 1, letters)
        if kind == "diff":
            return diff(a, self.random.choice((X, P, *(var("z", i) for i in letters[:1]))))
        if kind == "at":
            return make("at", (a, b), self.random.choice("xyp"))
        return {
            "add": add(a, b),
            "sub": sub(a, b),
            "mul": mul(a, b),
            "div": div(a, b),
            "neg": neg(a),
            "pow": power(a, self.random.choice((TWO, num(3), MINUS_ONE, num(-2), M, N))),
            "root": power(a, self.random.choice((HALF, num("1/3"), num("3/2"), num("-1/2")))),
            "fn": fn(self.random.choice("exp log sqrt abs abs sign relu sin tanh".split()), a),
            "where": where(self.condition(a, b), a, b),
            "max2": fn(self.random.choice(("max", "min")), a, b),
        }[kind]

    def over(self, op: str, depth: int, letters: tuple[Term, ...]) -> Term:
        k = next(index(f"k{p}", "n") for p in range(9) if index(f"k{p}", "n") not in letters)
        filters = [TRUE, TRUE, cmp("==", ONE, ONE)]
        if letters:
            filters += [cmp(self.random.choice(("!=", "<", "<=")), k, letters[0])]
        filters[2] = make("holds", (var("mask", k),))
        return over(op, self.term(depth, (k, *letters)), k, where=self.random.choice(filters))

    def condition(self, a: Term, b: Term) -> Term:
        return cmp(self.random.choice(RELATIONS), a, self.random.choice((ZERO, b)))


def one(condition: Term) -> Term:
    return where(condition, ONE, ZERO)


def mean(term: Term) -> Term:
    return make("E", (term,))


def each(op: str, body: Term, filter_: Term = TRUE) -> Term:
    return over(op, body, K0, where=filter_)


def at(body: Term, name: str, by: Term) -> Term:
    return make("at", (body, by), name)


# Pairs that are equal often enough to be believed. a and b are terms in i and j, f is a term in k and i.
LAWS: tuple[Callable[[Term, Term, Term], tuple[Term, Term]], ...] = (
    lambda a, b, f: (a, add(a, mul(ZERO, b))),
    lambda a, b, f: (add(a, mul(ZERO, b)), a),
    lambda a, b, f: (div(mul(a, b), b), a),
    lambda a, b, f: (a, div(mul(a, b), b)),
    lambda a, b, f: (div(a, b), add(div(a, b), div(ZERO, b))),
    lambda a, b, f: (power(fn("sqrt", a), TWO), a),
    lambda a, b, f: (mul(fn("sqrt", a), fn("sqrt", a)), a),
    lambda a, b, f: (mul(fn("sqrt", neg(a)), fn("sqrt", neg(a))), a),
    lambda a, b, f: (fn("sqrt", power(a, TWO)), a),
    lambda a, b, f: (fn("sqrt", power(a, TWO)), fn("abs", a)),
    lambda a, b, f: (mul(fn("sqrt", a), fn("sqrt", b)), fn("sqrt", mul(a, b))),
    lambda a, b, f: (fn("sqrt", mul(a, b)), mul(fn("sqrt", a), fn("sqrt", b))),
    lambda a, b, f: (mul(fn("sqrt", fn("abs", a)), fn("sqrt", fn("abs", a))), fn("sign", a)),
    lambda a, b, f: (fn("log", mul(a, b)), add(fn("log", a), fn("log", b))),
    lambda a, b, f: (fn("log", power(a, TWO)), mul(TWO, fn("log", a))),
    lambda a, b, f: (fn("exp", fn("log", a)), a),
    lambda a, b, f: (a, fn("exp", fn("log", a))),
    lambda a, b, f: (fn("log", fn("exp", a)), a),
    lambda a, b, f: (power(a, add(M, ONE)), mul(a, power(a, M))),
    lambda a, b, f: (power(mul(a, b), M), mul(power(a, M), power(b, M))),
    lambda a, b, f: (power(neg(a), N), power(a, N)),
    lambda a, b, f: (power(neg(a), N), ZERO),
    lambda a, b, f: (power(power(a, TWO), HALF), a),
    lambda a, b, f: (power(power(a, HALF), TWO), a),
    lambda a, b, f: (mul(fn("abs", a), fn("sign", a)), a),
    lambda a, b, f: (mul(fn("abs", a), fn("abs", b)), fn("abs", mul(a, b))),
    lambda a, b, f: (where(cmp(">", a, ZERO), a, neg(a)), fn("abs", a)),
    lambda a, b, f: (one(cmp("==", mul(a, b), ZERO)), one(cmp("==", a, ZERO))),
    lambda a, b, f: (one(cmp("==", add(mul(a, b), a), ZERO)), one(cmp("==", add(b, ONE), ZERO))),
    lambda a, b, f: (one(cmp(">", mul(a, b), ZERO)), one(cmp(">", b, ZERO))),
    lambda a, b, f: (one(cmp(">", a, b)), sub(ONE, one(cmp("<", a, b)))),
    lambda a, b, f: (one(cmp(">", a, b)), sub(ONE, one(cmp("<=", a, b)))),
    lambda a, b, f: (mul(one(cmp("==", a, b)), a), mul(one(cmp("==", a, b)), b)),
    lambda a, b, f: (add(fn("max", a, b), fn("min", a, b)), add(a, b)),
    lambda a, b, f: (fn("max", a, b), where(cmp(">", a, b), a, b)),
    lambda a, b, f: (each("sum", f), add(each("sum", f, cmp("!=", K0, I0)), substitute(f, {K0: I0}))),
    lambda a, b, f: (each("sum", f, cmp("!=", K0, I0)), sub(each("sum", f), substitute(f, {K0: I0}))),
    lambda a, b, f: (each("sum", mul(delta(K0, J0), f)), substitute(f, {K0: J0})),
    lambda a, b, f: (each("sum", mul(a, f)), mul(a, each("sum", f))),
    lambda a, b, f: (each("prod", mul(a, f)), mul(power(a, N), each("prod", f))),
    lambda a, b, f: (each("prod", neg(f)), neg(each("prod", f))),
    lambda a, b, f: (each("prod", f, cmp("!=", K0, I0)), div(each("prod", f), substitute(f, {K0: I0}))),
    lambda a, b, f: (each("max", mul(a, f)), mul(a, each("max", f))),
    lambda a, b, f: (each("max", add(a, f)), add(a, each("max", f))),
    lambda a, b, f: (each("max", neg(f)), neg(each("min", f))),
    lambda a, b, f: (diff(mul(a, b), X), add(mul(diff(a, X), b), mul(a, diff(b, X)))),
    lambda a, b, f: (add(mul(diff(a, X), b), mul(a, diff(b, X))), diff(mul(a, b), X)),
    lambda a, b, f: (diff(fn("abs", a), X), mul(fn("sign", a), diff(a, X))),
    lambda a, b, f: (mul(fn("sign", a), diff(a, X)), diff(fn("abs", a), X)),
    lambda a, b, f: (diff(a, X, Y), diff(a, Y, X)),
    lambda a, b, f: (a, add(a, mul(ZERO, diff(b, X)))),
    lambda a, b, f: (at(add(a, b), "x", Y), add(at(a, "x", Y), at(b, "x", Y))),
    lambda a, b, f: (at(a, "p", b), add(at(a, "p", b), mul(ZERO, a))),
    lambda a, b, f: (at(a, "x", b), at(at(a, "x", Y), "y", b)),
    lambda a, b, f: (at(diff(a, X), "x", b), diff(at(a, "x", b), X)),
    lambda a, b, f: (mean(mul(R, a)), ZERO),
    lambda a, b, f: (mean(fn("abs", mul(R, a))), fn("abs", a)),
    lambda a, b, f: (mean(power(add(a, mul(R, b)), TWO)), add(power(a, TWO), power(b, TWO))),
    lambda a, b, f: (mean(where(cmp(">", R, ZERO), a, b)), div(add(a, b), TWO)),
    lambda a, b, f: (mean(mul(var("q", I0), var("q", J0))), num("1/9")),
    lambda a, b, f: (mean(each("prod", add(a, var("q", K0)))), power(add(a, num("1/3")), N)),
    lambda a, b, f: (mean(mul(a, power(add(b, var("q", I0)), TWO))), mul(a, mean(power(add(b, var("q", I0)), TWO)))),
    lambda a, b, f: (mean(mul(a, G, G)), a),
)


def hypotheses(source: Source) -> tuple[Term, ...]:
    """None, or a condition on variables, letters or sizes."""
    if source.random.random() < 0.5:
        return ()
    a, b = source.entry((I0,)), source.entry((I0,))
    return (
        source.random.choice(
            (
                source.condition(a, b),
                cmp("==", mul(X, add(Y, ONE)), ZERO),
                cmp(source.random.choice(RELATIONS), X, ZERO),
                cmp("!=", I0, J0),
                cmp("<", I0, J0),
                cmp(">=", N, TWO),
                cmp(source.random.choice((">", ">=")), each("sum", var("z", K0)), ZERO),
                over("all", cmp(">", var("z", K0), ZERO), K0, where=cmp("!=", K0, J0)),
            )
        ),
    )


def random_claims(seed: int) -> Iterator[tuple[Term, Context]]:
    """Claims with their contexts, without end."""
    source = Source(seed)
    context = WORLD.context(WORLD["claim"])
    while True:
        depth = source.random.choice((0, 1, 1, 2))
        a, b = source.term(depth, (I0, J0)), source.term(depth - 1, (I0, J0))
        f = source.term(max(1, depth - 1), (K0, I0))
        if source.random.random() < 0.15:
            claim = cmp(source.random.choice(RELATIONS[1:]), a, source.random.choice((ZERO, b)))
        else:
            left, right = source.random.choice(LAWS)(a, b, f)
            if source.random.random() < 0.2:
                left, right = right, left
            claim = cmp("==", left, right)
        yield claim, replace(context, hypotheses=hypotheses(source))


def said(claim: Term, context: Context) -> str:
    """The claim in words that can be pasted into a file."""
    return "; ".join([f"assume({to_text(h)})" for h in context.hypotheses] + [f"assert {to_text(claim)}"])


def test_no_random_claim_is_proved_and_contradicted() -> None:
    wrong, count, tried = [], 0, 0
    end = time.process_time() + CPU_SECONDS
    for claim, context in islice(random_claims(SEED), CLAIMS):
        if time.process_time() > end:
            break
        tried += 1
        if proved(claim, context):
            count += 1
            found = contradicted(claim, context)
            if found is not None:
                wrong.append(f"{said(claim, context)}: {found}")
    assert not wrong, "\n".join(wrong)
    assert count > tried // 10  # a test in which nothing is proved would find nothing


# -- true claims changed in one place ----------------------------------------------------------------------------------


def changes(term: Term, letters: tuple[Term, ...]) -> Iterator[Term]:
    """What a slip of the pen makes of the node."""
    op, args = term.op, term.args
    if op == "num":
        yield num(term.value + 1)
        yield num(-term.value)
    elif op == "index":
        yield from (k for k in letters if k.value[1] == term.value[1] and k is not term)
    elif op == "cmp":
        yield from (cmp(r, *args) for r in RELATIONS if r != term.value)
    elif op in ("sum", "prod", "max", "min"):
        if args[1] is not TRUE:
            yield make(op, (args[0], TRUE), None, term.bound)
    elif op == "neg":
        yield args[0]
    elif op == "delta":
        yield ONE
        yield ZERO
    elif op == "where":
        yield args[1]
        yield args[2]
    elif op in ("add", "mul") and len(args) > 1:
        yield from (make(op, [*args[:p], *args[p + 1 :]]) if len(args) > 2 else args[1 - p] for p in range(len(args)))
        yield make("mul" if op == "add" else "add", args)
    elif op == "pow":
        yield power(args[0], add(args[1], ONE))
        yield args[0]
    elif op == "fn" and len(args) == 1:
        yield args[0]
    if op in ("var", "def", "fn", "sum", "div"):
        yield neg(term)


def places(
    term: Term, path: tuple[int, ...] = (), letters: tuple[Term, ...] = ()
) -> Iterator[tuple[tuple[int, ...], tuple[Term, ...]]]:
    """Every position with the letters that are known there."""
    yield path, letters
    for p, a in enumerate(term.args):
        yield from places(a, (*path, p), letters + tuple(k for k in term.bound if k not in letters))


def mutants(claim: Term, context: Context, source: random.Random) -> Iterator[tuple[Term, Context]]:
    """The claim changed in one place, or with a hypothesis less; in a random order."""
    free = tuple(sorted(claim.letters, key=lambda k: k.value))
    found: list[tuple[Term, Context]] = [
        (claim, replace(context, hypotheses=context.hypotheses[:p] + context.hypotheses[p + 1 :]))
        for p in range(len(context.hypotheses))
    ]
    for path, letters in places(claim):
        for new in changes(subterm(claim, path), free + letters):
            changed = put(claim, path, new)
            if not alike(changed, claim) and changed.letters <= claim.letters:
                found.append((changed, context))
    source.shuffle(found)
    yield from found


def true_claims() -> Iterator[tuple[str, Term, Context]]:
    for path in sorted((HERE / "cases" / "proved").glob("*.derive")):
        try:
            theory = loads(path.read_text(encoding="utf-8"), path.stem)
        except LanguageError:
            continue
        for theorem in theory.theorems:
            for claim in theorem.claims:
                if claim.condition.op == "cmp" and not any(
                    h.op == "cmp" and h.args[1].op == "list" for h in theorem.hypotheses
                ):
                    yield path.stem, claim.condition, theory.context(theorem)


def test_no_changed_truth_is_proved_and_contradicted() -> None:
    source = random.Random(SEED)
    pool = [(name, m) for name, claim, context in true_claims() for m in mutants(claim, context, source)]
    assert len(pool) > 1000
    wrong = []
    end = time.process_time() + CPU_SECONDS
    for name, (claim, context) in source.sample(pool, min(MUTANTS, len(pool))):
        if time.process_time() > end:
            break
        if claim.op in CONDITIONS and proved(claim, context):
            found = contradicted(claim, context)
            if found is not None:
                wrong.append(f"{name}: {said(claim, context)}: {found}")
    assert not wrong, "\n".join(wrong)


# -- the test tests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right"),
    [(fn("sqrt", power(X, TWO)), X), (power(neg(P), N), ZERO), (X, div(mul(X, Y), Y)), (ONE, diff(fn("abs", X), X))],
)
def test_false_laws_are_contradicted(left: Term, right: Term) -> None:
    assert contradicted(cmp("==", left, right), WORLD.context(WORLD["claim"])) is not None

"""What the tests of orders share: a theory's words, claims in them, points, counterexamples, mutants, the fuzz."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

import mpmath
import pytest
from total import DIGITS, Point, Skip, truth

from derive.engine.prove import Attempt, prove
from derive.kernel.check import check
from derive.kernel.context import Context
from derive.kernel.normal import Normal
from derive.kernel.proof import Account, Line, Proof, Rejected
from derive.language import condition, expression, loads
from derive.language.places import put, subterm
from derive.term import Term, cmp, index, make, neg, num, substitute, subterms, var

VALUES = "-3 -2 -3/2 -1 -1/2 -1/3 0 0 1/4 1/3 1/2 2/3 1 1 3/2 2 5/2 3 5".split()


def number(random: Random) -> mpmath.mpf:
    exact = Fraction(random.choice(VALUES)) if random.random() < 0.7 else Fraction(random.randint(-60, 60), 13)
    return mpmath.mpf(exact.numerator) / exact.denominator


HEAD = """
n: axis
m: axis
x: real[n]
y: real[n]
u: positive[n]
w: nonnegative[n]
A: real[m, n]
a: real
b: real
c: real
t: positive
r: positive
e: nonnegative
f: nonnegative
flag: bit[n]
z: real[n]
i: index[n]
j: index[n]
q: random(mean=a, variance=e)[n]
h: bernoulli(1/3)
Z = sum(exp(z[k]) for k in n)
s[l] = exp(z[l]) / Z
lse = log(Z)
M = max(z[k] for k in n)
S = sum(a * q[k] for k in n)
"""
WORDS = loads(HEAD)
OWN = index("^k", "n")  # the letter of a hypothesis, as the kernel closes it
K, L, I, J = index("k", "n"), index("l", "n"), index("i", "n"), index("j", "n")  # noqa: E741  # index letters


@cache
def theory(body: str) -> tuple[Term, Context]:
    lines = body.split("; ")
    claims = [line if line.startswith(("assume", "assert")) else f"assert {line}" for line in lines]
    found = loads(HEAD + "\ndef claim():\n" + "".join(f"    {line}\n" for line in claims))
    theorem = found.theorems[0]
    return theorem.claims[-1].condition, found.context(theorem)


def attempt(body: str) -> Attempt:
    return prove(*theory(body))


def term(text: str) -> Term:
    return expression(text, WORDS)


def refused(body: str, *lines: Line) -> str:
    """Why the kernel refuses these lines for the claim."""
    claim, context = theory(body)
    with pytest.raises(Rejected) as why:
        check(Proof(claim, lines=lines), context)
    return why.value.reason


def accepted(body: str, *lines: Line) -> Account:
    claim, context = theory(body)
    return check(Proof(claim, lines=lines), context)


def line(text: str, rule: str, *values: Term, **more: object) -> Line:
    return Line(condition(text, WORDS), rule, values, **more)  # type: ignore[arg-type]


def counterexample(claim: Term, context: Context, random: Random, tries: int) -> Point | None:
    """A point that satisfies the hypotheses, where the claim is false and its left side is defined."""
    for _ in range(tries):
        here = _point(claim, context, random)
        try:
            met = all(_closed(h, context, here) for h in context.hypotheses)
            if met and not _truth(claim, here) and (claim.op != "cmp" or _defined(claim.args[0], here)):
                return here
        except Skip:
            continue
    return None


def _point(claim: Term, context: Context, random: Random) -> Point:
    sizes = {axis: random.choice([1, 1, 2, 2, 3]) for axis in context.axes}
    values = {}
    for d in context.declarations.values():
        places = list(product(*(range(sizes[a]) for a in d.axes)))
        values[d.name] = {place: _drawn(d.kind, random) for place in places}
    for h in context.hypotheses:  # weights that are to add up to one
        if h.op == "cmp" and h.value == "==" and h.args[0].op == "sum" and h.args[0].args[0].op == "var":
            table = values[h.args[0].args[0].value]
            total = sum(table.values())
            with mpmath.workdps(DIGITS):
                values[h.args[0].args[0].value] = {p: v / total for p, v in table.items()} if total else table
    letters = claim.letters | context.letters | frozenset().union(*(h.letters for h in context.hypotheses), frozenset())
    return Point(sizes, values, {k: random.randrange(sizes[k.value[1]]) for k in letters}, context.definitions)


def _drawn(kind: str, random: Random) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        value = number(random)
    if kind == "bit":
        return mpmath.mpf(random.randrange(2))
    return abs(value) or mpmath.mpf(1) if kind == "positive" else abs(value) if kind == "nonnegative" else value


def _closed(hypothesis: Term, context: Context, here: Point) -> bool:
    """Whether a hypothesis holds for all its letters but the declared ones."""
    loose = sorted(hypothesis.letters - context.letters, key=lambda k: str(k.value))
    return all(
        _truth(hypothesis, here.at(dict(zip(loose, places, strict=True))))
        for places in product(*(range(here.sizes[k.value[1]]) for k in loose))
    )


def _truth(claim: Term, here: Point) -> bool:
    if claim.op == "all":
        choices = product(*(range(here.sizes[k.value[1]]) for k in claim.bound))
        inner = (here.at(dict(zip(claim.bound, places, strict=True))) for places in choices)
        return all(_truth(claim.args[0], p) for p in inner if truth(claim.args[1], p))
    if claim.op in ("and", "or"):
        return (all if claim.op == "and" else any)(_truth(a, here) for a in claim.args)
    return truth(without_derivatives(claim), here)


@cache
def without_derivatives(claim: Term) -> Term:
    """The claim with its derivatives taken."""
    if not any(t.op == "diff" for t in subterms(claim)):
        return claim
    _, context = theory("a >= b")
    return cmp(claim.value, *(Normal(context).canonical(a) for a in claim.args))


def _defined(term_: Term, here: Point) -> bool:
    """Whether no denominator is 0 and no logarithm or root is of something that is not positive."""
    if term_.op in ("sum", "prod", "max", "min", "argmax"):
        choices = product(*(range(here.sizes[k.value[1]]) for k in term_.bound))
        inner = [here.at(dict(zip(term_.bound, places, strict=True))) for places in choices]
        return all(_defined(term_.args[0], p) for p in inner if truth(term_.args[1], p))
    if term_.op == "def":
        known = here.definitions[term_.value]
        return _defined(substitute(known.body, dict(zip(known.letters, term_.args, strict=True))), here)
    if term_.op == "where":
        return _defined(term_.args[1 if truth(term_.args[0], here) else 2], here)
    if term_.op in ("diff", "delta", "index", "var"):
        return True
    test = {"div": ("!=", 1), "log": (">", 0), "sqrt": (">=", 0)}.get(term_.value if term_.op == "fn" else term_.op)
    if test and not truth(cmp(test[0], term_.args[test[1]], num(0)), here):
        return False
    if term_.op == "pow" and not truth(cmp(">", term_.args[0], num(0)), here) and term_.args[1].op != "num":
        return False
    if term_.op == "pow" and term_.args[1].op == "num":
        e = term_.args[1].value
        relation = (">=" if e > 0 else ">") if e.denominator != 1 else "!=" if e < 0 else None
        if relation is not None and not truth(cmp(relation, term_.args[0], num(0)), here):
            return False
    return all(_defined(a, here) for a in term_.args)


def mutant(claim: Term, context: Context, random: Random) -> Term:
    """The claim with one place changed."""
    paths = [()]
    for path in paths:
        paths += [(*path, n) for n in range(len(subterm(claim, path).args))]
    path = random.choice(paths)
    t = subterm(claim, path)
    if t.op == "cmp":
        return put(claim, path, cmp(random.choice(["<", "<=", ">", ">=", "!="]), *t.args))
    if t.op == "num":
        return put(claim, path, num(t.value + random.choice([1, -1, Fraction(1, 2), Fraction(-1, 1000)])))
    if t.op == "var":
        kinds = {"real", "positive", "nonnegative"}
        axes = context.declarations[t.value].axes
        same = [d.name for d in context.declarations.values() if d.axes == axes and d.kind in kinds]
        return put(claim, path, var(random.choice(same), *t.args)) if same else claim
    if t.op in ("add", "mul"):
        n = random.randrange(len(t.args))
        kept = [neg(a) if n == p else a for p, a in enumerate(t.args)]
        return put(claim, path, make(t.op, kept))
    if t.op in ("neg", "fn", "pow"):
        return put(claim, path, t.args[0])
    if t.op == "div":
        return put(claim, path, make("div", t.args[::-1]))
    if t.op in ("max", "min") and t.bound:
        return put(claim, path, make("min" if t.op == "max" else "max", t.args, None, t.bound))
    return claim

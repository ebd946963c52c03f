"""Each rule row is true: both sides agree at random instances, and the right side is defined where the left side is.

A row is taken as it stands in the table: its letters are replaced by random small terms that satisfy its side
conditions, and both sides are enclosed at random points. A row with a flipped sign or without a side condition is
killed by the same test, or is listed below with the reason why it is still true.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from random import Random

import mpmath
import pytest

from derive.evidence.enclosure import Answer, Enclosed, Undefined, evaluate
from derive.kernel import order
from derive.kernel.check import PROCEDURES
from derive.kernel.context import Context, Declaration, Law
from derive.kernel.rules import PROBABILITY, RULES, Rule, instantiate, match
from derive.language.places import put, transform
from derive.language.printer import to_text
from derive.term import (
    ONE,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    cmp,
    delta,
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
    subterms,
    var,
    where,
)

DOCS = Path(__file__).resolve().parent.parent / "docs" / "kernel.md"
II, JJ, KK = (index(name, "n") for name in "ijk")
SCALARS = ("x", "y", "p")  # p is positive
ARRAYS = ("z", "w", "u")  # u is positive
RANDOM = ("q", "r", "b")
COIN = [("1/2", "-1"), ("1/2", "1")]
SKEW = [("1/5", "2"), ("4/5", "-1/2")]
TOSS = [("1/3", "1"), ("2/3", "0")]
LAW = Law("random", (ZERO, ONE))
CONTEXT = Context(
    ("n",),
    {
        d.name: d
        for d in (
            Declaration("x", "real"),
            Declaration("y", "real"),
            Declaration("p", "positive"),
            Declaration("z", "real", ("n",)),
            Declaration("w", "real", ("n",)),
            Declaration("u", "positive", ("n",)),
            Declaration("q", "random", ("n",), None, LAW, (KK,)),
            Declaration("r", "random", ("n",), None, LAW, (KK,)),
            Declaration("b", "random", ("n",), None, Law("bernoulli", (num("1/3"),)), (KK,)),
        )
    },
)
NUMBERS = ("-2", "-1", "-1/2", "1/3", "1/2", "1", "3/2", "2", "3")
POSITIVE = ("1/3", "1/2", "1", "3/2", "2")
DOMAIN = {"log": POSITIVE, "log1p": POSITIVE, "sqrt": POSITIVE, "lgamma": POSITIVE, "digamma": POSITIVE}
INSTANCES = 40

# A side condition without which the row is still true.
NOT_NEEDED = {
    **dict.fromkeys(
        (("quotient_rule", "nonzero"), ("constant_numerator", "nonzero")),
        "a quotient has no value where its denominator is 0, and so no derivative; the condition is there to be shown "
        "with the step",
    ),
    ("derivative_of_a_sum", "constant"): "where a filter depends on the variable, it switches a term on or off at a "
    "boundary, and nothing is differentiated there",
}
# Rows that lose something of the domain. A claim's sides are judged as they are written, whatever the steps between.
RIGHT_LOSES = {"divisor_out_of_a_sum": "a sum of nothing is 0 whatever it would be divided by"}
LEFT_LOSES = {
    "chain_rule_log": "the slope 1/u exists where u is negative, the logarithm does not",
    "chain_rule_log1p": "the same",
    "chain_rule_sign": "the slope 0 exists at a jump",
    "chain_rule_relu": "the slope exists at the kink",
}


# -- random instances ------------------------------------------------------------------------------------------------


@dataclass
class Source:
    """A source of random terms for the letters of a row, the names and letters they may hold given each time."""

    random: Random

    def leaf(self, names: tuple[str, ...], letters: tuple[Term, ...]) -> Term:
        scalars = [var(n) for n in names if n in SCALARS]
        entries = [var(n, k) for n in names if n not in SCALARS for k in letters]
        numbers: list[Term] = [num(self.random.choice(("2", "-1", "1/2", "3")))]
        pool = self.random.choice([scalars, entries, entries, numbers, [delta(a, b) for a in letters for b in letters]])
        return self.random.choice(pool or entries or scalars or numbers)

    def term(self, names: tuple[str, ...], letters: tuple[Term, ...], depth: int = 2) -> Term:
        if depth == 0 or self.random.random() < 0.3:
            return self.leaf(names, letters)
        first, second = (self.term(names, letters, depth - 1) for _ in range(2))
        other = index("l", "n")
        choices = [
            lambda: add(first, second),
            lambda: mul(first, second),
            lambda: sub(first, second),
            lambda: fn(self.random.choice(("exp", "sin", "cos")), self.leaf(names, letters)),
            lambda: power(first, TWO),
            lambda: div(first, self.positive(names, letters)),
            lambda: over("sum", self.leaf(names, (*letters, other)), other),
        ]
        return self.random.choice(choices)()

    def about(self, wanted: set[str], names: tuple[str, ...], letters: tuple[Term, ...]) -> Term:
        """A term that speaks of one of the wanted names, if there are any."""
        found = self.term(names, letters)
        for _ in range(20):
            if not wanted or wanted & found.names:
                break
            found = self.term(names, letters)
        return found

    def positive(self, names: tuple[str, ...], letters: tuple[Term, ...]) -> Term:
        known = [var(n) for n in names if n == "p"] + [var(n, k) for n in names if n == "u" for k in letters]
        some = [fn("exp", self.leaf(names, letters)), add(TWO, power(self.leaf(names, letters), TWO)), num("3/2")]
        return self.random.choice([*known, *some])

    def filter(self) -> Term:
        tests = [cmp("!=", KK, II), cmp("<=", KK, JJ), cmp("==", KK, II), cmp(">", KK, II)]
        return self.random.choice([TRUE, TRUE, *tests])


def instance(rule: Rule, random: Random) -> dict[str, object]:
    """Terms for the letters of the row that satisfy its side conditions, and no others."""
    source, conditions = Source(random), {(c[0], _name(c[1])) for c in rule.conditions}
    binder = any(t.bound for t in subterms(rule.left))
    chance = rule in PROBABILITY or rule.left.op in ("E", "Var", "Cov")
    entry = random.choice([var("x"), var("z", JJ)])
    names: tuple[str, ...] = (*SCALARS, *ARRAYS) if not chance else ("x", "u", "q", "r", "b")
    found: dict[str, object] = {"?k": (KK,), "?n": "n"} if binder else {}
    metas = {str(t.value) for t in (*subterms(rule.left), *subterms(rule.right)) if t.op == "meta"}
    if "X" in metas:
        free = ("free", "X") in conditions
        found["X"] = entry if free or not binder or random.random() < 0.5 else var("z", KK)
    for name in sorted(metas - {"X"}):
        letters: tuple[Term, ...] = (II, JJ)
        if binder and ("free", name) not in conditions and (name == "F" or name == "A"):
            letters = (II, JJ, KK)
        own = names
        if ("constant", name) in conditions:
            own = tuple(n for n in names if n != entry.value)
        if ("certain", name) in conditions:
            own = tuple(n for n in names if n not in RANDOM)
        if name == "C":
            found[name] = source.filter() if binder else cmp(">", source.term(own, letters, 1), num("1/7"))
            if binder and ("constant", name) not in conditions and ("certain", name) not in conditions:
                found[name] = random.choice([source.filter(), *_odd_filters(chance)])
        elif ("nonzero", name) in conditions or (chance and name == "B" and rule.left.args[0].op == "div"):
            found[name] = source.positive(own, letters)
        else:
            wanted = set(RANDOM) & set(own) if chance else {entry.value} & set(own)
            found[name] = source.about(wanted, own, letters)
    if ("independent", "A") in conditions:
        first, second = random.sample(RANDOM, 2)
        found["A"], found["B"] = (source.term(("x", "u", n), (II, JJ)) for n in (first, second))
    if ("separate", "F") in conditions:
        factor = random.choice([var("q", KK), mul(var("q", KK), var("r", KK)), power(var("b", KK), TWO)])
        found["F"] = add(mul(source.term(("x", "u"), (II, JJ, KK)), factor), source.leaf(("x", "u"), (II, KK)))
    if any(t.op == "each" for t in subterms(rule.left)):
        meta = next(t.args[0] for t in subterms(rule.left) if t.op == "each")
        letters = (II, JJ, KK) if binder else (II, JJ)
        found["each of"] = meta.value
        found["each"] = tuple(source.term(names, letters, 1) for _ in range(random.choice((2, 3))))
    special = _domain(rule)
    if special:  # inside the domain of the function: a positive argument, now and then a negative one
        argument = source.positive(names, (II, JJ)) if random.random() < 0.8 else found["A"]
        found["A"] = argument
    return found


def _name(term: object) -> str:
    return str(term.value) if isinstance(term, Term) else ""


def _odd_filters(chance: bool) -> list[Term]:
    """What a filter may be where no side condition speaks of it."""
    return [cmp(">", var("b", KK), num("1/2"))] if chance else [cmp(">", mul(var("x"), var("z", KK)), num("1/7"))]


def _domain(rule: Rule) -> bool:
    return any(t.op == "fn" and t.value in DOMAIN for t in subterms(rule.left)) or rule.name == "power_rule"


def point(random: Random, chance: bool) -> tuple[dict[str, int], dict[str, object], dict[Term, int]]:
    """A size, values and laws, and places for the free letters."""
    n = random.choice((1, 2) if chance else (1, 2, 3))
    values: dict[str, object] = {"x": random.choice(NUMBERS), "y": random.choice(NUMBERS), "p": random.choice(POSITIVE)}
    for name in ("z", "w"):
        values[name] = [random.choice(NUMBERS) for _ in range(n)]
    values["u"] = [random.choice(POSITIVE) for _ in range(n)]
    if chance:
        values |= {"q": random.choice((COIN, SKEW)), "r": random.choice((COIN, SKEW)), "b": TOSS}
    return {"n": n}, values, {k: random.randrange(n) for k in (II, JJ, KK)}


def outcomes(rule: Rule, instances: int = INSTANCES, seed: int = 0) -> Iterator[str]:
    """What the two sides come to at random instances and points."""
    random = Random(f"{rule.name} {seed}")
    chance = rule.left.op in ("E", "Var", "Cov")
    for _ in range(instances):
        found = instance(rule, random)
        left, right = instantiate(rule.left, found), instantiate(rule.right, found)
        if left is right:
            continue
        if random_outside(right) - random_outside(left):
            yield "differ"  # a random name has got out of its mean
            continue
        sizes, values, places = point(random, chance)
        yield compared(*(evaluate(side, CONTEXT, sizes, values, places) for side in (left, right)))


def random_outside(term: Term) -> frozenset[str]:
    """The random names of the term that stand in no mean."""
    if term.op in ("E", "Var", "Cov"):
        return frozenset()
    own = {term.value} & set(RANDOM) if term.op == "var" else set()
    return frozenset(own).union(*(random_outside(a) for a in term.args))


def compared(left: Answer, right: Answer) -> str:
    if isinstance(left, Enclosed) and isinstance(right, Enclosed):
        return "differ" if left.high < right.low or right.high < left.low else "agree"
    if isinstance(left, Undefined):
        return "right only" if isinstance(right, Enclosed) else "neither"
    return "left only" if isinstance(left, Enclosed) and isinstance(right, Undefined) else "unknown"


@cache
def tally(name: str) -> Counter[str]:
    return Counter(outcomes(RULES[name]))


# -- the rows are true -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_sides_of_a_row_agree(name: str) -> None:
    found = tally(name)

    assert not found["differ"], found
    assert found["agree"] >= 8, f"{name} was not really tried: {found}"


@pytest.mark.parametrize("name", RULES)
def test_right_side_of_a_row_is_defined_where_the_left_side_is(name: str) -> None:
    """But for the rows that are listed, and the list holds no others."""
    assert bool(tally(name)["left only"]) == (name in RIGHT_LOSES)


@pytest.mark.parametrize("name", RULES)
def test_left_side_of_a_row_is_defined_where_the_right_side_is(name: str) -> None:
    """Read from right to left, a row loses nothing of the domain either, but for those that are listed."""
    assert bool(tally(name)["right only"]) == (name in LEFT_LOSES)


@pytest.mark.parametrize("name", RULES)
def test_row_matches_its_own_instances(name: str) -> None:
    """Matching gives back letters with which the right side is the same."""
    random = Random(name)
    for _ in range(20):
        found = instance(RULES[name], random)
        left, again = instantiate(RULES[name].left, found), {}

        assert match(RULES[name].left, left, again)
        assert alike(instantiate(RULES[name].left, again), left)


@pytest.mark.parametrize("name", RULES)
def test_row_has_a_citation(name: str) -> None:
    assert RULES[name].citation.strip()
    assert {t for t in subterms(RULES[name].right) if t.op == "meta"} <= set(subterms(RULES[name].left))


# -- rows for orders -------------------------------------------------------------------------------------------------

FUNCTIONS = {
    name: getattr(mpmath, name) for name in ("exp", "sin", "cos", "sinh", "cosh", "tanh", "atan", "erf", "log", "sqrt")
} | {
    "abs": abs,
    "sigmoid": lambda u: 1 / (1 + mpmath.exp(-u)),
    "softplus": lambda u: mpmath.log(1 + mpmath.exp(u)),
}


def total(term: Term, values: dict[str, mpmath.mpf]) -> mpmath.mpf:
    """The value in the kernel's total reading: 1/0, logarithms, roots and real powers of what is not positive are 0."""
    op, args = term.op, [total(a, values) for a in term.args]
    if op == "num":
        return mpmath.mpf(term.value.numerator) / term.value.denominator
    if op == "var":
        return values[term.value]
    if op == "const":
        return +mpmath.pi
    if op == "add":
        return sum(args, mpmath.mpf(0))
    if op == "mul":
        return mpmath.fprod(args)
    if op == "neg":
        return -args[0]
    if op == "div":
        return args[0] / args[1] if args[1] else mpmath.mpf(0)
    if op == "pow" and args[1] == int(args[1]):
        return args[0] ** int(args[1]) if args[0] or args[1] >= 0 else mpmath.mpf(0)
    if op == "pow":
        return args[0] ** args[1] if args[0] > 0 else mpmath.mpf(0)
    assert op == "fn", op
    return FUNCTIONS[term.value](args[0]) if term.value not in ("log", "sqrt") or args[0] > 0 else mpmath.mpf(0)


def holds(condition: Term, values: dict[str, mpmath.mpf]) -> bool:
    gap = total(condition.args[0], values) - total(condition.args[1], values)
    side = 0 if abs(gap) < mpmath.mpf(10) ** -30 else 1 if gap > 0 else -1
    return side in {"==": (0,), "!=": (1, -1), ">": (1,), ">=": (0, 1), "<": (-1,), "<=": (0, -1)}[condition.value]


def order_points(row: order.Row, seed: int = 0, points: int = 250) -> Iterator[bool]:
    """Whether the conclusion holds, in total semantics, at random numbers that satisfy the premises."""
    random = Random(f"{row.name} {seed}")
    metas = sorted({str(t.value) for t in subterms(row.conclusion) if t.op == "meta"})
    found: dict[str, object] = {m: var(m) for m in metas}
    numbers = ("-3", "-2", "-1", "-1/2", "-1/3", "0", "1/100", "1/3", "1/2", "1", "3/2", "2", "3", "5")
    for _ in range(points):
        with mpmath.workdps(50):
            chosen = {m: Fraction(random.choice(numbers)) for m in metas}
            values = {m: mpmath.mpf(v.numerator) / v.denominator for m, v in chosen.items()}
            if all(holds(instantiate(p, found), values) for p in row.premises):
                yield holds(instantiate(row.conclusion, found), values)


@pytest.mark.parametrize("name", order.ROWS)
def test_order_row_holds_where_its_premises_do(name: str) -> None:
    found = Counter(order_points(order.ROWS[name]))

    assert not found[False]
    assert found[True] >= 10, f"{name} was not really tried: {found}"


# -- mutants of rows -------------------------------------------------------------------------------------------------


def row_mutants(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """The row with one sign flipped, one term, factor or exponent changed, or one side condition dropped."""
    for number, condition in enumerate(rule.conditions):
        rest = (*rule.conditions[:number], *rule.conditions[number + 1 :])
        yield f"without {condition[0]}", replace(rule, conditions=rest)
    for path, term in _places(rule.right, ()):
        for what, new in _changes(term):
            yield f"{what} at {list(path)}", replace(rule, right=put(rule.right, path, new))


def _places(term: Term, path: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Term]]:
    yield path, term
    inside = {"diff": (0,), "where": (1, 2), "sum": (0,)}.get(term.op, range(len(term.args)))
    for p in inside if term.op not in ("delta", "cmp") else ():
        yield from _places(term.args[p], (*path, p))


def _changes(term: Term) -> Iterator[tuple[str, Term]]:
    if term.op not in ("each", "num") or term is TWO:
        yield "sign", neg(term)
    if term.op == "num":
        yield "number", num(term.value + 1)
    if term.op in ("add", "mul") and len(term.args) == 2:
        yield "first dropped", term.args[1]
        yield "second dropped", term.args[0]
    if term.op in ("div", "pow") and term.args[0] is not term.args[1]:
        yield "swapped", make(term.op, term.args[::-1])
    if term.op == "where":
        yield "branches swapped", where(term.args[0], term.args[2], term.args[1])
    if term.op == "fn" and term.value in ("exp", "cos", "sin", "sinh", "cosh", "sigmoid", "digamma", "trigamma"):
        yield "argument negated", fn(term.value, neg(term.args[0]))


def order_mutants(row: order.Row) -> Iterator[tuple[str, order.Row]]:
    for number in range(len(row.premises)):
        rest = (*row.premises[:number], *row.premises[number + 1 :])
        yield f"without premise {number + 1}", replace(row, premises=rest)
    left, right = row.conclusion.args
    yield "turned round", replace(row, conclusion=cmp(row.conclusion.value, right, left))
    for side in (0, 1):
        for path, term in _places(row.conclusion.args[side], (side,)):
            for what, new in _changes(term):
                yield f"{what} at {list(path)}", replace(row, conclusion=put(row.conclusion, path, new))


def killed(rule: Rule, seeds: int = 4) -> bool:
    """Whether the tests of a row refuse this one."""
    loses = rule.name in RIGHT_LOSES
    wrong = {"differ"} if loses else {"differ", "left only"}
    return any(found in wrong for seed in range(seeds) for found in outcomes(rule, INSTANCES, seed))


def same_row(rule: Rule, mutant: Rule) -> bool:
    """Whether the mutant says the same in other words: the right sides agree at random instances of all shapes."""
    if mutant.conditions != rule.conditions:
        return (rule.name, *(c[0] for c in rule.conditions if c not in mutant.conditions)) in NOT_NEEDED
    both = replace(rule, left=rule.right, right=mutant.right, conditions=rule.conditions)
    random, agreed = Random(rule.name), 0
    for _ in range(200):
        found = instance(rule, random)
        sizes, values, places = point(random, rule in PROBABILITY)
        sides = (instantiate(side, found) for side in (both.left, both.right))
        outcome = compared(*(evaluate(side, CONTEXT, sizes, values, places) for side in sides))
        if outcome not in ("agree", "neither", "unknown"):
            return False
        agreed += outcome == "agree"
    return agreed > 50


def implied(row: order.Row) -> bool:
    """Whether the changed row is true as well: a weaker statement, or the same one turned round."""
    return all(holds_ for seed in range(1, 9) for holds_ in order_points(row, seed))


@cache
def row_figures() -> Counter[str]:
    """How many mutants of rows there are, and what became of them; the survivors by name."""
    figures: Counter[str] = Counter()
    for rule in RULES.values():
        for what, mutant in row_mutants(rule):
            if killed(mutant):
                figures["killed"] += 1
            else:
                figures["the same row" if same_row(rule, mutant) else f"{rule.name}: {what}"] += 1
    for row in order.ROWS.values():
        for _, changed in order_mutants(row):
            if not all(order_points(changed)):
                figures["killed"] += 1
            else:
                figures["still true" if implied(changed) else "killed"] += 1
    return figures


@pytest.mark.slow
def test_mutants_of_rows_are_killed() -> None:
    figures = row_figures()

    print(dict(figures))
    assert set(figures) == {"killed", "the same row", "still true"}
    assert figures["killed"] > 600


@pytest.mark.parametrize("name", [name for name in RULES if RULES[name].conditions])
def test_row_needs_each_of_its_side_conditions(name: str) -> None:
    for condition in RULES[name].conditions:
        rest = tuple(c for c in RULES[name].conditions if c is not condition)

        assert killed(replace(RULES[name], conditions=rest)) != ((name, condition[0]) in NOT_NEEDED), condition[0]


# -- the list of rules -----------------------------------------------------------------------------------------------

KINDS = {
    "nonzero": "{0} != 0",
    "constant": "{0} does not depend on {1}",
    "free": "k does not occur in {0}",
    "certain": "{0} holds no random name",
    "independent": "{0} and {1} share no random name",
    "separate": "{0} at different k holds different random entries",
}


def figure(row: Rule | order.Row) -> str:
    """The row as a line of docs/kernel.md: name, premises, conclusion, source."""
    if isinstance(row, Rule):
        premises = [KINDS[str(kind)].format(*(str(t.value) for t in rest)) for kind, *rest in row.conditions]
        conclusion = f"{written(row.left)} = {written(row.right)}"
    else:
        premises = [f"`{written(p)}`" for p in row.premises]
        conclusion = written(row.conclusion)
    return f"| `{row.name}` | {', '.join(premises)} | `{conclusion}` | {row.citation} |"


def written(pattern: Term) -> str:
    """The pattern in the formula language, `each` as the first two terms and dots."""

    def plain(t: Term) -> Term | None:
        if t.op == "meta":
            return cmp("==", var("C"), ONE) if t is CONDITION else var(str(t.value))
        return size("n") if t.op == "size" and t.value == "?n" else None

    def bound(t: Term) -> Term:
        if t.op == "each":
            return t
        if len(t.args) == 1 and t.args[0].op == "each":
            (template,) = t.args[0].args
            return make(t.op, (*(bound(numbered(template, n)) for n in "12"), var("...")))
        return make(t.op, [bound(a) for a in t.args], t.value, [KK for _ in t.bound])

    return to_text(transform(bound(pattern), plain)).replace("C == 1", "C")


def numbered(template: Term, number: str) -> Term:
    """The template with its first letter numbered."""
    metas = [t for t in subterms(template) if t.op == "meta" and t.value in ("A", "F")]
    return transform(template, lambda t: make("meta", (), f"{t.value}{number}") if t in metas else None)


CONDITION = make("meta", (), "C")


def figures() -> list[str]:
    return [figure(row) for row in (*RULES.values(), *order.ROWS.values())]


def listed() -> list[str]:
    """The rows of the tables of docs/kernel.md."""
    return re.findall(r"^\| `\w+` \|.*$", DOCS.read_text(encoding="utf-8"), re.MULTILINE)


def test_documentation_has_the_figure_of_every_row() -> None:
    """Run this file to print the figures as they are to be."""
    missing = [f for f in figures() if f not in listed()]

    assert not missing


def test_documentation_lists_all_rules_and_no_others() -> None:
    names = {line.split("`")[1] for line in listed()}

    assert names == {*RULES, *PROCEDURES, *order.ROWS, *order.PROCEDURES}


if __name__ == "__main__":
    print("\n".join(figures()))

"""Derivations as a textbook shows them: rule by rule from the left side, then one identity to the right side.

Only the way is chosen here; each line is checked by the kernel, and a way that does not get through is given up for
the plain identity that the search for a proof has found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from derive.engine.fold import folded, names, written
from derive.kernel import moments
from derive.kernel.check import Ground, stated
from derive.kernel.derivative import SLOPES, depends
from derive.kernel.normal import Normal
from derive.kernel.poly import add_to
from derive.kernel.proof import Account, Proof, Rejected, Step, Use
from derive.kernel.rules import RULES, instantiate, match
from derive.term import (
    MINUS_ONE,
    ONE,
    TRUE,
    TWO,
    ZERO,
    Term,
    add,
    alike,
    cmp,
    fresh,
    make,
    mul,
    neg,
    num,
    over,
    power,
    put,
    rename_bound,
    substitute,
    subterm,
    subterms,
    where,
)

MAX_STEPS = 60
Path = tuple[int, ...]


class TooLong(Exception):
    """The derivation takes more lines than a reader would follow."""


class Derivation:
    """A growing list of steps from a first expression."""

    def __init__(self, ground: Ground, start: Term, most: int):
        self.most = most
        self.ground, self.nf = ground, ground.full
        self.start = self.now = start
        self.steps: list[Step] = []
        self.taken = set(ground.claim.letters | ground.context.letters | ground.full.guarded)
        # Derivatives that the right side keeps as they are.
        self.kept = {
            t.args[0].value for t in subterms(ground.claim.args[1]) if t.op == "diff" and t.args[0].op == "def"
        }

    def at(self, path: Path) -> Term:
        return subterm(self.now, path)

    def step(self, rule: str, path: Path, new: Term, *, reverse: bool = False, uses: tuple[Use, ...] = ()) -> None:
        """Replace what stands at the path."""
        after = put(self.now, path, new)
        if after is self.now:
            return
        if len(self.steps) >= self.most:
            raise TooLong
        self.steps.append(Step(rule, after, path, reverse, uses))
        self.now = after

    def row(self, name: str, path: Path) -> bool:
        """Apply a rule row left to right at the path, if it matches."""
        found: dict[str, object] = {}
        rule = RULES[name]
        if not match(rule.left, self.at(path), found):
            return False
        self.step(name, path, instantiate(rule.right, found))
        return True

    def unfold(self, path: Path) -> None:
        """Replace a name by its value, the value's bound letters renamed apart from all others."""
        term = self.at(path)
        self.step("definition", path, self.apart(self.nf.unfold(term)))

    def apart(self, term: Term, elsewhere: Term | None = None) -> Term:
        """The term with bound letters that stand nowhere else, be it in the expression so far."""
        other = self.now if elsewhere is None else elsewhere
        used = set(self.taken) | {t for t in subterms(other) if t.op == "index"} | set(term.letters)
        used |= {k for t in subterms(other) for k in t.bound}

        def walk(t: Term) -> Term:
            if t.bound:
                t = rename_bound(t, used)
                used.update(t.bound)
            return make(t.op, [walk(a) for a in t.args], t.value, t.bound) if t.args else t

        return walk(term)


# -- derivatives -----------------------------------------------------------------------------------------------------


def differentiate(d: Derivation, path: Path) -> None:
    """Work out the derivative at the path, and those that come of it."""
    term = d.at(path)
    body, entry = term.args
    nf = d.nf
    if not depends(nf, body, entry.value):
        d.row("constant_rule", path)
        return
    op, args = body.op, body.args
    if stays(d, term, path):
        return
    if op == "def":
        d.unfold((*path, 0))
        differentiate(d, path)
        if path and d.at(path).op != "diff":
            sift(d, path)
            settle(d, path, nf, SHORTER)
    elif op == "var":
        entries = [(a, b) for a, b in zip(body.args, entry.args, strict=True) if a is not b]
        d.step("variable_rule", path, mul(*(make("delta", pair) for pair in entries)))
    elif op == "add":
        d.row("sum_rule", path)
        for p in range(len(args)):
            inner(d, (*path, p))
    elif op == "neg":
        d.row("negation_rule", path)
        inner(d, (*path, 0))
    elif op == "mul":
        product(d, path, args, entry)
    elif op == "div":
        if not depends(nf, args[1], entry.value):
            d.row("constant_divisor", path)
            inner(d, (*path, 0))
        elif not depends(nf, args[0], entry.value):
            d.row("constant_numerator", path)
            everywhere(d, path)
        else:
            d.row("quotient_rule", path)
            everywhere(d, path)
    elif op == "pow" and args[1] is TWO:
        d.row("square_rule", path)
        everywhere(d, path)
    elif op == "pow" and not depends(nf, args[1], entry.value):
        d.row("power_rule", path)
        everywhere(d, path)
    elif op == "fn" and body.value in SLOPES:
        d.row(f"chain_rule_{body.value}", path)
        everywhere(d, path)
    elif op == "sum":
        d.row("derivative_of_a_sum", path)
        inner(d, (*path, 0))
    elif op == "where":
        d.row("derivative_by_cases", path)
        inner(d, (*path, 1))
        inner(d, (*path, 2))
    elif op == "diff":
        differentiate(d, (*path, 0))
        sift(d, (*path, 0))
        settle(d, (*path, 0), nf.around(entry.value))
        differentiate(d, path)
    else:
        raise TooLong


def settle(d: Derivation, path: Path, nf: Normal, most: float = inf) -> None:
    """Bring an inner derivative to a short form, if that is shorter than a part of what stands there."""
    now = d.at(path)
    if any(t.op == "diff" for t in subterms(now)) or (most < 1 and now.size > SETTLED):
        return
    poly = nf.poly(now)
    if len(poly) > WRITTEN:
        return
    short = d.apart(written(nf, poly, names(nf)))
    if short.size < most * now.size and not any(t.op == "diff" for t in subterms(short)):
        d.step(identity(nf, now, short), path, short)


def product(d: Derivation, path: Path, args: tuple[Term, ...], entry: Term) -> None:
    if not depends(d.nf, args[0], entry.value):
        d.row("constant_factor", path)
    elif not any(depends(d.nf, a, entry.value) for a in args[1:]):
        d.row("constant_factor_last", path)
    else:
        d.row("product_rule", path)
    everywhere(d, path)


def inner(d: Derivation, path: Path) -> None:
    if d.at(path).op == "diff":
        differentiate(d, path)
    else:
        everywhere(d, path)


def everywhere(d: Derivation, path: Path) -> None:
    """Work out all derivatives below the path, left to right."""
    while True:
        found = next(positions(d.at(path), path, lambda t: t.op == "diff" and not stays(d, t, path)), None)
        if found is None:
            return
        before = d.now
        differentiate(d, found)
        if d.now is before:
            return


def stays(d: Derivation, term: Term, path: Path) -> bool:
    """Whether the right side has this derivative too, so that it is left as it is."""
    body = term.args[0]
    return bool(path) and body.op == "def" and body.value in d.kept


def positions(term: Term, path: Path, wanted: Callable[[Term], bool]) -> list[Path]:
    """The places below the path where the wanted terms stand, outermost first; the term itself included."""
    found: list[Path] = []

    def walk(t: Term, here: Path) -> None:
        if wanted(t):
            found.append(here)
            return
        for p, a in enumerate(t.args):
            walk(a, (*here, p))

    walk(term, path)
    return iter(found)  # type: ignore[return-value]  # an iterator over the list


# -- sums ------------------------------------------------------------------------------------------------------------


def sift(d: Derivation, path: Path = ()) -> None:
    """Carry out sums over deltas."""
    for _ in range(20):
        found = next(positions(d.at(path), path, lambda t: sifted(t) is not None or splits(t)), None)
        if found is None:
            return
        term = d.at(found)
        new = sifted(term)
        if new is not None:
            d.step("kronecker_sifting", found, new)
        elif term.args[0].op == "neg":
            d.row("negation_of_summation", found)
        else:
            d.row("linearity_of_summation", found)


def splits(term: Term) -> bool:
    """A sum over terms of which some hold a delta with the bound letter."""
    if term.op != "sum" or len(term.bound) != 1:
        return False
    body = term.args[0]
    parts = body.args if body.op in ("add", "neg") else ()
    return any(sifted(over("sum", p, *term.bound, where=term.args[1])) is not None for p in parts)


def sifted(term: Term) -> Term | None:
    """The sum without its delta, where one of its factors is a delta with the bound letter."""
    if term.op != "sum" or len(term.bound) != 1:
        return None
    (k,), (body, filter_) = term.bound, term.args
    factors = list(body.args) if body.op == "mul" else [body]
    for p, f in enumerate(factors):
        if f.op == "delta" and k in f.args:
            j = f.args[1] if f.args[0] is k else f.args[0]
            if k in j.letters:
                return None
            rest = substitute(mul(*factors[:p], *factors[p + 1 :]), {k: j})
            return rest if filter_ is TRUE else make("where", (substitute(filter_, {k: j}), rest, ZERO))
    return None


def tidy(d: Derivation, path: Path) -> None:
    """Drop factors 1 and terms 0 that the rules have left."""
    cleaned = clean(d.at(path))
    if cleaned is not d.at(path):
        d.step("field_identity", path, cleaned)


def clean(term: Term) -> Term:
    if not term.args:
        return term
    args = [clean(a) for a in term.args]
    op = term.op
    if op == "mul":
        if any(a is ZERO for a in args):
            return ZERO
        return joined("mul", [a for a in args if a is not ONE], ONE)
    if op == "add":
        return joined("add", [a for a in args if a is not ZERO], ZERO)
    if op == "div" and args[0] is ZERO:
        return ZERO
    if op == "neg" and args[0] is ZERO:
        return ZERO
    if op == "sum" and args[0] is ZERO:
        return ZERO
    if op == "pow" and args[1] is ONE:
        return args[0]
    return make(op, args, term.value, term.bound)


def joined(op: str, args: list[Term], empty: Term) -> Term:
    return make(op, args) if len(args) > 1 else args[0] if args else empty


# -- expectation -----------------------------------------------------------------------------------------------------


def random(d: Derivation, term: Term) -> frozenset[str]:
    return moments.random_names(d.nf, d.nf.opened(term))


def expectations(d: Derivation, path: Path) -> None:
    """Work out all means, variances and covariances below the path."""
    done: set[Term] = set()
    for _ in range(MAX_STEPS):
        wanted = lambda t: t.op in ("E", "Var", "Cov") and t not in done  # noqa: E731  # read once, here
        found = next(positions(d.at(path), path, wanted), None)
        if found is None:
            return
        term = d.at(found)
        before = d.now
        expect(d, found)
        if d.now is before:
            done.add(term)


def expect(d: Derivation, path: Path) -> None:
    """One rule for the mean or variance at the path."""
    term = d.at(path)
    body = term.args[0]
    op, args = body.op, body.args
    if term.op == "Cov":
        d.row("definition_of_covariance", path)
        return
    is_mean = term.op == "E"
    base = body.args[0] if op == "pow" else body
    if base.op == "var" and moments.is_random(d.nf, base.value):
        value = folded(d.nf, term)
        if not any(t.op in ("E", "Var") for t in subterms(value)):
            d.step("moment", path, value)
        elif not is_mean:
            d.row("definition_of_variance", path)
        return
    if op == "def":
        d.unfold((*path, 0))
        return
    if is_mean and not random(d, body):
        d.row("expectation_of_a_constant", path)
        return
    if op == "div" and not random(d, args[1]):
        d.row("linearity_of_expectation_divisor" if is_mean else "variance_scaling_divisor", path)
        return
    if op == "mul" and not random(d, args[0]):
        d.row("linearity_of_expectation_factor" if is_mean else "variance_scaling", path)
        return
    if not is_mean:
        if op == "sum" and args[1] is TRUE and separate(d, args[0], body.bound):
            d.row("variance_of_a_sum_of_independent", path)
        else:
            d.row("definition_of_variance", path)
        return
    if op == "add":
        d.row("linearity_of_expectation", path)
    elif op == "neg":
        d.row("linearity_of_expectation_negation", path)
    elif op == "sum":
        d.row("linearity_of_expectation_sum", path)
    elif op == "mul":
        independent(d, path)
    elif op == "pow" and args[1] is TWO:
        square(d, path)


def separate(d: Derivation, body: Term, letters: tuple[Term, ...]) -> bool:
    entries = [t for t in subterms(d.nf.opened(body)) if t.op == "var" and moments.is_random(d.nf, t.value)]
    return all(set(letters) <= set(t.args) for t in entries)


def independent(d: Derivation, path: Path) -> None:
    """E of a product, its factors put into groups that share no random name."""
    args = d.at(path).args[0].args
    groups: list[tuple[frozenset[str], list[Term]]] = []
    for a in args:
        names, members = random(d, a), [a]
        apart = []
        for other, inside in groups:
            if (other & names) or (not other and not names):
                names, members = names | other, inside + members
            else:
                apart.append((other, inside))
        groups = [*apart, (names, members)]
    if len(groups) < 2:
        return
    first, rest = groups[0][1], [a for _, g in groups[1:] for a in g]
    ordered = make("mul", (mul(*merged(first)), *merged(rest)))
    if ordered is not d.at(path).args[0]:
        d.step("field_identity", (*path, 0), ordered)
    d.row("linearity_of_expectation_factor" if not groups[0][0] else "independence", path)


def merged(factors: list[Term]) -> list[Term]:
    """Equal factors as a power."""
    return [f if factors.count(f) == 1 else power(f, num(factors.count(f))) for f in dict.fromkeys(factors)]


def square(d: Derivation, path: Path) -> None:
    """E of a square: of a sum as the sum over equal and over different letters, of a product factor by factor."""
    base = d.at(path).args[0].args[0]
    if base.op == "def":
        d.unfold((*path, 0, 0))
    elif base.op == "sum" and len(base.bound) == 1 and base.args[1] is TRUE:
        (k,) = base.bound
        used = d.taken | {t for t in subterms(d.now) if t.op == "index"} | {b for t in subterms(d.now) for b in t.bound}
        i = fresh(k, used)
        j = fresh(i, used | {i})
        body = base.args[0]
        equal = over("sum", power(body, TWO), k)
        apart = over(
            "sum", make("mul", [substitute(body, {k: i}), substitute(body, {k: j})]), i, j, where=cmp("!=", i, j)
        )
        d.step("square_of_a_sum", (*path, 0), add(equal, apart))
    elif base.op == "mul":
        d.step("field_identity", (*path, 0), mul(*(power(a, TWO) for a in base.args)))
    elif base.op == "div":
        d.step("field_identity", (*path, 0), make("div", (power(base.args[0], TWO), power(base.args[1], TWO))))
    elif base.op == "neg":
        d.step("field_identity", (*path, 0), power(base.args[0], TWO))
    elif base.op == "add":
        products = [mul(a, b) if a is not b else power(a, TWO) for a in base.args for b in base.args]
        d.step("field_identity", (*path, 0), add(*products))


# -- the whole derivation --------------------------------------------------------------------------------------------


def derive(ground: Ground, claim: Term, uses: tuple[Use, ...], most: int = MAX_STEPS) -> Proof | None:
    """A step-by-step proof of an equation of which the difference is known to be the uses' sum; None if it fails."""
    left, right = ground.claim.args
    d = Derivation(ground, left, most)
    try:
        start = d.apart(left, ONE)
        d.step("rename", (), start)
        work(d)
        finish(d, right, uses)
    except (TooLong, Rejected, RecursionError, IndexError, KeyError, ValueError, StopIteration):
        return None
    return Proof(claim, tuple(d.steps))


def work(d: Derivation) -> None:
    """Expand the left side by rules."""
    if any(t.op == "diff" for t in subterms(d.now)):
        everywhere(d, ())
        sift(d)
        tidy(d, ())
    if any(t.op in ("E", "Var", "Cov") for t in subterms(d.now)):
        expectations(d, ())
        tidy(d, ())
    elif not any(t.op == "diff" for t in subterms(d.start)):
        names = list(positions(d.now, (), lambda t: t.op == "def"))
        for path in names[:4]:
            d.unfold(path)
        while (found := next(positions(d.now, (), comes_out), None)) is not None:
            name = "divisor_out_of_a_sum" if d.at(found).args[0].op == "div" else "constant_out_of_a_sum"
            if not d.row(name, found):
                return


def comes_out(t: Term) -> bool:
    """A sum with a factor or divisor that is free of its letters."""
    if t.op != "sum":
        return False
    body = t.args[0]
    if body.op == "div":
        return body.args[1].letters.isdisjoint(t.bound)
    return body.op == "mul" and body.args[0].letters.isdisjoint(t.bound)


def backwards(steps: Sequence[Step], start: Term) -> list[Step]:
    """The identities from the last expression to the start, the equations that they use turned round."""
    states = [start, *(s.after for s in steps)]
    return [
        Step(s.rule, before, s.path, uses=tuple(turned(use) for use in s.uses))
        for s, before in zip(reversed(steps), reversed(states[:-1]), strict=True)
    ]


def turned(use: Use) -> Use:
    return replace(use, multiplier=mul(MINUS_ONE, use.multiplier or ONE))


WRITTEN = 24  # terms of one that is written
SETTLED = 60  # nodes of an inner derivative that is written anew, which means to multiply it out
SHORTER = 0.9  # a derivative of a name is written anew where that makes it shorter by a tenth
WORKED_OUT = {"limit_by_expansion": ("limit",), "laws_of_means": ("E", "Var", "Cov"), "replacement": ("at",)}


def finish(d: Derivation, right: Term, uses: tuple[Use, ...]) -> None:
    """The last lines: known equations put in, then one identity to the right side."""
    nf = d.nf
    if alike(d.now, right):
        d.step("rename", (), right)
        return
    if uses:
        put_in(d, right, uses)
    elif right.op == "where" and any(t.op == "delta" for t in subterms(d.now)) and right.args[0].op == "cmp":
        by_cases(d, right)
    if d.now is not right:
        d.step(identity(nf, d.now, right), (), right)


def identity(nf: Normal, before: Term, after: Term) -> str:
    """The name of the identity: by the operator it works out, else of sums or of the field of rational functions."""
    here, there = list(subterms(before)), list(subterms(after))
    for name, ops in WORKED_OUT.items():
        if any(t.op in ops for t in here) and not any(t.op in ops for t in there):
            return name
    return "sum_normal_form" if any(t.bound for t in (*here, *there)) else "field_identity"


def by_cases(d: Derivation, right: Term) -> None:
    """Tell i = j from i != j, as the right side does."""
    condition = right.args[0]
    if all(a.op == "index" for a in condition.args):
        both = d.now
        d.step("case_distinction", (), where(condition, both, d.apart(both)))
        d.step(identity(d.nf, both, right.args[1]), (1,), right.args[1])
        d.step(identity(d.nf, both, right.args[2]), (2,), right.args[2])


def put_in(d: Derivation, right: Term, uses: tuple[Use, ...]) -> None:
    """Write the expression so that each known equation's left side stands in it, and replace it."""
    nf = d.nf
    rest = dict(nf.poly(right))
    parts: list[tuple[Use, Term, Term, Term]] = []
    for use in uses:
        left, side = stated(d.ground, Account(), use, nf).args
        multiplier = folded(nf, use.multiplier if use.multiplier is not None else ONE)
        whole = over("sum", mul(use.multiplier or ONE, side), *use.over)
        add_to(rest, nf.poly(whole), -1)
        parts.append((use, multiplier, left, side))
    if any(use.over for use in uses) or len(uses) > 3:
        d.step("algebra", (), right, uses=uses)
        return
    remainder = folded(nf, nf.term(rest))
    pieces = [make("mul", (m, d.apart(left))) if m is not ONE else d.apart(left) for _, m, left, _ in parts]
    pieces = [
        neg(make("mul", (m.args[0], d.apart(left)))) if m.op == "neg" else p
        for p, (_, m, left, _) in zip(pieces, parts, strict=True)
    ]
    extra = [] if remainder is ZERO else [remainder]
    whole_term = make("add", [*pieces, *extra]) if len(pieces) + len(extra) > 1 else pieces[0]
    d.step(identity(nf, d.now, whole_term), (), d.apart(whole_term))
    for use, _, left, side in parts:
        place = next(positions(d.now, (), lambda t, left=left: alike(t, left)), None)  # type: ignore[misc]
        if place is None:
            raise TooLong
        d.step(use.kind, place, side, uses=(replace(use, multiplier=None),))

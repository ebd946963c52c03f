"""Means, variances and covariances worked out rule by rule, as a textbook shows them."""

from __future__ import annotations

from derive.engine.derivation import MAX_STEPS, Derivation, first
from derive.engine.fold import folded
from derive.kernel import moments
from derive.language.places import Path
from derive.term import TRUE, TWO, Term, add, cmp, fresh, make, mul, num, over, power, substitute, subterms


def random(d: Derivation, term: Term) -> frozenset[str]:
    return moments.random_names(d.nf, d.nf.opened(term))


def expectations(d: Derivation, path: Path) -> None:
    """Work out all means, variances and covariances below the path, but those that the right side has too."""
    done = set(d.kept_means)
    for _ in range(MAX_STEPS):
        wanted = lambda t: t.op in ("E", "Var", "Cov") and t not in done  # noqa: E731  # read once, here
        found = first(d, path, wanted)
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
    if not is_mean and {make("E", (body,)), make("E", (power(body, TWO),))} <= d.kept_means:
        d.row("definition_of_variance", path)
        return
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

"""Means by symmetry: which entries may change places, or be mirrored, so that a mean comes to what the claim says."""

from __future__ import annotations

from collections.abc import Iterator

from derive.engine.derivation import backwards, identity
from derive.engine.fold import names, written
from derive.engine.lettering import names_of, pool
from derive.kernel import moments, symmetry
from derive.kernel.check import Ground
from derive.kernel.normal import Normal
from derive.kernel.poly import key
from derive.kernel.proof import Proof, Rejected, Step, Use
from derive.language.places import Path, put, transform
from derive.term import NONLOCAL, Term, index, make, over, size, substitute, subterms, var

MAX_DEPTH = 3  # symmetries in a row
MAX_TRIED = 60


def by_symmetry(ground: Ground, claim: Term) -> Proof | None:
    """A proof of the equation by symmetries of the means on its sides; None where none is found."""
    left, right = ground.claim.args
    nf = ground.full
    if not any(t.op == "E" for t in subterms(ground.claim)):
        return None
    try:
        ways = [((), right), *chains(ground, right)]
        for steps, term in [((), left), *chains(ground, left)]:
            for others, end in ways:
                if (steps or others) and nf.equal(term, end):
                    middle = (Step(identity(nf, term, end), end),) if term is not end else ()
                    return Proof(claim, (*steps, *middle, *backwards(others, right)))
    except Rejected:
        pass
    return None


def chains(ground: Ground, start: Term) -> list[tuple[tuple[Step, ...], Term]]:
    """What a side comes to by symmetries, each with the steps."""
    nf = ground.full
    seen, tried, found = {start}, 0, []
    plain = written(nf, nf.poly(start), names(nf))
    front: list[tuple[tuple[Step, ...], Term]] = [((), start)]
    if plain is not start:
        front.append(((Step(identity(nf, start, plain), plain),), plain))
    for _ in range(MAX_DEPTH):
        here, front = front, []
        for steps, term in here:
            for path, mean in means(term):
                for use, shown in uses(ground, mean):
                    tried += 1
                    try:
                        _, average = sides = symmetry.equation(ground.plain, ground.context, use).args
                        old, new = map(nf.poly, sides)
                    except Rejected:
                        continue
                    if old == new or tried > MAX_TRIED:
                        continue
                    line = put(term, path, shown or mirrored(ground.plain, use, average))
                    short = put(term, path, written(nf, new, names(nf)))
                    if short in seen:
                        continue
                    seen.add(short)
                    more = (*steps, Step("symmetry", line, path, uses=(use,)), Step(identity(nf, line, short), short))
                    front.append((more, short))
        found += front
    return found


def mirrored(nf: Normal, use: Use, average: Term) -> Term:
    """The kernel's average over both sides of a centre, the mirrored entries as one writes them."""
    assert use.value is not None
    name = use.value.args[1].value
    entries = [t for t in subterms(average) if t.op == "var" and t.value == name]
    plain = {image: written(nf, nf.poly(image), []) for image in (symmetry.image(nf, t) for t in entries)}
    return transform(average, plain.get)


def means(term: Term, path: Path = ()) -> Iterator[tuple[Path, Term]]:
    """The means in the term that stand beneath no derivative, limit or mean, with their places."""
    if term.op == "E":
        yield path, term
    for p, a in enumerate(term.args if term.op not in NONLOCAL else ()):
        yield from means(a, (*path, p))


def uses(ground: Ground, mean: Term) -> Iterator[tuple[Use, Term | None]]:
    """The symmetries that the mean may have, each with how the mean is written then if the kernel's way is longer."""
    nf, body = ground.plain, mean.args[0]
    opened = nf.opened(body)
    name = next(pool(names_of(ground) | {k.value[0] for t in subterms(body) for k in t.bound}))
    for i in sorted(opened.letters, key=key):
        k = index(name, i.value[1])
        average = over("sum", substitute(body, {i: k}), k) / size(i.value[1])
        yield Use("symmetry", 0, ((k, i),), value=body), make("E", (average,))
    entries = {t for t in subterms(opened) if t.op == "var" and moments.is_random(nf, t.value)}
    for random in sorted({t.value for t in entries}):
        axes = nf.context.declarations[random].axes
        whole = var(random, *(index(f"{name}{p}", axis) for p, axis in enumerate(axes)))
        fixed = sorted((t for t in entries if t.args and t.value == random and set(t.args) <= opened.letters), key=key)
        for entry in (whole, *fixed):
            yield Use("symmetry", 0, value=make("list", (body, entry))), None

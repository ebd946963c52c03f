"""Mutants: proofs, claims and rule rows damaged in one place. `python -m tests.mutants` makes them all and counts.

A damaged proof must be rejected, or what it says must be true all the same: it makes no new statement, or those that
it makes agree exactly at small sizes. A damaged claim must not be proved unless it is true.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from derive.engine.check import check_theory
from derive.engine.prove import prove
from derive.engine.verdict import ClaimResult
from derive.evidence.exact import holds_at_small_sizes
from derive.evidence.refute import refute
from derive.kernel.check import PROCEDURES, check, strip
from derive.kernel.context import Context
from derive.kernel.order import PROCEDURES as LINE_PROCEDURES
from derive.kernel.order import ROWS
from derive.kernel.proof import Line, Proof, Rejected, Step, Use
from derive.kernel.rules import RULES
from derive.language import load
from derive.language.loader import catalogue
from derive.language.places import put, subterm
from derive.term import (
    CONDITIONS,
    NEGATED,
    ONE,
    TRUE,
    ZERO,
    Term,
    both,
    cmp,
    index,
    make,
    neg,
    negation,
    num,
    over,
    rebuild,
    subterms,
)

DEPTH = 20_000
SECONDS = 3.0  # for the exact check of one equation
Path = tuple[int, ...]


@dataclass(frozen=True)
class Mutant:
    """A damaged proof, and what was done to it."""

    kind: str
    proof: Proof


# -- one change to a term --------------------------------------------------------------------------------------------


def places(
    term: Term, path: Path = (), letters: frozenset[Term] = frozenset()
) -> Iterator[tuple[Path, Term, frozenset[Term]]]:
    """Every subterm with its path and the letters that are bound there."""
    yield path, term, letters
    for p, a in enumerate(term.args):
        inner = letters | frozenset(term.bound) if not (term.op == "at" and p == 0) else letters
        yield from places(a, (*path, p), inner)


def changed(term: Term) -> Iterator[tuple[str, Term]]:
    """The term with one thing changed: a sign, an index, an exponent, a number, a term, a factor, a name, a binder."""
    free = term.letters | {k for t in subterms(term) for k in t.bound}
    for path, t, bound in places(term):
        for kind, new in changes(t, sorted((term.letters | bound) or free, key=lambda k: str(k.value)), path, term):
            if new is not t:
                yield kind, put(term, path, new)


def changes(t: Term, letters: list[Term], path: Path, whole: Term) -> Iterator[tuple[str, Term]]:
    op, args = t.op, t.args
    parent = above(whole, path)
    if op not in CONDITIONS | {"index", "list"} and t is not ZERO and not is_place(parent, path):  # -0 is 0
        yield "sign", args[0] if op == "neg" else neg(t)
    if op == "index":
        yield from (("index", k) for k in letters if k.value[1] == t.value[1] and k is not t)
    if op == "num":
        kind = "exponent" if parent is not None and parent.op == "pow" and path[-1] == 1 else "number"
        yield kind, num(t.value + 1)
    if op in ("add", "mul"):
        for p in range(len(args)):
            rest = args[:p] + args[p + 1 :]
            yield "term" if op == "add" else "factor", make(op, rest) if len(rest) > 1 else rest[0]
    if op == "pow":
        yield "exponent", args[0]
    if op in ("div", "pow") or (op in ("var", "def", "Cov") and len(args) == 2):
        yield "arguments", make(op, args[::-1], t.value)
    if op == "where":
        yield "branches", make("where", (args[0], args[2], args[1]))
    if op == "delta":
        yield "delta", ONE
    if op == "fn" and t.value in OTHER:
        yield "function", make("fn", args, OTHER[t.value])
    if op == "cmp" and path:
        yield "relation", cmp(NEGATED[t.value], *args)
    if op == "sum" and args[1] is not TRUE:
        yield "filter", make("sum", (args[0], TRUE), None, t.bound)
    if t.bound and op != "at":
        for k in t.bound:
            others = [o for o in letters if o.value[1] == k.value[1] and o not in t.bound]
            yield from (("capture", make(op, args, t.value, [o if b is k else b for b in t.bound])) for o in others)


OTHER = {
    "exp": "cosh",
    "log": "sqrt",
    "sqrt": "abs",
    "sin": "cos",
    "cos": "sin",
    "tanh": "atan",
    "abs": "exp",
    "max": "min",
}


def above(whole: Term, path: Path) -> Term | None:
    """The term around the place."""
    return subterm(whole, path[:-1]) if path else None


def is_place(parent: Term | None, path: Path) -> bool:
    """Whether what stands there is a variable to differentiate by, or a subscript: no value."""
    if parent is None:
        return False
    return (parent.op in ("diff", "limit") and path[-1] == 1) or parent.op in ("var", "def", "delta", "holds")


# -- one change to a proof -------------------------------------------------------------------------------------------


def proof_mutants(proof: Proof) -> Iterator[Mutant]:
    """The proof with one part of one step or line damaged."""
    for n, step in enumerate(proof.steps):
        for kind, new in step_mutants(step):
            yield Mutant(kind, replace(proof, steps=swapped(proof.steps, n, (new,))))
        yield Mutant("deletion", replace(proof, steps=swapped(proof.steps, n, ())))
        yield Mutant("repetition", replace(proof, steps=swapped(proof.steps, n, (step, step))))
        if n + 1 < len(proof.steps):
            after = proof.steps[n + 1]
            yield Mutant("order", replace(proof, steps=(*proof.steps[:n], after, step, *proof.steps[n + 2 :])))
    for n, line in enumerate(proof.lines):
        for kind, other in line_mutants(line):
            yield Mutant(kind, replace(proof, lines=swapped(proof.lines, n, (other,))))
        yield Mutant("line deletion", replace(proof, lines=swapped(proof.lines, n, ())))
        if n + 1 < len(proof.lines):
            second = proof.lines[n + 1]
            yield Mutant("line order", replace(proof, lines=(*proof.lines[:n], second, line, *proof.lines[n + 2 :])))


def swapped(parts: tuple, n: int, new: tuple) -> tuple:  # type: ignore[type-arg]  # steps or lines
    return (*parts[:n], *new, *parts[n + 1 :])


NAMES = tuple(sorted({*RULES, *PROCEDURES}))
LINE_NAMES = tuple(sorted({*ROWS, *LINE_PROCEDURES}))


def step_mutants(step: Step) -> Iterator[tuple[str, Step]]:
    for kind, after in changed(step.after):
        yield f"result: {kind}", replace(step, after=after)
    yield from (("rule", replace(step, rule=name)) for name in NAMES if name != step.rule)
    path = step.path
    paths = {
        path[:-1],
        (*path, 0),
        (*path, 1),
        (*path[:-1], path[-1] + 1 if path else 0),
        (),
        path[1:],
        path[::-1],
        (99,),
    }
    yield from (("position", replace(step, path=other)) for other in sorted(paths - {path}))
    yield "direction", replace(step, reverse=not step.reverse)
    if step.uses:
        yield "hypothesis dropped", replace(step, uses=())
    for n, use in enumerate(step.uses):
        yield from (("hypothesis", replace(step, uses=swapped(step.uses, n, (u,)))) for u in use_mutants(use))


def use_mutants(use: Use) -> Iterator[Use]:
    yield replace(use, number=use.number + 1)
    yield replace(use, number=use.number - 1)
    yield replace(use, kind="lemma" if use.kind == "hypothesis" else "hypothesis")
    yield replace(use, multiplier=neg(use.multiplier or ONE))
    for kind, other in changed(use.multiplier) if use.multiplier is not None else ():
        if kind in ("sign", "index", "factor", "number"):
            yield replace(use, multiplier=other)
    for n, (k, value) in enumerate(use.letters):
        for other in (k, index("other", k.value[1]), index(value.value[0] if value.op == "index" else "i", "nowhere")):
            yield replace(use, letters=swapped(use.letters, n, ((k, other),)))
    if use.over:
        yield replace(use, over=use.over[1:])
    if use.value is not None:
        yield from (replace(use, value=other) for _, other in changed(use.value))


def line_mutants(line: Line) -> Iterator[tuple[str, Line]]:
    for kind, condition in changed(line.condition):
        yield f"line: {kind}", replace(line, condition=condition)
    yield "line: relation", replace(line, condition=cmp(NEGATED[line.condition.value], *line.condition.args))
    yield from (("line rule", replace(line, rule=name)) for name in LINE_NAMES if name != line.rule)
    for n, value in enumerate(line.values):
        yield from (("binding", replace(line, values=swapped(line.values, n, (v,)))) for _, v in changed(value))
    for n, part in enumerate(line.parts):
        yield "part dropped", replace(line, parts=swapped(line.parts, n, ()))
        for _, multiplier in changed(part.multiplier):
            yield "multiplier", replace(line, parts=swapped(line.parts, n, (replace(part, multiplier=multiplier),)))
        for m, cite in enumerate(part.cites):
            for number in (cite.line - 1, cite.line + 1):
                cites = swapped(part.cites, m, (replace(cite, line=number),))
                yield "premise", replace(line, parts=swapped(line.parts, n, (replace(part, cites=cites),)))
    for n, cite in enumerate(line.cites):
        others = (
            [None, replace(cite, line=cite.line - 1), replace(cite, line=cite.line + 1)] if cite is not None else []
        )
        yield from (("premise", replace(line, cites=swapped(line.cites, n, (other,)))) for other in others)
    if line.where is not TRUE:
        yield "case dropped", replace(line, where=TRUE)
    if line.letters:
        yield "letter dropped", replace(line, letters=line.letters[1:])


# -- what becomes of a mutant ----------------------------------------------------------------------------------------


def statements(proof: Proof, context: Context) -> Iterator[Term]:
    """What the proof says on its way: that each result equals the one before, and what each line says."""
    claim, extra = strip(proof.claim, context)
    own = sorted(claim.letters - proof.claim.letters, key=lambda k: str(k.value))
    before = claim.args[0]
    for step in proof.steps:
        said = cmp("==", before, step.after)
        yield over("all", said, *own, where=both(*extra)) if own else said
        before = step.after
    for line in proof.lines:
        letters, axes = line.letters, {k.value[1] for t in (line.condition, line.where) for k in t.letters}
        if line.where is not TRUE and not letters and axes:
            letters = (index("spare", min(axes)),)  # so that a case alone can be a filter
        if letters:
            yield over("all", line.condition, *letters, where=line.where)
        else:
            yield line.condition if line.where is TRUE else make("or", (negation(line.where), line.condition))


def expressions(proof: Proof) -> set[Term]:
    return {proof.claim.args[0] if proof.claim.args else proof.claim, *(s.after for s in proof.steps)}


def fate(mutant: Mutant, original: Proof, context: Context) -> str:
    """rejected, same statements, true, untold, FALSE or CRASHED."""
    try:
        check(mutant.proof, context)
    except Rejected:
        return "rejected"
    except Exception as why:  # whatever else comes out of the kernel is a fault of it
        return f"CRASHED: {type(why).__name__}"
    known = {*statements(original, context)}
    chain = expressions(original)
    verdicts = [
        holds_at_small_sizes(said, context, SECONDS)
        for said in statements(mutant.proof, context)
        if said not in known and not (said.op == "cmp" and said.value == "==" and {*said.args} <= chain)
    ]
    if False in verdicts:
        return "FALSE"
    return "untold" if None in verdicts else "true" if verdicts else "same statements"


@cache
def proved(name: str) -> tuple[ClaimResult, ...]:
    """The claims of a catalogue theory that are proved by steps or lines."""
    results = check_theory(load(name)).theorems
    return tuple(c for r in results for c in r.claims if c.verdict == "proved" and c.proof is not None and c.context)


@dataclass(frozen=True)
class Fate:
    """A mutant and what became of it."""

    theory: str
    statement: str
    kind: str
    outcome: str


def mutate_proofs(names: Iterable[str], share: float = 1.0, seed: int = 0) -> Iterator[Fate]:
    """The fates of a share of all mutants of the proofs in these theories."""
    random = Random(seed)
    for name in names:
        for claim in proved(name):
            assert claim.proof is not None
            assert claim.context is not None
            for mutant in proof_mutants(claim.proof):
                if random.random() < share:
                    outcome = fate(mutant, claim.proof, claim.context)
                    yield Fate(name, claim.claim.statement, mutant.kind, outcome)


# -- one change to a claim -------------------------------------------------------------------------------------------

CLAIM_KINDS = frozenset({"sign", "index", "exponent", "delta", "factor", "number", "term"})


def claim_mutants(condition: Term) -> Iterator[tuple[str, Term]]:
    """The claim with one sign, index, exponent, delta or factor changed."""
    for side in range(len(condition.args) if condition.op == "cmp" else 0):
        for kind, new in changed(condition.args[side]):
            if kind in CLAIM_KINDS:
                yield kind, rebuild(condition, [new if p == side else a for p, a in enumerate(condition.args)])


def claim_fate(condition: Term, context: Context, seconds: float = 2.0) -> str:
    """not proved, true, untold or FALSE: whether the engine proves the changed claim, and whether it may."""
    end = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > end:
            raise TimeoutError

    try:
        attempt = prove(condition, context, tick)
    except (TimeoutError, RecursionError):
        return "not proved"
    except Rejected:
        return "not proved"
    if attempt.proof is None:
        return "not proved"
    if refute(condition, context, SECONDS) is not None:
        return "FALSE"
    agrees = holds_at_small_sizes(condition, context, SECONDS)
    return "true" if agrees else "untold" if agrees is None else "FALSE"


def mutate_claims(names: Iterable[str], share: float = 1.0, seed: int = 0) -> Iterator[Fate]:
    random = Random(seed)
    for name in names:
        for claim in proved(name):
            assert claim.context is not None
            for kind, condition in claim_mutants(claim.claim.condition):
                if random.random() < share:
                    yield Fate(name, claim.claim.statement, kind, claim_fate(condition, claim.context))


# -- the command -----------------------------------------------------------------------------------------------------


def table(title: str, fates: Iterable[Fate], out: Callable[[str], object] = print) -> Counter[str]:
    """Count the fates by kind and print them; a fault is printed at once."""
    by_kind: Counter[tuple[str, str]] = Counter()
    total: Counter[str] = Counter()
    for f in fates:
        by_kind[f.kind.split(":")[0] if "CRASHED" not in f.outcome else f.kind, f.outcome] += 1
        total[f.outcome] += 1
        if f.outcome.startswith(("FALSE", "CRASHED", "untold")):
            out(f"  {f.outcome}  {f.theory}: {f.statement}  ({f.kind})")
    out(f"{title}: {sum(total.values())} mutants, " + ", ".join(f"{n} {what}" for what, n in sorted(total.items())))
    for kind in sorted({k for k, _ in by_kind}):
        counts = ", ".join(f"{n} {what}" for (k, what), n in sorted(by_kind.items()) if k == kind)
        out(f"  {kind}: {counts}")
    return total


def main(arguments: list[str]) -> int:
    """Make the mutants of the catalogue, or of the theories named, and print what became of them."""
    sys.setrecursionlimit(DEPTH)
    from test_rules import row_figures

    names = arguments or list(catalogue())
    share = 1.0 if arguments else 0.12
    rows = row_figures()
    print(f"rows: {sum(rows.values())} mutants, " + ", ".join(f"{n} {what}" for what, n in sorted(rows.items())))
    proofs = table("proofs", mutate_proofs(names, share))
    claims = table("claims", mutate_claims(names, share / 2))
    bad = [k for k in (*rows, *proofs, *claims) if k.startswith(("FALSE", "CRASHED")) or ": " in k]
    few = not arguments and sum(rows.values()) + sum(proofs.values()) + sum(claims.values()) < 5000
    return 1 if bad or few or proofs["untold"] else 0


if __name__ == "__main__":
    from pathlib import Path as Folder

    sys.path.insert(0, str(Folder(__file__).resolve().parent))
    raise SystemExit(main(sys.argv[1:]))

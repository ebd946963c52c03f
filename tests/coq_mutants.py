"""Mutants before Coq: steps, statements and hypotheses damaged in one place. `make coq-mutants` counts what it accepts.

Coq checks that each equation is true, not that the rule named was used. So an accepted mutant has to be a true
equation, which the exact check at small sizes, that shares no code with Coq, must confirm.
"""

from __future__ import annotations

import copy
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from derive.coq.export import HEAD, ClaimExport
from derive.coq.names import NotExported
from derive.coq.run import CoqMissing, Library
from derive.engine.certify import certificate_of
from derive.engine.check import check_theory
from derive.evidence.exact import holds_at_small_sizes
from derive.kernel.certificate import decode_proof
from derive.kernel.context import Context
from derive.language import load, loads
from derive.term import Term, cmp
from tests.mutants import claim_mutants, step_mutants

THEORIES = ("softmax", "log_sum_exp", "cross_entropy", "sigmoid", "attention", "online_softmax")
SECONDS = 3.0  # for the exact check of one equation
LIMIT = 60.0  # for coqc on one mutant
STEPS, CLAIMS, HYPOTHESES = 420, 110, 40  # how many of each kind are tried
EACH = 8  # damages of the steps of one claim that are tried


@dataclass(frozen=True)
class Mutant:
    """A damaged text for Coq, and the equations that it newly states."""

    kind: str
    name: str
    text: str
    says: tuple[Term, ...]
    context: Context


def fresh(theory: Any, theorem: Any, number: int, data: dict[str, Any]) -> ClaimExport:
    return ClaimExport(theory, theorem, number, data, {})


def texts(maker: ClaimExport, lemmas: list[str]) -> str:
    head = HEAD.format(title="A mutant", theory=maker.theory.name, sha="")
    return "\n".join([head, *(text for _, text in maker.definitions), *lemmas])


def claims(name: str) -> Iterator[tuple[Any, Any, int, dict[str, Any]]]:
    """The proved claims of a theory with their certificates."""
    data = json.loads(json.dumps(certificate_of(check_theory(load(name), 30.0))))
    theory = loads(data["text"], name)
    for theorem in data["theorems"]:
        source = theory[theorem["name"]]
        for claim in theorem["claims"]:
            number = next(n for n, c in enumerate(source.claims, 1) if c.statement == claim["statement"])
            if claim["kind"] == "proof":
                yield theory, source, number, claim


def damaged_steps(theory: Any, source: Any, number: int, data: dict[str, Any], random: Random) -> Iterator[Mutant]:
    """A step's result or place changed, a step or what it puts in left out: the lemmas that this changes."""
    if source.claims[number - 1].condition.args[0].op == "limit":
        return
    original = decode_proof(data["proof"])
    damages = [
        (kind, n, new)
        for n, step in enumerate(original.steps)
        for kind, new in [
            *((k, (s,)) for k, s in step_mutants(step) if k.startswith(("result", "position", "hypothesis"))),
            ("deletion", ()),
        ]
    ]
    for kind, n, new in sample(damages, EACH, random):
        yield from _one(theory, source, number, data, kind, n, new)


def _one(
    theory: Any, source: Any, number: int, data: dict[str, Any], kind: str, n: int, new: tuple[Any, ...]
) -> Iterator[Mutant]:
    maker = fresh(theory, source, number, data)
    proof = decode_proof(data["proof"])
    proof = replace(proof, steps=(*proof.steps[:n], *new, *proof.steps[n + 1 :]))
    before = maker.claim.condition.args[0] if n == 0 else proof.steps[n - 1].after
    changed = proof.steps[n : n + len(new) + 1]
    try:
        maker.prepare(proof)
        lemmas, says = [], []
        for place, step in enumerate(changed):
            lemmas.append(maker.step(n + place + 1, before, step))
            says.append(cmp("==", before, step.after))
            before = step.after
        if n + len(changed) >= len(proof.steps):
            lemmas += maker.equation([], before) if maker.claim.condition.value == "==" else []
            says.append(cmp("==", before, maker.claim.condition.args[1]))
    except (NotExported, ValueError, IndexError, KeyError, AttributeError):
        return  # no text for Coq comes of it
    yield Mutant(kind.split(":")[0], f"{theory.name}.{source.name}", texts(maker, lemmas), tuple(says), maker.context)


def damaged_claims(theory: Any, source: Any, number: int, data: dict[str, Any], random: Random) -> Iterator[Mutant]:
    """The statement's right side changed, the last step with it."""
    condition = source.claims[number - 1].condition
    if condition.op != "cmp" or condition.value != "==" or condition.args[0].op == "limit":
        return
    others = [other for _, other in claim_mutants(condition) if other.args[0] is condition.args[0]]
    for other in sample(others, EACH // 2, random):
        maker = fresh(theory, source, number, data)
        try:
            proof = maker.prepare()
            last = proof.steps[-1].after if proof.steps else condition.args[0]
            maker.claim = replace(maker.claim, condition=other)
            lemmas = list(maker.equation([], last))
        except (NotExported, ValueError):
            continue
        yield Mutant("statement", f"{theory.name}.{source.name}", texts(maker, lemmas), (other,), maker.context)


def without_hypotheses(theory: Any, source: Any, number: int, data: dict[str, Any]) -> Iterator[Mutant]:
    """The statement without one of its hypotheses, and the whole proof."""
    for dropped in range(len(theory.context(source).hypotheses)):
        maker = fresh(theory, source, number, copy.deepcopy(data))
        made = maker.made_telescope

        def less(*given: Any, made: Any = made, dropped: int = dropped) -> Any:
            telescope = made(*given)
            telescope.binders = [(n, t) for n, t in telescope.binders if n != f"Hyp{dropped + 1}"]
            return telescope

        maker.made_telescope = less  # type: ignore[method-assign]
        try:
            lines = list(maker.lines())
        except NotExported:
            continue
        kept = tuple(h for n, h in enumerate(maker.context.hypotheses) if n != dropped)
        context = replace(maker.context, hypotheses=kept)
        yield Mutant(
            "no hypothesis", f"{theory.name}.{source.name}", texts(maker, lines), (maker.claim.condition,), context
        )


def sample(found: list[Any], most: int, random: Random) -> list[Any]:
    return random.sample(found, most) if len(found) > most else found


def mutants(seed: int) -> list[Mutant]:
    """A share of all mutants, the same for the same seed."""
    random = Random(seed)
    steps: list[Mutant] = []
    statements: list[Mutant] = []
    hypotheses: list[Mutant] = []
    for name in THEORIES:
        for claim in claims(name):
            steps += damaged_steps(*claim, random)
            statements += damaged_claims(*claim, random)
            hypotheses += without_hypotheses(*claim)
    return [
        *sample(steps, STEPS, random),
        *sample(statements, CLAIMS, random),
        *sample(hypotheses, HYPOTHESES, random),
    ]


def fate(mutant: Mutant, library: Library) -> str:
    """refused; or true, untold, FALSE: what the exact check says of what Coq has accepted."""
    with tempfile.NamedTemporaryFile("w", suffix=".v", prefix="M", dir=library.folder, delete=False) as file:
        file.write(mutant.text)
    path = Path(file.name)
    ran = library.compile(path, LIMIT)
    for left in library.folder.glob(f"{path.stem}*"):
        left.unlink()
    if ran.status:
        return "refused: too slow" if ran.status == 124 else "refused"
    verdicts = [holds_at_small_sizes(said, mutant.context, SECONDS) for said in mutant.says]
    return "FALSE" if False in verdicts else "untold" if None in verdicts else "true"


def main() -> int:
    try:
        library = Library()
    except CoqMissing as why:
        print(f"skipped: {why}")
        return 0
    with library, ThreadPoolExecutor(2) as pool:
        made = mutants(seed=0)
        fates: list[str] = []
        for outcome in pool.map(lambda m: fate(m, library), made):
            fates.append(outcome)
            if len(fates) % 50 == 0:
                print(f"{len(fates)} of {len(made)}: {dict(Counter(fates))}", file=sys.stderr, flush=True)
    count = Counter(zip((m.kind for m in made), fates, strict=True))
    for (kind, outcome), n in sorted(count.items()):
        print(f"{kind}: {outcome}: {n}")
    for m, f in zip(made, fates, strict=True):
        if not f.startswith("refused"):
            print(f"  {f}: {m.kind} in {m.name}")
    refused = sum(f.startswith("refused") for f in fates)
    rest = Counter(fates)
    counts = f"{refused} refused, {rest['true']} true, {rest['untold']} untold, {rest['FALSE']} false"
    print(f"{len(made)} mutants: {counts}")
    return 1 if "FALSE" in fates else 0


if __name__ == "__main__":
    sys.exit(main())

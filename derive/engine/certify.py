"""A checked theory as a certificate file: terms, contexts and proofs as data for JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from derive.engine.verdict import ClaimResult, TheoremResult, TheoryResult
from derive.kernel.certificate import FORMAT, NAMED, VERSION, digest, seal
from derive.kernel.context import Context, Declaration
from derive.kernel.proof import Account, Cite, Line, Proof, Use
from derive.language.loader import CATALOGUE
from derive.language.theory import Theory
from derive.term import BINDERS, Term


def certificate_of(result: TheoryResult) -> dict[str, Any]:
    """The certificate of the theory's proved claims, with the imported theorems that they rest on, and with the texts
    of all that it imports from outside of the catalogue."""
    imports = [_theory(source.theory, theorems) for source, theorems in _imported(result, result.theorems)]
    texts = [_theory(theory, ()) for theory in _sources(result.theory, {i["theory"] for i in imports})]
    data = {
        "format": FORMAT,
        "version": VERSION,
        **_theory(result.theory, result.theorems),
        "imports": [*texts, *imports],
    }
    return data | {"digest": seal(data)}


def _theory(theory: Theory, theorems: Iterable[TheoremResult]) -> dict[str, Any]:
    return {
        "theory": theory.name,
        "text": theory.text,
        "sha256": hashlib.sha256(theory.text.encode()).hexdigest(),
        "theorems": [_theorem(checked) for checked in theorems],
    }


def _sources(theory: Theory, taken: set[str]) -> Iterator[Theory]:
    """The theories outside of the catalogue that it imports from, directly or not, but for those taken already."""
    for item in theory.imports:
        yield from _sources(item.theory, taken)
        if item.theory.name not in taken and (item.theory.path is None or item.theory.path.parent != CATALOGUE):
            taken.add(item.theory.name)
            yield item.theory


def _theorem(checked: TheoremResult) -> dict[str, Any]:
    proved = [c for c in checked.claims if c.verdict == "proved" and c.context]
    return {
        "name": checked.theorem.name,
        "verdict": checked.verdict,
        "claims": [claim_data(c, c.context) for c in proved if c.context],
        "open": [
            {"statement": c.claim.statement, "line": c.claim.line, "verdict": c.verdict}
            for c in checked.claims
            if c not in proved
        ],
    }


def _imported(
    result: TheoryResult, theorems: Sequence[TheoremResult]
) -> list[tuple[TheoryResult, Sequence[TheoremResult]]]:
    """The imported theorems on which these rest, directly or not, each after those that it rests on itself."""
    used = {name for t in theorems for c in t.claims if c.account for name in c.lemmas}
    found: list[tuple[TheoryResult, Sequence[TheoremResult]]] = []
    for source in result.imports:
        wanted = set(used)
        chosen: list[TheoremResult] = []
        for checked in reversed(source.theorems):  # a theorem leans on earlier ones
            if checked.theorem.name in wanted:
                chosen.insert(0, checked)
                wanted |= {name for c in checked.claims if c.account for name in c.lemmas}
        if chosen:
            found += [*_imported(source, chosen), (source, chosen)]
    return found


def claim_data(claim: ClaimResult, context: Context) -> dict[str, Any]:
    """One claim with everything that its replay needs, sealed by a digest."""
    data: dict[str, Any] = {
        "statement": claim.claim.statement,
        "line": claim.claim.line,
        "claim": encode(claim.claim.condition),
        "context": _context(context, [claim.claim.condition, *(terms_of(claim.proof) if claim.proof else ())]),
    }
    if claim.proof is None or claim.account is None:
        data |= {"kind": "example"}
    else:
        data |= {"kind": "proof", "proof": _proof(claim.proof, claim.account)}
    return data | {"digest": digest(data)}


def terms_of(proof: Proof) -> list[Term]:
    """The terms that the proof speaks of."""
    uses = [u for part in (*proof.steps, *proof.lines) for u in part.uses]  # type: ignore[attr-defined]
    values = [v for m in proof.lines for v in (m.condition, m.where, *m.values)]
    values += [t for m in proof.lines for p in m.parts for t in (p.multiplier, p.where)]
    values += [t for u in uses for t in (u.multiplier, u.value) if t is not None]
    return [*(s.after for s in proof.steps), *values]


def encode(term: Term) -> list[Any]:
    """The term as nested lists."""
    op = term.op
    if op == "num":
        return ["num", str(term.value)]
    if op == "index":
        return ["index", *term.value]
    if op == "diff":  # (body, variable, indices)
        return ["diff", encode(term.args[0]), term.args[1].value, *map(encode, term.args[1].args)]
    head: list[Any] = [op]
    if op in NAMED:
        head.append(term.value)
    if op in BINDERS:
        head.append([list(k.value) for k in term.bound])
    return head + [encode(a) for a in term.args]


def _context(context: Context, claims: Iterable[Term]) -> dict[str, Any]:
    """What the claims rest on: only the declarations and definitions that can be reached from them."""
    reached = _reached(context, [*claims, *context.hypotheses, *(lemma.condition for lemma in context.lemmas)])
    return {
        "axes": list(context.axes),
        "letters": sorted(list(k.value) for k in context.letters),
        "declarations": [_declaration(d) for d in context.declarations.values() if d.name in reached],
        "definitions": [
            {
                "name": d.name,
                "letters": [list(k.value) for k in d.letters],
                "body": encode(d.body),
                "rests_on": sorted(_reached(context, [d.body])),
            }
            for d in context.definitions.values()
            if d.name in reached
        ],
        "hypotheses": [encode(h) for h in context.hypotheses],
        "lemmas": [
            {"name": m.name, "theorem": m.theorem, "number": m.number, "condition": encode(m.condition)}
            for m in context.lemmas
        ],
    }


def _reached(context: Context, terms: Iterable[Term]) -> set[str]:
    return {name for t in terms for name in context.reached(t.names)}


def _declaration(d: Declaration) -> dict[str, Any]:
    law = None if d.law is None else {"family": d.law.family, "parameters": [encode(p) for p in d.law.parameters]}
    letters = [list(k.value) for k in d.letters]
    return {"name": d.name, "kind": d.kind, "axes": list(d.axes), "over": d.over, "law": law, "letters": letters}


def _pairs(letters: Iterable[tuple[Term, Term]]) -> list[list[Any]]:
    return [[encode(a), encode(b)] for a, b in letters]


def _use(use: Use) -> dict[str, Any]:
    return {
        "kind": use.kind,
        "number": use.number,
        "letters": _pairs(use.letters),
        "multiplier": None if use.multiplier is None else encode(use.multiplier),
        "over": [list(k.value) for k in use.over],
        "value": None if use.value is None else encode(use.value),
    }


def _cite(cite: Cite | None) -> dict[str, Any] | None:
    return None if cite is None else {"line": cite.line, "letters": _pairs(cite.letters)}


def _line(line: Line) -> dict[str, Any]:
    return {
        "condition": encode(line.condition),
        "rule": line.rule,
        "values": [encode(v) for v in line.values],
        "parts": [
            {
                "multiplier": encode(p.multiplier),
                "cites": [_cite(c) for c in p.cites],
                "over": [list(k.value) for k in p.over],
                "where": encode(p.where),
            }
            for p in line.parts
        ],
        "cites": [_cite(c) for c in line.cites],
        "letters": [list(k.value) for k in line.letters],
        "where": encode(line.where),
        "uses": [_use(u) for u in line.uses],
    }


def _proof(proof: Proof, account: Account) -> dict[str, Any]:
    """The proof with the reason of each side condition."""
    reasons = [*account.conditions, *([()] * len(proof.steps))]
    return {
        "free_letters": sorted(list(k.value) for k in proof.claim.letters),
        "steps": [
            {
                "rule": s.rule,
                "path": list(s.path),
                "reverse": s.reverse,
                "after": encode(s.after),
                "uses": [_use(u) for u in s.uses],
                "conditions": [{"condition": encode(c.condition), "reason": c.reason} for c in why if c.reason],
            }
            for s, why in zip(proof.steps, reasons, strict=False)
        ],
        "lines": [_line(line) for line in proof.lines],
        "obligations": [{"condition": encode(c.condition), "reason": c.reason} for c in account.obligations],
        "domain": [encode(c) for c in account.domain],
    }

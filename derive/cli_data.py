"""What the command line prints with --json, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from derive.language.errors import LanguageError
from derive.language.printer import need_text, to_text

if TYPE_CHECKING:
    from derive.engine.verdict import ClaimResult, TheoremResult, TheoryResult
    from derive.kernel.certificate import Replay
    from derive.kernel.context import Context
    from derive.language.theory import Theory
    from derive.term import Term

SCHEMA = 1


def catalogue_data(theories: Iterable[Theory]) -> dict[str, Any]:
    """`derive list`."""
    return {
        "schema": SCHEMA,
        "theories": [
            {
                "name": theory.name,
                "title": theory.title,
                "theorems": [
                    {"name": t.name, "line": t.line, "statements": [c.statement for c in t.claims]}
                    for t in theory.theorems
                ],
            }
            for theory in theories
        ],
    }


def check_data(
    found: Sequence[tuple[str, TheoryResult | LanguageError]], agreements: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """`derive check`: one entry for each theory asked for, in that order."""
    return {
        "schema": SCHEMA,
        "theories": [
            error_data(source, result)
            if isinstance(result, LanguageError)
            else theory_data(source, result, (agreements or {}).get(source))
            for source, result in found
        ],
    }


def error_data(source: str, problem: LanguageError) -> dict[str, Any]:
    """A file that is no theory."""
    error = {"line": problem.line, "column": problem.column, "message": problem.message, "hint": problem.hint}
    return {"name": Path(source).stem, "path": source, "error": error, "theorems": []}


def theory_data(source: str, result: TheoryResult, agreement: Any = None) -> dict[str, Any]:
    path = source if Path(source).exists() else f"{result.theory.name}.derive"
    return {
        "name": result.theory.name,
        "path": path,
        "error": None,
        "theorems": [theorem_data(t, agreement) for t in result.theorems],
    }


def theorem_data(result: TheoremResult, agreement: Any = None) -> dict[str, Any]:
    name = result.theorem.name
    claims = [claim_data(c) for c in result.claims]
    for number, claim in enumerate(claims):
        if agreement is not None:
            again = agreement[name, number]
            claim["sympy"] = {
                "agrees": again.agrees,
                "sizes": list(again.sizes_checked),
                "reason": again.reason or None,
            }
    return {
        "name": name,
        "line": result.theorem.line,
        "verdict": result.verdict,
        "claims": claims,
        "unused_hypotheses": _texts(result.unused),
        "warnings": list(result.warnings),
    }


def claim_data(result: ClaimResult) -> dict[str, Any]:
    from derive.report.words import spoken_reason

    claim, account = result.claim, result.account
    return {
        "line": claim.line,
        "statement": claim.statement,
        "caption": claim.caption,
        "verdict": result.verdict,
        "reason": spoken_reason(result.reason, result.counterexample is not None),
        "domain": [need_text(need) for need in account.domain] if account else [],
        "hypotheses": _texts(result.hypotheses),
        "lemmas": sorted(result.lemmas),
        "steps": len(result.proof.steps) if result.proof else 0,
        "rules": dict(sorted(result.rules.items())),
        "counterexample": result.counterexample,
        "seconds": round(result.seconds, 6),
    }


def show_data(source: str, result: TheoryResult) -> dict[str, Any]:
    """`derive show`: as `check`, with the steps written out."""
    data = theory_data(source, result)
    for theorem, shown in zip(result.theorems, data["theorems"], strict=True):
        shown["doc"] = theorem.theorem.doc
        for claim, entry in zip(theorem.claims, shown["claims"], strict=True):
            entry["derivation"] = derivation_data(claim)
            entry["comparisons"] = comparison_data(claim, result.theory.context(theorem.theorem))
    return {"schema": SCHEMA, "theories": [data]}


def derivation_data(result: ClaimResult) -> list[dict[str, Any]]:
    """The steps of a claim's proof."""
    return [
        {"rule": step.rule, "backwards": step.reverse, "place": list(step.path), "after": to_text(step.after)}
        for step in (result.proof.steps if result.proof else ())
    ]


def comparison_data(result: ClaimResult, context: Context) -> list[dict[str, Any]]:
    """The comparisons by which an order follows."""
    from derive.report.lines import line_views

    lines = line_views(result.proof, result.context or context) if result.proof else ()
    return [
        {
            "rule": line.rule,
            "condition": to_text(line.condition),
            "for_all": _texts(line.letters),
            "where": to_text(line.where) if line.where is not None else None,
        }
        for line in lines
    ]


def verify_data(found: Iterable[tuple[str, Sequence[Replay] | Exception]]) -> dict[str, Any]:
    """`derive verify`."""
    return {"schema": SCHEMA, "certificates": [_certificate_data(path, replays) for path, replays in found]}


def _certificate_data(path: str, replays: Sequence[Replay] | Exception) -> dict[str, Any]:
    if isinstance(replays, Exception):
        return {"path": path, "error": str(replays), "claims": []}
    claims = [
        {"theorem": r.theorem, "claim": r.number, "statement": r.statement, "accepted": r.ok, "reason": r.reason}
        for r in replays
    ]
    return {"path": path, "error": None, "claims": claims}


def _texts(terms: Iterable[Term]) -> list[str]:
    return [to_text(term) for term in terms]

"""The record of what Coq has re-checked: written by `make coq` from a run, read by the reports, never by hand.

A claim is known by a digest of its statement, hypotheses and steps: one that has changed since the run has no entry.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from derive.coq.export import Export
from derive.coq.names import theorem
from derive.coq.run import Outcome
from derive.kernel.certificate import digest
from derive.paths import coq_dir

Entries = list[dict[str, Any]]
RECHECKED, NOT_EXPORTED, REFUSED = "re-checked", "not exported", "refused"


@dataclass(frozen=True)
class Said:
    """What a recorded run says of a claim: the result, why it is not re-checked, and the lemma that states it."""

    result: str
    reason: str | None = None
    lemma: str = ""
    file: str = ""  # in which the lemma stands


def fingerprint(claim: Mapping[str, Any]) -> str:
    """The digest of what Coq is told of a claim; the line it stands on and reasons in words do not matter."""
    proof = claim.get("proof") or {}
    steps = [{k: v for k, v in step.items() if k != "conditions"} for step in proof.get("steps", ())]
    told = [
        claim["statement"],
        claim["claim"],
        claim["context"],
        steps,
        proof.get("lines", []),
        proof.get("domain", []),
    ]
    return digest(told)


def path() -> Path:
    return coq_dir() / "record.json"


def entries(exported: Export, outcome: Outcome) -> list[dict[str, Any]]:
    """One entry a claim, in the order of the theory."""
    refused = {(r.theorem, r.number): r for r in outcome.refused}
    found = []
    for c in exported.claims:
        entry: dict[str, Any] = {"theorem": c.theorem, "claim": c.number, "digest": fingerprint(c.certificate)}
        if c.reason is not None:
            entry |= {"result": NOT_EXPORTED, "reason": c.reason}
        elif (c.theorem, c.number) in refused:
            why = refused[c.theorem, c.number]
            entry |= {"result": REFUSED, "reason": why.reason, "message": why.message}
        else:
            entry |= {"result": RECHECKED}
        found.append(entry)
    return found


def written(coq: str, theories: Mapping[str, Entries], rounding: Mapping[str, Entries]) -> str:
    """The record as the text of its file, one claim or bound a line."""
    told = f'{{\n "coq": {json.dumps(coq)},\n "theories": {{\n{_lines(theories)}\n }},\n'
    return told + f' "rounding": {{\n{_lines(rounding)}\n }}\n}}\n'


def _lines(parts: Mapping[str, Entries]) -> str:
    found = []
    for name in sorted(parts):
        lines = ",\n".join("   " + json.dumps(e, ensure_ascii=False) for e in parts[name])
        found.append(f"  {json.dumps(name)}: [\n{lines}\n  ]")
    return ",\n".join(found)


@lru_cache(maxsize=1)
def _read() -> dict[str, list[Said]]:
    try:
        data = json.loads(path().read_bytes())
    except (OSError, ValueError):
        return {}
    found: dict[str, list[Said]] = {}
    for name, entries in data["theories"].items():
        for e in entries:
            lemma = theorem(e["theorem"], e["claim"])
            found.setdefault(e["digest"], []).append(Said(e["result"], e.get("reason"), lemma, f"{name}.v"))
    for name, entries in data.get("rounding", {}).items():
        for e in entries:
            said = Said(e["result"], e.get("reason"), e["name"], f"{name}_rounding.v")
            found.setdefault(e["digest"], []).append(said)
    return found


def said(digest: str, theory: str = "", lemma: str = "") -> Said | None:
    """What the recorded run says of the claim, or the stated bound, with this digest; None if nothing.

    Where several theorems make the claim, the lemma of that name from that theory's file is the one to point at.
    """
    found = _read().get(digest)
    return next((s for s in found if (s.file, s.lemma) == (f"{theory}.v", lemma)), found[-1]) if found else None

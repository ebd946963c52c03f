"""`make coq`: the whole catalogue before Coq, and the record of the run in coq/record.json."""

from __future__ import annotations

import sys
from typing import Any

TIMEOUT = 60.0  # seconds for the proof of a claim
MEMORY = 1_000_000  # kilobytes for a file


def main() -> int:
    """Check every theory; print counts, times and axioms; write the record. 0 where nothing is refused."""
    from derive.cli_coq import certificate
    from derive.coq import record
    from derive.coq.export import export
    from derive.coq.run import CoqMissing, Library, check, version
    from derive.language import catalogue

    try:
        coq = version()
        library = Library().__enter__()
    except CoqMissing as why:
        print(f"skipped: {why}")
        return 0
    found: dict[str, list[dict[str, Any]]] = {}
    bad = 0
    theorems = claims = total = 0
    seconds, kilobytes = 0.0, 0
    try:
        for name in sys.argv[1:] or catalogue():
            exported = export(certificate(name, TIMEOUT))
            outcome = check(exported, library)
            found[name] = record.entries(exported, outcome)
            done = {t for t in {c.theorem for c in exported.claims} if _all(exported, outcome, t)}
            print(
                f"{name}: {len(outcome.accepted)} of {len(exported.claims)} claims, {len(done)} whole theorems, "
                f"{outcome.seconds:.1f} s, {outcome.kilobytes // 1000} MB",
                flush=True,
            )
            for refused in outcome.refused:
                print(f"  refused: {refused.theorem}, claim {refused.number}: {refused.message}")
            for axiom in sorted(outcome.foreign):
                print(f"  rests on the axiom {axiom}")
            if outcome.kilobytes > MEMORY:
                print("  needs more than 1 GB")
            bad += len(outcome.refused) + len(outcome.foreign) + (outcome.kilobytes > MEMORY)
            theorems += len(done)
            claims += len(outcome.accepted)
            total += len(exported.claims)
            seconds += outcome.seconds
            kilobytes = max(kilobytes, outcome.kilobytes)
    finally:
        library.__exit__()
    if len(sys.argv) == 1:
        record.path().write_text(record.written(coq, found), encoding="utf-8")
    print(f"Coq {coq}: {claims} of {total} claims, {theorems} whole theorems, {seconds:.0f} s, {kilobytes // 1000} MB")
    return 1 if bad else 0


def _all(exported: Any, outcome: Any, theorem: str) -> bool:
    """Whether all claims of the theorem were accepted."""
    return all((c.theorem, c.number) in outcome.accepted for c in exported.claims if c.theorem == theorem)


if __name__ == "__main__":
    sys.exit(main())

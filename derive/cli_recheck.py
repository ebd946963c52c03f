"""`make coq`: the whole catalogue before Coq, and the record of the run in coq/record.json."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

TIMEOUT = 60.0  # seconds for the proof of a claim
MEMORY = 1_000_000  # kilobytes for a file


def main() -> int:
    """Check every theory; print counts and times; write the record.

    Returns 1 where Coq refuses what it accepted when the record was written, where an axiom stands under a theorem that
    may not, or a file needs more than 1 GB.
    """
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
    names = sys.argv[1:] or catalogue()
    found: dict[str, list[dict[str, Any]]] = {}
    bad = theorems = claims = total = 0
    seconds, kilobytes = 0.0, 0
    try:
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            running = []
            for name in names:
                exported = export(certificate(name, TIMEOUT))
                running.append((name, exported, pool.submit(check, exported, library)))
            for name, exported, outcome in ((n, e, r.result()) for n, e, r in running):
                found[name] = record.entries(exported, outcome)
                done = {t for t in {c.theorem for c in exported.claims} if _all(exported, outcome, t)}
                print(
                    f"{name}: {len(outcome.accepted)} of {len(exported.claims)} claims, {len(done)} whole theorems, "
                    f"{outcome.seconds:.1f} s, {outcome.kilobytes // 1000} MB",
                    flush=True,
                )
                bad += _complaints(exported, outcome)
                theorems += len(done)
                claims += len(outcome.accepted)
                total += len(exported.claims)
                seconds += outcome.seconds
                kilobytes = max(kilobytes, outcome.kilobytes)
        bad += _rounding(library)
    finally:
        library.__exit__()
    if len(sys.argv) == 1:
        record.path().write_text(record.written(coq, found), encoding="utf-8")
    print(f"Coq {coq}: {claims} of {total} claims, {theorems} whole theorems, {seconds:.0f} s, {kilobytes // 1000} MB")
    return 1 if bad else 0


def _complaints(exported: Any, outcome: Any) -> int:
    """Print what is refused; how much of it was accepted before, or may not be."""
    from derive.coq import record

    lost = 0
    by_claim = {(c.theorem, c.number): c for c in exported.claims}
    for refused in outcome.refused:
        said = record.said(record.fingerprint(by_claim[refused.theorem, refused.number].certificate))
        lost += said is not None and said.result == record.RECHECKED
        print(f"  refused: {refused.theorem}, claim {refused.number}: {refused.message}")
    for axiom in sorted(outcome.foreign):
        print(f"  rests on the axiom {axiom}")
    if outcome.kilobytes > MEMORY:
        print("  needs more than 1 GB")
    return lost + len(outcome.foreign) + (outcome.kilobytes > MEMORY)


def _rounding(library: Any) -> int:
    """Check the theorems on rounding errors, which need Flocq; 1 where they fail."""
    import shutil

    from derive.coq.run import ALLOWED, axioms
    from derive.paths import coq_dir

    shutil.copy(coq_dir() / "Rounding.v", library.folder)
    ran = library.compile(library.folder / "Rounding.v")
    if ran.status and "Flocq" in ran.errors and "Cannot find" in ran.errors:
        print("rounding errors: skipped: Coq has no library Flocq")
        return 0
    foreign = axioms(ran.output) - ALLOWED
    outcome = f"rest on {', '.join(foreign)}" if foreign else "accepted"
    if ran.status:
        outcome = "refused: " + " ".join(ran.errors.split())[:300]
    print(f"rounding errors of softmax and log-sum-exp: {outcome}, {ran.seconds:.1f} s, {ran.kilobytes // 1000} MB")
    return 1 if ran.status or foreign else 0


def _all(exported: Any, outcome: Any, theorem: str) -> bool:
    """Whether all claims of the theorem were accepted."""
    return all((c.theorem, c.number) in outcome.accepted for c in exported.claims if c.theorem == theorem)


if __name__ == "__main__":
    sys.exit(main())

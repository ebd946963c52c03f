"""`make coq`: the whole catalogue before Coq, and the record of the run in coq/record.json."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
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
        rounding, failed = _rounding(library, names)
        bad += failed
    finally:
        library.__exit__()
    if len(sys.argv) == 1:
        record.path().write_text(record.written(coq, found, rounding), encoding="utf-8")
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


def _rounding(library: Any, names: Sequence[str]) -> tuple[dict[str, list[dict[str, Any]]], int]:
    """Check the theorems on rounding errors, which need Flocq: the entries of the record, and how many fail."""
    from derive.codegen.rounding_theorem import RoundingFile, rounding_file
    from derive.coq import record
    from derive.coq.run import ROUNDING, CoqMissing, accepts
    from derive.language import load

    try:
        library.add(ROUNDING, "Flocq")
    except CoqMissing as why:
        print(f"rounding errors: skipped: {why}")
        return {}, 0
    found: dict[str, list[dict[str, Any]]] = {}
    bad = done = 0
    seconds = 0.0
    for name in names:
        file = rounding_file(load(name))
        if file is None:
            continue
        why_not, took = accepts(file.text(), library)
        found[name], seconds = [], seconds + took
        for t in file.theorems:
            if why_not is not None:  # which of them it is
                why, took = accepts(RoundingFile(name, (t,)).text(), library)
                seconds += took
            else:
                why = None
            entry: dict[str, Any] = {"quantity": t.quantity, "name": t.name, "count": t.count, "digest": t.digest}
            entry |= {"result": record.RECHECKED} if why is None else {"result": record.REFUSED, "reason": why}
            found[name].append(entry)
            done += why is None
            bad += why is not None
            if why is not None:
                print(f"  refused: rounding errors of {name}.{t.quantity}: {why}")
    print(f"rounding errors: {done} bounds of code in {len(found)} theories, {seconds:.1f} s")
    return found, bad


def _all(exported: Any, outcome: Any, theorem: str) -> bool:
    """Whether all claims of the theorem were accepted."""
    return all((c.theorem, c.number) in outcome.accepted for c in exported.claims if c.theorem == theorem)


if __name__ == "__main__":
    sys.exit(main())

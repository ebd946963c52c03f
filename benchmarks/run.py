"""Speed of generated code beside NumPy by hand, SciPy, PyTorch and JAX: one run, one core, ratios.

    python -m benchmarks.run [NAME...]

Times are CPU time, the smallest of several rounds in which the candidates take turns, so that whatever else the machine
does meets them alike. What is not installed is left out and named. Prints Markdown.
"""

from __future__ import annotations

import os

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import importlib.util  # noqa: E402
import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

from benchmarks.cases import CASES, Case, Run  # noqa: E402

SECONDS = 6.0  # for all candidates of a case together
ROUNDS = 40  # at most


def measured(runs: dict[str, Run]) -> dict[str, float]:
    """Seconds of CPU time, the least of some rounds, for each candidate."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()  # compiles, allocates
    end = time.perf_counter() + SECONDS
    for count in range(ROUNDS):
        for name, run in runs.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
        if time.perf_counter() > end and count >= 4:
            break
    return best


def available(case: Case) -> tuple[dict[str, Run], list[str]]:
    """The candidates that can run here, ready, and the libraries that are missing."""
    data, runs, missing = case.data(), {}, []
    for name, (library, make) in case.candidates.items():
        if library and importlib.util.find_spec(library) is None:
            missing.append(name)
        else:
            runs[name] = make(*data)
    return runs, missing


def table(case: Case) -> str:
    runs, missing = available(case)
    found = measured(runs)
    base = found[case.base]
    lines = [f"### {case.title}", "", f"| code | ms | times {case.base} |", "| --- | --: | --: |"]
    lines += [f"| {name} | {seconds * 1e3:.2f} | {seconds / base:.2f} |" for name, seconds in found.items()]
    for (own, other), bound in case.bars.items():
        if other in found:
            ratio = found[own] / found[other]
            kept = "kept" if ratio <= bound else "missed"
            lines += ["", f"Bar: {own} at most {bound} times {other}. Measured {ratio:.2f}, {kept}."]
    return "\n".join([*lines, *([f"\nNot installed: {', '.join(missing)}."] if missing else [])])


def versions() -> str:
    found = [f"Python {platform.python_version()}", f"NumPy {np.__version__}"]
    for library in ("scipy", "torch", "jax"):
        if importlib.util.find_spec(library):
            found.append(f"{library} {importlib.import_module(library).__version__}")
    return ", ".join(found)


def main(names: list[str]) -> int:
    unknown = set(names) - set(CASES)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(CASES)}", file=sys.stderr)
        return 2
    print(f"{versions()}; one core, CPU time, least of up to {ROUNDS} rounds\n")
    for name in names or CASES:
        print(table(CASES[name]), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Reports of several theories, made by as many processes as there are processors."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from derive.language import load
from derive.report.entry import Entry
from derive.report.store import Store
from derive.report.write import Options, is_kept, report_theory

FEWEST = 3  # reports to be computed, below which a second process is not worth its start

Made = tuple[Entry, list[Path]]


def report_all(
    sources: Sequence[str],
    formats: Sequence[str],
    folder: Path,
    options: Options | None = None,
    store: Store | None = None,
    tell: Callable[[str], None] = lambda _: None,
    workers: int | None = None,
) -> list[Made]:
    """What `report_theory` returns of each source, a catalogue name or a path, in order. Raises what it raises."""
    options, store = options or Options(), store or Store()
    theories = {source: load(source) for source in sources}
    missing = [source for source in theories if not is_kept(theories[source], formats, options, store)]
    workers = min(workers or os.cpu_count() or 1, len(missing))
    found: dict[str, Made] = {}
    if workers > 1 and len(missing) >= FEWEST:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        with ProcessPoolExecutor(workers, context) as pool:
            tasks = {s: pool.submit(report_source, s, formats, folder, options, store) for s in missing}
            try:
                for source, task in tasks.items():
                    tell(f"{theories[source].name}: in {workers} processes")
                    found[source] = task.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    for source in sources:
        if source not in found:
            found[source] = report_theory(theories[source], formats, folder, options, store, tell)
    return [found[source] for source in sources]


def report_source(source: str, formats: Sequence[str], folder: Path, options: Options, store: Store) -> Made:
    """What `report_theory` returns of one source."""
    return report_theory(load(source), formats, folder, options, store)

"""How many correctly rounded softmax components a second the oracle finds on one core, and what mpmath takes.

    python benchmarks/oracle.py

Times are CPU times. The enclosures are refined until every rounding is known, and the errors of NumPy's own shifted
softmax are found with them, as `derive report` does.
"""

from __future__ import annotations

import time

import numpy as np

from derive.codegen import quantity
from derive.evidence.inputs import Inputs, plain
from derive.evidence.oracle import truths
from derive.evidence.second import opinion
from derive.evidence.ulp import FORMATS
from derive.language import load


def main() -> None:
    q, form, rng = quantity(load("softmax"), "s"), FORMATS["float64"], np.random.default_rng(0)
    context = plain(q.context)
    print(f"{'n':>6} {'components/s':>13} {'with errors/s':>14} {'not found':>10} {'worst error, ulp':>17}")
    for n in (10, 1_000, 20_000):
        z = 10 * rng.standard_normal(n)
        inputs = Inputs("normal", 0, {"n": n}, {}, {"z": z})
        places = [(i,) for i in range(n)]
        start = time.process_time()
        true = truths(q.term, context, inputs, q.letters, places, form)
        found = time.process_time() - start
        e = np.exp(z - z.max())
        errors = [t.error(c) for t, c in zip(true, (e / e.sum()).tolist(), strict=True) if t is not None]
        whole = time.process_time() - start
        lost = sum(t is None for t in true)
        print(f"{n:>6} {n / found:>13.0f} {n / whole:>14.0f} {lost:>10} {max(errors):>17.3g}")
    inputs = Inputs("normal", 0, {"n": 100}, {}, {"z": 10 * rng.standard_normal(100)})
    start = time.process_time()
    for i in range(100):
        opinion(q.term, context, inputs.sizes, inputs.exact(), {q.letters[0]: i})
    print(f"mpmath at 50 digits, one by one, n = 100: {100 / (time.process_time() - start):.0f} components/s")


if __name__ == "__main__":
    main()

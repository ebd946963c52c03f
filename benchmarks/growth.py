"""How the time of a proof grows with the length of what is proved: families that are generated, true and false claims.

    python -m benchmarks.growth [FAMILY...]

Times are CPU time of `check_claim`, kernel included. The exponent is the slope of log(time) over log(size) between the
last two sizes: 2 is quadratic. Prints Markdown; what took more than SECONDS is the last row of its family.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from math import log

from derive.engine.check import check_claim
from derive.language import loads

SECONDS = 8.0
SIZES = (4, 8, 16, 32, 64, 128)


def total(m: int, wrong: bool) -> str:
    """The gradient of a sum of m terms."""
    terms = " + ".join(f"sum(a{p}*x[k]**{p % 5 + 2} for k in n)" for p in range(m))
    slopes = " + ".join(f"{p % 5 + 2}*a{p}*x[i]**{p % 5 + 1}" for p in range(m))
    names = "".join(f"a{p}: real\n" for p in range(m))
    return (
        f"n: axis\nx: real[n]\n{names}L = {terms}\ndef claim():\n    assert diff(L, x[i]) == {slopes}{' + 1' * wrong}\n"
    )


def factors(m: int, wrong: bool) -> str:
    """The slope of a product of m factors, by its logarithm."""
    names = "".join(f"a{p}: positive\n" for p in range(m))
    product = "*".join(f"(1 + exp(a{p}*x))" for p in range(m))
    slopes = " + ".join(f"a{p}*sigmoid(a{p}*x)" for p in range(m))
    return f"x: real\n{names}def claim():\n    assert diff(log({product}), x) == {slopes}{' + x' * wrong}\n"


def powers(m: int, wrong: bool) -> str:
    """The derivative of a product of m powers, by the product rule."""
    product = "*".join(f"a{p}**2" for p in range(m))
    names = "".join(f"a{p}: real\n" for p in range(m))
    slope = "*".join(["2*a0", *(f"a{p}**2" for p in range(1, m))])
    return f"{names}def claim():\n    assert diff({product}, a0) == {slope}{' + a0' * wrong}\n"


def chain(m: int, wrong: bool) -> str:
    """A softmax through a chain of m definitions."""
    lines = ["n: axis", "z: real[n]", "d0[i] = z[i]", *(f"d{p + 1}[i] = d{p}[i] + {p}" for p in range(m))]
    lines += [f"s[i] = exp(d{m}[i]) / sum(exp(d{m}[k]) for k in n)"]
    return (
        "\n".join(lines) + f"\ndef claim():\n    assert diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j]{' + 1' * wrong})\n"
    )


def layers(m: int, wrong: bool) -> str:
    """The derivative of m nested functions, as the product of their slopes."""
    lines = ["x: real", "d0 = x", *(f"d{p + 1} = tanh(d{p})" for p in range(m))]
    slope = "*".join(f"(1 - d{p}**2)" for p in range(1, m + 1))
    return "\n".join(lines) + f"\ndef claim():\n    assert diff(d{m}, x) == {slope}{' + x' * wrong}\n"


FAMILIES: dict[str, Callable[[int, bool], str]] = {f.__name__: f for f in (total, factors, powers, chain, layers)}


def measured(text: str) -> tuple[float, str]:
    """Seconds of CPU time, and the verdict."""
    theory = loads(text, "growth")
    theorem = theory["claim"]
    start = time.process_time()
    verdict = check_claim(theorem.claims[0], theory.context(theorem), 60.0).verdict
    return time.process_time() - start, verdict


def main(names: list[str]) -> None:
    for name in names or list(FAMILIES):
        family = FAMILIES[name]
        print(f"\n### {name}: {(family.__doc__ or '').strip()}\n")
        print("| size | true claim, ms | exponent | verdict | false claim, ms | verdict |")
        print("| --- | --- | --- | --- | --- | --- |")
        before: tuple[int, float] | None = None
        for m in SIZES:
            seconds, verdict = measured(family(m, False))
            slope = f"{log(seconds / before[1]) / log(m / before[0]):.1f}" if before else ""
            false, other = measured(family(m, True))
            print(f"| {m} | {1e3 * seconds:.0f} | {slope} | {verdict} | {1e3 * false:.0f} | {other} |", flush=True)
            before = m, seconds
            if max(seconds, false) > SECONDS:
                break
    print(f"\nMemory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])

"""How much of the kernel one proof runs through. `python -m tests.reach` counts it for the theorems of docs/kernel.md.

The kernel is as large as all rules together; who doubts one theorem has to read what its replay runs through only.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from derive.kernel.certificate import seal, verify

ROOT = Path(__file__).resolve().parent.parent
KERNEL = [ROOT / "derive" / "term.py", *sorted((ROOT / "derive" / "kernel").glob("*.py"))]
ROW = re.compile(r"^\| (?:all of )?`(\w+)(?:\.(\w+))?` \| ([\d,]+) \|$", re.M)


def documented() -> dict[tuple[str, str], int]:
    """The statements that docs/kernel.md says a theorem runs through, or a whole theory."""
    text = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
    return {(theory, name): int(count.replace(",", "")) for theory, name, count in ROW.findall(text)}


def statements(path: Path) -> set[int]:
    """The lines on which a statement begins, docstrings apart."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        n.body[0].lineno
        for n in ast.walk(tree)
        if isinstance(n, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(n) is not None
    }
    return {n.lineno for n in ast.walk(tree) if isinstance(n, ast.stmt)} - prose


def reached(certificate: dict[str, Any], begins: dict[str, set[int]]) -> int:
    """The number of statements of the kernel that run when the certificate is replayed, in a process that did nothing
    before."""
    seen: set[tuple[str, int]] = set()

    def line(frame: FrameType, event: str, _: object) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        return line if frame.f_code.co_filename in begins else None

    sys.settrace(call)
    try:
        replays = verify(certificate)
    finally:
        sys.settrace(None)
    assert replays and all(r.ok for r in replays), replays
    return sum(number in begins[name] for name, number in seen)


def measured() -> Iterator[tuple[tuple[str, str], int]]:
    """The documented theorems and theories, each with the statements that its own certificate runs through."""
    for theory, name in documented():
        whole = certificates(theory)
        part = {**whole, "theorems": [t for t in whole["theorems"] if name in ("", t["name"])]}
        text = json.dumps({**part, "digest": seal(part)})
        ran = subprocess.run(
            [sys.executable, "-m", "tests.reach", "-"], input=text, capture_output=True, text=True, cwd=ROOT, check=True
        )
        yield (theory, name), int(ran.stdout)


@cache
def certificates(theory: str) -> dict[str, Any]:
    from derive.engine.certify import certificate_of  # the process that replays loads the kernel alone
    from derive.engine.check import check_theory
    from derive.language.loader import load

    return certificate_of(check_theory(load(theory)))


def main() -> None:
    begins = {str(path): statements(path) for path in KERNEL}
    if sys.argv[1:]:
        print(reached(json.load(sys.stdin), begins))
        return
    print(f"of {sum(map(len, begins.values())):,} statements")
    for (theory, name), count in measured():
        print(f"| `{theory}.{name}` | {count:,} |" if name else f"| all of `{theory}` | {count:,} |")


if __name__ == "__main__":
    main()

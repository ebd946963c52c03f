"""LaTeX as PDF, by a program that may neither run others nor read or write elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

_PDF_SECONDS = 120


class MissingTool(Exception):
    """A format needs a program that is not on this machine."""


def pdf(tex: str, beside: Mapping[str, bytes] | None = None) -> bytes:
    """The LaTeX text typeset by pdflatex, which may neither run programs nor read or write elsewhere.

    `beside` are the files that the text includes, by their places.
    """
    program = shutil.which("pdflatex")
    if program is None:
        raise MissingTool("PDF needs pdflatex (Debian: texlive-latex-base and lmodern); the .tex file needs nothing")
    if "{CJKutf8}" in tex and not _found("CJKutf8.sty", "gbsnu4e.tfm"):
        raise MissingTool(
            "PDF in Chinese needs the LaTeX package CJKutf8 and its font gbsn (Debian: latex-cjk-chinese and "
            "latex-cjk-chinese-arphic-gbsn00lp); the .tex file needs nothing"
        )
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report.tex").write_text(tex, encoding="utf-8")
        for name, content in (beside or {}).items():
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_bytes(content)
        environment = os.environ | {
            "openin_any": "p",
            "openout_any": "p",
            "SOURCE_DATE_EPOCH": "0",
            "FORCE_SOURCE_DATE": "1",
        }
        command = [program, "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
        for _ in range(2):  # tables find their widths in the second run
            run = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PDF_SECONDS,
            )
            if run.returncode:
                raise RuntimeError("pdflatex: " + run.stdout.decode(errors="replace")[-2000:])
        return (Path(folder) / "report.pdf").read_bytes()


def _found(*names: str) -> bool:
    """Whether TeX finds all of these files."""
    program = shutil.which("kpsewhich")
    if program is None:
        return True  # then pdflatex says what it misses
    return not subprocess.run([program, *names], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode

"""Reports as files: each is written beside its place and moved there whole, so that none is ever half there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from derive.engine.verdict import TheoryResult
from derive.report.document import Document, document
from derive.report.numbers import gather
from derive.report.render import render, render_index

FORMATS = ("md", "tex", "html", "pdf")
_PDF_SECONDS = 120


class MissingTool(Exception):
    """A format needs a program that is not on this machine."""


def write_report(
    result: TheoryResult,
    formats: Sequence[str],
    folder: Path,
    tell: Callable[[str], None] = lambda _: None,
    index: bool = False,
) -> tuple[Document, list[Path]]:
    """Write a theory's report in these formats. Returns what was written: the document and its files.

    `index` says that a list of all reports will lie beside it.
    """
    made = document(result, gather(result, tell))
    tell(f"{result.theory.name}: writing")
    files: list[Path] = []
    for form in formats:
        path = folder / f"{made.name}.{form}"
        if form == "pdf":
            write_bytes(path, pdf(render(made, "tex")))
        else:
            write_text(path, render(made, form, index))
        files.append(path)
    return made, files


def write_index(documents: Sequence[Document], formats: Sequence[str], folder: Path) -> list[Path]:
    """Write the lists of all reports: Markdown, and HTML where the reports are HTML."""
    paths = [folder / f"index.{form}" for form in ("md", "html") if form == "md" or form in formats]
    for path in paths:
        write_text(path, render_index(tuple(documents), path.suffix[1:]))
    return paths


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Put the content where the path says, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def pdf(tex: str) -> bytes:
    """The LaTeX text typeset by pdflatex, which may neither run programs nor read or write elsewhere."""
    program = shutil.which("pdflatex")
    if program is None:
        raise MissingTool("PDF needs pdflatex (Debian: texlive-latex-base and lmodern); the .tex file needs nothing")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report.tex").write_text(tex, encoding="utf-8")
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

"""Reports as PDF: by pdflatex where it is, else by Typst; neither may run programs nor read or write elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from derive.report.escape import is_chinese

_PDF_SECONDS = 120
# Families of type with Chinese characters, the best first.
CHINESE_TYPE = (
    "Noto Serif CJK SC", "Source Han Serif SC", "Noto Sans CJK SC", "Source Han Sans SC", "Songti SC", "SimSun",
    "AR PL SungtiL GB", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
)  # fmt: skip
# Run in a process of its own, which can be stopped, in a folder with nothing else; it writes `report.pdf` there.
_TYPST = """
import json, sys, typst
families = json.loads(sys.argv[1])
found = [name for name in families if name in typst.Fonts().families()] if families else []
if families and not found:
    sys.exit(3)
try:
    typst.compile("report.typ", output="report.pdf", root=".", ignore_system_fonts=not families, timestamp=0,
                  package_path="packages", package_cache_path="packages", sys_inputs={"fonts": "|".join(found[:2])})
except typst.TypstError as problem:
    sys.exit(problem.diagnostic)
"""
_NO_TYPE = 3


class MissingTool(Exception):
    """A format needs a program that is not on this machine."""


def pdf(text: Callable[[str], str], beside: Mapping[str, bytes] | None = None) -> bytes:
    """The report typeset. `text` gives it as "tex" or "typ"; `beside` are the files that it includes, by their places.

    Raises MissingTool, which says what to install, where neither program can do it.
    """
    tex = text("tex")
    wanted = missing_latex(tex)
    if wanted is None:
        return by_pdflatex(tex, beside)
    if find_spec("typst") is None:
        raise MissingTool(
            f"PDF needs {wanted}, or the Python package typst (the extra `pdf`); the .tex file needs nothing"
        )
    return by_typst(text("typ"), beside)


def program() -> str:
    """What makes a PDF here, as far as it is known without making one."""
    return shutil.which("pdflatex") or "typst"


def missing_latex(tex: str) -> str | None:
    """What has to be installed before this text can be typeset by pdflatex."""
    if shutil.which("pdflatex") is None:
        return "pdflatex (Debian: texlive-latex-base and lmodern)"
    if "{CJKutf8}" in tex and not _found("CJKutf8.sty", "gbsnu4e.tfm"):
        return (
            "in Chinese the LaTeX package CJKutf8 and its font gbsn (Debian: latex-cjk-chinese and "
            "latex-cjk-chinese-arphic-gbsn00lp)"
        )
    return None


def by_pdflatex(tex: str, beside: Mapping[str, bytes] | None = None) -> bytes:
    """The LaTeX text typeset."""
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "report.tex"]
    # Tables find their widths in the second run.
    return _made(tex, "report.tex", beside, [command, command])


def by_typst(typ: str, beside: Mapping[str, bytes] | None = None) -> bytes:
    """The Typst text typeset, with the type that comes with Typst but where it is Chinese."""
    families = CHINESE_TYPE if any(map(is_chinese, typ)) else ()
    try:
        return _made(typ, "report.typ", beside, [[sys.executable, "-I", "-c", _TYPST, json.dumps(families)]])
    except subprocess.CalledProcessError as problem:
        if problem.returncode != _NO_TYPE:
            raise
        raise MissingTool(
            "PDF in Chinese by typst needs type with Chinese characters, such as Noto Serif CJK SC (Debian: "
            "fonts-noto-cjk); the .tex file needs nothing"
        ) from problem


def _made(text: str, name: str, beside: Mapping[str, bytes] | None, commands: Sequence[Sequence[str]]) -> bytes:
    """The PDF that the commands make of the text, in a folder that holds nothing else but the files beside it."""
    environment = os.environ | {
        "openin_any": "p",
        "openout_any": "p",
        "SOURCE_DATE_EPOCH": "0",
        "FORCE_SOURCE_DATE": "1",
    }
    with tempfile.TemporaryDirectory() as folder:
        for place, content in {**(beside or {}), name: text.encode()}.items():
            (Path(folder) / place).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / place).write_bytes(content)
        for command in commands:
            try:
                subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=_PDF_SECONDS,
                    check=True,
                )
            except subprocess.CalledProcessError as problem:
                problem.add_note(problem.output.decode(errors="replace")[-2000:])
                raise
        return (Path(folder) / "report.pdf").read_bytes()


def _found(*names: str) -> bool:
    """Whether TeX finds all of these files."""
    finder = shutil.which("kpsewhich")
    if finder is None:
        return True  # then pdflatex says what it misses
    return not subprocess.run([finder, *names], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode

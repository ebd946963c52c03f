"""Where the files that are not code lie: templates, and the library for Coq."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def template_dir() -> Path:
    """The folder of the report templates: inside the package when installed, at the top of a checkout otherwise."""
    inside = Path(str(files("derive"))) / "_templates"
    if inside.is_dir():
        return inside
    beside = Path(__file__).resolve().parent.parent / "templates"
    if beside.is_dir():
        return beside
    raise FileNotFoundError("derive: no report templates found; reinstall the package")


def coq_dir() -> Path:
    """The folder of coq/Derive.v and of the record of what Coq has re-checked."""
    inside = Path(str(files("derive"))) / "_coq"
    if inside.is_dir():
        return inside
    beside = Path(__file__).resolve().parent.parent / "coq"
    if beside.is_dir():
        return beside
    raise FileNotFoundError("derive: coq/Derive.v is not there; reinstall the package")

"""Where the files that are not code lie: templates and, for reports, the folder to write to."""

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

"""What is shipped: the right files and no others, and a command that works wherever it was installed from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT
from test_layers import imports

import derive
from derive.paths import template_dir

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# Packages that whoever uses a module brings: the runner of the plugin, the libraries of the functions that are called.
BROUGHT = {"pytest_plugin.py": ("pytest",), "plots.py": ("matplotlib",), "calling.py": ("torch", "jax", "jaxlib")}
TEMPLATES = {str(p.relative_to(ROOT / "templates")) for p in (ROOT / "templates").rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist, and the wheel made from it."""
    folder = tmp_path_factory.mktemp("dist")
    stray = ROOT / "templates" / ".env"
    stray.write_text("SECRET=1\n")
    try:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    finally:
        stray.unlink()
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


def run(*command: object, cwd: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
def test_wheel_holds_package_catalogue_and_templates_alone(built: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(built["wheel"]).namelist())
    assert {n.removeprefix("derive/_templates/") for n in names if "/_templates/" in n} == TEMPLATES
    theories = {n for n in names if n.startswith("derive/theories/")}
    assert theories == {f"derive/theories/{p.name}" for p in (ROOT / "derive" / "theories").iterdir()}
    vendored = r"README\.md|katex/(LICENSE|katex\.min\.(js|css)|fonts/KaTeX_[\w-]+\.woff2)|letters/KaTeX_[\w-]+\.woff2"
    templates = rf"derive/_templates/([\w.]+\.(j2|css|js)|vendor/({vendored}))"
    own = r"derive/[\w/]+\.(py|derive|((figures|zh)\.)?toml)|derive/_coq/(\w+\.v|record\.json)"
    allowed = re.compile(rf"{own}|{templates}|derive_engine-[\d.]+\.dist-info/.*")
    assert [n for n in names if not allowed.fullmatch(n)] == []


@pytest.mark.slow
def test_sdist_holds_tests_and_reports_and_nothing_ignored(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as archive:
        names = {"/".join(n.split("/")[1:]) for n in archive.getnames()}
    for wanted in ("pyproject.toml", "LICENSE", "README.md", "Makefile", "reports/index.md", "docs/extending.md",
                   "tests/test_packaging.py", "templates/vendor/katex/LICENSE"):  # fmt: skip
        assert wanted in names
    assert not [n for n in names if re.search(r"(^|/)(\.env|\.venv|__pycache__|\.git)(/|$)|\.pyc$", n)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_command_writes_a_report_from_another_folder(
    kind: str, built: dict[str, Path], tmp_path: Path
) -> None:
    home, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home, with_pip=True)
    run(home / "bin" / "python", "-m", "pip", "install", "--quiet", built[kind], cwd=elsewhere)
    out = run(home / "bin" / "derive", "report", "softmax", cwd=elsewhere)
    assert "softmax" in out
    assert sorted(p.name for p in (elsewhere / "reports").iterdir()) == ["softmax.html", "softmax.md", "softmax.tex"]
    where = run(home / "bin" / "python", "-c", "import derive; print(derive.__file__)", cwd=elsewhere)
    assert Path(where.strip()).is_relative_to(home)
    assert run(home / "bin" / "python", "-m", "derive", "--version", cwd=elsewhere).strip().endswith(derive.__version__)


def test_templates_are_found_in_a_checkout() -> None:
    assert template_dir() == ROOT / "templates"
    assert "report.md.j2" in TEMPLATES


def test_every_imported_package_is_a_declared_dependency() -> None:
    declared = {re.split(r"[<>=!~]", d)[0].lower().replace("_", "-") for d in PROJECT["project"]["dependencies"]}
    names = {"flint": "python-flint", "markupsafe": "jinja2"}  # MarkupSafe comes with Jinja
    for path in (ROOT / "derive").rglob("*.py"):
        for name, _ in imports(path):
            name = name.split(".")[0]
            if name not in sys.stdlib_module_names and name not in ("derive", *BROUGHT.get(path.name, ())):
                assert names.get(name, name).lower().replace("_", "-") in declared, f"{path.name} imports {name}"


def test_every_declared_dependency_is_imported() -> None:
    names = {"python-flint": "flint"}
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "derive").rglob("*.py"))
    for dependency in PROJECT["project"]["dependencies"]:
        name = re.split(r"[<>=!~]", dependency)[0]
        assert re.search(rf"^\s*(from|import) {names.get(name, name)}\b", source, re.MULTILINE), name


def test_version_is_said_once() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert "version" not in PROJECT["project"]
    assert f"## {derive.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_make_targets_are_those_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for target in ("report", "test", "quick", "mutants", "fuzz", "lint", "clean"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
        assert f"make {target}" in readme


def test_ci_runs_the_tests_last() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").rstrip().endswith("make test")

"""Each layer imports only those before it, and the trusted base nothing but the standard library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "derive"
LAYERS = (
    "term",
    "kernel",
    "language",
    "coq",
    "sympy_bridge",
    "codegen",
    "evidence",
    "engine",
    "guard",
    "report",
    "cli",
)
# The ends of the house: what stands beside the command line, and what everybody may use.
BESIDE_CLI = {"__init__", "__main__", "api", "pytest_plugin", "testing"} | {p.stem for p in PACKAGE.glob("cli_*.py")}
ANYWHERE = {"paths", ""}
HEAVY = ("sympy", "numpy", "flint", "mpmath", "ml_dtypes", "jinja2")


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """The modules that a file imports, and whether it does so when it is itself imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    lazy = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _for_types(node)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module or ""]
        for name in names:
            yield name, id(node) not in lazy


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def layer(module: str) -> str:
    """The layer of a module `derive.layer...`."""
    name = module.split(".")[1] if "." in module else ""
    return "cli" if name in BESIDE_CLI or name.startswith("cli") else name


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(path: Path) -> str:
    return ".".join(("derive", *path.relative_to(PACKAGE).with_suffix("").parts))


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_layer_imports_only_layers_before_it(path: Path) -> None:
    own = layer(module_name(path))
    assert own in LAYERS or own in ANYWHERE, f"{path} belongs to no layer"
    for name, _ in imports(path):
        other = layer(name)
        if name.split(".")[0] != "derive" or other in ANYWHERE or own in ANYWHERE:
            continue
        assert LAYERS.index(other) <= LAYERS.index(own), f"{module_name(path)} imports {name}"


@pytest.mark.parametrize("path", [PACKAGE / "term.py", *sorted((PACKAGE / "kernel").rglob("*.py"))], ids=module_name)
def test_trusted_base_uses_the_standard_library_alone(path: Path) -> None:
    for name, _ in imports(path):
        top = name.split(".")[0]
        assert top == "derive" or top in sys.stdlib_module_names, name


@pytest.mark.parametrize("path", modules(), ids=module_name)
def test_nothing_heavy_is_imported_below_its_layer(path: Path) -> None:
    """SymPy, NumPy and the like are loaded where needed, not by importing derive, its language or its command."""
    if layer(module_name(path)) in ("term", "kernel", "language", "cli", *ANYWHERE):
        assert not [name for name, at_once in imports(path) if at_once and name.split(".")[0] in HEAVY]


def test_layer_law_notices_a_wrong_import(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("def f():\n    from derive.engine import check\nimport numpy\n")
    assert sorted(imports(wrong)) == [("derive.engine", False), ("numpy", True)]
    assert LAYERS.index(layer("derive.engine")) > LAYERS.index(layer("derive.kernel.check"))


def test_importing_derive_loads_nothing_heavy() -> None:
    code = f"import derive, sys; print([m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

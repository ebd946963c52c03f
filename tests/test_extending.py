"""What docs/extending.md says works, from a folder outside of the package."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, Run

import derive as library
from derive.codegen.dialect import FUNCTIONS as WRITTEN
from derive.codegen.jax_dialect import JAX
from derive.codegen.js.rows import FUNCTIONS as SCRIPTED
from derive.codegen.torch_dialect import TORCH
from derive.evidence.functions import FUNCTIONS as ENCLOSED
from derive.kernel.derivative import SLOPES
from derive.kernel.rules import RULES
from derive.kernel.wellformed import FUNCTIONS as KNOWN
from derive.language.words import FUNCTIONS

Derive = Callable[..., Run]
TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SWISH, LAYER, SCRIPT = (text for language, text in BLOCKS if language == "python")


@pytest.fixture
def house(elsewhere: Path) -> Path:
    """A folder with the theories of the page, which is the current one."""
    (elsewhere / "swish.derive").write_text(SWISH)
    (elsewhere / "layer.derive").write_text(LAYER)
    return elsewhere


@pytest.mark.parametrize("block", [text for language, text in BLOCKS if language == "console"])
def test_console_shows_what_the_command_prints(block: str, derive: Derive, house: Path) -> None:
    first, _, shown = block.partition("\n")
    assert derive(*shlex.split(first.removeprefix("$ "))[1:]).out == shown


def test_commands_within_lines_run(derive: Derive, house: Path) -> None:
    commands = re.findall(r"`derive (diff .*?)`", TEXT)
    assert commands
    assert all(derive(*shlex.split(command)).status == 0 for command in commands)


def test_both_theories_are_proved_from_outside(derive: Derive, house: Path) -> None:
    run = derive("check", "swish.derive", "layer.derive")
    assert run.status == 0
    assert run.out.count("proved") >= 3


def test_a_wrong_slope_is_refuted(derive: Derive, house: Path) -> None:
    (house / "swish.derive").write_text(SWISH.replace("(1 - swish)", "(1 + swish)"))
    assert derive("check", "swish.derive").status == 1


def test_a_theory_from_outside_has_reports_and_code(derive: Derive, house: Path) -> None:
    assert derive("report", "layer.derive", "--format", "md").status == 0
    assert "A layer of swish units" in (house / "reports" / "layer.md").read_text()
    assert derive("code", "layer.derive.out", "--vjp", "z").status == 0


def test_script_runs_and_its_backward_pass_agrees_with_differences(house: Path) -> None:
    names: dict[str, object] = {}
    exec(compile(ast.parse(SCRIPT), "extending.md", "exec"), names)
    layer, backward = library.load("layer.derive"), names["backward"]
    draw = np.random.default_rng(0)
    given = {"z": draw.normal(size=3), "W": draw.normal(size=(2, 3)), "x": 0.0}
    cotangent = draw.normal(size=2)
    forward = layer.function("out")
    needed = {a.name for a in forward.arguments}

    def out(z: np.ndarray) -> np.ndarray:
        return np.asarray(forward(**{k: v for k, v in (given | {"z": z}).items() if k in needed}))

    wanted = {a.name for a in backward.arguments}  # type: ignore[attr-defined]
    found = backward(**{k: v for k, v in (given | {"g": cotangent}).items() if k in wanted})  # type: ignore[operator]
    step = 1e-6
    for j, direction in enumerate(np.eye(3) * step):
        slope = (out(given["z"] + direction) - out(given["z"] - direction)) / (2 * step)
        assert abs(slope @ cotangent - found[j]) < 1e-8


def test_every_function_of_the_language_has_the_rows_that_the_page_names() -> None:
    assert set(FUNCTIONS) <= KNOWN
    assert set(FUNCTIONS) - set(SLOPES) <= {"trigamma"}  # which has no slope in the language
    assert {f"chain_rule_{name}" for name in SLOPES} <= set(RULES)
    assert set(SCRIPTED) == set(WRITTEN) == set(TORCH.functions) == set(JAX.functions)
    assert set(FUNCTIONS) - set(ENCLOSED) <= {"abs", "sign", "sqrt", "relu"}  # which are enclosed by cases


def test_tables_that_the_page_names_are_there() -> None:
    for cell in re.findall(r"^\| (`derive/.*?) \|", TEXT, re.MULTILINE):
        for path in re.findall(r"`(derive/[\w/]+\.py)`", cell):
            assert (ROOT / path).exists(), path
        for path, table in re.findall(r"`(derive/[\w/]+\.py)`, `(\w+)`", cell):
            assert re.search(rf"^{table}\b", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), table

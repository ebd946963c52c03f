"""What the README shows is what happens."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run

from derive import cli
from derive.engine.check import check_theory
from derive.language import loads

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CONSOLE = [text for language, text in BLOCKS if language == "console"]
PYTHON = [text for language, text in BLOCKS if language == "python"]
THEORY, GUARD, SCRIPT = PYTHON
KERNEL = ROOT / "examples" / "softmax_kernel" / "kernel.py"


def session(block: str) -> tuple[list[str], str]:
    """The command of a console block, and what it prints."""
    first, _, shown = block.partition("\n")
    return shlex.split(first.removeprefix("$ ")), shown


def like(shown: str) -> str:
    """A pattern for output of which `...` stands for anything, the largest error for that of another processor."""
    pattern = ".*".join(re.escape(part) for part in shown.split("..."))
    return re.sub(r"is\\ 0\\.\d+\\ of\\ what", r"is 0\\.\\d+ of what", pattern)


@pytest.fixture
def kernel(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel of the example in the current folder."""
    shutil.copy(KERNEL, elsewhere)
    monkeypatch.setattr(sys, "path", [str(elsewhere), *sys.path])
    monkeypatch.delitem(sys.modules, "kernel", raising=False)


@pytest.mark.parametrize("block", [b for b in CONSOLE if b.startswith("$ derive")], ids=lambda b: b.split("\n")[0])
def test_console_shows_what_the_command_prints(
    block: str, derive: Callable[..., Run], elsewhere: Path, kernel: None
) -> None:
    (elsewhere / "mine.derive").write_text(THEORY)
    command, shown = session(block)
    assert re.fullmatch(like(shown), derive(*command[1:]).out, re.DOTALL)


@pytest.mark.slow
def test_first_command_shows_what_the_report_prints(derive: Callable[..., Run], elsewhere: Path) -> None:
    command, shown = session(CONSOLE[0])
    assert command == ["make", "report"]
    run = derive("report")
    assert run.status == 0
    assert re.fullmatch(like(shown), run.out, re.DOTALL)


def test_readme_begins_with_the_two_commands() -> None:
    assert [session(block)[0] for block in CONSOLE[:2]] == [["make", "report"], ["make", "test"]]
    assert README.index("make test") < README.index("## ")


def test_make_runs_the_plain_lines_of_the_readme() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (plain,) = [text for language, text in BLOCKS if language == "sh"]
    for line in plain.splitlines():
        tail = line.split(" ", 1)[1].split("install ")[-1].removeprefix("-e ")
        assert tail.replace(".venv", "$(VENV)") in makefile or tail in makefile, line


def test_theory_of_the_readme_has_the_verdicts_it_says() -> None:
    result = check_theory(loads(THEORY))
    assert [(t.theorem.name, t.verdict) for t in result.theorems] == [("gradient", "proved"), ("slip", "refuted")]


def test_guard_of_the_readme_passes_and_is_in_the_example(kernel: None) -> None:
    names: dict[str, Any] = {}
    exec(compile(ast.parse(GUARD), "README.md", "exec"), names)
    names["test_backward"]()
    lines = (KERNEL.parent / "test_kernel.py").read_text(encoding="utf-8")
    assert "def test_backward(" in lines and 'assert_implements(softmax_backward, "softmax.vjp", dtype=' in lines


def test_lines_of_the_readme_are_not_too_long() -> None:
    assert [line for line in README.splitlines() if len(line) > 128] == []


def test_script_of_the_readme_runs_as_commented(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(ast.parse(SCRIPT), "README.md", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "quotient_rule"
    assert "KroneckerDelta" in out[1]
    assert out[2] == "[1. 0. 0.]"


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/extending.md", "docs/testing.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (ROOT / page).parent.joinpath(target).exists(), target


@pytest.mark.parametrize("layer", ["kernel", "engine"])
def test_architecture_names_every_module(layer: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", text))
    modules = {p.stem for p in (ROOT / "derive" / layer).glob("*.py")} - {"__init__"}
    assert modules <= named, f"not told of: {sorted(modules - named)}"


def test_architecture_names_the_dependencies_there_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {re.split(r"[<>=!~]", d)[0].lower() for d in project["dependencies"]}
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| package .*?\n\n", text, re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"[\w-]+", " ".join(line.split("|")[1] for line in table.splitlines()[2:] if line)))
    extras = {
        extra: {re.split(r"[<>=!~]", d)[0].lower() for d in listed}
        for extra, listed in project["optional-dependencies"].items()
    }
    development = extras.pop("dev")
    optional = {name for names in extras.values() for name in names}
    assert wanted | optional <= named
    assert named <= wanted | optional | development | {"optional", "development", *extras}


def test_commands_of_the_readme_are_those_there_are() -> None:
    told = set(re.findall(r"^\| `derive (\w+)", README, re.MULTILINE))
    assert told == set(cli.derive.commands)

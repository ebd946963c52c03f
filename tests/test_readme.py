"""What the README shows is what happens."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, Run

from derive.engine.check import check_theory
from derive.language import loads

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
CONSOLE = [text for language, text in BLOCKS if language == "console"]
PYTHON = [text for language, text in BLOCKS if language == "python"]
THEORY, SCRIPT = PYTHON


def session(block: str) -> tuple[list[str], str]:
    """The command of a console block, and what it prints."""
    first, _, shown = block.partition("\n")
    return shlex.split(first.removeprefix("$ ")), shown


def like(shown: str) -> str:
    """A pattern for output of which `...` stands for anything."""
    return ".*".join(re.escape(part) for part in shown.split("..."))


@pytest.mark.parametrize("block", [b for b in CONSOLE if b.startswith("$ derive")], ids=lambda b: b.split("\n")[0])
def test_console_shows_what_the_command_prints(block: str, derive: Callable[..., Run], elsewhere: Path) -> None:
    (elsewhere / "mine.derive").write_text(THEORY)
    command, shown = session(block)
    assert re.fullmatch(like(shown), derive(*command[1:]).out, re.DOTALL)


@pytest.mark.slow
def test_first_command_shows_what_the_report_prints(derive: Callable[..., Run], elsewhere: Path) -> None:
    command, shown = session(CONSOLE[0])
    assert command == ["make", "report"]
    run = derive("report")
    assert (run.out, run.status) == (shown, 0)


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


def test_script_of_the_readme_runs_as_commented(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(ast.parse(SCRIPT), "README.md", "exec"), {})
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "quotient_rule"
    assert "KroneckerDelta" in out[1]
    assert out[2] == "[1. 0. 0.]"


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).exists(), target

"""What several test files use: the command line, run in this process, and theories from text."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from derive import cli
from derive.engine.check import check_theory
from derive.engine.verdict import TheoryResult
from derive.language import load
from derive.report.store import FOLDER_VARIABLE

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))  # helpers of several test files


@pytest.fixture(autouse=True, scope="session")
def _own_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What reports keep between runs is kept apart from the user's, and not beyond this run of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER_VARIABLE, str(tmp_path_factory.mktemp("store")))
        yield


@dataclass(frozen=True)
class Run:
    """What a run of the command line came to."""

    status: int
    out: str
    err: str


@pytest.fixture
def derive(capsys: pytest.CaptureFixture[str]) -> Callable[..., Run]:
    """Run `derive` with these arguments."""

    def run(*arguments: object) -> Run:
        with pytest.raises(SystemExit) as left:
            cli.main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        code = left.value.code
        return Run(code if isinstance(code, int) else 1, out, err)

    return run


@pytest.fixture
def theory(tmp_path: Path) -> Callable[..., Path]:
    """Write a theory and give its path."""

    def write(text: str, name: str = "mine") -> Path:
        path = tmp_path / f"{name}.derive"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@cache
def _checked(name: str) -> TheoryResult:
    return check_theory(load(name))


@pytest.fixture
def checked() -> Callable[[str], TheoryResult]:
    """A catalogue theory, checked once for all tests."""
    return _checked


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, the current one during the test."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder

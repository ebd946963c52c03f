"""Theories outside the catalogue: what must be proved is, what is false is refuted, traps are not walked into.

`cases/proved` and `cases/refuted` say by their folder what must come out, `rejected` by the first line of each file
(see cases/README.md). What does not come out yet is listed with the reason; the list holds nothing that does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from derive.engine.check import check_theory
from derive.language import load
from derive.language.errors import LanguageError

HERE = Path(__file__).resolve().parent
SECONDS = 10.0  # for each claim

# What does not come out yet, and why. An entry that has come to pass fails as well, and is to be taken out.
SHORTFALLS: dict[str, str] = {}
SLOW: set[str] = set()


def expected(path: Path) -> str:
    """proved, refuted or not-proved."""
    if path.parent.name != "rejected":
        return path.parent.name
    found = re.match(r'r?"""EXPECT: (proved|refuted|not-proved) - \S', path.read_text(encoding="utf-8"))
    assert found is not None, f"{path.name} begins with what is expected of it, and why"
    return found[1]


def verdicts(path: Path) -> set[str]:
    """The verdicts of the theorems; a file that is refused as a whole has one of its own."""
    try:
        return {t.verdict for t in check_theory(load(path), timeout=SECONDS).theorems}
    except LanguageError:
        return {"refused"}


def files() -> list[object]:
    found = [*sorted(HERE.glob("cases/*/*.derive")), *sorted(HERE.glob("rejected/*.derive"))]
    return [pytest.param(path, id=f"{path.parent.name}/{path.stem}", marks=marks(path.stem)) for path in found]


def marks(name: str) -> list[pytest.MarkDecorator]:
    found = [pytest.mark.xfail(reason=SHORTFALLS[name], strict=True)] if name in SHORTFALLS else []
    return [*found, pytest.mark.slow] if name in SLOW else found


@pytest.mark.parametrize("path", files())
def test_theory_gets_its_verdict(path: Path) -> None:
    found = verdicts(path)

    if expected(path) == "not-proved":
        assert "proved" not in found
    else:
        assert found == {expected(path)}


def test_there_are_enough_traps() -> None:
    assert len(list(HERE.glob("rejected/*.derive"))) >= 60
    assert len(list(HERE.glob("cases/proved/*.derive"))) >= 150


def test_shortfalls_name_files_that_exist() -> None:
    names = {path.stem for path in HERE.glob("*/**/*.derive")}

    assert set(SHORTFALLS) | SLOW <= names
    assert all(reason.strip() for reason in SHORTFALLS.values())

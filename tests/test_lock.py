"""Lock files: what counts as the same theorem, and what is said of one that has changed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from derive.guard.lock import BadLock, changes, closed_form, lock_data, lock_text, project_files, read_lock
from derive.language import loads

BASE = '''"""Mine."""

n: axis
z: real[n]

Z = sum(exp(z[k]) for k in n)
s[i] = exp(z[i]) / Z


def jacobian():
    """A docstring."""
    assert diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])


def total():
    assert sum(s[i] for i in n) == 1
'''


def digests(text: str) -> dict[str, str]:
    from derive.guard.lock import theorem_entry

    theory = loads(text)
    return {t.name: theorem_entry(theory, t)["sha256"] for t in theory.theorems}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])", "diff(s[a], z[b]) == s[a] * (delta(a, b) - s[b])"),
        ("diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])", "diff(s[j], z[i]) == s[j] * (delta(j, i) - s[i])"),
        ("s[i] * (delta(i, j) - s[j])", "(delta(j, i) - s[j]) * s[i]"),
        ("diff(s[i], z[j]) == s[i] * (delta(i, j) - s[j])", "s[i] * (delta(i, j) - s[j]) == diff(s[i], z[j])"),
        ("sum(s[i] for i in n) == 1", "sum(s[q] for q in n) == 1"),
        ("A docstring", "Another docstring"),
        ("sum(exp(z[k]) for k in n)", "sum(exp(z[j]) for j in n)"),
    ],
)
def test_names_of_letters_order_and_prose_do_not_count(old: str, new: str) -> None:
    assert old in BASE
    assert digests(BASE.replace(old, new)) == digests(BASE)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("s[i] * (delta(i, j) - s[j])", "s[i] * (delta(i, j) - s[i])", {"jacobian"}),
        ("s[i] * (delta(i, j) - s[j])", "s[i] * (delta(i, j) + s[j])", {"jacobian"}),
        ("z: real[n]", "z: positive[n]", {"jacobian", "total"}),
        ("exp(z[k])", "exp(2 * z[k])", {"jacobian", "total"}),
        ("    assert sum", "    assume(n >= 2)\n    assert sum", {"total"}),
        ("== 1", ">= 1", {"total"}),
    ],
)
def test_whatever_changes_the_meaning_counts(old: str, new: str, changed: set[str]) -> None:
    assert old in BASE
    before, after = digests(BASE), digests(BASE.replace(old, new))
    assert {name for name in before if before[name] != after[name]} == changed


def test_relations_may_be_read_from_the_right() -> None:
    theory = loads(
        BASE
        + "\n\ndef a():\n    assert s[i] > 0\n\n\ndef b():\n    assert 0 < s[j]\n\n\ndef c():\n    assert 0 > s[j]\n"
    )
    a, b, c = (closed_form(theory[name].claims[0].condition, ()) for name in "abc")
    assert a == b != c


def test_form_tells_binders_apart() -> None:
    theory = loads(
        BASE + "\n\ndef a(W: real[n, n]):\n    assert sum(W[i, j] for i in n for j in n) == 0\n"
        "\n\ndef b(W: real[n, n]):\n    assert sum(W[j, i] for i in n for j in n) == 0\n"
    )
    a, b = (closed_form(theory[name].claims[0].condition, ()) for name in "ab")
    assert a != b


@pytest.fixture
def project(elsewhere: Path) -> Path:
    """A folder with a theory, and a second one in an installed package."""
    (elsewhere / "mine.derive").write_text(BASE)
    hidden = elsewhere / ".venv" / "lib"
    hidden.mkdir(parents=True)
    (hidden / "not_mine.derive").write_text(BASE)
    return elsewhere


def test_project_is_what_is_not_hidden(project: Path) -> None:
    assert [p.name for p in project_files(project)] == ["mine.derive"]


def test_lock_is_reproducible_json_and_nothing_has_changed_since(derive: Callable[..., Any], project: Path) -> None:
    run = derive("lock")
    assert run.status == 0 and run.out == "derive.lock: 2 theorems of 1 theory\n"
    first = (project / "derive.lock").read_bytes()
    assert json.loads(first)["schema"] == 1
    assert derive("lock").status == 0 and (project / "derive.lock").read_bytes() == first
    run = derive("lock", "--check")
    assert run.status == 0 and run.out == "nothing has changed since the lock was written\n"
    assert derive("check", "--locked", "./mine.derive").status == 0


def test_check_locked_alone_checks_all_that_is_locked(derive: Callable[..., Any], project: Path) -> None:
    derive("lock")
    (project / "new.derive").write_text("from mine import n, s\n\n\ndef t():\n    assert sum(s[i] for i in n) == 1\n")
    run = derive("check", "--locked")
    assert run.status == 0 and "mine:" in run.out and "new:" not in run.out
    (project / "mine.derive").write_text(BASE.replace("== 1\n", "<= 1\n"))
    assert derive("check", "--locked").status == 1
    run = derive("check")
    assert run.status == 2 and "Missing argument" in run.err


def test_check_locked_says_which_theorem_has_changed_and_how(derive: Callable[..., Any], project: Path) -> None:
    derive("lock")
    (project / "mine.derive").write_text(BASE.replace("exp(z[k])", "exp(1 * z[k])").replace("== 1\n", "<= 1\n"))
    run = derive("check", "--locked", "mine.derive")
    assert run.status == 1
    assert "changed mine.derive: jacobian" in run.err
    assert "definition was: Z = sum(exp(z[k]) for k in n)" in run.err
    assert "definition is:  Z = sum(exp(1*z[k]) for k in n)" in run.err
    assert "claim 1 was: sum(s[i] for i in n) == 1" in run.err
    assert "claim 1 is:  sum(s[i] for i in n) <= 1" in run.err
    assert derive("check", "mine.derive").status == 0


def test_change_of_an_imported_definition_is_noticed(derive: Callable[..., Any], project: Path) -> None:
    (project / "user.derive").write_text(
        "from mine import n, z, s\n\n\ndef t():\n    assert sum(s[i] for i in n) == 1\n"
    )
    derive("lock")
    (project / "mine.derive").write_text(BASE.replace("exp(z[k])", "exp(0 + z[k])"))
    run = derive("lock", "--check", "user.derive")
    assert run.status == 1 and "changed user.derive: t" in run.out


def test_new_missing_and_renamed_theorems_are_told(derive: Callable[..., Any], project: Path) -> None:
    derive("lock")
    (project / "mine.derive").write_text(BASE.replace("def total", "def all_of_them"))
    found = json.loads(derive("lock", "--check", "--json").out)["changes"]
    assert [(c["kind"], c["theorem"]) for c in found] == [("missing", "total"), ("new", "all_of_them")]
    (project / "mine.derive").unlink()
    run = derive("lock", "--check")
    assert run.status == 1 and run.out.startswith("missing mine.derive")


def test_theory_that_was_not_locked_fails(derive: Callable[..., Any], project: Path) -> None:
    derive("lock", "softmax")
    assert derive("lock", "--check").status == 0
    run = derive("check", "--locked", "mine.derive")
    assert run.status == 1 and "not in the lock file" in run.err


def test_edited_lock_is_noticed(project: Path) -> None:
    data = lock_data(["mine.derive"])
    data["theories"]["mine.derive"]["total"]["canonical"]["claims"] = []
    found = changes(data)
    assert [c.theorem for c in found] == ["total"] and "edited" in found[0].lines[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"schema": 2, "theories": {}}', '{"schema": 1, "theories": {"a": {"b": 1}}}']
)
def test_damaged_lock_is_refused(derive: Callable[..., Any], project: Path, text: str) -> None:
    (project / "derive.lock").write_text(text)
    with pytest.raises(BadLock):
        read_lock(project / "derive.lock")
    run = derive("check", "--locked", "mine.derive")
    assert run.status == 3 and "derive.lock" in run.err


def test_a_pipe_is_no_lock(project: Path) -> None:
    os.mkfifo(project / "derive.lock")
    with pytest.raises(BadLock, match="not a regular file"):
        read_lock(project / "derive.lock")


def test_missing_lock_says_how_to_get_one(derive: Callable[..., Any], project: Path) -> None:
    run = derive("lock", "--check")
    assert run.status == 3 and "`derive lock` writes it" in run.err


def test_empty_folder_has_nothing_to_lock(derive: Callable[..., Any], elsewhere: Path) -> None:
    assert derive("lock").status == 2
    assert not (elsewhere / "derive.lock").exists()


def test_bad_theory_is_not_locked(derive: Callable[..., Any], project: Path) -> None:
    (project / "mine.derive").write_text("n = axis\n")
    assert derive("lock").status == 3
    assert not (project / "derive.lock").exists()


def test_text_of_a_lock_is_read_back_as_it_was(project: Path) -> None:
    data = lock_data(["mine.derive", "softmax", "cross_entropy"])
    assert json.loads(lock_text(data)) == data

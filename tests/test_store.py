"""What is kept between runs: the same answer in less time, and never an answer to another question."""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

from derive.language import load
from derive.report import store as stores
from derive.report import write
from derive.report.data import plain, restored
from derive.report.entry import Entry, TheoremEntry
from derive.report.numbers import Again, Evidence, Measured, Worst
from derive.report.page import BadTemplate
from derive.report.several import report_all
from derive.report.store import Store, key_of
from derive.report.write import Options, report_theory

Derive = Callable[..., Run]
Write = Callable[..., Path]
BASE = '"""Base."""\nx: real\ny = x**2\n\n\ndef slope():\n    assert diff(y, x) == 2 * x\n'
USER = '"""User."""\nfrom base import x, y\n\n\ndef again():\n    assert diff(y, x) == 2*x\n'


def test_what_is_put_is_got_and_nothing_else(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.get("a" * 64) is None
    store.put("a" * 64, {"text": "∂ \ud800".encode("utf-8", "replace").decode(), "n": [1, None, True]})
    assert store.get("a" * 64) == {"text": "∂ ?", "n": [1, None, True]}
    assert store.get("b" * 64) is None


@pytest.mark.parametrize(
    "damage", [lambda t: t[:-5], lambda t: "", lambda t: t.replace("value", "other"), lambda t: "{}"]
)
def test_damaged_files_are_not_read(damage: Callable[[str], str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.put("key", ["value"])
    (path,) = tmp_path.glob("*.json")
    path.write_text(damage(path.read_text()))
    assert store.get("key") is None


def test_where_nothing_can_be_kept_nothing_is(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = Store(blocked / "below")
    with store.alone("key"):
        store.put("key", 1)
    assert store.get("key") is None
    Store().put("key", 1)
    assert Store().get("key") is None


def test_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MOST", 2)
    store = Store(tmp_path)
    for number, name in enumerate("abc"):
        store.put(name, name)
        if (tmp_path / f"{name}.json").exists():
            os.utime(tmp_path / f"{name}.json", (number, number))
    assert [store.get(name) for name in "abc"] == [None, "b", "c"]


def _inside(folder: Path, number: int) -> None:
    store = Store(folder)
    with store.alone("key"):
        with (folder / "log").open("a") as log:
            log.write(f"in {number}\n")
        time.sleep(0.1)
        with (folder / "log").open("a") as log:
            log.write(f"out {number}\n")


def test_two_processes_do_not_compute_the_same_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_inside, args=(tmp_path, n)) for n in (1, 2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    lines = (tmp_path / "log").read_text().split("\n")[:4]
    assert lines in (["in 1", "out 1", "in 2", "out 2"], ["in 2", "out 2", "in 1", "out 1"])


# -- reports ----------------------------------------------------------------------------------------------------------


def _computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The theories that are checked from now on."""
    seen: list[str] = []
    check = write.check_theory

    def counted(theory, *args, **more):  # type: ignore[no-untyped-def]
        seen.append(theory.name)
        return check(theory, *args, **more)

    monkeypatch.setattr(write, "check_theory", counted)
    return seen


def test_second_report_is_the_first_without_computing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base.derive").write_text(BASE)
    (tmp_path / "user.derive").write_text(USER)
    store, seen = Store(tmp_path / "store"), _computed(monkeypatch)

    def build(
        folder: str, formats: tuple[str, ...] = ("md", "html"), options: Options | None = None
    ) -> tuple[Entry, dict[str, bytes]]:
        theory = load(tmp_path / "user.derive")
        entry, files = report_theory(theory, formats, tmp_path / folder, options or Options(), store)
        return entry, {f.name: f.read_bytes() for f in files}

    first = build("one")
    assert seen == ["user"]
    assert build("two") == first
    assert seen == ["user"]
    build("three", ("md", "tex"))  # a format that is new
    build("four", options=Options(timeout=29.0))
    assert len(seen) == 3
    (tmp_path / "base.derive").write_text(BASE.replace("x**2", "x*x"))  # what it imports is another
    assert build("five")[1] != first[1]
    assert len(seen) == 4


def test_command_keeps_nothing_where_it_is_told_so(
    derive: Derive, theory: Write, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(stores.FOLDER_VARIABLE, str(elsewhere / "kept"))
    path, seen = theory(BASE), _computed(monkeypatch)
    for _ in range(2):
        assert derive("report", path, "--format", "md", "--no-cache").status == 0
    assert len(seen) == 2
    assert not (elsewhere / "kept").exists()
    for _ in range(2):
        assert derive("report", path, "--format", "md").status == 0
    assert len(seen) == 3
    assert (elsewhere / "kept").is_dir()


def test_status_is_kept_with_the_report(derive: Derive, theory: Write, elsewhere: Path) -> None:
    path = theory(BASE.replace("2 * x", "3 * x"))
    first = derive("report", path, "--format", "md")
    assert (first.status, derive("report", path, "--format", "md")) == (1, first)


def test_result_of_a_time_limit_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base.derive").write_text(BASE)
    store, seen = Store(tmp_path / "store"), _computed(monkeypatch)
    for _ in range(2):
        report_theory(load(tmp_path / "base.derive"), ("md",), tmp_path, Options(timeout=1e-9), store)
    assert len(seen) == 2


def test_change_of_the_program_or_its_surroundings_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "base.derive").write_text(BASE)
    theory = load(tmp_path / "base.derive")
    first = write._keys(theory, ("md",), Options())
    assert write._keys(theory, ("md",), Options()) == first
    for name, value in (("digest_of_files", lambda *_, **__: "other"), ("surroundings", lambda: {"numpy": "0"})):
        with monkeypatch.context() as patch:
            patch.setattr(write, name, value)
            assert not set(write._keys(theory, ("md",), Options()).values()) & set(first.values())


def test_digest_of_a_folder_tells_names_and_contents(tmp_path: Path) -> None:
    def digest(files: dict[str, str]) -> str:
        folder = tmp_path / key_of(files=files)
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
        return stores.digest_of_files(folder)

    found = [digest(f) for f in ({"a": "1"}, {"a": "2"}, {"b": "1"}, {"a": "1", "b": ""}, {"a": "", "b": "1"})]
    assert len(set(found)) == 5


# -- records as data --------------------------------------------------------------------------------------------------

EVIDENCE = Evidence(
    {("t", 0): Again(None, "n = 1", "why"), ("t", 1): Again(True, "", "")},
    (Measured("s", "s", ("naive",), ("float64",), (("s", "as written", "1"),), (), ("c",),
              (Worst("as written", "float64", "1", (("z", "[1]"),), "0", "1", "1"),)),),
    (("q", "because"),),
    3,
    "code",
)  # fmt: skip
ENTRY = Entry("n", "t", "proved", (("proved", 1),), (TheoremEntry("a", "proved", ("x == x",), ()),), (("b", ("c",)),))


@pytest.mark.parametrize("record", [EVIDENCE, ENTRY])
def test_record_comes_back_from_json(record: object) -> None:
    assert restored(type(record), json.loads(json.dumps(plain(record)))) == record


@pytest.mark.parametrize("data", [None, [], {}, {**plain(ENTRY), "more": 1}, {**plain(ENTRY), "name": 1},
                                  {**plain(ENTRY), "counts": [["proved", 1, 2]]}])  # fmt: skip
def test_what_is_no_record_is_refused(data: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        restored(Entry, data)


# -- several at once --------------------------------------------------------------------------------------------------


def test_several_processes_make_the_same_reports_in_the_same_order(tmp_path: Path) -> None:
    sources = []
    for name in "cab":
        (tmp_path / f"{name}.derive").write_text(BASE.replace("x", name))
        sources.append(str(tmp_path / f"{name}.derive"))
    made = report_all(sources, ("md",), tmp_path / "many", store=Store(tmp_path / "store"), workers=2)
    one = report_all(sources, ("md",), tmp_path / "one", workers=1)
    assert [entry for entry, _ in made] == [entry for entry, _ in one]
    assert [e.name for e, _ in made] == ["c", "a", "b"]
    for (_, (many,)), (_, (alone,)) in zip(made, one, strict=True):
        assert many.read_bytes() == alone.read_bytes()
    assert all(write.is_kept(load(s), ("md",), Options(), Store(tmp_path / "store")) for s in sources)
    assert not write.is_kept(load(sources[0]), ("md", "tex"), Options(), Store(tmp_path / "store"))


def test_what_goes_wrong_in_a_process_is_said(tmp_path: Path) -> None:
    house = tmp_path / "house"
    house.mkdir()
    (house / "report.md.j2").write_text("{{ nothing }}")
    sources = []
    for name in "abc":
        (tmp_path / f"{name}.derive").write_text(BASE)
        sources.append(str(tmp_path / f"{name}.derive"))
    with pytest.raises(BadTemplate, match="'nothing' is undefined"):
        report_all(sources, ("md",), tmp_path / "out", Options(house=house), workers=2)

"""The pytest plugin: theorems as tests, functions against formulas. It loads nothing of derive before that is used."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from derive.engine.verdict import TheoremResult
    from derive.guard.check import Outcome
    from derive.language.theory import Theory

RAN, CHECKED = "derive_theorem", "derive_implements"  # what the reports of tests carry to where they are gathered
MARKER = "implements(formula, **options): what the fixture `implements` holds a function against"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("derive")
    group.addoption("--derive-report", metavar="DIR", default=None, help="write the reports of the theorems that ran")
    group.addoption("--derive-timeout", metavar="SECONDS", type=_seconds, default=30.0, help="time for each claim")


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    folder = config.getoption("--derive-report")
    if folder is not None or config.getoption("xmlpath", None):
        config.pluginmanager.register(Recording(), "derive-recording")
    if folder is not None and not hasattr(config, "workerinput"):
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise pytest.UsageError(f"--derive-report: cannot write to {folder}: {problem.strerror}") from None
        config.pluginmanager.register(Gathering(Path(folder), config.getoption("--derive-timeout")), "derive-report")


# -- theorems ----------------------------------------------------------------------------------------------------------


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix != ".derive":
        return None
    if file_path.name.startswith("test_") or parent.session.isinitpath(file_path):
        return TheoryFile.from_parent(parent, path=file_path)
    return None


class TheoryFile(pytest.File):
    """A theory: one test for each of its theorems."""

    def collect(self) -> Iterable[pytest.Item]:
        from derive.language import LanguageError, load

        try:
            theory = load(str(self.path))
        except LanguageError as problem:
            raise self.CollectError(problem.render()) from None
        for theorem in theory.theorems:
            yield TheoremItem.from_parent(self, name=theorem.name, theory=theory, line=theorem.line)


class NotProved(Exception):
    """A theorem that was refuted, or for which no proof was found."""

    def __init__(self, result: TheoremResult):
        super().__init__(result.verdict)
        self.result = result


class TheoremItem(pytest.Item):
    """A theorem: it passes if it is proved."""

    def __init__(self, *, theory: Theory, line: int, **options: Any):
        super().__init__(**options)
        self.theory, self.line = theory, line

    def runtest(self) -> None:
        from derive.engine.check import check_theory

        self.user_properties.append((RAN, json.dumps([str(self.path), self.name])))
        result = check_theory(self.theory, self.config.getoption("--derive-timeout"), self.name)[self.name]
        if result.verdict != "proved":
            raise NotProved(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, NotProved):
            return super().repr_failure(excinfo, style)
        return theorem_text(self.theory, excinfo.value.result)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.line - 1, f"{self.path.name}: {self.name}"


def theorem_text(theory: Theory, result: TheoremResult) -> str:
    """Claim, verdict and counterexample, without colours; the verdict first."""
    import click

    from derive.cli_text import check_text
    from derive.engine.verdict import TheoryResult

    first = next(c for c in result.claims if c.verdict == result.verdict)
    text = click.unstyle(check_text(TheoryResult(theory, (result,))))
    return f"{result.verdict}: {first.claim.statement}\n{text}"


# -- functions ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def assert_implements(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """`derive.testing.assert_implements`, with files of formulas beside the test's own file."""
    return lambda function, formula, **options: _asserted(request, function, formula, options)


@pytest.fixture
def implements(request: pytest.FixtureRequest) -> Callable[..., Outcome]:
    """Assert that a function implements the formula of the test's marker: `implements(function)`."""

    def held(function: Callable[..., Any], **options: Any) -> Outcome:
        __tracebackhide__ = True
        marker = request.node.get_closest_marker("implements")
        if marker is None or not marker.args:
            raise pytest.UsageError('mark the test: @pytest.mark.implements("softmax.vjp", dtype="float32")')
        return _asserted(request, function, marker.args[0], {**marker.kwargs, **options})

    return held


def _asserted(request: pytest.FixtureRequest, function: Any, formula: Any, options: dict[str, Any]) -> Outcome:
    __tracebackhide__ = True
    from derive.testing import assert_implements

    file, _, what = str(formula).rpartition(":")
    beside = request.node.path.parent / file
    if file.endswith(".derive") and beside.exists():
        formula = f"{beside}:{what}"
    return assert_implements(function, formula, **options)


# -- reports -----------------------------------------------------------------------------------------------------------


class Recording:
    """Writes down, with the test that runs, what `assert_implements` finds, in the process that runs the test."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        from derive.testing import LISTENERS

        def hear(outcome: Outcome) -> None:
            from derive.guard.message import data

            item.user_properties.append((CHECKED, json.dumps([item.nodeid, data(outcome)])))

        LISTENERS.append(hear)
        try:
            return (yield)
        finally:
            LISTENERS.remove(hear)


class Gathering:
    """Gathers what the tests report, in the process that gathers the tests, and writes it at the end."""

    def __init__(self, folder: Path, timeout: float):
        self.folder, self.timeout = folder, timeout
        self.found: dict[str, list[Any]] = {RAN: [], CHECKED: []}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for key, value in report.user_properties:
                if key in self.found:
                    self.found[key].append(json.loads(str(value)))

    def pytest_sessionfinish(self) -> None:
        by_name = sorted(self.found[CHECKED], key=lambda check: str(check[0]))  # not in the order of several processes
        write_reports(self.folder, self.found[RAN], by_name, self.timeout)


def write_reports(folder: Path, theorems: list[list[str]], checks: list[Any], timeout: float) -> None:
    """The theories' reports, of the theorems that ran, and the outcomes of the functions' checks."""
    from derive.report.files import write_text

    for path, names in _by_file(theorems):
        _write_theory(folder, path, names, timeout)
    if checks:
        write_text(folder / "implementations.json", json.dumps([{"test": t, **d} for t, d in checks], indent=1) + "\n")
        parts = [f"# Implementations\n\n{sum(d['ok'] for _, d in checks)} of {len(checks)} are within bounds.\n"]
        parts += [
            f"## `{test}`\n\n```text\n{found['message'].replace('```', '` ` `')}\n```\n" for test, found in checks
        ]
        write_text(folder / "implementations.md", "\n".join(parts))


def _by_file(theorems: list[list[str]]) -> Iterator[tuple[str, list[str]]]:
    files: dict[str, list[str]] = {}
    for path, name in theorems:
        files.setdefault(path, []).append(name)
    yield from files.items()


def _write_theory(folder: Path, path: str, names: list[str], timeout: float) -> None:
    from derive.engine.check import check_theory
    from derive.engine.verdict import TheoryResult
    from derive.language import load
    from derive.report.write import write_report

    theory = load(path)
    found = [check_theory(theory, timeout, t.name)[t.name] for t in theory.theorems if t.name in names]
    write_report(TheoryResult(theory, tuple(found)), ("md",), folder)

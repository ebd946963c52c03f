"""The command line: what it prints where, what it leaves with, and that nothing in a file can drive a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run

from derive import cli, cli_progress
from derive.cli_limit import LATE, limited
from derive.kernel.certificate import digest, seal
from derive.kernel.proof import Rejected
from derive.language import catalogue
from derive.report import files, pdf

Derive = Callable[..., Run]
Write = Callable[..., Path]

TRUE = '"""A truth."""\nx: real\ndef square():\n    assert x * x == x**2\n'
FALSE = '"""A falsehood."""\nx: real\ndef root():\n    assert sqrt(x**2) == x\n'
OPEN = '"""Nobody can tell."""\nx: real\ndef odd():\n    assume(x**5 + x == 3)\n    assert sin(x) < 93/100\n'
EMPTY = '"""Nothing claimed."""\nx: real\n'
BROKEN = '"""No theory."""\nx: reel\n'


def data(run: Run) -> Any:
    parsed = json.loads(run.out)
    assert parsed["schema"] == 1
    return parsed


# -- list -------------------------------------------------------------------------------------------------------------


def test_list_names_every_theorem_with_its_statement(derive: Derive) -> None:
    run = derive("list")
    assert run.status == 0
    assert run.err == ""
    for name in catalogue():
        assert f"{name}: " in run.out
    assert "diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])" in run.out


def test_list_as_data_has_theories_theorems_statements(derive: Derive) -> None:
    theories = {t["name"]: t for t in data(derive("list", "--json"))["theories"]}
    assert set(theories) == set(catalogue())
    jacobian = next(t for t in theories["softmax"]["theorems"] if t["name"] == "jacobian")
    assert jacobian["statements"] == ["diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])"]


def test_list_takes_under_half_a_second_and_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom derive import cli\n"
        "try: cli.main(['list'])\nexcept SystemExit: pass\n"
        "heavy = ('sympy', 'numpy', 'flint', 'mpmath', 'jinja2', 'derive.engine', 'derive.kernel.check')\n"
        "print([m for m in heavy if m in sys.modules], file=sys.stderr)"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.stderr.strip() == "[]"
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


# -- check ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "verdicts"),
    [(TRUE, 0, {"proved"}), (FALSE, 1, {"refuted"}), (OPEN, 4, {"undecided", "checked"})],
)
def test_exit_status_tells_the_verdict(
    derive: Derive, theory: Write, text: str, status: int, verdicts: set[str]
) -> None:
    path = theory(text)
    run = derive("check", path, "--timeout", 5)
    assert run.status == status
    theorem = data(derive("check", path, "--json", "--timeout", 5))["theories"][0]["theorems"][0]
    assert theorem["verdict"] == theorem["claims"][0]["verdict"]
    assert theorem["verdict"] in verdicts
    assert f": {theorem['verdict']}" in run.out


def test_nothing_claimed_is_never_success(derive: Derive, theory: Write) -> None:
    run = derive("check", theory(EMPTY))
    assert run.status == cli.OPEN
    assert "nothing to prove" in run.out


def test_one_empty_theory_among_proved_ones_is_no_success(derive: Derive, theory: Write) -> None:
    assert derive("check", theory(TRUE, "first"), theory(EMPTY, "second")).status == cli.OPEN


def test_refuted_outweighs_undecided_and_a_bad_file_outweighs_both(derive: Derive, theory: Write) -> None:
    files = [theory(TRUE, "a"), theory(FALSE, "b"), theory(EMPTY, "c")]
    assert derive("check", *files).status == cli.REFUTED
    assert derive("check", *files, theory(BROKEN, "d")).status == cli.BAD_INPUT


def test_bad_file_is_told_with_place_caret_and_hint_on_stderr(derive: Derive, theory: Write) -> None:
    path = theory(BROKEN)
    run = derive("check", path)
    assert (run.status, run.out) == (3, "")
    first, source, carets, hint = run.err.rstrip("\n").split("\n")
    assert first.startswith(f"{path}:2:4: ")
    assert source.strip() == "x: reel"
    assert carets.index("^") == source.index("reel")
    assert "real" in hint


def test_bad_file_as_data_has_line_column_message(derive: Derive, theory: Write) -> None:
    run = derive("check", theory(BROKEN), theory(TRUE, "good"), "--json")
    assert run.status == 3
    bad, good = data(run)["theories"]
    assert (bad["error"]["line"], bad["error"]["column"]) == (2, 4)
    assert bad["error"]["message"]
    assert bad["theorems"] == []
    assert good["error"] is None
    assert good["theorems"][0]["verdict"] == "proved"


@pytest.mark.parametrize("kind", ["missing", "folder", "not UTF-8", "FIFO"])
def test_what_is_no_file_is_an_input_error(derive: Derive, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "odd.derive"
    if kind == "folder":
        path.mkdir()
    elif kind == "not UTF-8":
        path.write_bytes(b"\xff\xfe\x00")
    elif kind == "FIFO":
        os.mkfifo(path)
    run = derive("check", path)
    assert run.status == 3
    assert "odd.derive" in run.err
    assert "Traceback" not in run.err


def test_unknown_name_suggests_the_catalogue(derive: Derive) -> None:
    run = derive("check", "softmaks")
    assert run.status == 3
    assert "softmax" in run.err


def test_claims_as_data_have_all_promised_keys(derive: Derive) -> None:
    (softmax,) = data(derive("check", "softmax", "--json"))["theories"]
    assert softmax["path"] == "softmax.derive"
    jacobian = next(t for t in softmax["theorems"] if t["name"] == "jacobian")
    (claim,) = jacobian["claims"]
    assert claim["statement"] == "diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])"
    assert claim["line"] > jacobian["line"] > 0
    assert claim["steps"] >= 1
    assert sum(claim["rules"].values()) >= claim["steps"]
    assert (claim["reason"], claim["counterexample"], claim["domain"], claim["hypotheses"]) == (None, None, [], [])
    assert 0 <= claim["seconds"] < 30


def test_counterexample_is_shown_as_numbers_put_into_the_formula(derive: Derive, theory: Write) -> None:
    run = derive("check", theory(FALSE))
    assert "counterexample: x = -1" in run.out
    assert "sqrt((-1)**2) = 1" in run.out
    assert "difference 2" in run.out


MASS = """n: axis
z: real[n]
y: real[n]
def gradient():
    assert (diff(-sum(y[k]*log(exp(z[k])/sum(exp(z[l]) for l in n)) for k in n), z[j])
        == exp(z[j])/sum(exp(z[k]) for k in n) - y[j])
"""


def test_what_would_close_a_refuted_claim_stands_after_the_counterexample(derive: Derive, theory: Write) -> None:
    path = theory(MASS)
    hint = "it would follow with assume(sum(y[k] for k in n) == 1)"
    out = derive("check", path).out
    assert out.index("counterexample") < out.index(hint)
    assert "no derivation was found" not in out
    claim = data(derive("check", path, "--json"))["theories"][0]["theorems"][0]["claims"][0]
    assert (claim["verdict"], claim["reason"]) == ("refuted", hint)


def test_beside_a_counterexample_that_nothing_closes_there_is_no_reason(derive: Derive, theory: Write) -> None:
    path = theory(FALSE)
    assert "no derivation" not in derive("check", path).out
    claim = data(derive("check", path, "--json"))["theories"][0]["theorems"][0]["claims"][0]
    assert (claim["verdict"], claim["reason"]) == ("refuted", None)
    assert claim["counterexample"]


def test_open_claim_keeps_its_reason(derive: Derive, theory: Write) -> None:
    claim = data(derive("check", theory(OPEN), "--json", "--timeout", 5))["theories"][0]["theorems"][0]["claims"][0]
    assert claim["reason"]
    assert claim["reason"] in derive("check", theory(OPEN), "--timeout", 5).out.replace("\n          ", " ")


def test_evidence_derives_each_claim_again(derive: Derive, theory: Write) -> None:
    path = theory(TRUE)
    assert "SymPy agrees" in derive("check", path, "--evidence").out
    assert "SymPy" not in derive("check", path).out
    claim = data(derive("check", path, "--evidence", "--json"))["theories"][0]["theorems"][0]["claims"][0]
    assert claim["sympy"]["agrees"] is True


@pytest.mark.parametrize(
    "arguments",
    [(), ("chek",), ("check",), ("check", "softmax", "--timeout", "0"), ("check", "softmax", "--timeout", "x"),
     ("report", "softmax", "--format", "docx"), ("report", "softmax", "--format", ","), ("show", "softmax.nonsense"),
     ("verify",)],
)  # fmt: skip
def test_usage_errors_leave_with_two(derive: Derive, arguments: tuple[str, ...]) -> None:
    run = derive(*arguments)
    assert run.status == 2
    assert run.out == "" or arguments == ()


def test_crash_is_not_mistaken_for_a_verdict(derive: Derive, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(cli, "_checked", crash)
    run = derive("check", "softmax")
    assert run.status not in (0, 1, 2, 3, 4, 5)
    assert "internal error" in run.err


# -- show -------------------------------------------------------------------------------------------------------------


def test_show_prints_statement_and_every_step(derive: Derive) -> None:
    run = derive("show", "softmax.jacobian")
    assert run.status == 0
    assert "diff(s[i], z[j]) == s[i]*(delta(i, j) - s[j])" in run.out
    (theorem,) = data(derive("show", "softmax.jacobian", "--json"))["theories"][0]["theorems"]
    steps = [step["after"] for step in theorem["claims"][0]["derivation"]]
    assert steps[-1] == "s[i]*(delta(i, j) - s[j])"
    for after in (*steps[:4], *steps[8:]):
        assert f"= {after}\n" in run.out
    around = steps[3].split("diff(Z, z[j])")  # the next five are about a part, and show it alone
    parts = [after.removeprefix(around[0]).removesuffix(around[1]) for after in steps[4:9]]
    assert parts[-1] == "exp(z[j])"
    for part in parts:
        assert f"    = {part}\n" in run.out
    assert re.search(r"where +diff\(Z, z\[j\]\)\n(.*\n){5} +so that +=", run.out)


def test_show_of_a_theory_has_all_theorems(derive: Derive) -> None:
    run = derive("show", "softmax")
    assert "softmax.jacobian" in run.out
    assert "softmax.vjp" in run.out


def test_show_of_a_theorem_in_a_file(derive: Derive, theory: Write) -> None:
    run = derive("show", f"{theory(TRUE)}.square")
    assert run.status == 0
    assert "x*x == x**2" in run.out


def test_show_names_the_theorems_there_are(derive: Derive) -> None:
    assert "jacobian" in derive("show", "softmax.jacobien").err


# -- report -----------------------------------------------------------------------------------------------------------


def test_report_writes_one_file_a_format_into_the_folder(derive: Derive, theory: Write, elsewhere: Path) -> None:
    run = derive("report", theory(TRUE))
    assert run.status == 0
    assert sorted(p.name for p in (elsewhere / "reports").iterdir()) == ["mine.html", "mine.md", "mine.tex"]
    derive("report", theory(TRUE), "--format", "md", "--out", "there")
    assert [p.name for p in (elsewhere / "there").iterdir()] == ["mine.md"]


def test_report_of_what_is_refuted_is_written_and_says_so(derive: Derive, theory: Write, elsewhere: Path) -> None:
    assert derive("report", theory(FALSE)).status == 1
    assert "refuted" in (elsewhere / "reports" / "mine.md").read_text()


def test_missing_tool_leaves_with_five(
    derive: Derive, theory: Write, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(elsewhere))
    monkeypatch.setattr(pdf, "find_spec", lambda name: None)
    run = derive("report", theory(TRUE), "--format", "pdf")
    assert run.status == 5
    assert "pdflatex" in run.err and "typst" in run.err


def test_interrupt_leaves_no_half_written_file(
    derive: Derive, theory: Write, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    derive("report", theory(TRUE), "--format", "md")
    before = (elsewhere / "reports" / "mine.md").read_text()

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    run = derive("report", theory(FALSE), "--format", "md")
    assert run.status not in (0, 1, 2, 3, 4, 5)
    assert [p.name for p in (elsewhere / "reports").iterdir()] == ["mine.md"]
    assert (elsewhere / "reports" / "mine.md").read_text() == before


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    files.write_text(path, "all")
    assert path.read_text() == "all"
    assert path.stat().st_mode & 0o444 == 0o444
    with pytest.raises(TypeError):
        files.write_bytes(path, "not bytes")  # type: ignore[arg-type]
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]
    assert path.read_text() == "all"


# -- verify -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def certificate(derive: Derive, theory: Write, tmp_path: Path) -> Path:
    """The certificate of a proved theory."""
    assert derive("check", theory(TRUE), "--certificate", tmp_path / "certificates").status == 0
    return tmp_path / "certificates" / "mine.json"


def test_verify_accepts_what_check_wrote(derive: Derive, certificate: Path) -> None:
    run = derive("verify", certificate)
    assert run.status == 0
    assert "1 of 1 accepted by the kernel" in run.out
    (told,) = data(derive("verify", certificate, "--json"))["certificates"]
    assert told["error"] is None
    assert [c["accepted"] for c in told["claims"]] == [True]


def test_verify_rejects_an_edited_statement_with_its_reason(derive: Derive, certificate: Path) -> None:
    edited = json.loads(certificate.read_text())
    edited["theorems"][0]["claims"][0]["statement"] = "x*x == x**3"
    certificate.write_text(json.dumps(edited))
    run = derive("verify", certificate)
    assert run.status == 1
    assert "rejected: " in run.out
    assert "0 of 1 accepted" in run.out


def test_verify_of_an_edited_text_or_of_no_certificate_is_bad_input(derive: Derive, certificate: Path) -> None:
    edited = json.loads(certificate.read_text())
    certificate.write_text(json.dumps(edited | {"text": edited["text"] + "#"}))
    assert derive("verify", certificate).status == 3
    certificate.write_text("[]")
    assert derive("verify", certificate).status == 3
    run = derive("verify", certificate.parent / "none.json", "--json")
    assert run.status == 3
    assert data(run)["certificates"][0]["error"]


def test_verify_of_a_certificate_of_nothing_is_no_success(derive: Derive, theory: Write, tmp_path: Path) -> None:
    derive("check", theory(EMPTY), "--certificate", tmp_path)
    assert derive("verify", tmp_path / "mine.json").status == 4


DOUBLED = """n: axis
z: real[n]
d0[i] = z[i]
d1[i] = d0[i]*d0[i]
def t():
    assert sum(d1[i] for i in n) == sum(d1[j] for j in n)
    assert z[i] == z[i]
"""


def endless(certificate: Path) -> None:
    """Make the first claim one on d60, each name the square of the one before: written out it has no end."""
    whole = json.loads(certificate.read_text().replace("d1", "d60"))
    first, *_ = whole["theorems"][0]["claims"]
    plain = {"rule": "algebra", "path": [], "reverse": False, "uses": [], "conditions": []}
    first["proof"]["steps"] = [plain | {"after": first["claim"][-1]}]
    named = first["context"]["definitions"]
    assert [d["name"] for d in named] == ["d0", "d60"]
    square = json.dumps(named.pop()).replace('"d0"', '"before"')
    for number in range(1, 61):
        named.append(json.loads(square.replace("d60", f"d{number}").replace("before", f"d{number - 1}")))
        if "rests_on" in named[-1]:
            named[-1]["rests_on"] = sorted({"z", *(f"d{k}" for k in range(number))})
    whole["sha256"] = sha256(whole["text"].encode()).hexdigest()
    for claim in whole["theorems"][0]["claims"]:
        claim["digest"] = digest({k: v for k, v in claim.items() if k != "digest"})
    whole["digest"] = seal(whole)
    certificate.write_text(json.dumps(whole))


def test_verify_ends_at_its_time_limit(derive: Derive, theory: Write, tmp_path: Path) -> None:
    """A forged certificate may ask for work without end; the claims beside it are replayed all the same."""
    derive("check", theory(DOUBLED), "--certificate", tmp_path)
    certificate = tmp_path / "mine.json"
    assert derive("verify", certificate).status == 0
    endless(certificate)
    start = time.process_time()
    run = derive("verify", certificate, "--timeout", "0.5")

    assert run.status == 4
    assert "claim 1: undecided: the time limit was reached" in run.out
    assert "claim 2: accepted" in run.out
    assert time.process_time() - start < 5
    (told,) = data(derive("verify", certificate, "--timeout", "0.5", "--json"))["certificates"]
    assert [(c["accepted"], c["reason"]) for c in told["claims"]] == [(False, LATE), (True, None)]


def test_time_limit_leaves_no_alarm_behind() -> None:
    with suppress(Rejected), limited(0.05):
        while True:
            pass
    with limited(60):
        pass

    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


def test_verify_loads_neither_engine_nor_sympy_nor_numpy(certificate: Path) -> None:
    code = (
        "import sys\n"
        "for name in ('sympy', 'numpy', 'flint', 'mpmath', 'jinja2', 'derive.engine', 'derive.evidence'):\n"
        "    sys.modules[name] = None\n"
        f"from derive import cli; cli.main(['verify', {str(certificate)!r}])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "1 of 1 accepted" in run.stdout


# -- terminals --------------------------------------------------------------------------------------------------------

HOSTILE = (
    '"""\\x1b]0;owned\\x07 \\u202e title."""\nx: real\n'
    'def t():\n    """\\x1b[2J"""\n    assert x == x, "\\x1b[31m\\u202e"\n'
)


@pytest.mark.parametrize("arguments", [("check",), ("show",), ("report",), ("check", "--json"), ("show", "--json")])
def test_no_text_of_a_file_reaches_the_terminal_raw(
    derive: Derive, theory: Write, elsewhere: Path, arguments: tuple[str, ...]
) -> None:
    run = derive(arguments[0], theory(HOSTILE), *arguments[1:])
    for text in (run.out, run.err):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What `derive` writes when its output is a terminal."""
    outer, inner = pty.openpty()
    settings = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | environment
    command = [sys.executable, "-m", "derive", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env=settings, cwd=ROOT)
    os.close(inner)
    chunks = []
    while True:
        try:
            chunk = os.read(outer, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    process.wait(timeout=60)
    os.close(outer)
    return b"".join(chunks).decode()


def test_colours_are_for_terminals_that_want_them(derive: Derive, theory: Write) -> None:
    path = str(theory(TRUE))
    assert "\x1b[" in on_a_terminal("check", path)
    assert "\x1b" not in on_a_terminal("check", path, NO_COLOR="1")
    assert "\x1b" not in derive("check", path).out


def test_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m derive list | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.count("\n") == 1
    assert run.stderr == ""


def test_output_that_cannot_be_encoded_is_no_crash(theory: Write) -> None:
    settings = os.environ | {"PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "derive", "check", str(theory(TRUE))]
    run = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=ROOT, check=True)
    assert "square: proved" in run.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_after_a_while() -> None:
    stream = Terminal()
    with cli_progress.Progress(stream, patience=0.02) as tell:
        tell("softmax: jacobian\x1b[2J")
        time.sleep(0.2)
    assert "softmax: jacobian" in stream.getvalue()
    assert "\x1b[2J" not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_progress_is_silent_when_quick_or_not_on_a_terminal() -> None:
    quick, pipe = Terminal(), io.StringIO()
    with cli_progress.Progress(quick) as tell:
        tell("softmax")
    with cli_progress.Progress(pipe, patience=0.01) as tell:
        tell("softmax")
        time.sleep(0.1)
    assert quick.getvalue() == pipe.getvalue() == ""


def test_version_and_help_are_success(derive: Derive) -> None:
    assert derive("--version").out.startswith("derive, version ")
    assert "Exit status" in derive("--help").out
    assert {derive(c, "--help").status for c in ("list", "show", "check", "report", "verify")} == {0}

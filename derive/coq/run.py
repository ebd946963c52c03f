"""Coq on exported files: what it accepts, what it refuses, and on which axioms the accepted theorems rest."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from derive.coq.export import Export
from derive.paths import coq_dir

# What Coq's real numbers, functional extensionality and classical logic assume; nothing else may stand under a theorem.
ALLOWED = frozenset(
    {
        "ClassicalDedekindReals.sig_not_dec",
        "ClassicalDedekindReals.sig_forall_dec",
        "FunctionalExtensionality.functional_extensionality_dep",
        "Classical_Prop.classic",
    }
)
FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Abort|bypass_check|Unset\s+Guard|Set\s+Type\s+In)\b"
)
LIBRARY = ("Derive.v", "Limits.v", "Moments.v")  # each after those it rests on
ROUNDING = ("Rounding.v", "Errors.v")  # the same on rounding errors, which need Flocq
FILE_LIMIT = 600  # seconds
MEMORY_LIMIT = 1_000_000  # kilobytes


PARTS = {"": "the claim itself", "end": "the last equation", "defined": "what it needs to be defined"}


class CoqMissing(Exception):
    """coqc, or a library that the files need, is not installed."""


@dataclass(frozen=True)
class Refused:
    """A claim that Coq did not accept: the part of its text that it stopped at, and the first words of its message."""

    theorem: str
    number: int
    part: str  # the suffix of the lemma: s2 step 2, l2 line 3, end, defined; none the theorem itself
    words: str

    @property
    def message(self) -> str:
        return f"{self.part}: {self.words}" if self.part else self.words

    @property
    def reason(self) -> str:
        """What was not found, for a reader of a report."""
        kind, number = self.part[:1], self.part[1:]
        if number.isdigit():
            where = f"step {number}" if kind == "s" else f"line {int(number) + 1}"
        else:
            where = PARTS[self.part]
        late = "Timeout" in self.words
        return f"Coq's tactics {'run out of time at' if late else 'find no proof of'} {where}"


@dataclass(frozen=True)
class Outcome:
    """What Coq said of one theory."""

    theory: str
    accepted: frozenset[tuple[str, int]]
    refused: tuple[Refused, ...]
    axioms: frozenset[str]
    seconds: float  # of processor time
    kilobytes: int

    @property
    def foreign(self) -> frozenset[str]:
        """Axioms that may not stand under a theorem."""
        return self.axioms - ALLOWED


def version() -> str:
    """Coq's version. Raises CoqMissing where there is none."""
    path = shutil.which("coqc")
    if path is None:
        raise CoqMissing("coqc not found")
    found = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    number = re.search(r"version (\S+)", found.stdout)
    if number is None:
        raise CoqMissing("coqc does not say its version")
    return number[1]


@dataclass(frozen=True)
class Ran:
    """One run of coqc."""

    status: int
    output: str
    errors: str
    seconds: float
    kilobytes: int


class Library:
    """The library in coq/, compiled into a folder of its own; a context manager."""

    def __init__(self) -> None:
        version()
        self.folder = Path(tempfile.mkdtemp(prefix="derive-coq-"))

    def __enter__(self) -> Library:
        try:
            self.add(LIBRARY, "Coquelicot")
        except BaseException:
            shutil.rmtree(self.folder)
            raise
        return self

    def add(self, names: Sequence[str], needs: str) -> None:
        """Compile files of coq/. Raises CoqMissing where Coq does not have the library that they need."""
        for name in names:
            shutil.copy(coq_dir() / name, self.folder)
            ran = self.compile(self.folder / name)
            if ran.status and needs in ran.errors and "Cannot find" in ran.errors:
                raise CoqMissing(f"Coq has no library {needs}")
            if ran.status:
                raise RuntimeError(f"coq/{name} does not compile: {ran.errors[-2000:]}")
            if foreign := axioms(ran.output) - ALLOWED:
                raise RuntimeError(f"coq/{name} rests on {', '.join(sorted(foreign))}")

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, text: str) -> Ran:
        """Run coqc on an exported text. Raises RuntimeError where it holds what a proof may not."""
        if found := FORBIDDEN.search(strip_comments(text)):
            raise RuntimeError(f"the exported file holds {found[0]}")
        with tempfile.NamedTemporaryFile(
            "w", suffix=".v", prefix="Exported", dir=self.folder, delete=False, encoding="utf-8"
        ) as file:
            file.write(text)
        return self.compile(Path(file.name))

    def compile(self, path: Path, limit: float = FILE_LIMIT) -> Ran:
        """Run coqc on a file in the folder; status 124 where the time was not enough."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen(
                ["coqc", "-w", "none", "-Q", str(self.folder), "DeriveCoq", str(path)],
                stdout=out,
                stderr=err,
                cwd=self.folder,
                start_new_session=True,
            )
            deadline = time.monotonic() + limit
            status, usage = None, None
            try:
                while status is None:
                    pid, code, usage = os.wait4(process.pid, os.WNOHANG)
                    if pid:
                        status = os.waitstatus_to_exitcode(code)
                    elif time.monotonic() > deadline:
                        os.killpg(process.pid, signal.SIGKILL)
                        _, _, usage = os.wait4(process.pid, 0)
                        status = 124
                    else:
                        time.sleep(0.02)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
            process.returncode = status
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode(errors="replace"))
        assert usage is not None
        return Ran(status, *texts, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def check(exported: Export, library: Library) -> Outcome:
    """Have Coq check a theory's claims. A claim that it refuses is left out, and the others are tried again."""
    refused: list[Refused] = []
    seconds, kilobytes = 0.0, 0
    everything = {(c.theorem, c.number) for c in exported.claims if c.reason is None}
    while True:
        skip = frozenset((r.theorem, r.number) for r in refused)
        left = everything - skip
        if not left:
            return Outcome(exported.theory, frozenset(), tuple(refused), frozenset(), seconds, kilobytes)
        text = exported.text(skip)
        ran = library.read(text)
        seconds += ran.seconds
        kilobytes = max(kilobytes, ran.kilobytes)
        if ran.status == 0:
            found_axioms = axioms(ran.output)
            return Outcome(exported.theory, frozenset(left), tuple(refused), found_axioms, seconds, kilobytes)
        where = re.search(r"line (\d+), characters", ran.errors)
        claim = _claim_at(text, int(where[1])) if where else None
        if claim is None or claim not in left:
            raise RuntimeError(f"coqc stopped ({ran.status}): {ran.errors[-2000:]}")
        refused.append(Refused(*claim, *_message(ran.errors, text, int(where[1]) if where else 0)))


def accepts(text: str, library: Library) -> tuple[str | None, float]:
    """Why Coq does not accept a text, None where it does, and the seconds it took."""
    ran = library.read(text)
    if ran.status:
        return _message(ran.errors, text, 0)[1] or f"coqc stopped ({ran.status})", ran.seconds
    foreign = axioms(ran.output) - ALLOWED
    return (f"it rests on {', '.join(sorted(foreign))}" if foreign else None), ran.seconds


def _claim_at(text: str, line: int) -> tuple[str, int] | None:
    """The claim to which a line of the file belongs, by the theorem or lemma above it."""
    lines = text.splitlines()
    for number in range(min(line, len(lines)) - 1, -1, -1):
        if found := re.match(r"\(\* claim (\d+) of (\S+), line \d+: ", lines[number]):
            return found[2], int(found[1])
    return None


def _message(errors: str, text: str, line: int) -> tuple[str, str]:
    """The suffix of the lemma at the line, and what Coq said."""
    lines = text.splitlines()
    place = ""
    for number in range(min(line, len(lines)) - 1, -1, -1):
        if found := re.match(r"(?:Lemma|Theorem) t_\w+?_(s\d+|end|defined|l\d+)\b", lines[number]):
            place = found[1]
            break
        if lines[number].startswith(("Theorem", "Definition", "(* claim")):
            break
    words = " ".join(errors.split("Error:")[-1].split())
    return place, words[:300]


def strip_comments(text: str) -> str:
    """The text without its comments, which do not nest here."""
    return re.sub(r"\(\*.*?\*\)", " ", text, flags=re.DOTALL)


def axioms(output: str) -> frozenset[str]:
    """The axioms that `Print Assumptions` names."""
    return frozenset(re.findall(r"^([A-Z]\w*(?:\.\w+)+)(?= *:|\s*$)", output, flags=re.MULTILINE))

"""What was computed once, kept between runs: JSON files by the digest of all that they were computed from.

A file is written beside its place and moved there whole, and carries the digest of its content, so that whatever is
read back is what was put there. Where nothing can be kept, nothing is, and no report stops for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from derive.report.files import write_bytes

FOLDER_VARIABLE = "DERIVE_CACHE"  # of the environment: where to keep it instead
MOST = 400  # files that are kept; the ones used longest ago go first
PATIENCE = 600.0  # seconds to wait for another process that computes the same
# What takes part in a computation besides derive itself.
PACKAGES = (
    "jinja2", "matplotlib", "ml_dtypes", "mpmath", "numpy", "python-flint", "quickjs-ng", "scipy", "sympy",
    "typst",
)  # fmt: skip
# The parts of the package that evidence comes from: it outlives a change of layout.
BELOW_REPORTS = ("term.py", "kernel", "language", "sympy_bridge", "codegen", "evidence", "engine")


@dataclass(frozen=True)
class Store:
    """A folder of results; None keeps nothing."""

    folder: Path | None = None

    def get(self, key: str) -> Any:
        """What was put there under this key; None where nothing whole is."""
        if self.folder is None:
            return None
        path = self.folder / f"{key}.json"
        try:
            seal, _, text = path.read_text(encoding="utf-8").partition("\n")
            if seal != _digest(text):
                return None
            with suppress(OSError):
                os.utime(path)  # used just now
            return json.loads(text)
        except (OSError, ValueError):
            return None

    def put(self, key: str, data: Any) -> None:
        """Keep the data, which is such as JSON holds, under this key."""
        if self.folder is None:
            return
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        with suppress(OSError):
            write_bytes(self.folder / f"{key}.json", f"{_digest(text)}\n{text}".encode())
            self._forget()

    @contextmanager
    def alone(self, key: str) -> Iterator[None]:
        """Within it no other process is within it for the same key, so that the same is not computed twice at once.

        Another one that takes longer than `PATIENCE` is not waited for: both then compute the same.
        """
        if self.folder is None:
            yield
            return
        from filelock import FileLock, Timeout

        locks = self.folder / "locks"
        lock = FileLock(locks / f"{key[:2]}.lock", timeout=PATIENCE)
        with suppress(Timeout, OSError, NotImplementedError):  # where nothing can be locked, nothing is
            locks.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()  # of a lock that is not held this is nothing

    def _forget(self) -> None:
        """Remove what was used longest ago, where there is too much."""
        assert self.folder is not None
        files = [(path.stat().st_mtime, path) for path in self.folder.glob("*.json")]
        for _, path in sorted(files)[: max(0, len(files) - MOST)]:
            with suppress(OSError):
                path.unlink()


def default_store() -> Store:
    """The store of this user."""
    from platformdirs import user_cache_path

    chosen = os.environ.get(FOLDER_VARIABLE)
    return Store(Path(chosen) if chosen else user_cache_path("derive-engine", appauthor=False) / "reports")


def key_of(**parts: Any) -> str:
    """The digest of these parts, which are such as JSON holds."""
    return _digest(json.dumps(parts, sort_keys=True, ensure_ascii=False))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def surroundings() -> Mapping[str, str]:
    """What besides the package's own files a result depends on: Python, the machine, and the packages' versions."""
    found = {"python": sys.version, "machine": platform.machine(), "system": sys.platform}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found


@cache
def digest_of_files(folder: Path, parts: tuple[str, ...] = ("",), suffixes: tuple[str, ...] = ()) -> str:
    """The digest of all files of a folder, or of these parts of it, by name and content."""
    total = hashlib.sha256()
    for part in parts:
        root = folder / part
        paths = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
        for path in paths:
            if "__pycache__" in path.parts or (suffixes and path.suffix not in suffixes):
                continue
            content = path.read_bytes()
            total.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
            total.update(content)
    return total.hexdigest()

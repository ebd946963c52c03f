"""A line on the terminal that says what is being done, for what takes longer than a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from derive.language.errors import printable

PATIENCE = 2.0  # seconds before anything is said
_INTERVAL = 0.5


class Progress:
    """Shows the last thing it was told on one line of a terminal; silent elsewhere. Use it in a `with`."""

    def __init__(self, stream: TextIO, patience: float = PATIENCE):
        self.stream, self.patience = stream, patience
        self.text = ""
        self.start = time.monotonic()
        self.stop = threading.Event()
        self.shown = False
        self.thread = threading.Thread(target=self._run, daemon=True) if stream.isatty() else None

    def __enter__(self) -> Callable[[str], None]:
        if self.thread is not None:
            self.thread.start()
        return self.tell

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.thread is not None:
            self.stop.set()
            self.thread.join()
            if self.shown:
                self._write("\r\x1b[K")

    def tell(self, text: str) -> None:
        self.text = printable(text)

    def _run(self) -> None:
        while not self.stop.wait(min(self.patience, _INTERVAL)):
            seconds = time.monotonic() - self.start
            if seconds >= self.patience:
                self.shown = True
                self._write(f"\r\x1b[K{self.text[:60]} … {seconds:.0f} s")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

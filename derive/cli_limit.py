"""A time limit for what reads no clock itself, such as the kernel: an alarm of the system ends it from outside."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from derive.term import Rejected

LATE = "the time limit was reached"


class Alarm(Exception):
    """The time is over; nothing in the kernel catches this."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """What takes longer within it is Rejected as `LATE`.

    Without alarms (on Windows, or outside of the main thread) there is no limit.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    running = [True]  # an alarm that comes just when all is done is none

    def ring(signum: int, frame: FrameType | None) -> None:
        if running:
            raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        running.clear()
    except Alarm:
        raise Rejected(LATE) from None
    finally:
        running.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

"""SIGTERM as an exception, so that a terminated command ends its processes and closes its files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Terminated(BaseException):
    """SIGTERM has come. Like KeyboardInterrupt it is no Exception: nothing may take it for an error of a row."""


@contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Raise Terminated on SIGTERM inside the block; a second SIGTERM ends the process at once.

    Does nothing where the signal is ignored, and in threads other than the main one.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _raise_terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _raise_terminated(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated

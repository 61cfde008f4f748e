"""Turns the signals that end a command into exceptions of the main thread that no cleanup can swallow."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)
_PERIOD = 0.02
_PATIENCE = 10.0
"""A finalizer may take this many seconds before it is interrupted."""
_FINALIZE = weakref.finalize.__call__.__code__
_STREAMS = (1, 2)

Handler = Callable[[int, FrameType | None], None]


class Terminated(BaseException):
    """Raised on SIGTERM and SIGHUP.

    Like KeyboardInterrupt, it is not an Exception, so it is never mistaken for an error of a row.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


@contextmanager
def raise_on_termination() -> Iterator[None]:
    """Raise Terminated on SIGTERM and SIGHUP inside the block. A second SIGTERM ends the process immediately.

    A second SIGHUP does not, since both the shell and the kernel send one when a terminal is lost. Signals that were
    ignored are still ignored. Ctrl-C raises KeyboardInterrupt as usual, but never inside a finalizer. In threads other
    than the main one this does nothing.
    """
    main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _ENDING if main and signal.getsignal(number) is signal.SIG_DFL]
    terminals = [stream for stream in _STREAMS if os.isatty(stream)]

    def end(number: int, frame: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN if each == signal.SIGHUP else signal.SIG_DFL)
        if number == signal.SIGHUP:
            _leave_terminals(terminals)
        raise Terminated(number)

    handlers = dict.fromkeys(numbers, let_finalizers_end(end))
    if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        handlers[signal.SIGINT] = let_finalizers_end(signal.default_int_handler)
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave_terminals(streams: list[int]) -> None:
    """Send the remaining output of streams that were terminals to /dev/null, because writing there would fail."""
    for stream in streams:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream)
        os.close(nowhere)


def let_finalizers_end(handler: Handler) -> Handler:
    """Delay a signal handler while the main thread runs the finalizer of an object.

    Python would discard an exception raised there, and the finalizer would not end its processes.
    """
    since: dict[int, float] = {}
    waiting: set[int] = set()

    def send_again(number: int) -> None:
        waiting.discard(number)
        signal.pthread_kill(threading.main_thread().ident or 0, number)

    def handle(number: int, frame: FrameType | None) -> None:
        if not _is_finalizing(frame) or time.monotonic() - since.setdefault(number, time.monotonic()) > _PATIENCE:
            since.pop(number, None)
            handler(number, frame)
        elif number not in waiting:  # however often it comes meanwhile, it is sent again once
            waiting.add(number)
            later = threading.Timer(_PERIOD, send_again, (number,))
            later.daemon = True
            with suppress(RuntimeError):  # the interpreter ends, and starts no more threads
                later.start()

    return handle


def _is_finalizing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code is not _FINALIZE:
        frame = frame.f_back
    return frame is not None


def ignore_signals() -> None:
    """Ignore all signals but SIGKILL during the short work at exit."""
    for number in (signal.SIGINT, *_ENDING):
        signal.signal(number, signal.SIG_IGN)

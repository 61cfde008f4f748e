"""The worker process, which opens the back ends, receives batches and sends records.

WorkerProcess starts it. A thread receives messages, so that a Stop is noticed while a batch runs.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from gemmbench.backends import registry
from gemmbench.backends.base import Backend
from gemmbench.backends.printed_text import RowMarks
from gemmbench.bench.experiments.batch import Batch
from gemmbench.bench.experiments.context import Progress
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.bench.workers.messages import Announced, Finished, Lost, Open, Progressed, Ready, Refused, Stop, ToRunner
from gemmbench.errors import DeviceError, DeviceLost, GemmbenchError

_PROGRESS_PERIOD = 0.05
"""The minimum number of seconds between two Progressed messages of the same activity."""
_ORPHAN_PERIOD = 0.5
"""Seconds between checks of whether the runner is alive."""


def main(fd: int) -> None:
    """Serve the runner at the other end of the socket `fd` until it closes the connection."""
    marks = RowMarks()
    threading.Thread(target=_exit_without_parent, args=(os.getppid(),), daemon=True).start()
    pipe: Connection = Connection(fd)
    try:
        _serve(pipe, marks)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the runner has closed the connection or has ended
    except GemmbenchError as fault:
        pipe.send(Refused(fault))
    except Exception:
        pipe.send(Refused(DeviceError(f"the worker process failed:\n{traceback.format_exc()}")))


def _serve(pipe: Connection, marks: RowMarks) -> None:
    request = pipe.recv()
    if not isinstance(request, Open):
        raise DeviceError(f"the worker process was sent {request!r} before it was asked to open a device")
    inbox = _Inbox(pipe)
    opened = registry.open_backends(request.machine, request.backends, request.gate, request.limits.launch)

    def announce(number: int | None, seconds: float = 0.0, compiles: bool = False, /) -> None:
        if number is not None:
            marks.mark(number)
        _send(pipe, Announced(number, seconds, compiles))

    worker = LocalWorker(
        opened,
        progress=_throttled_progress(pipe),
        is_interrupted=inbox.stopped.is_set,
        announce=announce,
        measured=request.measured,
    )
    _send(pipe, Ready(worker.devices))
    _run_batches(pipe, inbox, worker, opened)


def _run_batches(pipe: Connection, inbox: _Inbox, worker: LocalWorker, opened: Mapping[str, Backend]) -> None:
    """Run batches until the runner closes the connection.

    Garbage is collected only between batches. A collection in the receiving thread could free a CUDA module, whose
    context belongs to this thread.
    """
    gc.freeze()
    gc.disable()
    try:
        while True:
            _send(pipe, Finished(list(worker.experiment(inbox.next_batch()))))
            gc.collect()
    except DeviceLost as fault:
        _send(pipe, Lost(fault))
        os._exit(1)  # closing a poisoned context may hang
    finally:
        for backend in opened.values():
            backend.close()


class _Inbox:
    """Receives the runner's messages. `stopped` is set once the runner asks to stop."""

    def __init__(self, pipe: Connection):
        self.stopped = threading.Event()
        self._batches: SimpleQueue[Batch[Any] | Exception] = SimpleQueue()
        threading.Thread(target=self._receive, args=(pipe,), daemon=True).start()

    def next_batch(self) -> Batch[Any]:
        """Wait for the next batch. Raises EOFError at the end of the connection."""
        item = self._batches.get()
        if isinstance(item, Exception):
            raise item
        return item

    def _receive(self, pipe: Connection) -> None:
        try:
            while True:
                match pipe.recv():
                    case Batch() as batch:
                        self._batches.put(batch)
                    case Stop():
                        self.stopped.set()
                    case message:
                        raise DeviceError(f"the worker process was sent an unknown message: {message!r}")
        except Exception as fault:  # raised again in next_batch
            self._batches.put(EOFError() if isinstance(fault, OSError) else fault)


def _send(pipe: Connection, message: ToRunner) -> None:
    pipe.send(message)


def _exit_without_parent(runner: int) -> None:
    """End this process once the runner is gone, even if an endless kernel is running."""
    while os.getppid() == runner:
        time.sleep(_ORPHAN_PERIOD)
    os._exit(1)


def _throttled_progress(pipe: Connection) -> Progress:
    last, activity = 0.0, ""

    def report(what: str, done: int, of: int, left: float | None = None, later: float = 0.0, /) -> None:
        nonlocal last, activity
        if what != activity or time.monotonic() - last > _PROGRESS_PERIOD:
            last, activity = time.monotonic(), what
            _send(pipe, Progressed(what, done, of))

    return report

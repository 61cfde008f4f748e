"""The runner's side of the worker process. It starts the process with subprocess and talks to it over one socket.

multiprocessing is not used. Its spawn method runs the caller's script again unless it has a main guard, and it does not
allow daemonic processes, such as Dask's workers, to have children. The process gets the runner's `sys.path`, so both
import the same gemmbench. It runs in a separate session, so Ctrl-C reaches only the runner. Output of the process and
its kernels goes to a pipe that the runner reads, never to the protocol or the terminal.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Pipe
from pathlib import Path

from gemmbench.analysis.toolkit import remove_secrets
from gemmbench.backends.host import BLAS_SETTINGS
from gemmbench.backends.printed_text import OutputThread
from gemmbench.bench.workers.messages import Open, Stop, ToRunner, ToWorker
from gemmbench.errors import DeviceError, LaunchError, name_signal

_BOOT = "import sys; _, fd, *sys.path = sys.argv; from gemmbench.bench.workers.serve import main; main(int(fd))"
"""Sets sys.path before anything is imported, because a file in the user's working folder must not hide a module."""
HEAP_SETTINGS = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}
"""Makes the C library keep freed memory, because getting new pages for a large array takes as long as copying it."""
_POLL = 0.2
"""Seconds between two checks for an interruption."""


@dataclass(frozen=True)
class Ended:
    """Returned instead of a message if the process has ended or closed its end of the pipe."""


@dataclass(frozen=True)
class Silent:
    """Returned instead of a message if none came in time."""


class WorkerProcess:
    """A running worker process. `output` reads what it prints."""

    def __init__(self, request: Open):
        self._pipe, theirs = Pipe()
        self.output = OutputThread()
        with theirs:
            command = [sys.executable, "-u", "-c", _BOOT, str(theirs.fileno()), *import_path()]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=self.output.sink,
                stderr=self.output.sink,
                pass_fds=[theirs.fileno()],
                env=BLAS_SETTINGS | HEAP_SETTINGS | remove_secrets(os.environ),
                start_new_session=True,
            )
        self.output.start()
        self._stopping = False
        self.send(request)

    def send(self, message: ToWorker) -> bool:
        """Send a message. Returns False if the process has ended."""
        try:
            self._pipe.send(message)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def receive(self, seconds: float, is_interrupted: Callable[[], bool]) -> ToRunner | Ended | Silent:
        """Return the next message. While waiting, pass an interruption on to the process.

        Raises DeviceError for a message that this version does not know.
        """
        end = time.monotonic() + seconds
        while True:
            if not self._stopping and is_interrupted():
                self._stopping = True
                self.send(Stop())
            try:
                if self._pipe.poll(_POLL):
                    return _check_message(self._pipe.recv())
            except (EOFError, ConnectionResetError, BrokenPipeError):
                return Ended()
            if time.monotonic() > end:
                return Silent()

    def explain_end(self) -> LaunchError:
        """Explain why the process ended. It must have ended already."""
        try:
            code = self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            return LaunchError("its process closed its connection without ending")
        if code < 0:
            return LaunchError(f"its process was ended by {name_signal(-code)}")
        return LaunchError(f"its process ended with exit code {code}")

    def close(self, seconds: float) -> None:
        """Ask the process to end, and kill it if it does not end within `seconds`."""
        self._pipe.close()  # the worker ends when its pipe is closed
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
        self.output.stop()

    def kill(self) -> None:
        """Kill the process. While it waits for the device, nothing gentler would work."""
        self._process.kill()
        self._process.wait()
        self._pipe.close()
        self.output.stop()


def import_path() -> list[str]:
    """Return the entries of sys.path as absolute paths, and the folder that gemmbench was imported from."""
    entries = [os.path.abspath(entry) for entry in sys.path]  # noqa: PTH100 - "" is the working folder
    root = str(Path(__file__).resolve().parents[3])
    return entries if root in map(os.path.realpath, entries) else [root, *entries]


def _check_message(message: object) -> ToRunner:
    if isinstance(message, ToRunner):
        return message
    raise DeviceError(f"the worker process sent an unknown message: {message!r}; this is a bug in gemmbench")

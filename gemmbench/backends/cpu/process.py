"""One running executable: starts it, sends it commands and explains its death."""

from __future__ import annotations

import contextlib
import select
import signal
import subprocess
import time
import weakref
from pathlib import Path

from gemmbench.errors import LaunchError, LaunchTimeout

_LEAVE = 1.0
"""Seconds for an executable to end its workers and itself after its input is closed."""

_HINTS = {
    "SIGSEGV": "an access outside its operands, shared memory or stack, or a misaligned vector",
    "SIGFPE": "an integer division by zero",
    "SIGILL": "__trap, or an instruction that this processor does not have",
    "SIGABRT": "a failed assertion",
    "SIGKILL": "killed by the system, usually because memory ran out",
}


class KernelProcess:
    """An executable that has mapped its operands; it ends with this object.

    Its processes also end with the thread that started them, and have a session of their own, so
    that Ctrl-C does not reach them. `binding` is the first command, `file` the descriptor of the
    operands, `timeout` seconds for one window. Raises LaunchError.
    """

    def __init__(self, path: Path, binding: str, file: int, timeout: float):
        self._timeout = timeout
        try:
            self._child = subprocess.Popen(
                [path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                pass_fds=(file,),
                start_new_session=True,
            )
        except OSError as fault:
            raise LaunchError(f"cannot start {path}: {fault.strerror}") from None
        self.end = weakref.finalize(self, _end_process, self._child)
        self._ask(f"bind {binding}")

    def time(self, first: int, launches: int) -> float:
        """Seconds for `launches` launches back to back, on operand set `first` and those after it in turn.

        Raises LaunchError, LaunchTimeout; either ends the process.
        """
        return float(self._ask(f"time {first} {launches}"))

    def _ask(self, command: str) -> str:
        """The answer to a command, without its first word."""
        if not self.end.alive:
            raise LaunchError("the kernel's process ended after an earlier error")
        assert self._child.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._child.stdin.write(f"{command}\n".encode())
        word, _, rest = self._answer().partition(" ")
        if word == "fault":
            self.end()
            raise LaunchError(rest)
        return rest

    def _answer(self) -> str:
        assert self._child.stdout is not None
        answer, deadline = b"", time.monotonic() + self._timeout
        while not answer.endswith(b"\n"):
            if not _wait_for_event(select.POLLIN, self._child.stdout.fileno(), deadline):
                self._child.kill()  # its workers die with it
                self.end()
                raise LaunchTimeout(f"did not end within {self._timeout:g} s")
            more = self._child.stdout.read(4096)
            if not more:
                raise self._death()
            answer += more
        return answer.decode(errors="replace").strip()

    def _death(self) -> LaunchError:
        code = self._child.wait()
        self.end()
        if code >= 0:
            return LaunchError(f"the kernel's process exited with code {code}")
        name = signal.Signals(-code).name
        return LaunchError(f"the kernel crashed with {name}: {_HINTS.get(name, 'see signal(7)')}")


def _wait_for_event(event: int, descriptor: int, deadline: float) -> bool:
    """Wait for the event or the end of the other side.

    False if neither comes before the deadline.
    """
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))


def _end_process(child: subprocess.Popen[bytes]) -> None:
    with child:  # closes the pipes and waits
        assert child.stdin is not None and child.stdout is not None
        child.stdin.close()
        # Its output closes when it ends; waiting for the process with a limit would poll.
        if not _wait_for_event(0, child.stdout.fileno(), time.monotonic() + _LEAVE):
            child.kill()

"""A tool as a process with a time limit: it ends together with all processes it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gemmbench.errors import BuildTimeout

COMPILER_NICENESS = 10
"""For compilers that run while kernels are measured: whatever drives the device comes first."""

_running: set[int] = set()
"""Process groups of the commands that run now, in any thread."""


def run_limited(
    command: Sequence[str],
    limit: float,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    niceness: int = 0,
) -> subprocess.CompletedProcess[str]:
    """Run `command` with this niceness, and return its output and exit code.

    Raises BuildTimeout after `limit` seconds, OSError if the command cannot start.
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        _running.add(process.pid)
        if niceness:
            _renice(process.pid, niceness)
        try:
            out, complaints = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            _kill_group(process.pid)  # a compiler runs its passes as processes of their own
            raise BuildTimeout(f"did not compile within {limit:g} s, the limit for one compilation") from None
        except BaseException:
            _kill_group(process.pid)
            raise
        finally:
            _running.discard(process.pid)
    return subprocess.CompletedProcess(list(command), process.returncode, out, complaints)


def kill_running_commands() -> None:
    """Kill every command that runs now, in whichever thread; each ends there as if it had crashed."""
    for group in tuple(_running):
        _kill_group(group)


def _renice(group: int, niceness: int) -> None:
    with suppress(OSError):  # it may have ended, or be nicer already
        os.setpriority(os.PRIO_PGRP, group, niceness)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):  # it may end meanwhile
        os.killpg(group, signal.SIGKILL)

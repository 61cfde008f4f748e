"""Lock files shared by several processes.

A process that waits for a lock says so, and after a while raises an error.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gemmbench.planning.files import escape_cell, printable

_PATIENCE = 1.5
"""Seconds to wait before telling the user what is being waited for."""
_LIMIT = 60.0
"""Seconds to wait before raising an error. Work under a lock takes only a moment."""
_POLL = 0.05
_LONGEST_COMMAND = 60
_LOGGER = logging.getLogger("gemmbench")


@contextmanager
def hold_lock(path: Path, limit: float = _LIMIT) -> Iterator[None]:
    """Hold the lock of a file during the `with` block. Creates the file if it is missing.

    Raises OSError. If another process holds the lock for `limit` seconds, raises TimeoutError, whose `strerror` names
    that process.
    """
    # Open for reading and writing, because opening a FIFO only for writing would wait for a reader.
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _wait_for_lock(held, path, limit)
        yield
    finally:
        os.close(held)


def _wait_for_lock(held: int, path: Path, limit: float) -> None:
    started, is_said, name = time.monotonic(), False, printable(str(path))
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        waited = time.monotonic() - started
        if waited >= limit:
            who = _describe_holder(held)
            raise TimeoutError(errno.ETIMEDOUT, f"{who} held the lock {name} for {limit:g} s; wait for it or end it")
        if waited >= _PATIENCE and not is_said:
            is_said = True
            _LOGGER.warning("waiting for the lock %s, which %s holds", name, _describe_holder(held))
        time.sleep(_POLL)


def _describe_holder(file: int) -> str:
    """Describe the process that holds the lock of an open file, such as `process 123 (gemmbench run)`."""
    known = os.fstat(file)
    device = f"{os.major(known.st_dev):02x}:{os.minor(known.st_dev):02x}:{known.st_ino}"
    with suppress(OSError, ValueError):  # the process ended meanwhile, or the list has another format
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            fields = line.split()
            if fields[1] == "FLOCK" and fields[5] == device:
                return f"process {int(fields[4])}{_quote_command(fields[4])}"
    return "another process"


def _quote_command(process: str) -> str:
    """Return the command of a process, such as ` (gemmbench run)`; "" if unknown."""
    with suppress(OSError):
        command = Path(f"/proc/{process}/cmdline").read_bytes().decode(errors="replace").replace("\0", " ").strip()
        return f" ({escape_cell(command[:_LONGEST_COMMAND])})" if command else ""
    return ""

"""Handles output streams that are closed, full, in another encoding, or read by GitHub Actions."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from gemmbench.planning.files import defuse_workflow_commands, runs_in_github_actions

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)


def open_closed_streams() -> None:
    """Open /dev/null in place of every closed stream, so that no results file can become stdout.

    A replaced stdout cannot be written, since whoever closed it would miss the output. Messages on stderr are lost.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_RDONLY if name == "stdout" else os.O_RDWR
            os.open(os.devnull, mode)  # takes the lowest free number, which is this one
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


def escape_unencodable() -> None:
    r"""Write a character that stdout cannot encode as `\xfc`, as stderr does, since a locale may allow only ASCII."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_unwritable_output(fault: OSError) -> bool:
    """Return whether an error came from a stream, such as /dev/full. Errors of files contain a file name."""
    return fault.errno in _UNWRITABLE and fault.filename is None


def discard_output() -> None:
    """Send the remaining output of stdout to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def defuse_output() -> Iterator[None]:
    """Keep GitHub Actions from treating anything that the block writes as a command.

    Use `write_workflow_command` to write a command.
    """
    if not runs_in_github_actions():
        yield
        return
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(_DefusedStream, streams)
    try:
        yield
    except Exception:  # Python would print it on the stream itself
        traceback.print_exc()
        sys.exit(1)
    finally:
        sys.stdout.flush()
        sys.stdout, sys.stderr = streams


def write_workflow_command(command: str) -> None:
    """Write a line to stdout that GitHub Actions executes as a command."""
    stream = sys.stdout.stream if isinstance(sys.stdout, _DefusedStream) else sys.stdout
    stream.write(f"{command}\n")


_MAY_GO_ON = re.compile(r"[^\w!-~]*(?::[^\w\s!-~]*)?\Z")
"""Matches the beginning of a line that may become a command when more is written."""
_TAIL = 32
"""The number of characters to remember of any other line, in case `##[` is written in parts."""


class _DefusedStream(io.TextIOBase):
    """Escapes workflow commands in what it writes to another stream, even if lines arrive in parts."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self._line = ""

    def write(self, text: str) -> int:
        """Write text. The part of a line that was already written is safe, so only the rest can change."""
        safe = defuse_workflow_commands(self._line + text)
        self.stream.write(safe[len(self._line) :])
        line = re.split(r"[\n\r]", safe)[-1]
        self._line = line if len(line) <= _TAIL or _MAY_GO_ON.match(line) else f".{line[-_TAIL:]}"
        return len(text)

    def writable(self) -> bool:
        """Return True, since the stream can always be written to."""
        return True

    def flush(self) -> None:
        """Flush the other stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether the other stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the other stream."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding that the stream claims. If it claimed ASCII, click would bypass it."""
        return "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the other stream writes characters that its encoding lacks."""
        return self.stream.errors

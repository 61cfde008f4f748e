"""The streams that a command writes to: closed, full, of another encoding, or read by GitHub Actions."""

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
    """Open /dev/null in place of every closed stream, so that no results file becomes stdout.

    Stdout cannot be written then: who closed it would miss what a command says. Messages on stderr are lost.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            mode = os.O_RDONLY if name == "stdout" else os.O_RDWR
            os.open(os.devnull, mode)  # takes the lowest free number, which is this one
            setattr(sys, name, open(number, "r" if number == 0 else "w", closefd=False))  # noqa: SIM115


def escape_unencodable() -> None:
    r"""Write `\xfc` for a letter that the encoding of stdout lacks, as stderr does: a locale may know ASCII only."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def is_unwritable_output(fault: OSError) -> bool:
    """The fault is that of a stream, such as /dev/full; faults of files name the file."""
    return fault.errno in _UNWRITABLE and fault.filename is None


def discard_output() -> None:
    """Send what is still to be written to stdout to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def defuse_output() -> Iterator[None]:
    """In GitHub Actions, whatever the block writes to stdout and stderr is text to the runner and no command.

    Commands are written with `write_workflow_command`.
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
    """Write a line to stdout that the runner of GitHub Actions obeys."""
    stream = sys.stdout.stream if isinstance(sys.stdout, _DefusedStream) else sys.stdout
    stream.write(f"{command}\n")


_MAY_GO_ON = re.compile(r"[^\w!-~]*(?::[^\w\s!-~]*)?\Z")
"""The beginning of a line that may become a command with what is written next."""
_TAIL = 32
"""Characters of any other line that are kept, for a `##[` that is written in parts."""


class _DefusedStream(io.TextIOBase):
    """A stream that escapes workflow commands in what it writes to another one, even if lines come in parts."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self._line = ""

    def write(self, text: str) -> int:
        """Write text. What was written of its first line is safe, so only what follows can change."""
        safe = defuse_workflow_commands(self._line + text)
        self.stream.write(safe[len(self._line) :])
        line = re.split(r"[\n\r]", safe)[-1]
        self._line = line if len(line) <= _TAIL or _MAY_GO_ON.match(line) else f".{line[-_TAIL:]}"
        return len(text)

    def writable(self) -> bool:
        """True, as for every stream that is written to."""
        return True

    def flush(self) -> None:
        """Flush the other stream."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether the other stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """The descriptor of the other stream."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the other stream, by another name: click would write past a stream that has ASCII."""
        return "utf-8"

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How the other stream writes letters that its encoding lacks."""
        return self.stream.errors

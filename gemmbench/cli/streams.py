"""Standard streams that are closed, that nobody reads to the end, or that cannot be written."""

from __future__ import annotations

import errno
import io
import os
import sys

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def open_closed_streams() -> None:
    """Open /dev/null in place of every closed stream, so that no results file becomes stdout."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
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

"""What `gemmbench doctor` finds out about a machine."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """One line: what was looked at, how it is, and for a warning or a fault what to do next.

    A warning costs something, such as a row or the trust in a number; with a fault nothing can run.
    """

    what: str
    status: Status
    said: str
    next_step: str = ""


@dataclass(frozen=True)
class Peaks:
    """What a device reaches at best.

    `copy` is bytes/s inside its memory, read and written together; `fma` floating-point operations a
    second in registers alone, at `clock_hz` (0: not seen); `launch` and `ungated` seconds of an empty
    kernel, behind the gate (or as launches go here) and without it.
    """

    copy: float
    fma: float
    clock_hz: float
    launch: float
    ungated: float


def ok(what: str, said: str) -> Finding:
    """All is well."""
    return Finding(what, "ok", said)


def bad(what: str, said: str, next_step: str, fatal: bool = False) -> Finding:
    """A warning, or a fault."""
    return Finding(what, "fault" if fatal else "warning", said, next_step)


def writable(what: str, folder: Path, change: str) -> Finding:
    """Whether files can be made in a folder, which may not be there yet; `change` says how to name another."""
    home = next(each for each in (folder, *folder.absolute().parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=home):
            return ok(what, str(folder))
    except OSError as fault:
        return bad(what, f"{folder} cannot be written: {fault.strerror}", change, fatal=True)

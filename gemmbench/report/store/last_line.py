"""The last line of a file, however large the file is."""

from __future__ import annotations

import os
from io import FileIO
from typing import BinaryIO

_BLOCK = 1 << 16


def read_last_line(file: BinaryIO) -> bytes:
    """The last line that is complete; without one, an empty line."""
    end = find_line_start(file, file.seek(0, os.SEEK_END))
    start = find_line_start(file, max(0, end - 1))
    file.seek(start)
    return file.read(end - start)


def find_line_start(file: BinaryIO | FileIO, end: int) -> int:
    """Where the line begins that the position `end` is in."""
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        position = file.read(end - start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0

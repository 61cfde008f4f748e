"""The file of a run that is being measured: the rows of each batch are appended at once, each completely."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path
from typing import BinaryIO

import msgspec

from gemmbench.bench.record import End, Record, Request, TransferRecord
from gemmbench.errors import StoreError
from gemmbench.report.store.decoding import BrokenRow, decode_line
from gemmbench.report.store.recorded_run import Line, Run

_BLOCK = 1 << 16


def read_last_line(file: BinaryIO) -> bytes:
    """The last line that is complete; without one, an empty line."""
    end = _find_line_start(file, file.seek(0, os.SEEK_END))
    start = _find_line_start(file, max(0, end - 1))
    file.seek(start)
    return file.read(end - start)


def _find_line_start(file: BinaryIO | FileIO, end: int) -> int:
    """Where the line begins that the position `end` is in."""
    while end:
        start = max(0, end - _BLOCK)
        file.seek(start)
        position = file.read(end - start).rfind(b"\n")
        if position >= 0:
            return start + position + 1
        end = start
    return 0


class Journal:
    """Adds rows to a run and appends them to its file. A skip that the run already had is not added again.

    If a row cannot be written, `fault` says why. From then on rows are only added to the run, and the
    file keeps every row that it has.
    """

    def __init__(self, run: Run):
        """Raises StoreError if the file cannot be written, or another run is writing it."""
        self.run = run
        self.path = path = run.path
        self.fault = ""
        self._skips = {record.identity for record in run.records if record.status == "skipped"}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(path, "a+")
            _lock(self._file, path)
            self._end = _repair_end(self._file)
        except OSError as fault:
            raise StoreError(f"cannot write results to {path}: {fault.strerror}; choose another --out") from None
        self._empty = self._end == 0
        if self._empty:
            self._append(run.environment)
        if self.fault:
            self.__exit__()
            raise StoreError(f"{self.fault}; choose another --out")

    def write(self, records: Sequence[Record] | Sequence[TransferRecord]) -> None:
        """Add rows. They are on disk when this returns, unless there is a `fault`."""
        new = [record for record in records if not (isinstance(record, Record) and record.identity in self._skips)]
        if new and not self.fault:
            before = self._end
            self._append(*new)
            self._empty &= self._end == before
        for record in new:
            if isinstance(record, Record):
                self.run.records.append(record)
            else:
                self.run.transfers.append(record)

    def extend(self, request: Request) -> None:
        """Say that a resumed run measures more than it was to measure before."""
        self._append(request)
        self.run.request = request

    def finish(self) -> None:
        """Say that the run came to its end, if it has a row. It is never resumed after that."""
        if not self._empty and not self.fault:
            self._append(End(finished=datetime.now(timezone.utc).isoformat(timespec="seconds")))

    def _append(self, *rows: Line) -> None:
        try:
            for row in rows:
                self._end += self._write_line(msgspec.json.encode(row) + b"\n")
            os.fsync(self._file.fileno())
        except OSError as fault:
            self.fault = f"cannot write to {self.path}: {fault.strerror}"
            with suppress(OSError):
                self._file.truncate(self._end)

    def _write_line(self, line: bytes) -> int:
        """Write a line and return its length."""
        left = line
        while left:
            left = left[self._file.write(left) :]
        return len(line)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; delete it if it got no row."""
        with suppress(OSError):
            self._file.close()
        if self._empty:
            self.path.unlink(missing_ok=True)


def _lock(file: FileIO, path: Path) -> None:
    """Two runs may share a folder but not a file. The lock ends with the process, even if killed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StoreError(f"{path}: another run is writing it; wait until it ends, or leave out --resume") from None


def _repair_end(file: FileIO) -> int:
    """Cut off what follows the last complete row, so that new rows begin on lines of their own.

    A row that lacks only the end of its line gets it. Nothing else in the file is touched. Returns
    its length.
    """
    end = file.seek(0, os.SEEK_END)
    start = _find_line_start(file, end)
    file.seek(start)
    rest = file.read(end - start)
    if not rest:
        return end
    try:
        decode_line(rest)
    except BrokenRow:
        return file.truncate(start)
    return end + file.write(b"\n")

"""The file of a run in progress. Rows are appended as soon as their batch is complete."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
from io import FileIO
from itertools import count
from pathlib import Path
from typing import BinaryIO

import msgspec

from gemmbench.bench.record import End, Record, Request, TransferRecord
from gemmbench.errors import StoreError
from gemmbench.report.store.decoding import BrokenRow, decode_line
from gemmbench.report.store.recorded_run import Line, Run

_BLOCK = 1 << 16


def read_last_line(file: BinaryIO) -> bytes:
    """Return the last complete line, or an empty one if there is none."""
    end = _find_line_start(file, file.seek(0, os.SEEK_END))
    start = _find_line_start(file, max(0, end - 1))
    file.seek(start)
    return file.read(end - start)


def _find_line_start(file: BinaryIO | FileIO, end: int) -> int:
    """Find the beginning of the line that contains the position `end`."""
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

    If a row cannot be written, `fault` says why. From then on, rows are only added to the run, and the file keeps the
    rows that it has. If something else removes, moves, replaces or changes the file, `fault` says so, and a new file
    next to it gets all rows, including later ones. The new file becomes the path of the run.
    """

    def __init__(self, run: Run):
        """Raises StoreError if the file cannot be written, or if another run is writing it."""
        self.run = run
        self.fault = ""
        self._skips = {record.identity for record in run.records if record.status == "skipped"}
        self._written = hashlib.blake2b()
        self._open(run.path, "a+")
        self._empty = self._end == 0
        if self._empty:
            self._append(run.environment)
        if self.fault:
            self.__exit__()
            raise StoreError(f"{self.fault}; choose another --out")

    def _open(self, path: Path, mode: str) -> None:
        """Open and lock a file, and cut off what follows its last row. Raises StoreError."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(path, mode)
            _lock(self._file, path)
            self._end = _repair_end(self._file)
            self._written = _hash_file(self._file)
        except OSError as fault:
            raise StoreError(f"cannot write results to {path}: {fault.strerror}; choose another --out") from None
        self._is_full = False

    def write(self, records: Sequence[Record] | Sequence[TransferRecord]) -> None:
        """Add rows. They are on disk when this returns, unless there is a `fault`."""
        new = [record for record in records if not (isinstance(record, Record) and record.identity in self._skips)]
        for record in new:
            if isinstance(record, Record):
                self.run.records.append(record)
            else:
                self.run.transfers.append(record)
        if new and not self._is_full:
            before = self._end
            self._append(*new)
            self._empty &= self._end == before

    def extend(self, request: Request) -> None:
        """Record that a resumed run measures more than was planned before."""
        self.run.request = request
        self._append(request)

    def finish(self, is_complete: bool = True) -> None:
        """Mark the run as finished if it is complete and has a row. It is then never resumed.

        Also checks that the file contains what was written to it.
        """
        if is_complete and not self._empty and not self.fault:
            self._append(End(finished=datetime.now(timezone.utc).isoformat(timespec="seconds")))
        if not self.fault:
            self._leave(self._find_damage() or self._find_change())

    def _append(self, *rows: Line) -> None:
        try:
            for row in rows:
                self._end += self._write_line(msgspec.json.encode(row) + b"\n")
            os.fsync(self._file.fileno())
        except OSError as fault:
            self.fault = f"cannot write to {self.path}: {fault.strerror}"
            self._is_full = True
            with suppress(OSError):
                self._file.truncate(self._end)
            return
        if not self.fault:
            self._leave(self._find_damage())

    def _write_line(self, line: bytes) -> int:
        """Write a line and return its length."""
        left = line
        while left:
            left = left[self._file.write(left) :]
        self._written.update(line)
        return len(line)

    def _find_damage(self) -> str:
        """Describe what happened to the file if it is not what was written; else ""."""
        mine = os.fstat(self._file.fileno())
        try:
            there = self.path.stat()
        except OSError:
            return "moved away" if mine.st_nlink else "removed"
        if not os.path.samestat(mine, there):
            return "replaced by another file"
        if mine.st_size == self._end:
            return ""
        return "cut short" if mine.st_size < self._end else "appended to by something else"

    def _find_change(self) -> str:
        """Describe whether bytes of the file were changed."""
        try:
            return "" if _hash_file(self._file).digest() == self._written.digest() else "changed by something else"
        except OSError as fault:
            return f"unreadable ({fault.strerror})"

    def _leave(self, damage: str) -> None:
        """Leave a damaged file unchanged, and write all rows to a new file next to it."""
        if not damage:
            return
        self.fault = f"{self.path} was {damage} while it was being written"
        if not (self.run.records or self.run.transfers):
            return
        old = self._file
        try:
            self._open(_find_free(self.path), "x+")
        except (StoreError, OSError) as fault:
            self._is_full = True
            self.fault += f", and its rows are lost: {fault}"
            return
        with suppress(OSError):
            old.close()
        run = self.run
        self._append(run.environment, *([run.request] if run.request else []), *run.records, *run.transfers)
        if not self._is_full:
            run.path = self.path
            self.fault += f"; all rows are in {self.path}"

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file, and delete it if it has no row."""
        with suppress(OSError):
            if self._empty and not self._find_damage():
                self.path.unlink(missing_ok=True)
            self._file.close()


def _find_free(path: Path) -> Path:
    """Return a path next to `path` where nothing exists yet: run-2.jsonl for run.jsonl."""
    paths = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in count(2))
    return next(free for free in paths if not os.path.lexists(free))


def _hash_file(file: FileIO) -> hashlib.blake2b:
    """Return a hash of a file that can be extended."""
    found = hashlib.blake2b()
    file.seek(0)
    while block := file.read(_BLOCK):
        found.update(block)
    return found


def _lock(file: FileIO, path: Path) -> None:
    """Lock the file, since two runs must not share one. The lock ends with the process, even if it is killed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise StoreError(f"{path}: another run is writing it; wait until it ends, or leave out --resume") from None


def _repair_end(file: FileIO) -> int:
    """Cut off what follows the last complete row, so that each new row begins on a new line.

    A row that lacks only its line end gets one. Nothing else in the file is changed. Returns its length.
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

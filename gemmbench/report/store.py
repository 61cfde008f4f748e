"""Results files: a journal of JSON lines, written row by row, and how it is read."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

from gemmbench.bench.record import MODES, SCHEMA, Environment, Record, TransferRecord
from gemmbench.errors import StoreError
from gemmbench.report import old_schema

Line = Environment | Record | TransferRecord
_decoder = msgspec.json.Decoder(Line)


@dataclass
class Run:
    """One results file: its header, its records in order, and a warning if its end was missing."""

    environment: Environment
    records: list[Record] = field(default_factory=list)
    path: Path = field(default_factory=Path)
    warning: str = ""
    transfers: list[TransferRecord] = field(default_factory=list)


class Journal:
    """Adds rows to a run and appends them to its file, each completely and at once.

    A skip that the run had when the journal was opened is not added again.
    """

    def __init__(self, run: Run):
        """Raises StoreError if the file cannot be written, or another run is writing it."""
        self.run = run
        self.path = path = run.path
        self._skips = {record.identity for record in run.records if record.status == "skipped"}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
            _lock(self._file, path)
            _repair_end(path)
            self._file.seek(0, os.SEEK_END)
        except OSError as fault:
            raise StoreError(f"cannot write results to {path}: {fault.strerror}; choose another --out") from None
        self._empty = self._file.tell() == 0
        if self._empty:
            self._append(run.environment)

    def write(self, record: Record | TransferRecord) -> None:
        """Add one row. It is on disk when this returns. Raises StoreError."""
        if isinstance(record, Record) and record.identity in self._skips:
            return
        self._append(record)
        self._empty = False
        if isinstance(record, Record):
            self.run.records.append(record)
        else:
            self.run.transfers.append(record)

    def _append(self, row: Line) -> None:
        try:
            self._file.write(msgspec.json.encode(row) + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as fault:
            raise StoreError(f"cannot write to {self.path}: {fault.strerror}") from None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file; delete it if it got no row."""
        self._file.close()
        if self._empty:
            self.path.unlink(missing_ok=True)


def _lock(file: IO[bytes], path: Path) -> None:
    """Two runs may share a folder but not a file. The lock ends with the process, even if killed."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StoreError(f"{path}: another run is writing it; wait until it ends, or leave out --resume") from None


def _repair_end(path: Path) -> None:
    """Remove what follows the last complete row, so that new rows begin on lines of their own."""
    content = path.read_bytes() if path.exists() else b""
    complete, _, rest = content.rpartition(b"\n")
    if not rest:
        return
    try:
        _decode(rest)
        path.write_bytes(content + b"\n")
    except msgspec.DecodeError:
        path.write_bytes(complete + b"\n" if complete else b"")


def _decode(line: bytes) -> Line:
    """Decode a row of this schema or of an older one. Raises msgspec.DecodeError."""
    try:
        row: Line = _decoder.decode(line)
        return row
    except msgspec.ValidationError:
        old = msgspec.json.decode(line)
        if not isinstance(old, dict) or not old_schema.is_old(old):
            raise
    try:
        upgraded: Line = msgspec.convert(old_schema.upgrade_row(old), Line)
        return upgraded
    except KeyError as fault:
        raise msgspec.ValidationError(f"missing required field `{fault.args[0]}`") from None


def read(path: Path) -> Run:
    """Read a results file; an incomplete last line only gives a warning. Raises StoreError."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as fault:
        raise StoreError(f"{path}: cannot be read: {fault.strerror}") from None
    rows, warning = _decode_lines(path, lines)
    if not rows or not isinstance(rows[0], Environment):
        raise _foreign_file(path)
    records = [row for row in rows if isinstance(row, Record)]
    transfers = [row for row in rows if isinstance(row, TransferRecord)]
    return Run(rows[0], _latest_records(records), path, warning, _latest_transfers(transfers))


def read_environment(path: Path) -> Environment:
    """Read only the header of a results file. Raises StoreError."""
    try:
        with path.open("rb") as file:
            rows, _ = _decode_lines(path, [file.readline()])
    except OSError as fault:
        raise StoreError(f"{path}: cannot be read: {fault.strerror}") from None
    if not rows or not isinstance(rows[0], Environment):
        raise _foreign_file(path)
    return rows[0]


def _decode_lines(path: Path, lines: list[bytes]) -> tuple[list[Line], str]:
    rows: list[Line] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            rows.append(_decode(line))
        except msgspec.DecodeError as fault:
            _refuse_newer(path, line)
            if not rows:
                raise _foreign_file(path) from None
            if number == len(lines):  # no newline after it: the writer was cut off
                return rows, f"{path}: the last line is cut off and was left out; --resume measures it again"
            raise StoreError(f"{path}:{number}: broken row: {fault}; remove the line to read the rest") from None
        _refuse_newer(path, line)
    return rows, ""


def _foreign_file(path: Path) -> StoreError:
    return StoreError(f"{path}:1: not a gemmbench results file: its first line must describe the run; name a .jsonl")


def _refuse_newer(path: Path, line: bytes) -> None:
    try:
        schema = msgspec.json.decode(line).get("schema", SCHEMA)
    except (msgspec.DecodeError, AttributeError):
        return
    if schema > SCHEMA:
        raise StoreError(f"{path}: written by a newer gemmbench (schema {schema}, this one reads {SCHEMA}); upgrade")


def _latest_records(records: list[Record]) -> list[Record]:
    """The last of rows that were measured again after an interruption."""
    latest: dict[tuple[object, ...], Record] = {}
    for record in records:
        latest[(record.identity, record.batch_key)] = record
    return list(latest.values())


def _latest_transfers(records: list[TransferRecord]) -> list[TransferRecord]:
    """The last of jobs that were measured again."""
    return list({(record.kernel_key, record.mode): record for record in records}.values())


def complete_transfers(records: list[TransferRecord]) -> set[str]:
    """Keys of kernels that have the rows of all modes, not counting interrupted ones."""
    rows = Counter(record.key for record in records if record.stopped != "interrupted")
    return {key for key, count in rows.items() if count == len(MODES)}


def complete_batches(records: list[Record]) -> dict[str, list[Record]]:
    """Batches that have all their rows, by key."""
    batches: dict[str, list[Record]] = {}
    for record in records:
        if record.batch_key and record.stopped != "interrupted":
            batches.setdefault(record.batch_key, []).append(record)
    return {key: rows for key, rows in batches.items() if len(rows) == rows[0].batch_rows}


def find_newest(folder: Path, sweep: str, device: str) -> Path:
    """The newest results file of this sweep and device in a folder. Raises StoreError."""
    for path in sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True):
        try:
            environment = read(path).environment
        except StoreError:
            continue
        if (environment.sweep, environment.device) == (sweep, device):
            return path
    missing = f"no results of sweep '{sweep}' on {device} in {folder}"
    raise StoreError(f"nothing to resume: {missing}; name a file, or start a new run without --resume")

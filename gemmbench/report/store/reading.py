"""Reads results files, decides which of their rows count, and explains files that cannot be read."""

from __future__ import annotations

import fcntl
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from gemmbench.bench.record import MODES, SCHEMA, End, Environment, Record, Request, TransferRecord
from gemmbench.errors import StoreError
from gemmbench.planning.files import is_compressed
from gemmbench.report.store.compression import decompress
from gemmbench.report.store.decoding import BrokenRow, decode_line, read_schema, share_values
from gemmbench.report.store.journal import read_last_line
from gemmbench.report.store.recorded_run import Line, Run


def keep_latest(run: Run) -> Run:
    """Keep only the last of those rows that were measured again after an interruption."""
    records = {(record.identity, record.batch_key): record for record in run.records}
    transfers = {(record.kernel_key, record.mode): record for record in run.transfers}
    return replace(run, records=list(records.values()), transfers=list(transfers.values()))


def complete_transfers(records: list[TransferRecord]) -> set[str]:
    """Return the keys of kernels with rows for all modes. Interrupted rows do not count."""
    rows = Counter(record.key for record in records if record.stopped != "interrupted")
    return {key for key, count in rows.items() if count == len(MODES)}


def complete_batches(records: list[Record]) -> dict[str, list[Record]]:
    """Return the batches, by key, whose last attempt has all their rows."""
    batches: dict[str, list[Record]] = {}
    for record in records:
        if record.batch_key:
            batches.setdefault(record.batch_key, []).append(record)
    lasts = {key: rows[-rows[-1].batch_rows :] for key, rows in batches.items()}
    return {key: rows for key, rows in lasts.items() if _is_whole(rows)}


def _is_whole(rows: list[Record]) -> bool:
    """Return whether the last rows of a batch are from one attempt, and none of them was interrupted."""
    distinct = {row.identity for row in rows}
    return len(distinct) == rows[-1].batch_rows and all(row.stopped != "interrupted" for row in rows)


def read_results(path: Path) -> Run:
    """Read a results file. An incomplete last line is left out. Raises StoreError."""
    known: dict[object, object] = {}
    with open_results_file(path) as file:
        run = Run(_read_header(path, file), path=path)
        for number, line in enumerate(file, 2):
            if not line.strip():
                continue
            try:
                row = decode_line(line)
                share_values(row, known)
                _add_row(run, row)
            except BrokenRow as fault:
                if not line.endswith(b"\n"):  # the writer was cut off
                    run.is_torn = True
                    break
                raise StoreError(f"{path}:{number}: broken row: {fault}; remove the line to read the rest") from None
    return keep_latest(run)


def read_environment(path: Path) -> Environment:
    """Read only the header of a results file. Raises StoreError."""
    with open_results_file(path) as file:
        return _read_header(path, file)


def is_finished(path: Path) -> bool:
    """Return whether the last line of an uncompressed file marks its run as finished. Raises StoreError."""
    with open_results_file(path) as file:
        try:
            return isinstance(decode_line(read_last_line(file)), End)
        except BrokenRow:
            return False


def is_being_written(path: Path) -> bool:
    """Return whether a run has the file open. Raises StoreError, also if files cannot be locked."""
    with open_results_file(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@contextmanager
def open_results_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file, compressed or not, for reading. Raises StoreError, also for endless pipes and devices."""
    try:
        if stat.S_ISFIFO(mode := path.stat().st_mode) or stat.S_ISCHR(mode):
            raise StoreError(f"{path}: not a file but a pipe or a device; choose a .jsonl file")
        with path.open("rb") as file:
            yield decompress(file, path) if is_compressed(path) else file
    except FileNotFoundError:
        raise StoreError(f"{path}: no such file; `gemmbench show` without a name shows the newest run") from None
    except OSError as fault:
        raise StoreError(f"{path}: cannot be read: {fault.strerror}") from None


def _read_header(path: Path, file: BinaryIO) -> Environment:
    line = file.readline()
    schema = read_schema(line)
    if schema is not None and schema != SCHEMA:
        age, step = (
            ("a newer", "upgrade") if schema > SCHEMA else ("an older", "measure again, or read it with that version")
        )
        raise StoreError(f"{path}: written by {age} gemmbench (schema {schema}, this one reads {SCHEMA}); {step}")
    try:
        header = decode_line(line)
    except BrokenRow as fault:
        if b'"environment"' in line:
            raise StoreError(f"{path}:1: broken header: {fault}; correct it, or choose another file") from None
        header = None
    if not isinstance(header, Environment):
        raise StoreError(
            f"{path}:1: not a gemmbench results file: its first line must describe the run; choose a .jsonl file"
        )
    return header


def _add_row(run: Run, row: Line) -> None:
    """Add a row to the run. Raises BrokenRow if it does not belong there."""
    if isinstance(row, Environment):
        raise BrokenRow(f"a second header, of {row.run}, but a file holds only one run")
    if isinstance(row, Request):
        run.request = row
    elif isinstance(row, End):
        run.finished = row.finished
    elif isinstance(row, TransferRecord):
        run.transfers.append(row)
    else:
        _add_record(run, row)


def _add_record(run: Run, row: Record) -> None:
    if run.records and bool(row.network) != bool(run.records[0].network):
        raise BrokenRow("rows of GEMMs and rows of networks in one file")
    run.records.append(row)


def explain_interruption(run: Run) -> str:
    """Say how to continue or show a run after Ctrl-C stopped its command at once; "" if it has no rows."""
    if not run.records:
        return ""
    with suppress(StoreError):
        run = read_results(run.path)  # only the file says whether the run was finished
    return run.warning or f"{run.path}: interrupted after the last row; show the run with: gemmbench show {run.path}"

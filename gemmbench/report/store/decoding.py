"""Decodes one line of a results file, and checks what must hold between the values of a row.

`bench.record` declares the type and the range of each value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

import msgspec
from msgspec.structs import fields, force_setattr

from gemmbench.bench.record import MODES, STATUSES, End, Environment, Record, Request, Result, TransferRecord
from gemmbench.errors import GemmbenchError
from gemmbench.planning.files import escape_cell
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.store.recorded_run import Line

_TEXTS = tuple(each.name for each in fields(Record) if each.type is str)
_LISTS = ("rounds", "blocks", "grid", "block", "tile")


def share_values(row: Line, known: dict[object, object]) -> None:
    """Replace texts, rounds and the problem of a record by equal values from `known`, and add new ones to it."""
    if not isinstance(row, Record):
        return
    for name in (*_TEXTS, "problem"):
        value = getattr(row, name)
        force_setattr(row, name, known.setdefault(value, value))
    for name in _LISTS:
        value = getattr(row, name)
        force_setattr(row, name, known.setdefault(tuple(value), value))


_USUAL_POLICY = asdict(Policy())


def _check_row(row: Line) -> str:
    """Return the first fault of a row, or ""."""
    if isinstance(row, Environment):
        return _check_policy(row.policy)
    if isinstance(row, Request | End):
        return ""
    faults = [
        _check_word("status", row.status, STATUSES),
        _check_word("precision", row.problem.precision_name, PRECISIONS),
        "" if sum(row.problem.groups) in (0, row.problem.M) else "its groups do not have M rows",
        _check_rounds(row),
        _check_parts(row) if isinstance(row, TransferRecord) else _check_tile(row),
    ]
    return next(filter(None, faults), "")


def _check_policy(policy: Mapping[str, object]) -> str:
    """Check the policy. An older file may record less, and a newer one more."""
    try:
        msgspec.convert({**_USUAL_POLICY, **policy}, Policy)
    except msgspec.ValidationError as fault:
        return f"policy: {fault}"
    return ""


def _check_word(name: str, word: str, known: Collection[str]) -> str:
    return "" if word in known else f"unknown {name} {word!r}; known: {', '.join(known)}"


def _check_rounds(row: Result) -> str:
    """Check that every sample belongs to a different round."""
    if len(row.rounds) != len(row.samples):
        return f"{len(row.samples)} samples, but {len(row.rounds)} rounds"
    if len(row.blocks) != len(row.samples):
        return f"{len(row.samples)} samples, but {len(row.blocks)} blocks"
    return "" if len(set(row.rounds)) == len(row.rounds) else "two samples of the same round"


def _check_tile(row: Record) -> str:
    return "" if len(row.tile) in (0, 2) else f"a tile of {len(row.tile)} numbers; it needs rows and columns"


def _check_parts(row: TransferRecord) -> str:
    """Check that the parts of a job are timed either in every round or not at all."""
    if fault := _check_word("mode", row.mode, MODES):
        return fault
    if row.samples and not (row.panels and row.streams and row.h2d_bytes):
        return "a job that was timed must have panels, streams and bytes other than 0"
    parts: dict[str, Sequence[float]] = {"h2d": row.h2d, "kernel": row.kernel, "d2h": row.d2h}
    wrong = [
        f"{len(times)} times of {name}" for name, times in parts.items() if len(times) not in (0, len(row.samples))
    ]
    return f"{wrong[0]}, but {len(row.samples)} samples" if wrong else ""


_LONGEST_FAULT = 200
_decoder = msgspec.json.Decoder(Line)


class BrokenRow(GemmbenchError):
    """A line that is not a valid row. The message is the fault on one line, without the file and line number."""

    def __init__(self, fault: str) -> None:
        short = fault if len(fault) <= _LONGEST_FAULT else f"{fault[:_LONGEST_FAULT]} ..."
        super().__init__(escape_cell(short))


def decode_line(line: bytes) -> Line:
    """Decode and check a row. Raises BrokenRow."""
    try:
        row: Line = _decoder.decode(line)
    except UnicodeDecodeError:
        raise BrokenRow("text that is not UTF-8") from None
    except RecursionError:
        raise BrokenRow("values nested too deeply") from None
    except msgspec.DecodeError as fault:
        raise BrokenRow(str(fault)) from None
    if wrong := _check_row(row):
        raise BrokenRow(wrong)
    return row


def read_schema(line: bytes) -> int | None:
    """Return the format version that a header states, or 0 if it states none; None if this is not a header."""
    try:
        header = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    schema = header.get("schema", 0) if isinstance(header, dict) and header.get("row") == "environment" else None
    return schema if isinstance(schema, int) else None

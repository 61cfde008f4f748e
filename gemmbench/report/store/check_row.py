"""What must hold between the values of a row; `bench.record` declares the type and the range of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict

import msgspec

from gemmbench.bench.record import MODES, STATUSES, End, Environment, Record, Request, Result, TransferRecord
from gemmbench.planning.precisions import PRECISIONS
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.store.run import Line

_USUAL_POLICY = asdict(Policy())


def check_row(row: Line) -> str:
    """The first fault of a row, or ""."""
    if isinstance(row, Environment):
        return _check_policy(row.policy)
    if isinstance(row, Request | End):
        return ""
    faults = [
        _check_word("status", row.status, STATUSES),
        _check_word("precision", row.problem.precision_name, PRECISIONS),
        _check_rounds(row),
        _check_parts(row) if isinstance(row, TransferRecord) else _check_tile(row),
    ]
    return next(filter(None, faults), "")


def _check_policy(policy: Mapping[str, object]) -> str:
    """Old files record less, and newer ones more."""
    try:
        msgspec.convert({**_USUAL_POLICY, **policy}, Policy)
    except msgspec.ValidationError as fault:
        return f"policy: {fault}"
    return ""


def _check_word(name: str, word: str, known: Collection[str]) -> str:
    return "" if word in known else f"unknown {name} {word!r}; known: {', '.join(known)}"


def _check_rounds(row: Result) -> str:
    """Every sample has a round of its own."""
    if len(row.rounds) != len(row.samples):
        return f"{len(row.samples)} samples, but {len(row.rounds)} rounds"
    if row.blocks and len(row.blocks) != len(row.samples):
        return f"{len(row.samples)} samples, but {len(row.blocks)} blocks"
    return "" if len(set(row.rounds)) == len(row.rounds) else "two samples of the same round"


def _check_tile(row: Record) -> str:
    return "" if len(row.tile) in (0, 2) else f"a tile of {len(row.tile)} numbers; it needs rows and columns"


def _check_parts(row: TransferRecord) -> str:
    """The parts of a job are timed in every round or not at all."""
    if fault := _check_word("mode", row.mode, MODES):
        return fault
    if row.samples and not (row.panels and row.streams and row.h2d_bytes):
        return "a job that was timed needs panels, streams and bytes that are not 0"
    parts: dict[str, Sequence[float]] = {"h2d": row.h2d, "kernel": row.kernel, "d2h": row.d2h}
    wrong = [
        f"{len(times)} times of {name}" for name, times in parts.items() if len(times) not in (0, len(row.samples))
    ]
    return f"{wrong[0]}, but {len(row.samples)} samples" if wrong else ""

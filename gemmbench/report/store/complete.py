"""Which batches and kernels a run has measured completely."""

from __future__ import annotations

from collections import Counter

from gemmbench.bench.record import MODES, Record, TransferRecord


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

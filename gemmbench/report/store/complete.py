"""Which rows of a run count, and which batches and kernels it has measured completely."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gemmbench.bench.record import MODES, Record, TransferRecord
from gemmbench.report.store.run import Run


def keep_latest(run: Run) -> Run:
    """The run with the last of rows that were measured again after an interruption."""
    records = {(record.identity, record.batch_key): record for record in run.records}
    transfers = {(record.kernel_key, record.mode): record for record in run.transfers}
    return replace(run, records=list(records.values()), transfers=list(transfers.values()))


def complete_transfers(records: list[TransferRecord]) -> set[str]:
    """Keys of kernels that have the rows of all modes, not counting interrupted ones."""
    rows = Counter(record.key for record in records if record.stopped != "interrupted")
    return {key for key, count in rows.items() if count == len(MODES)}


def complete_batches(records: list[Record]) -> dict[str, list[Record]]:
    """Batches that have all their rows from one attempt, the last one, by key."""
    batches: dict[str, list[Record]] = {}
    for record in records:
        if record.batch_key:
            batches.setdefault(record.batch_key, []).append(record)
    lasts = {key: rows[-rows[-1].batch_rows :] for key, rows in batches.items()}
    return {key: rows for key, rows in lasts.items() if _is_whole(rows)}


def _is_whole(rows: list[Record]) -> bool:
    """Whether the last rows of a batch are those of one attempt, none of which was interrupted."""
    distinct = {row.identity for row in rows}
    return len(distinct) == rows[-1].batch_rows and all(row.stopped != "interrupted" for row in rows)

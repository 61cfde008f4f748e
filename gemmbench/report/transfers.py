"""What the rows of transfers mean: bandwidths, the bound, how near the pipeline comes to it.

The bound takes the parts of the pinned row as if all ran at once: it is the longest of copying in,
computing and copying out (both directions of copying added up on a device with one copy engine).
No pipeline reaches it, since B and the first panel must arrive before anything is computed, and
the last panel leaves when all is: the bound of the pipeline adds what cannot overlap. With t(B)
the share of B in copying in, a, k and c the rest of it, the kernel and copying out, P panels:

    t(B) + max(a + (k + c) / P,  a / P + k + c / P,  (a + k) / P + c)     two copy engines
    t(B) + max(a + c,            a / P + k + c / P)                       one
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from gemmbench.bench import stats
from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.bench.stats import Interval
from gemmbench.report.store import Run

_NONE = Interval(math.nan)


@dataclass(frozen=True)
class Parts:
    """Seconds of a job's parts, medians over the rounds; NaN where they are not known."""

    h2d: float = math.nan
    kernel: float = math.nan
    d2h: float = math.nan


@dataclass(frozen=True)
class Row:
    """One record with what follows from it; a number that does not exist is NaN.

    `total`, `bound` and `pipeline_bound` are seconds, `speedup` is over the pageable row.
    """

    record: TransferRecord
    total: Interval = _NONE
    parts: Parts = Parts()
    bound: float = math.nan
    pipeline_bound: float = math.nan
    speedup: Interval = _NONE

    @property
    def percent(self) -> float:
        """How near the total comes to the bound: 100 is there."""
        return 100 * self.bound / self.total.value

    @property
    def pipeline_percent(self) -> float:
        """How near the total comes to the bound of the pipeline."""
        return 100 * self.pipeline_bound / self.total.value


@dataclass(frozen=True)
class Group:
    """The rows of one problem: kernels in ladder order, modes in theirs."""

    records: list[TransferRecord]
    kernels: list[list[Row]]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for rows in self.kernels for row in rows]


def groups(run: Run) -> list[Group]:
    """Rows by problem, in the order they were asked for; of a job that was measured again, the last."""
    problems: dict[tuple[object, ...], dict[tuple[object, ...], dict[str, TransferRecord]]] = {}
    for record in run.transfers:
        kernels = problems.setdefault(record.problem_key, {})
        kernels.setdefault(record.kernel_key, {})[record.mode] = record
    return [_group([list(modes.values()) for modes in kernels.values()]) for kernels in problems.values()]


def _group(kernels: list[list[TransferRecord]]) -> Group:
    ladder = sorted(kernels, key=lambda records: (records[0].order, records[0].variant))
    return Group([record for records in ladder for record in records], [_rows(records) for records in ladder])


def _rows(records: Sequence[TransferRecord]) -> list[Row]:
    right = {record.mode: record for record in records if record.status == "ok" and record.samples}
    pinned = right.get("pinned")
    alone = _parts(pinned) if pinned else Parts()
    return [_row(record, alone, right.get("pageable")) for record in sorted(records, key=_order)]


def _order(record: TransferRecord) -> int:
    return MODES.index(record.mode)


def _row(record: TransferRecord, alone: Parts, pageable: TransferRecord | None) -> Row:
    if record.status != "ok" or not record.samples:
        return Row(record)
    total = stats.summarize(record.by_round)
    speedup = stats.speed_ratio(record.by_round, pageable.by_round) if pageable else _NONE
    if record is pageable:
        speedup = Interval(1.0)
    within = pipeline_bound(record, alone) if record.mode == "overlapped" else math.nan
    return Row(record, total, _parts(record), bound(record, alone), within, speedup)


def _parts(record: TransferRecord) -> Parts:
    return Parts(*(median(seconds) if seconds else math.nan for seconds in (record.h2d, record.kernel, record.d2h)))


def bound(record: TransferRecord, alone: Parts) -> float:
    """Seconds of the longest part, if all ran at once."""
    copies = (alone.h2d, alone.d2h) if record.copy_engines > 1 else (alone.h2d + alone.d2h,)
    return max(alone.kernel, *copies)


def pipeline_bound(record: TransferRecord, alone: Parts) -> float:
    """Seconds that B first and `panels` equal panels allow at best."""
    b = alone.h2d * record.b_bytes / record.h2d_bytes
    a, k, c, panels = alone.h2d - b, alone.kernel, alone.d2h, record.panels
    through = a / panels + k + c / panels
    if record.copy_engines > 1:
        return b + max(a + (k + c) / panels, through, (a + k) / panels + c)
    return b + max(a + c, through)


def sentence(rows: Sequence[Row]) -> str:
    """How near one kernel's pipeline comes to its bounds, or ""."""
    from gemmbench.report.tables import number

    for row in rows:
        if row.record.mode == "overlapped" and not math.isnan(row.bound):
            took, least, within = (number(1e3 * value) for value in (row.total.value, row.bound, row.pipeline_bound))
            return (
                f"{row.record.variant}: the pipeline takes {took} ms. Bound {least} ms ({_longest(rows)}): "
                f"{number(row.percent)} % of it reached. Bound with B first and {count(row.record.panels, 'panel')} "
                f"{within} ms: {number(row.pipeline_percent)} %."
            )
    return ""


def count(number_of: int, what: str) -> str:
    """`1 panel`, `8 panels`."""
    return f"{number_of} {what}{'s' if number_of > 1 else ''}"


def _longest(rows: Sequence[Row]) -> str:
    """What sets the bound."""
    pinned = next(row for row in rows if row.record.mode == "pinned")
    found = {"kernel": pinned.parts.kernel, "h2d": pinned.parts.h2d, "d2h": pinned.parts.d2h}
    if pinned.record.copy_engines == 1:
        found = {"kernel": pinned.parts.kernel, "h2d and d2h": pinned.parts.h2d + pinned.parts.d2h}
    return max(found, key=found.__getitem__)


COLUMNS = {
    "run": "id of the run, as in the file's name",
    "device_name": "the device",
    "device": "its back end",
    "variant": "name of the kernel or library",
    "config": "its parameters",
    "M": "rows of C",
    "N": "columns of C",
    "K": "the dimension summed over",
    "layout": "nn, nt, tn or tt",
    "precision": "as in the rows of kernels",
    "alpha": "C = alpha A B + beta C",
    "beta": "not 0: C is copied in too",
    "mode": "pageable, pinned, panels (pinned, one stream) or overlapped",
    "panels": "panels of rows that C is computed in",
    "panel_rows": "rows of a panel; the last may have fewer",
    "streams": "streams that the panels take in turn",
    "status": "ok, wrong, skipped, failed, timeout, out of memory",
    "total_s": "seconds from before the first copy to after the last: median over the rounds",
    "total_low_s": "lower end of its 95 % interval",
    "total_high_s": "upper end",
    "h2d_s": "seconds of copying in, median; empty where parts overlap",
    "h2d_bytes": "bytes copied in",
    "h2d_bytes_per_s": "their rate",
    "kernel_s": "seconds of the kernel, median; of all panels",
    "d2h_s": "seconds of copying out, median",
    "d2h_bytes": "bytes copied out",
    "d2h_bytes_per_s": "their rate",
    "bound_s": "the longest of h2d, kernel and d2h of the pinned row; both copies added up with one copy engine",
    "percent_of_bound": "bound_s in percent of total_s",
    "pipeline_bound_s": "least seconds with B first and these panels, from the parts of the pinned row",
    "percent_of_pipeline_bound": "pipeline_bound_s in percent of total_s",
    "speedup": "over the pageable row, paired by rounds",
    "speedup_low": "lower end of its 95 % interval",
    "speedup_high": "upper end",
    "rounds": "samples taken",
    "jobs": "whole jobs in one window",
    "copy_engines": "copies that the device can run at once",
    "error_units": "largest error in units of u (|alpha| |A| |B| + |beta| |C0|)",
    "data": "what A and B hold",
    "seed": "its seed",
    "stopped": "why it has no more rounds",
    "reason": "why a row is not ok",
}
"""The columns of the CSV and JSON exports, in order, and what they mean; columns are only ever added at the end."""


def flat(run: Run) -> list[dict[str, object]]:
    """Every row as plain columns, those of COLUMNS; None where unknown."""
    return [_flat(run, row) for group in groups(run) for row in group.rows]


def _flat(run: Run, row: Row) -> dict[str, object]:
    record, parts = row.record, row.parts
    derived: dict[str, object] = {
        "run": run.environment.run,
        "device_name": run.environment.device,
        "config": record.configuration,
        "total_s": row.total.value,
        "total_low_s": row.total.low,
        "total_high_s": row.total.high,
        "h2d_s": parts.h2d,
        "h2d_bytes_per_s": record.h2d_bytes / parts.h2d,
        "kernel_s": parts.kernel,
        "d2h_s": parts.d2h,
        "d2h_bytes_per_s": record.d2h_bytes / parts.d2h,
        "bound_s": row.bound,
        "percent_of_bound": row.percent,
        "pipeline_bound_s": row.pipeline_bound,
        "percent_of_pipeline_bound": row.pipeline_percent,
        "speedup": row.speedup.value,
        "speedup_low": row.speedup.low,
        "speedup_high": row.speedup.high,
        "rounds": len(record.samples),
        "jobs": record.launches,
        "error_units": record.error,
    }
    values = {name: derived[name] if name in derived else getattr(record, name) for name in COLUMNS}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}

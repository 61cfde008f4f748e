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

from gemmbench.bench.record import MODES, TransferRecord
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.problems.problem import Problem
from gemmbench.report.store import Run
from gemmbench.report.tables import number

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
    problems: dict[Problem, dict[tuple[object, ...], dict[str, TransferRecord]]] = {}
    for record in run.transfers:
        kernels = problems.setdefault(record.problem, {})
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

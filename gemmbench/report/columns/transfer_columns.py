"""The columns of transfer rows, for tables and exports."""

from __future__ import annotations

from dataclasses import replace

from gemmbench.report.columns.column import IDENTITY, Column, pick_columns
from gemmbench.report.columns.detail_columns import PDL
from gemmbench.report.comparison import TransferRow
from gemmbench.report.text import count_noun, number, with_interval


def format_mode(row: TransferRow) -> str:
    """Format the mode as `pinned`, `pinned, 8 panels` or `overlapped, 8 panels, 3 streams`."""
    record = row.record
    if record.mode in ("pageable", "pinned") or not record.panels:
        return record.mode
    panels = count_noun(record.panels, "panel")
    if record.mode == "panels":
        return f"pinned, {panels}"
    return f"overlapped, {panels}, {count_noun(record.streams, 'stream')}"


def _milliseconds(seconds: float) -> str:
    return number(1e3 * seconds)


def _h2d_rate(row: TransferRow) -> float:
    return row.record.h2d_bytes / row.parts.h2d


def _d2h_rate(row: TransferRow) -> float:
    return row.record.d2h_bytes / row.parts.d2h


_JOB: tuple[Column[TransferRow], ...] = (
    Column(
        "mode",
        "pageable, pinned, panels (pinned, one stream) or overlapped",
        lambda row: row.record.mode,
        "mode",
        format_mode,
        fold=True,
    ),
    Column("panels", "panels of rows in which C is computed", lambda row: row.record.panels),
    Column("panel_rows", "rows per panel; the last may have fewer", lambda row: row.record.panel_rows),
    Column("streams", "streams that the panels use in turn", lambda row: row.record.streams),
    Column(
        "status",
        "ok, wrong, skipped, failed, timeout, out of memory",
        lambda row: row.record.status,
        "status",
        lambda row: row.record.status,
        left=True,
    ),
)
_TOTAL: tuple[Column[TransferRow], ...] = (
    Column(
        "total_s",
        "seconds from before the first copy until after the last: geometric mean of the blocks of rounds",
        lambda row: row.total.value,
        "total (ms)",
        lambda row: with_interval(row.total.scale(1e3)),
    ),
    Column("total_low_s", "lower end of its 95 % interval", lambda row: row.total.low),
    Column("total_high_s", "upper end", lambda row: row.total.high),
)
_PARTS: tuple[Column[TransferRow], ...] = (
    Column(
        "h2d_s",
        "seconds to copy in, median; empty if the parts overlap",
        lambda row: row.parts.h2d,
        "h2d (ms)",
        lambda row: _milliseconds(row.parts.h2d),
        hide=6,
    ),
    Column("h2d_bytes", "bytes copied in", lambda row: row.record.h2d_bytes),
    Column(
        "h2d_bytes_per_s",
        "their rate",
        _h2d_rate,
        "h2d (GB/s)",
        lambda row: number(_h2d_rate(row) / 1e9),
        hide=1,
    ),
    Column(
        "kernel_s",
        "seconds of the kernel, for all panels, median",
        lambda row: row.parts.kernel,
        "kernel (ms)",
        lambda row: _milliseconds(row.parts.kernel),
        hide=4,
    ),
    Column(
        "d2h_s",
        "seconds to copy out, median",
        lambda row: row.parts.d2h,
        "d2h (ms)",
        lambda row: _milliseconds(row.parts.d2h),
        hide=5,
    ),
    Column("d2h_bytes", "bytes copied out", lambda row: row.record.d2h_bytes),
    Column(
        "d2h_bytes_per_s",
        "their rate",
        _d2h_rate,
        "d2h (GB/s)",
        lambda row: number(_d2h_rate(row) / 1e9),
        hide=2,
    ),
)
_BOUNDS: tuple[Column[TransferRow], ...] = (
    Column(
        "bound_s",
        "longest of h2d, kernel and d2h of the pinned row; with one copy engine, both copies count as one",
        lambda row: row.bound,
    ),
    Column(
        "percent_of_bound",
        "bound_s in percent of total_s",
        lambda row: row.percent_of_bound,
        "% of bound",
        lambda row: number(row.percent_of_bound),
        hide=3,
    ),
    Column(
        "pipeline_bound_s",
        "least seconds with B first and these panels, from the parts of the pinned row",
        lambda row: row.pipeline_bound,
    ),
    Column(
        "percent_of_pipeline_bound",
        "pipeline_bound_s in percent of total_s",
        lambda row: row.percent_of_pipeline_bound,
    ),
    Column(
        "speedup",
        "speed relative to the pageable row, paired by rounds",
        lambda row: row.speedup.value,
        "speed-up",
        lambda row: with_interval(row.speedup),
    ),
    Column("speedup_low", "lower end of its 95 % interval", lambda row: row.speedup.low),
    Column("speedup_high", "upper end", lambda row: row.speedup.high),
)
_METHOD: tuple[Column[TransferRow], ...] = (
    Column("rounds", "number of samples", lambda row: len(row.record.samples)),
    Column("jobs", "whole jobs in one window", lambda row: row.record.launches),
    Column(
        "copy_engines", "number of copies that the device can run at the same time", lambda row: row.record.copy_engines
    ),
    Column(
        "error_units",
        "largest error in units of u (|alpha| |A| |B| + |beta| |C0|), where u is the unit roundoff of the sums; up to "
        "16 are accepted",
        lambda row: row.record.error,
    ),
    Column("data", "contents of A and B", lambda row: row.record.data),
    Column("seed", "seed of the data", lambda row: row.record.seed),
    Column("stopped", "why measuring ended", lambda row: row.record.stopped),
    Column("reason", "why the status is not ok", lambda row: row.record.reason),
)
_IDENTITY = tuple(
    replace(column, meaning="if not 0, C is also copied in") if column.key == "beta" else column for column in IDENTITY
)
_CONFIGURATION: Column[TransferRow] = Column(
    heading="configuration", cell=lambda row: row.record.configuration or "-", fold=True
)

COLUMNS: tuple[Column[TransferRow], ...] = (*_IDENTITY, *_JOB, *_TOTAL, *_PARTS, *_BOUNDS, *_METHOD, PDL)
"""The columns of the exports, in order. New columns may be added only at the end."""

TABLE = pick_columns(
    (*COLUMNS, _CONFIGURATION),
    "kernel",
    "configuration",
    "mode",
    "h2d (ms)",
    "h2d (GB/s)",
    "kernel (ms)",
    "d2h (ms)",
    "d2h (GB/s)",
    "total (ms)",
    "% of bound",
    "speed-up",
    "status",
)

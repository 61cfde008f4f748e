"""The rows of transfers as plain columns, for CSV and JSON."""

from __future__ import annotations

import math

from gemmbench.report.comparison import problem_cells
from gemmbench.report.store import Run
from gemmbench.report.transfers import Row, groups

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
        **problem_cells(record.problem),
        "run": run.environment.run,
        "device": record.backend,
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

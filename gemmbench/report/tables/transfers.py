"""The tables of transfers: one per problem, below those of the kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.report.columns.column import make_table
from gemmbench.report.columns.transfers import TABLE, format_mode
from gemmbench.report.comparison import Comparison
from gemmbench.report.store import Run
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, number
from gemmbench.report.transfer_rows import TransferProblem, TransferRow


def report_transfers(comparison: Comparison, wide: bool = False) -> Report:
    """One table for each problem; empty if nothing was measured. `wide` hides no column."""
    tables = [_tabulate_problem(problem, wide) for problem in comparison.transfers]
    footer, details = footer_lines(comparison.run), detail_lines(comparison.run)
    return Report(tables, [*footer, *details] if wide else footer, "--wide", () if wide else details)


def _tabulate_problem(problem: TransferProblem, wide: bool) -> Table:
    statuses = [row.record.status for row in problem.rows]
    return make_table(TABLE, problem.rows, problem.title, notes=list_notes(problem), statuses=statuses, wide=wide)


def list_notes(problem: TransferProblem) -> list[str]:
    """How near each kernel comes to its bounds, and why a row is not ok."""
    bounds = [sentence for rows in problem.kernels if (sentence := _describe_pipeline(rows))]
    failed = dict.fromkeys(
        f"{row.record.variant}, {format_mode(row)}: {row.record.status}: {row.record.reason}"
        for row in problem.rows
        if row.record.status != "ok"
    )
    stopped = [row.record for row in problem.rows if row.record.stopped == "interrupted"]
    cut = [f"{record.variant}, {record.mode}: interrupted after {len(record.samples)} rounds" for record in stopped]
    return [*bounds, *failed, *cut]


def footer_lines(run: Run) -> list[str]:
    """What the columns mean."""
    timed = [record for record in run.transfers if record.samples]
    engines = max((record.copy_engines for record in timed), default=2)
    longest = "the longest of h2d, kernel and d2h" if engines > 1 else "the longer of kernel, and h2d and d2h together"
    lines = [
        "Total: from before the first copy to after the last; mean over blocks of rounds, +- 95 % interval.",
        "Speed-up: relative to the pageable row, in the same rounds.",
        f"Bound: {longest} of the pinned row, as if all ran at the same time.",
    ]
    return lines if timed else []


def detail_lines(run: Run) -> list[str]:
    """How the numbers were measured."""
    timed = [record for record in run.transfers if record.samples]
    lines = [
        "Times are taken by events. Memory is allocated before. GB/s = 1e9 bytes/s.",
        "The host takes part in pageable copies, which the driver stages: that row contains host time, also before "
        "its kernel. The other rows are queued completely before they start."
        if any(record.gated for record in timed)
        else "Launches were not held behind a gate: every row contains host time.",
        "Bound with B first: B is copied in first, the first panel before all computing and the last one out after it; "
        "the kernel takes its time in one launch or in panels, whichever is shorter.",
    ]
    return lines if timed else []


def _describe_pipeline(rows: Sequence[TransferRow]) -> str:
    """How near one kernel's pipeline comes to its bounds, or ""."""
    for row in rows:
        if row.record.mode == "overlapped" and not math.isnan(row.bound):
            times = row.total.value, row.bound, row.pipeline_bound
            total, bound, pipeline_bound = (number(1e3 * seconds) for seconds in times)
            return (
                f"{row.record.variant}: the pipeline takes {total} ms. It reaches {number(row.percent_of_bound)} % of "
                f"the bound, {bound} ms ({_name_longest_part(rows)}), and {number(row.percent_of_pipeline_bound)} % of "
                f"the bound with B first and {count_noun(row.record.panels, 'panel')}, {pipeline_bound} ms."
            )
    return ""


def _name_longest_part(rows: Sequence[TransferRow]) -> str:
    """The part that sets the bound."""
    pinned = next(row for row in rows if row.record.mode == "pinned")
    parts = {"kernel": pinned.parts.kernel, "h2d": pinned.parts.h2d, "d2h": pinned.parts.d2h}
    if pinned.record.copy_engines == 1:
        parts = {"kernel": pinned.parts.kernel, "h2d and d2h": pinned.parts.h2d + pinned.parts.d2h}
    return max(parts, key=parts.__getitem__)

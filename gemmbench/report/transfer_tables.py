"""The tables of transfers: one a problem, below those of the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gemmbench.report import transfers
from gemmbench.report.store import Run
from gemmbench.report.tables import heading, listed, number, with_interval
from gemmbench.report.transfers import Group, Row

if TYPE_CHECKING:
    from rich.console import RenderableType


def _ms(seconds: float) -> str:
    return number(1e3 * seconds)


def _rate(nbytes: int, seconds: float) -> str:
    return number(nbytes / seconds / 1e9)


COLUMNS: list[tuple[str, Callable[[Row], str]]] = [
    ("kernel", lambda row: row.record.variant),
    ("configuration", lambda row: row.record.configuration or "-"),
    ("mode", lambda row: mode(row)),
    ("h2d (ms)", lambda row: _ms(row.parts.h2d)),
    ("h2d (GB/s)", lambda row: _rate(row.record.h2d_bytes, row.parts.h2d)),
    ("kernel (ms)", lambda row: _ms(row.parts.kernel)),
    ("d2h (ms)", lambda row: _ms(row.parts.d2h)),
    ("d2h (GB/s)", lambda row: _rate(row.record.d2h_bytes, row.parts.d2h)),
    ("total (ms)", lambda row: _ms(row.total.value)),
    ("% of bound", lambda row: number(row.percent)),
    ("speed-up", lambda row: with_interval(row.speedup)),
    ("status", lambda row: row.record.status),
]
_LEFT = ("kernel", "configuration", "mode", "status")


def mode(row: Row) -> str:
    """`pinned`, `pinned, 8 panels` or `overlapped, 8 panels, 3 streams`."""
    record = row.record
    if record.mode in ("pageable", "pinned") or not record.panels:
        return record.mode
    panels = transfers.count(record.panels, "panel")
    if record.mode == "panels":
        return f"pinned, {panels}"
    return f"overlapped, {panels}, {transfers.count(record.streams, 'stream')}"


def title(group: Group) -> str:
    """`Transfers: M = 1024, N = 1024, K = 768, nn, f32`."""
    return f"Transfers: {group.records[0].problem.title}"


def notes(group: Group) -> list[str]:
    """How near each kernel comes to its bounds, and why a row is not right."""
    found = [said for rows in group.kernels if (said := transfers.sentence(rows))]
    bad = dict.fromkeys(
        f"{row.record.variant}, {mode(row)}: {row.record.status}: {row.record.reason}"
        for row in group.rows
        if row.record.status != "ok"
    )
    stopped = [row.record for row in group.rows if row.record.stopped == "interrupted"]
    cut = [f"{record.variant}, {record.mode}: interrupted after {len(record.samples)} rounds" for record in stopped]
    return [*found, *bad, *cut]


def footer(run: Run) -> list[str]:
    """How the numbers were made."""
    timed = [record for record in run.transfers if record.samples]
    engines = max((record.copy_engines for record in timed), default=2)
    longest = "the longest of h2d, kernel and d2h" if engines > 1 else "the longer of kernel, and h2d and d2h together"
    lines = [
        "Total: from before the first copy to after the last, by events; median over interleaved rounds; memory is "
        "allocated before. GB/s = 1e9 bytes/s.",
        "Pageable copies hold the host while the driver stages them, so that row contains host time, also before its "
        "kernel; the other rows are queued whole before they start."
        if any(record.gated for record in timed)
        else "Launches were not held behind a gate: host time is in every row.",
        f"Bound: {longest} of the pinned row, as if all ran at once. Second bound: B in first, the first panel in "
        "before and the last one out after all computing.",
        "Speed-up: over the pageable row, from the same rounds.",
    ]
    return lines if timed else []


def table_of(rows: Sequence[Row], style: str) -> str:
    """The table of one problem in one of tabulate's formats."""
    from tabulate import tabulate

    cells = [[show(row) for _, show in COLUMNS] for row in rows]
    return str(tabulate(cells, [name for name, _ in COLUMNS], tablefmt=style, disable_numparse=True))


def text(run: Run, style: str) -> str:
    """All tables of transfers in one of tabulate's formats; "" if nothing was measured."""
    parts = [
        "\n".join([heading(title(group), style), "", table_of(group.rows, style), *listed(notes(group), style)])
        for group in transfers.groups(run)
    ]
    below = "\n".join(listed(footer(run), style)).lstrip("\n")
    return "\n\n".join(filter(None, [*parts, below])) + "\n" if parts else ""


def section(run: Run, style: str) -> str:
    """The text that follows the tables of kernels: an empty line before it, or ""."""
    found = text(run, style)
    return f"\n{found}" if found else ""


def rich_report(run: Run) -> RenderableType:
    """All tables of transfers for a terminal."""
    from rich.console import Group as Stack
    from rich.markup import escape
    from rich.table import Table

    parts: list[RenderableType] = []
    for group in transfers.groups(run):
        table = Table(title=escape(title(group)), title_justify="left", title_style="bold")
        for name, _ in COLUMNS:
            table.add_column(name, justify="left" if name in _LEFT else "right", overflow="fold")
        for row in group.rows:
            style = None if row.record.status == "ok" else "dim" if row.record.status == "skipped" else "red"
            table.add_row(*(escape(show(row)) for _, show in COLUMNS), style=style)
        parts += [table, *(escape(note) for note in notes(group)), ""]
    return Stack(*parts, *(f"[dim]{escape(line)}[/dim]" for line in footer(run)))

"""Tables: rows as text, in rich or in any of tabulate's formats."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Group, Row, groups
from gemmbench.report.flags import legend, letters
from gemmbench.report.footer import footer
from gemmbench.report.store import Run

if TYPE_CHECKING:
    from rich.console import RenderableType

RICH = "rich"
MOST_CONFIGURATIONS = 10

Column = tuple[str, Callable[[Row], str]]


def number(value: float | None) -> str:
    """Four significant digits, no exponent; `-` for a number that does not exist."""
    if value is None or math.isnan(value):
        return "-"
    if value == 0:
        return "0"
    exponent = int(f"{value:.3e}".partition("e")[2])  # of the rounded number: 99.996 is 100.0
    return f"{value:.{max(0, 3 - exponent)}f}"


def with_interval(found: Interval) -> str:
    """`98.31 [98.02, 98.60]`."""
    if not found.known:
        return number(found.value)
    return f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"


def columns(environment: Environment, rows: Sequence[Row] = (), wide: bool = False) -> list[Column]:
    """The columns of these rows: flags if there are any, and with `wide` what else is known of them."""
    found = _usual(environment, rows)
    if any(letters(row) for row in rows):
        found.append(("flags", letters))
    if wide:
        from gemmbench.report import wide as more

        found += more.columns(environment, rows)
    return found


def _usual(environment: Environment, rows: Sequence[Row]) -> list[Column]:
    if rows and rows[0].record.network:
        from gemmbench.report import network

        return network.columns(environment, rows)
    baseline = environment.baseline or "baseline"
    return [
        ("kernel", lambda row: row.record.variant),
        ("configuration", configuration),
        ("time (ms)", lambda row: if_right(row, number(row.time.value * 1e3))),
        ("GFLOPS", lambda row: if_right(row, number(row.gflops))),
        (f"% of {baseline}", lambda row: if_right(row, with_interval(row.percent))),
        ("% of peak", lambda row: if_right(row, number(row.peak))),
        ("error (u)", lambda row: number(row.record.error) if row.record.checked else "-"),
        ("status", lambda row: status(environment, row)),
    ]


def if_right(row: Row, cell: str) -> str:
    """The speed of a wrong kernel means nothing and is not shown."""
    return cell if row.record.status == "ok" else "-"


def configuration(row: Row) -> str:
    """The parameters, and whether the row is a second measurement."""
    final = " (measured again)" if row.record.phase == "final" and row.record.config else ""
    return (row.record.configuration or "-") + final


def status(environment: Environment, row: Row) -> str:
    """The status; a row that ran on the CPU beside a GPU says so."""
    elsewhere = row.record.backend != environment.backend
    return f"{row.status}, {row.record.backend}" if elsewhere and row.record.status != "skipped" else row.status


def shown_rows(rows: Sequence[Row]) -> list[Row]:
    """Rows for a table: skips are counted below it, and of a long sweep the fastest are shown."""
    kept, seen = [], Counter[str]()
    for row in rows:
        if row.record.status == "skipped" and row.record.config and _swept(row, rows):
            continue
        seen[row.record.variant] += 1
        if seen[row.record.variant] <= MOST_CONFIGURATIONS or row.status not in ("ok", "skipped"):
            kept.append(row)
    return kept


def _swept(row: Row, rows: Sequence[Row]) -> bool:
    return any(other.record.variant == row.record.variant and other.record.status != "skipped" for other in rows)


def notes(group: Group) -> list[str]:
    """What a table cannot show: reasons, and what it leaves out."""
    shown = shown_rows(group.rows)
    skipped = [row.record for row in group.rows if row.record.status == "skipped"]
    found = [f"{name}: skipped: {reason}{times}" for name, reason, times in _reasons(skipped)]
    for row in group.rows:
        name = " ".join(filter(None, (row.record.variant, row.record.configuration)))
        if row.record.status not in ("ok", "skipped"):
            found.append(f"{name}: {row.record.status}: {row.record.reason}")
        elif row.too_good:
            found.append(f"{name}: faster than this device can be; not ranked")
        elif row.record.stopped == "interrupted":
            found.append(f"{name}: interrupted after {len(row.record.samples)} rounds")
    files = {row.record.variant: row.record.path for row in group.rows if "@" in row.record.path}
    found += [f"{name}: {path}" for name, path in files.items()]
    hidden = len([row for row in group.rows if row.record.status != "skipped"]) - len(
        [row for row in shown if row.record.status != "skipped"]
    )
    if hidden:
        found.append(f"{hidden} slower configurations are in the results file and the exports")
    return [*found, *legend(shown)]


def _reasons(skipped: Sequence[Record]) -> list[tuple[str, str, str]]:
    counted = Counter((record.variant, record.reason) for record in skipped)
    return [(*key, f" ({count} configurations)" if count > 1 else "") for key, count in counted.items()]


def table_of(environment: Environment, rows: Sequence[Row], style: str, wide: bool = False) -> str:
    """The table of one problem in one of tabulate's formats."""
    wanted = columns(environment, rows, wide)
    return tabulated([[show(row) for _, show in wanted] for row in rows], [name for name, _ in wanted], style)


def tabulated(cells: Sequence[Sequence[str]], head: Sequence[str], style: str) -> str:
    """Cells as text in one of tabulate's formats, as they are written."""
    from tabulate import tabulate

    return str(tabulate(cells, head, tablefmt=style, disable_numparse=True))


def text(run: Run, style: str, wide: bool = False) -> str:
    """The whole report in one of tabulate's formats."""
    parts = []
    for group in groups(run):
        table = table_of(run.environment, shown_rows(group.rows), style, wide)
        parts.append("\n".join([heading(group.title, style), "", table, *listed(notes(group), style)]))
    return "\n\n".join([*parts, "\n".join(listed(footer(run), style)).lstrip("\n")]) + "\n"


def heading(title: str, style: str) -> str:
    """A title as the format writes one."""
    if style in ("github", "pipe"):
        return f"### {title}"
    return f"<h3>{title}</h3>" if style in ("html", "unsafehtml") else title


def listed(lines: Sequence[str], style: str) -> list[str]:
    """Lines below a table: a list in Markdown."""
    if not lines:
        return []
    return ["", *(f"- {line}" for line in lines)] if style in ("github", "pipe") else ["", *lines]


def rich_report(run: Run, wide: bool = False) -> RenderableType:
    """The whole report for a terminal."""
    from rich.console import Group as Stack
    from rich.markup import escape
    from rich.table import Table

    parts: list[RenderableType] = []
    for group in groups(run):
        shown = shown_rows(group.rows)
        wanted = columns(run.environment, shown, wide)
        table = Table(title=escape(group.title), title_justify="left", title_style="bold")
        for name, _ in wanted:
            right = name not in ("kernel", "configuration", "status", "flags", "occupancy")
            table.add_column(name, justify="right" if right else "left", overflow="fold")
        for row in shown:
            style = None if row.status == "ok" else "dim" if row.status == "skipped" else "red"
            table.add_row(*(escape(show(row)) for _, show in wanted), style=style)
        parts += [table, *(escape(note) for note in notes(group)), ""]
    return Stack(*parts, *(f"[dim]{escape(line)}[/dim]" for line in footer(run)))

"""Tables of rows, grouped by problem, that scripts can sort and filter. Without scripts they are plain tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gemmbench.report.charts.chart_rows import GFLOPS, SpeedUnit
from gemmbench.report.columns.all_columns import table_columns
from gemmbench.report.columns.column import Column, format_headings
from gemmbench.report.columns.transfer_columns import TABLE as TRANSFER_COLUMNS
from gemmbench.report.comparison import Comparison, TransferRow
from gemmbench.report.fastest import find_fastest
from gemmbench.report.page.headline import format_figure, label_problem, name_box
from gemmbench.report.page.html import Html, tag
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.table import Table
from gemmbench.report.text import number_within

R = TypeVar("R")


@dataclass(frozen=True)
class Group(Generic[R]):
    """The rows of one problem. `label` identifies it in a cell."""

    title: str
    label: str
    rows: Sequence[R]


@dataclass(frozen=True)
class RowStyle(Generic[R]):
    """How a row looks: its status, additional classes, and the target of the link on its status, if any."""

    status: Callable[[R], str]
    classes: Callable[[R], str] = lambda row: ""
    target: Callable[[R], str] = lambda row: ""


def _in_unit(column: Column[Row], unit: SpeedUnit) -> Column[Row]:
    """Return a column of speeds in the unit of the page. Other columns are unchanged."""
    if column.heading != GFLOPS.name or unit == GFLOPS:
        return column

    def format_cell(row: Row) -> str:
        return number_within(unit.measure(row).value, row.time, 4) if row.valid else "-"

    return replace(column, heading=unit.name, cell=format_cell)


def render_kernels(comparison: Comparison, unit: SpeedUnit) -> Html:
    """Render all kernel rows of a run. Columns with details have the class `detail`."""
    rows, baseline = comparison.rows, comparison.environment.baseline
    narrow = table_columns(rows)
    columns = [*narrow, *(column for column in table_columns(rows, wide=True) if column not in narrow)]
    main = len(narrow)
    columns = [_in_unit(column, unit) for column in columns]
    complete = [] if comparison.run.ended_early else comparison.problems
    judged = [fastest for problem in complete if (fastest := find_fastest(problem))]
    marked = {id(row) for fastest in judged if fastest.is_decided for row in fastest.rows}

    def choose_classes(row: Row) -> str:
        marks = {"baseline": row.record.variant == baseline, "fastest-row": id(row) in marked}
        return " ".join(name for name, holds in marks.items() if holds)

    def find_target(row: Row) -> str:
        return "" if row.status in ("ok", "skipped", UNRANKED) else f"#{name_box(row)}"

    groups = [Group(problem.title, label_problem(problem), problem.rows) for problem in comparison.problems]
    style: RowStyle[Row] = RowStyle(lambda row: row.status, choose_classes, find_target)
    return render_groups(columns, main, baseline, groups, style)


def render_transfers(comparison: Comparison) -> Html:
    """Render all transfer rows of a run."""
    groups = [Group(problem.title, str(problem.problem), problem.rows) for problem in comparison.transfers]
    style: RowStyle[TransferRow] = RowStyle(lambda row: row.record.status)
    return render_groups(TRANSFER_COLUMNS, len(TRANSFER_COLUMNS), "", groups, style)


def render_groups(
    columns: Sequence[Column[R]], main: int, baseline: str, groups: Sequence[Group[R]], style: RowStyle[R]
) -> Html:
    """Render a table whose rows are grouped by problem. Its columns from number `main` on are details."""
    headings = format_headings(columns, baseline)
    kinds = [" ".join(_list_kinds(column, index >= main)) or None for index, column in enumerate(columns)]
    cells = [tag("th", tag("button", "problem", type="button"), scope="col", class_="left problem")]
    cells += [
        tag("th", tag("button", heading, type="button"), scope="col", class_=kind, data_hide=column.hide or None)
        for heading, kind, column in zip(headings, kinds, columns, strict=True)
    ]
    bodies = (_render_group(columns, kinds, group, style) for group in groups)
    return wrap_table(tag("table", tag("thead", tag("tr", cells)), bodies, class_="rows"))


def _list_kinds(column: Column[R], is_detail: bool) -> Iterable[str]:
    if column.left or column.fold:
        yield "left"
    if column.fold:
        yield "fold"
    if column.heading == "status":
        yield "status"
    if column.hide:
        yield "side"
    if is_detail:
        yield "detail"


def _render_group(
    columns: Sequence[Column[R]], kinds: Sequence[str | None], group: Group[R], style: RowStyle[R]
) -> Html:
    head = tag("tr", tag("th", group.title, scope="rowgroup", colspan=len(columns) + 1), class_="group")
    return tag("tbody", head, (_render_row(columns, kinds, group, row, style) for row in group.rows))


def _render_row(
    columns: Sequence[Column[R]], kinds: Sequence[str | None], group: Group[R], row: R, style: RowStyle[R]
) -> Html:
    """Render a row. On a narrow screen, text that folds is below the kernel, and columns at the side are hidden."""
    cells, target = [tag("td", group.label, class_="left problem")], style.target(row)
    folded = [text for column in columns if column.fold and (text := column.cell(row)) != "-"]
    for column, kind in zip(columns, kinds, strict=True):
        text = column.cell(row) if column.left or column.fold else format_figure(column.cell(row))
        leads = target and column.heading == "status"
        below = " ".join(folded) or None if column.heading == "kernel" else None
        cells.append(tag("td", tag("a", text, href=target) if leads else text, class_=kind, data_below=below))
    return tag("tr", cells, class_=style.classes(row) or None, data_status=style.status(row))


def render_static(table: Table) -> Html:
    """Render a table unchanged, such as the published figures of a post."""
    left = [
        table.aligns_left(heading) or _is_text(cells[index] for cells in table.cells)
        for index, heading in enumerate(table.headings)
    ]

    def line(element: str, texts: Sequence[str], scope: str | None = None) -> Html:
        pairs = zip(texts, left, strict=True)
        return tag("tr", (tag(element, text, class_="left" if first else None, scope=scope) for text, first in pairs))

    body = tag("tbody", (line("td", cells) for cells in table.cells))
    head = tag("thead", line("th", table.headings, "col"))
    return tag("div", wrap_table(tag("table", head, body)), render_notes(table.notes))


def _is_text(cells: Iterable[str]) -> bool:
    """Return whether any cell begins with something other than a digit."""
    return any(not cell[:1].isdigit() for cell in cells if cell not in ("", "-"))


def render_notes(notes: Sequence[str]) -> Html:
    """Render lines below a table; nothing if there are none."""
    return tag("ul", (tag("li", note) for note in notes), class_="notes") if notes else Html()


def wrap_table(table: Html) -> Html:
    """Render a table whose headings stay visible while the page scrolls. A wide table scrolls sideways."""
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="Table")

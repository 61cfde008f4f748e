"""The sections of the page below its beginning: all rows, failures, charts, the environment, and differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from gemmbench.bench.record import Environment
from gemmbench.errors import UsageError
from gemmbench.report.charts.chart_model import Chart, LinePlot
from gemmbench.report.charts.chart_rows import SpeedUnit
from gemmbench.report.charts.chart_style import DARK, LIGHT, SLIM, WIDTH
from gemmbench.report.charts.difference_bars import draw_differences
from gemmbench.report.charts.draw import CHARTS, draw_chart
from gemmbench.report.charts.speed import LINEAR, LOG
from gemmbench.report.charts.svg import render_svg
from gemmbench.report.charts.svg_elements import style_sheet
from gemmbench.report.comparison import Comparison, TransferRow
from gemmbench.report.differences.difference_tables import difference_footer_lines, list_columns
from gemmbench.report.differences.run_differences import Difference, RunDifferences
from gemmbench.report.explanation import explain_in_paragraphs, name_row, rerun_command
from gemmbench.report.flags import explain_letters
from gemmbench.report.page.headline import label_problem, list_failed, name_box
from gemmbench.report.page.html import Content, Html, render_card, tag
from gemmbench.report.page.page_tables import (
    Group,
    RowStyle,
    render_groups,
    render_kernels,
    render_notes,
    render_static,
    render_transfers,
    wrap_table,
)
from gemmbench.report.row import Row
from gemmbench.report.tables.footer import detail_lines, footer_lines, list_modes
from gemmbench.report.tables.kernel_tables import list_transfer_notes, transfer_detail_lines, transfer_footer_lines
from gemmbench.report.tables.post_tables import find_post, report_post
from gemmbench.report.text import count_noun, number


def render_rows(comparisons: Sequence[Comparison], unit: SpeedUnit) -> Html:
    """Render the filters and all tables of the runs."""
    nothing = tag("p", "No row matches.", id="nothing", class_="nothing", hidden=True)
    return tag("div", _render_toolbar(comparisons), (_render_run(each, unit) for each in comparisons), nothing)


def _render_run(comparison: Comparison, unit: SpeedUnit) -> Html:
    parts = list(_render_tables(comparison, unit))
    name = f"{comparison.environment.sweep}, run {comparison.environment.run}"
    return tag("div", tag("h3", name), parts, class_="results")


def _render_tables(comparison: Comparison, unit: SpeedUnit) -> Iterator[Html]:
    post = find_post(comparison.environment)
    if post:
        tables = report_post(comparison).tables
        yield from (part for table in tables for part in (tag("h4", table.title), render_static(table)))
        yield tag("h4", "All rows")
    if comparison.rows:
        yield render_kernels(comparison, unit)
        yield render_notes(explain_letters(comparison.rows))
    if comparison.transfers:
        yield render_transfers(comparison)
        notes = [note for problem in comparison.transfers for note in list_transfer_notes(problem)]
        yield render_notes([*notes, *transfer_footer_lines(comparison.run), *transfer_detail_lines(comparison.run)])


def _render_toolbar(comparisons: Sequence[Comparison]) -> Html:
    """Render the toolbar, which stays hidden unless a script runs."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    moved = [row for comparison in comparisons for problem in comparison.transfers for row in problem.rows]
    records = [*(row.record for row in rows), *(row.record for row in moved)]
    statuses = [*(row.status for row in rows), *(row.record.status for row in moved)]
    labels = [label_problem(problem) for comparison in comparisons for problem in comparison.problems]
    labels += [str(problem.problem) for comparison in comparisons for problem in comparison.transfers]
    controls = [
        tag("input", type="search", id="search", placeholder="Search the rows", aria_label="Search the rows"),
        _render_choice("kernel", (record.variant for record in records)),
        _render_choice("status", statuses),
        _render_choice("problem", labels),
        _render_switch("details", "All columns"),
        _render_switch("flat", "One list"),
        tag("output", id="count", aria_live="polite"),
    ]
    return tag("form", controls, class_="toolbar", hidden=True)


def _render_choice(name: str, values: Iterable[str]) -> Html:
    options = [tag("option", value, value=value) for value in dict.fromkeys(values)]
    every = tag("option", f"Every {name}", value="")
    return tag("select", every, options, id=f"filter-{name}", data_filter=name, aria_label=f"Filter by {name}")


def _render_switch(name: str, text: str) -> Html:
    return tag("label", tag("input", type="checkbox", id=name), text, class_="switch")


_MOST_OPEN = 3
_IN_SUMMARY = ("Row", "Status")
"""Paragraphs that repeat the summary of a box."""


def _list_failed_transfers(comparison: Comparison) -> list[TransferRow]:
    rows = [row for problem in comparison.transfers for row in problem.rows]
    return [row for row in rows if row.record.status not in ("ok", "skipped")]


def render_failures(comparison: Comparison) -> Html | None:
    """Render a box for each failed row; None if there is none.

    If there are only a few boxes, they are open. Otherwise they are closed and form a list.
    """
    rows = list_failed(comparison)
    failed = [_render_row(row, len(rows) <= _MOST_OPEN) for row in rows]
    failed += [_render_transfer(row) for row in _list_failed_transfers(comparison)]
    return tag("div", failed) if failed else None


def _render_row(row: Row, is_open: bool) -> Html:
    record = row.record
    summary = [
        tag("span", row.status, class_="status", data_status=row.status),
        tag("b", name_row(row)),
        tag("span", record.reason, class_="reason"),
    ]
    told = [(name, text) for name, text in explain_in_paragraphs(row) if name not in _IN_SUMMARY]
    told = [("Likely cause", record.diagnosis), *told] if record.diagnosis else told
    paragraphs = [[tag("dt", name), tag("dd", text)] for name, text in told]
    again = [tag("dt", "Again"), tag("dd", tag("code", rerun_command(row.environment, record)))]
    map_of_c = tag("figure", tag("figcaption", "Where C is wrong"), tag("pre", record.wrong_map))
    facts = tag("dl", paragraphs, again)
    body = tag("div", facts, map_of_c if record.wrong_map else None, class_="diagnosis")
    return tag("details", tag("summary", summary), body, class_="failure card", open=is_open, id=name_box(row))


def _render_transfer(row: TransferRow) -> Html:
    record = row.record
    status = tag("span", record.status, class_="status", data_status=record.status)
    name = f"{record.variant}, {record.mode}, at {record.problem}"
    return tag("p", status, tag("b", name), tag("span", record.reason, class_="reason"), class_="failure card")


def render_skips(comparison: Comparison) -> Html | None:
    """Render a table of what was skipped, and why; None if nothing was."""
    skipped = [row for row in comparison.rows if row.status == "skipped"]
    if not skipped:
        return None
    counts = Counter((row.record.variant, row.record.reason) for row in skipped)
    lines = [
        tag("tr", tag("td", name, class_="left"), tag("td", str(count)), tag("td", reason, class_="left"))
        for (name, reason), count in counts.items()
    ]
    headings = [tag("th", name, scope="col", class_="left") for name in ("kernel", "rows", "Reason for the skip")]
    table = tag("table", tag("thead", tag("tr", headings)), tag("tbody", lines), class_="reasons")
    summary = tag("summary", f"{count_noun(len(skipped), 'row')} skipped")
    return tag("details", summary, wrap_table(table), class_="skips")


def render_figures(comparisons: Sequence[Comparison]) -> Html | None:
    """Render every chart for which the runs have data; None if there is none.

    Runs on the CPU device have no charts, because GFLOPS and percentages mean nothing there.
    """
    comparisons = [comparison for comparison in comparisons if comparison.environment.gpu]
    kinds = [drawn for name in CHARTS if (drawn := _draw_kind(name, comparisons))]
    return tag("div", _render_theme(), map(_render_kind, kinds), class_="charts") if kinds else None


def _draw_kind(name: str, comparisons: Sequence[Comparison]) -> dict[str, Chart]:
    """Draw the charts of a kind by problem, the largest first, or speeds by their axis."""
    drawn: dict[str, Chart] = {}
    for label, choices in _list_choices(name, comparisons).items():
        with suppress(UsageError):  # the runs hold nothing for this chart
            drawn[label] = draw_chart(name, comparisons, **choices)
    return _name_axes(drawn) if name == "speed" else drawn


_SPEEDS: Mapping[str, Mapping[str, Any]] = {
    "": {},
    "percent": {"percent": True},
    LINEAR: {"axis": LINEAR},
    LOG: {"axis": LOG},
}


def _name_axes(charts: Mapping[str, Chart]) -> dict[str, Chart]:
    """Name charts of speed `GFLOPS`, `% of cublas` and `GFLOPS, logarithmic`. The usual axis comes first."""
    named: dict[str, Chart] = {}
    for chart in charts.values():
        if isinstance(chart.plot, LinePlot):
            axis = chart.plot.y
            named.setdefault(f"{axis.label}, logarithmic" if axis.log else axis.label, chart)
    return named


def _list_choices(name: str, comparisons: Sequence[Comparison]) -> Mapping[str, Mapping[str, Any]]:
    if name == "speed":
        return _SPEEDS
    if not CHARTS[name].one_problem:
        return {"": {}}
    problems = [problem.problem for comparison in comparisons for problem in comparison.problems]
    problems += [problem.problem for comparison in comparisons for problem in comparison.transfers]
    largest = sorted(dict.fromkeys(problems), key=lambda problem: problem.flops, reverse=True)
    return {
        f"{problem.size} {problem.layout} {problem.precision_name}": {
            "size": problem.shape.size,
            "layout": problem.layout,
            "precision": problem.precision_name,
        }
        for problem in largest
    }


def _render_kind(drawn: Mapping[str, Chart]) -> Html:
    """Render the charts of a kind, one of which is visible at a time."""
    figures = [_render_figure(chart, index > 0) for index, chart in enumerate(drawn.values())]
    if len(drawn) == 1:
        return figures[0]
    options = (tag("option", label, value=str(index)) for index, label in enumerate(drawn))
    choice = tag("select", options, class_="problems", aria_label="What the chart shows", hidden=True)
    return tag("div", choice, figures, class_="kind")


def _render_figure(chart: Chart, hidden: bool) -> Html:
    """Render the chart twice: for a wide screen and for a phone."""
    sizes = ((WIDTH, "broad"), (SLIM, "slim"))
    drawn = [tag("div", Html(render_svg(chart, least, styled=False)), class_=name) for least, name in sizes]
    return tag("figure", drawn, class_="card", tabindex=0, hidden=hidden)


def _render_theme() -> Html:
    """Render the style sheet of the charts, whose colors follow the theme of the page."""
    colors = {name: f"light-dark({LIGHT[name]}, {DARK[name]})" for name in LIGHT} | {"paper": "var(--surface)"}
    rules = " ".join(f"--gb-{name}: {color};" for name, color in colors.items())
    return tag("style", Html(f"{style_sheet()}.charts {{ {rules} }}"))


Facts = Iterable[tuple[str, str]]


def render_environment(comparison: Comparison) -> Html:
    """Render everything in the header of a results file as cards."""
    environment = comparison.environment
    run = comparison.run  # the page has every column, if only on demand
    lines = [*footer_lines(run, True), *detail_lines(run, True)] if comparison.rows else []
    cards = [
        render_card("Run", _render_facts(_list_run(comparison))),
        render_card(f"Device: {environment.device}", _render_facts(_list_device(environment))),
        render_card("Software", _render_facts(environment.software.items())),
        render_card("Settings", _render_facts(_list_settings(environment.policy))),
        render_card("How to read the numbers", tag("ul", (tag("li", line) for line in lines))),
    ]
    name = tag("h3", f"{environment.sweep}, run {environment.run}")
    return tag("div", name, _render_command(environment), tag("div", cards, class_="cards"), class_="results")


def _render_command(environment: Environment) -> Html:
    copy = tag("button", "Copy", type="button", class_="copy", hidden=True)
    return tag("div", tag("code", environment.command), copy, class_="command card")


def _render_facts(facts: Facts) -> Html:
    pairs: list[Content] = [[tag("dt", name), tag("dd", value)] for name, value in facts if value]
    return tag("dl", pairs)


def _list_run(comparison: Comparison) -> Facts:
    environment = comparison.environment
    yield "run", environment.run
    yield "file", comparison.run.path.name
    yield "started", environment.started
    yield "sweep", environment.sweep
    yield "baseline", environment.baseline
    revision = f", revision {environment.revision}" if environment.revision else ""
    yield "gemmbench", environment.gemmbench + revision
    yield "Python", environment.python
    yield "warning", comparison.run.warning


_SECONDS = ("max_time", "window", "sustained")
_SHARES = ("until",)


def _list_settings(policy: Mapping[str, object]) -> Facts:
    """List the policy with units. Settings that are 0 were not requested."""
    for name, value in policy.items():
        text = str(value)
        if isinstance(value, bool):
            text = "on" if value else "off"
        elif isinstance(value, float) and name in (*_SECONDS, *_SHARES):
            text = f"+- {100 * value:g} %" if name in _SHARES else f"{value:g} s"
            text = text if value else ""
        yield name.replace("_", " "), text


def _list_device(environment: Environment) -> Facts:
    yield "back end", environment.backend
    yield "UUID", environment.uuid
    yield "VBIOS", environment.vbios
    yield "compute capability", f"{environment.sm / 10:.1f}" if environment.sm else ""
    yield "multiprocessors" if environment.gpu else "cores", str(environment.sms or "")
    yield "last-level cache", _scale(environment.l2, 1 << 20, "MiB")
    yield "memory", _scale(environment.memory, 1 << 30, "GiB")
    yield "memory bandwidth", _scale(environment.bandwidth, 1e12, "TB/s")
    yield "highest clock", _scale(environment.clock_hz, 1e9, "GHz")
    for precision, per_cycle in environment.flops_per_cycle.items():
        yield f"peak {precision}", _scale(per_cycle * environment.clock_hz, 1e12, "TFLOPS")
    yield from _list_conditions(environment)
    if environment.gpu and environment.host:
        yield "host", f"{environment.host}, {count_noun(environment.cores, 'core')}"


def _list_conditions(environment: Environment) -> Facts:
    known = environment.conditions
    if known is None:
        return
    yield "power limit", _scale(known.power_limit or 0, 1, "W")
    yield from list_modes(environment).items()


def _scale(value: float, unit: float, name: str) -> str:
    return f"{number(value / unit)} {name}" if value else ""


def render_differences(differences: RunDifferences) -> Html:
    """Render the rows that both runs have, with notes on their ratios."""
    chart = draw_differences(differences)
    figure = tag("div", _render_theme(), _render_figure(chart, False), class_="charts") if chart else None
    columns = list_columns(differences)
    groups = [Group(problem.title, str(problem), rows) for problem, rows in differences.by_problem.items()]
    style: RowStyle[Difference] = RowStyle(lambda each: each.row.status)
    baseline = differences.run.environment.baseline
    table = render_groups(columns, len(columns), baseline, groups, style) if groups else None
    first, *notes = difference_footer_lines(differences, drawn=chart is not None)
    return tag("div", tag("p", first, class_="quiet"), figure, table, render_notes(notes), class_="results")

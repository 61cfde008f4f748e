"""A post's table, published and measured here, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gemmbench.planning.problems.problem import size_text
from gemmbench.planning.sweeps.post import ColumnKind, Post, PostRow
from gemmbench.report import tables
from gemmbench.report.comparison import Row, groups
from gemmbench.report.footer import footer
from gemmbench.report.store import Run
from gemmbench.report.tables import number, with_interval

Cell = Callable[["Line"], str]


@dataclass(frozen=True)
class Line:
    """One row of a post beside what was measured for it (None: not measured)."""

    row: PostRow
    measured: Row | None

    @property
    def ranked(self) -> bool:
        """There is a right and possible time."""
        return self.measured is not None and self.measured.ranked

    @property
    def gflops(self) -> float:
        """Measured speed, 2 M N K; NaN if there is none."""
        return self.measured.gflops if self.measured is not None and self.measured.ranked else math.nan


def lines_by_size(post: Post, run: Run) -> dict[str, list[Line]]:
    """The lines of a post for each size that was measured, rows in the post's order."""
    rows = [row for group in groups(run) for row in group.rows]
    sizes = dict.fromkeys(row.record.problem.size for row in rows)
    return {size: _lines(post, [row for row in rows if row.record.problem.size == size]) for size in sizes}


def _lines(post: Post, rows: Sequence[Row]) -> list[Line]:
    return [Line(wanted, next((row for row in rows if _repeats(row, wanted)), None)) for wanted in post.rows]


def _repeats(row: Row, wanted: PostRow) -> bool:
    record = row.record
    problem = record.problem.layout, record.problem.precision_name
    same = (record.variant, *problem) == (wanted.variant, wanted.layout, wanted.precision)
    return same and all(record.config.get(name) == value for name, value in wanted.config)


_OWN: dict[ColumnKind, Cell] = {
    "label": lambda line: line.row.label,
    "time_ms": lambda line: _of(line, lambda row: number(row.time.value * 1e3)),
    "time_s": lambda line: _of(line, lambda row: number(row.time.value)),
    "gflops": lambda line: _of(line, lambda row: number(row.gflops)),
    "gflops_mnk": lambda line: _of(line, lambda row: number(row.gflops / 2)),
    "percent": lambda line: _of(line, lambda row: number(row.percent.value)),
}


def _of(line: Line, show: Callable[[Row], str]) -> str:
    return show(line.measured) if line.measured is not None and line.ranked else "-"


def _ours(run: Run) -> list[tuple[str, Cell]]:
    baseline = run.environment.baseline

    def status(line: Line) -> str:
        return line.measured.status if line.measured is not None else "not measured"

    return [
        ("kernel", lambda line: line.row.variant),
        ("configuration", lambda line: " ".join(f"{name}={value}" for name, value in line.row.config) or "-"),
        ("layout", lambda line: line.row.layout),
        ("GFLOPS (2MNK)", lambda line: number(line.gflops)),
        (f"% of {baseline} (paired)", lambda line: _of(line, lambda row: with_interval(row.percent))),
        ("% of peak", lambda line: _of(line, lambda row: number(row.peak))),
        ("status", status),
    ]


def own_tables(post: Post, run: Run, style: str) -> str:
    """The measured tables with the post's own columns first and ours beside them, for each size."""
    columns = [(name, _OWN[kind]) for name, kind in post.columns] + _ours(run)
    parts = [
        f"{tables.heading(f'{post.title}, {size}', style)}\n\n{_table(columns, lines, style)}"
        for size, lines in lines_by_size(post, run).items()
    ]
    return "\n\n".join([*parts, "\n".join(tables.listed(footer(run), style)).lstrip("\n")]) + "\n"


def story(post: Post, run: Run, style: str) -> str:
    """The published table beside this machine's, with the speed-up over the row above and over the first."""
    here = run.environment.device
    parts = [tables.heading(f"{post.title} ({post.source})", style)]
    for size, lines in lines_by_size(post, run).items():
        published = [line.row.published_gflops or math.nan for line in lines]
        measured = [line.gflops for line in lines]
        columns: list[tuple[str, list[str]]] = [("method", [line.row.label for line in lines])]
        if any(not math.isnan(rate) for rate in published):
            columns += _story_columns(post.gpu, published, lines, size)
        columns.append(
            (f"here at {size} (ms)", [_of(line, lambda row: number(row.time.value * 1e3)) for line in lines])
        )
        columns += _speedups("here", measured)
        columns.append(("% of " + run.environment.baseline, [_OWN["percent"](line) for line in lines]))
        parts.append(_columns_table(columns, style))
    parts += [post.note.strip()] if post.note else []
    return "\n\n".join([*parts, f"Here: {here}, run {run.environment.run}."]) + "\n"


def network_story(run: Run, title: str, style: str) -> str:
    """The same for the post `title` on a neural network, whose rows carry the post's names and figures themselves."""
    rows = [(row, row.record.network) for group in groups(run) for row in group.rows if row.record.network]
    published = [1 / facts.published_ms if facts.published_ms else math.nan for _, facts in rows]
    speeds = [1 / row.time.value if row.ranked else math.nan for row, _ in rows]
    columns: list[tuple[str, list[str]]] = [
        ("version", [facts.label or "(not in the post)" for _, facts in rows]),
        ("kernel", [row.record.variant for row, _ in rows]),
        ("post (ms)", [number(facts.published_ms) for _, facts in rows]),
        *_speedups("post", published),
        ("here (ms)", [number(1e3 / speed) for speed in speeds]),
        *_speedups("here", speeds),
    ]
    heading = tables.heading(f"{title}: {rows[0][1].title}", style)
    ending = f"Here: {run.environment.device}, run {run.environment.run}."
    return "\n\n".join([heading, _columns_table(columns, style), ending]) + "\n"


def _story_columns(gpu: str, rates: list[float], lines: Sequence[Line], size: str) -> list[tuple[str, list[str]]]:
    def time(row: PostRow) -> str:
        if row.published_ms is None or row.published_shape is None:
            return "-"
        published = size_text(*row.published_shape)
        return number(row.published_ms) + ("" if published == size else f" (at {published})")

    columns = [(f"{gpu} (ms)", [time(line.row) for line in lines]), *_speedups(gpu, rates)]
    percents = [line.row.published_percent for line in lines]
    if any(percent is not None for percent in percents):
        columns.append((f"{gpu}: % of cuBLAS", [number(percent) for percent in percents]))
    return columns


def _speedups(where: str, rates: Sequence[float]) -> list[tuple[str, list[str]]]:
    first = next((rate for rate in rates if not math.isnan(rate)), math.nan)
    above = [math.nan, *rates[:-1]]
    return [
        (f"{where}: x row above", [_times(rate / other) for rate, other in zip(rates, above, strict=True)]),
        (f"{where}: x first", [_times(rate / first) for rate in rates]),
    ]


def _times(factor: float) -> str:
    return "-" if math.isnan(factor) else f"{number(factor)}"


def _columns_table(columns: Sequence[tuple[str, list[str]]], style: str) -> str:
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    return tables.tabulated(rows, [name for name, _ in columns], style)


def _table(columns: Sequence[tuple[str, Cell]], lines: Iterable[Line], style: str) -> str:
    rows = [[cell(line) for _, cell in columns] for line in lines]
    return tables.tabulated(rows, [name for name, _ in columns], style)

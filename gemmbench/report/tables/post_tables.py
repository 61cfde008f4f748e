"""The tables of posts: the post's columns in their order, with published figures next to those measured here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing.stats import Interval
from gemmbench.errors import UsageError
from gemmbench.planning.network_sweeps import read_network_post
from gemmbench.planning.sizes import AnyShape
from gemmbench.planning.sweeps.published_post import ColumnKind, Post, PostRow
from gemmbench.planning.sweeps.sweep import describes_network, read_post
from gemmbench.report.comparison import Comparison, TransferRow
from gemmbench.report.diagnostics.profile_report import ProfiledKernel, find_no_eligible
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.kernel_tables import list_skips
from gemmbench.report.text import number, number_within


def find_post(environment: Environment) -> Post | None:
    """Find the post that the run repeats; None if it repeats none, or one that is unknown here."""
    try:
        return read_post(environment.post) if environment.post else None
    except UsageError:
        return None


@dataclass(frozen=True)
class _Line:
    """One line of a table: a row of the post at a size, and the row that repeats it (None: not measured).

    With `published`, the line has the figures of the post.
    """

    row: PostRow
    size: str
    published: bool
    measured: Row | TransferRow | None

    @property
    def status(self) -> str:
        """The status of the measured row."""
        match self.measured:
            case None:
                return "not measured"
            case TransferRow():
                return self.measured.record.status
        return self.measured.status

    @property
    def time(self) -> Interval:
        """The measured seconds, or UNKNOWN if there is no valid time."""
        match self.measured:
            case Row(ranked=True):
                return self.measured.time
            case TransferRow():
                return self.measured.total
        return UNKNOWN

    @property
    def published_time(self) -> float:
        """The published seconds; NaN if there are none."""
        return _nan_if_none(self.row.published_ms if self.published else None) * 1e-3

    @property
    def record(self) -> Record | None:
        """The record of the kernel; None for a job with its copies."""
        return self.measured.record if isinstance(self.measured, Row) else None

    @property
    def percent(self) -> Interval:
        """The percentage of the baseline; UNKNOWN on a CPU, where it would mean nothing."""
        row = self.measured
        return row.percent_of_baseline if isinstance(row, Row) and row.ranked and row.environment.gpu else UNKNOWN

    @property
    def kernel(self) -> str:
        """The kernel used here with its parameters, and how operands are copied."""
        config = " ".join(f"{name}={value}" for name, value in self.row.config)
        layout = "" if self.row.layout == "nn" else self.row.layout
        precision = "" if self.row.precision == "f32" else self.row.precision
        return " ".join(filter(None, (self.row.variant, config, layout, precision, self.row.copies)))


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else value


def report_post(comparison: Comparison) -> Report:
    """Report the tables of the post that a run repeats: one for each size, unless the post has a column of sizes.

    Raises UsageError or SpecError if its config cannot be read.
    """
    name = comparison.environment.post
    network = describes_network(name)
    post = read_network_post(name) if network else read_post(name)
    if post is None:
        return Report([])
    tables = list(_tabulate_network(post, comparison) if network else _tabulate_sizes(post, comparison))
    environment = comparison.environment
    lines = [
        *([post.note.strip()] if post.note else []),
        *([_EXPLAIN_SPEEDUP] if any("speed-up" in heading for table in tables for heading in table.headings) else []),
        *_list_readers_of_c(comparison),
        *_compare_no_eligible(post, comparison),
        *list_skips(_find_skipped(post, comparison)),
        f"Post: {post.source}",
        f"Here: {environment.device}, run {environment.run}{environment.scope}.",
    ]
    return Report(tables, lines)


_EXPLAIN_SPEEDUP = (
    "Speed-up: of a step over the previous step; of a corrected kernel over the post's kernel in the row above."
)


def _list_readers_of_c(comparison: Comparison) -> list[str]:
    """Note that some kernels read C, which costs them time."""
    names = dict.fromkeys(row.record.variant for row in comparison.rows if row.record.reads_c)
    return [f"These kernels read C although beta is 0, as in the post: {', '.join(names)}."] if names else []


def _compare_no_eligible(post: Post, comparison: Comparison) -> Iterator[str]:
    """Compare the cycles without an eligible warp in the post with those in a profile next to the results."""
    environment = comparison.environment
    for row in post.rows:
        if row.published_no_eligible is None or row.published_shape is None:
            continue
        size = row.published_shape.size
        there = f"No Eligible, {row.label}: {row.published_no_eligible:g} % on {post.gpu}"
        if not environment.gpu:
            yield f"{there}; unknown here, because a CPU has no such counter."
            continue
        kernel = ProfiledKernel(row.variant, dict(row.config), size, row.layout, row.precision)
        folder = comparison.run.path.parent
        found = find_no_eligible(folder, environment.device, kernel)
        if found is None:
            yield f"{there}; not profiled here: `{kernel.describe_command(folder)}` counts it."
        else:
            yield f"{there}, {number(found)} % here."


def _find_skipped(post: Post, comparison: Comparison) -> list[Record]:
    """Find the skipped rows of the post. All rows of a network are the post's, but a sweep may have others."""
    names = {row.variant for row in post.rows}
    skipped = [row.record for row in comparison.rows if row.record.status == "skipped"]
    return [record for record in skipped if record.variant in names or not names]


def _tabulate_sizes(post: Post, comparison: Comparison) -> Iterator[Table]:
    measured = list(dict.fromkeys(row.record.problem.size for row in comparison.rows))
    if "size" in dict(post.columns).values():
        lines = [line for row in post.rows for line in _match_all_sizes(row, measured, comparison)]
        yield _make_table(post, post.title, post.gpu or "post", lines, comparison)
        return
    for size in measured:
        published = _choose_published_size(post, size, measured)
        where = f"{post.gpu or 'post'}{'' if published in (size, '') else f' at {published}'}"
        lines = [
            _Line(row, size, _name_size(row.published_shape) == published != "", _find_measured(row, size, comparison))
            for row in post.rows
        ]
        yield _make_table(post, f"{post.title}, {size}", where, lines, comparison)


def _match_all_sizes(row: PostRow, measured: Sequence[str], comparison: Comparison) -> Iterator[_Line]:
    """Yield the lines of a row at the sizes where it was measured and at the size in the post."""
    published = _name_size(row.published_shape)
    for size in dict.fromkeys([*measured, *([published] if published else [])]):
        found = _find_measured(row, size, comparison)
        if found is not None or size == published:
            yield _Line(row, size, size == published, found)


def _name_size(shape: AnyShape | None) -> str:
    return shape.size if shape else ""


def _find_measured(wanted: PostRow, size: str, comparison: Comparison) -> Row | TransferRow | None:
    rows: Iterable[Row | TransferRow] = comparison.rows
    if wanted.copies:
        rows = (row for problem in comparison.transfers for row in problem.rows if row.record.mode == wanted.copies)
    return next((row for row in rows if row.record.problem.size == size and _repeats(row, wanted)), None)


def _repeats(row: Row | TransferRow, wanted: PostRow) -> bool:
    record = row.record
    problem = record.problem.layout, record.problem.precision_name
    same = (record.variant, *problem) == (wanted.variant, wanted.layout, wanted.precision)
    return same and all(record.config.get(name) == value for name, value in wanted.config)


def _choose_published_size(post: Post, size: str, measured: Collection[str]) -> str:
    """Choose the size whose published figures are shown next to those measured at `size`; "" for none.

    Figures for another size are shown only if the run repeats none of the sizes in the post.
    """
    published = Counter(_name_size(row.published_shape) for row in post.rows if row.published_shape)
    if size in published or not published:
        return size if published else ""
    return "" if published.keys() & set(measured) else published.most_common(1)[0][0]


def _tabulate_network(post: Post, comparison: Comparison) -> Iterator[Table]:
    rows = [row for row in comparison.rows if row.record.network]
    if rows and rows[0].record.network:
        title = f"{post.title}: {rows[0].record.network.title}"
        yield _make_table(post, title, post.gpu or "post", [_make_network_line(row) for row in rows], comparison)


def _make_network_line(measured: Row) -> _Line:
    record, problem = measured.record, measured.record.problem
    facts = record.network
    assert facts is not None
    row = PostRow(
        label=facts.label or record.variant,
        variant=record.variant,
        config=tuple(record.config.items()),
        layout=problem.layout,
        precision=problem.precision_name,
        shapes=(),
        published_ms=facts.published_ms,
        step=facts.step,
        corrects=facts.corrects,
    )
    return _Line(row, problem.size, True, measured)


_SPEEDS: tuple[ColumnKind, ...] = ("gflops", "gflops_mnk", "percent", "faster")
"""Columns that tell something about speed, which the times of a CPU do not."""


def _make_table(post: Post, title: str, where: str, lines: Sequence[_Line], comparison: Comparison) -> Table:
    environment = comparison.environment
    columns: dict[str, list[str]] = {}
    kinds = dict(post.columns) or {"method": "label", "time (ms)": "time_ms"}
    for heading, kind in kinds.items():
        if kind in ("label", "size"):
            columns[heading] = [line.row.label if kind == "label" else line.size for line in lines]
            continue
        columns |= _keep_filled(f"{heading} {where}", _publish_column(kind, kinds, lines))
        if environment.gpu or kind not in _SPEEDS:
            columns |= _keep_filled(f"{heading} here", _measure_column(kind, lines))
    theirs = list(columns)
    columns |= _keep_filled(f"speed-up {where}", _publish_speedups(lines))
    columns |= _keep_filled("speed-up here", _measure_speedups(lines))
    if "percent" not in kinds.values():
        percents = [number_within(line.percent.value, line.percent) for line in lines]
        columns |= _keep_filled(f"% of {environment.baseline} here", percents)
    columns |= _keep_filled("registers", [_count_facts(line, "registers") for line in lines])
    columns |= _keep_filled("spilled bytes", [_count_facts(line, "spills") for line in lines])
    columns["our kernel"] = [line.kernel for line in lines]
    statuses = [line.status for line in lines]
    if set(statuses) != {"ok"}:
        columns["status"] = statuses
    labels = [heading for heading, kind in kinds.items() if kind == "label"]
    return Table(
        title,
        list(columns),
        list(zip(*columns.values(), strict=True)),
        left=["status"],
        statuses=statuses,
        fold=[*labels, "our kernel"],
        hide=["our kernel", *(heading for heading in reversed(columns) if heading not in (*theirs, "status"))],
        fold_headings=True,
    )


def _keep_filled(heading: str, cells: list[str]) -> dict[str, list[str]]:
    """Return the column unless it is empty."""
    return {heading: cells} if set(cells) != {"-"} else {}


def _count_facts(line: _Line, name: str) -> str:
    """Return what the compiler reports about the kernel; `-` if unknown, and for a library."""
    count: int = getattr(line.record, name, -1)
    return str(count) if count >= 0 else "-"


def _publish_column(kind: ColumnKind, kinds: Mapping[str, ColumnKind], lines: Sequence[_Line]) -> list[str]:
    """Return the cells that the post published."""
    return [_publish_cell(kind, kinds, line, lines[0]) if line.published else "-" for line in lines]


def _publish_cell(kind: ColumnKind, kinds: Mapping[str, ColumnKind], line: _Line, first: _Line) -> str:
    row = line.row
    match kind:
        case "time_ms":
            return _as_published(row.published_ms)
        case "time_s":
            return _as_published(row.published_ms, 1e-3)
        case "percent":
            return "-" if row.published_percent is None else _format_percent(row.published_percent)
        case "faster":
            return _format_gain(line.published_time, first.published_time)
        case "gflops":
            return "-" if "gflops_mnk" in kinds.values() else _as_published(row.published_gflops)
        case "gflops_mnk":
            return _as_published(row.published_gflops)
    return "-"


def _as_published(value: float | None, factor: float = 1.0) -> str:
    return "-" if value is None else f"{value * factor:.10g}"


def _format_percent(value: float) -> str:
    return "100%" if value == 100 else f"{value:.2f}%"


def _format_gain(time: float, first: float) -> str:
    """Format how much less time a line takes than the first row, in percent; negative if it takes more."""
    gain = 100 * (1 - time / first)
    return "-" if math.isnan(gain) or time == first else f"{gain:.2f}"


def _measure_column(kind: ColumnKind, lines: Sequence[_Line]) -> list[str]:
    """Return the cells that were measured."""
    return [_measure_cell(kind, line, lines[0]) for line in lines]


def _measure_cell(kind: ColumnKind, line: _Line, first: _Line) -> str:
    time = line.time
    match kind:
        case "time_ms":
            return number_within(time.value * 1e3, time)
        case "time_s":
            return number_within(time.value, time)
        case "percent":
            text = number_within(line.percent.value, line.percent)
            return text if text == "-" else f"{text}%"
        case "faster":
            return _format_gain(time.value, first.time.value)
        case "gflops" | "gflops_mnk":
            operations = line.record.flops if line.record else math.nan
            counted = operations / 2 if kind == "gflops_mnk" else operations
            return number_within(counted / time.value / 1e9, time)
    return "-"


_DIGITS = 3
"""The significant digits of a speed-up."""


def _publish_speedups(lines: Sequence[_Line]) -> list[str]:
    return [number(_speed_up(lines, index, published=True), _DIGITS) for index in range(len(lines))]


def _measure_speedups(lines: Sequence[_Line]) -> list[str]:
    return [number(_speed_up(lines, index, published=False), _DIGITS) for index in range(len(lines))]


def _speed_up(lines: Sequence[_Line], index: int, published: bool) -> float:
    """Return how many times as fast a line is as its reference; NaN if it has none."""
    other = _find_reference(lines, index)
    if other is None:
        return math.nan
    line = lines[index]
    times = [each.published_time if published else each.time.value for each in (other, line)]
    return times[0] / times[1]


def _find_reference(lines: Sequence[_Line], index: int) -> _Line | None:
    """Find the line to compare with: the row above at this size or, for a step, the nearest uncorrected one."""
    line = lines[index]
    above = [other for other in lines[:index] if other.size == line.size and other.row is not line.row]
    if line.row.step:
        above = [other for other in above if not other.row.corrects]
    return above[-1] if above and (line.row.step or line.row.corrects) else None

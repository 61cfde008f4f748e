"""The tables of posts: what a post published next to what was measured here, with the speed-ups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing.stats import Interval
from gemmbench.errors import UsageError
from gemmbench.planning.network_sweeps import read_network_post
from gemmbench.planning.problems import size_text
from gemmbench.planning.sweeps.published_post import ColumnKind, Post, PostRow
from gemmbench.planning.sweeps.sweep import describes_network, read_post
from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.columns.detail_columns import READS
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import detail_lines, footer_lines, summary_lines, warning_lines
from gemmbench.report.tables.kernel_tables import list_skips, report_transfers
from gemmbench.report.tables.view import View
from gemmbench.report.text import number, number_within, with_interval


def find_post(environment: Environment) -> Post | None:
    """The post; None if the run repeats none, or one that is unknown here."""
    try:
        return read_post(environment.post) if environment.post else None
    except UsageError:
        return None


@dataclass(frozen=True)
class PostLine:
    """One row of a post and the row that repeats it (None: not measured)."""

    row: PostRow
    measured: Row | None

    @property
    def gflops(self) -> float:
        """Measured speed, 2 M N K; NaN if there is no valid one."""
        return self.measured.gflops if self.measured is not None and self.measured.ranked else math.nan

    def show(self, format_cell: Callable[[Row], str]) -> str:
        """The text for the measured row, `-` if there is no valid one."""
        return format_cell(self.measured) if self.measured is not None and self.measured.ranked else "-"


def _match_lines(post: Post, comparison: Comparison) -> dict[str, list[PostLine]]:
    """The lines of a post for each size that was measured, in the post's order."""
    rows = comparison.rows
    sizes = dict.fromkeys(row.record.problem.size for row in rows)
    return {size: _match_rows(post, [row for row in rows if row.record.problem.size == size]) for size in sizes}


def _match_rows(post: Post, rows: Sequence[Row]) -> list[PostLine]:
    return [PostLine(wanted, next((row for row in rows if _repeats(row, wanted)), None)) for wanted in post.rows]


def _repeats(row: Row, wanted: PostRow) -> bool:
    record = row.record
    problem = record.problem.layout, record.problem.precision_name
    same = (record.variant, *problem) == (wanted.variant, wanted.layout, wanted.precision)
    return same and all(record.config.get(name) == value for name, value in wanted.config)


def _status(line: PostLine) -> str:
    return line.measured.status if line.measured is not None else "not measured"


def _configuration(line: PostLine) -> str:
    return " ".join(f"{name}={value}" for name, value in line.row.config) or "-"


_OURS: tuple[Column[PostLine], ...] = (
    Column(heading="variant", cell=lambda line: line.row.variant, left=True, hide=7),
    Column(heading="configuration", cell=_configuration, fold=True, hide=6),
    Column(heading="layout", cell=lambda line: line.row.layout, hide=1),
    Column(heading="GFLOPS (2MNK)", cell=lambda line: line.show(lambda row: _format_speed(row, row.gflops)), hide=4),
    Column(
        heading="% of {baseline} (paired)",
        cell=lambda line: line.show(lambda row: with_interval(row.percent_of_baseline)),
    ),
    Column(
        heading="% of peak", cell=lambda line: line.show(lambda row: _format_speed(row, row.percent_of_peak)), hide=3
    ),
    Column(heading=READS.heading, cell=lambda line: line.show(READS.cell), hide=2),
    Column(heading="status", cell=_status, left=True),
)


def _format_speed(row: Row, value: float) -> str:
    """A number that is proportional to the row's speed."""
    return number_within(value, row.time)


def _show_cell(kind: ColumnKind, line: PostLine) -> str:
    """The measured value of a column that a post has."""
    match kind:
        case "label":
            return line.row.label
        case "time_ms":
            return line.show(lambda row: _format_speed(row, row.time.value * 1e3))
        case "time_s":
            return line.show(lambda row: _format_speed(row, row.time.value))
        case "gflops":
            return line.show(lambda row: _format_speed(row, row.gflops))
        case "gflops_mnk":
            return line.show(lambda row: _format_speed(row, row.gflops / 2))
        case "percent":
            return line.show(lambda row: number_within(row.percent_of_baseline.value, row.percent_of_baseline))


def report_post(post: Post, comparison: Comparison, notes: bool = False) -> list[Report]:
    """The tables of a post, one for each size, and those of transfers if there are any; `notes` as in View."""
    baseline = comparison.environment.baseline
    on_gpu = comparison.environment.gpu
    theirs = [_make_column(name, kind) for name, kind in post.columns if on_gpu or kind not in _SPEEDS]
    columns = [*theirs, *(column for column in _OURS if on_gpu or not column.heading.startswith(("GFLOPS", "%")))]
    tables = [
        make_table(
            columns, lines, f"{post.title}, {size}", baseline=baseline, statuses=[_status(line) for line in lines]
        )
        for size, lines in _match_lines(post, comparison).items()
    ]
    transfers = [report_transfers(comparison, View(notes=notes))] if comparison.transfers else []
    run = comparison.run
    details = [*footer_lines(run), *detail_lines(run)]
    short, warnings = summary_lines(run), warning_lines(run)
    more = "" if notes else "How it was measured: --notes."
    report = Report(tables, details if notes else short, details=details, remarks=() if notes else warnings, more=more)
    return [report, *transfers]


_SPEEDS: tuple[ColumnKind, ...] = ("gflops", "gflops_mnk", "percent")


def _make_column(heading: str, kind: ColumnKind) -> Column[PostLine]:
    hide = 5 if kind in _SPEEDS else 0
    return Column(heading=heading, cell=lambda line: _show_cell(kind, line), fold=kind == "label", hide=hide)


_CUBLAS = "cuBLAS"
_DIGITS = 3
"""Of a ratio."""


@dataclass(frozen=True)
class _StoryRow:
    """One row: what was published and what was measured, in milliseconds and percent.

    What is unknown is NaN or, measured, UNKNOWN. With `step` it is one step further than the row above.
    """

    label: str
    kernel: str
    published_ms: float
    published_percent: float
    time_ms: Interval
    percent: Interval
    step: bool


def report_story(comparison: Comparison) -> Report:
    """The tables of the post that a run repeats, one for each size. Raises UsageError or SpecError."""
    name = comparison.environment.post
    post = read_network_post(name) if describes_network(name) else read_post(name)
    if post is None:
        return Report([])
    tables = _tabulate_network(post, comparison) if describes_network(name) else _tabulate_sizes(post, comparison)
    environment = comparison.environment
    run = f"Here: {environment.device}, run {environment.run}{environment.scope}."
    skips = list_skips(_find_skipped(post, comparison))
    return Report(list(tables), [*([post.note.strip()] if post.note else []), *skips, f"Post: {post.source}", run])


def _find_skipped(post: Post, comparison: Comparison) -> list[Record]:
    """What the post has and was skipped: a sweep may have other rows, such as a baseline, a network has none."""
    names = {row.variant for row in post.rows}
    skipped = [row.record for row in comparison.rows if row.record.status == "skipped"]
    return [record for record in skipped if record.variant in names or not names]


def _tabulate_sizes(post: Post, comparison: Comparison) -> Iterator[Table]:
    lines = _match_lines(post, comparison)
    for size, measured in lines.items():
        published = _choose_published_size(post, size, lines)
        where = f"{post.gpu or 'post'}{'' if published in (size, '') else f' at {published}'}"
        rows = [_make_row(line, published) for line in measured]
        yield _make_table(f"{post.title}, {size}", where, rows, comparison.environment.baseline)


def _choose_published_size(post: Post, size: str, measured: Collection[str]) -> str:
    """The size whose published figures stand next to those measured at `size`; "" for none.

    Figures of another size are shown only if none of the sizes that the post measured is repeated.
    """
    published = Counter(size_text(*row.published_shape) for row in post.rows if row.published_shape)
    if size in published or not published:
        return size if published else ""
    return "" if published.keys() & set(measured) else published.most_common(1)[0][0]


def _make_row(line: PostLine, published: str) -> _StoryRow:
    row = line.row
    known = row.published_shape is not None and size_text(*row.published_shape) == published
    published_ms = _nan_if_none(row.published_ms if known else None)
    published_percent = _nan_if_none(row.published_percent if known else None)
    return _StoryRow(row.label, row.variant, published_ms, published_percent, *_measured(line.measured), row.step)


def _tabulate_network(post: Post, comparison: Comparison) -> Iterator[Table]:
    rows = [(row, row.record.network) for row in comparison.rows if row.record.network]
    story = [
        _StoryRow(
            facts.label or row.record.variant,
            row.record.variant,
            _nan_if_none(facts.published_ms),
            math.nan,
            *_measured(row),
            facts.step,
        )
        for row, facts in rows
    ]
    if rows:
        title = f"{post.title}: {rows[0][1].title}"
        yield _make_table(title, "post", story, comparison.environment.baseline)


def _nan_if_none(value: float | None) -> float:
    return math.nan if value is None else value


def _measured(row: Row | None) -> tuple[Interval, Interval]:
    """Milliseconds, and percent of the baseline, which say nothing where they are the CPU's."""
    if row is None or not row.ranked:
        return UNKNOWN, UNKNOWN
    return row.time.scale(1e3), row.percent_of_baseline if row.environment.gpu else UNKNOWN


def _make_table(title: str, where: str, rows: Sequence[_StoryRow], baseline: str) -> Table:
    steps = [row.step for row in rows]
    first = rows[0].kernel != baseline  # else the percentages say it
    columns = {
        "method": [row.label for row in rows],
        "kernel": [row.kernel for row in rows],
        **_column(f"{where} (ms)", [_as_published(row.published_ms) for row in rows]),
        **_ratio_columns(where, [row.published_ms for row in rows], steps, first),
        **_column(f"{where}: % of {_CUBLAS}", [_as_published(row.published_percent) for row in rows]),
        **_column("here (ms)", [number_within(row.time_ms.value, row.time_ms) for row in rows]),
        **_ratio_columns("here", [row.time_ms.value for row in rows], steps, first),
        **_column(f"here: % of {baseline}", [number_within(row.percent.value, row.percent) for row in rows]),
    }
    hide = [name for name in columns if "% of" in name] + [name for name in columns if name.endswith("x first")]
    cells = list(zip(*columns.values(), strict=True))
    return Table(title, list(columns), cells, left=["kernel"], fold=["method"], hide=["kernel", *hide])


def _ratio_columns(where: str, times: Sequence[float], steps: Sequence[bool], first: bool) -> dict[str, list[str]]:
    """How many times as fast each row is as the row above, for steps, and with `first` as the first row."""
    above = [other if step else math.nan for other, step in zip([math.nan, *times], steps, strict=False)]
    ratios = {f"{where}: x row above": [other / time for time, other in zip(times, above, strict=True)]}
    if first:
        ratios[f"{where}: x first"] = [times[0] / time for time in times]
    columns = [_column(name, [number(value, _DIGITS) for value in values]) for name, values in ratios.items()]
    return dict(item for column in columns for item in column.items())


def _column(heading: str, cells: list[str]) -> dict[str, list[str]]:
    """The column, unless it is empty."""
    return {heading: cells} if set(cells) != {"-"} else {}


def _as_published(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.8g}"

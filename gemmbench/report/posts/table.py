"""The tables of a run that repeats a post: the post's own columns, then ours."""

from __future__ import annotations

from gemmbench.planning.sweeps.published_post import ColumnKind, Post
from gemmbench.report.columns.column import Column, make_table
from gemmbench.report.columns.details import READS
from gemmbench.report.comparison import Comparison
from gemmbench.report.posts.lines import PostLine, match_lines
from gemmbench.report.row import Row
from gemmbench.report.table import Report
from gemmbench.report.tables.footer import detail_lines, footer_lines
from gemmbench.report.tables.transfers import report_transfers
from gemmbench.report.text import number_within, with_interval


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


def show_cell(kind: ColumnKind, line: PostLine) -> str:
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


def report_post(post: Post, comparison: Comparison) -> list[Report]:
    """The tables of a post, one for each size, and those of transfers if there are any."""
    baseline = comparison.environment.baseline
    columns = [*(_make_column(name, kind) for name, kind in post.columns), *_OURS]
    tables = [
        make_table(
            columns, lines, f"{post.title}, {size}", baseline=baseline, statuses=[_status(line) for line in lines]
        )
        for size, lines in match_lines(post, comparison).items()
    ]
    transfers = [report_transfers(comparison)] if comparison.transfers else []
    return [Report(tables, footer_lines(comparison.run), details=detail_lines(comparison.run)), *transfers]


def _make_column(heading: str, kind: ColumnKind) -> Column[PostLine]:
    hide = 5 if kind in ("gflops", "gflops_mnk", "percent") else 0
    return Column(heading=heading, cell=lambda line: show_cell(kind, line), fold=kind == "label", hide=hide)

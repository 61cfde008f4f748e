"""The tables of a run that repeats a post: the post's own columns, then ours."""

from __future__ import annotations

from gemmbench.planning.sweeps.post import ColumnKind, Post
from gemmbench.report.columns.column import Column, format_headings, format_rows
from gemmbench.report.comparison import Comparison
from gemmbench.report.posts.lines import PostLine, match_lines
from gemmbench.report.table import Report, Table
from gemmbench.report.tables.footer import footer_lines
from gemmbench.report.tables.transfers import report_transfers
from gemmbench.report.text import number, with_interval


def _status(line: PostLine) -> str:
    return line.measured.status if line.measured is not None else "not measured"


def _configuration(line: PostLine) -> str:
    return " ".join(f"{name}={value}" for name, value in line.row.config) or "-"


_OURS: tuple[Column[PostLine], ...] = (
    Column(heading="kernel", cell=lambda line: line.row.variant),
    Column(heading="configuration", cell=_configuration),
    Column(heading="layout", cell=lambda line: line.row.layout),
    Column(heading="GFLOPS (2MNK)", cell=lambda line: number(line.gflops)),
    Column(
        heading="% of {baseline} (paired)",
        cell=lambda line: line.show(lambda row: with_interval(row.percent_of_baseline)),
    ),
    Column(heading="% of peak", cell=lambda line: line.show(lambda row: number(row.percent_of_peak))),
    Column(heading="status", cell=_status),
)


def show_cell(kind: ColumnKind, line: PostLine) -> str:
    """The measured value of a column that a post has."""
    match kind:
        case "label":
            return line.row.label
        case "time_ms":
            return line.show(lambda row: number(row.time.value * 1e3))
        case "time_s":
            return line.show(lambda row: number(row.time.value))
        case "gflops":
            return line.show(lambda row: number(row.gflops))
        case "gflops_mnk":
            return line.show(lambda row: number(row.gflops / 2))
        case "percent":
            return line.show(lambda row: number(row.percent_of_baseline.value))


def report_post(post: Post, comparison: Comparison) -> list[Report]:
    """The tables of a post, one for each size, and those of transfers if there are any."""
    baseline = comparison.environment.baseline
    headings = [*(name for name, _ in post.columns), *format_headings(_OURS, baseline)]
    tables = [
        Table(f"{post.title}, {size}", headings, _format_lines(post, lines))
        for size, lines in match_lines(post, comparison).items()
    ]
    transfers = [report_transfers(comparison)] if comparison.transfers else []
    return [Report(tables, footer_lines(comparison.run)), *transfers]


def _format_lines(post: Post, lines: list[PostLine]) -> list[list[str]]:
    own = [[show_cell(kind, line) for _, kind in post.columns] for line in lines]
    return [[*first, *second] for first, second in zip(own, format_rows(_OURS, lines), strict=True)]

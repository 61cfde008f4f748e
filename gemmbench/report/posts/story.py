"""What `gemmbench posts` prints: the published table next to this machine's, with the speed-ups."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gemmbench.bench.record import Environment
from gemmbench.planning.problems.problem import size_text
from gemmbench.planning.sweeps.post import Post, PostRow
from gemmbench.report.comparison import Comparison
from gemmbench.report.posts.lines import PostLine, match_lines
from gemmbench.report.posts.table import show_cell
from gemmbench.report.table import format_cells, format_heading
from gemmbench.report.text import number

Cells = tuple[str, list[str]]
"""One column: its heading and its cells."""


def tell_story(post: Post, comparison: Comparison, style: str) -> str:
    """One table for each size, with the speed-up over the row above and over the first."""
    environment = comparison.environment
    title = post.source if post.source.startswith(post.title) else f"{post.title} ({post.source})"
    parts = [format_heading(title, style)]
    for size, lines in match_lines(post, comparison).items():
        published = [line.row.published_gflops or math.nan for line in lines]
        columns: list[Cells] = [("method", [line.row.label for line in lines])]
        if any(not math.isnan(rate) for rate in published):
            columns += _published_columns(post.gpu, published, lines, size)
        columns.append((f"here at {size} (ms)", [show_cell("time_ms", line) for line in lines]))
        columns += _speedup_columns("here", [line.gflops for line in lines])
        columns.append((f"% of {environment.baseline}", [show_cell("percent", line) for line in lines]))
        parts.append(_format_columns(columns, style))
    parts += [post.note.strip()] if post.note else []
    return "\n\n".join([*parts, _name_run(environment)]) + "\n"


def tell_network_story(comparison: Comparison, title: str, style: str) -> str:
    """The same for the post `title` on a network, whose rows hold the post's names and figures."""
    rows = [(row, row.record.network) for row in comparison.rows if row.record.network]
    published = [1 / facts.published_ms if facts.published_ms else math.nan for _, facts in rows]
    speeds = [1 / row.time.value if row.ranked else math.nan for row, _ in rows]
    columns: list[Cells] = [
        ("version", [facts.label or "(not in the post)" for _, facts in rows]),
        ("kernel", [row.record.variant for row, _ in rows]),
        ("post (ms)", [number(facts.published_ms) for _, facts in rows]),
        *_speedup_columns("post", published),
        ("here (ms)", [number(1e3 / speed) for speed in speeds]),
        *_speedup_columns("here", speeds),
    ]
    heading = format_heading(f"{title}: {rows[0][1].title}", style)
    return "\n\n".join([heading, _format_columns(columns, style), _name_run(comparison.environment)]) + "\n"


def _name_run(environment: Environment) -> str:
    return f"Here: {environment.device}, run {environment.run}."


def _published_columns(gpu: str, rates: list[float], lines: Sequence[PostLine], size: str) -> list[Cells]:
    columns = [(f"{gpu} (ms)", [_published_time(line.row, size) for line in lines]), *_speedup_columns(gpu, rates)]
    percents = [line.row.published_percent for line in lines]
    if any(percent is not None for percent in percents):
        columns.append((f"{gpu}: % of cuBLAS", [number(percent) for percent in percents]))
    return columns


def _published_time(row: PostRow, size: str) -> str:
    """Milliseconds, with the size if the post measured another one."""
    if row.published_ms is None or row.published_shape is None:
        return "-"
    published = size_text(*row.published_shape)
    return number(row.published_ms) + ("" if published == size else f" (at {published})")


def _speedup_columns(where: str, rates: Sequence[float]) -> list[Cells]:
    first = next((rate for rate in rates if not math.isnan(rate)), math.nan)
    above = [math.nan, *rates[:-1]]
    return [
        (f"{where}: x row above", [number(rate / other) for rate, other in zip(rates, above, strict=True)]),
        (f"{where}: x first", [number(rate / first) for rate in rates]),
    ]


def _format_columns(columns: Sequence[Cells], style: str) -> str:
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    return format_cells(rows, [heading for heading, _ in columns], style)

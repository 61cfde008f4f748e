"""What `gemmbench posts` prints: the published table next to this machine's, with the speed-ups.

Every ratio is of two times at the same size: published ones at the size of the post, measured ones
at the size of the table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gemmbench.planning.networks.network_config import read_network_post
from gemmbench.planning.problems.problem import size_text
from gemmbench.planning.sweeps.post import Post
from gemmbench.planning.sweeps.sweep_config import describes_network, read_post
from gemmbench.report.comparison import Comparison
from gemmbench.report.posts.lines import PostLine, match_lines
from gemmbench.report.row import Row
from gemmbench.report.table import Report, Table
from gemmbench.report.text import number

_CUBLAS = "cuBLAS"


@dataclass(frozen=True)
class _StoryRow:
    """One row: what was published and what was measured, in milliseconds and percent; NaN if unknown.

    With `step` it is one step further than the row above.
    """

    label: str
    kernel: str
    published_ms: float
    published_percent: float
    time_ms: float
    percent: float
    step: bool


def report_story(comparison: Comparison) -> Report:
    """The tables of the post that a run repeats, one for each size. Raises UsageError or SpecError."""
    name = comparison.environment.post
    post = read_network_post(name) if describes_network(name) else read_post(name)
    if post is None:
        return Report([])
    tables = _tabulate_network(post, comparison) if describes_network(name) else _tabulate_sizes(post, comparison)
    environment = comparison.environment
    run = f"Here: {environment.device}, run {environment.run}."
    return Report(list(tables), [*([post.note.strip()] if post.note else []), f"Post: {post.source}", run])


def _tabulate_sizes(post: Post, comparison: Comparison) -> Iterator[Table]:
    lines = match_lines(post, comparison)
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


def _measured(row: Row | None) -> tuple[float, float]:
    """Milliseconds and percent of the baseline."""
    if row is None or not row.ranked:
        return math.nan, math.nan
    return row.time.value * 1e3, row.percent_of_baseline.value


def _make_table(title: str, where: str, rows: Sequence[_StoryRow], baseline: str) -> Table:
    steps = [row.step for row in rows]
    first = rows[0].kernel != baseline  # else the percentages say it
    columns = {
        "method": [row.label for row in rows],
        "kernel": [row.kernel for row in rows],
        **_time_columns(where, [row.published_ms for row in rows], steps, first),
        **_percent_column(f"{where}: % of {_CUBLAS}", [row.published_percent for row in rows]),
        **_time_columns("here", [row.time_ms for row in rows], steps, first),
        **_percent_column(f"here: % of {baseline}", [row.percent for row in rows]),
    }
    hide = [name for name in columns if "% of" in name] + [name for name in columns if name.endswith("x first")]
    cells = list(zip(*columns.values(), strict=True))
    return Table(title, list(columns), cells, left=["kernel"], fold=["method"], hide=["kernel", *hide])


def _time_columns(where: str, times: Sequence[float], steps: Sequence[bool], first: bool) -> dict[str, list[str]]:
    """Milliseconds; how many times as fast as the row above, for steps; with `first` also as the first row."""
    if all(map(math.isnan, times)):
        return {}
    columns = {f"{where} (ms)": [number(time) for time in times]}
    above = [other if step else math.nan for other, step in zip([math.nan, *times], steps, strict=False)]
    if any(steps):
        columns[f"{where}: x row above"] = [number(other / time) for time, other in zip(times, above, strict=True)]
    if first and not math.isnan(times[0]):
        columns[f"{where}: x first"] = [number(times[0] / time) for time in times]
    return columns


def _percent_column(heading: str, percents: Sequence[float]) -> dict[str, list[str]]:
    return {} if all(map(math.isnan, percents)) else {heading: [number(percent) for percent in percents]}

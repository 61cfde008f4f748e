"""Posts: the table that a post published, row by row, and the plans that repeat it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from gemmbench.planning.precisions import find_precision
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import AnyShape, parse_sizes

ColumnKind = Literal["label", "size", "time_ms", "time_s", "gflops", "gflops_mnk", "percent", "faster"]
"""The content of a column: the row's name, its size, a time, a speed, or a percentage.

A speed counts 2 M N K operations, or M N K as one post does. A percentage is of the baseline, or says how much less
time the row takes than the first row.
"""
Copies = Literal["", "pageable", "pinned", "panels", "overlapped"]


class PublishedModel(msgspec.Struct, forbid_unknown_fields=True):
    """The published values for one row: its size, and a time or a percentage.

    Attributes:
        size: The size at which it was measured, M x N x K.
        time_ms: The published time in milliseconds.
        percent: The published percentage of cuBLAS.
        gflops: The published GFLOPS, as the post counts operations.
        no_eligible: The published percentage of cycles in which no warp was eligible.
    """

    size: int | str = ""
    time_ms: float | int | None = None
    percent: float | int | None = None
    gflops: float | int | None = None
    no_eligible: float | int | None = None


class PostRowModel(msgspec.Struct, forbid_unknown_fields=True):
    """One row: its name in the post, the variant that repeats it, and what was published.

    Attributes:
        label: The name of the row in the post.
        variant: The kernel that repeats it.
        config: The values of its parameters.
        layout: The layout of the operands.
        precision: The precision of the operands.
        sizes: The sizes at which the row is repeated. The default is all sizes of the sweep.
        published: What the post published, as described below.
        step: Whether the row is one step after the nearest row above that is not a correction, so that their
            ratio is shown.
        corrects: Whether the row is the corrected kernel of the row above, so that their ratio is shown.
        copies: Shows the whole job of the kernel, including copies to and from the device: `pageable`,
            `pinned`, `panels` or `overlapped`, as in `--with-transfers`. Another row must measure the kernel.
    """

    label: str
    variant: str
    config: dict[str, int] = {}
    layout: str = "nn"
    precision: str = "f32"
    sizes: list[int | str] = []
    step: bool = False
    corrects: bool = False
    copies: Copies = ""
    published: PublishedModel = msgspec.field(default_factory=PublishedModel)


class PostModel(msgspec.Struct, forbid_unknown_fields=True):
    """The key `post` of a config file: the origin of the table, its columns and its rows.

    Attributes:
        title: The title of the post.
        source: The address of the post.
        rows: The rows of its table, as described below.
        gpu: The GPU that the post used.
        columns: The headings of the post, each with the contents of its column: `label`, `size`, `time_ms`,
            `time_s`, `gflops` (2 M N K), `gflops_mnk` (M N K), `percent` of the baseline, or `faster` (percent
            less time than the first row). With `size`, all sizes share one table.
        note: A line below the table.
    """

    title: str
    source: str
    rows: list[PostRowModel]
    gpu: str = ""
    columns: dict[str, ColumnKind] = {}
    note: str = ""


@dataclass(frozen=True)
class PostRow:
    """One row of a post's table, as a choice among plans.

    Published values are None if the post has no figure. `published_shape` is the M, N, K of the published figure, and
    `shapes` are those on which the row is repeated (empty: all of the sweep). `step` is True if the row is one step
    after the nearest row above that is not a correction, and `corrects` if it is the corrected kernel of the row above.
    With `copies`, it shows the job of a kernel that another row measures.
    """

    label: str
    variant: str
    config: tuple[tuple[str, int], ...]
    layout: str
    precision: str
    shapes: tuple[AnyShape, ...]
    published_shape: AnyShape | None = None
    published_ms: float | None = None
    published_percent: float | None = None
    published_gflops: float | None = None
    published_no_eligible: float | None = None
    step: bool = False
    corrects: bool = False
    copies: Copies = ""

    def fits(self, problem: Problem) -> bool:
        """Return whether the row is repeated on this problem."""
        same = (problem.layout, problem.precision_name) == (self.layout, self.precision)
        return same and (not self.shapes or problem.shape in self.shapes)


@dataclass(frozen=True)
class Post:
    """A post and its table. `columns` maps the headings of the post to the values below them.

    `config` is the name or the file from which the post was read.
    """

    config: str
    title: str
    source: str
    gpu: str
    columns: tuple[tuple[str, ColumnKind], ...]
    rows: tuple[PostRow, ...]
    note: str


def make_post(model: PostModel, config: str) -> Post:
    """Build the post of a config file. Raises UsageError for a malformed size."""
    rows = tuple(_make_row(row) for row in model.rows)
    return Post(config, model.title, model.source, model.gpu, tuple(model.columns.items()), rows, model.note)


def _make_row(model: PostRowModel) -> PostRow:
    shapes = tuple(shape for size in model.sizes for shape in parse_sizes(size))
    published = model.published
    return PostRow(
        label=model.label,
        variant=model.variant,
        config=tuple(model.config.items()),
        layout=model.layout,
        precision=find_precision(model.precision).name,
        shapes=shapes,
        published_shape=parse_sizes(published.size)[0] if published.size else None,
        published_ms=_read_number(published.time_ms),
        published_percent=_read_number(published.percent),
        published_gflops=_read_number(published.gflops),
        published_no_eligible=_read_number(published.no_eligible),
        step=model.step,
        corrects=model.corrects,
        copies=model.copies,
    )


def _read_number(written: float | int | None) -> float | None:
    return None if written is None else float(written)

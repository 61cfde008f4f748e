"""The problems of a sweep: every precision, layout and shape that it names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from gemmbench.errors import UsageError
from gemmbench.planning.bounds import check_plans
from gemmbench.planning.problems.problem_grid import ProblemGrid
from gemmbench.planning.problems.sizes import Shape, check_shape, check_size, count_sizes, parse_sizes
from gemmbench.planning.sweeps.config_reader import ConfigReader
from gemmbench.planning.sweeps.parsing import parse_layouts, parse_precisions
from gemmbench.planning.sweeps.post import Post
from gemmbench.planning.sweeps.sweep_model import SweepModel


def read_problems(reader: ConfigReader, model: SweepModel, post: Post | None, variants: int = 1) -> ProblemGrid:
    """All combinations, precisions first; each is for at least so many `variants`.

    Raises UsageError or SpecError, also for too many plans, which are counted before they are made.
    """
    alpha, beta = (_read_scalar(reader, name, getattr(model, name)) for name in ("alpha", "beta"))
    precisions, layouts = _read_precisions(reader, model, post), _read_layouts(reader, model, post)
    check_plans(len(precisions) * len(layouts) * _count_shapes(reader, model) * variants)
    return ProblemGrid(tuple(precisions), tuple(layouts), tuple(_read_shapes(reader, model)), alpha, beta)


def _read_scalar(reader: ConfigReader, name: str, written: float) -> float:
    def check(value: float) -> float:
        if not math.isfinite(value):
            raise UsageError(f"{name}: {value} is not finite; give a number such as 1 or -0.5")
        return float(value)

    return reader.choose((name,), check, written)


def _read_precisions(reader: ConfigReader, model: SweepModel, post: Post | None) -> list[str]:
    if post is not None and post.rows and not reader.options.precisions:
        return list(dict.fromkeys(row.precision for row in post.rows))
    return reader.choose_names("precisions", parse_precisions, model.precisions)


def _read_layouts(reader: ConfigReader, model: SweepModel, post: Post | None) -> list[str]:
    if post is not None and post.rows and not reader.options.layouts:
        return list(dict.fromkeys(row.layout for row in post.rows))
    return reader.choose_names("layouts", parse_layouts, model.layouts)


def _read_shapes(reader: ConfigReader, model: SweepModel) -> list[Shape]:
    if reader.options.sizes is not None:
        return list(dict.fromkeys(parse_sizes(reader.options.sizes)))
    sizes = reader.check_items(("sizes",), parse_sizes, model.sizes)
    shapes = reader.check_items(("shapes",), _read_shape, model.shapes)
    distinct = list(dict.fromkeys([*sizes, *shapes, *_read_axes(reader, model)]))
    if not distinct:
        raise UsageError(f"{reader.document.location}: no sizes, shapes or axes; add `sizes: [1024]`")
    return distinct


def _count_shapes(reader: ConfigReader, model: SweepModel) -> int:
    """Count the shapes that are written, equal ones included."""
    if reader.options.sizes is not None:
        return count_sizes(reader.options.sizes)
    sizes = sum(reader.check(("sizes", index), count_sizes, size) for index, size in enumerate(model.sizes))
    return sizes + len(model.shapes) + (math.prod(map(len, model.axes.values())) if model.axes else 0)


def _read_shape(written: list[int]) -> list[Shape]:
    check_shape(written)
    m, n, k = written
    return [(m, n, k)]


def _read_axes(reader: ConfigReader, model: SweepModel) -> Iterator[Shape]:
    axes = model.axes
    if not axes:
        return iter(())
    if set(axes) != set("MNK"):
        raise reader.document.error_at(("axes",), f"axes: has {', '.join(axes)}; give M, N and K")
    for key, values in axes.items():
        for index, value in enumerate(values):
            reader.check(("axes", key, index), check_size, value)
    return itertools.product(axes["M"], axes["N"], axes["K"])

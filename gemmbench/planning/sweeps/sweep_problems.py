"""The problems of a sweep: every precision, layout and shape that it names."""

from __future__ import annotations

import itertools
import math

from gemmbench.errors import UsageError
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.problems.sizes import Shape, parse_sizes
from gemmbench.planning.sweeps.config_reader import ConfigReader
from gemmbench.planning.sweeps.parsing import parse_layouts, parse_precisions
from gemmbench.planning.sweeps.post import Post
from gemmbench.planning.sweeps.sweep_model import SweepModel


def read_problems(reader: ConfigReader, model: SweepModel, post: Post | None) -> tuple[Problem, ...]:
    """All combinations, precisions first. Raises UsageError or SpecError."""
    alpha, beta = (_read_scalar(reader, name, getattr(model, name)) for name in ("alpha", "beta"))
    precisions, layouts = _read_precisions(reader, model, post), _read_layouts(reader, model, post)
    return tuple(
        Problem(*shape, layout=layout, precision_name=precision, alpha=alpha, beta=beta)
        for precision, layout, shape in itertools.product(precisions, layouts, _read_shapes(reader, model))
    )


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
    shapes = reader.check_items(("shapes",), _parse_shape, model.shapes)
    distinct = list(dict.fromkeys([*sizes, *shapes, *_read_axes(reader, model)]))
    if not distinct:
        raise UsageError(f"{reader.document.location}: no sizes, shapes or axes; add `sizes: [1024]`")
    return distinct


def _parse_shape(written: list[int]) -> list[Shape]:
    if len(written) != 3:
        raise UsageError(f"shapes: {written} should be [M, N, K]")
    return parse_sizes("x".join(map(str, written)))


def _read_axes(reader: ConfigReader, model: SweepModel) -> list[Shape]:
    axes = model.axes
    if not axes:
        return []
    if set(axes) != set("MNK"):
        raise reader.document.error_at(("axes",), f"axes: has {', '.join(axes)}; give M, N and K")
    shapes = itertools.product(axes["M"], axes["N"], axes["K"])
    return [shape for each in shapes for shape in reader.check(("axes",), _parse_shape, list(each))]

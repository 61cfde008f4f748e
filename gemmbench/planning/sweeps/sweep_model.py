"""The keys of a config file, as they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmbench.planning.sweeps.policy import MeasureModel
from gemmbench.planning.sweeps.post import PostModel


class SweepModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a config file."""

    variants: list[str | dict[str, Any]] = []
    summary: str = ""
    sizes: list[int | str] = []
    shapes: list[list[int]] = []
    axes: dict[str, list[int]] = {}
    precisions: list[str] = msgspec.field(default_factory=lambda: ["f32"])
    layouts: list[str] = msgspec.field(default_factory=lambda: ["nn"])
    alpha: int | float = 1
    beta: int | float = 0
    params: dict[str, Any] | str = {}
    baseline: str = ""
    measure: MeasureModel = msgspec.field(default_factory=MeasureModel)
    on_cpu: dict[str, Any] = {}
    post: PostModel | None = None

"""The keys of a manifest, as they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmbench.planning.manifests.named_expressions import Text
from gemmbench.planning.manifests.sections import LaunchFields, PickFields, TensorMapFields


class Manifest(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a manifest."""

    summary: str
    order: int | float
    precisions: list[str]
    layouts: list[str]
    symbol: str = ""
    grid: list[str | int] = []
    block: list[str | int] = []
    shared: str | int = 0
    min_sm: int = 50
    arch: list[str | int] = []
    params: dict[str, Any] = {}
    let: dict[str, Text] = {}
    require: list[str] = []
    computes: str = "gemm"
    epilogue: list[str] = []
    workspace: str | int | None = None
    tensor_maps: list[TensorMapFields] = []
    launches: list[LaunchFields] = []
    pick: list[PickFields] = []
    sass: list[str] = []
    source: str = ""

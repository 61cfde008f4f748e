"""The keys of a config file, as they are written."""

from __future__ import annotations

from typing import Any

import msgspec

from gemmbench.planning.sweeps.policy import MeasureModel
from gemmbench.planning.sweeps.post import PostModel


class SweepModel(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of a config file.

    Attributes:
        variants: Names of kernels and libraries. `NAME: {BM: [64, 128]}` replaces the default of a
            parameter by these values, `NAME: all` takes every configuration. A name may occur
            several times.
        summary: One line about the sweep.
        sizes: Sizes as on the command line: `1024` for a cube, `1024x768x512` for M x N x K,
            `512:4096:512` for a range.
        shapes: Lists of M, N and K.
        axes: Values of M, N and K; every combination is measured.
        precisions: The precisions, such as `[f32, bf16]`.
        layouts: `nn`, `nt`, `tn`, `tt`.
        alpha: C = alpha A B + beta C.
        beta: With 0, C is not read.
        params: Values to try for every variant that has the parameter, such as `{TILE: [16, 32]}`,
            or `all`.
        baseline: The variant that counts as 100 %. Empty: cublas on a GPU, openblas on a CPU. Where it
            lacks a precision of the sweep, the first library that has them all, such as cublaslt for fp8.
        measure: How to measure; see below.
        on_cpu: Keys that replace those above where kernels run on the CPU.
        post: The table of a post that this sweep repeats; see below.
    """

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

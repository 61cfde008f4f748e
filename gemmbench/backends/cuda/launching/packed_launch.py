"""Launching a kernel through pycuda with the least host time."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

Shape = tuple[int, int, int]


def pack_launch(
    kernel: Any, grid: Shape, block: Shape, stream: Any, layout: str, *arguments: float, shared: int = 0
) -> partial[None]:
    """A callable that queues one launch of a pycuda function; its arguments are packed here, once.

    `layout` has a letter of the struct module for each argument ("i", "f", "P" for an address);
    native alignment is that of kernel parameters. pycuda's own prepared calls pack again at each
    launch and first call cuFuncSetBlockShape, deprecated since CUDA 4; they end in
    `_launch_kernel`, which is called directly here.
    """
    return partial(kernel._launch_kernel, grid, block, struct.pack(f"@{layout}", *arguments), shared, stream)

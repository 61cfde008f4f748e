"""Compares two ranges of a GPU's memory there, since a copy to the host takes longer than a GEMM."""

from __future__ import annotations

from typing import Any

import numpy as np

from gemmbench.backends.cuda.launching.packed_launch import pack_launch
from gemmbench.backends.cuda.system.driver import load_driver

_THREADS, _BLOCKS = 256, 1024


class Equality:
    """Compares bytes.

    `kernel` is the `differ` function of helpers.cu, which sets a word if it finds a difference.
    """

    def __init__(self, kernel: Any, stream: Any):
        cuda = load_driver()
        self._cuda: Any = cuda
        self._kernel, self._stream = kernel, stream
        self._found = cuda.mem_alloc(4)

    def __call__(self, one: int, other: int, nbytes: int) -> bool:
        """Whether the `nbytes` at two addresses, multiples of 16, are the same.

        Raises pycuda's errors.
        """
        found, grid, block = np.ones(1, np.uint32), (_BLOCKS, 1, 1), (_THREADS, 1, 1)
        self._cuda.memset_d32(self._found, 0, 1)
        pack_launch(self._kernel, grid, block, self._stream, "PPQP", one, other, nbytes, int(self._found))()
        self._cuda.memcpy_dtoh(found, self._found)  # on the default stream, which waits for the other
        return int(found[0]) == 0

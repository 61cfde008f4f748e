"""What cuBLASLt asks for where A and B have 8 bits (its documentation, "cublasLtMatmul()")."""

from __future__ import annotations

import numpy as np

from gemmbench.backends.cuda.memory.device_memory import DeviceMemory
from gemmbench.errors import NotOffered
from gemmbench.planning.precisions import Precision
from gemmbench.planning.problems import Problem

_GRAIN = 16
_EVERY_LAYOUT = range(100, 110)
"""The compute capabilities with every layout; the others have one, in which both operands run along K."""


def check_fp8(problem: Problem, sm: int) -> None:
    """Raise NotOffered for a problem in fp8 that cuBLASLt does not compute on compute capability `sm`.

    It may refuse others by itself.
    """
    if not problem.precision.is_scaled:
        return
    if problem.layout != "nt" and sm not in _EVERY_LAYOUT:
        raise NotOffered(f"cuBLASLt has {problem.precision_name} in layout nt only, not in {problem.layout}")
    if problem.N % _GRAIN or problem.K % _GRAIN:
        raise NotOffered(f"cuBLASLt has {problem.precision_name} only where N and K are multiples of {_GRAIN}")


def list_fp8_attributes(precision: Precision, scale: int) -> dict[str, int]:
    """Attributes of cublasLtMatmulDesc_t; `scale` is the address of the factor of both operands."""
    fast = not precision.accumulator.promoted_every
    return {"A_SCALE_POINTER": scale, "B_SCALE_POINTER": scale, "FAST_ACCUM": int(fast)}


class UnitScale:
    """The number 1 in device memory, from its first use on."""

    def __init__(self) -> None:
        self._memory: DeviceMemory | None = None

    @property
    def address(self) -> int:
        """Where the number is. Raises OutOfMemory."""
        if self._memory is None:
            ones = np.ones(1, np.float32)
            self._memory = DeviceMemory(ones.nbytes)
            self._memory.write(0, ones)
        return self._memory.address

    def free(self) -> None:
        """Free the memory."""
        if self._memory is not None:
            self._memory.free()

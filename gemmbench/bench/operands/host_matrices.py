"""The matrices of a problem in host memory, where transfers begin and end."""

from __future__ import annotations

import numpy as np

from gemmbench.backends.jobs import HostMemory, Transfers
from gemmbench.bench.operands import guards
from gemmbench.bench.operands.fill import Operands
from gemmbench.errors import OutOfMemory
from gemmbench.planning.problems import Panel, Problem


class HostMatrices:
    """A, B and C on the host as bytes, and C0, the C that beta multiplies, unless beta is 0."""

    def __init__(self, device: Transfers, problem: Problem, pinned: bool):
        """Allocate. Raises OutOfMemory."""
        self.problem, self.pinned = problem, pinned
        self._memory: dict[str, HostMemory] = {}
        try:
            for name in ("A", "B", "C", "C0") if problem.beta else ("A", "B", "C"):
                self._memory[name] = device.host(problem.operand_bytes(name[0]), pinned)
        except OutOfMemory:
            self.free()
            raise

    def whole(self, name: str) -> np.ndarray:
        """All bytes of one matrix."""
        return self._memory[name].bytes

    def panel(self, name: str, panel: Panel) -> np.ndarray:
        """The bytes of A, C or C0 in a panel: rows, or the scattered columns of a transposed A."""
        rows, columns = self.problem.shape(name[0])
        table = self.whole(name).reshape(rows, -1)
        end = panel.first + panel.rows
        if name == "A" and self.problem.trans_a:
            width = table.shape[1] // columns
            return table[:, panel.first * width : end * width]
        return table[panel.first : end]

    def write(self, operands: Operands) -> None:
        """Fill A, B and C0."""
        for name, array in (("A", operands.A), ("B", operands.B), ("C0", operands.C)):
            if name in self._memory:
                self.whole(name)[:] = array.reshape(-1).view(np.uint8)

    def poison(self) -> None:
        """Fill C with NaN, so that missing copies are found."""
        self.whole("C").fill(guards.NAN)

    def copy_result(self) -> np.ndarray:
        """A copy of C."""
        kind = self.problem.storage("C").numpy_type()
        return np.array(self.whole("C").view(kind).reshape(self.problem.shape("C")))

    def free(self) -> None:
        """Free the memory."""
        for memory in self._memory.values():
            memory.free()
        self._memory.clear()

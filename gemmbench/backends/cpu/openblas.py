"""The CPU baseline: NumPy's matrix product on the free cores."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy import __config__
from threadpoolctl import ThreadpoolController

from gemmbench.backends.base import OperandSet
from gemmbench.backends.cpu.kernel_process import CpuMemory
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.host import count_cores
from gemmbench.errors import DeviceError
from gemmbench.planning.problems import Operand, Problem

_GLANCE, _MOST_SETTLING = 2e-3, 0.3


def blas_version() -> str:
    """Return the name and version of the BLAS that NumPy was built with."""
    build = getattr(__config__, "CONFIG", {}).get("Build Dependencies", {}).get("blas", {})
    return f"{build.get('name', 'unknown')} {build.get('version', '')}".strip()


class BlasThreads:
    """The BLAS threads of this process. Their initial number is the most that the user allows."""

    def __init__(self) -> None:
        self._libraries = ThreadpoolController().select(user_api="blas")
        self._most = min([count_cores(), *(library["num_threads"] for library in self._libraries.info())])
        self._count = 0
        self.leave_cores(0)

    def leave_cores(self, others: int) -> None:
        """Leave this many cores to other processes, but keep at least one."""
        self._set(max(1, self._most - others))

    def restore(self) -> None:
        """Restore the initial number of threads."""
        self._set(self._most)

    def _set(self, count: int) -> None:
        if count != self._count:
            self._libraries.limit(limits=count)
            self._count = count


class Openblas:
    """A BoundStep: C = alpha op(A) op(B) + beta C. With beta 0, C is not read."""

    waited, absent = 0.0, 0

    def __init__(self, problem: Problem, memory: CpuMemory, sets: Sequence[OperandSet]):
        self._views = [_view_operands(problem, memory, at) for at in sets]
        self._alpha, self._beta = problem.alpha, problem.beta
        # NumPy multiplies into a packed array only.
        packed = not problem.beta and problem.result.padding == 0
        self._product = None if packed else np.empty(self._views[0][3].shape, self._views[0][3].dtype)

    def time(self, first: int, launches: int) -> float:
        """Return the seconds that `launches` products take by the host's clock.

        They rotate through the operand sets from `first` on.
        """
        started = time.perf_counter_ns()
        for number in range(first, first + launches):
            self._launch(*self._views[number % len(self._views)])
        seconds = (time.perf_counter_ns() - started) * 1e-9
        _wait_until_idle()
        return seconds

    def _launch(self, a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> None:
        product = d if self._product is None else self._product
        np.matmul(a, b, out=product)
        if self._alpha != 1:
            product *= self._alpha
        if self._beta:
            np.multiply(c, self._beta, out=d)
            d += product
        elif product is not d:
            d[...] = product


def _wait_until_idle() -> None:
    """Wait until the library's threads sleep. Before that, they spin on cores that the next window needs."""
    deadline = time.monotonic() + _MOST_SETTLING
    while _another_thread_runs() and time.monotonic() < deadline:
        time.sleep(_GLANCE)


def _another_thread_runs() -> bool:
    """Return whether another thread of this process is running or waiting for a core."""
    this = str(threading.get_native_id())
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # a thread may end meanwhile
            state = (task / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            if state == "R" and task.name != this:
                return True
    return False


def _view_operands(problem: Problem, memory: CpuMemory, at: OperandSet) -> tuple[np.ndarray, ...]:
    """Return op(A), op(B), C and the result as views. BLAS reads a transposed view in place, so nothing is copied."""
    a, b, c, d = (_view(problem.operand(name), memory, at[name]) for name in (*"ABC", problem.result.name))
    return a.swapaxes(-1, -2) if problem.trans_a else a, b.swapaxes(-1, -2) if problem.trans_b else b, c, d


def _view(operand: Operand, memory: CpuMemory, at: int) -> np.ndarray:
    """Return the elements of an operand without its padding."""
    *rows, columns = operand.shape
    return memory.array(at, (*rows, columns + operand.padding), operand.storage.name)[..., :columns]


class CpuSoftware(Mapping[str, str]):
    """The versions of the compiler, NumPy and its BLAS.

    The compiler is started when a version is first read.
    """

    @cached_property
    def _versions(self) -> dict[str, str]:
        libraries = {"numpy": np.__version__, "BLAS": blas_version()}
        try:
            return {"compiler": CpuCompiler().version, **libraries}
        except DeviceError:
            return libraries

    def __getitem__(self, name: str) -> str:
        return self._versions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)

"""The open CPU: operands in shared memory, kernels in processes of their own."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gemmbench.backends.base import Artifact, Executable, Step, Window
from gemmbench.backends.cpu.device import describe_cpu, free_memory
from gemmbench.backends.cpu.memory import CpuMemory
from gemmbench.backends.cpu.openblas import BlasThreads, Openblas
from gemmbench.backends.cpu.process import KernelProcess
from gemmbench.backends.cpu.software import CpuSoftware
from gemmbench.backends.host import count_competitors
from gemmbench.errors import DeviceError, LaunchError, NotOffered, OutOfMemory
from gemmbench.planning.plans.plan import Geometry, Plan, Target

TIMEOUT = 60.0
_MOST_THREADS = 1024
_ONE_CALL = ("", Geometry((1, 1, 1), (1, 1, 1), 0))

# (timed: blocks do not start with shared memory full of NaN; backwards: last thread and block first)
_MODES = {"": (1, 0), "forward": (0, 0), "reverse": (0, 1)}


class CpuBackend:
    """The device. `timeout` is the most seconds one window may take.

    Raises DeviceError off Linux.
    """

    modes = tuple(_MODES)
    max_launches = 1 << 20
    guards = True
    monitor = None

    def __init__(self, timeout: float = TIMEOUT):
        if not sys.platform.startswith("linux"):
            raise DeviceError("the cpu device needs Linux")
        self.device = describe_cpu(CpuSoftware())
        self._threads = BlasThreads()
        self._timeout = timeout
        self._running: weakref.WeakSet[KernelProcess] = weakref.WeakSet()

    def allocate(self, *nbytes: int) -> CpuMemory:
        """Memory that kernel processes map, always one piece. Raises OutOfMemory."""
        return CpuMemory(*nbytes)

    def load(self, artifact: Artifact, plan: Plan) -> Path | None:
        """The executable, or None for a library. Raises LaunchError if a block is too large."""
        smem = self.device.target.smem
        for _, geometry in plan.launches:
            if geometry.threads > _MOST_THREADS:
                raise LaunchError(f"a block has {geometry.threads} threads, but {_MOST_THREADS} is the limit")
            if artifact.build.shared + geometry.shared > smem:
                static = f"{artifact.build.shared} static and {geometry.shared} dynamic"
                raise LaunchError(f"a block needs {static} bytes of shared memory, but {smem} is the limit")
        return Path(artifact.path) if artifact.path else None

    def bind(self, name: str, steps: Sequence[Step], memory: Any, graph: bool = False, mode: str = "") -> Executable:
        """Start a process for each step.

        Raises LaunchError, OutOfMemory, and NotOffered for a graph.
        """
        if graph:
            raise NotOffered("the cpu device has no graphs")
        bound = [self._bind_step(step, memory, mode) for step in steps]
        return SharingExecutable(bound[0] if len(bound) == 1 else StepsInTurn(bound), self._threads)

    def _bind_step(self, step: Step, memory: CpuMemory, mode: str) -> Executable:
        plan = step.plan
        if step.loaded is None:
            return Openblas(plan.problem, memory, step.sets)
        if plan.workspace > free_memory():
            raise OutOfMemory(
                f"the workspace needs {plan.workspace >> 20} MiB, but only {free_memory() >> 20} MiB are free"
            )
        process = KernelProcess(
            step.loaded, _binding_command(step, memory, mode, self.device.target), memory.file, self._timeout
        )
        self._running.add(process)
        return KernelExecutable(process)

    def close(self) -> None:
        """End every process that still runs, and let BLAS have all its threads again."""
        self._threads.restore()
        for process in self._running:
            process.end()


class SharingExecutable:
    """An Executable that counts who else wants the cores before every window, and leaves them theirs.

    BLAS gets the cores that are free: one of its threads that waits for a core holds up all others.
    """

    def __init__(self, executable: Executable, threads: BlasThreads):
        self._executable, self._threads = executable, threads

    def time(self, launches: int) -> Window:
        """As base.Executable."""
        competitors = count_competitors()
        self._threads.leave_cores(round(competitors))
        return replace(self._executable.time(launches), competitors=competitors)


class KernelExecutable:
    """An Executable in a process of its own."""

    def __init__(self, process: KernelProcess):
        self._process = process

    def time(self, launches: int) -> Window:
        """Time `launches` launches on the monotonic clock of the kernel's process."""
        return Window(self._process.time(launches), launches)


class StepsInTurn:
    """Executables that run in turn, a launch of each.

    Only their own time counts, not that of asking them.
    """

    def __init__(self, parts: Sequence[Executable]):
        self._parts = parts

    def time(self, launches: int) -> Window:
        """Time `launches` launches of all steps."""
        seconds = sum(part.time(1).seconds for _ in range(launches) for part in self._parts)
        return Window(seconds, launches)


def _binding_command(step: Step, memory: CpuMemory, mode: str, target: Target) -> str:
    """The numbers of `struct Binding`, in the order runtime.cpp reads them."""
    plan, problem = step.plan, step.plan.problem
    launches = plan.launches or (_ONE_CALL,)
    numbers: list[float] = [memory.file, memory.nbytes, len(launches)]
    for _, geometry in launches:
        numbers += [*geometry.grid, *geometry.block, geometry.shared]
    numbers += [*_MODES[mode], target.sms, problem.M, problem.N, problem.K]
    numbers += [problem.alpha, problem.beta, plan.workspace]
    numbers += [*(problem.operand_bytes(name) for name in "ABC"), len(step.sets)]
    for at in step.sets:
        numbers += [at.A, at.B, at.C, at.bias]
    return " ".join(map(str, numbers))

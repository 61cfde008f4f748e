"""The open CPU device. It keeps operands in shared memory and runs kernels in separate processes."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from gemmbench.backends.base import Artifact, Place, Rotation, Step, Window, find_start
from gemmbench.backends.cpu.entry import describe_cpu, free_memory
from gemmbench.backends.cpu.kernel_process import CpuMemory, KernelProcess
from gemmbench.backends.cpu.openblas import BlasThreads, CpuSoftware, Openblas
from gemmbench.backends.host import count_competitors
from gemmbench.backends.printed_text import PrintedLines
from gemmbench.errors import DeviceError, LaunchError, NotOffered
from gemmbench.planning.plans.plan import Geometry, Plan, Target
from gemmbench.planning.problems import Problem

_LEAST_LIMIT = 5.0
"""Seconds that a launch may always take, no matter how small its problem is."""
_SLOWEST = 1e7
"""The slowest expected speed in flops/s.

Kernels with a barrier for each product are five times as fast, even on a busy host.
"""
_MEANINGFUL = 1e-3
"""The shortest meaningful wait for a launch, in seconds. Below it, the cost of requesting the launch is too large."""
_MOST_THREADS = 1024
_OPERANDS = ("A", "B", "C", "bias", "residual", "scale", "scale_a", "scale_b", "D", "offsets")
"""As `struct Set` has them."""
_ONE_CALL = ("", Geometry((1, 1, 1), (1, 1, 1), 0))

# (timed: shared memory is not filled with NaN before each block; backwards: the last thread and block run first)
_MODES = {"": (1, 0), "forward": (0, 0), "reverse": (0, 1)}


class CpuBackend:
    """The CPU device. `timeout` is the time limit of one window in seconds. If None, it depends on the problem.

    Raises DeviceError off Linux.
    """

    modes = tuple(_MODES)
    max_launches = 1 << 20
    guards = True
    monitor = empty = None

    def __init__(self, timeout: float | None = None):
        if not sys.platform.startswith("linux"):
            raise DeviceError("the cpu device needs Linux")
        self.device = describe_cpu(CpuSoftware())
        self._threads = BlasThreads()
        self._timeout = timeout
        self._printed: dict[str, PrintedLines] = {}
        self._running: weakref.WeakSet[KernelProcess] = weakref.WeakSet()

    def allocate(self, *nbytes: int) -> CpuMemory:
        """Allocate memory that kernel processes can map, always in one piece. Raises OutOfMemory."""
        return CpuMemory(*nbytes)

    def free_memory(self) -> int:
        """Return the bytes that the system can provide without swapping."""
        return free_memory()

    def loaded_libraries(self) -> dict[str, str]:
        """Return an empty dict, because rows of the CPU do not name loaded libraries."""
        return {}

    def load(self, artifact: Artifact, plan: Plan) -> Path | None:
        """Return the executable, or None for a library. Raises LaunchError if a block is too large."""
        smem = self.device.target.smem
        for _, geometry in plan.launches:
            if geometry.threads > _MOST_THREADS:
                raise LaunchError(f"a block has {geometry.threads} threads, but the limit is {_MOST_THREADS}")
            if artifact.build.shared + geometry.shared > smem:
                static = f"{artifact.build.shared} static and {geometry.shared} dynamic"
                raise LaunchError(f"a block needs {static} bytes of shared memory, but the limit is {smem}")
        return Path(artifact.path) if artifact.path else None

    def count_workspace(self, loaded: Path | None, plan: Plan) -> int:
        """Return the planned workspace size."""
        return plan.workspace

    def bind(
        self,
        name: str,
        steps: Sequence[Step],
        memory: Any,
        graph: bool = False,
        mode: str = "",
        rotation: Rotation | None = None,
        turns: int = 0,
    ) -> CpuExecutable:
        """Start a process for each step.

        Raises LaunchError, OutOfMemory, and NotOffered for a graph.
        """
        if graph or turns:
            raise NotOffered("the cpu device does not support graphs")
        printed = self._printed.setdefault(name, PrintedLines())
        bound = [self._bind_step(step, memory, mode, printed) for step in steps]
        launches = bound[0] if len(bound) == 1 else StepsInTurn(bound)
        return CpuExecutable(launches, self._threads, rotation or Rotation(len(steps[0].sets)))

    def _bind_step(self, step: Step, memory: CpuMemory, mode: str, printed: PrintedLines) -> BoundStep:
        plan = step.plan
        if step.loaded is None:
            return Openblas(plan.problem, memory, step.sets)
        command = _binding_command(step, memory, mode, self.device.target)
        files = (memory.file, *([_workspace_memory(step.workspace).file] if step.workspace else []))
        process = KernelProcess(step.loaded, command, files, self._timeout or limit_launch(plan.problem), printed)
        self._running.add(process)
        return process

    def take_printed(self) -> dict[str, str]:
        """See PrintingBackend."""
        for process in list(self._running):
            process.take_printed()
        taken, self._printed = self._printed, {}
        return {name: summary for name, lines in taken.items() if (summary := lines.summarize())}

    def close(self) -> None:
        """End all running processes and give BLAS all its threads back."""
        self._threads.restore()
        for process in self._running:
            process.end()


def limit_launch(problem: Problem) -> float:
    """Return the seconds after which a launch counts as an endless loop, unless the user sets a limit."""
    return _LEAST_LIMIT + problem.flops / _SLOWEST


class BoundStep(Protocol):
    """Launches of one or more steps on their operand sets.

    `waited` is how long gemmbench waited for the last launches. It is 0 if they were not timed by a kernel's process,
    or too short for a meaningful wait. `absent` is the largest number of threads of a block that had already returned
    when others left a barrier.
    """

    waited: float
    absent: int

    def time(self, first: int, launches: int) -> float:
        """Return the seconds that `launches` launches take back to back.

        They rotate through the operand sets from `first` on.
        """


class CpuExecutable:
    """An Executable that counts competing threads before every window and leaves cores to them.

    BLAS may use only the free cores, because one BLAS thread that waits for a core delays all others.
    """

    choice = no_graph = overlap = ""
    setup_seconds = 0.0

    def __init__(self, launches: BoundStep, threads: BlasThreads, rotation: Rotation):
        self._launches, self._threads, self._rotation = launches, threads, rotation

    def time(self, launches: int) -> Window:
        """See Executable."""
        competitors = count_competitors()
        self._threads.leave_cores(round(competitors))
        first = self._rotation.take(launches)[0]
        seconds = self._launches.time(first, launches)
        waited, absent = self._launches.waited, self._launches.absent
        return Window(seconds, launches, competitors=competitors, elapsed=waited, absent=absent)

    def time_exactly(self, launches: int) -> Window:
        """See CountingExecutable. There are no graphs here."""
        return self.time(launches)


class StepsInTurn:
    """Steps that run in turn, with one launch each.

    Only the time of the launches counts, not the time it takes to request them.
    """

    waited, absent = 0.0, 0

    def __init__(self, parts: Sequence[BoundStep]):
        self._parts = parts

    def time(self, first: int, launches: int) -> float:
        """See BoundStep. Times all steps."""
        total = waited = 0.0
        asked = 0
        for number in range(launches):
            for part in self._parts:
                seconds = part.time(first + number, 1)
                total += seconds
                waited += part.waited or seconds
                asked += part.waited > 0
        self.absent = max(part.absent for part in self._parts)
        # Each request takes some time, which must be small compared with the launch.
        self.waited = waited if asked and waited >= asked * _MEANINGFUL else 0.0
        return total


def _workspace_memory(place: Place) -> CpuMemory:
    return cast(CpuMemory, place.memory)


def _binding_command(step: Step, memory: CpuMemory, mode: str, target: Target) -> str:
    """Return the numbers of `struct Binding`, in the order in which runtime.cpp reads them."""
    plan, problem = step.plan, step.plan.problem
    launches = plan.launches or (_ONE_CALL,)
    numbers: list[float] = [memory.file, memory.nbytes, len(launches)]
    for _, geometry in launches:
        numbers += [*geometry.grid, *geometry.block, geometry.shared]
    numbers += [*_MODES[mode], target.sms, problem.M, problem.N, problem.K]
    numbers += [problem.alpha, problem.beta, len(plan.arguments), *(each.value for each in plan.arguments)]
    place = step.workspace
    numbers += [_workspace_memory(place).file, _workspace_memory(place).nbytes, place.offset] if place else [0, 0, 0]
    operands = {"D": problem.result} | {operand.name: operand for operand in problem.operands}
    numbers += [operands[name].nbytes if name in operands else 0 for name in _OPERANDS]
    numbers.append(plan.products)
    numbers += [problem.stride_bytes(operands[name].name) if name in operands else 0 for name in _OPERANDS]
    numbers.append(len(step.sets))
    for at in step.sets:
        numbers += [find_start(at, name) for name in _OPERANDS]
    return " ".join(map(str, numbers))

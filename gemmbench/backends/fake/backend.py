"""A simulated device. NumPy computes the results, and a script provides faults and times."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from gemmbench.backends.base import OVERLAPS, Artifact, Build, OperandSet, Rotation, Step, Window, pack_allocations
from gemmbench.backends.code_cache import content_key
from gemmbench.backends.fake.entry import describe_fake
from gemmbench.backends.fake.script import FakeHost, FakeJob, FakeMonitor, Script
from gemmbench.backends.jobs import HostBytes, JobStep, LaunchStep
from gemmbench.errors import BuildError, DeviceLost, LaunchError, NotOffered
from gemmbench.planning.epilogues import EPILOGUE_STEPS
from gemmbench.planning.networks import Network
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.precisions import FLOAT64
from gemmbench.planning.problems import Problem

_COMPILATION = 0.5
"""Seconds that binding takes with the fault `compiles`, which simulates a function that its first call compiles."""
_LOOKS = 4
"""The number of sensor readings in a window of a sustained load."""


class FakeMemory(HostBytes):
    """Memory on the host."""

    def __init__(self, *nbytes: int):
        self.starts, end = pack_allocations(nbytes)
        self.nbytes = nbytes[0] if len(nbytes) == 1 else end
        self.bytes = np.zeros(self.nbytes, np.uint8)

    def free(self) -> None:
        """Drop the bytes."""
        self.bytes = np.zeros(0, np.uint8)


@dataclass
class FakeStep:
    """Computes one step with NumPy: a GEMM with its epilogue, or a whole network.

    `fault` corrupts the result.
    """

    memory: FakeMemory
    plan: Plan
    fault: str
    launched: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.problem: Problem = self.plan.problem
        self.alpha, self.beta = self.problem.alpha, self.problem.beta

    def launch(self, at: OperandSet) -> None:
        """Do the work of one launch."""
        c, name = self._view(at["C"], "C"), self.problem.result.name
        d = self._view(at[name], name)
        if self.plan.network:
            result = self._network(self.plan.network, at)
        else:
            result = self._finish(at, d.astype(np.float64) if self.plan.is_pass else self._gemm(at, c))
        self._store(at, d, result)
        self.launched += 1

    def _view(self, offset: int, operand: str) -> np.ndarray:
        found = self.problem.operand(operand)
        *rows, columns = found.shape
        whole = self.memory.bytes[offset : offset + found.nbytes].view(found.storage.numpy_type())
        return whole.reshape(*rows, columns + found.padding)[..., :columns]

    def _gemm(self, at: OperandSet, c: np.ndarray) -> np.ndarray:
        precision = self.problem.precision
        kind = np.float64 if precision.is_exact or precision.accumulator.type == FLOAT64 else np.float32
        result = np.zeros(c.shape, kind)
        if self.alpha:
            a, b = self._view(at["A"], "A"), self._view(at["B"], "B")
            a, b = (
                (a.swapaxes(-1, -2) if self.problem.trans_a else a),
                (b.swapaxes(-1, -2) if self.problem.trans_b else b),
            )
            result = kind(self.alpha) * self._multiply(a.astype(kind), b.astype(kind))
        if self.beta:
            result += kind(self.beta) * c.astype(kind)
        return result

    def _multiply(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        if not self.problem.groups:
            return np.asarray(a @ b)
        first = self.problem.offsets
        return np.concatenate([a[first[number] : first[number + 1]] @ each for number, each in enumerate(b)])

    def _finish(self, at: OperandSet, result: np.ndarray) -> np.ndarray:
        """What the fused steps of the epilogue, or those of a pass, make of the sums."""
        for name in self.plan.fused:
            step = EPILOGUE_STEPS.get(name)
            if step is None:
                result = _activate(result, (name,))
            else:
                operand = self._view(at[name], name) if step.part else np.zeros(1)
                row = step.part == "row" and operand.ndim > 1
                if row and self.problem.groups:
                    operand, row = np.repeat(operand, self.problem.groups, axis=0), False
                result = step.apply(result, operand[:, None] if row else operand)
        return result

    def _network(self, network: Network, at: OperandSet) -> np.ndarray:
        parameters = self._floats(at["B"], (network.parameters,))
        h = self._floats(at["A"], (network.batch, network.sizes[0]))
        for index, activation in enumerate(network.activations):
            inputs, outputs = network.sizes[index : index + 2]
            w, b = network.weights_at[index], network.biases_at[index]
            h = h @ parameters[w : w + inputs * outputs].reshape(inputs, outputs) + parameters[b : b + outputs]
            h = _activate(h, (activation,))
        return h

    def _floats(self, offset: int, shape: tuple[int, ...]) -> np.ndarray:
        storage = self.problem.storage("A")
        stored = self.memory.bytes[offset : offset + storage.nbytes(int(np.prod(shape)))]
        return stored.view(storage.numpy_type()).reshape(shape).astype(np.float32)

    def _store(self, at: OperandSet, c: np.ndarray, result: np.ndarray) -> None:
        if self.fault == "unwritten":
            return
        if self.problem.precision.is_exact:
            result = self.problem.storage("C").store(result)
        if self.fault == "last_column":
            c[..., :-1] = result[..., :-1]
            return
        c[:] = 0 if self.fault == "zero" else result
        if self.fault == "overrun":
            self.memory.fill(at["C"] + self.problem.operand_bytes("C"), 4, 0)
        if self.fault == "race" and self.launched % 7 == 6:
            c[..., 0, 0] += 1


@dataclass(frozen=True)
class FakePace:
    """Seconds per launch in windows, under a sustained load (if different) and for a single product, and the clock.

    `spend` advances the sensors' time.
    """

    times: Iterator[float]
    sustained: float | None
    alone: float
    clock: float
    spend: Callable[[float], None]


class FakeExecutable:
    """Computes a chain of steps with NumPy. The last step has the scripted fault.

    The chain takes the scripted time.
    """

    choice = ""
    setup_seconds = 0.0

    def __init__(
        self,
        memory: FakeMemory,
        pace: FakePace,
        fault: str,
        steps: Sequence[Step],
        rotation: Rotation,
        turns: int = 0,
    ):
        self.memory, self.times, self.fault, self.pace = memory, pace.times, fault, pace
        if fault == "compiles":
            time.sleep(_COMPILATION)
        self.overlap = OVERLAPS if fault == "overlaps" else ""
        self.no_graph = "cannot be recorded, as scripted" if fault == "no_graph" else ""
        if turns and self.no_graph:
            raise NotOffered(self.no_graph)
        faults = [""] * (len(steps) - 1) + [fault]
        self.steps = [FakeStep(memory, step.plan, wrong) for step, wrong in zip(steps, faults, strict=True)]
        self.sets = list(zip(*(step.sets for step in steps), strict=True))
        self.rotation = rotation
        self.unit = max(1, turns * len(self.sets))
        self._seconds = 0.0

    def time_alone(self) -> float:
        """See LoneExecutable."""
        self.launch(self.rotation.take(1)[0])
        return self.pace.alone

    def time(self, launches: int) -> Window:
        """Run and report the next scripted time.

        Raises LaunchError or DeviceLost if the script says so.
        """
        self._seconds = next(self.times)
        return self.time_exactly(launches + -launches % self.unit)

    def time_exactly(self, launches: int) -> Window:
        """Run and report the scripted time of the last window."""
        _raise_fault(self.fault)
        for index in self.rotation.take(launches)[-len(self.sets) :]:
            self.launch(index)
        seconds = self._seconds * launches
        self.pace.spend(seconds)
        return Window(seconds, launches, self.pace.clock)

    def sustain(self, launches: int, watch: Callable[[], None]) -> Generator[Window, None, None]:
        """Run once for each window. A window takes the scripted time for its number of launches."""
        launches += -launches % self.unit
        while True:
            _raise_fault(self.fault)
            self.launch(self.rotation.take(launches)[-1])
            seconds = launches * (self.pace.sustained or next(self.times))
            for _ in range(_LOOKS):
                self.pace.spend(seconds / _LOOKS)
                watch()
            yield Window(seconds, launches, self.pace.clock)

    def launch(self, index: int) -> None:
        """Run every step on operand set `index`."""
        for step, at in zip(self.steps, self.sets[index], strict=True):
            step.launch(at)


def _raise_fault(fault: str) -> None:
    if fault == "crash":
        raise LaunchError("crashed, as scripted")
    if fault == "lose":
        raise DeviceLost("the device is lost, as scripted")
    if fault == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        time.sleep(3600)
    if fault == "print":
        os.write(1, b"printed, as scripted\n")  # like a kernel's printf


def _activate(z: np.ndarray, names: Sequence[str]) -> np.ndarray:
    if "relu" in names:
        return np.where(z < 0, np.float32(0), z)
    if "softmax" in names:
        powers = np.exp(z - z.max(axis=1, keepdims=True))
        shares: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
        return shares
    return z


_EMPTY_SECONDS = 1e-6
_DEFAULT_SECONDS = 1e-3


class FakeCompiler:
    """A compiler that compiles nothing."""

    def __init__(self, script: Script):
        self.script = script

    def compile(self, plan: Plan) -> Artifact:
        """Return 32 registers and no spills for any text.

        Raises BuildError if the script says so.
        """
        name = plan.variant.name
        if "build" in (self.script.faults.get(name), self.script.faults.get(f"{name} {plan.config}")):
            raise BuildError(f"{plan.variant.path}:1: error: as scripted")
        text = content_key([plan.variant.text])[:8]
        return Artifact(f"fake-{name}-{plan.config}-{text}", "", Build(registers=32, shared=0, spills=0))

    def is_compiled(self, plan: Plan) -> bool:
        """Return True."""
        return True


class FakeEmpty:
    """Launches that do nothing."""

    def time(self, launches: int) -> Window:
        """See Executable."""
        return Window(_EMPTY_SECONDS * launches, launches)

    def time_alone(self) -> float:
        """See LoneExecutable."""
        return _EMPTY_SECONDS


class FakeBackend:
    """The open device."""

    modes: tuple[str, ...] = ("",)
    max_launches = 1000
    guards = True
    copy_engines = 2

    def __init__(self, script: Script | None = None):
        self.device = describe_fake()
        self.script = script or Script()
        self.monitor = FakeMonitor(self.script.watch) if self.script.watch else None
        self._clocks: dict[str, Iterator[float]] = {}
        self.empty = FakeEmpty() if self.script.alone else None

    def allocate(self, *nbytes: int) -> FakeMemory:
        """Host memory."""
        return FakeMemory(*nbytes)

    def free_memory(self) -> int:
        """Return all memory."""
        return self.device.target.memory

    def loaded_libraries(self) -> dict[str, str]:
        """Return an empty dict, because there are no libraries."""
        return {}

    def load(self, artifact: Artifact, plan: Plan) -> str:
        """Return the key, because there is nothing to load."""
        return artifact.key

    def count_workspace(self, loaded: str, plan: Plan) -> int:
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
    ) -> FakeExecutable:
        """Bind all steps to host memory, with the time and the fault that the script lists for `name`."""
        configured = f"{name} {steps[0].plan.config}"
        fault = self.script.faults.get(configured, self.script.faults.get(name, ""))
        rotation = rotation or Rotation(len(steps[0].sets))
        pace = FakePace(
            self._times(configured if configured in self.script.times else name),
            self.script.sustained.get(configured, self.script.sustained.get(name)),
            self.script.alone.get(configured, self.script.alone.get(name, _EMPTY_SECONDS)),
            self.script.clock,
            self._spend(name),
        )
        return FakeExecutable(memory, pace, fault, steps, rotation, turns)

    def host(self, nbytes: int, pinned: bool) -> FakeHost:
        """Host memory."""
        return FakeHost(nbytes)

    def job(self, steps: Sequence[JobStep], memory: Any, pinned: bool) -> FakeJob:
        """Bind copies and launches."""

        def launch(step: LaunchStep) -> FakeExecutable:
            return self.bind(step.plan.variant.name, [Step(step.artifact.key, step.plan, (step.at,))], memory)

        return FakeJob(steps, memory, pinned, launch, self.script.transfers)

    def _spend(self, name: str) -> Callable[[float], None]:
        """Return a function that lets the sensors' time pass while a variant runs."""
        monitor = self.monitor
        return partial(monitor.spend, name) if monitor else lambda seconds: None

    def _times(self, name: str) -> Iterator[float]:
        """Return the scripted times for this name.

        A second binding continues where the first one stopped.
        """
        seconds = self.script.times.get(name, _DEFAULT_SECONDS)
        listed = [seconds] if isinstance(seconds, (int, float)) else seconds
        return self._clocks.setdefault(name, itertools.cycle(listed))

    def close(self) -> None:
        """Do nothing."""

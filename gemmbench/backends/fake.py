"""A device that exists on paper: results by NumPy, times from a script.

The command line, the statistics and every table are tested on it to the last digit.
A script is a mapping, in a test or a YAML file (`--device fake:script.yaml`):

    times: {naive: [2.0e-3, 2.1e-3], cublas: 1.0e-4}   # seconds a launch, by launch window, in turn
    faults: {tiled: unwritten}                         # one of FAULTS
    isolated: true                                     # experiments in a process of their own, as on a GPU
    clock: 1.5e9
    transfers: {h2d: 2.0e+9, d2h: 1.0e+9}              # rates of a job's copies and launches: RATES in fake_jobs.py
    watch: {power: 300, temperature: [40, 41]}         # what it says of itself: KEYS in fake_monitor.py
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.backends import cache
from gemmbench.backends.base import Artifact, Build, Device, OperandSet, Step, Window, packed
from gemmbench.backends.fake_jobs import RATES, FakeHost, FakeJob
from gemmbench.backends.fake_monitor import KEYS, FakeMonitor
from gemmbench.backends.finding import Peaks
from gemmbench.backends.jobs import JobStep
from gemmbench.errors import BuildError, DeviceLost, LaunchError, UsageError, nearest
from gemmbench.spec.network import Network
from gemmbench.spec.plan import Plan, Target
from gemmbench.spec.problem import Problem

_DEFAULT_SECONDS = 1e-3
FAULTS = ("unwritten", "zero", "last_column", "overrun", "race", "crash", "build", "die", "hang", "lose")


@dataclass(frozen=True)
class Script:
    """Seconds a launch and faults by variant, the clock of every window, rates of transfers.

    `watch` is what the device says of itself; without it there is no monitor.
    """

    times: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    clock: float = 1e9
    transfers: Mapping[str, float] = field(default_factory=dict)
    isolated: bool = False
    watch: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Script:
        """Read a script. Raises UsageError."""
        import yaml

        try:
            script = cls(**yaml.safe_load(path.read_text()))
            script.check()
        except (OSError, TypeError, ValueError, AttributeError, yaml.YAMLError) as fault:
            raise UsageError(f"{path}: not a script for the fake device: {fault}") from None
        return script

    def check(self) -> None:
        """Raise ValueError for a time or a rate that is none, or a fault that is not known."""
        for name, seconds in self.times.items():
            listed = seconds if isinstance(seconds, list) else [seconds]
            if not listed or not all(isinstance(each, (int, float)) and each > 0 for each in listed):
                raise ValueError(f"times.{name}: {seconds!r} should be seconds, such as 1.0e-3, or a list of them")
        for name, rate in self.transfers.items():
            if name not in RATES or not isinstance(rate, (int, float)) or not rate > 0:
                raise ValueError(f"transfers.{name}: {rate!r} should be one of {', '.join(RATES)}, such as 1.0e+9")
        for name in self.watch:
            if name not in KEYS:
                raise ValueError(f"watch.{name}: unknown; known: {', '.join(KEYS)}")
        for name, fault in self.faults.items():
            if fault not in FAULTS:
                raise ValueError(
                    f"faults.{name}: unknown '{fault}'{nearest(fault, FAULTS)}; known: {', '.join(FAULTS)}"
                )


PEAKS = Peaks(copy=9e11, fma=9.5e11, clock_hz=1e9, launch=1.5e-6, ungated=5e-6)
"""What the device is said to reach at best: 90 % of its bandwidth, 95 % of its arithmetic."""


def describe() -> Device:
    """A round device: 10 multiprocessors at 1 GHz, 1000 operations a cycle, 1 MiB of cache."""
    target = Target(kind="fake", sm=90, sms=10, smem=100 << 10, l2=1 << 20, memory=1 << 30)
    return Device("Fake GPU", 0, target, 1e9, {"f32": 1000.0}, 1e12, {"driver": "1.0"})


class FakeCompiler:
    """Compiles nothing."""

    def __init__(self, script: Script):
        self.script = script

    def compile(self, plan: Plan) -> Artifact:
        """Return 32 registers and no spills, whatever the text. Raises BuildError if the script says so."""
        name = plan.variant.name
        if self.script.faults.get(name) == "build":
            raise BuildError(f"{plan.variant.path}:1: error: as scripted")
        text = cache.key_of([plan.variant.text])[:8]
        return Artifact(f"fake-{name}-{plan.config}-{text}", "", Build(registers=32, shared=0, spills=0))


class FakeBackend:
    """The device; `modes` and `max_launches` as a back end must have them."""

    modes: tuple[str, ...] = ("",)
    max_launches = 1000
    guards = True
    copy_engines = 2

    def __init__(self, script: Script | None = None):
        self.device = describe()
        self.script = script or Script()
        self.monitor = FakeMonitor(self.script.watch) if self.script.watch else None
        self._clocks: dict[str, Iterator[float]] = {}

    def allocate(self, *nbytes: int) -> FakeMemory:
        """Host memory."""
        return FakeMemory(*nbytes)

    def load(self, artifact: Artifact, plan: Plan) -> str:
        """Nothing to load."""
        return artifact.key

    def bind(
        self,
        loaded: Any,
        plan: Plan,
        memory: Any,
        sets: Sequence[OperandSet],
        alpha: float,
        beta: float,
        mode: str = "",
    ) -> FakeExecutable:
        """Bind to host memory."""
        name = plan.variant.name
        seconds = self.script.times.get(name, _DEFAULT_SECONDS)
        listed = [seconds] if isinstance(seconds, (int, float)) else seconds
        times = self._clocks.setdefault(name, itertools.cycle(listed))
        fault = self.script.faults.get(name, "")
        return FakeExecutable(plan.problem, memory, sets, alpha, beta, times, fault, self.script.clock)

    def host(self, nbytes: int, pinned: bool) -> FakeHost:
        """Host memory."""
        return FakeHost(nbytes)

    def job(self, steps: Sequence[JobStep], memory: Any, pinned: bool, alpha: float, beta: float) -> FakeJob:
        """Bind copies and launches."""
        return FakeJob(
            steps,
            memory,
            pinned,
            lambda step: self.bind(step.artifact.key, step.plan, memory, [step.at], alpha, beta),
            self.script.transfers,
        )

    def chain(self, name: str, steps: Sequence[Step], memory: Any, graph: bool = False, mode: str = "") -> FakeChain:
        """All steps, with the time and the fault of the row's name."""
        whole = self.bind("", steps[0].plan, memory, steps[0].sets, 1.0, 0.0)
        seconds = self.script.times.get(name, _DEFAULT_SECONDS)
        listed = [seconds] if isinstance(seconds, (int, float)) else seconds
        times = self._clocks.setdefault(name, itertools.cycle(listed))
        return FakeChain(steps, memory, times, self.script.faults.get(name, ""), whole.clock)

    def close(self) -> None:
        """Nothing to close."""


class FakeMemory:
    """Host bytes."""

    def __init__(self, *nbytes: int):
        self.starts, end = packed(nbytes)
        self.nbytes = nbytes[0] if len(nbytes) == 1 else end
        self.bytes = np.zeros(self.nbytes, np.uint8)

    def write(self, offset: int, array: np.ndarray) -> None:
        """Copy in."""
        self.bytes[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

    def read(self, offset: int, out: np.ndarray) -> None:
        """Copy out."""
        out.reshape(-1).view(np.uint8)[:] = self.bytes[offset : offset + out.nbytes]

    def copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy inside."""
        self.bytes[target : target + nbytes] = self.bytes[source : source + nbytes]

    def fill(self, offset: int, nbytes: int, byte: int) -> None:
        """Set bytes."""
        self.bytes[offset : offset + nbytes] = byte

    def free(self) -> None:
        """Drop the bytes."""
        self.bytes = np.zeros(0, np.uint8)


@dataclass
class FakeExecutable:
    """Computes with NumPy, with the scripted fault; takes the scripted time."""

    problem: Problem
    memory: FakeMemory
    sets: Sequence[OperandSet]
    alpha: float
    beta: float
    times: Iterator[float]
    fault: str
    clock: float
    launched: int = 0

    def time(self, launches: int) -> Window:
        """Run, and report the next scripted time. Raises LaunchError, DeviceLost if the script says so."""
        _crash(self.fault)
        for _ in range(min(launches, len(self.sets))):
            self._launch(self.sets[self.launched % len(self.sets)])
            self.launched += 1
        return Window(next(self.times) * launches, launches, self.clock)

    def _view(self, offset: int, operand: str) -> np.ndarray:
        shape = self.problem.shape(operand)
        kind = self.problem.precision.numpy_type()
        nbytes = self.problem.operand_bytes(operand)
        return self.memory.bytes[offset : offset + nbytes].view(kind).reshape(shape)

    def _launch(self, at: OperandSet) -> None:
        a, b, c = self._view(at.A, "A"), self._view(at.B, "B"), self._view(at.C, "C")
        kind = np.float64 if self.problem.precision.scalar == "double" else np.float32
        a, b = (a.T if self.problem.trans_a else a), (b.T if self.problem.trans_b else b)
        result = kind(self.alpha) * (a.astype(kind) @ b.astype(kind))
        if self.beta:
            result += kind(self.beta) * c.astype(kind)
        self._store(at, c, result)

    def _store(self, at: OperandSet, c: np.ndarray, result: np.ndarray) -> None:
        if self.fault == "unwritten":
            return
        if self.fault == "last_column":
            c[:, :-1] = result[:, :-1]
            return
        c[:] = 0 if self.fault == "zero" else result
        if self.fault == "overrun":
            self.memory.fill(at.C + self.problem.operand_bytes("C"), 4, 0)
        if self.fault == "race" and self.launched % 7 == 6:
            c[0, 0] += 1


@dataclass
class FakeChain:
    """Computes a chain of steps with NumPy in float32."""

    steps: Sequence[Step]
    memory: FakeMemory
    times: Iterator[float]
    fault: str
    clock: float
    launched: int = 0

    def time(self, launches: int) -> Window:
        """Run, and report the next scripted time. Raises LaunchError, DeviceLost if the script says so."""
        _crash(self.fault)
        count = len(self.steps[0].sets)
        for _ in range(min(launches, count)):
            for step in self.steps:
                self._run(step, step.sets[self.launched % count])
            self.launched += 1
        return Window(next(self.times) * launches, launches, self.clock)

    def _run(self, step: Step, at: OperandSet) -> None:
        plan, problem = step.plan, step.plan.problem
        if self.fault == "unwritten" and step is self.steps[-1]:
            return
        c = self._floats(at.C, problem.shape("C"))
        if plan.network:
            c[:] = self._network(plan.network, at)
        else:
            a, b = self._floats(at.A, problem.shape("A")), self._floats(at.B, problem.shape("B"))
            result = c if problem.beta else a @ b
            bias = self._floats(at.bias, (1, problem.N)) if "bias" in plan.epilogue else 0
            c[:] = _activated(result + bias, plan.epilogue)
        if self.fault == "zero":
            c[:] = 0
        if self.fault == "race" and self.launched % 7 == 6:
            c[0, 0] += 1

    def _network(self, network: Network, at: OperandSet) -> np.ndarray:
        parameters = self._floats(at.B, (network.parameters,))
        h = self._floats(at.A, (network.batch, network.sizes[0]))
        for index, activation in enumerate(network.activations):
            inputs, outputs = network.sizes[index : index + 2]
            w, b = network.weights_at[index], network.biases_at[index]
            h = h @ parameters[w : w + inputs * outputs].reshape(inputs, outputs) + parameters[b : b + outputs]
            h = _activated(h, (activation,))
        return h

    def _floats(self, offset: int, shape: tuple[int, ...]) -> np.ndarray:
        count = int(np.prod(shape))
        return self.memory.bytes[offset : offset + 4 * count].view(np.float32).reshape(shape)


def _crash(fault: str) -> None:
    if fault == "crash":
        raise LaunchError("crashed, as scripted")
    if fault == "lose":
        raise DeviceLost("the device is lost, as scripted")
    if fault == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "hang":
        time.sleep(3600)


def _activated(z: np.ndarray, names: Sequence[str]) -> np.ndarray:
    if "relu" in names:
        return np.where(z < 0, np.float32(0), z)
    if "softmax" in names:
        powers = np.exp(z - z.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)
    return z

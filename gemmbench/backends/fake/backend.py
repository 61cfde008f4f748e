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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gemmbench.backends import cache
from gemmbench.backends.base import Artifact, Build, Device, Step
from gemmbench.backends.fake.jobs import RATES, FakeHost, FakeJob
from gemmbench.backends.fake.kernels import FakeExecutable, FakeMemory
from gemmbench.backends.fake.monitor import KEYS, FakeMonitor
from gemmbench.backends.health import Peaks
from gemmbench.backends.jobs import JobStep, Launch
from gemmbench.errors import BuildError, UsageError, nearest
from gemmbench.planning.plans.plan import Plan, Target

_DEFAULT_SECONDS = 1e-3
FAULTS = ("unwritten", "zero", "last_column", "overrun", "race", "crash", "build", "die", "hang", "lose", "print")


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
        self, name: str, steps: Sequence[Step], memory: Any, graph: bool = False, mode: str = ""
    ) -> FakeExecutable:
        """Bind to host memory: all steps, with the time and the fault that the script has for `name`."""
        fault = self.script.faults.get(name, "")
        return FakeExecutable(memory, self._times(name), fault, self.script.clock, steps)

    def host(self, nbytes: int, pinned: bool) -> FakeHost:
        """Host memory."""
        return FakeHost(nbytes)

    def job(self, steps: Sequence[JobStep], memory: Any, pinned: bool) -> FakeJob:
        """Bind copies and launches."""

        def launch(step: Launch) -> FakeExecutable:
            return self.bind(step.plan.variant.name, [Step(step.artifact.key, step.plan, (step.at,))], memory)

        return FakeJob(steps, memory, pinned, launch, self.script.transfers)

    def _times(self, name: str) -> Iterator[float]:
        """The scripted times of what has that name; it goes on where it was when it is bound again."""
        seconds = self.script.times.get(name, _DEFAULT_SECONDS)
        listed = [seconds] if isinstance(seconds, (int, float)) else seconds
        return self._clocks.setdefault(name, itertools.cycle(listed))

    def close(self) -> None:
        """Nothing to close."""

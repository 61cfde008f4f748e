"""A device that exists on paper: results by NumPy, times from a script.

The command line, the statistics and every table are tested on it to the last digit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from gemmbench.backends.base import Artifact, Build, Rotation, Step
from gemmbench.backends.cache.artifacts import content_key
from gemmbench.backends.fake.device import describe_fake
from gemmbench.backends.fake.jobs import FakeHost, FakeJob
from gemmbench.backends.fake.kernels import FakeExecutable, FakeMemory, FakePace
from gemmbench.backends.fake.monitor import FakeMonitor
from gemmbench.backends.fake.script import Script
from gemmbench.backends.jobs import JobStep, LaunchStep
from gemmbench.errors import BuildError
from gemmbench.planning.plans.plan import Plan

_DEFAULT_SECONDS = 1e-3


class FakeCompiler:
    """Compiles nothing."""

    def __init__(self, script: Script):
        self.script = script

    def compile(self, plan: Plan) -> Artifact:
        """Return 32 registers and no spills, whatever the text.

        Raises BuildError if the script says so.
        """
        name = plan.variant.name
        if "build" in (self.script.faults.get(name), self.script.faults.get(f"{name} {plan.config}")):
            raise BuildError(f"{plan.variant.path}:1: error: as scripted")
        text = content_key([plan.variant.text])[:8]
        return Artifact(f"fake-{name}-{plan.config}-{text}", "", Build(registers=32, shared=0, spills=0))

    def is_compiled(self, plan: Plan) -> bool:
        """Always."""
        return True


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

    def allocate(self, *nbytes: int) -> FakeMemory:
        """Host memory."""
        return FakeMemory(*nbytes)

    def free_memory(self) -> int:
        """All there is."""
        return self.device.target.memory

    def loaded_libraries(self) -> dict[str, str]:
        """None that its rows name."""
        return {}

    def load(self, artifact: Artifact, plan: Plan) -> str:
        """Nothing to load."""
        return artifact.key

    def count_workspace(self, loaded: str, plan: Plan) -> int:
        """As planned."""
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
        """Bind to host memory: all steps, with the time and the fault that the script has for `name`."""
        configured = f"{name} {steps[0].plan.config}"
        fault = self.script.faults.get(configured, self.script.faults.get(name, ""))
        rotation = rotation or Rotation(len(steps[0].sets))
        pace = FakePace(
            self._times(configured if configured in self.script.times else name),
            self.script.sustained.get(configured, self.script.sustained.get(name)),
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
        """What the sensors do while a variant runs."""
        monitor = self.monitor
        return partial(monitor.spend, name) if monitor else lambda seconds: None

    def _times(self, name: str) -> Iterator[float]:
        """The scripted times of this name.

        A second binding continues where the first one stopped.
        """
        seconds = self.script.times.get(name, _DEFAULT_SECONDS)
        listed = [seconds] if isinstance(seconds, (int, float)) else seconds
        return self._clocks.setdefault(name, itertools.cycle(listed))

    def close(self) -> None:
        """Nothing to close."""

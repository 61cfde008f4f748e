"""Jobs on the fake device: copied and computed by NumPy, timed by a model simple enough for pencil and paper.

Three engines, one for each direction of copying and one that computes, serve the steps in the
order they are queued. A step begins when its engine is free, the step before it on its stream has
ended, and the step it waits for has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gemmbench.backends.base import Executable, Memory
from gemmbench.backends.jobs import CopyStep, JobStep, JobTimes, LaunchStep

RATES: Mapping[str, float] = {"h2d": 2e9, "d2h": 1e9, "pageable": 5e8, "flops": 1e12}
"""Bytes/s to and from the device, bytes/s both ways for pageable host memory, flops/s of every
kernel.
"""


class FakeHost:
    """Host bytes, pinned in name only."""

    def __init__(self, nbytes: int):
        self.bytes = np.zeros(nbytes, np.uint8)

    def free(self) -> None:
        """Drop the bytes."""
        self.bytes = np.zeros(0, np.uint8)


class FakeJob:
    """Runs steps in order on host arrays; `launch` binds a launch, `rates` are those of RATES."""

    def __init__(
        self,
        steps: Sequence[JobStep],
        memory: Memory,
        pinned: bool,
        launch: Callable[[LaunchStep], Executable],
        rates: Mapping[str, float],
    ):
        self.steps, self.memory, self.pinned, self.rates = steps, memory, pinned, {**RATES, **rates}
        self.launches = [launch(step) if isinstance(step, LaunchStep) else None for step in steps]

    def run(self) -> JobTimes:
        """Do the steps, and return the times of the model."""
        for step, launch in zip(self.steps, self.launches, strict=True):
            if launch is not None:
                launch.time(1)
            elif isinstance(step, CopyStep):
                self._copy(step)
        return self._clock()

    def _copy(self, step: CopyStep) -> None:
        if step.inward:
            self.memory.write(step.device, np.ascontiguousarray(step.host))
        else:
            self.memory.read(step.device, step.host)

    def _clock(self) -> JobTimes:
        ends: list[float] = []
        streams: dict[int, float] = {}
        engines: dict[str, float] = {}
        spent = {"h2d": 0.0, "kernel": 0.0, "d2h": 0.0}
        for step in self.steps:
            engine, seconds = self._cost(step)
            awaited = ends[step.after] if step.after is not None else 0.0
            end = max(streams.get(step.stream, 0.0), engines.get(engine, 0.0), awaited) + seconds
            ends.append(end)
            streams[step.stream] = engines[engine] = end
            spent[engine] += seconds
        if len(streams) > 1:
            return JobTimes(max(ends))
        return JobTimes(max(ends), spent["h2d"], spent["kernel"], spent["d2h"])

    def _cost(self, step: JobStep) -> tuple[str, float]:
        """The engine of a step, and its seconds."""
        if isinstance(step, LaunchStep):
            return "kernel", step.plan.problem.flops / self.rates["flops"]
        way = "h2d" if step.inward else "d2h"
        return way, step.host.nbytes / self.rates[way if self.pinned else "pageable"]

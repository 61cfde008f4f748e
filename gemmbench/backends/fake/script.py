"""The script of the fake device, given as a mapping or a YAML file, and the sensors and jobs that follow it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gemmbench.backends.base import Executable, Memory, Reading
from gemmbench.backends.jobs import CopyStep, JobStep, JobTimes, LaunchStep
from gemmbench.errors import UsageError, nearest
from gemmbench.planning.files import read_text_file
from gemmbench.planning.yaml_document import parse_document

KEYS = ("power", "temperature", "slowed", "others", "watts")
_TICK = 0.1
"""Seconds between ticks of the energy counter."""


class FakeMonitor:
    """A Monitor with scripted values. `power` and `temperature` have one value per reading.

    `slowed` is a list of names, and `others` is a number. Time passes only while kernels run. They draw `watts`, which
    is one number for all variants or one for each.
    """

    def __init__(self, script: Mapping[str, Any]):
        self._power, self._temperature = _repeat_last(script.get("power")), _repeat_last(script.get("temperature"))
        self._slowed = frozenset(script.get("slowed", ()))
        self._others: int | None = script.get("others")
        self._watts: float | Mapping[str, float] = script.get("watts", float("nan"))
        self._seconds = self._joules = self._shown = 0.0

    def spend(self, name: str, seconds: float) -> None:
        """Let the variant `name` run for some time."""
        watts = self._watts if isinstance(self._watts, (int, float)) else self._watts.get(name, float("nan"))
        ticks = int(self._seconds / _TICK)
        self._seconds += seconds
        self._joules += watts * seconds
        if int(self._seconds / _TICK) > ticks:
            self._shown = self._joules

    def read(self) -> Reading:
        """Return the next reading."""
        return Reading(next(self._power), next(self._temperature), 1e9, 2e9, self._slowed)

    def now(self) -> float:
        """Return the number of seconds that kernels have run."""
        return self._seconds

    def energy(self) -> float:
        """Return the joules at the last tick."""
        return self._shown

    def count_other_processes(self) -> int | None:
        """Return the scripted count."""
        return self._others


def _repeat_last(values: float | Sequence[float] | None) -> itertools.chain[float]:
    listed = values if isinstance(values, list) else [float("nan") if values is None else values]
    return itertools.chain(listed, itertools.repeat(listed[-1]))


RATES: Mapping[str, float] = {"h2d": 2e9, "d2h": 1e9, "pageable": 5e8, "flops": 1e12}
"""The rates of copies to and from the device and of copies of pageable memory in bytes/s, and of every kernel in
flops/s.
"""


class FakeHost:
    """Host memory that is pinned in name only."""

    def __init__(self, nbytes: int):
        self.bytes = np.zeros(nbytes, np.uint8)

    def free(self) -> None:
        """Drop the bytes."""
        self.bytes = np.zeros(0, np.uint8)


class FakeJob:
    """Runs steps in order on host arrays. `launch` binds a launch. `rates` may replace values of RATES."""

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
        """Run the steps and return the modelled times."""
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
        """Return the engine that a step uses, and the seconds that it takes."""
        if isinstance(step, LaunchStep):
            return "kernel", step.plan.problem.flops / self.rates["flops"]
        way = "h2d" if step.inward else "d2h"
        return way, step.host.nbytes / self.rates[way if self.pinned else "pageable"]


_WRONG_RESULTS = ("unwritten", "zero", "last_column", "overrun", "race")
FAULTS = (*_WRONG_RESULTS, "crash", "build", "die", "hang", "lose", "print", "no_graph", "compiles", "overlaps")


@dataclass(frozen=True)
class Script:
    """Seconds per launch and faults by variant, the clock in all windows, and transfer rates.

    A time or a fault may also be given for one configuration, such as `tiled TILE=16`. `sustained` holds seconds per
    launch under a steady load. `alone` holds seconds for a single product. Without it, single products are not timed.
    `watch` holds the values of the sensors. Without it, there is no monitor.
    """

    times: Mapping[str, float | Sequence[float]] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)
    clock: float = 1e9
    transfers: Mapping[str, float] = field(default_factory=dict)
    isolated: bool = False
    watch: Mapping[str, Any] = field(default_factory=dict)
    sustained: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, float] = field(default_factory=dict)

    def check(self) -> None:
        """Raise ValueError for a bad time or rate, or an unknown fault."""
        for name, seconds in [*self.times.items(), *self.sustained.items()]:
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


def read_script(path: str) -> Script:
    """Read a script. Raises UsageError and SpecError."""
    document = parse_document(read_text_file(Path(path)), path)
    try:
        script = Script(**document.data)
        script.check()
    except (TypeError, ValueError, AttributeError) as fault:
        raise UsageError(f"{path}: not a script for the fake device: {fault}") from None
    return script

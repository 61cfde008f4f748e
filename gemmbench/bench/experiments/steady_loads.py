"""Measures steady loads: launches a kernel and its baseline in turn without a pause, once the device has settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from statistics import fmean
from typing import cast

from gemmbench.backends.base import Executable, Monitor, Reading, SteadyExecutable, Window
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.context import WARMING_SHARE
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.trial import DAMAGED, Trial
from gemmbench.bench.operands.operand_values import Operands
from gemmbench.bench.record import Load, Sustained
from gemmbench.bench.timing.blocks import Observation, Steadiness, Tolerance
from gemmbench.bench.timing.telemetry import Energy, EnergyCounter

_PERIOD = 0.02


class LoadSensors:
    """Reads the energy counter at every poll, and other sensors at most every 20 ms. Does nothing without a monitor."""

    def __init__(self, monitor: Monitor | None):
        self._monitor = monitor
        self._counter = EnergyCounter(monitor) if monitor else None
        self._readings: list[tuple[float, Reading]] = []

    def poll(self) -> None:
        """Read the sensors that are due."""
        if self._monitor is None or self._counter is None:
            return
        self._counter.poll()
        now = self._monitor.now()
        if not self._readings or now >= self._readings[-1][0] + _PERIOD:
            self._readings.append((now, self._monitor.read()))

    def now(self) -> float:
        """Return the seconds on the sensors' clock."""
        return self._monitor.now() if self._monitor else math.nan

    @property
    def last(self) -> Reading:
        """The last reading."""
        return self._readings[-1][1] if self._readings else Reading()

    def count_energy(self, start: float) -> Energy | None:
        """Return the energy drawn since `start`, from tick to tick; None if unknown."""
        return self._counter.count(start, self.now()) if self._counter else None

    def list_slowing(self, start: float) -> list[str]:
        """Return what has limited the clock since `start`."""
        return sorted({name for moment, reading in self._readings if moment >= start for name in reading.slowed})


_TOLERANCE = Tolerance(temperature=1.0)
_STRETCHES = 20
"""The number of parts of a block that are compared to see whether the device has settled."""
_MOST_SETTLING = 0.5
"""The largest fraction of a block that may pass before counting begins."""


def measure_load(
    executable: SteadyExecutable,
    launches: int,
    seconds: float,
    sensors: LoadSensors,
    is_interrupted: Callable[[], bool],
) -> Load | None:
    """Launch for `seconds` in windows of `launches`.

    Returns None after an interruption. Raises the executable's errors.
    """
    with closing(executable.sustain(launches, sensors.poll)) as windows:
        spent, settled = settle(windows, sensors, _MOST_SETTLING * seconds, seconds / _STRETCHES, is_interrupted)
        start = sensors.now()
        counted = _take(windows, seconds - spent, is_interrupted)
        if is_interrupted():
            return None
        return _describe(counted, sensors, start, settled)


def settle(
    windows: Iterator[Window],
    sensors: LoadSensors,
    limit: float,
    stretch: float,
    is_interrupted: Callable[[], bool],
) -> tuple[float, bool]:
    """Launch until the device is steady or for `limit` seconds. Returns the seconds, and whether it is steady."""
    spent, steadiness = 0.0, Steadiness(_TOLERANCE)
    while spent < limit and not steadiness.is_steady and not is_interrupted():
        taken = _take(windows, stretch, is_interrupted)
        spent += sum(window.seconds for window in taken)
        steadiness.add(_observe(taken, sensors))
    return spent, steadiness.is_steady


def _take(windows: Iterator[Window], seconds: float, is_interrupted: Callable[[], bool]) -> list[Window]:
    """Return windows that take this number of seconds, at least one."""
    taken = [next(windows)]
    spent = taken[0].seconds
    while spent < seconds and not is_interrupted():
        taken.append(next(windows))
        spent += taken[-1].seconds
    return taken


def _observe(windows: list[Window], sensors: LoadSensors) -> Observation:
    reading = sensors.last
    return Observation(_mean_time(windows), _mean_clock(windows), reading.power, reading.temperature)


def _describe(windows: list[Window], sensors: LoadSensors, start: float, settled: bool) -> Load:
    energy, clock, temperature = sensors.count_energy(start), _mean_clock(windows), sensors.last.temperature
    return Load(
        seconds=sum(window.seconds for window in windows),
        launches=sum(window.launches for window in windows),
        clock_hz=None if math.isnan(clock) else clock,
        joules=energy.joules if energy else None,
        joules_seconds=energy.seconds if energy else 0.0,
        temperature=None if math.isnan(temperature) else temperature,
        slowed_by=sensors.list_slowing(start),
        settled=settled,
    )


def _mean_time(windows: list[Window]) -> float:
    """Return the seconds per launch."""
    return sum(window.seconds for window in windows) / sum(window.launches for window in windows)


def _mean_clock(windows: list[Window]) -> float:
    """Return the mean clock in Hz; NaN if unknown."""
    return fmean([window.clock_hz for window in windows if window.clock_hz] or [math.nan])


_BLOCK_SECONDS = 1.0
"""The length of the longest block in seconds. A longer load has more blocks."""
_WINDOW_SECONDS = 0.025
_WINDOW_GRAPHS = 2
"""The number of graphs in a window if launches are graphs.

With two windows in the queue, no graph is launched again while it waits.
"""
_LEAST_WINDOWS = 8
_HEATING_SHARE, _HEATING_STRETCH = 0.5, 0.2


@dataclass
class _Bound:
    """A trial that is ready for a load in windows of `launches` launches, and its loads so far."""

    trial: Trial
    executable: Executable
    launches: int
    loads: list[Load] = field(default_factory=list)


class SustainedBlocks:
    """Loads the device with one kernel at a time, for `seconds` in total for each row.

    After all loads of a row, `is_intact` returns whether it wrote only its outputs, and `check` checks the results of
    the same executable. This does not happen between blocks. After a pause, a device runs faster than its power limit
    allows, and then slower.
    """

    def __init__(
        self,
        setup: Setup,
        seconds: float,
        is_intact: Callable[[Trial], bool],
        check: Callable[[Trial, Executable], None],
    ):
        self._context, self._backend, self._bind = setup.context, setup.backend, setup.bind
        self._seconds, self._is_intact, self._check = seconds, is_intact, check
        self._quartets = max(1, round(seconds / 4 / _BLOCK_SECONDS))
        self._block = seconds / 4 / self._quartets

    def run(self, trials: Sequence[Trial], baseline: Trial | None) -> None:
        """Run the loads and store the results of each trial's load.

        For the baseline, store the results of all its loads.

        A row with fewer than two blocks has no result. It was interrupted, or a launch takes too long for a block.
        """
        base = self._prepare(baseline) if baseline else None
        others = [trial for trial in trials if trial is not baseline]
        if base and others:
            self._context.progress("sustained load", 0, 0)
            self._heat(base, _HEATING_SHARE * self._seconds)
            self._is_intact(base.trial)
        for number, trial in enumerate(others):
            self._context.progress(f"sustained {trial.name}", number, len(others))
            row = self._prepare(trial)
            if row:
                self._run_row(row, base)
        if base and not others:
            self._run_row(base, None)
        elif base and base.loads:
            base.trial.sustained = Sustained(own=base.loads)
            self._finish(base)

    def _run_row(self, row: _Bound, base: _Bound | None) -> None:
        if base and not base.trial.alive:
            base = None
        first = len(base.loads) if base else 0
        order = (row, base, base, row) if base else (row, row)
        self._heat(row, WARMING_SHARE * self._seconds)
        complete = all(self._add_load(one) for one in order * self._quartets if one)
        intact = row.trial.alive and self._is_intact(row.trial)
        if not (complete and intact):
            if base:
                del base.loads[first:]
            return
        row.trial.sustained = Sustained(own=row.loads, baseline=base.loads[first:] if base else [])
        self._finish(row)

    def _prepare(self, trial: Trial) -> _Bound | None:
        """Bind a trial. Returns None if it fails or if its launches are too long for a block."""
        if not trial.alive or self._context.is_interrupted():
            return None
        with trial.catch_faults():
            executable = self._bind(trial)
            executable.time(1)  # loads the code
            window = executable.time(1)
            once = window.seconds / window.launches
            if trial.turns:  # the window was one graph
                joined = max(1, int(_WINDOW_SECONDS / _WINDOW_GRAPHS / max(window.seconds, 1e-9)))
                executable = self._bind(trial, joined)
            if once * _LEAST_WINDOWS > self._block:
                return None
            return _Bound(trial, executable, math.ceil(_WINDOW_SECONDS / max(once, 1e-9)))
        return None

    def _heat(self, one: _Bound, limit: float) -> None:
        """Load the device with a kernel until it is steady or for `limit` seconds."""
        sensors, executable = LoadSensors(self._backend.monitor), cast(SteadyExecutable, one.executable)
        with one.trial.catch_faults(), closing(executable.sustain(one.launches, sensors.poll)) as windows:
            settle(windows, sensors, limit, _HEATING_STRETCH, self._context.is_interrupted)

    def _add_load(self, one: _Bound) -> bool:
        """Run a block. Returns whether it was completed."""
        if not one.trial.alive:
            return False
        executable, sensors = cast(SteadyExecutable, one.executable), LoadSensors(self._backend.monitor)
        load = None
        with one.trial.catch_faults():
            load = measure_load(executable, one.launches, self._block, sensors, self._context.is_interrupted)
        if load is None:
            return False
        one.loads.append(load)
        return True

    def _finish(self, one: _Bound) -> None:
        """Check the executable that ran under load."""
        if not self._context.is_interrupted():
            with one.trial.catch_faults():
                self._check(one.trial, one.executable)


def load_trials(setup: Setup, trials: Sequence[Trial]) -> None:
    """Run each trial by itself under a steady load if the policy requires it, and audit it again.

    Rows that will be measured again get their steady load then.
    """
    seconds = setup.batch.policy.choose_sustained(setup.batch.chains[0].problem.precision)
    loaded = [trial for trial in trials if trial.alive and trial.name not in setup.batch.repeated]
    if not seconds or not loaded or not setup.backend.device.target.is_gpu:
        return
    inputs = setup.timed_case.inputs
    setup.arena.prepare(inputs)
    setup.arena.prepare_outputs(inputs)
    is_intact, check = partial(_is_intact, setup, inputs), partial(_audit_load, setup.make_audit())
    baseline = next(iter(setup.batch.anchors), None)
    blocks = SustainedBlocks(setup, seconds, is_intact, check)
    blocks.run(loaded, next((trial for trial in loaded if trial.name == baseline), None))


def _is_intact(setup: Setup, inputs: Operands, trial: Trial) -> bool:
    """Return whether a load wrote only its outputs. If not, the trial ends and the operands are restored."""
    with trial.catch_faults():
        if not setup.arena.find_damage():
            return True
        trial.fail_guard(DAMAGED)
        setup.arena.prepare(inputs)
        setup.arena.prepare_outputs(inputs)
    return False


def _audit_load(audit: Audit, trial: Trial, executable: Executable) -> None:
    """Audit a trial that has run under a steady load, then restore the timed inputs in the arena."""
    audit.begin()
    try:
        audit.run(trial, executable)
    finally:
        audit.end()

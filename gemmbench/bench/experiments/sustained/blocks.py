"""The order of the loads: kernel, baseline, baseline, kernel, so that a steady drift cancels out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import cast

from gemmbench.backends.base import Executable, SteadyExecutable
from gemmbench.bench.experiments.setup import Setup
from gemmbench.bench.experiments.sustained.load_sensors import LoadSensors
from gemmbench.bench.experiments.sustained.measure_load import measure_load, settle
from gemmbench.bench.experiments.trial import Trial
from gemmbench.bench.sustained import Load, Sustained

BLOCK_SECONDS = 1.0
"""The longest block: a longer load has more of them."""
_WINDOW_SECONDS = 0.025
_WINDOW_GRAPHS = 2
"""Graphs in a window, if launches are graphs: with two windows in the queue, none is launched again while it waits."""
_LEAST_WINDOWS = 8
_HEATING_SHARE, _HEATING_STRETCH = 0.5, 0.2
WARMING_SHARE = 0.25
"""What a row's own load before its blocks takes at most, relative to the seconds of the blocks."""


@dataclass
class _Bound:
    """A trial that is ready for a load: windows of `launches` launches, and the loads so far."""

    trial: Trial
    executable: Executable
    launches: int
    loads: list[Load] = field(default_factory=list)


class SustainedBlocks:
    """Loads the device with one kernel at a time, each row for `seconds` in all.

    After all loads of a row `is_intact` tells whether it wrote nothing but its outputs, and `check` checks
    what the same executable computes. Not between the blocks: a device that pauses runs faster than its
    power limit allows afterwards, and then slower.
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
        self._quartets = max(1, round(seconds / 4 / BLOCK_SECONDS))
        self._block = seconds / 4 / self._quartets

    def run(self, trials: Sequence[Trial], baseline: Trial | None) -> None:
        """Give each trial what its load showed, and the baseline what all of its loads showed.

        A row without two blocks has nothing: it was interrupted, or a launch takes too long for a block.
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
        """Bind a trial; None if it fails, or if its launches are too long for a block."""
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
        """Load the device with a kernel until it is steady, or for `limit` seconds."""
        sensors, executable = LoadSensors(self._backend.monitor), cast(SteadyExecutable, one.executable)
        with one.trial.catch_faults(), closing(executable.sustain(one.launches, sensors.poll)) as windows:
            settle(windows, sensors, limit, _HEATING_STRETCH, self._context.is_interrupted)

    def _add_load(self, one: _Bound) -> bool:
        """Run a block; whether it is complete."""
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
        """What ran under load is checked too."""
        if not self._context.is_interrupted():
            with one.trial.catch_faults():
                self._check(one.trial, one.executable)

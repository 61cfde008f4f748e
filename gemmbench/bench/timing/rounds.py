"""Timing: all executables of a batch in interleaved rounds.

A round is a seeded permutation of the executables and the next round its mirror image, so
that slow drift of the clock affects all alike. A sample is one window: launches back
to back for at least 1 ms, divided by their number.

They end when a stopping rule (stopping.py) is satisfied or a limit of the policy is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemmbench.backends.base import Executable, Window
from gemmbench.backends.monitor import Monitor
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stopping import DoublingRule, StoppingRule
from gemmbench.bench.timing.warm_up import WarmUp
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.sweeps.policy import Policy

_LONG_WINDOW = 0.2


@dataclass
class Measurement:
    """The samples of one executable: seconds per launch by round; the SM clock and competitors of each window.

    `stopped` is why there are no more: "until" (its interval is narrow enough), "rounds",
    "max-time", "interrupted", or "failed" with `fault`.
    """

    launches: int = 1
    samples: dict[int, float] = field(default_factory=dict)
    clocks: list[float] = field(default_factory=list)
    competitors: list[float] = field(default_factory=list)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def add(self, round_: int, window: Window) -> None:
        """Keep one window."""
        self.samples[round_] = window.seconds / window.launches
        if window.clock_hz:
            self.clocks.append(window.clock_hz)
        if window.competitors is not None:
            self.competitors.append(window.competitors)


class Rounds:
    """Measures executables together; one that fails or satisfies the stopping rule drops out.

    `anchors` are the indices of the executables that the others are compared with. An executable is
    done when its speed ratio to each anchor is known well enough, or its own median where there is
    no anchor. An anchor stays as long as another executable needs it. Without a `rule` it is
    DoublingRule(policy.until). `progress` takes an activity, the amount done and the total. The
    warm-up reads the power from `monitor`.
    """

    def __init__(
        self,
        executables: Sequence[Executable],
        policy: Policy,
        max_launches: int,
        is_interrupted: Callable[[], bool],
        progress: Callable[[str, int, int], None],
        anchors: Collection[int] = (),
        rule: StoppingRule | None = None,
        monitor: Monitor | None = None,
    ):
        self.executables, self.policy, self.max_launches = executables, policy, max_launches
        self.is_interrupted, self.progress, self.anchors = is_interrupted, progress, anchors
        self.rule, self.monitor = rule or DoublingRule(policy.until), monitor
        self.measurements = [Measurement() for _ in executables]
        self.quota = [policy.rounds] * len(executables)

    def run(self, warm_seconds: float) -> list[Measurement]:
        """Warm up for at most `warm_seconds`, then measure; one measurement per executable."""
        for index in range(len(self.executables)):
            self.progress("first launches", index, len(self.executables))
            self._size_window(index)
        self.progress("warm up", 0, 0)
        self._warm_up(warm_seconds)
        rng = np.random.default_rng(self.policy.seed)
        order = np.arange(len(self.executables))
        for round_ in range(max(self.quota, default=0)):
            order = rng.permutation(len(self.executables)) if round_ % 2 == 0 else order[::-1]
            self._time_round(round_, order.tolist())
            done = round_ + 1
            self.progress("round", done, self.policy.rounds)
            if done < self.policy.rounds and self.rule.is_due(done):
                self._retire_known(done)
            if self.is_interrupted() or not self._active(done):
                break
        self._set_stop_reasons()
        return self.measurements

    def _time_window(self, index: int) -> Window | None:
        measurement = self.measurements[index]
        if measurement.fault is not None:
            return None
        try:
            return self.executables[index].time(measurement.launches)
        except DeviceLost:
            raise
        except PlanError as fault:
            measurement.fault, measurement.stopped = fault, "failed"
            return None

    def _size_window(self, index: int) -> None:
        """Choose the launches of a window and the rounds, so that both fit the policy's times."""
        measurement = self.measurements[index]
        window = self._time_window(index)
        if window is not None and window.seconds < _LONG_WINDOW:
            window = self._time_window(index)  # the first launch may have loaded code
        for _ in range(3):
            if window is None:
                return
            if window.seconds >= self.policy.window or measurement.launches == self.max_launches:
                break
            needed = 1.1 * self.policy.window / max(window.seconds / window.launches, 1e-9)
            measurement.launches = min(self.max_launches, max(measurement.launches, math.ceil(needed)))
            window = self._time_window(index)
        if window is None:
            return
        seconds = max(window.seconds / window.launches * measurement.launches, 1e-9)
        allowed = int(min(self.policy.max_time / seconds, self.policy.rounds))
        # An odd round would have no mirror image, so a short measurement has whole pairs.
        self.quota[index] = self.policy.rounds if allowed >= self.policy.rounds else max(1, allowed // 2 * 2)

    def _warm_up(self, seconds: float) -> None:
        """Warm up everything that will run more than once."""
        warming = [index for index, quota in enumerate(self.quota) if quota > 1]
        WarmUp(self._time_window, self.is_interrupted, self.monitor).run(warming, seconds)

    def _time_round(self, round_: int, order: Sequence[int]) -> None:
        for index in order:
            if round_ < self.quota[index] and not self.is_interrupted():
                window = self._time_window(index)
                if window is not None:
                    self.measurements[index].add(round_, window)

    def _active(self, done: int) -> list[int]:
        """The executables that take part in the round after `done` rounds."""
        pairs = enumerate(zip(self.measurements, self.quota, strict=True))
        return [index for index, (measurement, quota) in pairs if measurement.fault is None and done < quota]

    def _retire_known(self, done: int) -> None:
        """Retire whatever is known well enough, unless another executable needs it as an anchor."""
        active = self._active(done)
        needed: set[int] = set()
        for index in active:
            anchors = [anchor for anchor in self.anchors if anchor != index and anchor in active]
            unknown = [anchor for anchor in anchors or [index] if not self._is_known(index, anchor)]
            needed |= {index, *unknown} if unknown else set()
        for index in set(active) - needed:
            self.quota[index], self.measurements[index].stopped = done, "until"

    def _is_known(self, index: int, anchor: int) -> bool:
        """Whether the ratio of two executables, or the median of one, is known well enough."""
        samples, base = self.measurements[index].samples, self.measurements[anchor].samples
        interval = stats.median_interval(samples) if index == anchor else stats.speed_ratio(samples, base)
        return self.rule.is_narrow(interval)

    def _set_stop_reasons(self) -> None:
        for measurement, quota in zip(self.measurements, self.quota, strict=True):
            if measurement.fault is None and len(measurement.samples) < quota:
                measurement.stopped = "interrupted"
            elif measurement.stopped == "rounds" and quota < self.policy.rounds:
                measurement.stopped = "max-time"

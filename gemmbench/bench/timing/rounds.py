"""Times all executables of a batch in blocks of interleaved rounds until their intervals are narrow enough."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

import numpy as np

from gemmbench.backends.base import Executable, Monitor, Window
from gemmbench.bench.experiments.context import KNOWN
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.blocks import BlockSteps, Measurement, NoSteps, WarmUp
from gemmbench.bench.timing.stats import Interval, Round
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.sweeps.policy import Policy

ENOUGH_BLOCKS = 5
"""Rounds are spread over this many blocks if there are enough rounds.

Intervals are first checked after these blocks.
"""


class StoppingRule(Protocol):
    """Decides when an executable has been measured well enough."""

    def is_due(self, blocks: int) -> bool:
        """Return whether to check the intervals after this many blocks."""

    def is_narrow(self, interval: Interval) -> bool:
        """Return whether an interval is narrow enough to stop."""


@dataclass(frozen=True)
class DoublingRule:
    """Checks after 5, 10, 20, ... blocks whether the interval is within +- `until` of its value.

    If `until` is 0, rounds never stop early.
    """

    until: float

    def is_due(self, blocks: int) -> bool:
        """See StoppingRule."""
        doublings, rest = divmod(blocks, ENOUGH_BLOCKS)
        return self.until > 0 and doublings > 0 and rest == 0 and doublings & (doublings - 1) == 0

    def is_narrow(self, interval: Interval) -> bool:
        """See StoppingRule. An unknown interval is not narrow."""
        return interval.spread <= self.until


_MOST_PAIRS = 3
"""The most mirrored pairs in a block. With three pairs, a single disturbed window does not affect the median."""
LONG_WINDOW = 0.01
"""A length in seconds. A disturbance matters little in a window this long, so a block needs only one pair."""
_SECOND_WINDOW = 0.1
"""A length in seconds.

Shorter windows run twice more before their launches are chosen, because the first one may have loaded code.
"""
_LOADING_FACTOR = 4
"""The factor by which a first window may be longer than the next one because it loads code."""
_ALIKE = 2.0
"""The factor by which similar numbers of launches may differ."""
_SHRUNK = 4.0
"""The factor by which windows may be too short without getting more launches."""


class Rounds:
    """Measures executables together. An executable drops out if it fails or satisfies the stopping rule.

    `anchors` are the indices of the executables that others are compared with. An executable is done when its speed
    ratio to each anchor is known well enough. Without anchors, its own time must be known well enough. An anchor stays
    as long as another executable needs it. In a `contest`, only the fastest must be known well. Any other is done as
    soon as it is clearly slower. The default `rule` is DoublingRule(policy.until). `progress` takes an activity, the
    amount done and the total. The warm-up reads the power from `monitor`. If there are `names`, the activity begins
    with the fastest executable so far, followed by KNOWN. A block's samples count only for executables that pass the
    check at its end. `load` is the total number of seconds in all windows.
    """

    def __init__(
        self,
        executables: Sequence[Executable],
        policy: Policy,
        max_launches: int,
        is_interrupted: Callable[[], bool],
        progress: Callable[[str, int, int], None],
        anchors: Collection[int] = (),
        contest: Collection[int] = (),
        rule: StoppingRule | None = None,
        monitor: Monitor | None = None,
        steps: BlockSteps | None = None,
        seed: int | Sequence[int] = 0,
        names: Sequence[str] = (),
    ):
        self.names, self._leader = names, ""
        self.executables, self.policy, self.max_launches = executables, policy, max_launches
        self.is_interrupted, self.progress, self.anchors = is_interrupted, progress, anchors
        self.contest = contest
        self.rule, self.monitor, self.steps = rule or DoublingRule(policy.until), monitor, steps or NoSteps()
        self.measurements = [Measurement() for _ in executables]
        self.quota, self._most_pairs = [policy.rounds] * len(executables), [_MOST_PAIRS] * len(executables)
        self._rng, self._rounds, self.load = np.random.default_rng(seed), 0, 0.0
        self._launch_seconds: dict[int, float] = {}

    def run(self, warm_seconds: float) -> list[Measurement]:
        """Warm up for at most `warm_seconds`, then measure. Returns one measurement for each executable."""
        self._begin_block(0)
        for index in range(len(self.executables)):
            self.progress("first launches", index, len(self.executables))
            self._size_window(index)
        for index in self.steps.record_if_short():
            self._size_window(index)
        self._share_launches()
        self.progress("warm up", 0, 0)
        self._warm_up(warm_seconds)
        for block in itertools.count():
            if block:
                self._begin_block(block)
            self._time_block(block)
            self._end_block(block)
            self._leader = self._describe_leader() if self.names else ""
            if self.rule.is_due(block + 1):
                self._retire_known()
            if self.is_interrupted() or not self._active():
                break
        self._set_stop_reasons()
        return self.measurements

    def _begin_block(self, block: int) -> None:
        active = self._active()
        ready = self.steps.begin(block, {index: self.measurements[index].launches for index in active})
        self._drop_out(set(active) - set(ready))

    def _end_block(self, block: int) -> None:
        """Drop the samples of executables that do not pass the block's check."""
        timed = [index for index, one in enumerate(self.measurements) if one.has_block(block)]
        sound = [index for index in timed if self.measurements[index].fault is None]
        last = set(sound) - set(self._active())
        failed = set(timed) - set(self.steps.end(block, sound, last))
        for index in failed:
            self.measurements[index].drop_block(block)
        if not self.is_interrupted():
            self._drop_out(failed)
        self._lengthen_shrunk_windows(block)

    def _drop_out(self, failed: Collection[int]) -> None:
        for index in failed:
            self.quota[index], self.measurements[index].stopped = 0, "failed"

    def _time_window(self, index: int) -> Window | None:
        measurement = self.measurements[index]
        if measurement.fault is not None or not self.quota[index]:
            return None
        try:
            window = self.executables[index].time(measurement.launches)
        except DeviceLost:
            raise
        except PlanError as fault:
            measurement.fault, measurement.stopped = fault, "failed"
            return None
        self.load += window.seconds
        return window

    def _size_window(self, index: int) -> None:
        """Choose the number of launches so that a window takes as long as the policy says."""
        measurement = self.measurements[index]
        window = self._time_window(index)
        if window is not None and window.seconds < _SECOND_WINDOW and not self._is_settled(window):
            window = self._time_shorter_window(index)
        for _ in range(3):
            if window is None:
                return
            if window.seconds >= self.policy.window or measurement.launches == self.max_launches:
                break
            self._lengthen_window(index, window.seconds / window.launches)
            window = self._time_window(index)
        if window is None:
            return
        measurement.launches = window.launches  # a graph rounds the launches up
        self._launch_seconds[index] = max(window.seconds, 1e-9) / window.launches

    def _lengthen_window(self, index: int, seconds: float) -> None:
        """Increase the launches of a window to what the policy requires, given the seconds per launch."""
        measurement = self.measurements[index]
        needed = math.ceil(1.1 * self.policy.window / max(seconds, 1e-9))
        measurement.launches = min(self.max_launches, max(measurement.launches, needed))

    def _lengthen_shrunk_windows(self, block: int) -> None:
        """Add launches to executables whose windows in a block were much shorter than when their size was chosen.

        Short windows are not meaningful, whether measured by the timer or by gemmbench's clock.
        """
        for index in self._active():
            windows = self.measurements[index].list_block(block)
            if windows and _SHRUNK * median(window.seconds for window in windows) < self.policy.window:
                self._lengthen_window(index, median(window.seconds / window.launches for window in windows))

    def _time_shorter_window(self, index: int) -> Window | None:
        """Time two windows and return the shorter one, because disturbances can only make windows longer."""
        windows = [window for window in (self._time_window(index), self._time_window(index)) if window is not None]
        return min(windows, key=lambda window: window.seconds, default=None)

    def _share_launches(self) -> None:
        """Choose the rounds, and give windows with similar numbers of launches the same number.

        Otherwise a single disturbance could give equal kernels unequal windows in all blocks.
        """
        by_time = sorted(self._launch_seconds.items(), key=lambda each: each[1])
        while by_time:
            alike = [index for index, seconds in by_time if seconds <= _ALIKE * by_time[0][1]]
            by_time = by_time[len(alike) :]
            most = max(self.measurements[index].launches for index in alike)
            for index in alike:
                self.measurements[index].launches = most
                self._choose_rounds(index, most * self._launch_seconds[index])

    def _choose_rounds(self, index: int, seconds: float) -> None:
        """Choose how many windows of this length to measure within the policy's time."""
        allowed = int(min(self.policy.max_time / seconds, self.policy.rounds))
        # An odd round would have no mirror image, so short measurements consist of whole pairs.
        self.quota[index] = self.policy.rounds if allowed >= self.policy.rounds else max(1, allowed // 2 * 2)
        self._most_pairs[index] = count_most_pairs(seconds)

    def _is_settled(self, first: Window) -> bool:
        """Return whether launches and rounds would be the same regardless of a second window."""
        allowed = self.policy.rounds * first.seconds <= self.policy.max_time
        return allowed and _LOADING_FACTOR * self.policy.window <= first.seconds < LONG_WINDOW

    def _warm_up(self, seconds: float) -> None:
        """Warm up everything that will run more than once."""
        warming = [index for index, quota in enumerate(self.quota) if quota > 1]
        WarmUp(self._time_window, self.is_interrupted, self.monitor).run(warming, seconds)

    def _time_block(self, block: int) -> None:
        for pair in range(max(map(self._count_pairs, self._active()), default=0)):
            order = self._rng.permutation(len(self.executables)).tolist()
            for direction in (order, order[::-1]):
                active = set(self._active())
                members = [index for index in direction if index in active and pair < self._count_pairs(index)]
                if members:
                    last = {index for index in members if self._is_last_window(index, pair, direction is not order)}
                    self._time_round(block, members, last)

    def _is_last_window(self, index: int, pair: int, backwards: bool) -> bool:
        """Return whether the next window of an executable is its last one in this block."""
        if len(self.measurements[index].windows) + 1 >= self.quota[index]:
            return True
        return backwards and pair + 1 >= self._count_pairs(index)

    def _count_pairs(self, index: int) -> int:
        """Return the number of mirrored pairs per block. It is smaller if there would otherwise be too few blocks."""
        return max(1, min(self._most_pairs[index], self.quota[index] // 2 // ENOUGH_BLOCKS))

    def _time_round(self, block: int, order: Sequence[int], last: Collection[int]) -> None:
        """Time one window of each executable. For those in `last`, it is the last window in this block."""
        round_ = Round(block, self._rounds)
        self._rounds += 1
        for index in order:
            if not self.is_interrupted():
                window = self._time_window(index)
                if window is not None:
                    self.measurements[index].windows[round_] = window
                    if index in last:
                        self.steps.inspect(index, window.launches)
        self.progress(f"{self._leader}round", min(self._rounds, self.policy.rounds), self.policy.rounds)

    def _describe_leader(self) -> str:
        """Describe the fastest so far next to the first anchor, as in `sgemm 0.0443 +- 0.0001 ms, 1.38x cublas`."""
        samples = {number: one.samples for number, one in enumerate(self.measurements) if one.samples}
        times = {number: stats.time_interval(each) for number, each in samples.items() if not self._has_failed(number)}
        if not times:
            return ""
        best = min(times, key=lambda number: times[number].value)
        time, anchor = times[best].scale(1e3), next(iter(self.anchors), best)
        width = f" +- {_show_digits(time.half_width, 1)}" if time.known else ""
        text = f"{self.names[best]} {_show_digits(time.value, 4)}{width} ms"
        if anchor != best and anchor in times:
            text += f", {stats.speed_ratio(samples[best], samples[anchor]).value:.3g}x {self.names[anchor]}"
        return f"{text}{KNOWN}"

    def _has_failed(self, index: int) -> bool:
        return self.measurements[index].fault is not None or self.measurements[index].stopped == "failed"

    def _active(self) -> list[int]:
        """Return the executables that take part in the next block."""
        pairs = enumerate(zip(self.measurements, self.quota, strict=True))
        return [index for index, (one, quota) in pairs if one.fault is None and len(one.windows) < quota]

    def _retire_known(self) -> None:
        """Retire executables that are known well enough, unless others need them as anchors."""
        active, beaten = self._active(), self._find_beaten()
        needed: set[int] = set()
        for index in set(active) - beaten:
            anchors = [anchor for anchor in self.anchors if anchor != index and anchor in active]
            unknown = [anchor for anchor in anchors or [index] if not self._is_known(index, anchor)]
            needed |= {index, *unknown} if unknown else set()
        for index in set(active) - needed:
            self.quota[index] = len(self.measurements[index].windows)
            self.measurements[index].stopped = "beaten" if index in beaten else "until"

    def _find_beaten(self) -> set[int]:
        """Return the contestants that are clearly slower than the fastest one."""
        samples = {index: self.measurements[index].samples for index in self.contest}
        timed = {index: each for index, each in samples.items() if each and self.measurements[index].fault is None}
        if not timed:
            return set()
        best = min(timed.values(), key=lambda each: stats.time_interval(each).value)
        return {index for index, each in timed.items() if stats.verdict(stats.speed_ratio(each, best)) == "slower"}

    def _is_known(self, index: int, anchor: int) -> bool:
        """Return whether the ratio of two executables or the time of one is known well enough."""
        samples, base = self.measurements[index].samples, self.measurements[anchor].samples
        interval = stats.time_interval(samples) if index == anchor else stats.speed_ratio(samples, base)
        return self.rule.is_narrow(interval)

    def _set_stop_reasons(self) -> None:
        for measurement, quota in zip(self.measurements, self.quota, strict=True):
            if measurement.fault is None and len(measurement.windows) < quota:
                measurement.stopped = "interrupted"
            elif measurement.stopped == "rounds" and quota < self.policy.rounds:
                measurement.stopped = "max-time"


def count_most_pairs(window: float) -> int:
    """Return the most mirrored pairs in a block of windows that last `window` seconds."""
    return 1 if window >= LONG_WINDOW else _MOST_PAIRS


def _show_digits(value: float, digits: int) -> str:
    """Format with at most `digits` significant digits and no exponent."""
    return np.format_float_positional(value, digits, fractional=False, trim="-")

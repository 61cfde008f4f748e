"""Timing: all executables of a batch in interleaved rounds.

A round is a seeded permutation of the executables, the next one its mirror image, so
that slow drift of the clock falls on all alike. A sample is one window: launches back
to back for at least 1 ms, divided by their number.

Rounds go on until the intervals are narrow enough. One that is looked at after every round is
sooner or later narrow by luck, so they are looked at after 10, 20, 40 ... rounds alone. Simulated
(`benchmarks/noise.py`: clocks that drift by 0.8 %, windows with noise of 0.2 to 2 %, 200 runs of
each kind): the same code was never called faster or slower. A difference of 2 % was found in 98 of
100 runs up to a noise of 1 % (92 where every tenth window is disturbed by 5 %; 16 rounds find 64 and
42). The intervals covered the truth in 90 to 95 of 100 runs,
those of a fixed number of rounds in 91 to 97, those of looking after every pair in 86 to 95.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from gemmbench.backends.base import Executable, Window
from gemmbench.bench.timing import stats
from gemmbench.errors import DeviceLost, PlanError
from gemmbench.planning.sweeps.policy import Measuring

_SETTLED = 0.005
_LONG_WINDOW = 0.2


@dataclass
class Measurement:
    """Samples of one executable: seconds a launch, by round; and the SM clock seen in each window, in Hz.

    `stopped` says why it has no more: "until" (its interval is narrow enough), "rounds", "max-time",
    "interrupted", or "failed" with `fault`.
    """

    launches: int = 1
    samples: dict[int, float] = field(default_factory=dict)
    clocks: list[float] = field(default_factory=list)
    stopped: str = "rounds"
    fault: PlanError | None = None

    def add(self, round_: int, window: Window) -> None:
        """Keep one window."""
        self.samples[round_] = window.seconds / window.launches
        if window.clock_hz:
            self.clocks.append(window.clock_hz)


class Rounds:
    """Measures executables together; one that fails, or is known well enough, drops out and the others go on.

    `references` are the numbers of those that the others are compared with: an executable is known
    when its speed ratio to each of them is, or its own median where there is none. A reference stays
    as long as a ratio to it is looked for.
    """

    def __init__(
        self,
        executables: Sequence[Executable],
        policy: Measuring,
        most_launches: int,
        interrupted: Callable[[], bool],
        progress: Callable[[int, int], None],
        references: Collection[int] = (),
    ):
        self.executables, self.policy, self.most_launches = executables, policy, most_launches
        self.interrupted, self.progress, self.references = interrupted, progress, references
        self.measurements = [Measurement() for _ in executables]
        self.quota = [policy.rounds] * len(executables)

    def run(self, warm_seconds: float) -> list[Measurement]:
        """Warm for at most `warm_seconds`, then measure. Measurements stand in the order of the executables."""
        for index in range(len(self.executables)):
            self._size_window(index)
        self._warm(warm_seconds)
        rng = np.random.default_rng(self.policy.seed)
        order, looks = np.arange(len(self.executables)), list(_looks(self.policy))
        for round_ in range(max(self.quota, default=0)):
            order = rng.permutation(len(self.executables)) if round_ % 2 == 0 else order[::-1]
            self._round(round_, order.tolist())
            self.progress(round_ + 1, self.policy.rounds)
            if round_ + 1 in looks:
                self._look(round_ + 1)
            if self.interrupted() or not self._running(round_ + 1):
                break
        self._explain()
        return self.measurements

    def _window(self, index: int) -> Window | None:
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
        """Choose launches for a window of the wanted length, and rounds for the time allowed."""
        measurement = self.measurements[index]
        window = self._window(index)
        if window is not None and window.seconds < _LONG_WINDOW:
            window = self._window(index)  # the first launch may have loaded code, so it does not count
        for _ in range(3):
            if window is None:
                return
            if window.seconds >= self.policy.window or measurement.launches == self.most_launches:
                break
            short = 1.1 * self.policy.window / max(window.seconds / window.launches, 1e-9)
            measurement.launches = min(self.most_launches, max(measurement.launches, math.ceil(short)))
            window = self._window(index)
        if window is None:
            return
        seconds = max(window.seconds / window.launches * measurement.launches, 1e-9)
        allowed = int(min(self.policy.max_time / seconds, self.policy.rounds))
        # An odd round has lost its mirror image, so a short measurement keeps to whole pairs.
        self.quota[index] = self.policy.rounds if allowed >= self.policy.rounds else max(1, allowed // 2 * 2)

    def _warm(self, seconds: float) -> None:
        """Run everything until two passes agree within 0.5 %, or the time is over."""
        spent, previous = 0.0, 0.0
        while spent < seconds and not self.interrupted():
            windows = [self._window(index) for index, quota in enumerate(self.quota) if quota > 1]
            taken = sum(window.seconds for window in windows if window and window.seconds < _LONG_WINDOW)
            if not taken or abs(taken - previous) <= _SETTLED * taken:
                break
            spent, previous = spent + taken, taken

    def _round(self, round_: int, order: Sequence[int]) -> None:
        for index in order:
            if round_ < self.quota[index] and not self.interrupted():
                window = self._window(index)
                if window is not None:
                    self.measurements[index].add(round_, window)

    def _running(self, done: int) -> list[int]:
        """Who takes part in the round after `done` rounds."""
        pairs = enumerate(zip(self.measurements, self.quota, strict=True))
        return [index for index, (measurement, quota) in pairs if measurement.fault is None and done < quota]

    def _look(self, done: int) -> None:
        """After `done` rounds, let go who is known well enough and no reference of one who is not."""
        running = self._running(done)
        wide: set[int] = set()
        for index in running:
            others = [other for other in self.references if other != index and other in running]
            wide |= {number for other in others or [index] if self._wide(index, other) for number in (index, other)}
        for index in set(running) - wide:
            self.quota[index], self.measurements[index].stopped = done, "until"

    def _wide(self, index: int, other: int) -> bool:
        """The interval of the ratio of two, or of one alone, is wider than it should be."""
        samples, base = self.measurements[index].samples, self.measurements[other].samples
        found = stats.summarize(samples) if index == other else stats.speed_ratio(samples, base)
        return not found.spread <= self.policy.until

    def _explain(self) -> None:
        for measurement, quota in zip(self.measurements, self.quota, strict=True):
            if measurement.fault is None and len(measurement.samples) < quota:
                measurement.stopped = "interrupted"
            elif measurement.stopped == "rounds" and quota < self.policy.rounds:
                measurement.stopped = "max-time"


def _looks(policy: Measuring) -> Iterator[int]:
    """The numbers of rounds after which the intervals are looked at."""
    done = 2 * stats.LEAST_PAIRS
    while policy.until and done < policy.rounds:
        yield done
        done *= 2

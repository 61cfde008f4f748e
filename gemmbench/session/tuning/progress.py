"""How far a search is: the best so far, and the time left."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from gemmbench.bench.experiments.context import SWEEP, Progress
from gemmbench.bench.timing import stats
from gemmbench.bench.tuning.screening import Screening
from gemmbench.bench.tuning.tuning_task import TuningTask
from gemmbench.report.text import number


@dataclass
class SearchProgress:
    """Reports how far a search is, the best so far and the time left."""

    progress: Progress
    task: TuningTask
    most: int
    _started: float = field(default_factory=time.monotonic)
    _seen: int = 0
    _before: int | None = None
    _times: list[tuple[float, str]] = field(default_factory=list)

    def begin(self) -> None:
        """Report the beginning."""
        self.progress(f"{SWEEP}{self.task}", 0, self.most)

    def report(self, screening: Screening) -> None:
        """Report the best candidate so far. The first time, what was tried is that of the run that is resumed."""
        for record in screening.records[self._seen :]:
            if self.task.owns(record) and record.status == "ok" and record.samples:
                self._times.append((stats.time_interval(record.by_round).value, str(record.configuration)))
        self._seen = len(screening.records)
        self._times = [min(self._times)] if self._times else []
        words = "".join(f": best {name}, {number(1e3 * seconds, 3)} ms" for seconds, name in self._times)
        self._before = screening.tried if self._before is None else self._before
        tried, spent = screening.tried, time.monotonic() - self._started
        fresh = tried - self._before
        left = spent * (self.most - tried) / fresh if fresh and tried < self.most else None
        self.progress(f"{SWEEP}{self.task}{words}", tried, self.most, *(() if left is None else (left,)))


def leave_out_batches(progress: Progress) -> Progress:
    """Progress without the batches of the runner; a search reports how far it is itself."""

    def report(what: str, done: int, of: int, left: float | None = None, /) -> None:
        if not what.startswith(SWEEP):
            progress(what, done, of)

    return report

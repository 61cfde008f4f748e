"""The candidates that are left after the first rounds: fewer in every longer turn, and the finals of the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gemmbench.bench.record import Record
from gemmbench.bench.tuning.screening import FIRST_ROUNDS, Screening
from gemmbench.bench.tuning.standings import FINALISTS, SHARED_FINALISTS, Standing, make_slowness_test
from gemmbench.bench.tuning.task import Key, find_key

_MOST_TURNS = 4
"""Turns of longer rounds. What still ties with the best then is left out of the finals by rank."""


@dataclass
class Contenders:
    """The candidates that are left after the first rounds; if they were `measured` before, nothing is measured here.

    `left` are the best, the fastest first, and `dropped` says why the others went.
    """

    screening: Screening
    measured: bool = False
    left: list[Standing] = field(default_factory=list)
    dropped: dict[Key, str] = field(default_factory=dict)

    def narrow(self) -> None:
        """Drop what is clearly slower, and time the rest in longer rounds, until the finalists are left."""
        screening, batches = self.screening, self.screening.batches
        task, rounds = screening.task, FIRST_ROUNDS
        self.left = screening.list_standings()
        for turn in range(1 + _MOST_TURNS):
            self._drop_slow()
            stops = self.measured or screening.is_over() or batches.runner.is_interrupted()
            if len(self.left) <= FINALISTS or turn == _MOST_TURNS or stops:
                return
            rounds *= 2
            chains = [task.chains[each.key] for each in self.left]
            screening.records += batches.time(chains, task.baseline, rounds)
            screening.report(screening)
            kept = {each.key for each in self.left}
            self.left = [each for each in screening.list_standings() if each.key in kept]

    def _drop_slow(self) -> None:
        if len(self.left) <= FINALISTS:
            return
        is_clearly_slower, best = make_slowness_test(self.left), self.left[0]
        for candidate in self.left[FINALISTS:]:
            if is_clearly_slower(candidate):
                rounds = len(candidate.values)
                slowdown = candidate.slowdown(best)
                self.dropped[candidate.key] = f"{slowdown:.2f}x the time of the best after {rounds} rounds"
        self.left = [each for each in self.left if each.key not in self.dropped]

    def measure_finals(self, slowest: float) -> list[Record]:
        """Verify the best on every awkward problem and measure them in full; if none is right, the next best.

        What stands behind `slowest` is left out.
        """
        screening, batches = self.screening, self.screening.batches
        task, standings = screening.task, screening.list_standings()
        for behind in (each for each in standings if each.mean > slowest):
            self.dropped.setdefault(behind.key, f"not among the {SHARED_FINALISTS} best of all kernels")
        queue = [each.key for each in standings if each.mean <= slowest]
        queue.sort(key=lambda key: key in self.dropped)
        while queue and not batches.runner.is_interrupted():
            keys, queue = queue[:FINALISTS], queue[FINALISTS:]
            finals = self._measure(screening.check_everywhere(keys))
            if any(record.ranked for record in finals if task.owns(record)):
                self._explain_rest(queue)
                return finals
        return []

    def _measure(self, keys: Sequence[Key]) -> list[Record]:
        screening = self.screening
        chains = [screening.task.chains[key] for key in keys]
        records = screening.batches.measure(chains, screening.task.baseline, contest=True) if chains else []
        for record in filter(screening.task.owns, records):
            self.dropped.pop(find_key(record), None)
            if record.status != "ok":
                screening.failed[find_key(record)] = f"{record.status}: {record.reason.partition(chr(10))[0]}"
        return records

    def _explain_rest(self, keys: Sequence[Key]) -> None:
        for key in keys:
            self.dropped.setdefault(key, f"not among the {FINALISTS} best, though not clearly slower than the best")

"""`gemmbench mlp` run: compiles what the rows need, measures them in batches, hands every record on at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gemmbench.backends.base import Compiler
from gemmbench.bench.experiments.batch import Built, batches, named, winners
from gemmbench.bench.experiments.context import SWEEP, Progress, silent
from gemmbench.bench.experiments.rows import RowBatch, asked
from gemmbench.bench.operands.network_parameters import Parameters
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Done, Laboratory, build_all, other_code
from gemmbench.bench.timing import stats
from gemmbench.errors import UsageError
from gemmbench.planning.networks.forward_plans import Forward, distinct_plans
from gemmbench.planning.networks.network import Network
from gemmbench.planning.sweeps.policy import Policy


@dataclass
class MlpRunner:
    """Runs rows through a laboratory.

    `compilers` maps a device to its compiler; `emit` takes each record; `done` holds batches that need
    not be measured again, `earlier` all rows of the run that is resumed.
    """

    laboratory: Laboratory
    compilers: Mapping[str, Compiler]
    network: Network
    given: Parameters
    policy: Policy
    baseline: str
    emit: Callable[[Record], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    done: Done = field(default_factory=dict)
    earlier: Sequence[Record] = ()
    _batches: int = 0

    def run(self, rows: Sequence[Forward]) -> list[Record]:
        """Emit and return one record a row, then the best configurations of what was swept, measured again.

        Raises UsageError where the earlier rows are of another network, or of other code.
        """
        found = [self._emitted(asked(row)) for row in rows if row.reason]
        able = [row for row in rows if not row.reason]
        built: dict[Any, Built] = dict(build_all(distinct_plans(able), self.compilers, self.progress))
        self._refuse_others(able, built)
        found += self._measure(able, built, "sweep")
        return found + self._measure(self._finalists(able, found), built, "final")

    def _emitted(self, record: Record) -> Record:
        self.emit(record)
        return record

    def _measure(self, rows: Sequence[Forward], built: Mapping[Any, Built], phase: str) -> list[Record]:
        found: list[Record] = []
        for group in batches([(row.name, row) for row in rows], self.baseline):
            if self.interrupted():
                break
            self._batches += 1
            self.progress(f"{SWEEP}{self.network}", len(found), len(rows))
            code = tuple(tuple(built[step] for step in row.steps) for row in group)
            policy = self.policy, phase, (self.baseline,)
            batch = RowBatch(self._batches, self.network, self.given, group, code, *policy)
            if self.done and batch.key in self.done:
                found += self.done[batch.key]
            else:
                found += [self._emitted(record) for record in self.laboratory.experiment(batch)]
        return found

    def _refuse_others(self, rows: Sequence[Forward], built: Mapping[Any, Built]) -> None:
        measured = {(record.variant, record.configuration): record for record in self.earlier if record.artifact}
        for row in rows:
            before = measured.get((row.name, str(row.config)))
            if before is None:
                continue
            if before.network and before.network.title != str(self.network):
                raise UsageError(f"{row.name} was measured on {before.network.title}; start a new run without --resume")
            if before.artifact != " ".join(named(built[step]) for step in row.steps):
                raise other_code(row.name)

    def _finalists(self, rows: Sequence[Forward], found: Sequence[Record]) -> list[Forward]:
        medians = {
            (record.variant, record.configuration): stats.summarize(record.by_round).value
            for record in found
            if record.status == "ok" and record.samples
        }
        named = [(row.name, row) for row in rows]
        best = winners(named, lambda row: medians.get((row.name, str(row.config))))
        anchors = [row for row in rows if row.name == self.baseline and row not in best]
        return [*best, *anchors[:1]] if best else []

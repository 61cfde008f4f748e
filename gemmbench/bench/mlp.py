"""The experiment of `gemmbench mlp`: rows that compute one network, verified, then measured together.

The same steps as bench.worker takes with GEMMs: verification on integers and on real data
before any timing, interleaved rounds, all copies of the outputs equal after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from gemmbench.backends.base import Backend, Compiler
from gemmbench.bench import stats
from gemmbench.bench.batch import LARGEST, Built
from gemmbench.bench.parameters import Parameters
from gemmbench.bench.record import NetworkFacts, Record
from gemmbench.bench.rows import RowBench, RowTrial, trial_of
from gemmbench.bench.runner import build_all
from gemmbench.bench.worker import SWEEP, Progress, silent
from gemmbench.spec.forward import Forward, distinct_plans
from gemmbench.spec.network import Network
from gemmbench.spec.sweep import Measuring


@dataclass
class Laboratory:
    """Runs rows on open back ends. `backends` and `compilers` are by device; `emit` takes each record."""

    backends: Mapping[str, Backend]
    compilers: Mapping[str, Compiler]
    network: Network
    given: Parameters
    measuring: Measuring
    baseline: str
    emit: Callable[[Record], None]
    progress: Progress = silent
    interrupted: Callable[[], bool] = lambda: False
    first: bool = True
    _batches: int = 0

    def run(self, rows: Sequence[Forward]) -> list[Record]:
        """Emit and return one record a row, then the best configurations of what was swept, measured again."""
        found = [self._emitted(_skipped(row)) for row in rows if row.reason]
        able = [row for row in rows if not row.reason]
        built: dict[Any, Built] = dict(build_all(distinct_plans(able), self.compilers, self.progress))
        found += self._measure(able, built, "sweep")
        return found + self._measure(self._finalists(able, found), built, "final")

    def _emitted(self, record: Record) -> Record:
        self.emit(record)
        return record

    def _measure(self, rows: Sequence[Forward], built: Mapping[Any, Built], phase: str) -> list[Record]:
        found: list[Record] = []
        for group in _batches(rows, self.baseline):
            if self.interrupted():
                break
            self._batches += 1
            self.progress(f"{SWEEP}{self.network}", len(found), len(rows))
            found += [self._emitted(record) for record in self._experiment(group, built, phase)]
        return found

    def _experiment(self, rows: Sequence[Forward], built: Mapping[Any, Built], phase: str) -> list[Record]:
        trials = [trial_of(row, built) for row in rows]
        sets = {}
        for device in sorted({row.device for row in rows}, key=lambda name: name != "cpu"):
            bench = RowBench(self, device, [trial for trial in trials if trial.row.device == device])
            sets[device] = bench.run()
        done = [trial for trial in trials if trial.measurement.samples or not trial.alive or not self.interrupted()]
        return [self._record(trial, phase, len(rows), *sets[trial.row.device]) for trial in done]

    def _finalists(self, rows: Sequence[Forward], found: Sequence[Record]) -> list[Forward]:
        medians = {
            (record.variant, record.configuration): stats.summarize(record.by_round).value
            for record in found
            if record.status == "ok" and record.samples
        }
        swept: dict[str, list[Forward]] = {}
        for row in rows:
            if (row.name, str(row.config)) in medians:
                swept.setdefault(row.name, []).append(row)
        groups = [group for group in swept.values() if len(group) > 1]
        best = [min(group, key=lambda row: medians[row.name, str(row.config)]) for group in groups]
        anchors = [row for row in rows if row.name == self.baseline and row not in best]
        return [*best, *anchors[:1]] if best else []

    def _record(self, trial: RowTrial, phase: str, rows: int, sets: int, cold: bool) -> Record:
        row, measurement, policy = trial.row, trial.measurement, self.measuring
        build = trial.artifacts[0].build if len(trial.artifacts) == 1 else None
        geometry = row.steps[0].geometry if len(row.steps) == 1 else None
        timed = bool(measurement.samples)
        cache = "hot" if policy.cache == "hot" else "cold" if cold else "partly cold"
        return msgspec.structs.replace(
            _skipped(row),
            status=trial.status,
            reason=trial.reason,
            phase=phase,
            batch=self._batches,
            batch_rows=rows,
            artifact=" ".join(artifact.key for artifact in trial.artifacts),
            grid=list(geometry.grid) if geometry else [],
            block=list(geometry.block) if geometry else [],
            shared_dynamic=geometry.shared if geometry else 0,
            shared_static=build.shared if build else -1,
            registers=build.registers if build else -1,
            spills=build.spills if build else -1,
            compile_seconds=sum(artifact.build.seconds for artifact in trial.artifacts),
            checked=trial.check is not None,
            check_rule=trial.check.rule if trial.check else "",
            error=trial.check.error if trial.check and math.isfinite(trial.check.error) else None,
            samples=list(measurement.samples.values()),
            rounds=list(measurement.samples),
            launches=measurement.launches if timed else 0,
            stopped=measurement.stopped if timed else "",
            clocks_hz=measurement.clocks,
            cache=cache if timed else "",
            sets=sets if timed else 0,
            data="digits" if self.given.digits else policy.data,
            seed=policy.seed,
            gated=policy.gate,
            network=_facts(row, trial.accuracy),
        )


def _batches(rows: Sequence[Forward], baseline: str) -> list[list[Forward]]:
    """At most 16 rows each, the baseline in all."""
    anchor = [row for row in rows if row.name == baseline][:1]
    others = [row for row in rows if row not in anchor]
    room = LARGEST - len(anchor)
    groups = [others[start : start + room] for start in range(0, len(others), room)] or [[]]
    return [[*group, *anchor] for group in groups if group or anchor]


def _facts(row: Forward, accuracy: float | None) -> NetworkFacts:
    network, choice = row.network, row.choice
    return NetworkFacts(
        title=str(network),
        flops=network.flops,
        bytes=network.bytes,
        launches=row.launches,
        label=choice.label,
        published_ms=choice.published_ms,
        accuracy=accuracy,
    )


def _skipped(row: Forward) -> Record:
    problem = row.network.problem
    return Record(
        variant=row.name,
        order=row.order,
        config=dict(row.config.values),
        device=row.device,
        **{name: getattr(problem, name) for name in ("M", "N", "K", "layout", "alpha", "beta")},
        precision=problem.precision_name,
        status="skipped",
        reason=row.reason,
        network=_facts(row, None),
    )

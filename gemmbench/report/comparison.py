"""What a run's samples mean, computed once: rows by problem, each compared with its baseline.

Everything here is derived from stored samples; nothing derived is ever read back.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.planning.problems import Problem
from gemmbench.report.percent_of_baseline import clock_ratio, is_valid_baseline, percent_of_baseline
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.store import Run
from gemmbench.report.transfer_rows import TransferProblem, compare_transfers


@dataclass(frozen=True)
class ProblemRows:
    """The rows of one problem, in ladder order."""

    title: str
    problem: Problem
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """The results of a run, as every output shows them."""

    run: Run
    problems: list[ProblemRows]
    transfers: list[TransferProblem]

    @property
    def environment(self) -> Environment:
        """The header of the run."""
        return self.run.environment

    @property
    def rows(self) -> list[Row]:
        """The rows of all problems, by number."""
        return [row for problem in self.problems for row in problem.rows]


def compare_rows(run: Run) -> Comparison:
    """Derive everything from the samples of a run; call it once, since every interval is computed.

    Problems keep the order of the records; those of a fleet, which come as they are finished, that of the
    batches. A baseline measured in several batches appears once.
    """
    by_problem: dict[Problem, list[Record]] = {}
    for record in sorted(run.full_records, key=lambda record: record.batch if record.card else 0):
        by_problem.setdefault(record.problem, []).append(record)
    numbers = itertools.count(1)
    problems = [
        ProblemRows(_title(records[0]), problem, _number(_compare_problem(run.environment, records), numbers))
        for problem, records in by_problem.items()
    ]
    return Comparison(run, problems, compare_transfers(run))


def _title(record: Record) -> str:
    network = record.network
    return f"{network.title}, {record.problem.precision_name}" if network else record.problem.title


def _number(rows: Iterable[Row], numbers: Iterable[int]) -> list[Row]:
    return [replace(row, number=number) for row, number in zip(rows, numbers, strict=False)]


def _compare_problem(environment: Environment, records: list[Record]) -> list[Row]:
    baselines = {_batch(record): record for record in records if is_valid_baseline(environment, record)}
    again = any(record.phase == "final" and record.variant == environment.baseline for record in records)
    shown = [
        record for record in records if record.variant != environment.baseline or not again or record.phase == "final"
    ]
    distinct = {record.identity: record for record in shown}
    rows = [_compare_record(environment, record, baselines.get(_batch(record))) for record in distinct.values()]
    return sorted(rows, key=_ladder_position)


def _batch(record: Record) -> tuple[int, str]:
    """Rows of one batch share their rounds."""
    return record.batch, record.batch_key


def _ladder_position(row: Row) -> tuple[float, str, bool, float]:
    """Rungs in order; within a rung the final first, then the fastest, then rows without a time."""
    seconds = row.time.value if row.ranked else math.inf
    return row.record.order, row.record.variant, row.record.phase != "final", seconds


def _compare_record(environment: Environment, record: Record, baseline: Record | None) -> Row:
    if not record.samples:
        return Row(environment, record)
    percent = percent_of_baseline(record, baseline) if baseline and record.ranked else UNKNOWN
    clock = clock_ratio(record, baseline) if baseline and baseline is not record else math.nan
    return Row(environment, record, stats.time_interval(record.by_round), percent, clock)

"""Computes what the samples of a run mean: rows grouped by problem, each compared with its baseline."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from statistics import median

from gemmbench.bench.record import MODES, Environment, Record, TransferRecord
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.errors import UsageError, nearest_or_all
from gemmbench.planning.problems import Problem
from gemmbench.planning.sizes import AnyShape
from gemmbench.report.percent_of_baseline import (
    clock_ratio,
    compare_with_best_library,
    is_valid_baseline,
    percent_of_baseline,
)
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.store.recorded_run import Run


@dataclass(frozen=True)
class PartTimes:
    """The median time of each part of a job, in seconds; NaN if unknown."""

    h2d: float = math.nan
    kernel: float = math.nan
    d2h: float = math.nan


@dataclass(frozen=True)
class TransferRow:
    """A transfer record and the figures derived from it. A figure that cannot be computed is NaN.

    `total`, `bound` and `pipeline_bound` are in seconds. `speedup` is relative to the pageable row.
    """

    environment: Environment
    record: TransferRecord
    total: Interval = UNKNOWN
    parts: PartTimes = PartTimes()
    bound: float = math.nan
    pipeline_bound: float = math.nan
    speedup: Interval = UNKNOWN

    @property
    def percent_of_bound(self) -> float:
        """The bound as a percentage of the total. 100 means that the job reaches the bound."""
        return 100 * self.bound / self.total.value

    @property
    def percent_of_pipeline_bound(self) -> float:
        """The pipeline's bound as a percentage of the total."""
        return 100 * self.pipeline_bound / self.total.value


@dataclass(frozen=True)
class TransferProblem:
    """The rows of one problem: kernels in ladder order, each with its modes in order."""

    problem: Problem
    kernels: list[list[TransferRow]]

    @property
    def title(self) -> str:
        """`Transfers: M = 1024, N = 1024, K = 768, nn, f32`."""
        return f"Transfers: {self.problem.title}"

    @property
    def rows(self) -> list[TransferRow]:
        """The rows of all kernels."""
        return [row for rows in self.kernels for row in rows]


def _compare_transfers(run: Run) -> list[TransferProblem]:
    """Group the rows by problem, in the order of the records.

    If a job was measured again, only its last record counts.
    """
    problems: dict[Problem, dict[tuple[object, ...], list[TransferRecord]]] = {}
    latest = {(record.kernel_key, record.mode): record for record in run.transfers}
    for record in latest.values():
        problems.setdefault(record.problem, {}).setdefault(record.kernel_key, []).append(record)
    return [
        TransferProblem(problem, _compare_kernels(run.environment, list(kernels.values())))
        for problem, kernels in problems.items()
    ]


def _compare_kernels(environment: Environment, kernels: list[list[TransferRecord]]) -> list[list[TransferRow]]:
    ladder = sorted(kernels, key=lambda records: (records[0].order, records[0].variant))
    return [_compare_modes(environment, records) for records in ladder]


def _compare_modes(environment: Environment, records: Sequence[TransferRecord]) -> list[TransferRow]:
    right = {record.mode: record for record in records if record.status == "ok" and record.samples}
    pinned = _median_parts(right["pinned"]) if "pinned" in right else PartTimes()
    panels = _median_parts(right["panels"]) if "panels" in right else pinned
    overlapping = replace(pinned, kernel=min(pinned.kernel, panels.kernel))
    ordered = sorted(records, key=lambda record: MODES.index(record.mode))
    return [_compare_transfer(environment, record, pinned, overlapping, right.get("pageable")) for record in ordered]


def _compare_transfer(
    environment: Environment,
    record: TransferRecord,
    pinned: PartTimes,
    overlapping: PartTimes,
    pageable: TransferRecord | None,
) -> TransferRow:
    if record.status != "ok" or not record.samples:
        return TransferRow(environment, record)
    total = stats.time_interval(record.by_round)
    speedup = stats.speed_ratio(record.by_round, pageable.by_round) if pageable else UNKNOWN
    if record is pageable:
        speedup = Interval(1.0)
    within = pipeline_bound(record, overlapping) if record.mode == "overlapped" else math.nan
    return TransferRow(environment, record, total, _median_parts(record), bound(record, pinned), within, speedup)


def _median_parts(record: TransferRecord) -> PartTimes:
    parts = (record.h2d, record.kernel, record.d2h)
    return PartTimes(*(median(seconds) if seconds else math.nan for seconds in parts))


def bound(record: TransferRecord, pinned: PartTimes) -> float:
    """Return how many seconds the longest part takes, which is the bound if all parts run at the same time."""
    copies = (pinned.h2d, pinned.d2h) if record.copy_engines > 1 else (pinned.h2d + pinned.d2h,)
    return max(pinned.kernel, *copies)


def pipeline_bound(record: TransferRecord, parts: PartTimes) -> float:
    """Return the fewest seconds in which a pipeline can finish if B is copied first and all `panels` are equal."""
    b = parts.h2d * record.b_bytes / record.h2d_bytes
    a, k, c, panels = parts.h2d - b, parts.kernel, parts.d2h, record.panels
    through = a / panels + k + c / panels
    if record.copy_engines > 1:
        return b + max(a + (k + c) / panels, through, (a + k) / panels + c)
    return b + max(a + c, through)


@dataclass(frozen=True)
class ProblemRows:
    """The rows of one problem, in ladder order."""

    title: str
    problem: Problem
    rows: list[Row]


@dataclass(frozen=True)
class Comparison:
    """The results of a run in the form that every output shows."""

    run: Run
    problems: list[ProblemRows]
    transfers: list[TransferProblem]

    @property
    def environment(self) -> Environment:
        """The header of the run."""
        return self.run.environment

    @property
    def rows(self) -> list[Row]:
        """The rows of all problems, sorted by number."""
        return [row for problem in self.problems for row in problem.rows]


def name_problems(problems: Sequence[ProblemRows]) -> dict[Problem, str]:
    """Return a name for each problem: its size, with layout and precision if needed, or the batch of a network."""
    sizes = Counter(problem.problem.size for problem in problems)

    def name(problem: ProblemRows) -> str:
        if problem.rows[0].record.network:
            return f"batch {problem.problem.M}"
        return problem.problem.size if sizes[problem.problem.size] == 1 else str(problem.problem)

    return {problem.problem: name(problem) for problem in problems}


_HELD, _SHOW = "the results contain:", "gemmbench show"


@dataclass(frozen=True)
class RowFilter:
    """Selects the rows of a run to show. An empty field selects all. `variants` may hold patterns such as `sgemm*`.

    A size is a shape, or text that tables show, such as `8 groups of 1-15x16x16`.
    """

    sizes: tuple[AnyShape | str, ...] = ()
    precisions: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    def choose(self, comparison: Comparison) -> Comparison:
        """Select rows without changing their figures, which come from the whole run. Raises UsageError."""
        if self == RowFilter():
            return comparison
        problems = [
            replace(each, rows=[row for row in each.rows if self._is_named(row.record.variant)])
            for each in comparison.problems
            if self._includes(each.problem)
        ]
        transfers = [
            TransferProblem(each.problem, [rows for rows in each.kernels if self._is_named(rows[0].record.variant)])
            for each in comparison.transfers
            if self._includes(each.problem)
        ]
        left = [each for each in problems if each.rows]
        self._check(comparison, [row.record.variant for each in comparison.problems for row in each.rows])
        if not left:
            held = nearest_or_all("", (str(each.problem) for each in comparison.problems), _HELD, _SHOW)
            raise UsageError(f"no row is selected{held}")
        return replace(comparison, problems=left, transfers=[each for each in transfers if each.kernels])

    def includes(self, record: Record) -> bool:
        """Whether a record is selected."""
        return self._includes(record.problem) and self._is_named(record.variant)

    def _includes(self, problem: Problem) -> bool:
        return (
            (not self.sizes or problem.shape in self.sizes or problem.size in self.sizes)
            and (not self.precisions or problem.precision_name in self.precisions)
            and (not self.layouts or problem.layout in self.layouts)
        )

    def _is_named(self, variant: str) -> bool:
        return not self.variants or any(fnmatchcase(variant, each) for each in self.variants)

    def _check(self, comparison: Comparison, names: Sequence[str]) -> None:
        """Raise UsageError if a given name or size matches no row."""
        for asked in self.variants:
            if not any(fnmatchcase(name, asked) for name in names):
                raise UsageError(f"no row of '{asked}'{nearest_or_all(asked, names, _HELD, _SHOW)}")
        known = {each.problem.shape: each.problem.size for each in comparison.problems}
        for size in self.sizes:
            if size not in (*known, *known.values()):
                shown = size if isinstance(size, str) else size.size
                raise UsageError(f"no row of size {shown}{nearest_or_all('', known.values(), _HELD, _SHOW)}")


def compare_rows(run: Run) -> Comparison:
    """Compute the results of a run from its samples. Call this only once, since it computes every interval.

    Problems keep the order of the records. The records of a fleet are sorted by batch first, because batches finish in
    any order. A baseline that was measured in several batches appears once.
    """
    by_problem: dict[Problem, list[Record]] = {}
    for record in sorted(run.full_records, key=lambda record: record.batch if record.card else 0):
        by_problem.setdefault(record.problem, []).append(record)
    numbers = itertools.count(1)
    problems = [
        ProblemRows(_title(records[0]), problem, _number(_compare_problem(run.environment, records), numbers))
        for problem, records in by_problem.items()
    ]
    return Comparison(run, problems, _compare_transfers(run))


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
    return sorted(compare_with_best_library(rows), key=_ladder_position)


def _batch(record: Record) -> tuple[int, str]:
    """Return a key that is the same for rows that share their rounds."""
    return record.batch, record.batch_key


def _ladder_position(row: Row) -> tuple[float, str, bool, float]:
    """Return a sort key: by rung, then the re-measured final rows, then by speed, with untimed rows last."""
    seconds = row.time.value if row.ranked else math.inf
    return row.record.order, row.record.variant, row.record.phase != "final", seconds


def _compare_record(environment: Environment, record: Record, baseline: Record | None) -> Row:
    if not record.samples:
        return Row(environment, record)
    percent = percent_of_baseline(record, baseline) if baseline and record.ranked else UNKNOWN
    clock = clock_ratio(record, baseline) if baseline and baseline is not record else math.nan
    return Row(environment, record, stats.time_interval(record.by_round), percent, clock)

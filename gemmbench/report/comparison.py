"""What the samples mean: GFLOPS, percent of the baseline, percent of peak.

Everything here is derived from stored samples; nothing derived is ever read back.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass, replace

from gemmbench.bench.record import Environment, Record
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.problems.problem import Problem
from gemmbench.report import beside
from gemmbench.report.roofline import peak, too_good
from gemmbench.report.store import Run

_NONE = Interval(math.nan)


@dataclass(frozen=True)
class Row:
    """One record with what follows from it; a number that does not exist is NaN.

    `time` is seconds a launch, `percent` the speed in percent of the baseline's,
    `peak` percent of the device's peak at the clock seen. `number` counts the rows of a run from 1.
    """

    record: Record
    time: Interval = _NONE
    gflops: float = math.nan
    percent: Interval = _NONE
    peak: float = math.nan
    clock_hz: float = math.nan
    too_good: bool = False
    number: int = 0

    @property
    def ranked(self) -> bool:
        """Right, timed, and possible."""
        return self.record.status == "ok" and bool(self.record.samples) and not self.too_good

    @property
    def status(self) -> str:
        """The record's status, or `too good` for a time below the device's floor."""
        return "too good" if self.too_good else self.record.status


@dataclass(frozen=True)
class Group:
    """The rows of one problem, in ladder order."""

    title: str
    rows: list[Row]


def groups(run: Run) -> list[Group]:
    """Rows by problem, in the order they were asked for; a baseline measured in several batches stands once."""
    by_problem: dict[Problem, list[Record]] = {}
    for record in run.records:
        by_problem.setdefault(record.problem, []).append(record)
    count = itertools.count(1)
    return [
        Group(_title(records[0]), [replace(row, number=next(count)) for row in _rows(run.environment, records)])
        for records in by_problem.values()
    ]


def _title(record: Record) -> str:
    if record.network:
        return f"{record.network.title}, {record.problem.precision_name}"
    return record.problem.title


def _rows(environment: Environment, records: list[Record]) -> list[Row]:
    bases = {
        (record.batch, record.batch_key): record
        for record in records
        if record.variant == environment.baseline and record.status == "ok" and _possible(environment, record)
    }
    again = any(record.phase == "final" and record.variant == environment.baseline for record in records)
    shown = [
        record for record in records if record.variant != environment.baseline or not again or record.phase == "final"
    ]
    distinct = {record.identity: record for record in shown}
    rows = [_row(environment, record, bases.get((record.batch, record.batch_key))) for record in distinct.values()]
    return sorted(rows, key=_ladder)


def _possible(environment: Environment, record: Record) -> bool:
    """The record has a time, and the device can reach it."""
    samples = record.samples
    return bool(samples) and not too_good(environment, record, stats.median(samples))


def _ladder(row: Row) -> tuple[float, str, bool, float]:
    """Rungs in order; within a rung finals first, then the fastest, then rows without a time."""
    seconds = row.time.value if row.ranked else math.inf
    return row.record.order, row.record.variant, row.record.phase != "final", seconds


def _row(environment: Environment, record: Record, base: Record | None) -> Row:
    if not record.samples:
        return Row(record)
    time = stats.summarize(record.by_round)
    gflops = record.flops / time.value / 1e9
    percent = _percent(record, base) if base else _NONE
    clock = stats.median(record.clocks_hz)
    of_peak = 100 * gflops * 1e9 / peak(environment, record, clock)
    return Row(record, time, gflops, percent, of_peak, clock, too_good(environment, record, time.value))


def _percent(record: Record, base: Record) -> Interval:
    if record is base:
        return Interval(100.0)
    ratio = stats.speed_ratio(record.by_round, base.by_round)
    if base.backend != record.backend:
        return Interval(100 * ratio.value)  # not measured in the same rounds
    return Interval(100 * ratio.value, 100 * ratio.low, 100 * ratio.high)


COLUMNS = {
    "run": "id of the run, as in the file's name",
    "device_name": "the device the row ran on",
    "device": "its back end: cuda or cpu",
    "variant": "name of the kernel or library",
    "config": "its parameters",
    "M": "rows of C",
    "N": "columns of C",
    "K": "the dimension summed over",
    "layout": "nn, nt, tn or tt: A, then B, stored as used (n) or transposed (t)",
    "precision": "f32, tf32, f64, f16 or bf16",
    "alpha": "C = alpha A B + beta C",
    "beta": "0: C is not read",
    "phase": "sweep, or final: the best configuration of a sweep, measured again on fresh rounds",
    "status": "ok, wrong, skipped, failed, timeout, out of memory, too good",
    "time_s": "seconds a launch: median over the rounds",
    "time_low_s": "lower end of its 95 % interval",
    "time_high_s": "upper end",
    "time_min_s": "fastest round",
    "time_q1_s": "lower quartile",
    "time_q3_s": "upper quartile",
    "rounds": "samples taken",
    "outliers": "samples outside Tukey's fences; none is dropped",
    "launches": "launches in one window",
    "gflops": "2 M N K / time_s / 1e9",
    "baseline": "the variant that is 100 %",
    "percent_of_baseline": "speed in percent of the baseline's, paired by rounds",
    "percent_low": "lower end of its 95 % interval",
    "percent_high": "upper end",
    "percent_of_peak": "of the device's arithmetic peak at the clock seen",
    "error_units": "largest error in units of u (|alpha| |A| |B| + |beta| |C0|)",
    "clock_hz": "SM clock seen in the windows, median",
    "cache": "cold, partly cold or hot",
    "sets": "operand sets in turn",
    "data": "what A and B hold",
    "seed": "its seed",
    "stopped": "why it has no more rounds: until (narrow enough), rounds, max-time, interrupted, failed",
    "grid": "blocks in x, y, z",
    "block": "threads of a block in x, y, z",
    "registers": "registers a thread; -1: unknown",
    "spills": "spilled bytes, stores plus loads; -1: unknown",
    "shared_static": "static shared bytes a block; -1: unknown",
    "shared_dynamic": "dynamic shared bytes a block",
    "reason": "why a row is not ok",
    "network": "layer sizes, activations and batch, of a row of gemmbench mlp",
    "launched": "what one forward pass launches, in order",
    "accuracy": "share of test digits that it reads right",
    "diagnosis": "of a wrong row, the likely cause in a few words",
    **beside.COLUMNS,
    "path": "the kernel's file; after @ the commit, where it is that of a revision",
}
"""The columns of the CSV and JSON exports, in order, and what they mean; columns are only ever added at the end."""


def flat(run: Run) -> list[dict[str, object]]:
    """Every row as plain columns, those of COLUMNS. Seconds, bytes, Hz; None where unknown."""
    return [_flat(run.environment, row) for group in groups(run) for row in group.rows]


def _flat(environment: Environment, row: Row) -> dict[str, object]:
    record = row.record
    here = record.backend == environment.backend
    derived = {
        **problem_cells(record.problem),
        "run": environment.run,
        "device": record.backend,
        "device_name": environment.device if here else environment.host or "cpu",
        "config": record.configuration,
        "status": row.status,
        "baseline": environment.baseline,
        "gflops": row.gflops,
        "percent_of_peak": row.peak,
        "error_units": record.error,
        "clock_hz": row.clock_hz,
        "grid": "x".join(map(str, record.grid)),
        "block": "x".join(map(str, record.block)),
        "network": record.network.title if record.network else None,
        "launched": ", ".join(record.network.launches) if record.network else None,
        "accuracy": record.network.accuracy if record.network else None,
        **_times(row),
        **asdict(beside.beside(environment, row)),
    }
    values = {name: derived[name] if name in derived else getattr(record, name) for name in COLUMNS}
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def problem_cells(problem: Problem) -> dict[str, object]:
    """The columns that say which problem a row answers."""
    cells = {name: getattr(problem, name) for name in ("M", "N", "K", "layout", "alpha", "beta")}
    return {**cells, "precision": problem.precision_name}


def _times(row: Row) -> dict[str, object]:
    samples = row.record.samples
    least, low, high = stats.quartiles(samples) if samples else (math.nan,) * 3
    return {
        "time_s": row.time.value,
        "time_low_s": row.time.low,
        "time_high_s": row.time.high,
        "time_min_s": least,
        "time_q1_s": low,
        "time_q3_s": high,
        "rounds": len(samples),
        "outliers": stats.outliers(samples) if samples else 0,
        "percent_of_baseline": row.percent.value,
        "percent_low": row.percent.low,
        "percent_high": row.percent.high,
    }

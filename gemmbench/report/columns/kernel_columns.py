"""The columns of every kernel row: status, times, speeds, and how they were measured."""

from __future__ import annotations

import math

from gemmbench.bench.timing import stats
from gemmbench.report.columns.column import IDENTITY, Column, pick_columns
from gemmbench.report.row import Row
from gemmbench.report.text import number, number_within, with_interval


def show_if_valid(row: Row, cell: str) -> str:
    """Return the cell, or `-` for a wrong kernel, whose speed means nothing."""
    return cell if row.valid else "-"


def is_final(row: Row) -> bool:
    """Return whether a row is the best configuration of a kernel, measured again."""
    return row.record.phase == "final" and bool(row.record.config)


def _configuration(row: Row) -> str:
    return row.record.configuration or "-"


def _configuration_and_phase(row: Row) -> str:
    return _configuration(row) + (" (measured again)" if is_final(row) else "")


def _status(row: Row) -> str:
    elsewhere = row.record.backend != row.environment.backend
    return f"{row.status}, {row.record.backend}" if elsewhere and row.record.status != "skipped" else row.status


def _quartiles(row: Row) -> tuple[float, float, float]:
    return stats.quartiles(row.record.samples) if row.record.samples else (math.nan,) * 3


def _dimensions(sizes: list[int]) -> str:
    return "x".join(map(str, sizes))


_RESULT: tuple[Column[Row], ...] = (
    Column(
        "phase",
        "sweep; or final: the best configuration of a sweep and the baseline, measured again in fresh rounds",
        lambda row: row.record.phase,
    ),
    Column(
        "status",
        "ok; wrong; skipped (cannot run here); failed (does not compile, crashes or reports an error); timeout; out of "
        "memory; too good (faster than possible); unranked (of a weaker class, or with --pdl)",
        lambda row: row.status,
        "status",
        _status,
        left=True,
    ),
)
_TIMES: tuple[Column[Row], ...] = (
    Column(
        "time_s",
        "seconds per launch: geometric mean of the blocks, each of which is the median of its mirrored pairs of rounds",
        lambda row: row.time.value,
        "time (ms)",
        lambda row: show_if_valid(row, with_interval(row.time.scale(1e3))),
    ),
    Column("time_low_s", "lower end of its 95 % interval", lambda row: row.time.low),
    Column("time_high_s", "upper end", lambda row: row.time.high),
    Column("time_min_s", "fastest round", lambda row: _quartiles(row)[0]),
    Column("time_q1_s", "lower quartile", lambda row: _quartiles(row)[1]),
    Column("time_q3_s", "upper quartile", lambda row: _quartiles(row)[2]),
    Column("rounds", "number of samples", lambda row: len(row.record.samples)),
    Column(
        "outliers",
        "samples outside Tukey's fences; none is dropped",
        lambda row: stats.count_outliers(row.record.samples) if row.record.samples else 0,
    ),
    Column("launches", "launches in one window", lambda row: row.record.launches),
)
ALONE: Column[Row] = Column(
    "alone_s",
    "seconds of one product alone on a cold cache, including launch and end: median",
    lambda row: stats.median(row.record.alone),
    "alone (us)",
    lambda row: show_if_valid(row, number(1e6 * stats.median(row.record.alone), 4)) if row.record.alone else "-",
    hide=3,
)
_SPEEDS: tuple[Column[Row], ...] = (
    Column(
        "gflops",
        "2 M N K, summed over all products, / time_s / 1e9",
        lambda row: row.gflops,
        "GFLOPS",
        lambda row: show_if_valid(row, number_within(row.gflops, row.time, 4)),
        hide=6,
    ),
    Column("baseline", "variant that is 100 %", lambda row: row.environment.baseline),
    Column(
        "percent_of_baseline",
        "speed in percent of the baseline's, paired by rounds",
        lambda row: row.percent_of_baseline.value,
        "% of {baseline}",
        lambda row: show_if_valid(row, with_interval(row.percent_of_baseline)),
    ),
    Column("percent_low", "lower end of its 95 % interval", lambda row: row.percent_of_baseline.low),
    Column("percent_high", "upper end", lambda row: row.percent_of_baseline.high),
    Column(
        "percent_of_peak",
        "percent of the device's arithmetic peak at the measured clock",
        lambda row: row.percent_of_peak,
        "% of peak",
        lambda row: show_if_valid(row, number_within(row.percent_of_peak, row.time, 4)),
        hide=2,
    ),
    Column(
        "error_units",
        "largest error in units of u (|alpha| |A| |B| + |beta| |C0|), where u is the unit roundoff of the sums; up to "
        "16 are accepted",
        lambda row: row.record.error,
        "error (max. 16)",
        lambda row: number(row.record.error, 3) if row.record.checked else "-",
        hide=1,
    ),
)
BEST: tuple[Column[Row], ...] = (
    Column(
        "percent_of_best_library",
        "speed in percent of the best of cublas (also of its call for groups) and cublaslt, each in its best math",
        lambda row: row.percent_of_best.value,
        "% of best library",
        lambda row: show_if_valid(row, with_interval(row.percent_of_best)),
        hide=5,
    ),
    Column("best_low", "lower end of its 95 % interval", lambda row: row.percent_of_best.low),
    Column("best_high", "upper end", lambda row: row.percent_of_best.high),
)
_METHOD: tuple[Column[Row], ...] = (
    Column("clock_hz", "SM clock measured in the windows, median", lambda row: row.clock_hz),
    Column("cache", "cold, partly cold or hot", lambda row: row.record.cache),
    Column("sets", "number of operand sets used in rotation", lambda row: row.record.sets),
    Column("data", "contents of A and B", lambda row: row.record.data),
    Column("seed", "seed of the data", lambda row: row.record.seed),
    Column(
        "stopped",
        "why measuring ended: until (narrow enough), beaten (in a search), rounds, max-time, interrupted, failed",
        lambda row: row.record.stopped,
    ),
)
_BUILD: tuple[Column[Row], ...] = (
    Column("grid", "blocks in x, y and z, such as 8x8x1", lambda row: _dimensions(row.record.grid)),
    Column("block", "threads per block in x, y and z", lambda row: _dimensions(row.record.block)),
    Column("registers", "registers per thread; -1: unknown", lambda row: row.record.registers),
    Column("spills", "spilled bytes, stores plus loads; -1: unknown", lambda row: row.record.spills),
    Column("shared_static", "static shared bytes per block; -1: unknown", lambda row: row.record.shared_static),
    Column("shared_dynamic", "dynamic shared bytes per block", lambda row: row.record.shared_dynamic),
    Column("reason", "why the status is not ok", lambda row: row.record.reason),
)
CONFIGURATION: Column[Row] = Column(heading="configuration", cell=_configuration, fold=True)
"""The column for rows that were all measured again."""
_CONFIGURATION: Column[Row] = Column(heading="configuration", cell=_configuration_and_phase, fold=True)

COLUMNS: tuple[Column[Row], ...] = (*IDENTITY, *_RESULT, *_TIMES, *_SPEEDS, *_METHOD, *_BUILD)
"""The first columns of the exports."""

TABLE = pick_columns(
    (*COLUMNS, ALONE, *BEST, _CONFIGURATION),
    "kernel",
    "configuration",
    "time (ms)",
    "alone (us)",
    "GFLOPS",
    "% of {baseline}",
    "% of best library",
    "% of peak",
    "error (max. 16)",
    "status",
)
"""The columns of a table of GEMMs."""

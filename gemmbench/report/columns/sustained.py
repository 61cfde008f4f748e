"""Columns on steady loads: speed, power, clock and energy of a kernel that runs alone, next to the burst figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter

from gemmbench.bench.record import Sustained
from gemmbench.report.columns.column import Column
from gemmbench.report.columns.gemm import show_if_valid
from gemmbench.report.row import Row
from gemmbench.report.text import number


def _read(name: str) -> Callable[[Row], float]:
    """A number of the steady load; NaN if there was none."""
    read = attrgetter(name)

    def value(row: Row) -> float:
        return float(read(row.record.sustained)) if row.record.sustained else math.nan

    return value


def _joules(row: Row) -> float | None:
    """Per launch; older files have it in the telemetry."""
    telemetry = row.record.telemetry
    if row.record.sustained:
        return row.record.sustained.joules
    return telemetry.energy if telemetry else None


def _gflops_per_watt(row: Row) -> float | None:
    joules = _joules(row)
    return row.record.flops / joules / 1e9 if joules else None


def _describe(row: Row, describe: Callable[[Sustained], object]) -> object:
    return describe(row.record.sustained) if row.record.sustained else None


COLUMNS: tuple[Column[Row], ...] = (
    Column("sustained_time_s", "seconds per launch under a steady load (--sustained)", _read("time")),
    Column(
        "sustained_gflops",
        "2 M N K / sustained_time_s / 1e9; tables have TFLOPS",
        lambda row: row.sustained_gflops,
        "sustained TFLOPS",
        lambda row: show_if_valid(row, number(row.sustained_gflops / 1e3)),
        hide=10,
    ),
    Column(
        "sustained_percent_of_baseline",
        "speed in percent of the baseline's, both alone under a steady load",
        lambda row: row.sustained_percent,
        "sustained % of {baseline}",
        lambda row: show_if_valid(row, number(row.sustained_percent)),
        hide=11,
    ),
    Column(
        "sustained_clock_hz",
        "mean SM clock under the steady load",
        _read("clock_hz"),
        "sustained GHz",
        lambda row: number(_read("clock_hz")(row) * 1e-9),
        hide=8,
    ),
    Column(
        "sustained_w",
        "watts under the steady load, from one tick of the energy counter to another",
        _read("watts"),
        "sustained W",
        lambda row: number(_read("watts")(row), 3),
        hide=9,
    ),
    Column("sustained_seconds", "seconds of the steady load that count", _read("seconds")),
    Column(
        "sustained_temperature_c",
        "highest temperature under the steady load, in degrees Celsius",
        lambda row: _describe(row, lambda load: load.temperature),
    ),
    Column(
        "sustained_slowed_by",
        "what held the clock down under the steady load, by NVML",
        lambda row: _describe(row, lambda load: ", ".join(load.slowed_by)),
    ),
    Column(
        "sustained_settled",
        "whether clock, power and temperature were steady whenever counting began",
        lambda row: _describe(row, lambda load: load.settled),
    ),
)
"""The columns of the exports; those with a heading are in tables."""

ENERGY: tuple[Column[Row], ...] = (
    Column(
        "energy_j",
        "joules per launch, under a steady load",
        _joules,
        "J",
        lambda row: number(_joules(row)),
        hide=7,
    ),
    Column(
        "gflops_per_w",
        "operations per joule, in 1e9: GFLOPS per watt",
        _gflops_per_watt,
        "GFLOPS/W",
        lambda row: number(_gflops_per_watt(row)),
    ),
)
"""Energy, which older files have too."""

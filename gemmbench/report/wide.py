"""The columns that --wide adds to a table: those that say something of at least one of its rows."""

from __future__ import annotations

from collections.abc import Sequence

from gemmbench.bench.record import Environment, Record
from gemmbench.report.beside import Beside, beside
from gemmbench.report.comparison import Row
from gemmbench.report.tables import Column, number


def columns(environment: Environment, rows: Sequence[Row]) -> list[Column]:
    """The number of each row, its build and launch, its bounds, what the device said, its energy."""
    known = {row.number: beside(environment, row) for row in rows}

    def of(row: Row) -> Beside:
        return known[row.number]

    wanted: list[Column] = [
        ("row", lambda row: str(row.number)),
        ("registers", lambda row: _count(row.record.registers)),
        ("spilled (B)", lambda row: _count(row.record.spills)),
        ("shared (B)", lambda row: _count(_shared(row.record))),
        ("occupancy", lambda row: _occupancy(of(row))),
        ("blocks", lambda row: _count(of(row).blocks)),
        ("waves", lambda row: number(of(row).waves)),
        ("last wave", lambda row: percent(of(row).last_wave)),
        ("moved (MB)", lambda row: number(of(row).bytes_least * 1e-6)),
        ("FLOP/B", lambda row: number(of(row).flop_per_byte)),
        ("% of bound", lambda row: _bound(of(row))),
        ("clock (GHz)", lambda row: number(row.clock_hz * 1e-9)),
        ("deg C", lambda row: number(of(row).temperature_c)),
        ("W", lambda row: number(of(row).power_w)),
        ("J", lambda row: number(of(row).energy_j)),
        ("GFLOPS/W", lambda row: number(of(row).gflops_per_w)),
    ]
    return [(name, show) for name, show in wanted if any(show(row) != "-" for row in rows)]


def percent(share: float | None) -> str:
    """`75 %`, or `-`."""
    return "-" if share is None else f"{100 * share:.0f} %"


def _occupancy(facts: Beside) -> str:
    return "-" if facts.occupancy is None else f"{percent(facts.occupancy)} ({facts.occupancy_limit})"


def _bound(facts: Beside) -> str:
    return f"{number(facts.percent_of_bound)} ({facts.bound})" if facts.bound else "-"


def _shared(record: Record) -> int:
    """Static and dynamic bytes of a block, -1 if unknown."""
    return record.shared_static + record.shared_dynamic if record.shared_static >= 0 and record.grid else -1


def _count(value: int | None) -> str:
    return "-" if value is None or value < 0 else str(value)

"""What stands beside the speed of a row: launch, bounds, what the device said, energy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gemmbench.bench.record import Environment, Telemetry
from gemmbench.report.flags import letters
from gemmbench.report.occupation import occupation
from gemmbench.report.roofline import roofline

if TYPE_CHECKING:
    from gemmbench.report.comparison import Row

COLUMNS = {
    "flags": "letters that ask for a second look; the README lists them",
    "blocks": "blocks of the grid",
    "blocks_per_sm": "blocks a multiprocessor holds at once, in theory",
    "occupancy": "warps it then holds, as a share of the most it can",
    "occupancy_limit": "what allows no more: warps, registers, shared memory or blocks",
    "waves": "blocks in full loads of the device",
    "last_wave": "share of the last wave that is filled",
    "bytes_least": "bytes a launch must move at the least",
    "flop_per_byte": "arithmetic intensity: operations for each of these bytes",
    "bound": "compute or memory: which takes longer at the least, at the clock seen; memory only for cold rows",
    "percent_of_bound": "that least time in percent of time_s",
    "clock_low_hz": "lowest SM clock seen in a window",
    "clock_high_hz": "highest",
    "memory_clock_hz": "memory clock by NVML, the highest seen",
    "temperature_c": "highest temperature of the GPU while the row was measured, in degrees Celsius",
    "power_w": "power in the row's own windows if they are long enough, else under the load of --energy, in watts",
    "slowed_by": "what held the clock down, by NVML",
    "other_processes": "processes of others on the GPU",
    "energy_j": "joules a launch, with --energy",
    "gflops_per_w": "operations for each joule, in 1e9: GFLOPS per watt",
}
"""The columns of the exports that `report.comparison.COLUMNS` ends with."""


@dataclass(frozen=True)
class Beside:
    """One row's values of COLUMNS, in their order; NaN or None where unknown."""

    flags: str
    blocks: int | None
    blocks_per_sm: int | None
    occupancy: float | None
    occupancy_limit: str | None
    waves: float | None
    last_wave: float | None
    bytes_least: int
    flop_per_byte: float
    bound: str
    percent_of_bound: float
    clock_low_hz: float | None
    clock_high_hz: float | None
    memory_clock_hz: float | None
    temperature_c: float | None
    power_w: float | None
    slowed_by: str
    other_processes: int | None
    energy_j: float | None
    gflops_per_w: float | None


def beside(environment: Environment, row: Row) -> Beside:
    """What stands beside the speed of a row."""
    record, telemetry, filled = row.record, row.record.telemetry or Telemetry(), occupation(environment, row.record)
    roof = roofline(environment, record, row.time.value, row.clock_hz)
    return Beside(
        flags=letters(row),
        blocks=math.prod(record.grid) if record.grid else None,
        blocks_per_sm=filled.occupancy.blocks_per_sm if filled else None,
        occupancy=filled.occupancy.fraction if filled else None,
        occupancy_limit=filled.occupancy.limiter if filled else None,
        waves=filled.waves if filled else None,
        last_wave=filled.last_wave if filled else None,
        bytes_least=roof.bytes,
        flop_per_byte=roof.intensity,
        bound=roof.bound,
        percent_of_bound=roof.percent,
        clock_low_hz=min(record.clocks_hz, default=None),
        clock_high_hz=max(record.clocks_hz, default=None),
        memory_clock_hz=telemetry.memory_clock_hz,
        temperature_c=telemetry.temperature,
        power_w=telemetry.energy_power if telemetry.power is None else telemetry.power,
        slowed_by=", ".join(telemetry.slowed_by),
        other_processes=telemetry.other_processes,
        energy_j=telemetry.energy,
        gflops_per_w=record.flops / telemetry.energy / 1e9 if telemetry.energy else None,
    )

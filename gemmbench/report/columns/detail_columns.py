"""Columns on launches, bounds, telemetry and steady loads, which tables show with --wide."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import attrgetter

from gemmbench.bench.record import Sustained, Telemetry
from gemmbench.bench.timing import stats
from gemmbench.report.columns.column import AnyRow, Column
from gemmbench.report.columns.kernel_columns import show_if_valid
from gemmbench.report.flags import flag_letters
from gemmbench.report.row import Row
from gemmbench.report.text import number, percent


def _read(name: str) -> Callable[[Row], float]:
    """Return a number of the steady load; NaN if there was none."""
    read = attrgetter(name)

    def value(row: Row) -> float:
        return float(read(row.record.sustained)) if row.record.sustained else math.nan

    return value


def _joules(row: Row) -> float | None:
    """Return the joules per launch."""
    return row.record.sustained.joules if row.record.sustained else None


def _gflops_per_watt(row: Row) -> float | None:
    joules = _joules(row)
    return row.record.flops / joules / 1e9 if joules else None


def _describe(row: Row, describe: Callable[[Sustained], object]) -> object:
    return describe(row.record.sustained) if row.record.sustained else None


def _format_load(row: Row, value: float) -> str:
    """Format a value such as `113.8`, or `114 (unsettled)` if the device was not steady when counting began."""
    load = row.record.sustained
    settled = load is None or load.settled or math.isnan(value)
    return show_if_valid(row, number(value) if settled else f"{number(value, 3)} (unsettled)")


SUSTAINED_COLUMNS: tuple[Column[Row], ...] = (
    Column("sustained_time_s", "seconds per launch under a steady load (--sustained)", _read("time")),
    Column(
        "sustained_gflops",
        "2 M N K, summed over all products, / sustained_time_s / 1e9; tables have TFLOPS",
        lambda row: row.sustained_gflops,
        "sustained TFLOPS",
        lambda row: _format_load(row, row.sustained_gflops / 1e3),
        hide=10,
    ),
    Column(
        "sustained_percent_of_baseline",
        "speed in percent of the baseline's, each alone under a steady load",
        lambda row: row.sustained_percent,
        "sustained % of {baseline}",
        lambda row: _format_load(row, row.sustained_percent),
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
        "what held the clock down under the steady load, according to NVML",
        lambda row: _describe(row, lambda load: ", ".join(load.slowed_by)),
    ),
    Column(
        "sustained_settled",
        "whether clock, power and temperature were already steady when counting began",
        lambda row: _describe(row, lambda load: load.settled),
    ),
)
"""The columns of the exports. Those with a heading also appear in tables."""

_ENERGY: tuple[Column[Row], ...] = (
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
"""Speed and energy under a steady load."""


_NO_TELEMETRY = Telemetry()


def _telemetry(row: Row) -> Telemetry:
    return row.record.telemetry or _NO_TELEMETRY


def _power_limit(row: Row) -> float | None:
    conditions = row.environment.conditions
    return conditions.power_limit if conditions else None


def _power(row: Row) -> float | None:
    telemetry, sustained = _telemetry(row), row.record.sustained
    known = telemetry.power, sustained.watts if sustained else None
    return next((watts for watts in known if watts is not None), None)


def _blocks(row: Row) -> int | None:
    return math.prod(row.record.grid) if row.record.grid else None


def _waves(row: Row) -> float | None:
    return row.launch_occupancy.waves if row.launch_occupancy else None


def _last_wave(row: Row) -> float | None:
    return row.launch_occupancy.last_wave if row.launch_occupancy else None


def _occupancy(row: Row) -> str:
    found = row.launch_occupancy
    return f"{percent(found.occupancy.fraction)} ({found.occupancy.limiter})" if found else "-"


def _bound(row: Row) -> str:
    return f"{number(row.roofline.percent)} ({row.roofline.bound})" if row.roofline.bound else "-"


def _shared_bytes(row: Row) -> int:
    """Return the static and dynamic bytes per block; -1 if unknown."""
    record = row.record
    return record.shared_static + record.shared_dynamic if record.shared_static >= 0 and record.grid else -1


def _placement_spread(row: Row) -> float:
    return stats.spread_of_blocks(row.record.by_round) if row.record.blocks else math.nan


def _format_count(value: int | None) -> str:
    return "-" if value is None or value < 0 else str(value)


FLAGS: Column[Row] = Column(
    "flags",
    "letters that ask for a second look, such as N for noisy",
    flag_letters,
    "flags",
    flag_letters,
    left=True,
)
_LAUNCH: tuple[Column[Row], ...] = (
    Column("blocks", "blocks of the grid", _blocks, "blocks", lambda row: _format_count(_blocks(row))),
    Column(
        "blocks_per_sm",
        "blocks that one multiprocessor can hold, in theory",
        lambda row: row.launch_occupancy.occupancy.blocks_per_sm if row.launch_occupancy else None,
    ),
    Column(
        "occupancy",
        "warps that a multiprocessor can hold, in theory, as a share of its maximum",
        lambda row: row.launch_occupancy.occupancy.fraction if row.launch_occupancy else None,
        "occupancy",
        _occupancy,
        left=True,
    ),
    Column(
        "occupancy_limit",
        "what limits the occupancy: warps, registers, shared memory or blocks",
        lambda row: row.launch_occupancy.occupancy.limiter if row.launch_occupancy else None,
    ),
    Column(
        "waves",
        "blocks of the grid, divided by those that the device can hold at once",
        _waves,
        "waves",
        lambda row: number(_waves(row)),
    ),
    Column(
        "last_wave",
        "share of the last wave that is filled",
        _last_wave,
        "last wave",
        lambda row: percent(_last_wave(row)),
    ),
)
_BOUNDS: tuple[Column[Row], ...] = (
    Column(
        "bytes_least",
        "fewest bytes that a launch must move",
        lambda row: row.roofline.bytes,
        "moved (MB)",
        lambda row: number(row.roofline.bytes * 1e-6),
    ),
    Column(
        "flop_per_byte",
        "arithmetic intensity: operations per byte moved",
        lambda row: row.roofline.intensity,
        "FLOP/B",
        lambda row: number(row.roofline.intensity),
    ),
    Column(
        "bound",
        "compute or memory, whichever takes longer at the measured clock; memory only for cold rows",
        lambda row: row.roofline.bound,
    ),
    Column(
        "percent_of_bound",
        "the time of that bound in percent of time_s",
        lambda row: row.roofline.percent,
        "% of bound",
        _bound,
    ),
)
_TELEMETRY: tuple[Column[Row], ...] = (
    Column(
        "clock_low_hz",
        "lowest SM clock measured in a window",
        lambda row: min(row.record.clocks_hz, default=None),
    ),
    Column("clock_high_hz", "highest", lambda row: max(row.record.clocks_hz, default=None)),
    Column(
        "memory_clock_hz",
        "highest memory clock that NVML reported",
        lambda row: _telemetry(row).memory_clock_hz,
    ),
    Column(
        "temperature_c",
        "highest temperature of the GPU while the row was measured, in degrees Celsius",
        lambda row: _telemetry(row).temperature,
        "deg C",
        lambda row: number(_telemetry(row).temperature, 2),
    ),
    Column(
        "power_w",
        "power in watts, in the row's own windows if they are long enough, otherwise under a steady load",
        _power,
        "W",
        lambda row: number(_power(row), 3),
    ),
    Column(
        "slowed_by", "what held the clock down, according to NVML", lambda row: ", ".join(_telemetry(row).slowed_by)
    ),
    Column(
        "other_processes",
        "number of other processes on the GPU",
        lambda row: _telemetry(row).other_processes,
    ),
)
CLASS: tuple[Column[Row], ...] = (
    Column(
        "product_class",
        "how exactly single products are computed: f32, bf16x6, 3xtf32, bf16x3, tf32 and so on",
        lambda row: row.record.product_class,
        "class",
        lambda row: row.record.product_class or "-",
    ),
    Column(
        "product_error",
        "largest error of a single product, in units of the last place of C",
        lambda row: row.record.product_error,
    ),
)
READS: Column[Row] = Column(
    "bytes_read",
    "bytes of A and B that the kernel loads from global memory, according to the tile of its manifest; caches "
    "serve most of them",
    lambda row: row.record.bytes_read,
    "reads (MB)",
    lambda row: number(None if row.record.bytes_read is None else row.record.bytes_read * 1e-6),
)
WORKSPACE: Column[Row] = Column(
    "workspace_bytes",
    "bytes of device memory that a launch may use in addition to the operands; all rows of a library share them",
    lambda row: row.record.workspace,
    "scratch (MB)",
    lambda row: number(row.record.workspace * 1e-6) if row.record.workspace else "-",
)
CARD: tuple[Column[Row], ...] = (
    Column("gpu_uuid", "UUID of the GPU of the run", lambda row: row.environment.uuid),
    Column("vbios", "version of the GPU's firmware", lambda row: row.environment.vbios),
    Column("driver", "version of the GPU's driver", lambda row: row.environment.software.get("driver", "")),
    Column("power_limit_w", "power limit of the GPU in watts", _power_limit),
)
FLEET_CARD: Column[Row] = Column(
    "card",
    "card and host that ran the row, in a fleet",
    lambda row: row.record.card,
    "card",
    lambda row: row.record.card or "-",
)
PLACEMENTS: tuple[Column[Row], ...] = (
    Column(
        "placements",
        "blocks of rounds, which differ in placement, binding and permutations",
        lambda row: len(set(row.record.blocks)),
    ),
    Column(
        "placement_spread",
        "how much longer the slowest block takes than the fastest, as a share",
        _placement_spread,
        "spread (%)",
        lambda row: number(100 * _placement_spread(row), 2),
    ),
)
GRAPH: Column[Row] = Column("graph", "1 if launches were recorded as CUDA graphs", lambda row: int(row.record.graph))
PDL: Column[AnyRow] = Column(
    "pdl",
    "1 if launches could begin before the previous launch had ended (programmatic dependent launch)",
    lambda row: int(row.record.pdl),
    "PDL",
    lambda row: "yes" if row.record.pdl else "-",
)
INVARIANCE: Column[Row] = Column(
    "invariance",
    "invariant, or what the bits of a row of C depend on (`verify --invariance`)",
    lambda row: row.record.invariance,
    "invariance",
    lambda row: row.record.invariance or "-",
    left=True,
    fold=True,
)
CLOCK_DIFFERENCE: Column[Row] = Column(
    "clock_difference_percent",
    "how much higher the SM clock was than the baseline's in the same rounds, in percent, which is part of the "
    "difference",
    lambda row: 100 * (row.clock_ratio - 1),
    "clock (%)",
    lambda row: "-" if math.isnan(row.clock_ratio) else f"{100 * (row.clock_ratio - 1):+.2f}",
)
COLUMNS: tuple[Column[Row], ...] = (FLAGS, *_LAUNCH, *_BOUNDS, *_TELEMETRY, *_ENERGY)
"""The columns of the exports."""

ONLY_IN_TABLES: tuple[Column[Row], ...] = (
    Column(heading="row", cell=lambda row: str(row.number)),
    Column(heading="registers", cell=lambda row: _format_count(row.record.registers)),
    Column(heading="spilled (B)", cell=lambda row: _format_count(row.record.spills)),
    Column(heading="shared (B)", cell=lambda row: _format_count(_shared_bytes(row))),
    Column(heading="clock (GHz)", cell=lambda row: number(row.clock_hz * 1e-9)),
)
"""Columns of wide tables whose content exports hold in another form."""

"""A row under a steady load, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gemmbench.bench.record import Sustained
from gemmbench.report.row import Row
from gemmbench.report.text import count_noun, number


def describe_load(row: Row) -> Iterator[str]:
    """Speed, clock, power and energy of a kernel that ran alone; nothing without a steady load."""
    found = row.record.sustained
    if found is None:
        yield from _describe_older_energy(row)
        return
    yield f"{number(1e3 * found.time)} ms per launch, {number(row.sustained_gflops / 1e3)} TFLOPS,"
    yield f"alone under a steady load ({count_noun(len(found.own), 'block')}, {number(found.seconds, 3)} s in all)."
    if found.baseline:
        yield f"{number(row.sustained_percent)} % of {row.environment.baseline}, in neighbouring blocks"
        yield f"({number(row.percent_of_baseline.value)} % in interleaved windows)."
    yield from _describe_sensors(found)
    if not math.isnan(found.joules):
        yield f"{number(found.joules)} J per launch, {number(row.record.flops / found.joules / 1e9)} GFLOPS per watt."


def _describe_sensors(found: Sustained) -> Iterator[str]:
    known = [
        ("SM clock", found.clock_hz, 1e-9, "GHz"),
        ("power", found.watts, 1, "W"),
        ("temperature", math.nan if found.temperature is None else found.temperature, 1, "degrees C"),
    ]
    values = [f"{name} {number(value * scale)} {unit}" for name, value, scale, unit in known if not math.isnan(value)]
    slowed = [f"clock held down by {' and '.join(found.slowed_by)}"] if found.slowed_by else []
    if values or slowed:
        text = ", ".join([*values, *slowed])
        yield f"{text[0].upper()}{text[1:]}."
    if not found.settled:
        yield "Clock, power or temperature still changed when counting began."


def _describe_older_energy(row: Row) -> Iterator[str]:
    """What older files have instead."""
    telemetry = row.record.telemetry
    if telemetry and telemetry.energy and telemetry.energy_power:
        gflops_per_watt = row.record.flops / telemetry.energy / 1e9
        yield f"{number(telemetry.energy)} J per launch, {number(gflops_per_watt)} GFLOPS per watt,"
        yield f"measured during {number(telemetry.energy_seconds)} s of nothing but launches of this kernel,"
        yield f"at {number(telemetry.energy_power)} W."

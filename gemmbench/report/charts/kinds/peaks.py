"""The machine's limits, arithmetic and memory: in theory, or as a run reached them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gemmbench.backends.devices import Peaks
from gemmbench.report.charts.numbers import format_number
from gemmbench.report.roofline import peak_flops
from gemmbench.report.row import Row

FARTHEST = 4
"""A peak is drawn if it is not farther than this times the fastest row."""


@dataclass(frozen=True)
class Peak:
    """The limits of a device in one precision.

    `gflops` is the arithmetic peak at the highest clock that a row measured, `bandwidth` the rate
    of the memory at its highest clock in GB/s, 0 if unknown. `reached` is what copies and f32
    multiply-adds reached at best, if the run measured it.
    """

    label: str
    gflops: float
    tip: str
    bandwidth: float
    bandwidth_label: str
    precision: str
    reached: Peaks | None = None

    @property
    def ridge(self) -> float:
        """FLOP per byte from which arithmetic limits a kernel, not memory."""
        return self.gflops / self.bandwidth


def note_far_peaks(peaks: Sequence[Peak], fastest: float) -> list[str]:
    """A sentence for each peak that is too far above the fastest row, in GFLOPS, to be drawn."""
    far = [peak for peak in peaks if peak.gflops > FARTHEST * fastest]
    return [f"Beyond the chart: the {peak.label}, {format_number(peak.gflops, 4)} GFLOPS." for peak in far]


def find_peaks(rows: Sequence[Row]) -> list[Peak]:
    """The peaks of all devices and precisions of these rows; none where they are unknown."""
    fastest: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = row.environment.device_name(row.record.backend), row.record.problem.precision_name
        if not math.isnan(_peak(row)) and (key not in fastest or row.clock_hz > fastest[key].clock_hz):
            fastest[key] = row
    devices, precisions = {device for device, _ in fastest}, {precision for _, precision in fastest}
    return [
        _make_peak(row, [device] * (len(devices) > 1) + [precision] * (len(precisions) > 1))
        for (device, precision), row in fastest.items()
    ]


def _peak(row: Row) -> float:
    return peak_flops(row.environment, row.record, row.clock_hz)


def _make_peak(row: Row, names: Sequence[str]) -> Peak:
    gflops, clock = _peak(row) / 1e9, f"{row.clock_hz / 1e9:.2f} GHz"
    label = f"{', '.join([*names, 'peak'])} at {clock}"
    device = row.environment.device_name(row.record.backend)
    speed = f"{format_number(gflops, 5)} GFLOPS in {row.record.problem.precision_name} at {clock}"
    memory = ", ".join([*(name for name in names if name == device), "DRAM"])
    tip, precision = f"Arithmetic peak of {device}\n{speed}", row.record.problem.precision_name
    bandwidth, reached = row.environment.bandwidth / 1e9, row.environment.peaks
    return Peak(label, gflops, tip, bandwidth, memory, precision, reached)


def take_reached_limits(peak: Peak) -> Peak:
    """The limits that were reached by measurement, where the run has them; else those in theory."""
    if peak.reached is None:
        return peak
    bandwidth = peak.reached.copy / 1e9
    if peak.precision != "f32":
        return replace(peak, bandwidth=bandwidth)
    gflops = peak.reached.fma / 1e9
    tip = f"Multiply-adds in registers, measured\n{format_number(gflops, 4)} GFLOPS"
    return replace(peak, label=peak.label.replace("peak at", "FFMA at"), gflops=gflops, tip=tip, bandwidth=bandwidth)

"""Letters on a row that say why its number deserves a second look; each with its meaning and the sentence for a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gemmbench.bench.timing import stats

if TYPE_CHECKING:
    from gemmbench.report.comparison import Row

MOVED = 0.02
"""Share by which the clock may differ between rounds."""
WIDE = 0.02
"""Share of the time that its 95 % interval may span."""
SHORT = 1e-3
"""Seconds that a window should last."""
_TOLERANCE = 0.9  # a window is sized from a slower one before it

SLOWING = (
    "power cap",
    "hardware slowdown",
    "thermal slowdown by software",
    "thermal slowdown by hardware",
    "power brake",
)

MEANINGS = {
    "G": "too good: faster than the device can be, and not ranked",
    "C": f"clock moved: by more than {100 * MOVED:g} % between rounds",
    "T": "throttled: power or heat held the clock down",
    "O": "others: other processes had the GPU open",
    "N": f"noisy: the 95 % interval of the time spans more than {100 * WIDE:g} %",
    "F": f"few samples: under {stats.LEAST_PAIRS} pairs of rounds, no interval",
    "S": f"short windows: under {1e3 * SHORT:g} ms",
    "H": "hot: operands, or a part of them, were in the cache",
}
"""Every letter, in the order they are written."""


def flags(row: Row) -> dict[str, str]:
    """The letters of a row, each with a sentence that gives its numbers; a row without a valid time has none."""
    if not row.record.samples or row.record.status != "ok":
        return {}
    found = dict([*_of_device(row), *_of_samples(row)])
    return {letter: found[letter] for letter in MEANINGS if letter in found}


def letters(row: Row) -> str:
    """`CT`, or "" for a row without flags."""
    return "".join(flags(row))


def legend(rows: Iterable[Row]) -> list[str]:
    """One line that explains the letters of these rows; none if there are none."""
    seen = {letter for row in rows for letter in flags(row)}
    if not seen:
        return []
    return [
        "Flags: " + "; ".join(f"{letter} {meaning}" for letter, meaning in MEANINGS.items() if letter in seen) + "."
    ]


def _of_device(row: Row) -> Iterator[tuple[str, str]]:
    record, telemetry = row.record, row.record.telemetry
    if row.too_good:
        yield "G", "the time is below what arithmetic at the highest clock, or the memory, takes at the least"
    if (share := spread(record.clocks_hz)) > MOVED:
        low, high = min(record.clocks_hz) / 1e9, max(record.clocks_hz) / 1e9
        yield "C", f"the SM clock went from {low:.3f} to {high:.3f} GHz, {100 * share:.1f} % of its median"
    slowing = [name for name in telemetry.slowed_by if name in SLOWING] if telemetry else []
    if slowing:
        yield "T", f"the clock was held down by {' and '.join(slowing)}"
    if telemetry and telemetry.other_processes:
        yield "O", f"{telemetry.other_processes} by NVML's count"


def _of_samples(row: Row) -> Iterator[tuple[str, str]]:
    record, time = row.record, row.time
    if not time.known:
        yield (
            "F",
            f"{len(record.samples)} rounds; an interval needs {stats.LEAST_PAIRS} pairs of one and its mirror image",
        )
    elif (share := (time.high - time.low) / time.value) > WIDE:
        yield "N", f"the 95 % interval of the time spans {100 * share:.1f} % of it"
    window = time.value * record.launches
    if 0 < window < _TOLERANCE * SHORT:
        yield "S", f"a window of {record.launches} launches lasts {1e3 * window:.3g} ms"
    if record.cache in ("hot", "partly cold"):
        yield "H", f"the cache was {record.cache} ({record.sets} operand sets)"


def spread(values: Sequence[float]) -> float:
    """Greatest less least, as a share of the median; 0 of none."""
    return (max(values) - min(values)) / stats.median(values) if values else 0.0

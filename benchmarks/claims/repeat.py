"""Whether repeats of a sweep in new processes, with new data and placements, agree within their intervals."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claims import Claim, format_table, run_sweep
from gemmbench.bench.timing.stats import Interval, unpaired_ratio
from gemmbench.report.repeatability import find_speed_class

REPEATS, SIZES = 5, "512,1024,2048,4096"
KERNELS = ("tiled", "sgemm_1d", "blocktile_2d", "sgemm_warptile", "sgemm_pipelined", "sgemm", "cublas")
LEAST_INSIDE = 0.93
MAX_DIFFERENCE, MIN_SECONDS = 0.005, 100e-6


@dataclass(frozen=True)
class Pair:
    """One row in two runs: percent of cuBLAS with its interval, as in the JSON export."""

    first: dict[str, Any]
    second: dict[str, Any]

    @property
    def difference(self) -> float:
        """By how much the second ratio is larger, as a share."""
        return float(self.second["percent_of_baseline"] / self.first["percent_of_baseline"] - 1)

    @property
    def shortest(self) -> float:
        """Seconds of the kernel or of the baseline in the first run, whichever is shorter."""
        return float(self.first["time_s"] * min(1, self.first["percent_of_baseline"] / 100))

    @property
    def is_inside(self) -> bool:
        """The joint 95 % interval, as `compare` shows it for two results files, contains no difference."""
        return self._agrees(find_speed_class(self.shortest).deviation)

    @property
    def is_inside_of_blocks(self) -> bool:
        """The same is true of the interval that accounts only for differences between blocks."""
        return self._agrees(0)

    def _agrees(self, deviation: float) -> bool:
        second, first = (
            Interval(row["percent_of_baseline"], row["percent_low"], row["percent_high"])
            for row in (self.second, self.first)
        )
        ratio = unpaired_ratio(second, first, deviation)
        return ratio.low <= 1 <= ratio.high


def check(folder: Path) -> Claim:
    """Run the sweep several times and compare every row with the same row of the previous run."""
    options = ["--sizes", SIZES, "--until", "0.2%", "--baseline", "cublas"]
    runs = [run_sweep(folder, *KERNELS, *options, "--seed", str(seed)) for seed in range(REPEATS)]
    pairs = [pair for two in itertools.pairwise(runs) for pair in _match(*two)]
    inside, of_blocks = (
        sum(agree) / max(len(pairs), 1)
        for agree in ([pair.is_inside for pair in pairs], [pair.is_inside_of_blocks for pair in pairs])
    )
    long = [abs(pair.difference) for pair in pairs if pair.shortest >= MIN_SECONDS]
    largest = max(long, default=math.inf)
    return Claim(
        f"{REPEATS} processes that run one sweep with other seeds: at least 93 % of the differences between a row and "
        "the same one of the process before are within the joint intervals; percent of cuBLAS differs by at most 0.5 % "
        "where it and the kernel take over 100 us",
        _tabulate(pairs),
        f"{REPEATS} processes, {100 * inside:.1f} % of {len(pairs)} differences inside ({100 * of_blocks:.1f} % "
        f"without the deviation between processes), the largest difference over 100 us {100 * largest:.3f} %",
        inside >= LEAST_INSIDE and largest <= MAX_DIFFERENCE,
    )


def _match(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> Iterator[Pair]:
    others = {_row_key(row): row for row in second}
    for row in first:
        other = others.get(_row_key(row))
        if other is not None and row["percent_low"] is not None and other["percent_low"] is not None:
            yield Pair(row, other)


def _tabulate(pairs: list[Pair]) -> str:
    """A line for each row: how many of its pairs are inside, and the extremes of its ratio."""
    rows = []
    for key, group in itertools.groupby(
        sorted(pairs, key=lambda pair: _row_key(pair.first)), lambda p: _row_key(p.first)
    ):
        same = list(group)
        values = [each["percent_of_baseline"] for pair in same for each in (pair.first, pair.second)]
        inside = sum(pair.is_inside for pair in same)
        rows.append((key[0], key[3], f"{min(values):.3f}", f"{max(values):.3f}", f"{inside} of {len(same)}"))
    return format_table(rows, ["size", "kernel", "least % of cublas", "most", "inside"])


def _row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("M", "N", "K", "variant", "config", "phase"))

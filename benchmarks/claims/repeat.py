"""Whether the ratios of two runs of the same sweep agree."""

from pathlib import Path
from typing import Any

from claims import Claim, format_table
from claims.repeated_sweep import measure_twice

MAX_DIFFERENCE, MIN_SECONDS = 0.005, 100e-6


def check(folder: Path) -> Claim:
    """Compare percent of cuBLAS of two runs of `-c sgemm`, row by row."""
    first_run, second_run = ({_row_key(row): row for row in rows} for rows in measure_twice(folder)[0])
    rows, largest = [], 0.0
    for key, first in first_run.items():
        second = second_run.get(key)
        if second is None or not _is_long_enough(first) or not _is_long_enough(second):
            continue
        values = [float(row["percent_of_baseline"]) for row in (first, second)]
        difference = values[1] / values[0] - 1
        largest = max(largest, abs(difference))
        size, name, config = first["M"], first["variant"], first["config"]
        rows.append((size, name, config, *(f"{value:.3f}" for value in values), f"{100 * difference:+.3f} %"))
    return Claim(
        "two runs of one sweep: percent of cuBLAS differs by at most 0.5 % for kernels over 100 us",
        format_table(rows, ["size", "kernel", "configuration", "first run", "second run", "difference"]),
        f"{len(rows)} rows, the largest difference {100 * largest:.3f} %",
        bool(rows) and largest <= MAX_DIFFERENCE,
    )


def _is_long_enough(row: dict[str, Any]) -> bool:
    return bool(row["time_s"] and row["percent_of_baseline"]) and float(row["time_s"]) >= MIN_SECONDS


def _row_key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("M", "N", "K", "variant", "config", "phase"))

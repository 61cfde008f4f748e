"""The same sweep twice: ratios must repeat."""

from pathlib import Path
from typing import Any

from claims import Claim, table
from claims.twice import measured

APART, LEAST = 0.005, 100e-6


def check(folder: Path) -> Claim:
    """Compare percent of cuBLAS of two runs of `-c sgemm`, row by row."""
    runs = [{_key(row): row for row in rows} for rows in measured(folder)[0]]
    rows, worst = [], 0.0
    for key, first in runs[0].items():
        second = runs[1].get(key)
        known = second is not None and all(row["time_s"] and row["percent_of_baseline"] for row in (first, second))
        if not known or min(first["time_s"], second["time_s"]) < LEAST:
            continue
        values = [float(row["percent_of_baseline"]) for row in (first, second)]
        difference = values[1] / values[0] - 1
        worst = max(worst, abs(difference))
        size, name, config = first["M"], first["variant"], first["config"]
        rows.append((size, name, config, *(f"{value:.3f}" for value in values), f"{100 * difference:+.3f} %"))
    return Claim(
        "two runs of one sweep: percent of cuBLAS differs by at most 0.5 % for kernels over 100 us",
        table(rows, ["size", "kernel", "configuration", "first run", "second run", "difference"]),
        f"{len(rows)} rows, the largest difference {100 * worst:.3f} %",
        bool(rows) and worst <= APART,
    )


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("M", "N", "K", "variant", "config", "phase"))

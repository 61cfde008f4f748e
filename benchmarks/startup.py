"""Measures the CPU time of commands that open no device, as multiples of that of `gemmbench --help`.

    python benchmarks/startup.py

The claims: `list` takes at most 5 times as long as `--help`, a dry run of one kernel at most 7 times, and a row of a
`pick` adds at most 0.1 ms. Each figure is the median of 15 calls. Exits with 1 if a claim does not hold.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

DRY_RUN = ("run", "naive", "--sizes", "64", "--device", "cpu", "--dry-run")
LIMITS = {("list",): 5.0, DRY_RUN: 7.0}
MOST_PER_ROW = 0.1e-3
FEW_ROWS, MANY_ROWS = 20, 520
_CALLS = 15
_PICK = """/*---
summary: a pick of many rows
order: 99
precisions: [f32]
layouts: [nn]
pick:
{rows}
---*/
"""


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """The median CPU time of a command, user and system together."""
    return statistics.median(_call(arguments) for _ in range(_CALLS))


def _call(arguments: tuple[str, ...]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "gemmbench", *arguments], capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds_per_pick_row() -> float:
    """The time that one more row of a `pick` adds to `list`."""
    seconds = []
    for count in (FEW_ROWS, MANY_ROWS):
        with tempfile.TemporaryDirectory() as folder:
            rows = "\n".join(f"  - variant: tiled\n    when: M < {row + 1}" for row in range(count))
            Path(folder, "many_rows.cu").write_text(_PICK.format(rows=rows), encoding="utf-8")
            seconds.append(cpu_seconds(("list", "--kernels", folder)))
    return (seconds[1] - seconds[0]) / (MANY_ROWS - FEW_ROWS)


def main() -> int:
    """Print the figures next to their limits. Returns the exit code."""
    shortest = cpu_seconds(("--help",))
    figures = [("gemmbench --help", f"{shortest:.3f} s", "", True)]
    for arguments, limit in LIMITS.items():
        times = cpu_seconds(arguments) / shortest
        figures.append((f"gemmbench {' '.join(arguments)}", f"{times:.1f} times", f"{limit:g} times", times <= limit))
    per_row = seconds_per_pick_row()
    holds = per_row <= MOST_PER_ROW
    figures.append(("a row of a pick, in list", f"{per_row * 1e3:.3f} ms", f"{MOST_PER_ROW * 1e3:g} ms", holds))
    rows = [(name, found, limit, "holds" if good else "FAILS") for name, found, limit, good in figures]
    print(tabulate(rows, ("CPU time of", "found", "at most", "claim")))
    return 0 if all(good for *_, good in figures) else 1


if __name__ == "__main__":
    sys.exit(main())

"""How much longer kernels take when their operands begin at odd addresses.

Run `python benchmarks/placement.py [--size N] [--out FOLDER]` (30 s on an H200). For each kernel and each shift of all
operand sets it measures several windows, in random order, and prints how much longer the median takes than with the
operands at a multiple of 2 MiB. --out also writes placement.csv there.
"""

import argparse
import random
import sys
from pathlib import Path

import numpy as np
from arena_bench import ArenaBench
from claims.setup import build_plans
from tables import show_table

KERNELS = ("cublas", "sgemm", "sgemm_pipelined", "sgemm_warptile", "blocktile_2d", "tiled")
SHIFTS = (0, *(512 << power for power in range(13)))
SETS, REPEATS, WINDOWS, WINDOW_SECONDS = 5, 2, 3, 10e-3


def measure_shifts(bench: ArenaBench) -> dict[str, dict[int, list[float]]]:
    """Seconds per launch of each window, by kernel and shift."""
    found: dict[str, dict[int, list[float]]] = {plan.variant.name: {} for plan in bench.built}
    order = list(SHIFTS) * REPEATS
    random.Random(0).shuffle(order)
    for shift in order:
        bench.place(shift)
        for plan in bench.built:
            executable = bench.bind(plan)
            launches = max(bench.sets, int(WINDOW_SECONDS / executable.time(bench.sets).seconds * bench.sets))
            windows = [executable.time(launches).seconds / launches for _ in range(WINDOWS)]
            found[plan.variant.name].setdefault(shift, []).extend(windows)
    return found


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=2048, metavar="N", help="M, N and K")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for placement.csv")
    arguments = parser.parse_args()
    found = measure_shifts(ArenaBench(build_plans(KERNELS, sizes=str(arguments.size)), SETS))
    medians = {name: {shift: float(np.median(times)) for shift, times in each.items()} for name, each in found.items()}
    rows = [
        [f"{shift}", *(f"{100 * (each[shift] / each[0] - 1):+.2f}" for each in medians.values())] for shift in SHIFTS
    ]
    rows.insert(0, ["us at 0", *(f"{1e6 * each[0]:.2f}" for each in medians.values())])
    head = ["shift (bytes)", *(f"{name} (%)" for name in medians)]
    show_table(head, rows, arguments.out and arguments.out / "placement.csv", KERNELS)
    return 0


if __name__ == "__main__":
    sys.exit(main())

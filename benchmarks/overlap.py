"""The benefit of letting products overlap (`--pdl`), by size: for the kernels that pick others, in f32 and bf16.

Run `python benchmarks/overlap.py [--out FOLDER]` (a minute on an H100). Each size is measured in two runs, one without
and one with `--pdl`. The table goes to the screen and, with --out, to overlap.csv there.
"""

import argparse
import sys
from pathlib import Path

from tables import show_table

import gemmbench
from gemmbench.bench.timing import stats

KERNELS = {"sgemm": "f32", "tgemm": "bf16"}
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
HEAD = ("kernel", "size", "one after the other (us)", "overlapping (us)", "overlapping is faster by (%)")


def measure(name: str, pdl: bool) -> dict[int, float]:
    """Seconds of a product, by size; sizes are missing that have no time, or where products cannot overlap although
    they may.
    """
    found = gemmbench.run(
        [name], sizes=SIZES, precision=KERNELS[name], baseline=name, pdl=pdl, out=None, sustained=0, progress=False
    )
    rows = [row for row in found.records if row.samples and row.pdl == pdl]
    return {row.problem.M: stats.time_interval(row.by_round).value for row in rows}


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="folder for overlap.csv")
    arguments = parser.parse_args()
    rows = []
    for name in KERNELS:
        apart, together = (measure(name, pdl) for pdl in (False, True))
        rows += [
            [name, str(size), f"{1e6 * apart[size]:.2f}", f"{1e6 * time:.2f}", f"{100 * (apart[size] / time - 1):.1f}"]
            for size, time in together.items()
            if size in apart
        ]
    show_table(HEAD, rows, arguments.out and arguments.out / "overlap.csv", tuple(KERNELS))
    return 0


if __name__ == "__main__":
    sys.exit(main())

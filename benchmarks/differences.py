"""How much results of one date differ from the newest older ones: a table of the changes that a new method makes.

Run `python benchmarks/differences.py RESULTS DATE`, such as `results/nvidia-h200 2026-11-22`. The row of a
file says how far the times of kernels moved, and how far their percent of the baseline did, in percent of
the older figure: the median, what 90 % of the rows stay within, and the row that moved most.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from claims import format_table

from gemmbench.report import store
from gemmbench.report.comparison import compare_rows
from gemmbench.report.differences.run_differences import Difference, RunDifferences, compare_runs
from gemmbench.report.explanation.sentences import name_row
from gemmbench.report.row import Row

HEAD = ("results", "rows", "time: median", "90 %", "most", "of baseline: median", "90 %", "most", "row that moved most")


class Change(NamedTuple):
    """By which share of the older figure a row changed; abs() is its size."""

    share: float
    difference: Difference

    @property
    def row(self) -> Row:
        """The row of the newer run."""
        return self.difference.row

    def __abs__(self) -> float:
        return abs(self.share)


def main() -> int:
    """Print the table. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of results files")
    parser.add_argument("date", help="the beginning of the names of the newer files")
    arguments = parser.parse_args()
    rows = [describe(name, old, new) for name, old, new in find_pairs(arguments.results, arguments.date)]
    print(format_table(rows, HEAD))
    return 0 if rows else 1


def find_pairs(folder: Path, date: str) -> Iterator[tuple[str, Path, Path]]:
    """The name of each results file of a date, the newest older file of that name, and the file."""
    for new in sorted(folder.glob(f"{date}-*.jsonl")):
        name = new.stem.removeprefix(f"{date}-")
        older = [
            path for path in sorted(folder.glob(f"*-{name}.jsonl")) if path.name < new.name and is_named(path, name)
        ]
        if older:
            yield name, older[-1], new


def is_named(path: Path, name: str) -> bool:
    """Whether a file is called DATE-NAME, and not DATE-OTHER-NAME."""
    return len(path.stem.removesuffix(f"-{name}").split("-")) == 3


def describe(name: str, old: Path, new: Path) -> tuple[str, ...]:
    """The row of a results file."""
    reference, run = (compare_rows(store.read(path)) for path in (old, new))
    runs = compare_runs(reference, run)
    slowdowns = [Change(1 / each.speed.value - 1, each) for each in runs.rows if each.timed]
    ratios = [Change(each.speed_by_baseline.value - 1, each) for each in runs.rows]
    known = [change for change in ratios if not math.isnan(change.share)]
    most = max(known or slowdowns, key=abs, default=None)
    return name, count_rows(runs), *summarize(slowdowns), *summarize(known), name_row(most.row) if most else "-"


def count_rows(runs: RunDifferences) -> str:
    """`138`, or `138 + 2 - 1` if the newer run has two more rows and lacks one."""
    more, less = len(runs.only_in_run), len(runs.only_in_reference)
    return f"{len(runs.rows)}" + (f" + {more}" if more else "") + (f" - {less}" if less else "")


def summarize(changes: Sequence[Change]) -> tuple[str, str, str]:
    """The median change, the share that 90 % of the changes do not exceed, and the largest one."""
    if not changes:
        return "-", "-", "-"
    sizes, most = sorted(map(abs, changes)), max(changes, key=abs)
    within = sizes[math.ceil(0.9 * len(sizes)) - 1]
    median = statistics.median(change.share for change in changes)
    return f"{100 * median:+.2f} %", f"{100 * within:.2f} %", f"{100 * most.share:+.2f} %"


if __name__ == "__main__":
    sys.exit(main())

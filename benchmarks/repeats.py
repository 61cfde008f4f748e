"""How often a repeated measurement lies outside the intervals, in results files.

Run `python benchmarks/repeats.py [FILE ...]` (default: all committed results of the H200). Every kernel
that was measured more than once on one problem, with the same code and next to the same baseline,
gives a pair for every two measurements. For good intervals the difference of 5 % of the pairs exceeds
the root of the sum of the squares of both half-widths.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from tabulate import tabulate

from gemmbench.report import store
from gemmbench.report.comparison import compare_rows
from gemmbench.report.row import Row

COMMITTED = Path(__file__).parents[1] / "results" / "nvidia-h200"


def collect_rows(paths: list[Path]) -> dict[tuple[object, ...], list[tuple[Path, Row]]]:
    """Rows with an interval of their ratio to the baseline, by what makes two of them repeats."""
    rows: dict[tuple[object, ...], list[tuple[Path, Row]]] = defaultdict(list)
    for path in paths:
        for row in compare_rows(store.read(path)).rows:
            record = row.record
            if row.ranked and row.percent_of_baseline.known:
                key = (record.kernel_key, record.artifact, record.cache, record.data, row.environment.baseline)
                rows[key].append((path, row))
    return rows


def judge_pair(one: Row, other: Row) -> tuple[bool, float]:
    """Whether two repeats differ by more than their intervals allow, and by how much."""
    first, second = one.percent_of_baseline, other.percent_of_baseline
    difference = abs(math.log(first.value / second.value))
    reaches = [math.log(interval.high / interval.low) / 2 for interval in (first, second)]
    return difference > math.hypot(*reaches), difference


def main() -> None:
    """Print a line for repeats within a file and one for those across files."""
    paths = [Path(name) for name in sys.argv[1:]] or sorted(COMMITTED.glob("*.jsonl"))
    judged: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for rows in collect_rows(paths).values():
        for (path, one), (other_path, other) in itertools.combinations(rows, 2):
            judged["one file" if path == other_path else "two files"].append(judge_pair(one, other))
    table = [
        (name, len(pairs), f"{100 * np.mean([out for out, _ in pairs]):.1f}", *_describe([d for _, d in pairs]))
        for name, pairs in judged.items()
    ]
    print(tabulate(table, ["repeats in", "pairs", "outside (%)", "median difference (%)", "95 of 100 within (%)"]))


def _describe(differences: list[float]) -> tuple[str, str]:
    return f"{100 * np.median(differences):.2f}", f"{100 * np.percentile(differences, 95):.2f}"


if __name__ == "__main__":
    main()

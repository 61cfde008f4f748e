"""What the kernels for tensor cores should reach on an H200, and what they did in several runs.

    python benchmarks/record.py tgemm tgemm_f16 tgemm_tf32 tgemm_fp8 tgemm_3xtf32 mma_sync shapes_60_bf16
                                                      on the GPU, once on each of three machines
    python benchmarks/targets.py results/RUN.jsonl ... prints a line for each target; ends with 1 if one is missed

A figure comes from steady loads if the run has them, otherwise from bursts. A target is reached if the 95 %
interval over the runs, by t, reaches it; of one run it is the figure itself.
"""

import argparse
import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from claims import format_table

from gemmbench.bench.timing.stats import t_quantile
from gemmbench.report import store
from gemmbench.report.comparison import Comparison, ProblemRows, compare_rows
from gemmbench.report.row import Row

DEFAULT, BEST, TFLOPS, JOULES = "% of cublas", "% of best cublaslt", "TFLOPS", "joules in % of best cublaslt"
"""What figures are relative to; in joules less is better.

The best of cublaslt is what cublas chose, where that is faster under the load: algorithms are ranked in bursts.
"""


@dataclass(frozen=True)
class Target:
    """Where `subject` says, at a size such as M x N x K or a cube's edge, the best row of `kernel` reaches `least`."""

    kernel: str
    precision: str
    subject: str
    unit: str
    least: float
    layout: str = "nn"

    @property
    def title(self) -> list[str]:
        """The cells of a line before its figures."""
        return [self.kernel, self.precision, self.subject, self.layout]

    def find_figure(self, run: Comparison) -> float | None:
        """The figure of a run; None if a row is missing."""
        asked = (self.subject, self.precision, self.layout)
        for problem in run.problems:
            at = problem.problem
            if (at.size, at.precision_name, at.layout) == asked:
                return _find_figure(self.kernel, self.unit, problem)
        return None

    def is_reached(self, low: float, high: float) -> bool:
        """Whether an interval reaches it."""
        return low <= self.least if self.unit == JOULES else high >= self.least


@dataclass(frozen=True)
class MeanTarget(Target):
    """Over all problems of the sweep that `subject` names, the geometric mean reaches `least`."""

    def find_figure(self, run: Comparison) -> float | None:
        """The mean of a run; None if it is of another sweep or precision, or if a row is missing."""
        if run.environment.sweep != self.subject:
            return None
        problems = [problem for problem in run.problems if problem.problem.precision_name == self.precision]
        figures = [_find_figure(self.kernel, self.unit, problem) for problem in problems]
        known = [figure for figure in figures if figure is not None]
        return statistics.geometric_mean(known) if known and len(known) == len(problems) else None


def _bf16(size: str, of_default: float, of_best: float) -> list[Target]:
    units = ((DEFAULT, of_default), (BEST, of_best))
    return [
        Target("tgemm", precision, size, unit, least - less)
        for precision, less in (("bf16", 0), ("f16", 1))
        for unit, least in units
    ]


TARGETS = [
    *_bf16("8192", 104, 101),
    *_bf16("4096x28672x4096", 104, 102),
    *_bf16("4096", 100, 99),
    *_bf16("4096x4096x14336", 101, 99.5),
    *_bf16("2048", 99, 98.5),
    *_bf16("1024", 100, 98),
    *_bf16("128x28672x4096", 158, 97),
    *_bf16("4095", 360, 360),
    *_bf16("4097", 325, 325),
    *_bf16("2047", 295, 295),
    *_bf16("1023", 240, 240),
    Target("tgemm", "bf16", "8192", JOULES, 99),
    MeanTarget("tgemm", "bf16", "shapes_60_bf16", DEFAULT, 105),
    MeanTarget("tgemm", "bf16", "shapes_60_bf16", BEST, 98),
    *(
        Target("tgemm", "tf32", size, BEST, least, layout)
        for size in ("4096", "8192")
        for layout, least in (("nt", 99), ("nn", 97), ("tt", 97), ("tn", 93))
    ),
    *(
        Target("tgemm", precision, size, BEST, 98, "nt")
        for precision in ("e4m3", "e4m3_fast")
        for size in ("4096", "8192")
    ),
    *(Target("tgemm", "3xtf32", size, TFLOPS, 95) for size in ("4096", "8192")),
    Target("mma_sync", "bf16", "4096", DEFAULT, 60),
]


def _find_figure(kernel: str, unit: str, problem: ProblemRows) -> float | None:
    """The figure of the problem's rows; None if a row is missing."""
    ours = _find_best(problem.rows, kernel)
    if ours is None:
        return None
    if unit == TFLOPS:
        return _speed(ours) / 1e3
    if unit == DEFAULT:
        return _percent(ours)
    best, default = (_find_best(problem.rows, name) for name in ("cublaslt", "cublas"))
    if best is None:
        return None
    if default and _percent(default) > _percent(best):
        best = default
    return _joules(ours) / _joules(best) * 100 if unit == JOULES else _percent(ours) / _percent(best) * 100


def _speed(row: Row) -> float:
    """GFLOPS."""
    return row.sustained_gflops if row.record.sustained else row.gflops


def _percent(row: Row) -> float:
    """Percent of the baseline's speed."""
    return row.sustained_percent if row.record.sustained else row.percent_of_baseline.value


def _joules(row: Row) -> float:
    """Per launch; NaN without a steady load."""
    return row.record.sustained.joules if row.record.sustained else math.nan


def _find_best(rows: Sequence[Row], kernel: str) -> Row | None:
    """The fastest row of a kernel; under a steady load, if any row has one."""
    found = [row for row in rows if row.record.variant == kernel and row.ranked]
    loaded = [row for row in found if row.record.sustained]
    return max(loaded or found, key=_speed, default=None)


def find_interval(figures: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the mean of several runs, by t; of one run, the figure."""
    if len(figures) == 1:
        return figures[0], figures[0]
    reach = t_quantile(len(figures) - 1) * statistics.stdev(figures) / math.sqrt(len(figures))
    return statistics.fmean(figures) - reach, statistics.fmean(figures) + reach


def judge(target: Target, runs: Iterable[Comparison]) -> list[str] | None:
    """A line of the table; None if no run shows the target."""
    found = [target.find_figure(run) for run in runs]
    figures = [figure for figure in found if figure is not None and not math.isnan(figure)]
    if not figures:
        return None
    low, high = find_interval(figures)
    listed = " ".join(f"{figure:.1f}" for figure in figures)
    verdict = "reached" if target.is_reached(low, high) else "missed"
    return [*target.title, target.unit, f"{target.least:g}", listed, f"{low:.1f} to {high:.1f}", verdict]


def main() -> int:
    """Print the table. Returns 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, nargs="+", help="results files; each is one run")
    runs = [compare_rows(store.read(path)) for path in parser.parse_args().results]
    lines = [line for target in TARGETS if (line := judge(target, runs))]
    head = ["kernel", "precision", "problem", "layout", "figure", "target", "runs", "interval", "verdict"]
    print(format_table(lines, head))
    missed = sum(line[-1] == "missed" for line in lines)
    print(f"\n{len(lines) - missed} of {len(lines)} reached; {len(TARGETS) - len(lines)} not measured")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

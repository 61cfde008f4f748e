"""Who is fastest at each problem, in one line: the end of a run."""

from __future__ import annotations

import math
from collections import Counter

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Comparison, ProblemRows
from gemmbench.report.row import Row
from gemmbench.report.text import number_within, with_interval
from gemmbench.report.verdicts import find_best_rows

_DIGITS = 3


def list_fastest(comparison: Comparison) -> list[str]:
    """`4096: sgemm is fastest, 1.17x cublas`, for each problem with at least two ranked variants.

    A problem that was interrupted is left out.
    """
    sizes = Counter(problem.problem.size for problem in comparison.problems)
    lines = []
    for problem in comparison.problems:
        if any(row.record.stopped == "interrupted" for row in problem.rows):
            continue
        name = problem.problem.size if sizes[problem.problem.size] == 1 else str(problem.problem)
        network = problem.rows[0].record.network
        name = f"batch {problem.problem.M}" if network else name
        lines += _tell_fastest(name, problem, comparison.environment.baseline)
    return lines


def _tell_fastest(name: str, problem: ProblemRows, baseline: str) -> list[str]:
    ranked = find_best_rows(problem.rows)
    others = [row for variant, row in ranked.items() if variant != baseline]
    if len(ranked) < 2 or not others:
        return []
    fastest = min(others, key=lambda row: row.time.value)
    reference = ranked.get(baseline)
    if reference is None:
        speed = number_within(fastest.gflops, fastest.time, _DIGITS)
        return [f"{name}: {fastest.record.variant} is fastest, {speed} GFLOPS"]
    return [f"{name}: {_compare(fastest, reference)}"]


def _compare(fastest: Row, reference: Row) -> str:
    """How the fastest of the other variants compares with the baseline."""
    variant, baseline = fastest.record.variant, reference.record.variant
    ratio = fastest.percent_of_baseline.scale(0.01)
    if math.isnan(ratio.value):  # not measured in one batch
        ratio = Interval(reference.time.value / fastest.time.value)
    word = stats.verdict(ratio) if ratio.known else "faster" if ratio.value > 1 else "slower"
    match word:
        case "faster":
            return f"{variant} is fastest, {number_within(ratio.value, ratio, _DIGITS)}x {baseline}"
        case "slower":
            share = number_within(100 * ratio.value, ratio, _DIGITS)
            return f"{baseline} is fastest; {variant} reaches {share} % of it"
        case "same":
            return f"{variant} is as fast as {baseline}"
    return f"{variant} and {baseline} are too close to call, {with_interval(ratio).replace(' ', 'x ', 1)}"

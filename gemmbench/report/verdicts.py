"""Verdicts: which of two variants is faster, by how much, whether the difference is real, and who is fastest."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Comparison, ProblemRows
from gemmbench.report.explanation import explain_unranked
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.text import format_share, interval_ends, number_within, with_interval

SLOWER, INCONCLUSIVE = "slower", "inconclusive"


@dataclass(frozen=True)
class Verdict:
    """How a variant compares with an earlier one: faster, slower, same or inconclusive."""

    word: str
    sentence: str


def judge_variants(comparison: Comparison, names: Sequence[str], margin: float = stats.MARGIN) -> list[Verdict]:
    """A verdict for each problem and pair of variants, on the later one of the pair.

    A difference within 1 +- `margin` does not matter.
    """
    verdicts = []
    for problem in comparison.problems:
        for earlier, later in itertools.combinations(names, 2):
            one, other = (_find_best(problem.rows, name, (earlier, later)) for name in (earlier, later))
            if one and other and one.is_comparable_with(other):
                verdict = _judge_pair(earlier, one, later, other, margin)
            else:
                verdict = _refuse_pair(problem.rows, earlier, later)
            verdicts.append(Verdict(verdict.word, f"{problem.title}: {verdict.sentence}"))
    return verdicts


def explain_margin(margin: float) -> str:
    """The line above the verdicts: which differences do not matter for them."""
    return f"Verdicts, where differences within {format_share(margin)} do not matter (--margin):"


def _find_best_row(rows: Sequence[Row], name: str) -> Row | None:
    """The fastest ranked row of a variant; if some were measured again, the fastest of those."""
    return choose_fastest([row for row in rows if row.record.variant == name and row.ranked])


def _find_best(rows: Sequence[Row], name: str, pair: Sequence[str]) -> Row | None:
    """The best row of a variant of a pair; where none of the pair is ranked, the fastest of a weaker class."""
    own = [row for row in rows if row.record.variant == name and row.timed]
    ranked = any(row.ranked for row in rows if row.record.variant in pair)
    return _find_best_row(rows, name) if ranked else choose_fastest(own)


def choose_fastest(rows: Sequence[Row]) -> Row | None:
    """The fastest row; if some were measured again, the fastest of those."""
    finals = [row for row in rows if row.record.phase == "final"]
    return min(finals or rows, key=lambda row: row.time.value, default=None)


def find_best_rows(rows: Sequence[Row]) -> dict[str, Row]:
    """The best row of each variant that has a ranked one."""
    best = {name: _find_best_row(rows, name) for name in dict.fromkeys(row.record.variant for row in rows)}
    return {name: row for name, row in best.items() if row is not None}


def _refuse_pair(rows: Sequence[Row], earlier: str, later: str) -> Verdict:
    """Why two variants cannot be compared: one has no time, or is of a weaker class."""
    unranked = [row for row in rows if row.record.variant in (earlier, later) and row.status == UNRANKED]
    reasons = [f"{row.record.variant} is {_name_category(row)}" for row in unranked[:1]]
    missing = [name for name in (earlier, later) if _find_best_row(rows, name) is None]
    reason = "; ".join(reasons) or f"no valid time for {' and '.join(missing)}"
    return Verdict(INCONCLUSIVE, f"{earlier} and {later} cannot be compared: {reason}.")


def _name_category(row: Row) -> str:
    words = explain_unranked(row.record)
    return f"of {words}" if row.record.is_of_weaker_class else f"timed {words}"


def _judge_pair(earlier: str, one: Row, later: str, other: Row, margin: float) -> Verdict:
    ratio = stats.speed_ratio(other.record.by_round, one.record.by_round)
    speed = f"{later} is {_format_speed(ratio)} {earlier}"
    if one.record.batch != other.record.batch or one.record.backend != other.record.backend:
        return Verdict(INCONCLUSIVE, f"{speed}, but not measured in the same rounds: inconclusive.")
    if not ratio.known:
        return Verdict(INCONCLUSIVE, f"{speed} (too few rounds for a verdict).")
    word = stats.verdict(ratio, margin)
    if word == INCONCLUSIVE:
        low, high = _format_change(ratio.low, ratio), _format_change(ratio.high, ratio)
        return Verdict(word, f"{later} against {earlier} is inconclusive: 95 % interval from {low} to {high}.")
    if word == SLOWER:
        ratio = Interval(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)
    low, high = interval_ends(ratio)
    interval = f"95 % interval {low}x to {high}x"
    if word == "same":
        return Verdict(word, f"{later} is as fast as {earlier} ({interval} of its speed).")
    return Verdict(word, f"{speed} ({interval}).")


def _format_speed(ratio: Interval) -> str:
    """`2.2x slower than`, or `as fast as`."""
    change = _format_change(ratio.value, ratio)
    return "as fast as" if float(change.partition("x")[0]) == 1 else f"{change} than"


def _format_change(value: float, ratio: Interval) -> str:
    """`2.2x faster`, `2.2x slower`, with the digits that the interval of the ratio supports."""
    source = ratio.scale(1 / ratio.value)
    return f"{number_within(1 / value, source)}x slower" if value < 1 else f"{number_within(value, source)}x faster"


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

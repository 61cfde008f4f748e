"""Verdicts on which of two variants is faster, by how much, and whether the difference is real."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Comparison, ProblemRows, name_problems
from gemmbench.report.explanation import explain_unranked
from gemmbench.report.repeatability import RUN_TO_RUN, TIME_TO_TIME, compare_ratios, widen
from gemmbench.report.row import UNRANKED, Row
from gemmbench.report.text import format_share, interval_ends, number, number_within

SLOWER, SAME, INCONCLUSIVE = "slower", "same", "inconclusive"


@dataclass(frozen=True)
class Verdict:
    """How a variant compares with an earlier one in the list: faster, slower, same or inconclusive."""

    word: str
    sentence: str


def judge_variants(comparison: Comparison, names: Sequence[str], margin: float = stats.MARGIN) -> list[Verdict]:
    """Judge each pair of variants at each problem. Each verdict is on the later one of the pair.

    Differences within 1 +- `margin` are ignored.
    """
    named, scope = name_problems(comparison.problems), comparison.environment.scope
    return [
        judge_pair(problem, named[problem.problem] + scope, earlier, later, margin)
        for problem in comparison.problems
        for earlier, later in itertools.combinations(names, 2)
    ]


def judge_pair(problem: ProblemRows, where: str, earlier: str, later: str, margin: float) -> Verdict:
    """Judge the later of two variants at a problem, which the sentence calls `where`."""
    one, other = (_find_best(problem.rows, name, (earlier, later)) for name in (earlier, later))
    if one and other and one.is_comparable_with(other):
        verdict = _judge_pair(earlier, one, later, other, margin)
    else:
        verdict = _refuse_pair(problem.rows, earlier, later)
    return Verdict(verdict.word, f"{where}: {verdict.sentence}")


def explain_margin(margin: float, scope: str = "") -> str:
    """Return the line above the verdicts, which says which differences they ignore and, for a CPU, what they mean."""
    return f"Verdicts{scope}, ignoring differences within {format_share(margin)} (--margin):"


def _find_best_row(rows: Sequence[Row], name: str) -> Row | None:
    """Find the fastest ranked row of a variant. If rows were measured again, only those count."""
    return choose_fastest([row for row in rows if row.record.variant == name and row.ranked])


def _find_best(rows: Sequence[Row], name: str, pair: Sequence[str]) -> Row | None:
    """Find the best row of one variant of a pair. If neither is ranked, take the fastest of a weaker class."""
    own = [row for row in rows if row.record.variant == name and row.timed]
    ranked = any(row.ranked for row in rows if row.record.variant in pair)
    return _find_best_row(rows, name) if ranked else choose_fastest(own)


def choose_fastest(rows: Sequence[Row]) -> Row | None:
    """Choose the fastest row. If rows were measured again, only those count."""
    finals = [row for row in rows if row.record.phase == "final"]
    return next(iter(sort_by_speed(finals or rows)), None)


def sort_by_speed(rows: Iterable[Row]) -> list[Row]:
    """Sort the fastest first. Uses ratios to the baseline if all rows have one, since clocks differ between batches."""
    by_time = sorted(rows, key=lambda row: row.time.value)
    if all(row.percent_of_baseline.known or row.record.variant == row.environment.baseline for row in by_time):
        return sorted(by_time, key=lambda row: row.percent_of_baseline.value, reverse=True)
    return by_time


def find_row_beside_others(best: Row, rows: Sequence[Row]) -> Row:
    """Find the row of the best configuration that shared rounds with the other rows, if it was measured again."""
    same = [row for row in rows if row.record.configuration == best.record.configuration]
    others = [row for row in rows if row.record.configuration != best.record.configuration]
    return next((row for row in same if any(_share_rounds(row, other) for other in others)), best)


def find_best_rows(rows: Sequence[Row]) -> dict[str, Row]:
    """Find the best row of each variant that has a ranked row."""
    best = {name: _find_best_row(rows, name) for name in dict.fromkeys(row.record.variant for row in rows)}
    return {name: row for name, row in best.items() if row is not None}


def _refuse_pair(rows: Sequence[Row], earlier: str, later: str) -> Verdict:
    """Explain why two variants cannot be compared: one has no valid time, or is in a weaker class."""
    unranked = [row for row in rows if row.record.variant in (earlier, later) and row.status == UNRANKED]
    reasons = [f"{row.record.variant} is {_name_category(row)}" for row in unranked[:1]]
    missing = [name for name in (earlier, later) if _find_best_row(rows, name) is None]
    reason = "; ".join(reasons) or f"no valid time for {' and '.join(missing)}"
    return Verdict(INCONCLUSIVE, f"{earlier} and {later} cannot be compared: {reason}.")


def _name_category(row: Row) -> str:
    words = explain_unranked(row.record)
    return f"of {words}" if row.record.is_of_weaker_class else f"timed {words}"


def _judge_pair(earlier: str, one: Row, later: str, other: Row, margin: float) -> Verdict:
    ratio, apart = compare_speeds(other, one), "" if _share_rounds(one, other) else ", not in the same rounds"
    if not ratio.known:
        change = describe_change(ratio.value, ratio)
        return Verdict(INCONCLUSIVE, f"{later} against {earlier} has too few rounds for a verdict (about {change}).")
    word = stats.verdict(ratio, margin)
    if word == INCONCLUSIVE:
        low, high = describe_change(ratio.low, ratio), describe_change(ratio.high, ratio)
        return Verdict(
            word, f"{later} against {earlier} is inconclusive{apart}: the 95 % interval runs from {low} to {high}."
        )
    speed = f"{later} is {_format_speed(ratio)} {earlier}"
    low, high = _format_ends(ratio.invert() if word == SLOWER else ratio, word)
    interval = f"95 % interval {low}x to {high}x"
    if word == SAME:
        return Verdict(word, f"{later} is as fast as {earlier} ({interval} of its speed{apart}).")
    return Verdict(word, f"{speed} ({interval}{apart}).")


def _format_ends(ratio: Interval, word: str) -> tuple[str, str]:
    """Format both ends of the interval. A verdict that rests on the lower end shows enough digits to see it."""
    low, high = interval_ends(ratio)
    digits = itertools.takewhile(lambda count: word != SAME and float(low) <= 1, itertools.count(2))
    for count in digits:
        low = number(ratio.low, count)
    return low, high


def _share_rounds(one: Row, other: Row) -> bool:
    """Return whether two rows were measured together."""
    one_batch, other_batch = ((each.record.batch, each.record.batch_key, each.record.backend) for each in (one, other))
    return one_batch == other_batch


def compare_speeds(row: Row, other: Row) -> Interval:
    """Compare the speed of a row with another of its run. There is no interval if there are too few rounds.

    Rows without common rounds are compared by their ratios to the baseline, like rows of two runs. Without these, they
    are compared by their times, which vary more between runs.
    """
    if _share_rounds(row, other):
        return stats.speed_ratio(row.record.by_round, other.record.by_round)
    baseline, percent, base = row.environment.baseline, row.percent_of_baseline, other.percent_of_baseline
    if other.record.variant == baseline and percent.known:
        return percent.scale(0.01)
    if row.record.variant == baseline and base.known:
        return base.scale(0.01).invert()
    if percent.known and base.known:
        return widen(compare_ratios(percent, base, min(row.shortest_time, other.shortest_time)), RUN_TO_RUN)
    return widen(stats.unpaired_ratio(other.time, row.time), TIME_TO_TIME)


def _format_speed(ratio: Interval) -> str:
    """Return `2.2x slower than` or `as fast as`."""
    change = describe_change(ratio.value, ratio)
    return "as fast as" if float(change.partition("x")[0]) == 1 else f"{change} than"


def describe_change(value: float, ratio: Interval) -> str:
    """Return `2.2x faster` or `2.2x slower`, with the digits that the interval of the ratio supports."""
    source = ratio.scale(1 / ratio.value)
    return f"{number_within(1 / value, source)}x slower" if value < 1 else f"{number_within(value, source)}x faster"

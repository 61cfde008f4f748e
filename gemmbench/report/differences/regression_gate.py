"""The gate: decides whether rows became slower than a reference by more than a margin.

A row's slowdown says how much longer it takes than its reference: 0.05 means 5 % longer. The whole 95 % interval
decides, so that a row near the margin neither passes nor fails by luck. It is `pass` below the margin, `regression`
above it, and otherwise `inconclusive`. Between two runs, the interval is widened by how much such a ratio differs
between runs of the same code (run_differences.RUN_TO_RUN).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.differences.run_differences import Difference, RunDifferences
from gemmbench.report.explanation import name_row
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.text import format_share

PASS, REGRESSION, INCONCLUSIVE, BROKEN = "pass", "regression", "inconclusive", "broken"
_COUNTED = {PASS: "passed", REGRESSION: "slower", BROKEN: "broken", INCONCLUSIVE: "inconclusive"}


@dataclass(frozen=True)
class CheckedRow:
    """A row with its reference. `speed` is relative to the reference; NaN if unknown."""

    reference: Row
    row: Row
    speed: Interval
    margin: float

    @cached_property
    def slowdown(self) -> Interval:
        """How much longer the row takes, as a share of the reference's time."""
        return Interval(*(1 / each - 1 for each in (self.speed.value, self.speed.high, self.speed.low)))

    @property
    def verdict(self) -> str:
        """The verdict: pass, regression, inconclusive, or broken if the row is not correct."""
        if not self.row.valid:
            return BROKEN
        if not self.slowdown.known:
            return INCONCLUSIVE
        if self.slowdown.low > self.margin:
            return REGRESSION
        return PASS if self.slowdown.high <= self.margin else INCONCLUSIVE

    @property
    def reason(self) -> str:
        """The verdict in one sentence."""
        name = name_row(self.row)
        if self.verdict == BROKEN:
            return f"{name}: {self.row.status}: {self.row.record.reason}"
        if not self.slowdown.known:
            return f"{name} cannot be judged: {self._explain_unknown()}"
        caveat = self.row.environment.caveat
        margin, scope = format_share(self.margin), f"; {caveat}" if caveat else ""
        if self.verdict == INCONCLUSIVE:
            low, high = format_share(self.slowdown.low), format_share(self.slowdown.high)
            return f"{name}: cannot decide: 95 % interval {low} to {high}, margin {margin}{scope}"
        return f"{name} {format_change(self.slowdown)}, the margin is {margin}{scope}"

    def _explain_unknown(self) -> str:
        for label, row in (("the reference", self.reference), ("the row", self.row)):
            if not row.ranked:
                return f"{label} is {row.status}"
        baseline = self.row.environment.baseline
        few = not (self.row.time.known and self.reference.time.known)
        if few:
            return "too few rounds for an interval, which needs 4"
        return f"no ratio to {baseline or 'a baseline'} in both runs"


def format_change(slowdown: Interval) -> str:
    """Describe a change such as `takes 5.1 % longer (95 % interval 4.8 % to 5.4 %)`."""
    word = "longer" if slowdown.value >= 0 else "less time"
    low, high = (format_share(each) for each in (slowdown.low, slowdown.high))
    return f"takes {format_share(abs(slowdown.value))} {word} (95 % interval {low} to {high})"


@dataclass(frozen=True)
class Check:
    """The rows of a check, the name of the `reference`, and what was not compared.

    `paired` is True if a row and its reference were measured in the same rounds. `missing` names rows of the reference
    that were not measured now, and `new` names rows without a reference, which are only verified. `notes` say
    what else was different.
    """

    reference: str
    margin: float
    rows: Sequence[CheckedRow]
    missing: Sequence[str] = ()
    new: Sequence[str] = ()
    notes: Sequence[str] = ()
    paired: bool = False

    def count(self, verdict: str) -> int:
        """Count the rows with this verdict. A missing row is inconclusive."""
        missing = len(self.missing) if verdict == INCONCLUSIVE else 0
        return sum(row.verdict == verdict for row in self.rows) + missing

    @property
    def verdict(self) -> str:
        """The verdict of the worst row."""
        return next((one for one in (BROKEN, REGRESSION, INCONCLUSIVE) if self.count(one)), PASS)

    @property
    def closing_line(self) -> str:
        """The number of rows with each verdict, and the worst row."""
        counts = [(self.count(verdict), word) for verdict, word in _COUNTED.items()]
        counts += [(len(self.new), "new")]
        words = ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing to compare"
        slower = [row for row in self.rows if row.verdict == REGRESSION]
        worst = max(slower, key=lambda row: row.slowdown.value, default=None)
        ending = f"; worst: {_describe_worst(worst)}" if worst else ""
        caveat = next(filter(None, (row.row.environment.caveat for row in self.rows)), "")
        ending += f"; {caveat}" if caveat else ""
        return f"check against {self.reference}, margin {format_share(self.margin)}: {words}{ending}"


def _describe_worst(worst: CheckedRow) -> str:
    record = worst.row.record
    return f"{record.variant} at {record.problem.size} takes {format_share(worst.slowdown.value)} longer"


def check_pairs(pairs: Iterable[tuple[Row, Row]], margin: float) -> list[CheckedRow]:
    """Judge rows that were measured in the same rounds as their reference, which comes first in each pair."""
    return [CheckedRow(reference, row, _measure_pair(reference, row), margin) for reference, row in pairs]


def check_new(rows: Iterable[Row], margin: float) -> list[CheckedRow]:
    """Return the rows without a reference that are not correct; the others have nothing to be judged by."""
    return [CheckedRow(row, row, UNKNOWN, margin) for row in rows if not row.valid]


def _measure_pair(reference: Row, row: Row) -> Interval:
    """Return the paired speed of two rows of a batch; NaN if one is wrong or of another class."""
    if not reference.is_comparable_with(row):
        return UNKNOWN
    return stats.speed_ratio(row.record.by_round, reference.record.by_round)


def check_differences(differences: RunDifferences, margin: float) -> list[CheckedRow]:
    """Judge rows against another run by comparing each row's ratio to the baseline of its run.

    Rows that are not ranked have no such ratio and are left out.
    """
    judged = [each for each in differences.rows if not each.is_baseline and not each.unranked]
    return [_check_difference(each, margin) for each in judged]


def note_unranked(differences: RunDifferences) -> list[str]:
    """Note which rows a check leaves out because they are not ranked, if there are any."""
    names = [name_row(each.row) for each in differences.rows if each.unranked]
    return [f"Not checked, because not ranked: {', '.join(names)}."] if names else []


def _check_difference(difference: Difference, margin: float) -> CheckedRow:
    return CheckedRow(difference.reference, difference.row, difference.judged_speed, margin)

"""Finds which variant is fastest at each problem, or which variants are too close to call."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import Interval
from gemmbench.report.comparison import Comparison, ProblemRows, name_problems
from gemmbench.report.row import Row
from gemmbench.report.text import format_share, number_within, with_interval
from gemmbench.report.verdicts import (
    INCONCLUSIVE,
    SAME,
    SLOWER,
    compare_speeds,
    describe_change,
    explain_margin,
    find_best_rows,
    find_row_beside_others,
    judge_pair,
    sort_by_speed,
)

FASTER, TOO_FEW, NOISY = "faster", "too few", "noisy"
_NEAR = 0.05
"""If an interval is inconclusive and reaches beyond 1 +- this, the rows are noisy rather than close."""
_DIGITS, _MOST_NAMES = 3, 4


@dataclass(frozen=True)
class Fastest:
    """The fastest variants of a problem: the best row of each variant that is, or may be, the fastest, sorted by speed.

    `word` is `faster` if a single row is faster than all others, and `same` if all rows lie within the margin of the
    first. It is `inconclusive` if the data cannot decide between rows that are close, `noisy` if it cannot because
    intervals are wide, and `too few` if there are too few rounds to decide. `level` is the confidence level of each
    comparison. `seconds` are the row behind the first and those that cannot be told apart from it; `second_word`
    says how these compare. `baseline` is the row of the baseline, if it is ranked.
    """

    rows: Sequence[Row]
    word: str
    margin: float
    level: float
    seconds: Sequence[Row]
    second_word: str
    baseline: Row | None

    @property
    def is_decided(self) -> bool:
        """Whether these rows are known to be the fastest."""
        return self.word in (FASTER, SAME)

    @property
    def beats_baseline(self) -> bool:
        """Whether a single row is faster than the baseline and all others."""
        return self.word == FASTER and self.baseline is not None and self.rows[0] is not self.baseline

    @property
    def names(self) -> str:
        """The names, such as `sgemm`, `sgemm and cublas`, or, if undecided, `sgemm or cublas`."""
        return _join_names(self.rows, "and" if self.is_decided else "or")

    @property
    def sentence(self) -> str:
        """A sentence such as `sgemm is fastest, 1.17x cublas`, or which variants are too close to call."""
        names, details = _join_names(self.rows, "and"), self.details
        if self.word == FASTER:
            return f"{names} is fastest{'; ' if self.rows[0] is self.baseline else ', '}{details[0]}"
        if self.word == SAME:
            return ", ".join([f"{names} are fastest", *details])
        return f"{names} {'have' if self.word == TOO_FEW else 'are'} {'; '.join(details)}"

    @property
    def summary(self) -> str:
        """The same sentence without a figure if one row is fastest, for lines that follow it with figures."""
        return f"{self.names} is fastest" if self.word == FASTER else self.sentence

    @property
    def details(self) -> list[str]:
        """How the rows compare with each other and with the baseline."""
        first, factor = self.rows[0], self._compare_with_baseline()
        if self.word == FASTER:
            return [factor or self._describe_alone()]
        if self.word == SAME:
            other = "each other" if len(self.rows) == 2 else first.record.variant
            return [f"within {format_share(self.margin)} of {other}", *([factor] if factor else [])]
        return [
            f"{_UNDECIDED[self.word]}{self._describe_ratio()}",
            *([f"{first.record.variant} is {factor}"] if factor else []),
        ]

    @property
    def baseline_ratio(self) -> Interval | None:
        """The speed of the first row relative to the baseline; None if unknown or if the baseline is among the rows."""
        if self.baseline is None or any(row is self.baseline for row in self.rows):
            return None
        ratio = compare_speeds(self.rows[0], self.baseline)
        return ratio if ratio.known else None

    def _compare_with_baseline(self) -> str:
        """Return text such as `1.17x cublas`; "" if the ratio is unknown or the baseline is one of the rows."""
        ratio = self.baseline_ratio
        if ratio is None or self.baseline is None:
            return ""
        return f"{number_within(ratio.value, ratio, _DIGITS)}x {self.baseline.record.variant}"

    def _describe_alone(self) -> str:
        """Describe a row that has no ratio to the baseline: its speed, or the baseline's lead over the next row."""
        first = self.rows[0]
        on_gpu = first.environment.gpu
        if first is not self.baseline and not on_gpu:
            return f"{number_within(1e3 * first.time.value, first.time, _DIGITS)} ms"
        if first is not self.baseline:
            return f"{number_within(first.gflops, first.time, _DIGITS)} GFLOPS"
        second, *equal = self.seconds
        ratio, name = compare_speeds(second, first), second.record.variant
        tie = ""
        if equal:
            others = _join_names(equal, "and")
            ties = {SAME: f"within {format_share(self.margin)} of", INCONCLUSIVE: "too close to tell from"}
            tie = f", {ties.get(self.second_word, 'too noisy to tell from')} {others}"
        if not on_gpu:
            return f"{name} is {describe_change(ratio.value, ratio)}{tie}"
        return f"{name} reaches {number_within(100 * ratio.value, ratio, _DIGITS)} % of it{tie}"

    def _describe_ratio(self) -> str:
        """Return `, 1.0x +- 0.1` or `, about 8x apart` for two rows; "" if the interval is wider than its ratio."""
        if len(self.rows) > 2:
            return ""
        ratio = compare_speeds(*self.rows).at_level(self.level)
        if ratio.known and ratio.half_width > ratio.value:
            return ""
        if ratio.known:
            return f", {with_interval(ratio).replace(' ', 'x ', 1)}"
        return f", about {number_within(max(ratio.value, 1 / ratio.value), ratio)}x apart"


_UNDECIDED = {
    INCONCLUSIVE: "too close to call",
    NOISY: "too noisy to call",
    TOO_FEW: "too few rounds for a verdict",
}


def _join_names(rows: Sequence[Row], link: str) -> str:
    """Join names as `a`, `a and b` or `a, b and c`. A long list is cut and ends with a count."""
    names = [row.record.variant for row in rows]
    if len(names) > _MOST_NAMES:
        names = [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1} more"]
    *others, last = names
    return f"{', '.join(others)} {link} {last}" if others else last


def find_fastest(problem: ProblemRows, margin: float = stats.MARGIN, level: float = 0) -> Fastest | None:
    """Find the fastest variants by their best rows; None if fewer than two variants are ranked.

    The first row is compared with the second, the third and so on, until a row is slower by more than the margin. The
    rows behind it take even longer and are not tested. Each comparison has a level of 1 - 5 % / (rows - 1), so that all
    of them together are wrong for at most 5 % of problems (Bonferroni), or the given level, such as that of verdicts on
    pairs that are shown next to it.
    """
    ranked = sort_by_speed(find_best_rows(problem.rows).values())
    if len(ranked) < 2:
        return None
    level = level or 1 - (1 - stats.LEVEL) / (len(ranked) - 1)
    rows, word = _gather_equal(ranked, margin, level)
    seconds, second_word = _gather_equal(ranked[1:], margin, level)
    baseline = next((row for row in ranked if row.record.variant == row.environment.baseline), None)
    return Fastest(rows, word, margin, level, seconds, second_word, baseline)


def _gather_equal(ranked: Sequence[Row], margin: float, level: float) -> tuple[list[Row], str]:
    """The first row and those behind it that are not clearly slower, and the word that says how they compare."""
    first, *others = ranked
    rows, words = [first], set[str]()
    for row in others:
        ratio = compare_speeds(row, first).at_level(level)
        word = stats.verdict(ratio, margin) if ratio.known else TOO_FEW
        if word == INCONCLUSIVE and not 1 - _NEAR <= ratio.low <= ratio.high <= 1 + _NEAR:
            word = NOISY
        if word == SLOWER:
            break
        rows.append(row)
        words.add(word)
    return rows, _sum_up(words)


def _sum_up(words: Collection[str]) -> str:
    """Combine the verdicts on all rows that are not clearly slower into one word."""
    if not words:
        return FASTER
    if words == {SAME}:
        return SAME
    return next((word for word in (TOO_FEW, NOISY) if word in words), INCONCLUSIVE)


_MOST_LINES = 2
"""If there are more problems than this, those with the same answer share a line."""
_MOST_SIZES = 6


def list_fastest(comparison: Comparison, chosen: bool = False) -> list[str]:
    """Return a line such as `4096: sgemm is fastest, 1.17x cublas` for each problem with two or more ranked variants.

    On a CPU, the first line says that they say nothing about a GPU. It also says if only `chosen` kernels are
    compared. With more than two problems, those with the same answer share a line: `sgemm is fastest at all 9 sizes,
    1.14x to 1.77x cublas`. Problems that were interrupted are left out.
    """
    scope = ", of the kernels shown" * chosen + comparison.environment.scope
    name = name_problems(comparison.problems)
    judged = [
        (name[problem.problem], fastest)
        for problem in comparison.problems
        if not any(row.record.stopped == "interrupted" for row in problem.rows)
        and (fastest := find_fastest(problem)) is not None
    ]
    if len(judged) <= _MOST_LINES:
        return _add_scope([f"{where}: {fastest.sentence}" for where, fastest in judged], scope)
    groups: dict[tuple[str, frozenset[str]], list[tuple[str, Fastest]]] = {}
    for where, fastest in judged:
        names = frozenset(row.record.variant for row in fastest.rows)
        groups.setdefault((fastest.word, names), []).append((where, fastest))
    ordered = sorted(groups.values(), key=len, reverse=True)
    several = len({problem.problem.size for problem in comparison.problems}) < len(comparison.problems)
    noun = "problems" if several else "sizes"
    return _add_scope([_sum_up_problems(group, len(judged), noun) for group in ordered], scope)


def _add_scope(lines: list[str], scope: str) -> list[str]:
    """Put what these lines are about into a line of its own, if they are not about a GPU."""
    return [f"O{scope.removeprefix(', o')}:", *lines] if scope and lines else lines


def conclude_comparison(
    comparison: Comparison, names: Sequence[str], margin: float, also: Collection[str] = ()
) -> list[str]:
    """Return the lines that end a comparison of variants: for each problem, a verdict on each pair.

    For more than two variants, a line names the fastest and only the pairs with it follow, as well as those whose
    verdict is one of the words in `also`.
    """
    lines, named = [explain_margin(margin, comparison.environment.scope)], name_problems(comparison.problems)
    for problem in comparison.problems:
        rows = [row for row in problem.rows if row.record.variant in names]
        fastest, where = find_fastest(replace(problem, rows=rows), margin, stats.LEVEL), named[problem.problem]
        pairs = list(itertools.combinations(names, 2))
        if len(names) > 2 and fastest is not None:
            first = fastest.rows[0].record.variant
            ranked = [row.record.variant for row in sort_by_speed(find_best_rows(rows).values())]
            others = [name for name in (*ranked, *(name for name in names if name not in ranked)) if name != first]
            lines.append(f"{where}: {fastest.summary}.")
            rest = [judge_pair(problem, where, *pair, margin) for pair in pairs if first not in pair]
            pairs = [(other, first) for other in others]
        else:
            rest = []
        verdicts = [judge_pair(problem, where, *pair, margin) for pair in pairs]
        lines += [verdict.sentence for verdict in (*verdicts, *(each for each in rest if each.word in also))]
    return lines


def _sum_up_problems(group: Sequence[tuple[str, Fastest]], total: int, noun: str) -> str:
    """Return a line such as `sgemm is fastest at 5 of 9 sizes (256, 512, 1024 and 2 more), 1.14x to 1.77x cublas`."""
    _, first = group[0]
    names, count = _join_names(first.rows, "and"), len(group)
    labels = [where for where, _ in group]
    shown = labels if count <= _MOST_SIZES else [*labels[: _MOST_SIZES - 1], f"{count - _MOST_SIZES + 1} more"]
    listed = f"{', '.join(shown[:-1])} and {shown[-1]}" if count > 1 else shown[0]
    where = f"at all {total} {noun}" if count == total else f"at {count} of {total} {noun} ({listed})"
    factors = [fastest.baseline_ratio for _, fastest in group]
    known = [ratio for ratio in factors if ratio is not None]
    factor = f", {_format_factors(known)} {first.rows[0].environment.baseline}" if len(known) == count else ""
    match first.word:
        case "faster":
            return f"{names} is fastest {where}{factor}"
        case "same":
            return f"{names} are fastest {where}, within {format_share(first.margin)} of each other"
        case word:
            return f"{names} {'have' if word == TOO_FEW else 'are'} {_UNDECIDED[word]} {where}"


def _format_factors(ratios: Sequence[Interval]) -> str:
    """`1.17x`, or `1.14x to 1.77x`."""
    low, high = (choose(ratios, key=lambda ratio: ratio.value) for choose in (min, max))
    ends = dict.fromkeys(f"{number_within(ratio.value, ratio, _DIGITS)}x" for ratio in (low, high))
    return " to ".join(ends)


_MOST_TIES = 3


def list_best_configurations(comparison: Comparison, margin: float = stats.MARGIN) -> list[str]:
    """Name the best configuration of each kernel that ran in more than one, and the configurations that tie with it.

    A line reads `naive: best BX=16 BY=16; BX=16 BY=8 and 3 more tie`. The list is empty if there are more than two
    problems. Library algorithms are left out, since users do not choose them.
    """
    lines, several = [], len(comparison.problems) > 1
    for problem in comparison.problems if len(comparison.problems) <= _MOST_LINES else ():
        for best in find_best_rows(problem.rows).values():
            rows = [row for row in problem.rows if row.record.variant == best.record.variant and row.ranked]
            if len({row.record.configuration for row in rows}) > 1 and best.record.path:
                where = f"{problem.problem.size}: " if several else ""
                lines.append(f"{where}{best.record.variant}: {_describe_best(best, rows, margin)}")
    return lines


def compare_with_best(best: Row, others: Sequence[Row], margin: float = stats.MARGIN) -> list[str]:
    """How each of other rows compares with the best: a verdict, or TOO_FEW if there are too few rounds for one."""
    level = 1 - (1 - stats.LEVEL) / max(1, len(others))
    ratios = [compare_speeds(row, best).at_level(level) for row in others]
    return [stats.verdict(ratio, margin) if ratio.known else TOO_FEW for ratio in ratios]


def _describe_best(best: Row, rows: Sequence[Row], margin: float) -> str:
    base = find_row_beside_others(best, rows)
    others = [row for row in rows if row.record.configuration != best.record.configuration]
    words = compare_with_best(base, others, margin)
    few = words.count(TOO_FEW)
    tied = [row.record.configuration for row, word in zip(others, words, strict=True) if word not in (SLOWER, TOO_FEW)]
    parts = [f"best {best.record.configuration}"]
    if tied:
        more = [f"{len(tied) - _MOST_TIES} more"] if len(tied) > _MOST_TIES else []
        named = [*tied[:_MOST_TIES], *more]
        joined = f"{', '.join(named[:-1])} and {named[-1]}" if len(named) > 1 else named[0]
        parts.append(f"{joined} {'tie' if len(tied) > 1 else 'ties'}")
    if few:
        parts.append(f"{few} {'others have' if few > 1 else 'other has'} too few rounds for a verdict")
    return "; ".join(parts)

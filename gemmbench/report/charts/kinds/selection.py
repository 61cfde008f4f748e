"""Which rows a chart shows, and what it says about the others."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from gemmbench.errors import UsageError, nearest
from gemmbench.planning.problems import Problem
from gemmbench.report.charts.choices import Choices
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.text import count_noun


def select_rows(comparisons: Sequence[Comparison], choices: Choices) -> list[Row]:
    """The right and possible rows that the choices leave, in percent those with a percentage.

    Raises UsageError if there are none.
    """
    rows = [row for comparison in comparisons for row in comparison.rows]
    _require_known(choices.variants, {row.record.variant for row in rows})
    chosen = [row for row in rows if choices.include(row.record)]
    ranked = [row for row in chosen if row.ranked]
    if not ranked:
        raise UsageError(_explain_nothing(rows, chosen))
    _require_known([choices.highlight] if choices.highlight else [], {row.record.variant for row in ranked})
    drawn = [row for row in ranked if not choices.percent or not math.isnan(row.percent_of_baseline.value)]
    if not drawn:
        raise UsageError("nothing to draw in percent: no row was compared with a baseline; leave out percent")
    return drawn


def _require_known(names: Iterable[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            held = ", ".join(sorted(known)) or "none"
            raise UsageError(f"no row of '{name}' to draw{nearest(name, known)}; the results hold: {held}")


def _explain_nothing(rows: Sequence[Row], chosen: Sequence[Row]) -> str:
    if not rows:
        return "nothing to draw: the results hold no rows of kernels"
    if not chosen:
        held = ", ".join(dict.fromkeys(str(row.record.problem) for row in rows))
        return f"nothing to draw: no row fits the choices; the results hold these problems: {held}"
    return f"nothing to draw: no row has a right and possible result ({_count_statuses(chosen)})"


def _count_statuses(rows: Sequence[Row]) -> str:
    counts = Counter(row.status if row.record.samples or row.status != "ok" else "not timed" for row in rows)
    return ", ".join(f"{count} {status}" for status, count in counts.items())


def note_unranked(comparisons: Sequence[Comparison], choices: Choices) -> list[str]:
    """A sentence on the rows that ran but are not drawn because they are not ranked, if there are any."""
    rows = [row for comparison in comparisons for row in comparison.rows if choices.include(row.record)]
    unranked = [row for row in rows if not row.ranked and row.record.status != "skipped"]
    if not unranked:
        return []
    verb = "is" if len(unranked) == 1 else "are"
    return [f"Not drawn: {count_noun(len(unranked), 'row')} that {verb} not ranked ({_count_statuses(unranked)})."]


def pick_fastest(rows: Iterable[Row]) -> list[Row]:
    """One row for each run, variant and problem: the winner that was measured again, else the fastest."""
    best: dict[tuple[str, str, Problem], Row] = {}
    for row in rows:
        key = (row.environment.run, row.record.variant, row.record.problem)
        if key not in best or _quality(row) < _quality(best[key]):
            best[key] = row
    return list(best.values())


def choose_problem(rows: Sequence[Row]) -> list[Row]:
    """The rows of one problem: the one with the most variants, the largest of several such."""
    problems: dict[Problem, list[Row]] = {}
    for row in rows:
        problems.setdefault(row.record.problem, []).append(row)
    return max(problems.values(), key=lambda rows: (len({row.record.variant for row in rows}), rows[0].record.flops))


def _quality(row: Row) -> tuple[bool, float]:
    return row.record.phase != "final", row.time.value

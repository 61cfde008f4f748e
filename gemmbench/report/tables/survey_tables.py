"""The tables of a survey: where a pick loses to its best candidate, and where that loses to the best library."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gemmbench.bench.tuning.cost_fit import JudgedPick
from gemmbench.planning.drawn_shapes import KINDS
from gemmbench.planning.manifests.variant import Candidate
from gemmbench.planning.plans.plan import format_configuration
from gemmbench.report.table import Report, Table
from gemmbench.report.text import count_noun, format_share, number

_BELOW = 0.92
"""A shape whose best candidate is below this share of the best library is counted."""
_WORST, _LEAST_LOSS = 6, 0.02
_MOST_FAULTS = 8


@dataclass(frozen=True)
class SurveyResult:
    """What a survey found: the shapes by number, and what the pick does at those left out of the fit.

    `faults` counts the shapes at which a candidate failed, by candidate and reason. `wrong` are left out because their
    results are wrong, and `unchecked` were timed without being verified, each with a reason. `left_out` counts times of
    code that has changed since. `kept` is the survey file, and `written` that of the constants.
    """

    variant: str
    card: str
    fitted: int
    judged: Sequence[JudgedPick]
    faults: Mapping[tuple[Candidate, str], int] = field(default_factory=dict)
    wrong: Mapping[Candidate, str] = field(default_factory=dict)
    unchecked: Mapping[Candidate, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    kept: Path | None = None
    written: Path | None = None
    interrupted: bool = False


def report_survey(result: SurveyResult) -> Report:
    """Report the losses by group in each precision, the worst shapes, and what failed."""
    tables = []
    for precision in dict.fromkeys(each.shape.problem.precision_name for each in result.judged):
        mine = [each for each in result.judged if each.shape.problem.precision_name == precision]
        tables.append(_tabulate_groups(result, precision, mine))
        tables += _tabulate_worst(result.variant, precision, mine)
    return Report(tables, closing=list(_describe(result)))


_GROUP_HEADINGS = (
    *("kind of shape", "rows", "shapes", "pick loses", "at most", "with constants in use"),
    *("best candidate (% of library)", "pick (% of library)", "shapes below 92 %"),
)


def _tabulate_groups(result: SurveyResult, precision: str, judged: Sequence[JudgedPick]) -> Table:
    kinds = [*KINDS, *dict.fromkeys(each.shape.kind for each in judged if each.shape.kind not in KINDS)]
    groups = [(kind, [each for each in judged if each.shape.kind == kind]) for kind in kinds] + [("all", judged)]
    cells = []
    for kind, members in groups:
        for name, is_aligned in (("aligned", True), ("unaligned", False)):
            if chosen := [each for each in members if each.is_aligned == is_aligned]:
                cells.append([kind, name, *_summarize(chosen)])
    notes = [
        "pick loses: how much longer the pick takes than the best candidate, with the fitted constants (geometric "
        "mean). If it is large, change rules and models, or survey more shapes.",
        "best candidate: if it is slow next to the best library, better kernels are needed.",
    ]
    title = f"{result.variant} in {precision} on {result.card}: shapes left out of the fit"
    return Table(title, _GROUP_HEADINGS, cells, notes, left=_GROUP_HEADINGS[:2], fold_headings=True)


def _summarize(judged: Sequence[JudgedPick]) -> list[str]:
    losses = [each.loss for each in judged]
    below = sum(each.best_share < _BELOW for each in judged)
    return [
        str(len(judged)),
        _average(losses),
        format_share(max((loss for loss in losses if not math.isnan(loss)), default=0.0)),
        _average([each.loss_in_use for each in judged]),
        _mean_share([each.best_share for each in judged]),
        _mean_share([each.share for each in judged]),
        str(below),
    ]


def _average(losses: Iterable[float]) -> str:
    """Format the geometric mean of times relative to the best."""
    known = [1 + loss for loss in losses if not math.isnan(loss)]
    return format_share(statistics.geometric_mean(known) - 1) if known else "-"


def _mean_share(shares: Iterable[float]) -> str:
    known = [share for share in shares if not math.isnan(share)]
    return number(100 * statistics.geometric_mean(known), 4) if known else "-"


def _tabulate_worst(name: str, precision: str, judged: Sequence[JudgedPick]) -> Iterator[Table]:
    """Yield the shapes at which the pick loses most, and those at which the best candidate does."""
    for title, measure in (
        (f"{name} in {precision}: where the pick loses most to the best candidate", lambda each: each.loss),
        (f"{name} in {precision}: where the best candidate loses most to the best library", _lose_to_library),
    ):
        if worst := _find_worst(judged, measure):
            headings = ["problem", "picked", "best candidate", "loss", "library", "best candidate (% of library)"]
            cells = [_list_cells(each) for each in worst]
            left = ["problem", "picked", "best candidate", "library"]
            yield Table(title, headings, cells, left=left, fold=["picked", "best candidate"], fold_headings=True)


def _lose_to_library(judged: JudgedPick) -> float:
    return 1 / judged.best_share - 1


def _find_worst(judged: Iterable[JudgedPick], measure: Callable[[JudgedPick], float]) -> list[JudgedPick]:
    """Return the shapes with the largest losses, leaving out small ones."""
    known = [each for each in judged if measure(each) > _LEAST_LOSS]
    return sorted(known, key=measure, reverse=True)[:_WORST]


def _list_cells(judged: JudgedPick) -> list[str]:
    share = "-" if math.isnan(judged.best_share) else number(100 * judged.best_share, 4)
    loss = "-" if math.isnan(judged.loss) else format_share(judged.loss)
    picked, best = _format(judged.picked), _format(judged.best)
    return [str(judged.shape.problem), picked, best, loss, judged.library or "-", share]


def _format(candidate: Candidate | None) -> str:
    return "-" if candidate is None else format_configuration(dict(candidate[1]), candidate[0])


def _describe(result: SurveyResult) -> Iterator[str]:
    held = len(result.judged)
    if not result.fitted and not held:
        yield "No shape was measured, so no constants were fitted; give more time: --max-time 480."
    else:
        yield f"Fitted to {count_noun(result.fitted, 'shape')}, judged at {count_noun(held, 'shape')} left out of it."
    for name, count in result.left_out.items():
        yield f"Left out {count_noun(count, 'time')} of {name}: its code has changed since."
    yield from (f"Wrong, not timed: {_format(each)}: {why}" for each, why in result.wrong.items())
    if result.unchecked:
        whose = ", ".join(dict.fromkeys(name for name, _ in result.unchecked))
        what = f"{count_noun(len(result.unchecked), 'candidate')} of {whose}"
        yield f"Not verified, because no small problem fits: {what}."
    counts = Counter(dict(result.faults))
    for (candidate, reason), count in counts.most_common(_MOST_FAULTS):
        yield f"Failed at {count_noun(count, 'shape')}: {_format(candidate)}: {reason}"
    if len(counts) > _MOST_FAULTS:
        yield f"{len(counts) - _MOST_FAULTS} more failures are in the survey file."

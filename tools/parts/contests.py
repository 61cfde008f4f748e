"""Parts that show where a kernel loses: every problem of one or more sweeps, starting with the worst."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gemmbench.report.comparison import ProblemRows
from gemmbench.report.row import MEMORY, Row
from gemmbench.report.table import format_cells
from gemmbench.report.text import count_noun, number, percent
from gemmbench.report.verdicts import find_best_rows
from tools.citations import Citation
from tools.page import NoResults, Page
from tools.parts.tables import STYLE, cite_rows, read_comparison

_HEADINGS = ["problem", "kernel", "time (us)", "best other", "% of it", "% of the bound", "what holds it back"]
_ALIGNMENT = ["left", "left", "right", "left", "right", "right", "left"]
_WORST = "worst="
_SHORT, _NEARLY_FULL = 15e-6, 0.9  # seconds of a launch; share of the last wave


@dataclass(frozen=True)
class Contest:
    """The fastest rows of a kernel and of its rivals at one problem."""

    ours: Row
    rival: Row

    @property
    def picked(self) -> str:
        """The kernel that ran: the one that our kernel picked, or our kernel itself."""
        return self.ours.record.picked.partition(":")[0] or self.ours.record.variant

    @property
    def share(self) -> float:
        """Our speed in percent of the rival's, from the rounds that both share with the baseline if both have some."""
        ours, rival = self.ours.percent_of_baseline.value, self.rival.percent_of_baseline.value
        paired = 100 * ours / rival
        return paired if not math.isnan(paired) else 100 * self.rival.time.value / self.ours.time.value


def _write_contest(page: Page, kernel: str, *words: str) -> str:
    """How fast a kernel is relative to the best of all others, problem by problem, starting with the worst.

    `worst=10` shows only ten problems. Raises StoreError if the files have no problem in which it ran against another.
    """
    patterns = [word for word in words if not word.startswith(_WORST)]
    found: list[Contest] = []
    citations: list[Citation] = []
    lacking = 0
    for pattern in patterns:
        contests = find_contests(pattern, kernel)
        found += contests
        citations.append(cite_contests(page, pattern, contests))
        lacking += _count_lacking(pattern, len(contests))
    if not found:
        raise NoResults(f"{' and '.join(patterns)} have no problem with {kernel} and another")
    found.sort(key=lambda contest: contest.share)
    summary = _summarize([contest.share for contest in found]) + (
        f"\n{_describe_lacking(lacking, kernel)}." if lacking else ""
    )
    return "\n".join([summary, "", _format_worst(found, words), "", *dict.fromkeys(map(str, citations))])


def find_contests(pattern: str, kernel: str) -> list[Contest]:
    """The problems of the newest file at which a kernel ran against another. Raises StoreError."""
    found = (_find_contest(problem, kernel) for problem in read_comparison(pattern).problems)
    return [each for each in found if each]


def cite_contests(page: Page, pattern: str, contests: Sequence[Contest]) -> Citation:
    """Cite the rows of contests that were found in the newest file. Raises StoreError."""
    rows = [row for each in contests for row in (each.ours, each.rival)]
    return cite_rows(page, read_comparison(pattern), rows)


def _count_lacking(pattern: str, shown: int) -> int:
    """The number of problems of the newest file that are not shown."""
    return len(read_comparison(pattern).problems) - shown


def _describe_lacking(count: int, kernel: str) -> str:
    """Names the problems that are not shown, such as those where products could overlap."""
    return f"This leaves out {count_noun(count, 'problem')} for which {kernel} or all others have no ranked row"


def _find_contest(problem: ProblemRows, kernel: str) -> Contest | None:
    best = find_best_rows(problem.rows)
    ours = best.pop(kernel, None)
    rival = min(best.values(), key=lambda row: row.time.value, default=None)
    return Contest(ours, rival) if ours and rival else None


def _format_worst(contests: Sequence[Contest], words: Sequence[str]) -> str:
    """The table of sorted contests, with a line for each; `worst=10` among the words shows only the first ten."""
    count = next((int(word.removeprefix(_WORST)) for word in words if word.startswith(_WORST)), len(contests))
    table = format_cells([_format_contest(each) for each in contests[:count]], _HEADINGS, STYLE, _ALIGNMENT)
    return table if count >= len(contests) else f"The worst {count}:\n\n{table}"


def _summarize(shares: list[float]) -> str:
    mean = statistics.geometric_mean(shares)
    below = [sum(share < limit for share in shares) for limit in (100, 95)]
    return (
        f"{count_noun(len(shares), 'problem')}, geometric mean {mean:.1f} % of the best other kernel.\n"
        f"Below 100 %: {below[0]}; below 95 %: {below[1]}."
    )


def _format_contest(contest: Contest) -> list[str]:
    ours, rival = contest.ours, contest.rival
    return [
        str(ours.record.problem),
        contest.picked,
        number(ours.time.value * 1e6),
        rival.record.variant,
        number(contest.share, 4),
        number(ours.roofline.percent, 3),
        ", ".join(_name_reasons(ours)) if contest.share < 100 else "",
    ]


def _name_reasons(row: Row) -> Iterator[str]:
    """What keeps a row from its bound, as far as its launch shows."""
    if row.time.value < _SHORT:
        yield "a short launch"
    launch = row.launch_occupancy
    if launch and launch.waves < 1:
        yield f"blocks fill {percent(launch.waves)} of a wave"
    elif launch and launch.last_wave < _NEARLY_FULL:
        yield f"the last of {math.ceil(launch.waves)} waves is {percent(launch.last_wave)} full"
    yield "memory" if row.roofline.bound == MEMORY else "arithmetic"


KINDS: Mapping[str, Callable[..., str]] = {"contest": _write_contest}

"""Parts that pool draws of shapes: how often a kernel is slower than the best other one, and how precisely that is
known.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence

from gemmbench.errors import StoreError
from gemmbench.planning.problems import Problem
from gemmbench.report.table import format_cells
from gemmbench.report.text import count_noun
from tools.page import ROOT, Page
from tools.parts.contests import Contest, count_lacking, describe_lacking, find_contests, format_worst
from tools.parts.tables import STYLE, find_files

_COUNTS = ["mean %", "below 92 %"]
_LIST_HEADINGS = ["precision", "draw", "aligned", *_COUNTS, "not aligned", *_COUNTS, "lowest %"]
_LOW = 92.0
_HEADINGS = ["shapes", "number", "% of the best other", "below 95 %", "share below 95 %", "95 % interval"]
_ALIGNMENT = ["left", *["right"] * 5]
_LIMIT = 95.0
_LEVEL = 0.95
_ALIGNMENT_BYTES = 16
_HALVINGS = 50


def _write_draws(page: Page, kernel: str, pattern: str, *words: str) -> str:
    """How fast a kernel is relative to the best of all others, at the shapes of all draws that were measured.

    `worst=10` shows ten shapes. Raises StoreError if no file matches.
    """
    newest = _find_newest(pattern)
    found = {number: find_contests(page, path, kernel) for number, path in newest.items()}
    draws = {number: contests for number, (contests, _) in found.items()}
    whose = dict.fromkeys(str(citation) for _, citation in found.values())
    contests = sorted((each for one in draws.values() for each in one), key=lambda each: each.share)
    if not contests:
        raise StoreError(f"{pattern} has no problem with {kernel} and another")
    aligned = [each for each in contests if has_aligned_rows(each.ours.record.problem)]
    groups = {
        "all": contests,
        "aligned": aligned,
        "not aligned": [each for each in contests if not has_aligned_rows(each.ours.record.problem)],
        **{f"draw {number}": one for number, one in draws.items()},
    }
    cells = [_summarize(name, group) for name, group in groups.items() if group]
    summary = format_cells(cells, _HEADINGS, STYLE, _ALIGNMENT)
    lacking = sum(count_lacking(newest[number], len(one)) for number, one in draws.items())
    unranked = f". {describe_lacking(lacking, kernel)}" if lacking else ""
    lead = f"{count_noun(len(draws), 'draw')}{unranked}:"
    return "\n".join([lead, "", summary, "", format_worst(contests, words), "", *whose])


def _list_draws(page: Page, kernel: str, *patterns: str) -> str:
    """One line for each draw: how fast a kernel is relative to the best of all others, by alignment.

    Raises StoreError if no file matches one of the patterns.
    """
    rows: list[list[str]] = []
    whose: dict[str, None] = {}
    for pattern in patterns:
        for number, path in _find_newest(pattern).items():
            contests, citation = find_contests(page, path, kernel)
            whose[str(citation)] = None
            aligned = [each.share for each in contests if has_aligned_rows(each.ours.record.problem)]
            others = [each.share for each in contests if not has_aligned_rows(each.ours.record.problem)]
            precision = contests[0].ours.record.problem.precision_name
            lowest = f"{min(each.share for each in contests):.0f}"
            rows.append([precision, str(number), *_count_low(aligned), *_count_low(others), lowest])
    listed = format_cells(rows, _LIST_HEADINGS, STYLE, ["left", *["right"] * 8])
    return "\n".join([listed, "", *whose])


def _count_low(shares: Sequence[float]) -> list[str]:
    """The number of shapes, their geometric mean, and how many are below 92 %."""
    if not shares:
        return ["0", "-", "-"]
    return [str(len(shares)), f"{statistics.geometric_mean(shares):.1f}", str(sum(share < _LOW for share in shares))]


def _find_newest(pattern: str) -> dict[int, str]:
    """The newest file of each draw, by its number in ascending order. Raises StoreError."""
    newest = {_find_number(path.name): str(path.relative_to(ROOT)) for path in find_files(pattern)}
    return dict(sorted(newest.items()))


def _find_number(file: str) -> int:
    """The number of a draw, such as 7 of 2026-11-26-shapes_drawn_7.jsonl.gz. Raises StoreError."""
    found = re.search(r"_(\d+)\.", file)
    if not found:
        raise StoreError(f"{file} is not named after the number of a draw")
    return int(found[1])


def has_aligned_rows(problem: Problem) -> bool:
    """Whether every row of A, B and C, as stored, is a multiple of 16 bytes."""
    rows = (problem.storage(operand).nbytes(problem.stored_shape(operand)[1]) for operand in "ABC")
    return all(row % _ALIGNMENT_BYTES == 0 for row in rows)


def _summarize(name: str, contests: Sequence[Contest]) -> list[str]:
    shares = [contest.share for contest in contests]
    below = sum(share < _LIMIT for share in shares)
    low, high = limit_share(below, len(shares))
    mean = statistics.geometric_mean(shares)
    interval = f"{100 * low:.1f} to {100 * high:.1f} %"
    return [name, str(len(shares)), f"{mean:.1f}", str(below), f"{100 * below / len(shares):.1f} %", interval]


def limit_share(count: int, total: int) -> tuple[float, float]:
    """The limits of a share that was found as `count` of `total` (Clopper and Pearson, 95 %)."""
    tail = (1 - _LEVEL) / 2
    low = _find_root(lambda share: 1 - _at_most(count - 1, total, share) > tail) if count else 0.0
    high = _find_root(lambda share: _at_most(count, total, share) < tail) if count < total else 1.0
    return low, high


def _at_most(count: int, total: int, share: float) -> float:
    """The probability of at most `count` hits in `total` trials."""
    return math.fsum(math.comb(total, k) * share**k * (1 - share) ** (total - k) for k in range(count + 1))


def _find_root(is_above: Callable[[float], bool]) -> float:
    """The point between 0 and 1 where a condition begins to hold."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_above(middle) else (middle, high)
    return high


KINDS: Mapping[str, Callable[..., str]] = {"draws": _write_draws, "draw_list": _list_draws}

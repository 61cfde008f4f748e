"""Parts that list draws of shapes: how fast a kernel is in each, and how often it is slow."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gemmbench.errors import StoreError
from gemmbench.planning.problems import Problem
from gemmbench.report.table import format_cells
from tools.citations import Citation, cite_whole
from tools.page import ROOT, Page
from tools.parts.contests import Contest, cite_contests, find_contests
from tools.parts.tables import STYLE, find_files

_GROUPS = ("aligned", "not aligned")
_COUNTED = [heading for group in _GROUPS for heading in (group, f"{group}: mean %", f"{group}: below 92 %")]
_HEADINGS = ["precision", "draw", *_COUNTED, "lowest %"]
_LOW = 92.0
_ALIGNMENT_BYTES = 16


def _list_draws(page: Page, kernel: str, *patterns: str) -> str:
    """One line for each draw: how fast a kernel is relative to the best of all others, by alignment.

    Only the last draw of a precision judges today's kernels; the others are cited as what they were. Raises StoreError
    if no file matches one of the patterns, or one has no problem with the kernel and another.
    """
    paths = [path for pattern in patterns for path in _list_newest(pattern)]
    found = {path: find_contests(_name(path), kernel) for path in paths}
    if empty := [_name(path) for path, contests in found.items() if not contests]:
        raise StoreError(f"{empty[0]} has no problem with {kernel} and another")
    last = {_find_precision(contests): path for path, contests in found.items()}
    whose = [
        cite_contests(page, _name(path), contests)
        if path == last[_find_precision(contests)]
        else cite_whole(page, path)
        for path, contests in found.items()
    ]
    rows = [[_find_precision(each), str(_find_number(path)), *_describe(each)] for path, each in found.items()]
    listed = format_cells(rows, _HEADINGS, STYLE, ["left", *["right"] * 8])
    return "\n".join([listed, "", *_cite_draws([row[:2] for row in rows], whose)])


def _cite_draws(draws: Sequence[Sequence[str]], whose: Sequence[Citation]) -> list[str]:
    """Say which draws have which source, if there are several: `bf16 1, f16 1: H200, 2026-11-29, revision abc.`"""
    cited: dict[str, list[str]] = {}
    for draw, citation in zip(draws, whose, strict=True):
        cited.setdefault(str(citation), []).append(" ".join(draw))
    return [f"{', '.join(named)}: {source}" if len(cited) > 1 else source for source, named in cited.items()]


def _describe(contests: Sequence[Contest]) -> list[str]:
    aligned = [each.share for each in contests if has_aligned_rows(each.ours.record.problem)]
    others = [each.share for each in contests if not has_aligned_rows(each.ours.record.problem)]
    return [*_count_low(aligned), *_count_low(others), f"{min(each.share for each in contests):.0f}"]


def _find_precision(contests: Sequence[Contest]) -> str:
    return contests[0].ours.record.problem.precision_name


def _count_low(shares: Sequence[float]) -> list[str]:
    """The number of shapes, their geometric mean, and how many are below 92 %."""
    if not shares:
        return ["0", "-", "-"]
    return [str(len(shares)), f"{statistics.geometric_mean(shares):.1f}", str(sum(share < _LOW for share in shares))]


def _list_newest(pattern: str) -> list[Path]:
    """The newest file of each draw, by its number in ascending order. Raises StoreError."""
    newest = {_find_number(path): path for path in find_files(pattern)}
    return [path for _, path in sorted(newest.items())]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _find_number(path: Path) -> int:
    """The number of a draw, such as 7 of 2026-11-26-shapes_drawn_7.jsonl.gz. Raises StoreError."""
    found = re.search(r"_(\d+)\.", path.name)
    if not found:
        raise StoreError(f"{path.name} is not named after the number of a draw")
    return int(found[1])


def has_aligned_rows(problem: Problem) -> bool:
    """Whether every row of A, B and C, as stored, is a multiple of 16 bytes."""
    rows = (problem.storage(operand).nbytes(problem.stored_shape(operand)[1]) for operand in "ABC")
    return all(row % _ALIGNMENT_BYTES == 0 for row in rows)


KINDS: Mapping[str, Callable[..., str]] = {"draw_list": _list_draws}

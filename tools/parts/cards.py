"""Parts that compare two cards: the same sweep, measured on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gemmbench.errors import StoreError
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.table import format_cells
from gemmbench.report.tables.footer import footer_lines
from gemmbench.report.text import number, number_within
from gemmbench.report.verdicts import choose_fastest
from tools.page import Page
from tools.parts.tables import STYLE, read_comparison

Key = tuple[str, str]
"""Problem and variant."""


def _write_cards(_: Page, first: str, second: str, *words: str) -> str:
    """For each problem and kernel, its fastest row on two cards, and how much faster the second is.

    `only=` names kernels, `squares` leaves out problems whose M, N and K differ. Raises StoreError if the files
    are of one device, of two sweeps, or have no row in common.
    """
    runs = [read_comparison(pattern) for pattern in (first, second)]
    _check_runs(*runs)
    only = next((word.partition("=")[2].split(",") for word in words if word.startswith("only=")), [])
    one, two = (find_fastest(run, only, "squares" in words) for run in runs)
    shared = [key for key in one if key in two]
    if not shared:
        raise StoreError(f"{first} and {second} have no ranked row in common")
    devices = [run.environment.device for run in runs]
    headings = ["problem", "kernel", *(_name_columns(runs)), f"{devices[1]} is faster by"]
    cells = [
        [*key, *_format_row(one[key]), *_format_row(two[key]), _format_ratio(one[key], two[key])] for key in shared
    ]
    table = format_cells(cells, headings, STYLE, ["left", "left", *["right"] * (len(headings) - 2)])
    notes = [f"- {run.environment.device}: {line}" for run in runs for line in footer_lines(run.run)]
    return "\n".join([table, "", *notes])


def _check_runs(one: Comparison, two: Comparison) -> None:
    old, new = one.environment, two.environment
    if old.device == new.device:
        raise StoreError(f"both files are of the {old.device}; name files of two cards")
    if old.sweep != new.sweep:
        raise StoreError(f"the files are of two sweeps, {old.sweep} and {new.sweep}; name files of one")


def find_fastest(run: Comparison, only: Sequence[str], squares: bool) -> dict[Key, Row]:
    """The fastest ranked row of each kernel at each problem, in the order of the run."""
    found: dict[Key, list[Row]] = {}
    for problem in run.problems:
        shape = problem.problem
        if squares and not shape.M == shape.N == shape.K:
            continue
        for row in problem.rows:
            if row.ranked and (not only or row.record.variant in only):
                found.setdefault((problem.title, row.record.variant), []).append(row)
    return {key: fastest for key, rows in found.items() if (fastest := choose_fastest(rows))}


def _name_columns(runs: Sequence[Comparison]) -> list[str]:
    names = [(run.environment.device, run.environment.baseline) for run in runs]
    return [f"{device}: {column}" for device, base in names for column in ("GFLOP/s", f"% of {base}", "% of peak")]


def _format_row(row: Row) -> list[str]:
    share = row.percent_of_baseline
    return [number_within(row.gflops, row.time), number_within(share.value, share), number(row.percent_of_peak, 3)]


def _format_ratio(old: Row, new: Row) -> str:
    return f"{old.time.value / new.time.value:.2f}x"


KINDS: Mapping[str, Callable[..., str]] = {"cards": _write_cards}

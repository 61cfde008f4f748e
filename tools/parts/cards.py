"""Parts that compare two cards: the same sweep, measured on each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gemmbench.errors import StoreError
from gemmbench.report.comparison import Comparison
from gemmbench.report.row import Row
from gemmbench.report.table import format_cells
from gemmbench.report.tables.footer import footer_lines
from gemmbench.report.text import number_within, shorten_device
from gemmbench.report.verdicts import choose_fastest
from tools.page import Page
from tools.parts.tables import STYLE, format_problem, read_comparison

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
    cards = [_name_card(run) for run in runs]
    baseline = runs[0].environment.baseline
    headings = ["problem", "kernel", *(f"{card} {of}" for of in ("GFLOP/s", f"% of {baseline}") for card in cards)]
    headings += [f"speed of {cards[1]} / {cards[0]}"]
    cells = [_format_pair(one[key], two[key]) for key in shared]
    table = format_cells(cells, headings, STYLE, ["left", "left", *["right"] * (len(headings) - 2)])
    return "\n".join([table, "", *_write_notes(runs)])


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


def _format_pair(one: Row, two: Row) -> list[str]:
    """The cells of a kernel at a problem on two cards."""
    rows = one, two
    speeds = [number_within(row.gflops, row.time) for row in rows]
    shares = [number_within(row.percent_of_baseline.value, row.percent_of_baseline) for row in rows]
    ratio = f"{one.time.value / two.time.value:.2f}"
    return [format_problem(one), one.record.variant, *speeds, *shares, ratio]


def _name_card(run: Comparison) -> str:
    return shorten_device(run.environment.device).removeprefix("NVIDIA ")


def _write_notes(runs: Sequence[Comparison]) -> list[str]:
    """What the footers of both runs say, what each says of its own baseline, and both devices."""
    footers = [footer_lines(run.run) for run in runs]
    shared = [line for line in footers[0] if line in footers[1]]
    pairs = [(run, line) for run, lines in zip(runs, footers, strict=True) for line in lines if line not in shared]
    baselines = [f"{_name_card(run)}: {line}" for run, line in pairs if line.startswith("% of ")]
    devices = [line for _, line in pairs if line.startswith("Device: ")]
    return [f"- {line}" for line in (*shared, *baselines, *devices)]


KINDS: Mapping[str, Callable[..., str]] = {"cards": _write_cards}

"""One table for many problems, with kernels down and problems across or the other way around, and the order of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from gemmbench.bench.timing.stats import Interval
from gemmbench.planning.problems import Problem
from gemmbench.report.columns.all_columns import find_column
from gemmbench.report.columns.column import Column
from gemmbench.report.comparison import ProblemRows
from gemmbench.report.fastest import find_fastest
from gemmbench.report.flags import flag_letters
from gemmbench.report.row import Row
from gemmbench.report.table import Table
from gemmbench.report.text import with_interval
from gemmbench.report.verdicts import choose_fastest, compare_speeds, find_best_rows, find_row_beside_others

_SCREEN = 80
"""The width of a screen in characters. If the labels of all problems fit, problems are across."""
_LEAST_CELL = 6
_FASTEST = "*"
_LEGEND = f"{_FASTEST} fastest, or not clearly slower. Each kernel in its best configuration."


def tabulate_pivots(problems: Sequence[ProblemRows], columns: Sequence[str] = (), sort: str = "") -> list[Table]:
    """Make a table for each precision, alpha and beta, with the first named column or else the usual figure.

    Rows are ordered by the column `sort` of the last problem.
    """
    groups: dict[tuple[object, ...], list[ProblemRows]] = {}
    for each in problems:
        problem = each.problem
        kind = problem.precision_name, problem.alpha, problem.beta, *problem.form.values()
        groups.setdefault(kind, []).append(each)
    return [_Pivot(group, columns, sort).tabulate() for group in groups.values()]


@dataclass(frozen=True)
class _Cell:
    """A figure, and the marks that follow it: whether the kernel is fastest, and its flags."""

    text: str
    marks: str = ""


class _Pivot:
    """The best row of each kernel at each problem, reduced to one figure."""

    def __init__(self, problems: Sequence[ProblemRows], columns: Sequence[str], sort: str):
        self.problems = problems
        self.environment = problems[0].rows[0].environment
        self.labels = _label_problems([each.problem for each in problems])
        self.baseline = self.environment.baseline
        self.best = [{row.record.variant: row for row in choose_best_rows(each.rows)} for each in problems]
        self.column = find_column(columns[0] if columns else self._choose_figure(), self.baseline)
        self.fastest = [_find_fastest(each) for each in problems]
        ladder = sorted((row.record.order, name) for rows in self.best for name, row in rows.items())
        self.names = list(dict.fromkeys(name for _, name in ladder))
        if sort:
            last = sort_rows(self.best[-1].values(), sort, self.baseline)
            known = [row.record.variant for row in last]
            self.names = [*known, *(name for name in self.names if name not in known)]

    @cached_property
    def _shown(self) -> dict[str, str]:
        """The names of the rows by those of the kernels."""
        return {row.record.variant: row.record.row_name for row in self._rows()}

    def _choose_figure(self) -> str:
        """Choose percent of the baseline, or the time if nothing is compared with it, and always on the CPU device."""
        others = (row for row in self._rows() if row.record.variant != self.baseline)
        known = any(not math.isnan(row.percent_of_baseline.value) for row in others)
        return "% of " + self.baseline if known and self.environment.gpu else "time (ms)"

    def _rows(self) -> Iterable[Row]:
        return (row for rows in self.best for row in rows.values())

    def tabulate(self) -> Table:
        """Put kernels down, unless the problems do not fit next to each other and outnumber the kernels."""
        needed = max(map(len, self.names)) + sum(max(len(label), _LEAST_CELL) + 3 for label in self.labels)
        if needed <= _SCREEN or len(self.labels) <= len(self.names):
            return self._put_problems_across()
        return self._put_problems_down()

    def _put_problems_across(self) -> Table:
        cells = [[self._cell(index, name) for name in self.names] for index in range(len(self.problems))]
        members = [[each[name] for each in self.best if name in each] for name in self.names]
        names, statuses = [self._shown[name] for name in self.names], [_worst_status(each) for each in members]
        if times := self._list_baseline_times():
            names, statuses = [*names, f"{self.baseline} (ms)"], [*statuses, ""]
            cells = [[*column, time] for column, time in zip(cells, times, strict=True)]
        return self._make_table("kernel", names, dict(zip(self.labels, cells, strict=True)), statuses)

    def _put_problems_down(self) -> Table:
        columns = {
            self._shown[name]: [self._cell(index, name) for index in range(len(self.problems))] for name in self.names
        }
        if times := self._list_baseline_times():
            columns[f"{self.baseline} (ms)"] = times
        return self._make_table(
            "size", self.labels, columns, [_worst_status(list(each.values())) for each in self.best]
        )

    def _make_table(
        self, first: str, names: Sequence[str], columns: Mapping[str, Sequence[_Cell]], statuses: Sequence[str]
    ) -> Table:
        """Make a table of these columns next to one of `names`, which has the heading `first`."""
        aligned = [_align_cells([_Cell(heading), *column]) for heading, column in columns.items()]
        headings, *cells = zip([first, *names], *aligned, strict=True)
        notes = [_LEGEND] if any(self.fastest) else []
        return Table(self._title(), headings, cells, notes, left=[first], statuses=statuses, split=True)

    def _title(self) -> str:
        first = self.problems[0].problem
        same = {each.problem.layout for each in self.problems} == {first.layout}
        common = [first.layout] * same + [first.precision_name]
        common += [] if (first.alpha, first.beta) == (1.0, 0.0) else [f"alpha = {first.alpha:g}, beta = {first.beta:g}"]
        common += [f"then {step}" if step == first.epilogue[0] else step for step in first.epilogue]
        common += first.storage_words
        return f"{self.column.heading.format(baseline=self.baseline)}: {', '.join(common)}"

    def _cell(self, index: int, name: str) -> _Cell:
        """Return the figure of a row or, without one, its status. No row gives an empty cell."""
        row = self.best[index].get(name)
        if row is None:
            return _Cell("")
        text = self.column.cell(row).partition(" +- ")[0]
        if row.status not in ("ok", "skipped") and (text == "-" or not row.timed):
            text = row.status
        letters = flag_letters(row)
        return _Cell(text, _FASTEST * (name in self.fastest[index]) + f" {letters}" * bool(letters))

    def _list_baseline_times(self) -> list[_Cell]:
        """List the times that count as 100 %, if the figure is a percentage. A baseline that did not run has none."""
        if not self.column.heading.startswith("% of {baseline}"):
            return []
        rows = [each.get(self.baseline) for each in self.best]
        return [_Cell(_format_time(row) if row and row.timed else "-") for row in rows]


def _format_time(row: Row) -> str:
    return with_interval(row.time.scale(1e3)).partition(" +- ")[0]


def _label_problems(problems: Sequence[Problem]) -> list[str]:
    """Label each problem as `4096`, or as `4096 nt` if layouts differ."""
    several = len({problem.layout for problem in problems}) > 1
    return [f"{problem.size} {problem.layout}" if several else problem.size for problem in problems]


def choose_best_rows(rows: Sequence[Row]) -> list[Row]:
    """Choose the row that represents each kernel: the best ranked one, or else the one that got furthest."""
    best = find_best_rows(rows)
    for name, members in groupby(rows, key=lambda row: row.record.variant):
        if name not in best:
            known = list(members)
            ran = [row for row in known if row.record.status != "skipped"]
            best[name] = choose_fastest([row for row in ran if row.timed]) or (ran or known)[0]
    return list(best.values())


def _find_fastest(problem: ProblemRows) -> set[str]:
    found = find_fastest(problem)
    return {row.record.variant for row in found.rows} if found else set()


def _align_cells(cells: Sequence[_Cell]) -> list[str]:
    """Pad the cells of a column, including its heading, so that the figures before their marks are aligned."""
    widest = max(len(cell.marks) for cell in cells)
    return [cell.text + cell.marks.ljust(widest) for cell in cells]


def _worst_status(rows: Sequence[Row]) -> str:
    """Return the first status that is a failure, or else `ok`, or `skipped` if nothing ran."""
    statuses = [row.status for row in rows if row.status != "skipped"]
    return next((status for status in statuses if status != "ok"), "ok") if statuses else "skipped"


def sort_rows(rows: Iterable[Row], name: str, baseline: str) -> list[Row]:
    """Sort rows by a column, with missing values last. A minus before its name puts the largest first."""
    descending = name.startswith("-")
    column = find_column(name.removeprefix("-"), baseline)

    def find_key(row: Row) -> tuple[bool, float, str]:
        value = column.value(row) if column.key else column.cell(row)
        if not isinstance(value, (int, float)):
            text = str(value or "")
            return text in ("", "-"), _read_number(text), text
        return math.isnan(value), value, ""

    known = sorted((row for row in rows), key=find_key)
    missing = [row for row in known if find_key(row)[0]]
    present = known[: len(known) - len(missing)]
    return [*(reversed(present) if descending else present), *missing]


def _read_number(text: str) -> float:
    """Return the number at the start of a cell; 0 for other text."""
    try:
        return float(text.split()[0])
    except (IndexError, ValueError):
        return 0.0


def add_versus_best(columns: Sequence[Column[Row]], rows: Sequence[Row]) -> list[Column[Row]]:
    """Add the speed relative to the best configuration if rows contain several configurations of a kernel.

    It shows which configurations tie. Libraries are left out, since users do not choose their algorithms.
    """
    ratios: dict[int, Interval] = {}
    tried: dict[tuple[str, Problem], list[Row]] = {}
    for row in rows:
        if row.ranked and row.record.path and row.record.config:
            tried.setdefault((row.record.variant, row.record.problem), []).append(row)
    for members in tried.values():
        best = choose_fastest(members)
        if best and len({row.record.configuration for row in members}) > 1:
            base = find_row_beside_others(best, members)
            known = [row for row in members if row not in (best, base)]
            ratios |= {id(best): Interval(1.0), id(base): Interval(1.0)}
            ratios |= {id(row): compare_speeds(row, base) for row in known}
    if not ratios:
        return list(columns)

    def format_cell(row: Row) -> str:
        ratio = ratios.get(id(row))
        return "-" if ratio is None else "1" if ratio.value == 1 and not ratio.known else with_interval(ratio)

    place = [column.heading for column in columns].index("time (ms)") + 1
    return [*columns[:place], Column(heading="x best", cell=format_cell, hide=8), *columns[place:]]

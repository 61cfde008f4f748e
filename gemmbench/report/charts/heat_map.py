"""A heat map of two parameters of a variant. Each cell shows the best result over the other parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gemmbench.errors import UsageError, nearest
from gemmbench.report.charts.chart_model import Cell, Chart, Choices, HeatMap
from gemmbench.report.charts.chart_rows import (
    SpeedUnit,
    choose_problem,
    choose_unit,
    describe_rows,
    name_baseline,
    note_other_problems,
    note_unranked,
    row_tip,
    select_rows,
)
from gemmbench.report.charts.chart_style import format_estimate
from gemmbench.report.comparison import Comparison
from gemmbench.report.fastest import TOO_FEW, compare_with_best
from gemmbench.report.row import Row
from gemmbench.report.verdicts import SLOWER, sort_by_speed


def draw_heat_map(comparisons: Sequence[Comparison], choices: Choices) -> Chart:
    """Draw GFLOPS, or percent of the baseline. Raises UsageError if fewer than two parameters vary."""
    selected = _choose_variant(select_rows(comparisons, choices), choices)
    rows = _measured_together(_choose_run(choose_problem(selected)))
    x, y = _choose_parameters(rows, choices)
    best = _find_best(rows, x, y)
    columns, lines = ({key[index] for key in best} for index in (0, 1))
    speed_unit = choose_unit(comparisons)
    unit = f"% of {name_baseline(rows)}" if choices.percent else speed_unit.name
    plot = _make_map(best, (x, sorted(columns)), (y, sorted(lines, reverse=True)), unit, speed_unit)
    name, others = rows[0].record.variant, sorted(_varying_parameters(rows).keys() - {x, y})
    notes = [f"Each cell shows the fastest over {', '.join(others)}."] if others else []
    title = choices.title or f"{name}: {x} and {y} at {rows[0].record.problem.size}"
    tips = [cell.tip.replace("\n", ", ") for cell in plot.cells if cell.best]
    description = f"{unit} of {name} over {x} and {y}. Fastest, or not clearly slower: {'; '.join(tips)}."
    notes += note_other_problems(selected, rows)
    notes += note_unranked(comparisons, replace(choices, variants=(name,)))
    subtitle = f"{describe_rows(rows)}. {unit}; framed: fastest, or not clearly slower."
    return Chart(title, subtitle, description, plot, tuple(notes))


def _varying_parameters(rows: Sequence[Row]) -> dict[str, set[int]]:
    """Return the values of each parameter that has more than one, in the order of the manifest."""
    values: dict[str, set[int]] = {}
    for row in rows:
        for name, value in row.record.config.items():
            values.setdefault(name, set()).add(value)
    return {name: found for name, found in values.items() if len(found) > 1}


def _choose_parameters(rows: Sequence[Row], choices: Choices) -> tuple[str, str]:
    """Return the chosen parameters, or else those with the most values. Raises UsageError."""
    varying, variant = _varying_parameters(rows), rows[0].record.variant
    held = ", ".join(varying) or "none"
    for name in filter(None, (choices.x, choices.y)):
        if name not in varying:
            raise UsageError(
                f"'{name}' does not vary for {variant}{nearest(name, varying)}; these parameters vary: {held}"
            )
    free = [name for name in varying if name not in (choices.x, choices.y)]
    free.sort(key=lambda name: -len(varying[name]))
    x = choices.x or (free.pop(0) if free else "")
    y = choices.y or (free.pop(0) if free else "")
    if not x or not y or x == y:
        raise UsageError(f"a heat map needs two parameters that vary; for {variant}, this varies: {held}")
    return x, y


def _choose_variant(rows: Sequence[Row], choices: Choices) -> list[Row]:
    """Return the rows of the variant with the most configurations among those that have the chosen parameters."""
    if len(choices.variants) > 1:
        raise UsageError(f"a heat map shows one kernel, not {len(choices.variants)}: {', '.join(choices.variants)}")
    wanted = {choices.x, choices.y} - {""}
    counts = Counter(row.record.variant for row in rows if wanted <= row.record.config.keys())
    counts = counts or Counter(row.record.variant for row in rows)
    return [row for row in rows if row.record.variant == counts.most_common(1)[0][0]]


def _choose_run(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the run with the most configurations, since all cells of a map must come from one run."""
    counts = Counter(row.environment.run for row in rows)
    return [row for row in rows if row.environment.run == counts.most_common(1)[0][0]]


def _measured_together(rows: Sequence[Row]) -> list[Row]:
    """Return the rows of the sweep. A winner that was measured again would be compared with rows of other rounds."""
    return [row for row in rows if row.record.phase != "final"] or list(rows)


def _find_best(rows: Sequence[Row], x: str, y: str) -> dict[tuple[int, int], Row]:
    best: dict[tuple[int, int], Row] = {}
    for row in sort_by_speed(rows):
        best.setdefault((row.record.config[x], row.record.config[y]), row)
    return best


def _make_map(
    best: dict[tuple[int, int], Row],
    columns: tuple[str, list[int]],
    lines: tuple[str, list[int]],
    unit: str,
    speed_unit: SpeedUnit,
) -> HeatMap:
    (x, across), (y, down) = columns, lines
    framed = _find_fastest(best.values())
    cells = tuple(
        _make_cell(across.index(column), down.index(line), row, speed_unit, unit == speed_unit.name, row in framed)
        for (column, line), row in sorted(best.items(), key=lambda item: item[0])
    )
    return HeatMap(x, y, tuple(map(str, across)), tuple(map(str, down)), cells, unit)


def _find_fastest(rows: Iterable[Row]) -> list[Row]:
    """The fastest row and those that are not clearly slower; the fastest only, if there are too few rounds."""
    first, *others = sort_by_speed(rows)
    words = compare_with_best(first, others)
    ties = [row for row, word in zip(others, words, strict=True) if word != SLOWER]
    return [first] if TOO_FEW in words else [first, *ties]


def _make_cell(column: int, line: int, row: Row, unit: SpeedUnit, is_speed: bool, best: bool) -> Cell:
    value = unit.measure(row) if is_speed else row.percent_of_baseline
    return Cell(column, line, value.value, format_estimate(value), row_tip(row.record.variant, row, unit), best)

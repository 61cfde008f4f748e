"""All columns of kernel rows: those of exports in order, those of tables, and those of networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gemmbench.bench.record import NetworkFacts
from gemmbench.errors import UsageError, nearest
from gemmbench.report.columns import detail_columns, kernel_columns
from gemmbench.report.columns.column import CAVEAT, GROUPS, Column, pick_columns
from gemmbench.report.columns.kernel_columns import is_final, show_if_valid
from gemmbench.report.flags import flag_letters
from gemmbench.report.row import Row
from gemmbench.report.text import number, with_interval


def _facts(row: Row) -> NetworkFacts:
    assert row.record.network is not None
    return row.record.network


def _times_as_fast(row: Row) -> str:
    return with_interval(row.percent_of_baseline.scale(0.01))


def _accuracy(row: Row) -> str:
    accuracy = _facts(row).accuracy
    return "-" if accuracy is None else f"{100 * accuracy:.1f} %"


NETWORK_COLUMNS: tuple[Column[Row], ...] = (
    Column(
        "network",
        "layer sizes, activations and batch, for rows of gemmbench mlp",
        lambda row: row.record.network.title if row.record.network else None,
    ),
    Column(
        "launched",
        "kernels that one forward pass launches, in order",
        lambda row: ", ".join(row.record.network.launches) if row.record.network else None,
        "launches",
        lambda row: str(len(_facts(row).launches) or "-"),
        hide=3,
    ),
    Column(
        "accuracy",
        "share of test digits that the network recognizes",
        lambda row: row.record.network.accuracy if row.record.network else None,
        "accuracy",
        _accuracy,
        hide=4,
    ),
)
"""The columns of the exports."""

_ONLY_IN_TABLES: tuple[Column[Row], ...] = (
    Column(heading="version", cell=lambda row: _facts(row).label or "-", fold=True, hide=8),
    Column(heading="published (ms)", cell=lambda row: number(_facts(row).published_ms), hide=7),
    Column(heading="x {baseline}", cell=lambda row: show_if_valid(row, _times_as_fast(row))),
    Column(heading="error", cell=lambda row: number(row.record.error, 3) if row.record.checked else "-", hide=1),
)

_TABLE = pick_columns(
    (*kernel_columns.TABLE, *NETWORK_COLUMNS, *_ONLY_IN_TABLES),
    "version",
    "kernel",
    "configuration",
    "time (ms)",
    "alone (us)",
    "published (ms)",
    "x {baseline}",
    "GFLOPS",
    "launches",
    "error",
    "accuracy",
    "status",
)


def _network_table_columns(rows: Sequence[Row]) -> tuple[Column[Row], ...]:
    """Return the columns of a table. A post's names and figures and the accuracy appear only if a row has them."""
    facts = [_facts(row) for row in rows]
    wanted = {
        "version": any(each.label for each in facts),
        "alone (us)": any(row.record.alone for row in rows),
        "published (ms)": any(each.published_ms for each in facts),
        "accuracy": any(each.accuracy is not None for each in facts),
    }
    return tuple(column for column in _TABLE if wanted.get(column.heading, True))


COLUMNS: tuple[Column[Row], ...] = (
    *kernel_columns.COLUMNS,
    *NETWORK_COLUMNS,
    Column("diagnosis", "likely cause of a wrong result, in a few words", lambda row: row.record.diagnosis),
    *detail_columns.COLUMNS,
    Column(
        "path",
        "file of the kernel, followed by @ and the commit for a kernel of a revision, and by (drafted manifest) if the "
        "file has none",
        lambda row: row.record.path,
    ),
    detail_columns.READS,
    *detail_columns.CARD,
    detail_columns.WORKSPACE,
    *detail_columns.CLASS,
    *detail_columns.PLACEMENTS,
    detail_columns.CLOCK_DIFFERENCE,
    *detail_columns.SUSTAINED_COLUMNS,
    detail_columns.GRAPH,
    detail_columns.PDL,
    detail_columns.FLEET_CARD,
    kernel_columns.ALONE,
    *kernel_columns.BEST,
    CAVEAT,
    detail_columns.INVARIANCE,
    GROUPS,
)
"""The columns of the CSV and JSON exports, in order. New columns may be added only at the end."""

_WIDE = pick_columns(
    (*COLUMNS, *detail_columns.ONLY_IN_TABLES),
    "row",
    "spread (%)",
    "registers",
    "spilled (B)",
    "shared (B)",
    "scratch (MB)",
    "occupancy",
    "blocks",
    "waves",
    "last wave",
    "moved (MB)",
    "reads (MB)",
    "FLOP/B",
    "% of bound",
    "class",
    "PDL",
    "clock (GHz)",
    "clock (%)",
    "deg C",
    "W",
    "GFLOPS/W",
    "card",
)
SPEEDS = ("GFLOPS", "% of {baseline}", "% of best library", "% of peak")
"""The headings of columns that suggest how fast a kernel would be elsewhere."""
_ERROR = "error (max. 16)"
_AFTER_SPEEDS = (_ERROR, "launches", "error", "status")
_SUSTAINED = pick_columns(COLUMNS, "sustained TFLOPS", "sustained % of {baseline}", "sustained W", "sustained GHz", "J")


def table_columns(rows: Sequence[Row], wide: bool = False) -> list[Column[Row]]:
    """Choose the columns for a table of these rows.

    In a run on the CPU device, GFLOPS and percentages appear only with `wide`. Columns of a steady load appear if a row
    had one, and flags if a row has any. With `wide`, every detail appears that a row has. The error is never hidden if
    products are sums of products of parts.
    """
    columns = list(_network_table_columns(rows) if rows and rows[0].record.network else _filled_columns(rows))
    if not (wide or all(row.environment.gpu for row in rows)):
        columns = [column for column in columns if column.heading not in SPEEDS]
    if rows and all(is_final(row) or not row.record.config for row in rows):
        plain = kernel_columns.CONFIGURATION
        columns = [plain if column.heading == plain.heading else column for column in columns]
    if any(row.record.problem.precision.splits_factors for row in rows):
        columns = [replace(column, hide=0) if column.heading == _ERROR else column for column in columns]
    last = next(index for index, column in enumerate(columns) if column.heading in _AFTER_SPEEDS)
    columns[last:last] = [column for column in _SUSTAINED if _is_filled(column, rows)]
    if any(flag_letters(row) for row in rows):
        columns.append(detail_columns.FLAGS)
    columns += [column for column in (detail_columns.INVARIANCE,) if _is_filled(column, rows)]
    if wide:
        columns += [column for column in _WIDE if _is_filled(column, rows)]
    return columns


def find_column(name: str, baseline: str) -> Column[Row]:
    """Find the column of tables or exports with this name: `time`, `time (ms)` or `time_s`, `% of cublas` or `%`.

    Raises UsageError.
    """
    asked, known = _simplify(name), dict[str, Column[Row]]()
    for column in (*kernel_columns.TABLE, *_WIDE, *_SUSTAINED, detail_columns.FLAGS, *COLUMNS):
        heading = column.heading.format(baseline=baseline)
        for each in (heading, heading.partition(" (")[0], column.key):
            known.setdefault(_simplify(each), column)
    known.setdefault("%", known["percent of baseline"])
    if asked not in known or not asked:
        names = [each for each in known if each]
        place = "--wide shows those of tables, and the first line of a CSV file names all"
        raise UsageError(f"no column '{name}'{nearest(name, names, 3)}; {place}")
    column = known[asked]
    return column if column.heading else replace(column, heading=column.key, cell=_format_value(column))


def choose_export_columns(names: Sequence[str], baseline: str) -> list[Column[Row]]:
    """Choose the columns with these names, in their order. Raises UsageError for an unknown name.

    A column that only tables have keeps its heading and holds text.
    """
    keys = {_simplify(column.key): column for column in COLUMNS}
    asked = [keys.get(_simplify(name)) or find_column(name, baseline) for name in names]
    headings = [column.heading.format(baseline=baseline) for column in asked]
    named = [
        column if column.key else replace(column, key=heading, value=column.cell)
        for column, heading in zip(asked, headings, strict=True)
    ]
    return list({column.key: column for column in named}.values())


def _simplify(name: str) -> str:
    return name.strip().lower().replace("_", " ")


def _format_value(column: Column[Row]) -> Callable[[Row], str]:
    """Format the cell of a column that only exports have."""

    def format_cell(row: Row) -> str:
        value = column.value(row)
        return number(value) if isinstance(value, float) else "-" if value in (None, "") else str(value)

    return format_cell


def _filled_columns(rows: Sequence[Row]) -> list[Column[Row]]:
    """Return the columns of a table of GEMMs, except those that may be hidden and are empty in every row."""
    return [column for column in kernel_columns.TABLE if not column.hide or not rows or _is_filled(column, rows)]


def _is_filled(column: Column[Row], rows: Sequence[Row]) -> bool:
    return any(column.cell(row) != "-" for row in rows)

"""The results of the Python interface: records, and tables and data frames made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from gemmbench.bench.record import Environment, Record, TransferRecord
from gemmbench.bench.timing import stats
from gemmbench.bench.timing.stats import MARGIN, Interval
from gemmbench.errors import GemmbenchError
from gemmbench.report.charts.chart_model import Chart
from gemmbench.report.charts.draw import draw_chart, guess_kind, write_chart
from gemmbench.report.charts.svg import render_svg
from gemmbench.report.columns.column import PROBLEM
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.diagnostics import verification_report
from gemmbench.report.export import export_kernels
from gemmbench.report.row import UNKNOWN, Row
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import Report, format_list, format_reports, is_complete
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.view import View
from gemmbench.report.verdicts import Verdict, judge_variants

if TYPE_CHECKING:
    import pandas


class TimedRecord(Record, frozen=True, kw_only=True):
    """A record with the time and speed that follow from its samples.

    Attributes:
        time: Seconds per launch with their 95 % interval: `time.value`, `time.low`, `time.high`.
        percent: The speed as a percentage of the baseline's, in the same form.

    A value that cannot be computed is NaN, for example if the kernel is wrong or has no baseline.
    """

    time: Interval
    percent: Interval

    @property
    def gflops(self) -> float:
        """The speed in GFLOPS (1e9 operations per second)."""
        return self.flops / self.time.value / 1e9


def _add_times(record: Record, row: Row | None) -> TimedRecord:
    """Add times to a record. A record without a row repeats another, such as the baseline's, and is in no table."""
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    if row is not None:
        return TimedRecord(**fields, time=row.time, percent=row.percent_of_baseline)
    time = stats.time_interval(record.by_round) if record.samples else UNKNOWN
    return TimedRecord(**fields, time=time, percent=UNKNOWN)


@dataclass(frozen=True)
class Plot:
    """A chart that a notebook can show."""

    chart: Chart

    def save(self, path: str | Path) -> None:
        """Write an SVG file. Raises UsageError for another suffix, and StoreError if the file cannot be written."""
        write_chart(self.chart, Path(path))

    def __repr__(self) -> str:
        return f"<Plot: {self.chart.description}>"

    def _repr_svg_(self) -> str:
        return render_svg(self.chart)


@dataclass(frozen=True, repr=False)
class RunResults:
    """The rows of a run, which a notebook shows as tables.

    `interrupted` is true if the run ended early: after Ctrl-C, at its time limit, because its file could not be
    written, or because it was killed. `path` is the results file, or None if none was kept.
    """

    saved: Run
    interrupted: bool = False
    path: Path | None = None

    @cached_property
    def records(self) -> list[TimedRecord]:
        """One record per row, with its samples in seconds per launch and the time and percentage derived from them.

        `saved.records` also holds the short loads that only helped to choose what to measure.
        """
        rows = {id(row.record): row for row in self.comparison.rows}
        return [_add_times(record, rows.get(id(record))) for record in self.saved.full_records]

    @property
    def transfers(self) -> list[TransferRecord]:
        """One record per kernel and mode of `with_transfers`, with the seconds of whole jobs, including copies."""
        return self.saved.transfers

    @property
    def environment(self) -> Environment:
        """The device, versions and settings of the run."""
        return self.saved.environment

    @cached_property
    def comparison(self) -> Comparison:
        """The comparison of the rows, with the speeds and their intervals, grouped by problem."""
        return compare_rows(self.saved)

    @property
    def ok(self) -> bool:
        """True if at least one row ran and every row that ran is correct."""
        return _all_right([*self.records, *self.transfers])

    def table(self, style: str = "simple", wide: bool = False) -> str:
        """Return the tables as text in any of tabulate's formats. `wide` adds columns, like --wide."""
        return format_reports(self._report(View(wide, is_complete(style))), style)

    def _report(self, view: View) -> list[Report]:
        return report_results(self.comparison, view)

    def plot(
        self,
        kind: str | None = None,
        *,
        size: str | int = "",
        precision: str = "",
        layout: str = "",
        variants: str | Sequence[str] = (),
        percent: bool = False,
        highlight: str = "",
        axis: str = "",
        x: str = "",
        y: str = "",
        title: str = "",
    ) -> Plot:
        """Draw a chart of the run, like `gemmbench plot`. In a notebook, it appears if it is the last line of a cell.

        Args:
            kind: "speed", "heat-map", "roofline", "ladder", "search" or "transfers". None picks one that fits the run.
            size, precision, layout, variants: draw only these.
            percent: show percent of the baseline, or shares of the job's time.
            highlight: the variant to emphasize.
            axis: "linear" or "log", for a chart of speeds. The default follows the data.
            x, y: the parameters for the axes of a heat map.
            title: a title to replace the default.

        Raises UsageError if the run has nothing to draw.
        """
        names = (variants,) if isinstance(variants, str) else tuple(variants)
        choices: dict[str, object] = {"size": str(size), "precision": precision, "layout": layout, "variants": names}
        choices |= {"percent": percent, "highlight": highlight, "axis": axis, "x": x, "y": y, "title": title}
        drawn = [self.comparison]
        return Plot(draw_chart(kind or guess_kind(drawn, **choices), drawn, **choices))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one line per row and the columns of the CSV export.

        Times are in seconds and clocks in Hz. Raises GemmbenchError if pandas is missing.
        """
        return _make_frame(export_kernels(self.comparison))

    def __repr__(self) -> str:
        title = f"{type(self).__name__}: {self.environment.sweep} on {self.environment.device}"
        return f"<{title}, {_count_statuses(self.records)}>"

    def _repr_html_(self) -> str:
        """Return the tables as HTML, with a folded explanation of how to read them."""
        reports = self._report(View(details=True))
        notes = [line for report in reports for line in report.details or report.footer]
        tables = format_reports([replace(report, footer=(), details=()) for report in reports], "html")
        folded = "\n".join(format_list(notes, "html"))
        return f"{tables}\n<details><summary>How to read the numbers</summary>{folded}\n</details>"


@dataclass(frozen=True, repr=False)
class CompareResults(RunResults):
    """The rows of a comparison, with a verdict for each pair of variants at each problem.

    The verdicts ignore differences within 1 +- `margin`.
    """

    variants: tuple[str, ...] = ()
    margin: float = MARGIN

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """One verdict for each pair of variants at each problem, on the later variant of the pair."""
        return judge_variants(self.comparison, self.variants, self.margin)

    def _repr_html_(self) -> str:
        sentences = "<br>".join(escape(verdict.sentence) for verdict in self.verdicts)
        return f"{super()._repr_html_()}\n<p>{sentences}</p>"


@dataclass(frozen=True, repr=False)
class VerifyResults:
    """The checks of a verification, one record each. `broken` says which kernel files cannot be read, and why."""

    records: list[Record]
    interrupted: bool = False
    broken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True if something was checked, every check passed, and every file could be read."""
        return _all_right(self.records) and not self.broken

    @property
    def failures(self) -> list[str]:
        """A description of each failed configuration on one line, with maps of C."""
        return verification_report.list_failures(self.records)

    def table(self, style: str = "simple") -> str:
        """Return a table with the checks passed, failed and skipped, and the worst rounding error, for each variant."""
        return Report([verification_report.tabulate_checks(self.records)]).format(style)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a data frame with one line per check. Raises GemmbenchError if pandas is missing."""
        return _make_frame([_check_cells(record) for record in self.records])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {_count_statuses(self.records)}>"

    def _repr_html_(self) -> str:
        return f"{self.table('html')}\n<pre>{escape(chr(10).join(self.failures))}</pre>"


def _all_right(records: Sequence[Record | TransferRecord]) -> bool:
    ran = [record for record in records if record.status != "skipped"]
    return bool(ran) and all(record.status == "ok" for record in ran)


def _count_statuses(records: Sequence[Record]) -> str:
    counts = Counter(record.status for record in records)
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "no rows"


def _check_cells(record: Record) -> dict[str, object]:
    return {
        "variant": record.variant,
        "config": record.configuration,
        **{column.key: column.value(record.problem) for column in PROBLEM},
        "device": record.backend,
        "status": record.status,
        "rule": record.check_rule,
        "error_units": record.error,
        "diagnosis": record.diagnosis,
        "reason": record.reason,
        "invariance": record.invariance,
    }


def _make_frame(rows: Sequence[dict[str, object]]) -> pandas.DataFrame:
    try:
        import pandas  # optional
    except ImportError:
        raise GemmbenchError("to_pandas() needs pandas: pip install pandas") from None
    return pandas.DataFrame(rows)

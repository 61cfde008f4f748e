"""`gemmbench show`: prints the tables of saved results again, and lists runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gemmbench.cli.options import (
    LAYOUT_NAMES,
    PRECISION_NAMES,
    OutputOptions,
    RunName,
    VariantName,
    argument,
    command,
    option,
    out_option,
)
from gemmbench.cli.output import TERMINAL, print_line, print_reports, print_warning, screen_width
from gemmbench.cli.run_outputs import print_results, write_exports
from gemmbench.errors import OK, UsageError
from gemmbench.planning.files import is_folder
from gemmbench.planning.sizes import parse_shown_sizes
from gemmbench.planning.sweeps.run_request import OUTPUT, PROBLEM, parse_layouts, parse_precisions
from gemmbench.report.comparison import RowFilter, compare_rows
from gemmbench.report.explanation import explain_row, find_row
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.tables.view import View
from gemmbench.session.saved_runs import find_newest_run, list_runs, read_run, report_runs


@dataclass(frozen=True, kw_only=True)
class ShowOptions:
    """The options of `gemmbench show`."""

    files: tuple[str, ...] = argument(nargs=-1, type=RunName())
    explain: str | None = option(
        "--explain",
        metavar="ROW",
        heading=OUTPUT,
        help="Explain one row, given by its number in --wide, NAME or NAME@SIZE.",
    )
    out: str = out_option()
    sizes: str | None = option("--sizes", metavar="SIZES", heading=PROBLEM, help="Only these sizes, such as 1024,4096.")
    precisions: str | None = option(
        "--precision", type=PRECISION_NAMES, metavar="NAMES", heading=PROBLEM, help="Only these precisions."
    )
    layouts: str | None = option(
        "--layout", type=LAYOUT_NAMES, metavar="NAMES", heading=PROBLEM, help="Only these layouts."
    )
    variants: tuple[str, ...] = option(
        "--variant",
        multiple=True,
        type=VariantName(),
        heading=PROBLEM,
        help="Only this kernel or library, or those that match a pattern such as 'sgemm*' (repeatable).",
    )
    columns: str | None = option(
        "--columns",
        metavar="NAMES",
        heading=OUTPUT,
        help="Only these columns in this order, such as kernel,M,time, in tables and exports.",
    )
    sort: str = option(
        "--sort",
        default="",
        metavar="NAME",
        heading=OUTPUT,
        help="Sort rows by a column; -NAME sorts from largest to smallest.",
    )
    output: OutputOptions

    @property
    def selection(self) -> RowFilter:
        """The rows to show. Raises UsageError."""
        sizes = parse_shown_sizes(self.sizes) if self.sizes else ()
        precisions = parse_precisions(self.precisions) if self.precisions else ()
        layouts = parse_layouts(self.layouts) if self.layouts else ()
        return RowFilter(tuple(sizes), precisions, layouts, self.variants)

    @property
    def view(self) -> View:
        """The parts that the tables show."""
        columns = () if self.columns is None else tuple(dict.fromkeys(self.columns.split(",")))
        return replace(self.output.view, columns=columns, sort=self.sort)


@command(ShowOptions)
def show(options: ShowOptions) -> int:
    """Print or export saved results FILES, or explain one row.

    \b
    gemmbench show results                which runs there are, and their sizes
    gemmbench show 1f3a --sizes 2048      one run: which kernel is fastest
    gemmbench show --explain tiled@2048   how a number came about; its flags
    gemmbench show --export-csv - | head  the newest run as CSV, and no table

    A FILE is a results file, the name of a saved run, the id of a run, or a folder, which lists its runs;
    without one it is the newest file of the results folder.
    """
    if len(options.files) > 1 and options.output.exports:
        raise UsageError("an export takes one results file at a time; call show once for each")
    with _no_garbage_collection():
        for name in options.files or [_find_newest(options.out)]:
            if is_folder(Path(name)):
                _list_folder(name, options)
            else:
                _show_run(read_run(name, Path(options.out)), options)
    return OK


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Disable the search for reference cycles. Rows have none, and with 100,000 rows it takes a quarter of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _find_newest(folder: str) -> str:
    path = find_newest_run(Path(folder))
    TERMINAL.message(f"showing the newest file of {folder}: {path}")
    return str(path)


def _list_folder(name: str, options: ShowOptions) -> None:
    if options.explain is not None or options.output.exports:
        raise UsageError(f"{name} is a folder; give one of its results files, which gemmbench show {name} lists")
    selection = options.selection
    runs, left_out = list_runs(Path(name), TERMINAL, selection)
    report = report_runs(
        name, runs, [each if isinstance(each, str) else each.size for each in selection.sizes], left_out
    )
    print_reports([report], options.output.style)


def _show_run(run: Run, options: ShowOptions) -> None:
    print_warning(run)
    everything = compare_rows(run)
    comparison = options.selection.choose(everything)
    write_exports(comparison, options.output, options.view)
    if options.explain is None and not options.output.to_stdout:
        print_results(
            comparison, options.output.style, options.view, closing=not run.ended_early, chosen=bool(options.variants)
        )
    elif options.explain is not None:
        print_line("\n".join(explain_row(find_row(everything, options.explain), screen_width())))

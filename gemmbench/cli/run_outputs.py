"""Writes what a run leaves behind: tables, exports, its exit code and command. With --dry-run, prints its plans."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.estimate import Estimate, estimate_run
from gemmbench.bench.record import Record, TransferRecord
from gemmbench.cli.options import ConfigName, OutputOptions, Values, VariantName
from gemmbench.cli.output import TERMINAL, print_line, print_reports, print_warning
from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK, StoreError, UsageError
from gemmbench.planning.files import STDOUT, is_results_name, results_stem
from gemmbench.planning.manifests.catalog import is_kernel_name, is_path
from gemmbench.planning.plans.plan import make_chain
from gemmbench.planning.problems import PanelCut
from gemmbench.planning.sweeps.planned_sweep import PlannedSweep
from gemmbench.planning.sweeps.run_request import MEASURING, PROBLEM, STOPPING, TRANSFERS, Destination, write_option
from gemmbench.planning.sweeps.sweep import list_configs
from gemmbench.report import export
from gemmbench.report.comparison import Comparison, compare_rows
from gemmbench.report.diagnostics.plan_report import PlannedRows, describe_estimate, report_network_plans, report_plans
from gemmbench.report.fastest import list_best_configurations, list_fastest
from gemmbench.report.store.reading import complete_batches, read_results
from gemmbench.report.store.recorded_run import Run
from gemmbench.report.table import Report
from gemmbench.report.tables.kernel_tables import report_results
from gemmbench.report.tables.post_tables import find_post, report_post
from gemmbench.report.tables.view import View
from gemmbench.session.open_run import RunResult, find_resumed, find_unfinished, name_command, split_command
from gemmbench.session.saved_runs import find_newest_run, read_run
from gemmbench.session.sweep_runs import choose_transfers

if TYPE_CHECKING:  # few commands run networks, which take long to import
    from gemmbench.session.network_runs import PlannedNetwork


def describe_results(path: Path, names: Sequence[str]) -> str:
    """`results: results/20260101-120000-quick-1f3a.jsonl and .csv`: files next to it by what differs in their names."""
    stem = results_stem(path)
    return f"results: {' and '.join([str(path), *(name.removeprefix(stem) for name in names)])}"


def finish_run(
    result: RunResult, comparison: Comparison, options: OutputOptions, sustained: bool, closing: bool = True
) -> int:
    """Print the tables, write the exports, and return the exit code.

    With `closing`, the last line says which variant is fastest, unless the run was interrupted. Without, the command's
    own last lines must say what a CPU's times mean. Raises StoreError after
    the tables have been printed.
    """
    run = result.run
    try:
        view = replace(options.view, caveat=closing)  # otherwise the command's own last lines have it
        if has_results(run) or not result.interrupted:
            print_results(comparison, options.style, view, closing and not result.interrupted)
    finally:
        names = [] if result.fault else save_csv(comparison)
    announce_results(result, names)
    if sustained and not any(record.sustained for record in run.records):
        why = "it needs a GPU, and launches of at most 0.1 s"
        print_line(f"--sustained: no row has a steady load; {why}", to_stderr=True)
    write_exports(comparison, options)
    refuse_incomplete_file(result)
    return choose_exit_code([*run.full_records, *run.transfers], result.interrupted)


def has_results(run: Run) -> bool:
    """Return whether anything was measured, verified or tried: a run of skipped rows has no results."""
    return bool(run.transfers) or any(record.status != "skipped" for record in run.records)


def announce_results(result: RunResult, names: Sequence[str]) -> None:
    """Say where the rows of a run are: in its results file and in CSV files with these names."""
    run = result.run
    if run.records:
        print_line(describe_results(run.path, names), to_stderr=True)
    if result.interrupted and (run.planned or not run.records):
        print_next_step(run)


def print_next_step(run: Run | None = None, what: str = "interrupted") -> None:
    """Name the command that continues after an interruption: with the rows of a run, or from the start.

    It is the last line on stderr, below everything that the command still prints.
    """
    context = click.get_current_context()
    context.call_on_close(lambda: print_line(_write_next_step(context, run, what), to_stderr=True))


def _write_next_step(context: click.Context, run: Run | None, what: str) -> str:
    typed = ["gemmbench", str(context.info_name), *_list_words(context.command, context.params)]
    if run is None or not run.records:
        kept = "" if run is None else " before the first row was measured, so nothing is kept"
        return f"{what}{kept}; start again with: {shlex.join(typed)}"
    if run.is_resumable and (words := _write_resuming(context, run)):
        return f"{run.path}: {run.lack}; continue with: {shlex.join(words)}"
    return f"{run.path}: {run.lack}; start again with: {shlex.join(typed)}"


def _write_resuming(context: click.Context, run: Run) -> list[str]:
    """Return the words of the command that continues a run; an empty list if this command cannot.

    They contain all options only if the run was on a fleet or its command names code, which a file may not choose.
    """
    if all(parameter.name != "resume_from" for parameter in context.command.params):
        return []
    values = {**_parse_recorded(context, run), **dict.fromkeys((_OF_ONE_RUN, *_NOT_RECORDED))}
    words = ["gemmbench", str(context.info_name), *_list_words(context.command, values)]
    named = any(_names_code(each, values[str(each.name)]) for each in context.command.params if _decides_rows(each))
    return [*(words if named or values.get("fleet") else words[:2]), "--resume-from", str(run.path)]


def refuse_incomplete_file(result: RunResult) -> None:
    """Raise StoreError if rows that were shown are missing in the results file."""
    if result.fault:
        hint = ", and --resume continues it once that is fixed" if result.run.planned else ""
        raise StoreError(f"{result.fault}; the run ended{hint}")


def save_csv(comparison: Comparison) -> list[str]:
    """Write CSV files next to the results file and return their names. Raises StoreError.

    An existing link is replaced, so that someone else's folder cannot choose which file is overwritten.
    """
    path = comparison.run.path.with_suffix(".csv")
    for link in filter(Path.is_symlink, (path, path.with_suffix(".transfers.csv"))):
        link.unlink()
    if comparison.rows:
        export.write_csv(path, comparison)
    transfers = export.write_transfers_csv(path, comparison)
    return [*([path.name] if comparison.rows else []), *([transfers.name] if transfers else [])]


def write_exports(comparison: Comparison, options: OutputOptions, view: View | None = None) -> None:
    """Write the exports that the options ask for, with the columns and order of the view. Raises StoreError."""
    view = view or options.view
    if options.export_csv:
        export.write_csv(Path(options.export_csv), comparison, view)
        export.write_transfers_csv(Path(options.export_csv), comparison)
    if options.export_json:
        export.write_json(Path(options.export_json), comparison, view)
    if options.export_markdown:
        export.write_markdown(Path(options.export_markdown), comparison, view)
    paths = [options.export_csv, options.export_json, options.export_markdown]
    if written := [path for path in paths if path and path != STDOUT]:
        print_line(f"exported to: {', '.join(written)}", to_stderr=True)


def print_results(
    comparison: Comparison, style: str | None, view: View, closing: bool = True, chosen: bool = False
) -> None:
    """Print the tables of a run, or of `chosen` kernels. If it repeats a post, they are the post's unless `wide`."""
    post = None if view.wide else find_post(comparison.environment)
    fastest = list_fastest(comparison, chosen) if closing else []
    lines = [*fastest, *list_best_configurations(comparison)] if closing else []
    results = report_results(comparison, replace(view, caveat=view.caveat and not fastest))
    reports = [report_post(comparison), *results[1:]] if post else results
    print_reports([*reports[:-1], replace(reports[-1], closing=lines)], style)


def choose_exit_code(records: Sequence[Record | TransferRecord], interrupted: bool) -> int:
    """Return 0 if every row that ran is correct, 1 if one is not, 3 if nothing ran, and 130 if interrupted."""
    if interrupted:
        return INTERRUPTED
    ran = [record for record in records if record.status != "skipped"]
    if not ran:
        print_line("nothing ran: every row was skipped for the reasons above", to_stderr=True)
        return NO_DEVICE
    return OK if all(record.status == "ok" for record in ran) else BAD_ROW


def find_missing(names: Iterable[str], records: Iterable[Record]) -> int:
    """Return 3 if a variant to compare could not run at any size, which is reported on stderr; else 0."""
    rows = list(records)
    ran = {record.variant for record in rows if record.status != "skipped"}
    reasons = {record.variant: record.reason for record in rows if record.variant not in ran}
    missing = [name for name in names if name in reasons]
    for name in missing:
        print_line(f"{name} could not run, so it is not compared: {reasons[name]}", to_stderr=True)
    return NO_DEVICE if missing else OK


def read_comparisons(files: Sequence[str], folder: Path, command: str = "") -> list[Comparison]:
    """Read the runs that `files` name, or the newest run of the folder. Their warnings go to stderr.

    The newest run must be of the command `command`, such as `tune`, unless it is "".

    Raises UsageError, also if there is no such folder, and StoreError.
    """
    if folder != Destination.folder and not folder.is_dir():
        raise UsageError(f"--out {folder}: no such folder of results; to write the file, give -o {folder}")
    runs = [read_run(file, folder) for file in files or [str(find_newest_run(folder, command))]]
    for run in runs:
        print_warning(run)
    return [compare_rows(run) for run in runs]


def print_plans(
    planned: PlannedSweep | PlannedNetwork,
    machine: Machine,
    style: str | None,
    resumed: Path | None,
    cut: PanelCut | None = None,
) -> int:
    """Print plans, skips and an estimate without opening a device. Rows that a resumed file has are left out."""
    report, _ = _report_plans(planned, machine, resumed, cut)
    print_reports([report], style)
    return OK


def print_plans_of_posts(
    posts: Iterable[tuple[str, PlannedSweep | PlannedNetwork]],
    machine: Machine,
    style: str | None,
    resumed: Path | None,
) -> int:
    """Print the plans of every post under its name, and an estimate for all posts, without opening a device."""
    total = Estimate(0.0, 0.0, 0)
    for name, planned in posts:
        report, estimate = _report_plans(planned, machine, resumed)
        table = report.tables[0]
        titled = replace(table, title=f"{name}: {table.title}".removesuffix(": "))
        print_reports([replace(report, tables=[titled])], style)
        print_line()
        total += estimate
    print_line(f"All posts: about {describe_estimate(total, machine.primary.name)}.")
    return OK


def _report_plans(
    planned: PlannedSweep | PlannedNetwork, machine: Machine, resumed: Path | None, cut: PanelCut | None = None
) -> tuple[Report, Estimate]:
    sweep, name = planned.sweep, machine.primary.name
    compilers = registry.make_compilers(machine, machine.devices)
    chains = planned.make_chains() if isinstance(planned, PlannedSweep) else planned.rows
    rows = PlannedRows(_list_measured(resumed))
    jobs = choose_transfers(cut, planned, machine)[1] if isinstance(planned, PlannedSweep) else []
    counted, copied = rows.count(chains), map(make_chain, jobs)
    estimate = estimate_run(counted, machine, sweep.policy, sweep.baseline, compilers, copied)
    if isinstance(planned, PlannedSweep):
        return report_plans(rows, estimate, name), estimate
    network = planned.sweep.network
    return report_network_plans(f"{network}, {network.precision_name}", rows, estimate, name), estimate


def _list_measured(resumed: Path | None) -> set[tuple[object, ...]]:
    """List the rows of complete batches of a results file, which resuming does not measure again. Raises StoreError."""
    batches = complete_batches(read_results(resumed).records).values() if resumed else []
    return {record.kernel_key for batch in batches for record in batch}


_NOT_RECORDED = ("resume", "resume_from")
_OF_ONE_RUN = "sweep_limit"
"""Limits the time of one run, so the one that continues it does not stop there again."""
_DECIDING = (PROBLEM, MEASURING, STOPPING, TRANSFERS)
"""The headings of those options that decide which rows are measured and how."""
_NO_FILE = "random"
"""A value of --weights that is not a file."""


def complete_options(context: click.Context) -> Values:
    """Return the command to record. With --resume, options that are not given come from the earlier command.

    A results file may come from someone else. So its command decides only which rows are measured. Where results are
    written, what is written, and which code files run must be given. Raises UsageError and StoreError.
    """
    run = _find_run(context, context.params)
    values = _take_recorded(context, context.params, run) if run else {}
    words = ["gemmbench", str(context.info_name), *_list_words(context.command, context.params | values)]
    return values | {"recorded_command": shlex.join(words)}


def _take_recorded(context: click.Context, values: Values, run: Run) -> Values:
    """Combine the given values with those of the recorded command that decide rows. Raises UsageError."""
    usual = ParameterSource.DEFAULT
    given = {name: value for name, value in values.items() if context.get_parameter_source(name) != usual}
    recorded = {name: value for name, value in _parse_recorded(context, run).items() if name not in given}
    deciding = [parameter for parameter in context.command.params if _decides_rows(parameter)]
    chosen = {str(each.name): recorded[str(each.name)] for each in deciding if each.name in recorded}
    home = {"out": str(run.path.parent), "resume_from": str(run.path)}
    values = {**values, **home, **chosen, **{name: given[name] for name in given if name not in _NOT_RECORDED}}
    if any(_names_code(each, chosen.get(str(each.name))) for each in deciding):
        typed = ["gemmbench", str(context.info_name), *_list_words(context.command, values)]
        raise UsageError(
            f"{run.path}: its command names files, and gemmbench does not let a results file choose the code "
            f"to run; if you trust them, type: {shlex.join([*typed, '--resume-from', str(run.path)])}"
        )
    left_out = {name: value for name, value in recorded.items() if name not in chosen and name != "out"}
    if words := _list_words(context.command, left_out):
        TERMINAL.message(f"{run.path}: left out of its command: {shlex.join(words)}; repeat the options that you want")
    return values


def _decides_rows(parameter: click.Parameter) -> bool:
    if parameter.name == _OF_ONE_RUN:
        return False
    names = isinstance(parameter, click.Argument) or parameter.name in ("device", "kernels")
    return names or getattr(parameter, "heading", "") in _DECIDING


def _names_code(parameter: click.Parameter, value: Any) -> bool:
    """Return whether a value names a file or a revision that contains code or says which code to run."""
    words = value if isinstance(value, tuple) else () if value is None else (value,)
    if isinstance(parameter.type, ConfigName):
        return any(word not in list_configs() for word in words)
    if isinstance(parameter.type, VariantName):
        return not all(is_kernel_name(word) and not is_path(word) for word in words)
    is_file = isinstance(parameter.type, click.Path) or getattr(parameter, "metavar", "") == "FILE"
    return is_file and any(word != _NO_FILE for word in words)


def _find_run(context: click.Context, values: Values) -> Run | None:
    """Find the run to resume: the one that is named, or the newest unfinished run of this command."""
    if file := values["resume_from"]:
        return read_results(find_resumed(file))
    if not values["resume"]:
        return None
    words = [word for value in values.values() if isinstance(value, tuple) for word in value]
    if files := [word for word in words if is_results_name(word)]:
        raise UsageError(f"--resume takes no file; use --resume-from {files[0]}")
    return find_unfinished(Path(values["out"]), str(context.info_name), TERMINAL)


def _parse_recorded(context: click.Context, run: Run) -> Values:
    """Parse the command that a run records into values. Raises UsageError."""
    name = name_command(run.command)
    if name != context.info_name:
        raise UsageError(f"{run.path}: {_explain_other_command(context, name, run.path)}")
    try:
        return context.command.make_context(name, split_command(run.command)[2:], parent=context.parent).params
    except click.ClickException as fault:
        raise UsageError(f"{run.path}: its command cannot be repeated: {fault.format_message()}") from None
    except click.exceptions.Exit:
        raise UsageError(
            f"{run.path}: its command does not measure anything; start a new run without --resume-from"
        ) from None


def _explain_other_command(context: click.Context, name: str, path: Path) -> str:
    group = context.parent.command if context.parent else None
    command = group.get_command(context, name) if isinstance(group, click.Group) else None
    if command and any(parameter.name == "resume_from" for parameter in command.params):
        return f"measured by gemmbench {name}; use gemmbench {name} --resume-from {path}"
    measured = f"measured by gemmbench {name}" if name else "its command is unknown"
    return f"{measured}, so it cannot be resumed; start a new run without --resume-from"


def _list_words(command: click.Command, values: Values) -> list[str]:
    """Return the words of a command with these values. Default values are left out."""
    words: list[str] = []
    for parameter in command.params:
        value = values.get(str(parameter.name))
        usual = parameter.default
        if isinstance(usual, str):  # as it is typed, such as 1%
            usual = parameter.type.convert(usual, parameter, None)
        if parameter.name not in _NOT_RECORDED and value not in (None, (), usual):
            words += _write(parameter, value)
    return words


def _write(parameter: click.Parameter, value: Any) -> list[str]:
    """Write an argument, or an option with its value. A repeatable option is written once for each value."""
    if isinstance(parameter, click.Argument):
        return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]
    return write_option([*parameter.opts[-1:], *parameter.secondary_opts[-1:]], value)

"""What run, compare and verify share: the sweep, its plans, a device, a journal, the tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench import backends
from gemmbench.cli import options
from gemmbench.errors import BAD_ROW, INTERRUPTED, NO_DEVICE, OK, DeviceError, SpecError, UsageError

if TYPE_CHECKING:
    from gemmbench.bench.record import Record, TransferRecord
    from gemmbench.report.store import Run
    from gemmbench.spec.catalog import Catalog
    from gemmbench.spec.limits import Limits
    from gemmbench.spec.panels import Cut
    from gemmbench.spec.plan import Plan, Skip
    from gemmbench.spec.sweep import Sweep


PLAIN = "simple"


def kernel_folders(folder: str | None) -> list[Path]:
    """The project's kernels, and the folder of `--kernels`."""
    from gemmbench.spec.paths import data_folder

    return [data_folder("cuda"), *([Path(folder)] if folder else [])]


def open_catalog(folder: str | None, names: Iterable[str] = ()) -> Catalog:
    """The project's kernels, those of `--kernels`, the libraries, and of `names` those of a git revision.

    Raises UsageError and SpecError.
    """
    from gemmbench.spec.catalog import MARK, Catalog

    folders, variants = kernel_folders(folder), backends.libraries()
    if marked := [name for name in dict.fromkeys(names) if MARK in name]:
        from gemmbench.spec.revision import variant_at

        variants += [variant_at(name, folders) for name in marked]
    return Catalog(folders, variants)


def find_machine(option: str) -> backends.Machine:
    """The devices of this run; says on stderr when `auto` took the CPU."""
    choice = backends.choose(option)
    if choice.note:
        click.echo(choice.note, err=True)
    return backends.describe(choice)


def find_gpu(option: str, what: str) -> backends.Machine:
    """The GPU that `what` needs. Raises DeviceError if there is none, or the option names another device."""
    choice = backends.choose(option)
    if choice.primary != "cuda":
        why = choice.note.partition(": ")[2].partition(";")[0] or f"--device {option} is none"
        raise DeviceError(f"{what} needs an NVIDIA GPU: {why}")
    return backends.describe(choice)


@dataclass
class Asked:
    """A sweep that has been planned for a machine."""

    sweep: Sweep
    machine: backends.Machine
    expanded: list[Plan | Skip]

    @property
    def plans(self) -> list[Plan]:
        """What can run."""
        from gemmbench.spec.plan import Plan

        return [item for item in self.expanded if isinstance(item, Plan)]

    @property
    def devices(self) -> list[str]:
        """Back ends that the plans need."""
        return sorted({plan.device for plan in self.plans})


def plan_sweep(sweep: Sweep, machine: backends.Machine, kernels: str | None, explicit_baseline: bool) -> Asked:
    """Settle the baseline, look the variants up, plan. Raises UsageError and SpecError."""
    from gemmbench.spec.expand import check_memory, check_params, configurations, expand
    from gemmbench.spec.sweep import Choice

    catalog = open_catalog(kernels, [choice.name for choice in sweep.choices] + [sweep.baseline])
    baseline = _baseline(sweep, machine, catalog, explicit_baseline)
    everywhere = any(choice.name == baseline and choice.row is None for choice in sweep.choices)
    choices = sweep.choices if everywhere else (*sweep.choices, Choice(baseline, {}))
    for choice in choices:
        with _placed(sweep, choice.line):
            catalog.find(choice.name)
    variants = {variant.name: variant for variant in catalog.ladder(choice.name for choice in choices)}
    for choice in choices:
        among = [variants[choice.name]] if choice.own else variants.values()
        with _placed(sweep, choice.line):
            check_params([(variant, choice.params) for variant in among])
    check_memory(sweep.problems, machine.targets)
    expanded: list[Plan | Skip] = []
    for problem in sweep.problems:
        mine = [choice for name in variants for choice in choices if choice.name == name and choice.fits(problem)]
        configs = [(variants[choice.name], configurations(variants[choice.name], choice.params)) for choice in mine]
        expanded += expand([problem], configs, machine.choice.primary, machine.targets, backends.refusal)
    distinct = list(dict.fromkeys(expanded))  # two rows of a post may ask for the same
    return Asked(replace(sweep, baseline=baseline, choices=choices), machine, distinct)


@contextmanager
def _placed(sweep: Sweep, line: int | None) -> Iterator[None]:
    """Name the line of the config in a UsageError that it causes; None is the command line."""
    try:
        yield
    except SpecError:
        raise
    except UsageError as fault:
        raise SpecError(sweep.place, line, str(fault)) if line else fault from None


def _baseline(sweep: Sweep, machine: backends.Machine, catalog: Catalog, explicit: bool) -> str:
    """The sweep's baseline if it can run here, else the machine's own; one that was asked for must."""
    from gemmbench.spec.expand import place

    name = sweep.baseline or machine.default_baseline
    with _placed(sweep, sweep.baseline_line):
        variant = catalog.get(name)
    if place(variant, machine.choice.primary, machine.targets) in machine.targets:
        return name
    if explicit:
        raise UsageError(f"baseline {name} needs a GPU; take --baseline {machine.default_baseline}")
    return machine.default_baseline


def measure(
    asked: Asked, out: str, resume: str | None, limits: Limits, transfers: Cut | None = None
) -> tuple[Run, bool]:
    """Run the plans into a journal, and their transfers; returns the results, and whether it was interrupted."""
    from gemmbench.bench.environment import describe
    from gemmbench.bench.runner import Runner
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.laboratory import open_laboratory, software
    from gemmbench.cli.progress import progress_bar
    from gemmbench.cli.resume import results_file
    from gemmbench.cli.transfers import measure_transfers
    from gemmbench.report import store

    stop, measuring = Interruption(limits.sweep), asked.sweep.measuring
    with (
        stop.watched(),
        progress_bar() as progress,
        open_laboratory(asked.machine, asked.devices, measuring.gate, limits, progress, stop.asked) as laboratory,
    ):
        environment = describe(asked.machine, asked.sweep, command_line(), software(asked.machine, laboratory))
        run = results_file(environment, Path(out), resume)
        done = store.complete_batches(run.records)
        with store.Journal(run.path, run.environment) as journal:
            skipped = {record.identity for record in run.records if record.status == "skipped"}

            def emit(record: Record) -> None:
                if record.identity in skipped:  # the run that is resumed has it
                    return
                journal.write(record)
                run.records.append(record)

            compilers = backends.compilers(asked.machine, asked.devices, limits.compile)
            runner = Runner(compilers, laboratory, measuring, asked.sweep.baseline, emit, progress, stop.asked, done)
            runner.earlier, runner.rivals = tuple(run.records), asked.sweep.rivals
            runner.run(asked.expanded)
            if transfers is not None and not stop.asked():
                measure_transfers(asked, run, journal, laboratory, transfers, progress, stop.asked)
    return run, stop.asked()


def command_line() -> str:
    """What was typed."""
    return " ".join(["gemmbench", *sys.argv[1:]])


def conduct(sweep: Sweep, machine: backends.Machine, settings: dict[str, Any]) -> tuple[int, Run | None]:
    """Plan, run and report a sweep, or show its plans; returns the exit code, and the results if it ran."""
    from gemmbench.cli.transfers import wanted

    transfers = wanted(settings, machine)
    asked = plan_sweep(sweep, machine, settings["kernels"], settings["baseline"] is not None)
    if settings["dry_run"]:
        from gemmbench.cli.dry_run import show_plans

        return show_plans(asked, settings["style"]), None
    results, interrupted = measure(asked, settings["out"], settings["resume"], options.limits(settings), transfers)
    return finish(results, interrupted, settings), results


def finish(run: Run, interrupted: bool, settings: dict[str, Any]) -> int:
    """Write the exports, print the tables, return the exit code."""
    from gemmbench.cli.transfers import write_transfers

    save_csv(run)
    transfers = write_transfers(run, run.path)
    export(run, settings)
    print_report(run, settings["style"], settings["wide"])
    if run.records:
        files = [run.path, run.path.with_suffix(".csv").name, *transfers]
        click.echo(f"results: {' and '.join(map(str, files))}", err=True)
    return code_of([*run.records, *run.transfers], interrupted)


def save_csv(run: Run) -> None:
    """Write the CSV beside the results file. Raises StoreError."""
    from gemmbench.report import store
    from gemmbench.report.comparison import flat

    if run.records:
        store.write_text(run.path.with_suffix(".csv"), store.to_csv(flat(run)))


def export(run: Run, settings: dict[str, Any]) -> None:
    """Write what --export-csv, --export-json and --export-markdown ask for. Raises StoreError."""
    from gemmbench.cli.transfers import write_transfers
    from gemmbench.report import store, tables, transfer_columns, transfer_tables
    from gemmbench.report.comparison import flat

    if path := settings["export_csv"]:
        store.write_text(Path(path), store.to_csv(flat(run)))
        write_transfers(run, Path(path))
    if path := settings["export_json"]:
        store.write_text(Path(path), store.to_json(run.environment, flat(run), transfer_columns.flat(run)))
    if path := settings["export_markdown"]:
        store.write_text(
            Path(path), tables.text(run, "github", settings["wide"]) + transfer_tables.section(run, "github")
        )


def print_report(run: Run, style: str | None, wide: bool = False) -> None:
    """Print the tables on stdout: rich on a terminal, plain text elsewhere, unless a format was asked for."""
    from gemmbench.report import tables, transfer_tables

    if run.environment.post:
        from gemmbench.report.posts import own_tables
        from gemmbench.spec.configs import read_post

        if post := read_post(run.environment.post):
            click.echo(own_tables(post, run, plain(style)) + transfer_tables.section(run, plain(style)), nl=False)
            return
    style = style or (tables.RICH if sys.stdout.isatty() else PLAIN)
    if style != tables.RICH:
        click.echo(tables.text(run, style, wide) + transfer_tables.section(run, style), nl=False)
        return
    from rich.console import Console

    Console().print(tables.rich_report(run, wide))
    if run.transfers:
        Console().print(transfer_tables.rich_report(run))


def plain(style: str | None) -> str:
    """A tabulate format for tables that rich does not draw."""
    return PLAIN if style in (None, "rich") else str(style)


def code_of(records: Sequence[Record | TransferRecord], interrupted: bool) -> int:
    """0 if every row that ran is right, 1 if one is not, 3 if nothing ran, 130 if interrupted."""
    if interrupted:
        return INTERRUPTED
    ran = [record for record in records if record.status != "skipped"]
    if not ran:
        click.echo("nothing ran: every row was skipped, for the reasons above", err=True)
        return NO_DEVICE
    return OK if all(record.status == "ok" for record in ran) else BAD_ROW

"""`gemmbench mlp`: forward propagation of a network, by every kind of kernel."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gemmbench.cli import options

if TYPE_CHECKING:
    from gemmbench.backends.machine import Machine
    from gemmbench.bench.operands.network_parameters import Parameters
    from gemmbench.bench.record import Environment
    from gemmbench.cli.laboratory import OpenLaboratory
    from gemmbench.planning.networks.forward_plans import Forward
    from gemmbench.planning.networks.network_config import MlpSweep
    from gemmbench.planning.sweeps.limits import Limits
    from gemmbench.report.store import Run

KEYS = "params cache data seed rounds until max_time energy baseline gate batch weights".split()


@click.command()
@click.argument("rows", nargs=-1, type=options.VariantName())
@options.option("-c", "--config", default="mlp", show_default=True, help="A config's name, or a YAML file.")
@options.option("--batch", type=int, help="Rows of a batch.")
@options.option("--weights", metavar="FILE", help="A .npz with W1, b1, W2, ...; or random.")
@options.params
@options.device
@options.kernels
@options.measure_options
@options.limit_options
@options.option("--digit", type=int, metavar="N", help="Show test digit N and what the first row says; time nothing.")
@options.journal_options
@options.option("--dry-run", is_flag=True, help="Show what each row launches, and skips; run nothing.")
@options.output_options
def mlp(rows: tuple[str, ...], config: str, digit: int | None, **settings: Any) -> int:
    """Verify and time a whole neural network, computed by each of ROWS.

    The network is a multi-layer perceptron. A row is a GEMM kernel or library that computes it
    layer by layer, or a kernel that computes all of it; without ROWS, the config names them.
    NAME+graph replays the launches of a row as one CUDA graph. Bias and activation are fused where
    the kernel supports it; otherwise they are separate launches, which count.
    """
    from gemmbench.cli import output, planning
    from gemmbench.planning.networks.network_config import MlpOptions, read_mlp

    machine = planning.find_machine(settings["device"])
    chosen = MlpOptions(variants=rows, **{key: settings[key] for key in KEYS})
    sweep = read_mlp(config, chosen, on_cpu=machine.on_cpu)
    asked = _plan(sweep, machine, settings)
    if settings["dry_run"]:
        return _show_plans(asked, settings["style"])
    if digit is not None:
        return _show_digit(asked, digit, options.limits(settings))
    run, interrupted = _measure(asked, settings)
    return output.finish(run, interrupted, settings)


def repeat(_: str, machine: Machine, settings: Mapping[str, Any]) -> tuple[Run, bool]:
    """Measure the post's network as `gemmbench posts` asks for it; the results, and whether it was interrupted."""
    from gemmbench.planning.networks.network_config import MlpOptions, read_mlp

    kept = {key: settings[key] for key in KEYS if key in settings and key not in ("params", "baseline")}
    sweep = read_mlp("mlp", MlpOptions(**kept), on_cpu=machine.on_cpu)
    return _measure(_plan(sweep, machine, settings), settings)


@dataclass
class Asked:
    """A network and its rows, planned for a machine; `given` are its parameters."""

    sweep: MlpSweep
    machine: Machine
    given: Parameters
    rows: list[Forward]

    @property
    def devices(self) -> list[str]:
        """Back ends that the rows need."""
        return sorted({row.device for row in self.rows if not row.reason})


def _plan(sweep: MlpSweep, machine: Machine, settings: Mapping[str, Any]) -> Asked:
    from gemmbench.backends import registry
    from gemmbench.backends.passes.kernels import read_passes
    from gemmbench.bench.operands import network_parameters as parameters
    from gemmbench.cli.planning import open_catalog
    from gemmbench.errors import UsageError, at_line
    from gemmbench.planning.networks.forward_plans import plan_rows
    from gemmbench.planning.networks.network_config import GRAPH, RowChoice
    from gemmbench.planning.plans.expansion import check_params

    seed = sweep.measuring.seed
    given = parameters.load(sweep.weights, sweep.network) if sweep.weights else parameters.random(sweep.network, seed)
    baseline, rows = sweep.baseline or machine.default_baseline, sweep.rows
    if baseline not in [row.name for row in rows]:
        rows = (*rows, RowChoice(baseline.removesuffix(GRAPH), baseline.endswith(GRAPH), {}))
    catalog = open_catalog(settings["kernels"])
    chosen = []
    for row in rows:
        with at_line(sweep.place, row.line):
            chosen.append((row, catalog.get(row.variant)))
    check_params([(variant, row.params) for row, variant in chosen])
    targets = machine.targets
    if sweep.network.bytes > (room := min(target.memory for target in targets.values())):
        raise UsageError(f"batch: {sweep.network.batch} needs {sweep.network.bytes:,} bytes, there are {room:,}")
    planned = plan_rows(sweep.network, chosen, read_passes(), machine.choice.primary, targets, registry.why_refused)
    return Asked(replace(sweep, baseline=baseline, rows=rows), machine, given, planned)


def _measure(asked: Asked, settings: Mapping[str, Any]) -> tuple[Run, bool]:
    from gemmbench.backends import registry
    from gemmbench.bench.mlp import MlpRunner
    from gemmbench.cli.interruption import Interruption
    from gemmbench.cli.laboratory import open_laboratory
    from gemmbench.cli.progress import progress_bar
    from gemmbench.cli.resume import kept_in, results_file
    from gemmbench.report import store

    limits = options.limits(settings)
    stop, sweep, machine = Interruption(limits.sweep), asked.sweep, asked.machine
    with (
        stop.watched(),
        progress_bar() as progress,
        open_laboratory(machine, asked.devices, sweep.measuring.gate, limits, progress, stop.asked) as laboratory,
    ):
        environment = _environment(asked, laboratory)
        run = results_file(environment, Path(settings["out"]), settings["resume"])
        with store.Journal(run.path, run.environment) as journal:
            compilers, network = registry.make_compilers(machine, asked.devices, limits.compile), sweep.network
            emit = kept_in(run, journal)
            runner = MlpRunner(laboratory, compilers, network, asked.given, sweep.measuring, sweep.baseline, emit)
            runner.progress, runner.interrupted = progress, stop.asked
            runner.done, runner.earlier = store.complete_batches(run.records), tuple(run.records)
            runner.run(asked.rows)
    return run, stop.asked()


def _environment(asked: Asked, laboratory: OpenLaboratory) -> Environment:
    from gemmbench.bench.environment import describe
    from gemmbench.cli.laboratory import software
    from gemmbench.cli.measuring import command_line
    from gemmbench.planning.sweeps.sweep import Sweep

    sweep = asked.sweep
    header = Sweep(sweep.name, (), (), sweep.baseline, sweep.measuring)
    return describe(asked.machine, header, command_line(), software(asked.machine, laboratory))


def _show_plans(asked: Asked, style: str | None) -> int:
    from gemmbench.cli.output import plain
    from gemmbench.errors import OK
    from gemmbench.report.tables import tabulated

    cells = [
        [row.name, str(row.config) or "-", row.device, ", ".join(row.launches) or f"skipped: {row.reason}"]
        for row in asked.rows
    ]
    click.echo(f"{asked.sweep.network}, {asked.sweep.network.precision_name}\n")
    click.echo(tabulated(cells, ["kernel", "configuration", "device", "launches"], plain(style)))
    return OK


def _show_digit(asked: Asked, number: int, limits: Limits) -> int:
    from gemmbench.backends import registry
    from gemmbench.bench.experiments.rows import answer
    from gemmbench.errors import NO_DEVICE, OK, UsageError
    from gemmbench.report.digit import picture, says

    digits = asked.given.digits
    if digits is None:
        raise UsageError("--digit: these weights have no digits; take --weights off, or a file that has images")
    if not 0 <= number < len(digits.labels):
        raise UsageError(f"--digit {number}: there are {len(digits.labels)}, numbered from 0")
    row = next((row for row in asked.rows if not row.reason), None)
    if row is None:
        click.echo(f"no row can run here: {asked.rows[0].reason}", err=True)
        return NO_DEVICE
    (device,) = registry.open_backends(asked.machine, [row.device], gate=False).values()
    with closing(device):
        compiler = registry.make_compilers(asked.machine, [row.device], limits.compile)[row.device]
        outputs = answer(row, device, compiler, asked.given, digits.inputs[number])
    for line in [*picture(digits.images[number]), "", *says(outputs, int(digits.labels[number]), row.name)]:
        click.echo(line)
    return OK

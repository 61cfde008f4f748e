"""Runs networks, from the request to the results, for `mlp` and for the post on networks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.network_workload import compute_outputs
from gemmbench.bench.measured_sweep import ChainSweep, measure_sweep
from gemmbench.bench.operands.network_parameters import Parameters, load_parameters, make_random_parameters
from gemmbench.errors import DeviceError, UsageError, at_line
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.network_sweeps import (
    NetworkRowChoice,
    NetworkSweep,
    plan_chains,
    read_network_sweep,
)
from gemmbench.planning.plans.configurations import check_params
from gemmbench.planning.plans.plan import GRAPH, Chain
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.planning.sweeps.sweep import Sweep
from gemmbench.session.machine import open_catalog
from gemmbench.session.open_run import RunResult, hash_plans, open_run
from gemmbench.session.reporter import SILENT, Reporter, announce_long_run, announce_run_on_cpu


@dataclass(frozen=True)
class PlannedNetwork:
    """A network, its parameters, and its rows as planned for a machine."""

    sweep: NetworkSweep
    parameters: Parameters
    rows: list[Chain]

    @property
    def devices(self) -> list[str]:
        """The back ends that the rows need."""
        return sorted({row.device for row in self.rows if not row.reason})


def plan_network_rows(
    request: RunRequest, machine: Machine, batch: int | None = None, weights: str | None = None
) -> PlannedNetwork:
    """Read the config and plan its rows and the baseline. `batch` and `weights` replace the values in the config.

    Raises UsageError and SpecError.
    """
    sweep = read_network_sweep(request, machine.on_cpu, batch, weights)
    given = _make_parameters(sweep)
    sweep = _add_baseline(sweep, machine.default_baseline)
    chosen = _look_up_variants(sweep, open_catalog(request.selection.kernels))
    room = min(target.memory for target in machine.targets.values())
    if sweep.network.bytes > room:
        raise UsageError(
            f"batch: {sweep.network.batch} needs {sweep.network.bytes:,} bytes, but the device has {room:,}"
        )
    targets = machine.targets
    rows = plan_chains(sweep.network, chosen, machine.choice.primary, targets, machine.why_refused)
    return PlannedNetwork(sweep, given, rows)


def _make_parameters(sweep: NetworkSweep) -> Parameters:
    if sweep.weights:
        return load_parameters(sweep.weights, sweep.network)
    return make_random_parameters(sweep.network, sweep.policy.seed)


def _add_baseline(sweep: NetworkSweep, default: str) -> NetworkSweep:
    """Return the sweep with its baseline among the rows."""
    baseline = sweep.baseline or default
    rows = sweep.rows
    if baseline not in [row.name for row in rows]:
        rows = (*rows, NetworkRowChoice(baseline.removesuffix(GRAPH), baseline.endswith(GRAPH), {}))
    return replace(sweep, baseline=baseline, rows=rows)


def _look_up_variants(sweep: NetworkSweep, catalog: Catalog) -> list[tuple[NetworkRowChoice, Variant]]:
    """Look up the variant of each row and check its parameters. Raises UsageError and SpecError."""
    chosen = []
    for row in sweep.rows:
        with at_line(sweep.location, row.line):
            chosen.append((row, catalog.get(row.variant)))
    check_params([(variant, row.params) for row, variant in chosen])
    return chosen


def run_network(
    request: RunRequest,
    machine: Machine,
    reporter: Reporter = SILENT,
    batch: int | None = None,
    weights: str | None = None,
) -> RunResult:
    """Plan the rows of a network, measure them and write a results file. Raises GemmbenchError."""
    planned = plan_network_rows(request, machine, batch, weights)
    sweep, rows, parameters = planned.sweep, planned.rows, planned.parameters
    header = Sweep(sweep.name, (), (), sweep.baseline, sweep.policy, post=sweep.post)
    announce_run_on_cpu(machine, rows, sweep.policy, sweep.baseline, request.limits, reporter)
    hashes = hash_plans(rows)
    with open_run(machine, header, planned.devices, request.limits, request.destination, reporter, hashes) as opened:
        chains = ChainSweep(
            rows,
            sweep.policy,
            sweep.baseline,
            (),
            parameters,
            opened.earlier,
            opened.run.environment.shuffle,
            announce=partial(announce_long_run, machine, reporter),
        )
        measure_sweep(opened.runner, opened.session.compilers, chains)
        return opened.finish()


@dataclass(frozen=True)
class DigitReading:
    """A test digit: its image and label, and the probabilities that the row named `row` computed."""

    image: np.ndarray
    label: int
    row: str
    probabilities: np.ndarray


def read_digit(
    request: RunRequest, digit: int, machine: Machine, batch: int | None = None, weights: str | None = None
) -> DigitReading:
    """Classify the first stored test image of `digit` with the first row that can run.

    Raises UsageError if the weights come without an image of the digit, and DeviceError if no row can run.
    """
    planned = plan_network_rows(request, machine, batch, weights)
    digits = planned.parameters.digits
    if digits is None:
        raise UsageError("--digit: these weights come without digits; leave out --weights, or give a file with images")
    if digit not in digits.labels:
        stored = ", ".join(map(str, sorted(set(digits.labels.tolist()))))
        raise UsageError(f"--digit {digit}: there are only test images of {stored}")
    number = int(np.flatnonzero(digits.labels == digit)[0])
    row = _find_first_able(planned.rows)
    (device,) = registry.open_backends(machine, [row.device], gate=False).values()
    with closing(device):
        compiler = registry.make_compilers(machine, [row.device], request.limits.compile)[row.device]
        probabilities = compute_outputs(row, device, compiler, planned.parameters, digits.inputs[number])
    return DigitReading(digits.images[number], int(digits.labels[number]), row.name, probabilities)


def _find_first_able(rows: Sequence[Chain]) -> Chain:
    for row in rows:
        if not row.reason:
            return row
    raise DeviceError(f"no row can run here: {rows[0].reason}")

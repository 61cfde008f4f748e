"""The devices of a run, and the catalog of variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gemmbench.backends import registry
from gemmbench.backends.devices import Machine
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.errors import UsageError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.skip_reasons import Refusal
from gemmbench.session.reporter import SILENT, Reporter

_LOCAL = "local"


def find_machine(device: str, reporter: Reporter) -> Machine:
    """Find the devices that `--device` names, and report why `auto` takes the CPU."""
    choice = registry.choose_device(device)
    if choice.note:
        reporter.message(choice.note)
    return registry.describe_machine(choice)


@contextmanager
def open_machines(device: str, fleet: str | None, reporter: Reporter) -> Iterator[Sequence[Machine]]:
    """The machine of `--device`; with `--fleet`, one for each kind of card of the cluster, for the block.

    `cuda:all` is `cuda` with the fleet `local`. Raises UsageError and DeviceError.
    """
    if fleet is None and device.endswith(registry.ALL):
        device, fleet = device.removesuffix(registry.ALL), _LOCAL
    if fleet is None:
        yield [find_machine(device, reporter)]
        return
    from gemmbench.session.fleet_machines import open_fleet  # few runs have one, and workers take long to import

    with open_fleet(device, fleet, reporter) as machines:
        yield machines


@contextmanager
def open_machine(device: str, fleet: str | None, reporter: Reporter) -> Iterator[Machine]:
    """The machine to measure on, for what needs one kind of card. Raises UsageError and DeviceError."""
    with open_machines(device, fleet, reporter) as machines:
        if len(machines) > 1:
            names = ", ".join(machine.primary.name for machine in machines)
            raise UsageError(
                f"the fleet has cards of several kinds, {names}; a run is on one: start workers on one kind"
            )
        yield machines[0]


def find_refusal(machine: Machine) -> Refusal:
    """Who says why a machine cannot run a variant, whatever the problem: this host, or the workers of a fleet."""
    return machine.why_refused if isinstance(machine, FleetMachine) else registry.why_refused


def find_gpu(device: str, purpose: str) -> Machine:
    """Find the GPU that `purpose` needs. Raises DeviceError if `device` names none."""
    return registry.describe_machine(registry.choose_profiled(device, purpose))


def list_kernel_folders(kernels: str | None) -> list[Path]:
    """The folders of kernels: the project's, and `kernels`."""
    return [data_folder("cuda"), *([Path(kernels)] if kernels else [])]


def open_catalog(kernels: str | None, reporter: Reporter = SILENT) -> Catalog:
    """Open the catalog of the project's kernels, the folder `kernels`, and the libraries.

    It also finds kernels of a git revision, such as HEAD~3:tiled, and finds the manifest of a file without
    one, which is reported. Raises UsageError.
    """
    folders = list_kernel_folders(kernels)

    def read_revision(name: str) -> Variant:
        from gemmbench.planning.manifests.revisions import find_variant_at  # few commands name one

        return find_variant_at(name, folders)

    def draft(path: Path, symbol: str) -> Variant:
        from gemmbench.session.drafted_variants import draft_variant  # few commands name a file without a manifest

        return draft_variant(path, symbol, reporter)

    return Catalog(folders, registry.list_library_variants(), read_revision, draft)

"""The devices of a run, and the catalog of variants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gemmbench.backends import registry
from gemmbench.backends.base import Compiler
from gemmbench.backends.devices import DeviceChoice, Machine, Peaks
from gemmbench.errors import DeviceError, UsageError
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import Variant
from gemmbench.session.reporter import SILENT, Reporter

if TYPE_CHECKING:  # what measures takes long to import, and planning needs none of it
    from gemmbench.bench.runner import Runner
    from gemmbench.bench.workers.device_workers import LocalWorker, RemoteWorker
    from gemmbench.bench.workers.messages import Open

_LOCAL = "local"


@dataclass(frozen=True)
class LocalMachine(Machine):
    """The devices of this computer."""

    @property
    def why_unwatched(self) -> str:
        """See Machine."""
        return "" if registry.find_entry(self.choice.primary).is_watched else "its times and faults are scripted"

    def refuse_transfers(self) -> None:
        """See Machine."""
        if why := registry.find_entry(self.choice.primary).no_transfers:
            raise DeviceError(f"transfers need a GPU: {why}; leave out --with-transfers, or use --device cuda")

    def why_refused(self, variant: Variant, device: str) -> str:
        """See Machine."""
        return registry.why_refused(variant, device)

    def make_compilers(self, names: Iterable[str], limit: float) -> Mapping[str, Compiler]:
        """See Machine."""
        return registry.make_compilers(self, names, limit)

    def measure_peaks(self) -> Peaks | None:
        """See Machine."""
        return registry.measure_peaks(self)

    @contextmanager
    def open_worker(
        self, request: Open, message: Callable[[str], None], *how: Any
    ) -> Iterator[LocalWorker | RemoteWorker]:
        """See Machine. Uses a separate process if a kernel could destroy the device's context."""
        from gemmbench.bench.workers.device_workers import LocalWorker, RemoteWorker  # planning needs no worker

        if registry.needs_own_process(self):
            with RemoteWorker(request, *how) as remote:
                yield remote
            return
        opened = registry.open_backends(self, request.backends, request.gate, request.limits.launch)
        try:
            local = LocalWorker(opened, *how)
            local.measured = request.measured
            yield local
        finally:
            for backend in opened.values():
                backend.close()

    def make_runner(self, worker: LocalWorker | RemoteWorker, *how: Any) -> Runner[Any]:
        """See Machine. Runs one batch after the other."""
        from gemmbench.bench.runner import Runner  # see above

        return Runner(worker, *how)


def describe_local(choice: DeviceChoice) -> LocalMachine:
    """Describe the devices of this computer without opening any. Raises DeviceError."""
    return LocalMachine(**vars(registry.describe_machine(choice)))


def find_machine(device: str, reporter: Reporter) -> Machine:
    """Find the devices that `--device` names, and report why `auto` chose the CPU."""
    choice = registry.choose_device(device)
    if choice.note:
        reporter.message(choice.note)
    return describe_local(choice)


@contextmanager
def open_machines(device: str, fleet: str | None, reporter: Reporter) -> Iterator[Sequence[Machine]]:
    """Open the machine of `--device` or, with `--fleet`, one machine for each kind of card in the cluster.

    `cuda:all` means `cuda` with the fleet `local`. Raises UsageError and DeviceError.
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
    """Open the machine for a command that needs a single kind of card. Raises UsageError and DeviceError."""
    with open_machines(device, fleet, reporter) as machines:
        if len(machines) > 1:
            names = ", ".join(machine.primary.name for machine in machines)
            raise UsageError(
                f"the fleet has several kinds of cards, {names}, but a run uses one kind; start workers on one kind"
            )
        yield machines[0]


def find_gpu(device: str, purpose: str) -> Machine:
    """Find the GPU that `purpose` needs. Raises DeviceError if `device` names none."""
    return describe_local(registry.choose_profiled(device, purpose))


def list_kernel_folders(kernels: str | None) -> list[Path]:
    """List the folders with kernels: the project's folder and `kernels`."""
    return [data_folder("cuda"), *([Path(kernels)] if kernels else [])]


def open_catalog(kernels: str | None, reporter: Reporter = SILENT) -> Catalog:
    """Open the catalog of the project's kernels, those in the folder `kernels`, and the libraries.

    The catalog also finds kernels at a git revision, such as HEAD~3:tiled. If a file has no manifest, it finds one by
    trying and reports it. Raises UsageError.
    """
    folders = list_kernel_folders(kernels)

    def read_revision(name: str) -> Variant:
        from gemmbench.planning.manifests.revisions import find_variant_at  # few commands name one

        return find_variant_at(name, folders)

    def draft(path: Path, symbol: str) -> Variant:
        from gemmbench.session.drafted_variants import draft_variant  # few commands name a file without a manifest

        return draft_variant(path, symbol, reporter)

    return Catalog(folders, registry.list_library_variants(), read_revision, draft)

"""Where a command's experiments run: in this process, or in one that can be replaced."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from gemmbench.backends import registry
from gemmbench.backends.machine import Machine

if TYPE_CHECKING:
    from gemmbench.backends.base import Device
    from gemmbench.bench.experiments.context import Progress
    from gemmbench.planning.sweeps.limits import Limits


class OpenLaboratory(Protocol):
    """A runner.Laboratory whose devices are open."""

    @property
    def devices(self) -> Mapping[str, Device]:
        """The open devices, by back end."""

    def experiment(self, batch: Any) -> list[Any]:
        """One record a plan."""


@contextmanager
def open_laboratory(
    machine: Machine,
    names: list[str],
    gate: bool,
    limits: Limits,
    progress: Progress,
    interrupted: Callable[[], bool],
    measured: bool = True,
) -> Iterator[OpenLaboratory]:
    """Open the named back ends of a machine for the block. Raises DeviceError."""
    from gemmbench.bench.worker.local import LocalWorker
    from gemmbench.bench.worker.messages import Open
    from gemmbench.bench.worker.remote import RemoteWorker

    if registry.needs_own_process(machine):
        request = Open(machine, tuple(names), gate, limits.launch, measured)
        with RemoteWorker(request, progress, interrupted) as remote:
            yield remote
        return
    opened = registry.open_backends(machine, names, gate, limits.launch)
    try:
        yield LocalWorker(opened, progress, interrupted, measured=measured)
    finally:
        for backend in opened.values():
            backend.close()


def software(machine: Machine, laboratory: OpenLaboratory) -> Mapping[str, str]:
    """Versions of what a run uses; some are known only of an open device."""
    return laboratory.devices.get(machine.choice.primary, machine.primary).software

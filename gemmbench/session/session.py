"""An open worker with all that a run needs besides its plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gemmbench.backends import registry
from gemmbench.backends.base import Compiler
from gemmbench.backends.machine import Machine
from gemmbench.bench.experiments.context import Progress
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.bench.worker.messages import Open
from gemmbench.bench.worker.remote import RemoteWorker
from gemmbench.planning.sweeps.limits import TimeLimits
from gemmbench.session.interruption import Interruption
from gemmbench.session.reporter import Reporter


@dataclass(frozen=True)
class Session:
    """A worker whose devices are open, compilers by device, and the lines to the user."""

    machine: Machine
    worker: LocalWorker | RemoteWorker
    compilers: Mapping[str, Compiler]
    progress: Progress
    is_interrupted: Callable[[], bool]

    @property
    def software(self) -> Mapping[str, str]:
        """Versions of what the run uses; an open device knows more of them."""
        return self.worker.devices.get(self.machine.choice.primary, self.machine.primary).software


@contextmanager
def open_session(
    machine: Machine,
    devices: Iterable[str],
    limits: TimeLimits,
    reporter: Reporter,
    *,
    gate: bool = True,
    measured: bool = True,
    resumable: bool = False,
) -> Iterator[Session]:
    """Open the named back ends for the block; Ctrl-C there requests an end.

    With `measured` False, plans are verified but not timed. `resumable` says whether --resume can
    continue the session. Raises DeviceError.
    """
    names = list(devices)
    interruption = Interruption(limits.sweep, reporter.message, resumable)
    stop = interruption.is_requested
    with (
        interruption.handle_ctrl_c(),
        reporter.progress_bar() as progress,
        _open_worker(machine, names, limits, progress, stop, gate, measured) as worker,
    ):
        yield Session(machine, worker, registry.make_compilers(machine, names, limits.compile), progress, stop)


@contextmanager
def _open_worker(
    machine: Machine,
    names: list[str],
    limits: TimeLimits,
    progress: Progress,
    is_interrupted: Callable[[], bool],
    gate: bool,
    measured: bool,
) -> Iterator[LocalWorker | RemoteWorker]:
    """Open a worker, in its own process if a kernel could destroy the device's context."""
    if registry.needs_own_process(machine):
        request = Open(machine, tuple(names), gate, limits, measured)
        with RemoteWorker(request, progress, is_interrupted) as remote:
            yield remote
        return
    opened = registry.open_backends(machine, names, gate, limits.launch)
    try:
        yield LocalWorker(opened, progress, is_interrupted, measured=measured)
    finally:
        for backend in opened.values():
            backend.close()

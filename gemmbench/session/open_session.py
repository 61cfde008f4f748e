"""An open worker with all that a run needs besides its plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gemmbench.backends import registry
from gemmbench.backends.base import Compiler
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.context import Progress
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Runner
from gemmbench.bench.workers.device_workers import LocalWorker, RemoteWorker
from gemmbench.bench.workers.fleet_machine import FleetMachine
from gemmbench.bench.workers.fleet_worker import FleetCompiler, FleetRunner, FleetWorker
from gemmbench.bench.workers.messages import Open
from gemmbench.planning.sweeps.overrides import TimeLimits
from gemmbench.session.reporter import Interruption, Reporter


@dataclass(frozen=True)
class Session:
    """A worker whose devices are open, compilers by device, and the lines to the user."""

    machine: Machine
    worker: LocalWorker | RemoteWorker | FleetWorker
    compilers: Mapping[str, Compiler]
    progress: Progress
    is_interrupted: Callable[[], bool]

    @property
    def software(self) -> Mapping[str, str]:
        """Versions of what the run uses; an open device knows more of them."""
        return self.worker.devices.get(self.machine.choice.primary, self.machine.primary).software

    def make_runner(
        self,
        emit: Callable[[Sequence[Record]], None],
        is_interrupted: Callable[[], bool],
        done: Mapping[str, Sequence[Record]] | None = None,
    ) -> Runner[Record]:
        """A runner of the kind that the worker needs; its arguments are those of a Runner."""
        runner = FleetRunner[Record] if isinstance(self.worker, FleetWorker) else Runner[Record]
        return runner(self.worker, emit, self.progress, is_interrupted, done or {})


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
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Session]:
    """Open the named back ends for the block; Ctrl-C there requests an end.

    With `measured` False, plans are verified but not timed. `resumable` says whether --resume can
    continue the session, and `is_over` whether what runs must end for another reason than Ctrl-C and the
    limits. Raises DeviceError.
    """
    names = list(devices)
    interruption = Interruption(limits.sweep, reporter.message, resumable, limits.started)

    def stop() -> bool:
        return interruption.is_requested() or is_over()

    with (
        interruption.handle_ctrl_c(),
        reporter.progress_bar() as progress,
        _open_worker(machine, Open(machine, tuple(names), gate, limits, measured), reporter, progress, stop) as worker,
    ):
        yield Session(machine, worker, _make_compilers(machine, names, limits), progress, stop)


def _make_compilers(machine: Machine, names: list[str], limits: TimeLimits) -> Mapping[str, Compiler]:
    if isinstance(machine, FleetMachine):
        return dict.fromkeys(names, FleetCompiler(machine, limits.compile))
    return registry.make_compilers(machine, names, limits.compile)


@contextmanager
def _open_worker(
    machine: Machine, request: Open, reporter: Reporter, progress: Progress, is_interrupted: Callable[[], bool]
) -> Iterator[LocalWorker | RemoteWorker | FleetWorker]:
    """Open a worker: that of a fleet, or one in its own process if a kernel could destroy the device's context."""
    if isinstance(machine, FleetMachine):
        with FleetWorker(machine, request, reporter.message) as fleet:
            yield fleet
        return
    if registry.needs_own_process(machine):
        with RemoteWorker(request, progress, is_interrupted) as remote:
            yield remote
        return
    opened = registry.open_backends(machine, request.backends, request.gate, request.limits.launch)
    try:
        yield LocalWorker(opened, progress, is_interrupted, measured=request.measured)
    finally:
        for backend in opened.values():
            backend.close()

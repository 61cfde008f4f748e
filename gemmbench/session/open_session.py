"""An open worker, with everything that a run needs except its plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from gemmbench.backends.base import Compiler
from gemmbench.backends.devices import Machine
from gemmbench.bench.experiments.context import Progress
from gemmbench.bench.record import Record
from gemmbench.bench.runner import Runner
from gemmbench.bench.workers.messages import Open, Worker
from gemmbench.planning.sweeps.run_request import TimeLimits
from gemmbench.session.reporter import Interruption, Reporter


@dataclass(frozen=True)
class Session:
    """A worker whose devices are open, a compiler for each device, and callbacks for progress and interruption."""

    machine: Machine
    worker: Worker
    compilers: Mapping[str, Compiler]
    progress: Progress
    is_interrupted: Callable[[], bool]

    @property
    def software(self) -> Mapping[str, str]:
        """The versions of the software that the run uses. An open device knows more of them."""
        return self.worker.devices.get(self.machine.choice.primary, self.machine.primary).software

    def make_runner(
        self,
        emit: Callable[[Sequence[Record]], None],
        is_interrupted: Callable[[], bool],
        done: Mapping[str, Sequence[Record]] | None = None,
    ) -> Runner[Record]:
        """Return the kind of runner that the worker needs. The arguments are those of a Runner."""
        runner: Runner[Record] = self.machine.make_runner(self.worker, emit, self.progress, is_interrupted, done or {})
        return runner


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
    """Open the named back ends for the block. Ctrl-C in the block asks for an early end.

    With `measured` False, plans are verified but not timed. `resumable` says whether --resume can continue the session.
    `is_over` says whether the work must end for a reason other than Ctrl-C and the limits. Raises DeviceError.
    """
    names = list(devices)
    interruption = Interruption(limits.sweep, reporter.message, resumable, limits.started)

    def stop() -> bool:
        return interruption.is_requested() or is_over()

    request = Open(machine, tuple(names), gate, limits, measured)
    with (
        interruption.handle_ctrl_c(),
        reporter.progress_bar() as progress,
        machine.open_worker(request, reporter.message, progress, stop) as worker,
    ):
        yield Session(machine, worker, machine.make_compilers(names, limits.compile), progress, stop)

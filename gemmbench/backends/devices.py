"""The devices that `--device` chooses for a run, descriptions of them and the host, and health checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gemmbench.backends.base import Compiler, Device
from gemmbench.planning.files import display_path, exists
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.sizes import Amount, Rate

Status = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class HealthCheck:
    """The result of one check: its subject, a message, and the next step after a warning or fault.

    A warning means that something is lost, such as a row or confidence in a number. After a fault, nothing can run.
    """

    subject: str
    status: Status
    message: str
    next_step: str = ""


@dataclass(frozen=True)
class Peaks:
    """The peak rates measured on a device.

    `copy` is the rate of a copy within its memory in bytes/s, counting reads and writes. `fma` is the number of
    floating-point operations per second on registers, at `clock_hz` (0: unknown). `launch` is the time of an empty
    kernel in seconds, behind the gate unless the gate is off. `ungated` is always measured without the gate.
    """

    copy: Rate
    fma: Rate
    clock_hz: Amount
    launch: Amount
    ungated: Amount


def passed_check(subject: str, message: str) -> HealthCheck:
    """Return a check that passed."""
    return HealthCheck(subject, "ok", message)


def failed_check(subject: str, message: str, next_step: str, fatal: bool = False) -> HealthCheck:
    """Return a warning, or a fault if it is `fatal`."""
    return HealthCheck(subject, "fault" if fatal else "warning", message, next_step)


def check_writable(subject: str, folder: Path, next_step: str) -> HealthCheck:
    """Check that files can be created in a folder, even if it does not exist yet."""
    existing = next(each for each in (folder, *folder.absolute().parents) if exists(each))
    try:
        import tempfile  # slow to import, and only doctor needs it

        with tempfile.TemporaryFile(dir=existing):
            return passed_check(subject, display_path(folder))
    except OSError as fault:
        return failed_check(subject, f"{display_path(folder)} is not writable: {fault.strerror}", next_step, fatal=True)


@dataclass(frozen=True)
class DeviceChoice:
    """The back end that runs the kernels, the index or script of its device, and a note for the user."""

    primary: str
    index: int = 0
    script: str = ""
    note: str = ""

    @property
    def option(self) -> str:
        """The value of `--device` that leads to the same choice."""
        detail = self.script or (str(self.index) if self.index else "")
        return f"{self.primary}:{detail}" if detail else self.primary


@dataclass(frozen=True)
class Machine:
    """The devices of a run by back end: the primary one and, if it can also run rows, the host.

    A LocalMachine measures on this computer. A FleetMachine measures on the cards of a cluster.
    """

    choice: DeviceChoice
    devices: Mapping[str, Device]
    default_baseline: str = "cublas"

    @property
    def primary(self) -> Device:
        """The device that kernels run on."""
        return self.devices[self.choice.primary]

    @property
    def host(self) -> Device | None:
        """The CPU, if rows can run on it."""
        return next((device for device in self.devices.values() if not device.target.is_gpu), None)

    @property
    def on_cpu(self) -> bool:
        """Whether kernels run on the CPU."""
        return not self.primary.target.is_gpu

    @property
    def targets(self) -> dict[str, Target]:
        """What planning needs to know about each device, by back end."""
        return {name: device.target for name, device in self.devices.items()}

    @property
    def why_unwatched(self) -> str:
        """Return why the host does not watch the accesses of kernels before verification; "" if it does."""
        raise NotImplementedError

    def refuse_transfers(self) -> None:
        """Raise DeviceError or UsageError if jobs with copies cannot be measured on the primary device."""
        raise NotImplementedError

    def why_refused(self, variant: Variant, device: str) -> str:
        """Return why a variant cannot run on a back end, whatever the problem; "" if it can. Raises DeviceError."""
        raise NotImplementedError

    def make_compilers(self, names: Iterable[str], limit: float) -> Mapping[str, Compiler]:
        """Return the compilers of the named back ends. `limit` is the time limit for one kernel in seconds."""
        raise NotImplementedError

    def measure_peaks(self) -> Peaks | None:
        """Measure the peak rates of the primary device. Returns None for a CPU. Raises DeviceError, PlanError."""
        raise NotImplementedError

    def open_worker(self, request: Any, message: Callable[[str], None], *how: Any) -> AbstractContextManager[Any]:
        """Open a worker for the `with` block; it measures as `request` says.

        `message` is called with lines for the user. `how` holds the progress callback and a function that returns
        whether to stop.
        """
        raise NotImplementedError

    def make_runner(self, worker: Any, *how: Any) -> Any:
        """Make a Runner for one of this machine's workers. `how` holds the Runner's other arguments."""
        raise NotImplementedError

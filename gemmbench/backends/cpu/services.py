"""The services of the CPU back end, and the checks that `doctor` makes of the CPU."""

from __future__ import annotations

from pathlib import Path

from gemmbench.backends.base import Backend, Device, InspectingCompiler
from gemmbench.backends.cpu import walls
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.entry import cpu_name, describe_cpu
from gemmbench.backends.cpu.manifest_search import expand_kernels, find_manifest
from gemmbench.backends.cpu.openblas import CpuSoftware, blas_version
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.backends.cpu.watched import KernelWatcher
from gemmbench.backends.devices import DeviceChoice, HealthCheck, failed_check, passed_check
from gemmbench.backends.host import average_competitors, count_cores, is_busy
from gemmbench.backends.registry import BackendServices
from gemmbench.errors import BuildError, BuildTimeout, DeviceError
from gemmbench.planning.drafts.draft import FoundManifest


def examine_cpu(needed: bool) -> list[HealthCheck]:
    """Check the compiler, BLAS and load. A missing compiler is a fault if the CPU is `needed`."""
    return [
        passed_check("CPU", f"{cpu_name()}, {count_cores()} cores"),
        _check_compiler(needed),
        *_check_walls(),
        _check_blas(),
        _check_load(),
    ]


def _check_compiler(needed: bool) -> HealthCheck:
    try:
        return passed_check("C++ compiler", CpuCompiler().version)
    except BuildTimeout:
        return failed_check("C++ compiler", "does not answer to --version", "set CXX", needed)
    except DeviceError:
        return failed_check(
            "C++ compiler", "not found, so no kernel can run on the CPU", "apt-get install g++, or set CXX", needed
        )


_WALLS = {
    "processes": (
        "kernels cannot signal your processes or leave processes behind",
        "a kernel can signal your processes and leave processes behind",
    ),
    "network": ("kernels have no network access", "a kernel can use the network"),
    "files": (
        "kernels read the system's libraries and their own executable, and write nothing",
        "a kernel can read and write your files",
    ),
}
"""Doctor's texts for everything that a program can reach without walls: if a probe cannot reach it, and if it can."""
_MEND_WALLS = {
    "files": "use Linux 5.13 or later with Landlock, or run only kernels you trust",
    "processes": "allow user namespaces (sysctl user.max_user_namespaces), or run only kernels you trust",
}


def _check_walls() -> list[HealthCheck]:
    """Check each protection against kernels, by running a probe behind the same walls."""
    try:
        reached = walls.find_reach()
    except DeviceError:
        return []  # without a compiler, no kernel can run
    except BuildError as fault:
        return [failed_check("walls around kernels", str(fault), "see the lines above; no kernel can run", True)]
    return [
        failed_check(f"walls: {name}", open_, _MEND_WALLS.get(name, _MEND_WALLS["processes"]))
        if name in reached
        else passed_check(f"walls: {name}", closed)
        for name, (closed, open_) in _WALLS.items()
    ]


def _check_blas() -> HealthCheck:
    name = blas_version()
    if "openblas" in name or "mkl" in name or "accelerate" in name:
        return passed_check("BLAS", name)
    message = f"{name}, which is slow: percentages relative to it look too good"
    return failed_check("BLAS", message, "pip install --force-reinstall numpy")


def _check_load() -> HealthCheck:
    competitors, cores = average_competitors(), count_cores()
    message = f"{competitors:.1f} other processes on {cores} cores"
    if is_busy(competitors, cores):
        next_step = "wait for them or end them: they compete with CPU rows and with copies from the host"
        return failed_check("host load", message, next_step)
    return passed_check("host load", message)


class CpuServices:
    """The `BackendServices` of the CPU, as the primary device or next to a GPU."""

    def describe(self, choice: DeviceChoice) -> Device:
        """Return the processor and the cores that this process may use."""
        return describe_cpu(CpuSoftware())

    def compiler(self, choice: DeviceChoice, limit: float) -> CpuCompiler:
        """Return the C++ compiler."""
        return CpuCompiler(limit)

    def inspecting_compiler(self) -> InspectingCompiler:
        """Not available, because `inspect` shows code for GPUs."""
        raise NotImplementedError

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Return False, because kernels on the CPU already run in separate processes."""
        return False

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the CPU. A launch is stopped after `launch_limit` seconds (None: a limit based on its work).

        Raises DeviceError off Linux.
        """
        return CpuBackend(launch_limit)

    def find_manifest(self, text: str, path: Path, home: Path, symbol: str | None) -> FoundManifest:
        """See TryingServices."""
        return find_manifest(text, path, home, symbol)

    def expand_kernels(self, text: str, path: Path, home: Path) -> tuple[str, tuple[str, ...]]:
        """See TryingServices."""
        return expand_kernels(text, path, home)

    def make_watcher(self, limit: float) -> KernelWatcher:
        """See TryingServices."""
        return KernelWatcher(CpuCompiler(limit))

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Check the compiler, BLAS and load."""
        return examine_cpu(required)

    def measure_peaks(self, choice: DeviceChoice) -> None:
        """Measure nothing, because a kernel alone cannot show a CPU's peak rates."""
        return


SERVICES: BackendServices = CpuServices()

"""What the CPU back end does."""

from __future__ import annotations

from gemmbench.backends.base import Backend, Device, InspectingCompiler
from gemmbench.backends.cpu import checks
from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.device import describe_cpu
from gemmbench.backends.cpu.software import CpuSoftware
from gemmbench.backends.entry import BackendServices
from gemmbench.backends.health import HealthCheck
from gemmbench.backends.machine import DeviceChoice


class CpuServices:
    """The `BackendServices` of the CPU, as the primary device or next to a GPU."""

    def describe(self, choice: DeviceChoice) -> Device:
        """The processor and the cores this process may use."""
        return describe_cpu(CpuSoftware())

    def compiler(self, choice: DeviceChoice, limit: float) -> CpuCompiler:
        """The C++ compiler."""
        return CpuCompiler(limit)

    def inspecting_compiler(self) -> InspectingCompiler:
        """None: `inspect` shows the code of GPUs."""
        raise NotImplementedError

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Its kernels have processes of their own already."""
        return False

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float) -> Backend:
        """Open the CPU; a launch ends after `launch_limit` seconds.

        Raises DeviceError off Linux.
        """
        return CpuBackend(launch_limit)

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Compiler, BLAS and load."""
        return checks.examine_cpu(required)

    def measure_peaks(self, choice: DeviceChoice) -> None:
        """Nothing is measured: what a CPU reaches depends on more than a kernel can show."""
        return


SERVICES: BackendServices = CpuServices()

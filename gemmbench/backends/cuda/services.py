"""The services of the NVIDIA back end. pycuda is not loaded until a GPU is described or opened."""

from __future__ import annotations

from contextlib import closing

from gemmbench.backends.base import Backend, Device
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.gate import why_gate_is_off
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.system import checks, device, peaks
from gemmbench.backends.devices import DeviceChoice, HealthCheck, Peaks
from gemmbench.backends.registry import BackendServices


class CudaServices:
    """The `BackendServices` of NVIDIA GPUs."""

    def describe(self, choice: DeviceChoice) -> Device:
        """Describe the GPU. Raises DeviceError."""
        return device.describe_gpu(choice.index)

    def compiler(self, choice: DeviceChoice, limit: float) -> NvccCompiler:
        """Return nvcc, which needs neither GPU nor pycuda."""
        return NvccCompiler(limit)

    def inspecting_compiler(self) -> NvccCompiler:
        """Return nvcc, which can also show PTX and SASS."""
        return NvccCompiler()

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Return True unless a tool watches this process, because a kernel that crashes destroys the context."""
        return not why_gate_is_off()

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the GPU. `launch_limit` is ignored, because a launch cannot be stopped. Raises DeviceError."""
        return CudaBackend(choice.index, gate=gate)

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Check the driver, the toolkit, libraries, permissions and load."""
        return checks.examine_gpu(choice.index, required)

    def measure_peaks(self, choice: DeviceChoice) -> Peaks:
        """Measure copies, arithmetic and launches. Raises DeviceError, PlanError."""
        with closing(CudaBackend(choice.index)) as backend:
            return peaks.measure_peaks(backend)


SERVICES: BackendServices = CudaServices()

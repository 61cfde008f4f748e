"""What the NVIDIA back end does. pycuda is loaded when a GPU is described or opened, not before."""

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
        """The GPU. Raises DeviceError."""
        return device.describe_gpu(choice.index)

    def compiler(self, choice: DeviceChoice, limit: float) -> NvccCompiler:
        """nvcc; needs neither GPU nor pycuda."""
        return NvccCompiler(limit)

    def inspecting_compiler(self) -> NvccCompiler:
        """nvcc, which also shows PTX and SASS."""
        return NvccCompiler()

    def needs_own_process(self, choice: DeviceChoice) -> bool:
        """Unless a tool watches this process: a kernel that crashes takes the context down."""
        return not why_gate_is_off()

    def open(self, choice: DeviceChoice, gate: bool, launch_limit: float | None) -> Backend:
        """Open the GPU; a launch cannot be ended. Raises DeviceError."""
        return CudaBackend(choice.index, gate=gate)

    def examine(self, choice: DeviceChoice, required: bool) -> list[HealthCheck]:
        """Driver, toolkit, libraries, permissions and load."""
        return checks.examine_gpu(choice.index, required)

    def measure_peaks(self, choice: DeviceChoice) -> Peaks:
        """Copy, arithmetic and launches. Raises DeviceError, PlanError."""
        with closing(CudaBackend(choice.index)) as backend:
            return peaks.measure_peaks(backend)


SERVICES: BackendServices = CudaServices()

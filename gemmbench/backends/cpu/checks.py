"""What `doctor` examines before the CPU is measured."""

from __future__ import annotations

from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.device import cpu_name
from gemmbench.backends.cpu.openblas import blas_version
from gemmbench.backends.health import HealthCheck, failed_check, passed_check
from gemmbench.backends.host import average_competitors, count_cores, is_busy
from gemmbench.errors import DeviceError


def examine_cpu(needed: bool) -> list[HealthCheck]:
    """Look at compiler, BLAS and load. A missing compiler is a fault if the CPU is `needed`."""
    return [
        passed_check("CPU", f"{cpu_name()}, {count_cores()} cores"),
        _check_compiler(needed),
        _check_blas(),
        _check_load(),
    ]


def _check_compiler(needed: bool) -> HealthCheck:
    try:
        return passed_check("C++ compiler", CpuCompiler().version)
    except DeviceError:
        return failed_check(
            "C++ compiler", "not found: no kernel can run on the CPU", "apt-get install g++, or set CXX", needed
        )


def _check_blas() -> HealthCheck:
    name = blas_version()
    if "openblas" in name or "mkl" in name or "accelerate" in name:
        return passed_check("BLAS", name)
    message = f"{name}, which is slow: percentages of it look too good"
    return failed_check("BLAS", message, "pip install --force-reinstall numpy")


def _check_load() -> HealthCheck:
    competitors, cores = average_competitors(), count_cores()
    message = f"{competitors:.1f} other processes on {cores} cores"
    if is_busy(competitors, cores):
        next_step = "wait, or end them: they compete with CPU rows and with copies from the host"
        return failed_check("host load", message, next_step)
    return passed_check("host load", message)

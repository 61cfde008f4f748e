"""What `doctor` examines before the CPU is measured."""

from __future__ import annotations

import os

from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.device import count_cores, cpu_name
from gemmbench.backends.cpu.openblas import blas_version
from gemmbench.backends.health import HealthCheck, failed_check, passed_check
from gemmbench.errors import DeviceError

_BUSY = 0.25  # runnable processes per core


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
    """The mean load of the last minute."""
    running, count = os.getloadavg()[0], os.cpu_count() or 1
    message = f"{running:.1f} processes on {count} cores"
    if running > _BUSY * count:
        next_step = "wait, or end them: they compete with CPU rows and with copies from the host"
        return failed_check("host load", message, next_step)
    return passed_check("host load", message)

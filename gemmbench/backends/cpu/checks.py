"""What must be right before the CPU can be measured."""

from __future__ import annotations

import os

from gemmbench.backends.cpu.compiler import CpuCompiler
from gemmbench.backends.cpu.device import cores, cpu_name
from gemmbench.backends.cpu.openblas import blas
from gemmbench.backends.health import Finding, bad, ok
from gemmbench.errors import DeviceError

_BUSY = 0.25  # runnable processes a core


def examine(needed: bool) -> list[Finding]:
    """Look at compiler, BLAS and load; a missing compiler is a fault where the CPU is the device that is `needed`."""
    return [ok("CPU", f"{cpu_name()}, {cores()} cores"), _compiler(needed), _blas(), _load()]


def _compiler(needed: bool) -> Finding:
    try:
        return ok("C++ compiler", CpuCompiler().version)
    except DeviceError:
        return bad("C++ compiler", "not found: no kernel can run on the CPU", "apt-get install g++, or set CXX", needed)


def _blas() -> Finding:
    name = blas()
    if "openblas" in name or "mkl" in name or "accelerate" in name:
        return ok("BLAS", name)
    return bad("BLAS", f"{name}: slow, so percentages of it flatter", "pip install --force-reinstall numpy")


def _load() -> Finding:
    """The mean of the last minute, as the system counts it."""
    running, count = os.getloadavg()[0], os.cpu_count() or 1
    said = f"{running:.1f} processes on {count} cores"
    if running > _BUSY * count:
        return bad("host load", said, "wait, or end them: CPU rows and copies from the host take turns with them")
    return ok("host load", said)

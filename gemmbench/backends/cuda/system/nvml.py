"""Queries a GPU's settings, and the values that change under load, through NVML.

NVML comes with the driver. Python uses it through `nvidia-ml-py` (module pynvml). Without that package, or if a query
is not permitted, some values are missing. Everything else works the same.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import closing, suppress
from types import ModuleType
from typing import Any

from gemmbench.backends.base import Conditions, Reading
from gemmbench.backends.cuda.system import probe

# Bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference, "Clocks Event Reasons"). Bit 0 only means that the
# GPU is idle. Bits that later drivers added are left out.
_SLOWED = {
    0x002: "application clocks",
    0x004: "power cap",
    0x008: "hardware slowdown",
    0x010: "sync boost",
    0x020: "thermal slowdown by software",
    0x040: "thermal slowdown by hardware",
    0x080: "power brake",
    0x100: "display clocks",
}


def read_conditions(pynvml: ModuleType, bus: str) -> Conditions | None:
    """Read the settings of the GPU at this PCI bus id (`0000:01:00.0`). Returns None if NVML does not find it."""
    handle = probe.query_nvml(pynvml, "nvmlDeviceGetHandleByPciBusId", bus)
    if handle is None:
        return None

    def mode(question: str) -> bool | None:
        """Return the state of a switch. If there is a pair (now, after the next reset), return the first."""
        answer = probe.query_nvml(pynvml, question, handle)
        now = answer[0] if isinstance(answer, list | tuple) else answer
        return None if now is None else bool(now)

    def clock(which: int) -> float | None:
        megahertz = probe.query_nvml(pynvml, "nvmlDeviceGetMaxClockInfo", handle, which)
        return None if megahertz is None else megahertz * 1e6

    limit = probe.query_nvml(pynvml, "nvmlDeviceGetEnforcedPowerLimit", handle)
    return Conditions(
        mig=mode("nvmlDeviceGetMigMode"),
        ecc=mode("nvmlDeviceGetEccMode"),
        persistence=mode("nvmlDeviceGetPersistenceMode"),
        power_limit=None if limit is None else limit * 1e-3,
        max_sm_clock=clock(pynvml.NVML_CLOCK_SM),
        max_memory_clock=clock(pynvml.NVML_CLOCK_MEM),
    )


def open_monitor(bus: str) -> NvmlMonitor | None:
    """Open a monitor for the GPU at this PCI bus id. Returns None if NVML is unavailable."""
    pynvml = probe.open_nvml()
    if pynvml is None:
        return None
    handle = probe.query_nvml(pynvml, "nvmlDeviceGetHandleByPciBusId", bus)
    if handle is None:
        pynvml.nvmlShutdown()
        return None
    return NvmlMonitor(pynvml, handle)


def is_shared(bus: str) -> bool:
    """Return whether another process is using the GPU at this PCI bus id; False if unknown."""
    monitor = open_monitor(bus)
    if monitor is None:
        return False
    with closing(monitor):
        return bool(monitor.count_other_processes())


class NvmlMonitor:
    """A `monitor.Monitor` that must be closed.

    If MIG is on, power and clocks are those of the whole GPU.
    """

    def __init__(self, pynvml: ModuleType, handle: object):
        self._nvml, self._handle = pynvml, handle

    def read(self) -> Reading:
        """Take a reading."""
        nvml = self._nvml
        bits = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if bits is None:  # a driver before 535, or a package before 12.535
            bits = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons") or 0
        temperature = self._ask("nvmlDeviceGetTemperatureV", nvml.NVML_TEMPERATURE_GPU)
        if temperature is None:
            temperature = self._ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU)
        return Reading(
            power=self._power(),
            temperature=_scale(temperature, 1.0),
            sm_clock=_scale(self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM), 1e6),
            memory_clock=_scale(self._ask("nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM), 1e6),
            slowed=frozenset(name for bit, name in _SLOWED.items() if bits & bit),
        )

    def now(self) -> float:
        """Return the time in seconds on the host's clock."""
        return time.monotonic()

    def energy(self) -> float:
        """Return the joules used since the driver was loaded (Volta or newer)."""
        return _scale(self._ask("nvmlDeviceGetTotalEnergyConsumption"), 1e-3)

    def count_other_processes(self) -> int | None:
        """Count the other processes with a context on this GPU. This process must have one open.

        In a container, NVML may report the host's process numbers, so this process cannot be found by its number. An
        empty list means that NVML is not allowed to report processes.
        """
        processes = self._ask("nvmlDeviceGetComputeRunningProcesses")
        if not processes:
            return None
        numbers = {process.pid for process in processes}
        return len(numbers - {os.getpid()}) if os.getpid() in numbers else len(processes) - 1

    def close(self) -> None:
        """Stop NVML."""
        with suppress(self._nvml.NVMLError):
            self._nvml.nvmlShutdown()

    def _power(self) -> float:
        """Return the current power in watts if the driver reports it, otherwise (since Ampere) the mean of the last
        second.
        """
        fields = self._ask("nvmlDeviceGetFieldValues", [getattr(self._nvml, "NVML_FI_DEV_POWER_INSTANT", 186)])
        if fields and fields[0].nvmlReturn == self._nvml.NVML_SUCCESS:
            return _scale(fields[0].value.uiVal, 1e-3)
        return _scale(self._ask("nvmlDeviceGetPowerUsage"), 1e-3)

    def _ask(self, question: str, *arguments: object) -> Any:
        return probe.query_nvml(self._nvml, question, self._handle, *arguments)


def _scale(answer: float | None, unit: float) -> float:
    return math.nan if answer is None else answer * unit

"""What `gemmbench doctor` asks the back ends."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from gemmbench.backends import Choice, Machine, cache, choose
from gemmbench.backends.health import Finding, Peaks, writable
from gemmbench.errors import DeviceError


def examine(option: str, results: Path) -> list[Finding]:
    """Look at all that `--device option` needs; opens no device. Raises UsageError for an unknown device."""
    choice = _asked(option)
    found: list[Finding] = []
    if choice.primary == "cuda" or option == "auto":
        from gemmbench.backends.cuda.system import checks

        found += checks.examine(choice.index, asked=option != "auto")
    if choice.primary != "fake":
        from gemmbench.backends.cpu import checks as cpu_checks

        found += cpu_checks.examine(needed=choice.primary == "cpu")
    found.append(writable("cache", cache.folder(), "name another folder in GEMMBENCH_CACHE_DIR"))
    return [*found, writable("results", results, "name another folder with --out")]


def _asked(option: str) -> Choice:
    """The choice, though it may not be usable: the findings say why."""
    try:
        return choose(option)
    except DeviceError:
        return Choice("cuda", int(option.partition(":")[2] or 0))


def peaks(machine: Machine) -> Peaks | None:
    """What the primary device reaches at best; None for a CPU. Raises DeviceError, PlanError."""
    choice = machine.choice
    if choice.primary == "fake":
        from gemmbench.backends.fake.backend import PEAKS

        return PEAKS
    if choice.primary == "cpu":
        return None
    from gemmbench.backends.cuda.backend import CudaBackend
    from gemmbench.backends.cuda.system import peaks as measured

    with closing(CudaBackend(choice.index)) as backend:
        return measured.measure(backend)

"""What `gemmbench doctor` asks the back ends."""

from __future__ import annotations

from pathlib import Path

from gemmbench.backends import cache
from gemmbench.backends.health import Finding, Peaks, writable
from gemmbench.backends.machine import DeviceChoice, Machine
from gemmbench.backends.registry import AUTO, entries, entry_of, parse_device, services_of


def examine(option: str, results: Path) -> list[Finding]:
    """Look at all that `--device option` needs; opens no device. Raises UsageError for an unknown device."""
    choice = parse_device(option)
    checks: list[Finding] = []
    for name in _examined(option, choice):
        checks += services_of(name).examine(choice, required=name == choice.primary)
    checks.append(writable("cache", cache.folder(), "name another folder in GEMMBENCH_CACHE_DIR"))
    return [*checks, writable("results", results, "name another folder with --out")]


def _examined(option: str, choice: DeviceChoice) -> list[str]:
    """The back ends to look at: with `auto` also those that were passed over."""
    wanted = {choice.primary, *entry_of(choice.primary).companions}
    return [entry.name for entry in entries() if entry.name in wanted or (option == AUTO and entry.automatic)]


def measure_peaks(machine: Machine) -> Peaks | None:
    """What the primary device reaches at best; None for a CPU. Raises DeviceError, PlanError."""
    return services_of(machine.choice.primary).measure_peaks(machine.choice)

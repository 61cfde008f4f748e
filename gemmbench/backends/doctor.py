"""What `gemmbench doctor` asks the back ends."""

from __future__ import annotations

from pathlib import Path

from gemmbench.backends.code_cache import cache_folder, refuse_unsafe
from gemmbench.backends.devices import DeviceChoice, HealthCheck, check_writable, failed_check
from gemmbench.backends.registry import AUTO, find_entry, list_entries, load_services, parse_device
from gemmbench.errors import DeviceError


def examine_machine(option: str, results: Path) -> list[HealthCheck]:
    """Look at all that `--device option` needs; opens no device.

    Raises UsageError for an unknown device.
    """
    choice = parse_device(option)
    checks: list[HealthCheck] = []
    for name in _examined_backends(option, choice):
        checks += load_services(name).examine(choice, required=name == choice.primary)
    checks.append(_check_cache())
    return [*checks, check_writable("results", results, "name another folder with --out")]


def _check_cache() -> HealthCheck:
    home, next_step = cache_folder(), "name another folder in GEMMBENCH_CACHE_DIR"
    try:
        refuse_unsafe(home)
    except DeviceError as fault:
        return failed_check("cache", str(fault), "", fatal=True)
    return check_writable("cache", home, next_step)


def _examined_backends(option: str, choice: DeviceChoice) -> list[str]:
    """The back ends to look at: with `auto` also those that were passed over."""
    wanted = {choice.primary, *find_entry(choice.primary).companions}
    return [entry.name for entry in list_entries() if entry.name in wanted or (option == AUTO and entry.automatic)]

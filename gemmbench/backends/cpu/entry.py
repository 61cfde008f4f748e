"""The record of the CPU back end: this machine as a device, as described by the system, and its library."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from gemmbench.backends.base import Artifact, Build, Device
from gemmbench.backends.cpu.support import why_unsuitable
from gemmbench.backends.devices import DeviceChoice
from gemmbench.backends.host import count_cores
from gemmbench.backends.registry import BackendEntry
from gemmbench.backends.sources import find_package_version
from gemmbench.planning.manifests.variant import MANY, ONE, PADDED, SEPARATE_C, Variant
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.problems import LAYOUTS

_SHARED_MEMORY = 227 << 10
"""Bytes of shared memory that a block may have. The limit is that of Hopper, so that kernels for it run."""

_CPUS = Path("/sys/devices/system/cpu")
_USUAL_CACHE = 32 << 20


def describe_cpu(software: Mapping[str, str]) -> Device:
    """This machine's processor."""
    return Device(cpu_name(), 0, find_target(), software=software)


def find_target() -> Target:
    """Return the target: the cores that this process may use, their last-level cache and the free memory."""
    return Target(
        "cpu",
        sm=0,
        sms=count_cores(),
        smem=_SHARED_MEMORY,
        l2=last_level_cache(),
        memory=free_memory(),
        is_gpu=False,
        has_graphs=False,
    )


def cpu_name() -> str:
    """Return the name of the processor, or its architecture if the name is unknown."""
    for line in _read_lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def last_level_cache() -> int:
    """Return the bytes of last-level cache available to this process's cores; 32 MiB if unknown."""
    shared: dict[str, int] = {}
    for core in os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ():
        levels = sorted((_CPUS / f"cpu{core}" / "cache").glob("index*"))
        if levels:
            shared[_first_line(levels[-1] / "shared_cpu_list")] = _parse_kibibytes(_first_line(levels[-1] / "size"))
    return sum(shared.values()) or _USUAL_CACHE


def free_memory() -> int:
    """Return the bytes of memory that are free now."""
    for line in _read_lines("/proc/meminfo"):
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return _parse_kibibytes(value.split()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _parse_kibibytes(text: str) -> int:
    digits = text.rstrip("KM")
    return int(digits or 0) << (20 if text.endswith("M") else 10)


def _read_lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _first_line(path: Path) -> str:
    return next(iter(_read_lines(str(path))), "")


OPENBLAS = Variant(
    name="openblas",
    summary="NumPy's matrix product, on the free cores; alpha and beta cost extra passes over C",
    order=1000,
    kind="library",
    devices=("cpu",),
    precisions=("f32", "f64"),
    layouts=LAYOUTS,
    kinds=(ONE, MANY, PADDED, SEPARATE_C),
    deterministic=False,  # the order of summation depends on the number of threads
    source="https://numpy.org/doc/stable/reference/generated/numpy.matmul.html",
)


def openblas_artifact() -> Artifact:
    """Return the artifact of the installed library."""
    return Artifact(f"openblas-numpy-{find_package_version('numpy')}", "", Build())


class CpuEntry(BackendEntry):
    """This machine's processor."""

    name = "cpu"
    forms = ("cpu",)
    automatic = True
    default_baseline = OPENBLAS.name
    noise_plans = (((OPENBLAS.name,), 1024), (("tiled",), 128))
    resource = "CPU"
    no_transfers = "the CPU device uses the matrices in place, so nothing is copied"

    def choose(self, option: str) -> DeviceChoice | None:
        """Accept `cpu`."""
        return DeviceChoice(self.name) if option == self.name else None

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Return "", because every machine has a CPU."""
        return ""

    def glance(self, choice: DeviceChoice) -> Target:
        """Return the processor as the system describes it."""
        return find_target()

    def libraries(self) -> tuple[Variant, ...]:
        """Return NumPy's matrix product."""
        return (OPENBLAS,)

    def why_refused(self, variant: Variant) -> str:
        """Return why the CPU cannot run a variant, such as features that only a GPU has."""
        return why_unsuitable(variant)


ENTRY = CpuEntry()

"""Finds GPUs in milliseconds, without a context and without pycuda.

It uses NVML if `nvidia-ml-py` is installed, and otherwise the driver's files in /proc. Without either, it assumes one
GPU if `nvidia-smi` exists. NVML numbers GPUs by PCI bus, but CUDA by default starts with the fastest. On a machine with
different GPUs, set CUDA_DEVICE_ORDER=PCI_BUS_ID.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from gemmbench.errors import write_pip_line

_PROC = Path("/proc/driver/nvidia/gpus")


@dataclass(frozen=True)
class GpuSummary:
    """A GPU as seen without opening it. `sm` is 90 for 9.0. `memory` is in bytes, or 0 if unknown."""

    name: str
    index: int
    sm: int = 0
    memory: int = 0


@dataclass(frozen=True)
class _Gpu:
    name: str
    uuid: str = ""
    sm: int = 0
    memory: int = 0


def find_gpu(index: int = 0) -> GpuSummary | None:
    """Return the GPU that CUDA numbers `index`, or None."""
    found = list_visible()
    return found[index] if 0 <= index < len(found) else None


def list_visible() -> list[GpuSummary]:
    """Return all GPUs listed in CUDA_VISIBLE_DEVICES, in that order."""
    shown = enumerate(_select_visible(_list_installed() or []))
    return [GpuSummary(gpu.name, index, gpu.sm, gpu.memory) for index, gpu in shown]


def list_visible_names() -> list[str]:
    """Return the name of each visible GPU in CUDA_VISIBLE_DEVICES, in order."""
    wish = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = [str(gpu.index) for gpu in list_visible()]
    return names if wish is None else [entry.strip() for entry in wish.split(",")][: len(names)]


def why_no_gpu() -> str:
    """Return one sentence that explains why no GPU can be used, or "" if one can.

    A missing nvmath-python is not a reason, because without it only the rows of cuBLAS are skipped.
    """
    installed = _list_installed()
    if installed is None:
        return "no NVIDIA driver"
    if not _select_visible(installed):
        return "no GPU visible" + (": CUDA_VISIBLE_DEVICES hides all GPUs" if installed else "")
    if find_spec("pycuda") is None:
        return f"pycuda is not installed: {write_pip_line('cuda')}"
    return ""


def why_no_library() -> str:
    """Return one sentence that explains why cuBLAS and cuBLASLt cannot be used on a usable GPU, or "" if they can."""
    return "" if find_spec("nvmath") else f"nvmath-python is not installed: {write_pip_line('cuda')}"


@contextmanager
def nvml_session() -> Iterator[ModuleType | None]:
    """Open NVML for the `with` block. Yields None if it is unavailable."""
    pynvml = open_nvml()
    try:
        yield pynvml
    finally:
        if pynvml is not None:
            pynvml.nvmlShutdown()


def query_nvml(pynvml: ModuleType, question: str, *arguments: object) -> Any:
    """Return the result of the NVML function `question`; None if the GPU, driver or package does not support it."""
    try:
        return getattr(pynvml, question)(*arguments)
    except (pynvml.NVMLError, AttributeError):
        return None


def open_nvml() -> ModuleType | None:
    """Start NVML. The caller must call nvmlShutdown. Returns None if NVML is unavailable."""
    try:
        pynvml = import_module("pynvml")  # optional
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        _keep_started(pynvml)
    except pynvml.NVMLError:  # no driver or a driver without NVML
        return None
    return pynvml


@cache
def _keep_started(pynvml: ModuleType) -> None:
    """Keep NVML running until the process ends, because after a shutdown it takes a third of a second to find a GPU."""
    pynvml.nvmlInit()


def read_identity(pynvml: ModuleType | None, bus: str) -> tuple[str, str]:
    """Return the UUID and VBIOS version of the GPU at this PCI bus id (`0000:01:00.0`); "" if unknown.

    They come from NVML, or from the driver's file in /proc if NVML is unavailable.
    """
    handle = query_nvml(pynvml, "nvmlDeviceGetHandleByPciBusId", bus) if pynvml else None
    if pynvml is None or handle is None:
        return _read_identity_file(_PROC / bus.lower() / "information")
    uuid, vbios = (query_nvml(pynvml, f"nvmlDeviceGet{name}", handle) or "" for name in ("UUID", "VbiosVersion"))
    return decode(uuid), decode(vbios)


def _read_identity_file(information: Path) -> tuple[str, str]:
    text = information.read_text(encoding="utf-8", errors="replace") if information.is_file() else ""
    found = (re.search(rf"^{name}:\s*(\S+)", text, re.MULTILINE) for name in ("GPU UUID", "Video BIOS"))
    uuid, vbios = ("" if value is None or "?" in value[1] else value[1] for value in found)  # ?: not initialized
    return uuid, vbios


def _list_installed() -> list[_Gpu] | None:
    """Return all GPUs of the machine; None if there is no driver."""
    with nvml_session() as found:
        if found is not None:
            numbers = range(query_nvml(found, "nvmlDeviceGetCount") or 0)
            handles = [query_nvml(found, "nvmlDeviceGetHandleByIndex", number) for number in numbers]
            return [_describe(found, handle) for handle in handles if handle is not None]
    if _PROC.is_dir():
        return [_read_information(path) for path in sorted(_PROC.glob("*/information"))]
    return [_Gpu("NVIDIA GPU")] if shutil.which("nvidia-smi") else None


def _describe(pynvml: ModuleType, handle: object) -> _Gpu:
    major, minor = query_nvml(pynvml, "nvmlDeviceGetCudaComputeCapability", handle) or (0, 0)
    memory = query_nvml(pynvml, "nvmlDeviceGetMemoryInfo", handle)  # None if it is the host's
    name = decode(query_nvml(pynvml, "nvmlDeviceGetName", handle) or "NVIDIA GPU")
    uuid = decode(query_nvml(pynvml, "nvmlDeviceGetUUID", handle) or "")
    return _Gpu(name, uuid, 10 * major + minor, int(memory.total) if memory else 0)


def decode(value: str | bytes) -> str:
    """Return a string from NVML. Older versions of its package return bytes."""
    return value.decode() if isinstance(value, bytes) else value


def _read_information(information: Path) -> _Gpu:
    """Read one GPU from the driver's `information` file, with lines like `Model:  NVIDIA H200`."""
    text = information.read_text(encoding="utf-8", errors="replace")
    name = re.search(r"^Model:\s*(.+?)\s*$", text, re.MULTILINE)
    uuid = re.search(r"^GPU UUID:\s*(\S+)", text, re.MULTILINE)
    return _Gpu(name[1] if name else "NVIDIA GPU", uuid[1] if uuid else "")


def _select_visible(installed: Sequence[_Gpu]) -> list[_Gpu]:
    """Return the GPUs listed in CUDA_VISIBLE_DEVICES. Entries from the first invalid one on are ignored.

    An entry is an index, a UUID or the start of a UUID (CUDA programming guide, environment variables).
    """
    wish = os.environ.get("CUDA_VISIBLE_DEVICES")
    if wish is None:
        return list(installed)
    shown: list[_Gpu] = []
    for entry in wish.split(","):
        gpu = _find_by_entry(installed, entry.strip())
        if gpu is None:
            break
        shown.append(gpu)
    return shown


def _find_by_entry(installed: Sequence[_Gpu], entry: str) -> _Gpu | None:
    if entry.isdecimal():
        return installed[int(entry)] if int(entry) < len(installed) else None
    if entry.startswith("MIG-"):
        return _Gpu("MIG instance", entry)
    matches = [gpu for gpu in installed if entry.startswith("GPU-") and gpu.uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None

"""What must be right before a GPU can be measured, looked at without opening it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from gemmbench.analysis import toolkit
from gemmbench.backends.cuda.launching.gate import off_reason
from gemmbench.backends.cuda.system import device, probe
from gemmbench.backends.cuda.system.driver import load_driver
from gemmbench.backends.health import Finding, bad, ok
from gemmbench.errors import DeviceError

_EXTRA = "pip install 'gemmbench[cuda]'"
_TOOLKIT = "install the CUDA toolkit, or name its nvcc in CUDACXX"
_DRIVER = Path("/proc/driver/nvidia/version")
_PARAMETERS = Path("/proc/driver/nvidia/params")
_BUSY = 5  # percent of the last second in which kernels ran


def examine(index: int, asked: bool) -> list[Finding]:
    """Look at all that GPU `index` needs; that there is none is a fault only if it was `asked` for."""
    gpu = probe.probe(index)
    if gpu is None:
        return [_no_gpu(index, asked), _toolkit(0, 0, fatal=False)]
    with probe.nvml() as nvml:
        spoken = probe.ask(nvml, "nvmlSystemGetCudaDriverVersion") or 0 if nvml else 0
        version = probe.text(probe.ask(nvml, "nvmlSystemGetDriverVersion") or "") if nvml else ""
        said = f"{gpu.name}, compute capability {gpu.sm / 10}, {gpu.memory >> 30} GiB" if gpu.sm else gpu.name
        return [
            _driver(version, spoken),
            ok("GPU", said),
            _toolkit(gpu.sm, spoken, fatal=True),
            _pycuda(),
            _libraries(),
            _disassembler(),
            _counters(),
            _gate(),
            *_load(nvml, index),
        ]


def _no_gpu(index: int, asked: bool) -> Finding:
    why = (probe.why_not() if not probe.visible() else "") or f"there is no GPU number {index}"
    return bad("GPU", f"none: {why}", "install the driver, or go on with --device cpu", fatal=asked)


def _driver(version: str, spoken: int) -> Finding:
    if not version and _DRIVER.is_file():
        found = re.search(r"Kernel Module\D*([\d.]+)", _DRIVER.read_text(errors="replace"))
        version = found[1] if found else ""
    cuda = f", CUDA {spoken // 1000}.{spoken % 1000 // 10}" if spoken else ""
    return ok("driver", (version or "version unknown") + cuda)


def _toolkit(sm: int, spoken: int, fatal: bool) -> Finding:
    """nvcc, whether it knows the architecture `sm`, and whether the driver, which speaks CUDA `spoken`, knows it."""
    try:
        path = toolkit.find_nvcc()
        version = toolkit.nvcc_version(path)
    except DeviceError as fault:
        return bad("nvcc", str(fault).partition(":")[0], _TOOLKIT, fatal)
    said = f"{version} at {path}"
    if sm and f"sm_{sm}" not in _architectures(path):
        return bad("nvcc", f"{said} does not compile for sm_{sm}", "name the nvcc of another toolkit in CUDACXX", fatal)
    if spoken and int(version.split(".")[0]) > spoken // 1000:
        return bad("nvcc", f"{said} is newer than the driver", "update the driver, or take an older toolkit", fatal)
    return ok("nvcc", f"{said}, compiles for sm_{sm}" if sm else said)


def _architectures(path: str) -> list[str]:
    """What this nvcc makes machine code for."""
    done = subprocess.run([path, "--list-gpu-code"], capture_output=True, text=True, check=False)
    return done.stdout.split()


def _pycuda() -> Finding:
    if find_spec("pycuda") is None:
        return bad("pycuda", "is not installed", _EXTRA, fatal=True)
    try:
        built = ".".join(map(str, load_driver().get_version()[:2]))
    except DeviceError as fault:
        return bad("pycuda", str(fault), "see the lines above; nvidia-smi should list the GPU", fatal=True)
    return ok("pycuda", f"{metadata.version('pycuda')}, built for CUDA {built}")


def _libraries() -> Finding:
    if why := probe.why_no_library():
        return bad("cuBLAS", why.partition(":")[0], _EXTRA)
    versions = device.library_versions()
    if not versions:
        return bad("cuBLAS", "nvmath-python is there, the library does not load", _EXTRA)
    return ok("cuBLAS", versions["cublas"])


def _disassembler() -> Finding:
    try:
        return ok("cuobjdump", toolkit.find_cuobjdump())
    except DeviceError:
        return bad("cuobjdump", "not found: no machine code can be shown", _EXTRA)


def _counters() -> Finding:
    """Whether Nsight Compute may read hardware counters; a module parameter of the driver keeps them to root."""
    what = "counters"
    try:
        found = re.search(r"^RmProfilingAdminOnly: (\d)", _PARAMETERS.read_text(), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        return ok(what, "the driver does not say who may profile")
    if found[1] == "1" and os.geteuid():
        step = "profile as root, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
        return bad(what, "only root may profile", step)
    return ok(what, "this user may profile")


def _gate() -> Finding:
    if reason := off_reason():
        return bad("gate", f"off: {reason}; short kernels read too slow", "leave the tool, or unset the variable")
    return ok("gate", "launches queue behind it")


def _load(nvml: ModuleType | None, index: int) -> Iterator[Finding]:
    what = "GPU load"
    if nvml is None:
        yield bad(what, "cannot be seen without NVML", _EXTRA)
        return
    handle = _handle(nvml, index)
    use = probe.ask(nvml, "nvmlDeviceGetUtilizationRates", handle) if handle is not None else None
    if use is None:
        yield ok(what, "this GPU does not tell")
        return
    running = probe.ask(nvml, "nvmlDeviceGetComputeRunningProcesses", handle) or []
    others = [each.pid for each in running if each.pid != os.getpid()]
    if others or use.gpu > _BUSY:
        processes = f", processes {', '.join(map(str, others))}" if others else ""
        yield bad(what, f"{use.gpu} % busy{processes}", "end what else runs on it: it takes clock, cache and bandwidth")
    else:
        yield ok(what, "idle")


def _handle(nvml: ModuleType, index: int) -> Any:
    """NVML's handle of GPU `index` as CUDA numbers it."""
    try:
        cuda = load_driver()
    except DeviceError:
        return None
    if index >= cuda.Device.count():
        return None
    return probe.ask(nvml, "nvmlDeviceGetHandleByPciBusId", cuda.Device(index).pci_bus_id())

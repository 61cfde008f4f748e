"""The checks that `doctor` makes before a GPU is measured. They do not open the GPU."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from gemmbench.analysis import toolkit
from gemmbench.backends.cuda.driver import load_driver
from gemmbench.backends.cuda.gate import why_gate_is_off
from gemmbench.backends.cuda.system import device, probe
from gemmbench.backends.devices import HealthCheck, failed_check, passed_check
from gemmbench.errors import DeviceError, write_pip_line

_EXTRA = write_pip_line("cuda")
_TOOLKIT = "install the CUDA toolkit, or set CUDACXX to its nvcc"
_DRIVER = Path("/proc/driver/nvidia/version")
_PARAMETERS = Path("/proc/driver/nvidia/params")
_BUSY = 5  # percentage of the last second in which kernels ran


def examine_gpu(index: int, required: bool) -> list[HealthCheck]:
    """Check everything that GPU `index` needs. A missing GPU is a fault only if it is `required`."""
    gpu = probe.find_gpu(index)
    if gpu is None:
        return [_report_no_gpu(index, required), _check_toolkit(0, 0, fatal=False)]
    with probe.nvml_session() as nvml:
        supported = probe.query_nvml(nvml, "nvmlSystemGetCudaDriverVersion") or 0 if nvml else 0
        version = probe.decode(probe.query_nvml(nvml, "nvmlSystemGetDriverVersion") or "") if nvml else ""
        description = f"{gpu.name}, compute capability {gpu.sm / 10}, {gpu.memory >> 30} GiB" if gpu.sm else gpu.name
        return [
            _check_driver(version, supported),
            passed_check("GPU", description),
            _check_toolkit(gpu.sm, supported, fatal=True),
            _check_pycuda(),
            _check_libraries(),
            _check_disassembler(),
            _check_counters(),
            _check_gate(),
            *_check_load(nvml, index),
        ]


def _report_no_gpu(index: int, required: bool) -> HealthCheck:
    why = (probe.why_no_gpu() if not probe.list_visible() else "") or f"there is no GPU {index}"
    return failed_check("GPU", f"none: {why}", "install the driver, or use --device cpu", fatal=required)


def _check_driver(version: str, supported: int) -> HealthCheck:
    if not version and _DRIVER.is_file():
        found = re.search(r"Kernel Module\D*([\d.]+)", _DRIVER.read_text(encoding="utf-8", errors="replace"))
        version = found[1] if found else ""
    cuda = f", CUDA {supported // 1000}.{supported % 1000 // 10}" if supported else ""
    return passed_check("driver", (version or "version unknown") + cuda)


def _check_toolkit(sm: int, supported: int, fatal: bool) -> HealthCheck:
    """Check that nvcc compiles for `sm`, and that the driver, which supports CUDA `supported`, can load its code."""
    try:
        path = toolkit.find_nvcc()
        version = toolkit.nvcc_version(path)
    except DeviceError as fault:
        return failed_check("nvcc", str(fault).partition(":")[0], _TOOLKIT, fatal)
    nvcc = f"{version} at {path}"
    if sm and f"sm_{sm}" not in _list_architectures(path):
        return failed_check(
            "nvcc", f"{nvcc} does not compile for sm_{sm}", "set CUDACXX to the nvcc of another toolkit", fatal
        )
    if supported and int(version.split(".")[0]) > supported // 1000:
        return failed_check(
            "nvcc", f"{nvcc} is newer than the driver", "update the driver, or use an older toolkit", fatal
        )
    return passed_check("nvcc", f"{nvcc}, compiles for sm_{sm}" if sm else nvcc)


def _list_architectures(path: str) -> list[str]:
    """Return the architectures that this nvcc compiles for."""
    return toolkit.run_limited([path, "--list-gpu-code"], toolkit.LOOKUP_LIMIT).stdout.split()


def _check_pycuda() -> HealthCheck:
    if find_spec("pycuda") is None:
        return failed_check("pycuda", "is not installed", _EXTRA, fatal=True)
    try:
        built = ".".join(map(str, load_driver().get_version()[:2]))
    except DeviceError as fault:
        return failed_check("pycuda", str(fault), "see the lines above; nvidia-smi should list the GPU", fatal=True)
    return passed_check("pycuda", f"{metadata.version('pycuda')}, built for CUDA {built}")


def _check_libraries() -> HealthCheck:
    if why := probe.why_no_library():
        return failed_check("cuBLAS", why.partition(":")[0], _EXTRA)
    versions = device.library_versions()
    if not versions:
        return failed_check("cuBLAS", "nvmath-python is installed, but the library does not load", _EXTRA)
    return passed_check("cuBLAS", versions["cublas"])


def _check_disassembler() -> HealthCheck:
    try:
        return passed_check("cuobjdump", toolkit.find_cuobjdump())
    except DeviceError:
        return failed_check("cuobjdump", "not found, so machine code cannot be shown", _EXTRA)


def _check_counters() -> HealthCheck:
    """Check whether Nsight Compute may read hardware counters, which a driver parameter can restrict to root."""
    what = "counters"
    try:
        found = re.search(r"^RmProfilingAdminOnly: (\d)", _PARAMETERS.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        return passed_check(what, "the driver does not report who may use the profiler")
    if found[1] == "1" and os.geteuid():
        step = "run the profiler as root, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
        return failed_check(what, "only root may use the profiler", step)
    return passed_check(what, "this user may use the profiler")


def _check_gate() -> HealthCheck:
    if reason := why_gate_is_off():
        return failed_check(
            "gate",
            f"off because of {reason}: the times of short kernels are too long",
            "quit the tool, or unset the variable",
        )
    return passed_check("gate", "launches queue behind it")


def _check_load(nvml: ModuleType | None, index: int) -> Iterator[HealthCheck]:
    what = "GPU load"
    if nvml is None:
        yield failed_check(what, "unknown without NVML", _EXTRA)
        return
    handle = _nvml_handle(nvml, index)
    use = probe.query_nvml(nvml, "nvmlDeviceGetUtilizationRates", handle) if handle is not None else None
    if use is None:
        yield passed_check(what, "this GPU does not report it")
        return
    running = probe.query_nvml(nvml, "nvmlDeviceGetComputeRunningProcesses", handle) or []
    others = [each.pid for each in running if each.pid != os.getpid()]
    if others or use.gpu > _BUSY:
        processes = f", processes {', '.join(map(str, others))}" if others else ""
        yield failed_check(
            what,
            f"{use.gpu} % busy{processes}",
            "end other programs on it, because they take clock, cache and bandwidth",
        )
    else:
        yield passed_check(what, "idle")


def _nvml_handle(nvml: ModuleType, index: int) -> Any:
    """Return NVML's handle of the GPU with CUDA's number `index`."""
    try:
        cuda = load_driver()
    except DeviceError:
        return None
    if index >= cuda.Device.count():
        return None
    return probe.query_nvml(nvml, "nvmlDeviceGetHandleByPciBusId", cuda.Device(index).pci_bus_id())

"""Describes a GPU from device attributes and NVML, without opening a context."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

from gemmbench.analysis import toolkit
from gemmbench.backends.base import Device
from gemmbench.backends.cuda.driver import load_driver
from gemmbench.backends.cuda.library_variants import MATH
from gemmbench.backends.cuda.system import probe
from gemmbench.backends.cuda.system.nvml import read_conditions
from gemmbench.errors import DeviceError
from gemmbench.planning.plans.plan import Target
from gemmbench.planning.precisions import PRECISIONS


def describe_gpu(index: int = 0) -> Device:
    """Describe the GPU with CUDA's number `index`. `memory` is the total memory, including used memory.

    Raises DeviceError if there is no such GPU, or if CUDA or pycuda cannot be loaded.
    """
    cuda = load_driver()
    if not 0 <= index < cuda.Device.count():
        raise DeviceError(f"no GPU {index}: CUDA finds {cuda.Device.count()}, numbered from 0")
    gpu = cuda.Device(index)
    with probe.nvml_session() as nvml:
        clock, bandwidth = _clock_and_bandwidth(cuda, gpu, nvml)
        driver_version = probe.decode(probe.query_nvml(nvml, "nvmlSystemGetDriverVersion") or "") if nvml else ""
        set_up = read_conditions(nvml, gpu.pci_bus_id()) if nvml else None
        uuid, vbios = probe.read_identity(nvml, gpu.pci_bus_id())
    target = replace(_target(cuda, gpu), name=gpu.name(), clock_hz=clock, bandwidth=bandwidth)
    software = {"driver": driver_version, **_software_versions(cuda)}
    return Device(
        name=gpu.name(),
        index=index,
        target=target,
        clock_hz=clock,
        flops_per_cycle=flops_per_cycle(gpu.name(), target.sm, target.sms),
        bandwidth=bandwidth,
        software={name: version for name, version in software.items() if version},
        conditions=set_up,
        uuid=uuid,
        vbios=vbios,
    )


def flops_per_cycle(name: str, sm: int, sms: int) -> dict[str, float]:
    """Return the operations per cycle of the whole device, by precision, as far as data sheets give them."""
    rates = {kind.name: kind.peak.of_device(name, sm) for kind in PRECISIONS.values() if sm >= kind.min_sm}
    return {kind: float(sms * rate) for kind, rate in rates.items() if rate is not None}


def library_versions() -> dict[str, str]:
    """Return the versions of the loaded libraries, such as `{"cublas": "13.1.0 (...)", "cublaslt": "13.1.0"}`.

    The version of cuBLAS is followed by the math it uses. A library is left out if it or nvmath-python is missing.
    """
    cublas, cublaslt = (_read_loaded_version(name) for name in ("cublas", "cublasLt"))
    versions = {"cublas": cublas and f"{cublas} ({MATH})", "cublaslt": cublaslt}
    return {name: version for name, version in versions.items() if version}


def _read_loaded_version(library: str) -> str:
    """Return a version such as `13.1.0`, or "" if the library cannot be loaded."""
    try:
        bindings: Any = import_module(f"nvmath.bindings.{library}")
        return ".".join(str(bindings.get_property(part)) for part in range(3))
    except (ImportError, OSError, RuntimeError):  # nvmath's own errors are RuntimeErrors
        return ""


def _target(cuda: ModuleType, gpu: Any) -> Target:
    major, minor = gpu.compute_capability()
    attribute = cuda.device_attribute
    return Target(
        kind="cuda",
        sm=10 * major + minor,
        sms=gpu.get_attribute(attribute.MULTIPROCESSOR_COUNT),
        smem=gpu.get_attribute(attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
        l2=gpu.get_attribute(attribute.L2_CACHE_SIZE),
        memory=int(gpu.total_memory()),
    )


def _clock_and_bandwidth(cuda: ModuleType, gpu: Any, nvml: ModuleType | None) -> tuple[float, float]:
    """Return the highest SM clock in Hz and the memory bandwidth in bytes/s, at two transfers per memory clock.

    Both come from attributes in kHz. If those are 0, they come from NVML in MHz.
    """
    attribute = cuda.device_attribute
    core = gpu.get_attribute(attribute.CLOCK_RATE) * 1e3
    memory = gpu.get_attribute(attribute.MEMORY_CLOCK_RATE) * 1e3
    bus = gpu.get_attribute(attribute.GLOBAL_MEMORY_BUS_WIDTH)
    if nvml and not (core and memory):
        handle = probe.query_nvml(nvml, "nvmlDeviceGetHandleByPciBusId", gpu.pci_bus_id())
        core = core or _max_clock(nvml, handle, nvml.NVML_CLOCK_SM)
        memory = memory or _max_clock(nvml, handle, nvml.NVML_CLOCK_MEM)
    return core, 2 * memory * bus / 8


def _max_clock(nvml: ModuleType, handle: object, which: int) -> float:
    return (probe.query_nvml(nvml, "nvmlDeviceGetMaxClockInfo", handle, which) or 0) * 1e6


def _software_versions(cuda: ModuleType) -> dict[str, str]:
    """Return the versions of the driver's CUDA, of nvcc, and of pycuda, with the CUDA version that pycuda was built
    for.
    """
    supported = cuda.get_driver_version()
    built = ".".join(map(str, cuda.get_version()[:2]))
    return {
        "cuda": f"{supported // 1000}.{supported % 1000 // 10}",
        "nvcc": _nvcc_version(),
        "pycuda": f"{metadata.version('pycuda')} (CUDA {built})",
    }


def _nvcc_version() -> str:
    try:
        return toolkit.nvcc_version(toolkit.find_nvcc())
    except DeviceError:
        return ""

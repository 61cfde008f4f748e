"""The record of the NVIDIA back end. Importing it does not import pycuda or nvmath."""

from __future__ import annotations

import re

from gemmbench.analysis.occupancy import most_block_shared
from gemmbench.backends.cuda.library_variants import (
    CUBLAS,
    CUBLAS_DEFAULT,
    CUBLAS_GROUPED,
    CUBLAS_PEDANTIC,
    CUBLASLT,
)
from gemmbench.backends.cuda.system import probe
from gemmbench.backends.devices import DeviceChoice
from gemmbench.backends.registry import BackendEntry
from gemmbench.backends.sources import explain_missing, why_no_headers
from gemmbench.errors import DeviceError
from gemmbench.planning.manifests.variant import Variant
from gemmbench.planning.plans.plan import Target

_OPTION = re.compile(r"cuda(?::([0-9]{1,4}))?")


class CudaEntry(BackendEntry):
    """NVIDIA GPUs."""

    name = "cuda"
    forms = ("cuda", "cuda:N")
    automatic = True
    companions = ("cpu",)
    default_baseline = CUBLAS.name
    noise_plans = (((CUBLAS.name, "tiled"), 1024), ((CUBLAS.name, "tiled"), 4096))
    profilers = True
    inspects = True

    def choose(self, option: str) -> DeviceChoice | None:
        """Accept `cuda` and `cuda:N`."""
        found = _OPTION.fullmatch(option)
        return DeviceChoice(self.name, int(found[1] or 0)) if found else None

    def why_unusable(self, choice: DeviceChoice) -> str:
        """Ask NVML or look at the driver's files."""
        if why := probe.why_no_gpu():
            return why
        return "" if probe.find_gpu(choice.index) else f"there is no GPU {choice.index}"

    def glance(self, choice: DeviceChoice) -> Target | None:
        """Return the GPU as NVML sees it: compute capability and memory."""
        seen = probe.find_gpu(choice.index)
        return Target(self.name, seen.sm, 0, 0, 0, seen.memory) if seen else None

    def share_devices(self, count: int) -> list[dict[str, str]]:
        """Give each worker one GPU, which the worker sees as its first."""
        names = probe.list_visible_names()
        if count > len(names):
            raise DeviceError(f"{count} workers need {count} GPUs, but there are {len(names)}")
        return [{"CUDA_VISIBLE_DEVICES": name} for name in names[: count or None]]

    def libraries(self) -> tuple[Variant, ...]:
        """Return cuBLASLt, and cuBLAS with the faster math and with each kind of math."""
        return CUBLAS, CUBLAS_DEFAULT, CUBLAS_PEDANTIC, CUBLAS_GROUPED, CUBLASLT

    def why_refused(self, variant: Variant) -> str:
        """Explain which packages, headers or libraries a variant lacks."""
        if variant.is_python:
            return explain_missing(variant.packages, variant.python.packages_from)
        return probe.why_no_library() if variant.is_library else why_no_headers(variant)

    def architecture(self, sm: int, sms: int) -> Target:
        """Return the limits of an architecture. The memory size does not matter here."""
        return Target(self.name, sm, sms, most_block_shared(sm), 0, 0)


ENTRY = CudaEntry()

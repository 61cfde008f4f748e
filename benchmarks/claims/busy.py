"""For what share of a sweep's wall time NVML reports a running kernel; the gate counts too."""

import tempfile
import threading
import time
from pathlib import Path

import pycuda.driver as cuda
import pynvml

from claims import Claim, format_table, run_sweep

LEAST = 60.0
SIZES = ("4096", "8192")
_SHORT = ("--rounds", "2", "--max-time", "0.01")
"""A sweep that compiles the kernels and measures next to nothing."""
_SAMPLE_SECONDS = 0.1


class _UtilizationSampler(threading.Thread):
    """Until `ended` is set, samples from NVML the percentage of time in which a kernel runs on CUDA's first GPU."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        pynvml.nvmlInit()
        cuda.init()
        self._gpu = pynvml.nvmlDeviceGetHandleByPciBusId(cuda.Device(0).pci_bus_id())
        self.samples: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample until `ended` is set."""
        while not self.ended.wait(_SAMPLE_SECONDS):
            self.samples.append(pynvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)


def check(folder: Path) -> Claim:
    """Check the utilization from the start of the program to its table, with a warm compile cache."""
    with tempfile.TemporaryDirectory() as results:
        run_sweep(Path(results), "-c", "sgemm", "--sizes", SIZES[0], *_SHORT)
    busy = [(size, *_measure(folder, size)) for size in SIZES]
    least = min(percent for *_, percent in busy)
    rows = [(size, f"{seconds:.1f}", f"{percent:.1f} %") for size, seconds, percent in busy]
    return Claim(
        "NVML reports a running kernel, the gate included, for at least 60 % of the wall time of `run -c sgemm` at "
        "4096 and at 8192, with a warm compile cache",
        format_table(rows, ["size", "wall time (s)", "GPU busy"]),
        f"at least {least:.1f} %",
        least >= LEAST,
    )


def _measure(folder: Path, size: str) -> tuple[float, float]:
    """Seconds from the start of the program to its table, and percent busy; the results stay in `folder`."""
    sampler, started = _UtilizationSampler(), time.monotonic()
    sampler.start()
    run_sweep(folder, "-c", "sgemm", "--sizes", size)
    sampler.ended.set()
    sampler.join()
    return time.monotonic() - started, sum(sampler.samples) / max(len(sampler.samples), 1)

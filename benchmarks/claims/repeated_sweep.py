"""A whole sweep, then its sizes 4096 and 8192 again while GPU utilization is sampled. Two claims use it."""

import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pynvml

from claims import run_sweep

SIZES = ("4096", "8192")
_SAMPLE_SECONDS = 0.1
Rows = list[dict[str, Any]]


class _UtilizationSampler(threading.Thread):
    """Samples the percentage of time in which the GPU computes, from NVML, until `ended` is set."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        pynvml.nvmlInit()
        self._gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.samples: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample until the end."""
        while not self.ended.wait(_SAMPLE_SECONDS):
            self.samples.append(pynvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)


@cache
def measure_twice(folder: Path) -> tuple[tuple[Rows, Rows], list[tuple[str, float, float]]]:
    """Return the rows of both runs, and (size, wall time in seconds, percent busy) of the second.

    Wall time is from the start of the program to its table. The results file of the whole sweep stays in
    `folder`.
    """
    first, second, busy = run_sweep(folder, "-c", "sgemm"), Rows(), []
    for size in SIZES:
        sampler, started = _UtilizationSampler(), time.monotonic()
        sampler.start()
        with tempfile.TemporaryDirectory() as results:
            second += run_sweep(Path(results), "-c", "sgemm", "--sizes", size)
        sampler.ended.set()
        sampler.join()
        seconds = time.monotonic() - started
        busy.append((size, seconds, sum(sampler.samples) / max(len(sampler.samples), 1)))
    return (first, second), busy

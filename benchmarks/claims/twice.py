"""One sweep measured whole, then again at 4096 and at 8192 while the GPU's use is sampled; two claims read it."""

import tempfile
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pynvml

from claims import sweep

SIZES = ("4096", "8192")
_OFTEN = 0.1
Rows = list[dict[str, Any]]


class _Sampler(threading.Thread):
    """Percent of the time in which the GPU computed, as NVML sees it, until `ended` is set."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        pynvml.nvmlInit()
        self._gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
        self.seen: list[int] = []
        self.ended = threading.Event()

    def run(self) -> None:
        """Sample."""
        while not self.ended.wait(_OFTEN):
            self.seen.append(pynvml.nvmlDeviceGetUtilizationRates(self._gpu).gpu)


@cache
def measured(folder: Path) -> tuple[tuple[Rows, Rows], list[tuple[str, float, float]]]:
    """The rows of both runs, and (size, seconds of wall time, percent busy) of the second, from its start to its table.

    The results file of the whole sweep stays in `folder`.
    """
    whole, again, busy = sweep(folder, "-c", "sgemm"), Rows(), []
    for size in SIZES:
        sampler, started = _Sampler(), time.monotonic()
        sampler.start()
        with tempfile.TemporaryDirectory() as results:
            again += sweep(Path(results), "-c", "sgemm", "--sizes", size)
        sampler.ended.set()
        sampler.join()
        busy.append((size, time.monotonic() - started, sum(sampler.seen) / max(len(sampler.seen), 1)))
    return (whole, again), busy

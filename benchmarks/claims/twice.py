"""One sweep measured twice at 4096 and at 8192, while the GPU's utilisation is sampled; two claims read it."""

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
def measured() -> tuple[list[list[dict[str, Any]]], list[tuple[str, float, float]]]:
    """The rows of both runs, and (size, seconds of wall time, percent busy) of every sweep, start to table."""
    runs: list[list[dict[str, Any]]] = [[], []]
    busy = []
    for size in SIZES:
        for rows in runs:
            sampler, started = _Sampler(), time.monotonic()
            sampler.start()
            with tempfile.TemporaryDirectory() as folder:
                rows += sweep(Path(folder), "-c", "sgemm", "--sizes", size)
            sampler.ended.set()
            sampler.join()
            busy.append((size, time.monotonic() - started, sum(sampler.seen) / max(len(sampler.seen), 1)))
    return runs, busy

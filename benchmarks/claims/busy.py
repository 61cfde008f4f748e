"""How much of a sweep's wall time the GPU computes, as NVML sees it."""

import subprocess
import tempfile
import time
from pathlib import Path

import pynvml

from claims import Claim, command, table

LEAST, OFTEN = 60.0, 0.1


def check(folder: Path) -> Claim:
    """Sample the GPU's utilisation from the start of the program to its table."""
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
    rows = []
    with tempfile.TemporaryDirectory() as results:
        for size in ("4096", "8192"):
            seen, started = [], time.monotonic()
            quiet = subprocess.DEVNULL
            sweep = command("run", "-c", "sgemm", "--sizes", size, "--out", results)
            process = subprocess.Popen(sweep, stdout=quiet, stderr=quiet)
            while process.poll() is None:
                seen.append(pynvml.nvmlDeviceGetUtilizationRates(gpu).gpu)
                time.sleep(OFTEN)
            rows.append((size, f"{time.monotonic() - started:.1f}", f"{sum(seen) / len(seen):.1f} %"))
    least = min(float(row[-1].split()[0]) for row in rows)
    return Claim(
        "the GPU computes for at least 60 % of the wall time of `run -c sgemm` at 4096 and at 8192",
        table(rows, ["size", "wall time (s)", "GPU busy"]),
        f"at least {least:.1f} %",
        least >= LEAST,
    )

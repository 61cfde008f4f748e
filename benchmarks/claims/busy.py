"""How much of a sweep's wall time the GPU computes, according to NVML."""

from pathlib import Path

from claims import Claim, format_table
from claims.repeated_sweep import measure_twice

LEAST = 60.0


def check(folder: Path) -> Claim:
    """Check the utilization from the start of the program to its table."""
    _, busy = measure_twice(folder)
    least = min(percent for *_, percent in busy)
    rows = [(size, f"{seconds:.1f}", f"{percent:.1f} %") for size, seconds, percent in busy]
    return Claim(
        "the GPU computes for at least 60 % of the wall time of `run -c sgemm` at 4096 and at 8192",
        format_table(rows, ["size", "wall time (s)", "GPU busy"]),
        f"at least {least:.1f} %",
        least >= LEAST,
    )

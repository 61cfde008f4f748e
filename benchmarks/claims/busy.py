"""How much of a sweep's wall time the GPU computes, as NVML sees it."""

from pathlib import Path

from claims import Claim, table
from claims.twice import measured

LEAST = 60.0


def check(folder: Path) -> Claim:
    """From the start of the program to its table."""
    _, busy = measured(folder)
    least = min(percent for *_, percent in busy)
    rows = [(size, f"{seconds:.1f}", f"{percent:.1f} %") for size, seconds, percent in busy]
    return Claim(
        "the GPU computes for at least 60 % of the wall time of `run -c sgemm` at 4096 and at 8192",
        table(rows, ["size", "wall time (s)", "GPU busy"]),
        f"at least {least:.1f} %",
        least >= LEAST,
    )

"""The wall time of the default sweep, from the command to its table."""

import tempfile
import time
from pathlib import Path

from claims import Claim, format_table, run_gemmbench

MOST = 12.0


def check(folder: Path) -> Claim:
    """Run the sweep twice. The second run has a warm compile cache."""
    rows = []
    with tempfile.TemporaryDirectory() as results:
        for cache in ("as found", "warm"):
            started = time.monotonic()
            done = run_gemmbench("run", "-c", "quick", "--out", results)
            rows.append((cache, f"{time.monotonic() - started:.1f}", done.returncode))
    return Claim(
        "`gemmbench run -c quick` takes less than 12 s from start to table, with a warm compile cache",
        format_table(rows, ["compile cache", "seconds", "exit code"]),
        f"{rows[-1][1]} s",
        float(rows[-1][1]) < MOST and rows[-1][2] == 0,
    )

"""How long the command line takes to answer: `--help` should stay under 0.1 s, `list` under 0.25 s.

Run with `python benchmarks/startup.py`; prints the median and the best of 20 calls.
"""

import statistics
import subprocess
import sys
import time

LIMITS = {("--help",): 0.10, ("list",): 0.25}


def seconds(arguments: tuple[str, ...]) -> float:
    """Wall-clock seconds of one call."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "gemmbench", *arguments], capture_output=True, check=True)
    return time.perf_counter() - started


for arguments, limit in LIMITS.items():
    times = [seconds(arguments) for _ in range(20)]
    print(f"gemmbench {' '.join(arguments):8} {statistics.median(times):.3f} s, best {min(times):.3f} (limit {limit})")

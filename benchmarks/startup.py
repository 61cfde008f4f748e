"""Measures how fast the command line starts: the limits are 0.1 s for `--help` and 0.25 s for `list`.

Run `python benchmarks/startup.py`. It prints the median and the minimum of 20 calls.
"""

import statistics
import subprocess
import sys
import time

LIMITS = {("--help",): 0.10, ("list",): 0.25}


def time_command(arguments: tuple[str, ...]) -> float:
    """Run gemmbench and return its wall time in seconds."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "gemmbench", *arguments], capture_output=True, check=True)
    return time.perf_counter() - started


for arguments, limit in LIMITS.items():
    times = [time_command(arguments) for _ in range(20)]
    figures = f"{statistics.median(times):.3f} s, minimum {min(times):.3f} s (limit {limit} s)"
    print(f"gemmbench {' '.join(arguments):8} {figures}")

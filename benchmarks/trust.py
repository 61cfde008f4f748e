"""Checks by measurement what gemmbench claims about its numbers. Needs an NVIDIA GPU.

Run `python benchmarks/trust.py [CLAIM ...]` (default: all, about twenty minutes on an H200). It prints a table
for each claim, writes it to trust.txt in the folder given by --out (default: results) below its origin, and
exits with 1 if a claim does not hold.

    repeat   five processes that run one sweep with other seeds: 93 % of the differences between a row and the same
             one of the process before are within the joint intervals, and percent of cuBLAS differs by at most
             0.5 % where it and the kernel take over 100 us
    cold     times at 4, 8 and 16 times the L2 cache agree, and launches read their operands from DRAM
    coverage identical code compared in 20 processes for each of three speeds: the share of 95 % intervals
             that contain 1 is compatible with 95 %
    busy     NVML reports a running kernel, the gate included, for at least 60 % of the wall time of a sweep at 4096
             and 8192
    quick    the default sweep takes less than 12 s from start to table, with a warm compile cache
    killed   a sweep killed at 20 random moments resumes: no row lost, none measured twice
    gate     check --margin 3% fails on a kernel made 5 % slower and passes on the same one, 15 of 15 each
    sustained
             at 8192 under a steady load a launch takes at least 99 % of its burst time, the GPU draws at most 105 % of
             its power limit, and percent of cuBLAS in bf16 differs by at most 1 between two runs
    steady   under a steady load launches take at least 95 % of the time, and a kernel is as fast as itself within 1 %
    hostile  every kernel of tests/hostile but its host functions ends in the expected row, and no healthy row is lost
    noise    100 comparisons of a kernel with itself: at most 1 false verdict; 2 % slower is found in 95 of 100
    tune     `gemmbench tune blocktile_2d --sizes 4096` takes at most 12 s in the median of 10 runs with an empty
             compile cache, and each finds the best of all their finalists, or one within 0.5 % of it
    nvbench  times agree with those of NVIDIA's measuring library (PyPI: cuda-bench)
    alone    one product alone takes as long as NVBench says for a cold launch, within 3 % or 0.5 us, for cublas,
             sgemm and tiled at 256, 512, 1024 and 4096
"""

import argparse
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from gemmbench.bench.origin import describe_origin

CLAIMS = (
    "repeat",
    "coverage",
    "busy",
    "quick",
    "killed",
    "gate",
    "sustained",
    "hostile",
    "noise",
    "tune",
    "steady",
    "cold",
    "nvbench",
    "alone",
)
"""Each in a file of claims/, with its statement."""


def main() -> int:
    """Check the claims. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", nargs="*", metavar="CLAIM", help=f"one of {', '.join(CLAIMS)}")
    parser.add_argument("--out", type=Path, help="folder for trust.txt and the results files of the sweeps")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.claims if name not in CLAIMS]
    if unknown:
        parser.error(f"unknown claim {unknown[0]}; known: {', '.join(CLAIMS)}")
    folder = arguments.out or Path("results")
    folder.mkdir(parents=True, exist_ok=True)
    names = arguments.claims or list(CLAIMS)
    broken = [name for name in names if not (check(name, folder) if names == [name] else check_alone(name, folder))]
    if len(names) > 1:
        print(f"do not hold, or could not be checked: {', '.join(broken)}" if broken else "every claim holds")
    return 1 if broken else 0


def check(name: str, folder: Path) -> bool:
    """Whether a claim holds, checked in this process; its table is added to trust.txt."""
    origin, started = describe_origin(), time.monotonic()
    claim = import_module(f"claims.{name}").check(folder)
    ended = f"{'holds' if claim.holds else 'DOES NOT HOLD'} ({time.monotonic() - started:.0f} s)"
    text = f"== {name}: {claim.statement}\n\n{claim.details}\n\n{name}: {claim.result}: {ended}\n"
    print(text, flush=True)
    with (folder / "trust.txt").open("a") as file:
        print(f"{origin}\n{text}", file=file, flush=True)
    return bool(claim.holds)


def check_alone(name: str, folder: Path) -> bool:
    """Whether a claim holds in a separate process: some claims open the GPU, and NVBench runs only once per process."""
    return subprocess.run([sys.executable, __file__, name, "--out", str(folder)]).returncode == 0


if __name__ == "__main__":
    sys.exit(main())

"""Whether 95 % intervals contain the truth: identical code compared with other bindings, processes and seeds."""

import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

from claims import Claim, format_table
from gemmbench.bench.timing.stats import Interval, t_quantile, verdict

CASES = (("sgemm_small", "256"), ("blocktile_2d", "1024"), ("blocktile_2d", "2048"))
"""Kernels of three speeds: under 100 us, under 1 ms, and above."""
PROCESSES, FALSE_VERDICTS = 20, 1
_PROGRAM = Path(__file__).with_name("compare_alike.py")


def check(folder: Path) -> Claim:
    """Make three comparisons of each of three kernels in each of 20 processes."""
    processes = [_compare(seed) for seed in range(PROCESSES)]
    rows = [_describe(case, [each[number] for each in processes]) for number, case in enumerate(CASES)]
    shares = [_share_covered([ratio for ratios in each for ratio in ratios]) for each in processes]
    false = sum(_count_false(ratios) for each in processes for ratios in each)
    mean = _limit_mean(shares)
    return Claim(
        f"identical code compared in {PROCESSES} processes for each of three speeds: the share of 95 % intervals that "
        "contain 1 is compatible with 95 % (its own confidence limits, from the spread between processes, include it); "
        f"at most {FALSE_VERDICTS} false verdict",
        format_table(rows, ["kernel", "size", "comparisons", "covered (%)", "false verdicts", "median half-width"]),
        f"{_format(mean)} % of the comparisons of {len(shares)} processes covered, {false} false verdicts",
        mean.low <= 0.95 <= mean.high and false <= FALSE_VERDICTS,
    )


def _describe(case: tuple[str, str], processes: list[list[Interval]]) -> tuple[object, ...]:
    """The row of a kernel: its comparisons in each process."""
    every = [ratio for ratios in processes for ratio in ratios]
    covered = _limit_mean([_share_covered(ratios) for ratios in processes])
    width = statistics.median(ratio.spread for ratio in every)
    return *case, len(every), _format(covered), _count_false(every), f"{100 * width:.3f} %"


def _compare(seed: int) -> list[list[Interval]]:
    """The ratios of each kernel in a separate process."""
    command = [sys.executable, str(_PROGRAM), str(seed), *("=".join(case) for case in CASES)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    print(f"process {seed + 1} of {PROCESSES}", file=sys.stderr, flush=True)
    return [[Interval(*ends) for ends in ratios] for ratios in json.loads(done.stdout.splitlines()[-1])]


def _share_covered(ratios: list[Interval]) -> float:
    return sum(ratio.low <= 1 <= ratio.high for ratio in ratios) / len(ratios)


def _limit_mean(shares: list[float]) -> Interval:
    """The mean share with its 95 % limits, where each process counts as one value."""
    mean = statistics.fmean(shares)
    reach = t_quantile(len(shares) - 1) * statistics.stdev(shares) / math.sqrt(len(shares))
    return Interval(mean, mean - reach, min(1.0, mean + reach))


def _format(share: Interval) -> str:
    return f"{100 * share.value:.1f} ({100 * share.low:.1f} to {100 * share.high:.1f})"


def _count_false(ratios: list[Interval]) -> int:
    return sum(verdict(ratio) in ("faster", "slower") for ratio in ratios)

"""Whether launches are cold: more operand sets do not change times, and every launch reads its operands from DRAM."""

import itertools
import math
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from claims import Claim, format_table
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.analysis import ncu, toolkit
from gemmbench.bench.operands import scratch
from gemmbench.bench.timing.stats import Interval, Round, time_interval
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy
from gemmbench.report.repeatability import compare_ratios

KERNELS = (
    "naive",
    "naive_rows",
    "tiled",
    "sgemm_1d",
    "blocktile_2d",
    "sgemm_vectorised",
    "sgemm_warptile",
    "sgemm_pipelined",
    "sgemm",
    "cublas",
)
SIZES, FACTORS = "512,1024,2048", (4, 8, 16)
ORDER = (*FACTORS, *reversed(FACTORS))
"""Mirrored, so a slow drift of the clock does not look like an effect of the sets."""
WATCHED = ("blocktile_2d", "sgemm", "cublas")
WATCHED_SIZE = 1024
MOST, LEAST_INSIDE = 0.01, 0.93
_TARGET = Path(__file__).with_name("cold_launch.py")


@dataclass(frozen=True)
class Pair:
    """A kernel's times with operand sets of two total sizes, in units of the L2 cache."""

    plan: Plan
    factors: tuple[int, int]
    times: tuple[Interval, Interval]

    @property
    def difference(self) -> float:
        """How much longer launches with more sets take, as a share."""
        return self.times[1].value / self.times[0].value - 1

    @property
    def is_inside(self) -> bool:
        """The difference is within the joint 95 % interval, which accounts for differences between processes."""
        base, value = self.times
        ratio = compare_ratios(value, base, min(value.value, base.value))
        return ratio.low <= 1 <= ratio.high


def check(folder: Path) -> Claim:
    """Time ten kernels with 4, 8 and 16 times the L2 cache, and count the DRAM reads of three launches."""
    pairs = list(_measure_pairs())
    reads = [(name, *_count_bytes(name)) for name in WATCHED]
    inside = sum(pair.is_inside for pair in pairs) / len(pairs)
    largest = max((abs(pair.difference) for pair in pairs), default=math.inf)
    times = [
        (pair.plan.problem.size, pair.plan.variant.name, "{}x to {}x".format(*pair.factors), *_format(pair))
        for pair in pairs
    ]
    table = format_table(times, ["size", "kernel", "sets", "first (us)", "second (us)", "difference", "joint interval"])
    counted = [(name, f"{read / 1e6:.2f}", f"{least / 1e6:.2f}") for name, read, least in reads]
    bytes_table = format_table(counted, [f"kernel at {WATCHED_SIZE}", "read from DRAM (MB)", "A and B (MB)"])
    return Claim(
        "times at 4, 8 and 16 times the L2 cache, measured in mirrored order after a warm-up: at least 93 % of the "
        "differences lie within the joint intervals, and none is above 1 %; after the rotation a launch of "
        "blocktile_2d, sgemm and cublas at 1024 reads at least the bytes of A and B from DRAM",
        f"{table}\n\n{bytes_table}",
        f"{100 * inside:.0f} % of {len(pairs)} pairs inside, the largest difference {100 * largest:.2f} %",
        inside >= LEAST_INSIDE and largest <= MOST and all(read >= least for _, read, least in reads),
    )


def _measure_pairs() -> Iterator[Pair]:
    built = build_plans(KERNELS, sizes=SIZES)
    samples: dict[tuple[Plan, int], dict[Round, float]] = {}
    with open_worker() as worker:
        for problem in dict.fromkeys(plan.problem for plan in built):
            plans = [plan for plan in built if plan.problem == problem]
            measure_plans(worker, built, plans, Policy(rounds=20))  # a warm-up
            for number, factor in enumerate(ORDER):
                with patch.object(scratch, "CACHE_FACTOR", factor):
                    records = measure_plans(worker, built, plans, Policy(until=0.002), shuffle=number)
                for plan, record in zip(plans, records, strict=True):
                    first = 1 + max((each.block for each in samples.setdefault((plan, factor), {})), default=-1)
                    rounds = {Round(first + each.block, each.number): time for each, time in record.by_round.items()}
                    samples[plan, factor] |= rounds
    times = {key: time_interval(each) for key, each in samples.items()}
    for plan, factors in itertools.product(built, itertools.combinations(FACTORS, 2)):
        yield Pair(plan, factors, (times[plan, factors[0]], times[plan, factors[1]]))


def _format(pair: Pair) -> tuple[str, str, str, str]:
    times = (f"{1e6 * each.value:.2f} +- {1e6 * each.half_width:.2f}" for each in pair.times)
    first, second = times
    return first, second, f"{100 * pair.difference:+.2f} %", "inside" if pair.is_inside else "OUTSIDE"


def _count_bytes(name: str) -> tuple[float, float]:
    """The bytes that one launch reads from DRAM, with the cache as the rotation leaves it, and the bytes of A and B."""
    metrics = {"dram bytes": ncu.QUANTITIES["dram bytes"][0]}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        target = [sys.executable, str(_TARGET), name, str(WATCHED_SIZE)]
        program, *words = ncu.ncu_command(toolkit.find_watcher(ncu.PROGRAM), log, metrics, target)
        ran = toolkit.run_watcher([program, "--cache-control", "none", *words], ncu.LIMIT)
        counters = ncu.read_counters(log.read_text(errors="replace") if log.exists() else "", metrics)
    if not counters:
        raise RuntimeError(f"ncu counted nothing of {name}: {ran.last_words}")
    return sum(each.values["dram bytes"] for each in counters), 2 * 4.0 * WATCHED_SIZE**2

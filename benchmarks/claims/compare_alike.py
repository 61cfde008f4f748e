"""Compares kernels with themselves: `compare_alike.py SEED KERNEL=SIZE ...` prints ratios with intervals as JSON.

Three disjoint pairs of one kernel under different names, all bound separately, make three comparisons.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.timing.stats import speed_ratio
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.sweeps.policy import Policy

PAIRS = 3


def main() -> None:
    """Compare each kernel with itself, one kernel after another in this process."""
    seed, cases = int(sys.argv[1]), [case.split("=") for case in sys.argv[2:]]
    with open_worker() as worker:
        print(json.dumps([compare_alike(worker, kernel, size, seed) for kernel, size in cases]))


def compare_alike(worker: LocalWorker, kernel: str, size: str, seed: int) -> list[tuple[float, float, float]]:
    """Measure a kernel under several names together; the ratio of each pair, with its ends."""
    built = build_plans([kernel], sizes=size, baseline=kernel)
    (plan,) = built
    plans = [plan, *(replace(plan, variant=replace(plan.variant, name=f"again_{n}")) for n in range(1, 2 * PAIRS))]
    built |= dict.fromkeys(plans, built[plan])
    records = measure_plans(worker, built, plans, Policy(seed=seed % 3), kernel, shuffle=seed)
    ratios = [speed_ratio(one.by_round, other.by_round) for one, other in zip(records[::2], records[1::2], strict=True)]
    return [(ratio.value, ratio.low, ratio.high) for ratio in ratios]


if __name__ == "__main__":
    main()

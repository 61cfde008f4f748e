"""Compares a kernel with itself: `compare_alike.py KERNEL SIZE SEED` prints ratios with intervals as JSON.

Three disjoint pairs of one kernel under other names, all bound separately, make three comparisons.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.timing.stats import speed_ratio
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.policy import Policy

PAIRS = 3


def main() -> None:
    """Measure the kernel under several names, again and again."""
    kernel, size, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    built = build_plans([kernel], SweepOverrides(sizes=size, baseline=kernel))
    (plan,) = built
    plans = [plan, *(replace(plan, variant=replace(plan.variant, name=f"again_{n}")) for n in range(1, 2 * PAIRS))]
    built |= dict.fromkeys(plans, built[plan])
    with open_worker() as worker:
        records = measure_plans(worker, built, plans, Policy(seed=seed % 3), kernel, shuffle=seed)
    ratios = [speed_ratio(one.by_round, other.by_round) for one, other in zip(records[::2], records[1::2], strict=True)]
    print(json.dumps([(ratio.value, ratio.low, ratio.high) for ratio in ratios]))


if __name__ == "__main__":
    main()

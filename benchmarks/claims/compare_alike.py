"""Compares a kernel with itself: `compare_alike.py SIZE COUNT FIRST_SEED` prints ratios with intervals as JSON.

Each of COUNT measurements has a seed of its own and three disjoint pairs of one kernel under other names,
all bound separately, so that it makes three comparisons.
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

KERNEL, PAIRS = "blocktile_2d", 3


def main() -> None:
    """Measure the kernel under several names, again and again."""
    size, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    built = build_plans([KERNEL], SweepOverrides(sizes=size, baseline=KERNEL))
    (plan,) = built
    plans = [plan, *(replace(plan, variant=replace(plan.variant, name=f"again_{n}")) for n in range(1, 2 * PAIRS))]
    built |= dict.fromkeys(plans, built[plan])
    ratios = []
    with open_worker() as worker:
        for seed in range(first, first + count):
            records = measure_plans(worker, built, plans, Policy(seed=seed % 3), KERNEL, shuffle=seed)
            pairs = zip(records[::2], records[1::2], strict=True)
            ratios += [speed_ratio(one.by_round, other.by_round) for one, other in pairs]
    print(json.dumps([(ratio.value, ratio.low, ratio.high) for ratio in ratios]))


if __name__ == "__main__":
    main()

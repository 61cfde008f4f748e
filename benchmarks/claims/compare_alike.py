"""Compares a kernel with itself: `compare_alike.py SIZE COUNT FIRST_SEED` prints ratios with intervals as JSON."""

import json
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.timing.stats import speed_ratio
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.policy import Policy

KERNEL = "blocktile_2d"


def main() -> None:
    """Measure the kernel under two names, again and again."""
    size, count, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    built = build_plans([KERNEL], SweepOverrides(sizes=size, baseline=KERNEL))
    (plan,) = built
    again = replace(plan, variant=replace(plan.variant, name="again"))
    built[again] = built[plan]
    ratios = []
    with open_worker() as worker:
        for seed in range(first, first + count):
            policy = Policy(seed=seed % 3)
            one, other = measure_plans(worker, built, [plan, again], policy, KERNEL, shuffle=seed)
            ratio = speed_ratio(one.by_turn, other.by_turn)
            ratios.append((ratio.value, ratio.low, ratio.high))
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()

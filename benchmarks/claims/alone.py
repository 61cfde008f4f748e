"""Whether the time of one product alone equals the time that NVIDIA's measuring library NVBench gives for a cold
launch.
"""

from pathlib import Path
from statistics import median

from claims import Claim, format_table
from claims.nvbench import bind_alone, time_with_nvbench
from claims.setup import build_plans, open_worker

NAMES, SIZES, LAUNCHES = ("cublas", "sgemm", "tiled"), "256,512,1024,4096", 60
WITHIN, LEAST = 0.03, 0.5e-6


def check(folder: Path) -> Claim:
    """Time single launches with both programs, on the same operands."""
    built = build_plans(NAMES, sizes=SIZES)
    with open_worker() as worker, bind_alone(worker, built) as bound:
        ours = {plan: median(one.time_alone() for _ in range(LAUNCHES)) for plan, one in bound.items()}
        theirs = {plan: each["cold"] for plan, each in time_with_nvbench(bound).items()}
    rows, differing = [], 0
    for plan in built:
        difference = ours[plan] - theirs[plan]
        agree = abs(difference) <= max(WITHIN * theirs[plan], LEAST)
        differing += not agree
        figures = f"{1e6 * ours[plan]:.2f}", f"{1e6 * theirs[plan]:.2f}", f"{100 * difference / theirs[plan]:+.2f} %"
        rows.append((plan.problem.size, plan.variant.name, *figures, "agree" if agree else "DIFFER"))
    return Claim(
        "one product alone takes as long as NVBench says for a cold launch, within 3 % or 0.5 us, whichever is more, "
        "for cublas, sgemm and tiled at 256, 512, 1024 and 4096",
        format_table(rows, ["size", "kernel", "alone (us)", "NVBench, cold (us)", "difference", ""]),
        f"{len(rows) - differing} of {len(rows)} agree",
        not differing,
    )

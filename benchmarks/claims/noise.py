"""Verdicts on identical code, and on code that is 2 % slower."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from claims import Claim, format_table
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.build import Built
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy

TRIOS, MEASUREMENTS, SLOWDOWN = 4, 25, 0.02
"""A trio is a kernel, the same kernel again and a slower one; all trios of a measurement are timed together."""
RUNS = TRIOS * MEASUREMENTS
SPINS = (0, 250, 500, 1000, 2000, 4000, 8000)
KERNELS = str(Path(__file__).parent)


def check(folder: Path) -> Claim:
    """Calibrate the slowed kernel, then compare 100 times."""
    with open_worker() as worker:
        spin = _calibrate_spin(worker)
        verdicts, slowdowns = _compare_repeatedly(worker, spin)
    words = ("same", "inconclusive", "faster", "slower")
    rows = [(word, sum(a == word for a, _ in verdicts), sum(b == word for _, b in verdicts)) for word in words]
    false, hits = rows[2][1] + rows[3][1], rows[3][2]
    median = (
        f"SPIN={spin} cycles per block: {100 * float(np.median(slowdowns)):.2f} % slower (median of {RUNS} comparisons)"
    )
    return Claim(
        "100 comparisons of one kernel at 1024 in one process: with itself at most 1 false verdict, with a copy slowed "
        "by 2 % at least 95 right ones",
        format_table(rows, ["verdict", "A against A", "slowed against A"]) + f"\n\n{median}",
        f"{false} false verdicts, {hits} of {RUNS} found",
        false <= 1 and hits >= 95,
    )


def _compare_repeatedly(worker: LocalWorker, spin: int) -> tuple[list[tuple[str, str]], list[float]]:
    """Return the verdicts on identical code, those on slowed code, and each trio's actual slowdown."""
    built, trio = _build_spinning((0, spin))
    built, trios = _copy_trio(built, (trio[0], trio[0], trio[1]))
    verdicts, slowdowns = [], []
    for seed in range(MEASUREMENTS):
        records = measure_plans(worker, built, trios, Policy(seed=seed % 3), shuffle=seed)
        for base, same, slowed in zip(records[::3], records[1::3], records[2::3], strict=True):
            same_ratio, slowed_ratio = _speed_ratio(same, base), _speed_ratio(slowed, base)
            verdicts.append((stats.verdict(same_ratio), stats.verdict(slowed_ratio)))
            slowdowns.append(1 / slowed_ratio.value - 1)
    return verdicts, slowdowns


def _copy_trio(built: dict[Plan, Built], trio: tuple[Plan, ...]) -> tuple[dict[Plan, Built], list[Plan]]:
    """The plans of every trio under separate names, each bound separately."""
    copies = [
        replace(plan, variant=replace(plan.variant, name=f"spinning_{number}_{place}"))
        for number in range(TRIOS)
        for place, plan in enumerate(trio)
    ]
    return dict(zip(copies, [built[plan] for plan in trio] * TRIOS, strict=True)), copies


def _build_spinning(spins: tuple[int, ...]) -> tuple[dict[Plan, Built], list[Plan]]:
    params = ("SPIN=" + ",".join(map(str, spins)),)
    built = build_plans(["spinning"], sizes="1024", params=params, baseline="spinning", kernels=KERNELS)
    by_spin = {dict(plan.config.values)["SPIN"]: plan for plan in built}
    return built, [by_spin[spin] for spin in spins]


def _calibrate_spin(worker: LocalWorker) -> int:
    """Find the cycles that make the kernel 2 % slower: interpolate measured ratios, then repeat with nearby values."""
    spins: tuple[int, ...] = SPINS
    for _ in range(2):
        built, plans = _build_spinning(spins)
        records = measure_plans(worker, built, plans, Policy(until=0.0))
        slowdowns = [1 / _speed_ratio(record, records[0]).value - 1 for record in records]
        near = round(float(np.interp(SLOWDOWN, slowdowns, spins)))
        spins = tuple(sorted({0, near * 3 // 4, near * 7 // 8, near, near * 9 // 8, near * 5 // 4}))
    return near


def _speed_ratio(record: Record, base: Record) -> stats.Interval:
    return stats.speed_ratio(record.by_round, base.by_round)

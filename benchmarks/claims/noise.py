"""Verdicts on identical code, and on code that is 2 % slower."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from claims import Claim, table
from claims.planned import batch, open_worker, planned
from gemmbench.bench.record import Record
from gemmbench.bench.timing import stats
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.options import Options
from gemmbench.planning.sweeps.policy import Measuring

RUNS, SLOWER = 100, 0.02
SPINS = (0, 250, 500, 1000, 2000, 4000, 8000)
KERNELS = str(Path(__file__).parent)


def check(folder: Path) -> Claim:
    """Calibrate the slow kernel, then compare 100 times."""
    with open_worker() as worker:
        spin = _calibrated(worker)
        built, plans = _plans((0, spin))
        again = replace(plans[0], variant=replace(plans[0].variant, name="spinning_again"))
        built[again] = built[plans[0]]
        said: list[tuple[str, str]] = []
        slow: list[float] = []
        for seed in range(RUNS):
            asked = batch(built, [*plans, again], Measuring(seed=seed), again.variant.name)
            same, slower, a = worker.experiment(asked)
            found = [_ratio(record, a) for record in (same, slower)]
            said.append((stats.verdict(found[0]), stats.verdict(found[1])))
            slow.append(1 / found[1].value - 1)
    verdicts = ("same", "inconclusive", "faster", "slower")
    rows = [(word, sum(a == word for a, _ in said), sum(b == word for _, b in said)) for word in verdicts]
    false, hits = rows[2][1] + rows[3][1], rows[3][2]
    share = f"SPIN={spin} cycles a block: {100 * float(np.median(slow)):.2f} % slower, median of {RUNS} runs"
    return Claim(
        "A against A: at most 1 false verdict in 100 runs; a kernel slowed by 2 %: found in at least 95 of 100",
        table(rows, ["verdict", "A against A", "slowed against A"]) + f"\n\n{share}",
        f"{false} false verdicts, {hits} of {RUNS} found",
        false <= 1 and hits >= 95,
    )


def _plans(spins: tuple[int, ...]) -> tuple[dict[Plan, object], list[Plan]]:
    params = ("SPIN=" + ",".join(map(str, spins)),)
    built = planned(["spinning"], Options(sizes="1024", params=params, baseline="spinning"), KERNELS)
    by_spin = {dict(plan.config.values)["SPIN"]: plan for plan in built}
    return built, [by_spin[spin] for spin in spins]


def _calibrated(worker: LocalWorker) -> int:
    """Cycles that make the kernel 2 % slower, from measured ratios, by interpolation, then once more nearby."""
    spins = SPINS
    for _ in range(2):
        built, plans = _plans(spins)
        records = worker.experiment(batch(built, plans, Measuring(until=0.0)))
        slower = [1 / _ratio(record, records[0]).value - 1 for record in records]
        near = round(float(np.interp(SLOWER, slower, spins)))
        spins = tuple(sorted({0, near * 3 // 4, near * 7 // 8, near, near * 9 // 8, near * 5 // 4}))
    return near


def _ratio(record: Record, base: Record) -> stats.Interval:
    return stats.speed_ratio(record.by_round, base.by_round)

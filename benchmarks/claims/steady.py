"""Whether a steady load has pauses, and whether a kernel under load is as fast as itself."""

import itertools
import time
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from claims import Claim, format_table
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.backends.base import Window
from gemmbench.bench.experiments.context import AnnouncedExecutable
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.sweeps.policy import Policy

CASES = (("sgemm_warptile", "f32", 256), ("sgemm_warptile", "f32", 4096), ("mma_sync", "bf16", 4096))
LEAST_SHARE = 0.95
"""The share of a load's wall time that launches take."""
MAX_DIFFERENCE = 0.01
"""Between a kernel and itself under load."""

Loads = list[list[tuple[float, Window]]]
"""The windows of each load, and when each ended by the host's clock."""


def check(folder: Path) -> Claim:
    """Load the GPU with each kernel and with a copy of it under another name."""
    rows, measured = [], []
    with open_worker() as worker:
        for name, precision, size in CASES:
            ratio, share = _measure(worker, name, precision, size)
            measured.append((abs(ratio - 1), share))
            rows.append((name, precision, str(size), f"{100 * (ratio - 1):+.2f}", f"{100 * share:.1f}"))
    difference, share = max(each for each, _ in measured), min(each for _, each in measured)
    return Claim(
        "under a steady load of sgemm_warptile at 256 and 4096 and of mma_sync at 4096 launches take at least "
        f"{100 * LEAST_SHARE:.0f} % of the wall time, and a kernel is as fast as itself within "
        f"{100 * MAX_DIFFERENCE:.0f} %",
        format_table(rows, ["kernel", "precision", "size", "faster than itself (%)", "busy (%)"]),
        f"at least {100 * share:.1f} % of the time, the largest difference {100 * difference:.2f} %",
        share >= LEAST_SHARE and difference <= MAX_DIFFERENCE,
    )


def _measure(worker: LocalWorker, name: str, precision: str, size: int) -> tuple[float, float]:
    """The speed of a kernel relative to itself, and the share of the wall time that launches take."""
    built = build_plans([name], sizes=str(size), precisions=precision, baseline=name)
    (plan,) = built
    again = replace(plan, variant=replace(plan.variant, name="again"))
    built[again] = built[plan]
    loads: Loads = []
    with patch.object(AnnouncedExecutable, "sustain", _note_windows(loads)):
        record, _ = measure_plans(worker, built, [again, plan], Policy(rounds=10, sustained=4.0), name)
    assert record.sustained is not None, record.reason
    return record.sustained.speed_ratio, min(map(_find_share, loads))


def _note_windows(loads: Loads) -> Any:
    """`AnnouncedExecutable.sustain`, which also appends the windows of each load to `loads`."""
    sustain = AnnouncedExecutable.sustain

    def noted(self: AnnouncedExecutable, *arguments: Any) -> Generator[Window, None, None]:
        windows: list[tuple[float, Window]] = []
        loads.append(windows)
        with closing(sustain(self, *arguments)) as made:
            for window in made:
                windows.append((time.monotonic(), window))
                yield window

    return noted


def _find_share(windows: list[tuple[float, Window]]) -> float:
    """The seconds of all windows but the first, over the time from the end of the first to the end of the last."""
    return sum(window.seconds for _, window in itertools.islice(windows, 1, None)) / (windows[-1][0] - windows[0][0])

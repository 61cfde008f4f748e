"""Kernel Tuner and `gemmbench tune` on the same space: the 105 allowed tiles of `blocktile_2d` at 4096.

    pip install kernel_tuner==1.5.0 cupy-cuda13x
    python benchmarks/against_kernel_tuner.py                a run of Kernel Tuner, ten of gemmbench, and a table

Each run is a separate process that starts without compiled code. Kernel Tuner tries every configuration (`brute_force`)
with its defaults, and compares every result with the product that NumPy computes. It compiles through CuPy, which is
faster, or with `--back-end CUDA` with nvcc through PyCUDA. For Kernel Tuner only the call of `tune_kernel` counts; for
gemmbench the whole process does, including its finals. At the end all winners are measured in one batch of `gemmbench
run`, as compiled by nvcc. With --out FOLDER the table is also written there as CSV.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from claims import run_sweep
from claims.tune import BASELINE, VARIANT, find_timed, find_verified, list_finalists, run_search
from tables import show_table

from gemmbench.backends.sources import split_text
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import ALL
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target, format_configuration
from gemmbench.planning.problems import Problem

SIZE, TOLERANCE = 4096, 1e-2
THREADS = "block_size_x"
"""Kernel Tuner looks here for the threads of a block, which follow from the tiles."""
_GPU = Target("cuda", sm=90, sms=132, smem=227 << 10, l2=50 << 20, memory=1 << 36)
"""The manifest keeps tiles in static shared memory, so the same ones are allowed on every GPU."""
HEAD = ("run", "tool", "seconds", "configurations/s", "verified", "winner", "time (ms)", "slower than the best")


@dataclass(frozen=True)
class Search:
    """A run of a tool: its seconds, the configurations that it timed and verified, and the one that won."""

    tool: str
    seconds: float
    configurations: int
    verified: int
    winner: Mapping[str, int]


def list_plans() -> list[Plan]:
    """The allowed configurations, planned at the problem."""
    variant = Catalog([data_folder("cuda")]).get(VARIANT)
    chosen = [(variant, list_configurations(variant, {ALL: ()}))]
    plans = make_plans([Problem(SIZE, SIZE, SIZE)], chosen, "cuda", {"cuda": _GPU}, lambda *_: "")
    return [plan for plan in plans if isinstance(plan, Plan)]


def describe_for_kernel_tuner(plans: Sequence[Plan]) -> dict[str, Any]:
    """The kernel and its space, as arguments of `tune_kernel`."""
    first = plans[0]
    names = [name for name, _ in first.config.values]
    threads = {plan.config.values: plan.launches[-1][1].block[0] for plan in plans}
    text = split_text(first)
    defines = [line for line in text.defines if line.split()[1] not in names]
    axes = {name: list(values) for name, values in first.variant.params}

    def is_allowed(values: Mapping[str, int]) -> bool:
        return threads.get(tuple((name, values[name]) for name in names)) == values[THREADS]

    return {
        "kernel_name": "gemm",
        "kernel_source": "\n".join([*text.includes, *defines, first.variant.text]),
        "problem_size": (SIZE, SIZE),
        "grid_div_x": ["BN"],
        "grid_div_y": ["BM"],
        "tune_params": {**axes, THREADS: sorted(set(threads.values()))},
        "restrictions": is_allowed,
    }


def complete_uuids() -> None:
    """Let CuPy return all 16 bytes of a UUID: it stops at a zero byte, and Kernel Tuner fails on a shorter one."""
    runtime = importlib.import_module("cupy").cuda.runtime
    find_properties = runtime.getDeviceProperties

    def find_complete_properties(device: int) -> dict[str, Any]:
        properties = find_properties(device)
        return {**properties, "uuid": properties["uuid"].ljust(16, b"\0")}

    runtime.getDeviceProperties = find_complete_properties


def run_kernel_tuner(back_end: str) -> Search:
    """Search in this process."""
    tune_kernel = importlib.import_module("kernel_tuner").tune_kernel
    if back_end == "CUPY":
        complete_uuids()
    rng = np.random.default_rng(0)
    a, b = (rng.uniform(-1, 1, (SIZE, SIZE)).astype(np.float32) for _ in range(2))
    c, bias = np.zeros((SIZE, SIZE), np.float32), np.zeros(SIZE, np.float32)
    side, one, zero = np.int32(SIZE), np.float32(1), np.float32(0)
    arguments = [side, side, side, one, a, b, zero, c, bias]
    answer = [None, None, None, None, None, None, None, a @ b, None]
    described, started = describe_for_kernel_tuner(list_plans()), time.monotonic()
    results, found = tune_kernel(
        **described,
        arguments=arguments,
        answer=answer,
        atol=TOLERANCE,
        lang=back_end,
        strategy="brute_force",
        quiet=True,
    )
    seconds = time.monotonic() - started
    timed = sum(isinstance(each["time"], float) for each in results)
    winner = {name: int(value) for name, value in found["best_config"].items() if name in described["tune_params"]}
    del winner[THREADS]
    return Search(f"Kernel Tuner ({back_end})", seconds, timed, timed, winner)  # a wrong result ends its run


def run_kernel_tuner_in_process(path: Path, back_end: str) -> Search:
    """Search in a separate process, which writes its findings to `path`."""
    command = [sys.executable, __file__, "--search", str(path), "--back-end", back_end]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return Search(**json.loads(path.read_text()))


def run_tune(place: Path) -> Search:
    """Search with `gemmbench tune`."""
    started = time.monotonic()
    records = run_search(place)
    seconds = time.monotonic() - started
    timed, verified = find_timed(records), find_verified(records)
    winner = next(iter(list_finalists(records).values())).config
    return Search("gemmbench tune", seconds, len(timed), len(timed & verified), winner)


def measure_winners(searches: Sequence[Search], folder: Path) -> dict[str, float]:
    """The seconds of every winner, all measured in the same rounds."""
    winners = {format_configuration(search.winner): dict(search.winner) for search in searches}
    config = {"sizes": [SIZE], "variants": [*({VARIANT: each} for each in winners.values()), BASELINE]}
    path = folder / "winners.yaml"
    path.write_text(yaml.safe_dump({**config, "baseline": BASELINE}))
    rows = run_sweep(folder, "-c", str(path), "--rounds", "20")
    mine = [row for row in rows if (row["variant"], row["phase"], row["status"]) == (VARIANT, "sweep", "ok")]
    return {row["config"]: float(row["time_s"]) for row in mine}


def list_rows(searches: Sequence[Search], seconds: Mapping[str, float]) -> list[tuple[str, ...]]:
    """The table: how long each run took and what it found."""
    best, counts = min(seconds.values()), dict[str, int]()
    rows: list[tuple[str, ...]] = []
    for search in searches:
        number = counts[search.tool] = counts.get(search.tool, 0) + 1
        name = format_configuration(search.winner)
        spent = f"{search.seconds:.1f}", f"{search.configurations / search.seconds:.1f}", str(search.verified)
        rows.append(
            (str(number), search.tool, *spent, name, f"{1e3 * seconds[name]:.4f}", f"{seconds[name] / best - 1:.2%}")
        )
    return rows


def main() -> int:
    """Run both tools in turn, or search with Kernel Tuner once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10, help="runs of gemmbench [default: 10]")
    parser.add_argument("--kernel-tuner-runs", type=int, default=1, help="runs of Kernel Tuner [default: 1]")
    parser.add_argument("--back-end", default="CUPY", choices=["CUPY", "CUDA"], help="of Kernel Tuner [default: CUPY]")
    parser.add_argument("--out", type=Path, help="folder of the CSV")
    parser.add_argument("--search", type=Path, help="search with Kernel Tuner in this process, into a JSON file")
    arguments = parser.parse_args()
    if arguments.search:
        arguments.search.write_text(json.dumps(vars(run_kernel_tuner(arguments.back_end))))
        return 0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        searches = [
            *(run_tune(folder / str(number)) for number in range(arguments.runs)),
            *(
                run_kernel_tuner_in_process(folder / f"{number}.json", arguments.back_end)
                for number in range(arguments.kernel_tuner_runs)
            ),
        ]
        rows = list_rows(searches, measure_winners(searches, folder))
    show_table(HEAD, rows, arguments.out and arguments.out / "kernel_tuner.csv", [VARIANT])
    return 0


if __name__ == "__main__":
    sys.exit(main())

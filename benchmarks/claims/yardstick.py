"""The same kernels on the same operands by NVIDIA's measuring library, NVBench (PyPI: cuda-bench)."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from claims import Claim, table
from claims.planned import batch, open_worker, planned
from gemmbench.backends.base import Step
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.fill import filled
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.options import Options
from gemmbench.planning.sweeps.policy import Measuring

NAMES = ("tiled", "blocktile_2d", "cublas")
SIZES = "512,1024,2048,4096"
COLD_FROM, COLD_WITHIN = 300e-6, 0.01
HOT_FROM, HOT_WITHIN = 50e-6, 0.03
WHY = """\
cold: NVBench flushes L2 and times launches one by one, each with a start and an end of its own on an idle GPU;
gemmbench times a stream of launches whose operands rotate. Where a kernel runs 300 us or more the two must agree.
Below, an isolated launch carries its ramp-up and drain alone (1 to 3 us, a large share of a short kernel), while in
a stream the next launch begins as the last one drains; and a flush leaves L2 full of other data.
hot: both time launches back to back on one set of operands, and must agree from 50 us on. Below, NVBench's batch
also holds the host's time a launch where that is longer than the kernel; gemmbench queues behind a gate."""


class _Stream:
    """Our stream as NVBench takes one."""

    def __init__(self, handle: int):
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def check(folder: Path) -> Claim:
    """Measure by both, compare."""
    built = planned(NAMES, Options(sizes=SIZES))
    with open_worker() as worker:
        theirs = _theirs(worker, built)
        ours = {cache: _ours(worker, built, cache) for cache in ("cold", "hot")}
    rows, apart = [], []
    limits = {"cold": (COLD_FROM, COLD_WITHIN), "hot": (HOT_FROM, HOT_WITHIN)}
    for plan in built:
        for cache, (least, within) in limits.items():
            mine, other = ours[cache][plan], theirs[plan][cache]
            difference, judged = mine / other - 1, other >= least
            apart += [(plan, cache)] if judged and abs(difference) > within else []
            verdict = ("agree" if abs(difference) <= within else "APART") if judged else "too short to judge"
            figures = f"{1e6 * mine:.2f}", f"{1e6 * other:.2f}", f"{100 * difference:+.2f} %"
            rows.append((plan.problem.size, plan.variant.name, cache, *figures, verdict))
    head = ["size", "kernel", "cache", "gemmbench (us)", "NVBench (us)", "difference", ""]
    judged = sum(row[-1] != "too short to judge" for row in rows)
    return Claim(
        "times agree with NVBench: cold within 1 % from 300 us, hot within 3 % from 50 us",
        f"{table(rows, head)}\n\n{WHY}",
        f"{judged - len(apart)} of {judged} agree",
        not apart,
    )


def _ours(worker: LocalWorker, built: dict[Plan, Any], cache: str) -> dict[Plan, float]:
    found = {}
    for size in dict.fromkeys(plan.problem for plan in built):
        plans = [plan for plan in built if plan.problem == size]
        for plan, record in zip(plans, worker.experiment(batch(built, plans, Measuring(cache=cache))), strict=True):
            found[plan] = float(np.median(record.samples))
    return found


def _theirs(worker: LocalWorker, built: dict[Plan, Any]) -> dict[Plan, dict[str, float]]:
    import cuda.bench as nvbench

    backend: Any = worker.backends["cuda"]
    arenas = []
    for number, plan in enumerate(built):
        arena = Arena(backend, plan.problem, 1)
        data = filled(plan.problem, "uniform", 0)
        arena.write_inputs(data, 1)
        arena.reset_c(data, plan.problem.beta, 1)
        bound = backend.bind(plan.variant.name, [Step(backend.load(built[plan], plan), plan, arena.sets)], arena.memory)
        bound.time(1)
        arenas.append(arena)

        def measured(state: Any, bound: Any = bound) -> None:
            state.set_stream(_Stream(bound.stream.handle))
            state.exec(lambda launch: bound.queue(), batched=True)

        measured.__name__ = f"plan{number}"
        nvbench.register(measured)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nvbench.json"
        nvbench.run_all_benchmarks(["trust", "--devices", "0", "--json", str(path), "--quiet"])
        said = json.loads(path.read_text())["benchmarks"]
    for arena in arenas:
        arena.free()
    found = {entry["name"]: _means(entry["states"][0]) for entry in said}
    return {plan: found[f"plan{number}"] for number, plan in enumerate(built)}


def _means(state: dict[str, Any]) -> dict[str, float]:
    values = {}
    for summary in state["summaries"]:
        for datum in summary.get("data", []):
            if datum["name"] == "value":
                values[summary["tag"]] = float(datum["value"])
    return {"cold": values["nv/cold/time/gpu/mean"], "hot": values["nv/batch/time/gpu/mean"]}

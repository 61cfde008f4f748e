"""The same kernels on the same operands, timed by NVIDIA's measuring library NVBench (PyPI: cuda-bench)."""

import json
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from claims import Claim, format_table
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.build import Built
from gemmbench.bench.experiments.gemm import make_inputs
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.fill import make_operands
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.overrides import SweepOverrides
from gemmbench.planning.sweeps.policy import Policy

NAMES = ("tiled", "blocktile_2d", "cublas")
SIZES = "512,1024,2048,4096"
Cache = Literal["cold", "hot"]
LIMITS: dict[Cache, tuple[float, float]] = {"cold": (300e-6, 0.01), "hot": (50e-6, 0.03)}  # from seconds, within
TOO_SHORT = "too short to judge"
WHY = """\
cold: NVBench flushes L2 and times single launches, each with its own start and end on an idle GPU. gemmbench
times a stream of launches with rotating operands. For kernels of at least 300 us the two must agree. Below
that, an isolated launch includes its whole ramp-up and drain (1 to 3 us, a large share of a short kernel),
while in a stream the next launch begins as the last one drains; and a flush leaves L2 full of other data.
hot: both time consecutive launches on one operand set and must agree from 50 us on. Below that, NVBench's
batch includes the host's time per launch where this is longer than the kernel. gemmbench queues the launches
behind a gate."""


class _Stream:
    """A CUDA stream of gemmbench in the form that NVBench accepts."""

    def __init__(self, handle: int):
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def check(folder: Path) -> Claim:
    """Time the kernels with both programs and compare."""
    built = build_plans(NAMES, SweepOverrides(sizes=SIZES))
    with open_worker() as worker:
        theirs = _time_with_nvbench(worker, built)
        ours = {cache: _time_with_gemmbench(worker, built, cache) for cache in LIMITS}
    rows = [_compare(plan, cache, ours[cache][plan], theirs[plan][cache]) for plan in built for cache in LIMITS]
    judged = [row for row in rows if row[-1] != TOO_SHORT]
    agreeing = [row for row in judged if row[-1] == "agree"]
    head = ["size", "kernel", "cache", "gemmbench (us)", "NVBench (us)", "difference", ""]
    return Claim(
        "times agree with NVBench: cold within 1 % from 300 us, hot within 3 % from 50 us",
        f"{format_table(rows, head)}\n\n{WHY}",
        f"{len(agreeing)} of {len(judged)} agree",
        len(agreeing) == len(judged),
    )


def _compare(plan: Plan, cache: Cache, ours: float, theirs: float) -> tuple[str, ...]:
    least, within = LIMITS[cache]
    difference = ours / theirs - 1
    verdict = TOO_SHORT if theirs < least else "agree" if abs(difference) <= within else "DIFFER"
    figures = f"{1e6 * ours:.2f}", f"{1e6 * theirs:.2f}", f"{100 * difference:+.2f} %"
    return plan.problem.size, plan.variant.name, cache, *figures, verdict


def _time_with_gemmbench(worker: LocalWorker, built: dict[Plan, Built], cache: Cache) -> dict[Plan, float]:
    seconds: dict[Plan, float] = {}
    for problem in dict.fromkeys(plan.problem for plan in built):
        plans = [plan for plan in built if plan.problem == problem]
        records = measure_plans(worker, built, plans, Policy(cache=cache))
        seconds |= {plan: float(np.median(record.samples)) for plan, record in zip(plans, records, strict=True)}
    return seconds


def _time_with_nvbench(worker: LocalWorker, built: dict[Plan, Built]) -> dict[Plan, dict[Cache, float]]:
    import cuda.bench as nvbench  # an optional package: only this claim needs it

    backend: Any = worker.backends["cuda"]
    arenas = []
    for number, plan in enumerate(built):
        arena = Arena(backend, GemmLayout(plan.problem), 1)
        inputs = make_inputs(make_operands(plan.problem, "uniform", 0), plan.problem.beta)
        arena.write(inputs, 1)
        arena.reset(inputs, 1)
        steps = arena.make_steps([plan], [backend.load(built[plan], plan)], 1)
        bound = backend.bind(plan.variant.name, steps, arena.memory)
        bound.time(1)
        arenas.append(arena)

        def launch(state: Any, bound: Any = bound) -> None:
            state.set_stream(_Stream(bound.stream.handle))
            state.exec(lambda launch: bound.queue(), batched=True)

        launch.__name__ = f"plan{number}"
        nvbench.register(launch)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nvbench.json"
        nvbench.run_all_benchmarks(["trust", "--devices", "0", "--json", str(path), "--quiet"])
        report = json.loads(path.read_text())["benchmarks"]
    for arena in arenas:
        arena.free()
    means = {entry["name"]: _read_means(entry["states"][0]) for entry in report}
    return {plan: means[f"plan{number}"] for number, plan in enumerate(built)}


def _read_means(state: dict[str, Any]) -> dict[Cache, float]:
    values = {}
    for summary in state["summaries"]:
        for datum in summary.get("data", []):
            if datum["name"] == "value":
                values[summary["tag"]] = float(datum["value"])
    return {"cold": values["nv/cold/time/gpu/mean"], "hot": values["nv/batch/time/gpu/mean"]}

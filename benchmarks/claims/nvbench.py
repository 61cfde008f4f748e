"""The same kernels on the same operands, timed by NVIDIA's measuring library NVBench (PyPI: cuda-bench)."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from claims import Claim, format_table
from claims.setup import build_plans, measure_plans, open_worker
from gemmbench.bench.build import Built
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.operands.operand_values import make_inputs, make_operands
from gemmbench.bench.operands.scratch import Scratch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.plans.plan import Plan
from gemmbench.planning.sweeps.policy import Policy

NAMES = ("naive", "tiled", "blocktile_2d", "sgemm_1d", "cublas")
SIZES = "512,1024,1536,2048,4096"
Cache = Literal["cold", "hot"]
CACHES: tuple[Cache, ...] = ("cold", "hot")
WITHIN: dict[Cache, float] = {"cold": 0.015, "hot": 0.03}
LEAST_HOT = 100e-6
RAMP = 3e-6
"""Extra seconds that an isolated launch may take for its ramp-up and drain."""
TELLING = 0.05
"""Cold times are judged where those with a warm cache differ by more than this."""
SAYS_NOTHING, TOO_SHORT = "hot and cold agree", "too short to judge"
WHY = """\
cold: NVBench flushes L2 and times single launches, each with its own start and end on an idle GPU. gemmbench
times a stream of launches with rotating operands. An isolated launch includes its whole ramp-up and drain (up
to 3 us), while in a stream the next launch begins as the last one drains. A row is judged where a hot cache
would show: hot and cold differ by more than 5 %, and by more than twice what the two may differ. There the
times must agree within the sum of 1.5 % and 3 us, and the hot time, put in place of the cold one, must not.
hot: both time consecutive launches on one operand set and must agree from 100 us on. Below that, NVBench's
batch may include the host's time per launch, since they come from Python. gemmbench queues the launches behind
a gate."""


class _Stream:
    """A CUDA stream of gemmbench in the form that NVBench accepts."""

    def __init__(self, handle: int):
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def check(folder: Path) -> Claim:
    """Time the kernels with both programs and compare."""
    built = build_plans(NAMES, sizes=SIZES)
    with open_worker() as worker:
        with bind_alone(worker, built) as bound:
            theirs = time_with_nvbench(bound)
        ours = {cache: _time_with_gemmbench(worker, built, cache) for cache in CACHES}
    times = {plan: {cache: ours[cache][plan] for cache in CACHES} for plan in built}
    rows = [_compare(plan, cache, times[plan], theirs[plan][cache]) for plan in built for cache in CACHES]
    verdicts = {cache: [row[-1] for row in rows if row[2] == cache] for cache in CACHES}
    judged = {cache: [word for word in verdicts[cache] if word in ("agree", "DIFFER")] for cache in CACHES}
    agreeing = {cache: judged[cache].count("agree") for cache in CACHES}
    fooled = sum(_is_agreement("cold", times[plan]["hot"], theirs[plan]["cold"]) for plan in _list_telling(times))
    head = ["size", "kernel", "cache", "gemmbench (us)", "NVBench (us)", "difference", ""]
    counts = ", ".join(f"{agreeing[cache]} of {len(judged[cache])} {cache} rows agree" for cache in CACHES)
    return Claim(
        "times agree with NVBench: cold within the sum of 1.5 % and 3 us, judged where a hot cache would show; hot "
        "within 3 % from 100 us",
        f"{format_table(rows, head)}\n\n{WHY}",
        f"{counts}; hot times in place of cold ones pass in {fooled} of {len(judged['cold'])}",
        all(judged[cache] and agreeing[cache] == len(judged[cache]) for cache in CACHES) and not fooled,
    )


def _list_telling(times: dict[Plan, dict[Cache, float]]) -> list[Plan]:
    return [plan for plan, ours in times.items() if _is_telling(ours)]


def _is_telling(ours: dict[Cache, float]) -> bool:
    """Whether the cold time would show a cache that is hot by mistake."""
    gained = ours["cold"] - ours["hot"]
    return gained > TELLING * ours["cold"] and gained > 2 * _allowance("cold", ours["cold"])


def _allowance(cache: Cache, theirs: float) -> float:
    """The seconds by which the two programs may differ."""
    return WITHIN[cache] * theirs + (RAMP if cache == "cold" else 0.0)


def _is_agreement(cache: Cache, ours: float, theirs: float) -> bool:
    return abs(ours - theirs) <= _allowance(cache, theirs)


def _compare(plan: Plan, cache: Cache, ours: dict[Cache, float], theirs: float) -> tuple[str, ...]:
    time = ours[cache]
    verdict = "agree" if _is_agreement(cache, time, theirs) else "DIFFER"
    if cache == "cold" and not _is_telling(ours):
        verdict = SAYS_NOTHING
    elif cache == "hot" and theirs < LEAST_HOT:
        verdict = TOO_SHORT
    figures = f"{1e6 * time:.2f}", f"{1e6 * theirs:.2f}", f"{100 * (time / theirs - 1):+.2f} %"
    return plan.problem.size, plan.variant.name, cache, *figures, verdict


def _time_with_gemmbench(worker: LocalWorker, built: dict[Plan, Built], cache: Cache) -> dict[Plan, float]:
    seconds: dict[Plan, float] = {}
    for problem in dict.fromkeys(plan.problem for plan in built):
        plans = [plan for plan in built if plan.problem == problem]
        records = measure_plans(worker, built, plans, Policy(cache=cache))
        seconds |= {plan: float(np.median(record.samples)) for plan, record in zip(plans, records, strict=True)}
    return seconds


@contextmanager
def bind_alone(worker: LocalWorker, built: dict[Plan, Built]) -> Iterator[dict[Plan, Any]]:
    """Each plan, bound to its own operand set and launched once."""
    backend: Any = worker.backends["cuda"]
    arenas, bound = [], {}
    for plan in built:
        arena = Arena(backend, GemmLayout(plan.problem), 1)
        inputs = make_inputs(make_operands(plan.problem, "uniform", 0), plan.problem.beta)
        arena.write(inputs, 1)
        arena.reset(inputs, 1)
        scratch = Scratch(backend, [plan])
        steps = arena.make_steps([plan], [backend.load(built[plan], plan)], scratch, rotates=False)
        bound[plan] = backend.bind(plan.variant.name, steps, arena.memory)
        bound[plan].time(1)
        arenas.append(arena)
    yield bound
    for arena in arenas:
        arena.free()


def time_with_nvbench(bound: dict[Plan, Any]) -> dict[Plan, dict[Cache, float]]:
    """Seconds of a launch, with a cold and with a warm cache."""
    import cuda.bench as nvbench  # an optional package: only these claims need it

    names = {plan: f"plan{number}" for number, plan in enumerate(bound)}
    for plan, one in bound.items():

        def launch(state: Any, one: Any = one) -> None:
            state.set_stream(_Stream(one.stream.handle))
            state.exec(lambda launch: one.queue(), batched=True)

        launch.__name__ = names[plan]
        nvbench.register(launch)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nvbench.json"
        nvbench.run_all_benchmarks(["trust", "--devices", "0", "--json", str(path), "--quiet"])
        report = json.loads(path.read_text())["benchmarks"]
    means = {entry["name"]: _read_means(entry["states"][0]) for entry in report}
    return {plan: means[name] for plan, name in names.items()}


def _read_means(state: dict[str, Any]) -> dict[Cache, float]:
    values = {}
    for summary in state["summaries"]:
        for datum in summary.get("data", []):
            if datum["name"] == "value":
                values[summary["tag"]] = float(datum["value"])
    return {"cold": values["nv/cold/time/gpu/mean"], "hot": values["nv/batch/time/gpu/mean"]}

"""Launches a variant in rotation through cold operand sets, then once for a profiler: `cold_launch.py VARIANT SIZE`."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
from claims.setup import build_plans, open_worker
from gemmbench.bench.experiments.workload import gemm_workload
from gemmbench.bench.operands.arena import Arena
from gemmbench.bench.operands.scratch import Scratch, find_room
from gemmbench.planning.sweeps.policy import Policy

TURNS = 2


def main() -> None:
    """Launch on every set in turn, as a window does, and once more in the range that a profiler records."""
    name, size = sys.argv[1:]
    ((plan, code),) = build_plans([name], sizes=size, baseline=name).items()
    workload = gemm_workload(plan.problem)
    with open_worker() as worker, ExitStack() as held:
        backend: Any = worker.backends["cuda"]
        target = backend.device.target
        sets, _ = workload.count_cold_sets(target.l2, find_room(target))
        arena, scratch = Arena(backend, workload.layout, sets), Scratch(backend, [plan])
        held.callback(arena.free)
        held.callback(scratch.free)
        inputs = workload.find_case(Policy.data, Policy.seed).inputs
        arena.write(inputs, sets)
        arena.reset(inputs, sets)
        steps = arena.make_steps([plan], [backend.load(code, plan)], scratch, rotates=True)
        bound = backend.bind(name, steps, arena.memory, rotation=arena.rotation)
        for _ in range(TURNS * sets):
            bound.time(1)
        bound.profile()


if __name__ == "__main__":
    main()

"""Times of all candidates of a `pick` at drawn shapes, and of the best library, from a few windows each.

    python benchmarks/survey.py sgemm sgemm_pick_stream stream.jsonl --seed 7 --seconds 200
    python benchmarks/fit_costs.py sgemm stream.jsonl

The candidates are the variants of a config. The shapes are those of draw_shapes.py for which the same rows of the
`pick` are tried as for the shapes of the config. Operands are cold, and code is compiled on all cores. A configuration
gets three windows, and six more if it is within 12 % of the fastest, which makes a hundred configurations in a second.
Results are not verified; `gemmbench tune` and `run` do that. Each shape is a line of JSON, written as soon as it is
measured.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import numpy as np
from draw_shapes import Shape, draw_shapes
from fit_costs import find_rivals

from gemmbench.backends import registry
from gemmbench.backends.base import ALIGN, Artifact, OperandSet, Place, Rotation, Step
from gemmbench.backends.cuda.backend import CudaBackend
from gemmbench.backends.cuda.library_variants import CUBLAS_DEFAULT, CUBLAS_PEDANTIC, CUBLASLT
from gemmbench.backends.cuda.nvcc import NvccCompiler
from gemmbench.backends.cuda.window import WindowTimer
from gemmbench.bench.build import Built, open_pool
from gemmbench.bench.operands.scratch import count_cold_sets
from gemmbench.errors import GemmbenchError, NotOffered
from gemmbench.planning.files import data_folder
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.manifests.variant import ALL, Variant
from gemmbench.planning.plans.configurations import Configurations, list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.plans.plan import Plan, Target
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.run_request import RunRequest
from gemmbench.planning.sweeps.sweep import read_sweep
from gemmbench.report.text import count_noun

LIBRARIES = (CUBLAS_DEFAULT, CUBLAS_PEDANTIC, CUBLASLT)
_ARENA, _WORKSPACE = 4 << 30, 1 << 30
_PAD = 4096
"""Bytes between two operands."""
_WINDOW, _SHORT = 200e-6, 30e-6  # seconds of a window; of a launch that is recorded in a graph
_CLOSE = 1.12
"""Configurations that take at most this many times the shortest time get more windows."""
_MORE = 6
_AHEAD = 8
"""The number of problems whose code is compiled before they are measured."""
_BANDWIDTH, _SPEED = 3e12, 45e12  # bytes/s and FLOPS, to guess the time of a launch


@dataclass(frozen=True, eq=False)
class Timed:
    """A bound plan, and the launches of its windows."""

    plan: Plan
    timer: WindowTimer
    launches: int


class Bench:
    """An open GPU with operands for any problem."""

    def __init__(self, backend: CudaBackend):
        self._backend, self._compiler = backend, NvccCompiler()
        self._operands, self._workspace = backend.allocate(_ARENA), backend.allocate(_WORKSPACE)
        numbers = np.random.default_rng(0).uniform(-1, 1, 1 << 26).astype(np.float32)
        for offset in range(0, _ARENA, numbers.nbytes):
            self._operands.write(offset, numbers)

    def lay_out(self, problem: Problem) -> tuple[OperandSet, ...]:
        """Operand sets that keep every launch cold."""
        sizes = [problem.operand_bytes(name) for name in "ABC"]
        starts = [0]
        for nbytes in sizes:
            starts.append(starts[-1] + -(-(nbytes + _PAD) // ALIGN) * ALIGN)
        count, _ = count_cold_sets(sum(sizes), starts[-1], self._backend.device.target.l2, _ARENA)
        return tuple(
            {name: index * starts[-1] + start for name, start in zip("ABC", starts[:3], strict=True)}
            for index in range(count)
        )

    def bind(self, plan: Plan, sets: tuple[OperandSet, ...], rotation: Rotation) -> Timed:
        """Make a plan ready to launch. Raises GemmbenchError."""
        loaded = self._backend.load(self._compiler.compile(plan), plan)
        own = plan.workspace and not plan.variant.is_library
        step = Step(loaded, plan, sets, Place(self._workspace, 0) if own else None)
        touched = sum(plan.problem.operand_bytes(name) for name in "ABC")
        guess = max(2e-6, touched / _BANDWIDTH, plan.problem.flops / _SPEED)
        turns = math.ceil(_WINDOW / (guess * len(sets))) if guess < _SHORT else 0
        timer = self._backend.bind(plan.variant.name, [step], self._operands, rotation=rotation, turns=turns)
        timed = Timed(plan, timer, 1 if turns else max(2, math.ceil(_WINDOW / guess)))
        self.time(timed)  # the first window has no gate
        return timed

    def time(self, timed: Timed) -> float:
        """Seconds of a launch, from one window."""
        if timed.plan.zeroed:
            self._workspace.fill(0, timed.plan.zeroed, 0)
        window = timed.timer.time(timed.launches)
        return window.seconds / window.launches

    def survey(self, plans: Sequence[Plan]) -> Iterator[tuple[tuple[str, dict[str, int]], float]]:
        """The seconds of a launch of each plan of one problem, by its variant and configuration."""
        sets = self.lay_out(plans[0].problem)
        rotation, times = Rotation(len(sets)), dict[Timed, list[float]]()
        for plan in plans:
            try:
                timed = self.bind(plan, sets, rotation)
            except NotOffered:  # cuBLASLt has fewer algorithms for some problems
                continue
            times[timed] = [self.time(timed) for _ in range(2)]
        shortest = min(min(each) for each in times.values())
        close = [timed for timed, each in times.items() if min(each) < _CLOSE * shortest]
        for _ in range(_MORE):
            random.shuffle(close)
            for timed in close:
                times[timed].append(self.time(timed))
        for timed, each in times.items():
            yield (timed.plan.variant.name, dict(timed.plan.config.values)), statistics.median(each)


def list_problems(variant: Variant, config: str, seed: int, target: Target) -> Iterator[Problem]:
    """Drawn shapes, without end, that fall to the same rows of a `pick` as the shapes of a config."""
    sweep = read_sweep(RunRequest(config=config), on_cpu=False)
    rows = frozenset[int]().union(*(find_rivals(variant, problem, target) for problem in sweep.problems))
    known: set[Shape] = set()
    while True:
        for shape in draw_shapes(200, seed):
            problem = Problem(*shape)
            if shape not in known and rows & find_rivals(variant, problem, target):
                known.add(shape)
                yield problem
        seed += 1


def read_candidates(config: str, catalog: Catalog) -> list[tuple[Variant, Configurations]]:
    """The kernels of a config in their configurations, and the libraries with all algorithms."""
    sweep = read_sweep(RunRequest(config=config), on_cpu=False)
    kernels = [(variant, each.params) for each in sweep.choices if (variant := catalog.get(each.name)).is_kernel]
    chosen = [*kernels, *((library, {ALL: ()}) for library in LIBRARIES)]
    return [(variant, list_configurations(variant, params)) for variant, params in chosen]


def list_plans(problem: Problem, candidates: Sequence[tuple[Variant, Configurations]], target: Target) -> list[Plan]:
    """The plans of the candidates that can compute a problem."""
    plans = make_plans([problem], candidates, "cuda", {"cuda": target}, lambda *_: "")
    return [plan for plan in plans if isinstance(plan, Plan)]


def write_survey(bench: Bench, problems: Iterator[list[Plan]], seconds: float, out: TextIO) -> int:
    """Write a line for each problem until time is up, and return how many were written. Code is compiled a few problems
    ahead.
    """
    end, count = time.monotonic() + seconds, 0
    with open_pool({"cuda": NvccCompiler()}) as pool:
        ahead = deque[tuple[list[Plan], list[Future[Built]]]]()
        while time.monotonic() < end:
            while len(ahead) < _AHEAD:
                plans = next(problems)
                ahead.append((plans, [pool.submit(plan) for plan in plans]))
            plans, built = ahead.popleft()
            right = [plan for plan, job in zip(plans, built, strict=True) if isinstance(job.result(), Artifact)]
            times = [[name, values, found] for (name, values), found in bench.survey(right)]
            problem = right[0].problem
            out.write(json.dumps({"shape": [problem.M, problem.N, problem.K], "times": times}) + "\n")
            out.flush()
            count += 1
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    """Survey, and print how many shapes were measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variant", help="a variant with a `pick`")
    parser.add_argument("config", help="a config with its candidates, such as sgemm_pick_tiny")
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--seed", type=int, default=1, help="seed of the shapes")
    parser.add_argument("--seconds", type=float, default=60, help="how long to measure")
    parsed = parser.parse_args(arguments)
    try:
        catalog = Catalog([data_folder("cuda")], registry.list_library_variants())
        with closing(CudaBackend()) as backend, parsed.out.open("w", encoding="utf-8") as out:
            target = backend.device.target
            out.write(json.dumps({"target": asdict(target)}) + "\n")
            candidates = read_candidates(parsed.config, catalog)
            drawn = list_problems(catalog.get(parsed.variant), parsed.config, parsed.seed, target)
            plans = (list_plans(problem, candidates, target) for problem in drawn)
            count = write_survey(Bench(backend), plans, parsed.seconds, out)
    except GemmbenchError as fault:
        print(f"survey.py: {fault}", file=sys.stderr)
        return fault.exit_code
    print(f"{count_noun(count, 'shape')} in {parsed.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

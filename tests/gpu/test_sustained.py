"""A steady load on a real GPU: windows without a pause, and energy from tick to tick."""

from __future__ import annotations

import itertools
import math
import time
from contextlib import closing
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cuda.libraries.variants import CUBLAS
from gemmbench.bench.experiments.batch import ChainBatch, make_gemm_batch
from gemmbench.bench.experiments.context import AnnouncedExecutable
from gemmbench.bench.record import Record
from gemmbench.bench.worker.local import LocalWorker
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems.problem import Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.filterwarnings("default")  # pycuda and nvmath may warn as they are imported


def make_batch(size: int, precision: str = "f32", **policy: object) -> ChainBatch:
    """cuBLAS against itself."""
    plan = Plan(Problem(size, size, size, precision_name=precision), CUBLAS, Config(), "cuda", "", None)
    again = replace(plan, variant=replace(CUBLAS, name="again"))
    built = Artifact("cublas", "", Build())
    return make_gemm_batch((again, plan), (built, built), Policy(**policy), anchors=("cublas",))


@pytest.fixture
def measure(backend, monkeypatch):
    """Records of a batch; the copy of cuBLAS is loaded as cuBLAS."""
    load = backend.load
    monkeypatch.setattr(backend, "load", lambda artifact, plan, *rest: load(artifact, replace(plan, variant=CUBLAS)))

    def run(batch: ChainBatch) -> list[Record]:
        return LocalWorker({"cuda": backend}).experiment(batch)

    return run


@pytest.mark.parametrize("size", [256, 1024, 4096])
def test_windows_follow_one_another_with_less_than_five_percent_between_them(backend, measure, monkeypatch, size):
    seen = []
    sustain = AnnouncedExecutable.sustain

    def timed(self, launches, watch):
        with closing(sustain(self, launches, watch)) as windows:
            for number, window in enumerate(windows):
                seen.append((number, time.monotonic(), window))
                yield window

    monkeypatch.setattr(AnnouncedExecutable, "sustain", timed)
    measure(make_batch(size, rounds=2, sustained=1.0))
    starts = [index for index, (number, *_) in enumerate(seen) if number == 0] + [len(seen)]
    shares = []
    for first, end in itertools.pairwise(starts):
        wall = seen[end - 1][1] - seen[first][1]
        shares.append(sum(window.seconds for _, _, window in seen[first + 1 : end]) / wall)
    print(f"size {size}: {len(seen)} windows of {seen[-1][2]}; share of the wall time: {min(shares):.3f} and more")
    assert min(shares) > 0.95


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_a_kernel_under_load_is_as_fast_as_itself(backend, measure, precision):
    again, base = measure(make_batch(4096, precision, rounds=10, sustained=4.0))
    for record in (again, base):
        load = record.sustained
        print(record.variant, "burst ms:", 1e3 * sorted(record.samples)[5], "sustained ms:", 1e3 * load.time)
        print(load.own)
        assert load.time >= 0.97 * min(record.samples) and load.clock_hz > 5e8
    assert again.sustained.speed_ratio == pytest.approx(1.0, abs=0.02)
    if not math.isnan(backend.monitor.energy()):
        assert 50 < again.sustained.watts < 1500
        assert again.sustained.watts == pytest.approx(base.sustained.watts, rel=0.1)

"""A steady load on a real GPU: its launches, seconds and energy."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cuda.library_variants import CUBLAS
from gemmbench.bench.experiments.batch import ChainBatch, make_gemm_batch
from gemmbench.bench.record import Record
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem
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


@pytest.mark.parametrize("precision", ["f32", "bf16"])
def test_a_load_counts_launches_seconds_and_energy(backend, measure, precision):
    # A load lasts 0.5 s, and at least half of it counts, so that two ticks of the energy counter fall into it.
    again, base = measure(make_batch(4096, precision, rounds=2, sustained=2.0))
    for load in (*again.sustained.own, *base.sustained.own):
        assert load.launches > 0 and load.seconds > 0 and load.clock_hz > 5e8
        assert load.joules is None or 50 < load.joules / load.joules_seconds < 1500
    assert len(again.sustained.own) == len(again.sustained.baseline) == 2
    assert again.sustained.speed_ratio > 0
    assert math.isnan(backend.monitor.energy()) == math.isnan(again.sustained.watts)

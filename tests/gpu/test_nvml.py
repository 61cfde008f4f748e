"""What NVML says of a real GPU; skipped where it may not be asked. No figure is expected, only its kind."""

from __future__ import annotations

import math
import time

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.cuda.library_variants import CUBLAS
from gemmbench.backends.cuda.system import probe
from gemmbench.bench.experiments.batch import ChainBatch, make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.plans.plan import Config, Plan
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.filterwarnings("default")  # pycuda and nvmath may warn as they are imported


@pytest.fixture
def monitor(backend):
    """The monitor of the open GPU."""
    if (pynvml := probe.open_nvml()) is None:
        pytest.skip("nvidia-ml-py is not installed, or NVML does not start")
    pynvml.nvmlShutdown()
    assert backend.monitor is not None
    return backend.monitor


def cublas_batch(size: int, **policy: object) -> ChainBatch:
    plan = Plan(Problem(size, size, size), CUBLAS, Config(), "cuda", "", None)
    return make_gemm_batch((plan,), (Artifact("cublas", "", Build()),), Policy(**policy))


def test_a_look_is_plausible(monitor):
    reading = monitor.read()
    assert math.isnan(reading.temperature) or 0 < reading.temperature < 120
    assert math.isnan(reading.power) or 1 < reading.power < 2000
    assert math.isnan(reading.memory_clock) or 1e8 < reading.memory_clock < 2e10
    print("look:", reading, "others:", monitor.count_other_processes())


def test_how_the_gpu_is_set_up_is_in_its_description(monitor, backend):
    conditions = backend.device.conditions
    assert conditions is not None
    assert conditions.power_limit is None or conditions.power_limit > 1
    assert conditions.max_sm_clock is None or conditions.max_sm_clock == pytest.approx(backend.device.clock_hz, rel=0.2)
    print("set up:", conditions)


def test_the_energy_counter_grows(monitor):
    before = monitor.energy()
    if math.isnan(before):
        pytest.skip("this GPU counts no energy")
    time.sleep(0.5)
    assert monitor.energy() > before


def test_a_record_says_what_was_seen_while_it_was_measured(monitor, backend):
    (record,) = LocalWorker({"cuda": backend}).experiment(cublas_batch(2048, rounds=10))
    telemetry = record.telemetry
    assert telemetry is not None and telemetry.readings > 0
    assert telemetry.other_processes is None or telemetry.other_processes >= 0
    print("telemetry:", telemetry, "clocks:", min(record.clocks_hz), max(record.clocks_hz))

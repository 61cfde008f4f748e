"""Kernels of other people's shape, run by the CPU device."""

from pathlib import Path

import pytest

from gemmbench.backends.cpu.backend import CpuBackend
from gemmbench.backends.cpu.support import why_unsuitable
from gemmbench.backends.cpu.translation import CpuCompiler
from gemmbench.bench.build import compile_plans
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.manifests.catalog import Catalog
from gemmbench.planning.plans.configurations import list_configurations
from gemmbench.planning.plans.expansion import make_plans
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="session")
def backend():
    opened = CpuBackend(timeout=5)
    yield opened
    opened.close()


@pytest.fixture
def read():
    """A variant of the folder, or of a path."""
    return Catalog([KERNELS]).get


@pytest.fixture
def plan(backend, read):
    """The plans of a variant in all configurations for a problem."""

    def planned(name, problem):
        variant = read(name)
        configs = list_configurations(variant, dict(variant.params))
        targets = {"cpu": backend.device.target}
        return make_plans([problem], [(variant, configs)], "cpu", targets, lambda variant, _: why_unsuitable(variant))

    return planned


@pytest.fixture
def verify(backend, plan):
    """The records of a variant in all configurations, verified on the CPU."""

    def verified(name, layout="nn", precision="f32", alpha=1.0, beta=0.0):
        plans = plan(name, Problem(35, 53, 37, layout, precision, alpha, beta))
        built = compile_plans(plans, {"cpu": CpuCompiler()}, lambda *_: None)
        batch = make_gemm_batch(tuple(plans), tuple(built[each] for each in plans), Policy())
        return LocalWorker({"cpu": backend}, measured=False).experiment(batch)

    return verified

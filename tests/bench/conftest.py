"""One batch on a fake device, and kernels that do what they should not."""

from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

ODD = Problem(33, 17, 19)
CODE = Artifact("code", "", Build(registers=32, shared=1024, spills=4, seconds=0.5))
QUICK = Policy(rounds=2)


@pytest.fixture
def experiment(make_plan):
    """Run one batch of the named variants on a fake device with these faults."""

    def run(*names, faults=None, problem=ODD, built=None, policy=QUICK, backend=None, **options):
        plans = tuple(make_plan(name, problem) for name in names)
        codes = tuple((built or {}).get(name, CODE) for name in names)
        device = backend or FakeBackend(Script(faults=faults or {}))
        return LocalWorker({"fake": device}, **options).experiment(
            replace(make_gemm_batch(plans, codes, policy), index=3)
        )

    return run


@pytest.fixture
def launch(monkeypatch):
    """Make the variant `bad` launch this instead."""

    def use(function):
        bind = FakeBackend.bind

        def bound(self, name, *rest, **options):
            executable = bind(self, name, *rest, **options)
            if name == "bad":
                (step,) = executable.steps
                step.launch = lambda at: function(step, at)
            return executable

        monkeypatch.setattr(FakeBackend, "bind", bound)

    return use

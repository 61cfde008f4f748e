"""One batch on a fake device, kernels that do what they should not, and what is called along the way."""

from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments import context
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

ODD = Problem(33, 17, 19)
CODE = Artifact("code", "", Build(registers=32, shared=1024, spills=4, seconds=0.5))
QUICK = Policy(rounds=2)


@pytest.fixture
def short_warm_up(monkeypatch):
    """What takes the same time from the start on needs few launches to warm up."""
    monkeypatch.setattr(context, "_FIRST_WARM_SECONDS", 0.3)
    monkeypatch.setattr(context, "WARM_SECONDS", 0.03)


@pytest.fixture
def experiment(make_plan, few_sets, short_warm_up):
    """Run one batch on a fake device with these faults: of the named variants, or of `plans`."""

    def run(
        *names, plans=(), faults=None, problem=ODD, built=None, policy=QUICK, backend=None, changes=None, **options
    ):
        plans = plans or tuple(make_plan(name, problem) for name in names)
        codes = tuple((built or {}).get(plan.variant.name, CODE) for plan in plans)
        batch = replace(make_gemm_batch(plans, codes, policy), **{"index": 3, **(changes or {})})
        backends = {"fake": backend or FakeBackend(Script(faults=faults or {}))}
        return LocalWorker(backends, **options).experiment(batch)

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


@pytest.fixture
def watch_calls(monkeypatch):
    """Show each call of a method to a function, which may raise, before the method itself."""

    def watch(owner, name, look):
        whole = getattr(owner, name)

        def watched(*arguments, **options):
            look(*arguments, **options)
            return whole(*arguments, **options)

        monkeypatch.setattr(owner, name, watched)

    return watch

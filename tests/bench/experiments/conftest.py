"""A kernel between healthy ones, on five operand sets; how it knows that it is audited."""

from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

FIVE_SETS = Problem(300, 28, 26)
FIVE_BLOCKS = Policy(rounds=10, until=0.0, max_time=60)


def open_device(**script):
    """The fake device with a cache for which FIVE_SETS has as many sets as a problem of 60 to 80 MiB on an H200."""
    backend = FakeBackend(Script(**script))
    target = replace(backend.device.target, l2=FIVE_SETS.bytes * 11 // 10)
    backend.device = replace(backend.device, target=target)
    return backend


@pytest.fixture
def surround(experiment, launch):
    """The records of two healthy rows around a kernel that launches `function`."""

    def run(function, *names, policy=FIVE_BLOCKS, **options):
        launch(function)
        names = names or ("naive", "bad", "cublas")
        return experiment(*names, problem=FIVE_SETS, policy=policy, backend=open_device(), **options)

    return run


def is_audited(step, at):
    """Whether A is doubled, as only the audit does between launches of one executable."""
    size = np.abs(step._view(at["A"], "A")[0, 0])
    step.sizes = getattr(step, "sizes", {})
    return bool(size != step.sizes.setdefault(at["A"], size))

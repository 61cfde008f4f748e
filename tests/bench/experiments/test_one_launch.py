"""One launch for a profiler: warmed up, then marked."""

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend, FakeExecutable
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.bench.operands.fill import make_operands
from gemmbench.errors import LaunchError
from gemmbench.planning.problems import Problem


class Watched(FakeExecutable):
    """Notes what is run, and what C is after the launch that is watched."""

    def time(self, launches):
        self.memory.ran.append(launches)
        return super().time(launches)

    def profile(self):
        self.memory.ran.append("watched")
        (step,), (at,) = self.steps, self.sets[0]
        step.launch(at)
        self.memory.result = step._view(at.C, "C").copy()


@pytest.fixture
def run(make_plan, monkeypatch):
    monkeypatch.setattr("gemmbench.backends.fake.backend.FakeExecutable", Watched)

    def launch(problem, **faults):
        backend, kept = FakeBackend(), []
        if faults:
            backend.script = type(backend.script)(faults=faults)
        allocate = backend.allocate

        def noted(*sizes):
            memory = allocate(*sizes)
            memory.ran = []
            kept.append(memory)
            return memory

        backend.allocate = noted
        try:
            launch_once(backend, make_plan("naive", problem), Artifact("key", "", Build()), seed=3)
        finally:
            (memory,) = kept
            assert memory.bytes.size == 0, "it is given back"
        return memory

    return launch


@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_one_launch_to_warm_up_and_one_to_watch_on_uniform_data(run, beta):
    problem = Problem(16, 24, 8, beta=beta)
    memory = run(problem)
    assert memory.ran == [1, "watched"]
    data = make_operands(problem, "uniform", 3)
    product = data.A.astype(np.float64) @ data.B
    once = product + beta * data.C
    np.testing.assert_allclose(memory.result, product + beta * once if beta else product, rtol=1e-4, atol=1e-4)


def test_memory_is_given_back_after_a_crash(run):
    with pytest.raises(LaunchError):
        run(Problem(16, 24, 8), naive="crash")

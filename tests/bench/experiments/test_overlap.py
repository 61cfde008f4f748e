"""Kernels whose launches overlap: with the policy, without it, for a profiler, and in whole jobs."""

from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.jobs import LaunchStep
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.experiment import launch_once
from gemmbench.bench.experiments.transfer_tasks import Piece, TransferTask, split_tasks
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.problems import Panel, PanelCut, Problem, cut_into_panels
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.usefixtures("few_sets")

PROBLEM, CODE = Problem(32, 24, 16), Artifact("code", "", Build())


@pytest.fixture
def plan(make_plan):
    """A plan whose only launch overlaps."""

    def make(problem=PROBLEM):
        usual = make_plan("naive", problem)
        geometry = replace(usual.geometry, pdl=True)
        return replace(usual, geometry=geometry, launches=(("gemm", geometry),))

    return make


@pytest.fixture
def backend():
    """The fake device; `overlaps` notes of each plan that it gets whether its launches overlap."""

    class Noting(FakeBackend):
        def __init__(self):
            super().__init__()
            self.overlaps = set()

        def load(self, artifact, plan):
            self.overlaps.add(plan.pdl)
            return super().load(artifact, plan)

        def bind(self, name, steps, *arguments, **options):
            self.overlaps.update(step.plan.pdl for step in steps)
            return super().bind(name, steps, *arguments, **options)

        def job(self, steps, *arguments):
            self.overlaps.update(step.plan.pdl for step in steps if isinstance(step, LaunchStep))
            return super().job(steps, *arguments)

    return Noting()


@pytest.mark.parametrize("pdl", [True, False])
def test_the_policy_decides_and_the_row_says_which(plan, backend, pdl):
    batch = make_gemm_batch([plan()], [CODE], Policy(rounds=2, pdl=pdl))
    (record,) = LocalWorker({"fake": backend}).experiment(batch)
    assert (record.status, record.pdl, backend.overlaps) == ("ok", pdl, {pdl})


def test_a_kernel_without_the_key_never_overlaps(make_plan, backend):
    (record,) = LocalWorker({"fake": backend}).experiment(make_gemm_batch([make_plan()], [CODE], Policy(rounds=2)))
    assert (record.pdl, backend.overlaps) == (False, {False})


def test_a_profiler_sees_a_launch_without_overlap(plan, backend, monkeypatch):
    monkeypatch.setattr("gemmbench.backends.fake.backend.FakeExecutable.profile", lambda self: None, raising=False)
    launch_once(backend, plan(), CODE, seed=3)
    assert backend.overlaps == {False}


@pytest.mark.parametrize("pdl", [True, False])
def test_whole_jobs_follow_the_policy(plan, backend, pdl):
    panels = [Piece(panel, plan(panel.make_problem(PROBLEM)), CODE) for panel in cut_into_panels(PROBLEM, 2)]
    task = TransferTask(Piece(Panel(0, PROBLEM.M), plan(), CODE), tuple(panels))
    (batch,) = split_tasks([task], "fake", Policy(rounds=2, pdl=pdl), PanelCut(2, 2))
    records = LocalWorker({"fake": backend}).experiment(batch)
    assert [record.status for record in records] == ["ok"] * 4
    assert ({record.pdl for record in records}, backend.overlaps) == ({pdl}, {pdl})

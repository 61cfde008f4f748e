"""Blocks differ in placement, binding and permutations, and each is audited."""

from collections import Counter
from dataclasses import replace

import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.audit import Audit
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.operands.arena import SLACK, Arena
from gemmbench.bench.operands.layouts import GemmLayout
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy

pytestmark = pytest.mark.usefixtures("few_sets")

CODE = Artifact("code", "", Build())
FIVE = Policy(rounds=10, max_time=100.0)


@pytest.fixture
def bound(monkeypatch):
    """Where A of the first set was at each binding to all sets, by the name of the row."""
    places, bind = {}, FakeBackend.bind

    def noted(self, name, steps, *rest, **options):
        if len(steps[0].sets) > 1:
            places.setdefault(name, []).append(steps[0].sets[0].A)
        return bind(self, name, steps, *rest, **options)

    monkeypatch.setattr(FakeBackend, "bind", noted)
    return places


def test_every_block_has_a_placement_and_bindings_of_its_own(experiment, bound):
    records = experiment("naive", "tiled", policy=FIVE)
    assert [sorted(set(record.blocks)) for record in records] == [[0, 1, 2, 3, 4]] * 2
    assert bound["naive"] == bound["tiled"]
    first = min(bound["naive"])
    assert len(set(bound["naive"])) == len(bound["naive"]) == 5
    assert all((place - first) % 512 == 0 and place - first <= SLACK for place in bound["naive"])


def test_placements_and_permutations_follow_from_the_seed(make_plan, bound):
    def measure(shuffle):
        bound.clear()
        batch = make_gemm_batch([make_plan("naive", Problem(33, 17, 19))], [CODE], FIVE)
        LocalWorker({"fake": FakeBackend(Script())}).experiment(replace(batch, shuffle=shuffle))
        return bound["naive"]

    assert measure(1) == measure(1) != measure(2)


def test_the_executables_of_every_block_are_audited(experiment, monkeypatch):
    audited, run = Counter(), Audit.run

    def noted(self, trial, executable):
        audited[trial.name] += 1
        return run(self, trial, executable)

    monkeypatch.setattr(Audit, "run", noted)
    experiment("naive", "tiled", policy=FIVE)
    assert audited == {"naive": 5, "tiled": 5}


def test_a_kernel_that_goes_wrong_in_a_later_block_keeps_only_the_samples_of_those_before(experiment, monkeypatch):
    blocks, run = Counter(), Audit.run

    def fail_in_the_third(self, trial, executable):
        blocks[trial.name] += 1
        if trial.name == "bad" and blocks["bad"] == 3:
            executable._executable.fault = "zero"
            for step in executable._executable.steps:
                step.fault = "zero"
        return run(self, trial, executable)

    monkeypatch.setattr(Audit, "run", fail_in_the_third)
    good, bad = experiment("naive", "bad", policy=FIVE)
    assert (good.status, set(good.blocks)) == ("ok", {0, 1, 2, 3, 4})
    assert (bad.status, set(bad.blocks)) == ("wrong", {0, 1})


def test_a_block_begins_with_the_set_that_was_written_first():
    arena = Arena(FakeBackend(), GemmLayout(Problem(8, 8, 8)), 3)
    arena.rotation.take(2)
    arena.place(512)
    assert arena.rotation.position == 0

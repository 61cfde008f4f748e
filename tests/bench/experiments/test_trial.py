"""Kernels that write over operands while they are timed: one row is blamed, the others are measured again."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.base import Artifact, Build
from gemmbench.backends.fake.backend import FakeBackend, FakeStep
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.batch import make_gemm_batch
from gemmbench.bench.experiments.timed_trials import TimedTrials
from gemmbench.bench.workers.device_workers import LocalWorker
from gemmbench.errors import LaunchError
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.experiments.audited_launches import is_audited

POLICY = Policy(rounds=10, until=0.0)
FOUR_SETS = Problem(300, 280, 260)


@pytest.fixture
def measure(experiment, launch):
    """The records of two healthy rows around a kernel that launches `function`."""

    def run(function, **options):
        launch(function)
        return experiment("naive", "bad", "cublas", problem=FOUR_SETS, policy=POLICY, **options)

    return run


def check_only_one_is_blamed(records, words):
    before, bad, after = records
    assert (bad.status, bad.check_rule, bad.diagnosis) == ("wrong", "guard", "wrote outside")
    assert words in bad.reason
    for healthy in (before, after):
        assert (healthy.status, healthy.reason, len(healthy.samples)) == ("ok", "", POLICY.rounds)


def spoil(step, at):
    """Change one element of B."""
    step._view(at.B, "B")[3, 4] += 1


def test_a_kernel_that_writes_into_b_from_its_sixth_launch_on(measure):
    def strays(step, at):
        FakeStep.launch(step, at)
        if step.launched > 5:
            spoil(step, at)

    check_only_one_is_blamed(measure(strays), "guard check: changed the input B of set ")


def test_a_kernel_that_changes_only_the_bytes_around_another_set(measure):
    seen = {}

    def strays(step, at):
        FakeStep.launch(step, at)
        first = seen.setdefault(id(step), at)
        if first != at:
            step.memory.fill(first.C + step.problem.operand_bytes("C"), 4, 0)

    check_only_one_is_blamed(measure(strays), "wrote outside its output: 4 bytes after the end of C changed")


def test_a_kernel_that_writes_into_b_while_it_is_timed_and_not_in_the_audit(measure):
    launches = itertools.count()

    def strays(step, at):
        FakeStep.launch(step, at)
        if not is_audited(step, at) and next(launches) > 6:
            spoil(step, at)

    words = "something wrote over A, B or the guard zones"
    check_only_one_is_blamed(measure(strays), words)


@pytest.mark.parametrize("wait", [0, 5])
def test_an_interruption_of_the_search_for_the_culprit_blames_nobody(measure, monkeypatch, wait):
    searching, search = [], TimedTrials._find_culprit

    def strays(step, at):
        FakeStep.launch(step, at)
        if not is_audited(step, at) and step.launched > 4:
            spoil(step, at)

    def begin(self, trials):
        searching.extend(trials)
        search(self, trials)

    monkeypatch.setattr(TimedTrials, "_find_culprit", begin)
    asked = itertools.count()
    assert measure(strays, is_interrupted=lambda: bool(searching) and next(asked) >= wait) == []
    assert len(searching) == 3


def test_what_was_timed_before_the_damage_is_not_reported(measure, monkeypatch):
    windows, spoilt = [], []
    bind = FakeBackend.bind

    def logged(self, name, *rest, **options):
        executable = bind(self, name, *rest, **options)
        time = executable.time

        def timed(launches):
            window = replace(time(launches), seconds=1e-3 * (1 + len(windows) / 1e4))
            windows.append(window.seconds / window.launches)
            return window

        executable.time = timed
        return executable

    monkeypatch.setattr(FakeBackend, "bind", logged)

    def strays(step, at):
        FakeStep.launch(step, at)
        if step.launched > 5:
            spoil(step, at)
            spoilt.append(len(windows))

    records = measure(strays)
    check_only_one_is_blamed(records, "changed the input B")
    assert min(records[0].samples) > max(windows[: spoilt[-1]])


def test_a_kernel_that_crashes_in_the_audit_leaves_nothing_to_the_next_row(experiment, launch):
    crashed = []

    def crashes(step, at):
        FakeStep.launch(step, at)
        if is_audited(step, at):
            crashed.append(step)
            spoil(step, at)
            raise LaunchError("an illegal address")

    launch(crashes)
    before, bad, after = experiment("naive", "bad", "cublas", problem=FOUR_SETS, policy=POLICY)
    assert (bad.status, bad.reason) == ("failed", "an illegal address")
    assert len(crashed) == 1
    assert (before.status, after.status) == ("ok", "ok")


@pytest.mark.parametrize(("added", "status"), [(0, "ok"), (1, "wrong")])
def test_each_copy_is_checked_where_sums_may_change_their_order(launch, make_plan, added, status):
    def reorders(step, at):
        FakeStep.launch(step, at)
        a, c = step._view(at.A, "A"), step._view(at.C, "C")
        if step.launched > 3:
            c[0, 0] = np.nextafter(c[0, 0], np.float32(9 * (-1) ** step.launched))
        if is_audited(step, at) and a[0, 0] < 0:  # in some sets
            c[5, 5] += added

    launch(reorders)
    plan = make_plan("bad", FOUR_SETS)
    plan = replace(plan, variant=replace(plan.variant, deterministic=False))
    batch = make_gemm_batch((plan,), (Artifact("code", "", Build()),), POLICY)
    (record,) = LocalWorker({"fake": FakeBackend(Script())}).experiment(batch)
    assert (record.status, record.check_rule) == (status, "audit" if added else "rounding")
    assert ("1 of 84000 elements wrong, first C[5][5]" in record.reason) == bool(added)

"""Kernels that write over operands while they are timed: one row is blamed, the others are measured again."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeBackend, FakeStep
from gemmbench.bench.experiments.timed_trials import TimedTrials
from gemmbench.errors import LaunchError
from tests.bench.experiments.conftest import FIVE_BLOCKS, FIVE_SETS, is_audited


@pytest.fixture
def blame(surround):
    """A kernel that launches `function` is blamed in these words, and its neighbours are not; returns all records."""

    def run(function, words):
        before, bad, after = records = surround(function)
        assert (bad.status, bad.check_rule, bad.diagnosis) == ("wrong", "guard", "wrote outside")
        assert words in bad.reason
        for healthy in (before, after):
            assert (healthy.status, healthy.reason, len(healthy.samples)) == ("ok", "", FIVE_BLOCKS.rounds)
        return records

    return run


def spoil(step, at):
    """Change one element of B."""
    step._view(at["B"], "B")[3, 4] += 1


def test_a_kernel_that_changes_only_the_bytes_around_another_set(blame):
    seen = {}

    def strays(step, at):
        FakeStep.launch(step, at)
        first = seen.setdefault(id(step), at)
        if first != at:
            step.memory.fill(first["C"] + step.problem.operand_bytes("C"), 4, 0)

    blame(strays, "wrote outside its output: 4 bytes after the end of C changed")


def test_a_kernel_that_writes_into_b_while_it_is_timed_and_not_in_the_audit(blame):
    launches = itertools.count()

    def strays(step, at):
        FakeStep.launch(step, at)
        if not is_audited(step, at) and next(launches) > 6:
            spoil(step, at)

    blame(strays, "something wrote over A, B or the guard zones")


@pytest.mark.parametrize("wait", [0, 5])
def test_an_interruption_of_the_search_for_the_culprit_blames_nobody(surround, watch_calls, wait):
    def strays(step, at):
        FakeStep.launch(step, at)
        if not is_audited(step, at) and step.launched > 4:
            spoil(step, at)

    searching, asked = [], itertools.count()
    watch_calls(TimedTrials, "_find_culprit", lambda self, trials: searching.extend(trials))
    assert surround(strays, is_interrupted=lambda: bool(searching) and next(asked) >= wait) == []
    assert len(searching) == 3


def test_a_kernel_that_writes_into_b_from_its_sixth_launch_on_leaves_no_sample_from_before(blame, monkeypatch):
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

    before, *_ = blame(strays, "guard check: changed the input B of set ")
    assert min(before.samples) > max(windows[: spoilt[-1]])


def test_a_kernel_that_crashes_in_the_audit_leaves_nothing_to_the_next_row(surround):
    crashed = []

    def crashes(step, at):
        FakeStep.launch(step, at)
        if is_audited(step, at):
            crashed.append(step)
            spoil(step, at)
            raise LaunchError("an illegal address")

    before, bad, after = surround(crashes)
    assert (bad.status, bad.reason, len(crashed)) == ("failed", "an illegal address", 1)
    assert (before.status, after.status) == ("ok", "ok")


@pytest.mark.parametrize(("added", "status"), [(0, "ok"), (1, "wrong")])
def test_each_copy_is_checked_where_sums_may_change_their_order(surround, make_plan, added, status):
    def reorders(step, at):
        FakeStep.launch(step, at)
        a, c = step._view(at["A"], "A"), step._view(at["C"], "C")
        if step.launched > 3:
            c[0, 0] = np.nextafter(c[0, 0], np.float32(9 * (-1) ** step.launched))
        if is_audited(step, at) and a[0, 0] < 0:  # in some sets
            c[5, 5] += added

    (record,) = surround(reorders, plans=[make_plan("bad", FIVE_SETS, deterministic=False)])
    assert (record.status, record.check_rule) == (status, "audit" if added else "rounding")
    assert ("1 of 8400 elements wrong, first C[5][5]" in record.reason) == bool(added)

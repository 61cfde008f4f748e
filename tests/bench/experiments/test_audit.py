"""Kernels that are right when verified and wrong when timed, on a fake device: the audit finds each and says why."""

import itertools

import numpy as np
import pytest

from gemmbench.backends.base import OperandSet
from gemmbench.backends.fake.backend import FakeBackend, FakeStep
from gemmbench.backends.fake.script import Script
from gemmbench.bench.experiments.audit import Turns
from gemmbench.planning.problems import Problem
from gemmbench.planning.sweeps.policy import Policy
from tests.bench.experiments.audited_launches import is_audited

POLICY = Policy(rounds=16, until=0.0)
FOUR_SETS = Problem(300, 280, 260)
"""On the fake device: as many sets as problems of 60 to 80 MiB have on an H200."""


@pytest.fixture
def audit(experiment, launch):
    """The record of a kernel that launches `function`, beside a healthy one that must be left alone."""

    def run(function, problem=FOUR_SETS, policy=POLICY):
        launch(function)
        good, bad, after = experiment("naive", "bad", "cublas", problem=problem, policy=policy)
        for healthy in (good, after):
            assert (healthy.status, healthy.reason, len(healthy.samples)) == ("ok", "", 16)
        return bad

    return run


def counting(function):
    """Give `function` the number of launches before, of all bindings."""
    launches = itertools.count()
    return lambda step, at: function(step, at, next(launches))


def test_a_kernel_that_stops_writing(audit):
    @counting
    def stops(step, at, before):
        if before < 12:
            FakeStep.launch(step, at)

    bad = audit(stops)
    assert (bad.status, bad.check_rule, bad.diagnosis) == ("wrong", "audit", "stops writing")
    words = "C still holds the result of an earlier launch, and NaN where it held NaN: the kernel has stopped writing"
    assert bad.reason == f"audit check: {words}"


def test_a_kernel_that_stops_writing_while_it_is_audited(audit):
    launches = itertools.count()

    def stops(step, at):
        if not is_audited(step, at) or next(launches) < 2:
            FakeStep.launch(step, at)

    bad = audit(stops)
    assert (bad.status, bad.check_rule, bad.diagnosis) == ("wrong", "audit", "stops writing")


def test_a_kernel_that_always_reads_the_first_set(audit):
    first = {}

    def reads_first(step, at):
        kept = first.setdefault(id(step), at)
        FakeStep.launch(step, OperandSet(kept.A, kept.B, at.C))

    bad = audit(reads_first)
    assert (bad.status, bad.diagnosis) == ("wrong", "wrong operand set")
    assert "every operand set holds the same result: the kernel always reads the operands of one set" in bad.reason


@pytest.mark.parametrize(("name", "cause"), [("A", "keeps A"), ("B", "keeps B")])
def test_a_kernel_that_keeps_a_copy_of_an_operand_from_its_first_launch_on_a_set(audit, name, cause):
    kept = {}

    def keeps(step, at):
        mine = step._view(getattr(at, name), name)
        before = mine.copy()
        mine[:] = kept.setdefault((id(step), getattr(at, name)), before)
        FakeStep.launch(step, at)
        mine[:] = before

    bad = audit(keeps)
    assert (bad.status, bad.diagnosis) == ("wrong", cause)
    assert f"the result is that of {name} as it was in an earlier launch" in bad.reason


def test_a_kernel_that_keeps_its_first_result(audit):
    kept = {}

    def keeps(step, at):
        if id(step) not in kept:
            FakeStep.launch(step, at)
            kept[id(step)] = step._view(at.C, "C").copy()
        step._view(at.C, "C")[:] = kept[id(step)]

    bad = audit(keeps)
    assert (bad.status, bad.diagnosis) == ("wrong", "wrong operand set")
    assert "every operand set holds the same result" in bad.reason


def test_a_kernel_that_keeps_the_result_of_each_set(audit):
    kept = {}

    def keeps(step, at):
        if (id(step), at) not in kept:
            FakeStep.launch(step, at)
            kept[id(step), at] = step._view(at.C, "C").copy()
        step._view(at.C, "C")[:] = kept[id(step), at]

    bad = audit(keeps)
    assert (bad.status, bad.diagnosis) == ("wrong", "remembers")
    assert "new operands give the result of old ones" in bad.reason


def test_a_kernel_that_goes_wrong_after_eight_launches(audit):
    def goes_wrong(step, at):
        FakeStep.launch(step, at)
        if step.launched > 8:
            step._view(at.C, "C")[150:] = 0

    bad = audit(goes_wrong)
    assert (bad.status, bad.diagnosis) == ("wrong", "zeros")
    assert "right before timing, wrong after it: set 0: 42000 of 84000 elements wrong" in bad.reason


@pytest.mark.parametrize("position", [0, 1], ids=["audited first", "audited later"])
def test_a_kernel_that_computes_only_where_c_is_nan(experiment, launch, position):
    def skips(step, at):
        if np.isnan(step._view(at.C, "C")).any():
            FakeStep.launch(step, at)

    launch(skips)
    names = ["naive", "cublas"]
    names.insert(position, "bad")
    records = {record.variant: record for record in experiment(*names, problem=FOUR_SETS, policy=POLICY)}
    assert {records[name].status for name in ("naive", "cublas")} == {"ok"}
    assert (records["bad"].status, records["bad"].diagnosis) == ("wrong", "skips a filled C")
    assert "C still holds the result of an earlier launch: it is computed only where C is NaN" in records["bad"].reason


def test_a_kernel_that_skips_an_eighth_of_k_where_c_is_filled(audit):
    def skips(step, at):
        filled = np.isfinite(step._view(at.C, "C")).all()
        a = step._view(at.A, "A")
        kept = a[:, ::8].copy()
        if filled:
            a[:, ::8] = 0
        FakeStep.launch(step, at)
        a[:, ::8] = kept

    bad = audit(skips)
    assert (bad.status, bad.diagnosis) == ("wrong", "skips a filled C")
    assert "right where C held NaN, but not where it held the result of an earlier launch: set 0: " in bad.reason
    assert "as if one product in 8 were lost, from k = 0 on" in bad.reason


def test_a_kernel_that_writes_into_the_c_of_another_set(audit):
    last = {}

    def strays(step, at):
        FakeStep.launch(step, at)
        before = last.get(id(step), at)
        last[id(step)] = at
        step._view(before.C, "C")[:] = step._view(at.C, "C")

    bad = audit(strays)
    assert (bad.status, bad.diagnosis) == ("wrong", "wrong operand set")
    assert "set 0 holds the result of set 1: the kernel writes to the C of another operand set" in bad.reason


def test_a_kernel_that_leaves_rows_unwritten_after_a_while(audit):
    def leaves(step, at):
        before = step._view(at.C, "C")[-20:].copy()
        FakeStep.launch(step, at)
        if step.launched > 8:
            step._view(at.C, "C")[-20:] = before

    bad = audit(leaves)
    assert bad.status == "wrong"
    assert "right before timing, wrong after it: set 0: 5600 of 84000 elements wrong" in bad.reason


def test_a_kernel_that_reads_c_after_a_while(audit):
    def reads(step, at):
        before = step._view(at.C, "C").copy()
        FakeStep.launch(step, at)
        if step.launched > 2:
            step._view(at.C, "C")[:] += 0 * before

    bad = audit(reads)
    assert bad.status == "wrong"
    assert "84000 of 84000 elements wrong, first C[0][0] = nan" in bad.reason


def test_a_fault_in_one_set_is_a_race(audit):
    @counting
    def races(step, at, before):
        FakeStep.launch(step, at)
        if before % 7 == 6:
            step._view(at.C, "C")[-1, -1] += 1

    bad = audit(races)
    assert (bad.status, bad.diagnosis) == ("wrong", "race")
    assert "1 of 84000 elements wrong, first C[299][279]" in bad.reason
    assert "some operand sets are right: a race, or state that is kept between launches" in bad.reason


def test_every_set_but_the_first_may_be_wrong(audit):
    seen = {}

    def spoils_others(step, at):
        FakeStep.launch(step, at)
        outputs = seen.setdefault(id(step), set())
        outputs.add(at.C)
        first = min(outputs)
        if first < at.C:
            step._view(at.C, "C")[-1, -1] += 1

    bad = audit(spoils_others)
    assert (bad.status, bad.check_rule) == ("wrong", "audit")
    assert "1 of 84000 elements wrong, first C[299][279]" in bad.reason


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_sums_in_another_order_are_wrong_unless_the_manifest_allows_them(audit, cache):
    @counting
    def reorders(step, at, before):
        FakeStep.launch(step, at)
        if before > 8 and before % 2:
            c = step._view(at.C, "C")
            c[0, 0] = np.nextafter(c[0, 0], np.float32(9))

    bad = audit(reorders, policy=Policy(cache=cache, rounds=16, until=0.0))
    assert (bad.status, bad.diagnosis) == ("wrong", "order of sums")
    assert "declare `deterministic: false` in the manifest" in bad.reason


def test_zeros_are_audited_on_other_data(audit):
    @counting
    def stops(step, at, before):
        if before < 12:
            FakeStep.launch(step, at)

    bad = audit(stops, policy=Policy(data="zeros", rounds=16, until=0.0))
    assert (bad.status, bad.data, bad.diagnosis) == ("wrong", "zeros", "stops writing")


@pytest.mark.parametrize(("seconds", "in_first", "in_later"), [(5e-3, 10, 10), (2e-2, 10, 2), (3.0, 3, 2)])
def test_slow_kernels_are_audited_on_fewer_sets_once_they_were_right(
    experiment, launch, monkeypatch, seconds, in_first, in_later
):
    audits, turn = [], Turns.make_both

    def watched(turns, again):
        audits.append(turns.count + again)
        return turn(turns, again)

    monkeypatch.setattr(Turns, "make_both", watched)
    backend = FakeBackend(Script(times={"naive": seconds}))  # five sets
    policy = Policy(rounds=10, until=0.0, max_time=60)
    (record,) = experiment("naive", problem=FOUR_SETS, policy=policy, backend=backend)
    assert (record.status, audits) == ("ok", [in_first] + 4 * [in_later])

"""Kernels that are right when verified and wrong when timed, on a fake device: the audit finds each and says why."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gemmbench.backends.fake.backend import FakeStep
from gemmbench.bench.experiments.audit import Turns
from tests.bench.experiments.conftest import FIVE_BLOCKS, FIVE_SETS, is_audited, open_device

FIRST_RESULT = "every operand set holds the same result"


@pytest.fixture
def audit(surround):
    """A kernel that launches `function` is wrong with this diagnosis and these words, and its neighbours are not."""

    def run(function, diagnosis, *words, **policy):
        before, bad, after = surround(function, policy=replace(FIVE_BLOCKS, **policy))
        for healthy in (before, after):
            assert (healthy.status, healthy.reason, len(healthy.samples)) == ("ok", "", 10)
        assert (bad.status, bad.check_rule, bad.diagnosis) == ("wrong", "audit", diagnosis), bad.reason
        assert all(part in bad.reason for part in words), bad.reason
        return bad

    return run


def counting(function):
    """Give `function` the number of launches before, of all bindings."""
    launches = itertools.count()
    return lambda step, at: function(step, at, next(launches))


def view_c(step, at):
    return step._view(at["C"], "C")


def stop(step, at, before):
    if before < 12:
        FakeStep.launch(step, at)


def test_a_kernel_that_stops_writing(audit):
    words = "C still holds the result of an earlier launch, and NaN where it held NaN: the kernel has stopped writing"
    assert audit(counting(stop), "stops writing").reason == f"audit check: {words}"


def test_a_kernel_that_stops_writing_while_it_is_audited(audit):
    launches = itertools.count()

    def stops(step, at):
        if not is_audited(step, at) or next(launches) < 2:
            FakeStep.launch(step, at)

    audit(stops, "stops writing")


def test_zeros_are_audited_on_other_data(audit):
    assert audit(counting(stop), "stops writing", data="zeros").data == "zeros"


def test_a_kernel_that_always_reads_the_first_set(audit):
    first = {}

    def reads_first(step, at):
        kept = first.setdefault(id(step), at)
        FakeStep.launch(step, {"A": kept["A"], "B": kept["B"], "C": at["C"]})

    audit(reads_first, "wrong operand set", f"{FIRST_RESULT}: the kernel always reads the operands of one set")


@pytest.mark.parametrize(("name", "cause"), [("A", "keeps A"), ("B", "keeps B")])
def test_a_kernel_that_keeps_a_copy_of_an_operand_from_its_first_launch_on_a_set(audit, name, cause):
    kept = {}

    def keeps(step, at):
        mine = step._view(at[name], name)
        before = mine.copy()
        mine[:] = kept.setdefault((id(step), at[name]), before)
        FakeStep.launch(step, at)
        mine[:] = before

    audit(keeps, cause, f"the result belongs to the {name} of an earlier launch")


@pytest.mark.parametrize(
    ("each_set", "cause", "words"),
    [(False, "wrong operand set", FIRST_RESULT), (True, "remembers", "new operands give the result of old ones")],
)
def test_a_kernel_that_keeps_its_first_result_or_that_of_each_set(audit, each_set, cause, words):
    kept = {}

    def keeps(step, at):
        key = (id(step), at["A"] if each_set else None)
        if key not in kept:
            FakeStep.launch(step, at)
            kept[key] = view_c(step, at).copy()
        view_c(step, at)[:] = kept[key]

    audit(keeps, cause, words)


def test_a_kernel_that_goes_wrong_after_eight_launches(audit):
    def goes_wrong(step, at):
        FakeStep.launch(step, at)
        if step.launched > 8:
            view_c(step, at)[150:] = 0

    audit(goes_wrong, "zeros", "correct before timing, wrong after it: set 0: 4200 of 8400 elements wrong")


@pytest.mark.parametrize("names", [("bad", "naive", "cublas"), ("naive", "bad", "cublas")], ids=["first", "later"])
def test_a_kernel_that_computes_only_where_c_is_nan(surround, names):
    def skips(step, at):
        if np.isnan(view_c(step, at)).any():
            FakeStep.launch(step, at)

    records = {record.variant: record for record in surround(skips, *names)}
    assert {records[name].status for name in ("naive", "cublas")} == {"ok"}
    assert (records["bad"].status, records["bad"].diagnosis) == ("wrong", "leaves an old C")
    assert "C still holds the result of an earlier launch: it is computed only where C is NaN" in records["bad"].reason


def test_a_kernel_that_skips_an_eighth_of_k_where_c_is_filled(audit):
    def skips(step, at):
        filled = np.isfinite(view_c(step, at)).all()
        a = step._view(at["A"], "A")
        kept = a[:, ::8].copy()
        if filled:
            a[:, ::8] = 0
        FakeStep.launch(step, at)
        a[:, ::8] = kept

    words = "correct where C held NaN, but not where it held the result of an earlier launch: set 0: "
    audit(skips, "leaves an old C", words, "as if one product in 8 were lost, from k = 0 on")


def test_a_kernel_that_writes_into_the_c_of_another_set(audit):
    last = {}

    def strays(step, at):
        FakeStep.launch(step, at)
        before = last.get(id(step), at)
        last[id(step)] = at
        view_c(step, before)[:] = view_c(step, at)

    words = "set 0 holds the result of set 1: the kernel writes to the C of another operand set"
    audit(strays, "wrong operand set", words)


def test_a_kernel_that_leaves_rows_unwritten_after_a_while(audit):
    def leaves(step, at):
        before = view_c(step, at)[-20:].copy()
        FakeStep.launch(step, at)
        if step.launched > 8:
            view_c(step, at)[-20:] = before

    audit(leaves, "edge rows", "correct before timing, wrong after it: set 0: 560 of 8400 elements wrong")


def test_a_kernel_that_reads_c_after_a_while(audit):
    def reads(step, at):
        before = view_c(step, at).copy()
        FakeStep.launch(step, at)
        if step.launched > 2:
            view_c(step, at)[:] += 0 * before

    audit(reads, "never written", "8400 of 8400 elements wrong, first C[0][0] = nan")


def test_a_fault_in_one_set_is_a_race(audit):
    @counting
    def races(step, at, before):
        FakeStep.launch(step, at)
        if before % 7 == 6:
            view_c(step, at)[-1, -1] += 1

    words = "some operand sets are correct: there is a race, or state is kept between launches"
    audit(races, "race", "1 of 8400 elements wrong, first C[299][27]", words)


def test_every_set_but_the_first_may_be_wrong(audit):
    seen = {}

    def spoils_others(step, at):
        FakeStep.launch(step, at)
        outputs = seen.setdefault(id(step), set())
        outputs.add(at["C"])
        if min(outputs) < at["C"]:
            view_c(step, at)[-1, -1] += 1

    audit(spoils_others, "race", "1 of 8400 elements wrong, first C[299][27]")


@pytest.mark.parametrize("cache", ["cold", "hot"])
def test_sums_in_another_order_are_wrong_unless_the_manifest_allows_them(audit, cache):
    @counting
    def reorders(step, at, before):
        FakeStep.launch(step, at)
        if before > 8 and before % 2:
            c = view_c(step, at)
            c[0, 0] = np.nextafter(c[0, 0], np.float32(9))

    audit(reorders, "order of sums", "declare `deterministic: false` in the manifest", cache=cache)


@pytest.mark.parametrize(("seconds", "in_first", "in_later"), [(5e-3, 10, 10), (2e-2, 10, 2), (3.0, 3, 2)])
def test_slow_kernels_are_audited_on_fewer_sets_once_they_were_right(
    experiment, watch_calls, seconds, in_first, in_later
):
    audits = []
    watch_calls(Turns, "make_both", lambda turns, again: audits.append(turns.count + again))
    backend = open_device(times={"naive": seconds})
    (record,) = experiment("naive", problem=FIVE_SETS, policy=FIVE_BLOCKS, backend=backend)
    assert (record.status, record.sets, audits) == ("ok", 5, [in_first] + 4 * [in_later])

"""Two runs, row by row, by numbers checked by hand, and whether they ran on the same card."""

import math

import msgspec
import pytest

from gemmbench.backends.base import Conditions
from gemmbench.bench.timing.stats import WIDENING
from gemmbench.report.differences.run_differences import (
    compare_runs,
    explain_cards,
    explain_other_machine,
    list_changes,
)
from gemmbench.report.repeatability import find_speed_class

MS = 1e-3


@pytest.fixture
def differ(compare):
    """The differences of two runs, each given as its records."""
    return lambda reference, run, **changed: compare_runs(compare(*reference), compare(*run, **changed))


def test_half_the_time_is_twice_the_speed_and_there_is_no_ratio_without_the_library(differ, steady):
    (row,) = differ([steady("tiled", 2)], [steady("tiled")]).rows
    assert (row.speed.value, row.speed.low, row.speed.high) == pytest.approx((2, 2, 2))
    assert math.isnan(row.speed_by_baseline.value)


def test_an_interval_has_the_spread_of_both_runs(differ, paired):
    noisy = [MS * 2**step for step in (-2, -1, 0, 1, 2)]
    (row,) = differ([paired("tiled", *noisy)], [paired("tiled", *noisy)]).rows
    reach = WIDENING * 2.7764451 * math.sqrt(2.5 / 5) * math.log(2)  # Student's t
    spread = math.exp(math.hypot(reach, reach))
    assert (row.speed.value, row.speed.low, row.speed.high) == pytest.approx((1, 1 / spread, spread))


def test_the_ratio_to_the_library_takes_out_what_slowed_both(differ, steady):
    rows = differ([steady("tiled", 2), steady("cublas")], [steady("tiled", 2.4), steady("cublas", 1.2)]).rows
    tiled, cublas = sorted(rows, key=lambda each: each.row.record.variant, reverse=True)
    assert tiled.speed.value == pytest.approx(1 / 1.2)
    assert tiled.speed_by_baseline.value == pytest.approx(1)
    assert tiled.speed_by_baseline.high == pytest.approx(
        math.exp(1.96 * math.sqrt(2) * find_speed_class(MS).deviation), rel=1e-6
    )
    assert cublas.speed.value == pytest.approx(1 / 1.2) and math.isnan(cublas.speed_by_baseline.value)


def test_runs_with_different_baselines_have_only_their_times(differ, steady):
    records = [steady("tiled", 2), steady("cublas"), steady("naive", 4)]
    found = differ(records, records, baseline="naive")
    assert not found.same_baseline
    assert all(math.isnan(row.speed_by_baseline.value) and row.speed.value == 1 for row in found.rows)


@pytest.mark.parametrize("broken", ["wrong", "failed"])
def test_a_broken_row_has_no_ratio(differ, steady, broken):
    (row,) = differ([steady("tiled")], [steady("tiled", status=broken)]).rows
    assert math.isnan(row.speed.value) and math.isnan(row.speed_by_baseline.value)


def test_rows_of_one_run_are_listed(differ, paired, make_record):
    reference = [paired("tiled", MS, config={"T": 8}), paired("naive", MS), make_record("old", status="skipped")]
    run = [paired("tiled", MS, config={"T": 16}), paired("naive", MS), paired("naive", MS, size=32)]
    found = differ(reference, run)
    assert [each.row.record.variant for each in found.rows] == ["naive"]
    assert [row.record.configuration for row in found.only_in_reference] == ["T=8"]
    assert [(row.record.variant, row.record.problem.M) for row in found.only_in_run] == [("tiled", 64), ("naive", 32)]
    assert [problem.M for problem in found.by_problem] == [64]


def test_a_final_is_compared_with_a_final(differ, paired):
    final = paired("tiled", 2 * MS, config={"T": 8}, phase="final")
    fast, slow = (paired("tiled", seconds, config={"T": 8}) for seconds in (MS, 2 * MS))
    found = differ([fast, final], [slow, final]).rows
    assert {each.row.record.phase: each.speed.value for each in found} == {"sweep": 0.5, "final": 1}


ONE, OTHER = "GPU-11111111-aaaa", "GPU-22222222-bbbb"


@pytest.fixture
def change(environment):
    return lambda **changed: msgspec.structs.replace(environment, **changed)


@pytest.mark.parametrize(
    ("before", "now", "sentence"),
    [
        (ONE, ONE, "Both ran on the same card, GPU-11111111."),
        (
            ONE,
            OTHER,
            "They ran on different cards of the same model, GPU-11111111 and GPU-22222222. Cards differ too, "
            "so compare only the ratios.",
        ),
        ("", ONE, "Whether both ran on the same card is unknown, because the reference does not record it."),
        (
            "",
            "",
            "Whether both ran on the same card is unknown, because the reference and the run do not record it.",
        ),
    ],
)
def test_one_sentence_tells_whether_it_was_the_same_card(change, before, now, sentence):
    assert explain_cards(change(uuid=before), change(uuid=now)) == [sentence]


@pytest.mark.parametrize(("before", "now"), [(ONE, OTHER), ("", ONE), ("", "")])
def test_cards_of_different_models_are_different_whatever_their_uuids(change, before, now):
    (sentence,) = explain_cards(change(uuid=before), change(uuid=now, device="Other GPU"))
    assert sentence == "They ran on different cards."
    assert explain_cards(change(uuid=before, gpu=False), change(uuid=now)) == []  # a CPU is no card


def test_what_changed_about_a_machine_is_listed_if_both_record_it(change):
    before = change(vbios="96.00", software={"driver": "570", "cublas": "13.0.1"}, conditions=Conditions())
    now = change(vbios="96.01", software={"driver": "580", "nvcc": "13.0"}, conditions=Conditions(power_limit=500.0))
    assert list_changes(before, now) == ["VBIOS 96.00 -> 96.01", "driver 570 -> 580"]
    assert list_changes(now, now) == []


def test_the_same_machine_is_no_other_machine(change):
    known = change(uuid=ONE, vbios="96.00")
    assert explain_other_machine(known, known) == ""
    assert explain_other_machine(known, change(uuid=OTHER, vbios="96.00")) == (
        "on another card, GPU-11111111-aaaa; this is GPU-22222222-bbbb"
    )

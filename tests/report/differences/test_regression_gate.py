"""Verdicts of the gate: from the interval of the slowdown and the margin."""

import math

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.differences.regression_gate import (
    Check,
    CheckedRow,
    check_differences,
    check_pairs,
    format_change,
)
from gemmbench.report.differences.run_differences import compare_runs
from gemmbench.report.repeatability import find_speed_class
from gemmbench.report.text import format_share

MS = 1e-3


@pytest.fixture
def row_of(compare, steady):
    """A row of five blocks of the same time."""

    def make(milliseconds=1.0, **changed):
        (row,) = compare(steady("tiled", milliseconds, **changed)).rows
        return row

    return make


@pytest.fixture
def judged(row_of):
    """A row whose slowdown has this interval, in percent."""

    def judged(value, low, high, margin=0.03):
        speed = Interval(*(1 / (1 + percent / 100) for percent in (value, high, low)))
        return CheckedRow(row_of(), row_of(), speed, margin)

    return judged


@pytest.mark.parametrize(
    ("percents", "verdict"),
    [
        ((5, 4.5, 5.5), "regression"),
        ((3.2, 3.01, 3.4), "regression"),
        ((3.2, 2.9, 3.5), "inconclusive"),
        ((2.8, 2.5, 3.1), "inconclusive"),
        ((2.8, 2.6, 2.99), "pass"),
        ((0, -0.5, 0.5), "pass"),
        ((-20, -21, -19), "pass"),
        ((0, -10, 10), "inconclusive"),
    ],
)
def test_the_whole_interval_decides(judged, percents, verdict):
    assert judged(*percents).verdict == verdict


def test_the_slowdown_is_a_share_of_the_reference_time_and_the_margin_may_be_zero(judged):
    slowdown = judged(5, 4, 6).slowdown
    assert (slowdown.value, slowdown.low, slowdown.high) == pytest.approx((0.05, 0.04, 0.06))
    assert judged(0.5, 0.4, 0.6, margin=0).verdict == "regression"
    assert judged(-0.5, -0.6, -0.4, margin=0).verdict == "pass"


def test_rows_of_one_batch_are_judged_by_their_pairs(row_of):
    (checked,) = check_pairs([(row_of(), row_of(1.05))], 0.03)
    assert checked.verdict == "regression" and checked.slowdown.value == pytest.approx(0.05)


def test_a_wrong_row_is_broken_and_a_wrong_reference_or_too_few_rounds_say_nothing(row_of, compare, paired):
    wrong, right = row_of(status="wrong", reason="C[0][0]"), row_of()
    (few,) = compare(paired("tiled", MS)).rows
    broken, unknown, short = check_pairs([(right, wrong), (wrong, right), (few, few)], 0.03)
    assert broken.verdict == "broken" and broken.reason == "tiled at 64 nn f32: wrong: C[0][0]"
    assert unknown.verdict == "inconclusive" and unknown.reason.endswith("cannot be judged: the reference is wrong")
    assert short.verdict == "inconclusive"
    assert short.reason.endswith("cannot be judged: too few rounds for an interval, which needs 4")


@pytest.fixture
def run(compare, steady):
    """A run of tiled and cublas, in milliseconds."""
    return lambda tiled, cublas: compare(steady("tiled", tiled), steady("cublas", cublas))


def test_runs_are_judged_by_the_ratio_to_the_library(run):
    """Everything takes 10 % longer, the kernel another 5 %."""
    for slower, verdict, value in ((1.05, "regression", 0.05), (1, "pass", 0)):
        (checked,) = check_differences(compare_runs(run(2, 1), run(2 * 1.1 * slower, 1.1)), 0.03)
        assert checked.row.record.variant == "tiled"
        assert checked.verdict == verdict and checked.slowdown.value == pytest.approx(value)


def test_the_interval_between_runs_covers_what_differs_from_run_to_run(run):
    """Every sample says 3.3 % longer; ratios of the same code differ between processes, and by 0.5 % between runs."""
    differences = compare_runs(run(2, 1), run(2 * 1.033, 1))
    (checked,) = check_differences(differences, 0.03)
    assert checked.verdict == "inconclusive"
    reach = math.exp(1.959964 * math.sqrt(2) * find_speed_class(1e-3).deviation)
    low, high = 1.033 / reach / 1.005 - 1, 1.033 * reach / 0.995 - 1
    assert (checked.slowdown.low, checked.slowdown.high) == pytest.approx((low, high))
    (checked,) = check_differences(differences, 0.02)
    assert checked.verdict == "regression"


def test_a_row_without_a_library_cannot_be_judged(compare, steady):
    alone = compare(steady("tiled"))
    (checked,) = check_differences(compare_runs(alone, alone), 0.03)
    assert checked.verdict == "inconclusive" and "no ratio to cublas in both runs" in checked.reason


def test_the_worst_row_decides_the_check(judged, row_of):
    passed, slower, worse, unsure = judged(0, -1, 1), judged(5, 4, 6), judged(9, 8, 10), judged(3, 2, 4)
    broken = CheckedRow(row_of(), row_of(status="failed"), Interval(1.0), 0.03)

    def verdict(*rows, **changed):
        return Check("main", 0.03, rows, **changed).verdict

    assert verdict(passed) == verdict() == "pass"
    assert verdict(passed, unsure) == verdict(passed, missing=["gone"]) == "inconclusive"
    assert verdict(passed, slower, unsure) == "regression" and verdict(slower, broken) == "broken"
    check = Check("main", 0.03, [passed, slower, worse, unsure, broken], missing=["gone"])
    assert check.closing_line == (
        "check against main, margin 3 %: 1 passed, 2 slower, 1 broken, 2 inconclusive; "
        "worst: tiled at 64 takes 9 % longer"
    )
    assert Check("main", 0.03, []).closing_line == "check against main, margin 3 %: nothing to compare"


@pytest.mark.parametrize(
    ("share", "text"), [(0.051, "5.1 %"), (0.03, "3 %"), (0.0, "0 %"), (-0.0001, "0 %"), (-0.02, "-2 %"), (1, "100 %")]
)
def test_a_share_has_tenths_of_a_percent(share, text):
    assert format_share(share) == text


def test_a_change_for_the_better_takes_less_time():
    assert format_change(Interval(-0.05, -0.06, -0.04)) == "takes 5 % less time (95 % interval -6 % to -4 %)"

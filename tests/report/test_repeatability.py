"""What differs between processes and runs of the same code."""

import math

import pytest

from gemmbench.bench.timing.stats import Interval
from gemmbench.report.repeatability import compare_ratios, explain_process_deviation, find_speed_class, widen


def test_short_kernels_differ_more_between_processes():
    seconds = (5e-6, 99e-6, 100e-6, 999e-6, 1e-3, 10.0)
    deviations = [find_speed_class(each).deviation for each in seconds]
    assert deviations == sorted(deviations, reverse=True)
    assert [find_speed_class(each).name for each in seconds[1::2]] == [
        "under 100 us",
        "from 100 us to 1 ms",
        "over 1 ms",
    ]


@pytest.mark.parametrize(
    ("seconds", "lines"),
    [
        ([], []),
        (
            [2e-3, 3e-3],
            ["Between processes, ratios of kernels over 1 ms vary by another 0.05 % (one standard deviation)."],
        ),
        (
            [2e-3, 5e-6],
            [
                "Between processes, ratios of kernels under 100 us vary by another 0.2 %, over 1 ms by 0.05 % "
                "(one standard deviation)."
            ],
        ),
    ],
)
def test_one_line_has_the_deviations_of_the_classes_that_occur(seconds, lines):
    assert explain_process_deviation(seconds) == lines


def test_ratios_of_two_processes_differ_by_more_than_their_intervals():
    exact = Interval(2.0, 2.0, 2.0)
    found = compare_ratios(exact, exact, 5e-6)
    assert math.log(found.high) == pytest.approx(1.96 * math.sqrt(2) * find_speed_class(5e-6).deviation, rel=1e-4)
    assert compare_ratios(exact, exact, 1.0).high < found.high
    wider = widen(found, 0.01)
    assert (wider.low, wider.high) == pytest.approx((found.low * 0.99, found.high * 1.01))

"""Panels: together they are the whole, each begins at an aligned row, the last may be lower."""

import pytest

from gemmbench.planning.problems import Panel, Problem, cut_into_panels


@pytest.mark.parametrize(
    ("M", "panels", "heights"),
    [
        (1024, 8, [128] * 8),
        (1000, 8, [128] * 7 + [104]),
        (8192, 3, [2752, 2752, 2688]),
        (256, 8, [64] * 4),
        (160, 8, [64, 64, 32]),
        (65, 1, [65]),
        (1, 8, [1]),
    ],
)
def test_panels_are_equal_but_the_last_and_a_multiple_of_64_rows(M, panels, heights):
    found = cut_into_panels(Problem(M, 16, 16), panels)
    assert [panel.rows for panel in found] == heights
    assert [panel.first for panel in found] == [sum(heights[:number]) for number in range(len(heights))]


def test_a_panel_is_a_problem_of_the_same_kind_with_fewer_rows():
    whole = Problem(160, 24, 16, "tn", "tf32", 2.0, 0.5)
    assert Panel(64, 32).make_problem(whole) == Problem(32, 24, 16, "tn", "tf32", 2.0, 0.5)
